/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fact sheet. Entries are kept in their order from the first on: a new one goes behind the
 * last one of its finding. What a finding or an answer gives is in sheet_add.c.
 */
#include "check/sheet.h"

#include <math.h>
#include <string.h>

#include <weir/json.h>

#include "base/slice.h"

enum { FIRST_ENTRIES = 16 };

void sheet_init(struct sheet *s, struct arena *arena)
{
    *s = (struct sheet){.arena = arena};
}

/* ---- order ---- */

/* "ds-001" of "ds-001.avg". */
static struct weir_slice id_of(struct weir_slice claim)
{
    const char *point = claim.len > 0 ? memchr(claim.ptr, '.', claim.len) : NULL;
    return (struct weir_slice){claim.ptr, point ? (size_t)(point - claim.ptr) : claim.len};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A run of digits at *i as its bytes without leading zeros. */
static struct weir_slice digits_at(struct weir_slice s, size_t *i)
{
    while (*i < s.len && s.ptr[*i] == '0') (*i)++;
    size_t start = *i;
    while (*i < s.len && is_digit(s.ptr[*i])) (*i)++;
    return (struct weir_slice){s.ptr + start, *i - start};
}

static int compare_bytes(struct weir_slice a, struct weir_slice b)
{
    if (a.len != b.len) return a.len < b.len ? -1 : 1;
    return a.len > 0 ? memcmp(a.ptr, b.ptr, a.len) : 0;
}

/* Byte by byte, numbers by their value. */
static int compare_ids(struct weir_slice a, struct weir_slice b)
{
    size_t i = 0, j = 0;
    while (i < a.len && j < b.len) {
        int order = (unsigned char)a.ptr[i] - (unsigned char)b.ptr[j];
        if (is_digit(a.ptr[i]) && is_digit(b.ptr[j]))
            order = compare_bytes(digits_at(a, &i), digits_at(b, &j));
        else i++, j++;
        if (order != 0) return order;
    }
    return (i < a.len) - (j < b.len);
}

/* ---- adding ---- */

static bool copy(struct sheet *s, struct weir_slice from, struct weir_slice *to)
{
    char *bytes = arena_alloc(s->arena, from.len + 1);
    if (!bytes) return false;
    if (from.len > 0) memcpy(bytes, from.ptr, from.len);
    bytes[from.len] = '\0';
    *to = (struct weir_slice){bytes, from.len};
    return true;
}

static bool is_fit(const struct ledger_entry *e)
{
    return e->claim.len > 0 && e->claim.len <= LEDGER_NAME_BYTES &&
           e->unit.len <= LEDGER_NAME_BYTES && e->source.len <= LEDGER_NAME_BYTES &&
           e->metric.len <= LEDGER_NAME_BYTES && e->date.len <= LEDGER_NAME_BYTES &&
           e->window.len < LEDGER_WINDOW_BYTES - 8 && !isinf(e->value) && !isinf(e->n);
}

static enum weir_status grow(struct sheet *s)
{
    struct ledger *l = &s->ledger;
    if (l->n == SHEET_ENTRIES) return WEIR_LIMIT;
    if (l->n < s->cap) return WEIR_OK;
    size_t cap = s->cap > 0 ? 2 * s->cap : FIRST_ENTRIES;
    struct ledger_entry *more = arena_alloc(s->arena, cap * sizeof *more);
    if (!more) return s->arena->status;
    if (l->n > 0) memcpy(more, l->entries, l->n * sizeof *more);
    l->entries = more;
    s->cap = cap;
    return WEIR_OK;
}

static bool is_same(const struct ledger_entry *a, const struct ledger_entry *b)
{
    bool is_same_value = a->value == b->value || (isnan(a->value) && isnan(b->value));
    return is_same_value && slice_eq(a->unit, b->unit) && slice_eq(a->date, b->date);
}

static const struct ledger_entry *find(const struct sheet *s, struct weir_slice claim)
{
    for (size_t i = 0; i < s->ledger.n; i++)
        if (slice_eq(s->ledger.entries[i].claim, claim)) return &s->ledger.entries[i];
    return NULL;
}

enum weir_status sheet_add(struct sheet *s, const struct ledger_entry *e)
{
    struct ledger_entry new = *e;
    if (e->is_rejected) return WEIR_OK;
    if (!is_fit(e)) return WEIR_INVALID;
    const struct ledger_entry *old = find(s, e->claim);
    if (old) return is_same(old, e) ? WEIR_OK : WEIR_EXISTS;
    enum weir_status st = grow(s);
    if (st != WEIR_OK) return st;
    bool is_copied = copy(s, e->claim, &new.claim) && copy(s, e->unit, &new.unit) &&
                     copy(s, e->source, &new.source) && copy(s, e->metric, &new.metric) &&
                     copy(s, e->window, &new.window) && copy(s, e->date, &new.date);
    if (!is_copied) return s->arena->status;
    struct ledger_entry *list = s->ledger.entries;
    size_t at = s->ledger.n++;
    struct weir_slice id = id_of(new.claim);
    for (; at > 0 && compare_ids(id_of(list[at - 1].claim), id) > 0; at--) list[at] = list[at - 1];
    list[at] = new;
    return WEIR_OK;
}

struct ledger sheet_ledger(struct sheet *s)
{
    return s->ledger;
}

/* ---- JSON ---- */

static void put_text(struct weir_buf *out, const char *key, struct weir_slice text)
{
    weir_json_put_key(out, key);
    if (text.len > 0) weir_json_put_string(out, text);
    else weir_json_put_null(out);
}

static void put_entry(struct weir_buf *out, const struct ledger_entry *e)
{
    weir_json_put_begin_object(out);
    put_text(out, "claim", e->claim);
    if (e->date.len > 0) {
        put_text(out, "value", e->date);
    } else {
        weir_json_put_key(out, "value");
        weir_json_put_double(out, e->value);
    }
    put_text(out, "unit", e->unit);
    put_text(out, "source", e->source);
    weir_json_put_key(out, "n");
    weir_json_put_double(out, e->n);
    put_text(out, "window", e->window);
    if (e->metric.len > 0) put_text(out, "metric", e->metric);
    if (e->is_conditional) put_text(out, "verdict", SLICE("conditional"));
    weir_json_put_end_object(out);
}

void sheet_put(struct weir_buf *out, struct sheet *s)
{
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < s->ledger.n; i++) put_entry(out, &s->ledger.entries[i]);
    weir_json_put_end_array(out);
}

enum weir_status sheet_read(struct sheet *s, const struct weir_json *json,
                            char error[LEDGER_ERROR_BYTES])
{
    struct ledger l;
    enum weir_status st = ledger_read(&l, json, s->arena, error);
    for (size_t i = 0; i < l.n && st == WEIR_OK; i++) st = sheet_add(s, &l.entries[i]);
    return st;
}
