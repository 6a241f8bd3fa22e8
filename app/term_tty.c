/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers do no more than a byte into a pipe, but for those of a second signal that asks for the
 * end and of our own mistakes: these restore the terminal themselves and let the signal kill.
 */
#include "term_tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/slice.h"

enum { COLUMNS = 80, ROWS = 24, FEWEST_COLUMNS = 10, MOST_COLUMNS = 500, MOST_ROWS = 250 };

/* Hidden cursor, bracketed paste, widths by clusters; and back, with what frames may have left. */
static const char enter[] = "\033[?25l\033[?2004h\033[?2027h";
static const char leave[] = "\033[?2026l\033[?7h\033[0m\033[?2027l\033[?2004l\033[?25h";

static const int notes[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
/* Our mistakes, and what nobody is expected to send, but kills whoever does not care. */
static const int faults[] = {SIGABRT, SIGSEGV,   SIGBUS,  SIGFPE,  SIGILL,
                             SIGSYS,  SIGTRAP,   SIGALRM, SIGXCPU, SIGUSR1,
                             SIGUSR2, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR};

enum { N_NOTES = sizeof notes / sizeof *notes, N_FAULTS = sizeof faults / sizeof *faults };

static struct {
    int key_fd; /* -1: none */
    int pipe[2];
    struct termios saved;
    bool has_saved;
    atomic_bool is_taken; /* the terminal is in our modes */
    atomic_int ending;    /* the signal that asked for the end */
    atomic_bool is_stop, is_continued, is_resize;
    struct winsize size; /* as it was looked at last */
    struct sigaction old_notes[N_NOTES], old_faults[N_FAULTS], old_pipe;
    sigset_t old_mask;
} tty = {.key_fd = -1, .pipe = {-1, -1}};

static bool is_foreground(void)
{
    return tcgetpgrp(STDOUT_FILENO) == getpgrp();
}

bool tty_is_wanted(void)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    if (isatty(STDOUT_FILENO) != 1 || !term || term[0] == '\0') return false;
    if (strcmp(term, "dumb") == 0 || (no_color && no_color[0] != '\0')) return false;
    return is_foreground();
}

/* ---- modes ---- */

/* Safe in a handler. */
static void restore(void)
{
    if (!atomic_exchange(&tty.is_taken, false)) return;
    ssize_t n = write(STDOUT_FILENO, leave, sizeof leave - 1);
    (void)n;
    if (tty.has_saved) tcsetattr(tty.key_fd, TCSANOW, &tty.saved);
}

/* In the background the terminal is somebody else's; to come forward brings a SIGCONT. */
static void take(void)
{
    struct termios raw = tty.saved;
    if (!is_foreground()) return;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | ISIG | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | IGNCR);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    atomic_store(&tty.is_taken, true);
    if (tty.has_saved) tcsetattr(tty.key_fd, TCSANOW, &raw);
    ssize_t n = write(STDOUT_FILENO, enter, sizeof enter - 1);
    (void)n;
}

/* ---- signals ---- */

static void kill_by(int number)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigaction(number, &plain, NULL);
    sigemptyset(&only);
    sigaddset(&only, number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
}

static void on_note(int number)
{
    int error = errno;
    if (number == SIGTSTP) {
        atomic_store(&tty.is_stop, true);
    } else if (number == SIGCONT) {
        atomic_store(&tty.is_continued, true);
    } else if (number == SIGWINCH) {
        atomic_store(&tty.is_resize, true);
    } else if (atomic_exchange(&tty.ending, number) != 0) {
        restore();
        kill_by(number);
    }
    ssize_t n = write(tty.pipe[1], "!", 1);
    (void)n;
    errno = error;
}

static void on_fault(int number)
{
    restore();
    kill_by(number);
}

/* A server in this process has signals blocked in all threads; here they shall come through. */
static void watch_signals(void)
{
    sigset_t ours;
    struct sigaction note = {.sa_handler = on_note};
    struct sigaction fault = {.sa_handler = on_fault};
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    sigemptyset(&ours);
    for (size_t i = 0; i < N_NOTES; i++) {
        sigaddset(&ours, notes[i]);
        sigaction(notes[i], &note, &tty.old_notes[i]);
    }
    for (size_t i = 0; i < N_FAULTS; i++) sigaction(faults[i], &fault, &tty.old_faults[i]);
    sigaction(SIGPIPE, &ignored, &tty.old_pipe); /* what is written is looked after */
    pthread_sigmask(SIG_UNBLOCK, &ours, &tty.old_mask);
}

static void leave_signals(void)
{
    sigaction(SIGPIPE, &tty.old_pipe, NULL);
    for (size_t i = 0; i < N_FAULTS; i++) sigaction(faults[i], &tty.old_faults[i], NULL);
    for (size_t i = 0; i < N_NOTES; i++) sigaction(notes[i], &tty.old_notes[i], NULL);
    pthread_sigmask(SIG_SETMASK, &tty.old_mask, NULL);
}

struct tty_news tty_take_news(void)
{
    char bytes[64];
    while (read(tty.pipe[0], bytes, sizeof bytes) > 0) {
    }
    struct tty_news news = {.ending = atomic_load(&tty.ending)};
    news.is_stop = atomic_exchange(&tty.is_stop, false);
    news.is_resize = atomic_exchange(&tty.is_resize, false);
    /* Whoever had the terminal meanwhile left it in modes of their own. */
    if (atomic_exchange(&tty.is_continued, false)) {
        take();
        news.is_resize = true;
    }
    return news;
}

/* ---- life ---- */

bool tty_open(void)
{
    if (pipe2(tty.pipe, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    atomic_store(&tty.ending, 0);
    /* Standard input may be the stream that is watched. */
    tty.key_fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    tty.has_saved = tty.key_fd >= 0 && tcgetattr(tty.key_fd, &tty.saved) == 0;
    static bool is_registered;
    if (!is_registered) atexit(restore);
    is_registered = true;
    watch_signals();
    take();
    return true;
}

void tty_close(void)
{
    restore();
    leave_signals();
    if (tty.key_fd >= 0) close(tty.key_fd);
    close(tty.pipe[0]);
    close(tty.pipe[1]);
    tty.key_fd = tty.pipe[0] = tty.pipe[1] = -1;
}

void tty_stop(void)
{
    restore();
    /* Its handler takes note of SIGCONT, and tty_take_news() takes the terminal again. */
    kill(getpid(), SIGSTOP);
}

void tty_die(int signal_number)
{
    kill_by(signal_number);
    _exit(128 + signal_number);
}

/* ---- using it ---- */

void tty_size(unsigned *columns, unsigned *rows)
{
    struct winsize size;
    *columns = COLUMNS;
    *rows = ROWS;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return;
    tty.size = size;
    *columns = size.ws_col < FEWEST_COLUMNS ? FEWEST_COLUMNS : size.ws_col;
    if (*columns > MOST_COLUMNS) *columns = MOST_COLUMNS;
    *rows = size.ws_row == 0 ? ROWS : size.ws_row;
    if (*rows > MOST_ROWS) *rows = MOST_ROWS;
}

bool tty_has_new_size(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return false;
    return size.ws_col != tty.size.ws_col || size.ws_row != tty.size.ws_row;
}

bool tty_write(struct weir_slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes.ptr, bytes.len);
        if (n > 0) {
            bytes = slice_from(bytes, (size_t)n);
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            struct pollfd wait = {.fd = STDOUT_FILENO, .events = POLLOUT};
            if (poll(&wait, 1, -1) >= 0 || errno == EINTR) continue;
        }
        bool is_broken = n == 0 || errno != EINTR || atomic_load(&tty.ending) != 0;
        if (is_broken) return false;
    }
    return true;
}

bool tty_is_ours(void)
{
    return atomic_load(&tty.is_taken);
}

int tty_key_fd(void)
{
    return tty.has_saved && tty_is_ours() ? tty.key_fd : -1;
}

int tty_signal_fd(void)
{
    return tty.pipe[0];
}
