/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: files of web/ and of sdk/js/src, which are part of the program. tools/embed-page makes
 * the table; there is no other way to what is served, so no path leads anywhere else.
 */
#pragma once

#include <stddef.h>

#include <weir/types.h>

struct page_file {
    const char *path; /* "web/app.js", as it stands behind the first "/" of an address */
    const char *media_type;
    const char *tag, *gzip_tag; /* ETag of each form, with its quotes */
    struct weir_slice bytes;
    struct weir_slice gzip; /* empty: it would not be smaller */
};

/* By path. */
extern const struct page_file page_files[];
extern const size_t n_page_files;
