/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML as exports have it: elements and attributes, piece by piece, in bounded memory.
 *
 * 1. xml_new(), or xml_new_inside() to go on in the middle of a document.
 * 2. xml_feed() with pieces of any size, xml_end(). The handler hears of each tag.
 * 3. xml_free().
 *
 * It is no validating reader and means to be none. Apple has shipped exports whose DOCTYPE is not
 * well-formed, whose tags name an attribute twice, and whose text has control characters in it:
 * strict readers refuse years of a person's data for that. So a DOCTYPE is skipped unread, the
 * first of two attributes counts (both are shown), and control characters are blanks.
 *
 * What could hurt is refused: declarations of entities, references to any but the five of XML and
 * to characters, NUL bytes, bytes that are not UTF-8, tags that do not match, and whatever is
 * larger than a ceiling below. Text between tags is skipped. One thread at a time.
 */
#pragma once

#include <weir/status.h>

enum {
    XML_TAG_BYTES = 1 << 20,       /* longest tag, attributes and all */
    XML_ATTRS = 64,                /* most attributes of a tag */
    XML_DEPTH = 64,                /* deepest nesting */
    XML_NAME_BYTES = 128,          /* longest name of an element */
    XML_DOCTYPE_BYTES = 256 << 10, /* longest DOCTYPE; Apple's are 8 KB */
};

struct xml;

/* The value is as it stands in the file; xml_value() resolves its references. */
struct xml_attr {
    struct weir_slice name, raw;
    bool is_plain; /* raw is the value */
};

struct xml_tag {
    struct weir_slice name;
    const struct xml_attr *attrs;
    size_t n_attrs;
    unsigned depth;  /* of the element: 1 is the root */
    uint64_t offset; /* of the byte behind the tag, from the beginning of the document */
};

/*
 * Called for each tag, an empty element having both; slices are borrowed for the call. Anything
 * but WEIR_OK ends the reading and comes out of xml_feed().
 */
struct xml_handler {
    void *user;
    enum weir_status (*start)(void *user, const struct xml_tag *tag);
    enum weir_status (*end)(void *user, const struct xml_tag *tag); /* without attributes */
};

struct xml *xml_new(const struct xml_handler *handler); /* NULL: no memory */

/* Begins behind a child of the root, at this offset and line of the document. */
struct xml *xml_new_inside(const struct xml_handler *handler, struct weir_slice root,
                           uint64_t offset, uint64_t line);
void xml_free(struct xml *x); /* NULL is allowed */

/* WEIR_INVALID, WEIR_LIMIT, WEIR_NOMEM, or what the handler said; it sticks. */
WEIR_MUST_CHECK enum weir_status xml_feed(struct xml *x, struct weir_slice bytes);

/* The document is whole. WEIR_INVALID when it is not. */
WEIR_MUST_CHECK enum weir_status xml_end(struct xml *x);

/* Inside of a call of the handler: the value, valid until it returns; false when it has none. */
bool xml_value(struct xml *x, const struct xml_attr *a, struct weir_slice *out);

/* The line where the tag that is or was handled last begins, or where it went wrong; from 1. */
uint64_t xml_line(const struct xml *x);

/* What is wrong, without the line; "" while nothing is. */
const char *xml_error(const struct xml *x);
