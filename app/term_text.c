/* SPDX-License-Identifier: Apache-2.0 */
#include "term_text.h"

#include <utf8proc.h>

#include "base/slice.h"

enum {
    ZWNJ = 0x200C,
    ZWJ = 0x200D,
    VS15 = 0xFE0E,
    VS16 = 0xFE0F,
    BLACK_FLAG = 0x1F3F4,
    TAG_FIRST = 0xE0020,
    TAG_LAST = 0xE007F,
    CLUSTER_MAX_BYTES = 256, /* longer ones are cut: nobody writes them to be read */
};

static uint32_t code_of(struct weir_slice s, size_t *n)
{
    utf8proc_int32_t c = -1;
    utf8proc_ssize_t len =
        utf8proc_iterate((const utf8proc_uint8_t *)s.ptr, (utf8proc_ssize_t)s.len, &c);
    *n = len > 0 ? (size_t)len : 1;
    return len > 0 ? (uint32_t)c : 0xFFFD;
}

/* ---- cleaning ---- */

/* Hints about where a line may be broken, and marks of encodings: nothing to be seen. */
static bool is_hint(uint32_t c)
{
    return c == 0xAD || c == 0x200B || c == 0xFEFF;
}

static bool is_mark(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
}

/* Invisible, and apt to change how its neighbours are shown. */
static bool is_hidden(uint32_t c)
{
    if (c == ZWJ || c == ZWNJ) return false;
    if (c == 0x2028 || c == 0x2029 || c == 0x3164 || c == 0xFFA0 || c == 0x115F || c == 0x1160)
        return true;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CC;
}

static void put_code(struct weir_buf *out, uint32_t c)
{
    char bytes[UTF8_MAX_BYTES];
    weir_buf_append(out, bytes, utf8_encode(bytes, c));
}

static void put_control(struct weir_buf *out, uint32_t c)
{
    if (c < 0x20) put_code(out, 0x2400 + c);
    else if (c == 0x7F) put_code(out, 0x2421);
    else weir_buf_printf(out, "<U+%04X>", (unsigned)c);
}

/* A flag of tags is U+1F3F4 and letters that are invisible elsewhere. */
static bool is_in_flag(struct term_cleaner *c, uint32_t code)
{
    if (code == BLACK_FLAG) c->is_flag = true;
    else if (code < TAG_FIRST || code > TAG_LAST) c->is_flag = false;
    return c->is_flag && code != BLACK_FLAG;
}

static void clean_character(struct term_cleaner *c, struct weir_buf *out, struct weir_slice bytes)
{
    size_t n;
    uint32_t code = code_of(bytes, &n);
    bool is_tag = is_in_flag(c, code);
    if (c->has_cr && code != '\n') put_control(out, '\r');
    c->has_cr = code == '\r';
    if (c->has_cr || is_hint(code)) return;
    if (code < 0x80 && code >= 0x20 && code != 0x7F) {
        c->n_marks = 0;
        weir_buf_append_slice(out, bytes);
        return;
    }
    c->n_marks = is_mark(code) || is_tag ? c->n_marks + 1 : 0;
    if (c->n_marks > TERM_MARKS_MAX) return;
    if (code == '\n' || code == '\t' || is_tag) weir_buf_append_slice(out, bytes);
    else if (is_hidden(code)) put_control(out, code);
    else weir_buf_append_slice(out, bytes);
}

void term_clean_feed(struct term_cleaner *c, struct weir_buf *out, struct weir_slice bytes)
{
    while (bytes.len > 0) {
        char joined[2 * UTF8_MAX_BYTES];
        struct weir_slice s = bytes;
        size_t n = 0;
        if (c->n_held > 0) {
            memcpy(joined, c->held, c->n_held);
            size_t more = bytes.len < UTF8_MAX_BYTES ? bytes.len : UTF8_MAX_BYTES;
            memcpy(joined + c->n_held, bytes.ptr, more);
            s = slice_of(joined, c->n_held + more);
        }
        enum utf8_verdict verdict = utf8_first(s, &n);
        if (verdict == UTF8_PARTIAL) {
            memcpy(c->held, s.ptr, s.len);
            c->n_held = s.len;
            return;
        }
        clean_character(c, out, verdict == UTF8_WHOLE ? slice_of(s.ptr, n) : SLICE("\xef\xbf\xbd"));
        bytes = slice_from(bytes, n - c->n_held);
        c->n_held = 0;
    }
}

void term_clean_end(struct term_cleaner *c, struct weir_buf *out)
{
    if (c->n_held > 0) clean_character(c, out, SLICE("\xef\xbf\xbd"));
    if (c->has_cr) put_control(out, '\r');
    *c = (struct term_cleaner){.n_held = 0};
}

void term_clean_label(struct weir_buf *out, struct weir_slice text)
{
    struct term_cleaner cleaner = {.n_held = 0};
    size_t begin = out->len;
    term_clean_feed(&cleaner, out, text);
    term_clean_end(&cleaner, out);
    size_t to = begin;
    for (size_t i = begin; i < out->len; i++) {
        bool is_blank = out->ptr[i] == ' ' || out->ptr[i] == '\n' || out->ptr[i] == '\t';
        if (is_blank && (to == begin || out->ptr[to - 1] == ' ')) continue;
        out->ptr[to++] = is_blank ? ' ' : out->ptr[i];
    }
    if (to > begin && out->ptr[to - 1] == ' ') to--;
    out->len = to;
}

/* ---- widths ---- */

/* Emoji that are newer than the tables are wide as the others are. */
static bool is_new_wide(uint32_t c)
{
    return (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

static unsigned code_width(uint32_t c)
{
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)c);
    if (property->category == UTF8PROC_CATEGORY_CN) return is_new_wide(c) ? 2 : 1;
    if (property->category == UTF8PROC_CATEGORY_CO) return 1;
    int width = utf8proc_charwidth((utf8proc_int32_t)c);
    return width > 0 ? (unsigned)width : 0;
}

static bool is_regional(uint32_t c)
{
    return c >= 0x1F1E6 && c <= 0x1F1FF;
}

/*
 * One character more of a cluster. Joined emoji are one picture, and a flag is two letters of one;
 * what else stands in a cluster is beside its base, but never wider than a picture.
 */
static unsigned add_width(unsigned width, uint32_t c, bool is_joined)
{
    if (c == VS16 || is_regional(c)) return width > 0 ? 2 : width;
    if (is_joined) return width;
    return width + code_width(c) < 2 ? width + code_width(c) : 2;
}

static struct term_cluster slow_cluster(struct weir_slice text)
{
    size_t n;
    uint32_t before = code_of(text, &n);
    utf8proc_int32_t state = 0;
    struct term_cluster cluster = {n, is_regional(before) ? 1 : code_width(before)};
    while (cluster.len < text.len && cluster.len < CLUSTER_MAX_BYTES) {
        uint32_t c = code_of(slice_from(text, cluster.len), &n);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)c, &state))
            break;
        cluster.width = add_width(cluster.width, c, before == ZWJ);
        cluster.len += n;
        before = c;
    }
    return cluster;
}

struct term_cluster term_first(struct weir_slice text)
{
    unsigned char first = (unsigned char)text.ptr[0];
    bool is_plain = text.len == 1 || (unsigned char)text.ptr[1] < 0x80;
    /* Nothing joins a tab, whatever comes behind it. */
    if (first == '\t') return (struct term_cluster){1, TERM_TAB_COLUMNS};
    if (first < 0x80 && is_plain) return (struct term_cluster){1, first >= 0x20};
    return slow_cluster(text);
}

unsigned term_width(struct weir_slice text)
{
    unsigned width = 0;
    while (text.len > 0) {
        struct term_cluster cluster = term_first(text);
        width += cluster.width;
        text = slice_from(text, cluster.len);
    }
    return width;
}

size_t term_fit(struct weir_slice text, unsigned columns)
{
    size_t len = 0;
    unsigned width = 0;
    while (len < text.len) {
        struct term_cluster cluster = term_first(slice_from(text, len));
        width += cluster.width;
        if (width > columns) break;
        len += cluster.len;
    }
    return len;
}

unsigned term_put_cut(struct weir_buf *out, struct weir_slice text, unsigned columns)
{
    size_t len = term_fit(text, columns);
    if (len == text.len) {
        weir_buf_append_slice(out, text);
        return term_width(text);
    }
    if (columns == 0) return 0;
    len = term_fit(text, columns - 1);
    text.len = len;
    weir_buf_append_slice(out, text);
    weir_buf_append_str(out, "…");
    return term_width(text) + 1;
}

/* ---- wrapping ---- */

/* Where a line may end, seen while it is walked over. */
struct place {
    size_t len;  /* what of the line is shown */
    size_t next; /* where the next one begins */
};

static bool is_letter(unsigned char c)
{
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Between two parts of a word; that before a number is a sign. */
static bool is_hyphen(struct weir_slice text, size_t at)
{
    return text.ptr[at] == '-' && at > 0 && at + 1 < text.len &&
           is_letter((unsigned char)text.ptr[at - 1]) && is_letter((unsigned char)text.ptr[at + 1]);
}

void term_wrap(struct weir_slice text, unsigned columns, size_t *len, size_t *next)
{
    struct place last = {0, 0}; /* the last good place */
    size_t shown = 0;           /* up to the last cluster that is no blank */
    size_t at = 0;
    unsigned width = 0;
    while (at < text.len && text.ptr[at] != '\n') {
        struct weir_slice rest = slice_from(text, at);
        struct term_cluster cluster = term_first(rest);
        bool is_blank = cluster.len == 1 && (rest.ptr[0] == ' ' || rest.ptr[0] == '\t');
        if (!is_blank && at > 0 && width + cluster.width > columns) {
            /* A wide character may begin a line, whatever stands before it. */
            if (last.len == 0 || cluster.width > 1) last = (struct place){shown, at};
            *len = last.len;
            *next = last.next;
            return;
        }
        at += cluster.len;
        width += cluster.width;
        if (!is_blank) shown = at;
        bool is_good = is_blank || cluster.width > 1 || is_hyphen(text, at - cluster.len);
        if (is_good) last = (struct place){shown, at};
    }
    *len = shown;
    *next = at < text.len ? at + 1 : at;
}
