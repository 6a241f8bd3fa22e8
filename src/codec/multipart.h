/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multipart/form-data (RFC 7578) with one file in it, in any pieces: what the form of a browser and
 * curl -F send. The bytes of the file are handed on as they come; fields beside it are passed over.
 *
 * 1. multipart_init() with the boundary that Content-Type names.
 * 2. multipart_feed() the body. The first failure sticks.
 * 3. multipart_end(): whether it was whole, and had a file.
 *
 * No memory of its own. One thread at a time.
 */
#pragma once

#include <weir/status.h>

enum {
    MULTIPART_BOUNDARY_BYTES = 70, /* RFC 2046 */
    MULTIPART_HEAD_BYTES = 4096,   /* of a part: its fields */
    MULTIPART_NAME_BYTES = 256,    /* of the file, with a NUL */
    MULTIPART_PARTS = 100,         /* of a body */
};

typedef enum weir_status (*multipart_fn)(void *user, struct weir_slice bytes);

enum multipart_state {
    MULTIPART_BETWEEN, /* in a part that is passed over, or before the first */
    MULTIPART_FILE,
    MULTIPART_LINE, /* behind a boundary */
    MULTIPART_HEAD,
    MULTIPART_OVER,
};

struct multipart {
    enum multipart_state state;
    enum weir_status status;
    const char *error; /* what is wrong, for people; NULL: nothing */
    multipart_fn put;
    void *user;
    char mark[4 + MULTIPART_BOUNDARY_BYTES]; /* "\r\n--" and the boundary */
    size_t mark_len;
    size_t matched; /* bytes of it that were seen */
    size_t skipped; /* of them, those at the beginning of a part, where a line has just ended */
    char head[MULTIPART_HEAD_BYTES];
    size_t head_len;
    unsigned n_parts;
    bool has_file;
    char name[MULTIPART_NAME_BYTES]; /* of the file, as it was sent; empty: it had none */
};

/* The boundary of a Content-Type; false when that is no multipart/form-data with a good one. */
bool multipart_boundary(struct weir_slice content_type, struct weir_slice *boundary);

void multipart_init(struct multipart *m, struct weir_slice boundary, multipart_fn put, void *user);
/* WEIR_BAD_REQUEST, or what `put` said. */
WEIR_MUST_CHECK enum weir_status multipart_feed(struct multipart *m, struct weir_slice bytes);
WEIR_MUST_CHECK enum weir_status multipart_end(struct multipart *m);

/* A parameter of a field's value, as filename="a.csv"; without its quotes, escapes as they are. */
bool field_parameter(struct weir_slice value, const char *lower_name, struct weir_slice *out);
