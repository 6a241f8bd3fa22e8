/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step 7: every finding of the turn goes through the seven gates and before the critic, each
 * verdict is told as it falls, and what is left becomes the fact sheet.
 *
 * A value claims nothing beyond its days: it has to rest on something and to be of a known thing,
 * and the other gates have nothing to say. What the domain expert brings is public knowledge and
 * goes into the sheet as it is.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/finding.h"
#include "agent/llm_impl.h"
#include "base/slice.h"
#include "check/sheet.h"
#include "stat/circular.h"

enum {
    EVENT_BYTES = 256 << 10,
    GATES_ARENA_BYTES = 256 << 20, /* of one finding; it goes back before the next */
    NAME_BYTES = 64,
    MOST_KEPT = 64, /* findings of a turn that a critic on a model can be shown */
};

struct judged;

struct validation {
    struct agent_case *c;
    struct sheet sheet;
    struct weir_buf checked;
    struct arena gates; /* what one finding needs, or all of those that are kept */
    size_t counts[3];   /* by enum verdict_name */
    bool is_kept;       /* findings wait for the critic before it is concluded about them */
    struct judged *kept[MOST_KEPT];
    size_t n_kept, at; /* of them; the next one to conclude about */
};

/* One finding with all that was said of it. */
struct judged {
    struct claim_read read;
    const struct weir_json *json;
    struct verdict verdict;
    struct critique critique;
    struct assessment assessment;
};

/* ---- gates ---- */

static void gate_says(struct gate *g, enum gate_status status, const char *why)
{
    g->status = status;
    g->why = why;
}

static void judge_value(struct judged *j)
{
    struct verdict *v = &j->verdict;
    const struct weir_json *plan = weir_json_get_str(j->json, "plan");
    struct weir_slice op = agent_text(plan, "op"), stat = agent_text(plan, "stat");
    bool is_of_none = weir_slice_is(op, "count") || weir_slice_is(op, "list") ||
                      weir_slice_is(op, "anomaly") || weir_slice_is(stat, "sum") ||
                      weir_slice_is(stat, "count");
    *v = (struct verdict){.estimate = NAN, .lo = NAN, .hi = NAN};
    for (size_t i = 0; i < N_GATES; i++)
        gate_says(&v->gates[i], GATE_SKIPPED, "a value says nothing about other days");
    bool is_enough = j->read.n > 0 || is_of_none;
    struct gate *size = &v->gates[GATE_SAMPLE_SIZE];
    gate_says(size, is_enough ? GATE_PASSED : GATE_FAILED,
              is_enough ? "it is of the days that were asked for" : "there is nothing behind it");
    size->n = 1;
    size->detail[0].name = "n";
    size->detail[0].value = (double)j->read.n;
    gate_says(&v->gates[GATE_CONSTRUCT_VALIDITY], GATE_PASSED,
              "what it is of and its unit are known, and days that are not fit were left out");
    v->name = is_enough ? VERDICT_VALIDATED : VERDICT_REJECTED;
    v->assessment = is_enough ? "consistent: it is what the data hold"
                              : "not supported: there is nothing behind it";
}

static void put_detail(struct weir_buf *out, const struct gate *g, bool has_why)
{
    weir_json_put_key(out, "detail");
    weir_json_put_begin_object(out);
    for (size_t i = 0; i < g->n; i++) {
        weir_json_put_key(out, g->detail[i].name);
        weir_json_put_double(out, g->detail[i].value);
    }
    if (has_why) {
        weir_json_put_key(out, "why");
        weir_json_put_str(out, g->why);
    }
    weir_json_put_end_object(out);
}

static void emit(struct agent_case *c, const char *type, struct weir_buf *json)
{
    weir_json_put_end_object(json);
    if (weir_buf_status(json) == WEIR_OK && c->emit) c->emit(c->user, type, weir_buf_slice(json));
    weir_buf_fini(json);
}

static void open_event(struct weir_buf *json, const struct judged *j)
{
    weir_buf_init(json, EVENT_BYTES);
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "finding_id");
    weir_json_put_string(json, j->read.id);
}

/* How many gates there is something to say of: none behind a hard one that failed. */
static size_t n_gates(const struct verdict *v)
{
    for (size_t i = 0; i <= GATE_CONSTRUCT_VALIDITY; i++)
        if (v->gates[i].status == GATE_FAILED) return i + 1;
    return N_GATES;
}

static void tell_gates(struct agent_case *c, const struct judged *j)
{
    for (size_t i = 0; i < n_gates(&j->verdict); i++) {
        const struct gate *g = &j->verdict.gates[i];
        struct weir_buf json;
        open_event(&json, j);
        weir_json_put_key(&json, "claim");
        weir_json_put_string(&json, j->read.claim);
        weir_json_put_key(&json, "gate");
        weir_json_put_str(&json, gate_name((enum gate_name)i));
        weir_json_put_key(&json, "verdict");
        weir_json_put_str(&json, gate_status_name(g->status));
        put_detail(&json, g, true);
        emit(c, "validator.gate", &json);
    }
}

/* ---- critic ---- */

static const char *text_of(struct arena *arena, struct weir_slice s)
{
    char *text = arena_alloc(arena, s.len + 1);
    if (!text) return NULL;
    if (s.len > 0) memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    return text;
}

static enum weir_status review_value(struct validation *v, struct judged *j)
{
    bool is_rejected = j->verdict.name == VERDICT_REJECTED;
    const char *claim = text_of(&v->gates, j->read.claim);
    if (!claim) return v->gates.status;
    j->critique = (struct critique){
        .name = CRITIC_ACCEPT,
        .reasoning = is_rejected ? "There is nothing behind it, so nothing is left to review."
                                 : "A fact about these days; nothing is claimed about others."};
    j->assessment = (struct assessment){.verdict = j->verdict.name,
                                        .word = is_rejected ? "not supported" : "consistent",
                                        .line = j->verdict.assessment,
                                        .claim = claim,
                                        .doubt = ""};
    return WEIR_OK;
}

static struct critic_case case_of(const struct judged *j)
{
    return (struct critic_case){.finding = &j->read.finding,
                                .verdict = &j->verdict,
                                .n_tests = j->read.n_tests,
                                .is_confirmed = j->read.is_confirmed,
                                .is_causal = j->read.is_causal};
}

static enum weir_status review(struct validation *v, struct judged *j)
{
    if (j->read.kind == CLAIM_VALUE) return review_value(v, j);
    struct critic_case c = case_of(j);
    return critic_review(&j->critique, &c, &v->gates);
}

static enum weir_status assess(struct validation *v, struct judged *j)
{
    if (j->read.kind == CLAIM_VALUE) return WEIR_OK;
    struct critic_case c = case_of(j);
    return critic_assess(&j->assessment, &c, &j->critique, &v->gates);
}

/* What a model is asked about: claims that the gates let through. */
static enum weir_status review_on_model(struct validation *v)
{
    struct llm_review *list = arena_alloc(&v->gates, (v->n_kept + 1) * sizeof *list);
    size_t n = 0;
    if (!list) return v->gates.status;
    for (size_t i = 0; i < v->n_kept; i++) {
        struct judged *j = v->kept[i];
        if (j->read.kind == CLAIM_VALUE || j->verdict.name == VERDICT_REJECTED) continue;
        list[n++] = (struct llm_review){.id = j->read.id,
                                        .claim = j->read.claim,
                                        .metric = j->read.finding.metric,
                                        .metric_y = j->read.finding.metric_y,
                                        .verdict = &j->verdict,
                                        .n_tests = j->read.n_tests,
                                        .is_causal = j->read.is_causal,
                                        .critique = &j->critique};
    }
    return llm_critic(v->c, list, n);
}

static void tell_critic(struct agent_case *c, const struct judged *j)
{
    struct weir_buf json;
    open_event(&json, j);
    critic_put(&json, &j->critique);
    emit(c, "validator.critic", &json);
}

/* ---- the sheet ---- */

static enum weir_status add_entry(struct validation *v, const struct weir_json *entry,
                                  enum verdict_name verdict)
{
    struct ledger_entry e = {.claim = agent_text(entry, "claim"),
                             .unit = agent_text(entry, "unit"),
                             .source = agent_text(entry, "source"),
                             .metric = agent_text(entry, "metric"),
                             .window = agent_text(entry, "window"),
                             .value = NAN,
                             .n = NAN,
                             .is_rejected = verdict == VERDICT_REJECTED,
                             .is_conditional = verdict == VERDICT_CONDITIONAL};
    const struct weir_json *value = weir_json_get_str(entry, "value");
    (void)weir_json_double(value, &e.value);
    (void)weir_json_double(weir_json_get_str(entry, "n"), &e.n);
    if (weir_json_type_of(value) == WEIR_JSON_STRING) e.date = weir_json_text(value);
    if (isnan(e.value) && e.date.len == 0) return WEIR_OK;
    enum weir_status st = sheet_add(&v->sheet, &e);
    /* The same claim again is the same fact of two agents; beyond the ceiling it is too much. */
    return st == WEIR_EXISTS || st == WEIR_LIMIT ? WEIR_OK : st;
}

static enum weir_status add_entries(struct validation *v, const struct weir_json *entries,
                                    enum verdict_name verdict)
{
    enum weir_status st = WEIR_OK;
    for (const struct weir_json *e = weir_json_first(entries); e && st == WEIR_OK;
         e = weir_json_next(e))
        st = add_entry(v, e, verdict);
    return st;
}

/* The entry that the interval is of. */
static const struct weir_json *centre_of(const struct judged *j)
{
    static const char *const names[] = {
        [CLAIM_LEVEL] = ".avg",     [CLAIM_TREND] = ".change", [CLAIM_WINDOWS] = ".diff",
        [CLAIM_WEEKDAYS] = ".diff", [CLAIM_PAIR] = ".r",       [CLAIM_ANOMALY] = "",
        [CLAIM_VALUE] = ""};
    const char *name = names[j->read.kind];
    if (j->read.kind == CLAIM_LEVEL && j->read.finding.is_median) name = ".median";
    size_t len = strlen(name);
    for (const struct weir_json *e = weir_json_first(j->read.entries); e && len > 0;
         e = weir_json_next(e)) {
        struct weir_slice claim = agent_text(e, "claim");
        if (claim.len > len && memcmp(claim.ptr + claim.len - len, name, len) == 0) return e;
    }
    return NULL;
}

/* From the metric's own unit to that of the entry; false: there is no way. */
static bool convert(const struct judged *j, const struct weir_json *centre, double *value)
{
    const struct metric *m = j->read.finding.metric;
    struct weir_slice unit = agent_text(centre, "unit");
    char name[NAME_BYTES] = "";
    double zero = 0;
    if (j->read.kind == CLAIM_PAIR) return true;
    if (unit.len < sizeof name) memcpy(name, unit.ptr, unit.len);
    if (m->daily == DAILY_CIRCULAR) {
        if (j->read.kind == CLAIM_LEVEL) *value = stat_circular_wrap(*value - j->read.shift);
        return true;
    }
    if (!unit_convert(m->unit, name, *value, value)) return false;
    if (j->read.kind != CLAIM_LEVEL && !unit_convert(m->unit, name, 0, &zero)) return false;
    *value -= zero;
    return true;
}

static enum weir_status add_end(struct validation *v, const struct judged *j,
                                const struct weir_json *centre, const char *name, double value)
{
    char claim[NAME_BYTES];
    if (!isfinite(value) || !convert(j, centre, &value)) return WEIR_OK;
    snprintf(claim, sizeof claim, "%.*s.%s", (int)(j->read.id.len < 32 ? j->read.id.len : 32),
             j->read.id.ptr, name);
    struct ledger_entry e = {.claim = weir_slice_of(claim),
                             .unit = agent_text(centre, "unit"),
                             .source = agent_text(centre, "source"),
                             .metric = agent_text(centre, "metric"),
                             .window = agent_text(centre, "window"),
                             .value = value,
                             .n = NAN,
                             .is_rejected = j->assessment.verdict == VERDICT_REJECTED,
                             .is_conditional = j->assessment.verdict == VERDICT_CONDITIONAL};
    (void)weir_json_double(weir_json_get_str(centre, "n"), &e.n);
    enum weir_status st = sheet_add(&v->sheet, &e);
    return st == WEIR_EXISTS || st == WEIR_LIMIT ? WEIR_OK : st;
}

static enum weir_status add_interval(struct validation *v, const struct judged *j)
{
    const struct weir_json *centre = centre_of(j);
    struct weir_slice method = agent_text(weir_json_get_str(j->json, "plan"), "method");
    /* The interval is Pearson's. */
    bool is_of_ranks = weir_slice_is(method, "spearman") || weir_slice_is(method, "kendall");
    if (!centre || is_of_ranks || (!j->read.finding.metric && j->read.kind != CLAIM_PAIR))
        return WEIR_OK;
    bool is_flipped = j->read.is_flipped;
    double lo = is_flipped ? -j->verdict.hi : j->verdict.lo;
    double hi = is_flipped ? -j->verdict.lo : j->verdict.hi;
    enum weir_status st = add_end(v, j, centre, "ci_low", lo);
    return st == WEIR_OK ? add_end(v, j, centre, "ci_high", hi) : st;
}

/* ---- findings ---- */

static void put_checked(struct weir_buf *out, const struct judged *j)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "id");
    weir_json_put_string(out, j->read.id);
    weir_json_put_key(out, "verdict");
    weir_json_put_str(out, verdict_name(j->assessment.verdict));
    weir_json_put_key(out, "gates");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < n_gates(&j->verdict); i++) {
        const struct gate *g = &j->verdict.gates[i];
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "gate");
        weir_json_put_str(out, gate_name((enum gate_name)i));
        weir_json_put_key(out, "verdict");
        weir_json_put_str(out, gate_status_name(g->status));
        weir_json_put_key(out, "why");
        weir_json_put_str(out, g->why);
        put_detail(out, g, false);
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
    weir_json_put_key(out, "critic");
    weir_json_put_begin_object(out);
    critic_put(out, &j->critique);
    weir_json_put_end_object(out);
    weir_json_put_key(out, "assessment");
    weir_json_put_str(out, j->assessment.line);
    weir_json_put_key(out, "says");
    weir_json_put_str(out, j->assessment.claim);
    weir_json_put_key(out, "doubt");
    weir_json_put_str(out, j->assessment.doubt);
    weir_json_put_end_object(out);
}

static enum weir_status examine(struct validation *v, struct judged *j)
{
    if (agent_is_aborted(v->c)) return WEIR_CANCELLED;
    enum weir_status st = claim_read(&j->read, j->json, v->c->data, &v->gates);
    if (st != WEIR_OK) return st;
    if (j->read.kind == CLAIM_VALUE) judge_value(j);
    else st = gates_run(&j->verdict, &j->read.finding, v->c->seed, &v->gates);
    if (st != WEIR_OK) return st;
    tell_gates(v->c, j);
    return review(v, j);
}

static enum weir_status conclude(struct validation *v, struct judged *j)
{
    enum weir_status st = assess(v, j);
    if (st != WEIR_OK) return st;
    tell_critic(v->c, j);
    v->counts[j->assessment.verdict]++;
    put_checked(&v->checked, j);
    st = add_entries(v, j->read.entries, j->assessment.verdict);
    return st == WEIR_OK ? add_interval(v, j) : st;
}

static enum weir_status judge(struct validation *v, const struct weir_json *json)
{
    struct judged j = {.json = json};
    if (v->at < v->n_kept) return conclude(v, v->kept[v->at++]);
    arena_reset(&v->gates);
    enum weir_status st = examine(v, &j);
    return st == WEIR_OK ? conclude(v, &j) : st;
}

/* Those beyond the ceiling are judged by gates and rules alone. */
static enum weir_status examine_and_keep(struct validation *v, const struct weir_json *json)
{
    if (v->n_kept == MOST_KEPT) return WEIR_OK;
    struct judged *j = arena_alloc(&v->gates, sizeof *j);
    if (!j) return v->gates.status;
    *j = (struct judged){.json = json};
    v->kept[v->n_kept++] = j;
    return examine(v, j);
}

/* All findings and facts of a RESULT; nothing of what is none. */
static enum weir_status take_result(struct validation *v, const struct weir_json *result)
{
    enum weir_status st = WEIR_OK;
    const struct weir_json *findings = weir_json_get_str(result, "findings");
    for (const struct weir_json *f = weir_json_first(findings); f && st == WEIR_OK;
         f = weir_json_next(f))
        st = v->is_kept ? examine_and_keep(v, f) : judge(v, f);
    if (st != WEIR_OK || v->is_kept) return st;
    return add_entries(v, weir_json_get_str(result, "facts"), VERDICT_VALIDATED);
}

static enum weir_status take_steps(struct validation *v)
{
    enum weir_status st = WEIR_OK;
    const struct weir_json *supporting = agent_output(v->c, "run_supporting_agents");
    const struct weir_json *reflection = agent_output(v->c, "reflection");
    const struct weir_json *r = weir_json_first(supporting);
    for (; r && st == WEIR_OK; r = weir_json_next(r)) st = take_result(v, r);
    if (st == WEIR_OK) st = take_result(v, agent_output(v->c, "run_main_agent"));
    r = weir_json_first(weir_json_get_str(reflection, "follow_ups"));
    for (; r && st == WEIR_OK; r = weir_json_next(r))
        st = take_result(v, weir_json_get_str(r, "result"));
    return st;
}

static void put_count(struct weir_buf *out, const char *name, size_t n)
{
    weir_json_put_key(out, name);
    weir_json_put_uint(out, n);
}

static void put_output(struct validation *v, struct weir_buf *out)
{
    const size_t *n = v->counts;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "findings");
    weir_buf_append_slice(out, weir_buf_slice(&v->checked));
    weir_json_put_key(out, "fact_sheet");
    sheet_put(out, &v->sheet);
    weir_json_put_key(out, "validator");
    weir_json_put_begin_object(out);
    put_count(out, "findings_total",
              n[VERDICT_VALIDATED] + n[VERDICT_CONDITIONAL] + n[VERDICT_REJECTED]);
    put_count(out, "findings_validated", n[VERDICT_VALIDATED]);
    put_count(out, "findings_conditional", n[VERDICT_CONDITIONAL]);
    put_count(out, "findings_rejected", n[VERDICT_REJECTED]);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

enum weir_status agent_validate(struct agent_case *c, struct weir_buf *out)
{
    struct validation v = {.c = c};
    sheet_init(&v.sheet, c->arena);
    arena_init(&v.gates, GATES_ARENA_BYTES);
    weir_buf_init(&v.checked, AGENT_FINDINGS_BYTES);
    weir_json_put_begin_array(&v.checked);
    v.is_kept = c->has_model[MODEL_CRITIC];
    enum weir_status st = v.is_kept ? take_steps(&v) : WEIR_OK;
    if (st == WEIR_OK && v.is_kept) st = review_on_model(&v);
    v.is_kept = false;
    if (st == WEIR_OK) st = take_steps(&v);
    weir_json_put_end_array(&v.checked);
    if (st == WEIR_OK) st = weir_buf_status(&v.checked);
    if (st == WEIR_OK) put_output(&v, out);
    weir_buf_fini(&v.checked);
    arena_fini(&v.gates);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
