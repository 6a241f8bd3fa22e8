/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own data: what there is, and the answers of plans. Where a public body has a limit for
 * what was asked, the answer has the row that it falls into, and that row is cited.
 */
#include <math.h>
#include <string.h>

#include "agent/facts.h"
#include "agent/llm_impl.h"
#include "agent/tool_impl.h"
#include "base/slice.h"
#include "data/plan.h"

enum {
    ANSWER_BYTES = 8 << 20,
    SUMMARY_BYTES = 16 << 10,
    LIST_BYTES = 20 << 10, /* of what there is; its signs may grow in JSON */
};

/* Rows of an answer: as many as fit. */
static const size_t most_rows[] = {60, 20, 5, 0};

/* ---- what there is ---- */

enum weir_status tool_list_data(struct tool_case *c, const struct weir_json *input,
                                struct weir_buf *out)
{
    struct agent_case view = {.data = c->data, .clock = c->clock, .arena = c->arena};
    struct weir_buf text;
    static const char *const none[] = {NULL};
    view.has_biomarkers = true;
    enum weir_status st = tool_take_members(c, input, none);
    if (st != WEIR_OK) return st;
    tool_progress(c, "Looking at what you have measured", 0);
    weir_buf_init(&text, LIST_BYTES);
    st = context_put_data(&text, &view, true);
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_LIMIT) {
        weir_buf_reset(&text);
        st = context_put_data(&text, &view, false);
    }
    if (st == WEIR_OK) st = weir_buf_status(&text);
    weir_json_put_begin_object(out);
    tool_put_text(out, "data", weir_buf_slice(&text));
    weir_json_put_end_object(out);
    weir_buf_fini(&text);
    return st;
}

/* ---- limits of public bodies ---- */

struct subject {
    const char *name, *title, *unit;
};

/* False: it is nothing that the catalogue knows. */
static bool subject_of(const struct plan *plan, struct subject *out)
{
    const struct metric *m = plan->subject == PLAN_OF_METRIC ? plan->metric : NULL;
    const struct analyte *a = plan->subject == PLAN_OF_LAB ? plan->analyte : NULL;
    if (m) *out = (struct subject){m->name, m->title, m->unit};
    else if (a) *out = (struct subject){a->name, a->title, a->unit};
    return m || a;
}

/* Whether the answer is a value such as one is judged by: a mean is, a sum or a spread is not. */
static bool is_value(const struct plan *plan, const struct plan_answer *a, const char *unit)
{
    bool is_level = plan->stat == STAT_MEAN || plan->stat == STAT_MEDIAN ||
                    plan->stat == STAT_FIRST || plan->stat == STAT_LAST;
    return plan->op == PLAN_AGGREGATE && is_level && plan->per == PER_NONE &&
           a->kind == VALUE_NUMBER && a->unit && strcmp(a->unit, unit) == 0;
}

static void put_reference(struct tool_case *c, const struct plan *plan, const struct plan_answer *a,
                          struct weir_buf *out)
{
    static const struct fact_person anybody;
    struct subject s = {0};
    const char *needs = NULL;
    size_t n = 0;
    if (!subject_of(plan, &s) || !is_value(plan, a, s.unit)) return;
    const struct fact_band *bands = fact_bands(s.name, &anybody, &n, &needs);
    const struct fact_band *band = fact_band_of(bands, n, a->number);
    if (!band) return;
    weir_json_put_key(out, "reference");
    tool_put_band(out, band);
    tool_cite_band(c, band, s.title, s.unit);
}

/* ---- plans ---- */

static void put_answer(const struct plan *plan, const struct plan_answer *a, size_t rows,
                       struct weir_buf *out)
{
    struct plan_answer shown = *a;
    struct weir_buf said;
    weir_buf_init(&said, SUMMARY_BYTES);
    plan_say(&said, plan, a);
    if (shown.n_rows > rows) shown.n_rows = rows;
    if (weir_buf_status(&said) == WEIR_OK) tool_put_text(out, "summary", weir_buf_slice(&said));
    weir_buf_fini(&said);
    weir_json_put_key(out, "result");
    plan_put_answer(out, plan, &shown);
    if (a->n_rows == shown.n_rows) return;
    weir_json_put_key(out, "rowsLeftOut");
    weir_json_put_uint(out, a->n_rows - shown.n_rows);
}

static WEIR_MUST_CHECK enum weir_status put_all(struct tool_case *c, const struct plan *plan,
                                                const struct plan_answer *a, struct weir_buf *out)
{
    struct weir_buf json;
    enum weir_status st = WEIR_LIMIT;
    weir_buf_init(&json, ANSWER_BYTES);
    weir_json_put_begin_object(&json);
    put_reference(c, plan, a, &json);
    size_t head = json.len;
    for (size_t i = 0; i < sizeof most_rows / sizeof *most_rows && st == WEIR_LIMIT; i++) {
        json.len = head;
        put_answer(plan, a, most_rows[i], &json);
        weir_json_put_end_object(&json);
        st = weir_buf_status(&json);
        if (st == WEIR_OK && json.len > TOOL_RESULT_BYTES) st = WEIR_LIMIT;
    }
    if (st == WEIR_OK) weir_buf_append_slice(out, weir_buf_slice(&json));
    weir_buf_fini(&json);
    return st;
}

enum weir_status tool_query_data(struct tool_case *c, const struct weir_json *input,
                                 struct weir_buf *out)
{
    struct plan plan;
    struct plan_answer a = {0};
    struct plan_error error = {0};
    tool_progress(c, "Reading your data", 0);
    enum weir_status st = plan_parse(&plan, input, c->data, &error);
    if (st == WEIR_BAD_FIELD)
        return tool_refuse(c, st, "%s%s%s", error.path, error.path[0] ? ": " : "", error.text);
    if (st != WEIR_OK) return st;
    if (tool_is_aborted(c)) return WEIR_CANCELLED;
    st = plan_run(&plan, c->data, c->arena, &a);
    if (st == WEIR_BAD_FIELD)
        return tool_refuse(c, WEIR_UNPROCESSABLE, "that has no meaning for what was named");
    if (st == WEIR_OK) st = put_all(c, &plan, &a, out);
    tool_progress(c, "Reading your data", 100);
    return st;
}
