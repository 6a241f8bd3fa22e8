/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc.h"

#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "local_server.h"
#include "output.h"

enum { NAMED_BYTES = 128 };

/* The output of an answer, in its own memory. */
static enum weir_status take_output(struct rpc_answer *a, struct weir_slice body)
{
    const struct weir_json *whole = NULL;
    a->doc = weir_json_doc_new(0);
    enum weir_status st = a->doc ? weir_json_parse(a->doc, body, &whole, NULL) : WEIR_NOMEM;
    a->output = weir_json_get_str(whole, "json");
    return st == WEIR_OK && !a->output ? WEIR_BAD_FIELD : st;
}

/* A server that has never heard of these calls says so in another form. */
static bool is_unknown(const struct control_answer *answer)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v = NULL;
    bool is_json = doc && weir_json_parse(doc, weir_buf_slice(&answer->body), &v, NULL) == WEIR_OK;
    bool is_ours = is_json && weir_json_get_str(v, "json") != NULL;
    weir_json_doc_free(doc);
    return answer->status == 404 && !is_ours;
}

/* Of several that were asked for, the server does not say which is not there. */
static void name_what_is_missing(const struct rpc *r, char why[REMOTE_WHY_BYTES])
{
    static const struct {
        const char *area, *member, *kind;
    } rows[] = {
        {"tools/", "approvalId", "approval"}, {"clarify/", "requestId", "question"},
        {"sessions/", "id", "session"},       {"cron/", "id", "scheduled prompt"},
        {"skills/", "id", "skill"},           {"cron/", "sessionId", "session"},
        {"chat/", "sessionId", "session"},
    };
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *input = NULL;
    bool is_json = doc && weir_json_parse(doc, r->input, &input, NULL) == WEIR_OK;
    for (size_t i = 0; is_json && i < sizeof rows / sizeof *rows; i++) {
        char id[NAMED_BYTES];
        struct weir_slice text = weir_json_text(weir_json_get_str(input, rows[i].member));
        if (strncmp(r->method, rows[i].area, strlen(rows[i].area)) != 0) continue;
        if (text.len == 0 || text.len >= sizeof id) continue;
        snprintf(id, sizeof id, "%.*s", (int)text.len, text.ptr);
        if (!local_server_is_name(id)) continue;
        snprintf(why, REMOTE_WHY_BYTES, "there is no %s %s", rows[i].kind, id);
        break;
    }
    weir_json_doc_free(doc);
}

static enum weir_status refuse(const struct client_config *c, const struct rpc *r,
                               struct control_answer *answer, char why[REMOTE_WHY_BYTES])
{
    if (is_unknown(answer)) {
        snprintf(why, REMOTE_WHY_BYTES, "%s: the server has no sessions; is it an older one?",
                 client_config_server(c));
        return WEIR_BAD_REQUEST;
    }
    remote_explain(c, answer, why);
    if (answer->status == 404) name_what_is_missing(r, why);
    return WEIR_BAD_REQUEST;
}

static enum weir_status send_call(const struct client_config *c, const struct rpc *r,
                                  struct control_answer *answer, char why[REMOTE_WHY_BYTES])
{
    char path[REMOTE_PATH_BYTES];
    char address[REMOTE_PATH_BYTES];
    struct weir_buf body;
    weir_buf_init(&body, RPC_INPUT_BYTES);
    snprintf(path, sizeof path, "/rpc/%s", r->method);
    remote_path(address, c, path, r->user);
    weir_buf_append_str(&body, "{\"json\":");
    if (r->input.len > 0) weir_buf_append_slice(&body, r->input);
    else weir_buf_append_str(&body, "{}");
    weir_buf_append_char(&body, '}');
    const struct remote_request request = {
        .method = "POST", .path = address, .body = weir_buf_slice(&body)};
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) st = remote_request(c, &request, answer, why);
    else snprintf(why, REMOTE_WHY_BYTES, "it is longer than a server takes");
    weir_buf_fini(&body);
    return st;
}

enum weir_status rpc_try(const struct client_config *c, const struct rpc *r,
                         struct rpc_answer *answer, char why[REMOTE_WHY_BYTES])
{
    struct control_answer raw = {0};
    *answer = (struct rpc_answer){.status = 0};
    enum weir_status st = send_call(c, r, &raw, why);
    answer->status = raw.status;
    if (st == WEIR_OK && raw.status != 200) {
        st = refuse(c, r, &raw, why);
    } else if (st == WEIR_OK) {
        st = take_output(answer, weir_buf_slice(&raw.body));
        if (st != WEIR_OK) snprintf(why, REMOTE_WHY_BYTES, "the server's answer cannot be read");
    }
    weir_buf_fini(&raw.body);
    return st;
}

bool rpc_call(const struct client_config *c, const struct rpc *r, struct rpc_answer *answer)
{
    char why[REMOTE_WHY_BYTES];
    if (rpc_try(c, r, answer, why) == WEIR_OK) return true;
    fprintf(stderr, "weir: %s\n", why);
    return false;
}

int rpc_call_each(const struct client_config *c, const char *method, const struct remote_line *line)
{
    int n = 0;
    for (int i = 0; i < line->n_words; i++) {
        char input[REMOTE_PATH_BYTES];
        struct rpc_answer answer;
        /* An id has nothing in it that JSON would write otherwise. */
        snprintf(input, sizeof input, "{\"id\":\"%s\"}", line->words[i]);
        const struct rpc call = {
            .method = method, .user = line->user, .input = weir_slice_of(input)};
        n += rpc_call(c, &call, &answer) ? 1 : 0;
        rpc_answer_fini(&answer);
    }
    return n;
}

int rpc_print_list(const struct client_config *c, const struct rpc *r, const char *member,
                   person_text_fn text)
{
    struct rpc_answer answer;
    int exit_status = EXIT_FAILED;
    if (rpc_call(c, r, &answer))
        exit_status = person_print_list(weir_json_get_str(answer.output, member), text);
    rpc_answer_fini(&answer);
    return exit_status;
}

void rpc_answer_fini(struct rpc_answer *answer)
{
    weir_json_doc_free(answer->doc);
    *answer = (struct rpc_answer){.status = 0};
}

int rpc_print(const struct weir_json *v)
{
    struct weir_buf line;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_value(&line, v);
    enum weir_status st = weir_buf_status(&line);
    if (st == WEIR_OK) output_line(&line);
    else fprintf(stderr, "weir: %s\n", weir_status_text(st));
    weir_buf_fini(&line);
    return st == WEIR_OK ? EXIT_DONE : EXIT_FAILED;
}
