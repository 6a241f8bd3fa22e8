/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/sweep.h"

#include <stdio.h>

#include "base/slice.h"
#include "stream/stream.h"
#include "t.h"

enum { NOW_MS = 1000000 };

static struct store *open_store(void)
{
    struct store *s = NULL;
    const struct store_options options = {.durability = STORE_DURABLE_NORMAL};
    T_EQ(store_open(&s, t_temp_dir(), &options, NULL), WEIR_OK);
    return s;
}

static void create(struct store *s, const char *name, int64_t ttl_s)
{
    struct commit *c = commit_new(256);
    struct stream_create create = {.name = weir_slice_of(name), .now_ms = NOW_MS};
    create.wanted = record_of_type(SLICE("text/plain"));
    create.wanted.ttl_s = ttl_s;
    stream_create_commit(c, &create);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    T_EQ(create.outcome, STREAM_DONE);
}

static bool is_there(struct store *s, const char *name)
{
    struct stream_found found;
    stream_find(s, weir_slice_of(name), NOW_MS, &found);
    doc_fini(&found.doc);
    return found.status == WEIR_OK;
}

static void produce(struct store *s, const char *name, const char *producer)
{
    struct stream_log_text text;
    struct commit *c = commit_new(256);
    struct stream_append a = {.name = weir_slice_of(name),
                              .type = SLICE("text/plain"),
                              .has_producer = true,
                              .producer = weir_slice_of(producer),
                              .now_ms = NOW_MS};
    commit_append(c, stream_log_name(&text, a.name), SLICE("data: x\n\n"));
    stream_append_commit(c, &a);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    T_EQ(a.outcome, STREAM_DONE);
}

static enum weir_status count_doc(void *n, const struct doc *doc)
{
    (void)doc;
    ++*(size_t *)n;
    return WEIR_OK;
}

static size_t n_docs(struct store *s, const char *kind)
{
    size_t n = 0;
    struct doc_query query = {.kind = weir_slice_of(kind), .limit = SIZE_MAX};
    T_EQ(store_doc_list(s, &query, count_doc, &n), WEIR_OK);
    return n;
}

static void delete_one(struct store *s, const char *name)
{
    struct commit *c = commit_new(256);
    struct stream_delete d = {.name = weir_slice_of(name), .now_ms = NOW_MS};
    stream_delete_commit(c, &d);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
}

TEST(only_what_has_expired_goes)
{
    struct store *s = open_store();
    create(s, "ever", -1);
    create(s, "long", 3600);
    create(s, "short", 8);
    T_EQ(sweep_once(s, NOW_MS), 0);
    T_EQ(sweep_once(s, NOW_MS + 8999), 0); /* an eighth later than it says: see record.h */
    T_EQ(sweep_once(s, NOW_MS + 9000), 1);
    T_OK(is_there(s, "ever") && is_there(s, "long") && !is_there(s, "short"));
    T_EQ(n_docs(s, stream_kind), 2);
    store_close(s);
}

TEST(more_than_a_page_goes_too)
{
    struct store *s = open_store();
    for (int i = 0; i < 2 * SWEEP_DOCS + 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "s%d", i);
        create(s, name, i % 3 == 0 ? -1 : 1);
    }
    size_t n_old = (size_t)(2 * SWEEP_DOCS + 3) - (2 * SWEEP_DOCS + 3 + 2) / 3;
    T_EQ(sweep_once(s, NOW_MS + 5000), n_old);
    T_EQ(n_docs(s, stream_kind), 2 * SWEEP_DOCS + 3 - n_old);
    store_close(s);
}

TEST(producers_go_with_their_stream_and_not_with_its_name)
{
    struct store *s = open_store();
    create(s, "a", -1);
    create(s, "b", -1);
    produce(s, "a", "p");
    produce(s, "a", "q");
    produce(s, "b", "p");
    T_EQ(sweep_once(s, NOW_MS), 0);
    delete_one(s, "a");
    T_EQ(sweep_once(s, NOW_MS), 2);
    create(s, "a", -1);
    produce(s, "a", "p"); /* begins anew, with sequence 0 */
    T_EQ(sweep_once(s, NOW_MS), 0);
    delete_one(s, "a");
    create(s, "a", -1);
    T_EQ(sweep_once(s, NOW_MS), 1);
    T_EQ(n_docs(s, producer_kind), 1);
    store_close(s);
}

TEST(thread_starts_and_stops)
{
    struct store *s = open_store();
    struct sweep *sweep;
    T_EQ(sweep_start(&sweep, s), WEIR_OK);
    sweep_stop(sweep);
    store_close(s);
}
