/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as Apple writes them, "2025-03-01 08:12:00 -0500", read by place: an export of a gigabyte
 * has five million of them. Whatever is written in another way goes the general way.
 */
#include <string.h>

#include "import/apple_impl.h"
#include "import/cell.h"

enum { TIME_BYTES = 25, DATE_BYTES = 10, MAX_OFFSET = 18 * 3600 };

/* Two digits as a number; 100 or more when they are none. */
static unsigned two(const char *p)
{
    unsigned tens = (unsigned char)p[0] - (unsigned)'0';
    unsigned ones = (unsigned char)p[1] - (unsigned)'0';
    return tens > 9 || ones > 9 ? 100 : tens * 10 + ones;
}

static bool read_day(struct apple_clock *c, const char *p)
{
    if (c->date[0] != 0 && memcmp(c->date, p, DATE_BYTES) == 0) return true;
    int32_t day = day_parse((struct weir_slice){p, DATE_BYTES});
    if (day < DAY_MIN || day > DAY_MAX) return false;
    memcpy(c->date, p, DATE_BYTES);
    c->day = day;
    return true;
}

static bool read_by_place(struct apple_clock *c, const char *p, struct moment *out)
{
    unsigned hour = two(p + 11);
    unsigned minute = two(p + 14);
    unsigned second = two(p + 17);
    unsigned east_h = two(p + 21);
    unsigned east_m = two(p + 23);
    if (p[10] != ' ' || p[13] != ':' || p[16] != ':' || p[19] != ' ') return false;
    if ((p[20] != '-' && p[20] != '+') || hour > 23 || minute > 59 || second > 60) return false;
    int32_t offset = (int32_t)(east_h * 3600 + east_m * 60);
    if (east_h > 18 || east_m > 59 || offset > MAX_OFFSET || !read_day(c, p)) return false;
    out->offset = p[20] == '-' ? -offset : offset;
    out->at = (int64_t)c->day * DAY_SECONDS + hour * 3600 + minute * 60 + second - out->offset;
    return true;
}

bool apple_moment(struct apple_clock *c, struct weir_slice text, struct moment *out)
{
    struct cell_time t;
    if (text.len == TIME_BYTES && read_by_place(c, text.ptr, out)) return true;
    if (!cell_time(text, DATES_UNKNOWN, &t) || !t.has_time || t.day == DAY_NONE) return false;
    if (t.day < DAY_MIN || t.day > DAY_MAX || (!t.has_offset && !c->zone)) return false;
    *out = cell_moment(&t, c->zone);
    return true;
}
