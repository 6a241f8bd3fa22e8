/* SPDX-License-Identifier: Apache-2.0 */
/* The journal over real files: what is synced stays, whatever happens. */
#include "store/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/slice.h"
#include "io/file.h"
#include "store/journal_format.h"
#include "t.h"

static const struct journal_options small = {.segment_bytes = 65536, .max_segments = 8};

/* ---- records that can be told by their number ---- */

static struct weir_slice payload_of(uint64_t number, char *bytes)
{
    size_t len = (size_t)(number * 7919 % 3000);
    for (size_t i = 0; i < len; i++) bytes[i] = (char)(number + i);
    return slice_of(bytes, len);
}

/* What recovery has to report: records from..., each as it was written. */
struct seen {
    uint64_t next;
    uint64_t n;
};

static enum weir_status see(void *user, uint64_t number, struct weir_slice bytes)
{
    struct seen *seen = user;
    char want[4096];
    T_EQ(number, seen->next);
    T_EQ_SLICE(bytes, payload_of(number, want));
    seen->next = number + 1;
    seen->n++;
    return WEIR_OK;
}

static struct journal *open_journal(const char *folder, uint64_t released, uint64_t *last)
{
    struct journal *j;
    struct seen seen = {.next = released + 1};
    T_EQ(journal_open(&j, folder, &small, released, see, &seen), WEIR_OK);
    if (last) *last = seen.next - 1;
    return j;
}

static void write_some(struct journal *j, int n)
{
    char bytes[4096];
    for (int i = 0; i < n; i++) {
        uint64_t number = 0;
        T_EQ(journal_write(j, payload_of(journal_last(j) + 1, bytes), &number), WEIR_OK);
        T_EQ(number, journal_last(j));
    }
}

TEST(records_come_back_in_order_after_closing)
{
    const char *folder = t_temp_dir();
    uint64_t last = 0;
    for (int round = 0; round < 5; round++) {
        struct journal *j = open_journal(folder, 0, &last);
        T_EQ(last, (uint64_t)round * 20);
        T_EQ(journal_last(j), last);
        write_some(j, 20);
        T_EQ(journal_sync(j), WEIR_OK);
        journal_close(j);
    }
}

TEST(segments_are_used_again_when_released)
{
    const char *folder = t_temp_dir();
    char path[256];
    uint64_t last = 0;
    struct journal *j = open_journal(folder, 0, NULL);
    for (int round = 0; round < 200; round++) {
        write_some(j, 10);
        T_EQ(journal_sync(j), WEIR_OK);
        journal_release(j, journal_last(j) - 5);
    }
    journal_close(j);
    snprintf(path, sizeof path, "%s/journal-0003", folder);
    T_OK(access(path, F_OK) != 0);
    j = open_journal(folder, 1995, &last);
    T_EQ(last, 2000);
    journal_close(j);
}

TEST(full_journal_refuses_and_goes_on_after_release)
{
    const char *folder = t_temp_dir();
    char bytes[30000] = {0};
    uint64_t number = 0;
    struct journal *j = open_journal(folder, 0, NULL);
    enum weir_status st = WEIR_OK;
    uint64_t n = 0;
    while ((st = journal_write(j, slice_of(bytes, sizeof bytes), &number)) == WEIR_OK) n++;
    T_EQ(st, WEIR_LIMIT);
    T_EQ(n, 16);
    T_EQ(journal_sync(j), WEIR_OK);
    journal_release(j, 2);
    T_EQ(journal_write(j, slice_of(bytes, sizeof bytes), &number), WEIR_OK);
    T_EQ(number, 17);
    T_EQ(journal_sync(j), WEIR_OK);
    journal_close(j);
}

TEST(record_larger_than_a_segment_is_refused)
{
    const char *folder = t_temp_dir();
    struct journal *j = open_journal(folder, 0, NULL);
    char *bytes = calloc(1, 65536);
    uint64_t number = 0;
    T_EQ(journal_write(j, slice_of(bytes, 65536), &number), WEIR_LIMIT);
    size_t most = 65536 - SEGMENT_HEAD_BYTES - RECORD_HEAD_BYTES;
    T_EQ(journal_write(j, slice_of(bytes, most + 1), &number), WEIR_LIMIT);
    T_EQ(journal_write(j, slice_of(bytes, most), &number), WEIR_OK);
    T_EQ(journal_sync(j), WEIR_OK);
    free(bytes);
    journal_close(j);
}

TEST(smaller_options_still_read_larger_segments)
{
    const char *folder = t_temp_dir();
    struct journal_options large = {.segment_bytes = 1 << 20, .max_segments = 8};
    struct journal_options few = {.segment_bytes = 65536, .max_segments = 1};
    struct journal *j;
    struct seen seen = {.next = 1};
    T_EQ(journal_open(&j, folder, &large, 0, see, &seen), WEIR_OK);
    write_some(j, 1500);
    T_EQ(journal_sync(j), WEIR_OK);
    journal_close(j);
    seen = (struct seen){.next = 1};
    T_EQ(journal_open(&j, folder, &few, 0, see, &seen), WEIR_OK);
    T_EQ(seen.n, 1500);
    journal_close(j);
}

/* ---- faults ---- */

TEST(failed_sync_or_write_ends_writing_until_reopened)
{
    static const enum fault_point points[] = {FAULT_SYNC, FAULT_WRITE};
    for (size_t i = 0; i < 2; i++) {
        char folder[128];
        uint64_t last = 0;
        uint64_t number = 0;
        snprintf(folder, sizeof folder, "%s/%zu", t_temp_dir(), i);
        T_EQ(mkdir(folder, 0700), 0);
        struct journal *j = open_journal(folder, 0, NULL);
        write_some(j, 10);
        T_EQ(journal_sync(j), WEIR_OK);
        write_some(j, 5);
        fault_arm(points[i], 1, FAULT_ONCE);
        T_EQ(journal_sync(j), points[i] == FAULT_SYNC ? WEIR_IO : WEIR_NO_SPACE);
        fault_disarm_all();
        T_EQ(journal_sync(j), WEIR_STORAGE);
        T_EQ(journal_write(j, SLICE("x"), &number), WEIR_STORAGE);
        journal_close(j);
        j = open_journal(folder, 0, &last);
        T_OK(last == 10 || last == 15);
        write_some(j, 3);
        T_EQ(journal_sync(j), WEIR_OK);
        journal_close(j);
    }
}

TEST(every_failing_allocation_at_opening_is_reported)
{
    const char *folder = t_temp_dir();
    struct journal *j = open_journal(folder, 0, NULL);
    write_some(j, 40);
    T_EQ(journal_sync(j), WEIR_OK);
    journal_close(j);
    enum weir_status st = WEIR_NOMEM;
    for (uint64_t n = 1; st == WEIR_NOMEM; n++) {
        struct seen seen = {.next = 1};
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        st = journal_open(&j, folder, &small, 0, see, &seen);
        fault_disarm_all();
        T_OK(st == WEIR_OK || (st == WEIR_NOMEM && !j));
    }
    journal_close(j);
}

static long size_of(const char *folder, const char *name)
{
    char path[256];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &info) == 0 ? (long)info.st_size : -1;
}

TEST(segment_takes_no_more_of_the_disk_than_its_records_and_a_step)
{
    const char *folder = t_temp_dir();
    long before = 0;
    struct journal *j = open_journal(folder, 0, NULL);
    for (int i = 0; i < 100; i++) {
        write_some(j, 1);
        T_EQ(journal_sync(j), WEIR_OK);
        long size = size_of(folder, "journal-0000");
        T_OK(size >= before && size <= before + 4096 + 3000 && size <= 65536);
        before = size;
    }
    T_EQ(before, 65536);
    T_OK(size_of(folder, "journal-0001") > 0);
    journal_close(j);
}

TEST(disk_that_is_full_when_a_segment_grows_costs_only_that_record)
{
    uint64_t n_refused = 0;
    for (int n = 1; n <= 30; n++) { /* all in the first segment */
        char folder[128], bytes[4096];
        uint64_t number = 0, last = 0;
        snprintf(folder, sizeof folder, "%s/%d", t_temp_dir(), n);
        T_EQ(mkdir(folder, 0700), 0);
        struct journal *j = open_journal(folder, 0, NULL);
        write_some(j, n); /* until the sync nothing is written but zeros */
        fault_arm(FAULT_WRITE, 1, FAULT_ONCE);
        for (int i = 0; i < 4; i++) {
            struct weir_slice payload = payload_of(journal_last(j) + 1, bytes);
            enum weir_status st = journal_write(j, payload, &number);
            T_OK(st == WEIR_OK || st == WEIR_NO_SPACE);
            n_refused += st != WEIR_OK;
        }
        fault_disarm_all();
        write_some(j, 3);
        T_EQ(journal_sync(j), WEIR_OK);
        uint64_t written = journal_last(j);
        journal_close(j);
        j = open_journal(folder, 0, &last);
        T_EQ(last, written);
        journal_close(j);
    }
    T_OK(n_refused > 10);
}

TEST(missing_durable_record_is_corruption_not_the_end)
{
    const char *folder = t_temp_dir();
    char path[256];
    struct seen seen = {.next = 1};
    struct journal *j = open_journal(folder, 0, NULL);
    for (int i = 0; i < 3; i++) {
        write_some(j, 5);
        T_EQ(journal_sync(j), WEIR_OK);
    }
    journal_close(j);
    snprintf(path, sizeof path, "%s/journal-0000", folder);
    struct file f;
    T_EQ(file_open(&f, path, FILE_MUST_EXIST), WEIR_OK);
    T_EQ(file_write_at(&f, SLICE("damage"), SEGMENT_HEAD_BYTES + 30), WEIR_OK);
    file_close(&f);
    T_EQ(journal_open(&j, folder, &small, 0, see, &seen), WEIR_CORRUPT);
}

/* ---- a segment larger than what is read of it at a time ---- */

enum { LARGE_RECORD = 100000, N_LARGE = 30 };
static const struct journal_options large = {.segment_bytes = 4 << 20, .max_segments = 2};

static enum weir_status count_large(void *user, uint64_t number, struct weir_slice bytes)
{
    uint64_t *n = user;
    T_EQ(number, *n + 1);
    T_EQ(bytes.len, LARGE_RECORD);
    T_EQ((unsigned char)bytes.ptr[LARGE_RECORD - 1], (unsigned char)number);
    *n = number;
    return WEIR_OK;
}

static void write_large(const char *folder)
{
    static char bytes[LARGE_RECORD];
    uint64_t number = 0;
    struct journal *j;
    T_EQ(journal_open(&j, folder, &large, 0, count_large, &number), WEIR_OK);
    for (int i = 1; i <= N_LARGE; i++) {
        memset(bytes, i, sizeof bytes);
        T_EQ(journal_write(j, slice_of(bytes, sizeof bytes), &number), WEIR_OK);
        T_EQ(journal_sync(j), WEIR_OK);
    }
    journal_close(j);
}

TEST(records_over_the_seams_of_what_is_read_come_back)
{
    const char *folder = t_temp_dir();
    struct journal *j;
    uint64_t n = 0;
    write_large(folder);
    T_EQ(journal_open(&j, folder, &large, 0, count_large, &n), WEIR_OK);
    T_EQ(n, N_LARGE);
    journal_close(j);
}

TEST(a_lost_record_is_noticed_wherever_it_was)
{
    const char *folder = t_temp_dir();
    char path[256];
    snprintf(path, sizeof path, "%s/journal-0000", folder);
    for (uint64_t lost = 1; lost < N_LARGE; lost++) {
        struct journal *j;
        struct file f;
        uint64_t n = 0;
        write_large(folder);
        T_EQ(file_open(&f, path, FILE_MUST_EXIST), WEIR_OK);
        uint64_t at = SEGMENT_HEAD_BYTES + (lost - 1) * record_size(LARGE_RECORD);
        /* By turns the head is gone, its length is nonsense, or the payload is damaged. */
        static const char zeros[RECORD_HEAD_BYTES];
        static const char *const damage[] = {zeros, "\xff\xff\xff\x7f", "xx"};
        static const size_t len[] = {sizeof zeros, 4, 2}, behind[] = {0, 0, LARGE_RECORD / 2};
        T_EQ(file_write_at(&f, slice_of(damage[lost % 3], len[lost % 3]), at + behind[lost % 3]),
             WEIR_OK);
        file_close(&f);
        T_EQ(journal_open(&j, folder, &large, 0, count_large, &n), WEIR_CORRUPT);
        T_EQ(unlink(path), 0);
    }
}

/* ---- power cuts: the disk as it would have been, at every write boundary ---- */

enum { MAX_OPS = 4000, SECTOR = 512, N_FILES = 8, FILE_BYTES = 65536 };

/* One write or sync, in order; acked is what the writer had been told is durable. */
struct op {
    bool is_sync;
    size_t file;
    uint64_t offset;
    struct weir_slice bytes;
    uint64_t acked;
    uint64_t written;
};

struct tape {
    struct op ops[MAX_OPS];
    size_t n;
    uint64_t acked;
    uint64_t written;
};

static size_t file_index(const char *name)
{
    return (size_t)strtoul(name + strlen("journal-"), NULL, 10);
}

static void add_op(struct tape *tape, struct op op)
{
    T_OK(tape->n < MAX_OPS);
    op.acked = tape->acked;
    op.written = tape->written;
    tape->ops[tape->n++] = op;
}

static void tape_write(void *user, const char *name, uint64_t offset, struct weir_slice bytes)
{
    char *copy = malloc(bytes.len);
    memcpy(copy, bytes.ptr, bytes.len);
    add_op(user, (struct op){.file = file_index(name),
                             .offset = offset,
                             .bytes = slice_of(copy, bytes.len)});
}

static void tape_sync(void *user, const char *name)
{
    add_op(user, (struct op){.is_sync = true, .file = file_index(name)});
}

/* Puts a write on the image, all of it or each sector with even odds. */
static void apply(char *image, const struct op *op, bool is_whole)
{
    for (size_t at = 0; at < op->bytes.len;) {
        uint64_t to = op->offset + at;
        size_t n = SECTOR - (size_t)(to % SECTOR);
        if (n > op->bytes.len - at) n = op->bytes.len - at;
        if (is_whole || t_random() % 2) memcpy(image + to, op->bytes.ptr + at, n);
        at += n;
    }
}

/* The files after a power cut behind the first n_ops operations. */
static void make_disk(const struct tape *tape, size_t n_ops, const char *folder)
{
    static char images[N_FILES][FILE_BYTES];
    size_t n_files = 0;
    size_t last_sync[N_FILES] = {0};
    memset(images, 0, sizeof images);
    for (size_t i = 0; i < n_ops; i++) {
        if (tape->ops[i].is_sync) last_sync[tape->ops[i].file] = i + 1;
        if (tape->ops[i].file + 1 > n_files) n_files = tape->ops[i].file + 1;
    }
    for (size_t i = 0; i < n_ops; i++) {
        const struct op *op = &tape->ops[i];
        if (!op->is_sync) apply(images[op->file], op, i < last_sync[op->file]);
    }
    for (size_t i = 0; i < n_files; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/journal-%04zu", folder, i);
        FILE *f = fopen(path, "wb");
        T_OK(f && fwrite(images[i], 1, FILE_BYTES, f) == FILE_BYTES);
        fclose(f);
    }
}

static void record_run(struct tape *tape, const char *folder)
{
    struct file_watcher watcher = {.user = tape, .on_write = tape_write, .on_sync = tape_sync};
    struct journal *j = open_journal(folder, 0, NULL);
    file_watch(&watcher);
    for (int round = 0; round < 20; round++) {
        for (uint64_t i = t_random() % 6; i < 6; i++) {
            write_some(j, 1);
            tape->written = journal_last(j);
        }
        T_EQ(journal_sync(j), WEIR_OK);
        tape->acked = journal_last(j);
    }
    file_watch(NULL);
    journal_close(j);
}

TEST(power_cut_at_every_write_boundary_loses_nothing_synced)
{
    static struct tape tape;
    char folder[128];
    snprintf(folder, sizeof folder, "%s/run", t_temp_dir());
    T_EQ(mkdir(folder, 0700), 0);
    tape = (struct tape){.n = 0};
    record_run(&tape, folder);
    for (size_t n = 1; n <= tape.n; n++) {
        uint64_t last = 0;
        uint64_t again = 0;
        snprintf(folder, sizeof folder, "%s/cut-%zu", t_temp_dir(), n);
        T_EQ(mkdir(folder, 0700), 0);
        make_disk(&tape, n, folder);
        struct journal *j = open_journal(folder, 0, &last);
        T_OK(last >= tape.ops[n - 1].acked);
        T_OK(last <= tape.ops[n - 1].written);
        /* It goes on from there, and what it writes now is not mixed with what was lost. */
        write_some(j, 4);
        T_EQ(journal_sync(j), WEIR_OK);
        journal_close(j);
        j = open_journal(folder, 0, &again);
        T_EQ(again, last + 4);
        journal_close(j);
    }
    for (size_t i = 0; i < tape.n; i++) free((void *)(uintptr_t)tape.ops[i].bytes.ptr);
}
