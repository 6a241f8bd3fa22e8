/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns that are the test's own, for what is said of all turns: they begin and end with the events
 * of real ones, and in between they do nothing, or wait until they are let go.
 */
#pragma once

#include "desk.h"

enum { PLAY_HELD = 64 };

static struct {
    pthread_mutex_t lock;
    bool holds; /* turns wait */
    struct flow_step *held[PLAY_HELD];
    unsigned n_held;
    atomic_uint n_begun, n_ended;
} play = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void play_end(struct flow_step *s)
{
    if (flow_is_aborted(s))
        flow_fail(s, &(struct flow_failure){.code = WEIR_CANCELLED, .is_final = true});
    else flow_done(s, SLICE("{}"));
}

/* Lets a turn go; NULL: one that is held. False: there is none. */
static inline bool play_let_go(struct flow_step *s)
{
    pthread_mutex_lock(&play.lock);
    struct flow_step *found = NULL;
    for (unsigned i = 0; i < play.n_held && !found; i++) {
        if (s && play.held[i] != s) continue;
        found = play.held[i];
        play.held[i] = play.held[--play.n_held];
    }
    pthread_mutex_unlock(&play.lock);
    if (found) flow_resume(found, play_end);
    return found != NULL;
}

static inline void play_abort(void *step)
{
    (void)play_let_go(step);
}

static inline void play_turn(struct flow_step *s)
{
    pthread_mutex_lock(&play.lock);
    bool holds = play.holds && play.n_held < PLAY_HELD;
    if (holds) {
        flow_wait(s, play_abort, s);
        play.held[play.n_held++] = s;
    }
    pthread_mutex_unlock(&play.lock);
    if (!holds) play_end(s);
}

static inline unsigned play_n_held(void)
{
    pthread_mutex_lock(&play.lock);
    unsigned n = play.n_held;
    pthread_mutex_unlock(&play.lock);
    return n;
}

static inline void play_set(bool holds)
{
    pthread_mutex_lock(&play.lock);
    play.holds = holds;
    pthread_mutex_unlock(&play.lock);
}

static inline void play_put_text(struct weir_buf *out, const char *head, struct weir_slice text,
                                 const char *tail)
{
    struct weir_buf quoted;
    weir_buf_init(&quoted, 2 << 20);
    weir_json_put_string(&quoted, text);
    if (weir_buf_status(&quoted) != WEIR_OK) out->status = WEIR_NOMEM;
    weir_buf_append_str(out, head);
    weir_buf_append_slice(out, weir_buf_slice(&quoted));
    weir_buf_append_str(out, tail);
    weir_buf_fini(&quoted);
}

static inline void play_begin_hook(struct flow_step *s)
{
    char key[SESSION_MESSAGE_BYTES];
    struct weir_buf event, message;
    const struct weir_json *input = flow_input(s);
    if (!input) return; /* it is called again */
    struct weir_slice text = weir_json_text(weir_json_get_str(input, "text"));
    struct weir_slice session = weir_json_text(weir_json_get_str(input, "session"));
    weir_buf_init(&event, 2 << 20);
    weir_buf_init(&message, 2 << 20);
    play_put_text(&event, "{\"type\":\"run_start\",\"text\":", text, "}");
    play_put_text(&message, "{\"role\":\"user\",\"content\":", text,
                  ",\"at\":\"2026-01-01T00:00:00.000Z\"}");
    enum weir_status st = weir_buf_status(&event);
    if (st == WEIR_OK) st = weir_buf_status(&message);
    if (st == WEIR_OK) {
        flow_emit(s, NULL, weir_buf_slice(&event));
        flow_put(s, session_message_key(key, session, flow_id(s), 0), DOC_ANY_VERSION,
                 weir_buf_slice(&message));
        atomic_fetch_add(&play.n_begun, 1);
    } else flow_hook_fail(s, st);
    weir_buf_fini(&event);
    weir_buf_fini(&message);
}

static inline struct weir_slice play_state(const struct flow_end *end)
{
    if (!end->failure) return SLICE("done");
    return end->failure->code == WEIR_CANCELLED ? SLICE("aborted") : SLICE("error");
}

static inline void play_end_hook(struct flow_step *s, const struct flow_end *end)
{
    struct session_doc doc;
    struct session_turn t;
    struct weir_buf body;
    weir_buf_init(&body, 4 << 20);
    enum weir_status st = session_doc_get(flow_store(s), session_turn_key(flow_id(s)), &doc);
    if (st == WEIR_OK) {
        T_OK(session_turn_read(doc.json, &t));
        t.state = play_state(end);
        t.usage =
            (struct session_usage){.n_input = 10, .n_output = 5, .n_calls = 1, .cost_usd = 0.25};
        t.provider = SLICE("play");
        t.model = SLICE("play-1");
        session_turn_put(&body, &t);
        st = weir_buf_status(&body);
    }
    if (st == WEIR_OK) {
        flow_put(s, session_turn_key(flow_id(s)), DOC_ANY_VERSION, weir_buf_slice(&body));
        flow_emit(s, NULL,
                  end->failure ? SLICE("{\"type\":\"error\",\"error\":\"x\",\"code\":\"x\"}")
                               : SLICE("{\"type\":\"done\",\"text\":\"x\",\"turnCount\":1}"));
        atomic_fetch_add(&play.n_ended, 1);
    } else flow_hook_fail(s, st);
    session_doc_fini(&doc);
    weir_buf_fini(&body);
}

static const struct step play_steps[1] = {{"turn", play_turn, NULL, 1, 0, 0}};

static inline void play_tune(struct sessions *s)
{
    s->workflow.steps = play_steps;
    s->workflow.on_begin = play_begin_hook;
    s->workflow.on_end = play_end_hook;
}

static inline void play_open(bool holds)
{
    play_set(holds);
    atomic_store(&play.n_begun, 0);
    atomic_store(&play.n_ended, 0);
    desk_tune = play_tune;
    desk_open();
}

/* As a process that goes down in an orderly way. Turns that are held do not end by themselves. */
static inline void play_stop(void)
{
    unsigned grace_ms = desk_grace_ms;
    if (play_n_held() > 0) desk_grace_ms = 200;
    desk_stop();
    desk_grace_ms = grace_ms;
    pthread_mutex_lock(&play.lock);
    play.n_held = 0;
    pthread_mutex_unlock(&play.lock);
}
