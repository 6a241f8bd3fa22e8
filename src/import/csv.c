/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tokenizer of CSV. Bytes go through three doors, one behind the other: the byte order mark;
 * the line that tells the delimiter, which is kept whole and then read again; the state machine:
 *
 *   state    delimiter      line end     quote         any other
 *   START    field (empty)  row          QUOTED        PLAIN, kept
 *   PLAIN    field, START   row, START   kept          kept
 *   QUOTED   kept           kept         CLOSED        kept
 *   CLOSED   field, START   row, START   QUOTED, kept  PLAIN, kept
 *
 * A quote inside a field that does not begin with one is a letter, as is what follows a closing
 * quote: spreadsheets read it so, and refusing a whole export for it helps nobody.
 */
#include "import/csv.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"

enum { START, PLAIN, QUOTED, CLOSED };

static const char delimiters[] = {'\t', ';', ','}; /* of equals, the earlier */
static const char mark[] = {'\xEF', '\xBB', '\xBF'};

enum weir_status csv_init(struct csv *c, csv_row_fn row, void *user)
{
    *c = (struct csv){.row = row, .user = user, .line = 1, .row_line = 1};
    weir_buf_init(&c->text, CSV_ROW_BYTES);
    c->ends = mem_alloc(CSV_COLUMNS * sizeof *c->ends);
    c->fields = mem_alloc(CSV_COLUMNS * sizeof *c->fields);
    if (c->ends && c->fields) return WEIR_OK;
    csv_fini(c);
    return WEIR_NOMEM;
}

void csv_fini(struct csv *c)
{
    weir_buf_fini(&c->text);
    mem_free(c->ends);
    mem_free(c->fields);
    c->ends = NULL;
    c->fields = NULL;
}

const char *csv_error(const struct csv *c)
{
    return c->error;
}

static void fail(struct csv *c, enum weir_status st, uint64_t line, const char *what)
{
    c->status = st;
    snprintf(c->error, sizeof c->error, "line %llu: %s", (unsigned long long)line, what);
}

/* ---- rows ---- */

static void end_field(struct csv *c)
{
    if (c->n_fields == CSV_COLUMNS) {
        char what[96];
        snprintf(what, sizeof what, "more than %d columns; no health table is so wide",
                 (int)CSV_COLUMNS);
        fail(c, WEIR_LIMIT, c->row_line, what);
        return;
    }
    c->ends[c->n_fields++] = (uint32_t)c->text.len;
    c->field_start = c->text.len;
}

static bool cut_fields(struct csv *c)
{
    size_t at = 0;
    for (size_t i = 0; i < c->n_fields; i++) {
        c->fields[i] = slice_of(c->text.ptr + at, c->ends[i] - at);
        at = c->ends[i];
        if (!c->is_wide || utf8_valid_prefix(c->fields[i]) == c->fields[i].len) continue;
        fail(c, WEIR_BAD_FIELD, c->row_line,
             "not UTF-8 (perhaps Latin-1 or Windows-1252); save the file as UTF-8");
        return false;
    }
    return true;
}

static void end_row(struct csv *c)
{
    end_field(c);
    if (c->status != WEIR_OK) return;
    bool is_blank = c->n_fields == 1 && c->text.len == 0;
    if (!is_blank && cut_fields(c)) {
        struct csv_row row = {.line = c->row_line, .fields = c->fields, .n = c->n_fields};
        c->status = c->row(c->user, &row);
    }
    weir_buf_reset(&c->text);
    c->n_fields = 0;
    c->field_start = 0;
    c->is_wide = false;
    c->state = START;
}

static void keep(struct csv *c, const char *bytes, size_t len)
{
    weir_buf_append(&c->text, bytes, len);
    enum weir_status st = weir_buf_status(&c->text);
    if (st == WEIR_OK && c->text.len - c->field_start <= CSV_FIELD_BYTES) return;
    if (st == WEIR_NOMEM) fail(c, st, c->row_line, "no memory");
    else if (c->state == QUOTED)
        fail(c, WEIR_LIMIT, c->quote_line, "a quote that is never closed, or a field too long");
    else fail(c, WEIR_LIMIT, c->row_line, "a field or line too long; this is no table of values");
}

/* ---- the state machine ---- */

static void put_outside(struct csv *c, char byte)
{
    if (byte == c->delimiter) {
        end_field(c);
        c->state = START;
    } else if (byte == '\n') {
        end_row(c);
    } else {
        c->state = PLAIN;
        keep(c, &byte, 1);
    }
}

static void put(struct csv *c, char byte)
{
    if (c->state == QUOTED) {
        if (byte == '"') c->state = CLOSED;
        else keep(c, &byte, 1);
        return;
    }
    if (byte == '"' && c->state != PLAIN) {
        if (c->state == CLOSED) keep(c, &byte, 1);
        else c->quote_line = c->line;
        c->state = QUOTED;
        return;
    }
    put_outside(c, byte);
}

/* One byte of a row, and the lines it is on. */
static void put_counted(struct csv *c, char byte)
{
    if ((unsigned char)byte >= 0x80) c->is_wide = true;
    put(c, byte);
    if (byte != '\n') return;
    c->line++;
    if (c->text.len == 0 && c->n_fields == 0) c->row_line = c->line;
}

/* ---- the line that tells the delimiter ---- */

static void choose_delimiter(struct csv *c)
{
    unsigned most = 0;
    c->delimiter = 0;
    for (size_t i = 0; i < sizeof delimiters; i++) {
        if (c->n_seen[i] > most) c->delimiter = delimiters[i];
        if (c->n_seen[i] > most) most = c->n_seen[i];
        c->n_seen[i] = 0;
    }
}

/* Reads the kept line again, now that the delimiter is known or there is none in it. */
static void replay(struct csv *c)
{
    struct weir_buf kept = c->text;
    choose_delimiter(c);
    weir_buf_init(&c->text, CSV_ROW_BYTES);
    c->is_quoted = false;
    c->line = c->row_line;
    for (size_t i = 0; i < kept.len && c->status == WEIR_OK; i++) put_counted(c, kept.ptr[i]);
    weir_buf_fini(&kept);
}

static void put_head(struct csv *c, char byte)
{
    if (byte == '"') c->is_quoted = !c->is_quoted;
    for (size_t i = 0; i < sizeof delimiters && !c->is_quoted; i++)
        c->n_seen[i] += byte == delimiters[i];
    weir_buf_append(&c->text, &byte, 1);
    enum weir_status st = weir_buf_status(&c->text);
    if (byte == '\n') c->line++;
    if (st != WEIR_OK)
        fail(c, st, c->row_line,
             c->is_quoted ? "a quote that is never closed, or a line too long"
                          : "a line too long; this is no table of values");
    else if (byte == '\n' && !c->is_quoted) replay(c);
}

/* ---- bytes ---- */

static void put_byte(struct csv *c, char byte)
{
    if (byte == 0) {
        fail(c, WEIR_BAD_FIELD, c->line,
             "a NUL byte; this is no text, or UTF-16: save the file as UTF-8");
        return;
    }
    if (byte == '\n' && c->is_after_cr) {
        c->is_after_cr = false;
        return;
    }
    c->is_after_cr = byte == '\r';
    if (byte == '\r') byte = '\n';
    if (c->delimiter == 0 || c->is_free) put_head(c, byte);
    else put_counted(c, byte);
}

static bool is_plain(char byte, char delimiter)
{
    return (unsigned char)byte >= 0x20 && (unsigned char)byte < 0x80 && byte != '"' &&
           byte != delimiter;
}

/* Most bytes are letters and digits inside a field: whole runs of them at once. */
static size_t put_run(struct csv *c, struct weir_slice bytes)
{
    if (c->delimiter == 0 || c->is_free || c->state == CLOSED || c->is_after_cr) return 0;
    size_t n = 0;
    while (n < bytes.len && is_plain(bytes.ptr[n], c->delimiter)) n++;
    if (n == 0) return 0;
    if (c->state == START) c->state = PLAIN;
    keep(c, bytes.ptr, n);
    return n;
}

static void put_mark(struct csv *c, char byte)
{
    unsigned n = c->n_bom;
    if (byte == mark[n]) {
        c->n_bom++;
        return;
    }
    c->n_bom = sizeof mark;
    if (n == 0 && ((unsigned char)byte == 0xFF || (unsigned char)byte == 0xFE)) {
        fail(c, WEIR_BAD_FIELD, 1, "the text is UTF-16; save the file as UTF-8");
        return;
    }
    for (unsigned i = 0; i < n; i++) put_byte(c, mark[i]);
    put_byte(c, byte);
}

enum weir_status csv_feed(struct csv *c, struct weir_slice bytes)
{
    size_t at = 0;
    while (at < bytes.len && c->status == WEIR_OK) {
        size_t n = c->n_bom < sizeof mark ? 0 : put_run(c, slice_from(bytes, at));
        if (n == 0 && c->n_bom < sizeof mark) put_mark(c, bytes.ptr[at]);
        else if (n == 0) put_byte(c, bytes.ptr[at]);
        at += n > 0 ? n : 1;
    }
    return c->status;
}

enum weir_status csv_end(struct csv *c)
{
    if (c->n_bom > 0 && c->n_bom < sizeof mark && c->status == WEIR_OK)
        fail(c, WEIR_BAD_FIELD, 1, "the file ends inside its byte order mark");
    bool is_kept = c->delimiter == 0 || c->is_free;
    if (c->status == WEIR_OK && is_kept && c->text.len > 0) replay(c);
    if (c->status == WEIR_OK && c->state == QUOTED)
        fail(c, WEIR_BAD_FIELD, c->quote_line, "a quote that is never closed");
    bool has_row = c->text.len > 0 || c->n_fields > 0 || c->state == CLOSED;
    if (c->status == WEIR_OK && has_row) end_row(c);
    return c->status;
}
