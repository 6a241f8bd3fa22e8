/* SPDX-License-Identifier: Apache-2.0 */
/* A whole store, copied into another of any engine, and compared. */
#include "store/whole.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/slice.h"
#include "pg_server.h"
#include "store/passage.h"
#include "store/pg.h"
#include "store/whole_copy.h"
#include "t.h"

enum { PATH_BYTES = 512, N_LOGS = 20, N_EVENTS = 300, MAX_COMPLAINTS = 16 };

static struct weir_slice text_of(const char *text)
{
    return slice_of(text, strlen(text));
}

/* ---- a store with something of everything in it ---- */

static struct store *open_store(const char *place)
{
    struct store *store = NULL;
    struct store_error error = {""};
    const struct store_options options = {.durability = STORE_DURABLE_NORMAL};
    enum weir_status st = store_open(&store, place, &options, &error);
    T_EQ(st, WEIR_OK);
    if (st != WEIR_OK) printf("%s: %s\n", place, error.text);
    return store;
}

static void run(struct store *store, struct commit *c)
{
    T_EQ(store_commit_wait(store, c).status, WEIR_OK);
}

static void append(struct store *store, const char *log, int n)
{
    char frame[128];
    struct commit *c = commit_new(0);
    for (int i = 0; i < n; i++) {
        snprintf(frame, sizeof frame, "data: %s %d %s\n\n", log, i, i % 7 == 0 ? "öäü" : "x");
        commit_append(c, text_of(log), text_of(frame));
    }
    run(store, c);
}

static void put(struct store *store, struct doc_key key, const char *owner, struct weir_slice body)
{
    struct commit *c = commit_new(0);
    commit_put(c, key, DOC_ANY_VERSION, text_of(owner), body);
    run(store, c);
}

static void put_passage(struct store *store, const char *id, const char *text)
{
    struct commit *c = commit_new(0);
    passage_put(c,
                &(struct passage){.id = text_of(id),
                                  .owner = SLICE("ada"),
                                  .title = SLICE("A title"),
                                  .text = text_of(text)},
                DOC_ANY_VERSION);
    run(store, c);
}

static void drop(struct store *store, const char *log)
{
    struct commit *c = commit_new(0);
    commit_drop(c, text_of(log));
    run(store, c);
}

static void seal(struct store *store, const char *log, int64_t keep_ms)
{
    struct commit *c = commit_new(0);
    commit_seal(c, text_of(log), keep_ms);
    run(store, c);
}

static void fill_logs(struct store *store)
{
    char name[32];
    for (int i = 0; i < N_LOGS; i++) {
        snprintf(name, sizeof name, "log/%02d", i);
        append(store, name, 1 + i * N_EVENTS / N_LOGS);
    }
    append(store, "sealed", 3);
    seal(store, "sealed", -1);
    append(store, "expiring", 3);
    seal(store, "expiring", 3600 * 1000);
    struct commit *c = commit_new(0);
    commit_make(c, SLICE("empty"));
    run(store, c);
    append(store, "dropped", 3); /* its id is the largest there ever was */
    drop(store, "dropped");
}

/* Two settlings: a trim takes whole rows. */
static void fill_trimmed(struct store *store)
{
    append(store, "trimmed", 10);
    T_EQ(store_settle(store), WEIR_OK);
    append(store, "trimmed", 10);
    T_EQ(store_settle(store), WEIR_OK);
    T_EQ(store_trim(store, SLICE("trimmed"), 11), WEIR_OK);
    T_EQ(store_settle(store), WEIR_OK);
}

static void fill_docs(struct store *store)
{
    static const char all_bytes[] = "\0\1\n\xff body";
    static char large[STORE_DOC_BYTES / 2];
    char id[32];
    struct commit *c = commit_new(0);
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "%d", i);
        commit_put(c, (struct doc_key){SLICE("kind"), text_of(id)}, DOC_MUST_BE_NEW,
                   i % 2 ? SLICE("ada") : SLICE(""), text_of(id));
    }
    run(store, c);
    for (int i = 0; i < 6; i++)
        put(store, (struct doc_key){SLICE("kind"), SLICE("changed")}, "bob", text_of("again"));
    put(store, (struct doc_key){slice_of("k\xff", 2), slice_of("\0", 1)}, "ada",
        slice_of(all_bytes, sizeof all_bytes));
    put(store, (struct doc_key){SLICE("empty"), SLICE("body")}, "", slice_of("", 0));
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 6; i++) {
        snprintf(id, sizeof id, "large%d", i);
        put(store, (struct doc_key){SLICE("kind"), text_of(id)}, "", slice_of(large, sizeof large));
    }
    put_passage(store, "one/1", "the quick brown fox");
    put_passage(store, "one/2", "jumps over the lazy dog");
    put_passage(store, "one/2", "jumps over the lazy foxes");
}

static void fill(const char *place)
{
    struct store *store = open_store(place);
    if (!store) return;
    fill_logs(store);
    fill_trimmed(store);
    fill_docs(store);
    store_close(store);
}

/* ---- places ---- */

static const char *folder_of(const char *name)
{
    static char paths[8][PATH_BYTES];
    static unsigned n;
    char *path = paths[n++ % 8];
    snprintf(path, PATH_BYTES, "%s/%s", t_temp_dir(), name);
    return path;
}

static struct whole *open_whole(const char *place, enum whole_use use)
{
    struct whole *w = NULL;
    struct store_error error = {""};
    enum weir_status st = whole_open(&w, place, use, &error);
    T_EQ(st, WEIR_OK);
    if (st != WEIR_OK) printf("%s: %s\n", place, error.text);
    return w;
}

struct told {
    char texts[MAX_COMPLAINTS][256];
    unsigned n;
};

static void hear(void *user, const char *text)
{
    struct told *t = user;
    if (t->n < MAX_COMPLAINTS) snprintf(t->texts[t->n], sizeof t->texts[0], "%s", text);
    t->n++;
}

static bool has_told(const struct told *t, const char *part)
{
    for (unsigned i = 0; i < t->n && i < MAX_COMPLAINTS; i++)
        if (strstr(t->texts[i], part)) return true;
    return false;
}

/* How many things differ. */
static uint64_t n_differences(struct whole *a, struct whole *b, struct told *told)
{
    struct told unused = {.n = 0};
    struct whole_verdict verdict = {.complain = hear, .user = told ? told : &unused};
    struct whole_count count;
    T_EQ(whole_compare(a, b, NULL, &verdict, &count), WEIR_OK);
    for (unsigned i = 0; !told && i < unused.n && i < MAX_COMPLAINTS; i++)
        printf("%s\n", unused.texts[i]);
    return verdict.n_wrong;
}

static void copy(const char *from_place, const char *to_place)
{
    struct whole_count copied = {0};
    struct whole *from = open_whole(from_place, WHOLE_READ);
    struct whole *to = open_whole(to_place, WHOLE_FILL);
    if (from && to) {
        T_EQ(whole_copy(from, to, NULL, &copied), WEIR_OK);
        T_OK(copied.n_logs >= N_LOGS && copied.n_events > N_EVENTS && copied.n_docs > 300);
        T_EQ(n_differences(from, to, NULL), 0);
    }
    whole_close(to);
    whole_close(from);
}

static uint64_t n_differences_of(const char *a_place, const char *b_place, struct told *told)
{
    struct whole *a = open_whole(a_place, WHOLE_READ);
    struct whole *b = open_whole(b_place, WHOLE_READ);
    uint64_t n = a && b ? n_differences(a, b, told) : UINT64_MAX;
    whole_close(b);
    whole_close(a);
    return n;
}

/* ---- what a copy is ---- */

static enum weir_status keep_id(void *user, const struct passage_hit *hit)
{
    char *ids = user;
    size_t len = strlen(ids);
    snprintf(ids + len, PATH_BYTES - len, "%.*s ", (int)hit->id.len, hit->id.ptr);
    return WEIR_OK;
}

static void expect_found(struct store *store, const char *words, const char *ids)
{
    char found[PATH_BYTES] = "";
    const struct passage_query query = {
        .owner = SLICE("ada"), .words = text_of(words), .limit = PASSAGE_MAX_HITS};
    T_EQ(store_search(store, &query, keep_id, found), WEIR_OK);
    T_EQ_STR(text_of(found), ids);
}

static void expect_whole(const char *place)
{
    struct log_read read;
    struct doc doc;
    struct store *store = open_store(place);
    if (!store) return;
    store_read(store, SLICE("sealed"), 1, 0, &read);
    T_OK(read.state.exists && read.state.is_sealed);
    store_read(store, SLICE("empty"), 1, 0, &read);
    T_OK(read.state.exists);
    T_EQ(read.state.last, 0);
    store_read(store, SLICE("trimmed"), 1, 100, &read);
    T_EQ(read.status, WEIR_NOT_FOUND);
    store_read(store, SLICE("trimmed"), 11, 1, &read);
    T_EQ(read.status, WEIR_OK);
    for (unsigned i = 0; i < read.n_chunks; i++) chunk_unref(read.chunks[i]);
    T_EQ(store_doc_get(store, (struct doc_key){SLICE("kind"), SLICE("changed")}, &doc), WEIR_OK);
    T_EQ(doc_n_puts(doc.version), 6);
    doc_fini(&doc);
    expect_found(store, "fox", "one/1 one/2 ");
    expect_found(store, "lazy", "one/2 ");
    expect_found(store, "dog", "");
    uint64_t n_wrong = 0;
    T_EQ(store_check(store, NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
    store_close(store);
}

/* It goes on where the other was: ids of events, of logs, versions. */
static void expect_goes_on(const char *place)
{
    struct log_read read;
    struct store *store = open_store(place);
    if (!store) return;
    store_read(store, SLICE("sealed"), 1, 0, &read);
    uint64_t old_id = read.state.log_id;
    append(store, "log/00", 1);
    store_read(store, SLICE("log/00"), 2, 100, &read);
    T_EQ(read.state.last, 2);
    for (unsigned i = 0; i < read.n_chunks; i++) chunk_unref(read.chunks[i]);
    append(store, "trimmed", 1);
    store_read(store, SLICE("trimmed"), 1, 0, &read);
    T_EQ(read.state.last, 21);
    append(store, "new", 1);
    store_read(store, SLICE("new"), 1, 0, &read);
    /* Above that of the log that was dropped, which nobody has any more. */
    T_OK(read.state.log_id > old_id + 3);
    store_close(store);
}

TEST(copy_of_a_folder_is_the_same_and_goes_on)
{
    const char *from = folder_of("from");
    const char *to = folder_of("to");
    const char *again = folder_of("again");
    fill(from);
    copy(from, to);
    copy(to, again);
    T_EQ(n_differences_of(from, again, NULL), 0);
    expect_whole(from);
    expect_whole(again);
    expect_goes_on(again);
    T_OK(n_differences_of(from, again, &(struct told){.n = 0}) > 0);
}

TEST(copy_of_nothing_is_nothing)
{
    struct whole_count copied = {.n_logs = 1};
    const char *from_place = folder_of("nothing");
    const char *url = pg_server_database("nothing");
    if (!url) return;
    store_close(open_store(from_place));
    struct whole *from = open_whole(from_place, WHOLE_READ);
    struct whole *to = open_whole(url, WHOLE_FILL);
    T_EQ(whole_copy(from, to, NULL, &copied), WEIR_OK);
    T_EQ(copied.n_logs, 0);
    T_EQ(n_differences(from, to, NULL), 0);
    whole_close(to);
    whole_close(from);
    struct store *store = open_store(url);
    append(store, "first", 1);
    store_close(store);
}

/* ---- what is told apart ---- */

TEST(differences_are_named)
{
    const char *a = folder_of("a");
    const char *b = folder_of("b");
    struct told told = {.n = 0};
    fill(a);
    copy(a, b);
    struct store *store = open_store(b);
    append(store, "log/03", 1);
    append(store, "log/03a", 1);
    drop(store, "log/05");
    put(store, (struct doc_key){SLICE("kind"), SLICE("7")}, "ada", SLICE("7"));
    put(store, (struct doc_key){SLICE("kind"), SLICE("new")}, "ada", SLICE("7"));
    seal(store, "log/06", 1000000);
    put_passage(store, "one/3", "more");
    struct commit *c = commit_new(0);
    commit_remove(c, (struct doc_key){SLICE("kind"), SLICE("9")}, DOC_ANY_VERSION);
    run(store, c);
    store_close(store);
    T_EQ(n_differences_of(a, b, &told), 10);
    T_OK(has_told(&told, "log log/03: its last event is 46 in one and 47 in the other"));
    T_OK(has_told(&told, "log log/03a is in the second alone"));
    T_OK(has_told(&told, "log log/05 is in the first alone"));
    T_OK(has_told(&told, "log log/06: whether it is sealed"));
    T_OK(has_told(&told, "log log/06: its end"));
    T_OK(has_told(&told, "document kind/7: its version differs"));
    T_OK(has_told(&told, "document kind/9 is in the first alone"));
    T_OK(has_told(&told, "document kind/new is in the second alone"));
    T_OK(has_told(&told, "2 passages can be searched in one and 3 in the other"));
}

TEST(one_byte_of_an_event_is_told)
{
    const char *a = folder_of("a");
    const char *b = folder_of("b");
    struct told told = {.n = 0};
    struct store *store = open_store(a);
    append(store, "x", 50);
    store_close(store);
    store = open_store(b);
    append(store, "x", 49);
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("x"), SLICE("data: x 49 X\n\n"));
    run(store, c);
    store_close(store);
    T_EQ(n_differences_of(a, b, &told), 1);
    T_OK(has_told(&told, "log x: its events differ"));
}

/* ---- what is refused ---- */

TEST(what_is_in_use_or_not_empty_is_refused)
{
    const char *from = folder_of("from");
    const char *to = folder_of("to");
    struct whole *w = NULL;
    struct store_error error;
    T_EQ(whole_open(&w, from, WHOLE_READ, &error), WEIR_NOT_FOUND);
    T_OK(!w && strstr(error.text, "no store"));
    struct store *store = open_store(from);
    append(store, "x", 1);
    T_EQ(whole_open(&w, from, WHOLE_READ, &error), WEIR_LOCKED);
    T_OK(!w && strstr(error.text, "another process"));
    T_EQ(whole_open(&w, from, WHOLE_FILL, &error), WEIR_LOCKED);
    store_close(store);
    T_EQ(whole_open(&w, from, WHOLE_FILL, &error), WEIR_EXISTS);
    T_OK(!w && strstr(error.text, "1 logs and 0 documents"));
    w = open_whole(to, WHOLE_FILL);
    T_EQ(store_open(&store, to, NULL, &error), WEIR_LOCKED);
    whole_close(w);
    store_close(open_store(to));
}

TEST(filling_that_does_not_end_has_not_happened)
{
    const char *to = folder_of("to");
    static const struct weir_slice two = {"id: 1\ndata: x\n\nid: 2\ndata: y\n\n", 30};
    struct whole *w = open_whole(to, WHOLE_FILL);
    struct whole_log log = {
        .id = 7, .name = SLICE("x"), .kept_from = 1, .last = 4, .expires_ms = INT64_MAX};
    T_EQ(whole_put_log(w, &log), WEIR_OK);
    T_EQ(whole_put_events(w, &(struct whole_events){1, 2, two}), WEIR_OK);
    T_EQ(whole_put_events(w, &(struct whole_events){4, 4, two}), WEIR_CORRUPT);
    T_OK(strstr(whole_message(w), "event 3 was to come"));
    T_EQ(whole_put_events(w, &(struct whole_events){3, 5, two}), WEIR_CORRUPT);
    T_EQ(whole_fill_end(w, 7), WEIR_CORRUPT);
    T_OK(strstr(whole_message(w), "event 3 and those behind it"));
    whole_close(w);
    w = open_whole(to, WHOLE_FILL); /* still empty */
    whole_close(w);
}

/* ---- PostgreSQL ---- */

/* Empty, and nobody's but this case's. */
static const char *database_of(const char *name)
{
    static char urls[4][PATH_BYTES];
    static unsigned n;
    if (!pg_server_url()) return NULL;
    pg_server_drop(name);
    const char *url = pg_server_database(name);
    char *kept = urls[n++ % 4];
    snprintf(kept, PATH_BYTES, "%s", url ? url : "");
    return url ? kept : NULL;
}

static struct pg *connect_as(const char *url, const char *name)
{
    struct pg *pg = NULL;
    T_EQ(pg_open(&pg, &(struct pg_options){.url = url, .name = name}, NULL), WEIR_OK);
    return pg;
}

TEST(copy_goes_to_postgresql_and_back)
{
    const char *from = folder_of("from");
    const char *back = folder_of("back");
    const char *url = database_of("whole_a");
    const char *other = database_of("whole_b");
    if (!url || !other) return;
    fill(from);
    copy(from, url);
    copy(url, other);
    copy(other, back);
    T_EQ(n_differences_of(from, back, NULL), 0);
    T_EQ(n_differences_of(url, from, NULL), 0);
    expect_whole(url);
    expect_whole(back);
    expect_goes_on(back);
    expect_goes_on(other);
}

TEST(store_that_lived_on_postgresql_goes_to_a_folder)
{
    const char *to = folder_of("to");
    const char *url = database_of("whole_a");
    if (!url) return;
    fill(url);
    copy(url, to);
    expect_whole(to);
    expect_goes_on(to);
}

TEST(store_of_several_databases_becomes_one)
{
    static char urls[2 * PATH_BYTES];
    const char *to = folder_of("to");
    const char *first = database_of("whole_a"), *second = database_of("whole_b");
    const char *one = database_of("whole_c");
    struct whole *w = NULL;
    struct store_error error;
    if (!first || !second || !one) return;
    snprintf(urls, sizeof urls, "%s,%s", first, second);
    fill(urls);
    T_EQ(whole_open(&w, first, WHOLE_READ, &error), WEIR_INVALID);
    T_OK(strstr(error.text, "name all of them"));
    copy(urls, to);
    copy(urls, one);
    T_EQ(n_differences_of(urls, to, NULL), 0);
    expect_whole(to);
    expect_whole(one);
    expect_goes_on(to);
    expect_goes_on(one);
    struct pg *node = connect_as(second, "weir");
    T_EQ(whole_open(&w, urls, WHOLE_READ, &error), WEIR_LOCKED);
    pg_close(node);
    T_EQ(whole_open(&w, urls, WHOLE_FILL, &error), WEIR_INVALID);
    T_OK(strstr(error.text, "copy to one database"));
}

TEST(database_in_use_without_a_store_or_not_empty_is_refused)
{
    const char *from = folder_of("from");
    const char *url = database_of("whole_a");
    struct whole *w = NULL;
    struct store_error error;
    if (!url) return;
    T_EQ(whole_open(&w, url, WHOLE_READ, &error), WEIR_NOT_FOUND);
    T_OK(!w && strstr(error.text, "no store"));
    struct pg *node = connect_as(url, "weir");
    T_EQ(whole_open(&w, url, WHOLE_FILL, &error), WEIR_LOCKED);
    T_OK(!w && strstr(error.text, "in use"));
    pg_close(node);
    fill(from);
    copy(from, url);
    T_EQ(whole_open(&w, url, WHOLE_FILL, &error), WEIR_EXISTS);
    T_OK(!w && strstr(error.text, "not empty"));
    w = open_whole(url, WHOLE_READ);
    T_EQ(whole_open(&(struct whole *){NULL}, url, WHOLE_READ, &error), WEIR_LOCKED);
    whole_close(w);
    T_EQ(whole_open(&w, "postgres://nobody@/x?host=/nowhere", WHOLE_READ, &error), WEIR_STORAGE);
    T_OK(!w && error.text[0] != 0);
}

TEST(filling_of_a_database_that_breaks_off_has_not_happened)
{
    const char *from_place = folder_of("from");
    const char *url = database_of("whole_a");
    struct whole_count count;
    if (!url) return;
    fill(from_place);
    struct whole *from = open_whole(from_place, WHOLE_READ);
    struct whole *to = open_whole(url, WHOLE_FILL);
    pg_server_stop();
    T_EQ(whole_copy(from, to, NULL, &count), WEIR_STORAGE);
    T_OK(whole_message(to)[0] != 0);
    whole_close(to);
    pg_server_start();
    to = open_whole(url, WHOLE_FILL); /* still empty */
    T_EQ(whole_copy(from, to, NULL, &count), WEIR_OK);
    T_EQ(n_differences(from, to, NULL), 0);
    whole_close(to);
    whole_close(from);
}
