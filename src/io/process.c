/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User, signals, service manager. systemd's protocol is a few variables and a datagram, so
 * its library is not needed. See confine.c for what the kernel shall no longer allow.
 */
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    USER_BYTES = 16384, /* for what getpwnam_r() finds */
    FIRST_LISTENER = 3, /* SD_LISTEN_FDS_START */
    NOTICE_BYTES = 64,
};

/* ---- rights ---- */

static enum weir_status fail(struct process_error *error, enum weir_status st, const char *what,
                             const char *name)
{
    snprintf(error->text, sizeof error->text, "user %.60s: %s (%s)", name, what, strerror(errno));
    return st;
}

static bool is_user(uid_t uid, gid_t gid)
{
    uid_t real, effective, saved;
    gid_t real_group, effective_group, saved_group;
    return getresuid(&real, &effective, &saved) == 0 &&
           getresgid(&real_group, &effective_group, &saved_group) == 0 && real == uid &&
           effective == uid && saved == uid && real_group == gid && effective_group == gid &&
           saved_group == gid;
}

static enum weir_status become(const struct passwd *user, struct process_error *error)
{
    const char *name = user->pw_name;
    /* Groups first: without root's rights they cannot be changed any more. */
    if (initgroups(name, user->pw_gid) != 0)
        return fail(error, WEIR_FORBIDDEN, "its groups cannot be taken on", name);
    if (setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0)
        return fail(error, WEIR_FORBIDDEN, "its group cannot be taken on", name);
    if (setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0)
        return fail(error, WEIR_FORBIDDEN, "it cannot be taken on", name);
    if (!is_user(user->pw_uid, user->pw_gid) || (user->pw_uid != 0 && setuid(0) == 0))
        return fail(error, WEIR_INTERNAL, "it was taken on, but not for good", name);
    return WEIR_OK;
}

enum weir_status process_become_user(const char *name, struct process_error *error)
{
    char bytes[USER_BYTES];
    struct passwd user;
    struct passwd *found = NULL;
    error->text[0] = 0;
    errno = getpwnam_r(name, &user, bytes, sizeof bytes, &found);
    if (!found) {
        if (errno == 0) errno = ENOENT;
        return fail(error, WEIR_NOT_FOUND, "there is no such user", name);
    }
    if (user.pw_uid != 0 && is_user(user.pw_uid, user.pw_gid)) return WEIR_OK;
    return become(&user, error);
}

uint64_t process_raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return raised.rlim_cur;
    return limit.rlim_cur;
}

/* ---- signals ---- */

enum weir_status process_watch_signals(int *fd)
{
    sigset_t watched;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&watched);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGHUP);
    sigaddset(&watched, SIGUSR1);
    *fd = -1;
    if (sigaction(SIGPIPE, &ignore, NULL) != 0) return WEIR_IO;
    if (pthread_sigmask(SIG_BLOCK, &watched, NULL) != 0) return WEIR_IO;
    *fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    return *fd >= 0 ? WEIR_OK : WEIR_IO;
}

int process_next_signal(int fd)
{
    struct signalfd_siginfo info;
    ssize_t n;
    do {
        n = read(fd, &info, sizeof info);
    } while (n < 0 && errno == EINTR);
    return n == sizeof info ? (int)info.ssi_signo : 0;
}

/* ---- the service manager ---- */

/* A number as systemd writes it; false when it is absent or something else. */
static bool number_of(const char *variable, uint64_t *value)
{
    const char *text = getenv(variable);
    if (!text || *text < '0' || *text > '9') return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *end != 0) return false;
    *value = number;
    return true;
}

/* The variables are for the process that they name, not for its children. */
static bool is_for_us(const char *variable)
{
    uint64_t pid;
    return number_of(variable, &pid) && pid == (uint64_t)getpid();
}

enum weir_status process_take_listeners(int *first, unsigned *n)
{
    uint64_t count = 0;
    *first = FIRST_LISTENER;
    *n = 0;
    if (!is_for_us("LISTEN_PID")) return WEIR_OK;
    bool is_good = number_of("LISTEN_FDS", &count) && count <= PROCESS_MAX_LISTENERS;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!is_good) return WEIR_INVALID;
    for (unsigned i = 0; i < count; i++)
        if (fcntl(FIRST_LISTENER + (int)i, F_SETFD, FD_CLOEXEC) != 0) return WEIR_INVALID;
    *n = (unsigned)count;
    return WEIR_OK;
}

static void send_notice(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;
    if (len < 2 || len >= sizeof un.sun_path || (path[0] != '/' && path[0] != '@')) return;
    memcpy(un.sun_path, path, len);
    if (path[0] == '@') un.sun_path[0] = 0; /* a name without a file */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    /* Whoever does not listen any more need not be told. */
    (void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&un,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}

void process_notify(enum process_state state, const struct clock *clock)
{
    char text[NOTICE_BYTES];
    switch (state) {
    case PROCESS_READY: send_notice("READY=1"); break;
    case PROCESS_STOPPING: send_notice("STOPPING=1"); break;
    case PROCESS_ALIVE: send_notice("WATCHDOG=1"); break;
    case PROCESS_RELOADING:
        snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
                 clock_mono_ns(clock) / 1000);
        send_notice(text);
        break;
    }
}

uint64_t process_watchdog_ms(void)
{
    uint64_t us = 0;
    if (getenv("WATCHDOG_PID") && !is_for_us("WATCHDOG_PID")) return 0;
    if (!number_of("WATCHDOG_USEC", &us)) return 0;
    uint64_t half_ms = us / 2000;
    return us > 0 && half_ms == 0 ? 1 : half_ms;
}
