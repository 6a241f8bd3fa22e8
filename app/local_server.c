/* SPDX-License-Identifier: Apache-2.0 */
#include "local_server.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "serve/server.h"

enum { NAME_BYTES = 96 };

/*
 * The command is in a thread of its own; the server has the first, which gets the signals. A server
 * gives up the rest of the file system for its thread and those that it starts; so the command's is
 * there before, for it has files of its own.
 */
struct guest {
    struct server *server;
    pthread_t thread;
    sem_t is_decided; /* whether there is a server */
    const char *folder;
    local_server_fn use;
    void *user;
    int exit_status;
};

static void *be_guest(void *user)
{
    struct guest *g = user;
    while (sem_wait(&g->is_decided) != 0) {
    }
    if (!g->server) return NULL;
    g->exit_status = g->use(g->folder, g->user);
    server_stop(g->server);
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
 * have them all; one that does not watch them has them blocked.
 */
static void pass_on(void *user, int number)
{
    const struct guest *g = user;
    (void)pthread_kill(g->thread, number);
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
    fprintf(stderr, "weir: %s\n", error.text[0] != 0 ? error.text : weir_status_text(st));
    return st;
}

int local_server_run(const char *folder, local_server_fn use, void *user)
{
    struct guest g = {.folder = folder, .use = use, .user = user, .exit_status = EXIT_FAILED};
    if (is_server_there(folder)) return use(folder, user);
    sem_init(&g.is_decided, 0, 0);
    if (!start_guest(&g)) return EXIT_FAILED;
    enum weir_status st = open_server(&g);
    sem_post(&g.is_decided);
    if (st == WEIR_OK) st = server_run(g.server);
    (void)pthread_join(g.thread, NULL);
    if (g.server) server_free(g.server);
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
