/* SPDX-License-Identifier: Apache-2.0 */
#include "session_errand.h"

#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slice.h"
#include "local_server.h"
#include "rpc.h"

void session_errand_client(char out[SESSION_CLIENT_BYTES])
{
    snprintf(out, SESSION_CLIENT_BYTES, "weir-chat-%ld", (long)getpid());
}

/* ---- inputs ---- */

static void put_member(struct session_errand *e, const char *key, struct weir_slice text)
{
    weir_json_put_key(&e->input, key);
    weir_json_put_string(&e->input, text);
}

static void put_client(struct session_errand *e)
{
    char client[SESSION_CLIENT_BYTES];
    session_errand_client(client);
    put_member(e, "clientId", weir_slice_of(client));
}

static void put_message(struct session_errand *e, const struct chat *c, struct weir_slice text)
{
    if (c->session[0] != '\0') put_member(e, "sessionId", weir_slice_of(c->session));
    if (e->act == SESSION_SEND) put_client(e);
    put_member(e, "text", text);
}

static void put_answer(struct session_errand *e, const struct session_line *line, const char *ask)
{
    bool is_answer = e->act == SESSION_ANSWER || e->act == SESSION_CANCEL;
    put_member(e, is_answer ? "requestId" : "approvalId", weir_slice_of(ask));
    if (!is_answer) put_client(e);
    if (is_answer) put_member(e, "answer", line->text);
    if (is_answer)
        put_member(e, "source", e->act == SESSION_ANSWER ? SLICE("user") : SLICE("cancel"));
    if (e->act == SESSION_ALLOW) put_member(e, "scope", weir_slice_of(line->scope));
    if (e->act == SESSION_DENY && line->text.len > 0) put_member(e, "reason", line->text);
}

static const char *method_of(enum session_act act)
{
    switch (act) {
    case SESSION_SEND: return "chat/send";
    case SESSION_STEER: return "chat/steer";
    case SESSION_ABORT: return "chat/abort";
    case SESSION_ALLOW: return "tools/approve";
    case SESSION_DENY: return "tools/deny";
    case SESSION_ANSWER:
    case SESSION_CANCEL: return "clarify/respond";
    default: return NULL;
    }
}

/* ---- life ---- */

static struct session_errand *make(const struct chat *c, enum session_act act, const char *method)
{
    struct session_errand *e = method ? mem_zalloc(sizeof *e) : NULL;
    if (!e) return NULL;
    e->act = act;
    e->method = method;
    e->config = *c->config;
    snprintf(e->user, sizeof e->user, "%s", c->user ? c->user : "");
    weir_buf_init(&e->input, RPC_INPUT_BYTES);
    weir_buf_init(&e->text, RPC_INPUT_BYTES);
    weir_buf_init(&e->messages, CONTROL_ANSWER_BYTES);
    weir_json_put_begin_object(&e->input);
    return e;
}

static struct session_errand *made(struct session_errand *e)
{
    weir_json_put_end_object(&e->input);
    if (weir_buf_status(&e->input) == WEIR_OK && weir_buf_status(&e->text) == WEIR_OK) return e;
    session_errand_free(e);
    return NULL;
}

struct session_errand *session_errand_new(const struct chat *c, const struct session_line *line,
                                          const char *ask)
{
    struct session_errand *e = make(c, line->act, method_of(line->act));
    if (!e) return NULL;
    weir_buf_append_slice(&e->text, line->text);
    if (line->act == SESSION_SEND || line->act == SESSION_STEER) put_message(e, c, line->text);
    else if (line->act == SESSION_ABORT) put_member(e, "sessionId", weir_slice_of(c->session));
    else put_answer(e, line, ask);
    return made(e);
}

static struct session_errand *make_for_whole(const struct chat *c, enum session_act act,
                                             const char *method)
{
    struct session_errand *e = make(c, act, method);
    if (!e) return NULL;
    put_member(e, "id", weir_slice_of(c->session));
    return made(e);
}

struct session_errand *session_errand_new_deletion(const struct chat *c)
{
    return make_for_whole(c, SESSION_QUIT, "sessions/delete");
}

struct session_errand *session_errand_new_look(const struct chat *c)
{
    return make_for_whole(c, SESSION_NOTHING, "sessions/get");
}

void session_errand_free(void *errand)
{
    struct session_errand *e = errand;
    if (!e) return;
    weir_buf_fini(&e->messages);
    weir_buf_fini(&e->text);
    weir_buf_fini(&e->input);
    client_config_forget(&e->config);
    mem_free(e);
}

/* ---- the call ---- */

static void copy_id(char out[CHAT_ID_BYTES], const struct weir_json *v, const char *key)
{
    struct weir_slice id = weir_json_text(weir_json_get_str(v, key));
    bool fits = id.len > 0 && id.len < CHAT_ID_BYTES;
    snprintf(out, CHAT_ID_BYTES, "%.*s", fits ? (int)id.len : 0, fits ? id.ptr : "");
    if (!local_server_is_name(out)) out[0] = '\0';
}

void session_errand_run(void *errand)
{
    struct session_errand *e = errand;
    struct rpc_answer answer;
    const struct rpc rpc = {.method = e->method,
                            .user = e->user[0] != '\0' ? e->user : NULL,
                            .input = weir_buf_slice(&e->input)};
    e->is_good = rpc_try(&e->config, &rpc, &answer, e->why) == WEIR_OK;
    e->is_gone = answer.status == 0;
    e->is_taken = weir_json_type_of(weir_json_get_str(answer.output, "ok")) == WEIR_JSON_TRUE;
    copy_id(e->session, answer.output, "sessionId");
    copy_id(e->turn, answer.output, "turnId");
    if (e->is_good && e->act == SESSION_SEND && (e->turn[0] == '\0' || e->session[0] == '\0')) {
        e->is_good = false;
        snprintf(e->why, sizeof e->why, "the server's answer names no turn");
    }
    const struct weir_json *messages = weir_json_get_str(answer.output, "messages");
    if (messages) weir_json_put_value(&e->messages, messages);
    rpc_answer_fini(&answer);
}
