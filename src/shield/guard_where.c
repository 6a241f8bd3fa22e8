/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a request something stands, for whoever is told that it was refused:
 * "messages[0].content[1].source.data". Names of members are in it, so none that is private, or no
 * plain name, may be: such a one is written as "…".
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "shield/guard_impl.h"
#include "shield/scan_impl.h"

enum { NAME_BYTES = 40 /* of a member, that are said */ };

/* A container on the way, and the member of it that the way goes through. */
struct step {
    const struct weir_json *node, *at;
    size_t index;
};

/* The way to a node; its length, 0: it is not in there. */
static size_t way_to(const struct weir_json *root, const struct weir_json *node, struct step *steps)
{
    size_t depth = 1;
    steps[0] = (struct step){root, weir_json_first(root), 0};
    while (depth > 0) {
        struct step *s = &steps[depth - 1];
        if (s->at == node) return depth;
        const struct weir_json *inside = s->at ? weir_json_first(s->at) : NULL;
        if (inside && depth < GUARD_DEPTH) {
            steps[depth++] = (struct step){s->at, inside, 0};
            continue;
        }
        while (depth > 0 && (!steps[depth - 1].at || !weir_json_next(steps[depth - 1].at))) depth--;
        if (depth == 0) break;
        s = &steps[depth - 1];
        s->at = weir_json_next(s->at);
        s->index++;
    }
    return 0;
}

static bool is_plain_name(struct weir_slice name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!(shield_bytes[(unsigned char)name.ptr[i]] & BYTE_ALNUM) && !strchr("_-", name.ptr[i]))
            return false;
    return name.len > 0 && name.len <= NAME_BYTES;
}

static bool is_private_name(const struct look *l, const struct weir_json *member)
{
    for (size_t i = 0; i < l->n_items; i++)
        if (l->items[i].is_key && l->items[i].node == member) return l->items[i].n_spans > 0;
    return false;
}

static void put_step(const struct look *l, const struct step *s, struct weir_buf *out)
{
    char number[24];
    if (weir_json_type_of(s->node) == WEIR_JSON_ARRAY) {
        snprintf(number, sizeof number, "[%zu]", s->index);
        weir_buf_append_str(out, number);
        return;
    }
    struct weir_slice name = weir_json_key(s->at);
    if (out->len > 0) weir_buf_append_char(out, '.');
    if (is_plain_name(name) && !is_private_name(l, s->at)) weir_buf_append_slice(out, name);
    else weir_buf_append_str(out, "…");
}

void guard_where(const struct look *l, const struct weir_json *request,
                 const struct guard_item *item, char out[GUARD_WHERE_BYTES])
{
    enum { LONGEST = GUARD_WHERE_BYTES - NAME_BYTES - 8 };
    struct weir_buf text;
    out[0] = 0;
    struct step *steps = mem_alloc(GUARD_DEPTH * sizeof *steps);
    if (!steps) return;
    weir_buf_init(&text, 2 * (size_t)GUARD_WHERE_BYTES);
    size_t n = way_to(request, l->items[item->outer].node, steps);
    for (size_t i = 0; i < n && text.len < LONGEST; i++) put_step(l, &steps[i], &text);
    if (text.status == WEIR_OK && text.len < GUARD_WHERE_BYTES)
        snprintf(out, GUARD_WHERE_BYTES, "%.*s", (int)text.len, text.ptr ? text.ptr : "");
    weir_buf_fini(&text);
    mem_free(steps);
}
