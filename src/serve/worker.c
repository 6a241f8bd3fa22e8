/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers: the thread and its loop, the end of a round, deadlines, and going down.
 *
 * Deadlines stand in one list for each kind, the earliest first. A kind has one length, so a
 * new one goes to the end; only comment lines may differ, and look for their place from there.
 * A timer looks at the fronts every TICK_MS, and only while there are any.
 */
#include <stdio.h>
#include <time.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "serve/worker_impl.h"

enum {
    ARENA_BYTES = 256 << 10,
    KEEPER_MS = 3600 * 1000,
    ROUND_FLUSHES = 128,                  /* connections written to in a round */
    STYLED_BYTES = 5 * STORE_FRAME_BYTES, /* of a piece of a stream: base64 that is all lines */
    GATHER_ROUNDS = 3,                    /* that a commit waits for others */
};

struct fan *worker_fan(struct worker *w)
{
    return w->fan;
}

struct counters *worker_counters(struct worker *w)
{
    return &w->counters;
}

struct loop *worker_loop(struct worker *w)
{
    return w->loop;
}

/* ---- deadlines ---- */

static uint64_t length_of(const struct worker *w, const struct conn *c, enum deadline kind)
{
    const struct server_limits *l = w->limits;
    switch (kind) {
    case DEADLINE_HEAD: return l->head_timeout_ms;
    case DEADLINE_BODY: return l->body_timeout_ms;
    case DEADLINE_IDLE: return l->idle_timeout_ms;
    case DEADLINE_WRITE: return l->write_timeout_ms;
    case DEADLINE_STALL: return l->stall_timeout_ms;
    case DEADLINE_BEAT: return c->feed.beat_ms / 2; /* looked at twice, silent the second time */
    case DEADLINE_POLL: return l->poll_timeout_ms;
    case DEADLINE_LINGER: return LINGER_MS;
    case DEADLINE_NONE:
    case N_DEADLINES: break;
    }
    return 0;
}

/* Behind all that are due no later. */
static void insert(struct list *list, struct conn *c)
{
    struct list_node *place = list->ends.prev;
    while (place != &list->ends && CONTAINER_OF(place, struct conn, due)->due_ms > c->due_ms)
        place = place->prev;
    list_insert_after(place, &c->due);
}

void worker_arm(struct worker *w, struct conn *c, enum deadline kind)
{
    if (list_is_linked(&c->due)) list_remove(&c->due);
    c->deadline = (unsigned char)kind;
    if (kind == DEADLINE_NONE) return;
    c->due_ms = worker_now_ns(w) / 1000000 + length_of(w, c, kind);
    bool is_quick = kind == DEADLINE_BEAT && c->feed.beat_ms < QUICK_BEAT_MS;
    insert(is_quick ? &w->quick_beats : &w->deadlines[kind], c);
    if (w->is_ticking) return;
    w->is_ticking = true;
    timer_set(&w->tick, TICK_MS, TICK_MS);
}

/* False when there are none any more. */
static bool look_at(struct list *list, uint64_t now_ms)
{
    struct list_node *n;
    while ((n = list_first(list))) {
        struct conn *c = CONTAINER_OF(n, struct conn, due);
        if (c->due_ms > now_ms) break;
        conn_due(c);
    }
    return n;
}

static void on_tick(struct timer *t)
{
    struct worker *w = CONTAINER_OF(t, struct worker, tick);
    uint64_t now_ms = worker_now_ns(w) / 1000000;
    CHECK(w->magic == WORKER_MAGIC);
    bool has_any = look_at(&w->quick_beats, now_ms);
    for (int kind = DEADLINE_NONE + 1; kind < N_DEADLINES; kind++)
        has_any |= look_at(&w->deadlines[kind], now_ms);
    if (has_any) return;
    timer_unset(&w->tick);
    w->is_ticking = false;
}

/* ---- the end of a round ---- */

static void run_again(struct post *p)
{
    struct worker *w = CONTAINER_OF(p, struct worker, again_post);
    struct list_node *n;
    w->is_again_posted = false;
    while ((n = list_pop_front(&w->again))) list_push_back(&w->dirty, n);
}

static void go_on_next_round(struct worker *w)
{
    if (w->is_again_posted) return;
    w->is_again_posted = true;
    loop_post(w->loop, &w->again_post);
}

void worker_flush_next_round(struct worker *w, struct conn *c)
{
    if (c->phase == CONN_CLOSED || list_is_linked(&c->dirty)) return;
    list_push_back(&w->again, &c->dirty);
    go_on_next_round(w);
}

static void free_more(struct exchange *ex)
{
    for (struct exchange_more *m = ex->more, *next; m; m = next) {
        next = m->next;
        mem_free(m);
    }
    ex->more = NULL;
}

/* What was freed in this round may be used in the next. */
static void bury(struct worker *w)
{
    while (w->dead) {
        struct exchange *ex = w->dead;
        w->dead = ex->next;
        free_more(ex);
        ex->magic = 0;
        if (w->n_spare == EXCHANGE_SPARES) {
            mem_free(ex);
            continue;
        }
        ex->next = w->spare;
        w->spare = ex;
        w->n_spare++;
    }
}

static void show_fan(struct worker *w)
{
    struct fan_stats f;
    struct counters *c = &w->counters;
    fan_stats(w->fan, &f);
    count_set(c, COUNT_TAILS, f.n_tails);
    count_set(c, COUNT_TAIL_BYTES, f.tail_bytes);
    count_set(c, COUNT_NEWS, f.n_news);
    count_set(c, COUNT_FETCHES, f.n_fetches);
    count_set(c, COUNT_FETCH_BYTES, f.fetch_bytes);
    count_set(c, COUNT_EVICTED, f.n_evicted);
    count_set(c, COUNT_MISSED, f.n_missed);
}

uint64_t worker_now_ns(struct worker *w)
{
    if (w->round_ns == 0) w->round_ns = clock_mono_ns(w->clock);
    return w->round_ns;
}

int64_t worker_wall_ms(struct worker *w)
{
    if (w->round_wall_ms < 0) w->round_wall_ms = store_wall_ms(w->server->store);
    return w->round_wall_ms;
}

static uint64_t round_mono_ns(void *worker)
{
    return worker_now_ns(worker);
}

static int64_t round_wall_ms(void *worker)
{
    return worker_wall_ms(worker);
}

/*
 * An event for thousands of readers takes many rounds, so that others get their turn meanwhile.
 * What is appended to the same stream in those rounds goes out together with it to all who are
 * still waiting.
 */
static void flush_some(struct worker *w)
{
    struct list_node *n;
    for (int i = 0; i < ROUND_FLUSHES && (n = list_pop_front(&w->dirty)); i++) {
        struct list_node *next = list_first(&w->dirty);
        if (next) conn_prefetch(CONTAINER_OF(next, struct conn, dirty));
        conn_flush(CONTAINER_OF(n, struct conn, dirty));
    }
    w->is_behind = !list_is_empty(&w->dirty);
    if (w->is_behind) go_on_next_round(w);
}

/*
 * While each look at the sockets brings more, commits wait for those, for a few rounds: a sync
 * costs as much as some appends, and the answers that go out now bring the next requests. One
 * that is alone waits for one look, and none waits when rounds are long.
 */
static void commit_or_gather(struct worker *w)
{
    bool is_growing = w->commits.last != w->newest_commit;
    if (is_growing && w->n_gathering < GATHER_ROUNDS && !w->is_behind) {
        w->n_gathering++;
        w->newest_commit = w->commits.last;
        return;
    }
    w->n_gathering = 0;
    w->newest_commit = NULL;
    store_commit_run(w->server->store, &w->commits);
}

static void on_round_end(void *user)
{
    struct worker *w = user;
    CHECK(w->magic == WORKER_MAGIC);
    /* First, so that the disk has something to do while the answers of the last sync go out. */
    if (w->commits.first) commit_or_gather(w);
    flush_some(w);
    /* Those that wait for more, and those that a flush made room for. */
    if (w->commits.first) go_on_next_round(w);
    if (w->news_run_ns > 0) {
        histogram_add(&w->counters.lag_us, (clock_mono_ns(w->clock) - w->news_run_ns) / 1000);
        w->news_run_ns = 0;
    }
    w->round_ns = 0;
    w->round_wall_ms = -1;
    log_flush(&w->log);
    bury(w);
    show_fan(w);
    count(&w->counters, COUNT_ROUNDS, 1);
}

/* ---- the fan ---- */

/* Any thread. */
static void wake_fan(void *user)
{
    struct worker *w = user;
    if (atomic_exchange(&w->is_fan_posted, true)) return;
    atomic_store_explicit(&w->news_ns, clock_mono_ns(w->clock), memory_order_relaxed);
    loop_post(w->loop, &w->fan_post);
}

static void run_fan(struct post *p)
{
    struct worker *w = CONTAINER_OF(p, struct worker, fan_post);
    uint64_t news_ns = atomic_load_explicit(&w->news_ns, memory_order_relaxed);
    atomic_store(&w->is_fan_posted, false);
    if (!w->fan) return;
    if (w->news_run_ns == 0) w->news_run_ns = news_ns;
    fan_run(w->fan);
}

/* ---- dates ---- */

struct weir_slice worker_date(struct worker *w)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t now_s = worker_wall_ms(w) / 1000;
    if (now_s == w->date_s && w->has_date) return slice_of(w->date, DATE_BYTES);
    char text[128];
    struct tm tm;
    time_t t = (time_t)now_s;
    if (!gmtime_r(&t, &tm) || tm.tm_year < 0 || tm.tm_year > 8099)
        tm = (struct tm){.tm_year = 70, .tm_mday = 1, .tm_wday = 4};
    snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday], tm.tm_mday,
             months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
    memcpy(w->date, text, DATE_BYTES);
    w->date_s = now_s;
    w->has_date = true;
    return slice_of(w->date, DATE_BYTES);
}

/* ---- going down ---- */

static void close_timer(struct timer *t)
{
    timer_unset(t);
    timer_close(t, NULL);
}

void worker_look_done(struct worker *w)
{
    if (!w->is_stopping || w->is_done || w->n_conns > 0) return;
    if (w->n_exchanges > 0 && !w->is_aborted) return;
    w->is_done = true;
    close_timer(&w->tick);
    close_timer(&w->accept_timer);
    close_timer(&w->keeper);
}

static void each_conn(struct worker *w, void (*fn)(struct conn *c))
{
    struct list_node *next;
    for (struct list_node *n = list_first(&w->conns); n; n = next) {
        next = list_next(&w->conns, n);
        fn(CONTAINER_OF(n, struct conn, node));
    }
}

static void run_stop(struct post *p)
{
    struct worker *w = CONTAINER_OF(p, struct worker, stop_post);
    for (unsigned i = 0; i < w->n_listeners; i++) listener_stop(&w->listeners[i]);
    w->is_stopping = true;
    each_conn(w, conn_wind_up);
    worker_look_done(w);
}

static void cut(struct conn *c)
{
    conn_cut(c, CLOSE_SHUTDOWN);
}

static void run_abort(struct post *p)
{
    struct worker *w = CONTAINER_OF(p, struct worker, abort_post);
    w->is_aborted = true;
    each_conn(w, cut);
    worker_look_done(w);
}

void worker_stop(struct worker *w)
{
    loop_post(w->loop, &w->stop_post);
}

void worker_abort(struct worker *w)
{
    loop_post(w->loop, &w->abort_post);
}

/* ---- life ---- */

static void *thread_main(void *user)
{
    struct worker *w = user;
    for (unsigned i = 0; i < w->n_listeners; i++) listener_start(&w->listeners[i]);
    timer_set(&w->keeper, KEEPER_MS, KEEPER_MS);
    loop_run(w->loop);
    CHECK(w->is_done);
    server_worker_done(w);
    return NULL;
}

static void on_keeper(struct timer *t)
{
    (void)t;
}

static void init(struct worker *w, struct server *s, unsigned index)
{
    w->magic = WORKER_MAGIC;
    w->index = index;
    w->server = s;
    w->limits = &s->options.limits;
    w->clock = s->options.clock;
    list_init(&w->conns);
    list_init(&w->dirty);
    list_init(&w->again);
    late_init(&w->late, w);
    for (int i = 0; i < N_DEADLINES; i++) list_init(&w->deadlines[i]);
    list_init(&w->quick_beats);
    w->again_post.run = run_again;
    w->stop_post.run = run_stop;
    w->abort_post.run = run_abort;
    w->fan_post.run = run_fan;
    arena_init(&w->arena, ARENA_BYTES);
    weir_buf_init(&w->answer, ANSWER_HEAD_BYTES);
    weir_buf_init(&w->styled, STYLED_BYTES);
    w->round_wall_ms = -1;
    w->round_clock = (struct clock){round_mono_ns, round_wall_ms, w};
    ulid_source_init(&w->ids, &w->round_clock);
    log_buffer_init(&w->log, s->log, &w->counters);
}

enum weir_status worker_new(struct worker **out, struct server *s, unsigned index)
{
    struct worker *w = mem_zalloc(sizeof *w);
    if (!w) return WEIR_NOMEM;
    *out = w;
    init(w, s, index);
    w->read_cap = 2 * READ_BYTES + w->limits->head_bytes;
    w->read_buf = mem_alloc(w->read_cap);
    w->loop = w->read_buf ? loop_new(w->clock) : NULL;
    if (!w->loop) return WEIR_NOMEM;
    timer_init(w->loop, &w->tick, on_tick);
    timer_init(w->loop, &w->accept_timer, accept_pause_over);
    timer_init(w->loop, &w->keeper, on_keeper);
    loop_on_round_end(w->loop, on_round_end, w);
    struct fan_options fan = {.wake = wake_fan, .user = w};
    w->fan = fan_new(s->hub, &fan);
    return w->fan ? WEIR_OK : WEIR_NOMEM;
}

void worker_close_fan(struct worker *w)
{
    if (w->fan) fan_free(w->fan);
    w->fan = NULL;
}

void worker_free(struct worker *w)
{
    if (!w) return;
    CHECK(!w->is_started);
    if (w->loop) {
        loop_on_round_end(w->loop, NULL, NULL);
        for (unsigned i = 0; i < w->n_listeners; i++) listener_stop(&w->listeners[i]);
        if (!w->is_done) {
            w->is_stopping = true;
            worker_look_done(w);
        }
        loop_free(w->loop);
    }
    bury(w);
    for (struct exchange *ex = w->spare, *next; ex; ex = next) {
        next = ex->next;
        mem_free(ex);
    }
    worker_close_fan(w);
    log_buffer_fini(&w->log);
    arena_fini(&w->arena);
    weir_buf_fini(&w->answer);
    weir_buf_fini(&w->styled);
    mem_free(w->read_buf);
    w->magic = 0;
    mem_free(w);
}

enum weir_status worker_start(struct worker *w)
{
    if (pthread_create(&w->thread, NULL, thread_main, w) != 0) return WEIR_NOMEM;
    w->is_started = true;
    return WEIR_OK;
}

void worker_join(struct worker *w)
{
    if (!w->is_started) return;
    pthread_join(w->thread, NULL);
    w->is_started = false;
}
