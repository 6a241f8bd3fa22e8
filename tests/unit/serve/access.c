/* SPDX-License-Identifier: Apache-2.0 */
/* Keys over a real store: found, limited, revoked, and there again after a restart. */
#include "serve/access.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "t.h"

enum { MS = 1000000 };

struct world {
    struct store *store;
    struct keys *keys;
    struct fake_clock clock;
    const char *folder;
};

static void open_world(struct world *w)
{
    struct store_options options = {.durability = STORE_DURABLE_NORMAL, .clock = &clock_system};
    T_EQ(store_open(&w->store, w->folder, &options, NULL), WEIR_OK);
    T_EQ(keys_open(&w->keys, w->store, &w->clock.clock), WEIR_OK);
    if (!w->keys) abort();
}

static void close_world(struct world *w)
{
    keys_close(w->keys);
    store_close(w->store);
}

static void new_world(struct world *w)
{
    fake_clock_init(&w->clock, 1000000);
    w->folder = t_temp_dir();
    open_world(w);
}

static struct key_info plain(void)
{
    return (struct key_info){
        .label = "a label", .owner = "ada", .scopes = SCOPE_READ | SCOPE_WRITE};
}

static void add_description(void *user, const struct key_info *info)
{
    key_info_put(user, info, NULL);
}

static enum weir_status find(struct world *w, const char *text, struct access *who)
{
    struct key_found found;
    enum weir_status st = keys_find(w->keys, weir_slice_of(text), &found);
    *who = found.access;
    who->prefix = NULL; /* it points into what ends here */
    return st;
}

TEST(key_has_its_form_and_is_found)
{
    struct world w;
    struct access who;
    char text[KEY_TEXT_BYTES];
    struct key_info info = plain();
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    T_EQ(strlen(text), KEY_TEXT_BYTES - 1);
    T_OK(strncmp(text, "weir_", 5) == 0);
    T_OK(strncmp(text + 5, info.name, KEY_NAME_BYTES) == 0);
    T_EQ(text[5 + KEY_NAME_BYTES], '_');
    T_EQ(info.created_ms, 1000000);
    T_EQ(find(&w, text, &who), WEIR_OK);
    T_EQ_STR(weir_slice_of(who.name), info.name);
    T_EQ_STR(weir_slice_of(who.owner), "ada");
    T_EQ(who.scopes, SCOPE_READ | SCOPE_WRITE);
    close_world(&w);
}

TEST(key_with_any_byte_changed_is_refused)
{
    struct world w;
    struct access who;
    char text[KEY_TEXT_BYTES];
    struct key_info info = plain();
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    for (size_t i = 0; i < KEY_TEXT_BYTES - 1; i++) {
        char wrong[KEY_TEXT_BYTES];
        memcpy(wrong, text, sizeof wrong);
        wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
        T_EQ(find(&w, wrong, &who), WEIR_BAD_TOKEN);
        T_EQ(who.scopes, SCOPE_NONE);
    }
    T_EQ(find(&w, "", &who), WEIR_BAD_TOKEN);
    T_EQ(find(&w, "weir_", &who), WEIR_BAD_TOKEN);
    struct key_found found;
    struct weir_slice shorter = slice_of(text, KEY_TEXT_BYTES - 2);
    T_EQ(keys_find(w.keys, shorter, &found), WEIR_BAD_TOKEN);
    struct weir_slice longer = slice_of(text, KEY_TEXT_BYTES);
    T_EQ(keys_find(w.keys, longer, &found), WEIR_BAD_TOKEN);
    close_world(&w);
}

TEST(keys_are_there_after_a_restart_and_the_store_has_no_key)
{
    struct world w;
    struct access who;
    struct doc doc;
    char text[KEY_TEXT_BYTES];
    struct key_info info = plain();
    info.rate_per_s = 2.5;
    info.burst = 7;
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    close_world(&w);
    open_world(&w);
    T_EQ(find(&w, text, &who), WEIR_OK);
    struct doc_key key = {.kind = SLICE("key"), .id = slice_of(info.name, KEY_NAME_BYTES)};
    T_EQ(store_doc_get(w.store, key, &doc), WEIR_OK);
    T_EQ_STR(doc.owner, "ada");
    T_OK(memmem(doc.body.ptr, doc.body.len, text + 5 + KEY_NAME_BYTES + 1, 43) == NULL);
    doc_fini(&doc);
    close_world(&w);
}

TEST(revoked_key_is_refused_at_once_and_after_a_restart)
{
    struct world w;
    struct access who;
    char text[KEY_TEXT_BYTES];
    char other[KEY_TEXT_BYTES];
    struct key_info info = plain();
    struct key_info other_info = plain();
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    T_EQ(keys_create(w.keys, &other_info, other), WEIR_OK);
    T_EQ(keys_revoke(w.keys, slice_of(info.name, KEY_NAME_BYTES)), WEIR_OK);
    T_EQ(find(&w, text, &who), WEIR_BAD_TOKEN);
    T_EQ(find(&w, other, &who), WEIR_OK);
    T_EQ(keys_count(w.keys), 1);
    close_world(&w);
    open_world(&w);
    T_EQ(find(&w, text, &who), WEIR_BAD_TOKEN);
    T_EQ(find(&w, other, &who), WEIR_OK);
    T_EQ(keys_revoke(w.keys, slice_of(info.name, KEY_NAME_BYTES)), WEIR_OK);
    T_EQ(keys_revoke(w.keys, SLICE("abcdefghjkmn")), WEIR_NOT_FOUND);
    T_EQ(keys_revoke(w.keys, SLICE("")), WEIR_NOT_FOUND);
    close_world(&w);
}

TEST(key_that_cannot_be_written_down_as_revoked_is_refused_all_the_same)
{
    struct world w;
    struct access who;
    char text[KEY_TEXT_BYTES];
    struct key_info info = plain();
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    fault_arm(FAULT_WRITE, 1, FAULT_FROM);
    T_OK(keys_revoke(w.keys, slice_of(info.name, KEY_NAME_BYTES)) != WEIR_OK);
    T_EQ(find(&w, text, &who), WEIR_BAD_TOKEN);
    struct key_info another = plain();
    T_OK(keys_create(w.keys, &another, text) != WEIR_OK);
    T_EQ(text[0], 0);
    fault_disarm_all();
    close_world(&w);
}

TEST(rate_lets_a_burst_pass_and_then_one_by_one)
{
    struct world w;
    struct access who;
    struct key_found found;
    char text[KEY_TEXT_BYTES];
    struct key_info info = plain();
    info.rate_per_s = 10;
    info.burst = 3;
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    struct weir_slice key = slice_of(text, KEY_TEXT_BYTES - 1);
    for (int i = 0; i < 3; i++) T_EQ(keys_find(w.keys, key, &found), WEIR_OK);
    T_EQ(keys_find(w.keys, key, &found), WEIR_RATE_LIMIT);
    T_EQ(found.retry_after_ms, 100);
    fake_clock_advance(&w.clock, 99 * MS);
    T_EQ(keys_find(w.keys, key, &found), WEIR_RATE_LIMIT);
    T_EQ(found.retry_after_ms, 1);
    fake_clock_advance(&w.clock, 1 * MS);
    T_EQ(keys_find(w.keys, key, &found), WEIR_OK);
    T_EQ(keys_find(w.keys, key, &found), WEIR_RATE_LIMIT);
    /* However long the silence, no more than the burst is saved. */
    fake_clock_advance(&w.clock, 3600000ull * MS);
    for (int i = 0; i < 3; i++) T_EQ(keys_find(w.keys, key, &found), WEIR_OK);
    T_EQ(keys_find(w.keys, key, &found), WEIR_RATE_LIMIT);
    /* A wrong secret takes nothing from the bucket. */
    fake_clock_advance(&w.clock, 100 * MS);
    char wrong[KEY_TEXT_BYTES];
    memcpy(wrong, text, sizeof wrong);
    wrong[KEY_TEXT_BYTES - 2] ^= 1;
    T_EQ(find(&w, wrong, &who), WEIR_BAD_TOKEN);
    T_EQ(keys_find(w.keys, key, &found), WEIR_OK);
    close_world(&w);
}

TEST(key_expires_to_the_millisecond_and_stays_so_after_a_restart)
{
    struct world w;
    struct key_found found;
    char text[KEY_TEXT_BYTES];
    struct key_info info = plain();
    info.lasts_s = 5;
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    T_EQ(info.expires_ms, 1000000 + 5000);
    struct weir_slice key = slice_of(text, KEY_TEXT_BYTES - 1);
    fake_clock_advance(&w.clock, 4999ull * MS);
    T_EQ(keys_find(w.keys, key, &found), WEIR_OK);
    T_EQ(keys_count(w.keys), 1);
    fake_clock_advance(&w.clock, 1 * MS);
    for (int i = 0; i < 2; i++) {
        T_EQ(keys_find(w.keys, key, &found), WEIR_BAD_TOKEN);
        T_OK(found.is_expired);
        T_EQ(found.access.scopes, SCOPE_NONE);
        T_EQ(keys_count(w.keys), 0);
        close_world(&w);
        open_world(&w);
    }
    /* Whoever guesses is not told that there was such a key. */
    text[KEY_TEXT_BYTES - 2] ^= 1;
    T_EQ(keys_find(w.keys, key, &found), WEIR_BAD_TOKEN);
    T_OK(!found.is_expired);
    close_world(&w);
}

TEST(prefix_of_a_key_is_kept_and_covers_what_begins_with_it)
{
    static const struct {
        const char *stream;
        bool is_covered;
    } cases[] = {{"chat/", true},   {"chat/a", true},   {"chat/a/b", true},
                 {"chat", false},   {"chats", false},   {"", false},
                 {"Chat/a", false}, {" chat/a", false}, {"a", false}};
    struct world w;
    struct key_found found;
    char text[KEY_TEXT_BYTES];
    struct key_info info = plain();
    memcpy(info.prefix, "chat/", 6);
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    close_world(&w);
    open_world(&w);
    T_EQ(keys_find(w.keys, weir_slice_of(text), &found), WEIR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        T_EQ(access_covers(&found.access, weir_slice_of(cases[i].stream)), cases[i].is_covered);
    const struct access all = {.scopes = SCOPE_READ};
    T_OK(access_covers(&all, SLICE("anything")));
    close_world(&w);
}

TEST(key_of_the_first_form_is_for_all_streams_for_ever)
{
    static const char body[] =
        "{\"sha256\":\"5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9\","
        "\"created_ms\":1,\"revoked_ms\":0,\"label\":\"old\",\"owner\":\"\","
        "\"scopes\":[\"read\"],\"rate\":0,\"burst\":0}";
    struct world w;
    struct weir_buf out;
    struct doc_key key = {.kind = SLICE("key"), .id = SLICE("0123456789ab")};
    new_world(&w);
    struct commit *c = commit_new(1000);
    commit_put(c, key, DOC_MUST_BE_NEW, SLICE(""), weir_slice_of(body));
    T_EQ(store_commit_wait(w.store, c).status, WEIR_OK);
    keys_close(w.keys);
    T_EQ(keys_open(&w.keys, w.store, &w.clock.clock), WEIR_OK);
    weir_buf_init(&out, 10000);
    T_EQ(keys_each(w.keys, add_description, &out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out),
             "{\"name\":\"0123456789ab\",\"label\":\"old\",\"owner\":\"\","
             "\"scopes\":[\"read\"],\"rate\":0,\"burst\":0,\"prefix\":\"\","
             "\"created\":\"1970-01-01T00:00:00.001Z\",\"expires\":null,\"revoked\":null}");
    /* Revoking writes it in today's form. */
    T_EQ(keys_revoke(w.keys, key.id), WEIR_OK);
    close_world(&w);
    open_world(&w);
    T_EQ(keys_count(w.keys), 0);
    weir_buf_fini(&out);
    close_world(&w);
}

TEST(slowest_rate_with_the_largest_burst_is_counted)
{
    struct world w;
    struct access who;
    char text[KEY_TEXT_BYTES];
    struct key_info info = plain();
    info.rate_per_s = 1e-5;
    info.burst = KEY_MAX_RATE_PER_S;
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    for (int i = 0; i < 100; i++) T_EQ(find(&w, text, &who), WEIR_OK);
    close_world(&w);
}

TEST(burst_that_is_not_given_is_a_second_of_the_rate)
{
    static const struct {
        double rate, burst;
    } cases[] = {{0, 0}, {0.5, 1}, {10, 10}, {2.5, 3}};
    struct world w;
    char text[KEY_TEXT_BYTES];
    new_world(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct key_info info = plain();
        info.rate_per_s = cases[i].rate;
        T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
        T_EQ(info.burst * 1000, cases[i].burst * 1000);
    }
    close_world(&w);
}

TEST(what_cannot_be_a_key_is_refused_with_a_sentence)
{
    struct world w;
    enum { N_WRONG = 13 };
    const char *why;
    char text[KEY_TEXT_BYTES];
    struct key_info infos[N_WRONG];
    for (int i = 0; i < N_WRONG; i++) infos[i] = plain();
    infos[0].scopes = SCOPE_NONE;
    infos[1].scopes = 8;
    memcpy(infos[2].label, "a\nb", 4);
    memcpy(infos[3].owner, "\xFF", 2);
    infos[4].rate_per_s = -1;
    infos[5].rate_per_s = 1e9;
    infos[6].burst = 0.5;
    memcpy(infos[7].prefix, "a\x01", 3);
    memcpy(infos[8].prefix, "\xC3", 2);
    memset(infos[9].prefix, 'a', sizeof infos[9].prefix);
    memcpy(infos[10].prefix, "chat/", 6);
    infos[10].scopes = SCOPE_READ | SCOPE_ADMIN;
    infos[11].lasts_s = -1;
    infos[12].lasts_s = INT64_MAX;
    new_world(&w);
    for (int i = 0; i < N_WRONG; i++) {
        T_OK(!key_info_is_valid(&infos[i], &why));
        T_OK(why && strlen(why) > 10);
        T_EQ(keys_create(w.keys, &infos[i], text), WEIR_INVALID);
    }
    T_EQ(keys_count(w.keys), 0);
    close_world(&w);
}

static void add_name(void *user, const struct key_info *info)
{
    weir_buf_append_str(user, info->name);
}

TEST(listing_is_by_name_with_revoked_ones)
{
    struct world w;
    struct weir_buf names;
    char text[KEY_TEXT_BYTES];
    struct key_info info;
    new_world(&w);
    weir_buf_init(&names, 10000);
    for (int i = 0; i < 20; i++) {
        info = plain();
        T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    }
    T_EQ(keys_revoke(w.keys, slice_of(info.name, KEY_NAME_BYTES)), WEIR_OK);
    T_EQ(keys_each(w.keys, add_name, &names), WEIR_OK);
    T_EQ(names.len, 20 * KEY_NAME_BYTES);
    for (size_t i = KEY_NAME_BYTES; i < names.len; i += KEY_NAME_BYTES)
        T_OK(memcmp(names.ptr + i - KEY_NAME_BYTES, names.ptr + i, KEY_NAME_BYTES) < 0);
    weir_buf_fini(&names);
    close_world(&w);
}

TEST(description_is_json)
{
    struct weir_buf out;
    struct key_info info = {
        .name = "0123456789ab",
        .label = "a \"label\"",
        .scopes = SCOPE_READ | SCOPE_ADMIN,
        .rate_per_s = 0.5,
        .burst = 1,
        .created_ms = 1000,
    };
    weir_buf_init(&out, 1000);
    key_info_put(&out, &info, NULL);
    T_EQ_STR(weir_buf_slice(&out),
             "{\"name\":\"0123456789ab\",\"label\":\"a \\\"label\\\"\",\"owner\":\"\","
             "\"scopes\":[\"read\",\"admin\"],\"rate\":0.5,\"burst\":1,\"prefix\":\"\","
             "\"created\":\"1970-01-01T00:00:01.000Z\",\"expires\":null,\"revoked\":null}");
    weir_buf_reset(&out);
    key_info_put(&out, &info, "weir_x");
    T_OK(strncmp(out.ptr, "{\"key\":\"weir_x\",\"name\":", 23) == 0);
    weir_buf_fini(&out);
}

TEST(scopes_are_read_and_written)
{
    static const struct {
        const char *text;
        unsigned scopes; /* SCOPE_NONE: refused */
    } cases[] = {
        {"read", SCOPE_READ},
        {"read,write", SCOPE_READ | SCOPE_WRITE},
        {"admin,read,write", SCOPE_READ | SCOPE_WRITE | SCOPE_ADMIN},
        {"read,read", SCOPE_READ},
        {"", SCOPE_NONE},
        {"read,", SCOPE_NONE},
        {",read", SCOPE_NONE},
        {"Read", SCOPE_NONE},
        {"read write", SCOPE_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned scopes;
        bool is_good = scopes_parse(weir_slice_of(cases[i].text), &scopes);
        T_EQ(is_good, cases[i].scopes != SCOPE_NONE);
        if (is_good) T_EQ(scopes, cases[i].scopes);
    }
    char text[SCOPES_TEXT_BYTES];
    scopes_format(SCOPE_READ | SCOPE_WRITE | SCOPE_ADMIN, text);
    T_EQ_STR(weir_slice_of(text), "read,write,admin");
}

TEST(damaged_document_is_told)
{
    static const char *const bodies[] = {"", "{}", "not json", "{\"sha256\":\"00\"}"};
    struct world w;
    new_world(&w);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct keys *keys;
        struct commit *c = commit_new(100);
        struct doc_key key = {.kind = SLICE("key"), .id = SLICE("0123456789ab")};
        commit_put(c, key, DOC_ANY_VERSION, SLICE(""), weir_slice_of(bodies[i]));
        T_EQ(store_commit_wait(w.store, c).status, WEIR_OK);
        T_OK(keys_open(&keys, w.store, &clock_system) != WEIR_OK);
        T_OK(keys == NULL);
    }
    close_world(&w);
}

/* As many documents as there may be keys, revoked one after the other or not at all. */
static void fill(struct world *w, bool are_revoked)
{
    struct commit *c = commit_new(4 << 20);
    for (int i = 0; i < KEYS_MAX; i++) {
        char name[KEY_NAME_BYTES + 1];
        char body[512];
        snprintf(name, sizeof name, "%012d", i);
        int len = snprintf(body, sizeof body,
                           "{\"sha256\":\"%064d\",\"created_ms\":1,\"revoked_ms\":%d,\"label\":"
                           "\"\",\"owner\":\"\",\"scopes\":[\"read\"],\"rate\":0,\"burst\":0}",
                           i, are_revoked ? KEYS_MAX - i : 0);
        struct doc_key key = {.kind = SLICE("key"), .id = slice_of(name, KEY_NAME_BYTES)};
        commit_put(c, key, DOC_MUST_BE_NEW, SLICE(""), slice_of(body, (size_t)len));
    }
    T_EQ(store_commit_wait(w->store, c).status, WEIR_OK);
    keys_close(w->keys);
    T_EQ(keys_open(&w->keys, w->store, &w->clock.clock), WEIR_OK);
    if (!w->keys) abort();
}

TEST(at_the_ceiling_the_key_revoked_first_makes_room)
{
    struct world w;
    struct access who;
    char text[KEY_TEXT_BYTES];
    struct doc doc;
    struct key_info info = plain();
    new_world(&w);
    fill(&w, true);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    T_EQ(find(&w, text, &who), WEIR_OK);
    struct doc_key first = {.kind = SLICE("key"), .id = SLICE("000000009999")};
    T_EQ(store_doc_get(w.store, first, &doc), WEIR_NOT_FOUND);
    struct doc_key second = {.kind = SLICE("key"), .id = SLICE("000000009998")};
    T_EQ(store_doc_get(w.store, second, &doc), WEIR_OK);
    doc_fini(&doc);
    close_world(&w);
}

TEST(at_the_ceiling_with_none_revoked_there_is_no_new_key)
{
    struct world w;
    char text[KEY_TEXT_BYTES];
    struct key_info info = plain();
    new_world(&w);
    fill(&w, false);
    T_EQ(keys_create(w.keys, &info, text), WEIR_LIMIT);
    T_EQ(keys_count(w.keys), KEYS_MAX);
    close_world(&w);
}

/* ---- from many threads ---- */

enum { N_THREADS = 4, N_ROUNDS = 200, N_TOKENS = 50 };

struct runner {
    struct world *w;
    const char *text;
    unsigned n_passed;
};

static void *find_often(void *user)
{
    struct runner *r = user;
    struct access who;
    for (int i = 0; i < N_ROUNDS; i++)
        if (find(r->w, r->text, &who) == WEIR_OK) r->n_passed++;
    return NULL;
}

TEST(all_threads_together_get_no_more_than_the_burst)
{
    struct world w;
    char text[KEY_TEXT_BYTES];
    pthread_t threads[N_THREADS];
    struct runner runners[N_THREADS];
    struct key_info info = plain();
    info.rate_per_s = 1;
    info.burst = N_TOKENS;
    unsigned n_passed = 0;
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    for (int i = 0; i < N_THREADS; i++) {
        runners[i] = (struct runner){.w = &w, .text = text};
        T_EQ(pthread_create(&threads[i], NULL, find_often, &runners[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        n_passed += runners[i].n_passed;
    }
    T_EQ(n_passed, N_TOKENS);
    close_world(&w);
}

TEST(keys_come_and_go_while_others_look)
{
    struct world w;
    char text[KEY_TEXT_BYTES];
    pthread_t threads[N_THREADS];
    struct runner runners[N_THREADS];
    struct key_info info = plain();
    new_world(&w);
    T_EQ(keys_create(w.keys, &info, text), WEIR_OK);
    for (int i = 0; i < N_THREADS; i++) {
        runners[i] = (struct runner){.w = &w, .text = text};
        T_EQ(pthread_create(&threads[i], NULL, find_often, &runners[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        char other[KEY_TEXT_BYTES];
        struct key_info new = plain();
        T_EQ(keys_create(w.keys, &new, other), WEIR_OK);
        T_EQ(keys_revoke(w.keys, slice_of(new.name, KEY_NAME_BYTES)), WEIR_OK);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        T_EQ(runners[i].n_passed, N_ROUNDS);
    }
    close_world(&w);
}
