/* SPDX-License-Identifier: Apache-2.0 */
#include "client/resume.h"

#include <stdio.h>

#include "base/slice.h"
#include "t.h"

enum { SEQ_BYTES = 24 };

static const struct weir_stream_retry usual;

static struct resume resume_of(enum weir_stream_kind kind)
{
    struct resume r;
    T_EQ(resume_init(&r, kind, &usual), WEIR_OK);
    resume_begin(&r);
    return r;
}

static enum resume_take take(struct resume *r, const char *id, const char *type, const char *data)
{
    const struct weir_sse_event event = {weir_slice_of(type), weir_slice_of(data),
                                         weir_slice_of(id)};
    enum resume_take taken = RESUME_BAD;
    T_EQ(resume_event(r, &event, &taken), WEIR_OK);
    return taken;
}

static enum resume_take take_seq(struct resume *r, uint64_t seq)
{
    char id[SEQ_BYTES];
    snprintf(id, sizeof id, "%llu", (unsigned long long)seq);
    return take(r, id, "x", "{}");
}

/* ---- answers ---- */

TEST(only_a_200_with_an_event_stream_opens)
{
    static const struct {
        int http_status;
        const char *type;
        enum resume_answer answer;
    } cases[] = {
        {200, "text/event-stream", RESUME_OPEN},
        {200, "Text/Event-Stream; charset=utf-8", RESUME_OPEN},
        {200, "text/event-stream;x", RESUME_OPEN},
        {200, "text/event-stream ", RESUME_OPEN},
        {200, "text/event-streams", RESUME_NEVER},
        {200, "text/event-strea", RESUME_NEVER},
        {200, "text/html", RESUME_NEVER},
        {200, "", RESUME_NEVER},
        {201, "text/event-stream", RESUME_NEVER},
        {204, "", RESUME_NOTHING},
        {301, "", RESUME_NEVER},
        {307, "text/event-stream", RESUME_NEVER},
        {400, "", RESUME_NEVER},
        {401, "", RESUME_NEVER},
        {404, "text/event-stream", RESUME_NEVER},
        {408, "", RESUME_LATER},
        {409, "", RESUME_NEVER},
        {429, "", RESUME_LATER},
        {500, "", RESUME_LATER},
        {502, "text/html", RESUME_LATER},
        {503, "text/event-stream", RESUME_LATER},
        {529, "", RESUME_LATER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (resume_head(cases[i].http_status, weir_slice_of(cases[i].type)) != cases[i].answer)
            t_fail(__FILE__, __LINE__, "%d %s", cases[i].http_status, cases[i].type);
}

/* ---- events ---- */

TEST(numbered_events_are_given_once)
{
    struct resume r = resume_of(WEIR_STREAM_TURN);
    for (uint64_t seq = 1; seq <= 5; seq++) T_EQ(take_seq(&r, seq), RESUME_GIVE);
    resume_begin(&r);
    for (uint64_t seq = 3; seq <= 5; seq++) T_EQ(take_seq(&r, seq), RESUME_DROP);
    T_EQ(take_seq(&r, 6), RESUME_GIVE);
    T_EQ(take_seq(&r, 6), RESUME_DROP);
    T_EQ(r.last_seq, 6);
    resume_fini(&r);
}

TEST(what_was_had_before_is_not_given)
{
    struct resume r = resume_of(WEIR_STREAM_TURN);
    r.last_seq = 10;
    T_EQ(take_seq(&r, 10), RESUME_DROP);
    T_EQ(take_seq(&r, 11), RESUME_GIVE);
    resume_fini(&r);
}

/* A server that was set back to an old copy gives numbers again, with other events. */
TEST(a_session_that_begins_anew_far_behind_is_not_waited_out_in_silence)
{
    struct resume r = resume_of(WEIR_STREAM_SESSION);
    r.last_seq = 1000000;
    T_EQ(take_seq(&r, 1), RESUME_OTHER);
    T_EQ(take_seq(&r, 1000000), RESUME_OTHER);
    T_EQ(take_seq(&r, 1000001), RESUME_GIVE);
    resume_begin(&r);
    T_EQ(take_seq(&r, 1000001), RESUME_DROP);
    T_EQ(take_seq(&r, 999999), RESUME_OTHER);
    T_EQ(r.last_seq, 1000001);
    resume_fini(&r);
}

TEST(a_turn_misses_nothing_and_a_session_says_so)
{
    struct resume r = resume_of(WEIR_STREAM_TURN);
    T_EQ(take_seq(&r, 1), RESUME_GIVE);
    T_EQ(take_seq(&r, 3), RESUME_MISSING);
    T_EQ(r.last_seq, 1);
    T_EQ(take_seq(&r, 2), RESUME_GIVE);
    resume_fini(&r);
    r = resume_of(WEIR_STREAM_SESSION);
    T_EQ(take_seq(&r, 7), RESUME_GIVE_AFTER_GAP);
    T_EQ(take_seq(&r, 8), RESUME_GIVE);
    T_EQ(r.last_seq, 8);
    resume_fini(&r);
}

TEST(numbers_are_nothing_but_numbers)
{
    static const char *const ids[] = {"",   "0",  "a",   "-1",   "+1",
                                      " 1", "1 ", "1.0", "0x10", "18446744073709551616"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct resume r = resume_of(WEIR_STREAM_TURN);
        T_EQ(take(&r, ids[i], "x", "{}"), RESUME_BAD);
        T_EQ(r.last_seq, 0);
        resume_fini(&r);
    }
    struct resume r = resume_of(WEIR_STREAM_SESSION);
    T_EQ(take_seq(&r, UINT64_MAX), RESUME_GIVE_AFTER_GAP);
    T_EQ(take_seq(&r, 1), RESUME_OTHER);
    resume_fini(&r);
}

TEST(each_kind_knows_its_last_event)
{
    static const struct {
        enum weir_stream_kind kind;
        const char *type, *data;
        bool is_last;
    } cases[] = {
        {WEIR_STREAM_TURN, "turn.completed", "{}", true},
        {WEIR_STREAM_TURN, "turn.failed", "{}", true},
        {WEIR_STREAM_TURN, "turn.started", "{}", false},
        {WEIR_STREAM_TURN, "error", "{}", false},
        {WEIR_STREAM_SESSION, "turn.completed", "{}", false},
        {WEIR_STREAM_SESSION, "message", "{\"type\":\"done\"}", false},
        {WEIR_STREAM_MODEL, "message_stop", "{}", true},
        {WEIR_STREAM_MODEL, "error", "{}", true},
        {WEIR_STREAM_MODEL, "message", "[DONE]", true},
        {WEIR_STREAM_MODEL, "message_delta", "{}", false},
        {WEIR_STREAM_CHAT, "done", "{}", true},
        {WEIR_STREAM_CHAT, "error", "{}", true},
        {WEIR_STREAM_CHAT, "dlp_blocked", "{}", true},
        {WEIR_STREAM_CHAT, "dlp_resolved", "{}", false},
        {WEIR_STREAM_ANY, "message", "[DONE]", false},
        {WEIR_STREAM_ANY, "error", "{}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct resume r = resume_of(cases[i].kind);
        const char *id = cases[i].kind == WEIR_STREAM_CHAT ? "msg_1:1" : "1";
        enum resume_take taken = take(&r, id, cases[i].type, cases[i].data);
        T_EQ(taken, cases[i].is_last ? RESUME_GIVE_LAST : RESUME_GIVE);
        T_EQ(r.is_over, cases[i].is_last);
        resume_fini(&r);
    }
}

TEST(a_reply_is_numbered_behind_its_name)
{
    struct resume r = resume_of(WEIR_STREAM_CHAT);
    T_EQ(take(&r, "msg_1:1", "token", ""), RESUME_GIVE);
    T_EQ(take(&r, "msg_1:2", "token", ""), RESUME_GIVE);
    resume_begin(&r);
    T_EQ(take(&r, "msg_1:1", "token", ""), RESUME_DROP);
    T_EQ(take(&r, "msg_1:2", "token", ""), RESUME_DROP);
    T_EQ(take(&r, "msg_1:4", "token", ""), RESUME_MISSING);
    T_EQ(take(&r, "msg_1:3", "token", ""), RESUME_GIVE);
    T_EQ(r.last_seq, 3);
    T_EQ_STR(weir_buf_slice(&r.last_id), "msg_1:3");
    /* Another reply has its own numbers. */
    T_EQ(take(&r, "msg_12:2", "token", ""), RESUME_MISSING);
    T_EQ(take(&r, "msg_12:1", "token", ""), RESUME_GIVE);
    T_EQ(take(&r, "a:b:2", "token", ""), RESUME_MISSING);
    static const char *const bad[] = {"", "1", ":1", "msg_1:", "msg_1:x", "msg_1:0", "msg_1:-1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        T_EQ(take(&r, bad[i], "token", ""), RESUME_BAD);
    resume_fini(&r);
}

TEST(a_reply_goes_on_behind_what_was_had)
{
    struct resume r = resume_of(WEIR_STREAM_CHAT);
    T_EQ(resume_had(&r, 0, SLICE("nonsense")), WEIR_INVALID);
    T_EQ(resume_had(&r, 0, SLICE("msg_1:7")), WEIR_OK);
    T_EQ(r.last_seq, 7);
    T_EQ(take(&r, "msg_1:7", "token", ""), RESUME_DROP);
    T_EQ(take(&r, "msg_1:8", "token", ""), RESUME_GIVE);
    resume_fini(&r);
}

TEST(a_gap_is_two_numbers_in_order)
{
    static const struct {
        const char *text;
        bool is_gap;
    } cases[] = {
        {"1-9", true}, {"5-5", true}, {"9-1", false}, {"0-3", false},   {"-3", false},
        {"3-", false}, {"3", false},  {"", false},    {"1-2-3", false}, {"a-b", false},
    };
    uint64_t first, last;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (resume_read_gap(weir_slice_of(cases[i].text), &first, &last) != cases[i].is_gap)
            t_fail(__FILE__, __LINE__, "%s", cases[i].text);
    T_OK(resume_read_gap(SLICE("3-18446744073709551615"), &first, &last));
    T_EQ(first, 3);
    T_EQ(last, UINT64_MAX);
}

TEST(a_number_that_was_had_with_something_else_is_of_another_stream)
{
    struct resume r = resume_of(WEIR_STREAM_SESSION);
    T_EQ(take(&r, "1", "x", "one"), RESUME_GIVE);
    T_EQ(take(&r, "2", "x", "two"), RESUME_GIVE);
    T_EQ(take(&r, "5", "x", "five"), RESUME_GIVE_AFTER_GAP);
    resume_begin(&r);
    T_EQ(take(&r, "2", "x", "two"), RESUME_DROP);
    T_EQ(take(&r, "3", "x", "never seen"), RESUME_OTHER);
    T_EQ(take(&r, "5", "x", "five"), RESUME_DROP);
    T_EQ(take(&r, "1", "x", "anew"), RESUME_OTHER);
    T_EQ(take(&r, "2", "y", "two"), RESUME_OTHER);
    T_EQ(r.last_seq, 5);
    /* What was long ago is not known, and neither is what was passed over: the server skips it. */
    T_EQ(take_seq(&r, 5 + 2 * RESUME_HAD), RESUME_GIVE_AFTER_GAP);
    T_EQ(take(&r, "5", "x", "anew"), RESUME_OTHER);
    T_EQ(take_seq(&r, 5 + RESUME_HAD), RESUME_OTHER);
    T_EQ(take(&r, "18446744073709551615", "x", "the last"), RESUME_GIVE_AFTER_GAP);
    T_EQ(take(&r, "18446744073709551615", "x", "another"), RESUME_OTHER);
    resume_fini(&r);
    r = resume_of(WEIR_STREAM_TURN);
    T_EQ(resume_had(&r, 7, SLICE("")), WEIR_OK);
    T_EQ(take(&r, "7", "x", "whatever it was"), RESUME_DROP);
    resume_fini(&r);
}

TEST(ids_without_order_are_dropped_up_to_the_newest)
{
    struct resume r = resume_of(WEIR_STREAM_ANY);
    T_EQ(take(&r, "a", "x", ""), RESUME_GIVE);
    T_EQ(take(&r, "b", "x", ""), RESUME_GIVE);
    T_EQ(take(&r, "c", "x", ""), RESUME_GIVE);
    T_EQ(take(&r, "c", "x", ""), RESUME_GIVE); /* a sender that uses one id for many */
    T_EQ_SLICE(weir_buf_slice(&r.last_id), SLICE("c"));
    resume_begin(&r);
    T_EQ(take(&r, "b", "x", ""), RESUME_DROP);
    T_EQ(take(&r, "", "hello", ""), RESUME_GIVE); /* nothing can be known of it */
    T_EQ(take(&r, "d", "x", ""), RESUME_GIVE);
    T_EQ(take(&r, "a", "x", ""), RESUME_DROP);
    T_EQ(take(&r, "a", "x", "anew"), RESUME_GIVE); /* the id of another event */
    T_EQ(take(&r, "c", "x", ""), RESUME_DROP);
    T_EQ(take(&r, "c", "x", ""), RESUME_GIVE);
    T_EQ(take(&r, "b", "x", ""), RESUME_GIVE);
    T_EQ_SLICE(weir_buf_slice(&r.last_id), SLICE("b"));
    resume_begin(&r);
    T_EQ(take(&r, "", "x", ""), RESUME_GIVE);
    T_EQ_SLICE(weir_buf_slice(&r.last_id), SLICE("b"));
    resume_fini(&r);
}

TEST(only_so_many_events_are_known_again)
{
    char id[SEQ_BYTES];
    struct resume r = resume_of(WEIR_STREAM_ANY);
    for (int i = 0; i <= RESUME_HAD; i++) {
        snprintf(id, sizeof id, "id%d", i);
        T_EQ(take(&r, id, "x", ""), RESUME_GIVE);
    }
    resume_begin(&r);
    T_EQ(take(&r, "id0", "x", ""), RESUME_GIVE);
    T_EQ(take(&r, "id1", "x", ""), RESUME_GIVE);
    T_EQ(take(&r, "id3", "x", ""), RESUME_DROP);
    resume_fini(&r);
}

static const char *end_with(struct resume *r, const char *id)
{
    static char last_id[SEQ_BYTES];
    T_EQ(resume_end(r, weir_slice_of(id)), WEIR_OK);
    struct weir_slice now = weir_buf_slice(&r->last_id);
    snprintf(last_id, sizeof last_id, "%.*s", (int)now.len, now.len > 0 ? now.ptr : "");
    resume_begin(r);
    return last_id;
}

TEST(the_place_to_go_on_is_the_last_id_with_an_event_or_without)
{
    struct resume r = resume_of(WEIR_STREAM_ANY);
    T_EQ(resume_had(&r, 0, SLICE("before")), WEIR_OK);
    T_EQ_STR(weir_slice_of(end_with(&r, "")), "before"); /* a connection that said nothing */
    T_EQ(take(&r, "a", "x", ""), RESUME_GIVE);
    T_EQ(take(&r, "b", "x", ""), RESUME_GIVE);
    T_EQ_STR(weir_slice_of(end_with(&r, "checkpoint")), "checkpoint");
    T_EQ_STR(weir_slice_of(end_with(&r, "next")), "next");
    T_EQ(take(&r, "a", "x", ""), RESUME_DROP);
    T_EQ_STR(weir_slice_of(end_with(&r, "a")), "next"); /* cut while it repeated itself */
    T_EQ(take(&r, "c", "x", ""), RESUME_GIVE);
    T_EQ(take(&r, "", "x", ""), RESUME_GIVE);
    T_EQ_STR(weir_slice_of(end_with(&r, "")), ""); /* taken back */
    resume_fini(&r);
    r = resume_of(WEIR_STREAM_TURN);
    T_EQ(take_seq(&r, 1), RESUME_GIVE);
    T_EQ_STR(weir_slice_of(end_with(&r, "9")), "");
    T_EQ(r.last_seq, 1);
    resume_fini(&r);
}

/* ---- again ---- */

/* The longest pause after the nth failure in a row. */
static uint64_t longest(struct resume *r)
{
    uint64_t ms = 0;
    T_OK(resume_after(r, 0, UINT32_MAX, &ms));
    return ms + 1; /* the die has a largest side, which is not quite all of it */
}

TEST(pauses_grow_by_half_up_to_their_ceiling)
{
    static const uint64_t wanted[] = {1000,  1500,  2250,  3375,  5063, 7595,
                                      11393, 17090, 25635, 30000, 30000};
    struct resume r = resume_of(WEIR_STREAM_ANY);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) T_EQ(longest(&r), wanted[i]);
    T_EQ(take(&r, "a", "x", ""), RESUME_GIVE);
    T_EQ(longest(&r), 1000);
    resume_fini(&r);
}

TEST(any_part_of_a_pause_may_be_waited)
{
    uint64_t ms = 0;
    struct resume r = resume_of(WEIR_STREAM_ANY);
    T_OK(resume_after(&r, 0, 0, &ms));
    T_EQ(ms, 0);
    r.n_failed = 0;
    T_OK(resume_after(&r, 0, UINT32_MAX / 4 + 1, &ms));
    T_EQ(ms, 250);
    resume_fini(&r);
    r = resume_of(WEIR_STREAM_SESSION);
    for (int i = 0; i < 1000; i++) T_EQ(longest(&r), 3000);
    resume_fini(&r);
}

TEST(what_the_server_says_holds_within_bounds)
{
    static const uint64_t said[][2] = {
        {5000, 5000}, {1, RESUME_MIN_SAID_MS}, {3600000, RESUME_MAX_SAID_MS}, {200, 200}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        uint64_t ms = 0;
        struct resume r = resume_of(WEIR_STREAM_ANY);
        T_OK(resume_after(&r, said[i][0], 12345, &ms));
        T_EQ(ms, said[i][1]);
        resume_fini(&r);
        r = resume_of(WEIR_STREAM_ANY);
        resume_said_retry(&r, said[i][0]);
        T_OK(resume_after(&r, 0, 12345, &ms));
        T_EQ(ms, said[i][1]);
        resume_fini(&r);
    }
    uint64_t ms = 0;
    struct resume r = resume_of(WEIR_STREAM_ANY);
    resume_said_retry(&r, 0);
    T_OK(resume_after(&r, 0, 0, &ms));
    T_EQ(ms, RESUME_MIN_SAID_MS);
    /* It is the least; where it does not help, more is waited. */
    for (int i = 0; i < 5; i++) T_OK(resume_after(&r, 0, UINT32_MAX, &ms));
    T_OK(ms > 500 && ms < 1000);
    resume_fini(&r);
}

TEST(failures_are_counted_until_something_new_comes)
{
    uint64_t ms;
    struct resume r = resume_of(WEIR_STREAM_TURN);
    for (int i = 0; i < 5; i++) T_OK(resume_after(&r, 0, 0, &ms));
    T_EQ(take_seq(&r, 1), RESUME_GIVE);
    for (int i = 0; i < 5; i++) T_OK(resume_after(&r, 0, 0, &ms));
    resume_begin(&r);
    T_EQ(take_seq(&r, 1), RESUME_DROP); /* nothing new */
    T_OK(!resume_after(&r, 0, 0, &ms));
    resume_fini(&r);
}

TEST(settings_win_over_what_a_kind_has)
{
    uint64_t ms;
    struct resume r;
    const struct weir_stream_retry never = {.max_retries = WEIR_RETRY_NEVER};
    T_EQ(resume_init(&r, WEIR_STREAM_SESSION, &never), WEIR_OK);
    T_OK(!resume_after(&r, 0, 0, &ms));
    resume_fini(&r);
    const struct weir_stream_retry own = {.max_retries = 1, .initial_ms = 10, .max_ms = 12};
    T_EQ(resume_init(&r, WEIR_STREAM_TURN, &own), WEIR_OK);
    T_OK(resume_after(&r, 0, UINT32_MAX, &ms));
    T_EQ(ms, 9);
    T_OK(!resume_after(&r, 0, UINT32_MAX, &ms));
    T_EQ(ms, 11);
    resume_fini(&r);
    const struct weir_stream_retry forever = {.max_retries = WEIR_RETRY_FOREVER, .initial_ms = 1};
    T_EQ(resume_init(&r, WEIR_STREAM_MODEL, &forever), WEIR_OK);
    for (int i = 0; i < 10000; i++) T_OK(resume_after(&r, 0, 7, &ms));
    resume_fini(&r);
    T_EQ(resume_init(&r, (enum weir_stream_kind)77, &forever), WEIR_INVALID);
}

TEST(what_is_paid_for_is_asked_for_again_only_before_its_first_byte)
{
    uint64_t ms;
    struct resume r = resume_of(WEIR_STREAM_MODEL);
    T_OK(resume_after(&r, 0, 0, &ms));
    resume_begin(&r);
    resume_bytes(&r);
    T_OK(!resume_after(&r, 0, 0, &ms));
    resume_fini(&r);
}

TEST(after_the_last_event_nothing_is_asked_for)
{
    uint64_t ms;
    struct resume r = resume_of(WEIR_STREAM_TURN);
    T_EQ(take(&r, "1", "turn.failed", "{}"), RESUME_GIVE_LAST);
    T_OK(!resume_after(&r, 0, 0, &ms));
    resume_fini(&r);
}
