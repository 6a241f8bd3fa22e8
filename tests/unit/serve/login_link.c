/* SPDX-License-Identifier: Apache-2.0 */
/* Links that log in: once, for a while, whoever tries; and the key that a page's link stands for.
 */
#include "serve/login_link.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/slice.h"
#include "serve/server.h"
#include "t.h"

enum { MS = 1000000, TAKERS = 8 };

static const int64_t NOW_MS = 1794828977219;
static const char key_a[] = "aaaaaaaaaaaa";
static const char key_b[] = "bbbbbbbbbbbb";

struct desk {
    struct fake_clock clock;
    struct login_links *links;
};

static void open_desk(struct desk *d)
{
    fake_clock_init(&d->clock, NOW_MS);
    d->links = login_links_new(NULL, &d->clock.clock);
    if (!d->links) abort();
}

static struct login_link make(struct desk *d, const char *key)
{
    struct login_link link;
    T_EQ(login_links_make(d->links, weir_slice_of(key), &link), WEIR_OK);
    return link;
}

/* Whether it is refused, and with which words. */
static void refuses(struct desk *d, const char *token, enum weir_status st, const char *words)
{
    struct login_taken taken;
    T_EQ(login_links_take(d->links, weir_slice_of(token), &taken), st);
    T_OK(taken.why && strstr(taken.why, words));
    T_EQ(taken.key[0], 0);
}

static void opens(struct desk *d, const char *token, const char *key)
{
    struct login_taken taken;
    T_EQ(login_links_take(d->links, weir_slice_of(token), &taken), WEIR_OK);
    T_EQ_STR(weir_slice_of(taken.key), key);
}

TEST(link_opens_its_own_key_once)
{
    struct desk d;
    open_desk(&d);
    struct login_link a = make(&d, key_a);
    struct login_link b = make(&d, key_b);
    T_EQ(strlen(a.token), LOGIN_TOKEN_BYTES - 1);
    T_EQ(a.expires_ms, NOW_MS + LOGIN_LINK_LIFE_S * 1000);
    opens(&d, b.token, key_b);
    opens(&d, a.token, key_a);
    refuses(&d, a.token, WEIR_BAD_TOKEN, "used already");
    refuses(&d, b.token, WEIR_BAD_TOKEN, "used already");
    login_links_free(d.links);
}

TEST(link_expires_to_the_millisecond)
{
    struct desk d;
    open_desk(&d);
    struct login_link a = make(&d, key_a);
    struct login_link b = make(&d, key_b);
    fake_clock_advance(&d.clock, ((uint64_t)LOGIN_LINK_LIFE_S * 1000 - 1) * MS);
    opens(&d, a.token, key_a);
    fake_clock_advance(&d.clock, MS);
    refuses(&d, b.token, WEIR_BAD_TOKEN, "expired");
    refuses(&d, b.token, WEIR_BAD_TOKEN, "expired");
    login_links_free(d.links);
}

TEST(what_is_no_token_opens_nothing)
{
    struct desk d;
    char text[LOGIN_TOKEN_BYTES + 1];
    open_desk(&d);
    struct login_link a = make(&d, key_a);
    refuses(&d, "", WEIR_BAD_TOKEN, "no such link");
    for (size_t i = 0; i + 1 < LOGIN_TOKEN_BYTES; i += 7) {
        memcpy(text, a.token, LOGIN_TOKEN_BYTES);
        text[i] = text[i] == 'A' ? 'B' : 'A';
        refuses(&d, text, WEIR_BAD_TOKEN, "no such link");
    }
    memcpy(text, a.token, LOGIN_TOKEN_BYTES);
    text[LOGIN_TOKEN_BYTES - 2] = 0;
    refuses(&d, text, WEIR_BAD_TOKEN, "no such link");
    snprintf(text, sizeof text, "%sA", a.token);
    refuses(&d, text, WEIR_BAD_TOKEN, "no such link");
    opens(&d, a.token, key_a);
    login_links_free(d.links);
}

TEST(who_tries_is_told_to_wait_and_keeps_nobody_out)
{
    struct desk d;
    struct login_taken taken;
    open_desk(&d);
    struct login_link a = make(&d, key_a);
    struct login_link b = make(&d, key_b);
    for (unsigned i = 0; i < LOGIN_MISSES; i++) refuses(&d, "x", WEIR_BAD_TOKEN, "no such link");
    fake_clock_advance(&d.clock, 1000ull * MS);
    for (unsigned i = 0; i < 1000; i++) refuses(&d, "x", WEIR_RATE_LIMIT, "too many");
    T_EQ(login_links_take(d.links, SLICE("x"), &taken), WEIR_RATE_LIMIT);
    T_OK(taken.retry_after_ms > LOGIN_MISSES_MS - 1500 && taken.retry_after_ms <= LOGIN_MISSES_MS);
    opens(&d, a.token, key_a);
    refuses(&d, a.token, WEIR_BAD_TOKEN, "used already");
    fake_clock_advance(&d.clock, (uint64_t)LOGIN_MISSES_MS * MS);
    refuses(&d, "x", WEIR_BAD_TOKEN, "no such link");
    opens(&d, b.token, key_b);
    login_links_free(d.links);
}

TEST(one_link_too_many_ends_what_is_of_no_use_before_the_oldest)
{
    struct desk d;
    struct login_link all[LOGIN_LINKS];
    open_desk(&d);
    for (unsigned i = 0; i < LOGIN_LINKS; i++) {
        all[i] = make(&d, key_a);
        fake_clock_advance(&d.clock, MS);
    }
    opens(&d, all[3].token, key_a);
    make(&d, key_b); /* in the place of the one that was used */
    refuses(&d, all[3].token, WEIR_BAD_TOKEN, "no such link");
    make(&d, key_b); /* in the place of the oldest */
    refuses(&d, all[0].token, WEIR_BAD_TOKEN, "no such link");
    for (unsigned i = 1; i < LOGIN_LINKS; i++)
        if (i != 3) opens(&d, all[i].token, key_a);
    login_links_free(d.links);
}

struct taker {
    struct desk *desk;
    const char *token;
    enum weir_status status;
};

static void *take(void *user)
{
    struct taker *t = user;
    struct login_taken taken;
    t->status = login_links_take(t->desk->links, weir_slice_of(t->token), &taken);
    return NULL;
}

TEST(of_many_at_once_one_gets_in)
{
    struct desk d;
    pthread_t threads[TAKERS];
    struct taker takers[TAKERS];
    unsigned n_in = 0;
    open_desk(&d);
    struct login_link a = make(&d, key_a);
    for (unsigned i = 0; i < TAKERS; i++) {
        takers[i] = (struct taker){.desk = &d, .token = a.token};
        T_EQ(pthread_create(&threads[i], NULL, take, &takers[i]), 0);
    }
    for (unsigned i = 0; i < TAKERS; i++) {
        pthread_join(threads[i], NULL);
        n_in += takers[i].status == WEIR_OK;
    }
    T_EQ(n_in, 1);
    login_links_free(d.links);
}

TEST(without_memory_there_are_none)
{
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    T_OK(!login_links_new(NULL, &clock_system));
    fault_disarm_all();
    login_links_free(NULL);
}

/* ---- the key of the page ---- */

struct world {
    struct store *store;
    struct keys *keys;
    struct fake_clock clock;
};

static void open_world(struct world *w)
{
    char folder[512];
    struct store_options options = {.durability = STORE_DURABLE_NORMAL, .clock = &clock_system};
    snprintf(folder, sizeof folder, "%s/data", t_temp_dir());
    fake_clock_init(&w->clock, NOW_MS);
    T_EQ(store_open(&w->store, folder, &options, NULL), WEIR_OK);
    T_EQ(keys_open(&w->keys, w->store, &w->clock.clock), WEIR_OK);
    if (!w->keys) abort();
}

static void close_world(struct world *w)
{
    keys_close(w->keys);
    store_close(w->store);
}

TEST(page_has_one_key_of_its_own_for_each_owner)
{
    struct world w;
    struct key_info info;
    char text[KEY_TEXT_BYTES];
    char first[KEY_NAME_BYTES + 1], again[KEY_NAME_BYTES + 1], other[KEY_NAME_BYTES + 1];
    struct key_info not_ours[] = {
        {.label = "page", .owner = "me", .scopes = SCOPE_ANY},
        {.label = "page", .owner = "me", .scopes = SCOPE_READ},
        {.label = "page", .owner = "me", .scopes = SCOPE_READ | SCOPE_WRITE, .prefix = "a/"},
        {.label = "page", .owner = "me", .scopes = SCOPE_READ | SCOPE_WRITE, .lasts_s = 60},
        {.label = "pages", .owner = "me", .scopes = SCOPE_READ | SCOPE_WRITE},
    };
    open_world(&w);
    for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++)
        T_EQ(keys_create(w.keys, &not_ours[i], text), WEIR_OK);
    T_EQ(login_page_key(w.keys, SLICE("me"), first), WEIR_OK);
    for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++)
        T_OK(strcmp(not_ours[i].name, first) != 0);
    T_OK(keys_get(w.keys, weir_slice_of(first), &info));
    T_EQ(info.scopes, SCOPE_READ | SCOPE_WRITE);
    T_EQ_STR(weir_slice_of(info.owner), "me");
    T_EQ_STR(weir_slice_of(info.label), "page");
    T_EQ(login_page_key(w.keys, SLICE("me"), again), WEIR_OK);
    T_EQ_STR(weir_slice_of(again), first);
    T_EQ(login_page_key(w.keys, SLICE("anna"), other), WEIR_OK);
    T_OK(strcmp(first, other) != 0);
    T_EQ(keys_revoke(w.keys, weir_slice_of(first)), WEIR_OK);
    T_EQ(login_page_key(w.keys, SLICE("me"), again), WEIR_OK);
    T_OK(strcmp(first, again) != 0);
    close_world(&w);
}

TEST(page_key_needs_memory_and_says_so)
{
    struct world w;
    char name[KEY_NAME_BYTES + 1];
    open_world(&w);
    for (unsigned n = 1; n < 3; n++) {
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        T_EQ(login_page_key(w.keys, SLICE("me"), name), WEIR_NOMEM);
        fault_disarm_all();
    }
    T_EQ(keys_count(w.keys), 0);
    close_world(&w);
}

/* ---- addresses ---- */

TEST(address_is_one_that_a_browser_can_go_to)
{
    static const char *const cases[][2] = {
        {"http://127.0.0.1:8080", "http://127.0.0.1:8080/#/link/T"},
        {"http://0.0.0.0:8080", "http://127.0.0.1:8080/#/link/T"},
        {"https://[::]:443", "https://[::1]:443/#/link/T"},
        {"http://[::1]:80", "http://[::1]:80/#/link/T"},
        {"http://10.0.0.0:80", "http://10.0.0.0:80/#/link/T"},
        {"https://weir.example", "https://weir.example/#/link/T"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_buf url;
        weir_buf_init(&url, LOGIN_URL_BYTES);
        login_link_put_url(&url, cases[i][0], "T");
        T_EQ_STR(weir_buf_slice(&url), cases[i][1]);
        weir_buf_fini(&url);
    }
}

static void has_address(const char *listen, const char *public_url, const char *wanted)
{
    static unsigned n_folders;
    char folder[512];
    struct server *s;
    struct server_options o;
    struct server_error error;
    struct weir_buf url;
    snprintf(folder, sizeof folder, "%s/server-%u", t_temp_dir(), n_folders++);
    server_options_init(&o);
    o.folder = folder;
    o.listen[0] = listen;
    o.n_listen = 1;
    o.is_confined = false;
    o.public_url = public_url;
    T_EQ(server_new(&s, &o, &error), WEIR_OK);
    weir_buf_init(&url, LOGIN_URL_BYTES);
    T_EQ(login_link_offer(s, &url), WEIR_OK);
    weir_buf_append_char(&url, 0);
    T_OK(url.len > 1 && strncmp(url.ptr, wanted, strlen(wanted)) == 0);
    const char *at = strstr(url.ptr, "/#/link/");
    T_OK(at && strlen(at) == 8 + LOGIN_TOKEN_BYTES - 1);
    weir_buf_fini(&url);
    server_free(s);
}

TEST(offer_is_by_the_public_address_if_there_is_one)
{
    has_address("127.0.0.1:0", NULL, "http://127.0.0.1:");
    has_address("127.0.0.1:0", "https://weir.example", "https://weir.example/#/link/");
}
