/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of sessions, and one call of one: tool_start, approval if it changes something, its
 * work, tool_end. A pass may end at any of these and another begins anew: tool_start and tool_end
 * are shown once, and the result of a call that has ended is that of its tool_end, word for word,
 * so that it is durable before an answer to it can be.
 *
 * Here everything has its values: the input comes with them, and what is brought goes to the model
 * by way of the shield.
 */
#include <stdarg.h>
#include <stdio.h>

#include "agent/memory.h"
#include "agent/tool.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "session/tools_impl.h"

enum {
    PROGRESS_NS = 250 * 1000 * 1000, /* between two events of progress of one call */
    MESSAGE_BYTES = 1024,            /* of progress */
    QUESTION_BYTES = 16 << 10,       /* as of clarifications */
};

/* ---- the table ---- */

static enum weir_status check_ask(struct tool_call *c);
static enum weir_status check_note(struct tool_call *c);
static enum weir_status check_note_text(struct tool_call *c);
static enum weir_status check_nothing(struct tool_call *c);

#define NAME_SCHEMA                                                                                \
    "\"name\":{\"type\":\"string\",\"description\":\"Of the note, as: shopping list. Without "     \
    "/.\"}"
#define NOTE_SCHEMA                                                                                \
    "{\"type\":\"object\",\"properties\":{" NAME_SCHEMA                                            \
    "},\"required\":[\"name\"],\"additionalProperties\":false}"
#define NOTE_TEXT_SCHEMA                                                                           \
    "{\"type\":\"object\",\"properties\":{" NAME_SCHEMA                                            \
    ",\"text\":{\"type\":\"string\"}},\"required\":[\"name\",\"text\"],"                           \
    "\"additionalProperties\":false}"

static const char note_reason[] = "It changes the notes of this session.";
static const char memory_reason[] = "It changes what is remembered of you.";

static const struct session_tool table[] = {
    {.name = "remember",
     .group = "memory",
     .description = "Remembers something of the user for all later conversations. Only what the "
                    "user has said or wants.",
     .schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"},"
               "\"category\":{\"type\":\"string\",\"enum\":[\"goal\",\"preference\",\"insight\","
               "\"hypothesis\"],\"description\":\"Without one: insight.\"}},\"required\":"
               "[\"text\"],\"additionalProperties\":false}",
     .kind = TOOL_CHANGE,
     .needs_approval = true,
     .reason = memory_reason,
     .check = tool_check_remember,
     .can = tool_can_remember,
     .change = tool_remember},
    {.name = "forget_memory",
     .group = "memory",
     .description = "Forgets something that is remembered of the user, by its text as read_memory "
                    "brings it.",
     .schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":"
               "[\"text\"],\"additionalProperties\":false}",
     .kind = TOOL_CHANGE,
     .needs_approval = true,
     .reason = memory_reason,
     .check = tool_check_forget,
     .can = tool_can_forget,
     .change = tool_forget},
    {.name = "schedule_prompt",
     .group = "schedule",
     .description = "Has a message sent to this session again and again, by a schedule of five "
                    "fields as cron has them: minute, hour, day of month, month, day of week.",
     .schema = "{\"type\":\"object\",\"properties\":{\"schedule\":{\"type\":\"string\","
               "\"description\":\"As: 0 7 * * mon-fri\"},\"text\":{\"type\":\"string\"},"
               "\"timezone\":{\"type\":\"string\",\"description\":\"As: Europe/Berlin\"}},"
               "\"required\":[\"schedule\",\"text\"],\"additionalProperties\":false}",
     .kind = TOOL_CHANGE,
     .needs_approval = true,
     .reason = "It sends this message by itself, again and again.",
     .check = tool_check_schedule,
     .change = tool_schedule},
    {.name = "ask_user",
     .group = "conversation",
     .description = "Asks the user a question and waits for the answer. For what cannot be found "
                    "out otherwise.",
     .schema = "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\"},"
               "\"options\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":20},"
               "\"default\":{\"type\":\"string\",\"description\":\"What counts when nobody "
               "answers.\"}},\"required\":[\"question\"],\"additionalProperties\":false}",
     .kind = TOOL_ASK,
     .check = check_ask},
    {.name = "list_notes",
     .group = "notes",
     .description = "Lists the notes of this session with their sizes.",
     .schema = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
     .kind = TOOL_FUNCTION,
     .is_repeatable = true,
     .check = check_nothing},
    {.name = "read_note",
     .group = "notes",
     .description = "Reads a note of this session.",
     .schema = NOTE_SCHEMA,
     .kind = TOOL_FUNCTION,
     .is_repeatable = true,
     .check = check_note},
    {.name = "write_note",
     .group = "notes",
     .description = "Writes a note of this session; one of that name is replaced.",
     .schema = NOTE_TEXT_SCHEMA,
     .kind = TOOL_FUNCTION,
     .needs_approval = true,
     .is_repeatable = true,
     .reason = note_reason,
     .check = check_note_text},
    {.name = "append_note",
     .group = "notes",
     .description = "Adds to the end of a note of this session, on a line of its own.",
     .schema = NOTE_TEXT_SCHEMA,
     .kind = TOOL_FUNCTION,
     .needs_approval = true,
     .reason = note_reason,
     .check = check_note_text},
    {.name = "delete_note",
     .group = "notes",
     .description = "Deletes a note of this session.",
     .schema = NOTE_SCHEMA,
     .kind = TOOL_FUNCTION,
     .needs_approval = true,
     .is_repeatable = true,
     .reason = note_reason,
     .check = check_note,
     .can = tool_can_delete_note},
};
enum { N_TABLE = sizeof table / sizeof *table };

static const char *const groups[] = {"data",         "documents", "memory",  "notes",
                                     "conversation", "schedule",  "programs"};

static struct session_tool of_agent(const struct tool *t)
{
    const char *name = tool_name(t), *group = "data";
    if (strcmp(name, "search_documents") == 0) group = "documents";
    if (strcmp(name, "read_memory") == 0) group = "memory";
    return (struct session_tool){.name = name,
                                 .group = group,
                                 .description = tool_description(t),
                                 .kind = TOOL_AGENT,
                                 .is_repeatable = true};
}

static struct session_tool of_program(const struct program *p)
{
    return (struct session_tool){.name = p->name,
                                 .group = "programs",
                                 .description = p->description,
                                 .kind = TOOL_PROGRAM,
                                 .needs_approval = p->needs_approval,
                                 .reason = "It runs a program on the server.",
                                 .program = p};
}

/* The ith of all that can be used here; false: there are no more. */
static bool tool_at(const struct sessions *s, size_t i, struct session_tool *out)
{
    bool has_runner = s->options.runner && s->options.folder;
    size_t n_agent = tools_count(), n_programs = programs_count(s->options.programs);
    if (i < n_agent) {
        *out = of_agent(tools_at(i));
        return true;
    }
    for (size_t row = 0, at = n_agent; row < N_TABLE; row++) {
        if (table[row].kind == TOOL_FUNCTION && !has_runner) continue;
        *out = table[row];
        if (at++ == i) return true;
        n_agent++;
    }
    if (!has_runner || i - n_agent >= n_programs) return false;
    *out = of_program(programs_at(s->options.programs, i - n_agent));
    return true;
}

static bool find_tool(const struct sessions *s, struct weir_slice name, struct session_tool *out)
{
    for (size_t i = 0; tool_at(s, i, out); i++)
        if (weir_slice_is(name, out->name)) return true;
    return false;
}

bool session_tool_is_builtin(struct weir_slice name)
{
    for (size_t i = 0; i < N_TABLE; i++)
        if (weir_slice_is(name, table[i].name)) return true;
    return tool_find(name);
}

bool tool_is_unmarked(struct weir_slice name)
{
    for (size_t i = 0; i < N_TABLE; i++)
        if (weir_slice_is(name, table[i].name))
            return table[i].kind == TOOL_FUNCTION && table[i].is_repeatable;
    return false;
}

void session_tools_put(struct sessions *s, struct weir_buf *out)
{
    struct session_tool t;
    tools_put(out);
    if (out->len > 0) out->len--; /* the end of the list */
    for (size_t i = tools_count(); tool_at(s, i, &t); i++) {
        weir_buf_append_char(out, ',');
        weir_json_put_begin_object(out);
        member_string(out, "name", weir_slice_of(t.name));
        member_string(out, "description", weir_slice_of(t.description));
        weir_json_put_key(out, "input_schema");
        if (t.schema) weir_buf_append_str(out, t.schema);
        else weir_json_put_value(out, t.program->schema);
        weir_json_put_end_object(out);
    }
    weir_buf_append_char(out, ']');
}

static void put_group(struct sessions *s, const char *group, struct weir_buf *out)
{
    struct session_tool t;
    weir_json_put_begin_object(out);
    member_string(out, "group", weir_slice_of(group));
    weir_json_put_key(out, "tools");
    weir_json_put_begin_array(out);
    for (size_t i = 0; tool_at(s, i, &t); i++) {
        if (strcmp(t.group, group) != 0) continue;
        weir_json_put_begin_object(out);
        member_string(out, "name", weir_slice_of(t.name));
        member_string(out, "description", weir_slice_of(t.description));
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

static bool has_group(struct sessions *s, const char *group)
{
    struct session_tool t;
    for (size_t i = 0; tool_at(s, i, &t); i++)
        if (strcmp(t.group, group) == 0) return true;
    return false;
}

void session_tools_put_catalog(struct sessions *s, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "groups");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (has_group(s, groups[i])) put_group(s, groups[i], out);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

/* ---- inputs ---- */

enum weir_status tool_fail(struct tool_call *c, enum weir_status st, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    c->why[utf8_valid_prefix(weir_slice_of(c->why))] = 0;
    return st;
}

static bool is_blank(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!memchr(" \t\r\n", text.ptr[i], 4)) return false;
    return true;
}

enum weir_status tool_text(struct tool_call *c, const char *member, bool is_needed, size_t most,
                           struct weir_slice *out)
{
    const struct weir_json *v = weir_json_get_str(c->input, member);
    *out = weir_json_text(v);
    if (!v && !is_needed) return WEIR_OK;
    if (!v) return tool_fail(c, WEIR_BAD_FIELD, "%s is missing", member);
    if (weir_json_type_of(v) == WEIR_JSON_STRING && is_blank(*out))
        return tool_fail(c, WEIR_BAD_FIELD, "%s is empty, or nothing but blanks", member);
    if (weir_json_type_of(v) != WEIR_JSON_STRING || out->len > most)
        return tool_fail(c, WEIR_BAD_FIELD, "%s has to be a text of 1 to %zu bytes", member, most);
    return WEIR_OK;
}

static enum weir_status check_ask(struct tool_call *c)
{
    struct weir_slice text;
    enum weir_status st = tool_text(c, "question", true, QUESTION_BYTES, &text);
    return st == WEIR_OK ? tool_text(c, "default", false, QUESTION_BYTES, &text) : st;
}

static enum weir_status check_nothing(struct tool_call *c)
{
    (void)c;
    return WEIR_OK;
}

static enum weir_status check_note(struct tool_call *c)
{
    struct weir_slice name;
    enum weir_status st = tool_text(c, "name", true, NOTE_NAME_BYTES, &name);
    if (st != WEIR_OK) return st;
    const char *fault = note_name_fault(name);
    return fault ? tool_fail(c, WEIR_BAD_FIELD, "name: %s", fault) : WEIR_OK;
}

static enum weir_status check_note_text(struct tool_call *c)
{
    struct weir_slice text;
    enum weir_status st = check_note(c);
    return st == WEIR_OK ? tool_text(c, "text", true, NOTE_TEXT_BYTES, &text) : st;
}

/* Of those of the table: no members but the schema's. */
static enum weir_status check_members(struct tool_call *c)
{
    const struct weir_json *schema;
    enum weir_status st = WEIR_OK;
    struct weir_json_doc *doc = weir_json_doc_new(64 << 10);
    if (!doc) return WEIR_NOMEM;
    st = weir_json_parse(doc, weir_slice_of(c->tool.schema), &schema, NULL);
    const struct weir_json *known = weir_json_get_str(schema, "properties");
    for (const struct weir_json *m = weir_json_first(c->input); st == WEIR_OK && m;
         m = weir_json_next(m)) {
        struct weir_slice key = weir_json_key(m);
        if (!weir_json_get(known, key))
            st = tool_fail(c, WEIR_BAD_FIELD, "there is no member \"%.*s\" in the input",
                           (int)(key.len < 64 ? key.len : 64), key.ptr);
    }
    weir_json_doc_free(doc);
    return st;
}

static enum weir_status check_input(struct tool_call *c)
{
    if (weir_json_type_of(c->input) != WEIR_JSON_OBJECT)
        return tool_fail(c, WEIR_BAD_FIELD, "the input has to be an object");
    if (weir_buf_status(&c->args) != WEIR_OK)
        return tool_fail(c, WEIR_BAD_FIELD, "the input has more than %d bytes", TOOL_ARGS_BYTES);
    enum weir_status st = c->tool.schema ? check_members(c) : WEIR_OK;
    return st == WEIR_OK && c->tool.check ? c->tool.check(c) : st;
}

/* ---- events ---- */

static void begin_event(struct weir_buf *json, const struct tool_call *c, const char *type)
{
    weir_buf_init(json, SESSION_EVENT_BYTES);
    weir_json_put_begin_object(json);
    member_string(json, "type", weir_slice_of(type));
    if (strcmp(type, "tool_progress") != 0) member_string(json, "toolCallId", c->wish->call_id);
    member_string(json, "toolName", c->wish->name);
}

static enum weir_status end_event(struct weir_buf *json, struct tool_call *c)
{
    weir_json_put_end_object(json);
    enum weir_status st = pass_emit(c->pass, json);
    weir_buf_fini(json);
    return st;
}

static enum weir_status tell_start(struct tool_call *c)
{
    struct weir_buf json;
    bool is_small = weir_buf_status(&c->args) == WEIR_OK;
    if (pass_shown_call(c->pass, "tool_start", c->wish->call_id).len > 0) {
        c->is_again = true;
        return WEIR_OK;
    }
    sessions_count(c->sessions, offsetof(struct sessions_stats, n_tools));
    begin_event(&json, c, "tool_start");
    weir_json_put_key(&json, "args");
    weir_buf_append_slice(&json, is_small ? weir_buf_slice(&c->args) : SLICE("{}"));
    return end_event(&json, c);
}

void tool_tell_progress(struct tool_call *c, struct weir_slice message, unsigned percent)
{
    struct weir_buf json;
    uint64_t now_ns = clock_mono_ns(&clock_system);
    if (c->status != WEIR_OK || (c->told_ns && now_ns - c->told_ns < PROGRESS_NS)) return;
    c->told_ns = now_ns;
    begin_event(&json, c, "tool_progress");
    if (message.len > MESSAGE_BYTES) message.len = MESSAGE_BYTES;
    message.len = utf8_valid_prefix(message);
    member_string(&json, "message", message);
    if (percent <= 100) {
        weir_json_put_key(&json, "percent");
        weir_json_put_uint(&json, percent);
    }
    member_string(&json, "audience", SLICE("user"));
    c->status = end_event(&json, c);
}

static enum weir_status tell_end(struct tool_call *c, bool is_error)
{
    struct weir_buf json;
    uint64_t ms = pass_work_end(c->pass);
    if (is_error) {
        sessions_count(c->sessions, offsetof(struct sessions_stats, n_tools_failed));
        weir_buf_reset(&c->result);
        weir_buf_append_str(&c->result, c->why);
    }
    tool_bound(&c->result);
    enum weir_status st = weir_buf_status(&c->result);
    if (st != WEIR_OK) return st;
    begin_event(&json, c, "tool_end");
    weir_json_put_key(&json, "ok");
    weir_json_put_bool(&json, !is_error);
    weir_json_put_key(&json, "durationMs");
    weir_json_put_uint(&json, ms);
    member_string(&json, "result", weir_buf_slice(&c->result));
    return end_event(&json, c);
}

/* ---- work ---- */

static void on_progress(void *call, struct weir_slice label, unsigned percent)
{
    struct tool_call *c = call;
    if (!c->is_again) tool_tell_progress(c, label, percent);
}

static bool is_aborted(void *call)
{
    const struct tool_call *c = call;
    return flow_is_aborted(pass_step(c->pass));
}

static enum weir_status run_agent_tool(struct tool_call *c)
{
    struct shelved data = {0};
    struct sessions *s = c->sessions;
    struct tool_case about = {.owner = pass_owner(c->pass),
                              .store = s->store,
                              .clock = s->options.clock,
                              .arena = pass_arena(c->pass),
                              .vault = s->options.vault,
                              .policy = s->options.policy,
                              .progress = on_progress,
                              .is_aborted = is_aborted,
                              .user = c};
    enum weir_status st = shelf_take(&s->shelf, about.owner, &data);
    about.data = data.data;
    if (st == WEIR_OK) st = tool_run(tool_find(c->wish->name), &about, c->input, &c->result);
    shelf_give(&s->shelf, &data);
    if (st != WEIR_OK && about.why[0]) (void)tool_fail(c, st, "%s", about.why);
    return st == WEIR_OK ? c->status : st;
}

static enum weir_status ask_person(struct tool_call *c)
{
    static const char *const notes[] = {[CLARIFY_USER] = NULL,
                                        [CLARIFY_DEFAULT] =
                                            "nobody answered in time: this is the default",
                                        [CLARIFY_NO_DEFAULT] = "nobody answered in time",
                                        [CLARIFY_CANCEL] = "the user does not want to answer"};
    enum clarify_source source;
    struct weir_slice answer = {0};
    const struct weir_json *given = weir_json_get_str(c->input, "default");
    struct clarify_wish w = {.number = c->wish->number,
                             .question = weir_json_text(weir_json_get_str(c->input, "question")),
                             .options = weir_json_get_str(c->input, "options")};
    if (given) w.default_answer = weir_json_text(given);
    enum weir_status st = clarify_ask(c->pass, &w, &source, &answer);
    if (st == WEIR_BAD_FIELD)
        return tool_fail(c, st, "the question, its options or its default are not as they may be");
    if (st != WEIR_OK) return st;
    weir_json_put_begin_object(&c->result);
    weir_json_put_key(&c->result, "answer");
    if (source == CLARIFY_USER || source == CLARIFY_DEFAULT)
        weir_json_put_string(&c->result, answer);
    else weir_json_put_null(&c->result);
    if (notes[source]) member_string(&c->result, "note", weir_slice_of(notes[source]));
    weir_json_put_end_object(&c->result);
    return WEIR_OK;
}

static enum weir_status can(void *call)
{
    struct tool_call *c = call;
    return c->tool.can ? c->tool.can(c) : WEIR_OK;
}

/* WEIR_FORBIDDEN: it may not. */
static enum weir_status approve(struct tool_call *c)
{
    enum approval_state state;
    char why[SESSION_WHY_BYTES] = "";
    if (!c->tool.needs_approval) return WEIR_OK;
    const struct approval_wish w = {.call_id = c->wish->call_id,
                                    .number = c->wish->number,
                                    .tool = c->tool.name,
                                    .args = weir_buf_slice(&c->args),
                                    .reason = weir_slice_of(c->tool.reason),
                                    .can = can,
                                    .user = c};
    enum weir_status st = approval_ask(c->pass, &w, &state, why);
    if (st != WEIR_OK || state == APPROVAL_ALLOWED) return st;
    return tool_fail(c, WEIR_FORBIDDEN, "%s", why[0] ? why : "the user did not allow it");
}

static enum weir_status work(struct tool_call *c)
{
    enum weir_status st = check_input(c);
    if (st == WEIR_OK) st = approve(c);
    if (st != WEIR_OK) return st;
    /* How long people think is nobody's work. */
    if (c->tool.kind != TOOL_ASK) pass_work_begin(c->pass);
    switch (c->tool.kind) {
    case TOOL_AGENT: return is_aborted(c) ? WEIR_CANCELLED : run_agent_tool(c);
    case TOOL_ASK: return ask_person(c);
    case TOOL_CHANGE: return is_aborted(c) ? WEIR_CANCELLED : c->tool.change(c);
    case TOOL_FUNCTION:
    case TOOL_PROGRAM: return tool_work(c);
    }
    return WEIR_INTERNAL;
}

/* What a model can do something about; what the world does to us is tried again. */
static bool is_for_model(enum weir_status st)
{
    return st == WEIR_BAD_FIELD || st == WEIR_UNPROCESSABLE || st == WEIR_NOT_FOUND ||
           st == WEIR_LIMIT || st == WEIR_INVALID || st == WEIR_FORBIDDEN || st == WEIR_TIMEOUT;
}

/* The result of a call whose end was shown. */
static enum weir_status read_end(struct weir_slice end, struct weir_buf *out, bool *is_error)
{
    const struct weir_json *json;
    struct weir_json_doc *doc = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, end, &json, NULL);
    if (st == WEIR_OK) {
        *is_error = weir_json_type_of(weir_json_get_str(json, "ok")) != WEIR_JSON_TRUE;
        weir_buf_append_slice(out, weir_json_text(weir_json_get_str(json, "result")));
        st = weir_buf_status(out);
    }
    weir_json_doc_free(doc);
    return st;
}

static enum weir_status run_call(struct tool_call *c, bool *is_error)
{
    bool is_known = find_tool(c->sessions, c->wish->name, &c->tool);
    bool is_begun = pass_shown_call(c->pass, "tool_start", c->wish->call_id).len > 0;
    if (!is_begun && is_aborted(c)) return WEIR_CANCELLED;
    enum weir_status st = tell_start(c);
    if (st != WEIR_OK) return st;
    st = is_known ? work(c) : tool_fail(c, WEIR_NOT_FOUND, "there is no such tool");
    if (st == WEIR_OK) st = weir_buf_status(&c->result);
    if (st != WEIR_OK && !is_for_model(st)) return st;
    *is_error = st != WEIR_OK;
    if (*is_error && !c->why[0]) (void)tool_fail(c, st, "%s", weir_status_text(st));
    return tell_end(c, *is_error);
}

enum weir_status session_tool_call(struct turn_pass *p, const struct tool_wish *w,
                                   struct weir_buf *out, bool *is_error)
{
    struct tool_call c = {.pass = p, .sessions = pass_sessions(p), .wish = w, .input = w->input};
    struct weir_slice end = pass_shown_call(p, "tool_end", w->call_id);
    *is_error = false;
    if (end.len > 0) return read_end(end, out, is_error);
    weir_buf_init(&c.args, TOOL_ARGS_BYTES);
    weir_buf_init(&c.result, TOOL_RESULT_MOST);
    weir_json_put_value(&c.args, w->input);
    enum weir_status st = run_call(&c, is_error);
    if (st == WEIR_OK) {
        weir_buf_append_slice(out, weir_buf_slice(&c.result));
        st = weir_buf_status(out);
    }
    weir_buf_fini(&c.args);
    weir_buf_fini(&c.result);
    return st;
}

struct doc_key tool_doc_key(char out[TOOL_DOC_BYTES], const struct tool_call *c)
{
    return tool_doc_key_of(out, pass_turn(c->pass), c->wish->number);
}
