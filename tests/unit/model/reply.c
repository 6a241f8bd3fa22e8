/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as bytes, in every cutting. */
#include <stdio.h>

#include "base/slice.h"
#include "cut.h"
#include "model/model_impl.h"
#include "t.h"
#include "text.h"

static char key[] = "k3y-of-the-test";
static const struct model_provider providers[] = {
    {.name = "claude", .type = MODEL_ANTHROPIC, .key = key},
    {.name = "local", .type = MODEL_OPENAI, .key = key},
};

/* What was told, and what came of it. */
struct heard {
    struct text deltas;
    struct weir_buf content;
    struct model_content c;
    struct model_failure f;
    bool has_output;
};

static void on_delta(void *user, enum model_delta kind, struct weir_slice delta)
{
    struct heard *h = user;
    text_printf(&h->deltas, "%s%.*s|", kind == MODEL_TEXT ? "" : "~", (int)delta.len, delta.ptr);
}

struct wire {
    enum model_type type;
    const char *content_type;
    bool wants_object;
    const char *cut; /* why the bytes end */
};

static void hear(struct heard *h, const struct wire *w, struct weir_slice bytes, struct cut *cut)
{
    struct model_reply_options o = {.provider = &providers[w->type],
                                    .type = w->type,
                                    .wants_object = w->wants_object,
                                    .on_delta = on_delta,
                                    .user = h};
    *h = (struct heard){.f.status = WEIR_OK};
    weir_buf_init(&h->content, 8 << 20);
    h->c.out = &h->content;
    struct model_reply *r = model_reply_new(&o, weir_slice_of(w->content_type));
    struct weir_slice rest = bytes, piece;
    bool goes_on = true;
    while (goes_on && cut_take(cut, &rest, &piece)) goes_on = model_reply_feed(r, piece);
    cut_fini(cut);
    model_reply_end(r, w->cut, &h->c, &h->f);
    h->has_output = model_reply_has_output(r);
    model_reply_free(r);
}

static void heard_fini(struct heard *h)
{
    text_fini(&h->deltas);
    weir_buf_fini(&h->content);
}

/* Once, whole. */
static void hear_whole(struct heard *h, const struct wire *w, struct weir_slice bytes)
{
    struct cut cut;
    T_OK(cut_nth(&cut, 0, bytes.len));
    hear(h, w, bytes, &cut);
}

/* Joins deltas, which differ between cuttings, to texts, which must not. */
static void join(struct text *out, const struct text *deltas)
{
    char kind = 0;
    for (size_t i = 0, start = 1; i < deltas->len; i++) {
        char c = deltas->ptr[i];
        if (c == '|') {
            start = 1;
            continue;
        }
        if (start) {
            char now = c == '~' ? '~' : ' ';
            if (now != kind) text_printf(out, "%c", now);
            kind = now;
            start = 0;
            if (c == '~') continue;
        }
        text_printf(out, "%c", c);
    }
}

static void write_down(struct text *out, struct heard *h)
{
    join(out, &h->deltas);
    text_printf(out,
                "\n%.*s\nstatus %d stop %d help %d outage %d output %d\n%s\n%llu %llu %llu "
                "%llu\n",
                (int)h->content.len, h->content.ptr, h->f.status, h->c.stop, h->f.may_help,
                h->f.is_outage, h->has_output, h->f.why,
                (unsigned long long)h->c.usage.input_tokens,
                (unsigned long long)h->c.usage.output_tokens,
                (unsigned long long)h->c.usage.cache_read_tokens,
                (unsigned long long)h->c.usage.cache_write_tokens);
}

/* Every cutting is heard as the whole is. */
static void hear_all_ways(const struct wire *w, struct weir_slice bytes, const char *name)
{
    struct text want = {0};
    struct cut cut;
    for (size_t n = 0; cut_nth(&cut, n, bytes.len); n++) {
        struct text got = {0};
        struct heard h;
        hear(&h, w, bytes, &cut);
        write_down(&got, &h);
        heard_fini(&h);
        if (n == 0) want = got;
        else {
            if (got.len != want.len || memcmp(got.ptr, want.ptr, got.len) != 0)
                t_fail(__FILE__, __LINE__, "%s, cutting %zu:\n%.*s\ninstead of\n%.*s", name, n,
                       (int)got.len, got.ptr, (int)want.len, want.ptr);
            text_fini(&got);
        }
    }
    text_fini(&want);
}

static const struct wire anthropic = {MODEL_ANTHROPIC, "text/event-stream; charset=utf-8", false,
                                      NULL};
static const struct wire openai = {MODEL_OPENAI, "text/event-stream", false, NULL};
static const struct wire anthropic_json = {MODEL_ANTHROPIC, "application/json", false, NULL};
static const struct wire openai_json = {MODEL_OPENAI, "application/json", false, NULL};

#define START                                                                                      \
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":"  \
    "\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":10,"            \
    "\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n"
#define TEXT_BLOCK                                                                                 \
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","    \
    "\"text\":\"\"}}\n\n"                                                                          \
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","      \
    "\"text\":\"Gr\xc3\xbc\xc3\x9f Gott\"}}\n\n"                                                   \
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
#define TOOL_BLOCK(name, begin, rest)                                                              \
    "data: "                                                                                       \
    "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\","      \
    "\"id\":\"t\",\"name\":\"" name "\",\"input\":{}}}\n\n"                                        \
    "data: "                                                                                       \
    "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\","      \
    "\"partial_json\":\"" begin "\"}}\n\n"                                                         \
    "data: "                                                                                       \
    "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\","      \
    "\"partial_json\":\"" rest "\"}}\n\n"                                                          \
    "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
#define STOP(reason)                                                                               \
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason                       \
    "\"},\"usage\":{\"output_tokens\":9}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
#define ERROR(type)                                                                                \
    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" type                          \
    "\",\"message\":\"Sorry "                                                                      \
    "k3y-of-the-test"                                                                              \
    "\"}}\n\n"

#define CHUNK(delta, reason)                                                                       \
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,"          \
    "\"delta\":{" delta "},\"finish_reason\":" reason "}]}\n\n"
#define USAGE                                                                                      \
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{"          \
    "\"prompt_tokens\":20,\"completion_tokens\":5,\"prompt_tokens_details\":{\"cached_tokens\":"   \
    "12}}}\n\n"
#define DONE "data: [DONE]\n\n"
#define CALL(index, id, name, arguments)                                                           \
    "\"tool_calls\":[{\"index\":" index ",\"id\":\"" id                                            \
    "\",\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"arguments\":\"" arguments      \
    "\"}}]"

/* Each wire, its bytes, and what has to come of them. */
static const struct story {
    const char *name;
    const struct wire *wire;
    const char *bytes;
    bool wants_object;
    const char *cut;
    enum weir_status status;
    bool may_help, has_output;
    enum model_stop stop;
    const char *content, *says;
} stories[] = {
    {"text", &anthropic, START TEXT_BLOCK STOP("end_turn"), false, NULL, WEIR_OK, false, true,
     MODEL_STOP_END, "[{\"type\":\"text\",\"text\":\"Gr\xc3\xbc\xc3\x9f Gott\"}]", ""},
    {"tool", &anthropic,
     START TEXT_BLOCK TOOL_BLOCK("plan", "{\\\"a\\\":", "[1,2]}") STOP("tool_use"), false, NULL,
     WEIR_OK, false, true, MODEL_STOP_TOOL,
     "[{\"type\":\"text\",\"text\":\"Gr\xc3\xbc\xc3\x9f Gott\"},"
     "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"plan\",\"input\":{\"a\":[1,2]}}]",
     ""},
    {"tool cut by max_tokens", &anthropic,
     START TEXT_BLOCK TOOL_BLOCK("plan", "{\\\"a\\\":", "[1") STOP("max_tokens"), false, NULL,
     WEIR_OK, false, true, MODEL_STOP_LENGTH,
     "[{\"type\":\"text\",\"text\":\"Gr\xc3\xbc\xc3\x9f Gott\"}]", ""},
    {"tool that is no JSON", &anthropic,
     START TOOL_BLOCK("plan", "{\\\"a\\\":", "oops}") STOP("tool_use"), false, NULL, WEIR_UPSTREAM,
     true, true, MODEL_STOP_CUT, "[]", "called a tool"},
    {"tool in a stream that is cut", &anthropic, START TOOL_BLOCK("plan", "{\\\"a\\\":", "[1"),
     false, "the connection was lost", WEIR_UPSTREAM, true, true, MODEL_STOP_CUT, "[]",
     "claude broke off: the connection was lost"},
    {"whole tool in a stream that is cut", &anthropic,
     START TOOL_BLOCK("plan", "{\\\"a\\\":", "1}"), false, "lost", WEIR_UPSTREAM, true, true,
     MODEL_STOP_CUT, "[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"plan\",\"input\":{\"a\":1}}]",
     "broke off"},
    {"refusal", &anthropic, START STOP("refusal"), false, NULL, WEIR_OK, false, false,
     MODEL_STOP_REFUSED, "[]", ""},
    {"error first", &anthropic, ERROR("overloaded_error"), false, NULL, WEIR_UPSTREAM, true, false,
     MODEL_STOP_CUT, "[]", "claude reported an error: overloaded_error"},
    {"error after the start", &anthropic, START ERROR("overloaded_error"), false, NULL,
     WEIR_UPSTREAM, true, false, MODEL_STOP_CUT, "[]", "reported an error"},
    {"lasting error first", &anthropic, ERROR("invalid_request_error"), false, NULL, WEIR_UPSTREAM,
     false, false, MODEL_STOP_CUT, "[]", "reported an error"},
    {"error after text", &anthropic, START TEXT_BLOCK ERROR("overloaded_error") STOP("end_turn"),
     false, NULL, WEIR_UPSTREAM, true, true, MODEL_STOP_CUT,
     "[{\"type\":\"text\",\"text\":\"Gr\xc3\xbc\xc3\x9f Gott\"}]", "reported an error"},
    {"cut after text", &anthropic, START TEXT_BLOCK, false, NULL, WEIR_UPSTREAM, true, true,
     MODEL_STOP_CUT, "[{\"type\":\"text\",\"text\":\"Gr\xc3\xbc\xc3\x9f Gott\"}]",
     "claude broke off: the answer ended before it was whole"},
    {"nothing at all", &anthropic, "", false, NULL, WEIR_UPSTREAM, true, false, MODEL_STOP_CUT,
     "[]", "broke off"},
    {"whole, although the connection was lost", &anthropic, START TEXT_BLOCK STOP("end_turn"),
     false, "lost", WEIR_OK, false, true, MODEL_STOP_END,
     "[{\"type\":\"text\",\"text\":\"Gr\xc3\xbc\xc3\x9f Gott\"}]", ""},
    {"an event that is no JSON", &anthropic, START "data: {\"type\":\"content_block_start\",\n\n",
     false, NULL, WEIR_UPSTREAM, true, false, MODEL_STOP_CUT, "[]", ""},
    {"object by a tool", &anthropic,
     START TOOL_BLOCK("answer", "{\\\"a\\\":", "1}") STOP("tool_use"), true, NULL, WEIR_OK, false,
     true, MODEL_STOP_TOOL,
     "[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"answer\",\"input\":{\"a\":1}}]", ""},
    {"object as text of anthropic", &anthropic,
     START "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
           "\"text\",\"text\":\"Sure: {\\\"a\\\": 1}\"}}\n\n"
           "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n" STOP("end_turn"),
     true, NULL, WEIR_OK, false, false, MODEL_STOP_TOOL,
     "[{\"type\":\"tool_use\",\"id\":\"answer_04feca8a\",\"name\":\"answer\",\"input\":{\"a\":1}}]",
     ""},
    {"openai text", &openai,
     CHUNK("\"role\":\"assistant\",\"reasoning_content\":\"Hm\"", "null")
         CHUNK("\"content\":\"Hel\"", "null") CHUNK("\"content\":\"lo\"", "\"stop\"") USAGE DONE,
     false, NULL, WEIR_OK, false, true, MODEL_STOP_END,
     "[{\"type\":\"thinking\",\"thinking\":\"Hm\"},{\"type\":\"text\",\"text\":\"Hello\"}]", ""},
    {"openai without [DONE]", &openai, CHUNK("\"content\":\"Hi\"", "\"stop\"") USAGE, false, NULL,
     WEIR_OK, false, true, MODEL_STOP_END, "[{\"type\":\"text\",\"text\":\"Hi\"}]", ""},
    {"openai calls", &openai,
     CHUNK(CALL("0", "c1", "plan", "{\\\"a\\\""), "null")
         CHUNK("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]", "null")
             CHUNK(CALL("1", "c2", "now", ""), "\"tool_calls\"") USAGE DONE,
     false, NULL, WEIR_OK, false, true, MODEL_STOP_TOOL,
     "[{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"plan\",\"input\":{\"a\":1}},"
     "{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"now\",\"input\":{}}]",
     ""},
    {"openai call that is cut", &openai,
     CHUNK(CALL("0", "c1", "plan", "{\\\"a\\\":1}"), "null")
         CHUNK(CALL("1", "c2", "now", ""), "null"),
     false, "lost", WEIR_UPSTREAM, true, true, MODEL_STOP_CUT, NULL, "broke off"},
    {"openai length", &openai, CHUNK("\"content\":\"Hi\"", "\"length\"") DONE, false, NULL, WEIR_OK,
     false, true, MODEL_STOP_LENGTH, "[{\"type\":\"text\",\"text\":\"Hi\"}]", ""},
    {"openai filter", &openai, CHUNK("\"content\":\"\"", "\"content_filter\"") DONE, false, NULL,
     WEIR_OK, false, false, MODEL_STOP_REFUSED, "[]", ""},
    {"openai refusal", &openai, CHUNK("\"refusal\":\"No\"", "\"stop\"") DONE, false, NULL, WEIR_OK,
     false, false, MODEL_STOP_REFUSED, "[{\"type\":\"text\",\"text\":\"No\"}]", ""},
    {"openai object", &openai,
     CHUNK("\"reasoning\":\"Hm\"", "null") CHUNK("\"content\":\"{\\\"a\\\"\"", "null")
         CHUNK("\"content\":\":1}\"", "\"stop\"") USAGE DONE,
     true, NULL, WEIR_OK, false, true, MODEL_STOP_TOOL,
     "[{\"type\":\"thinking\",\"thinking\":\"Hm\"},"
     "{\"type\":\"tool_use\",\"id\":\"answer_cff7d56a\",\"name\":\"answer\",\"input\":{\"a\":1}}]",
     ""},
    {"openai object in a fence", &openai,
     CHUNK("\"content\":\"Here:\\n```json\\n{\\\"a\\\":1}\\n```\\n\"", "\"stop\"") DONE, true, NULL,
     WEIR_OK, false, true, MODEL_STOP_TOOL, NULL, ""},
    {"openai object that is none", &openai, CHUNK("\"content\":\"{\\\"a\\\":\"", "\"length\"") DONE,
     true, NULL, WEIR_OK, false, true, MODEL_STOP_LENGTH,
     "[{\"type\":\"text\",\"text\":\"{\\\"a\\\":\"}]", ""},
    {"openai error after text", &openai,
     CHUNK("\"content\":\"Hi\"", "null") "data: {\"error\":{\"message\":\"boom\",\"type\":"
                                         "\"server_error\"}}\n\n" DONE,
     false, NULL, WEIR_UPSTREAM, true, true, MODEL_STOP_CUT,
     "[{\"type\":\"text\",\"text\":\"Hi\"}]", "local reported an error: server_error"},
    {"openai [DONE] at once", &openai, DONE, false, NULL, WEIR_UPSTREAM, true, false,
     MODEL_STOP_CUT, "[]", "broke off"},
    {"whole anthropic", &anthropic_json,
     "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"},{\"type\":\"tool_"
     "use\","
     "\"id\":\"t\",\"name\":\"n\",\"input\":{}}],\"stop_reason\":\"tool_use\",\"usage\":{"
     "\"input_tokens\":1,\"output_tokens\":2}}",
     false, NULL, WEIR_OK, false, false, MODEL_STOP_TOOL,
     "[{\"type\":\"text\",\"text\":\"Hi\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\","
     "\"input\":{}}]",
     ""},
    {"whole openai", &openai_json,
     "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\",\"tool_calls\":[{"
     "\"type\":\"function\",\"function\":{\"name\":\"n\",\"arguments\":\"{}\"}}]},"
     "\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}",
     false, NULL, WEIR_OK, false, false, MODEL_STOP_TOOL,
     "[{\"type\":\"text\",\"text\":\"Hi\"},{\"type\":\"tool_use\",\"id\":\"call_0\",\"name\":\"n\","
     "\"input\":{}}]",
     ""},
    {"whole, but no message", &openai_json, "{\"ok\":true}", false, NULL, WEIR_UPSTREAM, false,
     false, MODEL_STOP_CUT, "[]", "JSON that is no message"},
    {"whole, but an error", &openai_json,
     "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad\"}}", false, NULL,
     WEIR_UPSTREAM, false, false, MODEL_STOP_CUT, "[]",
     "local reported an error: invalid_request_error"},
    {"whole, but cut", &openai_json, "{\"choices\":[{", false, NULL, WEIR_UPSTREAM, true, false,
     MODEL_STOP_CUT, "[]", "no JSON"},
    {"whole of the other dialect", &anthropic_json, "{\"choices\":[]}", false, NULL, WEIR_UPSTREAM,
     false, false, MODEL_STOP_CUT, "[]", "JSON that is no message"},
};

TEST(every_answer_comes_to_what_it_should)
{
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        const struct story *s = &stories[i];
        struct wire w = *s->wire;
        struct heard h;
        w.wants_object = s->wants_object;
        w.cut = s->cut;
        hear_whole(&h, &w, weir_slice_of(s->bytes));
        bool is_right = h.f.status == s->status && h.f.may_help == s->may_help &&
                        h.has_output == s->has_output && h.c.stop == s->stop &&
                        strstr(h.f.why, s->says) && !strstr(h.f.why, key) &&
                        (!s->content || weir_slice_is(weir_buf_slice(&h.content), s->content));
        if (!is_right) {
            struct text got = {0};
            write_down(&got, &h);
            t_fail(__FILE__, __LINE__, "%s:\n%.*s", s->name, (int)got.len, got.ptr);
            text_fini(&got);
        }
        heard_fini(&h);
    }
}

TEST(what_a_model_does_wrong_is_no_outage)
{
    struct heard h;
    hear_whole(&h, &anthropic,
               SLICE(START TOOL_BLOCK("plan", "{\\\"a\\\":", "oops}") STOP("tool_use")));
    T_OK(h.f.status == WEIR_UPSTREAM && !h.f.is_outage);
    heard_fini(&h);
    hear_whole(&h, &anthropic, SLICE(START TEXT_BLOCK));
    T_OK(h.f.status == WEIR_UPSTREAM && h.f.is_outage);
    heard_fini(&h);
}

TEST(no_answer_depends_on_how_it_was_cut)
{
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        struct wire w = *stories[i].wire;
        w.wants_object = stories[i].wants_object;
        w.cut = stories[i].cut;
        hear_all_ways(&w, weir_slice_of(stories[i].bytes), stories[i].name);
    }
}

TEST(an_answer_that_ends_anywhere_hands_out_no_half_tool)
{
    static const char bytes[] =
        START TEXT_BLOCK TOOL_BLOCK("plan", "{\\\"a\\\":", "[1,2]}") STOP("tool_use");
    static const char chunks[] =
        CHUNK("\"content\":\"Hi\"", "null") CHUNK(CALL("0", "c1", "plan", "{\\\"a\\\":[1"), "null")
            CHUNK("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\",2]}\"}}]",
                  "\"tool_calls\"") USAGE DONE;
    for (int dialect = 0; dialect < 2; dialect++) {
        const struct wire *w = dialect == 0 ? &anthropic : &openai;
        struct weir_slice all = weir_slice_of(dialect == 0 ? bytes : chunks);
        for (size_t len = 0; len <= all.len; len++) {
            struct heard h;
            hear_whole(&h, w, slice_of(all.ptr, len));
            bool has_tool = memmem(h.content.ptr, h.content.len, "tool_use", 8) != NULL;
            T_OK(!has_tool ||
                 memmem(h.content.ptr, h.content.len, "\"input\":{\"a\":[1,2]}", 19) != NULL);
            T_OK(h.f.status == WEIR_OK || h.f.status == WEIR_UPSTREAM);
            heard_fini(&h);
        }
    }
}

TEST(usage_is_counted_in_the_kinds_that_are_priced)
{
    struct heard h;
    hear_whole(&h, &anthropic, SLICE(START TEXT_BLOCK STOP("end_turn")));
    T_EQ(h.c.usage.input_tokens, 10);
    T_EQ(h.c.usage.output_tokens, 9);
    T_EQ(h.c.usage.cache_read_tokens, 7);
    T_EQ(h.c.usage.cache_write_tokens, 3);
    heard_fini(&h);
    hear_whole(&h, &openai, SLICE(CHUNK("\"content\":\"Hi\"", "\"stop\"") USAGE DONE));
    T_EQ(h.c.usage.input_tokens, 8);
    T_EQ(h.c.usage.cache_read_tokens, 12);
    T_EQ(h.c.usage.output_tokens, 5);
    heard_fini(&h);
    /* Also of what was cut off: it is paid for. */
    hear_whole(&h, &anthropic, SLICE(START));
    T_EQ(h.c.usage.input_tokens, 10);
    heard_fini(&h);
}

TEST(other_types_than_streams_and_json_are_failures_at_once)
{
    static const char *const types[] = {"text/html",
                                        "",
                                        "text/event-streams",
                                        "application/jsonp",
                                        "text/plain; x=text/event-stream",
                                        "application/x-ndjson"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct wire w = {MODEL_OPENAI, types[i], false, NULL};
        struct heard h;
        hear_whole(&h, &w, SLICE("data: x\n\n"));
        T_EQ(h.f.status, WEIR_UPSTREAM);
        T_OK(!h.f.may_help && strstr(h.f.why, "something else"));
        heard_fini(&h);
    }
}

TEST(an_answer_without_end_is_ended)
{
    struct model_reply_options o = {.provider = &providers[MODEL_OPENAI], .type = MODEL_OPENAI};
    struct model_reply *r = model_reply_new(&o, SLICE("text/event-stream"));
    static const char chunk[] = CHUNK("\"content\":\"0123456789abcdef0123456789abcdef\"", "null");
    size_t n = 0;
    while (n < 10 * MODEL_ANSWER_BYTES && model_reply_feed(r, weir_slice_of(chunk))) n += 32;
    T_OK(n <= MODEL_ANSWER_BYTES && n + 64 > MODEL_ANSWER_BYTES);
    struct weir_buf content;
    struct model_content c = {.out = &content};
    struct model_failure f;
    weir_buf_init(&content, 4 << 20);
    model_reply_end(r, NULL, &c, &f);
    T_EQ(f.status, WEIR_LIMIT);
    T_OK(!f.may_help);
    weir_buf_fini(&content);
    model_reply_free(r);
}

TEST(a_line_without_end_is_ended)
{
    struct model_reply_options o = {.provider = &providers[MODEL_ANTHROPIC]};
    static const char *const types[] = {"text/event-stream", "application/json"};
    for (size_t i = 0; i < 2; i++) {
        struct model_reply *r = model_reply_new(&o, weir_slice_of(types[i]));
        char bytes[4096];
        size_t n = 0;
        memset(bytes, 'x', sizeof bytes);
        while (n < (64u << 20) && model_reply_feed(r, slice_of(bytes, sizeof bytes)))
            n += sizeof bytes;
        T_OK(n < (8u << 20));
        struct weir_buf content;
        struct model_content c = {.out = &content};
        struct model_failure f;
        weir_buf_init(&content, 4 << 20);
        model_reply_end(r, NULL, &c, &f);
        T_EQ(f.status, WEIR_LIMIT);
        weir_buf_fini(&content);
        model_reply_free(r);
    }
}

TEST(the_samples_are_heard_as_their_authors_do)
{
    static const struct {
        const char *name;
        enum weir_status status;
        const char *has;
    } samples[] = {
        {"text_basic", WEIR_OK, "\"type\":\"text\""},
        {"thinking_signature", WEIR_OK, "\"signature\":\"EqQB"},
        {"thinking_signature", WEIR_OK, "redacted_thinking"},
        {"tool_use_chunked", WEIR_OK, "\"type\":\"tool_use\""},
        {"tool_use_no_input", WEIR_OK, "\"name\":\"now\",\"input\":{}"},
        {"tool_use_no_input", WEIR_OK, "\"name\":\"now2\",\"input\":{}"},
        {"tool_use_no_input", WEIR_OK, "\"input\":{\"given\":\"whole\"}"},
        {"midstream_error", WEIR_UPSTREAM, "Partial answer"},
        {"error_first", WEIR_UPSTREAM, "[]"},
        {"empty_stream", WEIR_UPSTREAM, "[]"},
        {"events_after_stop", WEIR_OK, "text"},
        {"citations", WEIR_OK, "text"},
    };
    const char *dir = t_samples_dir();
    if (!dir) {
        t_skip("the samples folder is not on this machine");
        return;
    }
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char path[512];
        struct heard h;
        snprintf(path, sizeof path, "%s/messages/%s.sse", dir, samples[i].name);
        struct weir_slice bytes = t_read_file(path);
        hear_whole(&h, &anthropic, bytes);
        T_EQ(h.f.status, samples[i].status);
        if (!memmem(h.content.ptr, h.content.len, samples[i].has, strlen(samples[i].has)))
            t_fail(__FILE__, __LINE__, "%s: %.*s", samples[i].name, (int)h.content.len,
                   h.content.ptr);
        heard_fini(&h);
        hear_all_ways(&anthropic, bytes, samples[i].name);
    }
}
