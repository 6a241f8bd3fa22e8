/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is private in the items of a look. Each text is scanned
 *
 *   alone,
 *   with the names of the members it stands in before it, for they may say what it is,
 *   as its reader decodes it (guard_view.c), layer by layer,
 *   and with its neighbours, for a value may be cut by the end of a block.
 *
 * What any of them finds is a span; those that touch the same bytes become one, so that nothing of
 * either is left. Placeholders that the map knows, and values that were allowed, are none.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "shield/guard_impl.h"
#include "shield/scan_impl.h"

enum { MAX_LAYERS = 3, NAME_BYTES = 64, PREFIX_BYTES = 4 * NAME_BYTES + 8 };

static const struct weir_slice nothing;

/* ---- spans ---- */

/* Whether [start, end) lies inside of a placeholder that the map knows. */
static bool is_in_token(const struct token_map *tokens, struct weir_slice text, size_t start,
                        size_t end)
{
    struct weir_slice value;
    size_t least = start > 2 * TOKEN_MAX_BYTES ? start - 2 * TOKEN_MAX_BYTES : 0;
    size_t open = start + 1;
    do {
        if (open == least) return false;
        open--;
    } while (open >= text.len || text.ptr[open] != '[');
    size_t most = text.len - open < 2 * TOKEN_MAX_BYTES ? text.len - open : 2 * TOKEN_MAX_BYTES;
    const char *close = memchr(text.ptr + open, ']', most);
    if (!close) return false;
    size_t at = (size_t)(close - text.ptr);
    return end <= at + 1 &&
           token_map_value(tokens, slice_of(text.ptr + open + 1, at - open - 1), &value);
}

static bool counts(const struct look *l, const struct guard_item *item,
                   const struct shield_finding *f)
{
    if (f->start >= f->end) return false;
    if (item->kind == ITEM_WORD && f->category == SHIELD_CUSTOM) return false;
    return !is_in_token(l->guard->tokens, item->text, f->start, f->end);
}

static enum weir_status add_span(struct look *l, size_t at, const struct shield_finding *finding,
                                 struct weir_slice whole)
{
    const struct guard_item *item = &l->items[at];
    struct shield_finding f = *finding;
    /* No character is cut: a map is stored as text. */
    while (f.start > 0 && ((unsigned char)item->text.ptr[f.start] & 0xC0) == 0x80) f.start--;
    while (f.end < item->text.len && ((unsigned char)item->text.ptr[f.end] & 0xC0) == 0x80) f.end++;
    if (!counts(l, item, &f)) return WEIR_OK;
    if (l->n_spans == SHIELD_MAX_FINDINGS) return WEIR_LIMIT;
    if (l->n_spans == l->cap_spans) {
        size_t cap = l->cap_spans ? 2 * l->cap_spans : 64;
        struct guard_span *spans = mem_realloc(l->spans, cap * sizeof *spans);
        if (!spans) return WEIR_NOMEM;
        l->spans = spans;
        l->cap_spans = cap;
    }
    l->spans[l->n_spans++] = (struct guard_span){at, f, whole};
    return WEIR_OK;
}

/* Adds what a scan of `text` found, whose byte `skip` is the item's first. */
static enum weir_status add_found(struct look *l, size_t at, struct weir_slice text, size_t skip)
{
    struct shield_findings found;
    size_t len = l->items[at].text.len;
    enum weir_status st = shield_scan(shield_policy_rules(l->guard->policy), text, &found);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; st == WEIR_OK && i < found.n; i++) {
        struct shield_finding f = found.items[i];
        if (f.is_public || f.end <= skip) continue;
        f.start = f.start > skip ? f.start - skip : 0;
        f.end = f.end - skip < len ? f.end - skip : len;
        struct weir_slice value = slice_of(l->items[at].text.ptr + f.start, f.end - f.start);
        if (!guard_is_allowed(l->guard, value)) st = add_span(l, at, &f, nothing);
    }
    shield_findings_fini(&found);
    return st;
}

/* ---- names ---- */

/* A name as words: "dateOfBirth" and "date_of_birth" are "date of birth". */
static void put_words(struct weir_buf *out, struct weir_slice name)
{
    for (size_t i = 0; i < name.len && i < NAME_BYTES; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        bool is_hump = i > 0 && (shield_bytes[c] & BYTE_UPPER) &&
                       (shield_bytes[(unsigned char)name.ptr[i - 1]] & BYTE_LOWER);
        if (is_hump) weir_buf_append_char(out, ' ');
        weir_buf_append_char(out, c == '_' || c == '-' || c == '.' ? ' ' : (char)c);
    }
    weir_buf_append_char(out, ' ');
}

/* A value between quotes: what would end it before its end is something else here. */
static void put_quoted(struct weir_buf *out, struct weir_slice value)
{
    weir_buf_append_char(out, '"');
    for (size_t i = 0; i < value.len; i++)
        weir_buf_append_char(out, strchr("\"\\\n", value.ptr[i]) ? '~' : value.ptr[i]);
    weir_buf_append_char(out, '"');
}

static enum weir_status scan_with_names(struct look *l, size_t at)
{
    const struct guard_item *item = &l->items[at];
    struct weir_buf text;
    struct weir_slice name = item->name, value = item->text;
    if (name.len == 0 || item->is_key) return WEIR_OK;
    if (name.len > NAME_BYTES) name.len = NAME_BYTES;
    if (value.len > GUARD_CONTEXT_BYTES) value.len = GUARD_CONTEXT_BYTES;
    weir_buf_init(&text, PREFIX_BYTES + GUARD_CONTEXT_BYTES);
    if (item->parent.len > 0) put_words(&text, item->parent);
    put_words(&text, name);
    weir_buf_append_slice(&text, name);
    weir_buf_append_str(&text, ": ");
    size_t skip = text.len + (item->kind != ITEM_NUMBER);
    if (item->kind == ITEM_NUMBER) weir_buf_append_slice(&text, value);
    else put_quoted(&text, value);
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) st = add_found(l, at, weir_buf_slice(&text), skip);
    weir_buf_fini(&text);
    return st;
}

/* ---- layers ---- */

/* Of the view of a view: where in the first text it comes from. */
static void follow(struct guard_view *v, const struct guard_view *below)
{
    for (size_t i = 0; i <= v->text.len; i++) v->from[i] = below->from[v->from[i]];
}

static enum weir_status add_of_view(struct look *l, size_t at, const struct guard_view *v)
{
    struct shield_findings found;
    struct weir_slice text = weir_buf_slice(&v->text);
    enum weir_status st = shield_scan(shield_policy_rules(l->guard->policy), text, &found);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; st == WEIR_OK && i < found.n; i++) {
        struct shield_finding f = found.items[i];
        struct weir_slice value = slice_of(text.ptr + f.start, f.end - f.start);
        if (f.is_public || guard_is_allowed(l->guard, value)) continue;
        f.start = v->from[f.start];
        f.end = v->from[f.end];
        st = add_span(l, at, &f, nothing);
    }
    shield_findings_fini(&found);
    return st;
}

static enum weir_status scan_layers(struct look *l, size_t at)
{
    struct guard_view views[MAX_LAYERS];
    struct weir_slice text = l->items[at].text;
    unsigned n = 0;
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && n < MAX_LAYERS && guard_view_is_needed(text)) {
        st = guard_view_make(&views[n], text);
        if (st == WEIR_OK && n > 0) follow(&views[n], &views[n - 1]);
        if (st == WEIR_OK) st = add_of_view(l, at, &views[n]);
        text = weir_buf_slice(&views[n].text);
        n++;
    }
    while (n > 0) guard_view_fini(&views[--n]);
    return st;
}

static enum weir_status scan_item(struct look *l, size_t at)
{
    const struct guard_item *item = &l->items[at];
    if (item->kind == ITEM_NESTED || item->kind == ITEM_BLIND || item->text.len == 0)
        return WEIR_OK;
    enum weir_status st = add_found(l, at, item->text, 0);
    if (st == WEIR_OK) st = scan_with_names(l, at);
    if (st == WEIR_OK && item->kind != ITEM_NUMBER) st = scan_layers(l, at);
    return st;
}

/* ---- neighbours ---- */

/* A piece of the joined text: bytes of an item, from a place on. */
struct piece {
    size_t item, from;
    size_t start, end; /* in the joined text */
};

struct joined {
    struct weir_buf text;
    struct piece *pieces;
    size_t n;
    const char *between;
};

static void add_piece(struct joined *j, struct weir_slice text, size_t item, size_t from)
{
    size_t start = j->text.len;
    weir_buf_append_slice(&j->text, text);
    j->pieces[j->n++] = (struct piece){item, from, start, j->text.len};
}

/* Of a long text only its ends can be part of what a neighbour has begun. */
static void add_text(struct joined *j, const struct look *l, size_t item)
{
    struct weir_slice text = l->items[item].text;
    if (j->n > 0) weir_buf_append_str(&j->text, j->between);
    if (text.len <= 2 * GUARD_WINDOW_BYTES) {
        add_piece(j, text, item, 0);
        return;
    }
    size_t tail = text.len - GUARD_WINDOW_BYTES;
    add_piece(j, slice_of(text.ptr, GUARD_WINDOW_BYTES), item, 0);
    weir_buf_append_str(&j->text, "\n\n");
    add_piece(j, slice_from(text, tail), item, tail);
}

/* The first piece that ends behind a place. */
static size_t piece_at(const struct joined *j, size_t place)
{
    size_t low = 0, high = j->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (j->pieces[mid].end <= place) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* All of a finding that no text has as a whole; nothing: one has. */
static enum weir_status keep_whole(struct look *l, const struct joined *j,
                                   const struct shield_finding *found, struct weir_slice *whole)
{
    size_t len = found->end - found->start, first = piece_at(j, found->start);
    *whole = nothing;
    if (first < j->n && found->end <= j->pieces[first].end) return WEIR_OK;
    char *copy = arena_alloc(&l->arena, len);
    if (!copy) return l->arena.status;
    memcpy(copy, j->text.ptr + found->start, len);
    *whole = slice_of(copy, len);
    return WEIR_OK;
}

/* A finding over several texts is a span in each of them. */
static enum weir_status add_pieces(struct look *l, const struct joined *j,
                                   const struct shield_finding *found)
{
    struct weir_slice whole;
    enum weir_status st = keep_whole(l, j, found, &whole);
    for (size_t i = piece_at(j, found->start); st == WEIR_OK && i < j->n; i++) {
        const struct piece *p = &j->pieces[i];
        struct shield_finding f = *found;
        if (f.start >= p->end || f.end <= p->start) break;
        f.start = (f.start > p->start ? f.start - p->start : 0) + p->from;
        f.end = (f.end < p->end ? f.end : p->end) - p->start + p->from;
        st = add_span(l, p->item, &f, whole);
    }
    return st;
}

static enum weir_status scan_joined(struct look *l, const struct joined *j)
{
    struct shield_findings found;
    struct weir_slice text = weir_buf_slice(&j->text);
    enum weir_status st = weir_buf_status(&j->text);
    if (st == WEIR_OK) st = shield_scan(shield_policy_rules(l->guard->policy), text, &found);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; st == WEIR_OK && i < found.n; i++) {
        const struct shield_finding *f = &found.items[i];
        struct weir_slice value = slice_of(text.ptr + f->start, f->end - f->start);
        if (!f->is_public && !guard_is_allowed(l->guard, value)) st = add_pieces(l, j, f);
    }
    shield_findings_fini(&found);
    return st;
}

/* Texts of a group, joined in one way. */
static enum weir_status scan_together(struct look *l, const size_t *list, size_t n,
                                      const char *between)
{
    struct joined j = {.between = between};
    weir_buf_init(&j.text, GUARD_BYTES);
    j.pieces = mem_alloc(2 * n * sizeof *j.pieces);
    enum weir_status st = j.pieces ? WEIR_OK : WEIR_NOMEM;
    for (size_t i = 0; st == WEIR_OK && i < n; i++) add_text(&j, l, list[i]);
    if (st == WEIR_OK) st = scan_joined(l, &j);
    mem_free(j.pieces);
    weir_buf_fini(&j.text);
    return st;
}

/* All of them as one, and in pairs: each may join what another way of joining hides. */
static enum weir_status scan_group(struct look *l, const size_t *list, size_t n)
{
    enum weir_status st = scan_together(l, list, n, "");
    if (st == WEIR_OK) st = scan_together(l, list, n, " ");
    for (size_t i = 0; st == WEIR_OK && n > 2 && i + 1 < n; i++)
        st = scan_together(l, list + i, 2, "");
    return st;
}

static int by_group(const void *a, const void *b, void *user)
{
    const struct look *l = user;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    uint32_t gx = l->items[x].group, gy = l->items[y].group;
    if (gx != gy) return gx < gy ? -1 : 1;
    return x < y ? -1 : x > y;
}

static enum weir_status scan_groups(struct look *l)
{
    size_t n = 0;
    enum weir_status st = WEIR_OK;
    size_t *list = mem_alloc((l->n_items + 1) * sizeof *list);
    if (!list) return WEIR_NOMEM;
    for (size_t i = 0; i < l->n_items; i++)
        if (l->items[i].group > 0 && l->items[i].kind == ITEM_TEXT) list[n++] = i;
    /* A message that begins another's group again may stand behind others. */
    qsort_r(list, n, sizeof *list, by_group, l);
    for (size_t from = 0, to; st == WEIR_OK && from < n; from = to) {
        for (to = from + 1; to < n && l->items[list[to]].group == l->items[list[from]].group;) to++;
        if (to - from > 1) st = scan_group(l, list + from, to - from);
    }
    mem_free(list);
    return st;
}

/* ---- order ---- */

static int by_place(const void *a, const void *b)
{
    const struct guard_span *x = a, *y = b;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    if (x->at.start != y->at.start) return x->at.start < y->at.start ? -1 : 1;
    return x->at.end == y->at.end ? 0 : x->at.end > y->at.end ? -1 : 1;
}

/* Two that overlap become one that covers both; the longer one says what it is. */
static void merge(struct guard_span *into, const struct guard_span *more)
{
    size_t start = into->at.start, end = into->at.end;
    if (more->at.end - more->at.start > end - start) into->at = more->at;
    if (into->whole.len == 0) into->whole = more->whole;
    into->at.start = start;
    into->at.end = more->at.end > end ? more->at.end : end;
}

static void settle(struct look *l)
{
    size_t kept = 0;
    if (l->n_spans > 1) qsort(l->spans, l->n_spans, sizeof *l->spans, by_place);
    for (size_t i = 0; i < l->n_spans; i++) {
        struct guard_span *last = kept > 0 ? &l->spans[kept - 1] : NULL;
        bool overlaps =
            last && last->item == l->spans[i].item && l->spans[i].at.start < last->at.end;
        if (overlaps) merge(last, &l->spans[i]);
        else l->spans[kept++] = l->spans[i];
    }
    l->n_spans = kept;
    for (size_t i = 0; i < kept; i++) {
        struct guard_item *item = &l->items[l->spans[i].item];
        if (item->n_spans++ == 0) item->first_span = i;
    }
}

enum weir_status guard_scan(struct look *l)
{
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; st == WEIR_OK && i < l->n_items; i++) st = scan_item(l, i);
    if (st == WEIR_OK) st = scan_groups(l);
    if (st == WEIR_OK) settle(l);
    return st;
}
