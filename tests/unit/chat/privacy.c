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
