/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of turns: its life, and the two commits that bracket a turn's steps. The first has the
 * Turn in state running, turn.started, and what of the person's memory the turn is given; the last
 * one has the Turn with its result or error, the last event, and gives the owner's place back.
 *
 * The result in turn.completed is the very bytes that the Turn has.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "turn/turn_impl.h"

static const double cost_warn_usd = 0.50;

enum {
    USER_TURNS = 3,
    TURN_BYTES = STORE_DOC_BYTES,
    ERROR_BYTES = 8 << 10,
};

static struct turns *checked(struct turns *t)
{
    CHECK(t->magic == TURNS_MAGIC);
    return t;
}

/* ---- the first commit ---- */

static struct weir_slice input_text(struct flow_step *s, const char *key)
{
    return weir_json_text(weir_json_get_str(flow_input(s), key));
}

static struct turn_view view_of(struct flow_step *s, enum turn_status status)
{
    return (struct turn_view){.id = flow_id(s),
                              .created_at = input_text(s, "created_at"),
                              .status = status,
                              .messages = weir_json_get_str(flow_input(s), "messages")};
}

static void put_turn(struct flow_step *s, const struct turn_view *view)
{
    struct weir_buf turn;
    weir_buf_init(&turn, TURN_BYTES);
    turn_put(&turn, view);
    /* Its parts were held to ceilings that together are below the store's. */
    if (weir_buf_status(&turn) == WEIR_OK)
        flow_put(s, turn_key(flow_id(s)), DOC_ANY_VERSION, weir_buf_slice(&turn));
    weir_buf_fini(&turn);
}

static void emit(struct flow_step *s, const char *type, struct weir_buf *json)
{
    if (weir_buf_status(json) == WEIR_OK) flow_emit(s, type, weir_buf_slice(json));
    weir_buf_fini(json);
}

static void begin_event(struct weir_buf *json, struct flow_step *s, size_t max_bytes)
{
    weir_buf_init(json, max_bytes);
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "turn_id");
    weir_json_put_string(json, flow_id(s));
}

static void put_context(struct flow_step *s)
{
    struct weir_buf context;
    weir_buf_init(&context, CONTEXT_BYTES);
    context_put(&context, flow_store(s), flow_owner(s), flow_input(s));
    if (weir_buf_status(&context) == WEIR_OK)
        flow_put(s, context_key(flow_id(s)), DOC_ANY_VERSION, weir_buf_slice(&context));
    weir_buf_fini(&context);
}

static void on_begin(struct flow_step *s)
{
    struct turn_view view = view_of(s, TURN_RUNNING);
    struct weir_buf json;
    char at[CLOCK_TEXT_BYTES];
    put_turn(s, &view);
    put_context(s);
    clock_format(at, clock_wall_ms(flow_clock(s)));
    begin_event(&json, s, ERROR_BYTES);
    weir_json_put_key(&json, "at");
    weir_json_put_str(&json, at);
    weir_json_put_end_object(&json);
    emit(s, "turn.started", &json);
}

/* ---- the last commit ---- */

/* What clients are told of a failure: the codes of the specification, and no others. */
static enum weir_status code_of(enum weir_status st, const struct turns *t)
{
    switch (st) {
    /* What takes minutes is a model. */
    case WEIR_TIMEOUT: return t->options.models ? WEIR_UPSTREAM : WEIR_INTERNAL;
    case WEIR_CANCELLED:
    case WEIR_COST:
    case WEIR_UPSTREAM:
    case WEIR_UNPROCESSABLE:
    case WEIR_STORAGE: return st;
    default: return WEIR_INTERNAL;
    }
}

static void put_error(struct weir_buf *out, struct flow_step *s, const struct flow_failure *f)
{
    const char *code = weir_status_name(code_of(f->code, flow_user(s)));
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "code");
    weir_json_put_str(out, code);
    weir_json_put_key(out, "message");
    weir_json_put_str(out, f->message[0] ? f->message : weir_status_text(f->code));
    weir_json_put_key(out, "request_id");
    weir_json_put_string(out, input_text(s, "request_id"));
    weir_json_put_key(out, "docs_url");
    weir_buf_printf(out, "\"/docs/errors#%s\"", code);
    weir_json_put_end_object(out);
}

static void end_event(struct flow_step *s, const char *type, const char *key,
                      struct weir_slice value)
{
    struct weir_buf json;
    begin_event(&json, s, TURN_RESULT_BYTES + ERROR_BYTES);
    weir_json_put_key(&json, key);
    weir_buf_append_slice(&json, value);
    weir_json_put_end_object(&json);
    emit(s, type, &json);
}

static void fail_turn(struct flow_step *s, const struct flow_failure *f, int64_t ended_ms)
{
    struct weir_buf error;
    struct turn_view view = view_of(s, TURN_FAILED);
    weir_buf_init(&error, ERROR_BYTES);
    put_error(&error, s, f);
    view.completed_ms = ended_ms;
    view.error = weir_buf_slice(&error);
    put_turn(s, &view);
    end_event(s, "turn.failed", "error", view.error);
    weir_buf_fini(&error);
}

static const struct weir_json *get_output(void *user, const char *step)
{
    return flow_output(user, step);
}

/* False when there is no answer, or one that is too large. */
static bool complete_turn(struct flow_step *s, const struct flow_end *end)
{
    struct weir_buf result;
    struct outputs outputs = {get_output, s};
    struct turn_view view = view_of(s, TURN_COMPLETED);
    const struct weir_json *answer = weir_json_get_str(flow_output(s, "synthesis"), "answer");
    if (weir_json_text(answer).len == 0) return false;
    weir_buf_init(&result, TURN_RESULT_BYTES);
    result_put(&result, &outputs, end->cost_usd, end->ended_ms - end->began_ms);
    bool is_good = weir_buf_status(&result) == WEIR_OK;
    if (is_good) {
        view.completed_ms = end->ended_ms;
        view.result = weir_buf_slice(&result);
        put_turn(s, &view);
        end_event(s, "turn.completed", "result", view.result);
    }
    weir_buf_fini(&result);
    return is_good;
}

static void give_slot_back(struct flow_step *s)
{
    int64_t slot;
    char id[SLOT_ID_BYTES];
    if (!weir_json_int64(weir_json_get_str(flow_input(s), "slot"), &slot)) return;
    flow_remove(s, slot_key(id, flow_owner(s), (unsigned)slot), DOC_ANY_VERSION);
}

static void on_end(struct flow_step *s, const struct flow_end *end)
{
    static const struct flow_failure no_answer = {
        .code = WEIR_INTERNAL, .is_final = true, .message = "the turn came to no answer"};
    give_slot_back(s);
    if (end->failure) fail_turn(s, end->failure, end->ended_ms);
    else if (!complete_turn(s, end)) fail_turn(s, &no_answer, end->ended_ms);
}

/* ---- what agents say, and what it costs ---- */

static void put_thought(struct asker *a, struct weir_buf *json, enum model_delta kind,
                        struct weir_slice text)
{
    (void)kind;
    struct weir_buf restored;
    weir_buf_init(&restored, STORE_FRAME_BYTES / 8);
    call_values_restore_text(a->user, text, &restored);
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "agent");
    weir_json_put_str(json, a->call.agent);
    weir_json_put_key(json, "delta");
    weir_json_put_string(json, weir_buf_slice(&restored));
    weir_json_put_end_object(json);
    weir_buf_fini(&restored);
}

static size_t ready(struct asker *a, struct weir_slice text, bool is_last)
{
    return is_last ? text.len : call_values_ready(a->user, text);
}

static void put_warning(struct asker *a, struct weir_buf *json, double cost_usd)
{
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, clock_wall_ms(flow_clock(a->step)));
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "turn_id");
    weir_json_put_string(json, flow_id(a->step));
    weir_json_put_key(json, "cost_usd");
    weir_json_put_double(json, cost_usd);
    weir_json_put_key(json, "threshold_usd");
    weir_json_put_double(json, a->host->warn_usd);
    weir_json_put_key(json, "at");
    weir_json_put_str(json, at);
    weir_json_put_end_object(json);
}

/* ---- life ---- */

static void set_options(struct turns *t, const struct turns_options *o)
{
    t->options = *o;
    if (t->options.user_turns == 0) t->options.user_turns = USER_TURNS;
    if (!t->options.clock) t->options.clock = &clock_system;
    if (t->options.cost_warn_usd <= 0) t->options.cost_warn_usd = cost_warn_usd;
    t->workflow = (struct workflow){.name = "turn",
                                    .steps = turn_steps,
                                    .n_steps = TURN_STEPS,
                                    .keep_ms = TURN_KEEP_MS,
                                    .user = t,
                                    .on_begin = on_begin,
                                    .on_end = on_end};
    t->host = (struct call_host){.models = o->models,
                                 .what = "turn",
                                 .warn_usd = t->options.cost_warn_usd,
                                 .max_usd = o->max_turn_usd,
                                 .text_type = "agent.thought",
                                 .put_text = put_thought,
                                 .ready = ready,
                                 .shows_thinking = true,
                                 .put_warning = put_warning};
    call_host_init(&t->host);
    t->values = (struct values_home){.store = t->store,
                                     .models = o->models,
                                     .policy = o->policy,
                                     .vault = o->vault,
                                     .path = "turn"};
}

enum weir_status turns_new(struct turns **out, struct store *store, const struct turns_options *o)
{
    struct turns *t = mem_zalloc(sizeof *t);
    *out = NULL;
    if (!t) return WEIR_NOMEM;
    t->magic = TURNS_MAGIC;
    t->store = store;
    set_options(t, o);
    shelf_init(&t->shelf, store);
    pthread_mutex_init(&t->id_lock, NULL);
    pthread_mutex_init(&t->attempts_lock, NULL);
    list_init(&t->attempts);
    ulid_source_init(&t->ids, t->options.clock);
    t->workflows[0] = &t->workflow;
    struct flow_options flow = {.workflows = t->workflows,
                                .n_workflows = 1,
                                .n_threads = t->options.n_threads,
                                .max_runs = 2 * TURNS_IN_FLIGHT,
                                .lease_ms = t->options.lease_ms,
                                .clock = t->options.clock,
                                .trace = t->options.trace};
    enum weir_status st = WEIR_OK;
    if (o->pace_ms > 0) st = pacer_new(&t->pacer, o->pace_ms);
    if (st == WEIR_OK) st = flow_new(&t->flow, store, &flow);
    if (st == WEIR_OK) *out = t;
    else turns_free(t);
    return st;
}

/* The number of a place stands behind the owner's name. */
static enum weir_status look_at_slot(void *user, const struct doc *doc)
{
    struct turns *t = user;
    char digits[SLOT_ID_BYTES] = {0};
    size_t at = doc->id.len;
    while (at > 0 && doc->id.ptr[at - 1] != '/') at--;
    size_t len = doc->id.len - at;
    if (len == 0 || len >= sizeof digits) return WEIR_OK;
    memcpy(digits, doc->id.ptr + at, len);
    unsigned long slot = strtoul(digits, NULL, 10);
    if (slot > t->n_slots && slot <= TURN_MAX_USER_TURNS) t->n_slots = (unsigned)slot;
    return WEIR_OK;
}

enum weir_status turns_start(struct turns *t)
{
    struct doc_query slots = {.kind = SLICE("turn_slot"), .limit = SIZE_MAX};
    checked(t)->n_slots = t->options.user_turns;
    enum weir_status st = store_doc_list(t->store, &slots, look_at_slot, t);
    return st == WEIR_OK ? flow_start(t->flow) : st;
}

void turns_stop(struct turns *t, unsigned grace_ms)
{
    flow_stop(checked(t)->flow, grace_ms);
    call_host_stop(&t->host);
}

void turns_free(struct turns *t)
{
    if (!t) return;
    pacer_stop(checked(t)->pacer);
    flow_free(t->flow);
    pacer_free(t->pacer);
    steps_forget_attempts(t);
    shelf_fini(&t->shelf);
    pthread_mutex_destroy(&t->id_lock);
    call_host_fini(&t->host);
    pthread_mutex_destroy(&t->attempts_lock);
    t->magic = 0;
    mem_free(t);
}

/* ---- for others ---- */

void turns_begin(struct turns *t, struct weir_slice id)
{
    enum weir_status st = flow_begin(checked(t)->flow, id);
    if (st != WEIR_OK)
        TRACE(t->options.trace, TRACE_WARN, "turn", "waits for the next start",
              trace_str("turn", id), trace_str("why", weir_slice_of(weir_status_text(st))));
}

void turns_cancel(struct turns *t, struct weir_slice id, commit_done_fn done, void *user)
{
    flow_cancel(checked(t)->flow, id, done, user);
}

void turns_data_changed(struct turns *t)
{
    atomic_fetch_add(&checked(t)->shelf.generation, 1);
}

void turns_docs_changed(struct turns *t, struct weir_slice kind, struct weir_slice id)
{
    const struct doc_key key = {kind, id};
    flow_docs_changed(checked(t)->flow, &key, kind.len > 0 ? 1 : 0);
}

bool turns_drain(struct turns *t, unsigned grace_ms)
{
    return flow_drain(checked(t)->flow, grace_ms);
}

bool turns_are_given(struct turns *t)
{
    return flow_is_giving(checked(t)->flow);
}

void turns_stats(struct turns *t, struct flow_stats *out)
{
    flow_stats(checked(t)->flow, out);
}
