/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job's warden. It starts the job in its jail, gives it its input, hears what it says, and sees
 * to its end: when the job is over, when its time is, when it says too much, or when the server
 * closes its side of the socket, by wish or by dying.
 *
 * Where the kernel gives processes a world of their own, the end of that world's first process
 * (warden_start.c) is the end of all in it. Elsewhere the warden itself kills whatever descends
 * from it, until nothing is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/json.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/runner_impl.h"

enum {
    TAIL_BYTES = 4096,            /* of stderr */
    SAID_BYTES = 64 << 10,        /* of progress that waits; more is dropped */
    LINE_VALUES_BYTES = 64 << 10, /* of a line, as values */
    READ_BYTES = 16 << 10,
    LOOK_MS = 250,   /* between two looks at the folder */
    REAP_MS = 10,    /* between two looks for survivors */
    REST_MS = 2000,  /* for what was said by those who are dead */
    LAST_MS = 10000, /* for what the kernel does not end, and for a server that does not listen */
};

static const char too_much_room[] = "its files take more room than they may";

struct warden {
    const struct runner_options *options;
    const struct jail_offer *offer;
    int socket, signals;
    struct wish wish;
    struct started job;

    size_t n_given; /* of the input */
    struct weir_buf output, said;
    size_t n_said, line_at;
    unsigned n_lines;
    char tail[TAIL_BYTES];
    size_t tail_len;
    char trouble_text[RUNNER_WHY_BYTES];

    uint64_t deadline_ns, kill_ns, look_ns; /* 0: none */
    bool is_ending, has_ended;
    int exit_status; /* -1: nobody knows */
    enum weir_status verdict;
    char why[RUNNER_WHY_BYTES];
};

static uint64_t now_ns(void)
{
    return clock_mono_ns(&clock_system);
}

static uint64_t in_ms(uint64_t ms)
{
    return now_ns() + ms * 1000000;
}

/* ---- the wish ---- */

static bool read_all(int fd, void *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = read(fd, (char *)bytes + at, len - at);
        if (n == 0 || (n < 0 && errno != EINTR)) return false;
        if (n > 0) at += (size_t)n;
    }
    return true;
}

/* The server has seen to the limits. */
static bool read_wish(int socket, struct wish *w)
{
    if (!read_all(socket, &w->head, sizeof w->head)) return false;
    const struct job_head *h = &w->head;
    size_t len = (size_t)h->folder_len + h->args_len + h->input_len;
    if (h->n_args > RUNNER_ARGS) return false;
    w->bytes = mem_alloc(len);
    if (!w->bytes || !read_all(socket, w->bytes, len)) return false;
    w->folder = w->bytes;
    char *arg = w->bytes + h->folder_len;
    for (uint32_t i = 0; i < h->n_args; i++) {
        w->argv[i] = arg;
        arg += strlen(arg) + 1;
    }
    w->input = (struct weir_slice){w->bytes + h->folder_len + h->args_len, h->input_len};
    return true;
}

static bool watch_signals(struct warden *w)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, TOO_MANY_SIGNAL);
    w->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return w->signals >= 0;
}

/* ---- its end ---- */

static void kill_all(struct warden *w)
{
    if (w->offer->has_processes) kill(w->job.child, SIGKILL);
    else (void)family_kill(NULL, 0);
}

/* The first reason counts. */
static void end_job(struct warden *w, enum weir_status verdict, const char *why)
{
    if (w->is_ending) return;
    w->is_ending = true;
    w->verdict = verdict;
    snprintf(w->why, sizeof w->why, "%s", why);
    w->kill_ns = in_ms(RUNNER_TERM_MS);
    if (w->has_ended) return;
    if (w->offer->has_processes) kill(w->job.child, SIGTERM);
    else kill(-w->job.child, SIGTERM);
}

/* Who wants too much does not get time to want more. */
static void stop_job(struct warden *w, const char *why)
{
    end_job(w, WEIR_LIMIT, why);
    w->kill_ns = now_ns();
}

static void bury(struct warden *w)
{
    struct signalfd_siginfo info;
    pid_t child;
    int status;
    while (read(w->signals, &info, sizeof info) > 0)
        if (info.ssi_signo == TOO_MANY_SIGNAL) stop_job(w, "it has more processes than it may");
    while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
        if (child != w->job.child) continue;
        w->has_ended = true;
        w->exit_status = status;
        if (w->offer->has_processes &&
            read(w->job.outcome, &w->exit_status, sizeof w->exit_status) != sizeof w->exit_status)
            w->exit_status = -1;
    }
}

/* The job is over; what it left is not. */
static void bury_all(struct warden *w)
{
    uint64_t last_ns = in_ms(LAST_MS);
    struct pollfd fds = {.fd = w->signals, .events = POLLIN};
    while (now_ns() < last_ns) {
        bury(w);
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD) return;
        (void)family_kill(NULL, 0);
        (void)poll(&fds, 1, REAP_MS);
    }
}

/* ---- what it says ---- */

/* A server that listens slowly never has all: what it has had makes room all the same. */
static void forget_told(struct warden *w)
{
    if (w->n_said == 0) return;
    memmove(w->said.ptr, w->said.ptr + w->n_said, w->said.len - w->n_said);
    w->said.len -= w->n_said;
    w->n_said = 0;
}

/* All of it or nothing, for a head without its text would take the next message for it. */
static void put_message(struct warden *w, enum say_kind kind, enum weir_status st,
                        struct weir_slice text)
{
    struct say_head head = {kind, (uint32_t)st, (uint32_t)text.len};
    forget_told(w);
    size_t before = w->said.len;
    weir_buf_append(&w->said, &head, sizeof head);
    weir_buf_append_slice(&w->said, text);
    if (weir_buf_status(&w->said) == WEIR_OK) return;
    w->said.len = before;
    w->said.status = WEIR_OK;
}

static bool is_progress(struct weir_slice line)
{
    const struct weir_json *json = NULL;
    if (line.len == 0 || line.ptr[0] != '{' || line.len > RUNNER_LINE_BYTES) return false;
    struct weir_json_doc *doc = weir_json_doc_new(LINE_VALUES_BYTES);
    bool is_it = doc && weir_json_parse(doc, line, &json, NULL) == WEIR_OK &&
                 weir_json_type_of(weir_json_get_str(json, "progress")) == WEIR_JSON_STRING;
    weir_json_doc_free(doc);
    return is_it;
}

/* Lines of progress go out at once, and are no part of the result. */
static void take_lines(struct warden *w)
{
    struct weir_buf *o = &w->output;
    const char *end;
    while ((end = memchr(o->ptr + w->line_at, '\n', o->len - w->line_at)) != NULL) {
        struct weir_slice line = {o->ptr + w->line_at, (size_t)(end - o->ptr) - w->line_at};
        size_t next = w->line_at + line.len + 1;
        if (!is_progress(line)) {
            w->line_at = next;
            continue;
        }
        size_t waiting = w->said.len - w->n_said;
        if (w->n_lines < RUNNER_LINES && waiting + line.len + 64 < SAID_BYTES) {
            w->n_lines++;
            put_message(w, SAY_PROGRESS, WEIR_OK, line);
        }
        memmove(o->ptr + w->line_at, o->ptr + next, o->len - next);
        o->len -= next - w->line_at;
    }
}

/* False: nothing is there for now. */
static bool hear_output(struct warden *w)
{
    char bytes[READ_BYTES];
    ssize_t n = read(w->job.out, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {
        close(w->job.out);
        w->job.out = -1;
        return false;
    }
    if (w->verdict == WEIR_LIMIT) return true; /* it is on its way out */
    weir_buf_append(&w->output, bytes, (size_t)n);
    if (weir_buf_status(&w->output) == WEIR_OK && w->output.len > 0) take_lines(w);
    if (weir_buf_status(&w->output) != WEIR_OK || w->output.len > RUNNER_OUTPUT_BYTES)
        stop_job(w, "it said more than may be said");
    return true;
}

static bool hear_errors(struct warden *w)
{
    char bytes[TAIL_BYTES];
    ssize_t n = read(w->job.err, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {
        close(w->job.err);
        w->job.err = -1;
        return false;
    }
    size_t len = (size_t)n, kept = w->tail_len;
    if (kept + len > TAIL_BYTES) kept = TAIL_BYTES - len;
    memmove(w->tail, w->tail + (w->tail_len - kept), kept);
    memcpy(w->tail + kept, bytes, len);
    w->tail_len = kept + len;
    return true;
}

static void hear_trouble(struct warden *w)
{
    ssize_t n = read(w->job.trouble, w->trouble_text, sizeof w->trouble_text - 1);
    if (n > 0) w->trouble_text[n] = 0;
    close(w->job.trouble);
    w->job.trouble = -1;
}

/*
 * Whoever could say something is dead: what there is ends soon. Someone who was not to be killed
 * may say more without end, and is not waited for.
 */
static void hear_rest(struct warden *w)
{
    uint64_t last_ns = in_ms(REST_MS);
    while (w->job.out >= 0 && now_ns() < last_ns && hear_output(w)) continue;
    while (w->job.err >= 0 && now_ns() < last_ns && hear_errors(w)) continue;
    if (w->job.trouble >= 0) hear_trouble(w);
}

static void give_input(struct warden *w)
{
    struct weir_slice rest = slice_from(w->wish.input, w->n_given);
    ssize_t n = rest.len > 0 ? write(w->job.in, rest.ptr, rest.len) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) w->n_given += (size_t)n;
    if (n >= 0 && w->n_given < w->wish.input.len) return;
    close(w->job.in); /* it has all, or does not want more */
    w->job.in = -1;
}

static void tell(struct warden *w)
{
    struct weir_slice rest = slice_from(weir_buf_slice(&w->said), w->n_said);
    if (rest.len == 0) return;
    ssize_t n = send(w->socket, rest.ptr, rest.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) w->n_said += (size_t)n;
    if (w->n_said == w->said.len) {
        weir_buf_reset(&w->said);
        w->n_said = 0;
    }
}

/* ---- the watch ---- */

static void hear_server(struct warden *w)
{
    char byte;
    ssize_t n = recv(w->socket, &byte, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    end_job(w, WEIR_CANCELLED, "it was cancelled");
}

/* Those of our own know how much they may write. */
static bool has_room(const struct warden *w)
{
    return w->wish.head.function >= 0 || room_is_enough(w->job.folder, &w->job.before);
}

static void look_at_time(struct warden *w)
{
    uint64_t now = now_ns();
    if (now >= w->deadline_ns) end_job(w, WEIR_TIMEOUT, "it took too long");
    if (w->kill_ns && now >= w->kill_ns) {
        kill_all(w);
        w->kill_ns = in_ms(REAP_MS); /* whoever was born meanwhile */
    }
    if (now >= w->look_ns) {
        if (!has_room(w)) stop_job(w, too_much_room);
        w->look_ns = in_ms(LOOK_MS);
    }
}

static int patience_ms(const struct warden *w)
{
    uint64_t now = now_ns();
    uint64_t next = w->deadline_ns < w->look_ns ? w->deadline_ns : w->look_ns;
    if (w->is_ending) next = w->look_ns;
    if (w->kill_ns && w->kill_ns < next) next = w->kill_ns;
    return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

static void watch(struct warden *w)
{
    enum { SOCKET, SIGNALS, OUT, ERR, TROUBLE, IN, N_FDS };
    while (!w->has_ended) {
        struct pollfd fds[N_FDS] = {
            {.fd = w->socket, .events = w->is_ending ? 0 : POLLIN},
            {.fd = w->signals, .events = POLLIN},
            {.fd = w->job.out, .events = POLLIN},
            {.fd = w->job.err, .events = POLLIN},
            {.fd = w->job.trouble, .events = POLLIN},
            {.fd = w->job.in, .events = POLLOUT},
        };
        if (w->said.len > 0) fds[SOCKET].events |= POLLOUT;
        if (w->is_ending && w->said.len == 0) fds[SOCKET].fd = -1; /* it may be closed for good */
        if (poll(fds, N_FDS, patience_ms(w)) < 0 && errno != EINTR) break;
        if (fds[SOCKET].revents & POLLOUT) tell(w);
        if (fds[SOCKET].revents & ~POLLOUT) hear_server(w);
        if (fds[OUT].revents) (void)hear_output(w);
        if (fds[ERR].revents) (void)hear_errors(w);
        if (fds[TROUBLE].revents) hear_trouble(w);
        if (fds[IN].revents) give_input(w);
        if (fds[SIGNALS].revents) bury(w);
        look_at_time(w);
    }
}

/* ---- what became of it ---- */

/* The last line of stderr that says something. */
static struct weir_slice last_words(const struct warden *w)
{
    size_t end = w->tail_len;
    while (end > 0 && memchr(" \t\r\n", w->tail[end - 1], 4)) end--;
    size_t begin = end;
    while (begin > 0 && w->tail[begin - 1] != '\n') begin--;
    if (end - begin > RUNNER_WHY_BYTES - 1) end = begin + RUNNER_WHY_BYTES - 1;
    return (struct weir_slice){w->tail + begin, end - begin};
}

static void judge(struct warden *w)
{
    int status = w->exit_status;
    struct weir_slice words = last_words(w);
    if (w->is_ending) return;
    w->verdict = WEIR_UNPROCESSABLE;
    if (w->trouble_text[0] || status == -1) {
        w->verdict = WEIR_IO;
        snprintf(w->why, sizeof w->why, "%s",
                 w->trouble_text[0] ? w->trouble_text : "its process could not be made");
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
        w->verdict = WEIR_LIMIT;
        snprintf(w->why, sizeof w->why, "it used more than %u s of the processor",
                 w->wish.head.cpu_s);
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) {
        w->verdict = WEIR_LIMIT;
        snprintf(w->why, sizeof w->why, "a file would be larger than may be");
    } else if (WIFSIGNALED(status)) {
        snprintf(w->why, sizeof w->why, "it was ended by signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) == 0) {
        w->verdict = WEIR_OK;
    } else if (words.len > 0) {
        snprintf(w->why, sizeof w->why, "%.*s", (int)words.len, words.ptr);
    } else {
        snprintf(w->why, sizeof w->why, "it ended with exit status %d", WEXITSTATUS(status));
    }
}

static void tell_end(struct warden *w)
{
    uint64_t last_ns = in_ms(LAST_MS);
    struct pollfd fds = {.fd = w->socket, .events = POLLOUT};
    struct weir_slice text =
        w->verdict == WEIR_OK ? weir_buf_slice(&w->output) : weir_slice_of(w->why);
    put_message(w, SAY_END, w->verdict, text);
    while (w->said.len > 0 && now_ns() < last_ns) {
        if (poll(&fds, 1, RUNNER_TERM_MS) < 0 && errno != EINTR) return;
        if (fds.revents & (POLLERR | POLLHUP)) return; /* the server is gone */
        if (fds.revents & POLLOUT) tell(w);
    }
}

_Noreturn void warden_run(int socket, const struct runner_options *o,
                          const struct jail_offer *offer)
{
    struct warden w = {
        .options = o, .offer = offer, .socket = socket, .signals = -1, .exit_status = -1};
    (void)prctl(PR_SET_NAME, "weir-warden", 0, 0, 0);
    weir_buf_init(&w.output, RUNNER_OUTPUT_BYTES + READ_BYTES);
    weir_buf_init(&w.said, SAID_BYTES + RUNNER_OUTPUT_BYTES + 1024);
    if (!read_wish(socket, &w.wish)) _exit(0);
    const char *what = watch_signals(&w) ? warden_start(&w.job, &w.wish, o, offer) : "no signals";
    if (what) {
        w.is_ending = true;
        w.verdict = WEIR_IO;
        snprintf(w.why, sizeof w.why, "%s: %s", what, strerror(errno));
    } else {
        w.deadline_ns = in_ms(w.wish.head.wall_ms);
        w.look_ns = in_ms(LOOK_MS);
        watch(&w);
        bury_all(&w);
        hear_rest(&w);
        judge(&w);
        if (w.verdict == WEIR_OK && !has_room(&w)) {
            w.verdict = WEIR_LIMIT;
            snprintf(w.why, sizeof w.why, "%s", too_much_room);
        }
    }
    tell_end(&w);
    _exit(0);
}
