/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of src/store/store.h, claim by claim. Every engine has to pass this. */
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/buf.h>

#include "base/slice.h"
#include "conform/engine.h"
#include "store/commit_impl.h"
#include "t.h"

/* ---- helpers ---- */

static struct store *open_with(const char *folder, const struct store_options *options)
{
    struct store *s = NULL;
    T_EQ(engine_open(&s, folder, options), WEIR_OK);
    return s;
}

static struct store *open_store(const char *folder)
{
    return open_with(folder, NULL);
}

static struct weir_slice frame_of(char *out, size_t cap, const char *text)
{
    int len = snprintf(out, cap, "data: %s\n\n", text);
    return slice_of(out, (size_t)len);
}

static struct commit_result append(struct store *s, const char *log, const char *text)
{
    char frame[256];
    struct commit *c = commit_new(0);
    commit_append(c, weir_slice_of(log), frame_of(frame, sizeof frame, text));
    return store_commit_wait(s, c);
}

static void append_n(struct store *s, const char *log, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof text, "%u", i + 1);
        T_EQ(append(s, log, text).status, WEIR_OK);
    }
}

/* Everything of a log from an id on, read piece by piece. Checks ids and order. */
static uint64_t read_all(struct store *s, const char *log, uint64_t from, size_t max_bytes,
                         struct weir_buf *out)
{
    uint64_t next = from;
    for (;;) {
        struct log_read read;
        store_read(s, weir_slice_of(log), next, max_bytes, &read);
        T_EQ(read.status, WEIR_OK);
        if (read.n_chunks == 0) return next - 1;
        for (unsigned i = 0; i < read.n_chunks; i++) {
            struct chunk *c = read.chunks[i];
            T_EQ(c->first, next);
            if (out) weir_buf_append(out, c->bytes, c->len);
            next = c->last + 1;
            chunk_unref(c);
        }
    }
}

static struct log_state state_of(struct store *s, const char *log)
{
    struct log_read read;
    store_read(s, weir_slice_of(log), 1, 0, &read);
    T_EQ(read.status, WEIR_OK);
    T_EQ(read.n_chunks, 0);
    return read.state;
}

/* A log holds exactly "1".."n", as append_n() wrote them. */
static void check_counted(struct store *s, const char *log, uint64_t n, size_t max_bytes)
{
    struct weir_buf got;
    struct weir_buf want;
    weir_buf_init(&got, 1 << 30);
    weir_buf_init(&want, 1 << 30);
    T_EQ(read_all(s, log, 1, max_bytes, &got), n);
    for (uint64_t i = 1; i <= n; i++)
        weir_buf_printf(&want, "id: %llu\ndata: %llu\n\n", (unsigned long long)i,
                        (unsigned long long)i);
    T_EQ_SLICE(weir_buf_slice(&got), weir_buf_slice(&want));
    weir_buf_fini(&got);
    weir_buf_fini(&want);
}

static struct commit_result put(struct store *s, const char *id, int64_t expected, const char *body)
{
    struct commit *c = commit_new(0);
    commit_put(c, (struct doc_key){SLICE("note"), weir_slice_of(id)}, expected, SLICE("ann"),
               weir_slice_of(body));
    return store_commit_wait(s, c);
}

static enum weir_status get(struct store *s, const char *id, struct doc *doc)
{
    return store_doc_get(s, (struct doc_key){SLICE("note"), weir_slice_of(id)}, doc);
}

static void check_doc(struct store *s, const char *id, int64_t n_puts, const char *body)
{
    struct doc doc;
    T_EQ(get(s, id, &doc), WEIR_OK);
    T_EQ(doc_n_puts(doc.version), n_puts);
    T_EQ_STR(doc.body, body);
    T_EQ_STR(doc.owner, "ann");
    T_EQ_STR(doc.kind, "note");
    T_EQ_STR(doc.id, id);
    doc_fini(&doc);
}

/* ---- logs ---- */

TEST(ids_begin_at_one_and_rise_by_one)
{
    struct store *s = open_store(t_temp_dir());
    for (uint64_t i = 1; i <= 10; i++) {
        struct commit_result r = append(s, "a", "x");
        T_EQ(r.status, WEIR_OK);
        T_EQ(r.first, i);
        T_EQ(r.last, i);
    }
    T_EQ(append(s, "b", "x").first, 1);
    store_close(s);
}

TEST(events_are_read_as_they_go_on_the_wire)
{
    struct weir_buf got;
    weir_buf_init(&got, 4096);
    struct store *s = open_store(t_temp_dir());
    append(s, "a", "{\"one\":1}");
    append(s, "a", "two");
    T_EQ(read_all(s, "a", 1, 4096, &got), 2);
    T_EQ_STR(weir_buf_slice(&got), "id: 1\ndata: {\"one\":1}\n\nid: 2\ndata: two\n\n");
    weir_buf_fini(&got);
    store_close(s);
}

TEST(a_log_reads_the_same_in_memory_settled_and_after_reopening)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    append_n(s, "a", 40);
    check_counted(s, "a", 40, 1 << 20);
    check_counted(s, "a", 40, 1);
    T_EQ(store_settle(s), WEIR_OK);
    check_counted(s, "a", 40, 1 << 20);
    check_counted(s, "a", 40, 1);
    store_close(s);
    s = open_store(folder);
    check_counted(s, "a", 40, 1 << 20);
    T_EQ(append(s, "a", "41").first, 41);
    check_counted(s, "a", 41, 64);
    store_close(s);
}

TEST(reading_may_begin_at_any_id)
{
    struct store *s = open_store(t_temp_dir());
    append_n(s, "a", 30);
    for (int settled = 0; settled < 2; settled++) {
        for (uint64_t from = 1; from <= 32; from++) {
            struct log_read read;
            store_read(s, SLICE("a"), from, 1 << 20, &read);
            T_EQ(read.state.last, 30);
            T_EQ(read.n_chunks > 0, from <= 30);
            if (read.n_chunks > 0) {
                char want[64];
                T_EQ(read.chunks[0]->first, from);
                int len = snprintf(want, sizeof want, "id: %d\n", (int)from);
                T_EQ_SLICE(slice_of(read.chunks[0]->bytes, (size_t)len),
                           slice_of(want, (size_t)len));
            }
            for (unsigned i = 0; i < read.n_chunks; i++) chunk_unref(read.chunks[i]);
        }
        T_EQ(store_settle(s), WEIR_OK);
    }
    store_close(s);
}

TEST(a_read_crosses_from_settled_to_fresh_events)
{
    struct store *s = open_store(t_temp_dir());
    append_n(s, "a", 20);
    T_EQ(store_settle(s), WEIR_OK);
    for (unsigned i = 21; i <= 40; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        append(s, "a", text);
    }
    check_counted(s, "a", 40, 1 << 20);
    check_counted(s, "a", 40, 100);
    store_close(s);
}

TEST(what_does_not_exist_says_so)
{
    struct store *s = open_store(t_temp_dir());
    T_OK(!state_of(s, "nobody").exists);
    T_EQ(read_all(s, "nobody", 1, 100, NULL), 0);
    append(s, "a", "x");
    T_OK(state_of(s, "a").exists);
    T_OK(!state_of(s, "aa").exists);
    store_close(s);
}

TEST(a_commit_with_many_appends_is_numbered_in_order)
{
    struct store *s = open_store(t_temp_dir());
    struct commit *c = commit_new(0);
    for (int i = 1; i <= 1000; i++) {
        char frame[64];
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        commit_append(c, SLICE("a"), frame_of(frame, sizeof frame, text));
    }
    struct commit_result r = store_commit_wait(s, c);
    T_EQ(r.status, WEIR_OK);
    T_EQ(r.first, 1);
    T_EQ(r.last, 1000);
    check_counted(s, "a", 1000, 1 << 20);
    check_counted(s, "a", 1000, 100);
    store_close(s);
}

TEST(frames_that_are_none_are_refused)
{
    static const char *const bad[] = {
        "",
        "\n\n",
        "data: x",
        "data: x\n",
        "data: x\n\ndata: y\n\n",
        "data: x\r\n\n",
        "data: x\n\n\n",
        "\ndata: x\n\n",
    };
    struct store *s = open_store(t_temp_dir());
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct commit *c = commit_new(0);
        commit_append(c, SLICE("a"), weir_slice_of(bad[i]));
        T_EQ(store_commit_wait(s, c).status, WEIR_INVALID);
    }
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("a"), slice_of("data: a\0b\n\n", 11));
    T_EQ(store_commit_wait(s, c).status, WEIR_INVALID);
    T_OK(!state_of(s, "a").exists);
    store_close(s);
}

TEST(names_have_a_ceiling)
{
    char name[STORE_NAME_BYTES + 2];
    memset(name, 'n', sizeof name);
    struct store *s = open_store(t_temp_dir());
    for (size_t len = 0; len <= STORE_NAME_BYTES + 1; len += len == 0 ? STORE_NAME_BYTES : 1) {
        struct commit *c = commit_new(0);
        commit_append(c, slice_of(name, len), SLICE("data: x\n\n"));
        bool is_fine = len > 0 && len <= STORE_NAME_BYTES;
        T_EQ(store_commit_wait(s, c).status, is_fine ? WEIR_OK : WEIR_INVALID);
    }
    store_close(s);
}

TEST(an_expectation_holds_or_nothing_happens)
{
    struct store *s = open_store(t_temp_dir());
    static const struct {
        uint64_t expected;
        enum weir_status want;
    } steps[] = {{1, WEIR_CONFLICT}, {0, WEIR_OK},       {0, WEIR_CONFLICT},
                 {1, WEIR_OK},       {3, WEIR_CONFLICT}, {2, WEIR_OK}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct commit *c = commit_new(0);
        commit_append(c, SLICE("other"), SLICE("data: x\n\n"));
        commit_expect(c, SLICE("a"), steps[i].expected);
        commit_append(c, SLICE("a"), SLICE("data: x\n\n"));
        T_EQ(store_commit_wait(s, c).status, steps[i].want);
    }
    T_EQ(state_of(s, "a").last, 3);
    T_EQ(state_of(s, "other").last, 3);
    store_close(s);
}

/* ---- sealing, dropping, expiry ---- */

static struct commit_result seal(struct store *s, const char *log, int64_t keep_ms)
{
    struct commit *c = commit_new(0);
    commit_seal(c, weir_slice_of(log), keep_ms);
    return store_commit_wait(s, c);
}

static struct commit_result drop(struct store *s, const char *log)
{
    struct commit *c = commit_new(0);
    commit_drop(c, weir_slice_of(log));
    return store_commit_wait(s, c);
}

TEST(a_sealed_log_takes_no_more_but_can_be_read)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    append_n(s, "a", 3);
    T_EQ(seal(s, "nobody", 1000).status, WEIR_NOT_FOUND);
    T_EQ(seal(s, "a", -1).status, WEIR_OK);
    for (int round = 0; round < 3; round++) {
        T_EQ(append(s, "a", "x").status, WEIR_SEALED);
        T_EQ(seal(s, "a", 5).status, WEIR_SEALED);
        T_OK(state_of(s, "a").is_sealed);
        check_counted(s, "a", 3, 4096);
        if (round == 0) T_EQ(store_settle(s), WEIR_OK);
        if (round == 1) {
            store_close(s);
            s = open_store(folder);
        }
    }
    store_close(s);
}

TEST(appending_and_sealing_go_together)
{
    struct store *s = open_store(t_temp_dir());
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("a"), SLICE("data: 1\n\n"));
    commit_seal(c, SLICE("a"), -1);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    T_OK(state_of(s, "a").is_sealed);
    check_counted(s, "a", 1, 100);
    store_close(s);
}

TEST(a_dropped_log_is_gone_and_its_name_begins_anew)
{
    const char *folder = t_temp_dir();
    for (int how = 0; how < 8; how++) {
        char name[16];
        snprintf(name, sizeof name, "log%d", how);
        struct store *s = open_store(folder);
        append_n(s, name, 5);
        if (how & 1) T_EQ(store_settle(s), WEIR_OK);
        uint64_t old_id = state_of(s, name).log_id;
        T_EQ(drop(s, name).status, WEIR_OK);
        T_OK(!state_of(s, name).exists);
        T_EQ(drop(s, name).status, WEIR_NOT_FOUND);
        if (how & 2) T_EQ(store_settle(s), WEIR_OK);
        T_OK(!state_of(s, name).exists);
        T_EQ(append(s, name, "1").first, 1);
        T_OK(state_of(s, name).log_id != old_id);
        if (how & 4) {
            store_close(s);
            s = open_store(folder);
        }
        check_counted(s, name, 1, 100);
        store_close(s);
    }
}

/* As the sweep does it, of logs that were there when it looked. */
TEST(logs_are_dropped_by_their_ids_as_far_as_they_are_there)
{
    struct store *s = open_store(t_temp_dir());
    for (int i = 0; i < 3; i++) append_n(s, (const char *[]){"a", "b", "c"}[i], 2);
    uint64_t ids[] = {state_of(s, "a").log_id, state_of(s, "b").log_id, state_of(s, "c").log_id};
    T_EQ(drop(s, "b").status, WEIR_OK);
    append_n(s, "b", 1); /* another one */
    struct commit *c = commit_new(0);
    commit_drop_id(c, SLICE("a"), ids[0]);
    commit_drop_id(c, SLICE("b"), ids[1]);
    commit_drop_id(c, SLICE("nothing"), 77);
    commit_drop_id(c, SLICE("c"), ids[2]);
    commit_expect(c, SLICE("b"), 5); /* is not so: all of it is taken back */
    T_OK(store_commit_wait(s, c).status != WEIR_OK);
    check_counted(s, "a", 2, 100);
    c = commit_new(0);
    commit_drop_id(c, SLICE("a"), ids[0]);
    commit_drop_id(c, SLICE("b"), ids[1]);
    commit_drop_id(c, SLICE("nothing"), 77);
    commit_drop_id(c, SLICE("c"), ids[2]);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    T_OK(!state_of(s, "a").exists && !state_of(s, "c").exists);
    check_counted(s, "b", 1, 100);
    store_close(s);
}

TEST(a_commit_may_not_drop_what_it_appends_to)
{
    struct store *s = open_store(t_temp_dir());
    append_n(s, "a", 2);
    for (int order = 0; order < 2; order++) {
        struct commit *c = commit_new(0);
        if (order == 0) commit_append(c, SLICE("a"), SLICE("data: x\n\n"));
        commit_drop(c, SLICE("a"));
        if (order == 1) commit_append(c, SLICE("a"), SLICE("data: x\n\n"));
        T_EQ(store_commit_wait(s, c).status, WEIR_INVALID);
        check_counted(s, "a", 2, 100);
    }
    store_close(s);
}

TEST(a_sealed_log_expires_when_its_time_has_come)
{
    struct fake_clock clock;
    fake_clock_init(&clock, 1800000000000);
    struct store_options options = {.clock = &clock.clock};
    const char *folder = t_temp_dir();
    struct store *s = open_with(folder, &options);
    append_n(s, "soon", 2);
    append_n(s, "never", 2);
    T_EQ(seal(s, "soon", 3600000).status, WEIR_OK);
    T_EQ(seal(s, "never", -1).status, WEIR_OK);
    fake_clock_advance(&clock, UINT64_C(3599) * 1000000000);
    T_OK(state_of(s, "soon").exists);
    fake_clock_advance(&clock, UINT64_C(2) * 1000000000);
    T_OK(!state_of(s, "soon").exists);
    T_OK(state_of(s, "never").exists);
    T_EQ(read_all(s, "soon", 1, 100, NULL), 0);
    T_EQ(store_settle(s), WEIR_OK); /* and the sweep that follows drops it */
    store_close(s);
    s = open_with(folder, &options);
    T_OK(!state_of(s, "soon").exists);
    T_OK(state_of(s, "never").exists);
    store_close(s);
}

/* The first event that can be read. */
static uint64_t oldest_of(struct store *s, const char *log, uint64_t last)
{
    for (uint64_t id = 1; id <= last; id++) {
        struct log_read read;
        store_read(s, weir_slice_of(log), id, 1, &read);
        T_OK(read.status == WEIR_OK || read.status == WEIR_NOT_FOUND);
        unsigned n = read.n_chunks;
        for (unsigned i = 0; i < n; i++) chunk_unref(read.chunks[i]);
        if (read.status == WEIR_OK && n > 0) return id;
    }
    return 0;
}

TEST(a_log_can_be_trimmed_and_goes_on)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    uint64_t n_wrong = 0;
    struct weir_buf text;
    for (int i = 0; i < 10; i++) {
        append_n(s, "a", 10);
        T_EQ(store_settle(s), WEIR_OK);
    }
    append_n(s, "b", 3);
    T_EQ(store_trim(s, SLICE("a"), 41), WEIR_OK);
    T_EQ(store_trim(s, SLICE("b"), 1000), WEIR_OK);
    T_EQ(store_trim(s, SLICE("nothing"), 7), WEIR_OK);
    T_EQ(store_settle(s), WEIR_OK);
    uint64_t oldest = oldest_of(s, "a", 100);
    T_OK(oldest > 1 && oldest <= 41);
    T_OK(oldest_of(s, "b", 3) >= 1); /* never without its newest event */
    T_EQ(append(s, "a", "more").last, 101);
    T_EQ(append(s, "b", "more").last, 4);
    T_EQ(store_check(s, NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
    store_close(s);
    s = open_store(folder);
    weir_buf_init(&text, 1 << 20);
    T_EQ(read_all(s, "a", 41, 1000, &text), 101);
    T_EQ(oldest_of(s, "a", 101), oldest);
    /* A new log of the name has nothing to do with it. */
    struct commit *c = commit_new(0);
    commit_drop(c, SLICE("a"));
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    T_EQ(append(s, "a", "anew").last, 1);
    T_EQ(store_settle(s), WEIR_OK);
    T_EQ(oldest_of(s, "a", 1), 1);
    T_EQ(store_check(s, NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
    weir_buf_fini(&text);
    store_close(s);
}

TEST(a_wall_clock_that_jumps_expires_nothing)
{
    struct fake_clock clock;
    fake_clock_init(&clock, 1800000000000);
    struct store_options options = {.clock = &clock.clock};
    struct store *s = open_with(t_temp_dir(), &options);
    append_n(s, "a", 2);
    T_EQ(seal(s, "a", 3600000).status, WEIR_OK);
    fake_clock_set_wall(&clock, 1900000000000);
    T_EQ(store_settle(s), WEIR_OK);
    T_OK(state_of(s, "a").exists);
    fake_clock_set_wall(&clock, 0);
    T_OK(state_of(s, "a").exists);
    check_counted(s, "a", 2, 100);
    store_close(s);
}

/* ---- documents ---- */

TEST(documents_have_versions)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    struct doc doc;
    T_EQ(get(s, "x", &doc), WEIR_NOT_FOUND);
    T_EQ(put(s, "x", 1, "one").status, WEIR_CONFLICT);
    int64_t first = put(s, "x", DOC_MUST_BE_NEW, "one").version;
    T_EQ(put(s, "x", DOC_MUST_BE_NEW, "one").status, WEIR_EXISTS);
    check_doc(s, "x", 1, "one");
    T_EQ(put(s, "x", first, "two").version, first + 1);
    T_EQ(put(s, "x", first, "three").status, WEIR_CONFLICT);
    check_doc(s, "x", 2, "two");
    T_EQ(store_settle(s), WEIR_OK);
    check_doc(s, "x", 2, "two");
    T_EQ(put(s, "x", first + 1, "three").version, first + 2);
    T_EQ(put(s, "x", DOC_ANY_VERSION, "").version, first + 3);
    check_doc(s, "x", 4, "");
    store_close(s);
    s = open_store(folder);
    check_doc(s, "x", 4, "");
    store_close(s);
}

TEST(documents_can_be_removed)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    struct doc doc;
    struct doc_key key = {SLICE("note"), SLICE("x")};
    for (int settled = 0; settled < 2; settled++) {
        int64_t version = put(s, "x", DOC_MUST_BE_NEW, "one").version;
        if (settled) T_EQ(store_settle(s), WEIR_OK);
        struct commit *c = commit_new(0);
        commit_remove(c, key, version + 6);
        T_EQ(store_commit_wait(s, c).status, WEIR_CONFLICT);
        c = commit_new(0);
        commit_remove(c, key, version);
        T_EQ(store_commit_wait(s, c).status, WEIR_OK);
        T_EQ(get(s, "x", &doc), WEIR_NOT_FOUND);
        c = commit_new(0);
        commit_remove(c, key, DOC_ANY_VERSION);
        T_EQ(store_commit_wait(s, c).status, WEIR_NOT_FOUND);
        store_close(s);
        s = open_store(folder);
        T_EQ(get(s, "x", &doc), WEIR_NOT_FOUND);
    }
    store_close(s);
}

TEST(one_commit_may_put_a_document_twice_and_remove_it)
{
    struct store *s = open_store(t_temp_dir());
    struct doc doc;
    struct doc_key key = {SLICE("note"), SLICE("x")};
    struct commit *c = commit_new(0);
    commit_put(c, key, DOC_MUST_BE_NEW, SLICE("ann"), SLICE("one"));
    commit_put(c, key, DOC_ANY_VERSION, SLICE("ann"), SLICE("two"));
    struct commit_result result = store_commit_wait(s, c);
    int64_t version = result.version;
    T_EQ(version, result.made + 1);
    check_doc(s, "x", 2, "two");
    c = commit_new(0); /* and one that fails in the end takes back each step */
    for (int i = 0; i < 20; i++) {
        commit_append(c, SLICE("a"), SLICE("data: x\n\n"));
        commit_put(c, key, version + i, SLICE("ann"), SLICE("more"));
    }
    commit_expect(c, SLICE("a"), 7);
    T_EQ(store_commit_wait(s, c).status, WEIR_CONFLICT);
    check_doc(s, "x", 2, "two");
    T_OK(!state_of(s, "a").exists);
    T_EQ(append(s, "a", "1").first, 1);
    c = commit_new(0);
    commit_put(c, key, version, SLICE("ann"), SLICE("three"));
    commit_remove(c, key, version + 1);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    T_EQ(get(s, "x", &doc), WEIR_NOT_FOUND);
    store_close(s);
}

enum { N_LIVES = 40 };

static void remove_x(struct store *s)
{
    struct commit *c = commit_new(0);
    commit_remove(c, (struct doc_key){SLICE("note"), SLICE("x")}, DOC_ANY_VERSION);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
}

/* Whoever has seen one life of a document cannot write into another one. */
TEST(a_version_is_never_given_twice)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    int64_t seen[2 * N_LIVES];
    for (int i = 0; i < N_LIVES; i++) {
        seen[2 * i] = put(s, "x", DOC_MUST_BE_NEW, "one").version;
        seen[2 * i + 1] = put(s, "x", seen[2 * i], "two").version;
        for (int k = 0; k < 2 * i; k++) {
            T_OK(seen[k] != seen[2 * i] && seen[k] != seen[2 * i + 1]);
            T_EQ(put(s, "x", seen[k], "late").status, WEIR_CONFLICT);
        }
        check_doc(s, "x", 2, "two");
        if (i % 4 == 1) T_EQ(store_settle(s), WEIR_OK);
        remove_x(s);
        T_EQ(put(s, "x", seen[2 * i + 1], "late").status, WEIR_CONFLICT);
        if (i % 4 == 2) T_EQ(store_settle(s), WEIR_OK);
        if (i % 8 < 5) continue;
        store_close(s);
        s = open_store(folder);
    }
    store_close(s);
}

TEST(documents_of_one_commit_begin_with_one_version)
{
    struct store *s = open_store(t_temp_dir());
    struct doc doc;
    int64_t old = put(s, "old", DOC_MUST_BE_NEW, "one").version;
    struct commit *c = commit_new(0);
    commit_put(c, (struct doc_key){SLICE("note"), SLICE("x")}, 0, SLICE("ann"), SLICE("1"));
    commit_put(c, (struct doc_key){SLICE("note"), SLICE("y")}, 0, SLICE("ann"), SLICE("2"));
    commit_put(c, (struct doc_key){SLICE("note"), SLICE("old")}, old, SLICE("ann"), SLICE("3"));
    struct commit_result result = store_commit_wait(s, c);
    T_EQ(result.status, WEIR_OK);
    T_EQ(result.version, old + 1);
    static const char *const ids[] = {"x", "y"};
    for (int i = 0; i < 2; i++) {
        T_EQ(get(s, ids[i], &doc), WEIR_OK);
        T_EQ(doc.version, result.made);
        doc_fini(&doc);
    }
    T_EQ(put(s, "old", DOC_ANY_VERSION, "four").made, 0);
    store_close(s);
}

struct listed {
    char text[512];
    size_t n;
};

static enum weir_status list_doc(void *user, const struct doc *doc)
{
    struct listed *l = user;
    size_t used = strlen(l->text);
    snprintf(l->text + used, sizeof l->text - used, "%.*s=%.*s ", (int)doc->id.len, doc->id.ptr,
             (int)doc->body.len, doc->body.ptr);
    l->n++;
    return WEIR_OK;
}

static void check_list(struct store *s, const struct doc_query *query, const char *want)
{
    struct listed l = {0};
    T_EQ(store_doc_list(s, query, list_doc, &l), WEIR_OK);
    T_EQ_STR(weir_slice_of(l.text), want);
}

static void put_owned(struct store *s, const char *id, const char *owner, const char *body)
{
    struct commit *c = commit_new(0);
    commit_put(c, (struct doc_key){SLICE("k"), weir_slice_of(id)}, DOC_ANY_VERSION,
               weir_slice_of(owner), weir_slice_of(body));
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
}

TEST(documents_are_listed_by_kind_and_owner_in_order)
{
    struct store *s = open_store(t_temp_dir());
    put_owned(s, "b", "ann", "1");
    put_owned(s, "d", "bob", "1");
    put_owned(s, "a", "ann", "1");
    T_EQ(store_settle(s), WEIR_OK);
    put_owned(s, "c", "ann", "1");
    put_owned(s, "b", "ann", "2"); /* hides the settled one */
    put_owned(s, "d", "ann", "2"); /* changes hands */
    put_owned(s, "a", "bob", "2");
    put(s, "z", DOC_ANY_VERSION, "other kind");
    for (int settled = 0; settled < 2; settled++) {
        struct doc_query all = {.kind = SLICE("k"), .limit = 100};
        check_list(s, &all, "a=2 b=2 c=1 d=2 ");
        struct doc_query anns = {.kind = SLICE("k"), .owner = SLICE("ann"), .limit = 100};
        check_list(s, &anns, "b=2 c=1 d=2 ");
        anns.limit = 2;
        check_list(s, &anns, "b=2 c=1 ");
        anns.after = SLICE("b");
        check_list(s, &anns, "c=1 d=2 ");
        anns.limit = 0;
        check_list(s, &anns, "");
        struct doc_query bobs = {.kind = SLICE("k"), .owner = SLICE("bob"), .limit = 100};
        check_list(s, &bobs, "a=2 ");
        T_EQ(store_settle(s), WEIR_OK);
    }
    store_close(s);
}

TEST(documents_are_listed_backwards_too)
{
    char longest[STORE_NAME_BYTES + 1];
    struct store *s = open_store(t_temp_dir());
    memset(longest, 0xff, STORE_NAME_BYTES);
    longest[STORE_NAME_BYTES] = 0;
    put_owned(s, "b", "ann", "1");
    put_owned(s, "d", "bob", "1");
    put_owned(s, "a", "ann", "1");
    put_owned(s, "aa", "ann", "1");
    T_EQ(store_settle(s), WEIR_OK);
    put_owned(s, "c", "ann", "1");
    put_owned(s, "b", "ann", "2"); /* hides the settled one */
    put_owned(s, "d", "ann", "2"); /* changes hands */
    put_owned(s, "a", "bob", "2");
    for (int settled = 0; settled < 2; settled++) {
        struct doc_query all = {.kind = SLICE("k"), .limit = 100, .is_falling = true};
        check_list(s, &all, "d=2 c=1 b=2 aa=1 a=2 ");
        all.after = SLICE("c");
        all.limit = 2;
        check_list(s, &all, "b=2 aa=1 ");
        all.after = SLICE("a");
        check_list(s, &all, "");
        struct doc_query anns = {
            .kind = SLICE("k"), .owner = SLICE("ann"), .limit = 2, .is_falling = true};
        check_list(s, &anns, "d=2 c=1 ");
        anns.after = SLICE("c");
        check_list(s, &anns, "b=2 aa=1 ");
        anns.after = SLICE("aa");
        check_list(s, &anns, "");
        struct doc_query bobs = {
            .kind = SLICE("k"), .owner = SLICE("bob"), .limit = 100, .is_falling = true};
        check_list(s, &bobs, "a=2 ");
        T_EQ(store_settle(s), WEIR_OK);
    }
    put_owned(s, longest, "ann", "1"); /* no id stands behind it */
    T_EQ(store_settle(s), WEIR_OK);
    struct listed l = {0};
    struct doc_query first = {.kind = SLICE("k"), .limit = 1, .is_falling = true};
    T_EQ(store_doc_list(s, &first, list_doc, &l), WEIR_OK);
    T_EQ(l.text[0], longest[0]);
    store_close(s);
}

static enum weir_status put_again(void *store, const struct doc *doc)
{
    char id[8] = {0};
    memcpy(id, doc->id.ptr, doc->id.len);
    put_owned(store, id, "ann", "2");
    return WEIR_OK;
}

TEST(what_is_listed_may_change_meanwhile)
{
    struct store *s = open_store(t_temp_dir());
    struct doc_query all = {.kind = SLICE("k"), .limit = 100};
    put_owned(s, "a", "ann", "1");
    put_owned(s, "b", "ann", "1");
    T_EQ(store_doc_list(s, &all, put_again, s), WEIR_OK);
    T_EQ(store_settle(s), WEIR_OK);
    check_list(s, &all, "a=2 b=2 ");
    store_close(s);
}

TEST(appends_and_documents_happen_together_or_not_at_all)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    struct doc doc;
    struct doc_key key = {SLICE("note"), SLICE("step")};
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("turn"), SLICE("data: 1\n\n"));
    commit_put(c, key, DOC_MUST_BE_NEW, SLICE("ann"), SLICE("done 1"));
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    c = commit_new(0);
    commit_append(c, SLICE("turn"), SLICE("data: x\n\n"));
    commit_append(c, SLICE("new"), SLICE("data: x\n\n"));
    commit_put(c, (struct doc_key){SLICE("note"), SLICE("more")}, DOC_MUST_BE_NEW, SLICE("ann"),
               SLICE("x"));
    commit_put(c, key, 7, SLICE("ann"), SLICE("done 2"));
    T_EQ(store_commit_wait(s, c).status, WEIR_CONFLICT);
    for (int reopened = 0; reopened < 2; reopened++) {
        check_counted(s, "turn", 1, 100);
        T_OK(!state_of(s, "new").exists);
        T_EQ(get(s, "more", &doc), WEIR_NOT_FOUND);
        check_doc(s, "step", 1, "done 1");
        store_close(s);
        s = open_store(folder);
    }
    T_EQ(append(s, "turn", "2").first, 2);
    store_close(s);
}

/* ---- news ---- */

struct heard {
    pthread_mutex_t lock;
    uint64_t next[16]; /* by the number in the log's name */
    uint64_t n_news;
    bool is_sealed, is_dropped;
};

static void hear(void *user, const struct store_news *news, size_t n)
{
    struct heard *h = user;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < n; i++) {
        unsigned log = (unsigned)(news[i].log.ptr[0] - 'a');
        h->n_news++;
        h->is_sealed |= news[i].is_sealed;
        h->is_dropped |= news[i].is_dropped;
        if (!news[i].chunk) continue;
        T_EQ(news[i].chunk->first, h->next[log]);
        T_EQ(news[i].is_made, news[i].chunk->first == 1);
        h->next[log] = news[i].chunk->last + 1;
    }
    pthread_mutex_unlock(&h->lock);
}

TEST(news_come_in_order_and_before_done)
{
    struct heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
    for (size_t i = 0; i < 16; i++) h.next[i] = 1;
    struct store_options options = {.on_news = hear, .user = &h};
    struct store *s = open_with(t_temp_dir(), &options);
    for (uint64_t i = 1; i <= 20; i++) {
        append(s, "a", "x");
        pthread_mutex_lock(&h.lock);
        T_EQ(h.next[0], i + 1);
        pthread_mutex_unlock(&h.lock);
    }
    T_OK(!h.is_sealed && !h.is_dropped);
    seal(s, "a", -1);
    T_OK(h.is_sealed && !h.is_dropped);
    drop(s, "a");
    T_OK(h.is_dropped);
    store_close(s);
}

/* ---- many at once ---- */

enum { N_WRITERS = 4, N_EACH = 400, N_LOGS = 7 };

struct writer {
    struct store *s;
    unsigned number;
    uint64_t last[N_LOGS];
};

static void *write_many(void *user)
{
    struct writer *w = user;
    for (unsigned i = 0; i < N_EACH; i++) {
        unsigned log = (w->number + i * 3) % N_LOGS;
        char name[2] = {(char)('a' + log), 0};
        struct commit_result r = append(w->s, name, "x");
        T_EQ(r.status, WEIR_OK);
        T_OK(r.first > w->last[log]);
        w->last[log] = r.first;
    }
    return NULL;
}

struct watcher {
    struct store *s;
    atomic_bool stops;
};

/* Reads all the time: what is seen is always a prefix without holes. */
static void *read_many(void *user)
{
    struct watcher *w = user;
    while (!atomic_load(&w->stops)) {
        for (unsigned log = 0; log < N_LOGS; log++) {
            char name[2] = {(char)('a' + log), 0};
            uint64_t last = state_of(w->s, name).last;
            T_OK(read_all(w->s, name, 1, 1 << 16, NULL) >= last);
        }
    }
    return NULL;
}

static void *settle_many(void *user)
{
    struct watcher *w = user;
    while (!atomic_load(&w->stops)) T_EQ(store_settle(w->s), WEIR_OK);
    return NULL;
}

TEST(many_writers_readers_and_a_settler_get_along)
{
    const char *folder = t_temp_dir();
    struct heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
    for (size_t i = 0; i < 16; i++) h.next[i] = 1;
    struct store_options options = {.on_news = hear, .user = &h, .max_logs = 3};
    struct store *s = open_with(folder, &options);
    struct watcher watcher = {.s = s};
    struct writer writers[N_WRITERS];
    pthread_t threads[N_WRITERS + 2];
    pthread_create(&threads[N_WRITERS], NULL, read_many, &watcher);
    pthread_create(&threads[N_WRITERS + 1], NULL, settle_many, &watcher);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        writers[i] = (struct writer){.s = s, .number = i};
        pthread_create(&threads[i], NULL, write_many, &writers[i]);
    }
    for (unsigned i = 0; i < N_WRITERS; i++) pthread_join(threads[i], NULL);
    atomic_store(&watcher.stops, true);
    pthread_join(threads[N_WRITERS], NULL);
    pthread_join(threads[N_WRITERS + 1], NULL);
    for (int reopened = 0; reopened < 2; reopened++) {
        uint64_t n = 0;
        for (unsigned log = 0; log < N_LOGS; log++) {
            char name[2] = {(char)('a' + log), 0};
            uint64_t last = state_of(s, name).last;
            T_EQ(read_all(s, name, 1, 1 << 16, NULL), last);
            T_EQ(h.next[log], last + 1);
            n += last;
        }
        T_EQ(n, N_WRITERS * N_EACH);
        store_close(s);
        s = open_store(folder);
    }
    store_close(s);
}

/* ---- reading later ---- */

struct later {
    pthread_mutex_t lock;
    pthread_cond_t came;
    struct log_read read;
    bool is_there;
};

static void keep_read(void *user, const struct log_read *read)
{
    struct later *l = user;
    pthread_mutex_lock(&l->lock);
    l->read = *read;
    l->is_there = true;
    pthread_cond_signal(&l->came);
    pthread_mutex_unlock(&l->lock);
}

TEST(a_read_can_be_left_to_the_store)
{
    struct store *s = open_store(t_temp_dir());
    append_n(s, "a", 10);
    T_EQ(store_settle(s), WEIR_OK);
    struct later l = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};
    store_read_later(s, SLICE("a"), 4, 1 << 20, keep_read, &l);
    pthread_mutex_lock(&l.lock);
    while (!l.is_there) pthread_cond_wait(&l.came, &l.lock);
    pthread_mutex_unlock(&l.lock);
    T_EQ(l.read.status, WEIR_OK);
    T_EQ(l.read.state.last, 10);
    T_EQ(l.read.chunks[0]->first, 4);
    for (unsigned i = 0; i < l.read.n_chunks; i++) chunk_unref(l.read.chunks[i]);
    store_close(s);
}

/* ---- ceilings ---- */

TEST(a_full_queue_says_busy_and_a_large_commit_limit)
{
    struct store_options options = {.queue_bytes = 1000, .segment_bytes = 1 << 20};
    struct store *s = open_with(t_temp_dir(), &options);
    char *big = calloc(1, 600000);
    memset(big, 'x', 600000);
    memcpy(big, "data: ", 6);
    memcpy(big + 599998, "\n\n", 2);
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("a"), slice_of(big, 600000));
    T_EQ(store_commit_wait(s, c).status, WEIR_LIMIT);
    c = commit_new(0);
    memcpy(big + 1998, "\n\n", 2);
    commit_append(c, SLICE("a"), slice_of(big, 2000));
    T_EQ(store_commit_wait(s, c).status, WEIR_BUSY);
    T_EQ(append(s, "a", "x").status, WEIR_OK);
    free(big);
    store_close(s);
}

TEST(pending_bytes_are_bounded_by_settling)
{
    struct store_options options = {.pending_bytes = 20000};
    const char *folder = t_temp_dir();
    struct store *s = open_with(folder, &options);
    append_n(s, "a", 1500);
    struct store_stats stats;
    store_stats(s, &stats);
    T_OK(stats.n_settles > 0);
    T_OK(stats.pending_bytes < 40000);
    T_EQ(stats.n_events, 1500);
    check_counted(s, "a", 1500, 1 << 20);
    store_close(s);
}

TEST(a_check_finds_nothing_wrong)
{
    struct store *s = open_store(t_temp_dir());
    append_n(s, "a", 100);
    append_n(s, "b", 10);
    put(s, "x", DOC_ANY_VERSION, "one");
    drop(s, "b");
    uint64_t n_wrong = 1;
    T_EQ(store_check(s, NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
    T_EQ(store_is_writable(s), WEIR_OK);
    store_close(s);
}
