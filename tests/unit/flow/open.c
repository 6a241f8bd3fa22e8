/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that share a log which is never sealed: who is told of their end, and wishes that they end
 * as a part of somebody else's commit.
 */
#include "desk.h"

enum { N_CHAIN = 50, N_RACES = 100 };

static atomic_uint n_ended;
static atomic_bool holds;
static struct flow *engine;
static struct store *store;
static void (*when_ended)(struct weir_slice id); /* NULL: it is only counted */

static void let_go(struct flow_step *s)
{
    if (flow_is_aborted(s)) flow_fail(s, &(struct flow_failure){.code = WEIR_CANCELLED});
    else flow_done(s, SLICE("1"));
}

static void on_abort(void *step)
{
    flow_resume(step, let_go);
}

static atomic_uint n_held;

static void work(struct flow_step *s)
{
    flow_emit(s, NULL, SLICE("{\"type\":\"work\"}"));
    if (!atomic_load(&holds)) {
        flow_done(s, SLICE("1"));
        return;
    }
    flow_wait(s, on_abort, s);
    desk_count(&n_held);
}

static void on_end(struct flow_step *s, const struct flow_end *end)
{
    flow_emit(s, NULL, end->failure ? SLICE("{\"type\":\"error\"}") : SLICE("{\"type\":\"done\"}"));
}

/* The end is durable by now: everybody can see it. */
static void on_ended(void *user, struct weir_slice id)
{
    struct doc doc;
    T_OK(user == &n_ended);
    T_EQ(store_doc_get(store, (struct doc_key){SLICE("run"), id}, &doc), WEIR_NOT_FOUND);
    if (when_ended) when_ended(id);
    desk_count(&n_ended);
}

static const struct step steps[1] = {{.name = "one", .run = work}};
static const struct workflow w = {.name = "w",
                                  .steps = steps,
                                  .n_steps = 1,
                                  .keep_ms = -1,
                                  .has_open_log = true,
                                  .user = &n_ended,
                                  .on_end = on_end,
                                  .on_ended = on_ended};

static void open_desk(struct desk *d, const char *folder)
{
    *d = (struct desk){.workflows = {&w}, .n_workflows = 1, .n_threads = 2};
    atomic_store(&n_ended, 0);
    atomic_store(&n_held, 0);
    when_ended = NULL;
    desk_open_store(d, folder);
    store = d->store;
    desk_start(d);
    engine = d->flow;
}

static void add_run(struct commit *c, const char *id)
{
    T_EQ(flow_add_run(c,
                      &(struct flow_new_run){.workflow = &w,
                                             .id = weir_slice_of(id),
                                             .owner = SLICE("somebody"),
                                             .log = SLICE("shared"),
                                             .input = SLICE("{}")},
                      0),
         WEIR_OK);
}

static void begin(struct desk *d, const char *id)
{
    struct commit *c = commit_new(512);
    add_run(c, id);
    T_EQ(store_commit_wait(d->store, c).status, WEIR_OK);
    T_EQ(flow_begin(d->flow, weir_slice_of(id)), WEIR_OK);
}

static struct log_state shared_log(struct desk *d)
{
    struct log_read read;
    store_read(d->store, SLICE("shared"), 1, 0, &read);
    return read.state;
}

/* ---- who is told ---- */

static atomic_uint chain;

static void go_on(struct weir_slice id)
{
    char next[16];
    (void)id;
    unsigned n = atomic_fetch_add(&chain, 1) + 1;
    if (n >= N_CHAIN) return;
    snprintf(next, sizeof next, "c%u", n);
    struct commit *c = commit_new(512);
    add_run(c, next);
    T_EQ(store_commit_wait(store, c).status, WEIR_OK);
    T_EQ(flow_begin(engine, weir_slice_of(next)), WEIR_OK);
}

TEST(whoever_is_told_of_an_end_may_begin_the_next)
{
    struct desk d;
    open_desk(&d, t_temp_dir());
    atomic_store(&holds, false);
    atomic_store(&chain, 0);
    when_ended = go_on;
    begin(&d, "c0");
    desk_wait(&n_ended, N_CHAIN);
    T_EQ(atomic_load(&n_ended), N_CHAIN);
    struct log_state log = shared_log(&d);
    T_OK(log.exists && !log.is_sealed);
    T_EQ(log.last, 2 * N_CHAIN);
    T_EQ(desk_n_docs(&d, "run"), 0);
    desk_close(&d);
}

TEST(a_run_that_a_stop_cut_off_is_told_of_by_the_next_engine)
{
    struct desk d;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", t_temp_dir());
    open_desk(&d, folder);
    atomic_store(&holds, true);
    begin(&d, "a");
    desk_wait(&n_held, 1);
    flow_stop(d.flow, 20);
    flow_free(d.flow);
    T_EQ(atomic_load(&n_ended), 0);
    store_close(d.store);
    atomic_store(&holds, false);
    open_desk(&d, folder);
    desk_wait(&n_ended, 1);
    desk_close(&d);
    T_EQ(atomic_load(&n_ended), 1);
}

/* ---- wishes inside of a commit ---- */

/* A note is put if and only if the run was wanted, and is not any more. */
struct wish {
    const char *id;
    enum weir_status was_wanted;
};

static enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    struct wish *x = user;
    x->was_wanted = flow_is_wanted(view, weir_slice_of(x->id));
    if (x->was_wanted != WEIR_OK) return x->was_wanted;
    commit_put(c, (struct doc_key){SLICE("note"), weir_slice_of(x->id)}, DOC_MUST_BE_NEW,
               SLICE("somebody"), SLICE("{}"));
    return flow_add_cancel(view, c, weir_slice_of(x->id));
}

static enum weir_status wish(struct desk *d, const char *id)
{
    struct wish x = {.id = id};
    struct commit *c = commit_new(0);
    commit_decide(c, false, decide, &x);
    enum weir_status st = store_commit_wait(d->store, c).status;
    if (st == WEIR_OK) flow_cancelled(d->flow, weir_slice_of(id));
    return st;
}

TEST(a_wish_is_committed_once_and_ends_the_run)
{
    struct desk d;
    open_desk(&d, t_temp_dir());
    atomic_store(&holds, true);
    T_EQ(wish(&d, "a"), WEIR_NOT_FOUND);
    begin(&d, "a");
    desk_wait(&n_held, 1);
    T_EQ(wish(&d, "a"), WEIR_OK);
    desk_wait(&n_ended, 1);
    T_EQ(wish(&d, "a"), WEIR_NOT_FOUND);
    T_EQ(desk_n_docs(&d, "note"), 1);
    T_EQ(desk_n_docs(&d, "run-cancel"), 0);
    desk_close(&d);
}

/* The process ends between the commit and flow_cancelled(). */
TEST(a_wish_that_nobody_told_is_found_at_the_next_start)
{
    struct desk d;
    struct wish x = {.id = "a"};
    char folder[256];
    snprintf(folder, sizeof folder, "%s", t_temp_dir());
    open_desk(&d, folder);
    atomic_store(&holds, true);
    begin(&d, "a");
    desk_wait(&n_held, 1);
    struct commit *c = commit_new(0);
    commit_decide(c, false, decide, &x);
    T_EQ(store_commit_wait(d.store, c).status, WEIR_OK);
    x.was_wanted = WEIR_OK;
    c = commit_new(0);
    commit_decide(c, false, decide, &x);
    T_EQ(store_commit_wait(d.store, c).status, WEIR_CANCELLED);
    flow_stop(d.flow, 20);
    flow_free(d.flow);
    store_close(d.store);
    open_desk(&d, folder); /* it would be held for ever */
    desk_wait(&n_ended, 1);
    T_EQ(shared_log(&d).is_sealed, false);
    T_EQ(desk_n_docs(&d, "run-cancel"), 0);
    desk_close(&d);
}

TEST(a_wish_and_an_end_at_once_have_one_winner)
{
    struct desk d;
    char id[16];
    unsigned n_won = 0;
    open_desk(&d, t_temp_dir());
    atomic_store(&holds, false);
    for (int i = 0; i < N_RACES; i++) {
        snprintf(id, sizeof id, "r%d", i);
        begin(&d, id);
        enum weir_status st = wish(&d, id);
        T_OK(st == WEIR_OK || st == WEIR_NOT_FOUND);
        n_won += st == WEIR_OK;
    }
    desk_wait(&n_ended, N_RACES);
    T_EQ(desk_n_docs(&d, "note"), n_won);
    T_EQ(desk_n_docs(&d, "run"), 0);
    T_EQ(desk_n_docs(&d, "run-cancel"), 0);
    desk_close(&d);
}
