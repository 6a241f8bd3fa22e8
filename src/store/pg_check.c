/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a whole store on PostgreSQL: what must hold among the rows, in one state of the
 * database, read by cursors so that it needs no memory to speak of. It goes on after a complaint.
 *
 * Whether the words of passages are those of their index is told by sums over hashes of (owner,
 * passage, word, place), which do not depend on the order.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <weir/buf.h>

#include "base/hash.h"
#include "base/slice.h"
#include "store/db_words.h"
#include "store/pg_clusters.h"

/* Sorting all there is may take its time. */
enum {
    COMPLAINT_BYTES = 512,
    PLACE_BYTES = 4,
    ANSWER_MS = 3600000,
    PAGE_LOGS = 256,
    TEXT_BYTES = 1 << 16,
};

struct sum {
    uint64_t n, hashes;
};

struct check {
    struct pg *pg;
    store_complaint_fn complain;
    void *user;
    uint64_t n_wrong;
    /* The log that is being walked through. */
    uint64_t log;
    uint64_t last; /* that the log is said to have */
    uint64_t next; /* id that is due */
    /* Words. */
    struct db_words words;
    struct sum texts, index;
};

static __attribute__((format(printf, 2, 3))) void complain(struct check *c, const char *format, ...)
{
    char text[COMPLAINT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->n_wrong++;
    if (c->complain) c->complain(c->user, text);
}

/* Calls a function for each row. The text begins with DECLARE c CURSOR FOR. */
typedef void (*row_fn)(struct check *c, const struct pg_rows *rows, size_t i);

static WEIR_MUST_CHECK enum weir_status for_each(struct check *c, const char *sql, row_fn each)
{
    bool has_more = true;
    enum weir_status st = pg_script(c->pg, sql);
    while (st == WEIR_OK && has_more) {
        struct pg_rows *rows = NULL;
        pg_call(c->pg, "FETCH 64 FROM c");
        st = pg_run(c->pg, &rows);
        if (st != WEIR_OK) break;
        for (size_t i = 0; i < pg_n_rows(rows); i++) each(c, rows, i);
        has_more = pg_n_rows(rows) > 0;
        pg_rows_free(rows);
    }
    return st == WEIR_OK ? pg_script(c->pg, "CLOSE c") : st;
}

/* ---- logs ---- */

static void end_log(struct check *c)
{
    if (c->log != 0 && c->next != c->last + 1)
        complain(c, "log %" PRIu64 ": events up to %" PRIu64 ", but it says %" PRIu64, c->log,
                 c->next - 1, c->last);
}

static void take_chunk(struct check *c, const struct pg_rows *rows, size_t i)
{
    uint64_t log = (uint64_t)pg_get_int(rows, i, 0);
    if (log != c->log) {
        end_log(c);
        c->log = log;
        c->last = (uint64_t)pg_get_int(rows, i, 1);
        c->next = 1;
    }
    if (pg_is_null(rows, i, 3)) return;
    uint64_t kept = (uint64_t)pg_get_int(rows, i, 2);
    uint64_t first = (uint64_t)pg_get_int(rows, i, 3);
    uint64_t last = (uint64_t)pg_get_int(rows, i, 4);
    uint64_t bad = 0;
    bool was_trimmed = c->next == 1 && first > 1 && first <= kept;
    if (first != c->next && !was_trimmed)
        complain(c, "log %" PRIu64 ": event %" PRIu64 " is due, a row begins with %" PRIu64, log,
                 c->next, first);
    if (!chunk_are_events(pg_get_bytes(rows, i, 5), first, last, &bad))
        complain(c, "log %" PRIu64 ": row %" PRIu64 " to %" PRIu64 ": bad event %" PRIu64, log,
                 first, last, bad);
    c->next = last + 1;
}

static void take_orphan(struct check *c, const struct pg_rows *rows, size_t i)
{
    complain(c, "log %" PRId64 ": there are events of it, but no such log", pg_get_int(rows, i, 0));
}

static void take_unknown_id(struct check *c, const struct pg_rows *rows, size_t i)
{
    complain(c, "log %" PRId64 ": its id is not one that was given", pg_get_int(rows, i, 0));
}

static void take_meta(struct check *c, const struct pg_rows *rows, size_t i)
{
    if (pg_get_int(rows, i, 0) != 1) complain(c, "the database's own row is not there");
}

static WEIR_MUST_CHECK enum weir_status check_logs(struct check *c)
{
    enum weir_status st =
        for_each(c,
                 "DECLARE c BINARY CURSOR FOR SELECT l.id, l.last, l.kept_from, c.first, c.last,"
                 " c.bytes FROM weir.logs l LEFT JOIN weir.chunks c ON c.log = l.id"
                 " WHERE l.cluster = 0 ORDER BY l.id, c.first",
                 take_chunk);
    if (st != WEIR_OK) return st;
    end_log(c);
    /* Of days there may be more than logs: they go as a whole. */
    st = for_each(c,
                  "DECLARE c BINARY CURSOR FOR SELECT DISTINCT log FROM weir.chunks_kept"
                  " WHERE log NOT IN (SELECT id FROM weir.logs WHERE cluster = 0)"
                  " AND log NOT IN (SELECT log FROM weir.carried)"
                  " AND log NOT IN (SELECT log FROM weir.garbage)",
                  take_orphan);
    if (st == WEIR_OK)
        st = for_each(c,
                      "DECLARE c BINARY CURSOR FOR SELECT id FROM weir.logs"
                      " WHERE id > (SELECT last_value FROM weir.log_ids)",
                      take_unknown_id);
    return st;
}

/* ---- passages ---- */

struct text {
    struct check *c;
    struct weir_slice owner, id;
    uint32_t place;
};

static void add(struct sum *sum, const struct text *t, struct weir_slice word)
{
    static const struct hash_key key; /* nobody is to be kept from collisions */
    uint64_t all[4] = {hash_bytes(key, t->owner), hash_bytes(key, t->id), hash_bytes(key, word),
                       t->place};
    sum->n++;
    sum->hashes += hash_bytes(key, slice_of(all, sizeof all));
}

static bool add_word(void *user, struct weir_slice word, size_t start, size_t end)
{
    struct text *t = user;
    (void)start;
    (void)end;
    if (word.len > PG_WORDS_BYTES) word.len = PG_WORDS_BYTES;
    add(&t->c->texts, t, word);
    t->place++;
    return true;
}

static void take_passage(struct check *c, const struct pg_rows *rows, size_t i)
{
    struct weir_slice body = pg_get_bytes(rows, i, 2);
    struct text t = {.c = c, .owner = pg_get_bytes(rows, i, 0), .id = pg_get_bytes(rows, i, 1)};
    const char *end = memchr(body.ptr, '\n', body.len);
    size_t n_title = end ? (size_t)(end - body.ptr) : body.len;
    uint64_t n_before = c->texts.n;
    enum weir_status st = db_words_each(&c->words, slice_of(body.ptr, n_title), add_word, &t);
    t.place = PG_WORDS_IN_TEXT;
    if (st == WEIR_OK && end)
        st = db_words_each(&c->words, slice_from(body, n_title + 1), add_word, &t);
    bool is_known = !pg_is_null(rows, i, 3);
    if (st != WEIR_OK || !is_known || (uint64_t)pg_get_int(rows, i, 3) != c->texts.n - n_before)
        complain(c, "passage %.*s: %s", (int)t.id.len, t.id.ptr,
                 is_known ? "its words were counted wrongly" : "the index does not know it");
}

static void take_words(struct check *c, const struct pg_rows *rows, size_t i)
{
    struct text t = {.c = c, .owner = pg_get_bytes(rows, i, 0), .id = pg_get_bytes(rows, i, 1)};
    struct weir_slice places = pg_get_bytes(rows, i, 3);
    for (size_t k = 0; k + PLACE_BYTES <= places.len; k += PLACE_BYTES) {
        const unsigned char *p = (const unsigned char *)places.ptr + k;
        t.place = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
        add(&c->index, &t, pg_get_bytes(rows, i, 2));
    }
}

static void take_lost(struct check *c, const struct pg_rows *rows, size_t i)
{
    struct weir_slice id = pg_get_bytes(rows, i, 0);
    complain(c, "passage %.*s: the index has it, and there is no such document", (int)id.len,
             id.ptr);
}

static WEIR_MUST_CHECK enum weir_status check_passages(struct check *c)
{
    enum weir_status st = db_words_open_alone(&c->words);
    if (st == WEIR_OK)
        st = for_each(c,
                      "DECLARE c BINARY CURSOR FOR SELECT d.owner, d.id, d.body, p.n_words"
                      " FROM weir.docs d LEFT JOIN weir.passages p ON p.id = d.id"
                      " AND p.owner = d.owner WHERE d.kind = 'passage'",
                      take_passage);
    if (st == WEIR_OK)
        st = for_each(c,
                      "DECLARE c BINARY CURSOR FOR SELECT owner, passage, word, places"
                      " FROM weir.words",
                      take_words);
    if (st == WEIR_OK)
        st = for_each(c,
                      "DECLARE c BINARY CURSOR FOR SELECT id FROM weir.passages WHERE id NOT IN"
                      " (SELECT id FROM weir.docs WHERE kind = 'passage')",
                      take_lost);
    db_words_close(&c->words);
    if (st == WEIR_OK && (c->texts.n != c->index.n || c->texts.hashes != c->index.hashes))
        complain(c,
                 "passages: the index of their words (%" PRIu64
                 ") does not say what they do (%" PRIu64 ")",
                 c->index.n, c->texts.n);
    return st;
}

/* ---- all of it ---- */

static enum weir_status check_all(struct pg *pg, void *user)
{
    struct check *c = user;
    c->pg = pg;
    unsigned timeout_ms = pg_set_timeout(pg, ANSWER_MS);
    enum weir_status st = pg_script(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
                                        "SET LOCAL statement_timeout = 0");
    if (st == WEIR_OK)
        st = for_each(c,
                      "DECLARE c BINARY CURSOR FOR SELECT count(*) FROM weir.meta"
                      " WHERE version > 0",
                      take_meta);
    if (st == WEIR_OK) st = check_logs(c);
    if (st == WEIR_OK) st = check_passages(c);
    if (st == WEIR_CORRUPT) {
        complain(c, "PostgreSQL: %s", pg_message(pg));
        st = WEIR_OK; /* that is what was asked */
    }
    /* Nothing was changed: how it ends tells no more than what was read. */
    enum weir_status st_end = pg_script(pg, "ROLLBACK");
    (void)st_end;
    pg_set_timeout(pg, timeout_ms);
    return st;
}

enum weir_status pg_check(struct pg_pool *pool, store_complaint_fn complain_fn, void *user,
                          uint64_t *n_wrong)
{
    struct check c = {.complain = complain_fn, .user = user};
    struct pg *pg;
    *n_wrong = 0;
    /* Once: what was complained of cannot be taken back. */
    enum weir_status st = pg_pool_take(pool, PG_READ_WAIT_MS, &pg);
    if (st != WEIR_OK) return st;
    st = check_all(pg, &c);
    pg_pool_give(pool, pg);
    *n_wrong = c.n_wrong;
    return st;
}

/* ---- events that other databases have ---- */

/* Some logs as the first database has them. */
struct page {
    size_t n;
    int64_t ids[PAGE_LOGS], last[PAGE_LOGS], kept_from[PAGE_LOGS];
};

/* Of one database the next ones behind `after`; or those of a page as they are by now. */
static WEIR_MUST_CHECK enum weir_status fill_page(struct pg *first, unsigned cluster, int64_t after,
                                                  bool is_again, struct page *page)
{
    static const char *const next_sql =
        "SELECT id, last, kept_from FROM weir.logs WHERE cluster = $1 AND id > $2"
        " ORDER BY id LIMIT $3";
    static const char *const again_sql =
        "SELECT id, last, kept_from FROM weir.logs WHERE cluster = $1 AND id = ANY($2) ORDER BY id";
    struct pg_rows *rows = NULL;
    pg_call(first, is_again ? again_sql : next_sql);
    pg_int(first, cluster);
    if (is_again) {
        pg_ints(first, page->ids, page->n);
    } else {
        pg_int(first, after);
        pg_int(first, PAGE_LOGS);
    }
    enum weir_status st = pg_run(first, &rows);
    if (st != WEIR_OK) return st;
    page->n = 0;
    for (size_t i = 0; i < pg_n_rows(rows) && i < PAGE_LOGS; i++) {
        page->ids[page->n] = pg_get_int(rows, i, 0);
        page->last[page->n] = pg_get_int(rows, i, 1);
        page->kept_from[page->n++] = pg_get_int(rows, i, 2);
    }
    pg_rows_free(rows);
    return WEIR_OK;
}

/* Up to what the first database has of them: what is beyond was never committed. */
static WEIR_MUST_CHECK enum weir_status check_page(struct check *c, const struct page *page)
{
    struct weir_buf sql;
    weir_buf_init(&sql, TEXT_BYTES);
    weir_buf_append_str(&sql, "DECLARE c BINARY CURSOR FOR SELECT w.id, w.last, w.kept_from,"
                              " c.first, c.last, c.bytes FROM (VALUES ");
    for (size_t i = 0; i < page->n; i++) {
        char row[128];
        snprintf(row, sizeof row, "%s(%" PRId64 "::bigint,%" PRId64 "::bigint,%" PRId64 "::bigint)",
                 i > 0 ? "," : "", page->ids[i], page->last[i], page->kept_from[i]);
        weir_buf_append_str(&sql, row);
    }
    weir_buf_append_str(&sql, ") AS w(id, last, kept_from) LEFT JOIN weir.chunks c"
                              " ON c.log = w.id AND c.first <= w.last ORDER BY w.id, c.first");
    weir_buf_append(&sql, "", 1);
    enum weir_status st = weir_buf_status(&sql);
    c->log = 0;
    if (st == WEIR_OK) st = for_each(c, sql.ptr, take_chunk);
    end_log(c);
    weir_buf_fini(&sql);
    return st;
}

static WEIR_MUST_CHECK enum weir_status check_page_once(struct check *c, const struct page *page)
{
    enum weir_status st = page->n > 0 ? pg_script(c->pg, "BEGIN READ ONLY;"
                                                         "SET LOCAL statement_timeout = 0")
                                      : WEIR_OK;
    if (st != WEIR_OK || page->n == 0) return st;
    st = check_page(c, page);
    enum weir_status st_end = pg_script(c->pg, "ROLLBACK");
    return st == WEIR_OK ? st_end : st;
}

/*
 * Logs are dropped and trimmed while this goes on, and two databases have no state in common. So
 * what is wrong is looked at again, on what the first one says by then.
 */
static WEIR_MUST_CHECK enum weir_status check_database(struct check *c, struct pg *first,
                                                       unsigned cluster)
{
    struct page page;
    int64_t after = 0;
    for (;;) {
        struct check quiet = {.pg = c->pg};
        enum weir_status st = fill_page(first, cluster, after, false, &page);
        if (st != WEIR_OK || page.n == 0) return st;
        after = page.ids[page.n - 1];
        st = check_page_once(&quiet, &page);
        if (st == WEIR_OK && quiet.n_wrong > 0) {
            st = fill_page(first, cluster, 0, true, &page);
            if (st == WEIR_OK) st = check_page_once(c, &page);
        }
        if (st != WEIR_OK) return st;
    }
}

enum weir_status pg_check_carried(struct pg_clusters *cs, store_complaint_fn complain_fn,
                                  void *user, uint64_t *n_wrong)
{
    struct check c = {.complain = complain_fn, .user = user};
    struct pg *first = NULL;
    if (cs->n == 1) return WEIR_OK;
    enum weir_status st = pg_pool_take(cs->all[0].pool, PG_READ_WAIT_MS, &first);
    if (st != WEIR_OK) return st;
    for (size_t i = 1; i < cs->n && st == WEIR_OK; i++) {
        st = pg_pool_take(cs->all[i].pool, PG_READ_WAIT_MS, &c.pg);
        if (st != WEIR_OK) break;
        unsigned timeout_ms = pg_set_timeout(c.pg, ANSWER_MS);
        st = check_database(&c, first, cs->all[i].number);
        pg_set_timeout(c.pg, timeout_ms);
        pg_pool_give(cs->all[i].pool, c.pg);
    }
    pg_pool_give(cs->all[0].pool, first);
    *n_wrong += c.n_wrong;
    return st;
}

enum weir_status pg_backup(struct store_error *error)
{
    if (error)
        snprintf(error->text, sizeof error->text,
                 "this store is on PostgreSQL: back its database up with pg_dump (schema weir) or "
                 "pg_basebackup");
    return WEIR_NOT_IMPLEMENTED;
}
