/* SPDX-License-Identifier: Apache-2.0 */
/* A world that fails: what the store says, what it keeps, and that reads go on. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/slice.h"
#include "store/store.h"
#include "t.h"

static const struct store_options small = {.segment_bytes = 65536, .pending_bytes = 30000};

static struct store *open_store(const char *folder)
{
    struct store *s = NULL;
    struct store_error error;
    T_EQ(store_open(&s, folder, &small, &error), WEIR_OK);
    return s;
}

static struct commit_result append(struct store *s, unsigned number)
{
    char frame[64];
    int len = snprintf(frame, sizeof frame, "data: %u\n\n", number);
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("log"), slice_of(frame, (size_t)len));
    return store_commit_wait(s, c);
}

/* The log is 1..last with the right content; returns last. */
static uint64_t check_log(struct store *s)
{
    uint64_t next = 1;
    for (;;) {
        struct log_read read;
        store_read(s, SLICE("log"), next, 1, &read);
        T_EQ(read.status, WEIR_OK);
        if (read.n_chunks == 0) return next - 1;
        char want[64];
        int len =
            snprintf(want, sizeof want, "id: %u\ndata: %u\n\n", (unsigned)next, (unsigned)next);
        T_EQ(read.chunks[0]->first, next);
        T_EQ_SLICE(slice_of(read.chunks[0]->bytes, (size_t)len), slice_of(want, (size_t)len));
        next = read.chunks[0]->last + 1;
        for (unsigned i = 0; i < read.n_chunks; i++) chunk_unref(read.chunks[i]);
    }
}

/*
 * From the nth hit of a point on everything fails. Whatever was acknowledged is there, in this
 * life and in the next one; what was refused as unknown may or may not be. A failed write says
 * that the disk is full: when it was one that only makes room, all goes on as soon as there is.
 */
static bool fail_from(enum fault_point point, unsigned n, const char *folder)
{
    struct store *s = open_store(folder);
    unsigned acked = 0;
    fault_arm(point, n, FAULT_FROM);
    enum weir_status last = WEIR_OK;
    for (unsigned i = 1; i <= 40 && last == WEIR_OK; i++) {
        last = append(s, i).status;
        if (last == WEIR_OK) acked = i;
    }
    bool was_hit = last != WEIR_OK;
    if (was_hit) {
        T_OK(last == WEIR_STORAGE || (last == WEIR_NO_SPACE && point == FAULT_WRITE));
        T_EQ(append(s, 99).status, last);
        T_EQ(store_is_writable(s), last);
    }
    T_EQ(check_log(s), acked); /* reads go on, and show nothing that is not durable */
    fault_disarm_all();
    if (last == WEIR_STORAGE) T_EQ(append(s, 99).status, WEIR_STORAGE); /* for good */
    if (last == WEIR_NO_SPACE) T_EQ(append(s, ++acked).status, WEIR_OK);
    store_close(s);
    s = open_store(folder);
    uint64_t kept = check_log(s);
    T_OK(kept >= acked && kept <= acked + 1);
    T_EQ(append(s, (unsigned)kept + 1).first, kept + 1);
    store_close(s);
    return was_hit;
}

static void fail_everywhere(enum fault_point point)
{
    char folder[256];
    bool was_hit = true;
    unsigned n = 1;
    for (; was_hit && n < 200; n++) {
        snprintf(folder, sizeof folder, "%s/%s-%u", t_temp_dir(),
                 point == FAULT_SYNC ? "sync" : "write", n);
        was_hit = fail_from(point, n, folder);
    }
    T_OK(n > 30 && n < 200);
}

TEST(a_failed_sync_ends_writing_until_the_store_is_opened_again)
{
    fail_everywhere(FAULT_SYNC);
}

TEST(a_failed_write_ends_writing_until_the_store_is_opened_again)
{
    fail_everywhere(FAULT_WRITE);
}

TEST(a_store_has_one_process)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    struct store *second = NULL;
    struct store_error error;
    T_EQ(store_open(&second, folder, NULL, &error), WEIR_LOCKED);
    T_OK(strstr(error.text, "another process") != NULL);
    store_close(s);
    s = open_store(folder);
    store_close(s);
}

TEST(a_folder_that_cannot_be_written_is_said_so)
{
    struct store *s = NULL;
    struct store_error error;
    char path[256];
    snprintf(path, sizeof path, "%s/no/such/place", t_temp_dir());
    T_EQ(store_open(&s, path, NULL, &error), WEIR_IO);
    T_OK(strstr(error.text, "No such file") != NULL);
    T_EQ(store_open(&s, "/proc/weir", NULL, &error), WEIR_IO);
    T_OK(s == NULL);
}

/* A child that is killed in the middle of its nth write or sync. */
static void die_at(enum fault_point point, unsigned n, const char *folder, int fd)
{
    struct store *s = NULL;
    fault_arm(point, n, FAULT_CRASH);
    if (store_open(&s, folder, &small, NULL) != WEIR_OK) _exit(1);
    for (unsigned i = 1; i <= 60; i++) {
        if (append(s, i).status != WEIR_OK) _exit(1);
        if (write(fd, "x", 1) != 1) _exit(1);
    }
    store_close(s);
    _exit(0);
}

TEST(a_kill_at_any_write_or_sync_loses_nothing_acknowledged)
{
    static const enum fault_point points[] = {FAULT_WRITE, FAULT_SYNC};
    for (unsigned run = 0; run < 160; run++) {
        char folder[256];
        int fds[2];
        char acks[64];
        snprintf(folder, sizeof folder, "%s/kill-%u", t_temp_dir(), run);
        T_EQ(pipe(fds), 0);
        pid_t child = fork();
        if (child == 0) die_at(points[run % 2], run / 2 + 1, folder, fds[1]);
        close(fds[1]);
        unsigned acked = 0;
        for (ssize_t got; (got = read(fds[0], acks, sizeof acks)) > 0;) acked += (unsigned)got;
        close(fds[0]);
        int status = 0;
        T_EQ(waitpid(child, &status, 0), child);
        T_OK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        struct store *s = open_store(folder);
        uint64_t kept = check_log(s);
        T_OK(kept >= acked && kept <= acked + 1);
        store_close(s);
    }
}
