/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things that are measured or done: metrics, workouts, laboratory tests. Where a name is shared,
 * the thing that has data is meant, and of several the first in the catalogue.
 */
#include "ask/parse_impl.h"

static const struct metric *pick_metric(struct parse *p, size_t i)
{
    const struct senses *s = &p->t->list[i].senses;
    const struct metric *first = NULL;
    for (size_t k = 0; k < s->n; k++) {
        if (s->list[k].symbol != S_METRIC) continue;
        const struct metric *m = s->list[k].ptr;
        if (has_metric_data(p->data, m)) return m;
        if (!first) first = m;
    }
    return first;
}

static bool has_lab(const struct ask_data *data, const struct analyte *a)
{
    for (size_t i = 0; i < data->n_labs; i++)
        if (data->labs[i].analyte == a) return true;
    return false;
}

static bool has_activity(const struct ask_data *data, const struct activity *a)
{
    for (size_t i = 0; i < data->n_workouts; i++)
        if (data->workouts[i].activity == a) return true;
    return false;
}

/* Where a word is both a metric and a laboratory test, or a metric and a sport, the data decide. */
static enum mention_kind kind_of(struct parse *p, size_t i, const struct metric *m)
{
    const struct sense *lab = sense_at(p, i, S_ANALYTE);
    const struct sense *activity = sense_at(p, i, S_ACTIVITY);
    bool has_data = m && has_metric_data(p->data, m);
    if (lab && (!m || (!has_data && has_lab(p->data, lab->ptr)))) return M_ANALYTE;
    if (activity && (!m || (!has_data && has_activity(p->data, activity->ptr)))) return M_ACTIVITY;
    if (m) return M_METRIC;
    return is_at(p, i, S_WORKOUT) ? M_WORKOUT : M_FIELD;
}

static bool begins_with(struct weir_slice s, const char *begin)
{
    size_t len = strlen(begin);
    return s.len >= len && memcmp(s.ptr, begin, len) == 0;
}

static bool contains(struct weir_slice s, const char *part)
{
    return memmem(s.ptr, s.len, part, strlen(part)) != NULL;
}

static bool says_total(struct weir_slice t)
{
    bool ends = t.len > 6 && begins_with((struct weir_slice){t.ptr + t.len - 6, 6}, " total");
    return (begins_with(t, "total ") || ends) && !contains(t, "day") && !contains(t, "daily");
}

/*
 * What a name says beside the thing: "total steps" a sum (a "daily total" is the day's value),
 * "hours of sleep" a unit, "lowest resting heart rate" and "heaviest" an extreme, and "my most
 * stressful day" asks for a date.
 */
static void read_name(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    struct weir_slice t = p->t->list[i].text;
    const struct sense *most = sense_at(p, i, S_MOST);
    if (says_total(t)) {
        add_stat(p, STAT_SUM);
        f->sum_is_name = true;
    }
    if (!f->unit && (begins_with(t, "hour") || contains(t, " hour"))) f->unit = "h";
    if (most && !f->has_most) set_most(p, i, (enum super_kind)most->arg);
    if (begins_with(t, "lowest ") && !f->has_most) set_most(p, i, MOST_MIN);
    bool is_led = i > 0 && is_at(p, i - 1, S_MOST) && !f->asks_many;
    if (is_led && text_is(p, i + 1, "day") && !p->t->list[i + 1].is_owner) f->asks_which = true;
}

/* Of those who have no such series, the distance of the sessions is meant. */
static void as_sessions(struct parse *p, struct mention *n)
{
    static const struct {
        const char *metric, *begin, *activity;
    } rows[] = {{"swimming_distance", "", "swim"},
                {"cycling_distance", "", "bike"},
                {"distance", "walk", "walk"}};
    if (!n->metric || has_metric_data(p->data, n->metric)) return;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        bool is_named = begins_with(p->t->list[n->at].text, rows[k].begin);
        if (strcmp(n->metric->name, rows[k].metric) != 0 || !is_named) continue;
        n->kind = M_ACTIVITY;
        n->activity = activity_find(weir_slice_of(rows[k].activity));
        n->has_field = true;
        n->field = FIELD_KM;
        n->metric = NULL;
        return;
    }
}

static void fill_mention(struct parse *p, size_t i, struct mention *n)
{
    const struct sense *activity = sense_at(p, i, S_ACTIVITY);
    const struct sense *analyte = sense_at(p, i, S_ANALYTE);
    const struct sense *field = sense_at(p, i, S_FIELD);
    const struct metric *m = pick_metric(p, i);
    *n = (struct mention){.kind = kind_of(p, i, m), .at = i, .scope = p->scope, .metric = m};
    if (activity) n->activity = activity->ptr;
    if (analyte) n->analyte = analyte->ptr;
    if (field) {
        n->has_field = true;
        n->field = (enum plan_field)field->arg;
    }
    n->is_unit = is_at(p, i, S_UNIT);
    as_sessions(p, n);
}

/* "run sessions", "how many runs": sessions are counted. */
static size_t read_sessions(struct parse *p, size_t i, struct mention *n)
{
    struct frame *f = &p->f;
    size_t end = i + 1;
    if (is_at(p, end, S_SESSION)) {
        n->is_counted = true;
        end++;
    }
    bool is_asked = n->is_counted || (i > 0 && is_at(p, i - 1, S_HOW_MANY));
    if (is_asked && f->asks_many && f->counted == COUNT_NOTHING && !f->unit) {
        n->is_counted = true;
        f->counted = COUNT_SESSIONS;
    }
    return end;
}

size_t take_thing(struct parse *p, size_t i)
{
    struct frame *f = &p->f;
    if (!is_subject(p, i) && !is_at(p, i, S_FIELD)) return 0;
    if (f->n_mentions == MAX_MENTIONS) {
        ask_refuse(p, "There are more things in this question than can be read at once.");
        return i + 1;
    }
    struct mention *n = &f->mentions[f->n_mentions++];
    fill_mention(p, i, n);
    if (n->kind == M_METRIC && p->scope == 0) read_name(p, i);
    if (text_in(p, i, "heavier|lighter")) f->has_comparative = true;
    bool is_sport = n->kind == M_ACTIVITY || n->kind == M_WORKOUT;
    return took(p, i, is_sport ? read_sessions(p, i, n) : i + 1);
}
