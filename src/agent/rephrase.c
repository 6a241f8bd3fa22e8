/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One focused question for each agent that will run. The expert, the coach and the investigator
 * get the question as it stands alone. The data scientist gets what the grammar of questions reads:
 * the question itself, or it without "why might", or, for those who only need the state of things,
 * a question after the thing that is spoken of.
 */
#include <stdio.h>

#include "agent/llm_impl.h"
#include "agent/route_impl.h"
#include "agent/voice_impl.h"
#include "ask/ask.h"
#include "base/slice.h"

enum { FOCUS_BYTES = 1000, THING_BYTES = 128 };

struct focus {
    struct agent_case *c;
    struct said said;
    struct weir_slice question, pattern;
    char text[FOCUS_BYTES];
};

static bool is_understood(struct focus *f, struct weir_slice text)
{
    struct ask_reading *reading = arena_alloc(f->c->arena, sizeof *reading);
    if (!reading || text.len == 0 || text.len > ASK_BYTES) return false;
    if (ask_read(reading, text, f->c->data, f->c->arena) != WEIR_OK) return false;
    return reading->is_understood;
}

static struct weir_slice formed(struct focus *f, const char *head, const char *middle,
                                const char *tail)
{
    int n = snprintf(f->text, sizeof f->text, "%s%s%s", head, middle, tail);
    return slice_of(f->text, n > 0 && (size_t)n < sizeof f->text ? (size_t)n : 0);
}

/* "Why might my REM have dropped last month?": "did my REM drop last month?" is close to it. */
static struct weir_slice without_why(struct focus *f)
{
    char rest[FOCUS_BYTES - 16];
    size_t from, end;
    if (!said_find(&f->said,
                   "^ why|how come? is|are|was|were|did|does|do|has|have|might|may|could|would",
                   &from, &end))
        return (struct weir_slice){0};
    size_t sentence = end;
    while (sentence < f->said.n && f->said.words[sentence].text.len > 0) sentence++;
    size_t len = said_join(&f->said, end - 1, sentence, rest, sizeof rest);
    return len > 0 ? formed(f, "", rest, "?") : (struct weir_slice){0};
}

/* The first metric or laboratory test that is named, in the person's words, or of a goal in memory.
 */
static bool find_thing(struct focus *f, char out[THING_BYTES])
{
    for (size_t i = 0; i < f->said.n; i++) {
        if (f->said.words[i].thing == 0) continue;
        size_t len = said_join(&f->said, i, i + f->said.words[i].thing, out, THING_BYTES);
        struct weir_slice name = slice_of(out, len);
        if (dataset_find_metric(f->c->data, name) || analyte_find(name)) return true;
    }
    for (const struct weir_json *m = weir_json_first(f->c->memory); m; m = weir_json_next(m)) {
        struct weir_slice name = agent_text(weir_json_get_str(m, "data"), "metric");
        const struct metric *metric = metric_find(name);
        if (!weir_slice_is(agent_text(m, "category"), "goal") || !metric) continue;
        snprintf(out, THING_BYTES, "%s", metric->title);
        return true;
    }
    return false;
}

static bool has_days(struct focus *f, const struct metric *m)
{
    const struct series *series;
    return m && dataset_series(f->c->data, m, &series) == WEIR_OK && series->n > 0;
}

/* Words that name no thing and still tell what to look at; the last row is for all others. */
static const struct {
    const char *words, *metrics;
} hints[] = {
    {"tired|exhausted|sleepy|fatigue*|drained|rested|tiredness", "sleep_minutes"},
    {"overweight|underweight|obese|obesity|fat|thin|skinny", "weight"},
    {"lose|gain .. kg|kilo*|pound*|lb|lbs|stone", "weight"},
    {"heart", "resting_heart_rate"},
    {NULL, "active_minutes|steps|sleep_minutes"},
};

/* A thing that nothing was measured of leads to nothing, unless the words are about it: what stands
 * in for one that is not named. */
static const char *usual_thing(struct focus *f)
{
    size_t row = 0, at = 0;
    while (hints[row].words && !said_has(&f->said, hints[row].words)) row++;
    if (hints[row].words) return metric_find(weir_slice_of(hints[row].metrics))->title;
    /* A judgement is about what was named; something else beside it would only confuse. */
    if (weir_slice_is(f->pattern, "judge")) return NULL;
    for (struct weir_slice s; (s = alias_next(hints[row].metrics, &at)).len > 0;)
        if (has_days(f, metric_find(s))) return metric_find(s)->title;
    return NULL;
}

/* The state of a thing: its newest result, or how it has been of late. */
static struct weir_slice state_of(struct focus *f, const char *thing)
{
    bool is_lab = analyte_find(weir_slice_of(thing)) && !metric_find(weir_slice_of(thing));
    if (is_lab) return formed(f, "What is my latest ", thing, " result?");
    if (weir_slice_is(f->pattern, "judge"))
        return formed(f, "What was my average ", thing, " over the last 30 days?");
    return formed(f, title_is_plural(thing) ? "How are my " : "How is my ", thing, "?");
}

/* "Why is my pulse higher this week?": how it changed in the window that the end names. */
static struct weir_slice change_in_window(struct focus *f, const char *thing)
{
    char head[THING_BYTES + 32], tail[FOCUS_BYTES / 2];
    struct ask_reading *reading = arena_alloc(f->c->arena, sizeof *reading);
    size_t end = f->said.n > 0 ? f->said.n - 1 : 0;
    snprintf(head, sizeof head, "Did my %s change ", thing);
    for (size_t i = 1; i < end && reading; i++) {
        if (said_join(&f->said, i, end, tail, sizeof tail) == 0) continue;
        struct weir_slice text = formed(f, head, tail, "?");
        if (ask_read(reading, text, f->c->data, f->c->arena) != WEIR_OK) break;
        const struct plan_window *w = &reading->plan.window;
        bool is_open = w->last == 0 && w->from == DAY_NONE && w->to == DAY_NONE;
        if (reading->is_understood && !is_open) return text;
    }
    return (struct weir_slice){0};
}

static struct weir_slice for_science(struct focus *f)
{
    char thing[THING_BYTES];
    bool is_judge = weir_slice_is(f->pattern, "judge");
    if (!is_judge && is_understood(f, f->question)) return f->question;
    struct weir_slice text = without_why(f);
    if (is_understood(f, text)) return text;
    bool is_data = weir_slice_is(f->pattern, "data");
    if (is_data) return f->question; /* the agent takes it apart, or says what is wrong with it */
    bool has_thing = find_thing(f, thing);
    const char *usual = has_thing ? NULL : usual_thing(f);
    if (!has_thing && !usual) return f->question;
    bool is_of_change = weir_slice_is(f->pattern, "why") || weir_slice_is(f->pattern, "meaningful");
    text = has_thing && is_of_change ? change_in_window(f, thing) : (struct weir_slice){0};
    if (text.len > 0) return text;
    return state_of(f, has_thing ? thing : usual);
}

static void put(struct weir_buf *out, struct weir_slice agent, struct focus *f)
{
    bool is_science = weir_slice_is(agent, "data_science");
    struct weir_slice text = is_science ? for_science(f) : f->question;
    if (text.len > AGENT_QUESTION_BYTES) text.len = AGENT_QUESTION_BYTES;
    weir_json_put_key_slice(out, agent);
    weir_json_put_string(out, text);
}

enum weir_status agent_rephrase(struct agent_case *c, struct weir_buf *out)
{
    const struct weir_json *route = agent_output(c, "route");
    /* A data scientist without a model reads only what the grammar of questions reads. */
    bool is_search = weir_slice_is(agent_text(route, "main"), "investigator");
    if (c->has_model[MODEL_FAST] && c->has_model[MODEL_MAIN] && !is_search)
        return llm_rephrase(c, out);
    struct focus *f = arena_alloc(c->arena, sizeof *f);
    if (!f) return c->arena->status;
    *f = (struct focus){.c = c, .pattern = agent_text(route, "pattern")};
    /* A model that only routes has said no more than who is to answer. */
    bool is_of_data = weir_slice_is(f->pattern, "model") &&
                      weir_slice_is(agent_text(route, "main"), "data_science");
    if (is_of_data) f->pattern = SLICE("data");
    enum weir_status st = resolve_question(c, &f->question);
    if (st == WEIR_OK) st = said_read(&f->said, f->question, c->data, c->arena);
    if (st != WEIR_OK) return st;
    const struct weir_json *supporting = weir_json_get_str(route, "supporting");
    weir_json_put_begin_object(out);
    if (agent_text(route, "main").len > 0) put(out, agent_text(route, "main"), f);
    for (const struct weir_json *s = weir_json_first(supporting); s; s = weir_json_next(s))
        put(out, weir_json_text(s), f);
    weir_json_put_end_object(out);
    return weir_buf_status(out);
}
