/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared part of the benchmark programs. CPU time, not wall time, because
 * the machine is shared; the best round, not the mean, because noise only adds.
 */
#include "bench.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_cpu_s(void)
{
    struct timespec t;
    bench_need(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0, "clock_gettime");
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bench_run(struct bench_case *cases, size_t n_cases, unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < n_cases; i++) {
            struct bench_case *c = &cases[i];
            double start_s = bench_cpu_s();
            c->run(c);
            double took_s = bench_cpu_s() - start_s;
            if (round == 0 || took_s < c->best_s) c->best_s = took_s;
        }
    }
}

void bench_report(const struct bench_case *cases, size_t n_cases)
{
    for (size_t i = 0; i < n_cases; i++) {
        const struct bench_case *c = &cases[i];
        printf("{\"name\":\"%s\",\"bytes\":%zu,\"seconds\":%.9f,\"count\":%llu,\"check\":%lu}\n",
               c->name, c->bytes != 0 ? c->bytes : c->text.len, c->best_s,
               (unsigned long long)c->count, (unsigned long)c->check);
    }
}

void bench_verify(struct bench_case *c)
{
    c->run(c);
    c->best_s = 0;
    bench_report(c, 1);
}

void bench_keep_memory(void)
{
    const int most = 1 << 30;
    bench_need(mallopt(M_TRIM_THRESHOLD, most) == 1, "mallopt");
    bench_need(mallopt(M_MMAP_MAX, 0) == 1, "mallopt");
}

static size_t file_size(FILE *f, const char *path)
{
    bench_need(f != NULL && fseek(f, 0, SEEK_END) == 0, path);
    long size = ftell(f);
    bench_need(size >= 0 && fseek(f, 0, SEEK_SET) == 0, path);
    return (size_t)size;
}

struct weir_slice bench_load(const char *dir, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    bench_need(n > 0 && (size_t)n < sizeof path, "the data directory's name is too long");
    FILE *f = fopen(path, "rb");
    size_t len = file_size(f, path);
    char *bytes = malloc(len + 1);
    bench_need(bytes != NULL && fread(bytes, 1, len, f) == len, path);
    (void)fclose(f);
    return (struct weir_slice){bytes, len};
}

uint32_t bench_fnv(uint32_t hash, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < len; i++) hash = (hash ^ p[i]) * UINT32_C(16777619);
    return hash;
}

void bench_need(bool ok, const char *what)
{
    if (ok) return;
    (void)fprintf(stderr, "bench: %s\n", what);
    exit(2);
}

bool bench_flag(int argc, char **argv, const char *flag)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], flag) == 0) return true;
    }
    return false;
}
