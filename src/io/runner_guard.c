/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: a process that does nothing but start the runner, and another one when that has ended,
 * on the same socket. What the runner was given and had not taken yet is taken by the next one.
 * Jobs that ran end with their runner: nothing of it is left when the next one begins.
 *
 * It ends when the server is gone and the runner, which sees that for itself, is too. When the
 * guard is killed, the runner goes on, and is the last one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/runner_impl.h"

enum {
    MOST_HIGH = 8192,
    FIRST_OWN = 3,
    REAP_MS = 10,             /* between two looks for survivors */
    LAST_MS = 10000,          /* for what the kernel does not end */
    LONG_LIFE_MS = 60 * 1000, /* of a runner; the next one begins at once */
    FIRST_PAUSE_MS = 50,      /* else: this long, and twice as long each time, */
    MOST_DOUBLINGS = 7,       /* up to 6.4 s */
};

struct guard {
    const struct runner_options *options;
    struct jail_offer offer;
    int control;
};

int runner_move_high(int fd)
{
    struct rlimit limit;
    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    int lowest = limit.rlim_cur / 2 < MOST_HIGH ? (int)(limit.rlim_cur / 2) : MOST_HIGH;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    close(fd);
    return high;
}

/* Nothing of the server's stays open but where it says what goes wrong. */
static bool keep_only(struct guard *g, int control)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool is_done = null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0;
    g->control = runner_move_high(control);
    if (!is_done || g->control < 0) return false;
    return syscall(SYS_close_range, FIRST_OWN, g->control - 1, 0) == 0 &&
           syscall(SYS_close_range, g->control + 1, ~0U, 0) == 0;
}

/* What is sent to all of a terminal, or of a service, is for the server: it ends this process. */
static bool keep_signals_out(void)
{
    static const int signals[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t kept;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&kept);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(&kept, signals[i]);
    return sigaction(SIGPIPE, &ignore, NULL) == 0 && sigprocmask(SIG_SETMASK, &kept, NULL) == 0;
}

static bool begin(struct guard *g, int control)
{
    (void)prctl(PR_SET_NAME, "weir-guard", 0, 0, 0);
    if (!keep_only(g, control) || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return false;
    jail_probe(&g->offer, g->options->is_plain);
    return keep_signals_out() &&
           send(g->control, &g->offer, sizeof g->offer, MSG_NOSIGNAL) == sizeof g->offer;
}

/* How it ended, as wait(2) tells it; -1: there was none. */
static int run_runner(const struct guard *g)
{
    int status = -1;
    pid_t child = _Fork();
    if (child == 0) runner_process(g->control, g->options, &g->offer);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

/* Whoever descends from the runner is a child of ours now. */
static void end_family(void)
{
    uint64_t begin_ns = clock_mono_ns(&clock_system);
    while (clock_mono_ns(&clock_system) - begin_ns < LAST_MS * 1000000ULL) {
        pid_t child;
        do {
            child = waitpid(-1, NULL, WNOHANG);
        } while (child > 0 || (child < 0 && errno == EINTR));
        if (child < 0) return;
        (void)family_kill(NULL, 0);
        (void)poll(NULL, 0, REAP_MS);
    }
}

/* Whether the server is gone, or goes within this time. */
static bool is_server_gone(const struct guard *g, int wait_ms)
{
    struct pollfd fd = {.fd = g->control, .events = POLLRDHUP};
    return poll(&fd, 1, wait_ms) > 0;
}

/* The server writes it down. One that does not listen misses it. */
static void tell(const struct guard *g, int status)
{
    const struct runner_news news = {.status = status};
    (void)!send(g->control, &news, sizeof news, MSG_NOSIGNAL | MSG_DONTWAIT);
}

_Noreturn void guard_process(int control, const struct runner_options *o)
{
    struct guard g = {.options = o};
    int pause_ms = 0, n_quick = 0;
    if (!begin(&g, control)) _exit(1);
    do {
        uint64_t begin_ns = clock_mono_ns(&clock_system);
        int status = run_runner(&g);
        end_family();
        if (is_server_gone(&g, 0)) break;
        tell(&g, status);
        bool is_quick = clock_mono_ns(&clock_system) - begin_ns < LONG_LIFE_MS * 1000000ULL;
        pause_ms = is_quick ? FIRST_PAUSE_MS << n_quick : 0;
        n_quick = !is_quick ? 0 : n_quick < MOST_DOUBLINGS ? n_quick + 1 : n_quick;
    } while (!is_server_gone(&g, pause_ms));
    _exit(0);
}
