/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logs that are followed here, what of each was handed over, and fetching the rest.
 *
 * What was given is remembered by the log's name, so that notifications of two writers that come
 * in the wrong order leave no gap: who tells of events 6 and 7 when 5 was given last gets them, and
 * who tells of 4 and 5 brings nothing new. Nothing depends on it: what is not known is fetched as
 * it was told.
 *
 * Nothing beyond what was told, or what the table of logs has, is asked for: another database may
 * have events that were never committed (pg_carry.c).
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_listen_impl.h"

enum {
    MAX_KNOWN = 1 << 20,
    FETCH_LOGS = 512,    /* in one statement */
    FETCH_EVENTS = 4096, /* that were missed and are fetched; of more, the newest chunk */
    COMPARE_LOGS = 1000, /* in one statement */
    CONNECT_MS = 1000,   /* to one of the other databases */
    NOT_AGAIN_MS = 5000, /* when that failed, or it gave no answer */
    ANSWER_MS = 2500,    /* what is on the others waits meanwhile */
};

/* Chunks are written today; the day may change meanwhile, and clocks differ. */
#define LATELY                                                                                     \
    " AND made BETWEEN timezone('UTC', now())::date - 1 AND timezone('UTC', now())::date + 1"

/* Each log by an index of its own: the planner must not think of anything else. */
static const char fetch_sql[] =
    "SELECT w.i, c.first, c.last, c.bytes"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS w(log, low, high, i)"
    " CROSS JOIN LATERAL (SELECT first, last, bytes FROM weir.chunks"
    " WHERE log = w.log AND first BETWEEN w.low AND w.high" LATELY " ORDER BY first) c"
    " ORDER BY w.i, c.first";

/* Whatever its day. */
static const char newest_sql[] =
    "SELECT w.i, c.first, c.last, c.bytes"
    " FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS w(log, high, i)"
    " CROSS JOIN LATERAL (SELECT first, last, bytes FROM weir.chunks"
    " WHERE log = w.log AND first <= w.high ORDER BY first DESC LIMIT 1) c ORDER BY w.i";

static const char heads_sql[] =
    "SELECT w.i, l.id, l.last, l.is_sealed, l.cluster::bigint"
    " FROM unnest($1::bytea[]) WITH ORDINALITY AS w(name, i) JOIN weir.logs l ON l.name = w.name"
    " ORDER BY w.i";

struct known {
    uint64_t log_id, last;
    bool is_sealed;
};

/* ---- what was given ---- */

void follow_init(struct pg_follow *f)
{
    map_init(&f->logs, MAX_KNOWN);
}

void follow_fini(struct pg_follow *f)
{
    for (struct map_walk walk = map_walk_begin(&f->logs); map_walk_next(&f->logs, &walk);)
        mem_free(walk.value);
    map_fini(&f->logs);
}

void follow_forget(struct pg_follow *f)
{
    follow_fini(f);
    follow_init(f);
}

static void forget_log(struct pg_follow *f, struct weir_slice name)
{
    mem_free(map_take(&f->logs, name));
}

/* Of the very log; NULL: nothing. */
static struct known *known_of(const struct pg_follow *f, struct weir_slice name, uint64_t log_id)
{
    struct known *k = map_get(&f->logs, name);
    return k && k->log_id == log_id ? k : NULL;
}

/* Without memory nothing is known of it, which does no harm. */
static void know(struct pg_follow *f, const struct pg_heard_log *log, uint64_t last)
{
    struct known *k = map_get(&f->logs, log->name);
    if (!k) {
        if (f->logs.len == MAX_KNOWN) follow_forget(f);
        k = mem_zalloc(sizeof *k);
        if (!k) return;
        if (map_put(&f->logs, log->name, k) != WEIR_OK) {
            mem_free(k);
            return;
        }
    }
    if (k->log_id != log->log_id) *k = (struct known){.log_id = log->log_id};
    if (last > k->last) k->last = last;
    k->is_sealed |= log->is_sealed;
}

void follow_own(struct pg_follow *f, const struct pg_heard_log *log, uint64_t first)
{
    const struct known *k = known_of(f, log->name, log->log_id);
    if (log->is_dropped) forget_log(f, log->name);
    else if (k && log->last > 0 && first <= k->last + 1) know(f, log, log->last);
}

/* ---- fetching ---- */

/* What is asked for in one statement. */
struct asking {
    size_t n;
    const struct pg_heard_log *logs[FETCH_LOGS];
    int64_t ids[FETCH_LOGS], low[FETCH_LOGS], high[FETCH_LOGS];
};

/* The same of each database, in the order of the listener's clusters. */
struct askings {
    bool is_newest; /* the newest chunk, or all from `low` on */
    size_t n;
    struct asking *each;
};

static WEIR_MUST_CHECK enum weir_status askings_init(struct askings *as,
                                                     const struct pg_listener *l, bool is_newest)
{
    *as = (struct askings){.is_newest = is_newest, .n = l->options.clusters->n};
    as->each = mem_alloc(as->n * sizeof *as->each);
    for (size_t i = 0; as->each && i < as->n; i++) as->each[i].n = 0;
    return as->each ? WEIR_OK : WEIR_NOMEM;
}

static void askings_fini(struct askings *as)
{
    mem_free(as->each);
}

static void leave_alone(struct pg_listener *l, size_t i)
{
    l->not_until_ns[i] = clock_mono_ns(&clock_system) + (uint64_t)NOT_AGAIN_MS * 1000000;
}

/* A connection to the ith database; NULL: not now. */
static struct pg *connection(struct pg_listener *l, size_t i)
{
    struct pg_cluster *c = &l->options.clusters->all[i];
    const struct pg_options options = {
        .url = c->url, .name = "weir listener", .connect_ms = CONNECT_MS, .timeout_ms = ANSWER_MS};
    if (i == 0) return l->pg;
    if (l->others[i] && !pg_is_broken(l->others[i])) return l->others[i];
    pg_close(l->others[i]);
    l->others[i] = NULL;
    if (clock_mono_ns(&clock_system) < l->not_until_ns[i] || atomic_load(&c->is_away)) return NULL;
    if (pg_open(&l->others[i], &options, NULL) != WEIR_OK) leave_alone(l, i);
    return l->others[i];
}

static struct chunk *chunk_of_row(const struct pg_rows *rows, size_t row)
{
    int64_t first = pg_get_int(rows, row, 1), last = pg_get_int(rows, row, 2);
    struct weir_slice bytes = pg_get_bytes(rows, row, 3);
    if (first < 1 || last < first || bytes.len == 0 || bytes.len > UINT32_MAX) return NULL;
    struct chunk *c = chunk_new((uint64_t)first, (uint64_t)last, bytes.len);
    if (c) memcpy(c->bytes, bytes.ptr, bytes.len);
    return c;
}

/* The news of one log, the ith: its chunks are rows from *row on. Returns its newest event. */
static uint64_t give_log(struct pg_heard *h, const struct pg_heard_log *log, size_t i,
                         const struct pg_rows *rows, size_t *at)
{
    uint64_t last = 0;
    size_t row = *at;
    struct store_news news = {.log = log->name, .log_id = log->log_id, .is_made = log->is_made};
    for (; row < pg_n_rows(rows) && (size_t)pg_get_int(rows, row, 0) == i + 1; row++) {
        struct chunk *c = chunk_of_row(rows, row);
        if (!c) {
            h->is_everything = true;
            continue;
        }
        if (news.chunk) {
            heard_add_news(h, &news);
            news.is_made = false;
        }
        news.chunk = c;
        last = c->last;
    }
    news.is_sealed = log->is_sealed;
    if (news.chunk || news.is_made || news.is_sealed) heard_add_news(h, &news);
    *at = row;
    return last;
}

static WEIR_MUST_CHECK enum weir_status give_rows(struct pg_listener *l, struct pg_heard *h,
                                                  struct pg *pg, const struct asking *a,
                                                  bool is_newest)
{
    struct pg_rows *rows = NULL;
    size_t row = 0;
    atomic_fetch_add(&l->n_fetches, 1);
    enum weir_status st = pg_run(pg, &rows);
    for (size_t i = 0; st == WEIR_OK && i < a->n; i++) {
        uint64_t last = give_log(h, a->logs[i], i, rows, &row);
        /* What cannot be found is not looked for again. */
        know(&l->follow, a->logs[i], is_newest ? a->logs[i]->last : last);
        /* There was no memory to give it, or something before it. */
        if (h->is_everything && !l->is_lost) forget_log(&l->follow, a->logs[i]->name);
    }
    l->must_compare |= h->is_everything && !l->is_lost;
    pg_rows_free(rows);
    return st;
}

/* What another database cannot give now is looked for when it can. */
static WEIR_MUST_CHECK enum weir_status fetch_of(struct pg_listener *l, struct pg_heard *h,
                                                 struct askings *as, size_t i)
{
    struct asking *a = &as->each[i];
    if (a->n == 0) return WEIR_OK;
    struct pg *pg = connection(l, i);
    enum weir_status st = WEIR_STORAGE;
    if (pg) {
        pg_call(pg, as->is_newest ? newest_sql : fetch_sql);
        pg_ints(pg, a->ids, a->n);
        if (!as->is_newest) pg_ints(pg, a->low, a->n);
        pg_ints(pg, a->high, a->n);
        st = give_rows(l, h, pg, a, as->is_newest);
    }
    a->n = 0;
    if (st == WEIR_OK || i == 0) return st;
    if (pg && pg_is_broken(pg)) leave_alone(l, i);
    l->must_compare = true;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status fetch(struct pg_listener *l, struct pg_heard *h,
                                              struct askings *as)
{
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < as->n && st == WEIR_OK; i++) st = fetch_of(l, h, as, i);
    return st;
}

static WEIR_MUST_CHECK enum weir_status ask(struct pg_listener *l, struct pg_heard *h,
                                            struct askings *as, const struct pg_heard_log *log,
                                            uint64_t low, uint64_t high)
{
    const struct pg_cluster *c = pg_clusters_find(l->options.clusters, log->cluster);
    if (!c) return WEIR_OK; /* nobody told this node: who wants to read it hears of that */
    size_t i = (size_t)(c - l->options.clusters->all);
    struct asking *a = &as->each[i];
    a->logs[a->n] = log;
    a->ids[a->n] = (int64_t)log->log_id;
    a->low[a->n] = (int64_t)low;
    a->high[a->n++] = (int64_t)high;
    return a->n == FETCH_LOGS ? fetch_of(l, h, as, i) : WEIR_OK;
}

static bool is_wanted(const struct pg_listener *l, struct weir_slice name)
{
    return !l->options.wants_log || l->options.wants_log(l->options.follower, name);
}

static void give_state(struct pg_listener *l, struct pg_heard *h, const struct pg_heard_log *log)
{
    const struct store_news news = {.log = log->name,
                                    .log_id = log->log_id,
                                    .is_made = log->is_made,
                                    .is_sealed = log->is_sealed,
                                    .is_dropped = log->is_dropped};
    heard_add_news(h, &news);
    if (log->is_dropped) forget_log(&l->follow, log->name);
}

/* Where to begin: behind what was given, if that is not too far back. */
static uint64_t low_of(const struct pg_listener *l, const struct pg_heard_log *log,
                       const struct told *t)
{
    const struct known *k = known_of(&l->follow, log->name, log->log_id);
    if (!k || k->last == 0 || k->last + 1 + FETCH_EVENTS < t->first) return t->first;
    return k->last + 1;
}

static WEIR_MUST_CHECK enum weir_status fetch_log(struct pg_listener *l, struct pg_heard *h,
                                                  struct askings *as, size_t i,
                                                  const struct told *t)
{
    const struct pg_heard_log *log = &h->logs[i];
    if (!is_wanted(l, log->name)) {
        forget_log(&l->follow, log->name);
        return WEIR_OK;
    }
    uint64_t low = t->last > 0 ? low_of(l, log, t) : UINT64_MAX;
    if (low <= t->last && !log->is_dropped) return ask(l, h, as, log, low, t->last);
    if (!log->is_dropped && !log->is_made && !log->is_sealed) return WEIR_OK;
    /* In order: another log of this name may come next. */
    enum weir_status st = fetch(l, h, as);
    give_state(l, h, log);
    return st;
}

enum weir_status follow_fetch(struct pg_listener *l, struct pg_heard *h, const struct told *told)
{
    struct askings as;
    if (h->n_logs == 0) return WEIR_OK;
    enum weir_status st = askings_init(&as, l, false);
    for (size_t i = 0; i < h->n_logs && st == WEIR_OK; i++) st = fetch_log(l, h, &as, i, &told[i]);
    if (st == WEIR_OK) st = fetch(l, h, &as);
    askings_fini(&as);
    return st;
}

/* ---- comparing ---- */

/* The names of one part, and the heads that the database has. */
struct comparing {
    struct pg_listener *listener;
    struct pg_heard *heard;
    struct arena memory;
    struct weir_slice *names;
    size_t n, cap;
    bool is_short; /* there was no memory for all */
};

static void add_name(void *user, struct weir_slice log)
{
    struct comparing *c = user;
    if (c->n == c->cap) {
        size_t cap = c->cap > 0 ? c->cap * 2 : COMPARE_LOGS;
        struct weir_slice *grown = mem_realloc(c->names, cap * sizeof *grown);
        if (!grown) {
            c->is_short = true;
            return;
        }
        c->names = grown;
        c->cap = cap;
    }
    char *copy = arena_alloc(&c->memory, log.len);
    if (!copy) {
        c->is_short = true;
        return;
    }
    memcpy(copy, log.ptr, log.len);
    c->names[c->n++] = slice_of(copy, log.len);
}

/*
 * It was there, and is not any more. What was given is not known after a loss: then it may have
 * been there.
 */
static void give_gone(struct comparing *c, struct weir_slice name)
{
    const struct known *k = map_get(&c->listener->follow.logs, name);
    if (!k && !c->listener->is_lost && !c->heard->is_everything) return;
    const struct pg_heard_log log = {.name = name, .log_id = k ? k->log_id : 0, .is_dropped = true};
    give_state(c->listener, c->heard, &log);
}

/* What is to be fetched: all that is behind what was given, or the newest chunk. */
struct missing {
    struct askings rest, newest;
    size_t n;
    struct pg_heard_log logs[COMPARE_LOGS];
};

static WEIR_MUST_CHECK enum weir_status compare_log(struct comparing *c, struct missing *m,
                                                    const struct pg_heard_log *head)
{
    struct pg_listener *l = c->listener;
    const struct known *k = known_of(&l->follow, head->name, head->log_id);
    if (k && head->last <= k->last && (k->is_sealed || !head->is_sealed)) return WEIR_OK;
    struct pg_heard_log *log = &m->logs[m->n++];
    *log = *head;
    if (head->last == 0 || (k && head->last <= k->last)) {
        give_state(l, c->heard, log);
        know(&l->follow, log, head->last);
        return WEIR_OK;
    }
    if (k && k->last > 0 && head->last - k->last <= FETCH_EVENTS)
        return ask(l, c->heard, &m->rest, log, k->last + 1, head->last);
    return ask(l, c->heard, &m->newest, log, 0, head->last);
}

static WEIR_MUST_CHECK enum weir_status compare_rows(struct comparing *c, struct missing *m,
                                                     const struct weir_slice *names, size_t n,
                                                     const struct pg_rows *rows)
{
    size_t row = 0;
    enum weir_status st = WEIR_OK;
    m->n = 0;
    for (size_t i = 0; i < n && st == WEIR_OK; i++) {
        if (row >= pg_n_rows(rows) || (size_t)pg_get_int(rows, row, 0) != i + 1) {
            give_gone(c, names[i]);
            continue;
        }
        const struct pg_heard_log head = {.name = names[i],
                                          .log_id = (uint64_t)pg_get_int(rows, row, 1),
                                          .last = (uint64_t)pg_get_int(rows, row, 2),
                                          .is_sealed = pg_get_bool(rows, row, 3),
                                          .cluster = (unsigned)pg_get_int(rows, row, 4)};
        st = compare_log(c, m, &head);
        row++;
    }
    if (st == WEIR_OK) st = fetch(c->listener, c->heard, &m->rest);
    return st == WEIR_OK ? fetch(c->listener, c->heard, &m->newest) : st;
}

static WEIR_MUST_CHECK enum weir_status compare_some(struct comparing *c, struct missing *m,
                                                     const struct weir_slice *names, size_t n)
{
    struct pg_rows *rows = NULL;
    pg_call(c->listener->pg, heads_sql);
    pg_bytes_array(c->listener->pg, names, n);
    enum weir_status st = pg_run(c->listener->pg, &rows);
    if (st == WEIR_OK) st = compare_rows(c, m, names, n, rows);
    pg_rows_free(rows);
    return st;
}

static WEIR_MUST_CHECK enum weir_status compare_named(struct comparing *c, struct missing *m)
{
    enum weir_status st = askings_init(&m->rest, c->listener, false);
    if (st == WEIR_OK) st = askings_init(&m->newest, c->listener, true);
    for (size_t at = 0; at < c->n && st == WEIR_OK; at += COMPARE_LOGS) {
        size_t n = c->n - at < COMPARE_LOGS ? c->n - at : COMPARE_LOGS;
        st = compare_some(c, m, c->names + at, n);
        if (st == WEIR_OK) st = listener_pass_on(c->listener, &c->heard);
    }
    askings_fini(&m->rest);
    askings_fini(&m->newest);
    return st;
}

enum weir_status follow_compare(struct pg_listener *l, struct pg_heard **h, unsigned part)
{
    struct comparing c = {.listener = l, .heard = *h};
    if (!l->options.each_log) return WEIR_OK;
    arena_init(&c.memory, SIZE_MAX);
    l->options.each_log(l->options.follower, part, add_name, &c);
    struct missing *m = c.n > 0 ? mem_zalloc(sizeof *m) : NULL;
    enum weir_status st = c.is_short || (c.n > 0 && !m) ? WEIR_NOMEM : WEIR_OK;
    if (m && st == WEIR_OK) st = compare_named(&c, m);
    *h = c.heard;
    mem_free(m);
    mem_free(c.names);
    arena_fini(&c.memory);
    return st;
}
