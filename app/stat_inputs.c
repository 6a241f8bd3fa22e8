/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and results of the operations of weir stat. */
#include "stat_inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "stat/moments.h"
#include "stat/order.h"

void complain(struct call *c, const char *name, const char *text)
{
    if (c->complaint[0] == '\0')
        snprintf(c->complaint, sizeof c->complaint, "inputs.%s %s", name, text);
}

void give_reason(struct call *c, const char *text)
{
    if (c->reason[0] == '\0') snprintf(c->reason, sizeof c->reason, "%s", text);
}

double *room(struct call *c, size_t n)
{
    double *x = arena_alloc(&c->arena, (n + 1) * sizeof *x);
    if (!x) {
        fputs("weir stat: no memory\n", stderr);
        exit(EXIT_FAILED);
    }
    return x;
}

/* ---- numbers ---- */

double number_or(struct call *c, const char *name, double otherwise)
{
    double x = otherwise;
    const struct weir_json *v = weir_json_get_str(c->inputs, name);
    if (!v || weir_json_type_of(v) == WEIR_JSON_NULL) return otherwise;
    if (!weir_json_double(v, &x)) complain(c, name, "has to be a number, within a double's range");
    return x;
}

double number(struct call *c, const char *name)
{
    const struct weir_json *v = weir_json_get_str(c->inputs, name);
    char reason[STAT_TEXT_BYTES];
    if (!v) complain(c, name, "is missing");
    if (v && weir_json_type_of(v) == WEIR_JSON_NULL) {
        snprintf(reason, sizeof reason, "%s is null", name);
        give_reason(c, reason);
    }
    return number_or(c, name, NAN);
}

static double checked(struct call *c, const char *name, double x, double least, double most)
{
    char text[80];
    snprintf(text, sizeof text, "has to be from %g to %g", least, most);
    if (x < least || x > most) complain(c, name, text);
    return x < least ? least : x > most ? most : x;
}

double number_in(struct call *c, const char *name, double otherwise, double least, double most)
{
    return checked(c, name, number_or(c, name, otherwise), least, most);
}

size_t whole_in(struct call *c, const char *name, size_t otherwise, size_t least, size_t most)
{
    double x = number_in(c, name, (double)otherwise, (double)least, (double)most);
    if (x != floor(x)) complain(c, name, "has to be a whole number");
    return (size_t)x;
}

double positive(struct call *c, const char *name)
{
    double x = number(c, name);
    if (x <= 0) complain(c, name, "has to be above 0");
    return x;
}

double probability(struct call *c, const char *name)
{
    return checked(c, name, number(c, name), 0, 1);
}

double confidence(struct call *c)
{
    double level = number_or(c, "confidence", 0.95);
    if (!(level > 0 && level < 1)) complain(c, "confidence", "has to be between 0 and 1");
    return level;
}

size_t word_of(struct call *c, const char *name, const char *const *words)
{
    const struct weir_json *v = weir_json_get_str(c->inputs, name);
    char text[STAT_TEXT_BYTES] = "has to be one of";
    if (!v) return 0;
    for (size_t i = 0; words[i]; i++) {
        if (weir_slice_is(weir_json_text(v), words[i])) return i;
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s %s", i > 0 ? "," : "", words[i]);
    }
    complain(c, name, text);
    return 0;
}

/* ---- rows ---- */

static void remember(struct call *c, const char *name, struct row r)
{
    if (c->n_seen == STAT_ROWS_SEEN) return;
    c->seen[c->n_seen++] =
        (struct row_seen){name, r.n, r.n > 0 && stat_min(r.x, r.n) == stat_max(r.x, r.n)};
}

static double value_of(struct call *c, const char *name, const struct weir_json *v)
{
    double x = NAN;
    if (weir_json_type_of(v) == WEIR_JSON_NULL || weir_json_double(v, &x)) return x;
    complain(c, name,
             weir_json_type_of(v) == WEIR_JSON_NUMBER
                 ? "has a member beyond the range of a double"
                 : "has a member that is neither a number nor null");
    return NAN;
}

struct row row_with_gaps(struct call *c, const char *name)
{
    const struct weir_json *list = weir_json_get_str(c->inputs, name);
    struct row r = {NULL, 0};
    if (weir_json_type_of(list) != WEIR_JSON_ARRAY) {
        complain(c, name, "has to be a list of numbers");
        r.x = room(c, 0);
        return r;
    }
    r.x = room(c, weir_json_count(list));
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v))
        r.x[r.n++] = value_of(c, name, v);
    return r;
}

struct row row_of(struct call *c, const char *name)
{
    struct row r = row_with_gaps(c, name);
    size_t n = 0;
    for (size_t i = 0; i < r.n; i++)
        if (!isnan(r.x[i])) r.x[n++] = r.x[i];
    r.n = n;
    remember(c, name, r);
    return r;
}

size_t pairs_of(struct call *c, long lag, struct row *x, struct row *y)
{
    struct row all_x = row_with_gaps(c, "x"), all_y = row_with_gaps(c, "y");
    if (all_x.n != all_y.n) complain(c, "x", "and inputs.y have to be equally long");
    size_t n = 0;
    *x = (struct row){room(c, all_x.n), 0};
    *y = (struct row){room(c, all_x.n), 0};
    for (size_t i = 0; i < all_x.n; i++) {
        long j = (long)i + lag;
        if (j < 0 || (size_t)j >= all_y.n || isnan(all_x.x[i]) || isnan(all_y.x[j])) continue;
        x->x[n] = all_x.x[i];
        y->x[n++] = all_y.x[j];
    }
    x->n = y->n = n;
    remember(c, "x", *x);
    remember(c, "y", *y);
    return n;
}

double *copy_of(struct call *c, struct row r)
{
    double *x = room(c, r.n);
    memcpy(x, r.x, r.n * sizeof *x);
    return x;
}

double scale_rows(struct call *c, struct row a, struct row b)
{
    double *both = room(c, a.n + b.n);
    memcpy(both, a.x, a.n * sizeof *both);
    memcpy(both + a.n, b.x, b.n * sizeof *both);
    double scale = stat_scale(both, a.n + b.n);
    for (size_t i = 0; i < a.n; i++) a.x[i] *= scale;
    for (size_t i = 0; i < b.n; i++) b.x[i] *= scale;
    return scale;
}

double scale_row(struct row r)
{
    double scale = stat_scale(r.x, r.n);
    for (size_t i = 0; i < r.n; i++) r.x[i] *= scale;
    return scale;
}

void center_rows(struct call *c, struct row a, struct row b)
{
    double *known = room(c, a.n + b.n);
    size_t n = 0;
    for (size_t i = 0; i < a.n; i++)
        if (!isnan(a.x[i])) known[n++] = a.x[i];
    for (size_t i = 0; i < b.n; i++)
        if (!isnan(b.x[i])) known[n++] = b.x[i];
    double center = stat_median_in(known, n);
    for (size_t i = 0; i < a.n; i++) a.x[i] -= center;
    for (size_t i = 0; i < b.n; i++) b.x[i] -= center;
}

/* ---- results ---- */

/* The commonest reasons, from what was read. */
static void explain(struct call *c)
{
    char text[STAT_TEXT_BYTES];
    for (size_t i = 0; i < c->n_seen; i++) {
        const struct row_seen *s = &c->seen[i];
        if (s->n > 1 && !s->is_constant) continue;
        if (s->n <= 1) snprintf(text, sizeof text, "%s has %zu values", s->name, s->n);
        else snprintf(text, sizeof text, "all values of %s are equal", s->name);
        give_reason(c, text);
        return;
    }
    give_reason(c, "too few values for it");
}

void put(struct call *c, double x)
{
    if (isinf(x)) give_reason(c, "it is infinite, or beyond the range of a double");
    if (isnan(x)) explain(c);
    weir_json_put_double(c->out, x);
}

void put_member(struct call *c, const char *name, double x)
{
    weir_json_put_key(c->out, name);
    put(c, x);
}

void put_interval(struct call *c, const char *lo, const char *hi, struct stat_interval i)
{
    put_member(c, lo, i.lo);
    put_member(c, hi, i.hi);
}

void put_row(struct call *c, const double *x, size_t n)
{
    weir_json_put_begin_array(c->out);
    for (size_t i = 0; i < n; i++) weir_json_put_double(c->out, x[i]);
    weir_json_put_end_array(c->out);
}

void begin(struct call *c)
{
    weir_json_put_begin_object(c->out);
}

void end(struct call *c)
{
    weir_json_put_end_object(c->out);
}
