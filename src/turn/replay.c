/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a turn again: each step on its recorded input, beside what it brought then. What differs
 * is the code's doing, or the data's, which may have been imported anew since. No model is asked:
 * answers are the recorded ones, by number, whether the question is the same or not; where it is
 * not, that is a difference at "model_calls[K].request", K being its place in the trace.
 *
 *   {"turn_id","from","same":false,
 *    "steps":[{"name","same":false,"differences":[{"path":"findings[0].verdict","was":…,"is":…}]}]}
 *
 * Times are not compared: they are when it ran.
 */
#include <stdio.h>

#include "agent/agent.h"
#include "base/mem.h"
#include "base/slice.h"
#include "turn/turn_impl.h"

enum {
    VALUES_BYTES = 256 << 20, /* of all outputs, as values */
    DIFFERENCES = 50,         /* of one step that are shown */
    PATH_BYTES = 256,
    SHOWN_BYTES = 400, /* of a value that differs */
};

struct difference {
    struct weir_buf *out;
    size_t n;
};

struct replay {
    struct turns *turns;
    struct weir_slice id;
    struct weir_buf *out;
    struct weir_json_doc *doc;
    const struct weir_json *turn, *context;
    struct {
        char name[FLOW_ID_BYTES];
        unsigned number;
        const struct weir_json *output;
    } steps[FLOW_STEPS];
    struct call_found *calls; /* of all steps, in order */
    struct call_found **calls_end;
    struct call_place next;         /* what is asked next */
    struct difference *differences; /* of the step at hand */
    char why[AGENT_WHY_BYTES];      /* it has no answer */
    size_t n_steps;
    struct outputs outputs; /* what is recorded before the step at hand */
    size_t at;
    struct shelved data;
    struct arena arena;
    struct guard *guard; /* NULL: nothing of the turn was private */
    bool is_same;
};

/* ---- what was ---- */

static enum weir_status add_step(void *user, const struct flow_step_info *info)
{
    struct replay *r = user;
    if (info->output.len == 0 || r->n_steps == FLOW_STEPS) return WEIR_OK;
    (void)snprintf(r->steps[r->n_steps].name, sizeof r->steps[0].name, "%s", info->name);
    r->steps[r->n_steps].number = info->number;
    enum weir_status st = weir_json_parse(r->doc, info->output, &r->steps[r->n_steps].output, NULL);
    if (st == WEIR_OK) r->n_steps++;
    return st;
}

static enum weir_status read_doc(struct replay *r, struct doc_key key, const struct weir_json **out,
                                 char owner[TURN_OWNER_BYTES])
{
    struct doc doc;
    enum weir_status st = store_doc_get(r->turns->store, key, &doc);
    if (st != WEIR_OK) return st;
    st = weir_json_parse(r->doc, doc.body, out, NULL);
    if (owner && doc.owner.len < TURN_OWNER_BYTES)
        (void)snprintf(owner, TURN_OWNER_BYTES, "%.*s", (int)doc.owner.len, doc.owner.ptr);
    doc_fini(&doc);
    return st;
}

static enum weir_status add_call(void *user, struct call_found *f)
{
    struct replay *r = user;
    *r->calls_end = f;
    r->calls_end = &f->next;
    return WEIR_OK;
}

static enum weir_status read_turn(struct replay *r)
{
    char owner[TURN_OWNER_BYTES] = "";
    enum weir_status st = read_doc(r, turn_key(r->id), &r->turn, owner);
    if (st != WEIR_OK) return st;
    struct weir_slice status = weir_json_text(weir_json_get_str(r->turn, "status"));
    if (!weir_slice_is(status, "completed") && !weir_slice_is(status, "failed"))
        return WEIR_CONFLICT;
    r->guard = call_values_of(&r->turns->values, r->id);
    st = read_doc(r, context_key(r->id), &r->context, NULL);
    if (st == WEIR_OK) st = flow_each_step(r->turns->store, r->id, add_step, r);
    if (st == WEIR_OK) st = calls_each(r->turns->store, r->id, 0, add_call, r);
    return st == WEIR_OK ? shelf_take(&r->turns->shelf, weir_slice_of(owner), &r->data) : st;
}

static const struct weir_json *recorded(void *user, const char *step)
{
    const struct replay *r = user;
    for (size_t i = 0; i < r->at; i++)
        if (strcmp(r->steps[i].name, step) == 0) return r->steps[i].output;
    return NULL;
}

/* ---- what differs ---- */

static bool is_time(struct weir_slice key)
{
    return weir_slice_is(key, "created_at") || weir_slice_is(key, "updated_at") ||
           weir_slice_is(key, "at") || weir_slice_is(key, "duration_ms");
}

/* A value as it is, or, when it is long, the beginning of its text. */
static void put_shown(struct weir_buf *out, const char *key, const struct weir_json *v)
{
    struct weir_buf text;
    weir_json_put_key(out, key);
    weir_buf_init(&text, FLOW_OUTPUT_BYTES);
    if (v) weir_json_put_value(&text, v);
    struct weir_slice all = weir_buf_slice(&text);
    if (all.len == 0) weir_json_put_null(out);
    else if (all.len <= SHOWN_BYTES) weir_json_put_value(out, v);
    else {
        all.len = SHOWN_BYTES;
        while (all.len > 0 && ((unsigned char)all.ptr[all.len] & 0xC0) == 0x80) all.len--;
        weir_json_put_string(out, all);
    }
    weir_buf_fini(&text);
}

static void add_difference(struct difference *d, const char *path, const struct weir_json *was,
                           const struct weir_json *is)
{
    if (d->n++ >= DIFFERENCES) return;
    weir_json_put_begin_object(d->out);
    weir_json_put_key(d->out, "path");
    weir_json_put_str(d->out, path);
    put_shown(d->out, "was", was);
    put_shown(d->out, "is", is);
    weir_json_put_end_object(d->out);
}

static void compare(struct difference *d, const char *path, const struct weir_json *was,
                    const struct weir_json *is);

static void compare_lists(struct difference *d, const char *path, const struct weir_json *was,
                          const struct weir_json *is)
{
    const struct weir_json *a = weir_json_first(was), *b = weir_json_first(is);
    char place[PATH_BYTES];
    for (size_t i = 0; a || b; i++) {
        (void)snprintf(place, sizeof place, "%s[%zu]", path, i);
        compare(d, place, a, b);
        a = a ? weir_json_next(a) : NULL;
        b = b ? weir_json_next(b) : NULL;
    }
}

static void compare_objects(struct difference *d, const char *path, const struct weir_json *was,
                            const struct weir_json *is)
{
    char place[PATH_BYTES];
    for (const struct weir_json *a = weir_json_first(was); a; a = weir_json_next(a)) {
        struct weir_slice key = weir_json_key(a);
        if (is_time(key)) continue;
        (void)snprintf(place, sizeof place, "%s%s%.*s", path, path[0] ? "." : "", (int)key.len,
                       key.ptr);
        compare(d, place, a, weir_json_get(is, key));
    }
    for (const struct weir_json *b = weir_json_first(is); b; b = weir_json_next(b)) {
        struct weir_slice key = weir_json_key(b);
        if (is_time(key) || weir_json_get(was, key)) continue;
        (void)snprintf(place, sizeof place, "%s%s%.*s", path, path[0] ? "." : "", (int)key.len,
                       key.ptr);
        add_difference(d, place, NULL, b);
    }
}

/* Depth is that of our own outputs. */
static void compare(struct difference *d, const char *path, const struct weir_json *was,
                    const struct weir_json *is)
{
    enum weir_json_type type = weir_json_type_of(was);
    if (!was || !is || type != weir_json_type_of(is)) {
        if (was || is) add_difference(d, path, was, is);
    } else if (type == WEIR_JSON_ARRAY) compare_lists(d, path, was, is);
    else if (type == WEIR_JSON_OBJECT) compare_objects(d, path, was, is);
    else if (!weir_json_equal(was, is)) add_difference(d, path, was, is);
}

/* ---- models ---- */

/* The recorded call, and which one of its step it is in the trace; NULL: there is none. */
static const struct call_found *find_call(const struct replay *r, unsigned *place)
{
    *place = 0;
    for (const struct call_found *f = r->calls; f; f = f->next) {
        const struct call_place *at = &f->call.at;
        if (at->step != r->next.step) continue;
        if (at->part == r->next.part && at->number == r->next.number) return f;
        ++*place;
    }
    return NULL;
}

/* The same hash is the same request. */
static enum weir_status compare_requests(struct replay *r, const struct call_found *f,
                                         const struct model_request *request, unsigned place)
{
    char id[CALL_ID_BYTES], hash[CALL_HASH_BYTES], path[PATH_BYTES];
    const struct weir_json *was = NULL, *is = NULL;
    struct weir_buf body;
    weir_buf_init(&body, STORE_DOC_BYTES);
    enum weir_status st = WEIR_OK;
    if (r->guard) st = call_values_redact_again(r->guard, request, &body);
    else model_request_put(&body, request);
    if (st == WEIR_OK) st = weir_buf_status(&body);
    if (st == WEIR_OK) call_hash(hash, weir_buf_slice(&body));
    if (st == WEIR_OK && strcmp(hash, f->call.hash) != 0) {
        snprintf(path, sizeof path, "model_calls[%u].request", place);
        st = weir_json_parse(r->doc, weir_buf_slice(&body), &is, NULL);
        if (st == WEIR_OK)
            st = read_doc(r, call_key(id, call_request_kind, r->id, f->call.at), &was, NULL);
        if (st == WEIR_NOT_FOUND) st = WEIR_OK;
        if (st == WEIR_OK) compare(r->differences, path, was, is);
    }
    weir_buf_fini(&body);
    return st;
}

static enum weir_status case_ask(void *user, const struct model_request *request, const char *agent,
                                 const struct model_answer **answer)
{
    struct replay *r = user;
    unsigned place;
    (void)agent;
    const struct call_found *f = find_call(r, &place);
    if (!f) {
        snprintf(r->why, sizeof r->why, "model_calls[%u]: no answer was recorded", place);
        return WEIR_NOT_FOUND;
    }
    r->next.number++;
    enum weir_status st = compare_requests(r, f, request, place);
    *answer = &f->answer;
    if (st == WEIR_OK && r->guard)
        st = call_values_restore(r->guard, &r->arena, &f->answer, answer);
    return st;
}

/* A model played those roles that were asked. */
static void set_models(struct agent_case *c, const struct replay *r)
{
    for (const struct call_found *f = r->calls; f; f = f->next) {
        c->has_model[f->call.role] = true;
        c->ask = case_ask;
    }
}

/* ---- what is ---- */

static const struct weir_json *case_output(void *user, const char *step)
{
    const struct replay *r = user;
    return agents_view(&r->outputs, step);
}

static enum weir_status run_support(struct agent_case *c, struct weir_buf *out)
{
    struct replay *r = c->user;
    const char *names[MAX_SUPPORTING];
    size_t n = supporting_agents(&r->outputs, names);
    enum weir_status st = WEIR_OK;
    weir_json_put_begin_object(out);
    for (size_t i = 0; i < n && st == WEIR_OK; i++) {
        weir_json_put_key(out, names[i]);
        r->next.part = (unsigned)i;
        r->next.number = 0;
        c->n_findings = 0;
        st = agent_work(c, names[i], case_question(&r->outputs, c, names[i]), out);
    }
    weir_json_put_end_object(out);
    return st;
}

static enum weir_status run_main(struct agent_case *c, struct weir_buf *out)
{
    const struct replay *r = c->user;
    const char *agent = main_agent(&r->outputs);
    if (!agent) return WEIR_CORRUPT;
    return agent_work(c, agent, case_question(&r->outputs, c, agent), out);
}

static void keep_nothing(void *user, struct weir_slice id, bool is_change, struct weir_slice body)
{
    (void)user;
    (void)id;
    (void)is_change;
    (void)body;
}

static enum weir_status run_remember(struct agent_case *c, struct weir_buf *out)
{
    struct weir_buf brought;
    struct memory_origin origin = {c->turn_id, clock_wall_ms(c->clock), c->memory};
    weir_buf_init(&brought, FLOW_OUTPUT_BYTES);
    enum weir_status st = agent_remember(c, &brought);
    if (st == WEIR_OK) st = weir_buf_status(&brought);
    if (st == WEIR_OK)
        st = memory_complete(out, weir_buf_slice(&brought), &origin, keep_nothing, NULL);
    weir_buf_fini(&brought);
    return st;
}

static const struct {
    const char *name;
    enum weir_status (*run)(struct agent_case *c, struct weir_buf *out);
} runs[] = {
    {"classify_vagueness", agent_classify}, {"route", agent_route},
    {"rephrase_per_agent", agent_rephrase}, {"run_supporting_agents", run_support},
    {"run_main_agent", run_main},           {"reflection", agent_reflect},
    {"validation_gates", agent_validate},   {"synthesis", agent_synthesize},
    {"memory_extraction", run_remember},
};

static enum weir_status run_again(struct replay *r, const char *step, struct weir_buf *out)
{
    struct agent_case c;
    case_init(&c, r->id, weir_json_get_str(r->turn, "messages"));
    case_set_context(&c, r->context);
    c.data = r->data.data;
    c.clock = r->turns->options.clock;
    c.arena = &r->arena;
    c.output = case_output;
    c.user = r;
    set_models(&c, r);
    r->next = (struct call_place){.step = r->steps[r->at].number};
    arena_reset(&r->arena);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        if (strcmp(runs[i].name, step) == 0) return runs[i].run(&c, out);
    return WEIR_CORRUPT;
}

/* ---- step by step ---- */

/* Differences of requests are written while it runs; those of the output follow. */
static enum weir_status replay_step(struct replay *r)
{
    struct weir_buf out;
    const struct weir_json *is = NULL;
    struct difference d = {.out = r->out};
    r->differences = &d;
    r->why[0] = '\0';
    weir_json_put_begin_object(r->out);
    weir_json_put_key(r->out, "name");
    weir_json_put_str(r->out, r->steps[r->at].name);
    weir_json_put_key(r->out, "differences");
    weir_json_put_begin_array(r->out);
    weir_buf_init(&out, FLOW_OUTPUT_BYTES);
    enum weir_status st = run_again(r, r->steps[r->at].name, &out);
    if (st == WEIR_OK) st = weir_buf_status(&out);
    if (st == WEIR_OK) st = weir_json_parse(r->doc, weir_buf_slice(&out), &is, NULL);
    weir_buf_fini(&out);
    if (st == WEIR_NOMEM) return st;
    if (is) compare(&d, "", r->steps[r->at].output, is);
    weir_json_put_end_array(r->out);
    weir_json_put_key(r->out, "same");
    weir_json_put_bool(r->out, is && d.n == 0);
    weir_json_put_key(r->out, "error");
    weir_json_put_str(r->out, is ? NULL : r->why[0] ? r->why : weir_status_text(st));
    weir_json_put_end_object(r->out);
    if (!is || d.n > 0) r->is_same = false;
    return WEIR_OK;
}

static enum weir_status replay_all(struct replay *r, struct weir_slice from)
{
    enum weir_status st = WEIR_OK;
    while (from.len > 0 && r->at < r->n_steps && !weir_slice_is(from, r->steps[r->at].name))
        r->at++;
    if (r->at == r->n_steps && from.len > 0) return WEIR_BAD_FIELD;
    weir_json_put_begin_object(r->out);
    weir_json_put_key(r->out, "turn_id");
    weir_json_put_string(r->out, r->id);
    weir_json_put_key(r->out, "from");
    weir_json_put_str(r->out, r->at < r->n_steps ? r->steps[r->at].name : NULL);
    weir_json_put_key(r->out, "steps");
    weir_json_put_begin_array(r->out);
    for (; r->at < r->n_steps && st == WEIR_OK; r->at++) st = replay_step(r);
    weir_json_put_end_array(r->out);
    weir_json_put_key(r->out, "same");
    weir_json_put_bool(r->out, r->is_same);
    weir_json_put_end_object(r->out);
    return st == WEIR_OK ? weir_buf_status(r->out) : st;
}

enum weir_status turn_replay(struct turns *t, struct weir_slice id, struct weir_slice from,
                             struct weir_buf *out)
{
    struct replay *r = mem_zalloc(sizeof *r);
    if (!r) return WEIR_NOMEM;
    r->turns = t;
    r->id = id;
    r->out = out;
    r->is_same = true;
    r->outputs = (struct outputs){recorded, r};
    r->calls_end = &r->calls;
    r->doc = weir_json_doc_new(VALUES_BYTES);
    arena_init(&r->arena, FLOW_ARENA_BYTES);
    enum weir_status st = r->doc ? read_turn(r) : WEIR_NOMEM;
    if (st == WEIR_OK) st = replay_all(r, from);
    if (r->data.data) shelf_give(&t->shelf, &r->data);
    for (struct call_found *f = r->calls, *next; f; f = next) {
        next = f->next;
        call_found_free(f);
    }
    arena_fini(&r->arena);
    weir_json_doc_free(r->doc);
    guard_free(r->guard);
    mem_free(r);
    return st;
}
