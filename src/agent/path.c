/* SPDX-License-Identifier: Apache-2.0 */
/* Which way a question goes, and the whole way in one go. */
#include "agent/path.h"

#include <stdio.h>
#include <string.h>

#include "base/slice.h"

enum {
    ANSWER_STEPS = 8,
    OUTPUT_BYTES = 3 << 20, /* of a step */
    VALUES_BYTES = 256 << 20,
};

static const struct weir_json *get(const struct outputs *o, const char *step)
{
    return o->get(o->user, step);
}

static struct weir_slice text_of(const struct weir_json *object, const char *key)
{
    return weir_json_text(weir_json_get_str(object, key));
}

/* ---- the way ---- */

static const char investigator[] = "investigator";

/* One of those that can be routed to; NULL: no such agent. */
static const char *find_agent(struct weir_slice name)
{
    static const char *const names[] = {"data_science", "domain_expert", "health_coach"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (weir_slice_is(name, names[i])) return names[i];
    return NULL;
}

enum turn_path path_of(const struct outputs *o)
{
    const struct weir_json *route = get(o, "route");
    if (text_of(route, "safety").len > 0) return PATH_TALK;
    bool is_vague = weir_slice_is(text_of(get(o, "classify_vagueness"), "vagueness"), "high");
    if (is_vague || weir_slice_is(text_of(route, "main"), investigator)) return PATH_SEARCH;
    return find_agent(text_of(route, "main")) ? PATH_AGENTS : PATH_TALK;
}

const char *main_agent(const struct outputs *o)
{
    return path_of(o) == PATH_AGENTS ? find_agent(text_of(get(o, "route"), "main")) : NULL;
}

static bool has_name(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

size_t supporting_agents(const struct outputs *o, const char *names[MAX_SUPPORTING])
{
    size_t n = 0;
    const char *main = main_agent(o);
    if (path_of(o) == PATH_SEARCH) {
        names[0] = investigator;
        return 1;
    }
    if (!main) return 0;
    const struct weir_json *list = weir_json_get_str(get(o, "route"), "supporting");
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        const char *name = find_agent(weir_json_text(v));
        bool is_new = name && strcmp(name, main) != 0 && !has_name(names, n, name);
        if (is_new && n < MAX_SUPPORTING) names[n++] = name;
    }
    return n;
}

const struct weir_json *agents_view(const struct outputs *o, const char *step)
{
    bool is_main = strcmp(step, "run_main_agent") == 0;
    bool is_supporting = strcmp(step, "run_supporting_agents") == 0;
    if ((!is_main && !is_supporting) || path_of(o) != PATH_SEARCH) return get(o, step);
    if (is_supporting) return NULL;
    return weir_json_get_str(get(o, "run_supporting_agents"), investigator);
}

/* ---- the whole way ---- */

struct straight {
    struct agent_case *c;          /* as the steps see it */
    const struct agent_case *from; /* as it was given */
    struct weir_json_doc *doc;
    struct {
        const char *name;
        const struct weir_json *output;
    } steps[ANSWER_STEPS];
    size_t n;
    struct outputs outputs;
};

static const struct weir_json *recorded(void *user, const char *step)
{
    const struct straight *s = user;
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->steps[i].name, step) == 0) return s->steps[i].output;
    return NULL;
}

static const struct weir_json *seen(void *user, const char *step)
{
    const struct straight *s = user;
    return agents_view(&s->outputs, step);
}

static bool is_over(void *user)
{
    const struct straight *s = user;
    return s->from->is_aborted && s->from->is_aborted(s->from->user);
}

static void say_nothing(void *user, const char *type, struct weir_slice json)
{
    (void)user;
    (void)type;
    (void)json;
}

static enum weir_status keep(struct straight *s, const char *name, struct weir_buf *out)
{
    const struct weir_json *json;
    enum weir_status st = weir_buf_status(out);
    if (st == WEIR_OK) st = weir_json_parse(s->doc, weir_buf_slice(out), &json, NULL);
    if (st != WEIR_OK) return st;
    s->steps[s->n].name = name;
    s->steps[s->n++].output = json;
    return WEIR_OK;
}

static enum weir_status step(struct straight *s, const char *name,
                             enum weir_status (*fn)(struct agent_case *c, struct weir_buf *out))
{
    struct weir_buf out;
    weir_buf_init(&out, OUTPUT_BYTES);
    s->c->n_findings = 0;
    enum weir_status st = fn(s->c, &out);
    if (st == WEIR_OK) st = keep(s, name, &out);
    weir_buf_fini(&out);
    return st;
}

static struct weir_slice question_for(const struct straight *s, const char *agent)
{
    struct weir_slice text = text_of(get(&s->outputs, "rephrase_per_agent"), agent);
    return text.len > 0 ? text : s->c->question;
}

static enum weir_status support(struct straight *s)
{
    const char *names[MAX_SUPPORTING];
    struct weir_buf out;
    size_t n = supporting_agents(&s->outputs, names);
    enum weir_status st = WEIR_OK;
    if (n == 0) return WEIR_OK;
    weir_buf_init(&out, OUTPUT_BYTES);
    weir_json_put_begin_object(&out);
    for (size_t i = 0; st == WEIR_OK && i < n; i++) {
        weir_json_put_key(&out, names[i]);
        s->c->n_findings = 0;
        st = agent_work(s->c, names[i], question_for(s, names[i]), &out);
    }
    weir_json_put_end_object(&out);
    if (st == WEIR_OK) st = keep(s, "run_supporting_agents", &out);
    weir_buf_fini(&out);
    return st;
}

static enum weir_status run_main(struct straight *s)
{
    const char *agent = main_agent(&s->outputs);
    struct weir_buf out;
    if (!agent) return WEIR_OK;
    weir_buf_init(&out, OUTPUT_BYTES);
    s->c->n_findings = 0;
    enum weir_status st = agent_work(s->c, agent, question_for(s, agent), &out);
    if (st == WEIR_OK) st = keep(s, "run_main_agent", &out);
    weir_buf_fini(&out);
    return st == WEIR_OK ? step(s, "reflection", agent_reflect) : st;
}

static enum weir_status walk(struct straight *s)
{
    enum weir_status st = step(s, "classify_vagueness", agent_classify);
    if (st == WEIR_OK) st = step(s, "route", agent_route);
    bool has_agents = st == WEIR_OK && path_of(&s->outputs) != PATH_TALK;
    if (has_agents) st = step(s, "rephrase_per_agent", agent_rephrase);
    if (st == WEIR_OK) st = support(s);
    if (st == WEIR_OK) st = run_main(s);
    if (st == WEIR_OK && has_agents) st = step(s, "validation_gates", agent_validate);
    return st == WEIR_OK ? step(s, "synthesis", agent_synthesize) : st;
}

enum weir_status agent_answer(struct agent_case *c, struct weir_buf *text)
{
    struct agent_case view = *c;
    struct straight s = {.c = &view, .from = c, .doc = weir_json_doc_new(VALUES_BYTES)};
    if (!s.doc) return WEIR_NOMEM;
    s.outputs = (struct outputs){recorded, &s};
    view.output = seen;
    view.emit = say_nothing;
    view.ask = NULL;
    view.is_aborted = is_over;
    view.user = &s;
    enum weir_status st = walk(&s);
    struct weir_slice answer = text_of(recorded(&s, "synthesis"), "answer");
    if (st == WEIR_OK && answer.len == 0) st = WEIR_UNPROCESSABLE;
    if (st == WEIR_OK) weir_buf_append_slice(text, answer);
    weir_json_doc_free(s.doc);
    return st == WEIR_OK ? weir_buf_status(text) : st;
}
