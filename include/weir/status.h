/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes. One table for the whole project: every fallible function
 * returns one of these, and the name, the sentence for people, the HTTP code
 * and whether trying again may help all come from the same row.
 *
 * Names are stable: they appear in JSON output and in HTTP answers.
 */
#pragma once

#include <weir/types.h>

WEIR_BEGIN

/* X(symbol, name, sentence, http, retryable); new rows go at the end, for numbers stay. */
#define WEIR_STATUS_TABLE(X)                                                                       \
    X(OK, "ok", "done", 200, false)                                                                \
    X(NOMEM, "no_memory", "memory could not be had", 503, true)                                    \
    X(INVALID, "invalid_argument", "an argument is out of its range", 400, false)                  \
    X(LIMIT, "limit_exceeded", "a configured size limit was reached", 413, false)                  \
    X(LINE_TOO_LONG, "line_too_long", "a line is longer than the limit", 413, false)               \
    X(EVENT_TOO_LONG, "event_too_long", "an event's data are longer than the limit", 413, false)   \
    X(ID_TOO_LONG, "id_too_long", "an event id is longer than the limit", 413, false)              \
    X(JSON_SYNTAX, "json_syntax", "the text is not JSON", 400, false)                              \
    X(JSON_UTF8, "json_utf8", "a JSON string is not UTF-8", 400, false)                            \
    X(JSON_DEPTH, "json_too_deep", "JSON is nested deeper than the limit", 400, false)             \
    X(JSON_TRUNCATED, "json_truncated", "the JSON text ends before its value does", 400, false)    \
    X(BAD_EVENT, "bad_event", "an event does not have the form its type asks for", 502, false)     \
    X(STREAM_ERROR, "stream_error", "the sender reported an error inside the stream", 502, false)  \
    X(STREAM_EMPTY, "stream_empty", "the stream ended without a single event", 502, true)          \
    X(STREAM_CUT, "stream_incomplete", "the stream ended before the message did", 502, true)       \
    X(IO, "io_error", "reading or writing failed", 500, true)                                      \
    X(INTERNAL, "internal_error", "weir made a mistake", 500, false)                               \
    X(NO_SPACE, "no_space", "the disk is full", 503, true)                                         \
    X(CORRUPT, "corrupt", "stored data are damaged", 500, false)                                   \
    X(STORAGE, "storage_unavailable", "the store cannot write; reads go on", 503, true)

enum weir_status {
#define WEIR_STATUS_ENUM(symbol, name, text, http, retryable) WEIR_##symbol,
    WEIR_STATUS_TABLE(WEIR_STATUS_ENUM)
#undef WEIR_STATUS_ENUM
        WEIR_N_STATUS /* how many there are; never returned */
};

/* The stable lower-case name, as "line_too_long". Never NULL. */
WEIR_API const char *weir_status_name(enum weir_status st);

/* One sentence for people, without a full stop. Never NULL. */
WEIR_API const char *weir_status_text(enum weir_status st);

/* The HTTP status that fits when this reaches a client of the server. */
WEIR_API int weir_status_http(enum weir_status st);

/* Whether the same call may succeed later with nothing changed by the caller. */
WEIR_API bool weir_status_is_retryable(enum weir_status st);

WEIR_END
