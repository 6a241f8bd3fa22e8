/* SPDX-License-Identifier: Apache-2.0 */
/* The shared reference values, as far as there are kernels for them. */
#include <stdio.h>
#include <weir/json.h>

#include "near.h"
#include "stat/circular.h"
#include "stat/moments.h"
#include "stat/order.h"
#include "stat/relation.h"

enum { MOST = 1000 };

struct reference {
    const struct weir_json *inputs, *expected, *tolerance;
    double x[MOST], y[MOST], scratch[1 << 16];
    size_t n;
};

static size_t read_row(const struct weir_json *list, double *out)
{
    size_t n = 0;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v))
        if (weir_json_double(v, &out[n])) n++;
    return n;
}

static double number(const struct weir_json *object, const char *key)
{
    double x = NAN;
    return weir_json_double(weir_json_get_str(object, key), &x) ? x : NAN;
}

static double run_one(struct reference *r, struct weir_slice op, const char **member)
{
    double center;
    *member = NULL;
    if (weir_slice_is(op, "mean")) return stat_mean(r->x, r->n);
    if (weir_slice_is(op, "median")) return stat_median_in(r->x, r->n);
    if (weir_slice_is(op, "sd")) return stat_sd(r->x, r->n);
    if (weir_slice_is(op, "cv_percent")) return stat_cv(r->x, r->n);
    if (weir_slice_is(op, "quantile_type7"))
        return stat_quantile_in(r->x, r->n, number(r->inputs, "p"));
    if (weir_slice_is(op, "mad")) {
        center = stat_median_in(r->x, r->n);
        return number(r->inputs, "scale") * stat_mad_in(r->x, r->n, center);
    }
    if (weir_slice_is(op, "mean_ignore_missing")) *member = "mean";
    if (*member) return stat_mean(r->x, r->n);
    if (weir_slice_is(op, "pearson")) *member = "r";
    if (*member) return stat_pearson(r->x, r->y, r->n);
    if (weir_slice_is(op, "spearman")) *member = "rho";
    if (*member) return stat_spearman(r->x, r->y, r->n, r->scratch);
    if (weir_slice_is(op, "kendall_tau_b")) *member = "tau";
    if (*member) return stat_kendall(r->x, r->y, r->n, r->scratch);
    if (weir_slice_is(op, "ols")) *member = "slope";
    if (*member) return stat_ols(r->x, r->y, r->n).slope;
    if (weir_slice_is(op, "theil_sen")) *member = "slope";
    if (*member) return stat_theil_sen(r->x, r->y, r->n, r->scratch).slope;
    if (weir_slice_is(op, "circular_clock_mean")) {
        *member = "mean_minute";
        return stat_circular_mean(r->x, read_row(weir_json_get_str(r->inputs, "minutes"), r->x));
    }
    return INFINITY;
}

static bool check_line(struct reference *r, const struct weir_json *line)
{
    r->inputs = weir_json_get_str(line, "inputs");
    r->expected = weir_json_get_str(line, "expected");
    r->tolerance = weir_json_get_str(line, "tolerance");
    r->n = read_row(weir_json_get_str(r->inputs, "x"), r->x);
    if (weir_json_get_str(r->inputs, "y")) read_row(weir_json_get_str(r->inputs, "y"), r->y);
    const char *member;
    double got = run_one(r, weir_json_text(weir_json_get_str(line, "op")), &member);
    if (isinf(got)) return false;
    double want = NAN;
    const struct weir_json *value = member ? weir_json_get_str(r->expected, member) : r->expected;
    if (!weir_json_double(value, &want)) want = NAN;
    double room = fmax(number(r->tolerance, "rel") * fabs(want), number(r->tolerance, "abs"));
    bool is_right = isnan(want) ? isnan(got) : fabs(got - want) <= room;
    struct weir_slice id = weir_json_text(weir_json_get_str(line, "id"));
    if (!is_right)
        t_fail(__FILE__, __LINE__, "%.*s: got %.17g, want %.17g", (int)id.len, id.ptr, got, want);
    return true;
}

TEST(kernels_agree_with_the_reference_values)
{
    static struct reference r;
    if (!t_samples_dir()) {
        t_skip("there are no shared samples");
        return;
    }
    char path[512];
    snprintf(path, sizeof path, "%s/stats/reference.jsonl", t_samples_dir());
    struct weir_slice text = t_read_file(path);
    if (text.len == 0) {
        t_skip("there are no reference values");
        return;
    }
    struct weir_json_doc *doc = weir_json_doc_new(0);
    size_t n_checked = 0;
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        const struct weir_json *line;
        if (len > 0) {
            T_EQ(weir_json_parse(doc, (struct weir_slice){text.ptr, len}, &line, NULL), WEIR_OK);
            n_checked += check_line(&r, line) ? 1 : 0;
        }
        text.ptr += len + (end ? 1 : 0);
        text.len -= len + (end ? 1 : 0);
        weir_json_doc_reset(doc);
    }
    T_OK(n_checked >= 30);
    weir_json_doc_free(doc);
}
