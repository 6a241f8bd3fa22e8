/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON (RFC 8259), exact and incremental.
 *
 * Values live in a document, which owns all their memory and has a ceiling.
 * They are read through `const struct weir_json *`; numbers keep their source
 * text, so no digit is lost. Strings are UTF-8 and may contain NUL; a lone
 * surrogate escape is kept as its three-byte generalised form (WTF-8) and is
 * written back as the same escape.
 *
 * Strict:       weir_json_doc_new, weir_json_parse, read, weir_json_doc_free.
 * Incremental:  weir_json_reader_new, weir_json_reader_feed as bytes arrive,
 *               weir_json_reader_value after any of them, weir_json_reader_end.
 * Writing:      weir_json_put_* on a weir_buf; commas are placed by themselves.
 *
 * The incremental value only ever grows: strings get longer, arrays and objects
 * get more members; numbers and literals appear when whole, a key with its
 * value. The one exception is a repeated key, whose last value wins. Values are
 * the live tree, not a copy; a slice taken from one stays readable until the
 * document is reset or freed. One thread at a time per document.
 */
#pragma once

#include <weir/buf.h>

WEIR_BEGIN

struct weir_json;
struct weir_json_doc;
struct weir_json_reader;

enum weir_json_type {
    WEIR_JSON_NULL,
    WEIR_JSON_FALSE,
    WEIR_JSON_TRUE,
    WEIR_JSON_NUMBER,
    WEIR_JSON_STRING,
    WEIR_JSON_ARRAY,
    WEIR_JSON_OBJECT
};

#define WEIR_JSON_DEFAULT_DEPTH 512u
#define WEIR_JSON_DEFAULT_BYTES ((size_t)256 << 20)

/* ---- documents ---- */

/* max_bytes: ceiling on the memory of all values, 0 for the default. NULL: no memory. */
WEIR_API struct weir_json_doc *weir_json_doc_new(size_t max_bytes);
WEIR_API void weir_json_doc_free(struct weir_json_doc *doc);

/* Drops every value, keeps some memory for the next. Its readers must be reset as well. */
WEIR_API void weir_json_doc_reset(struct weir_json_doc *doc);

/* ---- reading text ---- */

/*
 * Parses one whole JSON text. On success *value is it; on failure *value is NULL.
 * *offset (may be NULL) is the number of bytes that could still have begun a JSON
 * text: on error the index of the offending byte, for WEIR_JSON_TRUNCATED the length.
 * WEIR_JSON_SYNTAX, WEIR_JSON_UTF8, WEIR_JSON_DEPTH, WEIR_JSON_TRUNCATED,
 * WEIR_LIMIT, WEIR_NOMEM.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_json_parse(struct weir_json_doc *doc,
                                                          struct weir_slice text,
                                                          const struct weir_json **value,
                                                          size_t *offset);

/*
 * A reader builds its value inside doc; several readers may share one document,
 * and each must be freed before it. max_depth 0 means the default. NULL: no memory.
 */
WEIR_API struct weir_json_reader *weir_json_reader_new(struct weir_json_doc *doc,
                                                       unsigned max_depth);
WEIR_API void weir_json_reader_free(struct weir_json_reader *r);

/* Begins a new text in the same document; earlier values stay. */
WEIR_API void weir_json_reader_reset(struct weir_json_reader *r);

/*
 * Takes the next bytes. Errors as in weir_json_parse; they stick until a reset. Like
 * the value, an error and its offset do not depend on how the text was cut, but for
 * where in a string WEIR_LIMIT strikes: growing in pieces takes other memory.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_json_reader_feed(struct weir_json_reader *r,
                                                                const void *bytes, size_t len);

/* Says the text is complete. WEIR_JSON_TRUNCATED when it is not. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_json_reader_end(struct weir_json_reader *r);

/*
 * Says the text was cut off here and no more will come: half of a surrogate pair
 * that was held back is now known to stand alone and is shown. A number at the
 * cut stays hidden, for more digits may have been lost.
 */
WEIR_API void weir_json_reader_cut(struct weir_json_reader *r);

/* What has arrived so far; NULL while there is nothing to show. O(1), no copy. */
WEIR_API const struct weir_json *weir_json_reader_value(const struct weir_json_reader *r);

/* The same, for those who hang it into a larger value of the same document. */
WEIR_API struct weir_json *weir_json_reader_root(struct weir_json_reader *r);

/* Bytes accepted so far; after an error the index of the offending byte. */
WEIR_API size_t weir_json_reader_offset(const struct weir_json_reader *r);

/* What the reader waits for, or missed when it failed: "a value", "a key or }". */
WEIR_API const char *weir_json_reader_expected(const struct weir_json_reader *r);

/* ---- reading values; all accept NULL and say "nothing" ---- */

WEIR_API enum weir_json_type weir_json_type_of(const struct weir_json *v); /* NULL: ..._NULL */

/* False while a string, array or object may still grow. */
WEIR_API bool weir_json_is_whole(const struct weir_json *v);

/* A string's bytes or a number's source text; empty for all other types. */
WEIR_API struct weir_slice weir_json_text(const struct weir_json *v);

/* False when v is no number or not exactly such an integer (1e2 and 2.0 are). */
WEIR_API bool weir_json_int64(const struct weir_json *v, int64_t *out);

/* Nearest double; false when v is no number or lies outside the double range. */
WEIR_API bool weir_json_double(const struct weir_json *v, double *out);

/* A member by key; NULL when v is no object or has none. */
WEIR_API const struct weir_json *weir_json_get(const struct weir_json *v, struct weir_slice key);
WEIR_API const struct weir_json *weir_json_get_str(const struct weir_json *v, const char *key);

/* The same, to be changed. */
WEIR_API struct weir_json *weir_json_member(struct weir_json *object, struct weir_slice key);

/* Members of an array or object in order: first, then next until NULL. */
WEIR_API const struct weir_json *weir_json_first(const struct weir_json *v);
WEIR_API const struct weir_json *weir_json_next(const struct weir_json *member);

/* The key of an object's member; empty for others. */
WEIR_API struct weir_slice weir_json_key(const struct weir_json *member);

/* How many members an array or object has. */
WEIR_API size_t weir_json_count(const struct weir_json *v);

/* Whether both would be written as the same bytes. */
WEIR_API bool weir_json_equal(const struct weir_json *a, const struct weir_json *b);

/* ---- building values ---- */

/*
 * New values belong to doc and to no parent yet; a number is 0, all others are
 * empty. A double that is not finite gives null. NULL: ceiling or no memory.
 */
WEIR_API struct weir_json *weir_json_new(struct weir_json_doc *doc, enum weir_json_type type);
WEIR_API struct weir_json *weir_json_new_string(struct weir_json_doc *doc, struct weir_slice text);
WEIR_API struct weir_json *weir_json_new_int(struct weir_json_doc *doc, int64_t n);
WEIR_API struct weir_json *weir_json_new_double(struct weir_json_doc *doc, double x);

/* A deep copy from any document. */
WEIR_API struct weir_json *weir_json_copy(struct weir_json_doc *doc, const struct weir_json *v);

/*
 * Hangs a value without a parent under an object or array of the same document; a
 * value already under that key is replaced in its place. So that calls nest, a
 * value or container that is NULL gives the reason why it could not be made
 * (WEIR_LIMIT, WEIR_NOMEM). WEIR_INVALID: wrong type, the value has a parent, or
 * it would come to contain itself.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_json_set(struct weir_json_doc *doc,
                                                        struct weir_json *object,
                                                        struct weir_slice key,
                                                        struct weir_json *value);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_json_push(struct weir_json_doc *doc,
                                                         struct weir_json *array,
                                                         struct weir_json *value);

/* As push, but before the member that now has this position; beyond the end it appends. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_json_insert(struct weir_json_doc *doc,
                                                           struct weir_json *array, size_t position,
                                                           struct weir_json *value);

/*
 * Makes a member equal to value, by copy. Where the old value has the same shape,
 * its numbers and strings are changed where they stand, so that counters can be
 * updated for ever in bounded memory; slices taken from them see the change. When
 * another shape does not fit in the memory left, the old value stays.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_json_update(struct weir_json_doc *doc,
                                                           struct weir_json *object,
                                                           struct weir_slice key,
                                                           const struct weir_json *value);

/*
 * Appends to a string value, in amortised constant time per byte. Halves of a
 * surrogate pair that meet at the seam become one character, which changes the
 * last three bytes; slices taken before see that.
 */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_json_append(struct weir_json_doc *doc,
                                                           struct weir_json *string,
                                                           struct weir_slice more);

/* ---- writing text: put what the grammar asks for, in its order; nothing checks it ---- */

WEIR_API void weir_json_put_begin_object(struct weir_buf *out);
WEIR_API void weir_json_put_end_object(struct weir_buf *out);
WEIR_API void weir_json_put_begin_array(struct weir_buf *out);
WEIR_API void weir_json_put_end_array(struct weir_buf *out);
WEIR_API void weir_json_put_key(struct weir_buf *out, const char *key);
WEIR_API void weir_json_put_key_slice(struct weir_buf *out, struct weir_slice key);
WEIR_API void weir_json_put_string(struct weir_buf *out, struct weir_slice text);
WEIR_API void weir_json_put_str(struct weir_buf *out, const char *text); /* NULL: null */
WEIR_API void weir_json_put_int(struct weir_buf *out, int64_t n);
WEIR_API void weir_json_put_uint(struct weir_buf *out, uint64_t n);
WEIR_API void weir_json_put_double(struct weir_buf *out, double x); /* not finite: null */
WEIR_API void weir_json_put_bool(struct weir_buf *out, bool b);
WEIR_API void weir_json_put_null(struct weir_buf *out);

/* A whole value, compact; NULL gives null. No recursion, any depth. */
WEIR_API void weir_json_put_value(struct weir_buf *out, const struct weir_json *v);

WEIR_END
