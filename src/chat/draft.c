/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a reply: what is new of the messages is told from what is stored, gets placeholders, and
 * goes into one commit with the conversation, the map, the reply and its run.
 *
 * How many replies an owner has in flight is not counted but seen, as turns do it: each has a
 * place, the document "chat_slot" OWNER/N. A conversation has one at a time.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "chat/chat_impl.h"

enum { INPUT_BYTES = 4096, NEW_BYTES = 2 << 20 /* of all new messages */ };

struct draft {
    char owner[CHAT_OWNER_BYTES];
    char agent[32];
    enum pii_action wish;
    bool shows_raw, has_sources;
    int64_t now_ms;
    struct chat_doc doc; /* of the conversation; empty: a new one */
    struct conversation conversation;
    struct guard *guard;
    uint64_t guard_version;
    struct weir_buf sealed;   /* the map, if it has changed */
    struct weir_buf bodies;   /* of the new messages, each a line */
    struct weir_buf text;     /* of one message */
    struct weir_buf redacted; /* the same */
    size_t ends[CHAT_MAX_MESSAGES];
    unsigned n_new, n_again; /* messages; again: that are stored already, and asked again */
    struct weir_buf input;
};

static struct draft *draft_new(const struct chat_request *r, int64_t now_ms)
{
    struct draft *d = mem_zalloc(sizeof *d);
    if (!d) return NULL;
    CHECK(r->owner.len > 0 && r->owner.len < sizeof d->owner);
    memcpy(d->owner, r->owner.ptr, r->owner.len);
    if (r->agent.len < sizeof d->agent) memcpy(d->agent, r->agent.ptr, r->agent.len);
    d->wish = r->wish;
    d->shows_raw = r->shows_raw;
    d->has_sources = r->has_sources;
    d->now_ms = now_ms;
    weir_buf_init(&d->sealed, CHAT_BODY_BYTES);
    weir_buf_init(&d->bodies, NEW_BYTES);
    weir_buf_init(&d->text, CHAT_MESSAGE_BYTES);
    weir_buf_init(&d->redacted, 2 * CHAT_MESSAGE_BYTES);
    weir_buf_init(&d->input, INPUT_BYTES);
    return d;
}

void chat_draft_fini(struct chat_draft *draft)
{
    struct draft *d = draft->impl;
    if (!d) return;
    chat_doc_fini(&d->doc);
    guard_free(d->guard);
    weir_buf_fini(&d->sealed);
    weir_buf_fini(&d->bodies);
    weir_buf_fini(&d->text);
    weir_buf_fini(&d->redacted);
    weir_buf_fini(&d->input);
    mem_free(d);
    draft->impl = NULL;
}

/* ---- the conversation ---- */

static enum weir_status find_or_make(struct chat_draft *draft, struct weir_slice wanted)
{
    struct draft *d = draft->impl;
    struct chats *c = draft->chats;
    enum weir_status st = WEIR_NOT_FOUND;
    if (wanted.len > 0) {
        CHECK(wanted.len < sizeof draft->conversation);
        memcpy(draft->conversation, wanted.ptr, wanted.len);
        st = conversation_find(c, weir_slice_of(d->owner), wanted, &d->doc, &d->conversation);
        /* Somebody else's, or one that is about to go. */
        if (st == WEIR_NOT_FOUND && d->doc.json) return WEIR_NOT_FOUND;
    } else {
        enum weir_status made = chats_next_id(c, "conv_", draft->conversation);
        if (made != WEIR_OK) return made;
    }
    if (st == WEIR_OK && d->conversation.is_closed) return WEIR_GONE;
    if (st != WEIR_NOT_FOUND) return st;
    d->conversation =
        (struct conversation){.id = weir_slice_of(draft->conversation), .created_ms = d->now_ms};
    return WEIR_OK;
}

/* ---- which messages are new ---- */

/* The given messages beside the stored ones. */
struct matching {
    struct draft *draft;
    const struct weir_json *next; /* of the given ones */
    bool is_same;
    const struct weir_json *last; /* of the given ones that are stored */
    bool is_open;                 /* and has no answer: neither one nor that it was not sent */
};

static bool is_user(const struct weir_json *message)
{
    return weir_slice_is(weir_json_text(weir_json_get_str(message, "role")), "user");
}

/* One that was cut, or not sent: not everybody repeats it. */
static bool may_be_missing(const struct weir_json *stored)
{
    return weir_json_type_of(weir_json_get_str(stored, "incomplete")) == WEIR_JSON_TRUE ||
           weir_json_type_of(weir_json_get_str(stored, "blocked")) == WEIR_JSON_TRUE;
}

/* Whether a given message is this stored one, with its values restored. */
static enum weir_status compare(struct draft *d, const struct weir_json *given,
                                const struct weir_json *stored, bool *is_same)
{
    struct weir_buf plain;
    weir_buf_init(&plain, CHAT_BODY_BYTES);
    values_restore_text(d->guard, RESTORE_TEXT,
                        weir_json_text(weir_json_get_str(stored, "content")), &plain);
    weir_buf_reset(&d->text);
    message_put_text(&d->text, weir_json_get_str(given, "content"));
    *is_same = slice_eq(weir_buf_slice(&plain), weir_buf_slice(&d->text)) &&
               slice_eq(weir_json_text(weir_json_get_str(given, "role")),
                        weir_json_text(weir_json_get_str(stored, "role")));
    enum weir_status st = weir_buf_status(&plain);
    if (st == WEIR_OK) st = weir_buf_status(&d->text);
    weir_buf_fini(&plain);
    return st;
}

static enum weir_status match(void *user, unsigned n, const struct weir_json *stored)
{
    struct matching *m = user;
    bool is_same = false;
    (void)n;
    if (!m->is_same) return WEIR_OK;
    enum weir_status st = WEIR_OK;
    if (m->next) st = compare(m->draft, m->next, stored, &is_same);
    if (st != WEIR_OK) return st;
    m->is_open = is_user(stored) && !may_be_missing(stored);
    if (is_same) {
        m->last = m->next;
        m->next = weir_json_next(m->next);
    } else m->is_same = may_be_missing(stored);
    return WEIR_OK;
}

/* The first of the given messages that is not stored yet. */
static enum weir_status find_new(struct chat_draft *draft, const struct weir_json *messages,
                                 const struct weir_json **first)
{
    struct draft *d = draft->impl;
    struct matching m = {.draft = d, .next = weir_json_first(messages), .is_same = true};
    *first = m.next;
    if (d->conversation.n_messages == 0) return WEIR_OK;
    enum weir_status st = messages_each(draft->chats->store, d->conversation.id, 0, match, &m);
    if (st != WEIR_OK || !m.is_same) return st;
    *first = m.next;
    /* Asked again: what has no answer gets one, what was not sent is looked at anew. */
    if (!m.next && m.is_open) d->n_again = 1;
    else if (!m.next && is_user(m.last)) *first = m.last;
    return WEIR_OK;
}

/* ---- storing them ---- */

static enum weir_status add_message(struct chat_draft *draft, const struct weir_json *message)
{
    struct draft *d = draft->impl;
    bool is_plain = chats_action(draft->chats, d->wish) == PII_OFF;
    if (d->conversation.n_messages + d->n_new >= CHAT_MAX_MESSAGES) return WEIR_LIMIT;
    weir_buf_reset(&d->text);
    weir_buf_reset(&d->redacted);
    message_put_text(&d->text, weir_json_get_str(message, "content"));
    enum weir_status st = weir_buf_status(&d->text);
    if (st == WEIR_OK && !is_plain)
        st = guard_redact_text(d->guard, weir_buf_slice(&d->text), &d->redacted, NULL);
    if (st == WEIR_OK) st = weir_buf_status(&d->redacted);
    if (st != WEIR_OK) return st;
    weir_json_put_begin_object(&d->bodies);
    weir_json_put_key(&d->bodies, "role");
    weir_json_put_value(&d->bodies, weir_json_get_str(message, "role"));
    weir_json_put_key(&d->bodies, "content");
    weir_json_put_string(&d->bodies, weir_buf_slice(is_plain ? &d->text : &d->redacted));
    weir_json_put_key(&d->bodies, "at");
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, d->now_ms);
    weir_json_put_str(&d->bodies, at);
    weir_json_put_end_object(&d->bodies);
    d->ends[d->n_new++] = d->bodies.len;
    weir_buf_append_char(&d->bodies, '\n');
    return weir_buf_status(&d->bodies);
}

static enum weir_status add_messages(struct chat_draft *draft, const struct weir_json *messages)
{
    const struct weir_json *m, *last = NULL;
    enum weir_status st = find_new(draft, messages, &m);
    for (; st == WEIR_OK && m; m = weir_json_next(m)) {
        st = add_message(draft, m);
        last = m;
    }
    if (st != WEIR_OK) return st;
    /* There is something to reply to, or there is nothing to do. */
    bool is_question = is_user(last) || ((struct draft *)draft->impl)->n_again > 0;
    return is_question ? WEIR_OK : WEIR_BAD_FIELD;
}

static enum weir_status seal_map(struct chat_draft *draft)
{
    struct draft *d = draft->impl;
    if (guard_version(d->guard) == d->guard_version) return WEIR_OK;
    enum weir_status st = guard_seal(d->guard, draft->chats->options.vault,
                                     weir_slice_of(draft->conversation), &d->sealed);
    return st == WEIR_OK ? weir_buf_status(&d->sealed) : st;
}

enum weir_status chat_draft_init(struct chat_draft *draft, struct chats *c,
                                 const struct chat_request *r)
{
    *draft = (struct chat_draft){.chats = c};
    if (r->agent.len > 0 && !weir_slice_is(r->agent, "asst_default")) return WEIR_NOT_FOUND;
    struct draft *d = draft->impl = draft_new(r, clock_wall_ms(c->options.clock));
    if (!d) return WEIR_NOMEM;
    enum weir_status st = chats_next_id(c, "msg_", draft->id);
    if (st == WEIR_OK) st = find_or_make(draft, r->conversation);
    if (st == WEIR_OK)
        st = values_load_for(c, weir_slice_of(draft->conversation), d->wish, &d->guard);
    if (st != WEIR_OK) return st;
    d->guard_version = guard_version(d->guard);
    st = add_messages(draft, r->messages);
    return st == WEIR_OK ? seal_map(draft) : st;
}

/* ---- the commit ---- */

/* A free place for one more reply; WEIR_CONCURRENCY. */
static enum weir_status find_slot(const struct chat_draft *draft, struct commit_view *view,
                                  unsigned *slot)
{
    char id[CHAT_SLOT_BYTES];
    const struct draft *d = draft->impl;
    unsigned n_taken = 0;
    *slot = 0;
    for (unsigned i = 1; i <= draft->chats->n_slots; i++) {
        struct doc doc;
        enum weir_status st =
            commit_view_doc(view, chat_slot_key(id, weir_slice_of(d->owner), i), &doc);
        if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
        if (st == WEIR_OK) n_taken++;
        else if (*slot == 0) *slot = i;
    }
    return n_taken < draft->chats->options.user_replies ? WEIR_OK : WEIR_CONCURRENCY;
}

static enum weir_status check_conversation(const struct chat_draft *draft, struct commit_view *view)
{
    const struct draft *d = draft->impl;
    struct doc doc;
    enum weir_status st =
        commit_view_doc(view, conversation_key(weir_slice_of(draft->conversation)), &doc);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    int64_t version = st == WEIR_OK ? doc.version : 0;
    bool is_free = version == d->doc.doc.version && d->conversation.running.len == 0;
    return is_free ? WEIR_OK : WEIR_CONFLICT;
}

static void put_input(struct weir_buf *out, const struct chat_draft *draft, unsigned slot)
{
    const struct draft *d = draft->impl;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "conversation");
    weir_json_put_str(out, draft->conversation);
    weir_json_put_key(out, "agent");
    weir_json_put_str(out, d->agent);
    weir_json_put_key(out, "first");
    weir_json_put_uint(out, d->conversation.n_messages - d->n_again);
    weir_json_put_key(out, "n");
    weir_json_put_uint(out, d->n_new + d->n_again);
    weir_json_put_key(out, "wish");
    weir_json_put_str(out, pii_action_name(d->wish));
    weir_json_put_key(out, "showsRaw");
    weir_json_put_bool(out, d->shows_raw);
    weir_json_put_key(out, "hasSources");
    weir_json_put_bool(out, d->has_sources);
    weir_json_put_key(out, "slot");
    weir_json_put_uint(out, slot);
    weir_json_put_key(out, "createdMs");
    weir_json_put_int(out, d->now_ms);
    weir_json_put_end_object(out);
}

static void add_docs(const struct chat_draft *draft, struct commit *c)
{
    const struct draft *d = draft->impl;
    char id[MESSAGE_ID_BYTES];
    struct weir_slice owner = weir_slice_of(d->owner);
    size_t at = 0;
    for (unsigned i = 0; i < d->n_new; i++) {
        commit_put(c, message_key(id, d->conversation.id, d->conversation.n_messages + i),
                   DOC_MUST_BE_NEW, owner, slice_of(d->bodies.ptr + at, d->ends[i] - at));
        at = d->ends[i] + 1;
    }
    if (d->sealed.len > 0)
        commit_put(c, map_key(d->conversation.id), DOC_ANY_VERSION, owner,
                   weir_buf_slice(&d->sealed));
}

static enum weir_status add_conversation(const struct chat_draft *draft, struct commit *c)
{
    const struct draft *d = draft->impl;
    struct weir_buf body;
    char id[MADE_ID_BYTES];
    struct conversation v = d->conversation;
    struct weir_slice owner = weir_slice_of(d->owner);
    v.agent = weir_slice_of(d->agent);
    v.updated_ms = d->now_ms;
    v.n_messages += d->n_new;
    v.newest = v.running = weir_slice_of(draft->id);
    weir_buf_init(&body, INPUT_BYTES);
    conversation_put(&body, &v);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK)
        commit_put(c, conversation_key(v.id), d->doc.doc.version, owner, weir_buf_slice(&body));
    if (st == WEIR_OK && d->doc.doc.version == 0)
        commit_put(c, made_key(id, &v), DOC_MUST_BE_NEW, owner, SLICE("{}"));
    weir_buf_fini(&body);
    return st;
}

static enum weir_status add_run(const struct chat_draft *draft, struct commit *c)
{
    const struct draft *d = draft->impl;
    char log[CHAT_LOG_BYTES];
    struct weir_slice id = weir_slice_of(draft->id);
    struct flow_new_run run = {.workflow = &draft->chats->workflow,
                               .id = id,
                               .owner = weir_slice_of(d->owner),
                               .log = chat_log(log, id),
                               .input = weir_buf_slice(&d->input)};
    return flow_add_run(c, &run, d->now_ms);
}

enum weir_status chat_draft_decide(struct chat_draft *draft, struct commit_view *view,
                                   struct commit *c)
{
    struct draft *d = draft->impl;
    char slot_id[CHAT_SLOT_BYTES], belongs_id[BELONGS_ID_BYTES], body[256];
    struct weir_slice id = weir_slice_of(draft->id), owner = weir_slice_of(d->owner);
    unsigned slot;
    enum weir_status st = check_conversation(draft, view);
    if (st == WEIR_OK) st = find_slot(draft, view, &slot);
    if (st != WEIR_OK) return st;
    weir_buf_reset(&d->input);
    put_input(&d->input, draft, slot);
    st = weir_buf_status(&d->input);
    if (st == WEIR_OK) st = add_conversation(draft, c);
    if (st != WEIR_OK) return st;
    add_docs(draft, c);
    int len = snprintf(body, sizeof body,
                       "{\"conversation\":\"%s\",\"state\":\"running\",\"createdMs\":%lld}",
                       draft->conversation, (long long)d->now_ms);
    commit_put(c, reply_key(id), DOC_MUST_BE_NEW, owner, slice_of(body, (size_t)len));
    commit_put(c, chat_slot_key(slot_id, owner, slot), DOC_MUST_BE_NEW, owner, id);
    commit_put(c, belongs_key(belongs_id, d->conversation.id, id), DOC_MUST_BE_NEW, owner,
               SLICE("{}"));
    return add_run(draft, c);
}
