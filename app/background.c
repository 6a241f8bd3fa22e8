/* SPDX-License-Identifier: Apache-2.0 */
#include "background.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

enum state { RUNNING, DONE, LEFT };

struct background {
    void (*work)(void *user);
    void (*drop)(void *user);
    void *user;
    int fd;
    atomic_int state; /* whoever comes second frees it */
};

static void free_all(struct background *b)
{
    b->drop(b->user);
    close(b->fd);
    mem_free(b);
}

static void *run(void *user)
{
    struct background *b = user;
    static const uint64_t one = 1;
    b->work(b->user);
    /* Told before the state is changed, for then it may be gone. */
    ssize_t n = write(b->fd, &one, sizeof one);
    (void)n;
    if (atomic_exchange(&b->state, DONE) == LEFT) free_all(b);
    return NULL;
}

static bool start_thread(struct background *b)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&thread, NULL, run, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started) pthread_detach(thread);
    return is_started;
}

struct background *background_start(void (*work)(void *user), void (*drop)(void *user), void *user)
{
    struct background *b = mem_zalloc(sizeof *b);
    if (!b) return NULL;
    *b = (struct background){.work = work, .drop = drop, .user = user};
    b->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->fd >= 0 && start_thread(b)) return b;
    if (b->fd >= 0) close(b->fd);
    mem_free(b);
    return NULL;
}

int background_fd(const struct background *b)
{
    return b->fd;
}

bool background_is_done(const struct background *b)
{
    return atomic_load(&b->state) == DONE;
}

void background_end(struct background *b)
{
    if (b && atomic_exchange(&b->state, LEFT) == DONE) free_all(b);
}
