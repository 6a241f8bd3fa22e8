/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/facts.h"

static void add_source(struct text *t, const struct source *s)
{
    text_printf(t, " %d ", (int)s->kind);
    text_quote(t, s->name);
    text_add_char(t, '\n');
}

static void add_span(struct text *t, struct moment start, struct moment end)
{
    text_printf(t, " %lld%+d %lld%+d", (long long)start.at, (int)start.offset, (long long)end.at,
                (int)end.offset);
}

static enum weir_status on_sample(void *user, const struct sample *s)
{
    text_printf(user, "sample %s %a", s->metric->name, s->value);
    add_span(user, s->start, s->end);
    add_source(user, &s->source);
    return WEIR_OK;
}

static enum weir_status on_day(void *user, const struct day_value *v)
{
    text_printf(user, "day %s ", v->metric ? v->metric->name : "-");
    text_quote(user, v->name);
    text_printf(user, " %d %a %d", (int)v->day, v->value, v->is_partial);
    add_source(user, &v->source);
    return WEIR_OK;
}

static enum weir_status on_stage(void *user, const struct stage *s)
{
    text_printf(user, "stage %d", (int)s->stage);
    add_span(user, s->start, s->end);
    add_source(user, &s->source);
    return WEIR_OK;
}

static enum weir_status on_sleep(void *user, const struct sleep *s)
{
    text_printf(user, "sleep %d %d %a %a %a %a %a %a %a %a", (int)s->day, s->is_nap, s->asleep,
                s->in_bed, s->awake, s->light, s->deep, s->rem, s->efficiency, s->latency);
    add_span(user, s->start, s->end);
    add_source(user, &s->source);
    return WEIR_OK;
}

static enum weir_status on_workout(void *user, const struct workout *w)
{
    text_printf(user, "workout %s %d %a %a %a %a %a %a %a ", w->activity->name, (int)w->day,
                w->minutes, w->km, w->kcal, w->avg_hr, w->max_hr, w->steps, w->ascent_m);
    text_quote(user, w->label);
    add_span(user, w->start, w->start);
    add_source(user, &w->source);
    return WEIR_OK;
}

static enum weir_status on_lab(void *user, const struct lab *l)
{
    text_printf(user, "lab %s %d %a %d", l->analyte ? l->analyte->name : "-", (int)l->day, l->value,
                l->comparator);
    text_quote(user, l->label);
    text_quote(user, l->printed);
    text_quote(user, l->unit);
    text_quote(user, l->range);
    text_quote(user, l->flag);
    add_source(user, &l->source);
    return WEIR_OK;
}

static void on_refuse(void *user, uint64_t line, const char *reason)
{
    text_printf(user, "refused %llu ", (unsigned long long)line);
    text_quote(user, weir_slice_of(reason));
    text_add_char(user, '\n');
}

static void on_ignore(void *user, struct weir_slice what)
{
    text_printf(user, "ignored ");
    text_quote(user, what);
    text_add_char(user, '\n');
}

static enum weir_status on_exported(void *user, struct moment at)
{
    text_printf(user, "exported %lld%+d\n", (long long)at.at, (int)at.offset);
    return WEIR_OK;
}

struct fact_sink facts_written(struct text *out)
{
    return (struct fact_sink){out,        on_sample, on_day,    on_stage,  on_sleep,
                              on_workout, on_lab,    on_refuse, on_ignore, on_exported};
}
