/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verdict in words. The claim is made from kind, metrics and direction alone and holds no
 * number; where it is uncertain the words say so, and the first thing that speaks against it is
 * named. Gates that failed come before the critic's concerns, for they are about these very days.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "check/critic.h"
#include "check/critic_impl.h"
#include "check/numbers_impl.h"

enum verdict_name critic_combine(enum verdict_name gates, enum critic_name critic)
{
    if (critic == CRITIC_REJECT || gates == VERDICT_REJECTED) return VERDICT_REJECTED;
    return critic == CRITIC_DOWNGRADE ? VERDICT_CONDITIONAL : gates;
}

/* ---- the claim ---- */

struct speech {
    bool is_hedged;
    const char *x, *y; /* titles */
    bool is_plural;    /* x is */
    const char *more;  /* "higher", "lower", "later", "shorter" … */
    int direction;
    char *out;
};

/* "steps", "active minutes", "calories eaten", but not "stress score". */
static bool is_plural(const char *title)
{
    size_t len = strlen(title);
    for (size_t i = 1; i < len; i++)
        if (title[i] == 's' && title[i - 1] != 's' && (i + 1 == len || title[i + 1] == ' '))
            return true;
    return false;
}

static const char *comparative(const struct metric *m, int direction)
{
    if (m && m->daily == DAILY_CIRCULAR) return direction > 0 ? "later" : "earlier";
    if (m && strcmp(m->unit, "min") == 0) return direction > 0 ? "longer" : "shorter";
    return direction > 0 ? "higher" : "lower";
}

/* Before the name: "more steps", "a higher heart rate", without the article. */
static const char *amount(const struct metric *m, int direction)
{
    bool is_sum = m && m->daily == DAILY_SUM;
    return is_sum ? (direction > 0 ? "more" : "less") : comparative(m, direction);
}

static void say_level(const struct speech *s)
{
    snprintf(s->out, CRITIC_TEXT_BYTES, "the mean of your %s %s typical of these days", s->x,
             s->is_hedged ? "may not be" : "is");
}

static void say_trend(const struct speech *s)
{
    const char *verb = s->direction > 0 ? "rose" : "fell";
    if (s->is_hedged) verb = s->direction > 0 ? "risen" : "fallen";
    snprintf(s->out, CRITIC_TEXT_BYTES, "your %s %s%s over these days", s->x,
             s->is_hedged ? "may have " : "", verb);
}

static void say_compared(const struct speech *s, const char *past, const char *hedged,
                         const char *where)
{
    snprintf(s->out, CRITIC_TEXT_BYTES, "your %s %s %s %s", s->x, s->is_hedged ? hedged : past,
             s->more, where);
}

static void say_pair(const struct speech *s, const struct finding *f)
{
    const char *tend = s->is_hedged ? "may" : "tend to";
    if (f->lag == 0)
        snprintf(s->out, CRITIC_TEXT_BYTES, "your %s and your %s %s %s", s->x, s->y, tend,
                 s->direction > 0 ? "rise and fall together" : "move in opposite ways");
    else
        snprintf(s->out, CRITIC_TEXT_BYTES, "days with %s %s %s %s days with %s %s",
                 amount(f->metric, 1), s->x, tend, f->lag > 0 ? "come before" : "come after",
                 amount(f->metric_y, s->direction), s->y);
}

static void say_anomaly(const struct speech *s)
{
    snprintf(s->out, CRITIC_TEXT_BYTES, "one day's %s %s out, %s than on the others", s->x,
             s->is_hedged   ? "may stand"
             : s->is_plural ? "stand"
                            : "stands",
             s->more);
}

/* Two days in a row; other days may be asked about as well. */
static bool is_weekend(uint32_t places)
{
    enum { WEEK = 7, ALL = (1 << WEEK) - 1 };
    for (unsigned first = 0; first < WEEK; first++) {
        uint32_t two = 1u << first | 1u << (first + 1) % WEEK;
        if ((places & ALL) == two) return true;
    }
    return false;
}

static void say_claim(const struct critic_case *c, bool is_hedged, char *out)
{
    const struct finding *f = c->finding;
    struct speech s = {
        .is_hedged = is_hedged, .direction = c->verdict->estimate < 0 ? -1 : 1, .out = out};
    s.x = f->metric ? f->metric->title : "values";
    s.y = f->metric_y ? f->metric_y->title : "other values";
    s.is_plural = is_plural(s.x);
    s.more = comparative(f->metric, s.direction);
    switch (f->kind) {
    case FINDING_LEVEL: say_level(&s); break;
    case FINDING_TREND: say_trend(&s); break;
    case FINDING_WINDOWS:
        say_compared(&s, s.is_plural ? "were" : "was", "may have been",
                     "in the later days than in the earlier ones");
        break;
    case FINDING_WEEKDAYS:
        say_compared(&s, s.is_plural ? "are" : "is", "may be",
                     is_weekend(f->weekend) ? "on weekends than on weekdays"
                                            : "on those days of the week than on the others");
        break;
    case FINDING_PAIR: say_pair(&s, f); break;
    case FINDING_ANOMALY: say_anomaly(&s); break;
    }
}

/* What is not shown has no direction. */
static void say_nothing(const struct critic_case *c, char *out)
{
    static const struct {
        const char *before, *between, *behind;
    } forms[] = {
        [FINDING_LEVEL] = {"do not show what is typical of your ", NULL, ""},
        [FINDING_TREND] = {"show no trend of your ", NULL, ""},
        [FINDING_WINDOWS] = {"show no difference of your ", NULL, " between the two stretches"},
        [FINDING_WEEKDAYS] = {"show no difference of your ", NULL, " between the days of the week"},
        [FINDING_PAIR] = {"do not show that your ", " and your ", " go together"},
        [FINDING_ANOMALY] = {"do not show that one day stands out in your ", NULL, ""},
    };
    const struct finding *f = c->finding;
    const char *x = f->metric ? f->metric->title : "values";
    const char *y = f->metric_y ? f->metric_y->title : "other values";
    const char *between = forms[f->kind].between;
    snprintf(out, CRITIC_TEXT_BYTES, "these days %s%s%s%s%s", forms[f->kind].before, x,
             between ? between : "", between ? y : "", forms[f->kind].behind);
}

/* ---- the doubt ---- */

static const char *gate_doubt(const struct gate *g, enum gate_name name)
{
    static const char *const doubts[] = {
        [GATE_SAMPLE_SIZE] = "there are too few days to tell",
        [GATE_EFFECT_VS_NOISE] = "it is not larger than the usual ups and downs",
        [GATE_BOOTSTRAP] = "it does not hold when the days are drawn again",
        [GATE_SUBGROUP_CONSISTENCY] = "it is not the same in every part of these days",
        [GATE_METHOD_TRIANGULATION] = "not every method finds it",
        [GATE_DISCRIMINATIVE_POWER] = "single days can hardly be told apart by it",
    };
    return name == GATE_CONSTRUCT_VALIDITY ? g->why : doubts[name];
}

/* A note as the end of a sentence: without its full stop, its first letter small. */
static void doubt_of_note(const char *note, char *out)
{
    snprintf(out, CRITIC_TEXT_BYTES, "%s", note);
    size_t len = strlen(out);
    if (len > 0 && out[len - 1] == '.') out[len - 1] = '\0';
    bool is_name = len > 1 && out[1] >= 'A' && out[1] <= 'Z';
    if (out[0] >= 'A' && out[0] <= 'Z' && !is_name) out[0] = (char)(out[0] - 'A' + 'a');
}

static void find_doubt(const struct critic_case *c, const struct critique *q, char *out)
{
    out[0] = '\0';
    for (size_t i = 0; i < N_GATES; i++) {
        if (c->verdict->gates[i].status != GATE_FAILED) continue;
        snprintf(out, CRITIC_TEXT_BYTES, "%s",
                 gate_doubt(&c->verdict->gates[i], (enum gate_name)i));
        return;
    }
    if (q->name != CRITIC_ACCEPT) doubt_of_note(q->n > 0 ? q->concerns[0].note : q->reasoning, out);
}

/* ---- the line ---- */

const char *text_keep(struct arena *arena, const char *text)
{
    size_t len = strlen(text);
    char *bytes = arena_alloc(arena, len + 1);
    if (bytes) memcpy(bytes, text, len + 1);
    return bytes;
}

enum weir_status critic_assess(struct assessment *out, const struct critic_case *c,
                               const struct critique *q, struct arena *arena)
{
    static const char *const words[] = {"consistent", "uncertain", "not supported"};
    char claim[CRITIC_TEXT_BYTES], doubt[CRITIC_TEXT_BYTES], line[3 * CRITIC_TEXT_BYTES];
    enum verdict_name v = critic_combine(c->verdict->name, q->name);
    *out = (struct assessment){.verdict = v, .word = words[v]};
    if (v == VERDICT_REJECTED) say_nothing(c, claim);
    else say_claim(c, v == VERDICT_CONDITIONAL, claim);
    find_doubt(c, q, doubt);
    if (v == VERDICT_VALIDATED)
        snprintf(line, sizeof line, "%s: %s; every check that applies was passed", out->word,
                 claim);
    else if (v == VERDICT_CONDITIONAL)
        snprintf(line, sizeof line, "%s: %s, but %s", out->word, claim, doubt);
    else snprintf(line, sizeof line, "%s: %s, for %s", out->word, claim, doubt);
    out->line = text_keep(arena, line);
    out->claim = text_keep(arena, claim);
    out->doubt = text_keep(arena, doubt);
    return out->line && out->claim && out->doubt ? WEIR_OK : arena->status;
}

/* ---- hedges ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool assess_is_hedged(struct weir_slice s)
{
    static const char words[] =
        "may|might|could|perhaps|maybe|possibly|possible|probably|probable|likely|unlikely|seem|"
        "seems|seemed|seemingly|appear|appears|appeared|apparently|suggest|suggests|suggested|"
        "hint|hints|hinted|uncertain|uncertainty|unsure|unclear|tentative|tentatively|"
        "provisional|preliminary|inconclusive|caution|cautiously|caveat";
    for (size_t i = 0; i < s.len;) {
        size_t end = i;
        while (end < s.len && is_letter(s.ptr[end])) end++;
        struct weir_slice word = {s.ptr + i, end - i};
        /* "In May" is a month, "May" alone a hedge only at the begin of a sentence. */
        bool is_month =
            word.len == 3 && word.ptr[0] == 'M' && word.ptr[1] == 'a' && word.ptr[2] == 'y';
        if (word.len > 0 && !is_month && word_in(word, words)) return true;
        i = end > i ? end : i + 1;
    }
    return false;
}
