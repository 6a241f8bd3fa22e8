/* SPDX-License-Identifier: Apache-2.0 */
#include "io/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/container.h"
#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

enum { DEADLINE_MS = 20000 }; /* only a test that fails waits so long */

/* What happened, in order, one letter each. */
static char story[256];

static void tell(char what)
{
    size_t len = strlen(story);
    if (len + 1 < sizeof story) story[len] = what;
}

/* A loop with a pair of sockets and a time limit. */
struct bench {
    struct loop *loop;
    struct timer deadline;
    struct watch watch;
    struct watch other;
    struct timer timer;
    struct post post;
    int fds[2];
    int n;
};

static struct bench b;

static void too_late(struct timer *t)
{
    (void)t;
    t_fail(__FILE__, __LINE__, "nothing came within the time limit");
    loop_stop(b.loop);
}

static void begin(void)
{
    memset(story, 0, sizeof story);
    b = (struct bench){.loop = loop_new(&clock_system)};
    T_OK(b.loop);
    T_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b.fds), 0);
    timer_init(b.loop, &b.deadline, too_late);
    timer_set(&b.deadline, DEADLINE_MS, 0);
}

static void end(void)
{
    timer_close(&b.deadline, NULL);
    loop_free(b.loop);
    close(b.fds[0]);
    close(b.fds[1]);
}

static void put(int fd, const char *text)
{
    T_EQ(write(fd, text, strlen(text)), strlen(text));
}

static void tell_end_of_round(void *user)
{
    (void)user;
    tell('.');
}

/* ---- rounds ---- */

static void post_and_stop(struct post *p)
{
    (void)p;
    tell('p');
    loop_stop(b.loop);
}

static void read_and_post(struct watch *w, int events)
{
    char byte;
    T_EQ(events, WATCH_READ);
    T_EQ(read(b.fds[0], &byte, 1), 1);
    tell('r');
    b.post.run = post_and_stop;
    loop_post(b.loop, &b.post);
    watch_close(w, NULL);
}

TEST(posts_come_after_descriptors_and_the_hook_after_both)
{
    begin();
    T_EQ(watch_start(b.loop, &b.watch, b.fds[0], WATCH_READ, read_and_post), WEIR_OK);
    loop_on_round_end(b.loop, tell_end_of_round, NULL);
    put(b.fds[1], "x");
    loop_run(b.loop);
    /* A round before the first wait, the one with the byte, and that which sees the stop. */
    T_EQ_STR(weir_slice_of(story), ".rp..");
    end();
}

static void repost(struct post *p)
{
    tell('p');
    if (++b.n == 3) loop_stop(b.loop);
    else loop_post(b.loop, p);
}

TEST(post_made_by_a_post_runs_in_the_next_round)
{
    begin();
    loop_on_round_end(b.loop, tell_end_of_round, NULL);
    b.post.run = repost;
    loop_post(b.loop, &b.post);
    loop_run(b.loop);
    T_EQ_STR(weir_slice_of(story), "p.p.p..");
    end();
}

static void post_from_hook(void *user)
{
    (void)user;
    tell('.');
    b.post.run = post_and_stop;
    if (b.n++ == 0) loop_post(b.loop, &b.post);
}

static void say_due(struct timer *t)
{
    (void)t;
    tell('t');
}

TEST(what_the_hook_posts_is_not_slept_over)
{
    begin();
    timer_init(b.loop, &b.timer, say_due);
    timer_set(&b.timer, 0, 0);
    loop_on_round_end(b.loop, post_from_hook, NULL);
    loop_run(b.loop);
    T_EQ_STR(weir_slice_of(story), "t.p..");
    timer_close(&b.timer, NULL);
    end();
}

static void arm_timer(void *user)
{
    (void)user;
    if (b.n++ == 0) timer_set(&b.timer, 0, 0);
}

static void due_and_stop(struct timer *t)
{
    (void)t;
    tell('t');
    loop_stop(b.loop);
}

TEST(timer_that_the_hook_sets_is_not_slept_over)
{
    begin();
    timer_init(b.loop, &b.timer, due_and_stop);
    loop_on_round_end(b.loop, arm_timer, NULL);
    loop_run(b.loop);
    T_EQ_STR(weir_slice_of(story), "t");
    timer_close(&b.timer, NULL);
    end();
}

TEST(timer_due_ends_its_round_before_the_loop_waits)
{
    begin();
    timer_init(b.loop, &b.timer, due_and_stop);
    timer_set(&b.timer, 1, 0);
    loop_on_round_end(b.loop, tell_end_of_round, NULL);
    loop_run(b.loop);
    char *due = strchr(story, 't');
    T_OK(due && due[1] == '.');
    timer_close(&b.timer, NULL);
    end();
}

/* ---- when it ends ---- */

TEST(loop_ends_when_nothing_is_left_to_wait_for)
{
    begin();
    timer_unset(&b.deadline);
    loop_run(b.loop);
    b.post.run = post_and_stop;
    loop_post(b.loop, &b.post);
    loop_run(b.loop);
    T_EQ_STR(weir_slice_of(story), "p");
    end();
}

static void close_watch(struct timer *t)
{
    (void)t;
    tell('t');
    watch_close(&b.watch, NULL);
    timer_unset(&b.deadline);
}

static void never(struct watch *w, int events)
{
    (void)w, (void)events;
    t_fail(__FILE__, __LINE__, "an event that nobody asked for");
}

TEST(watch_that_asks_for_nothing_holds_the_loop)
{
    begin();
    T_EQ(watch_start(b.loop, &b.watch, b.fds[0], 0, never), WEIR_OK);
    put(b.fds[1], "x");
    timer_init(b.loop, &b.timer, close_watch);
    timer_set(&b.timer, 1, 0);
    loop_run(b.loop);
    T_EQ_STR(weir_slice_of(story), "t");
    timer_close(&b.timer, NULL);
    end();
}

TEST(stop_before_the_run_is_kept)
{
    begin();
    loop_stop(b.loop);
    loop_run(b.loop);
    b.post.run = post_and_stop;
    loop_post(b.loop, &b.post);
    loop_run(b.loop);
    T_EQ_STR(weir_slice_of(story), "p");
    end();
}

static void tell_post(struct post *p)
{
    (void)p;
    tell('p');
}

TEST(posts_left_over_run_when_the_loop_is_freed)
{
    begin();
    b.post.run = tell_post;
    loop_post(b.loop, &b.post);
    end();
    T_EQ_STR(weir_slice_of(story), "p");
    loop_free(NULL);
}

TEST(loop_without_memory_is_null)
{
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_OK(!loop_new(&clock_system));
    fault_disarm_all();
}

TEST(loop_gives_its_clock_and_its_time)
{
    begin();
    T_OK(loop_clock(b.loop) == &clock_system);
    uint64_t mono_ms = clock_mono_ns(&clock_system) / 1000000;
    T_OK(loop_now_ms(b.loop) <= mono_ms + 1);
    end();
}

/* ---- descriptors ---- */

static void write_until_full(struct watch *w, int events)
{
    char bytes[4096] = "";
    T_EQ(events, WATCH_WRITE);
    while (write(b.fds[0], bytes, sizeof bytes) > 0) {
    }
    tell('w');
    watch_set(w, WATCH_READ);
    watch_set(w, WATCH_READ);
    put(b.fds[1], "x");
}

static void read_or_write(struct watch *w, int events)
{
    if (events & WATCH_WRITE) {
        write_until_full(w, events);
        return;
    }
    char byte;
    T_EQ(events, WATCH_READ);
    T_EQ(read(b.fds[0], &byte, 1), 1);
    tell('r');
    watch_set(w, 0);
    loop_stop(b.loop);
}

TEST(events_are_those_asked_for_last)
{
    begin();
    T_EQ(watch_start(b.loop, &b.watch, b.fds[0], WATCH_WRITE, read_or_write), WEIR_OK);
    loop_run(b.loop);
    T_EQ_STR(weir_slice_of(story), "wr");
    watch_close(&b.watch, NULL);
    end();
}

static void stop_on_both(struct watch *w, int events)
{
    T_EQ(events, WATCH_READ | WATCH_WRITE);
    tell('e');
    if (++b.n == 2) loop_stop(b.loop);
    T_EQ(w->events, 0);
    watch_set(w, WATCH_READ);
}

TEST(broken_pipe_is_told_as_both_events_as_often_as_asked)
{
    int fds[2];
    begin();
    T_EQ(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    T_EQ(watch_start(b.loop, &b.watch, fds[1], WATCH_WRITE, read_or_write), WEIR_OK);
    b.watch.on_event = stop_on_both;
    close(fds[0]);
    loop_run(b.loop);
    T_EQ_STR(weir_slice_of(story), "ee");
    watch_close(&b.watch, NULL);
    close(fds[1]);
    end();
}

static void told_closed(struct watch *w)
{
    tell(w == &b.watch ? 'c' : 'd');
    if (story[0] && strchr(story, 'c') && strchr(story, 'd')) loop_stop(b.loop);
}

/* Whichever is told first closes both, descriptors too, and takes a number that was freed. */
static void close_both(struct watch *w, int events)
{
    (void)w, (void)events;
    tell('e');
    watch_close(&b.watch, told_closed);
    close(b.fds[0]);
    watch_close(&b.other, told_closed);
    close(b.fds[1]);
    T_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b.fds), 0);
}

TEST(events_of_a_watch_closed_in_the_same_round_are_not_told)
{
    begin();
    put(b.fds[0], "x");
    put(b.fds[1], "x");
    T_EQ(watch_start(b.loop, &b.watch, b.fds[0], WATCH_READ, close_both), WEIR_OK);
    T_EQ(watch_start(b.loop, &b.other, b.fds[1], WATCH_READ, close_both), WEIR_OK);
    loop_run(b.loop);
    T_EQ(story[0], 'e');
    T_OK(!strchr(story + 1, 'e'));
    T_OK(strchr(story, 'c') && strchr(story, 'd'));
    end();
}

static struct watch *on_heap;

static void free_watch(struct watch *w)
{
    tell('c');
    free(w);
    loop_stop(b.loop);
}

static void close_and_free(struct watch *w, int events)
{
    (void)events;
    watch_close(w, free_watch);
}

TEST(struct_of_a_watch_may_be_freed_by_its_closed_call)
{
    begin();
    on_heap = malloc(sizeof *on_heap);
    T_EQ(watch_start(b.loop, on_heap, b.fds[0], WATCH_WRITE, close_and_free), WEIR_OK);
    loop_run(b.loop);
    T_EQ_STR(weir_slice_of(story), "c");
    end();
}

TEST(closed_descriptor_cannot_be_watched)
{
    begin();
    int fd = dup(b.fds[0]);
    close(fd);
    T_EQ(watch_start(b.loop, &b.watch, fd, WATCH_READ, never), WEIR_IO);
    end();
}

TEST(watch_stays_small)
{
    T_OK(sizeof(struct watch) <= 192);
}

/* ---- timers ---- */

static void count_three(struct timer *t)
{
    tell('t');
    if (++b.n == 3) {
        timer_unset(t);
        loop_stop(b.loop);
    }
}

static void timer_told_closed(struct timer *t)
{
    (void)t;
    tell('c');
}

TEST(repeating_timer_comes_again_until_unset)
{
    begin();
    timer_init(b.loop, &b.timer, count_three);
    timer_set(&b.timer, 1, 1);
    loop_run(b.loop);
    timer_close(&b.timer, timer_told_closed);
    end();
    T_EQ_STR(weir_slice_of(story), "tttc");
}

/* ---- threads ---- */

enum { N_THREADS = 4, N_POSTS = 2000 };

struct numbered {
    struct post post;
    int thread;
    int number;
};

struct poster {
    struct numbered posts[N_POSTS];
    int thread;
    int next; /* the number that the loop expects */
};

static struct poster posters[N_THREADS];
static int n_run;

static void take_number(struct post *p)
{
    struct numbered *n = CONTAINER_OF(p, struct numbered, post);
    T_EQ(n->number, posters[n->thread].next);
    posters[n->thread].next++;
    if (++n_run == N_THREADS * N_POSTS) loop_stop(b.loop);
}

static void *post_all(void *user)
{
    struct poster *p = user;
    for (int i = 0; i < N_POSTS; i++) {
        p->posts[i] = (struct numbered){{NULL, take_number}, p->thread, i};
        loop_post(b.loop, &p->posts[i].post);
    }
    return NULL;
}

TEST(posts_of_four_threads_all_run_each_in_its_order)
{
    pthread_t threads[N_THREADS];
    begin();
    n_run = 0;
    for (int i = 0; i < N_THREADS; i++) {
        posters[i].thread = i;
        posters[i].next = 0;
        T_EQ(pthread_create(&threads[i], NULL, post_all, &posters[i]), 0);
    }
    loop_run(b.loop);
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    T_EQ(n_run, N_THREADS * N_POSTS);
    end();
}

/* Two loops throw one post to and fro: each waits for the other, so each wake-up is needed. */
enum { N_THROWS = 2000 };

struct ball {
    struct post post;
    struct loop *loops[2];
    int n;
};

static void throw_back(struct post *p)
{
    struct ball *ball = CONTAINER_OF(p, struct ball, post);
    if (ball->n++ == N_THROWS) {
        loop_stop(ball->loops[0]);
        loop_stop(ball->loops[1]);
        return;
    }
    loop_post(ball->loops[ball->n % 2], p);
}

static void *run_loop(void *user)
{
    loop_run(user);
    return NULL;
}

TEST(no_wake_up_is_lost_between_two_loops)
{
    struct ball ball = {.post = {NULL, throw_back}};
    struct timer hold;
    pthread_t thread;
    begin();
    ball.loops[0] = b.loop;
    ball.loops[1] = loop_new(&clock_system);
    timer_init(ball.loops[1], &hold, too_late);
    timer_set(&hold, DEADLINE_MS, 0);
    T_EQ(pthread_create(&thread, NULL, run_loop, ball.loops[1]), 0);
    loop_post(b.loop, &ball.post);
    loop_run(b.loop);
    pthread_join(thread, NULL);
    T_EQ(ball.n, N_THROWS + 1);
    timer_close(&hold, NULL);
    loop_free(ball.loops[1]);
    end();
}

static void *stop_loop(void *user)
{
    loop_stop(user);
    return NULL;
}

TEST(another_thread_can_stop_the_loop)
{
    pthread_t thread;
    begin();
    T_EQ(pthread_create(&thread, NULL, stop_loop, b.loop), 0);
    loop_run(b.loop);
    pthread_join(thread, NULL);
    end();
}
