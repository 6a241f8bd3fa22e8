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
    X(STORAGE, "storage_unavailable", "the store cannot write; reads go on", 503, true)            \
    X(NOT_FOUND, "not_found", "there is no such thing", 404, false)                                \
    X(SEALED, "sealed", "the log takes no more events", 409, false)                                \
    X(CONFLICT, "conflict", "somebody else changed it first", 409, false)                          \
    X(BUSY, "busy", "too much is waiting; try again shortly", 503, true)                           \
    X(LOCKED, "locked", "another process has the store open", 503, true)                           \
    X(NEWER, "newer_version", "a newer weir wrote this store", 500, false)                         \
    X(NO_AUTH, "missing_authorization", "the request carries no key", 401, false)                  \
    X(BAD_TOKEN, "invalid_token", "the key is not known, was revoked or has expired", 401, false)  \
    X(FORBIDDEN, "forbidden", "the key does not allow this", 403, false)                           \
    X(BAD_REQUEST, "invalid_request", "the request is not well-formed", 400, false)                \
    X(BAD_FIELD, "invalid_field", "a field or parameter has a value it cannot have", 400, false)   \
    X(GONE, "gone", "it was there and is no more", 410, false)                                     \
    X(BAD_METHOD, "method_not_allowed", "the resource does not know this method", 405, false)      \
    X(NOT_ACCEPTABLE, "not_acceptable", "no form that is acceptable can be sent", 406, false)      \
    X(TIMEOUT, "request_timeout", "the request took too long to arrive", 408, true)                \
    X(EXISTS, "already_exists", "it is there, or was done, already", 409, false)                   \
    X(TOO_LARGE, "payload_too_large", "the body is larger than the limit", 413, false)             \
    X(URI_TOO_LONG, "uri_too_long", "the address is longer than the limit", 414, false)            \
    X(BAD_TYPE, "unsupported_media_type", "the body is of a kind that is not taken", 415, false)   \
    X(BAD_EXPECT, "expectation_failed", "an expectation that cannot be met", 417, false)           \
    X(RATE_LIMIT, "rate_limit_exceeded", "too many requests with this key", 429, true)             \
    X(HEAD_TOO_LARGE, "header_too_large", "the header fields are larger than the limit", 431,      \
      false)                                                                                       \
    X(NOT_IMPLEMENTED, "not_implemented", "a transfer coding or method that is not known", 501,    \
      false)                                                                                       \
    X(TOO_MANY, "too_many_connections", "there are too many connections", 503, true)               \
    X(HTTP_VERSION, "http_version_not_supported", "only HTTP/1.0 and HTTP/1.1 are spoken here",    \
      505, false)                                                                                  \
    X(SHUTDOWN, "shutting_down", "the server is going down; reconnect", 503, true)                 \
    X(UNPROCESSABLE, "unprocessable", "it is well-formed, but nothing can be made of it", 422,     \
      false)                                                                                       \
    X(UPSTREAM, "upstream_unavailable", "a model or service that is needed does not answer", 502,  \
      true)                                                                                        \
    X(CANCELLED, "cancelled", "it was cancelled", 409, false)                                      \
    X(CONCURRENCY, "concurrency_limit_exceeded", "too many turns are in flight", 429, true)        \
    X(BAD_FILE, "invalid_file_type", "the file is of no kind that is known", 400, false)           \
    X(NO_TURN, "turn_not_found", "there is no such turn", 404, false)                              \
    X(NO_LAB, "lab_not_found", "there is no such laboratory result", 404, false)                   \
    X(NO_SOURCE, "source_not_found", "there is no such source of data", 404, false)                \
    X(NO_MEMORY_ITEM, "memory_not_found", "there is no such memory", 404, false)                   \
    X(EVENTS_EXPIRED, "turn_events_expired", "the events are kept for an hour, the turn for ever", \
      404, false)                                                                                  \
    X(IDEMPOTENCY, "idempotency_key_mismatch", "the key was used with another request", 409,       \
      false)                                                                                       \
    X(PENDING, "pending", "what it needs is on its way", 503, true)                                \
    X(COST, "cost_limit_exceeded", "the turn has cost as much as a turn may", 402, false)

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
