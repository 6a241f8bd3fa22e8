/* SPDX-License-Identifier: Apache-2.0 */
#include "dialogue.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "t.h"

static void request(const struct dialogue *d, const char *question, struct weir_buf *out,
                    size_t n_left_out)
{
    size_t n = 0;
    weir_buf_reset(out);
    T_EQ(dialogue_request(d, weir_slice_of(question), out, &n), WEIR_OK);
    T_EQ(n, n_left_out);
    T_OK(out->len <= DIALOGUE_REQUEST_BYTES);
}

TEST(questions_and_answers_go_along)
{
    struct dialogue d = {.n = 0};
    struct weir_buf out;
    weir_buf_init(&out, 4 << 20);
    request(&d, "a \"q\"?", &out, 0);
    T_EQ_STR(weir_buf_slice(&out),
             "{\"messages\":[{\"role\":\"user\",\"content\":\"a \\\"q\\\"?\"}]}");
    T_EQ(dialogue_add(&d, SLICE("first?"), SLICE("one\n")), WEIR_OK);
    request(&d, "x", &out, 0);
    T_EQ_STR(weir_buf_slice(&out), "{\"messages\":[{\"role\":\"user\",\"content\":\"first?\"},"
                                   "{\"role\":\"assistant\",\"content\":\"one\\n\"},"
                                   "{\"role\":\"user\",\"content\":\"x\"}]}");
    dialogue_fini(&d);
    request(&d, "new", &out, 0);
    weir_buf_fini(&out);
}

TEST(the_oldest_are_left_out_where_there_is_no_room)
{
    struct dialogue d = {.n = 0};
    struct weir_buf out;
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    size_t len = 300 << 10;
    char *text = mem_alloc(DIALOGUE_REQUEST_BYTES);
    memset(text, '"', DIALOGUE_REQUEST_BYTES); /* twice as long in JSON */
    weir_buf_init(&out, 4 << 20);
    for (int i = 0; i < 4; i++) {
        char question[16];
        snprintf(question, sizeof question, "%d?", i);
        T_EQ(dialogue_add(&d, weir_slice_of(question), slice_of(text, len / 2)), WEIR_OK);
    }
    request(&d, "last", &out, 1);
    T_EQ(weir_json_parse(doc, weir_buf_slice(&out), &v, NULL), WEIR_OK);
    const struct weir_json *messages = weir_json_get_str(v, "messages");
    T_EQ(weir_json_count(messages), 7);
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_json_first(messages), "content")), "1?");
    weir_buf_reset(&out);
    size_t n = 0;
    T_EQ(dialogue_request(&d, slice_of(text, DIALOGUE_REQUEST_BYTES), &out, &n), WEIR_LIMIT);
    T_EQ(dialogue_add(&d, SLICE("q"), slice_of(text, DIALOGUE_REQUEST_BYTES)), WEIR_LIMIT);
    T_EQ(d.n, 4);
    dialogue_fini(&d);
    mem_free(text);
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}

TEST(a_long_conversation_forgets_its_beginning_and_says_so)
{
    struct dialogue d = {.n = 0};
    struct weir_buf out;
    weir_buf_init(&out, 4 << 20);
    for (int i = 0; i < DIALOGUE_PAIRS + 3; i++)
        T_EQ(dialogue_add(&d, SLICE("q"), SLICE("a")), WEIR_OK);
    request(&d, "last", &out, 3);
    dialogue_fini(&d);
    request(&d, "new", &out, 0);
    weir_buf_fini(&out);
}
