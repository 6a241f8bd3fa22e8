/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of the runner. Each job has a socket of its own, whose other end the runner
 * gives to the job's warden: the wish goes there, and what the job says comes from there. Closing
 * our side for writing is the wish that it ends.
 *
 * One thread does all of that. What others want of it they leave in the jobs, under the lock, and
 * wake it.
 */
#include "io/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/runner_impl.h"

enum {
    RUNNER_MAGIC = 0x72756e72,
    HEARD_BYTES = RUNNER_OUTPUT_BYTES + RUNNER_LINE_BYTES + 1024,
    READ_BYTES = 64 << 10,
};

/* In a round, before those of jobs. */
enum { WAKE_FD, CONTROL_FD, GUARD_FD, OTHER_FDS };

struct job {
    struct list_node node;
    uint64_t ticket;
    int fd;              /* -1: not begun */
    struct weir_buf ask; /* head, folder, arguments, input */
    size_t n_asked;
    struct weir_buf heard;
    void (*progress)(void *user, struct weir_slice line);
    void (*done)(void *user, enum weir_status st, struct weir_slice output);
    void *user;
    bool is_unwanted;    /* under the lock */
    bool is_told_so;     /* our side is closed for writing */
    struct pollfd *poll; /* in this round; NULL: it came later */
};

struct runner {
    unsigned magic;
    const struct runner_function *functions;
    struct jail_offer offer;
    const struct trace *trace;
    pid_t guard;
    int guard_end; /* readable when the guard has ended; -1: it is buried */
    int control, wake;
    pthread_t thread;
    bool has_thread;
    struct pollfd
        fds[OTHER_FDS + RUNNER_JOBS]; /* the thread's, as `jobs` but for adding and looking */

    pthread_mutex_t lock; /* for all below */
    struct list jobs;
    unsigned n_jobs;
    uint64_t last_ticket, n_restarts;
    bool is_closing, is_gone;
};

/* ---- the start ---- */

static enum weir_status fork_guard(struct runner *r, const struct runner_options *o)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return WEIR_IO;
    r->guard = _Fork();
    if (r->guard == 0) {
        close(ends[0]);
        guard_process(ends[1], o);
    }
    close(ends[1]);
    r->control = ends[0];
    if (r->guard < 0) return WEIR_IO;
    r->guard_end = (int)syscall(SYS_pidfd_open, r->guard, 0);
    if (r->guard_end < 0) return WEIR_IO;
    ssize_t n;
    do {
        n = recv(r->control, &r->offer, sizeof r->offer, 0);
    } while (n < 0 && errno == EINTR);
    return n == sizeof r->offer ? WEIR_OK : WEIR_IO;
}

enum weir_status runner_start(struct runner **out, const struct runner_options *o)
{
    *out = NULL;
    struct runner *r = mem_zalloc(sizeof *r);
    if (!r) return WEIR_NOMEM;
    *r = (struct runner){.magic = RUNNER_MAGIC,
                         .functions = o->functions,
                         .trace = o->trace,
                         .control = -1,
                         .guard = -1,
                         .guard_end = -1};
    pthread_mutex_init(&r->lock, NULL);
    list_init(&r->jobs);
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum weir_status st = r->wake >= 0 ? fork_guard(r, o) : WEIR_IO;
    if (st == WEIR_OK) *out = r;
    else runner_close(r);
    return st;
}

void runner_report(const struct runner *r, char out[RUNNER_REPORT_BYTES])
{
    jail_put(&r->offer, out);
}

uint64_t runner_restarts(struct runner *r)
{
    CHECK(r->magic == RUNNER_MAGIC);
    pthread_mutex_lock(&r->lock);
    uint64_t n = r->n_restarts;
    pthread_mutex_unlock(&r->lock);
    return n;
}

static void wake(struct runner *r)
{
    uint64_t one = 1;
    (void)!write(r->wake, &one, sizeof one);
}

/* ---- jobs ---- */

static void job_free(struct job *j)
{
    if (j->fd >= 0) close(j->fd);
    weir_buf_fini(&j->ask);
    weir_buf_fini(&j->heard);
    mem_free(j);
}

static int find_function(const struct runner *r, const char *name)
{
    for (int i = 0; r->functions && r->functions[i].name; i++)
        if (strcmp(r->functions[i].name, name) == 0) return i;
    return -1;
}

/* WEIR_INVALID, WEIR_LIMIT: nothing that could be run. */
static enum weir_status look_at(const struct runner *r, const struct runner_job *wish)
{
    uint64_t n = 0, len = 0;
    if (wish->folder[0] != '/') return WEIR_INVALID;
    if (strlen(wish->folder) >= PATH_MAX || wish->input.len > RUNNER_INPUT_BYTES) return WEIR_LIMIT;
    if (wish->function) return find_function(r, wish->function) >= 0 ? WEIR_OK : WEIR_INVALID;
    if (!wish->argv || !wish->argv[0] || wish->argv[0][0] != '/') return WEIR_INVALID;
    for (; wish->argv[n]; n++) len += strlen(wish->argv[n]) + 1;
    return n <= RUNNER_ARGS && len <= RUNNER_ARGS_BYTES ? WEIR_OK : WEIR_LIMIT;
}

static void put_ask(const struct runner *r, const struct runner_job *wish, struct weir_buf *out)
{
    struct job_head head = {
        .wall_ms = wish->wall_ms ? wish->wall_ms : RUNNER_WALL_MS,
        .cpu_s = wish->cpu_s ? wish->cpu_s : RUNNER_CPU_S,
        .memory_bytes = wish->memory_bytes ? wish->memory_bytes : (uint64_t)RUNNER_MEMORY_MB << 20,
        .file_bytes = wish->file_bytes ? wish->file_bytes : (uint64_t)RUNNER_FILE_MB << 20,
        .function = wish->function ? find_function(r, wish->function) : -1,
        .folder_len = (uint32_t)strlen(wish->folder) + 1,
        .input_len = (uint32_t)wish->input.len,
    };
    for (; !wish->function && wish->argv[head.n_args]; head.n_args++)
        head.args_len += (uint32_t)strlen(wish->argv[head.n_args]) + 1;
    weir_buf_append(out, &head, sizeof head);
    weir_buf_append(out, wish->folder, head.folder_len);
    for (uint32_t i = 0; i < head.n_args; i++)
        weir_buf_append(out, wish->argv[i], strlen(wish->argv[i]) + 1);
    weir_buf_append_slice(out, wish->input);
}

static enum weir_status add_job(struct runner *r, struct job *j)
{
    enum weir_status st = WEIR_OK;
    pthread_mutex_lock(&r->lock);
    if (r->is_gone) st = WEIR_IO;
    else if (r->is_closing || !r->has_thread) st = WEIR_SHUTDOWN;
    else if (r->n_jobs == RUNNER_JOBS) st = WEIR_BUSY;
    if (st == WEIR_OK) {
        j->ticket = ++r->last_ticket;
        r->n_jobs++;
        list_push_back(&r->jobs, &j->node);
    }
    pthread_mutex_unlock(&r->lock);
    return st;
}

enum weir_status runner_run(struct runner *r, const struct runner_job *job, uint64_t *ticket)
{
    CHECK(r->magic == RUNNER_MAGIC);
    struct job *j = mem_zalloc(sizeof *j);
    if (!j) return WEIR_NOMEM;
    *j = (struct job){.fd = -1, .progress = job->progress, .done = job->done, .user = job->user};
    weir_buf_init(&j->ask,
                  sizeof(struct job_head) + PATH_MAX + RUNNER_ARGS_BYTES + RUNNER_INPUT_BYTES);
    weir_buf_init(&j->heard, HEARD_BYTES + READ_BYTES);
    enum weir_status st = look_at(r, job);
    if (st == WEIR_OK) {
        put_ask(r, job, &j->ask);
        st = weir_buf_status(&j->ask);
    }
    if (st == WEIR_OK) st = add_job(r, j);
    if (st != WEIR_OK) {
        job_free(j);
        return st;
    }
    *ticket = j->ticket;
    wake(r);
    return WEIR_OK;
}

void runner_kill(struct runner *r, uint64_t ticket)
{
    CHECK(r->magic == RUNNER_MAGIC);
    pthread_mutex_lock(&r->lock);
    for (struct list_node *n = list_first(&r->jobs); n; n = list_next(&r->jobs, n)) {
        struct job *j = CONTAINER_OF(n, struct job, node);
        if (j->ticket == ticket) j->is_unwanted = true;
    }
    pthread_mutex_unlock(&r->lock);
    wake(r);
}

static void end_job(struct runner *r, struct job *j, enum weir_status st, struct weir_slice output)
{
    /* Before it is said: who hears of it may run another in its place. */
    pthread_mutex_lock(&r->lock);
    list_remove(&j->node);
    r->n_jobs--;
    pthread_mutex_unlock(&r->lock);
    j->done(j->user, st, output);
    job_free(j);
}

/* Without a word of its warden's. One that was told to end has done so, perhaps before it began. */
static void end_lost(struct runner *r, struct job *j, struct weir_slice why)
{
    if (j->is_told_so) end_job(r, j, WEIR_CANCELLED, SLICE("it was cancelled"));
    else end_job(r, j, WEIR_IO, why);
}

/* ---- the thread ---- */

/* Gives the other end of the job's socket to the runner. False: not now. */
static bool pass_socket(const struct runner *r, int fd)
{
    char byte = 0;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control = {.bytes = {0}};
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    control.head = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    return sendmsg(r->control, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static enum weir_status begin_job(const struct runner *r, struct job *j)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return WEIR_IO;
    bool is_passed = fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && pass_socket(r, ends[1]);
    int error = errno;
    close(ends[1]);
    if (is_passed) {
        j->fd = ends[0];
        return WEIR_OK;
    }
    close(ends[0]);
    return error == EAGAIN || error == EINTR || error == ETOOMANYREFS ? WEIR_PENDING : WEIR_IO;
}

static void ask(struct job *j)
{
    struct weir_slice rest = slice_from(weir_buf_slice(&j->ask), j->n_asked);
    if (rest.len == 0) return;
    ssize_t n = send(j->fd, rest.ptr, rest.len, MSG_NOSIGNAL);
    if (n > 0) j->n_asked += (size_t)n;
    /* A warden that is gone is found by reading. */
    else if (errno != EAGAIN && errno != EINTR) j->n_asked = j->ask.len;
}

/* True: it has come to its end. */
static bool take_said(struct job *j, enum weir_status *st, struct weir_slice *output)
{
    size_t at = 0;
    struct say_head head;
    while (j->heard.len - at >= sizeof head) {
        memcpy(&head, j->heard.ptr + at, sizeof head);
        if (head.len > j->heard.len - at - sizeof head) break;
        struct weir_slice text = {j->heard.ptr + at + sizeof head, head.len};
        at += sizeof head + head.len;
        if (head.kind == SAY_END) {
            *st = (enum weir_status)head.status;
            *output = text;
            return true;
        }
        if (j->progress) j->progress(j->user, text);
    }
    memmove(j->heard.ptr, j->heard.ptr + at, j->heard.len - at);
    j->heard.len -= at;
    return false;
}

static void hear(struct runner *r, struct job *j)
{
    char bytes[READ_BYTES];
    struct weir_slice output;
    enum weir_status st;
    ssize_t n = recv(j->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) weir_buf_append(&j->heard, bytes, (size_t)n);
    bool is_lost = n <= 0 || weir_buf_status(&j->heard) != WEIR_OK;
    if (is_lost) end_lost(r, j, SLICE("the process that watched it is gone"));
    else if (take_said(j, &st, &output)) end_job(r, j, st, output);
}

/* What a job needs before it is waited for. */
static void prepare(struct runner *r, struct job *j, struct pollfd *fd)
{
    if (j->fd >= 0 && j->is_unwanted && !j->is_told_so) {
        (void)shutdown(j->fd, SHUT_WR);
        j->is_told_so = true;
        j->n_asked = j->ask.len;
    }
    *fd = (struct pollfd){.fd = j->fd, .events = POLLIN};
    if (j->n_asked < j->ask.len) fd->events |= POLLOUT;
    if (j->fd < 0) r->fds[CONTROL_FD].events |= POLLOUT;
    j->poll = fd;
}

static bool is_over(struct runner *r)
{
    return r->is_closing && r->n_jobs == 0;
}

/* How many descriptors there are to wait for; 0: it is over. */
static size_t prepare_round(struct runner *r)
{
    size_t n = OTHER_FDS;
    pthread_mutex_lock(&r->lock);
    r->fds[WAKE_FD] = (struct pollfd){.fd = r->wake, .events = POLLIN};
    r->fds[CONTROL_FD] = (struct pollfd){.fd = r->is_gone ? -1 : r->control, .events = POLLIN};
    r->fds[GUARD_FD] = (struct pollfd){.fd = r->guard_end, .events = POLLIN};
    for (struct list_node *i = list_first(&r->jobs); i; i = list_next(&r->jobs, i)) {
        struct job *j = CONTAINER_OF(i, struct job, node);
        if (r->is_closing) j->is_unwanted = true;
        prepare(r, j, &r->fds[n++]);
    }
    bool is_last = is_over(r);
    /* A guard that pauses hears it, and drops what waits for the next runner. */
    if (r->is_closing) (void)shutdown(r->control, SHUT_WR);
    pthread_mutex_unlock(&r->lock);
    return is_last ? 0 : n;
}

static struct list_node *first_job(struct runner *r, const struct list_node *after)
{
    pthread_mutex_lock(&r->lock);
    struct list_node *n = after ? list_next(&r->jobs, after) : list_first(&r->jobs);
    pthread_mutex_unlock(&r->lock);
    return n;
}

/* One that has not begun: a new one, or the runner was busy. */
static void try_begin(struct runner *r, struct job *j)
{
    pthread_mutex_lock(&r->lock);
    bool is_unwanted = j->is_unwanted || r->is_closing, is_gone = r->is_gone;
    pthread_mutex_unlock(&r->lock);
    if (is_unwanted) {
        end_job(r, j, WEIR_CANCELLED, SLICE("it was cancelled"));
        return;
    }
    enum weir_status st = is_gone ? WEIR_IO : begin_job(r, j);
    if (st == WEIR_IO) end_job(r, j, st, SLICE("there is nobody who could run it"));
}

static void serve_job(struct runner *r, struct job *j)
{
    if (j->fd < 0) {
        try_begin(r, j);
        return;
    }
    if (j->n_asked < j->ask.len) ask(j);
    if (j->poll && j->poll->revents & ~POLLOUT) hear(r, j);
}

/* Wardens outlive the runner, and end their jobs when our sides are closed. */
static void runner_is_gone(struct runner *r)
{
    struct list_node *n;
    pthread_mutex_lock(&r->lock);
    r->is_gone = true;
    bool is_unexpected = !r->is_closing;
    pthread_mutex_unlock(&r->lock);
    if (is_unexpected)
        TRACE(r->trace, TRACE_ERROR, "tools",
              "the process that runs tools has ended; none can be run until the server is started "
              "again");
    while ((n = first_job(r, NULL)) != NULL)
        end_lost(r, CONTAINER_OF(n, struct job, node), SLICE("the runner is gone"));
}

static struct trace_field how_it_ended(int status)
{
    if (status == -1) return trace_str("error", SLICE("it could not be made"));
    return WIFSIGNALED(status) ? trace_int("signal", WTERMSIG(status))
                               : trace_int("status", WEXITSTATUS(status));
}

static void runner_began_anew(struct runner *r, int status)
{
    pthread_mutex_lock(&r->lock);
    uint64_t n = ++r->n_restarts;
    pthread_mutex_unlock(&r->lock);
    TRACE(r->trace, TRACE_WARN, "tools",
          "the process that runs tools has ended and is started anew; tools that ran have failed",
          how_it_ended(status), trace_uint("restarts", n));
}

static void hear_guard(struct runner *r)
{
    struct runner_news news;
    ssize_t n = recv(r->control, &news, sizeof news, MSG_DONTWAIT);
    if (n == sizeof news) runner_began_anew(r, news.status);
    else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) runner_is_gone(r);
}

static void bury_guard(struct runner *r)
{
    while (r->guard > 0 && waitpid(r->guard, NULL, 0) < 0 && errno == EINTR) continue;
    if (r->guard_end >= 0) close(r->guard_end);
    r->guard = r->guard_end = -1;
}

/* The runner may live on without. */
static void guard_is_gone(struct runner *r)
{
    pthread_mutex_lock(&r->lock);
    bool is_unexpected = !r->is_closing;
    pthread_mutex_unlock(&r->lock);
    bury_guard(r);
    if (is_unexpected)
        TRACE(r->trace, TRACE_WARN, "tools",
              "the process that watches over the one that runs tools has ended; there is no other "
              "until the server is started again");
}

static void *listen_to_wardens(void *user)
{
    struct runner *r = user;
    uint64_t count;
    size_t n;
    while ((n = prepare_round(r)) > 0) {
        if (poll(r->fds, n, -1) < 0 && errno != EINTR) break;
        if (r->fds[WAKE_FD].revents) (void)!read(r->wake, &count, sizeof count);
        for (struct list_node *i = first_job(r, NULL), *next; i; i = next) {
            next = first_job(r, i);
            serve_job(r, CONTAINER_OF(i, struct job, node));
        }
        if (r->fds[CONTROL_FD].revents & ~POLLOUT) hear_guard(r);
        if (r->fds[GUARD_FD].revents) guard_is_gone(r);
    }
    return NULL;
}

enum weir_status runner_open(struct runner *r)
{
    CHECK(r->magic == RUNNER_MAGIC && !r->has_thread);
    pthread_mutex_lock(&r->lock);
    r->has_thread = pthread_create(&r->thread, NULL, listen_to_wardens, r) == 0;
    bool is_open = r->has_thread;
    pthread_mutex_unlock(&r->lock);
    return is_open ? WEIR_OK : WEIR_NOMEM;
}

void runner_close(struct runner *r)
{
    if (!r) return;
    CHECK(r->magic == RUNNER_MAGIC);
    pthread_mutex_lock(&r->lock);
    r->is_closing = true;
    pthread_mutex_unlock(&r->lock);
    if (r->has_thread) {
        wake(r);
        pthread_join(r->thread, NULL);
    }
    if (r->control >= 0) close(r->control);
    bury_guard(r);
    if (r->wake >= 0) close(r->wake);
    pthread_mutex_destroy(&r->lock);
    r->magic = 0;
    mem_free(r);
}
