/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a text: tokens first, then numbers with their signs, units and reasons why they
 * need no home. What a ledger has to do with it is verify.c's.
 */
#pragma once

#include "check/verify.h"
#include "data/day.h"

enum token_kind {
    TOKEN_WORD,    /* letters; with digits inside it is an identifier */
    TOKEN_NUMBER,  /* digits: 62, 10,500, .5, 1e3, 10k */
    TOKEN_ORDINAL, /* 1st, #1 */
    TOKEN_CLOCK,   /* 23:16, 1:05:30 */
    TOKEN_DATE,    /* 2025-03-14, 14.3.2025, 3/14/25, 2025-03 */
    TOKEN_SIGN,    /* any other character */
    TOKEN_LINE,    /* the end of a line */
};

struct token {
    enum token_kind kind;
    uint32_t start, end;  /* bytes */
    bool is_glued;        /* nothing stands between it and the token before */
    bool is_identifier;   /* WORD: has digits */
    bool is_bare;         /* NUMBER: digits alone, no point, separator or magnitude */
    uint8_t decimals;     /* NUMBER: digits behind the point */
    uint32_t symbol;      /* SIGN: the character */
    double value;         /* NUMBER, ORDINAL; CLOCK: hours · 60 + minutes */
    double fraction;      /* SIGN: of ½; CLOCK: its seconds as minutes */
    int year, month, day; /* DATE; 0: not said */
    bool is_either_way;   /* DATE: day and month may have changed places */
};

struct tokens {
    struct weir_slice text;
    struct token *t;
    size_t n;
};

enum unit_class {
    UNIT_NONE,    /* no unit that we know */
    UNIT_KNOWN,   /* of the catalogue's table; `unit` is its spelling */
    UNIT_PERCENT, /* %, percent, percentage points */
    UNIT_RATIO,   /* times, x, -fold, twice */
    UNIT_COUNT,   /* nights, workouts, readings */
    UNIT_LONG,    /* weeks, months, years; `long_days` days each */
};

enum number_kind { NUMBER_AMOUNT, NUMBER_CLOCK, NUMBER_DATE };
enum number_sign { SIGN_NONE, SIGN_MINUS, SIGN_PLUS, SIGN_EITHER };

enum { UNIT_BYTES = 32 };

struct number {
    uint32_t start, end;  /* bytes */
    uint32_t unit_end;    /* of its unit; 0: as end */
    uint32_t first, last; /* tokens, without unit; the last included */
    enum number_kind kind;
    double value; /* with its sign; CLOCK: minutes */
    double slack; /* half of the last digit shown */
    enum number_sign sign;
    enum unit_class unit_class;
    char unit[UNIT_BYTES];
    double long_days;
    double rate_days;              /* "a week": 7; 0: not said */
    double scale;                  /* "4.2 × 10^9": also as 4.2e9; else 1 */
    bool is_joined;                /* "10 500": the next number may go on with this one */
    double change;                 /* "doubled": also as +100 percent, NAN: no */
    bool is_carried;               /* the words say that it is less than nothing */
    bool is_p_bound;               /* p < 0.05 */
    bool is_p_floor;               /* p > 0.05 */
    bool is_points;                /* PERCENT: percentage points */
    int direction;                 /* of the words around: -1 lower, +1 higher */
    bool is_fall;                  /* "dropped by", "a loss of" */
    bool is_cell;                  /* of a table */
    bool is_decade;                /* "the low 60s" */
    double decade_from, decade_to; /* what part of it: "mid" is from 3 to before 8 */
    bool is_share;                 /* with the next one: 3 out of 4 */
    bool is_range;                 /* with the next one: 60 to 62, which has the unit */
    bool has_minutes;              /* CLOCK: "11:16 pm", not "11 pm" */
    bool is_twelve;                /* CLOCK: may be in either half of the day */
    double duration[2];   /* CLOCK: as hours and minutes, as minutes and seconds; minutes */
    int year, month, day; /* DATE */
    bool is_either_way;   /* DATE: 11/05/2025 may be in May or in November */
    const char *exempt;   /* why it needs no home; NULL: it does */
};

struct numbers {
    struct number *list;
    size_t n;
};

/* ---- numbers_lex.c ---- */
WEIR_MUST_CHECK enum weir_status tokens_cut(struct tokens *out, struct weir_slice text,
                                            struct arena *arena);

/* ---- numbers_words.c: all without regard to case ---- */
bool word_in(struct weir_slice word, const char *list); /* "a|b|c" */
bool word_is(struct weir_slice a, const char *b);
bool word_number(struct weir_slice word, double *value);    /* "seven", "twenty" */
bool word_magnitude(struct weir_slice word, double *value); /* "hundred", "million" */
bool word_fraction(struct weir_slice word, double *value);  /* "half", "thirds" */
unsigned word_month(struct weir_slice word);                /* 1..12, 0 */
enum unit_class word_unit(struct weir_slice word, double *long_days);
bool word_is_label(struct weir_slice word);    /* type 2, zone 2, Step 1 */
bool word_is_rhetoric(struct weir_slice word); /* three things */
int word_direction(struct weir_slice word);    /* -1 lower, +1 higher, 0 neither */
double word_rate(struct weir_slice word);      /* days of day, week, month, year; 0 */
bool word_is_fall(struct weir_slice word);     /* fell, lost, a drop */

/* ---- numbers_unit.c ---- */

/* The unit that stands behind token i - 1; how many tokens it takes. */
size_t unit_read(const struct tokens *ts, size_t i, struct number *n);

/* "/km", "per mile", "a kilometre" at i: the number is a pace, of seconds ('s') or minutes. */
bool pace_read(const struct tokens *ts, size_t i, struct number *n, char of);

/* ---- numbers_time.c: how many tokens a date or a time takes that begins at i, or 0 ---- */
size_t date_read(const struct tokens *ts, size_t i, struct number *n);
size_t clock_read(const struct tokens *ts, size_t i, struct number *n);

/* ---- numbers_context.c ---- */

/* What stands around a number: why it needs no home, which way the words point. */
void context_read(const struct tokens *ts, struct numbers *all);

/* ---- numbers.c ---- */
WEIR_MUST_CHECK enum weir_status numbers_find(struct tokens *ts, struct numbers *out,
                                              struct weir_slice text, struct arena *arena);

/* Tokens by position; beyond the ends there is a line end. */
const struct token *token_at(const struct tokens *ts, size_t i);
struct weir_slice token_text(const struct tokens *ts, size_t i); /* empty: no word */
bool token_is_sign(const struct tokens *ts, size_t i, uint32_t symbol);
bool token_is_dash(const struct tokens *ts, size_t i);
