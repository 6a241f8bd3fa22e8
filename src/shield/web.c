/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web addresses: with a scheme, and bare domains that can hardly be anything else.
 *
 * One with a name or a password before its host is sensitive; the others are public and reported
 * with a low score. Bare domains have to keep out of the way of file names, of code ("user.name")
 * and of sentences without a space ("end.In"): see is_domain_like().
 */
#include <string.h>
#include <strings.h>

#include "base/slice.h"
#include "shield/tld.h"

enum { SCHEME_MAX = 20, AUTHORITY_MAX = 512, URL_MAX = 8192 };

static bool is_scheme_byte(unsigned char c)
{
    return (shield_bytes[c] & BYTE_ALNUM) || c == '+' || c == '-' || c == '.';
}

static size_t scheme_start(const struct scan *s, size_t at)
{
    size_t from = at;
    while (from > 0 && at - from < SCHEME_MAX && is_scheme_byte(s->text[from - 1])) from--;
    while (from < at && !scan_is(s, from, BYTE_LETTER)) from++;
    return from;
}

static bool is_url_byte(unsigned char c)
{
    return c > ' ' && c != '"' && c != '<' && c != '>' && c != '`' && c != 0x7F;
}

/* How many more of these brackets close than open. */
static size_t n_unopened(const struct scan *s, size_t from, size_t end, unsigned char close)
{
    unsigned char open = close == ')' ? '(' : close == ']' ? '[' : '{';
    size_t n_open = 0, n_close = 0;
    for (size_t i = from; i < end; i++) {
        n_open += s->text[i] == open;
        n_close += s->text[i] == close;
    }
    return n_close > n_open ? n_close - n_open : 0;
}

/* Signs at the end belong to the sentence, and closing brackets that were not opened inside. */
static size_t trim_url(const struct scan *s, size_t from, size_t end)
{
    while (end > from) {
        unsigned char c = s->text[end - 1];
        if (c == ')' || c == ']' || c == '}') {
            size_t n = n_unopened(s, from, end, c);
            if (n == 0) break;
            while (n > 0 && end > from && s->text[end - 1] == c) end--, n--;
            if (end > from && s->text[end - 1] == c) break;
        } else if (strchr(".,;:!?'*_", c)) {
            end--;
        } else {
            break;
        }
    }
    return end;
}

/* The end of what can be the rest of an address; text beyond ASCII ends one unless it is a path. */
static size_t url_end(const struct scan *s, size_t at)
{
    size_t stop = s->len - at > URL_MAX ? at + URL_MAX : s->len;
    while (at < stop && is_url_byte(s->text[at])) {
        if (s->text[at] >= 0x80) {
            size_t n;
            uint32_t c = scan_point(s, at, &n);
            if (c >= 0x2000 && !(c >= 0x3041 && c <= 0xD7A3)) break;
            at += n;
        } else {
            at++;
        }
    }
    return at < stop ? at : stop;
}

/* The last @ before the path; 0: there is none. */
static size_t user_end(const struct scan *s, size_t at)
{
    size_t found = 0;
    for (size_t i = at; i < s->len && i - at < AUTHORITY_MAX; i++) {
        unsigned char c = s->text[i];
        if (!is_url_byte(c) || c == '/' || c == '?' || c == '#') break;
        if (c == '@') found = i;
    }
    return found;
}

/* "${USER}", "<password>": what manuals write. */
static bool is_placeholder(const struct scan *s, size_t at, size_t end)
{
    for (size_t i = at; i < end; i++)
        if (strchr("<>{}$*[]", s->text[i])) return true;
    return false;
}

/* A password after the name, or a name as long and as random as a token. */
static bool has_secret(const struct scan *s, size_t at, size_t end)
{
    unsigned classes = 0;
    const unsigned char *colon = memchr(s->text + at, ':', end - at);
    if (is_placeholder(s, at, end)) return false;
    if (colon) return colon + 1 < s->text + end;
    for (size_t i = at; i < end; i++) classes |= shield_bytes[s->text[i]];
    return end - at >= 16 && (classes & BYTE_DIGIT) && (classes & BYTE_LETTER);
}

static void add_url(struct scan *s, size_t from, size_t end, bool has_user)
{
    struct shield_finding f = {
        .label = has_user ? "url_credentials" : "url",
        .score = has_user ? 0.95F : 0.5F,
        .category = SHIELD_URL,
        .is_public = !has_user,
    };
    scan_found_by(s, from, end, f);
}

size_t match_url(struct scan *s, size_t at)
{
    struct host h;
    size_t from = scheme_start(s, at);
    size_t body = at + 3;
    if (from == at || at - from < 2) return body;
    size_t user = user_end(s, body);
    bool has_user = user > body && is_url_byte(scan_byte(s, user + 1)) && has_secret(s, body, user);
    if (!has_user && at < s->url_done) return body;
    size_t end = trim_url(s, from, url_end(s, body));
    s->url_done = end;
    if (has_user) {
        add_url(s, from, end, true);
        s->domain_done = s->mail_done = end;
        return end;
    }
    size_t host_at = user > 0 ? user + 1 : body;
    bool has_host = host_read(s, host_at, &h);
    if (has_host) s->domain_done = h.end;
    if (!has_host || h.n_labels < 2 || !tld_is_known(host_tld(s, &h)) || h.end > end) return body;
    add_url(s, from, end, false);
    s->domain_done = end;
    return body;
}

/* The beginning of the labels before a dot. */
static size_t labels_start(const struct scan *s, size_t at, size_t floor)
{
    size_t from = at;
    while (from > floor && at - from < 253 &&
           (scan_is_before(s, from, BYTE_ALNUM) || s->text[from - 1] == '-' ||
            s->text[from - 1] == '.'))
        from--;
    while (from < at && !scan_is(s, from, BYTE_ALNUM)) from++;
    return from;
}

/* Lower case, upper case, or a capital at the beginning of each label but the last. */
static bool has_plain_case(const struct scan *s, const struct host *h)
{
    unsigned tld = 0;
    size_t n_upper = 0, n_lower = 0;
    for (size_t i = h->start; i < h->end; i++) {
        bool is_first = i == h->start || s->text[i - 1] == '.' || s->text[i - 1] == '-';
        n_upper += scan_is(s, i, BYTE_UPPER) && !is_first;
        n_lower += scan_is(s, i, BYTE_LOWER);
        if (i >= h->tld) tld |= shield_bytes[s->text[i]] & BYTE_LETTER;
    }
    if (n_lower == 0) return h->end - h->tld == 3 || h->n_labels > 2;
    return n_upper == 0 && !(tld & BYTE_UPPER);
}

/* "com.example.app" is a package, not a place. */
static bool is_reversed(const struct scan *s, const struct host *h)
{
    static const char *const heads[] = {"com.",      "org.",       "net.",    "io.",     "java.",
                                        "edu.",      "gov.",       "dev.",    "self.",   "this.",
                                        "makefile.", "configure.", "config.", "asp.net", "ado.net",
                                        "vb.net",    "ml.net"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        size_t len = strlen(heads[i]);
        if (h->end - h->start < len) continue;
        size_t k = 0;
        while (k < len && lower_of(s->text[h->start + k]) == (unsigned char)heads[i][k]) k++;
        if (k == len) return true;
    }
    return false;
}

/* What code and paths put around names. */
static bool is_in_code(const struct scan *s, const struct host *h)
{
    unsigned char before = scan_before(s, h->start);
    unsigned char after = scan_byte(s, h->end);
    if (before && strchr("/\\_$@.%&~", before)) return true;
    if (before >= 0x80 || after == '_' || after == '(' || after == '[' || after == '@') return true;
    if (after == '=' || after == '\\') return true;
    return after == '.' && scan_is(s, h->end + 1, BYTE_ALNUM);
}

static bool is_www(const struct scan *s, const struct host *h)
{
    return h->end - h->start > 4 && strncasecmp((const char *)s->text + h->start, "www.", 4) == 0;
}

/* "example.co.id", "example.com.pt": what stands before the last label is known to stand there. */
static bool has_second_level(const struct scan *s, const struct host *h)
{
    static const char *const second[] = {".co.",  ".com.", ".org.", ".net.",
                                         ".gov.", ".edu.", ".ac."};
    for (size_t i = 0; i < sizeof second / sizeof second[0]; i++) {
        size_t len = strlen(second[i]);
        if (h->n_labels > 2 && h->tld - h->start > len &&
            strncasecmp((const char *)s->text + h->tld - len, second[i], len) == 0)
            return true;
    }
    return false;
}

/* A name of two labels at least, of letters, not like a number: 1.to, 3.am. */
static bool is_domain_like(struct scan *s, const struct host *h)
{
    struct weir_slice tld = host_tld(s, h);
    if (h->n_labels < 2 || h->tld - h->start < 3 || !tld_is_known(tld)) return false;
    if (is_in_code(s, h) || is_reversed(s, h) || !has_plain_case(s, h)) return false;
    if (is_www(s, h)) return h->n_labels > 2;
    bool is_numeric = scan_run(s, h->start, BYTE_DIGIT, 253) >= h->tld - 1;
    if (is_numeric && tld.len == 2) return weir_slice_is(tld, "cn");
    if (!tld_is_word(tld) || has_second_level(s, h)) return true;
    if (scan_byte(s, h->end) == '/' && scan_is(s, h->end + 1, BYTE_ALNUM)) return true;
    return (context_near(s, h->start, h->end) & CONTEXT_WEB) != 0;
}

/* A path goes with its domain. */
static size_t with_path(const struct scan *s, size_t end)
{
    size_t at = end;
    if (scan_byte(s, at) == ':' && scan_is(s, at + 1, BYTE_DIGIT))
        at = scan_run(s, at + 1, BYTE_DIGIT, 6);
    if (scan_byte(s, at) != '/' && scan_byte(s, at) != '?' && scan_byte(s, at) != '#') return end;
    return trim_url(s, end, url_end(s, at));
}

size_t match_domain(struct scan *s, size_t at)
{
    struct host h;
    if (at < s->domain_done) return at + 1;
    size_t from = labels_start(s, at, s->domain_done);
    s->domain_done = at + 1;
    if (from == at || !host_read(s, from, &h)) return at + 1;
    if (h.classes & BYTE_HIGH) {
        /* Text in other alphabets may touch it; only what is ASCII is looked at. */
        while (h.end > h.tld && s->text[h.end - 1] >= 0x80) h.end--;
        for (size_t i = h.start; i < h.end; i++)
            if (s->text[i] >= 0x80) return at + 1;
    }
    s->domain_done = h.end;
    if (!is_domain_like(s, &h)) return at + 1;
    size_t end = with_path(s, h.end);
    add_url(s, h.start, end, false);
    s->domain_done = end;
    return at + 1;
}
