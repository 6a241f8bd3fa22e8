/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduled prompts that are due. One commit, decided when its turn comes, sends the message and
 * says when the job is due again; so it happens once, whatever crashes. What was missed happens
 * once as well, for the next moment is counted from now. A clock that goes back fires nothing again
 * for the same reason: the next moment only ever grows, and is compared.
 *
 * However many are due at once, CRON_FLYING of them are on their way, and the timer never waits.
 */
#include "base/mem.h"
#include "base/slice.h"
#include "session/jobs_impl.h"

enum fate {
    FATE_AGAIN, /* not now: its queue is full, or the store is busy */
    FATE_FIRED,
    FATE_MOVED, /* it is due at another time */
    FATE_GONE,  /* it, or its session, is not there any more */
};

struct firing {
    struct jobs *jobs;
    struct job *job; /* it stays while it flies */
    int64_t saw_ms;
    int64_t next_ms; /* out */
    enum fate fate;
    struct sending message;
    struct weir_buf text; /* of the skill that it names */
};

static WEIR_MUST_CHECK enum weir_status move_on(struct firing *f, const struct session_doc *doc,
                                                struct job_record *r, struct commit *c)
{
    struct weir_buf body;
    r->next_ms = f->next_ms;
    weir_buf_init(&body, SESSION_DOC_BYTES);
    job_write(&body, r);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK)
        commit_put(c, job_key(weir_slice_of(f->job->id)), doc->doc.version, doc->doc.owner,
                   weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

static WEIR_MUST_CHECK enum weir_status set_text(struct firing *f, struct weir_slice text,
                                                 struct commit_view *view)
{
    bool is_skill;
    weir_buf_reset(&f->text);
    enum weir_status st = skills_expand_view(view, f->message.owner, text, &f->text, &is_skill);
    f->message.text = is_skill ? weir_buf_slice(&f->text) : text;
    f->message.is_skill = is_skill;
    return st;
}

static WEIR_MUST_CHECK enum weir_status send_it(struct firing *f, const struct session_doc *doc,
                                                struct job_record *r, struct commit_view *view,
                                                struct commit *c)
{
    struct sessions *s = f->jobs->sessions;
    int64_t now_ms = sessions_now(s);
    f->next_ms = r->next_ms;
    if (r->next_ms != f->saw_ms || now_ms < r->next_ms) {
        f->fate = FATE_MOVED;
        return WEIR_CONFLICT;
    }
    f->message.owner = doc->doc.owner;
    f->message.session = r->session;
    f->message.job = weir_slice_of(f->job->id);
    enum weir_status st = set_text(f, r->text, view);
    if (st == WEIR_OK) st = session_send_decide(s, &f->message, view, c);
    if (st == WEIR_NOT_FOUND) {
        f->fate = FATE_GONE;
        commit_remove(c, job_key(weir_slice_of(f->job->id)), doc->doc.version);
        return WEIR_OK;
    }
    if (st != WEIR_OK) return st;
    f->fate = FATE_FIRED;
    f->next_ms = job_next_ms(&f->job->cron, f->job->zone->zone, now_ms);
    r->last_ms = now_ms;
    return move_on(f, doc, r, c);
}

static enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    struct firing *f = user;
    struct session_doc doc;
    struct job_record r;
    f->fate = FATE_AGAIN;
    enum weir_status st = session_doc_view(view, job_key(weir_slice_of(f->job->id)), &doc);
    if (st == WEIR_NOT_FOUND) f->fate = FATE_GONE;
    if (st == WEIR_OK && !job_read(doc.json, &r)) st = WEIR_CORRUPT;
    if (st == WEIR_OK) st = send_it(f, &doc, &r, view, c);
    session_doc_fini(&doc);
    return st;
}

/* Under the lock. Ever later: thousands may wait for the same queue. */
static void try_later(struct jobs *j, struct job *job)
{
    job->again_ms = job->again_ms == 0 ? CRON_AGAIN_MS : job->again_ms * 2;
    if (job->again_ms > CRON_AGAIN_MAX_MS) job->again_ms = CRON_AGAIN_MAX_MS;
    job_time(j, job, (uint64_t)sessions_now(j->sessions) + job->again_ms);
}

/* Under the lock. */
static void settle(struct jobs *j, const struct firing *f, enum weir_status st)
{
    struct job *job = f->job;
    bool is_sent = st == WEIR_OK && f->fate == FATE_FIRED;
    bool has_left = f->fate == FATE_GONE && (st == WEIR_OK || st == WEIR_NOT_FOUND);
    job->is_flying = false;
    j->n_flying--;
    if (job->is_gone || has_left) {
        job_forget(j, job);
        return;
    }
    if (is_sent || (f->fate == FATE_MOVED && st == WEIR_CONFLICT)) {
        job->next_ms = f->next_ms;
        job->again_ms = 0;
        job_time(j, job, f->next_ms > 0 ? (uint64_t)f->next_ms : CRON_NEVER);
    } else {
        try_later(j, job);
    }
    jobs_arm(j);
}

static void pump(struct jobs *j);

static void landed(void *user, enum weir_status st)
{
    struct firing *f = user;
    struct jobs *j = f->jobs;
    pthread_mutex_lock(&j->lock);
    settle(j, f, st);
    pthread_mutex_unlock(&j->lock);
    if (st == WEIR_OK && f->fate == FATE_FIRED) {
        sessions_count(j->sessions, offsetof(struct sessions_stats, n_cron_fired));
        if (f->message.begins) session_begin(j->sessions, weir_slice_of(f->message.turn));
    }
    weir_buf_fini(&f->text);
    mem_free(f);
    pump(j);
}

static void launch(struct jobs *j, struct firing *f)
{
    const struct own_commit commit = {.decide = decide, .then = landed, .user = f};
    enum weir_status st = sessions_next_id(j->sessions, "trn_", f->message.turn);
    if (st == WEIR_OK && sessions_commit(j->sessions, &commit)) return;
    landed(f, st == WEIR_OK ? WEIR_BUSY : st);
}

/* Under the lock; NULL: there is nothing to do, or enough is on its way. */
static struct firing *next_firing(struct jobs *j)
{
    if (j->n_flying >= CRON_FLYING || list_is_empty(&j->ready)) return NULL;
    struct job *job = CONTAINER_OF(list_pop_front(&j->ready), struct job, line);
    struct firing *f = mem_zalloc(sizeof *f);
    if (!f) {
        try_later(j, job);
        jobs_arm(j);
        return NULL;
    }
    *f = (struct firing){.jobs = j, .job = job, .saw_ms = job->next_ms};
    weir_buf_init(&f->text, SESSION_TEXT_BYTES);
    job->is_flying = true;
    j->n_flying++;
    return f;
}

/*
 * One at a time, whoever calls: a commit that is refused lands before sessions_commit() returns,
 * and would pump again from within.
 */
static void pump(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    j->is_to_pump = true;
    if (!j->is_pumping) {
        j->is_pumping = true;
        while (j->is_to_pump) {
            j->is_to_pump = false;
            for (struct firing *f; (f = next_firing(j));) {
                pthread_mutex_unlock(&j->lock);
                launch(j, f);
                pthread_mutex_lock(&j->lock);
            }
        }
        j->is_pumping = false;
    }
    pthread_mutex_unlock(&j->lock);
}

void jobs_fire(struct sessions *s, struct due *d)
{
    struct jobs *j = CONTAINER_OF(d, struct jobs, due);
    uint64_t now_ms = (uint64_t)sessions_now(s);
    pthread_mutex_lock(&j->lock);
    for (struct heap_node *n; (n = heap_peek(&j->timers)) && n->due <= now_ms;) {
        struct job *job = CONTAINER_OF(n, struct job, node);
        job_time(j, job, CRON_NEVER);
        list_push_back(&j->ready, &job->line);
    }
    jobs_arm(j);
    pthread_mutex_unlock(&j->lock);
    pump(j);
}

/* ---- the end of its turn ---- */

/* When it was fired: the moment its message was sent. */
static WEIR_MUST_CHECK enum weir_status ran_at(struct flow_step *s, const struct flow_end *end,
                                               int64_t *out)
{
    struct session_doc doc;
    *out = end->began_ms;
    enum weir_status st = session_doc_get(flow_store(s), session_turn_key(flow_id(s)), &doc);
    if (st == WEIR_OK) (void)weir_json_int64(weir_json_get_str(doc.json, "createdMs"), out);
    session_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

enum weir_status jobs_turn_ended(struct flow_step *s, struct weir_slice job,
                                 const struct flow_end *end)
{
    char text[CLOCK_TEXT_BYTES];
    struct weir_buf event;
    int64_t at_ms;
    enum weir_status st = ran_at(s, end, &at_ms);
    if (st != WEIR_OK) return st;
    clock_format(text, at_ms);
    weir_buf_init(&event, SESSION_EVENT_BYTES);
    weir_json_put_begin_object(&event);
    weir_json_put_key(&event, "type");
    weir_json_put_str(&event, "cron.fired");
    weir_json_put_key(&event, "jobId");
    weir_json_put_string(&event, job);
    weir_json_put_key(&event, "ranAt");
    weir_json_put_str(&event, text);
    weir_json_put_key(&event, "outputPath");
    weir_json_put_null(&event);
    weir_json_put_end_object(&event);
    st = weir_buf_status(&event);
    if (st == WEIR_OK) flow_emit(s, NULL, weir_buf_slice(&event));
    weir_buf_fini(&event);
    return st;
}
