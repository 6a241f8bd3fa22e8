/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the library's strict reader with jansson; see json_peer.h. */
#include "oracle/json_peer.h"

#include <jansson.h>
#include <string.h>

#include <weir/json.h>

static const char *compare(const struct weir_json *ours, const json_t *theirs);

/* ---- what only we accept ---- */

static bool has_lone_surrogate(struct weir_slice s)
{
    for (size_t i = 0; i + 2 < s.len; i++)
        if ((unsigned char)s.ptr[i] == 0xed && (unsigned char)s.ptr[i + 1] >= 0xa0) return true;
    return false;
}

static bool is_beyond_jansson(const struct weir_json *v)
{
    struct weir_slice text = weir_json_text(v);
    struct weir_slice key = weir_json_key(v);
    int64_t n;
    double x;
    if (has_lone_surrogate(key) || (key.len > 0 && memchr(key.ptr, 0, key.len))) return true;
    if (weir_json_type_of(v) == WEIR_JSON_STRING && has_lone_surrogate(text)) return true;
    if (weir_json_type_of(v) == WEIR_JSON_NUMBER) {
        bool is_plain = !memchr(text.ptr, '.', text.len) && !memchr(text.ptr, 'e', text.len) &&
                        !memchr(text.ptr, 'E', text.len);
        if (is_plain ? !weir_json_int64(v, &n) : !weir_json_double(v, &x)) return true;
    }
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m))
        if (is_beyond_jansson(m)) return true;
    return false;
}

/* A value that a later one with the same key replaced is gone, but jansson has seen it. */
static bool may_hide_refusals(struct weir_slice text)
{
    static const char *const marks[] = {"\\ud", "\\uD", "\\u0000", "e", "E"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (memmem(text.ptr, text.len, marks[i], strlen(marks[i]))) return true;
    size_t n_digits = 0;
    for (size_t i = 0; i < text.len; i++) {
        n_digits = text.ptr[i] >= '0' && text.ptr[i] <= '9' ? n_digits + 1 : 0;
        if (n_digits > 18) return true;
    }
    return false;
}

/* ---- values ---- */

static const char *compare_number(const struct weir_json *ours, const json_t *theirs)
{
    int64_t n;
    double x;
    if (json_is_integer(theirs))
        return weir_json_int64(ours, &n) && n == json_integer_value(theirs) ? NULL : "an integer";
    if (!json_is_real(theirs) || !weir_json_double(ours, &x)) return "a number";
    double y = json_real_value(theirs);
    return memcmp(&x, &y, sizeof x) == 0 ? NULL : "a double";
}

static const char *compare_members(const struct weir_json *ours, const json_t *theirs)
{
    bool is_object = weir_json_type_of(ours) == WEIR_JSON_OBJECT;
    size_t i = 0;
    if (is_object ? !json_is_object(theirs) : !json_is_array(theirs)) return "a container's type";
    if (weir_json_count(ours) != (is_object ? json_object_size(theirs) : json_array_size(theirs)))
        return "the number of members";
    for (const struct weir_json *m = weir_json_first(ours); m; m = weir_json_next(m), i++) {
        char key[4097];
        struct weir_slice text = weir_json_key(m);
        if (text.len >= sizeof key) return NULL;
        if (text.len > 0) memcpy(key, text.ptr, text.len);
        key[text.len] = 0;
        const json_t *other = is_object ? json_object_get(theirs, key) : json_array_get(theirs, i);
        const char *complaint = other ? compare(m, other) : "a key";
        if (complaint) return complaint;
    }
    return NULL;
}

static const char *compare(const struct weir_json *ours, const json_t *theirs)
{
    struct weir_slice text = weir_json_text(ours);
    switch (weir_json_type_of(ours)) {
    case WEIR_JSON_NULL: return json_is_null(theirs) ? NULL : "null";
    case WEIR_JSON_FALSE: return json_is_false(theirs) ? NULL : "false";
    case WEIR_JSON_TRUE: return json_is_true(theirs) ? NULL : "true";
    case WEIR_JSON_NUMBER: return compare_number(ours, theirs);
    case WEIR_JSON_STRING:
        if (!json_is_string(theirs) || json_string_length(theirs) != text.len) return "a string";
        return memcmp(json_string_value(theirs), text.ptr, text.len) == 0 ? NULL : "a text";
    case WEIR_JSON_ARRAY:
    case WEIR_JSON_OBJECT: return compare_members(ours, theirs);
    }
    return "a type";
}

const char *json_peer_disagreement(struct weir_slice text)
{
    json_error_t error;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *ours = NULL;
    const char *complaint = NULL;
    bool has_nul = text.len > 0 && memchr(text.ptr, 0, text.len);
    json_t *theirs = json_loadb(text.len > 0 ? text.ptr : "", text.len,
                                JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    enum weir_status st = weir_json_parse(doc, text, &ours, NULL);
    if (st == WEIR_OK && theirs) complaint = compare(ours, theirs);
    else if (st == WEIR_OK && !is_beyond_jansson(ours) && !may_hide_refusals(text))
        complaint = "a text that only we accept";
    else if (theirs && !has_nul && st != WEIR_JSON_DEPTH)
        complaint = "a text that only jansson accepts";
    json_decref(theirs);
    weir_json_doc_free(doc);
    return complaint;
}
