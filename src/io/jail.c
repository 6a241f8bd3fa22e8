/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job may do: read the system's programs and libraries, read and write its folder, compute.
 * What the kernel does not offer is left out; jail_probe() finds that out once, in a process of its
 * own that enters the jail.
 *
 * A job has no socket of any kind, for also those of files would lead out: the server's own control
 * socket, for instance. Pairs of connected ones are allowed.
 *
 * Landlock says nothing about modes, owners, times and attributes, and a job is the server's user:
 * it could open the server's files to everybody, or lock the server out. Where the kernel gives it
 * mounts of its own, all but its folder is read-only; elsewhere the calls are refused, also for its
 * own files.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/fence.h"
#include "io/runner_impl.h"
#include "io/sanitized.h"

enum {
    MAP_TEXT_BYTES = 64,
    CPU_GRACE_S = 2,     /* between the signal that says so and the end */
    TASKS_OF_OTHERS = 4, /* of each other job: its warden, and some of its own */
    OFFERS_LANDLOCK = 1,
    OFFERS_SECCOMP = 2,
    OFFERS_SIGNALS = 4,
    OFFERS_NOTHING = 64, /* so that a process that died says something else */
};

/* Calls that the system's header may be too old to know; all architectures have these numbers. */
enum {
    MEMFD_SECRET = 447,
    FCHMODAT2 = 452,
    SETXATTRAT = 463,
    REMOVEXATTRAT = 466,
    FILE_SETATTR = 469,
};

/* ---- a world of its own ---- */

static bool put_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t len = strlen(text);
    bool is_done = write(fd, text, len) == (ssize_t)len;
    close(fd);
    return is_done;
}

/* The same user and group within as without, or files could not be made. */
static bool unshare_as_same(int what)
{
    char users[MAP_TEXT_BYTES], groups[MAP_TEXT_BYTES];
    unsigned uid = geteuid(), gid = getegid();
    snprintf(users, sizeof users, "%u %u 1", uid, uid);
    snprintf(groups, sizeof groups, "%u %u 1", gid, gid);
    /* Somebody who became another user cannot open files of its own in /proc else. */
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return unshare(what) == 0 && put_text("/proc/self/setgroups", "deny") &&
           put_text("/proc/self/uid_map", users) && put_text("/proc/self/gid_map", groups);
}

/* The folder stays as it is, all else becomes read-only. The folder's new mount; -1: errno. */
static int keep_the_rest(const char *folder)
{
    enum {
        MAKE_PRIVATE = 1 << 18
    }; /* MS_PRIVATE; its header does not go with that of mount_attr */
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY, .propagation = MAKE_PRIVATE};
    int at = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0) return -1;
    int tree = (int)syscall(SYS_open_tree, at, "",
                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
    bool is_done =
        tree >= 0 &&
        syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) == 0 &&
        syscall(SYS_move_mount, tree, "", at, "",
                MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
    int error = errno;
    close(at);
    if (!is_done && tree >= 0) close(tree);
    errno = error;
    return is_done ? tree : -1;
}

static int own_parts(const struct jail_offer *o)
{
    return CLONE_NEWUSER | CLONE_NEWNET | (o->has_processes ? CLONE_NEWPID : 0) |
           (o->has_mounts ? CLONE_NEWNS : 0);
}

bool jail_unshare(const struct jail_offer *offer, const char *path, int *folder)
{
    if (!offer->has_network) return true;
    if (!unshare_as_same(own_parts(offer))) return false;
    if (!offer->has_mounts) return true;
    int mounted = keep_the_rest(path);
    if (mounted < 0) return false;
    close(*folder);
    *folder = mounted;
    return true;
}

/* ---- limits ---- */

static bool limit(int what, uint64_t soft, uint64_t hard)
{
    struct rlimit now, wanted = {.rlim_cur = soft, .rlim_max = hard};
    if (getrlimit((__rlimit_resource_t)what, &now) != 0) return false;
    if (now.rlim_max < wanted.rlim_max) wanted.rlim_max = now.rlim_max;
    if (now.rlim_max < wanted.rlim_cur) wanted.rlim_cur = now.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &wanted) == 0;
}

/* What this process has of addresses already, which it keeps if it becomes no other. */
static uint64_t present_bytes(void)
{
    char text[MAP_TEXT_BYTES] = "";
    uint64_t n_pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        n_pages = n_pages * 10 + (uint64_t)(text[i] - '0');
    return n_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* It does not for root; and without users of its own, it counts those of others, too. */
bool jail_counts_processes(const struct jail_offer *offer)
{
    return offer->has_network && geteuid() != 0;
}

/*
 * Where all processes of the server's user count, also those in other containers, which nobody
 * here sees, there are no more of them than of all users; and jobs that begin later count, too.
 * The runner sees to RUNNER_PROCESSES there (runner_process.c), this is for when it is too late.
 */
static uint64_t most_processes(const struct jail_offer *offer)
{
    struct sysinfo info;
    if (offer->has_network) return RUNNER_PROCESSES;
    if (sysinfo(&info) != 0) info.procs = 0;
    return info.procs + (uint64_t)TASKS_OF_OTHERS * RUNNER_JOBS + RUNNER_PROCESSES;
}

static bool set_limits(const struct jail_offer *offer, const struct job_head *h)
{
    uint64_t n_processes = most_processes(offer);
    return limit(RLIMIT_CPU, h->cpu_s, h->cpu_s + CPU_GRACE_S) &&
           limit(RLIMIT_FSIZE, h->file_bytes, h->file_bytes) &&
           limit(RLIMIT_NOFILE, RUNNER_FILES, RUNNER_FILES) && limit(RLIMIT_CORE, 0, 0) &&
           limit(RLIMIT_MEMLOCK, 0, 0) && limit(RLIMIT_MSGQUEUE, 0, 0) &&
           limit(RLIMIT_NPROC, n_processes, n_processes);
}

bool jail_limit_memory(const struct wish *w, bool is_program)
{
    uint64_t memory = w->head.memory_bytes + (is_program ? 0 : present_bytes());
    return (IS_SANITIZED && !is_program) || limit(RLIMIT_AS, memory, memory);
}

/* ---- rights ---- */

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capset, &head, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* What programs are made of; nothing in there is a secret. */
static const char *const may_run[] = {"/usr", "/lib", "/lib64", "/bin", "/sbin"};
static const char *const may_read[] = {
    "/dev/random",    "/dev/urandom",         "/etc/alternatives", "/etc/ld.so.cache",
    "/etc/localtime", "/etc/ssl/openssl.cnf", "/etc/timezone",     "/sys/devices/system/cpu",
};
static const char *const may_write[] = {"/dev/null", "/dev/zero", "/dev/full"};

static bool fence_files(const struct wish *w, bool is_program)
{
    struct fence f;
    bool is_done = fence_init(&f, true) && fence_allow(&f, ".", fence_read_and_write);
    for (size_t i = 0; is_done && i < sizeof may_run / sizeof *may_run; i++)
        (void)fence_allow(&f, may_run[i], fence_run); /* not every system has each */
    for (size_t i = 0; is_done && i < sizeof may_read / sizeof *may_read; i++)
        (void)fence_allow(&f, may_read[i], fence_read);
    for (size_t i = 0; is_done && i < sizeof may_write / sizeof *may_write; i++)
        (void)fence_allow(&f, may_write[i], fence_read | fence_append);
    for (unsigned i = 0; is_done && is_program && w->argv[i]; i++)
        if (w->argv[i][0] == '/')
            (void)fence_allow(&f, w->argv[i], i == 0 ? fence_run : fence_read);
    if (is_done) is_done = fence_enter(&f);
    fence_fini(&f);
    return is_done;
}

/* Each reaches somebody else, or takes memory that no limit counts. */
static const unsigned never[] = {
    SYS_accept, SYS_accept4, SYS_bind,         SYS_connect, SYS_inotify_add_watch,
    SYS_listen, SYS_mq_open, SYS_memfd_create, SYS_msgget,  SYS_semget,
    SYS_shmget, SYS_socket,  MEMFD_SECRET,
};

/* Those that reach other processes where nothing else hides them. */
static const unsigned of_signals[] = {
    SYS_kill,   SYS_pidfd_open, SYS_pidfd_send_signal, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_tgkill, SYS_tkill,
};

/* Those that reach files which cannot be written. */
static const unsigned of_modes[] = {
    SYS_fchmod,       SYS_fchmodat,  SYS_fchown,      SYS_fchownat, SYS_fremovexattr, SYS_fsetxattr,
    SYS_lremovexattr, SYS_lsetxattr, SYS_removexattr, SYS_setxattr, FCHMODAT2,        SETXATTRAT,
    REMOVEXATTRAT,    FILE_SETATTR,
#ifdef __x86_64__
    SYS_chmod,        SYS_chown,     SYS_futimesat,   SYS_lchown,   SYS_utime,        SYS_utimes,
#endif
};

static bool fence_most_calls(const struct jail_offer *o)
{
    unsigned calls[sizeof never + sizeof of_signals + sizeof of_modes];
    size_t n = 0;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) calls[n++] = never[i];
    for (size_t i = 0; !o->has_signals && i < sizeof of_signals / sizeof *of_signals; i++)
        calls[n++] = of_signals[i];
    for (size_t i = 0; !o->has_mounts && i < sizeof of_modes / sizeof *of_modes; i++)
        calls[n++] = of_modes[i];
    return fence_calls(calls, n,
                       FENCE_ALONE | (o->has_mounts ? 0U : FENCE_FILES) |
                           (o->has_processes ? 0U : FENCE_PROCESSES) |
                           (o->has_signals ? 0U : FENCE_SIGNALS));
}

const char *jail_enter(const struct jail_offer *offer, const struct wish *w, bool is_program)
{
    umask(S_IRWXG | S_IRWXO);
    if (!set_limits(offer, &w->head)) return "its limits cannot be set";
    if (!drop_capabilities()) return "its rights cannot be dropped";
    if (!fence_files(w, is_program)) return "files cannot be fenced";
    if (offer->has_seccomp && !fence_most_calls(offer)) return "system calls cannot be fenced";
    return NULL;
}

/* ---- what there is ---- */

/* In a process of its own, which says by its exit status what it could do. */
static int wait_for(pid_t child)
{
    int status = 0;
    if (child < 0) return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool can_unshare(const struct jail_offer *o)
{
    static const char any[] = "/usr";
    pid_t child = _Fork();
    if (child == 0) {
        bool is_done = unshare_as_same(own_parts(o)) && (!o->has_mounts || keep_the_rest(any) >= 0);
        pid_t first = is_done ? _Fork() : -1;
        if (first == 0) _exit(0);
        _exit(is_done && wait_for(first) == 0 ? 0 : 1);
    }
    return wait_for(child) == 0;
}

static int find_fences(void)
{
    pid_t child = _Fork();
    if (child == 0) {
        struct fence f;
        int found = OFFERS_NOTHING;
        bool is_done = drop_capabilities() && fence_init(&f, true) && fence_enter(&f);
        if (is_done && f.version > 0) found |= OFFERS_LANDLOCK;
        if (is_done && fence_holds_signals(&f)) found |= OFFERS_SIGNALS;
        if (fence_most_calls(&(struct jail_offer){.landlock = 0})) found |= OFFERS_SECCOMP;
        _exit(found);
    }
    int found = wait_for(child);
    return found >= OFFERS_NOTHING ? found : OFFERS_NOTHING;
}

void jail_probe(struct jail_offer *out, bool is_plain)
{
    /* The best first. */
    static const struct {
        bool has_processes, has_mounts;
    } worlds[] = {{true, true}, {true, false}, {false, true}, {false, false}};
    enum { N_WORLDS = sizeof worlds / sizeof *worlds };
    struct fence f;
    int found = find_fences();
    *out = (struct jail_offer){.has_seccomp = found & OFFERS_SECCOMP};
    if (found & OFFERS_LANDLOCK && fence_init(&f, true)) {
        out->landlock = f.version;
        fence_fini(&f);
    }
    for (unsigned i = 0; i < N_WORLDS && !is_plain && !out->has_network; i++) {
        struct jail_offer tried = *out;
        tried.has_processes = worlds[i].has_processes;
        tried.has_mounts = worlds[i].has_mounts;
        tried.has_network = true;
        if (can_unshare(&tried)) *out = tried;
    }
    out->has_signals = out->has_processes || (!is_plain && (found & OFFERS_SIGNALS));
}

void jail_put(const struct jail_offer *o, char out[RUNNER_REPORT_BYTES])
{
    char landlock[32] = "no landlock";
    if (o->landlock > 0) snprintf(landlock, sizeof landlock, "landlock %d", o->landlock);
    snprintf(out, RUNNER_REPORT_BYTES, "%s, %sseccomp, %s network, %s processes, %s mounts",
             landlock, o->has_seccomp ? "" : "no ", o->has_network ? "own" : "the system's",
             o->has_processes ? "own" : "the system's", o->has_mounts ? "own" : "the system's");
}
