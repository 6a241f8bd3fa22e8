/* SPDX-License-Identifier: Apache-2.0 */
/* One rate, several nodes: what they let pass together, by a clock that the test moves. */
#include "serve/rates.h"

#include <stdlib.h>

#include "base/slice.h"
#include "t.h"

enum { NODES = 3, MS = 1000000 };

struct world {
    struct store *store;
    struct fake_clock clock;
    struct keys *keys[NODES];
    struct rates *rates[NODES];
    unsigned n;
    char text[KEY_TEXT_BYTES];
    struct key_info info;
};

static void new_world(struct world *w, unsigned n, double rate, double burst)
{
    static const char *const names[NODES] = {"one", "two", "three"};
    *w = (struct world){.n = n};
    fake_clock_init(&w->clock, 1000000);
    fake_clock_advance(&w->clock, MS);
    struct store_options options = {.durability = STORE_DURABLE_NORMAL, .clock = &w->clock.clock};
    T_EQ(store_open(&w->store, t_temp_dir(), &options, NULL), WEIR_OK);
    w->info =
        (struct key_info){.owner = "ada", .scopes = SCOPE_READ, .rate_per_s = rate, .burst = burst};
    for (unsigned i = 0; i < n; i++) {
        T_EQ(keys_open(&w->keys[i], w->store, &w->clock.clock), WEIR_OK);
        if (i == 0) T_EQ(keys_create(w->keys[0], &w->info, w->text), WEIR_OK);
        T_EQ(rates_new(&w->rates[i], w->store, w->keys[i], names[i], &w->clock.clock), WEIR_OK);
    }
}

static void close_world(struct world *w)
{
    for (unsigned i = 0; i < w->n; i++) {
        rates_free(w->rates[i]);
        keys_close(w->keys[i]);
    }
    store_close(w->store);
}

/* How many of `n` requests one node lets pass. */
static unsigned ask(struct world *w, unsigned node, unsigned n)
{
    struct key_found found;
    unsigned n_passed = 0;
    for (unsigned i = 0; i < n; i++)
        n_passed += keys_find(w->keys[node], weir_slice_of(w->text), &found) == WEIR_OK;
    return n_passed;
}

static void make_rounds(struct world *w)
{
    for (unsigned i = 0; i < w->n; i++)
        if (rates_is_due(w->rates[i])) T_EQ(rates_round(w->rates[i]), WEIR_OK);
}

/* Asks all nodes `per_node` times in each step, for so long; how many passed. */
static unsigned press(struct world *w, unsigned steps, unsigned step_ms, unsigned per_node)
{
    unsigned n_passed = 0;
    for (unsigned s = 0; s < steps; s++) {
        for (unsigned i = 0; i < w->n; i++) n_passed += ask(w, i, per_node);
        fake_clock_advance(&w->clock, (uint64_t)step_ms * MS);
        make_rounds(w);
    }
    return n_passed;
}

TEST(nodes_under_pressure_let_pass_what_one_would)
{
    struct world w;
    new_world(&w, NODES, 100, 50);
    /* Ten seconds at ten times the rate: 1,000 and a burst, and a burst more for each other node.
     */
    unsigned n_passed = press(&w, 1000, 10, 10);
    T_OK(n_passed >= 1000);
    T_OK(n_passed <= 1000 + NODES * 50);
    /* What was too much is paid back: another ten seconds bring no more than their own. */
    n_passed = press(&w, 1000, 10, 10);
    T_OK(n_passed >= 900);
    T_OK(n_passed <= 1000 + 50);
    close_world(&w);
}

TEST(all_at_the_same_moment_is_a_burst_each_and_then_none)
{
    struct world w;
    new_world(&w, 2, 10, 20);
    T_EQ(ask(&w, 0, 100), 20);
    T_EQ(ask(&w, 1, 100), 20);
    make_rounds(&w);
    make_rounds(&w);
    fake_clock_advance(&w.clock, (uint64_t)100 * MS);
    make_rounds(&w);
    /* 40 were taken of 20: nothing for two seconds, and then by the rate. */
    fake_clock_advance(&w.clock, (uint64_t)1800 * MS);
    T_EQ(ask(&w, 0, 1) + ask(&w, 1, 1), 0);
    fake_clock_advance(&w.clock, (uint64_t)300 * MS);
    T_EQ(ask(&w, 0, 100), 2);
    close_world(&w);
}

TEST(node_that_was_idle_learns_of_the_others_at_its_first_round)
{
    struct world w;
    new_world(&w, 2, 10, 100);
    /* The first takes all, tells it, and goes on for a while by the rate. */
    T_EQ(ask(&w, 0, 200), 100);
    for (int i = 0; i < 100; i++) {
        fake_clock_advance(&w.clock, (uint64_t)100 * MS);
        (void)ask(&w, 0, 10);
        if (rates_is_due(w.rates[0])) T_EQ(rates_round(w.rates[0]), WEIR_OK);
    }
    T_EQ(ask(&w, 1, 5), 5);
    T_OK(rates_is_due(w.rates[1]));
    T_EQ(rates_round(w.rates[1]), WEIR_OK);
    T_EQ(ask(&w, 1, 5), 0);
    /* Not by all that was taken in ten seconds: after the bucket's time it is full again. */
    fake_clock_advance(&w.clock, (uint64_t)11000 * MS);
    T_EQ(ask(&w, 1, 200), 100);
    close_world(&w);
}

TEST(nobody_writes_while_nobody_asks)
{
    struct world w;
    struct store_stats before, after;
    new_world(&w, 2, 10, 10);
    T_OK(!rates_is_due(w.rates[0]));
    T_EQ(ask(&w, 0, 1), 1);
    make_rounds(&w);
    store_stats(w.store, &before);
    for (int i = 0; i < 100; i++) {
        fake_clock_advance(&w.clock, (uint64_t)100 * MS);
        make_rounds(&w);
    }
    store_stats(w.store, &after);
    T_EQ(after.n_commits, before.n_commits);
    T_OK(!rates_is_due(w.rates[0]));
    close_world(&w);
}

TEST(key_that_is_used_again_after_a_while_is_counted_from_then)
{
    struct world w;
    new_world(&w, 2, 10, 30);
    T_EQ(ask(&w, 0, 20), 20);
    T_EQ(ask(&w, 1, 1), 1);
    make_rounds(&w);
    make_rounds(&w);
    for (int i = 0; i < 300; i++) {
        fake_clock_advance(&w.clock, (uint64_t)100 * MS);
        make_rounds(&w);
    }
    T_EQ(ask(&w, 1, 1), 1);
    make_rounds(&w);
    T_EQ(ask(&w, 0, 25), 25);
    fake_clock_advance(&w.clock, (uint64_t)100 * MS);
    make_rounds(&w);
    fake_clock_advance(&w.clock, (uint64_t)100 * MS);
    T_EQ(ask(&w, 1, 1), 1);
    make_rounds(&w);
    T_OK(ask(&w, 1, 30) <= 6);
    close_world(&w);
}

TEST(what_a_lost_node_wrote_goes)
{
    struct world w;
    struct doc doc;
    new_world(&w, 2, 10, 10);
    T_EQ(ask(&w, 0, 1), 1);
    make_rounds(&w);
    T_EQ(store_doc_get(w.store, (struct doc_key){SLICE("key-use"), SLICE("one")}, &doc), WEIR_OK);
    doc_fini(&doc);
    fake_clock_advance(&w.clock, (uint64_t)(RATES_LOST_MS + 1000) * MS);
    T_EQ(ask(&w, 1, 1), 1);
    T_OK(rates_is_due(w.rates[1]));
    T_EQ(rates_round(w.rates[1]), WEIR_OK);
    T_EQ(store_doc_get(w.store, (struct doc_key){SLICE("key-use"), SLICE("one")}, &doc),
         WEIR_NOT_FOUND);
    close_world(&w);
}

TEST(keys_without_a_rate_cost_nothing)
{
    struct world w;
    new_world(&w, 1, 0, 0);
    T_EQ(ask(&w, 0, 10), 10);
    T_OK(!rates_is_due(w.rates[0]));
    close_world(&w);
}
