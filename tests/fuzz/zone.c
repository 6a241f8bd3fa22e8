/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zone files, rules and offsets from any bytes: nothing is read beyond the end (the input is
 * copied to memory just as large), offsets are possible ones, and a moment that is made of a wall
 * time shows that time, unless the clocks skipped it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "data/zone.h"
#include "data/zone_rule.h"
#include "fuzz/fuzz.h"

enum { MAX_OFFSET = 8 * 86400 };

static void check_zone(struct weir_slice input)
{
    struct zone *z = NULL;
    if (zone_read(&z, "fuzz", input) != WEIR_OK) {
        fuzz_true("no zone without its bytes", !z);
        return;
    }
    for (int64_t at = -4000000000; at < 8000000000; at += 199999999) {
        int32_t offset = zone_offset(z, at);
        fuzz_true("an offset that can be", offset > -MAX_OFFSET && offset < MAX_OFFSET);
        struct moment m = zone_moment(z, at);
        fuzz_true("a moment has its offset", m.offset == zone_offset(z, m.at));
    }
    zone_free(z);
}

static void check_text(struct weir_slice input)
{
    struct zone_rule rule;
    int32_t offset;
    if (zone_rule_parse(input, &rule)) {
        offset = zone_rule_offset(&rule, 4000000000);
        fuzz_true("one of the two", offset == rule.standard || offset == rule.summer);
    }
    if (zone_parse_offset(input, &offset))
        fuzz_true("an offset of at most 18 hours and 59 minutes",
                  offset > -19 * 3600 && offset < 19 * 3600);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);
    if (size > 0) memcpy(copy, data, size);
    check_zone(slice_of(copy, size));
    check_text(slice_of(copy, size));
    free(copy);
    return 0;
}
