/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/data/imports: a file with somebody's data is taken, looked at, and read by a thread of the
 * imports'; whoever sent it watches, or asks again.
 */
#include <stdio.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "serve/data_impl.h"
#include "serve/idempotency.h"
#include "serve/imports.h"

enum {
    ANSWER_BYTES = 8192,
    LOCATION_BYTES = IMPORT_ID_LEN + 24,
    WHY_BYTES = 512,
    COMMIT_BYTES = 8192,
    IMPORT_VALUES_BYTES = 8 << 20, /* of one, as values */
};

static const struct document_kind import_kind = {"upload", import_is_id, WEIR_NOT_FOUND};

struct taking {
    struct imports *imports;
    struct store *store;
    struct spool *spool;
    struct idempotency key;
    struct import_wish wish;
    char owner[DOCUMENT_OWNER_BYTES];
    int64_t now_ms;
    struct weir_buf body; /* the import as it begins */
    char location[LOCATION_BYTES];
    enum weir_status status;
    char why[WHY_BYTES];
};

/* ---- what the request says ---- */

/* Whether a file may be called so: its last part, which goes to the disk. */
static bool take_name(struct weir_slice name, struct import_wish *wish)
{
    for (size_t i = name.len; i > 0; i--) {
        if (name.ptr[i - 1] != '/' && name.ptr[i - 1] != '\\') continue;
        name = slice_from(name, i);
        break;
    }
    bool is_good = name.len > 0 && name.len < sizeof wish->name && name.ptr[0] != '.' &&
                   utf8_valid_prefix(name) == name.len;
    for (size_t i = 0; is_good && i < name.len; i++)
        is_good = (unsigned char)name.ptr[i] >= 0x20 && name.ptr[i] != 0x7F;
    if (is_good) memcpy(wish->name, name.ptr, name.len);
    return is_good;
}

static bool take_word(struct exchange *ex, const char *name, char out[IMPORT_WORD_BYTES])
{
    struct weir_slice text;
    if (!exchange_query(ex, name, &text)) return true;
    bool is_good = text.len > 0 && text.len < IMPORT_WORD_BYTES && owner_is_name(text);
    /* A zone has a '/' in its name. */
    if (!is_good && text.len > 0 && text.len < IMPORT_WORD_BYTES && text.ptr[0] != '/')
        is_good = !memmem(text.ptr, text.len, "..", 2) && utf8_valid_prefix(text) == text.len;
    if (is_good) memcpy(out, text.ptr, text.len);
    else exchange_error(ex, WEIR_BAD_FIELD, "%s is longer than any, or not a name", name);
    return is_good;
}

static bool take_choice(struct exchange *ex, const char *name, const char *one, const char *other,
                        char out[IMPORT_WORD_BYTES])
{
    if (!take_word(ex, name, out)) return false;
    if (!out[0] || strcmp(out, one) == 0 || strcmp(out, other) == 0) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "%s is %s or %s", name, one, other);
    return false;
}

static bool take_wish(struct exchange *ex, const struct spool *spool, struct import_wish *wish)
{
    struct weir_slice text = spool_name(spool);
    bool is_named = exchange_query(ex, "name", &text) || text.len > 0;
    if (!is_named)
        is_named = http_find(exchange_head(ex), "content-disposition", &text) &&
                   field_parameter(text, "filename", &text);
    if (!is_named) text = SLICE("import");
    if (!take_name(text, wish)) {
        exchange_error(ex, WEIR_BAD_FIELD,
                       "name has to be that of a file: up to %d bytes of UTF-8, without control "
                       "characters, not beginning with a dot",
                       IMPORT_NAME_BYTES - 1);
        return false;
    }
    return take_word(ex, "kind", wish->kind) && take_word(ex, "zone", wish->zone) &&
           take_choice(ex, "dates", "mdy", "dmy", wish->dates) &&
           take_choice(ex, "units", "metric", "imperial", wish->units) &&
           take_word(ex, "person", wish->person);
}

/* ---- taking it ---- */

static void taking_fini(struct taking *t)
{
    idempotency_fini(&t->key);
    weir_buf_fini(&t->body);
}

static enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    struct taking *t = user;
    struct idempotent_answer answer = {
        .status = 202, .location = weir_slice_of(t->location), .body = weir_buf_slice(&t->body)};
    enum weir_status st = idempotency_decide(&t->key, view, c, &answer);
    if (st != WEIR_OK) return st;
    const struct import_new import = {t->spool->id, t->owner, weir_buf_slice(&t->body)};
    return imports_put_new(t->imports, view, c, &import);
}

static enum weir_status commit_import(struct taking *t)
{
    struct import_view v = {.id = t->spool->id,
                            .status = "running",
                            .wish = &t->wish,
                            .bytes = t->spool->len,
                            .created_ms = t->now_ms};
    weir_buf_init(&t->body, ANSWER_BYTES);
    import_put(&t->body, &v);
    snprintf(t->location, sizeof t->location, "/v1/data/imports/%.*s", IMPORT_ID_LEN, t->spool->id);
    struct commit *c = commit_new(COMMIT_BYTES);
    if (!c || weir_buf_status(&t->body) != WEIR_OK) {
        commit_free(c);
        return WEIR_NOMEM;
    }
    commit_decide(c, false, decide, t);
    return store_commit_wait(t->store, c).status;
}

/* In a thread of its own. */
static void take_file(void *user)
{
    struct taking *t = user;
    t->status = idempotency_find(&t->key, t->store);
    if (t->status == WEIR_OK)
        t->status = imports_take(t->imports, t->spool, &t->wish, t->why, sizeof t->why);
    if (t->status != WEIR_OK) return;
    t->status = imports_keep(t->imports, t->spool, t->owner);
    if (t->status == WEIR_OK) t->status = commit_import(t);
    if (t->status != WEIR_OK) imports_forget(t->imports, t->spool);
    if (t->status != WEIR_OK) return;
    t->spool->is_taken = true;
    imports_add(t->imports, t->spool->id);
}

static void answer_taken(struct exchange *ex, void *user)
{
    struct taking *t = user;
    if (t->status == WEIR_OK) {
        exchange_field(ex, "Location", weir_slice_of(t->location));
        exchange_json(ex, 202, weir_buf_slice(&t->body));
    } else if (t->status == WEIR_EXISTS) {
        idempotency_replay(ex, &t->key);
    } else if (t->status == WEIR_CONCURRENCY) {
        exchange_field(ex, "Retry-After", SLICE("5"));
        exchange_error(ex, t->status, "an import is under way already; watch it, then send this");
    } else if (t->why[0] || t->status == WEIR_IDEMPOTENCY) {
        exchange_error(ex, t->status, t->why[0] ? "%s" : NULL, t->why);
    } else {
        resource_store_error(ex, t->status);
    }
    taking_fini(t);
}

void imports_post(struct exchange *ex)
{
    struct weir_slice owner = resource_owner(ex);
    if (!resource_takes_runs(ex)) return;
    struct taking *t = exchange_alloc(ex, sizeof *t);
    if (!t) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *t = (struct taking){.imports = server_imports(exchange_server(ex)),
                         .store = server_store(exchange_server(ex)),
                         .now_ms = exchange_wall_ms(ex)};
    memcpy(t->owner, owner.ptr, owner.len);
    if (!data_has_owner(ex) || !data_is_asked_for(ex)) return;
    t->spool = exchange_spool(ex);
    if (t->spool->status != WEIR_OK)
        exchange_error(ex, t->spool->status, "%s", spool_error(t->spool));
    else if (take_wish(ex, t->spool, &t->wish) && idempotency_read(ex, &t->key))
        resource_work(ex, take_file, answer_taken, t);
}

/* ---- looking at them ---- */

void imports_get(struct exchange *ex)
{
    document_get(ex, &import_kind);
}

void imports_list(struct exchange *ex)
{
    documents_list(ex, &import_kind, NULL, NULL);
}

struct watching {
    struct document_asked asked; /* the first member, see document_asked_new() */
    struct watch_options how;
    bool wants_stream;
    const char *why; /* it cannot begin where it was asked to; NULL: it can */
};

static bool is_expired(struct exchange *ex, struct weir_slice import)
{
    int64_t at;
    const struct weir_json *json = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(IMPORT_VALUES_BYTES);
    bool has_ended = doc && weir_json_parse(doc, import, &json, NULL) == WEIR_OK &&
                     clock_parse(weir_json_text(weir_json_get_str(json, "completed_at")), &at);
    weir_json_doc_free(doc);
    int64_t keep_ms = (int64_t)IMPORT_LOG_KEEP_DAYS * 24 * 3600 * 1000;
    return has_ended && exchange_wall_ms(ex) - at >= keep_ms;
}

static void begin_events(struct exchange *ex, struct document_asked *a)
{
    struct watching *w = CONTAINER_OF(a, struct watching, asked);
    char log[64];
    if (!w->wants_stream) exchange_json(ex, 200, a->doc.body);
    else if (is_expired(ex, a->doc.body))
        exchange_error(ex, WEIR_EVENTS_EXPIRED, "the events are kept for %d days",
                       IMPORT_LOG_KEEP_DAYS);
    else if (w->why) exchange_error(ex, WEIR_BAD_FIELD, "%s", w->why);
    else exchange_watch(ex, import_log(log, a->id), &w->how);
}

void imports_events(struct exchange *ex)
{
    struct watching *w = document_asked_new(ex, &import_kind, sizeof *w);
    if (!w) return;
    w->wants_stream = resource_wants_stream(ex);
    w->why = resource_watch_from(ex, &w->how);
    w->how.heartbeat_ms = server_options(exchange_server(ex))->turn_heartbeat_ms;
    document_ask(&w->asked, begin_events);
}
