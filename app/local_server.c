/* SPDX-License-Identifier: Apache-2.0 */
#include "local_server.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "serve/server.h"

enum { NAME_BYTES = 96 };

/* The command is in a thread of its own; the server has the first, which gets the signals. */
struct guest {
    struct server *server;
    const char *folder;
    local_server_fn use;
    void *user;
    int exit_status;
};

static void *be_guest(void *user)
{
    struct guest *g = user;
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

static int serve_guest(struct guest *g)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, be_guest, g) != 0) {
        fputs("weir: there is no thread to be had\n", stderr);
        return EXIT_FAILED;
    }
    enum weir_status st = server_run(g->server);
    (void)pthread_join(thread, NULL);
    return st == WEIR_OK || st == WEIR_SHUTDOWN ? g->exit_status : EXIT_FAILED;
}

int local_server_run(const char *folder, local_server_fn use, void *user)
{
    struct server_options o;
    struct server_error error = {{0}};
    struct guest g = {.folder = folder, .use = use, .user = user, .exit_status = EXIT_FAILED};
    if (is_server_there(folder)) return use(folder, user);
    server_options_init(&o);
    o.folder = folder;
    o.listen[0] = "127.0.0.1:0";
    o.n_listen = 1;
    o.n_loops = 1;
    o.has_control = true;
    enum weir_status st = server_new(&g.server, &o, &error);
    if (st != WEIR_OK) {
        fprintf(stderr, "weir: %s\n", error.text[0] != 0 ? error.text : weir_status_text(st));
        return EXIT_FAILED;
    }
    int exit_status = serve_guest(&g);
    server_free(g.server);
    return exit_status;
}

bool local_server_is_name(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
    size_t len = strlen(text);
    return len > 0 && len <= NAME_BYTES && strspn(text, allowed) == len;
}

bool local_server_get(const char *folder, const char *path, struct weir_buf *json)
{
    struct control_answer answer;
    enum weir_status st = control_call(folder, "GET", path, (struct weir_slice){0}, &answer);
    if (st == WEIR_OK && answer.status == 200) {
        *json = answer.body;
        return true;
    }
    struct weir_slice why =
        st == WEIR_OK ? control_error(&answer) : weir_slice_of(weir_status_text(st));
    fprintf(stderr, "weir: %.*s\n", (int)why.len, why.len > 0 ? why.ptr : "no answer");
    weir_buf_fini(&answer.body);
    return false;
}
