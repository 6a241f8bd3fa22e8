/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a stream: connections one after the other, each event to the caller, failures, and
 * its end. resume.c decides what is new and when to ask again. See weir/client.h.
 *
 * Everything runs in the fetcher's callbacks, but opening and closing. A stream ends in one place,
 * finish(), and nowhere else is one freed that was sent.
 */
#include "client/client_impl.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/retry_after.h"

enum {
    STREAM_MAGIC = 0x73747265,
    PAGE_BYTES = 4 << 10, /* of an answer that is no event stream */
    PAGE_MS = 5 * 1000,   /* for its body: it may be one that never ends */
};

static struct weir_event_stream *checked(void *user)
{
    struct weir_event_stream *s = user;
    CHECK(s->magic == STREAM_MAGIC);
    return s;
}

/* The caller wants to hear no more. */
static bool is_mute(const struct weir_event_stream *s)
{
    return atomic_load(&s->is_cancelled);
}

/* Nothing more of it shall come. */
static bool is_stopped(const struct weir_event_stream *s)
{
    return is_mute(s) || atomic_load(&s->is_aborted);
}

/* ---- the end ---- */

void stream_free(struct weir_event_stream *s)
{
    pthread_mutex_lock(&s->client->lock);
    if (list_is_linked(&s->node)) {
        list_remove(&s->node);
        s->client->n_streams--;
    }
    pthread_mutex_unlock(&s->client->lock);
    weir_sse_free(s->decoder);
    resume_fini(&s->resume);
    weir_buf_fini(&s->page);
    weir_buf_fini(&s->moved);
    s->magic = 0;
    mem_free(s);
}

static void finish(struct weir_event_stream *s, enum weir_status status)
{
    struct weir_client *c = s->client;
    atomic_store(&s->is_closed, true);
    if (!is_mute(s) && s->options.on_closed) s->options.on_closed(s->options.user, status);
    pthread_mutex_lock(&c->lock);
    bool is_freeing = s->is_freeing;
    s->is_over = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    /* Otherwise it may be gone by now. */
    if (is_freeing) stream_free(s);
}

static void send_next(struct weir_event_stream *s, uint64_t delay_ms);

/* Tells of a failure. What may help is done. */
static void fail(struct weir_event_stream *s, struct weir_stream_error *error, bool may_help)
{
    uint64_t delay_ms = 0;
    if (is_stopped(s)) {
        finish(s, WEIR_CANCELLED);
        return;
    }
    uint32_t throw = s->n_throws++;
    uint32_t chance = (uint32_t)hash_bytes(s->resume.hash_key, slice_of(&throw, sizeof throw));
    bool is_again = resume_after(&s->resume, s->said_ms, chance, &delay_ms) && may_help;
    error->is_final = !is_again;
    error->retry_in_ms = is_again ? delay_ms : 0;
    error->n_failed = s->resume.n_failed;
    if (s->options.on_error) s->options.on_error(s->options.user, error);
    if (is_again) send_next(s, delay_ms);
    else finish(s, error->status);
}

/* ---- events ---- */

static bool wants_more(const struct weir_event_stream *s)
{
    return !s->has_enough && !s->is_missing && !s->resume.is_over && s->broken == WEIR_OK &&
           !is_stopped(s);
}

static void give(struct weir_event_stream *s, const struct weir_sse_event *event, bool has_gap)
{
    const struct weir_event_stream_options *o = &s->options;
    uint64_t seq = s->resume.last_seq;
    if (has_gap && o->on_gap) o->on_gap(o->user, atomic_load(&s->last_seq) + 1, seq - 1);
    if (has_gap && is_stopped(s)) return;
    atomic_store(&s->last_seq, seq);
    if (!o->on_event(o->user, event, seq)) s->has_enough = true;
}

static void on_event(void *user, const struct weir_sse_event *event)
{
    struct weir_event_stream *s = checked(user);
    enum resume_take take = RESUME_DROP;
    if (!wants_more(s)) return;
    s->broken = resume_event(&s->resume, event, &take);
    if (s->broken != WEIR_OK) return;
    if (take <= RESUME_GIVE_LAST) give(s, event, take == RESUME_GIVE_AFTER_GAP);
    if (take == RESUME_MISSING) s->is_missing = true;
    if (take == RESUME_BAD) s->broken = WEIR_BAD_EVENT;
    if (take == RESUME_OTHER) s->broken = WEIR_CONFLICT;
}

static void on_retry(void *user, uint64_t retry_ms)
{
    resume_said_retry(&checked(user)->resume, retry_ms);
}

static const struct weir_sse_handlers decoder_handlers = {.on_event = on_event,
                                                          .on_retry = on_retry};

/* ---- a connection ---- */

/* The first that this client calls back knows its thread. */
static void note_thread(struct weir_client *c)
{
    pthread_mutex_lock(&c->lock);
    c->has_thread = true;
    c->thread = pthread_self();
    pthread_mutex_unlock(&c->lock);
}

/* Sessions tell by their numbers what they lack, and others by their answer. */
static void tell_gap(struct weir_event_stream *s, const struct fetch_answer *answer)
{
    const struct weir_event_stream_options *o = &s->options;
    uint64_t first, last;
    bool has_gap = resume_read_gap(fetch_field_of(answer, "x-weir-gap"), &first, &last);
    if (has_gap && o->kind == WEIR_STREAM_ANY && o->on_gap && !is_stopped(s))
        o->on_gap(o->user, first, last);
}

static void limit_page(struct weir_event_stream *s)
{
    unsigned first_byte_ms = s->options.limits.first_byte_ms;
    pthread_mutex_lock(&s->client->lock);
    uint64_t ticket = s->ticket;
    pthread_mutex_unlock(&s->client->lock);
    fetcher_limit(s->client->fetcher, ticket,
                  first_byte_ms > 0 && first_byte_ms < PAGE_MS ? first_byte_ms : PAGE_MS);
}

static bool on_head(void *user, int http_status, const struct fetch_answer *answer)
{
    struct weir_event_stream *s = checked(user);
    note_thread(s->client);
    s->has_head = true;
    s->answer = resume_head(http_status, fetch_field_of(answer, "content-type"));
    s->said_ms =
        retry_after_ms(fetch_field_of(answer, "retry-after-ms"),
                       fetch_field_of(answer, "retry-after"), clock_wall_ms(&clock_system));
    if (s->answer == RESUME_OPEN && s->options.on_open && !is_stopped(s))
        s->options.on_open(s->options.user);
    if (s->answer == RESUME_OPEN) tell_gap(s, answer);
    else limit_page(s);
    return !is_stopped(s);
}

static bool on_body(void *user, struct weir_slice bytes)
{
    struct weir_event_stream *s = checked(user);
    if (s->answer != RESUME_OPEN) {
        size_t room = PAGE_BYTES - s->page.len;
        weir_buf_append(&s->page, bytes.ptr, bytes.len < room ? bytes.len : room);
        return bytes.len < room;
    }
    resume_bytes(&s->resume);
    enum weir_status st = weir_sse_feed(s->decoder, bytes.ptr, bytes.len);
    if (st != WEIR_OK && s->broken == WEIR_OK) s->broken = st;
    return wants_more(s);
}

/* Whether such an end may be another one next time. */
static bool may_help(enum fetch_end end)
{
    return end != FETCH_BAD_URL && end != FETCH_NOT_TRUSTED && end != FETCH_ENCODED &&
           end != FETCH_TOO_LARGE;
}

static const char *why_refused(int http_status)
{
    if (http_status == 200) return "the answer is no event stream";
    if (http_status >= 300 && http_status < 400)
        return "the server sends us elsewhere, where we do not go";
    return http_status < 500 ? "the server refuses" : "the server is in trouble";
}

/* An answer that does not open the stream. */
static void fail_by_answer(struct weir_event_stream *s, const struct fetch_result *result)
{
    struct weir_stream_error error = {
        .status = result->http_status == 200 ? WEIR_BAD_TYPE : WEIR_UPSTREAM,
        .http_status = result->http_status,
        .why = why_refused(result->http_status),
        .body = s->page.len > 0 ? weir_buf_slice(&s->page) : result->body,
    };
    fail(s, &error, s->answer == RESUME_LATER);
}

/* No answer, or the stream failed. */
static void fail_by_end(struct weir_event_stream *s, const struct fetch_result *result)
{
    struct weir_stream_error error = {
        .status = result->status, .http_status = result->http_status, .why = result->why};
    bool helps = may_help(result->end);
    if (s->broken == WEIR_OK)
        s->broken = resume_end(&s->resume, weir_sse_last_event_id(s->decoder));
    if (s->broken != WEIR_OK) {
        error.status = s->broken;
        error.why = s->broken == WEIR_CONFLICT ? "the server has begun to number its events anew"
                                               : weir_status_text(s->broken);
        helps = false;
    } else if (s->is_missing) {
        error.status = WEIR_STREAM_CUT;
        error.why = "events are missing in the stream";
        helps = true;
    } else if (result->end == FETCH_WHOLE) {
        error.status = WEIR_STREAM_CUT;
        error.why = "the stream ended before its last event";
    }
    fail(s, &error, helps);
}

static void on_done(void *user, const struct fetch_result *result)
{
    struct weir_event_stream *s = checked(user);
    note_thread(s->client);
    if (is_mute(s) || result->end == FETCH_ABORTED) finish(s, WEIR_CANCELLED);
    else if (s->resume.is_over || s->has_enough) finish(s, WEIR_OK);
    else if (s->has_head && s->answer == RESUME_NOTHING) finish(s, WEIR_OK);
    else if (s->has_head && s->answer != RESUME_OPEN) fail_by_answer(s, result);
    else fail_by_end(s, result);
}

/* ---- sending ---- */

static void begin_connection(struct weir_event_stream *s)
{
    resume_begin(&s->resume);
    weir_sse_reset(s->decoder);
    weir_buf_reset(&s->page);
    s->has_head = s->is_missing = false;
    s->said_ms = 0;
}

/* WEIR_SHUTDOWN: it was closed. */
static WEIR_MUST_CHECK enum weir_status send_request(struct weir_event_stream *s, uint64_t delay_ms)
{
    struct weir_buf texts;
    struct fetch_request request = {
        .delay_ms = (unsigned)delay_ms,
        .on_head = on_head,
        .on_body = on_body,
        .done = on_done,
        .user = s,
    };
    weir_buf_init(&texts, STREAM_REQUEST_BYTES);
    begin_connection(s);
    stream_request_fill(s, &texts, &request);
    enum weir_status st = weir_buf_status(&texts);
    pthread_mutex_lock(&s->client->lock);
    if (st == WEIR_OK && is_stopped(s)) st = WEIR_SHUTDOWN;
    if (st == WEIR_OK) st = fetcher_send(s->client->fetcher, &request, &s->ticket);
    pthread_mutex_unlock(&s->client->lock);
    if (texts.ptr) explicit_bzero(texts.ptr, texts.len); /* the key */
    weir_buf_fini(&texts);
    return st;
}

static void send_next(struct weir_event_stream *s, uint64_t delay_ms)
{
    enum weir_status st = send_request(s, delay_ms);
    if (st == WEIR_OK) return;
    struct weir_stream_error error = {.status = st, .why = weir_status_text(st), .is_final = true};
    if (st == WEIR_SHUTDOWN) error.status = WEIR_CANCELLED;
    else if (!is_stopped(s) && s->options.on_error) s->options.on_error(s->options.user, &error);
    finish(s, error.status);
}

/* ---- opening and closing ---- */

static struct weir_slice copy(char **at, struct weir_slice s)
{
    struct weir_slice copied = {*at, s.len};
    if (s.len > 0) memcpy(*at, s.ptr, s.len);
    (*at)[s.len] = 0;
    *at += s.len + 1;
    return copied;
}

static struct weir_slice or_empty(const char *text)
{
    return text ? weir_slice_of(text) : SLICE("");
}

static size_t text_bytes(const struct weir_event_stream_options *o)
{
    size_t n = o->url.len + o->key.len + o->id.len + o->body.len + or_empty(o->ca_file).len +
               or_empty(o->socket).len + o->query.len + 7;
    for (size_t i = 0; i < o->n_fields; i++)
        n += weir_slice_of(o->fields[i].name).len + o->fields[i].value.len + 2;
    return n;
}

static void copy_options(struct weir_event_stream *s, const struct weir_event_stream_options *o)
{
    char *at = (char *)(s + 1);
    s->options = *o;
    s->options.url = copy(&at, o->url);
    s->options.key = copy(&at, o->key);
    s->options.id = copy(&at, o->id);
    s->options.body = copy(&at, o->body);
    struct weir_slice ca_file = copy(&at, or_empty(o->ca_file));
    s->options.ca_file = o->ca_file ? ca_file.ptr : NULL;
    struct weir_slice socket = copy(&at, or_empty(o->socket));
    s->options.socket = o->socket ? socket.ptr : NULL;
    s->options.query = copy(&at, o->query);
    s->options.fields = s->fields;
    s->options.last_event_id = SLICE(""); /* the resume has it */
    for (size_t i = 0; i < o->n_fields; i++) {
        s->fields[i].name = copy(&at, weir_slice_of(o->fields[i].name)).ptr;
        s->fields[i].value = copy(&at, o->fields[i].value);
    }
}

static WEIR_MUST_CHECK enum weir_status set_up(struct weir_event_stream *s,
                                               const struct weir_event_stream_options *options)
{
    enum weir_status st = resume_init(&s->resume, options->kind, &options->retry);
    if (st != WEIR_OK) return st;
    weir_buf_init(&s->page, PAGE_BYTES);
    weir_buf_init(&s->moved, STREAM_URL_BYTES);
    st = resume_had(&s->resume, options->since_seq, options->last_event_id);
    if (st != WEIR_OK) return st;
    atomic_init(&s->last_seq, s->resume.last_seq);
    s->decoder = weir_sse_new(&decoder_handlers, s, &options->limits.sse);
    return s->decoder ? WEIR_OK : WEIR_NOMEM;
}

static WEIR_MUST_CHECK enum weir_status enlist(struct weir_event_stream *s)
{
    struct weir_client *c = s->client;
    enum weir_status st = WEIR_BUSY;
    pthread_mutex_lock(&c->lock);
    if (c->n_streams < c->max_streams) {
        list_push_back(&c->streams, &s->node);
        c->n_streams++;
        st = WEIR_OK;
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

enum weir_status weir_event_stream_open(struct weir_event_stream **out, struct weir_client *c,
                                        const struct weir_event_stream_options *options)
{
    if (!stream_request_can_be(options)) return WEIR_INVALID;
    struct weir_event_stream *s = mem_zalloc(sizeof *s + text_bytes(options));
    if (!s) return WEIR_NOMEM;
    s->magic = STREAM_MAGIC;
    s->client = c;
    copy_options(s, options);
    enum weir_status st = set_up(s, options);
    if (st == WEIR_OK) {
        *out = s; /* a callback may be called before the next lines are through */
        st = enlist(s);
    }
    if (st == WEIR_OK) st = send_request(s, 0);
    if (st == WEIR_OK) return st;
    *out = NULL;
    stream_free(s);
    return st;
}

static bool is_own_thread(const struct weir_client *c)
{
    return c->has_no_thread || (c->has_thread && pthread_equal(c->thread, pthread_self()));
}

void weir_event_stream_close(struct weir_event_stream *s)
{
    if (!s) return;
    struct weir_client *c = checked(s)->client;
    pthread_mutex_lock(&c->lock);
    atomic_store(&s->is_cancelled, true);
    fetcher_abort(c->fetcher, s->ticket);
    /* One's own thread cannot wait for itself. */
    s->is_freeing = is_own_thread(c) && !s->is_over;
    while (!s->is_over && !s->is_freeing) pthread_cond_wait(&c->changed, &c->lock);
    bool is_for_us = !s->is_freeing;
    pthread_mutex_unlock(&c->lock);
    if (is_for_us) stream_free(s);
}

void weir_event_stream_abort(struct weir_event_stream *s)
{
    struct weir_client *c = checked(s)->client;
    pthread_mutex_lock(&c->lock);
    atomic_store(&s->is_aborted, true);
    fetcher_abort(c->fetcher, s->ticket);
    pthread_mutex_unlock(&c->lock);
}

enum weir_status weir_event_stream_move(struct weir_event_stream *s, struct weir_slice url)
{
    if (s->options.kind != WEIR_STREAM_ANY || !stream_request_url_can_be(url)) return WEIR_INVALID;
    struct weir_buf moved;
    weir_buf_init(&moved, STREAM_URL_BYTES);
    weir_buf_append_slice(&moved, url);
    enum weir_status st = weir_buf_status(&moved);
    if (st != WEIR_OK) return st;
    weir_buf_fini(&s->moved);
    s->moved = moved;
    return WEIR_OK;
}

uint64_t weir_event_stream_last_seq(const struct weir_event_stream *s)
{
    return atomic_load(&s->last_seq);
}

bool weir_event_stream_closed(const struct weir_event_stream *s)
{
    return atomic_load(&s->is_closed);
}
