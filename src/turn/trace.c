/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a turn came about, from what its steps left in the store:
 *
 *   {"turn_id","status","created_at","completed_at","cost_usd",
 *    "steps":[{"name","number","started_at","ended_at","attempts","cost_usd","input","output",
 *              "error","model_calls":[{"purpose","provider","model","request","content",…}…]}…],
 *    "agents":[{"agent","step","question","summary","findings"}…],
 *    "findings":[{"id","kind","claim","metric","metric_y","lag","window","verdict","assessment"}…],
 *    "gates":[{"finding_id","gate","verdict",…}…],"critic":[{"finding_id","verdict",…}…],
 *    "flagged":[…],"removed":[…]}
 *
 * A brief one has steps without input, output and model_calls.
 *
 * The input of a step is put together again: it is the request, what of the person's memory the
 * turn was given, and what the steps before it brought. Nothing else goes into a step but the data.
 */
#include "base/slice.h"
#include "base/usd.h"
#include "turn/turn_impl.h"

enum {
    VALUES_BYTES = 256 << 20, /* of all outputs, as values */
    EMPTY_BYTES = 2,
};

struct tracing {
    struct weir_buf *out;
    struct store *store;
    struct weir_slice id;
    struct weir_json_doc *doc;
    const struct weir_json *turn, *context;
    struct {
        const char *name;
        const struct weir_json *output;
    } steps[FLOW_STEPS];
    size_t n_steps;
    double cost_usd;
    bool is_brief;
};

static void put_time(struct weir_buf *out, const char *key, int64_t ms)
{
    char text[CLOCK_TEXT_BYTES];
    clock_format(text, ms);
    weir_json_put_key(out, key);
    weir_json_put_str(out, ms > 0 ? text : NULL);
}

static void put_member(struct weir_buf *out, const char *key, const struct weir_json *v)
{
    weir_json_put_key(out, key);
    weir_json_put_value(out, v);
}

/* ---- steps ---- */

static void put_input(const struct tracing *t)
{
    weir_json_put_key(t->out, "input");
    weir_json_put_begin_object(t->out);
    put_member(t->out, "messages", weir_json_get_str(t->turn, "messages"));
    put_member(t->out, "context", t->context);
    for (size_t i = 0; i < t->n_steps; i++)
        put_member(t->out, t->steps[i].name, t->steps[i].output);
    weir_json_put_end_object(t->out);
}

static void put_failure(struct weir_buf *out, const struct flow_failure *f)
{
    weir_json_put_key(out, "error");
    if (!f) {
        weir_json_put_null(out);
        return;
    }
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "code");
    weir_json_put_str(out, weir_status_name(f->code));
    weir_json_put_key(out, "message");
    weir_json_put_str(out, f->message);
    weir_json_put_end_object(out);
}

/* The request is our own line of JSON. */
static enum weir_status put_request(const struct tracing *t, struct call_place at)
{
    char id[CALL_ID_BYTES];
    struct doc doc;
    weir_json_put_key(t->out, "request");
    enum weir_status st = store_doc_get(t->store, call_key(id, call_request_kind, t->id, at), &doc);
    if (st == WEIR_NOT_FOUND) weir_json_put_null(t->out);
    if (st != WEIR_OK) return st == WEIR_NOT_FOUND ? WEIR_OK : st;
    weir_buf_append_slice(t->out, doc.body);
    doc_fini(&doc);
    return WEIR_OK;
}

/* What the document says of the answer, under the same names. */
static void put_answer(struct weir_buf *out, const struct weir_json *answer)
{
    static const char *const keys[] = {"provider", "model",    "status",   "why",    "stop",
                                       "usage",    "cost_usd", "attempts", "content"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put_member(out, keys[i], weir_json_get_str(answer, keys[i]));
}

static enum weir_status add_call(void *user, struct call_found *f)
{
    const struct tracing *t = user;
    const struct call *c = &f->call;
    int64_t took_ms = c->ended_ms - c->began_ms;
    weir_json_put_begin_object(t->out);
    weir_json_put_key(t->out, "purpose");
    weir_json_put_str(t->out, c->purpose);
    weir_json_put_key(t->out, "role");
    weir_json_put_str(t->out, model_role_name(c->role));
    weir_json_put_key(t->out, "agent");
    weir_json_put_str(t->out, c->agent[0] ? c->agent : NULL);
    weir_json_put_key(t->out, "part");
    weir_json_put_uint(t->out, c->at.part);
    weir_json_put_key(t->out, "number");
    weir_json_put_uint(t->out, c->at.number);
    put_time(t->out, "started_at", c->began_ms);
    weir_json_put_key(t->out, "duration_ms");
    weir_json_put_int(t->out, took_ms > 0 ? took_ms : 0);
    weir_json_put_key(t->out, "earlier_usd");
    weir_json_put_double(t->out, c->earlier_usd);
    put_answer(t->out, f->json);
    enum weir_status st = put_request(t, c->at);
    weir_json_put_end_object(t->out);
    call_found_free(f);
    return st == WEIR_OK ? weir_buf_status(t->out) : st;
}

static enum weir_status put_calls(struct tracing *t, unsigned step)
{
    weir_json_put_key(t->out, "model_calls");
    weir_json_put_begin_array(t->out);
    enum weir_status st = calls_each(t->store, t->id, step, add_call, t);
    weir_json_put_end_array(t->out);
    return st;
}

static enum weir_status add_step(void *user, const struct flow_step_info *info)
{
    struct tracing *t = user;
    const struct weir_json *output = NULL;
    enum weir_status st = WEIR_OK;
    if (info->output.len > 0) st = weir_json_parse(t->doc, info->output, &output, NULL);
    if (st != WEIR_OK) return st == WEIR_NOMEM || st == WEIR_LIMIT ? st : WEIR_CORRUPT;
    weir_json_put_begin_object(t->out);
    weir_json_put_key(t->out, "name");
    weir_json_put_str(t->out, info->name);
    weir_json_put_key(t->out, "number");
    weir_json_put_uint(t->out, info->number);
    put_time(t->out, "started_at", info->began_ms);
    put_time(t->out, "ended_at", info->ended_ms);
    weir_json_put_key(t->out, "attempts");
    weir_json_put_uint(t->out, info->attempts);
    weir_json_put_key(t->out, "cost_usd");
    weir_json_put_double(t->out, info->cost_usd);
    if (!t->is_brief) put_input(t);
    if (!t->is_brief) put_member(t->out, "output", output);
    put_failure(t->out, info->failure);
    if (!t->is_brief) st = put_calls(t, info->number);
    if (st != WEIR_OK) return st;
    weir_json_put_end_object(t->out);
    t->cost_usd = usd_sum(t->cost_usd, info->cost_usd);
    /* The name outlives the call: it is looked up in the table of the steps. */
    for (size_t i = 0; i < TURN_STEPS; i++)
        if (output && strcmp(turn_steps[i].name, info->name) == 0 && t->n_steps < FLOW_STEPS) {
            t->steps[t->n_steps].name = turn_steps[i].name;
            t->steps[t->n_steps++].output = output;
        }
    return weir_buf_status(t->out);
}

static const struct weir_json *output_of(const struct tracing *t, const char *step)
{
    for (size_t i = 0; i < t->n_steps; i++)
        if (strcmp(t->steps[i].name, step) == 0) return t->steps[i].output;
    return NULL;
}

/* ---- what the steps say, side by side ---- */

static void put_agent(const struct tracing *t, const char *step, const struct weir_json *result)
{
    struct weir_buf *out = t->out;
    if (weir_json_type_of(result) != WEIR_JSON_OBJECT) return;
    weir_json_put_begin_object(out);
    put_member(out, "agent", weir_json_get_str(result, "agent"));
    weir_json_put_key(out, "step");
    weir_json_put_str(out, step);
    put_member(out, "question", weir_json_get_str(result, "question"));
    put_member(out, "summary", weir_json_get_str(result, "summary"));
    weir_json_put_key(out, "findings");
    weir_json_put_uint(out, weir_json_count(weir_json_get_str(result, "findings")));
    weir_json_put_end_object(out);
}

typedef void (*result_fn)(const struct tracing *t, const char *step,
                          const struct weir_json *result);

/* A list made of what the agents brought, in the order in which they ran. */
static void put_results(const struct tracing *t, const char *key, result_fn put)
{
    const struct weir_json *v = weir_json_first(output_of(t, "run_supporting_agents"));
    weir_json_put_key(t->out, key);
    weir_json_put_begin_array(t->out);
    for (; v; v = weir_json_next(v)) put(t, "run_supporting_agents", v);
    put(t, "run_main_agent", output_of(t, "run_main_agent"));
    v = weir_json_first(weir_json_get_str(output_of(t, "reflection"), "follow_ups"));
    for (; v; v = weir_json_next(v)) put(t, "reflection", weir_json_get_str(v, "result"));
    weir_json_put_end_array(t->out);
}

/* The finding as the gates left it; NULL: they have not run. */
static const struct weir_json *checked_of(const struct tracing *t, struct weir_slice id)
{
    const struct weir_json *list = weir_json_get_str(output_of(t, "validation_gates"), "findings");
    for (const struct weir_json *f = weir_json_first(list); f; f = weir_json_next(f))
        if (slice_eq(weir_json_text(weir_json_get_str(f, "id")), id)) return f;
    return NULL;
}

static void put_findings_of(const struct tracing *t, const char *step,
                            const struct weir_json *result)
{
    static const char *const keys[] = {"id",       "kind", "claim", "metric",
                                       "metric_y", "lag",  "window"};
    const struct weir_json *f = weir_json_first(weir_json_get_str(result, "findings"));
    (void)step;
    for (; f; f = weir_json_next(f)) {
        const struct weir_json *id = weir_json_get_str(f, "id");
        const struct weir_json *checked = checked_of(t, weir_json_text(id));
        weir_json_put_begin_object(t->out);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            put_member(t->out, keys[i], weir_json_get_str(f, keys[i]));
        put_member(t->out, "verdict", weir_json_get_str(checked, "verdict"));
        put_member(t->out, "assessment", weir_json_get_str(checked, "assessment"));
        weir_json_put_end_object(t->out);
    }
}

/* An object's members behind the id of its finding. */
static void put_of_finding(struct weir_buf *out, const struct weir_json *finding,
                           const struct weir_json *object)
{
    weir_json_put_begin_object(out);
    put_member(out, "finding_id", weir_json_get_str(finding, "id"));
    for (const struct weir_json *v = weir_json_first(object); v; v = weir_json_next(v)) {
        weir_json_put_key_slice(out, weir_json_key(v));
        weir_json_put_value(out, v);
    }
    weir_json_put_end_object(out);
}

static void put_checks(const struct tracing *t)
{
    const struct weir_json *findings =
        weir_json_get_str(output_of(t, "validation_gates"), "findings");
    const struct weir_json *f;
    weir_json_put_key(t->out, "gates");
    weir_json_put_begin_array(t->out);
    for (f = weir_json_first(findings); f; f = weir_json_next(f)) {
        const struct weir_json *gate = weir_json_first(weir_json_get_str(f, "gates"));
        for (; gate; gate = weir_json_next(gate)) put_of_finding(t->out, f, gate);
    }
    weir_json_put_end_array(t->out);
    weir_json_put_key(t->out, "critic");
    weir_json_put_begin_array(t->out);
    for (f = weir_json_first(findings); f; f = weir_json_next(f))
        put_of_finding(t->out, f, weir_json_get_str(f, "critic"));
    weir_json_put_end_array(t->out);
}

static void put_list(const struct tracing *t, const char *key)
{
    const struct weir_json *list = weir_json_get_str(output_of(t, "synthesis"), key);
    weir_json_put_key(t->out, key);
    if (weir_json_type_of(list) == WEIR_JSON_ARRAY) weir_json_put_value(t->out, list);
    else weir_buf_append(t->out, "[]", EMPTY_BYTES);
}

/* ---- all together ---- */

static enum weir_status load(struct tracing *t, struct store *store, struct doc_key key,
                             const struct weir_json **out)
{
    struct doc doc;
    enum weir_status st = store_doc_get(store, key, &doc);
    if (st != WEIR_OK) return st;
    st = weir_json_parse(t->doc, doc.body, out, NULL);
    doc_fini(&doc);
    return st == WEIR_OK || st == WEIR_NOMEM || st == WEIR_LIMIT ? st : WEIR_CORRUPT;
}

static enum weir_status put_trace(struct tracing *t, struct store *store, struct weir_slice id)
{
    struct weir_buf *out = t->out;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "turn_id");
    weir_json_put_string(out, id);
    put_member(out, "status", weir_json_get_str(t->turn, "status"));
    put_member(out, "created_at", weir_json_get_str(t->turn, "created_at"));
    put_member(out, "completed_at", weir_json_get_str(t->turn, "completed_at"));
    weir_json_put_key(out, "steps");
    weir_json_put_begin_array(out);
    enum weir_status st = flow_each_step(store, id, add_step, t);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    weir_json_put_end_array(out);
    weir_json_put_key(out, "cost_usd");
    weir_json_put_double(out, t->cost_usd);
    put_results(t, "agents", put_agent);
    put_results(t, "findings", put_findings_of);
    put_checks(t);
    put_list(t, "flagged");
    put_list(t, "removed");
    weir_json_put_end_object(out);
    return weir_buf_status(out);
}

enum weir_status turn_trace(struct store *store, struct weir_slice id, bool is_brief,
                            struct weir_buf *out)
{
    struct tracing t = {.out = out,
                        .store = store,
                        .id = id,
                        .doc = weir_json_doc_new(VALUES_BYTES),
                        .is_brief = is_brief};
    if (!t.doc) return WEIR_NOMEM;
    enum weir_status st = load(&t, store, turn_key(id), &t.turn);
    if (st == WEIR_OK) st = load(&t, store, context_key(id), &t.context);
    if (st == WEIR_NOT_FOUND && t.turn) st = WEIR_OK; /* it has not begun */
    if (st == WEIR_OK) st = put_trace(&t, store, id);
    weir_json_doc_free(t.doc);
    return st;
}
