/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-search [PEOPLE]
 *
 * The operating characteristics of the search, as the tables of docs/search.md:
 *
 * 1. How often it validates something where nothing is: PEOPLE (200) invented people with twelve
 *    metrics that have nothing to do with each other.
 * 2. How often it finds an effect of 0.8 standard deviations that was planted, by its sort.
 * 3. What a search over 50 metrics and two years costs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "people.h"

static void print_nulls(unsigned n_people, double phi, bool is_stretched, struct arena *arena)
{
    unsigned n_validated = 0, n_reported = 0, n_cycles = 0;
    for (unsigned i = 0; i < n_people; i++) {
        struct person p;
        struct search_result r;
        arena_reset(arena);
        person_make(&p, i + 1, phi);
        if (is_stretched) person_stretch(&p);
        if (person_search(&p, &r, arena) != WEIR_OK) abort();
        bool is_validated = false, is_reported = false, has_cycle = false;
        for (size_t k = 0; k < r.n; k++) {
            const struct hypothesis *h = &r.hypotheses[k];
            /* A weekly course is there: who finds it is right. */
            bool is_true = h->kind == SEARCH_WEEKDAY && p.cycle[h->test->x] > 0;
            has_cycle |= is_true;
            is_reported |= !is_true;
            is_validated |= !is_true && h->verdict == VERDICT_VALIDATED;
        }
        n_validated += is_validated;
        n_reported += is_reported;
        n_cycles += has_cycle;
    }
    if (phi < 0) printf("| any of 0 to 0.7%s |", is_stretched ? ", not normal" : "");
    else printf("| %g |", phi);
    printf(" %.1f | %.1f | %.1f |\n", 100.0 * n_validated / n_people, 100.0 * n_reported / n_people,
           100.0 * n_cycles / n_people);
    fflush(stdout);
}

static void print_planted(unsigned n_people, struct arena *arena)
{
    double all_validated = 0, all_found = 0;
    puts("\n| planted, 0.8 standard deviations | validated | found | one year | two years |");
    puts("|---|---|---|---|---|");
    for (int sort = 0; sort < N_PLANTED; sort++) {
        unsigned n_validated = 0, n_found = 0, n_half[2] = {0}, n_found_half[2] = {0};
        for (unsigned i = 0; i < n_people; i++) {
            struct person p;
            struct search_result r;
            arena_reset(arena);
            person_make(&p, 10000 + i, -1);
            person_plant(&p, (enum planted)sort, 0.8);
            if (person_search(&p, &r, arena) != WEIR_OK) abort();
            const struct hypothesis *h = person_found(&p, &r);
            bool is_long = p.n_days > 547;
            n_half[is_long]++;
            n_found_half[is_long] += h != NULL;
            n_found += h != NULL;
            n_validated += h && h->verdict == VERDICT_VALIDATED;
        }
        printf("| %s | %.0f | %.0f | %.0f | %.0f |\n", planted_name((enum planted)sort),
               100.0 * n_validated / n_people, 100.0 * n_found / n_people,
               100.0 * n_found_half[0] / n_half[0], 100.0 * n_found_half[1] / n_half[1]);
        fflush(stdout);
        all_validated += 100.0 * n_validated / n_people / N_PLANTED;
        all_found += 100.0 * n_found / n_people / N_PLANTED;
    }
    printf("| all | %.1f | %.1f | | |\n", all_validated, all_found);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_speed(struct arena *arena)
{
    static struct person p;
    double best = INFINITY;
    struct search_result r = {0};
    person_make_wide(&p, 50, 730);
    for (int i = 0; i < 5; i++) {
        arena_reset(arena);
        double begin = seconds();
        if (person_search(&p, &r, arena) != WEIR_OK) abort();
        best = fmin(best, seconds() - begin);
    }
    printf("\n50 metrics, 730 days, %zu tests: %.3f s of one core\n", r.n_tests, best);
}

int main(int argc, char **argv)
{
    unsigned n_people = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
    struct arena arena;
    arena_init(&arena, SEARCH_ARENA_BYTES);
    puts("| lag-1 | validated | reported | weekly course found |");
    puts("|---|---|---|---|");
    static const double phis[] = {-1, 0, 0.3, 0.5, 0.7, 0.85, 0.95};
    for (size_t i = 0; i < sizeof phis / sizeof *phis; i++)
        print_nulls(n_people, phis[i], false, &arena);
    print_nulls(n_people, -1, true, &arena);
    print_planted(n_people, &arena);
    print_speed(&arena);
    arena_fini(&arena);
    return 0;
}
