/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzzer once over each file of the folders named, where there is no libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

static bool run_file(const char *path)
{
    struct text input = {0};
    char part[4096];
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) text_add(&input, part, n);
    fclose(f);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)input.ptr, input.len);
    text_fini(&input);
    return true;
}

/* A folder that is not there holds nothing: only some fuzzers have found inputs. */
static void run_folder(const char *folder, unsigned *n_passed, unsigned *n_failed)
{
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        /* If the next one ends the program, its name is the last one seen. */
        fprintf(stderr, "%s\n", path);
        if (run_file(path)) ++*n_passed;
        else ++*n_failed;
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    unsigned n_passed = 0;
    unsigned n_failed = 0;
    for (int i = 1; i < argc; i++) run_folder(argv[i], &n_passed, &n_failed);
    printf("%u passed, %u failed\n", n_passed, n_failed);
    return n_failed > 0 || n_passed == 0;
}
