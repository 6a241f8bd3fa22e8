/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock decides over files, by folder. A rule stands for what was there when it was made, so
 * a file that is replaced later needs a rule on its folder; a name that is a link (as those of
 * certbot) needs one on the folder it leads to as well.
 *
 * A seccomp filter decides over system calls, by number. It forbids a list and allows the rest:
 * a list of what is allowed would have to follow every new version of libc, libuv, OpenSSL and
 * SQLite, and a server that dies of an update is no safer. The calls forbidden are those that
 * turn a foothold into more: looking into or tracing other processes, mounts, modules, keys, and
 * parts of the kernel with a history of holes that nothing here uses.
 */
#include "io/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"

/* ---- files ---- */

/* What the system's header may be too old to know. */
enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_NET = 4, ABI_IOCTL = 5, ABI_SCOPE = 6 };
static const uint64_t may_refer = 1ULL << 13, may_truncate = 1ULL << 14, may_ioctl = 1ULL << 15;
static const uint64_t tcp_bind_and_connect = 3, abstract_sockets_and_signals = 3;

struct ruleset {
    uint64_t files, net, scope;
};

const uint64_t fence_read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
const uint64_t fence_run =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;
const uint64_t fence_append = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG;
const uint64_t fence_read_and_write =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK | may_refer | may_truncate;
/* Rights of a folder that a rule on a file may not name. */
static const uint64_t of_files = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                 LANDLOCK_ACCESS_FS_EXECUTE | may_truncate;

static uint64_t known_rights(int version)
{
    uint64_t rights = may_refer - 1;
    if (version >= ABI_REFER) rights |= may_refer;
    if (version >= ABI_TRUNCATE) rights |= may_truncate;
    if (version >= ABI_IOCTL) rights |= may_ioctl;
    return rights;
}

bool fence_init(struct fence *f, bool is_alone)
{
    *f = (struct fence){.rules = -1};
    int version =
        (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return true;
    struct ruleset set = {.files = known_rights(version)};
    size_t size = offsetof(struct ruleset, net);
    if (!is_alone) set.files &= ~may_ioctl;
    if (is_alone && version >= ABI_NET) {
        set.net = tcp_bind_and_connect;
        size = offsetof(struct ruleset, scope);
    }
    if (is_alone && version >= ABI_SCOPE) {
        set.scope = abstract_sockets_and_signals;
        size = sizeof set;
    }
    *f = (struct fence){.version = version, .known = set.files};
    f->rules = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
    return f->rules >= 0;
}

bool fence_allow(const struct fence *f, const char *path, uint64_t rights)
{
    struct stat info;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights & f->known};
    if (f->version == 0) return true;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return false;
    rule.parent_fd = fd;
    if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) rule.allowed_access &= of_files;
    long done = syscall(SYS_landlock_add_rule, f->rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int error = errno;
    close(fd);
    errno = error;
    return done == 0;
}

bool fence_enter(const struct fence *f)
{
    return f->version == 0 || syscall(SYS_landlock_restrict_self, f->rules, 0) == 0;
}

void fence_fini(struct fence *f)
{
    int error = errno;
    if (f->rules >= 0) close(f->rules);
    f->rules = -1;
    errno = error;
}

bool fence_holds_signals(const struct fence *f)
{
    return f->version >= ABI_SCOPE;
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

enum { N_FORBIDDEN = sizeof forbidden / sizeof *forbidden, N_CALLS = 170, N_OTHER = 80 };

/* A jump goes 255 instructions far, so that all have to fit into less. */
struct program {
    struct sock_filter code[N_CALLS + N_OTHER];
    size_t n, refuse;
};

static void load(struct program *p, size_t offset)
{
    p->code[p->n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

/* Goes on by `then` or `otherwise` instructions, counted from the next. */
static void jump_if(struct program *p, unsigned short test, uint32_t value, size_t then,
                    size_t otherwise)
{
    p->code[p->n++] = (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | BPF_K | test), value,
                                                   (unsigned char)then, (unsigned char)otherwise);
}

static void answer(struct program *p, uint32_t action)
{
    p->code[p->n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

static size_t to_refusal(const struct program *p)
{
    return p->refuse - (p->n + 1);
}

/* An argument's halves: both architectures are little-endian. */
static void load_lower(struct program *p, unsigned argument)
{
    load(p, offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t));
}

static void load_upper(struct program *p, unsigned argument)
{
    load(p, offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t) + sizeof(uint32_t));
}

/* Instructions of the tests below. */
enum { N_ITSELF = 4, N_ITS_TURN = 6, N_PAIRS = 8, N_WORLDS = 6, N_TIMES = 6, N_OWNERS = 5 };

/* Calls whose first argument is a process: 0 is the one that calls, or its thread. */
static const unsigned of_places[] = {
    SYS_migrate_pages, SYS_move_pages,     SYS_sched_setaffinity,
    SYS_sched_setattr, SYS_sched_setparam, SYS_sched_setscheduler,
};

enum {
    N_OF_PLACES = sizeof of_places / sizeof *of_places,
    N_PROCESSES = N_OF_PLACES * N_ITSELF + 2 * N_ITS_TURN,
};

static void keep_to_itself(struct program *p, unsigned call)
{
    jump_if(p, BPF_JEQ, call, 0, N_ITSELF - 1);
    load_lower(p, 0);
    jump_if(p, BPF_JEQ, 0, 0, to_refusal(p));
    answer(p, SECCOMP_RET_ALLOW);
}

/* The first argument says of what the second is a number: a process, a group or a user. */
static void keep_to_its_turn(struct program *p, unsigned call, uint32_t of_process)
{
    jump_if(p, BPF_JEQ, call, 0, N_ITS_TURN - 1);
    load_lower(p, 0);
    jump_if(p, BPF_JEQ, of_process, 0, to_refusal(p));
    load_lower(p, 1);
    jump_if(p, BPF_JEQ, 0, 0, to_refusal(p));
    answer(p, SECCOMP_RET_ALLOW);
}

static void keep_places_of_others(struct program *p)
{
    for (size_t i = 0; i < N_OF_PLACES; i++) keep_to_itself(p, of_places[i]);
    keep_to_its_turn(p, SYS_setpriority, PRIO_PROCESS);
    keep_to_its_turn(p, SYS_ioprio_set, IOPRIO_WHO_PROCESS);
}

/* Pairs that stay connected to each other; one of datagrams could be used to reach anybody. */
static void keep_pairs_together(struct program *p)
{
    enum { KINDS = 0xf };
    jump_if(p, BPF_JEQ, SYS_socketpair, 0, N_PAIRS - 1);
    load_lower(p, 0);
    jump_if(p, BPF_JEQ, AF_UNIX, 0, to_refusal(p));
    load_lower(p, 1);
    p->code[p->n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, KINDS);
    jump_if(p, BPF_JEQ, SOCK_STREAM, 1, 0);
    jump_if(p, BPF_JEQ, SOCK_SEQPACKET, 0, to_refusal(p));
    answer(p, SECCOMP_RET_ALLOW);
}

/*
 * No user namespace within: there it would have all rights. What the newer call wants cannot be
 * seen; where it seems not to be there, programs use the older one.
 */
static void keep_its_world(struct program *p)
{
    static const uint32_t of_worlds = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                      CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    jump_if(p, BPF_JEQ, SYS_clone3, 0, 1);
    answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    jump_if(p, BPF_JEQ, SYS_clone, 0, N_WORLDS - 3);
    load_lower(p, 0);
    jump_if(p, BPF_JSET, of_worlds, to_refusal(p), 0);
    answer(p, SECCOMP_RET_ALLOW);
}

/* Without a path it is about a file that is open. */
static void keep_times_by_path(struct program *p)
{
    jump_if(p, BPF_JEQ, SYS_utimensat, 0, N_TIMES - 1);
    load_lower(p, 1);
    jump_if(p, BPF_JEQ, 0, 0, to_refusal(p));
    load_upper(p, 1);
    jump_if(p, BPF_JEQ, 0, 0, to_refusal(p));
    answer(p, SECCOMP_RET_ALLOW);
}

/*
 * A descriptor that has an owner sends it any signal, KILL too, when something comes; the kernel
 * asks no more than that it is the same user. Two of its commands name one.
 */
static void keep_no_owner(struct program *p, unsigned call, uint32_t one, uint32_t other)
{
    jump_if(p, BPF_JEQ, call, 0, N_OWNERS - 1);
    load_lower(p, 1);
    jump_if(p, BPF_JEQ, one, to_refusal(p), 0);
    jump_if(p, BPF_JEQ, other, to_refusal(p), 0);
    answer(p, SECCOMP_RET_ALLOW);
}

/*
 * The filter: load the architecture, refuse foreign ones; load the number, refuse those of x32;
 * one comparison for each call of the lists; those that depend on arguments; allow; refuse. All
 * jumps lead to the last.
 */
bool fence_calls(const unsigned *more, size_t n_more, unsigned kinds)
{
    size_t n_tests = 0;
    if (kinds & FENCE_ALONE) n_tests += N_ITSELF + N_PAIRS + N_WORLDS;
    if (kinds & FENCE_FILES) n_tests += N_TIMES;
    if (kinds & FENCE_PROCESSES) n_tests += N_PROCESSES;
    if (kinds & FENCE_SIGNALS) n_tests += 2 * N_OWNERS;
    struct program p = {.n = 0, .refuse = 4 + N_FORBIDDEN + n_more + n_tests + 1};
    CHECK(N_FORBIDDEN + n_more <= N_CALLS);
    load(&p, offsetof(struct seccomp_data, arch));
    jump_if(&p, BPF_JEQ, OUR_ARCH, 0, to_refusal(&p));
    load(&p, offsetof(struct seccomp_data, nr));
    jump_if(&p, BPF_JGE, FIRST_X32_CALL, to_refusal(&p), 0);
    for (size_t i = 0; i < N_FORBIDDEN; i++) jump_if(&p, BPF_JEQ, forbidden[i], to_refusal(&p), 0);
    for (size_t i = 0; i < n_more; i++) jump_if(&p, BPF_JEQ, more[i], to_refusal(&p), 0);
    if (kinds & FENCE_ALONE) {
        keep_to_itself(&p, SYS_prlimit64); /* its own limits it may ask for, and set */
        keep_pairs_together(&p);
        keep_its_world(&p);
    }
    if (kinds & FENCE_FILES) keep_times_by_path(&p);
    if (kinds & FENCE_PROCESSES) keep_places_of_others(&p);
    if (kinds & FENCE_SIGNALS) {
        keep_no_owner(&p, SYS_fcntl, F_SETOWN, F_SETOWN_EX);
        keep_no_owner(&p, SYS_ioctl, FIOSETOWN, SIOCSPGRP);
    }
    answer(&p, SECCOMP_RET_ALLOW);
    answer(&p, SECCOMP_RET_ERRNO | EPERM);
    CHECK(p.n == p.refuse + 1);
    struct sock_fprog program = {.len = (unsigned short)p.n, .filter = p.code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

bool fence_calls(const unsigned *more, size_t n_more, unsigned kinds)
{
    (void)more;
    (void)n_more;
    (void)kinds;
    errno = ENOSYS;
    return false;
}

#endif
