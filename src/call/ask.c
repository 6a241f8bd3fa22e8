/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents that ask models, and all others who do so in a step. An agent is a function: when it asks
 * for an answer that is not there, the call is started and the agent returns; when the answer has
 * come and is durable, the agent is called again from its beginning, and gets the answers to all
 * that it asks by number, if it asks the same. What it has emitted before is not sent again.
 *
 *   pass 1   ask(0): nothing recorded ─▶ model_call(), WEIR_PENDING … on_done ─▶ flow_save()
 *   pass 2   ask(0): recorded; ask(1): nothing recorded ─▶ …
 *
 * A crash or a failed attempt changes nothing of that: the first pass of the next attempt finds
 * what was recorded, and pays for nothing twice. It has emitted nothing yet, so that the thoughts
 * of answers that are there already are sent, too, but for hosts that know what was sent.
 *
 * Deltas are gathered here in the engine's thread, which may not wait, and sent when the run has
 * room for them (flow_set_source()).
 *
 * A call that failed but may be made again ends the attempt; the step's own policy does the rest.
 * One that failed for good is an answer: agents may be able to do without.
 */
#include "call/ask.h"

#include <stdio.h>

#include "base/slice.h"
#include "base/usd.h"

enum {
    THOUGHT_BYTES = 1024,                        /* of one delta */
    TEXT_BYTES = 2 * MODEL_ANSWER_BYTES,         /* that may wait to be sent */
    RUNS_BYTES = 1 << 20,                        /* that tell of which kind it is */
    REQUEST_BYTES = MODEL_REQUEST_BYTES * 3 / 2, /* as JSON, so that its document can be */
    EVENT_BYTES = 1 << 20,
    WARNING_BYTES = 512,
};

void call_host_init(struct call_host *h)
{
    h->is_stopped = false;
    pthread_mutex_init(&h->models_lock, NULL);
    pthread_mutex_init(&h->cost_lock, NULL);
}

void call_host_stop(struct call_host *h)
{
    pthread_mutex_lock(&h->models_lock);
    h->is_stopped = true;
    pthread_mutex_unlock(&h->models_lock);
}

void call_host_fini(struct call_host *h)
{
    pthread_mutex_destroy(&h->models_lock);
    pthread_mutex_destroy(&h->cost_lock);
}

void asker_init(struct asker *a, struct call_host *h, struct flow_step *s, unsigned part)
{
    *a = (struct asker){.host = h, .step = s, .part = part};
    weir_buf_init(&a->text, TEXT_BYTES);
    weir_buf_init(&a->runs, RUNS_BYTES);
    pthread_mutex_init(&a->lock, NULL);
}

static void forget_answers(struct asker *a)
{
    for (struct call_found *f = a->found, *next; f; f = next) {
        next = f->next;
        call_found_free(f);
    }
    a->found = NULL;
}

void asker_fini(struct asker *a)
{
    forget_answers(a);
    weir_buf_fini(&a->text);
    weir_buf_fini(&a->runs);
    pthread_mutex_destroy(&a->lock);
}

/* How the attempt is to end, whatever the agent makes of it. */
static enum weir_status fail(struct asker *a, enum weir_status code, bool is_final, const char *why)
{
    a->has_failed = true;
    a->failure = (struct flow_failure){.code = code, .is_final = is_final};
    snprintf(a->failure.message, sizeof a->failure.message, "%s",
             why && why[0] ? why : weir_status_text(code));
    return code;
}

enum weir_status asker_refuse(struct asker *a, enum weir_status code, const char *why)
{
    return fail(a, code, true, why);
}

bool asker_begin(struct asker *a)
{
    a->n_asked = a->n_events = 0;
    a->has_started = false;
    if (!a->has_failed && flow_is_aborted(a->step)) fail(a, WEIR_CANCELLED, false, NULL);
    return !a->has_failed;
}

enum weir_status asker_end(struct asker *a, enum weir_status st)
{
    forget_answers(a);
    if (a->has_started) return WEIR_PENDING;
    if (a->has_failed) return a->failure.code;
    if (st == WEIR_PENDING) return fail(a, WEIR_INTERNAL, true, "a step waits for nothing");
    /* What the engine has tried often enough is not tried by the step as well. */
    if (st != WEIR_OK && st == a->lost) return fail(a, WEIR_UPSTREAM, true, a->lost_why);
    return st;
}

enum weir_status asker_end_output(struct asker *a, enum weir_status st, bool waits,
                                  struct weir_buf *out)
{
    st = asker_end(a, waits ? WEIR_OK : st);
    if (st == WEIR_OK) st = weir_buf_status(out);
    if (waits) st = WEIR_PENDING;
    if (st != WEIR_OK) weir_buf_fini(out);
    return st;
}

struct flow_failure asker_failure(const struct asker *a, enum weir_status code, const char *why)
{
    struct flow_failure f = {.code = code, .is_final = !weir_status_is_retryable(code)};
    snprintf(f.message, sizeof f.message, "%s", why);
    if (a->has_failed) f = a->failure;
    if (f.code == WEIR_UPSTREAM) f.is_final = true;
    return f;
}

/* ---- events ---- */

void asker_emit(struct asker *a, const char *type, struct weir_slice json)
{
    if (++a->n_events <= a->n_emitted) return;
    a->n_emitted = a->n_events;
    flow_emit(a->step, type, json);
}

/* The first characters of a text, whole ones. */
static size_t first_delta(struct weir_slice text)
{
    size_t len = text.len;
    if (len <= THOUGHT_BYTES) return len;
    len = THOUGHT_BYTES;
    while (len > 1 && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) len--;
    return len;
}

/* Under the lock: the first run that has bytes; NULL: there is none. */
static struct text_run *first_run(struct asker *a)
{
    return a->runs.len > 0 ? (struct text_run *)(void *)a->runs.ptr : NULL;
}

static bool is_only_run(const struct asker *a)
{
    return a->runs.len == sizeof(struct text_run);
}

/* Under the lock: what may be sent now. */
static size_t next_len(struct asker *a, const struct text_run *run)
{
    struct weir_slice text = slice_of(a->text.ptr, run->len);
    size_t len = first_delta(text);
    if (len == 0 || !a->host->ready) return len;
    bool is_last = len == run->len && (a->is_last || !is_only_run(a));
    return a->host->ready(a, slice_of(text.ptr, len), is_last);
}

/* Under the lock. */
static void drop_front(struct weir_buf *b, size_t n)
{
    size_t left = b->len - n;
    if (left > 0) memmove(b->ptr, b->ptr + n, left);
    b->len = left;
    if (left == 0) weir_buf_fini(b);
}

bool asker_next_text(struct asker *a, struct weir_buf *json)
{
    pthread_mutex_lock(&a->lock);
    struct text_run *run = first_run(a);
    size_t n = run ? next_len(a, run) : 0;
    if (n > 0) {
        a->host->put_text(a, json, run->kind, slice_of(a->text.ptr, n));
        run->len -= n;
        if (run->len == 0) drop_front(&a->runs, sizeof *run);
        drop_front(&a->text, n);
    }
    pthread_mutex_unlock(&a->lock);
    return n > 0;
}

static void say_again(struct asker *a, enum model_delta kind, struct weir_slice text)
{
    struct weir_buf json;
    weir_buf_init(&json, EVENT_BYTES);
    while (text.len > 0) {
        size_t n = first_delta(text), ready = n;
        if (n < text.len && a->host->ready) ready = a->host->ready(a, slice_of(text.ptr, n), false);
        if (ready > 0) n = ready;
        weir_buf_reset(&json);
        a->host->put_text(a, &json, a->host->tells_kinds ? kind : MODEL_TEXT,
                          slice_of(text.ptr, n));
        if (weir_buf_status(&json) != WEIR_OK) break;
        flow_emit(a->step, a->host->text_type, weir_buf_slice(&json));
        text = slice_from(text, n);
    }
    weir_buf_fini(&json);
}

/* The thoughts of an answer that an earlier attempt has had: who follows this one has none. */
static void show_again(struct asker *a, const struct call_found *f)
{
    const struct weir_json *block = weir_json_first(weir_json_get_str(f->json, "content"));
    for (; block; block = weir_json_next(block)) {
        struct weir_slice type = weir_json_text(weir_json_get_str(block, "type"));
        if (weir_slice_is(type, "text"))
            say_again(a, MODEL_TEXT, weir_json_text(weir_json_get_str(block, "text")));
        if (weir_slice_is(type, "thinking") && a->host->shows_thinking)
            say_again(a, MODEL_THINKING, weir_json_text(weir_json_get_str(block, "thinking")));
    }
}

/* ---- calls that are over ---- */

static void set_open(struct asker *a, bool is_open)
{
    pthread_mutex_lock(&a->lock);
    a->is_open = is_open;
    a->has_ticket = false;
    if (is_open) a->is_last = false;
    pthread_mutex_unlock(&a->lock);
}

/* It may be gone when this returns: the part goes on. */
static void resume(struct asker *a)
{
    struct flow_step *s = a->step;
    unsigned part = a->part;
    set_open(a, false);
    flow_part_resume(s, part);
}

static void on_saved(void *user, enum weir_status st)
{
    struct asker *a = user;
    if (st != WEIR_OK && !a->has_failed) fail(a, st, !weir_status_is_retryable(st), NULL);
    resume(a);
}

/*
 * The warning goes with the cost that passes the limit, in one commit: once, over crashes, too. Of
 * calls that end at the same instant one passes it.
 */
static enum weir_status save_with_cost(struct asker *a, struct flow_save *o)
{
    struct call_host *h = a->host;
    struct weir_buf warning;
    double limit = h->warn_usd;
    weir_buf_init(&warning, WARNING_BYTES);
    pthread_mutex_lock(&h->cost_lock);
    double before = flow_cost(a->step), after = usd_sum(before, o->cost_usd);
    if (h->put_warning && before <= limit && after > limit) {
        h->put_warning(a, &warning, after);
        o->type = "cost_warning";
        o->json = weir_buf_slice(&warning);
    }
    enum weir_status st = weir_buf_status(&warning);
    if (st == WEIR_OK) flow_save(a->step, o);
    pthread_mutex_unlock(&h->cost_lock);
    weir_buf_fini(&warning);
    return st;
}

static void save(struct asker *a, const struct model_answer *answer)
{
    char id[CALL_ID_BYTES];
    struct weir_buf body;
    weir_buf_init(&body, STORE_DOC_BYTES);
    a->call.ended_ms = clock_wall_ms(flow_clock(a->step));
    call_put(&body, &a->call, answer);
    struct flow_save o = {.key = call_key(id, call_kind, flow_id(a->step), a->call.at),
                          .body = weir_buf_slice(&body),
                          .cost_usd = answer->cost_usd,
                          .done = on_saved,
                          .user = a};
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) st = save_with_cost(a, &o);
    if (st != WEIR_OK) on_saved(a, st);
    weir_buf_fini(&body);
}

static enum weir_status code_of(enum weir_status st)
{
    return st == WEIR_CANCELLED || st == WEIR_NOMEM ? st : WEIR_UPSTREAM;
}

/* Good, or failed for good. One that we have cancelled may be asked again. */
static bool is_for_agents(const struct model_answer *answer)
{
    return answer->status == WEIR_OK || (answer->is_final && answer->status != WEIR_CANCELLED);
}

static void on_done(void *user, const struct model_answer *answer)
{
    struct asker *a = user;
    bool has_failed = !is_for_agents(answer);
    pthread_mutex_lock(&a->lock);
    a->is_last = true;
    pthread_mutex_unlock(&a->lock);
    flow_stir(a->step);
    if (has_failed) {
        fail(a, code_of(answer->status), false, answer->why);
        a->failure.retry_after_ms = answer->retry_after_ms;
    }
    /* What nobody was asked leaves nothing to be remembered. */
    if (has_failed && answer->attempts == 0 && answer->cost_usd <= 0) resume(a);
    else save(a, answer);
}

/* Under the lock: what comes behind what is there. */
static void add_text(struct asker *a, enum model_delta kind, struct weir_slice delta)
{
    if (!a->text.ptr) weir_buf_init(&a->text, TEXT_BYTES);
    if (!a->runs.ptr) weir_buf_init(&a->runs, RUNS_BYTES);
    size_t before = a->text.len, n_runs = a->runs.len / sizeof(struct text_run);
    struct text_run *last = (struct text_run *)(void *)a->runs.ptr;
    bool is_new = n_runs == 0 || last[n_runs - 1].kind != kind;
    struct text_run run = {.kind = kind, .len = delta.len};
    weir_buf_append_slice(&a->text, delta);
    if (weir_buf_status(&a->text) == WEIR_OK && is_new) weir_buf_append(&a->runs, &run, sizeof run);
    else if (a->text.len > before) last[n_runs - 1].len += delta.len;
    /* Bytes that no run tells of would be nobody's. */
    if (weir_buf_status(&a->runs) != WEIR_OK) a->text.len = before;
}

static void on_delta(void *user, enum model_delta kind, struct weir_slice delta)
{
    struct asker *a = user;
    if (kind == MODEL_THINKING && !a->host->shows_thinking) return;
    if (delta.len == 0) return;
    pthread_mutex_lock(&a->lock);
    add_text(a, a->host->tells_kinds ? kind : MODEL_TEXT, delta);
    pthread_mutex_unlock(&a->lock);
    flow_stir(a->step);
}

/* ---- asking ---- */

/* Who has stopped frees the models: nobody may come too late. */
static WEIR_MUST_CHECK enum weir_status call_model(struct call_host *h,
                                                   const struct model_call *call, uint64_t *ticket)
{
    pthread_mutex_lock(&h->models_lock);
    enum weir_status st = h->is_stopped ? WEIR_SHUTDOWN : model_call(h->models, call, ticket);
    pthread_mutex_unlock(&h->models_lock);
    return st;
}

static void abort_model(struct call_host *h, uint64_t ticket)
{
    pthread_mutex_lock(&h->models_lock);
    if (!h->is_stopped) model_abort(h->models, ticket);
    pthread_mutex_unlock(&h->models_lock);
}

void asker_abort(struct asker *a)
{
    pthread_mutex_lock(&a->lock);
    a->is_aborted = true;
    bool has_call = a->is_open && a->has_ticket;
    uint64_t ticket = a->ticket;
    pthread_mutex_unlock(&a->lock);
    if (has_call) abort_model(a->host, ticket);
}

/* Somebody may have aborted it before there was a ticket. */
static void note_ticket(struct asker *a, uint64_t ticket)
{
    pthread_mutex_lock(&a->lock);
    a->ticket = ticket;
    a->has_ticket = true;
    bool is_aborted = a->is_aborted && a->is_open;
    pthread_mutex_unlock(&a->lock);
    if (is_aborted) abort_model(a->host, ticket);
}

static enum weir_status cannot_start(struct asker *a, enum weir_status st)
{
    switch (st) {
    case WEIR_SHUTDOWN: return fail(a, WEIR_CANCELLED, false, NULL);
    case WEIR_BUSY: return fail(a, WEIR_UPSTREAM, false, "too many calls of models are under way");
    case WEIR_LIMIT: return fail(a, st, true, "a request to a model is too large");
    default: return fail(a, st, !weir_status_is_retryable(st), NULL);
    }
}

static WEIR_MUST_CHECK enum weir_status check_cost(struct asker *a)
{
    char why[FLOW_MESSAGE_BYTES];
    double usd = flow_cost(a->step), max = a->host->max_usd;
    if (max <= 0 || usd < max) return WEIR_OK;
    snprintf(why, sizeof why, "the %s has cost $%.4f, and it may cost $%.4f", a->host->what, usd,
             max);
    return fail(a, WEIR_COST, true, why);
}

static WEIR_MUST_CHECK enum weir_status start(struct asker *a, const struct model_request *request,
                                              struct weir_slice body)
{
    char id[CALL_ID_BYTES];
    uint64_t ticket;
    bool is_shown = a->call.agent[0] != '\0';
    struct model_call call = {
        .request = *request, .on_delta = is_shown ? on_delta : NULL, .done = on_done, .user = a};
    a->call.began_ms = clock_wall_ms(flow_clock(a->step));
    set_open(a, true);
    enum weir_status st = call_model(a->host, &call, &ticket);
    if (st != WEIR_OK) {
        set_open(a, false);
        return cannot_start(a, st);
    }
    a->has_started = true;
    note_ticket(a, ticket);
    flow_save(a->step, &(struct flow_save){
                           .key = call_key(id, call_request_kind, flow_id(a->step), a->call.at),
                           .body = body});
    return WEIR_PENDING;
}

/*
 * The answer to this very request, if it is there. What was asked in its place before and is of no
 * use has cost something all the same.
 */
static WEIR_MUST_CHECK enum weir_status recall(struct asker *a, struct call_found **out)
{
    struct call_found *f;
    *out = NULL;
    enum weir_status st = call_find(flow_store(a->step), flow_id(a->step), a->call.at, &f);
    if (st != WEIR_OK) return st;
    bool is_same = a->host->is_by_number || strcmp(f->call.hash, a->call.hash) == 0;
    bool is_of_use = is_same && is_for_agents(&f->answer);
    if (!is_of_use) {
        a->call.earlier_usd = usd_sum(f->call.earlier_usd, f->answer.cost_usd);
        call_found_free(f);
        return WEIR_NOT_FOUND;
    }
    f->next = a->found;
    a->found = *out = f;
    return WEIR_OK;
}

static void give(struct asker *a, const struct call_found *f)
{
    if (a->call.at.number >= a->n_known) {
        a->n_known = a->call.at.number + 1;
        if (a->call.agent[0] && !a->host->is_by_number) show_again(a, f);
    }
    a->lost = f->answer.status;
    if (a->lost != WEIR_OK)
        snprintf(a->lost_why, sizeof a->lost_why, "%s", f->answer.why ? f->answer.why : "");
}

/* What was shown counts as the answer; it goes with what is emitted behind it. */
static WEIR_MUST_CHECK enum weir_status keep_cut(struct asker *a, struct weir_slice text,
                                                 struct call_found **out)
{
    char id[CALL_ID_BYTES];
    struct weir_buf content, body;
    weir_buf_init(&content, STORE_DOC_BYTES);
    weir_buf_init(&body, STORE_DOC_BYTES);
    weir_json_put_begin_array(&content);
    weir_json_put_begin_object(&content);
    weir_json_put_key(&content, "type");
    weir_json_put_str(&content, "text");
    weir_json_put_key(&content, "text");
    weir_json_put_string(&content, text);
    weir_json_put_end_object(&content);
    weir_json_put_end_array(&content);
    a->call.began_ms = a->call.ended_ms = clock_wall_ms(flow_clock(a->step));
    call_put(&body, &a->call,
             &(struct model_answer){.stop = MODEL_STOP_CUT,
                                    .content = weir_buf_slice(&content),
                                    .provider = "",
                                    .model = ""});
    enum weir_status st = weir_buf_status(&content);
    if (st == WEIR_OK) st = weir_buf_status(&body);
    if (st == WEIR_OK) st = call_read(weir_buf_slice(&body), out);
    if (st == WEIR_OK) {
        flow_save(a->step,
                  &(struct flow_save){.key = call_key(id, call_kind, flow_id(a->step), a->call.at),
                                      .body = weir_buf_slice(&body)});
        (*out)->next = a->found;
        a->found = *out;
        give(a, *out);
    }
    weir_buf_fini(&content);
    weir_buf_fini(&body);
    return st;
}

static WEIR_MUST_CHECK enum weir_status answer_or_start(struct asker *a,
                                                        const struct model_request *request,
                                                        struct weir_slice body,
                                                        struct call_found **found)
{
    call_hash(a->call.hash, body);
    enum weir_status st = recall(a, found);
    if (st == WEIR_OK) give(a, *found);
    if (st != WEIR_NOT_FOUND) return st;
    struct weir_slice shown = a->host->shown ? a->host->shown(a) : (struct weir_slice){0};
    if (shown.len > 0) return keep_cut(a, shown, found);
    /* The data have changed meanwhile: all that the step has said so far was about others. */
    if (a->call.at.number < a->n_known)
        return fail(a, WEIR_CONFLICT, false, "the data have changed while the step was under way");
    st = check_cost(a);
    if (st != WEIR_OK) return st;
    a->n_known = a->call.at.number + 1;
    return start(a, request, body);
}

static void describe(struct asker *a, const struct model_request *request, const char *agent)
{
    struct call call = {.at = {flow_number(a->step), a->part, a->n_asked++}, .role = request->role};
    snprintf(call.purpose, sizeof call.purpose, "%s", request->purpose);
    snprintf(call.agent, sizeof call.agent, "%s", agent ? agent : "");
    pthread_mutex_lock(&a->lock);
    a->call = call;
    pthread_mutex_unlock(&a->lock);
}

enum weir_status asker_ask(struct asker *a, const struct model_request *request, const char *agent,
                           const struct call_found **found)
{
    struct weir_buf body;
    struct call_found *f = NULL;
    if (a->has_started) return WEIR_PENDING;
    if (a->has_failed) return a->failure.code;
    if (flow_is_aborted(a->step)) return fail(a, WEIR_CANCELLED, false, NULL);
    if (a->n_asked == CALLS) return fail(a, WEIR_LIMIT, true, "a step asks too many questions");
    describe(a, request, agent);
    weir_buf_init(&body, REQUEST_BYTES);
    model_request_put(&body, request);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) st = answer_or_start(a, request, weir_buf_slice(&body), &f);
    else st = cannot_start(a, st);
    weir_buf_fini(&body);
    *found = f;
    return st;
}
