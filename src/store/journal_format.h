/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of the journal, apart from any file. All numbers are little-endian.
 *
 * A segment begins with a head of SEGMENT_HEAD_BYTES:
 *
 *   offset  size  what
 *   0       8     "weirjnl1"
 *   8       4     CRC-32C of bytes 12 to 39
 *   12      4     0
 *   16      8     serial: rises by at least one with every segment that is begun
 *   24      8     number of its first record
 *   32      8     records up to this number were durable when the head was written
 *   40      24    zeros
 *
 * and goes on with records, each at a multiple of eight:
 *
 *   0       4     length of the payload
 *   4       4     CRC-32C of the segment's serial, of bytes 0 to 3 and 8 to 23, and the payload
 *   8       8     its number
 *   16      8     records up to this number were durable when it was written
 *   24      …     the payload, then zeros to the next multiple of eight
 *
 * The serial in the checksum makes what a recycled segment held before invalid;
 * the "durable" numbers tell a record that was lost from one that never counted.
 */
#pragma once

#include <weir/buf.h>

enum { SEGMENT_HEAD_BYTES = 64, RECORD_HEAD_BYTES = 24, RECORD_ALIGN = 8 };

struct segment_head {
    uint64_t serial;
    uint64_t first;   /* number of its first record */
    uint64_t durable; /* records up to this were durable */
};

struct record {
    uint64_t number;
    uint64_t durable;
    struct weir_slice payload;
    size_t n_bytes; /* with head and padding */
};

void segment_head_write(char out[SEGMENT_HEAD_BYTES], const struct segment_head *head);

/* False when the bytes are no head. */
bool segment_head_read(struct weir_slice bytes, struct segment_head *head);

/* How many bytes a record with this payload takes. */
size_t record_size(size_t payload_bytes);

/* Appends a record of the segment with this serial. */
void record_write(struct weir_buf *out, uint64_t serial, const struct record *record);

/* How many bytes have to be there to tell what they begin with; 0: they are no record for sure. */
size_t record_claims(struct weir_slice bytes);

/*
 * Whether bytes may begin a record that calls number `missing` durable. A cheap look
 * at the numbers before record_read() sums it all up: a segment of so many bytes has no
 * room for numbers that are far beyond.
 */
bool record_may_vouch_for(struct weir_slice bytes, uint64_t missing, size_t segment_bytes);

/* The same for all places in the bytes at which a record might begin. */
bool record_any_may_vouch(struct weir_slice bytes, uint64_t missing, size_t segment_bytes);

/* The record that `bytes` begin with; false when they begin with none of this segment. */
bool record_read(struct weir_slice bytes, uint64_t serial, struct record *record);
