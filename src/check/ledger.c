/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger out of JSON. What an entry has beyond what is read here is its own business. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/numbers_impl.h"

struct reading {
    struct arena *arena;
    char *error;
    size_t index; /* of the entry */
};

static enum weir_status fail(struct reading *r, const char *member, const char *text)
{
    snprintf(r->error, LEDGER_ERROR_BYTES, "entry %zu: %s %s", r->index, member, text);
    return WEIR_INVALID;
}

static bool copy(struct reading *r, struct weir_slice from, struct weir_slice *to)
{
    char *bytes = arena_alloc(r->arena, from.len + 1);
    if (!bytes) return false;
    if (from.len > 0) memcpy(bytes, from.ptr, from.len);
    bytes[from.len] = '\0';
    *to = (struct weir_slice){bytes, from.len};
    return true;
}

static enum weir_status read_text(struct reading *r, const struct weir_json *entry,
                                  const char *member, struct weir_slice *out)
{
    const struct weir_json *v = weir_json_get_str(entry, member);
    enum weir_json_type type = weir_json_type_of(v);
    if (type != WEIR_JSON_NULL && type != WEIR_JSON_STRING)
        return fail(r, member, "has to be a text");
    struct weir_slice text = weir_json_text(v);
    if (text.len > LEDGER_NAME_BYTES) return fail(r, member, "is too long");
    return copy(r, text, out) ? WEIR_OK : r->arena->status;
}

/* A date or a time written as text; a time becomes minutes after midnight. */
static enum weir_status read_moment(struct reading *r, struct weir_slice text,
                                    struct ledger_entry *e)
{
    struct tokens tokens;
    struct numbers numbers;
    if (text.len > LEDGER_NAME_BYTES) return fail(r, "value", "is too long");
    enum weir_status st = numbers_find(&tokens, &numbers, text, r->arena);
    if (st != WEIR_OK) return st;
    if (numbers.n != 1 || numbers.list[0].kind == NUMBER_AMOUNT)
        return fail(r, "value", "has to be a number, a date or a time");
    if (numbers.list[0].kind == NUMBER_DATE)
        return copy(r, text, &e->date) ? WEIR_OK : r->arena->status;
    e->value = numbers.list[0].value;
    e->unit = weir_slice_of("clock");
    return WEIR_OK;
}

static enum weir_status read_value(struct reading *r, const struct weir_json *entry,
                                   struct ledger_entry *e)
{
    const struct weir_json *v = weir_json_get_str(entry, "value");
    const struct weir_json *n = weir_json_get_str(entry, "n");
    e->value = e->n = NAN;
    if (weir_json_type_of(n) != WEIR_JSON_NULL && !weir_json_double(n, &e->n))
        return fail(r, "n", "has to be a number");
    if (!v) return fail(r, "value", "is missing");
    if (weir_json_type_of(v) == WEIR_JSON_NULL) return WEIR_OK;
    if (weir_json_type_of(v) == WEIR_JSON_STRING) return read_moment(r, weir_json_text(v), e);
    if (!weir_json_double(v, &e->value)) return fail(r, "value", "has to be a number");
    return WEIR_OK;
}

/* A text, or texts inside a list or an object, joined. Deeper ones are not looked at. */
static enum weir_status read_window(struct reading *r, const struct weir_json *entry,
                                    struct ledger_entry *e)
{
    const struct weir_json *v = weir_json_get_str(entry, "window");
    char joined[LEDGER_WINDOW_BYTES];
    size_t len = 0;
    bool is_one = weir_json_type_of(v) == WEIR_JSON_STRING;
    for (const struct weir_json *m = is_one ? v : weir_json_first(v); m;
         m = is_one ? NULL : weir_json_next(m)) {
        struct weir_slice text = weir_json_text(m);
        if (text.len == 0) continue;
        if (len + text.len + 4 > sizeof joined) return fail(r, "window", "is too long");
        if (len > 0) memcpy(joined + len, " .. ", 4), len += 4;
        memcpy(joined + len, text.ptr, text.len);
        len += text.len;
    }
    return copy(r, (struct weir_slice){joined, len}, &e->window) ? WEIR_OK : r->arena->status;
}

/* What it is of; either name will do. */
static enum weir_status read_metric(struct reading *r, const struct weir_json *entry,
                                    struct ledger_entry *e)
{
    enum weir_status st = read_text(r, entry, "metric", &e->metric);
    if (st != WEIR_OK || e->metric.len > 0) return st;
    return read_text(r, entry, "analyte", &e->metric);
}

static enum weir_status read_entry(struct reading *r, const struct weir_json *json,
                                   struct ledger_entry *e)
{
    if (weir_json_type_of(json) != WEIR_JSON_OBJECT) return fail(r, "it", "has to be an object");
    struct weir_slice verdict;
    enum weir_status st = read_text(r, json, "claim", &e->claim);
    if (st == WEIR_OK && e->claim.len == 0) return fail(r, "claim", "is missing");
    if (st == WEIR_OK) st = read_text(r, json, "unit", &e->unit);
    if (st == WEIR_OK) st = read_text(r, json, "source", &e->source);
    if (st == WEIR_OK) st = read_text(r, json, "verdict", &verdict);
    if (st == WEIR_OK) st = read_value(r, json, e);
    if (st == WEIR_OK) st = read_window(r, json, e);
    if (st == WEIR_OK) st = read_metric(r, json, e);
    if (st == WEIR_OK && e->date.len == 0) st = read_text(r, json, "date", &e->date);
    if (st != WEIR_OK) return st;
    e->is_rejected = word_in(verdict, "rejected|reject");
    e->is_conditional = word_in(verdict, "conditional");
    return WEIR_OK;
}

static const struct weir_json *find_list(const struct weir_json *json)
{
    static const char *const names[] = {"ledger", "entries", "facts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct weir_json *v = weir_json_get_str(json, names[i]);
        if (v) return v;
    }
    return json;
}

enum weir_status ledger_read(struct ledger *out, const struct weir_json *json, struct arena *arena,
                             char error[LEDGER_ERROR_BYTES])
{
    struct reading r = {.arena = arena, .error = error};
    const struct weir_json *list = find_list(json);
    size_t n = weir_json_count(list);
    *out = (struct ledger){0};
    error[0] = '\0';
    if (weir_json_type_of(list) != WEIR_JSON_ARRAY || n > LEDGER_ENTRIES) {
        snprintf(error, LEDGER_ERROR_BYTES, "a ledger is a list of at most %d entries",
                 LEDGER_ENTRIES);
        return WEIR_INVALID;
    }
    out->entries = arena_alloc(arena, (n + 1) * sizeof *out->entries);
    if (!out->entries) return arena->status;
    memset(out->entries, 0, (n + 1) * sizeof *out->entries);
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        r.index = out->n + 1;
        enum weir_status st = read_entry(&r, v, &out->entries[out->n]);
        if (st != WEIR_OK) return st;
        out->n++;
    }
    return WEIR_OK;
}
