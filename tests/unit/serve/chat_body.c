/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a request for a reply: what is taken, and what is refused where. */
#include <stdio.h>

#include "base/slice.h"
#include "serve/chat_impl.h"
#include "t.h"

struct reading {
    struct weir_json_doc *doc;
    struct chat_request r;
    struct flaw flaw;
    bool is_streamed, is_good;
};

static struct reading read_body(const char *text, bool is_direct)
{
    const struct weir_json *v;
    struct reading x = {.doc = weir_json_doc_new(0), .is_streamed = true};
    T_EQ(weir_json_parse(x.doc, weir_slice_of(text), &v, NULL), WEIR_OK);
    x.is_good = chat_body_read(v, is_direct, &x.r, &x.is_streamed, &x.flaw);
    return x;
}

#define HELLO "'messages':[{'role':'user','content':'Hi'}]"

/* JSON with ' for ". */
static const char *quoted(const char *text)
{
    static char out[1024];
    snprintf(out, sizeof out, "%s", text);
    for (char *c = out; *c; c++)
        if (*c == '\'') *c = '"';
    return out;
}

TEST(what_is_there_is_taken_and_the_rest_is_as_it_is_by_itself)
{
    struct reading x = read_body(quoted("{" HELLO "}"), false);
    T_OK(x.is_good && x.is_streamed && !x.r.shows_raw && !x.r.has_sources);
    T_EQ_STR(x.r.agent, "asst_default");
    T_EQ_STR(x.r.conversation, "");
    T_EQ(x.r.wish, PII_OFF);
    weir_json_doc_free(x.doc);
    x = read_body(quoted("{" HELLO
                         ",'conversationId':'conv_a-B_9','stream':false,'piiAction':'ask',"
                         "'showRawPayload':true,'includeSourceReferences':true,'temperature':1}"),
                  true);
    T_OK(x.is_good && !x.is_streamed && x.r.shows_raw && x.r.has_sources);
    T_EQ_STR(x.r.agent, "");
    T_EQ_STR(x.r.conversation, "conv_a-B_9");
    T_EQ(x.r.wish, PII_ASK);
    weir_json_doc_free(x.doc);
}

TEST(what_is_wrong_is_told_with_its_place)
{
    static const struct {
        const char *body, *path;
        bool is_direct;
    } cases[] = {
        {"{}", "messages", false},
        {"{'messages':{}}", "messages", false},
        {"{'messages':[]}", "messages", false},
        {"{'messages':[1]}", "messages[0]", false},
        {"{'messages':[{'content':'x'}]}", "messages[0].role", false},
        {"{'messages':[{'role':'tool','content':'x'}]}", "messages[0].role", false},
        {"{'messages':[{'role':'user','content':null}]}", "messages[0].content", false},
        {"{'messages':[{'role':'user','content':[{'text':'x'}]}]}", "messages[0].content", false},
        {"{'messages':[{'role':'user','content':[{'type':'text'}]}]}", "messages[0].content",
         false},
        {"{'messages':[{'role':'user','content':[]}]}", "messages[0].content", false},
        {"{'messages':[{'role':'user','content':'x'},{'role':'assistant','content':'y'}]}",
         "messages[1].role", false},
        {"{" HELLO ",'agentId':'asst_default'}", "agentId", true},
        {"{" HELLO ",'agentId':1}", "agentId", false},
        {"{" HELLO ",'agentid':'asst_default'}", "agentid", false},
        {"{" HELLO ",'Pii-Action':'ask'}", "Pii-Action", false},
        {"{" HELLO ",'show_raw_payload':true}", "show_raw_payload", false},
        {"{" HELLO ",'Stream':false}", "Stream", false},
        {"{" HELLO ",'conversationId':'conv_'}", "conversationId", false},
        {"{" HELLO ",'conversationId':'conv_a/b'}", "conversationId", false},
        {"{" HELLO ",'piiAction':'none'}", "piiAction", false},
        {"{" HELLO ",'stream':0}", "stream", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading x = read_body(quoted(cases[i].body), cases[i].is_direct);
        T_OK(!x.is_good && x.flaw.text);
        T_EQ_STR(weir_slice_of(x.flaw.path), cases[i].path);
        T_EQ(x.flaw.code, WEIR_BAD_FIELD);
        weir_json_doc_free(x.doc);
    }
}

TEST(place_of_a_member_with_a_long_name_is_cut)
{
    struct reading x = read_body(
        quoted("{" HELLO ",'_______________________________________________________________________"
               "______________________________pii_action':1}"),
        false);
    T_OK(!x.is_good);
    T_EQ(strlen(x.flaw.path), FLAW_PATH_BYTES - 1);
    weir_json_doc_free(x.doc);
}
