/* SPDX-License-Identifier: Apache-2.0 */
/* Building and changing values, as the accumulators of src/message do. */
#include <inttypes.h>
#include <stdio.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_impl.h"

static struct weir_json *new_whole(struct weir_json_doc *doc, enum weir_json_type type)
{
    struct weir_json *node = json_node_new(doc, type);
    if (node) node->is_whole = true;
    return node;
}

struct weir_json *weir_json_new(struct weir_json_doc *doc, enum weir_json_type type)
{
    /* A number without digits would be none: zero is the least there is. */
    return type == WEIR_JSON_NUMBER ? weir_json_new_int(doc, 0) : new_whole(doc, type);
}

static WEIR_MUST_CHECK enum weir_status append_bytes(struct weir_json_doc *doc,
                                                     struct weir_json *node, struct weir_slice s)
{
    return s.len > 0 ? arena_text_append(&doc->arena, &node->text, s.ptr, s.len) : WEIR_OK;
}

struct weir_json *weir_json_new_string(struct weir_json_doc *doc, struct weir_slice text)
{
    struct weir_json *node = new_whole(doc, WEIR_JSON_STRING);
    if (node && append_bytes(doc, node, text) != WEIR_OK) return NULL;
    return node;
}

static struct weir_json *new_number(struct weir_json_doc *doc, struct weir_slice digits)
{
    struct weir_json *node = weir_json_new_string(doc, digits);
    if (node) node->type = WEIR_JSON_NUMBER;
    return node;
}

struct weir_json *weir_json_new_double(struct weir_json_doc *doc, double x)
{
    char digits[JSON_DOUBLE_BYTES];
    size_t len = json_write_double(digits, x);
    return len > 0 ? new_number(doc, slice_of(digits, len)) : weir_json_new(doc, WEIR_JSON_NULL);
}

struct weir_json *weir_json_new_int(struct weir_json_doc *doc, int64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, n);
    return new_number(doc, slice_of(digits, (size_t)len));
}

/* ---- members ---- */

/* Why a value that was to be put somewhere could not be made. */
static enum weir_status missing(const struct weir_json_doc *doc)
{
    return doc->arena.status != WEIR_OK ? doc->arena.status : WEIR_INVALID;
}

/* Whether value may be put under container: it is free, and container is not inside it. */
static bool may_hold(const struct weir_json *container, const struct weir_json *value)
{
    if (value->parent || value == container) return false;
    if (!weir_json_first(value)) return true;
    while (container && container != value) container = container->parent;
    return !container;
}

static bool copy_key(struct weir_json_doc *doc, struct weir_json *node, struct weir_slice key)
{
    struct arena_text text = {0};
    if (arena_text_reserve(&doc->arena, &text, key.len) != WEIR_OK) return false;
    if (key.len > 0) memcpy(text.ptr, key.ptr, key.len);
    node->key = key.len > 0 ? text.ptr : "";
    node->key_len = (uint32_t)key.len;
    return true;
}

/* Puts node where old was. The list knows no way back, so it is walked. */
static void replace_member(struct weir_json *object, struct weir_json *old, struct weir_json *node)
{
    struct weir_json **link = &object->first;
    struct weir_json *before = NULL;
    while (*link != old) {
        before = *link;
        link = &before->next;
    }
    *link = node;
    node->next = old->next;
    node->parent = object;
    node->key = old->key;
    node->key_len = old->key_len;
    if (object->last == old) object->last = node;
    old->next = NULL;
    old->parent = NULL;
    json_index_replace(object, node);
}

enum weir_status weir_json_set(struct weir_json_doc *doc, struct weir_json *object,
                               struct weir_slice key, struct weir_json *value)
{
    if (!value || !object) return missing(doc);
    if (object->type != WEIR_JSON_OBJECT || !may_hold(object, value)) return WEIR_INVALID;
    struct weir_json *old = json_find_member(object, key);
    if (old) {
        replace_member(object, old, value);
        return WEIR_OK;
    }
    if (!copy_key(doc, value, key)) return doc->arena.status;
    return json_add_member(doc, object, value);
}

/* ---- copies ---- */

static WEIR_MUST_CHECK enum weir_status add_copy(struct weir_json_doc *doc, struct weir_json *to,
                                                 struct weir_json *node, struct weir_slice key)
{
    if (!node) return missing(doc);
    if (to->type == WEIR_JSON_ARRAY) {
        json_append_member(to, node);
        return WEIR_OK;
    }
    /* The keys of a value are distinct, so none has to be looked for. */
    if (!copy_key(doc, node, key)) return doc->arena.status;
    return json_add_member(doc, to, node);
}

/* Gives an empty node v's text and, in document order, copies of its members. */
static WEIR_MUST_CHECK enum weir_status copy_into(struct weir_json_doc *doc, struct weir_json *node,
                                                  const struct weir_json *v)
{
    struct weir_json *to = node;
    const struct weir_json *from = weir_json_first(v);
    node->is_whole = !v || v->is_whole;
    enum weir_status st = append_bytes(doc, node, weir_json_text(v));
    while (from && st == WEIR_OK) {
        struct weir_json *copy = json_node_new(doc, weir_json_type_of(from));
        st = add_copy(doc, to, copy, weir_json_key(from));
        if (st == WEIR_OK) st = append_bytes(doc, copy, weir_json_text(from));
        if (st != WEIR_OK) break;
        copy->is_whole = from->is_whole;
        if (weir_json_first(from)) {
            to = copy;
            from = weir_json_first(from);
            continue;
        }
        while (!from->next && from->parent != v) {
            from = from->parent;
            to = to->parent;
        }
        from = from->next;
    }
    return st;
}

struct weir_json *weir_json_copy(struct weir_json_doc *doc, const struct weir_json *v)
{
    struct weir_json *node = json_node_new(doc, weir_json_type_of(v));
    return node && copy_into(doc, node, v) == WEIR_OK ? node : NULL;
}

/* ---- changes ---- */

/* Replaces the text of a number or string, in its old memory if it fits. */
static WEIR_MUST_CHECK enum weir_status replace_text(struct weir_json_doc *doc,
                                                     struct weir_json *node, struct weir_slice text)
{
    if (text.len > node->text.cap) {
        /* Twice the size, so that a growing text moves but a few times. */
        size_t room = text.len > UINT32_MAX / 2 ? text.len : 2 * text.len;
        struct arena_text fresh = {0};
        enum weir_status st = arena_text_reserve(&doc->arena, &fresh, room);
        if (st != WEIR_OK) return st;
        node->text = fresh;
    }
    node->text.len = 0;
    return append_bytes(doc, node, text);
}

/* Gives a value the texts of another of the same shape. */
static WEIR_MUST_CHECK enum weir_status replace_texts(struct weir_json_doc *doc,
                                                      struct weir_json *old,
                                                      const struct weir_json *value)
{
    const struct weir_json *top = value;
    struct weir_json *at = old;
    for (; value; value = json_next_in(top, value), at = json_next_in(old, at)) {
        struct weir_slice text = weir_json_text(value);
        if (value->type != WEIR_JSON_NUMBER && value->type != WEIR_JSON_STRING) continue;
        if (slice_eq(text, weir_json_text(at))) continue;
        enum weir_status st = replace_text(doc, at, text);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* Makes old what fresh is, in old's place; fresh is not to be used any more. */
static void move_into(struct weir_json *old, struct weir_json *fresh)
{
    fresh->next = old->next;
    fresh->parent = old->parent;
    fresh->key = old->key;
    fresh->key_len = old->key_len;
    *old = *fresh;
    if (!weir_json_first(old)) return;
    for (struct weir_json *x = old->first; x; x = x->next) x->parent = old;
}

enum weir_status weir_json_update(struct weir_json_doc *doc, struct weir_json *object,
                                  struct weir_slice key, const struct weir_json *value)
{
    if (!object) return missing(doc);
    if (object->type != WEIR_JSON_OBJECT) return WEIR_INVALID;
    struct weir_json *old = json_find_member(object, key);
    if (!old) return weir_json_set(doc, object, key, weir_json_copy(doc, value));
    if (value && json_same_shape(old, value)) return replace_texts(doc, old, value);
    struct weir_json *fresh = weir_json_copy(doc, value);
    if (!fresh) return missing(doc);
    move_into(old, fresh);
    return WEIR_OK;
}

enum weir_status weir_json_insert(struct weir_json_doc *doc, struct weir_json *array,
                                  size_t position, struct weir_json *value)
{
    if (!value || !array) return missing(doc);
    if (array->type != WEIR_JSON_ARRAY || !may_hold(array, value)) return WEIR_INVALID;
    if (position >= array->n_members) {
        json_append_member(array, value);
        return WEIR_OK;
    }
    struct weir_json **link = &array->first;
    for (size_t i = 0; i < position; i++) link = &(*link)->next;
    value->parent = array;
    value->next = *link;
    *link = value;
    array->n_members++;
    return WEIR_OK;
}

enum weir_status weir_json_push(struct weir_json_doc *doc, struct weir_json *array,
                                struct weir_json *value)
{
    return weir_json_insert(doc, array, SIZE_MAX, value);
}

/* ---- text ---- */

/*
 * Joins a high surrogate at the end of the text to a low one at the start of
 * more: three bytes give way to four. *more becomes what is left of it.
 */
static WEIR_MUST_CHECK enum weir_status join_halves(struct weir_json_doc *doc,
                                                    struct weir_json *string,
                                                    struct weir_slice *more)
{
    struct weir_slice text = weir_json_text(string);
    uint32_t high;
    uint32_t low;
    char joined[UTF8_MAX_BYTES];
    if (text.len < 3 || !utf8_is_surrogate(slice_from(text, text.len - 3), &high)) return WEIR_OK;
    if (!utf16_is_high(high) || !utf8_is_surrogate(*more, &low) || !utf16_is_low(low))
        return WEIR_OK;
    enum weir_status st = arena_text_reserve(&doc->arena, &string->text, 1);
    if (st != WEIR_OK) return st;
    string->text.len -= 3;
    *more = slice_from(*more, 3);
    return append_bytes(doc, string, slice_of(joined, utf8_encode(joined, utf16_join(high, low))));
}

enum weir_status weir_json_append(struct weir_json_doc *doc, struct weir_json *string,
                                  struct weir_slice more)
{
    if (!string || string->type != WEIR_JSON_STRING) return WEIR_INVALID;
    if (more.len > 0 && (unsigned char)more.ptr[0] == 0xED) {
        enum weir_status st = join_halves(doc, string, &more);
        if (st != WEIR_OK) return st;
    }
    return append_bytes(doc, string, more);
}
