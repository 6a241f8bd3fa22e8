/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of weir stat on two groups, and on differences within pairs. */
#include <math.h>

#include "stat/moments.h"
#include "stat/rank_test.h"
#include "stat_inputs.h"

static void put_test(struct call *c, const char *name, struct stat_test t, double scale)
{
    if (isinf(t.t)) give_reason(c, "nothing varies, so t is infinite");
    begin(c);
    put_member(c, name, t.estimate / scale);
    put_member(c, "t", t.t);
    put_member(c, "df", t.df);
    put_member(c, "p", t.p);
    put_member(c, "ci_lo", t.interval.lo / scale);
    put_member(c, "ci_hi", t.interval.hi / scale);
    end(c);
}

static void op_welch(struct call *c)
{
    struct row a = row_of(c, "a"), b = row_of(c, "b");
    double scale = scale_rows(c, a, b);
    center_rows(c, a, b);
    struct stat_group ga = stat_group_of(a.x, a.n), gb = stat_group_of(b.x, b.n);
    put_test(c, "diff", stat_welch(ga, gb, confidence(c)), scale);
}

static void op_paired_t(struct call *c)
{
    struct row d = row_of(c, "d");
    double scale = scale_row(d);
    put_test(c, "mean", stat_one_sample(stat_group_of(d.x, d.n), confidence(c)), scale);
}

static double mann_whitney_p(struct call *c, struct row a, struct row b,
                             const struct stat_mann_whitney *m)
{
    static const char *const methods[] = {"asymptotic_continuity", "asymptotic",
                                          "asymptotic_no_continuity", "exact", NULL};
    size_t method = word_of(c, "p_method", methods);
    if (method == 0) return m->p;
    if (method < 3) return m->p_uncorrected;
    if (a.n + b.n > STAT_EXACT_MANN_WHITNEY) {
        complain(c, "p_method", "exact is for up to 100 values");
        return NAN;
    }
    return stat_mann_whitney_exact(a.x, a.n, b.x, b.n,
                                   room(c, stat_mann_whitney_exact_scratch(a.n, b.n)));
}

static void op_mann_whitney(struct call *c)
{
    struct row a = row_of(c, "a"), b = row_of(c, "b");
    struct stat_mann_whitney m = stat_mann_whitney(a.x, a.n, b.x, b.n, room(c, 4 * (a.n + b.n)));
    double p = mann_whitney_p(c, a, b, &m);
    if (!isnan(m.u) && isnan(p)) give_reason(c, "all values are equal");
    begin(c);
    put_member(c, "U_a", m.u);
    put_member(c, "p", p);
    put_member(c, "auc", m.auc);
    put_member(c, "cliffs_delta", m.delta);
    end(c);
}

static void op_effect_size(struct call *c)
{
    struct row a = row_of(c, "a"), b = row_of(c, "b");
    (void)scale_rows(c, a, b);
    center_rows(c, a, b);
    struct stat_group ga = stat_group_of(a.x, a.n), gb = stat_group_of(b.x, b.n);
    begin(c);
    put_member(c, "cohen_d", stat_cohen_d(ga, gb));
    put_member(c, "hedges_g", stat_hedges_g(ga, gb));
    end(c);
}

static double wilcoxon_p(struct call *c, struct row d, const struct stat_wilcoxon *w)
{
    static const char *const methods[] = {"asymptotic_no_continuity", "asymptotic",
                                          "asymptotic_continuity", "exact", NULL};
    size_t method = word_of(c, "p_method", methods);
    if (method < 2) return w->p;
    if (method == 2) return w->p_corrected;
    if (d.n > STAT_EXACT_WILCOXON) {
        complain(c, "p_method", "exact is for up to 400 differences");
        return NAN;
    }
    return stat_wilcoxon_exact(d.x, d.n, room(c, stat_wilcoxon_exact_scratch(d.n)));
}

static void op_wilcoxon(struct call *c)
{
    static const char *const zeros[] = {"wilcox", NULL};
    struct row d = row_of(c, "d");
    struct stat_wilcoxon w = stat_wilcoxon(d.x, d.n, room(c, 5 * d.n));
    (void)word_of(c, "zero_method", zeros);
    if (d.n > 0 && w.n == 0) give_reason(c, "all differences are 0");
    begin(c);
    put_member(c, "W_min", w.w);
    put_member(c, "p", wilcoxon_p(c, d, &w));
    end(c);
}

/* 0 and 1, or false and true. */
static double label_of(struct call *c, const struct weir_json *v)
{
    double x = NAN;
    if (weir_json_type_of(v) == WEIR_JSON_TRUE) return 1;
    if (weir_json_type_of(v) == WEIR_JSON_FALSE) return 0;
    if (weir_json_type_of(v) == WEIR_JSON_NULL) return NAN;
    if (!weir_json_double(v, &x) || (x != 0 && x != 1))
        complain(c, "label", "has to be a list of 0 and 1");
    return x;
}

static void op_auc(struct call *c)
{
    struct row score = row_with_gaps(c, "score");
    const struct weir_json *labels = weir_json_get_str(c->inputs, "label");
    double *a = room(c, score.n), *b = room(c, score.n);
    size_t na = 0, nb = 0, i = 0;
    if (weir_json_type_of(labels) != WEIR_JSON_ARRAY || weir_json_count(labels) != score.n) {
        complain(c, "label", "has to be a list as long as inputs.score");
        return;
    }
    for (const struct weir_json *v = weir_json_first(labels); v; v = weir_json_next(v), i++) {
        double label = label_of(c, v);
        if (isnan(score.x[i]) || isnan(label)) continue;
        if (label > 0) a[na++] = score.x[i];
        else b[nb++] = score.x[i];
    }
    if (na == 0 || nb == 0) give_reason(c, "it takes scores with label 0 and with label 1");
    put(c, stat_mann_whitney(a, na, b, nb, room(c, 4 * (na + nb))).auc);
}

const struct stat_op stat_group_ops[] = {
    {"welch_t", "a, b, confidence 0.95", "diff, t, df, p, ci_lo, ci_hi", op_welch},
    {"paired_t", "d, confidence 0.95", "mean, t, df, p, ci_lo, ci_hi", op_paired_t},
    {"mann_whitney", "a, b, p_method asymptotic_continuity|asymptotic|exact",
     "U_a, p, auc, cliffs_delta", op_mann_whitney},
    {"effect_size", "a, b", "cohen_d, hedges_g", op_effect_size},
    {"wilcoxon_signed_rank", "d, p_method asymptotic|asymptotic_continuity|exact", "W_min, p",
     op_wilcoxon},
    {"auc", "score, label", "area under the curve, ties one half", op_auc},
    {.name = NULL},
};
