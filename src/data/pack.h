/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small numbers and texts that stored documents are made of.
 *
 * An unsigned number is a varint: seven bits a byte, the low ones first, the top bit says that
 * more follow. A signed one is zigzag first (0, -1, 1, -2…). A double is exact: where it is
 * a decimal of few digits (72, 36.6) it is that decimal's digits as a signed number, and a scale
 * of 0 to 5; else its eight bytes, low first. A text is its length and its bytes.
 *
 * Pure functions; any thread.
 */
#pragma once

#include <weir/buf.h>

enum {
    PACK_RAW = 6,        /* scales: 0 to 5 decimals, or these */
    PACK_NAN = 7,        /* a number that is not known */
    PACK_MAX_BYTES = 10, /* longest varint */
};

/* All of them write at `at` and return the end; there must be room for PACK_MAX_BYTES. */
uint8_t *pack_u64(uint8_t *at, uint64_t v);
uint8_t *pack_i64(uint8_t *at, int64_t v);

/* How a double is written; *scaled is for pack_double(). */
unsigned pack_scale(double v, int64_t *scaled);
uint8_t *pack_double(uint8_t *at, unsigned scale, int64_t scaled, double v);

/* The same into a buffer, a double with its scale in front. */
void pack_put_u64(struct weir_buf *out, uint64_t v);
void pack_put_i64(struct weir_buf *out, int64_t v);
void pack_put_double(struct weir_buf *out, double v);
void pack_put_text(struct weir_buf *out, struct weir_slice text);

/* Reading. What is wrong sticks: everything behind it is zero, and is_bad says so. */
struct unpack {
    const uint8_t *at, *end;
    bool is_bad;
};

struct unpack unpack_begin(struct weir_slice bytes);
uint8_t unpack_byte(struct unpack *u);
uint64_t unpack_u64(struct unpack *u);
int64_t unpack_i64(struct unpack *u);
double unpack_double(struct unpack *u, unsigned scale);
double unpack_scaled(struct unpack *u); /* with its scale in front */
struct weir_slice unpack_text(struct unpack *u);

/* A count of things that take a byte each at least: it cannot be more than there are bytes. */
size_t unpack_count(struct unpack *u);
