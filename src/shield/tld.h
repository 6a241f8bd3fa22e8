/* SPDX-License-Identifier: Apache-2.0 */
/* Top-level domains, and host names in a text. */
#pragma once

#include "shield/scan_impl.h"

enum { HOST_LABELS = 128, LABEL_MAX = 63 };

/* Whether these bytes, in any case, are a top-level domain. */
bool tld_is_known(struct weir_slice name);
/* Whether one is as well a common word or used in code and files: "is", "md", "name". */
bool tld_is_word(struct weir_slice name);
/* Whether such is the end of file names and never of a host: "png", "html". */
bool tld_is_file(struct weir_slice name);

/* A host name in the text: letters, digits, hyphens and characters beyond ASCII, with dots. */
struct host {
    size_t start, end;
    size_t tld; /* where the last label begins */
    size_t n_labels;
    unsigned classes; /* of all its bytes */
};

/*
 * Reads the host at a place, as far as its labels are well formed; a dot at the end of a sentence
 * is left. False when there is none.
 */
bool host_read(const struct scan *s, size_t at, struct host *out);
struct weir_slice host_tld(const struct scan *s, const struct host *h);
/* The Unicode character that begins at a place, 0 for ill-formed bytes; *n is its length. */
uint32_t scan_point(const struct scan *s, size_t at, size_t *n);
/* Whether a character beyond ASCII is a letter of an alphabet that puts spaces between words. */
bool point_is_letter(uint32_t c);
