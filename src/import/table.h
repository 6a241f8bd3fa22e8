/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: readers for all kinds of files that are CSV with a header. What a format knows is data:
 * one row for each column, with its names in all the languages it is met in, and what it means.
 * Adding a column is adding a row.
 *
 * A kind has one or more formats; the header decides which it is. Rows before the header (a line
 * with the name of the file, say) are skipped. The format's row() is called for each row and asks
 * for cells by their meaning; what is wrong with one is refused with its line as it is asked for.
 *
 * The struct is open to the files of this folder. One thread at a time.
 */
#pragma once

#include "base/arena.h"
#include "import/cell.h"
#include "import/csv.h"
#include "import/reader.h"

/* What a cell is for, where it is not a day's value of a metric. */
enum table_field {
    FIELD_NONE,
    FIELD_DATE,
    FIELD_CLOCK, /* a time of day beside a date */
    FIELD_START,
    FIELD_END,
    FIELD_ONSET, /* of sleep, where start and end are of something else */
    FIELD_WAKING,
    FIELD_OFFSET,
    FIELD_ACTIVITY,
    FIELD_TITLE,
    FIELD_DURATION,
    FIELD_DISTANCE,
    FIELD_KCAL,
    FIELD_AVG_HR,
    FIELD_MAX_HR,
    FIELD_STEPS,
    FIELD_ASCENT,
    FIELD_STRIDE,
    FIELD_CADENCE,
    FIELD_ASLEEP,
    FIELD_IN_BED,
    FIELD_AWAKE,
    FIELD_LIGHT,
    FIELD_DEEP,
    FIELD_REM,
    FIELD_EFFICIENCY,
    FIELD_LATENCY,
    FIELD_NAP,
    FIELD_NAME, /* of a test, a metric, a question */
    FIELD_VALUE,
    FIELD_UNIT,
    FIELD_RANGE,
    FIELD_FLAG,
    FIELD_PERSON,
    FIELD_KIND,
    FIELD_STAGE,
    FIELD_UNUSED, /* known, and of no use: not even counted */
    N_FIELDS,
};

#define FIELD_BIT(field) (UINT64_C(1) << (field))

/* What a format knows of a column. */
struct table_column {
    const char *names; /* as headers have it, separated by '|'; only letters and digits count */
    enum table_field field; /* FIELD_NONE: a day's value of `metric` */
    const char *metric;     /* the catalogue's name */
    const char *unit; /* in which it stands when the header does not say; NULL: the metric's */
};

struct table;

struct table_format {
    const char *name;     /* "physiological cycles" */
    unsigned sure;        /* how certain a matching header makes it, 0 … 100 */
    uint64_t needs;       /* FIELD_BITs without which it is not this */
    const char *metric;   /* a metric without which it is not this, or NULL */
    const char *preamble; /* the first cell of the file, before the header ("a.*" begins so) */
    const char *file;     /* letters that the file's name has, where the header is not enough */
    const struct table_column *columns;
    size_t n_columns;
    const char *source;
    enum source_class source_class;
    bool is_left;       /* known, by its preamble or name, and left unread */
    bool is_open;       /* columns that are not known are the person's own metrics */
    bool looks_ahead;   /* first rows are kept to learn the order of dates and the decimal mark */
    size_t state_bytes; /* of table.state, zeroed */
    enum weir_status (*begin)(struct table *t); /* behind the header; may be NULL */
    void (*look)(struct table *t); /* at each row that waits, before any is handed over; or NULL */
    enum weir_status (*row)(struct table *t);
    enum weir_status (*end)(struct table *t); /* may be NULL */
};

/* A column of this file. */
struct table_bound {
    struct weir_slice label;         /* as the header has it */
    const struct table_column *spec; /* what the format says of it, or NULL */
    enum table_field field;
    const struct metric *metric;
    const struct analyte *analyte; /* where a format that is open has a column for a test */
    const char *unit;              /* of its cells */
    bool is_own;                   /* the person's own metric */
    bool is_text;                  /* the person's own, but no number was seen in it */
};

enum {
    TABLE_PREAMBLE = 20, /* rows before the header, at most */
    TABLE_AHEAD_ROWS = 512,
    TABLE_AHEAD_BYTES = 512 << 10,
    TABLE_REASON_BYTES = 160,
};

struct table_row {
    uint64_t line;
    struct weir_slice *cells;
    size_t n;
};

struct table {
    struct reader_context context;
    const struct table_format *formats;
    size_t n_formats;
    const struct table_format *format; /* NULL until the header was seen */
    struct csv csv;
    struct arena names; /* the columns and their labels */
    struct table_bound *columns;
    size_t n_columns;
    size_t at[N_FIELDS]; /* the column of each field; SIZE_MAX: none */

    struct arena ahead; /* rows that wait */
    struct table_row *waiting;
    size_t n_waiting;
    bool is_learning;

    enum date_order dates;
    enum number_style numbers;
    bool is_glance;   /* only to see what it is: there is no sink */
    bool is_timed;    /* the date column has times of day */
    bool has_repeats; /* and a day has several rows */
    bool has_shorts;  /* durations of two parts are minutes and seconds */

    struct csv_row row; /* the one at hand */
    struct source source;
    void *state;        /* the format's own */
    char unit_text[32]; /* of a value whose row says its unit */
    uint64_t n_records;
    size_t n_before;   /* rows before the header */
    char preamble[64]; /* the first cell of the first of them */
    char error[READER_ERROR_BYTES];
};

/* ---- for a kind: what fills its struct reader_kind ---- */

unsigned table_recognise(const struct table_format *formats, size_t n, struct weir_slice file_name,
                         struct weir_slice head);
WEIR_MUST_CHECK enum weir_status table_open(struct reader **out, const struct reader_context *c,
                                            const struct table_format *formats, size_t n);
WEIR_MUST_CHECK enum weir_status table_feed(struct reader *r, struct weir_slice bytes);
WEIR_MUST_CHECK enum weir_status table_end(struct reader *r);
void table_close(struct reader *r);
uint64_t table_records(const struct reader *r);
const char *table_error(const struct reader *r);
uint64_t table_line(const struct reader *r);

/* The kind whose formats are the list `formats` of the same file, and nothing else. */
#define TABLE_KIND(symbol, kind_name, kind_title)                                                  \
    static unsigned recognise(struct weir_slice file_name, struct weir_slice head)                 \
    {                                                                                              \
        return table_recognise(formats, sizeof formats / sizeof *formats, file_name, head);        \
    }                                                                                              \
    static enum weir_status open(struct reader **out, const struct reader_context *c)              \
    {                                                                                              \
        return table_open(out, c, formats, sizeof formats / sizeof *formats);                      \
    }                                                                                              \
    const struct reader_kind symbol = {.name = (kind_name),                                        \
                                       .title = (kind_title),                                      \
                                       .recognise = recognise,                                     \
                                       .open = open,                                               \
                                       .feed = table_feed,                                         \
                                       .end = table_end,                                           \
                                       .close = table_close,                                       \
                                       .records = table_records,                                   \
                                       .error = table_error,                                       \
                                       .line = table_line}

/* ---- for row(): cells by meaning; each refuses what is wrong and then says "nothing" ---- */

bool table_has(const struct table *t, enum table_field f); /* the file has such a column */
struct weir_slice table_cell(const struct table *t, enum table_field f); /* empty: missing */

/* NAN when it is missing or wrong. `unit` is the one wanted; NULL: as it stands. */
double table_number(struct table *t, enum table_field f, const char *unit);
double table_minutes(struct table *t, enum table_field f);

/* DAY_NONE; an empty cell is wrong here too, for a row without a day is of no use. */
int32_t table_day(struct table *t, enum table_field f);
bool table_moment(struct table *t, enum table_field f, struct moment *out);

/* A value of a metric, from a cell of that column, in its unit. */
bool table_value(struct table *t, size_t column, double *out);

/* All metrics of the row, as values of a day. */
WEIR_MUST_CHECK enum weir_status table_days(struct table *t, int32_t day, bool is_partial);
WEIR_MUST_CHECK enum weir_status table_day_value(struct table *t, const struct metric *m,
                                                 struct weir_slice name, int32_t day, double value);

void table_refuse(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text of the file, short and clean enough to stand in a reason. */
enum { TABLE_QUOTE_BYTES = 48 };
const char *table_quote(char out[TABLE_QUOTE_BYTES], struct weir_slice text);

/* Ends the reading: the file cannot be of this kind. */
WEIR_MUST_CHECK enum weir_status table_fail(struct table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes a column that of another metric, by its name and unit. False: the unit is refused. */
bool table_bind_value(struct table *t, struct table_bound *b, struct weir_slice name,
                      struct weir_slice unit);

/* Whether two names have the same letters and digits; `name` ends at '|' or its end. */
bool table_is_name(struct weir_slice label, struct weir_slice name);

/* From pounds, hours or °F to the metric's own unit. */
bool table_convert(const struct metric *m, const char *unit, double value, double *out);
