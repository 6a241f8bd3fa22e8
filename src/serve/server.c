/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server: what is made at the start and in which order, the signals, and going down.
 *
 * The order of the start matters: sockets are bound, and the key of the certificate is read,
 * while the process may; then it becomes the other user; then it opens what that user owns (the
 * log, the store, the control socket); last it gives up what it will not need any more.
 */
#include "serve/server.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "serve/worker_impl.h"

enum {
    MAX_CONNECTIONS = 100000,
    MAX_PER_ADDRESS = 1024,
    PATH_BYTES = 1024,
    SIGNAL_LOOK = SIGUSR2, /* to the runner: a worker is done */
};

static const char default_address[] = "127.0.0.1:8080";

void server_options_init(struct server_options *o)
{
    *o = (struct server_options){
        .has_control = true,
        .is_confined = true,
        .grace_ms = 10 * 1000,
        .clock = &clock_system,
        .limits =
            {
                .head_bytes = 16 << 10,
                .body_bytes = 1 << 20,
                .all_body_bytes = (size_t)256 << 20,
                .head_timeout_ms = 10 * 1000,
                .body_timeout_ms = 30 * 1000,
                .idle_timeout_ms = 75 * 1000,
                .write_timeout_ms = 60 * 1000,
                .stall_timeout_ms = 10 * 60 * 1000,
                .max_per_address = SERVER_PER_ADDRESS_DEFAULT,
                .max_in_flight = 64,
                .max_in_flight_bytes = 1 << 20,
            },
    };
}

/* ---- accessors ---- */

static struct server *checked(const struct server *s)
{
    CHECK(s->magic == SERVER_MAGIC);
    return (struct server *)(uintptr_t)s;
}

struct store *server_store(struct server *s)
{
    return checked(s)->store;
}

struct keys *server_keys(struct server *s)
{
    return checked(s)->keys;
}

const struct server_options *server_options(const struct server *s)
{
    return &checked(s)->options;
}

bool server_is_stopping(const struct server *s)
{
    return atomic_load(&checked(s)->is_stopping);
}

uint64_t server_uptime_ms(const struct server *s)
{
    return (clock_mono_ns(checked(s)->options.clock) - s->started_ns) / 1000000;
}

void server_counters(struct server *s, struct counters_sum *out)
{
    *out = (struct counters_sum){0};
    for (unsigned i = 0; i < checked(s)->n_workers; i++)
        counters_add_to(&s->workers[i]->counters, out);
}

const char *server_address(const struct server *s, unsigned i)
{
    return i < checked(s)->n_addresses ? s->addresses[i] : NULL;
}

/* ---- the start ---- */

__attribute__((format(printf, 3, 4))) static enum weir_status fail(struct server_error *e,
                                                                   enum weir_status st,
                                                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return st;
}

static void signal_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGNAL_LOOK);
}

/* Before any thread is made, so that none of them is interrupted. */
static void block_signals(struct server *s)
{
    sigset_t set;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    signal_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, &s->old_mask);
    sigaction(SIGPIPE, &ignore, NULL);
}

/* As many descriptors as the system allows us; most of them may be connections. */
static unsigned most_connections(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0) return MAX_PER_ADDRESS;
    r.rlim_cur = r.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &r) != 0 && getrlimit(RLIMIT_NOFILE, &r) != 0)
        return MAX_PER_ADDRESS;
    rlim_t most = r.rlim_cur / 10 * 9;
    return most > MAX_CONNECTIONS ? MAX_CONNECTIONS : (unsigned)most;
}

static unsigned count_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int n = CPU_COUNT(&set);
    if (n > SERVER_MAX_LOOPS) n = SERVER_MAX_LOOPS;
    return n > 0 ? (unsigned)n : 1;
}

static void init(struct server *s, const struct server_options *o)
{
    s->magic = SERVER_MAGIC;
    s->options = *o;
    if (s->options.n_listen == 0) {
        s->options.listen[0] = default_address;
        s->options.n_listen = 1;
    }
    if (s->options.n_loops == 0) s->options.n_loops = count_processors();
    if (s->options.n_loops > SERVER_MAX_LOOPS) s->options.n_loops = SERVER_MAX_LOOPS;
    if (s->options.limits.max_connections == 0)
        s->options.limits.max_connections = most_connections();
    s->started_ns = clock_mono_ns(o->clock);
    unsigned each = o->limits.max_per_address;
    s->peers.max_each = each == SERVER_PER_ADDRESS_DEFAULT ? MAX_PER_ADDRESS : each;
    s->peers.max_all = s->options.limits.max_connections;
    pthread_mutex_init(&s->peers.lock, NULL);
    map_init(&s->peers.counts, s->peers.max_all);
}

/* Whether it may serve there as it is asked to. */
static enum weir_status look_at_address(const struct server *s, const struct addr *a,
                                        const char *text, struct server_error *e)
{
    if (addr_is_loopback(a)) return WEIR_OK;
    if (s->options.is_open)
        return fail(e, WEIR_INVALID, "%s: without keys (--open) only a loopback address is served",
                    text);
    if (geteuid() == 0 && !s->options.user)
        return fail(e, WEIR_INVALID,
                    "%s: not as root on an address that others can reach; say --user NAME", text);
    return WEIR_OK;
}

/* One socket for each worker: the kernel shares the connections out. */
static enum weir_status bind_address(struct server *s, const char *text, struct server_error *e)
{
    struct addr a, bound;
    char where[ADDR_TEXT_BYTES];
    enum weir_status st = addr_parse(&a, text);
    if (st != WEIR_OK) return fail(e, st, "%s: not an address; write HOST:PORT", text);
    st = look_at_address(s, &a, text, e);
    if (st != WEIR_OK) return st;
    st = sock_probe(&a);
    for (unsigned i = 0; st == WEIR_OK && i < s->n_workers; i++) {
        int fd;
        st = sock_listen(&fd, &a, &bound);
        if (st == WEIR_OK) worker_listen(s->workers[i], fd, false);
        a = bound; /* the port, if any was asked for, is known from now on */
    }
    if (st != WEIR_OK) return fail(e, st, "cannot listen on %s: %s", text, strerror(errno));
    addr_format(&bound, where);
    snprintf(s->addresses[s->n_addresses++], sizeof s->addresses[0], "%s://%s",
             s->tls ? "https" : "http", where);
    return WEIR_OK;
}

static enum weir_status bind_all(struct server *s, struct server_error *e)
{
    enum weir_status st = WEIR_OK;
    for (unsigned i = 0; i < s->options.n_listen && st == WEIR_OK; i++)
        st = bind_address(s, s->options.listen[i], e);
    return st;
}

static enum weir_status load_tls(struct server *s, struct server_error *e)
{
    const struct server_options *o = &s->options;
    struct tls_error why;
    if (!o->tls_cert && !o->tls_key) return WEIR_OK;
    if (!o->tls_cert || !o->tls_key)
        return fail(e, WEIR_INVALID, "TLS needs both a certificate and its key");
    enum weir_status st = tls_context_new(&s->tls, o->tls_cert, o->tls_key, &why);
    return st == WEIR_OK ? st : fail(e, st, "%s", why.text);
}

static enum weir_status make_workers(struct server *s, struct server_error *e)
{
    enum weir_status st = WEIR_OK;
    s->hub = hub_new();
    if (!s->hub) st = WEIR_NOMEM;
    while (st == WEIR_OK && s->n_workers < s->options.n_loops) {
        st = worker_new(&s->workers[s->n_workers], s, s->n_workers);
        if (s->workers[s->n_workers]) s->n_workers++;
    }
    return st == WEIR_OK ? st : fail(e, st, "cannot make the loops: %s", weir_status_text(st));
}

static enum weir_status open_log(struct server *s, struct server_error *e)
{
    const char *path = s->options.access_log;
    if (!path || strcmp(path, "off") == 0) return WEIR_OK;
    enum weir_status st = access_log_open(&s->log, path);
    if (st != WEIR_OK) return fail(e, st, "cannot open %s: %s", path, strerror(errno));
    for (unsigned i = 0; i < s->n_workers; i++) s->workers[i]->log.log = s->log;
    return WEIR_OK;
}

static enum weir_status open_store(struct server *s, struct server_error *e)
{
    struct store_options o = s->options.store;
    struct store_error why = {""};
    o.on_news = hub_news;
    o.user = s->hub;
    if (!o.clock) o.clock = s->options.clock;
    enum weir_status st = store_open(&s->store, s->options.folder, &o, &why);
    if (st != WEIR_OK) return fail(e, st, "%s", why.text[0] ? why.text : weir_status_text(st));
    hub_start(s->hub, s->store);
    st = keys_open(&s->keys, s->store, s->options.clock);
    return st == WEIR_OK ? st : fail(e, st, "cannot read the keys: %s", weir_status_text(st));
}

static enum weir_status open_control(struct server *s, struct server_error *e)
{
    char path[PATH_BYTES];
    int fd;
    if (!s->options.has_control) return WEIR_OK;
    int len = snprintf(path, sizeof path, "%s/control.sock", s->options.folder);
    enum weir_status st = len < PATH_BYTES ? sock_listen_local(&fd, path) : WEIR_INVALID;
    if (st == WEIR_OK) worker_listen(s->workers[0], fd, true);
    if (st != WEIR_INVALID) return st == WEIR_OK ? st : fail(e, st, "cannot listen on %s", path);
    /* The system's limit on such names is short. Everything else works without it. */
    TRACE(s->options.trace, TRACE_WARN, "serve", "no control socket: its path is too long",
          trace_str("folder", weir_slice_of(s->options.folder)));
    return WEIR_OK;
}

static enum weir_status set_up(struct server *s, struct server_error *e)
{
    enum weir_status st = memory_reserve(s->options.reserve_bytes);
    if (st != WEIR_OK) return fail(e, st, "cannot reserve memory");
    st = load_tls(s, e);
    if (st == WEIR_OK) st = make_workers(s, e);
    if (st == WEIR_OK) st = bind_all(s, e);
    if (st == WEIR_OK) st = open_log(s, e);
    if (st == WEIR_OK) st = open_store(s, e);
    if (st == WEIR_OK) st = open_control(s, e);
    return st;
}

enum weir_status server_new(struct server **out, const struct server_options *o,
                            struct server_error *error)
{
    struct server *s = mem_zalloc(sizeof *s);
    error->text[0] = 0;
    if (!s) return fail(error, WEIR_NOMEM, "%s", weir_status_text(WEIR_NOMEM));
    block_signals(s);
    init(s, o);
    enum weir_status st = set_up(s, error);
    if (st == WEIR_OK) *out = s;
    else server_free(s);
    return st;
}

/* ---- running ---- */

void server_worker_done(struct server *s)
{
    atomic_fetch_add(&s->n_done, 1);
    pthread_kill(s->runner, SIGNAL_LOOK);
}

void server_stop(struct server *s)
{
    atomic_store(&checked(s)->is_stop_asked, true);
    if (atomic_load(&s->is_running)) pthread_kill(s->runner, SIGTERM);
}

static void reload(struct server *s)
{
    struct tls_error why;
    const struct trace *t = s->options.trace;
    if (s->tls) {
        enum weir_status st = tls_context_reload(s->tls, &why);
        if (st == WEIR_OK) TRACE(t, TRACE_INFO, "serve", "certificate loaded again");
        else
            TRACE(t, TRACE_ERROR, "serve", "the old certificate stays",
                  trace_str("error", weir_slice_of(why.text)));
    }
    if (s->log && access_log_reopen(s->log) != WEIR_OK)
        TRACE(t, TRACE_ERROR, "serve", "the access log cannot be opened again",
              trace_str("error", weir_slice_of(strerror(errno))));
}

/* As if nobody had caught it. */
static void die_of(int number)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;
    sigaction(number, &standard, NULL);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void wait_for_end(struct server *s, const sigset_t *set)
{
    while (!atomic_load(&s->is_stop_asked)) {
        int number = sigwaitinfo(set, NULL);
        if (number == SIGHUP) reload(s);
        if (number == SIGTERM || number == SIGINT) return;
    }
}

/* True when all workers are done, false when the time is over. */
static bool wait_for_workers(struct server *s, const sigset_t *set, unsigned ms)
{
    uint64_t end_ns = clock_mono_ns(&clock_system) + (uint64_t)ms * 1000000;
    bool may_be_own = atomic_load(&s->is_stop_asked); /* the signal of server_stop() */
    while (atomic_load(&s->n_done) < s->n_workers) {
        uint64_t now_ns = clock_mono_ns(&clock_system);
        if (now_ns >= end_ns) return false;
        uint64_t left_ns = end_ns - now_ns;
        struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
                                .tv_nsec = (long)(left_ns % 1000000000)};
        int number = sigtimedwait(set, NULL, &left);
        bool is_end = number == SIGTERM || number == SIGINT;
        if (is_end && !may_be_own) die_of(number);
        if (is_end) may_be_own = false;
    }
    return true;
}

static enum weir_status shut_down(struct server *s, const sigset_t *set)
{
    TRACE(s->options.trace, TRACE_INFO, "serve", "going down");
    atomic_store(&s->is_stopping, true);
    for (unsigned i = 0; i < s->n_workers; i++) worker_stop(s->workers[i]);
    bool is_clean = wait_for_workers(s, set, s->options.grace_ms);
    for (unsigned i = 0; !is_clean && i < s->n_workers; i++) worker_abort(s->workers[i]);
    for (unsigned i = 0; i < s->n_workers; i++) worker_join(s->workers[i]);
    return is_clean ? WEIR_OK : WEIR_SHUTDOWN;
}

enum weir_status server_run(struct server *s)
{
    sigset_t set;
    enum weir_status st = WEIR_OK;
    signal_set(&set);
    checked(s)->runner = pthread_self();
    atomic_store(&s->is_running, true);
    unsigned n = 0;
    while (n < s->n_workers && st == WEIR_OK) {
        st = worker_start(s->workers[n]);
        if (st == WEIR_OK) n++;
    }
    if (st == WEIR_OK) wait_for_end(s, &set);
    /* Those that could not start are done as they are. */
    atomic_fetch_add(&s->n_done, s->n_workers - n);
    enum weir_status ended = shut_down(s, &set);
    atomic_store(&s->is_running, false);
    return st == WEIR_OK ? ended : st;
}

/* ---- the end ---- */

/* Whether something still runs that may come back to a loop or the store. */
static bool is_left_running(const struct server *s)
{
    bool is_left = false;
    for (unsigned i = 0; i < s->n_workers; i++)
        is_left |= s->workers[i]->is_aborted && s->workers[i]->n_exchanges > 0;
    return is_left;
}

static void close_all(struct server *s)
{
    if (s->keys) keys_close(s->keys);
    for (unsigned i = 0; i < s->n_workers; i++) worker_close_fan(s->workers[i]);
    store_close(s->store);
    for (unsigned i = 0; i < s->n_workers; i++) worker_free(s->workers[i]);
    if (s->hub) hub_free(s->hub);
    access_log_close(s->log);
    if (s->tls) tls_context_free(s->tls);
    map_fini(&s->peers.counts);
    pthread_mutex_destroy(&s->peers.lock);
}

void server_free(struct server *s)
{
    if (!s) return;
    checked(s);
    if (is_left_running(s)) {
        /* The grace time is over and the process ends: the journal has all that was
         * acknowledged, and memory that something may still write to stays. */
        return;
    }
    close_all(s);
    pthread_sigmask(SIG_SETMASK, &s->old_mask, NULL);
    s->magic = 0;
    mem_free(s);
}
