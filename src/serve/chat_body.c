/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a request for a reply. Types are strict and what is wrong is told with its place.
 * Members that nobody knows are let pass, for clients of other servers send them; but not those
 * that are ours in another spelling: "pii_action" would be a protection that is not.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/slice.h"
#include "serve/chat_impl.h"

static const char *const members[] = {
    "agentId",   "messages",       "conversationId",          "stream",
    "piiAction", "showRawPayload", "includeSourceReferences",
};

enum { N_MEMBERS = sizeof members / sizeof *members };

__attribute__((format(printf, 3, 4))) static bool refuse(struct chat_flaw *f, const char *text,
                                                         const char *path, ...)
{
    va_list args;
    va_start(args, path);
    vsnprintf(f->path, sizeof f->path, path, args);
    va_end(args);
    f->code = WEIR_BAD_FIELD;
    f->text = text;
    return false;
}

/* ---- members ---- */

/* Without regard to case, '_' and '-'. */
static bool is_spelling_of(struct weir_slice key, const char *name)
{
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] == '_' || key.ptr[i] == '-') continue;
        if (tolower((unsigned char)key.ptr[i]) != tolower((unsigned char)*name++)) return false;
    }
    return *name == 0;
}

static bool check_spelling(const struct weir_json *body, struct chat_flaw *f)
{
    for (const struct weir_json *m = weir_json_first(body); m; m = weir_json_next(m)) {
        struct weir_slice key = weir_json_key(m);
        for (int i = 0; i < N_MEMBERS; i++)
            if (is_spelling_of(key, members[i]) && !weir_slice_is(key, members[i]))
                return refuse(f, "is not how this member is spelled", "%.*s", (int)key.len,
                              key.ptr);
    }
    return true;
}

bool chat_take_flag(const struct weir_json *object, const char *key, bool *flag)
{
    const struct weir_json *v = weir_json_get_str(object, key);
    enum weir_json_type type = weir_json_type_of(v);
    if (!v) return true;
    *flag = type == WEIR_JSON_TRUE;
    return type == WEIR_JSON_TRUE || type == WEIR_JSON_FALSE;
}

static bool take_flags(const struct weir_json *body, struct chat_request *r, bool *is_streamed,
                       struct chat_flaw *f)
{
    static const char flag[] = "has to be true or false";
    if (!chat_take_flag(body, "stream", is_streamed)) return refuse(f, flag, "stream");
    if (!chat_take_flag(body, "showRawPayload", &r->shows_raw))
        return refuse(f, flag, "showRawPayload");
    if (!chat_take_flag(body, "includeSourceReferences", &r->has_sources))
        return refuse(f, flag, "includeSourceReferences");
    return true;
}

/* Whoever names no agent in a place that has them gets the one that there is. */
static bool take_agent(const struct weir_json *body, bool is_direct, struct chat_request *r,
                       struct chat_flaw *f)
{
    const struct weir_json *v = weir_json_get_str(body, "agentId");
    if (is_direct && v)
        return refuse(f, "has no place here: this is a chat without one", "agentId");
    r->agent = SLICE("");
    if (is_direct) return true;
    r->agent = v ? weir_json_text(v) : SLICE("asst_default");
    if (!v || (weir_json_type_of(v) == WEIR_JSON_STRING && r->agent.len > 0)) return true;
    return refuse(f, "has to be a string that is not empty", "agentId");
}

static bool take_names(const struct weir_json *body, struct chat_request *r, struct chat_flaw *f)
{
    const struct weir_json *conversation = weir_json_get_str(body, "conversationId");
    const struct weir_json *action = weir_json_get_str(body, "piiAction");
    r->conversation = weir_json_text(conversation);
    if (conversation && (weir_json_type_of(conversation) != WEIR_JSON_STRING ||
                         !chat_is_conversation(r->conversation)))
        return refuse(f, "has to be \"conv_\" and up to 64 letters, digits, \"_\" and \"-\"",
                      "conversationId");
    if (action && (weir_json_type_of(action) != WEIR_JSON_STRING ||
                   !pii_action_parse(weir_json_text(action), &r->wish)))
        return refuse(f, "has to be \"ask\", \"auto_redact\", \"block\" or \"off\"", "piiAction");
    return true;
}

/* ---- messages ---- */

/* The bytes of a content that is a string or blocks of text; false: it is neither. */
static bool measure(const struct weir_json *content, size_t *len)
{
    *len = weir_json_text(content).len;
    if (weir_json_type_of(content) == WEIR_JSON_STRING) return true;
    if (weir_json_type_of(content) != WEIR_JSON_ARRAY) return false;
    *len = 0;
    for (const struct weir_json *b = weir_json_first(content); b; b = weir_json_next(b)) {
        const struct weir_json *text = weir_json_get_str(b, "text");
        if (!weir_slice_is(weir_json_text(weir_json_get_str(b, "type")), "text") ||
            weir_json_type_of(text) != WEIR_JSON_STRING)
            return false;
        *len += weir_json_text(text).len;
    }
    return true;
}

static bool check_message(const struct weir_json *m, size_t i, struct chat_flaw *f)
{
    const struct weir_json *role = weir_json_get_str(m, "role");
    struct weir_slice name = weir_json_text(role);
    size_t len = 0;
    if (weir_json_type_of(m) != WEIR_JSON_OBJECT)
        return refuse(f, "has to be an object with role and content", "messages[%zu]", i);
    bool is_role = weir_json_type_of(role) == WEIR_JSON_STRING &&
                   (weir_slice_is(name, "user") || weir_slice_is(name, "assistant"));
    if (!is_role) return refuse(f, "has to be \"user\" or \"assistant\"", "messages[%zu].role", i);
    if (!measure(weir_json_get_str(m, "content"), &len))
        return refuse(f, "has to be a string, or an array of {\"type\":\"text\",\"text\"}",
                      "messages[%zu].content", i);
    if (len <= CHAT_MESSAGE_BYTES) return true;
    refuse(f, "is longer than a message may be", "messages[%zu].content", i);
    f->code = WEIR_TOO_LARGE;
    return false;
}

static bool take_messages(const struct weir_json *body, struct chat_request *r, struct chat_flaw *f)
{
    const struct weir_json *last = NULL;
    size_t n = 0, len = 0;
    r->messages = weir_json_get_str(body, "messages");
    if (weir_json_type_of(r->messages) != WEIR_JSON_ARRAY)
        return refuse(f, "has to be an array of messages", "messages");
    for (const struct weir_json *m = weir_json_first(r->messages); m; m = weir_json_next(m)) {
        if (!check_message(m, n++, f)) return false;
        last = m;
    }
    if (!last) return refuse(f, "has to have one message at least", "messages");
    if (n > CHAT_MAX_MESSAGES) return refuse(f, "has more messages than a chat may", "messages");
    if (!weir_slice_is(weir_json_text(weir_json_get_str(last, "role")), "user"))
        return refuse(f, "has to be \"user\": the last message is the question",
                      "messages[%zu].role", n - 1);
    if (measure(weir_json_get_str(last, "content"), &len) && len > 0) return true;
    return refuse(f, "is empty", "messages[%zu].content", n - 1);
}

bool chat_body_read(const struct weir_json *body, bool is_direct, struct chat_request *r,
                    bool *is_streamed, struct chat_flaw *flaw)
{
    return check_spelling(body, flaw) && take_agent(body, is_direct, r, flaw) &&
           take_names(body, r, flaw) && take_flags(body, r, is_streamed, flaw) &&
           take_messages(body, r, flaw);
}
