/* SPDX-License-Identifier: Apache-2.0 */
/* weir serve: the server, from its command line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/json.h>

#include "data_folder.h"
#include "io/secret_file.h"
#include "options.h"
#include "output.h"
#include "serve/jwt.h"
#include "serve/login_link.h"
#include "serve/place.h"
#include "serve/resource.h"
#include "serve/server.h"
#include "serve_drain.h"

enum {
    MAX_LOOPS = 256,
    MAX_TIME_MS = 24 * 3600 * 1000,
    MAX_PACE_MS = 60 * 1000,
    MIN_LEASE_MS = 1000,
    MAX_LEASE_MS = 10 * 60 * 1000,
    MAX_KEEP_EVENTS = 1000 * 1000 * 1000,
    MAX_KEEP_S = 10 * 366 * 24 * 3600,
};

static const char help[] =
    "usage: weir serve [--data FOLDER] [--listen HOST:PORT]... [OPTION]...\n"
    "       weir serve --drain [--data FOLDER] [--wait TIME] [--json]\n"
    "\n"
    "Serves streams over HTTP: what is appended is on the disk before anybody sees it, and\n"
    "every reader gets all of it, in order, wherever it was interrupted. The first line on\n"
    "standard output says where it listens. SIGTERM and SIGINT end it in good order.\n"
    "\n"
    "It has a page for browsers. At a terminal it prints a link that signs one in there, once\n"
    "and within 10 minutes; \"weir key link\" prints another.\n"
    "\n"
    "  --data FOLDER      where everything is kept; without: $WEIR_DATA or\n"
    "                     ~/.local/share/weir. Made if it is not there\n"
    "  --store URL        keep everything in this database of PostgreSQL, which several servers\n"
    "                     may share (docs/nodes.md); without: $WEIR_STORE_URL, or the folder\n"
    "  --store-file FILE  the same by a file with the URL, for one with a password\n"
    "  --lease TIME       one that is silent for so long loses its work to the others (6s)\n"
    "  --listen HOST:PORT  where to listen; without: 127.0.0.1:8080. Port 0 takes a free\n"
    "                     one, *:8080 all addresses. May be given several times. Sockets\n"
    "                     that systemd passes are used in place of these\n"
    "  --open             no keys: whoever can connect may do everything. For trying out;\n"
    "                     on loopback addresses only\n"
    "  --jwt FILE         whose JSON Web Tokens are as good as keys (docs/serve.md)\n"
    "  --shield FILE      what is done about private data (docs/shield.md)\n"
    "  --shield-key FILE  keys of what is sealed (shield.key in the data folder)\n"
    "  --durability full  (or normal) full: an append is answered when the disk has it.\n"
    "                     normal: when the kernel has it; that survives a crash of the\n"
    "                     server, but the last moments not that of the machine\n"
    "  --tls-cert FILE, --tls-key FILE   serve HTTPS with this certificate chain and key\n"
    "                     (PEM); SIGHUP reads them again\n"
    "  --cors-origin LIST  web origins that may call from a browser, by commas, or *\n"
    "  --access-log FILE  a line for each request; - is standard error; SIGHUP reopens it\n"
    "  --log FORMAT       the server's own messages on standard error: text, json or off\n"
    "  --webhook-allow HOST  (or an address, or a prefix such as 10.0.0.0/8) a webhook may go\n"
    "                     there, although it is not public, and without https. May be given\n"
    "                     several times\n"
    "  --public-url URL   how others reach the server, for the URLs in webhooks and of its\n"
    "                     page; without: by the first address that it listens on\n"
    "  --user USER        become this user once the addresses are taken; root has to\n"
    "  --no-confine       keep the system calls that a server does not need\n"
    "  --loops N          threads that serve; without: one for each processor\n"
    "  --grace TIME       how long to wait for answers when ending (10s)\n"
    "  --reserve BYTES    memory to take at the start, not under load (24M)\n"
    "  --user-turns N     turns of one user that may be in flight (3)\n"
    "  --turn-heartbeat SECONDS  comment lines in the streams of turns, for impatient proxies\n"
    "  --turn-pace TIME   wait before each step of a turn, so that one can watch it\n"
    "  --user-replies N   replies of one user's chats that may be in flight (3)\n"
    "  --chat-grace TIME  how long a reply goes on that nobody reads (30s)\n"
    "  --chat-keep TIME   how long the events of a reply are kept after its end (24h)\n"
    "  --chat-decision TIME  how long a question about private values is open (60s)\n"
    "  --session-keep-events N  events of a session that are kept at least (10000)\n"
    "  --session-keep TIME  how long they are kept at least (7d)\n"
    "  --session-heartbeat TIME  comment lines in silent streams of sessions (15s)\n"
    "  --approval-timeout TIME  a tool that nobody allows in this time is denied (10m)\n"
    "  --clarify-timeout TIME  how long a question of a session is open (5m)\n"
    "  --models FILE      which models agents ask (docs/models.md); without: none\n"
    "  --max-turn-usd USD  no model is asked any more when a turn has cost this: it fails\n"
    "  --tools FILE       programs that models may use as tools (docs/tools.md)\n"
    "  --record FOLDER    keep what models answer there, as cassettes\n"
    "  --replay FOLDER    play cassettes of that folder instead of asking models\n"
    "\n"
    "Before a deploy, to the server that runs on the folder:\n"
    "  --drain            tells it to move its work away: other servers on the same database go\n"
    "                     on with what it runs, and with what is begun there. Readers stay,\n"
    "                     /readyz is 503. Waits until no work is left; then SIGTERM ends it\n"
    "  --wait TIME        how long to wait for that (60s); then the exit status is 1\n"
    "  --json             one object: {\"drained\",\"others\",\"turns\",\"sessions\",\"chats\",\n"
    "                     \"imports\"}: how much is left, and whether others take it\n"
    "\n"
    "Limits, with their defaults:\n"
    "  --max-head 16K   --head-timeout 10s   --max-connections 0 (by descriptors)\n"
    "  --max-body 1M      --body-timeout 30s     --max-per-address 1024 (0: none)\n"
    "  --max-import 1G    --idle-timeout 75s     --max-in-flight 64\n"
    "  --max-queue 64M    --write-timeout 60s    --stall-timeout 10m    --poll-timeout 20s\n"
    "\n"
    "Examples:\n"
    "  weir serve --open                               # in one terminal\n"
    "  curl -N http://127.0.0.1:8080/v1/streams/demo   # in another\n"
    "  curl --json '{\"hello\":1}' http://127.0.0.1:8080/v1/streams/demo\n"
    "\n"
    "Exit status: 0 ended in good order, 1 error, 2 wrong usage. More: weir-serve(1).\n";

/* What the options say that is no field of struct server_options. */
/* What the store's and the fan's ceilings allow them to take, and some connections. */
enum { RESERVE_BYTES = 24 << 20 };

struct serve_words {
    const char *data;
    const char *store, *store_file;
    const char *durability;
    const char *log;
    const char *models;
    const char *max_turn_usd;
    const char *jwt;
    const char *tools;
    unsigned keep_ms; /* of events of chats; 0: as long as they are by themselves */
    /* Of sessions; 0: as they are by themselves. */
    unsigned session_keep_events, session_keep_s, approval_ms, clarify_ms;
    unsigned lease_ms; /* 0: the engines' own */
    struct drain_wish drain;
};

/* EXIT_DONE when the words make sense. */
static int read_words(const struct serve_words *w, struct server_options *o, struct trace *trace)
{
    if (strcmp(w->durability, "normal") == 0) o->store.durability = STORE_DURABLE_NORMAL;
    else if (strcmp(w->durability, "full") != 0)
        return usage_error(&serve_command, "--durability is full or normal, not \"%s\"",
                           w->durability);
    if (strcmp(w->log, "json") == 0) trace->format = TRACE_JSON;
    else if (strcmp(w->log, "off") == 0) o->trace = NULL;
    else if (strcmp(w->log, "text") != 0)
        return usage_error(&serve_command, "--log is text, json or off, not \"%s\"", w->log);
    o->chats.keep_ms = w->keep_ms;
    o->sessions.keep_events = w->session_keep_events;
    o->sessions.keep_ms = (int64_t)w->session_keep_s * 1000;
    o->sessions.approval_ms = w->approval_ms;
    o->sessions.clarify_ms = w->clarify_ms;
    o->turns.lease_ms = o->chats.lease_ms = o->sessions.lease_ms = w->lease_ms;
    if (!o->tls_cert != !o->tls_key)
        return usage_error(&serve_command, "--tls-cert and --tls-key go together");
    if (w->jwt && o->is_open)
        return usage_error(&serve_command, "--jwt and --open exclude each other");
    if (o->models.record && o->models.replay)
        return usage_error(&serve_command, "--record and --replay exclude each other");
    if (!w->models && (o->models.record || o->models.replay))
        return usage_error(&serve_command, "--record and --replay go together with --models");
    return EXIT_DONE;
}

static int parse(int argc, char **argv, struct server_options *o, struct trace *trace,
                 struct serve_words *w)
{
    struct server_limits *l = &o->limits;
    struct option_texts listen = {o->listen, &o->n_listen, SERVER_MAX_LISTEN};
    struct option_texts allow = {o->webhook_allow, &o->n_webhook_allow, TARGET_MAX_RULES};
    const struct option_row rows[] = {
        {"data", OPTION_TEXT, &w->data, 0, 0},
        {"store", OPTION_TEXT, &w->store, 0, 0},
        {"store-file", OPTION_TEXT, &w->store_file, 0, 0},
        {"listen", OPTION_TEXTS, &listen, 0, 0},
        {"open", OPTION_FLAG, &o->is_open, 0, 0},
        {"jwt", OPTION_TEXT, &w->jwt, 0, 0},
        {"shield", OPTION_TEXT, &o->shield, 0, 0},
        {"shield-key", OPTION_TEXT, &o->shield_key, 0, 0},
        {"durability", OPTION_TEXT, &w->durability, 0, 0},
        {"tls-cert", OPTION_TEXT, &o->tls_cert, 0, 0},
        {"tls-key", OPTION_TEXT, &o->tls_key, 0, 0},
        {"cors-origin", OPTION_TEXT, &o->cors_origin, 0, 0},
        {"access-log", OPTION_TEXT, &o->access_log, 0, 0},
        {"log", OPTION_TEXT, &w->log, 0, 0},
        {"webhook-allow", OPTION_TEXTS, &allow, 0, 0},
        {"public-url", OPTION_TEXT, &o->public_url, 0, 0},
        {"user", OPTION_TEXT, &o->user, 0, 0},
        {"no-confine", OPTION_UNSET, &o->is_confined, 0, 0},
        {"loops", OPTION_COUNT, &o->n_loops, 1, MAX_LOOPS},
        {"grace", OPTION_TIME, &o->grace_ms, 0, MAX_TIME_MS},
        {"reserve", OPTION_BYTES, &o->reserve_bytes, 0, 0},
        {"user-turns", OPTION_COUNT, &o->turns.user_turns, 1, TURN_MAX_USER_TURNS},
        {"turn-heartbeat", OPTION_TIME, &o->turn_heartbeat_ms, 100, MAX_TIME_MS},
        {"lease", OPTION_TIME, &w->lease_ms, MIN_LEASE_MS, MAX_LEASE_MS},
        {"turn-pace", OPTION_TIME, &o->turns.pace_ms, 0, MAX_PACE_MS},
        {"user-replies", OPTION_COUNT, &o->chats.user_replies, 1, TURN_MAX_USER_TURNS},
        {"chat-grace", OPTION_TIME, &o->chats.grace_ms, 1, MAX_TIME_MS},
        {"chat-keep", OPTION_TIME, &w->keep_ms, 1, MAX_TIME_MS},
        {"chat-decision", OPTION_TIME, &o->chats.decision_ms, 1, MAX_TIME_MS},
        {"session-keep-events", OPTION_COUNT, &w->session_keep_events, 1, MAX_KEEP_EVENTS},
        {"session-keep", OPTION_LIFE, &w->session_keep_s, 1, MAX_KEEP_S},
        {"session-heartbeat", OPTION_TIME, &o->session_heartbeat_ms, 100, MAX_TIME_MS},
        {"approval-timeout", OPTION_TIME, &w->approval_ms, 1, MAX_TIME_MS},
        {"clarify-timeout", OPTION_TIME, &w->clarify_ms, 1, MAX_TIME_MS},
        {"models", OPTION_TEXT, &w->models, 0, 0},
        {"max-turn-usd", OPTION_TEXT, &w->max_turn_usd, 0, 0},
        {"tools", OPTION_TEXT, &w->tools, 0, 0},
        {"record", OPTION_TEXT, &o->models.record, 0, 0},
        {"replay", OPTION_TEXT, &o->models.replay, 0, 0},
        {"max-head", OPTION_BYTES, &l->head_bytes, 1 << 10, 1 << 20},
        {"max-body", OPTION_BYTES, &l->body_bytes, 1 << 10, STORE_FRAME_BYTES - 1024},
        {"max-import", OPTION_BYTES, &l->import_bytes, 1 << 10, INT64_MAX},
        {"max-queue", OPTION_BYTES, &o->store.queue_bytes, 1 << 20, 1ull << 36},
        {"head-timeout", OPTION_TIME, &l->head_timeout_ms, 100, MAX_TIME_MS},
        {"body-timeout", OPTION_TIME, &l->body_timeout_ms, 100, MAX_TIME_MS},
        {"idle-timeout", OPTION_TIME, &l->idle_timeout_ms, 100, MAX_TIME_MS},
        {"write-timeout", OPTION_TIME, &l->write_timeout_ms, 100, MAX_TIME_MS},
        {"stall-timeout", OPTION_TIME, &l->stall_timeout_ms, 100, MAX_TIME_MS},
        {"poll-timeout", OPTION_TIME, &l->poll_timeout_ms, 100, MAX_TIME_MS},
        {"max-connections", OPTION_COUNT, &l->max_connections, 0, 0},
        {"max-per-address", OPTION_COUNT, &l->max_per_address, 0, 0},
        {"max-in-flight", OPTION_COUNT, &l->max_in_flight, 1, 65536},
        {"drain", OPTION_FLAG, &w->drain.is_wished, 0, 0},
        {"wait", OPTION_TIME, &w->drain.wait_ms, 0, MAX_TIME_MS},
        {"json", OPTION_FLAG, &w->drain.is_json, 0, 0},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&serve_command, argc, argv, rows, &words, &n_words);
    if (exit_status == EXIT_DONE && n_words > 0)
        return usage_error(&serve_command, "one word too many: \"%s\"", words[0]);
    return exit_status == EXIT_DONE ? read_words(w, o, trace) : exit_status;
}

/* What to do about the usual reasons; the server's own sentence names the thing. */
static void advise(enum weir_status st, const char *text)
{
    static const struct {
        int error;
        const char *advice;
    } advices[] = {
        {EADDRINUSE, "Something listens there already. Take another port with --listen "
                     "HOST:PORT; port 0 takes a free one."},
        {EADDRNOTAVAIL, "This machine has no such address; --listen takes one of its own, or *."},
        {EACCES, "Ports below 1024 are root's: take a higher one, or start as root with --user. "
                 "A folder or file has to be readable by the server's user."},
        {EROFS, "The file system is read-only: name a folder on another one with --data."},
        {ENOSPC, "The disk is full: make room, or name a folder on another one with --data."},
    };
    if (st == WEIR_LOCKED)
        fputs("Is there a weir serve on this folder already? One folder has one server; name "
              "another with --data FOLDER.\n",
              stderr);
    if (st == WEIR_NEWER)
        fputs("Start the newer weir, or name another folder with --data FOLDER.\n", stderr);
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (strstr(text, strerror(advices[i].error))) fprintf(stderr, "%s\n", advices[i].advice);
}

static bool is_watched(void)
{
    return isatty(STDOUT_FILENO) == 1;
}

/*
 * Where the page is, for somebody who sees it now: what logs a browser in has no place in the
 * journal of a service.
 */
static void invite(struct server *s, const struct server_options *o)
{
    char text[LOGIN_URL_BYTES];
    struct weir_buf url = {.ptr = text, .cap = sizeof text, .max = sizeof text};
    if (!is_watched()) return;
    if (o->is_open) {
        printf("the page is at %s/\n", server_address(s, 0));
        return;
    }
    enum weir_status st = login_link_offer(s, &url);
    if (st == WEIR_OK)
        printf("the page is at %.*s\n"
               "(the link works once, for %d minutes; \"weir key link\" makes another)\n",
               (int)url.len, url.ptr, LOGIN_LINK_LIFE_S / 60);
    else fprintf(stderr, "weir: no link to the page: %s\n", weir_status_text(st));
    explicit_bzero(text, sizeof text);
}

/* Whoever waits for the line reads it from a pipe. */
static bool announce(struct server *s, const struct server_options *o)
{
    for (unsigned i = 0; server_address(s, i); i++)
        printf("listening on %s\n", server_address(s, i));
    invite(s, o);
    return output_flush();
}

static void advise_on_keys(struct server *s, const struct server_options *o)
{
    struct keys *keys = o->is_open ? NULL : server_keys(s);
    if (is_watched()) return; /* the link to the page will be for one */
    if (!keys || o->jwt || keys_count(keys) > 0) return;
    fprintf(stderr,
            "There is no key yet, so nobody may do anything. Make one with\n"
            "    weir key create --data %s\n",
            o->folder);
}

static int serve(struct server_options *o)
{
    struct server *s;
    struct server_error error = {{0}};
    enum weir_status st = server_new(&s, o, &error);
    if (st != WEIR_OK) {
        fprintf(stderr, "weir: %s\n", error.text[0] != 0 ? error.text : weir_status_text(st));
        advise(st, error.text);
        return EXIT_FAILED;
    }
    advise_on_keys(s, o);
    if (!announce(s, o)) fputs("weir: nobody reads where it listens\n", stderr);
    st = server_run(s);
    if (resource_n_working() > 0) {
        /* A backup that outlives the grace time still reads the store: it is left to it. */
        _exit(output_flush() ? EXIT_DONE : EXIT_FAILED);
    }
    server_free(s);
    return st == WEIR_OK || st == WEIR_SHUTDOWN ? EXIT_DONE : EXIT_FAILED;
}

/* An amount of money, if the text is there; EXIT_DONE when it makes sense. */
static int read_amount(const char *name, const char *text, double *out)
{
    if (!text || text[0] == 0) return EXIT_DONE;
    const struct weir_json *number = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(1024);
    bool is_good = doc && weir_json_parse(doc, weir_slice_of(text), &number, NULL) == WEIR_OK &&
                   weir_json_double(number, out) && *out > 0;
    weir_json_doc_free(doc);
    if (is_good) return EXIT_DONE;
    return usage_error(&serve_command, "%s is an amount as 0.50, not \"%s\"", name, text);
}

/* EXIT_DONE when the folders of cassettes are there. */
static int make_cassette_folders(const struct server_options *o)
{
    struct stat info;
    const char *replay = o->models.replay;
    if (o->models.record && !data_folder_make(o->models.record, o->user)) return EXIT_FAILED;
    if (!replay || (stat(replay, &info) == 0 && S_ISDIR(info.st_mode))) return EXIT_DONE;
    fprintf(stderr, "weir: --replay needs a folder of cassettes; %s is none\n", replay);
    return EXIT_FAILED;
}

/* Whom to ask, and what a turn may cost: the command line goes before the file. */
static int read_models(const struct serve_words *w, struct server_options *o,
                       struct model_config **config)
{
    char why[MODEL_WHY_BYTES] = "";
    if (!w->models) return EXIT_DONE;
    enum weir_status st = model_config_read(config, w->models, why);
    if (st != WEIR_OK) {
        fprintf(stderr, "weir: %s\n", why[0] != 0 ? why : weir_status_text(st));
        return EXIT_FAILED;
    }
    o->model_config = *config;
    if (!w->max_turn_usd) o->turns.max_turn_usd = model_config_max_turn_usd(*config);
    return EXIT_DONE;
}

/* Whose tokens are taken. */
static int read_jwt(const struct serve_words *w, struct server_options *o, struct jwt_trust **trust)
{
    char why[JWT_WHY_BYTES] = "";
    if (!w->jwt) return EXIT_DONE;
    enum weir_status st = jwt_trust_read(trust, w->jwt, why);
    if (st != WEIR_OK) {
        fprintf(stderr, "weir: %s\n", why[0] != 0 ? why : weir_status_text(st));
        return EXIT_FAILED;
    }
    o->jwt = *trust;
    return EXIT_DONE;
}

/*
 * Which store, if not the folder's: `url` gets it. Words of a command line are there for all to see
 * in the list of processes, and what was a password in them is written over.
 */
static int read_store(const struct serve_words *w, struct server_options *o, char url[PLACE_BYTES])
{
    size_t len = 0;
    struct secret_file_error error;
    if (w->store && w->store_file)
        return usage_error(&serve_command, "--store and --store-file exclude each other");
    const char *given = w->store ? w->store : getenv("WEIR_STORE_URL");
    url[0] = 0;
    if (w->store_file) {
        enum weir_status st = secret_file_read(w->store_file, url, PLACE_BYTES, &len, &error);
        if (st != WEIR_OK) {
            fprintf(stderr, "weir: %s\n", error.text);
            return EXIT_FAILED;
        }
        url[len] = 0;
        url[strcspn(url, " \t\r\n")] = 0;
    } else if (given) {
        snprintf(url, PLACE_BYTES, "%s", given);
    }
    if (w->store) place_wipe((char *)(uintptr_t)w->store);
    /* An option that is empty is a mistake: a variable that was not set. */
    if (!w->store && !w->store_file && (!given || given[0] == 0)) return EXIT_DONE;
    if (!place_is_url(url) || strlen(url) >= PLACE_BYTES - 1) {
        fputs("weir: the store has to be a URL as postgres://USER@HOST/DATABASE\n", stderr);
        return EXIT_USAGE;
    }
    if (place_is_ambiguous(url)) {
        fputs("weir: escape @ / ? and # in the password of the store: %40 %2F %3F %23\n", stderr);
        return EXIT_USAGE;
    }
    o->place = url;
    return EXIT_DONE;
}

/* Programs of somebody's own. */
static int read_tools(const struct serve_words *w, struct server_options *o,
                      struct session_programs **programs)
{
    char why[SESSION_WHY_BYTES] = "";
    if (!w->tools) return EXIT_DONE;
    enum weir_status st = session_programs_read(programs, w->tools, why);
    if (st != WEIR_OK) {
        fprintf(stderr, "weir: %s\n", why[0] != 0 ? why : weir_status_text(st));
        return EXIT_FAILED;
    }
    o->sessions.programs = *programs;
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct server_options o;
    struct trace trace;
    struct serve_words words = {
        .durability = "full", .log = "text", .drain = {.wait_ms = DRAIN_NO_TIME}};
    char folder[DATA_FOLDER_BYTES];
    char url[PLACE_BYTES];
    server_options_init(&o);
    o.reserve_bytes = RESERVE_BYTES;
    trace_init(&trace, &clock_system, STDERR_FILENO);
    o.trace = &trace;
    o.takes_inherited = true;
    int exit_status = parse(argc, argv, &o, &trace, &words);
    if (exit_status == EXIT_DONE) exit_status = drain_check(&words.drain, argc, argv);
    if (exit_status == EXIT_DONE && words.drain.is_wished)
        return drain_run(&words.drain, words.data);
    if (exit_status == EXIT_DONE)
        exit_status =
            read_amount("WEIR_COST_WARN_USD", getenv("WEIR_COST_WARN_USD"), &o.turns.cost_warn_usd);
    if (exit_status == EXIT_DONE)
        exit_status = read_amount("--max-turn-usd", words.max_turn_usd, &o.turns.max_turn_usd);
    if (exit_status == EXIT_DONE) exit_status = read_store(&words, &o, url);
    if (exit_status != EXIT_DONE) return exit_status;
    if (!data_folder_find(words.data, folder)) return EXIT_USAGE;
    if (!data_folder_make(folder, o.user)) return EXIT_FAILED;
    o.folder = folder;
    struct model_config *config = NULL;
    struct jwt_trust *trust = NULL;
    struct session_programs *programs = NULL;
    exit_status = make_cassette_folders(&o);
    if (exit_status == EXIT_DONE) exit_status = read_models(&words, &o, &config);
    if (exit_status == EXIT_DONE) exit_status = read_jwt(&words, &o, &trust);
    if (exit_status == EXIT_DONE) exit_status = read_tools(&words, &o, &programs);
    if (exit_status == EXIT_DONE) exit_status = serve(&o);
    session_programs_free(programs);
    jwt_trust_free(trust);
    model_config_free(config);
    explicit_bzero(url, sizeof url);
    return exit_status;
}

const struct command serve_command = {
    .name = "serve",
    .summary = "keep streams on disk and serve them over HTTP",
    .help = help,
    .run = run,
};
