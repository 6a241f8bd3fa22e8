/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-passages FOLDER [PASSAGES]
 *
 * Full-text search over passages of some 1,000 bytes (100,000 of them unless told otherwise), 10 to
 * a source, of ten owners, one of whom has half of all. Words are as rare as those of a language:
 * the n-th is there about 1/n as often as the first, of 50,000. Prints how fast they are taken in,
 * and for each kind of query what a search of the large owner's takes: CPU time of the searching
 * thread, median and 99th percentile.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/slice.h"
#include "bench.h"
#include "store/passage.h"

enum {
    WORDS = 50000,
    PASSAGE_WORDS = 160,
    PER_SOURCE = 10,
    PER_COMMIT = 100,
    SEARCHES = 300, /* of each kind */
    ID_BYTES = 32,
};

static uint64_t seed = 1;

static uint64_t draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

/* A word of the n-th rank, letters only; the same rank is the same word. */
static void put_word(char *out, size_t cap, unsigned rank)
{
    unsigned n = rank * 7919 + 13;
    size_t len = 0;
    for (; n > 0 && len + 2 < cap; n /= 20) {
        out[len++] = "bcdfghjklmnprstvwxyz"[n % 20];
        out[len++] = "aeiou"[n % 5];
    }
    out[len] = 0;
}

/* Ranks as they come: 1/n each. */
static unsigned draw_rank(void)
{
    double u = (double)draw() / (double)(1ULL << 31);
    return (unsigned)exp(u * log(WORDS)) % WORDS;
}

static double thread_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- taking in ---- */

static void put_passage(struct commit *c, size_t i)
{
    char text[PASSAGE_WORDS * 16], id[ID_BYTES], owner[8], word[16];
    size_t len = 0;
    for (size_t k = 0; k < PASSAGE_WORDS; k++) {
        put_word(word, sizeof word, draw_rank());
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", word,
                                k % 12 == 11 ? ". " : " ");
    }
    size_t source = i / PER_SOURCE;
    snprintf(id, sizeof id, "doc_%07zu/r%06zu", source, i % PER_SOURCE);
    snprintf(owner, sizeof owner, "o%zu", source % 2 ? 0 : 1 + source / 2 % 9);
    put_word(word, sizeof word, draw_rank());
    struct passage p = {weir_slice_of(id), weir_slice_of(owner), weir_slice_of(word),
                        slice_of(text, len)};
    passage_put(c, &p, DOC_MUST_BE_NEW);
}

static void fill(struct store *s, size_t n)
{
    double cpu = bench_cpu_s();
    double wall = wall_s();
    for (size_t i = 0; i < n;) {
        struct commit *c = commit_new(PER_COMMIT << 10);
        for (size_t k = 0; k < PER_COMMIT && i < n; k++) put_passage(c, i++);
        enum weir_status st = store_commit_wait(s, c).status;
        bench_need(st == WEIR_OK, weir_status_name(st));
    }
    bench_need(store_settle(s) == WEIR_OK, "store_settle");
    cpu = bench_cpu_s() - cpu;
    wall = wall_s() - wall;
    printf("taken in: %zu passages, %.0f/s of wall time, %.0f us of CPU each\n", n,
           (double)n / wall, cpu / (double)n * 1e6);
}

/* ---- searching ---- */

static enum weir_status count(void *user, const struct passage_hit *hit)
{
    (void)hit;
    ++*(size_t *)user;
    return WEIR_OK;
}

struct kind {
    const char *name;
    unsigned n_words;
    unsigned from, to; /* ranks */
    bool is_phrase, is_prefix, is_any;
};

static void make_query(const struct kind *k, char *out, size_t cap)
{
    size_t len = 0;
    char word[16];
    if (k->is_phrase) out[len++] = '"';
    for (unsigned i = 0; i < k->n_words; i++) {
        put_word(word, sizeof word, k->from + (unsigned)draw() % (k->to - k->from));
        if (k->is_prefix && i + 1 == k->n_words) word[3] = 0;
        len += (size_t)snprintf(out + len, cap - len, "%s%s", i > 0 ? " " : "", word);
    }
    snprintf(out + len, cap - len, "%s", k->is_phrase ? "\"" : k->is_prefix ? "" : ".");
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct store *s, const struct kind *k, double *all)
{
    double us[SEARCHES];
    size_t n_hits = 0;
    for (size_t i = 0; i < SEARCHES; i++) {
        char words[256];
        make_query(k, words, sizeof words);
        struct passage_query q = {.owner = SLICE("o0"),
                                  .words = weir_slice_of(words),
                                  .is_any = k->is_any,
                                  .limit = 10,
                                  .per_source = 1};
        double begin = thread_us();
        bench_need(store_search(s, &q, count, &n_hits) == WEIR_OK, words);
        us[i] = all[i] = thread_us() - begin;
    }
    qsort(us, SEARCHES, sizeof *us, compare);
    printf("%-34s %8.2f %8.2f %8.1f\n", k->name, us[SEARCHES / 2] / 1e3,
           us[SEARCHES * 99 / 100] / 1e3, (double)n_hits / SEARCHES);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {
        {"a rare word", 1, 2000, WORDS, false, false, false},
        {"three words of everyday", 3, 30, 1000, false, false, false},
        {"two of the most common words", 2, 1, 10, false, false, false},
        {"a phrase of two common words", 2, 1, 30, true, false, false},
        {"a beginning of three letters", 1, 30, 5000, false, true, false},
        {"any of eight words", 8, 10, 2000, false, false, true},
    };
    enum { N_KINDS = sizeof kinds / sizeof *kinds };
    static double all[N_KINDS * SEARCHES];
    struct store *s = NULL;
    struct store_error error;
    bench_need(argc > 1, "bench-passages FOLDER [PASSAGES]");
    bench_need(store_open(&s, argv[1], NULL, &error) == WEIR_OK, "store_open");
    fill(s, argc > 2 ? strtoul(argv[2], NULL, 10) : 100000);
    printf("%-34s %8s %8s %8s\n", "CPU ms of a search", "p50", "p99", "hits");
    for (size_t i = 0; i < N_KINDS; i++) measure(s, &kinds[i], all + i * SEARCHES);
    qsort(all, N_KINDS * SEARCHES, sizeof *all, compare);
    printf("%-34s %8.2f %8.2f\n", "all of them", all[N_KINDS * SEARCHES / 2] / 1e3,
           all[N_KINDS * SEARCHES * 99 / 100] / 1e3);
    store_close(s);
    return 0;
}
