/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of turns share: a store with turns, and what became of them. */
#pragma once

#include <stdio.h>

#include "base/slice.h"
#include "t.h"
#include "turn/turn_impl.h"

enum { WAIT_S = 20, TEXT_BYTES = 1 << 16 };

/* ---- a store with turns ---- */

static struct {
    struct store *store;
    struct turns *turns;
    struct fake_clock clock;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_sealed;
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline void on_news(void *user, const struct store_news *news, size_t n)
{
    (void)user;
    pthread_mutex_lock(&desk.lock);
    for (size_t i = 0; i < n; i++)
        if (news[i].is_sealed && turn_of_log(news[i].log).len > 0) desk.n_sealed++;
    pthread_cond_broadcast(&desk.changed);
    pthread_mutex_unlock(&desk.lock);
}

static inline void desk_start(const struct turns_options *more)
{
    struct turns_options options = *more;
    options.clock = &desk.clock.clock;
    options.n_threads = 2;
    T_EQ(turns_new(&desk.turns, desk.store, &options), WEIR_OK);
    T_EQ(turns_start(desk.turns), WEIR_OK);
}

static inline void desk_open(const char *folder, const struct turns_options *more)
{
    struct store_options store = {.on_news = on_news, .clock = &desk.clock.clock};
    struct store_error error;
    fake_clock_init(&desk.clock, 1700000000000);
    desk.n_sealed = 0;
    T_EQ(store_open(&desk.store, folder, &store, &error), WEIR_OK);
    desk_start(more);
}

static inline void close_desk(void)
{
    turns_stop(desk.turns, 1000);
    turns_free(desk.turns);
    store_close(desk.store);
}

static inline enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    return turn_draft_decide(user, view, c);
}

/* Makes a turn; its id is in `id` unless the commit is refused. */
static inline enum weir_status make(char id[TURN_ID_LEN + 1], const char *messages)
{
    struct turn_draft draft;
    const struct weir_json *json;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    T_EQ(weir_json_parse(doc, weir_slice_of(messages), &json, NULL), WEIR_OK);
    struct turn_request request = {
        .owner = SLICE("ann"), .request_id = SLICE("req_1"), .messages = json, .has_memory = true};
    T_EQ(turn_draft_init(&draft, desk.turns, &request), WEIR_OK);
    struct commit *c = commit_new(0);
    commit_decide(c, false, decide, &draft);
    enum weir_status st = store_commit_wait(desk.store, c).status;
    memcpy(id, draft.id, TURN_ID_LEN + 1);
    turn_draft_fini(&draft);
    weir_json_doc_free(doc);
    return st;
}

/* Waits until so many turns have ended; time goes by meanwhile when `pauses`. */
static inline void wait_ended(unsigned n, bool pauses)
{
    pthread_mutex_lock(&desk.lock);
    for (int i = 0; desk.n_sealed < n && i < WAIT_S * 100; i++) {
        struct timespec at;
        clock_gettime(CLOCK_REALTIME, &at);
        at.tv_nsec += 10000000;
        if (at.tv_nsec >= 1000000000) {
            at.tv_nsec -= 1000000000;
            at.tv_sec++;
        }
        pthread_cond_timedwait(&desk.changed, &desk.lock, &at);
        if (!pauses) continue;
        pthread_mutex_unlock(&desk.lock);
        fake_clock_advance(&desk.clock, 2000ull * 1000000);
        flow_wake(desk.turns->flow);
        pthread_mutex_lock(&desk.lock);
    }
    T_EQ(desk.n_sealed, n);
    pthread_mutex_unlock(&desk.lock);
}

static const char how_much[] = "[{\"role\":\"user\",\"content\":\"How much?\"}]";

/* One turn from the beginning to the end; its Turn and its events, as text. */
static char turn_text[TEXT_BYTES], event_text[TEXT_BYTES];

static inline void look(const char *id)
{
    struct doc doc;
    struct log_read read;
    char log[TURN_LOG_BYTES];
    T_EQ(store_doc_get(desk.store, turn_key(weir_slice_of(id)), &doc), WEIR_OK);
    snprintf(turn_text, sizeof turn_text, "%.*s", (int)doc.body.len, doc.body.ptr);
    T_EQ_STR(doc.owner, "ann");
    doc_fini(&doc);
    store_read(desk.store, turn_log(log, weir_slice_of(id)), 1, TEXT_BYTES, &read);
    T_EQ(read.n_chunks, 1);
    event_text[0] = 0;
    for (unsigned i = 0; i < read.n_chunks; i++) {
        snprintf(event_text, sizeof event_text, "%.*s", (int)read.chunks[i]->len,
                 read.chunks[i]->bytes);
        chunk_unref(read.chunks[i]);
    }
}

static inline void run_turn(bool pauses)
{
    char id[TURN_ID_LEN + 1];
    unsigned n = desk.n_sealed;
    T_EQ(make(id, how_much), WEIR_OK);
    turns_begin(desk.turns, weir_slice_of(id));
    wait_ended(n + 1, pauses);
    look(id);
}

static inline bool says(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static inline unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}
