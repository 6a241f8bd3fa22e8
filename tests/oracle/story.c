/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the small streams of the message tests; see story.h. */
#include "oracle/story.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/slice.h"
#include "oracle/transcript.h"
#include "t.h"

static void add_unquoted(struct text *out, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) text_add_char(out, s[i] == '\'' ? '"' : s[i]);
}

void story_stream(struct text *out, const char *events)
{
    while (*events) {
        size_t len = strcspn(events, "\n");
        const char *space = memchr(events, ' ', len);
        bool has_name = !strchr("[{:", events[0]) && space;
        size_t name_len = has_name ? (size_t)(space - events) : 0;
        if (has_name) text_printf(out, "event: %.*s\n", (int)name_len, events);
        if (events[0] != ':') text_printf(out, "data: ");
        size_t skip = has_name ? name_len + 1 : 0;
        add_unquoted(out, events + skip, len - skip);
        text_printf(out, "\n\n");
        events += len + (events[len] == '\n');
    }
}

static struct weir_slice unquoted(struct text *to, const char *s)
{
    to->len = 0;
    add_unquoted(to, s, strlen(s));
    return text_slice(to);
}

static void show_difference(const char *what, const struct weir_json *got, const char *want)
{
    struct text text = {0};
    transcript_value(&text, got);
    text_add_char(&text, 0);
    t_fail(__FILE__, __LINE__, "%s is %s, not %s", what, text.ptr, want);
    text_fini(&text);
}

/* The same tree, or for an object that is compared by parts, the same in each part named. */
static void expect_value(const char *what, const struct weir_json *got, const char *want,
                         bool by_parts)
{
    struct text text = {0};
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *wanted = NULL;
    bool is_same = true;
    if (!want) goto out;
    if (strcmp(want, "-") == 0) {
        is_same = !got;
        goto out;
    }
    if (weir_json_parse(doc, unquoted(&text, want), &wanted, NULL) != WEIR_OK) abort();
    if (!by_parts) {
        is_same = transcript_same(got, wanted, true);
        goto out;
    }
    for (const struct weir_json *m = weir_json_first(wanted); m; m = weir_json_next(m))
        is_same = is_same && transcript_same(weir_json_get(got, weir_json_key(m)), m, true);
out:
    if (!is_same) show_difference(what, got, want);
    weir_json_doc_free(doc);
    text_fini(&text);
}

static void expect_notes(const struct weir_json *notes, const char *want)
{
    struct text got = {0};
    if (!want) return;
    T_EQ(weir_json_type_of(notes), WEIR_JSON_ARRAY);
    for (const struct weir_json *n = weir_json_first(notes); n; n = weir_json_next(n)) {
        struct weir_slice code = weir_json_text(weir_json_get_str(n, "code"));
        T_OK(code.len > 0 && weir_json_text(weir_json_get_str(n, "text")).len > 0);
        text_add(&got, code.ptr, code.len);
        text_add_char(&got, ' ');
    }
    T_EQ_STR(text_slice(&got), want);
    text_fini(&got);
}

static void expect_inputs(const struct weir_message *m, const char *want)
{
    static const char *const names[] = {"none", "open", "complete", "truncated", "invalid"};
    struct text got = {0};
    struct text text = {0};
    if (!want) return;
    for (size_t block = 0; block < 16; block++) {
        size_t offset = 0;
        enum weir_input_state state = weir_message_input_state(m, block, &offset);
        T_EQ(weir_message_input_state(m, block, NULL), state);
        if (state == WEIR_INPUT_NONE) continue;
        bool is_broken = state == WEIR_INPUT_TRUNCATED || state == WEIR_INPUT_INVALID;
        text_printf(&got, "%zu %s %zu ", block, names[state], is_broken ? offset : 0);
        transcript_value(&got, weir_message_input(m, block));
        text_add_char(&got, ';');
    }
    T_EQ_SLICE(text_slice(&got), unquoted(&text, want));
    text_fini(&got);
    text_fini(&text);
}

/* The end may not change what the whole message, or an error, has decided. */
static void check_whole(enum weir_dialect dialect, const struct story *story,
                        struct weir_slice stream)
{
    struct weir_message *m = weir_message_new(dialect, NULL, NULL, NULL);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_OPEN);
    T_OK(!weir_message_value(m) && !weir_message_error(m));
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    enum weir_outcome before = weir_message_outcome(m);
    T_EQ(weir_message_end(m), story->outcome);
    T_EQ(weir_message_outcome(m), story->outcome);
    T_OK(before == WEIR_OUTCOME_OPEN || before == story->outcome);
    T_EQ(weir_message_error(m) != NULL, story->outcome == WEIR_OUTCOME_ERROR);
    expect_value("value", weir_message_value(m), story->value, false);
    expect_value("error", weir_message_error(m), story->error, true);
    expect_notes(weir_message_notes(m), story->notes);
    expect_inputs(m, story->inputs);
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    T_EQ(weir_message_outcome(m), story->outcome);
    weir_message_free(m);
}

static void check_cuttings(enum weir_dialect dialect, struct weir_slice stream)
{
    struct text want = {0};
    struct cut cut;
    for (size_t n = 0; cut_nth(&cut, n, stream.len); n++) {
        struct text got = {0};
        transcript_message(&got, dialect, stream, &cut, NULL);
        if (n == 0) text_add(&want, got.ptr, got.len);
        T_EQ_SLICE(text_slice(&got), text_slice(&want));
        text_fini(&got);
    }
    text_fini(&want);
}

void story_check(enum weir_dialect dialect, const struct story *story)
{
    struct text stream = {0};
    story_stream(&stream, story->events);
    check_whole(dialect, story, text_slice(&stream));
    check_cuttings(dialect, text_slice(&stream));
    text_fini(&stream);
}

/* ---- streams that end from inside ---- */

struct killer {
    struct weir_message *m;
    size_t n_calls;
    size_t kill_at;
    bool is_gone;
};

static void called(void *user)
{
    struct killer *k = user;
    if (k->is_gone) t_fail(__FILE__, __LINE__, "called back after it was freed");
    if (++k->n_calls != k->kill_at) return;
    k->is_gone = true;
    weir_message_free(k->m);
}

static void kill_text(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    (void)block, (void)delta, (void)all;
    called(user);
}

static void kill_input(void *user, size_t block, struct weir_slice delta, const struct weir_json *v)
{
    (void)block, (void)delta, (void)v;
    called(user);
}

static void kill_signature(void *user, size_t block, struct weir_slice signature)
{
    (void)block, (void)signature;
    called(user);
}

static void kill_block(void *user, size_t block, const struct weir_json *v)
{
    (void)block, (void)v;
    called(user);
}

static void kill_value(void *user, const struct weir_json *v)
{
    (void)v;
    called(user);
}

static const struct weir_message_handlers killers = {
    kill_text,  kill_text,  kill_input, kill_signature, kill_block,
    kill_block, kill_value, kill_value, called,
};

static size_t run_killer(enum weir_dialect dialect, struct weir_slice rest, struct cut *cut,
                         size_t kill_at)
{
    struct killer k = {.kill_at = kill_at};
    struct weir_slice piece;
    k.m = weir_message_new(dialect, &killers, &k, NULL);
    while (!k.is_gone && cut_take(cut, &rest, &piece))
        T_EQ(weir_message_feed(k.m, piece.ptr, piece.len), WEIR_OK);
    if (!k.is_gone) (void)weir_message_end(k.m);
    if (!k.is_gone) weir_message_free(k.m);
    cut_fini(cut);
    return k.n_calls;
}

void story_free_in_callbacks(enum weir_dialect dialect, const char *events)
{
    static const uint8_t ways[] = {0, 1, 7, 64, 200};
    struct text stream = {0};
    struct cut cut;
    story_stream(&stream, events);
    cut_from_byte(&cut, 0);
    size_t n_calls = run_killer(dialect, text_slice(&stream), &cut, SIZE_MAX);
    T_OK(n_calls > 2);
    for (size_t at = 1; at <= n_calls; at++)
        for (size_t i = 0; i < sizeof ways; i++) {
            cut_from_byte(&cut, ways[i]);
            T_EQ(run_killer(dialect, text_slice(&stream), &cut, at), at);
        }
    text_fini(&stream);
}

void story_fail_allocations(enum weir_dialect dialect, const char *events)
{
    struct text stream = {0};
    story_stream(&stream, events);
    for (int mode = 0; mode < 4; mode++) {
        bool is_done = false;
        for (uint64_t nth = 1; !is_done && nth < 5000; nth++) {
            struct text got = {0};
            struct cut cut;
            cut_from_byte(&cut, mode & 2 ? 11 : 0);
            fault_arm(FAULT_ALLOC, nth, mode & 1 ? FAULT_FROM : FAULT_ONCE);
            transcript_message(&got, dialect, text_slice(&stream), &cut, NULL);
            is_done = fault_count(FAULT_ALLOC) < nth;
            fault_disarm_all();
            text_add_char(&got, 0);
            /* The fault may also hit the transcript's own use of the writer, at the very end. */
            bool is_told = strstr(got.ptr, "fed no_memory") || strstr(got.ptr, "(no_memory)");
            bool has_error = !strstr(got.ptr, "outcome error") || !strstr(got.ptr, "\nerror -\n");
            if (!has_error) t_fail(__FILE__, __LINE__, "an error without its reason");
            /* One failure may be got over: what does not fit doubled may fit as it is. */
            bool may_be_ok = is_done || !(mode & 1);
            if (is_done ? is_told : !is_told && !may_be_ok)
                t_fail(__FILE__, __LINE__, "%.400s", got.ptr);
            text_fini(&got);
        }
        T_OK(is_done);
    }
    text_fini(&stream);
}
