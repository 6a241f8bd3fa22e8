/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passages, as the store sees them. The index of words is the database's, so whoever searches while
 * passages wait to be settled has them settled first.
 */
#include "store/passage.h"

#include "base/slice.h"
#include "base/utf8.h"
#include "store/store_impl.h"

size_t passage_good_prefix(struct weir_slice text)
{
    size_t n = utf8_valid_prefix(text);
    const char *nul = n > 0 ? memchr(text.ptr, '\0', n) : NULL;
    return nul ? (size_t)(nul - text.ptr) : n;
}

static bool is_good(const struct passage *p)
{
    return passage_good_prefix(p->title) == p->title.len &&
           passage_good_prefix(p->text) == p->text.len &&
           (p->title.len == 0 || !memchr(p->title.ptr, '\n', p->title.len)) && p->owner.len > 0;
}

void passage_put(struct commit *c, const struct passage *p, int64_t expected_version)
{
    struct weir_buf body;
    enum weir_status st = is_good(p) ? WEIR_OK : WEIR_INVALID;
    if (p->title.len > PASSAGE_TITLE_BYTES) st = WEIR_LIMIT;
    weir_buf_init(&body, STORE_DOC_BYTES);
    if (st == WEIR_OK) {
        weir_buf_append_slice(&body, p->title);
        weir_buf_append_char(&body, '\n');
        weir_buf_append_slice(&body, p->text);
        st = weir_buf_status(&body);
    }
    if (st == WEIR_OK)
        commit_put(c, passage_key(p->id), expected_version, p->owner, weir_buf_slice(&body));
    else if (c->status == WEIR_OK) c->status = st;
    weir_buf_fini(&body);
}

/* Whether passages wait to be settled. */
static bool has_pending(struct store *s)
{
    bool has = false;
    pthread_mutex_lock(&s->index_lock);
    struct map_walk w = map_walk_begin(&s->overlay);
    while (!has && map_walk_next(&s->overlay, &w))
        has = slice_eq(pending_doc_view(w.value).kind, passage_key((struct weir_slice){0}).kind);
    pthread_mutex_unlock(&s->index_lock);
    return has;
}

enum weir_status store_search(struct store *s, const struct passage_query *query, passage_fn each,
                              void *user)
{
    enum weir_status st = has_pending(s) ? settle_and_wait(s) : WEIR_OK;
    if (st != WEIR_OK) return st;
    struct db_reader *reader = store_take_reader(s);
    if (!reader) return WEIR_IO;
    st = db_search(reader, query, each, user);
    store_give_reader(s, reader);
    return st;
}
