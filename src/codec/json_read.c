/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON reader: one resumable tokenizer for strict and incremental reading.
 *
 * The reader is a state and a few words of memory for the token it is in. Each
 * state has one function that takes bytes from the piece and returns how far it
 * came; the piece may end anywhere. A strict read is one piece and an end.
 *
 *   state         waits for                       goes to
 *   VALUE         a value                         that value's state
 *   FIRST_VALUE   a value or ]                    same, or up one level
 *   FIRST_KEY     a key or }                      KEY text, or up one level
 *   KEY           a key                           STRING with in_key
 *   COLON         :                               VALUE
 *   AFTER         , or the container's end        KEY or VALUE, or up one level
 *   DONE          white space only                -
 *   STRING        characters or the quote         ESCAPE, CHARACTER; COLON or AFTER
 *   CHARACTER     the rest of a UTF-8 character   STRING
 *   ESCAPE        what follows a backslash        HEX or STRING
 *   HEX           four hexadecimal digits         STRING
 *   LITERAL       the rest of true, false, null   AFTER
 *   NUMBER        what may continue a number      AFTER
 *
 * What is shown grows only: a node joins the tree when its value is begun (a
 * string, array or object) or whole (a number or literal); characters join a
 * string when they are whole. A high surrogate escape is held in `high` until
 * the next character shows whether its other half follows.
 *
 * An error's offset is the length of the longest prefix that some JSON text
 * begins with, so it does not depend on how the text was cut.
 */
#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_impl.h"
#include "codec/scan.h"

enum state {
    VALUE,
    FIRST_VALUE,
    FIRST_KEY,
    KEY,
    COLON,
    AFTER,
    DONE,
    STRING,
    CHARACTER,
    ESCAPE,
    HEX,
    LITERAL,
    NUMBER,
};

/* Where a number stands. It may end in the states marked with a star. */
enum number_state {
    NUM_MINUS,  /* after the sign */
    NUM_ZERO,   /* * a leading 0 */
    NUM_INT,    /* * in the integer digits */
    NUM_DOT,    /* after the point */
    NUM_FRAC,   /* * in the fraction */
    NUM_E,      /* after e or E */
    NUM_E_SIGN, /* after its sign */
    NUM_EXP,    /* * in the exponent */
};

struct weir_json_reader {
    struct weir_json_doc *doc;
    struct weir_json *root;
    struct weir_json *container; /* innermost open array or object; NULL at the top */
    struct weir_json *string;    /* string value being read */
    struct arena_text text;      /* key or number being read */
    struct weir_slice key;       /* key that waits for its value */
    size_t offset;
    enum weir_status status;
    enum state state;
    unsigned depth;
    unsigned max_depth;
    bool in_key;
    uint8_t number; /* enum number_state */
    uint8_t n_hex;  /* digits of a \u escape read so far */
    uint8_t n_held; /* bytes of a UTF-8 character read so far */
    char held[UTF8_MAX_BYTES];
    uint32_t unit;    /* the \u escape being read */
    uint32_t high;    /* a high surrogate that waits for its low half; 0: none */
    const char *rest; /* of the literal being read */
};

static void reader_init(struct weir_json_reader *r, struct weir_json_doc *doc, unsigned max_depth)
{
    *r = (struct weir_json_reader){
        .doc = doc,
        .max_depth = max_depth > 0 ? max_depth : WEIR_JSON_DEFAULT_DEPTH,
    };
}

struct weir_json_reader *weir_json_reader_new(struct weir_json_doc *doc, unsigned max_depth)
{
    struct weir_json_reader *r = mem_alloc(sizeof *r);
    if (r) reader_init(r, doc, max_depth);
    return r;
}

void weir_json_reader_free(struct weir_json_reader *r)
{
    mem_free(r);
}

void weir_json_reader_reset(struct weir_json_reader *r)
{
    reader_init(r, r->doc, r->max_depth);
}

const struct weir_json *weir_json_reader_value(const struct weir_json_reader *r)
{
    return r->root;
}

struct weir_json *weir_json_reader_root(struct weir_json_reader *r)
{
    return r->root;
}

size_t weir_json_reader_offset(const struct weir_json_reader *r)
{
    return r->offset;
}

const char *weir_json_reader_expected(const struct weir_json_reader *r)
{
    bool in_object = r->container && r->container->type == WEIR_JSON_OBJECT;
    switch (r->state) {
    case VALUE: return "a value";
    case FIRST_VALUE: return "a value or ]";
    case FIRST_KEY: return "a key or }";
    case KEY: return "a key";
    case COLON: return "a colon";
    case AFTER: return in_object ? "a comma or }" : "a comma or ]";
    case DONE: return "the end of the text";
    case STRING: return "a character of a string, or its end";
    case CHARACTER: return "the rest of a UTF-8 character";
    case ESCAPE: return "an escape";
    case HEX: return "four hexadecimal digits";
    case LITERAL: return "the rest of true, false or null";
    case NUMBER: return "the rest of a number, or what may follow it";
    }
    return "";
}

/* The byte at p cannot be there. */
static const char *fail(struct weir_json_reader *r, const char *p, enum weir_status st)
{
    r->status = st;
    return p;
}

/* ---- the tree ---- */

/* A member for the key that waits: a new one, or the one that had the key before. */
static struct weir_json *member_for_key(struct weir_json_reader *r, enum weir_json_type type)
{
    struct weir_json *object = r->container;
    uint64_t bit = json_sieve_bit(r->key);
    bool is_surely_new = object->n_members < JSON_INDEX_FROM && (object->seen & bit) == 0;
    struct weir_json *node = is_surely_new ? NULL : json_find_member(object, r->key);
    if (node) {
        json_node_clear(node, type);
        return node;
    }
    node = json_node_new(r->doc, type);
    if (!node) return NULL;
    node->key = r->key.ptr;
    node->key_len = (uint32_t)r->key.len;
    if (!is_surely_new) return json_add_member(r->doc, object, node) == WEIR_OK ? node : NULL;
    object->seen |= bit;
    json_append_member(object, node);
    return node;
}

/* Puts an empty value of this type into the tree. NULL: status is set. */
static struct weir_json *show(struct weir_json_reader *r, enum weir_json_type type)
{
    struct weir_json *node;
    if (r->container && r->container->type == WEIR_JSON_OBJECT) {
        node = member_for_key(r, type);
    } else {
        node = json_node_new(r->doc, type);
        if (node && r->container) json_append_member(r->container, node);
        else if (node) r->root = node;
    }
    if (!node) r->status = r->doc->arena.status;
    return node;
}

static void value_ended(struct weir_json_reader *r)
{
    r->state = r->depth > 0 ? AFTER : DONE;
}

static const char *open_container(struct weir_json_reader *r, const char *p,
                                  enum weir_json_type type)
{
    if (r->depth == r->max_depth) return fail(r, p, WEIR_JSON_DEPTH);
    struct weir_json *node = show(r, type);
    if (!node) return p;
    r->container = node;
    r->depth++;
    r->state = type == WEIR_JSON_OBJECT ? FIRST_KEY : FIRST_VALUE;
    return p + 1;
}

static void close_container(struct weir_json_reader *r)
{
    struct weir_json *closed = r->container;
    closed->is_whole = true;
    /* The root may hang in another tree by now, so its parent is not ours to follow. */
    r->container = --r->depth > 0 ? closed->parent : NULL;
    value_ended(r);
}

/* ---- strings ---- */

static struct arena_text *string_target(struct weir_json_reader *r)
{
    return r->in_key ? &r->text : &r->string->text;
}

static bool append(struct weir_json_reader *r, const char *bytes, size_t len)
{
    r->status = arena_text_append(&r->doc->arena, string_target(r), bytes, len);
    return r->status == WEIR_OK;
}

static bool append_code_point(struct weir_json_reader *r, uint32_t c)
{
    char bytes[UTF8_MAX_BYTES];
    return append(r, bytes, utf8_encode(bytes, c));
}

/* What follows is not the other half: the high surrogate stands alone. */
static bool release_high(struct weir_json_reader *r)
{
    uint32_t high = r->high;
    r->high = 0;
    return high == 0 || append_code_point(r, high);
}

static const char *end_string(struct weir_json_reader *r, const char *p)
{
    if (r->in_key) {
        r->key = slice_of(r->text.len > 0 ? r->text.ptr : "", r->text.len);
        r->state = COLON;
    } else {
        r->string->is_whole = true;
        value_ended(r);
    }
    return p + 1;
}

/* A run of characters beyond ASCII; the piece may end inside the last. */
static const char *read_characters(struct weir_json_reader *r, const char *p, const char *end)
{
    const char *start = p;
    enum utf8_verdict verdict = UTF8_WHOLE;
    size_t n = 0;
    while (p < end && (unsigned char)*p >= 0x80) {
        verdict = utf8_first(slice_of(p, (size_t)(end - p)), &n);
        if (verdict != UTF8_WHOLE) break;
        p += n;
    }
    if (p > start && !append(r, start, (size_t)(p - start))) return start;
    if (verdict == UTF8_PARTIAL) {
        memcpy(r->held, p, n);
        r->n_held = (uint8_t)n;
        r->state = CHARACTER;
        return end;
    }
    if (verdict == UTF8_BAD) {
        size_t first_n;
        bool is_lead = utf8_first(slice_of(p, 1), &first_n) == UTF8_PARTIAL;
        return fail(r, is_lead ? p + n : p, WEIR_JSON_UTF8);
    }
    return p;
}

static const char *read_held_character(struct weir_json_reader *r, const char *p)
{
    size_t n;
    r->held[r->n_held++] = *p;
    switch (utf8_first(slice_of(r->held, r->n_held), &n)) {
    case UTF8_PARTIAL: return p + 1;
    case UTF8_BAD: return fail(r, p, WEIR_JSON_UTF8);
    case UTF8_WHOLE: break;
    }
    r->state = STRING;
    return append(r, r->held, r->n_held) ? p + 1 : p;
}

static const char *read_string(struct weir_json_reader *r, const char *p, const char *end)
{
    if (r->high != 0 && *p != '\\' && !release_high(r)) return p;
    while (p < end) {
        const char *q = scan_plain_text(p, end);
        if (q > p && !append(r, p, (size_t)(q - p))) return p;
        if (q == end) return q;
        if (*q == '"') return end_string(r, q);
        if (*q == '\\') {
            r->state = ESCAPE;
            return q + 1;
        }
        if ((unsigned char)*q < 0x20) return fail(r, q, WEIR_JSON_SYNTAX);
        p = read_characters(r, q, end);
        if (r->status != WEIR_OK || r->state != STRING) return p;
    }
    return p;
}

static const char *read_escape(struct weir_json_reader *r, const char *p)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    if (*p == 'u') {
        r->unit = 0;
        r->n_hex = 0;
        r->state = HEX;
        return p + 1;
    }
    const char *found = memchr(from, *p, sizeof from - 1);
    if (!found) return fail(r, p, WEIR_JSON_SYNTAX);
    r->state = STRING;
    return release_high(r) && append(r, &to[found - from], 1) ? p + 1 : p;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* A \u escape is whole: join it to a waiting half, or wait, or show it. */
static bool take_unit(struct weir_json_reader *r)
{
    uint32_t c = r->unit;
    if (r->high != 0 && utf16_is_low(c)) {
        c = utf16_join(r->high, c);
        r->high = 0;
        return append_code_point(r, c);
    }
    if (!release_high(r)) return false;
    if (utf16_is_high(c)) {
        r->high = c;
        return true;
    }
    return append_code_point(r, c);
}

static const char *read_hex(struct weir_json_reader *r, const char *p, const char *end)
{
    for (; p < end; p++) {
        int digit = hex_digit(*p);
        if (digit < 0) return fail(r, p, WEIR_JSON_SYNTAX);
        r->unit = r->unit << 4 | (uint32_t)digit;
        if (++r->n_hex < 4) continue;
        r->state = STRING;
        return take_unit(r) ? p + 1 : p;
    }
    return p;
}

static const char *begin_string(struct weir_json_reader *r, const char *p, const char *end)
{
    r->in_key = false;
    r->string = show(r, WEIR_JSON_STRING);
    r->state = STRING;
    if (!r->string) return p;
    return p + 1 < end ? read_string(r, p + 1, end) : p + 1;
}

static const char *begin_value(struct weir_json_reader *r, const char *p, const char *end);

/* Goes on through the colon into the value when they follow at once, as they mostly do. */
static const char *begin_key(struct weir_json_reader *r, const char *p, const char *end)
{
    if (*p != '"') return fail(r, p, WEIR_JSON_SYNTAX);
    r->in_key = true;
    r->text = (struct arena_text){0};
    r->state = STRING;
    p = p + 1 < end ? read_string(r, p + 1, end) : p + 1;
    if (r->state != COLON || p == end || *p != ':') return p;
    r->state = VALUE;
    p++;
    return (p < end) && (*p > ' ') ? begin_value(r, p, end) : p;
}

/* ---- numbers and literals ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The state after one more byte, or -1 when the byte is not part of the number. */
static int next_number_state(enum number_state s, char c)
{
    switch (s) {
    case NUM_MINUS: return c == '0' ? NUM_ZERO : is_digit(c) ? NUM_INT : -1;
    case NUM_INT:
        if (is_digit(c)) return NUM_INT;
        /* fall through */
    case NUM_ZERO: return c == '.' ? NUM_DOT : c == 'e' || c == 'E' ? NUM_E : -1;
    case NUM_DOT: return is_digit(c) ? NUM_FRAC : -1;
    case NUM_FRAC: return is_digit(c) ? NUM_FRAC : c == 'e' || c == 'E' ? NUM_E : -1;
    case NUM_E: return c == '+' || c == '-' ? NUM_E_SIGN : is_digit(c) ? NUM_EXP : -1;
    case NUM_E_SIGN:
    case NUM_EXP: return is_digit(c) ? NUM_EXP : -1;
    }
    return -1;
}

static bool number_may_end(enum number_state s)
{
    return s == NUM_ZERO || s == NUM_INT || s == NUM_FRAC || s == NUM_EXP;
}

static bool keep_number_text(struct weir_json_reader *r, const char *bytes, size_t len)
{
    r->status = arena_text_append(&r->doc->arena, &r->text, bytes, len);
    return r->status == WEIR_OK;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Only a byte that may follow a value shows that a number is whole. */
static bool may_follow_value(const struct weir_json_reader *r, char c)
{
    if (is_space(c)) return true;
    if (r->depth == 0) return false;
    return c == ',' || c == (r->container->type == WEIR_JSON_OBJECT ? '}' : ']');
}

static bool end_number(struct weir_json_reader *r)
{
    struct weir_json *node = show(r, WEIR_JSON_NUMBER);
    if (!node) return false;
    node->text = r->text;
    node->is_whole = true;
    value_ended(r);
    return true;
}

static const char *read_number(struct weir_json_reader *r, const char *p, const char *end)
{
    const char *start = p;
    int next = 0;
    for (; p < end; p++) {
        next = next_number_state((enum number_state)r->number, *p);
        if (next < 0) break;
        r->number = (uint8_t)next;
    }
    if (p > start && !keep_number_text(r, start, (size_t)(p - start))) return start;
    if (p == end) return p;
    if (!number_may_end((enum number_state)r->number) || !may_follow_value(r, *p))
        return fail(r, p, WEIR_JSON_SYNTAX);
    return end_number(r) ? p : start;
}

static const char *begin_number(struct weir_json_reader *r, const char *p, const char *end)
{
    r->text = (struct arena_text){0};
    r->number = *p == '-' ? NUM_MINUS : *p == '0' ? NUM_ZERO : NUM_INT;
    r->state = NUMBER;
    if (!keep_number_text(r, p, 1)) return p;
    return p + 1 < end ? read_number(r, p + 1, end) : p + 1;
}

static const char *read_literal(struct weir_json_reader *r, const char *p, const char *end)
{
    while (p < end && *r->rest != 0) {
        if (*p != *r->rest) return fail(r, p, WEIR_JSON_SYNTAX);
        p++;
        r->rest++;
    }
    if (*r->rest != 0) return p;
    struct weir_json *node = show(r, (enum weir_json_type)r->number);
    if (!node) return p - 1;
    node->is_whole = true;
    value_ended(r);
    return p;
}

static const char *begin_literal(struct weir_json_reader *r, const char *p, const char *rest,
                                 enum weir_json_type type)
{
    r->rest = rest;
    r->number = (uint8_t)type;
    r->state = LITERAL;
    return p + 1;
}

/* ---- structure ---- */

static const char *begin_value(struct weir_json_reader *r, const char *p, const char *end)
{
    switch (*p) {
    case '"': return begin_string(r, p, end);
    case '{': return open_container(r, p, WEIR_JSON_OBJECT);
    case '[': return open_container(r, p, WEIR_JSON_ARRAY);
    case 't': return begin_literal(r, p, "rue", WEIR_JSON_TRUE);
    case 'f': return begin_literal(r, p, "alse", WEIR_JSON_FALSE);
    case 'n': return begin_literal(r, p, "ull", WEIR_JSON_NULL);
    default: break;
    }
    if (*p == '-' || is_digit(*p)) return begin_number(r, p, end);
    return fail(r, p, WEIR_JSON_SYNTAX);
}

static const char *after_value(struct weir_json_reader *r, const char *p, const char *end)
{
    bool in_object = r->container->type == WEIR_JSON_OBJECT;
    if (*p == ',') {
        r->state = in_object ? KEY : VALUE;
        p++;
        return in_object && p < end && *p == '"' ? begin_key(r, p, end) : p;
    }
    if (*p != (in_object ? '}' : ']')) return fail(r, p, WEIR_JSON_SYNTAX);
    close_container(r);
    return p + 1;
}

/* One byte of structure, and whatever token begins with it. */
static const char *read_structure(struct weir_json_reader *r, const char *p, const char *end)
{
    while (is_space(*p))
        if (++p == end) return p;
    switch (r->state) {
    case FIRST_VALUE:
        if (*p != ']') return begin_value(r, p, end);
        close_container(r);
        return p + 1;
    case FIRST_KEY:
        if (*p != '}') return begin_key(r, p, end);
        close_container(r);
        return p + 1;
    case KEY: return begin_key(r, p, end);
    case COLON:
        if (*p != ':') return fail(r, p, WEIR_JSON_SYNTAX);
        r->state = VALUE;
        return p + 1;
    case AFTER: return after_value(r, p, end);
    case VALUE: return begin_value(r, p, end);
    default: return fail(r, p, WEIR_JSON_SYNTAX); /* DONE: nothing may follow */
    }
}

enum weir_status weir_json_reader_feed(struct weir_json_reader *r, const void *bytes, size_t len)
{
    const char *start = bytes;
    const char *p = start;
    if (r->status != WEIR_OK || len == 0) return r->status;
    const char *end = start + len;
    while (p < end && r->status == WEIR_OK) {
        switch (r->state) {
        case STRING: p = read_string(r, p, end); break;
        case CHARACTER: p = read_held_character(r, p); break;
        case ESCAPE: p = read_escape(r, p); break;
        case HEX: p = read_hex(r, p, end); break;
        case LITERAL: p = read_literal(r, p, end); break;
        case NUMBER: p = read_number(r, p, end); break;
        default: p = read_structure(r, p, end); break;
        }
    }
    r->offset += (size_t)(p - start);
    return r->status;
}

enum weir_status weir_json_reader_end(struct weir_json_reader *r)
{
    if (r->status != WEIR_OK) return r->status;
    /* Inside a container, a number at the end is cut off with the container. */
    if (r->state == NUMBER && r->depth == 0 && number_may_end((enum number_state)r->number) &&
        !end_number(r))
        return r->status;
    if (r->state != DONE) r->status = WEIR_JSON_TRUNCATED;
    return r->status;
}

void weir_json_reader_cut(struct weir_json_reader *r)
{
    bool in_string = r->state == STRING || r->state == ESCAPE || r->state == HEX;
    if (r->status != WEIR_OK || r->state == DONE) return;
    if (in_string && !r->in_key && !release_high(r)) return;
    r->status = WEIR_JSON_TRUNCATED;
}

enum weir_status weir_json_parse(struct weir_json_doc *doc, struct weir_slice text,
                                 const struct weir_json **value, size_t *offset)
{
    struct weir_json_reader r;
    reader_init(&r, doc, 0);
    enum weir_status st = weir_json_reader_feed(&r, text.ptr, text.len);
    if (st == WEIR_OK) st = weir_json_reader_end(&r);
    *value = st == WEIR_OK ? r.root : NULL;
    if (offset) *offset = r.offset;
    return st;
}
