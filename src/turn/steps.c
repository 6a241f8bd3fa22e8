/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nine steps of a turn, as a table, and what stands between the engine, which knows nothing of
 * agents, and the agents, which know nothing of the engine: the case that an agent works on, and
 * its failures as those of a step. Each agent is a part of its step, and one that needs an answer
 * of a model is called again when it has come: see call/ask.c.
 *
 *   path    | steps that run
 *   --------+-------------------------------------------------------------
 *   agents  | all; 4 when there are supporting agents
 *   search  | 1 2 3 4 7 8 9; step 4 is the investigator
 *   talk    | 1 2 8 9
 */
#include "agent/agent.h"
#include "agent/memory.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "turn/turn_impl.h"

enum {
    CONTEXT_JSON_BYTES = 8 << 20, /* what a turn is given of memory, as values */
    ATTEMPTS = 3,
    BACKOFF_MS = 500,
    SHORT_LIMIT_MS = 5 * 60 * 1000, /* more than a slow model takes, or --turn-pace may be */
    LONG_LIMIT_MS = 10 * 60 * 1000,
};

/* ---- a case ---- */

/* One pass of an agent at work. */
struct work {
    struct agent_case c;
    struct flow_step *step;
    struct asker *asker;
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

static bool case_is_aborted(void *user)
{
    const struct work *w = user;
    return flow_is_aborted(w->step);
}

static void case_emit(void *user, const char *type, struct weir_slice json)
{
    const struct work *w = user;
    asker_emit(w->asker, type, json);
}

static enum weir_status case_ask(void *user, const struct model_request *request, const char *agent,
                                 const struct model_answer **answer)
{
    struct work *w = user;
    const struct call_found *f;
    struct values_asker who = {w->step, w->asker, w->c.arena};
    enum weir_status st = call_values_ask(w->asker->user, &who, request, agent, &f, answer);
    if (st == WEIR_OK && f->call.ended_ms > f->call.began_ms)
        w->c.waited_ms += (uint64_t)(f->call.ended_ms - f->call.began_ms);
    return st;
}

static void set_models(struct agent_case *c, struct models *m)
{
    for (int role = 0; m && role < MODEL_N_ROLES; role++) {
        c->has_model[role] = models_has(m, (enum model_role)role);
        if (c->has_model[role]) c->ask = case_ask;
    }
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

static enum weir_status work_begin(struct work *w, struct asker *asker, const struct outputs *o,
                                   struct arena *arena)
{
    struct flow_step *s = asker->step;
    struct turns *t = flow_user(s);
    *w = (struct work){.step = s, .asker = asker, .outputs = o};
    case_init(&w->c, flow_id(s), weir_json_get_str(flow_input(s), "messages"));
    w->c.clock = flow_clock(s);
    w->c.arena = arena;
    w->c.output = case_output;
    w->c.emit = case_emit;
    w->c.is_aborted = case_is_aborted;
    w->c.user = w;
    set_models(&w->c, t->options.models);
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

/* ---- an attempt ---- */

typedef enum weir_status (*agent_fn)(struct agent_case *c, struct weir_buf *out);

/* An agent in its own part of the step, over all passes. */
struct lane {
    struct asker asker;
    const char *agent; /* of step 4 */
    struct weir_buf out;
    enum weir_status status;
    char why[AGENT_WHY_BYTES];
};

struct attempt {
    struct list_node node;
    struct call_values values;
    agent_fn fn; /* NULL: step 4, whose output has one member for each agent */
    size_t n;
    struct lane lanes[];
};

static struct attempt *attempt_new(struct flow_step *s, agent_fn fn, size_t n)
{
    struct turns *t = flow_user(s);
    struct attempt *a = mem_zalloc(sizeof *a + n * sizeof a->lanes[0]);
    if (!a) return NULL;
    a->fn = fn;
    a->n = n;
    call_values_init(&a->values, &t->values, flow_id(s));
    for (size_t i = 0; i < n; i++) {
        asker_init(&a->lanes[i].asker, &t->host, s, (unsigned)i);
        a->lanes[i].asker.user = &a->values;
    }
    pthread_mutex_lock(&t->attempts_lock);
    list_push_back(&t->attempts, &a->node);
    pthread_mutex_unlock(&t->attempts_lock);
    return a;
}

static void attempt_free(struct attempt *a)
{
    for (size_t i = 0; i < a->n; i++) {
        asker_fini(&a->lanes[i].asker);
        weir_buf_fini(&a->lanes[i].out);
    }
    call_values_fini(&a->values);
    mem_free(a);
}

void steps_forget_attempts(struct turns *t)
{
    struct list_node *node;
    while ((node = list_pop_front(&t->attempts)))
        attempt_free(CONTAINER_OF(node, struct attempt, node));
}

static void abort_calls(void *attempt)
{
    struct attempt *a = attempt;
    for (size_t i = 0; i < a->n; i++) asker_abort(&a->lanes[i].asker);
}

static bool next_thought(void *attempt, struct weir_buf *json)
{
    struct attempt *a = attempt;
    for (size_t i = 0; i < a->n; i++)
        if (asker_next_text(&a->lanes[i].asker, json)) return true;
    return false;
}

/* ---- its end ---- */

static void fail_step(struct flow_step *s, enum weir_status st, const char *why)
{
    struct flow_failure failure = {.code = st, .is_final = !weir_status_is_retryable(st)};
    size_t len = strlen(why);
    if (len >= sizeof failure.message) len = sizeof failure.message - 1;
    memcpy(failure.message, why, len);
    flow_fail(s, &failure);
}

/* The first one that has failed; NULL: none. */
static const struct lane *find_failed(const struct attempt *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->lanes[i].status != WEIR_OK) return &a->lanes[i];
    return NULL;
}

static void put_members(struct weir_buf *out, const struct attempt *a)
{
    weir_json_put_begin_object(out);
    for (size_t i = 0; i < a->n; i++) {
        weir_json_put_key(out, a->lanes[i].agent);
        weir_buf_append_slice(out, weir_buf_slice(&a->lanes[i].out));
    }
    weir_json_put_end_object(out);
}

static void finish(struct flow_step *s, const struct attempt *a)
{
    struct weir_buf members;
    if (a->fn) {
        flow_done(s, weir_buf_slice(&a->lanes[0].out));
        return;
    }
    weir_buf_init(&members, FLOW_OUTPUT_BYTES);
    put_members(&members, a);
    enum weir_status st = weir_buf_status(&members);
    if (st == WEIR_OK) flow_done(s, weir_buf_slice(&members));
    else fail_step(s, st, "");
    weir_buf_fini(&members);
}

static void join(struct flow_step *s)
{
    struct turns *t = flow_user(s);
    struct attempt *a = flow_data(s);
    const struct lane *failed = find_failed(a);
    if (!failed) finish(s, a);
    else if (failed->asker.has_failed) flow_fail(s, &failed->asker.failure);
    else fail_step(s, failed->status, failed->why);
    pthread_mutex_lock(&t->attempts_lock);
    list_remove(&a->node);
    pthread_mutex_unlock(&t->attempts_lock);
    attempt_free(a);
}

/* ---- its passes ---- */

static enum weir_status call_agent(const struct attempt *a, struct lane *l, struct work *w)
{
    if (a->fn) return a->fn(&w->c, &l->out);
    return agent_work(&w->c, l->agent, case_question(w->outputs, &w->c, l->agent), &l->out);
}

static enum weir_status run_pass(const struct attempt *a, struct lane *l, struct arena *arena)
{
    struct work w;
    struct outputs outputs = outputs_of(l->asker.step);
    enum weir_status st = work_begin(&w, &l->asker, &outputs, arena);
    if (st == WEIR_OK) st = call_agent(a, l, &w);
    memcpy(l->why, w.c.why, sizeof l->why);
    work_end(&w);
    return st;
}

static void run_part(struct flow_step *s, size_t i)
{
    const struct attempt *a = flow_data(s);
    struct lane *l = &((struct attempt *)flow_data(s))->lanes[i];
    if (!asker_begin(&l->asker)) {
        l->status = l->asker.failure.code;
        return;
    }
    weir_buf_init(&l->out, FLOW_OUTPUT_BYTES);
    l->status = asker_end(&l->asker, run_pass(a, l, flow_part_arena(s, i)));
    if (l->status == WEIR_OK) l->status = weir_buf_status(&l->out);
    if (l->status == WEIR_OK) return;
    weir_buf_fini(&l->out);
    if (l->status == WEIR_PENDING) flow_part_wait(s, i);
}

static void begin(struct flow_step *s, struct attempt *a)
{
    if (!a) {
        fail_step(s, WEIR_NOMEM, "");
        return;
    }
    flow_set_data(s, a);
    flow_set_source(s, a->lanes[0].asker.host->text_type, next_thought, a);
    flow_on_abort(s, abort_calls, a);
    flow_parallel(s, a->n, run_part, join);
}

static void call(struct flow_step *s, agent_fn fn)
{
    begin(s, attempt_new(s, fn, 1));
}

/* ---- steps of one agent ---- */

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
    if (!agent) return WEIR_STORAGE; /* it was there when the step was begun */
    return agent_work(c, agent, case_question(w->outputs, c, agent), out);
}

static void run_main(struct flow_step *s)
{
    call(s, work_as_main);
}

/* Supporting agents work at the same time, as far as there are threads. */
static void support(struct flow_step *s)
{
    const char *names[MAX_SUPPORTING];
    struct outputs outputs = outputs_of(s);
    size_t n = supporting_agents(&outputs, names);
    if (n == 0) { /* there were some when the step was begun */
        fail_step(s, WEIR_STORAGE, weir_status_text(WEIR_STORAGE));
        return;
    }
    struct attempt *a = attempt_new(s, NULL, n);
    for (size_t i = 0; a && i < n; i++) a->lanes[i].agent = names[i];
    begin(s, a);
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
