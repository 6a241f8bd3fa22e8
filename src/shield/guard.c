/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation's guard: whole requests looked at, redacted, checked and restored. What is sealed
 * is JSON, {"tokens":{"[email_1]":"…"},"allowed":["…"]}.
 *
 * Redacting goes on until a look at its own outcome finds nothing; so what guard_redact() has
 * written passes guard_check(), as long as nobody changes it.
 */
#include "shield/guard.h"

#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "shield/guard_impl.h"
#include "shield/restore.h"
#include "shield/wipe.h"

enum {
    MAX_ALLOWED = 10000,                /* values of a conversation */
    ALLOWED_BYTES = 1 << 20,            /* of them together */
    FINDINGS_BYTES = 64 << 10,          /* of a report's list; the counts go on */
    MAP_BYTES = 8 * TOKENS_VALUE_BYTES, /* of a map as JSON */
};

struct guard *guard_new(const struct shield_policy *policy)
{
    struct guard *g = mem_zalloc(sizeof *g);
    if (!g) return NULL;
    g->policy = policy;
    g->tokens = token_map_new();
    map_init(&g->allowed, MAX_ALLOWED);
    weir_buf_init(&g->allowed_text, ALLOWED_BYTES);
    bool is_ready = g->tokens != NULL;
    const char *label;
    for (size_t i = 0; is_ready && (label = shield_policy_label(policy, i)); i++)
        is_ready = token_map_expect(g->tokens, label) == WEIR_OK;
    if (is_ready) return g;
    guard_free(g);
    return NULL;
}

void guard_free(struct guard *g)
{
    if (!g) return;
    token_map_free(g->tokens);
    map_fini(&g->allowed);
    buf_wipe(&g->allowed_text);
    mem_free(g);
}

const struct shield_policy *guard_policy(const struct guard *g)
{
    return g->policy;
}

bool guard_covers(const struct guard *g, bool is_external)
{
    return is_external || shield_policy_scope(g->policy) == PII_ALL;
}

const struct token_map *guard_tokens(const struct guard *g)
{
    return g->tokens;
}

uint64_t guard_version(const struct guard *g)
{
    return g->n_changes;
}

/* ---- what is allowed ---- */

/* A part of an allowed value tells nobody anything new. */
static bool is_part_of_allowed(const struct guard *g, struct weir_slice value)
{
    const struct weir_buf *b = &g->allowed_text;
    return b->len > 0 && value.len > 0 && memmem(b->ptr, b->len, value.ptr, value.len) != NULL;
}

bool guard_is_allowed(const struct guard *g, struct weir_slice value)
{
    if (g->is_strict) return false;
    return g->allowed.len > 0 && (map_get(&g->allowed, value) || is_part_of_allowed(g, value));
}

void guard_be_strict(struct guard *g)
{
    g->is_strict = true;
}

static enum weir_status allow(struct guard *g, struct weir_slice value)
{
    if (value.len == 0 || map_get(&g->allowed, value)) return WEIR_OK;
    enum weir_status st = map_put(&g->allowed, value, g);
    if (st != WEIR_OK) return st;
    if (g->allowed_text.len == 0) weir_buf_append_char(&g->allowed_text, 0);
    weir_buf_append_slice(&g->allowed_text, value);
    weir_buf_append_char(&g->allowed_text, 0);
    g->n_changes++;
    return weir_buf_status(&g->allowed_text);
}

/* ---- reports ---- */

void guard_report_init(struct guard_report *r)
{
    memset(r, 0, sizeof *r);
    weir_buf_init(&r->findings, FINDINGS_BYTES);
    weir_buf_append_str(&r->findings, "[]");
}

void guard_report_fini(struct guard_report *r)
{
    weir_buf_fini(&r->findings);
}

void guard_report_put_categories(const struct guard_report *r, struct weir_buf *out)
{
    weir_json_put_begin_array(out);
    for (int i = 0; i < SHIELD_N_CATEGORIES; i++)
        if (r->counts[i] > 0) weir_json_put_str(out, shield_category_name((enum shield_category)i));
    weir_json_put_end_array(out);
}

void guard_report_put_counts(const struct guard_report *r, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    for (int i = 0; r && i < SHIELD_N_CATEGORIES; i++) {
        if (r->counts[i] == 0) continue;
        weir_json_put_key(out, shield_category_name((enum shield_category)i));
        weir_json_put_uint(out, r->counts[i]);
    }
    weir_json_put_end_object(out);
}

/* The list stays JSON: where there is no room for one more, it ends before it. */
static void report_finding(struct guard_report *r, const struct shield_finding *f)
{
    enum { ONE_BYTES = 256 };
    struct weir_buf *b = &r->findings;
    r->n++;
    r->counts[f->category]++;
    if (b->status != WEIR_OK || b->len + ONE_BYTES > FINDINGS_BYTES) return;
    b->len--; /* the bracket */
    weir_json_put_begin_object(b);
    weir_json_put_key(b, "label");
    weir_json_put_str(b, f->label);
    weir_json_put_key(b, "category");
    weir_json_put_str(b, shield_category_name((enum shield_category)f->category));
    weir_json_put_key(b, "source");
    weir_json_put_str(b, shield_source_name((enum shield_source)f->source));
    weir_json_put_end_object(b);
    weir_json_put_end_array(b);
}

static void report_all(struct guard_report *r, const struct look *l)
{
    for (size_t i = 0; r && i < l->n_spans; i++) report_finding(r, &l->spans[i].at);
}

static void report_refused(struct guard_report *r, const struct look *l,
                           const struct weir_json *request, const struct guard_item *item)
{
    if (!r || !item) return;
    r->refused_what = "placeholder";
    if (item->n_spans > 0)
        r->refused_what =
            shield_category_name((enum shield_category)l->spans[item->first_span].at.category);
    if (item->kind == ITEM_BLIND) r->refused_what = shield_category_name(SHIELD_N_CATEGORIES);
    guard_where(l, request, item, r->refused_at);
}

/* What nobody can look into, if that is refused. */
static const struct guard_item *refused_blind(const struct look *l)
{
    if (shield_policy_sends_attachments(l->guard->policy)) return NULL;
    for (size_t i = 0; i < l->n_items; i++)
        if (l->items[i].kind == ITEM_BLIND) return &l->items[i];
    return NULL;
}

/* ---- looking ---- */

void look_init(struct look *l, const struct guard *g)
{
    *l = (struct look){.guard = g};
    arena_init(&l->arena, GUARD_BYTES);
}

void look_fini(struct look *l)
{
    mem_free(l->items);
    mem_free(l->spans);
    weir_json_doc_free(l->doc);
    arena_fini(&l->arena);
}

static enum weir_status look_at(struct look *l, enum guard_form form,
                                const struct weir_json *request)
{
    enum weir_status st = guard_collect(l, form, request);
    if (st == WEIR_OK) st = guard_scan(l);
    if (st != WEIR_OK) return st;
    return refused_blind(l) ? WEIR_FORBIDDEN : WEIR_OK;
}

enum weir_status guard_find(const struct guard *g, enum guard_form form,
                            const struct weir_json *request, struct guard_report *report)
{
    struct look l;
    look_init(&l, g);
    enum weir_status st = look_at(&l, form, request);
    if (st == WEIR_OK || st == WEIR_FORBIDDEN) report_all(report, &l);
    if (st == WEIR_FORBIDDEN) report_refused(report, &l, request, refused_blind(&l));
    look_fini(&l);
    return st;
}

/* As it stands there, as it is read, and, when it is cut by the end of a text, as a whole. */
static enum weir_status allow_span(struct guard *g, const struct look *l,
                                   const struct guard_span *s)
{
    struct guard_view v;
    struct weir_slice raw =
        slice_of(l->items[s->item].text.ptr + s->at.start, s->at.end - s->at.start);
    enum weir_status st = allow(g, raw);
    if (st == WEIR_OK) st = allow(g, s->whole);
    if (st != WEIR_OK || !guard_view_is_needed(raw)) return st;
    st = guard_view_make(&v, raw);
    if (st == WEIR_OK) st = allow(g, weir_buf_slice(&v.text));
    guard_view_fini(&v);
    return st;
}

static enum weir_status allow_once(struct guard *g, enum guard_form form,
                                   const struct weir_json *request, size_t *n)
{
    struct look l;
    look_init(&l, g);
    enum weir_status st = look_at(&l, form, request);
    for (size_t i = 0; st == WEIR_OK && i < l.n_spans; i++) st = allow_span(g, &l, &l.spans[i]);
    *n = l.n_spans;
    look_fini(&l);
    return st;
}

/* Of spans that overlap one was seen; the others show when that one is allowed. */
enum weir_status guard_allow(struct guard *g, enum guard_form form, const struct weir_json *request)
{
    size_t n = 1;
    enum weir_status st = WEIR_OK;
    for (int round = 0; st == WEIR_OK && n > 0 && round < GUARD_ROUNDS; round++)
        st = allow_once(g, form, request, &n);
    return st;
}

static enum weir_status check(struct look *l, struct weir_slice body,
                              enum shield_category *category)
{
    const struct weir_json *request;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, body, &request, NULL);
    if (st == WEIR_OK) st = look_at(l, GUARD_ANTHROPIC, request);
    if (st == WEIR_OK && l->n_spans > 0) st = WEIR_FORBIDDEN;
    if (l->n_spans > 0) *category = (enum shield_category)l->spans[0].at.category;
    weir_json_doc_free(doc);
    return st;
}

enum weir_status guard_check(const struct guard *g, struct weir_slice body,
                             enum shield_category *category)
{
    struct look l;
    *category = SHIELD_N_CATEGORIES;
    look_init(&l, g);
    enum weir_status st = check(&l, body, category);
    look_fini(&l);
    return st;
}

/* ---- redacting ---- */

/* A look on its way out. Items come in the order of the walk. */
struct redacting {
    struct guard *guard;
    const struct look *look;
    size_t next;                      /* item */
    size_t n_before;                  /* tokens of the map before this request */
    size_t n_changed;                 /* strings so far that are not what they were */
    const struct guard_item *refused; /* in whose place nothing can stand; NULL: none was */
};

static enum weir_status redact_item(struct redacting *r, const struct guard_item *item,
                                    struct weir_buf *out)
{
    struct shield_finding *list = mem_alloc((item->n_spans + 1) * sizeof *list);
    if (!list) return WEIR_NOMEM;
    struct shield_findings found = {.items = list, .n = item->n_spans};
    for (size_t i = 0; i < item->n_spans; i++) list[i] = r->look->spans[item->first_span + i].at;
    enum weir_status st =
        shield_redact_since(r->guard->tokens, item->text, &found, r->n_before, out);
    if (st == WEIR_OK && !slice_eq(weir_buf_slice(out), item->text)) r->n_changed++;
    mem_free(list);
    return st;
}

static enum weir_status put_text(struct redacting *r, const struct guard_item *item,
                                 struct guard_writer *w)
{
    struct weir_buf text;
    weir_buf_init(&text, GUARD_BYTES);
    enum weir_status st = redact_item(r, item, &text);
    if (st == WEIR_OK && item->is_key) weir_json_put_key_slice(w->out, weir_buf_slice(&text));
    else if (st == WEIR_OK) weir_json_put_string(w->out, weir_buf_slice(&text));
    weir_buf_fini(&text);
    return st;
}

static enum weir_status put_base64(struct redacting *r, const struct guard_item *item,
                                   struct guard_writer *w)
{
    struct weir_buf text, coded;
    struct weir_slice old = weir_json_text(item->node);
    size_t before = r->n_changed;
    weir_buf_init(&text, GUARD_BYTES);
    weir_buf_init(&coded, 2 * (size_t)GUARD_BYTES);
    enum weir_status st = redact_item(r, item, &text);
    weir_buf_append_slice(&coded, slice_of(old.ptr, item->n_head));
    guard_base64_write(&coded, weir_buf_slice(&text));
    if (st == WEIR_OK) st = weir_buf_status(&coded);
    if (st == WEIR_OK)
        weir_json_put_string(w->out, r->n_changed > before ? weir_buf_slice(&coded) : old);
    weir_buf_fini(&coded);
    weir_buf_fini(&text);
    return st;
}

/* A number stays one unless it is private; then a text stands in its place. */
static enum weir_status put_number(struct redacting *r, const struct guard_item *item,
                                   struct guard_writer *w)
{
    if (item->n_spans == 0) {
        weir_json_put_value(w->out, item->node);
        return WEIR_OK;
    }
    struct guard_span *span = &r->look->spans[item->first_span];
    span->at.start = 0;
    span->at.end = weir_json_text(item->node).len;
    struct guard_item whole = *item;
    whole.n_spans = 1;
    whole.text = weir_json_text(item->node);
    return put_text(r, &whole, w);
}

static enum weir_status put_item(struct guard_writer *w, const struct weir_json *node, bool is_key);

/* The JSON of a string is written anew only when something in it is. */
static enum weir_status put_nested(struct redacting *r, const struct guard_item *item,
                                   struct guard_writer *w)
{
    struct weir_buf text;
    struct guard_writer inside = {&text, put_item, r};
    weir_buf_init(&text, GUARD_BYTES);
    size_t before = r->n_changed;
    enum weir_status st = guard_write(&inside, item->nested);
    if (st == WEIR_OK)
        weir_json_put_string(w->out, r->n_changed > before ? weir_buf_slice(&text) : item->text);
    weir_buf_fini(&text);
    return st;
}

static void put_as_is(struct guard_writer *w, const struct weir_json *node, bool is_key)
{
    if (is_key) weir_json_put_key_slice(w->out, weir_json_key(node));
    else weir_json_put_value(w->out, node);
}

/* Nothing can be put in its place: neither for what is private, nor for what looks like a token. */
static enum weir_status put_fixed(struct redacting *r, const struct guard_item *item,
                                  struct guard_writer *w)
{
    struct weir_buf text;
    enum weir_status st = item->n_spans > 0 ? WEIR_FORBIDDEN : WEIR_OK;
    if (st == WEIR_OK && item->text.len > 0 && memchr(item->text.ptr, '[', item->text.len)) {
        size_t before = r->n_changed;
        weir_buf_init(&text, GUARD_BYTES);
        st = redact_item(r, item, &text);
        if (st == WEIR_OK && r->n_changed > before) st = WEIR_FORBIDDEN;
        weir_buf_fini(&text);
    }
    if (st == WEIR_OK) put_as_is(w, item->node, item->is_key);
    if (st == WEIR_FORBIDDEN) r->refused = item;
    return st;
}

static enum weir_status put_item(struct guard_writer *w, const struct weir_json *node, bool is_key)
{
    struct redacting *r = w->user;
    const struct guard_item *item = r->next < r->look->n_items ? &r->look->items[r->next] : NULL;
    if (!item || item->node != node || item->is_key != is_key) {
        put_as_is(w, node, is_key);
        return WEIR_OK;
    }
    r->next++;
    switch (item->kind) {
    case ITEM_TEXT: return put_text(r, item, w);
    case ITEM_NUMBER: return put_number(r, item, w);
    case ITEM_NESTED: return put_nested(r, item, w);
    case ITEM_BASE64: return put_base64(r, item, w);
    case ITEM_WORD:
    case ITEM_NAME: return put_fixed(r, item, w);
    case ITEM_BLIND: break;
    }
    put_as_is(w, node, is_key);
    return WEIR_OK;
}

/* One round; *n is 0 when nothing was replaced. */
static enum weir_status redact_once(struct guard *g, enum guard_form form,
                                    const struct weir_json *request, struct weir_buf *out,
                                    struct guard_report *report, size_t *n)
{
    struct look l;
    look_init(&l, g);
    struct redacting r = {.guard = g, .look = &l, .n_before = token_map_count(g->tokens)};
    struct guard_writer w = {out, put_item, &r};
    enum weir_status st = look_at(&l, form, request);
    if (st == WEIR_OK) st = guard_write(&w, request);
    if (st == WEIR_OK || st == WEIR_FORBIDDEN) report_all(report, &l);
    if (st == WEIR_FORBIDDEN)
        report_refused(report, &l, request, r.refused ? r.refused : refused_blind(&l));
    /* A text that only seemed to have tokens is another one now, too, and has to be looked at. */
    *n = l.n_spans + r.n_changed;
    look_fini(&l);
    return st;
}

/* A further round, over what the one before has written. */
static enum weir_status redact_again(struct guard *g, enum guard_form form, struct weir_buf *text,
                                     struct guard_report *report, size_t *n)
{
    struct weir_buf out;
    const struct weir_json *request;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&out, GUARD_BYTES);
    enum weir_status st = weir_json_parse(doc, weir_buf_slice(text), &request, NULL);
    if (st == WEIR_OK) st = redact_once(g, form, request, &out, report, n);
    if (st == WEIR_OK && *n > 0) {
        struct weir_buf old = *text;
        *text = out;
        out = old;
    }
    weir_json_doc_free(doc);
    weir_buf_fini(&out);
    return st;
}

static enum weir_status redact(struct guard *g, enum guard_form form,
                               const struct weir_json *request, struct weir_buf *out,
                               struct guard_report *report)
{
    struct weir_buf text;
    size_t n = 0, before = token_map_count(g->tokens);
    weir_buf_init(&text, GUARD_BYTES);
    enum weir_status st = redact_once(g, form, request, &text, report, &n);
    for (int round = 1; st == WEIR_OK && n > 0; round++)
        st = round < GUARD_ROUNDS ? redact_again(g, form, &text, report, &n) : WEIR_LIMIT;
    if (st == WEIR_OK) weir_buf_append_slice(out, weir_buf_slice(&text));
    if (st == WEIR_OK) st = weir_buf_status(out);
    g->n_changes += token_map_count(g->tokens) - before;
    weir_buf_fini(&text);
    return st;
}

enum weir_status guard_redact(struct guard *g, enum guard_form form,
                              const struct weir_json *request, struct weir_buf *out,
                              struct guard_report *report)
{
    return redact(g, form, request, out, report);
}

/* A text is JSON of one string; so it has the same rounds. */
static enum weir_status redact_string(struct guard *g, const struct weir_json *text,
                                      struct weir_json_doc *doc, struct weir_buf *out,
                                      struct guard_report *report)
{
    struct weir_buf json;
    const struct weir_json *redacted;
    weir_buf_init(&json, GUARD_BYTES);
    enum weir_status st = redact(g, GUARD_VALUE, text, &json, report);
    if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&json), &redacted, NULL);
    if (st == WEIR_OK) weir_buf_append_slice(out, weir_json_text(redacted));
    if (st == WEIR_OK) st = weir_buf_status(out);
    weir_buf_fini(&json);
    return st;
}

enum weir_status guard_redact_text(struct guard *g, struct weir_slice text, struct weir_buf *out,
                                   struct guard_report *report)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (!doc) return WEIR_NOMEM;
    const struct weir_json *string = weir_json_new_string(doc, text);
    enum weir_status st = string ? redact_string(g, string, doc, out, report) : WEIR_LIMIT;
    weir_json_doc_free(doc);
    return st;
}

/* ---- what comes from elsewhere ---- */

static enum weir_status escape_text(struct guard *g, struct weir_slice text, struct weir_buf *out)
{
    static const struct shield_findings none = {0};
    size_t before = token_map_count(g->tokens);
    enum weir_status st = shield_redact_since(g->tokens, text, &none, 0, out);
    g->n_changes += token_map_count(g->tokens) - before;
    return st;
}

static enum weir_status put_escaped(struct guard_writer *w, const struct weir_json *node,
                                    bool is_key)
{
    struct weir_buf text;
    struct weir_slice old = is_key ? weir_json_key(node) : weir_json_text(node);
    if (!is_key && weir_json_type_of(node) != WEIR_JSON_STRING) {
        put_as_is(w, node, is_key);
        return WEIR_OK;
    }
    weir_buf_init(&text, GUARD_BYTES);
    enum weir_status st = escape_text(w->user, old, &text);
    if (st == WEIR_OK && is_key) weir_json_put_key_slice(w->out, weir_buf_slice(&text));
    else if (st == WEIR_OK) weir_json_put_string(w->out, weir_buf_slice(&text));
    weir_buf_fini(&text);
    return st;
}

enum weir_status guard_redact_fresh(struct guard *g, enum guard_form form,
                                    const struct weir_json *request, struct weir_buf *out,
                                    struct guard_report *report)
{
    struct weir_buf json;
    struct guard_writer w = {&json, put_escaped, g};
    const struct weir_json *escaped;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&json, GUARD_BYTES);
    enum weir_status st = guard_write(&w, request);
    if (st == WEIR_OK) st = weir_buf_status(&json);
    if (st == WEIR_OK) st = weir_json_parse(doc, weir_buf_slice(&json), &escaped, NULL);
    if (st == WEIR_OK) st = redact(g, form, escaped, out, report);
    weir_buf_fini(&json);
    weir_json_doc_free(doc);
    return st;
}

enum weir_status guard_redact_fresh_text(struct guard *g, struct weir_slice text,
                                         struct weir_buf *out, struct guard_report *report)
{
    struct weir_buf escaped;
    weir_buf_init(&escaped, GUARD_BYTES);
    enum weir_status st = escape_text(g, text, &escaped);
    if (st == WEIR_OK) st = guard_redact_text(g, weir_buf_slice(&escaped), out, report);
    weir_buf_fini(&escaped);
    return st;
}

/* ---- restoring ---- */

struct restoring {
    const struct guard *guard;
    struct weir_json_doc *doc; /* of nested texts; NULL: none yet */
    enum restore_form form;
    unsigned n_nested;
    size_t n_restored;
};

static enum weir_status put_restored(struct guard_writer *w, const struct weir_json *node,
                                     bool is_key);

static enum weir_status restore_nested(struct restoring *r, const struct weir_json *value,
                                       struct weir_slice text, struct weir_buf *out)
{
    struct weir_buf json;
    struct guard_writer inside = {&json, put_restored, r};
    size_t before = r->n_restored;
    weir_buf_init(&json, GUARD_BYTES);
    r->n_nested++;
    enum weir_status st = guard_write(&inside, value);
    r->n_nested--;
    if (st == WEIR_OK)
        weir_buf_append_slice(out, r->n_restored > before ? weir_buf_slice(&json) : text);
    weir_buf_fini(&json);
    return st;
}

static enum weir_status restore_text(struct restoring *r, struct weir_slice text, bool is_key,
                                     struct weir_buf *out)
{
    struct restorer restorer;
    const struct weir_json *value = NULL;
    enum weir_status st = WEIR_OK;
    if (!is_key && r->n_nested < GUARD_NESTED) st = guard_nested(&r->doc, text, &value);
    if (st != WEIR_OK) return st;
    if (value) return restore_nested(r, value, text, out);
    restorer_init(&restorer, r->guard->tokens, r->form);
    restorer_feed(&restorer, text, out);
    restorer_end(&restorer, out);
    r->n_restored += restorer.n_restored;
    return weir_buf_status(out);
}

static enum weir_status put_restored(struct guard_writer *w, const struct weir_json *node,
                                     bool is_key)
{
    struct restoring *r = w->user;
    struct weir_buf text;
    struct weir_slice old = is_key ? weir_json_key(node) : weir_json_text(node);
    if (!is_key && weir_json_type_of(node) == WEIR_JSON_NUMBER) {
        weir_json_put_value(w->out, node);
        return WEIR_OK;
    }
    weir_buf_init(&text, GUARD_BYTES);
    enum weir_status st = restore_text(r, old, is_key, &text);
    if (st == WEIR_OK && is_key) weir_json_put_key_slice(w->out, weir_buf_slice(&text));
    else if (st == WEIR_OK) weir_json_put_string(w->out, weir_buf_slice(&text));
    weir_buf_fini(&text);
    return st;
}

/* Whether there can be a placeholder in a JSON text: most have none, and stay as they are. */
static bool has_token(const struct guard *g, struct weir_slice json)
{
    struct restorer r;
    struct weir_buf nothing;
    if (token_map_count(g->tokens) == 0) return false;
    if (memmem(json.ptr, json.len, "\\u00", 4)) return true;
    weir_buf_init(&nothing, 0);
    restorer_init(&r, g->tokens, RESTORE_TEXT);
    restorer_feed(&r, json, &nothing);
    weir_buf_fini(&nothing);
    return r.n_restored > 0;
}

static enum weir_status restore(const struct guard *g, enum restore_form form,
                                struct weir_slice json, struct weir_buf *out)
{
    struct restoring r = {.guard = g, .form = form};
    struct guard_writer w = {out, put_restored, &r};
    const struct weir_json *value;
    if (json.len == 0 || !has_token(g, json)) {
        weir_buf_append_slice(out, json);
        return weir_buf_status(out);
    }
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, json, &value, NULL);
    if (st == WEIR_OK) st = guard_write(&w, value);
    weir_json_doc_free(r.doc);
    weir_json_doc_free(doc);
    return st;
}

enum weir_status guard_restore(const struct guard *g, struct weir_slice json, struct weir_buf *out)
{
    return restore(g, RESTORE_TEXT, json, out);
}

enum weir_status guard_reveal(const struct guard *g, struct weir_slice json, struct weir_buf *out)
{
    return restore(g, RESTORE_PRIVATE, json, out);
}

/* ---- at rest ---- */

static void put_allowed(const struct guard *g, struct weir_buf *out)
{
    struct map_walk walk = map_walk_begin(&g->allowed);
    weir_json_put_begin_array(out);
    while (map_walk_next(&g->allowed, &walk)) weir_json_put_string(out, walk.key);
    weir_json_put_end_array(out);
}

static void put_map(const struct guard *g, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "tokens");
    token_map_write(g->tokens, out);
    weir_json_put_key(out, "allowed");
    put_allowed(g, out);
    weir_json_put_end_object(out);
}

enum weir_status guard_seal(const struct guard *g, const struct vault *vault,
                            struct weir_slice bound, struct weir_buf *out)
{
    struct weir_buf plain;
    weir_buf_init(&plain, MAP_BYTES);
    put_map(g, &plain);
    enum weir_status st = weir_buf_status(&plain);
    if (st == WEIR_OK) st = vault_seal(vault, bound, weir_buf_slice(&plain), out);
    buf_wipe(&plain);
    return st;
}

static enum weir_status read_map(struct guard *g, struct weir_slice text)
{
    const struct weir_json *map;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, text, &map, NULL);
    if (st == WEIR_OK) st = token_map_read(g->tokens, weir_json_get_str(map, "tokens"));
    const struct weir_json *v = NULL;
    if (st == WEIR_OK) v = weir_json_first(weir_json_get_str(map, "allowed"));
    for (; st == WEIR_OK && v; v = weir_json_next(v)) st = allow(g, weir_json_text(v));
    g->n_changes = 0;
    weir_json_doc_free(doc);
    return st == WEIR_OK || st == WEIR_NOMEM || st == WEIR_LIMIT ? st : WEIR_CORRUPT;
}

struct guard *guard_copy(const struct guard *g)
{
    struct weir_buf map;
    struct guard *copy = guard_new(g->policy);
    if (!copy) return NULL;
    copy->is_strict = g->is_strict;
    weir_buf_init(&map, MAP_BYTES);
    put_map(g, &map);
    enum weir_status st = weir_buf_status(&map);
    if (st == WEIR_OK) st = read_map(copy, weir_buf_slice(&map));
    buf_wipe(&map);
    if (st == WEIR_OK) return copy;
    guard_free(copy);
    return NULL;
}

enum weir_status guard_unseal(struct guard *g, const struct vault *vault, struct weir_slice bound,
                              struct weir_slice sealed)
{
    struct weir_buf plain;
    if (sealed.len == 0) return WEIR_OK;
    weir_buf_init(&plain, MAP_BYTES);
    enum weir_status st = vault_unseal(vault, bound, sealed, &plain);
    if (st == WEIR_OK) st = read_map(g, weir_buf_slice(&plain));
    buf_wipe(&plain);
    return st;
}
