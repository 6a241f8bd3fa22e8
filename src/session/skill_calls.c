/* SPDX-License-Identifier: Apache-2.0 */
/* skills/list, accept, reject. */
#include <stdio.h>

#include "base/slice.h"
#include "session/skills_impl.h"

static void put_public(struct weir_buf *out, struct weir_slice id, const struct skill *skill)
{
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, skill->proposed_ms);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "id");
    weir_json_put_string(out, id);
    weir_json_put_key(out, "name");
    weir_json_put_string(out, skill->name);
    weir_json_put_key(out, "text");
    weir_json_put_string(out, skill->text);
    weir_json_put_key(out, "state");
    weir_json_put_str(out, skill->is_accepted ? "accepted" : "pending");
    weir_json_put_key(out, "proposedAt");
    weir_json_put_str(out, at);
    weir_json_put_end_object(out);
}

/* ---- skills/list ---- */

static void list_one(struct weir_buf *out, struct weir_slice id, const struct weir_json *json,
                     size_t *n_pending)
{
    struct skill skill;
    if (!skill_read(json, &skill)) return;
    put_public(out, id, &skill);
    *n_pending += skill.is_accepted ? 0 : 1;
}

static void list_rest(struct weir_buf *out, size_t n_pending)
{
    weir_json_put_key(out, "pendingCount");
    weir_json_put_uint(out, n_pending);
}

static enum weir_status list_prepare(struct session_call *c)
{
    static const struct call_list all = {.kind = "skill",
                                         .member = "skills",
                                         .limit = SKILL_SHAPES,
                                         .put_one = list_one,
                                         .put_rest = list_rest};
    return call_list(c, &all);
}

/* ---- skills/accept, reject ---- */

struct decision {
    struct weir_slice id, name; /* name empty: as it was proposed */
    struct session_doc doc;
    struct skill skill;
    char chosen[SKILL_NAME_LEN + 1];
    struct weir_slice text; /* in the arena, for the answer */
};

static enum weir_status decision_check(struct session_call *c)
{
    struct decision *d = arena_alloc(&c->arena, sizeof *d);
    if (!d) return WEIR_NOMEM;
    *d = (struct decision){.name = {0}};
    c->data = d;
    return call_id(c, "skillId", &d->id);
}

static enum weir_status accept_check(struct session_call *c)
{
    enum weir_status st = decision_check(c);
    if (st != WEIR_OK) return st;
    struct decision *d = c->data;
    const struct call_text text = {
        .member = "name", .max = SKILL_NAME_LEN, .is_optional = true, .may_be_null = true};
    st = call_text(c, &text, &d->name);
    if (st == WEIR_OK && d->name.len > 0 && !skill_is_name(d->name))
        st = call_refuse(c, WEIR_BAD_FIELD, "name has a-z, 0-9 and -, at most %d of them",
                         SKILL_NAME_LEN);
    return st;
}

/* The person's own. */
static WEIR_MUST_CHECK enum weir_status find(struct session_call *c, struct decision *d,
                                             struct commit_view *view)
{
    enum weir_status st = session_doc_view(view, skill_key(d->id), &d->doc);
    if (st == WEIR_OK && !slice_eq(d->doc.doc.owner, weir_slice_of(c->owner))) st = WEIR_NOT_FOUND;
    if (st == WEIR_OK && !skill_read(d->doc.json, &d->skill)) st = WEIR_CORRUPT;
    return st;
}

/* Whose name is it? Nobody's, or that of this very skill: WEIR_OK. */
static WEIR_MUST_CHECK enum weir_status check_name(struct session_call *c, const struct decision *d,
                                                   struct commit_view *view, struct doc_key key)
{
    struct session_doc doc;
    enum weir_status st = session_doc_view(view, key, &doc);
    if (st == WEIR_OK && !slice_eq(weir_json_text(weir_json_get_str(doc.json, "skill")), d->id))
        st = call_refuse(c, WEIR_CONFLICT, "there is a skill \"%s\" already: give another name",
                         d->chosen);
    session_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static void put_name(struct session_call *c, const struct decision *d, struct doc_key key,
                     struct commit *commit)
{
    char body[SKILL_LEN + 32];
    snprintf(body, sizeof body, "{\"skill\":\"%.*s\"}", (int)d->id.len, d->id.ptr);
    commit_put(commit, key, DOC_ANY_VERSION, weir_slice_of(c->owner), weir_slice_of(body));
}

static WEIR_MUST_CHECK enum weir_status keep(struct session_call *c, struct decision *d,
                                             struct commit_view *view, struct commit *commit)
{
    char id[SKILL_KEY_BYTES], old_id[SKILL_KEY_BYTES];
    struct weir_slice owner = weir_slice_of(c->owner), name = d->name;
    struct weir_buf body;
    if (name.len == 0) name = d->skill.name;
    if (skill_is_command(name))
        return call_refuse(c, WEIR_BAD_FIELD, "name: /%.*s is a command of weir chat: give another",
                           (int)name.len, name.ptr);
    snprintf(d->chosen, sizeof d->chosen, "%.*s", (int)name.len, name.ptr);
    const struct doc_key key = skill_key_of(id, "skill_name", owner, name);
    enum weir_status st = check_name(c, d, view, key);
    if (st != WEIR_OK) return st;
    if (d->skill.is_accepted && !slice_eq(name, d->skill.name))
        commit_remove(commit, skill_key_of(old_id, "skill_name", owner, d->skill.name),
                      DOC_ANY_VERSION);
    put_name(c, d, key, commit);
    d->skill.name = weir_slice_of(d->chosen);
    d->skill.is_accepted = true;
    weir_buf_init(&body, SESSION_DOC_BYTES);
    skill_put(&body, &d->skill);
    st = weir_buf_status(&body);
    if (st == WEIR_OK)
        commit_put(commit, skill_key(d->id), d->doc.doc.version, owner, weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

/* The answer outlives what the decide has seen. */
static WEIR_MUST_CHECK enum weir_status keep_text(struct session_call *c, struct decision *d)
{
    char *text = arena_alloc(&c->arena, d->skill.text.len + 1);
    if (!text) return WEIR_NOMEM;
    memcpy(text, d->skill.text.ptr, d->skill.text.len);
    d->text = slice_of(text, d->skill.text.len);
    return WEIR_OK;
}

static enum weir_status accept_decide(struct session_call *c, struct commit_view *view,
                                      struct commit *commit)
{
    struct decision *d = c->data;
    enum weir_status st = find(c, d, view);
    if (st == WEIR_OK) st = keep(c, d, view, commit);
    if (st == WEIR_OK) st = keep_text(c, d);
    session_doc_fini(&d->doc);
    d->skill.text = d->text;
    return st;
}

static void accept_put(struct session_call *c, struct weir_buf *out)
{
    const struct decision *d = c->data;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "skill");
    put_public(out, d->id, &d->skill);
    weir_json_put_end_object(out);
}

/* One that was accepted goes, too; its shape remembers that it was proposed. */
static enum weir_status reject_decide(struct session_call *c, struct commit_view *view,
                                      struct commit *commit)
{
    struct decision *d = c->data;
    char id[SKILL_KEY_BYTES];
    enum weir_status st = find(c, d, view);
    if (st == WEIR_OK && d->skill.is_accepted)
        commit_remove(commit,
                      skill_key_of(id, "skill_name", weir_slice_of(c->owner), d->skill.name),
                      DOC_ANY_VERSION);
    if (st == WEIR_OK) commit_remove(commit, skill_key(d->id), d->doc.doc.version);
    session_doc_fini(&d->doc);
    return st;
}

/* ---- all ---- */

static const char *const no_members[] = {NULL};
static const char *const accept_members[] = {"id", "skillId", "name", NULL};
static const char *const reject_members[] = {"id", "skillId", NULL};

const struct session_method skill_methods[] = {
    {.space = "skills",
     .name = "list",
     .members = no_members,
     .prepare = list_prepare,
     .put = call_list_put,
     .fini = call_list_fini},
    {.space = "skills",
     .name = "accept",
     .is_write = true,
     .members = accept_members,
     .check = accept_check,
     .decide = accept_decide,
     .put = accept_put},
    {.space = "skills",
     .name = "reject",
     .is_write = true,
     .members = reject_members,
     .check = decision_check,
     .decide = reject_decide,
     .put = call_put_ok},
    {.space = NULL},
};
