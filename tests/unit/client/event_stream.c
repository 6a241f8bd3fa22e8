/* SPDX-License-Identifier: Apache-2.0 */
/* Streams over a network that does everything but work. */
#include <poll.h>

#include <weir/client.h>

#include "base/fault.h"
#include "base/slice.h"
#include "unit/io/peer.h"

enum { N_EVENTS = 8, BODY_BYTES = 4096, N_MANY = 40, MAX_GAPS = 4 };

/* ---- a caller ---- */

struct caller {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_events, n_opened, n_errors, n_closed, n_gaps;
    uint64_t last_seq;
    bool is_in_order;
    unsigned n_wanted; /* events; 0: all */
    enum weir_status closed;
    struct weir_stream_error error; /* the last */
    char body[200];
    uint64_t gaps[MAX_GAPS][2];
    char data[200]; /* of all events */
    struct weir_event_stream *stream;
    bool is_closing; /* the stream, in the next callback */
};

static void caller_init(struct caller *c)
{
    *c = (struct caller){.lock = PTHREAD_MUTEX_INITIALIZER, .is_in_order = true};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &attributes);
}

static void changed(struct caller *c)
{
    struct weir_event_stream *closing = c->is_closing ? c->stream : NULL;
    if (closing) c->stream = NULL;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    weir_event_stream_close(closing);
}

static bool on_event(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    struct caller *c = user;
    pthread_mutex_lock(&c->lock);
    size_t at = strlen(c->data);
    snprintf(c->data + at, sizeof c->data - at, "%.*s ", (int)event->data.len, event->data.ptr);
    if (seq > 0 && seq != c->last_seq + 1 && c->n_gaps == 0) c->is_in_order = false;
    c->last_seq = seq;
    c->n_events++;
    bool wants_more = c->n_wanted == 0 || c->n_events < c->n_wanted;
    changed(c);
    return wants_more;
}

static void on_open(void *user)
{
    struct caller *c = user;
    pthread_mutex_lock(&c->lock);
    c->n_opened++;
    changed(c);
}

static void on_error(void *user, const struct weir_stream_error *error)
{
    struct caller *c = user;
    pthread_mutex_lock(&c->lock);
    c->n_errors++;
    c->error = *error;
    snprintf(c->body, sizeof c->body, "%.*s", (int)error->body.len,
             error->body.len > 0 ? error->body.ptr : "");
    T_OK(error->why[0] != 0);
    changed(c);
}

static void on_gap(void *user, uint64_t first, uint64_t last)
{
    struct caller *c = user;
    pthread_mutex_lock(&c->lock);
    c->gaps[c->n_gaps % MAX_GAPS][0] = first;
    c->gaps[c->n_gaps++ % MAX_GAPS][1] = last;
    changed(c);
}

static void on_closed(void *user, enum weir_status status)
{
    struct caller *c = user;
    pthread_mutex_lock(&c->lock);
    c->n_closed++;
    c->closed = status;
    changed(c);
}

static void wait_for(struct caller *c, const unsigned *count, unsigned n)
{
    struct timespec deadline = clock_deadline(WAIT_MS);
    int error = 0;
    pthread_mutex_lock(&c->lock);
    while (*count < n && error == 0)
        error = pthread_cond_timedwait(&c->changed, &c->lock, &deadline);
    T_OK(*count >= n);
    pthread_mutex_unlock(&c->lock);
}

/* ---- a server with a turn ---- */

/* What a connection does with its answer; the last holds for all that follow. */
struct act {
    const char *instead; /* the whole answer */
    size_t cut;          /* bytes of the answer that are sent; 0: all */
    enum peer_end end;   /* behind it */
    bool forgets;        /* replays from the first event on, whatever was had */
    uint64_t skips;      /* leaves this event out */
    bool trickles;
};

struct turn {
    const struct act *acts;
    size_t n_acts;
    const char *last; /* type of the last event; NULL: there is none */
    const char *name; /* before the numbers; NULL: none */
    uint64_t first;   /* number of the oldest event that is kept */
    size_t n_answer;  /* bytes of the last answer */
    atomic_uint n_asked;
};

static uint64_t place_of(const char *request)
{
    const char *field = strstr(request, "Last-Event-ID: ");
    if (!field) return 0;
    field += 15;
    const char *colon = strpbrk(field, ":\r");
    return strtoull(colon && *colon == ':' ? colon + 1 : field, NULL, 10);
}

static size_t write_turn(const struct turn *t, const struct act *act, uint64_t had, char *out)
{
    size_t len = (size_t)snprintf(out, BODY_BYTES,
                                  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    uint64_t from = act->forgets ? 1 : had + 1;
    for (uint64_t i = from > t->first ? from : t->first; i <= N_EVENTS; i++) {
        bool is_last = i == N_EVENTS && t->last;
        if (i == act->skips) continue;
        len +=
            (size_t)snprintf(out + len, BODY_BYTES - len, "id: %s%llu\nevent: %s\ndata: e%llu\n\n",
                             t->name ? t->name : "", (unsigned long long)i, is_last ? t->last : "x",
                             (unsigned long long)i);
    }
    return len;
}

static void play_turn(struct peer *p, int fd)
{
    struct turn *t = p->user;
    char answer[BODY_BYTES];
    size_t i = atomic_load(&p->n_connections) - 1;
    const struct act *act = &t->acts[i < t->n_acts ? i : t->n_acts - 1];
    if (!peer_take_request(p, fd)) return;
    atomic_fetch_add(&t->n_asked, 1);
    size_t len = write_turn(t, act, place_of(p->request), answer);
    t->n_answer = len;
    if (act->instead) len = (size_t)snprintf(answer, sizeof answer, "%s", act->instead);
    if (act->cut > 0 && act->cut < len) len = act->cut;
    struct peer one = {.answer = answer, .n_answer = len, .is_trickling = act->trickles};
    const struct linger at_once = {.l_onoff = 1};
    peer_answer(&one, fd);
    if (act->end == PEER_STALLS) peer_stall(fd);
    if (act->end == PEER_RESETS) setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static struct weir_event_stream_options options_for(struct caller *c, const char *url,
                                                    enum weir_stream_kind kind)
{
    return (struct weir_event_stream_options){
        .kind = kind,
        .url = weir_slice_of(url),
        .key = SLICE("a-key"),
        .id = SLICE("turn_1"),
        .body = SLICE("{}"),
        .retry = {.initial_ms = 1, .max_ms = 2},
        .on_event = on_event,
        .on_open = on_open,
        .on_error = on_error,
        .on_gap = on_gap,
        .on_closed = on_closed,
        .user = c,
    };
}

static struct weir_client *new_client(void)
{
    struct weir_client *client = NULL;
    T_EQ(weir_client_new(&client, NULL), WEIR_OK);
    if (!client) abort();
    return client;
}

/* Reads a stream to its end. */
static void read_stream(struct turn *t, struct peer *p, struct caller *c,
                        enum weir_stream_kind kind,
                        void (*tune)(struct weir_event_stream_options *options))
{
    char url[PEER_URL_BYTES];
    *p = (struct peer){.play = play_turn, .user = t};
    caller_init(c);
    peer_start(p);
    struct weir_client *client = new_client();
    snprintf(url, sizeof url, "http://127.0.0.1:%u", p->port);
    struct weir_event_stream_options options = options_for(c, url, kind);
    if (tune) tune(&options);
    struct weir_event_stream *s = NULL;
    T_EQ(weir_event_stream_open(&s, client, &options), WEIR_OK);
    wait_for(c, &c->n_closed, 1);
    T_OK(weir_event_stream_closed(s));
    weir_event_stream_close(s);
    weir_client_free(client);
    peer_stop(p);
    T_EQ(c->n_closed, 1);
    T_OK(c->is_in_order);
}

static void check_whole(const struct caller *c)
{
    T_EQ(c->closed, WEIR_OK);
    T_EQ(c->n_events, N_EVENTS);
    T_EQ(c->last_seq, N_EVENTS);
    T_EQ_STR(weir_slice_of(c->data), "e1 e2 e3 e4 e5 e6 e7 e8 ");
}

/* ---- turns ---- */

static const struct act good = {.cut = 0};

TEST(a_turn_is_read_to_its_last_event)
{
    struct turn t = {.acts = &good, .n_acts = 1, .last = "turn.completed", .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_TURN, NULL);
    check_whole(&c);
    T_EQ(c.n_opened, 1);
    T_EQ(c.n_errors, 0);
    T_OK(strncmp(p.request, "GET /v1/turns/turn_1/events HTTP/1.1\r\n", 38) == 0);
    T_OK(strstr(p.request, "\r\nAuthorization: Bearer a-key\r\n"));
    T_OK(strstr(p.request, "\r\nAccept: text/event-stream\r\n"));
    T_OK(!strstr(p.request, "Last-Event-ID"));
}

static void check_acts(const struct act *acts, size_t n_acts, unsigned n_errors)
{
    struct turn t = {.acts = acts, .n_acts = n_acts, .last = "turn.failed", .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_TURN, NULL);
    check_whole(&c);
    T_EQ(c.n_errors, n_errors);
}

TEST(a_turn_that_is_cut_at_any_byte_is_given_once_and_in_order)
{
    char answer[BODY_BYTES];
    struct turn t = {.last = "turn.failed", .first = 1};
    size_t len = write_turn(&t, &good, 0, answer);
    /* The last line end is not needed for the last event: its blank line has come. */
    for (size_t cut = 1; cut < len; cut++) {
        const struct act acts[] = {{.cut = cut}, good};
        check_acts(acts, 2, 1);
    }
}

TEST(a_turn_that_is_reset_or_replayed_is_given_once_and_in_order)
{
    for (size_t cut = 60; cut < 200; cut += 7) {
        const struct act acts[] = {{.cut = cut, .end = PEER_RESETS},
                                   {.cut = cut + 50, .forgets = true},
                                   {.forgets = true, .trickles = true}};
        check_acts(acts, 3, 2);
    }
}

TEST(failures_that_pass_do_not_harm)
{
    const struct act acts[] = {
        {.instead = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n<h1>502</h1>"},
        {.cut = 90},
        {.instead = "HTTP/1.1 429 Too Many\r\nRetry-After-Ms: 1\r\nContent-Length: 0\r\n\r\n"},
        {.instead = "no such protocol\r\n\r\n"},
        {.instead = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"},
        {.cut = 12},
        {.skips = 5},
        {.cut = 150, .trickles = true},
        good,
    };
    check_acts(acts, sizeof acts / sizeof *acts, 8);
}

TEST(a_turn_without_progress_is_given_up_by_name)
{
    const struct act act = {.cut = 70}; /* within the first event */
    struct turn t = {.acts = &act, .n_acts = 1, .last = "turn.failed", .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_TURN, NULL);
    T_EQ(c.n_events, 0);
    T_EQ(atomic_load(&t.n_asked), 6);
    T_EQ(c.n_errors, 6);
    T_EQ(c.closed, WEIR_STREAM_CUT);
    T_EQ(c.error.status, WEIR_STREAM_CUT);
    T_OK(c.error.is_final);
}

static void check_refused(const char *answer, enum weir_status status, int http_status,
                          const char *body)
{
    const struct act act = {.instead = answer};
    struct turn t = {.acts = &act, .n_acts = 1, .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_SESSION, NULL);
    T_EQ(atomic_load(&t.n_asked), 1);
    T_EQ(c.closed, status);
    T_EQ(c.n_events, 0);
    T_EQ(c.n_errors, status != WEIR_OK);
    T_EQ(c.error.http_status, http_status);
    T_EQ_STR(weir_slice_of(c.body), body);
}

TEST(answers_that_will_not_change_are_told_with_their_body)
{
    check_refused("HTTP/1.1 204 No Content\r\n\r\n", WEIR_OK, 0, "");
    check_refused("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}", WEIR_UPSTREAM, 404,
                  "{}");
    check_refused("HTTP/1.1 401 Who\r\n\r\nno key", WEIR_UPSTREAM, 401, "no key");
    check_refused("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", WEIR_UPSTREAM, 302,
                  "");
    check_refused("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<h1>Log in</h1>",
                  WEIR_BAD_TYPE, 200, "<h1>Log in</h1>");
    check_refused("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                  "Content-Encoding: gzip\r\n\r\nx",
                  WEIR_BAD_TYPE, 200, "");
    check_refused("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: no number\n\n",
                  WEIR_BAD_EVENT, 200, "");
}

static void tiny_events(struct weir_event_stream_options *options)
{
    options->limits.sse.max_event_bytes = 1;
}

TEST(events_beyond_their_limit_end_it_by_name)
{
    struct turn t = {.acts = &good, .n_acts = 1, .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_TURN, tiny_events);
    T_EQ(c.closed, WEIR_EVENT_TOO_LONG);
}

static void watched(struct weir_event_stream_options *options)
{
    options->limits.idle_ms = 100;
    options->since_seq = ((struct caller *)options->user)->last_seq = 2;
}

TEST(a_stall_is_noticed_and_the_stream_goes_on)
{
    const struct act acts[] = {{.cut = 100, .end = PEER_STALLS}, good};
    struct turn t = {.acts = acts, .n_acts = 2, .last = "turn.completed", .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_TURN, watched);
    T_EQ(c.closed, WEIR_OK);
    T_EQ(c.n_events, N_EVENTS - 2);
    T_EQ(c.error.status, WEIR_TIMEOUT);
    T_OK(strstr(p.request, "\r\nLast-Event-ID: "));
}

/* ---- other kinds ---- */

TEST(a_session_tells_what_is_no_longer_kept)
{
    const struct act acts[] = {{.cut = 150}, {.instead = "HTTP/1.1 204 No Content\r\n\r\n"}};
    struct turn t = {.acts = acts, .n_acts = 2, .first = 4};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_SESSION, NULL);
    T_EQ(c.closed, WEIR_OK);
    T_EQ(c.n_gaps, 1);
    T_EQ(c.gaps[0][0], 1);
    T_EQ(c.gaps[0][1], 3);
    T_OK(strncmp(p.request, "GET /sse/sessions/turn_1?lastEventId=", 37) == 0);
}

TEST(a_reply_that_is_cut_or_replayed_is_given_once_and_in_order)
{
    const struct act acts[] = {{.cut = 130}, {.forgets = true, .cut = 260}, {.skips = 7}, good};
    struct turn t = {.acts = acts, .n_acts = 4, .first = 1, .last = "done", .name = "msg_1:"};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_CHAT, NULL);
    check_whole(&c);
    T_OK(strncmp(p.request, "GET /ai/chat?conversationId=turn_1 HTTP/1.1\r\n", 45) == 0);
    T_OK(strstr(p.request, "\r\nLast-Event-ID: msg_1:6\r\n"));
}

TEST(any_stream_tells_the_gap_that_its_answer_names)
{
    const struct act acts[] = {{.instead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                           "X-Weir-Gap: 3-8\r\n\r\ndata: x\n\n"},
                               {.instead = "HTTP/1.1 204 No Content\r\n\r\n"}};
    struct turn t = {.acts = acts, .n_acts = 2, .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_ANY, NULL);
    T_EQ(c.closed, WEIR_OK);
    T_EQ(c.n_gaps, 1);
    T_EQ(c.gaps[0][0], 3);
    T_EQ(c.gaps[0][1], 8);
}

static void had_three(struct weir_event_stream_options *options)
{
    options->last_event_id = SLICE("3");
    options->id = SLICE("");
}

TEST(any_stream_goes_on_behind_its_last_id)
{
    const struct act acts[] = {
        {.cut = 130}, {.forgets = true}, {.instead = "HTTP/1.1 204 No Content\r\n\r\n"}};
    struct turn t = {.acts = acts, .n_acts = 3, .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_ANY, had_three);
    T_EQ(c.closed, WEIR_OK);
    /* The second connection replays all; of that what this caller has been given is dropped. */
    T_OK(strncmp(c.data, "e4 e5 e1 e2 e3 e6 ", 6) == 0);
    T_OK(strstr(c.data, "e8 "));
    T_OK(strncmp(p.request, "GET / HTTP/1.1\r\n", 16) == 0);
    T_OK(strstr(p.request, "\r\nLast-Event-ID: 8\r\n"));
}

/* ---- streams that say where to go on ---- */

static bool move_on(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    struct caller *c = user;
    char url[sizeof c->body + PEER_URL_BYTES];
    pthread_mutex_lock(&c->lock);
    struct weir_event_stream *s = c->stream;
    pthread_mutex_unlock(&c->lock);
    snprintf(url, sizeof url, "%s/from/%.*s", c->body, (int)event->data.len, event->data.ptr);
    T_EQ(weir_event_stream_move(s, SLICE("no url")), WEIR_INVALID);
    T_EQ(weir_event_stream_move(s, weir_slice_of(url)), WEIR_OK);
    return on_event(user, event, seq);
}

TEST(a_stream_can_be_told_by_its_events_where_to_go_on)
{
    const struct act acts[] = {{.cut = 130}, {.instead = "HTTP/1.1 204 No Content\r\n\r\n"}};
    struct turn t = {.acts = acts, .n_acts = 2, .first = 1};
    struct peer p = {.play = play_turn, .user = &t};
    struct caller c;
    caller_init(&c);
    peer_start(&p);
    struct weir_client *client = new_client();
    snprintf(c.body, sizeof c.body, "http://127.0.0.1:%u", p.port);
    struct weir_event_stream_options options = options_for(&c, c.body, WEIR_STREAM_ANY);
    options.on_event = move_on;
    options.on_error = NULL;
    pthread_mutex_lock(&c.lock);
    T_EQ(weir_event_stream_open(&c.stream, client, &options), WEIR_OK);
    pthread_mutex_unlock(&c.lock);
    wait_for(&c, &c.n_closed, 1);
    weir_client_free(client);
    peer_stop(&p);
    T_OK(strncmp(p.request, "GET /from/e3 HTTP/1.1\r\n", 23) == 0);
}

#define MODEL_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

TEST(a_model_is_asked_again_only_before_its_first_byte)
{
    const struct act acts[] = {
        {.instead = "HTTP/1.1 529 Overloaded\r\nContent-Length: 0\r\n\r\n"},
        {.instead = MODEL_HEAD},
        {.instead = MODEL_HEAD "event: message_start\ndata: a\n\nevent: message_stop\ndata: b\n\n",
         .end = PEER_STALLS},
    };
    struct turn t = {.acts = acts, .n_acts = 3, .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_MODEL, NULL);
    T_EQ(c.closed, WEIR_OK);
    T_EQ_STR(weir_slice_of(c.data), "a b ");
    T_EQ(c.n_errors, 2);
    T_OK(strncmp(p.request, "POST / HTTP/1.1\r\n", 17) == 0);
    const struct act cut = {.instead = MODEL_HEAD "e"};
    t = (struct turn){.acts = &cut, .n_acts = 1, .first = 1};
    read_stream(&t, &p, &c, WEIR_STREAM_MODEL, NULL);
    T_EQ(c.closed, WEIR_STREAM_CUT);
    T_EQ(atomic_load(&t.n_asked), 1);
}

static void want_two(struct weir_event_stream_options *options)
{
    ((struct caller *)options->user)->n_wanted = 2;
}

TEST(a_caller_may_have_enough)
{
    struct turn t = {.acts = &good, .n_acts = 1, .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_SESSION, want_two);
    T_EQ(c.closed, WEIR_OK);
    T_EQ(c.n_events, 2);
}

/* ---- closing ---- */

/* Opens a stream of a server that does this. */
struct open_stream {
    struct turn turn;
    struct peer peer;
    struct caller caller;
    struct weir_client *client;
    struct act act;
    char url[PEER_URL_BYTES];
};

static void open_one_with(struct open_stream *o, const struct act *act, unsigned pause_ms,
                          void (*on_failure)(void *user, const struct weir_stream_error *error))
{
    memset(o, 0, sizeof *o);
    o->act = *act;
    o->turn = (struct turn){.acts = &o->act, .n_acts = 1, .first = 1};
    o->peer = (struct peer){.play = play_turn, .user = &o->turn};
    caller_init(&o->caller);
    peer_start(&o->peer);
    o->client = new_client();
    snprintf(o->url, sizeof o->url, "http://127.0.0.1:%u", o->peer.port);
    struct weir_event_stream_options options = options_for(&o->caller, o->url, WEIR_STREAM_SESSION);
    options.retry.initial_ms = options.retry.max_ms = pause_ms;
    options.on_error = on_failure;
    pthread_mutex_lock(&o->caller.lock);
    T_EQ(weir_event_stream_open(&o->caller.stream, o->client, &options), WEIR_OK);
    pthread_mutex_unlock(&o->caller.lock);
}

static void open_one(struct open_stream *o, const struct act *act, unsigned pause_ms)
{
    open_one_with(o, act, pause_ms, on_error);
}

static void close_client(struct open_stream *o)
{
    weir_client_free(o->client);
    peer_stop(&o->peer);
}

static const struct act stall_mid_event = {.cut = 100, .end = PEER_STALLS};
static const struct act stall_mid_head = {.cut = 20, .end = PEER_STALLS};
static const struct act refuse = {.instead = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"};

TEST(a_stream_can_be_closed_from_outside_in_every_state)
{
    struct open_stream o;
    open_one(&o, &stall_mid_event, 1);
    wait_for(&o.caller, &o.caller.n_events, 1);
    weir_event_stream_close(o.caller.stream);
    T_EQ(o.caller.n_closed, 0);
    close_client(&o);
    open_one(&o, &stall_mid_head, 1);
    while (atomic_load(&o.turn.n_asked) == 0) usleep(1000);
    weir_event_stream_close(o.caller.stream);
    close_client(&o);
    open_one(&o, &refuse, WAIT_MS); /* the pause */
    wait_for(&o.caller, &o.caller.n_errors, 1);
    weir_event_stream_close(o.caller.stream);
    T_EQ(o.caller.n_errors, 1);
    close_client(&o);
    open_one(&o, &refuse, WAIT_MS); /* wherever it is */
    weir_event_stream_close(o.caller.stream);
    T_EQ(o.caller.n_closed, 0);
    close_client(&o);
}

static void check_aborted(struct open_stream *o, unsigned n_errors)
{
    unsigned n_events = o->caller.n_events;
    weir_event_stream_abort(o->caller.stream);
    wait_for(&o->caller, &o->caller.n_closed, 1);
    T_EQ(o->caller.closed, WEIR_CANCELLED);
    T_EQ(o->caller.n_errors, n_errors);
    T_OK(weir_event_stream_closed(o->caller.stream));
    T_EQ(weir_event_stream_last_seq(o->caller.stream), n_events);
    weir_event_stream_abort(o->caller.stream);
    weir_event_stream_close(o->caller.stream);
    T_EQ(o->caller.n_closed, 1);
    close_client(o);
}

TEST(a_stream_that_is_aborted_in_any_state_is_closed_by_its_owner)
{
    struct open_stream o;
    open_one(&o, &stall_mid_event, 1);
    wait_for(&o.caller, &o.caller.n_events, 1);
    check_aborted(&o, 0);
    open_one(&o, &stall_mid_head, 1);
    while (atomic_load(&o.turn.n_asked) == 0) usleep(1000);
    check_aborted(&o, 0);
    open_one(&o, &refuse, WAIT_MS); /* the pause */
    wait_for(&o.caller, &o.caller.n_errors, 1);
    check_aborted(&o, 1);
}

static void abort_it(void *user, const struct weir_stream_error *error)
{
    struct caller *c = user;
    pthread_mutex_lock(&c->lock);
    struct weir_event_stream *s = c->stream;
    pthread_mutex_unlock(&c->lock);
    weir_event_stream_abort(s);
    on_error(user, error);
}

TEST(a_stream_can_be_aborted_by_a_callback)
{
    struct open_stream o;
    open_one_with(&o, &refuse, 1, abort_it);
    wait_for(&o.caller, &o.caller.n_closed, 1);
    T_EQ(o.caller.closed, WEIR_CANCELLED);
    T_EQ(o.caller.n_errors, 1);
    T_EQ(atomic_load(&o.turn.n_asked), 1);
    weir_event_stream_close(o.caller.stream);
    close_client(&o);
}

TEST(a_stream_can_be_closed_by_each_of_its_callbacks)
{
    static const struct act *const acts[] = {&stall_mid_event, &refuse};
    for (size_t i = 0; i < 2; i++) {
        struct open_stream o;
        open_one(&o, acts[i], 1);
        pthread_mutex_lock(&o.caller.lock);
        o.caller.is_closing = true;
        while (o.caller.stream) pthread_cond_wait(&o.caller.changed, &o.caller.lock);
        pthread_mutex_unlock(&o.caller.lock);
        close_client(&o);
        T_EQ(o.caller.n_closed, 0);
    }
    /* In the very last one. */
    const struct act nothing = {.instead = "HTTP/1.1 204 No Content\r\n\r\n"};
    struct open_stream o;
    memset(&o, 0, sizeof o);
    open_one(&o, &nothing, 1);
    pthread_mutex_lock(&o.caller.lock);
    o.caller.is_closing = o.caller.n_closed == 0;
    struct weir_event_stream *rest = o.caller.is_closing ? NULL : o.caller.stream;
    pthread_mutex_unlock(&o.caller.lock);
    weir_event_stream_close(rest);
    close_client(&o);
}

TEST(a_client_that_goes_closes_its_streams)
{
    static const struct act *const acts[] = {&stall_mid_event, &stall_mid_head, &refuse};
    for (size_t i = 0; i < 3; i++) {
        struct open_stream o;
        open_one(&o, acts[i], WAIT_MS);
        while (atomic_load(&o.turn.n_asked) == 0) usleep(1000);
        close_client(&o);
        T_EQ(o.caller.n_closed, 1);
        T_EQ(o.caller.closed, WEIR_CANCELLED);
    }
}

/* ---- a loop of one's own ---- */

TEST(a_program_with_a_loop_needs_no_thread)
{
    const struct act acts[] = {{.cut = 130}, good};
    const struct weir_client_options options = {.has_no_thread = true};
    struct turn t = {.acts = acts, .n_acts = 2, .last = "turn.completed", .first = 1};
    struct peer p = {.play = play_turn, .user = &t};
    struct caller c;
    struct weir_client *client = NULL;
    struct weir_event_stream *s = NULL;
    char url[PEER_URL_BYTES];
    caller_init(&c);
    peer_start(&p);
    T_EQ(weir_client_new(&client, &options), WEIR_OK);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", p.port);
    struct weir_event_stream_options stream = options_for(&c, url, WEIR_STREAM_TURN);
    T_EQ(weir_event_stream_open(&s, client, &stream), WEIR_OK);
    while (!weir_event_stream_closed(s)) {
        struct pollfd ready = {.fd = weir_client_fd(client), .events = POLLIN};
        T_OK(poll(&ready, 1, weir_client_timeout_ms(client)) >= 0);
        weir_client_run(client);
    }
    check_whole(&c);
    T_EQ(weir_event_stream_last_seq(s), N_EVENTS);
    weir_event_stream_close(s);
    /* One that is under way, closed between two rounds. */
    T_EQ(weir_event_stream_open(&s, client, &stream), WEIR_OK);
    weir_client_run(client);
    weir_event_stream_close(s);
    weir_client_run(client);
    weir_client_free(client);
    peer_stop(&p);
}

/* ---- options ---- */

TEST(options_that_cannot_be_are_refused)
{
    struct weir_client *client = new_client();
    struct weir_event_stream *s = NULL;
    struct caller c;
    caller_init(&c);
    const struct weir_event_stream_options usual =
        options_for(&c, "http://127.0.0.1:1", WEIR_STREAM_TURN);
    static const char *const urls[] = {"", "ftp://a/", "http://user:pass@a/", "127.0.0.1",
                                       "http://"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct weir_event_stream_options bad = usual;
        bad.url = weir_slice_of(urls[i]);
        T_EQ(weir_event_stream_open(&s, client, &bad), WEIR_INVALID);
    }
    struct weir_event_stream_options bad = usual;
    bad.key = SLICE("a\r\nX: y");
    T_EQ(weir_event_stream_open(&s, client, &bad), WEIR_INVALID);
    bad = usual;
    bad.id = SLICE("");
    T_EQ(weir_event_stream_open(&s, client, &bad), WEIR_INVALID);
    bad = usual;
    bad.on_event = NULL;
    T_EQ(weir_event_stream_open(&s, client, &bad), WEIR_INVALID);
    bad = usual;
    bad.kind = WEIR_STREAM_CHAT;
    bad.last_event_id = SLICE("no-number");
    T_EQ(weir_event_stream_open(&s, client, &bad), WEIR_INVALID);
    bad = usual;
    bad.kind = (enum weir_stream_kind)9;
    T_EQ(weir_event_stream_open(&s, client, &bad), WEIR_INVALID);
    weir_client_free(client);
    T_EQ(c.n_closed, 0);
}

static void odd_id(struct weir_event_stream_options *options)
{
    static const struct weir_stream_field fields[] = {{"X-One", {"1", 1}}, {"X-Two", {"2", 1}}};
    options->id = SLICE("a/../b?c#d \xc3\xa4");
    options->fields = fields;
    options->n_fields = 2;
}

TEST(an_id_stays_within_its_place_in_the_address)
{
    struct turn t = {.acts = &good, .n_acts = 1, .last = "turn.completed", .first = 1};
    struct peer p;
    struct caller c;
    read_stream(&t, &p, &c, WEIR_STREAM_TURN, odd_id);
    T_OK(strncmp(p.request, "GET /v1/turns/a%2F..%2Fb%3Fc%23d%20%C3%A4/events HTTP/1.1\r\n", 59) ==
         0);
    T_OK(strstr(p.request, "\r\nX-One: 1\r\n") && strstr(p.request, "\r\nX-Two: 2\r\n"));
}

/* ---- memory ---- */

/* Reads a turn that is cut once, and lets the nth allocation fail. False: there were fewer. */
static bool read_without(uint64_t nth)
{
    const struct act acts[] = {{.cut = 130}, good};
    struct turn t = {.acts = acts, .n_acts = 2, .last = "turn.completed", .first = 1};
    struct peer p = {.play = play_turn, .user = &t};
    struct caller c;
    struct weir_client *client = NULL;
    struct weir_event_stream *s = NULL;
    char url[PEER_URL_BYTES];
    caller_init(&c);
    peer_start(&p);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", p.port);
    struct weir_event_stream_options options = options_for(&c, url, WEIR_STREAM_TURN);
    fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
    enum weir_status st = weir_client_new(&client, NULL);
    if (st == WEIR_OK) st = weir_event_stream_open(&s, client, &options);
    if (st == WEIR_OK) wait_for(&c, &c.n_closed, 1);
    else T_EQ(st, WEIR_NOMEM);
    if (c.closed == WEIR_OK && st == WEIR_OK) check_whole(&c);
    else if (st == WEIR_OK) T_EQ(c.closed, WEIR_NOMEM);
    bool was_hit = fault_count(FAULT_ALLOC) >= nth;
    fault_disarm_all();
    weir_event_stream_close(s);
    weir_client_free(client);
    peer_stop(&p);
    return was_hit;
}

TEST(lack_of_memory_is_told_by_name)
{
    uint64_t n = 1;
    while (read_without(n)) n++;
    T_OK(n > 15);
}
