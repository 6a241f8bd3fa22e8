/* SPDX-License-Identifier: Apache-2.0 */
/*
 * E-mail addresses: dot-atoms and quoted strings (RFC 5322), characters beyond ASCII (RFC 6531), a
 * host with a dot in it whose last label can be one of a domain.
 *
 * Chinese, Japanese and Korean put no spaces between words, so text in them ends an address that
 * is otherwise ASCII.
 */
#include <string.h>

#include "shield/tld.h"

enum { LOCAL_MAX = 64 * 3, MAIL_MAX = 254 * 3 };

static bool is_atom(unsigned char c)
{
    return (shield_bytes[c] & BYTE_ALNUM) || (c && strchr("!#$%&'*+/=?^_`{|}~-.", c));
}

/* The beginning of the character that ends before a place. */
static size_t point_before(const struct scan *s, size_t at)
{
    size_t from = at - 1;
    while (from > 0 && at - from < 4 && (s->text[from] & 0xC0) == 0x80) from--;
    return from;
}

static size_t atoms_before(const struct scan *s, size_t at, size_t floor)
{
    size_t from = at;
    bool has_ascii = false;
    while (from > floor && at - from < LOCAL_MAX) {
        unsigned char c = s->text[from - 1];
        if (is_atom(c)) {
            has_ascii = true;
            from--;
        } else if (c >= 0x80) {
            size_t n, point = point_before(s, from);
            uint32_t code = scan_point(s, point, &n);
            bool is_wide = code >= 0x3041 && code <= 0xD7A3;
            if (point + n != from || (!point_is_letter(code) && (!is_wide || has_ascii))) break;
            from = point;
        } else {
            break;
        }
    }
    return from;
}

/* "john doe"@example.com: the opening quote, or `at` when there is none. */
static size_t quote_before(const struct scan *s, size_t at, size_t floor)
{
    if (at < 3 || s->text[at - 1] != '"') return at;
    for (size_t from = at - 1; from > floor && at - from < 66; from--) {
        unsigned char c = s->text[from - 1];
        if (c == '\n' || c == '\r') return at;
        if (c == '"') return from - 1;
    }
    return at;
}

/* Signs that text puts around an address are not part of it. */
static size_t trim_local(const struct scan *s, size_t from, size_t at)
{
    for (size_t i = at; i > from; i--) {
        /* What comes before an assignment or a path is not part of it either. */
        unsigned char c = s->text[i - 1];
        if (c == '=' || c == '/' || c == '?' || c == '|' || c == '`') {
            from = i;
            break;
        }
    }
    while (from < at && strchr("'.*{}&!#$%^~-", s->text[from])) from++;
    return from;
}

static bool has_double_dot(const struct scan *s, size_t from, size_t at)
{
    for (size_t i = from; i + 1 < at; i++)
        if (s->text[i] == '.' && s->text[i + 1] == '.') return true;
    return at > from && s->text[at - 1] == '.';
}

/* "com请回复": the ASCII part of the last label, when that is a domain and the whole is not. */
static void cut_tld(const struct scan *s, struct host *h)
{
    size_t end = h->tld;
    while (end < h->end && s->text[end] < 0x80) end++;
    if (end == h->end || end == h->tld) return;
    struct weir_slice ascii = {(const char *)s->text + h->tld, end - h->tld};
    if (tld_is_known(ascii)) h->end = end;
}

/* The longest beginning of a label, not all of it, that is a domain; its end, or 0. */
static size_t glued_end(const struct scan *s, size_t from, size_t to)
{
    for (size_t end = to; end > from + 2; end--) {
        struct weir_slice tld = {(const char *)s->text + from, end - 1 - from};
        if (tld_is_known(tld)) return end - 1;
    }
    return 0;
}

/* "a@x.orgb.c@y.org": the first label that begins with a domain ends the address. */
static void cut_glued(const struct scan *s, struct host *h)
{
    size_t from = h->start;
    while (from < h->end && s->text[from] != '.') from++;
    while (from < h->end) {
        size_t to = ++from;
        while (to < h->end && s->text[to] != '.') to++;
        size_t end = glued_end(s, from, to);
        if (end > 0) {
            h->tld = from;
            h->end = end;
            return;
        }
        from = to;
    }
}

static bool is_domain(const struct scan *s, const struct host *h)
{
    struct weir_slice tld = host_tld(s, h);
    if (h->n_labels < 2 || tld.len < 2) return false;
    if (tld_is_known(tld)) return true;
    if (tld_is_file(tld)) return false;
    for (size_t i = 0; i < tld.len; i++)
        if (shield_bytes[(unsigned char)tld.ptr[i]] & BYTE_DIGIT) return false;
    return true;
}

/* "alice@example.org.pdf" is a file that has somebody's name. */
static void cut_file(const struct scan *s, struct host *h)
{
    struct host shorter = *h;
    if (h->n_labels <= 2 || !tld_is_file(host_tld(s, h)) || tld_is_known(host_tld(s, h))) return;
    shorter.end = h->tld - 1;
    shorter.tld = shorter.end;
    while (shorter.tld > h->start && s->text[shorter.tld - 1] != '.') shorter.tld--;
    shorter.n_labels--;
    if (tld_is_known(host_tld(s, &shorter))) *h = shorter;
}

/* "git@github.com:owner/name" is an address of a repository, not of a person. */
static bool is_remote(const struct scan *s, size_t from, size_t at, size_t end)
{
    return at - from == 3 && memcmp(s->text + from, "git", 3) == 0 && scan_byte(s, end) == ':';
}

size_t match_mail(struct scan *s, size_t at)
{
    struct host h;
    size_t from = quote_before(s, at, s->mail_done);
    if (from == at) from = trim_local(s, atoms_before(s, at, s->mail_done), at);
    if (from == at || !host_read(s, at + 1, &h)) return at + 1;
    cut_tld(s, &h);
    cut_file(s, &h);
    if (scan_byte(s, h.end) == '@') cut_glued(s, &h);
    /* Markdown's emphasis is around the address. */
    if (s->text[from] == '_' && scan_byte(s, h.end) == '_' && from + 1 < at) from++;
    if (h.end - from > MAIL_MAX || has_double_dot(s, from, at) || !is_domain(s, &h)) return at + 1;
    if (is_remote(s, from, at, h.end)) return h.end;
    s->mail_done = h.end;
    struct shield_finding f = {.label = "email",
                               .category = SHIELD_EMAIL,
                               .score = tld_is_known(host_tld(s, &h)) ? 0.95F : 0.7F};
    scan_found_by(s, from, h.end, f);
    return h.end;
}
