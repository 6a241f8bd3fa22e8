/* SPDX-License-Identifier: Apache-2.0 */
/* What time does to turns: events that expire, keys of requests that may be used anew. */
#include "serve/idempotency.h"

#include "base/fault.h"
#include "base/slice.h"
#include "running.h"
#include "t.h"

enum { HOUR_MS = 3600 * 1000 };

static struct fake_clock clock_of_test;

static void start_at(struct running *r, int64_t wall_ms)
{
    set_up(r);
    fake_clock_init(&clock_of_test, wall_ms);
    r->options.clock = &clock_of_test.clock;
    start(r);
}

static void pass(int64_t ms)
{
    fake_clock_advance(&clock_of_test, (uint64_t)ms * 1000000);
}

/* One request on a connection of its own; the answer is in `reply`. */
static void ask(const struct running *r, const char *head, const char *body)
{
    char text[4096];
    int fd = dial(r);
    snprintf(text, sizeof text,
             "%s\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             head, strlen(body), body);
    forget();
    say(fd, text);
    hear_end(fd);
    close(fd);
}

static bool answered(const char *text)
{
    return strstr(reply, text) != NULL;
}

static const char thanks[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"thanks!\"}],\"stream\":false}";

/* The id of the turn in the answer. */
static void take_id(char out[TURN_ID_LEN + 1])
{
    const char *at = strstr(reply, "\"id\":\"turn_");
    T_OK(at != NULL);
    snprintf(out, TURN_ID_LEN + 1, "%s", at ? at + 6 : "");
}

static void ask_events(const struct running *r, const char *id)
{
    char head[256];
    snprintf(head, sizeof head, "GET /v1/turns/%s/events HTTP/1.1\r\nAccept: text/event-stream",
             id);
    ask(r, head, "");
}

TEST(events_last_an_hour_and_the_turn_for_ever)
{
    struct running r;
    char id[TURN_ID_LEN + 1], head[256];
    start_at(&r, 1779703200000);
    ask(&r, "POST /v1/turns HTTP/1.1", thanks);
    T_OK(answered("\"status\":\"completed\""));
    take_id(id);
    ask_events(&r, id);
    T_OK(answered("HTTP/1.1 200 OK") && answered("event: turn.completed\n"));
    pass(HOUR_MS - 1);
    ask_events(&r, id);
    T_OK(answered("HTTP/1.1 200 OK") && answered("event: turn.completed\n"));
    pass(1);
    ask_events(&r, id);
    T_OK(answered("HTTP/1.1 404 ") && answered("\"code\":\"turn_events_expired\""));
    pass(1000LL * 365 * 24 * HOUR_MS / 1000);
    ask_events(&r, id);
    T_OK(answered("\"code\":\"turn_events_expired\""));
    snprintf(head, sizeof head, "GET /v1/turns/%s HTTP/1.1", id);
    ask(&r, head, "");
    T_OK(answered("HTTP/1.1 200 OK") && answered("\"status\":\"completed\""));
    /* Whoever does not ask for a stream gets the Turn, whatever became of that. */
    snprintf(head, sizeof head, "GET /v1/turns/%s/events HTTP/1.1", id);
    ask(&r, head, "");
    T_OK(answered("HTTP/1.1 200 OK") && answered("\"status\":\"completed\""));
    snprintf(head, sizeof head, "GET /v1/turns/%s/trace HTTP/1.1", id);
    ask(&r, head, "");
    T_OK(answered("HTTP/1.1 200 OK") && answered("\"name\":\"synthesis\""));
    stop(&r);
}

TEST(key_of_a_request_is_good_for_a_day)
{
    struct running r;
    char first[TURN_ID_LEN + 1], again[TURN_ID_LEN + 1];
    static const char post[] = "POST /v1/turns HTTP/1.1\r\nIdempotency-Key: k";
    start_at(&r, 1779703200000);
    ask(&r, post, thanks);
    T_OK(!answered("Idempotent-Replayed"));
    take_id(first);
    pass(24LL * HOUR_MS - 1);
    ask(&r, post, thanks);
    T_OK(answered("Idempotent-Replayed: true\r\n"));
    take_id(again);
    T_EQ_STR(weir_slice_of(again), first);
    T_EQ(idempotency_sweep(server_store(r.server), clock_wall_ms(&clock_of_test.clock)), 0);
    pass(1);
    ask(&r, post, thanks);
    T_OK(!answered("Idempotent-Replayed") && answered("HTTP/1.1 200 OK"));
    take_id(again);
    T_OK(strcmp(again, first) != 0);
    /* It counts from that use on. */
    pass(23LL * HOUR_MS);
    T_EQ(idempotency_sweep(server_store(r.server), clock_wall_ms(&clock_of_test.clock)), 0);
    ask(&r, post, "{\"messages\":[{\"role\":\"user\",\"content\":\"no\"}]}");
    T_OK(answered("\"code\":\"idempotency_key_mismatch\""));
    pass(HOUR_MS);
    T_EQ(idempotency_sweep(server_store(r.server), clock_wall_ms(&clock_of_test.clock)), 1);
    T_EQ(idempotency_sweep(server_store(r.server), clock_wall_ms(&clock_of_test.clock)), 0);
    stop(&r);
}

TEST(disk_that_fails_makes_no_turn_and_reading_goes_on)
{
    struct running r;
    char id[TURN_ID_LEN + 1], head[256];
    start_at(&r, 1779703200000);
    ask(&r, "POST /v1/turns HTTP/1.1", thanks);
    take_id(id);
    fault_arm(FAULT_SYNC, 1, FAULT_FROM);
    ask(&r, "POST /v1/turns HTTP/1.1", thanks);
    T_OK(answered("HTTP/1.1 503 ") && answered("\"code\":\"storage_unavailable\""));
    T_OK(answered("Retry-After: "));
    snprintf(head, sizeof head, "GET /v1/turns/%s HTTP/1.1", id);
    ask(&r, head, "");
    T_OK(answered("HTTP/1.1 200 OK") && answered("\"status\":\"completed\""));
    ask(&r, "GET /v1/turns HTTP/1.1", "");
    T_OK(answered(id) && answered("\"next_cursor\":null"));
    stop(&r);
    fault_disarm_all();
}

/* Whatever allocation fails, there is an answer or the connection ends; and then all is as before.
 */
TEST(memory_that_fails_breaks_nothing_that_asks)
{
    enum { N = 80 };
    struct running r;
    char id[TURN_ID_LEN + 1], head[256];
    start_at(&r, 1779703200000);
    ask(&r, "POST /v1/turns HTTP/1.1", thanks);
    take_id(id);
    static const char *const paths[] = {"", "/trace", "/events"};
    for (uint64_t n = 1; n <= N; n++) {
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        snprintf(head, sizeof head, "GET /v1/turns/%s%s HTTP/1.1", id, paths[n % 3]);
        ask(&r, head, "");
        fault_disarm_all();
        T_OK(reply_len == 0 || answered("HTTP/1.1 200 ") || answered("HTTP/1.1 503 "));
    }
    for (size_t i = 0; i < 3; i++) {
        snprintf(head, sizeof head, "GET /v1/turns/%s%s HTTP/1.1", id, paths[i]);
        ask(&r, head, "");
        T_OK(answered("HTTP/1.1 200 OK"));
    }
    stop(&r);
    T_EQ(r.ended, WEIR_OK);
}

TEST(sweep_walks_over_all_pages)
{
    enum { N = 2 * IDEMPOTENCY_SWEEP_DOCS + 7 };
    struct running r;
    start_at(&r, 1779703200000);
    struct store *store = server_store(r.server);
    for (int i = 0; i < N; i++) {
        char id[32], body[64];
        struct commit *c = commit_new(0);
        snprintf(id, sizeof id, "%06d", i);
        snprintf(body, sizeof body, "{\"at\":%lld}", 1779703200000LL + (i % 3 == 0 ? HOUR_MS : 0));
        commit_put(c, (struct doc_key){SLICE("idempotency"), weir_slice_of(id)}, DOC_ANY_VERSION,
                   SLICE("me"), weir_slice_of(body));
        T_EQ(store_commit_wait(store, c).status, WEIR_OK);
    }
    T_EQ(idempotency_sweep(store, 1779703200000 + 24LL * HOUR_MS), N - (N + 2) / 3);
    T_EQ(idempotency_sweep(store, 1779703200000 + 25LL * HOUR_MS), (N + 2) / 3);
    stop(&r);
}
