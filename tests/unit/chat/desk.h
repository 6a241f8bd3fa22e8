/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of chats share: a store with an engine of chats, and a model that is the test's
 * own. The k-th call of a test is answered as its plan says, by a thread; a call that is held waits
 * until it is aborted or let go.
 */
#pragma once

#include <stdio.h>

#include "base/slice.h"
#include "chat/chat_impl.h"
#include "t.h"

enum { WAIT_S = 20, TEXT_BYTES = 1 << 20, MAX_CALLS = 64, DELTAS = 8 };

/* ---- a model ---- */

struct models {
    int unused;
};

struct plan {
    enum weir_status status;
    bool is_final, is_held;
    const char *deltas[DELTAS];
    const char *tools; /* JSON blocks behind the text; NULL: none */
    enum model_stop stop;
    double usd;
};

/* Shared with processes that are killed. */
struct scene {
    atomic_uint n_calls, n_aborted, n_held;
    struct plan plans[MAX_CALLS];
    char asked[MAX_CALLS][16 << 10]; /* the messages of each call */
    char system[8 << 10];
    char tools[MAX_CALLS][64];
    bool was_reached; /* the allocation that fails */
    bool has_guard;   /* somebody looks at the newest call for the last time */
};
/* The events of a reply, as text. */
static char event_text[TEXT_BYTES];
static struct scene *stage;
static void (*on_call)(unsigned k); /* makes the plan of a call; NULL: it is there */
static bool desk_is_local;          /* the model is no external one */
static struct models the_models;
static struct model_call open_calls[MAX_CALLS];

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned calls[2 * MAX_CALLS];
    bool are_aborted[2 * MAX_CALLS];
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
    return !desk_is_local;
}

static inline void tell_deltas(unsigned k)
{
    const struct plan *p = &stage->plans[k];
    for (int i = 0; i < DELTAS && p->deltas[i]; i++)
        open_calls[k].on_delta(open_calls[k].user, MODEL_TEXT, weir_slice_of(p->deltas[i]));
}

static inline void answer(unsigned k, bool is_aborted)
{
    const struct plan *p = &stage->plans[k];
    struct weir_buf text, content;
    weir_buf_init(&text, TEXT_BYTES);
    weir_buf_init(&content, TEXT_BYTES);
    if (!p->is_held) tell_deltas(k);
    for (int i = 0; i < DELTAS && p->deltas[i]; i++) weir_buf_append_str(&text, p->deltas[i]);
    weir_buf_append_str(&content, "[");
    if (text.len > 0) {
        weir_buf_append_str(&content, "{\"type\":\"text\",\"text\":");
        struct weir_buf quoted;
        weir_buf_init(&quoted, TEXT_BYTES);
        weir_json_put_string(&quoted, weir_buf_slice(&text));
        weir_buf_append_slice(&content, weir_buf_slice(&quoted));
        weir_buf_fini(&quoted);
        weir_buf_append_str(&content, p->tools ? "}," : "}");
    }
    if (p->tools) weir_buf_append_str(&content, p->tools);
    weir_buf_append_str(&content, "]");
    enum weir_status st = is_aborted ? WEIR_CANCELLED : p->status;
    struct model_answer a = {.status = st,
                             .is_final = p->is_final || is_aborted,
                             .why = st == WEIR_OK ? NULL : "the model is out",
                             .stop = st != WEIR_OK                           ? MODEL_STOP_CUT
                                     : p->tools && p->stop == MODEL_STOP_END ? MODEL_STOP_TOOL
                                                                             : p->stop,
                             .content = weir_buf_slice(&content),
                             .usage = {.input_tokens = 10, .output_tokens = 5},
                             .cost_usd = p->usd,
                             .provider = "fake",
                             .model = "parrot-1",
                             .attempts = 1};
    open_calls[k].done(open_calls[k].user, &a);
    weir_buf_fini(&text);
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
        answer(k, is_aborted);
        pthread_mutex_lock(&engine.lock);
    }
    pthread_mutex_unlock(&engine.lock);
    return NULL;
}

static inline void start_engine(void)
{
    engine.n = engine.n_done = 0;
    engine.must_stop = false;
    T_EQ(pthread_create(&engine.thread, NULL, run_engine, NULL), 0);
}

static inline void stop_engine(void)
{
    pthread_mutex_lock(&engine.lock);
    engine.must_stop = true;
    pthread_cond_signal(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
    pthread_join(engine.thread, NULL);
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
    T_OK(m == &the_models);
    unsigned k = atomic_fetch_add(&stage->n_calls, 1);
    T_OK(k < MAX_CALLS);
    open_calls[k] = *call;
    snprintf(stage->asked[k], sizeof stage->asked[0], "%.*s", (int)call->request.messages.len,
             call->request.messages.ptr);
    snprintf(stage->tools[k], sizeof stage->tools[0], "%.*s", (int)call->request.tools.len,
             call->request.tools.ptr ? call->request.tools.ptr : "");
    snprintf(stage->system, sizeof stage->system, "%.*s", (int)call->request.system.len,
             call->request.system.ptr);
    stage->has_guard = call->request.guard != NULL;
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

/* ---- a store with chats ---- */

static struct {
    struct store *store;
    struct chats *chats;
    struct shield_policy *policy;
    struct vault *vault;
    struct fake_clock clock;
    char folder[256];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_sealed;
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline void on_news(void *user, const struct store_news *news, size_t n)
{
    (void)user;
    pthread_mutex_lock(&desk.lock);
    for (size_t i = 0; i < n; i++)
        if (news[i].is_sealed && strncmp(news[i].log.ptr, "chat/", 5) == 0) desk.n_sealed++;
    pthread_cond_broadcast(&desk.changed);
    pthread_mutex_unlock(&desk.lock);
}

/* How a test wants it. */
struct setting {
    const char *policy; /* JSON; NULL: the default */
    bool is_builtin;
    double max_reply_usd;
};

static void (*before_start)(void); /* NULL: nothing */

static inline void open_chats(const struct setting *how)
{
    struct store_options options = {.on_news = on_news, .clock = &desk.clock.clock};
    struct store_error error;
    char path[300], why[SHIELD_ERROR_BYTES];
    desk.n_sealed = 0;
    T_EQ(store_open(&desk.store, desk.folder, &options, &error), WEIR_OK);
    snprintf(path, sizeof path, "%s/shield.key", desk.folder);
    enum weir_status st = vault_create(path);
    T_OK(st == WEIR_OK || st == WEIR_EXISTS);
    T_EQ(vault_open(path, &desk.vault, why), WEIR_OK);
    if (how->policy)
        T_EQ(shield_policy_parse(&desk.policy, weir_slice_of(how->policy), "policy", why), WEIR_OK);
    else desk.policy = shield_policy_default();
    start_engine();
    struct chats_options chats = {.models = how->is_builtin ? NULL : &the_models,
                                  .policy = desk.policy,
                                  .vault = desk.vault,
                                  .max_reply_usd = how->max_reply_usd,
                                  .n_threads = 2,
                                  .clock = &desk.clock.clock};
    T_EQ(chats_new(&desk.chats, desk.store, &chats), WEIR_OK);
    if (before_start) before_start();
    T_EQ(chats_start(desk.chats), WEIR_OK);
}

static inline void desk_open(const struct setting *how)
{
    static struct scene scene;
    if (!stage) stage = &scene;
    memset(stage, 0, sizeof *stage);
    fake_clock_init(&desk.clock, 1700000000000);
    snprintf(desk.folder, sizeof desk.folder, "%s", t_temp_dir());
    open_chats(how);
}

static inline void desk_close(void)
{
    chats_stop(desk.chats, 200);
    stop_engine();
    chats_free(desk.chats);
    store_close(desk.store);
    shield_policy_free(desk.policy);
    vault_close(desk.vault);
}

/* ---- replies ---- */

static inline enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    return chat_draft_decide(user, view, c);
}

struct made {
    char id[CHAT_MESSAGE_LEN + 1];
    char conversation[CHAT_CONVERSATION_BYTES];
};

/* What a request asks for beside its messages. */
struct wish {
    const char *owner, *conversation, *agent;
    enum pii_action action;
    bool shows_raw, has_sources;
};

static inline enum weir_status make_with(struct made *out, const char *messages,
                                         const struct wish *w)
{
    struct chat_draft draft;
    const struct weir_json *json;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    T_EQ(weir_json_parse(doc, weir_slice_of(messages), &json, NULL), WEIR_OK);
    struct chat_request request = {.owner = weir_slice_of(w->owner ? w->owner : "ann"),
                                   .agent = weir_slice_of(w->agent ? w->agent : ""),
                                   .conversation =
                                       weir_slice_of(w->conversation ? w->conversation : ""),
                                   .messages = json,
                                   .wish = w->action,
                                   .shows_raw = w->shows_raw,
                                   .has_sources = w->has_sources};
    enum weir_status st = chat_draft_init(&draft, desk.chats, &request);
    if (st == WEIR_OK) {
        struct commit *c = commit_new(0);
        commit_decide(c, false, decide, &draft);
        st = store_commit_wait(desk.store, c).status;
    }
    memcpy(out->id, draft.id, sizeof out->id);
    memcpy(out->conversation, draft.conversation, sizeof out->conversation);
    chat_draft_fini(&draft);
    weir_json_doc_free(doc);
    return st;
}

#define USER(text) "[{\"role\":\"user\",\"content\":\"" text "\"}]"

static inline void begin_with(struct made *out, const char *messages, const struct wish *w)
{
    T_EQ(make_with(out, messages, w), WEIR_OK);
    chats_begin(desk.chats, weir_slice_of(out->id));
}

/* Until the condition holds. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        for (int wait_i_ = 0; !(condition) && wait_i_ < WAIT_S * 1000; wait_i_++) wait_1_ms();     \
        T_OK(condition);                                                                           \
    } while (0)

static inline void wait_1_ms(void)
{
    struct timespec at = {.tv_nsec = 1000000};
    nanosleep(&at, NULL);
}

static inline unsigned n_sealed(void)
{
    pthread_mutex_lock(&desk.lock);
    unsigned n = desk.n_sealed;
    pthread_mutex_unlock(&desk.lock);
    return n;
}

static inline void look(const char *id)
{
    char log[CHAT_LOG_BYTES];
    uint64_t next = 1;
    size_t len = 0;
    for (;;) {
        struct log_read read;
        store_read(desk.store, chat_log(log, weir_slice_of(id)), next, TEXT_BYTES, &read);
        for (unsigned i = 0; i < read.n_chunks; i++) {
            memcpy(event_text + len, read.chunks[i]->bytes, read.chunks[i]->len);
            len += read.chunks[i]->len;
            next = read.chunks[i]->last + 1;
            chunk_unref(read.chunks[i]);
        }
        if (read.n_chunks == 0) break;
    }
    event_text[len] = 0;
}

/* The texts of all tokens together. */
static inline const char *said_text(void)
{
    static char text[TEXT_BYTES];
    struct transcript t;
    transcript_init(&t);
    text[0] = 0;
    const char *at = event_text;
    while ((at = strstr(at, "event: token\ndata: "))) {
        at += strlen("event: token\ndata: ");
        size_t len = strcspn(at, "\n");
        T_EQ(transcript_add(&t, SLICE("token"), slice_of(at, len)), WEIR_OK);
    }
    snprintf(text, sizeof text, "%.*s", (int)t.text.len, t.text.ptr ? t.text.ptr : "");
    transcript_fini(&t);
    return text;
}

static inline bool says(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static inline unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* Exactly one last event, and nothing behind it; ids count from 1. */
static inline void check_log(const char *last)
{
    char line[64], want[64];
    unsigned n = count(event_text, "event: ");
    unsigned n_ends = count(event_text, "event: done\n") + count(event_text, "event: error\n") +
                      count(event_text, "event: dlp_blocked\n");
    T_EQ(n_ends, 1);
    for (unsigned i = 1; i <= n; i++) {
        snprintf(line, sizeof line, "id: %u\n", i);
        T_OK(says(event_text, line));
    }
    snprintf(want, sizeof want, "id: %u\nevent: %s\n", n, last);
    if (!says(event_text, want)) fprintf(stderr, "%s", event_text);
    T_OK(says(event_text, want));
}

/* ---- decisions ---- */

static inline enum weir_status answer_decision(void *user, struct commit_view *view,
                                               struct commit *c)
{
    return chats_decide(user, view, c);
}

/* The id of the question in event_text. */
static inline void find_decision(char out[DECISION_ID_BYTES])
{
    const char *at = strstr(event_text, "\"decisionId\":\"");
    T_OK(at);
    snprintf(out, DECISION_ID_BYTES, "%s", at ? at + strlen("\"decisionId\":\"") : "");
}

static inline enum weir_status decide_as(const char *id, enum decision_choice choice,
                                         bool is_remembered)
{
    struct decision_answer a = {.owner = SLICE("ann"),
                                .id = weir_slice_of(id),
                                .choice = choice,
                                .is_remembered = is_remembered,
                                .now_ms = clock_wall_ms(&desk.clock.clock)};
    struct commit *c = commit_new(0);
    commit_decide(c, false, answer_decision, &a);
    enum weir_status st = store_commit_wait(desk.store, c).status;
    if (st == WEIR_OK) chats_decided(desk.chats, weir_slice_of(a.message));
    return st;
}

static inline bool has_event(const char *id, const char *type)
{
    char line[64];
    look(id);
    snprintf(line, sizeof line, "event: %s\n", type);
    return says(event_text, line);
}

static inline bool has_ended(const char *id)
{
    char log[CHAT_LOG_BYTES];
    struct log_read read;
    store_read(desk.store, chat_log(log, weir_slice_of(id)), 1, 0, &read);
    return read.state.is_sealed;
}

static inline void run_with(struct made *m, const char *messages, const struct wish *w)
{
    unsigned n = n_sealed();
    begin_with(m, messages, w);
    WAIT_FOR(n_sealed() > n);
    look(m->id);
}
