/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions that are asked again and again. The third of a shape brings a proposal, in the commit
 * that ends its turn; nothing comes of it until somebody accepts it. Then a message "/name" is the
 * question.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/slice.h"
#include "session/skills_impl.h"

/* ---- documents ---- */

struct doc_key skill_key(struct weir_slice id)
{
    return (struct doc_key){SLICE("skill"), id};
}

struct doc_key skill_key_of(char out[SKILL_KEY_BYTES], const char *kind, struct weir_slice owner,
                            struct weir_slice last)
{
    int len = snprintf(out, SKILL_KEY_BYTES, "%.*s/%.*s", (int)owner.len, owner.ptr, (int)last.len,
                       last.ptr);
    CHECK(len > 0 && len < SKILL_KEY_BYTES);
    return (struct doc_key){weir_slice_of(kind), slice_of(out, (size_t)len)};
}

bool skill_is_name(struct weir_slice text)
{
    if (text.len == 0 || text.len > SKILL_NAME_LEN) return false;
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", text.ptr[i])) return false;
    return true;
}

bool skill_read(const struct weir_json *json, struct skill *out)
{
    *out = (struct skill){
        .name = weir_json_text(weir_json_get_str(json, "name")),
        .text = weir_json_text(weir_json_get_str(json, "text")),
        .is_accepted = weir_slice_is(weir_json_text(weir_json_get_str(json, "state")), "accepted")};
    return weir_json_int64(weir_json_get_str(json, "proposedMs"), &out->proposed_ms) &&
           out->text.len > 0 && skill_is_name(out->name);
}

/* Those of app/session_line.c: what a terminal does itself, the server never gets. */
bool skill_is_command(struct weir_slice name)
{
    static const char *const commands[] = {"steer", "queue", "abort", "cancel",
                                           "new",   "help",  "quit"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (weir_slice_is(name, commands[i])) return true;
    return false;
}

void skill_put(struct weir_buf *out, const struct skill *skill)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "name");
    weir_json_put_string(out, skill->name);
    weir_json_put_key(out, "text");
    weir_json_put_string(out, skill->text);
    weir_json_put_key(out, "state");
    weir_json_put_str(out, skill->is_accepted ? "accepted" : "pending");
    weir_json_put_key(out, "proposedMs");
    weir_json_put_int(out, skill->proposed_ms);
    weir_json_put_end_object(out);
}

/* ---- counting ---- */

struct counting {
    struct flow_step *step;
    struct weir_slice text;
    struct skill_shape shape;
    struct doc_key key;
    char id[SKILL_KEY_BYTES];
    int64_t now_ms;
    int64_t version; /* of what is counted so far */
    int64_t count;
    bool was_proposed;
};

static WEIR_MUST_CHECK enum weir_status read_shape(struct counting *k)
{
    struct session_doc doc;
    enum weir_status st = session_doc_get(flow_store(k->step), k->key, &doc);
    k->version = DOC_MUST_BE_NEW;
    if (st == WEIR_OK) {
        k->version = doc.doc.version;
        (void)weir_json_int64(weir_json_get_str(doc.json, "count"), &k->count);
        k->was_proposed = weir_json_get_str(doc.json, "skill") != NULL;
    }
    session_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

struct oldest {
    struct weir_json_doc *json;
    size_t n;
    int64_t at_ms, version;
    size_t id_len;
    char id[SKILL_KEY_BYTES];
};

static enum weir_status look_at_shape(void *user, const struct doc *doc)
{
    struct oldest *o = user;
    const struct weir_json *value;
    int64_t at_ms = 0;
    o->n++;
    weir_json_doc_reset(o->json);
    if (weir_json_parse(o->json, doc->body, &value, NULL) != WEIR_OK) return WEIR_OK;
    bool has_age = weir_json_int64(weir_json_get_str(value, "atMs"), &at_ms);
    bool may_go = has_age && !weir_json_get_str(value, "skill") && doc->id.len < sizeof o->id;
    if (!may_go || (o->id_len > 0 && at_ms >= o->at_ms)) return WEIR_OK;
    o->at_ms = at_ms;
    o->version = doc->version;
    o->id_len = doc->id.len;
    memcpy(o->id, doc->id.ptr, doc->id.len);
    return WEIR_OK;
}

/* There is room for a new one, if need be for the oldest that came to nothing. */
static WEIR_MUST_CHECK enum weir_status make_room(struct counting *k, bool *has_room)
{
    struct oldest o = {.json = weir_json_doc_new(0)};
    const struct doc_query mine = {
        .kind = SLICE("skill_shape"), .owner = flow_owner(k->step), .limit = SKILL_SHAPES};
    enum weir_status st =
        o.json ? store_doc_list(flow_store(k->step), &mine, look_at_shape, &o) : WEIR_NOMEM;
    weir_json_doc_free(o.json);
    *has_room = o.n < SKILL_SHAPES || o.id_len > 0;
    if (st == WEIR_OK && o.n >= SKILL_SHAPES && o.id_len > 0)
        flow_remove(k->step, (struct doc_key){mine.kind, slice_of(o.id, o.id_len)}, o.version);
    return st;
}

static WEIR_MUST_CHECK enum weir_status put_shape(const struct counting *k, const char *skill)
{
    struct weir_buf body;
    weir_buf_init(&body, SESSION_DOC_BYTES);
    weir_json_put_begin_object(&body);
    weir_json_put_key(&body, "count");
    weir_json_put_int(&body, k->count);
    weir_json_put_key(&body, "atMs");
    weir_json_put_int(&body, k->now_ms);
    if (skill) {
        weir_json_put_key(&body, "skill");
        weir_json_put_str(&body, skill);
    }
    weir_json_put_end_object(&body);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) flow_put(k->step, k->key, k->version, weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

/* ---- proposing ---- */

struct naming {
    struct weir_json_doc *json;
    const char *base;
    size_t base_len;
    uint64_t taken; /* bit 0: the name itself; bit N: with "-N", from 2 on */
    size_t n;
};

static enum weir_status look_at_name(void *user, const struct doc *doc)
{
    struct naming *n = user;
    const struct weir_json *value;
    n->n++;
    weir_json_doc_reset(n->json);
    if (weir_json_parse(n->json, doc->body, &value, NULL) != WEIR_OK) return WEIR_OK;
    struct weir_slice name = weir_json_text(weir_json_get_str(value, "name"));
    if (name.len < n->base_len || memcmp(name.ptr, n->base, n->base_len) != 0) return WEIR_OK;
    struct weir_slice rest = slice_from(name, n->base_len);
    unsigned number = 0;
    for (size_t i = 1; i < rest.len && i < 3; i++) {
        if (rest.ptr[i] < '0' || rest.ptr[i] > '9') return WEIR_OK;
        number = 10 * number + (unsigned)(rest.ptr[i] - '0');
    }
    if (rest.len == 0) n->taken |= 1;
    else if (rest.ptr[0] == '-' && rest.len < 4 && number < 64) n->taken |= UINT64_C(1) << number;
    return WEIR_OK;
}

/* One that none of the person's has yet; *has_room false: there are too many. */
static WEIR_MUST_CHECK enum weir_status find_name(const struct counting *k,
                                                  char out[SKILL_NAME_LEN + 1], bool *has_room)
{
    struct naming n = {.json = weir_json_doc_new(0), .base = k->shape.name};
    if (skill_is_command(weir_slice_of(k->shape.name))) n.taken = 1;
    const struct doc_query mine = {
        .kind = SLICE("skill"), .owner = flow_owner(k->step), .limit = SKILL_SHAPES};
    n.base_len = strlen(n.base);
    /* "-N" has to fit. */
    if (n.base_len > SKILL_NAME_LEN - 3) n.base_len = SKILL_NAME_LEN - 3;
    enum weir_status st =
        n.json ? store_doc_list(flow_store(k->step), &mine, look_at_name, &n) : WEIR_NOMEM;
    weir_json_doc_free(n.json);
    unsigned number = 2;
    while (number < 64 && (n.taken >> number & 1)) number++;
    *has_room = n.n < SKILL_SHAPES && (number < 64 || !(n.taken & 1));
    if (n.taken & 1)
        snprintf(out, SKILL_NAME_LEN + 1, "%.*s-%u", (int)n.base_len, n.base, number % 100);
    else snprintf(out, SKILL_NAME_LEN + 1, "%.*s", (int)n.base_len, n.base);
    return st;
}

static WEIR_MUST_CHECK enum weir_status tell(const struct counting *k, const char *id)
{
    char at[CLOCK_TEXT_BYTES];
    struct weir_buf event;
    clock_format(at, k->now_ms);
    weir_buf_init(&event, SESSION_EVENT_BYTES);
    weir_json_put_begin_object(&event);
    weir_json_put_key(&event, "type");
    weir_json_put_str(&event, "evolve.skill_pending");
    weir_json_put_key(&event, "skillId");
    weir_json_put_str(&event, id);
    weir_json_put_key(&event, "personalityId");
    weir_json_put_null(&event);
    weir_json_put_key(&event, "proposedAt");
    weir_json_put_str(&event, at);
    weir_json_put_end_object(&event);
    enum weir_status st = weir_buf_status(&event);
    if (st == WEIR_OK) flow_emit(k->step, NULL, weir_buf_slice(&event));
    weir_buf_fini(&event);
    return st;
}

static WEIR_MUST_CHECK enum weir_status put_skill(const struct counting *k, const char *id,
                                                  const char *name)
{
    const struct skill skill = {
        .name = weir_slice_of(name), .text = k->text, .proposed_ms = k->now_ms};
    struct weir_buf body;
    weir_buf_init(&body, SESSION_DOC_BYTES);
    skill_put(&body, &skill);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK)
        flow_put(k->step, skill_key(weir_slice_of(id)), DOC_MUST_BE_NEW, weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

static WEIR_MUST_CHECK enum weir_status propose(struct sessions *s, const struct counting *k)
{
    char id[SKILL_LEN + 1];
    char name[SKILL_NAME_LEN + 1];
    bool has_room;
    enum weir_status st = find_name(k, name, &has_room);
    if (st != WEIR_OK || !has_room) return st;
    st = sessions_next_id(s, "skl_", id);
    if (st == WEIR_OK) st = put_skill(k, id, name);
    if (st == WEIR_OK) st = put_shape(k, id);
    if (st == WEIR_OK) st = tell(k, id);
    if (st == WEIR_OK) sessions_count(s, offsetof(struct sessions_stats, n_skills_proposed));
    return st;
}

enum weir_status skills_turn_done(struct flow_step *step, const struct weir_json *input)
{
    struct sessions *s = flow_user(step);
    struct counting k = {.step = step,
                         .text = weir_json_text(weir_json_get_str(input, "text")),
                         .now_ms = sessions_now(s)};
    bool has_room = true;
    if (session_skill_read(input)) return WEIR_OK;
    if (!skill_shape_of(s, flow_owner(step), k.text, &k.shape)) return WEIR_OK;
    k.key = skill_key_of(k.id, "skill_shape", flow_owner(step), weir_slice_of(k.shape.hash));
    enum weir_status st = read_shape(&k);
    if (st != WEIR_OK || k.was_proposed) return st;
    if (k.version == DOC_MUST_BE_NEW) st = make_room(&k, &has_room);
    if (st != WEIR_OK || !has_room) return st;
    k.count++;
    return k.count < SKILL_TIMES ? put_shape(&k, NULL) : propose(s, &k);
}

/* ---- running one ---- */

/* From the store, or in a decide from what it sees. */
static WEIR_MUST_CHECK enum weir_status get(struct sessions *s, struct commit_view *view,
                                            struct doc_key key, struct session_doc *out)
{
    return view ? session_doc_view(view, key, out) : session_doc_get(s->store, key, out);
}

static WEIR_MUST_CHECK enum weir_status put_text(struct sessions *s, struct commit_view *view,
                                                 struct weir_slice id, struct weir_buf *out)
{
    struct session_doc doc;
    struct skill skill;
    enum weir_status st = get(s, view, skill_key(id), &doc);
    if (st == WEIR_OK && (!skill_read(doc.json, &skill) || !skill.is_accepted)) st = WEIR_NOT_FOUND;
    if (st == WEIR_OK) weir_buf_append_slice(out, skill.text);
    session_doc_fini(&doc);
    return st;
}

static size_t name_len(struct weir_slice text)
{
    size_t n = 1;
    while (n < text.len && !strchr(" \t\r\n", text.ptr[n])) n++;
    return n - 1;
}

static void put_rest(struct weir_buf *out, struct weir_slice rest)
{
    while (rest.len > 0 && strchr(" \t\r\n", rest.ptr[0])) rest = slice_from(rest, 1);
    if (rest.len == 0) return;
    weir_buf_append_char(out, ' ');
    weir_buf_append_slice(out, rest);
}

static enum weir_status expand(struct sessions *s, struct commit_view *view,
                               struct weir_slice owner, struct weir_slice text,
                               struct weir_buf *out, bool *is_skill)
{
    char id[SKILL_KEY_BYTES];
    struct session_doc doc;
    *is_skill = false;
    if (text.len < 2 || text.ptr[0] != '/') return WEIR_OK;
    struct weir_slice name = slice_of(text.ptr + 1, name_len(text));
    if (!skill_is_name(name)) return WEIR_OK;
    enum weir_status st = get(s, view, skill_key_of(id, "skill_name", owner, name), &doc);
    if (st == WEIR_OK)
        st = put_text(s, view, weir_json_text(weir_json_get_str(doc.json, "skill")), out);
    session_doc_fini(&doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st != WEIR_OK) return st;
    put_rest(out, slice_from(text, 1 + name.len));
    *is_skill = true;
    return weir_buf_status(out);
}

enum weir_status skills_expand(struct sessions *s, struct weir_slice owner, struct weir_slice text,
                               struct weir_buf *out, bool *is_skill)
{
    return expand(s, NULL, owner, text, out, is_skill);
}

enum weir_status skills_expand_view(struct commit_view *view, struct weir_slice owner,
                                    struct weir_slice text, struct weir_buf *out, bool *is_skill)
{
    return expand(NULL, view, owner, text, out, is_skill);
}
