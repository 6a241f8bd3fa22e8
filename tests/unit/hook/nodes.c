/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscriptions of two nodes on one store: requests go to either, one of them wakes, and it wakes
 * once. Nobody tells them of documents but the test.
 */
#include "hook/hooks.h"

#include <pthread.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/slice.h"
#include "hook/hooks_impl.h"
#include "io/target.h"
#include "stream/stream.h"
#include "t.h"

enum { A, B, WAIT_MS = 20 * 1000 };

static struct {
    struct store *store;
    struct hooks *nodes[2];
    struct target_rules rules;
    pthread_mutex_t lock;
    struct trace trace;
    atomic_uint n_refusals; /* lines about wake streams that take no event */
    bool is_told;           /* news go to the nodes */
    char text[1 << 16];     /* the last answer */
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_news(void *user, const struct store_news *news, size_t n)
{
    (void)user;
    pthread_mutex_lock(&desk.lock);
    for (int i = 0; i < 2; i++)
        if (desk.is_told) hooks_news(desk.nodes[i], news, n);
    pthread_mutex_unlock(&desk.lock);
}

static void tell_news(bool is_told)
{
    pthread_mutex_lock(&desk.lock);
    desk.is_told = is_told;
    pthread_mutex_unlock(&desk.lock);
}

static void count_refusals(void *user, struct weir_slice line)
{
    static const char text[] = "takes no event";
    (void)user;
    if (memmem(line.ptr, line.len, text, sizeof text - 1)) atomic_fetch_add(&desk.n_refusals, 1);
}

static void make_stream(const char *name)
{
    struct commit *c = commit_new(0);
    struct stream_create create = {.name = weir_slice_of(name),
                                   .wanted = {.type = SLICE("application/json"), .ttl_s = -1},
                                   .now_ms = clock_wall_ms(&clock_system)};
    stream_create_commit(c, &create);
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
}

static void append(const char *name)
{
    struct stream_log_text log;
    struct commit *c = commit_new(0);
    commit_append(c, stream_log_name(&log, weir_slice_of(name)), SLICE("data: {}\n\n"));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
}

static uint64_t n_events(const char *name)
{
    struct stream_log_text log;
    struct log_read read;
    store_read(desk.store, stream_log_name(&log, weir_slice_of(name)), 1, 0, &read);
    return read.state.last;
}

static void open_nodes(int leader)
{
    static char folder[256];
    struct store_error error;
    const struct store_options options = {.on_news = on_news};
    snprintf(folder, sizeof folder, "%s", t_temp_dir());
    desk.trace = (struct trace){.sink = count_refusals, .clock = &clock_system};
    desk.trace.level = TRACE_WARN;
    atomic_store(&desk.n_refusals, 0);
    T_EQ(store_open(&desk.store, folder, &options, &error), WEIR_OK);
    const struct hooks_options o = {.folder = folder,
                                    .public_url = "http://127.0.0.1",
                                    .rules = &desk.rules,
                                    .clock = &clock_system,
                                    .trace = &desk.trace,
                                    .is_shared = true};
    for (int i = 0; i < 2; i++) {
        T_EQ(hooks_open(&desk.nodes[i], desk.store, &o), WEIR_OK);
        T_EQ(hooks_start(desk.nodes[i]), WEIR_OK);
        hooks_lead(desk.nodes[i], i == leader);
    }
    tell_news(true);
    make_stream("wakes");
}

static void close_nodes(void)
{
    tell_news(false);
    for (int i = 0; i < 2; i++) hooks_stop(desk.nodes[i]);
    store_close(desk.store);
    for (int i = 0; i < 2; i++) hooks_free(desk.nodes[i]);
}

/* ---- requests ---- */

struct waiting {
    struct hooks_request request;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
};

static void on_done(struct hooks_request *r)
{
    struct waiting *w = CONTAINER_OF(r, struct waiting, request);
    pthread_mutex_lock(&w->lock);
    w->is_done = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static int ask_with(int node, enum hooks_action action, const char *body, const char *token)
{
    struct waiting w = {.request = {.action = action,
                                    .id = SLICE("sub"),
                                    .owner = SLICE("ann"),
                                    .token = weir_slice_of(token),
                                    .body = weir_slice_of(body),
                                    .done = on_done},
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    T_EQ(hooks_ask(desk.nodes[node], &w.request), WEIR_OK);
    pthread_mutex_lock(&w.lock);
    while (!w.is_done) pthread_cond_wait(&w.changed, &w.lock);
    pthread_mutex_unlock(&w.lock);
    T_EQ(w.request.failure, WEIR_OK);
    struct weir_slice answer = weir_buf_slice(&w.request.answer);
    snprintf(desk.text, sizeof desk.text, "%.*s", (int)answer.len,
             answer.len > 0 ? answer.ptr : "");
    weir_buf_fini(&w.request.answer);
    return w.request.status;
}

static int ask(int node, enum hooks_action action, const char *body)
{
    return ask_with(node, action, body, "");
}

static void tell(int node)
{
    hooks_docs_changed(desk.nodes[node], weir_slice_of(subscription_kind), SLICE("sub"));
}

static bool says(const char *part)
{
    return strstr(desk.text, part) != NULL;
}

/* A string or number of the last answer. */
static void find(const char *member, char *out, size_t size)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", member);
    const char *at = strstr(desk.text, key);
    T_OK(at);
    at = at ? at + strlen(key) : "";
    at += *at == '"';
    snprintf(out, size, "%.*s", (int)strcspn(at, "\",}"), at);
}

static const char wish[] =
    "{\"type\":\"pull-wake\",\"pattern\":\"work/*\",\"wake_stream\":\"wakes\"}";

static bool has_woken(uint64_t n)
{
    for (int i = 0; n_events("wakes") < n && i < WAIT_MS; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return n_events("wakes") == n;
}

/* Takes the wake at one node and ends it at the other. */
static void work_at(int first, int second, const char *offset)
{
    char token[2048], wake[64], generation[32], body[512];
    T_EQ(ask(first, HOOKS_CLAIM, "{\"worker\":\"w\"}"), 200);
    find("token", token, sizeof token);
    find("wake_id", wake, sizeof wake);
    find("generation", generation, sizeof generation);
    T_EQ(ask(second, HOOKS_CLAIM, "{\"worker\":\"other\"}"), 409);
    T_OK(says("ALREADY_CLAIMED"));
    snprintf(body, sizeof body,
             "{\"wake_id\":\"%s\",\"generation\":%s,\"done\":true,\"acks\":[{\"stream\":\"work/a\","
             "\"offset\":\"0000000000000000_%s\"}]}",
             wake, generation, offset);
    T_EQ(ask_with(second, HOOKS_ACK, body, token), 200);
    T_EQ(ask_with(first, HOOKS_ACK, body, token), 409); /* it is over, wherever it is asked */
}

/* Each node has done all that it was told so far: requests come behind that. */
static void settle(void)
{
    for (int i = 0; i < 2; i++) (void)ask(i, HOOKS_GET, "");
}

TEST(a_subscription_made_at_one_node_is_woken_by_the_other)
{
    open_nodes(A);
    T_EQ(ask(B, HOOKS_PUT, wish), 201);
    T_EQ(ask(A, HOOKS_PUT, wish), 200); /* it is there */
    append("work/a");
    T_OK(has_woken(1));
    settle();
    T_EQ(n_events("wakes"), 1);
    tell(B);
    work_at(B, A, "0000000000000001");
    append("work/a");
    T_OK(has_woken(2));
    work_at(A, B, "0000000000000002");
    T_EQ(ask(B, HOOKS_DELETE, ""), 204);
    T_EQ(ask(A, HOOKS_GET, ""), 404);
    close_nodes();
}

TEST(work_that_is_ended_at_one_node_is_woken_for_again_by_the_other)
{
    open_nodes(A);
    T_EQ(ask(B, HOOKS_PUT, wish), 201);
    make_stream("work/a"); /* the node that leads may not know yet that somebody wants it */
    append("work/a");
    tell(A);
    T_OK(has_woken(1));
    append("work/a"); /* more, which the worker does not take */
    work_at(B, B, "0000000000000001");
    tell(A);
    T_OK(has_woken(2));
    close_nodes();
}

TEST(one_of_two_leaders_wakes)
{
    open_nodes(A);
    hooks_lead(desk.nodes[B], true);
    T_EQ(ask(A, HOOKS_PUT, wish), 201);
    tell(B);
    settle();
    for (uint64_t n = 1; n <= 10; n++) {
        char offset[32];
        append("work/a");
        T_OK(has_woken(n));
        settle();
        tell(A);
        tell(B);
        settle();
        T_EQ(n_events("wakes"), n);
        snprintf(offset, sizeof offset, "%016llu", (unsigned long long)n);
        work_at(n % 2 ? A : B, n % 2 ? B : A, offset);
    }
    close_nodes();
}

/* Nobody has told it anything of what the one before did, not even of the subscription. */
TEST(whoever_leads_next_goes_on)
{
    open_nodes(A);
    T_EQ(ask(A, HOOKS_PUT, wish), 201);
    append("work/a");
    T_OK(has_woken(1));
    tell_news(false);
    hooks_lead(desk.nodes[A], false);
    settle();
    make_stream("work/b");
    append("work/b");
    T_EQ(n_events("wakes"), 1);
    work_at(A, A, "0000000000000001");
    hooks_lead(desk.nodes[B], true);
    T_OK(has_woken(2)); /* of what came while nobody led */
    close_nodes();
}

/* Of a stream that is followed, and of one that was made meanwhile. */
TEST(what_was_appended_while_news_were_lost_is_woken_for)
{
    open_nodes(A);
    make_stream("work/a");
    T_EQ(ask(A, HOOKS_PUT, wish), 201);
    settle();
    tell_news(false);
    append("work/a");
    hooks_docs_changed(desk.nodes[A], SLICE(""), SLICE(""));
    T_OK(has_woken(1));
    work_at(A, A, "0000000000000001");
    make_stream("work/b");
    append("work/b");
    hooks_docs_changed(desk.nodes[A], SLICE(""), SLICE(""));
    T_OK(has_woken(2));
    close_nodes();
}

/* The node that wakes does not know yet of what the other has written. */
TEST(a_wake_that_comes_second_does_not_blame_the_wake_stream)
{
    open_nodes(A);
    T_EQ(ask(A, HOOKS_PUT, wish), 201);
    T_EQ(ask(B, HOOKS_ADD_STREAMS, "{\"streams\":[\"x\"]}"), 204);
    append("work/a");
    settle();
    T_EQ(atomic_load(&desk.n_refusals), 0);
    close_nodes();
}

/* Once it has read that, the wake is due all the same, and nobody tells of the stream again. */
TEST(a_wake_that_comes_second_comes_nevertheless)
{
    open_nodes(A);
    T_EQ(ask(A, HOOKS_PUT, wish), 201);
    make_stream("work/a");
    T_EQ(ask(B, HOOKS_ADD_STREAMS, "{\"streams\":[\"x\"]}"), 204);
    append("work/a");
    T_OK(has_woken(1));
    T_EQ(ask(A, HOOKS_GET, ""), 200);
    T_OK(says("\"x\""));
    T_OK(says("\"work/a\""));
    close_nodes();
}

/* It could not look, and has something to write before it could. */
TEST(what_another_has_written_and_was_not_seen_is_not_written_over)
{
    struct hooks *h;
    open_nodes(A);
    T_EQ(ask(A, HOOKS_PUT, wish), 201);
    settle();
    T_EQ(hooks_open(&h, desk.store, &desk.nodes[A]->options), WEIR_OK);
    struct subscription *s = hooks_find(h, SLICE("sub"));
    T_OK(s);
    T_EQ(ask(A, HOOKS_ADD_STREAMS, "{\"streams\":[\"x\"]}"), 204);
    settle();
    fault_arm(FAULT_ALLOC, 1, FAULT_FROM);
    nodes_give_way(h, s);
    fault_disarm_all();
    T_OK(hooks_find(h, SLICE("sub")) == s);
    hooks_touch(h, s, true);
    write_touched(h);
    T_EQ(s->written, WEIR_CONFLICT);
    hooks_free(h);
    T_EQ(ask(B, HOOKS_GET, ""), 200);
    T_OK(says("\"x\""));
    close_nodes();
}

/* It is for those who read; a link is not given up for it. */
TEST(news_that_there_was_no_log_take_no_stream_away)
{
    const struct store_news news = {.log = SLICE("s/x"), .is_dropped = true};
    open_nodes(A);
    make_stream("x");
    append("x");
    T_EQ(ask(A, HOOKS_PUT, wish), 201);
    T_EQ(ask(A, HOOKS_ADD_STREAMS, "{\"streams\":[\"x\"]}"), 204);
    hooks_news(desk.nodes[A], &news, 1);
    settle();
    T_EQ(ask(A, HOOKS_GET, ""), 200);
    T_OK(says("\"x\""));
    close_nodes();
}

struct adder {
    pthread_t thread;
    int node;
};

enum { N_ADDED = 20 };

static void *add_streams(void *user)
{
    const struct adder *a = user;
    for (int i = 0; i < N_ADDED; i++) {
        struct waiting w = {.request = {.action = HOOKS_ADD_STREAMS,
                                        .id = SLICE("sub"),
                                        .owner = SLICE("ann"),
                                        .done = on_done},
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
        char body[64];
        snprintf(body, sizeof body, "{\"streams\":[\"x/%d/%d\"]}", a->node, i);
        w.request.body = weir_slice_of(body);
        T_EQ(hooks_ask(desk.nodes[a->node], &w.request), WEIR_OK);
        pthread_mutex_lock(&w.lock);
        while (!w.is_done) pthread_cond_wait(&w.changed, &w.lock);
        pthread_mutex_unlock(&w.lock);
        T_EQ(w.request.failure, WEIR_OK);
        T_EQ(w.request.status, 204);
        weir_buf_fini(&w.request.answer);
    }
    return NULL;
}

TEST(what_both_nodes_change_at_once_is_all_kept)
{
    struct adder adders[2];
    open_nodes(A);
    T_EQ(ask(A, HOOKS_PUT, wish), 201);
    for (int i = 0; i < 2; i++) {
        adders[i].node = i;
        pthread_create(&adders[i].thread, NULL, add_streams, &adders[i]);
    }
    for (int i = 0; i < 2; i++) pthread_join(adders[i].thread, NULL);
    for (int node = 0; node < 2; node++) {
        T_EQ(ask(node, HOOKS_GET, ""), 200);
        for (int i = 0; i < 2 * N_ADDED; i++) {
            char path[32];
            snprintf(path, sizeof path, "\"x/%d/%d\"", i % 2, i / 2);
            T_OK(says(path));
        }
    }
    close_nodes();
}
