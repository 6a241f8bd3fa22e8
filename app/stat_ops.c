/* SPDX-License-Identifier: Apache-2.0 */
/* Finding an operation of weir stat, and those of single numbers. */
#include "stat_ops.h"

#include <math.h>
#include <stdio.h>

#include "stat/change.h"
#include "stat/dist.h"
#include "stat_inputs.h"

/* Memory for a line is bounded; this many values fit for every operation. */
enum { LINE_VALUES = 2000000 };

static void op_t_p(struct call *c)
{
    put(c, stat_t_two_sided(number(c, "t"), positive(c, "df")));
}

static void op_normal_p(struct call *c)
{
    put(c, stat_normal_two_sided(number(c, "z")));
}

static void op_t_quantile(struct call *c)
{
    put(c, stat_t_quantile(probability(c, "p"), positive(c, "df")));
}

static void op_normal_quantile(struct call *c)
{
    put(c, stat_normal_quantile(probability(c, "p")));
}

static void op_beta(struct call *c)
{
    put(c, stat_beta(probability(c, "x"), positive(c, "a"), positive(c, "b")));
}

static void op_f_p(struct call *c)
{
    put(c, stat_f_upper(number(c, "f"), positive(c, "df1"), positive(c, "df2")));
}

static void op_f_quantile(struct call *c)
{
    put(c, stat_f_quantile(probability(c, "p"), positive(c, "df1"), positive(c, "df2")));
}

/* A number that has to be there and must not be below 0. */
static double not_negative(struct call *c, const char *name)
{
    double x = number(c, name);
    if (x < 0) complain(c, name, "has to be 0 or more");
    return x;
}

static void op_mdc95(struct call *c)
{
    double icc = number(c, "icc");
    if (icc > 1) complain(c, "icc", "has to be 1 at most");
    double sem = stat_measurement_error(not_negative(c, "sd"), icc);
    begin(c);
    put_member(c, "sem", sem);
    put_member(c, "mdc", stat_mdc95(sem));
    end(c);
}

static void op_rcv(struct call *c)
{
    double analytical = not_negative(c, "cv_analytical"), within = not_negative(c, "cv_within");
    put(c, stat_rcv(analytical, within, number_or(c, "z", 1.96)));
}

static void op_percent_change(struct call *c)
{
    double from = number(c, "from"), to = number(c, "to");
    if (from == 0) give_reason(c, "from is 0");
    put(c, from != 0 ? 100 * ((to - from) / from) : NAN);
}

static void op_trace_number(struct call *c)
{
    struct row ledger = row_of(c, "ledger");
    double value = number(c, "value");
    double rel = number_or(c, "rel", 0.02), abs = number_or(c, "abs", 0.05);
    bool has_home = false;
    for (size_t i = 0; i < ledger.n; i++) {
        double off = fabs(value - ledger.x[i]);
        has_home = has_home || off <= abs || off <= rel * fabs(ledger.x[i]);
    }
    weir_json_put_bool(c->out, has_home);
}

const struct stat_op stat_number_ops[] = {
    {"t_two_sided_p", "t, df", "p of Student's t", op_t_p},
    {"t_quantile", "p, df", "t with P(T <= t) = p", op_t_quantile},
    {"normal_two_sided_p", "z", "p of a normal z", op_normal_p},
    {"normal_quantile", "p", "z with P(Z <= z) = p", op_normal_quantile},
    {"f_upper_p", "f, df1, df2", "P(F > f)", op_f_p},
    {"f_quantile", "p, df1, df2", "f with P(F <= f) = p", op_f_quantile},
    {"regularised_incomplete_beta", "x, a, b", "I_x(a, b)", op_beta},
    {"mdc95", "sd, icc", "sem, mdc: smallest change that is not noise", op_mdc95},
    {"rcv_percent", "cv_analytical, cv_within, z 1.96", "reference change value", op_rcv},
    {"percent_change", "from, to", "100 (to - from) / from", op_percent_change},
    {"trace_number", "value, ledger, rel 0.02, abs 0.05", "whether it has a home", op_trace_number},
    {.name = NULL},
};

/* ---- finding one ---- */

const struct stat_op *stat_op_at(size_t i)
{
    static const struct stat_op *const tables[] = {stat_row_ops,  stat_number_ops, stat_pair_ops,
                                                   stat_time_ops, stat_group_ops,  stat_draw_ops};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct stat_op *op = tables[t]; op->name; op++)
            if (i-- == 0) return op;
    return NULL;
}

static size_t count_values(const struct weir_json *inputs)
{
    size_t n = 0;
    for (const struct weir_json *v = weir_json_first(inputs); v; v = weir_json_next(v))
        n += weir_json_count(v);
    return n;
}

void stat_op_run(struct call *c, struct weir_slice name)
{
    const struct stat_op *op;
    size_t i = 0;
    c->complaint[0] = c->reason[0] = '\0';
    c->n_seen = 0;
    while ((op = stat_op_at(i)) && !weir_slice_is(name, op->name)) i++;
    if (!op)
        snprintf(c->complaint, sizeof c->complaint,
                 "there is no such op; weir stat --ops lists them");
    else if (weir_json_type_of(c->inputs) != WEIR_JSON_OBJECT)
        snprintf(c->complaint, sizeof c->complaint, "inputs has to be an object");
    else if (count_values(c->inputs) > LINE_VALUES)
        snprintf(c->complaint, sizeof c->complaint, "inputs has more than %d values", LINE_VALUES);
    else op->run(c);
}
