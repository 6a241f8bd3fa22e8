/* SPDX-License-Identifier: Apache-2.0 */
/* sessions/…: list, create, update, pin and unpin. get.c, fork.c and delete.c have the others. */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "base/check.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "session/session_impl.h"

enum {
    TITLE_CHARS = 200,
    LIST_LIMIT = 50,
    LIST_MAX = 200,
    SEARCH_BYTES = 200,
    SEARCHED = 1000, /* sessions that a call looks through; there is a cursor for more */
    SEARCHED_BYTES =
        1 << 20, /* of messages, likewise: it is a thread of the store's that does it */
    SEARCHED_OF_ONE = 4 << 20, /* of one session; there is no cursor within it */
    READ_BYTES = 256,          /* what reading a message costs at least, as bytes */
    LIST_BYTES = 16 << 20,
};

/* ---- a session as clients see it ---- */

static void put_or_null(struct weir_buf *out, const char *name, struct weir_slice text)
{
    weir_json_put_key(out, name);
    if (text.len > 0) weir_json_put_string(out, text);
    else weir_json_put_null(out);
}

static void put_usage(struct weir_buf *out, const struct session_usage *u)
{
    weir_json_put_key(out, "usage");
    weir_json_put_begin_object(out);
    member_uint(out, "inputTokens", u->n_input);
    member_uint(out, "outputTokens", u->n_output);
    member_uint(out, "cacheReadTokens", u->n_cache_read);
    member_uint(out, "cacheCreationTokens", u->n_cache_write);
    weir_json_put_key(out, "estimatedCostUsd");
    weir_json_put_double(out, u->cost_usd);
    member_uint(out, "apiCallCount", u->n_calls);
    member_uint(out, "compactionCount", 0);
    weir_json_put_end_object(out);
}

void session_show(struct weir_buf *out, const struct session *v)
{
    weir_json_put_begin_object(out);
    member_string(out, "id", v->id);
    member_string(out, "key", v->id);
    member_string(out, "platform", SLICE("weir"));
    member_string(out, "model", v->model);
    member_string(out, "provider", v->provider);
    put_or_null(out, "personalityId", SLICE(""));
    put_or_null(out, "parentSessionId", v->parent);
    put_or_null(out, "workingDir", SLICE(""));
    put_or_null(out, "title", v->title);
    weir_json_put_key(out, "pinned");
    weir_json_put_bool(out, v->is_pinned);
    put_usage(out, &v->usage);
    member_time(out, "createdAt", v->created_ms);
    member_time(out, "updatedAt", v->updated_ms);
    member_uint(out, "version", 1);
    member_string(out, "state", v->running.len > 0 ? SLICE("running") : SLICE("idle"));
    member_uint(out, "queued", v->n_queue);
    weir_json_put_end_object(out);
}

/* ---- inputs ---- */

enum weir_status call_session_id(struct session_call *c, struct weir_slice *out)
{
    struct weir_slice other;
    const bool has_id = weir_json_get_str(c->input, "id") != NULL;
    const bool has_other = weir_json_get_str(c->input, "sessionId") != NULL;
    const struct call_text id = {.member = "id", .max = SESSION_CLIENT_BYTES};
    const struct call_text same = {.member = "sessionId", .max = SESSION_CLIENT_BYTES};
    enum weir_status st = WEIR_OK;
    if (has_id || !has_other) st = call_text(c, &id, out);
    if (st != WEIR_OK || !has_other) return st;
    st = call_text(c, &same, &other);
    if (st == WEIR_OK && has_id && !slice_eq(*out, other))
        return call_refuse(c, WEIR_BAD_FIELD, "sessionId is another one than id");
    *out = other;
    return st;
}

/* ---- list ---- */

struct list_call {
    struct weir_slice text, cursor; /* empty: all, from the newest on */
    size_t limit;
    struct weir_buf out;
    size_t n, n_searched;       /* sessions that were found; bytes that were looked through */
    char last[SESSION_LEN + 1]; /* that was looked at */
    bool has_more;
};

static enum weir_status check_limit(struct session_call *c, size_t *out)
{
    const struct weir_json *v = weir_json_get_str(c->input, "limit");
    int64_t n = LIST_LIMIT;
    bool is_given = weir_json_type_of(v) != WEIR_JSON_NULL;
    if (is_given && (!weir_json_int64(v, &n) || n < 1 || n > LIST_MAX))
        return call_refuse(c, WEIR_BAD_FIELD, "limit must be a whole number from 1 to %d",
                           LIST_MAX);
    *out = (size_t)n;
    return WEIR_OK;
}

static enum weir_status check_list(struct session_call *c)
{
    struct list_call *l = arena_alloc(&c->arena, sizeof *l);
    if (!l) return WEIR_NOMEM;
    *l = (struct list_call){0};
    weir_buf_init(&l->out, LIST_BYTES);
    c->data = l;
    enum weir_status st = call_text(c,
                                    &(struct call_text){.member = "q",
                                                        .max = SEARCH_BYTES,
                                                        .is_optional = true,
                                                        .may_be_null = true,
                                                        .may_be_empty = true},
                                    &l->text);
    if (st == WEIR_OK)
        st = call_text(c,
                       &(struct call_text){.member = "cursor",
                                           .max = SESSION_CLIENT_BYTES,
                                           .is_optional = true,
                                           .may_be_null = true},
                       &l->cursor);
    if (st == WEIR_OK && l->cursor.len > 0 && !session_is_id(l->cursor))
        st = call_refuse(c, WEIR_BAD_FIELD, "cursor is none that was given");
    return st == WEIR_OK ? check_limit(c, &l->limit) : st;
}

static bool contains(struct weir_slice text, struct weir_slice part)
{
    if (part.len == 0) return true;
    int lower = tolower((unsigned char)part.ptr[0]), upper = toupper((unsigned char)part.ptr[0]);
    for (size_t i = 0; i + part.len <= text.len; i++) {
        int c = (unsigned char)text.ptr[i];
        if ((c == lower || c == upper) && strncasecmp(text.ptr + i, part.ptr, part.len) == 0)
            return true;
    }
    return false;
}

struct search {
    struct weir_slice text;
    size_t n_bytes; /* that were looked through */
    bool is_found;
};

static enum weir_status search_message(void *user, struct weir_slice turn, unsigned n,
                                       const struct weir_json *message)
{
    struct search *f = user;
    (void)turn;
    (void)n;
    struct weir_slice content = weir_json_text(weir_json_get_str(message, "content"));
    f->is_found = contains(content, f->text);
    f->n_bytes += content.len + READ_BYTES;
    return f->is_found || f->n_bytes >= SEARCHED_OF_ONE ? WEIR_EXISTS : WEIR_OK;
}

static enum weir_status is_wanted(struct session_call *c, const struct session *v, bool *is)
{
    struct list_call *l = c->data;
    struct search f = {.text = l->text};
    *is = l->text.len == 0 || contains(v->title, l->text);
    if (*is) return WEIR_OK;
    enum weir_status st = session_messages_each(c->sessions->store, v->id, search_message, &f);
    l->n_searched += f.n_bytes;
    *is = f.is_found;
    return st == WEIR_EXISTS ? WEIR_OK : st;
}

static enum weir_status list_one(struct session_call *c, struct weir_slice id)
{
    struct list_call *l = c->data;
    struct session_doc doc;
    struct session v;
    bool is = false;
    enum weir_status st = session_find(c->sessions->store, weir_slice_of(c->owner), id, &doc, &v);
    if (st == WEIR_OK) st = is_wanted(c, &v, &is);
    if (st == WEIR_OK && is) {
        session_show(&l->out, &v);
        l->n++;
        st = weir_buf_status(&l->out);
    }
    session_doc_fini(&doc);
    if (st != WEIR_CORRUPT) return st == WEIR_NOT_FOUND ? WEIR_OK : st;
    /* One that is damaged does not hide all others. */
    TRACE(c->sessions->options.trace, TRACE_ERROR, "session", "cannot be read",
          trace_str("session", id));
    return WEIR_OK;
}

/* Ids first: nothing else is read while the list is. */
static enum weir_status note_id(void *user, const struct doc *doc)
{
    struct weir_buf *ids = user;
    if (session_is_id(doc->id)) weir_buf_append_slice(ids, doc->id);
    return weir_buf_status(ids);
}

static enum weir_status list_ids(struct session_call *c, const struct weir_buf *ids)
{
    struct list_call *l = c->data;
    enum weir_status st = WEIR_OK;
    size_t at = 0;
    while (st == WEIR_OK && at < ids->len && l->n < l->limit && l->n_searched < SEARCHED_BYTES) {
        memcpy(l->last, ids->ptr + at, SESSION_LEN);
        st = list_one(c, weir_slice_of(l->last));
        at += SESSION_LEN;
    }
    l->has_more = at < ids->len;
    return st;
}

/* One more than are looked at, to know whether there are more. */
static enum weir_status prepare_list(struct session_call *c)
{
    struct list_call *l = c->data;
    struct weir_buf ids;
    const struct doc_query query = {.kind = SLICE("session"),
                                    .owner = weir_slice_of(c->owner),
                                    .after = l->cursor,
                                    .limit = SEARCHED + 1,
                                    .is_falling = true};
    weir_buf_init(&ids, (SEARCHED + 1) * SESSION_LEN);
    weir_json_put_begin_array(&l->out);
    enum weir_status st = store_doc_list(c->sessions->store, &query, note_id, &ids);
    bool is_cut = ids.len > (size_t)SEARCHED * SESSION_LEN;
    if (is_cut) ids.len -= SESSION_LEN;
    if (st == WEIR_OK) st = list_ids(c, &ids);
    weir_json_put_end_array(&l->out);
    l->has_more = l->has_more || is_cut;
    weir_buf_fini(&ids);
    return st == WEIR_OK ? weir_buf_status(&l->out) : st;
}

static void put_list(struct session_call *c, struct weir_buf *out)
{
    const struct list_call *l = c->data;
    weir_buf_append_str(out, "{\"sessions\":");
    weir_buf_append_slice(out, weir_buf_slice(&l->out));
    if (l->has_more) weir_buf_printf(out, ",\"nextCursor\":\"%s\"}", l->last);
    else weir_buf_append_str(out, ",\"nextCursor\":null}");
}

static void list_fini(struct session_call *c)
{
    struct list_call *l = c->data;
    if (l) weir_buf_fini(&l->out);
}

/* ---- create, update, pin, unpin ---- */

struct change_call {
    struct weir_slice id, title;
    char made[SESSION_LEN + 1]; /* of create */
    struct weir_buf shown;
};

static enum weir_status new_change(struct session_call *c)
{
    struct change_call *w = arena_alloc(&c->arena, sizeof *w);
    if (!w) return WEIR_NOMEM;
    *w = (struct change_call){0};
    weir_buf_init(&w->shown, SESSION_DOC_BYTES);
    c->data = w;
    return WEIR_OK;
}

static enum weir_status check_change(struct session_call *c)
{
    enum weir_status st = new_change(c);
    struct change_call *w = c->data;
    return st == WEIR_OK ? call_session_id(c, &w->id) : st;
}

static enum weir_status check_title(struct session_call *c, struct weir_slice title)
{
    size_t n_chars = 0;
    for (size_t i = 0; i < title.len; i++) n_chars += ((unsigned char)title.ptr[i] & 0xC0) != 0x80;
    if (n_chars > TITLE_CHARS)
        return call_refuse(c, WEIR_BAD_FIELD, "title is longer than %d characters", TITLE_CHARS);
    return WEIR_OK;
}

static enum weir_status check_update(struct session_call *c)
{
    enum weir_status st = check_change(c);
    struct change_call *w = c->data;
    const struct call_text title = {.member = "title",
                                    .max = (size_t)TITLE_CHARS * UTF8_MAX_BYTES,
                                    .may_be_null = true,
                                    .is_label = true};
    if (st == WEIR_OK) st = call_text(c, &title, &w->title);
    return st == WEIR_OK ? check_title(c, w->title) : st;
}

static enum weir_status check_create(struct session_call *c)
{
    enum weir_status st = new_change(c);
    struct change_call *w = c->data;
    const struct call_text title = {.member = "title",
                                    .max = (size_t)TITLE_CHARS * UTF8_MAX_BYTES,
                                    .is_optional = true,
                                    .may_be_null = true,
                                    .is_label = true};
    if (st == WEIR_OK) st = call_text(c, &title, &w->title);
    return st == WEIR_OK ? check_title(c, w->title) : st;
}

static enum weir_status prepare_create(struct session_call *c)
{
    struct change_call *w = c->data;
    return sessions_next_id(c->sessions, "ses_", w->made);
}

static enum weir_status decide_create(struct session_call *c, struct commit_view *view,
                                      struct commit *commit)
{
    struct change_call *w = c->data;
    struct session v;
    (void)view;
    enum weir_status st = session_make(c->sessions, weir_slice_of(c->owner), weir_slice_of(w->made),
                                       w->title, commit, &v);
    weir_buf_reset(&w->shown);
    if (st == WEIR_OK) session_show(&w->shown, &v);
    return st == WEIR_OK ? weir_buf_status(&w->shown) : st;
}

typedef void (*change_fn)(struct session_call *c, struct session *v);

static enum weir_status decide_change(struct session_call *c, struct commit_view *view,
                                      struct commit *commit, change_fn change)
{
    struct change_call *w = c->data;
    struct session_doc doc;
    struct session v;
    enum weir_status st = session_find_view(view, weir_slice_of(c->owner), w->id, &doc, &v);
    if (st == WEIR_OK) {
        change(c, &v);
        weir_buf_reset(&w->shown);
        session_show(&w->shown, &v);
        st = session_keep(commit, &doc, &v);
    }
    session_doc_fini(&doc);
    return st == WEIR_OK ? weir_buf_status(&w->shown) : st;
}

static void set_title(struct session_call *c, struct session *v)
{
    const struct change_call *w = c->data;
    v->title = w->title;
    v->is_untitled = w->title.len == 0;
    v->updated_ms = c->now_ms;
}

static void set_pin(struct session_call *c, struct session *v)
{
    (void)c;
    v->is_pinned = true;
}

static void clear_pin(struct session_call *c, struct session *v)
{
    (void)c;
    v->is_pinned = false;
}

static enum weir_status decide_update(struct session_call *c, struct commit_view *view,
                                      struct commit *commit)
{
    return decide_change(c, view, commit, set_title);
}

static enum weir_status decide_pin(struct session_call *c, struct commit_view *view,
                                   struct commit *commit)
{
    return decide_change(c, view, commit, set_pin);
}

static enum weir_status decide_unpin(struct session_call *c, struct commit_view *view,
                                     struct commit *commit)
{
    return decide_change(c, view, commit, clear_pin);
}

static void put_changed(struct session_call *c, struct weir_buf *out)
{
    const struct change_call *w = c->data;
    weir_buf_append_str(out, "{\"session\":");
    weir_buf_append_slice(out, weir_buf_slice(&w->shown));
    weir_buf_append_char(out, '}');
}

static void change_fini(struct session_call *c)
{
    struct change_call *w = c->data;
    if (w) weir_buf_fini(&w->shown);
}

static const char *const list_members[] = {"q", "limit", "cursor", NULL};
static const char *const id_members[] = {"id", "sessionId", NULL};
static const char *const create_members[] = {"title", NULL};
static const char *const update_members[] = {"id", "sessionId", "title", NULL};
const struct session_method manage_methods[] = {
    {"sessions", "list", false, list_members, check_list, prepare_list, NULL, NULL, put_list,
     list_fini},
    {"sessions", "get", false, id_members, session_get_check, session_get_prepare, NULL, NULL,
     session_get_put, session_get_fini},
    {"sessions", "create", true, create_members, check_create, prepare_create, decide_create, NULL,
     put_changed, change_fini},
    {"sessions", "fork", true, id_members, session_fork_check, session_fork_prepare,
     session_fork_decide, session_fork_committed, session_fork_put, session_fork_fini},
    {"sessions", "update", true, update_members, check_update, NULL, decide_update, NULL,
     put_changed, change_fini},
    {"sessions", "pin", true, id_members, check_change, NULL, decide_pin, NULL, call_put_ok,
     change_fini},
    {"sessions", "unpin", true, id_members, check_change, NULL, decide_unpin, NULL, call_put_ok,
     change_fini},
    {"sessions", "delete", true, id_members, session_delete_check, session_delete_prepare,
     session_delete_decide, session_delete_committed, call_put_ok, NULL},
    {0},
};
