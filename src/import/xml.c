/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of the reader:
 *
 *   TEXT      between tags; '<' leads to MARKUP
 *   MARKUP    at a '<'; the next bytes say what it is
 *   TAG       in a tag that began in an earlier piece: its bytes gather in `carry`
 *   SKIP      in a comment, CDATA, processing instruction or DOCTYPE, until its end mark
 *
 * A tag that lies in one piece is read where it stands, without a copy. Lines are counted when
 * somebody asks and once for each piece.
 */
#include "import/xml.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "codec/scan.h"

enum xml_state { XML_TEXT, XML_MARKUP, XML_TAG, XML_SKIP };
enum { ERROR_BYTES = 200, SHOWN_BYTES = 40, CARRY_FIRST_BYTES = 4096 };

/* What is skipped, and how it ends. */
enum skipped { SKIP_COMMENT, SKIP_CDATA, SKIP_INSTRUCTION, SKIP_DOCTYPE };

struct xml {
    struct xml_handler handler;
    enum xml_state state;
    enum weir_status status;
    char error[ERROR_BYTES];

    struct weir_slice piece; /* the one being read */
    uint64_t piece_offset;   /* of its first byte */
    uint64_t piece_line;     /* of its first byte */
    const char *tag_begin;   /* in the piece; NULL: the tag began in an earlier one */
    uint64_t carry_line;     /* where the tag in `carry` begins */

    char *carry; /* the bytes of a tag that was cut */
    size_t carry_len, carry_cap;
    char quote; /* inside which the carried tag is; 0: none */

    enum skipped skipped;
    unsigned n_matched;   /* bytes of the end mark that were seen */
    size_t n_skipped;     /* of a DOCTYPE */
    unsigned n_entity;    /* bytes of "<!ENTITY" that were seen */
    bool has_subset;      /* the DOCTYPE has a '[' */
    bool is_after_subset; /* … and its ']' */

    char *scratch; /* values without references, of one tag */
    size_t scratch_len, scratch_cap;
    size_t tag_len; /* as much as they can need together */

    unsigned utf8_left; /* bytes that a character still wants */
    unsigned char utf8_low, utf8_high;
    unsigned depth;
    bool has_root; /* there is or was one */
    uint16_t name_lens[XML_DEPTH];
    char names[XML_DEPTH][XML_NAME_BYTES];
    struct xml_attr attrs[XML_ATTRS];
};

/* ---- failing ---- */

static enum weir_status fail(struct xml *x, enum weir_status st, const char *why)
{
    snprintf(x->error, sizeof x->error, "%s", why);
    x->status = st;
    return st;
}

static enum weir_status wrong(struct xml *x, const char *why)
{
    return fail(x, WEIR_INVALID, why);
}

const char *xml_error(const struct xml *x)
{
    return x->error;
}

static uint64_t count_lines(const char *p, const char *end)
{
    uint64_t n = 0;
    for (; p < end; p++) n += *p == '\n';
    return n;
}

uint64_t xml_line(const struct xml *x)
{
    if (!x->tag_begin) return x->carry_line;
    return x->piece_line + count_lines(x->piece.ptr, x->tag_begin);
}

/* ---- life ---- */

struct xml *xml_new(const struct xml_handler *handler)
{
    struct xml *x = mem_zalloc(sizeof *x);
    if (!x) return NULL;
    x->handler = *handler;
    x->piece_line = x->carry_line = 1;
    return x;
}

struct xml *xml_new_inside(const struct xml_handler *handler, struct weir_slice root,
                           uint64_t offset, uint64_t line)
{
    struct xml *x = root.len > 0 && root.len <= XML_NAME_BYTES ? xml_new(handler) : NULL;
    if (!x) return NULL;
    memcpy(x->names[0], root.ptr, root.len);
    x->name_lens[0] = (uint16_t)root.len;
    x->depth = 1;
    x->has_root = true;
    x->piece_offset = offset;
    x->piece_line = x->carry_line = line;
    return x;
}

void xml_free(struct xml *x)
{
    if (!x) return;
    mem_free(x->carry);
    mem_free(x->scratch);
    mem_free(x);
}

/* ---- which bytes may stand there at all ---- */

/* Takes one byte that is part of a character beyond ASCII. False when it cannot be. */
static bool take_high(struct xml *x, unsigned char c)
{
    if (x->utf8_left > 0) {
        if (c < x->utf8_low || c > x->utf8_high) return false;
        x->utf8_left--;
        x->utf8_low = 0x80;
        x->utf8_high = 0xBF;
        return true;
    }
    if (c < 0xC2 || c > 0xF4) return false;
    x->utf8_left = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    x->utf8_low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    x->utf8_high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    return true;
}

/* How many bytes are UTF-8 without NULs. */
static size_t valid_prefix(struct xml *x, struct weir_slice s)
{
    size_t i = 0;
    while (i < s.len) {
        if (x->utf8_left == 0 && s.len - i >= SCAN_WIDTH) {
            scan_bytes v = scan_load(s.ptr + i);
            scan_bytes hits = (scan_bytes)(v == 0) | (scan_bytes)(v >= 0x80);
            if (!scan_any(hits)) {
                i += SCAN_WIDTH;
                continue;
            }
            i += scan_first(hits);
        }
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == 0 || (c < 0x80 && x->utf8_left > 0)) return i;
        if (c >= 0x80 && !take_high(x, c)) return i;
        i++;
    }
    return i;
}

static enum weir_status wrong_byte(struct xml *x, size_t at)
{
    unsigned char c = (unsigned char)x->piece.ptr[at];
    uint64_t offset = x->piece_offset + at;
    x->tag_begin = x->piece.ptr + at;
    if (c == 0 && offset > 1) return wrong(x, "there is a NUL byte in it, which XML cannot have");
    if (offset < 2 && (c == 0 || c == 0xFE || c == 0xFF))
        return wrong(x, "it is UTF-16 or UTF-32; Apple writes UTF-8");
    return wrong(x, "it is not UTF-8: another encoding, or damaged");
}

/* ---- values ---- */

struct named {
    const char *name;
    char c;
};
static const struct named entities[] = {
    {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};

/* A hexadecimal digit, which decimal ones are too; 99 when it is none. */
static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 99;
}

static bool read_number(struct weir_slice digits, uint32_t *out)
{
    bool is_hex = digits.len > 0 && (digits.ptr[0] | 0x20) == 'x';
    uint32_t base = is_hex ? 16 : 10;
    uint32_t n = 0;
    if (is_hex) digits = slice_from(digits, 1);
    if (digits.len == 0 || digits.len > 8) return false;
    for (size_t i = 0; i < digits.len; i++) {
        unsigned digit = digit_of(digits.ptr[i]);
        if (digit >= base) return false;
        n = n * base + digit;
        if (n > 0x10FFFF) return false;
    }
    *out = n;
    return n > 0 && !utf16_is_high(n) && !utf16_is_low(n);
}

/* What is between '&' and ';'. The number of bytes written, 0 when it is not known. */
static size_t resolve(struct weir_slice reference, char *out)
{
    uint32_t c;
    if (reference.len > 1 && reference.ptr[0] == '#')
        return read_number(slice_from(reference, 1), &c) ? utf8_encode(out, c) : 0;
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        if (!weir_slice_is(reference, entities[i].name)) continue;
        *out = entities[i].c;
        return 1;
    }
    return 0;
}

/* Room for all values of the tag at once, so that none of them moves; a value never grows. */
static bool make_scratch(struct xml *x)
{
    if (x->scratch_cap >= x->tag_len + UTF8_MAX_BYTES) return true;
    char *larger = mem_alloc(x->tag_len + UTF8_MAX_BYTES);
    if (!larger) return false;
    mem_free(x->scratch);
    x->scratch = larger;
    x->scratch_cap = x->tag_len + UTF8_MAX_BYTES;
    return true;
}

bool xml_value(struct xml *x, const struct xml_attr *a, struct weir_slice *out)
{
    *out = a->raw;
    if (a->is_plain) return true;
    if (x->scratch_len == 0 && !make_scratch(x)) {
        (void)fail(x, WEIR_NOMEM, "no memory");
        return false;
    }
    char *begin = x->scratch + x->scratch_len;
    char *to = begin;
    if (x->scratch_len + a->raw.len > x->scratch_cap - UTF8_MAX_BYTES) return false;
    for (size_t i = 0; i < a->raw.len; i++) {
        char c = a->raw.ptr[i];
        if (c == '\r' && i + 1 < a->raw.len && a->raw.ptr[i + 1] == '\n') continue;
        if (c != '&') {
            *to++ = (unsigned char)c < 0x20 ? ' ' : c;
            continue;
        }
        const char *semicolon = memchr(a->raw.ptr + i, ';', a->raw.len - i);
        size_t len = semicolon ? (size_t)(semicolon - a->raw.ptr) - i - 1 : 0;
        size_t n = semicolon ? resolve(slice_of(a->raw.ptr + i + 1, len), to) : 0;
        if (n == 0) {
            (void)wrong(x, "it refers to an entity that is not one of XML's own");
            return false;
        }
        to += n;
        i += len + 1;
    }
    x->scratch_len += (size_t)(to - begin);
    *out = slice_of(begin, (size_t)(to - begin));
    return true;
}

/* ---- tags ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* A byte that may stand in a name; which of those beyond ASCII nobody needs to know. */
static bool is_name(char c)
{
    return !is_blank(c) && c != '/' && c != '>' && c != '=' && c != '<' && c != '"' && c != '\'';
}

/* The end of a value: its quote. Sets *is_plain; NULL when it is not there, '<' is wrong. */
static const char *find_quote(const char *p, const char *end, char quote, bool *is_plain)
{
    *is_plain = true;
    for (;;) {
        while (end - p >= SCAN_WIDTH) {
            scan_bytes v = scan_load(p);
            scan_bytes hits = (scan_bytes)(v == (uint8_t)quote) | (scan_bytes)(v == '<') |
                              (scan_bytes)(v == '&') | (scan_bytes)(v < 0x20);
            if (scan_any(hits)) {
                p += scan_first(hits);
                break;
            }
            p += SCAN_WIDTH;
        }
        while (p < end && *p != quote && *p != '<' && *p != '&' && (unsigned char)*p >= 0x20) p++;
        if (p == end) return NULL;
        if (*p == quote || *p == '<') return p;
        *is_plain = false;
        p++;
    }
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p)) p++;
    return p;
}

static const char *skip_name(const char *p, const char *end)
{
    while (p < end && is_name(*p)) p++;
    return p;
}

/* Where a reading of a tag has come to. */
struct scan_result {
    const char *at;  /* behind what was read; NULL: the tag is not all there, or wrong */
    const char *why; /* what is wrong; NULL: it is not all there */
};

static struct scan_result not_there(void)
{
    return (struct scan_result){NULL, NULL};
}

static struct scan_result is_wrong(const char *why)
{
    return (struct scan_result){NULL, why};
}

static struct scan_result read_attr(struct xml *x, size_t n, const char *p, const char *end)
{
    const char *begin = p;
    p = skip_name(p, end);
    if (p == end) return not_there();
    if (n == XML_ATTRS) return is_wrong("a tag has more than 64 attributes");
    struct xml_attr *a = &x->attrs[n];
    a->name = slice_of(begin, (size_t)(p - begin));
    if (a->name.len == 0) return is_wrong("a tag has something in it that is no attribute");
    p = skip_blanks(p, end);
    if (p == end) return not_there();
    if (*p != '=') return is_wrong("an attribute has no value");
    p = skip_blanks(p + 1, end);
    if (p == end) return not_there();
    if (*p != '"' && *p != '\'') return is_wrong("an attribute's value has no quotes");
    const char *value = p + 1;
    p = find_quote(value, end, *p, &a->is_plain);
    if (!p) return not_there();
    if (*p == '<') return is_wrong("a value has a \"<\" in it, or lacks its closing quote");
    a->raw = slice_of(value, (size_t)(p - value));
    return (struct scan_result){p + 1, NULL};
}

static enum weir_status open_element(struct xml *x, const struct xml_tag *tag)
{
    if (x->depth == 0 && x->has_root) return wrong(x, "there is a second root element");
    if (x->depth == XML_DEPTH) return fail(x, WEIR_LIMIT, "elements are nested deeper than 64");
    if (tag->name.len > XML_NAME_BYTES)
        return fail(x, WEIR_LIMIT, "the name of an element is longer than 128 bytes");
    memcpy(x->names[x->depth], tag->name.ptr, tag->name.len);
    x->name_lens[x->depth] = (uint16_t)tag->name.len;
    x->depth++;
    x->has_root = true;
    x->scratch_len = 0;
    enum weir_status st = x->handler.start(x->handler.user, tag);
    if (st != WEIR_OK && x->status == WEIR_OK) x->status = st;
    return x->status;
}

static enum weir_status close_element(struct xml *x, const struct xml_tag *tag)
{
    struct weir_slice open = SLICE("");
    if (x->depth > 0) open = slice_of(x->names[x->depth - 1], x->name_lens[x->depth - 1]);
    if (x->depth == 0) return wrong(x, "a closing tag stands where nothing is open");
    if (!slice_eq(open, tag->name)) {
        char why[ERROR_BYTES];
        int shown = tag->name.len < SHOWN_BYTES ? (int)tag->name.len : SHOWN_BYTES;
        snprintf(why, sizeof why, "</%.*s> stands where </%.*s> should", shown, tag->name.ptr,
                 open.len < SHOWN_BYTES ? (int)open.len : SHOWN_BYTES, open.ptr);
        return wrong(x, why);
    }
    enum weir_status st = x->handler.end(x->handler.user, tag);
    x->depth--;
    if (st != WEIR_OK && x->status == WEIR_OK) x->status = st;
    return x->status;
}

static struct scan_result read_end_tag(struct xml *x, const char *p, const char *end,
                                       uint64_t offset)
{
    const char *begin = p;
    struct xml_tag tag = {.depth = x->depth};
    p = skip_name(p + 2, end);
    tag.name = slice_of(begin + 2, (size_t)(p - begin) - 2);
    p = skip_blanks(p, end);
    if (p == end) return not_there();
    if (*p != '>' || tag.name.len == 0) return is_wrong("a closing tag has more than a name in it");
    tag.offset = offset + (uint64_t)(p + 1 - begin);
    (void)close_element(x, &tag);
    return (struct scan_result){p + 1, NULL};
}

static struct scan_result read_start_tag(struct xml *x, const char *p, const char *end,
                                         uint64_t offset)
{
    const char *begin = p;
    struct xml_tag tag = {.attrs = x->attrs, .depth = x->depth + 1};
    p = skip_name(p + 1, end);
    tag.name = slice_of(begin + 1, (size_t)(p - begin) - 1);
    if (tag.name.len == 0 && p < end) return is_wrong("a \"<\" begins no tag");
    for (;;) {
        const char *blanks = p;
        p = skip_blanks(p, end);
        if (p == end) return not_there();
        if (*p == '>' || *p == '/') break;
        if (p == blanks) return is_wrong("there is no blank before an attribute");
        struct scan_result r = read_attr(x, tag.n_attrs, p, end);
        if (!r.at) return r;
        p = r.at;
        tag.n_attrs++;
    }
    bool is_empty = *p == '/';
    if (is_empty && ++p == end) return not_there();
    if (*p != '>') return is_wrong("a \"/\" stands in the middle of a tag");
    p++;
    x->tag_len = (size_t)(p - begin);
    tag.offset = offset + x->tag_len;
    if (open_element(x, &tag) != WEIR_OK || !is_empty) return (struct scan_result){p, NULL};
    tag.n_attrs = 0;
    (void)close_element(x, &tag);
    return (struct scan_result){p, NULL};
}

static struct scan_result read_tag(struct xml *x, const char *p, const char *end, uint64_t offset)
{
    if (end - p < 2) return not_there();
    return p[1] == '/' ? read_end_tag(x, p, end, offset) : read_start_tag(x, p, end, offset);
}

/* ---- tags that were cut ---- */

static enum weir_status carry_add(struct xml *x, const char *bytes, size_t len)
{
    if (x->carry_len + len > XML_TAG_BYTES)
        return fail(x, WEIR_LIMIT, "a tag is longer than 1 MiB, which no export has");
    if (x->carry_len + len > x->carry_cap) {
        size_t cap = x->carry_cap > 0 ? x->carry_cap : CARRY_FIRST_BYTES;
        while (cap < x->carry_len + len) cap *= 2;
        char *larger = mem_realloc(x->carry, cap);
        if (!larger) return fail(x, WEIR_NOMEM, "no memory");
        x->carry = larger;
        x->carry_cap = cap;
    }
    if (len > 0) memcpy(x->carry + x->carry_len, bytes, len);
    x->carry_len += len;
    return WEIR_OK;
}

/* The byte behind the tag's end, or NULL; keeps in mind inside which quotes it is. */
static const char *find_tag_end(struct xml *x, const char *p, const char *end)
{
    for (; p < end; p++) {
        if (x->quote) {
            if (*p == x->quote) x->quote = 0;
        } else if (*p == '"' || *p == '\'') {
            x->quote = *p;
        } else if (*p == '>') {
            return p + 1;
        }
    }
    return NULL;
}

static enum weir_status begin_carry(struct xml *x, const char *p, const char *end)
{
    x->carry_line = x->tag_begin ? xml_line(x) : x->carry_line;
    x->quote = 0;
    x->state = XML_TAG;
    (void)find_tag_end(x, p, end);
    return carry_add(x, p, (size_t)(end - p));
}

static const char *go_on_with_tag(struct xml *x, const char *p, const char *end)
{
    const char *behind = find_tag_end(x, p, end);
    const char *stop = behind ? behind : end;
    if (carry_add(x, p, (size_t)(stop - p)) != WEIR_OK || !behind) return stop;
    uint64_t offset = x->piece_offset + (uint64_t)(stop - x->piece.ptr) - x->carry_len;
    x->tag_begin = NULL;
    struct scan_result r = read_tag(x, x->carry, x->carry + x->carry_len, offset);
    if (!r.at && x->status == WEIR_OK)
        (void)wrong(x, r.why ? r.why : "a tag's quotes do not match");
    x->carry_len = 0;
    x->state = XML_TEXT;
    return stop;
}

/* ---- what is skipped ---- */

static const struct {
    const char *mark;
    enum skipped what;
} marks[] = {{"<!--", SKIP_COMMENT},
             {"<![CDATA[", SKIP_CDATA},
             {"<!DOCTYPE", SKIP_DOCTYPE},
             {"<?", SKIP_INSTRUCTION}};

enum markup { MARKUP_TAG, MARKUP_SKIPPED, MARKUP_UNCLEAR, MARKUP_WRONG };

/* What a '<' begins, by as many bytes as there are; the length of its mark in *len. */
static enum markup markup_of(struct weir_slice s, enum skipped *what, size_t *len)
{
    if (s.len < 2) return MARKUP_UNCLEAR;
    if (s.ptr[1] != '!' && s.ptr[1] != '?') return MARKUP_TAG;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t mark_len = strlen(marks[i].mark);
        size_t n = s.len < mark_len ? s.len : mark_len;
        if (memcmp(s.ptr, marks[i].mark, n) != 0) continue;
        *what = marks[i].what;
        *len = mark_len;
        return n < mark_len ? MARKUP_UNCLEAR : MARKUP_SKIPPED;
    }
    return MARKUP_WRONG;
}

static const char *const end_marks[] = {"-->", "]]>", "?>"};

/* Behind the end mark, or the end of the piece. */
static const char *skip_to_mark(struct xml *x, const char *p, const char *end)
{
    const char *mark = end_marks[x->skipped];
    unsigned len = (unsigned)strlen(mark);
    for (; p < end; p++) {
        if (*p == mark[x->n_matched]) {
            if (++x->n_matched < len) continue;
            x->state = XML_TEXT;
            return p + 1;
        }
        /* "--->" and "]]]>": what came before may be a part of the mark itself. */
        if (x->n_matched == 2 && len == 3 && *p == mark[0]) continue;
        x->n_matched = *p == mark[0] ? 1 : 0;
    }
    return p;
}

/*
 * Apple's DOCTYPE of 2022 is not well-formed: a ">" too many stands before its "]>". So its end
 * is the first "]" and ">" with nothing but blanks between, whatever stands before.
 */
static const char *skip_doctype(struct xml *x, const char *p, const char *end)
{
    static const char entity[] = "<!ENTITY";
    for (; p < end; p++) {
        if (++x->n_skipped > XML_DOCTYPE_BYTES) {
            (void)fail(x, WEIR_LIMIT, "the DOCTYPE is longer than 256 KiB");
            return p;
        }
        x->n_entity = *p == entity[x->n_entity] ? x->n_entity + 1 : *p == '<' ? 1 : 0;
        if (x->n_entity == sizeof entity - 1) {
            x->tag_begin = p;
            (void)wrong(x, "its DOCTYPE declares entities, which no health export does: it is "
                           "refused as a possible entity bomb");
            return p;
        }
        if (*p == '>' && (!x->has_subset || x->is_after_subset)) {
            x->state = XML_TEXT;
            return p + 1;
        }
        if (*p == '[') x->has_subset = true;
        if (!is_blank(*p)) x->is_after_subset = *p == ']';
    }
    return p;
}

static const char *skip(struct xml *x, const char *p, const char *end)
{
    return x->skipped == SKIP_DOCTYPE ? skip_doctype(x, p, end) : skip_to_mark(x, p, end);
}

/* ---- feeding ---- */

static const char *read_text(struct xml *x, const char *p, const char *end)
{
    const char *tag = memchr(p, '<', (size_t)(end - p));
    const char *stop = tag ? tag : end;
    for (; x->depth == 0 && p < stop; p++) {
        bool is_bom = x->piece_offset + (uint64_t)(p - x->piece.ptr) < 3 && !x->has_root &&
                      (unsigned char)*p >= 0x80;
        if (is_blank(*p) || is_bom) continue;
        x->tag_begin = p;
        (void)wrong(x, x->has_root ? "there is text behind the end of the document"
                                   : "it does not begin as XML does");
        return p;
    }
    if (tag) x->state = XML_MARKUP;
    return stop;
}

static const char *begin_skip(struct xml *x, const char *p, enum skipped what)
{
    if (what == SKIP_DOCTYPE && x->has_root) {
        (void)wrong(x, "a DOCTYPE stands behind the beginning of the document");
        return p;
    }
    x->skipped = what;
    x->n_matched = x->n_entity = 0;
    x->has_subset = x->is_after_subset = false;
    x->carry_len = 0;
    x->state = XML_SKIP;
    return p;
}

/* A '<' at the very end of a piece: bytes gather one by one until it is clear what it begins. */
static const char *read_cut_markup(struct xml *x, const char *p)
{
    enum skipped what = SKIP_COMMENT;
    size_t len;
    if (x->carry_len == 0) x->carry_line = xml_line(x);
    if (carry_add(x, p, 1) != WEIR_OK) return p;
    switch (markup_of(slice_of(x->carry, x->carry_len), &what, &len)) {
    case MARKUP_UNCLEAR: return p + 1;
    case MARKUP_SKIPPED: return begin_skip(x, p + 1, what);
    case MARKUP_WRONG: (void)wrong(x, "\"<!\" begins nothing that XML knows"); return p + 1;
    default: break;
    }
    /* The second byte of a tag: "<>" ends it at once, and a quote cannot stand there. */
    x->carry_len--;
    x->quote = 0;
    x->state = XML_TAG;
    return p;
}

static const char *read_markup(struct xml *x, const char *p, const char *end)
{
    enum skipped what = SKIP_COMMENT;
    size_t len = 0;
    x->tag_begin = x->carry_len == 0 ? p : NULL;
    if (x->carry_len > 0) return read_cut_markup(x, p);
    enum markup markup = markup_of(slice_of(p, (size_t)(end - p)), &what, &len);
    if (markup == MARKUP_UNCLEAR) return read_cut_markup(x, p);
    if (markup == MARKUP_SKIPPED) return begin_skip(x, p + len, what);
    if (markup == MARKUP_WRONG) {
        (void)wrong(x, "\"<!\" begins nothing that XML knows");
        return p;
    }
    x->state = XML_TEXT;
    struct scan_result r = read_tag(x, p, end, x->piece_offset + (uint64_t)(p - x->piece.ptr));
    if (r.at && r.at - p > XML_TAG_BYTES)
        (void)fail(x, WEIR_LIMIT, "a tag is longer than 1 MiB, which no export has");
    if (r.at || x->status != WEIR_OK) return r.at ? r.at : end;
    if (r.why) (void)wrong(x, r.why);
    else (void)begin_carry(x, p, end);
    return end;
}

enum weir_status xml_feed(struct xml *x, struct weir_slice bytes)
{
    if (x->status != WEIR_OK || bytes.len == 0) return x->status;
    x->piece = bytes;
    size_t n_valid = valid_prefix(x, bytes);
    const char *p = bytes.ptr;
    const char *end = bytes.ptr + n_valid;
    while (p < end && x->status == WEIR_OK) {
        switch (x->state) {
        case XML_TEXT: p = read_text(x, p, end); break;
        case XML_MARKUP: p = read_markup(x, p, end); break;
        case XML_TAG: p = go_on_with_tag(x, p, end); break;
        case XML_SKIP: p = skip(x, p, end); break;
        }
    }
    if (x->status == WEIR_OK && n_valid < bytes.len) (void)wrong_byte(x, n_valid);
    if (x->status != WEIR_OK) {
        x->carry_line = xml_line(x);
    } else {
        x->piece_line += count_lines(bytes.ptr, bytes.ptr + bytes.len);
        x->piece_offset += bytes.len;
    }
    x->tag_begin = NULL;
    x->piece = SLICE("");
    return x->status;
}

enum weir_status xml_end(struct xml *x)
{
    if (x->status != WEIR_OK) return x->status;
    bool is_whole = x->state == XML_TEXT && x->depth == 0 && x->has_root && x->utf8_left == 0;
    if (is_whole) return WEIR_OK;
    x->carry_line = x->piece_line;
    if (!x->has_root) return wrong(x, "it ends before its first element");
    return wrong(x, "it ends in the middle: it is truncated");
}
