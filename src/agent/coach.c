/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coach: small next steps for what the question, or a goal in memory, is about. The steps are
 * rows of coach.def and hold no number; what the person's data say is the data scientist's part of
 * the answer. Which of several rows come first changes from turn to turn, by the turn's seed.
 */
#include <stdio.h>

#include "agent/finding.h"
#include "agent/llm_impl.h"
#include "base/slice.h"

enum { STEPS = LLM_STEPS, TOPIC_BYTES = 64, TITLE_BYTES = 96, NAMES_BYTES = 128 };

static const struct advice {
    const char *topics, *without, *step, *source;
} advices[] = {
#define ADVICE(topics, without, step, source) {topics, without, step, source},
#include "agent/coach.def"
#undef ADVICE
};

enum { N_ADVICES = sizeof advices / sizeof *advices };

struct topic_of {
    char name[TOPIC_BYTES], group[TOPIC_BYTES], title[TITLE_BYTES];
    bool is_goal;
};

struct coach {
    struct agent_case *c;
    struct topic_of topic;
    const struct advice *chosen[STEPS];
    size_t n;
    struct llm_advice advice; /* of a model; n is 0: there is none */
    struct weir_buf text;
};

/* ---- what it is about ---- */

static bool set_metric(struct topic_of *t, const struct metric *m)
{
    if (!m) return false;
    snprintf(t->name, sizeof t->name, "%s", m->name);
    snprintf(t->group, sizeof t->group, "%s", m->group);
    snprintf(t->title, sizeof t->title, "your %s", m->title);
    return true;
}

static bool set_analyte(struct topic_of *t, const struct analyte *a)
{
    if (!a) return false;
    snprintf(t->name, sizeof t->name, "%s", a->name);
    snprintf(t->group, sizeof t->group, "%s", "labs");
    snprintf(t->title, sizeof t->title, "your %s", a->title);
    return true;
}

static void set_plain(struct topic_of *t, const char *name, const char *title)
{
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->group, sizeof t->group, "%s", name);
    snprintf(t->title, sizeof t->title, "%s", title);
}

static bool topic_from_words(struct coach *k, const struct said *s)
{
    char phrase[NAMES_BYTES];
    for (size_t i = 0; i < s->n; i++) {
        if (s->words[i].thing == 0) continue;
        size_t len = said_join(s, i, i + s->words[i].thing, phrase, sizeof phrase);
        struct weir_slice name = slice_of(phrase, len);
        if (set_metric(&k->topic, metric_find(name)) || set_analyte(&k->topic, analyte_find(name)))
            return true;
    }
    return false;
}

static bool topic_from_memory(struct coach *k)
{
    for (const struct weir_json *m = weir_json_first(k->c->memory); m; m = weir_json_next(m)) {
        struct weir_slice name = agent_text(weir_json_get_str(m, "data"), "metric");
        if (!weir_slice_is(agent_text(m, "category"), "goal") || name.len == 0) continue;
        k->topic.is_goal = set_metric(&k->topic, metric_find(name));
        if (k->topic.is_goal) return true;
    }
    return false;
}

static void find_topic(struct coach *k, const struct said *s)
{
    bool is_today = said_has(s, "should|shall i .. train|rest|work|exercise|run|workout|gym|lift");
    bool is_plan = said_has(s, "train|training|workout|exercise .. plan|program|routine|schedule");
    if (is_today || is_plan) set_plain(&k->topic, "training", "your training");
    else if (!topic_from_words(k, s) && !topic_from_memory(k))
        set_plain(&k->topic, "general", "a new habit");
}

/* ---- steps ---- */

static bool is_listed(const char *list, const char *name)
{
    size_t at = 0;
    for (struct weir_slice s = alias_next(list, &at); s.len > 0; s = alias_next(list, &at))
        if (weir_slice_is(s, name)) return true;
    return false;
}

/* Whether a preference of the person speaks against it. */
static bool is_unwanted(const struct coach *k, const struct advice *a)
{
    for (const struct weir_json *m = weir_json_first(k->c->memory); m; m = weir_json_next(m)) {
        struct weir_slice diet = agent_text(weir_json_get_str(m, "data"), "diet");
        char name[TOPIC_BYTES];
        if (diet.len == 0 || diet.len >= sizeof name) continue;
        memcpy(name, diet.ptr, diet.len);
        name[diet.len] = '\0';
        if (is_listed(a->without, name)) return true;
    }
    return false;
}

static void choose(struct coach *k, const char *topic)
{
    /* A model has its own way of not saying the same every time. */
    size_t start = k->c->has_model[MODEL_MAIN] ? 0 : (size_t)(k->c->seed % N_ADVICES);
    for (size_t i = 0; i < N_ADVICES && k->n < STEPS; i++) {
        const struct advice *a = &advices[(start + i) % N_ADVICES];
        bool is_there = false;
        for (size_t j = 0; j < k->n; j++) is_there = is_there || k->chosen[j] == a;
        if (!is_there && is_listed(a->topics, topic) && !is_unwanted(k, a)) k->chosen[k->n++] = a;
    }
}

static void think(struct coach *k, const char *text)
{
    size_t from = k->text.len;
    weir_buf_append_str(&k->text, text);
    weir_buf_append_char(&k->text, ' ');
    struct weir_slice all = weir_buf_slice(&k->text);
    if (weir_buf_status(&k->text) == WEIR_OK)
        agent_think(k->c, "health_coach", NULL, slice_from(all, from));
}

static void put_list(struct weir_buf *out, const struct coach *k, bool is_source)
{
    const struct llm_advice *a = &k->advice;
    weir_json_put_key(out, is_source ? "sources" : "steps");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < a->n; i++)
        weir_json_put_string(out, is_source ? weir_slice_of(a->sources[i]) : a->steps[i]);
    for (size_t i = 0; a->n == 0 && i < k->n; i++)
        weir_json_put_str(out, is_source ? k->chosen[i]->source : k->chosen[i]->step);
    weir_json_put_end_array(out);
}

static void put_line(struct weir_buf *out, const char *key, struct weir_slice text)
{
    weir_json_put_key(out, key);
    weir_json_put_begin_array(out);
    weir_json_put_string(out, text);
    weir_json_put_end_array(out);
}

static void put_empty(struct weir_buf *out, const char *key)
{
    weir_json_put_key(out, key);
    weir_json_put_begin_array(out);
    weir_json_put_end_array(out);
}

static void put_result(struct weir_buf *out, const struct coach *k, struct weir_slice question)
{
    char line[TITLE_BYTES + 160];
    snprintf(line, sizeof line, "For %s%s, small changes are enough to begin with.", k->topic.title,
             k->topic.is_goal ? ", with your goal in mind" : "");
    struct weir_slice opening = k->advice.n > 0 ? k->advice.opening : weir_slice_of(line);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "agent");
    weir_json_put_str(out, "health_coach");
    weir_json_put_key(out, "question");
    weir_json_put_string(out, question);
    weir_json_put_key(out, "summary");
    weir_json_put_string(out, text_cut(opening, AGENT_SUMMARY_BYTES));
    weir_json_put_key(out, "text");
    weir_json_put_string(out, weir_buf_slice(&k->text));
    put_empty(out, "findings");
    put_empty(out, "facts");
    put_line(out, "says", opening);
    put_list(out, k, false);
    put_list(out, k, true);
    put_line(out, "caveats",
             SLICE("This is general advice and no diagnosis; with symptoms, an illness or "
                   "medicines, ask your doctor first."));
    weir_json_put_end_object(out);
}

static enum weir_status ask_model(struct coach *k, struct weir_slice question)
{
    struct llm_row rows[STEPS];
    for (size_t i = 0; i < k->n; i++)
        rows[i] = (struct llm_row){k->chosen[i]->step, k->chosen[i]->source};
    return llm_coach(k->c, question, rows, k->n, &k->advice);
}

static void think_steps(struct coach *k)
{
    for (size_t i = 0; i < k->advice.n; i++) think(k, k->advice.steps[i].ptr);
    for (size_t i = 0; k->advice.n == 0 && i < k->n; i++) think(k, k->chosen[i]->step);
}

enum weir_status health_coach_work(struct agent_case *c, struct weir_slice question,
                                   struct weir_buf *out)
{
    struct said said;
    struct coach k = {.c = c};
    char line[TITLE_BYTES + 64];
    enum weir_status st = said_read(&said, question, c->data, c->arena);
    if (st != WEIR_OK) return st;
    weir_buf_init(&k.text, AGENT_TEXT_BYTES);
    find_topic(&k, &said);
    choose(&k, k.topic.name);
    choose(&k, k.topic.group);
    choose(&k, "general");
    snprintf(line, sizeof line, "Looking for small changes that help with %s.", k.topic.title);
    think(&k, line);
    if (c->has_model[MODEL_MAIN]) st = ask_model(&k, question);
    if (st == WEIR_OK) {
        think_steps(&k);
        put_result(out, &k, question);
        st = weir_buf_status(&k.text);
    }
    weir_buf_fini(&k.text);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
