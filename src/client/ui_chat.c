/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each event of a chat's reply does to the state of a view: one row of a table for each type.
 * What was private is named by its kind; the values that a map of placeholders has are not kept.
 */
#include <stdio.h>

#include "base/slice.h"
#include "client/ui_state_impl.h"

/* ---- the reply ---- */

static void take_token(struct weir_ui *s, const struct weir_json *data)
{
    s->progress[0] = '\0';
    weir_ui_text_add(&s->answer, ui_text_of(data, "text"), s->now_ns);
}

static void take_tool_call(struct weir_ui *s, const struct weir_json *data)
{
    (void)ui_tool_begin(s, ui_text_of(data, "id"), ui_text_of(data, "name"),
                        weir_json_get_str(data, "args"));
}

static void end_tool(struct weir_ui *s, const struct weir_json *data, enum weir_ui_tool_phase phase,
                     const char *key)
{
    struct weir_ui_tool *t = ui_tool_find_or_add(s, ui_text_of(data, "id"));
    /* One whose call was missed began we do not know when. */
    if (t->started_ns > 0) t->duration_ms = (s->now_ns - t->started_ns) / 1000000;
    ui_tool_end(t, phase, weir_json_get_str(data, key));
}

static void take_tool_result(struct weir_ui *s, const struct weir_json *data)
{
    end_tool(s, data, WEIR_UI_TOOL_DONE, "result");
}

static void take_tool_error(struct weir_ui *s, const struct weir_json *data)
{
    end_tool(s, data, WEIR_UI_TOOL_FAILED, "error");
}

/* It names no tool: the newest that runs is meant. */
static void take_progress(struct weir_ui *s, const struct weir_json *data)
{
    ui_progress_set(s, ui_tool_running(s, SLICE("")), ui_text_of(data, "label"),
                    weir_json_get_str(data, "percent"));
}

static void take_citation(struct weir_ui *s, const struct weir_json *data)
{
    if (s->n_citations == WEIR_UI_CITATIONS) {
        memmove(s->citations, s->citations + 1, (WEIR_UI_CITATIONS - 1) * sizeof *s->citations);
        s->n_citations--;
        s->n_left_out++;
    }
    struct weir_ui_citation *c = &s->citations[s->n_citations++];
    weir_ui_label_set(c->source_id, sizeof c->source_id, ui_text_of(data, "sourceId"));
    weir_ui_label_set(c->title, sizeof c->title, ui_text_of(data, "title"));
    weir_ui_label_set(c->snippet, sizeof c->snippet, ui_text_of(data, "snippet"));
}

static void take_done(struct weir_ui *s, const struct weir_json *data)
{
    const struct weir_json *usage = weir_json_get_str(data, "usage");
    weir_ui_label_set(s->model, sizeof s->model, ui_text_of(data, "model"));
    s->usage.input_tokens = ui_count_of(usage, "input");
    s->usage.output_tokens = ui_count_of(usage, "output");
    s->usage.has_tokens = usage != NULL;
    ui_state_end(s, WEIR_UI_COMPLETED);
}

static void take_error(struct weir_ui *s, const struct weir_json *data)
{
    ui_state_fail(s, ui_text_of(data, "code"), ui_text_of(data, "message"));
}

/* ---- what is private ---- */

/* The kinds of findings, each once for each finding: "email, email, phone". */
static void put_kinds(struct weir_buf *out, const struct weir_json *list)
{
    const struct weir_json *v = weir_json_first(list);
    for (size_t n = 0; v; v = weir_json_next(v), n++) {
        struct weir_slice kind = weir_json_text(v);
        if (weir_json_type_of(v) == WEIR_JSON_OBJECT) kind = ui_text_of(v, "category");
        if (n > 0) weir_buf_append_str(out, ", ");
        weir_buf_append_slice(out, kind);
    }
}

static struct weir_slice written(const struct weir_buf *out)
{
    return slice_of(out->ptr, out->len);
}

static void take_preview(struct weir_ui *s, const struct weir_json *data)
{
    struct weir_buf text;
    const struct weir_json *provider = weir_json_get_str(data, "provider");
    weir_buf_init(&text, WEIR_UI_LABEL_BYTES);
    put_kinds(&text, weir_json_get_str(data, "findings"));
    weir_buf_append_str(&text, " for ");
    weir_buf_append_slice(&text, ui_text_of(provider, "displayName"));
    ui_ask_open(s, WEIR_UI_ASK_PRIVACY, ui_text_of(data, "decisionId"), written(&text));
    weir_buf_fini(&text);
}

/* It does not say which decision: there is one at a time. Without one it was the policy. */
static void take_resolved(struct weir_ui *s, const struct weir_json *data)
{
    struct weir_buf text;
    struct weir_slice choice = ui_text_of(data, "appliedChoice");
    for (size_t i = 0; i < s->n_asks; i++)
        if (s->asks[i].kind == WEIR_UI_ASK_PRIVACY && s->asks[i].is_open)
            ui_ask_settle(&s->asks[i], choice);
    weir_buf_init(&text, WEIR_UI_LABEL_BYTES);
    weir_buf_append_slice(&text, choice);
    weir_buf_append_str(&text, ": ");
    put_kinds(&text, weir_json_get_str(data, "categories"));
    ui_notice_add(s, SLICE("dlp_resolved"), written(&text));
    weir_buf_fini(&text);
}

static void take_blocked(struct weir_ui *s, const struct weir_json *data)
{
    struct weir_buf text;
    struct weir_slice reason = ui_text_of(data, "reason");
    for (size_t i = 0; i < s->n_asks; i++)
        if (s->asks[i].kind == WEIR_UI_ASK_PRIVACY && s->asks[i].is_open)
            ui_ask_settle(&s->asks[i], reason);
    weir_buf_init(&text, WEIR_UI_LABEL_BYTES);
    weir_buf_append_str(&text, "the privacy shield has kept it back: ");
    put_kinds(&text, weir_json_get_str(data, "findings"));
    ui_state_fail(s, reason, written(&text));
    weir_buf_fini(&text);
}

static void take_token_map(struct weir_ui *s, const struct weir_json *data)
{
    char text[WEIR_UI_NAME_BYTES];
    size_t n = weir_json_count(weir_json_get_str(data, "tokenMap"));
    snprintf(text, sizeof text, "%zu placeholder%s", n, n == 1 ? "" : "s");
    ui_notice_add(s, SLICE("privacy_token_map"), weir_slice_of(text));
}

/* ---- the table ---- */

static const struct ui_rule rules[] = {
    {"token", take_token, false},
    {"tool_call", take_tool_call, false},
    {"tool_result", take_tool_result, false},
    {"tool_error", take_tool_error, false},
    {"progress", take_progress, false},
    {"citation", take_citation, false},
    {"dlp_preview", take_preview, false},
    {"dlp_resolved", take_resolved, false},
    {"dlp_blocked", take_blocked, false},
    {"privacy_token_map", take_token_map, false},
    {"done", take_done, false},
    {"error", take_error, false},
    {NULL, NULL, false},
};

bool weir_ui_chat_event(struct weir_ui *s, struct weir_slice type, const struct weir_json *data)
{
    return ui_rules_take(s, rules, type, data);
}

/* Some names are anybody's: those need the members that go with them. */
bool weir_ui_chat_knows(struct weir_slice type, const struct weir_json *data)
{
    static const struct {
        const char *type, *member;
    } common[] = {{"done", "messageId"}, {"error", "code"}, {"progress", "label"}};
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (weir_slice_is(type, common[i].type))
            return weir_json_get_str(data, common[i].member) != NULL;
    return ui_rules_find(rules, type) != NULL;
}
