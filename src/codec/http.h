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
 *    out of their chunks if need be. May be left out when the head has no body.
 * 4. again from 2 for the next request.
 *
 * The result is the same wherever the bytes were cut, and no byte of a head is looked at
 * more than a few times, however slowly it comes. What cannot become a request is refused
 * with the byte or the line that shows it. An error ends the reader: it is given again
 * whatever comes, since nobody can say where the next request would begin.
 *
 * Strict where attackers live: before llhttp sees a head, a scan refuses bare CR, bare LF,
 * NUL and other control bytes, folded fields, space before a colon and empty names; then two
 * Content-Length, Content-Length with Transfer-Encoding, a Transfer-Encoding that is not
 * exactly "chunked", white space in either but one space after the colon, no Host or two of
 * them in HTTP/1.1, absolute targets whose host is another, and chunk extensions beyond a
 * small limit. llhttp then reads the head too, and must find the same fields and the same
 * body. Trailers are held to the rules of fields and dropped.
 *
 * Any thread, one at a time.
 */
#pragma once

#include <weir/buf.h>

enum {
    HTTP_MAX_FIELDS = 64,        /* of a head, and of a trailer: HEAD_TOO_LARGE */
    HTTP_MAX_EMPTY_LINES = 3,    /* before a request */
    HTTP_METHOD_BYTES = 32,      /* NOT_IMPLEMENTED beyond */
    HTTP_TARGET_BYTES = 8 << 10, /* URI_TOO_LONG beyond */
    HTTP_EXTENSION_BYTES = 256,  /* of all chunks of a body together */
    HTTP_SIZE_DIGITS = 16,       /* of the size of a chunk */
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
    struct weir_slice target; /* raw, all of it */
    struct weir_slice path;   /* raw, from '/' to before '?'; "*" for OPTIONS only */
    struct weir_slice query;  /* raw, without '?' */
    struct weir_slice host;   /* with its port; empty when HTTP/1.0 names none */
    unsigned char minor;      /* HTTP/1.minor: 0 or 1 */
    bool keep_alive;          /* by version and Connection */
    bool has_body;            /* a length above 0, or chunked */
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
    enum weir_status error; /* see below; WEIR_OK as long as there is none */
    const char *reason;     /* a sentence for people: what is wrong */

    /* Private. */
    size_t scanned;     /* bytes of the head that were looked at and found good */
    size_t mark;        /* where the method, target, version, name or value began */
    uint64_t body_left; /* bytes to come of the body or of the chunk */
    uint64_t body_taken;
    size_t trailer_bytes;
    unsigned short extension_bytes;
    unsigned char n_digits;
    unsigned char n_empty;  /* lines before the request */
    unsigned char n_fields; /* of the head or the trailer */
    unsigned char state;
};

void http_reader_init(struct http_reader *r, const struct http_limits *limits);

/*
 * HTTP_MORE, HTTP_ERROR, or HTTP_DONE with the head and, in *used, its bytes, with empty lines
 * before it. The errors: BAD_REQUEST, HTTP_VERSION, URI_TOO_LONG, HEAD_TOO_LARGE (also more
 * than HTTP_MAX_FIELDS), TOO_LARGE (the Content-Length says so), BAD_EXPECT, NOT_IMPLEMENTED
 * (a transfer coding, CONNECT, or a method too long to be one).
 */
enum http_result http_read_head(struct http_reader *r, struct weir_slice bytes,
                                struct http_head *head, size_t *used);

/*
 * HTTP_DATA with some bytes of the body in *data: call again after it, also with no bytes left.
 * HTTP_MORE, HTTP_DONE or HTTP_ERROR (BAD_REQUEST, TOO_LARGE, HEAD_TOO_LARGE for a trailer)
 * without. Whatever it returns, *used bytes are done with and are not to be shown again.
 */
enum http_result http_read_body(struct http_reader *r, struct weir_slice bytes, size_t *used,
                                struct weir_slice *data);

/* Whatever of the head points into `from` points to the same place of its copy `to` from now on. */
void http_head_move(struct http_head *head, struct weir_slice from, const char *to);

/* Whether this is the field's name, in any case. */
bool http_field_is(const struct http_field *field, const char *lower_name);

/* The value of a field by lower-case name; false when there is none. The first of several. */
bool http_find(const struct http_head *head, const char *lower_name, struct weir_slice *value);

/* Whether a list-valued field ("a, b;q=1") has this token, in any case. */
bool http_list_has(struct weir_slice list, const char *lower_token);

/*
 * Whether Accept allows a media type (in lower case) by name or by range; the most exact entry
 * decides, q=0 forbids, empty allows nothing. Parameters but q do not count. And whether
 * Accept-Encoding allows a coding, "gzip".
 */
bool http_accepts(struct weir_slice accept, const char *media_type);

/* ---- targets ---- */

/*
 * Appends the text with %XX decoded (and '+' as a space when is_query); false, with nothing
 * appended, for a bad escape or for NUL. Says nothing of UTF-8, and nothing of the buffer's
 * status.
 */
bool url_decode(struct weir_slice in, bool is_query, struct weir_buf *out);

/*
 * The raw value of a parameter of a query ("" for one without '='), whose name may be escaped
 * in it; false when it is not there. The first of several.
 */
bool query_find(struct weir_slice query, const char *name, struct weir_slice *value);

/* ---- answers ---- */

/* "Not Found" for 404; "Unknown" for codes that are not ours. */
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
