/* SPDX-License-Identifier: Apache-2.0 */
/* The map of placeholders that all documents of an owner share. */
#include <stdio.h>

#include "agent/library_impl.h"
#include "base/slice.h"
#include "shield/restore.h"

enum { MAP_ID_BYTES = STORE_NAME_BYTES + 16 };

static struct doc_key map_key(char id[MAP_ID_BYTES], const struct library *l)
{
    int len = snprintf(id, MAP_ID_BYTES, "documents/%.*s", (int)l->owner.len, l->owner.ptr);
    return (struct doc_key){SLICE("shield_map"), slice_of(id, (size_t)len)};
}

enum weir_status library_map_open(struct library_map *m, struct library *l)
{
    struct doc doc;
    char id[MAP_ID_BYTES];
    struct doc_key key = map_key(id, l);
    *m = (struct library_map){.guard = guard_new(l->policy),
                              .is_redacting = shield_policy_action(l->policy) != PII_OFF};
    if (!m->guard) return WEIR_NOMEM;
    enum weir_status st = store_doc_get(l->store, key, &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st == WEIR_OK) st = guard_unseal(m->guard, l->vault, key.id, doc.body);
    m->version = doc.version;
    doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_CORRUPT : st; /* the key is lost, not the document */
}

enum weir_status library_map_find(struct library_map *m, struct library *l)
{
    struct doc doc;
    char id[MAP_ID_BYTES];
    *m = (struct library_map){0};
    enum weir_status st = store_doc_get(l->store, map_key(id, l), &doc);
    m->version = doc.version;
    doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

void library_map_close(struct library_map *m)
{
    guard_free(m->guard);
    m->guard = NULL;
}

enum weir_status library_map_redact(struct library_map *m, struct weir_slice text,
                                    struct weir_buf *out, struct guard_report *report)
{
    if (m->is_redacting) return guard_redact_fresh_text(m->guard, text, out, report);
    weir_buf_append_slice(out, text);
    return weir_buf_status(out);
}

enum weir_status library_map_put(struct library_map *m, struct library *l, struct commit *c)
{
    char id[MAP_ID_BYTES];
    struct doc_key key = map_key(id, l);
    struct weir_buf sealed;
    if (token_map_count(guard_tokens(m->guard)) == 0) return WEIR_OK;
    weir_buf_init(&sealed, STORE_DOC_BYTES);
    enum weir_status st = guard_seal(m->guard, l->vault, key.id, &sealed);
    if (st == WEIR_OK) commit_put(c, key, m->version, l->owner, weir_buf_slice(&sealed));
    weir_buf_fini(&sealed);
    return st;
}

void library_map_remove(struct library_map *m, struct library *l, struct commit *c)
{
    char id[MAP_ID_BYTES];
    if (m->version > 0) commit_remove(c, map_key(id, l), m->version);
}

void library_map_restore(const struct library_map *m, struct weir_slice text, struct weir_buf *out)
{
    struct restorer r;
    restorer_init(&r, guard_tokens(m->guard), RESTORE_TEXT);
    restorer_feed(&r, text, out);
    restorer_end(&r, out);
}

void library_map_restore_line(const struct library_map *m, struct weir_slice text,
                              struct weir_buf *out)
{
    size_t at = out->len;
    library_map_restore(m, text, out);
    for (; at < out->len; at++)
        if ((unsigned char)out->ptr[at] < ' ' || out->ptr[at] == 0x7F) out->ptr[at] = ' ';
}
