/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person says while a turn is under way: documents "session_steer", numbered from 1. A pass
 * takes what is new before it asks in a round, and that round is written into the document, so that
 * every later pass tells it at the same place. A round whose answer is recorded, or whose request
 * has left, takes nothing more: nobody would have read it. Nor does one in which an answer that was
 * cut goes on: that is finished first.
 *
 * Each becomes a message of the session when it is taken. The document is what counts: a message
 * that a crash has cut off from it is written again.
 */
#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "session/turn_impl.h"

void steers_fini(struct steers *s)
{
    for (unsigned i = 0; i < s->n; i++) mem_free((char *)(uintptr_t)s->list[i].text.ptr);
    s->n = 0;
}

static enum weir_status add(struct steers *s, unsigned round, struct weir_slice text)
{
    char *copy = mem_alloc(text.len + 1);
    if (!copy) return WEIR_NOMEM;
    if (text.len > 0) memcpy(copy, text.ptr, text.len);
    s->list[s->n].round = round;
    s->list[s->n++].text = slice_of(copy, text.len);
    return WEIR_OK;
}

/* The one behind those that were taken; WEIR_NOT_FOUND. */
static enum weir_status next_steer(const struct turn_pass *p, struct session_doc *doc)
{
    char id[SESSION_STEER_BYTES];
    const struct steers *s = &p->attempt->steers;
    *doc = (struct session_doc){.memory = NULL};
    if (s->n == SESSION_STEERS) return WEIR_NOT_FOUND;
    return session_doc_get(p->sessions->store, session_steer_key(id, pass_turn(p), s->n + 1), doc);
}

/* Its message, and word of that. */
static enum weir_status persist(struct turn_pass *p, unsigned n, struct weir_slice text)
{
    char id[SESSION_MESSAGE_BYTES], message_id[SESSION_MESSAGE_ID_BYTES];
    struct weir_buf body, json;
    session_message_id(message_id, pass_turn(p), n);
    if (shown_has_message(&p->attempt->shown, message_id)) return WEIR_OK;
    weir_buf_init(&body, 8 * SESSION_TEXT_BYTES);
    weir_buf_init(&json, SESSION_EVENT_BYTES);
    finish_put_message(&body, "user", text, sessions_now(p->sessions));
    finish_put_persisted(&json, message_id, "user");
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) st = weir_buf_status(&json);
    if (st == WEIR_OK) st = shown_add(&p->attempt->shown, weir_buf_slice(&json));
    if (st == WEIR_OK)
        flow_save(p->step,
                  &(struct flow_save){.key = session_message_key(id, p->session, pass_turn(p), n),
                                      .body = weir_buf_slice(&body),
                                      .json = weir_buf_slice(&json)});
    weir_buf_fini(&body);
    weir_buf_fini(&json);
    return st;
}

enum weir_status steers_load(struct turn_pass *p)
{
    struct steers *s = &p->attempt->steers;
    enum weir_status st = WEIR_OK;
    if (s->is_loaded) return WEIR_OK;
    for (;;) {
        struct session_doc doc;
        int64_t round;
        st = next_steer(p, &doc);
        bool is_taken = st == WEIR_OK &&
                        weir_json_int64(weir_json_get_str(doc.json, "round"), &round) && round >= 0;
        struct weir_slice text = weir_json_text(weir_json_get_str(doc.json, "text"));
        if (is_taken) st = add(s, (unsigned)round, text);
        if (is_taken && st == WEIR_OK) st = persist(p, s->n, text);
        session_doc_fini(&doc);
        if (!is_taken || st != WEIR_OK) break;
    }
    if (st == WEIR_NOT_FOUND) st = WEIR_OK;
    s->is_loaded = st == WEIR_OK;
    return st;
}

static enum weir_status take(struct turn_pass *p, const struct weir_json *json)
{
    char id[SESSION_STEER_BYTES];
    struct steers *s = &p->attempt->steers;
    struct weir_slice text = weir_json_text(weir_json_get_str(json, "text"));
    struct weir_buf body;
    weir_buf_init(&body, 8 * SESSION_TEXT_BYTES);
    weir_json_put_begin_object(&body);
    for (const struct weir_json *m = weir_json_first(json); m; m = weir_json_next(m)) {
        weir_json_put_key_slice(&body, weir_json_key(m));
        weir_json_put_value(&body, m);
    }
    weir_json_put_key(&body, "round");
    weir_json_put_uint(&body, p->round);
    weir_json_put_end_object(&body);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) st = add(s, p->round, text);
    if (st == WEIR_OK) {
        flow_save(p->step, &(struct flow_save){.key = session_steer_key(id, pass_turn(p), s->n),
                                               .body = weir_buf_slice(&body)});
        st = persist(p, s->n, text);
    }
    weir_buf_fini(&body);
    return st;
}

/*
 * Whether an earlier process, or pass, has asked in this round, or the model only goes on with what
 * it was saying: WEIR_OK; else WEIR_NOT_FOUND.
 */
static enum weir_status was_asked(const struct turn_pass *p)
{
    struct call_found *f = NULL;
    bool was_cut = p->is_going_on || turn_text_shown(&p->attempt->asker).len > 0;
    if (was_cut || p->round < p->attempt->n_asked) return WEIR_OK;
    struct call_place at = {.step = flow_number(p->step), .part = 0, .number = p->round};
    enum weir_status st = call_find(p->sessions->store, pass_turn(p), at, &f);
    call_found_free(f);
    return st;
}

static enum weir_status take_new(struct turn_pass *p)
{
    enum weir_status st = was_asked(p);
    if (st != WEIR_NOT_FOUND) return st;
    if (p->round >= TURN_STEER_ROUNDS) return WEIR_OK;
    do {
        struct session_doc doc;
        st = next_steer(p, &doc);
        if (st == WEIR_OK) st = take(p, doc.json);
        session_doc_fini(&doc);
    } while (st == WEIR_OK);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

enum weir_status steers_take(struct turn_pass *p)
{
    const struct steers *s = &p->attempt->steers;
    enum weir_status st = take_new(p);
    for (unsigned i = 0; i < s->n; i++)
        if (s->list[i].round == p->round) model_message_put(&p->messages, "user", s->list[i].text);
    return st == WEIR_OK ? weir_buf_status(&p->messages) : st;
}

enum weir_status steers_next(struct turn_pass *p, unsigned i, struct weir_slice *text)
{
    const struct steers *s = &p->attempt->steers;
    struct session_doc doc;
    enum weir_status st = WEIR_OK;
    if (i == s->n) {
        st = next_steer(p, &doc);
        if (st == WEIR_OK) st = take(p, doc.json);
        session_doc_fini(&doc);
    }
    if (st == WEIR_OK) *text = s->list[i].text;
    return st;
}

enum weir_status steers_are_left(struct turn_pass *p, bool *are)
{
    const struct steers *s = &p->attempt->steers;
    struct session_doc doc;
    *are = false;
    for (unsigned i = 0; i < s->n; i++) *are = *are || s->list[i].round > p->round;
    if (*are || p->round + 1 >= TURN_STEER_ROUNDS) return WEIR_OK;
    enum weir_status st = next_steer(p, &doc);
    *are = st == WEIR_OK;
    session_doc_fini(&doc);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}
