/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be learned only from several rows: whether 03/04/2025 is in March, whether 6.904 is
 * nearly seven thousand, whether 42:00 is in hours. The first rows wait, copied into an arena,
 * until there are enough of them or the file ends. A file whose dates prove nothing and need it
 * is refused as a whole: a guess would move every value to another month.
 */
#include "base/mem.h"
#include "base/slice.h"
#include "data/day.h"
#include "import/table_impl.h"

enum { LONGEST_HOURS = 24 }; /* more than that before a single colon must be minutes */

struct lesson {
    uint64_t ambiguous, month_first, day_first; /* lines; 0: none */
    size_t ambiguous_column;
    size_t ambiguous_row;
    bool is_point, is_comma;
    struct cell_time before; /* the date of the row before */
};

static const enum table_field times[] = {FIELD_DATE, FIELD_START, FIELD_END};

static void learn_repeats(struct table *t, const struct table_row *row,
                          const struct cell_time *time, struct lesson *l)
{
    struct cell_time now = *time;
    size_t clock = t->at[FIELD_CLOCK];
    double minutes;
    /* Whichever day it is: only whether it is the same matters. */
    if (now.is_ambiguous) (void)cell_time(row->cells[t->at[FIELD_DATE]], DATES_MONTH_FIRST, &now);
    if (!now.has_time && clock < row->n && cell_clock(row->cells[clock], &minutes))
        now.second = minutes * 60;
    bool is_same_day = now.day != DAY_NONE && now.day == l->before.day;
    if (is_same_day && now.second != l->before.second) t->has_repeats = true;
    l->before = now;
}

static void learn_dates(struct table *t, const struct table_row *row, struct lesson *l)
{
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct cell_time time;
        size_t at = t->at[times[i]];
        if (at >= row->n || !cell_time(row->cells[at], DATES_UNKNOWN, &time)) continue;
        if (time.has_time && time.second > 0) t->is_timed = true;
        if (times[i] == FIELD_DATE) learn_repeats(t, row, &time, l);
        if (time.proves == DATES_MONTH_FIRST && l->month_first == 0) l->month_first = row->line;
        if (time.proves == DATES_DAY_FIRST && l->day_first == 0) l->day_first = row->line;
        if (!time.is_ambiguous || l->ambiguous != 0) continue;
        l->ambiguous = row->line;
        l->ambiguous_column = at;
        l->ambiguous_row = (size_t)(row - t->waiting);
    }
}

/* Two parts with more hours than a day has are minutes and seconds, and then all of them are. */
static void learn_duration(struct table *t, struct weir_slice cell)
{
    double minutes;
    if (!cell_duration(cell, false, &minutes) || !memchr(cell.ptr, ':', cell.len)) return;
    if (memchr(cell.ptr, ':', cell.len) != memrchr(cell.ptr, ':', cell.len)) return;
    if (minutes >= LONGEST_HOURS * 60 || memchr(cell.ptr, '.', cell.len)) t->has_shorts = true;
}

static void learn_numbers(struct table *t, const struct table_row *row, struct lesson *l)
{
    for (size_t i = 0; i < row->n && i < t->n_columns; i++) {
        enum table_field f = t->columns[i].field;
        if (f == FIELD_DATE || f == FIELD_START || f == FIELD_END || f == FIELD_RANGE) continue;
        enum number_style style = cell_style_of(row->cells[i]);
        l->is_point |= style == NUMBERS_POINT;
        l->is_comma |= style == NUMBERS_COMMA;
        if (f == FIELD_DURATION) learn_duration(t, row->cells[i]);
    }
}

static bool has_digit(struct weir_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] >= '0' && s.ptr[i] <= '9') return true;
    return false;
}

/* For a metric that is known only a word is text, and "12abc" a number that is wrong. */
static bool is_word(const struct table *t, const struct table_bound *b, struct weir_slice s)
{
    double value;
    bool yes;
    if (b->metric) return !has_digit(s);
    return !cell_number(s, t->numbers, &value) && !cell_yes_no(s, &yes);
}

/* A column in which nothing is a number is a note, not a metric, whatever it is called. */
static void learn_texts(struct table *t)
{
    for (size_t i = 0; i < t->n_columns && t->format->is_open; i++) {
        struct table_bound *b = &t->columns[i];
        size_t n_words = 0;
        size_t n_others = 0;
        if (b->field != FIELD_NONE || (!b->is_own && !b->metric)) continue;
        for (size_t r = 0; r < t->n_waiting; r++) {
            if (i >= t->waiting[r].n || cell_is_missing(t->waiting[r].cells[i])) continue;
            if (is_word(t, b, cell_trim(t->waiting[r].cells[i]))) n_words++;
            else n_others++;
        }
        b->is_text = n_words > 0 && n_others == 0;
        if (b->is_text) t->context.sink.ignore(t->context.sink.user, b->label);
    }
}

static bool is_asleep(const struct table_bound *b)
{
    return b->metric && !b->unit && strcmp(b->metric->group, "sleep") == 0 &&
           strcmp(b->metric->unit, "min") == 0;
}

/* The largest number that was seen in a column; 0: none at all. */
static double largest(const struct table *t, size_t column)
{
    double max = 0;
    double value;
    for (size_t r = 0; r < t->n_waiting; r++) {
        const struct table_row *row = &t->waiting[r];
        if (column < row->n && cell_number(row->cells[column], t->numbers, &value) && value > max)
            max = value;
    }
    return max;
}

/* Nobody sleeps less than 24 minutes every night: a column of sleep with such numbers has hours,
 * and then those of its parts have, too. */
static void learn_hours(struct table *t)
{
    bool has_hours = false;
    for (size_t i = 0; i < t->n_columns && t->format->is_open; i++) {
        const struct table_bound *b = &t->columns[i];
        if (!is_asleep(b) || strcmp(b->metric->name, "sleep_minutes") != 0) continue;
        double max = largest(t, i);
        has_hours |= max > 0 && max <= LONGEST_HOURS;
    }
    for (size_t i = 0; i < t->n_columns && has_hours; i++)
        if (is_asleep(&t->columns[i]) && largest(t, i) <= LONGEST_HOURS) t->columns[i].unit = "h";
}

/* An efficiency that never is more than 1 is no percentage. */
static void learn_fractions(struct table *t)
{
    for (size_t i = 0; i < t->n_columns && t->format->is_open; i++) {
        struct table_bound *b = &t->columns[i];
        if (!b->metric || b->unit || strcmp(b->metric->unit, "%") != 0) continue;
        double max = largest(t, i);
        if (max > 0 && max <= 1) b->unit = "fraction";
    }
}

static enum weir_status settle_dates(struct table *t, const struct lesson *l)
{
    if (t->dates != DATES_UNKNOWN) return WEIR_OK;
    if (l->month_first > 0 && l->day_first > 0)
        return table_fail(t,
                          "line %llu has its date month first, line %llu day first; "
                          "write dates as 2025-03-31",
                          (unsigned long long)l->month_first, (unsigned long long)l->day_first);
    if (l->month_first > 0) t->dates = DATES_MONTH_FIRST;
    if (l->day_first > 0) t->dates = DATES_DAY_FIRST;
    if (l->ambiguous == 0 || t->dates != DATES_UNKNOWN) return WEIR_OK;
    char quoted[TABLE_QUOTE_BYTES];
    const struct table_row *row = &t->waiting[l->ambiguous_row];
    return table_fail(t,
                      "line %llu: %s may be day first or month first, and no row says which; "
                      "write dates as 2025-03-31, or import with --dates dmy or --dates mdy",
                      (unsigned long long)l->ambiguous,
                      table_quote(quoted, row->cells[l->ambiguous_column]));
}

static void set_row(struct table *t, const struct table_row *w)
{
    t->row = (struct csv_row){.line = w->line, .fields = w->cells, .n = w->n};
}

enum weir_status table_learned(struct table *t)
{
    struct lesson l = {.before = {.day = DAY_NONE}};
    t->is_learning = false;
    for (size_t i = 0; i < t->n_waiting; i++) {
        learn_dates(t, &t->waiting[i], &l);
        learn_numbers(t, &t->waiting[i], &l);
    }
    if (l.is_comma != l.is_point) t->numbers = l.is_comma ? NUMBERS_COMMA : NUMBERS_POINT;
    enum weir_status st = settle_dates(t, &l);
    learn_texts(t);
    learn_hours(t);
    learn_fractions(t);
    for (size_t i = 0; i < t->n_waiting && t->format->look; i++) {
        set_row(t, &t->waiting[i]);
        t->format->look(t);
    }
    for (size_t i = 0; i < t->n_waiting && st == WEIR_OK; i++) {
        set_row(t, &t->waiting[i]);
        st = table_row_at_hand(t);
    }
    t->n_waiting = 0;
    arena_reset(&t->ahead);
    return st;
}

static enum weir_status keep_row(struct table *t, struct table_row *kept)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < t->row.n; i++) n_bytes += t->row.fields[i].len;
    *kept = (struct table_row){.line = t->row.line, .n = t->row.n};
    kept->cells = arena_alloc(&t->ahead, t->row.n * sizeof *kept->cells);
    char *text = arena_alloc(&t->ahead, n_bytes + 1);
    if (!kept->cells || !text) return t->ahead.status;
    for (size_t i = 0; i < t->row.n; i++) {
        struct weir_slice s = t->row.fields[i];
        if (s.len > 0) memcpy(text, s.ptr, s.len);
        kept->cells[i] = slice_of(text, s.len);
        text += s.len;
    }
    return WEIR_OK;
}

enum weir_status table_learn_row(struct table *t)
{
    if (!t->waiting) t->waiting = mem_alloc(TABLE_AHEAD_ROWS * sizeof *t->waiting);
    if (!t->waiting) return WEIR_NOMEM;
    struct csv_row row = t->row;
    enum weir_status st = keep_row(t, &t->waiting[t->n_waiting]);
    if (st == WEIR_NOMEM) return st;
    if (st == WEIR_OK) t->n_waiting++;
    if (st == WEIR_OK && t->n_waiting < TABLE_AHEAD_ROWS && t->ahead.n_bytes < TABLE_AHEAD_BYTES)
        return WEIR_OK;
    bool is_kept = st == WEIR_OK;
    st = table_learned(t);
    if (st != WEIR_OK || is_kept) return st;
    t->row = row;
    return table_row_at_hand(t);
}
