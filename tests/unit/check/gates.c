/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "finding.h"

enum { N_KINDS = FINDING_ANOMALY + 1 };

static struct finding of(enum finding_kind kind, const double *x, const double *y, size_t n)
{
    return (struct finding){.kind = kind,
                            .metric = pulse(),
                            .metric_y = metric_find(weir_slice_of("sleep_minutes")),
                            .a = {x, n},
                            .b = {y, n},
                            .index = n / 2,
                            .weekend = WEEKEND,
                            .is_one_device = true};
}

/* Each gate has a status and a sentence, and the verdict follows from them. */
static void is_whole(struct verdict v)
{
    enum verdict_name want = VERDICT_VALIDATED;
    for (size_t i = N_GATES; i-- > 0;) {
        T_OK(v.gates[i].why != NULL && v.gates[i].why[0] != '\0');
        T_OK(v.gates[i].n <= GATE_NUMBERS);
        if (v.gates[i].status != GATE_FAILED) continue;
        if (i <= GATE_EFFECT_VS_NOISE) want = VERDICT_REJECTED;
        else if (want == VERDICT_VALIDATED) want = VERDICT_CONDITIONAL;
    }
    T_EQ(v.name, want);
    T_OK(v.assessment != NULL && v.assessment[0] != '\0');
}

static void fill(double *x, size_t n, double value)
{
    for (size_t i = 0; i < n; i++) x[i] = value;
}

TEST(nothing_and_next_to_nothing_are_rejected)
{
    double x[DAYS], missing[DAYS];
    make_days(x, DAYS, 1, 0);
    fill(missing, DAYS, NAN);
    for (int k = 0; k < N_KINDS; k++) {
        for (size_t n = 0; n < 10; n++) {
            struct verdict v = judge(of((enum finding_kind)k, x, x, n));
            is_whole(v);
            T_EQ(v.name, VERDICT_REJECTED);
        }
        struct verdict v = judge(of((enum finding_kind)k, missing, missing, DAYS));
        is_whole(v);
        T_EQ(v.name, VERDICT_REJECTED);
    }
}

TEST(what_is_constant_shows_no_effect)
{
    double x[DAYS];
    const double values[] = {60, 60.1, 100.0 / 3};
    for (size_t i = 0; i < 3; i++) {
        fill(x, DAYS, values[i]);
        for (int k = FINDING_TREND; k < N_KINDS; k++) {
            struct verdict v = judge(of((enum finding_kind)k, x, x, DAYS));
            is_whole(v);
            T_EQ(v.name, VERDICT_REJECTED);
        }
        struct verdict v = judge(of(FINDING_LEVEL, x, x, DAYS));
        is_whole(v);
        T_OK(fabs(v.estimate - values[i]) < 1e-9);
    }
}

TEST(one_value_among_missing_ones_is_rejected)
{
    double x[DAYS];
    fill(x, DAYS, NAN);
    x[DAYS / 2] = 60;
    for (int k = 0; k < N_KINDS; k++) {
        struct verdict v = judge(of((enum finding_kind)k, x, x, DAYS));
        is_whole(v);
        T_EQ(v.name, VERDICT_REJECTED);
    }
}

TEST(infinite_and_huge_values_get_a_verdict)
{
    double x[DAYS], y[DAYS];
    const double odd[] = {INFINITY, -INFINITY, 1e308, -1e308, 5e-324};
    for (int k = 0; k < N_KINDS; k++)
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
            make_days(x, DAYS, 1, 0.3);
            make_days(y, DAYS, 2, 0.3);
            x[DAYS / 2] = odd[i];
            is_whole(judge(of((enum finding_kind)k, x, y, DAYS)));
            fill(x, DAYS, odd[i]);
            struct verdict v = judge(of((enum finding_kind)k, x, x, DAYS));
            is_whole(v);
            T_EQ(v.name, VERDICT_REJECTED);
        }
}

static bool are_same(const struct verdict *a, const struct verdict *b)
{
    bool is_same = a->name == b->name && memcmp(&a->estimate, &b->estimate, sizeof(double)) == 0;
    for (size_t g = 0; g < N_GATES; g++) {
        is_same = is_same && a->gates[g].status == b->gates[g].status;
        is_same = is_same && a->gates[g].n == b->gates[g].n;
        for (size_t i = 0; is_same && i < a->gates[g].n; i++)
            is_same = memcmp(&a->gates[g].detail[i].value, &b->gates[g].detail[i].value,
                             sizeof(double)) == 0;
    }
    return is_same;
}

TEST(the_same_seed_gives_the_same_numbers)
{
    double x[DAYS], y[DAYS];
    make_days(x, DAYS, 1, 0.3);
    make_days(y, DAYS, 2, 0.3);
    for (int k = 0; k < N_KINDS; k++) {
        struct finding f = of((enum finding_kind)k, x, y, DAYS);
        struct verdict a = judge_seeded(f, 7), b = judge_seeded(f, 7), other = judge_seeded(f, 8);
        bool is_drawn_anew = a.gates[GATE_BOOTSTRAP].n == 0;
        T_OK(are_same(&a, &b));
        for (size_t i = 0; i < a.gates[GATE_BOOTSTRAP].n; i++)
            is_drawn_anew = is_drawn_anew || a.gates[GATE_BOOTSTRAP].detail[i].value !=
                                                 other.gates[GATE_BOOTSTRAP].detail[i].value;
        T_OK(is_drawn_anew);
    }
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 4 };

struct thread {
    const double *x, *y;
    struct verdict verdicts[ROUNDS][N_KINDS];
};

static void *judge_all(void *user)
{
    struct thread *t = user;
    for (size_t i = 0; i < ROUNDS; i++)
        for (int k = 0; k < N_KINDS; k++)
            t->verdicts[i][k] = judge_seeded(of((enum finding_kind)k, t->x, t->y, DAYS), i + 1);
    return NULL;
}

TEST(eight_threads_give_the_numbers_of_one)
{
    double x[DAYS], y[DAYS];
    make_days(x, DAYS, 1, 0.3);
    make_days(y, DAYS, 2, 0.3);
    static struct thread alone, threads[THREADS];
    alone = (struct thread){.x = x, .y = y};
    judge_all(&alone);
    pthread_t ids[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.x = x, .y = y};
        T_EQ(pthread_create(&ids[i], NULL, judge_all, &threads[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) T_EQ(pthread_join(ids[i], NULL), 0);
    for (size_t i = 0; i < THREADS * ROUNDS * N_KINDS; i++) {
        size_t round = i / N_KINDS % ROUNDS, kind = i % N_KINDS;
        T_OK(are_same(&threads[i / N_KINDS / ROUNDS].verdicts[round][kind],
                      &alone.verdicts[round][kind]));
    }
}

TEST(too_little_memory_is_a_status)
{
    double x[DAYS];
    make_days(x, DAYS, 1, 0);
    struct finding f = of(FINDING_TREND, x, x, DAYS);
    struct verdict v;
    struct arena arena;
    arena_init(&arena, 1000);
    T_EQ(gates_run(&v, &f, 1, &arena), WEIR_LIMIT);
    arena_fini(&arena);
}
