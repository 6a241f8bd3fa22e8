/* SPDX-License-Identifier: Apache-2.0 */
/* This machine: the data folder, its disk, its server, and what this process may have. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "doctor.h"

enum {
    SYNCS = 9,
    SYNC_BYTES = 4096,
    SLOW_SYNC_MS = 50,
    LOW_MB = 100, /* free: nothing goes any more */
    SCARCE_MB = 1024,
    FEW_FILES = 4096,
    ANSWER_MS = 5000,
};

static bool look_at_folder(struct doctor *d)
{
    struct stat found;
    const char *folder = d->config->folder;
    if (stat(folder, &found) != 0 || !S_ISDIR(found.st_mode)) {
        doctor_say(d, DOCTOR_FAIL, "folder", "\"weir import FILE\" or \"weir serve\" make it",
                   "%s: %s", folder, errno == 0 ? strerror(ENOTDIR) : strerror(errno));
        return false;
    }
    unsigned mode = (unsigned)found.st_mode & 0777;
    char advice[XDG_PATH_BYTES + 32] = "";
    if ((mode & 077) != 0) snprintf(advice, sizeof advice, "chmod 700 %s", folder);
    doctor_say(d, advice[0] != 0 ? DOCTOR_WARN : DOCTOR_OK, "folder", advice, "%s, mode %03o%s",
               folder, mode, advice[0] != 0 ? ": others can look into it" : "");
    return true;
}

static void look_at_space(struct doctor *d)
{
    struct statvfs disk;
    if (statvfs(d->config->folder, &disk) != 0) return;
    double free_mb = (double)disk.f_bavail * (double)disk.f_frsize / 1e6;
    double all_mb = (double)disk.f_blocks * (double)disk.f_frsize / 1e6;
    enum doctor_verdict verdict = free_mb < LOW_MB      ? DOCTOR_FAIL
                                  : free_mb < SCARCE_MB ? DOCTOR_WARN
                                                        : DOCTOR_OK;
    doctor_say(d, verdict, "disk",
               verdict == DOCTOR_OK ? "" : "make room, or move the folder: --data",
               "%.1f GB free of %.1f GB", free_mb / 1000, all_mb / 1000);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median time of a write that is made durable; a negative number when that fails. */
static double measure_sync(int fd)
{
    char bytes[SYNC_BYTES] = {0};
    double ms[SYNCS];
    for (int i = 0; i < SYNCS; i++) {
        uint64_t from_ns = clock_mono_ns(&clock_system);
        if (pwrite(fd, bytes, sizeof bytes, (off_t)i * SYNC_BYTES) != SYNC_BYTES ||
            fdatasync(fd) != 0)
            return -1;
        ms[i] = (double)(clock_mono_ns(&clock_system) - from_ns) / 1e6;
    }
    qsort(ms, SYNCS, sizeof *ms, compare);
    return ms[SYNCS / 2];
}

static void look_at_sync(struct doctor *d)
{
    int fd = open(d->config->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    double ms = fd >= 0 ? measure_sync(fd) : -1;
    if (ms < 0)
        doctor_say(d, DOCTOR_FAIL, "sync", "run this as the owner of the folder", "%s: %s",
                   d->config->folder, strerror(errno));
    else
        doctor_say(d, ms > SLOW_SYNC_MS ? DOCTOR_WARN : DOCTOR_OK, "sync",
                   ms > SLOW_SYNC_MS ? "a disk of its own, or one that is no network's, is faster"
                                     : "",
                   "%.2f ms for a write that survives a power cut", ms);
    if (fd >= 0) close(fd);
}

static bool pass_over(void *user, struct weir_slice piece)
{
    (void)user;
    (void)piece;
    return true;
}

/* With a limit of time, for a server may be stuck; false when that has passed. */
static bool ask(struct control_stream *stream)
{
    enum control_more more = CONTROL_MORE;
    while (more == CONTROL_MORE) {
        struct pollfd ready = {.fd = stream->fd, .events = POLLIN};
        if (poll(&ready, 1, ANSWER_MS) <= 0) return false;
        more = control_stream_read(stream, pass_over, NULL);
    }
    return more == CONTROL_ENDED;
}

static void look_at_answer(struct doctor *d, struct control_stream *stream)
{
    bool is_answered = ask(stream);
    struct weir_slice why = control_error(&stream->answer);
    if (!is_answered)
        doctor_say(d, DOCTOR_FAIL, "server", "it may be stuck: look at its log, start it again",
                   "it takes a connection and does not answer");
    else if (stream->answer.status == 200)
        doctor_say(d, DOCTOR_OK, "server", "", "it runs on this folder and takes events");
    else
        doctor_say(d, DOCTOR_FAIL, "server",
                   "look at its log; \"weir store check\" reads everything", "%.*s", (int)why.len,
                   why.len > 0 ? why.ptr : "no answer");
    control_stream_close(stream);
    weir_buf_fini(&stream->answer.body);
}

static void look_at_server(struct doctor *d)
{
    struct control_stream stream;
    enum weir_status st = control_stream_open(&stream, d->config->folder, "/readyz");
    if (st == WEIR_OK) look_at_answer(d, &stream);
    else if (st == WEIR_NOT_FOUND)
        doctor_say(d, DOCTOR_OK, "server", "", "none runs now: commands serve themselves");
    else
        doctor_say(d, DOCTOR_FAIL, "server", "it is of another user: run this as that one",
                   "%s: %s", d->config->folder, strerror(errno));
}

void doctor_local(struct doctor *d)
{
    errno = 0;
    if (!look_at_folder(d)) return;
    look_at_space(d);
    look_at_sync(d);
    look_at_server(d);
}

void doctor_process(struct doctor *d)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    bool is_few = files.rlim_max != RLIM_INFINITY && files.rlim_max < FEW_FILES;
    doctor_say(d, is_few ? DOCTOR_WARN : DOCTOR_OK, "descriptors",
               is_few ? "each reader needs one: ulimit -n, or LimitNOFILE= of the service" : "",
               "%llu, and %llu for whoever asks", (unsigned long long)files.rlim_cur,
               (unsigned long long)files.rlim_max);
}
