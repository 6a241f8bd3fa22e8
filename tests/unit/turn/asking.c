/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns whose agents ask a model: passes, what is recorded and paid for, thoughts, failures, the
 * cap on cost, and the end of calls. The model is the test's own: it answers when it is told to.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fault.h"
#include "desk.h"

/* ---- a model ---- */

struct models {
    int unused;
};
static struct models models;

enum { MAX_CALLS = 64 };

/* How the k-th call of the test ends. */
struct plan {
    enum weir_status status;
    bool is_final, is_held; /* held: not before it is aborted or let go */
    double usd;
    const char *deltas[4];
};

/* Shared with processes that are killed. */
static struct scene {
    atomic_uint n_calls, n_aborted, n_passes, n_held;
    struct plan plans[MAX_CALLS];
    char asked[MAX_CALLS][64]; /* the messages of each call */
    unsigned n_questions;      /* of the main agent in its step; of the others: none */
    atomic_uint kills_in_pass; /* the pass of the main agent that kills; 0: none */
    unsigned fails_at;         /* the allocation that fails from the first pass on; 0: none */
    bool has_failed;           /* it did */
    atomic_bool changes_question;
    char private[32]; /* what the main agent says in its questions */
    bool supporter_asks, is_soft;
    atomic_uint_fast64_t waited_ms;
} * stage;

static struct model_call open_calls[MAX_CALLS];

bool models_has(const struct models *m, enum model_role role)
{
    (void)m;
    return role == MODEL_MAIN;
}

bool models_is_external(const struct models *m, enum model_role role)
{
    return models_has(m, role);
}

static void answer(unsigned k, enum weir_status status)
{
    const struct plan *p = &stage->plans[k];
    struct model_call call = open_calls[k];
    char content[256] = "[]", text[128] = "";
    for (int i = 0; i < 4 && p->deltas[i]; i++) {
        if (call.on_delta) call.on_delta(call.user, MODEL_TEXT, weir_slice_of(p->deltas[i]));
        strncat(text, p->deltas[i], sizeof text - strlen(text) - 1);
    }
    if (text[0]) snprintf(content, sizeof content, "[{\"type\":\"text\",\"text\":\"%s\"}]", text);
    struct model_answer a = {.status = status,
                             .is_final = p->is_final || status == WEIR_CANCELLED,
                             .why = status == WEIR_OK ? NULL : "the model is out",
                             .content = weir_slice_of(content),
                             .usage = {.input_tokens = 10, .output_tokens = 5},
                             .cost_usd = p->usd,
                             .provider = "fake",
                             .model = "parrot",
                             .attempts = 1};
    call.done(call.user, &a);
}

/* The engine: one thread. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned calls[2 * MAX_CALLS];
    bool are_aborted[2 * MAX_CALLS];
    unsigned n, n_done;
    bool must_stop;
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *run_engine(void *user)
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
        answer(k, is_aborted ? WEIR_CANCELLED : stage->plans[k].status);
        pthread_mutex_lock(&engine.lock);
    }
    pthread_mutex_unlock(&engine.lock);
    return NULL;
}

static void start_engine(void)
{
    engine.n = engine.n_done = 0;
    engine.must_stop = false;
    T_EQ(pthread_create(&engine.thread, NULL, run_engine, NULL), 0);
}

static void stop_engine(void)
{
    pthread_mutex_lock(&engine.lock);
    engine.must_stop = true;
    pthread_cond_signal(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
    pthread_join(engine.thread, NULL);
}

static void end_call(unsigned k, bool is_aborted)
{
    pthread_mutex_lock(&engine.lock);
    engine.calls[engine.n] = k;
    engine.are_aborted[engine.n++] = is_aborted;
    pthread_cond_signal(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
}

enum weir_status model_call(struct models *m, const struct model_call *call, uint64_t *ticket)
{
    T_OK(m == &models);
    unsigned k = atomic_fetch_add(&stage->n_calls, 1);
    T_OK(k < MAX_CALLS);
    open_calls[k] = *call;
    snprintf(stage->asked[k], sizeof stage->asked[0], "%.*s", (int)call->request.messages.len,
             call->request.messages.ptr);
    *ticket = k;
    if (!stage->plans[k].is_held) end_call(k, false);
    else atomic_fetch_add(&stage->n_held, 1);
    return WEIR_OK;
}

void model_abort(struct models *m, uint64_t ticket)
{
    (void)m;
    if (!stage->plans[ticket].is_held) return;
    atomic_fetch_add(&stage->n_aborted, 1);
    end_call((unsigned)ticket, true);
}

/* ---- agents ---- */

enum weir_status agent_classify(struct agent_case *c, struct weir_buf *out)
{
    T_OK(!c->has_model[MODEL_FAST] && c->has_model[MODEL_MAIN]);
    weir_buf_append_str(out, "{\"vagueness\":\"low\"}");
    return WEIR_OK;
}

enum weir_status agent_route(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    weir_buf_append_str(out, stage->supporter_asks
                                 ? "{\"main\":\"data_science\",\"supporting\":[\"domain_expert\","
                                   "\"health_coach\"]}"
                                 : "{\"main\":\"data_science\"}");
    return WEIR_OK;
}

enum weir_status agent_rephrase(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    weir_buf_append_str(out, "{}");
    return WEIR_OK;
}

/* Nobody listens when a turn is run again. */
static void emit(struct agent_case *c, const char *type, const char *json)
{
    if (c->emit) c->emit(c->user, type, weir_slice_of(json));
}

/* Asks its questions, and brings what it was told. */
static enum weir_status ask_all(struct agent_case *c, const char *agent, unsigned n,
                                struct weir_buf *out)
{
    weir_buf_printf(out, "{\"agent\":\"%s\",\"told\":[", agent);
    for (unsigned k = 0; k < n; k++) {
        char question[64], event[64];
        const struct model_answer *a = NULL;
        bool is_other = k == 0 && atomic_load(&stage->changes_question);
        snprintf(question, sizeof question, "[\"%s %u%s%s\"]", agent, k, is_other ? "!" : "",
                 stage->private);
        snprintf(event, sizeof event, "{\"asks\":%u}", k);
        emit(c, "asks", event);
        struct model_request request = {
            .role = MODEL_MAIN, .purpose = "test", .messages = weir_slice_of(question)};
        enum weir_status st = c->ask(c->user, &request, agent, &a);
        if (st != WEIR_OK) return st;
        if (a->status != WEIR_OK && !stage->is_soft) return a->status;
        weir_buf_printf(out, "%s%.*s", k > 0 ? "," : "", (int)a->content.len, a->content.ptr);
    }
    weir_buf_append_str(out, "]}");
    stage->waited_ms = c->waited_ms;
    return WEIR_OK;
}

enum weir_status agent_work(struct agent_case *c, const char *agent, struct weir_slice question,
                            struct weir_buf *out)
{
    bool is_main = strcmp(agent, "data_science") == 0;
    (void)question;
    emit(c, "agent.started", "{}");
    unsigned pass = is_main ? atomic_fetch_add(&stage->n_passes, 1) + 1 : 0;
    if (is_main && pass == atomic_load(&stage->kills_in_pass)) raise(SIGKILL);
    if (pass == 1 && stage->fails_at > 0) fault_arm(FAULT_ALLOC, stage->fails_at, FAULT_ONCE);
    enum weir_status st = ask_all(c, agent, is_main ? stage->n_questions : 1, out);
    if (st == WEIR_OK) emit(c, "agent.completed", "{}");
    return st;
}

enum weir_status agent_reflect(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    if (stage->fails_at > 0) stage->has_failed = fault_count(FAULT_ALLOC) >= stage->fails_at;
    fault_disarm_all();
    weir_buf_append_str(out, "{}");
    return WEIR_OK;
}

enum weir_status agent_validate(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    weir_buf_append_str(out, "{}");
    return WEIR_OK;
}

enum weir_status agent_synthesize(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    weir_buf_append_str(out, "{\"answer\":\"yes\"}");
    return WEIR_OK;
}

enum weir_status agent_remember(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    weir_buf_append_str(out, "{\"entries\":[]}");
    return WEIR_OK;
}

/* ---- a desk with a model ---- */

static const struct turns_options with_model = {.models = &models};

static void set_stage(unsigned n_questions)
{
    if (!stage)
        stage =
            mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    T_OK(stage != MAP_FAILED);
    memset(stage, 0, sizeof *stage);
    stage->n_questions = n_questions;
    for (int i = 0; i < MAX_CALLS; i++)
        stage->plans[i] = (struct plan){.deltas = {"I ", "think."}, .usd = 0.1};
}

static void open_with(const char *folder, const struct turns_options *options)
{
    start_engine();
    desk_open(folder, options);
}

static void open_stage(unsigned n_questions)
{
    set_stage(n_questions);
    open_with(t_temp_dir(), &with_model);
}

static void close_stage(void)
{
    turns_stop(desk.turns, 1000);
    stop_engine();
    close_desk();
}

static void begin_turn(char id[TURN_ID_LEN + 1])
{
    T_EQ(make(id, how_much), WEIR_OK);
    turns_begin(desk.turns, weir_slice_of(id));
}

static void wait_held(unsigned n)
{
    while (atomic_load(&stage->n_held) < n) sched_yield();
}

/* ---- passes ---- */

TEST(an_agent_is_called_again_for_each_answer_and_emits_once)
{
    open_stage(3);
    run_turn(false);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    T_EQ(atomic_load(&stage->n_calls), 3);
    T_EQ(atomic_load(&stage->n_passes), 4);
    T_EQ(count(event_text, "event: agent.started\n"), 1);
    T_EQ(count(event_text, "event: asks\n"), 3);
    T_EQ(count(event_text, "event: agent.completed\n"), 1);
    T_OK(says(turn_text, "\"cost_usd\":0.3"));
    T_EQ_STR(weir_slice_of(stage->asked[2]), "[\"data_science 2\"]");
    close_stage();
}

/* The texts of thoughts, joined: deltas that came while a commit was under way are merged. */
static const char *thoughts_behind(const char *head)
{
    static char text[TEXT_BYTES];
    size_t len = 0;
    text[0] = 0;
    for (const char *at = event_text; (at = strstr(at, head));) {
        at += strlen(head);
        size_t n = strcspn(at, "\"");
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s", (int)n, at);
    }
    return text;
}

static const char *thoughts(void)
{
    return thoughts_behind("\"delta\":\"");
}

TEST(thoughts_are_whole_and_stand_before_what_follows_from_them)
{
    open_stage(2);
    run_turn(false);
    T_EQ_STR(weir_slice_of(thoughts()), "I think.I think.");
    T_OK(
        says(event_text, "event: agent.thought\ndata: {\"agent\":\"data_science\",\"delta\":\"I "));
    const char *second = strstr(event_text, "{\"asks\":1}");
    const char *thought = strstr(event_text, "event: agent.thought");
    T_OK(thought && second && thought < second);
    close_stage();
}

TEST(parts_ask_each_for_itself)
{
    open_stage(1);
    stage->supporter_asks = true;
    run_turn(false);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    T_EQ(atomic_load(&stage->n_calls), 3);
    const char *expert = thoughts_behind("\"agent\":\"domain_expert\",\"delta\":\"");
    T_EQ_STR(weir_slice_of(expert), "I think.");
    T_OK(says(turn_text, "\"cost_usd\":0.3"));
    close_stage();
}

/* ---- failures ---- */

TEST(a_call_that_failed_is_paid_for_and_made_again_by_the_step)
{
    open_stage(2);
    stage->plans[1] = (struct plan){.status = WEIR_UPSTREAM, .usd = 0.1, .deltas = {"Half"}};
    run_turn(true);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    T_EQ(atomic_load(&stage->n_calls), 3); /* the first one is not asked again */
    T_EQ(count(event_text, "event: agent.started\n"), 2);
    T_OK(says(turn_text, "\"cost_usd\":0.3"));
    T_EQ_STR(weir_slice_of(thoughts()), "I think.HalfI think.I think.");
    close_stage();
}

TEST(a_turn_fails_when_calls_fail_again_and_again)
{
    open_stage(1);
    for (int i = 0; i < 10; i++) stage->plans[i] = (struct plan){.status = WEIR_UPSTREAM};
    run_turn(true);
    T_EQ(atomic_load(&stage->n_calls), 3);
    T_OK(says(turn_text, "\"code\":\"upstream_unavailable\",\"message\":\"the model is out\""));
    close_stage();
}

TEST(a_call_that_failed_for_good_ends_the_turn_or_is_done_without)
{
    open_stage(1);
    stage->plans[0] = (struct plan){.status = WEIR_UPSTREAM, .is_final = true};
    stage->plans[1] = stage->plans[0];
    run_turn(false);
    T_EQ(atomic_load(&stage->n_calls), 1);
    T_OK(says(turn_text, "\"code\":\"upstream_unavailable\",\"message\":\"the model is out\""));
    stage->is_soft = true;
    run_turn(false);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    T_EQ(atomic_load(&stage->n_calls), 2);
    close_stage();
}

TEST(other_questions_in_the_next_pass_begin_the_step_anew)
{
    char id[TURN_ID_LEN + 1];
    open_stage(2);
    stage->plans[1].is_held = true;
    begin_turn(id);
    wait_held(1);
    atomic_store(&stage->changes_question, true);
    end_call(1, false);
    wait_ended(1, true);
    look(id);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    T_EQ_STR(weir_slice_of(stage->asked[2]), "[\"data_science 0!\"]");
    T_EQ(atomic_load(&stage->n_calls), 3); /* the second question is the same */
    T_OK(says(turn_text, "\"cost_usd\":0.3"));
    close_stage();
}

/* ---- cost ---- */

TEST(the_warning_comes_once_with_the_cost_that_passes_the_limit)
{
    open_stage(8);
    run_turn(false);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    T_EQ(count(event_text, "event: cost_warning\n"), 1);
    T_OK(says(event_text, "\"cost_usd\":0.6,\"threshold_usd\":0.5,"));
    set_stage(5);
    stage->plans[4].usd = 0.09;
    run_turn(false);
    T_EQ(count(event_text, "cost_warning"), 0);
    close_stage();
}

TEST(no_call_begins_when_the_cap_is_reached)
{
    set_stage(5);
    open_with(t_temp_dir(), &(struct turns_options){.models = &models, .max_turn_usd = 0.25});
    run_turn(false);
    T_EQ(atomic_load(&stage->n_calls), 3);
    T_OK(says(turn_text, "\"status\":\"failed\""));
    T_OK(says(turn_text, "\"error\":{\"code\":\"cost_limit_exceeded\",\"message\":\"the turn has "
                         "cost $0.3000, and it may cost $0.2500\""));
    T_OK(says(turn_text, "#cost_limit_exceeded"));
    close_stage();
}

/* ---- ends ---- */

static void cancelled(void *user, const struct commit_result *result)
{
    T_EQ(result->status, WEIR_OK);
    atomic_store((atomic_bool *)user, true);
}

TEST(a_cancel_ends_the_calls_of_all_parts)
{
    char id[TURN_ID_LEN + 1];
    atomic_bool is_done = false;
    open_stage(1);
    stage->supporter_asks = true;
    stage->plans[0].is_held = stage->plans[1].is_held = true;
    begin_turn(id);
    wait_held(2);
    turns_cancel(desk.turns, weir_slice_of(id), cancelled, &is_done);
    wait_ended(1, false);
    look(id);
    T_OK(says(turn_text, "\"code\":\"cancelled\""));
    T_EQ(atomic_load(&stage->n_aborted), 2);
    close_stage();
}

TEST(a_stop_ends_calls_and_the_turn_goes_on_later)
{
    char id[TURN_ID_LEN + 1];
    open_stage(2);
    stage->plans[1].is_held = true;
    begin_turn(id);
    wait_held(1);
    turns_stop(desk.turns, 100);
    stop_engine();
    turns_free(desk.turns);
    start_engine();
    T_EQ(desk.n_sealed, 0);
    T_EQ(atomic_load(&stage->n_aborted), 1);
    desk_start(&with_model);
    wait_ended(1, false);
    look(id);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    T_EQ(atomic_load(&stage->n_calls), 3); /* the first answer was there */
    T_OK(says(turn_text, "\"cost_usd\":0.3"));
    close_stage();
}

/* In a process of its own; true when it was killed. */
static bool live(const char *folder, const struct turns_options *options, char id[TURN_ID_LEN + 1])
{
    pid_t child = fork();
    if (child == 0) {
        bool is_new = id[0] == 0;
        open_with(folder, options);
        if (is_new) begin_turn(id);
        wait_ended(1, false);
        close_stage();
        _exit(0);
    }
    int status = 0;
    T_EQ(waitpid(child, &status, 0), child);
    T_OK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

TEST(answers_are_paid_once_whatever_pass_the_process_is_killed_in)
{
    for (unsigned pass = 1; pass <= 5; pass++) {
        char name[64], *id;
        id = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        set_stage(4);
        for (int i = 0; i < MAX_CALLS; i++) stage->plans[i].usd = 0.2;
        snprintf(name, sizeof name, "%s/%u", t_temp_dir(), pass);
        atomic_store(&stage->kills_in_pass, pass);
        T_OK(live(name, &with_model, id));
        T_OK(!live(name, &with_model, id));
        T_EQ(atomic_load(&stage->n_calls), 4);
        open_with(name, &with_model);
        look(id);
        T_OK(says(turn_text, "\"status\":\"completed\""));
        T_OK(says(turn_text, "\"cost_usd\":0.8"));
        T_EQ(count(event_text, "event: cost_warning\n"), 1);
        unsigned n_started = count(event_text, "event: agent.started\n");
        T_OK(n_started == 2 || (pass == 1 && n_started == 1));
        close_stage();
        munmap(id, 4096);
    }
}

TEST(the_time_of_waiting_is_told)
{
    char id[TURN_ID_LEN + 1];
    open_stage(1);
    stage->plans[0].is_held = true;
    begin_turn(id);
    wait_held(1);
    fake_clock_advance(&desk.clock, 5000ull * 1000000);
    end_call(0, false);
    wait_ended(1, false);
    T_EQ(stage->waited_ms, 5000);
    close_stage();
}

/* ---- memory ---- */

static bool has_ended(void)
{
    pthread_mutex_lock(&desk.lock);
    bool is_sealed = desk.n_sealed > 0;
    pthread_mutex_unlock(&desk.lock);
    return is_sealed;
}

/* In leaps while everybody pauses; whoever is at work, on a slow machine, has his time. */
static void let_time_pass(void)
{
    const uint64_t leap_ns = 2000ull * 1000000, step_ns = 100000;
    struct flow_stats stats;
    flow_stats(desk.turns->flow, &stats);
    bool is_busy = stats.n_running + stats.n_waiting > 0;
    fake_clock_advance(&desk.clock, is_busy ? step_ns : leap_ns);
    flow_wake(desk.turns->flow);
    sched_yield();
}

/* A store that cannot write any more leaves its turns to the next start. */
static void live_without_memory(const char *folder)
{
    char id[TURN_ID_LEN + 1];
    open_with(folder, &with_model);
    begin_turn(id);
    while (!has_ended() && store_is_writable(desk.store) == WEIR_OK) let_time_pass();
    stage->has_failed |= fault_count(FAULT_ALLOC) >= stage->fails_at;
    fault_disarm_all();
    if (has_ended()) look(id);
    bool is_good = !has_ended() || says(turn_text, "\"status\":\"completed\"");
    close_stage();
    _exit(is_good ? 0 : 1);
}

/* In a process of its own, which the store may end; true while the nth allocation was reached. */
static bool fail_nth(unsigned nth)
{
    char folder[300];
    int status = 0;
    set_stage(1);
    stage->fails_at = nth;
    snprintf(folder, sizeof folder, "%s/%u", t_temp_dir(), nth);
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        live_without_memory(folder);
    }
    T_EQ(waitpid(child, &status, 0), child);
    bool was_aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    T_OK(was_aborted || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return was_aborted || stage->has_failed;
}

/* Every third one, each of the three beginnings in one run or another. */
TEST(an_allocation_that_fails_costs_an_attempt_at_most)
{
    unsigned n = 1 + (unsigned)(t_random() % 3);
    while (n < 1000 && fail_nth(n)) n += 3;
    T_OK(n > 20 && n < 1000);
}

/* ---- looking back ---- */

static char seen[TEXT_BYTES];

static void trace(const char *id)
{
    struct weir_buf out;
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(turn_trace(desk.store, weir_slice_of(id), false, &out), WEIR_OK);
    snprintf(seen, sizeof seen, "%.*s", (int)out.len, out.ptr);
    weir_buf_fini(&out);
}

static void replay(const char *id)
{
    struct weir_buf out;
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(turn_replay(desk.turns, weir_slice_of(id), (struct weir_slice){0}, &out), WEIR_OK);
    snprintf(seen, sizeof seen, "%.*s", (int)out.len, out.ptr);
    weir_buf_fini(&out);
}

static void end_turn(char id[TURN_ID_LEN + 1])
{
    begin_turn(id);
    wait_ended(1, true);
}

TEST(the_trace_has_the_calls_of_each_step)
{
    char id[TURN_ID_LEN + 1];
    open_stage(2);
    stage->plans[0].usd = stage->plans[2].usd = 0.25;
    stage->plans[1] = (struct plan){.status = WEIR_UPSTREAM, .usd = 0.25};
    end_turn(id);
    trace(id);
    T_OK(says(seen, "\"model_calls\":[{\"purpose\":\"test\",\"role\":\"main\",\"agent\":"
                    "\"data_science\",\"part\":0,\"number\":0,\"started_at\":\"2023-11-14T"));
    T_OK(says(seen,
              "\"earlier_usd\":0,\"provider\":\"fake\",\"model\":\"parrot\",\"status\":\"ok\","
              "\"why\":null,\"stop\":\"end\",\"usage\":{\"input_tokens\":10,"
              "\"output_tokens\":5,\"cache_read_tokens\":0,\"cache_write_tokens\":0},"
              "\"cost_usd\":0.25,\"attempts\":1,\"content\":[{\"type\":\"text\",\"text\":"
              "\"I think.\"}],\"request\":{\"role\":\"main\",\"purpose\":\"test\""));
    T_OK(says(seen, "\"number\":1,"));
    T_OK(says(seen, "\"earlier_usd\":0.25,"));
    T_OK(says(seen, "\"attempts\":2,\"cost_usd\":0.75,"));
    close_stage();
}

TEST(a_replay_answers_from_the_record_and_asks_nobody)
{
    char id[TURN_ID_LEN + 1];
    open_stage(2);
    stage->supporter_asks = true;
    end_turn(id);
    T_EQ(atomic_load(&stage->n_calls), 4);
    replay(id);
    T_OK(says(seen, "],\"same\":true}"));
    T_EQ(count(seen, "\"same\":false"), 0);
    T_EQ(atomic_load(&stage->n_calls), 4);
    close_stage();
}

TEST(a_replay_tells_of_other_questions)
{
    char id[TURN_ID_LEN + 1];
    open_stage(2);
    end_turn(id);
    atomic_store(&stage->changes_question, true);
    replay(id);
    T_OK(says(seen, "\"differences\":[{\"path\":\"model_calls[0].request.messages[0]\",\"was\":"
                    "\"data_science 0\",\"is\":\"data_science 0!\"}],\"same\":false,"
                    "\"error\":null}"));
    T_EQ(count(seen, "\"path\":"), 1);
    close_stage();
}

TEST(a_replay_without_an_answer_is_an_error)
{
    char id[TURN_ID_LEN + 1], key[CALL_ID_BYTES];
    open_stage(2);
    end_turn(id);
    struct commit *c = commit_new(0);
    commit_remove(c, call_key(key, call_kind, weir_slice_of(id), (struct call_place){5, 0, 1}),
                  DOC_ANY_VERSION);
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    replay(id);
    T_OK(says(seen, "\"error\":\"model_calls[1]: no answer was recorded\""));
    T_EQ(atomic_load(&stage->n_calls), 2);
    close_stage();
}

/* ---- what is private ---- */

static struct turns_options with_policy(const char *policy)
{
    char path[512], error[SHIELD_ERROR_BYTES];
    struct turns_options o = {.models = &models};
    struct shield_policy *p = NULL;
    struct vault *v = NULL;
    T_EQ(shield_policy_parse(&p, weir_slice_of(policy), "policy", error), WEIR_OK);
    snprintf(path, sizeof path, "%s/key", t_temp_dir());
    if (access(path, F_OK) != 0) T_EQ(vault_create(path), WEIR_OK);
    T_EQ(vault_open(path, &v, error), WEIR_OK);
    o.policy = p;
    o.vault = v;
    return o;
}

static void drop_policy(struct turns_options *o)
{
    shield_policy_free((struct shield_policy *)(uintptr_t)o->policy);
    vault_close((struct vault *)(uintptr_t)o->vault);
}

static enum weir_status has_no_name(void *user, const struct doc *doc)
{
    unsigned *n = user;
    T_OK(!memmem(doc->body.ptr, doc->body.len, "alice", 5));
    ++*n;
    return WEIR_OK;
}

static unsigned count_without_name(const char *kind)
{
    unsigned n = 0;
    struct doc_query q = {.kind = weir_slice_of(kind), .limit = SIZE_MAX};
    T_EQ(store_doc_list(desk.store, &q, has_no_name, &n), WEIR_OK);
    return n;
}

static void read_audit(void)
{
    struct log_read read;
    seen[0] = 0;
    store_read(desk.store, SLICE("shield/audit"), 1, TEXT_BYTES, &read);
    for (unsigned i = 0; i < read.n_chunks; i++) {
        snprintf(seen, sizeof seen, "%.*s", (int)read.chunks[i]->len, read.chunks[i]->bytes);
        chunk_unref(read.chunks[i]);
    }
}

TEST(private_values_leave_as_placeholders_and_come_back)
{
    struct turns_options o = with_policy("{}");
    set_stage(2);
    snprintf(stage->private, sizeof stage->private, " alice@example.org");
    for (int i = 0; i < 2; i++)
        stage->plans[i] = (struct plan){.deltas = {"To [ema", "il_", "1]", "[x] [email_9]"}};
    open_with(t_temp_dir(), &o);
    run_turn(false);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    T_EQ_STR(weir_slice_of(stage->asked[0]), "[\"data_science 0 [email_1]\"]");
    T_EQ_STR(weir_slice_of(stage->asked[1]), "[\"data_science 1 [email_1]\"]");
    T_EQ_STR(weir_slice_of(thoughts()),
             "To alice@example.org[x] [email_9]To alice@example.org[x] [email_9]");
    T_EQ(count_without_name("turn_request"), 2);
    T_EQ(count_without_name("turn_call"), 2);
    T_EQ(count_without_name("shield_map"), 1);
    read_audit();
    T_OK(says(seen, "\"user\":\"ann\",\"conversation\":\"turn_"));
    T_OK(says(seen, "\"action\":\"redact\",\"decidedBy\":\"policy\",\"path\":\"turn\","
                    "\"count\":1,\"categories\":{\"email\":1}}"));
    T_EQ(count(seen, "event: audit"), 1);
    close_stage();
    drop_policy(&o);
}

TEST(a_turn_with_private_values_is_traced_without_and_replayed_with_them)
{
    char id[TURN_ID_LEN + 1];
    struct turns_options o = with_policy("{\"piiAction\":\"ask\"}");
    set_stage(2);
    snprintf(stage->private, sizeof stage->private, " alice@example.org");
    stage->plans[0].deltas[0] = "[email_1] ";
    open_with(t_temp_dir(), &o);
    end_turn(id);
    trace(id);
    T_OK(says(seen, "data_science 0 [email_1]"));
    replay(id);
    T_OK(says(seen, "],\"same\":true}"));
    close_stage();
    drop_policy(&o);
}

TEST(a_policy_that_blocks_ends_the_turn)
{
    struct turns_options o = with_policy("{\"piiAction\":\"block\"}");
    set_stage(1);
    open_with(t_temp_dir(), &o);
    run_turn(false);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    snprintf(stage->private, sizeof stage->private, " alice@example.org");
    run_turn(false);
    T_EQ(atomic_load(&stage->n_calls), 1);
    T_OK(says(turn_text, "\"code\":\"unprocessable"));
    T_OK(says(turn_text, "the policy lets nothing private leave for a model"));
    T_OK(!says(event_text, "alice"));
    read_audit();
    T_OK(says(seen, "\"action\":\"policy_block\""));
    close_stage();
    drop_policy(&o);
}

TEST(a_policy_that_is_off_changes_nothing)
{
    struct turns_options o = with_policy("{\"piiAction\":\"off\"}");
    set_stage(1);
    snprintf(stage->private, sizeof stage->private, " alice@example.org");
    open_with(t_temp_dir(), &o);
    run_turn(false);
    T_EQ_STR(weir_slice_of(stage->asked[0]), "[\"data_science 0 alice@example.org\"]");
    T_EQ(count_without_name("shield_map"), 0);
    close_stage();
    drop_policy(&o);
}

/* The map is there before what needs it: the same question has the same bytes. */
TEST(private_questions_are_asked_once_whatever_pass_the_process_is_killed_in)
{
    struct turns_options o = with_policy("{}");
    for (unsigned pass = 2; pass <= 3; pass++) {
        char name[64], *id;
        id = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        set_stage(2);
        snprintf(stage->private, sizeof stage->private, " alice@example.org");
        stage->plans[0].deltas[0] = "[email_1] ";
        snprintf(name, sizeof name, "%s/%u", t_temp_dir(), pass);
        atomic_store(&stage->kills_in_pass, pass);
        T_OK(live(name, &o, id));
        T_OK(!live(name, &o, id));
        T_EQ(atomic_load(&stage->n_calls), 2);
        open_with(name, &o);
        look(id);
        T_OK(says(turn_text, "\"status\":\"completed\""));
        T_OK(says(thoughts(), "alice@example.org think."));
        T_OK(!says(thoughts(), "[email_1]"));
        close_stage();
        munmap(id, 4096);
    }
    drop_policy(&o);
}
