/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of notifications: what is written is read, and nothing less than all of it. */
#include "store/pg_news.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "t.h"

static struct pg_news news; /* too large for a stack */

static const struct pg_news_log logs[] = {
    {.log_id = 1, .name = {"turn/01J", 8}, .first = 3, .last = 9},
    {.log_id = INT64_MAX, .name = {"a b%\0\n", 6}, .first = 1, .last = INT64_MAX, .is_made = true},
    {.log_id = 5, .name = {"\xff", 1}, .is_sealed = true},
    {.log_id = 6, .name = {"x", 1}, .is_made = true, .is_sealed = true, .is_dropped = true},
};
static const struct doc_key docs[] = {
    {{"run", 3}, {"01JX", 4}},
    {{" ", 1}, {"\0", 1}},
};

enum { N_LOGS = sizeof logs / sizeof *logs, N_DOCS = sizeof docs / sizeof *docs };

static void check_log(const struct pg_news_log *got, const struct pg_news_log *want)
{
    T_EQ_SLICE(got->name, want->name);
    T_EQ(got->log_id, want->log_id);
    T_EQ(got->first, want->first);
    T_EQ(got->last, want->last);
    T_EQ(got->is_made, want->is_made);
    T_EQ(got->is_sealed, want->is_sealed);
    T_EQ(got->is_dropped, want->is_dropped);
}

static struct weir_slice write_all_kinds(void)
{
    pg_news_begin(&news, SLICE("node 1"), 77);
    for (size_t i = 0; i < N_LOGS; i++) pg_news_add_log(&news, &logs[i]);
    for (size_t i = 0; i < N_DOCS; i++) pg_news_add_doc(&news, docs[i]);
    T_EQ(pg_news_end(&news), 1);
    return pg_news_payload(&news, 0);
}

TEST(news_come_out_as_they_went_in)
{
    struct pg_news_reader r;
    struct pg_news_item item;
    struct weir_slice payload = write_all_kinds();
    T_EQ(payload.ptr[payload.len], 0);
    T_OK(pg_news_open(&r, payload));
    T_EQ_SLICE(r.writer, SLICE("node 1"));
    T_EQ(r.batch, 77);
    T_EQ(r.part, 1);
    T_OK(r.is_last);
    for (size_t i = 0; i < N_LOGS; i++) {
        T_EQ(pg_news_next(&r, &item), PG_NEWS_LOG);
        check_log(&item.log, &logs[i]);
    }
    for (size_t i = 0; i < N_DOCS; i++) {
        T_EQ(pg_news_next(&r, &item), PG_NEWS_DOC);
        T_EQ_SLICE(item.doc.kind, docs[i].kind);
        T_EQ_SLICE(item.doc.id, docs[i].id);
    }
    T_EQ(pg_news_next(&r, &item), PG_NEWS_END);
    T_EQ_SLICE(r.writer, SLICE("node 1"));
}

TEST(a_payload_is_text_that_any_database_takes)
{
    struct weir_slice payload = write_all_kinds();
    for (size_t i = 0; i < payload.len; i++)
        T_OK(payload.ptr[i] == '\n' || (payload.ptr[i] >= ' ' && payload.ptr[i] <= '~'));
}

/* Each cut lies in memory of its own, so that a sanitizer sees what is read beyond it. */
TEST(a_payload_cut_anywhere_is_none)
{
    struct weir_slice payload = write_all_kinds();
    for (size_t len = 0; len < payload.len; len++) {
        char *own = malloc(len + 1);
        struct pg_news_reader r;
        memcpy(own, payload.ptr, len);
        T_OK(!pg_news_open(&r, slice_of(own, len)));
        free(own);
    }
}

/* A byte that is another one is refused, or it is another payload; it is never read beyond. */
TEST(a_payload_with_any_byte_changed_is_read_inside)
{
    struct weir_slice payload = write_all_kinds();
    char *own = malloc(payload.len);
    memcpy(own, payload.ptr, payload.len);
    for (size_t i = 0; i < payload.len; i++) {
        for (int c = 0; c < 256; c++) {
            struct pg_news_reader r;
            struct pg_news_item item;
            size_t n = 0;
            own[i] = (char)c;
            if (!pg_news_open(&r, slice_of(own, payload.len))) continue;
            for (;; n++) {
                enum pg_news_kind kind = pg_news_next(&r, &item);
                if (kind == PG_NEWS_END || kind == PG_NEWS_BAD) break;
            }
            T_OK(n <= N_LOGS + N_DOCS + 1);
        }
        own[i] = payload.ptr[i];
    }
    free(own);
}

static void check_parts(unsigned n_parts, size_t n_docs)
{
    size_t seen = 0;
    for (unsigned i = 0; i < n_parts; i++) {
        struct pg_news_reader r;
        struct pg_news_item item;
        T_OK(pg_news_payload(&news, i).len <= PG_NEWS_BYTES);
        T_OK(pg_news_open(&r, pg_news_payload(&news, i)));
        T_EQ(r.part, i + 1);
        T_EQ(r.is_last, i + 1 == n_parts);
        while (pg_news_next(&r, &item) == PG_NEWS_DOC) {
            char id[16];
            snprintf(id, sizeof id, "%zu", seen++);
            T_OK(weir_slice_is(item.doc.id, id));
        }
        T_EQ(r.rest.len, 0);
    }
    T_EQ(seen, n_docs);
}

TEST(what_does_not_fit_one_payload_goes_in_parts)
{
    for (size_t n_docs = 300; n_docs < 2000; n_docs += 13) {
        pg_news_begin(&news, SLICE("w"), 1);
        for (size_t i = 0; i < n_docs; i++) {
            char id[16];
            int len = snprintf(id, sizeof id, "%zu", i);
            pg_news_add_doc(&news,
                            (struct doc_key){SLICE("session-state"), slice_of(id, (size_t)len)});
        }
        unsigned n_parts = pg_news_end(&news);
        check_parts(n_parts, n_docs);
    }
}

static void add_longest(void)
{
    char bytes[STORE_NAME_BYTES];
    memset(bytes, 0, sizeof bytes);
    struct weir_slice name = slice_of(bytes, sizeof bytes);
    struct pg_news_log log = {
        .name = name, .log_id = INT64_MAX, .first = INT64_MAX, .last = INT64_MAX};
    log.is_made = log.is_sealed = log.is_dropped = true;
    pg_news_add_doc(&news, (struct doc_key){name, name});
    pg_news_add_log(&news, &log);
}

TEST(the_longest_names_have_room)
{
    char writer[PG_NEWS_WRITER_BYTES];
    memset(writer, 1, sizeof writer);
    pg_news_begin(&news, slice_of(writer, sizeof writer), INT64_MAX);
    for (int i = 0; i < 20; i++) add_longest();
    unsigned n_parts = pg_news_end(&news);
    T_OK(n_parts > 5 && n_parts < PG_NEWS_PARTS);
    for (unsigned i = 0; i < n_parts; i++) {
        struct pg_news_reader r;
        struct pg_news_item item;
        enum pg_news_kind kind;
        T_OK(pg_news_open(&r, pg_news_payload(&news, i)));
        T_EQ_SLICE(r.writer, slice_of(writer, sizeof writer));
        while ((kind = pg_news_next(&r, &item)) != PG_NEWS_END) T_OK(kind != PG_NEWS_BAD);
    }
}

static void check_is_all(void)
{
    struct pg_news_reader r;
    struct pg_news_item item;
    T_EQ(pg_news_end(&news), 1);
    T_OK(pg_news_open(&r, pg_news_payload(&news, 0)));
    T_OK(r.is_last);
    T_EQ(pg_news_next(&r, &item), PG_NEWS_ALL);
    T_EQ(pg_news_next(&r, &item), PG_NEWS_END);
}

TEST(too_much_is_said_in_one_word)
{
    pg_news_begin(&news, SLICE("w"), 1);
    for (int i = 0; i < 1000; i++) add_longest();
    check_is_all();
    pg_news_begin(&news, SLICE("w"), 2);
    pg_news_add_doc(&news, docs[0]);
    pg_news_add_all(&news);
    pg_news_add_doc(&news, docs[0]);
    check_is_all();
}

TEST(nothing_to_tell_is_a_payload_all_the_same)
{
    struct pg_news_reader r;
    struct pg_news_item item;
    pg_news_begin(&news, SLICE("w"), 3);
    T_EQ(pg_news_end(&news), 1);
    T_OK(pg_news_open(&r, pg_news_payload(&news, 0)));
    T_EQ(pg_news_next(&r, &item), PG_NEWS_END);
}

TEST(what_no_node_writes_is_refused)
{
    static const char *const heads[] = {
        "",
        "weir1 .",
        "weir2 w 1 1\n.",
        "weir1 w 0 1\n.",
        "weir1 w 1 0\n.",
        "x",
        "weir1 w 01 1\n.",
        "weir1 w 1 33\n.",
        "weir1 w 1 1.",
        "weir1  1 1\n.",
        "hello",
        "weir1 %4 1 1\n.",
        "weir1 %41 1 1\n.",
        "weir1 w 9223372036854775808 1\n.",
        "weir1 w -1 1\n.",
        "weir1 %ff 1 1\n.",
        "weir1 w 1 1\n",
        "weir1 w 1 1\n!",
    };
    static const char *const lines[] = {
        "l 1 1 1 - \n",
        "l 0 1 1 - a\n",
        "l 1 2 1 - a\n",
        "l 1 0 1 - a\n",
        "l 1 1 0 - a\n",
        "l 1 1 1 a\n",
        "l 1 1 1 sm a\n",
        "l 1 1 1 mm a\n",
        "l 1 1 1 -m a\n",
        "l 1 1 1 - a b\n",
        "d a\n",
        "d a b c\n",
        "d  b\n",
        "e a b\n",
        "**\n",
        "d a b",
        "\n",
        "d a %2\n",
        "d a %2\x01\n",
        "l 1 1 1  a\n",
    };
    struct pg_news_reader r;
    struct pg_news_item item;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        T_OK(!pg_news_open(&r, weir_slice_of(heads[i])));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char payload[128];
        int len = snprintf(payload, sizeof payload, "weir1 w 1 1\n%s.", lines[i]);
        T_OK(pg_news_open(&r, slice_of(payload, (size_t)len)));
        T_EQ(pg_news_next(&r, &item), PG_NEWS_BAD);
    }
}
