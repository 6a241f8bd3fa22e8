/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_text.h"

#include "base/clock.h"
#include "base/slice.h"
#include "term_text.h"

enum { BAR_CELLS = 30, NAME_COLUMNS = 22 };

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

static void put_text(struct weir_buf *out, const struct weir_json *v, const char *key)
{
    term_clean_label(out, text_of(v, key));
}

/* A name in a column of its own. */
static void put_name(struct weir_buf *out, const struct weir_json *v, const char *key)
{
    weir_buf_append_str(out, "  ");
    size_t begin = out->len;
    put_text(out, v, key);
    for (size_t n = out->len - begin; n < NAME_COLUMNS; n++) weir_buf_append_char(out, ' ');
    weir_buf_append_char(out, ' ');
}

static int64_t time_of(const struct weir_json *v, const char *key)
{
    int64_t ms = 0;
    return clock_parse(text_of(v, key), &ms) ? ms : 0;
}

/* ---- steps, as bars in time ---- */

struct scale {
    int64_t from, to;
};

static unsigned cell_of(struct scale s, int64_t at)
{
    if (s.to <= s.from || at <= s.from) return 0;
    return at >= s.to ? BAR_CELLS : (unsigned)((at - s.from) * BAR_CELLS / (s.to - s.from));
}

static void put_bar(struct weir_buf *out, struct scale s, int64_t from, int64_t to)
{
    unsigned first = cell_of(s, from), last = cell_of(s, to);
    if (first == BAR_CELLS) first--;
    for (unsigned i = 0; i < BAR_CELLS; i++)
        weir_buf_append_char(out, i == first || (i > first && i < last) ? '#' : '.');
}

static void put_step(struct weir_buf *out, const struct weir_json *step, struct scale s)
{
    int64_t from = time_of(step, "started_at"), to = time_of(step, "ended_at");
    int64_t attempts = 0;
    double cost = 0;
    (void)weir_json_int64(weir_json_get_str(step, "attempts"), &attempts);
    (void)weir_json_double(weir_json_get_str(step, "cost_usd"), &cost);
    put_name(out, step, "name");
    put_bar(out, s, from, to);
    weir_buf_printf(out, " %6lld ms", (long long)(to - from));
    if (attempts > 1) weir_buf_printf(out, "  %lld attempts", (long long)attempts);
    if (cost > 0) weir_buf_printf(out, "  $%.4f", cost);
    const struct weir_json *error = weir_json_get_str(step, "error");
    if (weir_json_type_of(error) == WEIR_JSON_OBJECT) {
        weir_buf_append_str(out, "  ");
        put_text(out, error, "message");
    }
    weir_buf_append_char(out, '\n');
}

static void put_steps(struct weir_buf *out, const struct weir_json *trace)
{
    const struct weir_json *steps = weir_json_get_str(trace, "steps");
    struct scale s = {time_of(trace, "created_at"), time_of(trace, "completed_at")};
    const struct weir_json *step;
    for (step = weir_json_first(steps); step; step = weir_json_next(step))
        if (time_of(step, "ended_at") > s.to) s.to = time_of(step, "ended_at");
    for (step = weir_json_first(steps); step; step = weir_json_next(step)) put_step(out, step, s);
}

/* ---- models ---- */

static long long count_of(const struct weir_json *v, const char *key)
{
    int64_t n = 0;
    return weir_json_int64(weir_json_get_str(v, key), &n) ? (long long)n : 0;
}

static void put_call(struct weir_buf *out, const struct weir_json *call)
{
    double cost = 0;
    const struct weir_json *usage = weir_json_get_str(call, "usage");
    (void)weir_json_double(weir_json_get_str(call, "cost_usd"), &cost);
    put_name(out, call, "purpose");
    put_text(out, call, "provider");
    weir_buf_append_char(out, '/');
    put_text(out, call, "model");
    weir_buf_printf(out, "  %lld ms  %lld tokens in, %lld out", count_of(call, "duration_ms"),
                    count_of(usage, "input_tokens"), count_of(usage, "output_tokens"));
    if (count_of(call, "attempts") > 1)
        weir_buf_printf(out, "  %lld attempts", count_of(call, "attempts"));
    if (cost > 0) weir_buf_printf(out, "  $%.4f", cost);
    if (!weir_slice_is(text_of(call, "status"), "ok")) {
        weir_buf_append_str(out, "  ");
        put_text(out, call, "why");
    }
    weir_buf_append_char(out, '\n');
}

static void put_calls(struct weir_buf *out, const struct weir_json *trace)
{
    bool has_title = false;
    const struct weir_json *step = weir_json_first(weir_json_get_str(trace, "steps"));
    for (; step; step = weir_json_next(step)) {
        const struct weir_json *c = weir_json_first(weir_json_get_str(step, "model_calls"));
        if (c && !has_title) weir_buf_append_str(out, "\nmodels\n");
        has_title |= c != NULL;
        for (; c; c = weir_json_next(c)) put_call(out, c);
    }
}

/* ---- agents and checks ---- */

static void put_agents(struct weir_buf *out, const struct weir_json *trace)
{
    const struct weir_json *a = weir_json_first(weir_json_get_str(trace, "agents"));
    if (a) weir_buf_append_str(out, "\nagents\n");
    for (; a; a = weir_json_next(a)) {
        weir_buf_append_str(out, "  ");
        put_text(out, a, "agent");
        weir_buf_append_str(out, ": ");
        put_text(out, a, "summary");
        weir_buf_append_char(out, '\n');
    }
}

static void put_gates(struct weir_buf *out, const struct weir_json *trace)
{
    const struct weir_json *g = weir_json_first(weir_json_get_str(trace, "gates"));
    struct weir_slice finding = {0};
    if (g) weir_buf_append_str(out, "\nchecks\n");
    for (; g; g = weir_json_next(g)) {
        struct weir_slice id = text_of(g, "finding_id");
        if (!slice_eq(id, finding)) {
            weir_buf_append_str(out, finding.len > 0 ? "\n  " : "  ");
            put_text(out, g, "finding_id");
            weir_buf_append_char(out, ' ');
        }
        finding = id;
        weir_buf_append_char(out, ' ');
        put_text(out, g, "gate");
        weir_buf_append_char(out, '=');
        put_text(out, g, "verdict");
    }
    if (finding.len > 0) weir_buf_append_char(out, '\n');
    for (g = weir_json_first(weir_json_get_str(trace, "critic")); g; g = weir_json_next(g)) {
        weir_buf_append_str(out, "  ");
        put_text(out, g, "finding_id");
        weir_buf_append_str(out, "  critic: ");
        put_text(out, g, "verdict");
        weir_buf_append_str(out, ", ");
        put_text(out, g, "reasoning");
        weir_buf_append_char(out, '\n');
    }
}

static void put_flagged(struct weir_buf *out, const struct weir_json *trace)
{
    const struct weir_json *f = weir_json_first(weir_json_get_str(trace, "flagged"));
    if (f) weir_buf_append_str(out, "\nnumbers without a home\n");
    for (; f; f = weir_json_next(f)) {
        weir_buf_append_str(out, "  ");
        weir_json_put_value(out, f);
        weir_buf_append_char(out, '\n');
    }
}

enum weir_status trace_text(struct weir_buf *out, struct weir_slice json)
{
    const struct weir_json *trace = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? weir_json_parse(doc, json, &trace, NULL) : WEIR_NOMEM;
    if (st == WEIR_OK) {
        put_text(out, trace, "turn_id");
        weir_buf_append_str(out, "  ");
        put_text(out, trace, "status");
        weir_buf_append_str(out, "\n\n");
        put_steps(out, trace);
        put_calls(out, trace);
        put_agents(out, trace);
        put_gates(out, trace);
        put_flagged(out, trace);
        st = weir_buf_status(out);
    }
    weir_json_doc_free(doc);
    return st;
}
