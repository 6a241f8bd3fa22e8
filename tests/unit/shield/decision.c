/* SPDX-License-Identifier: Apache-2.0 */
/* Questions are answered once, by whom they were asked, in time; and all of it is written down. */
#include "shield/decision.h"

#include <stdio.h>

#include "base/slice.h"
#include "t.h"

enum { NOW = 1000000, DEADLINE = NOW + DECISION_MS };

static struct store *open_store(void)
{
    struct store *s = NULL;
    struct store_error error;
    struct store_options o = {.durability = STORE_DURABLE_NORMAL};
    T_EQ(store_open(&s, t_temp_dir(), &o, &error), WEIR_OK);
    return s;
}

static void ask(struct store *s, const char *id)
{
    struct weir_buf body;
    struct decision d = {.owner = SLICE("alice"),
                         .conversation = SLICE("conv_1"),
                         .message = SLICE("msg_1"),
                         .deadline_ms = DEADLINE,
                         .categories = SLICE("{\"email\":2,\"phone\":1}")};
    weir_buf_init(&body, 4096);
    decision_put(&body, &d);
    struct commit *c = commit_new(0);
    commit_put(c, decision_key(weir_slice_of(id)), DOC_MUST_BE_NEW, d.owner, weir_buf_slice(&body));
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    weir_buf_fini(&body);
}

static enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    return decision_decide(user, view, c);
}

static enum weir_status answer(struct store *s, struct decision_answer *a)
{
    struct commit *c = commit_new(0);
    commit_decide(c, false, decide, a);
    return store_commit_wait(s, c).status;
}

struct expiring {
    struct weir_slice id;
    int64_t now_ms;
};

static enum weir_status decide_expired(void *user, struct commit_view *view, struct commit *c)
{
    const struct expiring *e = user;
    return decision_expire(e->id, e->now_ms, view, c);
}

static enum weir_status expire(struct store *s, const char *id, int64_t now_ms)
{
    struct expiring e = {weir_slice_of(id), now_ms};
    struct commit *c = commit_new(0);
    commit_decide(c, false, decide_expired, &e);
    return store_commit_wait(s, c).status;
}

static enum decision_choice choice_of(struct store *s, const char *id, bool *is_remembered)
{
    struct doc doc;
    struct decision d = {.choice = DECISION_OPEN};
    const struct weir_json *body;
    struct weir_json_doc *json = weir_json_doc_new(0);
    T_EQ(store_doc_get(s, decision_key(weir_slice_of(id)), &doc), WEIR_OK);
    T_EQ(weir_json_parse(json, doc.body, &body, NULL), WEIR_OK);
    T_OK(decision_read(body, &d));
    T_EQ_STR(d.conversation, "conv_1");
    T_EQ_STR(d.categories, "{\"email\":2,\"phone\":1}");
    T_EQ_STR(doc.owner, "alice");
    if (is_remembered) *is_remembered = d.is_remembered;
    enum decision_choice choice = d.choice;
    weir_json_doc_free(json);
    doc_fini(&doc);
    return choice;
}

static struct weir_slice audit_of(struct store *s, struct weir_buf *out)
{
    struct log_read r;
    weir_buf_init(out, 1 << 20);
    store_read(s, weir_slice_of(shield_audit_log), 1, 1 << 20, &r);
    T_EQ(r.status, WEIR_OK);
    for (unsigned i = 0; i < r.n_chunks; i++) {
        weir_buf_append_slice(out, chunk_from(r.chunks[i], 1));
        chunk_unref(r.chunks[i]);
    }
    return weir_buf_slice(out);
}

static bool has(struct weir_slice text, const char *what)
{
    return memmem(text.ptr, text.len, what, strlen(what)) != NULL;
}

static struct decision_answer said(const char *owner, const char *id, enum decision_choice choice)
{
    return (struct decision_answer){
        .owner = weir_slice_of(owner), .id = weir_slice_of(id), .choice = choice, .now_ms = NOW};
}

TEST(an_answer_is_taken_once)
{
    struct store *s = open_store();
    bool is_remembered;
    struct weir_buf audit;
    ask(s, "dlp_1");
    struct decision_answer a = said("alice", "dlp_1", DECISION_REDACT), b = a;
    a.is_remembered = true;
    T_EQ(answer(s, &a), WEIR_OK);
    T_EQ_STR(weir_slice_of(a.message), "msg_1");
    T_EQ(choice_of(s, "dlp_1", &is_remembered), DECISION_REDACT);
    T_OK(is_remembered);
    b.choice = DECISION_ALLOW;
    T_EQ(answer(s, &b), WEIR_NOT_FOUND);
    T_EQ(expire(s, "dlp_1", DEADLINE + 1), WEIR_NOT_FOUND);
    T_EQ(choice_of(s, "dlp_1", NULL), DECISION_REDACT);
    struct weir_slice text = audit_of(s, &audit);
    T_OK(has(text, "data: {\"at\":\"1970-01-01T00:16:40.000Z\",\"user\":\"alice\",\"conversation\":"
                   "\"conv_1\",\"message\":\"msg_1\",\"action\":\"redact\",\"decidedBy\":\"user\","
                   "\"path\":\"chat\",\"count\":3,\"categories\":{\"email\":2,\"phone\":1}}"));
    weir_buf_fini(&audit);
    store_close(s);
}

TEST(others_and_the_late_hear_that_there_is_nothing)
{
    struct store *s = open_store();
    ask(s, "dlp_1");
    struct decision_answer a = said("bob", "dlp_1", DECISION_ALLOW);
    T_EQ(answer(s, &a), WEIR_NOT_FOUND);
    a = said("alice", "dlp_2", DECISION_ALLOW);
    T_EQ(answer(s, &a), WEIR_NOT_FOUND);
    a = said("alice", "", DECISION_ALLOW);
    T_EQ(answer(s, &a), WEIR_NOT_FOUND);
    a = said("alice", "dlp_1", DECISION_ALLOW);
    a.now_ms = DEADLINE;
    T_EQ(answer(s, &a), WEIR_NOT_FOUND);
    a.choice = DECISION_TIMEOUT;
    T_EQ(answer(s, &a), WEIR_INVALID);
    T_EQ(choice_of(s, "dlp_1", NULL), DECISION_OPEN);
    a = said("alice", "dlp_1", DECISION_ALLOW);
    a.now_ms = DEADLINE - 1;
    T_EQ(answer(s, &a), WEIR_OK);
    store_close(s);
}

TEST(a_deadline_ends_a_question_once)
{
    struct store *s = open_store();
    struct weir_buf audit;
    ask(s, "dlp_1");
    T_EQ(expire(s, "dlp_1", DEADLINE - 1), WEIR_PENDING);
    T_EQ(expire(s, "dlp_1", DEADLINE), WEIR_OK);
    T_EQ(expire(s, "dlp_1", DEADLINE), WEIR_NOT_FOUND);
    T_EQ(expire(s, "dlp_none", DEADLINE), WEIR_NOT_FOUND);
    T_EQ(choice_of(s, "dlp_1", NULL), DECISION_TIMEOUT);
    struct decision_answer a = said("alice", "dlp_1", DECISION_ALLOW);
    T_EQ(answer(s, &a), WEIR_NOT_FOUND);
    struct weir_slice text = audit_of(s, &audit);
    T_OK(has(text, "\"action\":\"timeout\",\"decidedBy\":\"deadline\""));
    weir_buf_fini(&audit);
    store_close(s);
}

TEST(a_block_is_not_remembered)
{
    struct store *s = open_store();
    bool is_remembered = true;
    ask(s, "dlp_1");
    struct decision_answer a = said("alice", "dlp_1", DECISION_BLOCK);
    a.is_remembered = true;
    T_EQ(answer(s, &a), WEIR_OK);
    T_EQ(choice_of(s, "dlp_1", &is_remembered), DECISION_BLOCK);
    T_OK(!is_remembered);
    store_close(s);
}

TEST(what_is_no_question_is_not_read_as_one)
{
    static const char *const cases[] = {
        "{}",
        "[]",
        "1",
        "{\"owner\":\"a\",\"conversation\":\"c\",\"message\":\"m\",\"deadline\":1,\"choice\":\"x\","
        "\"remembered\":false,\"categories\":\"{}\"}",
        "{\"owner\":\"a\",\"conversation\":\"c\",\"message\":\"m\",\"deadline\":1.5,\"choice\":"
        "\"open\",\"remembered\":false,\"categories\":\"{}\"}",
        "{\"owner\":\"a\",\"conversation\":\"c\",\"message\":\"m\",\"deadline\":1,\"choice\":"
        "\"open\""
        ",\"remembered\":\"false\",\"categories\":\"{}\"}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct decision d;
        const struct weir_json *v;
        struct weir_json_doc *doc = weir_json_doc_new(0);
        T_EQ(weir_json_parse(doc, weir_slice_of(cases[i]), &v, NULL), WEIR_OK);
        T_OK(!decision_read(v, &d));
        weir_json_doc_free(doc);
    }
}

TEST(the_audit_has_null_where_there_is_nothing)
{
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    audit_put(&out, &(struct audit_entry){
                        .action = "policy_block", .decider = "policy", .path = "gateway"});
    T_EQ_STR(weir_buf_slice(&out),
             "{\"at\":\"1970-01-01T00:00:00.000Z\",\"user\":null,\"conversation\":null,\"message\":"
             "null,\"action\":\"policy_block\",\"decidedBy\":\"policy\",\"path\":\"gateway\","
             "\"count\":0,\"categories\":{}}");
    weir_buf_fini(&out);
}
