/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a pattern to its program, by recursive descent; how deep is bounded by REGEX_MAX_DEPTH.
 *
 *   either  := run ('|' run)*
 *   run     := (atom repeat?)*
 *   atom    := literal | class | '.' | '(' either ')' | '^' | '$' | '\b' | '\B'
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "shield/regex_impl.h"

enum { MAX_SETS = REGEX_PATTERN_BYTES * 4 };

struct parser {
    const char *at, *begin, *end;
    struct regex *re;
    unsigned depth;
    bool is_nocase;
    char *error; /* empty as long as all is well */
};

static void fail(struct parser *p, const char *what)
{
    if (!*p->error)
        snprintf(p->error, REGEX_ERROR_BYTES, "%s, at byte %zu", what, (size_t)(p->at - p->begin));
}

static bool is_over(const struct parser *p)
{
    return *p->error || p->at == p->end;
}

static void emit(struct parser *p, enum regex_op op, size_t a, size_t b)
{
    struct regex *re = p->re;
    if (re->n == REGEX_MAX_STEPS) {
        fail(p, "the pattern is too large");
        return;
    }
    re->steps[re->n++] = (struct regex_step){(uint8_t)op, (int16_t)a, (int16_t)b};
}

/* Makes room for one step at a place; what follows moves, and its jumps with it. */
static void insert(struct parser *p, size_t at, enum regex_op op, size_t a, size_t b)
{
    struct regex *re = p->re;
    emit(p, op, a, b);
    if (*p->error) return;
    struct regex_step step = re->steps[re->n - 1];
    memmove(&re->steps[at + 1], &re->steps[at], (re->n - 1 - at) * sizeof step);
    re->steps[at] = step;
}

static void set_add(struct regex_set *s, unsigned char from, unsigned char to)
{
    for (unsigned c = from; c <= to; c++) s->bits[c / 64] |= UINT64_C(1) << (c % 64);
}

static void emit_set(struct parser *p, struct regex_set s)
{
    struct regex *re = p->re;
    if (p->is_nocase) {
        for (unsigned char c = 'a'; c <= 'z'; c++) {
            unsigned char upper = (unsigned char)(c - 32);
            if (regex_set_has(&s, c)) set_add(&s, upper, upper);
            if (regex_set_has(&s, upper)) set_add(&s, c, c);
        }
    }
    if (re->n_sets == MAX_SETS) {
        fail(p, "the pattern is too large");
        return;
    }
    re->sets[re->n_sets] = s;
    emit(p, REGEX_BYTE, re->n_sets++, 0);
}

static void emit_range(struct parser *p, unsigned char from, unsigned char to)
{
    struct regex_set s = {{0}};
    set_add(&s, from, to);
    emit_set(p, s);
}

/* One character: of the set, or, when it may be beyond ASCII, any of two to four bytes. */
static void emit_character(struct parser *p, struct regex_set ascii, bool is_wide)
{
    if (!is_wide) {
        emit_set(p, ascii);
        return;
    }
    emit(p, REGEX_SPLIT, 1, 3);
    emit_set(p, ascii);
    emit(p, REGEX_JUMP, 12, 0);
    emit(p, REGEX_SPLIT, 1, 4);
    emit_range(p, 0xC2, 0xDF);
    emit_range(p, 0x80, 0xBF);
    emit(p, REGEX_JUMP, 8, 0);
    emit(p, REGEX_SPLIT, 1, 3);
    emit_range(p, 0xE0, 0xEF);
    emit(p, REGEX_JUMP, 3, 0);
    emit_range(p, 0xF0, 0xF4);
    emit_range(p, 0x80, 0xBF);
    emit_range(p, 0x80, 0xBF);
    emit_range(p, 0x80, 0xBF);
}

/* \d, \w, \s into a set; false: it is no such letter. */
static bool class_letter(char c, struct regex_set *s)
{
    switch (c) {
    case 'd': set_add(s, '0', '9'); return true;
    case 'w':
        set_add(s, '0', '9');
        set_add(s, 'a', 'z');
        set_add(s, 'A', 'Z');
        set_add(s, '_', '_');
        return true;
    case 's':
        set_add(s, '\t', '\r');
        set_add(s, ' ', ' ');
        return true;
    default: return false;
    }
}

/* All ASCII that is not in the set. */
static struct regex_set opposite(struct regex_set s)
{
    return (struct regex_set){{~s.bits[0], ~s.bits[1], 0, 0}};
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that an escape after the backslash stands for; -1, with the error: it stands for none.
 */
static int escaped_byte(struct parser *p)
{
    char c = *p->at++;
    switch (c) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case 'x': {
        int high = p->end - p->at >= 2 ? hex_value(p->at[0]) : -1;
        int low = high >= 0 ? hex_value(p->at[1]) : -1;
        if (low < 0 || high > 7) break;
        p->at += 2;
        return high * 16 + low;
    }
    default:
        if ((unsigned char)c > ' ' && (unsigned char)c < 0x7F && hex_value(c) < 0 &&
            !((c | 32) >= 'a' && (c | 32) <= 'z'))
            return c;
    }
    p->at--;
    fail(p, "an escape that is not known");
    return -1;
}

/* An escape outside of a class. */
static void parse_escape(struct parser *p)
{
    struct regex_set s = {{0}};
    if (is_over(p)) {
        fail(p, "a backslash at the end");
        return;
    }
    char c = *p->at;
    bool is_opposite = c == 'D' || c == 'W' || c == 'S';
    if (class_letter((char)(is_opposite ? c + 32 : c), &s)) {
        p->at++;
        emit_character(p, is_opposite ? opposite(s) : s, is_opposite);
    } else if (c == 'b' || c == 'B') {
        p->at++;
        emit(p, REGEX_ASSERT, c == 'b' ? REGEX_WORD_EDGE : REGEX_NO_WORD_EDGE, 0);
    } else {
        int byte = escaped_byte(p);
        if (byte >= 0) emit_range(p, (unsigned char)byte, (unsigned char)byte);
    }
}

/* One end of a range in a class, or a letter for many bytes, which is then in the set already. */
static int class_byte(struct parser *p, struct regex_set *s)
{
    if (is_over(p)) return -1;
    unsigned char c = (unsigned char)*p->at++;
    if (c >= 0x80) {
        p->at--;
        fail(p, "only ASCII in a class");
        return -1;
    }
    if (c != '\\') return c;
    if (is_over(p)) return -1;
    if (class_letter(*p->at, s)) {
        p->at++;
        return -1;
    }
    return escaped_byte(p);
}

/* After the opening bracket. */
static void parse_class(struct parser *p)
{
    struct regex_set s = {{0}};
    bool is_opposite = !is_over(p) && *p->at == '^';
    if (is_opposite) p->at++;
    bool is_first = true;
    while (!is_over(p) && (*p->at != ']' || is_first)) {
        is_first = false;
        int from = class_byte(p, &s);
        if (from < 0) continue;
        int to = from;
        if (p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] != ']') {
            p->at++;
            to = class_byte(p, &s);
        }
        if (to < from) fail(p, "a range that runs backward");
        else set_add(&s, (unsigned char)from, (unsigned char)to);
    }
    if (is_over(p)) {
        fail(p, "a class without its end");
        return;
    }
    p->at++;
    emit_character(p, is_opposite ? opposite(s) : s, is_opposite);
}

static void parse_either(struct parser *p);

/* After the opening parenthesis. */
static void parse_group(struct parser *p)
{
    if (p->end - p->at >= 2 && p->at[0] == '?') {
        if (p->at[1] != ':') {
            fail(p, "only (?: is known");
            return;
        }
        p->at += 2;
    }
    if (p->depth == REGEX_MAX_DEPTH) {
        fail(p, "too many groups in groups");
        return;
    }
    p->depth++;
    parse_either(p);
    p->depth--;
    if (is_over(p)) fail(p, "a group without its end");
    else p->at++;
}

static void parse_literal(struct parser *p)
{
    struct weir_slice rest = {p->at, (size_t)(p->end - p->at)};
    size_t n;
    if (utf8_first(rest, &n) != UTF8_WHOLE) {
        fail(p, "not UTF-8");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)*p->at++;
        emit_range(p, c, c);
    }
}

static void parse_atom(struct parser *p)
{
    struct regex_set any = {{~(UINT64_C(1) << '\n'), ~UINT64_C(0), 0, 0}};
    switch (*p->at) {
    case '.':
        p->at++;
        emit_character(p, any, true);
        break;
    case '\\':
        p->at++;
        parse_escape(p);
        break;
    case '[':
        p->at++;
        parse_class(p);
        break;
    case '(':
        p->at++;
        parse_group(p);
        break;
    case '^':
    case '$':
        emit(p, REGEX_ASSERT, *p->at == '^' ? REGEX_LINE_START : REGEX_LINE_END, 0);
        p->at++;
        break;
    case '*':
    case '+':
    case '?':
    case '{': fail(p, "nothing to repeat"); break;
    default: parse_literal(p);
    }
}

/* A number of up to three digits; false: there is none. */
static bool parse_count(struct parser *p, unsigned *out)
{
    const char *from = p->at;
    *out = 0;
    while (p->at < p->end && p->at - from < 3 && *p->at >= '0' && *p->at <= '9')
        *out = *out * 10 + (unsigned)(*p->at++ - '0');
    return p->at > from;
}

static bool take(struct parser *p, char c)
{
    bool is_there = p->at < p->end && *p->at == c;
    if (is_there) p->at++;
    return is_there;
}

/* "{m}", "{m,}", "{m,n}" after the brace. */
static bool parse_counts(struct parser *p, unsigned *least, unsigned *most)
{
    bool is_right = parse_count(p, least);
    *most = *least;
    if (is_right && take(p, ',') && !parse_count(p, most)) *most = UINT32_MAX;
    is_right = is_right && take(p, '}') && *least <= *most && *least <= REGEX_MAX_REPEAT &&
               (*most == UINT32_MAX || *most <= REGEX_MAX_REPEAT);
    if (!is_right) fail(p, "not a count of repetitions up to 255");
    return is_right;
}

/* Another copy of a block at the end. */
static void copy_block(struct parser *p, size_t start, size_t len)
{
    for (size_t i = 0; i < len && !*p->error; i++) {
        struct regex_step s = p->re->steps[start + i];
        emit(p, (enum regex_op)s.op, (size_t)s.a, (size_t)s.b);
    }
}

/* Makes the block at [start, n) optional, or any number of it. */
static void make_optional(struct parser *p, size_t start, bool is_many)
{
    size_t len = p->re->n - start;
    insert(p, start, REGEX_SPLIT, 1, len + (is_many ? 2 : 1));
    if (is_many) emit(p, REGEX_JUMP, (size_t)0 - (len + 1), 0);
}

static void repeat(struct parser *p, size_t start, unsigned least, unsigned most)
{
    size_t len = p->re->n - start;
    bool is_open = most == UINT32_MAX;
    unsigned n = is_open ? least : most;
    if (n == 0 && !is_open) {
        p->re->n = start;
        return;
    }
    for (unsigned i = 1; i < least; i++) copy_block(p, start, len);
    if (*p->error) return;
    if (least == 0) make_optional(p, start, is_open);
    else if (is_open) emit(p, REGEX_SPLIT, (size_t)0 - len, 1);
    /* What is optional was copied before the first became so. */
    size_t from = least == 0 ? start + 1 : start;
    for (unsigned i = least == 0 ? 1 : least; !is_open && i < most && !*p->error; i++) {
        size_t copy = p->re->n;
        copy_block(p, from, len);
        if (!*p->error) make_optional(p, copy, false);
    }
}

static void parse_repeat(struct parser *p, size_t start)
{
    unsigned least = 0, most = UINT32_MAX;
    if (is_over(p)) return;
    switch (*p->at) {
    case '*': p->at++; break;
    case '+':
        p->at++;
        least = 1;
        break;
    case '?':
        p->at++;
        most = 1;
        break;
    case '{':
        p->at++;
        if (!parse_counts(p, &least, &most)) return;
        break;
    default: return;
    }
    repeat(p, start, least, most);
    if (!is_over(p) && strchr("*+?{", *p->at)) fail(p, "a repetition of a repetition");
}

static void parse_run(struct parser *p)
{
    while (!is_over(p) && *p->at != '|' && *p->at != ')') {
        size_t start = p->re->n;
        parse_atom(p);
        if (!*p->error) parse_repeat(p, start);
    }
}

/* Jumps to the end are chained by the place of the one before, until the end is known. */
static void parse_either(struct parser *p)
{
    size_t start = p->re->n;
    size_t chain = 0;
    parse_run(p);
    while (!is_over(p) && *p->at == '|') {
        p->at++;
        insert(p, start, REGEX_SPLIT, 1, p->re->n - start + 2);
        emit(p, REGEX_JUMP, chain, 0);
        chain = p->re->n - 1;
        start = p->re->n;
        parse_run(p);
    }
    while (chain > 0 && !*p->error) {
        size_t before = (size_t)p->re->steps[chain].a;
        p->re->steps[chain].a = (int16_t)(p->re->n - chain);
        chain = before;
    }
}

/* Which bytes a match can begin with: all steps that can be reached without one. */
static enum weir_status find_first(struct regex *re)
{
    bool *is_seen = mem_zalloc(re->n * sizeof *is_seen);
    size_t *stack = mem_alloc((re->n + 1) * sizeof *stack);
    size_t depth = 0;
    if (is_seen && stack) stack[depth++] = 0;
    while (depth > 0) {
        size_t at = stack[--depth];
        const struct regex_step *s = &re->steps[at];
        if (is_seen[at]) continue;
        is_seen[at] = true;
        if (s->op == REGEX_BYTE) {
            for (int i = 0; i < 4; i++) re->first.bits[i] |= re->sets[s->a].bits[i];
        } else if (s->op != REGEX_MATCH) {
            size_t next = s->op == REGEX_ASSERT ? at + 1 : (size_t)((ptrdiff_t)at + s->a);
            if (!is_seen[next]) stack[depth++] = next;
            if (s->op == REGEX_SPLIT) {
                next = (size_t)((ptrdiff_t)at + s->b);
                if (!is_seen[next] && depth <= re->n) stack[depth++] = next;
            }
        }
    }
    enum weir_status st = is_seen && stack ? WEIR_OK : WEIR_NOMEM;
    mem_free(is_seen);
    mem_free(stack);
    return st;
}

static enum weir_status parse(struct parser *p)
{
    static const char nocase[] = "(?i)";
    if (p->end - p->at >= 4 && memcmp(p->at, nocase, 4) == 0) {
        p->is_nocase = true;
        p->at += 4;
    }
    parse_either(p);
    if (!is_over(p)) fail(p, "a parenthesis that was not opened");
    emit(p, REGEX_MATCH, 0, 0);
    return *p->error ? WEIR_INVALID : find_first(p->re);
}

enum weir_status regex_new(struct weir_slice pattern, struct regex **out,
                           char error[REGEX_ERROR_BYTES])
{
    *out = NULL;
    error[0] = 0;
    if (pattern.len == 0 || pattern.len > REGEX_PATTERN_BYTES) {
        snprintf(error, REGEX_ERROR_BYTES, "a pattern has 1 to %d bytes", REGEX_PATTERN_BYTES);
        return WEIR_INVALID;
    }
    struct regex *re = mem_zalloc(sizeof *re);
    if (!re) return WEIR_NOMEM;
    re->steps = mem_alloc(REGEX_MAX_STEPS * sizeof *re->steps);
    re->sets = mem_alloc(MAX_SETS * sizeof *re->sets);
    struct parser p = {.at = pattern.ptr,
                       .begin = pattern.ptr,
                       .end = pattern.ptr + pattern.len,
                       .re = re,
                       .error = error};
    enum weir_status st = re->steps && re->sets ? parse(&p) : WEIR_NOMEM;
    if (st == WEIR_OK) *out = re;
    else regex_free(re);
    return st;
}

void regex_free(struct regex *re)
{
    if (!re) return;
    mem_free(re->steps);
    mem_free(re->sets);
    mem_free(re);
}
