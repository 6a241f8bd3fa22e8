/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other nodes have written: whoever waits here for such a document looks again. Nothing is
 * taken from the news themselves, so one that is lost, late or told twice costs time alone.
 *
 *   document            whoever looks again
 *   approval, clarify   the turn that asked, if it waits here
 *   cron                the schedules: jobs.c
 *   run, run-…          the engine of runs
 *
 * What else there is of a session is read from the store each time it is needed, or decided inside
 * of a commit: queues, steering, scopes, skills, deletions. That a turn is to end is the engine of
 * runs' to hear.
 */
#include "base/slice.h"
#include "session/question_impl.h"

/* Under the lock: one that waits for people. */
static bool waits(const struct live *l)
{
    return l->waiter && l->question[0];
}

static void list_waiting(struct sessions *s, struct weir_buf *ids)
{
    pthread_mutex_lock(&s->lock);
    struct map_walk w = map_walk_begin(&s->turns);
    while (map_walk_next(&s->turns, &w)) {
        const struct live *l = w.value;
        if (waits(l)) weir_buf_append_str(ids, l->id);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Without memory for all of them those that fit: the others have their deadlines. */
static void wake_all(struct sessions *s)
{
    struct weir_buf ids;
    weir_buf_init(&ids, SESSION_JSON_BYTES);
    list_waiting(s, &ids);
    for (size_t at = 0; at + SESSION_TURN_LEN <= ids.len; at += SESSION_TURN_LEN)
        turn_wake(s, slice_of(ids.ptr + at, SESSION_TURN_LEN));
    weir_buf_fini(&ids);
}

static void wake_turn_of(struct sessions *s, enum question_kind kind, struct weir_slice id)
{
    char turn[SESSION_TURN_LEN + 1];
    if (question_is_id(kind, id, turn)) turn_wake(s, weir_slice_of(turn));
}

void sessions_docs_changed(struct sessions *s, struct weir_slice kind, struct weir_slice id)
{
    const struct doc_key key = {kind, id};
    flow_docs_changed(s->flow, &key, kind.len > 0 ? 1 : 0);
    if (!atomic_load(&s->has_started)) return; /* all is read then */
    if (kind.len == 0) {
        wake_all(s);
        (void)sessions_later(s, jobs_look_all, SLICE(""));
    } else if (weir_slice_is(kind, "approval")) {
        wake_turn_of(s, QUESTION_APPROVAL, id);
    } else if (weir_slice_is(kind, "clarify")) {
        wake_turn_of(s, QUESTION_CLARIFY, id);
    } else if (weir_slice_is(kind, "cron") && ulid_is_name(id, "cron_")) {
        (void)sessions_later(s, jobs_look, id);
    }
}
