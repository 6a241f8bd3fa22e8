/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numeric verification: each number of a text has to have a home, one entry of a ledger.
 *
 * 1. ledger_read() makes entries of JSON: [{"claim":"ds-001.avg","value":61.8,"unit":"bpm",...}].
 * 2. verify_text() finds the numbers, in digits and in words, and gives each its home, the reason
 *    why it needs none, or nothing: then nobody knows where it comes from.
 *
 * A number is at home where it is within 2 % of the entry or 0.05 of it, in the units the text
 * uses. An entry below 1 has to agree in the decimals shown, too. The sign has to agree unless
 * the words carry it ("fell by 3"). Entries that were rejected are no homes.
 *
 * Pure over bytes; any thread. All memory is the arena's, and results point into the text, the
 * ledger and the arena.
 */
#pragma once

#include <weir/json.h>

#include "base/arena.h"

enum {
    VERIFY_TEXT_BYTES = 256 << 10,  /* of the text, and of each text that is known */
    LEDGER_ENTRIES = 10000,         /* in one ledger */
    LEDGER_NAME_BYTES = 256,        /* of a claim, a unit or a source */
    LEDGER_WINDOW_BYTES = 1000,     /* of a window, written as one text */
    LEDGER_ERROR_BYTES = 160,       /* of what is said about a wrong ledger */
    VERIFY_ARENA_BYTES = 256 << 20, /* enough for a text of any allowed size */
};

struct ledger_entry {
    struct weir_slice claim, unit, source;
    struct weir_slice metric; /* or analyte: "ldl"; lets mg/dL and mmol/L be turned */
    struct weir_slice window; /* as text: "2025-03-01 .. 2025-03-31", "last 30 days" */
    struct weir_slice date;   /* "2025-03-14": its value, or the day that it is of */
    double value;             /* NAN: none, so only n, date and window count */
    double n;                 /* NAN: not said */
    bool is_rejected, is_conditional;
};

struct ledger {
    struct ledger_entry *entries;
    size_t n;
};

/*
 * Reads a list of entries, or an object whose member "ledger", "entries" or "facts" is one. A
 * value may be a number, null, a date ("2025-03-14") or a time ("23:16"). WEIR_INVALID with the
 * entry and the member in `error`, WEIR_LIMIT, WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status ledger_read(struct ledger *out, const struct weir_json *json,
                                             struct arena *arena, char error[LEDGER_ERROR_BYTES]);

enum verify_outcome {
    VERIFY_HOME,   /* `home` says so */
    VERIFY_EXEMPT, /* needs none; `why` */
    VERIFY_LACK,   /* no home */
};

struct verified {
    size_t offset, len;  /* in the text, bytes */
    size_t quoted_len;   /* with its unit: "47 bpm" */
    size_t line, column; /* from 1; a column is a character */
    enum verify_outcome outcome;
    double value; /* as written; of a time minutes after midnight, of a date NAN */
    const struct ledger_entry *home;
    const char *why; /* "value" or "n" of the home; "in the question", "ordinal" …; "no home" */
};

struct verify_input {
    struct weir_slice text;
    const struct ledger *ledger;
    const struct weir_slice *known; /* texts whose numbers need no home: question, windows */
    size_t n_known;
};

struct verify_result {
    struct verified *numbers; /* in the text's order */
    size_t n, n_lacking;
};

/* WEIR_LIMIT when a text is too long or the arena too small; WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status verify_text(struct verify_result *out,
                                             const struct verify_input *input, struct arena *arena);
