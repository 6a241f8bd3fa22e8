/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fan/fake_store.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/slice.h"
#include "store/chunk.h"
#include "t.h"

void fake_init(struct store *s, struct hub *h)
{
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->hub = h;
    s->now_percent = 100;
}

void fake_fini(struct store *s)
{
    fake_answer_all(s);
    fake_lose_news(s);
    pthread_mutex_destroy(&s->lock);
}

struct weir_slice fake_name(unsigned log)
{
    static const char *const names[FAKE_LOGS] = {
        "a",      "b",      "turn/c", "d",      "a name that is longer than sixteen", "f",
        "g",      "h",      "i",      "j",      "another one that is not so short",   "l",
        "log-12", "log-13", "log-14", "log-15",
    };
    return slice_of(names[log], strlen(names[log]));
}

size_t fake_event(char out[FAKE_EVENT_BYTES], uint64_t log_id, uint64_t id)
{
    unsigned n_fill = (unsigned)((log_id * 7919 + id * 104729) % 397);
    int len = snprintf(out, FAKE_EVENT_BYTES, "id: %llu\ndata: %llu/%llu ", (unsigned long long)id,
                       (unsigned long long)log_id, (unsigned long long)id);
    for (unsigned i = 0; i < n_fill; i++) out[len++] = i % 50 == 49 ? ':' : (char)('a' + i % 26);
    out[len++] = '\n';
    out[len++] = '\n';
    return (size_t)len;
}

static struct chunk *make_chunk(uint64_t log_id, uint64_t first, uint64_t last)
{
    char event[FAKE_EVENT_BYTES];
    size_t len = 0;
    for (uint64_t id = first; id <= last; id++) len += fake_event(event, log_id, id);
    struct chunk *c = chunk_new(first, last, len);
    if (!c) return NULL;
    len = 0;
    for (uint64_t id = first; id <= last; id++) {
        size_t n = fake_event(event, log_id, id);
        memcpy(c->bytes + len, event, n);
        len += n;
    }
    return c;
}

/* ---- changing ---- */

static void add_news(struct store *s, unsigned log, struct store_news news)
{
    CHECK(s->n_news < FAKE_NEWS);
    news.log = fake_name(log);
    news.log_id = s->logs[log].log_id;
    s->news[s->n_news++] = (struct fake_news){log, news};
}

static uint64_t next_log_id(struct store *s)
{
    uint64_t id = ++s->last_log_id;
    return s->is_shared ? (id + 3) ^ 3 : id;
}

void fake_append(struct store *s, unsigned log, unsigned n_events)
{
    pthread_mutex_lock(&s->lock);
    struct fake_log *l = &s->logs[log];
    bool is_made = l->log_id == 0;
    if (is_made) *l = (struct fake_log){.log_id = next_log_id(s)};
    CHECK(!l->is_sealed);
    struct chunk *c = make_chunk(l->log_id, l->last + 1, l->last + n_events);
    l->last += c ? n_events : 0; /* no memory: nothing happened */
    if (c) add_news(s, log, (struct store_news){.chunk = c, .is_made = is_made});
    else if (is_made) *l = (struct fake_log){0};
    pthread_mutex_unlock(&s->lock);
}

void fake_make(struct store *s, unsigned log)
{
    pthread_mutex_lock(&s->lock);
    CHECK(s->logs[log].log_id == 0);
    s->logs[log] = (struct fake_log){.log_id = next_log_id(s)};
    add_news(s, log, (struct store_news){.is_made = true});
    pthread_mutex_unlock(&s->lock);
}

void fake_seal(struct store *s, unsigned log)
{
    pthread_mutex_lock(&s->lock);
    s->logs[log].is_sealed = true;
    add_news(s, log, (struct store_news){.is_sealed = true});
    pthread_mutex_unlock(&s->lock);
}

void fake_drop(struct store *s, unsigned log)
{
    pthread_mutex_lock(&s->lock);
    add_news(s, log, (struct store_news){.is_dropped = true});
    s->logs[log] = (struct fake_log){0};
    pthread_mutex_unlock(&s->lock);
}

/* ---- news ---- */

static void forget_news(struct store *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct fake_log *l = &s->logs[s->news[i].log];
        const struct store_news *news = &s->news[i].news;
        if (news->chunk && l->log_id == news->log_id) l->published = news->chunk->last;
        chunk_unref(news->chunk);
    }
    s->n_news -= n;
    memmove(s->news, s->news + n, s->n_news * sizeof *s->news);
}

void fake_shuffle_news(struct store *s)
{
    for (size_t i = s->n_news; i > 1; i--) {
        size_t k = t_random() % i;
        struct fake_news news = s->news[k];
        s->news[k] = s->news[i - 1];
        s->news[i - 1] = news;
    }
}

void fake_publish(struct store *s, size_t n)
{
    static _Thread_local struct store_news given[FAKE_NEWS];
    pthread_mutex_lock(&s->lock);
    if (n > s->n_news) n = s->n_news;
    for (size_t i = 0; i < n; i++) given[i] = s->news[i].news;
    pthread_mutex_unlock(&s->lock);
    if (n > 0) hub_news(s->hub, given, n);
    pthread_mutex_lock(&s->lock);
    forget_news(s, n);
    pthread_mutex_unlock(&s->lock);
}

void fake_publish_all(struct store *s)
{
    fake_publish(s, FAKE_NEWS);
}

void fake_lose_news(struct store *s)
{
    forget_news(s, s->n_news);
}

/* ---- reading ---- */

/* Any other name is that of a log that is not there. */
static const struct fake_log *log_by_name(const struct store *s, struct weir_slice name)
{
    static const struct fake_log none;
    unsigned log = 0;
    while (log < FAKE_LOGS && !slice_eq(fake_name(log), name)) log++;
    return log < FAKE_LOGS ? &s->logs[log] : &none;
}

/* As many events as come near max_bytes, and one at least. */
static uint64_t last_of_read(const struct fake_log *l, uint64_t from, size_t max_bytes)
{
    char event[FAKE_EVENT_BYTES];
    size_t len = 0;
    uint64_t id = from;
    for (; id <= l->last && len < max_bytes; id++) len += fake_event(event, l->log_id, id);
    return id - 1;
}

static void read_chunks(const struct store *s, const struct fake_log *l, uint64_t from,
                        uint64_t last, struct log_read *out)
{
    while (from <= last && out->n_chunks < STORE_READ_CHUNKS) {
        uint64_t end = s->chunk_events ? from + s->chunk_events - 1 : last;
        if (end > last) end = last;
        struct chunk *c = make_chunk(l->log_id, from, end);
        if (!c) out->status = WEIR_NOMEM;
        if (!c) return;
        out->chunks[out->n_chunks++] = c;
        from = end + 1;
    }
}

void store_read(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                struct log_read *out)
{
    pthread_mutex_lock(&s->lock);
    const struct fake_log *l = log_by_name(s, log);
    *out = (struct log_read){.status = s->status};
    s->n_store_reads++;
    if (s->status == WEIR_OK && l->log_id > 0) {
        out->state = (struct log_state){true, l->is_sealed, l->log_id, l->last};
        if (max_bytes > 0 && !s->hides_events)
            read_chunks(s, l, from, last_of_read(l, from, max_bytes), out);
    }
    pthread_mutex_unlock(&s->lock);
}

bool store_read_now(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                    struct log_read *out)
{
    if (s->now_percent == 0) return false;
    if (s->now_percent < 100 && t_random() % 100 >= s->now_percent) return false;
    store_read(s, log, from, max_bytes, out);
    return true;
}

void store_read_later(struct store *s, struct weir_slice log, uint64_t from, size_t max_bytes,
                      log_read_fn done, void *user)
{
    pthread_mutex_lock(&s->lock);
    CHECK(s->n_reads < FAKE_READS);
    struct fake_read *r = &s->reads[s->n_reads++];
    *r = (struct fake_read){.name_len = log.len, .from = from, .max_bytes = max_bytes};
    memcpy(r->name, log.ptr, log.len);
    r->done = done;
    r->user = user;
    pthread_mutex_unlock(&s->lock);
}

void fake_look(struct store *s, size_t i)
{
    struct fake_read *r = &s->reads[i];
    if (r->has_looked) return;
    store_read(s, slice_of(r->name, r->name_len), r->from, r->max_bytes, &r->result);
    r->has_looked = true;
}

void fake_answer(struct store *s, size_t i)
{
    pthread_mutex_lock(&s->lock);
    struct fake_read r = s->reads[i];
    s->n_reads--;
    memmove(s->reads + i, s->reads + i + 1, (s->n_reads - i) * sizeof *s->reads);
    pthread_mutex_unlock(&s->lock);
    if (!r.has_looked) store_read(s, slice_of(r.name, r.name_len), r.from, r.max_bytes, &r.result);
    r.done(r.user, &r.result);
}

void fake_answer_all(struct store *s)
{
    while (s->n_reads > 0) fake_answer(s, 0);
}
