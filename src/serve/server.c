/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server: what is made at the start and in which order, the signals, and going down.
 *
 * The order of the start matters: sockets are bound, and the key of the certificate is read,
 * while the process may; then it becomes the other user, and gives up what it will not need any
 * more; then it opens what that user owns, and makes threads. The thread in server_run()
 * has a loop of its own, for signals, the grace time, and the word of workers that are done.
 */
#include "serve/server.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "gateway/gateway.h"
#include "io/process.h"
#include "serve/auth_cookie.h"
#include "serve/idempotency.h"
#include "serve/imports.h"
#include "serve/link.h"
#include "serve/lives.h"
#include "serve/login_link.h"
#include "serve/place.h"
#include "serve/shared.h"
#include "serve/worker_impl.h"
#include "shield/reseal.h"

enum {
    MAX_CONNECTIONS = 100000,
    MAX_PER_ADDRESS = 1024,
    MAX_IN_FLIGHT = 32768,
    PATH_BYTES = 1024,
    PUBLIC_URL_BYTES = 1024,
    USER_TURNS = 3,
    MAX_READABLE = 24,              /* files beside the data folder: certificates */
    SWEEP_KEYS_MS = 10 * 60 * 1000, /* between two looks for old keys of requests */
};

static void on_stop(struct post *p);

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
                .import_bytes = (size_t)1 << 30,
                .all_request_bytes = (size_t)64 << 20,
                .all_answer_bytes = (size_t)64 << 20,
                .head_timeout_ms = 10 * 1000,
                .body_timeout_ms = 30 * 1000,
                .idle_timeout_ms = 75 * 1000,
                .write_timeout_ms = 60 * 1000,
                .stall_timeout_ms = 10 * 60 * 1000,
                .poll_timeout_ms = 20 * 1000,
                .max_per_address = SERVER_PER_ADDRESS_DEFAULT,
                .max_in_flight = 64,
                .max_in_flight_bytes = 1 << 20,
            },
        .turns = {.user_turns = USER_TURNS},
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

struct links *server_links(struct server *s)
{
    return checked(s)->links;
}

struct cookies *server_cookies(struct server *s)
{
    return checked(s)->cookies;
}

struct login_links *server_login_links(struct server *s)
{
    return checked(s)->login_links;
}

struct hooks *server_hooks(struct server *s)
{
    return checked(s)->hooks;
}

struct models *server_models(struct server *s)
{
    return s->models;
}

const struct shield_policy *server_policy(struct server *s)
{
    return checked(s)->privacy.policy;
}

const struct vault *server_vault(struct server *s)
{
    return checked(s)->privacy.vault;
}

struct gateway *server_gateway(struct server *s)
{
    return checked(s)->gateway;
}

struct turns *server_turns(struct server *s)
{
    return checked(s)->turns;
}

struct chats *server_chats(struct server *s)
{
    return checked(s)->chats;
}

struct sessions *server_sessions(struct server *s)
{
    return checked(s)->sessions;
}

struct imports *server_imports(struct server *s)
{
    return checked(s)->imports;
}

struct log_waits *server_log_waits(struct server *s)
{
    return &checked(s)->log_waits;
}

const struct server_options *server_options(const struct server *s)
{
    return &checked(s)->options;
}

bool server_is_stopping(const struct server *s)
{
    return atomic_load(&checked(s)->is_stopping);
}

bool server_is_draining(const struct server *s)
{
    return atomic_load(&checked(s)->is_draining);
}

bool server_takes_runs(struct server *s)
{
    return !server_is_draining(s) || drain_has_others(s);
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

enum weir_status server_fail(struct server_error *e, enum weir_status st, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return st;
}

/* As many descriptors as the system allows us; most of them may be connections. */
static unsigned most_connections(void)
{
    uint64_t most = process_raise_descriptors() / 10 * 9;
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
    s->signal_fd = -1;
    s->stop_post.run = on_stop;
    if (s->options.n_listen == 0) {
        s->options.listen[0] = default_address;
        s->options.n_listen = 1;
    }
    if (s->options.n_loops == 0) s->options.n_loops = count_processors();
    if (s->options.n_loops > SERVER_MAX_LOOPS) s->options.n_loops = SERVER_MAX_LOOPS;
    if (s->options.limits.max_in_flight > MAX_IN_FLIGHT)
        s->options.limits.max_in_flight = MAX_IN_FLIGHT;
    if (s->options.limits.max_connections == 0)
        s->options.limits.max_connections = most_connections();
    s->started_ns = clock_mono_ns(o->clock);
    unsigned each = o->limits.max_per_address;
    s->peers.max_each = each == SERVER_PER_ADDRESS_DEFAULT ? MAX_PER_ADDRESS : each;
    s->peers.max_all = s->options.limits.max_connections;
    pthread_mutex_init(&s->peers.lock, NULL);
    map_init(&s->peers.counts, s->peers.max_all);
    log_waits_init(&s->log_waits);
    doc_news_init(s);
}

/* Whether it may serve there as it is asked to. */
static enum weir_status look_at_address(const struct server *s, const struct addr *a,
                                        const char *text, struct server_error *e)
{
    if (addr_is_loopback(a)) return WEIR_OK;
    if (s->options.is_open)
        return server_fail(e, WEIR_INVALID,
                           "%s: without keys (--open) only a loopback address is served", text);
    if (geteuid() == 0 && !s->options.user)
        return server_fail(e, WEIR_INVALID,
                           "%s: not as root on an address that others can reach; say --user NAME",
                           text);
    return WEIR_OK;
}

static void add_address(struct server *s, const char *where)
{
    snprintf(s->addresses[s->n_addresses++], sizeof s->addresses[0], "%s://%s",
             s->tls ? "https" : "http", where);
}

/* One socket for each worker: the kernel shares the connections out. */
static enum weir_status bind_address(struct server *s, const char *text, struct server_error *e)
{
    struct addr a, bound;
    char where[ADDR_TEXT_BYTES];
    enum weir_status st = addr_parse(&a, text);
    if (st != WEIR_OK) return server_fail(e, st, "%s: not an address; write HOST:PORT", text);
    st = look_at_address(s, &a, text, e);
    if (st != WEIR_OK) return st;
    st = sock_probe(&a);
    for (unsigned i = 0; st == WEIR_OK && i < s->n_workers; i++) {
        int fd;
        st = sock_listen(&fd, &a, &bound);
        if (st == WEIR_OK) worker_listen(s->workers[i], fd, false);
        a = bound; /* the port, if any was asked for, is known from now on */
    }
    if (st != WEIR_OK) return server_fail(e, st, "cannot listen on %s: %s", text, strerror(errno));
    addr_format(&bound, where);
    add_address(s, where);
    return WEIR_OK;
}

/* A socket that the service manager passed. There is one, so one worker accepts. */
static enum weir_status adopt(struct server *s, int fd, struct server_error *e)
{
    struct addr bound;
    char where[ADDR_TEXT_BYTES];
    enum weir_status st = sock_adopt(fd, &bound);
    if (st != WEIR_OK)
        return server_fail(e, st, "descriptor %d was passed, but does not listen", fd);
    addr_format(&bound, where);
    st = look_at_address(s, &bound, where, e);
    if (st != WEIR_OK) return st;
    worker_listen(s->workers[0], fd, false);
    add_address(s, where);
    return WEIR_OK;
}

static enum weir_status bind_all(struct server *s, struct server_error *e)
{
    int first = 0;
    unsigned n = 0;
    enum weir_status st = WEIR_OK;
    if (s->options.takes_inherited) st = process_take_listeners(&first, &n);
    if (st != WEIR_OK)
        return server_fail(e, st, "LISTEN_FDS of the environment is not well-formed");
    if (n > SERVER_MAX_LISTEN)
        return server_fail(e, WEIR_LIMIT, "%u sockets were passed: too many", n);
    for (unsigned i = 0; i < n && st == WEIR_OK; i++) st = adopt(s, first + (int)i, e);
    for (unsigned i = 0; n == 0 && i < s->options.n_listen && st == WEIR_OK; i++)
        st = bind_address(s, s->options.listen[i], e);
    return st;
}

static enum weir_status read_webhook_options(struct server *s, struct server_error *e)
{
    const struct server_options *o = &s->options;
    const char *url = o->public_url ? o->public_url : "";
    size_t len = strlen(url);
    for (unsigned i = 0; i < o->n_webhook_allow; i++)
        if (!target_rules_add(&s->targets, o->webhook_allow[i]))
            return server_fail(e, WEIR_INVALID,
                               "%s: neither a host nor an address or prefix of some",
                               o->webhook_allow[i]);
    if (!o->public_url) return WEIR_OK;
    bool is_good = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    if (is_good && len < PUBLIC_URL_BYTES && url[len - 1] != '/') return WEIR_OK;
    return server_fail(e, WEIR_INVALID, "%s: not a URL such as https://streams.example.com", url);
}

static enum weir_status load_tls(struct server *s, struct server_error *e)
{
    const struct server_options *o = &s->options;
    struct tls_error why;
    if (!o->tls_cert && !o->tls_key) return WEIR_OK;
    if (!o->tls_cert || !o->tls_key)
        return server_fail(e, WEIR_INVALID, "TLS needs both a certificate and its key");
    enum weir_status st = tls_context_new(&s->tls, o->tls_cert, o->tls_key, &why);
    return st == WEIR_OK ? st : server_fail(e, st, "%s", why.text);
}

static enum weir_status make_workers(struct server *s, struct server_error *e)
{
    s->hub = hub_new();
    s->loop = loop_new(s->options.clock);
    enum weir_status st = s->hub && s->loop ? WEIR_OK : WEIR_NOMEM;
    while (st == WEIR_OK && s->n_workers < s->options.n_loops) {
        st = worker_new(&s->workers[s->n_workers], s, s->n_workers);
        if (s->workers[s->n_workers]) s->n_workers++;
    }
    return st == WEIR_OK ? st
                         : server_fail(e, st, "cannot make the loops: %s", weir_status_text(st));
}

static enum weir_status open_log(struct server *s, struct server_error *e)
{
    const char *path = s->options.access_log;
    if (!path || strcmp(path, "off") == 0) return WEIR_OK;
    enum weir_status st = access_log_open(&s->log, path);
    if (st != WEIR_OK) return server_fail(e, st, "cannot open %s: %s", path, strerror(errno));
    for (unsigned i = 0; i < s->n_workers; i++) s->workers[i]->log.log = s->log;
    return WEIR_OK;
}

/* The hooks hear of events before anybody can see one, and so know what is acknowledged. */
static void on_news(void *user, const struct store_news *news, size_t n)
{
    struct server *s = user;
    doc_news_logs(s, news, n);
    hub_news(s->hub, news, n);
    log_waits_news(&s->log_waits, news, n);
}

static enum weir_status open_hooks(struct server *s, struct server_error *e)
{
    const struct server_options *o = &s->options;
    const struct hooks_options options = {
        .folder = o->folder,
        .public_url = o->public_url ? o->public_url : s->addresses[0],
        .rules = &s->targets,
        .clock = o->clock,
        .trace = o->trace,
    };
    enum weir_status st = hooks_open(&s->hooks, s->store, &options);
    if (st == WEIR_OK) return st;
    return server_fail(e, st, "cannot open the subscriptions: %s", weir_status_text(st));
}

static enum weir_status open_models(struct server *s, struct server_error *e)
{
    struct models_options options = s->options.models;
    if (!s->options.model_config) return WEIR_OK;
    options.clock = s->options.clock;
    options.trace = s->options.trace;
    enum weir_status st = models_new(&s->models, s->options.model_config, &options);
    return st == WEIR_OK ? st : server_fail(e, st, "cannot ask models: %s", weir_status_text(st));
}

static enum weir_status read_privacy(struct server *s, struct server_error *e)
{
    char why[PRIVACY_ERROR_BYTES] = "";
    const struct privacy_files files = {s->options.shield, s->options.shield_key};
    enum weir_status st = privacy_read(&s->privacy, &files, why);
    return st == WEIR_OK ? st : server_fail(e, st, "%s", why);
}

/* The files of keys are the same on all nodes; who is the first makes them. */
static enum weir_status open_privacy(struct server *s, struct server_error *e)
{
    char why[PRIVACY_ERROR_BYTES] = "";
    enum weir_status st = node_need_files(s, e);
    if (st != WEIR_OK) return st;
    st = privacy_open(&s->privacy, s->options.folder, why);
    return st == WEIR_OK ? node_match_files(s, e) : server_fail(e, st, "%s", why);
}

static enum weir_status open_turns(struct server *s, struct server_error *e)
{
    struct turns_options options = s->options.turns;
    options.clock = s->options.clock;
    options.trace = s->options.trace;
    enum weir_status st = open_models(s, e);
    if (st != WEIR_OK) return st;
    options.models = s->models;
    options.policy = s->privacy.policy;
    options.vault = s->privacy.vault;
    st = turns_new(&s->turns, s->store, &options);
    const struct imports_options imports = {.turns = s->turns,
                                            .folder = s->options.folder,
                                            .clock = s->options.clock,
                                            .node = s->lives ? s->node : NULL,
                                            .is_dead = node_is_dead,
                                            .user = s};
    if (st == WEIR_OK) st = imports_new(&s->imports, s->store, &imports);
    return st == WEIR_OK ? st : server_fail(e, st, "cannot make the threads of turns and imports");
}

static enum weir_status open_chats(struct server *s, struct server_error *e)
{
    struct chats_options options = s->options.chats;
    options.clock = s->options.clock;
    options.trace = s->options.trace;
    options.models = s->models;
    if (options.max_reply_usd <= 0) options.max_reply_usd = s->options.turns.max_turn_usd;
    options.policy = s->privacy.policy;
    options.vault = s->privacy.vault;
    enum weir_status st = chats_new(&s->chats, s->store, &options);
    return st == WEIR_OK ? st : server_fail(e, st, "cannot make the threads of chats");
}

static void each_read_log(void *server, unsigned part, store_log_fn each, void *arg)
{
    hub_each_log(((struct server *)server)->hub, part, each, arg);
}

static enum weir_status open_sessions(struct server *s, struct server_error *e)
{
    struct sessions_options options = s->options.sessions;
    options.clock = s->options.clock;
    options.trace = s->options.trace;
    options.models = s->models;
    if (options.max_turn_usd <= 0) options.max_turn_usd = s->options.turns.max_turn_usd;
    options.policy = s->privacy.policy;
    options.vault = s->privacy.vault;
    options.runner = s->runner;
    options.folder = s->sessions_folder;
    options.each_log = each_read_log;
    options.log_user = s;
    enum weir_status st = runner_open(s->runner);
    if (st == WEIR_OK) st = sessions_new(&s->sessions, s->store, &options);
    return st == WEIR_OK ? st : server_fail(e, st, "cannot make the threads of sessions");
}

static enum weir_status open_gateway(struct server *s, struct server_error *e)
{
    const struct gateway_options options = {.models = s->models,
                                            .policy = s->privacy.policy,
                                            .vault = s->privacy.vault,
                                            .node = s->lives ? s->node : NULL,
                                            .clock = s->options.clock};
    enum weir_status st = gateway_new(&s->gateway, s->store, &options);
    return st == WEIR_OK ? st
                         : server_fail(e, st, "cannot make the gateway: %s", weir_status_text(st));
}

/* Who may do what. */
static enum weir_status open_access(struct server *s, struct server_error *e)
{
    enum weir_status st = keys_open(&s->keys, s->store, s->options.clock);
    if (st == WEIR_OK) st = links_open(&s->links, s->store, s->options.clock);
    if (st == WEIR_OK) st = cookies_open(&s->cookies, s->store, s->keys, s->options.clock);
    s->login_links = login_links_new(store_is_shared(s->store) ? s->store : NULL, s->options.clock);
    if (st == WEIR_OK && !s->login_links) st = WEIR_NOMEM;
    return st == WEIR_OK ? st
                         : server_fail(e, st, "cannot read the keys: %s", weir_status_text(st));
}

/* Nothing can be written until somebody mends it: an administrator has to know why. */
static void on_refused(void *user, const char *why)
{
    struct server *s = user;
    TRACE(s->options.trace, TRACE_ERROR, "serve", "the database refuses what is written",
          trace_str("why", weir_slice_of(why)));
}

static enum weir_status open_place(struct server *s, struct server_error *e)
{
    struct store_options o = s->options.store;
    struct store_error why = {""};
    o.on_news = on_news;
    o.on_refused = on_refused;
    o.user = s;
    if (!o.clock) o.clock = s->options.clock;
    const char *place = s->options.place;
    bool is_shared = place && place_is_url(place);
    enum weir_status st = is_shared ? hub_share(s->hub) : WEIR_OK;
    if (st != WEIR_OK) return server_fail(e, st, "there is no memory for the store");
    if (is_shared) doc_news_set(s, &o);
    st = store_open(&s->store, place ? place : s->options.folder, &o, &why);
    if (st != WEIR_OK && place) place_hide(why.text, place);
    if (st != WEIR_OK)
        return server_fail(e, st, "%s", why.text[0] ? why.text : weir_status_text(st));
    hub_start(s->hub, s->store);
    return WEIR_OK;
}

static enum weir_status open_store(struct server *s, struct server_error *e)
{
    enum weir_status st = open_place(s, e);
    if (st == WEIR_OK) st = node_name(s, e);
    if (st == WEIR_OK) st = open_access(s, e);
    if (st == WEIR_OK) st = open_privacy(s, e);
    if (st == WEIR_OK) st = open_turns(s, e);
    if (st == WEIR_OK) st = open_chats(s, e);
    if (st == WEIR_OK) st = open_sessions(s, e);
    if (st == WEIR_OK) st = open_gateway(s, e);
    return st == WEIR_OK ? open_hooks(s, e) : st;
}

/* Those that write by themselves; their news find everything in its place. */
static enum weir_status start_writers(struct server *s, struct server_error *e)
{
    enum weir_status st = sweep_start(&s->sweep, s->store);
    if (st != WEIR_OK) return server_fail(e, st, "cannot start the sweep's thread");
    st = hooks_start(s->hooks);
    if (st != WEIR_OK) return server_fail(e, st, "cannot start the subscriptions' thread");
    st = reseal_start(&s->reseal, s->store, s->privacy.vault, s->options.trace);
    if (st != WEIR_OK) return server_fail(e, st, "cannot start the thread that seals maps anew");
    st = turns_start(s->turns);
    if (st != WEIR_OK)
        return server_fail(e, st, "cannot go on with the turns: %s", weir_status_text(st));
    st = chats_start(s->chats);
    if (st != WEIR_OK)
        return server_fail(e, st, "cannot go on with the chats: %s", weir_status_text(st));
    st = sessions_start(s->sessions);
    if (st != WEIR_OK)
        return server_fail(e, st, "cannot go on with the sessions: %s", weir_status_text(st));
    st = imports_start(s->imports);
    if (st != WEIR_OK)
        return server_fail(e, st, "cannot go on with the imports: %s", weir_status_text(st));
    st = gateway_start(s->gateway);
    if (st != WEIR_OK)
        return server_fail(e, st, "cannot end old streams: %s", weir_status_text(st));
    st = node_start(s, e);
    if (st == WEIR_OK) doc_news_begin(s);
    return st;
}

static enum weir_status open_control(struct server *s, struct server_error *e)
{
    char path[PATH_BYTES];
    int fd;
    if (!s->options.has_control) return WEIR_OK;
    int len = snprintf(path, sizeof path, "%s/control.sock", s->options.folder);
    enum weir_status st = len < PATH_BYTES ? sock_listen_local(&fd, path) : WEIR_INVALID;
    if (st == WEIR_OK) worker_listen(s->workers[0], fd, true);
    if (st != WEIR_INVALID)
        return st == WEIR_OK ? st : server_fail(e, st, "cannot listen on %s", path);
    /* The system's limit on such names is short. Everything else works without it. */
    TRACE(s->options.trace, TRACE_WARN, "serve", "no control socket: its path is too long",
          trace_str("folder", weir_slice_of(s->options.folder)));
    return WEIR_OK;
}

/* Files that are read, or read again, while it runs. */
static size_t find_readable(const struct server *s, const struct place_files *files,
                            const char *out[MAX_READABLE])
{
    const struct server_options *o = &s->options;
    const char *ca_file;
    size_t n = 0;
    if (s->tls) {
        out[n++] = o->tls_cert;
        out[n++] = o->tls_key;
    }
    for (size_t i = 0; i < files->n; i++) out[n++] = files->paths[i];
    for (unsigned i = 0; o->model_config && n < MAX_READABLE; i++) {
        if (!model_config_ca_file(o->model_config, i, &ca_file)) break;
        if (ca_file) out[n++] = ca_file;
    }
    return n;
}

/* Whoever runs programs does so without what the server has, and keeps the right to. */
static enum weir_status start_runner(struct server *s, struct server_error *e)
{
    char path[PATH_BYTES], real[PATH_MAX], report[RUNNER_REPORT_BYTES];
    const struct runner_options options = {.functions = session_functions,
                                           .trace = s->options.trace};
    int len = snprintf(path, sizeof path, "%s/sessions", s->options.folder);
    if (len >= PATH_BYTES || (mkdir(path, 0700) != 0 && errno != EEXIST))
        return server_fail(e, WEIR_IO, "cannot make the folder %s: %s", path, strerror(errno));
    if (!realpath(path, real))
        return server_fail(e, WEIR_IO, "cannot find the folder %s: %s", path, strerror(errno));
    s->sessions_folder = mem_alloc(strlen(real) + 1);
    if (!s->sessions_folder) return server_fail(e, WEIR_NOMEM, "%s", weir_status_text(WEIR_NOMEM));
    memcpy(s->sessions_folder, real, strlen(real) + 1);
    enum weir_status st = runner_start(&s->runner, &options);
    if (st != WEIR_OK)
        return server_fail(e, st, "cannot start what runs tools: %s", strerror(errno));
    runner_report(s->runner, report);
    TRACE(s->options.trace, TRACE_INFO, "serve", "tools are confined",
          trace_str("by", weir_slice_of(report)));
    return WEIR_OK;
}

/* Gives up what is not needed any more. There is no thread yet that could be left out. */
static enum weir_status drop_rights(struct server *s, struct server_error *e)
{
    const struct server_options *o = &s->options;
    struct process_error why;
    const char *readable[MAX_READABLE];
    struct place_files files = {.n = 0};
    char report[PROCESS_REPORT_BYTES];
    enum weir_status st = o->user ? process_become_user(o->user, &why) : WEIR_OK;
    if (st != WEIR_OK) return server_fail(e, st, "%s", why.text);
    if (o->place) place_files(&files, o->place); /* those of the user that it is now */
    size_t n_readable = find_readable(s, &files, readable);
    if (mkdir(o->folder, 0700) != 0 && errno != EEXIST)
        return server_fail(e, WEIR_IO, "cannot make %s: %s", o->folder, strerror(errno));
    st = open_log(s, e);
    if (st == WEIR_OK) st = start_runner(s, e);
    if (st != WEIR_OK || !o->is_confined) return st;
    process_keep_log(s->log && strcmp(o->access_log, "-") != 0 ? o->access_log : NULL);
    process_keep_folder(o->models.record ? o->models.record : o->models.replay);
    process_keep_folder(s->sessions_folder); /* which may be a link to where all nodes find it */
    st = process_confine(o->folder, readable, n_readable, report);
    if (st != WEIR_OK) return server_fail(e, st, "cannot give up rights: %s", strerror(errno));
    TRACE(o->trace, TRACE_INFO, "serve", "confined", trace_str("by", weir_slice_of(report)));
    return WEIR_OK;
}

static enum weir_status start_log(struct server *s, struct server_error *e)
{
    enum weir_status st = s->log ? access_log_start(s->log) : WEIR_OK;
    return st == WEIR_OK ? st : server_fail(e, st, "cannot start the access log's thread");
}

static enum weir_status set_up(struct server *s, struct server_error *e)
{
    enum weir_status st = memory_reserve(s->options.reserve_bytes);
    if (st != WEIR_OK) return server_fail(e, st, "cannot reserve memory");
    st = process_watch_signals(&s->signal_fd);
    if (st != WEIR_OK) return server_fail(e, st, "cannot watch signals: %s", strerror(errno));
    st = read_webhook_options(s, e);
    if (st == WEIR_OK) st = load_tls(s, e);
    if (st == WEIR_OK) st = read_privacy(s, e);
    if (st == WEIR_OK) st = make_workers(s, e);
    if (st == WEIR_OK) st = bind_all(s, e);
    if (st == WEIR_OK) st = drop_rights(s, e);
    if (st == WEIR_OK) st = start_log(s, e);
    if (st == WEIR_OK) st = node_look_at_folder(s, e);
    if (st == WEIR_OK) st = open_store(s, e);
    if (st == WEIR_OK) st = node_mark_folder(s, e);
    if (st == WEIR_OK) st = start_writers(s, e);
    if (st == WEIR_OK) st = open_control(s, e);
    return st;
}

enum weir_status server_new(struct server **out, const struct server_options *o,
                            struct server_error *error)
{
    struct server *s = mem_zalloc(sizeof *s);
    error->text[0] = 0;
    if (!s) return server_fail(error, WEIR_NOMEM, "%s", weir_status_text(WEIR_NOMEM));
    init(s, o);
    enum weir_status st = set_up(s, error);
    if (st == WEIR_OK) *out = s;
    else server_free(s);
    return st;
}

/* ---- going down ---- */

/* Other nodes go on with what is under way: at once what waits, the rest between two steps. */
static void hand_over(struct server *s)
{
    bool is_done = turns_drain(s->turns, s->options.grace_ms / 4);
    is_done &= chats_drain(s->chats, s->options.grace_ms / 8);
    is_done &= sessions_drain(s->sessions, s->options.grace_ms / 8);
    TRACE(s->options.trace, TRACE_INFO, "serve",
          is_done ? "nothing runs here any more" : "runs are left for other nodes");
}

/* Steps under way come to their end meanwhile; whoever waits for a turn that did not is told. */
static void *stop_turns(void *server)
{
    struct server *s = server;
    if (store_is_shared(s->store)) hand_over(s);
    turns_stop(s->turns, s->options.grace_ms / 2);
    chats_stop(s->chats, s->options.grace_ms / 4);
    sessions_stop(s->sessions, s->options.grace_ms / 4);
    imports_stop(s->imports, s->options.grace_ms / 2);
    gateway_stop(s->gateway);
    log_waits_end(&s->log_waits);
    return NULL;
}

static void begin_stop(struct server *s)
{
    if (atomic_exchange(&s->is_stopping, true)) return;
    s->is_turns_stopping = pthread_create(&s->turns_stopper, NULL, stop_turns, s) == 0;
    if (!s->is_turns_stopping) log_waits_end(&s->log_waits);
    TRACE(s->options.trace, TRACE_INFO, "serve", "going down");
    process_notify(PROCESS_STOPPING, s->options.clock);
    for (unsigned i = 0; i < s->n_started; i++) worker_stop(s->workers[i]);
    timer_set(&s->grace_timer, s->options.grace_ms, 0);
}

/* Nothing is left to wait for: without watches and timers the runner's loop ends. */
static void end_run(struct server *s)
{
    watch_close(&s->signals, NULL);
    timer_close(&s->grace_timer, NULL);
    timer_close(&s->alive_timer, NULL);
    timer_close(&s->sweep_timer, NULL);
}

static void on_grace_over(struct timer *t)
{
    struct server *s = CONTAINER_OF(t, struct server, grace_timer);
    s->is_cut = true;
    for (unsigned i = 0; i < s->n_started; i++) worker_abort(s->workers[i]);
}

static void on_worker_done(struct post *p)
{
    struct server *s = CONTAINER_OF(p, struct worker, done_post)->server;
    if (++s->n_done == s->n_started) end_run(s);
}

void server_worker_done(struct worker *w)
{
    w->done_post.run = on_worker_done;
    loop_post(w->server->loop, &w->done_post);
}

static void on_stop(struct post *p)
{
    begin_stop(CONTAINER_OF(p, struct server, stop_post));
}

void server_stop(struct server *s)
{
    if (!atomic_exchange(&checked(s)->is_stop_asked, true)) loop_post(s->loop, &s->stop_post);
}

/* ---- running ---- */

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
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}

static void on_signal(struct watch *w, int events)
{
    struct server *s = CONTAINER_OF(w, struct server, signals);
    int number;
    (void)events;
    while ((number = process_next_signal(s->signal_fd)) != 0) {
        if (s->options.on_signal) s->options.on_signal(s->options.signal_user, number);
        if (number == SIGHUP) reload(s);
        if (number != SIGTERM && number != SIGINT) continue;
        if (server_is_stopping(s)) die_of(number);
        begin_stop(s);
    }
}

static void on_alive(struct timer *t)
{
    const struct server *s = CONTAINER_OF(t, struct server, alive_timer);
    process_notify(PROCESS_ALIVE, s->options.clock);
}

/* By a thread of the store's. */
static void sweep_keys(void *server)
{
    struct server *s = server;
    idempotency_sweep(s->store, store_wall_ms(s->store));
    cookies_sweep(s->cookies);
    atomic_store(&s->is_sweeping, false);
}

static void on_sweep(struct timer *t)
{
    struct server *s = CONTAINER_OF(t, struct server, sweep_timer);
    if (atomic_exchange(&s->is_sweeping, true)) return;
    if (store_later(s->store, sweep_keys, s) != WEIR_OK) atomic_store(&s->is_sweeping, false);
}

static enum weir_status start_workers(struct server *s)
{
    enum weir_status st = WEIR_OK;
    while (s->n_started < s->n_workers && st == WEIR_OK) {
        st = worker_start(s->workers[s->n_started]);
        if (st == WEIR_OK) s->n_started++;
    }
    return st;
}

enum weir_status server_run(struct server *s)
{
    enum weir_status st =
        watch_start(checked(s)->loop, &s->signals, s->signal_fd, WATCH_READ, on_signal);
    if (st != WEIR_OK) return st;
    timer_init(s->loop, &s->grace_timer, on_grace_over);
    timer_init(s->loop, &s->alive_timer, on_alive);
    uint64_t alive_ms = process_watchdog_ms();
    if (alive_ms > 0) timer_set(&s->alive_timer, alive_ms, alive_ms);
    timer_init(s->loop, &s->sweep_timer, on_sweep);
    timer_set(&s->sweep_timer, SWEEP_KEYS_MS, SWEEP_KEYS_MS);
    st = start_workers(s);
    if (st != WEIR_OK) begin_stop(s);
    if (s->n_started == 0) end_run(s);
    if (st == WEIR_OK) process_notify(PROCESS_READY, s->options.clock);
    loop_run(s->loop);
    for (unsigned i = 0; i < s->n_started; i++) worker_join(s->workers[i]);
    if (s->is_turns_stopping) pthread_join(s->turns_stopper, NULL);
    if (st != WEIR_OK) return st;
    return s->is_cut ? WEIR_SHUTDOWN : WEIR_OK;
}

/* ---- the end ---- */

/* Whether something still runs that may come back to a loop or the store. */
static bool is_left_running(const struct server *s)
{
    bool is_left = s->imports && imports_is_busy(s->imports);
    for (unsigned i = 0; i < s->n_workers; i++)
        is_left |= s->workers[i]->is_aborted && s->workers[i]->n_exchanges > 0;
    return is_left;
}

static void close_all(struct server *s)
{
    doc_news_end(s);
    shared_stop(s->shared); /* it looks after the rest */
    imports_free(s->imports);
    /* Whoever waits for an answer is told that there will be none, and goes on at the next start.
     */
    if (s->turns) turns_stop(s->turns, 0);
    if (s->chats) chats_stop(s->chats, 0);
    if (s->sessions) sessions_stop(s->sessions, 0);
    runner_close(s->runner);
    models_free(s->models);
    gateway_free(s->gateway);
    turns_free(s->turns);
    chats_free(s->chats);
    sessions_free(s->sessions);
    s->turns = NULL;
    s->chats = NULL;
    s->sessions = NULL;
    sweep_stop(s->sweep);
    hooks_stop(s->hooks);
    reseal_stop(s->reseal);
    links_close(s->links);
    cookies_close(s->cookies);
    login_links_free(s->login_links);
    if (s->keys) keys_close(s->keys);
    for (unsigned i = 0; i < s->n_workers; i++) worker_close_fan(s->workers[i]);
    lives_end(s->lives);
    store_close(s->store);
    shared_free(s->shared);
    lives_free(s->lives);
    hooks_free(s->hooks);
    for (unsigned i = 0; i < s->n_workers; i++) worker_free(s->workers[i]);
    loop_free(s->loop);
    if (s->signal_fd >= 0) close(s->signal_fd);
    if (s->hub) hub_free(s->hub);
    access_log_close(s->log);
    privacy_close(&s->privacy);
    mem_free(s->sessions_folder);
    if (s->tls) tls_context_free(s->tls);
    map_fini(&s->peers.counts);
    log_waits_fini(&s->log_waits);
    doc_news_fini(s);
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
    s->magic = 0;
    mem_free(s);
}
