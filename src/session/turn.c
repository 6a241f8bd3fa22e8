/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one step of a turn. It is passed through from its beginning as often as something has come
 * that it waited for: an answer of a model, of the person, of a tool in another process. What a
 * pass did before, the next one finds: answers of models among the recorded calls, by their number
 * (call/ask.c), those of people and tools in documents, and everything that was shown in the log of
 * the session, which is never shown again.
 *
 *   begins ─▶ run_start, context_meta ─▶ rounds: round.c, or builtin.c ─▶ ends: finish.c
 *
 * A pass that waits for something else than a model is in the engine's table of turns that run
 * here.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/container.h"
#include "base/mem.h"
#include "base/slice.h"
#include "session/turn_impl.h"
#include "shield/token_map.h"

enum {
    ATTEMPTS = 3,
    BACKOFF_MS = 500,
    LIMIT_MS = 24 * 3600 * 1000, /* of an attempt; whatever it waits for has a limit of its own */
    DELTA_BYTES = 1024,          /* of one event of weir's own text */
};

/* ---- what a pass offers ---- */

struct sessions *pass_sessions(const struct turn_pass *p)
{
    return p->sessions;
}

struct flow_step *pass_step(const struct turn_pass *p)
{
    return p->step;
}

struct arena *pass_arena(const struct turn_pass *p)
{
    return p->arena;
}

struct weir_slice pass_session(const struct turn_pass *p)
{
    return p->session;
}

struct weir_slice pass_turn(const struct turn_pass *p)
{
    return flow_id(p->step);
}

struct weir_slice pass_owner(const struct turn_pass *p)
{
    return flow_owner(p->step);
}

enum weir_status pass_emit(struct turn_pass *p, struct weir_buf *json)
{
    enum weir_status st = weir_buf_status(json);
    if (st == WEIR_OK) st = shown_add(&p->attempt->shown, weir_buf_slice(json));
    if (st == WEIR_OK) flow_emit(p->step, NULL, weir_buf_slice(json));
    return st;
}

void pass_work_begin(struct turn_pass *p)
{
    struct attempt *a = p->attempt;
    if (a->work_ns == 0) a->work_ns = clock_mono_ns(&clock_system);
}

uint64_t attempt_work_ms(const struct attempt *a)
{
    return a->work_ns == 0 ? 0 : (clock_mono_ns(&clock_system) - a->work_ns) / 1000000;
}

uint64_t pass_work_end(struct turn_pass *p)
{
    uint64_t ms = attempt_work_ms(p->attempt);
    p->attempt->work_ns = 0;
    return ms;
}

static void put_delta(struct weir_buf *json, const char *type, const char *key,
                      struct weir_slice text)
{
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "type");
    weir_json_put_str(json, type);
    weir_json_put_key(json, key);
    weir_json_put_string(json, text);
    weir_json_put_end_object(json);
}

/* Of a text that is said again, when so much of it was shown: whole characters. */
static struct weir_slice unshown(struct weir_slice text, size_t n_shown)
{
    if (n_shown > text.len) n_shown = text.len;
    while (n_shown < text.len && ((unsigned char)text.ptr[n_shown] & 0xC0) == 0x80) n_shown++;
    return slice_from(text, n_shown);
}

enum weir_status turn_say(struct turn_pass *p, struct weir_slice text)
{
    struct weir_buf json;
    struct attempt *a = p->attempt;
    size_t n_shown = a->shown.text.len, n_before = a->n_text;
    enum weir_status st = WEIR_OK;
    a->n_text += text.len;
    if (n_shown > n_before) text = unshown(text, n_shown - n_before);
    weir_buf_init(&json, SESSION_EVENT_BYTES);
    while (st == WEIR_OK && text.len > 0) {
        size_t n = token_cut(text, DELTA_BYTES);
        weir_buf_reset(&json);
        put_delta(&json, "text_delta", "text", slice_of(text.ptr, n));
        st = pass_emit(p, &json);
        text = slice_from(text, n);
    }
    weir_buf_fini(&json);
    return st;
}

enum weir_status pass_call(struct turn_pass *p, struct weir_slice name,
                           const struct weir_json *input, struct weir_buf *out, bool *is_error)
{
    char id[SESSION_TURN_LEN + 16];
    struct weir_slice turn = slice_from(pass_turn(p), sizeof "trn_" - 1);
    if (p->n_calls == TURN_CALLS)
        return asker_refuse(&p->attempt->asker, WEIR_LIMIT, "a turn calls too many tools");
    /* The stream has many turns: no other call of it is called so. */
    int len = snprintf(id, sizeof id, "tc_%.*s_%u", (int)turn.len, turn.ptr, ++p->n_calls);
    struct tool_wish w = {
        .number = p->n_calls, .call_id = slice_of(id, (size_t)len), .name = name, .input = input};
    enum weir_status st = session_tool_call(p, &w, out, is_error);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* ---- what models say ---- */

/* With a lock of the workflow's engine: an event that is made is one that is sent. */
void turn_put_text(struct asker *asker, struct weir_buf *json, enum model_delta kind,
                   struct weir_slice text)
{
    struct attempt *a = asker->user;
    struct weir_buf plain;
    weir_buf_init(&plain, SESSION_EVENT_BYTES);
    call_values_restore_text(&a->values, text, &plain);
    if (kind == MODEL_THINKING)
        put_delta(json, "thinking_delta", "thinking", weir_buf_slice(&plain));
    else {
        put_delta(json, "text_delta", "text", weir_buf_slice(&plain));
        shown_add_text(&a->shown, weir_buf_slice(&plain));
    }
    weir_buf_fini(&plain);
}

/* A placeholder stays whole: what may be the beginning of one waits for the rest. */
size_t turn_text_ready(struct asker *asker, struct weir_slice text, bool is_last)
{
    struct attempt *a = asker->user;
    return is_last ? text.len : call_values_ready(&a->values, text);
}

/* What is in the log behind the answers that are recorded. */
struct weir_slice turn_text_shown(struct asker *asker)
{
    const struct attempt *a = asker->user;
    struct weir_slice text = weir_buf_slice(&a->shown.text);
    return a->n_text < text.len ? slice_from(text, a->n_text) : (struct weir_slice){0};
}

void turn_host_init(struct sessions *s)
{
    s->host = (struct call_host){.models = s->options.models,
                                 .what = "turn",
                                 .max_usd = s->options.max_turn_usd,
                                 .put_text = turn_put_text,
                                 .ready = turn_text_ready,
                                 .shows_thinking = true,
                                 .tells_kinds = true,
                                 .is_by_number = true,
                                 .shown = turn_text_shown};
    s->values = (struct values_home){.store = s->store,
                                     .models = s->options.models,
                                     .policy = s->options.policy,
                                     .vault = s->options.vault,
                                     .path = "session"};
}

/* ---- waiting ---- */

/* Under the lock: whose part is to be resumed; NULL: nobody waits. */
static struct flow_step *take_waiter(struct live *l)
{
    struct flow_step *s = l->waiter;
    l->waiter = NULL;
    l->has_news = !s;
    if (s) l->question[0] = 0;
    return s;
}

void turn_wake(struct sessions *s, struct weir_slice turn)
{
    struct flow_step *step = NULL;
    pthread_mutex_lock(&s->lock);
    struct live *l = map_get(&s->turns, turn);
    if (l) step = take_waiter(l);
    if (step) due_clear_locked(s, &l->deadline);
    pthread_mutex_unlock(&s->lock);
    if (step) flow_part_resume(step, 0);
}

/* Part 0 of the step is resumed by the next turn_wake(), or by one that came before. */
static void wait_for_news(struct attempt *a, struct flow_step *step, struct weir_slice question,
                          int64_t deadline_ms)
{
    struct sessions *s = a->sessions;
    struct live *l = &a->live;
    pthread_mutex_lock(&s->lock);
    bool has_news = l->has_news;
    l->has_news = false;
    if (question.len > 0) memcpy(l->question, question.ptr, question.len);
    l->question[question.len] = 0;
    if (!has_news) l->waiter = step;
    if (!has_news && deadline_ms > 0) due_set_locked(s, &l->deadline, deadline_ms);
    pthread_mutex_unlock(&s->lock);
    if (has_news) flow_part_resume(step, 0);
}

enum weir_status pass_wait(struct turn_pass *p, struct weir_slice question, int64_t deadline_ms,
                           void (*expire)(struct sessions *s, struct due *d))
{
    struct attempt *a = p->attempt;
    CHECK(question.len < sizeof a->live.question && !a->is_waiting);
    a->is_waiting = true;
    a->is_resting = question.len > 0;
    a->live.deadline.fire = expire;
    wait_for_news(a, p->step, question, deadline_ms);
    return WEIR_PENDING;
}

enum weir_status pass_wait_work(struct turn_pass *p)
{
    return pass_wait(p, (struct weir_slice){0}, 0, NULL);
}

/* ---- a pass ---- */

static uint64_t get_uint(const struct weir_json *json, const char *key)
{
    int64_t n = 0;
    return weir_json_int64(weir_json_get_str(json, key), &n) && n > 0 ? (uint64_t)n : 0;
}

static void find_player(const struct sessions *s, const char **provider, const char **model)
{
    *provider = *model = "builtin";
    if (s->has_model) models_player(s->options.models, MODEL_MAIN, provider, model);
}

void turn_put_start(struct weir_buf *json, const struct sessions *s, struct weir_slice turn)
{
    const char *provider, *model;
    find_player(s, &provider, &model);
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "type");
    weir_json_put_str(json, "run_start");
    weir_json_put_key(json, "provider");
    weir_json_put_str(json, provider);
    weir_json_put_key(json, "model");
    weir_json_put_str(json, model);
    weir_json_put_key(json, "source");
    weir_json_put_str(json, "global");
    weir_json_put_key(json, "traceId");
    weir_json_put_string(json, turn);
    weir_json_put_end_object(json);
}

static enum weir_status emit_start(struct turn_pass *p)
{
    struct weir_buf json;
    if (shown_find(&p->attempt->shown, "run_start", (struct weir_slice){0})) return WEIR_OK;
    weir_buf_init(&json, SESSION_EVENT_BYTES);
    turn_put_start(&json, p->sessions, pass_turn(p));
    enum weir_status st = pass_emit(p, &json);
    weir_buf_fini(&json);
    return st;
}

static enum weir_status pass_begin(struct turn_pass *p, struct attempt *a, struct arena *arena)
{
    const struct weir_json *input = flow_input(a->asker.step);
    const char *provider, *model;
    *p = (struct turn_pass){.sessions = a->sessions,
                            .attempt = a,
                            .step = a->asker.step,
                            .arena = arena,
                            .session = weir_slice_of(a->session),
                            .text = weir_json_text(weir_json_get_str(input, "text"))};
    weir_buf_init(&p->messages, MODEL_REQUEST_BYTES);
    a->n_text = 0;
    if (!input) return WEIR_IO;
    if (a->session[0] == 0) return WEIR_CORRUPT;
    find_player(p->sessions, &provider, &model);
    snprintf(p->provider, sizeof p->provider, "%s", provider);
    snprintf(p->model, sizeof p->model, "%s", model);
    enum weir_status st =
        shown_load(&a->shown, p->sessions->store, p->session, get_uint(input, "from"));
    if (st == WEIR_OK) st = steers_load(p);
    if (st == WEIR_OK) st = emit_start(p);
    if (st == WEIR_OK) st = context_make(p);
    return st;
}

static enum weir_status run_pass(struct attempt *a, struct arena *arena)
{
    struct turn_pass p;
    enum weir_status st = pass_begin(&p, a, arena);
    if (st == WEIR_OK) st = p.sessions->has_model ? model_turn(&p) : builtin_turn(&p);
    if (st == WEIR_OK) {
        weir_json_put_begin_object(&a->out);
        weir_json_put_key(&a->out, "provider");
        weir_json_put_str(&a->out, p.provider);
        weir_json_put_key(&a->out, "model");
        weir_json_put_str(&a->out, p.model);
        weir_json_put_end_object(&a->out);
    }
    weir_buf_fini(&p.messages);
    return st;
}

/* ---- an attempt ---- */

static void attempt_free(struct attempt *a)
{
    asker_fini(&a->asker);
    call_values_fini(&a->values);
    shown_fini(&a->shown);
    steers_fini(&a->steers);
    context_fini(&a->context);
    weir_buf_fini(&a->out);
    mem_free(a);
}

/* One that is over: whether it asked people anything. */
static bool forget(struct sessions *s, struct weir_slice turn)
{
    pthread_mutex_lock(&s->lock);
    struct live *l = map_take(&s->turns, turn);
    pthread_mutex_unlock(&s->lock);
    bool has_asked = l && l->asked[0];
    if (l) attempt_free(CONTAINER_OF(l, struct attempt, live));
    return has_asked;
}

static struct attempt *attempt_new(struct flow_step *s)
{
    struct sessions *sessions = flow_user(s);
    struct weir_slice id = flow_id(s);
    struct weir_slice session = weir_json_text(weir_json_get_str(flow_input(s), "session"));
    struct attempt *a = mem_zalloc(sizeof *a);
    if (!a) return NULL;
    a->sessions = sessions;
    if (session.len == SESSION_LEN) memcpy(a->session, session.ptr, SESSION_LEN);
    CHECK(id.len < sizeof a->live.id);
    memcpy(a->live.id, id.ptr, id.len);
    asker_init(&a->asker, &sessions->host, s, 0);
    a->asker.user = a;
    call_values_init(&a->values, &sessions->values, weir_slice_of(a->session));
    shown_init(&a->shown);
    context_init(&a->context);
    (void)forget(sessions, id);
    pthread_mutex_lock(&sessions->lock);
    enum weir_status st = map_put(&sessions->turns, id, &a->live);
    pthread_mutex_unlock(&sessions->lock);
    if (st == WEIR_OK) return a;
    attempt_free(a);
    return NULL;
}

void turn_on_ended(void *sessions, struct weir_slice turn)
{
    /* What it asked last may have become durable together with its end. */
    if (forget(sessions, turn)) (void)sessions_later(sessions, questions_close_left, turn);
    tools_turn_ended(sessions, turn);
    session_turn_ended(sessions, turn);
}

void turn_on_left(void *sessions, struct weir_slice turn)
{
    (void)forget(sessions, turn);
    tools_turn_ended(sessions, turn);
}

void turns_forget(struct sessions *s)
{
    struct map_walk w = map_walk_begin(&s->turns);
    while (map_walk_next(&s->turns, &w)) {
        struct attempt *a = CONTAINER_OF(w.value, struct attempt, live);
        (void)map_take(&s->turns, weir_slice_of(a->live.id));
        due_clear(s, &a->live.deadline);
        attempt_free(a);
    }
}

static void abort_attempt(void *attempt)
{
    struct attempt *a = attempt;
    asker_abort(&a->asker);
    (void)tools_abort(a->sessions, weir_slice_of(a->live.id));
    turn_wake(a->sessions, weir_slice_of(a->live.id));
}

static bool next_text(void *attempt, struct weir_buf *json)
{
    struct attempt *a = attempt;
    return asker_next_text(&a->asker, json);
}

static void join(struct flow_step *s)
{
    struct attempt *a = flow_data(s);
    struct flow_failure failure = asker_failure(&a->asker, a->status, a->why);
    due_clear(a->sessions, &a->live.deadline);
    /* What it has shown is wanted until the end is durable; the next attempt takes its place. */
    if (a->status == WEIR_OK) flow_done(s, weir_buf_slice(&a->out));
    else flow_fail(s, &failure);
}

static void run_part(struct flow_step *s, size_t i)
{
    struct attempt *a = flow_data(s);
    a->is_waiting = a->is_resting = false;
    /* The next turn must not meet what this one has begun. */
    if (flow_is_aborted(s) && tools_abort(a->sessions, flow_id(s))) {
        a->status = WEIR_PENDING;
        wait_for_news(a, s, SLICE(""), 0);
        flow_part_wait(s, i);
        return;
    }
    if (!asker_begin(&a->asker)) {
        a->status = a->asker.failure.code;
        return;
    }
    weir_buf_init(&a->out, FLOW_OUTPUT_BYTES);
    enum weir_status st = run_pass(a, flow_part_arena(s, i));
    a->status = asker_end_output(&a->asker, st, a->is_waiting, &a->out);
    if (a->status == WEIR_PENDING && a->is_resting) flow_part_rest(s, i);
    else if (a->status == WEIR_PENDING) flow_part_wait(s, i);
}

static void run_turn(struct flow_step *s)
{
    struct attempt *a = attempt_new(s);
    if (!a) {
        flow_fail(s, &(struct flow_failure){.code = WEIR_NOMEM});
        return;
    }
    flow_set_data(s, a);
    flow_set_source(s, a->asker.host->text_type, next_text, a);
    flow_on_abort(s, abort_attempt, a);
    flow_parallel(s, 1, run_part, join);
}

const struct step session_steps[1] = {
    {"turn", run_turn, NULL, ATTEMPTS, BACKOFF_MS, LIMIT_MS},
};
