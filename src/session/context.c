/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a turn is told beside the person's message: what was said before, what is remembered, and
 * the newest laboratory results. The latter two are other people's text to a model, or as good as:
 * they stand in data blocks of what it is told first (agent/llm_prompt.h). That they are put in is
 * told by context_meta, once.
 */
#include <stdio.h>

#include "agent/llm_prompt.h"
#include "agent/memory.h"
#include "base/slice.h"
#include "data/day.h"
#include "session/turn_impl.h"

enum {
    SYSTEM_BYTES = 128 << 10,
    HISTORY_BYTES = 384 << 10, /* of earlier messages, as they are written, */
    OTHER_BYTES = 256 << 10,   /* of a request are for what is neither these nor the new one */
    HISTORY_MESSAGES = 400,    /* the newest of them */
    MEMORIES = 24,
    MEMORY_BYTES = 64 << 10, /* of all of them */
    LABS = 40,
};

void context_init(struct turn_context *c)
{
    *c = (struct turn_context){.is_made = false};
    weir_buf_init(&c->system, SYSTEM_BYTES);
    weir_buf_init(&c->memory, 2 * MEMORY_BYTES);
    weir_buf_init(&c->history, MODEL_REQUEST_BYTES);
}

void context_fini(struct turn_context *c)
{
    weir_buf_fini(&c->system);
    weir_buf_fini(&c->memory);
    weir_buf_fini(&c->history);
}

/* ---- what was said before ---- */

/* A message that is told; the newest first. */
struct told {
    struct told *next;
    bool is_user;
    struct weir_slice text;
};

struct telling {
    struct turn_pass *pass;
    struct weir_slice prefix; /* of the ids of its messages */
    struct weir_json_doc *doc;
    struct told *oldest; /* so far: the others behind it, to the newest */
    struct weir_buf written;
    size_t n_bytes, n, most_bytes;
    bool is_full, is_out_of_memory;
};

static bool starts(struct weir_slice text, struct weir_slice with)
{
    return text.len >= with.len && memcmp(text.ptr, with.ptr, with.len) == 0;
}

static const char *role_of(bool is_user)
{
    return is_user ? "user" : "assistant";
}

/* As JSON, where a character may have six times its size; one that is too large for any request has
 * more than that. */
static size_t written_bytes(struct telling *t, bool is_user, struct weir_slice text)
{
    weir_buf_reset(&t->written);
    model_message_put(&t->written, role_of(is_user), text);
    enum weir_status st = weir_buf_status(&t->written);
    if (st == WEIR_NOMEM) t->is_out_of_memory = true;
    return st == WEIR_OK ? t->written.len : MODEL_REQUEST_BYTES + 1;
}

static enum weir_status add_told(struct telling *t, const struct weir_json *message)
{
    struct weir_slice text = weir_json_text(weir_json_get_str(message, "content"));
    bool is_blocked = weir_json_type_of(weir_json_get_str(message, "blocked")) == WEIR_JSON_TRUE;
    if (is_blocked || text.len == 0) return WEIR_OK;
    bool is_user = weir_slice_is(weir_json_text(weir_json_get_str(message, "role")), "user");
    size_t n_bytes = written_bytes(t, is_user, text);
    t->is_full = t->n == HISTORY_MESSAGES || t->n_bytes + n_bytes > t->most_bytes;
    if (t->is_full) return WEIR_CANCELLED;
    struct told *m = arena_alloc(t->pass->arena, sizeof *m + text.len);
    if (!m) return t->pass->arena->status;
    memcpy(m + 1, text.ptr, text.len);
    m->text = slice_of((const char *)(m + 1), text.len);
    m->is_user = is_user;
    m->next = t->oldest;
    t->oldest = m;
    t->n_bytes += n_bytes;
    t->n++;
    return WEIR_OK;
}

/* The newest of them first, those of this turn left out. */
static enum weir_status look_at_message(void *user, const struct doc *doc)
{
    struct telling *t = user;
    const struct weir_json *message;
    struct weir_slice turn = pass_turn(t->pass);
    t->is_full = !starts(doc->id, t->prefix);
    if (t->is_full) return WEIR_CANCELLED;
    if (starts(slice_from(doc->id, t->prefix.len), turn)) return WEIR_OK;
    weir_json_doc_reset(t->doc);
    if (weir_json_parse(t->doc, doc->body, &message, NULL) != WEIR_OK) return WEIR_CORRUPT;
    return add_told(t, message);
}

static enum weir_status find_told(struct telling *t)
{
    char prefix[SESSION_LEN + 2], behind[SESSION_LEN + 2];
    struct weir_slice session = t->pass->session;
    int len = snprintf(prefix, sizeof prefix, "%.*s/", (int)session.len, session.ptr);
    /* The byte behind '/': all ids with the prefix are below. */
    snprintf(behind, sizeof behind, "%.*s0", (int)session.len, session.ptr);
    t->prefix = slice_of(prefix, (size_t)len);
    const struct doc_query query = {.kind = SLICE("session_message"),
                                    .after = slice_of(behind, (size_t)len),
                                    .limit = SIZE_MAX,
                                    .is_falling = true};
    t->doc = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!t->doc) return WEIR_NOMEM;
    enum weir_status st = store_doc_list(t->pass->sessions->store, &query, look_at_message, t);
    weir_json_doc_free(t->doc);
    return t->is_full ? WEIR_OK : st;
}

/* The new message has to be told, whatever else is. */
static size_t room_for_history(struct telling *t)
{
    size_t others = OTHER_BYTES + written_bytes(t, true, t->pass->text);
    size_t room = others < MODEL_REQUEST_BYTES ? MODEL_REQUEST_BYTES - others : 0;
    return room < HISTORY_BYTES ? room : HISTORY_BYTES;
}

/* The person begins. */
static enum weir_status make_history(struct turn_pass *p)
{
    struct weir_buf *out = &p->attempt->context.history;
    struct telling t = {.pass = p};
    bool has_begun = false;
    weir_buf_init(&t.written, MODEL_REQUEST_BYTES);
    t.most_bytes = room_for_history(&t);
    enum weir_status st = find_told(&t);
    weir_buf_fini(&t.written);
    if (t.is_out_of_memory) st = WEIR_NOMEM;
    weir_json_put_begin_array(out);
    for (const struct told *m = t.oldest; st == WEIR_OK && m; m = m->next) {
        has_begun = has_begun || m->is_user;
        if (has_begun) model_message_put(out, role_of(m->is_user), m->text);
    }
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* ---- memory ---- */

struct remembering {
    struct turn_context *context;
    struct weir_json_doc *doc;
    size_t n_bytes; /* of their lines */
};

static void put_line(struct weir_buf *out, const struct memory_entry *e)
{
    weir_buf_append_slice(out, e->category);
    weir_buf_append_str(out, ": ");
    weir_buf_append_slice(out, e->text);
    weir_buf_append_char(out, '\n');
}

static size_t line_bytes(const struct memory_entry *e)
{
    return e->category.len + sizeof ": \n" - 1 + e->text.len;
}

/* What the block would cut is not counted as told; a smaller one may fit behind it. */
static enum weir_status collect(void *user, const struct doc *doc)
{
    struct remembering *r = user;
    struct turn_context *c = r->context;
    struct memory_entry e;
    const struct weir_json *json;
    if (c->memory.len + doc->body.len + 2 > MEMORY_BYTES) return WEIR_OK;
    weir_json_doc_reset(r->doc);
    enum weir_status st = weir_json_parse(r->doc, doc->body, &json, NULL);
    if (st != WEIR_OK) return st == WEIR_NOMEM ? st : WEIR_OK;
    if (!memory_read(json, &e) || r->n_bytes + line_bytes(&e) > BLOCK_BYTES) return WEIR_OK;
    r->n_bytes += line_bytes(&e);
    if (c->n_memories++ > 0) weir_buf_append_char(&c->memory, ',');
    weir_buf_append_slice(&c->memory, doc->body);
    return WEIR_OK;
}

/* The person's newest entries. */
static enum weir_status read_memory(struct turn_pass *p)
{
    struct turn_context *c = &p->attempt->context;
    struct remembering r = {.context = c, .doc = weir_json_doc_new(SESSION_JSON_BYTES)};
    struct doc_query query = {
        .kind = SLICE("memory"), .owner = pass_owner(p), .limit = MEMORIES, .is_falling = true};
    if (!r.doc) return WEIR_NOMEM;
    weir_buf_append_char(&c->memory, '[');
    enum weir_status st = store_doc_list(p->sessions->store, &query, collect, &r);
    weir_buf_append_char(&c->memory, ']');
    weir_json_doc_free(r.doc);
    return st == WEIR_OK ? weir_buf_status(&c->memory) : st;
}

static enum weir_status put_memory(struct turn_pass *p)
{
    struct turn_context *c = &p->attempt->context;
    const struct weir_json *list;
    struct weir_buf text;
    if (c->n_memories == 0) return WEIR_OK;
    struct weir_json_doc *doc = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&text, 2 * MEMORY_BYTES);
    enum weir_status st = weir_json_parse(doc, weir_buf_slice(&c->memory), &list, NULL);
    for (const struct weir_json *v = st == WEIR_OK ? weir_json_first(list) : NULL; v;
         v = weir_json_next(v)) {
        struct memory_entry e;
        if (memory_read(v, &e)) put_line(&text, &e);
    }
    weir_buf_append_str(&c->system, "\n\nWhat is remembered of the person:\n");
    block_put(&c->system, "memory", weir_buf_slice(&text));
    weir_buf_fini(&text);
    weir_json_doc_free(doc);
    return st;
}

/* ---- laboratory results ---- */

static struct weir_slice lab_name(const struct lab *l)
{
    return l->analyte ? weir_slice_of(l->analyte->name) : l->label;
}

/* The newest result of each test stands for it. */
static bool is_newest(const struct lab *list, size_t n, size_t i)
{
    for (size_t k = i + 1; k < n; k++)
        if (slice_eq(lab_name(&list[k]), lab_name(&list[i]))) return false;
    return true;
}

static void put_lab(struct weir_buf *out, const struct lab *l)
{
    char day[DAY_TEXT_BYTES];
    day_format(day, l->day);
    weir_buf_append_slice(out, lab_name(l));
    weir_buf_append_str(out, ": ");
    if (l->printed.len > 0) weir_buf_append_slice(out, l->printed);
    else {
        if (l->comparator) weir_buf_append_char(out, l->comparator);
        weir_buf_printf(out, "%.6g ", l->value);
        weir_buf_append_slice(out, l->unit);
    }
    weir_buf_printf(out, " on %s", day);
    if (l->range.len > 0) {
        weir_buf_append_str(out, ", printed range ");
        weir_buf_append_slice(out, l->range);
    }
    weir_buf_append_char(out, '\n');
}

static enum weir_status put_labs(struct turn_pass *p)
{
    struct turn_context *c = &p->attempt->context;
    struct shelved data = {0};
    const struct lab *list = NULL;
    struct weir_buf text;
    size_t n = 0;
    enum weir_status st = shelf_take(&p->sessions->shelf, pass_owner(p), &data);
    if (st != WEIR_OK) return st;
    weir_buf_init(&text, SYSTEM_BYTES / 2);
    st = dataset_labs(data.data, &list, &n);
    if (st == WEIR_NOT_FOUND) st = WEIR_OK;
    else if (st == WEIR_OK)
        for (size_t i = n; i-- > 0 && c->n_labs < LABS;) {
            size_t before = text.len;
            if (!is_newest(list, n, i)) continue;
            put_lab(&text, &list[i]);
            if (text.len <= BLOCK_BYTES) c->n_labs++;
            else text.len = before; /* the block would cut it */
        }
    shelf_give(&p->sessions->shelf, &data);
    if (c->n_labs > 0) {
        weir_buf_append_str(&c->system, "\n\nThe newest laboratory results of the person:\n");
        block_put(&c->system, "labs", weir_buf_slice(&text));
    }
    weir_buf_fini(&text);
    return st;
}

/* ---- all of it ---- */

static enum weir_status emit_meta(struct turn_pass *p)
{
    const struct turn_context *c = &p->attempt->context;
    struct weir_buf json;
    if (c->n_memories + c->n_labs == 0) return WEIR_OK;
    if (shown_find(&p->attempt->shown, "context_meta", (struct weir_slice){0})) return WEIR_OK;
    weir_buf_init(&json, SESSION_EVENT_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "type");
    weir_json_put_str(&json, "context_meta");
    weir_json_put_key(&json, "data");
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "memories");
    weir_json_put_uint(&json, c->n_memories);
    weir_json_put_key(&json, "labs");
    weir_json_put_uint(&json, c->n_labs);
    weir_json_put_end_object(&json);
    weir_json_put_end_object(&json);
    enum weir_status st = pass_emit(p, &json);
    weir_buf_fini(&json);
    return st;
}

enum weir_status context_make(struct turn_pass *p)
{
    struct turn_context *c = &p->attempt->context;
    const struct prompt *prompt = prompt_find("session");
    if (c->is_made) return WEIR_OK;
    context_fini(c);
    context_init(c);
    weir_buf_printf(&c->system, "weir/%s v%u\n\n%s", prompt->name, prompt->version, prompt->system);
    enum weir_status st = make_history(p);
    if (st == WEIR_OK) st = read_memory(p);
    if (st == WEIR_OK) st = put_memory(p);
    if (st == WEIR_OK) st = put_labs(p);
    if (st == WEIR_OK) st = weir_buf_status(&c->system);
    if (st == WEIR_OK) st = emit_meta(p);
    c->is_made = st == WEIR_OK;
    return st;
}
