/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-plan
 *
 * CPU time of plans over ten years of fifty metrics, in memory. One line for each kind of plan, in
 * microseconds: running it, for which the bar is a millisecond; and reading it from JSON, running
 * it and writing the answer. With --once each plan runs once, for valgrind.
 */
#include <math.h>
#include <stdio.h>

#include <weir/json.h>

#include "bench.h"
#include "data/plan.h"

enum { DAYS = 3652, METRICS = 50, FIRST = 16436, WORKOUTS = 1500, REPEATS = 50, ROUNDS = 5 };

static uint64_t state = 88172645463325252U;

static double noise(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* A level that wanders, a weekly wave, noise, and one day of twenty missing. */
static void add_metric(struct dataset *d, const struct metric *m)
{
    static int32_t days[DAYS];
    static double values[DAYS];
    size_t n = 0;
    double low = fmax(m->min, -100), high = fmin(m->max, 20000), level = 0.3;
    for (int i = 0; i < DAYS; i++) {
        level += (noise() - 0.5) * 0.01;
        double part = fmin(fmax(level + 0.1 * sin(i * 0.8975979) + 0.2 * noise(), 0), 1);
        if (noise() < 0.05) continue;
        days[n] = FIRST + i;
        values[n++] = round((low + part * (high - low)) * 10) / 10;
    }
    struct series s = {.metric = m, .n = n, .days = days, .values = values};
    bench_need(dataset_add_series(d, &s) == WEIR_OK, "no series");
}

static struct dataset *make_person(void)
{
    struct dataset *d = dataset_new();
    bench_need(d && metric_count() >= METRICS, "too few metrics");
    for (size_t i = 0; i < METRICS; i++) add_metric(d, metric_at(i));
    for (int i = 0; i < WORKOUTS; i++) {
        int32_t day = FIRST + i * DAYS / WORKOUTS;
        struct workout w = {.activity = activity_at((size_t)i % 4),
                            .start = {day * (int64_t)DAY_SECONDS + 36000, 0},
                            .day = day,
                            .minutes = round(20 + 60 * noise()),
                            .km = round(100 * noise()) / 10,
                            .kcal = NAN,
                            .avg_hr = NAN,
                            .max_hr = NAN,
                            .steps = NAN,
                            .ascent_m = NAN};
        bench_need(dataset_add_workout(d, &w) == WEIR_OK, "no workout");
    }
    return d;
}

struct job {
    struct dataset *d;
    struct weir_json_doc *doc;
    struct arena arena;
    struct weir_buf out;
    int repeats;
};

static void read_plan(struct job *job, struct weir_slice text, struct plan *plan)
{
    const struct weir_json *json;
    struct plan_error error;
    weir_json_doc_reset(job->doc);
    bench_need(weir_json_parse(job->doc, text, &json, NULL) == WEIR_OK, "no JSON");
    bench_need(plan_parse(plan, json, job->d, &error) == WEIR_OK, error.text);
}

static void run_alone(struct bench_case *c)
{
    struct job *job = *(struct job *const *)c->extra;
    struct plan plan;
    struct plan_answer answer;
    read_plan(job, c->text, &plan);
    for (int i = 0; i < job->repeats; i++) {
        arena_reset(&job->arena);
        bench_need(plan_run(&plan, job->d, &job->arena, &answer) == WEIR_OK, "not run");
        c->count = answer.n;
    }
}

static void run_whole(struct bench_case *c)
{
    struct job *job = *(struct job *const *)c->extra;
    for (int i = 0; i < job->repeats; i++) {
        struct plan plan;
        struct plan_answer answer;
        arena_reset(&job->arena);
        weir_buf_reset(&job->out);
        read_plan(job, c->text, &plan);
        bench_need(plan_run(&plan, job->d, &job->arena, &answer) == WEIR_OK, "not run");
        bench_need(answer.kind != VALUE_NONE, answer.reason ? answer.reason : "no answer");
        plan_put_answer(&job->out, &plan, &answer);
        c->count = answer.n;
        c->check = bench_fnv(BENCH_FNV_INIT, job->out.ptr, job->out.len);
    }
}

static const struct {
    const char *name, *plan;
} plans[] = {
    {"mean", "{'op':'aggregate','metric':'steps'}"},
    {"mean of 30 days", "{'op':'aggregate','metric':'steps','window':{'last_days':30}}"},
    {"median", "{'op':'aggregate','metric':'steps','stat':'median'}"},
    {"deviation", "{'op':'aggregate','metric':'steps','stat':'sd'}"},
    {"mean bedtime", "{'op':'aggregate','metric':'bedtime'}"},
    {"distance of runs", "{'op':'aggregate','workouts':'run','field':'km','stat':'sum'}"},
    {"days above", "{'op':'count','metric':'steps','having':{'cmp':'>','value':9000}}"},
    {"eight conditions",
     "{'op':'aggregate','metric':'steps','where':[{'metric':'sleep','cmp':'>','value':60},{'"
     "workout':"
     "'any','not':true},{'weekdays':'workweek'},{'months':['January'],'not':true},{'metric':'hrv',"
     "'cmp':'>','value':1,'shift_days':-1},{'metric':'weight'},{'workout':'run','shift_days':1,"
     "'not':true},{'metric':'bedtime','cmp':'>','value':'22:00'}]}"},
    {"weekend and weekday",
     "{'op':'compare','metric':'steps','where':[{'weekdays':'weekend'}],'b':{'where':[{'weekdays':"
     "'workweek'}]}}"},
    {"which day", "{'op':'extreme','metric':'steps','answer':'date'}"},
    {"ten largest", "{'op':'extreme','metric':'steps','limit':10}"},
    {"all by value", "{'op':'list','metric':'steps','sort':'value','limit':4000}"},
    {"trend", "{'op':'trend','metric':'steps'}"},
    {"trend, Theil-Sen", "{'op':'trend','metric':'steps','method':'theil_sen'}"},
    {"Pearson", "{'op':'correlate','metric':'steps','with':'sleep','lag_days':1}"},
    {"Spearman", "{'op':'correlate','metric':'steps','with':'sleep','method':'spearman'}"},
    {"Kendall", "{'op':'correlate','metric':'steps','with':'sleep','method':'kendall'}"},
    {"by weekday", "{'op':'group','metric':'steps','by':'weekday','pick':'max'}"},
    {"medians by week", "{'op':'group','metric':'steps','stat':'median','by':'week'}"},
    {"streak", "{'op':'streak','metric':'steps','having':{'cmp':'>=','value':8000}}"},
    {"best 30 days", "{'op':'rolling','metric':'steps','days':30,'pick':'max'}"},
    {"moving medians", "{'op':'rolling','metric':'steps','stat':'median','days':30,'pick':'max'}"},
    {"what stands out", "{'op':'anomaly','metric':'steps','threshold':2}"},
    {"distribution", "{'op':'distribution','metric':'steps'}"},
};

enum { N_PLANS = sizeof plans / sizeof *plans };

int main(int argc, char **argv)
{
    static struct bench_case cases[2 * N_PLANS];
    static char texts[N_PLANS][800];
    bool is_once = bench_flag(argc, argv, "--once");
    struct job job = {.d = make_person(), .doc = weir_json_doc_new(0)};
    struct job *shared = &job;
    job.repeats = is_once ? 1 : REPEATS;
    arena_init(&job.arena, 64 << 20);
    weir_buf_init(&job.out, 4 << 20);
    for (size_t i = 0; i < N_PLANS; i++) {
        size_t len = 0;
        for (const char *c = plans[i].plan; *c; c++) texts[i][len++] = *c == '\'' ? '"' : *c;
        cases[i] = (struct bench_case){.name = plans[i].name, .run = run_alone, .extra = &shared};
        cases[i].text = (struct weir_slice){texts[i], len};
        cases[N_PLANS + i] = cases[i];
        cases[N_PLANS + i].run = run_whole;
    }
    bench_run(cases, 2 * N_PLANS, is_once ? 1 : ROUNDS);
    for (size_t i = 0; i < N_PLANS; i++)
        printf("%-22s %8.1f %8.1f us  (%llu values)\n", cases[i].name,
               cases[i].best_s / job.repeats * 1e6, cases[N_PLANS + i].best_s / job.repeats * 1e6,
               (unsigned long long)cases[i].count);
    weir_buf_fini(&job.out);
    arena_fini(&job.arena);
    weir_json_doc_free(job.doc);
    dataset_free(job.d);
    return 0;
}
