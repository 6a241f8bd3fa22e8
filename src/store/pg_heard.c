/* SPDX-License-Identifier: Apache-2.0 */
/* What a listener hands over, and how much of it is out. */
#include "base/mem.h"
#include "base/slice.h"
#include "store/pg_listen_impl.h"

enum { NAMES_BYTES = 16 << 20, FIRST_CAP = 16 };

struct pg_heard *heard_new(struct pg_listener *from)
{
    struct pg_heard *h = mem_zalloc(sizeof *h);
    if (!h) return NULL;
    h->from = from;
    arena_init(&h->memory, NAMES_BYTES);
    return h;
}

void pg_heard_free(struct pg_heard *h)
{
    if (!h) return;
    struct pg_listener *l = h->from;
    size_t n_bytes = h->n_bytes;
    for (size_t i = 0; i < h->n_news; i++) chunk_unref(h->news[i].chunk);
    mem_free(h->logs);
    mem_free(h->docs);
    mem_free(h->news);
    arena_fini(&h->memory);
    mem_free(h);
    pthread_mutex_lock(&l->lock);
    l->n_out--;
    l->out_bytes -= n_bytes;
    pthread_cond_signal(&l->freed);
    pthread_mutex_unlock(&l->lock);
}

bool heard_is_empty(const struct pg_heard *h)
{
    return !h->is_everything && h->n_logs == 0 && h->n_docs == 0 && h->n_news == 0;
}

/* Room for one more; false, and then nothing is known any more. */
static bool has_room(struct pg_heard *h, void *array, size_t n, size_t *cap, size_t size)
{
    void **at = array;
    if (n < *cap) return true;
    size_t more = *cap > 0 ? *cap * 2 : FIRST_CAP;
    void *grown = mem_realloc(*at, more * size);
    if (!grown) {
        h->is_everything = true;
        return false;
    }
    *at = grown;
    *cap = more;
    return true;
}

static bool keep(struct pg_heard *h, struct weir_slice from, struct weir_slice *to)
{
    char *copy = arena_alloc(&h->memory, from.len > 0 ? from.len : 1);
    if (!copy) {
        h->is_everything = true;
        return false;
    }
    if (from.len > 0) memcpy(copy, from.ptr, from.len);
    *to = slice_of(copy, from.len);
    h->n_bytes += from.len;
    return true;
}

struct pg_heard_log *heard_add_log(struct pg_heard *h, const struct pg_heard_log *log)
{
    if (!has_room(h, &h->logs, h->n_logs, &h->cap_logs, sizeof *h->logs)) return NULL;
    struct pg_heard_log *to = &h->logs[h->n_logs];
    *to = *log;
    if (!keep(h, log->name, &to->name)) return NULL;
    h->n_logs++;
    h->n_bytes += sizeof *to;
    return to;
}

void heard_add_doc(struct pg_heard *h, struct doc_key key)
{
    struct doc_key copy;
    if (!has_room(h, &h->docs, h->n_docs, &h->cap_docs, sizeof *h->docs)) return;
    if (!keep(h, key.kind, &copy.kind) || !keep(h, key.id, &copy.id)) return;
    h->docs[h->n_docs++] = copy;
    h->n_bytes += sizeof copy;
}

void heard_add_news(struct pg_heard *h, const struct store_news *news)
{
    struct store_news copy = *news;
    bool is_kept = has_room(h, &h->news, h->n_news, &h->cap_news, sizeof *h->news) &&
                   keep(h, news->log, &copy.log);
    if (!is_kept) {
        chunk_unref(news->chunk);
        return;
    }
    h->news[h->n_news++] = copy;
    h->n_bytes += sizeof copy + (copy.chunk ? copy.chunk->len : 0);
}
