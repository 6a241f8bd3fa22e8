/* SPDX-License-Identifier: Apache-2.0 */
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/slice.h"
#include "io/sock.h"
#include "t.h"
#include "unit/io/child.h"

/* ---- rights ---- */

static void become_nobody(void)
{
    struct process_error error;
    struct passwd *nobody = getpwnam("nobody");
    NEED(nobody);
    NEED(process_become_user("nobody", &error) == WEIR_OK);
    NEED(getuid() == nobody->pw_uid && geteuid() == nobody->pw_uid);
    NEED(getgid() == nobody->pw_gid && getegid() == nobody->pw_gid);
    NEED(setuid(0) != 0 && seteuid(0) != 0);
    gid_t groups[64];
    int n = getgroups(64, groups);
    for (int i = 0; i < n; i++) NEED(groups[i] != 0);
    /* Once more changes nothing, and there is no way to another. */
    NEED(process_become_user("nobody", &error) == WEIR_OK);
    NEED(process_become_user("root", &error) == WEIR_FORBIDDEN);
    NEED(strstr(error.text, "user root"));
}

TEST(becoming_another_user_has_no_way_back)
{
    if (geteuid() != 0) {
        t_skip("only root can become somebody else");
        return;
    }
    T_OK(child_passes(become_nobody));
}

TEST(unknown_user_is_told)
{
    struct process_error error;
    T_EQ(process_become_user("no-such-user-here", &error), WEIR_NOT_FOUND);
    T_OK(strstr(error.text, "user no-such-user-here: there is no such user"));
}

static void raise_from_ten(void)
{
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 10;
    NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    NEED(process_raise_descriptors() == limit.rlim_max);
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == limit.rlim_max);
}

TEST(descriptors_are_raised_to_what_is_allowed)
{
    T_OK(child_passes(raise_from_ten));
}

/* ---- signals ---- */

static void get_signals(void)
{
    int fd;
    NEED(process_watch_signals(&fd) == WEIR_OK);
    NEED(process_next_signal(fd) == 0);
    raise(SIGPIPE);
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGTERM);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    NEED(poll(&ready, 1, 0) == 1);
    int first = process_next_signal(fd);
    int second = process_next_signal(fd);
    NEED(first == SIGHUP || first == SIGTERM);
    NEED(first + second == SIGHUP + SIGTERM);
    NEED(process_next_signal(fd) == 0);
    close(fd);
    NEED(process_next_signal(fd) == 0);
}

TEST(signals_come_through_a_descriptor)
{
    T_OK(child_passes(get_signals));
}

/* ---- what systemd gives ---- */

static void set_number(const char *name, long value)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", value);
    setenv(name, text, 1);
}

static void take_two_listeners(void)
{
    int first = -1;
    unsigned n = 9;
    struct addr bound;
    for (int i = 3; i < 5; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        NEED(listen(fd, 5) == 0);
        if (fd != i) NEED(dup2(fd, i) == i);
    }
    set_number("LISTEN_PID", getpid());
    set_number("LISTEN_FDS", 2);
    NEED(process_take_listeners(&first, &n) == WEIR_OK);
    NEED(first == 3 && n == 2);
    NEED(!getenv("LISTEN_PID") && !getenv("LISTEN_FDS"));
    for (int i = 3; i < 5; i++) {
        NEED(fcntl(i, F_GETFD) & FD_CLOEXEC);
        NEED(sock_adopt(i, &bound) == WEIR_OK);
    }
    NEED(process_take_listeners(&first, &n) == WEIR_OK && n == 0);
}

TEST(listeners_are_taken_once)
{
    T_OK(child_passes(take_two_listeners));
}

static void take_none(void)
{
    int first;
    unsigned n = 9;
    unsetenv("LISTEN_PID");
    NEED(process_take_listeners(&first, &n) == WEIR_OK && n == 0);
    set_number("LISTEN_FDS", 1);
    set_number("LISTEN_PID", getpid() + 1);
    NEED(process_take_listeners(&first, &n) == WEIR_OK && n == 0);
    static const char *const bad[] = {"", "x", "1x", "-1", "65", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_number("LISTEN_PID", getpid());
        setenv("LISTEN_FDS", bad[i], 1);
        NEED(process_take_listeners(&first, &n) == WEIR_INVALID && n == 0);
    }
    closefrom(3);
    set_number("LISTEN_PID", getpid());
    setenv("LISTEN_FDS", "1", 1);
    NEED(process_take_listeners(&first, &n) == WEIR_INVALID && n == 0);
}

TEST(listeners_of_another_process_or_bad_ones_are_not_taken)
{
    T_OK(child_passes(take_none));
}

/* ---- what systemd hears ---- */

static int hear_at(const char *path, size_t len)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(un.sun_path, path, len);
    T_EQ(
        bind(fd, (struct sockaddr *)&un, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
        0);
    return fd;
}

static struct weir_slice heard(int fd)
{
    static char bytes[256];
    ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    return slice_of(bytes, n > 0 ? (size_t)n : 0);
}

TEST(states_are_told_to_the_manager)
{
    struct fake_clock clock;
    char path[100];
    fake_clock_init(&clock, 0);
    fake_clock_advance(&clock, 5000000);
    snprintf(path, sizeof path, "%s/notify", t_temp_dir());
    int fd = hear_at(path, strlen(path));
    setenv("NOTIFY_SOCKET", path, 1);
    process_notify(PROCESS_READY, &clock.clock);
    T_EQ_STR(heard(fd), "READY=1");
    process_notify(PROCESS_RELOADING, &clock.clock);
    T_EQ_STR(heard(fd), "RELOADING=1\nMONOTONIC_USEC=5000");
    process_notify(PROCESS_ALIVE, &clock.clock);
    T_EQ_STR(heard(fd), "WATCHDOG=1");
    process_notify(PROCESS_STOPPING, &clock.clock);
    T_EQ_STR(heard(fd), "STOPPING=1");
    close(fd);
    process_notify(PROCESS_READY, &clock.clock);
    unsetenv("NOTIFY_SOCKET");
    process_notify(PROCESS_READY, &clock.clock);
}

TEST(states_are_told_by_a_name_without_a_file)
{
    char name[64];
    snprintf(name, sizeof name, "@weir-test-%ld", (long)getpid());
    size_t len = strlen(name);
    name[0] = 0;
    int fd = hear_at(name, len);
    name[0] = '@';
    setenv("NOTIFY_SOCKET", name, 1);
    process_notify(PROCESS_READY, &clock_system);
    T_EQ_STR(heard(fd), "READY=1");
    close(fd);
    setenv("NOTIFY_SOCKET", "relative", 1);
    process_notify(PROCESS_READY, &clock_system);
    unsetenv("NOTIFY_SOCKET");
}

TEST(watchdog_is_half_of_what_the_manager_waits)
{
    static const struct {
        const char *us;
        uint64_t want;
    } cases[] = {{"30000000", 15000}, {"1", 1}, {"0", 0}, {"x", 0}, {"", 0}, {"-5", 0}};
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    T_EQ(process_watchdog_ms(), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("WATCHDOG_USEC", cases[i].us, 1);
        T_EQ(process_watchdog_ms(), cases[i].want);
    }
    setenv("WATCHDOG_USEC", "2000000", 1);
    set_number("WATCHDOG_PID", getpid());
    T_EQ(process_watchdog_ms(), 1000);
    set_number("WATCHDOG_PID", getpid() + 1);
    T_EQ(process_watchdog_ms(), 0);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}
