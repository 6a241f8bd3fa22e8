/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "data/day.h"

static void add_number(struct text *t, const char *name, double value)
{
    char digits[32];
    if (isnan(value)) return;
    snprintf(digits, sizeof digits, "%.12g", value);
    text_printf(t, " %s%s%s", name, name[0] ? " " : "", digits);
}

static void add_day(struct text *t, int32_t day)
{
    char text[DAY_TEXT_BYTES];
    day_format(text, day);
    text_printf(t, " %s", text);
}

static void add_moment(struct text *t, const char *name, struct moment m)
{
    char day[DAY_TEXT_BYTES];
    int64_t wall = m.at + m.offset;
    int64_t second = ((wall % DAY_SECONDS) + DAY_SECONDS) % DAY_SECONDS;
    int offset = m.offset / 60;
    day_format(day, day_of_moment(m.at, m.offset));
    text_printf(t, "%s %sT%02d:%02d:%02d%c%02d:%02d", name, day, (int)(second / 3600),
                (int)(second / 60 % 60), (int)(second % 60), offset < 0 ? '-' : '+',
                abs(offset) / 60, abs(offset) % 60);
}

unsigned reading_n_unsound;

/* What no file may bring about. */
static void check(struct text *t, const char *what, bool is_sound)
{
    if (is_sound) return;
    reading_n_unsound++;
    text_printf(t, "UNSOUND %s\n", what);
}

static bool is_text(struct weir_slice s)
{
    return utf8_valid_prefix(s) == s.len && (s.len == 0 || !memchr(s.ptr, 0, s.len));
}

static bool is_day(int32_t day)
{
    return day >= DAY_MIN && day <= DAY_MAX;
}

static bool is_moment(struct moment m)
{
    return m.offset >= -DAY_SECONDS && m.offset <= DAY_SECONDS &&
           m.at > (int64_t)(DAY_MIN - 2) * DAY_SECONDS &&
           m.at < (int64_t)(DAY_MAX + 2) * DAY_SECONDS;
}

static bool is_known(double value)
{
    return isnan(value) || isfinite(value);
}

static void add_source(struct text *t, const struct source *s)
{
    check(t, "source", is_text(s->name) && s->name.len > 0);
    static const char *const kinds[] = {"",       " manual", " app", " phone",
                                        " scale", " watch",  " lab"};
    text_printf(t, " [%.*s%s]\n", (int)s->name.len, s->name.ptr, kinds[s->kind]);
}

static enum weir_status on_sample(void *user, const struct sample *s)
{
    struct text *t = user;
    check(t, "sample",
          isfinite(s->value) && is_moment(s->start) && is_moment(s->end) &&
              s->end.at >= s->start.at);
    text_printf(t, "sample %s", s->metric->name);
    add_moment(t, "", s->start);
    if (s->end.at != s->start.at) text_printf(t, " +%lld", (long long)(s->end.at - s->start.at));
    add_number(t, "", s->value);
    add_source(t, &s->source);
    return WEIR_OK;
}

static enum weir_status on_day(void *user, const struct day_value *v)
{
    struct text *t = user;
    check(t, "day",
          isfinite(v->value) && is_day(v->day) && is_text(v->name) &&
              (v->metric || v->name.len > 0));
    if (v->metric) text_printf(t, "day %s", v->metric->name);
    else text_printf(t, "own %.*s", (int)v->name.len, v->name.ptr);
    add_day(t, v->day);
    add_number(t, "", v->value);
    if (v->is_partial) text_printf(t, " partial");
    add_source(t, &v->source);
    return WEIR_OK;
}

static enum weir_status on_stage(void *user, const struct stage *s)
{
    static const char *const names[] = {"in_bed", "awake", "asleep", "light", "deep", "rem"};
    struct text *t = user;
    check(t, "stage", is_moment(s->start) && is_moment(s->end) && s->end.at > s->start.at);
    text_printf(t, "stage %s", names[s->stage]);
    add_moment(t, "", s->start);
    text_printf(t, " +%lld", (long long)(s->end.at - s->start.at));
    add_source(t, &s->source);
    return WEIR_OK;
}

static enum weir_status on_sleep(void *user, const struct sleep *s)
{
    struct text *t = user;
    check(t, "sleep",
          is_day(s->day) && is_moment(s->start) && is_moment(s->end) && s->end.at > s->start.at);
    check(t, "sleep",
          is_known(s->asleep) && is_known(s->in_bed) && is_known(s->awake) && is_known(s->light) &&
              is_known(s->deep) && is_known(s->rem) && is_known(s->efficiency) &&
              is_known(s->latency));
    text_printf(t, s->is_nap ? "nap" : "sleep");
    add_day(t, s->day);
    add_moment(t, "", s->start);
    add_moment(t, "", s->end);
    add_number(t, "asleep", s->asleep);
    add_number(t, "in_bed", s->in_bed);
    add_number(t, "awake", s->awake);
    add_number(t, "light", s->light);
    add_number(t, "deep", s->deep);
    add_number(t, "rem", s->rem);
    add_number(t, "efficiency", s->efficiency);
    add_number(t, "latency", s->latency);
    add_source(t, &s->source);
    return WEIR_OK;
}

static enum weir_status on_workout(void *user, const struct workout *w)
{
    struct text *t = user;
    check(t, "workout", w->activity && is_text(w->label) && is_day(w->day) && is_moment(w->start));
    check(t, "workout",
          is_known(w->minutes) && is_known(w->km) && is_known(w->kcal) && is_known(w->avg_hr) &&
              is_known(w->max_hr) && is_known(w->steps) && is_known(w->ascent_m));
    text_printf(t, "workout %s (%.*s)", w->activity->name, (int)w->label.len, w->label.ptr);
    add_day(t, w->day);
    add_moment(t, "", w->start);
    add_number(t, "min", w->minutes);
    add_number(t, "km", w->km);
    add_number(t, "kcal", w->kcal);
    add_number(t, "avg", w->avg_hr);
    add_number(t, "max", w->max_hr);
    add_number(t, "steps", w->steps);
    add_number(t, "up", w->ascent_m);
    add_source(t, &w->source);
    return WEIR_OK;
}

static enum weir_status on_lab(void *user, const struct lab *l)
{
    struct text *t = user;
    check(t, "lab",
          isfinite(l->value) && is_day(l->day) && is_text(l->label) && is_text(l->printed) &&
              is_text(l->unit) && is_text(l->range) && is_text(l->flag));
    char comparator[] = {l->comparator ? l->comparator : ' ', 0};
    text_printf(t, "lab %s (%.*s)", l->analyte ? l->analyte->name : "-", (int)l->label.len,
                l->label.ptr);
    add_day(t, l->day);
    add_number(t, comparator[0] == ' ' ? "" : comparator, l->value);
    text_printf(t, " %.*s printed '%.*s' range '%.*s' flag '%.*s'", (int)l->unit.len, l->unit.ptr,
                (int)l->printed.len, l->printed.ptr, (int)l->range.len, l->range.ptr,
                (int)l->flag.len, l->flag.ptr);
    add_source(t, &l->source);
    return WEIR_OK;
}

static void on_refuse(void *user, uint64_t line, const char *reason)
{
    check(user, "reason", is_text(weir_slice_of(reason)));
    text_printf(user, "refused %llu: %s\n", (unsigned long long)line, reason);
}

static void on_ignore(void *user, struct weir_slice what)
{
    check(user, "ignored", is_text(what));
    text_printf(user, "ignored %.*s\n", (int)what.len, what.ptr);
}

static enum weir_status on_exported(void *user, struct moment at)
{
    add_moment(user, "exported", at);
    text_printf(user, "\n");
    return WEIR_OK;
}

void reading_transcript(struct text *out, const struct reader_kind *kind,
                        const struct reader_context *says, struct weir_slice input, struct cut *cut)
{
    struct reader_context c = *says;
    struct reader *r = NULL;
    static struct zone *zone; /* once for all: fuzzers come here thousands of times */
    struct weir_slice rest = input;
    struct weir_slice piece;
    c.sink = (struct fact_sink){out,        on_sample, on_day,    on_stage,  on_sleep,
                                on_workout, on_lab,    on_refuse, on_ignore, on_exported};
    if (!zone && zone_load(&zone, "America/New_York") != WEIR_OK) abort();
    c.zone = zone;
    enum weir_status st = kind->open(&r, &c);
    if (st != WEIR_OK) abort();
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = kind->feed(r, piece);
    if (st == WEIR_OK) st = kind->end(r);
    if (st != WEIR_OK && r) check(out, "error", is_text(weir_slice_of(kind->error(r))));
    if (st != WEIR_OK) text_printf(out, "error %s: %s\n", weir_status_name(st), kind->error(r));
    kind->close(r);
}
