/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slice.h"
#include "model/model.h"
#include "t.h"

static const struct model_request plain = {
    .role = MODEL_FAST,
    .purpose = "route",
    .system = {"Be \"brief\".", 11},
    .messages = {"[{\"role\":\"user\",\"content\":[]}]", 30},
};

static const struct weir_json *parsed(struct weir_json_doc *doc, struct weir_slice text)
{
    const struct weir_json *v = NULL;
    T_EQ(weir_json_parse(doc, text, &v, NULL), WEIR_OK);
    return v;
}

TEST(a_request_is_one_line_with_its_members_in_order)
{
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    model_request_put(&out, &plain);
    T_EQ_STR(weir_buf_slice(&out), "{\"role\":\"fast\",\"purpose\":\"route\",\"max_tokens\":4096,"
                                   "\"system\":\"Be \\\"brief\\\".\","
                                   "\"messages\":[{\"role\":\"user\",\"content\":[]}]}");
    weir_buf_fini(&out);
}

TEST(a_request_with_everything_is_json_without_a_line_end)
{
    struct model_request request = plain;
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    request.tools = SLICE(" [\n{\"name\" :\r\n\"plan\"}]\n");
    request.schema = SLICE("{\"type\":\"object\"}");
    request.must_use = "plan";
    request.max_tokens = 7;
    model_request_put(&out, &request);
    T_OK(!memchr(out.ptr, '\n', out.len) && !memchr(out.ptr, '\r', out.len));
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v = parsed(doc, weir_buf_slice(&out));
    T_EQ(weir_json_count(v), 8);
    T_EQ_STR(
        weir_json_text(weir_json_get_str(weir_json_first(weir_json_get_str(v, "tools")), "name")),
        "plan");
    T_EQ_STR(weir_json_text(weir_json_get_str(v, "max_tokens")), "7");
    weir_json_doc_free(doc);
    weir_buf_fini(&out);
}

TEST(messages_that_are_not_json_do_not_spoil_the_line)
{
    struct model_request request = plain;
    struct weir_buf out;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&out, 4096);
    request.messages = SLICE("[{\"role\":");
    model_request_put(&out, &request);
    T_EQ_STR(weir_json_text(weir_json_get_str(parsed(doc, weir_buf_slice(&out)), "messages")),
             "[{\"role\":");
    weir_json_doc_free(doc);
    weir_buf_fini(&out);
}

static const struct model_answer failed = {
    .status = WEIR_UPSTREAM,
    .is_final = true,
    .retry_after_ms = 1500,
    .why = "it is \"overloaded\"",
    .stop = MODEL_STOP_CUT,
    .content = {"[{\"type\":\"text\",\"text\":\"a\"}]", 28},
    .usage = {1, 2, 3, 4},
    .cost_usd = 0.0125,
    .provider = "claude",
    .model = "m-1",
    .attempts = 3,
};

/* Written, read, and written again: the second text is the first. */
static void go_round(const struct model_answer *answer, struct model_answer *back,
                     struct weir_buf *content)
{
    struct weir_buf first, second;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&first, 4096);
    weir_buf_init(&second, 4096);
    model_answer_put(&first, answer);
    T_OK(model_answer_read(parsed(doc, weir_buf_slice(&first)), content, back));
    weir_json_doc_free(doc);
    model_answer_put(&second, back);
    T_EQ_SLICE(weir_buf_slice(&second), weir_buf_slice(&first));
    weir_buf_fini(&first);
    weir_buf_fini(&second);
}

TEST(an_answer_comes_back_as_it_was_put)
{
    struct weir_buf content;
    struct model_answer back;
    weir_buf_init(&content, 4096);
    go_round(&failed, &back, &content);
    T_EQ(back.status, WEIR_UPSTREAM);
    T_OK(back.is_final);
    T_EQ(back.retry_after_ms, 1500);
    T_EQ(back.usage.cache_write_tokens, 4);
    T_OK(back.cost_usd == 0.0125);
    T_EQ(strcmp(back.why, failed.why), 0);
    T_EQ(strcmp(back.model, "m-1"), 0);
    T_EQ(back.attempts, 3);
    T_EQ_SLICE(back.content, failed.content);
    weir_buf_fini(&content);
}

TEST(an_answer_without_content_has_an_empty_list)
{
    struct weir_buf content;
    struct model_answer back, good = {.provider = "p", .model = "m"};
    weir_buf_init(&content, 4096);
    go_round(&good, &back, &content);
    T_EQ(back.status, WEIR_OK);
    T_EQ_STR(back.content, "[]");
    weir_buf_fini(&content);
}

TEST(what_is_no_answer_is_refused)
{
    static const char *const texts[] = {
        "null",
        "[]",
        "{}",
        "{\"content\":[]}",
        "{\"status\":\"fine\",\"stop\":\"end\",\"content\":[],\"usage\":{\"input_tokens\":0,"
        "\"output_tokens\":0,\"cache_read_tokens\":0,\"cache_write_tokens\":0},\"cost_usd\":0,"
        "\"attempts\":1}",
        "{\"status\":\"ok\",\"stop\":\"end\",\"content\":[],\"usage\":{\"input_tokens\":-1,"
        "\"output_tokens\":0,\"cache_read_tokens\":0,\"cache_write_tokens\":0},\"cost_usd\":0,"
        "\"attempts\":1}",
        "{\"status\":\"ok\",\"stop\":\"end\",\"content\":{},\"usage\":{\"input_tokens\":0,"
        "\"output_tokens\":0,\"cache_read_tokens\":0,\"cache_write_tokens\":0},\"cost_usd\":0,"
        "\"attempts\":1}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct weir_json_doc *doc = weir_json_doc_new(0);
        struct weir_buf content;
        struct model_answer back;
        weir_buf_init(&content, 4096);
        T_OK(!model_answer_read(parsed(doc, weir_slice_of(texts[i])), &content, &back));
        weir_buf_fini(&content);
        weir_json_doc_free(doc);
    }
}
