/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a request for a reply. Types are strict and what is wrong is told with its place.
 * Members that nobody knows are let pass, for clients of other servers send them; but not those
 * that are ours in another spelling: "pii_action" would be a protection that is not.
 */
#include <ctype.h>

#include "base/slice.h"
#include "serve/chat_impl.h"

static const char *const members[] = {
    "agentId",   "messages",       "conversationId",          "stream",
    "piiAction", "showRawPayload", "includeSourceReferences",
};

enum { N_MEMBERS = sizeof members / sizeof *members };

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

static bool check_spelling(const struct weir_json *body, struct flaw *f)
{
    for (const struct weir_json *m = weir_json_first(body); m; m = weir_json_next(m)) {
        struct weir_slice key = weir_json_key(m);
        for (int i = 0; i < N_MEMBERS; i++)
            if (is_spelling_of(key, members[i]) && !weir_slice_is(key, members[i]))
                return flaw_set(f, "is not how this member is spelled", "%.*s", (int)key.len,
                                key.ptr);
    }
    return true;
}

static bool take_flags(const struct weir_json *body, struct chat_request *r, bool *is_streamed,
                       struct flaw *f)
{
    static const char flag[] = "has to be true or false";
    if (!body_take_flag(body, "stream", is_streamed)) return flaw_set(f, flag, "stream");
    if (!body_take_flag(body, "showRawPayload", &r->shows_raw))
        return flaw_set(f, flag, "showRawPayload");
    if (!body_take_flag(body, "includeSourceReferences", &r->has_sources))
        return flaw_set(f, flag, "includeSourceReferences");
    return true;
}

/* Whoever names no agent in a place that has them gets the one that there is. */
static bool take_agent(const struct weir_json *body, bool is_direct, struct chat_request *r,
                       struct flaw *f)
{
    const struct weir_json *v = weir_json_get_str(body, "agentId");
    if (is_direct && v)
        return flaw_set(f, "has no place here: this is a chat without one", "agentId");
    r->agent = SLICE("");
    if (is_direct) return true;
    r->agent = v ? weir_json_text(v) : SLICE("asst_default");
    if (!v || (weir_json_type_of(v) == WEIR_JSON_STRING && r->agent.len > 0)) return true;
    return flaw_set(f, "has to be a string that is not empty", "agentId");
}

static bool take_names(const struct weir_json *body, struct chat_request *r, struct flaw *f)
{
    const struct weir_json *conversation = weir_json_get_str(body, "conversationId");
    const struct weir_json *action = weir_json_get_str(body, "piiAction");
    r->conversation = weir_json_text(conversation);
    if (conversation && (weir_json_type_of(conversation) != WEIR_JSON_STRING ||
                         !chat_is_conversation(r->conversation)))
        return flaw_set(f, "has to be \"conv_\" and up to 64 letters, digits, \"_\" and \"-\"",
                        "conversationId");
    if (action && (weir_json_type_of(action) != WEIR_JSON_STRING ||
                   !pii_action_parse(weir_json_text(action), &r->wish)))
        return flaw_set(f, "has to be \"ask\", \"auto_redact\", \"block\" or \"off\"", "piiAction");
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

static bool is_content(const struct weir_json *content, size_t i, struct flaw *f)
{
    size_t len = 0;
    if (!measure(content, &len))
        return flaw_set(f, "has to be a string, or an array of {\"type\":\"text\",\"text\"}",
                        "messages[%zu].content", i);
    if (len <= CHAT_MESSAGE_BYTES) return true;
    flaw_set(f, "is longer than a message may be", "messages[%zu].content", i);
    f->code = WEIR_TOO_LARGE;
    return false;
}

static bool take_messages(const struct weir_json *body, struct chat_request *r, struct flaw *f)
{
    size_t n = 0, len = 0;
    r->messages = weir_json_get_str(body, "messages");
    const struct weir_json *last = body_check_messages(r->messages, is_content, &n, f);
    if (!last) return false;
    if (n > CHAT_MAX_MESSAGES) return flaw_set(f, "has more messages than a chat may", "messages");
    if (!body_is_users(last))
        return flaw_set(f, "has to be \"user\": the last message is the question",
                        "messages[%zu].role", n - 1);
    if (measure(weir_json_get_str(last, "content"), &len) && len > 0) return true;
    return flaw_set(f, "is empty", "messages[%zu].content", n - 1);
}

bool chat_body_read(const struct weir_json *body, bool is_direct, struct chat_request *r,
                    bool *is_streamed, struct flaw *flaw)
{
    return check_spelling(body, flaw) && take_agent(body, is_direct, r, flaw) &&
           take_names(body, r, flaw) && take_flags(body, r, is_streamed, flaw) &&
           take_messages(body, r, flaw);
}
