/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a table: from its bytes to rows under a known header. The header is the first row
 * that has all that some format needs. Rows behind it may wait until enough of them were seen to
 * tell 3 April from 4 March (table_learn.c); after that each goes to its format as it comes.
 */
#include "import/table.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "data/day.h"
#include "import/table_impl.h"

enum { NAMES_BYTES = 4 << 20 };

struct reader {
    struct table table;
};

/* ---- words for people ---- */

const char *table_quote(char out[TABLE_QUOTE_BYTES], struct weir_slice text)
{
    size_t len = text.len < TABLE_QUOTE_BYTES - 4 ? text.len : TABLE_QUOTE_BYTES - 4;
    while (len > 0 && len < text.len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) len--;
    if (len > 0) memcpy(out, text.ptr, len);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7F) out[i] = ' ';
    snprintf(out + len, TABLE_QUOTE_BYTES - len, "%s", len < text.len ? "..." : "");
    return out;
}

void table_refuse(struct table *t, const char *format, ...)
{
    char reason[TABLE_REASON_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    t->context.sink.refuse(t->context.sink.user, t->row.line, reason);
}

enum weir_status table_fail(struct table *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->error, sizeof t->error, format, args);
    va_end(args);
    return WEIR_BAD_FIELD;
}

/* ---- rows ---- */

static bool is_all_missing(const struct csv_row *row)
{
    for (size_t i = 0; i < row->n; i++)
        if (cell_trim(row->fields[i]).len > 0) return false;
    return true;
}

/* A row that is shorter was cut off, one that is longer has a comma that should be quoted. */
static bool has_right_width(struct table *t)
{
    size_t n_labels = t->n_columns;
    size_t n = t->row.n;
    while (n > n_labels && t->row.fields[n - 1].len == 0) n--;
    while (n_labels > n && t->columns[n_labels - 1].label.len == 0) n_labels--;
    if (n == n_labels) return true;
    table_refuse(t, "%zu fields where the header has %zu", n, n_labels);
    return false;
}

enum weir_status table_row_at_hand(struct table *t)
{
    if (is_all_missing(&t->row)) return WEIR_OK;
    t->n_records++;
    if (!has_right_width(t)) return WEIR_OK;
    return t->format->row(t);
}

/* Columns that the format says nothing of are counted by name, so that nobody misses them. */
static void ignore_unknown(struct table *t)
{
    if (!t->context.sink.ignore) return;
    for (size_t i = 0; i < t->n_columns; i++)
        if (!t->columns[i].spec && t->columns[i].label.len > 0)
            t->context.sink.ignore(t->context.sink.user, t->columns[i].label);
}

static enum weir_status begin(struct table *t, const struct table_format *f)
{
    t->format = f;
    t->csv.is_free = false;
    t->source = (struct source){weir_slice_of(f->source), f->source_class};
    t->is_learning = f->looks_ahead;
    t->dates = t->context.dates;
    /* Houses write points, also behind semicolons; people who write semicolons write commas. */
    if (!f->looks_ahead) t->numbers = NUMBERS_POINT;
    else if (t->csv.delimiter == ';') t->numbers = NUMBERS_COMMA;
    if (f->is_left && t->context.sink.ignore)
        t->context.sink.ignore(t->context.sink.user,
                               weir_slice_of(f->preamble ? t->preamble : f->name));
    else if (!f->is_open) ignore_unknown(t);
    if (f->state_bytes > 0) t->state = mem_zalloc(f->state_bytes);
    if (f->state_bytes > 0 && !t->state) return WEIR_NOMEM;
    return f->begin && !t->is_glance ? f->begin(t) : WEIR_OK;
}

static enum weir_status find_header(struct table *t, const struct csv_row *row)
{
    for (size_t i = 0; i < t->n_formats; i++) {
        enum weir_status st = table_bind(t, &t->formats[i], row);
        if (st != WEIR_OK) return st;
        if (table_is_bound(t, &t->formats[i])) return begin(t, &t->formats[i]);
    }
    if (t->n_before == 0)
        snprintf(t->preamble, sizeof t->preamble, "%.*s", (int)row->fields[0].len,
                 row->fields[0].ptr);
    t->n_before++;
    if (t->n_before <= TABLE_PREAMBLE) return WEIR_OK;
    return table_fail(t, "no header with known columns in the first %d rows", (int)TABLE_PREAMBLE);
}

static enum weir_status on_row(void *user, const struct csv_row *row)
{
    struct table *t = user;
    t->row = *row;
    if (!t->format) return find_header(t, row);
    if (t->is_learning) return table_learn_row(t);
    return table_row_at_hand(t);
}

/* ---- the face of a reader ---- */

enum weir_status table_open(struct reader **out, const struct reader_context *c,
                            const struct table_format *formats, size_t n)
{
    struct reader *r = mem_zalloc(sizeof *r);
    if (!r) return WEIR_NOMEM;
    struct table *t = &r->table;
    t->context = *c;
    t->formats = formats;
    t->n_formats = n;
    arena_init(&t->names, NAMES_BYTES);
    arena_init(&t->ahead, TABLE_AHEAD_BYTES * 2);
    enum weir_status st = csv_init(&t->csv, on_row, t);
    t->csv.is_free = true;
    if (st == WEIR_OK) *out = r;
    else mem_free(r);
    return st;
}

void table_close(struct reader *r)
{
    if (!r) return;
    csv_fini(&r->table.csv);
    arena_fini(&r->table.names);
    arena_fini(&r->table.ahead);
    mem_free(r->table.waiting);
    mem_free(r->table.state);
    mem_free(r);
}

/* An error of the text itself has its words in the tokenizer. */
static enum weir_status told(struct table *t, enum weir_status st)
{
    if (st != WEIR_OK && t->error[0] == 0)
        snprintf(t->error, sizeof t->error, "%s",
                 csv_error(&t->csv)[0] ? csv_error(&t->csv) : weir_status_text(st));
    return st;
}

enum weir_status table_feed(struct reader *r, struct weir_slice bytes)
{
    return told(&r->table, csv_feed(&r->table.csv, bytes));
}

enum weir_status table_end(struct reader *r)
{
    struct table *t = &r->table;
    enum weir_status st = csv_end(&t->csv);
    if (st == WEIR_OK && !t->format)
        st = table_fail(t, "no header with the columns of a %s table", t->formats[0].name);
    if (st == WEIR_OK && t->is_learning) st = table_learned(t);
    if (st == WEIR_OK && t->format->end) st = t->format->end(t);
    return told(t, st);
}

uint64_t table_records(const struct reader *r)
{
    return r->table.n_records;
}

const char *table_error(const struct reader *r)
{
    return r->table.error;
}

uint64_t table_line(const struct reader *r)
{
    return r->table.row.line;
}

/* ---- recognising ---- */

enum { DOUBTFUL = 10 }; /* sure enough to say what is wrong with it */

struct glance {
    struct table table;
    unsigned sure;
    bool is_done;
    bool has_rows;
};

/* For an open format the first rows must have dates where the header says so. */
static enum weir_status on_glance(void *user, const struct csv_row *row)
{
    struct glance *g = user;
    struct table *t = &g->table;
    struct cell_time time;
    if (g->is_done) return WEIR_OK;
    if (!t->format) {
        enum weir_status st = find_header(t, row);
        if (st != WEIR_OK || !t->format) return st;
        g->sure = t->format->is_open ? 0 : t->format->sure;
        g->is_done = !t->format->is_open;
        return WEIR_OK;
    }
    g->has_rows = true;
    size_t at = t->at[FIELD_DATE];
    if (at >= row->n || !cell_time(row->fields[at], DATES_UNKNOWN, &time)) return WEIR_OK;
    g->sure = t->format->sure;
    g->is_done = true;
    return WEIR_OK;
}

/* Whether a line that is no CSV (too wide, of another encoding) would have a column of dates. */
static bool begins_with_date(const struct table_format *f, struct weir_slice head)
{
    static const char ends[] = {',', ';', '\t', '\n', '\r'};
    struct weir_slice bom = SLICE("\xEF\xBB\xBF");
    if (head.len >= bom.len && memcmp(head.ptr, bom.ptr, bom.len) == 0)
        head = slice_from(head, bom.len);
    for (size_t i = 0, from = 0; i < head.len && head.ptr[i] != 0; i++) {
        if (!memchr(ends, head.ptr[i], sizeof ends)) continue;
        struct weir_slice name = slice_of(head.ptr + from, i - from);
        if (table_has_field(f, FIELD_DATE, name) && head.ptr[i] != '\n') return true;
        if (head.ptr[i] == '\n' || head.ptr[i] == '\r') return false;
        from = i + 1;
    }
    return false;
}

/*
 * A table that cannot be read, but is plainly meant to be one, is left to the reader, whose words
 * say more than "unknown" does.
 */
static unsigned doubtful(const struct glance *g, enum weir_status st, struct weir_slice head)
{
    const struct table *t = &g->table;
    const struct table_format *last = &t->formats[t->n_formats - 1];
    if (g->sure > 0 || !last->is_open) return g->sure;
    if (t->format) return st != WEIR_OK || !g->has_rows ? DOUBTFUL : 0;
    /* A header that is longer than all that was looked at is not a small one. */
    bool is_endless = t->n_before == 0 && head.len >= READER_HEAD_BYTES;
    return (st != WEIR_OK || is_endless) && begins_with_date(last, head) ? DOUBTFUL : 0;
}

unsigned table_recognise(const struct table_format *formats, size_t n, struct weir_slice file_name,
                         struct weir_slice head)
{
    struct glance g = {.table = {.formats = formats, .n_formats = n}};
    struct table *t = &g.table;
    t->context.file_name = file_name;
    t->is_glance = true;
    arena_init(&t->names, NAMES_BYTES);
    enum weir_status st = csv_init(&t->csv, on_glance, &g);
    t->csv.is_free = true;
    if (st == WEIR_OK) st = csv_feed(&t->csv, head);
    if (st == WEIR_OK && head.len < READER_HEAD_BYTES) st = csv_end(&t->csv);
    unsigned sure = doubtful(&g, st, head);
    csv_fini(&t->csv);
    arena_fini(&t->names);
    mem_free(t->state);
    return sure;
}
