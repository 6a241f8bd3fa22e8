/* SPDX-License-Identifier: Apache-2.0 */
#include "io/fetch.h"

#include "peer.h"

enum { MANY = 300 };

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

/* Asks once, by this host name, with this rule. */
static enum weir_status ask(struct peer *r, const char *host, const char *rule,
                            const struct fetcher_options *options, struct reader *w)
{
    char url[PEER_URL_BYTES];
    struct fetcher *f = fetcher_for(rule, options);
    reader_init(w);
    peer_url(r, host, url);
    struct fetch_request post = reader_post(w, url);
    T_EQ(fetcher_send(f, &post, NULL), WEIR_OK);
    reader_wait_done(w, 1);
    fetcher_free(f);
    return w->result.status;
}

/* ---- cases ---- */

TEST(a_post_arrives_as_it_was_given_and_its_answer_comes_back)
{
    struct peer r = {.answer =
                         "HTTP/1.1 202 Accepted\r\nContent-Length: 13\r\n\r\n{\"done\":true}"};
    struct reader w;
    peer_start(&r);
    T_EQ(ask(&r, "127.0.0.1", "127.0.0.1", &usual, &w), WEIR_OK);
    peer_stop(&r);
    T_EQ(w.result.http_status, 202);
    T_EQ_STR(weir_slice_of(w.body), "{\"done\":true}");
    T_OK(strncmp(r.request, "POST /hook?x=1 HTTP/1.1\r\n", 25) == 0);
    T_OK(strstr(r.request, "\r\nContent-Type: application/json\r\n"));
    T_OK(strstr(r.request, "\r\nX-Sign: a=b\r\n"));
    T_OK(!strstr(r.request, "Expect"));
    T_OK(strstr(r.request, "\r\n\r\n{\"a\":1}"));
}

TEST(a_listed_name_may_lead_to_this_machine)
{
    struct peer r = {.answer = "HTTP/1.1 204 No Content\r\n\r\n"};
    struct reader w;
    peer_start(&r);
    T_EQ(ask(&r, "localhost", "localhost", &usual, &w), WEIR_OK);
    T_EQ(w.result.http_status, 204);
    peer_stop(&r);
}

TEST(hosts_that_are_not_listed_are_never_connected_to)
{
    static const char *const hosts[] = {
        "127.0.0.1", "localhost",          "2130706433", "0x7f000001",  "0x7f.1",
        "127.1",     "0177.0.0.1",         "0",          "0.0.0.0",     "[::1]",
        "[::]",      "[::ffff:127.0.0.1]", "LOCALHOST",  "x.localhost", "127.0.0.1.",
    };
    struct peer r = {.answer = "HTTP/1.1 200 OK\r\n\r\n"};
    struct reader w;
    peer_start(&r);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (ask(&r, hosts[i], "10.0.0.0/8", &usual, &w) != WEIR_FORBIDDEN)
            t_fail(__FILE__, __LINE__, "%s: %s", hosts[i], weir_status_name(w.result.status));
    T_EQ(atomic_load(&r.n_requests), 0);
    peer_stop(&r);
}

TEST(names_are_judged_by_what_they_lead_to)
{
    /* A name that no check of texts would stop: it is this machine's own. */
    char name[100];
    char url[2 * PEER_URL_BYTES];
    struct reader w;
    struct fetcher *f = fetcher_for(NULL, &usual);
    reader_init(&w);
    T_EQ(gethostname(name, sizeof name), 0);
    snprintf(url, sizeof url, "https://%s:1/", name);
    struct fetch_request post = reader_post(&w, url);
    T_EQ(fetcher_send(f, &post, NULL), WEIR_OK);
    reader_wait_done(&w, 1);
    /* Where the name leads nowhere, there is nothing to be forbidden. */
    T_OK(w.result.status == WEIR_FORBIDDEN || w.result.status == WEIR_IO ||
         w.result.status == WEIR_TIMEOUT);
    fetcher_free(f);
}

TEST(redirects_are_answers_and_not_followed)
{
    char answer[200];
    struct peer secret = {.answer = "HTTP/1.1 200 OK\r\n\r\n"};
    struct peer r = {.answer = answer};
    struct reader w;
    peer_start(&secret);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:%u/\r\n"
             "Content-Length: 0\r\n\r\n",
             secret.port);
    peer_start(&r);
    T_EQ(ask(&r, "127.0.0.1", "127.0.0.1", &usual, &w), WEIR_OK);
    T_EQ(w.result.http_status, 307);
    T_EQ(atomic_load(&secret.n_requests), 0);
    peer_stop(&r);
    peer_stop(&secret);
}

TEST(answers_are_cut_at_their_ceiling)
{
    struct peer r = {.answer = "HTTP/1.1 200 OK\r\n\r\n", .n_more = 10 << 20};
    struct reader w;
    peer_start(&r);
    T_EQ(ask(&r, "127.0.0.1", "127.0.0.1", &usual, &w), WEIR_TOO_LARGE);
    T_EQ(w.result.http_status, 200);
    T_EQ(w.result.body.len, FETCH_ANSWER_BYTES);
    peer_stop(&r);
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
        struct peer r = {.answer = answers[i]};
        struct reader w;
        peer_start(&r);
        T_EQ(ask(&r, "127.0.0.1", "127.0.0.1", &usual, &w), WEIR_IO);
        peer_stop(&r);
    }
}

TEST(hundreds_run_at_once_and_the_rest_waits_or_is_refused)
{
    const struct fetcher_options options = {.max_running = 8, .max_waiting = MANY};
    struct peer r = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};
    struct reader w;
    char url[PEER_URL_BYTES];
    reader_init(&w);
    peer_start(&r);
    struct fetcher *f = fetcher_for("127.0.0.1", &options);
    peer_url(&r, "127.0.0.1", url);
    struct fetch_request post = reader_post(&w, url);
    for (int i = 0; i < MANY; i++) T_EQ(fetcher_send(f, &post, NULL), WEIR_OK);
    reader_wait_done(&w, MANY);
    T_EQ(w.n_good, MANY);
    fetcher_free(f);
    peer_stop(&r);
}

TEST(a_full_queue_says_so_and_aborting_empties_it)
{
    const struct fetcher_options options = {.max_running = 1, .max_waiting = 2};
    struct peer r = {.end = PEER_STALLS};
    struct reader w;
    uint64_t tickets[3];
    char url[PEER_URL_BYTES];
    struct fetcher_stats stats = {.n_running = 0};
    reader_init(&w);
    peer_start(&r);
    struct fetcher *f = fetcher_for("127.0.0.1", &options);
    peer_url(&r, "127.0.0.1", url);
    struct fetch_request post = reader_post(&w, url);
    T_EQ(fetcher_send(f, &post, &tickets[0]), WEIR_OK);
    while (stats.n_running == 0) fetcher_stats(f, &stats);
    T_EQ(fetcher_send(f, &post, &tickets[1]), WEIR_OK);
    T_EQ(fetcher_send(f, &post, &tickets[2]), WEIR_OK);
    T_EQ(fetcher_send(f, &post, NULL), WEIR_BUSY);
    for (int i = 0; i < 3; i++) fetcher_abort(f, tickets[i]);
    reader_wait_done(&w, 3);
    T_EQ(w.result.status, WEIR_SHUTDOWN);
    T_EQ(w.n_good, 0);
    fetcher_free(f);
    peer_stop(&r);
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
