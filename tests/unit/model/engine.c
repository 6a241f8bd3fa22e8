/* SPDX-License-Identifier: Apache-2.0 */
/* The engine against a provider inside the test. Times are bounded from below, or by the test's
 * end. */
#include <sys/resource.h>

#include "base/fault.h"
#include "base/slice.h"
#include "model/breaker.h"
#include "stand.h"

static const char key[] = "k3y-of-the-test-0123456789";

/* An engine with both roles on the stand; limits is JSON, or NULL. */
struct bench {
    struct stand *stand;
    struct model_config *config;
    struct models *models;
    struct asker asker;
};

static void open_bench(struct bench *b, stand_fn answer, const char *limits,
                       const struct models_options *options)
{
    char text[1024], why[MODEL_WHY_BYTES];
    setenv("WEIR_TEST_KEY", key, 1);
    b->stand = stand_start(answer, b);
    snprintf(text, sizeof text,
             "{\"providers\":{\"first\":{\"type\":\"anthropic\",\"base_url\":"
             "\"http://127.0.0.1:%u\",\"key_env\":\"WEIR_TEST_KEY\",\"prices\":{\"m-1\":{"
             "\"input\":3,\"output\":15}},\"limits\":%s},"
             "\"second\":{\"type\":\"anthropic\",\"base_url\":\"http://127.0.0.1:%u/second\"}},"
             "\"roles\":{\"main\":{\"provider\":\"first\",\"model\":\"m-1\"},"
             "\"critic\":{\"provider\":\"first\",\"model\":\"m-1\",\"fallback\":{"
             "\"provider\":\"second\",\"model\":\"m-2\"}}}}",
             b->stand->port, limits ? limits : "{}", b->stand->port);
    T_EQ(model_config_parse(&b->config, weir_slice_of(text), "test", why), WEIR_OK);
    T_EQ(models_new(&b->models, b->config, options), WEIR_OK);
    asker_init(&b->asker, b->models);
}

static void close_bench(struct bench *b)
{
    models_free(b->models);
    model_config_free(b->config);
    stand_stop(b->stand);
}

static const struct models_options plain = {.max_calls = 0};

/* ---- good answers ---- */

static bool say_hello(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n;
    T_OK(strstr(request, "POST /v1/messages HTTP/1.1\r\n"));
    T_OK(strstr(request, "x-api-key: k3y-of-the-test-0123456789\r\n"));
    T_OK(strstr(request, "anthropic-version: 2023-06-01\r\n"));
    T_OK(strstr(request, "\"stream\":true"));
    return stand_hello(fd);
}

TEST(an_answer_streams_and_is_counted)
{
    struct bench b;
    struct models_stats stats;
    open_bench(&b, say_hello, NULL, &plain);
    T_OK(models_has(b.models, MODEL_MAIN) && !models_has(b.models, MODEL_FAST));
    T_OK(!models_has(NULL, MODEL_MAIN));
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_OK);
    T_EQ_STR(weir_slice_of(b.asker.text), "Hello");
    T_EQ_STR(weir_slice_of(b.asker.content), "[{\"type\":\"text\",\"text\":\"Hello\"}]");
    T_EQ(b.asker.answer.stop, MODEL_STOP_END);
    T_EQ(b.asker.answer.attempts, 1);
    T_EQ(b.asker.answer.usage.input_tokens, 1000);
    T_EQ((long long)(b.asker.answer.cost_usd * 1e6 + 0.5), 6000);
    models_stats(b.models, &stats);
    T_EQ(stats.n_calls, 1);
    T_EQ(stats.output_tokens, 200);
    close_bench(&b);
}

TEST(five_hundred_calls_at_once_all_end)
{
    enum { N = 500 };
    struct bench b;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    open_bench(&b, say_hello, NULL, &plain);
    for (unsigned i = 0; i < N; i++) asker_ask(&b.asker);
    asker_wait_done(&b.asker, N);
    T_EQ(b.asker.n_good, N);
    close_bench(&b);
}

TEST(a_provider_has_no_more_calls_than_it_may)
{
    struct bench b;
    open_bench(&b, say_hello, "{\"max_running\":2}", &plain);
    for (unsigned i = 0; i < 50; i++) asker_ask(&b.asker);
    asker_wait_done(&b.asker, 50);
    T_EQ(b.asker.n_good, 50);
    T_OK(atomic_load(&b.stand->n_connections) <= 2);
    close_bench(&b);
}

/* The message is whole, but the connection stays as it is. */
static bool say_hello_and_stall(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n, (void)request;
    stand_put(fd, STAND_STREAM_HEAD);
    stand_chunk(fd, STAND_START STAND_DELTA("Hello") STAND_END);
    return stand_stall(fd);
}

TEST(a_whole_message_does_not_wait_for_the_end_of_input)
{
    struct bench b;
    open_bench(&b, say_hello_and_stall, NULL, &plain);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_OK);
    close_bench(&b);
}

static bool say_json(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n, (void)request;
    return stand_status(fd, "200 OK", "",
                        "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}],"
                        "\"stop_reason\":\"end_turn\",\"usage\":{}}");
}

TEST(a_server_that_does_not_stream_is_understood)
{
    struct bench b;
    open_bench(&b, say_json, NULL, &plain);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_OK);
    T_EQ_STR(weir_slice_of(b.asker.text), "Hi");
    close_bench(&b);
}

/* ---- failures ---- */

static bool fail_once(struct stand *s, int fd, unsigned n, const char *request)
{
    if (n > 1) return say_hello(s, fd, n, request);
    return stand_status(fd, "429 Too Many Requests", "Retry-After-Ms: 150\r\n", "{}");
}

TEST(what_may_be_over_later_is_asked_again_when_the_server_says)
{
    struct bench b;
    struct models_stats stats;
    open_bench(&b, fail_once, NULL, &plain);
    uint64_t begun = clock_mono_ns(&clock_system);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_OK(clock_mono_ns(&clock_system) - begun >= UINT64_C(150000000));
    T_EQ(b.asker.answer.status, WEIR_OK);
    T_EQ(b.asker.answer.attempts, 2);
    T_EQ_STR(weir_slice_of(b.asker.text), "Hello");
    models_stats(b.models, &stats);
    T_EQ(stats.n_retries, 1);
    close_bench(&b);
}

static bool be_overloaded_at_first(struct stand *s, int fd, unsigned n, const char *request)
{
    if (n == 3) return say_hello(s, fd, n, request);
    if (n == 2) return stand_status(fd, "529 Overloaded", "", "{}");
    stand_put(fd, STAND_STREAM_HEAD);
    stand_chunk(fd, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
                    "\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n");
    stand_put(fd, "0\r\n\r\n");
    return true;
}

TEST(an_error_before_any_output_is_asked_again)
{
    struct bench b;
    open_bench(&b, be_overloaded_at_first, NULL, &plain);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_OK);
    T_EQ(b.asker.answer.attempts, 3);
    T_EQ_STR(weir_slice_of(b.asker.text), "Hello");
    close_bench(&b);
}

static bool fail_always(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n;
    if (strstr(request, "POST /second")) return stand_hello(fd);
    return stand_status(fd, "500 Oops", "",
                        "{\"error\":{\"message\":\"boom k3y-of-the-test-0123456789\"}}");
}

TEST(three_attempts_are_enough)
{
    struct bench b;
    open_bench(&b, fail_always, NULL, &plain);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_UPSTREAM);
    T_OK(b.asker.answer.is_final);
    T_EQ(b.asker.answer.attempts, 3);
    T_EQ(atomic_load(&b.stand->n_requests), 3);
    T_OK(strstr(b.asker.why, "first answered 500") && !strstr(b.asker.why, "boom") &&
         !strstr(b.asker.why, key));
    T_EQ_STR(weir_slice_of(b.asker.content), "[]");
    close_bench(&b);
}

TEST(a_fallback_is_asked_when_the_first_has_failed)
{
    struct bench b;
    struct models_stats stats;
    open_bench(&b, fail_always, NULL, &plain);
    T_EQ(asker_ask_for(&b.asker, MODEL_CRITIC, "Hi"), WEIR_OK);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_OK);
    T_EQ(b.asker.answer.attempts, 4);
    T_EQ_STR(weir_slice_of(b.asker.provider), "second");
    models_stats(b.models, &stats);
    T_EQ(stats.n_fallbacks, 1);
    close_bench(&b);
}

TEST(a_breaker_leaves_a_provider_alone_and_the_fallback_works)
{
    struct bench b;
    struct models_stats stats;
    struct model_provider_stats provider;
    open_bench(&b, fail_always, NULL, &plain);
    for (unsigned i = 1; i <= 2; i++) {
        asker_ask(&b.asker);
        asker_wait_done(&b.asker, i);
    }
    T_EQ(atomic_load(&b.stand->n_requests), BREAKER_FAILURES);
    T_EQ(b.asker.answer.status, WEIR_UPSTREAM);
    T_OK(!b.asker.answer.is_final && b.asker.answer.retry_after_ms > 0);
    T_OK(strstr(b.asker.why, "left alone"));
    T_EQ(asker_ask_for(&b.asker, MODEL_CRITIC, "Hi"), WEIR_OK);
    asker_wait_done(&b.asker, 3);
    T_EQ(b.asker.answer.status, WEIR_OK);
    T_EQ(b.asker.answer.attempts, 1);
    models_stats(b.models, &stats);
    T_EQ(stats.n_opened, 1);
    T_OK(models_provider_stats(b.models, 0, &provider) && provider.is_open);
    T_OK(models_provider_stats(b.models, 1, &provider) && !provider.is_open);
    T_OK(!models_provider_stats(b.models, 2, &provider));
    close_bench(&b);
}

/* The machine's clock, some time later. */
static atomic_uint_fast64_t ahead_ns;

static uint64_t mono_ahead(void *user)
{
    (void)user;
    return clock_mono_ns(&clock_system) + atomic_load(&ahead_ns);
}

static int64_t wall_ahead(void *user)
{
    (void)user;
    return clock_wall_ms(&clock_system);
}

static bool stall_in_the_middle(struct stand *s, int fd, unsigned n, const char *request);

/* Comes back after five failures, and then takes its time with the rest of an answer. */
static bool come_back(struct stand *s, int fd, unsigned n, const char *request)
{
    if (n <= BREAKER_FAILURES) return fail_always(s, fd, n, request);
    return n == BREAKER_FAILURES + 1 ? stall_in_the_middle(s, fd, n, request) : stand_hello(fd);
}

TEST(a_provider_that_comes_back_is_found_by_one_probe)
{
    struct bench b;
    struct asker probe;
    struct model_provider_stats provider;
    const struct clock later = {.mono_ns = mono_ahead, .wall_ms = wall_ahead};
    atomic_store(&ahead_ns, 0);
    open_bench(&b, come_back, NULL, &(struct models_options){.clock = &later});
    for (unsigned i = 1; i <= 3; i++) {
        asker_ask(&b.asker);
        asker_wait_done(&b.asker, i);
    }
    T_EQ(atomic_load(&b.stand->n_requests), BREAKER_FAILURES);
    atomic_store(&ahead_ns, (uint64_t)BREAKER_OPEN_MS * 1000000);
    asker_init(&probe, b.models);
    asker_ask(&probe);
    asker_wait(&probe, &probe.n_deltas, 1);
    do {
        T_OK(models_provider_stats(b.models, 0, &provider));
    } while (provider.is_open);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 4);
    T_EQ(b.asker.n_good, 1);
    close_bench(&b);
    T_EQ(probe.n_done, 1);
}

static bool refuse(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n, (void)request;
    return stand_status(fd, "400 Bad Request", "", "{\"error\":{\"code\":\"no_such_model\"}}");
}

TEST(a_request_that_is_refused_is_not_asked_again)
{
    struct bench b;
    open_bench(&b, refuse, NULL, &plain);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_UPSTREAM);
    T_OK(b.asker.answer.is_final);
    T_EQ(b.asker.answer.attempts, 1);
    T_OK(strstr(b.asker.why, "400: no_such_model"));
    close_bench(&b);
}

static bool break_off(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n, (void)request;
    stand_put(fd, STAND_STREAM_HEAD);
    stand_chunk(fd, STAND_START STAND_DELTA("Hel"));
    return false;
}

TEST(an_answer_that_breaks_off_is_not_asked_again)
{
    struct bench b;
    open_bench(&b, break_off, NULL, &plain);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_UPSTREAM);
    T_OK(!b.asker.answer.is_final);
    T_EQ(b.asker.answer.attempts, 1);
    T_EQ(b.asker.answer.stop, MODEL_STOP_CUT);
    T_EQ_STR(weir_slice_of(b.asker.text), "Hel");
    T_EQ_STR(weir_slice_of(b.asker.content), "[{\"type\":\"text\",\"text\":\"Hel\"}]");
    T_EQ(b.asker.answer.usage.input_tokens, 1000);
    close_bench(&b);
}

static bool stall_in_the_middle(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n, (void)request;
    stand_put(fd, STAND_STREAM_HEAD);
    stand_chunk(fd, STAND_START STAND_DELTA("Hel"));
    return stand_stall(fd);
}

TEST(an_answer_that_stalls_is_ended_by_the_watchdog)
{
    struct bench b;
    open_bench(&b, stall_in_the_middle, "{\"idle_ms\":100}", &plain);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_UPSTREAM);
    T_OK(!b.asker.answer.is_final && strstr(b.asker.why, "nothing came for too long"));
    close_bench(&b);
}

/* By the number of the request: what is no answer, and is not asked for again. */
static bool be_odd(struct stand *s, int fd, unsigned n, const char *request)
{
    static const char *const odd[] = {
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
        ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
         "Content-Length: 2\r\n\r\nhi"),
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n",
    };
    (void)s, (void)request;
    stand_put(fd, odd[(n - 1) % (sizeof odd / sizeof *odd)]);
    return false;
}

TEST(what_is_no_answer_is_a_failure_at_once)
{
    struct bench b;
    open_bench(&b, be_odd, NULL, &plain);
    for (unsigned i = 1; i <= 6; i++) {
        asker_ask(&b.asker);
        asker_wait_done(&b.asker, i);
        if (b.asker.answer.status != WEIR_UPSTREAM || !b.asker.answer.is_final ||
            b.asker.answer.attempts != 1)
            t_fail(__FILE__, __LINE__, "%u: %s", i, b.asker.why);
    }
    close_bench(&b);
}

TEST(nobody_listening_is_asked_three_times)
{
    struct bench b;
    open_bench(&b, say_hello, NULL, &plain);
    shutdown(b.stand->fd, SHUT_RDWR);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_UPSTREAM);
    T_EQ(b.asker.answer.attempts, 3);
    T_OK(strstr(b.asker.why, "first does not answer"));
    close_bench(&b);
}

TEST(an_outage_is_not_multiplied)
{
    enum { N = 200 };
    struct bench b;
    open_bench(&b, fail_always, "{\"max_running\":1000}", &plain);
    for (unsigned i = 0; i < N; i++) asker_ask(&b.asker);
    asker_wait_done(&b.asker, N);
    T_EQ(b.asker.n_good, 0);
    T_OK(atomic_load(&b.stand->n_requests) <= N + N / 5 + BUDGET_FREE);
    close_bench(&b);
}

TEST(nobody_is_left_waiting_for_a_place_at_a_provider_that_fails)
{
    enum { N = 30 };
    struct bench b;
    open_bench(&b, fail_always, "{\"max_running\":1}", &plain);
    for (unsigned i = 0; i < N; i++)
        T_EQ(asker_ask_for(&b.asker, i % 2 == 0 ? MODEL_MAIN : MODEL_CRITIC, "Hi"), WEIR_OK);
    asker_wait_done(&b.asker, N);
    T_EQ(b.asker.n_good, N / 2);
    close_bench(&b);
}

/* 4 MiB of text. */
static bool say_too_much(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n, (void)request;
    stand_put(fd, STAND_STREAM_HEAD);
    stand_chunk(fd, STAND_START);
    for (unsigned i = 0; i < 128u << 10; i++)
        stand_chunk(fd, STAND_DELTA("0123456789abcdef0123456789abcdef"));
    return false;
}

TEST(an_answer_without_end_ends_the_call)
{
    struct bench b;
    open_bench(&b, say_too_much, NULL, &plain);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_LIMIT);
    T_OK(b.asker.answer.is_final);
    close_bench(&b);
}

TEST(a_lack_of_memory_anywhere_ends_a_call_once)
{
    struct bench b;
    open_bench(&b, say_hello, NULL, &plain);
    for (unsigned n = 1; n <= 120; n++) {
        unsigned n_done = b.asker.n_done;
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        enum weir_status st = asker_ask_for(&b.asker, MODEL_MAIN, "Hi");
        T_OK(st == WEIR_OK || st == WEIR_NOMEM);
        if (st == WEIR_OK) asker_wait_done(&b.asker, n_done + 1);
        fault_disarm_all();
        if (st != WEIR_OK) continue;
        st = b.asker.answer.status;
        if (st != WEIR_OK && st != WEIR_NOMEM && st != WEIR_UPSTREAM && st != WEIR_LIMIT)
            t_fail(__FILE__, __LINE__, "%u: %d %s", n, st, b.asker.why);
    }
    T_OK(b.asker.n_good > 20);
    close_bench(&b);
}

/* ---- aborting ---- */

enum { ABORT_MS = 100, LEEWAY_MS = 20000 /* of a machine that does other things, too */ };

/* Aborts, and says whether it was over in good time. */
static void abort_now(struct bench *b)
{
    uint64_t begun = clock_mono_ns(&clock_system);
    model_abort(b->models, b->asker.ticket);
    asker_wait_done(&b->asker, 1);
    T_OK(clock_mono_ns(&clock_system) - begun < (uint64_t)(ABORT_MS + LEEWAY_MS) * 1000000);
    T_EQ(b->asker.answer.status, WEIR_CANCELLED);
}

static void wait_for_requests(struct bench *b, unsigned n)
{
    while (atomic_load(&b->stand->n_requests) < n) usleep(1000);
}

static bool stall(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n, (void)request;
    return stand_stall(fd);
}

TEST(a_call_without_an_answer_is_aborted)
{
    struct bench b;
    open_bench(&b, stall, NULL, &plain);
    asker_ask(&b.asker);
    wait_for_requests(&b, 1);
    abort_now(&b);
    close_bench(&b);
}

TEST(a_call_in_the_middle_of_its_answer_is_aborted)
{
    struct bench b;
    open_bench(&b, stall_in_the_middle, NULL, &plain);
    asker_ask(&b.asker);
    asker_wait(&b.asker, &b.asker.n_deltas, 1);
    abort_now(&b);
    T_EQ_STR(weir_slice_of(b.asker.content), "[{\"type\":\"text\",\"text\":\"Hel\"}]");
    T_EQ(b.asker.answer.usage.input_tokens, 1000);
    close_bench(&b);
}

static bool want_a_minute(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n, (void)request;
    return stand_status(fd, "503 Busy", "Retry-After: 60\r\n", "{}");
}

TEST(a_call_that_waits_for_another_attempt_is_aborted)
{
    struct bench b;
    struct models_stats stats = {0};
    open_bench(&b, want_a_minute, NULL, &plain);
    asker_ask(&b.asker);
    while (stats.n_retries == 0) models_stats(b.models, &stats);
    abort_now(&b);
    T_EQ(b.asker.answer.attempts, 1);
    close_bench(&b);
}

TEST(a_call_that_waits_for_its_turn_is_aborted)
{
    struct bench b;
    struct asker other;
    open_bench(&b, stall, "{\"max_running\":1}", &plain);
    asker_init(&other, b.models);
    asker_ask(&other);
    wait_for_requests(&b, 1);
    asker_ask(&b.asker);
    abort_now(&b);
    T_EQ(b.asker.answer.attempts, 0);
    model_abort(b.models, other.ticket);
    asker_wait_done(&other, 1);
    model_abort(b.models, other.ticket);
    close_bench(&b);
}

static void abort_itself(struct asker *a)
{
    model_abort(a->models, a->ticket);
}

TEST(calls_behind_one_that_is_aborted_get_their_turn)
{
    enum { N = 20 };
    struct bench b;
    struct asker askers[N];
    open_bench(&b, say_hello, "{\"max_running\":1}", &plain);
    for (unsigned i = 0; i < N; i++) asker_init(&askers[i], b.models);
    for (unsigned i = 0; i < N; i++) asker_ask(&askers[i]);
    for (unsigned i = 0; i < N; i += 2) model_abort(b.models, askers[i].ticket);
    for (unsigned i = 0; i < N; i++) {
        asker_wait_done(&askers[i], 1);
        T_OK(i % 2 == 0 || askers[i].answer.status == WEIR_OK);
    }
    close_bench(&b);
}

TEST(a_call_is_aborted_from_its_own_callback)
{
    struct bench b;
    open_bench(&b, stall_in_the_middle, NULL, &plain);
    b.asker.on_first = abort_itself;
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_CANCELLED);
    close_bench(&b);
}

TEST(every_call_has_ended_when_the_engine_is_gone)
{
    struct bench b;
    open_bench(&b, stall_in_the_middle, "{\"max_running\":20}", &plain);
    for (unsigned i = 0; i < 40; i++) asker_ask(&b.asker);
    asker_wait(&b.asker, &b.asker.n_deltas, 3);
    models_free(b.models);
    T_EQ(b.asker.n_done, 40);
    T_EQ(b.asker.n_good, 0);
    b.models = NULL;
    close_bench(&b);
}

/* ---- ceilings ---- */

TEST(there_is_an_end_to_calls_and_requests)
{
    struct bench b;
    const struct models_options two = {.max_calls = 2};
    static char large[MODEL_REQUEST_BYTES];
    open_bench(&b, stall, NULL, &two);
    asker_ask(&b.asker);
    asker_ask(&b.asker);
    T_EQ(asker_ask_for(&b.asker, MODEL_MAIN, "Hi"), WEIR_BUSY);
    struct model_call call = {.request = {.role = MODEL_MAIN, .messages = {large, sizeof large}},
                              .done = asker_on_done,
                              .user = &b.asker};
    T_EQ(model_call(b.models, &call, NULL), WEIR_LIMIT);
    close_bench(&b);
    T_EQ(b.asker.n_done, 2);
}

TEST(a_request_that_is_no_json_ends_the_call)
{
    struct bench b;
    open_bench(&b, say_hello, NULL, &plain);
    struct model_call call = {.request = {.role = MODEL_CRITIC, .messages = SLICE("oops")},
                              .done = asker_on_done,
                              .user = &b.asker};
    T_EQ(model_call(b.models, &call, NULL), WEIR_OK);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_UPSTREAM);
    T_OK(b.asker.answer.is_final);
    T_EQ(atomic_load(&b.stand->n_requests), 0);
    close_bench(&b);
}

/* ---- cassettes ---- */

static bool repeat_the_key(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)request;
    if (n == 2)
        return stand_status(fd, "401 No", "",
                            "{\"error\":{\"message\":"
                            "\"k3y-of-the-test-0123456789 is wrong\"}}");
    stand_put(fd, STAND_STREAM_HEAD);
    stand_chunk(fd, STAND_START STAND_DELTA("Gr\xc3"));
    stand_chunk(fd, "");
    return false;
}

static bool say_hello_to_all(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n, (void)request;
    return stand_hello(fd);
}

/* Asks twice the same, once something else. */
static void ask_three(struct bench *b)
{
    static const char *const questions[] = {"Hi", "Hi", "Why?"};
    for (unsigned i = 0; i < 3; i++) {
        T_EQ(asker_ask_for(&b->asker, MODEL_MAIN, questions[i]), WEIR_OK);
        asker_wait_done(&b->asker, i + 1);
    }
}

TEST(what_was_recorded_is_played_without_anybody)
{
    struct bench b;
    const char *folder = t_temp_dir();
    open_bench(&b, say_hello_to_all, NULL, &(struct models_options){.record = folder});
    ask_three(&b);
    T_EQ(b.asker.n_good, 3);
    close_bench(&b);
    open_bench(&b, say_hello_to_all, NULL, &(struct models_options){.replay = folder});
    ask_three(&b);
    T_EQ(b.asker.n_good, 3);
    T_EQ_STR(weir_slice_of(b.asker.text), "HelloHelloHello");
    T_EQ_STR(weir_slice_of(b.asker.content), "[{\"type\":\"text\",\"text\":\"Hello\"}]");
    T_EQ(b.asker.answer.usage.output_tokens, 200);
    T_EQ(atomic_load(&b.stand->n_requests), 0);
    T_EQ(asker_ask_for(&b.asker, MODEL_MAIN, "Never asked"), WEIR_OK);
    asker_wait_done(&b.asker, 4);
    T_EQ(b.asker.answer.status, WEIR_UPSTREAM);
    T_OK(b.asker.answer.is_final && strstr(b.asker.why, "no cassette"));
    close_bench(&b);
}

TEST(a_cassette_speaks_as_whoever_it_was_recorded_from)
{
    struct bench b;
    struct model_config *openai;
    struct models *m;
    char why[MODEL_WHY_BYTES];
    const char *folder = t_temp_dir();
    open_bench(&b, say_hello_to_all, NULL, &(struct models_options){.record = folder});
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(model_config_parse(&openai,
                            SLICE("{\"providers\":{\"a\":{\"type\":\"openai\"}},\"roles\":{"
                                  "\"main\":{\"provider\":\"a\",\"model\":\"m\"}}}"),
                            "test", why),
         WEIR_OK);
    T_EQ(models_new(&m, openai, &(struct models_options){.replay = folder}), WEIR_OK);
    asker_init(&b.asker, m);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_OK);
    T_EQ_STR(weir_slice_of(b.asker.text), "Hello");
    models_free(m);
    model_config_free(openai);
    close_bench(&b);
}

TEST(failures_are_recorded_as_well_and_keys_are_not)
{
    struct bench b;
    char command[600];
    const char *folder = t_temp_dir();
    open_bench(&b, repeat_the_key, NULL, &(struct models_options){.record = folder});
    for (unsigned i = 1; i <= 2; i++) {
        asker_ask(&b.asker);
        asker_wait_done(&b.asker, i);
    }
    T_OK(strstr(b.asker.why, "401"));
    close_bench(&b);
    open_bench(&b, repeat_the_key, NULL, &(struct models_options){.replay = folder});
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 1);
    T_EQ(b.asker.answer.status, WEIR_UPSTREAM);
    T_OK(!b.asker.answer.is_final);
    asker_ask(&b.asker);
    asker_wait_done(&b.asker, 2);
    T_OK(b.asker.answer.is_final && strstr(b.asker.why, "first answered 401"));
    close_bench(&b);
    snprintf(command, sizeof command, "! grep -rq %s %s", key, folder);
    T_EQ(system(command), 0);
}

TEST(a_folder_of_cassettes_has_to_be_there)
{
    struct models *m;
    struct model_config *c;
    char why[MODEL_WHY_BYTES];
    T_EQ(model_config_parse(&c,
                            SLICE("{\"providers\":{\"a\":{\"type\":\"openai\"}},\"roles\":{"
                                  "\"fast\":{\"provider\":\"a\",\"model\":\"m\"}}}"),
                            "test", why),
         WEIR_OK);
    T_EQ(models_new(&m, c, &(struct models_options){.replay = "/nowhere"}), WEIR_IO);
    T_EQ(models_new(&m, c, &(struct models_options){.record = "/nowhere"}), WEIR_IO);
    model_config_free(c);
}
