/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a batch: what is written is read, and nothing less than all of it. */
#include "store/batch_format.h"

#include "base/slice.h"
#include "t.h"

static const struct entry entries[] = {
    {.kind = ENTRY_EVENTS,
     .log_id = 7,
     .name = {"a", 1},
     .first = 3,
     .last = 4,
     .bytes = {"id: 3\ndata: x\n\nid: 4\ndata: y\n\n", 30}},
    {.kind = ENTRY_SEAL, .log_id = UINT64_MAX, .name = {"log\0x", 5}, .expires_ms = INT64_MAX},
    {.kind = ENTRY_DROP, .log_id = 1, .name = {"gone", 4}},
    {.kind = ENTRY_PUT,
     .doc_kind = {"k", 1},
     .doc_id = {"i", 1},
     .owner = {"", 0},
     .version = 1,
     .bytes = {"", 0}},
    {.kind = ENTRY_REMOVE, .doc_kind = {"k", 1}, .doc_id = {"i", 1}, .version = 9},
};

enum { N_ENTRIES = sizeof entries / sizeof *entries };

static void check_same(const struct entry *got, const struct entry *want)
{
    T_EQ(got->kind, want->kind);
    T_EQ(got->log_id, want->log_id);
    T_EQ_SLICE(got->name, want->name);
    T_EQ(got->first, want->first);
    T_EQ(got->last, want->last);
    T_EQ(got->expires_ms, want->expires_ms);
    T_EQ_SLICE(got->doc_kind, want->doc_kind);
    T_EQ_SLICE(got->doc_id, want->doc_id);
    T_EQ_SLICE(got->owner, want->owner);
    T_EQ(got->version, want->version);
    T_EQ_SLICE(got->bytes, want->bytes);
}

TEST(entries_come_out_as_they_went_in)
{
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    for (size_t i = 0; i < N_ENTRIES; i++) entry_write(&out, &entries[i]);
    T_EQ(weir_buf_status(&out), WEIR_OK);
    struct weir_slice rest = weir_buf_slice(&out);
    for (size_t i = 0; i < N_ENTRIES; i++) {
        struct entry e;
        T_OK(entry_read(&rest, &e));
        check_same(&e, &entries[i]);
    }
    T_EQ(rest.len, 0);
    weir_buf_fini(&out);
}

TEST(an_entry_cut_anywhere_is_none)
{
    for (size_t i = 0; i < N_ENTRIES; i++) {
        struct weir_buf out;
        weir_buf_init(&out, 4096);
        entry_write(&out, &entries[i]);
        for (size_t len = 0; len < out.len; len++) {
            struct entry e;
            struct weir_slice rest = slice_of(out.ptr, len);
            T_OK(!entry_read(&rest, &e));
            T_EQ(rest.len, len);
        }
        weir_buf_fini(&out);
    }
}

TEST(entries_that_cannot_be_are_refused)
{
    static const struct entry bad[] = {
        {.kind = ENTRY_DROP, .log_id = 0, .name = {"a", 1}},
        {.kind = ENTRY_DROP, .log_id = 1},
        {.kind = ENTRY_EVENTS, .log_id = 1, .name = {"a", 1}, .first = 0, .bytes = {"x", 1}},
        {.kind = ENTRY_EVENTS,
         .log_id = 1,
         .name = {"a", 1},
         .first = 5,
         .last = 4,
         .bytes = {"x", 1}},
        {.kind = ENTRY_EVENTS, .log_id = 1, .name = {"a", 1}, .first = 1, .last = 1},
        {.kind = ENTRY_REMOVE, .doc_kind = {"k", 1}, .doc_id = {"i", 1}, .version = 0},
        {.kind = ENTRY_PUT, .doc_id = {"i", 1}, .version = 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct weir_buf out;
        struct entry e;
        weir_buf_init(&out, 4096);
        entry_write(&out, &bad[i]);
        struct weir_slice rest = weir_buf_slice(&out);
        T_OK(!entry_read(&rest, &e));
        weir_buf_fini(&out);
    }
    struct entry e;
    struct weir_slice unknown = SLICE("?");
    T_OK(!entry_read(&unknown, &e));
}
