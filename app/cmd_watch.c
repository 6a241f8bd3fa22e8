/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir watch: a stream of events, shown as it comes: a turn, a session or a chat of a server, any
 * address, a file, or standard input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/slice.h"
#include "io/fetch.h"
#include "local_server.h"
#include "options.h"
#include "remote.h"
#include "stream_watch.h"
#include "term_tty.h"

static const char help[] =
    "usage: weir watch turn ID | session ID | chat ID | URL | FILE | -\n"
    "           [--since N | --last-event-id ID] [--body FILE|-|TEXT] [--header 'NAME: VALUE']...\n"
    "           [--quiet | --json] [--no-keep] [--user USER] [--url URL | --data FOLDER]\n"
    "\n"
    "Shows a stream of server-sent events as it comes: a turn, a session or the newest reply of a\n"
    "conversation of your server, any other address, a file, or standard input. Known are weir's\n"
    "own streams and models' answers in Anthropic's and OpenAI's form; other events are a line\n"
    "each. On a terminal, agents are lanes, gates a grid, and the answer is Markdown; elsewhere,\n"
    "with NO_COLOR or TERM=dumb, they are plain lines. When the connection is lost it is made\n"
    "again, and each event is shown once; streams without ids begin anew, and a model's message,\n"
    "which is paid for, is not asked for again.\n"
    "\n"
    "  --since    turns, sessions: the number of the last event that you have\n"
    "  --last-event-id   chats, URL: its id\n"
    "  --body     URL: POST this, a file, standard input or the JSON itself, as to a model\n"
    "  --header   URL: one more field of the request; @FILE has one in each line. Up to 8\n"
    "  --quiet    the answer alone\n"
    "  --json     every event as a line of JSON: {\"id\",\"event\",\"data\"}; notes about the\n"
    "             connection go to standard error\n"
    "  --no-keep  keep no copy of the events on this machine, which is done for turns, sessions\n"
    "             and chats\n"
    "  --user     whose, of a folder of this machine; without: me\n" CLIENT_HELP "\n"
    "The key of the configuration goes to its own server only; --key-file names one for a URL.\n"
    "Esc twice or Ctrl-C stops watching; what is watched goes on.\n"
    "\n"
    "Examples:\n"
    "  weir watch turn turn_01HX2K3M4N5P6Q7R8S9T0V1W2X\n"
    "  weir watch session ses_01HX2K3M4N5P6Q7R8S9T0V1W2X --since 120\n"
    "  weir watch https://events.example/stream --json | jq .data\n"
    "  weir watch https://api.anthropic.com/v1/messages --body ask.json \\\n"
    "    --header 'anthropic-version: 2023-06-01' --header @key.header\n"
    "  curl -N https://events.example/stream | weir watch -\n"
    "\n"
    "Exit status: 0 complete, 1 failed, 2 wrong usage, 3 the stream ended before it was "
    "complete.\n";

enum {
    PIECE_BYTES = 64 << 10,
    BODY_BYTES = 16 << 20,
    MAX_HEADERS = STREAM_WATCH_FIELDS,
    FIELD_BYTES = 8 << 10,
    ID_BYTES = 256,
};

struct request {
    struct watcher_options options;
    struct client_flags flags;
    const char *user, *since, *body;
    const char *headers[MAX_HEADERS];
    unsigned n_headers;
    struct stream_wish wish;
    char id[ID_BYTES];
    char base[CLIENT_URL_BYTES];
    struct weir_buf body_bytes;
    char fields[MAX_HEADERS][FIELD_BYTES]; /* each a name, a NUL and a value */
};

/* ---- files ---- */

static enum watcher_more read_piece(void *user, struct watcher *w)
{
    char bytes[PIECE_BYTES];
    int fd = *(int *)user;
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return WATCHER_MORE;
    if (n < 0) fprintf(stderr, "weir: reading failed: %s\n", strerror(errno));
    if (n < 0) return WATCHER_BROKEN;
    if (n == 0) return WATCHER_ENDED;
    return watcher_feed(w, slice_of(bytes, (size_t)n)) ? WATCHER_MORE : WATCHER_BROKEN;
}

static int watch_descriptor(int fd, const struct watcher_options *options)
{
    struct watcher *w = watcher_new(options);
    if (!w) return EXIT_FAILED;
    int exit_status =
        watcher_run(w, &(struct watcher_source){.fd = fd, .read = read_piece, .user = &fd});
    int signal_number = watcher_signal(w);
    if (exit_status == EXIT_INCOMPLETE && signal_number == 0 && !watcher_is_left(w))
        fprintf(stderr, "weir: %s\n", watcher_lack(w));
    watcher_free(w);
    if (signal_number != 0) tty_die(signal_number);
    return exit_status;
}

static int watch_file(const char *name, const struct watcher_options *options)
{
    bool is_input = strcmp(name, "-") == 0;
    int fd = is_input ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "weir: %s: %s\n", name, strerror(errno));
        return EXIT_FAILED;
    }
    int exit_status = watch_descriptor(fd, options);
    if (!is_input) close(fd);
    return exit_status;
}

/* Complains and returns false when it cannot be read, or is too long. */
static bool read_whole(const char *name, struct weir_buf *out)
{
    char piece[PIECE_BYTES];
    ssize_t n;
    bool is_input = strcmp(name, "-") == 0;
    int fd = is_input ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    while ((n = fd < 0 ? -1 : read(fd, piece, sizeof piece)) != 0) {
        if (n > 0) weir_buf_append(out, piece, (size_t)n);
        if (n > 0 ? weir_buf_status(out) != WEIR_OK : fd < 0 || errno != EINTR) break;
    }
    if (n < 0) fprintf(stderr, "weir: %s: %s\n", name, strerror(errno));
    if (fd >= 0 && !is_input) close(fd);
    if (n == 0 && weir_buf_status(out) == WEIR_OK) return true;
    if (n >= 0) fprintf(stderr, "weir: %s: %s\n", name, weir_status_text(weir_buf_status(out)));
    return false;
}

/* ---- fields of the request ---- */

static bool is_name(const char *text, size_t len)
{
    static const char token[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.!#$%&'*+^`|~";
    for (size_t i = 0; i < len; i++)
        if (!memchr(token, text[i], sizeof token - 1)) return false;
    return len > 0;
}

static bool add_header(struct request *r, struct weir_slice line)
{
    struct stream_wish *wish = &r->wish;
    const char *colon = line.len > 0 ? memchr(line.ptr, ':', line.len) : NULL;
    size_t n_name = colon ? (size_t)(colon - line.ptr) : 0;
    if (!is_name(line.ptr, n_name) || line.len >= FIELD_BYTES) {
        (void)usage_error(&watch_command, "--header takes 'NAME: VALUE'");
        return false;
    }
    if (wish->n_fields == MAX_HEADERS) {
        (void)usage_error(&watch_command, "there are more than %d headers", MAX_HEADERS);
        return false;
    }
    char *text = r->fields[wish->n_fields];
    memcpy(text, line.ptr, line.len);
    text[n_name] = text[line.len] = '\0';
    const char *value = text + n_name + 1 + strspn(text + n_name + 1, " \t");
    wish->fields[wish->n_fields++] = (struct weir_stream_field){text, weir_slice_of(value)};
    return true;
}

/* So that a secret need not stand in the command line, where others see it. */
static bool add_header_file(struct request *r, const char *name)
{
    struct weir_buf text;
    weir_buf_init(&text, MAX_HEADERS * FIELD_BYTES);
    bool is_good = read_whole(name, &text);
    struct weir_slice rest = weir_buf_slice(&text);
    while (is_good && rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        struct weir_slice line = {rest.ptr, len};
        while (line.len > 0 && strchr(" \t\r", line.ptr[line.len - 1])) line.len--;
        if (line.len > 0) is_good = add_header(r, line);
        rest = slice_from(rest, end ? len + 1 : len);
    }
    if (text.ptr) explicit_bzero(text.ptr, text.cap);
    weir_buf_fini(&text);
    return is_good;
}

static bool add_headers(struct request *r)
{
    for (unsigned i = 0; i < r->n_headers; i++) {
        const char *text = r->headers[i];
        bool is_good =
            text[0] == '@' ? add_header_file(r, text + 1) : add_header(r, weir_slice_of(text));
        if (!is_good) return false;
    }
    return true;
}

/* ---- any address ---- */

static bool is_url(const char *text)
{
    return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

/* Scheme, host and port, as they are written. */
static size_t origin_len(const char *url)
{
    const char *host = strstr(url, "://");
    return host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?#") : 0;
}

/* An address of a turn, session or chat is known as such: `BASE before ID after`. */
static bool is_of(struct request *r, const char *url, const char *before, const char *after)
{
    size_t n_base = origin_len(url);
    const char *id = url + n_base;
    if (strncmp(id, before, strlen(before)) != 0 || n_base >= sizeof r->base) return false;
    id += strlen(before);
    size_t len = strcspn(id, "/?#&%");
    if (len == 0 || len >= sizeof r->id || strcmp(id + len, after) != 0) return false;
    memcpy(r->base, url, n_base);
    r->base[n_base] = '\0';
    memcpy(r->id, id, len);
    r->id[len] = '\0';
    return true;
}

static void take_url(struct request *r, const char *url)
{
    struct stream_wish *wish = &r->wish;
    wish->url = url;
    if (r->body) wish->kind = WEIR_STREAM_MODEL;
    else if (wish->last_event_id) wish->kind = WEIR_STREAM_ANY;
    else if (is_of(r, url, "/v1/turns/", "/events")) wish->kind = WEIR_STREAM_TURN;
    else if (is_of(r, url, "/sse/sessions/", "")) wish->kind = WEIR_STREAM_SESSION;
    else if (is_of(r, url, "/ai/chat?conversationId=", "")) wish->kind = WEIR_STREAM_CHAT;
    if (wish->kind == WEIR_STREAM_ANY || wish->kind == WEIR_STREAM_MODEL) return;
    wish->url = r->base;
    wish->id = r->id;
}

/*
 * A key goes to the server that it was configured for, and elsewhere only when --key-file says so:
 * an address may be anybody's.
 */
static int load_for_url(const struct request *r, struct client_config *config)
{
    char why[CLIENT_WHY_BYTES];
    char origin[CLIENT_URL_BYTES];
    const char *url = r->wish.url;
    struct client_flags flags = r->flags;
    size_t len = origin_len(url);
    bool is_other = client_config_find(&flags, config, why) != EXIT_DONE || config->is_local ||
                    origin_len(config->url) != len || strncasecmp(config->url, url, len) != 0;
    if (!is_other) return EXIT_DONE;
    client_config_forget(config);
    memset(config, 0, sizeof *config);
    if (!flags.key_file && !flags.ca_file) return EXIT_DONE;
    snprintf(origin, sizeof origin, "%.*s", (int)len, url);
    flags.url = origin;
    int exit_status = client_config_load(&flags, config);
    if (!flags.key_file) client_config_forget(config);
    return exit_status;
}

static bool take_body(struct request *r)
{
    const char *body = r->body;
    if (!body) return true;
    if (body[0] == '{' || body[0] == '[') weir_buf_append_str(&r->body_bytes, body);
    else if (!read_whole(body, &r->body_bytes)) return false;
    r->wish.body = weir_buf_slice(&r->body_bytes);
    return weir_buf_status(&r->body_bytes) == WEIR_OK;
}

static bool can_be_asked(const char *url)
{
    const char *why;
    char shown[CLIENT_URL_BYTES];
    if (fetch_check_url(NULL, weir_slice_of(url), &why) == WEIR_OK) return true;
    client_url_shown(weir_slice_of(url), shown);
    fprintf(stderr, "weir: %s: %s\n", shown, why);
    return false;
}

static int watch_url(struct request *r, const char *url)
{
    struct client_config config;
    int signal_number = 0;
    if (r->flags.url || r->flags.data)
        return usage_error(&watch_command, "the address says where the server is");
    if (!can_be_asked(url)) return EXIT_FAILED;
    take_url(r, url);
    if (!add_headers(r)) return EXIT_USAGE;
    weir_buf_init(&r->body_bytes, BODY_BYTES);
    int exit_status = take_body(r) ? load_for_url(r, &config) : EXIT_FAILED;
    if (exit_status == EXIT_DONE) {
        r->wish.key = config.key;
        r->wish.ca_file = config.ca_file;
        exit_status = stream_watch(NULL, &r->wish, &r->options, &signal_number);
        client_config_forget(&config);
    }
    weir_buf_fini(&r->body_bytes);
    if (signal_number != 0) tty_die(signal_number);
    return exit_status;
}

/* ---- turns, sessions, chats ---- */

struct using
{
    struct request *request;
    int signal_number;
};

static int watch_with(const struct client_config *config, void *user)
{
    struct using *u = user;
    return stream_watch(config, &u->request->wish, &u->request->options, &u->signal_number);
}

/* WEIR_STREAM_ANY: none of them. */
static enum weir_stream_kind kind_of(const char *what)
{
    if (strcmp(what, "turn") == 0) return WEIR_STREAM_TURN;
    if (strcmp(what, "session") == 0) return WEIR_STREAM_SESSION;
    return strcmp(what, "chat") == 0 ? WEIR_STREAM_CHAT : WEIR_STREAM_ANY;
}

static int watch_own(struct request *r, const char *what, const char *id)
{
    struct client_config config;
    struct using u = {.request = r};
    r->wish.kind = kind_of(what);
    if (r->wish.kind == WEIR_STREAM_ANY)
        return usage_error(&watch_command, "turn, session or chat, and not \"%s\"", what);
    if (!local_server_is_name(id) || (r->user && !local_server_is_name(r->user)))
        return usage_error(&watch_command, "ids and users have letters, digits, . _ - @");
    r->wish.id = id;
    r->wish.user = r->user;
    int exit_status = client_config_load(&r->flags, &config);
    if (exit_status == EXIT_DONE && !remote_takes_user(&config, r->user)) exit_status = EXIT_USAGE;
    if (exit_status == EXIT_DONE) exit_status = remote_run(&config, watch_with, &u);
    client_config_forget(&config);
    /* Only now, when a server of our own has closed its store. */
    if (u.signal_number != 0) tty_die(u.signal_number);
    return exit_status;
}

/* ---- the command ---- */

/* Whether the options go together with what is watched. */
static int check_options(const struct request *r, bool is_own, bool is_file)
{
    if (!is_own && r->since)
        return usage_error(&watch_command, "--since is for turns and sessions");
    if (is_file && (r->wish.last_event_id || r->body || r->n_headers > 0))
        return usage_error(&watch_command, "a file has no server to say that to");
    if (is_own && (r->body || r->n_headers > 0))
        return usage_error(&watch_command, "--body and --header are for a URL");
    if (r->body && r->wish.last_event_id)
        return usage_error(&watch_command, "what is asked for by --body begins at its beginning");
    if (!is_own && r->user)
        return usage_error(&watch_command, "--user is for turns, sessions and chats");
    return EXIT_DONE;
}

/* The number of an event. */
static bool take_since(struct request *r)
{
    const struct stream_wish *wish = &r->wish;
    char *end = NULL;
    if (!r->since) return true;
    errno = 0;
    r->wish.since = strtoull(r->since, &end, 10);
    return r->since[0] >= '0' && r->since[0] <= '9' && *end == '\0' && errno == 0 &&
           !wish->last_event_id;
}

static int run(int argc, char **argv)
{
    struct request r = {.options = {.notes = stdout}};
    struct option_texts headers = {r.headers, &r.n_headers, MAX_HEADERS};
    const struct option_row rows[] = {
        {.name = "since", .kind = OPTION_TEXT, .to = &r.since},
        {.name = "last-event-id", .kind = OPTION_TEXT, .to = &r.wish.last_event_id},
        {.name = "body", .kind = OPTION_TEXT, .to = &r.body},
        {.name = "header", .kind = OPTION_TEXTS, .to = &headers},
        {.name = "quiet", .kind = OPTION_FLAG, .to = &r.options.is_quiet},
        {.name = "json", .kind = OPTION_FLAG, .to = &r.options.is_json},
        {.name = "user", .kind = OPTION_TEXT, .to = &r.user},
        {.name = "no-keep", .kind = OPTION_FLAG, .to = &r.wish.is_not_kept},
        CLIENT_OPTION_ROWS(&r.flags),
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&watch_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words < 1 || n_words > 2)
        return usage_error(&watch_command, "turn ID, session ID, chat ID, a URL, a file or -");
    if (n_words == 1 && kind_of(words[0]) != WEIR_STREAM_ANY)
        return usage_error(&watch_command, "which %s? (a file of that name is ./%s)", words[0],
                           words[0]);
    bool is_own = n_words == 2;
    bool is_file = !is_own && !is_url(words[0]);
    exit_status = check_options(&r, is_own, is_file);
    if (exit_status != EXIT_DONE) return exit_status;
    if (!take_since(&r)) return usage_error(&watch_command, "--since takes the number of an event");
    if (is_own) return watch_own(&r, words[0], words[1]);
    return is_file ? watch_file(words[0], &r.options) : watch_url(&r, words[0]);
}

const struct command watch_command = {
    .name = "watch",
    .summary = "show a stream of events as it comes",
    .help = help,
    .run = run,
};
