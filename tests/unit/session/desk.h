/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of sessions share: a store with an engine, calls, and the events of a session. */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "session/session_impl.h"
#include "t.h"

enum { WAIT_S = 60, EVENT_TEXT_BYTES = 8 << 20 };

static struct {
    struct store *store;
    struct sessions *sessions;
    struct shield_policy *policy;
    struct vault *vault;
    struct fake_clock clock;
    char folder[256];
    struct sessions_options options; /* what a test wants otherwise */
} desk;

static void (*desk_tune)(struct sessions *s); /* before the start; NULL: nothing */
static unsigned desk_grace_ms = 5000;         /* for what is under way when it stops */
static char event_text[EVENT_TEXT_BYTES];     /* of look() */
static char call_text_out[1 << 20];           /* what the last call put */
static char call_why[SESSION_WHY_BYTES];

static inline void desk_start(void)
{
    struct store_options options = {.clock = &desk.clock.clock};
    struct store_error error;
    char path[300], why[SHIELD_ERROR_BYTES];
    T_EQ(store_open(&desk.store, desk.folder, &options, &error), WEIR_OK);
    snprintf(path, sizeof path, "%s/shield.key", desk.folder);
    enum weir_status st = vault_create(path);
    T_OK(st == WEIR_OK || st == WEIR_EXISTS);
    T_EQ(vault_open(path, &desk.vault, why), WEIR_OK);
    desk.policy = shield_policy_default();
    struct sessions_options o = desk.options;
    o.policy = desk.policy;
    o.vault = desk.vault;
    o.n_threads = 2;
    o.clock = &desk.clock.clock;
    T_EQ(sessions_new(&desk.sessions, desk.store, &o), WEIR_OK);
    if (desk_tune) desk_tune(desk.sessions);
    T_EQ(sessions_start(desk.sessions), WEIR_OK);
}

static inline void desk_stop(void)
{
    sessions_stop(desk.sessions, desk_grace_ms);
    sessions_free(desk.sessions);
    store_close(desk.store);
    shield_policy_free(desk.policy);
    vault_close(desk.vault);
}

static inline void desk_open(void)
{
    fake_clock_init(&desk.clock, 1700000000000);
    snprintf(desk.folder, sizeof desk.folder, "%s", t_temp_dir());
    desk_start();
}

/* Until the condition holds. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        for (int wait_i_ = 0; !(condition) && wait_i_ < WAIT_S * 1000; wait_i_++) wait_1_ms();     \
        T_OK(condition);                                                                           \
    } while (0)

static inline void wait_1_ms(void)
{
    struct timespec at = {.tv_nsec = 1000000};
    nanosleep(&at, NULL);
}

/* ---- calls ---- */

/* One of another thread's: its output is the caller's. */
static inline enum weir_status call_into(const char *owner, const char *method, const char *input,
                                         struct weir_buf *out, char why[SESSION_WHY_BYTES])
{
    const struct weir_json *json;
    struct session_call *c = NULL;
    const char *slash = strchr(method, '/');
    const struct session_method *m =
        session_method_find(slice_of(method, (size_t)(slash - method)), weir_slice_of(slash + 1));
    struct weir_json_doc *doc = weir_json_doc_new(0);
    T_OK(m);
    enum weir_status st =
        doc ? weir_json_parse(doc, weir_slice_of(input), &json, NULL) : WEIR_NOMEM;
    T_OK(st == WEIR_OK || st == WEIR_NOMEM);
    if (st == WEIR_OK) st = session_call_new(&c, desk.sessions, m, weir_slice_of(owner), json);
    weir_json_doc_free(doc); /* the input is copied */
    if (st == WEIR_OK) st = session_call_run(c);
    if (st == WEIR_OK) session_call_put(c, out);
    if (why) snprintf(why, SESSION_WHY_BYTES, "%s", c ? session_call_why(c) : "");
    session_call_free(c);
    return st;
}

static inline enum weir_status call_as(const char *owner, const char *method, const char *input)
{
    struct weir_buf out;
    weir_buf_init(&out, sizeof call_text_out - 1);
    enum weir_status st = call_into(owner, method, input, &out, call_why);
    T_EQ(weir_buf_status(&out), WEIR_OK);
    snprintf(call_text_out, sizeof call_text_out, "%.*s", (int)out.len, out.ptr ? out.ptr : "");
    weir_buf_fini(&out);
    return st;
}

#define CALL(method, ...) call_as("ann", method, desk_format(__VA_ARGS__))

__attribute__((format(printf, 1, 2))) static inline const char *desk_format(const char *format, ...)
{
    static _Thread_local char texts[4][1 << 19]; /* one may be made of another */
    static _Thread_local unsigned n;
    char *text = texts[n++ % 4];
    va_list rest;
    va_start(rest, format);
    T_OK((size_t)vsnprintf(text, sizeof texts[0], format, rest) < sizeof texts[0]);
    va_end(rest);
    return text;
}

/* A string member of what the last call put, up to its quote. */
static inline void said(const char *member, char *out, size_t size)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":\"", member);
    const char *at = strstr(call_text_out, key);
    T_OK(at);
    at = at ? at + strlen(key) : "";
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
}

struct sent {
    char session[SESSION_LEN + 1], turn[SESSION_TURN_LEN + 1];
};

/* session NULL: a new one. */
static inline struct sent send_text(const char *session, const char *text)
{
    struct sent s;
    if (session)
        T_EQ(CALL("chat/send", "{\"sessionId\":\"%s\",\"clientId\":\"tab\",\"text\":\"%s\"}",
                  session, text),
             WEIR_OK);
    else T_EQ(CALL("chat/send", "{\"clientId\":\"tab\",\"text\":\"%s\"}", text), WEIR_OK);
    said("sessionId", s.session, sizeof s.session);
    said("turnId", s.turn, sizeof s.turn);
    return s;
}

/* ---- events ---- */

static inline bool says(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* By hand: strstr() measures the whole text each time when a sanitizer watches. */
static inline unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    size_t len = strlen(part);
    for (const char *at = text; *at; at++) {
        if (*at != *part || strncmp(at, part, len) != 0) continue;
        n++;
        at += len - 1;
    }
    return n;
}

/* All events of a session from an id on, as they are on the wire. */
static inline const char *look_from(const char *session, uint64_t next)
{
    char log[SESSION_LOG_BYTES];
    size_t len = 0;
    for (;;) {
        struct log_read read;
        store_read(desk.store, session_log(log, weir_slice_of(session)), next, 1 << 20, &read);
        for (unsigned i = 0; i < read.n_chunks; i++) {
            T_OK(len + read.chunks[i]->len < sizeof event_text);
            memcpy(event_text + len, read.chunks[i]->bytes, read.chunks[i]->len);
            len += read.chunks[i]->len;
            next = read.chunks[i]->last + 1;
            chunk_unref(read.chunks[i]);
        }
        if (read.n_chunks == 0) break;
    }
    event_text[len] = 0;
    return event_text;
}

static inline const char *look(const char *session)
{
    return look_from(session, 1);
}

static inline unsigned n_events(const char *session, const char *type)
{
    char key[64];
    snprintf(key, sizeof key, "data: {\"type\":\"%s\"", type);
    return count(look(session), key);
}

static inline uint64_t last_event(const char *session)
{
    char log[SESSION_LOG_BYTES];
    struct log_read read;
    store_read(desk.store, session_log(log, weir_slice_of(session)), 1, 0, &read);
    return read.state.last;
}

/* ---- documents ---- */

/* What a document says, or "" when there is none. */
static inline const char *doc_text(const char *kind, const char *id)
{
    static char text[4 << 20];
    struct doc doc;
    text[0] = 0;
    if (store_doc_get(desk.store, (struct doc_key){weir_slice_of(kind), weir_slice_of(id)}, &doc) !=
        WEIR_OK)
        return text;
    snprintf(text, sizeof text, "%.*s", (int)doc.body.len, doc.body.ptr);
    doc_fini(&doc);
    return text;
}

static inline bool is_idle(const char *session)
{
    return says(doc_text("session", session), "\"running\":\"\"");
}

static inline void wait_idle(const char *session)
{
    WAIT_FOR(is_idle(session));
}

static inline enum weir_status count_doc(void *n, const struct doc *doc)
{
    (void)doc;
    ++*(unsigned *)n;
    return WEIR_OK;
}

static inline unsigned n_docs(const char *kind)
{
    unsigned n = 0;
    const struct doc_query query = {.kind = weir_slice_of(kind), .limit = SIZE_MAX};
    T_EQ(store_doc_list(desk.store, &query, count_doc, &n), WEIR_OK);
    return n;
}
