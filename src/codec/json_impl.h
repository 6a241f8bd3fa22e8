/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the JSON files of this folder share: the shape of a value.
 *
 * A document is an arena; a value is a node in it. Members of an array or
 * object form a singly linked list, and every node knows its parent, so that
 * trees of any depth are walked without recursion or a stack.
 *
 * An object answers "is this key there already?" in three ways as it grows:
 * with no member, trivially; with few, by `seen`, a 64-bit sieve of cheap key
 * hashes that mostly says "surely not", and a walk over the list otherwise;
 * beyond INDEX_FROM members by a hash table keyed with the document's secret.
 */
#pragma once

#include <weir/json.h>

#include "base/arena.h"
#include "base/hash.h"

enum { JSON_INDEX_FROM = 16 };

struct json_index;

struct weir_json {
    struct weir_json *next;
    struct weir_json *parent;
    const char *key;
    uint32_t key_len;
    uint8_t type;
    bool is_whole;
    union {
        struct arena_text text; /* string, number */
        struct {
            struct weir_json *first; /* array, object */
            struct weir_json *last;
        };
    };
    uint32_t n_members;
    union {
        uint64_t seen;            /* object with up to JSON_INDEX_FROM members */
        struct json_index *index; /* larger object */
    };
};

struct weir_json_doc {
    struct arena arena;
    struct hash_key hash_key;
    bool has_hash_key; /* made when the first index is */
};

/* One bit of 64 for the sieve: keys of one object tend to differ in length or some byte. */
static inline uint64_t json_sieve_bit(struct weir_slice key)
{
    unsigned h = (unsigned)key.len;
    if (key.len > 0) {
        h += (unsigned char)key.ptr[0] * 5u;
        h += (unsigned char)key.ptr[key.len - 1] * 11u;
        h += (unsigned char)key.ptr[key.len / 2] * 29u;
    }
    return UINT64_C(1) << (h & 63);
}

/* A node of this document without a parent; NULL with the arena's status set. */
static inline struct weir_json *json_node_new(struct weir_json_doc *doc, enum weir_json_type type)
{
    struct weir_json *node = arena_alloc(&doc->arena, sizeof *node);
    if (node) *node = (struct weir_json){.type = (uint8_t)type};
    return node;
}

/* Puts a node behind the last member of an array or object. */
static inline void json_append_member(struct weir_json *parent, struct weir_json *node)
{
    node->parent = parent;
    if (parent->last) parent->last->next = node;
    else parent->first = node;
    parent->last = node;
    parent->n_members++;
}

/* The value that follows `at` in document order, inside `top`; NULL at the end. */
static inline struct weir_json *json_next_in(const struct weir_json *top,
                                             const struct weir_json *at)
{
    struct weir_json *first = at->type >= WEIR_JSON_ARRAY ? at->first : NULL;
    if (first) return first;
    while (at != top && !at->next) at = at->parent;
    return at == top ? NULL : at->next;
}

/*
 * The member with this key, or NULL. Constant time on average, whatever the
 * size and whoever chose the keys.
 */
struct weir_json *json_find_member(const struct weir_json *object, struct weir_slice key);

/* Appends a member whose key, already set, is known to be new. */
WEIR_MUST_CHECK enum weir_status json_add_member(struct weir_json_doc *doc,
                                                 struct weir_json *object, struct weir_json *node);

/* Makes the index name `node` where it named another member with the same key. */
void json_index_replace(struct weir_json *object, struct weir_json *node);

/* Turns a node into an empty value of another type, in its place. */
void json_node_clear(struct weir_json *node, enum weir_json_type type);

/* Whether both have the same types, keys and numbers of members; their texts may differ. */
bool json_same_shape(const struct weir_json *a, const struct weir_json *b);

enum { JSON_DOUBLE_BYTES = 32 };

/* The shortest digits that read back as x, and their number; 0 when x is not finite. */
size_t json_write_double(char digits[JSON_DOUBLE_BYTES], double x);
