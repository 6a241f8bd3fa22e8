/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/body.h"

#include <stdarg.h>
#include <stdio.h>

bool flaw_set(struct flaw *f, const char *text, const char *path, ...)
{
    va_list args;
    va_start(args, path);
    vsnprintf(f->path, sizeof f->path, path, args);
    va_end(args);
    f->code = WEIR_BAD_FIELD;
    f->text = text;
    return false;
}

bool body_take_flag(const struct weir_json *object, const char *key, bool *flag)
{
    const struct weir_json *v = weir_json_get_str(object, key);
    enum weir_json_type type = weir_json_type_of(v);
    if (!v) return true;
    *flag = type == WEIR_JSON_TRUE;
    return type == WEIR_JSON_TRUE || type == WEIR_JSON_FALSE;
}

static bool is_role(const struct weir_json *message, const char *name)
{
    const struct weir_json *role = weir_json_get_str(message, "role");
    return weir_json_type_of(role) == WEIR_JSON_STRING && weir_slice_is(weir_json_text(role), name);
}

bool body_is_users(const struct weir_json *message)
{
    return is_role(message, "user");
}

static bool check_message(const struct weir_json *m, body_content_fn is_content, size_t i,
                          struct flaw *f)
{
    if (weir_json_type_of(m) != WEIR_JSON_OBJECT)
        return flaw_set(f, "has to be an object with role and content", "messages[%zu]", i);
    if (!body_is_users(m) && !is_role(m, "assistant"))
        return flaw_set(f, "has to be \"user\" or \"assistant\"", "messages[%zu].role", i);
    return is_content(weir_json_get_str(m, "content"), i, f);
}

const struct weir_json *body_check_messages(const struct weir_json *messages,
                                            body_content_fn is_content, size_t *n, struct flaw *f)
{
    const struct weir_json *last = NULL;
    *n = 0;
    if (weir_json_type_of(messages) != WEIR_JSON_ARRAY) {
        flaw_set(f, "has to be an array of messages", "messages");
        return NULL;
    }
    for (const struct weir_json *m = weir_json_first(messages); m; m = weir_json_next(m)) {
        if (!check_message(m, is_content, (*n)++, f)) return NULL;
        last = m;
    }
    if (!last) flaw_set(f, "has to have one message at least", "messages");
    return last;
}
