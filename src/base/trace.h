/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace lines: one line per event, for people (text) or programs (JSON).
 *
 * 1. trace_init() with a clock and where to write; set format and level.
 * 2. TRACE(&t, TRACE_INFO, "store", "log opened", trace_str("log", name),
 *          trace_ms("took", ms));
 * 3. Nothing to free.
 *
 * Secrets never appear. A secret field prints "[secret]" only; so does any field
 * whose name means a secret. In messages and string values, bearer tokens, keys
 * that begin with "sk-", the user part of a URL and what is assigned to a name
 * that means a secret are masked; base/mask.h has the rules.
 *
 * A line is a line: control characters are escaped, bytes that are not UTF-8
 * become U+FFFD, and nothing is longer than the ceilings below. A line takes no
 * memory from the heap and keeps errno. Any thread, once it is set up.
 */
#pragma once

#include <weir/types.h>

#include "base/clock.h"

enum {
    TRACE_MAX_LINE_BYTES = 8192, /* with its LF; fields that do not fit are left out */
    TRACE_MAX_VALUE_BYTES =
        1024,                  /* of a message or string, before escaping; cut with an ellipsis */
    TRACE_MAX_NAME_BYTES = 64, /* of a component or field name */
};

enum trace_level { TRACE_ERROR, TRACE_WARN, TRACE_INFO, TRACE_DEBUG };
enum trace_format { TRACE_TEXT, TRACE_JSON };

/* Gets one line, its LF included, borrowed until it returns. */
typedef void (*trace_sink_fn)(void *user, struct weir_slice line);

struct trace {
    trace_sink_fn sink;
    void *user;
    const struct clock *clock;
    enum trace_format format;
    enum trace_level level; /* lines above it are dropped */
};

enum trace_kind {
    TRACE_KIND_END, /* ends a list of fields */
    TRACE_KIND_STRING,
    TRACE_KIND_INT,
    TRACE_KIND_UINT,
    TRACE_KIND_DOUBLE,
    TRACE_KIND_BOOL,
    TRACE_KIND_MS,
    TRACE_KIND_SECRET,
};

struct trace_field {
    enum trace_kind kind;
    const char *name;
    union {
        struct weir_slice string;
        int64_t i;
        uint64_t u;
        double d;
        bool b;
    } value;
};

/* Writes text lines up to TRACE_INFO to a file descriptor, each with one write(). */
void trace_init(struct trace *t, const struct clock *clock, int fd);

/* Writes one line; `fields` ends with TRACE_KIND_END. Does nothing when t is NULL. */
void trace_event(const struct trace *t, enum trace_level level, const char *component,
                 const char *message, const struct trace_field *fields);

#define TRACE(t, level, component, message, ...)                                                   \
    trace_event(                                                                                   \
        t, level, component, message,                                                              \
        (const struct trace_field[]){__VA_ARGS__ __VA_OPT__(, ){TRACE_KIND_END, NULL, {{0}}}})

static inline struct trace_field trace_str(const char *name, struct weir_slice s)
{
    return (struct trace_field){TRACE_KIND_STRING, name, {.string = s}};
}

static inline struct trace_field trace_int(const char *name, int64_t i)
{
    return (struct trace_field){TRACE_KIND_INT, name, {.i = i}};
}

static inline struct trace_field trace_uint(const char *name, uint64_t u)
{
    return (struct trace_field){TRACE_KIND_UINT, name, {.u = u}};
}

/* Not-a-number and infinities are written as strings in JSON. */
static inline struct trace_field trace_double(const char *name, double d)
{
    return (struct trace_field){TRACE_KIND_DOUBLE, name, {.d = d}};
}

static inline struct trace_field trace_bool(const char *name, bool b)
{
    return (struct trace_field){TRACE_KIND_BOOL, name, {.b = b}};
}

/* A duration: took=12ms in text, "took_ms":12 in JSON. */
static inline struct trace_field trace_ms(const char *name, uint64_t ms)
{
    return (struct trace_field){TRACE_KIND_MS, name, {.u = ms}};
}

/* Says that there was a secret, and not more: the value is not even handed over. */
static inline struct trace_field trace_secret(const char *name)
{
    return (struct trace_field){TRACE_KIND_SECRET, name, {.b = true}};
}
