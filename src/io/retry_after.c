/* SPDX-License-Identifier: Apache-2.0 */
/* When a server that had no time wants to be asked again. */
#include "io/retry_after.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/slice.h"

/* All digits that are there, of which the first few count; how many of those there were. */
static size_t read_digits(struct weir_slice *s, size_t max_counted, uint64_t *out)
{
    size_t n = 0;
    for (*out = 0; n < s->len && s->ptr[n] >= '0' && s->ptr[n] <= '9'; n++)
        if (n < max_counted) *out = *out * 10 + (uint64_t)(s->ptr[n] - '0');
    *s = slice_from(*s, n);
    return n < max_counted ? n : max_counted;
}

/* "120" or "1.5", as a thousandfold; false when it is no number. */
static bool read_number(struct weir_slice s, uint64_t *thousandths)
{
    enum { MAX_DIGITS = 12 };
    uint64_t whole = 0, part = 0;
    if (read_digits(&s, MAX_DIGITS, &whole) == 0) return false;
    if (s.len > 0 && s.ptr[0] == '.') {
        s = slice_from(s, 1);
        for (size_t n = read_digits(&s, 3, &part); n < 3; n++) part *= 10;
    }
    if (s.len > 0) return false;
    *thousandths = whole * 1000 + part;
    return true;
}

/* The one form that is sent today. */
bool http_date_read(struct weir_slice s, int64_t *wall_ms)
{
    enum { DATE_BYTES = 29, DAY = 5, MONTH = 8, YEAR = 12, TIME = 17 };
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[2 * CLOCK_TEXT_BYTES];
    if (s.len != DATE_BYTES || !slice_ends_with_nocase(s, " gmt")) return false;
    for (size_t i = 0; i < sizeof months - 1; i += 3) {
        if (memcmp(s.ptr + MONTH, months + i, 3) != 0) continue;
        snprintf(text, sizeof text, "%.4s-%02u-%.2sT%.8sZ", s.ptr + YEAR, (unsigned)(i / 3 + 1),
                 s.ptr + DAY, s.ptr + TIME);
        return clock_parse(weir_slice_of(text), wall_ms);
    }
    return false;
}

uint64_t retry_after_ms(struct weir_slice ms, struct weir_slice seconds_or_date, int64_t wall_ms)
{
    uint64_t pause = 0;
    int64_t date = 0;
    if (read_number(ms, &pause)) pause /= 1000;
    else if (!read_number(seconds_or_date, &pause) && http_date_read(seconds_or_date, &date))
        pause = date > wall_ms ? (uint64_t)(date - wall_ms) : 0;
    return pause;
}
