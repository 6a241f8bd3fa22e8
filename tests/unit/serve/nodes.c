/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two nodes make of one store: each has tables of its own, and looks again when it is told
 * that the other changed something.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "serve/auth_cookie.h"
#include "serve/key_files.h"
#include "serve/link.h"
#include "serve/lives.h"
#include "serve/login_shared.h"
#include "t.h"

struct node {
    struct keys *keys;
    struct links *links;
    struct cookies *cookies;
};

struct world {
    struct store *store;
    struct fake_clock clock;
    struct node a, b;
};

static void open_node(struct world *w, struct node *n)
{
    T_EQ(keys_open(&n->keys, w->store, &w->clock.clock), WEIR_OK);
    T_EQ(links_open(&n->links, w->store, &w->clock.clock), WEIR_OK);
    T_EQ(cookies_open(&n->cookies, w->store, n->keys, &w->clock.clock), WEIR_OK);
    if (!n->keys || !n->links || !n->cookies) abort();
}

static void close_node(struct node *n)
{
    cookies_close(n->cookies);
    links_close(n->links);
    keys_close(n->keys);
}

static void new_world(struct world *w)
{
    struct store_options options = {.durability = STORE_DURABLE_NORMAL, .clock = &clock_system};
    fake_clock_init(&w->clock, 1000000);
    T_EQ(store_open(&w->store, t_temp_dir(), &options, NULL), WEIR_OK);
    open_node(w, &w->a);
    open_node(w, &w->b);
}

static void close_world(struct world *w)
{
    close_node(&w->a);
    close_node(&w->b);
    store_close(w->store);
}

static struct key_info make_key(struct keys *keys, char text[KEY_TEXT_BYTES])
{
    struct key_info info = {.label = "a label", .owner = "ada", .scopes = SCOPE_READ};
    T_EQ(keys_create(keys, &info, text), WEIR_OK);
    return info;
}

static enum weir_status find(struct node *n, const char *text)
{
    struct key_found found;
    return keys_find(n->keys, weir_slice_of(text), &found);
}

static void look_at_keys(struct node *n)
{
    T_EQ(keys_refresh(n->keys, SLICE("")), WEIR_OK);
}

TEST(key_made_on_one_node_is_good_on_the_other_after_a_look)
{
    struct world w;
    char text[KEY_TEXT_BYTES];
    new_world(&w);
    struct key_info info = make_key(w.a.keys, text);
    T_EQ(find(&w.b, text), WEIR_BAD_TOKEN);
    T_OK(!keys_knows(w.b.keys, weir_slice_of(info.name)));
    T_EQ(keys_refresh(w.b.keys, weir_slice_of(info.name)), WEIR_OK);
    T_OK(keys_knows(w.b.keys, weir_slice_of(info.name)));
    T_EQ(find(&w.b, text), WEIR_OK);
    close_world(&w);
}

TEST(key_revoked_on_one_node_is_refused_by_the_other_after_a_look)
{
    struct world w;
    char text[KEY_TEXT_BYTES];
    new_world(&w);
    struct key_info info = make_key(w.a.keys, text);
    look_at_keys(&w.b);
    T_EQ(find(&w.b, text), WEIR_OK);
    T_EQ(keys_revoke(w.a.keys, weir_slice_of(info.name)), WEIR_OK);
    look_at_keys(&w.b);
    T_EQ(find(&w.b, text), WEIR_BAD_TOKEN);
    T_EQ(keys_count(w.b.keys), 0);
    close_world(&w);
}

TEST(key_that_only_another_node_knows_is_revoked)
{
    struct world w;
    char text[KEY_TEXT_BYTES];
    new_world(&w);
    struct key_info info = make_key(w.a.keys, text);
    T_EQ(keys_revoke(w.b.keys, weir_slice_of(info.name)), WEIR_OK);
    look_at_keys(&w.a);
    T_EQ(find(&w.a, text), WEIR_BAD_TOKEN);
    T_EQ(keys_revoke(w.b.keys, SLICE("nosuchkey000")), WEIR_NOT_FOUND);
    close_world(&w);
}

TEST(key_that_the_store_has_no_more_is_gone_and_revoking_does_not_bring_it_back)
{
    struct world w;
    struct doc doc;
    char text[KEY_TEXT_BYTES];
    new_world(&w);
    struct key_info info = make_key(w.a.keys, text);
    struct doc_key key = {SLICE("key"), weir_slice_of(info.name)};
    look_at_keys(&w.b);
    struct commit *c = commit_new(64);
    commit_remove(c, key, DOC_ANY_VERSION);
    T_EQ(store_commit_wait(w.store, c).status, WEIR_OK);
    T_EQ(keys_revoke(w.b.keys, weir_slice_of(info.name)), WEIR_NOT_FOUND);
    T_EQ(store_doc_get(w.store, key, &doc), WEIR_NOT_FOUND);
    T_EQ(find(&w.a, text), WEIR_OK);
    T_EQ(keys_refresh(w.a.keys, weir_slice_of(info.name)), WEIR_OK);
    T_EQ(find(&w.a, text), WEIR_BAD_TOKEN);
    look_at_keys(&w.b);
    T_OK(!keys_knows(w.b.keys, weir_slice_of(info.name)));
    close_world(&w);
}

TEST(rate_goes_on_where_it_was_when_a_key_is_read_again)
{
    struct world w;
    char text[KEY_TEXT_BYTES];
    struct key_info info = {.owner = "ada", .scopes = SCOPE_READ, .rate_per_s = 1, .burst = 2};
    new_world(&w);
    T_EQ(keys_create(w.a.keys, &info, text), WEIR_OK);
    T_EQ(find(&w.a, text), WEIR_OK);
    T_EQ(find(&w.a, text), WEIR_OK);
    look_at_keys(&w.a);
    T_EQ(find(&w.a, text), WEIR_RATE_LIMIT);
    close_world(&w);
}

TEST(first_secret_is_one_for_both)
{
    struct world w;
    bool is_expired;
    struct link one = {.stream = SLICE("s"), .lasts_s = 60};
    struct link two = {.stream = SLICE("s"), .lasts_s = 60};
    new_world(&w);
    T_EQ(links_make(w.a.links, &one), WEIR_OK);
    T_EQ(links_make(w.b.links, &two), WEIR_OK);
    T_EQ_STR(weir_slice_of(one.token), two.token);
    T_EQ(links_check(w.b.links, one.stream, weir_slice_of(one.token), &is_expired), WEIR_OK);
    T_EQ(links_check(w.a.links, two.stream, weir_slice_of(two.token), &is_expired), WEIR_OK);
    close_world(&w);
}

TEST(links_end_everywhere_when_the_secret_is_rotated)
{
    struct world w;
    bool is_expired;
    struct link link = {.stream = SLICE("s"), .lasts_s = 60};
    new_world(&w);
    T_EQ(links_make(w.a.links, &link), WEIR_OK);
    T_EQ(links_check(w.b.links, link.stream, weir_slice_of(link.token), &is_expired),
         WEIR_BAD_TOKEN);
    T_EQ(links_refresh(w.b.links), WEIR_OK);
    T_EQ(links_check(w.b.links, link.stream, weir_slice_of(link.token), &is_expired), WEIR_OK);
    T_EQ(links_rotate(w.a.links), WEIR_OK);
    T_EQ(links_refresh(w.b.links), WEIR_OK);
    T_EQ(links_check(w.b.links, link.stream, weir_slice_of(link.token), &is_expired),
         WEIR_BAD_TOKEN);
    T_EQ(links_make(w.b.links, &link), WEIR_OK);
    T_EQ(links_check(w.a.links, link.stream, weir_slice_of(link.token), &is_expired), WEIR_OK);
    close_world(&w);
}

TEST(cookies_taken_back_by_two_nodes_are_all_refused_by_both)
{
    struct world w;
    struct cookie one, two, three, out;
    char key[KEY_TEXT_BYTES], first[COOKIE_BYTES], second[COOKIE_BYTES], third[COOKIE_BYTES];
    new_world(&w);
    struct key_info info = make_key(w.a.keys, key);
    struct weir_slice name = weir_slice_of(info.name);
    look_at_keys(&w.b);
    T_EQ(cookies_make(w.a.cookies, name, &one, first), WEIR_OK);
    T_EQ(cookies_make(w.b.cookies, name, &two, second), WEIR_OK);
    T_EQ(cookies_make(w.b.cookies, name, &three, third), WEIR_OK);
    T_OK(cookies_read(w.b.cookies, weir_slice_of(first), &out));
    T_OK(cookies_read(w.a.cookies, weir_slice_of(second), &out));
    T_EQ(cookies_revoke(w.a.cookies, &one), WEIR_OK);
    T_EQ(cookies_revoke(w.b.cookies, &two), WEIR_OK);
    T_EQ(cookies_refresh(w.a.cookies), WEIR_OK);
    T_EQ(cookies_refresh(w.b.cookies), WEIR_OK);
    T_OK(!cookies_read(w.a.cookies, weir_slice_of(first), &out));
    T_OK(!cookies_read(w.a.cookies, weir_slice_of(second), &out));
    T_OK(!cookies_read(w.b.cookies, weir_slice_of(first), &out));
    T_OK(!cookies_read(w.b.cookies, weir_slice_of(second), &out));
    T_OK(cookies_read(w.a.cookies, weir_slice_of(third), &out));
    /* A restart finds both in the document. */
    close_node(&w.a);
    open_node(&w, &w.a);
    T_OK(!cookies_read(w.a.cookies, weir_slice_of(first), &out));
    T_OK(!cookies_read(w.a.cookies, weir_slice_of(second), &out));
    close_world(&w);
}

TEST(sweep_of_one_node_keeps_what_another_added)
{
    struct world w;
    struct cookie old, fresh, out;
    char key[KEY_TEXT_BYTES], text[COOKIE_BYTES];
    new_world(&w);
    struct key_info info = make_key(w.a.keys, key);
    struct weir_slice name = weir_slice_of(info.name);
    look_at_keys(&w.b);
    T_EQ(cookies_make(w.a.cookies, name, &old, text), WEIR_OK);
    T_EQ(cookies_revoke(w.a.cookies, &old), WEIR_OK);
    fake_clock_advance(&w.clock, (uint64_t)(COOKIE_LIFE_S + 1) * 1000000000);
    T_EQ(cookies_refresh(w.b.cookies), WEIR_OK);
    T_EQ(cookies_make(w.b.cookies, name, &fresh, text), WEIR_OK);
    T_EQ(cookies_revoke(w.b.cookies, &fresh), WEIR_OK);
    cookies_sweep(w.a.cookies);
    close_node(&w.a);
    open_node(&w, &w.a);
    T_OK(!cookies_read(w.a.cookies, weir_slice_of(text), &out));
    close_world(&w);
}

/* ---- links that log in ---- */

static enum weir_status take(struct world *w, const char *token, struct login_taken *out)
{
    struct login_use use;
    struct commit *c = login_shared_use(&use, weir_slice_of(token), clock_wall_ms(&w->clock.clock));
    enum weir_status st = store_commit_wait(w->store, c).status;
    *out = use.taken;
    return st;
}

TEST(login_link_of_one_node_works_on_the_other_and_once)
{
    struct world w;
    struct login_link link;
    struct login_taken taken;
    new_world(&w);
    struct login_links *a = login_links_new(w.store, &w.clock.clock);
    T_OK(login_links_are_shared(a));
    T_EQ(login_links_make(a, SLICE("abcdefghjkmn"), &link), WEIR_OK);
    T_EQ(take(&w, link.token, &taken), WEIR_OK);
    T_EQ_STR(weir_slice_of(taken.key), "abcdefghjkmn");
    T_EQ(take(&w, link.token, &taken), WEIR_BAD_TOKEN);
    T_EQ_STR(weir_slice_of(taken.why), "the link was used already, and works once");
    T_EQ(login_links_make(a, SLICE("abcdefghjkmn"), &link), WEIR_OK);
    fake_clock_advance(&w.clock, (uint64_t)LOGIN_LINK_LIFE_S * 1000000000);
    T_EQ(take(&w, link.token, &taken), WEIR_BAD_TOKEN);
    T_EQ_STR(weir_slice_of(taken.why), "the link has expired");
    T_EQ(take(&w, "", &taken), WEIR_NOT_FOUND);
    login_links_free(a);
    close_world(&w);
}

static enum weir_status count_one(void *user, const struct doc *doc)
{
    size_t *n = user;
    (void)doc;
    ++*n;
    return WEIR_OK;
}

TEST(login_links_of_all_nodes_are_no_more_than_there_may_be)
{
    struct world w;
    struct login_link first, link;
    struct login_taken taken;
    size_t n = 0;
    const struct doc_query query = {.kind = SLICE("login-link"), .limit = SIZE_MAX};
    new_world(&w);
    struct login_links *a = login_links_new(w.store, &w.clock.clock);
    struct login_links *b = login_links_new(w.store, &w.clock.clock);
    T_EQ(login_links_make(a, SLICE("abcdefghjkmn"), &first), WEIR_OK);
    for (int i = 0; i < LOGIN_LINKS; i++) {
        fake_clock_advance(&w.clock, 1000000000);
        T_EQ(login_links_make(i % 2 == 0 ? a : b, SLICE("abcdefghjkmn"), &link), WEIR_OK);
    }
    T_EQ(take(&w, first.token, &taken), WEIR_NOT_FOUND);
    T_EQ(take(&w, link.token, &taken), WEIR_OK);
    /* When all have had their time, the next one takes their documents away. */
    fake_clock_advance(&w.clock, (uint64_t)2 * LOGIN_LINK_LIFE_S * 1000000000);
    T_EQ(login_links_make(a, SLICE("abcdefghjkmn"), &link), WEIR_OK);
    T_EQ(store_doc_list(w.store, &query, count_one, &n), WEIR_OK);
    T_EQ(n, 1);
    login_links_free(a);
    login_links_free(b);
    close_world(&w);
}

TEST(who_guesses_login_links_is_told_to_wait_on_each_node)
{
    struct world w;
    struct login_taken taken;
    new_world(&w);
    struct login_links *a = login_links_new(w.store, &w.clock.clock);
    for (int i = 0; i < LOGIN_MISSES; i++) T_EQ(login_links_miss(a, &taken), WEIR_BAD_TOKEN);
    T_EQ(login_links_miss(a, &taken), WEIR_RATE_LIMIT);
    T_OK(taken.retry_after_ms > 0);
    login_links_free(a);
    close_world(&w);
}

/* ---- who lives ---- */

static void pass(struct world *w, unsigned ms)
{
    fake_clock_advance(&w->clock, (uint64_t)ms * 1000000);
}

/* As often as it has to, and a little longer. */
static void look_for(struct world *w, struct lives *l, unsigned ms)
{
    const unsigned step_ms = LIVES_LEASE_MS / 2;
    for (unsigned passed_ms = 0; passed_ms <= ms; passed_ms += step_ms) {
        pass(w, step_ms);
        T_EQ(lives_round(l), WEIR_OK);
    }
}

TEST(node_that_does_not_renew_is_dead_after_the_lease)
{
    struct world w;
    struct lives *a, *b;
    new_world(&w);
    pass(&w, 1);
    T_EQ(lives_new(&a, w.store, "a", &w.clock.clock), WEIR_OK);
    T_EQ(lives_new(&b, w.store, "b", &w.clock.clock), WEIR_OK);
    T_EQ(lives_round(b), WEIR_OK);
    for (unsigned ms = 0; ms < 3 * LIVES_LEASE_MS; ms += 1000) {
        T_EQ(lives_round(a), WEIR_OK);
        T_EQ(lives_round(b), WEIR_OK);
        T_OK(!lives_is_dead(a, SLICE("b")));
        T_OK(!lives_is_dead(b, SLICE("a")));
        pass(&w, 1000);
    }
    look_for(&w, a, LIVES_LEASE_MS);
    T_OK(lives_is_dead(a, SLICE("b")));
    T_OK(!lives_is_dead(b, SLICE("b")));
    /* It was only asleep. */
    T_EQ(lives_round(b), WEIR_OK);
    T_EQ(lives_round(a), WEIR_OK);
    T_OK(!lives_is_dead(a, SLICE("b")));
    lives_free(a);
    lives_free(b);
    close_world(&w);
}

/* Nobody could renew, and one of them is the first that can again. */
TEST(nobody_is_dead_after_an_outage_longer_than_the_lease)
{
    struct world w;
    struct lives *a, *b;
    struct doc doc;
    new_world(&w);
    pass(&w, 1);
    T_EQ(lives_new(&a, w.store, "a", &w.clock.clock), WEIR_OK);
    T_EQ(lives_new(&b, w.store, "b", &w.clock.clock), WEIR_OK);
    T_EQ(lives_round(b), WEIR_OK);
    T_EQ(lives_round(a), WEIR_OK);
    pass(&w, LIVES_FORGET_MS + 1);
    T_OK(!lives_is_dead(a, SLICE("b"))); /* whoever asks before the round */
    T_EQ(lives_round(a), WEIR_OK);
    T_OK(!lives_is_dead(a, SLICE("b")));
    T_EQ(lives_count_others(a), 1);
    T_EQ(store_doc_get(w.store, (struct doc_key){SLICE("serve-node"), SLICE("b")}, &doc), WEIR_OK);
    doc_fini(&doc);
    /* From now on it has a lease again. */
    look_for(&w, a, LIVES_LEASE_MS);
    T_OK(lives_is_dead(a, SLICE("b")));
    lives_free(a);
    lives_free(b);
    close_world(&w);
}

TEST(node_that_says_goodbye_is_dead_at_once_and_forgotten_later)
{
    struct world w;
    struct lives *a, *b;
    struct doc doc;
    new_world(&w);
    pass(&w, 1);
    T_EQ(lives_new(&a, w.store, "a", &w.clock.clock), WEIR_OK);
    T_EQ(lives_new(&b, w.store, "b", &w.clock.clock), WEIR_OK);
    T_EQ(lives_round(b), WEIR_OK);
    T_EQ(lives_round(a), WEIR_OK);
    lives_end(b);
    T_EQ(lives_round(a), WEIR_OK);
    T_OK(lives_is_dead(a, SLICE("b")));
    T_OK(!lives_is_dead(a, SLICE("never-heard-of")));
    look_for(&w, a, LIVES_LEASE_MS);
    T_OK(lives_is_dead(a, SLICE("never-heard-of")));
    look_for(&w, a, LIVES_FORGET_MS);
    T_EQ(store_doc_get(w.store, (struct doc_key){SLICE("serve-node"), SLICE("b")}, &doc),
         WEIR_NOT_FOUND);
    lives_free(a);
    lives_free(b);
    close_world(&w);
}

/* More names than there is room for, one after the other. */
TEST(nodes_that_come_and_go_for_years_leave_room_for_new_ones)
{
    struct world w;
    struct lives *a;
    new_world(&w);
    pass(&w, 1);
    T_EQ(lives_new(&a, w.store, "a", &w.clock.clock), WEIR_OK);
    T_EQ(lives_round(a), WEIR_OK);
    for (int i = 0; i < LIVES_MAX; i++) {
        char node[16];
        snprintf(node, sizeof node, "n%d", i);
        T_OK(!lives_is_dead(a, weir_slice_of(node)));
    }
    look_for(&w, a, LIVES_LEASE_MS);
    T_OK(lives_is_dead(a, SLICE("n7")));
    T_OK(!lives_is_dead(a, SLICE("new"))); /* there is no room for it */
    look_for(&w, a, LIVES_FORGET_MS);
    T_OK(!lives_is_dead(a, SLICE("new")));
    look_for(&w, a, LIVES_LEASE_MS);
    T_OK(lives_is_dead(a, SLICE("new")));
    lives_free(a);
    close_world(&w);
}

/* ---- key files ---- */

static enum weir_status match(struct world *w, struct lives *lives, const char *ids)
{
    char error[KEY_FILES_ERROR_BYTES];
    const struct key_file file = {"shield.key", "/data/shield.key", ids};
    T_EQ(lives_say(lives, ids), WEIR_OK);
    enum weir_status st = key_files_match(w->store, lives, &file, error);
    T_EQ(st == WEIR_OK, error[0] == 0);
    return st;
}

TEST(key_files_have_to_be_the_same_and_are_rotated_in_two_steps)
{
    struct world w;
    struct lives *a, *b;
    new_world(&w);
    pass(&w, 1);
    T_EQ(lives_new(&a, w.store, "a", &w.clock.clock), WEIR_OK);
    T_EQ(lives_new(&b, w.store, "b", &w.clock.clock), WEIR_OK);
    lives_set_lease(a, LIVES_MIN_LEASE_MS);
    lives_set_lease(b, LIVES_MIN_LEASE_MS);
    T_EQ(match(&w, a, "one"), WEIR_OK);
    T_EQ(match(&w, b, "one"), WEIR_OK);
    T_EQ(match(&w, b, "two"), WEIR_INVALID);
    T_EQ(match(&w, b, "one"), WEIR_OK);
    /* Behind the first at first, on all nodes, and then before it: not after the first step of one.
     */
    T_EQ(match(&w, a, "one two"), WEIR_OK);
    T_EQ(match(&w, a, "two one"), WEIR_INVALID);
    /* Nothing was sealed with it: whoever has not heard of it starts. */
    T_EQ(match(&w, a, "one"), WEIR_OK);
    T_EQ(match(&w, a, "one two"), WEIR_OK);
    T_EQ(match(&w, b, "two one"), WEIR_OK);
    T_EQ(match(&w, a, "one two"), WEIR_OK);
    T_EQ(match(&w, a, "one"), WEIR_INVALID);
    /* What is old may go. */
    T_EQ(match(&w, a, "two"), WEIR_OK);
    T_EQ(match(&w, b, "one two"), WEIR_INVALID); /* the other cannot open the old one any more */
    lives_end(a);
    /* Nobody else lives: in one step. */
    T_EQ(match(&w, b, "three two"), WEIR_OK);
    T_EQ(match(&w, a, "two"), WEIR_INVALID);
    T_EQ(match(&w, a, "three"), WEIR_OK);
    lives_free(a);
    lives_free(b);
    close_world(&w);
}

/* One begins to seal with a key of its own while the other, which lacks it, asks if it may. */
TEST(of_two_files_that_do_not_go_together_one_is_refused_though_both_start_at_once)
{
    struct world w;
    struct lives *a, *b;
    new_world(&w);
    pass(&w, 1);
    T_EQ(lives_new(&a, w.store, "a", &w.clock.clock), WEIR_OK);
    T_EQ(lives_new(&b, w.store, "b", &w.clock.clock), WEIR_OK);
    lives_set_lease(b, LIVES_MIN_LEASE_MS);
    T_EQ(match(&w, a, "one"), WEIR_OK);
    T_EQ(lives_say(a, "two one"), WEIR_OK);
    T_EQ(match(&w, b, "one"), WEIR_INVALID);
    lives_free(a);
    lives_free(b);
    close_world(&w);
}

TEST(key_file_that_others_have_is_not_made_anew)
{
    struct world w;
    struct lives *a;
    char error[KEY_FILES_ERROR_BYTES] = "", path[1100];
    new_world(&w);
    T_EQ(lives_new(&a, w.store, "a", &w.clock.clock), WEIR_OK);
    snprintf(path, sizeof path, "%s/hooks.key", t_temp_dir());
    const struct key_file file = {"hooks.key", path, "one"};
    T_EQ(key_files_need(w.store, &file, error), WEIR_OK);
    T_EQ(key_files_match(w.store, a, &file, error), WEIR_OK);
    T_EQ(key_files_need(w.store, &file, error), WEIR_NOT_FOUND);
    T_OK(strstr(error, "copy hooks.key from the data folder of another node"));
    FILE *f = fopen(path, "w");
    T_OK(f);
    if (f) fclose(f);
    T_EQ(key_files_need(w.store, &file, error), WEIR_OK);
    lives_free(a);
    close_world(&w);
}
