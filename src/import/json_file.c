/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a file of JSON records, and what is asked of each record. */
#include "import/json_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/slice.h"
#include "data/day.h"
#include "import/table_sleep.h"
#include "import/table_workout.h"

enum { GLANCE_BYTES = 4 << 20 };

struct reader {
    struct json_file file;
};

/* ---- words for people ---- */

void json_refuse(struct json_file *f, const char *format, ...)
{
    char reason[TABLE_REASON_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    f->context.sink.refuse(f->context.sink.user, f->number, reason);
}

void json_ignore(struct json_file *f, const char *what)
{
    f->context.sink.ignore(f->context.sink.user, weir_slice_of(what));
}

enum weir_status json_fail(struct json_file *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->error, sizeof f->error, format, args);
    va_end(args);
    return WEIR_BAD_FIELD;
}

/* ---- members ---- */

const struct weir_json *json_at(const struct weir_json *v, const char *path)
{
    while (v && *path) {
        size_t len = strcspn(path, ".");
        v = weir_json_get(v, slice_of(path, len));
        path += len + (path[len] == '.' ? 1 : 0);
    }
    return v && weir_json_type_of(v) != WEIR_JSON_NULL ? v : NULL;
}

bool json_has(const struct weir_json *v, const char *path)
{
    return json_at(v, path) != NULL;
}

struct weir_slice json_text(const struct weir_json *v, const char *path)
{
    const struct weir_json *m = json_at(v, path);
    return weir_json_type_of(m) == WEIR_JSON_STRING ? weir_json_text(m) : SLICE("");
}

double json_number(const struct weir_json *v, const char *path)
{
    double value;
    const struct weir_json *m = json_at(v, path);
    if (weir_json_type_of(m) != WEIR_JSON_NUMBER && weir_json_type_of(m) != WEIR_JSON_STRING)
        return NAN;
    return cell_decimal(weir_json_text(m), &value) ? value : NAN;
}

/* ---- times ---- */

bool json_time(struct json_file *f, const struct weir_json *v, const char *path,
               enum date_order order, struct cell_time *out)
{
    char quoted[TABLE_QUOTE_BYTES];
    struct weir_slice text = json_text(v, path);
    if (cell_time(text, order, out) && out->day != DAY_NONE) return true;
    if (text.len == 0) json_refuse(f, "there is no %s", path);
    else json_refuse(f, "%s: \"%s\" is not a date", path, table_quote(quoted, text));
    return false;
}

int32_t json_day(struct json_file *f, const struct weir_json *v, const char *path)
{
    struct cell_time t;
    return json_time(f, v, path, DATES_UNKNOWN, &t) ? t.day : DAY_NONE;
}

bool json_moment(struct json_file *f, const struct weir_json *v, const char *path,
                 struct moment *out)
{
    struct cell_time t;
    if (!json_time(f, v, path, DATES_UNKNOWN, &t)) return false;
    *out = cell_moment(&t, f->context.zone);
    return true;
}

/* ---- facts ---- */

bool json_value(struct json_file *f, const struct weir_json *v, const struct json_metric *m,
                double *out)
{
    const struct metric *metric = metric_find(weir_slice_of(m->metric));
    double value = json_number(v, m->path);
    if (isnan(value)) return false;
    if (!table_convert(metric, m->unit, value, out)) return false;
    /* Less than nothing is how some say that nothing was measured. */
    if (value < 0 && metric->min >= 0) return false;
    if (*out >= metric->min && *out <= metric->max) return true;
    /* A heart that does not beat and air without oxygen were not measured either. */
    if (value == 0 && metric->min > 0) return false;
    json_refuse(f, "%s: %g is not plausible (%g to %g %s)", m->path, *out, metric->min, metric->max,
                metric->unit);
    return false;
}

enum weir_status json_give_day(struct json_file *f, const char *metric, int32_t day, double value,
                               bool is_partial)
{
    struct day_value v = {.metric = metric_find(weir_slice_of(metric)),
                          .name = weir_slice_of(metric),
                          .day = day,
                          .value = value,
                          .is_partial = is_partial,
                          .source = f->source};
    return f->context.sink.day_value(f->context.sink.user, &v);
}

enum weir_status json_give_days(struct json_file *f, const struct weir_json *v,
                                const struct json_metric *list, size_t n, int32_t day,
                                bool is_partial)
{
    for (size_t i = 0; i < n; i++) {
        double value;
        if (!json_value(f, v, &list[i], &value)) continue;
        enum weir_status st = json_give_day(f, list[i].metric, day, value, is_partial);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

enum weir_status json_give_sleep(struct json_file *f, const struct sleep *s)
{
    const char *fault = sleep_fault(s);
    if (!fault) return f->context.sink.sleep(f->context.sink.user, s);
    json_refuse(f, "%s", fault);
    return WEIR_OK;
}

enum weir_status json_give_workout(struct json_file *f, const struct workout *w)
{
    const char *fault = workout_fault(w);
    if (!fault) return f->context.sink.workout(f->context.sink.user, w);
    json_refuse(f, "%s", fault);
    return WEIR_OK;
}

/* ---- the face of a reader ---- */

static enum weir_status on_row(void *user, const struct json_row *row)
{
    struct json_file *f = user;
    f->number = row->number;
    if (weir_json_type_of(row->value) == WEIR_JSON_OBJECT) return f->format->row(f, row);
    json_refuse(f, "not a record with members");
    return WEIR_OK;
}

enum weir_status json_file_open(struct reader **out, const struct reader_context *c,
                                const struct json_format *format)
{
    struct reader *r = mem_zalloc(sizeof *r);
    if (!r) return WEIR_NOMEM;
    struct json_file *f = &r->file;
    f->context = *c;
    f->format = format;
    f->source = (struct source){weir_slice_of(format->source), format->source_class};
    f->state = format->state_bytes > 0 ? mem_zalloc(format->state_bytes) : NULL;
    enum weir_status st = json_rows_init(&f->rows, format->lists, on_row, f);
    if (st == WEIR_OK && (f->state || format->state_bytes == 0)) {
        *out = r;
        return WEIR_OK;
    }
    json_file_close(r);
    return WEIR_NOMEM;
}

void json_file_close(struct reader *r)
{
    if (!r) return;
    json_rows_fini(&r->file.rows);
    mem_free(r->file.state);
    mem_free(r);
}

static enum weir_status told(struct json_file *f, enum weir_status st)
{
    if (st != WEIR_OK && f->error[0] == 0)
        snprintf(f->error, sizeof f->error, "%s",
                 json_rows_error(&f->rows)[0] ? json_rows_error(&f->rows) : weir_status_text(st));
    return st;
}

enum weir_status json_file_feed(struct reader *r, struct weir_slice bytes)
{
    return told(&r->file, json_rows_feed(&r->file.rows, bytes));
}

enum weir_status json_file_end(struct reader *r)
{
    struct json_file *f = &r->file;
    enum weir_status st = json_rows_end(&f->rows);
    if (st == WEIR_OK && f->format->end) st = f->format->end(f);
    return told(f, st);
}

uint64_t json_file_records(const struct reader *r)
{
    return r->file.rows.n_rows;
}

const char *json_file_error(const struct reader *r)
{
    return r->file.error;
}

/* ---- recognising ---- */

static const struct weir_json *first_object(const struct weir_json *list)
{
    const struct weir_json *v = weir_json_first(list);
    return weir_json_type_of(list) == WEIR_JSON_ARRAY && weir_json_type_of(v) == WEIR_JSON_OBJECT
               ? v
               : NULL;
}

static unsigned judge_value(const struct weir_json *v, json_judge_fn judge)
{
    if (first_object(v)) v = first_object(v);
    if (weir_json_type_of(v) != WEIR_JSON_OBJECT) return 0;
    unsigned best = judge(v);
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m)) {
        unsigned sure = first_object(m) ? judge(first_object(m)) : 0;
        if (sure > best) best = sure;
    }
    return best;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

unsigned json_recognise(struct weir_slice head, json_judge_fn judge)
{
    struct weir_slice s = head;
    if (s.len >= 3 && memcmp(s.ptr, "\xEF\xBB\xBF", 3) == 0) s = slice_from(s, 3);
    while (s.len > 0 && is_blank(s.ptr[0])) s = slice_from(s, 1);
    if (s.len == 0 || (s.ptr[0] != '[' && s.ptr[0] != '{')) return 0;
    struct weir_json_doc *doc = weir_json_doc_new(GLANCE_BYTES);
    struct weir_json_reader *r = doc ? weir_json_reader_new(doc, 0) : NULL;
    unsigned sure = 0;
    if (r) {
        /* The head may be cut off anywhere, and several objects may follow each other. */
        enum weir_status st = weir_json_reader_feed(r, s.ptr, s.len);
        (void)st;
        sure = judge_value(weir_json_reader_value(r), judge);
    }
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
    return sure;
}
