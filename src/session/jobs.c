/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduled prompts: those there are, and making one. In memory each is in a heap of moments, of
 * which the engine's timer knows the earliest. A job that is made takes its place there before it
 * is committed, so that nothing can fail when that has landed.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "session/jobs_impl.h"

/* ---- moments ---- */

int64_t job_next_ms(const struct cron *cron, const struct zone *zone, int64_t now_ms)
{
    int64_t now = now_ms / 1000 - (now_ms % 1000 < 0 ? 1 : 0);
    int64_t next;
    return cron_next(cron, zone, now, &next) ? next * 1000 : 0;
}

void jobs_arm(struct jobs *j)
{
    const struct heap_node *first = heap_peek(&j->timers);
    if (!j->is_going || !first) return;
    due_set(j->sessions, &j->due, first->due < INT64_MAX ? (int64_t)first->due : INT64_MAX);
}

void job_time(struct jobs *j, struct job *job, uint64_t at_ms)
{
    heap_move(&j->timers, &job->node, at_ms);
}

/* ---- those there are ---- */

static struct job_owner *owner_of(struct jobs *j, struct weir_slice name)
{
    struct job_owner *o = map_get(&j->owners, name);
    if (o) return o;
    if (name.len >= SESSION_OWNER_BYTES) return NULL;
    o = mem_zalloc(sizeof *o);
    if (!o) return NULL;
    memcpy(o->name, name.ptr, name.len);
    list_init(&o->jobs);
    if (map_put(&j->owners, name, o) == WEIR_OK) return o;
    mem_free(o);
    return NULL;
}

static void leave_owner(struct jobs *j, struct job_owner *o)
{
    if (o->n_jobs > 0) return;
    (void)map_take(&j->owners, weir_slice_of(o->name));
    mem_free(o);
}

static void unlink_job(struct jobs *j, struct job *job)
{
    struct job_owner *o = job->owner;
    if (list_is_linked(&job->line)) list_remove(&job->line);
    heap_remove(&j->timers, &job->node);
    (void)map_take(&j->jobs, weir_slice_of(job->id));
    list_remove(&job->place);
    o->n_jobs--;
    o->n_bytes -= job->n_bytes;
    leave_owner(j, o);
}

static void zone_drop(struct job_zone *z)
{
    if (z) zone_free(z->zone);
    mem_free(z);
}

/* Under the lock. */
static void zone_leave(struct jobs *j, struct job_zone *z)
{
    if (!z || --z->n_uses > 0) return;
    (void)map_take(&j->zones, weir_slice_of(zone_name(z->zone)));
    zone_drop(z);
}

/* Under the lock: one that is in no list any more, or was in none. */
static void free_job(struct jobs *j, struct job *job)
{
    zone_leave(j, job->zone);
    mem_free(job);
}

void job_forget(struct jobs *j, struct job *job)
{
    if (!job->is_gone) unlink_job(j, job);
    job->is_gone = true;
    if (!job->is_flying && !job->is_new) free_job(j, job);
}

void jobs_removed(struct sessions *s, struct weir_slice id)
{
    struct jobs *j = s->jobs;
    pthread_mutex_lock(&j->lock);
    struct job *job = map_get(&j->jobs, id);
    if (job) job_forget(j, job);
    pthread_mutex_unlock(&j->lock);
}

/* Under the lock: into the map, the heap and its owner's. */
static WEIR_MUST_CHECK enum weir_status link_job(struct jobs *j, struct job *job,
                                                 struct weir_slice owner)
{
    struct job_owner *o = owner_of(j, owner);
    if (!o) return WEIR_NOMEM;
    enum weir_status st = heap_push(&j->timers, &job->node, CRON_NEVER);
    if (st == WEIR_OK) st = map_put(&j->jobs, weir_slice_of(job->id), job);
    if (st != WEIR_OK) {
        if (heap_is_linked(&job->node)) heap_remove(&j->timers, &job->node);
        leave_owner(j, o);
        return st;
    }
    job->owner = o;
    list_push_back(&o->jobs, &job->place);
    o->n_jobs++;
    o->n_bytes += job->n_bytes;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status zone_new(const char *name, struct job_zone **out)
{
    *out = mem_zalloc(sizeof **out);
    if (!*out) return WEIR_NOMEM;
    enum weir_status st = zone_load(&(*out)->zone, name);
    if (st == WEIR_OK) return WEIR_OK;
    mem_free(*out);
    *out = NULL;
    return st;
}

/* Under the lock: the one that is in use, with one use more; else `made`, which may be NULL. */
static WEIR_MUST_CHECK enum weir_status zone_use(struct jobs *j, struct weir_slice name,
                                                 struct job_zone *made, struct job_zone **out)
{
    enum weir_status st = WEIR_OK;
    *out = map_get(&j->zones, name);
    if (!*out && made) {
        st = map_put(&j->zones, name, made);
        if (st == WEIR_OK) *out = made;
    }
    if (*out) (*out)->n_uses++;
    return st;
}

/*
 * A zone by its name, to be given back: only those that jobs have are kept, or whoever names many
 * would fill the table for all. WEIR_NOT_FOUND.
 */
static WEIR_MUST_CHECK enum weir_status zone_take(struct jobs *j, const char *name,
                                                  struct job_zone **out)
{
    struct job_zone *made = NULL;
    pthread_mutex_lock(&j->lock);
    enum weir_status st = zone_use(j, weir_slice_of(name), NULL, out);
    pthread_mutex_unlock(&j->lock);
    if (st != WEIR_OK || *out) return st;
    st = zone_new(name, &made);
    if (st != WEIR_OK) return st;
    pthread_mutex_lock(&j->lock);
    st = zone_use(j, weir_slice_of(name), made, out);
    pthread_mutex_unlock(&j->lock);
    if (*out != made) zone_drop(made);
    return st;
}

static void zone_give(struct jobs *j, struct job_zone *z)
{
    pthread_mutex_lock(&j->lock);
    zone_leave(j, z);
    pthread_mutex_unlock(&j->lock);
}

static struct job *new_job(struct weir_slice id, struct weir_slice session, struct weir_slice text)
{
    struct job *job = mem_zalloc(sizeof *job);
    if (!job) return NULL;
    memcpy(job->id, id.ptr, id.len);
    memcpy(job->session, session.ptr, session.len);
    job->n_bytes = text.len;
    return job;
}

/* ---- life ---- */

struct taking {
    struct jobs *jobs;
    struct weir_json_doc *json;
    size_t n;
};

/* Under the lock: another node has moved it. One that is on its way to be fired finds out itself.
 */
static void move_known(struct jobs *j, struct job *job, const struct job_record *r)
{
    job->seen = j->n_looks;
    if (job->is_new || job->is_flying || job->next_ms == r->next_ms) return;
    if (list_is_linked(&job->line)) list_remove(&job->line);
    job->next_ms = r->next_ms;
    job_time(j, job, r->next_ms > 0 ? (uint64_t)r->next_ms : CRON_NEVER);
}

static bool is_known(struct jobs *j, const struct doc *doc, const struct job_record *r)
{
    pthread_mutex_lock(&j->lock);
    struct job *job = map_get(&j->jobs, doc->id);
    if (job) move_known(j, job, r);
    pthread_mutex_unlock(&j->lock);
    return job != NULL;
}

/* WEIR_EXISTS: two looks at once have both found it missing. */
static WEIR_MUST_CHECK enum weir_status link_found(struct jobs *j, struct job *job,
                                                   struct weir_slice owner, int64_t next_ms)
{
    enum weir_status st = WEIR_EXISTS;
    pthread_mutex_lock(&j->lock);
    if (!map_get(&j->jobs, weir_slice_of(job->id))) st = link_job(j, job, owner);
    if (st == WEIR_OK) {
        job->seen = j->n_looks;
        job->next_ms = next_ms;
        if (next_ms > 0) job_time(j, job, (uint64_t)next_ms);
    }
    pthread_mutex_unlock(&j->lock);
    return st;
}

static void drop_unlinked(struct jobs *j, struct job *job)
{
    pthread_mutex_lock(&j->lock);
    free_job(j, job);
    pthread_mutex_unlock(&j->lock);
}

static WEIR_MUST_CHECK enum weir_status take_record(struct jobs *j, const struct doc *doc,
                                                    const struct job_record *r)
{
    if (is_known(j, doc, r)) return WEIR_OK;
    char why[CRON_WHY_BYTES];
    char zone[CRON_ZONE_BYTES];
    if (doc->id.len != JOB_ID_LEN || r->session.len > SESSION_LEN || r->zone.len >= sizeof zone)
        return WEIR_CORRUPT;
    snprintf(zone, sizeof zone, "%.*s", (int)r->zone.len, r->zone.len > 0 ? r->zone.ptr : "");
    struct job *job = new_job(doc->id, r->session, r->text);
    if (!job) return WEIR_NOMEM;
    enum weir_status st = cron_parse(r->schedule, &job->cron, why) ? WEIR_OK : WEIR_CORRUPT;
    if (st == WEIR_OK) st = zone_take(j, zone, &job->zone);
    if (st == WEIR_OK) st = link_found(j, job, doc->owner, r->next_ms);
    if (st != WEIR_OK) drop_unlinked(j, job);
    return st == WEIR_EXISTS ? WEIR_OK : st;
}

/* One that cannot be read, or whose zone is not known any more, does not stop the others. */
static enum weir_status take(void *user, const struct doc *doc)
{
    struct taking *t = user;
    const struct weir_json *value;
    struct job_record r;
    weir_json_doc_reset(t->json);
    enum weir_status st = weir_json_parse(t->json, doc->body, &value, NULL);
    if (st == WEIR_OK) st = job_read(value, &r) ? take_record(t->jobs, doc, &r) : WEIR_CORRUPT;
    if (st == WEIR_NOMEM || st == WEIR_OK) return st;
    TRACE(t->jobs->sessions->options.trace, TRACE_WARN, "session", "a scheduled prompt rests",
          trace_str("job", doc->id), trace_str("why", weir_slice_of(weir_status_text(st))));
    return WEIR_OK;
}

enum weir_status jobs_start(struct sessions *s)
{
    struct jobs *j = mem_zalloc(sizeof *j);
    if (!j) return WEIR_NOMEM;
    j->sessions = s;
    j->due.fire = jobs_fire;
    pthread_mutex_init(&j->lock, NULL);
    map_init(&j->jobs, CRON_JOBS_IN_ALL);
    map_init(&j->owners, CRON_JOBS_IN_ALL);
    map_init(&j->zones, CRON_JOBS_IN_ALL);
    heap_init(&j->timers, CRON_JOBS_IN_ALL);
    list_init(&j->ready);
    s->jobs = j;
    struct taking t = {.jobs = j, .json = weir_json_doc_new(0)};
    const struct doc_query all = {.kind = SLICE("cron"), .limit = SIZE_MAX};
    enum weir_status st = t.json ? store_doc_list(s->store, &all, take, &t) : WEIR_NOMEM;
    weir_json_doc_free(t.json);
    return st;
}

/* ---- other nodes' ---- */

static void arm(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    jobs_arm(j);
    pthread_mutex_unlock(&j->lock);
}

/* One whose commit is on its way is not there yet. */
static void forget_removed(struct jobs *j, struct weir_slice id)
{
    pthread_mutex_lock(&j->lock);
    struct job *job = map_get(&j->jobs, id);
    if (job && !job->is_new) job_forget(j, job);
    pthread_mutex_unlock(&j->lock);
}

void jobs_look(struct sessions *s, struct weir_slice id)
{
    struct jobs *j = s->jobs;
    struct doc doc;
    struct taking t = {.jobs = j, .json = weir_json_doc_new(0)};
    if (!t.json) return;
    enum weir_status st = store_doc_get(s->store, job_key(id), &doc);
    if (st == WEIR_NOT_FOUND) forget_removed(j, id);
    if (st == WEIR_OK) {
        st = take(&t, &doc);
        doc_fini(&doc);
        arm(j);
    }
    weir_json_doc_free(t.json);
}

/* Under the lock: those that the look has not seen. */
static void forget_unseen(struct jobs *j)
{
    struct map_walk walk = map_walk_begin(&j->jobs);
    while (map_walk_next(&j->jobs, &walk)) {
        struct job *job = walk.value;
        if (job->seen != j->n_looks && !job->is_new) job_forget(j, job);
    }
}

/* What is made meanwhile is not in the list, maybe: it has seen this look all the same. */
void jobs_look_all(struct sessions *s, struct weir_slice nobody)
{
    struct jobs *j = s->jobs;
    struct taking t = {.jobs = j, .json = weir_json_doc_new(0)};
    const struct doc_query all = {.kind = SLICE("cron"), .limit = SIZE_MAX};
    (void)nobody;
    if (!t.json) return;
    pthread_mutex_lock(&j->lock);
    j->n_looks++;
    pthread_mutex_unlock(&j->lock);
    enum weir_status st = store_doc_list(s->store, &all, take, &t);
    pthread_mutex_lock(&j->lock);
    if (st == WEIR_OK) forget_unseen(j);
    jobs_arm(j);
    pthread_mutex_unlock(&j->lock);
    weir_json_doc_free(t.json);
}

void jobs_go(struct sessions *s)
{
    struct jobs *j = s->jobs;
    pthread_mutex_lock(&j->lock);
    j->is_going = true;
    jobs_arm(j);
    pthread_mutex_unlock(&j->lock);
}

void jobs_free(struct jobs *j)
{
    if (!j) return;
    due_clear(j->sessions, &j->due);
    heap_fini(&j->timers);
    struct map_walk walk = map_walk_begin(&j->jobs);
    while (map_walk_next(&j->jobs, &walk)) mem_free(walk.value);
    walk = map_walk_begin(&j->owners);
    while (map_walk_next(&j->owners, &walk)) mem_free(walk.value);
    walk = map_walk_begin(&j->zones);
    while (map_walk_next(&j->zones, &walk)) zone_drop(walk.value);
    map_fini(&j->jobs);
    map_fini(&j->owners);
    map_fini(&j->zones);
    pthread_mutex_destroy(&j->lock);
    mem_free(j);
}

/* ---- making one ---- */

static enum weir_status refuse(struct new_job *n, enum weir_status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum weir_status refuse(struct new_job *n, enum weir_status st, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(n->why, sizeof n->why, format, args);
    va_end(args);
    return st;
}

static bool is_blank(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r\n", text.ptr[i])) return false;
    return true;
}

static WEIR_MUST_CHECK enum weir_status check_zone(struct jobs *j, struct new_job *n,
                                                   struct job_zone **zone)
{
    const char *usual = j->sessions->options.zone ? j->sessions->options.zone : "UTC";
    struct weir_slice name = n->zone.len > 0 ? n->zone : weir_slice_of(usual);
    int shown = (int)(name.len < CRON_ZONE_BYTES ? name.len : CRON_ZONE_BYTES);
    enum weir_status st = WEIR_NOT_FOUND;
    if (name.len < sizeof n->zone_name && !memchr(name.ptr, '\0', name.len)) {
        memcpy(n->zone_name, name.ptr, name.len);
        n->zone_name[name.len] = '\0';
        st = zone_take(j, n->zone_name, zone);
    }
    if (st != WEIR_NOT_FOUND && st != WEIR_CORRUPT && st != WEIR_INVALID) return st;
    return refuse(n, WEIR_BAD_FIELD,
                  "timezone \"%.*s\" is not known: it is a name as Europe/Berlin or UTC", shown,
                  name.ptr);
}

static WEIR_MUST_CHECK enum weir_status check_texts(struct new_job *n, struct cron *cron)
{
    char why[CRON_WHY_BYTES];
    if (!cron_parse(n->schedule, cron, why)) return refuse(n, WEIR_BAD_FIELD, "schedule: %s", why);
    if (is_blank(n->text)) return refuse(n, WEIR_BAD_FIELD, "text is empty");
    if (n->text.len > CRON_PROMPT_BYTES)
        return refuse(n, WEIR_BAD_FIELD, "text is longer than %d bytes", CRON_PROMPT_BYTES);
    if (n->name.len > CRON_NAME_BYTES)
        return refuse(n, WEIR_BAD_FIELD, "name is longer than %d bytes", CRON_NAME_BYTES);
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status make_ids(struct sessions *s, struct new_job *n)
{
    enum weir_status st = WEIR_OK;
    if (n->id[0] == '\0') st = sessions_next_id(s, "cron_", n->id);
    if (st == WEIR_OK && n->session.len == 0) st = sessions_next_id(s, "ses_", n->own_session);
    return st;
}

/* Under the lock. */
static WEIR_MUST_CHECK enum weir_status has_room(struct jobs *j, struct new_job *n)
{
    const struct job_owner *o = map_get(&j->owners, n->owner);
    if (j->jobs.len >= CRON_JOBS_IN_ALL)
        return refuse(n, WEIR_CONCURRENCY, "the server has as many scheduled prompts as it can");
    if (!o) return WEIR_OK;
    if (o->n_jobs >= CRON_JOBS)
        return refuse(n, WEIR_CONCURRENCY, "there are %d scheduled prompts: remove some first",
                      CRON_JOBS);
    if (o->n_bytes + n->text.len > CRON_PROMPTS_BYTES)
        return refuse(n, WEIR_CONCURRENCY,
                      "the texts of your scheduled prompts are longer than %d MiB in all",
                      CRON_PROMPTS_BYTES >> 20);
    return WEIR_OK;
}

/* Its place in memory; one that is there already keeps its own. */
static WEIR_MUST_CHECK enum weir_status reserve(struct jobs *j, struct new_job *n,
                                                const struct cron *cron, struct job_zone *zone)
{
    struct weir_slice session = n->session.len > 0 ? n->session : weir_slice_of(n->own_session);
    if (session.len > SESSION_LEN) return WEIR_NOT_FOUND;
    struct job *job = new_job(weir_slice_of(n->id), session, n->text);
    if (!job) return WEIR_NOMEM;
    job->cron = *cron;
    job->next_ms = n->next_ms;
    job->is_new = true;
    pthread_mutex_lock(&j->lock);
    job->seen = j->n_looks;
    bool is_there = map_get(&j->jobs, weir_slice_of(n->id)) != NULL;
    enum weir_status st = is_there ? WEIR_OK : has_room(j, n);
    if (st == WEIR_OK && !is_there) st = link_job(j, job, n->owner);
    n->job = st == WEIR_OK && !is_there ? job : NULL;
    if (n->job) {
        job->zone = zone;
        zone->n_uses++;
    }
    pthread_mutex_unlock(&j->lock);
    if (!n->job) mem_free(job);
    return st;
}

/* What it says by itself. On WEIR_OK the zone is to be given back. */
static WEIR_MUST_CHECK enum weir_status check_sense(struct sessions *s, struct new_job *n,
                                                    struct cron *cron, struct job_zone **zone)
{
    *zone = NULL;
    n->job = NULL;
    n->created_ms = sessions_now(s);
    enum weir_status st = check_texts(n, cron);
    if (st == WEIR_OK) st = check_zone(s->jobs, n, zone);
    if (st != WEIR_OK) return st;
    n->next_ms = job_next_ms(cron, (*zone)->zone, n->created_ms);
    if (n->next_ms > 0) return WEIR_OK;
    zone_give(s->jobs, *zone);
    return refuse(n, WEIR_BAD_FIELD,
                  "schedule \"%.*s\" never comes: no month has such a day, as 30 February",
                  (int)n->schedule.len, n->schedule.ptr);
}

enum weir_status jobs_make_sense(struct sessions *s, struct new_job *n)
{
    struct cron cron;
    struct job_zone *zone;
    enum weir_status st = check_sense(s, n, &cron, &zone);
    if (st == WEIR_OK) zone_give(s->jobs, zone);
    return st;
}

enum weir_status jobs_check(struct sessions *s, struct new_job *n)
{
    struct cron cron;
    struct job_zone *zone;
    enum weir_status st = check_sense(s, n, &cron, &zone);
    if (st != WEIR_OK) return st;
    st = make_ids(s, n);
    if (st == WEIR_OK) st = reserve(s->jobs, n, &cron, zone);
    zone_give(s->jobs, zone);
    return st;
}

static WEIR_MUST_CHECK enum weir_status put_session(struct sessions *s, const struct new_job *n,
                                                    struct commit_view *view, struct commit *c)
{
    char title[SESSION_TITLE_BYTES];
    struct session_doc doc;
    struct session session;
    struct weir_slice called = session_title(title, n->name.len > 0 ? n->name : n->text);
    if (n->session.len == 0)
        return session_make(s, n->owner, weir_slice_of(n->own_session), called, c, &session);
    enum weir_status st = session_find_view(view, n->owner, n->session, &doc, &session);
    session_doc_fini(&doc);
    return st;
}

enum weir_status jobs_put(struct sessions *s, const struct new_job *n, struct commit_view *view,
                          struct commit *c)
{
    const struct doc_key key = job_key(weir_slice_of(n->id));
    struct doc there;
    enum weir_status st = commit_view_doc(view, key, &there);
    if (st != WEIR_NOT_FOUND) return st;
    st = put_session(s, n, view, c);
    if (st != WEIR_OK) return st;
    const struct job_record r = job_of(n);
    struct weir_buf body;
    weir_buf_init(&body, SESSION_DOC_BYTES);
    job_write(&body, &r);
    st = weir_buf_status(&body);
    if (st == WEIR_OK) commit_put(c, key, DOC_MUST_BE_NEW, n->owner, weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

void jobs_made(struct sessions *s, struct new_job *n, enum weir_status st)
{
    struct jobs *j = s->jobs;
    if (!n->job) return;
    pthread_mutex_lock(&j->lock);
    n->job->is_new = false;
    n->job->seen = j->n_looks; /* one under way may not have found it */
    if (st == WEIR_OK && !n->job->is_gone) job_time(j, n->job, (uint64_t)n->job->next_ms);
    else job_forget(j, n->job);
    n->job = NULL;
    jobs_arm(j);
    pthread_mutex_unlock(&j->lock);
}

/* ---- with a session ---- */

struct forgetting {
    size_t n;
    char ids[CRON_FORGET_AT_ONCE][JOB_ID_LEN + 1];
};

static enum weir_status forget_decide(void *user, struct commit_view *view, struct commit *c)
{
    const struct forgetting *f = user;
    for (size_t i = 0; i < f->n; i++) {
        const struct doc_key key = job_key(weir_slice_of(f->ids[i]));
        struct doc doc;
        enum weir_status st = commit_view_doc(view, key, &doc);
        if (st == WEIR_OK) commit_remove(c, key, doc.version);
        else if (st != WEIR_NOT_FOUND) return st;
    }
    return WEIR_OK;
}

/* Those of a session, as they are listed. */
struct finding {
    struct weir_slice session;
    struct weir_json_doc *json;
    struct forgetting *out;
};

/* One that cannot be read is nobody's. */
static enum weir_status find_one(void *user, const struct doc *doc)
{
    const struct finding *f = user;
    struct forgetting *out = f->out;
    const struct weir_json *value;
    struct job_record r;
    weir_json_doc_reset(f->json);
    enum weir_status st = weir_json_parse(f->json, doc->body, &value, NULL);
    if (st == WEIR_NOMEM) return st;
    bool is_its = st == WEIR_OK && doc->id.len == JOB_ID_LEN && job_read(value, &r) &&
                  slice_eq(r.session, f->session);
    if (!is_its) return WEIR_OK;
    snprintf(out->ids[out->n++], JOB_ID_LEN + 1, "%.*s", (int)doc->id.len, doc->id.ptr);
    return out->n < CRON_FORGET_AT_ONCE ? WEIR_OK : WEIR_EXISTS;
}

/*
 * By the store: those that another node made may not have been told of yet. One that is on its way
 * finds out when it is due.
 */
static WEIR_MUST_CHECK enum weir_status find_some(struct sessions *s, struct weir_slice owner,
                                                  struct weir_slice session, struct forgetting *out)
{
    struct finding f = {.session = session, .json = weir_json_doc_new(0), .out = out};
    const struct doc_query query = {.kind = SLICE("cron"), .owner = owner, .limit = SIZE_MAX};
    out->n = 0;
    enum weir_status st = f.json ? store_doc_list(s->store, &query, find_one, &f) : WEIR_NOMEM;
    weir_json_doc_free(f.json);
    return st == WEIR_EXISTS ? WEIR_OK : st;
}

enum weir_status jobs_forget_session(struct sessions *s, struct weir_slice owner,
                                     struct weir_slice session)
{
    struct forgetting f;
    for (;;) {
        enum weir_status st = find_some(s, owner, session, &f);
        if (st != WEIR_OK || f.n == 0) return st;
        struct commit *c = commit_new(0);
        if (!c) return WEIR_NOMEM;
        commit_decide(c, false, forget_decide, &f);
        struct commit_result result = store_commit_wait(s->store, c);
        if (result.status != WEIR_OK) return result.status;
        for (size_t i = 0; i < f.n; i++) jobs_removed(s, weir_slice_of(f.ids[i]));
    }
}
