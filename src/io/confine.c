/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel shall no longer allow. Two fences, each where the kernel has it:
 *
 * Landlock decides over files, by folder. A rule stands for what was there when it was made, so
 * a file that is replaced later needs a rule on its folder; a name that is a link (as those of
 * certbot) needs one on the folder it leads to as well.
 *
 * A seccomp filter decides over system calls, by number. It forbids a list and allows the rest:
 * a list of what is allowed would have to follow every new version of libc, libuv, OpenSSL and
 * SQLite, and a server that dies of an update is no safer. The calls forbidden are those that
 * turn a foothold into more: running programs, looking into or tracing other processes, mounts,
 * modules, keys, and parts of the kernel with a history of holes that nothing here uses.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/process.h"

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

/* ---- files ---- */

enum { ABI_REFER = 2, ABI_TRUNCATE = 3 };

static const uint64_t may_read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t may_read_and_write =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REFER |
    LANDLOCK_ACCESS_FS_TRUNCATE;
static const uint64_t may_append = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG;
/* Rights of a folder that a rule on a file may not name. */
static const uint64_t of_files = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                 LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_TRUNCATE;

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

static const char *log_path, *kept_folder;

void process_keep_log(const char *path)
{
    log_path = path;
}

void process_keep_folder(const char *path)
{
    kept_folder = path;
}

/* Every right that this version of landlock knows; 0: it has none. */
static uint64_t known_rights(int abi)
{
    uint64_t rights = LANDLOCK_ACCESS_FS_REFER - 1;
    if (abi < 1) return 0;
    if (abi >= ABI_REFER) rights |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= ABI_TRUNCATE) rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
    return rights;
}

static bool allow(int rules, const char *path, uint64_t rights)
{
    struct stat info;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights};
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return false;
    rule.parent_fd = fd;
    if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) rule.allowed_access &= of_files;
    long done = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int error = errno;
    close(fd);
    errno = error;
    return done == 0;
}

static void allow_folder_of(int rules, const char *file, uint64_t rights)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", file);
    char *slash = strrchr(folder, '/');
    if (!slash) snprintf(folder, sizeof folder, ".");
    else slash[slash == folder] = 0;
    (void)allow(rules, folder, rights);
}

static void allow_readable(int rules, const char *file, uint64_t rights)
{
    char resolved[PATH_MAX];
    allow_folder_of(rules, file, rights);
    if (realpath(file, resolved)) allow_folder_of(rules, resolved, rights);
}

/* *abi 0: the kernel has no landlock, or it is off. */
static enum weir_status confine_files(const char *data_folder, const char *const *readable,
                                      size_t n_readable, int *abi)
{
    *abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    uint64_t known = known_rights(*abi);
    if (known == 0) {
        *abi = 0;
        return WEIR_OK;
    }
    struct landlock_ruleset_attr attr = {.handled_access_fs = known};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (rules < 0) return WEIR_IO;
    bool is_done = allow(rules, data_folder, may_read_and_write & known);
    for (size_t i = 0; i < n_readable; i++) allow_readable(rules, readable[i], may_read);
    if (log_path) allow_readable(rules, log_path, may_append);
    if (kept_folder && is_done) is_done = allow(rules, kept_folder, may_read_and_write & known);
    for (size_t i = 0; i < sizeof system_files / sizeof *system_files; i++)
        (void)allow(rules, system_files[i], may_read); /* not every system has each */
    (void)allow(rules, "/dev/null", may_read | LANDLOCK_ACCESS_FS_WRITE_FILE);
    if (is_done) is_done = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    int error = errno;
    close(rules);
    errno = error;
    return is_done ? WEIR_OK : WEIR_IO;
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef OUR_ARCH

enum { FIRST_X32_CALL = 0x40000000 }; /* a second set of numbers for the same calls */

/* Calls that only one architecture has stand in the second list. */
static const unsigned forbidden[] = {
    SYS_acct,
    SYS_add_key,
    SYS_adjtimex,
    SYS_bpf,
    SYS_chroot,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_execve,
    SYS_execveat,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_file_load,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_lookup_dcookie,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_name_to_handle_at,
    SYS_nfsservctl,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_personality,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_ptrace,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_reboot,
    SYS_request_key,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
#ifdef __x86_64__
    SYS_ioperm,
    SYS_iopl,
    SYS_modify_ldt,
    SYS_uselib,
    SYS__sysctl,
#endif
};

enum { N_FORBIDDEN = sizeof forbidden / sizeof *forbidden, N_BEFORE = 4, N_AFTER = 2 };
static_assert(N_FORBIDDEN < 250, "a jump of the filter goes 255 instructions far");

static struct sock_filter load(size_t offset)
{
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

/* Goes on by `then` or `otherwise` instructions, counted from the next. */
static struct sock_filter jump_if(unsigned short test, uint32_t value, size_t then,
                                  size_t otherwise)
{
    return (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | BPF_K | test), value,
                                        (unsigned char)then, (unsigned char)otherwise);
}

static struct sock_filter answer(uint32_t action)
{
    return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

/*
 * The filter: load the architecture, refuse foreign ones; load the number, refuse those of x32;
 * one comparison for each call of the list; allow; refuse. All jumps lead to the last.
 */
static bool filter_calls(void)
{
    struct sock_filter code[N_BEFORE + N_FORBIDDEN + N_AFTER];
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    const size_t refuse = N_BEFORE + N_FORBIDDEN + 1;
    code[0] = load(offsetof(struct seccomp_data, arch));
    code[1] = jump_if(BPF_JEQ, OUR_ARCH, 0, refuse - 2);
    code[2] = load(offsetof(struct seccomp_data, nr));
    code[3] = jump_if(BPF_JGE, FIRST_X32_CALL, refuse - 4, 0);
    for (size_t i = 0; i < N_FORBIDDEN; i++)
        code[N_BEFORE + i] = jump_if(BPF_JEQ, forbidden[i], refuse - (N_BEFORE + i + 1), 0);
    code[refuse - 1] = answer(SECCOMP_RET_ALLOW);
    code[refuse] = answer(SECCOMP_RET_ERRNO | EPERM);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

static bool filter_calls(void)
{
    errno = ENOSYS;
    return false;
}

#endif

/* ---- both ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

enum weir_status process_confine(const char *data_folder, const char *const *readable,
                                 size_t n_readable, char report[PROCESS_REPORT_BYTES])
{
    int abi = 0;
    if (IS_SANITIZED) {
        snprintf(report, PROCESS_REPORT_BYTES, "not confined: built with sanitizers");
        return WEIR_OK;
    }
    report[0] = 0;
    struct stat info;
    if (stat(data_folder, &info) != 0) return WEIR_IO;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return WEIR_IO;
    enum weir_status st = confine_files(data_folder, readable, n_readable, &abi);
    if (st != WEIR_OK) return st;
    bool is_filtered = filter_calls();
    /* EINVAL, ENOSYS: this kernel was built without. */
    if (!is_filtered && errno != EINVAL && errno != ENOSYS) return WEIR_IO;
    char landlock[32] = "no landlock";
    if (abi > 0) snprintf(landlock, sizeof landlock, "landlock %d", abi);
    snprintf(report, PROCESS_REPORT_BYTES, "%s, %sseccomp", landlock, is_filtered ? "" : "no ");
    return WEIR_OK;
}
