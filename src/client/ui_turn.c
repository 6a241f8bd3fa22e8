/* SPDX-License-Identifier: Apache-2.0 */
/* What each event of a turn does to the state of a view: one row of a table for each type. */
#include "base/slice.h"
#include "client/ui_state_impl.h"

const char *const ui_gate_names[UI_GATES] = {
    "sample_size",          "construct_validity",   "effect_vs_noise",      "bootstrap",
    "subgroup_consistency", "method_triangulation", "discriminative_power",
};

static void take_turn_started(struct ui_state *s, const struct weir_json *data)
{
    ui_label_set(s->turn_id, sizeof s->turn_id, ui_text_of(data, "turn_id"));
}

static void take_agent_started(struct ui_state *s, const struct weir_json *data)
{
    struct weir_slice name = ui_text_of(data, "agent");
    struct ui_agent *a = ui_agent_find_or_add(s, name);
    if (weir_slice_is(name, "synthesis") && s->answer.end > 0) ui_text_clear(&s->answer);
    if (!a) return;
    if (a->runs++ > 0 || a->thoughts.end > 0) ui_text_clear(&a->thoughts);
    a->is_working = true;
    a->started_ns = s->now_ns;
    a->duration_ms = 0;
    a->summary[0] = '\0';
    ui_label_set(a->question, sizeof a->question, ui_text_of(data, "question"));
}

/* The tokens of synthesis carry the main agent's name, and a channel of their own. */
static void take_agent_thought(struct ui_state *s, const struct weir_json *data)
{
    struct weir_slice delta = ui_text_of(data, "delta");
    if (weir_slice_is(ui_text_of(data, "channel"), "synthesis")) {
        ui_text_add(&s->answer, delta, s->now_ns);
        return;
    }
    struct ui_agent *a = ui_agent_find_or_add(s, ui_text_of(data, "agent"));
    if (a) ui_text_add(&a->thoughts, delta, s->now_ns);
}

static void take_agent_completed(struct ui_state *s, const struct weir_json *data)
{
    struct ui_agent *a = ui_agent_find_or_add(s, ui_text_of(data, "agent"));
    double cost = ui_number_of(data, "cost_usd");
    s->usage.cost_usd += cost;
    if (!a) return;
    a->is_working = false;
    a->duration_ms = ui_count_of(data, "duration_ms");
    a->cost_usd += cost;
    ui_label_set(a->summary, sizeof a->summary, ui_text_of(data, "output_summary"));
}

static void take_gate(struct ui_state *s, const struct weir_json *data)
{
    static const char *const verdicts[] = {"", "passed", "failed", "skipped"};
    struct ui_finding *f = ui_finding_find_or_add(s, ui_text_of(data, "finding_id"));
    struct weir_slice gate = ui_text_of(data, "gate");
    struct weir_slice verdict = ui_text_of(data, "verdict");
    ui_label_set(f->claim, sizeof f->claim, ui_text_of(data, "claim"));
    /* The first gate of a finding that was judged before: the step is run again. */
    if (weir_slice_is(gate, ui_gate_names[0])) {
        memset(f->gates, 0, sizeof f->gates);
        f->critic[0] = f->reasoning[0] = '\0';
    }
    for (size_t i = 0; i < UI_GATES; i++) {
        if (!weir_slice_is(gate, ui_gate_names[i])) continue;
        for (unsigned v = UI_GATE_PASSED; v <= UI_GATE_SKIPPED; v++)
            if (weir_slice_is(verdict, verdicts[v])) f->gates[i] = (enum ui_verdict)v;
    }
}

static void take_critic(struct ui_state *s, const struct weir_json *data)
{
    struct ui_finding *f = ui_finding_find_or_add(s, ui_text_of(data, "finding_id"));
    ui_label_set(f->critic, sizeof f->critic, ui_text_of(data, "verdict"));
    ui_label_set(f->reasoning, sizeof f->reasoning, ui_text_of(data, "reasoning"));
}

static void take_cost_warning(struct ui_state *s, const struct weir_json *data)
{
    s->usage.is_over_threshold = true;
    s->usage.cost_usd = ui_number_of(data, "cost_usd");
}

static void take_turn_completed(struct ui_state *s, const struct weir_json *data)
{
    const struct weir_json *result = weir_json_get_str(data, "result");
    struct weir_slice answer = ui_text_of(result, "answer");
    double cost;
    ui_state_answer_is(s, answer);
    if (weir_json_double(weir_json_get_str(result, "cost_usd"), &cost)) s->usage.cost_usd = cost;
    ui_label_set(s->turn_id, sizeof s->turn_id, ui_text_of(data, "turn_id"));
    ui_state_end(s, UI_COMPLETED);
}

static void take_turn_failed(struct ui_state *s, const struct weir_json *data)
{
    const struct weir_json *error = weir_json_get_str(data, "error");
    ui_label_set(s->turn_id, sizeof s->turn_id, ui_text_of(data, "turn_id"));
    ui_state_fail(s, ui_text_of(error, "code"), ui_text_of(error, "message"));
}

static const struct ui_rule rules[] = {
    {"agent.thought", take_agent_thought, false},
    {"validator.gate", take_gate, false},
    {"validator.critic", take_critic, false},
    {"agent.started", take_agent_started, false},
    {"agent.completed", take_agent_completed, false},
    {"turn.started", take_turn_started, false},
    {"cost_warning", take_cost_warning, false},
    {"turn.completed", take_turn_completed, false},
    {"turn.failed", take_turn_failed, false},
    {NULL, NULL, false},
};

bool ui_state_event(struct ui_state *s, struct weir_slice type, const struct weir_json *data)
{
    return ui_rules_take(s, rules, type, data);
}
