/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as agents bring them: a claim, the plan and the answer behind it, the very days that the
 * gates look at, and every number that an answer may use. docs/turns.md has the JSON.
 *
 *   finding.c           JSON out and in again
 *   finding_make.c      a plan with its answer to claims: which kind, on which days
 *   finding_days.c      days of a plan as rows, changes of device
 *   finding_entries.c   the numbers
 *   finding_words.c     what is claimed, and numbers for people
 *   finding_say.c       the numbers of a claim in a sentence
 *
 * Private to src/agent. All memory is the arena's.
 */
#pragma once

#include <weir/buf.h>

#include "agent/agent.h"
#include "check/gates.h"
#include "data/plan.h"

enum {
    CLAIM_ID_BYTES = 16,
    CLAIM_ENTRIES = 80, /* of one finding */
    CLAIM_ROWS = 60,    /* of an answer that become entries */
    CLAIM_ANOMALIES = 3,
    CLAIMS_OF_PLAN = 5, /* most claims of one plan */
    CLAIM_TEXT_BYTES = 240,
};

/* The kinds of the gates, in their order, and one that claims nothing about other days. */
enum claim_kind {
    CLAIM_LEVEL = FINDING_LEVEL,
    CLAIM_TREND = FINDING_TREND,
    CLAIM_WINDOWS = FINDING_WINDOWS,
    CLAIM_WEEKDAYS = FINDING_WEEKDAYS,
    CLAIM_PAIR = FINDING_PAIR,
    CLAIM_ANOMALY = FINDING_ANOMALY,
    CLAIM_VALUE,
    N_CLAIM_KINDS,
};
const char *claim_kind_name(enum claim_kind k);

struct entry {
    const char *name; /* "avg"; the claim is "ds-001.avg" */
    double value;
    const char *unit; /* "" where there is none */
    size_t n;
    int32_t from, to; /* DAY_NONE: no window */
    int32_t date;     /* is the value, which then is no number; else DAY_NONE */
};

/* Days in order; NAN: no value. See struct finding. */
struct claim_days {
    int32_t from;
    const double *a, *b;
    size_t n_a, n_b;
    uint32_t weekend;
    size_t device_change, device_change_b, index;
    bool is_one_device;
    double shift;    /* was added to times of day, so that they stay away from midnight */
    bool is_flipped; /* the answer's difference is the other way round */
};

struct claim {
    char id[CLAIM_ID_BYTES];
    char beside[CLAIM_ID_BYTES]; /* the value that this claim is about; "": none */
    enum claim_kind kind;
    const char *text;
    const struct plan *plan;
    const struct plan_answer *answer;
    const char *metric, *metric_y; /* names; NULL */
    int lag;
    int32_t from, to;
    bool is_causal;    /* whether the one makes the other is what was asked */
    size_t n_tests;    /* that were tried to find it; 0: it was asked for */
    bool is_confirmed; /* on days that were not searched */
    struct claim_days days;
    struct entry entries[CLAIM_ENTRIES];
    size_t n_entries;
};

/* ---- finding.c ---- */

/* One FINDING. `agent` is the source of its entries. */
void claim_put(struct weir_buf *out, const struct claim *claim, const char *agent);

/* What the gates need of a FINDING; of a value only the metric counts. WEIR_INVALID, WEIR_NOMEM. */
struct claim_read {
    struct weir_slice id, claim;
    enum claim_kind kind;
    struct finding finding;
    double shift;
    bool is_flipped;
    size_t n;
    bool is_causal, is_confirmed;
    size_t n_tests;
    const struct weir_json *entries, *answer;
};
WEIR_MUST_CHECK enum weir_status claim_read(struct claim_read *out, const struct weir_json *json,
                                            struct dataset *d, struct arena *arena);

/* "2025-01-01 .. 2025-03-31" */
enum { WINDOW_TEXT_BYTES = 2 * DAY_TEXT_BYTES + 4 };
void window_format(char out[WINDOW_TEXT_BYTES], int32_t from, int32_t to);

/* What of workouts the gates know as a metric; NULL when it is none: "run_pace" is not there. */
const struct metric *claim_metric(struct dataset *d, struct weir_slice name);
const struct metric *claim_subject(const struct plan *plan);

/* ---- finding_make.c ---- */

/* How a question wants its plan to be claimed. */
struct claim_wish {
    const char *text;    /* what was asked, in words; NULL: words are made */
    bool wants_number;   /* the number itself is asked for, whatever it means */
    bool needs_no_value; /* a comparison's two means are known from elsewhere */
    bool is_causal;
    unsigned next_id;    /* the first claim's; counts on */
    const char *id_head; /* "ds" */
};

struct claims {
    struct claim *list[CLAIMS_OF_PLAN];
    size_t n;
};

/* Claims of an answer that is one. WEIR_NOMEM, WEIR_LIMIT, what the dataset's reading gives. */
WEIR_MUST_CHECK enum weir_status claims_make(struct claims *out, const struct plan *plan,
                                             const struct plan_answer *answer, struct agent_case *c,
                                             struct claim_wish *wish);

/* ---- finding_days.c ---- */

/* The values of a plan's subject in a window, one for each day of from..to. */
struct day_rows {
    int32_t from, to;
    double *x; /* NAN: none */
    uint16_t *sources;
    size_t n;       /* to - from + 1 */
    size_t n_known; /* with a value */
    double shift;
};

/*
 * The days of a window that meet the conditions and are whole; times of day are counted from half a
 * day before their mean. An open end is that of the metric's own days. WEIR_NOT_FOUND: none at all.
 */
struct rows_wish {
    const struct metric *metric; /* NULL: the plan's subject is of workouts */
    const struct plan *plan;
    const struct plan_window *window;
    const struct plan_where *where; /* NULL: no conditions */
    int32_t from, to;               /* as the answer has resolved them */
};
WEIR_MUST_CHECK enum weir_status rows_make(struct day_rows *out, const struct rows_wish *wish,
                                           struct dataset *d, struct arena *arena);

/* Without the days that have no value, in their order. */
void rows_close(struct day_rows *r);

/* The first day from which on another device measured, as a place; 0: none is known. */
size_t rows_device_change(const struct day_rows *r);
uint16_t rows_device(const struct day_rows *r); /* of most days; 0: not known */

/* ---- finding_entries.c ---- */

/* All numbers of the plan's answer. */
WEIR_MUST_CHECK enum weir_status entries_make(struct claim *claim, struct dataset *d,
                                              struct arena *arena);
/* The ends of a trend's line, which goes through the middle of its days, and what is between. */
void entries_add_line(struct claim *claim, double slope_of_day);
/* Of one day that stands out: its value and what is usual, instead of all others. */
WEIR_MUST_CHECK enum weir_status entries_of_day(struct claim *claim, const struct plan_row *row,
                                                struct arena *arena);
/* Leaves these out; names end with NULL. */
void entries_drop(struct claim *claim, const char *const *names);
const struct entry *entry_find(const struct claim *claim, const char *name); /* NULL */

/* ---- finding_words.c ---- */

/* "8,432", "61.8", "0.042": as many digits as a reader wants; a time of day as one. */
void amount_put(struct weir_buf *out, double value, const char *unit);
/* "8,432", "0.5": at most so many decimals, and none that is a zero at the end. */
void digits_put(struct weir_buf *out, double x, int decimals);
void clock_put(struct weir_buf *out, double minutes); /* "23:16", of minutes after any midnight */

/* "from 2025-01-01 to 2025-03-31", "on 2025-03-04" */
void span_put(struct weir_buf *out, int32_t from, int32_t to);

/* "resting heart rate" */
void subject_put(struct weir_buf *out, const struct plan *plan);

/* At most so many bytes, cut behind a word. */
struct weir_slice text_cut(struct weir_slice text, size_t most);

/* What is claimed, one sentence without a full stop. NULL: no memory. */
const char *claim_words(const struct claim *claim, struct arena *arena);

/* ---- investigate.c ---- */

/* A search for whoever asks for one, and the RESULT of it. */
struct search_wish {
    const char *agent;
    const char *id_head;        /* "inv" */
    unsigned next_id;           /* the first finding's */
    const struct metric *focus; /* only what goes with it; NULL: everything */
    bool is_causal;             /* whether the one makes the other is what was asked */
};
WEIR_MUST_CHECK enum weir_status search_work(struct agent_case *c, const struct search_wish *wish,
                                             struct weir_slice question, struct weir_buf *out);

/* ---- finding_say.c ---- */

/* The claim's numbers in a sentence; `is_brief`: without what it is of, and which days. */
void claim_say(struct weir_buf *out, const struct claim *claim, bool is_brief);
