/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file.h"

#include <errno.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

static const char *path_in_temp(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", t_temp_dir(), name);
    return path;
}

TEST(what_is_written_is_read_back_at_any_offset)
{
    struct file f;
    char bytes[16];
    size_t n = 0;
    uint64_t size = 0;
    T_EQ(file_open(&f, path_in_temp("a"), FILE_MAY_CREATE), WEIR_OK);
    T_EQ(file_write_at(&f, SLICE("world"), 6), WEIR_OK);
    T_EQ(file_write_at(&f, SLICE("hello "), 0), WEIR_OK);
    T_EQ(file_sync(&f), WEIR_OK);
    T_EQ(file_size(&f, &size), WEIR_OK);
    T_EQ(size, 11);
    T_EQ(file_read_at(&f, bytes, sizeof bytes, 0, &n), WEIR_OK);
    T_EQ_SLICE(slice_of(bytes, n), SLICE("hello world"));
    T_EQ(file_read_at(&f, bytes, sizeof bytes, 9, &n), WEIR_OK);
    T_EQ_SLICE(slice_of(bytes, n), SLICE("ld"));
    T_EQ(file_read_at(&f, bytes, sizeof bytes, 100, &n), WEIR_OK);
    T_EQ(n, 0);
    file_close(&f);
    T_EQ(file_sync_folder(t_temp_dir()), WEIR_OK);
}

TEST(missing_files_and_folders_are_errors)
{
    struct file f;
    T_EQ(file_open(&f, path_in_temp("none"), FILE_MUST_EXIST), WEIR_IO);
    T_EQ(errno, ENOENT);
    T_OK(!file_exists(path_in_temp("none")));
    T_EQ(file_sync_folder(path_in_temp("none")), WEIR_IO);
    file_close(&f);
}

TEST(full_device_is_told_from_other_failures)
{
    struct file f;
    T_EQ(file_open(&f, "/dev/full", FILE_MUST_EXIST), WEIR_OK);
    T_EQ(file_write_at(&f, SLICE("x"), 0), WEIR_NO_SPACE);
    file_close(&f);
    T_EQ(file_write_at(&f, SLICE("x"), 0), WEIR_IO);
    T_EQ(errno, EBADF);
}

TEST(fault_points_fail_writes_and_syncs)
{
    struct file f;
    T_EQ(file_open(&f, path_in_temp("b"), FILE_MAY_CREATE), WEIR_OK);
    fault_arm(FAULT_WRITE, 1, FAULT_ONCE);
    fault_arm(FAULT_SYNC, 1, FAULT_ONCE);
    T_EQ(file_write_at(&f, SLICE("x"), 0), WEIR_NO_SPACE);
    T_EQ(file_sync(&f), WEIR_IO);
    fault_disarm_all();
    T_EQ(file_write_at(&f, SLICE("x"), 0), WEIR_OK);
    T_EQ(file_sync(&f), WEIR_OK);
    file_close(&f);
}

struct looked {
    char log[256];
    size_t len;
};

static void see_write(void *user, const char *name, uint64_t offset, struct weir_slice bytes)
{
    struct looked *l = user;
    l->len += (size_t)snprintf(l->log + l->len, sizeof l->log - l->len, "%s@%d:%.*s ", name,
                               (int)offset, (int)bytes.len, bytes.ptr);
}

static void see_sync(void *user, const char *name)
{
    struct looked *l = user;
    l->len += (size_t)snprintf(l->log + l->len, sizeof l->log - l->len, "%s! ", name);
}

TEST(watcher_sees_writes_and_syncs_in_order)
{
    struct file f;
    struct looked l = {.len = 0};
    struct file_watcher watcher = {.user = &l, .on_write = see_write, .on_sync = see_sync};
    T_EQ(file_open(&f, path_in_temp("c"), FILE_MAY_CREATE), WEIR_OK);
    file_watch(&watcher);
    T_EQ(file_write_at(&f, SLICE("xy"), 3), WEIR_OK);
    T_EQ(file_sync(&f), WEIR_OK);
    file_watch(NULL);
    T_EQ(file_write_at(&f, SLICE("z"), 0), WEIR_OK);
    file_close(&f);
    T_EQ_STR(slice_of(l.log, l.len), "c@3:xy c! ");
}

static void see_truncate(void *user, const char *name, uint64_t size)
{
    struct looked *l = user;
    l->len += (size_t)snprintf(l->log + l->len, sizeof l->log - l->len, "%s=%d ", name, (int)size);
}

static void see_remove(void *user, const char *name)
{
    struct looked *l = user;
    l->len += (size_t)snprintf(l->log + l->len, sizeof l->log - l->len, "%s- ", name);
}

static void report_all(void)
{
    file_report_write("d", 7, SLICE("xy"));
    file_report_sync("d");
    file_report_truncate("d", 8);
    file_report_remove("d");
}

TEST(watcher_is_told_what_others_do)
{
    struct looked l = {.len = 0};
    struct file_watcher all = {&l, see_write, see_sync, see_truncate, see_remove};
    struct file_watcher blind = {.user = &l};
    file_watch(&all);
    report_all();
    file_watch(&blind);
    report_all();
    file_watch(NULL);
    report_all();
    T_EQ_STR(slice_of(l.log, l.len), "d@7:xy d! d=8 d- ");
}

TEST(file_that_must_be_new_is_not_taken_from_others)
{
    struct file f;
    T_EQ(file_open(&f, path_in_temp("e"), FILE_MUST_CREATE), WEIR_OK);
    file_close(&f);
    T_EQ(file_open(&f, path_in_temp("e"), FILE_MUST_CREATE), WEIR_IO);
    T_EQ(errno, EEXIST);
}
