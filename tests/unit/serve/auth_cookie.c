/* SPDX-License-Identifier: Apache-2.0 */
/* Cookies: texts in every way that is wrong, their life over a real store, and whose page asks. */
#include "serve/auth_cookie.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

enum { MS = 1000000 };

static const int64_t NOW_MS = 1794828977219;

/* ---- with a store ---- */

struct world {
    struct store *store;
    struct keys *keys;
    struct cookies *cookies;
    struct fake_clock clock;
    char folder[512];
    char name[KEY_NAME_BYTES + 1];
};

static void open_world(struct world *w)
{
    struct store_options options = {.durability = STORE_DURABLE_NORMAL, .clock = &clock_system};
    T_EQ(store_open(&w->store, w->folder, &options, NULL), WEIR_OK);
    T_EQ(keys_open(&w->keys, w->store, &w->clock.clock), WEIR_OK);
    T_EQ(cookies_open(&w->cookies, w->store, w->keys, &w->clock.clock), WEIR_OK);
    if (!w->cookies) abort();
}

static void close_world(struct world *w)
{
    cookies_close(w->cookies);
    keys_close(w->keys);
    store_close(w->store);
}

static void restart(struct world *w)
{
    close_world(w);
    open_world(w);
}

static void add_key(struct world *w, const struct key_info *wish)
{
    char text[KEY_TEXT_BYTES];
    struct key_info info = *wish;
    T_EQ(keys_create(w->keys, &info, text), WEIR_OK);
    memcpy(w->name, info.name, sizeof w->name);
}

static unsigned n_worlds;

static void new_world(struct world *w)
{
    memset(w, 0, sizeof *w);
    fake_clock_init(&w->clock, NOW_MS);
    snprintf(w->folder, sizeof w->folder, "%s/%u", t_temp_dir(), n_worlds++);
    T_EQ(mkdir(w->folder, 0700), 0);
    open_world(w);
    add_key(w, &(struct key_info){.owner = "ann", .scopes = SCOPE_READ | SCOPE_WRITE});
}

struct made {
    struct cookie cookie;
    char text[COOKIE_BYTES];
};

static struct made make(struct world *w)
{
    struct made m;
    T_EQ(cookies_make(w->cookies, weir_slice_of(w->name), &m.cookie, m.text), WEIR_OK);
    return m;
}

static enum weir_status find_text(struct world *w, struct weir_slice text)
{
    struct key_found found;
    struct cookie cookie;
    return cookies_find(w->cookies, text, &found, &cookie);
}

static enum weir_status find(struct world *w, const struct made *m)
{
    return find_text(w, weir_slice_of(m->text));
}

TEST(cookie_has_the_rights_of_its_key_and_says_so)
{
    struct world w;
    struct key_found found;
    struct cookie cookie;
    new_world(&w);
    struct made m = make(&w);
    T_EQ(cookies_find(w.cookies, weir_slice_of(m.text), &found, &cookie), WEIR_OK);
    T_EQ_STR(weir_slice_of(found.access.owner), "ann");
    T_EQ(found.access.scopes, SCOPE_READ | SCOPE_WRITE);
    T_OK(found.access.is_cookie);
    T_EQ(cookie.expires_ms, NOW_MS + COOKIE_LIFE_S * 1000ll);
    T_OK(strlen(m.text) < COOKIE_BYTES);
    close_world(&w);
}

TEST(cookie_with_any_byte_changed_cut_or_added_is_refused)
{
    struct world w;
    new_world(&w);
    struct made m = make(&w);
    size_t len = strlen(m.text);
    for (size_t i = 0; i < len; i++) {
        char right = m.text[i];
        for (int c = 0; c < 256; c++) {
            m.text[i] = (char)c;
            if (m.text[i] != right) T_EQ(find_text(&w, slice_of(m.text, len)), WEIR_BAD_TOKEN);
        }
        m.text[i] = right;
        char *part = malloc(i > 0 ? i : 1);
        memcpy(part, m.text, i);
        T_EQ(find_text(&w, slice_of(part, i)), WEIR_BAD_TOKEN);
        free(part);
        char longer[COOKIE_BYTES + 1];
        memcpy(longer, m.text, i);
        longer[i] = '0';
        memcpy(longer + i + 1, m.text + i, len - i);
        T_EQ(find_text(&w, slice_of(longer, len + 1)), WEIR_BAD_TOKEN);
    }
    T_EQ(find_text(&w, slice_of(NULL, 0)), WEIR_BAD_TOKEN);
    T_EQ(find(&w, &m), WEIR_OK);
    close_world(&w);
}

TEST(cookie_of_another_store_or_of_no_store_at_all_is_refused)
{
    struct world w, other;
    new_world(&w);
    struct made m = make(&w);
    new_world(&other);
    T_EQ(find(&other, &m), WEIR_BAD_TOKEN); /* there is no secret yet */
    (void)make(&other);
    memcpy(m.text + 2, other.name, KEY_NAME_BYTES);
    T_EQ(find(&other, &m), WEIR_BAD_TOKEN);
    close_world(&other);
    close_world(&w);
}

TEST(cookie_lasts_to_its_last_millisecond_over_restarts)
{
    struct world w;
    new_world(&w);
    struct made m = make(&w);
    restart(&w);
    fake_clock_advance(&w.clock, (COOKIE_LIFE_S * 1000ull - 1) * MS);
    T_EQ(find(&w, &m), WEIR_OK);
    fake_clock_advance(&w.clock, MS);
    T_EQ(find(&w, &m), WEIR_BAD_TOKEN);
    close_world(&w);
}

TEST(cookie_dies_with_its_key)
{
    struct world w;
    new_world(&w);
    struct made m = make(&w);
    T_EQ(keys_revoke(w.keys, weir_slice_of(w.name)), WEIR_OK);
    T_EQ(find(&w, &m), WEIR_BAD_TOKEN);
    restart(&w);
    T_EQ(find(&w, &m), WEIR_BAD_TOKEN);
    add_key(&w, &(struct key_info){.owner = "ann", .scopes = SCOPE_READ, .lasts_s = 60});
    m = make(&w);
    T_EQ(m.cookie.expires_ms, NOW_MS + 60 * 1000);
    T_EQ(find(&w, &m), WEIR_OK);
    fake_clock_advance(&w.clock, 60000ull * MS);
    T_EQ(find(&w, &m), WEIR_BAD_TOKEN);
    struct made no;
    T_EQ(cookies_make(w.cookies, SLICE("zzzzzzzzzzzz"), &no.cookie, no.text), WEIR_NOT_FOUND);
    close_world(&w);
}

TEST(rate_and_prefix_are_the_keys)
{
    struct world w;
    struct key_found found;
    struct cookie cookie;
    new_world(&w);
    add_key(&w, &(struct key_info){
                    .scopes = SCOPE_READ, .prefix = "a/", .rate_per_s = 0.001, .burst = 2});
    struct made m = make(&w);
    T_EQ(cookies_find(w.cookies, weir_slice_of(m.text), &found, &cookie), WEIR_OK);
    T_OK(found.access.prefix && strcmp(found.access.prefix, "a/") == 0);
    T_EQ(find(&w, &m), WEIR_OK);
    T_EQ(cookies_find(w.cookies, weir_slice_of(m.text), &found, &cookie), WEIR_RATE_LIMIT);
    T_OK(found.retry_after_ms > 0);
    T_OK(cookies_read(w.cookies, weir_slice_of(m.text), &cookie)); /* takes none */
    close_world(&w);
}

TEST(cookie_that_was_taken_back_stays_so_and_others_go_on)
{
    struct world w;
    new_world(&w);
    struct made a = make(&w), b = make(&w);
    T_EQ(cookies_revoke(w.cookies, &a.cookie), WEIR_OK);
    T_EQ(cookies_revoke(w.cookies, &a.cookie), WEIR_OK);
    T_EQ(find(&w, &a), WEIR_BAD_TOKEN);
    T_EQ(find(&w, &b), WEIR_OK);
    restart(&w);
    T_EQ(find(&w, &a), WEIR_BAD_TOKEN);
    T_EQ(find(&w, &b), WEIR_OK);
    cookies_sweep(w.cookies); /* too early */
    T_EQ(find(&w, &a), WEIR_BAD_TOKEN);
    close_world(&w);
}

static enum weir_status count_one(void *user, const struct doc *doc)
{
    (void)doc;
    ++*(int *)user;
    return WEIR_OK;
}

static int n_documents(struct world *w)
{
    int n = 0;
    struct doc_query query = {.kind = SLICE("cookie"), .limit = 100};
    T_EQ(store_doc_list(w->store, &query, count_one, &n), WEIR_OK);
    return n;
}

TEST(more_than_there_is_room_for_takes_all_of_that_key_back)
{
    struct world w;
    new_world(&w);
    struct made quiet = make(&w);
    char first[sizeof w.name];
    memcpy(first, w.name, sizeof first);
    add_key(&w, &(struct key_info){.scopes = SCOPE_READ});
    struct made others = make(&w);
    memcpy(w.name, first, sizeof first);
    for (int i = 0; i < COOKIES_REVOKED; i++) {
        struct made m = make(&w);
        T_EQ(cookies_revoke(w.cookies, &m.cookie), WEIR_OK);
    }
    T_EQ(find(&w, &quiet), WEIR_OK);
    struct made last = make(&w);
    T_EQ(cookies_revoke(w.cookies, &last.cookie), WEIR_OK);
    T_EQ(find(&w, &last), WEIR_BAD_TOKEN);
    T_EQ(find(&w, &quiet), WEIR_BAD_TOKEN);
    T_EQ(find(&w, &others), WEIR_OK);
    struct made fresh = make(&w); /* in the same millisecond */
    T_EQ(find(&w, &fresh), WEIR_OK);
    restart(&w);
    T_EQ(find(&w, &quiet), WEIR_BAD_TOKEN);
    T_EQ(find(&w, &fresh), WEIR_OK);
    T_EQ(n_documents(&w), 1);
    fake_clock_advance(&w.clock, (COOKIE_LIFE_S * 1000ull + 1) * MS);
    cookies_sweep(w.cookies);
    T_EQ(n_documents(&w), 0);
    struct made again = make(&w);
    T_EQ(find(&w, &again), WEIR_OK);
    close_world(&w);
}

TEST(memory_that_cannot_be_had_is_said)
{
    struct world w;
    new_world(&w);
    struct made m = make(&w);
    for (uint64_t n = 1; n <= 6; n++) {
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        enum weir_status st = cookies_revoke(w.cookies, &m.cookie);
        fault_disarm_all();
        T_OK(st == WEIR_OK || st == WEIR_NOMEM);
        if (st == WEIR_OK) T_EQ(find(&w, &m), WEIR_BAD_TOKEN);
    }
    close_world(&w);
}

/* ---- fields ---- */

TEST(ours_is_found_among_others)
{
    static const struct {
        const char *field, *value; /* of all, with commas; NULL: there is none */
    } cases[] = {
        {"weir_session=a.b", "a.b"},
        {"x=1; weir_session=a; y=2", "a"},
        {"x=1;weir_session=a", "a"},
        {"weir_session=", ""},
        {"  weir_session=a  ", "a"},
        {"weir_session=a=b", "a=b"},
        {"weir_session=a; weir_session=b", "a,b"},
        {"weir_session=; x=1;weir_session=b;", ",b"},
        {"__Host-weir_session=a; weir_session=b", "b"},
        {"", NULL},
        {"weir_session", NULL},
        {"xweir_session=a", NULL},
        {"weir_sessions=a", NULL},
        {"Weir_Session=a", NULL},
        {";;; ;", NULL},
        {"x=weir_session=a", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char all[64] = "";
        unsigned n = 0;
        struct weir_slice value;
        struct weir_slice rest = weir_slice_of(cases[i].field);
        for (; cookie_next(&rest, cookie_name(false), &value); n++)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s%.*s", n > 0 ? "," : "",
                     (int)value.len, value.ptr);
        T_EQ(n > 0, cases[i].value != NULL);
        if (cases[i].value) T_EQ_STR(weir_slice_of(all), cases[i].value);
    }
    struct weir_slice value = {0};
    struct weir_slice field = SLICE("weir_session=a; __Host-weir_session=b; __host-weir_session=c");
    T_OK(cookie_next(&field, cookie_name(true), &value));
    T_EQ_STR(value, "b");
    T_OK(!cookie_next(&field, cookie_name(true), &value));
}

TEST(field_keeps_pages_and_other_sites_away)
{
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    cookie_put(&out, "a", 60, true);
    T_EQ_STR(weir_buf_slice(&out),
             "__Host-weir_session=a; HttpOnly; SameSite=Strict; Path=/; Max-Age=60; Secure");
    weir_buf_reset(&out);
    cookie_put(&out, "", 0, false);
    T_EQ_STR(weir_buf_slice(&out), "weir_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    weir_buf_fini(&out);
}

TEST(own_page_is_told_from_others)
{
    static const struct {
        const char *origin, *scheme, *host, *public_url;
        bool is_own;
    } cases[] = {
        {"http://localhost:8080", "http", "localhost:8080", NULL, true},
        {"HTTP://LocalHost:8080", "http", "localhost:8080", NULL, true},
        {"http://a.example", "http", "a.example", NULL, true},
        {"http://a.example:80", "http", "a.example", NULL, true},
        {"http://a.example", "http", "a.example:80", NULL, true},
        {"https://a.example", "https", "a.example:443", NULL, true},
        {"http://[::1]:8080", "http", "[::1]:8080", NULL, true},
        {"http://localhost:8081", "http", "localhost:8080", NULL, false},
        {"https://localhost:8080", "http", "localhost:8080", NULL, false},
        {"http://a.example", "https", "a.example", NULL, false},
        {"http://a.example:443", "http", "a.example", NULL, false},
        {"http://b.a.example", "http", "a.example", NULL, false},
        {"http://a.example.evil", "http", "a.example", NULL, false},
        {"http://evil/a.example", "http", "a.example", NULL, false},
        {"null", "http", "a.example", NULL, false},
        {"", "http", "a.example", NULL, false},
        {"http://", "http", "", NULL, false},
        {"a.example", "http", "a.example", NULL, false},
        {"https://streams.example", "http", "10.0.0.1:8080", "https://streams.example", true},
        {"https://streams.example", "http", "10.0.0.1", "https://streams.example:443/weir", true},
        {"http://streams.example", "http", "10.0.0.1:8080", "https://streams.example", false},
        {"https://other.example", "http", "10.0.0.1:8080", "https://streams.example", false},
        {"http://10.0.0.1:8080", "http", "10.0.0.1:8080", "https://streams.example", true},
        {"https://a.example", "http", "a.example", "https://a.example", true},
        {"http://a.example", "http", "a.example", "https://a.example", false},
        {"http://a.example", "http", "A.Example:443", "https://a.example/weir", false},
        {"http://a.example", "http", "a.example", "https://a.example:8443", false},
        {"http://a.example:8080", "http", "a.example:8080", "https://a.example", false},
        {"http://a.example", "https", "a.example", "https://a.example", false},
        {"https://a.example:8443", "https", "a.example:8443", "https://a.example", true},
        {"http://a.example", "http", "a.example", "http://a.example", true},
        {"http://[::1]:8080", "http", "[::1]:8080", "https://[::2]", true},
        {"http://[::1]:8080", "http", "[::1]:8080", "https://[::1]", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct own_origin own = {.scheme = cases[i].scheme,
                                       .host = weir_slice_of(cases[i].host),
                                       .public_url = cases[i].public_url};
        T_EQ(origin_is_own(weir_slice_of(cases[i].origin), &own), cases[i].is_own);
    }
}
