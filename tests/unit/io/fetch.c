/* SPDX-License-Identifier: Apache-2.0 */
#include "io/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/slice.h"
#include "t.h"

enum { WAIT_MS = 30 * 1000, REQUEST_BYTES = 4096, URL_BYTES = 128, MANY = 300 };

/* ---- a receiver that does what it is told ---- */

struct receiver {
    int fd;
    unsigned port;
    const char *answer; /* NULL: none, ever */
    size_t n_more;      /* bytes after it, in vain */
    char request[REQUEST_BYTES];
    atomic_uint n_requests;
    pthread_t thread;
};

static bool has_all(const char *bytes)
{
    const char *end = strstr(bytes, "\r\n\r\n");
    const char *length = strstr(bytes, "Content-Length: ");
    return end && (!length || strlen(end + 4) >= strtoul(length + 16, NULL, 10));
}

static void take_request(struct receiver *r, int fd)
{
    size_t len = 0;
    while (len < REQUEST_BYTES - 1) {
        ssize_t n = read(fd, r->request + len, REQUEST_BYTES - 1 - len);
        if (n <= 0) break;
        len += (size_t)n;
        r->request[len] = 0;
        if (has_all(r->request)) break;
    }
}

static void put(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0) return;
        bytes += n;
        len -= (size_t)n;
    }
}

static void *receive(void *user)
{
    struct receiver *r = user;
    static const char more[1024];
    int fd;
    while ((fd = accept(r->fd, NULL, NULL)) >= 0) {
        take_request(r, fd);
        atomic_fetch_add(&r->n_requests, 1);
        if (r->answer) {
            put(fd, r->answer, strlen(r->answer));
            for (size_t i = 0; i < r->n_more / sizeof more; i++) put(fd, more, sizeof more);
        } else {
            char c;
            while (read(fd, &c, 1) > 0) continue; /* until the other side has had enough */
        }
        close(fd);
    }
    return NULL;
}

static void receiver_start(struct receiver *r)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    T_EQ(bind(r->fd, (struct sockaddr *)&at, sizeof at), 0);
    T_EQ(listen(r->fd, 1024), 0);
    T_EQ(getsockname(r->fd, (struct sockaddr *)&at, &len), 0);
    r->port = ntohs(at.sin_port);
    if (pthread_create(&r->thread, NULL, receive, r) != 0) abort();
}

static void receiver_stop(struct receiver *r)
{
    shutdown(r->fd, SHUT_RDWR);
    pthread_join(r->thread, NULL);
    close(r->fd);
}

/* ---- results ---- */

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_done;
    unsigned n_good;
    enum weir_status status;
    int http_status;
    size_t n_body;
    char body[100];
};

static void on_done(void *user, const struct fetch_result *result)
{
    struct waiter *w = user;
    pthread_mutex_lock(&w->lock);
    w->n_done++;
    w->n_good += result->status == WEIR_OK;
    w->status = result->status;
    w->http_status = result->http_status;
    w->n_body = result->body.len;
    snprintf(w->body, sizeof w->body, "%.*s", (int)(result->body.len < 99 ? result->body.len : 99),
             result->body.len > 0 ? result->body.ptr : "");
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void waiter_init(struct waiter *w)
{
    pthread_condattr_t attributes;
    *w = (struct waiter){.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &attributes);
}

static void wait_done(struct waiter *w, unsigned n)
{
    struct timespec deadline = clock_deadline(WAIT_MS);
    int error = 0;
    pthread_mutex_lock(&w->lock);
    while (w->n_done < n && error == 0)
        error = pthread_cond_timedwait(&w->changed, &w->lock, &deadline);
    T_EQ(w->n_done, n);
    pthread_mutex_unlock(&w->lock);
}

static struct fetcher *fetcher_for(const char *rule, const struct fetcher_options *options)
{
    struct target_rules rules = {.n = 0};
    struct fetcher *f = NULL;
    if (rule) T_OK(target_rules_add(&rules, rule));
    T_EQ(fetcher_new(&f, &rules, options), WEIR_OK);
    if (!f) abort();
    return f;
}

static const struct fetcher_options usual;

static struct fetch_request post_to(struct waiter *w, const char *url)
{
    return (struct fetch_request){
        .url = weir_slice_of(url),
        .fields = {{"Content-Type", SLICE("application/json")}, {"X-Sign", SLICE("a=b")}},
        .n_fields = 2,
        .body = SLICE("{\"a\":1}"),
        .limits = {.whole_ms = WAIT_MS},
        .done = on_done,
        .user = w,
    };
}

static void url_of(const struct receiver *r, const char *host, char out[URL_BYTES])
{
    snprintf(out, URL_BYTES, "http://%s:%u/hook?x=1", host, r->port);
}

/* Asks once, by this host name, with this rule. */
static enum weir_status ask(struct receiver *r, const char *host, const char *rule,
                            const struct fetcher_options *options, struct waiter *w)
{
    char url[URL_BYTES];
    struct fetcher *f = fetcher_for(rule, options);
    waiter_init(w);
    url_of(r, host, url);
    struct fetch_request post = post_to(w, url);
    T_EQ(fetcher_send(f, &post, NULL), WEIR_OK);
    wait_done(w, 1);
    fetcher_free(f);
    return w->status;
}

/* ---- cases ---- */

TEST(a_post_arrives_as_it_was_given_and_its_answer_comes_back)
{
    struct receiver r = {.answer =
                             "HTTP/1.1 202 Accepted\r\nContent-Length: 13\r\n\r\n{\"done\":true}"};
    struct waiter w;
    receiver_start(&r);
    T_EQ(ask(&r, "127.0.0.1", "127.0.0.1", &usual, &w), WEIR_OK);
    receiver_stop(&r);
    T_EQ(w.http_status, 202);
    T_EQ_STR(weir_slice_of(w.body), "{\"done\":true}");
    T_OK(strncmp(r.request, "POST /hook?x=1 HTTP/1.1\r\n", 25) == 0);
    T_OK(strstr(r.request, "\r\nContent-Type: application/json\r\n"));
    T_OK(strstr(r.request, "\r\nX-Sign: a=b\r\n"));
    T_OK(!strstr(r.request, "Expect"));
    T_OK(strstr(r.request, "\r\n\r\n{\"a\":1}"));
}

TEST(a_listed_name_may_lead_to_this_machine)
{
    struct receiver r = {.answer = "HTTP/1.1 204 No Content\r\n\r\n"};
    struct waiter w;
    receiver_start(&r);
    T_EQ(ask(&r, "localhost", "localhost", &usual, &w), WEIR_OK);
    T_EQ(w.http_status, 204);
    receiver_stop(&r);
}

TEST(hosts_that_are_not_listed_are_never_connected_to)
{
    static const char *const hosts[] = {
        "127.0.0.1", "localhost",          "2130706433", "0x7f000001",  "0x7f.1",
        "127.1",     "0177.0.0.1",         "0",          "0.0.0.0",     "[::1]",
        "[::]",      "[::ffff:127.0.0.1]", "LOCALHOST",  "x.localhost", "127.0.0.1.",
    };
    struct receiver r = {.answer = "HTTP/1.1 200 OK\r\n\r\n"};
    struct waiter w;
    receiver_start(&r);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (ask(&r, hosts[i], "10.0.0.0/8", &usual, &w) != WEIR_FORBIDDEN)
            t_fail(__FILE__, __LINE__, "%s: %s", hosts[i], weir_status_name(w.status));
    T_EQ(atomic_load(&r.n_requests), 0);
    receiver_stop(&r);
}

TEST(names_are_judged_by_what_they_lead_to)
{
    /* A name that no check of texts would stop: it is this machine's own. */
    char name[100];
    char url[2 * URL_BYTES];
    struct waiter w;
    struct fetcher *f = fetcher_for(NULL, &usual);
    waiter_init(&w);
    T_EQ(gethostname(name, sizeof name), 0);
    snprintf(url, sizeof url, "https://%s:1/", name);
    struct fetch_request post = post_to(&w, url);
    T_EQ(fetcher_send(f, &post, NULL), WEIR_OK);
    wait_done(&w, 1);
    /* Where the name leads nowhere, there is nothing to be forbidden. */
    T_OK(w.status == WEIR_FORBIDDEN || w.status == WEIR_IO || w.status == WEIR_TIMEOUT);
    fetcher_free(f);
}

TEST(redirects_are_answers_and_not_followed)
{
    char answer[200];
    struct receiver secret = {.answer = "HTTP/1.1 200 OK\r\n\r\n"};
    struct receiver r = {.answer = answer};
    struct waiter w;
    receiver_start(&secret);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:%u/\r\n"
             "Content-Length: 0\r\n\r\n",
             secret.port);
    receiver_start(&r);
    T_EQ(ask(&r, "127.0.0.1", "127.0.0.1", &usual, &w), WEIR_OK);
    T_EQ(w.http_status, 307);
    T_EQ(atomic_load(&secret.n_requests), 0);
    receiver_stop(&r);
    receiver_stop(&secret);
}

TEST(answers_are_cut_at_their_ceiling)
{
    struct receiver r = {.answer = "HTTP/1.1 200 OK\r\n\r\n", .n_more = 10 << 20};
    struct waiter w;
    receiver_start(&r);
    T_EQ(ask(&r, "127.0.0.1", "127.0.0.1", &usual, &w), WEIR_TOO_LARGE);
    T_EQ(w.http_status, 200);
    T_EQ(w.n_body, FETCH_ANSWER_BYTES);
    receiver_stop(&r);
}

TEST(whoever_never_answers_is_given_up)
{
    struct receiver r = {.answer = NULL};
    struct waiter w;
    char url[URL_BYTES];
    waiter_init(&w);
    receiver_start(&r);
    struct fetcher *f = fetcher_for("127.0.0.1", &usual);
    url_of(&r, "127.0.0.1", url);
    struct fetch_request post = post_to(&w, url);
    post.limits.whole_ms = 50;
    T_EQ(fetcher_send(f, &post, NULL), WEIR_OK);
    wait_done(&w, 1);
    T_EQ(w.status, WEIR_TIMEOUT);
    fetcher_free(f);
    receiver_stop(&r);
}

TEST(broken_answers_are_failures)
{
    static const char *const answers[] = {
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        "no such protocol\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct receiver r = {.answer = answers[i]};
        struct waiter w;
        receiver_start(&r);
        T_EQ(ask(&r, "127.0.0.1", "127.0.0.1", &usual, &w), WEIR_IO);
        receiver_stop(&r);
    }
}

TEST(hundreds_run_at_once_and_the_rest_waits_or_is_refused)
{
    const struct fetcher_options options = {.max_running = 8, .max_waiting = MANY};
    struct receiver r = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};
    struct waiter w;
    char url[URL_BYTES];
    waiter_init(&w);
    receiver_start(&r);
    struct fetcher *f = fetcher_for("127.0.0.1", &options);
    url_of(&r, "127.0.0.1", url);
    struct fetch_request post = post_to(&w, url);
    for (int i = 0; i < MANY; i++) T_EQ(fetcher_send(f, &post, NULL), WEIR_OK);
    wait_done(&w, MANY);
    T_EQ(w.n_good, MANY);
    fetcher_free(f);
    receiver_stop(&r);
}

/* ---- answers in pieces ---- */

struct reader {
    struct waiter w;
    int http_status;
    char type[40];
    char text[100];
    size_t len;
    size_t n_wanted;
};

static bool on_head(void *user, int http_status, const struct fetch_answer *answer)
{
    struct reader *r = user;
    struct weir_slice type = fetch_field_of(answer, "content-type");
    r->http_status = http_status;
    snprintf(r->type, sizeof r->type, "%.*s", (int)type.len, type.ptr);
    return true;
}

static bool on_body(void *user, struct weir_slice bytes)
{
    struct reader *r = user;
    size_t n = bytes.len < sizeof r->text - r->len ? bytes.len : sizeof r->text - r->len;
    memcpy(r->text + r->len, bytes.ptr, n);
    r->len += n;
    return r->len < r->n_wanted;
}

static void read_in_pieces(const char *answer, struct reader *reader)
{
    struct receiver r = {.answer = answer};
    char url[URL_BYTES];
    waiter_init(&reader->w);
    receiver_start(&r);
    struct fetcher *f = NULL;
    T_EQ(fetcher_new(&f, NULL, &usual), WEIR_OK);
    url_of(&r, "127.0.0.1", url);
    struct fetch_request get = post_to(&reader->w, url);
    get.method = FETCH_GET;
    get.on_head = on_head;
    get.on_body = on_body;
    get.user = reader;
    T_EQ(fetcher_send(f, &get, NULL), WEIR_OK);
    wait_done(&reader->w, 1);
    fetcher_free(f);
    receiver_stop(&r);
    T_OK(strncmp(r.request, "GET ", 4) == 0);
}

TEST(a_body_comes_in_pieces_after_its_head)
{
    struct reader r = {.n_wanted = 1000};
    read_in_pieces("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                   &r);
    T_EQ(r.w.status, WEIR_OK);
    T_EQ(r.http_status, 200);
    T_EQ_STR(weir_slice_of(r.type), "text/event-stream");
    T_EQ_SLICE(slice_of(r.text, r.len), SLICE("abcde"));
    T_EQ(r.w.n_body, 0);
}

TEST(a_full_queue_says_so_and_aborting_empties_it)
{
    const struct fetcher_options options = {.max_running = 1, .max_waiting = 2};
    struct receiver r = {.answer = NULL};
    struct waiter w;
    uint64_t tickets[3];
    char url[URL_BYTES];
    struct fetcher_stats stats = {.n_running = 0};
    waiter_init(&w);
    receiver_start(&r);
    struct fetcher *f = fetcher_for("127.0.0.1", &options);
    url_of(&r, "127.0.0.1", url);
    struct fetch_request post = post_to(&w, url);
    T_EQ(fetcher_send(f, &post, &tickets[0]), WEIR_OK);
    while (stats.n_running == 0) fetcher_stats(f, &stats);
    T_EQ(fetcher_send(f, &post, &tickets[1]), WEIR_OK);
    T_EQ(fetcher_send(f, &post, &tickets[2]), WEIR_OK);
    T_EQ(fetcher_send(f, &post, NULL), WEIR_BUSY);
    for (int i = 0; i < 3; i++) fetcher_abort(f, tickets[i]);
    wait_done(&w, 3);
    T_EQ(w.status, WEIR_SHUTDOWN);
    T_EQ(w.n_good, 0);
    fetcher_free(f);
    receiver_stop(&r);
}

TEST(ending_aborts_what_is_left)
{
    struct receiver r = {.answer = NULL};
    struct waiter w;
    char url[URL_BYTES];
    waiter_init(&w);
    receiver_start(&r);
    struct fetcher *f = fetcher_for("127.0.0.1", &usual);
    url_of(&r, "127.0.0.1", url);
    struct fetch_request post = post_to(&w, url);
    for (int i = 0; i < 5; i++) T_EQ(fetcher_send(f, &post, NULL), WEIR_OK);
    fetcher_free(f);
    T_EQ(w.n_done, 5);
    T_EQ(w.n_good, 0);
    receiver_stop(&r);
}

TEST(urls_are_checked_as_far_as_their_text_goes)
{
    static const struct {
        const char *url;
        enum weir_status status;
    } cases[] = {
        {"https://hooks.example.com/a?b=c", WEIR_OK},
        {"https://8.8.8.8/", WEIR_OK},
        {"https://[2606:4700::1]:8443/", WEIR_OK},
        {"http://listed.example/", WEIR_OK},
        {"http://10.9.8.7:80/", WEIR_OK},
        {"http://hooks.example.com/", WEIR_FORBIDDEN},
        {"http://8.8.8.8/", WEIR_FORBIDDEN},
        {"http://10.0.0.1/hook", WEIR_FORBIDDEN},
        {"https://10.0.0.1/hook", WEIR_FORBIDDEN},
        {"https://127.0.0.1/", WEIR_FORBIDDEN},
        {"https://localhost/", WEIR_FORBIDDEN},
        {"https://localhost./", WEIR_FORBIDDEN},
        {"https://a.localhost/", WEIR_FORBIDDEN},
        {"https://2130706433/", WEIR_FORBIDDEN},
        {"https://0x7f.0.0.1/", WEIR_FORBIDDEN},
        {"https://017700000001/", WEIR_FORBIDDEN},
        {"https://127.1/", WEIR_FORBIDDEN},
        {"https://0/", WEIR_FORBIDDEN},
        {"https://169.254.169.254/latest/meta-data", WEIR_FORBIDDEN},
        {"https://[::1]/", WEIR_FORBIDDEN},
        {"https://[::ffff:10.0.0.1]/", WEIR_FORBIDDEN},
        {"https://[fe80::1%25eth0]/", WEIR_FORBIDDEN},
        {"https://user@8.8.8.8/", WEIR_INVALID},
        {"https://user:secret@8.8.8.8/", WEIR_INVALID},
        {"ftp://8.8.8.8/", WEIR_INVALID},
        {"file:///etc/passwd", WEIR_INVALID},
        {"gopher://8.8.8.8/", WEIR_INVALID},
        {"8.8.8.8/", WEIR_INVALID},
        {"//8.8.8.8/", WEIR_INVALID},
        {"", WEIR_INVALID},
        {"https://", WEIR_INVALID},
        {"https:///8.8.8.8/", WEIR_INVALID},
        {"https:/8.8.8.8/", WEIR_INVALID},
        {"https:8.8.8.8/", WEIR_INVALID},
        {"https:\\\\8.8.8.8/", WEIR_INVALID},
        {"https://\\8.8.8.8/", WEIR_INVALID},
        {"x/https://8.8.8.8/", WEIR_INVALID},
        {"https://a b/", WEIR_INVALID},
        {"https://a/\r\nX: y", WEIR_INVALID},
        {"https://8.8.8.8\t/", WEIR_INVALID},
    };
    struct target_rules rules = {.n = 0};
    const char *why;
    T_OK(target_rules_add(&rules, "listed.example"));
    T_OK(target_rules_add(&rules, "10.9.0.0/16"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum weir_status st = fetch_check_url(&rules, weir_slice_of(cases[i].url), &why);
        if (st != cases[i].status)
            t_fail(__FILE__, __LINE__, "%s: %s", cases[i].url, weir_status_name(st));
        T_OK((st == WEIR_OK) == (why[0] == 0));
    }
}
