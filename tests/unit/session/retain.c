/* SPDX-License-Identifier: Apache-2.0 */
/* What is old goes, and nothing that was promised to be kept. */
#include "play.h"

enum { HOUR_MS = 3600 * 1000 };

/* Many events in few commits, as a busy turn has them. */
static void append_many(const char *session, unsigned n)
{
    for (unsigned done = 0; done < n;) {
        struct commit *c = commit_new(0);
        for (unsigned i = 0; i < 1000 && done < n; i++, done++)
            T_EQ(session_append(c, weir_slice_of(session),
                                SLICE("{\"type\":\"text_delta\",\"text\":\"x\"}")),
                 WEIR_OK);
        T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    }
}

static void advance_ms(int64_t ms)
{
    fake_clock_advance(&desk.clock, (uint64_t)ms * 1000000);
    sessions_wake(desk.sessions);
}

static struct session_view attach(const char *session)
{
    struct session_view view;
    T_EQ(sessions_attach(desk.sessions, SLICE("ann"), weir_slice_of(session), &view), WEIR_OK);
    return view;
}

static void run_turn(const char *session)
{
    send_text(session, "x");
    wait_idle(session);
}

static uint64_t first_kept(const char *session)
{
    char log[SESSION_LOG_BYTES];
    uint64_t low = 0, high = last_event(session);
    while (low + 1 < high) {
        struct log_read read;
        uint64_t mid = low + (high - low) / 2;
        store_read(desk.store, session_log(log, weir_slice_of(session)), mid, 1, &read);
        for (unsigned i = 0; i < read.n_chunks; i++) chunk_unref(read.chunks[i]);
        if (read.status == WEIR_OK) high = mid;
        else low = mid;
    }
    return high;
}

TEST(old_events_go_and_the_last_ones_stay_however_old)
{
    desk.options = (struct sessions_options){.keep_events = 1000, .keep_ms = 24 * HOUR_MS};
    play_open(false);
    struct sent s = send_text(NULL, "x");
    wait_idle(s.session);
    append_many(s.session, 30000);
    run_turn(s.session); /* a mark was made by the first turn: this one is too near */
    advance_ms(2 * HOUR_MS);
    run_turn(s.session);
    uint64_t at_mark = last_event(s.session);
    T_EQ(attach(s.session).oldest, 1);
    append_many(s.session, 500);
    advance_ms(23 * HOUR_MS);
    T_EQ(attach(s.session).oldest < 5, true); /* what the first mark saw alone is old */
    advance_ms(2 * HOUR_MS);
    struct session_view view = attach(s.session);
    /* The mark is old enough for all before it, the number is not. */
    T_EQ(view.last, last_event(s.session));
    T_OK(view.last - view.oldest + 1 == 1000);
    T_OK(view.oldest < at_mark);
    T_EQ(store_settle(desk.store), WEIR_OK);
    T_OK(first_kept(s.session) <= view.oldest);
    T_OK(first_kept(s.session) > 1);
    look_from(s.session, view.oldest);
    T_EQ(count(event_text, "\ndata: {"), 1000);
    desk.options = (struct sessions_options){0};
    play_stop();
}

TEST(young_events_stay_however_many_they_are)
{
    desk.options = (struct sessions_options){.keep_events = 100, .keep_ms = 24 * HOUR_MS};
    play_open(false);
    struct sent s = send_text(NULL, "x");
    wait_idle(s.session);
    uint64_t at[60];
    for (int i = 0; i < 60; i++) {
        append_many(s.session, 300);
        run_turn(s.session);
        at[i] = last_event(s.session);
        uint64_t oldest = attach(s.session).oldest;
        /* Nothing of the last 24 hours has gone; at most two marks more than that is there. */
        if (i >= 24) T_OK(oldest <= at[i - 24] + 1);
        if (i >= 30) T_OK(oldest > at[i - 30]);
        advance_ms(HOUR_MS);
    }
    T_EQ(store_settle(desk.store), WEIR_OK);
    T_OK(first_kept(s.session) > at[20]);
    desk.options = (struct sessions_options){0};
    play_stop();
}

TEST(an_idle_session_is_looked_at_by_its_readers)
{
    desk.options = (struct sessions_options){.keep_events = 10, .keep_ms = HOUR_MS};
    play_open(false);
    struct sent s = send_text(NULL, "x");
    wait_idle(s.session);
    append_many(s.session, 100);
    T_EQ(attach(s.session).oldest, 1);
    advance_ms(HOUR_MS / 2);
    T_EQ(attach(s.session).oldest, 1);
    advance_ms(2 * HOUR_MS);
    struct session_view view = attach(s.session);
    T_EQ(view.oldest, view.last - 10 + 1);
    /* Another reader changes nothing. */
    T_EQ(attach(s.session).oldest, view.oldest);
    desk.options = (struct sessions_options){0};
    play_stop();
}

TEST(where_readers_begin_outlives_a_restart_and_ids_go_on)
{
    desk.options = (struct sessions_options){.keep_events = 10, .keep_ms = HOUR_MS};
    play_open(false);
    struct sent s = send_text(NULL, "x");
    wait_idle(s.session);
    append_many(s.session, 5000);
    (void)attach(s.session);
    advance_ms(2 * HOUR_MS);
    (void)attach(s.session);
    advance_ms(2 * HOUR_MS);
    struct session_view view = attach(s.session);
    T_OK(view.oldest > 1);
    play_stop();
    desk_start();
    struct session_view after = attach(s.session);
    T_OK(after.oldest >= view.oldest);
    WAIT_FOR(last_event(s.session) == view.last + 1); /* the new node */
    after = attach(s.session);
    T_EQ(n_events(s.session, "mesh.changed") > 0, false); /* reading from 1: it is gone */
    look_from(s.session, after.last);
    T_OK(says(event_text, "mesh.changed"));
    T_EQ(attach(s.session).last, after.last);
    desk.options = (struct sessions_options){0};
    play_stop();
}
