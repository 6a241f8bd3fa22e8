/* SPDX-License-Identifier: Apache-2.0 */
/* What is private in a chat: what leaves, what is stored, what is asked and decided. */
#include "desk.h"

#define MAIL "alice.cooper@example.org"

static const struct setting asking = {.policy = "{\"piiAction\":\"ask\"}"};
static const struct wish nothing = {0};

static char stored[TEXT_BYTES];

static enum weir_status add_body(void *user, const struct doc *doc)
{
    (void)user;
    size_t len = strlen(stored);
    snprintf(stored + len, sizeof stored - len, "%.*s\n", (int)doc->body.len, doc->body.ptr);
    return WEIR_OK;
}

/* All that documents of chats say, but for the sealed map. */
static void read_documents(void)
{
    static const char *const kinds[] = {"chat_message", "turn_call",    "turn_request", "step",
                                        "run-input",    "conversation", "reply",        "run"};
    stored[0] = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        T_EQ(store_doc_list(desk.store,
                            &(struct doc_query){.kind = weir_slice_of(kinds[i]), .limit = SIZE_MAX},
                            add_body, NULL),
             WEIR_OK);
}

/* What the readers of a reply get, event by event. */
static char restored[TEXT_BYTES];

static void restore_events(const char *id)
{
    struct transcript t;
    const struct guard *g = chats_guard(desk.chats, weir_slice_of(id));
    struct weir_buf out;
    size_t len = 0;
    transcript_init(&t);
    T_EQ(transcript_load(&t, desk.store, weir_slice_of(id)), WEIR_OK);
    weir_buf_init(&out, TEXT_BYTES);
    for (const struct said *s = t.first; s; s = s->next) {
        weir_buf_reset(&out);
        T_EQ(chat_restore_event(g, s->type, s->json, &out), WEIR_OK);
        len += (size_t)snprintf(restored + len, sizeof restored - len, "%.*s %.*s\n",
                                (int)s->type.len, s->type.ptr, (int)out.len, out.ptr);
    }
    weir_buf_fini(&out);
    transcript_fini(&t);
    chats_guard_release(desk.chats, g);
}

TEST(what_is_private_is_redacted_at_rest_and_on_its_way)
{
    struct made m;
    struct weir_buf out;
    const char *failed;
    desk_open(&(struct setting){0});
    stage->plans[0] = (struct plan){.deltas = {"Written to [em", "ail_1", "]."}};
    run_with(&m, USER("Write to " MAIL), &(struct wish){.shows_raw = true});
    check_log("done");
    T_OK(!says(stage->asked[0], MAIL));
    T_OK(says(stage->asked[0], "[email_1]"));
    T_OK(!says(event_text, MAIL));
    /* The placeholder is whole in one event. */
    T_OK(says(event_text, "[email_1]"));
    T_OK(says(event_text, "\"appliedChoice\":\"redact\",\"redactedCount\":1,"
                          "\"categories\":[\"email\"]"));
    read_documents();
    T_OK(!says(stored, MAIL));
    T_OK(says(stored, "[email_1]"));
    restore_events(m.id);
    T_OK(says(restored,
              "privacy_token_map {\"tokenMap\":{\"[email_1]\":\"" MAIL "\"},\"source\":\"dlp\"}"));
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chats_result(desk.chats, weir_slice_of(m.id), &out, &failed), WEIR_OK);
    T_OK(!failed);
    weir_buf_append_char(&out, 0);
    T_OK(says(out.ptr, "\"text\":\"Written to " MAIL ".\""));
    weir_buf_fini(&out);
    desk_close();
}

TEST(a_question_waits_and_redacts_as_decided)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    stage->plans[0] = (struct plan){.deltas = {"Done."}};
    begin_with(&m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    T_EQ(atomic_load(&stage->n_calls), 0);
    T_OK(says(event_text, "\"redactedText\":\"Write to [email_1]\""));
    T_OK(says(event_text, "\"findings\":[{\"label\":\"email\",\"category\":\"email\",\"source\":"));
    restore_events(m.id);
    T_OK(says(restored, "Write to [email_1]")); /* what would leave is shown, not what is behind */
    find_decision(id);
    T_EQ(decide_as(id, DECISION_REDACT, false), WEIR_OK);
    T_EQ(decide_as(id, DECISION_ALLOW, false), WEIR_NOT_FOUND);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("done");
    T_OK(!says(stage->asked[0], MAIL));
    desk_close();
}

TEST(what_is_allowed_leaves_as_it_is_and_is_remembered_if_wanted)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    stage->plans[0] = (struct plan){.deltas = {"Done."}};
    begin_with(&m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    find_decision(id);
    T_EQ(decide_as(id, DECISION_ALLOW, true), WEIR_OK);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("done");
    T_OK(says(stage->asked[0], MAIL));
    T_OK(says(event_text, "\"appliedChoice\":\"allow\",\"redactedCount\":0"));
    read_documents();
    T_OK(says(stored, MAIL));
    /* Nobody is asked again in this conversation, but in another. */
    run_with(&m, USER("And to bob@example.org"), &(struct wish){.conversation = m.conversation});
    check_log("done");
    T_OK(says(stage->asked[1], "bob@example.org"));
    T_OK(says(stage->asked[1], MAIL));
    begin_with(&m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    desk_close();
}

TEST(a_policy_of_block_wins_over_what_is_remembered)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    begin_with(&m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    find_decision(id);
    T_EQ(decide_as(id, DECISION_ALLOW, true), WEIR_OK);
    WAIT_FOR(n_sealed() == 1);
    desk_close();
    open_chats(&(struct setting){.policy = "{\"piiAction\":\"block\"}"});
    run_with(&m, USER("Again to " MAIL), &(struct wish){.conversation = m.conversation});
    check_log("dlp_blocked");
    T_OK(says(event_text, "{\"reason\":\"policy_block\",\"findings\":[{"));
    T_EQ(atomic_load(&stage->n_calls), 1);
    desk_close();
}

TEST(what_was_allowed_counts_only_where_the_user_may_be_asked)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    begin_with(&m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    find_decision(id);
    T_EQ(decide_as(id, DECISION_ALLOW, true), WEIR_OK);
    WAIT_FOR(n_sealed() == 1);
    T_OK(says(stage->asked[0], MAIL));
    struct wish same = {.conversation = m.conversation};
    struct wish stricter = {.conversation = m.conversation, .action = PII_REDACT};
    run_with(&m, USER("And once more to " MAIL), &stricter);
    check_log("done");
    T_OK(!says(stage->asked[1], MAIL));
    T_OK(says(event_text, "\"appliedChoice\":\"redact\""));
    /* It is not forgotten by that. */
    run_with(&m, USER("Hello"), &same);
    check_log("done");
    T_OK(says(stage->asked[2], MAIL));
    desk_close();
    open_chats(&(struct setting){.policy = "{\"piiAction\":\"auto_redact\"}"});
    run_with(&m, USER("Hello again"), &same);
    check_log("done");
    T_OK(!says(stage->asked[3], MAIL) && says(stage->asked[3], "[email_"));
    desk_close();
}

TEST(blocked_by_the_user_nothing_leaves_now_or_later)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    begin_with(&m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    find_decision(id);
    T_EQ(decide_as(id, DECISION_BLOCK, false), WEIR_OK);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("dlp_blocked");
    T_OK(says(event_text, "\"reason\":\"user_blocked\""));
    T_EQ(atomic_load(&stage->n_calls), 0);
    stage->plans[0] = (struct plan){.deltas = {"Yes."}};
    run_with(&m, USER("Never mind"), &(struct wish){.conversation = m.conversation});
    check_log("done");
    T_OK(!says(stage->asked[0], "email_1"));
    desk_close();
}

TEST(a_request_may_only_be_stricter)
{
    struct made m;
    desk_open(&(struct setting){0});
    run_with(&m, USER("Write to " MAIL), &(struct wish){.action = PII_BLOCK});
    check_log("dlp_blocked");
    run_with(&m, USER("Write to " MAIL), &(struct wish){.action = PII_ASK});
    check_log("done");
    T_OK(!says(stage->asked[0], MAIL));
    desk_close();
}

/* ---- deadlines ---- */

TEST(the_deadline_blocks_within_its_second)
{
    struct made m;
    desk_open(&asking);
    begin_with(&m, USER("Write to " MAIL), &nothing);
    chats_readers(desk.chats, weir_slice_of(m.id), 1);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    fake_clock_advance(&desk.clock, 59ull * 1000000000);
    chats_wake(desk.chats);
    char id[DECISION_ID_BYTES];
    find_decision(id);
    T_EQ(n_sealed(), 0);
    fake_clock_advance(&desk.clock, 1ull * 1000000000);
    chats_wake(desk.chats);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("dlp_blocked");
    T_OK(says(event_text, "\"reason\":\"timeout\""));
    T_EQ(decide_as(id, DECISION_REDACT, false), WEIR_NOT_FOUND);
    chats_readers(desk.chats, weir_slice_of(m.id), -1);
    desk_close();
}

TEST(the_deadline_survives_a_restart)
{
    struct made m;
    desk_open(&asking);
    begin_with(&m, USER("Write to " MAIL), &nothing);
    chats_readers(desk.chats, weir_slice_of(m.id), 1);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    fake_clock_advance(&desk.clock, 40ull * 1000000000);
    desk_close();
    open_chats(&asking);
    chats_readers(desk.chats, weir_slice_of(m.id), 1);
    look(m.id);
    T_EQ(count(event_text, "event: dlp_preview\n"), 1);
    fake_clock_advance(&desk.clock, 19ull * 1000000000);
    chats_wake(desk.chats);
    T_EQ(n_sealed(), 0);
    fake_clock_advance(&desk.clock, 1ull * 1000000000);
    for (int i = 0; i < WAIT_S * 100 && n_sealed() == 0; i++) {
        chats_wake(desk.chats); /* the run may not have come to its wait yet */
        wait_1_ms();
    }
    T_EQ(n_sealed(), 1);
    look(m.id);
    check_log("dlp_blocked");
    T_EQ(count(event_text, "event: dlp_preview\n"), 1);
    T_OK(says(event_text, "\"reason\":\"timeout\""));
    desk_close();
}

TEST(a_decision_after_a_restart_is_as_good)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    begin_with(&m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    desk_close();
    open_chats(&asking);
    look(m.id);
    find_decision(id);
    stage->plans[0] = (struct plan){.deltas = {"Sent to [email_1]."}};
    T_EQ(decide_as(id, DECISION_REDACT, false), WEIR_OK);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("done");
    T_EQ(count(event_text, "event: dlp_preview\n"), 1);
    T_EQ(count(event_text, "event: dlp_resolved\n"), 1);
    desk_close();
}

static void *decide_redact(void *id)
{
    return (void *)(intptr_t)decide_as(id, DECISION_REDACT, false);
}

TEST(of_two_answers_at_once_one_wins)
{
    for (int i = 0; i < 8; i++) {
        struct made m;
        char id[DECISION_ID_BYTES];
        pthread_t other;
        void *theirs;
        desk_open(&asking);
        begin_with(&m, USER("Write to " MAIL), &nothing);
        WAIT_FOR(has_event(m.id, "dlp_preview"));
        find_decision(id);
        T_EQ(pthread_create(&other, NULL, decide_redact, id), 0);
        enum weir_status ours = decide_as(id, DECISION_BLOCK, false);
        pthread_join(other, &theirs);
        bool is_ours = ours == WEIR_OK;
        T_EQ((intptr_t)theirs, is_ours ? WEIR_NOT_FOUND : WEIR_OK);
        WAIT_FOR(n_sealed() == 1);
        look(m.id);
        check_log(is_ours ? "dlp_blocked" : "done");
        desk_close();
    }
}

TEST(a_question_ends_with_its_reply)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    begin_with(&m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    find_decision(id);
    fake_clock_advance(&desk.clock, 30ull * 1000000000); /* nobody reads it */
    chats_wake(desk.chats);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("error");
    T_EQ(decide_as(id, DECISION_ALLOW, true), WEIR_NOT_FOUND);
    desk_close();
}

TEST(nothing_is_decided_about_a_conversation_that_is_deleted)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    begin_with(&m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    find_decision(id);
    T_EQ(chats_delete(desk.chats, SLICE("ann"), weir_slice_of(m.conversation)), WEIR_OK);
    T_EQ(decide_as(id, DECISION_ALLOW, true), WEIR_NOT_FOUND);
    WAIT_FOR(n_sealed() == 1);
    T_EQ(atomic_load(&stage->n_calls), 0);
    desk_close();
}

/* ---- on the way out ---- */

TEST(a_placeholder_is_whole_in_one_event_wherever_the_model_cuts_it)
{
    static const char text[] = "To [email_1], [Email 1] and [x] or [email_10] [";
    char head[sizeof text], tail[sizeof text];
    desk_open(&(struct setting){0});
    for (size_t at = 0; at < strlen(text); at += 1 + at % 2) {
        struct made m;
        struct weir_buf all, one;
        struct transcript t;
        unsigned n = atomic_load(&stage->n_calls);
        snprintf(head, sizeof head, "%.*s", (int)at, text);
        snprintf(tail, sizeof tail, "%s", text + at);
        if (n >= MAX_CALLS) break;
        stage->plans[n] = (struct plan){.deltas = {at > 0 ? head : tail, at > 0 ? tail : NULL}};
        run_with(&m, USER("I am " MAIL), &nothing);
        check_log("done");
        T_EQ_STR(weir_slice_of(said_text()), text);
        /* Each token restored by itself, as readers get it. */
        const struct guard *g = chats_guard(desk.chats, weir_slice_of(m.id));
        transcript_init(&t);
        weir_buf_init(&all, TEXT_BYTES);
        weir_buf_init(&one, TEXT_BYTES);
        for (const char *e = event_text; (e = strstr(e, "event: token\ndata: "));) {
            e += strlen("event: token\ndata: ");
            weir_buf_reset(&one);
            T_EQ(chat_restore_event(g, SLICE("token"), slice_of(e, strcspn(e, "\n")), &one),
                 WEIR_OK);
            T_EQ(transcript_add(&t, SLICE("token"), weir_buf_slice(&one)), WEIR_OK);
        }
        T_EQ_STR(weir_buf_slice(&t.text), "To " MAIL ", " MAIL " and [x] or [email_10] [");
        chats_guard_release(desk.chats, g);
        transcript_fini(&t);
        weir_buf_fini(&all);
        weir_buf_fini(&one);
    }
    desk_close();
}

TEST(what_the_last_look_finds_ends_the_reply)
{
    struct made m;
    desk_open(&(struct setting){0});
    stage->plans[0] = (struct plan){.status = WEIR_FORBIDDEN, .is_final = true};
    run_with(&m, USER("Hi"), &nothing);
    check_log("dlp_blocked");
    T_OK(says(event_text, "{\"reason\":\"policy_block\",\"findings\":[]}"));
    T_OK(stage->has_guard);
    desk_close();
}

TEST(with_the_policy_off_nobody_looks)
{
    struct made m;
    desk_open(&(struct setting){.policy = "{\"piiAction\":\"off\"}"});
    run_with(&m, USER("Write to " MAIL), &nothing);
    check_log("done");
    T_OK(says(stage->asked[0], MAIL));
    T_OK(!stage->has_guard);
    T_EQ(count(event_text, "event: dlp_"), 0);
    /* A stricter wish later looks at all that is there. */
    run_with(&m, USER("Thanks"),
             &(struct wish){.conversation = m.conversation, .action = PII_REDACT});
    check_log("done");
    T_OK(!says(stage->asked[1], MAIL));
    T_EQ(count(event_text, "event: dlp_resolved\n"), 1);
    run_with(&m, USER("Thanks"),
             &(struct wish){.conversation = m.conversation, .action = PII_BLOCK});
    check_log("dlp_blocked");
    desk_close();
}

TEST(a_model_of_our_own_gets_placeholders_and_nobody_is_asked)
{
    struct made m;
    desk_open(&asking);
    desk_is_local = true;
    run_with(&m, USER("Write to " MAIL), &nothing);
    desk_is_local = false;
    check_log("done");
    T_OK(!says(stage->asked[0], MAIL));
    T_EQ(count(event_text, "event: dlp_"), 0);
    desk_close();
}

/* ---- tools ---- */

static void remember(const char *id, const char *text)
{
    char body[512];
    struct commit *c = commit_new(0);
    snprintf(body, sizeof body,
             "{\"id\":\"%s\",\"category\":\"goal\",\"text\":\"%s\",\"data\":null,\"source_turn\":"
             "null,\"created_at\":\"2025-01-01T00:00:00.000Z\",\"updated_at\":"
             "\"2025-01-01T00:00:00.000Z\"}",
             id, text);
    commit_put(c, (struct doc_key){SLICE("memory"), weir_slice_of(id)}, DOC_MUST_BE_NEW,
               SLICE("ann"), weir_slice_of(body));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
}

#define READ_MEMORY "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"read_memory\",\"input\":{}}"

TEST(what_a_tool_brings_is_asked_about_before_it_leaves)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    remember("mem_01HF7YAT00TK5XH20CG3W8S79X", "write to " MAIL);
    stage->plans[0] = (struct plan){.tools = READ_MEMORY};
    stage->plans[1] = (struct plan){.deltas = {"To [email_1]."}};
    begin_with(&m, USER("What is my goal?"), &(struct wish){.agent = "asst_default"});
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    T_EQ(atomic_load(&stage->n_calls), 1);
    T_OK(says(event_text, "event: tool_result\n"));
    T_OK(!says(event_text, MAIL));
    T_OK(says(event_text, "write to [email_1]"));
    find_decision(id);
    T_EQ(decide_as(id, DECISION_REDACT, false), WEIR_OK);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("done");
    T_OK(says(stage->asked[1], "[email_1]"));
    T_OK(!says(stage->asked[1], MAIL));
    restore_events(m.id);
    T_OK(says(restored, "write to " MAIL));
    desk_close();
}

TEST(a_choice_holds_for_the_rest_of_the_reply)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    desk_open(&asking);
    remember("mem_01HF7YAT00TK5XH20CG3W8S79X", "write to bob@example.org");
    stage->plans[0] = (struct plan){.tools = READ_MEMORY};
    stage->plans[1] = (struct plan){.deltas = {"Good."}};
    begin_with(&m, USER("I am " MAIL ". What is my goal?"),
               &(struct wish){.agent = "asst_default"});
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    find_decision(id);
    T_EQ(decide_as(id, DECISION_ALLOW, false), WEIR_OK);
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("done");
    T_EQ(count(event_text, "event: dlp_preview\n"), 1);
    T_EQ(count(event_text, "event: dlp_resolved\n"), 2);
    T_OK(says(stage->asked[1], MAIL));
    T_OK(says(stage->asked[1], "bob@example.org"));
    desk_close();
}

TEST(every_decision_is_in_the_audit_and_no_value)
{
    struct made m;
    struct log_read read;
    static char audit[TEXT_BYTES];
    desk_open(&(struct setting){0});
    run_with(&m, USER("Write to " MAIL), &nothing);
    run_with(&m, USER("Write to " MAIL), &(struct wish){.action = PII_BLOCK});
    store_read(desk.store, weir_slice_of(shield_audit_log), 1, TEXT_BYTES, &read);
    T_EQ(read.n_chunks, 1);
    for (unsigned i = 0; i < read.n_chunks; i++) {
        snprintf(audit, sizeof audit, "%.*s", (int)read.chunks[i]->len, read.chunks[i]->bytes);
        chunk_unref(read.chunks[i]);
    }
    T_OK(says(audit, "\"action\":\"redact\",\"decidedBy\":\"policy\",\"path\":\"chat\",\"count\":1,"
                     "\"categories\":{\"email\":1}"));
    T_OK(says(audit, "\"action\":\"policy_block\",\"decidedBy\":\"policy\""));
    T_OK(!says(audit, MAIL));
    desk_close();
}
