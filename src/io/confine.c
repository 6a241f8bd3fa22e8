/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel shall no longer allow to the server, by the two fences of fence.h, each where the
 * kernel has it. A server runs no programs; what has to be run is run by a process that was forked
 * before (runner.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "io/fence.h"
#include "io/process.h"
#include "io/sanitized.h"

/* ---- files ---- */

/* What libraries look at while they run; nothing in there is a secret. */
static const char *const system_files[] = {
    "/dev/null",
    "/dev/urandom", /* SQLite, for the names of its files */
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts", /* names, for outgoing connections */
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/lib", /* libgcc_s, which ends threads; modules of libc */
    "/lib64",
    "/proc/self", /* memory and descriptors, for the metrics */
    "/sys/devices/system/cpu",
    "/usr/lib",
    "/usr/share/ca-certificates",
    "/usr/share/zoneinfo",
};

enum { KEPT_FOLDERS = 2 };
static const char *log_path, *kept_folders[KEPT_FOLDERS];

void process_keep_log(const char *path)
{
    log_path = path;
}

void process_keep_folder(const char *path)
{
    size_t n = 0;
    while (n < KEPT_FOLDERS && kept_folders[n]) n++;
    CHECK(n < KEPT_FOLDERS || !path);
    if (path) kept_folders[n] = path;
}

static void allow_folder_of(const struct fence *f, const char *file, uint64_t rights)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", file);
    char *slash = strrchr(folder, '/');
    if (!slash) snprintf(folder, sizeof folder, ".");
    else slash[slash == folder] = 0;
    (void)fence_allow(f, folder, rights);
}

static void allow_readable(const struct fence *f, const char *file, uint64_t rights)
{
    char resolved[PATH_MAX];
    allow_folder_of(f, file, rights);
    if (realpath(file, resolved)) allow_folder_of(f, resolved, rights);
}

static enum weir_status confine_files(const char *data_folder, const char *const *readable,
                                      size_t n_readable, int *version)
{
    struct fence f;
    bool is_done = fence_init(&f, false);
    *version = f.version;
    if (is_done) is_done = fence_allow(&f, data_folder, fence_read_and_write);
    for (size_t i = 0; is_done && i < n_readable; i++) allow_readable(&f, readable[i], fence_read);
    if (log_path && is_done) allow_readable(&f, log_path, fence_append);
    for (size_t i = 0; is_done && i < KEPT_FOLDERS && kept_folders[i]; i++)
        is_done = fence_allow(&f, kept_folders[i], fence_read_and_write);
    for (size_t i = 0; is_done && i < sizeof system_files / sizeof *system_files; i++)
        (void)fence_allow(&f, system_files[i], fence_read); /* not every system has each */
    if (is_done) (void)fence_allow(&f, "/dev/null", fence_read | fence_append);
    if (is_done) is_done = fence_enter(&f);
    fence_fini(&f);
    return is_done ? WEIR_OK : WEIR_IO;
}

/* ---- both ---- */

enum weir_status process_confine(const char *data_folder, const char *const *readable,
                                 size_t n_readable, char report[PROCESS_REPORT_BYTES])
{
    static const unsigned programs[] = {SYS_execve, SYS_execveat};
    int version = 0;
    if (IS_SANITIZED) {
        snprintf(report, PROCESS_REPORT_BYTES, "not confined: built with sanitizers");
        return WEIR_OK;
    }
    report[0] = 0;
    struct stat info;
    if (stat(data_folder, &info) != 0) return WEIR_IO;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return WEIR_IO;
    enum weir_status st = confine_files(data_folder, readable, n_readable, &version);
    if (st != WEIR_OK) return st;
    bool is_filtered = fence_calls(programs, sizeof programs / sizeof *programs, FENCE_SERVER);
    /* EINVAL, ENOSYS: this kernel was built without. */
    if (!is_filtered && errno != EINVAL && errno != ENOSYS) return WEIR_IO;
    char landlock[32] = "no landlock";
    if (version > 0) snprintf(landlock, sizeof landlock, "landlock %d", version);
    snprintf(report, PROCESS_REPORT_BYTES, "%s, %sseccomp", landlock, is_filtered ? "" : "no ");
    return WEIR_OK;
}
