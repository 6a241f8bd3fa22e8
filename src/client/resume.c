/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is new in a stream, and when to ask for it again. See resume.h.
 *
 * Invariant: last_seq and last_id say what the caller has been given, never more; they change in
 * resume_event() alone.
 */
#include "client/resume.h"

#include "base/slice.h"

enum { MAX_ID_BYTES = 64 << 10, FIRST_MS = 1000, LONGEST_MS = 30 * 1000, SESSION_MS = 3 * 1000 };

/* ---- life ---- */

static unsigned or_default(unsigned value, unsigned otherwise)
{
    return value > 0 ? value : otherwise;
}

static unsigned retries_of(enum weir_stream_kind kind)
{
    enum { OF_A_TURN = 5, OF_A_MODEL = 2 };
    if (kind == WEIR_STREAM_TURN || kind == WEIR_STREAM_CHAT) return OF_A_TURN;
    return kind == WEIR_STREAM_MODEL ? OF_A_MODEL : WEIR_RETRY_FOREVER;
}

enum weir_status resume_init(struct resume *r, enum weir_stream_kind kind,
                             const struct weir_stream_retry *retry)
{
    bool is_session = kind == WEIR_STREAM_SESSION;
    if (kind > WEIR_STREAM_CHAT) return WEIR_INVALID;
    *r = (struct resume){
        .kind = kind,
        .retry = {.max_retries = or_default(retry->max_retries, retries_of(kind)),
                  .initial_ms = or_default(retry->initial_ms, is_session ? SESSION_MS : FIRST_MS),
                  .max_ms = or_default(retry->max_ms, is_session ? SESSION_MS : LONGEST_MS)},
        .hash_key = hash_key_random(),
    };
    weir_buf_init(&r->last_id, MAX_ID_BYTES);
    return WEIR_OK;
}

void resume_fini(struct resume *r)
{
    weir_buf_fini(&r->last_id);
}

void resume_begin(struct resume *r)
{
    r->has_bytes = r->has_id = r->is_behind = false;
    r->n_before = r->n_had;
}

/* ---- answers ---- */

static bool is_event_stream(struct weir_slice type)
{
    static const char name[] = "text/event-stream";
    struct weir_slice media = {type.ptr, sizeof name - 1};
    if (type.len < media.len || !slice_ends_with_nocase(media, name)) return false;
    struct weir_slice rest = slice_from(type, media.len);
    return rest.len == 0 || rest.ptr[0] == ';' || rest.ptr[0] == ' ' || rest.ptr[0] == '\t';
}

enum resume_answer resume_head(int http_status, struct weir_slice content_type)
{
    if (http_status == 200) return is_event_stream(content_type) ? RESUME_OPEN : RESUME_NEVER;
    if (http_status == 204) return RESUME_NOTHING;
    bool may_help = http_status == 408 || http_status == 429 || http_status >= 500;
    return may_help ? RESUME_LATER : RESUME_NEVER;
}

/* ---- events ---- */

/* A whole number from 1 on, and nothing else. */
static bool read_seq(struct weir_slice id, uint64_t *seq)
{
    *seq = 0;
    for (size_t i = 0; i < id.len; i++) {
        uint64_t digit = (uint64_t)(unsigned char)id.ptr[i] - '0';
        if (digit > 9 || *seq > (UINT64_MAX - digit) / 10) return false;
        *seq = *seq * 10 + digit;
    }
    return *seq > 0;
}

static bool is_last(const struct resume *r, const struct weir_sse_event *event)
{
    if (r->kind == WEIR_STREAM_TURN)
        return weir_slice_is(event->type, "turn.completed") ||
               weir_slice_is(event->type, "turn.failed");
    if (r->kind == WEIR_STREAM_MODEL)
        return weir_slice_is(event->type, "message_stop") || weir_slice_is(event->type, "error") ||
               weir_slice_is(event->data, "[DONE]");
    if (r->kind == WEIR_STREAM_CHAT)
        return weir_slice_is(event->type, "done") || weir_slice_is(event->type, "error") ||
               weir_slice_is(event->type, "dlp_blocked");
    return false;
}

/* Never 0. */
static uint64_t hash_of(const struct resume *r, const struct weir_sse_event *event)
{
    const uint64_t parts[] = {hash_bytes(r->hash_key, event->id),
                              hash_bytes(r->hash_key, event->type),
                              hash_bytes(r->hash_key, event->data)};
    return hash_bytes(r->hash_key, slice_of(parts, sizeof parts)) | 1;
}

/* Of the numbers that were passed over nothing is known. */
static void remember_numbered(struct resume *r, uint64_t seq, uint64_t hash)
{
    uint64_t n_passed = seq - r->last_seq - 1;
    if (n_passed > RESUME_HAD) n_passed = RESUME_HAD;
    for (uint64_t i = 1; i <= n_passed; i++) r->had[(seq - i) % RESUME_HAD] = 0;
    r->had[seq % RESUME_HAD] = hash;
    r->last_seq = seq;
}

/*
 * Of a number that is not new: whether another event has it now. Servers of sessions skip what was
 * had, so there one of which nothing is known any more is no repeat, but of a stream that has begun
 * anew: to drop it would be silence up to the last number. A turn may be given again from its
 * beginning.
 */
static bool is_other(const struct resume *r, uint64_t seq, uint64_t hash)
{
    uint64_t had = r->last_seq - seq < RESUME_HAD ? r->had[seq % RESUME_HAD] : 0;
    return had != 0 ? had != hash : r->kind == WEIR_STREAM_SESSION;
}

static enum resume_take take_numbered(struct resume *r, const struct weir_sse_event *event)
{
    uint64_t seq;
    if (!read_seq(event->id, &seq)) return RESUME_BAD;
    uint64_t hash = hash_of(r, event);
    if (seq <= r->last_seq) return is_other(r, seq, hash) ? RESUME_OTHER : RESUME_DROP;
    bool is_next = seq == r->last_seq + 1;
    /* A server keeps a turn whole, but of a session only the newest part. */
    if (!is_next && r->kind == WEIR_STREAM_TURN) return RESUME_MISSING;
    remember_numbered(r, seq, hash);
    return is_next ? RESUME_GIVE : RESUME_GIVE_AFTER_GAP;
}

/* Whether it was had before this connection, which is past all that when it gives the newest. */
static bool was_had(struct resume *r, uint64_t hash)
{
    uint64_t oldest = r->n_had > RESUME_HAD ? r->n_had - RESUME_HAD : 0;
    for (uint64_t i = r->n_before; i > oldest; i--) {
        if (r->had[(i - 1) % RESUME_HAD] != hash) continue;
        if (i == r->n_before) r->n_before = 0;
        return true;
    }
    return false;
}

static WEIR_MUST_CHECK enum weir_status set_last_id(struct resume *r, struct weir_slice id)
{
    weir_buf_reset(&r->last_id);
    weir_buf_append_slice(&r->last_id, id);
    return weir_buf_status(&r->last_id);
}

static WEIR_MUST_CHECK enum weir_status take_named(struct resume *r,
                                                   const struct weir_sse_event *event,
                                                   enum resume_take *take)
{
    struct weir_slice id = event->id;
    *take = RESUME_GIVE;
    /* One without an id, on a connection that had some, has taken it back. */
    if (id.len == 0) return r->has_id ? set_last_id(r, id) : WEIR_OK;
    uint64_t hash = hash_of(r, event);
    r->has_id = true;
    r->is_behind = was_had(r, hash);
    if (r->is_behind) {
        *take = RESUME_DROP;
        return WEIR_OK;
    }
    r->had[r->n_had++ % RESUME_HAD] = hash;
    return set_last_id(r, id);
}

enum weir_status resume_end(struct resume *r, struct weir_slice id)
{
    if (r->kind != WEIR_STREAM_ANY || r->is_behind || (id.len == 0 && !r->has_id)) return WEIR_OK;
    return set_last_id(r, id);
}

/* "msg_1:42": the reply's name with its colon, and the number. */
static bool read_reply_id(struct weir_slice id, struct weir_slice *reply, uint64_t *seq)
{
    const char *colon = id.len > 0 ? memrchr(id.ptr, ':', id.len) : NULL;
    if (!colon || colon == id.ptr) return false;
    reply->ptr = id.ptr;
    reply->len = (size_t)(colon - id.ptr) + 1;
    return read_seq(slice_from(id, reply->len), seq);
}

static WEIR_MUST_CHECK enum weir_status take_reply(struct resume *r, struct weir_slice id,
                                                   enum resume_take *take)
{
    struct weir_slice reply, had = {0};
    uint64_t seq, last = 0;
    *take = RESUME_BAD;
    if (!read_reply_id(id, &reply, &seq)) return WEIR_OK;
    /* A server that has forgotten which one was read begins with another. */
    if (read_reply_id(weir_buf_slice(&r->last_id), &had, &last) && !slice_eq(had, reply)) last = 0;
    *take = seq <= last ? RESUME_DROP : RESUME_MISSING;
    if (seq != last + 1) return WEIR_OK;
    *take = RESUME_GIVE;
    r->last_seq = seq;
    return set_last_id(r, id);
}

enum weir_status resume_had(struct resume *r, uint64_t seq, struct weir_slice id)
{
    struct weir_slice reply;
    bool is_chat = r->kind == WEIR_STREAM_CHAT;
    if (is_chat && id.len > 0 && !read_reply_id(id, &reply, &seq)) return WEIR_INVALID;
    weir_buf_append_slice(&r->last_id, id);
    r->last_seq = seq;
    return weir_buf_status(&r->last_id);
}

enum weir_status resume_event(struct resume *r, const struct weir_sse_event *event,
                              enum resume_take *take)
{
    enum weir_status st = WEIR_OK;
    if (r->kind == WEIR_STREAM_TURN || r->kind == WEIR_STREAM_SESSION)
        *take = take_numbered(r, event);
    else if (r->kind == WEIR_STREAM_CHAT) st = take_reply(r, event->id, take);
    else st = take_named(r, event, take);
    if (st != WEIR_OK || *take > RESUME_GIVE_AFTER_GAP) return st;
    r->n_failed = 0;
    r->is_over = is_last(r, event);
    if (r->is_over) *take = RESUME_GIVE_LAST;
    return WEIR_OK;
}

bool resume_read_gap(struct weir_slice text, uint64_t *first, uint64_t *last)
{
    const char *dash = text.len > 0 ? memchr(text.ptr, '-', text.len) : NULL;
    if (!dash) return false;
    size_t len = (size_t)(dash - text.ptr);
    return read_seq(slice_of(text.ptr, len), first) && read_seq(slice_from(text, len + 1), last) &&
           *first <= *last;
}

/* ---- again ---- */

/* The longest pause after so many failures in a row: half as much more with each. */
static uint64_t longest_ms(const struct resume *r, uint64_t first_ms)
{
    uint64_t ms = first_ms;
    for (unsigned i = 1; i < r->n_failed && ms < r->retry.max_ms; i++) ms += (ms + 1) / 2;
    return ms < r->retry.max_ms ? ms : r->retry.max_ms;
}

static uint64_t clamp_said(uint64_t ms)
{
    if (ms < RESUME_MIN_SAID_MS) return RESUME_MIN_SAID_MS;
    return ms < RESUME_MAX_SAID_MS ? ms : RESUME_MAX_SAID_MS;
}

/*
 * What `retry:` said is waited at least, and more when it does not help: a server that is gone
 * cannot say that it needs longer. Otherwise any part of the pause may be waited, so that all who
 * were cut at the same time do not come back at the same time.
 */
static uint64_t pause_ms(const struct resume *r, uint32_t chance)
{
    uint64_t least = r->has_retry ? clamp_said(r->retry_ms) : 0;
    uint64_t most = longest_ms(r, r->has_retry ? least : r->retry.initial_ms);
    if (most <= least) return least;
    return least + ((most - least) * chance >> 32);
}

bool resume_after(struct resume *r, uint64_t said_ms, uint32_t chance, uint64_t *delay_ms)
{
    bool is_paid_for = r->kind == WEIR_STREAM_MODEL && r->has_bytes;
    bool is_forever = r->retry.max_retries == WEIR_RETRY_FOREVER;
    unsigned max = r->retry.max_retries == WEIR_RETRY_NEVER ? 0 : r->retry.max_retries;
    if (r->n_failed < WEIR_RETRY_NEVER) r->n_failed++;
    *delay_ms = said_ms > 0 ? clamp_said(said_ms) : pause_ms(r, chance);
    return !r->is_over && !is_paid_for && (is_forever || r->n_failed <= max);
}
