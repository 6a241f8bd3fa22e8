/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /api/chat/dlp-decision: what the user wants done with what is private. The body is strict,
 * for whoever says "false" and means false would have something remembered.
 *
 * Which of the four it is that there is nothing to decide (unknown, expired, used, somebody else's)
 * is nobody's business: all of them take the way through the committer, and are answered alike.
 */
#include "base/slice.h"
#include "serve/chat_impl.h"

enum { BODY_VALUES_BYTES = 1 << 20, COMMIT_BYTES = 4096 };

struct deciding {
    struct decision_answer answer;
    char id[DECISION_ID_BYTES];
    char owner[CHAT_OWNER_BYTES];
};

/* An id that nobody has, for those that cannot be one. */
static const char no_id[DECISION_ID_BYTES] = "dlp_00000000000000000000000000";

static bool take_choice(const struct weir_json *v, enum decision_choice *out)
{
    static const struct {
        const char *name;
        enum decision_choice choice;
    } choices[] = {
        {"redact", DECISION_REDACT}, {"allow", DECISION_ALLOW}, {"block", DECISION_BLOCK}};
    if (weir_json_type_of(v) != WEIR_JSON_STRING) return false;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (!weir_slice_is(weir_json_text(v), choices[i].name)) continue;
        *out = choices[i].choice;
        return true;
    }
    return false;
}

/* NULL, or what is wrong. */
static const char *read_body(const struct weir_json *body, struct deciding *d)
{
    const struct weir_json *id = weir_json_get_str(body, "decisionId");
    struct weir_slice text = weir_json_text(id);
    size_t n_known = 2;
    if (weir_json_type_of(id) != WEIR_JSON_STRING) return "decisionId has to be a string";
    if (!take_choice(weir_json_get_str(body, "choice"), &d->answer.choice))
        return "choice has to be \"redact\", \"block\" or \"allow\"";
    if (!body_take_flag(body, "rememberForConversation", &d->answer.is_remembered))
        return "rememberForConversation has to be true or false";
    if (weir_json_get_str(body, "rememberForConversation")) n_known++;
    if (weir_json_count(body) != n_known)
        return "there are decisionId, choice and rememberForConversation, and no other members";
    bool can_be = text.len == DECISION_ID_BYTES - 1;
    memcpy(d->id, can_be ? text.ptr : no_id, DECISION_ID_BYTES - 1);
    return NULL;
}

static enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    struct deciding *d = user;
    return chats_decide(&d->answer, view, c);
}

static void was_committed(struct exchange *ex, const struct commit_result *result)
{
    const struct deciding *d = exchange_data(ex);
    if (result->status == WEIR_NOT_FOUND) {
        exchange_error(ex, WEIR_NOT_FOUND, "there is no such decision to be taken");
        return;
    }
    if (result->status != WEIR_OK) {
        resource_store_error(ex, result->status);
        return;
    }
    decision_written(d->answer.choice);
    chats_decided(server_chats(exchange_server(ex)), weir_slice_of(d->answer.message));
    exchange_json(ex, 200, SLICE("{\"ok\":true}"));
}

static void commit(struct exchange *ex, struct deciding *d)
{
    struct weir_slice owner = resource_owner(ex);
    struct commit *c = commit_new(COMMIT_BYTES);
    if (!c) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    memcpy(d->owner, owner.ptr, owner.len);
    d->answer.owner = weir_slice_of(d->owner);
    d->answer.id = weir_slice_of(d->id);
    d->answer.now_ms = exchange_wall_ms(ex);
    exchange_set_data(ex, d);
    commit_decide(c, false, decide, d);
    exchange_commit(ex, c, was_committed);
}

void chat_decision_post(struct exchange *ex)
{
    const char *why = NULL;
    if (!resource_is_json(ex)) {
        exchange_error(ex, WEIR_BAD_TYPE, "the body has to be application/json");
        return;
    }
    struct deciding *d = exchange_alloc(ex, sizeof *d);
    struct weir_json_doc *doc = weir_json_doc_new(BODY_VALUES_BYTES);
    const struct weir_json *body = NULL;
    if (!d || !doc) {
        resource_store_error(ex, WEIR_NOMEM);
    } else {
        memset(d, 0, sizeof *d);
        body = resource_read_object(ex, doc);
        if (body) why = read_body(body, d);
    }
    if (why) exchange_error(ex, WEIR_BAD_FIELD, "%s", why);
    else if (body) commit(ex, d);
    weir_json_doc_free(doc);
}
