/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that waits, in threads of its own, the store's failures as clients know them, and what
 * several resources ask of a request.
 *
 * Such work is rare and may last (a backup of gigabytes beside a key that is wanted now), so
 * each piece gets a thread rather than a place in a queue. Its memory is the exchange's,
 * which stays until it is answered.
 */
#include "serve/resource.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/container.h"
#include "base/slice.h"
#include "io/loop.h"

enum {
    HTTP_OUR_MISTAKE = 500,
    RETRY_SOON_S = 1,     /* a queue that was full */
    RETRY_STORAGE_S = 10, /* somebody has to make room, or to start the server again */
    RETRY_SHARED_S = 2,   /* a database that does not answer is asked again every second */
    WORK_STACK_BYTES = 1 << 20,
};

struct job {
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    void (*work)(void *user);
    void (*then)(struct exchange *ex, void *user);
    void *user;
};

static atomic_uint n_working;

unsigned resource_n_working(void)
{
    return atomic_load(&n_working);
}

static void finish_job(struct post *post)
{
    struct job *job = CONTAINER_OF(post, struct job, post);
    job->then(job->ex, job->user);
}

static void *run_job(void *user)
{
    struct job *job = user;
    job->work(job->user);
    loop_post(job->loop, &job->post);
    atomic_fetch_sub(&n_working, 1);
    return NULL;
}

/* A thread that nobody waits for; false when there is none to be had. */
static bool start_thread(struct job *job)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    bool is_started = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                      pthread_attr_setstacksize(&attributes, WORK_STACK_BYTES) == 0 &&
                      pthread_create(&thread, &attributes, run_job, job) == 0;
    pthread_attr_destroy(&attributes);
    return is_started;
}

bool resource_work(struct exchange *ex, void (*work)(void *user),
                   void (*then)(struct exchange *ex, void *user), void *user)
{
    struct job *job = exchange_alloc(ex, sizeof *job);
    if (!job) {
        resource_store_error(ex, WEIR_NOMEM);
        return false;
    }
    *job = (struct job){
        .post = {.run = finish_job},
        .ex = ex,
        .loop = worker_loop(exchange_worker(ex)),
        .work = work,
        .then = then,
        .user = user,
    };
    if (atomic_fetch_add(&n_working, 1) < RESOURCE_MAX_WORK && start_thread(job)) return true;
    atomic_fetch_sub(&n_working, 1);
    resource_store_error(ex, WEIR_BUSY);
    return false;
}

/* ---- requests ---- */

bool resource_is_json(struct exchange *ex)
{
    static const char json[] = "application/json";
    static const char form[] = "application/x-www-form-urlencoded";
    struct weir_slice type;
    struct weir_slice origin;
    bool is_from_page = http_find(exchange_head(ex), "origin", &origin);
    if (!http_find(exchange_head(ex), "content-type", &type)) return !is_from_page;
    const char *semicolon = type.len > 0 ? memchr(type.ptr, ';', type.len) : NULL;
    if (semicolon) type.len = (size_t)(semicolon - type.ptr);
    while (type.len > 0 && (type.ptr[type.len - 1] == ' ' || type.ptr[type.len - 1] == '\t'))
        type.len--;
    if (type.len == 0 || (type.len == sizeof form - 1 && slice_ends_with_nocase(type, form)))
        return !is_from_page;
    return (type.len == sizeof json - 1 && slice_ends_with_nocase(type, json)) ||
           slice_ends_with_nocase(type, "+json");
}

const struct weir_json *resource_read_object(struct exchange *ex, struct weir_json_doc *doc)
{
    const struct weir_json *body = NULL;
    size_t offset = 0;
    if (exchange_body(ex).len == 0) {
        exchange_error(ex, WEIR_BAD_REQUEST, "there is no body: it has to be a JSON object");
        return NULL;
    }
    enum weir_status st = weir_json_parse(doc, exchange_body(ex), &body, &offset);
    if (st == WEIR_NOMEM || st == WEIR_LIMIT) resource_store_error(ex, st);
    else if (st == WEIR_JSON_SYNTAX)
        exchange_error(ex, WEIR_BAD_REQUEST, "the body is not JSON, from byte %zu on", offset);
    else if (st != WEIR_OK)
        exchange_error(ex, WEIR_BAD_REQUEST, "the body is not JSON: %s, at byte %zu",
                       weir_status_text(st), offset);
    else if (weir_json_type_of(body) != WEIR_JSON_OBJECT)
        exchange_error(ex, WEIR_BAD_REQUEST, "the body has to be an object");
    else return body;
    return NULL;
}

struct weir_slice resource_owner(const struct exchange *ex)
{
    const char *owner = exchange_access(ex)->owner;
    return weir_slice_of(owner[0] ? owner : "me");
}

bool resource_parse_id(struct weir_slice text, uint64_t *id)
{
    if (text.len == 0 || text.len > RESOURCE_ID_DIGITS) return false;
    *id = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
        *id = *id * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return *id < INT64_MAX;
}

bool resource_wants(const struct exchange *ex, const char *type)
{
    struct weir_slice accept;
    return http_find(exchange_head(ex), "accept", &accept) && http_list_has(accept, type) &&
           http_accepts(accept, type);
}

bool resource_wants_stream(const struct exchange *ex)
{
    return resource_wants(ex, "text/event-stream");
}

bool resource_has_tag(struct weir_slice list, struct weir_slice tag)
{
    if (weir_slice_is(list, "*")) return true;
    return list.len >= tag.len && memmem(list.ptr, list.len, tag.ptr, tag.len) != NULL;
}

const char *resource_watch_from(struct exchange *ex, struct watch_options *how)
{
    struct weir_slice value;
    uint64_t id;
    bool has_id = http_find(exchange_head(ex), "last-event-id", &value) && value.len > 0;
    if (!has_id) has_id = exchange_query(ex, "last_event_id", &value) && value.len > 0;
    if (has_id && !resource_parse_id(value, &id)) return "Last-Event-ID has to be a whole number";
    bool has_from = exchange_query(ex, "from", &value);
    if (has_from && !weir_slice_is(value, "latest")) return "from can only be \"latest\"";
    how->from = has_id ? id + 1 : has_from ? SUB_FROM_LATEST : 1;
    how->has_last_id = has_id;
    return NULL;
}

/* ---- failures ---- */

static void refuse_for_now(struct exchange *ex, enum weir_status code, unsigned retry_s,
                           const char *why)
{
    char digits[12];
    int len = snprintf(digits, sizeof digits, "%u", retry_s);
    exchange_field(ex, "Retry-After", slice_of(digits, (size_t)len));
    exchange_error(ex, code, "%s", why);
}

/* A store of several nodes comes back by itself, and nothing of what failed has happened. */
static bool is_shared_error(struct exchange *ex, enum weir_status st)
{
    struct server *s = exchange_server(ex);
    bool is_away = st == WEIR_IO || st == WEIR_STORAGE;
    if ((!is_away && st != WEIR_NO_SPACE) || !s || !store_is_shared(server_store(s))) return false;
    if (is_away)
        refuse_for_now(ex, WEIR_STORAGE, RETRY_SHARED_S,
                       "the database does not answer, or refuses it; nothing of the request has "
                       "happened");
    else
        refuse_for_now(ex, WEIR_STORAGE, RETRY_STORAGE_S,
                       "the disk of the database is full; reads go on");
    return true;
}

void resource_store_error(struct exchange *ex, enum weir_status st)
{
    if (is_shared_error(ex, st)) return;
    switch (st) {
    case WEIR_NO_SPACE:
        refuse_for_now(ex, WEIR_STORAGE, RETRY_STORAGE_S, "the disk is full; reads go on");
        return;
    case WEIR_IO:
    case WEIR_STORAGE:
        refuse_for_now(ex, WEIR_STORAGE, RETRY_STORAGE_S, weir_status_text(WEIR_STORAGE));
        return;
    case WEIR_BUSY:
    case WEIR_NOMEM: refuse_for_now(ex, st, RETRY_SOON_S, weir_status_text(st)); return;
    case WEIR_LIMIT:
        exchange_error(ex, WEIR_TOO_LARGE, "this is more than the store takes");
        return;
    default:
        /* Whose fault it was is for the log; what a client can do about it is the same. */
        exchange_error(ex, weir_status_http(st) == HTTP_OUR_MISTAKE ? WEIR_INTERNAL : st, "%s",
                       weir_status_text(st));
        return;
    }
}
