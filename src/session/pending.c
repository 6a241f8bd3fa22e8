/* SPDX-License-Identifier: Apache-2.0 */
/* tools/listPending and clarify/listPending: what waits for somebody's answer. */
#include "base/slice.h"
#include "session/question_impl.h"

enum {
    PENDING_LISTED = 1000, /* of those that are asked for: the oldest */
    PENDING_BYTES = 32 << 20,
};

struct pending_list {
    enum question_kind kind;
    struct weir_slice session; /* empty: all of the owner's */
    unsigned n;
    struct weir_json_doc *memory;
    struct weir_buf out;
};

static enum weir_status check_list(struct session_call *c, enum question_kind kind)
{
    const struct call_text id = {
        .member = "sessionId", .max = SIZE_MAX, .is_optional = true, .may_be_null = true};
    struct pending_list *l = arena_alloc(&c->arena, sizeof *l);
    if (!l) return c->arena.status;
    *l = (struct pending_list){.kind = kind};
    weir_buf_init(&l->out, PENDING_BYTES);
    c->data = l;
    return call_text(c, &id, &l->session);
}

static enum weir_status check_approvals(struct session_call *c)
{
    return check_list(c, QUESTION_APPROVAL);
}

static enum weir_status check_clarifications(struct session_call *c)
{
    return check_list(c, QUESTION_CLARIFY);
}

/* WEIR_EXISTS: there are as many as are listed. */
static enum weir_status put_pending(void *user, const struct doc *doc)
{
    struct pending_list *l = user;
    struct session_doc found = {.doc = *doc};
    struct question q;
    weir_json_doc_reset(l->memory);
    enum weir_status st = weir_json_parse(l->memory, doc->body, &found.json, NULL);
    if (st == WEIR_NOMEM) return st;
    if (st != WEIR_OK || !question_read(&found, &q)) return WEIR_CORRUPT;
    if (q.kind != l->kind) return WEIR_OK;
    if (l->session.len > 0 && !slice_eq(q.session, l->session)) return WEIR_OK;
    if (l->n == PENDING_LISTED) return WEIR_EXISTS;
    l->n++;
    if (l->kind == QUESTION_APPROVAL) approval_put_pending(&l->out, found.json, &q);
    else clarify_put_pending(&l->out, found.json, &q);
    return weir_buf_status(&l->out);
}

static enum weir_status prepare_list(struct session_call *c)
{
    struct pending_list *l = c->data;
    struct weir_slice owner = weir_slice_of(c->owner);
    if (l->session.len > 0) {
        struct session_doc doc;
        struct session session;
        enum weir_status st = session_find(c->sessions->store, owner, l->session, &doc, &session);
        session_doc_fini(&doc);
        if (st != WEIR_OK) return st;
    }
    l->memory = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!l->memory) return WEIR_NOMEM;
    /* Approvals come before clarifications by their ids. */
    const struct doc_query query = {.kind = SLICE("session_pending"),
                                    .owner = owner,
                                    .after =
                                        l->kind == QUESTION_CLARIFY ? SLICE("clr_") : SLICE("ap_"),
                                    .limit = SIZE_MAX};
    weir_json_put_begin_array(&l->out);
    enum weir_status st = store_doc_list(c->sessions->store, &query, put_pending, l);
    weir_json_put_end_array(&l->out);
    return st == WEIR_OK || st == WEIR_EXISTS ? weir_buf_status(&l->out) : st;
}

static void put_list(struct session_call *c, struct weir_buf *out)
{
    const struct pending_list *l = c->data;
    weir_buf_append_slice(out, weir_buf_slice(&l->out));
}

static void fini_list(struct session_call *c)
{
    struct pending_list *l = c->data;
    if (!l) return;
    weir_json_doc_free(l->memory);
    weir_buf_fini(&l->out);
}

static const char *const list_members[] = {"sessionId", NULL};

const struct session_method pending_methods[] = {
    {.space = "tools",
     .name = "listPending",
     .members = list_members,
     .check = check_approvals,
     .prepare = prepare_list,
     .put = put_list,
     .fini = fini_list},
    {.space = "clarify",
     .name = "listPending",
     .members = list_members,
     .check = check_clarifications,
     .prepare = prepare_list,
     .put = put_list,
     .fini = fini_list},
    {.space = NULL},
};
