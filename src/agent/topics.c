/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subjects, values and persons in a text. A subject is the longest run of words that the catalogue
 * or the table of topics knows; its value is the number that follows it, or stands just before it
 * ("6 hours of sleep"), if it is one that the subject can have.
 */
#include "agent/topics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ask/words.h"
#include "base/slice.h"

enum {
    NAME_WORDS = 6,  /* longest name of a subject */
    REACH_WORDS = 7, /* how far behind a subject its value may stand */
    UNIT_WORDS = 5,  /* "mg", "/", "dl" */
    NAME_BYTES = 96,
    MIN_AGE = 5, /* years, for which there are rows */
    MAX_AGE = 115,
    TOO_SMALL = 3, /* a value this many times below the lowest limit is one of mmol/L */
};

static const struct {
    const char *words, *subjects;
} groups[] = {
#define SOURCE(...)
#define SUBJECT(...)
#define BAND(...)
#define WEEKLY(...)
#define ALARM(...)
#define TOPIC(words, subjects) {words, subjects},
#include "agent/facts.def"
};

const char *topic_title(const struct topic *t)
{
    return t->metric ? t->metric->title : t->analyte->title;
}

const char *topic_unit(const struct topic *t)
{
    return t->metric ? t->metric->unit : t->analyte->unit;
}

/* ---- subjects ---- */

static bool has_topic(const struct topics *topics, const char *name)
{
    for (size_t i = 0; i < topics->n; i++)
        if (strcmp(topics->list[i].subject->name, name) == 0) return true;
    return false;
}

static void add_topic(struct topics *topics, struct weir_slice name)
{
    const struct metric *m = metric_find(name);
    const struct analyte *a = m ? NULL : analyte_find(name);
    if (!m && !a) return;
    const struct fact_subject *subject = fact_subject_find(m ? m->name : a->name);
    if (!subject || topics->n == TOPICS || has_topic(topics, subject->name)) return;
    topics->list[topics->n++] = (struct topic){.subject = subject,
                                               .metric = m,
                                               .analyte = a,
                                               .told = NAN,
                                               .value = NAN,
                                               .refused = NAN,
                                               .unit = m ? m->unit : a->unit};
}

static bool add_group(struct topics *topics, struct weir_slice name)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        size_t at = 0;
        for (struct weir_slice w; (w = alias_next(groups[i].words, &at)).len > 0;) {
            if (!slice_eq(w, name)) continue;
            size_t k = 0;
            for (struct weir_slice s; (s = alias_next(groups[i].subjects, &k)).len > 0;)
                add_topic(topics, s);
            return true;
        }
    }
    return false;
}

/* Words i to i+n-1 with `between` between them; false when they are too long or not all text. */
static bool join(char out[NAME_BYTES], const struct words *w, size_t i, size_t n,
                 const char *between)
{
    size_t len = 0;
    for (size_t k = i; k < i + n; k++) {
        const struct word *word = &w->list[k];
        if (between[0] == ' ' && word->kind != WORD_TEXT && word->kind != WORD_NUMBER) return false;
        int add = snprintf(out + len, NAME_BYTES - len, "%s%.*s", k > i ? between : "",
                           (int)word->text.len, word->text.ptr);
        if (add < 0 || len + (size_t)add >= NAME_BYTES) return false;
        len += (size_t)add;
    }
    return true;
}

/* Whether somebody moved: a heart rate that is told then is not the one at rest. */
static bool is_exerted(const struct words *w)
{
    static const char moving[] =
        "run|runs|ran|running|workout|workouts|exercise|exercising|training|"
        "trained|race|sprint|sprints|sprinting|peak|peaked|max|maximum|"
        "climb|climbing|cycling|ride|swim|swimming|hike|hill|stairs|gym|"
        "interval|intervals|treadmill|marathon|jog|jogging|match|game";
    for (size_t i = 0; i < w->n; i++) {
        size_t at = 0;
        for (struct weir_slice s; (s = alias_next(moving, &at)).len > 0;)
            if (slice_eq(s, w->list[i].text)) return true;
    }
    return false;
}

static bool is_of_any_heart_rate(struct weir_slice name)
{
    return weir_slice_is(name, "heart rate") || weir_slice_is(name, "heartrate") ||
           weir_slice_is(name, "pulse") || weir_slice_is(name, "hr");
}

/* How many words from i on name subjects, which are added; 0: none. */
static size_t read_name(struct topics *topics, const struct words *w, size_t i)
{
    char name[NAME_BYTES];
    for (size_t n = NAME_WORDS; n > 0; n--) {
        if (i + n > w->n || !join(name, w, i, n, " ")) continue;
        struct weir_slice text = weir_slice_of(name);
        size_t before = topics->n;
        if (is_of_any_heart_rate(text) && is_exerted(w)) return n;
        if (add_group(topics, text)) return n;
        if (!metric_find(text) && !analyte_find(text)) continue;
        if (w->list[i].kind != WORD_TEXT) continue;
        add_topic(topics, text);
        if (topics->n > before || n > 1) return n;
    }
    return 0;
}

/* ---- values ---- */

static bool convert(const struct topic *t, const char *unit, double told, double *value)
{
    if (t->analyte) return analyte_convert(t->analyte, weir_slice_of(unit), told, value);
    return unit_convert(unit, t->metric->unit, told, value);
}

static bool is_possible(const struct topic *t, double value)
{
    double min = t->metric ? t->metric->min : t->analyte->min;
    double max = t->metric ? t->metric->max : t->analyte->max;
    return value >= min && value <= max;
}

static double lowest_limit(const struct topic *t)
{
    struct fact_person anyone = {.age = 40, .sex = 'f'};
    const char *needs;
    size_t n;
    const struct fact_band *bands = fact_bands(t->subject->name, &anyone, &n, &needs);
    return n > 0 ? bands[0].hi : NAN;
}

/* The unit of a number that has none: the catalogue's, unless that makes no sense. */
static const char *likely_unit(const struct topic *t, double told)
{
    const char *unit = topic_unit(t);
    if (strcmp(unit, "min") == 0 && told <= 24) return "h";
    if (strcmp(t->subject->name, "hba1c") == 0 && told >= 20) return "mmol/mol";
    if (strcmp(unit, "degC") == 0 && told >= 90) return "degF";
    if (t->analyte && t->analyte->molar > 0 && strcmp(unit, "mg/dL") == 0 &&
        told < lowest_limit(t) / TOO_SMALL)
        return "mmol/L";
    return unit;
}

/* The unit that begins at word i, if it is one of the topic's; NULL. */
static const char *read_unit(const struct topic *t, const struct words *w, size_t i)
{
    char text[NAME_BYTES];
    double value;
    for (size_t n = UNIT_WORDS; n > 0; n--) {
        if (i + n > w->n || !join(text, w, i, n, "")) continue;
        const struct unit *unit = unit_find(weir_slice_of(text));
        if (unit && convert(t, unit->name, 1, &value)) return unit->name;
    }
    return NULL;
}

/*
 * Takes the number at word i for the topic's value, if it can be. One that cannot be is kept as
 * refused when its unit, or "a pulse of 1000", shows that it was meant.
 */
static bool take_value(struct topic *t, const struct words *w, size_t i, double told)
{
    const char *unit = read_unit(t, w, i + 1);
    double value;
    bool is_assumed = !unit;
    if (!unit) unit = likely_unit(t, told);
    if (!convert(t, unit, told, &value)) return false;
    if (!is_possible(t, value)) {
        const struct weir_slice before = i > 0 ? w->list[i - 1].text : SLICE("");
        bool is_meant = !is_assumed || weir_slice_is(before, "of");
        if (!is_meant || weir_slice_is(before, "-")) return false; /* the sign is a word apart */
        t->refused = told;
        t->unit = unit;
        return false;
    }
    t->told = told;
    t->value = value;
    t->unit = unit;
    t->is_assumed = is_assumed && strcmp(unit, topic_unit(t)) != 0;
    return true;
}

static bool is_mark(const struct words *w, size_t i, char mark)
{
    return i < w->n && w->list[i].kind == WORD_MARK && w->list[i].text.ptr[0] == mark;
}

/* "135/85": both, when both are asked about; "135 over 85" too. */
static bool take_pressure(struct topics *topics, size_t first, const struct words *w, size_t i)
{
    if (first + 1 >= topics->n || strcmp(topics->list[first].subject->name, "systolic") != 0)
        return false;
    bool is_pair =
        i + 2 < w->n && (is_mark(w, i + 1, '/') || weir_slice_is(w->list[i + 1].text, "over"));
    if (!is_pair || w->list[i + 2].kind != WORD_NUMBER) return false;
    return take_value(&topics->list[first], w, i, w->list[i].number) &&
           take_value(&topics->list[first + 1], w, i + 2, w->list[i + 2].number);
}

/* A number that says when, how often or how old is no value. */
static bool is_other(const struct words *w, size_t i)
{
    static const char *const behind[] = {"day",    "days",  "week", "weeks", "month",
                                         "months", "years", "year", "times", "sentences",
                                         "tips",   "ways",  NULL};
    static const char *const before[] = {"last",  "past",   "age",      "am",    "next", "first",
                                         "above", "over",   "below",    "under", "than", "least",
                                         "most",  "exceed", "exceeded", NULL};
    if (w->list[i].is_ordinal) return true;
    for (size_t k = 0; behind[k]; k++)
        if (i + 1 < w->n && weir_slice_is(w->list[i + 1].text, behind[k])) return true;
    for (size_t k = 0; before[k]; k++)
        if (i > 0 && weir_slice_is(w->list[i - 1].text, before[k])) return true;
    return false;
}

static bool is_end(const struct words *w, size_t i)
{
    return is_mark(w, i, '?') || is_mark(w, i, ';');
}

/* Takes the number at word k, if it is one, for the topics from `first` on. */
static bool take_number(struct topics *topics, size_t first, const struct words *w, size_t k)
{
    if (w->list[k].kind != WORD_NUMBER || is_other(w, k)) return false;
    bool is_second = k >= 2 && is_mark(w, k - 1, '/');
    return take_pressure(topics, first, w, is_second ? k - 2 : k) ||
           take_value(&topics->list[first], w, k, w->list[k].number);
}

/* The value of the topics from `first` on, whose name is the words i to end-1. */
static void read_value(struct topics *topics, size_t first, const struct words *w, size_t i,
                       size_t end)
{
    for (size_t k = end; k < w->n && k < end + REACH_WORDS && !is_end(w, k); k++)
        if (take_number(topics, first, w, k)) return;
    for (size_t k = i; k-- > 0 && k + UNIT_WORDS > i && !is_end(w, k);)
        if (take_number(topics, first, w, k)) return;
}

enum weir_status topics_read(struct topics *out, struct weir_slice text, struct arena *arena)
{
    struct words *w = arena_alloc(arena, sizeof *w);
    out->n = 0;
    if (!w) return arena->status;
    enum weir_status st = words_read(w, text, arena);
    if (st == WEIR_TOO_LARGE) return WEIR_OK;
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < w->n;) {
        size_t first = out->n;
        size_t n = read_name(out, w, i);
        if (out->n > first) read_value(out, first, w, i, i + n);
        i += n > 0 ? n : 1;
    }
    return WEIR_OK;
}

/* ---- persons ---- */

static bool is_word(const struct words *w, size_t i, const char *text)
{
    return i < w->n && weir_slice_is(w->list[i].text, text);
}

static bool is_one_of(const struct words *w, size_t i, const char *const *texts)
{
    for (size_t k = 0; texts[k]; k++)
        if (is_word(w, i, texts[k])) return true;
    return false;
}

static bool is_years(const struct words *w, size_t i)
{
    static const char *const years[] = {"years", "year", "yrs", "yr", "yo", NULL};
    return is_one_of(w, i, years);
}

static size_t skip_dashes(const struct words *w, size_t i)
{
    while (is_mark(w, i, '-')) i++;
    return i;
}

/* "67 years old", "67-year-old", "67 yo". */
static bool is_followed_by_old(const struct words *w, size_t i)
{
    size_t next = skip_dashes(w, i + 1);
    return is_word(w, next, "yo") ||
           (is_years(w, next) && is_word(w, skip_dashes(w, next + 1), "old"));
}

/* "aged 67", "my age is 67". */
static bool is_behind_age(const struct words *w, size_t i)
{
    if (i > 0 && (is_word(w, i - 1, "aged") || is_word(w, i - 1, "age"))) return true;
    return i > 1 && is_word(w, i - 2, "age") && is_word(w, i - 1, "is");
}

/* "I am 67", but not "I am 67 kg". */
static bool is_behind_i_am(const struct words *w, size_t i)
{
    if (i < 2 || !is_word(w, i - 2, "i") || !is_word(w, i - 1, "am")) return false;
    return i + 1 == w->n || w->list[i + 1].kind == WORD_MARK || is_word(w, i + 1, "and") ||
           is_years(w, i + 1);
}

static bool is_age(const struct words *w, size_t i)
{
    double n = w->list[i].number;
    if (w->list[i].kind != WORD_NUMBER || n != floor(n) || n < MIN_AGE || n > MAX_AGE) return false;
    return is_followed_by_old(w, i) || is_behind_age(w, i) || is_behind_i_am(w, i);
}

/* "I am a man", "as a woman", "67 year old male": of the writer, not of somebody's wife. */
static char read_sex(const struct words *w, size_t i)
{
    static const char *const female[] = {"woman", "female", "lady", NULL};
    static const char *const male[] = {"man", "male", "guy", NULL};
    static const char *const lead[] = {"a", "am", "and", "old", "as", "yo", "sex", "is", NULL};
    if (i == 0 || !is_one_of(w, i - 1, lead)) return 0;
    return is_one_of(w, i, female) ? 'f' : is_one_of(w, i, male) ? 'm' : 0;
}

enum weir_status topics_read_person(struct fact_person *person, struct weir_slice text,
                                    struct arena *arena)
{
    struct words *w = arena_alloc(arena, sizeof *w);
    if (!w) return arena->status;
    enum weir_status st = words_read(w, text, arena);
    if (st == WEIR_TOO_LARGE) return WEIR_OK;
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < w->n; i++) {
        char sex = read_sex(w, i);
        if (is_age(w, i)) person->age = (unsigned)w->list[i].number;
        if (sex) person->sex = sex;
    }
    return WEIR_OK;
}
