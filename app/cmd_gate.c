/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir gate: findings through the seven gates, one JSON line in and one out.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "check/gates.h"
#include "command.h"
#include "json_lines.h"
#include "options.h"
#include "output.h"
#include "stat/circular.h"
#include "stat/moments.h"

enum {
    FINDING_MEMORY = 1 << 30,
    DAYS_MAX = 40000, /* more than a century; leaving out each week in turn takes its square */
    WEEK = 7,
    DEFAULT_WEEKEND = 1 << 5 | 1 << 6,
};

struct gating {
    struct arena arena;
    unsigned seed;
    char *error;
};

static bool fail(struct gating *t, const char *name, const char *text)
{
    if (t->error[0] == '\0') snprintf(t->error, LINES_ERROR_BYTES, "inputs.%s %s", name, text);
    return false;
}

/* null is a day without a value; a number that no double can hold is infinite, and judged so. */
static bool read_day(const struct weir_json *v, double *x)
{
    *x = NAN;
    if (weir_json_type_of(v) == WEIR_JSON_NULL || weir_json_double(v, x)) return true;
    struct weir_slice text = weir_json_text(v);
    *x = text.len > 0 && text.ptr[0] == '-' ? -INFINITY : INFINITY;
    return weir_json_type_of(v) == WEIR_JSON_NUMBER;
}

static bool read_days(struct gating *t, const struct weir_json *inputs, const char *name,
                      struct days *out)
{
    const struct weir_json *list = weir_json_get_str(inputs, name);
    if (weir_json_type_of(list) != WEIR_JSON_ARRAY)
        return fail(t, name, "has to be a list of numbers");
    if (weir_json_count(list) > DAYS_MAX) return fail(t, name, "has more than 40000 days");
    double *x = arena_alloc(&t->arena, (weir_json_count(list) + 1) * sizeof *x);
    if (!x) return fail(t, name, "is too long");
    size_t n = 0;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        if (!read_day(v, &x[n++]))
            return fail(t, name, "has a member that is neither a number nor null");
    }
    *out = (struct days){x, n};
    return true;
}

/* The first day whose source is another than that of the day before, which may be unknown; 0:
 * there is none, or nothing is said of sources. `source` is the one before the first day, and
 * that of the last one afterwards. */
static bool read_change(struct gating *t, const struct weir_json *inputs, const char *name,
                        struct weir_slice *source, size_t *out)
{
    const struct weir_json *list = weir_json_get_str(inputs, name);
    size_t n = 0;
    *out = 0;
    if (list && weir_json_type_of(list) != WEIR_JSON_ARRAY)
        return fail(t, name, "has to be a list of names");
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v), n++) {
        if (weir_json_type_of(v) == WEIR_JSON_NULL) continue;
        if (weir_json_type_of(v) != WEIR_JSON_STRING)
            return fail(t, name, "has a member that is neither a name nor null");
        struct weir_slice here = weir_json_text(v);
        bool is_other = source->len > 0 && !slice_eq(*source, here);
        if (is_other && *out == 0 && n > 0) *out = n;
        *source = here;
    }
    return true;
}

/* Of both rows; two windows must have one source in common, too. */
static bool read_sources(struct gating *t, const struct weir_json *inputs, struct finding *f)
{
    struct weir_slice a = {0}, b = {0}, first = {0};
    if (!read_change(t, inputs, "sources", &a, &f->device_change) ||
        !read_change(t, inputs, "sources_b", &b, &f->device_change_b))
        return false;
    const struct weir_json *list = weir_json_get_str(inputs, "sources_b");
    for (const struct weir_json *v = weir_json_first(list); v && first.len == 0;
         v = weir_json_next(v))
        first = weir_json_text(v);
    const struct weir_json *one = weir_json_get_str(inputs, "one_device");
    bool is_same = a.len == 0 || first.len == 0 || slice_eq(a, first);
    f->is_one_device = weir_json_type_of(one) != WEIR_JSON_FALSE && is_same;
    return true;
}

static const struct metric *read_metric(const struct weir_json *inputs, const char *name)
{
    return metric_find(weir_json_text(weir_json_get_str(inputs, name)));
}

/* A whole number; left as it is when there is none. */
static bool read_count(struct gating *t, const struct weir_json *inputs, const char *name,
                       int64_t *out)
{
    const struct weir_json *v = weir_json_get_str(inputs, name);
    if (!v) return true;
    if (weir_json_int64(v, out) && *out > -100000 && *out < 100000000) return true;
    return fail(t, name, "has to be a whole number");
}

/* Where the device changed, said in so many words. */
static bool read_device_changes(struct gating *t, const struct weir_json *inputs, struct finding *f)
{
    int64_t a = (int64_t)f->device_change, b = (int64_t)f->device_change_b;
    if (!read_count(t, inputs, "device_change", &a) ||
        !read_count(t, inputs, "device_change_b", &b))
        return false;
    f->device_change = a < 0 ? 0 : (size_t)a;
    f->device_change_b = b < 0 ? 0 : (size_t)b;
    return true;
}

static bool read_weekend(struct gating *t, const struct weir_json *inputs, uint32_t *out)
{
    const struct weir_json *list = weir_json_get_str(inputs, "weekend_positions");
    *out = list ? 0 : DEFAULT_WEEKEND;
    if (list && weir_json_type_of(list) != WEIR_JSON_ARRAY)
        return fail(t, "weekend_positions", "has to be a list");
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        int64_t place;
        if (!weir_json_int64(v, &place) || place < 0 || place >= WEEK)
            return fail(t, "weekend_positions", "has to hold places of the week, 0 to 6");
        *out |= 1u << place;
    }
    return true;
}

static const struct {
    const char *name;
    enum finding_kind kind;
    const char *a, *b; /* the inputs' names for the days */
} kinds[] = {
    {"mean", FINDING_LEVEL, "x", NULL},
    {"median", FINDING_LEVEL, "x", NULL},
    {"trend", FINDING_TREND, "y", NULL},
    {"period_difference", FINDING_WINDOWS, "a", "b"},
    {"weekday_weekend", FINDING_WEEKDAYS, "x", NULL},
    {"correlation", FINDING_PAIR, "x", "y"},
    {"lagged_correlation", FINDING_PAIR, "x", "y"},
    {"anomaly", FINDING_ANOMALY, "x", "other"},
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Its place in the table. */
static bool find_kind(struct gating *t, const struct weir_json *line, size_t *out)
{
    struct weir_slice kind = weir_json_text(weir_json_get_str(line, "kind"));
    for (*out = 0; *out < N_KINDS; ++*out)
        if (weir_slice_is(kind, kinds[*out].name)) return true;
    snprintf(t->error, LINES_ERROR_BYTES,
             "there is no such kind of finding; weir gate --help lists them");
    return false;
}

static bool is_time_of_day(double x)
{
    return x >= 0 && x <= STAT_DAY_MINUTES; /* others are left for construct_validity to see */
}

/* A copy of the row with each time of day next to `center`. */
static bool unroll(struct gating *t, const char *name, struct days *row, double center)
{
    double *x = arena_alloc(&t->arena, (row->n + 1) * sizeof *x);
    if (!x) return fail(t, name, "is too long");
    for (size_t i = 0; i < row->n; i++)
        x[i] = is_time_of_day(row->x[i]) ? stat_circular_near(row->x[i], center) : row->x[i];
    row->x = x;
    return true;
}

/*
 * Times of day that lie around midnight are counted on past it, so that 23:50 and 0:10 are near
 * each other. Two rows of one metric get the same midnight. Times within half a day stay.
 */
static bool unroll_times(struct gating *t, const char *name, struct days *a, struct days *b)
{
    double *known = arena_alloc(&t->arena, (a->n + b->n + 1) * sizeof *known);
    if (!known) return fail(t, name, "is too long");
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        if (is_time_of_day(a->x[i])) known[n++] = a->x[i];
    for (size_t i = 0; i < b->n; i++)
        if (is_time_of_day(b->x[i])) known[n++] = b->x[i];
    double center = stat_circular_mean(known, n);
    bool is_near = stat_max(known, n) - stat_min(known, n) <= STAT_DAY_MINUTES / 2.0;
    if (n == 0 || is_near || isnan(center)) return true;
    return unroll(t, name, a, center) && unroll(t, name, b, center);
}

static bool is_circular(const struct metric *m)
{
    return m && m->daily == DAILY_CIRCULAR;
}

static bool unroll_finding(struct gating *t, struct finding *f)
{
    struct days none = {NULL, 0};
    bool is_pair = f->kind == FINDING_PAIR;
    if (is_circular(f->metric) && !unroll_times(t, "x", &f->a, is_pair ? &none : &f->b))
        return false;
    return !is_pair || !is_circular(f->metric_y) || unroll_times(t, "y", &f->b, &none);
}

/* How many days later, and which day: of an anomaly that has to be said. */
static bool read_places(struct gating *t, const struct weir_json *inputs, struct finding *f)
{
    int64_t lag = 0, index = 0;
    if (!read_count(t, inputs, "lag", &lag) || !read_count(t, inputs, "index", &index))
        return false;
    if (f->kind == FINDING_ANOMALY && !weir_json_get_str(inputs, "index"))
        return fail(t, "index", "is missing");
    f->lag = (int)lag;
    f->index = index < 0 ? SIZE_MAX : (size_t)index;
    return true;
}

static bool read_finding(struct gating *t, const struct weir_json *line, struct finding *f)
{
    const struct weir_json *inputs = weir_json_get_str(line, "inputs");
    size_t i;
    if (!find_kind(t, line, &i)) return false;
    *f = (struct finding){.kind = kinds[i].kind,
                          .metric = read_metric(inputs, "metric"),
                          .metric_y = read_metric(inputs, "metric_y")};
    if (!weir_json_get_str(inputs, "metric")) f->metric = read_metric(inputs, "metric_x");
    /* Another source of the same metric is welcome, and no duty. */
    bool has_b = kinds[i].b && (f->kind != FINDING_ANOMALY || weir_json_get_str(inputs, "other"));
    if (!read_days(t, inputs, kinds[i].a, &f->a) ||
        (has_b && !read_days(t, inputs, kinds[i].b, &f->b)) || !read_places(t, inputs, f) ||
        !read_sources(t, inputs, f) || !read_device_changes(t, inputs, f) ||
        !read_weekend(t, inputs, &f->weekend))
        return false;
    f->is_median = strcmp(kinds[i].name, "median") == 0;
    return unroll_finding(t, f);
}

static void put_gate(struct weir_buf *out, enum gate_name name, const struct gate *g)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "gate");
    weir_json_put_str(out, gate_name(name));
    weir_json_put_key(out, "status");
    weir_json_put_str(out, gate_status_name(g->status));
    weir_json_put_key(out, "why");
    weir_json_put_str(out, g->why);
    weir_json_put_key(out, "detail");
    weir_json_put_begin_object(out);
    for (size_t i = 0; i < g->n; i++) {
        weir_json_put_key(out, g->detail[i].name);
        weir_json_put_double(out, g->detail[i].value);
    }
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

static void put_verdict(struct weir_buf *out, const struct verdict *v)
{
    weir_json_put_key(out, "verdict");
    weir_json_put_str(out, verdict_name(v->name));
    weir_json_put_key(out, "assessment");
    weir_json_put_str(out, v->assessment);
    weir_json_put_key(out, "estimate");
    weir_json_put_double(out, v->estimate);
    weir_json_put_key(out, "interval");
    weir_json_put_begin_array(out);
    weir_json_put_double(out, v->lo);
    weir_json_put_double(out, v->hi);
    weir_json_put_end_array(out);
    weir_json_put_key(out, "gates");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < N_GATES; i++) put_gate(out, (enum gate_name)i, &v->gates[i]);
    weir_json_put_end_array(out);
}

static bool answer(void *user, const struct weir_json *line, struct weir_buf *out,
                   char error[LINES_ERROR_BYTES])
{
    struct gating *t = user;
    struct finding finding;
    struct verdict verdict;
    t->error = error;
    arena_reset(&t->arena);
    if (!read_finding(t, line, &finding)) return false;
    enum weir_status st = gates_run(&verdict, &finding, t->seed, &t->arena);
    if (st != WEIR_OK) {
        snprintf(error, LINES_ERROR_BYTES, "%s", weir_status_text(st));
        return false;
    }
    put_verdict(out, &verdict);
    return true;
}

static const char help[] =
    "usage: weir gate [--seed N] < LINES\n"
    "\n"
    "Puts findings through the seven gates. Each line of input is {\"id\", \"kind\", \"inputs\"}, "
    "each\n"
    "line of output {\"id\", \"verdict\", \"assessment\", \"estimate\", \"interval\", \"gates\"}.\n"
    "\n"
    "  kind                 inputs: days in order, null where there is no value\n"
    "  mean, median         metric, x\n"
    "  trend                metric, y\n"
    "  period_difference    metric, a (earlier), b (later)\n"
    "  weekday_weekend      metric, x, weekend_positions [5,6]\n"
    "  correlation          metric_x, metric_y, x, y\n"
    "  lagged_correlation   the same, and lag: y is looked at so many days later\n"
    "  anomaly              metric, x, index, other (the same by another source)\n"
    "\n"
    "Every kind may say who measured the days: sources, and sources_b for the second row, are "
    "lists "
    "of\n"
    "names; device_change and device_change_b are places of the first day of another device;\n"
    "one_device is false when two windows come from different ones.\n"
    "\n"
    "  --seed N    of what is drawn at random; the same seed gives the same numbers (1)\n"
    "\n"
    "Example:\n"
    "  echo "
    "'{\"id\":1,\"kind\":\"mean\",\"inputs\":{\"metric\":\"steps\",\"x\":[9000,8000,null]}}' |\n"
    "    weir gate\n"
    "\n"
    "Exit status: 0 done, 1 some line was wrong, 2 wrong usage.\n";

static int run(int argc, char **argv)
{
    struct gating t = {.seed = 1};
    const struct option_row rows[] = {
        {.name = "seed", .kind = OPTION_COUNT, .to = &t.seed},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&gate_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > 0) return usage_error(&gate_command, "one word too many: \"%s\"", words[0]);
    arena_init(&t.arena, FINDING_MEMORY);
    exit_status = lines_answer(answer, &t);
    arena_fini(&t.arena);
    return exit_status;
}

const struct command gate_command = {
    .name = "gate",
    .summary = "put findings through the seven gates, line by line",
    .help = help,
    .run = run,
};
