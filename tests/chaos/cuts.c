/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded turn over connections that fail: at every byte of it, in every way of framing it, and
 * by the dice. Whatever happens, a caller sees each event once and in order and then the end, or a
 * part from the beginning and an error with a name; and never nothing.
 *
 * The public headers only. T_SEED repeats a run of the dice; CHAOS_SECONDS lets them roll longer,
 * and has every byte tried in every framing and kind.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <weir/client.h>

#include "chaos/wire.h"
#include "t.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define IS_SLOW 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SLOW 1
#endif
#endif
#ifndef IS_SLOW
#define IS_SLOW 0
#endif

enum {
    MAX_OPEN = 200,           /* streams at a time */
    DEADLINE_S = 200,         /* for any number of runs; a hang is what takes longer */
    LEAP = IS_SLOW ? 29 : 11, /* bytes between cuts where every byte would take too long */
    N_KINDS = WEIR_STREAM_CHAT + 1,
    N_ROLLED = 1000, /* runs by the dice, at a time */
    IDLE_MS = 150,   /* of streams that may stall */
    PAUSE_MS = 1,    /* before the first attempt that follows another */
};

/* ---- those who ask ---- */

/* Those who do not wait for the end. */
enum leave { STAYS, HAS_ENOUGH, CLOSES, IS_CLOSED, IS_ABORTED, N_LEAVES };

struct run {
    struct herd *herd;
    unsigned number;
    struct wire_plan plan;
    enum leave leave;
    unsigned n_wanted; /* events, before it leaves of itself */
    struct weir_event_stream *stream;
    unsigned n_events, n_final, n_closed;
    const char *wrong; /* the first thing; NULL: nothing */
    enum weir_status status;
};

struct herd {
    struct wire wire;
    struct weir_client *client;
    bool has_no_thread;
    struct run *runs;
    unsigned n_runs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_closed;
};

static void note(struct run *r, bool is_good, const char *wrong)
{
    if (!is_good && !r->wrong) r->wrong = wrong;
}

static bool is_slice(struct weir_slice a, struct weir_slice b)
{
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

/* Nothing will come any more. */
static void note_closed(struct run *r, enum weir_status status, bool is_freed)
{
    struct herd *h = r->herd;
    pthread_mutex_lock(&h->lock);
    if (is_freed) r->stream = NULL;
    r->status = status;
    r->n_closed++;
    h->n_closed++;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

static bool on_event(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    struct run *r = user;
    const struct wire *w = &r->herd->wire;
    bool has_no_numbers = r->plan.kind == WEIR_STREAM_ANY || r->plan.kind == WEIR_STREAM_MODEL;
    const struct wire_event e = wire_event(w, r->plan.kind, r->n_events + 1);
    note(r, r->n_closed == 0 && r->n_final == 0, "an event behind the end");
    note(r, r->n_events < wire_count(w, r->plan.kind), "too many");
    note(r, is_slice(event->data, e.data) && is_slice(event->type, e.type),
         "an event that is not the next one");
    r->n_events++;
    note(r, seq == (has_no_numbers ? 0 : r->n_events), "a wrong number");
    if (r->n_events < r->n_wanted) return true;
    if (r->leave == CLOSES) {
        weir_event_stream_close(r->stream);
        note_closed(r, WEIR_CANCELLED, true);
    }
    return r->leave != HAS_ENOUGH;
}

static void on_error(void *user, const struct weir_stream_error *error)
{
    struct run *r = user;
    note(r, error->why && error->why[0], "an error without a word");
    note(r, error->status != WEIR_OK, "an error without a name");
    note(r, r->n_closed == 0 && r->n_final == 0, "an error behind the end");
    r->n_final += error->is_final;
}

static void on_closed(void *user, enum weir_status status)
{
    struct run *r = user;
    bool closes_itself = r->number % 2 == 0;
    if (closes_itself) weir_event_stream_close(r->stream);
    note_closed(r, status, closes_itself);
}

static void on_gap(void *user, uint64_t first_seq, uint64_t last_seq)
{
    (void)first_seq;
    (void)last_seq;
    note(user, false, "a gap");
}

/* ---- running them ---- */

static void open_run(struct herd *h, struct run *r)
{
    char url[64];
    /* A machine that stalls makes the short limits of these end more attempts than the wire does.
     */
    bool may_stall = r->plan.seed != 0 || r->plan.end == WIRE_STALL;
    snprintf(url, sizeof url, "http://127.0.0.1:%u/%u", h->wire.port, r->number);
    wire_plan(&h->wire, r->number, &r->plan);
    const struct weir_event_stream_options options = {
        .kind = r->plan.kind,
        .url = weir_slice_of(url),
        .id = weir_slice_of("turn_1"),
        .key = weir_slice_of("a-key"),
        .body = weir_slice_of("{}"),
        .retry = {.max_retries = may_stall ? WEIR_RETRY_FOREVER : 0,
                  .initial_ms = PAUSE_MS,
                  .max_ms = PAUSE_MS},
        .limits = {.first_byte_ms = may_stall ? IDLE_MS : 0, .idle_ms = may_stall ? IDLE_MS : 0},
        .on_event = on_event,
        .on_error = on_error,
        .on_gap = on_gap,
        .on_closed = on_closed,
        .user = r,
    };
    enum weir_status st = weir_event_stream_open(&r->stream, h->client, &options);
    if (st != WEIR_OK) abort();
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Waits until something has ended; false when that takes too long. */
static bool wait_for_more(struct herd *h, unsigned n_closed, uint64_t deadline_ms)
{
    uint64_t now = now_ms();
    if (now > deadline_ms) return false;
    if (h->has_no_thread) {
        struct pollfd ready = {.fd = weir_client_fd(h->client), .events = POLLIN};
        int timeout = weir_client_timeout_ms(h->client);
        poll(&ready, 1, timeout >= 0 && timeout < 1000 ? timeout : 1000);
        weir_client_run(h->client);
        return true;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&h->lock);
    if (h->n_closed == n_closed) pthread_cond_timedwait(&h->changed, &h->lock, &until);
    pthread_mutex_unlock(&h->lock);
    return true;
}

static unsigned count_closed(struct herd *h)
{
    pthread_mutex_lock(&h->lock);
    unsigned n = h->n_closed;
    pthread_mutex_unlock(&h->lock);
    return n;
}

/* Those that have not closed themselves. */
static void close_ended(struct herd *h, unsigned n_opened)
{
    for (unsigned i = 0; i < n_opened; i++) {
        struct run *r = &h->runs[i];
        pthread_mutex_lock(&h->lock);
        struct weir_event_stream *ended = r->n_closed > 0 ? r->stream : NULL;
        if (ended) r->stream = NULL;
        pthread_mutex_unlock(&h->lock);
        weir_event_stream_close(ended);
    }
}

/* Ends some from outside, wherever they are. Those belong to us and do not close themselves. */
static void disturb(struct herd *h, unsigned n_opened)
{
    for (unsigned i = 0; i < n_opened; i++) {
        struct run *r = &h->runs[i];
        if (r->leave < IS_CLOSED || t_random() % 16 > 0) continue;
        pthread_mutex_lock(&h->lock);
        struct weir_event_stream *open = r->n_closed == 0 ? r->stream : NULL;
        pthread_mutex_unlock(&h->lock);
        if (open && r->leave == IS_ABORTED) weir_event_stream_abort(open);
        if (!open || r->leave == IS_ABORTED) continue;
        weir_event_stream_close(open);
        r->stream = NULL;
        if (r->n_closed == 0) note_closed(r, WEIR_CANCELLED, true);
    }
}

static void run_all(struct herd *h)
{
    const struct weir_client_options options = {.has_no_thread = h->has_no_thread,
                                                .max_streams = 2 * MAX_OPEN};
    uint64_t deadline_ms = now_ms() + DEADLINE_S * 1000;
    unsigned n_opened = 0, n_closed = 0;
    h->n_closed = 0;
    if (weir_client_new(&h->client, &options) != WEIR_OK) abort();
    while (n_closed < h->n_runs) {
        unsigned n_before = n_opened;
        while (n_opened < h->n_runs && n_opened - n_closed < MAX_OPEN)
            open_run(h, &h->runs[n_opened++]);
        if (n_opened == n_before && !wait_for_more(h, n_closed, deadline_ms)) break;
        disturb(h, n_opened);
        if (n_closed / MAX_OPEN != count_closed(h) / MAX_OPEN) close_ended(h, n_opened);
        n_closed = count_closed(h);
    }
    T_EQ(n_closed, h->n_runs);
    weir_client_free(h->client);
}

/* ---- what must hold ---- */

static void check_run(struct herd *h, struct run *r)
{
    const struct wire *w = &h->wire;
    bool is_model = r->plan.kind == WEIR_STREAM_MODEL;
    unsigned n_asked = wire_asked(w, r->number);
    note(r, r->n_closed == 1, "it was not closed once");
    if (r->leave != STAYS) {
        note(r, r->leave != HAS_ENOUGH || r->status == WEIR_OK || r->n_final == 1, "no good end");
    } else if (is_model) {
        bool is_whole = r->n_events == wire_count(w, r->plan.kind);
        note(r, is_whole == (r->status == WEIR_OK),
             "a part is told as the whole, or the other way");
        note(r, is_whole || r->n_final == 1, "it ended without an error");
        note(r, n_asked <= 3 || r->plan.seed != 0, "asked too often");
    } else {
        note(r, r->status == WEIR_OK, weir_status_text(r->status));
        note(r, r->n_events == wire_count(w, r->plan.kind), "not all events came");
    }
    if (!r->wrong) return;
    t_fail(__FILE__, __LINE__,
           "run %u: kind %d, framing %d, end %d, cut %zu, seed %llu: %u events, asked %u times, "
           "status %d: %s",
           r->number, (int)r->plan.kind, (int)r->plan.framing, (int)r->plan.end, r->plan.cut,
           (unsigned long long)r->plan.seed, r->n_events, n_asked, (int)r->status, r->wrong);
}

static void herd_start(struct herd *h, bool has_no_thread)
{
    *h = (struct herd){.has_no_thread = has_no_thread,
                       .lock = PTHREAD_MUTEX_INITIALIZER,
                       .changed = PTHREAD_COND_INITIALIZER};
    struct weir_slice recorded = t_read_file(T_SOURCE_ROOT "/tests/chaos/turn.http");
    if (recorded.len == 0 || !wire_start(&h->wire, recorded)) abort();
    h->runs = calloc(WIRE_MAX_RUNS, sizeof *h->runs);
    if (!h->runs) abort();
}

static struct run *herd_add(struct herd *h, const struct wire_plan *plan)
{
    if (h->n_runs == WIRE_MAX_RUNS) abort();
    struct run *r = &h->runs[h->n_runs];
    *r = (struct run){.herd = h, .number = h->n_runs++, .plan = *plan};
    return r;
}

static void herd_end(struct herd *h)
{
    run_all(h);
    for (unsigned i = 0; i < h->n_runs; i++) check_run(h, &h->runs[i]);
    wire_stop(&h->wire);
    free(h->runs);
}

/* A cut at each byte, the one before the first included; the whole answer is none. */
static void add_cuts(struct herd *h, const struct wire_plan *plan, size_t step)
{
    struct wire_plan next = *plan;
    size_t n_head, len = wire_answer_bytes(&h->wire, plan, &n_head);
    for (next.cut = 0; next.cut < len; next.cut += step) herd_add(h, &next);
}

static size_t step_of(const struct wire_plan *plan)
{
    bool is_every = plan->kind == WEIR_STREAM_TURN && plan->framing >= WIRE_CHUNKED;
    return !IS_SLOW && (is_every || getenv("CHAOS_SECONDS")) ? 1 : LEAP;
}

static void check_cuts(enum weir_stream_kind kind, enum wire_end end, bool has_no_thread)
{
    struct herd h;
    herd_start(&h, has_no_thread);
    for (int f = 0; f < WIRE_FRAMINGS; f++) {
        const struct wire_plan plan = {.kind = kind, .framing = (enum wire_framing)f, .end = end};
        add_cuts(&h, &plan, step_of(&plan));
    }
    herd_end(&h);
}

TEST(a_recorded_turn_cut_at_every_byte_is_given_once_and_in_order)
{
    check_cuts(WEIR_STREAM_TURN, WIRE_FIN, false);
}

TEST(a_recorded_turn_reset_at_every_byte_is_given_once_and_in_order)
{
    check_cuts(WEIR_STREAM_TURN, WIRE_RESET, true);
}

TEST(sessions_and_others_that_are_cut_or_reset_are_given_once_and_in_order)
{
    check_cuts(WEIR_STREAM_SESSION, WIRE_FIN, true);
    check_cuts(WEIR_STREAM_SESSION, WIRE_RESET, false);
    check_cuts(WEIR_STREAM_ANY, WIRE_FIN, false);
    check_cuts(WEIR_STREAM_ANY, WIRE_RESET, true);
    check_cuts(WEIR_STREAM_CHAT, WIRE_FIN, true);
    check_cuts(WEIR_STREAM_CHAT, WIRE_RESET, false);
}

/* ---- models: paid for ---- */

/* Bytes of an answer until the first of its body, as the client sees it. */
static size_t head_bytes(const struct herd *h, const struct wire_plan *plan)
{
    size_t n_head;
    (void)wire_answer_bytes(&h->wire, plan, &n_head);
    return n_head;
}

static void check_model_cuts(enum wire_end end, bool has_no_thread)
{
    struct herd h;
    herd_start(&h, has_no_thread);
    for (int f = 0; f < WIRE_RECORDED; f++) {
        const struct wire_plan plan = {
            .kind = WEIR_STREAM_MODEL, .framing = (enum wire_framing)f, .end = end};
        add_cuts(&h, &plan, step_of(&plan));
    }
    run_all(&h);
    for (unsigned i = 0; i < h.n_runs; i++) {
        struct run *r = &h.runs[i];
        bool has_begun = r->plan.cut > head_bytes(&h, &r->plan);
        unsigned n_asked = wire_asked(&h.wire, i);
        check_run(&h, r);
        if (!has_begun) T_EQ(n_asked, 2);
        if (!has_begun) T_EQ(r->status, WEIR_OK);
        /* What is reset may be lost on the way, and the first byte with it. */
        if (has_begun && (end == WIRE_FIN || r->status != WEIR_OK)) T_EQ(n_asked, 1);
        if (has_begun && end == WIRE_FIN) T_OK(r->status == WEIR_OK || r->n_final == 1);
    }
    wire_stop(&h.wire);
    free(h.runs);
}

TEST(a_model_that_has_begun_to_answer_is_never_asked_again)
{
    check_model_cuts(WIRE_FIN, false);
    check_model_cuts(WIRE_RESET, true);
}

/* ---- stalls ---- */

TEST(a_stall_anywhere_is_noticed_and_the_stream_goes_on)
{
    static const enum weir_stream_kind kinds[] = {WEIR_STREAM_TURN, WEIR_STREAM_SESSION,
                                                  WEIR_STREAM_ANY, WEIR_STREAM_CHAT};
    enum { STALL_LEAP = 97 };
    struct herd h;
    herd_start(&h, false);
    for (unsigned k = 0; k < 4; k++) {
        for (int f = 0; f < WIRE_FRAMINGS; f++) {
            const struct wire_plan plan = {
                .kind = kinds[k], .framing = (enum wire_framing)f, .end = WIRE_STALL};
            add_cuts(&h, &plan, STALL_LEAP);
        }
    }
    herd_end(&h);
}

/* ---- dice ---- */

static uint64_t first_seed(void)
{
    const char *given = getenv("T_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (given) return strtoull(given, NULL, 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void roll(uint64_t seed)
{
    struct herd h;
    herd_start(&h, seed % 2 == 0);
    for (unsigned i = 0; i < N_ROLLED; i++) {
        const struct wire_plan plan = {.kind = (enum weir_stream_kind)(i % N_KINDS), .seed = seed};
        struct run *r = herd_add(&h, &plan);
        uint64_t dice = t_random();
        if (dice % 2 == 0) continue;
        r->leave = (enum leave)(dice / 2 % (i % 2 == 0 ? IS_CLOSED : N_LEAVES));
        r->n_wanted = (unsigned)(dice / 64 % 30);
    }
    herd_end(&h);
}

TEST(whatever_the_dice_do_nothing_is_lost_and_nothing_comes_twice)
{
    const char *given = getenv("CHAOS_SECONDS");
    uint64_t seed = first_seed();
    uint64_t until_ms = now_ms() + (given ? strtoull(given, NULL, 10) : 2) * 1000;
    fprintf(stderr, "chaos: T_SEED=%llu\n", (unsigned long long)seed);
    do {
        roll(seed);
    } while (now_ms() < until_ms && seed++ != 0);
}
