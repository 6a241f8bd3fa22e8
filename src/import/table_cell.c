/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of the row at hand by what they mean; what is wrong is refused with the row's line. */
#include <math.h>
#include <stdio.h>

#include "base/slice.h"
#include "data/day.h"
#include "import/table_impl.h"

bool table_has(const struct table *t, enum table_field f)
{
    return t->at[f] != SIZE_MAX;
}

static struct weir_slice cell_at(const struct table *t, size_t column)
{
    if (column >= t->row.n) return (struct weir_slice){0};
    struct weir_slice s = cell_trim(t->row.fields[column]);
    return cell_is_missing(s) ? (struct weir_slice){0} : s;
}

struct weir_slice table_cell(const struct table *t, enum table_field f)
{
    return cell_at(t, t->at[f]);
}

static void refuse_cell(struct table *t, size_t column, const char *what)
{
    char label[TABLE_QUOTE_BYTES];
    char cell[TABLE_QUOTE_BYTES];
    table_refuse(t, "%s: \"%s\" is %s", table_quote(label, t->columns[column].label),
                 table_quote(cell, cell_at(t, column)), what);
}

/* ---- numbers ---- */

/* "75.2 kg": a number, and behind it a unit of its own. */
static bool split_unit(struct weir_slice s, struct weir_slice *number, char unit[16])
{
    size_t n = s.len;
    while (n > 0 && !(s.ptr[n - 1] >= '0' && s.ptr[n - 1] <= '9')) n--;
    struct weir_slice u = cell_trim(slice_from(s, n));
    if (n == 0 || u.len == 0 || u.len >= 16) return false;
    memcpy(unit, u.ptr, u.len);
    unit[u.len] = 0;
    *number = slice_of(s.ptr, n);
    return true;
}

double table_number(struct table *t, enum table_field f, const char *unit)
{
    size_t column = t->at[f];
    struct weir_slice s = table_cell(t, f);
    const char *from = column == SIZE_MAX ? NULL : t->columns[column].unit;
    struct weir_slice number;
    char own[16];
    double value;
    if (s.len == 0) return NAN;
    bool is_read = cell_number(s, t->numbers, &value);
    if (!is_read && split_unit(s, &number, own) && cell_number(number, t->numbers, &value)) {
        from = own;
        is_read = true;
    }
    if (is_read && unit && from) is_read = unit_convert(from, unit, value, &value);
    if (is_read) return value;
    refuse_cell(t, column, "not a number");
    return NAN;
}

double table_minutes(struct table *t, enum table_field f)
{
    struct weir_slice s = table_cell(t, f);
    double value;
    if (s.len == 0) return NAN;
    if (cell_duration(s, t->has_shorts, &value)) return value;
    return table_number(t, f, "min");
}

/* A number in the metric's own unit, by whatever way it is written. */
static bool read_value(struct table *t, const struct table_bound *b, struct weir_slice s,
                       double *out)
{
    const struct metric *m = b->metric;
    struct weir_slice number;
    char unit[16];
    double minutes;
    if (m && strcmp(m->unit, "clock") == 0 && cell_clock(s, out)) return true;
    if (cell_number(s, t->numbers, out)) return !m || table_convert(m, b->unit, *out, out);
    if (m && cell_duration(s, false, &minutes) && unit_convert("min", m->unit, minutes, out))
        return true; /* "5000 m" are minutes of sleep, and metres of a walk */
    if (m && split_unit(s, &number, unit) && cell_number(number, t->numbers, out))
        return table_convert(m, unit, *out, out);
    bool yes;
    if (m || !cell_yes_no(s, &yes)) return false;
    *out = yes ? 1 : 0;
    return true;
}

bool table_value(struct table *t, size_t column, double *out)
{
    const struct table_bound *b = &t->columns[column];
    struct weir_slice s = cell_at(t, column);
    char text[TABLE_QUOTE_BYTES * 2];
    if (s.len == 0) return false;
    if (!read_value(t, b, s, out)) {
        refuse_cell(t, column,
                    b->metric && strcmp(b->metric->unit, "clock") == 0 ? "not a time of day"
                                                                       : "not a number");
        return false;
    }
    if (!b->metric || (*out >= b->metric->min && *out <= b->metric->max)) return true;
    snprintf(text, sizeof text, "not plausible (%g to %g %s)", b->metric->min, b->metric->max,
             b->metric->unit);
    refuse_cell(t, column, text);
    return false;
}

/* ---- days and moments ---- */

static bool read_time(struct table *t, enum table_field f, struct cell_time *time)
{
    struct weir_slice s = table_cell(t, f);
    if (s.len == 0) {
        char label[TABLE_QUOTE_BYTES];
        table_refuse(t, "%s: there is no date", table_quote(label, t->columns[t->at[f]].label));
        return false;
    }
    if (cell_time(s, t->dates, time) && time->day != DAY_NONE) return true;
    refuse_cell(t, t->at[f],
                t->dates == DATES_MONTH_FIRST && memchr(s.ptr, '/', s.len)
                    ? "not a date (month first, as in the rows before)"
                    : "not a date");
    return false;
}

int32_t table_day(struct table *t, enum table_field f)
{
    struct cell_time time;
    if (!table_has(t, f) || !read_time(t, f, &time)) return DAY_NONE;
    return time.day;
}

/* An offset of its own column, and a time of day of one, where the format has them. */
bool table_moment(struct table *t, enum table_field f, struct moment *out)
{
    struct cell_time time;
    double minutes;
    if (!table_has(t, f) || !read_time(t, f, &time)) return false;
    struct weir_slice offset = table_cell(t, FIELD_OFFSET);
    if (weir_slice_is(offset, "UTCZ")) offset = SLICE("Z"); /* WHOOP's for London in winter */
    if (!time.has_offset && offset.len > 0 && !zone_parse_offset(offset, &time.offset)) {
        refuse_cell(t, t->at[FIELD_OFFSET], "not an offset from UTC");
        return false;
    }
    if (offset.len > 0) time.has_offset = true;
    struct weir_slice clock = table_cell(t, FIELD_CLOCK);
    if (!time.has_time && clock.len > 0) {
        if (!cell_clock(clock, &minutes)) {
            refuse_cell(t, t->at[FIELD_CLOCK], "not a time of day");
            return false;
        }
        time.second = minutes * 60;
    }
    *out = cell_moment(&time, t->context.zone);
    return true;
}

/* ---- values of a day ---- */

enum weir_status table_day_value(struct table *t, const struct metric *m, struct weir_slice name,
                                 int32_t day, double value)
{
    struct day_value v = {
        .metric = m, .name = name, .day = day, .value = value, .source = t->source};
    return t->context.sink.day_value(t->context.sink.user, &v);
}

enum weir_status table_days(struct table *t, int32_t day, bool is_partial)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        struct day_value v = {.metric = t->columns[i].metric,
                              .day = day,
                              .is_partial = is_partial,
                              .source = t->source};
        if (!v.metric || t->columns[i].field != FIELD_NONE || !table_value(t, i, &v.value))
            continue;
        enum weir_status st = t->context.sink.day_value(t->context.sink.user, &v);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}
