/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weir/json.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/fetch.h"
#include "local_server.h"
#include "term_text.h"

enum { SHOWN_BYTES = 300 }; /* of an answer that is no error of ours: a proxy's page */

/* ---- what went wrong, for people ---- */

static const char *advice_on_end(enum fetch_end end)
{
    switch (end) {
    case FETCH_NO_CONNECTION:
    case FETCH_SLOW_CONNECT: return ". Is the server running? \"weir serve\" starts one";
    case FETCH_NOT_TRUSTED: return ". Name whom to trust with --ca-file, if it is your own";
    case FETCH_NO_NAME: return ". Is its name written right, and is there a network?";
    case FETCH_NOT_HTTP:
    case FETCH_NO_TLS: return ". Is it http and not https, or the port of something else?";
    default: return "";
    }
}

static void explain_end(const struct client_config *c, const struct fetch_result *result,
                        char why[REMOTE_WHY_BYTES])
{
    const char *advice = advice_on_end(result->end);
    snprintf(why, REMOTE_WHY_BYTES, "%s: %s%s; \"weir doctor\" looks closer", c->url, result->why,
             advice);
}

static const char *advice_on_key(const struct client_config *c)
{
    if (c->key[0] != 0) return "; the key is that of ";
    if (c->has_other_key) return "; the key of the configuration file is for another server";
    return "; no key was sent: set $WEIR_KEY, or put it into ~/.config/weir/config";
}

void remote_explain(const struct client_config *c, struct control_answer *answer,
                    char why[REMOTE_WHY_BYTES])
{
    struct weir_buf text;
    struct weir_slice said = control_error(answer);
    weir_buf_init(&text, REMOTE_WHY_BYTES - 1);
    if (!c->is_local) weir_buf_printf(&text, "%s: ", c->url);
    bool is_ours = said.len < answer->body.len;
    if (!is_ours) weir_buf_printf(&text, "HTTP %d: ", answer->status);
    if (said.len > SHOWN_BYTES) said.len = SHOWN_BYTES;
    term_clean_label(&text, said);
    if (answer->status == 401 && !c->is_local) {
        weir_buf_append_str(&text, advice_on_key(c));
        if (c->key[0] != 0) weir_buf_append_str(&text, c->key_place.text);
    }
    if (answer->status >= 300 && answer->status < 400)
        weir_buf_append_str(&text, "; it leads elsewhere: name that URL (https, and not http?)");
    if (answer->status == 403 && is_ours) weir_buf_append_str(&text, " (see \"weir whoami\")");
    snprintf(why, REMOTE_WHY_BYTES, "%.*s", (int)text.len, text.len > 0 ? text.ptr : "no answer");
    weir_buf_fini(&text);
}

/* ---- over the network ---- */

struct call {
    struct control_answer *answer;
    const struct client_config *config;
    char *why;
    enum weir_status status;
    bool is_over;
};

static void take_result(void *user, const struct fetch_result *result)
{
    struct call *call = user;
    call->is_over = true;
    call->status = result->status;
    if (result->status != WEIR_OK) {
        explain_end(call->config, result, call->why);
        return;
    }
    call->answer->status = result->http_status;
    weir_buf_append_slice(&call->answer->body, result->body);
    call->status = weir_buf_status(&call->answer->body);
}

static enum fetch_method method_of(const char *name)
{
    if (strcmp(name, "GET") == 0) return FETCH_GET;
    return strcmp(name, "DELETE") == 0 ? FETCH_DELETE : FETCH_POST;
}

static void fill(struct fetch_request *out, const struct client_config *c, struct weir_slice url,
                 struct weir_slice bearer)
{
    out->url = url;
    struct fetch_limits *limits = &out->limits;
    if (limits->connect_ms == 0) limits->connect_ms = REMOTE_CONNECT_MS;
    if (limits->first_byte_ms == 0)
        limits->first_byte_ms = out->method == FETCH_GET ? REMOTE_GET_MS : REMOTE_FIRST_BYTE_MS;
    if (limits->idle_ms == 0) limits->idle_ms = REMOTE_IDLE_MS;
    if (limits->max_body == 0) limits->max_body = CONTROL_ANSWER_BYTES;
    out->ca_file = c->ca_file[0] != 0 ? c->ca_file : NULL;
    if (bearer.len > 0)
        out->fields[out->n_fields++] = (struct fetch_field){"Authorization", bearer};
    if (out->body.len > 0)
        out->fields[out->n_fields++] =
            (struct fetch_field){"Content-Type", SLICE("application/json")};
}

enum weir_status remote_send(struct fetcher *f, const struct client_config *c, const char *path,
                             struct fetch_request *request)
{
    struct weir_buf url;
    struct weir_buf bearer;
    weir_buf_init(&url, FETCH_URL_BYTES);
    weir_buf_init(&bearer, CLIENT_KEY_BYTES + 16);
    weir_buf_printf(&url, "%s%s", c->url, path);
    if (c->key[0] != 0) weir_buf_printf(&bearer, "Bearer %s", c->key);
    enum weir_status st = weir_buf_status(&url);
    if (st == WEIR_OK) st = weir_buf_status(&bearer);
    if (st == WEIR_OK) {
        fill(request, c, weir_buf_slice(&url), weir_buf_slice(&bearer));
        st = fetcher_send(f, request, NULL);
    }
    if (bearer.ptr) explicit_bzero(bearer.ptr, bearer.cap);
    weir_buf_fini(&bearer);
    weir_buf_fini(&url);
    return st;
}

static void wait_for(struct fetcher *f, const struct call *call)
{
    uint64_t due_ns = clock_mono_ns(&clock_system) + (uint64_t)REMOTE_WAITING_MS * 1000000;
    bool is_told = !call->config->tells_waiting || isatty(STDERR_FILENO) != 1;
    while (!call->is_over) {
        struct pollfd fd = {.fd = fetcher_fd(f), .events = POLLIN};
        uint64_t now_ns = clock_mono_ns(&clock_system);
        int ms = fetcher_wait_ms(f);
        if (!is_told && now_ns >= due_ns) {
            fprintf(stderr, "weir: waiting for %s\n", call->config->url);
            is_told = true;
        }
        int left_ms = is_told ? -1 : (int)((due_ns - now_ns) / 1000000) + 1;
        if (left_ms >= 0 && (ms < 0 || ms > left_ms)) ms = left_ms;
        (void)poll(&fd, 1, ms);
        fetcher_round(f);
    }
}

static enum weir_status request_remote(const struct client_config *c,
                                       const struct remote_request *request,
                                       struct control_answer *answer, char why[REMOTE_WHY_BYTES])
{
    struct fetcher *f;
    struct call call = {.answer = answer, .config = c, .why = why};
    struct fetch_request out = {.method = method_of(request->method),
                                .body = request->body,
                                .limits = {.first_byte_ms = request->first_byte_ms},
                                .done = take_result,
                                .user = &call};
    const struct fetcher_options options = {.has_no_thread = true};
    enum weir_status st = fetcher_new(&f, NULL, &options);
    if (st == WEIR_OK) {
        st = remote_send(f, c, request->path, &out);
        if (st == WEIR_OK) wait_for(f, &call);
        fetcher_free(f);
    }
    if (st != WEIR_OK) snprintf(why, REMOTE_WHY_BYTES, "%s: %s", c->url, weir_status_text(st));
    return st == WEIR_OK ? call.status : st;
}

/* ---- either way ---- */

static enum weir_status request_local(const struct client_config *c,
                                      const struct remote_request *request,
                                      struct control_answer *answer, char why[REMOTE_WHY_BYTES])
{
    enum weir_status st =
        control_call(c->folder, request->method, request->path, request->body, answer);
    if (st == WEIR_NOT_FOUND && local_server_again(c->folder)) {
        weir_buf_fini(&answer->body);
        st = control_call(c->folder, request->method, request->path, request->body, answer);
    }
    if (st == WEIR_NOT_FOUND)
        snprintf(why, REMOTE_WHY_BYTES, "no server runs on %s; \"weir serve\" starts one",
                 c->folder);
    else if (st != WEIR_OK)
        snprintf(why, REMOTE_WHY_BYTES, "the server on %s does not answer: %s", c->folder,
                 strerror(errno));
    return st;
}

enum weir_status remote_request(const struct client_config *c, const struct remote_request *request,
                                struct control_answer *answer, char why[REMOTE_WHY_BYTES])
{
    why[0] = 0;
    if (c->is_local) return request_local(c, request, answer, why);
    answer->status = 0;
    weir_buf_init(&answer->body, CONTROL_ANSWER_BYTES);
    return request_remote(c, request, answer, why);
}

bool remote_call(const struct client_config *c, const struct remote_request *request, int wanted,
                 struct control_answer *answer)
{
    char why[REMOTE_WHY_BYTES];
    enum weir_status st = remote_request(c, request, answer, why);
    if (st == WEIR_OK && answer->status == wanted) return true;
    if (st == WEIR_OK) remote_explain(c, answer, why);
    fprintf(stderr, "weir: %s\n", why);
    weir_buf_fini(&answer->body);
    return false;
}

int remote_refused(struct control_answer *answer)
{
    struct weir_buf text;
    weir_buf_init(&text, REMOTE_WHY_BYTES);
    term_clean_label(&text, control_error(answer));
    fprintf(stderr, "weir: %.*s\n", (int)text.len, text.len > 0 ? text.ptr : "no answer");
    weir_buf_fini(&text);
    return EXIT_FAILED;
}

int remote_data_run(const struct client_config *c, const struct data_request *r)
{
    char why[REMOTE_WHY_BYTES];
    struct control_answer answer;
    const struct remote_request request = {.method = r->method, .path = r->path, .body = r->body};
    if (c->is_local) return data_folder_run(c->folder, r);
    int exit_status = EXIT_FAILED;
    enum weir_status st = remote_request(c, &request, &answer, why);
    bool is_refused = st == WEIR_OK && (answer.status == 401 || answer.status == 403);
    if (is_refused) remote_explain(c, &answer, why);
    if (st != WEIR_OK || is_refused) fprintf(stderr, "weir: %s\n", why);
    else exit_status = r->answered(&answer, r->user);
    weir_buf_fini(&answer.body);
    return exit_status;
}

bool remote_get(const struct client_config *c, const char *path, struct weir_buf *json)
{
    struct control_answer answer;
    if (!remote_call(c, &(struct remote_request){.method = "GET", .path = path}, 200, &answer))
        return false;
    *json = answer.body;
    return true;
}

static void address_of(char out[REMOTE_PATH_BYTES], const struct client_config *c,
                       const struct remote_thing *thing)
{
    char path[REMOTE_PATH_BYTES / 2]; /* the rest is for the user */
    snprintf(path, sizeof path, "%s/%s", thing->list, thing->id);
    remote_path(out, c, path, thing->user);
}

bool remote_thing_get(const struct client_config *c, const struct remote_thing *thing,
                      struct weir_buf *json)
{
    char address[REMOTE_PATH_BYTES];
    address_of(address, c, thing);
    return remote_get(c, address, json);
}

bool remote_thing_remove(const struct client_config *c, const struct remote_thing *thing)
{
    char address[REMOTE_PATH_BYTES];
    struct control_answer answer;
    address_of(address, c, thing);
    const struct remote_request request = {.method = "DELETE", .path = address};
    if (!remote_call(c, &request, 204, &answer)) return false;
    weir_buf_fini(&answer.body);
    return true;
}

/* ---- posts that nobody waits for ---- */

struct remote_post {
    struct fetcher *fetcher; /* NULL: over the control socket */
    int fd;                  /* can be read when there is an answer, or will be none */
    uint64_t begun_ns;
};

static void take_end(void *user, const struct fetch_result *result)
{
    const struct remote_post *post = user;
    static const uint64_t one = 1;
    (void)result;
    ssize_t n = write(post->fd, &one, sizeof one);
    (void)n;
}

static bool send_post(struct remote_post *post, const struct client_config *c, const char *path)
{
    struct fetch_request request = {.method = FETCH_POST, .done = take_end, .user = post};
    const struct fetcher_options options = {.max_running = 1};
    post->fd = c->is_local ? control_post(c->folder, path) : eventfd(0, EFD_CLOEXEC);
    if (post->fd < 0 || c->is_local) return post->fd >= 0;
    return fetcher_new(&post->fetcher, NULL, &options) == WEIR_OK &&
           remote_send(post->fetcher, c, path, &request) == WEIR_OK;
}

static void free_post(struct remote_post *post)
{
    fetcher_free(post->fetcher);
    if (post->fd >= 0) close(post->fd);
    mem_free(post);
}

struct remote_post *remote_post_begin(const struct client_config *c, const char *path)
{
    struct remote_post *post = mem_zalloc(sizeof *post);
    if (!post) return NULL;
    post->begun_ns = clock_mono_ns(&clock_system);
    if (send_post(post, c, path)) return post;
    free_post(post);
    return NULL;
}

/* For its answer, up to so many milliseconds, and no longer than it has. */
static bool wait_for_post(const struct remote_post *post, int most_ms)
{
    struct pollfd fd = {.fd = post->fd, .events = POLLIN};
    uint64_t ms = (clock_mono_ns(&clock_system) - post->begun_ns) / 1000000;
    int left_ms = ms < REMOTE_POST_MS ? REMOTE_POST_MS - (int)ms : 0;
    return poll(&fd, 1, left_ms < most_ms ? left_ms : most_ms) == 1 || left_ms == 0;
}

bool remote_post_is_over(const struct remote_post *post)
{
    return !post || wait_for_post(post, 0);
}

void remote_post_end(struct remote_post *post)
{
    if (!post) return;
    (void)wait_for_post(post, REMOTE_POST_MS);
    free_post(post);
}

/* ---- commands ---- */

struct local_use {
    const struct client_config *config;
    remote_fn use;
    void *user;
};

static int use_locally(const char *folder, void *user)
{
    const struct local_use *u = user;
    (void)folder;
    return u->use(u->config, u->user);
}

int remote_run(const struct client_config *c, remote_fn use, void *user)
{
    struct local_use u = {.config = c, .use = use, .user = user};
    if (!c->is_local) return use(c, user);
    if (!data_folder_is_there(c->folder)) return EXIT_FAILED;
    return local_server_run(c->folder, use_locally, &u);
}

void remote_path(char out[REMOTE_PATH_BYTES], const struct client_config *c, const char *path,
                 const char *user)
{
    const char *sign = strchr(path, '?') ? "&" : "?";
    if (c->is_local)
        snprintf(out, REMOTE_PATH_BYTES, "%s%suser=%s", path, sign, user ? user : "me");
    else snprintf(out, REMOTE_PATH_BYTES, "%s", path);
}

bool remote_takes_user(const struct client_config *c, const char *user)
{
    if (c->is_local || !user) return true;
    fprintf(stderr,
            "weir: --user is for a folder of this machine; on %s the key says whose it is\n",
            c->url);
    return false;
}

int remote_parse(const struct command *command, int argc, char **argv,
                 const struct option_row *rows, struct remote_line *line)
{
    char **words;
    int n_words;
    int exit_status = options_parse(command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (line->user && !local_server_is_name(line->user))
        return usage_error(command, "--user takes letters, digits, . _ - @");
    line->act = n_words > 0 ? words[0] : "list";
    line->words = n_words > 0 ? words + 1 : words;
    line->n_words = n_words > 0 ? n_words - 1 : 0;
    return EXIT_DONE;
}

bool remote_are_ids(const struct remote_line *line)
{
    for (int i = 0; i < line->n_words; i++)
        if (!local_server_is_name(line->words[i])) return false;
    return line->n_words > 0;
}

int remote_command(const struct client_flags *flags, const char *whose, remote_fn use, void *user)
{
    struct client_config config;
    int exit_status = client_config_load(flags, &config);
    if (exit_status == EXIT_DONE && !remote_takes_user(&config, whose)) exit_status = EXIT_USAGE;
    if (exit_status == EXIT_DONE) exit_status = remote_run(&config, use, user);
    client_config_forget(&config);
    return exit_status;
}
