/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange of the tests' own in place of the server's, over a real store: a request is a
 * struct that the test fills in, and has the answer afterwards. It defines the functions of
 * exchange.h and what resources ask of server.h, so one file of a program includes it.
 */
#pragma once

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/loop.h"
#include "serve/admit.h"
#include "serve/resource.h"
#include "t.h"

enum { MAX_QUERY = 4, FIELDS_BYTES = 1000, ANSWER_MAX_BYTES = 64 << 10 };

struct exchange {
    struct http_head head;
    struct weir_slice body;
    struct weir_slice name;
    struct {
        const char *name;
        struct weir_slice value;
    } query[MAX_QUERY];
    void *memory[8];
    unsigned n_memory;
    int status; /* of the answer; 0: none yet */
    unsigned n_answers;
    bool is_local;
    char text[ANSWER_MAX_BYTES]; /* the answer's body, or the name of the error and its message */
    char fields[FIELDS_BYTES];
    struct watch_options how; /* when it is watched */
    void *data;
    char log[256];
};

/* What all requests share. */
static struct store *store;
static struct keys *keys;
static struct links *links;
static bool is_stopping;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct post *posted;

void exchange_set_data(struct exchange *ex, void *data)
{
    ex->data = data;
}

void *exchange_data(const struct exchange *ex)
{
    return ex->data;
}

int64_t exchange_wall_ms(struct exchange *ex)
{
    (void)ex;
    return clock_wall_ms(&clock_system);
}

const struct clock *exchange_clock(struct exchange *ex)
{
    (void)ex;
    return &clock_system;
}

bool exchange_is_tls(const struct exchange *ex)
{
    (void)ex;
    return false;
}

bool exchange_is_public(const struct exchange *ex)
{
    (void)ex;
    return true;
}

unsigned exchange_query_count(struct exchange *ex, const char *name)
{
    struct weir_slice value;
    return exchange_query(ex, name, &value);
}

void exchange_commit_kept(struct exchange *ex, struct commit *c, committed_fn then)
{
    (void)ex;
    (void)c;
    (void)then;
    abort(); /* not needed here */
}

void exchange_stream(struct exchange *ex, const struct stream_head *head)
{
    (void)ex;
    (void)head;
    abort(); /* not needed here */
}

struct server *exchange_server(struct exchange *ex)
{
    (void)ex;
    return NULL;
}

struct worker *exchange_worker(struct exchange *ex)
{
    (void)ex;
    return NULL;
}

struct store *server_store(struct server *s)
{
    (void)s;
    return store;
}

struct keys *server_keys(struct server *s)
{
    (void)s;
    return keys;
}

struct hooks *server_hooks(struct server *s)
{
    (void)s;
    return NULL;
}

struct models *server_models(struct server *s)
{
    (void)s;
    return NULL;
}

struct chats *server_chats(struct server *s)
{
    (void)s;
    return NULL;
}

void exchange_blame(struct exchange *ex, struct weir_slice field)
{
    (void)ex;
    (void)field;
}

struct cookies *server_cookies(struct server *s)
{
    (void)s;
    return NULL;
}

/* Logging in and out is seen from outside: tests/serve/sessions_http.py. */
bool admit_find_key(const struct http_head *head, struct weir_slice *key)
{
    (void)head;
    (void)key;
    return false;
}

bool admit_find_cookie(struct exchange *ex, const struct http_head *head, struct weir_slice *text)
{
    (void)ex;
    (void)head;
    (void)text;
    return false;
}

bool admit_login(struct exchange *ex, struct weir_slice key, struct key_found *found)
{
    (void)ex;
    (void)key;
    (void)found;
    return false;
}

bool admit_is_own_page(struct exchange *ex, const struct http_head *head)
{
    (void)ex;
    (void)head;
    return false;
}

void admit_put_cookie(struct exchange *ex, const char *text, int64_t lasts_s)
{
    (void)ex;
    (void)text;
    (void)lasts_s;
}

void admit_refuse(struct exchange *ex, enum weir_status st, const char *text,
                  uint64_t retry_after_ms)
{
    (void)retry_after_ms;
    exchange_error(ex, st, "%s", text);
}

bool admit_visitor(struct exchange *ex, const struct http_head *head)
{
    (void)ex;
    (void)head;
    return true;
}

struct login_links *server_login_links(struct server *s)
{
    (void)s;
    return NULL;
}

const char *server_address(const struct server *s, unsigned i)
{
    (void)s;
    return i == 0 ? "http://127.0.0.1:8080" : NULL;
}

struct sessions *server_sessions(struct server *s)
{
    (void)s;
    return NULL;
}

struct gateway *server_gateway(struct server *s)
{
    (void)s;
    return NULL;
}

const struct shield_policy *server_policy(struct server *s)
{
    (void)s;
    return NULL;
}

const struct vault *server_vault(struct server *s)
{
    (void)s;
    return NULL;
}

struct links *server_links(struct server *s)
{
    (void)s;
    return links;
}

static bool is_draining;
static bool has_others; /* who take what is begun here */

bool server_is_draining(const struct server *s)
{
    (void)s;
    return is_draining;
}

bool server_takes_runs(struct server *s)
{
    (void)s;
    return !is_draining || has_others;
}

bool server_is_stopping(const struct server *s)
{
    (void)s;
    return is_stopping;
}

uint64_t server_uptime_ms(const struct server *s)
{
    (void)s;
    return 1500;
}

void server_counters(struct server *s, struct counters_sum *out)
{
    (void)s;
    *out = (struct counters_sum){0};
    out->values[COUNT_CONNECTIONS] = 7;
    out->errors[WEIR_NOT_FOUND] = 3;
    out->closed[CLOSE_IDLE] = 4;
    out->answers[0][2] = 5;
    out->answers[COUNTERS_NO_ROUTE][4] = 6;
    out->lag_us.counts[10] = 2;
    out->lag_us.sum = 1500;
}

const struct access *exchange_access(const struct exchange *ex)
{
    static const struct access everything = {.scopes = SCOPE_READ | SCOPE_WRITE | SCOPE_ADMIN};
    (void)ex;
    return &everything;
}

struct weir_slice exchange_request_id(const struct exchange *ex)
{
    (void)ex;
    return SLICE("req_fake");
}

const struct server_options *server_options(const struct server *s)
{
    static const struct server_options none;
    (void)s;
    return &none;
}

struct imports *server_imports(struct server *s)
{
    (void)s;
    return NULL;
}

struct spool *exchange_spool(struct exchange *ex)
{
    (void)ex;
    return NULL;
}

struct turns *server_turns(struct server *s)
{
    (void)s;
    return NULL;
}

struct log_waits *server_log_waits(struct server *s)
{
    (void)s;
    return NULL;
}

bool exchange_is_local(const struct exchange *ex)
{
    return ex->is_local;
}

struct loop *worker_loop(struct worker *w)
{
    (void)w;
    return NULL;
}

/* The order does not matter to anybody here. */
void loop_post(struct loop *l, struct post *p)
{
    (void)l;
    pthread_mutex_lock(&lock);
    p->next = posted;
    posted = p;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void run_post(void)
{
    pthread_mutex_lock(&lock);
    while (!posted) pthread_cond_wait(&changed, &lock);
    struct post *p = posted;
    posted = p->next;
    pthread_mutex_unlock(&lock);
    p->run(p);
}

const struct http_head *exchange_head(const struct exchange *ex)
{
    return &ex->head;
}

struct weir_slice exchange_body(const struct exchange *ex)
{
    return ex->body;
}

struct weir_slice exchange_param(const struct exchange *ex, unsigned i)
{
    T_EQ(i, 0);
    return ex->name;
}

bool exchange_query(struct exchange *ex, const char *name, struct weir_slice *value)
{
    for (int i = 0; i < MAX_QUERY && ex->query[i].name; i++) {
        if (strcmp(ex->query[i].name, name) != 0) continue;
        *value = ex->query[i].value;
        return true;
    }
    return false;
}

void *exchange_alloc(struct exchange *ex, size_t size)
{
    void *p = mem_alloc(size);
    ex->memory[ex->n_memory++] = p;
    return p;
}

void exchange_field(struct exchange *ex, const char *name, struct weir_slice value)
{
    size_t len = strlen(ex->fields);
    snprintf(ex->fields + len, sizeof ex->fields - len, "%s: %.*s\n", name, (int)value.len,
             value.ptr);
}

static void answer(struct exchange *ex, int status, struct weir_slice text)
{
    ex->n_answers++;
    ex->status = status;
    CHECK(text.len < sizeof ex->text);
    if (text.len > 0) memcpy(ex->text, text.ptr, text.len);
    ex->text[text.len] = 0;
}

void exchange_json(struct exchange *ex, int status, struct weir_slice json)
{
    answer(ex, status, json);
}

void exchange_text(struct exchange *ex, int status, const char *media_type, struct weir_slice text)
{
    exchange_field(ex, "Content-Type", weir_slice_of(media_type));
    answer(ex, status, text);
}

void exchange_empty(struct exchange *ex, int status)
{
    answer(ex, status, (struct weir_slice){0});
}

void exchange_error(struct exchange *ex, enum weir_status code, const char *format, ...)
{
    char text[1000];
    int len = snprintf(text, sizeof text, "%s: ", weir_status_name(code));
    va_list args;
    va_start(args, format);
    vsnprintf(text + len, sizeof text - (size_t)len, format, args);
    va_end(args);
    answer(ex, weir_status_http(code), weir_slice_of(text));
}

void exchange_watch(struct exchange *ex, struct weir_slice log, const struct watch_options *how)
{
    ex->how = *how;
    memcpy(ex->log, log.ptr, log.len);
    ex->log[log.len] = 0;
    answer(ex, 200, (struct weir_slice){0});
}

void exchange_commit(struct exchange *ex, struct commit *c, committed_fn then)
{
    struct commit_result result = store_commit_wait(store, c);
    then(ex, &result);
}

/* ---- requests ---- */

static inline void open_store(void)
{
    const struct store_options options = {.durability = STORE_DURABLE_NORMAL};
    T_EQ(store_open(&store, t_temp_dir(), &options, NULL), WEIR_OK);
    if (!store) abort();
}

static inline void close_store(void)
{
    store_close(store);
    store = NULL;
}

static inline struct exchange request(const char *name, const char *body)
{
    return (struct exchange){.name = weir_slice_of(name), .body = weir_slice_of(body)};
}

static inline void add_field(struct exchange *ex, const char *name, const char *value)
{
    ex->head.fields[ex->head.n_fields++] =
        (struct http_field){weir_slice_of(name), weir_slice_of(value)};
}

static inline void add_query(struct exchange *ex, const char *name, const char *value)
{
    int i = 0;
    while (ex->query[i].name) i++;
    ex->query[i].name = name;
    ex->query[i].value = weir_slice_of(value);
}

static void free_memory(struct exchange *ex)
{
    for (unsigned i = 0; i < ex->n_memory; i++) mem_free(ex->memory[i]);
    ex->n_memory = 0;
}

/* Calls the handler and waits for the answer. */
static inline void run(struct exchange *ex, handler_fn handle)
{
    handle(ex);
    if (ex->n_answers == 0) run_post();
    T_EQ(ex->n_answers, 1);
    free_memory(ex);
}
