/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model that is the test's own. The k-th call of a test is answered as its plan says, by a
 * thread; a call that is held waits until it is aborted or let go.
 */
#pragma once

#include "desk.h"

enum { STAGE_CALLS = 128, STAGE_DELTAS = 8, STAGE_TEXT_BYTES = 4 << 20 };

struct models {
    int unused;
};

struct plan {
    enum weir_status status;
    bool is_final, is_held;
    const char *deltas[STAGE_DELTAS]; /* one that begins with '~' is a thought */
    const char *tools;                /* JSON blocks behind the text; NULL: none */
    enum model_stop stop;
    double usd;
};

/* Shared with processes that are killed. */
struct scene {
    atomic_uint n_calls, n_aborted, n_held;
    struct plan plans[STAGE_CALLS];
    char asked[STAGE_CALLS][16 << 10]; /* the messages of each call */
    char system[64 << 10];
    bool had_tools[STAGE_CALLS];
};
static struct scene *stage;
static void (*on_call)(unsigned k); /* makes the plan of a call; NULL: it is there */
static struct models the_models;
static struct model_call open_calls[STAGE_CALLS];

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned calls[2 * STAGE_CALLS];
    bool are_aborted[2 * STAGE_CALLS];
    unsigned n, n_done;
    bool must_stop;
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

bool models_has(const struct models *m, enum model_role role)
{
    (void)m;
    return role == MODEL_MAIN;
}

bool models_is_external(const struct models *m, enum model_role role)
{
    (void)m;
    (void)role;
    return true;
}

void models_player(const struct models *m, enum model_role role, const char **provider,
                   const char **model)
{
    (void)m;
    (void)role;
    *provider = "fake";
    *model = "parrot";
}

static inline void tell_deltas(unsigned k)
{
    const struct plan *p = &stage->plans[k];
    for (int i = 0; i < STAGE_DELTAS && p->deltas[i]; i++) {
        bool is_thought = p->deltas[i][0] == '~';
        open_calls[k].on_delta(open_calls[k].user, is_thought ? MODEL_THINKING : MODEL_TEXT,
                               weir_slice_of(p->deltas[i] + is_thought));
    }
}

/* Text of one kind that follows itself is one block. */
static inline void put_content(struct weir_buf *out, const struct plan *p)
{
    weir_json_put_begin_array(out);
    for (int i = 0; i < STAGE_DELTAS && p->deltas[i];) {
        struct weir_buf text;
        bool is_thought = p->deltas[i][0] == '~';
        const char *key = is_thought ? "thinking" : "text";
        weir_buf_init(&text, STAGE_TEXT_BYTES);
        for (; i < STAGE_DELTAS && p->deltas[i] && (p->deltas[i][0] == '~') == is_thought; i++)
            weir_buf_append_str(&text, p->deltas[i] + is_thought);
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "type");
        weir_json_put_str(out, key);
        weir_json_put_key(out, key);
        weir_json_put_string(out, weir_buf_slice(&text));
        weir_json_put_end_object(out);
        weir_buf_fini(&text);
    }
    if (p->tools) {
        if (p->deltas[0]) weir_buf_append_char(out, ',');
        weir_buf_append_str(out, p->tools);
    }
    weir_json_put_end_array(out);
}

static inline void answer_call(unsigned k, bool is_aborted)
{
    const struct plan *p = &stage->plans[k];
    struct weir_buf content;
    weir_buf_init(&content, STAGE_TEXT_BYTES);
    if (!p->is_held) tell_deltas(k);
    put_content(&content, p);
    enum weir_status st = is_aborted ? WEIR_CANCELLED : p->status;
    enum model_stop stop = p->tools && p->stop == MODEL_STOP_END ? MODEL_STOP_TOOL : p->stop;
    struct model_answer a = {.status = st,
                             .is_final = p->is_final || is_aborted,
                             .why = st == WEIR_OK ? NULL : "the model is out",
                             .stop = st == WEIR_OK ? stop : MODEL_STOP_CUT,
                             .content = weir_buf_slice(&content),
                             .usage = {.input_tokens = 10, .output_tokens = 5},
                             .cost_usd = p->usd,
                             .provider = "fake",
                             .model = "parrot-1",
                             .attempts = 1};
    open_calls[k].done(open_calls[k].user, &a);
    weir_buf_fini(&content);
}

static inline void *run_engine(void *user)
{
    (void)user;
    pthread_mutex_lock(&engine.lock);
    while (!engine.must_stop || engine.n_done < engine.n) {
        if (engine.n_done == engine.n) {
            pthread_cond_wait(&engine.changed, &engine.lock);
            continue;
        }
        unsigned k = engine.calls[engine.n_done];
        bool is_aborted = engine.are_aborted[engine.n_done++];
        pthread_mutex_unlock(&engine.lock);
        answer_call(k, is_aborted);
        pthread_mutex_lock(&engine.lock);
    }
    pthread_mutex_unlock(&engine.lock);
    return NULL;
}

static inline void end_call(unsigned k, bool is_aborted)
{
    pthread_mutex_lock(&engine.lock);
    engine.calls[engine.n] = k;
    engine.are_aborted[engine.n++] = is_aborted;
    pthread_cond_signal(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
}

enum weir_status model_call(struct models *m, const struct model_call *call, uint64_t *ticket)
{
    const struct model_request *r = &call->request;
    T_OK(m == &the_models);
    unsigned k = atomic_fetch_add(&stage->n_calls, 1);
    T_OK(k < STAGE_CALLS);
    open_calls[k] = *call;
    snprintf(stage->asked[k], sizeof stage->asked[0], "%.*s", (int)r->messages.len,
             r->messages.ptr);
    snprintf(stage->system, sizeof stage->system, "%.*s", (int)r->system.len, r->system.ptr);
    stage->had_tools[k] = r->tools.len > 0;
    *ticket = k;
    if (on_call) on_call(k);
    if (!stage->plans[k].is_held) end_call(k, false);
    else {
        tell_deltas(k);
        atomic_fetch_add(&stage->n_held, 1);
    }
    return WEIR_OK;
}

void model_abort(struct models *m, uint64_t ticket)
{
    (void)m;
    if (!stage->plans[ticket].is_held) return;
    atomic_fetch_add(&stage->n_aborted, 1);
    end_call((unsigned)ticket, true);
}

/* ---- a desk with it ---- */

static inline void stage_start(void)
{
    engine.n = engine.n_done = 0;
    engine.must_stop = false;
    T_EQ(pthread_create(&engine.thread, NULL, run_engine, NULL), 0);
    desk.options.models = &the_models;
    desk_start();
}

static inline void stage_stop(void)
{
    sessions_stop(desk.sessions, 200);
    pthread_mutex_lock(&engine.lock);
    engine.must_stop = true;
    pthread_cond_signal(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
    pthread_join(engine.thread, NULL);
    sessions_free(desk.sessions);
    store_close(desk.store);
    shield_policy_free(desk.policy);
    vault_close(desk.vault);
}

static inline void stage_open(void)
{
    static struct scene scene;
    if (!stage) stage = &scene;
    memset(stage, 0, sizeof *stage);
    fake_clock_init(&desk.clock, 1700000000000);
    snprintf(desk.folder, sizeof desk.folder, "%s", t_temp_dir());
    stage_start();
}

/* ---- what a session says ---- */

/* The member of all events of a type in event_text, joined, as it is escaped. */
static inline const char *joined(const char *type, const char *member)
{
    static char text[STAGE_TEXT_BYTES];
    char head[96];
    size_t len = 0;
    snprintf(head, sizeof head, "data: {\"type\":\"%s\",\"%s\":\"", type, member);
    for (const char *at = event_text; (at = strstr(at, head));) {
        at += strlen(head);
        for (; *at != '"'; at++) {
            if (*at == '\\') text[len++] = *at++;
            text[len++] = *at;
        }
    }
    text[len] = 0;
    return text;
}

static inline const char *said_text(void)
{
    return joined("text_delta", "text");
}

/* Ids without a gap, and as many ends as turns, the last event that of the last turn. */
static inline void check_turns(const char *session, unsigned n_turns, const char *last)
{
    char line[64];
    const char *text = look(session);
    unsigned n = count(text, "data: {\"type\":\"");
    T_EQ(count(text, "data: {\"type\":\"done\"") + count(text, "data: {\"type\":\"error\""),
         n_turns);
    for (unsigned i = 1; i <= n; i++) {
        snprintf(line, sizeof line, "id: %u\n", i);
        T_OK(says(text, line));
    }
    snprintf(line, sizeof line, "id: %u\ndata: {\"type\":\"%s\"", n, last);
    if (!says(text, line)) fprintf(stderr, "%s", text);
    T_OK(says(text, line));
}

/* A turn from its beginning to its end. */
static inline struct sent talk(const char *session, const char *text)
{
    struct sent s = send_text(session, text);
    wait_idle(s.session);
    look(s.session);
    return s;
}
