/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets by what they are assigned to: password = "...", API_KEY=..., "token": "...",
 * Authorization: Bearer ..., and "my password is ..." in a sentence.
 *
 * The name says that a secret follows, and the value has to look like one: enough bits, no word of
 * a sentence, no reference to another place ($PASSWORD, os.environ, a call), no placeholder.
 */
#include <string.h>
#include <strings.h>

#include "base/slice.h"
#include "shield/secret.h"

enum { NAME_MAX_BYTES = 48, VALUE_MAX = 512, GAP_MAX = 16 };

/* What a name says of its value. */
enum named { NAMED_NOTHING, NAMED_PASSWORD, NAMED_KEY, NAMED_HEADER };

struct value {
    size_t start, end;
    bool is_quoted;
};

/* The letters and digits of the name before a place, in lower case; false: there is none. */
static bool read_name(const struct scan *s, size_t at, char out[NAME_MAX_BYTES + 1])
{
    size_t end = at, n = 0;
    while (end > 0 && at - end < 4 && strchr(" \"'`]:", s->text[end - 1]) && s->text[end - 1])
        end--;
    size_t from = end;
    while (from > 0 && end - from < NAME_MAX_BYTES &&
           (scan_is_before(s, from, BYTE_ALNUM) || strchr("_-.", s->text[from - 1])) &&
           s->text[from - 1])
        from--;
    for (size_t i = from; i < end; i++)
        if (scan_is(s, i, BYTE_ALNUM)) out[n++] = (char)lower_of(s->text[i]);
    while (n > 0 && out[n - 1] >= '0' && out[n - 1] <= '9') n--;
    out[n] = 0;
    return n >= 2;
}

static bool ends_with(const char *name, const char *const *ends, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (slice_ends_with_nocase(weir_slice_of(name), ends[i])) return true;
    return false;
}

static enum named name_kind(const char *name)
{
    static const char *const passwords[] = {"password",   "passwd",     "passwort", "passphrase",
                                            "passcode",   "pwd",        "pass",     "contrasena",
                                            "wachtwoord", "motdepasse", "parol",    "senha"};
    static const char *const keys[] = {
        "secret",          "token",      "apikey",     "accesskey",       "secretkey",
        "privatekey",      "authkey",    "signingkey", "encryptionkey",   "masterkey",
        "accountkey",      "sharedkey",  "credential", "credentials",     "keybase",
        "secretaccesskey", "clientkey",  "appkey",     "sharedaccesskey", "licensekey",
        "webhookkey",      "sessionkey", "jwtkey"};
    if (strcmp(name, "pw") == 0) return NAMED_PASSWORD;
    if (strcmp(name, "authorization") == 0 || strcmp(name, "xapikey") == 0) return NAMED_HEADER;
    if (ends_with(name, passwords, sizeof passwords / sizeof passwords[0])) return NAMED_PASSWORD;
    if (ends_with(name, keys, sizeof keys / sizeof keys[0])) return NAMED_KEY;
    return NAMED_NOTHING;
}

static bool is_value_end(unsigned char c)
{
    return c <= ' ' || strchr(",;)]}\"'`<>", c) != NULL;
}

static size_t value_end(const struct scan *s, size_t from, unsigned char quote)
{
    size_t end = from;
    while (end < s->len && end - from < VALUE_MAX) {
        unsigned char c = s->text[end];
        if (quote ? c == quote || c == '\n' || c == '\\' : is_value_end(c) || c == '&') break;
        end++;
    }
    while (!quote && end > from && strchr(".:?", s->text[end - 1])) end--;
    return end;
}

/* The value after a sign; false when there is none on this line. */
static bool read_value(const struct scan *s, size_t at, struct value *v)
{
    size_t from = at;
    while (from < s->len && from - at < GAP_MAX && s->text[from] && strchr(" \t=>:", s->text[from]))
        from++;
    if (scan_byte(s, from) == '\\' && scan_byte(s, from + 1) == '"') from++;
    unsigned char quote = scan_byte(s, from);
    v->is_quoted = quote == '"' || quote == '\'' || quote == '`';
    v->start = v->is_quoted ? from + 1 : from;
    v->end = value_end(s, v->start, v->is_quoted ? quote : 0);
    return v->end > v->start && v->end - v->start < VALUE_MAX;
}

/* Where the value really is: a variable, a file, a call, another address. */
static bool is_reference(struct weir_slice v, bool is_quoted)
{
    static const char *const heads[] = {
        "$",      "%",        "process.env", "os.environ", "env.",  "env(",  "ENV[",
        "vault:", "ssm:",     "arn:",        "/",          "./",    "~/",    "file:",
        "@",      "secrets.", "config.",     "self.",      "this.", "args.", "http"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        size_t len = strlen(heads[i]);
        if (v.len >= len && strncasecmp(v.ptr, heads[i], len) == 0) return true;
    }
    if (is_quoted) return false;
    return memchr(v.ptr, '(', v.len) || memchr(v.ptr, '[', v.len);
}

/* Words that stand where a password would: in forms, in code, in sentences. */
static bool is_word(struct weir_slice v)
{
    static const char *const words[] = {
        "password", "passwort",  "secret",  "token",    "none",     "null",   "nil",    "true",
        "false",    "undefined", "string",  "required", "optional", "hidden", "reset",  "test",
        "text",     "incorrect", "invalid", "expired",  "changed",  "basic",  "bearer", "empty"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (v.len == strlen(words[i]) && strncasecmp(v.ptr, words[i], v.len) == 0) return true;
    return false;
}

/* Classes of the bytes; signs count as BYTE_SIGN. */
static unsigned classes_of(struct weir_slice v)
{
    unsigned classes = 0;
    for (size_t i = 0; i < v.len; i++) {
        unsigned c = shield_bytes[(unsigned char)v.ptr[i]];
        classes |= c & BYTE_ALNUM ? c & BYTE_ALNUM : BYTE_SIGN;
    }
    return classes;
}

static bool is_password(struct weir_slice v, bool is_quoted)
{
    unsigned classes = classes_of(v);
    bool has_letter = (classes & BYTE_LETTER) != 0;
    bool is_mixed =
        has_letter && ((classes & BYTE_DIGIT) || (classes & BYTE_LETTER) == BYTE_LETTER);
    double bits = entropy_of(v) * (double)v.len;
    if (v.len < 5 || v.len > 128) return false;
    if (is_quoted)
        return (has_letter || (classes & BYTE_DIGIT)) && bits >= 12 && !memchr(v.ptr, ' ', v.len);
    /* In a sentence a word with a capital is a name, in code one of letters is another variable. */
    bool has_digit = (classes & BYTE_DIGIT) != 0;
    return bits >= 14 && (has_digit || (is_mixed && (classes & BYTE_SIGN))) && v.len >= 6;
}

static bool is_key(struct weir_slice v)
{
    unsigned classes = classes_of(v);
    if (v.len < 12 || memchr(v.ptr, ' ', v.len)) return false;
    bool has_digit = (classes & BYTE_DIGIT) != 0;
    bool is_long = v.len >= 20 && (classes & BYTE_LETTER) == BYTE_LETTER;
    if (!(classes & BYTE_LETTER) && v.len < 20) return false;
    return (has_digit || is_long) && entropy_of(v) >= (v.len >= 20 ? 3.0 : 2.8);
}

static void add_value(struct scan *s, const struct value *v, const char *label)
{
    struct shield_finding f = {
        .label = label, .score = 0.8F, .category = SHIELD_SECRET, .source = SHIELD_ENTROPY};
    scan_found_by(s, v->start, v->end, f);
}

static bool is_secret_value(struct weir_slice text, enum named kind, bool is_quoted)
{
    if (is_reference(text, is_quoted) || is_word(text) || value_is_placeholder(text)) return false;
    return kind == NAMED_PASSWORD ? is_password(text, is_quoted) : is_key(text);
}

/* "Bearer ..." and "Basic ...": the value is the next word. */
static bool skip_scheme(const struct scan *s, struct value *v)
{
    static const char *const schemes[] = {"bearer", "basic", "token", "apikey"};
    struct weir_slice text = slice_of(s->text + v->start, v->end - v->start);
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t len = strlen(schemes[i]);
        if (text.len < len || strncasecmp(text.ptr, schemes[i], len) != 0) continue;
        if (text.len == len) return scan_byte(s, v->end) == ' ' && read_value(s, v->end, v);
        if (text.ptr[len] != ' ') continue;
        v->start += len + 1;
        return true;
    }
    return true;
}

/* "curl -u bob:…": what a colon divides after such an option is a name and a password. */
static bool is_user_option(const struct scan *s, size_t at)
{
    enum { LINE_MAX = 256 };
    static const char *const options[] = {"-u", "-U", "--user", "--proxy-user"};
    size_t end = at;
    if (s->text[at] != ':' || scan_byte(s, at + 1) <= ' ') return false;
    while (end > 0 && at - end < NAME_MAX_BYTES && s->text[end - 1] > ' ' &&
           !strchr("=:\"'", s->text[end - 1]))
        end--;
    while (end > 0 && at - end < NAME_MAX_BYTES && strchr(" =\"'", s->text[end - 1])) end--;
    struct weir_slice before = slice_of(s->text, end);
    if (end > LINE_MAX) before = slice_of(s->text + end - LINE_MAX, LINE_MAX);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        size_t len = strlen(options[i]);
        if (before.len > len && slice_ends_with_nocase(before, options[i]) &&
            before.ptr[before.len - len - 1] == ' ')
            return memmem(before.ptr, before.len, "curl", 4) != NULL;
    }
    return false;
}

size_t match_assignment(struct scan *s, size_t at)
{
    char name[NAME_MAX_BYTES + 1];
    struct value v;
    size_t next = at + 1;
    bool has_name = read_name(s, at, name);
    enum named kind = has_name ? name_kind(name) : NAMED_NOTHING;
    if (kind == NAMED_NOTHING && is_user_option(s, at)) kind = NAMED_PASSWORD;
    if (kind == NAMED_NOTHING || !read_value(s, at, &v)) return next;
    if (kind != NAMED_PASSWORD && !skip_scheme(s, &v)) return next;
    struct weir_slice text = slice_of(s->text + v.start, v.end - v.start);
    if (!is_secret_value(text, kind, v.is_quoted)) return next;
    add_value(s, &v, kind == NAMED_PASSWORD ? "password" : "assigned_key");
    return next;
}

/* The word that ends before a place, after spaces; its beginning, or `at`. */
static size_t word_before(const struct scan *s, size_t at, size_t *end)
{
    while (at > 0 && s->text[at - 1] == ' ') at--;
    *end = at;
    while (at > 0 && *end - at < NAME_MAX_BYTES && scan_is_before(s, at, BYTE_LETTER)) at--;
    return at;
}

/* Signs of the sentence around a value. */
static void trim_signs(const struct scan *s, struct value *v)
{
    while (v->start < v->end && strchr("\"'`", s->text[v->start])) v->start++;
    while (v->end > v->start && strchr("\"'`.,;", s->text[v->end - 1])) v->end--;
}

/* "Bearer 7f3a…" without the name of its header. */
static void match_bearer(struct scan *s, size_t at, size_t end)
{
    struct value v = {at, end, false};
    trim_signs(s, &v);
    struct weir_slice text = slice_of(s->text + v.start, v.end - v.start);
    if (text.len >= 16 && is_secret_value(text, NAMED_KEY, false)) add_value(s, &v, "assigned_key");
}

void match_spoken(struct scan *s, size_t at, size_t end)
{
    size_t is_end, name_end;
    size_t is_at = word_before(s, at, &is_end);
    struct weir_slice verb = slice_of(s->text + is_at, is_end - is_at);
    if (verb.len == 6 && strncasecmp(verb.ptr, "bearer", 6) == 0) {
        match_bearer(s, at, end);
        return;
    }
    if (!weir_slice_is(verb, "is") && !weir_slice_is(verb, "ist") && !weir_slice_is(verb, "was"))
        return;
    size_t name_at = word_before(s, is_at, &name_end);
    unsigned context = context_of(s->rules, slice_of(s->text + name_at, name_end - name_at));
    if (!(context & CONTEXT_PASSWORD)) return;
    struct value v = {at, end, false};
    trim_signs(s, &v);
    struct weir_slice text = slice_of(s->text + v.start, v.end - v.start);
    if (is_secret_value(text, NAMED_PASSWORD, false)) add_value(s, &v, "password");
}
