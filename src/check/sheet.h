/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fact sheet: all numbers that an answer may use, each with where it comes from.
 *
 * 1. sheet_init() with an arena that lives as long as the sheet.
 * 2. sheet_add_finding(), sheet_add_answer(), sheet_add_range() and sheet_add() as results come.
 *    What was rejected is left out; what is conditional is tagged.
 * 3. sheet_ledger() for verify_text(), sheet_put() for the turn's result and its store.
 * 4. sheet_read() makes a sheet of that JSON again: what is put then is the same bytes.
 *
 * Entries come out ordered by finding ("ds-002" before "ds-010"), inside one as they were added,
 * whatever the order in which agents finished. A claim is there once.
 * One thread at a time. Texts are copied into the arena.
 */
#pragma once

#include <weir/buf.h>

#include "check/gates.h"
#include "check/verify.h"
#include "data/plan.h"

enum {
    SHEET_ENTRIES = 2000,        /* in one sheet */
    SHEET_ROWS = 100,            /* entries made of the rows of one answer; the rest is left out */
    SHEET_ARENA_BYTES = 8 << 20, /* enough for a full sheet */
};

#define SHEET_EXPERT "domain_expert"
#define SHEET_DATA   "data_science"

struct sheet {
    struct arena *arena;
    struct ledger ledger; /* in the order in which entries were added, until they are put */
    size_t cap;
};

void sheet_init(struct sheet *s, struct arena *arena);

/*
 * One entry. `claim` is needed and has the form "ds-001.avg"; a value is finite, or NAN when
 * there is none (a date then is the window). A rejected entry is left out without a word.
 * WEIR_INVALID: no claim, a value that is infinite, a text that is too long. WEIR_EXISTS: the
 * claim is there with another value. WEIR_LIMIT: the sheet is full. WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status sheet_add(struct sheet *s, const struct ledger_entry *e);

/* What all entries of one finding share. */
struct sheet_origin {
    const char *id;            /* "ds-001" */
    const char *source;        /* SHEET_DATA, "investigator" */
    const char *window;        /* "2025-03-01 .. 2025-03-31"; of two windows, the earlier one */
    const char *window_b;      /* of two windows, the later one; else NULL */
    enum verdict_name verdict; /* of gates and critic together */
};

/*
 * The numbers of a finding, by its kind:
 *   mean      avg, lo, hi
 *   trend     change, lo, hi, per_week
 *   windows   diff, lo, hi, before, after, percent
 *   weekdays  diff, lo, hi, weekend, weekday
 *   pair      r, lo, hi; lag, when it is not 0
 *   anomaly   value, typical, diff, z
 * lo and hi are the ends of the 95 % interval. What is not defined is left out.
 */
WEIR_MUST_CHECK enum weir_status sheet_add_finding(struct sheet *s,
                                                   const struct sheet_origin *origin,
                                                   const struct finding *f,
                                                   const struct verdict *v);

/*
 * The answer of a plan: its number as "avg", "count", "max" and so on, its date, its rows.
 * origin->window may be NULL: the answer knows its own.
 */
WEIR_MUST_CHECK enum weir_status sheet_add_answer(struct sheet *s,
                                                  const struct sheet_origin *origin,
                                                  const struct plan *plan,
                                                  const struct plan_answer *answer);

/* Limits out of the facts table: "<id>.lower" and "<id>.upper"; NAN: none on that side. */
struct sheet_range {
    const char *id;     /* "dx-001" */
    const char *metric; /* of the metric or analyte: "fasting_glucose" */
    const char *unit;
    double lower, upper;
};
WEIR_MUST_CHECK enum weir_status sheet_add_range(struct sheet *s, const struct sheet_range *range);

/* The entries, ordered, for verify_text(); borrowed from the sheet until the next one is added. */
struct ledger sheet_ledger(struct sheet *s);

/* A JSON list: [{"claim","value","unit","source","n","window","metric"?,"verdict"?}]. */
void sheet_put(struct weir_buf *out, struct sheet *s);

/* Into an empty sheet. As ledger_read(), and WEIR_EXISTS, WEIR_LIMIT as sheet_add(). */
WEIR_MUST_CHECK enum weir_status sheet_read(struct sheet *s, const struct weir_json *json,
                                            char error[LEDGER_ERROR_BYTES]);
