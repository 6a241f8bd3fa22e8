/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of clients: their life, the checks that all inputs have in common, the table of methods. */
#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "session/session_impl.h"

enum {
    CALL_ARENA_BYTES = 64 << 20,
    CALL_INPUT_BYTES = 4 << 20, /* of an input, written again */
    CALL_JSON_BYTES = 32 << 20, /* of an input, read */
    SHOWN_BYTES = 64,           /* of a name that somebody else chose */
};

/* ---- methods ---- */

static const struct session_method *const tables[] = {
    chat_methods,   approval_methods, clarify_methods, pending_methods,
    manage_methods, job_methods,      skill_methods};

const struct session_method *session_method_at(size_t i)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct session_method *m = tables[t]; m->space; m++)
            if (i-- == 0) return m;
    return NULL;
}

const struct session_method *session_method_find(struct weir_slice space, struct weir_slice name)
{
    const struct session_method *m;
    for (size_t i = 0; (m = session_method_at(i)); i++)
        if (weir_slice_is(space, m->space) && weir_slice_is(name, m->name)) return m;
    return NULL;
}

const char *session_method_space(const struct session_method *m)
{
    return m->space;
}

const char *session_method_name(const struct session_method *m)
{
    return m->name;
}

bool session_method_writes(const struct session_method *m)
{
    return m->is_write;
}

bool session_method_begins(const struct session_method *m)
{
    return strcmp(m->space, "chat") == 0 && strcmp(m->name, "send") == 0;
}

/* ---- inputs ---- */

static bool is_member(const char *const *members, struct weir_slice name)
{
    for (; *members; members++)
        if (weir_slice_is(name, *members)) return true;
    return false;
}

/* What is said of a member begins with its name. */
static struct weir_slice blamed(const struct session_call *c)
{
    struct weir_slice name = slice_of(c->why, strcspn(c->why, " :"));
    bool is_missing = strcmp(c->why + name.len, " is missing") == 0;
    bool is_known = c->method->members ? is_member(c->method->members, name)
                                       : is_missing || weir_json_get(c->input, name);
    return is_known ? name : slice_of(NULL, 0);
}

enum weir_status call_refuse(struct session_call *c, enum weir_status st, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    vsnprintf(c->why, sizeof c->why, format, rest);
    va_end(rest);
    bool is_input = st == WEIR_BAD_FIELD || st == WEIR_TOO_LARGE || st == WEIR_UNPROCESSABLE;
    c->field = is_input ? blamed(c) : slice_of(NULL, 0);
    return st;
}

static bool is_blank(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != ' ') return false;
    return true;
}

static enum weir_status check_label(struct session_call *c, const char *member,
                                    struct weir_slice text)
{
    if (is_blank(text)) return call_refuse(c, WEIR_BAD_FIELD, "%s is blank", member);
    if (utf8_has_controls(text))
        return call_refuse(c, WEIR_BAD_FIELD, "%s has a control character in it", member);
    return WEIR_OK;
}

enum weir_status call_text(struct session_call *c, const struct call_text *t,
                           struct weir_slice *out)
{
    const struct weir_json *v = weir_json_get_str(c->input, t->member);
    *out = (struct weir_slice){0};
    if (!v && t->is_optional) return WEIR_OK;
    if (!v) return call_refuse(c, WEIR_BAD_FIELD, "%s is missing", t->member);
    if (weir_json_type_of(v) == WEIR_JSON_NULL && t->may_be_null) return WEIR_OK;
    if (weir_json_type_of(v) != WEIR_JSON_STRING)
        return call_refuse(c, WEIR_BAD_FIELD, "%s must be a string", t->member);
    *out = weir_json_text(v);
    if (out->len == 0 && !t->may_be_empty)
        return call_refuse(c, WEIR_BAD_FIELD, "%s is empty", t->member);
    if (out->len > t->max)
        return call_refuse(c, WEIR_BAD_FIELD, "%s is longer than %zu bytes", t->member, t->max);
    if (out->len > 0 && memchr(out->ptr, 0, out->len))
        return call_refuse(c, WEIR_BAD_FIELD, "%s has a NUL in it", t->member);
    /* JSON can say half of a character, which no text of ours can. */
    if (utf8_valid_prefix(*out) != out->len)
        return call_refuse(c, WEIR_BAD_FIELD, "%s has half of a character in it", t->member);
    return t->is_label ? check_label(c, t->member, *out) : WEIR_OK;
}

enum weir_status call_id(struct session_call *c, const char *long_name, struct weir_slice *out)
{
    bool is_long = weir_json_get_str(c->input, long_name) != NULL;
    if (is_long && weir_json_get_str(c->input, "id"))
        return call_refuse(c, WEIR_BAD_FIELD, "id and %s are the same: give one of them",
                           long_name);
    const struct call_text text = {.member = is_long ? long_name : "id",
                                   .max = SESSION_CLIENT_BYTES};
    return call_text(c, &text, out);
}

/* A name that somebody else chose, for a sentence; how much of it that is. */
static size_t show_name(char out[SHOWN_BYTES + 1], struct weir_slice name)
{
    size_t len = name.len < SHOWN_BYTES ? name.len : SHOWN_BYTES;
    len = utf8_valid_prefix(slice_of(name.ptr, len));
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        out[i] = c < ' ' || c == 0x7F ? '?' : (char)c;
    }
    out[len] = 0;
    return len;
}

static enum weir_status check_members(struct session_call *c)
{
    if (!c->method->members) return WEIR_OK;
    for (const struct weir_json *v = weir_json_first(c->input); v; v = weir_json_next(v)) {
        struct weir_slice name = weir_json_key(v);
        if (is_member(c->method->members, name)) continue;
        char shown[SHOWN_BYTES + 1];
        size_t len = show_name(shown, name);
        enum weir_status st = call_refuse(c, WEIR_BAD_FIELD, "%s/%s has no member \"%s\"",
                                          c->method->space, c->method->name, shown);
        c->field = slice_of(name.ptr, len);
        return st;
    }
    return WEIR_OK;
}

/* The caller's goes; nothing at all is an input without members. */
static enum weir_status copy_input(struct session_call *c, const struct weir_json *input)
{
    struct weir_buf text;
    enum weir_json_type type = weir_json_type_of(input);
    if (type != WEIR_JSON_OBJECT && type != WEIR_JSON_NULL)
        return call_refuse(c, WEIR_BAD_FIELD, "the input must be an object");
    weir_buf_init(&text, CALL_INPUT_BYTES);
    if (type == WEIR_JSON_OBJECT) weir_json_put_value(&text, input);
    else weir_buf_append_str(&text, "{}");
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_json_parse(c->memory, weir_buf_slice(&text), &c->input, NULL);
    weir_buf_fini(&text);
    return st == WEIR_LIMIT ? WEIR_TOO_LARGE : st;
}

/* ---- life ---- */

enum weir_status session_call_new(struct session_call **out, struct sessions *s,
                                  const struct session_method *m, struct weir_slice owner,
                                  const struct weir_json *input)
{
    struct session_call *c = mem_zalloc(sizeof *c);
    *out = NULL;
    if (!c) return WEIR_NOMEM;
    c->sessions = s;
    c->method = m;
    c->now_ms = sessions_now(s);
    arena_init(&c->arena, CALL_ARENA_BYTES);
    c->memory = weir_json_doc_new(CALL_JSON_BYTES);
    if (!c->memory) {
        session_call_free(c);
        return WEIR_NOMEM;
    }
    *out = c;
    if (owner.len == 0 || owner.len >= sizeof c->owner)
        return call_refuse(c, WEIR_BAD_FIELD, "the name of the user is too long");
    memcpy(c->owner, owner.ptr, owner.len);
    enum weir_status st = copy_input(c, input);
    if (st == WEIR_OK) st = check_members(c);
    if (st == WEIR_OK && m->check) st = m->check(c);
    return st;
}

enum weir_status session_call_prepare(struct session_call *c)
{
    return c->method->prepare ? c->method->prepare(c) : WEIR_OK;
}

bool session_call_commits(const struct session_call *c)
{
    return c->method->decide && !c->is_settled;
}

bool session_call_is_settled(const struct session_call *c)
{
    return c->is_settled;
}

enum weir_status session_call_decide(struct session_call *c, struct commit_view *view,
                                     struct commit *commit)
{
    if (c->is_settled) return WEIR_OK;
    c->why[0] = 0;
    c->field = slice_of(NULL, 0);
    return c->method->decide(c, view, commit);
}

void session_call_committed(struct session_call *c, enum weir_status st)
{
    if (c->method->committed && !c->is_settled) c->method->committed(c, st);
}

void session_call_put(struct session_call *c, struct weir_buf *out)
{
    c->method->put(c, out);
}

const char *session_call_why(const struct session_call *c)
{
    return c->why;
}

struct weir_slice session_call_field(const struct session_call *c)
{
    return c->field;
}

void session_call_free(struct session_call *c)
{
    if (!c) return;
    if (c->method->fini) c->method->fini(c);
    weir_json_doc_free(c->memory);
    arena_fini(&c->arena);
    mem_free(c);
}

static enum weir_status decide(void *user, struct commit_view *view, struct commit *commit)
{
    return session_call_decide(user, view, commit);
}

enum weir_status session_call_run(struct session_call *c)
{
    enum weir_status st = session_call_prepare(c);
    if (st != WEIR_OK || !session_call_commits(c)) return st;
    struct commit *commit = commit_new(0);
    if (!commit) return WEIR_NOMEM;
    commit_decide(commit, false, decide, c);
    st = store_commit_wait(c->sessions->store, commit).status;
    session_call_committed(c, st);
    return st;
}

/* ---- answers ---- */

struct listing {
    const struct call_list *list;
    struct weir_buf out;
    struct weir_json_doc *json;
    size_t n;
};

static enum weir_status list_one(void *user, const struct doc *doc)
{
    struct listing *l = user;
    const struct weir_json *value;
    weir_json_doc_reset(l->json);
    enum weir_status st = weir_json_parse(l->json, doc->body, &value, NULL);
    if (st != WEIR_OK) return st == WEIR_NOMEM ? st : WEIR_OK;
    l->list->put_one(&l->out, doc->id, value, &l->n);
    return weir_buf_status(&l->out);
}

enum weir_status call_list(struct session_call *c, const struct call_list *list)
{
    struct listing *l = arena_alloc(&c->arena, sizeof *l);
    if (!l) return WEIR_NOMEM;
    *l = (struct listing){.list = list, .json = weir_json_doc_new(0)};
    weir_buf_init(&l->out, SESSION_JSON_BYTES);
    c->data = l;
    if (!l->json) return WEIR_NOMEM;
    const struct doc_query mine = {
        .kind = weir_slice_of(list->kind), .owner = weir_slice_of(c->owner), .limit = list->limit};
    weir_json_put_begin_object(&l->out);
    weir_json_put_key(&l->out, list->member);
    weir_json_put_begin_array(&l->out);
    enum weir_status st = store_doc_list(c->sessions->store, &mine, list_one, l);
    weir_json_put_end_array(&l->out);
    if (list->put_rest) list->put_rest(&l->out, l->n);
    weir_json_put_end_object(&l->out);
    return st == WEIR_OK ? weir_buf_status(&l->out) : st;
}

void call_list_put(struct session_call *c, struct weir_buf *out)
{
    const struct listing *l = c->data;
    weir_buf_append_slice(out, weir_buf_slice(&l->out));
}

void call_list_fini(struct session_call *c)
{
    struct listing *l = c->data;
    if (!l) return;
    weir_buf_fini(&l->out);
    weir_json_doc_free(l->json);
}

void call_put_ok(struct session_call *c, struct weir_buf *out)
{
    (void)c;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "ok");
    weir_json_put_bool(out, true);
    weir_json_put_end_object(out);
}
