/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking of secrets in text. The text is walked once; at each byte the patterns
 * are tried in turn, and the first that matches writes what may be shown, then
 * the mask, and says where the text goes on. Only ASCII means anything here, so
 * the walk need not know UTF-8.
 */
#include "base/mask.h"

#include <string.h>

#include "base/slice.h"

enum {
    LONG_KEY = 20,       /* so many characters after "sk-" are a key even inside a word */
    LONG_USERINFO = 256, /* how far a user part is looked for where a URL should have ended */
    LONG_NAME = 64,      /* how far before the end of a secret the next one is looked for */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
    return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z');
}

static bool is_name_char(char c)
{
    return is_alnum(c) || c == '_' || c == '-' || c == '.';
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Space and control characters. */
static bool is_break(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

static char lower(char c)
{
    return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static bool has_at(struct weir_slice s, size_t i, const char *word)
{
    for (; *word; word++, i++)
        if (i >= s.len || lower(s.ptr[i]) != *word) return false;
    return true;
}

static size_t skip_blanks(struct weir_slice s, size_t i)
{
    while (i < s.len && is_blank(s.ptr[i])) i++;
    return i;
}

/* --- names ------------------------------------------------------------- */

/* Where a word that begins at i ends, separators inside it not counted; 0 when it is not there. */
static size_t word_end(struct weir_slice name, size_t i, const char *word)
{
    for (const char *w = word; *w; w++, i++) {
        while (w != word && i < name.len && !is_alnum(name.ptr[i])) i++;
        if (i >= name.len || lower(name.ptr[i]) != *w) return 0;
    }
    return i;
}

static bool starts_word(struct weir_slice name, size_t i)
{
    if (i == 0 || !is_alnum(name.ptr[i - 1])) return true;
    return is_upper(name.ptr[i]) && !is_upper(name.ptr[i - 1]);
}

/* Whether only digits and separators are left, as in token2. */
static bool is_name_over(struct weir_slice name, size_t i)
{
    while (i < name.len && (is_digit(name.ptr[i]) || !is_alnum(name.ptr[i]))) i++;
    return i == name.len;
}

static bool has_secret_word_at(struct weir_slice name, size_t i)
{
    static const char *const anywhere[] = {"password",      "passwd",    "passphrase", "secret",
                                           "authorization", "cookie",    "credential", "apikey",
                                           "accesskey",     "privatekey"};
    static const char *const last[] = {"key", "auth", "pass", "pwd", "jwt", "bearer", "signature"};
    for (size_t w = 0; w < sizeof anywhere / sizeof *anywhere; w++)
        if (word_end(name, i, anywhere[w])) return true;
    /* No other word ends in "token", so it is told even from accesstoken. */
    size_t end = word_end(name, i, "token");
    if (end && is_name_over(name, end)) return true;
    if (!starts_word(name, i)) return false;
    for (size_t w = 0; w < sizeof last / sizeof *last; w++) {
        end = word_end(name, i, last[w]);
        if (end && is_name_over(name, end)) return true;
    }
    return false;
}

bool mask_is_secret_name(struct weir_slice name)
{
    for (size_t i = 0; i < name.len; i++)
        if (has_secret_word_at(name, i)) return true;
    return false;
}

/* --- text -------------------------------------------------------------- */

/* What was found at some place: show up to `secret`, mask up to `end`. end 0: nothing. */
struct find {
    size_t secret;
    size_t end;
};

static size_t token_end(struct weir_slice s, size_t i)
{
    while (i < s.len && !is_break(s.ptr[i]) && !is_quote(s.ptr[i]) && s.ptr[i] != '&') i++;
    return i;
}

static struct find find_bearer(struct weir_slice s, size_t i)
{
    struct find none = {0};
    if (!has_at(s, i, "bearer")) return none;
    size_t at = i + strlen("bearer");
    size_t after_word = at;
    while (at < s.len && (is_blank(s.ptr[at]) || s.ptr[at] == ':' || s.ptr[at] == '=')) at++;
    if (at == after_word) return none;
    if (at < s.len && is_quote(s.ptr[at])) at++;
    size_t end = token_end(s, at);
    return end > at ? (struct find){at, end} : none;
}

/* Looks at no more than LONG_KEY bytes, lest many "sk-" make the walk quadratic. */
static bool is_long_key(struct weir_slice s, size_t at)
{
    bool has_digit = false;
    if (s.len - at < LONG_KEY) return false;
    struct weir_slice start = slice_of(s.ptr + at, LONG_KEY);
    for (size_t i = 0; i < LONG_KEY; i++) has_digit |= is_digit(start.ptr[i]);
    return has_digit && token_end(start, 0) == LONG_KEY;
}

static struct find find_key(struct weir_slice s, size_t i)
{
    struct find none = {0};
    if (!has_at(s, i, "sk-")) return none;
    size_t at = i + strlen("sk-");
    if (i > 0 && is_alnum(s.ptr[i - 1]) && !is_long_key(s, at)) return none;
    size_t end = token_end(s, at);
    return end > at ? (struct find){at, end} : none;
}

static size_t last_at_sign(struct weir_slice s, size_t from, size_t to)
{
    while (to > from && s.ptr[to - 1] != '@') to--;
    return to > from ? to - 1 : 0;
}

/* Whether host:port has something else than digits for a port. */
static bool has_bad_port(struct weir_slice s, size_t from, size_t to)
{
    if (from < to && s.ptr[from] == '[') return false;
    const char *colon = memchr(s.ptr + from, ':', to - from);
    if (!colon) return false;
    size_t i = (size_t)(colon - s.ptr) + 1;
    while (i < to && is_digit(s.ptr[i])) i++;
    return i < to;
}

static struct find find_userinfo(struct weir_slice s, size_t i)
{
    struct find none = {0};
    size_t at;
    if (has_at(s, i, "://")) at = i + 3;
    else if (has_at(s, i, ":\\/\\/")) at = i + 5; /* a URL in a JSON string */
    else return none;
    size_t end = at;
    while (end < s.len && !is_break(s.ptr[end]) && !is_quote(s.ptr[end]) &&
           !strchr("/?#\\<>", s.ptr[end]))
        end++;
    size_t sign = last_at_sign(s, at, end);
    /* A password with "/", "?" or "#" in it is not a URL, but people write it. */
    if (!sign && has_bad_port(s, at, end)) {
        size_t near = s.len - end < LONG_USERINFO ? s.len : end + LONG_USERINFO;
        sign = last_at_sign(s, at, token_end(slice_of(s.ptr, near), end));
    }
    return sign ? (struct find){at, sign} : none;
}

/* The quote that ends a quoted value; one with a backslash before it ends only its like. */
static size_t quoted_end(struct weir_slice s, size_t i, char quote, bool is_escaped)
{
    for (; i < s.len && s.ptr[i] != quote; i++)
        if (s.ptr[i] == '\\' && !is_escaped) i++;
    if (i > s.len) i = s.len;
    return i < s.len && is_escaped && s.ptr[i - 1] == '\\' ? i - 1 : i;
}

static size_t line_end(struct weir_slice s, size_t i, bool stops_at_quote)
{
    while (i < s.len && s.ptr[i] != '\n' && s.ptr[i] != '\r' &&
           !(stops_at_quote && is_quote(s.ptr[i])))
        i++;
    return i;
}

static bool has_value_with_spaces(struct weir_slice name)
{
    for (size_t i = 0; i < name.len; i++)
        if (word_end(name, i, "authorization") || word_end(name, i, "cookie")) return true;
    return false;
}

/* Steps over = or : or => with blanks, and the name's closing quote before it; 0 without one. */
static size_t assignment_end(struct weir_slice s, size_t i)
{
    if (i < s.len && s.ptr[i] == '\\') i++;
    if (i < s.len && is_quote(s.ptr[i])) i++;
    i = skip_blanks(s, i);
    if (i >= s.len || (s.ptr[i] != '=' && s.ptr[i] != ':')) return 0;
    i++;
    if (i < s.len && s.ptr[i] == '>') i++;
    return skip_blanks(s, i);
}

/* What of the assigned value is masked, when it begins at `at`. */
static struct find find_value(struct weir_slice s, size_t at, struct weir_slice name)
{
    size_t quote = at + (s.ptr[at] == '\\' && at + 1 < s.len);
    size_t end;
    if (is_quote(s.ptr[quote])) {
        at = quote + 1;
        end = quoted_end(s, at, s.ptr[quote], s.ptr[quote - 1] == '\\');
    } else if (s.ptr[at] == '[' || s.ptr[at] == '{') {
        end = line_end(s, at, false);
    } else {
        end = has_value_with_spaces(name) ? line_end(s, at, true) : token_end(s, at);
    }
    return end > at ? (struct find){at, end} : (struct find){0};
}

/* "?link=" and "&link=": a word that is no secret elsewhere. */
static bool is_link_parameter(struct weir_slice s, size_t i, struct weir_slice name)
{
    bool is_parameter = i > 0 && (s.ptr[i - 1] == '?' || s.ptr[i - 1] == '&');
    return is_parameter && name.len == 4 && has_at(name, 0, "link");
}

static struct find find_assigned(struct weir_slice s, size_t i)
{
    struct find none = {0};
    if (!is_name_char(s.ptr[i]) || (i > 0 && is_name_char(s.ptr[i - 1]))) return none;
    size_t name_end = i;
    while (name_end < s.len && is_name_char(s.ptr[name_end])) name_end++;
    struct weir_slice name = slice_of(s.ptr + i, name_end - i);
    size_t at = assignment_end(s, name_end);
    if (!at || at >= s.len) return none;
    if (!mask_is_secret_name(name) && !is_link_parameter(s, i, name)) return none;
    return find_value(s, at, name);
}

static struct find find_at(struct weir_slice s, size_t i)
{
    struct find found = find_assigned(s, i);
    if (!found.end) found = find_bearer(s, i);
    if (!found.end) found = find_key(s, i);
    if (!found.end) found = find_userinfo(s, i);
    return found;
}

/*
 * A secret may end in the word that tells the next one, as in "token: Bearer x":
 * what such a word masks belongs to the same mask.
 */
static size_t chain_end(struct weir_slice s, struct find found)
{
    size_t end = found.end;
    size_t i = found.secret;
    while (i < end) {
        if (end - i > LONG_NAME) i = end - LONG_NAME;
        struct find more = find_at(s, i++);
        if (more.end > end) end = more.end;
    }
    return end;
}

/* Byte by byte, so that a buffer is filled to its ceiling. */
static void append_shown(struct weir_buf *out, struct weir_slice s)
{
    for (size_t i = 0; i < s.len && out->status == WEIR_OK; i++)
        weir_buf_append_char(out, s.ptr[i]);
}

void mask_append(struct weir_buf *out, struct weir_slice s)
{
    size_t i = 0;
    while (i < s.len && out->status == WEIR_OK) {
        struct find found = find_at(s, i);
        if (!found.end) {
            weir_buf_append_char(out, s.ptr[i++]);
            continue;
        }
        append_shown(out, slice_of(s.ptr + i, found.secret - i));
        weir_buf_append_str(out, MASK_TEXT);
        i = chain_end(s, found);
    }
}
