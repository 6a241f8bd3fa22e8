/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/offset.h"

#include <weir/buf.h>

#include "base/check.h"

#define CURSOR_EPOCH_MS INT64_C(1728432000000) /* 2024-10-09T00:00:00Z, as the protocol says */

static bool parse_digits(struct weir_slice text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
        *out = *out * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return text.len > 0;
}

bool offset_parse(struct weir_slice text, struct offset *out)
{
    uint64_t high;
    *out = (struct offset){.kind = OFFSET_AT};
    if (weir_slice_is(text, "-1")) {
        out->kind = OFFSET_START;
        return true;
    }
    if (weir_slice_is(text, "now")) {
        out->kind = OFFSET_NOW;
        return true;
    }
    if (text.len != OFFSET_BYTES || text.ptr[OFFSET_DIGITS] != '_') return false;
    struct weir_slice first = {text.ptr, OFFSET_DIGITS};
    struct weir_slice second = {text.ptr + OFFSET_DIGITS + 1, OFFSET_DIGITS};
    if (!parse_digits(first, &high) || !parse_digits(second, &out->id)) return false;
    if (high > 0) out->kind = OFFSET_BEYOND;
    return true;
}

void offset_format(uint64_t id, char out[OFFSET_BYTES])
{
    for (int i = 0; i < OFFSET_DIGITS; i++) out[i] = '0';
    out[OFFSET_DIGITS] = '_';
    for (int i = OFFSET_BYTES; i-- > OFFSET_DIGITS + 1; id /= 10) out[i] = (char)('0' + id % 10);
    CHECK(id == 0);
}

uint64_t cursor_after(struct weir_slice given, int64_t wall_ms, uint64_t chance)
{
    enum { MAX_CURSOR_DIGITS = 15 };
    int64_t past_ms = wall_ms - CURSOR_EPOCH_MS;
    uint64_t now = past_ms > 0 ? (uint64_t)past_ms / (CURSOR_INTERVAL_S * 1000) : 0;
    uint64_t has;
    if (given.len > MAX_CURSOR_DIGITS || !parse_digits(given, &has) || has < now) return now;
    return has + 1 + chance % (CURSOR_JITTER_S / CURSOR_INTERVAL_S);
}
