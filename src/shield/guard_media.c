/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the bytes of a document are, by what is said of them and by how they begin. Text is what
 * says that it is text and can be read as such; all else is nothing that anybody can look into: a
 * PDF of letters and digits alone shows other words than those that it is made of.
 */
#include <string.h>
#include <strings.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "shield/guard_impl.h"
#include "shield/scan_impl.h"

enum { HEAD_BYTES = 512 /* of "data:…," with all its parameters */ };

static bool is_space(char c)
{
    return (unsigned char)c <= ' ';
}

static bool has_prefix(struct weir_slice text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && strncasecmp(text.ptr, prefix, len) == 0;
}

static bool has_suffix(struct weir_slice text, const char *suffix)
{
    size_t len = strlen(suffix);
    return text.len >= len && strncasecmp(text.ptr + text.len - len, suffix, len) == 0;
}

static const char *const text_types[] = {
    "json",
    "xml",
    "csv",
    "yaml",
    "x-yaml",
    "x-ndjson",
    "ndjson",
    "jsonl",
    "x-json",
    "javascript",
    "ecmascript",
    "markdown",
    "toml",
    "sql",
    "x-sh",
    "graphql",
    "x-www-form-urlencoded",
    "x-javascript",
    "typescript",
    "jsonlines",
};

bool guard_media_is_text(struct weir_slice type)
{
    const char *end = type.len > 0 ? memchr(type.ptr, ';', type.len) : NULL;
    if (end) type.len = (size_t)(end - type.ptr);
    while (type.len > 0 && is_space(type.ptr[type.len - 1])) type.len--;
    if (has_prefix(type, "text/")) return !has_suffix(type, "rtf") && !has_suffix(type, "richtext");
    if (!has_prefix(type, "application/")) return false;
    type = slice_from(type, strlen("application/"));
    for (size_t i = 0; i < sizeof text_types / sizeof text_types[0]; i++)
        if (type.len == strlen(text_types[i]) && has_prefix(type, text_types[i])) return true;
    return has_suffix(type, "+json") || has_suffix(type, "+xml");
}

/* Documents that are ASCII and no text: what they show is not what stands in them. */
static bool is_program_of_a_page(struct weir_slice bytes)
{
    static const char *const heads[] = {"{\\rtf", "%!PS"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (has_prefix(bytes, heads[i])) return true;
    /* Readers look for it in the first thousand bytes. */
    return memmem(bytes.ptr, bytes.len < 1024 ? bytes.len : 1024, "%PDF-", 5) != NULL;
}

bool guard_bytes_are_text(struct weir_slice bytes)
{
    if (utf8_valid_prefix(bytes) != bytes.len) return false;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        if (c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f') return false;
    }
    return bytes.len == 0 || !is_program_of_a_page(bytes);
}

bool guard_data_url(struct weir_slice text, struct guard_data_url *out)
{
    size_t at = 0;
    while (at < text.len && is_space(text.ptr[at])) at++;
    struct weir_slice rest = slice_from(text, at);
    if (!has_prefix(rest, "data:")) return false;
    rest = slice_from(rest, 5);
    const char *comma = memchr(rest.ptr, ',', rest.len < HEAD_BYTES ? rest.len : HEAD_BYTES);
    if (!comma) return false;
    struct weir_slice head = slice_of(rest.ptr, (size_t)(comma - rest.ptr));
    out->n_head = (size_t)(comma - text.ptr) + 1;
    out->is_base64 = false;
    const char *end = head.len > 0 ? memchr(head.ptr, ';', head.len) : NULL;
    out->type = end ? slice_of(head.ptr, (size_t)(end - head.ptr)) : head;
    for (size_t i = 0; i + 7 <= head.len; i++)
        if (head.ptr[i] == ';' && has_prefix(slice_from(head, i + 1), "base64"))
            out->is_base64 = true;
    /* "data: well, …" is a sentence: a type has a slash and no space. None at all is text. */
    if (out->type.len == 0) return out->is_base64;
    return memchr(out->type.ptr, '/', out->type.len) && !memchr(out->type.ptr, ' ', out->type.len);
}

bool guard_is_base64(struct weir_slice text)
{
    enum { SHORTEST = 64 };
    unsigned seen = 0;
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '\n' || c == '\r' || c == '\t') continue;
        if (!(shield_bytes[c] & BYTE_ALNUM) && !memchr("+/-_=", c, 5)) return false;
        seen |= shield_bytes[c] & BYTE_HEX ? 1U : 2U;
        n++;
    }
    /* Hashes are of hex digits alone. */
    return n >= SHORTEST && (seen & 2U);
}
