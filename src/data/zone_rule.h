/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule at the end of a zone file, for all times behind its table: POSIX's TZ, with the hours
 * beyond 24 that RFC 8536 allows. "EST5EDT,M3.2.0,M11.1.0". Private to src/data.
 */
#pragma once

#include <weir/types.h>

/* When a year's clocks are changed. */
struct zone_change {
    enum { CHANGE_JULIAN, CHANGE_DAY, CHANGE_WEEKDAY } kind;
    int day, week, month; /* CHANGE_WEEKDAY: the week-th such day of the month, 5: its last */
    int32_t seconds;      /* after midnight, by the wall clock before the change */
};

struct zone_rule {
    bool is_set, has_summer;
    int32_t standard, summer; /* seconds east of UTC */
    struct zone_change to_summer, to_standard;
};

/* False when it is no such rule. */
bool zone_rule_parse(struct weir_slice text, struct zone_rule *out);

int32_t zone_rule_offset(const struct zone_rule *rule, int64_t at);
