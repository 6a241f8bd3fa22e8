/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the HTTP reader share: kinds of bytes, states, the scan. */
#pragma once

#include "codec/http.h"

/* Where a byte may stand. RFC 9110 5.6.2 (token), 5.5 (value); RFC 3986 2.3 (host). */
enum {
    HTTP_IS_TOKEN = 1,     /* in methods and names of fields */
    HTTP_IS_TARGET = 2,    /* printable ASCII but '#' */
    HTTP_IS_VALUE = 4,     /* in values of fields: no control bytes but HTAB */
    HTTP_IS_EXTENSION = 8, /* in extensions of chunks: no control bytes */
    HTTP_IS_HOST = 16,     /* unreserved */
};

extern const uint8_t http_kinds[256];

static inline bool http_is(char c, unsigned kind)
{
    return (http_kinds[(unsigned char)c] & kind) != 0;
}

/*
 * What the next byte is taken for. The states of a head come first; those from
 * HTTP_AT_FIELD to HTTP_AT_END_LF serve trailers as well.
 */
enum http_state {
    HTTP_AT_START,    /* an empty line, or the first byte of a method */
    HTTP_AT_START_LF, /* the LF of an empty line */
    HTTP_AT_METHOD,
    HTTP_AT_TARGET,
    HTTP_AT_VERSION,
    HTTP_AT_LINE_LF,
    HTTP_AT_FIELD, /* a name, or the CR of the last line */
    HTTP_AT_NAME,
    HTTP_AT_VALUE,
    HTTP_AT_VALUE_LF,
    HTTP_AT_END_LF,
    HTTP_AT_END, /* nothing: the head or the trailer is whole */

    HTTP_AT_BODY, /* of a known length */
    HTTP_AT_SIZE,
    HTTP_AT_EXTENSION,
    HTTP_AT_SIZE_LF,
    HTTP_AT_DATA,
    HTTP_AT_DATA_CR,
    HTTP_AT_DATA_LF,

    HTTP_AT_ERROR,
};

/* Puts the reader in front of a request. */
void http_restart(struct http_reader *r);

/* Ends the reader with an error; returns false, for its caller to return. */
bool http_refuse(struct http_reader *r, enum weir_status error, const char *reason);

/*
 * Judges the bytes of a head or a trailer from *at on, and moves *at to the first that was not
 * judged. With a head, fills in method, path, query, minor, host of an absolute target, and
 * fields, as far as they were met in this call; without, all that is met is dropped.
 */
enum http_result http_scan(struct http_reader *r, struct weir_slice bytes, size_t *at,
                           struct http_head *head);

/* Reads the request line: bytes up to and with the version. False: refused. */
bool http_read_line(struct http_reader *r, struct weir_slice line, struct http_head *head);

/* "name", "name:port", "[v6]", "[v6]:port"; not empty. */
bool http_is_host(struct weir_slice host);

/* The same text but for the case of ASCII letters. */
bool http_same_text(struct weir_slice a, struct weir_slice b);
