/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files from any bytes: nothing is read beyond the end, what is found lies in the
 * text and in one line of it, and a mistake has a line and a text.
 */
#include <stdlib.h>
#include <string.h>

#include "config_file.h"
#include "fuzz/fuzz.h"

static void check(struct weir_slice text, const char *profile)
{
    struct config_file file;
    struct config_mistake mistake;
    if (!config_file_read(text, profile, &file, &mistake)) {
        fuzz_true("a mistake has its line", mistake.line > 0 && mistake.why[0] != 0);
        return;
    }
    for (int i = 0; i < CONFIG_N_NAMES; i++) {
        struct weir_slice v = file.values[i];
        if (v.len == 0) continue;
        fuzz_true("a value lies in the text",
                  v.ptr >= text.ptr && v.ptr + v.len <= text.ptr + text.len);
        fuzz_true("and in a line", !memchr(v.ptr, '\n', v.len) && file.lines[i] > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size);
    fuzz_true("memory", copy || size == 0);
    if (size > 0) memcpy(copy, data, size);
    check((struct weir_slice){copy, size}, NULL);
    check((struct weir_slice){copy, size}, "work");
    free(copy);
    return 0;
}
