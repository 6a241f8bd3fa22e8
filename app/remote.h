/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request to the server that is configured: over the control socket of a folder of this
 * machine, or by HTTP over the network.
 *
 * 1. client_config_load().
 * 2. remote_run() calls what the command does while there is a server: at once when it is over the
 *    network or runs on the folder; else one of this process serves for that time.
 * 3. There, remote_request() and the shorter ones below.
 *
 * A request ends with the program: signals that end it do so at once.
 */
#pragma once

#include "client_config.h"
#include "control.h"

enum {
    REMOTE_PATH_BYTES = 512,
    REMOTE_WHY_BYTES = XDG_PATH_BYTES + 512,
    REMOTE_CONNECT_MS = 10 * 1000,
    REMOTE_FIRST_BYTE_MS = 120 * 1000, /* POST and DELETE: there may be work to do */
    REMOTE_GET_MS = 30 * 1000,         /* the same for GET, which only looks things up */
    REMOTE_TURN_MS = 20 * 60 * 1000,   /* what takes as long as a turn */
    REMOTE_WAITING_MS = 3 * 1000,      /* until somebody at a terminal is told what is waited for */
    REMOTE_IDLE_MS = 30 * 1000,
    REMOTE_POST_MS = 3 * 1000,
};

/* What a command does with a server; returns the exit status. */
typedef int (*remote_fn)(const struct client_config *c, void *user);

int remote_run(const struct client_config *c, remote_fn use, void *user);

/* A command line "ACT WORD…" without its options. */
struct remote_line {
    const char *user; /* --user, by a row of the caller's; NULL: me */
    const char *act;  /* "list", if there is not a word */
    char **words;     /* behind the act */
    int n_words;
};
/* options_parse() for such a command, which also looks at the user. */
int remote_parse(const struct command *command, int argc, char **argv,
                 const struct option_row *rows, struct remote_line *line);
/* Whether the words are ids, and one at least. */
bool remote_are_ids(const struct remote_line *line);

/* All of it, for a command that has read its options: `whose` is --user, or NULL. */
int remote_command(const struct client_flags *flags, const char *whose, remote_fn use, void *user);

/*
 * WEIR_OK when there is an answer, whatever it says; else `why` has a sentence with the server's
 * name and what to do. The body is freed with weir_buf_fini() either way. Methods: GET, POST
 * and DELETE; a body is JSON.
 */
struct remote_request {
    const char *method;
    const char *path; /* with its query */
    struct weir_slice body;
    unsigned first_byte_ms; /* until the answer begins; 0: as above */
};
WEIR_MUST_CHECK enum weir_status remote_request(const struct client_config *c,
                                                const struct remote_request *request,
                                                struct control_answer *answer,
                                                char why[REMOTE_WHY_BYTES]);

/* The same for commands: true when the answer has the status that is wanted; else complains. */
bool remote_call(const struct client_config *c, const struct remote_request *request, int wanted,
                 struct control_answer *answer);

/*
 * data_folder_run() for a server that may be elsewhere: over the network it answers, or nobody
 * does.
 */
int remote_data_run(const struct client_config *c, const struct data_request *request);

/* Says what a request was refused for, harmless on terminals; returns EXIT_FAILED. */
int remote_refused(struct control_answer *answer);

/* The JSON that a GET is answered with, to be freed by the caller; complains when there is none. */
bool remote_get(const struct client_config *c, const char *path, struct weir_buf *json);

/* One of somebody's things by its id, as "/v1/memory" and "mem_…"; both complain when they fail. */
struct remote_thing {
    const char *list; /* the path of all of them */
    const char *id;
    const char *user; /* --user, or NULL */
};
bool remote_thing_get(const struct client_config *c, const struct remote_thing *thing,
                      struct weir_buf *json);
bool remote_thing_remove(const struct client_config *c, const struct remote_thing *thing);

/* What an answer that is an error says, with what to do; one line, harmless on terminals. */
void remote_explain(const struct client_config *c, struct control_answer *answer,
                    char why[REMOTE_WHY_BYTES]);

/*
 * Sends a request by a fetcher of the caller's, to the path at the server: the URL, the key, whom
 * to trust, and limits where there are none yet are filled in.
 */
struct fetcher;
struct fetch_request;
WEIR_MUST_CHECK enum weir_status remote_send(struct fetcher *f, const struct client_config *c,
                                             const char *path, struct fetch_request *request);

/*
 * A POST that nobody waits for, as to cancel a turn; NULL when it cannot be sent. It has
 * REMOTE_POST_MS: remote_post_is_over() when they are over or it was answered; remote_post_end()
 * waits until then, so that it is really sent. NULL is allowed.
 */
struct remote_post;
struct remote_post *remote_post_begin(const struct client_config *c, const char *path);
bool remote_post_is_over(const struct remote_post *post);
void remote_post_end(struct remote_post *post);

/*
 * "/v1/turns/ID/trace" becomes "…?user=USER" for a server of this machine; over the network a key
 * says whose things it is about.
 */
void remote_path(char out[REMOTE_PATH_BYTES], const struct client_config *c, const char *path,
                 const char *user);

/* False, with a complaint, when --user was given (not NULL) and the server is not of this machine.
 */
bool remote_takes_user(const struct client_config *c, const char *user);
