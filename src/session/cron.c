/* SPDX-License-Identifier: Apache-2.0 */
/* See cron.h. */
#include "session/cron.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/slice.h"
#include "data/day.h"

enum {
    N_FIELDS = 5,
    YEARS_AHEAD = 41, /* 29 February of a given weekday may be 40 years away */
    DAYS_OF_YEAR = 366,
    HOUR_SECONDS = 3600,
    MINUTE_SECONDS = 60,
    NAME_LEN = 3,
    SUNDAY_AGAIN = 7, /* a week may end with it */
};

/* ---- reading ---- */

struct field {
    const char *name;
    unsigned min, max;
    const char *names; /* of three letters each, from min on; NULL: none */
};

static const struct field fields[N_FIELDS] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of the month", 1, 31, NULL},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {"day of the week", 0, SUNDAY_AGAIN, "sunmontuewedthufrisat"},
};

static const char *const words[][2] = {
    {"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},   {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
};

static bool take_name(const struct field *f, struct weir_slice *rest, unsigned *out)
{
    if (!f->names || rest->len < NAME_LEN) return false;
    for (unsigned i = 0; f->names[(size_t)i * NAME_LEN]; i++) {
        if (strncasecmp(rest->ptr, f->names + (size_t)i * NAME_LEN, NAME_LEN) != 0) continue;
        *rest = slice_from(*rest, NAME_LEN);
        *out = f->min + i;
        return true;
    }
    return false;
}

static bool take_number(struct weir_slice *rest, unsigned *out)
{
    enum { TOO_LARGE = 1000 };
    unsigned n = 0;
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] >= '0' && rest->ptr[len] <= '9' && n < TOO_LARGE)
        n = n * 10 + (unsigned)(rest->ptr[len++] - '0');
    *rest = slice_from(*rest, len);
    *out = n;
    return len > 0;
}

static bool take_value(const struct field *f, struct weir_slice *rest, unsigned *out)
{
    if (!take_name(f, rest, out) && !take_number(rest, out)) return false;
    return *out >= f->min && *out <= f->max;
}

static bool take_sign(struct weir_slice *rest, char sign)
{
    if (rest->len == 0 || rest->ptr[0] != sign) return false;
    *rest = slice_from(*rest, 1);
    return true;
}

/* "*", "5" or "1-5"; FRI-SUN ends with the week. */
static bool take_ends(const struct field *f, struct weir_slice *rest, unsigned *from, unsigned *to)
{
    *from = f->min;
    *to = f->max;
    if (take_sign(rest, '*')) return true;
    if (!take_value(f, rest, from)) return false;
    *to = *from;
    if (take_sign(rest, '-') && !take_value(f, rest, to)) return false;
    if (f->max == SUNDAY_AGAIN && *to == 0 && *from > 0) *to = SUNDAY_AGAIN;
    return *from <= *to;
}

/* One element of a list; the bits are added. */
static bool take_range(const struct field *f, struct weir_slice *rest, uint64_t *bits)
{
    unsigned from, to, step = 1;
    if (!take_ends(f, rest, &from, &to)) return false;
    if (take_sign(rest, '/')) {
        if (!take_number(rest, &step) || step == 0 || step > f->max) return false;
        if (to == from) to = f->max; /* from there on */
    }
    for (unsigned i = from; i <= to; i += step) *bits |= UINT64_C(1) << i;
    return true;
}

static bool read_field(const struct field *f, struct weir_slice text, uint64_t *bits)
{
    *bits = 0;
    do {
        if (!take_range(f, &text, bits)) return false;
    } while (take_sign(&text, ','));
    return text.len == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static struct weir_slice next_word(struct weir_slice *rest)
{
    size_t begin = 0, end;
    while (begin < rest->len && is_space(rest->ptr[begin])) begin++;
    for (end = begin; end < rest->len && !is_space(rest->ptr[end]);) end++;
    struct weir_slice word = slice_of(rest->ptr + begin, end - begin);
    *rest = slice_from(*rest, end);
    return word;
}

static bool say_field(char why[CRON_WHY_BYTES], const struct field *f, struct weir_slice text)
{
    int len = text.len < 40 ? (int)text.len : 40;
    snprintf(why, CRON_WHY_BYTES, "the %s \"%.*s\" is none: %u to %u%s, with * , - and /", f->name,
             len, len > 0 ? text.ptr : "", f->min, f->max, f->names ? ", or names" : "");
    return false;
}

static struct weir_slice meaning_of(struct weir_slice text)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i][0]) == text.len && strncasecmp(words[i][0], text.ptr, text.len) == 0)
            return weir_slice_of(words[i][1]);
    return text;
}

bool cron_parse(struct weir_slice text, struct cron *out, char why[CRON_WHY_BYTES])
{
    uint64_t bits[N_FIELDS];
    bool is_any[N_FIELDS];
    if (text.len > CRON_TEXT_BYTES) text.len = 0;
    struct weir_slice rest = meaning_of(text);
    for (size_t i = 0; i < N_FIELDS; i++) {
        struct weir_slice word = next_word(&rest);
        is_any[i] = word.len > 0 && word.ptr[0] == '*' && (word.len == 1 || i != 1);
        if (word.len == 0) {
            snprintf(why, CRON_WHY_BYTES,
                     "a schedule has five fields, minute, hour, day of the "
                     "month, month and day of the week, such as \"30 7 * * "
                     "MON-FRI\"");
            return false;
        }
        if (!read_field(&fields[i], word, &bits[i])) return say_field(why, &fields[i], word);
    }
    if (next_word(&rest).len > 0) {
        snprintf(why, CRON_WHY_BYTES, "a schedule has five fields, and this has more");
        return false;
    }
    /* The week's last day is its first. */
    uint64_t week = (bits[4] | bits[4] >> 7) & 0x7F;
    *out = (struct cron){bits[0],        (uint32_t)bits[1], (uint32_t)bits[2], (uint32_t)bits[3],
                         (uint32_t)week, is_any[1],         is_any[2],         is_any[4]};
    return true;
}

/* ---- looking ahead ---- */

static bool has_day(const struct cron *c, int32_t day)
{
    struct civil date = day_to_civil(day);
    unsigned weekday = (day_weekday(day) + 1) % 7;
    bool is_day = (c->days >> date.day & 1) != 0;
    bool is_weekday = (c->weekdays >> weekday & 1) != 0;
    if ((c->months >> date.month & 1) == 0) return false;
    if (c->has_any_day || c->has_any_weekday) return is_day && is_weekday;
    return is_day || is_weekday;
}

/* When the wall clock shows a time: never, once or twice. */
struct shown {
    unsigned n;
    int64_t at[2];
    int64_t gap_end; /* n == 0 */
};

/* The first moment of (from, to] at which the offset is not that of `from`. */
static int64_t find_change(const struct zone *zone, int64_t from, int64_t to)
{
    int32_t before = zone_offset(zone, from);
    while (to - from > 1) {
        int64_t middle = from + (to - from) / 2;
        if (zone_offset(zone, middle) == before) from = middle;
        else to = middle;
    }
    return to;
}

static struct shown when_shown(const struct zone *zone, int64_t wall)
{
    struct shown s = {0};
    int32_t before = zone_offset(zone, wall - DAY_SECONDS - DAY_SECONDS / 2);
    int32_t after = zone_offset(zone, wall + DAY_SECONDS + DAY_SECONDS / 2);
    int64_t first = wall - before, second = wall - after;
    if (zone_offset(zone, first) == before) s.at[s.n++] = first;
    if (second != first && zone_offset(zone, second) == after) s.at[s.n++] = second;
    if (s.n == 2 && s.at[1] < s.at[0]) {
        s.at[0] = second;
        s.at[1] = first;
    }
    if (s.n == 0) s.gap_end = find_change(zone, second, first);
    return s;
}

static void consider(int64_t moment, int64_t after, bool *is_found, int64_t *out)
{
    if (moment <= after || (*is_found && moment >= *out)) return;
    *is_found = true;
    *out = moment;
}

static void look_at_time(const struct cron *c, const struct shown *s, int64_t after, bool *is_found,
                         int64_t *out)
{
    if (s->n > 0) consider(s->at[0], after, is_found, out);
    if (s->n > 1 && c->has_any_hour) consider(s->at[1], after, is_found, out);
    if (s->n == 0 && !c->has_any_hour) consider(s->gap_end, after, is_found, out);
}

/* No time of the day is near a change of the offset: those of the wall clock are in order. */
static bool is_even_day(const struct zone *zone, int32_t day)
{
    enum { HALF = DAY_SECONDS / 2, AROUND = 3, N_HALVES = 2 + 2 * AROUND };
    int64_t begin = (int64_t)day * DAY_SECONDS - (int64_t)AROUND * HALF;
    int32_t offset = zone_offset(zone, begin);
    for (int i = 1; i <= N_HALVES; i++)
        if (zone_offset(zone, begin + (int64_t)i * HALF) != offset) return false;
    return true;
}

/* Most days are even, and every minute of many jobs is due at once: the first one is enough. */
static bool look_at_even_day(const struct cron *c, const struct zone *zone, int32_t day,
                             int64_t after, int64_t *out)
{
    int64_t midnight = (int64_t)day * DAY_SECONDS;
    midnight -= zone_offset(zone, midnight);
    for (unsigned hour = 0; hour < 24; hour++) {
        if ((c->hours >> hour & 1) == 0) continue;
        if (midnight + (int64_t)(hour + 1) * HOUR_SECONDS <= after) continue;
        for (unsigned minute = 0; minute < 60; minute++) {
            if ((c->minutes >> minute & 1) == 0) continue;
            *out = midnight + (int64_t)hour * HOUR_SECONDS + (int64_t)minute * MINUTE_SECONDS;
            if (*out > after) return true;
        }
    }
    return false;
}

/* The first moment of a day, by the wall clock, behind `after`. */
static bool look_at_day(const struct cron *c, const struct zone *zone, int32_t day, int64_t after,
                        int64_t *out)
{
    bool is_found = false;
    if (is_even_day(zone, day)) return look_at_even_day(c, zone, day, after, out);
    for (unsigned hour = 0; hour < 24; hour++) {
        if ((c->hours >> hour & 1) == 0) continue;
        for (unsigned minute = 0; minute < 60; minute++) {
            if ((c->minutes >> minute & 1) == 0) continue;
            int64_t wall = (int64_t)day * DAY_SECONDS + (int64_t)hour * HOUR_SECONDS +
                           (int64_t)minute * MINUTE_SECONDS;
            struct shown s = when_shown(zone, wall);
            look_at_time(c, &s, after, &is_found, out);
        }
    }
    return is_found;
}

bool cron_next(const struct cron *c, const struct zone *zone, int64_t after, int64_t *out)
{
    int32_t today = day_of_moment(after, zone_offset(zone, after));
    bool is_found = false;
    /* From yesterday on: where a day is skipped or comes twice, days are not in order. */
    for (int32_t i = -1; i < YEARS_AHEAD * DAYS_OF_YEAR; i++) {
        int64_t moment = 0;
        if (!has_day(c, today + i) || !look_at_day(c, zone, today + i, after, &moment)) continue;
        if (is_found && moment >= *out) return true;
        *out = moment;
        /* One more day, for the same reason. */
        if (is_found) return true;
        is_found = true;
    }
    return is_found;
}
