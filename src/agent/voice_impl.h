/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as sentences for people.
 *
 *   voice.c         preferences, amounts, dates, windows, what a plan is about
 *   voice_value.c   numbers that claim nothing about other days, by the plan's operation
 *   voice_claim.c   claims with their verdict: stated, hedged, or honestly not shown
 *
 * A voice writes into one text. It uses numbers of the fact sheet alone; windows that it has
 * named are kept, for they need no home. The fuller the better, until somebody objects: `level`
 * takes clauses away.
 */
#pragma once

#include "agent/agent_impl.h"
#include "data/plan.h"

enum {
    VOICE_KNOWN = 64, /* texts whose numbers need no home */
    VOICE_TITLE_BYTES = 128,
    VOICE_ROWS = 10, /* most lines of a list */
};

/* What a person wants to read; from memory. NULL: as it is stored. */
struct prefs {
    const char *length, *mass, *temperature;
    bool is_short, is_detailed;
};
void prefs_read(struct prefs *out, const struct weir_json *memory);

/* How much is said: 2 is without brackets, notes and second numbers. */
enum voice_level { VOICE_FULL, VOICE_LEAN, VOICE_BARE };

struct voice {
    struct weir_buf out;
    struct prefs prefs;
    enum voice_level level;
    bool is_dated; /* windows have their dates, whether or not the sheet has them */
    struct weir_slice question;
    const struct weir_json *sheet;
    struct dataset *data;
    struct arena *arena;
    struct weir_slice known[VOICE_KNOWN];
    size_t n_known;
};

/* A finding with what was found out about it. */
struct told {
    const struct weir_json *finding, *answer;
    struct weir_slice id, kind, verdict, assessment, doubt, beside;
    bool has_plan, is_follow_up;
    struct plan plan;
    int32_t from, to, from_b, to_b; /* DAY_NONE: not said */
};

/* ---- voice.c ---- */
void voice_known(struct voice *v, struct weir_slice text);
void say(struct voice *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "7 h 12 min", "8,432 steps", "61.8 bpm", "23:16", "0.37" */
void say_amount(struct voice *v, double value, const char *unit);
void say_difference(struct voice *v, double value, const char *unit); /* without its sign */
void say_day(struct voice *v, int32_t day);                           /* "14 March 2025" */
/* " in March 2025", " from … to …", " over the last 30 days": with its blank; may be nothing. */
void say_span(struct voice *v, int32_t from, int32_t to);
void say_window(struct voice *v, const struct told *t);
/* The same where the sheet has nothing of those days: without dates of its own. */
void say_loose_window(struct voice *v, const struct told *t);

/* "resting heart rate", "runs", "LDL cholesterol" */
void title_of(const struct told *t, char out[VOICE_TITLE_BYTES]);
bool title_is_plural(const char *title);

/* " on weekends", " on days with a run": with its blank; nothing without a condition. */
void say_where(struct voice *v, const struct plan_where *where);
void say_having(struct voice *v, const struct told *t); /* " above 10,000 steps" */

/* An entry of the sheet: "avg" of a finding. */
struct sheet_number {
    double value;
    char unit[32];
    double n;     /* NAN: not said */
    int32_t day;  /* on which it was; DAY_NONE: on no single one */
    bool is_here; /* false: no such entry */
};
struct sheet_number number_of(const struct voice *v, const struct told *t, const char *name);
/* The first of these that is there; names are separated by '|'. */
struct sheet_number number_among(const struct voice *v, const struct told *t, const char *names);
void say_number(struct voice *v, struct sheet_number n); /* bold */

/* ---- voice_value.c ---- */
void say_value(struct voice *v, const struct told *t);
/* " on weekends", " in March 2025": one side of a comparison. */
void say_group_of(struct voice *v, const struct told *t, bool is_b);

/* ---- voice_claim.c ---- */
/* A comparison one side of which was said before: "that is 0.4 bpm lower than from …". */
void say_against(struct voice *v, const struct told *t);

/* `value` is the finding that this claim is beside of, when it was said before; else NULL. */
void say_claim(struct voice *v, const struct told *t, const struct told *value);
bool told_is(struct weir_slice a, const char *b);
bool told_is_clock(const struct told *t); /* it is about a time of day */
