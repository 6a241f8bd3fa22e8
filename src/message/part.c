/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a message: found by the index that the sender gave them, in a sorted
 * list, and kept by the number of their arrival, which callbacks speak of.
 */
#include <string.h>

#include "base/mem.h"
#include "message/message_impl.h"

struct place {
    int64_t index;
    size_t number;
};

void *part_add_item(struct weir_message *m, struct items *items, size_t item_size)
{
    enum { FIRST_CAP = 8 };
    if (items->n == m->max_blocks) {
        message_fail(m, WEIR_LIMIT);
        return NULL;
    }
    if (items->n == items->cap) {
        size_t cap = items->cap > 0 ? items->cap * 2 : FIRST_CAP;
        void *grown = mem_realloc(items->ptr, cap * item_size);
        if (!grown) {
            message_fail(m, WEIR_NOMEM);
            return NULL;
        }
        items->ptr = grown;
        items->cap = cap;
    }
    void *item = (char *)items->ptr + items->n++ * item_size;
    memset(item, 0, item_size);
    return item;
}

/* Where the index stands in the order, or where it would. */
static size_t place_of(const struct weir_message *m, int64_t index)
{
    const struct place *places = m->order.ptr;
    size_t low = 0;
    size_t high = m->order.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places[middle].index < index) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool part_find(const struct weir_message *m, int64_t index, size_t *number)
{
    const struct place *places = m->order.ptr;
    size_t at = place_of(m, index);
    if (at == m->order.n || places[at].index != index) return false;
    *number = places[at].number;
    return true;
}

void *part_add(struct weir_message *m, int64_t index, struct weir_json *node, size_t item_size)
{
    size_t at = place_of(m, index);
    enum weir_status st = weir_json_insert(m->doc, m->list, at, node);
    if (st != WEIR_OK) {
        message_fail(m, st);
        return NULL;
    }
    if (!part_add_item(m, &m->order, sizeof(struct place))) return NULL;
    struct place *place = (struct place *)m->order.ptr + at;
    memmove(place + 1, place, (m->order.n - 1 - at) * sizeof *place);
    *place = (struct place){.index = index, .number = m->parts.n};
    return part_add_item(m, &m->parts, item_size);
}
