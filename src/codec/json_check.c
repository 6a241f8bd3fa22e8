/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker: the grammar of json_read.c for a text that is all there, without a tree. Which
 * brackets are open is a bit for each.
 *
 * The functions take the place of their first byte and return that behind their last; at a
 * byte that cannot be right they set `status` and return its place. A text that ends too early
 * is found in one place, by the end being reached before the text is done.
 */
#include "codec/json_check.h"

#include "base/slice.h"
#include "base/utf8.h"
#include "codec/scan.h"

enum { BITS = 64 };

enum state { VALUE, FIRST_VALUE, FIRST_KEY, KEY, COLON, AFTER, DONE };

struct checker {
    const char *end;
    enum weir_status status;
    const char *expected; /* inside a token; NULL: the state tells */
    enum state state;
    unsigned depth;
    bool has_line_ends;
    const char *begin;   /* of the value */
    const char *element; /* where the element of the outermost array begins */
    struct weir_slice value;
    json_element_fn each;
    void *user;
    uint64_t is_object[WEIR_JSON_DEFAULT_DEPTH / BITS]; /* of each open bracket */
};

static const char *fail(struct checker *c, const char *p, const char *expected)
{
    c->status = p == c->end ? WEIR_JSON_TRUNCATED : WEIR_JSON_SYNTAX;
    c->expected = expected;
    return p;
}

static bool in_object(const struct checker *c)
{
    unsigned i = c->depth - 1;
    return (c->is_object[i / BITS] >> (i % BITS) & 1) != 0;
}

/* ---- values ---- */

static const char *value_ended(struct checker *c, const char *p)
{
    c->state = c->depth > 0 ? AFTER : DONE;
    if (c->depth == 0) c->value = slice_of(c->begin, (size_t)(p - c->begin));
    if (c->depth == 1 && c->element) {
        c->each(c->user, slice_of(c->element, (size_t)(p - c->element)));
        c->element = NULL;
    }
    return p;
}

static const char *open_bracket(struct checker *c, const char *p)
{
    bool is_object = *p == '{';
    if (c->depth == WEIR_JSON_DEFAULT_DEPTH) {
        c->status = WEIR_JSON_DEPTH;
        c->expected = "less nesting";
        return p;
    }
    uint64_t bit = (uint64_t)1 << (c->depth % BITS);
    uint64_t *word = &c->is_object[c->depth / BITS];
    *word = is_object ? *word | bit : *word & ~bit;
    c->depth++;
    c->state = is_object ? FIRST_KEY : FIRST_VALUE;
    return p + 1;
}

static const char *close_bracket(struct checker *c, const char *p)
{
    c->depth--;
    return value_ended(c, p + 1);
}

static const char *check_characters(struct checker *c, const char *p)
{
    static const char expected[] = "the rest of a UTF-8 character";
    size_t n;
    while (p < c->end && (unsigned char)*p >= 0x80) {
        enum utf8_verdict verdict = utf8_first(slice_of(p, (size_t)(c->end - p)), &n);
        if (verdict == UTF8_PARTIAL) return fail(c, c->end, expected);
        if (verdict == UTF8_BAD) {
            size_t first_n;
            bool is_lead = utf8_first(slice_of(p, 1), &first_n) == UTF8_PARTIAL;
            fail(c, p, expected);
            c->status = WEIR_JSON_UTF8;
            return is_lead ? p + n : p;
        }
        p += n;
    }
    return p;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* p is behind the backslash. */
static const char *check_escape(struct checker *c, const char *p)
{
    static const char escapes[] = {'"', '\\', '/', 'b', 'f', 'n', 'r', 't', 'u'};
    if (p == c->end || !memchr(escapes, *p, sizeof escapes)) return fail(c, p, "an escape");
    if (*p++ != 'u') return p;
    for (unsigned i = 0; i < 4; i++, p++)
        if (p == c->end || !is_hex(*p)) return fail(c, p, "four hexadecimal digits");
    return p;
}

/* p is at the opening quote. */
static const char *check_string(struct checker *c, const char *p)
{
    p++;
    while (c->status == WEIR_OK) {
        p = scan_plain_text(p, c->end);
        if (p == c->end) return fail(c, p, "a character of a string, or its end");
        if (*p == '"') return p + 1;
        if (*p == '\\') p = check_escape(c, p + 1);
        else if ((unsigned char)*p < 0x20) return fail(c, p, "a character of a string, or its end");
        else p = check_characters(c, p);
    }
    return p;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* At least one digit. */
static const char *check_digits(struct checker *c, const char *p)
{
    if (p == c->end || !is_digit(*p)) return fail(c, p, "a digit");
    while (p < c->end && is_digit(*p)) p++;
    return p;
}

static const char *check_number(struct checker *c, const char *p)
{
    if (*p == '-') p++;
    p = p < c->end && *p == '0' ? p + 1 : check_digits(c, p);
    if (c->status == WEIR_OK && p < c->end && *p == '.') p = check_digits(c, p + 1);
    if (c->status == WEIR_OK && p < c->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < c->end && (*p == '+' || *p == '-')) p++;
        p = check_digits(c, p);
    }
    return c->status == WEIR_OK ? value_ended(c, p) : p;
}

static const char *check_literal(struct checker *c, const char *p, const char *word)
{
    for (; *word != 0; word++, p++)
        if (p == c->end || *p != *word) return fail(c, p, "the rest of true, false or null");
    return value_ended(c, p);
}

/* ---- structure ---- */

static const char *check_value(struct checker *c, const char *p)
{
    if (c->depth == 0) c->begin = p;
    else if (c->depth == 1 && c->each && !in_object(c)) c->element = p;
    switch (*p) {
    case '"': p = check_string(c, p); return c->status == WEIR_OK ? value_ended(c, p) : p;
    case '{':
    case '[': return open_bracket(c, p);
    case 't': return check_literal(c, p, "true");
    case 'f': return check_literal(c, p, "false");
    case 'n': return check_literal(c, p, "null");
    default: break;
    }
    if (*p == '-' || is_digit(*p)) return check_number(c, p);
    return fail(c, p, NULL);
}

/* Goes on to the value when it follows at once, as it mostly does. */
static const char *check_key(struct checker *c, const char *p)
{
    if (*p != '"') return fail(c, p, NULL);
    p = check_string(c, p);
    if (c->status != WEIR_OK) return p;
    c->state = COLON;
    if (p == c->end || *p != ':') return p;
    c->state = VALUE;
    return p + 1;
}

static const char *check_after(struct checker *c, const char *p)
{
    bool is_object = in_object(c);
    if (*p == (is_object ? '}' : ']')) return close_bracket(c, p);
    if (*p != ',') return fail(c, p, NULL);
    c->state = is_object ? KEY : VALUE;
    return p + 1;
}

static const char *check_token(struct checker *c, const char *p)
{
    switch (c->state) {
    case FIRST_VALUE: return *p == ']' ? close_bracket(c, p) : check_value(c, p);
    case VALUE: return check_value(c, p);
    case FIRST_KEY: return *p == '}' ? close_bracket(c, p) : check_key(c, p);
    case KEY: return check_key(c, p);
    case AFTER: return check_after(c, p);
    case COLON:
        if (*p != ':') return fail(c, p, NULL);
        c->state = VALUE;
        return p + 1;
    case DONE: break;
    }
    return fail(c, p, NULL);
}

static const char *expected_in(const struct checker *c)
{
    switch (c->state) {
    case VALUE: return "a value";
    case FIRST_VALUE: return "a value or ]";
    case FIRST_KEY: return "a key or }";
    case KEY: return "a key";
    case COLON: return "a colon";
    case AFTER: return in_object(c) ? "a comma or }" : "a comma or ]";
    case DONE: return "the end of the text";
    }
    return "";
}

static const char *skip_space(struct checker *c, const char *p)
{
    for (; p < c->end && *p <= ' '; p++) {
        if (*p == '\n' || *p == '\r') c->has_line_ends = true;
        else if (*p != ' ' && *p != '\t') break;
    }
    return p;
}

static enum weir_json_type type_of(struct weir_slice value)
{
    switch (value.len > 0 ? value.ptr[0] : 0) {
    case '"': return WEIR_JSON_STRING;
    case '{': return WEIR_JSON_OBJECT;
    case '[': return WEIR_JSON_ARRAY;
    case 't': return WEIR_JSON_TRUE;
    case 'f': return WEIR_JSON_FALSE;
    case 'n': return WEIR_JSON_NULL;
    default: return WEIR_JSON_NUMBER;
    }
}

enum weir_status json_check(struct weir_slice text, json_element_fn each, void *user,
                            struct json_found *out)
{
    struct checker c = {.each = each, .user = user, .status = WEIR_OK, .state = VALUE};
    const char *start = text.len > 0 ? text.ptr : "";
    const char *p = start;
    c.end = start + text.len;
    while (c.status == WEIR_OK) {
        p = skip_space(&c, p);
        if (p == c.end) break;
        p = check_token(&c, p);
    }
    if (c.status == WEIR_OK && c.state != DONE) c.status = WEIR_JSON_TRUNCATED;
    *out = (struct json_found){
        .value = c.value,
        .type = type_of(c.value),
        .has_line_ends = c.has_line_ends,
        .offset = (size_t)(p - start),
        .expected = c.expected ? c.expected : expected_in(&c),
    };
    return c.status;
}
