/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON by recursive descent over a text that is all there. One parser serves
 * both questions of json_slow.h: it hangs every value into the tree at the
 * moment that value may be shown, so when it stops, wherever that is, the tree
 * is the answer to the second question and where it stopped to the first.
 */
#include "oracle/json_slow.h"

#include <stdlib.h>
#include <string.h>

#include <weir/json.h>

struct node {
    char kind;       /* 'a' array, 'o' object, 's' string, 'x' number or literal */
    struct text key; /* decoded */
    struct text own; /* a string decoded, or the source text of an 'x' */
    struct node *first;
    struct node *next;
};

struct parser {
    const char *ptr;
    size_t len;
    size_t pos;
    unsigned depth_left;
    enum json_slow_mode mode;
    enum weir_status st;
    bool has_repeats;
    struct node *root;
};

static bool parse_value(struct parser *p, struct node *parent, const struct text *key);

/* ---- the tree ---- */

static void free_children(struct node *n)
{
    while (n->first) {
        struct node *child = n->first;
        n->first = child->next;
        free_children(child);
        text_fini(&child->key);
        text_fini(&child->own);
        free(child);
    }
}

/* Gives the place of a value with this key: that of the first such key, or a new one. */
static struct node *attach(struct parser *p, struct node *parent, const struct text *key, char kind)
{
    struct node **link = parent ? &parent->first : &p->root;
    while (*link && !(parent->kind == 'o' && text_eq(&(*link)->key, key))) link = &(*link)->next;
    p->has_repeats = p->has_repeats || *link;
    if (!*link) {
        *link = calloc(1, sizeof **link);
        if (!*link) abort();
        if (key) text_add(&(*link)->key, key->ptr, key->len);
    }
    struct node *n = *link;
    free_children(n);
    n->own.len = 0;
    n->kind = kind;
    return n;
}

static void put_string(struct text *out, struct weir_slice s)
{
    text_add_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        bool is_surrogate = c == 0xed && (unsigned char)s.ptr[i + 1] >= 0xa0;
        if (is_surrogate) {
            unsigned low = (unsigned char)s.ptr[i + 2] & 0x3fu;
            text_printf(out, "\\ud%03x", ((unsigned char)s.ptr[i + 1] & 0x3fu) << 6 | low);
            i += 2;
        } else if (c < 0x20 || c == '"' || c == '\\') {
            text_printf(out, "\\u%04x", c);
        } else {
            text_add_char(out, (char)c);
        }
    }
    text_add_char(out, '"');
}

static void put_node(struct text *out, const struct node *n)
{
    if (n->kind == 'x') text_add(out, n->own.ptr, n->own.len);
    if (n->kind == 's') put_string(out, text_slice(&n->own));
    if (n->kind == 'x' || n->kind == 's') return;
    text_add_char(out, n->kind == 'a' ? '[' : '{');
    for (const struct node *child = n->first; child; child = child->next) {
        if (child != n->first) text_add_char(out, ',');
        if (n->kind == 'o') {
            put_string(out, text_slice(&child->key));
            text_add_char(out, ':');
        }
        put_node(out, child);
    }
    text_add_char(out, n->kind == 'a' ? ']' : '}');
}

/* ---- the text ---- */

static bool fail(struct parser *p, enum weir_status st)
{
    p->st = p->pos == p->len ? WEIR_JSON_TRUNCATED : st;
    return false;
}

static int peek(const struct parser *p)
{
    return p->pos < p->len ? (unsigned char)p->ptr[p->pos] : -1;
}

static void skip_space(struct parser *p)
{
    while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\n' || peek(p) == '\r') p->pos++;
}

static bool expect(struct parser *p, int c)
{
    if (peek(p) != c) return fail(p, WEIR_JSON_SYNTAX);
    p->pos++;
    return true;
}

static int hex_value(int c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* After a backslash. */
static bool parse_escape(struct parser *p, unsigned long *cp)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    const char *name = peek(p) > 0 ? strchr(names, peek(p)) : NULL;
    if (name) {
        *cp = (unsigned char)values[name - names];
        p->pos++;
        return true;
    }
    if (!expect(p, 'u')) return false;
    *cp = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(peek(p));
        if (digit < 0) return fail(p, WEIR_JSON_SYNTAX);
        *cp = *cp << 4 | (unsigned)digit;
        p->pos++;
    }
    return true;
}

/* One character that is not ASCII, by the table of well-formed sequences in RFC 3629. */
static bool parse_utf8(struct parser *p, unsigned long *cp)
{
    int lead = peek(p);
    int low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    int high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    int n_more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (lead < 0xc2 || lead > 0xf4) return fail(p, WEIR_JSON_UTF8);
    *cp = (unsigned long)(lead & (0x3f >> n_more));
    for (int i = 0; i < n_more; i++) {
        p->pos++;
        if (peek(p) < low || peek(p) > high) return fail(p, WEIR_JSON_UTF8);
        *cp = *cp << 6 | ((unsigned long)peek(p) & 0x3f);
        low = 0x80;
        high = 0xbf;
    }
    p->pos++;
    return true;
}

static bool parse_character(struct parser *p, unsigned long *cp)
{
    int c = peek(p);
    if (c < 0x20) return fail(p, WEIR_JSON_SYNTAX);
    if (c >= 0x80) return parse_utf8(p, cp);
    p->pos++;
    if (c == '\\') return parse_escape(p, cp);
    *cp = (unsigned long)c;
    return true;
}

/*
 * After the opening quote. A high surrogate waits in `held` until it is certain
 * whether a low one follows: anything but a backslash says at once that none does.
 */
static bool parse_string(struct parser *p, struct text *out)
{
    unsigned long held = 0;
    while (peek(p) != '"') {
        unsigned long cp;
        if (held && peek(p) >= 0x20 && peek(p) != '\\') {
            text_add_code_point(out, held);
            held = 0;
        }
        if (!parse_character(p, &cp)) {
            if (held && p->mode == JSON_SLOW_CUT) text_add_code_point(out, held);
            return false;
        }
        if (held && cp >= 0xdc00 && cp <= 0xdfff) {
            cp = 0x10000 + ((held - 0xd800) << 10) + (cp - 0xdc00);
        } else if (held) {
            text_add_code_point(out, held);
        }
        held = cp >= 0xd800 && cp <= 0xdbff ? cp : 0;
        if (!held) text_add_code_point(out, cp);
    }
    if (held) text_add_code_point(out, held);
    p->pos++;
    return true;
}

static bool parse_digits(struct parser *p)
{
    if (peek(p) < '0' || peek(p) > '9') return fail(p, WEIR_JSON_SYNTAX);
    while (peek(p) >= '0' && peek(p) <= '9') p->pos++;
    return true;
}

static bool parse_number(struct parser *p)
{
    if (peek(p) == '-') p->pos++;
    if (peek(p) == '0') p->pos++;
    else if (!parse_digits(p)) return false;
    if (peek(p) == '.') {
        p->pos++;
        if (!parse_digits(p)) return false;
    }
    if (peek(p) == 'e' || peek(p) == 'E') {
        p->pos++;
        if (peek(p) == '+' || peek(p) == '-') p->pos++;
        if (!parse_digits(p)) return false;
    }
    return p->pos < p->len || p->mode == JSON_SLOW_WHOLE || fail(p, WEIR_JSON_SYNTAX);
}

static bool parse_literal(struct parser *p)
{
    const char *word = peek(p) == 't' ? "true" : peek(p) == 'f' ? "false" : "null";
    for (; *word; word++)
        if (!expect(p, *word)) return false;
    return true;
}

static bool parse_member(struct parser *p, struct node *parent)
{
    struct text key = {0};
    if (parent->kind == 'a') return parse_value(p, parent, NULL);
    bool is_ok = expect(p, '"') && parse_string(p, &key);
    if (is_ok) skip_space(p);
    is_ok = is_ok && expect(p, ':') && parse_value(p, parent, &key);
    text_fini(&key);
    return is_ok;
}

/* After the opening bracket. */
static bool parse_members(struct parser *p, struct node *n)
{
    int close = n->kind == 'a' ? ']' : '}';
    skip_space(p);
    if (peek(p) == close) return expect(p, close);
    for (;;) {
        if (!parse_member(p, n)) return false;
        skip_space(p);
        if (peek(p) == close) return expect(p, close);
        if (!expect(p, ',')) return false;
        skip_space(p);
    }
}

static bool parse_value(struct parser *p, struct node *parent, const struct text *key)
{
    skip_space(p);
    size_t start = p->pos;
    int c = peek(p);
    if (c == '[' || c == '{') {
        if (p->depth_left == 0) return fail(p, WEIR_JSON_DEPTH);
        p->depth_left--;
        p->pos++;
        bool is_ok = parse_members(p, attach(p, parent, key, c == '[' ? 'a' : 'o'));
        p->depth_left++;
        return is_ok;
    }
    if (c == '"') {
        p->pos++;
        return parse_string(p, &attach(p, parent, key, 's')->own);
    }
    bool is_ok = c == '-' || (c >= '0' && c <= '9') ? parse_number(p) : parse_literal(p);
    if (is_ok) text_add(&attach(p, parent, key, 'x')->own, p->ptr + start, p->pos - start);
    return is_ok;
}

static void parse(struct parser *p, struct weir_slice text, unsigned max_depth,
                  enum json_slow_mode mode)
{
    *p = (struct parser){.ptr = text.ptr, .len = text.len, .mode = mode, .st = WEIR_OK};
    p->depth_left = max_depth ? max_depth : WEIR_JSON_DEFAULT_DEPTH;
    if (!parse_value(p, NULL, NULL)) return;
    skip_space(p);
    if (p->pos < p->len) p->st = WEIR_JSON_SYNTAX;
}

static void parser_fini(struct parser *p)
{
    struct node top = {.first = p->root};
    free_children(&top);
}

enum weir_status json_slow_check(struct weir_slice text, unsigned max_depth, size_t *offset)
{
    struct parser p;
    parse(&p, text, max_depth, JSON_SLOW_WHOLE);
    parser_fini(&p);
    *offset = p.pos;
    return p.st;
}

bool json_slow_show(struct text *out, struct weir_slice text, unsigned max_depth,
                    enum json_slow_mode mode)
{
    struct parser p;
    size_t offset;
    enum weir_status st = json_slow_check(text, max_depth, &offset);
    if (st != WEIR_OK) text.len = offset;
    parse(&p, text, max_depth, st == WEIR_OK || mode != JSON_SLOW_WHOLE ? mode : JSON_SLOW_OPEN);
    if (p.root) put_node(out, p.root);
    parser_fini(&p);
    return p.root != NULL;
}

bool json_slow_has_repeats(struct weir_slice text, unsigned max_depth)
{
    struct parser p;
    parse(&p, text, max_depth, JSON_SLOW_OPEN);
    parser_fini(&p);
    return p.has_repeats;
}
