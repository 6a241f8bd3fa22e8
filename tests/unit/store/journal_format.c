/* SPDX-License-Identifier: Apache-2.0 */
#include "store/journal_format.h"

#include "base/slice.h"
#include "t.h"

TEST(head_is_read_as_it_was_written)
{
    char bytes[SEGMENT_HEAD_BYTES];
    struct segment_head head = {.serial = 7, .first = UINT64_C(1) << 40, .durable = 99};
    struct segment_head got;
    segment_head_write(bytes, &head);
    T_OK(segment_head_read(slice_of(bytes, sizeof bytes), &got));
    T_EQ(got.serial, head.serial);
    T_EQ(got.first, head.first);
    T_EQ(got.durable, head.durable);
}

TEST(head_with_any_bit_of_meaning_changed_is_none)
{
    char bytes[SEGMENT_HEAD_BYTES];
    struct segment_head head = {.serial = 7, .first = 8, .durable = 9};
    struct segment_head got;
    segment_head_write(bytes, &head);
    for (size_t bit = 0; bit < (size_t)40 * 8; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        T_OK(!segment_head_read(slice_of(bytes, sizeof bytes), &got));
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    T_OK(!segment_head_read(slice_of(bytes, sizeof bytes - 1), &got));
}

static void write_record(struct weir_buf *b, struct weir_slice payload)
{
    struct record record = {.number = 5, .durable = 3, .payload = payload};
    weir_buf_init(b, 4096);
    record_write(b, 7, &record);
    T_EQ(weir_buf_status(b), WEIR_OK);
}

TEST(record_of_any_length_is_read_as_it_was_written)
{
    char payload[64];
    for (size_t i = 0; i < sizeof payload; i++) payload[i] = (char)t_random();
    for (size_t len = 0; len <= sizeof payload; len++) {
        struct weir_buf b;
        struct record got;
        write_record(&b, slice_of(payload, len));
        T_EQ(b.len % RECORD_ALIGN, 0);
        T_EQ(b.len, record_size(len));
        T_OK(record_read(weir_buf_slice(&b), 7, &got));
        T_EQ(got.number, 5);
        T_EQ(got.durable, 3);
        T_EQ(got.n_bytes, b.len);
        T_EQ_SLICE(got.payload, slice_of(payload, len));
        T_OK(!record_read(weir_buf_slice(&b), 8, &got)); /* what another life of the segment held */
        weir_buf_fini(&b);
    }
}

TEST(record_cut_or_changed_anywhere_is_none)
{
    struct weir_buf b;
    struct record got;
    write_record(&b, SLICE("some payload"));
    size_t n_meant = RECORD_HEAD_BYTES + strlen("some payload");
    for (size_t len = 0; len < b.len; len++) T_OK(!record_read(slice_of(b.ptr, len), 7, &got));
    for (size_t bit = 0; bit < n_meant * 8; bit++) {
        b.ptr[bit / 8] = (char)(b.ptr[bit / 8] ^ 1 << bit % 8);
        T_OK(!record_read(weir_buf_slice(&b), 7, &got));
        b.ptr[bit / 8] = (char)(b.ptr[bit / 8] ^ 1 << bit % 8);
    }
    weir_buf_fini(&b);
}

TEST(zeros_are_no_record)
{
    char zeros[256] = {0};
    struct record got;
    T_OK(!record_read(slice_of(zeros, sizeof zeros), 7, &got));
    T_OK(!record_may_vouch_for(slice_of(zeros, sizeof zeros), 1, sizeof zeros));
}

TEST(a_look_at_many_places_sees_what_single_looks_see)
{
    static char bytes[12000];
    for (int round = 0; round < 2000; round++) {
        size_t len = t_random() % sizeof bytes;
        memset(bytes, 0, sizeof bytes);
        for (int i = 0; i < 4 && len > 40; i++) {
            uint64_t durable = 900 + t_random() % 300, number = durable - 100 + t_random() % 300;
            char *head = bytes + t_random() % (len / 8 - 3) * 8;
            memcpy(head + 8, &number, sizeof number);
            memcpy(head + 16, &durable, sizeof durable);
        }
        bool want = false;
        for (size_t at = 0; at < len && !want; at += RECORD_ALIGN)
            want = record_may_vouch_for(slice_of(bytes + at, len - at), 1000, 4800);
        T_EQ(record_any_may_vouch(slice_of(bytes, len), 1000, 4800), want);
    }
}
