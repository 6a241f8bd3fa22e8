/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Turn as JSON, its ids and the name of its log, and making one.
 *
 * The head of a Turn is of fixed form, so that its state can be read without a look at what may
 * be a megabyte of messages:
 *
 *   {"id":"turn_…","status":"running","created_at":"…","completed_at":null,"messages":[…],
 *    "result":null,"error":null}
 *
 * How many turns an owner has in flight is not counted but seen: each has a place, the document
 * "turn_slot" OWNER/N, which is taken when it is made and given back by the commit that ends it.
 * Two that are made at the same instant are decided one after the other, by the committer.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "turn/turn_impl.h"

enum {
    OVERHEAD_BYTES = 4096, /* of a Turn or an input beyond its messages */
    MESSAGES_BYTES = STORE_DOC_BYTES - OVERHEAD_BYTES - TURN_RESULT_BYTES,
};

static const char id_prefix[] = "turn_";
static const char log_prefix[] = "turns/";
enum { LOG_PREFIX_LEN = sizeof log_prefix - 1 };

static const char *const status_names[] = {
    [TURN_QUEUED] = "queued",
    [TURN_RUNNING] = "running",
    [TURN_COMPLETED] = "completed",
    [TURN_FAILED] = "failed",
};

const char *turn_status_name(enum turn_status status)
{
    return status_names[status];
}

/* ---- ids ---- */

bool turn_is_id(struct weir_slice text)
{
    return ulid_is_name(text, id_prefix);
}

struct weir_slice turn_log(char out[TURN_LOG_BYTES], struct weir_slice id)
{
    int len = snprintf(out, TURN_LOG_BYTES, "%s%.*s", log_prefix, (int)id.len, id.ptr);
    CHECK(len > 0 && len < TURN_LOG_BYTES);
    return slice_of(out, (size_t)len);
}

struct weir_slice turn_of_log(struct weir_slice log)
{
    bool is_ours =
        log.len == LOG_PREFIX_LEN + TURN_ID_LEN && memcmp(log.ptr, log_prefix, LOG_PREFIX_LEN) == 0;
    return is_ours ? slice_from(log, LOG_PREFIX_LEN) : (struct weir_slice){0};
}

enum weir_status turns_next_id(struct turns *t, const char *prefix, char *out)
{
    struct ulid id;
    size_t len = strlen(prefix);
    pthread_mutex_lock(&t->id_lock);
    enum weir_status st = ulid_next(&t->ids, &id);
    pthread_mutex_unlock(&t->id_lock);
    if (st != WEIR_OK) return st;
    memcpy(out, prefix, len);
    ulid_format(out + len, id);
    return WEIR_OK;
}

/* ---- the Turn ---- */

static void put_raw(struct weir_buf *out, const char *key, struct weir_slice json)
{
    weir_json_put_key(out, key);
    if (json.len > 0) weir_buf_append_slice(out, json);
    else weir_json_put_null(out);
}

static void put_messages(struct weir_buf *out, const struct weir_json *messages)
{
    weir_json_put_key(out, "messages");
    weir_json_put_begin_array(out);
    for (const struct weir_json *m = weir_json_first(messages); m; m = weir_json_next(m)) {
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "role");
        weir_json_put_value(out, weir_json_get_str(m, "role"));
        weir_json_put_key(out, "content");
        weir_json_put_value(out, weir_json_get_str(m, "content"));
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
}

void turn_put(struct weir_buf *out, const struct turn_view *v)
{
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, v->completed_ms);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "id");
    weir_json_put_string(out, v->id);
    weir_json_put_key(out, "status");
    weir_json_put_str(out, turn_status_name(v->status));
    weir_json_put_key(out, "created_at");
    weir_json_put_string(out, v->created_at);
    weir_json_put_key(out, "completed_at");
    weir_json_put_str(out, turn_has_ended(v->status) ? at : NULL);
    put_messages(out, v->messages);
    put_raw(out, "result", v->result);
    put_raw(out, "error", v->error);
    weir_json_put_end_object(out);
}

/* Takes the text off the front. */
static bool take(struct weir_slice *s, const char *text)
{
    size_t len = strlen(text);
    if (s->len < len || memcmp(s->ptr, text, len) != 0) return false;
    *s = slice_from(*s, len);
    return true;
}

static bool take_bytes(struct weir_slice *s, size_t len, struct weir_slice *out)
{
    if (s->len < len) return false;
    *out = slice_of(s->ptr, len);
    *s = slice_from(*s, len);
    return true;
}

static bool take_status(struct weir_slice *s, enum turn_status *out)
{
    for (int i = TURN_QUEUED; i <= TURN_FAILED; i++) {
        *out = (enum turn_status)i;
        if (take(s, status_names[i])) return true;
    }
    return false;
}

bool turn_read_state(struct weir_slice turn, struct turn_state *out)
{
    struct weir_slice skipped;
    struct weir_slice at;
    *out = (struct turn_state){0};
    bool is_good = take(&turn, "{\"id\":\"") && take_bytes(&turn, TURN_ID_LEN, &skipped) &&
                   take(&turn, "\",\"status\":\"") && take_status(&turn, &out->status) &&
                   take(&turn, "\",\"created_at\":\"") &&
                   take_bytes(&turn, CLOCK_TEXT_BYTES - 1, &skipped) &&
                   take(&turn, "\",\"completed_at\":");
    if (!is_good || take(&turn, "null")) return is_good;
    return take(&turn, "\"") && take_bytes(&turn, CLOCK_TEXT_BYTES - 1, &at) &&
           clock_parse(at, &out->completed_ms);
}

/* ---- making one ---- */

static bool turns_is_full(struct turns *t)
{
    struct flow_stats stats;
    turns_stats(t, &stats);
    return stats.n_in_flight >= TURNS_IN_FLIGHT;
}

struct doc_key slot_key(char out[SLOT_ID_BYTES], struct weir_slice owner, unsigned slot)
{
    int len = snprintf(out, SLOT_ID_BYTES, "%.*s/%u", (int)owner.len, owner.ptr, slot);
    CHECK(len > 0 && len < SLOT_ID_BYTES);
    return (struct doc_key){SLICE("turn_slot"), slice_of(out, (size_t)len)};
}

/* All but the place, which is known when it is decided. */
static void put_input(struct weir_buf *out, const struct turn_request *r, const char *created_at)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "created_at");
    weir_json_put_str(out, created_at);
    weir_json_put_key(out, "request_id");
    weir_json_put_string(out, r->request_id);
    weir_json_put_key(out, "include_memory");
    weir_json_put_bool(out, r->has_memory);
    weir_json_put_key(out, "include_biomarkers");
    weir_json_put_bool(out, r->has_biomarkers);
    put_messages(out, r->messages);
}

enum weir_status turn_draft_init(struct turn_draft *d, struct turns *t,
                                 const struct turn_request *r)
{
    char created_at[CLOCK_TEXT_BYTES];
    CHECK(r->owner.len > 0 && r->owner.len < sizeof d->owner);
    *d = (struct turn_draft){.turns = t, .created_ms = clock_wall_ms(t->options.clock)};
    weir_buf_init(&d->turn, MESSAGES_BYTES + OVERHEAD_BYTES);
    weir_buf_init(&d->input, MESSAGES_BYTES + OVERHEAD_BYTES);
    memcpy(d->owner, r->owner.ptr, r->owner.len);
    /* One that the engine has no room for would wait for the next start, and nobody knew why. */
    if (turns_is_full(t)) return WEIR_BUSY;
    enum weir_status st = turns_next_id(t, id_prefix, d->id);
    if (st != WEIR_OK) return st;
    clock_format(created_at, d->created_ms);
    struct turn_view view = {.id = weir_slice_of(d->id),
                             .created_at = weir_slice_of(created_at),
                             .status = TURN_QUEUED,
                             .messages = r->messages};
    turn_put(&d->turn, &view);
    put_input(&d->input, r, created_at);
    d->input_len = d->input.len;
    st = weir_buf_status(&d->turn);
    return st == WEIR_OK ? weir_buf_status(&d->input) : st;
}

void turn_draft_fini(struct turn_draft *d)
{
    weir_buf_fini(&d->turn);
    weir_buf_fini(&d->input);
}

/* A free place for one more turn; WEIR_CONCURRENCY. */
static enum weir_status find_slot(const struct turn_draft *d, struct commit_view *view,
                                  unsigned *slot)
{
    char id[SLOT_ID_BYTES];
    unsigned n_taken = 0;
    *slot = 0;
    for (unsigned i = 1; i <= d->turns->n_slots; i++) {
        struct doc doc;
        enum weir_status st = commit_view_doc(view, slot_key(id, weir_slice_of(d->owner), i), &doc);
        if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
        if (st == WEIR_OK) n_taken++;
        else if (*slot == 0) *slot = i;
    }
    return n_taken < d->turns->options.user_turns ? WEIR_OK : WEIR_CONCURRENCY;
}

enum weir_status turn_draft_decide(struct turn_draft *d, struct commit_view *view, struct commit *c)
{
    char slot_id[SLOT_ID_BYTES];
    char log[TURN_LOG_BYTES];
    unsigned slot;
    struct weir_slice id = weir_slice_of(d->id);
    struct weir_slice owner = weir_slice_of(d->owner);
    enum weir_status st = find_slot(d, view, &slot);
    if (st != WEIR_OK) return st;
    CHECK(slot > 0);
    d->input.len = d->input_len;
    d->input.status = WEIR_OK;
    weir_buf_printf(&d->input, ",\"slot\":%u}", slot);
    st = weir_buf_status(&d->input);
    if (st != WEIR_OK) return st;
    commit_put(c, turn_key(id), DOC_MUST_BE_NEW, owner, weir_buf_slice(&d->turn));
    commit_put(c, slot_key(slot_id, owner, slot), DOC_MUST_BE_NEW, owner, id);
    struct flow_new_run run = {.workflow = &d->turns->workflow,
                               .id = id,
                               .owner = owner,
                               .log = turn_log(log, id),
                               .input = weir_buf_slice(&d->input)};
    return flow_add_run(c, &run, d->created_ms);
}
