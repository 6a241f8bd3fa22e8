/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that listens. A round takes all notifications that have come, fetches for all of them
 * at once, and hands over one thing. Without a connection it tries to get one again and again; when
 * it has one, nothing is known of what happened meanwhile, and that is handed over first, in parts:
 * of all logs that are followed something may be missing.
 */
#include "store/pg_listen.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_listen_impl.h"
#include "store/pg_news.h"

enum {
    NS_PER_MS = 1000 * 1000,
    SWEEP_MS = 1000,
    FIRST_PAUSE_MS = 50, /* before it connects again; doubles */
    LONGEST_PAUSE_MS = 1000,
    ROUND_NOTES = 1024,      /* taken at once */
    OUT_BYTES = 32 << 20,    /* handed over and not freed: then it waits */
    PASS_ON_BYTES = 4 << 20, /* that are found by comparing are handed over, before there is more */
    ANSWER_MS = 10 * 1000,   /* for a statement */
};

/* ---- waiting ---- */

static uint64_t now_ns(void)
{
    return clock_mono_ns(&clock_system);
}

static bool is_stopping(struct pg_listener *l)
{
    return atomic_load(&l->is_stopping);
}

/* Until something comes from the server, it is time, or somebody wants it to stop. */
static void wait_ms(struct pg_listener *l, int fd, uint64_t ms)
{
    struct pollfd fds[2] = {{.fd = l->wake_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    if (is_stopping(l)) return;
    (void)poll(fds, fd >= 0 ? 2 : 1, (int)ms);
}

static void hand_over(struct pg_listener *l, struct pg_heard *h)
{
    pthread_mutex_lock(&l->lock);
    while (l->out_bytes > OUT_BYTES && !is_stopping(l)) pthread_cond_wait(&l->freed, &l->lock);
    l->n_out++;
    l->out_bytes += h->n_bytes;
    pthread_mutex_unlock(&l->lock);
    if (heard_is_empty(h) || is_stopping(l)) pg_heard_free(h);
    else l->options.heard(l->options.user, h);
}

/* Something to be handed over; without memory there is nothing to be done but to wait for some. */
static struct pg_heard *begin(struct pg_listener *l)
{
    struct pg_heard *h = heard_new(l);
    while (!h && !is_stopping(l)) {
        wait_ms(l, -1, FIRST_PAUSE_MS);
        h = heard_new(l);
    }
    return h;
}

enum weir_status listener_pass_on(struct pg_listener *l, struct pg_heard **h)
{
    if ((*h)->n_bytes < PASS_ON_BYTES) return WEIR_OK;
    hand_over(l, *h);
    *h = begin(l);
    return *h ? WEIR_OK : WEIR_SHUTDOWN;
}

/* ---- notifications ---- */

/* What one round has heard. */
struct round {
    struct pg_heard *heard;
    struct map by_log; /* log id -> index + 1 */
    struct told *told; /* one for each of heard->logs */
    size_t cap_told;
    bool is_lost;
};

static bool add_told(struct round *r, const struct pg_news_log *news)
{
    const struct pg_heard_log log = {
        .name = news->name, .log_id = news->log_id, .cluster = (unsigned)news->cluster};
    if (r->heard->n_logs == r->cap_told) {
        size_t cap = r->cap_told > 0 ? r->cap_told * 2 : 64;
        struct told *grown = mem_realloc(r->told, cap * sizeof *grown);
        if (!grown) return false;
        r->told = grown;
        r->cap_told = cap;
    }
    if (!heard_add_log(r->heard, &log)) return false;
    size_t n = r->heard->n_logs;
    r->told[n - 1] = (struct told){0};
    return map_put(&r->by_log, map_key_of(&news->log_id), (void *)n) == WEIR_OK;
}

static void take_log(struct round *r, const struct pg_news_log *news)
{
    size_t at = (size_t)map_get(&r->by_log, map_key_of(&news->log_id));
    if (at == 0) {
        if (!add_told(r, news)) {
            r->is_lost = true;
            return;
        }
        at = r->heard->n_logs;
    }
    struct pg_heard_log *log = &r->heard->logs[at - 1];
    struct told *t = &r->told[at - 1];
    log->is_made |= news->is_made;
    log->is_sealed |= news->is_sealed;
    log->is_dropped |= news->is_dropped;
    if (news->last == 0) return;
    if (t->first == 0 || news->first < t->first) t->first = news->first;
    if (news->last > t->last) log->last = t->last = news->last;
}

static void take_own(struct pg_listener *l, const struct pg_news_log *news)
{
    const struct pg_heard_log log = {.name = news->name,
                                     .log_id = news->log_id,
                                     .last = news->last,
                                     .is_sealed = news->is_sealed,
                                     .is_dropped = news->is_dropped};
    follow_own(&l->follow, &log, news->first);
}

static void take_payload(struct pg_listener *l, struct round *r, struct weir_slice payload)
{
    struct pg_news_reader reader;
    struct pg_news_item item;
    enum pg_news_kind kind = PG_NEWS_BAD;
    bool is_own = false;
    if (pg_news_open(&reader, payload)) {
        is_own = slice_eq(reader.writer, l->options.writer);
        if (!is_own &&
            !writers_hear(&l->writers, reader.writer, reader.batch, reader.part, reader.is_last))
            r->is_lost = true;
        kind = pg_news_next(&reader, &item);
    }
    for (; kind == PG_NEWS_LOG || kind == PG_NEWS_DOC; kind = pg_news_next(&reader, &item)) {
        if (kind == PG_NEWS_LOG && is_own) take_own(l, &item.log);
        else if (kind == PG_NEWS_LOG) take_log(r, &item.log);
        else if (!is_own) heard_add_doc(r->heard, item.doc);
    }
    if (kind != PG_NEWS_END && !is_own) r->is_lost = true;
}

/* All that have come, up to a ceiling. False: there were none. */
static bool take_notes(struct pg_listener *l, struct round *r)
{
    struct pg_note note;
    size_t n = 0;
    for (; n < ROUND_NOTES && pg_next_note(l->pg, &note); n++) {
        take_payload(l, r, note.payload);
        pg_note_fini(&note);
    }
    atomic_fetch_add(&l->n_notes, n);
    return n > 0;
}

/* ---- what was lost ---- */

/* Notifications of what is compared here may come later: ids tell what is new by then. */
static WEIR_MUST_CHECK enum weir_status compare_all(struct pg_listener *l, struct pg_heard **h)
{
    enum weir_status st = WEIR_OK;
    l->must_compare = false;
    for (unsigned part = 0; part < STORE_LOG_PARTS && st == WEIR_OK; part++)
        st = follow_compare(l, h, part);
    return st;
}

/* Hands over by itself what it finds: that everything may have changed, and then what is missing.
 */
static WEIR_MUST_CHECK enum weir_status look_at_all(struct pg_listener *l)
{
    struct pg_heard *h = begin(l);
    if (!h) return WEIR_SHUTDOWN;
    h->is_everything = true;
    l->is_lost = true;
    atomic_fetch_add(&l->n_lost, 1);
    enum weir_status st = compare_all(l, &h);
    l->is_lost = false;
    if (h) hand_over(l, h);
    return st;
}

/* False in *is_whole: a writer has committed something, and nobody told of it for a whole sweep. */
static WEIR_MUST_CHECK enum weir_status look_at_writers(struct pg_listener *l, bool is_first,
                                                        bool *is_whole)
{
    struct pg_rows *rows = NULL;
    *is_whole = true;
    pg_call(l->pg, "SELECT id, batch FROM weir.writers"
                   " WHERE seen > now() - interval '2 hours'"); /* said once an hour */
    enum weir_status st = pg_run(l->pg, &rows);
    for (size_t i = 0; st == WEIR_OK && i < pg_n_rows(rows); i++) {
        struct weir_slice id = pg_get_bytes(rows, i, 0);
        if (slice_eq(id, l->options.writer)) continue;
        *is_whole &= writers_look(&l->writers, id, (uint64_t)pg_get_int(rows, i, 1), is_first);
    }
    pg_rows_free(rows);
    return st;
}

/* ---- rounds ---- */

static WEIR_MUST_CHECK enum weir_status sweep(struct pg_listener *l, struct pg_heard **h)
{
    bool is_whole;
    enum weir_status st = look_at_writers(l, false, &is_whole);
    if (st != WEIR_OK) return st;
    if (!is_whole) return look_at_all(l);
    if (l->must_compare) return compare_all(l, h);
    l->part = (l->part + 1) % STORE_LOG_PARTS;
    return follow_compare(l, h, l->part);
}

/*
 * What was heard is handed over also when fetching failed: it says where to look. *is_idle: nothing
 * was done, so nothing can have come unnoticed meanwhile.
 */
static WEIR_MUST_CHECK enum weir_status run_round(struct pg_listener *l, bool *is_idle)
{
    struct round r = {.heard = begin(l)};
    enum weir_status st = WEIR_OK;
    if (!r.heard) return WEIR_SHUTDOWN;
    map_init(&r.by_log, SIZE_MAX);
    *is_idle = !take_notes(l, &r);
    if (r.is_lost) st = look_at_all(l);
    if (st == WEIR_OK) st = follow_fetch(l, r.heard, r.told);
    if (st == WEIR_OK && now_ns() >= l->sweep_at_ns) {
        *is_idle = false;
        st = sweep(l, &r.heard);
        l->sweep_at_ns = now_ns() + (uint64_t)l->options.sweep_ms * NS_PER_MS;
    }
    map_fini(&r.by_log);
    mem_free(r.told);
    if (!r.heard) return st;
    if (st != WEIR_OK) r.heard->is_everything = true;
    hand_over(l, r.heard);
    return st;
}

static void listen_on(struct pg_listener *l)
{
    while (!is_stopping(l) && pg_hear(l->pg) == WEIR_OK) {
        bool is_idle;
        if (run_round(l, &is_idle) != WEIR_OK) return;
        uint64_t now = now_ns();
        uint64_t left_ns = l->sweep_at_ns > now ? l->sweep_at_ns - now : 0;
        if (is_idle) wait_ms(l, pg_socket(l->pg), left_ns / NS_PER_MS + 1);
    }
}

/* ---- connections ---- */

static void disconnect(struct pg_listener *l)
{
    pg_close(l->pg);
    l->pg = NULL;
    for (size_t i = 0; i < PG_MAX_CLUSTERS; i++) {
        pg_close(l->others[i]);
        l->others[i] = NULL;
    }
    atomic_store(&l->is_connected, false);
}

/* What was committed before the LISTEN is in the table of writers, the rest is told. */
static WEIR_MUST_CHECK enum weir_status connect_again(struct pg_listener *l,
                                                      struct store_error *error)
{
    bool is_whole;
    const struct pg_options options = {
        .url = l->options.clusters->all[0].url, .name = "weir listener", .timeout_ms = ANSWER_MS};
    enum weir_status st = pg_open(&l->pg, &options, error);
    if (st != WEIR_OK) return st;
    writers_fini(&l->writers);
    writers_init(&l->writers);
    follow_forget(&l->follow);
    st = pg_script(l->pg, "LISTEN weir");
    if (st == WEIR_OK) st = look_at_writers(l, true, &is_whole);
    if (st != WEIR_OK) {
        if (error) snprintf(error->text, sizeof error->text, "%s", pg_message(l->pg));
        disconnect(l);
        return st;
    }
    l->sweep_at_ns = now_ns() + (uint64_t)l->options.sweep_ms * NS_PER_MS;
    atomic_fetch_add(&l->n_connects, 1);
    atomic_store(&l->is_connected, true);
    return WEIR_OK;
}

/* False: it is to stop. */
static bool get_connection(struct pg_listener *l)
{
    struct store_error error;
    uint64_t pause_ms = FIRST_PAUSE_MS;
    while (!is_stopping(l) && connect_again(l, &error) != WEIR_OK) {
        wait_ms(l, -1, pause_ms);
        pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
    }
    return !is_stopping(l);
}

static void *run(void *listener)
{
    struct pg_listener *l = listener;
    while (!is_stopping(l)) {
        listen_on(l);
        disconnect(l);
        if (!get_connection(l)) break;
        /* If that fails, so does the next round. */
        enum weir_status st = look_at_all(l);
        if (st != WEIR_OK) l->sweep_at_ns = 0;
    }
    disconnect(l);
    return NULL;
}

/* ---- life ---- */

static char *copy_of(const char *text, size_t len)
{
    char *copy = mem_alloc(len + 1);
    if (!copy) return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

static struct pg_listener *listener_new(const struct pg_listen_options *o)
{
    struct pg_listener *l = mem_zalloc(sizeof *l);
    if (!l) return NULL;
    l->options = *o;
    if (l->options.sweep_ms == 0) l->options.sweep_ms = SWEEP_MS;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->freed, NULL);
    writers_init(&l->writers);
    follow_init(&l->follow);
    l->writer = copy_of(o->writer.ptr, o->writer.len);
    l->options.writer = slice_of(l->writer, o->writer.len);
    l->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (l->writer && l->wake_fd >= 0) return l;
    pg_listener_free(l);
    return NULL;
}

enum weir_status pg_listener_start(struct pg_listener **out,
                                   const struct pg_listen_options *options,
                                   struct store_error *error)
{
    struct pg_listener *l = listener_new(options);
    *out = NULL;
    if (!l) return WEIR_NOMEM;
    enum weir_status st = connect_again(l, error);
    if (st == WEIR_OK && pthread_create(&l->thread, NULL, run, l) != 0) st = WEIR_NOMEM;
    l->has_thread = st == WEIR_OK;
    if (st == WEIR_OK) {
        *out = l;
        return st;
    }
    disconnect(l);
    pg_listener_free(l);
    return st;
}

void pg_listener_stop(struct pg_listener *l)
{
    if (!l || !l->has_thread) return;
    atomic_store(&l->is_stopping, true);
    pthread_mutex_lock(&l->lock);
    pthread_cond_broadcast(&l->freed);
    pthread_mutex_unlock(&l->lock);
    CHECK(eventfd_write(l->wake_fd, 1) == 0);
    pthread_join(l->thread, NULL);
    l->has_thread = false;
}

void pg_listener_free(struct pg_listener *l)
{
    if (!l) return;
    pg_listener_stop(l);
    CHECK(l->n_out == 0);
    writers_fini(&l->writers);
    follow_fini(&l->follow);
    if (l->wake_fd >= 0) close(l->wake_fd);
    mem_free(l->writer);
    pthread_cond_destroy(&l->freed);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

void pg_listener_stats(struct pg_listener *l, struct pg_listen_stats *out)
{
    *out = (struct pg_listen_stats){.n_notes = atomic_load(&l->n_notes),
                                    .n_fetches = atomic_load(&l->n_fetches),
                                    .n_lost = atomic_load(&l->n_lost),
                                    .n_connects = atomic_load(&l->n_connects),
                                    .is_connected = atomic_load(&l->is_connected)};
}
