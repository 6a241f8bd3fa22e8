/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the guard know of each other.
 *
 * A look at a request has three parts. guard_collect() lists its strings as items, each with what
 * may be done to it; guard_scan() finds spans in them, in all the ways a value can stand there;
 * guard_write() writes the request anew, with what whoever calls it puts in place of each string.
 */
#pragma once

#include <weir/json.h>

#include "base/arena.h"
#include "base/map.h"
#include "shield/guard.h"

enum {
    GUARD_DEPTH = 1024,         /* of containers in containers */
    GUARD_NESTED = 4,           /* of JSON texts inside of strings */
    GUARD_MAX_ITEMS = 1 << 20,  /* strings of one request */
    GUARD_BYTES = 256 << 20,    /* of what is written, and of what is decoded */
    GUARD_ROUNDS = 4,           /* of redacting what redacting has brought to light */
    GUARD_CONTEXT_BYTES = 1024, /* of a value that is looked at with its name before it */
    GUARD_WINDOW_BYTES = 2048,  /* of a text, at each end, that is looked at with its neighbours */
};

struct guard {
    const struct shield_policy *policy;
    struct token_map *tokens;
    struct map allowed;           /* values that may leave */
    struct weir_buf allowed_text; /* NUL, value, NUL, value, … NUL */
    bool is_strict;               /* they do not count */
    uint64_t n_changes;
};

enum item_kind {
    ITEM_TEXT,   /* can be replaced */
    ITEM_NUMBER, /* the same, as a whole */
    ITEM_WORD,   /* of a closed list, as a role: own terms do not count in it */
    ITEM_NAME,   /* an id, a tool's name: nothing can stand in its place */
    ITEM_NESTED, /* a JSON text of its own; its items follow */
    ITEM_BASE64, /* a text in base64 */
    ITEM_BLIND,  /* bytes that nobody can look into */
};

struct guard_item {
    const struct weir_json *node;
    struct weir_slice text;         /* base64: decoded; a number: without exponent; the arena's */
    struct weir_slice parent, name; /* the members it stands in, where they say what it is */
    const struct weir_json *nested; /* the JSON inside */
    size_t n_head;                  /* base64: bytes before it, "data:text/plain;base64," */
    size_t first_span, n_spans;     /* in the look's list, once it is sorted */
    size_t outer;                   /* the item whose string it is in; itself: in none */
    uint32_t group;                 /* texts next to each other have the same; 0: alone */
    enum item_kind kind;
    bool is_key; /* the member's name, not its value */
};

struct guard_span {
    size_t item;
    struct shield_finding at;
    struct weir_slice whole; /* of one that goes on in the next text: all of it; the arena's */
};

struct look {
    const struct guard *guard;
    struct arena arena;
    struct weir_json_doc *doc; /* of nested texts; NULL: there was none yet */
    struct guard_item *items;
    size_t n_items, cap_items;
    struct guard_span *spans;
    size_t n_spans, cap_spans;
    uint32_t last_group;
};

void look_init(struct look *l, const struct guard *g);
void look_fini(struct look *l);

/* Lists the strings of a request. WEIR_LIMIT, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status guard_collect(struct look *l, enum guard_form form,
                                               const struct weir_json *request);

/* Finds the spans, in the order of the items and without overlaps. */
WEIR_MUST_CHECK enum weir_status guard_scan(struct look *l);

/* Where in the request an item stands, without anything private. */
void guard_where(const struct look *l, const struct weir_json *request,
                 const struct guard_item *item, char out[GUARD_WHERE_BYTES]);

bool guard_is_allowed(const struct guard *g, struct weir_slice value);

/* ---- views: a text as its reader decodes it ---- */

/* Of each byte of a view: where in the text it comes from, and of its end. */
struct guard_view {
    struct weir_buf text;
    uint32_t *from; /* text.len + 1 */
};

/* Whether there is anything to decode. */
bool guard_view_is_needed(struct weir_slice text);
WEIR_MUST_CHECK enum weir_status guard_view_make(struct guard_view *v, struct weir_slice text);
void guard_view_fini(struct guard_view *v);

/* ---- media: what bytes are ---- */

struct guard_data_url {
    struct weir_slice type;
    size_t n_head; /* bytes up to its comma, that one too */
    bool is_base64;
};

/* "data:TYPE…,…" as a whole, with spaces before it. */
bool guard_data_url(struct weir_slice text, struct guard_data_url *out);
/* Whether such a type is one of text. */
bool guard_media_is_text(struct weir_slice type);
/* Whether they can be read, and are what they show. */
bool guard_bytes_are_text(struct weir_slice bytes);
/* Whether a text is nothing but base64, and long enough to be bytes of something. */
bool guard_is_base64(struct weir_slice text);

/* ---- base64, and JSON in strings ---- */

/* Appends the bytes; false, with anything appended: it is none. */
bool guard_base64_read(struct weir_buf *out, struct weir_slice text);
void guard_base64_write(struct weir_buf *out, struct weir_slice bytes);

/*
 * The object or array that a string is as a whole; *value NULL: it is none. *doc is made when
 * needed. WEIR_NOMEM, WEIR_LIMIT: nobody knows.
 */
WEIR_MUST_CHECK enum weir_status guard_nested(struct weir_json_doc **doc, struct weir_slice text,
                                              const struct weir_json **value);

/* ---- writing ---- */

struct guard_writer {
    struct weir_buf *out;
    /* Writes a string or number, or the name of a member with weir_json_put_key_slice(). */
    enum weir_status (*put)(struct guard_writer *w, const struct weir_json *node, bool is_key);
    void *user;
};
WEIR_MUST_CHECK enum weir_status guard_write(struct guard_writer *w, const struct weir_json *root);
