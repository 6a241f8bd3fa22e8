/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job begins: its folder, its pipes, its world, its jail. Where the kernel gives processes a
 * world of their own, the first process of that world starts the job and waits for it; with its end
 * the kernel ends all others there, however they hide.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/slice.h"
#include "io/runner_impl.h"

/* In a job, and in the first process of its world, behind the three that everybody has. */
enum { TROUBLE = 3, OUTCOME = 3, STACK_BYTES = 64 << 10, PAGE_BYTES = 4096 };

struct starting {
    const struct runner_options *options;
    const struct jail_offer *offer;
    const struct wish *wish;
    int folder;
};

/* ---- the job ---- */

struct pipes {
    int in[2], out[2], err[2], trouble[2], outcome[2];
};

static void say_all(int fd, struct weir_slice text)
{
    for (size_t at = 0; at < text.len;) {
        ssize_t n = write(fd, text.ptr + at, text.len - at);
        if (n < 0 && errno != EINTR) return;
        if (n > 0) at += (size_t)n;
    }
}

static _Noreturn void give_up(const char *what)
{
    char text[RUNNER_WHY_BYTES];
    int n = snprintf(text, sizeof text, "%.300s: %s", what, strerror(errno));
    say_all(TROUBLE, slice_of(text, n < 0 ? 0 : (size_t)n));
    _exit(1);
}

/* As a program expects it. */
static void reset_signals(void)
{
    sigset_t none;
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int i = 1; i <= SIGRTMAX; i++) (void)sigaction(i, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run_function(const struct starting *s)
{
    struct weir_buf out;
    char why[RUNNER_WHY_BYTES] = "";
    const struct runner_function *f = &s->options->functions[s->wish->head.function];
    close(TROUBLE);
    weir_buf_init(&out, RUNNER_OUTPUT_BYTES);
    enum weir_status st = f->run(s->wish->input, &out, why);
    if (st == WEIR_OK) st = weir_buf_status(&out);
    if (st == WEIR_OK) say_all(STDOUT_FILENO, weir_buf_slice(&out));
    else say_all(STDERR_FILENO, weir_slice_of(why[0] ? why : weir_status_text(st)));
    _exit(st == WEIR_OK ? 0 : 1);
}

/* What is said of a failure needs a stack that need not grow. */
__attribute__((noinline)) static void reach_down(void)
{
    volatile char room[STACK_BYTES];
    for (size_t i = 0; i < sizeof room; i += PAGE_BYTES) room[i] = 0;
}

static _Noreturn void run_program(const struct starting *s)
{
    char home[PATH_MAX + 8], temporary[PATH_MAX + 8];
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", lang[] = "LANG=C.UTF-8";
    snprintf(home, sizeof home, "HOME=%s", s->wish->folder);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", s->wish->folder);
    char *environment[] = {path, home, temporary, lang, NULL};
    reach_down();
    if (!jail_limit_memory(s->wish, true)) give_up("its memory cannot be limited");
    execve(s->wish->argv[0], s->wish->argv, environment);
    char what[RUNNER_WHY_BYTES];
    snprintf(what, sizeof what, "%.300s cannot be run", s->wish->argv[0]);
    give_up(what);
}

static _Noreturn void run_job(const struct starting *s, const struct pipes *p)
{
    bool is_program = s->wish->head.function < 0;
    if (fchdir(s->folder) != 0) _exit(1);
    if (dup2(p->in[0], STDIN_FILENO) < 0 || dup2(p->out[1], STDOUT_FILENO) < 0 ||
        dup2(p->err[1], STDERR_FILENO) < 0)
        _exit(1);
    if (dup3(p->trouble[1], TROUBLE, O_CLOEXEC) < 0 && errno != EINVAL) _exit(1);
    if (syscall(SYS_close_range, TROUBLE + 1, ~0U, 0) != 0) _exit(1);
    reset_signals();
    if (setsid() < 0) give_up("no session of its own");
    if (!is_program && !jail_limit_memory(s->wish, false)) give_up("its memory cannot be limited");
    const char *what = jail_enter(s->offer, s->wish, is_program);
    if (what) give_up(what);
    if (is_program) run_program(s);
    run_function(s);
}

/* ---- the first process of a world ---- */

static pid_t init_job;

static void pass_term(int signal)
{
    if (init_job > 0) kill(-init_job, signal);
}

/* When it ends, the kernel ends all that is left of its world. */
static _Noreturn void run_init(const struct starting *s, struct pipes *p)
{
    struct sigaction pass = {.sa_handler = pass_term};
    struct pollfd warden = {.fd = p->outcome[1]};
    sigset_t term;
    int status = 0;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) _exit(1);
    if (poll(&warden, 1, 0) > 0 && warden.revents & POLLERR) _exit(1); /* it is gone already */
    if (sigaction(SIGTERM, &pass, NULL) != 0) _exit(1);
    init_job = _Fork();
    if (init_job == 0) run_job(s, p);
    if (init_job < 0) _exit(1);
    /* The job's pipes would never end with these open. */
    if (dup3(p->outcome[1], OUTCOME, O_CLOEXEC) < 0 && errno != EINVAL) _exit(1);
    if (syscall(SYS_close_range, OUTCOME + 1, ~0U, 0) != 0) _exit(1);
    sigprocmask(SIG_UNBLOCK, &term, NULL);
    for (;;) {
        pid_t child = waitpid(-1, &status, 0);
        if (child == init_job) break;
        if (child < 0 && errno != EINTR) _exit(1);
    }
    say_all(OUTCOME, slice_of(&status, sizeof status));
    _exit(0);
}

/* ---- the start ---- */

static bool make_pipes(struct pipes *p)
{
    return pipe2(p->in, O_CLOEXEC) == 0 && pipe2(p->out, O_CLOEXEC) == 0 &&
           pipe2(p->err, O_CLOEXEC) == 0 && pipe2(p->trouble, O_CLOEXEC) == 0 &&
           pipe2(p->outcome, O_CLOEXEC) == 0;
}

static int keep_end(int pipe[2], unsigned which)
{
    close(pipe[!which]);
    (void)fcntl(pipe[which], F_SETFL, O_NONBLOCK);
    return pipe[which];
}

static bool open_folder(struct starting *s)
{
    struct stat info;
    const char *path = s->wish->folder;
    if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST) return false;
    /* A job may have locked itself out. */
    if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && (info.st_mode & ALLPERMS) != S_IRWXU &&
        chmod(path, S_IRWXU) != 0)
        return false;
    s->folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return s->folder >= 0;
}

const char *warden_start(struct started *out, const struct wish *w, const struct runner_options *o,
                         const struct jail_offer *offer)
{
    struct pipes p;
    struct room before;
    struct starting s = {.options = o, .offer = offer, .wish = w, .folder = -1};
    *out = (struct started){.in = -1, .out = -1, .err = -1, .trouble = -1, .outcome = -1};
    if (!open_folder(&s)) return "its folder cannot be opened";
    if (!make_pipes(&p)) return "no pipes";
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return "no care for its children";
    if (!jail_unshare(offer, w->folder, &s.folder)) return "no network and files of its own";
    if (!room_look(s.folder, &before) && w->head.function < 0) {
        errno = ENOSPC;
        return "its folder is full";
    }
    pid_t child = _Fork();
    if (child == 0) {
        if (offer->has_processes) run_init(&s, &p);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) _exit(1);
        run_job(&s, &p);
    }
    if (child < 0) return "no process";
    *out = (struct started){.child = child,
                            .in = keep_end(p.in, 1),
                            .out = keep_end(p.out, 0),
                            .err = keep_end(p.err, 0),
                            .trouble = keep_end(p.trouble, 0),
                            .outcome = keep_end(p.outcome, 0),
                            .folder = s.folder,
                            .before = before};
    return NULL;
}
