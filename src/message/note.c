/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes: what was odd about a stream and did no harm. There is a ceiling on
 * them, and equal ones are counted; a note that there is no memory for is not
 * worth failing the stream.
 */
#include <string.h>

#include "base/slice.h"
#include "message/message_impl.h"

enum { NAME_BYTES = 64 };

static WEIR_MUST_CHECK bool put(struct weir_message *m, struct weir_json *note, const char *key,
                                struct weir_json *value)
{
    return message_set_side(m, note, key, value) == WEIR_OK;
}

static WEIR_MUST_CHECK bool put_text(struct weir_message *m, struct weir_json *note,
                                     const char *key, struct weir_slice text)
{
    return put(m, note, key, weir_json_new_string(m->side, text));
}

static struct weir_json *add(struct weir_message *m, const char *code, const char *text)
{
    struct weir_json *node = weir_json_new(m->side, WEIR_JSON_OBJECT);
    bool is_made = put_text(m, node, "code", weir_slice_of(code)) &&
                   put_text(m, node, "text", weir_slice_of(text)) &&
                   weir_json_push(m->side, m->notes.list, node) == WEIR_OK;
    return is_made ? node : NULL;
}

/* A new note; NULL when there are too many, which the last one says. */
static struct weir_json *add_note(struct weir_message *m, const char *code, const char *text)
{
    struct notes *notes = &m->notes;
    if (notes->n < MAX_NOTES) {
        struct weir_json *node = add(m, code, text);
        if (node) notes->made[notes->n++] = (struct note){code, node, 1};
        return node;
    }
    if (!notes->has_more) (void)add(m, "more_notes", "there were more notes than are kept");
    notes->has_more = true;
    return NULL;
}

/* Counts a note that is there already; false when it is new. */
static bool count_again(struct weir_message *m, const char *code, struct weir_slice name)
{
    for (size_t i = 0; i < m->notes.n; i++) {
        struct note *known = &m->notes.made[i];
        if (strcmp(known->code, code) != 0) continue;
        if (!slice_eq(weir_json_text(weir_json_get_str(known->node, "name")), name)) continue;
        /* The number itself is made in scratch, which is emptied with every event. */
        struct weir_json *count = weir_json_new_int(m->scratch, ++known->count);
        if (count) (void)!weir_json_update(m->side, known->node, SLICE("count"), count);
        return true;
    }
    return false;
}

void note_name(struct weir_message *m, const char *code, const char *text, struct weir_slice name)
{
    name = message_cut(name, NAME_BYTES);
    if (count_again(m, code, name)) return;
    struct weir_json *node = add_note(m, code, text);
    if (node && name.len > 0) (void)!put_text(m, node, "name", name);
}

void note(struct weir_message *m, const char *code, const char *text)
{
    note_name(m, code, text, SLICE(""));
}

void note_input(struct weir_message *m, const char *code, const char *text, size_t block,
                size_t offset)
{
    const struct weir_json *id = weir_json_get_str(weir_message_block(m, block), "id");
    struct weir_json *node = add_note(m, code, text);
    bool is_full = node && put(m, node, "block", weir_json_new_int(m->side, (int64_t)block)) &&
                   put(m, node, "offset", weir_json_new_int(m->side, (int64_t)offset));
    if (is_full && is_text(id))
        (void)!put_text(m, node, "id", message_cut(weir_json_text(id), NAME_BYTES));
}
