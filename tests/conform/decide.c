/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of src/store/store.h, its second half: commits that are decided when their turn
 * comes, logs without events, work for the store's threads. Every engine has to pass this.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/buf.h>

#include "base/fault.h"
#include "base/slice.h"
#include "conform/engine.h"
#include "store/store.h"
#include "t.h"

/* ---- helpers ---- */

static struct store *open_with(const char *folder, const struct store_options *options)
{
    struct store *s = NULL;
    /* What a view shows is looked at here, and calls in vain are shown something else. */
    fault_arm(FAULT_DECIDE, 0, FAULT_ONCE);
    T_EQ(engine_open(&s, folder, options), WEIR_OK);
    return s;
}

static struct log_state state_of(struct store *s, const char *log)
{
    struct log_read read;
    store_read(s, weir_slice_of(log), 1, 0, &read);
    T_EQ(read.status, WEIR_OK);
    return read.state;
}

static struct doc_key note(const char *id)
{
    return (struct doc_key){SLICE("note"), weir_slice_of(id)};
}

static enum weir_status append(struct store *s, const char *log)
{
    struct commit *c = commit_new(0);
    commit_append(c, weir_slice_of(log), SLICE("data: x\n\n"));
    return store_commit_wait(s, c).status;
}

static enum weir_status make(struct store *s, const char *log, bool is_sealed)
{
    struct commit *c = commit_new(0);
    commit_make(c, weir_slice_of(log));
    if (is_sealed) commit_seal(c, weir_slice_of(log), -1);
    return store_commit_wait(s, c).status;
}

static enum weir_status drop(struct store *s, const char *log)
{
    struct commit *c = commit_new(0);
    commit_drop(c, weir_slice_of(log));
    return store_commit_wait(s, c).status;
}

static enum weir_status put(struct store *s, const char *id, const char *body)
{
    struct commit *c = commit_new(0);
    commit_put(c, note(id), DOC_ANY_VERSION, SLICE("ann"), weir_slice_of(body));
    return store_commit_wait(s, c).status;
}

static enum weir_status decide(struct store *s, bool may_drop, commit_decide_fn fn, void *user)
{
    struct commit *c = commit_new(0);
    commit_decide(c, may_drop, fn, user);
    return store_commit_wait(s, c).status;
}

static void check_sound(struct store *s)
{
    uint64_t n_wrong = 1;
    T_EQ(store_check(s, NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
}

/* Commits that are handed over together, and waited for together. */
struct together {
    struct commit_run run;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    size_t n_left;
    enum weir_status statuses[512];
    struct commit *commits[512];
    size_t n;
};

struct one {
    struct together *all;
    size_t at;
};

static void end_one(void *user, const struct commit_result *result)
{
    struct one *one = user;
    struct together *all = one->all;
    pthread_mutex_lock(&all->lock);
    all->statuses[one->at] = result->status;
    commit_free(all->commits[one->at]);
    if (--all->n_left == 0) pthread_cond_signal(&all->ended);
    pthread_mutex_unlock(&all->lock);
    free(one);
}

static void together_init(struct together *all)
{
    *all = (struct together){.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
}

static void together_add(struct together *all, struct commit *c)
{
    struct one *one = malloc(sizeof *one);
    *one = (struct one){all, all->n};
    all->commits[all->n++] = c;
    all->n_left++;
    commit_run_add(&all->run, c, end_one, one);
}

static void together_wait(struct together *all, struct store *s)
{
    store_commit_run(s, &all->run);
    pthread_mutex_lock(&all->lock);
    while (all->n_left > 0) pthread_cond_wait(&all->ended, &all->lock);
    pthread_mutex_unlock(&all->lock);
}

/* ---- logs without events ---- */

TEST(a_made_log_is_there_without_events)
{
    const char *folder = t_temp_dir();
    struct store *s = open_with(folder, NULL);
    T_EQ(make(s, "a", false), WEIR_OK);
    uint64_t log_id = state_of(s, "a").log_id;
    for (int round = 0; round < 4; round++) {
        struct log_state state = state_of(s, "a");
        T_OK(state.exists && !state.is_sealed);
        T_EQ(state.last, 0);
        T_EQ(state.log_id, log_id);
        T_EQ(make(s, "a", false), WEIR_OK); /* is nothing */
        check_sound(s);
        if (round == 1) T_EQ(store_settle(s), WEIR_OK);
        if (round == 0 || round == 2) {
            store_close(s);
            s = open_with(folder, NULL);
        }
    }
    T_EQ(append(s, "a"), WEIR_OK);
    T_EQ(state_of(s, "a").last, 1);
    T_EQ(state_of(s, "a").log_id, log_id);
    T_EQ(make(s, "a", false), WEIR_OK);
    T_EQ(state_of(s, "a").last, 1);
    check_sound(s);
    store_close(s);
}

TEST(a_log_may_be_sealed_without_events)
{
    const char *folder = t_temp_dir();
    struct store *s = open_with(folder, NULL);
    T_EQ(make(s, "a", true), WEIR_OK);
    for (int round = 0; round < 3; round++) {
        T_OK(state_of(s, "a").exists && state_of(s, "a").is_sealed);
        T_EQ(state_of(s, "a").last, 0);
        T_EQ(append(s, "a"), WEIR_SEALED);
        check_sound(s);
        if (round == 0) T_EQ(store_settle(s), WEIR_OK);
        store_close(s);
        s = open_with(folder, NULL);
    }
    T_EQ(drop(s, "a"), WEIR_OK);
    T_OK(!state_of(s, "a").exists);
    T_EQ(make(s, "a", false), WEIR_OK);
    T_OK(!state_of(s, "a").is_sealed);
    store_close(s);
}

TEST(a_made_log_is_dropped_and_made_anew_like_any_other)
{
    const char *folder = t_temp_dir();
    for (int how = 0; how < 8; how++) {
        struct store *s = open_with(folder, NULL);
        T_EQ(make(s, "a", false), WEIR_OK);
        uint64_t old_id = state_of(s, "a").log_id;
        if (how & 1) T_EQ(store_settle(s), WEIR_OK);
        T_EQ(drop(s, "a"), WEIR_OK);
        if (how & 2) T_EQ(store_settle(s), WEIR_OK);
        T_OK(!state_of(s, "a").exists);
        T_EQ(drop(s, "a"), WEIR_NOT_FOUND);
        T_EQ(make(s, "a", false), WEIR_OK);
        T_OK(state_of(s, "a").log_id > old_id);
        if (how & 4) {
            store_close(s);
            s = open_with(folder, NULL);
            T_OK(state_of(s, "a").exists);
        }
        T_EQ(drop(s, "a"), WEIR_OK);
        check_sound(s);
        store_close(s);
    }
}

TEST(a_making_goes_with_its_commit)
{
    struct store *s = open_with(t_temp_dir(), NULL);
    struct commit *c = commit_new(0);
    commit_make(c, SLICE("a"));
    commit_expect(c, SLICE("a"), 7);
    T_EQ(store_commit_wait(s, c).status, WEIR_CONFLICT);
    T_OK(!state_of(s, "a").exists);
    c = commit_new(0);
    commit_make(c, SLICE("a"));
    commit_append(c, SLICE("a"), SLICE("data: 1\n\n"));
    commit_seal(c, SLICE("a"), -1);
    commit_make(c, SLICE("a"));
    commit_expect(c, SLICE("a"), 7);
    T_EQ(store_commit_wait(s, c).status, WEIR_CONFLICT);
    T_OK(!state_of(s, "a").exists);
    c = commit_new(0);
    commit_make(c, (struct weir_slice){0});
    T_EQ(store_commit_wait(s, c).status, WEIR_INVALID);
    c = commit_new(0);
    commit_make(c, SLICE("a"));
    commit_drop(c, SLICE("a"));
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    T_OK(!state_of(s, "a").exists);
    T_EQ(make(s, "a", false), WEIR_OK);
    c = commit_new(0);
    commit_drop(c, SLICE("a"));
    commit_make(c, SLICE("a"));
    T_EQ(store_commit_wait(s, c).status, WEIR_INVALID);
    T_OK(state_of(s, "a").exists);
    store_close(s);
}

TEST(what_expired_cannot_be_made_before_it_was_swept)
{
    struct fake_clock clock;
    fake_clock_init(&clock, 1800000000000);
    struct store_options options = {.clock = &clock.clock};
    struct store *s = open_with(t_temp_dir(), &options);
    struct commit *c = commit_new(0);
    commit_make(c, SLICE("a"));
    commit_seal(c, SLICE("a"), 1000);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    fake_clock_advance(&clock, UINT64_C(2) * 1000000000);
    T_OK(!state_of(s, "a").exists);
    /* Never a success that makes nothing: either the sweep was quicker or it is said. */
    enum weir_status st = make(s, "a", false);
    T_OK(st == WEIR_SEALED || st == WEIR_OK);
    T_EQ(state_of(s, "a").exists, st == WEIR_OK);
    store_close(s);
}

struct heard {
    atomic_uint n_made, n_sealed;
};

static void hear(void *user, const struct store_news *news, size_t n)
{
    struct heard *h = user;
    for (size_t i = 0; i < n; i++) {
        T_OK(news[i].chunk == NULL && news[i].log_id > 0 && news[i].is_made);
        if (news[i].is_sealed) h->n_sealed++;
        else h->n_made++;
    }
}

TEST(a_making_is_news)
{
    struct heard h = {0};
    struct store_options options = {.on_news = hear, .user = &h};
    struct store *s = open_with(t_temp_dir(), &options);
    T_EQ(make(s, "a", false), WEIR_OK);
    T_EQ(h.n_made, 1);
    T_EQ(make(s, "a", false), WEIR_OK);
    T_EQ(h.n_made, 1);
    T_EQ(make(s, "b", true), WEIR_OK);
    T_EQ(h.n_sealed, 1);
    store_close(s);
}

/* ---- what a decision sees ---- */

/* Expects a document and a log as they are given here. */
struct expecting {
    const char *id;
    int64_t version; /* 0: none */
    const char *body;
    const char *log;
    struct log_state state; /* but for log_id */
    bool was_called;
};

static enum weir_status expect_all(void *user, struct commit_view *view, struct commit *c)
{
    struct expecting *e = user;
    struct doc doc;
    struct log_state state;
    (void)c;
    e->was_called = true;
    enum weir_status st = commit_view_doc(view, note(e->id), &doc);
    T_EQ(st, e->version > 0 ? WEIR_OK : WEIR_NOT_FOUND);
    T_EQ(doc_n_puts(doc.version), e->version);
    if (st == WEIR_OK) {
        T_EQ_STR(doc.body, e->body);
        T_EQ_STR(doc.id, e->id);
        T_EQ_STR(doc.kind, "note");
        T_EQ_STR(doc.owner, "ann");
    }
    T_EQ(commit_view_log(view, weir_slice_of(e->log), &state), WEIR_OK);
    T_EQ(state.exists, e->state.exists);
    T_EQ(state.is_sealed, e->state.is_sealed);
    T_EQ(state.last, e->state.last);
    T_EQ(state.log_id > 0, e->state.exists);
    return WEIR_OK;
}

static void add_expecting(struct together *all, struct expecting *e)
{
    struct commit *c = commit_new(0);
    commit_decide(c, false, expect_all, e);
    together_add(all, c);
}

TEST(a_decision_sees_the_commits_before_it_in_its_batch)
{
    static struct together all;
    struct expecting e[] = {
        {.id = "x", .log = "a"},
        {.id = "x", .version = 1, .body = "one", .log = "a", .state = {.exists = true, .last = 2}},
        {.id = "x", .version = 1, .body = "one", .log = "a", .state = {.exists = true, .last = 2}},
        {.id = "x", .log = "a", .state = {.exists = true, .is_sealed = true, .last = 2}},
        {.id = "x", .version = 1, .body = "two", .log = "b", .state = {.exists = true}},
    };
    struct store *s = open_with(t_temp_dir(), NULL);
    together_init(&all);
    add_expecting(&all, &e[0]);
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("a"), SLICE("data: 1\n\n"));
    commit_append(c, SLICE("a"), SLICE("data: 2\n\n"));
    commit_put(c, note("x"), DOC_MUST_BE_NEW, SLICE("ann"), SLICE("one"));
    together_add(&all, c);
    add_expecting(&all, &e[1]);
    c = commit_new(0); /* one that fails and leaves nothing to be seen */
    commit_append(c, SLICE("a"), SLICE("data: 3\n\n"));
    commit_put(c, note("x"), DOC_ANY_VERSION, SLICE("ann"), SLICE("never"));
    commit_expect(c, SLICE("a"), 99);
    together_add(&all, c);
    add_expecting(&all, &e[2]);
    c = commit_new(0);
    commit_remove(c, note("x"), DOC_ANY_VERSION);
    commit_seal(c, SLICE("a"), -1);
    together_add(&all, c);
    add_expecting(&all, &e[3]);
    c = commit_new(0);
    commit_put(c, note("x"), DOC_MUST_BE_NEW, SLICE("ann"), SLICE("two"));
    commit_make(c, SLICE("b"));
    together_add(&all, c);
    add_expecting(&all, &e[4]);
    together_wait(&all, s);
    for (size_t i = 0; i < all.n; i++) T_EQ(all.statuses[i], i == 3 ? WEIR_CONFLICT : WEIR_OK);
    for (size_t i = 0; i < sizeof e / sizeof *e; i++) T_OK(e[i].was_called);
    store_close(s);
}

TEST(a_decision_sees_what_is_durable_wherever_it_is)
{
    const char *folder = t_temp_dir();
    struct store_options options = {.max_logs = 1};
    struct store *s = open_with(folder, &options);
    T_EQ(put(s, "x", "one"), WEIR_OK);
    T_EQ(append(s, "a"), WEIR_OK);
    T_EQ(append(s, "other"), WEIR_OK);
    struct expecting e = {
        .id = "x", .version = 1, .body = "one", .log = "a", .state = {.exists = true, .last = 1}};
    struct expecting none = {.id = "y", .log = "nobody"};
    for (int round = 0; round < 4; round++) {
        for (int twice = 0; twice < 2; twice++) {
            T_EQ(decide(s, false, expect_all, &e), WEIR_OK);
            T_EQ(decide(s, false, expect_all, &none), WEIR_OK);
        }
        if (round == 1) T_EQ(store_settle(s), WEIR_OK);
        if (round == 0 || round == 2) {
            store_close(s);
            s = open_with(folder, &options);
        }
    }
    struct commit *c = commit_new(0);
    commit_remove(c, note("x"), DOC_ANY_VERSION);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    T_EQ(drop(s, "a"), WEIR_OK);
    struct expecting gone = {.id = "x", .log = "a"};
    for (int round = 0; round < 3; round++) {
        T_EQ(decide(s, false, expect_all, &gone), WEIR_OK);
        if (round == 0) T_EQ(store_settle(s), WEIR_OK);
    }
    T_EQ(put(s, "x", "again"), WEIR_OK);
    struct expecting again = {.id = "x", .version = 1, .body = "again", .log = "a"};
    T_EQ(decide(s, false, expect_all, &again), WEIR_OK);
    store_close(s);
}

/* ---- what a decision does ---- */

static enum weir_status add_and_refuse(void *user, struct commit_view *view, struct commit *c)
{
    (void)view;
    commit_append(c, SLICE("a"), SLICE("data: 2\n\n"));
    commit_append(c, SLICE("b"), SLICE("data: 2\n\n"));
    commit_make(c, SLICE("m"));
    commit_put(c, note("x"), DOC_ANY_VERSION, SLICE("ann"), SLICE("never"));
    commit_put(c, note("y"), DOC_ANY_VERSION, SLICE("ann"), SLICE("never"));
    return *(enum weir_status *)user;
}

TEST(a_refused_commit_leaves_nothing_and_says_why)
{
    static enum weir_status why[] = {WEIR_CONFLICT, WEIR_NOT_FOUND, WEIR_INVALID, WEIR_CORRUPT};
    const char *folder = t_temp_dir();
    struct store *s = open_with(folder, NULL);
    struct doc doc;
    T_EQ(put(s, "x", "one"), WEIR_OK);
    T_EQ(append(s, "a"), WEIR_OK);
    for (size_t i = 0; i < sizeof why / sizeof *why; i++) {
        struct commit *c = commit_new(0);
        commit_append(c, SLICE("a"), SLICE("data: 1\n\n"));
        commit_put(c, note("z"), DOC_MUST_BE_NEW, SLICE("ann"), SLICE("never"));
        commit_decide(c, false, add_and_refuse, &why[i]);
        struct commit_result r = store_commit_wait(s, c);
        T_EQ(r.status, why[i]);
        T_EQ(r.last, 0);
        T_EQ(r.version, 0);
    }
    for (int reopened = 0; reopened < 2; reopened++) {
        T_EQ(state_of(s, "a").last, 1);
        T_OK(!state_of(s, "b").exists && !state_of(s, "m").exists);
        T_EQ(store_doc_get(s, note("x"), &doc), WEIR_OK);
        T_EQ(doc_n_puts(doc.version), 1);
        doc_fini(&doc);
        T_EQ(store_doc_get(s, note("y"), &doc), WEIR_NOT_FOUND);
        T_EQ(store_doc_get(s, note("z"), &doc), WEIR_NOT_FOUND);
        store_close(s);
        s = open_with(folder, NULL);
    }
    T_EQ(append(s, "a"), WEIR_OK);
    T_EQ(state_of(s, "a").last, 2);
    store_close(s);
}

TEST(what_a_decision_adds_is_held_to_the_same_rules)
{
    static enum weir_status fine = WEIR_OK;
    struct store *s = open_with(t_temp_dir(), NULL);
    struct commit *c = commit_new(0);
    commit_seal(c, SLICE("b"), -1);
    commit_decide(c, false, add_and_refuse, &fine);
    T_EQ(store_commit_wait(s, c).status, WEIR_NOT_FOUND); /* of what stood there before */
    T_EQ(make(s, "b", true), WEIR_OK);
    T_EQ(decide(s, false, add_and_refuse, &fine), WEIR_SEALED);
    T_OK(!state_of(s, "a").exists);
    T_EQ(drop(s, "b"), WEIR_OK);
    T_EQ(decide(s, false, add_and_refuse, &fine), WEIR_OK);
    T_EQ(state_of(s, "a").last, 1);
    T_EQ(state_of(s, "b").last, 1);
    T_OK(state_of(s, "m").exists);
    store_close(s);
}

static enum weir_status drop_a(void *user, struct commit_view *view, struct commit *c)
{
    struct log_state state;
    (void)user;
    enum weir_status st = commit_view_log(view, SLICE("a"), &state);
    if (st != WEIR_OK) return st;
    if (!state.exists) return WEIR_NOT_FOUND;
    commit_drop(c, SLICE("a"));
    commit_put(c, note("x"), DOC_ANY_VERSION, SLICE("ann"), SLICE("dropped"));
    return WEIR_OK;
}

TEST(a_decision_drops_only_if_it_may)
{
    static struct together all;
    struct store *s = open_with(t_temp_dir(), NULL);
    struct doc doc;
    T_EQ(append(s, "a"), WEIR_OK);
    T_EQ(decide(s, false, drop_a, NULL), WEIR_INVALID);
    T_OK(state_of(s, "a").exists);
    T_EQ(store_doc_get(s, note("x"), &doc), WEIR_NOT_FOUND);
    T_EQ(decide(s, true, drop_a, NULL), WEIR_OK);
    T_OK(!state_of(s, "a").exists);
    T_EQ(decide(s, true, drop_a, NULL), WEIR_NOT_FOUND);
    /* Between commits that use the name: before it the old log, behind it the new one. */
    together_init(&all);
    for (int i = 0; i < 9; i++) {
        struct commit *c = commit_new(0);
        if (i % 3 == 2) commit_decide(c, true, drop_a, NULL);
        else commit_append(c, SLICE("a"), SLICE("data: x\n\n"));
        together_add(&all, c);
    }
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("a"), SLICE("data: x\n\n"));
    together_add(&all, c);
    together_wait(&all, s);
    for (size_t i = 0; i < all.n; i++) T_EQ(all.statuses[i], WEIR_OK);
    T_EQ(state_of(s, "a").last, 1);
    store_close(s);
}

/* ---- ceilings ---- */

struct large {
    const char *id;
    size_t n_bytes;
    unsigned n_times;
};

static enum weir_status put_large(void *user, struct commit_view *view, struct commit *c)
{
    struct large *l = user;
    char *body = calloc(1, l->n_bytes);
    (void)view;
    for (unsigned i = 0; i < l->n_times; i++)
        commit_put(c, note(l->id), DOC_ANY_VERSION, SLICE("ann"), slice_of(body, l->n_bytes));
    free(body);
    return WEIR_OK;
}

static enum weir_status look_often(void *user, struct commit_view *view, struct commit *c)
{
    const struct large *l = user;
    enum weir_status st = WEIR_OK;
    struct doc doc;
    (void)c;
    for (unsigned i = 0; i < l->n_times && st == WEIR_OK; i++)
        st = commit_view_doc(view, note(l->id), &doc);
    return st;
}

TEST(a_decision_has_the_ceilings_of_a_commit)
{
    struct store_options options = {.segment_bytes = 1 << 20};
    const char *folder = t_temp_dir();
    struct store *s = open_with(folder, &options);
    struct large l = {"x", STORE_DOC_BYTES + 1, 1};
    T_EQ(decide(s, false, put_large, &l), WEIR_LIMIT);
    l = (struct large){"x", STORE_DOC_BYTES, 3};
    T_EQ(decide(s, false, put_large, &l), WEIR_LIMIT);
    l = (struct large){"x", 600000, 1}; /* more than half a segment */
    T_EQ(decide(s, false, put_large, &l), WEIR_LIMIT);
    l = (struct large){"x", 400000, 1};
    T_EQ(decide(s, false, put_large, &l), WEIR_OK);
    struct large look = {"x", 0, 30};
    T_EQ(decide(s, false, look_often, &look), WEIR_OK);
    look.n_times = 100;
    for (int settled = 0; settled < 2; settled++) {
        T_EQ(decide(s, false, look_often, &look), WEIR_LIMIT);
        T_EQ(store_settle(s), WEIR_OK);
    }
    look.n_times = 1;
    T_EQ(decide(s, false, look_often, &look), WEIR_OK);
    store_close(s);
}

static enum weir_status look_at_long_names(void *user, struct commit_view *view, struct commit *c)
{
    char name[STORE_NAME_BYTES + 1];
    struct log_state state;
    struct doc doc;
    (void)user;
    (void)c;
    memset(name, 'n', sizeof name);
    struct weir_slice large = slice_of(name, sizeof name);
    T_EQ(commit_view_doc(view, (struct doc_key){SLICE("note"), large}, &doc), WEIR_NOT_FOUND);
    T_EQ(commit_view_doc(view, (struct doc_key){large, SLICE("x")}, &doc), WEIR_NOT_FOUND);
    T_EQ(commit_view_log(view, large, &state), WEIR_OK);
    T_OK(!state.exists);
    large.len--;
    T_EQ(commit_view_doc(view, (struct doc_key){large, large}, &doc), WEIR_NOT_FOUND);
    T_EQ(commit_view_log(view, large, &state), WEIR_OK);
    T_OK(!state.exists);
    return WEIR_OK;
}

TEST(names_too_long_to_exist_do_not)
{
    struct store *s = open_with(t_temp_dir(), NULL);
    T_EQ(decide(s, false, look_at_long_names, NULL), WEIR_OK);
    store_close(s);
}

/* Nothing is in the commits when they are handed over, and far more than a segment afterwards. */
TEST(decisions_that_add_much_take_as_many_batches_as_they_need)
{
    static struct together all;
    struct large l[200];
    char ids[200][8];
    struct store_options options = {.segment_bytes = 65536};
    struct store *s = open_with(t_temp_dir(), &options);
    together_init(&all);
    for (unsigned i = 0; i < 200; i++) {
        snprintf(ids[i], sizeof ids[i], "d%u", i);
        l[i] = (struct large){ids[i], 8000, 1};
        struct commit *c = commit_new(0);
        if (i % 7 == 3) commit_append(c, SLICE("a"), SLICE("data: x\n\n"));
        commit_decide(c, i % 50 == 49, put_large, &l[i]);
        together_add(&all, c);
    }
    together_wait(&all, s);
    for (size_t i = 0; i < 200; i++) {
        struct doc doc;
        T_EQ(all.statuses[i], WEIR_OK);
        T_EQ(store_doc_get(s, note(ids[i]), &doc), WEIR_OK);
        T_EQ(doc.body.len, 8000);
        doc_fini(&doc);
    }
    T_EQ(state_of(s, "a").last, 29);
    struct store_stats stats;
    store_stats(s, &stats);
    T_EQ(stats.n_commits, 200);
    T_EQ(stats.queued_bytes, 0);
    store_close(s);
}

/* A gate in a decision: whoever comes after it has to queue up. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_reached, is_open;
};

static enum weir_status wait_at_gate(void *user, struct commit_view *view, struct commit *c)
{
    struct gate *g = user;
    (void)view;
    (void)c;
    pthread_mutex_lock(&g->lock);
    g->is_reached = true;
    pthread_cond_broadcast(&g->changed);
    while (!g->is_open) pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return WEIR_OK;
}

static void give_up(void *user, const struct commit_result *result)
{
    atomic_uint *n_busy = user;
    if (result->status == WEIR_BUSY) atomic_fetch_add(n_busy, 1);
}

TEST(decisions_that_wait_are_counted_though_they_have_no_bytes_yet)
{
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};
    struct store_options options = {.queue_bytes = 100000};
    struct store *s = open_with(t_temp_dir(), &options);
    atomic_uint n_busy = 0;
    struct commit *commits[1001];
    for (size_t i = 0; i < 1001; i++) {
        commits[i] = commit_new(0);
        commit_decide(commits[i], false, wait_at_gate, &gate);
        store_commit(s, commits[i], give_up, &n_busy);
        if (i > 0) continue;
        pthread_mutex_lock(&gate.lock);
        while (!gate.is_reached) pthread_cond_wait(&gate.changed, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
    }
    T_OK(atomic_load(&n_busy) > 0 && atomic_load(&n_busy) < 1000);
    pthread_mutex_lock(&gate.lock);
    gate.is_open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
    store_close(s);
    for (size_t i = 0; i < 1001; i++) commit_free(commits[i]);
}

/* ---- many at once ---- */

enum { N_THREADS = 4, N_EACH = 500 };

/* Appends the counter's next number and puts it, or refuses now and then. */
static enum weir_status count_on(void *user, struct commit_view *view, struct commit *c)
{
    bool *refuses = user;
    struct doc doc;
    char text[64];
    unsigned long number = 0;
    enum weir_status st = commit_view_doc(view, note("counter"), &doc);
    if (st == WEIR_OK) {
        memcpy(text, doc.body.ptr, doc.body.len);
        text[doc.body.len] = '\0';
        number = strtoul(text, NULL, 10);
        T_EQ(doc_n_puts(doc.version), (long long)number);
    } else {
        T_EQ(st, WEIR_NOT_FOUND);
    }
    int len = snprintf(text, sizeof text, "data: %lu\n\n", number + 1);
    commit_append(c, SLICE("count"), slice_of(text, (size_t)len));
    len = snprintf(text, sizeof text, "%lu", number + 1);
    commit_put(c, note("counter"), doc.version, SLICE("ann"), slice_of(text, (size_t)len));
    return *refuses ? WEIR_CONFLICT : WEIR_OK;
}

static void *count_many(void *store)
{
    for (unsigned i = 0; i < N_EACH; i++) {
        bool refuses = i % 5 == 4;
        T_EQ(decide(store, false, count_on, &refuses), refuses ? WEIR_CONFLICT : WEIR_OK);
    }
    return NULL;
}

struct settling {
    struct store *s;
    atomic_bool stops;
};

static void *settle_many(void *user)
{
    struct settling *t = user;
    while (!atomic_load(&t->stops)) T_EQ(store_settle(t->s), WEIR_OK);
    return NULL;
}

static void check_count(struct store *s, uint64_t n)
{
    uint64_t next = 1;
    while (next <= n) {
        struct log_read read;
        store_read(s, SLICE("count"), next, 1, &read);
        T_EQ(read.n_chunks, 1);
        if (read.n_chunks != 1) return;
        struct weir_slice bytes = chunk_from(read.chunks[0], next);
        char want[64];
        int len = snprintf(want, sizeof want, "id: %llu\ndata: %llu\n\n", (unsigned long long)next,
                           (unsigned long long)next);
        T_EQ_SLICE(slice_of(bytes.ptr, (size_t)len), slice_of(want, (size_t)len));
        chunk_unref(read.chunks[0]);
        next++;
    }
    T_EQ(state_of(s, "count").last, n);
}

TEST(a_counter_that_many_count_on_loses_and_repeats_nothing)
{
    const char *folder = t_temp_dir();
    struct store *s = open_with(folder, NULL);
    struct settling settling = {.s = s};
    pthread_t threads[N_THREADS + 1];
    pthread_create(&threads[N_THREADS], NULL, settle_many, &settling);
    for (unsigned i = 0; i < N_THREADS; i++) pthread_create(&threads[i], NULL, count_many, s);
    for (unsigned i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    atomic_store(&settling.stops, true);
    pthread_join(threads[N_THREADS], NULL);
    for (int reopened = 0; reopened < 2; reopened++) {
        check_count(s, N_THREADS * N_EACH / 5 * 4);
        store_close(s);
        s = open_with(folder, NULL);
    }
    store_close(s);
}

/* ---- never an old version ---- */

enum { N_DOCS = 12, MAX_BODY = 600000 };

struct known {
    int64_t n_puts; /* in this life; 0: none */
    uint64_t stamp; /* what its body says */
    size_t n_bytes;
};

/* The body tells when it was written, in its first and its last bytes. */
static struct weir_slice body_of(char *bytes, const struct known *d)
{
    memset(bytes, 'b', d->n_bytes);
    memcpy(bytes, &d->stamp, sizeof d->stamp);
    memcpy(bytes + d->n_bytes - sizeof d->stamp, &d->stamp, sizeof d->stamp);
    return slice_of(bytes, d->n_bytes);
}

static void check_known(const struct known *want, enum weir_status st, const struct doc *doc)
{
    T_EQ(st, want->n_puts > 0 ? WEIR_OK : WEIR_NOT_FOUND);
    T_EQ(doc_n_puts(doc->version), want->n_puts);
    if (st != WEIR_OK || want->n_puts == 0) return;
    T_EQ(doc->body.len, want->n_bytes);
    if (doc->body.len != want->n_bytes) return;
    T_EQ(memcmp(doc->body.ptr, &want->stamp, sizeof want->stamp), 0);
    T_EQ(memcmp(doc->body.ptr + doc->body.len - sizeof want->stamp, &want->stamp,
                sizeof want->stamp),
         0);
}

/* A commit of the random run: what it has to see, and what it does then. */
struct step {
    struct known seen[N_DOCS];
    unsigned doc;
    struct known next;
    bool refuses;
};

static enum weir_status take_step(void *user, struct commit_view *view, struct commit *c)
{
    struct step *step = user;
    char id[8];
    struct doc doc;
    int64_t version = 0;
    for (unsigned i = 0; i < N_DOCS; i++) {
        snprintf(id, sizeof id, "d%u", i);
        enum weir_status st = commit_view_doc(view, note(id), &doc);
        check_known(&step->seen[i], st, &doc);
        if (i == step->doc) version = doc.version;
    }
    snprintf(id, sizeof id, "d%u", step->doc);
    if (step->next.n_puts == 0) {
        commit_remove(c, note(id), version);
    } else {
        char *bytes = malloc(step->next.n_bytes);
        commit_put(c, note(id), version, SLICE("ann"), body_of(bytes, &step->next));
        free(bytes);
    }
    return step->refuses ? WEIR_CONFLICT : WEIR_OK;
}

static void plan_step(struct step *step, struct known model[N_DOCS], uint64_t stamp)
{
    memcpy(step->seen, model, sizeof step->seen);
    step->doc = (unsigned)(t_random() % N_DOCS);
    const struct known *old = &model[step->doc];
    bool removes = old->n_puts > 0 && t_random() % 3 == 0;
    /* Large ones push the others out of whatever remembers them. */
    size_t n_bytes = t_random() % 4 == 0 ? 16 + t_random() % (MAX_BODY - 16) : 16 + t_random() % 99;
    step->next = removes ? (struct known){0} : (struct known){old->n_puts + 1, stamp, n_bytes};
    step->refuses = t_random() % 4 == 0;
    if (!step->refuses) model[step->doc] = step->next;
}

TEST(a_decision_never_sees_an_old_version)
{
    static struct together all;
    static struct step steps[8];
    struct known model[N_DOCS] = {{0}};
    const char *folder = t_temp_dir();
    struct store *s = open_with(folder, NULL);
    uint64_t stamp = 0;
    for (unsigned round = 0; round < 150; round++) {
        size_t n = 1 + t_random() % 8;
        together_init(&all);
        for (size_t i = 0; i < n; i++) {
            plan_step(&steps[i], model, ++stamp);
            struct commit *c = commit_new(0);
            commit_decide(c, t_random() % 8 == 0, take_step, &steps[i]);
            together_add(&all, c);
        }
        together_wait(&all, s);
        for (size_t i = 0; i < n; i++)
            T_EQ(all.statuses[i], steps[i].refuses ? WEIR_CONFLICT : WEIR_OK);
        if (t_random() % 2) T_EQ(store_settle(s), WEIR_OK);
        if (t_random() % 20 == 0) {
            store_close(s);
            s = open_with(folder, NULL);
        }
        for (unsigned i = 0; i < N_DOCS; i++) {
            char id[8];
            struct doc doc;
            snprintf(id, sizeof id, "d%u", i);
            enum weir_status st = store_doc_get(s, note(id), &doc);
            check_known(&model[i], st, &doc);
            doc_fini(&doc);
        }
    }
    store_close(s);
}

/* ---- calls that do not count ---- */

static enum weir_status count_and_say(void *user, struct commit_view *view, struct commit *c)
{
    unsigned *n_calls = user;
    struct doc doc;
    ++*n_calls;
    commit_append(c, SLICE("a"), SLICE("data: x\n\n"));
    enum weir_status st = commit_view_doc(view, note("n"), &doc);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    commit_put(c, note("n"), doc.version, SLICE(""), SLICE("{}"));
    /* What it adds in vain may be more than any commit can hold. */
    if (*n_calls % 2 == 1 && fault_count(FAULT_DECIDE) > 0)
        commit_append(c, SLICE(""), SLICE("no frame"));
    return WEIR_OK;
}

TEST(only_the_last_call_of_a_decision_counts)
{
    struct store *s = open_with(t_temp_dir(), NULL);
    unsigned n_calls = 0;
    struct doc doc;
    fault_arm(FAULT_DECIDE, 1, FAULT_FROM);
    for (int i = 0; i < 5; i++) T_EQ(decide(s, false, count_and_say, &n_calls), WEIR_OK);
    bool calls_twice = fault_count(FAULT_DECIDE) > 0;
    fault_arm(FAULT_DECIDE, 0, FAULT_ONCE);
    T_OK(calls_twice ? n_calls == 10 : n_calls >= 5);
    T_EQ(state_of(s, "a").last, 5);
    T_EQ(store_doc_get(s, note("n"), &doc), WEIR_OK);
    T_EQ(doc_n_puts(doc.version), 5);
    doc_fini(&doc);
    store_close(s);
}

/* ---- work for the store's threads ---- */

struct work {
    struct store *s;
    pthread_t caller;
    atomic_uint n_done;
};

static void do_work(void *user)
{
    struct work *w = user;
    T_OK(!pthread_equal(pthread_self(), w->caller));
    T_EQ(state_of(w->s, "a").last, 1);
    atomic_fetch_add(&w->n_done, 1);
}

TEST(work_for_later_is_done_before_the_store_is_closed)
{
    struct store *s = open_with(t_temp_dir(), NULL);
    struct work w = {.s = s, .caller = pthread_self()};
    T_EQ(append(s, "a"), WEIR_OK);
    for (int i = 0; i < 500; i++) T_EQ(store_later(s, do_work, &w), WEIR_OK);
    store_close(s);
    T_EQ(atomic_load(&w.n_done), 500);
}
