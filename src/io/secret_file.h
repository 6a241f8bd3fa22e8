/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that hold a secret. Such a file must be its owner's alone, and be that file itself: whoever
 * can put a link in its place could make us read another. Any thread.
 */
#pragma once

#include <weir/status.h>

/*
 * Reads all of it into `out`, which the caller wipes. WEIR_NOT_FOUND; WEIR_FORBIDDEN: others can
 * use it, or it is no regular file; WEIR_BAD_FIELD: it has `cap` bytes or more; WEIR_IO. `why` gets
 * a sentence with the path, and nothing of what is in the file.
 */
struct secret_file_error {
    char text[256];
};
WEIR_MUST_CHECK enum weir_status secret_file_read(const char *path, char *out, size_t cap,
                                                  size_t *len, struct secret_file_error *why);
