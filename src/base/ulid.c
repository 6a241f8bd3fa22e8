/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ULIDs. Text is 26 groups of 5 bits, most significant first; the first group
 * has only 3 bits, as 26 * 5 is 130. Each id of a source is the one before plus
 * at least one, with time and random part taken as a single 128-bit number.
 */
#include "base/ulid.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define MAX_MS ((UINT64_C(1) << 48) - 1)

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void ulid_source_init(struct ulid_source *source, const struct clock *clock)
{
    *source = (struct ulid_source){.clock = clock};
}

static enum weir_status draw(struct ulid_source *source)
{
    unsigned char bytes[sizeof source->random_high + sizeof source->random_low];
    ssize_t n;
    do {
        n = getrandom(bytes, sizeof bytes, 0);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof bytes) return WEIR_IO;
    memcpy(&source->random_high, bytes, sizeof source->random_high);
    memcpy(&source->random_low, bytes + sizeof source->random_high, sizeof source->random_low);
    return WEIR_OK;
}

/* The next number after the last id; the carry may run up into the time. */
static enum weir_status count_up(struct ulid_source *source)
{
    bool is_used_up = source->random_high == UINT16_MAX && source->random_low == UINT64_MAX;
    if (is_used_up && source->last_ms == MAX_MS) return WEIR_LIMIT;
    if (is_used_up) source->last_ms++;
    if (++source->random_low == 0) source->random_high++;
    return WEIR_OK;
}

static void store_be(unsigned char *out, size_t n, uint64_t value)
{
    while (n > 0) {
        out[--n] = (unsigned char)value;
        value >>= 8;
    }
}

enum weir_status ulid_next(struct ulid_source *source, struct ulid *out)
{
    int64_t wall_ms = clock_wall_ms(source->clock);
    uint64_t now_ms = wall_ms < 0 ? 0 : (uint64_t)wall_ms;
    bool is_later = !source->has_last || now_ms > source->last_ms;
    if (is_later && now_ms > MAX_MS) return WEIR_LIMIT;
    enum weir_status st = is_later ? draw(source) : count_up(source);
    if (st != WEIR_OK) return st;
    if (is_later) source->last_ms = now_ms;
    source->has_last = true;
    store_be(out->bytes, 6, source->last_ms);
    store_be(out->bytes + 6, 2, source->random_high);
    store_be(out->bytes + 8, 8, source->random_low);
    return WEIR_OK;
}

void ulid_format(char out[ULID_TEXT_LEN + 1], struct ulid id)
{
    unsigned bits = 0;
    unsigned n_bits = 2; /* the two that are missing at the front are 0 */
    size_t at = 0;
    for (size_t i = 0; i < sizeof id.bytes; i++) {
        bits = (bits << 8 | id.bytes[i]) & 0xfff;
        for (n_bits += 8; n_bits >= 5; n_bits -= 5) out[at++] = alphabet[bits >> (n_bits - 5) & 31];
    }
    out[at] = 0;
}

/* The 5 bits of a character, or -1. */
static int digit_of(char c)
{
    if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
    const char *at = c == 0 ? NULL : strchr(alphabet, c);
    return at ? (int)(at - alphabet) : -1;
}

enum weir_status ulid_parse(struct weir_slice text, struct ulid *out)
{
    struct ulid id;
    unsigned bits = 0;
    unsigned n_bits = 0;
    size_t at = 0;
    if (text.len != ULID_TEXT_LEN || digit_of(text.ptr[0]) > 7) return WEIR_INVALID;
    for (size_t i = 0; i < text.len; i++) {
        int digit = digit_of(text.ptr[i]);
        if (digit < 0) return WEIR_INVALID;
        bits = (bits << 5 | (unsigned)digit) & 0xfff;
        n_bits += i == 0 ? 3 : 5;
        if (n_bits < 8) continue;
        n_bits -= 8;
        id.bytes[at++] = (unsigned char)(bits >> n_bits);
    }
    *out = id;
    return WEIR_OK;
}

bool ulid_is_name(struct weir_slice text, const char *prefix)
{
    struct ulid id;
    char upper[ULID_TEXT_LEN + 1];
    size_t len = strlen(prefix);
    if (text.len != len + ULID_TEXT_LEN || memcmp(text.ptr, prefix, len) != 0) return false;
    struct weir_slice rest = {text.ptr + len, ULID_TEXT_LEN};
    if (ulid_parse(rest, &id) != WEIR_OK) return false;
    ulid_format(upper, id);
    return memcmp(upper, rest.ptr, rest.len) == 0;
}

int ulid_compare(struct ulid a, struct ulid b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes);
}

uint64_t ulid_ms(struct ulid id)
{
    uint64_t ms = 0;
    for (size_t i = 0; i < 6; i++) ms = ms << 8 | id.bytes[i];
    return ms;
}

enum weir_status ulid_put_behind(struct ulid *id, struct ulid last)
{
    if (ulid_compare(*id, last) > 0) return WEIR_OK;
    uint64_t ms = ulid_ms(last);
    if (ms == MAX_MS) return WEIR_LIMIT;
    store_be(id->bytes, 6, ms + 1);
    return WEIR_OK;
}
