/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers for all kinds of files that are lists of JSON records. A format is a function for a
 * record and rows of data: which member is a day's value of which metric.
 *
 * The struct is open to the files of this folder. One thread at a time.
 */
#pragma once

#include "import/cell.h"
#include "import/json_rows.h"
#include "import/reader.h"

struct json_file;

struct json_format {
    const char *lists; /* as json_rows.h has it */
    const char *source;
    enum source_class source_class;
    size_t state_bytes; /* of json_file.state, zeroed */
    enum weir_status (*row)(struct json_file *f, const struct json_row *row);
    enum weir_status (*end)(struct json_file *f); /* may be NULL */
};

struct json_file {
    struct reader_context context;
    const struct json_format *format;
    struct json_rows rows;
    struct source source;
    uint64_t number; /* of the record at hand */
    void *state;
    char error[READER_ERROR_BYTES];
};

/* A member that is a day's value. */
struct json_metric {
    const char *path; /* "spo2_percentage.average" */
    const char *metric;
    const char *unit; /* in which it stands; NULL: the metric's */
};

/* ---- for a kind ---- */

/* How sure a kind is of a record, which may be cut off; NULL: there is none. */
typedef unsigned (*json_judge_fn)(const struct weir_json *record);

/* Judges the first record: of the outermost list, or of the first list in the outermost object. */
unsigned json_recognise(struct weir_slice head, json_judge_fn judge);

WEIR_MUST_CHECK enum weir_status json_file_open(struct reader **out, const struct reader_context *c,
                                                const struct json_format *format);
WEIR_MUST_CHECK enum weir_status json_file_feed(struct reader *r, struct weir_slice bytes);
WEIR_MUST_CHECK enum weir_status json_file_end(struct reader *r);
void json_file_close(struct reader *r);
uint64_t json_file_records(const struct reader *r);
const char *json_file_error(const struct reader *r);

/* ---- for row() ---- */

/* A member by a path of keys with points between; NULL when there is none or it is null. */
const struct weir_json *json_at(const struct weir_json *v, const char *path);
bool json_has(const struct weir_json *v, const char *path);
struct weir_slice json_text(const struct weir_json *v, const char *path); /* empty */

/* A number, or a text that is one; NAN. */
double json_number(const struct weir_json *v, const char *path);

void json_refuse(struct json_file *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void json_ignore(struct json_file *f, const char *what);
WEIR_MUST_CHECK enum weir_status json_fail(struct json_file *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A date or time at a path; refused when it is none. */
bool json_time(struct json_file *f, const struct weir_json *v, const char *path,
               enum date_order order, struct cell_time *out);
int32_t json_day(struct json_file *f, const struct weir_json *v, const char *path);
bool json_moment(struct json_file *f, const struct weir_json *v, const char *path,
                 struct moment *out);

/* A value of a metric in its own unit; what is not plausible is refused. False: no value. */
bool json_value(struct json_file *f, const struct weir_json *v, const struct json_metric *m,
                double *out);
WEIR_MUST_CHECK enum weir_status json_give_day(struct json_file *f, const char *metric, int32_t day,
                                               double value, bool is_partial);
WEIR_MUST_CHECK enum weir_status json_give_days(struct json_file *f, const struct weir_json *v,
                                                const struct json_metric *list, size_t n,
                                                int32_t day, bool is_partial);
WEIR_MUST_CHECK enum weir_status json_give_sleep(struct json_file *f, const struct sleep *s);
WEIR_MUST_CHECK enum weir_status json_give_workout(struct json_file *f, const struct workout *w);
