/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outbox of a run: what it wants to be durable, in order, one commit on its way at a time.
 *
 * Events that are emitted gather behind the commit under way, and the next one takes them all.
 * Nothing is forgotten before it is durable, so that a commit that was refused for lack of room is
 * made again, later, with what came meanwhile. Documents that are saved in mid-step gather next to
 * them, and go with all events that were emitted before. What an attempt brought (the "final": its
 * document, the run's, whatever it puts) goes with the last events of it.
 */
#include <limits.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/usd.h"
#include "flow/flow_impl.h"

enum {
    OP_BYTES = 128,      /* what an operation takes beside its bytes, about */
    RECORD_BYTES = 4096, /* of the document "run" */
    FIRST_PAUSE_MS = 20, /* before a refused commit is made again; doubles */
    LONGEST_PAUSE_MS = 5000,
    EVENTS_BYTES = FLOW_OUTBOX_BYTES + STORE_FRAME_BYTES, /* ceiling of the events in memory */
    SAVES_BYTES = STORE_COMMIT_BYTES / 4, /* of a commit before it takes another document */
};

static struct doc_key key_of(const char *kind, const struct run *r)
{
    return (struct doc_key){weir_slice_of(kind), run_id(r)};
}

/* ---- the fence ---- */

/* By the committer. Whether the run is ours; for a natural end, whether nobody cancelled it. */
static enum weir_status fence(void *run, struct commit_view *view, struct commit *c)
{
    struct run *r = run;
    struct doc doc;
    (void)c;
    r->sees_lost = r->sees_cancel = false;
    enum weir_status st = commit_view_doc(view, key_of(flow_run_kind, r), &doc);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    if (st == WEIR_NOT_FOUND || doc.version != r->version) {
        r->sees_lost = true;
        return WEIR_CONFLICT;
    }
    if (r->flight != FLIGHT_FINAL || r->final != FINAL_END || r->ends_cancelled) return WEIR_OK;
    st = commit_view_doc(view, key_of(flow_cancel_kind, r), &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st != WEIR_OK) return st;
    r->sees_cancel = true;
    return WEIR_CANCELLED;
}

/* ---- events ---- */

static void open_frame(struct weir_buf *out, const char *type)
{
    if (!out->ptr) weir_buf_init(out, EVENTS_BYTES);
    if (type) {
        weir_buf_append_str(out, "event: ");
        weir_buf_append_str(out, type);
        weir_buf_append_str(out, "\n");
    }
    weir_buf_append_str(out, "data: ");
}

static enum weir_status check_event(struct weir_slice json)
{
    if (json.len == 0 || memchr(json.ptr, '\n', json.len) || memchr(json.ptr, '\r', json.len) ||
        memchr(json.ptr, '\0', json.len))
        return WEIR_INVALID;
    return json.len < STORE_FRAME_BYTES - OP_BYTES ? WEIR_OK : WEIR_LIMIT;
}

/* A frame that does not fit is taken back as a whole. */
static enum weir_status close_frame(struct weir_buf *out, size_t before)
{
    weir_buf_append_str(out, "\n\n");
    enum weir_status st = weir_buf_status(out);
    if (st != WEIR_OK) {
        out->len = before;
        out->status = WEIR_OK;
    }
    return st;
}

static enum weir_status add_frame(struct weir_buf *out, const char *type, struct weir_slice json)
{
    size_t before = out->len;
    open_frame(out, type);
    weir_buf_append_slice(out, json);
    return close_frame(out, before);
}

enum weir_status flow_outbox_frame(struct weir_buf *out, const char *type, struct weir_slice json)
{
    enum weir_status st = check_event(json);
    return st == WEIR_OK ? add_frame(out, type, json) : st;
}

/* Under the lock: what the source has, up to so many bytes. */
static void pour(struct run *r, size_t max_bytes)
{
    struct source *source = &r->source;
    while (source->is_stirred && source->step && r->events.len < max_bytes) {
        size_t before = r->events.len;
        open_frame(&r->events, source->type);
        source->is_stirred = source->next(source->user, &r->events);
        if (source->is_stirred) flow_step_note(source->step, close_frame(&r->events, before));
        else r->events.len = before;
    }
}

/* ---- making commits ---- */

static size_t save_bytes(const struct save *s)
{
    return OP_BYTES + s->body.len + s->frame.len;
}

static void add_events(struct commit *c, const struct run *r, struct weir_slice frames)
{
    while (frames.len > 0) {
        const char *end = memmem(frames.ptr, frames.len, "\n\n", 2);
        CHECK(end);
        size_t len = (size_t)(end - frames.ptr) + 2;
        commit_append(c, r->log, slice_of(frames.ptr, len));
        frames = slice_from(frames, len);
    }
}

static void add_docs(struct commit *c, const struct run *r, const struct flow_step *s)
{
    if (!s) return;
    for (const struct draft_doc *d = s->docs; d; d = d->next) {
        if (d->is_event) commit_append(c, d->key.kind, d->body);
        else if (d->is_removal) commit_remove(c, d->key, d->expected_version);
        else commit_put(c, d->key, d->expected_version, r->owner, d->body);
    }
}

/* The fence has looked at its version by then. False: there is no memory. */
static bool add_record(struct commit *c, const struct run *r, const struct run_record *record)
{
    struct weir_buf body;
    struct run_record with_cost = *record;
    with_cost.cost_usd = r->cost_usd;
    weir_buf_init(&body, RECORD_BYTES);
    flow_run_write(&body, &with_cost);
    bool is_whole = weir_buf_status(&body) == WEIR_OK;
    if (is_whole)
        commit_put(c, key_of(flow_run_kind, r), DOC_ANY_VERSION, r->owner, weir_buf_slice(&body));
    weir_buf_fini(&body);
    return is_whole;
}

static void add_end(struct commit *c, const struct run *r)
{
    if (!r->workflow->has_open_log) commit_seal(c, r->log, r->workflow->keep_ms);
    commit_remove(c, key_of(flow_run_kind, r), DOC_ANY_VERSION);
    if (r->ends_cancelled) commit_remove(c, key_of(flow_cancel_kind, r), DOC_ANY_VERSION);
}

static size_t hook_bytes(const struct flow_step *s)
{
    return s ? s->events.len + s->docs_bytes : 0;
}

static size_t final_bytes(const struct run *r)
{
    size_t n = OP_BYTES + RECORD_BYTES + hook_bytes(r->hook);
    if (r->step) n += r->step->body.len + r->step->docs_bytes;
    return n;
}

static bool add_final(struct commit *c, struct run *r)
{
    const struct flow_step *s = r->step;
    char id[STEP_ID_BYTES];
    bool has_body = r->pending_number > 0;
    if (has_body)
        commit_put(c,
                   (struct doc_key){weir_slice_of(flow_step_kind),
                                    flow_step_id(id, run_id(r), r->pending_number)},
                   DOC_ANY_VERSION, r->owner, weir_buf_slice(&s->body));
    if (has_body && !s->has_failed) add_docs(c, r, s);
    if (r->hook) add_events(c, r, weir_buf_slice(&r->hook->events));
    add_docs(c, r, r->hook);
    if (r->final == FINAL_GIVE) flow_offer(c, r);
    if (r->final != FINAL_END) return add_record(c, r, &r->next);
    add_end(c, r);
    return true;
}

/* Under the lock. Nothing goes out before the timer says so. */
static void pause_outbox(struct run *r)
{
    uint64_t ms = (uint64_t)FIRST_PAUSE_MS << (r->n_refusals < 10 ? r->n_refusals : 10);
    if (ms > LONGEST_PAUSE_MS) ms = LONGEST_PAUSE_MS;
    r->n_refusals++;
    r->is_paused = true;
    flow_timer_set(&r->timers.outbox, flow_timer_jitter(r->flow, ms));
}

/* What on_begin wants. */
static void add_opening(struct commit *c, const struct run *r)
{
    if (!r->opening) return;
    add_events(c, r, weir_buf_slice(&r->opening->events));
    add_docs(c, r, r->opening);
}

/*
 * As many as fit, and one at least unless the events need the room; what is final takes all.
 * Returns whether one of them has cost something.
 */
static bool add_saves(struct commit *c, struct run *r, bool is_final)
{
    bool has_cost = false;
    size_t n_bytes = r->events.len;
    r->n_saves_flying = 0;
    for (const struct save *s = r->saves; s; s = s->next) {
        bool has_room = n_bytes <= SAVES_BYTES;
        n_bytes += save_bytes(s);
        if (!is_final && !has_room) break;
        commit_put(c, s->key, DOC_ANY_VERSION, r->owner, s->body);
        add_events(c, r, s->frame);
        has_cost |= s->has_cost;
        r->n_saves_flying++;
    }
    return has_cost;
}

/* In mid-step; what is final has a newer one, or none is needed any more. */
static bool add_record_during(struct commit *c, struct run *r)
{
    struct run_record record = r->opening ? r->opening->record : r->during;
    record.step_usd = r->step_usd;
    r->is_record_flying = true;
    r->flies_rest = record.rests;
    return add_record(c, r, &record);
}

static bool has_rest_to_say(const struct run *r)
{
    return r->during.rests != r->says_rest;
}

/* All that the next commit has. False: there is no memory. */
static bool fill_commit(struct commit *c, struct run *r, bool is_final)
{
    commit_decide(c, false, fence, r);
    add_opening(c, r);
    add_events(c, r, weir_buf_slice(&r->events));
    bool has_cost = add_saves(c, r, is_final);
    r->is_record_flying = false;
    if (is_final) return add_final(c, r);
    bool has_record = has_cost || r->opening || has_rest_to_say(r);
    return !has_record || add_record_during(c, r);
}

static enum flight next_flight(const struct run *r)
{
    bool has_events = r->events.len > 0 || r->opening || r->saves || has_rest_to_say(r);
    if (r->flight != FLIGHT_NONE || r->is_paused || r->broken != WEIR_OK) return FLIGHT_NONE;
    if (r->final == FINAL_NONE || r->final_state != FINAL_WAITS)
        return has_events ? FLIGHT_EVENTS : FLIGHT_NONE;
    /* Both together may be too large for one commit. */
    size_t n_bytes = r->events.len + r->saves_bytes + hook_bytes(r->opening) + final_bytes(r);
    return has_events && n_bytes > STORE_COMMIT_BYTES / 2 ? FLIGHT_EVENTS : FLIGHT_FINAL;
}

/*
 * Under the lock: the next commit, NULL when there is none to be sent now. The run is held until
 * it has landed.
 */
static struct commit *next_commit(struct run *r)
{
    if (r->flight == FLIGHT_NONE) pour(r, FLOW_OUTBOX_BYTES);
    enum flight flight = next_flight(r);
    bool is_final = flight == FLIGHT_FINAL;
    if (flight == FLIGHT_NONE) return NULL;
    struct commit *c = commit_new(r->events.len + r->saves_bytes + hook_bytes(r->opening) +
                                  OP_BYTES + RECORD_BYTES + (is_final ? final_bytes(r) : 0));
    if (!c || !fill_commit(c, r, is_final)) {
        commit_free(c);
        pause_outbox(r);
        return NULL;
    }
    if (is_final) r->final_state = FINAL_FLIES;
    r->flight = flight;
    r->n_flying = r->events.len;
    r->commit = c;
    flow_ref(r);
    return c;
}

/* ---- landing ---- */

static bool is_for_later(struct run *r, enum weir_status st)
{
    return st == WEIR_BUSY || st == WEIR_NO_SPACE || st == WEIR_NOMEM || flow_is_away(r->flow, st);
}

static void drop_flown(struct run *r)
{
    size_t left = r->events.len - r->n_flying;
    if (left > 0) memmove(r->events.ptr, r->events.ptr + r->n_flying, left);
    r->events.len = left;
    if (left == 0) weir_buf_fini(&r->events);
}

/* Under the lock. */
static void let_emitters_go(struct run *r)
{
    struct flow *f = r->flow;
    pthread_mutex_lock(&f->lock);
    if (r->is_full) pthread_cond_broadcast(&f->drained);
    r->is_full = false;
    pthread_mutex_unlock(&f->lock);
}

/* The first n are not ours any more. */
static struct save *take_saves(struct run *r, unsigned n)
{
    struct save *first = n > 0 ? r->saves : NULL;
    struct save **at = &r->saves;
    for (; n > 0 && *at; n--) {
        r->saves_bytes -= save_bytes(*at);
        at = &(*at)->next;
    }
    if (!first) return NULL;
    r->saves = *at;
    *at = NULL;
    if (!r->saves) r->saves_end = &r->saves;
    return first;
}

/* With no lock: those who saved are told. */
static void tell_savers(struct save *s, enum weir_status st)
{
    for (struct save *next; s; s = next) {
        next = s->next;
        if (s->done) s->done(s->user, st);
        mem_free(s);
    }
}

static void land_well(struct run *r, enum flight flight)
{
    drop_flown(r);
    r->n_refusals = 0;
    bool has_record = flight == FLIGHT_FINAL ? r->final != FINAL_END : r->is_record_flying;
    if (has_record) {
        r->version++;
        atomic_store(&r->is_held, true);
    }
    if (flight == FLIGHT_FINAL) r->says_rest = r->during.rests = false;
    else if (r->is_record_flying) r->says_rest = r->flies_rest;
    flow_step_free(r->opening);
    r->opening = NULL;
    let_emitters_go(r);
}

/* Under the lock: what it means; true when the run is to hear of it. */
static bool land(struct run *r, enum weir_status st)
{
    enum flight flight = r->flight;
    bool said_rest = r->says_rest;
    r->flight = FLIGHT_NONE;
    if (st == WEIR_CONFLICT && r->sees_lost) atomic_store(&r->is_lost, true);
    r->found_cancel = st == WEIR_CANCELLED && r->sees_cancel;
    if (st == WEIR_OK) land_well(r, flight);
    else if (is_for_later(r, st)) pause_outbox(r);
    if (is_for_later(r, st)) {
        if (flight == FLIGHT_FINAL) r->final_state = FINAL_WAITS;
        return false;
    }
    if (flight == FLIGHT_FINAL) {
        r->final_state = FINAL_LANDED;
        r->final_status = st;
        return true;
    }
    if (st != WEIR_OK) {
        r->broken = st;
        return true;
    }
    return r->final != FINAL_NONE || r->says_rest != said_rest;
}

static void on_landed(void *run, const struct commit_result *result);

static void hand_over(struct run *r, struct commit *c)
{
    if (c) store_commit(r->flow->store, c, on_landed, r);
}

/* By the committer, mostly. */
static void on_landed(void *run, const struct commit_result *result)
{
    struct run *r = run;
    enum weir_status st = result->status; /* which is the commit's */
    bool is_over = st == WEIR_SHUTDOWN || (st == WEIR_STORAGE && !flow_is_away(r->flow, st));
    if (is_over) flow_break(r->flow);
    pthread_mutex_lock(&r->lock);
    commit_free(r->commit);
    r->commit = NULL;
    bool is_news = land(r, st);
    struct save *saved = NULL;
    if (st == WEIR_OK) saved = take_saves(r, r->n_saves_flying);
    else if (r->broken != WEIR_OK) saved = take_saves(r, UINT_MAX);
    /* Finals are left to the pool: they may be large, and this thread has others to serve. */
    struct commit *next = r->final == FINAL_NONE ? next_commit(r) : NULL;
    if (is_news) flow_post(r, NEWS_SENT);
    pthread_mutex_unlock(&r->lock);
    hand_over(r, next);
    tell_savers(saved, st);
    flow_unref(r);
}

void flow_outbox_go_on(struct run *r)
{
    struct commit *next = NULL;
    pthread_mutex_lock(&r->lock);
    bool was_paused = r->is_paused;
    r->is_paused = false;
    if (was_paused && r->final != FINAL_NONE) flow_post(r, NEWS_SENT);
    else if (was_paused) next = next_commit(r);
    pthread_mutex_unlock(&r->lock);
    hand_over(r, next);
}

/* ---- for the run ---- */

/* With the run's lock, which it gives up while it waits. Whoever is aborted waits no more. */
static void wait_for_room(struct run *r)
{
    struct flow *f = r->flow;
    while (r->events.len >= FLOW_OUTBOX_BYTES && atomic_load(&r->aborted) == 0) {
        pthread_mutex_lock(&f->lock);
        r->is_full = true;
        pthread_mutex_unlock(&r->lock);
        while (r->is_full && atomic_load(&r->aborted) == 0)
            pthread_cond_wait(&f->drained, &f->lock);
        pthread_mutex_unlock(&f->lock);
        pthread_mutex_lock(&r->lock);
    }
}

void flow_outbox_emit(struct flow_step *s, const char *type, struct weir_slice json)
{
    struct run *r = s->run;
    struct commit *next = NULL;
    enum weir_status st = check_event(json);
    pthread_mutex_lock(&r->lock);
    if (st == WEIR_OK && s->is_hook) st = add_frame(&s->events, type, json);
    if (st == WEIR_OK && !s->is_hook) {
        wait_for_room(r);
        st = add_frame(&r->events, type, json);
        next = next_commit(r);
    }
    pthread_mutex_unlock(&r->lock);
    flow_step_note(s, st);
    hand_over(r, next);
}

static struct weir_slice copy_slice(char **at, struct weir_slice bytes)
{
    struct weir_slice copy = slice_of(*at, bytes.len);
    if (bytes.len > 0) memcpy(*at, bytes.ptr, bytes.len);
    *at += bytes.len;
    return copy;
}

static struct save *save_new(const struct flow_save *o, struct weir_slice frame)
{
    struct save *s =
        mem_alloc(sizeof *s + o->key.kind.len + o->key.id.len + o->body.len + frame.len);
    if (!s) return NULL;
    char *at = s->bytes;
    *s = (struct save){.has_cost = o->cost_usd > 0, .done = o->done, .user = o->user};
    s->key.kind = copy_slice(&at, o->key.kind);
    s->key.id = copy_slice(&at, o->key.id);
    s->body = copy_slice(&at, o->body);
    s->frame = copy_slice(&at, frame);
    return s;
}

static WEIR_MUST_CHECK enum weir_status make_save(const struct flow_save *o, struct save **out)
{
    struct weir_buf frame;
    weir_buf_init(&frame, STORE_FRAME_BYTES);
    *out = NULL;
    enum weir_status st = o->json.len > 0 ? flow_outbox_frame(&frame, o->type, o->json) : WEIR_OK;
    if (st == WEIR_OK) *out = save_new(o, weir_buf_slice(&frame));
    weir_buf_fini(&frame);
    return st == WEIR_OK && !*out ? WEIR_NOMEM : st;
}

/* Under the lock. */
static WEIR_MUST_CHECK enum weir_status add_save(struct run *r, struct save *s, double cost_usd)
{
    if (r->broken != WEIR_OK) return r->broken;
    pour(r, FLOW_OUTBOX_BYTES);
    *r->saves_end = s;
    r->saves_end = &s->next;
    r->saves_bytes += save_bytes(s);
    r->cost_usd = usd_sum(r->cost_usd, cost_usd);
    r->step_usd = usd_sum(r->step_usd, cost_usd);
    return WEIR_OK;
}

void flow_save(struct flow_step *s, const struct flow_save *o)
{
    struct run *r = s->run;
    struct commit *next = NULL;
    struct save *save;
    CHECK(!s->is_hook);
    enum weir_status st = make_save(o, &save);
    pthread_mutex_lock(&r->lock);
    if (st == WEIR_OK) st = add_save(r, save, o->cost_usd);
    if (st == WEIR_OK) next = next_commit(r);
    pthread_mutex_unlock(&r->lock);
    hand_over(r, next);
    if (st == WEIR_OK) return;
    flow_step_note(s, st);
    mem_free(save);
    if (o->done) o->done(o->user, st);
}

void flow_set_source(struct flow_step *s, const char *type,
                     bool (*next)(void *user, struct weir_buf *json), void *user)
{
    struct run *r = s->run;
    CHECK(!s->is_hook);
    pthread_mutex_lock(&r->lock);
    r->source = (struct source){.step = s, .type = type, .next = next, .user = user};
    pthread_mutex_unlock(&r->lock);
}

void flow_stir(struct flow_step *s)
{
    struct run *r = s->run;
    pthread_mutex_lock(&r->lock);
    r->source.is_stirred = true;
    struct commit *next = next_commit(r);
    pthread_mutex_unlock(&r->lock);
    hand_over(r, next);
}

void flow_outbox_init(struct run *r)
{
    r->saves_end = &r->saves;
}

void flow_outbox_fini(struct run *r)
{
    weir_buf_fini(&r->events);
    for (struct save *s = r->saves, *next; s; s = next) {
        next = s->next;
        mem_free(s);
    }
}

void flow_outbox_begin(struct run *r)
{
    pthread_mutex_lock(&r->lock);
    r->during = r->now;
    pthread_mutex_unlock(&r->lock);
}

bool flow_outbox_rest(struct run *r, bool rests)
{
    pthread_mutex_lock(&r->lock);
    r->during.rests = rests;
    bool flies_other = r->flight == FLIGHT_EVENTS && r->is_record_flying && r->flies_rest != rests;
    bool is_said = r->says_rest == rests && !flies_other;
    struct commit *next = next_commit(r);
    pthread_mutex_unlock(&r->lock);
    hand_over(r, next);
    return is_said;
}

void flow_outbox_end(struct run *r)
{
    pthread_mutex_lock(&r->lock);
    pour(r, SIZE_MAX);
    r->source = (struct source){0};
    r->during.rests = false;
    pthread_mutex_unlock(&r->lock);
}

void flow_outbox_open(struct run *r, struct flow_step *hook)
{
    hook->record = r->now;
    pthread_mutex_lock(&r->lock);
    r->opening = hook;
    struct commit *next = next_commit(r);
    pthread_mutex_unlock(&r->lock);
    hand_over(r, next);
}

void flow_outbox_finish(struct run *r, enum final_kind kind)
{
    pthread_mutex_lock(&r->lock);
    if (r->final == FINAL_NONE) {
        r->final = kind;
        r->final_state = FINAL_WAITS;
    }
    struct commit *next = next_commit(r);
    pthread_mutex_unlock(&r->lock);
    hand_over(r, next);
}

enum weir_status flow_outbox_take_broken(struct run *r, bool *had_opening)
{
    pthread_mutex_lock(&r->lock);
    enum weir_status st = r->broken;
    if (st != WEIR_OK) {
        *had_opening = r->opening != NULL;
        if (*had_opening) r->during.began_ms = 0;
        r->final = FINAL_NONE;
        weir_buf_fini(&r->events);
        flow_step_free(r->opening);
        r->opening = NULL;
        r->broken = WEIR_OK;
        let_emitters_go(r);
    }
    pthread_mutex_unlock(&r->lock);
    return st;
}

bool flow_outbox_is_empty(struct run *r)
{
    pthread_mutex_lock(&r->lock);
    bool is_empty =
        r->broken != WEIR_OK || (r->flight == FLIGHT_NONE && r->events.len == 0 && !r->saves);
    pthread_mutex_unlock(&r->lock);
    return is_empty;
}

bool flow_outbox_landed(struct run *r, enum weir_status *st)
{
    pthread_mutex_lock(&r->lock);
    bool has_landed = r->final != FINAL_NONE && r->final_state == FINAL_LANDED;
    if (has_landed) {
        *st = r->final_status;
        r->final = FINAL_NONE;
    }
    pthread_mutex_unlock(&r->lock);
    return has_landed;
}
