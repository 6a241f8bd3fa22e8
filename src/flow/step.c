/* SPDX-License-Identifier: Apache-2.0 */
/* What steps may call. See flow.h. */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "codec/json_check.h"
#include "flow/flow_impl.h"

struct flow_step *flow_step_new(struct run *r, bool is_hook)
{
    struct flow_step *s = mem_zalloc(sizeof *s);
    if (!s) return NULL;
    s->run = r;
    s->is_hook = is_hook;
    s->docs_end = &s->docs;
    arena_init(&s->arena, FLOW_ARENA_BYTES);
    arena_init(&s->docs_arena, STORE_COMMIT_BYTES);
    weir_buf_init(&s->body, STORE_DOC_BYTES);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void flow_step_forget_reading(struct flow_step *s)
{
    if (!s->reading) return;
    weir_json_doc_free(s->reading->doc);
    mem_free(s->reading);
    s->reading = NULL;
}

void flow_step_free(struct flow_step *s)
{
    if (!s) return;
    for (size_t i = 0; s->parts && i < FLOW_PARTS && s->parts->parts[i]; i++) {
        arena_fini(&s->parts->parts[i]->arena);
        mem_free(s->parts->parts[i]);
    }
    mem_free(s->parts);
    flow_step_forget_reading(s);
    weir_buf_fini(&s->events);
    weir_buf_fini(&s->body);
    arena_fini(&s->docs_arena);
    arena_fini(&s->arena);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

void *flow_user(struct flow_step *s)
{
    return s->run->workflow->user;
}

struct weir_slice flow_id(const struct flow_step *s)
{
    return run_id(s->run);
}

struct weir_slice flow_owner(const struct flow_step *s)
{
    return s->run->owner;
}

struct store *flow_store(const struct flow_step *s)
{
    return s->run->flow->store;
}

const struct clock *flow_clock(const struct flow_step *s)
{
    return s->run->flow->options.clock;
}

unsigned flow_number(const struct flow_step *s)
{
    return s->run->now.step + 1;
}

unsigned flow_attempt(const struct flow_step *s)
{
    return s->run->now.attempt;
}

struct arena *flow_arena(struct flow_step *s)
{
    return &s->arena;
}

bool flow_is_aborted(const struct flow_step *s)
{
    return atomic_load(&s->run->aborted) != 0;
}

void flow_set_data(struct flow_step *s, void *data)
{
    s->data = data;
}

void *flow_data(const struct flow_step *s)
{
    return s->data;
}

/* ---- reading ---- */

/* What a step does not hear of, the engine remembers; the first one. */
void flow_step_note(struct flow_step *s, enum weir_status st)
{
    unsigned none = WEIR_OK;
    if (st != WEIR_OK) atomic_compare_exchange_strong(&s->status, &none, (unsigned)st);
}

void flow_hook_fail(struct flow_step *s, enum weir_status st)
{
    CHECK(s->is_hook && st != WEIR_OK);
    flow_step_note(s, st);
}

/* The step's lock is held here and below: parts read, too. */
static WEIR_MUST_CHECK enum weir_status need_reading(struct flow_step *s)
{
    if (s->reading) return WEIR_OK;
    struct reading *reading = mem_zalloc(sizeof *reading);
    if (!reading) return WEIR_NOMEM;
    reading->doc = weir_json_doc_new(0);
    if (!reading->doc) {
        mem_free(reading);
        return WEIR_NOMEM;
    }
    s->reading = reading;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status parse(struct flow_step *s, struct weir_slice text,
                                              const struct weir_json **out)
{
    enum weir_status st = weir_json_parse(s->reading->doc, text, out, NULL);
    return st == WEIR_OK || st == WEIR_NOMEM || st == WEIR_LIMIT ? st : WEIR_CORRUPT;
}

static WEIR_MUST_CHECK enum weir_status read_doc(struct flow_step *s, struct doc_key key,
                                                 bool is_step, const struct weir_json **out)
{
    struct doc doc;
    enum weir_status st = store_doc_get(s->run->flow->store, key, &doc);
    if (st != WEIR_OK) return st;
    st = parse(s, is_step ? flow_step_output_of(doc.body) : doc.body, out);
    doc_fini(&doc);
    return st;
}

static WEIR_MUST_CHECK enum weir_status read_output(struct flow_step *s, unsigned index,
                                                    const struct weir_json **out)
{
    const struct run *r = s->run;
    char id[STEP_ID_BYTES];
    if (r->pending_number == index + 1 && !r->step->has_failed)
        return parse(s, flow_step_output_of(weir_buf_slice(&r->step->body)), out);
    if (!(r->now.done >> index & 1)) return WEIR_OK;
    struct doc_key key = {weir_slice_of(flow_step_kind), flow_step_id(id, run_id(r), index + 1)};
    return read_doc(s, key, true, out);
}

const struct weir_json *flow_input(struct flow_step *s)
{
    const struct weir_json *input = NULL;
    struct run *r = s->run;
    pthread_mutex_lock(&s->lock);
    enum weir_status st = need_reading(s);
    if (st == WEIR_OK) input = s->reading->input;
    if (st == WEIR_OK && !input) {
        st =
            read_doc(s, (struct doc_key){weir_slice_of(flow_input_kind), run_id(r)}, false, &input);
        s->reading->input = st == WEIR_OK ? input : NULL;
    }
    flow_step_note(s, st);
    pthread_mutex_unlock(&s->lock);
    return st == WEIR_OK ? input : NULL;
}

static unsigned index_of(const struct workflow *w, const char *name)
{
    unsigned i = 0;
    while (i < w->n_steps && strcmp(w->steps[i].name, name) != 0) i++;
    CHECK(i < w->n_steps);
    return i;
}

const struct weir_json *flow_output(struct flow_step *s, const char *step)
{
    const struct weir_json *output = NULL;
    struct run *r = s->run;
    unsigned index = index_of(r->workflow, step);
    pthread_mutex_lock(&s->lock);
    enum weir_status st = need_reading(s);
    if (st == WEIR_OK) output = s->reading->outputs[index];
    if (st == WEIR_OK && !s->reading->has_output[index]) {
        st = read_output(s, index, &output);
        s->reading->outputs[index] = st == WEIR_OK ? output : NULL;
        s->reading->has_output[index] = st == WEIR_OK;
    }
    flow_step_note(s, st);
    pthread_mutex_unlock(&s->lock);
    return st == WEIR_OK ? output : NULL;
}

/* ---- bringing something ---- */

void flow_emit(struct flow_step *s, const char *type, struct weir_slice json)
{
    flow_outbox_emit(s, type, json);
}

static struct weir_slice keep(struct flow_step *s, struct weir_slice bytes)
{
    char *to = arena_alloc(&s->docs_arena, bytes.len + 1);
    if (!to) {
        flow_step_note(s, s->docs_arena.status);
        return (struct weir_slice){0};
    }
    if (bytes.len > 0) memcpy(to, bytes.ptr, bytes.len);
    return slice_of(to, bytes.len);
}

static void add_doc(struct flow_step *s, const struct draft_doc *doc)
{
    pthread_mutex_lock(&s->lock);
    struct draft_doc *d = arena_alloc(&s->docs_arena, sizeof *d);
    if (d) {
        *d = *doc;
        d->key = (struct doc_key){keep(s, doc->key.kind), keep(s, doc->key.id)};
        d->body = keep(s, doc->body);
        *s->docs_end = d;
        s->docs_end = &d->next;
        s->docs_bytes += sizeof *d + d->key.kind.len + d->key.id.len + d->body.len;
    } else {
        flow_step_note(s, s->docs_arena.status);
    }
    pthread_mutex_unlock(&s->lock);
}

void flow_put(struct flow_step *s, struct doc_key key, int64_t expected_version,
              struct weir_slice body)
{
    add_doc(s, &(struct draft_doc){.key = key, .expected_version = expected_version, .body = body});
}

void flow_remove(struct flow_step *s, struct doc_key key, int64_t expected_version)
{
    add_doc(s, &(struct draft_doc){
                   .key = key, .expected_version = expected_version, .is_removal = true});
}

void flow_append(struct flow_step *s, struct weir_slice log, const char *type,
                 struct weir_slice json)
{
    struct weir_buf frame;
    weir_buf_init(&frame, STORE_FRAME_BYTES);
    enum weir_status st = flow_outbox_frame(&frame, type, json);
    if (st == WEIR_OK)
        add_doc(s, &(struct draft_doc){
                       .key = {.kind = log}, .is_event = true, .body = weir_buf_slice(&frame)});
    flow_step_note(s, st);
    weir_buf_fini(&frame);
}

double flow_cost(const struct flow_step *s)
{
    struct run *r = s->run;
    pthread_mutex_lock(&r->lock);
    double usd = r->cost_usd;
    pthread_mutex_unlock(&r->lock);
    return usd;
}

/* ---- the end of an attempt ---- */

void flow_step_write_body(struct flow_step *s, struct weir_slice output)
{
    struct run *r = s->run;
    unsigned index = r->now.step;
    pthread_mutex_lock(&r->lock);
    double step_usd = r->step_usd;
    pthread_mutex_unlock(&r->lock);
    weir_buf_reset(&s->body);
    flow_step_write(&s->body,
                    &(struct flow_step_info){.name = r->workflow->steps[index].name,
                                             .number = index + 1,
                                             .attempts = r->now.attempt,
                                             .began_ms = s->began_ms,
                                             .ended_ms = clock_wall_ms(flow_clock(s)),
                                             .cost_usd = step_usd,
                                             .output = output,
                                             .failure = s->has_failed ? &s->failure : r->failure});
}

static void end(struct flow_step *s)
{
    CHECK(!s->is_hook && !s->is_ended);
    s->is_ended = true;
    flow_outbox_end(s->run);
    flow_post(s->run, NEWS_ENDED);
}

static void fail_with(struct flow_step *s, enum weir_status st, const char *message)
{
    s->has_failed = true;
    s->failure = (struct flow_failure){.code = st};
    snprintf(s->failure.message, sizeof s->failure.message, "%s", message);
}

void flow_done(struct flow_step *s, struct weir_slice output)
{
    struct json_found found;
    enum weir_status st = json_check(output, NULL, NULL, &found);
    if (st == WEIR_OK && output.len > FLOW_OUTPUT_BYTES) st = WEIR_LIMIT;
    if (st == WEIR_OK) {
        flow_step_write_body(s, output);
        st = weir_buf_status(&s->body);
    }
    if (st != WEIR_OK) fail_with(s, st == WEIR_NOMEM ? st : WEIR_INTERNAL, weir_status_text(st));
    end(s);
}

void flow_fail(struct flow_step *s, const struct flow_failure *failure)
{
    CHECK(failure->code != WEIR_OK);
    s->has_failed = true;
    s->failure = *failure;
    s->failure.message[FLOW_MESSAGE_BYTES - 1] = '\0';
    end(s);
}

/* ---- parts ---- */

/* With the engine's lock: whether all that is left of it waits, and whether for people alone. */
static void look_if_waiting_locked(struct flow_step *s)
{
    struct run *r = s->run;
    struct flow *f = r->flow;
    const struct parts *p = s->parts;
    bool is_waiting = p->n_left > 0 && p->n_parked == p->n_left;
    bool begins = is_waiting && !r->is_waiting;
    bool is_at_rest = p->n_left > 0 && p->n_resting == p->n_left;
    if (begins) f->n_waiting++;
    if (!is_waiting && r->is_waiting) f->n_waiting--;
    if (is_at_rest && !r->is_at_rest) f->n_at_rest++;
    if (!is_at_rest && r->is_at_rest) f->n_at_rest--;
    if (begins && flow_is_giving_locked(f)) flow_abort_locked(r, ABORT_GIVE);
    r->is_waiting = is_waiting;
    r->is_at_rest = is_at_rest;
    if (is_at_rest && f->is_stopping) pthread_cond_broadcast(&f->idle);
}

/*
 * With the engine's lock. What has been in no crash has nothing to lose: the document of its run is
 * left as it is, and one crash counts.
 */
static void look_if_resting_locked(struct flow_step *s)
{
    struct run *r = s->run;
    const struct parts *p = s->parts;
    if (r->now.crashes == 0 || p->n_left == 0 || p->n_resting < p->n_left) return;
    r->is_resting = true;
    flow_post_locked(r, NEWS_REST);
}

static void enter_part(struct part *p)
{
    struct flow_step *s = p->step;
    pthread_mutex_lock(&s->lock);
    s->parts->n_running++;
    if (p->waits) s->parts->n_asleep--;
    pthread_mutex_unlock(&s->lock);
    p->waits = p->rests = false;
}

/* What can be had again is given back when all that is left waits. */
static void leave_part(struct part *p)
{
    struct flow_step *s = p->step;
    if (p->waits) arena_fini(&p->arena);
    pthread_mutex_lock(&s->lock);
    s->parts->n_running--;
    if (p->waits) s->parts->n_asleep++;
    if (s->parts->n_running == 0 && s->parts->n_asleep > 0) flow_step_forget_reading(s);
    pthread_mutex_unlock(&s->lock);
}

static void part_go(struct work *w)
{
    struct part *p = CONTAINER_OF(w, struct part, work);
    struct flow_step *s = p->step;
    struct flow *f = s->run->flow;
    enter_part(p);
    s->parts->run(s, p->index);
    leave_part(p);
    pthread_mutex_lock(&f->lock);
    if (!p->waits) s->parts->n_left--;
    else if (p->is_resumed) flow_push_front_locked(f, &p->work);
    else s->parts->n_parked++;
    p->is_parked = p->waits && !p->is_resumed;
    p->is_resumed = false;
    if (p->is_parked && p->rests) s->parts->n_resting++;
    look_if_waiting_locked(s);
    look_if_resting_locked(s);
    if (s->parts->n_left == 0) flow_post_locked(s->run, NEWS_PARTS);
    pthread_mutex_unlock(&f->lock);
}

void flow_part_wait(struct flow_step *s, size_t i)
{
    s->parts->parts[i]->waits = true;
}

void flow_part_rest(struct flow_step *s, size_t i)
{
    s->parts->parts[i]->waits = s->parts->parts[i]->rests = true;
}

/* With the engine's lock. Whoever frees the engine has no threads any more. */
static void go_on_locked(struct part *p)
{
    struct run *r = p->step->run;
    struct parts *parts = p->step->parts;
    if (r->is_resting) {
        p->is_held = true;
        parts->n_held++;
    }
    if (r->flow->is_quitting) return;
    if (r->is_resting) flow_post_locked(r, NEWS_REST);
    else flow_push_front_locked(r->flow, &p->work);
}

void flow_step_leave_rest_locked(struct flow_step *s)
{
    s->run->is_resting = false;
    s->parts->n_held = 0;
    for (size_t i = 0; i < FLOW_PARTS && s->parts->parts[i]; i++) {
        struct part *p = s->parts->parts[i];
        if (p->is_held) flow_push_front_locked(s->run->flow, &p->work);
        p->is_held = false;
    }
}

void flow_part_resume(struct flow_step *s, size_t i)
{
    struct flow *f = s->run->flow;
    struct part *p = s->parts->parts[i];
    pthread_mutex_lock(&f->lock);
    if (p->is_parked) {
        p->is_parked = false;
        s->parts->n_parked--;
        if (p->rests) s->parts->n_resting--;
        look_if_waiting_locked(s);
        go_on_locked(p);
    } else {
        p->is_resumed = true;
    }
    pthread_mutex_unlock(&f->lock);
}

static bool need_part(struct flow_step *s, size_t i)
{
    struct part *p = s->parts->parts[i];
    if (!p) {
        p = s->parts->parts[i] = mem_zalloc(sizeof *p);
        if (!p) return false;
        *p = (struct part){.work = {.go = part_go}, .step = s, .index = i};
        arena_init(&p->arena, FLOW_ARENA_BYTES);
    }
    return true;
}

static bool need_parts(struct flow_step *s, size_t n)
{
    bool is_good = true;
    if (!s->parts) s->parts = mem_zalloc(sizeof *s->parts);
    if (!s->parts) return false;
    for (size_t i = 0; i < n && is_good; i++) is_good = need_part(s, i);
    return is_good;
}

void flow_parallel(struct flow_step *s, size_t n, void (*part)(struct flow_step *s, size_t i),
                   void (*then)(struct flow_step *s))
{
    struct flow *f = s->run->flow;
    CHECK(n <= FLOW_PARTS && !s->is_hook);
    if (!need_parts(s, n)) {
        fail_with(s, WEIR_NOMEM, weir_status_text(WEIR_NOMEM));
        end(s);
        return;
    }
    struct parts *p = s->parts;
    s->is_parallel = true;
    p->run = part;
    p->then = then;
    p->n_left = n;
    if (n == 0) flow_post(s->run, NEWS_PARTS);
    if (n == 1) {
        part_go(&p->parts[0]->work); /* nobody else is needed */
        return;
    }
    pthread_mutex_lock(&f->lock);
    for (size_t i = n; i > 0; i--) flow_push_front_locked(f, &p->parts[i - 1]->work);
    pthread_mutex_unlock(&f->lock);
}

struct arena *flow_part_arena(struct flow_step *s, size_t i)
{
    CHECK(s->parts && i < FLOW_PARTS && s->parts->parts[i]);
    return &s->parts->parts[i]->arena;
}

void flow_on_abort(struct flow_step *s, void (*abort)(void *user), void *user)
{
    CHECK(!s->is_hook && !s->is_waiting);
    s->was_told = false;
    s->abort = abort;
    s->abort_user = user;
}

/* ---- waiting ---- */

void flow_wait(struct flow_step *s, void (*abort)(void *user), void *user)
{
    struct run *r = s->run;
    struct flow *f = r->flow;
    CHECK(!s->is_hook && !s->is_waiting);
    s->is_waiting = true;
    s->was_told = false;
    s->abort = abort;
    s->abort_user = user;
    pthread_mutex_lock(&f->lock);
    r->is_waiting = true;
    f->n_waiting++;
    if (flow_is_giving_locked(f)) flow_abort_locked(r, ABORT_GIVE);
    pthread_mutex_unlock(&f->lock);
}

void flow_resume(struct flow_step *s, void (*fn)(struct flow_step *s))
{
    s->resume = fn;
    flow_post(s->run, NEWS_RESUMED);
}
