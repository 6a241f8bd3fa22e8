/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts as bytes; pack.h has the format. */
#include "data/pack.h"

#include <math.h>

#define EXACT_MAX 9007199254740992.0 /* 2^53: up to here a double has each whole number */

static const double powers[] = {1, 10, 100, 1000, 10000, 100000};

uint8_t *pack_u64(uint8_t *at, uint64_t v)
{
    while (v >= 0x80) {
        *at++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *at++ = (uint8_t)v;
    return at;
}

uint8_t *pack_i64(uint8_t *at, int64_t v)
{
    return pack_u64(at, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

unsigned pack_scale(double v, int64_t *scaled)
{
    *scaled = 0;
    if (isnan(v)) return PACK_NAN;
    /* Minus zero is not zero, byte for byte. */
    if (v == 0 && signbit(v)) return PACK_RAW;
    for (unsigned k = 0; k < PACK_RAW; k++) {
        double digits = nearbyint(v * powers[k]);
        if (!(fabs(digits) < EXACT_MAX)) return PACK_RAW;
        /* The quotient of two exact numbers is the double nearest to that decimal. */
        if (digits / powers[k] != v) continue;
        *scaled = (int64_t)digits;
        return k;
    }
    return PACK_RAW;
}

uint8_t *pack_double(uint8_t *at, unsigned scale, int64_t scaled, double v)
{
    if (scale < PACK_RAW) return pack_i64(at, scaled);
    if (scale == PACK_NAN) return at;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    for (unsigned i = 0; i < sizeof bits; i++) *at++ = (uint8_t)(bits >> (8 * i));
    return at;
}

void pack_put_u64(struct weir_buf *out, uint64_t v)
{
    uint8_t bytes[PACK_MAX_BYTES];
    weir_buf_append(out, bytes, (size_t)(pack_u64(bytes, v) - bytes));
}

void pack_put_i64(struct weir_buf *out, int64_t v)
{
    uint8_t bytes[PACK_MAX_BYTES];
    weir_buf_append(out, bytes, (size_t)(pack_i64(bytes, v) - bytes));
}

void pack_put_double(struct weir_buf *out, double v)
{
    uint8_t bytes[PACK_MAX_BYTES + 1];
    int64_t scaled;
    unsigned scale = pack_scale(v, &scaled);
    bytes[0] = (uint8_t)scale;
    weir_buf_append(out, bytes, (size_t)(pack_double(bytes + 1, scale, scaled, v) - bytes));
}

void pack_put_text(struct weir_buf *out, struct weir_slice text)
{
    pack_put_u64(out, text.len);
    weir_buf_append_slice(out, text);
}

struct unpack unpack_begin(struct weir_slice bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.ptr;
    return (struct unpack){at, bytes.len > 0 ? at + bytes.len : at, false};
}

static void fail(struct unpack *u)
{
    u->is_bad = true;
    u->at = u->end;
}

uint8_t unpack_byte(struct unpack *u)
{
    if (u->at == u->end) {
        fail(u);
        return 0;
    }
    return *u->at++;
}

uint64_t unpack_u64(struct unpack *u)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = unpack_byte(u);
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return u->is_bad ? 0 : v;
    }
    fail(u);
    return 0;
}

int64_t unpack_i64(struct unpack *u)
{
    uint64_t v = unpack_u64(u);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

double unpack_double(struct unpack *u, unsigned scale)
{
    if (scale < PACK_RAW) return (double)unpack_i64(u) / powers[scale];
    if (scale != PACK_RAW) return NAN;
    uint64_t bits = 0;
    for (unsigned i = 0; i < sizeof bits; i++) bits |= (uint64_t)unpack_byte(u) << (8 * i);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

double unpack_scaled(struct unpack *u)
{
    return unpack_double(u, unpack_byte(u));
}

struct weir_slice unpack_text(struct unpack *u)
{
    uint64_t len = unpack_u64(u);
    if (len > (uint64_t)(u->end - u->at)) {
        fail(u);
        return (struct weir_slice){0};
    }
    struct weir_slice text = {(const char *)u->at, (size_t)len};
    u->at += len;
    return text;
}

size_t unpack_count(struct unpack *u)
{
    uint64_t n = unpack_u64(u);
    if (n <= (uint64_t)(u->end - u->at)) return (size_t)n;
    fail(u);
    return 0;
}
