/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test harness. A case is named as the claim it proves:
 *
 *     TEST(resume_after_trim_reports_gap)
 *     {
 *         T_EQ(log_resume(&log, 3), WEIR_EXPIRED);
 *     }
 *
 * Cases register themselves; t.c holds main(), which runs those whose name
 * contains the first argument (all without one; --list names them) and prints
 * "N passed, M failed" last. A failed check is reported with its place and the
 * case goes on, so that one run shows all that is wrong.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weir/types.h>

struct t_case {
    const char *name;
    void (*run)(void);
    struct t_case *next;
};

void t_register(struct t_case *c);
void t_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void t_eq_int(const char *file, int line, const char *what, long long got, long long want);
void t_eq_bytes(const char *file, int line, const char *what, struct weir_slice got,
                struct weir_slice want);

/* A folder for this case alone, removed with all it holds when the case ends. */
const char *t_temp_dir(void);

/* The environment's seed (T_SEED) or a fixed one: random tests can be repeated. */
uint64_t t_random(void);

/*
 * How often something random is done, of `n` times: an eighth of them where a sanitizer makes each
 * of them slow, unless T_WHOLE is set.
 */
size_t t_rounds(size_t n);

/* Reads a whole file; the bytes live until the case ends. len 0 and NULL when absent. */
struct weir_slice t_read_file(const char *path);

/* Where shared samples are; NULL when they are not on this machine. */
const char *t_samples_dir(void);

/* Counts a case as skipped, with the reason on the terminal; return after it. */
void t_skip(const char *why);

#define TEST(name)                                                                                 \
    static void name(void);                                                                        \
    __attribute__((constructor)) static void name##_register(void)                                 \
    {                                                                                              \
        static struct t_case entry = {#name, name, NULL};                                          \
        t_register(&entry);                                                                        \
    }                                                                                              \
    static void name(void)

#define T_OK(claim)                                                                                \
    do {                                                                                           \
        if (!(claim)) t_fail(__FILE__, __LINE__, "%s", #claim);                                    \
    } while (0)
#define T_EQ(got, want)       t_eq_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define T_EQ_SLICE(got, want) t_eq_bytes(__FILE__, __LINE__, #got, got, want)
#define T_EQ_STR(got, want)                                                                        \
    t_eq_bytes(__FILE__, __LINE__, #got, got, (struct weir_slice){want, strlen(want)})
