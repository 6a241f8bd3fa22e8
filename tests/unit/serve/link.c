/* SPDX-License-Identifier: Apache-2.0 */
/* Links: tokens in every way that is wrong, and their secret over a real store. */
#include "serve/link.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

enum { MS = 1000000, NOW_S = 1763230000 };

static const unsigned char secret[LINK_SECRET_BYTES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                        11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                        22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* ---- tokens ---- */

static bool reads(const char *stream, struct weir_slice token)
{
    int64_t expires_s;
    return link_read(secret, weir_slice_of(stream), token, &expires_s);
}

TEST(token_is_what_others_compute)
{
    char token[LINK_TOKEN_BYTES];
    int64_t expires_s;
    link_write(secret, SLICE("chat/\u00e4"), NOW_S, token);
    T_EQ_STR(weir_slice_of(token), "1.1763230000.Ovry9EowISKnTntkw0GZDAb6OtPCpPl1Hc_fr9z8AFY");
    T_OK(link_read(secret, SLICE("chat/\u00e4"), weir_slice_of(token), &expires_s));
    T_EQ(expires_s, NOW_S);
}

TEST(token_with_any_byte_changed_is_refused)
{
    char token[LINK_TOKEN_BYTES];
    link_write(secret, SLICE("a"), NOW_S, token);
    size_t len = strlen(token);
    T_OK(reads("a", slice_of(token, len)));
    for (size_t i = 0; i < len; i++) {
        char right = token[i];
        for (int c = 0; c < 256; c++) {
            token[i] = (char)c;
            if (token[i] != right) T_OK(!reads("a", slice_of(token, len)));
        }
        token[i] = right;
    }
}

TEST(token_cut_or_longer_anywhere_is_refused)
{
    char token[LINK_TOKEN_BYTES];
    link_write(secret, SLICE("a"), NOW_S, token);
    size_t len = strlen(token);
    for (size_t cut = 0; cut < len; cut++) {
        /* From memory just as large, so that a sanitizer sees a byte too many. */
        char *part = malloc(cut > 0 ? cut : 1);
        memcpy(part, token, cut);
        T_OK(!reads("a", slice_of(part, cut)));
        free(part);
        T_OK(!reads("a", slice_of(token + cut + 1, len - cut - 1)));
    }
    for (size_t at = 0; at <= len; at++) {
        char longer[LINK_TOKEN_BYTES + 1];
        memcpy(longer, token, at);
        longer[at] = '0';
        memcpy(longer + at + 1, token + at, len - at);
        T_OK(!reads("a", slice_of(longer, len + 1)));
    }
    T_OK(!reads("a", slice_of(NULL, 0)));
}

TEST(token_is_for_one_stream)
{
    static const char *const others[] = {"", "A", "aa", "a/", "/a", "b", "a\n", "1.1763230000.\na"};
    char token[LINK_TOKEN_BYTES];
    char longest[201];
    link_write(secret, SLICE("a"), NOW_S, token);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        T_OK(!reads(others[i], weir_slice_of(token)));
    memset(longest, 'x', sizeof longest);
    T_OK(!link_read(secret, slice_of(longest, 201), weir_slice_of(token), &(int64_t){0}));
    link_write(secret, slice_of(longest, 200), NOW_S, token);
    T_OK(link_read(secret, slice_of(longest, 200), weir_slice_of(token), &(int64_t){0}));
    longest[199] = 'y';
    T_OK(!link_read(secret, slice_of(longest, 200), weir_slice_of(token), &(int64_t){0}));
}

TEST(token_of_another_secret_is_refused)
{
    char token[LINK_TOKEN_BYTES];
    unsigned char other[LINK_SECRET_BYTES];
    for (size_t i = 0; i < sizeof other; i++) {
        memcpy(other, secret, sizeof other);
        other[i] ^= 1;
        link_write(other, SLICE("a"), NOW_S, token);
        T_OK(!reads("a", weir_slice_of(token)));
    }
}

TEST(times_at_the_edges_have_their_token)
{
    static const int64_t times[] = {0, 1, 9, 10, 99999999999 / 10, 95617584000};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char token[LINK_TOKEN_BYTES];
        int64_t expires_s;
        link_write(secret, SLICE("a"), times[i], token);
        T_OK(link_read(secret, SLICE("a"), weir_slice_of(token), &expires_s));
        T_EQ(expires_s, times[i]);
    }
    T_OK(!reads("a", SLICE("1.95617584001.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")));
    T_OK(!reads("a", SLICE("1.99999999999.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")));
    T_OK(!reads("a", SLICE("1.9999999999999999999999999999999999999999999999999999999")));
    T_OK(!reads("a", SLICE("1.-5.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")));
}

/* ---- with a store ---- */

struct world {
    struct store *store;
    struct links *links;
    struct fake_clock clock;
    const char *folder;
};

static void open_world(struct world *w)
{
    struct store_options options = {.durability = STORE_DURABLE_NORMAL, .clock = &clock_system};
    T_EQ(store_open(&w->store, w->folder, &options, NULL), WEIR_OK);
    T_EQ(links_open(&w->links, w->store, &w->clock.clock), WEIR_OK);
    if (!w->links) abort();
}

static void close_world(struct world *w)
{
    links_close(w->links);
    store_close(w->store);
}

static void new_world(struct world *w)
{
    fake_clock_init(&w->clock, NOW_S * 1000ll);
    w->folder = t_temp_dir();
    open_world(w);
}

static struct link make(struct world *w, const char *stream, int64_t lasts_s)
{
    struct link link = {.stream = weir_slice_of(stream), .lasts_s = lasts_s};
    T_EQ(links_make(w->links, &link), WEIR_OK);
    return link;
}

static enum weir_status check(struct world *w, const struct link *link)
{
    bool is_expired;
    return links_check(w->links, link->stream, weir_slice_of(link->token), &is_expired);
}

TEST(link_opens_until_its_last_millisecond_and_after_a_restart)
{
    struct world w;
    bool is_expired;
    new_world(&w);
    struct link link = make(&w, "a", 60);
    T_EQ(link.expires_s, NOW_S + 60);
    close_world(&w);
    open_world(&w);
    fake_clock_advance(&w.clock, 59999ull * MS);
    T_EQ(check(&w, &link), WEIR_OK);
    fake_clock_advance(&w.clock, 1 * MS);
    T_EQ(links_check(w.links, link.stream, weir_slice_of(link.token), &is_expired), WEIR_BAD_TOKEN);
    T_OK(is_expired);
    /* Of one that was never good nothing is told. */
    link.token[strlen(link.token) - 1] ^= 1;
    T_EQ(links_check(w.links, link.stream, weir_slice_of(link.token), &is_expired), WEIR_BAD_TOKEN);
    T_OK(!is_expired);
    close_world(&w);
}

TEST(link_lasts_no_shorter_than_was_asked)
{
    struct world w;
    new_world(&w);
    fake_clock_advance(&w.clock, 1 * MS);
    struct link link = make(&w, "a", 1);
    fake_clock_advance(&w.clock, 1000ull * MS);
    T_EQ(check(&w, &link), WEIR_OK);
    fake_clock_advance(&w.clock, 999ull * MS);
    T_EQ(check(&w, &link), WEIR_BAD_TOKEN);
    close_world(&w);
}

TEST(without_a_secret_no_token_is_good)
{
    static const unsigned char zeros[LINK_SECRET_BYTES];
    struct world w;
    struct link link = {.stream = SLICE("a")};
    new_world(&w);
    link_write(zeros, link.stream, NOW_S + 60, link.token);
    T_EQ(check(&w, &link), WEIR_BAD_TOKEN);
    close_world(&w);
}

TEST(rotating_ends_all_links_for_ever)
{
    struct world w;
    new_world(&w);
    struct link old = make(&w, "a", 60);
    struct link other = make(&w, "b", 60);
    T_EQ(links_rotate(w.links), WEIR_OK);
    struct link new = make(&w, "a", 60);
    for (int i = 0; i < 2; i++) {
        T_EQ(check(&w, &old), WEIR_BAD_TOKEN);
        T_EQ(check(&w, &other), WEIR_BAD_TOKEN);
        T_EQ(check(&w, &new), WEIR_OK);
        close_world(&w);
        open_world(&w);
    }
    close_world(&w);
}

TEST(links_are_refused_also_when_rotating_cannot_be_written_down)
{
    struct world w;
    new_world(&w);
    struct link old = make(&w, "a", 60);
    fault_arm(FAULT_WRITE, 1, FAULT_FROM);
    T_OK(links_rotate(w.links) != WEIR_OK);
    fault_disarm_all();
    T_EQ(check(&w, &old), WEIR_BAD_TOKEN);
    close_world(&w);
}

TEST(no_link_is_made_by_a_secret_that_could_not_be_written_down)
{
    struct world w;
    struct link link = {.stream = SLICE("a"), .lasts_s = 60};
    new_world(&w);
    fault_arm(FAULT_WRITE, 1, FAULT_FROM);
    T_OK(links_make(w.links, &link) != WEIR_OK);
    fault_disarm_all();
    T_EQ(link.token[0], 0);
    close_world(&w);
}

TEST(what_cannot_be_a_link_is_refused)
{
    static const struct {
        const char *stream;
        int64_t lasts_s;
    } cases[] = {{"", 60}, {"a\nb", 60}, {"\xFF", 60}, {"a", 0}, {"a", -1}, {"a", INT64_MAX}};
    struct world w;
    new_world(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct link link = {.stream = weir_slice_of(cases[i].stream), .lasts_s = cases[i].lasts_s};
        T_EQ(links_make(w.links, &link), WEIR_INVALID);
    }
    close_world(&w);
}

TEST(damaged_secret_is_told)
{
    static const char *const bodies[] = {"", "AAAA", "{}"};
    struct world w;
    new_world(&w);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct links *links;
        struct commit *c = commit_new(100);
        struct doc_key key = {.kind = SLICE("secret"), .id = SLICE("link")};
        commit_put(c, key, DOC_ANY_VERSION, SLICE(""), weir_slice_of(bodies[i]));
        T_EQ(store_commit_wait(w.store, c).status, WEIR_OK);
        T_EQ(links_open(&links, w.store, &clock_system), WEIR_CORRUPT);
        T_OK(links == NULL);
    }
    close_world(&w);
}

TEST(link_is_written_as_an_address)
{
    struct weir_buf out;
    struct link link = {.stream = SLICE("chat/a b"), .expires_s = NOW_S, .token = "TOKEN"};
    weir_buf_init(&out, LINK_JSON_BYTES);
    link_put(&out, &link);
    T_EQ_STR(weir_buf_slice(&out),
             "{\"stream\":\"chat/a b\",\"expires\":\"2025-11-15T18:06:40.000Z\","
             "\"token\":\"TOKEN\",\"path\":\"/v1/streams/chat%2Fa%20b?link=TOKEN\"}");
    weir_buf_reset(&out);
    link.stream = SLICE("..");
    link_put_path(&out, &link);
    T_EQ_STR(weir_buf_slice(&out), "/v1/streams/%2E%2E?link=TOKEN");
    weir_buf_fini(&out);
}

/* ---- from many threads ---- */

enum { N_THREADS = 4, N_ROUNDS = 50 };

struct runner {
    struct world *w;
    struct link first;
    unsigned n_wrong;
};

/* The first link of each thread needs the secret at the same time. */
static void *make_and_check(void *user)
{
    struct runner *r = user;
    bool is_expired;
    for (int i = 0; i < N_ROUNDS; i++) {
        struct link link = {.stream = SLICE("a"), .lasts_s = 60};
        if (links_make(r->w->links, &link) != WEIR_OK) r->n_wrong++;
        if (i == 0) r->first = link;
        struct weir_slice token = weir_slice_of(r->first.token);
        if (links_check(r->w->links, link.stream, token, &is_expired) != WEIR_OK) r->n_wrong++;
    }
    return NULL;
}

TEST(threads_agree_on_one_secret)
{
    struct world w;
    pthread_t threads[N_THREADS];
    struct runner runners[N_THREADS];
    new_world(&w);
    for (int i = 0; i < N_THREADS; i++) {
        runners[i] = (struct runner){.w = &w};
        T_EQ(pthread_create(&threads[i], NULL, make_and_check, &runners[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        T_EQ(runners[i].n_wrong, 0);
        T_EQ_STR(weir_slice_of(runners[i].first.token), runners[0].first.token);
    }
    close_world(&w);
}
