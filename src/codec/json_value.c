/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values: nodes, members, lookup by key, and the read-only accessors.
 * See json_impl.h for the shape of a node.
 */
#include "base/mem.h"
#include "base/slice.h"
#include "codec/json_impl.h"

/* Open addressing, at most half full; slots hold members or NULL. */
struct json_index {
    struct hash_key hash_key;
    size_t mask;
    struct weir_json *slots[];
};

/* ---- documents and nodes ---- */

struct weir_json_doc *weir_json_doc_new(size_t max_bytes)
{
    struct weir_json_doc *doc = mem_zalloc(sizeof *doc);
    if (doc) arena_init(&doc->arena, max_bytes > 0 ? max_bytes : WEIR_JSON_DEFAULT_BYTES);
    return doc;
}

void weir_json_doc_free(struct weir_json_doc *doc)
{
    if (!doc) return;
    arena_fini(&doc->arena);
    mem_free(doc);
}

void weir_json_doc_reset(struct weir_json_doc *doc)
{
    arena_reset(&doc->arena);
}

void json_node_clear(struct weir_json *node, enum weir_json_type type)
{
    node->type = (uint8_t)type;
    node->is_whole = false;
    node->first = NULL;
    node->last = NULL;
    node->n_members = 0;
    node->seen = 0;
}

/* ---- members by key ---- */

static struct weir_slice key_of(const struct weir_json *member)
{
    return slice_of(member->key, member->key_len);
}

/* The slot that holds the key, or the empty one where it would go. */
static struct weir_json **find_slot(struct json_index *index, struct weir_slice key)
{
    size_t i = hash_bytes(index->hash_key, key) & index->mask;
    while (index->slots[i] && !slice_eq(key_of(index->slots[i]), key)) i = (i + 1) & index->mask;
    return &index->slots[i];
}

struct weir_json *json_find_member(const struct weir_json *object, struct weir_slice key)
{
    if (object->n_members > JSON_INDEX_FROM) return *find_slot(object->index, key);
    if ((object->seen & json_sieve_bit(key)) == 0) return NULL;
    struct weir_json *member = object->first;
    while (member && !slice_eq(key_of(member), key)) member = member->next;
    return member;
}

/* A table with room for twice the members that there will be next. */
static struct json_index *make_index(struct weir_json_doc *doc, const struct weir_json *object)
{
    size_t n_slots = JSON_INDEX_FROM * 4;
    while (n_slots < ((size_t)object->n_members + 1) * 4) n_slots *= 2;
    size_t size = sizeof(struct json_index) + n_slots * sizeof(struct weir_json *);
    struct json_index *index = arena_alloc(&doc->arena, size);
    if (!index) return NULL;
    memset(index, 0, size);
    index->mask = n_slots - 1;
    if (!doc->has_hash_key) doc->hash_key = hash_key_random();
    doc->has_hash_key = true;
    index->hash_key = doc->hash_key;
    for (struct weir_json *m = object->first; m; m = m->next) *find_slot(index, key_of(m)) = m;
    return index;
}

enum weir_status json_add_member(struct weir_json_doc *doc, struct weir_json *object,
                                 struct weir_json *node)
{
    if (object->n_members < JSON_INDEX_FROM) {
        object->seen |= json_sieve_bit(key_of(node));
        json_append_member(object, node);
        return WEIR_OK;
    }
    bool is_first_index = object->n_members == JSON_INDEX_FROM;
    if (is_first_index || ((size_t)object->n_members + 1) * 2 > object->index->mask) {
        struct json_index *index = make_index(doc, object);
        if (!index) return doc->arena.status;
        object->index = index;
    }
    *find_slot(object->index, key_of(node)) = node;
    json_append_member(object, node);
    return WEIR_OK;
}

void json_index_replace(struct weir_json *object, struct weir_json *node)
{
    if (object->n_members > JSON_INDEX_FROM) *find_slot(object->index, key_of(node)) = node;
}

/* ---- reading ---- */

enum weir_json_type weir_json_type_of(const struct weir_json *v)
{
    return v ? (enum weir_json_type)v->type : WEIR_JSON_NULL;
}

bool weir_json_is_whole(const struct weir_json *v)
{
    return v && v->is_whole;
}

struct weir_slice weir_json_text(const struct weir_json *v)
{
    if (!v || (v->type != WEIR_JSON_STRING && v->type != WEIR_JSON_NUMBER))
        return (struct weir_slice){"", 0};
    return v->text.len > 0 ? slice_of(v->text.ptr, v->text.len) : SLICE("");
}

const struct weir_json *weir_json_get(const struct weir_json *v, struct weir_slice key)
{
    return v && v->type == WEIR_JSON_OBJECT ? json_find_member(v, key) : NULL;
}

struct weir_json *weir_json_member(struct weir_json *object, struct weir_slice key)
{
    return object && object->type == WEIR_JSON_OBJECT ? json_find_member(object, key) : NULL;
}

const struct weir_json *weir_json_get_str(const struct weir_json *v, const char *key)
{
    return weir_json_get(v, weir_slice_of(key));
}

static bool has_members(const struct weir_json *v)
{
    return v && (v->type == WEIR_JSON_ARRAY || v->type == WEIR_JSON_OBJECT);
}

const struct weir_json *weir_json_first(const struct weir_json *v)
{
    return has_members(v) ? v->first : NULL;
}

const struct weir_json *weir_json_next(const struct weir_json *member)
{
    return member ? member->next : NULL;
}

struct weir_slice weir_json_key(const struct weir_json *member)
{
    return member && member->key ? key_of(member) : SLICE("");
}

size_t weir_json_count(const struct weir_json *v)
{
    return has_members(v) ? v->n_members : 0;
}

bool json_same_shape(const struct weir_json *a, const struct weir_json *b)
{
    const struct weir_json *top_a = a;
    const struct weir_json *top_b = b;
    while (a) {
        if (a->type != b->type || weir_json_count(a) != weir_json_count(b)) return false;
        if (a != top_a && !slice_eq(weir_json_key(a), weir_json_key(b))) return false;
        a = json_next_in(top_a, a);
        b = json_next_in(top_b, b);
    }
    return true;
}

bool weir_json_equal(const struct weir_json *a, const struct weir_json *b)
{
    const struct weir_json *top_a = a;
    const struct weir_json *top_b = b;
    if (!a || !b) return weir_json_type_of(a) == weir_json_type_of(b);
    if (!json_same_shape(a, b)) return false;
    while (a && slice_eq(weir_json_text(a), weir_json_text(b))) {
        a = json_next_in(top_a, a);
        b = json_next_in(top_b, b);
    }
    return !a;
}
