/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner: a process without threads that starts a warden for each socket that the server
 * passes, and buries those that ended. It knows nothing of jobs but how many processes each has,
 * where the kernel does not count them. It ends when the server is gone and the wardens, which see
 * that for themselves, are too.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/runner_impl.h"

enum {
    LAST_WAIT_MS = 4 * RUNNER_TERM_MS,
    ORPHANS_MS = 10,
    LOOK_MS = 250,             /* between two counts of processes */
    WARDENS = 2 * RUNNER_JOBS, /* some have told their end, and are not gone yet */
};

struct process {
    const struct runner_options *options;
    const struct jail_offer *offer;
    int control, signals;
    pid_t wardens[WARDENS];
    size_t n_wardens;
    bool has_orphans;
    uint64_t look_ns; /* when they are counted next */
};

/* Its guard keeps all other signals out. */
static int watch_children(void)
{
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    return signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void start_warden(struct process *p, int socket)
{
    pid_t child = p->n_wardens < WARDENS ? _Fork() : -1;
    if (child == 0) {
        close(p->control);
        close(p->signals);
        warden_run(socket, p->options, p->offer);
    }
    close(socket);
    if (child > 0) p->wardens[p->n_wardens++] = child;
}

/* False: the server is gone. */
static bool take_message(struct process *p)
{
    char byte;
    int fd = -1;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    ssize_t n = recvmsg(p->control, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&m);
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) return true;
    memcpy(&fd, CMSG_DATA(head), sizeof fd);
    fd = runner_move_high(fd);
    if (fd >= 0) start_warden(p, fd);
    return true;
}

/*
 * A warden that did not end by itself has left its family to us. Where the kernel does not end a
 * family by itself, any may have: it kills for some time, and then gives up.
 */
static void bury(struct process *p)
{
    struct signalfd_siginfo info;
    pid_t child;
    int status;
    while (read(p->signals, &info, sizeof info) > 0) continue;
    while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t i = 0; i < p->n_wardens; i++) {
            if (p->wardens[i] != child) continue;
            p->wardens[i] = p->wardens[--p->n_wardens];
            p->has_orphans |= WIFSIGNALED(status) || !p->offer->has_processes;
            break;
        }
    }
}

static bool has_to_count(const struct process *p)
{
    return p->n_wardens > 0 && !jail_counts_processes(p->offer);
}

/* One look for all jobs. Their wardens, which know how to end them, are told. */
static void count_processes(struct process *p, uint64_t now_ns)
{
    size_t n_tasks[WARDENS];
    if (!has_to_count(p) || now_ns < p->look_ns) return;
    family_count(p->wardens, p->n_wardens, n_tasks);
    for (size_t i = 0; i < p->n_wardens; i++)
        if (n_tasks[i] > RUNNER_PROCESSES) (void)kill(p->wardens[i], TOO_MANY_SIGNAL);
    p->look_ns = clock_mono_ns(&clock_system) + LOOK_MS * 1000000ULL;
}

/* How long to wait for something to happen. */
static int patience_ms(const struct process *p, bool is_gone)
{
    if (p->has_orphans) return ORPHANS_MS;
    if (has_to_count(p)) return LOOK_MS;
    return is_gone ? RUNNER_TERM_MS : -1;
}

_Noreturn void runner_process(int control, const struct runner_options *o,
                              const struct jail_offer *offer)
{
    struct process p = {.options = o, .offer = offer, .control = control};
    uint64_t gone_ns = 0;
    (void)prctl(PR_SET_NAME, "weir-runner", 0, 0, 0);
    p.signals = runner_move_high(watch_children());
    if (p.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) _exit(1);
    for (;;) {
        struct pollfd fds[] = {{.fd = p.signals, .events = POLLIN},
                               {.fd = gone_ns ? -1 : p.control, .events = POLLIN}};
        uint64_t now_ns = clock_mono_ns(&clock_system);
        if (gone_ns && (p.n_wardens == 0 || now_ns - gone_ns > LAST_WAIT_MS * 1000000ULL)) break;
        if (poll(fds, 2, patience_ms(&p, gone_ns)) < 0 && errno != EINTR) _exit(1);
        if (fds[0].revents) bury(&p);
        if (fds[1].revents && !take_message(&p)) gone_ns = now_ns;
        if (p.has_orphans) p.has_orphans = family_kill(p.wardens, p.n_wardens) > 0;
        count_processes(&p, now_ns);
    }
    _exit(0);
}
