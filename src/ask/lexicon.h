/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lexicon: what words and phrases may mean. It is drawn from the catalogue (metrics, kinds of
 * workouts, laboratory tests and their everyday names), from the table of grammar words
 * (lexicon.def) and from the names of a person's own metrics. A phrase may have several senses;
 * the grammar takes the one that fits.
 *
 * Built once per process at first use and constant from then on; any thread.
 */
#pragma once

#include "ask/words.h"

enum symbol {
    S_NONE, /* not known */
    S_FILLER,
    S_METRIC,   /* ptr: struct metric */
    S_ACTIVITY, /* ptr: struct activity */
    S_ANALYTE,  /* ptr: struct analyte */
    S_WORKOUT,  /* of any kind */
    S_FIELD,    /* arg: enum plan_field */
    S_UNIT,     /* ptr: its name */
    S_NUMBER,
    S_DATE,
    S_CLOCK,
    S_MARK, /* arg: the character */

    S_HOW_MANY,
    S_HOW_MUCH,
    S_HOW_LONG,
    S_HOW_FAR,
    S_HOW_OFTEN,
    S_WHAT,
    S_WHICH,
    S_WHEN,
    S_WHAT_TIME,
    S_TIMES,
    S_SESSION,
    S_READING,
    S_RESULT,
    S_IS, /* a sentence that begins so asks for yes or no */

    S_STAT,      /* arg: enum plan_stat */
    S_WEAK_MEAN, /* "usually" */
    S_MOST,      /* arg: enum super_kind */
    S_QUANTILE,
    S_PER,
    S_EACH,
    S_SPREAD, /* "how variable" */

    S_CMP,     /* arg: enum plan_compare */
    S_OR_MORE, /* arg: CMP_GE or CMP_LE */
    S_SHARE,   /* "percentage of" */
    S_PERCENT, /* "percent" */
    S_CHANGE,  /* arg: 1 up, -1 down, 0 */
    S_COMPARE, /* "versus" */
    S_DIFFER,  /* "difference" */
    S_MINUS,
    S_OTHER,    /* "other", "non" */
    S_REST_DAY, /* "rest days" */
    S_ON_OFF,   /* "on minus off" */
    S_THAN,
    S_COMPARATIVE, /* "more", "higher" */
    S_ONLY,        /* "only", "restricted to" */
    S_ADJECTIVE,   /* arg: 1 "high", -1 "short" */
    S_WHAT_VALUE,  /* "(half of the days) below what value" */
    S_WHILE,       /* "while (running)" */
    S_DAY_PART,    /* "in the evening"; arg 1: "at night" */
    S_RATIO,

    S_TREND,
    S_METHOD, /* arg: enum plan_method */
    S_CORRELATE,
    S_LAG_WORD, /* "lag", "later" */
    S_LATER,
    S_STREAK,
    S_ROLLING,
    S_LIST,
    S_RANK, /* arg: super_kind */
    S_ANOMALY,
    S_DISTRIBUTION,

    S_PERIOD,  /* arg: enum period */
    S_MONTH,   /* arg: 1… */
    S_DAYNAME, /* arg: 0 Monday …, plus DAYNAME_PLURAL */
    S_WEEKEND,
    S_WEEKDAY,
    S_DAY_OF_WEEK, /* "day of the week" */
    S_LAST,
    S_PREVIOUS,
    S_THIS,
    S_NEXT,
    S_FIRST,
    S_AGO,
    S_YESTERDAY,
    S_TODAY,
    S_ALL,     /* "overall" */
    S_SO_FAR,  /* "so far" */
    S_TO_DATE, /* "to date" */
    S_BEFORE_THAT,
    S_HALF,
    S_QUARTER, /* arg: 1…4 of "q1"; 0 for "quarter" */
    S_NEW_YEAR,
    S_SINCE,
    S_FROM,
    S_TO,
    S_BETWEEN,
    S_AND,
    S_OR,
    S_IN,
    S_ON,
    S_OF,
    S_BEFORE,
    S_AFTER,
    S_WITH,
    S_WITHOUT,
    S_NOT,
    S_IF,
    S_A, /* "a", "an" */
    S_THE,
    S_SELF,  /* "i", "my" */
    S_DO,    /* verbs that carry no meaning of their own: "did", "had", "was" */
    S_START, /* "start of", "beginning of" */
    S_END,
    S_WEEK_OF,
    S_MIDNIGHT,
    S_HALF_AN,
    S_REFUSE, /* arg: enum refusal_kind */
    S_NORMAL,
    S_EVER,
    S_CURRENT,
    S_BY,
    S_GOAL,
    S_TWICE,
    S_PER_WORD, /* arg: enum period */
};

enum period {
    PERIOD_DAY,
    PERIOD_NIGHT,
    PERIOD_MORNING,
    PERIOD_WEEK,
    PERIOD_FORTNIGHT,
    PERIOD_MONTH,
    PERIOD_QUARTER,
    PERIOD_YEAR,
    PERIOD_WEEKEND,
};

/* What kind of most: the last four are read with the metric ("best", "worst") or fix its field. */
enum super_kind {
    MOST_MAX,
    MOST_MIN,
    MOST_BEST,
    MOST_WORST,
    MOST_LONGEST,
    MOST_SHORTEST,
    MOST_FARTHEST,
    MOST_FASTEST,
    MOST_SLOWEST,
    MOST_LATEST, /* of clocks; elsewhere the newest */
    MOST_EARLIEST,
    MOST_HARDEST,
};

enum refusal_kind {
    REFUSE_WHY,
    REFUSE_ADVICE,
    REFUSE_FUTURE,
    REFUSE_OTHERS,
    REFUSE_VAGUE,
    REFUSE_NEGATION,
    REFUSE_OFF_TOPIC,
};

enum { DAYNAME_PLURAL = 8, LEXICON_SENSES = 8, LEXICON_PHRASE = 8 };

struct sense {
    enum symbol symbol;
    int arg;
    const void *ptr;
};

struct senses {
    size_t n;
    struct sense list[LEXICON_SENSES];
};

/* The senses of a phrase of words joined by blanks; false when there is none. */
bool lexicon_find(struct senses *out, struct weir_slice phrase);

/* The same by the stems of its words: "walks" is "walk". */
bool lexicon_find_stem(struct senses *out, struct weir_slice phrase);

/*
 * The nearest word of the catalogue's names to one that is in no list: one slip (a letter more,
 * less, other or two swapped) in five to eight letters, two in nine or more, the first letter being
 * right. Empty when there is none or more than one.
 */
struct weir_slice lexicon_nearest(struct weir_slice word);

/* Whether a word occurs in any phrase of the lexicon. */
bool lexicon_knows(struct weir_slice word);

/* Writes the stem of a word; returns its length, at most that of the word. */
size_t lexicon_stem(char *out, struct weir_slice word);
