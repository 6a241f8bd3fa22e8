/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a JSON file, one by one, in bounded memory however large the file is.
 *
 * Records are the elements of the outermost array, or the outermost object itself; several
 * objects may stand one behind the other (a line each). Lists inside a record that are named when
 * reading begins ("data", "sleep") are taken apart too: each of their elements is a record of that
 * list, and the record around them has an empty list in their place.
 *
 * 1. json_rows_init() with a function for records.
 * 2. json_rows_feed() as bytes arrive, json_rows_end() behind the last.
 * 3. json_rows_fini().
 *
 * The caller owns the struct; a record and its value live for the call. One thread at a time.
 */
#pragma once

#include <weir/json.h>

#include "import/reader.h"

enum {
    JSON_ROW_BYTES = 4 << 20,       /* text of one record */
    JSON_ROW_TREE_BYTES = 64 << 20, /* and its value, for small members cost most */
    JSON_ROW_LIST_BYTES = 64,
};

struct json_row {
    uint64_t number;        /* from 1 */
    struct weir_slice list; /* the name of the list it stood in; empty: none */
    const struct weir_json *value;
    bool had_lists; /* others of its records were handed over before */
};

typedef enum weir_status (*json_row_fn)(void *user, const struct json_row *row);

struct json_rows {
    json_row_fn row;
    void *user;
    const char *lists; /* names separated by '|' */
    struct weir_json_doc *doc;
    struct weir_buf text;   /* of the record */
    struct weir_buf inside; /* of an element of a list in it */
    uint64_t offset, n_rows;
    int state, depth;
    bool is_string, is_escaped, is_scalar; /* of the value that is being kept */
    bool in_list, in_record, in_inner;
    bool is_over; /* the outermost list has ended */
    bool had_lists;
    unsigned n_mark;
    size_t key_at; /* where the key begins in text */
    char list[JSON_ROW_LIST_BYTES];
    enum weir_status status;
    char error[READER_ERROR_BYTES];
};

WEIR_MUST_CHECK enum weir_status json_rows_init(struct json_rows *r, const char *lists,
                                                json_row_fn row, void *user);
void json_rows_fini(struct json_rows *r);

/* WEIR_JSON_SYNTAX and the other errors of JSON, WEIR_LIMIT, WEIR_NOMEM, or what a row gave. */
WEIR_MUST_CHECK enum weir_status json_rows_feed(struct json_rows *r, struct weir_slice bytes);
WEIR_MUST_CHECK enum weir_status json_rows_end(struct json_rows *r);

/* Why it failed, with the place; empty when a row's function did. */
const char *json_rows_error(const struct json_rows *r);
