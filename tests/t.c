/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the cases that registered themselves; see t.h. */
#include "t.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/status.h>

/* Of base/fault.h; not there in tests that have nothing of base. */
extern __attribute__((weak)) enum weir_status fault_arm_from_env(void);

enum { MAX_FILES = 256, SHOWN_BYTES = 400 };

static struct t_case *first_case;
static struct t_case **last_link = &first_case;
static const char *current;
static unsigned n_case_failures;
static bool is_skipped;
static char temp_root[64], temp_dir[80];
static char *files[MAX_FILES];
static size_t n_files;

void t_register(struct t_case *c)
{
    *last_link = c;
    last_link = &c->next;
}

void t_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    n_case_failures++;
    fprintf(stderr, "%s:%d: %s: ", file, line, current);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void t_eq_int(const char *file, int line, const char *what, long long got, long long want)
{
    if (got != want) t_fail(file, line, "%s is %lld, not %lld", what, got, want);
}

static void show(const char *label, struct weir_slice s)
{
    size_t n = s.len < SHOWN_BYTES ? s.len : SHOWN_BYTES;
    fprintf(stderr, "    %s (%zu) \"", label, s.len);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c >= 0x20 && c < 0x7f) fputc(c, stderr);
        else fprintf(stderr, "\\x%02x", c);
    }
    fprintf(stderr, n < s.len ? "\"...\n" : "\"\n");
}

void t_eq_bytes(const char *file, int line, const char *what, struct weir_slice got,
                struct weir_slice want)
{
    if (got.len == want.len && (got.len == 0 || memcmp(got.ptr, want.ptr, got.len) == 0)) return;
    t_fail(file, line, "%s differs", what);
    show("got ", got);
    show("want", want);
}

void t_skip(const char *why)
{
    is_skipped = true;
    fprintf(stderr, "skipped: %s: %s\n", current, why);
}

size_t t_rounds(size_t n)
{
    return T_INSTRUMENTED && !getenv("T_WHOLE") ? (n + 7) / 8 : n;
}

uint64_t t_random(void)
{
    static uint64_t state;
    if (state == 0) {
        const char *seed = getenv("T_SEED");
        state = seed ? strtoull(seed, NULL, 0) | 1 : UINT64_C(0x9e3779b97f4a7c15);
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545f4914f6cdd1d);
}

static void make_dir(char *template)
{
    if (mkdtemp(template)) return;
    perror(template);
    exit(2);
}

static void make_temp_root(void)
{
    const char *where = getenv("TMPDIR");
    int len = snprintf(temp_root, sizeof temp_root, "%s/weir-test-XXXXXX", where ? where : "/tmp");
    if (len >= (int)sizeof temp_root) {
        fprintf(stderr, "TMPDIR is too long\n");
        exit(2);
    }
    make_dir(temp_root);
}

const char *t_temp_dir(void)
{
    if (temp_dir[0] == 0) {
        snprintf(temp_dir, sizeof temp_dir, "%s/XXXXXX", temp_root);
        make_dir(temp_dir);
    }
    return temp_dir;
}

struct weir_slice t_read_file(const char *path)
{
    struct weir_slice none = {NULL, 0};
    FILE *f = fopen(path, "rb");
    if (!f) return none;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *bytes = malloc((size_t)size + 1);
    if (!bytes || n_files == MAX_FILES || fread(bytes, 1, (size_t)size, f) != (size_t)size) exit(2);
    fclose(f);
    bytes[size] = 0;
    files[n_files++] = bytes;
    return (struct weir_slice){bytes, (size_t)size};
}

const char *t_samples_dir(void)
{
    const char *dir = getenv("WEIR_SAMPLES");
    if (!dir) dir = T_SOURCE_ROOT "/../shared/samples";
    return access(dir, R_OK) == 0 ? dir : NULL;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static void remove_dir(char *path)
{
    if (path[0]) nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    path[0] = 0;
}

static void clean_up(void)
{
    while (n_files > 0) free(files[--n_files]);
    remove_dir(temp_dir);
}

int main(int argc, char **argv)
{
    const char *filter = argc > 1 ? argv[1] : "";
    unsigned n_passed = 0;
    unsigned n_failed = 0;
    unsigned n_skipped = 0;
    if (fault_arm_from_env && fault_arm_from_env() != WEIR_OK) {
        fprintf(stderr, "WEIR_FAULT is not understood\n");
        return 2;
    }
    /* Also for children that a case starts and that end too early to clean up. */
    make_temp_root();
    for (struct t_case *c = first_case; c; c = c->next) {
        if (strcmp(filter, "--list") == 0) {
            puts(c->name);
            continue;
        }
        if (!strstr(c->name, filter)) continue;
        current = c->name;
        n_case_failures = 0;
        is_skipped = false;
        c->run();
        clean_up();
        if (n_case_failures > 0) n_failed++;
        else if (is_skipped) n_skipped++;
        else n_passed++;
    }
    remove_dir(temp_root);
    if (strcmp(filter, "--list") == 0) return 0;
    if (n_passed + n_failed + n_skipped == 0) {
        fprintf(stderr, "no case has \"%s\" in its name\n", filter);
        n_failed++;
    }
    printf("%u passed, %u failed", n_passed, n_failed);
    if (n_skipped > 0) printf(", %u skipped", n_skipped);
    putchar('\n');
    return n_failed > 0;
}
