/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nine steps of a turn, as a table, and what stands between the engine, which knows nothing of
 * agents, and the agents, which know nothing of the engine: the case that an agent works on, its
 * failures as those of a step, and the warning about cost.
 *
 *   path    | steps that run
 *   --------+-------------------------------------------------------------
 *   agents  | all; 4 when there are supporting agents
 *   search  | 1 2 3 4 7 8 9; step 4 is the investigator
 *   talk    | 1 2 8 9
 */
#include "agent/agent.h"
#include "base/check.h"
#include "base/slice.h"
#include "turn/memory.h"
#include "turn/turn_impl.h"

enum {
    CONTEXT_JSON_BYTES = 8 << 20, /* what a turn is given of memory, as values */
    ATTEMPTS = 3,
    BACKOFF_MS = 500,
    SHORT_LIMIT_MS = 5 * 60 * 1000, /* more than a slow model takes, or --turn-pace may be */
    LONG_LIMIT_MS = 10 * 60 * 1000,
};

static const double default_cost_warn_usd = 0.50;

/* ---- a case ---- */

/* One agent at work. */
struct work {
    struct agent_case c;
    struct flow_step *step;
    const struct outputs *outputs;
    struct shelved data;
    struct weir_json_doc *context;
};

static const struct weir_json *get_output(void *user, const char *step)
{
    return flow_output(user, step);
}

static struct outputs outputs_of(struct flow_step *s)
{
    return (struct outputs){get_output, s};
}

static const struct weir_json *case_output(void *user, const char *step)
{
    const struct work *w = user;
    return agents_view(w->outputs, step);
}

static void case_emit(void *user, const char *type, struct weir_slice json)
{
    const struct work *w = user;
    flow_emit(w->step, type, json);
}

static void case_spend(void *user, double usd)
{
    const struct work *w = user;
    flow_add_cost(w->step, usd);
}

static enum weir_status parse_context(struct work *w, struct weir_slice body,
                                      const struct weir_json **context)
{
    w->context = weir_json_doc_new(CONTEXT_JSON_BYTES);
    if (!w->context) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(w->context, body, context, NULL);
    return st == WEIR_OK || st == WEIR_NOMEM ? st : WEIR_CORRUPT;
}

/* What the first commit has put aside, or puts aside at this moment: the first step may be faster.
 */
static enum weir_status find_context(struct work *w, const struct weir_json **context)
{
    struct doc doc;
    struct weir_buf fresh;
    struct flow_step *s = w->step;
    enum weir_status st = store_doc_get(flow_store(s), context_key(flow_id(s)), &doc);
    if (st == WEIR_OK) {
        st = parse_context(w, doc.body, context);
        doc_fini(&doc);
        return st;
    }
    if (st != WEIR_NOT_FOUND) return st;
    weir_buf_init(&fresh, CONTEXT_BYTES);
    context_put(&fresh, flow_store(s), flow_owner(s), flow_input(s));
    st = weir_buf_status(&fresh);
    if (st == WEIR_OK) st = parse_context(w, weir_buf_slice(&fresh), context);
    weir_buf_fini(&fresh);
    return st;
}

static enum weir_status load_context(struct work *w)
{
    const struct weir_json *context = NULL;
    enum weir_status st = find_context(w, &context);
    if (st != WEIR_OK) return st;
    case_set_context(&w->c, context);
    return WEIR_OK;
}

static enum weir_status work_begin(struct work *w, struct flow_step *s, const struct outputs *o,
                                   struct arena *arena)
{
    struct turns *t = flow_user(s);
    *w = (struct work){.step = s, .outputs = o};
    case_init(&w->c, flow_id(s), weir_json_get_str(flow_input(s), "messages"));
    w->c.clock = flow_clock(s);
    w->c.arena = arena;
    w->c.output = case_output;
    w->c.emit = case_emit;
    w->c.spend = case_spend;
    w->c.user = w;
    enum weir_status st = shelf_take(&t->shelf, flow_owner(s), &w->data);
    w->c.data = w->data.data;
    return st == WEIR_OK ? load_context(w) : st;
}

static void work_end(struct work *w)
{
    struct turns *t = flow_user(w->step);
    shelf_give(&t->shelf, &w->data);
    weir_json_doc_free(w->context);
}

/* ---- the end of a step ---- */

struct spent {
    double usd;
};

static enum weir_status add_spent(void *user, const struct flow_step_info *info)
{
    struct spent *spent = user;
    if (info->output.len > 0) spent->usd += info->cost_usd;
    return WEIR_OK;
}

void steps_warn_of_cost(struct flow_step *s)
{
    const struct turns *t = flow_user(s);
    struct spent spent = {0};
    char at[CLOCK_TEXT_BYTES];
    struct weir_buf json;
    double limit = t->options.cost_warn_usd > 0 ? t->options.cost_warn_usd : default_cost_warn_usd;
    if (flow_cost(s) <= limit) return;
    /* The step whose end passes the limit tells it, and no later one. */
    if (flow_each_step(flow_store(s), flow_id(s), add_spent, &spent) != WEIR_OK) return;
    if (spent.usd > limit) return;
    clock_format(at, clock_wall_ms(flow_clock(s)));
    weir_buf_init(&json, 512);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "turn_id");
    weir_json_put_string(&json, flow_id(s));
    weir_json_put_key(&json, "cost_usd");
    weir_json_put_double(&json, flow_cost(s));
    weir_json_put_key(&json, "threshold_usd");
    weir_json_put_double(&json, limit);
    weir_json_put_key(&json, "at");
    weir_json_put_str(&json, at);
    weir_json_put_end_object(&json);
    if (weir_buf_status(&json) == WEIR_OK) flow_emit(s, "cost_warning", weir_buf_slice(&json));
    weir_buf_fini(&json);
}

static void finish(struct flow_step *s, enum weir_status st, const char *why,
                   const struct weir_buf *out)
{
    if (st == WEIR_OK) st = weir_buf_status(out);
    if (st == WEIR_OK) {
        steps_warn_of_cost(s);
        flow_done(s, weir_buf_slice(out));
        return;
    }
    struct flow_failure failure = {.code = st, .is_final = !weir_status_is_retryable(st)};
    size_t len = strlen(why);
    if (len >= sizeof failure.message) len = sizeof failure.message - 1;
    memcpy(failure.message, why, len);
    flow_fail(s, &failure);
}

/* Whether it is to end before it has begun; it has ended then. */
static bool gave_up(struct flow_step *s)
{
    bool is_aborted = flow_is_aborted(s);
    if (is_aborted) finish(s, WEIR_CANCELLED, "", NULL);
    return is_aborted;
}

/* ---- steps of one call ---- */

typedef enum weir_status (*agent_fn)(struct agent_case *c, struct weir_buf *out);

static void call(struct flow_step *s, agent_fn fn)
{
    struct work w;
    struct weir_buf out;
    struct outputs outputs = outputs_of(s);
    if (gave_up(s)) return;
    weir_buf_init(&out, FLOW_OUTPUT_BYTES);
    enum weir_status st = work_begin(&w, s, &outputs, flow_arena(s));
    if (st == WEIR_OK) st = fn(&w.c, &out);
    work_end(&w);
    finish(s, st, w.c.why, &out);
    weir_buf_fini(&out);
}

static void classify(struct flow_step *s)
{
    call(s, agent_classify);
}

static void route(struct flow_step *s)
{
    call(s, agent_route);
}

static void rephrase(struct flow_step *s)
{
    call(s, agent_rephrase);
}

static void reflect(struct flow_step *s)
{
    call(s, agent_reflect);
}

static void validate(struct flow_step *s)
{
    call(s, agent_validate);
}

static void synthesize(struct flow_step *s)
{
    call(s, agent_synthesize);
}

/* ---- agents ---- */

static enum weir_status work_as_main(struct agent_case *c, struct weir_buf *out)
{
    const struct work *w = c->user;
    const char *agent = main_agent(w->outputs);
    CHECK(agent); /* or the step would not apply */
    return agent_work(c, agent, case_question(w->outputs, c, agent), out);
}

static void run_main(struct flow_step *s)
{
    call(s, work_as_main);
}

/* Supporting agents work at the same time, on threads of their own. */
struct part {
    const char *agent;
    struct weir_buf out;
    enum weir_status status;
    char why[AGENT_WHY_BYTES];
};

struct parts {
    size_t n;
    struct part parts[MAX_SUPPORTING];
};

static void run_part(struct flow_step *s, size_t i)
{
    struct parts *p = flow_data(s);
    struct part *part = &p->parts[i];
    struct outputs outputs = outputs_of(s);
    struct work w;
    part->status = work_begin(&w, s, &outputs, flow_part_arena(s, i));
    if (part->status == WEIR_OK)
        part->status =
            agent_work(&w.c, part->agent, case_question(&outputs, &w.c, part->agent), &part->out);
    if (part->status == WEIR_OK) part->status = weir_buf_status(&part->out);
    memcpy(part->why, w.c.why, sizeof part->why);
    work_end(&w);
}

static void join_parts(struct flow_step *s)
{
    struct parts *p = flow_data(s);
    struct weir_buf out;
    enum weir_status st = WEIR_OK;
    const char *why = "";
    weir_buf_init(&out, FLOW_OUTPUT_BYTES);
    weir_json_put_begin_object(&out);
    for (size_t i = 0; i < p->n; i++) {
        struct part *part = &p->parts[i];
        if (st == WEIR_OK && part->status != WEIR_OK) {
            st = part->status;
            why = part->why;
        }
        weir_json_put_key(&out, part->agent);
        weir_buf_append_slice(&out, weir_buf_slice(&part->out));
        weir_buf_fini(&part->out);
    }
    weir_json_put_end_object(&out);
    finish(s, st, why, &out);
    weir_buf_fini(&out);
}

static void support(struct flow_step *s)
{
    const char *names[MAX_SUPPORTING];
    struct outputs outputs = outputs_of(s);
    if (gave_up(s)) return;
    struct parts *p = arena_alloc(flow_arena(s), sizeof *p);
    if (!p) {
        finish(s, WEIR_NOMEM, "", NULL);
        return;
    }
    *p = (struct parts){.n = supporting_agents(&outputs, names)};
    for (size_t i = 0; i < p->n; i++) {
        p->parts[i].agent = names[i];
        weir_buf_init(&p->parts[i].out, FLOW_OUTPUT_BYTES);
    }
    flow_set_data(s, p);
    flow_parallel(s, p->n, run_part, join_parts);
}

/* ---- memory ---- */

/* What the person has removed meanwhile stays so; what was changed meanwhile is looked at again. */
static void put_memory(void *user, struct weir_slice id, bool is_change, struct weir_slice body)
{
    struct flow_step *s = user;
    struct doc old = {0};
    int64_t version = DOC_ANY_VERSION;
    if (is_change) {
        enum weir_status st = store_doc_get(flow_store(s), memory_key(id), &old);
        bool is_theirs = st == WEIR_OK && slice_eq(old.owner, flow_owner(s));
        version = old.version;
        doc_fini(&old);
        if (!is_theirs) return;
    }
    flow_put(s, memory_key(id), version, body);
}

static enum weir_status remember_all(struct agent_case *c, struct weir_buf *out)
{
    const struct work *w = c->user;
    struct weir_buf brought;
    struct memory_origin origin = {c->turn_id, clock_wall_ms(c->clock), c->memory};
    weir_buf_init(&brought, FLOW_OUTPUT_BYTES);
    enum weir_status st = agent_remember(c, &brought);
    if (st == WEIR_OK) st = weir_buf_status(&brought);
    if (st == WEIR_OK)
        st = memory_complete(out, weir_buf_slice(&brought), &origin, put_memory, w->step);
    weir_buf_fini(&brought);
    return st;
}

static void remember(struct flow_step *s)
{
    call(s, remember_all);
}

/* ---- the table ---- */

static bool has_agents(struct flow_step *s)
{
    struct outputs o = outputs_of(s);
    return path_of(&o) != PATH_TALK;
}

static bool has_support(struct flow_step *s)
{
    const char *names[MAX_SUPPORTING];
    struct outputs o = outputs_of(s);
    return supporting_agents(&o, names) > 0;
}

static bool has_main(struct flow_step *s)
{
    struct outputs o = outputs_of(s);
    return main_agent(&o) != NULL;
}

/* The pause before a step, if there shall be one. */
#define PACED(name)                                                                                \
    static void run_##name(struct flow_step *s)                                                    \
    {                                                                                              \
        const struct turns *t = flow_user(s);                                                      \
        if (t->pacer) pacer_wait(t->pacer, s, name);                                               \
        else name(s);                                                                              \
    }
PACED(classify)
PACED(route)
PACED(rephrase)
PACED(support)
PACED(run_main)
PACED(reflect)
PACED(validate)
PACED(synthesize)
PACED(remember)

const struct step turn_steps[TURN_STEPS] = {
    {"classify_vagueness", run_classify, NULL, ATTEMPTS, BACKOFF_MS, SHORT_LIMIT_MS},
    {"route", run_route, NULL, ATTEMPTS, BACKOFF_MS, SHORT_LIMIT_MS},
    {"rephrase_per_agent", run_rephrase, has_agents, ATTEMPTS, BACKOFF_MS, SHORT_LIMIT_MS},
    {"run_supporting_agents", run_support, has_support, ATTEMPTS, BACKOFF_MS, LONG_LIMIT_MS},
    {"run_main_agent", run_run_main, has_main, ATTEMPTS, BACKOFF_MS, LONG_LIMIT_MS},
    {"reflection", run_reflect, has_main, ATTEMPTS, BACKOFF_MS, LONG_LIMIT_MS},
    {"validation_gates", run_validate, has_agents, ATTEMPTS, BACKOFF_MS, LONG_LIMIT_MS},
    {"synthesis", run_synthesize, NULL, ATTEMPTS, BACKOFF_MS, LONG_LIMIT_MS},
    {"memory_extraction", run_remember, NULL, ATTEMPTS, BACKOFF_MS, SHORT_LIMIT_MS},
};
