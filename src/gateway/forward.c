/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request on its way, and its answer.
 *
 *   looked at ──▶ sent ──▶ 200 and events ──▶ begun (first commit) ──▶ events … ──▶ sealed
 *       │          │              └ commit failed: answered with an error, upstream aborted
 *       └──────────┴──▶ anything else: gathered, values put back, answered
 *
 * It is the fetcher's thread's from being sent to `done`. Each commit holds a reference, too: the
 * last one to go frees it. The sink is called once, whatever happens, and not with a lock held.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <weir/sse.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "gateway/gateway_impl.h"
#include "shield/decision.h"

enum {
    REQUEST_BYTES = 32 << 20, /* of a request with its placeholders */
    FRAME_BYTES = STORE_FRAME_BYTES,
    WHY_BYTES = 384,
    OPEN_BYTES = 256, /* of the document of a stream that is open */
    HTTP_BAD_REQUEST = 400,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_TOO_MANY = 429,
    HTTP_INTERNAL = 500,
    HTTP_UNAVAILABLE = 503,
    HTTP_NO_STATUS = 600,
};

struct forward {
    struct gateway *gateway;
    enum model_type type;
    struct gateway_sink sink;
    bool wants_stream;
    char id[GATEWAY_ID_LEN + 1];
    char owner[GATEWAY_OWNER_BYTES];
    char log_name[GATEWAY_LOG_BYTES];
    struct weir_slice log;
    struct guard *guard;

    /* Under the gateway's lock. */
    unsigned n_refs; /* the fetcher's, and one of each commit */
    bool is_answered;
    bool is_broken; /* a commit has failed: the rest is not wanted */
    uint64_t ticket;
    bool has_ticket;
    struct list_node open; /* while it has one */

    /* The fetcher's thread's. */
    bool is_stream, has_begun; /* begun: its first commit is on its way */
    struct weir_sse *sse;
    struct rewriter *rewriter;
    struct commit *batch; /* of the bytes at hand; NULL: none yet */
    struct weir_buf frame, body;
    enum weir_status status; /* the first thing that went wrong */
    uint64_t n_bytes;
};

/* ---- its life ---- */

static void forward_free(struct forward *f)
{
    guard_free(f->guard);
    weir_sse_free(f->sse);
    rewriter_free(f->rewriter);
    commit_free(f->batch);
    weir_buf_fini(&f->frame);
    weir_buf_fini(&f->body);
    mem_free(f);
}

static void hold(struct forward *f)
{
    pthread_mutex_lock(&f->gateway->lock);
    f->n_refs++;
    pthread_mutex_unlock(&f->gateway->lock);
}

static void release(struct forward *f)
{
    struct gateway *g = f->gateway;
    pthread_mutex_lock(&g->lock);
    bool is_last = --f->n_refs == 0;
    if (is_last && f->has_ticket) list_remove(&f->open);
    pthread_mutex_unlock(&g->lock);
    if (!is_last) return;
    forward_free(f);
    /* Only now: whoever waits for this may free the gateway. */
    pthread_mutex_lock(&g->lock);
    if (--g->n_open == 0) pthread_cond_broadcast(&g->is_idle);
    pthread_mutex_unlock(&g->lock);
}

static struct forward *forward_new(struct gateway *g, const struct gateway_request *request)
{
    struct forward *f = mem_zalloc(sizeof *f);
    struct ulid ulid;
    if (!f) return NULL;
    f->gateway = g;
    f->type = request->type;
    f->sink = request->sink;
    f->n_refs = 1;
    weir_buf_init(&f->frame, FRAME_BYTES);
    weir_buf_init(&f->body, GATEWAY_ANSWER_BYTES);
    f->guard = guard_new(g->options.policy);
    pthread_mutex_lock(&g->lock);
    bool has_id = ulid_next(&g->ids, &ulid) == WEIR_OK;
    g->n_open++;
    g->stats.n_requests++;
    pthread_mutex_unlock(&g->lock);
    if (!f->guard || !has_id || request->owner.len >= sizeof f->owner) {
        release(f);
        return NULL;
    }
    memcpy(f->id, "gw_", 3);
    ulid_format(f->id + 3, ulid);
    memcpy(f->owner, request->owner.ptr, request->owner.len);
    f->log = gateway_log(f->log_name, request->owner, weir_slice_of(f->id));
    return f;
}

/* ---- answering ---- */

/* Whether the caller is the one who answers. */
static bool take_answer(struct forward *f)
{
    pthread_mutex_lock(&f->gateway->lock);
    bool was_answered = f->is_answered;
    f->is_answered = true;
    pthread_mutex_unlock(&f->gateway->lock);
    return !was_answered;
}

static void answer(struct forward *f, const struct gateway_answer *a)
{
    if (take_answer(f)) f->sink.answer(f->sink.user, a);
}

static void answer_error(const struct gateway_sink *sink, enum model_type type, int http_status,
                         const char *why)
{
    struct weir_buf body;
    weir_buf_init(&body, GATEWAY_ERROR_BYTES);
    failure_put(&body, type, http_status, why);
    struct gateway_answer a = {.http_status = http_status, .body = weir_buf_slice(&body)};
    sink->answer(sink->user, &a);
    weir_buf_fini(&body);
}

static void refuse(struct forward *f, int http_status, const char *why)
{
    if (take_answer(f)) answer_error(&f->sink, f->type, http_status, why);
}

static void count(struct gateway *g, uint64_t *counter)
{
    pthread_mutex_lock(&g->lock);
    ++*counter;
    pthread_mutex_unlock(&g->lock);
}

/* ---- commits ---- */

void forward_abort_locked(struct list_node *node)
{
    struct forward *f = CONTAINER_OF(node, struct forward, open);
    f->is_broken = true;
    if (f->has_ticket) model_forward_abort(f->gateway->options.models, f->ticket);
}

static void abort_upstream(struct forward *f)
{
    pthread_mutex_lock(&f->gateway->lock);
    forward_abort_locked(&f->open);
    pthread_mutex_unlock(&f->gateway->lock);
}

struct written {
    struct forward *forward;
    struct commit *commit;
    bool is_first;
};

static void on_written(void *user, const struct commit_result *result)
{
    struct written *w = user;
    struct forward *f = w->forward;
    if (result->status != WEIR_OK) {
        abort_upstream(f);
        refuse(f, HTTP_UNAVAILABLE, weir_status_text(result->status));
    } else if (w->is_first && take_answer(f)) {
        f->sink.open(f->sink.user, f->id);
    }
    commit_free(w->commit);
    mem_free(w);
    release(f);
}

/* Takes the commit over. */
static enum weir_status write_commit(struct forward *f, struct commit *c, bool is_first)
{
    struct written *w = mem_alloc(sizeof *w);
    if (!w) {
        commit_free(c);
        return WEIR_NOMEM;
    }
    *w = (struct written){f, c, is_first};
    hold(f);
    store_commit(f->gateway->store, c, on_written, w);
    return WEIR_OK;
}

static void note(struct forward *f, enum weir_status st)
{
    if (f->status == WEIR_OK) f->status = st;
}

/* ---- a stream ---- */

static enum weir_status begin_log(struct forward *f)
{
    struct gateway *g = f->gateway;
    weir_buf_reset(&f->frame);
    enum weir_status st = gateway_put_first(&f->frame, g, f->type, f->guard, f->log);
    if (st != WEIR_OK) return st;
    char bytes[OPEN_BYTES];
    struct weir_buf open = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    gateway_put_open(&open, g, f->type);
    struct commit *c = commit_new(f->frame.len);
    if (!c) return WEIR_NOMEM;
    commit_append(c, f->log, weir_buf_slice(&f->frame));
    commit_put(c, gateway_open_key(f->log), DOC_ANY_VERSION, weir_slice_of(f->owner),
               weir_buf_slice(&open));
    return write_commit(f, c, true);
}

/* An event as it is stored. */
static void on_stored(void *user, struct weir_slice type, struct weir_slice data)
{
    struct forward *f = user;
    struct weir_sse_event event = {.data = data};
    if (!weir_slice_is(type, "message")) event.type = type;
    weir_buf_reset(&f->frame);
    if (f->status == WEIR_OK) note(f, weir_sse_write(&f->frame, &event));
    if (f->status == WEIR_OK && !f->batch) {
        f->batch = commit_new(f->frame.len);
        if (!f->batch) note(f, WEIR_NOMEM);
    }
    if (f->status == WEIR_OK) commit_append(f->batch, f->log, weir_buf_slice(&f->frame));
}

/* An event as it came. */
static void on_event(void *user, const struct weir_sse_event *event)
{
    struct forward *f = user;
    if (f->status != WEIR_OK || rewriter_has_ended(f->rewriter)) return;
    /* The store keeps no NUL, and no provider sends one. */
    if (memchr(event->data.ptr, 0, event->data.len)) return;
    weir_buf_reset(&f->body);
    weir_buf_append_slice(&f->body, event->data);
    note(f, weir_buf_status(&f->body));
    if (f->status != WEIR_OK) return;
    model_forward_blot(f->gateway->options.models, f->type, f->body.ptr, f->body.len);
    note(f, rewriter_event(f->rewriter, event->type, weir_buf_slice(&f->body)));
}

static void flush(struct forward *f)
{
    struct commit *c = f->batch;
    f->batch = NULL;
    if (c && f->status == WEIR_OK) note(f, write_commit(f, c, false));
    else commit_free(c);
}

static bool begin_stream(struct forward *f)
{
    static const struct weir_sse_handlers handlers = {.on_event = on_event};
    static const struct weir_sse_limits limits = {.max_line_bytes = REWRITE_EVENT_BYTES,
                                                  .max_event_bytes = REWRITE_EVENT_BYTES};
    f->is_stream = true;
    f->sse = weir_sse_new(&handlers, f, &limits);
    f->rewriter = rewriter_new(wire_of(f->type), guard_tokens(f->guard), on_stored, f);
    note(f, f->sse && f->rewriter ? begin_log(f) : WEIR_NOMEM);
    f->has_begun = f->status == WEIR_OK;
    if (f->has_begun) count(f->gateway, &f->gateway->stats.n_streams);
    return f->has_begun;
}

static const char *why_broken(const struct forward *f, const struct fetch_result *result)
{
    if (f->status != WEIR_OK) return weir_status_text(f->status);
    return result->status != WEIR_OK ? result->why : "the stream of the provider has no end";
}

/* The last commit: what was held, an error where there was no end, and no more. */
static void end_stream(struct forward *f, const struct fetch_result *result)
{
    enum weir_status wrong = f->status;
    bool has_ended = wrong == WEIR_OK && rewriter_has_ended(f->rewriter);
    if (wrong == WEIR_OK && !has_ended) note(f, rewriter_end(f->rewriter));
    flush(f);
    struct commit *c = commit_new(GATEWAY_ERROR_BYTES);
    if (!c) return;
    weir_buf_reset(&f->frame);
    if (!has_ended && failure_put_frame(&f->frame, f->type, why_broken(f, result)) == WEIR_OK)
        commit_append(c, f->log, weir_buf_slice(&f->frame));
    commit_seal(c, f->log, f->gateway->options.keep_ms);
    commit_remove(c, gateway_open_key(f->log), DOC_ANY_VERSION);
    /* What cannot be written is ended by the next start. */
    enum weir_status st = write_commit(f, c, false);
    if (st != WEIR_OK || !has_ended) count(f->gateway, &f->gateway->stats.n_failed);
}

/* ---- what the fetcher calls ---- */

static bool on_head(void *user, int http_status, const struct fetch_answer *head)
{
    static const char event_stream[] = "text/event-stream";
    struct forward *f = user;
    struct weir_slice type = fetch_field_of(head, "content-type");
    bool is_stream = type.len >= sizeof event_stream - 1 &&
                     strncasecmp(type.ptr, event_stream, sizeof event_stream - 1) == 0;
    if (http_status != HTTP_OK || !f->wants_stream || !is_stream) return true;
    return begin_stream(f);
}

static bool on_body(void *user, struct weir_slice bytes)
{
    struct forward *f = user;
    if (!f->is_stream) {
        weir_buf_append_slice(&f->body, bytes);
        note(f, weir_buf_status(&f->body));
        return f->status == WEIR_OK;
    }
    f->n_bytes += bytes.len;
    note(f, f->n_bytes > GATEWAY_STREAM_BYTES ? WEIR_LIMIT : WEIR_OK);
    if (f->status == WEIR_OK) note(f, weir_sse_feed(f->sse, bytes.ptr, bytes.len));
    flush(f);
    pthread_mutex_lock(&f->gateway->lock);
    bool is_broken = f->is_broken;
    pthread_mutex_unlock(&f->gateway->lock);
    return f->status == WEIR_OK && !is_broken && !rewriter_has_ended(f->rewriter);
}

/* Whether these bytes are an object, as every answer of both APIs is. */
static bool is_object(struct weir_slice body)
{
    const struct weir_json *value;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    bool is_good = doc && weir_json_parse(doc, body, &value, NULL) == WEIR_OK &&
                   weir_json_type_of(value) == WEIR_JSON_OBJECT;
    weir_json_doc_free(doc);
    return is_good;
}

/* A page of somebody in between, a redirect, an event stream that nobody asked for. */
static void refuse_foreign(struct forward *f, int http_status)
{
    char why[WHY_BYTES];
    bool is_error = http_status >= HTTP_BAD_REQUEST && http_status < HTTP_NO_STATUS;
    snprintf(why, sizeof why, "the provider answered %d, and not in the form of its API",
             http_status);
    refuse(f, is_error ? http_status : HTTP_BAD_GATEWAY, why);
}

/* The provider's own words, with the values put back. */
static void answer_gathered(struct forward *f, const struct fetch_result *result)
{
    struct weir_buf shown;
    int status = result->http_status;
    if (status != HTTP_OK) {
        weir_buf_reset(&f->body);
        weir_buf_append_slice(&f->body, result->body);
    }
    bool is_status = status == HTTP_OK || (status >= HTTP_BAD_REQUEST && status < HTTP_NO_STATUS);
    if (!is_status || !is_object(weir_buf_slice(&f->body))) {
        refuse_foreign(f, status);
        return;
    }
    weir_buf_init(&shown, 4 * (size_t)GATEWAY_ANSWER_BYTES);
    model_forward_blot(f->gateway->options.models, f->type, f->body.ptr, f->body.len);
    note(f, reveal_json(guard_tokens(f->guard), weir_buf_slice(&f->body), &shown));
    struct gateway_answer a = {.http_status = status,
                               .body = weir_buf_slice(&shown),
                               .retry_after = fetch_field_of(result->answer, "retry-after"),
                               .request_id = fetch_field_of(result->answer, "request-id")};
    if (f->status == WEIR_OK) answer(f, &a);
    else refuse(f, HTTP_BAD_GATEWAY, weir_status_text(f->status));
    weir_buf_fini(&shown);
}

static void on_done(void *user, const struct fetch_result *result)
{
    struct forward *f = user;
    char why[WHY_BYTES];
    bool is_whole = result->status == WEIR_OK && result->http_status != 0;
    if (f->has_begun) {
        end_stream(f, result);
    } else if (is_whole && f->status == WEIR_OK) {
        answer_gathered(f, result);
    } else {
        snprintf(why, sizeof why, "the provider could not be asked: %s",
                 f->status != WEIR_OK ? weir_status_text(f->status) : result->why);
        refuse(f, HTTP_BAD_GATEWAY, why);
    }
    if (!f->has_begun && result->http_status != HTTP_OK)
        count(f->gateway, &f->gateway->stats.n_failed);
    release(f);
}

/* ---- looking at it ---- */

static void free_commit(void *user, const struct commit_result *result)
{
    struct written *w = user;
    (void)result;
    commit_free(w->commit);
    release(w->forward);
    mem_free(w);
}

/* Before anything leaves; what cannot be recorded does not leave. */
static enum weir_status record(struct forward *f, const char *action, const char *decider,
                               const struct guard_report *report)
{
    struct commit *c = commit_new(GATEWAY_ERROR_BYTES);
    struct written *w = mem_alloc(sizeof *w);
    if (!c || !w) {
        commit_free(c);
        mem_free(w);
        return WEIR_NOMEM;
    }
    struct audit_entry e = {.at_ms = clock_wall_ms(f->gateway->options.clock),
                            .owner = weir_slice_of(f->owner),
                            .message = weir_slice_of(f->id),
                            .action = action,
                            .decider = decider,
                            .path = "gateway",
                            .report = report};
    audit_append(c, &e);
    audit_written(action);
    *w = (struct written){.forward = f, .commit = c};
    hold(f);
    store_commit(f->gateway->store, c, free_commit, w);
    return WEIR_OK;
}

static void say_blocked(char why[WHY_BYTES], const struct guard_report *report)
{
    struct weir_buf names;
    weir_buf_init(&names, WHY_BYTES / 2);
    guard_report_put_categories(report, &names);
    snprintf(why, WHY_BYTES, "blocked by the privacy policy: the request has %.*s in it",
             (int)names.len, names.len > 0 ? names.ptr : "");
    weir_buf_fini(&names);
}

static enum pii_action action_of(const struct forward *f)
{
    const struct gateway_options *o = &f->gateway->options;
    bool is_covered =
        shield_policy_scope(o->policy) == PII_ALL || model_forward_is_external(o->models, f->type);
    return is_covered ? shield_policy_action(o->policy) : PII_OFF;
}

/* What a look at a request came to. */
struct verdict {
    struct guard_report report;
    bool is_blocked;
    char why[WHY_BYTES]; /* it is */
};

static enum weir_status block(struct forward *f, struct verdict *v, const char *action)
{
    v->is_blocked = true;
    return record(f, action, strcmp(action, "policy_block") == 0 ? "policy" : "egress", &v->report);
}

/* Puts what may leave into `out`. */
static enum weir_status look(struct forward *f, const struct weir_json *request,
                             struct weir_buf *out, struct verdict *v)
{
    enum shield_category category;
    enum guard_form form = f->type == MODEL_ANTHROPIC ? GUARD_ANTHROPIC : GUARD_OPENAI;
    enum weir_status st = guard_redact(f->guard, form, request, out, &v->report);
    if (st == WEIR_FORBIDDEN) {
        const struct guard_report *r = &v->report;
        snprintf(v->why, sizeof v->why, "blocked by the privacy policy: %s at %s",
                 r->refused_what ? r->refused_what : "something that cannot be taken out",
                 r->refused_at[0] ? r->refused_at : "an unknown place");
        return block(f, v, "policy_block");
    }
    if (st != WEIR_OK) return st;
    if (v->report.n > 0 && action_of(f) == PII_BLOCK) {
        say_blocked(v->why, &v->report);
        return block(f, v, "policy_block");
    }
    if (v->report.n > 0) st = record(f, "redact", "policy", &v->report);
    if (st == WEIR_OK) st = guard_check(f->guard, weir_buf_slice(out), &category);
    if (st != WEIR_FORBIDDEN) return st;
    snprintf(v->why, sizeof v->why, "blocked by the privacy policy: %s could not be taken out",
             shield_category_name(category));
    return block(f, v, "residue_block");
}

/* False when it was answered instead. */
static bool redact(struct forward *f, const struct weir_json *request, struct weir_buf *out)
{
    struct gateway *g = f->gateway;
    struct verdict v = {.is_blocked = false};
    if (action_of(f) == PII_OFF) {
        weir_json_put_value(out, request);
        return true;
    }
    guard_report_init(&v.report);
    enum weir_status st = look(f, request, out, &v);
    if (st == WEIR_OK && v.is_blocked) count(g, &g->stats.n_blocked);
    else if (st == WEIR_OK && v.report.n > 0) count(g, &g->stats.n_redacted);
    guard_report_fini(&v.report);
    if (st != WEIR_OK) refuse(f, HTTP_INTERNAL, "what is private could not be looked for");
    else if (v.is_blocked) refuse(f, HTTP_FORBIDDEN, v.why);
    return st == WEIR_OK && !v.is_blocked;
}

static void add_field(struct model_forward *m, const char *name, struct weir_slice value)
{
    if (value.len > 0) m->fields[m->n_fields++] = (struct fetch_field){name, value};
}

static enum weir_status send_on(struct forward *f, const struct gateway_request *request,
                                struct weir_slice body)
{
    uint64_t ticket;
    struct model_forward m = {.type = f->type,
                              .body = body,
                              .max_body = f->wants_stream ? 0 : GATEWAY_ANSWER_BYTES,
                              .on_head = on_head,
                              .on_body = on_body,
                              .done = on_done,
                              .user = f};
    add_field(&m, "anthropic-version", request->version);
    add_field(&m, "anthropic-beta", request->beta);
    hold(f); /* for the ticket: it may be over before this returns */
    enum weir_status st = model_forward(f->gateway->options.models, &m, &ticket);
    if (st == WEIR_OK) {
        pthread_mutex_lock(&f->gateway->lock);
        f->ticket = ticket;
        f->has_ticket = true;
        list_push_back(&f->gateway->open, &f->open);
        if (f->gateway->is_stopping) forward_abort_locked(&f->open);
        pthread_mutex_unlock(&f->gateway->lock);
    }
    release(f);
    return st;
}

static void say_unsent(struct forward *f, enum weir_status st)
{
    switch (st) {
    case WEIR_BUSY: refuse(f, HTTP_TOO_MANY, "too many requests are under way"); break;
    case WEIR_NOT_FOUND:
        refuse(f, HTTP_NOT_FOUND,
               f->type == MODEL_ANTHROPIC
                   ? "no provider of type anthropic is configured (weir serve --models)"
                   : "no provider of type openai is configured (weir serve --models)");
        break;
    case WEIR_INVALID:
        refuse(f, HTTP_BAD_REQUEST, "a field of the request cannot be sent on");
        break;
    default: refuse(f, HTTP_UNAVAILABLE, weir_status_text(st));
    }
}

static bool parse(struct forward *f, struct weir_slice body, struct weir_json_doc *doc,
                  const struct weir_json **out)
{
    char why[WHY_BYTES];
    size_t at = 0;
    enum weir_status st = doc ? weir_json_parse(doc, body, out, &at) : WEIR_NOMEM;
    if (st == WEIR_NOMEM) refuse(f, HTTP_UNAVAILABLE, weir_status_text(st));
    else if (st != WEIR_OK) {
        snprintf(why, sizeof why, "the body is not JSON: %s, at byte %zu", weir_status_text(st),
                 at);
        refuse(f, HTTP_BAD_REQUEST, why);
    } else if (weir_json_type_of(*out) != WEIR_JSON_OBJECT) {
        st = WEIR_BAD_FIELD;
        refuse(f, HTTP_BAD_REQUEST, "the body has to be a JSON object");
    }
    return st == WEIR_OK;
}

void gateway_forward(struct gateway *g, const struct gateway_request *request)
{
    struct forward *f = forward_new(gateway_checked(g), request);
    const struct weir_json *value;
    struct weir_buf body;
    if (!f) {
        answer_error(&request->sink, request->type, HTTP_UNAVAILABLE, weir_status_text(WEIR_NOMEM));
        return;
    }
    if (!model_forward_to(g->options.models, f->type)) {
        say_unsent(f, WEIR_NOT_FOUND);
        release(f);
        return;
    }
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&body, REQUEST_BYTES);
    enum weir_status st = WEIR_CANCELLED;
    if (parse(f, request->body, doc, &value)) {
        f->wants_stream = weir_json_type_of(weir_json_get_str(value, "stream")) == WEIR_JSON_TRUE;
        if (redact(f, value, &body)) {
            st = weir_buf_status(&body);
            if (st == WEIR_OK) st = send_on(f, request, weir_buf_slice(&body));
            if (st != WEIR_OK) say_unsent(f, st);
        }
    }
    weir_buf_fini(&body);
    weir_json_doc_free(doc);
    if (st != WEIR_OK) release(f);
}
