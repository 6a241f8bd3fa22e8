/* SPDX-License-Identifier: Apache-2.0 */
/* Clarifications are listed until they are answered, once and in time. */
#include "ask.h"

static const char *ask(const struct sent *t, unsigned n)
{
    return ask_by_hand(QUESTION_CLARIFY, t, n,
                       "\"question\":\"Which one?\",\"options\":[\"a\",\"b\"],\"default\":\"a\"");
}

#define RESPOND(id, answer)                                                                        \
    CALL("clarify/respond", "{\"requestId\":\"%s\",\"answer\":\"%s\",\"source\":\"user\"}", id,    \
         answer)

TEST(an_answer_may_be_another_than_those_offered_and_counts_once)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    const char *id = ask(&t, 1);
    T_EQ(RESPOND(id, "none of them"), WEIR_OK);
    T_EQ(RESPOND(id, "a"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "it was answered already");
    T_OK(says(doc_text("clarify", id), "\"decision\":\"user\""));
    T_OK(says(doc_text("clarify", id), "\"text\":\"none of them\""));
    T_OK(says(look(t.session), desk_format("data: {\"type\":\"clarify.resolved\",\"requestId\":"
                                           "\"%s\",\"source\":\"user\"}\n",
                                           id)));
    T_OK(says(audit(), "\"kind\":\"clarification\",\"tool\":null,\"argsHash\":null,"
                       "\"decision\":\"user\",\"decidedBy\":\"user\",\"decider\":\"user\","
                       "\"scope\":null,\"textBytes\":12,\"waitedMs\":0}"));
    T_OK(!says(audit(), "none of them"));
    play_stop();
}

TEST(who_cancels_need_not_say_anything)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    const char *id = ask(&t, 1);
    T_EQ(CALL("clarify/respond", "{\"requestId\":\"%s\",\"source\":\"cancel\"}", id), WEIR_OK);
    T_EQ(RESPOND(id, "a"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "it was cancelled already");
    T_OK(says(look(t.session), "\"source\":\"cancel\"}"));
    T_EQ(CALL("clarify/respond", "{\"requestId\":\"%s\",\"answer\":\"x\",\"source\":\"cancel\"}",
              ask(&t, 2)),
         WEIR_OK);
    T_OK(says(doc_text("clarify", asked_id), "\"text\":null"));
    play_stop();
}

TEST(what_is_open_is_listed_to_its_owner)
{
    play_open(true);
    struct sent a = send_text(NULL, "one"), b = send_text(NULL, "two");
    char first[QUESTION_ID_BYTES], second[QUESTION_ID_BYTES];
    T_EQ(CALL("clarify/listPending", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "[]");
    snprintf(first, sizeof first, "%s", ask(&a, 1));
    snprintf(second, sizeof second, "%s",
             ask_by_hand(QUESTION_CLARIFY, &b, 3, "\"question\":\"Why?\""));
    (void)ask_by_hand(QUESTION_APPROVAL, &b, 2,
                      "\"call\":\"tc_2\",\"tool\":\"t\",\"hash\":\"h\",\"args\":{}");
    T_EQ(CALL("clarify/listPending", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out),
             desk_format("[{\"requestId\":\"%s\",\"sessionId\":\"%s\",\"question\":\"Which one?\","
                         "\"options\":[\"a\",\"b\"],\"default\":\"a\",\"defaultDeadlineAt\":"
                         "\"2023-11-14T22:14:20.000Z\"},{\"requestId\":\"%s\",\"sessionId\":\"%s\","
                         "\"question\":\"Why?\",\"defaultDeadlineAt\":\"2023-11-14T22:14:20.000Z\"}"
                         "]",
                         first, a.session, second, b.session));
    T_EQ(CALL("clarify/listPending", "{\"sessionId\":\"%s\"}", b.session), WEIR_OK);
    T_OK(says(call_text_out, second) && !says(call_text_out, first));
    T_EQ(call_as("bob", "clarify/listPending", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "[]");
    T_EQ(call_as("bob", "clarify/listPending", desk_format("{\"sessionId\":\"%s\"}", b.session)),
         WEIR_NOT_FOUND);
    T_EQ(CALL("clarify/listPending", "{\"sessionId\":\"ses_nobody\"}"), WEIR_NOT_FOUND);
    T_EQ(RESPOND(first, "b"), WEIR_OK);
    T_EQ(CALL("clarify/listPending", "{\"sessionId\":\"%s\"}", a.session), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "[]");
    play_stop();
}

TEST(an_input_that_is_wrong_is_refused_by_its_member)
{
    static char longest[(16 << 10) + 2], input[(16 << 10) + 256];
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    const char *id = ask(&t, 1);
    T_EQ(CALL("clarify/respond", "{\"requestId\":\"%s\",\"answer\":\"a\"}", id), WEIR_BAD_FIELD);
    T_EQ_STR(weir_slice_of(call_why), "source is missing");
    T_EQ(CALL("clarify/respond",
              "{\"requestId\":\"%s\",\"answer\":\"a\",\"source\":\"timeout-default\"}", id),
         WEIR_BAD_FIELD);
    T_EQ_STR(weir_slice_of(call_why), "source must be user or cancel");
    T_EQ(CALL("clarify/respond", "{\"requestId\":\"%s\",\"source\":\"user\"}", id), WEIR_BAD_FIELD);
    T_EQ_STR(weir_slice_of(call_why), "answer is missing");
    T_EQ(RESPOND(id, ""), WEIR_BAD_FIELD);
    T_EQ_STR(weir_slice_of(call_why), "answer is empty");
    T_EQ(CALL("clarify/respond", "{\"answer\":\"a\",\"source\":\"user\"}"), WEIR_BAD_FIELD);
    T_EQ_STR(weir_slice_of(call_why), "requestId is missing");
    memset(longest, 'x', sizeof longest - 1);
    snprintf(input, sizeof input, "{\"requestId\":\"%s\",\"answer\":\"%s\",\"source\":\"user\"}",
             id, longest);
    T_EQ(call_as("ann", "clarify/respond", input), WEIR_BAD_FIELD);
    T_EQ_STR(weir_slice_of(call_why), "answer is longer than 16384 bytes");
    T_EQ(RESPOND("clr_01ARZ3NDEKTSV4RRFFQ69G5FAV_1", "a"), WEIR_NOT_FOUND);
    T_EQ(RESPOND("ap_01ARZ3NDEKTSV4RRFFQ69G5FAV_1", "a"), WEIR_NOT_FOUND);
    T_EQ(call_as("bob", "clarify/respond",
                 desk_format("{\"requestId\":\"%s\",\"answer\":\"a\",\"source\":\"user\"}", id)),
         WEIR_NOT_FOUND);
    T_EQ(n_docs("session_pending"), 1);
    longest[sizeof longest - 2] = '\0';
    T_EQ(RESPOND(id, longest), WEIR_OK);
    play_stop();
}

TEST(an_abort_cancels_what_is_open)
{
    play_open(true);
    struct sent t = send_text(NULL, "hello");
    const char *id = ask(&t, 1);
    T_EQ(CALL("chat/abort", "{\"sessionId\":\"%s\"}", t.session), WEIR_OK);
    T_EQ(RESPOND(id, "a"), WEIR_CONFLICT);
    T_EQ_STR(weir_slice_of(call_why), "its turn was aborted before anybody answered");
    T_OK(says(look(t.session), "\"source\":\"cancel\"}"));
    T_EQ(CALL("clarify/listPending", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "[]");
    wait_idle(t.session);
    T_EQ(n_audited(), 1);
    play_stop();
}
