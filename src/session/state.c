/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of a session, its messages and its log.
 *
 *   "session" SES   {"title","parent","provider","model","pinned","deleted","untitled",
 *                    "createdMs","updatedMs","turns","running","newest","queue":[TRN…],"oldest",
 *                    "marks":[[MS,ID]…],"node","usage":{…}}; its owner is the document's
 *   "session_message" SES/TRN/NN   {"role","content","at",…}: turn.c
 */
#include <math.h>
#include <stdio.h>

#include "base/check.h"
#include "base/slice.h"
#include "codec/json_member.h"
#include "session/session_impl.h"

/* ---- names ---- */

static struct doc_key key(const char *kind, const char *id, int len, size_t size)
{
    CHECK(len > 0 && (size_t)len < size);
    return (struct doc_key){weir_slice_of(kind), slice_of(id, (size_t)len)};
}

bool session_is_id(struct weir_slice text)
{
    return ulid_is_name(text, "ses_");
}

struct weir_slice session_log(char out[SESSION_LOG_BYTES], struct weir_slice id)
{
    int len = snprintf(out, SESSION_LOG_BYTES, "sessions/%.*s", (int)id.len, id.ptr);
    CHECK(len > 0 && len < SESSION_LOG_BYTES);
    return slice_of(out, (size_t)len);
}

struct doc_key session_key(struct weir_slice id)
{
    return (struct doc_key){SLICE("session"), id};
}

struct doc_key session_turn_key(struct weir_slice turn)
{
    return (struct doc_key){SLICE("session_turn"), turn};
}

struct doc_key session_steer_key(char out[SESSION_STEER_BYTES], struct weir_slice turn, unsigned n)
{
    CHECK(n <= SESSION_STEERS);
    int len = snprintf(out, SESSION_STEER_BYTES, "%.*s/%02u", (int)turn.len, turn.ptr, n);
    return key("session_steer", out, len, SESSION_STEER_BYTES);
}

struct doc_key session_message_key(char out[SESSION_MESSAGE_BYTES], struct weir_slice session,
                                   struct weir_slice turn, unsigned n)
{
    int len = snprintf(out, SESSION_MESSAGE_BYTES, "%.*s/%.*s/%02u", (int)session.len, session.ptr,
                       (int)turn.len, turn.ptr, n);
    return key("session_message", out, len, SESSION_MESSAGE_BYTES);
}

void session_message_id(char out[SESSION_MESSAGE_ID_BYTES], struct weir_slice turn, unsigned n)
{
    CHECK(turn.len == SESSION_TURN_LEN && n <= 99);
    snprintf(out, SESSION_MESSAGE_ID_BYTES, "msg_%.26s_%u", turn.ptr + 4, n);
}

/* ---- writing ---- */

void session_usage_put(struct weir_buf *out, const struct session_usage *u)
{
    weir_json_put_begin_object(out);
    member_uint(out, "input", u->n_input);
    member_uint(out, "output", u->n_output);
    member_uint(out, "cacheRead", u->n_cache_read);
    member_uint(out, "cacheWrite", u->n_cache_write);
    member_uint(out, "calls", u->n_calls);
    weir_json_put_key(out, "costUsd");
    weir_json_put_double(out, u->cost_usd);
    weir_json_put_end_object(out);
}

static void put_lists(struct weir_buf *out, const struct session *v)
{
    weir_json_put_key(out, "queue");
    weir_json_put_begin_array(out);
    for (unsigned i = 0; i < v->n_queue; i++) weir_json_put_string(out, v->queue[i]);
    weir_json_put_end_array(out);
    weir_json_put_key(out, "marks");
    weir_json_put_begin_array(out);
    for (unsigned i = 0; i < v->n_marks; i++) {
        weir_json_put_begin_array(out);
        weir_json_put_int(out, v->marks[i].at_ms);
        weir_json_put_uint(out, v->marks[i].last);
        weir_json_put_end_array(out);
    }
    weir_json_put_end_array(out);
}

void session_put(struct weir_buf *out, const struct session *v)
{
    weir_json_put_begin_object(out);
    member_string(out, "title", v->title);
    member_string(out, "parent", v->parent);
    member_string(out, "provider", v->provider);
    member_string(out, "model", v->model);
    member_bool(out, "pinned", v->is_pinned);
    member_bool(out, "deleted", v->is_deleted);
    member_bool(out, "untitled", v->is_untitled);
    member_int(out, "createdMs", v->created_ms);
    member_int(out, "updatedMs", v->updated_ms);
    member_uint(out, "turns", v->n_turns);
    member_string(out, "running", v->running);
    member_string(out, "newest", v->newest);
    put_lists(out, v);
    member_uint(out, "oldest", v->oldest);
    member_string(out, "node", v->node);
    weir_json_put_key(out, "usage");
    session_usage_put(out, &v->usage);
    weir_json_put_end_object(out);
}

/* ---- reading ---- */

static bool read_uint(const struct weir_json *json, const char *name, uint64_t *out)
{
    int64_t n;
    if (!weir_json_int64(weir_json_get_str(json, name), &n) || n < 0) return false;
    *out = (uint64_t)n;
    return true;
}

bool session_usage_read(const struct weir_json *json, struct session_usage *out)
{
    *out = (struct session_usage){0};
    return read_uint(json, "input", &out->n_input) && read_uint(json, "output", &out->n_output) &&
           read_uint(json, "cacheRead", &out->n_cache_read) &&
           read_uint(json, "cacheWrite", &out->n_cache_write) &&
           read_uint(json, "calls", &out->n_calls) &&
           weir_json_double(weir_json_get_str(json, "costUsd"), &out->cost_usd) &&
           isfinite(out->cost_usd) && out->cost_usd >= 0;
}

static bool read_text(const struct weir_json *json, const char *name, struct weir_slice *out)
{
    const struct weir_json *v = weir_json_get_str(json, name);
    *out = weir_json_text(v);
    return weir_json_type_of(v) == WEIR_JSON_STRING;
}

static bool read_bool(const struct weir_json *json, const char *name, bool *out)
{
    enum weir_json_type type = weir_json_type_of(weir_json_get_str(json, name));
    *out = type == WEIR_JSON_TRUE;
    return type == WEIR_JSON_TRUE || type == WEIR_JSON_FALSE;
}

static bool read_queue(const struct weir_json *list, struct session *out)
{
    if (weir_json_type_of(list) != WEIR_JSON_ARRAY) return false;
    for (const struct weir_json *i = weir_json_first(list); i; i = weir_json_next(i)) {
        if (out->n_queue == SESSION_QUEUE || !ulid_is_name(weir_json_text(i), "trn_")) return false;
        out->queue[out->n_queue++] = weir_json_text(i);
    }
    return true;
}

static bool read_marks(const struct weir_json *list, struct session *out)
{
    if (weir_json_type_of(list) != WEIR_JSON_ARRAY) return false;
    for (const struct weir_json *i = weir_json_first(list); i; i = weir_json_next(i)) {
        const struct weir_json *at = weir_json_first(i);
        int64_t last;
        if (out->n_marks == SESSION_MARKS || weir_json_count(i) != 2) return false;
        if (!weir_json_int64(at, &out->marks[out->n_marks].at_ms)) return false;
        if (!weir_json_int64(weir_json_next(at), &last) || last < 0) return false;
        out->marks[out->n_marks++].last = (uint64_t)last;
    }
    return true;
}

static bool read_head(const struct weir_json *json, struct session *out)
{
    return read_text(json, "title", &out->title) && read_text(json, "parent", &out->parent) &&
           read_text(json, "provider", &out->provider) && read_text(json, "model", &out->model) &&
           read_bool(json, "pinned", &out->is_pinned) &&
           read_bool(json, "deleted", &out->is_deleted) &&
           read_bool(json, "untitled", &out->is_untitled) &&
           weir_json_int64(weir_json_get_str(json, "createdMs"), &out->created_ms) &&
           weir_json_int64(weir_json_get_str(json, "updatedMs"), &out->updated_ms);
}

/* Empty: there is none. */
static bool read_turn(const struct weir_json *json, const char *name, struct weir_slice *out)
{
    return read_text(json, name, out) && (out->len == 0 || ulid_is_name(*out, "trn_"));
}

bool session_read(const struct weir_json *json, struct weir_slice id, struct session *out)
{
    *out = (struct session){.id = id};
    return read_head(json, out) && read_uint(json, "turns", &out->n_turns) &&
           read_turn(json, "running", &out->running) && read_turn(json, "newest", &out->newest) &&
           read_queue(weir_json_get_str(json, "queue"), out) &&
           read_marks(weir_json_get_str(json, "marks"), out) &&
           read_uint(json, "oldest", &out->oldest) && read_text(json, "node", &out->node) &&
           session_usage_read(weir_json_get_str(json, "usage"), &out->usage);
}

/* ---- turns ---- */

void session_skill_put(struct weir_buf *out, bool is_skill)
{
    if (!is_skill) return;
    weir_json_put_key(out, "skill");
    weir_json_put_bool(out, true);
}

bool session_skill_read(const struct weir_json *json)
{
    return weir_json_type_of(weir_json_get_str(json, "skill")) == WEIR_JSON_TRUE;
}

void session_turn_put(struct weir_buf *out, const struct session_turn *t)
{
    weir_json_put_begin_object(out);
    member_string(out, "session", t->session);
    member_string(out, "text", t->text);
    member_string(out, "job", t->job);
    member_string(out, "client", t->client);
    member_string(out, "state", t->state);
    member_int(out, "createdMs", t->created_ms);
    member_int(out, "endedMs", t->ended_ms);
    member_string(out, "provider", t->provider);
    member_string(out, "model", t->model);
    weir_json_put_key(out, "usage");
    session_usage_put(out, &t->usage);
    session_skill_put(out, t->is_skill);
    weir_json_put_end_object(out);
}

bool session_turn_read(const struct weir_json *json, struct session_turn *out)
{
    *out = (struct session_turn){.is_skill = session_skill_read(json)};
    return read_text(json, "session", &out->session) && session_is_id(out->session) &&
           read_text(json, "text", &out->text) && read_text(json, "job", &out->job) &&
           read_text(json, "client", &out->client) && read_text(json, "state", &out->state) &&
           weir_json_int64(weir_json_get_str(json, "createdMs"), &out->created_ms) &&
           weir_json_int64(weir_json_get_str(json, "endedMs"), &out->ended_ms) &&
           read_text(json, "provider", &out->provider) && read_text(json, "model", &out->model) &&
           session_usage_read(weir_json_get_str(json, "usage"), &out->usage);
}

/* ---- documents ---- */

static enum weir_status parse(struct session_doc *out)
{
    out->memory = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!out->memory) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(out->memory, out->doc.body, &out->json, NULL);
    return st == WEIR_OK || st == WEIR_NOMEM ? st : WEIR_CORRUPT;
}

enum weir_status session_doc_get(struct store *store, struct doc_key k, struct session_doc *out)
{
    *out = (struct session_doc){0};
    enum weir_status st = store_doc_get(store, k, &out->doc);
    return st == WEIR_OK ? parse(out) : st;
}

enum weir_status session_doc_view(struct commit_view *view, struct doc_key k,
                                  struct session_doc *out)
{
    *out = (struct session_doc){0};
    enum weir_status st = commit_view_doc(view, k, &out->doc);
    return st == WEIR_OK ? parse(out) : st;
}

/* What a view lent has no memory of its own. */
void session_doc_fini(struct session_doc *d)
{
    if (d->doc.memory) doc_fini(&d->doc);
    weir_json_doc_free(d->memory);
    *d = (struct session_doc){0};
}

static enum weir_status read_found(struct weir_slice owner, const struct session_doc *doc,
                                   struct session *out)
{
    if (owner.len > 0 && !slice_eq(doc->doc.owner, owner)) return WEIR_NOT_FOUND;
    if (!session_read(doc->json, doc->doc.id, out)) return WEIR_CORRUPT;
    return out->is_deleted ? WEIR_NOT_FOUND : WEIR_OK;
}

enum weir_status session_find(struct store *store, struct weir_slice owner, struct weir_slice id,
                              struct session_doc *doc, struct session *out)
{
    *doc = (struct session_doc){0};
    if (!session_is_id(id)) return WEIR_NOT_FOUND;
    enum weir_status st = session_doc_get(store, session_key(id), doc);
    return st == WEIR_OK ? read_found(owner, doc, out) : st;
}

enum weir_status session_find_view(struct commit_view *view, struct weir_slice owner,
                                   struct weir_slice id, struct session_doc *doc,
                                   struct session *out)
{
    *doc = (struct session_doc){0};
    if (!session_is_id(id)) return WEIR_NOT_FOUND;
    enum weir_status st = session_doc_view(view, session_key(id), doc);
    return st == WEIR_OK ? read_found(owner, doc, out) : st;
}

enum weir_status session_keep(struct commit *c, const struct session_doc *doc,
                              const struct session *v)
{
    struct weir_buf body;
    weir_buf_init(&body, SESSION_DOC_BYTES);
    session_put(&body, v);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK)
        commit_put(c, session_key(v->id), doc->doc.version, doc->doc.owner, weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

enum weir_status session_append(struct commit *c, struct weir_slice id, struct weir_slice json)
{
    char log[SESSION_LOG_BYTES];
    struct weir_buf frame;
    weir_buf_init(&frame, SESSION_EVENT_BYTES);
    weir_buf_append_str(&frame, "data: ");
    weir_buf_append_slice(&frame, json);
    weir_buf_append_str(&frame, "\n\n");
    enum weir_status st = weir_buf_status(&frame);
    if (st == WEIR_OK) commit_append(c, session_log(log, id), weir_buf_slice(&frame));
    weir_buf_fini(&frame);
    return st;
}

/* ---- messages ---- */

struct listing {
    struct weir_slice prefix;
    struct weir_json_doc *memory;
    session_message_fn each;
    void *user;
    bool is_over;
};

static enum weir_status list_message(void *user, const struct doc *doc)
{
    struct listing *l = user;
    const struct weir_json *json;
    if (doc->id.len < l->prefix.len || memcmp(doc->id.ptr, l->prefix.ptr, l->prefix.len) != 0) {
        l->is_over = true;
        return WEIR_LIMIT;
    }
    struct weir_slice rest = slice_from(doc->id, l->prefix.len);
    if (rest.len != SESSION_TURN_LEN + 3 || rest.ptr[SESSION_TURN_LEN] != '/') return WEIR_CORRUPT;
    const char *digits = rest.ptr + SESSION_TURN_LEN + 1;
    unsigned n = 10 * ((unsigned)(digits[0] - '0') % 10) + (unsigned)(digits[1] - '0') % 10;
    weir_json_doc_reset(l->memory);
    enum weir_status st = weir_json_parse(l->memory, doc->body, &json, NULL);
    if (st != WEIR_OK) return st == WEIR_NOMEM ? st : WEIR_CORRUPT;
    return l->each(l->user, slice_of(rest.ptr, SESSION_TURN_LEN), n, json);
}

enum weir_status session_messages_each(struct store *store, struct weir_slice session,
                                       session_message_fn each, void *user)
{
    char prefix[SESSION_MESSAGE_BYTES];
    int len = snprintf(prefix, sizeof prefix, "%.*s/", (int)session.len, session.ptr);
    CHECK(len > 0 && (size_t)len < sizeof prefix);
    struct listing l = {.prefix = slice_of(prefix, (size_t)len), .each = each, .user = user};
    const struct doc_query query = {
        .kind = SLICE("session_message"), .after = l.prefix, .limit = SIZE_MAX};
    l.memory = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!l.memory) return WEIR_NOMEM;
    enum weir_status st = store_doc_list(store, &query, list_message, &l);
    weir_json_doc_free(l.memory);
    return l.is_over ? WEIR_OK : st;
}
