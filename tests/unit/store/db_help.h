/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the database share: logs whose events tell whether they are right. */
#pragma once

#include <inttypes.h>
#include <stdio.h>

#include "base/slice.h"
#include "store/db.h"
#include "t.h"

static inline const char *in_folder(const char *folder, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline struct db *open_db(const char *folder)
{
    struct db *db;
    struct store_error error = {""};
    T_EQ(db_open(&db, folder, &error), WEIR_OK);
    T_EQ_STR(slice_of(error.text, strlen(error.text)), "");
    return db;
}

static inline struct db_reader *open_reader(const char *folder)
{
    struct db_reader *r;
    T_EQ(db_reader_open(&r, folder), WEIR_OK);
    return r;
}

static inline struct weir_slice str(const char *s)
{
    return slice_of(s, strlen(s));
}

/* Events first..last in wire form; the same for the same ids. Borrowed until the next call. */
static inline struct weir_slice events(uint64_t first, uint64_t last)
{
    static _Thread_local char bytes[1 << 16];
    size_t len = 0;
    for (uint64_t id = first; id <= last; id++)
        len += (size_t)snprintf(bytes + len, sizeof bytes - len,
                                "id: %" PRIu64 "\ndata: event %" PRIu64 " %.*s\n\n", id, id,
                                (int)(id % 7 * 30), "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww");
    T_OK(len < sizeof bytes);
    return slice_of(bytes, len);
}

static inline struct db_log log_of(uint64_t id, const char *name, uint64_t last)
{
    return (struct db_log){.id = id, .name = str(name), .last = last, .expires_ms = INT64_MAX};
}

static inline void put_log(struct db *db, uint64_t id, const char *name, uint64_t last)
{
    struct db_log log = log_of(id, name, last);
    T_EQ(db_put_log(db, &log), WEIR_OK);
}

/* Appends events first..last to a log in a transaction of its own. */
static inline void append(struct db *db, uint64_t id, const char *name, uint64_t first,
                          uint64_t last)
{
    T_EQ(db_begin(db), WEIR_OK);
    put_log(db, id, name, last);
    T_EQ(db_put_events(db, id, first, last, events(first, last)), WEIR_OK);
    T_EQ(db_end(db, db_settled(db) + 1), WEIR_OK);
}

static inline void show_complaint(void *user, const char *text)
{
    (void)user;
    t_fail(__FILE__, __LINE__, "db_check: %s", text);
}

static inline void check_db(struct db_reader *r)
{
    uint64_t n_wrong = 1;
    T_EQ(db_check(r, show_complaint, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
}

/* What reading must give: events of these ids in order, as many as there are. */
struct seen {
    uint64_t from;
    uint64_t next;
    uint64_t n_rows;
    uint64_t stop_after; /* rows; 0: never */
};

static inline enum weir_status see_events(void *user, uint64_t first, uint64_t last,
                                          struct weir_slice bytes)
{
    struct seen *seen = user;
    if (seen->n_rows++ == 0) {
        T_OK(first <= seen->from && seen->from <= last);
        seen->next = first;
    }
    T_EQ(first, seen->next);
    T_EQ_SLICE(bytes, events(first, last));
    seen->next = last + 1;
    return seen->n_rows == seen->stop_after ? WEIR_CONFLICT : WEIR_OK;
}

/* The last event that is there, when reading from `from`; 0: none. */
static inline uint64_t read_from(struct db_reader *r, uint64_t id, uint64_t from)
{
    struct seen seen = {.from = from, .next = 1};
    T_EQ(db_read_events(r, id, from, see_events, &seen), WEIR_OK);
    return seen.next - 1;
}
