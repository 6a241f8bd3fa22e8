/* SPDX-License-Identifier: Apache-2.0 */
#include "local_server.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "serve/server.h"
#include "term_tty.h"

enum {
    NAME_BYTES = 96,
    TRIES = 10, /* to take the place of a server that is about to leave */
    TRY_MS = 100,
};

/*
 * The command is in a thread of its own; the server has the first, which gets the signals. A server
 * gives up the rest of the file system for its thread and those that it starts; so the command's is
 * there before, for it has files of its own.
 */
struct guest {
    struct server *server;
    pthread_t thread;
    sem_t is_decided; /* whether there is a server */
    sem_t is_wanted;  /* one is, or none will be any more: the command is through */
    bool is_through;
    bool is_left;   /* nobody waits for the command any more */
    bool has_other; /* a server of another process is used */
    const char *folder;
    local_server_fn use;
    void *user;
    int exit_status;
};

/* Whoever may want a server later; one at a time is enough for a program with one command. */
static struct {
    pthread_mutex_t lock;
    struct guest *guest;
} later = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The signal that asked for the end of a command that does not hear it. */
static atomic_int ending;

int local_server_ending(void)
{
    return atomic_load(&ending);
}

static void wait_for(sem_t *s)
{
    while (sem_wait(s) != 0) {
    }
}

static void *be_guest(void *user)
{
    struct guest *g = user;
    if (!g->has_other) wait_for(&g->is_decided);
    if (!g->has_other && !g->server) return NULL;
    g->exit_status = g->use(g->folder, g->user);
    pthread_mutex_lock(&later.lock);
    later.guest = NULL;
    g->is_through = true;
    if (g->server && !g->is_left) server_stop(g->server);
    else sem_post(&g->is_wanted);
    pthread_mutex_unlock(&later.lock);
    return NULL;
}

static bool is_server_there(const char *folder)
{
    struct control_answer answer;
    enum weir_status st = control_call(folder, "GET", "/healthz", (struct weir_slice){0}, &answer);
    weir_buf_fini(&answer.body);
    return st == WEIR_OK;
}

/* The signals that a server watches (process_watch_signals()) are to wake nobody else. */
static bool start_guest(struct guest *g)
{
    sigset_t theirs;
    sigset_t before;
    sigemptyset(&theirs);
    sigaddset(&theirs, SIGTERM);
    sigaddset(&theirs, SIGINT);
    sigaddset(&theirs, SIGHUP);
    sigaddset(&theirs, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &theirs, &before);
    bool is_started = pthread_create(&g->thread, NULL, be_guest, g) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!is_started) fputs("weir: there is no thread to be had\n", stderr);
    return is_started;
}

/*
 * A command with a terminal watches the same signals, and either of us may come first. It is to
 * have them all; one that does not watch them has them blocked, and may wait for its input.
 */
static void pass_on(void *user, int number)
{
    struct guest *g = user;
    if (tty_signal_fd() >= 0) {
        (void)pthread_kill(g->thread, number);
    } else if (number != SIGUSR1) {
        atomic_store(&ending, number);
        if (number == SIGHUP) server_stop(g->server); /* the others stop it anyway */
    }
}

/* Of a program that ends by a signal, a command that waits for something else is left to itself. */
static void join(struct guest *g)
{
    if (atomic_load(&ending) == 0) {
        (void)pthread_join(g->thread, NULL);
        return;
    }
    for (int i = 0; i < TRIES; i++) {
        if (pthread_tryjoin_np(g->thread, NULL) == 0) return;
        (void)poll(NULL, 0, TRY_MS / TRIES);
    }
    pthread_mutex_lock(&later.lock);
    g->is_left = true;
    pthread_mutex_unlock(&later.lock);
}

static enum weir_status open_server(struct guest *g)
{
    struct server_options o;
    struct server_error error = {{0}};
    server_options_init(&o);
    o.folder = g->folder;
    o.listen[0] = "127.0.0.1:0";
    o.n_listen = 1;
    o.n_loops = 1;
    o.has_control = true;
    o.on_signal = pass_on;
    o.signal_user = g;
    enum weir_status st = server_new(&g->server, &o, &error);
    if (st == WEIR_OK) return st;
    g->server = NULL;
    if (!g->has_other)
        fprintf(stderr, "weir: %s\n", error.text[0] != 0 ? error.text : weir_status_text(st));
    return st;
}

/* False: nobody is there to start one. */
static bool want_server(const char *folder)
{
    pthread_mutex_lock(&later.lock);
    struct guest *g = later.guest;
    bool is_ours = g && strcmp(g->folder, folder) == 0;
    if (is_ours && !g->server) {
        sem_post(&g->is_wanted);
        wait_for(&g->is_decided);
    }
    pthread_mutex_unlock(&later.lock);
    return is_ours;
}

bool local_server_again(const char *folder)
{
    for (int i = 0; i < TRIES; i++) {
        if (!want_server(folder)) return false;
        if (is_server_there(folder)) return true;
        (void)poll(NULL, 0, TRY_MS);
    }
    return false;
}

/* Until the command is through, or a server is there to be run. */
static enum weir_status await_server(struct guest *g)
{
    enum weir_status st = WEIR_NOT_FOUND;
    while (st != WEIR_OK) {
        wait_for(&g->is_wanted);
        if (g->is_through) return WEIR_SHUTDOWN;
        st = open_server(g);
        sem_post(&g->is_decided);
    }
    return st;
}

static enum weir_status serve(struct guest *g)
{
    enum weir_status st;
    if (g->has_other) {
        st = await_server(g);
    } else {
        st = open_server(g);
        sem_post(&g->is_decided);
    }
    return st == WEIR_OK ? server_run(g->server) : st;
}

int local_server_run(const char *folder, local_server_fn use, void *user)
{
    struct guest g = {.folder = folder, .use = use, .user = user, .exit_status = EXIT_FAILED};
    g.has_other = is_server_there(folder);
    sem_init(&g.is_decided, 0, 0);
    sem_init(&g.is_wanted, 0, 0);
    if (g.has_other) later.guest = &g;
    if (!start_guest(&g)) return EXIT_FAILED;
    enum weir_status st = serve(&g);
    join(&g);
    if (g.server) server_free(g.server);
    if (atomic_load(&ending) != 0) tty_die(atomic_load(&ending));
    sem_destroy(&g.is_wanted);
    sem_destroy(&g.is_decided);
    return st == WEIR_OK || st == WEIR_SHUTDOWN ? g.exit_status : EXIT_FAILED;
}

bool local_server_is_name(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
    size_t len = strlen(text);
    return len > 0 && len <= NAME_BYTES && strspn(text, allowed) == len;
}
