/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/documents: people's own texts, to be searched and cited. What is asked waits for the disk, so
 * threads of their own do it; all of it is one struct on the heap, which goes with the answer.
 */
#include "agent/library.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "serve/data_impl.h"
#include "serve/idempotency.h"

enum {
    BODY_VALUES_BYTES = 64 << 20, /* of a body, as values */
    SEARCH_DEFAULT = 10,
    SEARCH_POINTS = 240, /* of a snippet */
    LOCATION_BYTES = LIBRARY_ID_LEN + 32,
};

/* What a body is. */
enum form { FORM_JSON, FORM_TEXT, FORM_MARKDOWN };

struct asking {
    struct library l;
    char owner[DOCUMENT_OWNER_BYTES];
    char id[LIBRARY_ID_LEN + 1];
    enum form form;
    uint64_t limit;
    struct weir_slice words, title, body; /* in `memory` */
    struct weir_buf out;
    bool has_hit;
    struct idempotency key;
    bool was_done; /* by an earlier request with that key */
    enum weir_status status;
    char memory[];
};

static void asking_free(struct asking *a)
{
    idempotency_fini(&a->key);
    weir_buf_fini(&a->out);
    mem_free(a);
}

static struct weir_slice keep(char **at, struct weir_slice text)
{
    struct weir_slice kept = {*at, text.len};
    if (text.len > 0) memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return kept;
}

/* NULL when that was answered with an error. Texts are copied. */
static struct asking *asking_new(struct exchange *ex, struct weir_slice words,
                                 struct weir_slice title)
{
    struct weir_slice owner = resource_owner(ex);
    struct weir_slice body = exchange_body(ex);
    if (!data_has_owner(ex)) return NULL;
    struct asking *a = mem_zalloc(sizeof *a + words.len + title.len + body.len);
    if (!a) {
        resource_store_error(ex, WEIR_NOMEM);
        return NULL;
    }
    char *at = a->memory;
    memcpy(a->owner, owner.ptr, owner.len);
    a->words = keep(&at, words);
    a->title = keep(&at, title);
    a->body = keep(&at, body);
    a->l = (struct library){.store = server_store(exchange_server(ex)),
                            .vault = server_vault(exchange_server(ex)),
                            .policy = server_policy(exchange_server(ex)),
                            .clock = exchange_clock(ex),
                            .owner = weir_slice_of(a->owner)};
    weir_buf_init(&a->out, LIBRARY_ANSWER_BYTES);
    return a;
}

/* The same about the one that the path names. */
static struct asking *asking_of_path(struct exchange *ex, struct weir_slice title)
{
    struct weir_slice id = exchange_param(ex, 0);
    if (!library_is_id(id)) {
        exchange_error(ex, WEIR_NOT_FOUND, NULL);
        return NULL;
    }
    struct asking *a = asking_new(ex, (struct weir_slice){0}, title);
    if (a) memcpy(a->id, id.ptr, id.len);
    return a;
}

static void answer_error(struct exchange *ex, const struct asking *a)
{
    if (a->status == WEIR_IDEMPOTENCY) exchange_error(ex, a->status, NULL);
    else if (a->l.why[0]) exchange_error(ex, a->status, "%s", a->l.why);
    else if (a->status == WEIR_NOT_FOUND) exchange_error(ex, WEIR_NOT_FOUND, NULL);
    else resource_store_error(ex, a->status);
}

static void answer(struct exchange *ex, void *user)
{
    struct asking *a = user;
    if (a->status != WEIR_OK) answer_error(ex, a);
    else if (a->out.len == 0) exchange_empty(ex, 204);
    else exchange_json(ex, 200, weir_buf_slice(&a->out));
    asking_free(a);
}

static void put_location(char out[LOCATION_BYTES], const char *id)
{
    snprintf(out, LOCATION_BYTES, "/v1/documents/%s", id);
}

static void answer_created(struct exchange *ex, void *user)
{
    struct asking *a = user;
    char location[LOCATION_BYTES];
    if (a->status == WEIR_OK) {
        put_location(location, a->id);
        if (a->was_done) idempotency_mark(ex);
        exchange_field(ex, "Location", weir_slice_of(location));
        exchange_json(ex, 201, weir_buf_slice(&a->out));
    } else {
        answer_error(ex, a);
    }
    asking_free(a);
}

static void ask(struct exchange *ex, struct asking *a, void (*work)(void *user))
{
    if (a && !resource_work(ex, work, answer, a)) asking_free(a);
}

/* ---- bodies ---- */

static bool has_type(struct weir_slice type, const char *name)
{
    size_t len = strlen(name);
    return type.len >= len && strncasecmp(type.ptr, name, len) == 0 &&
           (type.len == len || type.ptr[len] == ';' || type.ptr[len] == ' ');
}

/* Another charset than ours would be other letters. */
static bool is_utf8(struct weir_slice type)
{
    static const char name[] = "charset=";
    const char *found = NULL;
    for (size_t i = 0; i + sizeof name - 1 <= type.len && !found; i++)
        if (strncasecmp(type.ptr + i, name, sizeof name - 1) == 0) found = type.ptr + i;
    if (!found) return true;
    struct weir_slice value = slice_from(type, (size_t)(found - type.ptr) + sizeof name - 1);
    if (value.len > 0 && value.ptr[0] == '"') value = slice_from(value, 1);
    return (value.len >= 5 && strncasecmp(value.ptr, "utf-8", 5) == 0) ||
           (value.len >= 8 && strncasecmp(value.ptr, "us-ascii", 8) == 0);
}

/* False when that was answered with an error. */
static bool take_form(struct exchange *ex, enum form *form)
{
    struct weir_slice type = {0};
    bool has = http_find(exchange_head(ex), "content-type", &type);
    bool is_text = has && has_type(type, "text/plain");
    bool is_markdown = has && has_type(type, "text/markdown");
    *form = is_markdown ? FORM_MARKDOWN : is_text ? FORM_TEXT : FORM_JSON;
    if ((is_text || is_markdown) && !is_utf8(type))
        exchange_error(ex, WEIR_BAD_TYPE, "texts have to be UTF-8");
    else if (is_text && !data_is_asked_for(ex)) return false;
    else if (is_text || is_markdown || resource_is_json(ex)) return true;
    else
        exchange_error(ex, WEIR_BAD_TYPE,
                       "the body has to be text/plain, text/markdown or application/json");
    return false;
}

static enum weir_status refuse(struct asking *a, const char *why)
{
    snprintf(a->l.why, sizeof a->l.why, "%s", why);
    return WEIR_BAD_FIELD;
}

static bool is_text_or_none(const struct weir_json *v)
{
    return !v || weir_json_type_of(v) == WEIR_JSON_STRING;
}

static bool has_others(const struct weir_json *body)
{
    static const char *const names[] = {"title", "text", "mediaType"};
    for (const struct weir_json *m = weir_json_first(body); m; m = weir_json_next(m)) {
        struct weir_slice key = weir_json_key(m);
        bool is_known = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            is_known = is_known || weir_slice_is(key, names[i]);
        if (!is_known) return true;
    }
    return false;
}

static enum weir_status take_object(struct asking *a, const struct weir_json *body,
                                    struct library_text *out)
{
    const struct weir_json *title = weir_json_get_str(body, "title");
    const struct weir_json *text = weir_json_get_str(body, "text");
    const struct weir_json *type = weir_json_get_str(body, "mediaType");
    if (weir_json_type_of(body) != WEIR_JSON_OBJECT || has_others(body))
        return refuse(a, "the body has to be an object of text and maybe title and mediaType");
    if (weir_json_type_of(text) != WEIR_JSON_STRING) return refuse(a, "text has to be a string");
    if (!is_text_or_none(title)) return refuse(a, "title has to be a string");
    out->is_markdown = weir_slice_is(weir_json_text(type), "text/markdown");
    if (type && !out->is_markdown && !weir_slice_is(weir_json_text(type), "text/plain"))
        return refuse(a, "mediaType has to be \"text/plain\" or \"text/markdown\"");
    out->title = weir_json_text(title);
    out->text = weir_json_text(text);
    return WEIR_OK;
}

/* What is in a JSON body is `values`'. */
static enum weir_status take_text(struct asking *a, struct weir_json_doc *values,
                                  struct library_text *out)
{
    const struct weir_json *body = NULL;
    size_t offset = 0;
    *out = (struct library_text){a->title, a->body, a->form == FORM_MARKDOWN};
    if (a->form != FORM_JSON) return WEIR_OK;
    enum weir_status st = weir_json_parse(values, a->body, &body, &offset);
    if (st == WEIR_OK) return take_object(a, body, out);
    if (st != WEIR_NOMEM && st != WEIR_LIMIT) {
        snprintf(a->l.why, sizeof a->l.why, "the body is not JSON, from byte %zu on", offset);
        st = WEIR_BAD_REQUEST;
    }
    return st;
}

/* ---- changing ---- */

/* Only where it is: a title may be private. */
static enum weir_status decide_new(void *user, struct commit_view *view, struct commit *c)
{
    struct asking *a = user;
    char location[LOCATION_BYTES];
    put_location(location, a->id);
    struct idempotent_answer kept = {.status = 201, .location = weir_slice_of(location)};
    enum weir_status st = idempotency_decide(&a->key, view, c, &kept);
    a->was_done = st == WEIR_EXISTS;
    return st;
}

/* The document of the first request, as it is now. */
static void find_first(struct asking *a)
{
    struct weir_slice at = a->key.first.location;
    struct weir_slice id =
        slice_from(at, at.len < LIBRARY_ID_LEN ? at.len : at.len - LIBRARY_ID_LEN);
    a->was_done = true;
    a->status = library_find(&a->l, id, &a->out);
    if (a->status == WEIR_OK) memcpy(a->id, id.ptr, id.len);
}

static void store_text(void *user)
{
    struct asking *a = user;
    struct library_text text;
    a->status = idempotency_find(&a->key, a->l.store);
    if (a->status == WEIR_EXISTS) find_first(a);
    if (a->status != WEIR_OK || a->was_done) return;
    a->l.decide = a->key.has_key ? decide_new : NULL;
    a->l.decider = a;
    struct weir_json_doc *values = weir_json_doc_new(BODY_VALUES_BYTES);
    a->status = values ? take_text(a, values, &text) : WEIR_NOMEM;
    if (a->status == WEIR_OK && a->id[0])
        a->status = library_replace(&a->l, weir_slice_of(a->id), &text, &a->out);
    else if (a->status == WEIR_OK) a->status = library_add(&a->l, &text, a->id, &a->out);
    weir_json_doc_free(values);
    if (a->was_done) find_first(a);
}

static struct weir_slice title_of(struct exchange *ex)
{
    struct weir_slice title = {0};
    return exchange_query(ex, "title", &title) ? title : (struct weir_slice){0};
}

void library_post(struct exchange *ex)
{
    enum form form;
    if (!take_form(ex, &form)) return;
    struct asking *a = asking_new(ex, (struct weir_slice){0}, title_of(ex));
    if (!a) return;
    a->form = form;
    if (!idempotency_read(ex, &a->key) || !resource_work(ex, store_text, answer_created, a))
        asking_free(a);
}

void library_put(struct exchange *ex)
{
    enum form form;
    if (!take_form(ex, &form)) return;
    struct asking *a = asking_of_path(ex, title_of(ex));
    if (a) a->form = form;
    ask(ex, a, store_text);
}

static void remove_one(void *user)
{
    struct asking *a = user;
    a->status = library_remove(&a->l, weir_slice_of(a->id));
}

void library_delete(struct exchange *ex)
{
    ask(ex, asking_of_path(ex, (struct weir_slice){0}), remove_one);
}

/* ---- reading ---- */

static void get_one(void *user)
{
    struct asking *a = user;
    a->status = library_get(&a->l, weir_slice_of(a->id), &a->out);
}

void library_one_get(struct exchange *ex)
{
    ask(ex, asking_of_path(ex, (struct weir_slice){0}), get_one);
}

static void list(void *user)
{
    struct asking *a = user;
    a->status = library_list(&a->l, weir_slice_of(a->id), (size_t)a->limit, &a->out);
}

void library_list_get(struct exchange *ex)
{
    struct weir_slice cursor = {0};
    uint64_t limit = 0;
    if (!document_take_limit(ex, &limit)) return;
    if (exchange_query(ex, "cursor", &cursor) && !library_is_id(cursor)) {
        exchange_error(ex, WEIR_BAD_FIELD, "cursor is what next_cursor of a page says");
        return;
    }
    struct asking *a = asking_new(ex, (struct weir_slice){0}, (struct weir_slice){0});
    if (!a) return;
    if (cursor.len > 0) memcpy(a->id, cursor.ptr, cursor.len);
    a->limit = limit;
    ask(ex, a, list);
}

/* ---- searching ---- */

static enum weir_status put_hit(void *user, const struct library_hit *hit)
{
    struct asking *a = user;
    struct weir_buf *out = &a->out;
    if (a->has_hit) weir_buf_append_char(out, ',');
    a->has_hit = true;
    weir_json_put_begin_object(out);
    data_put_text(out, "sourceId", hit->id);
    data_put_text(out, "title", hit->title);
    data_put_text(out, "heading", hit->heading);
    weir_json_put_key(out, "snippet");
    weir_json_put_string(out, hit->snippet);
    weir_json_put_key(out, "highlights");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < hit->n_points; i++) {
        weir_json_put_begin_array(out);
        weir_json_put_uint(out, hit->points[i].start);
        weir_json_put_uint(out, hit->points[i].end);
        weir_json_put_end_array(out);
    }
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
    return weir_buf_status(out);
}

static void search(void *user)
{
    struct asking *a = user;
    struct library_query query = {.words = a->words,
                                  .limit = (size_t)a->limit,
                                  .per_document = 1,
                                  .snippet_points = SEARCH_POINTS};
    weir_buf_append_str(&a->out, "{\"data\":[");
    a->status = library_search(&a->l, &query, put_hit, a);
    weir_buf_append_str(&a->out, "]}");
    if (a->status == WEIR_OK) a->status = weir_buf_status(&a->out);
}

void library_search_get(struct exchange *ex)
{
    struct weir_slice words, text;
    uint64_t limit = SEARCH_DEFAULT;
    bool has_limit = exchange_query(ex, "limit", &text);
    if (has_limit && (!resource_parse_id(text, &limit) || limit == 0 || limit > LIBRARY_MAX_HITS)) {
        exchange_error(ex, WEIR_BAD_FIELD, "limit is a whole number from 1 to %d",
                       LIBRARY_MAX_HITS);
        return;
    }
    if (!exchange_query(ex, "q", &words)) {
        exchange_error(ex, WEIR_BAD_FIELD, "q has to say what is looked for");
        return;
    }
    struct asking *a = asking_new(ex, words, (struct weir_slice){0});
    if (!a) return;
    a->limit = limit;
    ask(ex, a, search);
}
