/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls about sessions, scheduled prompts and skills: POST /rpc/SPACE/METHOD with {"json": input},
 * answered by {"json": output}. docs/sessions.md has them all.
 *
 * 1. rpc_try() or rpc_call(), while there is a server (remote_run()). They wait for the answer.
 * 2. The output is there until rpc_answer_fini(), which is always allowed afterwards.
 */
#pragma once

#include <weir/json.h>

#include "person_print.h"
#include "remote.h"

enum { RPC_INPUT_BYTES = 4 << 20 }; /* more than a server takes, which says so */

struct rpc {
    const char *method;      /* "chat/send" */
    const char *user;        /* --user, or NULL */
    struct weir_slice input; /* JSON, an object; empty: {} */
};

struct rpc_answer {
    int status; /* of HTTP; 0: there was no answer */
    struct weir_json_doc *doc;
    const struct weir_json *output; /* NULL: it was refused */
};

/* WEIR_OK with an output; else `why` is for people, with what to do. */
WEIR_MUST_CHECK enum weir_status rpc_try(const struct client_config *c, const struct rpc *r,
                                         struct rpc_answer *answer, char why[REMOTE_WHY_BYTES]);

/* The same for commands: false, with a complaint. */
bool rpc_call(const struct client_config *c, const struct rpc *r, struct rpc_answer *answer);

/* A call with {"id": ID} for each word of the line; how many were answered. Complains of others. */
int rpc_call_each(const struct client_config *c, const char *method,
                  const struct remote_line *line);

/* A call without an input, and the list that this member of its output is; the exit status. */
int rpc_print_list(const struct client_config *c, const struct rpc *r, const char *member,
                   person_text_fn text);

void rpc_answer_fini(struct rpc_answer *answer);

/* A value on a line of JSON; the exit status. */
int rpc_print(const struct weir_json *v);
