/* SPDX-License-Identifier: Apache-2.0 */
/* The list of top-level domains, and host names by RFC 1034, 1123 and 5890. */
#include "shield/tld.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"

enum { NAME_MAX_BYTES = 24 };

static const char *const tlds[] = {
#define X(name) name,
#include "shield/tld.def"
#undef X
};

/*
 * Domains that stand for themselves without a word, "www." or a path: the old ones, and of the many
 * new ones those that are neither a common word nor used in code. Those of countries are all right
 * but for the ones in `words`.
 */
static const char *const plain[] = {
    "academy",    "aero",    "agency",     "ai",        "amsterdam",   "app",     "asia",
    "bank",       "berlin",  "biz",        "blog",      "cloud",       "club",    "com",
    "consulting", "coop",    "dev",        "digital",   "edu",         "finance", "gov",
    "gmbh",       "hamburg", "health",     "info",      "jobs",        "koeln",   "legal",
    "london",     "ltd",     "media",      "mil",       "mobi",        "museum",  "net",
    "nyc",        "online",  "org",        "paris",     "photography", "pro",     "services",
    "shop",       "site",    "software",   "solutions", "swiss",       "systems", "tech",
    "tokyo",      "travel",  "university", "website",   "wien",        "xyz",
};

/* Of two letters, and words or the ends of files as well. */
static const char *const words[] = {
    "as", "bat", "by", "cc", "cs", "do", "es", "et", "gl", "hr", "id", "if", "is", "km",
    "lc", "ls",  "md", "mm", "ms", "mt", "my", "no", "pm", "ps", "py", "rs", "sa", "sc",
    "sh", "so",  "st", "tc", "td", "to", "ac", "am", "mk", "ws", "ml", "vi", "pw", "kg",
    "cm", "mg",  "gb", "mu", "ne", "pt", "re", "sr", "tr", "va", "li",
};

static const char *const files[] = {
    "bmp", "bz2",  "c",   "cfg", "conf", "cpp", "css",  "csv",  "dll",  "doc", "docx",
    "exe", "gif",  "go",  "gz",  "h",    "hpp", "htm",  "html", "ico",  "ini", "iso",
    "jar", "jpeg", "jpg", "js",  "json", "jsx", "lock", "log",  "mp3",  "mp4", "pdf",
    "php", "png",  "ppt", "rb",  "scss", "sql", "svg",  "tar",  "tgz",  "tif", "toml",
    "ts",  "tsx",  "txt", "wav", "webp", "xls", "xlsx", "xml",  "yaml", "yml",
};

/* The name in lower case; false when it is longer than any. */
static bool fold(struct weir_slice name, char out[NAME_MAX_BYTES + 1])
{
    if (name.len == 0 || name.len > NAME_MAX_BYTES) return false;
    for (size_t i = 0; i < name.len; i++) out[i] = (char)lower_of((unsigned char)name.ptr[i]);
    out[name.len] = 0;
    return true;
}

static bool is_in(const char *const *list, size_t n, struct weir_slice name)
{
    char text[NAME_MAX_BYTES + 1];
    if (!fold(name, text)) return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], text) == 0) return true;
    return false;
}

bool tld_is_known(struct weir_slice name)
{
    char text[NAME_MAX_BYTES + 1];
    size_t low = 0, high = sizeof tlds / sizeof tlds[0];
    if (!fold(name, text)) return false;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(tlds[middle], text);
        if (order == 0) return true;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}

bool tld_is_word(struct weir_slice name)
{
    if (name.len == 2) return is_in(words, sizeof words / sizeof words[0], name);
    if (name.len > 4 && strncasecmp(name.ptr, "xn--", 4) == 0) return false;
    return !is_in(plain, sizeof plain / sizeof plain[0], name);
}

bool tld_is_file(struct weir_slice name)
{
    return is_in(files, sizeof files / sizeof files[0], name);
}

uint32_t scan_point(const struct scan *s, size_t at, size_t *n)
{
    struct weir_slice rest = {(const char *)s->text + at, s->len - at};
    *n = 1;
    if (rest.len > UTF8_MAX_BYTES) rest.len = UTF8_MAX_BYTES;
    if (rest.len == 0 || utf8_first(rest, n) != UTF8_WHOLE) return 0;
    const unsigned char *p = s->text + at;
    switch (*n) {
    case 1: return p[0];
    case 2: return (p[0] & 31U) << 6 | (p[1] & 63U);
    case 3: return (p[0] & 15U) << 12 | (p[1] & 63U) << 6 | (p[2] & 63U);
    default: return (p[0] & 7U) << 18 | (p[1] & 63U) << 12 | (p[2] & 63U) << 6 | (p[3] & 63U);
    }
}

bool point_is_letter(uint32_t c)
{
    if (c >= 0xC0 && c <= 0x24F) return c != 0xD7 && c != 0xF7;
    return (c >= 0x370 && c <= 0x5EA) || (c >= 0x620 && c <= 0x669) || (c >= 0x900 && c <= 0xDFF);
}

/* Letters of IDN labels: alphabets, and the ideographs, kana and hangul. */
static bool is_label_point(uint32_t c)
{
    return point_is_letter(c) || (c >= 0x3041 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) ||
           (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xE01 && c <= 0xE4E);
}

/* The end of a label, or its beginning when there is none. A label is all ASCII or, in part, not.
 */
static size_t label_end(const struct scan *s, size_t at, unsigned *classes)
{
    size_t from = at;
    while (at < s->len && at - from <= LABEL_MAX * 3) {
        unsigned c = shield_bytes[s->text[at]];
        if ((c & BYTE_ALNUM) || s->text[at] == '-') {
            at++;
        } else if (c & BYTE_HIGH) {
            size_t n;
            if (!is_label_point(scan_point(s, at, &n))) break;
            at += n;
        } else {
            break;
        }
        *classes |= c;
    }
    while (at > from && s->text[at - 1] == '-') at--;
    return at;
}

bool host_read(const struct scan *s, size_t at, struct host *out)
{
    *out = (struct host){.start = at, .end = at, .tld = at};
    while (out->n_labels < HOST_LABELS) {
        size_t end = label_end(s, at, &out->classes);
        if (end == at || s->text[at] == '-' || end - at > LABEL_MAX * 3) break;
        out->tld = at;
        out->end = end;
        out->n_labels++;
        if (scan_byte(s, end) != '.') break;
        at = end + 1;
    }
    return out->n_labels > 0;
}

struct weir_slice host_tld(const struct scan *s, const struct host *h)
{
    return (struct weir_slice){(const char *)s->text + h->tld, h->end - h->tld};
}
