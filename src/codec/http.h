/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.x requests from bytes, and the bytes of answers. Pure: no sockets, no time.
 *
 * A reader takes one request after the other from a growing run of bytes:
 *
 * 1. http_reader_init() for each connection; it holds no memory of its own.
 * 2. http_read_head() with all unread bytes, until it has a whole head. Slices in the
 *    head point into those bytes.
 * 3. http_read_body() likewise, until HTTP_DONE: shows runs of body bytes as they come,
 *    out of their chunks if need be.
 * 4. again from 2 for the next request.
 *
 * Strict where attackers live: before llhttp sees a head, a scan refuses bare CR, bare LF,
 * NUL and other control bytes, folded fields, space before a colon and empty names; then two
 * Content-Length, Content-Length with Transfer-Encoding, a Transfer-Encoding that is not
 * exactly "chunked", no Host or two of them in HTTP/1.1, absolute targets whose host is
 * another, and chunk extensions beyond a small limit.
 */
#pragma once

#include <weir/buf.h>

enum {
    HTTP_MAX_FIELDS = 64,
    HTTP_TARGET_BYTES = 8 << 10,
};

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_PATCH,
    HTTP_OPTIONS,
    HTTP_OTHER,
};

struct http_field {
    struct weir_slice name;  /* as sent; compare with http_field_is() */
    struct weir_slice value; /* without white space around it */
};

struct http_head {
    enum http_method method;
    struct weir_slice method_text;
    struct weir_slice path;  /* raw, from '/' to before '?' */
    struct weir_slice query; /* raw, without '?' */
    unsigned char minor;     /* HTTP/1.minor: 0 or 1 */
    bool keep_alive;         /* by version and Connection */
    bool has_body;           /* a length above 0, or chunked */
    bool is_chunked;
    bool expects_continue;
    uint64_t content_length; /* when has_body and not chunked */
    unsigned n_fields;
    struct http_field fields[HTTP_MAX_FIELDS];
};

enum http_result {
    HTTP_MORE,  /* not enough bytes yet */
    HTTP_DONE,  /* a whole head; or the end of the body */
    HTTP_DATA,  /* some bytes of the body */
    HTTP_ERROR, /* reader->error and reader->reason tell; close after answering */
};

struct http_limits {
    size_t head_bytes;   /* 16 KiB */
    uint64_t body_bytes; /* 1 MiB */
};

struct http_reader {
    struct http_limits limits;
    size_t scanned;     /* bytes of the head known not to contain its end */
    uint64_t body_left; /* of the body or the chunk */
    uint64_t body_taken;
    unsigned trailer_bytes;
    unsigned char state; /* private */
    bool is_chunked;
    enum weir_status error; /* HEAD_TOO_LARGE, URI_TOO_LONG, BAD_REQUEST, TOO_LARGE, … */
    const char *reason;     /* a sentence for people: what is wrong */
};

void http_reader_init(struct http_reader *r, const struct http_limits *limits);

/* *used: bytes of the head, with empty lines before it, when HTTP_DONE. */
enum http_result http_read_head(struct http_reader *r, struct weir_slice bytes,
                                struct http_head *head, size_t *used);

/* *used bytes are done with; *data are those of them that belong to the body. */
enum http_result http_read_body(struct http_reader *r, struct weir_slice bytes, size_t *used,
                                struct weir_slice *data);

/* The value of a field by lower-case name; false when there is none. The first of several. */
bool http_find(const struct http_head *head, const char *lower_name, struct weir_slice *value);

/* Whether a list-valued field ("a, b;q=1") has this token, in any case. */
bool http_list_has(struct weir_slice list, const char *lower_token);

/* Whether Accept allows a media type by name or by range; q=0 forbids; empty allows nothing. */
bool http_accepts(struct weir_slice accept, const char *media_type);

/* ---- targets ---- */

/* Decodes %XX (and '+' as a space when is_query); false for a bad escape or for NUL. */
bool url_decode(struct weir_slice in, bool is_query, struct weir_buf *out);

/*
 * The raw value of a parameter of a query; false when it is not there. The first of several.
 */
bool query_find(struct weir_slice query, const char *name, struct weir_slice *value);

/* ---- answers ---- */

const char *http_reason(int status);

/* "HTTP/1.1 200 OK\r\n". */
void http_write_status(struct weir_buf *out, int status);
/* "Name: value\r\n"; the value may not contain CR, LF or NUL (CHECK). */
void http_write_field(struct weir_buf *out, const char *name, struct weir_slice value);
void http_write_u64_field(struct weir_buf *out, const char *name, uint64_t value);
/* "\r\n". */
void http_end_head(struct weir_buf *out);

enum { HTTP_CHUNK_HEAD_BYTES = 20 };

/* "1a2b\r\n": what stands before a chunk of len bytes; returns its length. */
size_t http_chunk_head(char out[HTTP_CHUNK_HEAD_BYTES], size_t len);
