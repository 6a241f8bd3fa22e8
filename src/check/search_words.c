/* SPDX-License-Identifier: Apache-2.0 */
/* What a search found, and what it tried, in words and as JSON. */
#include <math.h>
#include <string.h>

#include <weir/json.h>

#include "base/slice.h"
#include "check/search_impl.h"
#include "codec/json_member.h"
#include "data/day.h"

enum { WORDS_BYTES = 4096, WEEK = 7 };

static enum weir_status keep(struct search_work *w, struct weir_buf *text, const char **out)
{
    enum weir_status st = weir_buf_status(text);
    char *copy = st == WEIR_OK ? arena_alloc(w->arena, text->len + 1) : NULL;
    if (st == WEIR_OK && !copy) st = w->arena->status;
    if (copy) {
        memcpy(copy, text->ptr, text->len);
        copy[text->len] = '\0';
        *out = copy;
    }
    weir_buf_fini(text);
    return st;
}

/* With as many digits as somebody would say. */
static void put_amount(struct weir_buf *out, double amount, const struct metric *m)
{
    double size = fabs(amount);
    const char *unit = m->daily == DAILY_CIRCULAR ? "min" : m->unit;
    int digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
    weir_buf_printf(out, "%.*f%s%s", digits, size, unit[0] && unit[0] != '%' ? " " : "", unit);
}

/* "more steps", "a later bedtime", "a lower resting heart rate" */
static void put_with(struct weir_buf *out, const struct metric *m, bool is_up)
{
    if (m->daily == DAILY_CIRCULAR)
        weir_buf_printf(out, "%s %s", is_up ? "a later" : "an earlier", m->title);
    else if (m->daily == DAILY_SUM)
        weir_buf_printf(out, "%s %s", is_up ? "more" : "less", m->title);
    else weir_buf_printf(out, "a %s %s", is_up ? "higher" : "lower", m->title);
}

static const char *direction(const struct metric *m, bool is_up)
{
    if (m->daily == DAILY_CIRCULAR) return is_up ? "later" : "earlier";
    return is_up ? "higher" : "lower";
}

static void say_pair(struct weir_buf *out, const struct hypothesis *h)
{
    weir_buf_append_str(out, "Days with ");
    put_with(out, h->x, true);
    weir_buf_append_str(out, h->lag == 0 ? " tend to have " : " tend to be followed by ");
    put_with(out, h->y, h->size > 0);
    if (h->lag == 1) weir_buf_append_str(out, " the day after");
    if (h->lag > 1) weir_buf_printf(out, " %d days later", h->lag);
    weir_buf_printf(out, " (correlation %.2f)", h->size);
}

static void put_weekdays(struct weir_buf *out, uint8_t weekdays)
{
    if (weekdays == (1 << 5 | 1 << 6)) {
        weir_buf_append_str(out, "weekends");
        return;
    }
    for (unsigned i = 0; i < WEEK; i++)
        if (weekdays >> i & 1) weir_buf_printf(out, "%ss", day_weekday_name(i));
}

static bool ends_plural(const char *end, const char *begin)
{
    return end - begin > 2 && end[-1] == 's' && end[-2] != 's';
}

/* Steps are, floors climbed are, the stress score is. */
static bool is_plural(const char *title)
{
    const char *end = title + strlen(title), *first = strchr(title, ' ');
    return ends_plural(end, title) || (first && ends_plural(first, title));
}

static void say_amount(struct weir_buf *out, const struct hypothesis *h, const char *than)
{
    weir_buf_printf(out, "%s %s %s by ", h->x->title, is_plural(h->x->title) ? "are" : "is",
                    direction(h->x, h->estimate > 0));
    put_amount(out, h->estimate, h->x);
    weir_buf_append_str(out, than);
}

static void say_what(struct weir_buf *out, const struct hypothesis *h)
{
    char day[DAY_TEXT_BYTES] = "";
    if (h->day != DAY_NONE) day_format(day, h->day);
    switch (h->kind) {
    case SEARCH_PAIR: say_pair(out, h); break;
    case SEARCH_TREND:
        weir_buf_append_str(out, "Over all days, ");
        say_amount(out, h, " in the newer days than in the older ones");
        break;
    case SEARCH_WEEKDAY:
        weir_buf_append_str(out, "On ");
        put_weekdays(out, h->weekdays);
        weir_buf_append_str(out, ", ");
        say_amount(out, h, " than on other days");
        break;
    case SEARCH_CHANGE:
        weir_buf_printf(out, "Since about %s, ", day);
        say_amount(out, h, " than before");
        break;
    default:
        weir_buf_printf(out, "On %s, %s %s far %s the usual: ", day, h->x->title,
                        is_plural(h->x->title) ? "were" : "was",
                        h->estimate > 0 ? "above" : "below");
        put_amount(out, h->estimate, h->x);
        weir_buf_append_str(out, h->estimate > 0 ? " more" : " less");
        break;
    }
}

enum weir_status search_say(struct search_work *w, struct hypothesis *h)
{
    struct weir_buf text;
    weir_buf_init(&text, WORDS_BYTES);
    say_what(&text, h);
    if (h->test->is_of_all_days)
        weir_buf_printf(&text, "; found on all %zu days, and the newer %zu agree", h->n_search,
                        h->n_confirm);
    else if (h->kind == SEARCH_ANOMALY)
        weir_buf_append_str(&text, "; a single day can have any reason");
    else
        weir_buf_printf(&text, "; found on %zu older days, confirmed on %zu newer ones",
                        h->n_search, h->n_confirm);
    weir_buf_append_char(&text, '.');
    return keep(w, &text, &h->words);
}

/* ---- the whole ---- */

static void say_tried(struct weir_buf *out, const struct search_result *r)
{
    static const char *const names[N_SEARCH_KINDS] = {"of pairs with lags of up to 3 days",
                                                      "of trends", "of weekdays",
                                                      "of changes of level", "of single days"};
    size_t n_promising = 0, n_confirmed = 0;
    weir_buf_printf(out, "%zu tests were tried: ", r->n_tests);
    for (size_t k = 0; k < N_SEARCH_KINDS; k++) {
        weir_buf_printf(out, "%s%zu %s", k > 0 ? ", " : "", r->counts[k].n_tried, names[k]);
        n_promising += r->counts[k].n_promising;
        n_confirmed += r->counts[k].n_confirmed;
    }
    weir_buf_append_str(out, ".");
    if (r->n_skipped > 0)
        weir_buf_printf(out,
                        " %zu more were not tried: there are too few days, one metric is made of "
                        "the other, or it wanders too slowly to tell.",
                        r->n_skipped);
    if (r->n_tests > 0)
        weir_buf_printf(out,
                        " %zu stood out among so many; %zu findings were confirmed on the newer "
                        "days.",
                        n_promising, n_confirmed);
}

static void say_ceilings(struct weir_buf *out, const struct search_input *in)
{
    if (in->n_metrics > in->n_rows)
        weir_buf_printf(out, " The %zu metrics with the fewest days were left out.",
                        in->n_metrics - in->n_rows);
    if (in->span > in->n_days)
        weir_buf_printf(out, " Days before the newest %d were left out.", SEARCH_DAYS);
}

enum weir_status search_say_all(struct search_work *w)
{
    struct search_result *r = w->result;
    const struct search_input *in = r->input;
    struct weir_buf text;
    weir_buf_init(&text, WORDS_BYTES);
    if (in->n_days == 0 || in->n_rows == 0) {
        weir_buf_append_str(&text, "There are no days to search. Nothing stands.");
        return keep(w, &text, &r->words);
    }
    weir_buf_printf(&text,
                    "Searched %zu metrics on %zu days: the older %zu were searched, the newer %zu "
                    "kept to confirm. ",
                    in->n_rows, in->n_days, r->cut, in->n_days - r->cut);
    say_tried(&text, r);
    say_ceilings(&text, in);
    if (r->n == 0)
        weir_buf_append_str(&text, " Nothing stands: what was seen is what chance makes of so many "
                                   "tests, or the days are too few to tell.");
    return keep(w, &text, &r->words);
}

/* ---- JSON ---- */

static void put_day(struct weir_buf *out, const char *key, int32_t day)
{
    char text[DAY_TEXT_BYTES];
    day_format(text, day);
    weir_json_put_key(out, key);
    weir_json_put_str(out, text);
}

static void put_number(struct weir_buf *out, const char *key, double x)
{
    weir_json_put_key(out, key);
    weir_json_put_double(out, x);
}

static void put_count(struct weir_buf *out, const char *key, size_t n)
{
    weir_json_put_key(out, key);
    weir_json_put_uint(out, n);
}

static void put_weekday_list(struct weir_buf *out, uint8_t weekdays)
{
    weir_json_put_key(out, "weekdays");
    weir_json_put_begin_array(out);
    for (unsigned i = 0; i < WEEK; i++)
        if (weekdays >> i & 1) weir_json_put_str(out, day_weekday_name(i));
    weir_json_put_end_array(out);
}

/* What a test or a hypothesis is about. */
static void put_subject(struct weir_buf *out, const struct hypothesis *h)
{
    member_str(out, "kind", search_kind_name(h->kind));
    member_str(out, "metric", h->x->name);
    if (h->kind == SEARCH_PAIR) {
        member_str(out, "metric_y", h->y->name);
        weir_json_put_key(out, "lag");
        weir_json_put_int(out, h->lag);
    }
    if (h->kind == SEARCH_WEEKDAY) put_weekday_list(out, h->weekdays);
    if (h->day != DAY_NONE) put_day(out, "day", h->day);
}

static void put_gates(struct weir_buf *out, const struct verdict *v)
{
    weir_json_put_key(out, "gates");
    weir_json_put_begin_object(out);
    for (size_t i = 0; i < N_GATES; i++)
        member_str(out, gate_name((enum gate_name)i), gate_status_name(v->gates[i].status));
    weir_json_put_end_object(out);
}

static void put_hypothesis(struct weir_buf *out, const struct hypothesis *h, size_t rank)
{
    bool has_unit = h->kind != SEARCH_PAIR;
    weir_json_put_begin_object(out);
    put_count(out, "rank", rank);
    put_subject(out, h);
    member_str(out, "words", h->words);
    member_str(out, "verdict", verdict_name(h->verdict));
    member_str(out, "assessment", h->gates.assessment);
    put_number(out, "estimate", h->estimate);
    if (has_unit) member_str(out, "unit", h->x->daily == DAILY_CIRCULAR ? "min" : h->x->unit);
    put_number(out, "size", h->size);
    put_number(out, "p_search", h->p_search);
    put_number(out, "q_search", h->q_search);
    put_number(out, "p_confirm", h->p_confirm);
    put_count(out, "n_search", h->n_search);
    put_count(out, "n_confirm", h->n_confirm);
    put_number(out, "strength", h->strength);
    put_number(out, "usefulness", h->usefulness);
    put_gates(out, &h->gates);
    weir_json_put_end_object(out);
}

static void put_counts(struct weir_buf *out, const struct search_result *r)
{
    weir_json_put_key(out, "kinds");
    weir_json_put_begin_object(out);
    for (size_t k = 0; k < N_SEARCH_KINDS; k++) {
        weir_json_put_key(out, search_kind_name((enum search_kind)k));
        weir_json_put_begin_object(out);
        put_count(out, "tried", r->counts[k].n_tried);
        put_count(out, "promising", r->counts[k].n_promising);
        put_count(out, "confirmed", r->counts[k].n_confirmed);
        put_count(out, "reported", r->counts[k].n_reported);
        weir_json_put_end_object(out);
    }
    weir_json_put_end_object(out);
}

static void put_test(struct weir_buf *out, const struct search_result *r,
                     const struct search_test *t)
{
    const struct search_input *in = r->input;
    bool has_day = t->kind == SEARCH_CHANGE || t->kind == SEARCH_ANOMALY;
    struct hypothesis h = {.kind = (enum search_kind)t->kind,
                           .x = in->rows[t->x].metric,
                           .y = in->rows[t->y].metric,
                           .lag = t->lag,
                           .weekdays = t->weekdays,
                           .day = has_day ? in->first_day + t->day : DAY_NONE};
    weir_json_put_begin_object(out);
    put_subject(out, &h);
    put_number(out, "effect", (double)t->effect);
    put_number(out, "statistic", t->statistic);
    put_count(out, "n", t->n);
    put_number(out, "n_eff", (double)t->n_eff);
    put_number(out, "p", t->p);
    put_number(out, "q", t->q);
    member_str(out, "outcome", search_outcome_name((enum search_outcome)t->outcome));
    weir_json_put_end_object(out);
}

static void put_searched(struct weir_buf *out, const struct search_result *r)
{
    const struct search_input *in = r->input;
    weir_json_put_key(out, "searched");
    weir_json_put_begin_object(out);
    put_count(out, "metrics", in->n_rows);
    put_count(out, "days", in->n_days);
    if (in->n_days > 0) {
        put_day(out, "from", in->first_day);
        put_day(out, "to", in->first_day + (int32_t)in->n_days - 1);
        put_day(out, "confirm_from", in->first_day + (int32_t)r->cut);
    }
    weir_json_put_end_object(out);
}

void search_put(struct weir_buf *out, const struct search_result *r, bool with_log)
{
    weir_json_put_begin_object(out);
    put_searched(out, r);
    put_count(out, "tests", r->n_tests);
    put_count(out, "skipped", r->n_skipped);
    put_counts(out, r);
    member_str(out, "words", r->words);
    weir_json_put_key(out, "hypotheses");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < r->n; i++) put_hypothesis(out, &r->hypotheses[i], i + 1);
    weir_json_put_end_array(out);
    if (with_log) {
        weir_json_put_key(out, "log");
        weir_json_put_begin_array(out);
        for (size_t i = 0; i < r->n_tests; i++) put_test(out, r, &r->tests[i]);
        weir_json_put_end_array(out);
    }
    weir_json_put_end_object(out);
}
