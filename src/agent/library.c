/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding, replacing, removing and reading documents. A change is worked out on what there is and
 * committed on the condition that it still is so; when somebody was quicker it is worked out again.
 */
#include "agent/library.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "agent/library_impl.h"
#include "base/slice.h"
#include "base/ulid.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "shield/decision.h"

enum {
    ATTEMPTS = 8,                            /* of a change that somebody was quicker with */
    RECORD_BYTES = 4096,                     /* of the document "document" */
    REDACTED_BYTES = 2 * LIBRARY_TEXT_BYTES, /* placeholders may be longer than values */
    TITLE_LINE_BYTES = PASSAGE_TITLE_BYTES,
    RECORD_VALUES_BYTES = 64 << 10,
};

static const char id_prefix[] = "doc_";
static const char markdown[] = "text/markdown";

bool library_is_id(struct weir_slice text)
{
    return ulid_is_name(text, id_prefix);
}

enum weir_status library_refuse(struct library *l, enum weir_status st, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(l->why, sizeof l->why, format, args);
    va_end(args);
    return st;
}

static struct doc_key record_key(struct weir_slice id)
{
    return (struct doc_key){SLICE("document"), id};
}

/* ---- the record ---- */

struct record {
    char id[LIBRARY_ID_LEN + 1];
    struct weir_slice title; /* as it is stored */
    bool is_markdown, is_redacted;
    uint64_t n_bytes, n_passages;
    char created_at[CLOCK_TEXT_BYTES], updated_at[CLOCK_TEXT_BYTES];
    int64_t version;
};

/* Without the closing brace: a text may follow. */
static void put_record(struct weir_buf *out, const struct record *r, struct weir_slice title)
{
    weir_json_put_begin_object(out);
    member_str(out, "id", r->id);
    weir_json_put_key(out, "title");
    weir_json_put_string(out, title);
    member_str(out, "mediaType", r->is_markdown ? markdown : "text/plain");
    member_uint(out, "bytes", r->n_bytes);
    member_uint(out, "passages", r->n_passages);
    weir_json_put_key(out, "redacted");
    weir_json_put_bool(out, r->is_redacted);
    member_str(out, "createdAt", r->created_at);
    member_str(out, "updatedAt", r->updated_at);
}

static void copy_text(char *out, size_t cap, const struct weir_json *json, const char *key)
{
    struct weir_slice text = weir_json_text(weir_json_get_str(json, key));
    snprintf(out, cap, "%.*s", (int)text.len, text.len > 0 ? text.ptr : "");
}

static uint64_t number_of(const struct weir_json *json, const char *key)
{
    int64_t n = 0;
    return weir_json_int64(weir_json_get_str(json, key), &n) && n > 0 ? (uint64_t)n : 0;
}

/* The title is borrowed from `values`. */
static WEIR_MUST_CHECK enum weir_status read_record(const struct doc *doc,
                                                    struct weir_json_doc *values,
                                                    struct record *out)
{
    const struct weir_json *json = NULL;
    *out = (struct record){.version = doc->version};
    enum weir_status st = weir_json_parse(values, doc->body, &json, NULL);
    if (st != WEIR_OK) return st == WEIR_NOMEM ? st : WEIR_CORRUPT;
    copy_text(out->id, sizeof out->id, json, "id");
    out->title = weir_json_text(weir_json_get_str(json, "title"));
    out->is_markdown =
        weir_slice_is(weir_json_text(weir_json_get_str(json, "mediaType")), markdown);
    out->n_bytes = number_of(json, "bytes");
    out->n_passages = number_of(json, "passages");
    out->is_redacted = weir_json_type_of(weir_json_get_str(json, "redacted")) == WEIR_JSON_TRUE;
    copy_text(out->created_at, sizeof out->created_at, json, "createdAt");
    copy_text(out->updated_at, sizeof out->updated_at, json, "updatedAt");
    return WEIR_OK;
}

/* WEIR_NOT_FOUND for what is somebody else's, too. */
static WEIR_MUST_CHECK enum weir_status find_record(struct library *l, struct weir_slice id,
                                                    struct weir_json_doc *values,
                                                    struct record *out)
{
    struct doc doc;
    if (!library_is_id(id)) return WEIR_NOT_FOUND;
    enum weir_status st = store_doc_get(l->store, record_key(id), &doc);
    if (st != WEIR_OK) return st;
    st = slice_eq(doc.owner, l->owner) ? read_record(&doc, values, out) : WEIR_NOT_FOUND;
    doc_fini(&doc);
    return st;
}

static struct weir_slice passage_id(char out[LIBRARY_PASSAGE_ID_BYTES], const struct record *r,
                                    uint64_t i)
{
    int len = snprintf(out, LIBRARY_PASSAGE_ID_BYTES, "%s/%c%06llu", r->id,
                       r->is_redacted ? 'r' : 'p', (unsigned long long)i + 1);
    return slice_of(out, (size_t)len);
}

/* The title of a record as its owner sees it. */
static void put_seen(struct weir_buf *out, const struct library_map *m, const struct record *r)
{
    struct weir_buf title;
    weir_buf_init(&title, LIBRARY_ANSWER_BYTES);
    if (r->is_redacted) library_map_restore_line(m, r->title, &title);
    else weir_buf_append_slice(&title, r->title);
    put_record(out, r, weir_buf_slice(&title));
    if (weir_buf_status(&title) != WEIR_OK) out->status = title.status;
    weir_buf_fini(&title);
}

/* ---- what is given ---- */

static WEIR_MUST_CHECK enum weir_status refuse_place(struct library *l, struct weir_slice text,
                                                     size_t at)
{
    size_t line = 1;
    size_t begin = 0;
    for (size_t i = 0; i < at; i++) {
        if (text.ptr[i] != '\n') continue;
        line++;
        begin = i + 1;
    }
    return library_refuse(l, WEIR_BAD_FIELD, "text is %s at byte %zu (line %zu, byte %zu of it)",
                          text.ptr[at] == 0 ? "no text: there is a NUL" : "not UTF-8", at, line,
                          at - begin + 1);
}

static bool is_blank(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!memchr(" \t\r\n", text.ptr[i], 4)) return false;
    return true;
}

static bool has_control(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7F) return true;
    return false;
}

static WEIR_MUST_CHECK enum weir_status check_text(struct library *l, const struct library_text *t)
{
    size_t good = passage_good_prefix(t->text);
    if (t->text.len > LIBRARY_TEXT_BYTES)
        return library_refuse(l, WEIR_TOO_LARGE, "a document has at most %d bytes of text",
                              LIBRARY_TEXT_BYTES);
    if (good < t->text.len) return refuse_place(l, t->text, good);
    if (is_blank(t->text)) return library_refuse(l, WEIR_BAD_FIELD, "text has to say something");
    if (t->title.len > LIBRARY_TITLE_BYTES || has_control(t->title) ||
        passage_good_prefix(t->title) < t->title.len || (t->title.len > 0 && is_blank(t->title)))
        return library_refuse(l, WEIR_BAD_FIELD,
                              "title has to be one line of UTF-8, of at most %d bytes",
                              LIBRARY_TITLE_BYTES);
    return WEIR_OK;
}

/* The first line that is not blank. */
static struct weir_slice first_line(struct weir_slice text)
{
    struct weir_slice line = {0};
    if (text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0) text = slice_from(text, 3);
    while (text.len > 0 && is_blank(line)) {
        const char *end = memchr(text.ptr, '\n', text.len);
        line = slice_of(text.ptr, end ? (size_t)(end - text.ptr) : text.len);
        text = slice_from(text, line.len + (end != NULL));
    }
    return line;
}

/* The first heading or line of a text as it is stored, without signs that nobody sees. */
static void put_own_title(struct weir_buf *out, struct weir_slice text, bool is_markdown)
{
    struct weir_slice line = first_line(text);
    struct weir_slice heading;
    if (is_markdown && cut_heading(line, &heading) > 0 && heading.len > 0) line = heading;
    line.len = token_cut(line, LIBRARY_TITLE_BYTES);
    while (line.len > 0 && is_blank(slice_of(line.ptr + line.len - 1, 1))) line.len--;
    for (size_t i = 0; i < line.len; i++) {
        bool is_seen = (unsigned char)line.ptr[i] >= ' ' && line.ptr[i] != 0x7F;
        weir_buf_append_char(out, is_seen ? line.ptr[i] : ' ');
    }
}

/* ---- writing ---- */

/* A document on its way into the store. */
struct writing {
    struct library *l;
    const struct library_text *given;
    struct library_map map;
    struct record now, before; /* `before` has no passages when it is new */
    struct weir_buf title, text, plain_title;
    struct guard_report report;
    struct commit *commit;
};

static WEIR_MUST_CHECK enum weir_status redact(struct writing *w)
{
    weir_buf_reset(&w->title);
    weir_buf_reset(&w->text);
    weir_buf_reset(&w->plain_title);
    enum weir_status st = library_map_redact(&w->map, w->given->text, &w->text, &w->report);
    if (st != WEIR_OK) return st;
    /* A text's own title is cut, which must not leave a part of a value. */
    if (w->given->title.len == 0)
        put_own_title(&w->title, weir_buf_slice(&w->text), w->given->is_markdown);
    else st = library_map_redact(&w->map, w->given->title, &w->title, &w->report);
    w->now.title = weir_buf_slice(&w->title);
    w->now.is_redacted = w->map.is_redacting;
    if (w->now.is_redacted) library_map_restore_line(&w->map, w->now.title, &w->plain_title);
    else weir_buf_append_slice(&w->plain_title, w->now.title);
    if (st == WEIR_OK) st = weir_buf_status(&w->title);
    return st == WEIR_OK ? weir_buf_status(&w->plain_title) : st;
}

static WEIR_MUST_CHECK enum weir_status put_passages(struct writing *w)
{
    struct cutter cutter;
    struct weir_buf headings, line;
    struct passage p = {.owner = w->l->owner};
    char id[LIBRARY_PASSAGE_ID_BYTES];
    weir_buf_init(&headings, TITLE_LINE_BYTES);
    weir_buf_init(&line, TITLE_LINE_BYTES);
    cutter_init(&cutter, weir_buf_slice(&w->text), w->given->is_markdown);
    for (w->now.n_passages = 0; cutter_next(&cutter, &p.text, &headings); w->now.n_passages++) {
        weir_buf_reset(&line);
        weir_buf_append_slice(&line, w->now.title);
        weir_buf_append_char(&line, LIBRARY_TITLE_END);
        weir_buf_append_slice(&line, weir_buf_slice(&headings));
        p.id = passage_id(id, &w->now, w->now.n_passages);
        p.title = weir_buf_slice(&line);
        passage_put(w->commit, &p, DOC_ANY_VERSION);
    }
    enum weir_status st = weir_buf_status(&line);
    if (st == WEIR_OK) st = weir_buf_status(&headings);
    weir_buf_fini(&line);
    weir_buf_fini(&headings);
    return st;
}

/* Passages of the text that was there before and has no place in the new one. */
static void remove_old(struct commit *c, const struct record *before, const struct record *now)
{
    char id[LIBRARY_PASSAGE_ID_BYTES];
    bool is_same = now && before->is_redacted == now->is_redacted;
    for (uint64_t i = is_same ? now->n_passages : 0; i < before->n_passages; i++)
        commit_remove(c, passage_key(passage_id(id, before, i)), DOC_ANY_VERSION);
}

static void note_audit(struct writing *w)
{
    struct audit_entry e = {.at_ms = clock_wall_ms(w->l->clock),
                            .owner = w->l->owner,
                            .message = weir_slice_of(w->now.id),
                            .action = "redact",
                            .decider = "policy",
                            .path = "document",
                            .report = &w->report};
    if (w->report.n > 0) audit_append(w->commit, &e);
}

static WEIR_MUST_CHECK enum weir_status fill_commit(struct writing *w)
{
    struct weir_buf body;
    enum weir_status st = put_passages(w);
    if (st == WEIR_OK) st = library_map_put(&w->map, w->l, w->commit);
    if (st != WEIR_OK) return st;
    remove_old(w->commit, &w->before, &w->now);
    note_audit(w);
    weir_buf_init(&body, RECORD_BYTES);
    put_record(&body, &w->now, w->now.title);
    weir_json_put_end_object(&body);
    st = weir_buf_status(&body);
    if (st == WEIR_OK)
        commit_put(w->commit, record_key(weir_slice_of(w->now.id)), w->before.version, w->l->owner,
                   weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

/* WEIR_CONFLICT, WEIR_EXISTS: somebody was quicker. */
static WEIR_MUST_CHECK enum weir_status write_once(struct writing *w)
{
    enum weir_status st = library_map_open(&w->map, w->l);
    guard_report_init(&w->report);
    if (st == WEIR_OK) st = redact(w);
    w->commit = st == WEIR_OK ? commit_new(w->text.len) : NULL;
    if (st == WEIR_OK && !w->commit) st = WEIR_NOMEM;
    if (st == WEIR_OK) st = fill_commit(w);
    if (st == WEIR_OK && w->before.version == 0 && w->l->decide)
        commit_decide(w->commit, false, w->l->decide, w->l->decider);
    if (st == WEIR_OK) {
        st = store_commit_wait(w->l->store, w->commit).status;
        if (st == WEIR_OK && w->report.n > 0) audit_written("redact");
    } else {
        commit_free(w->commit);
    }
    guard_report_fini(&w->report);
    library_map_close(&w->map);
    return st;
}

static WEIR_MUST_CHECK enum weir_status write_text(struct writing *w, struct weir_buf *out)
{
    enum weir_status st = WEIR_CONFLICT;
    struct weir_json_doc *values = weir_json_doc_new(RECORD_VALUES_BYTES);
    if (!values) return WEIR_NOMEM;
    weir_buf_init(&w->title, TITLE_LINE_BYTES);
    weir_buf_init(&w->plain_title, LIBRARY_ANSWER_BYTES);
    weir_buf_init(&w->text, REDACTED_BYTES);
    clock_format(w->now.updated_at, clock_wall_ms(w->l->clock));
    w->now.is_markdown = w->given->is_markdown;
    w->now.n_bytes = w->given->text.len;
    for (int i = 0; i < ATTEMPTS && (st == WEIR_CONFLICT || st == WEIR_EXISTS); i++) {
        const char *created_at = w->now.updated_at;
        st = WEIR_OK;
        if (w->before.version > 0)
            st = find_record(w->l, weir_slice_of(w->now.id), values, &w->before);
        if (st != WEIR_OK) break;
        if (w->before.version > 0) created_at = w->before.created_at;
        snprintf(w->now.created_at, sizeof w->now.created_at, "%s", created_at);
        st = write_once(w);
    }
    if (st == WEIR_LIMIT)
        st = library_refuse(w->l, WEIR_TOO_LARGE, "the document is too large, as it would be kept");
    if (st == WEIR_OK) {
        put_record(out, &w->now, weir_buf_slice(&w->plain_title));
        weir_json_put_end_object(out);
        st = weir_buf_status(out);
    }
    weir_buf_fini(&w->text);
    weir_buf_fini(&w->plain_title);
    weir_buf_fini(&w->title);
    weir_json_doc_free(values);
    return st;
}

/* ---- changes ---- */

static enum weir_status count_one(void *user, const struct doc *doc)
{
    (void)doc;
    ++*(size_t *)user;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status count(struct library *l, size_t most, size_t *n)
{
    struct doc_query query = {
        .kind = record_key((struct weir_slice){0}).kind, .owner = l->owner, .limit = most};
    *n = 0;
    return store_doc_list(l->store, &query, count_one, n);
}

static WEIR_MUST_CHECK enum weir_status make_id(struct library *l, char id[LIBRARY_ID_LEN + 1])
{
    struct ulid_source source;
    struct ulid ulid;
    ulid_source_init(&source, l->clock);
    enum weir_status st = ulid_next(&source, &ulid);
    if (st != WEIR_OK) return st;
    memcpy(id, id_prefix, sizeof id_prefix - 1);
    ulid_format(id + sizeof id_prefix - 1, ulid);
    return WEIR_OK;
}

enum weir_status library_add(struct library *l, const struct library_text *text,
                             char id[LIBRARY_ID_LEN + 1], struct weir_buf *out)
{
    struct writing w = {.l = l, .given = text};
    size_t n = 0;
    l->why[0] = 0;
    enum weir_status st = check_text(l, text);
    if (st == WEIR_OK) st = count(l, LIBRARY_MAX_DOCUMENTS, &n);
    if (st == WEIR_OK && n == LIBRARY_MAX_DOCUMENTS)
        st = library_refuse(l, WEIR_LIMIT, "there are %d documents, and there may be no more",
                            LIBRARY_MAX_DOCUMENTS);
    if (st == WEIR_OK) st = make_id(l, id);
    if (st != WEIR_OK) return st;
    memcpy(w.now.id, id, sizeof w.now.id);
    return write_text(&w, out);
}

enum weir_status library_replace(struct library *l, struct weir_slice id,
                                 const struct library_text *text, struct weir_buf *out)
{
    struct writing w = {.l = l, .given = text, .before = {.version = 1}};
    l->why[0] = 0;
    if (!library_is_id(id)) return WEIR_NOT_FOUND;
    enum weir_status st = check_text(l, text);
    if (st != WEIR_OK) return st;
    memcpy(w.now.id, id.ptr, id.len);
    return write_text(&w, out);
}

static WEIR_MUST_CHECK enum weir_status remove_once(struct library *l, struct weir_slice id,
                                                    struct weir_json_doc *values)
{
    struct record r;
    struct library_map map = {0};
    size_t n = 0;
    enum weir_status st = find_record(l, id, values, &r);
    if (st == WEIR_OK) st = library_map_find(&map, l);
    if (st == WEIR_OK) st = count(l, 2, &n);
    struct commit *c = st == WEIR_OK ? commit_new(0) : NULL;
    if (st == WEIR_OK && !c) st = WEIR_NOMEM;
    if (st == WEIR_OK) {
        commit_remove(c, record_key(id), r.version);
        remove_old(c, &r, NULL);
        if (n == 1) library_map_remove(&map, l, c);
        st = store_commit_wait(l->store, c).status;
    }
    return st;
}

enum weir_status library_remove(struct library *l, struct weir_slice id)
{
    enum weir_status st = WEIR_CONFLICT;
    l->why[0] = 0;
    struct weir_json_doc *values = weir_json_doc_new(RECORD_VALUES_BYTES);
    if (!values) return WEIR_NOMEM;
    for (int i = 0; i < ATTEMPTS && st == WEIR_CONFLICT; i++) {
        weir_json_doc_reset(values);
        st = remove_once(l, id, values);
    }
    weir_json_doc_free(values);
    return st;
}

/* ---- reading ---- */

struct reading {
    struct weir_slice id;
    struct weir_buf text;
};

static enum weir_status add_passage(void *user, const struct doc *doc)
{
    struct reading *r = user;
    size_t len = r->id.len;
    bool is_ours =
        doc->id.len > len && memcmp(doc->id.ptr, r->id.ptr, len) == 0 && doc->id.ptr[len] == '/';
    if (!is_ours) return WEIR_LIMIT; /* behind the last one */
    const char *line = memchr(doc->body.ptr, '\n', doc->body.len);
    if (!line) return WEIR_CORRUPT;
    weir_buf_append_slice(&r->text, slice_from(doc->body, (size_t)(line - doc->body.ptr) + 1));
    return r->text.status == WEIR_LIMIT ? WEIR_CORRUPT : weir_buf_status(&r->text);
}

static WEIR_MUST_CHECK enum weir_status read_text(struct library *l, struct reading *r)
{
    char after[LIBRARY_PASSAGE_ID_BYTES];
    int len = snprintf(after, sizeof after, "%.*s/", (int)r->id.len, r->id.ptr);
    struct doc_query query = {.kind = passage_key((struct weir_slice){0}).kind,
                              .owner = l->owner,
                              .after = slice_of(after, (size_t)len),
                              .limit = LIBRARY_TEXT_BYTES};
    enum weir_status st = store_doc_list(l->store, &query, add_passage, r);
    return st == WEIR_LIMIT ? WEIR_OK : st;
}

static WEIR_MUST_CHECK enum weir_status put_document(struct library *l, const struct record *record,
                                                     struct weir_slice text, struct weir_buf *out)
{
    struct library_map map;
    struct weir_buf restored;
    weir_buf_init(&restored, LIBRARY_ANSWER_BYTES);
    enum weir_status st = library_map_open(&map, l);
    if (st == WEIR_OK) {
        put_seen(out, &map, record);
        if (record->is_redacted) library_map_restore(&map, text, &restored);
        else weir_buf_append_slice(&restored, text);
        weir_json_put_key(out, "text");
        weir_json_put_string(out, weir_buf_slice(&restored));
        weir_json_put_end_object(out);
        st = weir_buf_status(&restored);
    }
    if (st == WEIR_OK) st = weir_buf_status(out);
    weir_buf_fini(&restored);
    library_map_close(&map);
    return st;
}

/* WEIR_CONFLICT: it was changed meanwhile. */
static WEIR_MUST_CHECK enum weir_status get_once(struct library *l, struct weir_slice id,
                                                 struct weir_json_doc *values, struct weir_buf *out)
{
    struct record record, again;
    struct reading r = {.id = id};
    weir_buf_init(&r.text, REDACTED_BYTES);
    enum weir_status st = find_record(l, id, values, &record);
    if (st == WEIR_OK) st = read_text(l, &r);
    if (st == WEIR_OK) st = find_record(l, id, values, &again);
    if (st == WEIR_OK && again.version != record.version) st = WEIR_CONFLICT;
    if (st == WEIR_OK) st = put_document(l, &record, weir_buf_slice(&r.text), out);
    weir_buf_fini(&r.text);
    return st;
}

enum weir_status library_get(struct library *l, struct weir_slice id, struct weir_buf *out)
{
    enum weir_status st = WEIR_CONFLICT;
    l->why[0] = 0;
    struct weir_json_doc *values = weir_json_doc_new(RECORD_VALUES_BYTES);
    if (!values) return WEIR_NOMEM;
    for (int i = 0; i < ATTEMPTS && st == WEIR_CONFLICT; i++) {
        weir_json_doc_reset(values);
        st = get_once(l, id, values, out);
    }
    weir_json_doc_free(values);
    return st;
}

enum weir_status library_find(struct library *l, struct weir_slice id, struct weir_buf *out)
{
    struct record r;
    struct library_map map = {0};
    l->why[0] = 0;
    struct weir_json_doc *values = weir_json_doc_new(RECORD_VALUES_BYTES);
    enum weir_status st = values ? find_record(l, id, values, &r) : WEIR_NOMEM;
    if (st == WEIR_OK) st = library_map_open(&map, l);
    if (st == WEIR_OK) {
        put_seen(out, &map, &r);
        weir_json_put_end_object(out);
        st = weir_buf_status(out);
    }
    library_map_close(&map);
    weir_json_doc_free(values);
    return st;
}

struct listing {
    struct library_map map;
    struct weir_json_doc *values;
    struct weir_buf *out;
    size_t n, limit;
    char last[LIBRARY_ID_LEN + 1];
    bool has_more;
};

static enum weir_status list_one(void *user, const struct doc *doc)
{
    struct listing *l = user;
    struct record r;
    l->has_more = l->n == l->limit;
    if (l->has_more) return WEIR_LIMIT;
    weir_json_doc_reset(l->values);
    enum weir_status st = read_record(doc, l->values, &r);
    if (st != WEIR_OK) return st;
    if (l->n++ > 0) weir_buf_append_char(l->out, ',');
    put_seen(l->out, &l->map, &r);
    weir_json_put_end_object(l->out);
    memcpy(l->last, r.id, sizeof l->last);
    return weir_buf_status(l->out);
}

enum weir_status library_list(struct library *l, struct weir_slice after, size_t limit,
                              struct weir_buf *out)
{
    struct listing list = {.out = out, .limit = limit};
    struct doc_query query = {.kind = record_key((struct weir_slice){0}).kind,
                              .owner = l->owner,
                              .after = after,
                              .limit = limit + 1,
                              .is_falling = true};
    l->why[0] = 0;
    list.values = weir_json_doc_new(RECORD_VALUES_BYTES);
    enum weir_status st = list.values ? library_map_open(&list.map, l) : WEIR_NOMEM;
    weir_buf_append_str(out, "{\"data\":[");
    if (st == WEIR_OK) st = store_doc_list(l->store, &query, list_one, &list);
    if (list.has_more) st = WEIR_OK;
    weir_buf_append_str(out, "],\"next_cursor\":");
    weir_json_put_str(out, list.has_more ? list.last : NULL);
    weir_buf_append_char(out, '}');
    library_map_close(&list.map);
    weir_json_doc_free(list.values);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
