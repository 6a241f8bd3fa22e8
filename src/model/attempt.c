/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking once: a request on its way out, its answer on its way in; or a cassette that is played in
 * the place of both. How an attempt ended is in call->failure; what to do about it is call.c's.
 */
#include <stdio.h>
#include <strings.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "model/engine_impl.h"
#include "shield/guard.h"

enum {
    LINGER_MS = 200,                        /* for the end of input behind a whole message */
    BODY_BYTES = 4 * MODEL_REQUEST_BYTES,   /* of a request as it is sent */
    CONTENT_BYTES = 8 * MODEL_ANSWER_BYTES, /* of an answer in the one form: escapes */
    HTTP_OK = 200,
};

/* ---- hearing ---- */

static void on_delta(void *user, enum model_delta kind, struct weir_slice delta)
{
    struct call *call = user;
    call->asked.on_delta(call->asked.user, kind, delta);
}

/* Also in the dialect of a cassette, whoever is configured. */
static bool open_reply(struct call *call, struct weir_slice content_type)
{
    struct model_reply_options o = {
        .provider = call->player->provider,
        .type = call->models->options.replay ? call->cassette->type : call->player->provider->type,
        .wants_object = call->asked.request.schema.len > 0,
        .on_delta = call->asked.on_delta ? on_delta : NULL,
        .user = call,
    };
    call->reply = model_reply_new(&o, content_type);
    return call->reply != NULL;
}

/* The thread ends what does not end by itself. */
static void linger(struct call *call)
{
    struct models *m = call->models;
    call->is_lingering = true;
    pthread_mutex_lock(&m->lock);
    call_set_due_locked(call, models_now_ms(m) + LINGER_MS);
    pthread_mutex_unlock(&m->lock);
}

static bool hear(struct call *call, struct weir_slice bytes)
{
    return call->reply && model_reply_feed(call->reply, bytes);
}

/* ---- how it ended ---- */

static void add_usage(struct call *call, const struct model_usage *usage)
{
    const struct model_player *p = call->player;
    call->usage.input_tokens += usage->input_tokens;
    call->usage.output_tokens += usage->output_tokens;
    call->usage.cache_read_tokens += usage->cache_read_tokens;
    call->usage.cache_write_tokens += usage->cache_write_tokens;
    call->cost_usd += model_cost(model_price_of(p->provider, p->model), usage);
}

/* `cut`: why the input ended; NULL: it was all of it. */
static void close_reply(struct call *call, const char *cut)
{
    struct model_content c = {.out = &call->content};
    weir_buf_reset(&call->content);
    model_reply_end(call->reply, cut, &c, &call->failure);
    call->stop = c.stop;
    call->has_output = model_reply_has_output(call->reply);
    add_usage(call, &c.usage);
    if (call->failure.status == WEIR_OK && weir_buf_status(&call->content) != WEIR_OK) {
        call->failure.status = weir_buf_status(&call->content);
        model_failure_say(&call->failure, call->player->provider, "could not be heard",
                          weir_slice_of(weir_status_text(call->failure.status)));
    }
    model_reply_free(call->reply);
    call->reply = NULL;
}

static void fail_without_answer(struct call *call, const struct fetch_result *result)
{
    /* We have ended it at its head: it could not be heard. */
    enum fetch_end end = result->end == FETCH_ENOUGH ? FETCH_NO_MEMORY : result->end;
    bool is_theirs = end != FETCH_NO_MEMORY && end != FETCH_NO_DESCRIPTORS && end != FETCH_ABORTED;
    bool lasts = end == FETCH_BAD_URL || end == FETCH_NOT_ALLOWED || end == FETCH_NOT_TRUSTED ||
                 end == FETCH_ENCODED || end == FETCH_TOO_LARGE || end == FETCH_NOT_HTTP;
    call->failure = (struct model_failure){
        .status = end == FETCH_NO_MEMORY ? WEIR_NOMEM : WEIR_UPSTREAM,
        .may_help = !lasts && end != FETCH_ABORTED,
        .is_outage = is_theirs,
    };
    model_failure_say(
        &call->failure, call->player->provider,
        is_theirs ? "does not answer" : "could not be asked",
        weir_slice_of(end == FETCH_NO_MEMORY ? weir_status_text(WEIR_NOMEM) : result->why));
}

static void judge(struct call *call, const struct fetch_result *result)
{
    const char *cut = result->status != WEIR_OK ? result->why : NULL;
    /* A compressed answer is refused at its head, and is no answer. */
    bool is_heard = call->reply && result->end != FETCH_ENCODED;
    if (is_heard) close_reply(call, cut);
    else if (result->http_status != 0 && result->http_status != HTTP_OK &&
             result->end != FETCH_ABORTED)
        model_failure_of_http(&call->failure, call->player->provider, result->http_status,
                              result->body);
    else fail_without_answer(call, result);
    model_reply_free(call->reply);
    call->reply = NULL;
}

/* ---- recording ---- */

static void record_head(struct call *call, int http_status, struct weir_slice content_type)
{
    struct cassette *c = call->cassette;
    if (!c) return;
    cassette_reset(c);
    c->http_status = http_status;
    snprintf(c->content_type, sizeof c->content_type, "%.*s",
             (int)(content_type.len < MODEL_NAME_BYTES ? content_type.len : MODEL_NAME_BYTES),
             content_type.len > 0 ? content_type.ptr : "");
}

static void record_piece(struct call *call, struct weir_slice bytes)
{
    if (call->cassette)
        cassette_add(call->cassette, bytes, models_now_ms(call->models) - call->begun_ms);
}

static void record_end(struct call *call, const struct fetch_result *result)
{
    struct cassette *c = call->cassette;
    if (!c) return;
    if (result->http_status != HTTP_OK) record_piece(call, result->body);
    c->end_ms = models_now_ms(call->models) - call->begun_ms;
    c->retry_after_ms = call->failure.retry_after_ms;
    if (result->status != WEIR_OK && result->end != FETCH_ABORTED)
        snprintf(c->cut, sizeof c->cut, "%s", result->why);
}

/* ---- what the fetcher calls ---- */

static struct call *checked(void *user)
{
    struct call *call = user;
    CHECK(call->magic == CALL_MAGIC);
    return call;
}

static bool on_head(void *user, int http_status, const struct fetch_answer *answer)
{
    struct call *call = checked(user);
    struct weir_slice type = fetch_field_of(answer, "content-type");
    record_head(call, http_status, type);
    return http_status != HTTP_OK || open_reply(call, type);
}

/* A provider that is probed works as soon as it says something: an answer may take minutes. */
static void note_output(struct call *call)
{
    struct models *m = call->models;
    struct breaker *b = &call_provider(call)->breaker;
    call->has_output = true;
    pthread_mutex_lock(&m->lock);
    if (b->state == BREAKER_PROBING) (void)breaker_tell(b, BREAKER_ANSWERED, models_now_ms(m));
    pthread_mutex_unlock(&m->lock);
}

static bool on_body(void *user, struct weir_slice bytes)
{
    struct call *call = checked(user);
    record_piece(call, bytes);
    bool goes_on = hear(call, bytes);
    if (call->reply && !call->has_output && model_reply_has_output(call->reply)) note_output(call);
    if (goes_on && !call->is_lingering && model_reply_is_whole(call->reply)) linger(call);
    return goes_on;
}

static void on_done(void *user, const struct fetch_result *result)
{
    struct call *call = checked(user);
    struct models *m = call->models;
    judge(call, result);
    if (result->answer)
        call->failure.retry_after_ms = model_retry_after_ms(
            fetch_field_of(result->answer, "retry-after-ms"),
            fetch_field_of(result->answer, "retry-after"), clock_wall_ms(m->options.clock));
    record_end(call, result);
    pthread_mutex_lock(&m->lock);
    call->fetch_ticket = 0;
    call_attempt_over_locked(call);
    pthread_mutex_unlock(&m->lock);
}

/* ---- asking ---- */

static void add_field(struct fetch_request *r, const char *name, struct weir_slice value)
{
    CHECK(r->n_fields < FETCH_MAX_FIELDS);
    r->fields[r->n_fields++] = (struct fetch_field){name, value};
}

static bool has_field(const struct fetch_request *r, const char *name)
{
    for (unsigned i = 0; i < r->n_fields; i++)
        if (strcasecmp(r->fields[i].name, name) == 0) return true;
    return false;
}

void model_add_fields(struct fetch_request *r, const struct model_provider *p,
                      char secret[MODEL_SECRET_BYTES])
{
    static const char version[] = "anthropic-version";
    add_field(r, "Content-Type", SLICE("application/json"));
    add_field(r, "Accept", SLICE("text/event-stream, application/json"));
    for (unsigned i = 0; i < p->n_headers; i++)
        if (!has_field(r, p->headers[i].name))
            add_field(r, p->headers[i].name, weir_slice_of(p->headers[i].value));
    if (p->type == MODEL_ANTHROPIC && !has_field(r, version))
        add_field(r, version, SLICE("2023-06-01"));
    if (!p->key) return;
    bool is_bearer = p->type == MODEL_OPENAI;
    snprintf(secret, MODEL_SECRET_BYTES, "%s%s", is_bearer ? "Bearer " : "", p->key);
    add_field(r, is_bearer ? "Authorization" : "x-api-key", weir_slice_of(secret));
}

static enum weir_status send_locked(struct call *call, struct weir_slice body)
{
    const struct model_provider *p = call->player->provider;
    const struct model_limits *l = &p->limits;
    char url[MODEL_URL_BYTES + 32], secret[MODEL_SECRET_BYTES] = "";
    snprintf(url, sizeof url, "%s%s", p->base_url, model_path_of(p));
    struct fetch_request request = {
        .method = FETCH_POST,
        .url = weir_slice_of(url),
        .body = body,
        .limits = {.connect_ms = l->connect_ms,
                   .first_byte_ms = l->first_byte_ms,
                   .idle_ms = l->idle_ms,
                   .whole_ms = l->whole_ms},
        .ca_file = p->ca_file,
        .on_head = on_head,
        .on_body = on_body,
        .done = on_done,
        .user = call,
    };
    model_add_fields(&request, p, secret);
    enum weir_status st = fetcher_send(call->models->fetcher, &request, &call->fetch_ticket);
    explicit_bzero(secret, sizeof secret);
    if (st != WEIR_OK) call->fetch_ticket = 0;
    return st;
}

/* It did not even begin. */
static void fail_locked(struct call *call, enum weir_status st, const char *what)
{
    call->failure = (struct model_failure){
        .status = st == WEIR_NOMEM || st == WEIR_LIMIT ? st : WEIR_UPSTREAM,
        .may_help = st == WEIR_NOMEM || st == WEIR_BUSY,
    };
    model_failure_say(&call->failure, call->player->provider, what,
                      weir_slice_of(weir_status_text(st)));
    call_attempt_over_locked(call);
}

/*
 * The last look, at the very bytes that are to leave. When it fails, for whatever reason, nothing
 * does. What was found is named by its kind alone.
 */
static WEIR_MUST_CHECK enum weir_status check_body(const struct call *call, struct weir_slice body,
                                                   const char **kind)
{
    const struct guard *guard = call->asked.request.guard;
    enum shield_category category = SHIELD_N_CATEGORIES;
    *kind = NULL;
    if (!guard || !guard_covers(guard, call->player->provider->is_external)) return WEIR_OK;
    enum weir_status st = guard_check(guard, body, &category);
    if (st == WEIR_FORBIDDEN) *kind = shield_category_name(category);
    return st;
}

static void refuse_locked(struct call *call, const char *kind)
{
    call->models->stats.n_residues++;
    call->failure = (struct model_failure){.status = WEIR_FORBIDDEN};
    model_failure_say(&call->failure, call->player->provider,
                      "was not asked, for something private was left in the request",
                      weir_slice_of(kind));
    call_attempt_over_locked(call);
}

static void ask_locked(struct call *call)
{
    struct models *m = call->models;
    struct weir_buf body;
    const char *kind = NULL;
    /* What is large is made without the lock. */
    pthread_mutex_unlock(&m->lock);
    weir_buf_init(&body, BODY_BYTES);
    enum weir_status st =
        model_body_put(&body, &call->asked.request, call->player, !call->is_fallback);
    if (st == WEIR_OK) st = check_body(call, weir_buf_slice(&body), &kind);
    pthread_mutex_lock(&m->lock);
    if (kind) refuse_locked(call, kind);
    else if (st != WEIR_OK) fail_locked(call, st, "cannot be asked this");
    else if (call->is_aborted) fail_locked(call, WEIR_CANCELLED, "was not asked");
    else {
        call->n_attempts++;
        st = send_locked(call, weir_buf_slice(&body));
        /* Once it was sent, the call is the fetcher's, and may be over already. */
        if (st != WEIR_OK) {
            call->n_attempts--;
            fail_locked(call, st, "was not asked");
        }
    }
    weir_buf_fini(&body);
}

/* ---- playing ---- */

static unsigned count_play_locked(struct models *m, const char *hash)
{
    struct weir_slice key = weir_slice_of(hash);
    uintptr_t n = (uintptr_t)map_get(&m->plays, key) + 1;
    /* Without memory the first is played again. */
    if (map_put(&m->plays, key, (void *)n) != WEIR_OK) return 1;
    return (unsigned)n;
}

static void play_first_locked(struct call *call)
{
    struct models *m = call->models;
    char hash[CASSETTE_HASH_BYTES];
    cassette_hash(&call->asked.request, hash);
    unsigned n = count_play_locked(m, hash);
    pthread_mutex_unlock(&m->lock);
    cassette_reset(call->cassette);
    enum weir_status st = cassette_load(call->cassette, m->options.replay, hash, n);
    pthread_mutex_lock(&m->lock);
    call->n_attempts++;
    if (st != WEIR_OK) {
        char what[MODEL_WHY_BYTES / 2];
        snprintf(what, sizeof what, "has no cassette %.16s… of \"%s\" that can be played", hash,
                 call->asked.request.purpose ? call->asked.request.purpose : "");
        fail_locked(call, st == WEIR_NOMEM ? st : WEIR_NOT_FOUND, what);
        return;
    }
    call->state = CALL_PLAYING;
    call->n_played = 0;
    attempt_play_locked(call);
}

static void end_play(struct call *call)
{
    struct cassette *c = call->cassette;
    const char *cut = c->cut[0] != 0 ? c->cut : NULL;
    if (call->reply) close_reply(call, cut);
    else
        model_failure_of_http(&call->failure, call->player->provider, c->http_status,
                              weir_buf_slice(&c->bytes));
    call->failure.retry_after_ms = c->retry_after_ms;
    /* The last attempt is what was recorded. */
    call->failure.may_help = false;
}

static bool play_pieces(struct call *call, uint64_t age_ms)
{
    const struct cassette *c = call->cassette;
    bool goes_on = c->http_status == HTTP_OK;
    if (goes_on && !call->reply) goes_on = open_reply(call, weir_slice_of(c->content_type));
    for (; goes_on && call->n_played < c->n_pieces; call->n_played++) {
        const struct cassette_piece *piece = &c->pieces[call->n_played];
        size_t begin = call->n_played > 0 ? piece[-1].end : 0;
        if (piece->at_ms > age_ms) return true;
        goes_on = hear(call, slice_of(c->bytes.ptr + begin, piece->end - begin));
    }
    return goes_on && c->end_ms > age_ms;
}

void attempt_play_locked(struct call *call)
{
    struct models *m = call->models;
    const struct cassette *c = call->cassette;
    uint64_t age_ms = models_now_ms(m) - call->begun_ms;
    pthread_mutex_unlock(&m->lock);
    bool goes_on = play_pieces(call, age_ms);
    if (!goes_on) end_play(call);
    pthread_mutex_lock(&m->lock);
    if (!goes_on || call->is_aborted) {
        call_attempt_over_locked(call);
        return;
    }
    uint64_t at_ms = call->n_played < c->n_pieces ? c->pieces[call->n_played].at_ms : c->end_ms;
    call_set_due_locked(call, call->begun_ms + at_ms);
}

void attempt_begin_locked(struct call *call)
{
    call->begun_ms = models_now_ms(call->models);
    call->is_lingering = false;
    call->has_output = false;
    call->failure = (struct model_failure){.status = WEIR_OK};
    if (call->models->options.replay) play_first_locked(call);
    else ask_locked(call);
}
