/* SPDX-License-Identifier: Apache-2.0 */
#include "view_line.h"

#include <stdio.h>
#include <string.h>

static void id_of(const struct weir_json *data, const char *key, char out[WEIR_UI_NAME_BYTES])
{
    weir_ui_label_set(out, WEIR_UI_NAME_BYTES, weir_json_text(weir_json_get_str(data, key)));
}

/* ---- tools ---- */

static bool tool_line(const struct weir_ui *s, const char *id, struct view_line *out)
{
    const struct weir_ui_tool *t = weir_ui_tool(s, id);
    if (!t) return false;
    out->is_good = t->phase == WEIR_UI_TOOL_DONE;
    out->is_bad = !out->is_good;
    out->sign = out->is_good ? "✓" : "✗";
    memcpy(out->label, t->name[0] != '\0' ? t->name : t->id, sizeof out->label);
    snprintf(out->text, sizeof out->text, "%.1f s  %s", (double)t->duration_ms / 1000, t->result);
    return true;
}

static bool end_of_session_tool(const struct weir_ui *s, const struct weir_json *data,
                                struct view_line *out)
{
    char id[WEIR_UI_NAME_BYTES];
    id_of(data, "toolCallId", id);
    return tool_line(s, id, out);
}

static bool end_of_chat_tool(const struct weir_ui *s, const struct weir_json *data,
                             struct view_line *out)
{
    char id[WEIR_UI_NAME_BYTES];
    id_of(data, "id", id);
    return tool_line(s, id, out);
}

/* ---- what waits for a person ---- */

void view_line_of_ask(const struct weir_ui_ask *a, struct view_line *out)
{
    static const char *const labels[] = {[WEIR_UI_ASK_APPROVAL] = "approval",
                                         [WEIR_UI_ASK_QUESTION] = "question",
                                         [WEIR_UI_ASK_PRIVACY] = "privacy"};
    *out = (struct view_line){.sign = a->is_open ? "?" : "·", .is_open = a->is_open};
    snprintf(out->label, sizeof out->label, "%s", labels[a->kind]);
    if (a->is_open)
        snprintf(out->text, sizeof out->text, "%s%s%s (%s)", a->text,
                 a->reason[0] != '\0' ? ": " : "", a->reason, a->id);
    else
        snprintf(out->text, sizeof out->text, "%s: %s%s%s", a->text, a->answer,
                 a->by[0] != '\0' ? " by " : "", a->by);
}

static bool ask_line(const struct weir_ui *s, const char *id, struct view_line *out)
{
    const struct weir_ui_ask *a = weir_ui_ask(s, id);
    if (a) view_line_of_ask(a, out);
    return a != NULL;
}

static bool approval(const struct weir_ui *s, const struct weir_json *data, struct view_line *out)
{
    char id[WEIR_UI_NAME_BYTES];
    const struct weir_json *request = weir_json_get_str(data, "request");
    id_of(request ? request : data, "approvalId", id);
    return ask_line(s, id, out);
}

static bool question(const struct weir_ui *s, const struct weir_json *data, struct view_line *out)
{
    char id[WEIR_UI_NAME_BYTES];
    id_of(data, "requestId", id);
    return ask_line(s, id, out);
}

static bool decision(const struct weir_ui *s, const struct weir_json *data, struct view_line *out)
{
    char id[WEIR_UI_NAME_BYTES];
    id_of(data, "decisionId", id);
    return ask_line(s, id, out);
}

/* ---- notices ---- */

static bool notice(const struct weir_ui *s, const struct weir_json *data, struct view_line *out)
{
    (void)data;
    if (s->n_notices == 0) return false;
    const struct weir_ui_notice *n = &s->notices[s->n_notices - 1];
    out->sign = "·";
    memcpy(out->label, n->type, sizeof out->label);
    snprintf(out->text, sizeof out->text, "%s", n->text);
    return true;
}

/* ---- the table ---- */

static const struct {
    const char *type;
    bool (*fill)(const struct weir_ui *s, const struct weir_json *data, struct view_line *out);
} lines[] = {
    {"tool_end", end_of_session_tool},
    {"tool_result", end_of_chat_tool},
    {"tool_error", end_of_chat_tool},
    {"tool.approval_required", approval},
    {"approval.resolved", approval},
    {"clarify.request", question},
    {"clarify.resolved", question},
    {"dlp_preview", decision},
    {"dlp_resolved", notice},
    {"privacy_token_map", notice},
    {"context_meta", notice},
    {"cron.fired", notice},
    {"mesh.changed", notice},
    {"evolve.skill_pending", notice},
    {"protocol.upgrade_required", notice},
};

bool view_line_of(const struct weir_ui *s, struct weir_slice type, const struct weir_json *data,
                  struct view_line *out)
{
    *out = (struct view_line){.sign = ""};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (weir_slice_is(type, lines[i].type)) return lines[i].fill(s, data, out);
    return false;
}
