/* SPDX-License-Identifier: Apache-2.0 */
/* What each event of a turn does to the state of a view: one row of a table for each type. */
#include "base/slice.h"
#include "client/ui_state_impl.h"

static const char *const gate_names[WEIR_UI_GATES] = {
    "sample_size",          "construct_validity",   "effect_vs_noise",      "bootstrap",
    "subgroup_consistency", "method_triangulation", "discriminative_power",
};

const char *weir_ui_gate_name(size_t gate)
{
    return gate < WEIR_UI_GATES ? gate_names[gate] : NULL;
}

static void take_turn_started(struct weir_ui *s, const struct weir_json *data)
{
    weir_ui_label_set(s->turn_id, sizeof s->turn_id, ui_text_of(data, "turn_id"));
}

static void take_agent_started(struct weir_ui *s, const struct weir_json *data)
{
    struct weir_slice name = ui_text_of(data, "agent");
    struct weir_ui_agent *a = ui_agent_find_or_add(s, name);
    if (weir_slice_is(name, "synthesis") && s->answer.end > 0) weir_ui_text_clear(&s->answer);
    if (!a) return;
    if (a->runs++ > 0 || a->thoughts.end > 0) weir_ui_text_clear(&a->thoughts);
    a->is_working = true;
    a->started_ns = s->now_ns;
    a->duration_ms = 0;
    a->summary[0] = '\0';
    weir_ui_label_set(a->question, sizeof a->question, ui_text_of(data, "question"));
}

/* The tokens of synthesis carry the main agent's name, and a channel of their own. */
static void take_agent_thought(struct weir_ui *s, const struct weir_json *data)
{
    struct weir_slice delta = ui_text_of(data, "delta");
    if (weir_slice_is(ui_text_of(data, "channel"), "synthesis")) {
        weir_ui_text_add(&s->answer, delta, s->now_ns);
        return;
    }
    struct weir_ui_agent *a = ui_agent_find_or_add(s, ui_text_of(data, "agent"));
    if (a) weir_ui_text_add(&a->thoughts, delta, s->now_ns);
}

static void take_agent_completed(struct weir_ui *s, const struct weir_json *data)
{
    struct weir_ui_agent *a = ui_agent_find_or_add(s, ui_text_of(data, "agent"));
    double cost = ui_number_of(data, "cost_usd");
    s->usage.cost_usd += cost;
    if (!a) return;
    a->is_working = false;
    a->duration_ms = ui_count_of(data, "duration_ms");
    a->cost_usd += cost;
    weir_ui_label_set(a->summary, sizeof a->summary, ui_text_of(data, "output_summary"));
}

static void take_gate(struct weir_ui *s, const struct weir_json *data)
{
    static const char *const verdicts[] = {"", "passed", "failed", "skipped"};
    struct weir_ui_finding *f = ui_finding_find_or_add(s, ui_text_of(data, "finding_id"));
    struct weir_slice gate = ui_text_of(data, "gate");
    struct weir_slice verdict = ui_text_of(data, "verdict");
    weir_ui_label_set(f->claim, sizeof f->claim, ui_text_of(data, "claim"));
    /* The first gate of a finding that was judged before: the step is run again. */
    if (weir_slice_is(gate, gate_names[0])) {
        memset(f->gates, 0, sizeof f->gates);
        f->critic[0] = f->reasoning[0] = '\0';
    }
    for (size_t i = 0; i < WEIR_UI_GATES; i++) {
        if (!weir_slice_is(gate, gate_names[i])) continue;
        for (unsigned v = WEIR_UI_GATE_PASSED; v <= WEIR_UI_GATE_SKIPPED; v++)
            if (weir_slice_is(verdict, verdicts[v])) f->gates[i] = (enum weir_ui_verdict)v;
    }
}

static void take_critic(struct weir_ui *s, const struct weir_json *data)
{
    struct weir_ui_finding *f = ui_finding_find_or_add(s, ui_text_of(data, "finding_id"));
    weir_ui_label_set(f->critic, sizeof f->critic, ui_text_of(data, "verdict"));
    weir_ui_label_set(f->reasoning, sizeof f->reasoning, ui_text_of(data, "reasoning"));
}

static void take_cost_warning(struct weir_ui *s, const struct weir_json *data)
{
    s->usage.is_over_threshold = true;
    s->usage.cost_usd = ui_number_of(data, "cost_usd");
}

static void take_turn_completed(struct weir_ui *s, const struct weir_json *data)
{
    const struct weir_json *result = weir_json_get_str(data, "result");
    struct weir_slice answer = ui_text_of(result, "answer");
    double cost;
    ui_state_answer_is(s, answer);
    if (weir_json_double(weir_json_get_str(result, "cost_usd"), &cost)) s->usage.cost_usd = cost;
    weir_ui_label_set(s->turn_id, sizeof s->turn_id, ui_text_of(data, "turn_id"));
    ui_state_end(s, WEIR_UI_COMPLETED);
}

static void take_turn_failed(struct weir_ui *s, const struct weir_json *data)
{
    const struct weir_json *error = weir_json_get_str(data, "error");
    weir_ui_label_set(s->turn_id, sizeof s->turn_id, ui_text_of(data, "turn_id"));
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

bool weir_ui_turn_event(struct weir_ui *s, struct weir_slice type, const struct weir_json *data)
{
    return ui_rules_take(s, rules, type, data);
}
