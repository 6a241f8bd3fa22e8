/* SPDX-License-Identifier: Apache-2.0 */
/* A store on PostgreSQL in which one thing after the other is wrong. */
#include <stdio.h>

#include "base/slice.h"
#include "pg_server.h"
#include "store/pg_tables.h"
#include "t.h"

struct base {
    struct pg *pg;
    struct pg_pool *pool;
    char text[1024];
};

static bool open_base(struct base *b, const char *name)
{
    *b = (struct base){0};
    const char *url = pg_server_database(name);
    if (!url) return false;
    T_EQ(pg_open(&b->pg, &(struct pg_options){.url = url}, NULL), WEIR_OK);
    T_EQ(pg_migrate(b->pg, NULL), WEIR_OK);
    T_EQ(pg_pool_new(&b->pool, &(struct pg_options){.url = url, .role = PG_READER}, 1), WEIR_OK);
    return true;
}

static void close_base(struct base *b)
{
    pg_pool_free(b->pool);
    pg_close(b->pg);
}

static void note(void *user, const char *text)
{
    struct base *b = user;
    size_t len = strlen(b->text);
    snprintf(b->text + len, sizeof b->text - len, "%s; ", text);
}

static uint64_t check(struct base *b)
{
    uint64_t n_wrong = 77;
    b->text[0] = '\0';
    T_EQ(pg_check(b->pool, note, b, &n_wrong), WEIR_OK);
    return n_wrong;
}

static void put_passage(struct base *b)
{
    struct pg_words *words = NULL;
    struct doc doc = {SLICE("passage"), SLICE("p"), SLICE("ann"), SLICE("one\ntwo one"), 1, NULL};
    T_EQ(pg_words_new(&words), WEIR_OK);
    T_EQ(pg_words_put(words, &doc), WEIR_OK);
    pg_words_send(words, b->pg);
    pg_sync(b->pg);
    T_EQ(pg_take_all(b->pg), WEIR_OK);
    pg_words_free(words);
    T_EQ(pg_script(b->pg,
                   "INSERT INTO weir.docs VALUES ('passage', 'p', 'ann', 1, E'one\\ntwo one')"),
         WEIR_OK);
}

static const char *const good =
    "TRUNCATE weir.logs, weir.chunks, weir.garbage;"
    "SELECT setval('weir.log_ids', 3);"
    "INSERT INTO weir.logs (id, name, last, kept_from) VALUES (1, 'a', 3, 1), (2, 'b', 0, 1),"
    " (3, 'c', 9, 9);"
    "INSERT INTO weir.chunks (log, first, last, bytes) VALUES"
    " (1, 1, 2, E'id: 1\\ndata: x\\n\\nid: 2\\ndata: y\\n\\n'), (1, 3, 3, E'id: 3\\n\\n'),"
    " (3, 8, 9, E'id: 8\\ndata: x\\n\\nid: 9\\ndata: y\\n\\n'), (77, 1, 1, 'of a log that "
    "expired')";

TEST(what_is_wrong_with_logs_is_told)
{
    static const struct {
        const char *sql, *complaint;
    } cases[] = {
        {"SELECT 1", ""},
        {"UPDATE weir.logs SET last = 4 WHERE id = 1", "log 1: events up to 3, but it says 4; "},
        {"UPDATE weir.logs SET last = 1 WHERE id = 2", "log 2: events up to 0, but it says 1; "},
        {"DELETE FROM weir.chunks WHERE log = 1 AND first = 1",
         "log 1: event 1 is due, a row begins with 3; "},
        {"UPDATE weir.logs SET kept_from = 7 WHERE id = 3",
         "log 3: event 1 is due, a row begins with 8; "},
        {"UPDATE weir.chunks SET bytes = E'id: 4\\n\\n' WHERE first = 3",
         "log 1: row 3 to 3: bad event 3; "},
        {"INSERT INTO weir.chunks VALUES (78, 1, 1, '1999-12-31', 'x')",
         "log 78: there are events of it, but no such log; "},
        {"INSERT INTO weir.chunks VALUES (78, 1, 1, '1999-12-31', 'x');"
         "INSERT INTO weir.garbage VALUES (78)",
         ""},
        {"SELECT setval('weir.log_ids', 2)", "log 3: its id is not one that was given; "},
    };
    struct base b;
    if (!open_base(&b, "logs")) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        T_EQ(pg_script(b.pg, good), WEIR_OK);
        T_EQ(pg_script(b.pg, cases[i].sql), WEIR_OK);
        T_EQ(check(&b), cases[i].complaint[0] ? 1 : 0);
        T_EQ_STR(weir_slice_of(b.text), cases[i].complaint);
    }
    close_base(&b);
}

TEST(what_is_wrong_with_the_index_of_words_is_told)
{
    struct base b;
    if (!open_base(&b, "words")) return;
    put_passage(&b);
    T_EQ(check(&b), 0);
    T_EQ_STR(weir_slice_of(b.text), "");
    T_EQ(pg_script(b.pg, "UPDATE weir.words SET word = 'three' WHERE word = 'two'"), WEIR_OK);
    T_EQ(check(&b), 1);
    T_OK(strstr(b.text, "does not say what they do"));
    T_EQ(pg_script(b.pg, "UPDATE weir.words SET word = 'two' WHERE word = 'three';"
                         "UPDATE weir.passages SET n_words = 4"),
         WEIR_OK);
    T_EQ(check(&b), 1);
    T_OK(strstr(b.text, "counted wrongly"));
    T_EQ(pg_script(b.pg, "UPDATE weir.passages SET n_words = 3; DELETE FROM weir.docs"), WEIR_OK);
    T_EQ(check(&b), 2);
    T_OK(strstr(b.text, "no such document"));
    close_base(&b);
}

TEST(backup_says_what_to_do_instead)
{
    struct store_error error = {""};
    T_EQ(pg_backup(&error), WEIR_NOT_IMPLEMENTED);
    T_OK(strstr(error.text, "pg_dump"));
}
