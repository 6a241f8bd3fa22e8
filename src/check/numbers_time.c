/* SPDX-License-Identifier: Apache-2.0 */
/* Dates and times of day, in the forms that people write. */
#include <math.h>
#include <string.h>

#include "check/numbers_impl.h"

enum { HOUR = 60, HALF_DAY = 720, DAY = 1440 };

static bool is_year(const struct token *t)
{
    return t->kind == TOKEN_NUMBER && t->is_bare && t->end - t->start == 4 && t->value >= 1900 &&
           t->value < 2200;
}

static bool is_day_of_month(const struct token *t)
{
    bool is_day = (t->kind == TOKEN_NUMBER && t->is_bare) || t->kind == TOKEN_ORDINAL;
    return is_day && t->value >= 1 && t->value <= 31;
}

/* A month's name; "may" and "march" only with a capital. */
static unsigned month_at(const struct tokens *ts, size_t i)
{
    struct weir_slice w = token_text(ts, i);
    unsigned month = word_month(w);
    bool is_ambiguous = word_in(w, "may|march|mar|jun|dec|sep");
    return month > 0 && is_ambiguous && (w.ptr[0] & 0x20) ? 0 : month;
}

/* ", 2025" or "2025" or "'25" from i on; how many tokens. */
static size_t take_year(const struct tokens *ts, size_t i, struct number *n)
{
    size_t skip = token_is_sign(ts, i, ',') || word_is(token_text(ts, i), "of");
    if (!is_year(token_at(ts, i + skip))) return 0;
    struct number probe = {0};
    if (unit_read(ts, i + skip + 1, &probe) > 0) return 0;
    n->year = (int)token_at(ts, i + skip)->value;
    return skip + 1;
}

/* "March 14, 2025", "March 14th", "March 2025". */
static size_t month_first(const struct tokens *ts, size_t i, struct number *n)
{
    unsigned month = month_at(ts, i);
    if (month == 0) return 0;
    n->month = (int)month;
    size_t dot = token_is_sign(ts, i + 1, '.') && is_day_of_month(token_at(ts, i + 2));
    size_t at = i + 1 + dot;
    size_t the = word_is(token_text(ts, at), "the");
    if (is_day_of_month(token_at(ts, at + the))) {
        n->day = (int)token_at(ts, at + the)->value;
        at += the + 1;
        return at + take_year(ts, at, n) - i;
    }
    size_t year = take_year(ts, at, n);
    return year > 0 ? at + year - i : 0;
}

/* "14 March 2025", "14th of March". */
static size_t day_first(const struct tokens *ts, size_t i, struct number *n)
{
    if (!is_day_of_month(token_at(ts, i))) return 0;
    size_t at = i + 1;
    at += word_is(token_text(ts, at), "of");
    unsigned month = month_at(ts, at);
    if (month == 0) return 0;
    n->day = (int)token_at(ts, i)->value;
    n->month = (int)month;
    return at + 1 + take_year(ts, at + 1, n) - i;
}

/* "Q2", "H1". */
static bool is_quarter(const struct tokens *ts, size_t i)
{
    const struct token *t = token_at(ts, i);
    if (t->kind != TOKEN_WORD || t->end - t->start != 2) return false;
    char letter = ts->text.ptr[t->start], digit = ts->text.ptr[t->start + 1];
    return (letter == 'Q' && digit >= '1' && digit <= '4') ||
           (letter == 'H' && (digit == '1' || digit == '2'));
}

/* "in 2025", "Q2 2025". */
static size_t year_alone(const struct tokens *ts, size_t i, struct number *n)
{
    struct number probe = {0};
    if (!is_year(token_at(ts, i)) || i == 0) return 0;
    if (!is_quarter(ts, i - 1) &&
        !word_in(token_text(ts, i - 1),
                 "in|since|until|till|during|of|by|from|through|before|after|year|early|late|mid|"
                 "to|and|vs|versus|than|spring|summer|autumn|fall|winter|throughout|all"))
        return 0;
    if (unit_read(ts, i + 1, &probe) > 0) return 0;
    n->year = (int)token_at(ts, i)->value;
    return 1;
}

/* "March 1–14" and "1–14 March": the day on the other side of the dash. */
static size_t shared_month(const struct tokens *ts, size_t i, struct number *n)
{
    const struct token *t = token_at(ts, i);
    if (!is_day_of_month(t)) return 0;
    bool is_to = token_is_dash(ts, i + 1) || word_in(token_text(ts, i + 1), "to|and|through");
    if (is_to && is_day_of_month(token_at(ts, i + 2))) {
        size_t of = word_is(token_text(ts, i + 3), "of");
        n->month = (int)month_at(ts, i + 3 + of);
    }
    is_to = i >= 3 && (token_is_dash(ts, i - 1) || word_in(token_text(ts, i - 1), "to|through"));
    if (n->month == 0 && is_to && is_day_of_month(token_at(ts, i - 2)))
        n->month = (int)month_at(ts, i - 3);
    if (n->month == 0) return 0;
    n->day = (int)t->value;
    return 1 + take_year(ts, i + 1, n);
}

size_t date_read(const struct tokens *ts, size_t i, struct number *n)
{
    const struct token *t = token_at(ts, i);
    size_t used = 0;
    n->kind = NUMBER_DATE;
    if (t->kind == TOKEN_DATE) {
        n->year = t->year, n->month = t->month, n->day = t->day;
        n->is_either_way = t->is_either_way;
        return 1;
    }
    used = month_first(ts, i, n);
    if (used == 0) used = day_first(ts, i, n);
    if (used == 0) used = year_alone(ts, i, n);
    if (used == 0) used = shared_month(ts, i, n);
    if (used == 0) n->kind = NUMBER_AMOUNT;
    return used;
}

/* "pm", "p.m.": -1 none, 0 before noon, 1 after; *used tokens. */
static int half_of_day(const struct tokens *ts, size_t i, size_t *used)
{
    struct weir_slice w = token_text(ts, i);
    *used = 1;
    if (word_in(w, "am|pm")) return word_is(w, "pm");
    if (word_in(w, "a|p") && token_is_sign(ts, i + 1, '.') && word_is(token_text(ts, i + 2), "m")) {
        *used = token_is_sign(ts, i + 3, '.') && token_at(ts, i + 3)->is_glued ? 4 : 3;
        return word_is(w, "p");
    }
    *used = 0;
    return -1;
}

/* hh:mm may also be a duration: in hours and minutes, or in minutes and seconds. */
static void read_duration(const struct tokens *ts, size_t i, struct number *n)
{
    const struct token *t = token_at(ts, i);
    struct number behind = {0};
    n->duration[0] = t->value + t->fraction;
    n->duration[1] = t->value / HOUR;
    if (pace_read(ts, i + 1, n, 'm')) return;
    if (unit_read(ts, i + 1, &behind) == 0) return;
    n->unit_class = behind.unit_class;
    memcpy(n->unit, behind.unit, sizeof n->unit);
}

/* "a quarter", "half", "twenty" before "past"; how many tokens, 0: none. */
static size_t read_minutes(const struct tokens *ts, size_t i, double *minutes)
{
    bool has_article = word_is(token_text(ts, i), "a");
    struct weir_slice w = token_text(ts, i + has_article);
    if (word_is(w, "quarter")) *minutes = 15;
    else if (has_article) return 0;
    else if (word_is(w, "half")) *minutes = 30;
    else if (!word_number(w, minutes) || *minutes > 29 || *minutes < 1) return 0;
    return has_article + 1u;
}

/* "(a) quarter past eleven", "half past 10", "twenty past six", "a quarter to seven"; tokens. */
static size_t read_past(const struct tokens *ts, size_t i, struct number *n)
{
    double minutes, hour;
    size_t used = read_minutes(ts, i, &minutes);
    if (used == 0) return 0;
    struct weir_slice side = token_text(ts, i + used), word = token_text(ts, i + used + 1);
    /* "ten to seven" may be a range. */
    bool is_to = minutes == 15 && word_in(side, "to|before");
    if (!is_to && !word_is(side, "past")) return 0;
    const struct token *t = token_at(ts, i + used + 1);
    if (t->kind == TOKEN_NUMBER && t->is_bare) hour = t->value;
    else if (!word_number(word, &hour)) return 0;
    if (hour < 1 || hour > 12) return 0;
    n->kind = NUMBER_CLOCK;
    n->value = fmod(hour * HOUR + (is_to ? -minutes : minutes), HALF_DAY);
    n->has_minutes = n->is_twelve = true;
    n->duration[0] = n->duration[1] = NAN;
    return used + 2;
}

/* "11:16 pm", "11 pm", "23:16", "7 o'clock". */
size_t clock_read(const struct tokens *ts, size_t i, struct number *n)
{
    const struct token *t = token_at(ts, i);
    size_t used;
    if (t->kind == TOKEN_WORD) return read_past(ts, i, n);
    bool is_clock = t->kind == TOKEN_CLOCK;
    bool is_hour = t->kind == TOKEN_NUMBER && t->value <= 24 && t->decimals != 1;
    if (!is_clock && !is_hour) return 0;
    int half = half_of_day(ts, i + 1, &used);
    if (half < 0) used = word_in(token_text(ts, i + 1), "o'clock");
    if (!is_clock && used == 0) return 0;
    n->kind = NUMBER_CLOCK;
    double hours = floor(t->value), behind = t->value - hours;
    n->value = is_clock ? t->value : hours * HOUR + round(behind * 100);
    n->has_minutes = is_clock || t->decimals == 2;
    n->is_twelve = half < 0 && n->value < HALF_DAY + HOUR;
    if (half >= 0) n->value = fmod(n->value, HALF_DAY) + half * HALF_DAY;
    n->duration[0] = n->duration[1] = NAN;
    if (is_clock && half < 0) read_duration(ts, i, n);
    return 1 + used;
}
