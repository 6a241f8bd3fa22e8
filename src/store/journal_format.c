/* SPDX-License-Identifier: Apache-2.0 */
#include "store/journal_format.h"

#include <endian.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/slice.h"

static const char magic[8] = "weirjnl1";

enum { HEAD_CRC_AT = 8, HEAD_SUMMED_FROM = 12, HEAD_SUMMED_TO = 40, RECORD_CRC_AT = 4 };

static void put_le(char *out, uint64_t n, size_t size)
{
    for (size_t i = 0; i < size; i++) out[i] = (char)(n >> (8 * i) & 0xFF);
}

static uint64_t get_le(const char *in, size_t size)
{
    uint64_t n = 0;
    for (size_t i = 0; i < size; i++) n |= (uint64_t)(unsigned char)in[i] << (8 * i);
    return n;
}

static uint32_t head_crc(const char *head)
{
    return crc32c(0, slice_of(head + HEAD_SUMMED_FROM, HEAD_SUMMED_TO - HEAD_SUMMED_FROM));
}

void segment_head_write(char out[SEGMENT_HEAD_BYTES], const struct segment_head *head)
{
    memset(out, 0, SEGMENT_HEAD_BYTES);
    memcpy(out, magic, sizeof magic);
    put_le(out + 16, head->serial, 8);
    put_le(out + 24, head->first, 8);
    put_le(out + 32, head->durable, 8);
    put_le(out + HEAD_CRC_AT, head_crc(out), 4);
}

bool segment_head_read(struct weir_slice bytes, struct segment_head *head)
{
    if (bytes.len < SEGMENT_HEAD_BYTES || memcmp(bytes.ptr, magic, sizeof magic) != 0) return false;
    if (get_le(bytes.ptr + HEAD_CRC_AT, 4) != head_crc(bytes.ptr)) return false;
    head->serial = get_le(bytes.ptr + 16, 8);
    head->first = get_le(bytes.ptr + 24, 8);
    head->durable = get_le(bytes.ptr + 32, 8);
    return head->serial > 0 && head->first > 0;
}

size_t record_size(size_t payload_bytes)
{
    return (RECORD_HEAD_BYTES + payload_bytes + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

static uint32_t record_crc(uint64_t serial, const char *head, struct weir_slice payload)
{
    char serial_bytes[8];
    put_le(serial_bytes, serial, sizeof serial_bytes);
    uint32_t crc = crc32c(0, slice_of(serial_bytes, sizeof serial_bytes));
    crc = crc32c(crc, slice_of(head, RECORD_CRC_AT));
    crc = crc32c(crc, slice_of(head + 8, RECORD_HEAD_BYTES - 8));
    return crc32c(crc, payload);
}

void record_write(struct weir_buf *out, uint64_t serial, const struct record *record)
{
    static const char zeros[RECORD_ALIGN];
    char head[RECORD_HEAD_BYTES];
    size_t len = record->payload.len;
    put_le(head, len, 4);
    put_le(head + 8, record->number, 8);
    put_le(head + 16, record->durable, 8);
    put_le(head + RECORD_CRC_AT, record_crc(serial, head, record->payload), 4);
    weir_buf_append(out, head, sizeof head);
    weir_buf_append_slice(out, record->payload);
    weir_buf_append(out, zeros, record_size(len) - RECORD_HEAD_BYTES - len);
}

static bool is_blank(const char *head)
{
    return get_le(head + 8, 8) == 0;
}

size_t record_claims(struct weir_slice bytes)
{
    if (bytes.len < RECORD_HEAD_BYTES) return RECORD_HEAD_BYTES;
    return is_blank(bytes.ptr) ? 0 : record_size((size_t)get_le(bytes.ptr, 4));
}

/* Records there may be in a segment: so far at most is a number beyond one that is missing. */
static uint64_t most_records(size_t segment_bytes)
{
    return segment_bytes / RECORD_HEAD_BYTES;
}

bool record_may_vouch_for(struct weir_slice bytes, uint64_t missing, size_t segment_bytes)
{
    if (bytes.len < RECORD_HEAD_BYTES) return false;
    uint64_t number = get_le(bytes.ptr + 8, 8);
    uint64_t durable = get_le(bytes.ptr + 16, 8);
    if (durable < missing || durable >= number) return false;
    return number - missing <= most_records(segment_bytes);
}

/*
 * Whether any word could be the durable number of a record that vouches: no branch, so that the
 * compiler takes several words at once. Most of a segment is passed by this alone.
 */
static bool has_near(const char *words, size_t n, uint64_t missing, uint64_t most)
{
    unsigned is_near = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t word;
        memcpy(&word, words + i * sizeof word, sizeof word);
        is_near |= le64toh(word) - missing < most;
    }
    return is_near != 0;
}

bool record_any_may_vouch(struct weir_slice bytes, uint64_t missing, size_t segment_bytes)
{
    enum { STEP_HEADS = 512, DURABLE_AT = 16 };
    size_t n_heads =
        bytes.len < RECORD_HEAD_BYTES ? 0 : (bytes.len - RECORD_HEAD_BYTES) / RECORD_ALIGN + 1;
    for (size_t first = 0; first < n_heads; first += STEP_HEADS) {
        size_t n = n_heads - first < STEP_HEADS ? n_heads - first : STEP_HEADS;
        const char *begin = bytes.ptr + first * RECORD_ALIGN;
        if (!has_near(begin + DURABLE_AT, n, missing, most_records(segment_bytes))) continue;
        for (size_t i = 0; i < n; i++) {
            struct weir_slice head = slice_of(begin + i * RECORD_ALIGN, RECORD_HEAD_BYTES);
            if (record_may_vouch_for(head, missing, segment_bytes)) return true;
        }
    }
    return false;
}

bool record_read(struct weir_slice bytes, uint64_t serial, struct record *record)
{
    if (bytes.len < RECORD_HEAD_BYTES) return false;
    size_t len = (size_t)get_le(bytes.ptr, 4);
    if (len > bytes.len - RECORD_HEAD_BYTES || record_size(len) > bytes.len) return false;
    record->number = get_le(bytes.ptr + 8, 8);
    record->durable = get_le(bytes.ptr + 16, 8);
    record->payload = slice_of(bytes.ptr + RECORD_HEAD_BYTES, len);
    record->n_bytes = record_size(len);
    if (is_blank(bytes.ptr)) return false; /* a segment's zeros; spares the checksum */
    return get_le(bytes.ptr + RECORD_CRC_AT, 4) == record_crc(serial, bytes.ptr, record->payload);
}
