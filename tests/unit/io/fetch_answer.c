/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in every form and condition: pieces, cuts, limits of time and size. */
#include <poll.h>

#include "peer.h"

enum { IDLE_MS = 30, LONG_IDLE_MS = 500, N_TRICKLED = 5 };

static const struct fetcher_options usual;

static const char chunked[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n"
                              "3\r\nabc\r\n1\r\nd\r\n2\r\nef\r\n0\r\n\r\n";
static const char counted[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                              "Content-Length: 6\r\n\r\nabcdef";

static struct fetcher *any_host(const struct fetcher_options *options)
{
    struct fetcher *f = NULL;
    T_EQ(fetcher_new(&f, NULL, options), WEIR_OK);
    if (!f) abort();
    return f;
}

/* Asks once; what `tune` sets in the request holds, NULL: nothing. */
static enum fetch_end ask_peer(struct peer *p, struct reader *r,
                               void (*tune)(struct fetch_request *request))
{
    char url[PEER_URL_BYTES];
    struct fetcher *f = any_host(&usual);
    peer_start(p);
    peer_url(p, "127.0.0.1", url);
    struct fetch_request request = reader_stream(r, url);
    if (tune) tune(&request);
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(r, 1);
    fetcher_free(f);
    peer_stop(p);
    return r->result.end;
}

static enum fetch_end ask_for(const char *answer, struct reader *r)
{
    struct peer p = {.answer = answer};
    reader_init(r);
    return ask_peer(&p, r, NULL);
}

/* ---- forms ---- */

TEST(a_body_comes_in_pieces_after_its_head)
{
    static const char *const answers[] = {chunked, counted};
    for (size_t i = 0; i < 2; i++) {
        struct reader r;
        T_EQ(ask_for(answers[i], &r), FETCH_WHOLE);
        T_EQ(r.result.status, WEIR_OK);
        T_EQ(r.result.phase, FETCH_ANSWERED);
        T_EQ(r.n_heads, 1);
        T_EQ(r.head_status, 200);
        T_EQ_STR(weir_slice_of(r.field), "text/event-stream");
        T_EQ_SLICE(slice_of(r.text, r.n_text), SLICE("abcdef"));
        T_EQ(r.result.n_body, 6);
        T_EQ(r.result.body.len, 0);
        T_EQ_STR(weir_slice_of(r.result.why), "");
    }
}

TEST(a_get_has_no_body_and_says_what_it_takes)
{
    struct peer p = {.answer = counted};
    struct reader r;
    char url[PEER_URL_BYTES];
    reader_init(&r);
    peer_start(&p);
    struct fetcher *f = any_host(&usual);
    peer_url(&p, "127.0.0.1", url);
    struct fetch_request get = {
        .method = FETCH_GET,
        .url = weir_slice_of(url),
        .fields = {{"Accept", SLICE("text/event-stream")}, {"X-Empty", SLICE("")}},
        .n_fields = 2,
        .done = reader_on_done,
        .user = &r,
    };
    T_EQ(fetcher_send(f, &get, NULL), WEIR_OK);
    reader_wait_done(&r, 1);
    fetcher_free(f);
    peer_stop(&p);
    T_EQ_STR(weir_slice_of(r.body), "abcdef");
    T_OK(strncmp(p.request, "GET /hook?x=1 HTTP/1.1\r\n", 24) == 0);
    T_OK(strstr(p.request, "\r\nAccept: text/event-stream\r\n"));
    T_OK(strstr(p.request, "\r\nAccept-Encoding: identity\r\n"));
    T_OK(strstr(p.request, "\r\nX-Empty:"));
    T_OK(!strstr(p.request, "application/json"));
    T_OK(!strstr(p.request, "Content-"));
}

TEST(only_the_body_of_a_200_comes_in_pieces)
{
    static const struct {
        const char *answer;
        int http_status;
        const char *body;
    } cases[] = {
        {"HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
        {"HTTP/1.1 304 Not Modified\r\n\r\n", 304, ""},
        {"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", 201, "ok"},
        {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 4\r\n\r\naway",
         302, "away"},
        {"HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\nContent-Length: 4\r\n\r\nlate", 429, "late"},
        {"HTTP/1.0 500 Oh\r\n\r\nbroken", 500, "broken"},
        {"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", 503, "no"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reader r;
        T_EQ(ask_for(cases[i].answer, &r), FETCH_WHOLE);
        T_EQ(r.n_heads, 1);
        T_EQ(r.result.http_status, cases[i].http_status);
        T_EQ(r.n_text, 0);
        T_EQ_STR(weir_slice_of(r.body), cases[i].body);
    }
}

TEST(a_type_that_was_not_expected_is_the_readers_affair)
{
    struct reader r;
    T_EQ(ask_for("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>", &r), FETCH_WHOLE);
    T_EQ_STR(weir_slice_of(r.field), "text/html");
    T_EQ_SLICE(slice_of(r.text, r.n_text), SLICE("<p>"));
}

TEST(heads_before_and_fields_behind_the_answer_are_not_its_head)
{
    struct reader r;
    T_EQ(ask_for("HTTP/1.1 103 Early Hints\r\nContent-Type: a/early\r\n\r\n"
                 "HTTP/1.1 200 OK\r\nContent-Type: b/real\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "1\r\nx\r\n0\r\nContent-Type: c/late\r\n\r\n",
                 &r),
         FETCH_WHOLE);
    T_EQ(r.n_heads, 1);
    T_EQ(r.head_status, 200);
    T_EQ_STR(weir_slice_of(r.field), "b/real");
    T_EQ_SLICE(slice_of(r.text, r.n_text), SLICE("x"));
}

TEST(a_compressed_body_is_refused_by_name)
{
    struct reader r;
    T_EQ(ask_for(
             "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
             &r),
         FETCH_ENCODED);
    T_EQ(r.result.status, WEIR_BAD_TYPE);
    T_EQ(r.result.http_status, 200);
    T_EQ(r.n_text, 0);
    T_EQ(r.n_heads, 0);
    T_EQ(ask_for("HTTP/1.1 200 OK\r\nContent-Encoding: Identity\r\nContent-Length: 1\r\n\r\nx", &r),
         FETCH_WHOLE);
}

TEST(what_is_no_http_is_said_so)
{
    static const char *const answers[] = {
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct reader r;
        enum fetch_end end = ask_for(answers[i], &r);
        T_OK(end != FETCH_WHOLE && r.result.status == WEIR_IO);
        T_EQ(r.n_text, 0);
    }
}

/* ---- enough ---- */

static bool want_no_more(void *user, int http_status, const struct fetch_answer *answer)
{
    return reader_on_head(user, http_status, answer) && false;
}

static void stop_at_head(struct fetch_request *request)
{
    request->on_head = want_no_more;
}

TEST(a_reader_may_have_enough_of_it)
{
    struct peer p = {.answer = counted, .end = PEER_STALLS};
    struct reader r;
    reader_init(&r);
    T_EQ(ask_peer(&p, &r, stop_at_head), FETCH_ENOUGH);
    T_EQ(r.result.status, WEIR_OK);
    T_EQ(r.n_text, 0);
    struct peer endless = {.answer = "HTTP/1.1 200 OK\r\n\r\nabc", .end = PEER_STALLS};
    reader_init(&r);
    r.n_wanted = 3;
    T_EQ(ask_peer(&endless, &r, NULL), FETCH_ENOUGH);
    T_EQ(r.n_text, 3);
}

/* ---- cuts ---- */

static void check_cut(const char *answer, size_t cut, enum peer_end how)
{
    struct peer p = {.answer = answer, .n_answer = cut, .end = how};
    struct reader r;
    reader_init(&r);
    if (cut == 0) p.answer = NULL;
    enum fetch_end end = ask_peer(&p, &r, NULL);
    if (end == FETCH_WHOLE || r.result.status != WEIR_IO || r.result.why[0] == 0)
        t_fail(__FILE__, __LINE__, "cut at %zu: end %d", cut, (int)end);
    /* A reset may overtake what was sent before it. */
    bool has_line = cut >= strlen("HTTP/1.1 200 OK\r\n");
    if (how == PEER_CLOSES) T_EQ(r.result.phase, has_line ? FETCH_ANSWERED : FETCH_SENT);
    T_EQ(r.n_heads, r.result.http_status == 200);
    T_EQ(r.result.n_body, r.n_text);
    T_OK(r.n_text <= 6 && memcmp(r.text, "abcdef", r.n_text) == 0);
}

TEST(an_answer_that_is_cut_anywhere_is_never_whole)
{
    /* Without its very last LF the body is as whole as with it. */
    for (size_t cut = 0; cut + 2 < sizeof chunked; cut++) check_cut(chunked, cut, PEER_CLOSES);
    for (size_t cut = 0; cut + 1 < sizeof counted; cut++) check_cut(counted, cut, PEER_CLOSES);
}

TEST(an_answer_that_is_reset_anywhere_is_never_whole)
{
    for (size_t cut = 0; cut + 2 < sizeof chunked; cut++) check_cut(chunked, cut, PEER_RESETS);
}

/* ---- limits of size ---- */

static void at_most_4(struct fetch_request *request)
{
    request->limits.max_body = 4;
}

static void at_most_6(struct fetch_request *request)
{
    request->limits.max_body = 6;
}

static void gather_100_kb(struct fetch_request *request)
{
    request->on_body = NULL;
    request->limits.max_body = 100 << 10;
}

TEST(a_body_is_ended_at_its_ceiling)
{
    struct peer p = {.answer = counted};
    struct reader r;
    reader_init(&r);
    T_EQ(ask_peer(&p, &r, at_most_4), FETCH_TOO_LARGE);
    T_OK(r.n_text <= 4);
    struct peer same = {.answer = counted};
    reader_init(&r);
    T_EQ(ask_peer(&same, &r, at_most_6), FETCH_WHOLE);
    T_EQ(r.n_text, 6);
    struct peer large = {.answer = "HTTP/1.1 200 OK\r\n\r\n", .n_more = 100 << 10};
    reader_init(&r);
    T_EQ(ask_peer(&large, &r, gather_100_kb), FETCH_WHOLE);
    T_EQ(r.result.body.len, 100 << 10);
    struct peer endless = {.answer = "HTTP/1.1 500 Oh\r\n\r\n", .n_more = 10 << 20};
    reader_init(&r);
    T_EQ(ask_peer(&endless, &r, NULL), FETCH_TOO_LARGE);
    T_EQ(r.result.http_status, 500);
    T_EQ(r.result.body.len, FETCH_ANSWER_BYTES);
}

static void endless_head(struct peer *p, int fd)
{
    static const char start[] = "HTTP/1.1 200 OK\r\n";
    static const char field[] = "X-Field: 0123456789012345678901234567890123456789\r\n";
    if (!peer_take_request(p, fd)) return;
    peer_put(fd, start, strlen(start));
    for (int i = 0; i < 100000; i++) peer_put(fd, field, strlen(field));
}

static void endless_line(struct peer *p, int fd)
{
    static const char start[] = "HTTP/1.1 200 OK\r\nX-Field: ";
    if (!peer_take_request(p, fd)) return;
    peer_put(fd, start, strlen(start));
    for (int i = 0; i < 100000; i++) peer_put(fd, "0123456789", 10);
}

TEST(a_line_without_end_is_ended_by_name)
{
    struct peer p = {.play = endless_line};
    struct reader r;
    reader_init(&r);
    T_EQ(ask_peer(&p, &r, NULL), FETCH_TOO_LARGE);
    T_EQ(r.n_heads, 0);
}

TEST(a_head_without_end_is_ended)
{
    struct peer p = {.play = endless_head};
    struct reader r;
    reader_init(&r);
    T_OK(ask_peer(&p, &r, NULL) != FETCH_WHOLE);
    T_OK(r.result.end == FETCH_TOO_LARGE || r.result.status == WEIR_IO);
    T_EQ(r.n_heads, 0);
}

/* ---- limits of time ---- */

static void short_limits(struct fetch_request *request)
{
    request->limits.first_byte_ms = 100;
    request->limits.idle_ms = 150;
    request->limits.whole_ms = WAIT_MS;
}

/* For a peer that has begun to answer, however late that is on a machine that stalls. */
static void short_idle(struct fetch_request *request)
{
    request->limits.idle_ms = 150;
    request->limits.whole_ms = WAIT_MS;
}

static void short_head(struct fetch_request *request)
{
    request->limits.first_byte_ms = 100;
}

static void short_whole(struct fetch_request *request)
{
    request->limits.whole_ms = 100;
}

static enum fetch_end stall_after(const char *answer, struct reader *r,
                                  void (*tune)(struct fetch_request *request))
{
    struct peer p = {.answer = answer, .end = PEER_STALLS};
    reader_init(r);
    return ask_peer(&p, r, tune);
}

TEST(each_phase_that_takes_too_long_has_its_name)
{
    struct reader r;
    T_EQ(stall_after(NULL, &r, short_limits), FETCH_SLOW_HEAD);
    T_EQ(r.result.status, WEIR_TIMEOUT);
    T_EQ(r.result.phase, FETCH_SENT);
    T_EQ(stall_after("HTTP/1.1 200 OK\r\nContent-", &r, short_idle), FETCH_SLOW_HEAD);
    T_EQ(r.result.phase, FETCH_ANSWERED);
    T_EQ(r.result.http_status, 0);
    T_EQ(stall_after("HTTP/1.1 200 OK\r\nContent-", &r, short_head), FETCH_SLOW_HEAD);
    T_EQ(stall_after("HTTP/1.1 103 Early\r\n\r\n", &r, short_head), FETCH_SLOW_HEAD);
    T_EQ(stall_after("HTTP/1.1 200 OK\r\n\r\n", &r, short_idle), FETCH_SLOW_BODY);
    T_EQ(r.result.http_status, 200);
    T_EQ(stall_after("HTTP/1.1 200 OK\r\n\r\nab", &r, short_idle), FETCH_SLOW_BODY);
    T_EQ(r.n_text, 2);
    T_EQ(stall_after("HTTP/1.1 500 Oh\r\n\r\nab", &r, short_idle), FETCH_SLOW_BODY);
    T_EQ_STR(weir_slice_of(r.body), "ab");
    T_EQ(stall_after(NULL, &r, short_whole), FETCH_SLOW_WHOLE);
    T_EQ(stall_after("HTTP/1.1 200 OK\r\n\r\nab", &r, short_whole), FETCH_SLOW_WHOLE);
}

/* Rounds, each when there is something to do in it, until so much of the body has come. */
static void rounds_until_text(struct fetcher *f, struct reader *r, size_t n_text)
{
    while (r->n_text < n_text && r->n_done == 0) {
        struct pollfd ready = {.fd = fetcher_fd(f), .events = POLLIN};
        poll(&ready, 1, -1);
        fetcher_round(f);
    }
}

/* The connection of a request that is under way, when all of it has come. */
static int accept_in_rounds(struct peer *p, struct fetcher *f)
{
    struct pollfd ready[2] = {{.fd = p->fd, .events = POLLIN},
                              {.fd = fetcher_fd(f), .events = POLLIN}};
    for (;;) {
        poll(ready, 2, fetcher_wait_ms(f));
        fetcher_round(f);
        if (ready[0].fd == p->fd && (ready[0].revents & POLLIN))
            ready[0].fd = accept(p->fd, NULL, NULL);
        else if ((ready[0].revents & POLLIN) && peer_take_request(p, ready[0].fd))
            return ready[0].fd;
    }
}

/* A request whose answer is under way, in a fetcher that runs by rounds. */
struct opened {
    struct peer peer;
    struct reader reader;
    int fd;
};

static void open_answer(struct opened *o, struct fetcher *f, unsigned idle_ms,
                        bool (*on_body)(void *user, struct weir_slice bytes))
{
    char url[PEER_URL_BYTES];
    reader_init(&o->reader);
    peer_listen(&o->peer, 1);
    peer_url(&o->peer, "127.0.0.1", url);
    struct fetch_request request = reader_stream(&o->reader, url);
    request.limits.idle_ms = idle_ms;
    request.on_body = on_body;
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    o->fd = accept_in_rounds(&o->peer, f);
    peer_put(o->fd, "HTTP/1.1 200 OK\r\n\r\nx", 20);
    rounds_until_text(f, &o->reader, 1);
}

static void close_answer(struct opened *o)
{
    close(o->fd);
    close(o->peer.fd);
}

/* However slow this machine is: what has come before a round has come in time. */
TEST(a_trickle_satisfies_the_watchdog)
{
    const struct fetcher_options alone = {.has_no_thread = true};
    struct fetcher *f = any_host(&alone);
    struct opened o = {.fd = -1};
    open_answer(&o, f, IDLE_MS, reader_on_body);
    for (size_t i = 2; i <= N_TRICKLED; i++) {
        peer_put(o.fd, "x", 1);
        usleep(2 * IDLE_MS * 1000);
        rounds_until_text(f, &o.reader, i);
    }
    T_EQ(o.reader.n_text, N_TRICKLED);
    T_EQ(o.reader.n_done, 0);
    while (o.reader.n_done == 0) {
        struct pollfd ready = {.fd = fetcher_fd(f), .events = POLLIN};
        poll(&ready, 1, fetcher_wait_ms(f));
        fetcher_round(f);
    }
    T_EQ(o.reader.result.end, FETCH_SLOW_BODY);
    fetcher_free(f);
    close_answer(&o);
}

static struct opened *other; /* whom bytes come to while a callback takes its time */

static bool on_body_slowly(void *user, struct weir_slice bytes)
{
    if (other) {
        peer_put(other->fd, "y", 1);
        usleep(LONG_IDLE_MS * 1000);
    }
    return reader_on_body(user, bytes);
}

TEST(a_callback_that_takes_its_time_makes_nobody_late)
{
    const struct fetcher_options alone = {.has_no_thread = true};
    struct fetcher *f = any_host(&alone);
    struct opened slow = {.fd = -1}, late = {.fd = -1};
    other = NULL;
    open_answer(&slow, f, 0, on_body_slowly);
    open_answer(&late, f, LONG_IDLE_MS, reader_on_body);
    other = &late;
    peer_put(late.fd, "x", 1); /* so that it is in time when the slow round begins */
    peer_put(slow.fd, "x", 1);
    rounds_until_text(f, &slow.reader, 2);
    other = NULL;
    rounds_until_text(f, &late.reader, 3);
    T_EQ(late.reader.n_text, 3);
    T_EQ(late.reader.n_done, 0);
    fetcher_free(f);
    close_answer(&slow);
    close_answer(&late);
}

TEST(byte_by_byte_it_is_the_same_answer)
{
    struct peer p = {.answer = chunked, .is_trickling = true};
    struct reader r;
    reader_init(&r);
    T_EQ(ask_peer(&p, &r, NULL), FETCH_WHOLE);
    T_EQ_SLICE(slice_of(r.text, r.n_text), SLICE("abcdef"));
}

/* ---- connections ---- */

static void ask_again(struct fetcher *f, struct peer *p, struct reader *r, unsigned n)
{
    char url[PEER_URL_BYTES];
    peer_url(p, "127.0.0.1", url);
    struct fetch_request request = reader_stream(r, url);
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(r, n);
    T_EQ(r->result.end, FETCH_WHOLE);
}

/* How many connections five requests need, one after the other. */
static unsigned connections_for_five(enum peer_end end)
{
    struct peer p = {.answer = counted, .end = end};
    struct reader r;
    reader_init(&r);
    peer_start(&p);
    struct fetcher *f = any_host(&usual);
    for (unsigned i = 1; i <= 5; i++) ask_again(f, &p, &r, i);
    fetcher_free(f);
    peer_stop(&p);
    T_EQ(atomic_load(&p.n_requests), 5);
    return atomic_load(&p.n_connections);
}

TEST(a_connection_is_used_again_and_replaced_when_it_has_died)
{
    T_EQ(connections_for_five(PEER_GOES_ON), 1);
    T_EQ(connections_for_five(PEER_CLOSES), 5);
}

TEST(nobody_there_is_no_connection)
{
    struct peer p = {.answer = counted};
    struct reader r;
    char url[PEER_URL_BYTES];
    reader_init(&r);
    peer_listen(&p, 1);
    close(p.fd);
    peer_url(&p, "127.0.0.1", url);
    struct fetcher *f = any_host(&usual);
    struct fetch_request request = reader_stream(&r, url);
    T_EQ(fetcher_send(f, &request, NULL), WEIR_OK);
    reader_wait_done(&r, 1);
    T_EQ(r.result.end, FETCH_NO_CONNECTION);
    T_EQ(r.result.phase, FETCH_CONNECTING);
    T_EQ(r.result.http_status, 0);
    fetcher_free(f);
}

TEST(fields_that_could_be_more_than_one_are_refused)
{
    static const char *const values[] = {"a\r\nX: y", "a\nb", "a\rb"};
    struct reader r;
    reader_init(&r);
    struct fetcher *f = any_host(&usual);
    struct fetch_request request = reader_stream(&r, "http://127.0.0.1:1/");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        request.fields[1].value = weir_slice_of(values[i]);
        T_EQ(fetcher_send(f, &request, NULL), WEIR_INVALID);
    }
    request.fields[1].value = slice_of("a\0b", 3);
    T_EQ(fetcher_send(f, &request, NULL), WEIR_INVALID);
    fetcher_free(f);
    T_EQ(r.n_done, 0);
}
