/* SPDX-License-Identifier: Apache-2.0 */
/* Work in another thread, waited for and left alone. */
#include "background.h"

#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "t.h"

struct work {
    sem_t may_go, is_dropped;
    atomic_int n_runs, n_drops;
    bool has_signals; /* the thread takes some */
};

static void run(void *user)
{
    struct work *w = user;
    sigset_t blocked;
    while (sem_wait(&w->may_go) != 0) {
    }
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    w->has_signals = sigismember(&blocked, SIGINT) != 1 || sigismember(&blocked, SIGTSTP) != 1;
    atomic_fetch_add(&w->n_runs, 1);
}

static void drop(void *user)
{
    struct work *w = user;
    atomic_fetch_add(&w->n_drops, 1);
    sem_post(&w->is_dropped);
}

static void begin(struct work *w)
{
    sem_init(&w->may_go, 0, 0);
    sem_init(&w->is_dropped, 0, 0);
    atomic_init(&w->n_runs, 0);
    atomic_init(&w->n_drops, 0);
}

static bool is_done(struct background *b, int wait_ms)
{
    struct pollfd fd = {.fd = background_fd(b), .events = POLLIN};
    return poll(&fd, 1, wait_ms) == 1;
}

TEST(work_that_is_done_can_be_read_and_is_dropped_once)
{
    struct work w;
    begin(&w);
    struct background *b = background_start(run, drop, &w);
    T_OK(b != NULL);
    T_OK(!is_done(b, 0));
    sem_post(&w.may_go);
    T_OK(is_done(b, -1));
    T_EQ(atomic_load(&w.n_runs), 1);
    T_OK(!w.has_signals);
    background_end(b);
    while (sem_wait(&w.is_dropped) != 0) {
    }
    T_EQ(atomic_load(&w.n_drops), 1);
}

TEST(work_that_is_left_ends_by_itself)
{
    struct work w;
    begin(&w);
    struct background *b = background_start(run, drop, &w);
    T_OK(b != NULL);
    background_end(b);
    T_EQ(atomic_load(&w.n_drops), 0);
    sem_post(&w.may_go);
    while (sem_wait(&w.is_dropped) != 0) {
    }
    T_EQ(atomic_load(&w.n_runs), 1);
    T_EQ(atomic_load(&w.n_drops), 1);
}

TEST(nothing_to_end_is_no_mistake)
{
    background_end(NULL);
}
