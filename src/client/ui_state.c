/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a view: its life, its lists, and what beginning and ending mean. What events do to
 * it is said in ui_turn.c, ui_session.c, ui_chat.c and ui_message.c. Where a list is full, the
 * oldest member that is done gives way; where none is, the newcomer is left out and counted.
 */
#include "client/ui_state_impl.h"

#include <stdio.h>

#include "base/slice.h"
#include "base/utf8.h"

/* ---- life ---- */

void weir_ui_init(struct weir_ui *s)
{
    *s = (struct weir_ui){.phase = WEIR_UI_WAITING};
    weir_ui_text_init(&s->answer, WEIR_UI_ANSWER_BYTES);
    weir_ui_text_init(&s->thinking, WEIR_UI_THOUGHT_BYTES);
}

static void forget_lists(struct weir_ui *s)
{
    for (size_t i = 0; i < s->n_agents; i++) weir_ui_text_fini(&s->agents[i].thoughts);
    for (size_t i = 0; i < s->n_tools; i++) weir_ui_text_fini(&s->tools[i].arguments);
    s->n_agents = s->n_tools = 0;
}

void weir_ui_fini(struct weir_ui *s)
{
    forget_lists(s);
    weir_ui_text_fini(&s->thinking);
    weir_ui_text_fini(&s->answer);
}

void weir_ui_tick(struct weir_ui *s, uint64_t now_ns)
{
    s->now_ns = now_ns;
    weir_cancel_tick(&s->cancel, now_ns);
}

void weir_ui_connection(struct weir_ui *s, enum weir_ui_connection connection)
{
    s->connection = connection;
    s->connection_why[0] = '\0';
    s->again_ns = 0;
}

void weir_ui_reconnecting(struct weir_ui *s, const char *why, uint64_t in_ms)
{
    s->connection = WEIR_UI_RECONNECTING;
    weir_ui_label_set(s->connection_why, sizeof s->connection_why, weir_slice_of(why));
    s->again_ns = s->now_ns + in_ms * 1000000;
}

void weir_ui_next(struct weir_ui *s)
{
    forget_lists(s);
    weir_ui_text_clear(&s->answer);
    weir_ui_text_clear(&s->thinking);
    s->n_blocks = s->n_findings = s->n_citations = 0;
    s->phase = WEIR_UI_WAITING;
    s->started_ns = s->ended_ns = 0;
    s->turn_id[0] = s->model[0] = s->progress[0] = '\0';
    s->error_code[0] = s->error_message[0] = '\0';
    s->usage = (struct weir_ui_usage){.has_tokens = false};
}

/* ---- labels and lists ---- */

void weir_ui_label_set(char *out, size_t room, struct weir_slice text)
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
    char cut[WEIR_UI_LABEL_BYTES];
    weir_ui_label_set(cut, room, text);
    return strcmp(label, cut) == 0;
}

void ui_label_json(char *out, size_t room, const struct weir_json *v)
{
    struct weir_buf json;
    if (weir_json_type_of(v) == WEIR_JSON_STRING) {
        weir_ui_label_set(out, room, weir_json_text(v));
        return;
    }
    /* What does not fit is left out, which is all the same to a label. */
    weir_buf_init(&json, WEIR_UI_ARGUMENT_BYTES);
    if (v) weir_json_put_value(&json, v);
    weir_ui_label_set(out, room, slice_of(json.ptr, json.len));
    weir_buf_fini(&json);
}

double ui_number_of(const struct weir_json *v, const char *key)
{
    double x = 0;
    return weir_json_double(weir_json_get_str(v, key), &x) ? x : 0;
}

uint64_t ui_count_of(const struct weir_json *v, const char *key)
{
    double x = ui_number_of(v, key);
    return x > 0 && x < 1e15 ? (uint64_t)x : 0;
}

const struct weir_ui_agent *weir_ui_agent(const struct weir_ui *s, const char *name)
{
    for (size_t i = 0; i < s->n_agents; i++)
        if (strcmp(s->agents[i].name, name) == 0) return &s->agents[i];
    return NULL;
}

const struct weir_ui_tool *weir_ui_tool(const struct weir_ui *s, const char *id)
{
    for (size_t i = 0; i < s->n_tools; i++)
        if (strcmp(s->tools[i].id, id) == 0) return &s->tools[i];
    return NULL;
}

const struct weir_ui_finding *weir_ui_finding(const struct weir_ui *s, const char *id)
{
    for (size_t i = 0; i < s->n_findings; i++)
        if (strcmp(s->findings[i].id, id) == 0) return &s->findings[i];
    return NULL;
}

static struct weir_ui_agent *find_agent(struct weir_ui *s, struct weir_slice name)
{
    for (size_t i = 0; i < s->n_agents; i++)
        if (label_is(s->agents[i].name, name, WEIR_UI_NAME_BYTES)) return &s->agents[i];
    return NULL;
}

/* Makes room for one more lane at the end. */
static bool make_room_for_agent(struct weir_ui *s)
{
    if (s->n_agents < WEIR_UI_AGENTS) return true;
    for (size_t i = 0; i < s->n_agents; i++) {
        if (s->agents[i].is_working) continue;
        weir_ui_text_fini(&s->agents[i].thoughts);
        memmove(&s->agents[i], &s->agents[i + 1], (WEIR_UI_AGENTS - 1 - i) * sizeof *s->agents);
        s->n_agents--;
        return true;
    }
    s->n_left_out++;
    return false;
}

struct weir_ui_agent *ui_agent_find_or_add(struct weir_ui *s, struct weir_slice name)
{
    struct weir_ui_agent *a = find_agent(s, name);
    if (a) return a;
    if (!make_room_for_agent(s)) return NULL;
    a = &s->agents[s->n_agents++];
    *a = (struct weir_ui_agent){.is_working = true, .started_ns = s->now_ns};
    weir_ui_label_set(a->name, sizeof a->name, name);
    weir_ui_text_init(&a->thoughts, WEIR_UI_THOUGHT_BYTES);
    return a;
}

struct weir_ui_finding *ui_finding_find_or_add(struct weir_ui *s, struct weir_slice id)
{
    for (size_t i = 0; i < s->n_findings; i++)
        if (label_is(s->findings[i].id, id, WEIR_UI_NAME_BYTES)) return &s->findings[i];
    if (s->n_findings == WEIR_UI_FINDINGS) {
        memmove(s->findings, s->findings + 1, (WEIR_UI_FINDINGS - 1) * sizeof *s->findings);
        s->n_findings--;
    }
    struct weir_ui_finding *f = &s->findings[s->n_findings++];
    *f = (struct weir_ui_finding){.gates = {WEIR_UI_GATE_OPEN}};
    weir_ui_label_set(f->id, sizeof f->id, id);
    return f;
}

struct weir_ui_tool *ui_tool_find_or_add(struct weir_ui *s, struct weir_slice id)
{
    for (size_t i = 0; i < s->n_tools; i++)
        if (label_is(s->tools[i].id, id, WEIR_UI_NAME_BYTES)) return &s->tools[i];
    if (s->n_tools == WEIR_UI_TOOLS) {
        weir_ui_text_fini(&s->tools[0].arguments);
        memmove(s->tools, s->tools + 1, (WEIR_UI_TOOLS - 1) * sizeof *s->tools);
        s->n_tools--;
    }
    struct weir_ui_tool *t = &s->tools[s->n_tools++];
    *t = (struct weir_ui_tool){.phase = WEIR_UI_TOOL_ARRIVING};
    weir_ui_label_set(t->id, sizeof t->id, id);
    weir_ui_text_init(&t->arguments, WEIR_UI_ARGUMENT_BYTES);
    return t;
}

struct weir_ui_tool *ui_tool_running(struct weir_ui *s, struct weir_slice name)
{
    for (size_t i = s->n_tools; i > 0; i--) {
        struct weir_ui_tool *t = &s->tools[i - 1];
        bool is_named = name.len == 0 || label_is(t->name, name, WEIR_UI_NAME_BYTES);
        if (t->phase <= WEIR_UI_TOOL_RUNNING && is_named) return t;
    }
    return NULL;
}

struct weir_ui_tool *ui_tool_begin(struct weir_ui *s, struct weir_slice id, struct weir_slice name,
                                   const struct weir_json *arguments)
{
    struct weir_buf json;
    struct weir_ui_tool *t = ui_tool_find_or_add(s, id);
    t->phase = WEIR_UI_TOOL_RUNNING;
    t->started_ns = s->now_ns;
    weir_ui_label_set(t->name, sizeof t->name, name);
    weir_buf_init(&json, WEIR_UI_ARGUMENT_BYTES);
    if (arguments) weir_json_put_value(&json, arguments);
    weir_ui_text_clear(&t->arguments);
    weir_ui_text_add(&t->arguments, slice_of(json.ptr, json.len), s->now_ns);
    weir_buf_fini(&json);
    return t;
}

void ui_tool_end(struct weir_ui_tool *t, enum weir_ui_tool_phase phase,
                 const struct weir_json *result)
{
    t->phase = phase;
    t->progress[0] = '\0';
    ui_label_json(t->result, sizeof t->result, result);
}

void weir_ui_tool_progress(struct weir_ui *s, struct weir_slice id, struct weir_slice text)
{
    struct weir_ui_tool *t = ui_tool_find_or_add(s, id);
    if (t->phase == WEIR_UI_TOOL_ARRIVING) t->phase = WEIR_UI_TOOL_RUNNING;
    weir_ui_label_set(t->progress, sizeof t->progress, text);
}

void ui_progress_set(struct weir_ui *s, struct weir_ui_tool *t, struct weir_slice label,
                     const struct weir_json *percent)
{
    char *out = t ? t->progress : s->progress;
    char number[WEIR_UI_NAME_BYTES] = "";
    double x;
    if (weir_json_double(percent, &x) && x >= 0 && x <= 100)
        snprintf(number, sizeof number, "%.0f %% ", x);
    size_t len = strlen(number);
    memcpy(out, number, len);
    weir_ui_label_set(out + len, WEIR_UI_LABEL_BYTES - len, label);
}

/* ---- what waits, what happened ---- */

const struct weir_ui_ask *weir_ui_ask(const struct weir_ui *s, const char *id)
{
    for (size_t i = 0; i < s->n_asks; i++)
        if (strcmp(s->asks[i].id, id) == 0) return &s->asks[i];
    return NULL;
}

struct weir_ui_ask *ui_ask_find(struct weir_ui *s, struct weir_slice id)
{
    for (size_t i = 0; i < s->n_asks; i++)
        if (label_is(s->asks[i].id, id, WEIR_UI_NAME_BYTES)) return &s->asks[i];
    return NULL;
}

/* The oldest that is settled gives way, or the oldest of all. */
static struct weir_ui_ask *add_ask(struct weir_ui *s)
{
    if (s->n_asks == WEIR_UI_ASKS) {
        size_t i = 0;
        while (i < WEIR_UI_ASKS && s->asks[i].is_open) i++;
        if (i == WEIR_UI_ASKS) {
            i = 0;
            s->n_left_out++;
        }
        memmove(&s->asks[i], &s->asks[i + 1], (WEIR_UI_ASKS - 1 - i) * sizeof *s->asks);
        s->n_asks--;
    }
    return &s->asks[s->n_asks++];
}

struct weir_ui_ask *ui_ask_open(struct weir_ui *s, enum weir_ui_ask_kind kind, struct weir_slice id,
                                struct weir_slice text)
{
    struct weir_ui_ask *a = ui_ask_find(s, id);
    if (!a) a = add_ask(s);
    *a = (struct weir_ui_ask){.kind = kind, .is_open = true};
    weir_ui_label_set(a->id, sizeof a->id, id);
    weir_ui_label_set(a->text, sizeof a->text, text);
    return a;
}

void ui_ask_settle(struct weir_ui_ask *ask, struct weir_slice answer)
{
    ask->is_open = false;
    weir_ui_label_set(ask->answer, sizeof ask->answer, answer);
}

void ui_notice_add(struct weir_ui *s, struct weir_slice type, struct weir_slice text)
{
    if (s->n_notices == WEIR_UI_NOTICES) {
        memmove(s->notices, s->notices + 1, (WEIR_UI_NOTICES - 1) * sizeof *s->notices);
        s->n_notices--;
    }
    struct weir_ui_notice *n = &s->notices[s->n_notices++];
    weir_ui_label_set(n->type, sizeof n->type, type);
    weir_ui_label_set(n->text, sizeof n->text, text);
}

/* ---- beginning and ending ---- */

void ui_state_run(struct weir_ui *s)
{
    if (s->phase == WEIR_UI_RUNNING) return;
    s->phase = WEIR_UI_RUNNING;
    s->started_ns = s->now_ns;
    /* Somebody may have pressed Escape while nothing had come yet. */
    if (!s->cancel.is_running) weir_cancel_begin(&s->cancel);
}

void ui_state_end(struct weir_ui *s, enum weir_ui_phase phase)
{
    s->phase = phase;
    s->ended_ns = s->now_ns;
    for (size_t i = 0; i < s->n_agents; i++) s->agents[i].is_working = false;
    weir_cancel_end(&s->cancel);
}

void ui_state_fail(struct weir_ui *s, struct weir_slice code, struct weir_slice message)
{
    weir_ui_label_set(s->error_code, sizeof s->error_code, code);
    weir_ui_label_set(s->error_message, sizeof s->error_message, message);
    ui_state_end(s, WEIR_UI_FAILED);
}

void ui_state_answer_is(struct weir_ui *s, struct weir_slice answer)
{
    if (weir_ui_text_is(&s->answer, answer)) return;
    if (s->answer.end > 0) weir_ui_text_clear(&s->answer);
    weir_ui_text_add(&s->answer, answer, s->now_ns);
}

void weir_ui_disconnected(struct weir_ui *s, const char *code, const char *why)
{
    weir_ui_connection(s, WEIR_UI_DISCONNECTED);
    weir_ui_label_set(s->connection_why, sizeof s->connection_why, weir_slice_of(why));
    if (s->phase < WEIR_UI_COMPLETED) ui_state_fail(s, weir_slice_of(code), weir_slice_of(why));
}

/* ---- rules ---- */

const struct ui_rule *ui_rules_find(const struct ui_rule *rules, struct weir_slice type)
{
    for (; rules->type; rules++)
        if (weir_slice_is(type, rules->type)) return rules;
    return NULL;
}

bool ui_rules_take(struct weir_ui *s, const struct ui_rule *rules, struct weir_slice type,
                   const struct weir_json *data)
{
    const struct ui_rule *rule = ui_rules_find(rules, type);
    s->n_events++;
    if (!rule) {
        s->n_unknown++;
        return false;
    }
    if (!rule->is_aside) ui_state_run(s);
    rule->take(s, data);
    return true;
}
