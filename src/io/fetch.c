/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outgoing HTTP on libcurl's multi interface. See fetch.h.
 *
 * One thread owns the multi handle and every transfer; others only put requests into a queue and
 * wake it. The address policy sits where libcurl asks for a socket: it has resolved the name by
 * then and connects to nothing else.
 */
#include "io/fetch.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>

#include <weir/buf.h>

#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slice.h"

enum {
    MAX_RUNNING = 256,
    MAX_WAITING = 4096,
    CONNECT_MS = 5 * 1000,
    WHOLE_MS = 15 * 1000,
    POLL_MS = 1000, /* longest wait without anything to do; a wake-up ends it */
    KEPT_CONNECTIONS = 64,
    FIELD_BYTES = 1024, /* longest field of a request */
    JOB_MAGIC = 0x66657463,
};

/* One request. */
struct job {
    unsigned magic;
    struct list_node node; /* in waiting or running */
    struct fetcher *fetcher;
    uint64_t ticket;
    bool is_aborted;   /* under the lock */
    bool is_forbidden; /* an address was refused */
    bool is_listed;    /* its host is */
    CURL *curl;
    struct curl_slist *fields;
    struct weir_buf answer;
    fetch_done_fn done;
    void *user;
    char url[FETCH_URL_BYTES];
    size_t n_body;
    char body[];
};

struct fetcher {
    struct target_rules rules;
    struct fetcher_options options;
    pthread_t thread;
    CURLM *multi;

    pthread_mutex_t lock; /* over all below */
    struct list waiting;
    struct list running;
    unsigned n_waiting, n_running;
    uint64_t n_tickets;
    bool is_stopping;
    bool has_aborts;
    struct fetcher_stats stats;
};

/* ---- URLs ---- */

static void init_curl(void)
{
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == 0);
}

static void need_curl(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
}

struct url_parts {
    CURLU *url;
    char *scheme;
    char *host; /* numbers in any form as libcurl will read them: 0x7f.1 is 127.0.0.1 */
};

static void url_fini(struct url_parts *parts)
{
    curl_free(parts->scheme);
    curl_free(parts->host);
    curl_url_cleanup(parts->url);
}

static bool has_part(CURLU *url, CURLUPart what)
{
    char *part = NULL;
    bool has = curl_url_get(url, what, &part, 0) == CURLUE_OK;
    curl_free(part);
    return has;
}

/* libcurl is generous about slashes; who reads the URL elsewhere may not be. */
static bool is_written_out(const char *text)
{
    const char *rest = strstr(text, "://");
    return rest && rest[3] != '/' && rest[3] != '\\' && !memchr(text, '/', (size_t)(rest - text));
}

/* False with *why. url_fini() either way. */
static bool url_split(struct url_parts *parts, const char *text, const char **why)
{
    *parts = (struct url_parts){.url = curl_url()};
    *why = "it is not a URL";
    if (!is_written_out(text)) return false;
    if (!parts->url || curl_url_set(parts->url, CURLUPART_URL, text, 0) != CURLUE_OK) return false;
    if (curl_url_get(parts->url, CURLUPART_SCHEME, &parts->scheme, 0) != CURLUE_OK) return false;
    if (curl_url_get(parts->url, CURLUPART_HOST, &parts->host, 0) != CURLUE_OK) return false;
    *why = "only http and https URLs are asked for";
    if (strcmp(parts->scheme, "http") != 0 && strcmp(parts->scheme, "https") != 0) return false;
    *why = "a URL with a name or password in it is not asked for";
    return !has_part(parts->url, CURLUPART_USER) && !has_part(parts->url, CURLUPART_PASSWORD);
}

/* Names that every resolver knows to be this machine. */
static bool is_this_machine(const char *host)
{
    struct weir_slice name = weir_slice_of(host);
    if (name.len > 0 && name.ptr[name.len - 1] == '.') name.len--;
    return (name.len == 9 && slice_ends_with_nocase(name, "localhost")) ||
           slice_ends_with_nocase(name, ".localhost");
}

static enum weir_status judge(const struct target_rules *rules, const struct url_parts *parts,
                              const char **why)
{
    bool is_listed = target_is_listed(rules, parts->host);
    *why = "its host is not in the public network";
    if (target_judge_host(rules, parts->host) == TARGET_FORBIDDEN) return WEIR_FORBIDDEN;
    if (!is_listed && is_this_machine(parts->host)) return WEIR_FORBIDDEN;
    *why = "without https only hosts are asked that the configuration lists";
    if (!is_listed && strcmp(parts->scheme, "http") == 0) return WEIR_FORBIDDEN;
    *why = "";
    return WEIR_OK;
}

/* Control characters and blanks are no part of a URL, and what reads them differs. */
static bool copy_url(struct weir_slice url, char out[FETCH_URL_BYTES])
{
    if (url.len == 0 || url.len >= FETCH_URL_BYTES) return false;
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= 0x20 || url.ptr[i] == 0x7F) return false;
    memcpy(out, url.ptr, url.len);
    out[url.len] = 0;
    return true;
}

enum weir_status fetch_check_url(const struct target_rules *rules, struct weir_slice url,
                                 const char **why)
{
    char text[FETCH_URL_BYTES];
    struct url_parts parts;
    need_curl();
    *why = "it is not a URL, or longer than one may be";
    if (!copy_url(url, text)) return WEIR_INVALID;
    bool is_good = url_split(&parts, text, why);
    enum weir_status st = is_good ? judge(rules, &parts, why) : WEIR_INVALID;
    url_fini(&parts);
    return st;
}

/* ---- what libcurl calls ---- */

static struct job *checked(void *user)
{
    struct job *job = user;
    CHECK(job->magic == JOB_MAGIC);
    return job;
}

static size_t on_answer(char *bytes, size_t one, size_t len, void *user)
{
    struct job *job = checked(user);
    (void)one;
    size_t room = job->answer.max - job->answer.len;
    weir_buf_append(&job->answer, bytes, len < room ? len : room);
    /* Less than all ends the transfer. */
    return len <= room && weir_buf_status(&job->answer) == WEIR_OK ? len : 0;
}

/* The one place where a connection begins. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct job *job = checked(user);
    if (purpose != CURLSOCKTYPE_IPCXN) return CURL_SOCKET_BAD;
    if (!job->is_listed && !target_allows(&job->fetcher->rules, &address->addr)) {
        job->is_forbidden = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* ---- requests ---- */

static void job_free(struct job *job)
{
    if (job->curl) curl_easy_cleanup(job->curl);
    curl_slist_free_all(job->fields);
    weir_buf_fini(&job->answer);
    job->magic = 0;
    mem_free(job);
}

static bool add_field(struct job *job, const char *text)
{
    struct curl_slist *longer = curl_slist_append(job->fields, text);
    if (longer) job->fields = longer;
    return longer != NULL;
}

static bool add_fields(struct job *job, const struct fetch_post *post)
{
    char line[FIELD_BYTES];
    /* No 100 Continue, and no media type but the caller's. */
    bool is_done =
        add_field(job, "Expect:") && add_field(job, "Accept: application/json, */*;q=0.1");
    for (unsigned i = 0; is_done && i < post->n_fields; i++) {
        const struct fetch_field *field = &post->fields[i];
        int len = snprintf(line, sizeof line, "%s: %.*s", field->name, (int)field->value.len,
                           field->value.ptr);
        is_done = len > 0 && (size_t)len < sizeof line && add_field(job, line);
    }
    return is_done;
}

static bool set_up(struct job *job)
{
    CURL *c = job->curl = curl_easy_init();
    const struct fetcher_options *o = &job->fetcher->options;
    if (!c) return false;
    return curl_easy_setopt(c, CURLOPT_URL, job->url) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POSTFIELDS, &job->body[0]) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)job->n_body) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HTTPHEADER, job->fields) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_USERAGENT, "weir") == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_socket) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, job) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_answer) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_WRITEDATA, job) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_PRIVATE, job) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_ms) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)o->whole_ms) == CURLE_OK;
}

/* What holds for every request; libcurl's own defaults ask the environment. */
static bool set_policy(CURL *c)
{
    return curl_easy_setopt(c, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           /* So that ending does not wait for a resolver. */
           curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK;
}

static void tell(struct fetcher *f, struct job *job, const struct fetch_result *result)
{
    pthread_mutex_lock(&f->lock);
    f->stats.n_done++;
    f->stats.n_forbidden += result->status == WEIR_FORBIDDEN;
    f->stats.n_failed += result->status != WEIR_OK;
    pthread_mutex_unlock(&f->lock);
    job->done(job->user, result);
    job_free(job);
}

static void fail(struct fetcher *f, struct job *job, enum weir_status st, const char *why)
{
    tell(f, job, &(struct fetch_result){.status = st, .why = why});
}

/* It has left the queue. The rules are asked again: they hold for whatever gets here. */
static void start(struct fetcher *f, struct job *job)
{
    struct url_parts parts;
    const char *why;
    enum weir_status st = url_split(&parts, job->url, &why) ? WEIR_OK : WEIR_INVALID;
    if (st == WEIR_OK) st = judge(&f->rules, &parts, &why);
    if (st == WEIR_OK) job->is_listed = target_is_listed(&f->rules, parts.host);
    url_fini(&parts);
    if (st != WEIR_OK) {
        fail(f, job, st, why);
        return;
    }
    if (!set_up(job) || !set_policy(job->curl) ||
        curl_multi_add_handle(f->multi, job->curl) != CURLM_OK) {
        fail(f, job, WEIR_NOMEM, weir_status_text(WEIR_NOMEM));
        return;
    }
    pthread_mutex_lock(&f->lock);
    list_push_back(&f->running, &job->node);
    f->n_running++;
    pthread_mutex_unlock(&f->lock);
}

static void leave_running(struct fetcher *f, struct job *job)
{
    curl_multi_remove_handle(f->multi, job->curl);
    pthread_mutex_lock(&f->lock);
    list_remove(&job->node);
    f->n_running--;
    pthread_mutex_unlock(&f->lock);
}

static enum weir_status status_of(const struct job *job, CURLcode code)
{
    if (code == CURLE_OK) return WEIR_OK;
    if (code == CURLE_WRITE_ERROR && job->answer.len == job->answer.max) return WEIR_TOO_LARGE;
    if (code == CURLE_WRITE_ERROR || code == CURLE_OUT_OF_MEMORY) return WEIR_NOMEM;
    if (code == CURLE_OPERATION_TIMEDOUT) return WEIR_TIMEOUT;
    return job->is_forbidden ? WEIR_FORBIDDEN : WEIR_IO;
}

static void finish(struct fetcher *f, struct job *job, CURLcode code)
{
    long http_status = 0;
    curl_easy_getinfo(job->curl, CURLINFO_RESPONSE_CODE, &http_status);
    leave_running(f, job);
    struct fetch_result result = {
        .status = status_of(job, code),
        .http_status = (int)http_status,
        .body = weir_buf_slice(&job->answer),
        .why = curl_easy_strerror(code),
    };
    if (result.status == WEIR_FORBIDDEN) result.why = "its address may not be connected to";
    tell(f, job, &result);
}

/* ---- the thread ---- */

static struct job *job_of(struct list_node *node)
{
    return node ? CONTAINER_OF(node, struct job, node) : NULL;
}

/* The next one whose turn it is; NULL when there is none. */
static struct job *take_waiting(struct fetcher *f)
{
    struct job *job = NULL;
    pthread_mutex_lock(&f->lock);
    if (f->n_running < f->options.max_running || f->is_stopping)
        job = job_of(list_pop_front(&f->waiting));
    if (job) f->n_waiting--;
    pthread_mutex_unlock(&f->lock);
    return job;
}

/* One that runs and shall not; NULL when there is none. */
static struct job *find_aborted(struct fetcher *f)
{
    struct job *found = NULL;
    pthread_mutex_lock(&f->lock);
    bool is_worth_it = f->has_aborts || f->is_stopping;
    for (struct list_node *n = list_first(&f->running); is_worth_it && n && !found;
         n = list_next(&f->running, n))
        if (job_of(n)->is_aborted || f->is_stopping) found = job_of(n);
    if (!found) f->has_aborts = false;
    pthread_mutex_unlock(&f->lock);
    return found;
}

static bool is_stopping(struct fetcher *f)
{
    pthread_mutex_lock(&f->lock);
    bool stops = f->is_stopping;
    pthread_mutex_unlock(&f->lock);
    return stops;
}

static void end_aborted(struct fetcher *f)
{
    struct job *job;
    while ((job = find_aborted(f))) {
        leave_running(f, job);
        fail(f, job, WEIR_SHUTDOWN, "it was aborted");
    }
}

static void start_waiting(struct fetcher *f)
{
    struct job *job;
    while ((job = take_waiting(f))) {
        if (job->is_aborted || is_stopping(f)) fail(f, job, WEIR_SHUTDOWN, "it was aborted");
        else start(f, job);
    }
}

/* Whether there were any: then others may begin in their place. */
static bool end_finished(struct fetcher *f)
{
    CURLMsg *message;
    int n_left;
    bool has_ended = false;
    while ((message = curl_multi_info_read(f->multi, &n_left))) {
        char *user = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE) continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
        finish(f, checked((void *)user), code);
        has_ended = true;
    }
    return has_ended;
}

static void *run(void *user)
{
    struct fetcher *f = user;
    int n_running;
    while (!is_stopping(f)) {
        end_aborted(f);
        start_waiting(f);
        CHECK(curl_multi_perform(f->multi, &n_running) == CURLM_OK);
        if (end_finished(f)) continue;
        /* What was posted meanwhile has woken it. */
        CHECK(curl_multi_poll(f->multi, NULL, 0, POLL_MS, NULL) == CURLM_OK);
    }
    end_aborted(f);
    start_waiting(f);
    return NULL;
}

/* ---- life ---- */

static unsigned or_default(unsigned value, unsigned otherwise)
{
    return value > 0 ? value : otherwise;
}

enum weir_status fetcher_new(struct fetcher **out, const struct target_rules *rules,
                             const struct fetcher_options *options)
{
    need_curl();
    struct fetcher *f = mem_zalloc(sizeof *f);
    if (!f) return WEIR_NOMEM;
    f->rules = *rules;
    f->options = (struct fetcher_options){
        .max_running = or_default(options->max_running, MAX_RUNNING),
        .max_waiting = or_default(options->max_waiting, MAX_WAITING),
        .connect_ms = or_default(options->connect_ms, CONNECT_MS),
        .whole_ms = or_default(options->whole_ms, WHOLE_MS),
    };
    list_init(&f->waiting);
    list_init(&f->running);
    pthread_mutex_init(&f->lock, NULL);
    f->multi = curl_multi_init();
    enum weir_status st = f->multi ? WEIR_OK : WEIR_NOMEM;
    if (st == WEIR_OK) curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS);
    if (st == WEIR_OK && pthread_create(&f->thread, NULL, run, f) != 0) st = WEIR_IO;
    if (st == WEIR_OK) {
        *out = f;
        return st;
    }
    if (f->multi) curl_multi_cleanup(f->multi);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
    return st;
}

void fetcher_free(struct fetcher *f)
{
    if (!f) return;
    pthread_mutex_lock(&f->lock);
    f->is_stopping = true;
    pthread_mutex_unlock(&f->lock);
    curl_multi_wakeup(f->multi);
    pthread_join(f->thread, NULL);
    CHECK(list_is_empty(&f->waiting) && list_is_empty(&f->running));
    curl_multi_cleanup(f->multi);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
}

/* ---- asking ---- */

static struct job *job_new(struct fetcher *f, const struct fetch_post *post)
{
    struct job *job = mem_zalloc(sizeof *job + post->body.len + 1);
    if (!job) return NULL;
    job->magic = JOB_MAGIC;
    job->fetcher = f;
    job->done = post->done;
    job->user = post->user;
    job->n_body = post->body.len;
    if (post->body.len > 0) memcpy(job->body, post->body.ptr, post->body.len);
    weir_buf_init(&job->answer, FETCH_ANSWER_BYTES);
    if (add_fields(job, post)) return job;
    job_free(job);
    return NULL;
}

static enum weir_status enqueue(struct fetcher *f, struct job *job, uint64_t *ticket)
{
    enum weir_status st = WEIR_OK;
    pthread_mutex_lock(&f->lock);
    if (f->is_stopping) st = WEIR_SHUTDOWN;
    else if (f->n_waiting >= f->options.max_waiting) st = WEIR_BUSY;
    if (st == WEIR_OK) {
        job->ticket = ++f->n_tickets;
        if (ticket) *ticket = job->ticket;
        list_push_back(&f->waiting, &job->node);
        f->n_waiting++;
    }
    f->stats.n_refused += st == WEIR_BUSY;
    pthread_mutex_unlock(&f->lock);
    return st;
}

enum weir_status fetcher_post(struct fetcher *f, const struct fetch_post *post, uint64_t *ticket)
{
    CHECK(post->n_fields <= FETCH_MAX_FIELDS);
    struct job *job = job_new(f, post);
    if (!job) return WEIR_NOMEM;
    enum weir_status st = copy_url(post->url, job->url) ? enqueue(f, job, ticket) : WEIR_INVALID;
    if (st == WEIR_OK) curl_multi_wakeup(f->multi);
    else job_free(job);
    return st;
}

static bool mark(struct list *list, uint64_t ticket)
{
    for (struct list_node *n = list_first(list); n; n = list_next(list, n)) {
        if (job_of(n)->ticket != ticket) continue;
        job_of(n)->is_aborted = true;
        return true;
    }
    return false;
}

void fetcher_abort(struct fetcher *f, uint64_t ticket)
{
    pthread_mutex_lock(&f->lock);
    bool is_found = mark(&f->running, ticket) || mark(&f->waiting, ticket);
    f->has_aborts |= is_found;
    pthread_mutex_unlock(&f->lock);
    if (is_found) curl_multi_wakeup(f->multi);
}

void fetcher_stats(struct fetcher *f, struct fetcher_stats *out)
{
    pthread_mutex_lock(&f->lock);
    *out = f->stats;
    out->n_running = f->n_running;
    out->n_waiting = f->n_waiting;
    pthread_mutex_unlock(&f->lock);
}
