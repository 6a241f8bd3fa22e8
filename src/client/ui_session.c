/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each event of a session does to the state of a view: one row of a table for each type. A
 * session has many turns, one after the other; what is pushed besides says nothing about them.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/slice.h"
#include "client/ui_state_impl.h"

/* ---- turns ---- */

static void take_run_start(struct weir_ui *s, const struct weir_json *data)
{
    weir_ui_label_set(s->model, sizeof s->model, ui_text_of(data, "model"));
}

static void take_text_delta(struct weir_ui *s, const struct weir_json *data)
{
    weir_ui_text_add(&s->answer, ui_text_of(data, "text"), s->now_ns);
}

static void take_thinking_delta(struct weir_ui *s, const struct weir_json *data)
{
    weir_ui_text_add(&s->thinking, ui_text_of(data, "thinking"), s->now_ns);
}

static void take_tool_start(struct weir_ui *s, const struct weir_json *data)
{
    (void)ui_tool_begin(s, ui_text_of(data, "toolCallId"), ui_text_of(data, "toolName"),
                        weir_json_get_str(data, "args"));
}

/* It names the tool and not the call: the newest that runs is meant. */
static void take_tool_progress(struct weir_ui *s, const struct weir_json *data)
{
    if (weir_slice_is(ui_text_of(data, "audience"), "internal")) return;
    ui_progress_set(s, ui_tool_running(s, ui_text_of(data, "toolName")),
                    ui_text_of(data, "message"), weir_json_get_str(data, "percent"));
}

static void take_tool_end(struct weir_ui *s, const struct weir_json *data)
{
    struct weir_ui_tool *t = ui_tool_find_or_add(s, ui_text_of(data, "toolCallId"));
    bool is_ok = weir_json_type_of(weir_json_get_str(data, "ok")) == WEIR_JSON_TRUE;
    weir_ui_label_set(t->name, sizeof t->name, ui_text_of(data, "toolName"));
    t->duration_ms = ui_count_of(data, "durationMs");
    ui_tool_end(t, is_ok ? WEIR_UI_TOOL_DONE : WEIR_UI_TOOL_FAILED,
                weir_json_get_str(data, "result"));
}

/* Of one call to a model each. */
static void take_usage(struct weir_ui *s, const struct weir_json *data)
{
    s->usage.input_tokens += ui_count_of(data, "inputTokens");
    s->usage.output_tokens += ui_count_of(data, "outputTokens");
    s->usage.cost_usd += ui_number_of(data, "estimatedCostUsd");
    s->usage.has_tokens = true;
}

static void take_done(struct weir_ui *s, const struct weir_json *data)
{
    ui_state_answer_is(s, ui_text_of(data, "text"));
    ui_state_end(s, WEIR_UI_COMPLETED);
}

static void take_error(struct weir_ui *s, const struct weir_json *data)
{
    ui_state_fail(s, ui_text_of(data, "code"), ui_text_of(data, "error"));
}

/* ---- what is pushed ---- */

/* A line for each argument; whoever allows it is to see all that there is room for. */
static void set_detail(struct weir_ui_ask *a, const struct weir_json *args)
{
    struct weir_buf lines;
    weir_buf_init(&lines, WEIR_UI_DETAIL_BYTES * WEIR_UI_OPTIONS);
    bool is_object = weir_json_type_of(args) == WEIR_JSON_OBJECT;
    const struct weir_json *v = is_object ? weir_json_first(args) : args;
    for (; v; v = is_object ? weir_json_next(v) : NULL) {
        if (lines.len > 0) weir_buf_append_char(&lines, '\n');
        if (is_object) weir_buf_append_slice(&lines, weir_json_key(v));
        weir_buf_append_str(&lines, is_object ? ": " : "");
        if (weir_json_type_of(v) == WEIR_JSON_STRING)
            weir_buf_append_slice(&lines, weir_json_text(v));
        else weir_json_put_value(&lines, v);
    }
    a->is_cut = weir_buf_status(&lines) != WEIR_OK || lines.len >= sizeof a->detail;
    weir_ui_label_set(a->detail, sizeof a->detail, slice_of(lines.ptr, lines.len));
    weir_buf_fini(&lines);
}

static void take_approval_required(struct weir_ui *s, const struct weir_json *data)
{
    char text[WEIR_UI_LABEL_BYTES];
    char arguments[WEIR_UI_LABEL_BYTES - WEIR_UI_NAME_BYTES];
    char name[WEIR_UI_NAME_BYTES];
    const struct weir_json *request = weir_json_get_str(data, "request");
    const struct weir_json *args = weir_json_get_str(request, "args");
    weir_ui_label_set(name, sizeof name, ui_text_of(request, "toolName"));
    ui_label_json(arguments, sizeof arguments, args);
    snprintf(text, sizeof text, "%s %s", name, arguments);
    struct weir_ui_ask *a = ui_ask_open(s, WEIR_UI_ASK_APPROVAL, ui_text_of(request, "approvalId"),
                                        weir_slice_of(text));
    weir_ui_label_set(a->tool, sizeof a->tool, ui_text_of(request, "toolName"));
    weir_ui_label_set(a->reason, sizeof a->reason, ui_text_of(request, "reason"));
    set_detail(a, args);
}

/* How it was settled, in words. */
static struct weir_slice settled(struct weir_slice answer)
{
    static const struct {
        const char *answer, *words;
    } all[] = {
        {"allow", "allowed"},
        {"deny", "denied"},
        {"user", "answered"},
        {"timeout-default", "nobody answered, so the default counts"},
        {"timeout-no-default", "nobody answered"},
        {"cancel", "cancelled"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (weir_slice_is(answer, all[i].answer)) return weir_slice_of(all[i].words);
    return answer;
}

static void settle(struct weir_ui *s, struct weir_slice id, struct weir_slice answer,
                   struct weir_slice by)
{
    struct weir_ui_ask *a = ui_ask_find(s, id);
    if (!a) return;
    ui_ask_settle(a, settled(answer));
    weir_ui_label_set(a->by, sizeof a->by, by);
}

static void take_approval_resolved(struct weir_ui *s, const struct weir_json *data)
{
    settle(s, ui_text_of(data, "approvalId"), ui_text_of(data, "decision"),
           ui_text_of(data, "decidedBy"));
}

static void take_clarify_request(struct weir_ui *s, const struct weir_json *data)
{
    struct weir_ui_ask *a = ui_ask_open(s, WEIR_UI_ASK_QUESTION, ui_text_of(data, "requestId"),
                                        ui_text_of(data, "question"));
    const struct weir_json *option = weir_json_first(weir_json_get_str(data, "options"));
    for (; option && a->n_options < WEIR_UI_OPTIONS; option = weir_json_next(option))
        weir_ui_label_set(a->options[a->n_options++], WEIR_UI_LABEL_BYTES, weir_json_text(option));
    const struct weir_json *answer = weir_json_get_str(data, "default");
    a->has_default = weir_json_type_of(answer) == WEIR_JSON_STRING;
    weir_ui_label_set(a->default_answer, sizeof a->default_answer, weir_json_text(answer));
    if (!clock_parse(ui_text_of(data, "defaultDeadlineAt"), &a->deadline_ms)) a->deadline_ms = 0;
}

static void take_clarify_resolved(struct weir_ui *s, const struct weir_json *data)
{
    settle(s, ui_text_of(data, "requestId"), ui_text_of(data, "source"), SLICE(""));
}

/* A notice with what the members of this name say. */
static void note(struct weir_ui *s, const struct weir_json *data, const char *key)
{
    char text[WEIR_UI_LABEL_BYTES];
    ui_label_json(text, sizeof text, weir_json_get_str(data, key));
    ui_notice_add(s, ui_text_of(data, "type"), weir_slice_of(text));
}

static void take_context_meta(struct weir_ui *s, const struct weir_json *data)
{
    note(s, data, "data");
}

static void take_message_persisted(struct weir_ui *s, const struct weir_json *data)
{
    note(s, data, "messageId");
}

static void take_cron_fired(struct weir_ui *s, const struct weir_json *data)
{
    note(s, data, "jobId");
}

static void take_mesh_changed(struct weir_ui *s, const struct weir_json *data)
{
    char text[WEIR_UI_NAME_BYTES];
    size_t n = weir_json_count(weir_json_get_str(data, "agents"));
    snprintf(text, sizeof text, "%zu agent%s", n, n == 1 ? "" : "s");
    ui_notice_add(s, ui_text_of(data, "type"), weir_slice_of(text));
}

static void take_skill_pending(struct weir_ui *s, const struct weir_json *data)
{
    note(s, data, "skillId");
}

static void take_upgrade_required(struct weir_ui *s, const struct weir_json *data)
{
    char text[WEIR_UI_LABEL_BYTES];
    char server[WEIR_UI_NAME_BYTES];
    char client[WEIR_UI_NAME_BYTES];
    ui_label_json(server, sizeof server, weir_json_get_str(data, "serverVersion"));
    ui_label_json(client, sizeof client, weir_json_get_str(data, "clientVersionExpected"));
    snprintf(text, sizeof text, "the server has version %s and expects %s", server, client);
    ui_notice_add(s, ui_text_of(data, "type"), weir_slice_of(text));
}

/* ---- the table ---- */

static const struct ui_rule rules[] = {
    {"text_delta", take_text_delta, false},
    {"thinking_delta", take_thinking_delta, false},
    {"tool_progress", take_tool_progress, true},
    {"tool_start", take_tool_start, false},
    {"tool_end", take_tool_end, true},
    {"usage", take_usage, true},
    {"run_start", take_run_start, false},
    {"context_meta", take_context_meta, true},
    {"message_persisted", take_message_persisted, true},
    {"done", take_done, false},
    {"error", take_error, false},
    {"tool.approval_required", take_approval_required, true},
    {"approval.resolved", take_approval_resolved, true},
    {"clarify.request", take_clarify_request, true},
    {"clarify.resolved", take_clarify_resolved, true},
    {"cron.fired", take_cron_fired, true},
    {"mesh.changed", take_mesh_changed, true},
    {"evolve.skill_pending", take_skill_pending, true},
    {"protocol.upgrade_required", take_upgrade_required, true},
    {NULL, NULL, false},
};

bool weir_ui_session_event(struct weir_ui *s, const struct weir_json *data)
{
    return ui_rules_take(s, rules, ui_text_of(data, "type"), data);
}

bool weir_ui_session_knows(const struct weir_json *data)
{
    return ui_rules_find(rules, ui_text_of(data, "type")) != NULL;
}

bool weir_ui_session_begins(const struct weir_ui *s, const struct weir_json *data)
{
    static const char *const types[] = {"run_start",  "text_delta", "thinking_delta",
                                        "tool_start", "done",       "error"};
    struct weir_slice type = ui_text_of(data, "type");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (weir_slice_is(type, types[i])) return s->phase >= WEIR_UI_COMPLETED;
    return false;
}
