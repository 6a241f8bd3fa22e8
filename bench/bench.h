/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every benchmark program shares: inputs, the stopwatch, the report line.
 *
 * 1. Describe each measurement as a struct bench_case.
 * 2. bench_run() runs all cases in turn, several rounds, and keeps each one's
 *    best CPU time. Taking turns gives every case the same share of a busy
 *    machine, so that ratios between cases mean something.
 * 3. bench_report() prints one JSON line per case for bench/run to read.
 *
 * Every case leaves a count and a check number which the peers compute too:
 * a measurement of work that was not done cannot pass unseen.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <weir/types.h>

struct bench_case {
    const char *name;
    void (*run)(struct bench_case *c);
    struct weir_slice text; /* the input */
    size_t chunk;           /* bytes per feed, 0: all at once */
    const void *extra;      /* whatever else run needs */
    size_t bytes;           /* input bytes one run takes */
    double best_s;          /* CPU seconds of the best run */
    uint64_t count;         /* things seen by the last run: events, deltas, values */
    uint32_t check;         /* number derived from their content */
};

/* CPU time of this process, all threads, in seconds. */
double bench_cpu_s(void);

/* Runs every case `rounds` times, round robin. bytes defaults to the text's length. */
void bench_run(struct bench_case *cases, size_t n_cases, unsigned rounds);

/* Prints {"name","bytes","seconds","count","check"} for each case. */
void bench_report(const struct bench_case *cases, size_t n_cases);

/* Runs a case once, untimed, and prints its line with seconds 0. */
void bench_verify(struct bench_case *c);

/*
 * Tells malloc to keep freed memory. Where a ratio of two sizes is judged, the larger
 * one would otherwise pay for getting its pages from the kernel anew in every round
 * while the smaller one, below malloc's threshold, keeps them.
 */
void bench_keep_memory(void);

/* A whole file; the memory is never given back. Exits when it cannot be read. */
struct weir_slice bench_load(const char *dir, const char *name);

/* FNV-1a, 32 bits: the same in C and JavaScript. */
#define BENCH_FNV_INIT UINT32_C(2166136261)
uint32_t bench_fnv(uint32_t hash, const void *bytes, size_t len);

/* Prints a message and exits with status 2 unless ok. */
void bench_need(bool ok, const char *what);

/* True when argv has this flag. */
bool bench_flag(int argc, char **argv, const char *flag);
