/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever somebody looks for in whatever text: FTS5 takes the expression that is made of it, finds
 * the text when we do, and marks what we mark. Pieces of the text make the text, and a snippet of
 * it is well-formed, with its places in it.
 *
 * An input is a query, a NUL and a text.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/library_impl.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "store/db_query.h"

enum { TEXT_MOST = 4096, SNIPPET_POINTS = 40 };

static sqlite3 *sqlite;
static struct db_words words;

static void open_once(void)
{
    if (sqlite) return;
    fuzz_true("opens", sqlite3_open(":memory:", &sqlite) == SQLITE_OK);
    fuzz_true("registers", db_words_register(sqlite) == WEIR_OK);
    fuzz_true("words", db_words_open(&words, sqlite) == WEIR_OK);
    fuzz_true("table", db_exec(sqlite, "CREATE VIRTUAL TABLE search USING fts5(owner, title, text,"
                                       " tokenize='weir')") == WEIR_OK);
}

static sqlite3_stmt *prepare(const char *sql, struct weir_slice text)
{
    sqlite3_stmt *s = NULL;
    fuzz_true("prepares", sqlite3_prepare_v2(sqlite, sql, -1, &s, NULL) == SQLITE_OK);
    sqlite3_bind_text(s, 1, text.len > 0 ? text.ptr : "", (int)text.len, SQLITE_STATIC);
    return s;
}

/* The text with marks, as FTS5 sets them; false: it does not find it. */
static bool mark_theirs(struct weir_slice expression, struct weir_slice text, struct text *out)
{
    fuzz_true("empties", db_exec(sqlite, "DELETE FROM search") == WEIR_OK);
    sqlite3_stmt *s = prepare("INSERT INTO search VALUES ('o61', '', ?1)", text);
    fuzz_true("inserts", sqlite3_step(s) == SQLITE_DONE);
    sqlite3_finalize(s);
    s = prepare("SELECT highlight(search, 2, CAST(x'FE' AS TEXT), CAST(x'FF' AS TEXT)) "
                "FROM search WHERE search MATCH ?1",
                expression);
    int rc = sqlite3_step(s);
    fuzz_true("is an expression", rc == SQLITE_ROW || rc == SQLITE_DONE);
    if (rc == SQLITE_ROW) {
        struct weir_slice marked = db_column_bytes(s, 0);
        text_add(out, marked.ptr, marked.len);
    }
    sqlite3_finalize(s);
    return rc == SQLITE_ROW;
}

static void mark_ours(struct weir_slice text, const struct db_ranges *r, struct text *out)
{
    size_t at = 0;
    for (size_t i = 0; i < r->n; i++) {
        fuzz_true("rises", r->list[i].start >= at && r->list[i].end > r->list[i].start);
        text_add(out, text.ptr + at, r->list[i].start - at);
        text_add(out, "\xFE", 1);
        at = r->list[i].end;
        text_add(out, text.ptr + r->list[i].start, at - r->list[i].start);
        text_add(out, "\xFF", 1);
    }
    text_add(out, text.ptr + at, text.len - at);
}

static void check_snippet(struct weir_slice text, const struct db_ranges *r)
{
    struct snippet s;
    struct snippet_wish wish = {text, r->list, r->n, SNIPPET_POINTS, NULL};
    size_t n_points = 0;
    snippet_init(&s);
    fuzz_true("a snippet", snippet_make(&s, &wish) == WEIR_OK);
    fuzz_true("is UTF-8", utf8_valid_prefix(weir_buf_slice(&s.text)) == s.text.len);
    for (size_t i = 0; i < s.text.len; i++)
        n_points += ((unsigned char)s.text.ptr[i] & 0xC0) != 0x80;
    fuzz_true("is short", n_points <= 2 * SNIPPET_POINTS + 2);
    fuzz_true("shows something", r->n == 0 || s.n > 0);
    for (size_t i = 0; i < s.n; i++)
        fuzz_true("places", s.points[i].start < s.points[i].end && s.points[i].end <= n_points &&
                                (i == 0 || s.points[i - 1].end <= s.points[i].start));
    snippet_fini(&s);
}

static void check_cuts(struct weir_slice text, bool is_markdown)
{
    struct cutter c;
    struct weir_slice piece;
    struct weir_buf headings;
    struct text all = {0};
    struct text want = {0};
    weir_buf_init(&headings, PASSAGE_TITLE_BYTES);
    cutter_init(&c, text, is_markdown);
    while (cutter_next(&c, &piece, &headings)) {
        fuzz_true("a piece", piece.len > 0 && piece.len <= CUT_MOST_BYTES);
        fuzz_true("of whole characters", utf8_valid_prefix(piece) == piece.len);
        text_add(&all, piece.ptr, piece.len);
    }
    text_add(&want, text.ptr, text.len);
    fuzz_same("pieces make the text", &all, &want);
    text_fini(&all);
    text_fini(&want);
    weir_buf_fini(&headings);
}

static void check_query(const struct db_query *q, struct weir_slice text)
{
    struct db_ranges ranges;
    struct weir_buf expression;
    struct text ours = {0};
    struct text theirs = {0};
    weir_buf_init(&expression, 64 << 10);
    db_query_put(&expression, q, SLICE("a"), true);
    fuzz_true("finds", db_query_find(q, &words, text, &ranges) == WEIR_OK);
    bool is_found = mark_theirs(weir_buf_slice(&expression), text, &theirs);
    fuzz_true("both find it", is_found == (ranges.n > 0));
    mark_ours(text, &ranges, &ours);
    if (is_found && ranges.n < PASSAGE_MAX_RANGES) fuzz_same("marks", &ours, &theirs);
    check_snippet(text, &ranges);
    text_fini(&ours);
    text_fini(&theirs);
    weir_buf_fini(&expression);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct db_query q;
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
    open_once();
    if (!nul) return 0;
    struct weir_slice query = slice_of(data, (size_t)(nul - data));
    struct weir_slice text = slice_of(nul + 1, size - query.len - 1);
    if (text.len > TEXT_MOST || passage_good_prefix(text) < text.len) return 0;
    check_cuts(text, size % 2);
    if (db_query_read(&q, &words, query) == WEIR_OK) check_query(&q, text);
    db_query_fini(&q);
    return 0;
}
