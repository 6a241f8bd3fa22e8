/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a subscription and its document. See subscription.h. */
#include "hook/subscription.h"

#include <stdio.h>

#include <weir/json.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "codec/json_member.h"
#include "hook/glob.h"

enum { WAKE_RANDOM_BYTES = 12 };

/* ---- life ---- */

static char *copy_text(struct weir_slice text)
{
    char *copy = mem_alloc(text.len + 1);
    if (!copy) return NULL;
    if (text.len > 0) memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    return copy;
}

static bool copy_slice(struct weir_slice *to, struct weir_slice from)
{
    char *copy = copy_text(from);
    *to = slice_of(copy, copy ? from.len : 0);
    return copy != NULL;
}

static void free_slice(struct weir_slice s)
{
    mem_free((void *)(uintptr_t)s.ptr);
}

static bool copy_config(struct subscription_config *to, const struct subscription_config *from)
{
    to->type = from->type;
    to->lease_ttl_ms = from->lease_ttl_ms;
    bool has_all = copy_slice(&to->pattern, from->pattern);
    has_all &= copy_slice(&to->url, from->url);
    has_all &= copy_slice(&to->wake_stream, from->wake_stream);
    has_all &= copy_slice(&to->description, from->description);
    return has_all;
}

struct subscription *subscription_new(struct weir_slice id, struct weir_slice owner,
                                      const struct subscription_config *config)
{
    struct subscription *s = mem_zalloc(sizeof *s);
    if (!s) return NULL;
    list_init(&s->links);
    map_init_borrowing(&s->by_path, SUBSCRIPTION_MAX_LINKS);
    s->id = copy_text(id);
    s->owner = copy_text(owner);
    bool has_all = copy_config(&s->config, config);
    if (s->id && s->owner && has_all) return s;
    subscription_free(s);
    return NULL;
}

void subscription_free(struct subscription *s)
{
    struct list_node *node;
    if (!s) return;
    CHECK(!heap_is_linked(&s->timer) && !list_is_linked(&s->touched));
    while ((node = list_pop_front(&s->links)))
        mem_free(CONTAINER_OF(node, struct stream_link, node));
    map_fini(&s->by_path);
    free_slice(s->config.pattern);
    free_slice(s->config.url);
    free_slice(s->config.wake_stream);
    free_slice(s->config.description);
    mem_free(s->id);
    mem_free(s->owner);
    mem_free(s->holder);
    mem_free(s);
}

void subscription_resume(struct subscription *s, int64_t now_ms)
{
    const int64_t most_ms = RETRY_MAX_MS + RETRY_MAX_MS / RETRY_JITTER;
    if (s->lease_until_ms > now_ms + s->config.lease_ttl_ms)
        s->lease_until_ms = now_ms + s->config.lease_ttl_ms;
    if (s->retry_at_ms > now_ms + most_ms) s->retry_at_ms = now_ms;
}

/* ---- links ---- */

struct stream_link *subscription_link(const struct subscription *s, struct weir_slice path)
{
    return map_get(&s->by_path, path);
}

enum weir_status subscription_add_link(struct subscription *s, struct weir_slice path,
                                       enum link_kind kind, int64_t acked)
{
    struct stream_link *link = subscription_link(s, path);
    if (link) {
        link->kinds |= kind;
        return WEIR_OK;
    }
    link = mem_zalloc(sizeof *link + path.len);
    if (!link) return WEIR_NOMEM;
    link->kinds = kind;
    link->acked = acked;
    link->n_path = path.len;
    if (path.len > 0) memcpy(link->path, path.ptr, path.len);
    enum weir_status st = map_put(&s->by_path, slice_of(link->path, link->n_path), link);
    if (st == WEIR_OK) list_push_back(&s->links, &link->node);
    else mem_free(link);
    return st;
}

void subscription_remove_link(struct subscription *s, struct weir_slice path, unsigned kind)
{
    struct stream_link *link = subscription_link(s, path);
    if (!link) return;
    link->kinds = kind ? link->kinds & ~kind : 0;
    if (link->kinds) return;
    map_take(&s->by_path, slice_of(link->path, link->n_path));
    list_remove(&link->node);
    mem_free(link);
}

bool subscription_matches(const struct subscription *s, struct weir_slice path)
{
    /* A wake that is an event of a stream that wakes would never end. */
    return s->config.pattern.len > 0 && !slice_eq(path, s->config.wake_stream) &&
           glob_match(s->config.pattern, path);
}

bool stream_link_set_tail(struct stream_link *link, uint64_t log_id, uint64_t tail)
{
    bool is_other = link->log_id != log_id;
    if (is_other && link->log_id != 0) link->acked = ACKED_NOTHING;
    link->log_id = log_id;
    link->tail = tail;
    return is_other;
}

bool stream_link_is_pending(const struct stream_link *link)
{
    return link->tail > (link->acked > 0 ? (uint64_t)link->acked : 0);
}

const struct stream_link *subscription_pending(const struct subscription *s)
{
    for (struct list_node *n = list_first(&s->links); n; n = list_next(&s->links, n)) {
        const struct stream_link *link = CONTAINER_OF(n, struct stream_link, node);
        if (stream_link_is_pending(link)) return link;
    }
    return NULL;
}

bool stream_link_may_ack(const struct stream_link *link, uint64_t id)
{
    return id <= link->tail && (link->acked < 0 || id >= (uint64_t)link->acked);
}

/* ---- steps ---- */

bool subscription_is_idle(const struct subscription *s)
{
    return !s->wake_id[0];
}

void subscription_wake(struct subscription *s)
{
    unsigned char chance[WAKE_RANDOM_BYTES];
    CHECK(subscription_is_idle(s));
    random_bytes(chance, sizeof chance);
    s->wake_id[0] = 'w';
    s->wake_id[1] = '_';
    for (size_t i = 0; i < sizeof chance; i++)
        snprintf(s->wake_id + 2 + 2 * i, 3, "%02x", chance[i]);
    s->generation++;
    s->has_wake_event = s->config.type == SUBSCRIPTION_PULL;
}

void subscription_claim(struct subscription *s, char *holder, int64_t now_ms)
{
    CHECK(!subscription_is_idle(s) && !s->holder);
    s->holder = holder;
    subscription_extend(s, now_ms);
}

void subscription_extend(struct subscription *s, int64_t now_ms)
{
    s->lease_until_ms = now_ms + s->config.lease_ttl_ms;
    s->retry_at_ms = 0; /* whoever answers has got it */
}

void subscription_end(struct subscription *s)
{
    s->wake_id[0] = 0;
    mem_free(s->holder);
    s->holder = NULL;
    s->lease_until_ms = 0;
    s->retry_at_ms = 0;
    s->delivery = NULL; /* what it comes back with is of the past */
    s->has_wake_event = false;
}

void subscription_delivered(struct subscription *s, int64_t now_ms)
{
    s->n_failures = 0;
    subscription_extend(s, now_ms);
}

/* The delay grows with the failures, and `chance` keeps many from coming back at once. */
void subscription_failed(struct subscription *s, int64_t now_ms, uint32_t chance)
{
    int64_t delay_ms = RETRY_FIRST_MS;
    for (unsigned i = 0; i < s->n_failures && delay_ms < RETRY_MAX_MS; i++) delay_ms *= 2;
    if (delay_ms > RETRY_MAX_MS) delay_ms = RETRY_MAX_MS;
    int64_t most = delay_ms / RETRY_JITTER;
    delay_ms += (int64_t)(chance % (uint32_t)(2 * most + 1)) - most;
    if (s->n_failures < UINT32_MAX) s->n_failures++;
    s->retry_at_ms = now_ms + delay_ms;
}

void subscription_ack_told(struct subscription *s)
{
    for (struct list_node *n = list_first(&s->links); n; n = list_next(&s->links, n)) {
        struct stream_link *link = CONTAINER_OF(n, struct stream_link, node);
        if (link->told_to > 0 && stream_link_may_ack(link, link->told_to))
            link->acked = (int64_t)link->told_to;
    }
}

bool subscription_wants_delivery(const struct subscription *s, int64_t now_ms)
{
    return s->config.type == SUBSCRIPTION_WEBHOOK && !subscription_is_idle(s) && !s->delivery &&
           s->lease_until_ms == 0 && s->retry_at_ms <= now_ms;
}

int64_t subscription_due_ms(const struct subscription *s)
{
    return s->lease_until_ms > 0 ? s->lease_until_ms : s->retry_at_ms;
}

bool subscription_lease_is_over(const struct subscription *s, int64_t now_ms)
{
    return s->lease_until_ms > 0 && s->lease_until_ms <= now_ms;
}

/* ---- the document ---- */

static void put_text(struct weir_buf *out, const char *key, struct weir_slice text)
{
    if (text.len == 0) return;
    weir_json_put_key(out, key);
    weir_json_put_string(out, text);
}

static void put_config(const struct subscription *s, struct weir_buf *out)
{
    char bytes[2 * SHA256_BYTES];
    struct weir_buf hash = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    member_int(out, "type", s->config.type);
    put_text(out, "pattern", s->config.pattern);
    put_text(out, "url", s->config.url);
    put_text(out, "wake_stream", s->config.wake_stream);
    put_text(out, "description", s->config.description);
    member_int(out, "lease_ttl_ms", s->config.lease_ttl_ms);
    member_int(out, "created_ms", s->created_ms);
    base64url_write(&hash, slice_of(s->hash, sizeof s->hash));
    put_text(out, "hash", weir_buf_slice(&hash));
}

static void put_link(const struct stream_link *link, struct weir_buf *out)
{
    weir_json_put_begin_array(out);
    weir_json_put_string(out, slice_of(link->path, link->n_path));
    weir_json_put_uint(out, link->kinds);
    weir_json_put_uint(out, link->log_id);
    weir_json_put_int(out, link->acked);
    weir_json_put_end_array(out);
}

void subscription_write(const struct subscription *s, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    put_config(s, out);
    member_int(out, "generation", (int64_t)s->generation);
    put_text(out, "wake_id", weir_slice_of(s->wake_id));
    if (s->holder) put_text(out, "holder", weir_slice_of(s->holder));
    member_int(out, "lease_until_ms", s->lease_until_ms);
    member_int(out, "failures", s->n_failures);
    member_int(out, "retry_at_ms", s->retry_at_ms);
    weir_json_put_key(out, "links");
    weir_json_put_begin_array(out);
    for (struct list_node *n = list_first(&s->links); n; n = list_next(&s->links, n))
        put_link(CONTAINER_OF(n, struct stream_link, node), out);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    const struct weir_json *member = weir_json_get_str(v, key);
    if (weir_json_type_of(member) != WEIR_JSON_STRING) return (struct weir_slice){0};
    return weir_json_text(member);
}

static int64_t int_of(const struct weir_json *v, const char *key)
{
    int64_t n = 0;
    (void)weir_json_int64(weir_json_get_str(v, key), &n);
    return n;
}

static bool read_link(struct subscription *s, const struct weir_json *v)
{
    const struct weir_json *path = weir_json_first(v);
    const struct weir_json *kinds = weir_json_next(path);
    const struct weir_json *log_id = weir_json_next(kinds);
    int64_t kind, log, acked;
    if (!weir_json_int64(kinds, &kind) || !weir_json_int64(log_id, &log) ||
        !weir_json_int64(weir_json_next(log_id), &acked))
        return false;
    if (subscription_add_link(s, weir_json_text(path), (enum link_kind)kind, acked) != WEIR_OK)
        return false;
    subscription_link(s, weir_json_text(path))->log_id = (uint64_t)log;
    return true;
}

static bool read_state(struct subscription *s, const struct weir_json *v)
{
    struct weir_slice wake_id = text_of(v, "wake_id");
    struct weir_slice holder = text_of(v, "holder");
    if (wake_id.len >= WAKE_ID_BYTES) return false;
    if (wake_id.len > 0) memcpy(s->wake_id, wake_id.ptr, wake_id.len);
    s->created_ms = int_of(v, "created_ms");
    s->generation = (uint64_t)int_of(v, "generation");
    s->lease_until_ms = int_of(v, "lease_until_ms");
    s->n_failures = (unsigned)int_of(v, "failures");
    s->retry_at_ms = int_of(v, "retry_at_ms");
    if (holder.len > 0) s->holder = copy_text(holder);
    if (holder.len > 0 && !s->holder) return false;
    if (!base64url_read(text_of(v, "hash"), s->hash, sizeof s->hash)) return false;
    const struct weir_json *link = weir_json_first(weir_json_get_str(v, "links"));
    for (; link; link = weir_json_next(link))
        if (!read_link(s, link)) return false;
    return true;
}

static struct subscription *read_value(struct weir_slice id, struct weir_slice owner,
                                       const struct weir_json *v)
{
    struct subscription_config config = {
        .type = int_of(v, "type") == SUBSCRIPTION_PULL ? SUBSCRIPTION_PULL : SUBSCRIPTION_WEBHOOK,
        .pattern = text_of(v, "pattern"),
        .url = text_of(v, "url"),
        .wake_stream = text_of(v, "wake_stream"),
        .description = text_of(v, "description"),
        .lease_ttl_ms = int_of(v, "lease_ttl_ms"),
    };
    bool is_good = config.lease_ttl_ms >= LEASE_MIN_MS && config.lease_ttl_ms <= LEASE_MAX_MS;
    struct subscription *s = is_good ? subscription_new(id, owner, &config) : NULL;
    if (s && read_state(s, v)) return s;
    subscription_free(s);
    return NULL;
}

struct subscription *subscription_read(struct weir_slice id, struct weir_slice owner,
                                       struct weir_slice body)
{
    const struct weir_json *v;
    struct subscription *s = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (doc && weir_json_parse(doc, body, &v, NULL) == WEIR_OK) s = read_value(id, owner, v);
    weir_json_doc_free(doc);
    return s;
}
