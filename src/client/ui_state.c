/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a view, and what each event of a turn does to it: one row of a table for each type.
 * Where a list is full, the oldest member that is done gives way; where none is, the newcomer is
 * left out and counted.
 */
#include "client/ui_state_impl.h"

#include "base/slice.h"
#include "base/utf8.h"

const char *const ui_gate_names[UI_GATES] = {
    "sample_size",          "construct_validity",   "effect_vs_noise",      "bootstrap",
    "subgroup_consistency", "method_triangulation", "discriminative_power",
};

/* ---- life ---- */

void ui_state_init(struct ui_state *s)
{
    *s = (struct ui_state){.phase = UI_WAITING};
    ui_text_init(&s->answer, UI_ANSWER_BYTES);
    ui_text_init(&s->thinking, UI_THOUGHT_BYTES);
}

void ui_state_fini(struct ui_state *s)
{
    for (size_t i = 0; i < s->n_agents; i++) ui_text_fini(&s->agents[i].thoughts);
    for (size_t i = 0; i < s->n_tools; i++) ui_text_fini(&s->tools[i].arguments);
    ui_text_fini(&s->thinking);
    ui_text_fini(&s->answer);
}

void ui_state_tick(struct ui_state *s, uint64_t now_ns)
{
    s->now_ns = now_ns;
    cancel_tick(&s->cancel, now_ns);
}

void ui_state_connection(struct ui_state *s, enum ui_connection connection)
{
    s->connection = connection;
}

/* ---- labels and lists ---- */

void ui_label_set(char *out, size_t room, struct weir_slice text)
{
    size_t len = 0;
    while (text.len > 0) {
        size_t n = 0;
        enum utf8_verdict verdict = utf8_first(text, &n);
        if (verdict == UTF8_PARTIAL) n = text.len;
        if (len + n >= room) break;
        if (text.ptr[0] != '\0') {
            memcpy(out + len, text.ptr, n);
            len += n;
        }
        text = slice_from(text, n);
    }
    out[len] = '\0';
}

/* The label that this text gives, for comparing with labels that are kept. */
static bool label_is(const char *label, struct weir_slice text, size_t room)
{
    char cut[UI_LABEL_BYTES];
    ui_label_set(cut, room, text);
    return strcmp(label, cut) == 0;
}

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

static double number_of(const struct weir_json *v, const char *key)
{
    double x = 0;
    return weir_json_double(weir_json_get_str(v, key), &x) ? x : 0;
}

const struct ui_agent *ui_state_agent(const struct ui_state *s, const char *name)
{
    for (size_t i = 0; i < s->n_agents; i++)
        if (strcmp(s->agents[i].name, name) == 0) return &s->agents[i];
    return NULL;
}

const struct ui_tool *ui_state_tool(const struct ui_state *s, const char *id)
{
    for (size_t i = 0; i < s->n_tools; i++)
        if (strcmp(s->tools[i].id, id) == 0) return &s->tools[i];
    return NULL;
}

const struct ui_finding *ui_state_finding(const struct ui_state *s, const char *id)
{
    for (size_t i = 0; i < s->n_findings; i++)
        if (strcmp(s->findings[i].id, id) == 0) return &s->findings[i];
    return NULL;
}

static struct ui_agent *find_agent(struct ui_state *s, struct weir_slice name)
{
    for (size_t i = 0; i < s->n_agents; i++)
        if (label_is(s->agents[i].name, name, UI_NAME_BYTES)) return &s->agents[i];
    return NULL;
}

/* Makes room for one more lane at the end. */
static bool make_room_for_agent(struct ui_state *s)
{
    if (s->n_agents < UI_AGENTS) return true;
    for (size_t i = 0; i < s->n_agents; i++) {
        if (s->agents[i].is_working) continue;
        ui_text_fini(&s->agents[i].thoughts);
        memmove(&s->agents[i], &s->agents[i + 1], (UI_AGENTS - 1 - i) * sizeof *s->agents);
        s->n_agents--;
        return true;
    }
    s->n_left_out++;
    return false;
}

static struct ui_agent *find_or_add_agent(struct ui_state *s, struct weir_slice name)
{
    struct ui_agent *a = find_agent(s, name);
    if (a) return a;
    if (!make_room_for_agent(s)) return NULL;
    a = &s->agents[s->n_agents++];
    *a = (struct ui_agent){.is_working = true, .started_ns = s->now_ns};
    ui_label_set(a->name, sizeof a->name, name);
    ui_text_init(&a->thoughts, UI_THOUGHT_BYTES);
    return a;
}

static struct ui_finding *find_or_add_finding(struct ui_state *s, struct weir_slice id)
{
    for (size_t i = 0; i < s->n_findings; i++)
        if (label_is(s->findings[i].id, id, UI_NAME_BYTES)) return &s->findings[i];
    if (s->n_findings == UI_FINDINGS) {
        memmove(s->findings, s->findings + 1, (UI_FINDINGS - 1) * sizeof *s->findings);
        s->n_findings--;
    }
    struct ui_finding *f = &s->findings[s->n_findings++];
    *f = (struct ui_finding){.gates = {UI_GATE_OPEN}};
    ui_label_set(f->id, sizeof f->id, id);
    return f;
}

struct ui_tool *ui_tool_find_or_add(struct ui_state *s, struct weir_slice id)
{
    for (size_t i = 0; i < s->n_tools; i++)
        if (label_is(s->tools[i].id, id, UI_NAME_BYTES)) return &s->tools[i];
    if (s->n_tools == UI_TOOLS) {
        ui_text_fini(&s->tools[0].arguments);
        memmove(s->tools, s->tools + 1, (UI_TOOLS - 1) * sizeof *s->tools);
        s->n_tools--;
    }
    struct ui_tool *t = &s->tools[s->n_tools++];
    *t = (struct ui_tool){.phase = UI_TOOL_ARRIVING};
    ui_label_set(t->id, sizeof t->id, id);
    ui_text_init(&t->arguments, UI_ARGUMENT_BYTES);
    return t;
}

void ui_state_tool_progress(struct ui_state *s, struct weir_slice id, struct weir_slice text)
{
    struct ui_tool *t = ui_tool_find_or_add(s, id);
    if (t->phase == UI_TOOL_ARRIVING) t->phase = UI_TOOL_RUNNING;
    ui_label_set(t->progress, sizeof t->progress, text);
}

/* ---- beginning and ending ---- */

void ui_state_run(struct ui_state *s)
{
    if (s->phase == UI_RUNNING) return;
    s->phase = UI_RUNNING;
    s->started_ns = s->now_ns;
    /* Somebody may have pressed Escape while nothing had come yet. */
    if (!s->cancel.is_running) cancel_begin(&s->cancel);
}

void ui_state_end(struct ui_state *s, enum ui_phase phase)
{
    s->phase = phase;
    s->ended_ns = s->now_ns;
    for (size_t i = 0; i < s->n_agents; i++) s->agents[i].is_working = false;
    cancel_end(&s->cancel);
}

/* ---- events of a turn ---- */

static void take_turn_started(struct ui_state *s, const struct weir_json *data)
{
    ui_label_set(s->turn_id, sizeof s->turn_id, text_of(data, "turn_id"));
}

static void take_agent_started(struct ui_state *s, const struct weir_json *data)
{
    struct weir_slice name = text_of(data, "agent");
    struct ui_agent *a = find_or_add_agent(s, name);
    if (weir_slice_is(name, "synthesis") && s->answer.end > 0) ui_text_clear(&s->answer);
    if (!a) return;
    if (a->runs++ > 0 || a->thoughts.end > 0) ui_text_clear(&a->thoughts);
    a->is_working = true;
    a->started_ns = s->now_ns;
    a->duration_ms = 0;
    a->summary[0] = '\0';
    ui_label_set(a->question, sizeof a->question, text_of(data, "question"));
}

/* The tokens of synthesis carry the main agent's name, and a channel of their own. */
static void take_agent_thought(struct ui_state *s, const struct weir_json *data)
{
    struct weir_slice delta = text_of(data, "delta");
    if (weir_slice_is(text_of(data, "channel"), "synthesis")) {
        ui_text_add(&s->answer, delta, s->now_ns);
        return;
    }
    struct ui_agent *a = find_or_add_agent(s, text_of(data, "agent"));
    if (a) ui_text_add(&a->thoughts, delta, s->now_ns);
}

static void take_agent_completed(struct ui_state *s, const struct weir_json *data)
{
    struct ui_agent *a = find_or_add_agent(s, text_of(data, "agent"));
    double ms = number_of(data, "duration_ms");
    double cost = number_of(data, "cost_usd");
    s->usage.cost_usd += cost;
    if (!a) return;
    a->is_working = false;
    a->duration_ms = ms > 0 && ms < 1e15 ? (uint64_t)ms : 0;
    a->cost_usd += cost;
    ui_label_set(a->summary, sizeof a->summary, text_of(data, "output_summary"));
}

static void take_gate(struct ui_state *s, const struct weir_json *data)
{
    static const char *const verdicts[] = {"", "passed", "failed", "skipped"};
    struct ui_finding *f = find_or_add_finding(s, text_of(data, "finding_id"));
    struct weir_slice gate = text_of(data, "gate");
    struct weir_slice verdict = text_of(data, "verdict");
    ui_label_set(f->claim, sizeof f->claim, text_of(data, "claim"));
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
    struct ui_finding *f = find_or_add_finding(s, text_of(data, "finding_id"));
    ui_label_set(f->critic, sizeof f->critic, text_of(data, "verdict"));
    ui_label_set(f->reasoning, sizeof f->reasoning, text_of(data, "reasoning"));
}

static void take_cost_warning(struct ui_state *s, const struct weir_json *data)
{
    s->usage.is_over_threshold = true;
    s->usage.cost_usd = number_of(data, "cost_usd");
}

/* The answer is what the result says, whatever was streamed before: usually it is the same. */
static void take_turn_completed(struct ui_state *s, const struct weir_json *data)
{
    const struct weir_json *result = weir_json_get_str(data, "result");
    struct weir_slice answer = text_of(result, "answer");
    double cost;
    if (!ui_text_is(&s->answer, answer)) {
        if (s->answer.end > 0) ui_text_clear(&s->answer);
        ui_text_add(&s->answer, answer, s->now_ns);
    }
    if (weir_json_double(weir_json_get_str(result, "cost_usd"), &cost)) s->usage.cost_usd = cost;
    ui_label_set(s->turn_id, sizeof s->turn_id, text_of(data, "turn_id"));
    ui_state_end(s, UI_COMPLETED);
}

void ui_state_fail(struct ui_state *s, struct weir_slice code, struct weir_slice message)
{
    ui_label_set(s->error_code, sizeof s->error_code, code);
    ui_label_set(s->error_message, sizeof s->error_message, message);
    ui_state_end(s, UI_FAILED);
}

static void take_turn_failed(struct ui_state *s, const struct weir_json *data)
{
    const struct weir_json *error = weir_json_get_str(data, "error");
    ui_label_set(s->turn_id, sizeof s->turn_id, text_of(data, "turn_id"));
    ui_state_fail(s, text_of(error, "code"), text_of(error, "message"));
}

static const struct {
    const char *type;
    void (*take)(struct ui_state *s, const struct weir_json *data);
} rules[] = {
    {"agent.thought", take_agent_thought},     {"validator.gate", take_gate},
    {"validator.critic", take_critic},         {"agent.started", take_agent_started},
    {"agent.completed", take_agent_completed}, {"turn.started", take_turn_started},
    {"cost_warning", take_cost_warning},       {"turn.completed", take_turn_completed},
    {"turn.failed", take_turn_failed},
};

bool ui_state_event(struct ui_state *s, struct weir_slice type, const struct weir_json *data)
{
    s->n_events++;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!weir_slice_is(type, rules[i].type)) continue;
        ui_state_run(s);
        rules[i].take(s, data);
        return true;
    }
    s->n_unknown++;
    return false;
}
