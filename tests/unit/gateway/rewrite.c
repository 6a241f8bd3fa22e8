/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever way a provider cuts its answer, each event that is stored can be read on its own. */
#include "gateway/rewrite.h"

#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "cut.h"
#include "t.h"

enum { TEXT_BYTES = 1 << 20 };

static struct token_map *some_tokens(void)
{
    static const char *const rows[][2] = {{"email", "alice@example.org"},
                                          {"email", "bob@example.org"},
                                          {"secret", "a \"quoted\"\nline \\ end"}};
    struct token_map *t = token_map_new();
    struct weir_slice token;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        T_EQ(token_map_give(t, rows[i][0], weir_slice_of(rows[i][1]), &token), WEIR_OK);
    return t;
}

/* What a reader puts together of the events, before and after they got their values back. */
struct heard {
    const struct token_map *tokens;
    struct weir_json_doc *doc;
    struct weir_buf stored_text, text, stored_arguments, arguments, thoughts;
    struct weir_buf last; /* the data of the last event */
    unsigned n_events, n_raw;
};

static void heard_init(struct heard *h, const struct token_map *tokens)
{
    *h = (struct heard){.tokens = tokens, .doc = weir_json_doc_new(0)};
    weir_buf_init(&h->stored_text, TEXT_BYTES);
    weir_buf_init(&h->text, TEXT_BYTES);
    weir_buf_init(&h->stored_arguments, TEXT_BYTES);
    weir_buf_init(&h->arguments, TEXT_BYTES);
    weir_buf_init(&h->thoughts, TEXT_BYTES);
    weir_buf_init(&h->last, TEXT_BYTES);
}

static void heard_fini(struct heard *h)
{
    weir_json_doc_free(h->doc);
    weir_buf_fini(&h->stored_text);
    weir_buf_fini(&h->text);
    weir_buf_fini(&h->stored_arguments);
    weir_buf_fini(&h->arguments);
    weir_buf_fini(&h->thoughts);
    weir_buf_fini(&h->last);
}

static void add(struct weir_buf *out, const struct weir_json *delta, const char *key)
{
    weir_buf_append_slice(out, weir_json_text(weir_json_get_str(delta, key)));
}

static void take(const struct weir_json *event, struct weir_buf *text, struct weir_buf *arguments)
{
    const struct weir_json *delta = weir_json_get_str(event, "delta");
    const struct weir_json *choice = weir_json_first(weir_json_get_str(event, "choices"));
    add(text, weir_json_get_str(event, "content_block"), "text");
    add(text, delta, "text");
    add(arguments, delta, "partial_json");
    for (; choice; choice = weir_json_next(choice)) {
        delta = weir_json_get_str(choice, "delta");
        add(text, delta, "content");
        const struct weir_json *call = weir_json_first(weir_json_get_str(delta, "tool_calls"));
        for (; call; call = weir_json_next(call))
            add(arguments, weir_json_get_str(call, "function"), "arguments");
    }
}

static void on_event(void *user, struct weir_slice type, struct weir_slice data)
{
    struct heard *h = user;
    struct weir_buf shown;
    const struct weir_json *value;
    (void)type;
    h->n_events++;
    weir_buf_reset(&h->last);
    weir_buf_append_slice(&h->last, data);
    weir_buf_init(&shown, TEXT_BYTES);
    T_EQ(reveal_json(h->tokens, data, &shown), WEIR_OK);
    if (weir_json_parse(h->doc, data, &value, NULL) != WEIR_OK) {
        T_EQ_SLICE(weir_buf_slice(&shown), data);
        h->n_raw++;
    } else {
        take(value, &h->stored_text, &h->stored_arguments);
        T_EQ(weir_json_parse(h->doc, weir_buf_slice(&shown), &value, NULL), WEIR_OK);
        take(value, &h->text, &h->arguments);
        add(&h->thoughts, weir_json_get_str(value, "delta"), "thinking");
    }
    weir_buf_fini(&shown);
}

static void send(struct rewriter *r, const char *format, struct weir_slice text)
{
    struct weir_buf data;
    const char *hole = strstr(format, "%");
    weir_buf_init(&data, TEXT_BYTES);
    weir_buf_append(&data, format, hole ? (size_t)(hole - format) : strlen(format));
    if (hole) weir_json_put_string(&data, text);
    if (hole) weir_buf_append(&data, hole + 1, strlen(hole + 1));
    T_EQ(rewriter_event(r, SLICE("message"), weir_buf_slice(&data)), WEIR_OK);
    weir_buf_fini(&data);
}

static void send_pieces(struct rewriter *r, const char *format, const char *text, size_t n)
{
    struct cut cut;
    struct weir_slice rest = weir_slice_of(text), piece;
    if (!cut_nth(&cut, n, rest.len)) T_OK(cut_nth(&cut, n % (rest.len + 1), rest.len));
    while (cut_take(&cut, &rest, &piece)) send(r, format, piece);
    cut_fini(&cut);
}

static const char text[] = "To [email_1], [Email 2] and [x]: [secret_1] [email_1";
static const char shown_text[] =
    "To alice@example.org, bob@example.org and [x]: a \"quoted\"\nline \\ end [email_1";
static const char arguments[] = "{\"to\":\"[email_1]\",\"why\":\"[secret_1]\",\"n\":[1,[2]]}";
static const char shown_arguments[] =
    "{\"to\":\"alice@example.org\",\"why\":\"a \\\"quoted\\\"\\nline \\\\ end\",\"n\":[1,[2]]}";

static void check(const struct heard *h)
{
    T_EQ_STR(weir_buf_slice(&h->stored_text), text);
    T_EQ_STR(weir_buf_slice(&h->text), shown_text);
    T_EQ_STR(weir_buf_slice(&h->stored_arguments), arguments);
    T_EQ_STR(weir_buf_slice(&h->arguments), shown_arguments);
}

TEST(anthropic_answers_keep_placeholders_whole_in_every_cutting)
{
    struct token_map *tokens = some_tokens();
    for (size_t n = 0; n < 2 * sizeof arguments; n++) {
        struct heard h;
        heard_init(&h, tokens);
        struct rewriter *r = rewriter_new(WIRE_ANTHROPIC, tokens, on_event, &h);
        T_OK(r != NULL);
        send(r,
             "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
             "\"text\":\"\"}}",
             SLICE(""));
        send_pieces(r,
                    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                    "\"text_delta\",\"text\":%}}",
                    text, n);
        send(r, "{\"type\":\"content_block_stop\",\"index\":0}", SLICE(""));
        send_pieces(r,
                    "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":"
                    "\"input_json_delta\",\"partial_json\":%}}",
                    arguments, n);
        send(r, "{\"type\":\"content_block_stop\",\"index\":1}", SLICE(""));
        T_OK(!rewriter_has_ended(r));
        send(r, "{\"type\":\"message_stop\"}", SLICE(""));
        T_OK(rewriter_has_ended(r));
        check(&h);
        rewriter_free(r);
        heard_fini(&h);
    }
    token_map_free(tokens);
}

TEST(openai_answers_keep_placeholders_whole_in_every_cutting)
{
    struct token_map *tokens = some_tokens();
    for (size_t n = 0; n < 2 * sizeof arguments; n++) {
        struct heard h;
        heard_init(&h, tokens);
        struct rewriter *r = rewriter_new(WIRE_OPENAI, tokens, on_event, &h);
        T_OK(r != NULL);
        send_pieces(r,
                    "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%},"
                    "\"finish_reason\":null}]}",
                    text, n);
        send_pieces(r,
                    "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{"
                    "\"index\":0,\"function\":{\"arguments\":%}}]}}]}",
                    arguments, n);
        send(r,
             "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}",
             SLICE(""));
        send(r, "[DONE]", SLICE(""));
        T_OK(rewriter_has_ended(r));
        check(&h);
        T_EQ(h.n_raw, 1);
        rewriter_free(r);
        heard_fini(&h);
    }
    token_map_free(tokens);
}

TEST(a_stream_that_breaks_off_loses_nothing)
{
    struct token_map *tokens = some_tokens();
    for (enum wire wire = WIRE_ANTHROPIC; wire <= WIRE_OPENAI; wire++) {
        struct heard h;
        heard_init(&h, tokens);
        struct rewriter *r = rewriter_new(wire, tokens, on_event, &h);
        T_OK(r != NULL);
        send(r,
             wire == WIRE_ANTHROPIC
                 ? "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                   "\"text_delta\",\"text\":%}}"
                 : "{\"choices\":[{\"index\":0,\"delta\":{\"content\":%}}]}",
             SLICE("so [email_"));
        T_EQ_STR(weir_buf_slice(&h.text), "so ");
        T_EQ(rewriter_end(r), WEIR_OK);
        T_EQ_STR(weir_buf_slice(&h.text), "so [email_");
        T_OK(!rewriter_has_ended(r));
        rewriter_free(r);
        heard_fini(&h);
    }
    token_map_free(tokens);
}

TEST(thoughts_keep_their_placeholders)
{
    struct token_map *tokens = some_tokens();
    struct heard h;
    heard_init(&h, tokens);
    struct rewriter *r = rewriter_new(WIRE_ANTHROPIC, tokens, on_event, &h);
    T_OK(r != NULL);
    send(r,
         "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\","
         "\"thinking\":%}}",
         SLICE("who is [email_1]?"));
    T_EQ_STR(weir_buf_slice(&h.thoughts), "who is [email_1]?");
    rewriter_free(r);
    heard_fini(&h);
    token_map_free(tokens);
}

TEST(nothing_waits_without_an_open_bracket)
{
    struct token_map *tokens = some_tokens();
    struct heard h;
    heard_init(&h, tokens);
    struct rewriter *r = rewriter_new(WIRE_OPENAI, tokens, on_event, &h);
    T_OK(r != NULL);
    for (unsigned i = 1; i <= 50; i++) {
        send(r, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":%}}]}", SLICE("ab] (c"));
        T_EQ(h.n_events, i);
        T_EQ(h.text.len, i * 6);
    }
    rewriter_free(r);
    heard_fini(&h);
    token_map_free(tokens);
}

TEST(more_parts_than_there_can_be_are_refused)
{
    struct token_map *tokens = some_tokens();
    struct heard h;
    enum weir_status st = WEIR_OK;
    heard_init(&h, tokens);
    struct rewriter *r = rewriter_new(WIRE_OPENAI, tokens, on_event, &h);
    T_OK(r != NULL);
    for (int i = 0; i <= REWRITE_PARTS && st == WEIR_OK; i++) {
        char data[128];
        int len = snprintf(data, sizeof data,
                           "{\"choices\":[{\"index\":%d,\"delta\":{\"content\":\"[\"}}]}", i);
        st = rewriter_event(r, SLICE("message"), slice_of(data, (size_t)len));
    }
    T_EQ(st, WEIR_LIMIT);
    rewriter_free(r);
    heard_fini(&h);
    token_map_free(tokens);
}

TEST(what_is_unknown_passes_as_it_is)
{
    static const char *const events[] = {
        "{\"type\":\"ping\"}",
        "{\"type\":\"new\",\"x\":[1.50,{\"y\":12345678901234567890}]}",
        "",
        "[1,2]",
        "{\"choices\":{}}",
        "{\"choices\":[1,null,{\"delta\":7}]}",
        "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"new\",\"text\":\"[\"}}",
        "{\"type\":\"content_block_delta\"}"};
    struct token_map *tokens = some_tokens();
    for (size_t i = 0; i < 2 * sizeof events / sizeof *events; i++) {
        struct heard h;
        heard_init(&h, tokens);
        struct rewriter *r =
            rewriter_new(i % 2 ? WIRE_OPENAI : WIRE_ANTHROPIC, tokens, on_event, &h);
        T_OK(r != NULL);
        T_EQ(rewriter_event(r, SLICE("x"), weir_slice_of(events[i / 2])), WEIR_OK);
        T_EQ(h.n_events, 1);
        T_EQ_STR(weir_buf_slice(&h.last), events[i / 2]);
        rewriter_free(r);
        heard_fini(&h);
    }
    token_map_free(tokens);
}

TEST(events_that_are_no_json_break_a_stream)
{
    struct token_map *tokens = some_tokens();
    static const char *const broken[] = {"not json", "{\"type\":", "<html>", "[DONE"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct heard h;
        heard_init(&h, tokens);
        struct rewriter *r = rewriter_new(WIRE_OPENAI, tokens, on_event, &h);
        T_OK(r != NULL);
        T_EQ(rewriter_event(r, SLICE("message"), weir_slice_of(broken[i])), WEIR_UPSTREAM);
        T_EQ(h.n_events, 0);
        rewriter_free(r);
        heard_fini(&h);
    }
    token_map_free(tokens);
}
