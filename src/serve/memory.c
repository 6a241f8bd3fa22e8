/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/memory: what is remembered of a person, for them to read, to correct and to delete.
 *
 * A change is decided when its turn at the store comes, on the entry as it is then: two at the same
 * instant both happen, one after the other, each to the members that it names.
 */
#include "agent/memory.h"

#include <stdio.h>

#include "base/slice.h"
#include "serve/documents.h"
#include "serve/idempotency.h"

enum {
    BODY_VALUES_BYTES = 32 << 20, /* of a body, as values */
    ENTRY_VALUES_BYTES = 8 << 20, /* of an entry, as values: data of one digit each */
    LOCATION_BYTES = DOCUMENT_ID_BYTES + 16,
    COMMIT_BYTES = 4096,
};

static const struct document_kind memory_kind = {"memory", memory_is_id, WEIR_NO_MEMORY_ITEM};

/* A request that changes something. In the exchange's memory, which has its wish in `doc`. */
struct change {
    struct document_asked asked; /* the first member, see document_asked_new() */
    struct idempotency key;
    struct weir_json_doc *doc; /* memory of `wish` */
    struct memory_entry wish;  /* members without a value are not to be changed */
    bool has_data;             /* data are to be changed, to null maybe */
    struct weir_buf body;      /* the entry as it will be */
    char now[CLOCK_TEXT_BYTES];
    char location[LOCATION_BYTES];
};

static void change_fini(struct change *c)
{
    idempotency_fini(&c->key);
    weir_buf_fini(&c->body);
    weir_json_doc_free(c->doc);
}

/* ---- what is wished ---- */

static bool is_blank(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!memchr(" \t\r\n", text.ptr[i], 4)) return false;
    return true;
}

/* False when that was answered with an error. `category` and `text` may be left out of a patch. */
static bool take_texts(struct exchange *ex, const struct weir_json *body, struct change *c)
{
    const struct weir_json *category = weir_json_get_str(body, "category");
    const struct weir_json *text = weir_json_get_str(body, "text");
    bool is_new = c->asked.id[0] == 0;
    c->wish.category = weir_json_text(category);
    c->wish.text = weir_json_text(text);
    bool is_category =
        weir_json_type_of(category) == WEIR_JSON_STRING && memory_is_category(c->wish.category);
    bool is_text = weir_json_type_of(text) == WEIR_JSON_STRING && !is_blank(c->wish.text) &&
                   c->wish.text.len <= MEMORY_TEXT_BYTES;
    if (!is_category && (is_new || category))
        exchange_error(ex, WEIR_BAD_FIELD,
                       "category has to be \"goal\", \"preference\", \"insight\" or "
                       "\"hypothesis\"");
    else if (!is_text && (is_new || text))
        exchange_error(ex, WEIR_BAD_FIELD,
                       "text has to be a string that says something in at most %d bytes",
                       MEMORY_TEXT_BYTES);
    else return true;
    return false;
}

static bool take_data(struct exchange *ex, const struct weir_json *body, struct change *c)
{
    struct weir_buf written;
    c->wish.data = weir_json_get_str(body, "data");
    c->has_data = c->wish.data;
    weir_buf_init(&written, MEMORY_DATA_BYTES);
    weir_json_put_value(&written, c->wish.data);
    bool fits = weir_buf_status(&written) == WEIR_OK;
    weir_buf_fini(&written);
    if (!fits)
        exchange_error(ex, WEIR_BAD_FIELD, "data have to be written in at most %d bytes",
                       MEMORY_DATA_BYTES);
    return fits;
}

static bool take_wish(struct exchange *ex, struct change *c)
{
    clock_format(c->now, exchange_wall_ms(ex));
    weir_buf_init(&c->body, MEMORY_ENTRY_BYTES);
    if (!resource_is_json(ex)) {
        exchange_error(ex, WEIR_BAD_TYPE, "the body has to be application/json");
        return false;
    }
    c->doc = weir_json_doc_new(BODY_VALUES_BYTES);
    if (!c->doc) {
        resource_store_error(ex, WEIR_NOMEM);
        return false;
    }
    const struct weir_json *body = resource_read_object(ex, c->doc);
    return body && idempotency_read(ex, &c->key) && take_texts(ex, body, c) &&
           take_data(ex, body, c);
}

/* ---- committing ---- */

static void answer_done(struct exchange *ex, struct change *c, enum weir_status st)
{
    if (st == WEIR_EXISTS) idempotency_replay(ex, &c->key);
    else if (st == WEIR_IDEMPOTENCY || st == WEIR_NO_MEMORY_ITEM) exchange_error(ex, st, NULL);
    else if (st != WEIR_OK) resource_store_error(ex, st);
    else if (c->body.len == 0) exchange_empty(ex, 204);
    else if (!c->location[0]) exchange_json(ex, 200, weir_buf_slice(&c->body));
    else {
        exchange_field(ex, "Location", weir_slice_of(c->location));
        exchange_json(ex, 201, weir_buf_slice(&c->body));
    }
}

static void was_committed(struct exchange *ex, const struct commit_result *result)
{
    struct change *c = exchange_data(ex);
    answer_done(ex, c, result->status);
    change_fini(c);
}

static void commit_change(struct exchange *ex, struct change *c, commit_decide_fn decide)
{
    struct commit *commit = commit_new(COMMIT_BYTES);
    if (!commit) {
        change_fini(c);
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    exchange_set_data(ex, c);
    commit_decide(commit, false, decide, c);
    exchange_commit(ex, commit, was_committed);
}

/* ---- adding ---- */

static enum weir_status decide_new(void *user, struct commit_view *view, struct commit *commit)
{
    struct change *c = user;
    struct idempotent_answer answer = {
        .status = 201, .location = weir_slice_of(c->location), .body = weir_buf_slice(&c->body)};
    enum weir_status st = idempotency_decide(&c->key, view, commit, &answer);
    if (st != WEIR_OK) return st;
    commit_put(commit, memory_key(weir_slice_of(c->asked.id)), DOC_MUST_BE_NEW,
               weir_slice_of(c->asked.owner), weir_buf_slice(&c->body));
    return WEIR_OK;
}

static enum weir_status count_one(void *user, const struct doc *doc)
{
    size_t *n = user;
    (void)doc;
    (*n)++;
    return WEIR_OK;
}

/* Two at once may both find the last place: the ceiling is there for the disk's sake. */
static void count_entries(void *user)
{
    struct change *c = user;
    size_t n = 0;
    struct doc_query query = {.kind = weir_slice_of(memory_kind.kind),
                              .owner = weir_slice_of(c->asked.owner),
                              .limit = MEMORY_MAX_ENTRIES};
    c->asked.status = store_doc_list(c->asked.store, &query, count_one, &n);
    if (c->asked.status == WEIR_OK && n >= MEMORY_MAX_ENTRIES) c->asked.status = WEIR_LIMIT;
    loop_post(c->asked.loop, &c->asked.post);
}

static void go_on_counted(struct post *post)
{
    struct change *c = CONTAINER_OF(post, struct change, asked.post);
    struct exchange *ex = c->asked.ex;
    enum weir_status st = c->asked.status;
    if (st == WEIR_OK) {
        commit_change(ex, c, decide_new);
        return;
    }
    change_fini(c);
    if (st == WEIR_LIMIT)
        exchange_error(ex, WEIR_UNPROCESSABLE, "there are %d entries already; delete some first",
                       MEMORY_MAX_ENTRIES);
    else resource_store_error(ex, st);
}

/* What the entry will be. */
static enum weir_status make_entry(struct exchange *ex, struct change *c)
{
    struct turns *turns = server_turns(exchange_server(ex));
    enum weir_status st = turns_next_id(turns, memory_id_prefix, c->asked.id);
    if (st != WEIR_OK) return st;
    snprintf(c->location, sizeof c->location, "/v1/memory/%s", c->asked.id);
    c->wish.id = weir_slice_of(c->asked.id);
    c->wish.created_at = c->wish.updated_at = weir_slice_of(c->now);
    memory_put(&c->body, &c->wish);
    return weir_buf_status(&c->body);
}

void memory_post(struct exchange *ex)
{
    struct weir_slice owner = resource_owner(ex);
    struct change *c = exchange_alloc(ex, sizeof *c);
    if (!c) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *c = (struct change){.asked = {.post = {.run = go_on_counted},
                                   .ex = ex,
                                   .loop = worker_loop(exchange_worker(ex)),
                                   .store = server_store(exchange_server(ex))}};
    memcpy(c->asked.owner, owner.ptr, owner.len);
    if (!take_wish(ex, c)) {
        change_fini(c);
        return;
    }
    enum weir_status st = make_entry(ex, c);
    if (st == WEIR_OK) st = store_later(c->asked.store, count_entries, c);
    if (st == WEIR_OK) return;
    change_fini(c);
    resource_store_error(ex, st);
}

/* ---- changing ---- */

/* WEIR_NO_MEMORY_ITEM: there is none, or it is somebody else's. */
static enum weir_status find(const struct change *c, struct commit_view *view, struct doc *doc)
{
    enum weir_status st = commit_view_doc(view, memory_key(weir_slice_of(c->asked.id)), doc);
    bool is_theirs = st == WEIR_OK && slice_eq(doc->owner, weir_slice_of(c->asked.owner));
    if (st == WEIR_NOT_FOUND || (st == WEIR_OK && !is_theirs)) st = WEIR_NO_MEMORY_ITEM;
    return st;
}

static enum weir_status apply(struct change *c, struct weir_slice body)
{
    struct memory_entry e;
    const struct weir_json *json = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(ENTRY_VALUES_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, body, &json, NULL);
    if (st == WEIR_OK && !memory_read(json, &e)) st = WEIR_CORRUPT;
    if (st == WEIR_OK) {
        if (c->wish.category.len > 0) e.category = c->wish.category;
        if (c->wish.text.len > 0) e.text = c->wish.text;
        if (c->has_data) e.data = c->wish.data;
        e.updated_at = weir_slice_of(c->now);
        memory_put(&c->body, &e);
        st = weir_buf_status(&c->body);
    }
    weir_json_doc_free(doc);
    return st;
}

static enum weir_status decide_patch(void *user, struct commit_view *view, struct commit *commit)
{
    struct change *c = user;
    struct doc doc;
    weir_buf_reset(&c->body);
    enum weir_status found = find(c, view, &doc);
    if (found == WEIR_OK) found = apply(c, doc.body);
    /* One that was changed by this request, and deleted since, was changed by it all the same. */
    struct idempotent_answer answer = {.status = 200, .body = weir_buf_slice(&c->body)};
    enum weir_status st = idempotency_decide(&c->key, view, commit, &answer);
    if (st != WEIR_OK || found != WEIR_OK) return st == WEIR_OK ? found : st;
    commit_put(commit, memory_key(weir_slice_of(c->asked.id)), doc.version,
               weir_slice_of(c->asked.owner), weir_buf_slice(&c->body));
    return WEIR_OK;
}

void memory_patch(struct exchange *ex)
{
    struct change *c = document_asked_new(ex, &memory_kind, sizeof *c);
    if (!c) return;
    if (!take_wish(ex, c)) {
        change_fini(c);
        return;
    }
    if (c->wish.category.len > 0 || c->wish.text.len > 0 || c->has_data) {
        commit_change(ex, c, decide_patch);
        return;
    }
    change_fini(c);
    exchange_error(ex, WEIR_BAD_REQUEST, "there has to be category, text or data to change");
}

static enum weir_status decide_delete(void *user, struct commit_view *view, struct commit *commit)
{
    const struct change *c = user;
    struct doc doc;
    enum weir_status st = find(c, view, &doc);
    if (st == WEIR_OK) commit_remove(commit, memory_key(weir_slice_of(c->asked.id)), doc.version);
    return st;
}

void memory_delete(struct exchange *ex)
{
    struct change *c = document_asked_new(ex, &memory_kind, sizeof *c);
    if (c) commit_change(ex, c, decide_delete);
}

/* ---- reading ---- */

void memory_get(struct exchange *ex)
{
    document_get(ex, &memory_kind);
}

static bool has_category(const void *wanted, const struct doc *doc)
{
    struct memory_entry e;
    const struct weir_json *json = NULL;
    struct weir_json_doc *values = weir_json_doc_new(ENTRY_VALUES_BYTES);
    bool is_wanted = values && weir_json_parse(values, doc->body, &json, NULL) == WEIR_OK &&
                     memory_read(json, &e) && weir_slice_is(e.category, wanted);
    weir_json_doc_free(values);
    return is_wanted;
}

void memory_list(struct exchange *ex)
{
    struct weir_slice text;
    if (!exchange_query(ex, "category", &text)) {
        documents_list(ex, &memory_kind, NULL, NULL);
        return;
    }
    if (!memory_is_category(text)) {
        exchange_error(ex, WEIR_BAD_FIELD, "category is goal, preference, insight or hypothesis");
        return;
    }
    char *category = exchange_alloc(ex, text.len + 1);
    if (!category) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    memcpy(category, text.ptr, text.len);
    category[text.len] = 0;
    documents_list(ex, &memory_kind, has_category, category);
}
