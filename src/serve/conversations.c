/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/conversations: what was said. Looking at one reads all its messages, and deleting one ends
 * the reply that is under way, so both have a thread of their own.
 */
#include "base/slice.h"
#include "serve/chat_impl.h"
#include "serve/documents.h"

enum {
    ANSWER_BYTES = 64 << 20,
    CURSOR_BYTES = CHAT_CONVERSATION_BYTES + 24, /* when one was made, and its id */
};

struct asked;
typedef enum weir_status (*ask_fn)(struct asked *a);

/* A question about conversations. In the exchange's memory. */
struct asked {
    struct chats *chats;
    char owner[CHAT_OWNER_BYTES];
    char id[CURSOR_BYTES]; /* of a list: the last one before */
    uint64_t limit;
    ask_fn ask;
    void (*refuse)(struct exchange *ex); /* what is not there */
    enum weir_status status;
    struct weir_buf json; /* empty: there is nothing to say */
};

static void refuse_unknown(struct exchange *ex)
{
    exchange_error(ex, WEIR_NOT_FOUND, "there is no such conversation");
}

static void refuse_decision(struct exchange *ex)
{
    exchange_error(ex, WEIR_NOT_FOUND, "there is no such decision to be taken");
}

/* In a thread of its own. */
static void run(void *user)
{
    struct asked *a = user;
    weir_buf_init(&a->json, ANSWER_BYTES);
    a->status = a->ask(a);
    if (a->status == WEIR_OK) a->status = weir_buf_status(&a->json);
}

static void answer(struct exchange *ex, void *user)
{
    struct asked *a = user;
    struct weir_buf json = a->json; /* `a` may be gone with the answer */
    if (a->status == WEIR_NOT_FOUND) a->refuse(ex);
    else if (a->status != WEIR_OK) resource_store_error(ex, a->status);
    else if (json.len > 0) exchange_json(ex, 200, weir_buf_slice(&json));
    else exchange_empty(ex, 204);
    weir_buf_fini(&json);
}

/* NULL when that was answered with an error. */
static struct asked *asked_new(struct exchange *ex, ask_fn ask)
{
    struct weir_slice owner = resource_owner(ex);
    struct asked *a = exchange_alloc(ex, sizeof *a);
    if (!a) {
        resource_store_error(ex, WEIR_NOMEM);
        return NULL;
    }
    *a = (struct asked){
        .chats = server_chats(exchange_server(ex)), .ask = ask, .refuse = refuse_unknown};
    memcpy(a->owner, owner.ptr, owner.len);
    return a;
}

/* About the one that the path names. */
static void ask_one(struct exchange *ex, ask_fn ask)
{
    struct weir_slice id = exchange_param(ex, 0);
    if (!chat_is_conversation(id)) {
        refuse_unknown(ex);
        return;
    }
    struct asked *a = asked_new(ex, ask);
    if (!a) return;
    memcpy(a->id, id.ptr, id.len);
    resource_work(ex, run, answer, a);
}

static enum weir_status get(struct asked *a)
{
    return chats_conversation(a->chats, weir_slice_of(a->owner), weir_slice_of(a->id), &a->json);
}

static enum weir_status remove_all(struct asked *a)
{
    return chats_delete(a->chats, weir_slice_of(a->owner), weir_slice_of(a->id));
}

static enum weir_status cancel(struct asked *a)
{
    return chats_cancel_reply(a->chats, weir_slice_of(a->owner), weir_slice_of(a->id));
}

static enum weir_status remove_map(struct asked *a)
{
    return chats_delete_map(a->chats, weir_slice_of(a->owner), weir_slice_of(a->id));
}

static enum weir_status list(struct asked *a)
{
    return chats_list(a->chats, weir_slice_of(a->owner), weir_slice_of(a->id), a->limit, &a->json);
}

void conversations_get(struct exchange *ex)
{
    ask_one(ex, get);
}

void conversations_delete(struct exchange *ex)
{
    ask_one(ex, remove_all);
}

void conversations_cancel(struct exchange *ex)
{
    ask_one(ex, cancel);
}

void conversations_delete_map(struct exchange *ex)
{
    ask_one(ex, remove_map);
}

/* ---- what such a conversation asks ---- */

static enum weir_status question(struct asked *a)
{
    return chats_question(a->chats, weir_slice_of(a->owner), weir_slice_of(a->id), &a->json);
}

void chat_decision_get(struct exchange *ex)
{
    struct weir_slice id = exchange_param(ex, 0);
    struct asked *a = asked_new(ex, question);
    if (!a) return;
    a->refuse = refuse_decision;
    if (id.len < sizeof a->id) memcpy(a->id, id.ptr, id.len);
    resource_work(ex, run, answer, a);
}

/* ---- lists ---- */

/* Whether a page could have said so. */
static bool is_cursor(struct weir_slice text)
{
    uint64_t made_ms;
    const char *slash = text.len > 0 ? memchr(text.ptr, '/', text.len) : NULL;
    size_t len = slash ? (size_t)(slash - text.ptr) : 0;
    return slash && resource_parse_id(slice_of(text.ptr, len), &made_ms) &&
           chat_is_conversation(slice_from(text, len + 1));
}

void conversations_list(struct exchange *ex)
{
    struct weir_slice after;
    uint64_t limit;
    if (!document_take_limit(ex, &limit)) return;
    struct asked *a = asked_new(ex, list);
    if (!a) return;
    a->limit = limit;
    if (exchange_query(ex, "cursor", &after)) {
        if (!is_cursor(after)) {
            exchange_error(ex, WEIR_BAD_FIELD, "cursor is what next of a page says");
            return;
        }
        memcpy(a->id, after.ptr, after.len);
    }
    resource_work(ex, run, answer, a);
}
