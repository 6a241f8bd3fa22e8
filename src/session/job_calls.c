/* SPDX-License-Identifier: Apache-2.0 */
/* cron/create, list, delete; and scheduled prompts as documents and as clients see them. */
#include "base/slice.h"
#include "codec/json_member.h"
#include "session/jobs_impl.h"

/* ---- documents ---- */

struct doc_key job_key(struct weir_slice id)
{
    return (struct doc_key){SLICE("cron"), id};
}

static struct weir_slice text_of(const struct weir_json *json, const char *key)
{
    return weir_json_text(weir_json_get_str(json, key));
}

static int64_t moment_of(const struct weir_json *json, const char *key)
{
    int64_t ms = 0;
    return weir_json_int64(weir_json_get_str(json, key), &ms) && ms > 0 ? ms : 0;
}

struct job_record job_of(const struct new_job *n)
{
    bool has_own = n->session.len == 0;
    return (struct job_record){.session = has_own ? weir_slice_of(n->own_session) : n->session,
                               .name = n->name,
                               .schedule = n->schedule,
                               .zone = weir_slice_of(n->zone_name),
                               .text = n->text,
                               .next_ms = n->next_ms,
                               .created_ms = n->created_ms};
}

bool job_read(const struct weir_json *json, struct job_record *out)
{
    *out = (struct job_record){.session = text_of(json, "session"),
                               .name = text_of(json, "name"),
                               .schedule = text_of(json, "schedule"),
                               .zone = text_of(json, "timezone"),
                               .text = text_of(json, "text"),
                               .next_ms = moment_of(json, "nextMs"),
                               .last_ms = moment_of(json, "lastMs"),
                               .created_ms = moment_of(json, "createdMs")};
    return out->session.len > 0 && out->schedule.len > 0 && out->zone.len > 0 && out->text.len > 0;
}

static void put_text(struct weir_buf *out, const char *key, struct weir_slice text)
{
    weir_json_put_key(out, key);
    if (text.len > 0) weir_json_put_string(out, text);
    else weir_json_put_null(out);
}

static void put_moment(struct weir_buf *out, const char *key, int64_t ms)
{
    char text[CLOCK_TEXT_BYTES];
    weir_json_put_key(out, key);
    if (ms > 0) clock_format(text, ms);
    weir_json_put_str(out, ms > 0 ? text : NULL);
}

void job_write(struct weir_buf *out, const struct job_record *r)
{
    weir_json_put_begin_object(out);
    put_text(out, "session", r->session);
    put_text(out, "name", r->name);
    put_text(out, "schedule", r->schedule);
    put_text(out, "timezone", r->zone);
    put_text(out, "text", r->text);
    member_int(out, "nextMs", r->next_ms);
    member_int(out, "lastMs", r->last_ms);
    member_int(out, "createdMs", r->created_ms);
    weir_json_put_end_object(out);
}

void job_put_public(struct weir_buf *out, struct weir_slice id, const struct job_record *r)
{
    weir_json_put_begin_object(out);
    put_text(out, "id", id);
    put_text(out, "sessionId", r->session);
    put_text(out, "name", r->name);
    put_text(out, "schedule", r->schedule);
    put_text(out, "timezone", r->zone);
    put_text(out, "text", r->text);
    put_moment(out, "nextRunAt", r->next_ms);
    put_moment(out, "lastRunAt", r->last_ms);
    put_moment(out, "createdAt", r->created_ms);
    weir_json_put_end_object(out);
}

/* ---- cron/create ---- */

static enum weir_status create_check(struct session_call *c)
{
    struct new_job *n = arena_alloc(&c->arena, sizeof *n);
    if (!n) return WEIR_NOMEM;
    *n = (struct new_job){.owner = weir_slice_of(c->owner)};
    c->data = n;
    const struct {
        struct call_text text;
        struct weir_slice *to;
    } rows[] = {
        {{.member = "schedule", .max = CRON_TEXT_BYTES}, &n->schedule},
        {{.member = "text", .max = CRON_PROMPT_BYTES}, &n->text},
        {{.member = "sessionId",
          .max = SESSION_CLIENT_BYTES,
          .is_optional = true,
          .may_be_null = true},
         &n->session},
        {{.member = "timezone", .max = CRON_ZONE_BYTES, .is_optional = true, .may_be_null = true},
         &n->zone},
        {{.member = "name",
          .max = CRON_NAME_BYTES,
          .is_optional = true,
          .may_be_null = true,
          .is_label = true},
         &n->name},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum weir_status st = call_text(c, &rows[i].text, rows[i].to);
        if (st != WEIR_OK) return st;
    }
    return n->session.len > 0 && !session_is_id(n->session) ? WEIR_NOT_FOUND : WEIR_OK;
}

static enum weir_status create_prepare(struct session_call *c)
{
    struct new_job *n = c->data;
    enum weir_status st = jobs_check(c->sessions, n);
    return st != WEIR_OK && n->why[0] ? call_refuse(c, st, "%s", n->why) : st;
}

static enum weir_status create_decide(struct session_call *c, struct commit_view *view,
                                      struct commit *commit)
{
    return jobs_put(c->sessions, c->data, view, commit);
}

static void create_committed(struct session_call *c, enum weir_status st)
{
    jobs_made(c->sessions, c->data, st);
}

static void create_put(struct session_call *c, struct weir_buf *out)
{
    const struct new_job *n = c->data;
    const struct job_record r = job_of(n);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "job");
    job_put_public(out, weir_slice_of(n->id), &r);
    weir_json_put_end_object(out);
}

/* Nobody came to committing it. */
static void create_fini(struct session_call *c)
{
    if (c->data) jobs_made(c->sessions, c->data, WEIR_CANCELLED);
}

/* ---- cron/list ---- */

static void list_one(struct weir_buf *out, struct weir_slice id, const struct weir_json *json,
                     size_t *n)
{
    struct job_record r;
    (void)n; /* nothing is counted */
    if (job_read(json, &r)) job_put_public(out, id, &r);
}

static enum weir_status list_prepare(struct session_call *c)
{
    static const struct call_list all = {
        .kind = "cron", .member = "jobs", .limit = CRON_JOBS, .put_one = list_one};
    return call_list(c, &all);
}

/* ---- cron/delete ---- */

struct deletion {
    struct weir_slice id;
};

static enum weir_status delete_check(struct session_call *c)
{
    struct deletion *d = arena_alloc(&c->arena, sizeof *d);
    if (!d) return WEIR_NOMEM;
    *d = (struct deletion){0};
    c->data = d;
    return call_id(c, "jobId", &d->id);
}

static enum weir_status delete_decide(struct session_call *c, struct commit_view *view,
                                      struct commit *commit)
{
    const struct deletion *d = c->data;
    struct doc doc;
    enum weir_status st = commit_view_doc(view, job_key(d->id), &doc);
    if (st == WEIR_OK && !slice_eq(doc.owner, weir_slice_of(c->owner))) st = WEIR_NOT_FOUND;
    if (st == WEIR_OK) commit_remove(commit, job_key(d->id), doc.version);
    return st;
}

static void delete_committed(struct session_call *c, enum weir_status st)
{
    const struct deletion *d = c->data;
    if (st == WEIR_OK) jobs_removed(c->sessions, d->id);
}

/* ---- all ---- */

static const char *const create_members[] = {"schedule", "text", "sessionId",
                                             "timezone", "name", NULL};
static const char *const no_members[] = {NULL};
static const char *const delete_members[] = {"id", "jobId", NULL};

const struct session_method job_methods[] = {
    {.space = "cron",
     .name = "create",
     .is_write = true,
     .members = create_members,
     .check = create_check,
     .prepare = create_prepare,
     .decide = create_decide,
     .committed = create_committed,
     .put = create_put,
     .fini = create_fini},
    {.space = "cron",
     .name = "list",
     .members = no_members,
     .prepare = list_prepare,
     .put = call_list_put,
     .fini = call_list_fini},
    {.space = "cron",
     .name = "delete",
     .is_write = true,
     .members = delete_members,
     .check = delete_check,
     .decide = delete_decide,
     .committed = delete_committed,
     .put = call_put_ok},
    {.space = NULL},
};
