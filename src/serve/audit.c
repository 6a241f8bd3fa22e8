/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/shield/audit, GET /v1/sessions/audit: what was decided about private data and about
 * tools, the newest first, in pages, as JSON or CSV. Everybody sees what is theirs; who may
 * administer sees all.
 *
 * The log is read from its end in windows of ids, by a thread of the store's. A page looks at
 * SCAN_EVENTS at most: one that has found little by then is short, and its cursor goes on.
 */
#include <stdio.h>

#include "base/container.h"
#include "base/slice.h"
#include "serve/documents.h"
#include "session/session.h"
#include "shield/decision.h"

enum {
    WINDOW_EVENTS = 256,
    SCAN_EVENTS = 64 * WINDOW_EVENTS,
    EVENT_BYTES = 16 << 10, /* of one: see shield/decision.c, session/question.c */
    PAGE_BYTES = 4 << 20,
    VALUE_BYTES = 16 << 20,
};

/* What is written down somewhere: its log, and the columns of a table behind "id". */
struct audit_kind {
    const char *path, *log;
    const char *columns[16]; /* ended by NULL */
};

static const struct audit_kind shield_audit = {.path = "/v1/shield/audit",
                                               .log = shield_audit_log,
                                               .columns = {"at", "user", "conversation", "message",
                                                           "action", "decidedBy", "path", "count",
                                                           "categories"}};

static const struct audit_kind session_audit = {
    .path = "/v1/sessions/audit",
    .log = session_audit_log,
    .columns = {"at", "user", "session", "turn", "question", "kind", "tool", "argsHash", "decision",
                "decidedBy", "decider", "scope", "textBytes", "waitedMs"}};

struct audit_page {
    const struct audit_kind *kind;
    struct post post;
    struct exchange *ex;
    struct loop *loop;
    struct store *store;
    char owner[DOCUMENT_OWNER_BYTES];
    bool sees_all, is_csv;
    uint64_t limit;
    uint64_t before; /* ids below this one; 0: all */

    struct weir_json_doc *doc; /* of the window's events */
    struct weir_buf out;
    uint64_t n;
    uint64_t next; /* where the next page begins; 0: there is none */
    enum weir_status status;
};

/* ---- one entry ---- */

/* What a spreadsheet would take for a formula is made a text; RFC 4180 for the rest. */
static void put_cell(struct weir_buf *out, struct weir_slice text, bool is_first)
{
    if (!is_first) weir_buf_append_char(out, ',');
    weir_buf_append_char(out, '"');
    if (text.len > 0 && strchr("=+-@\t\r\n|%", text.ptr[0]) && text.ptr[0])
        weir_buf_append_char(out, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"') weir_buf_append_char(out, '"');
        weir_buf_append_char(out, text.ptr[i]);
    }
    weir_buf_append_char(out, '"');
}

/* {"email":2,"phone":1} as "email 2, phone 1". */
static void put_counts(struct weir_buf *out, const struct weir_json *counts)
{
    char text[512] = "";
    size_t len = 0;
    for (const struct weir_json *m = weir_json_first(counts); m; m = weir_json_next(m)) {
        struct weir_slice key = weir_json_key(m), n = weir_json_text(m);
        int more = snprintf(text + len, sizeof text - len, "%s%.*s %.*s", len > 0 ? ", " : "",
                            (int)key.len, key.ptr, (int)n.len, n.ptr);
        if (more < 0 || (size_t)more >= sizeof text - len) break;
        len += (size_t)more;
    }
    put_cell(out, slice_of(text, len), false);
}

static void put_csv(struct weir_buf *out, const struct audit_kind *kind,
                    const struct weir_json *entry, uint64_t id)
{
    char number[24];
    int len = snprintf(number, sizeof number, "%llu", (unsigned long long)id);
    put_cell(out, slice_of(number, (size_t)len), true);
    for (const char *const *column = kind->columns; *column; column++) {
        const struct weir_json *v = weir_json_get_str(entry, *column);
        if (weir_json_type_of(v) == WEIR_JSON_OBJECT) put_counts(out, v);
        else put_cell(out, weir_json_text(v), false);
    }
    weir_buf_append_str(out, "\r\n");
}

static void put_csv_head(struct weir_buf *out, const struct audit_kind *kind)
{
    weir_buf_append_str(out, "id");
    for (const char *const *column = kind->columns; *column; column++)
        weir_buf_printf(out, ",%s", *column);
    weir_buf_append_str(out, "\r\n");
}

static void put_json(struct weir_buf *out, const struct weir_json *entry, uint64_t id)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "id");
    weir_json_put_uint(out, id);
    for (const struct weir_json *m = weir_json_first(entry); m; m = weir_json_next(m)) {
        weir_json_put_key_slice(out, weir_json_key(m));
        weir_json_put_value(out, m);
    }
    weir_json_put_end_object(out);
}

/* The entry of an event in wire form; NULL: it is none that is wanted. */
static const struct weir_json *wanted(struct audit_page *p, struct weir_slice event)
{
    static const char mark[] = "\ndata: ";
    const struct weir_json *entry;
    const char *data = memmem(event.ptr, event.len, mark, sizeof mark - 1);
    if (!data) return NULL;
    struct weir_slice json = slice_from(event, (size_t)(data - event.ptr) + sizeof mark - 1);
    const char *end = memchr(json.ptr, '\n', json.len);
    if (end) json.len = (size_t)(end - json.ptr);
    if (weir_json_parse(p->doc, json, &entry, NULL) != WEIR_OK) return NULL;
    struct weir_slice user = weir_json_text(weir_json_get_str(entry, "user"));
    return p->sees_all || slice_eq(user, weir_slice_of(p->owner)) ? entry : NULL;
}

/* ---- a window ---- */

/* Events of a window, by rising id. */
struct window {
    const struct weir_json *entries[WINDOW_EVENTS];
    uint64_t first;
    size_t n;
};

static void add_events(struct audit_page *p, struct window *w, struct weir_slice events)
{
    while (events.len > 0 && w->n < WINDOW_EVENTS) {
        size_t len = chunk_event_length(events);
        if (len == 0 || len > events.len) return;
        w->entries[w->n++] = wanted(p, slice_of(events.ptr, len));
        events = slice_from(events, len);
    }
}

/* All events from w->first on, up to WINDOW_EVENTS. */
static enum weir_status read_window(struct audit_page *p, struct window *w)
{
    enum weir_status st = WEIR_OK;
    size_t before;
    do {
        struct log_read r;
        before = w->n;
        store_read(p->store, weir_slice_of(p->kind->log), w->first + w->n,
                   (size_t)WINDOW_EVENTS * EVENT_BYTES, &r);
        st = r.status;
        for (unsigned i = 0; i < r.n_chunks; i++) {
            if (st == WEIR_OK) add_events(p, w, chunk_from(r.chunks[i], w->first + w->n));
            chunk_unref(r.chunks[i]);
        }
    } while (st == WEIR_OK && w->n < WINDOW_EVENTS && w->n > before);
    return st;
}

/* From the newest down, as long as there is room on the page. */
static void put_window(struct audit_page *p, const struct window *w, uint64_t below)
{
    for (size_t i = w->n; i > 0; i--) {
        uint64_t id = w->first + i - 1;
        if (id >= below || !w->entries[i - 1]) continue;
        if (p->n == p->limit) {
            p->next = id + 1;
            return;
        }
        if (p->is_csv) put_csv(&p->out, p->kind, w->entries[i - 1], id);
        else put_json(&p->out, w->entries[i - 1], id);
        p->n++;
    }
}

/* The id behind the page's first; 1: there is nothing. */
static enum weir_status find_top(const struct audit_page *p, uint64_t *below)
{
    struct log_read r;
    *below = 1;
    store_read(p->store, weir_slice_of(p->kind->log), 1, 0, &r);
    if (r.status != WEIR_OK || !r.state.exists)
        return r.status == WEIR_NOT_FOUND ? WEIR_OK : r.status;
    *below = r.state.last + 1;
    if (p->before > 0 && p->before < *below) *below = p->before;
    return WEIR_OK;
}

static enum weir_status read_windows(struct audit_page *p)
{
    uint64_t below;
    enum weir_status st = find_top(p, &below);
    uint64_t stop = below > SCAN_EVENTS ? below - SCAN_EVENTS : 1;
    while (st == WEIR_OK && below > stop && p->next == 0) {
        struct window w = {.first = below > WINDOW_EVENTS ? below - WINDOW_EVENTS : 1};
        weir_json_doc_reset(p->doc);
        st = read_window(p, &w);
        if (st == WEIR_OK) put_window(p, &w, below);
        below = w.first;
    }
    if (st == WEIR_OK && p->next == 0 && below > 1) p->next = below;
    return st == WEIR_OK ? weir_buf_status(&p->out) : st;
}

/* ---- the answer ---- */

static void answer(struct post *post)
{
    struct audit_page *p = CONTAINER_OF(post, struct audit_page, post);
    struct exchange *ex = p->ex;
    struct weir_buf out = p->out; /* the page is gone with the answer */
    char link[128];
    int len = snprintf(link, sizeof link, "<%s?format=csv&limit=%llu&cursor=%llu>; rel=\"next\"",
                       p->kind->path, (unsigned long long)p->limit, (unsigned long long)p->next);
    if (p->status == WEIR_OK && p->is_csv && p->next > 0)
        exchange_field(ex, "Link", slice_of(link, (size_t)len));
    if (p->status != WEIR_OK) resource_store_error(ex, p->status);
    else if (p->is_csv)
        exchange_text(ex, 200, "text/csv; charset=utf-8; header=present", weir_buf_slice(&out));
    else exchange_json(ex, 200, weir_buf_slice(&out));
    weir_buf_fini(&out);
}

static void put_end(struct audit_page *p)
{
    char cursor[24];
    if (p->is_csv) return;
    snprintf(cursor, sizeof cursor, "%llu", (unsigned long long)p->next);
    weir_buf_append_str(&p->out, "],\"next_cursor\":");
    weir_json_put_str(&p->out, p->next > 0 ? cursor : NULL);
    weir_buf_append_char(&p->out, '}');
}

/* By a thread of the store's. */
static void run(void *user)
{
    struct audit_page *p = user;
    weir_buf_init(&p->out, PAGE_BYTES);
    if (p->is_csv) put_csv_head(&p->out, p->kind);
    else weir_buf_append_str(&p->out, "{\"data\":[");
    p->doc = weir_json_doc_new(VALUE_BYTES);
    p->status = p->doc ? read_windows(p) : WEIR_NOMEM;
    put_end(p);
    if (p->status == WEIR_OK) p->status = weir_buf_status(&p->out);
    weir_json_doc_free(p->doc);
    loop_post(p->loop, &p->post);
}

/* False when that was answered with an error. */
static bool take_wishes(struct exchange *ex, struct audit_page *p)
{
    struct weir_slice text;
    if (!document_take_limit(ex, &p->limit)) return false;
    if (exchange_query(ex, "cursor", &text) &&
        (!resource_parse_id(text, &p->before) || p->before == 0)) {
        exchange_error(ex, WEIR_BAD_FIELD, "cursor is what next_cursor of a page says");
        return false;
    }
    p->is_csv = resource_wants(ex, "text/csv");
    if (!exchange_query(ex, "format", &text)) return true;
    p->is_csv = weir_slice_is(text, "csv");
    if (p->is_csv || weir_slice_is(text, "json")) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "format is json or csv");
    return false;
}

static void audit_get(struct exchange *ex, const struct audit_kind *kind)
{
    struct weir_slice owner = resource_owner(ex);
    struct audit_page *p = exchange_alloc(ex, sizeof *p);
    if (!p) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *p = (struct audit_page){.kind = kind,
                             .post = {.run = answer},
                             .ex = ex,
                             .loop = worker_loop(exchange_worker(ex)),
                             .store = server_store(exchange_server(ex)),
                             .sees_all = (exchange_access(ex)->scopes & SCOPE_ADMIN) != 0};
    memcpy(p->owner, owner.ptr, owner.len);
    if (!take_wishes(ex, p)) return;
    if (store_later(p->store, run, p) != WEIR_OK) resource_store_error(ex, WEIR_NOMEM);
}

void shield_audit_get(struct exchange *ex)
{
    audit_get(ex, &shield_audit);
}

void session_audit_get(struct exchange *ex)
{
    audit_get(ex, &session_audit);
}
