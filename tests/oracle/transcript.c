/* SPDX-License-Identifier: Apache-2.0 */
/* Everything a stream parser says, as text that can be compared; see transcript.h. */
#include "oracle/transcript.h"

#include <stdlib.h>
#include <string.h>

enum { N_BLOCKS_SHOWN = 8 };

/* ---- events ---- */

static void on_event(void *user, const struct weir_sse_event *event)
{
    struct text *out = user;
    text_printf(out, "event ");
    text_quote(out, event->type);
    text_add_char(out, ' ');
    text_quote(out, event->data);
    text_add_char(out, ' ');
    text_quote(out, event->id);
    text_add_char(out, '\n');
}

static void on_comment(void *user, struct weir_slice text)
{
    struct text *out = user;
    text_printf(out, "comment ");
    text_quote(out, text);
    text_add_char(out, '\n');
}

static void on_retry(void *user, uint64_t retry_ms)
{
    text_printf(user, "retry %llu\n", (unsigned long long)retry_ms);
}

void transcript_sse(struct text *out, struct weir_slice input, struct cut *cut,
                    const struct weir_sse_limits *limits)
{
    static const struct weir_sse_handlers handlers = {on_event, on_comment, on_retry, NULL};
    struct weir_sse *d = weir_sse_new(&handlers, out, limits);
    enum weir_status st = d ? WEIR_OK : WEIR_NOMEM;
    struct weir_slice piece;
    uint64_t retry_ms;
    while (st == WEIR_OK && cut_take(cut, &input, &piece))
        st = weir_sse_feed(d, piece.ptr, piece.len);
    text_printf(out, "end %s", weir_status_name(st));
    if (st == WEIR_OK) {
        text_printf(out, " id ");
        text_quote(out, weir_sse_last_event_id(d));
        if (weir_sse_retry_ms(d, &retry_ms))
            text_printf(out, " retry %llu", (unsigned long long)retry_ms);
        if (weir_sse_pending(d)) text_printf(out, " pending");
    }
    text_add_char(out, '\n');
    weir_sse_free(d);
    cut_fini(cut);
}

/* ---- values ---- */

void transcript_value(struct text *out, const struct weir_json *v)
{
    struct weir_buf buf;
    if (!v) {
        text_add_char(out, '-');
        return;
    }
    weir_buf_init(&buf, (size_t)1 << 30);
    weir_json_put_value(&buf, v);
    if (weir_buf_status(&buf) == WEIR_OK) text_add(out, buf.ptr, buf.len);
    else text_printf(out, "(%s)", weir_status_name(weir_buf_status(&buf)));
    weir_buf_fini(&buf);
}

static bool same_scalar(const struct weir_json *a, const struct weir_json *b, bool is_exact)
{
    struct weir_slice x = weir_json_text(a);
    struct weir_slice y = weir_json_text(b);
    double p;
    double q;
    if (x.len == y.len && (x.len == 0 || memcmp(x.ptr, y.ptr, x.len) == 0)) return true;
    if (is_exact || weir_json_type_of(a) != WEIR_JSON_NUMBER) return false;
    return weir_json_double(a, &p) && weir_json_double(b, &q) && memcmp(&p, &q, sizeof p) == 0;
}

bool transcript_same(const struct weir_json *a, const struct weir_json *b, bool is_exact)
{
    enum weir_json_type type = weir_json_type_of(a);
    if (!a != !b || weir_json_type_of(b) != type || weir_json_count(a) != weir_json_count(b))
        return false;
    if (!same_scalar(a, b, is_exact)) return false;
    const struct weir_json *y = weir_json_first(b);
    for (const struct weir_json *x = weir_json_first(a); x; x = weir_json_next(x)) {
        if (type == WEIR_JSON_OBJECT) y = weir_json_get(b, weir_json_key(x));
        if (!y || !transcript_same(x, y, is_exact)) return false;
        if (type == WEIR_JSON_ARRAY) y = weir_json_next(y);
    }
    return true;
}

/* ---- messages ---- */

static void add_delta(struct text *out, const char *what, size_t block, struct weir_slice delta,
                      struct weir_slice all)
{
    text_printf(out, "%s %zu ", what, block);
    text_quote(out, delta);
    text_printf(out, " of %zu", all.len);
    bool is_tail = delta.len <= all.len && (delta.len == 0 || memcmp(all.ptr + all.len - delta.len,
                                                                     delta.ptr, delta.len) == 0);
    text_printf(out, is_tail ? "\n" : " joined\n");
}

static void add_value(struct text *out, const char *what, const struct weir_json *v)
{
    text_printf(out, "%s ", what);
    transcript_value(out, v);
    text_add_char(out, '\n');
}

static void on_text(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    add_delta(user, "text", block, delta, all);
}

static void on_thinking(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    add_delta(user, "thinking", block, delta, all);
}

static void on_input_json(void *user, size_t block, struct weir_slice delta,
                          const struct weir_json *value)
{
    text_printf(user, "input_json %zu ", block);
    text_quote(user, delta);
    add_value(user, "", value);
}

static void on_signature(void *user, size_t block, struct weir_slice signature)
{
    text_printf(user, "signature %zu ", block);
    text_quote(user, signature);
    text_add_char(user, '\n');
}

static void on_citation(void *user, size_t block, const struct weir_json *citation)
{
    text_printf(user, "citation %zu", block);
    add_value(user, "", citation);
}

static void on_content_block(void *user, size_t block, const struct weir_json *content)
{
    text_printf(user, "content_block %zu", block);
    add_value(user, "", content);
}

static void on_message(void *user, const struct weir_json *message)
{
    (void)message;
    text_printf(user, "message\n");
}

static void on_error(void *user, const struct weir_json *error)
{
    (void)error;
    text_printf(user, "error\n");
}

static void on_end(void *user)
{
    text_printf(user, "end\n");
}

const struct weir_message_handlers transcript_handlers = {
    .on_text = on_text,
    .on_thinking = on_thinking,
    .on_input_json = on_input_json,
    .on_signature = on_signature,
    .on_citation = on_citation,
    .on_content_block = on_content_block,
    .on_message = on_message,
    .on_error = on_error,
    .on_end = on_end,
};

static void add_inputs(struct text *out, const struct weir_message *m)
{
    static const char *const names[] = {"none", "open", "complete", "truncated", "invalid"};
    for (size_t block = 0; block < N_BLOCKS_SHOWN; block++) {
        size_t offset = 0;
        enum weir_input_state state = weir_message_input_state(m, block, &offset);
        if (state == WEIR_INPUT_NONE) continue;
        text_printf(out, "input %zu %s %zu ", block, names[state], offset);
        add_value(out, "", weir_message_input(m, block));
    }
}

void transcript_message(struct text *out, enum weir_dialect dialect, struct weir_slice input,
                        struct cut *cut, const struct weir_message_limits *limits)
{
    static const char *const outcomes[] = {"open", "message", "error", "incomplete"};
    struct weir_message *m = weir_message_new(dialect, &transcript_handlers, out, limits);
    enum weir_status st = m ? WEIR_OK : WEIR_NOMEM;
    struct weir_slice piece;
    while (st == WEIR_OK && cut_take(cut, &input, &piece))
        st = weir_message_feed(m, piece.ptr, piece.len);
    cut_fini(cut);
    text_printf(out, "fed %s\n", weir_status_name(st));
    if (!m) return;
    text_printf(out, "outcome %s\n", outcomes[weir_message_end(m)]);
    if (weir_message_end(m) != weir_message_outcome(m)) text_printf(out, "second end differs\n");
    add_value(out, "value", weir_message_value(m));
    add_value(out, "error", weir_message_error(m));
    add_value(out, "notes", weir_message_notes(m));
    add_inputs(out, m);
    weir_message_free(m);
}
