/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map of a conversation's placeholders.
 *
 * Entries are found by their value ("name NUL value") and by their normal form ("email_1"). A name
 * counts its tokens, so that a prefix of one is known without a walk over all.
 */
#include "shield/token_map.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/slice.h"
#include "shield/scan_impl.h"

enum { NAMES_MAX = 256, NUMBER_MAX_DIGITS = 7 };

static const char literal_name[] = "text"; /* of what only looks like a token */

struct token_name {
    char text[SHIELD_LABEL_BYTES + 1];
    uint32_t last; /* the highest number given */
};

struct token_entry {
    struct token_entry *next;
    char token[TOKEN_MAX_BYTES + 1];
    size_t token_len;
    size_t ordinal; /* how many there were before it */
    size_t name_len;
    size_t value_len;
    char key[]; /* name, NUL, value */
};

struct token_map {
    struct map by_key, by_form;
    struct token_entry *first, **last; /* in the order they were given */
    struct token_name names[NAMES_MAX];
    size_t n_names, n, value_bytes;
};

struct token_map *token_map_new(void)
{
    struct token_map *t = mem_zalloc(sizeof *t);
    if (!t) return NULL;
    map_init_borrowing(&t->by_key, TOKENS_MAX);
    map_init(&t->by_form, TOKENS_MAX);
    t->last = &t->first;
    return t;
}

void token_map_free(struct token_map *t)
{
    if (!t) return;
    map_fini(&t->by_key);
    map_fini(&t->by_form);
    while (t->first) {
        struct token_entry *e = t->first;
        t->first = e->next;
        explicit_bzero(e->key, e->name_len + 1 + e->value_len);
        mem_free(e);
    }
    mem_free(t);
}

size_t token_map_count(const struct token_map *t)
{
    return t->n;
}

/* The place of a name; n_names: it has no token yet. */
static size_t name_index(const struct token_map *t, const char *name, size_t len)
{
    size_t i = 0;
    while (i < t->n_names &&
           (strlen(t->names[i].text) != len || memcmp(t->names[i].text, name, len) != 0))
        i++;
    return i;
}

/* NULL: there are too many names. */
static struct token_name *name_get(struct token_map *t, const char *name, size_t len)
{
    size_t i = name_index(t, name, len);
    if (i == NAMES_MAX || len > SHIELD_LABEL_BYTES) return NULL;
    if (i == t->n_names) {
        memcpy(t->names[i].text, name, len);
        t->names[i].text[len] = 0;
        t->names[i].last = 0;
        t->n_names++;
    }
    return &t->names[i];
}

enum weir_status token_map_expect(struct token_map *t, const char *name)
{
    return name_get(t, name, strlen(name)) ? WEIR_OK : WEIR_LIMIT;
}

static bool is_markup(unsigned char c)
{
    return c == '\\' || c == '*' || c == '`';
}

/* "email1", "email_01" and "email_1_" are "email_1". */
static size_t mend_number(char form[TOKEN_MAX_BYTES], size_t n)
{
    if (n > 0 && form[n - 1] == '_') n--;
    size_t at = n;
    while (at > 0 && form[at - 1] >= '0' && form[at - 1] <= '9') at--;
    if (at == 0 || at == n || n == TOKEN_MAX_BYTES) return n;
    if (form[at - 1] != '_') {
        memmove(form + at + 1, form + at, n - at);
        form[at++] = '_';
        n++;
    }
    while (n - at > 1 && form[at] == '0') memmove(form + at, form + at + 1, --n - at);
    return n;
}

/*
 * The normal form of the inside of a token: lower case, one underscore for any run of spaces,
 * hyphens and underscores, none at the ends, without what Markdown and JSON add. SIZE_MAX: a byte
 * that no token has, or too long. An underscore at the end is kept when `is_open`.
 */
static size_t normalise(struct weir_slice inside, bool is_open, char out[TOKEN_MAX_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; i < inside.len; i++) {
        unsigned char c = (unsigned char)inside.ptr[i];
        if (is_markup(c)) continue;
        bool is_gap = c == ' ' || c == '_' || c == '-';
        if (!is_gap && !(shield_bytes[c] & BYTE_ALNUM)) return SIZE_MAX;
        if (is_gap && (n == 0 || out[n - 1] == '_')) continue;
        if (n == TOKEN_MAX_BYTES) return SIZE_MAX;
        out[n++] = is_gap ? '_' : (char)lower_of(c);
    }
    return is_open ? n : mend_number(out, n);
}

/* Where the number of a normal form begins; 0: it has none. */
static size_t number_start(const char *form, size_t len)
{
    size_t at = len;
    while (at > 0 && form[at - 1] >= '0' && form[at - 1] <= '9') at--;
    bool has_number = at > 1 && at < len && form[at - 1] == '_' && form[at] != '0';
    return has_number && len - at <= NUMBER_MAX_DIGITS ? at : 0;
}

static uint32_t number_of(const char *digits, size_t len)
{
    uint32_t v = 0;
    for (size_t i = 0; i < len; i++) v = v * 10 + (uint32_t)(digits[i] - '0');
    return v;
}

static struct token_entry *entry_new(struct weir_slice name, struct weir_slice value)
{
    struct token_entry *e = mem_alloc(sizeof *e + name.len + 1 + value.len);
    if (!e) return NULL;
    e->next = NULL;
    e->name_len = name.len;
    e->value_len = value.len;
    memcpy(e->key, name.ptr, name.len);
    e->key[name.len] = 0;
    if (value.len > 0) memcpy(e->key + name.len + 1, value.ptr, value.len);
    return e;
}

static struct weir_slice entry_key(const struct token_entry *e)
{
    return slice_of(e->key, e->name_len + 1 + e->value_len);
}

/* Puts an entry into the map under a number that is free. */
static enum weir_status add(struct token_map *t, struct token_entry *e, uint32_t number)
{
    struct token_name *name = name_get(t, e->key, e->name_len);
    if (!name || t->n == TOKENS_MAX || t->value_bytes + e->value_len > TOKENS_VALUE_BYTES)
        return WEIR_LIMIT;
    int len = snprintf(e->token, sizeof e->token, "[%s_%u]", name->text, number);
    e->token_len = (size_t)len;
    struct weir_slice form = slice_of(e->token + 1, e->token_len - 2);
    enum weir_status st = map_put(&t->by_form, form, e);
    if (st != WEIR_OK) return st;
    st = map_put(&t->by_key, entry_key(e), e);
    if (st != WEIR_OK) {
        map_take(&t->by_form, form);
        return st;
    }
    if (number > name->last) name->last = number;
    e->ordinal = t->n;
    *t->last = e;
    t->last = &e->next;
    t->n++;
    t->value_bytes += e->value_len;
    return WEIR_OK;
}

enum weir_status token_map_give(struct token_map *t, const char *name, struct weir_slice value,
                                struct weir_slice *token)
{
    struct token_entry *e = entry_new(weir_slice_of(name), value);
    if (!e) return WEIR_NOMEM;
    struct token_entry *old = map_get(&t->by_key, entry_key(e));
    if (old) {
        mem_free(e);
        *token = slice_of(old->token, old->token_len);
        return WEIR_OK;
    }
    size_t i = name_index(t, name, strlen(name));
    enum weir_status st = add(t, e, i < t->n_names ? t->names[i].last + 1 : 1);
    if (st != WEIR_OK) mem_free(e);
    else *token = slice_of(e->token, e->token_len);
    return st;
}

static const struct token_entry *find(const struct token_map *t, struct weir_slice inside)
{
    char form[TOKEN_MAX_BYTES];
    size_t len = normalise(inside, false, form);
    return len == SIZE_MAX || len == 0 ? NULL : map_get(&t->by_form, slice_of(form, len));
}

bool token_map_is_literal(const struct token_map *t, struct weir_slice inside)
{
    const struct token_entry *e = find(t, inside);
    return e && weir_slice_is(slice_of(e->key, e->name_len), literal_name);
}

size_t token_cut(struct weir_slice text, size_t most)
{
    size_t end = most;
    if (text.len <= most) return text.len;
    for (size_t i = 1; i < TOKEN_MAX_BYTES && i < end && text.ptr[end - i] != ']'; i++)
        if (text.ptr[end - i] == '[') return end - i;
    while (end > 0 && ((unsigned char)text.ptr[end] & 0xC0) == 0x80) end--;
    return end;
}

bool token_map_value(const struct token_map *t, struct weir_slice inside, struct weir_slice *value)
{
    const struct token_entry *e = find(t, inside);
    if (!e) return false;
    *value = slice_of(e->key + e->name_len + 1, e->value_len);
    return true;
}

/* Whether a normal form, perhaps not whole, leads to a token of this name. */
static bool leads_to(const char *form, size_t len, const struct token_name *name)
{
    size_t name_len = strlen(name->text);
    if (name->last == 0) return false;
    if (len <= name_len) return memcmp(form, name->text, len) == 0;
    if (memcmp(form, name->text, name_len) != 0) return false;
    size_t at = name_len + (form[name_len] == '_');
    for (size_t i = at; i < len; i++)
        if (form[i] < '0' || form[i] > '9') return false;
    while (at < len && form[at] == '0') at++;
    return len - at <= NUMBER_MAX_DIGITS && number_of(form + at, len - at) <= name->last;
}

bool token_map_may_begin(const struct token_map *t, struct weir_slice inside)
{
    char form[TOKEN_MAX_BYTES];
    size_t len = normalise(inside, true, form);
    if (len == SIZE_MAX) return false;
    /* A gap after the whole number is drift; so is one that may come before it. */
    size_t shorter = len > 0 && form[len - 1] == '_' ? len - 1 : len;
    for (size_t i = 0; i < t->n_names; i++)
        if (leads_to(form, len, &t->names[i]) || leads_to(form, shorter, &t->names[i])) return true;
    return false;
}

void token_map_write(const struct token_map *t, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    for (const struct token_entry *e = t->first; e; e = e->next) {
        weir_json_put_key_slice(out, slice_of(e->token, e->token_len));
        weir_json_put_string(out, slice_of(e->key + e->name_len + 1, e->value_len));
    }
    weir_json_put_end_object(out);
}

static enum weir_status read_member(struct token_map *t, const struct weir_json *member)
{
    struct weir_slice token = weir_json_key(member);
    char form[TOKEN_MAX_BYTES];
    if (weir_json_type_of(member) != WEIR_JSON_STRING || token.len < 5) return WEIR_INVALID;
    if (token.ptr[0] != '[' || token.ptr[token.len - 1] != ']') return WEIR_INVALID;
    size_t len = normalise(slice_of(token.ptr + 1, token.len - 2), false, form);
    size_t at = len == SIZE_MAX ? 0 : number_start(form, len);
    if (at == 0 || len != token.len - 2 || memcmp(form, token.ptr + 1, len) != 0)
        return WEIR_INVALID;
    struct token_entry *e = entry_new(slice_of(form, at - 1), weir_json_text(member));
    if (!e) return WEIR_NOMEM;
    bool is_new = !map_get(&t->by_key, entry_key(e)) && !map_get(&t->by_form, slice_of(form, len));
    enum weir_status st = is_new ? add(t, e, number_of(form + at, len - at)) : WEIR_INVALID;
    if (st != WEIR_OK) mem_free(e);
    return st;
}

enum weir_status token_map_read(struct token_map *t, const struct weir_json *json)
{
    if (weir_json_type_of(json) != WEIR_JSON_OBJECT) return WEIR_INVALID;
    for (const struct weir_json *m = weir_json_first(json); m; m = weir_json_next(m)) {
        enum weir_status st = read_member(t, m);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* Whether a normal form is a token of a kind that there is, given or not. */
static bool is_token_like(const struct token_map *t, const char *form, size_t len)
{
    size_t at = number_start(form, len);
    if (at == 0) return false;
    if (name_index(t, form, at - 1) < t->n_names) return true;
    for (int i = 0; i < SHIELD_N_CATEGORIES; i++)
        if (weir_slice_is(slice_of(form, at - 1), shield_category_name((enum shield_category)i)))
            return true;
    return weir_slice_is(slice_of(form, at - 1), literal_name);
}

/* What stands at a bracket: the token that the map has, or bytes that only look like one. */
struct bracketed {
    const struct token_entry *entry; /* NULL: none */
    size_t len;                      /* with the brackets; 0: it is nothing of the kind */
};

static struct bracketed bracketed_at(const struct token_map *t, struct weir_slice text, size_t at)
{
    char form[TOKEN_MAX_BYTES];
    struct bracketed none = {NULL, 0};
    size_t most = text.len - at < 2 * TOKEN_MAX_BYTES ? text.len - at : 2 * TOKEN_MAX_BYTES;
    const char *end = memchr(text.ptr + at, ']', most);
    if (!end) return none;
    struct weir_slice inside = slice_of(text.ptr + at + 1, (size_t)(end - text.ptr) - at - 1);
    size_t len = normalise(inside, false, form);
    if (len == SIZE_MAX || !is_token_like(t, form, len)) return none;
    return (struct bracketed){map_get(&t->by_form, slice_of(form, len)), inside.len + 2};
}

/*
 * The length of a literal at a bracket that looks like a token; 0: none. One that was in the map
 * before this text, `n_before` entries ago, is no literal but a token already.
 */
static size_t literal_at(const struct token_map *t, struct weir_slice text, size_t at,
                         size_t n_before)
{
    struct bracketed b = bracketed_at(t, text, at);
    return b.entry && b.entry->ordinal < n_before ? 0 : b.len;
}

/* A text on its way out. */
struct redaction {
    struct token_map *map;
    struct weir_slice text;
    struct weir_buf *out;
    size_t n_before;
};

/* Writes [at, end), which no finding touches, with its literals replaced. */
static enum weir_status write_between(struct redaction *r, size_t at, size_t end)
{
    const char *text = r->text.ptr;
    while (at < end) {
        const char *open = memchr(text + at, '[', end - at);
        size_t place = open ? (size_t)(open - text) : end;
        weir_buf_append(r->out, text + at, place - at);
        if (!open) break;
        size_t len = literal_at(r->map, slice_of(text, end), place, r->n_before);
        struct weir_slice token = slice_of(text + place, 1);
        if (len > 0) {
            enum weir_status st =
                token_map_give(r->map, literal_name, slice_of(text + place, len), &token);
            if (st != WEIR_OK) return st;
        }
        weir_buf_append_slice(r->out, token);
        at = place + (len > 0 ? len : 1);
    }
    return WEIR_OK;
}

/* Writes a value with the tokens in it as what they stand for. */
static void expand(const struct redaction *r, struct weir_slice value, struct weir_buf *out)
{
    for (size_t at = 0; at < value.len;) {
        struct bracketed b = {NULL, 0};
        if (value.ptr[at] == '[') b = bracketed_at(r->map, value, at);
        bool is_token = b.entry && b.entry->ordinal < r->n_before;
        if (is_token)
            weir_buf_append(out, b.entry->key + b.entry->name_len + 1, b.entry->value_len);
        else weir_buf_append_char(out, value.ptr[at]);
        at += is_token ? b.len : 1;
    }
}

static enum weir_status write_token(struct redaction *r, const struct shield_finding *f)
{
    struct weir_slice token;
    struct weir_buf expanded;
    enum shield_category category = (enum shield_category)f->category;
    const char *name = category == SHIELD_CUSTOM ? f->label : shield_category_name(category);
    struct weir_slice value = slice_of(r->text.ptr + f->start, f->end - f->start);
    weir_buf_init(&expanded, TOKENS_VALUE_BYTES);
    if (r->n_before > 0 && memchr(value.ptr, '[', value.len)) {
        expand(r, value, &expanded);
        value = weir_buf_slice(&expanded);
    }
    enum weir_status st = weir_buf_status(&expanded);
    if (st == WEIR_OK) st = token_map_give(r->map, name, value, &token);
    if (st == WEIR_OK) weir_buf_append_slice(r->out, token);
    weir_buf_fini(&expanded);
    return st;
}

enum weir_status shield_redact_since(struct token_map *t, struct weir_slice text,
                                     const struct shield_findings *findings, size_t n_before,
                                     struct weir_buf *out)
{
    struct redaction r = {t, text, out, n_before};
    size_t at = 0;
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; st == WEIR_OK && i < findings->n; i++) {
        const struct shield_finding *f = &findings->items[i];
        if (f->is_public) continue;
        st = write_between(&r, at, f->start);
        if (st == WEIR_OK) st = write_token(&r, f);
        at = f->end;
    }
    if (st == WEIR_OK) st = write_between(&r, at, text.len);
    return st != WEIR_OK ? st : weir_buf_status(out);
}

enum weir_status shield_redact(struct token_map *t, struct weir_slice text,
                               const struct shield_findings *findings, struct weir_buf *out,
                               size_t *n)
{
    size_t n_replaced = 0;
    for (size_t i = 0; i < findings->n; i++) n_replaced += !findings->items[i].is_public;
    if (n) *n = n_replaced;
    return shield_redact_since(t, text, findings, t->n, out);
}
