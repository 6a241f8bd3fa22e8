/* SPDX-License-Identifier: Apache-2.0 */
/* A session as a document: what is written is read, and nonsense is refused. */
#include "desk.h"

#define TURN_A    "trn_01HF7YAT00AAAAAAAAAAAAAAAA"
#define TURN_B    "trn_01HF7YAT00BBBBBBBBBBBBBBBB"
#define SESSION_A "ses_01HF7YAT00CCCCCCCCCCCCCCCC"

static const struct session full = {
    .id = {SESSION_A, SESSION_LEN},
    .title = {"a \"title\"", 9},
    .parent = {SESSION_A, SESSION_LEN},
    .provider = {"p", 1},
    .model = {"m", 1},
    .is_pinned = true,
    .is_untitled = true,
    .created_ms = 1700000000000,
    .updated_ms = 1700000000001,
    .n_turns = 7,
    .running = {TURN_A, SESSION_TURN_LEN},
    .newest = {TURN_B, SESSION_TURN_LEN},
    .queue = {{TURN_B, SESSION_TURN_LEN}, {TURN_A, SESSION_TURN_LEN}},
    .n_queue = 2,
    .oldest = 42,
    .marks = {{1700000000000, 3}, {1700000000500, 99}},
    .n_marks = 2,
    .node = {"n", 1},
    .usage = {1, 2, 3, 4, 5, 0.125},
};

static bool read_text_of(struct weir_json_doc *memory, const char *text, struct session *out)
{
    const struct weir_json *json;
    T_EQ(weir_json_parse(memory, weir_slice_of(text), &json, NULL), WEIR_OK);
    return session_read(json, SLICE(SESSION_A), out);
}

TEST(what_is_written_is_read)
{
    struct weir_buf text, again;
    struct session v;
    struct weir_json_doc *memory = weir_json_doc_new(0);
    weir_buf_init(&text, 1 << 20);
    weir_buf_init(&again, 1 << 20);
    session_put(&text, &full);
    weir_buf_append_char(&text, '\0');
    T_OK(read_text_of(memory, text.ptr, &v));
    T_EQ(v.n_queue, 2);
    T_EQ_SLICE(v.queue[1], SLICE(TURN_A));
    T_EQ_SLICE(v.title, full.title);
    T_EQ(v.marks[1].last, 99);
    T_EQ(v.oldest, 42);
    T_OK(v.is_pinned && !v.is_deleted && v.is_untitled);
    T_EQ_SLICE(v.newest, SLICE(TURN_B));
    T_OK(v.usage.cost_usd == 0.125);
    session_put(&again, &v);
    T_EQ_SLICE(weir_buf_slice(&again), weir_slice_of(text.ptr));
    weir_buf_fini(&text);
    weir_buf_fini(&again);
    weir_json_doc_free(memory);
}

/* Each member in turn is missing, or something else. */
TEST(nonsense_is_refused)
{
    static const char *const members[] = {"title",    "parent",    "provider",  "model", "pinned",
                                          "deleted",  "createdMs", "updatedMs", "turns", "running",
                                          "untitled", "newest",    "queue",     "marks", "oldest",
                                          "node",     "usage"};
    struct weir_buf text;
    struct session v;
    const struct weir_json *json;
    struct weir_json_doc *memory = weir_json_doc_new(0);
    weir_buf_init(&text, 1 << 20);
    session_put(&text, &full);
    T_EQ(weir_json_parse(memory, weir_buf_slice(&text), &json, NULL), WEIR_OK);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct weir_json *other = weir_json_copy(memory, json);
        T_OK(session_read(other, SLICE(SESSION_A), &v));
        struct weir_json *odd = weir_json_new(memory, WEIR_JSON_OBJECT);
        T_EQ(weir_json_set(memory, other, weir_slice_of(members[i]), odd), WEIR_OK);
        if (session_read(other, SLICE(SESSION_A), &v))
            t_fail(__FILE__, __LINE__, "%s may be anything", members[i]);
    }
    weir_buf_fini(&text);
    weir_json_doc_free(memory);
}

TEST(what_has_no_end_is_refused)
{
    struct weir_buf text;
    struct session v;
    struct session_turn t;
    struct session_usage u;
    const struct weir_json *json;
    struct weir_json_doc *memory = weir_json_doc_new(0);
    weir_buf_init(&text, 1 << 20);
    session_put(&text, &full);
    T_EQ(weir_json_parse(memory, weir_buf_slice(&text), &json, NULL), WEIR_OK);
    struct weir_json *other = weir_json_copy(memory, json);
    struct weir_json *queue = weir_json_member(other, SLICE("queue"));
    while (weir_json_count(queue) <= SESSION_QUEUE)
        T_EQ(weir_json_push(memory, queue, weir_json_new_string(memory, SLICE(TURN_A))), WEIR_OK);
    T_OK(!session_read(other, SLICE(SESSION_A), &v));
    other = weir_json_copy(memory, json);
    queue = weir_json_member(other, SLICE("queue"));
    T_EQ(weir_json_push(memory, queue, weir_json_new_string(memory, SLICE("trn_x"))), WEIR_OK);
    T_OK(!session_read(other, SLICE(SESSION_A), &v));
    other = weir_json_copy(memory, json);
    T_EQ(weir_json_update(memory, other, SLICE("oldest"), weir_json_new_int(memory, -1)), WEIR_OK);
    T_OK(!session_read(other, SLICE(SESSION_A), &v));
    T_OK(!session_read(NULL, SLICE(SESSION_A), &v));
    T_OK(!session_turn_read(NULL, &t));
    T_OK(!session_usage_read(NULL, &u));
    weir_buf_fini(&text);
    weir_json_doc_free(memory);
}

TEST(a_turn_is_read_as_it_was_written)
{
    struct weir_buf text;
    struct session_turn t;
    const struct weir_json *json;
    struct weir_json_doc *memory = weir_json_doc_new(0);
    const struct session_turn was = {.session = SLICE(SESSION_A),
                                     .text = SLICE("hello\n\"you\""),
                                     .job = SLICE("cron_1"),
                                     .client = SLICE("tab"),
                                     .state = SLICE("done"),
                                     .provider = SLICE("p"),
                                     .model = SLICE("m"),
                                     .created_ms = 5,
                                     .ended_ms = 6,
                                     .usage = {.n_input = 1},
                                     .is_skill = true};
    weir_buf_init(&text, 1 << 20);
    session_turn_put(&text, &was);
    T_EQ(weir_json_parse(memory, weir_buf_slice(&text), &json, NULL), WEIR_OK);
    T_OK(session_turn_read(json, &t));
    T_EQ_SLICE(t.text, was.text);
    T_EQ_SLICE(t.state, was.state);
    T_EQ(t.ended_ms, 6);
    T_EQ(t.usage.n_input, 1);
    T_OK(t.is_skill);
    /* As all those say that were written before there was such a member. */
    t.is_skill = false;
    weir_buf_reset(&text);
    session_turn_put(&text, &t);
    T_EQ(weir_json_parse(memory, weir_buf_slice(&text), &json, NULL), WEIR_OK);
    T_OK(!weir_json_get_str(json, "skill") && session_turn_read(json, &t) && !t.is_skill);
    weir_buf_fini(&text);
    weir_json_doc_free(memory);
}

TEST(names_are_what_they_are_called)
{
    char log[SESSION_LOG_BYTES], message[SESSION_MESSAGE_BYTES], id[SESSION_MESSAGE_ID_BYTES];
    char steer[SESSION_STEER_BYTES];
    T_EQ_STR(session_log(log, SLICE(SESSION_A)), "sessions/" SESSION_A);
    T_EQ_STR(session_message_key(message, SLICE(SESSION_A), SLICE(TURN_A), 99).id,
             SESSION_A "/" TURN_A "/99");
    T_EQ_STR(session_message_key(message, SLICE(SESSION_A), SLICE(TURN_A), 0).id,
             SESSION_A "/" TURN_A "/00");
    session_message_id(id, SLICE(TURN_A), 99);
    T_EQ_STR(weir_slice_of(id), "msg_01HF7YAT00AAAAAAAAAAAAAAAA_99");
    T_EQ_STR(session_steer_key(steer, SLICE(TURN_A), SESSION_STEERS).id, TURN_A "/32");
    T_OK(session_is_id(SLICE(SESSION_A)));
    T_OK(!session_is_id(SLICE(TURN_A)));
    T_OK(!session_is_id(SLICE("ses_01HF7YAT00cccccccccccccccc")));
    T_OK(!session_is_id(SLICE("")));
}

/* A damaged document is said to be that, and is no reason not to start. */
TEST(a_damaged_session_does_not_keep_the_others_from_starting)
{
    desk_open();
    struct session_doc doc;
    struct session v;
    struct commit *c = commit_new(0);
    commit_put(c, session_key(SLICE(SESSION_A)), DOC_MUST_BE_NEW, SLICE("ann"), SLICE("{}"));
    commit_put(c, (struct doc_key){SLICE("session_busy"), SLICE(SESSION_A)}, DOC_MUST_BE_NEW,
               SLICE("ann"), SLICE("{}"));
    commit_put(c, (struct doc_key){SLICE("session_deleted"), SLICE(SESSION_A)}, DOC_MUST_BE_NEW,
               SLICE("ann"), SLICE("not JSON"));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    T_EQ(session_find(desk.store, SLICE("ann"), SLICE(SESSION_A), &doc, &v), WEIR_CORRUPT);
    session_doc_fini(&doc);
    desk_stop();
    desk_start();
    T_EQ(CALL("sessions/get", "{\"id\":\"%s\"}", SESSION_A), WEIR_CORRUPT);
    T_EQ(CALL("sessions/list", "{}"), WEIR_OK);
    T_EQ(CALL("chat/send", "{\"sessionId\":\"%s\",\"clientId\":\"t\",\"text\":\"x\"}", SESSION_A),
         WEIR_CORRUPT);
    desk_stop();
}
