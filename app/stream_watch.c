/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/json.h>

#include "base/clock.h"
#include "base/slice.h"
#include "command.h"
#include "control.h"
#include "local_server.h"
#include "output.h"
#include "remote.h"
#include "term_text.h"

enum {
    HELD_BYTES = 64 << 20, /* of a durable stream, until its offset comes */
    WHY_BYTES = 1024,
    BODY_SHOWN_BYTES = 400, /* of an answer that is no event stream */
    URL_BYTES = 1024,
    CODE_BYTES = 32,
    SOCKET_BYTES = 64,
    LOCAL_RETRY_MS = 200, /* nobody but us waits for this machine's own server */
    LOCAL_RETRY_MAX_MS = 2000,
    BEHIND_MS = 400, /* what a turn waits for is told when nothing has come for so long */
};

struct watching {
    const struct stream_wish *wish;
    struct watcher *watcher;
    struct weir_client *client;
    struct weir_event_stream *stream;
    struct control_stream control;
    bool has_events;
    bool has_ids; /* so that it can be gone on with */
    bool is_closed;
    enum weir_status closed; /* why */
    bool is_durable;
    bool is_wrong;   /* it says of itself to be durable, and is not */
    bool is_gone;    /* there is no such session */
    bool is_in_turn; /* the turn that is wanted has begun */
    struct stream_behind behind;
    bool is_behind_news;  /* nobody was told yet */
    uint64_t heard_ns;    /* when something came last; 0: there is no connection */
    int folder_fd;        /* of a local server, for its socket; -1: none */
    struct weir_buf held; /* events of a durable stream, in their wire form */
};

/* ---- what went wrong, for people ---- */

static bool put_message(struct weir_buf *out, const struct weir_json *v)
{
    static const char *const names[] = {"message", "error", "detail", "title"};
    const struct weir_json *error = weir_json_get_str(v, "error");
    if (weir_json_type_of(error) == WEIR_JSON_OBJECT) v = error;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct weir_slice text = weir_json_text(weir_json_get_str(v, names[i]));
        if (text.len == 0) continue;
        term_clean_label(out, text);
        return true;
    }
    return false;
}

/* The message of an answer in JSON, or the beginning of any other. */
static void put_body(struct weir_buf *out, struct weir_slice body)
{
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (body.len == 0 || !doc) {
        weir_json_doc_free(doc);
        return;
    }
    weir_buf_append_str(out, ": ");
    bool is_json = weir_json_parse(doc, body, &v, NULL) == WEIR_OK;
    if (!is_json || !put_message(out, v)) {
        if (body.len > BODY_SHOWN_BYTES) body.len = BODY_SHOWN_BYTES;
        term_clean_label(out, body);
    }
    weir_json_doc_free(doc);
}

static void explain(const struct weir_stream_error *error, enum weir_stream_kind kind,
                    char why[WHY_BYTES])
{
    struct weir_buf text;
    weir_buf_init(&text, WHY_BYTES - 1);
    weir_buf_append_str(&text, error->why);
    bool is_answer = error->http_status != 0 && error->http_status != 200;
    if (is_answer) weir_buf_printf(&text, " (HTTP %d)", error->http_status);
    put_body(&text, error->body);
    if (kind == WEIR_STREAM_MODEL && error->status == WEIR_BAD_TYPE)
        weir_buf_append_str(&text, " (models stream when the body says \"stream\": true)");
    snprintf(why, WHY_BYTES, "%.*s", (int)text.len, text.len > 0 ? text.ptr : "");
    weir_buf_fini(&text);
}

/* ---- durable streams ---- */

static bool is_durable(const char *url)
{
    const char *query = strchr(url, '?');
    return query && strstr(query, "live=sse") && strstr(query, "offset=");
}

/* The URL with another offset in its query. */
static bool put_url(struct weir_buf *out, struct weir_slice url, struct weir_slice offset)
{
    const char *query = memchr(url.ptr, '?', url.len);
    size_t n_path = query ? (size_t)(query - url.ptr) : url.len;
    struct weir_slice rest = slice_from(url, query ? n_path + 1 : url.len);
    weir_buf_append(out, url.ptr, n_path);
    weir_buf_append_str(out, "?offset=");
    weir_buf_append_slice(out, offset);
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '&', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        bool is_offset = len >= 7 && memcmp(rest.ptr, "offset=", 7) == 0;
        if (!is_offset) {
            weir_buf_append_char(out, '&');
            weir_buf_append(out, rest.ptr, len);
        }
        rest = slice_from(rest, end ? len + 1 : len);
    }
    return offset.len > 0 && weir_buf_status(out) == WEIR_OK;
}

/* It cannot be gone on with, and what is held might come twice. */
static bool give_up(struct watching *w, const char *why)
{
    w->is_wrong = true;
    watcher_disconnected(w->watcher, weir_status_name(WEIR_BAD_EVENT), why, false);
    return false;
}

/* What was held is had now, and the next connection goes on behind it. False: there is no more. */
static bool take_control(struct watching *w, struct weir_slice data)
{
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_buf url;
    weir_buf_init(&url, URL_BYTES);
    bool is_good = doc && weir_json_parse(doc, data, &v, NULL) == WEIR_OK;
    struct weir_slice offset = weir_json_text(weir_json_get_str(v, "streamNextOffset"));
    is_good = is_good && put_url(&url, weir_slice_of(w->wish->url), offset) &&
              weir_event_stream_move(w->stream, weir_buf_slice(&url)) == WEIR_OK;
    bool is_over = weir_json_type_of(weir_json_get_str(v, "streamClosed")) == WEIR_JSON_TRUE;
    if (w->held.len > 0 && !watcher_feed(w->watcher, weir_buf_slice(&w->held))) is_over = true;
    weir_buf_reset(&w->held);
    weir_json_doc_free(doc);
    weir_buf_fini(&url);
    if (!is_good && !is_over) return give_up(w, "an event \"control\" does not say where to go on");
    return !is_over;
}

/* ---- the network ---- */

/* A turn, a reply or a message is watched to its end; what else there is may go on. */
static bool is_single(const struct stream_wish *wish)
{
    return wish->kind == WEIR_STREAM_TURN || wish->kind == WEIR_STREAM_CHAT ||
           wish->kind == WEIR_STREAM_MODEL || wish->turn;
}

bool stream_watch_is_of_turn(struct weir_slice message_id, const char *turn)
{
    const char *line = strchr(turn, '_');
    const char *ulid = line ? line + 1 : turn;
    return message_id.len > 0 && ulid[0] != '\0' &&
           memmem(message_id.ptr, message_id.len, ulid, strlen(ulid)) != NULL;
}

/* The event that says that a message of this turn is kept, which is the turn's first. */
static bool begins_turn(struct weir_slice data, const char *turn)
{
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = NULL;
    /* Most events name no turn, and need not be read. */
    if (stream_watch_is_of_turn(data, turn)) doc = weir_json_doc_new(0);
    if (doc && weir_json_parse(doc, data, &v, NULL) != WEIR_OK) v = NULL;
    struct weir_slice type = weir_json_text(weir_json_get_str(v, "type"));
    struct weir_slice id = weir_json_text(weir_json_get_str(v, "messageId"));
    bool is_it = weir_slice_is(type, "message_persisted") && stream_watch_is_of_turn(id, turn);
    weir_json_doc_free(doc);
    return is_it;
}

/* ---- a turn that waits for another ---- */

static void put_label(char out[STREAM_BEHIND_BYTES], const struct weir_json *v, const char *key)
{
    struct weir_buf text;
    weir_buf_init(&text, STREAM_BEHIND_BYTES - 1);
    struct weir_slice all = weir_json_text(weir_json_get_str(v, key));
    size_t len = all.len < STREAM_BEHIND_BYTES / 4 ? all.len : STREAM_BEHIND_BYTES / 4;
    term_clean_label(&text, slice_of(all.ptr, len));
    snprintf(out, STREAM_BEHIND_BYTES, "%.*s%s", (int)text.len, text.len > 0 ? text.ptr : "",
             len < all.len ? "…" : "");
    weir_buf_fini(&text);
}

static void take_question(struct watching *w, const struct weir_json *v)
{
    struct stream_behind *b = &w->behind;
    struct weir_slice type = weir_json_text(weir_json_get_str(v, "type"));
    if (weir_slice_is(type, "tool.approval_required")) {
        b->kind = BEHIND_APPROVAL;
        v = weir_json_get_str(v, "request");
        put_label(b->id, v, "approvalId");
        put_label(b->what, v, "toolName");
    } else if (weir_slice_is(type, "clarify.request")) {
        b->kind = BEHIND_QUESTION;
        put_label(b->id, v, "requestId");
        put_label(b->what, v, "question");
    } else if (weir_slice_is(type, "approval.resolved") || weir_slice_is(type, "clarify.resolved"))
        b->kind = BEHIND_TURN;
    w->is_behind_news |= b->kind != BEHIND_TURN;
}

/* An event of the turn before. Most are no question, and need not be read. */
static void hear_behind(struct watching *w, struct weir_slice data)
{
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = NULL;
    w->heard_ns = clock_mono_ns(&clock_system);
    if (memmem(data.ptr, data.len, "approval", 8) || memmem(data.ptr, data.len, "clarify", 7))
        doc = weir_json_doc_new(0);
    if (doc && weir_json_parse(doc, data, &v, NULL) == WEIR_OK) take_question(w, v);
    weir_json_doc_free(doc);
}

/* Until the watched turn's place is told; -1: there is nothing to tell. */
static int behind_wait_ms(const struct watching *w)
{
    bool is_watched = w->wish->turn && w->wish->on_behind && !w->is_in_turn;
    if (!is_watched || !w->is_behind_news || w->heard_ns == 0) return -1;
    uint64_t ms = (clock_mono_ns(&clock_system) - w->heard_ns) / 1000000;
    return ms < BEHIND_MS ? (int)(BEHIND_MS - ms) : 0;
}

static void tell_behind(struct watching *w)
{
    if (behind_wait_ms(w) != 0) return;
    w->is_behind_news = false;
    w->wish->on_behind(w->wish->behind_user, w->watcher, &w->behind);
}

static bool on_event(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    struct watching *w = user;
    (void)seq;
    w->has_events = true;
    w->has_ids |= event->id.len > 0;
    if (w->is_durable) {
        if (weir_slice_is(event->type, "control")) return take_control(w, event->data);
        if (weir_sse_write(&w->held, event) == WEIR_OK) return true;
        return give_up(w, "events come without one that says where to go on");
    }
    if (w->wish->turn && !w->is_in_turn) w->is_in_turn = begins_turn(event->data, w->wish->turn);
    if (w->wish->turn && !w->is_in_turn) {
        hear_behind(w, event->data);
        return true;
    }
    watcher_event(w->watcher, event);
    return !is_single(w->wish) || !watcher_is_complete(w->watcher);
}

static void on_open(void *user)
{
    struct watching *w = user;
    weir_buf_reset(&w->held); /* what was not confirmed comes again */
    w->heard_ns = clock_mono_ns(&clock_system);
    watcher_connected(w->watcher);
    bool is_again = w->wish->kind == WEIR_STREAM_ANY && w->has_events && !w->has_ids;
    if (is_again && !w->is_durable) watcher_restarted(w->watcher);
}

/*
 * A stream of others that was cut behind something complete: without ids it could only be had
 * again from its beginning, and when nothing new came the last time there is nothing more.
 */
static bool is_enough(const struct watching *w, const struct weir_stream_error *error)
{
    return w->wish->kind == WEIR_STREAM_ANY && w->has_events && !w->is_durable &&
           watcher_is_complete(w->watcher) && (!w->has_ids || error->n_failed > 1);
}

/* A model's message without ids: another one is paid for, and says something else. */
static bool is_lost(const struct watching *w)
{
    return w->wish->kind == WEIR_STREAM_ANY && watcher_is_model(w->watcher) && !w->has_ids &&
           !w->is_durable;
}

/* A session that is not there, or not any more. */
static bool is_gone(const struct watching *w, const struct weir_stream_error *error)
{
    return w->wish->kind == WEIR_STREAM_SESSION && error->is_final && error->http_status == 404;
}

static void on_error(void *user, const struct weir_stream_error *error)
{
    struct watching *w = user;
    char why[WHY_BYTES];
    char code[CODE_BYTES];
    explain(error, w->wish->kind, why);
    if (w->folder_fd >= 0 && local_server_ending() != 0) {
        w->is_closed = true; /* and nobody needs to be told */
        w->closed = WEIR_SHUTDOWN;
    } else if (is_gone(w, error)) {
        w->is_gone = true;
        snprintf(why, sizeof why,
                 w->has_events ? "the session %s was deleted" : "there is no session %s",
                 w->wish->id);
        watcher_disconnected(w->watcher, weir_status_name(WEIR_NOT_FOUND), why, false);
    } else if (is_enough(w, error)) {
        w->is_closed = true;
        w->closed = WEIR_OK;
    } else if (is_lost(w)) {
        w->is_closed = true;
        w->closed = error->status;
        size_t len = strlen(why);
        snprintf(why + len, sizeof why - len, "; a model's message is not asked for again");
        watcher_disconnected(w->watcher, weir_status_name(error->status), why, true);
    } else if (!error->is_final) {
        watcher_reconnecting(w->watcher, why, error->retry_in_ms);
    } else {
        bool is_answer = error->http_status != 0 && error->http_status != 200;
        snprintf(code, sizeof code, "%s", weir_status_name(error->status));
        if (is_answer) snprintf(code, sizeof code, "http_%d", error->http_status);
        watcher_disconnected(w->watcher, code, why, w->has_events && !is_answer);
    }
}

static void on_gap(void *user, uint64_t first_seq, uint64_t last_seq)
{
    struct watching *w = user;
    watcher_gap(w->watcher, first_seq, last_seq);
}

static void on_closed(void *user, enum weir_status status)
{
    struct watching *w = user;
    w->is_closed = true;
    w->closed = status;
}

static enum watcher_more run_client(void *user, struct watcher *watcher)
{
    struct watching *w = user;
    (void)watcher;
    weir_client_run(w->client);
    tell_behind(w);
    if (!w->is_closed) return WATCHER_MORE;
    if (w->is_wrong) return WATCHER_BROKEN;
    return w->closed == WEIR_OK ? WATCHER_WHOLE : WATCHER_ENDED;
}

static int client_wait_ms(void *user)
{
    const struct watching *w = user;
    int client_ms = weir_client_timeout_ms(w->client), behind_ms = behind_wait_ms(w);
    return client_ms < 0 || (behind_ms >= 0 && behind_ms < client_ms) ? behind_ms : client_ms;
}

static bool cancel(void *user)
{
    const struct stream_wish *wish = ((struct watching *)user)->wish;
    return wish->cancel && wish->cancel(wish->cancel_user);
}

static struct weir_slice or_empty(const char *text)
{
    return weir_slice_of(text ? text : "");
}

/* Of a local server: through its folder's descriptor, as control.c does. */
struct way {
    char socket[SOCKET_BYTES];
    char query[REMOTE_PATH_BYTES];
};

static void take_way(struct watching *w, const struct client_config *config, struct way *way,
                     struct weir_event_stream_options *options)
{
    w->folder_fd = open(config->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(way->socket, sizeof way->socket, "/proc/self/fd/%d/control.sock", w->folder_fd);
    snprintf(way->query, sizeof way->query, "user=%s", w->wish->user ? w->wish->user : "me");
    options->url = SLICE("http://localhost");
    options->socket = way->socket;
    options->query = weir_slice_of(way->query);
    options->key = SLICE("");
    options->retry =
        (struct weir_stream_retry){.initial_ms = LOCAL_RETRY_MS, .max_ms = LOCAL_RETRY_MAX_MS};
}

static WEIR_MUST_CHECK enum weir_status open_stream(struct watching *w,
                                                    const struct client_config *config)
{
    const struct stream_wish *wish = w->wish;
    const struct weir_client_options without_thread = {.has_no_thread = true, .max_streams = 1};
    struct way way;
    struct weir_event_stream_options options = {
        .kind = wish->kind,
        .url = weir_slice_of(wish->url ? wish->url : config->url),
        .key = wish->url ? or_empty(wish->key) : weir_slice_of(config->key),
        .ca_file = wish->url ? wish->ca_file : config->ca_file,
        .id = or_empty(wish->id),
        .since_seq = wish->since,
        .last_event_id = or_empty(wish->last_event_id),
        .body = wish->body,
        .fields = wish->fields,
        .n_fields = wish->n_fields,
        .on_event = on_event,
        .on_open = on_open,
        .on_error = on_error,
        .on_gap = on_gap,
        .on_closed = on_closed,
        .user = w,
    };
    if (options.ca_file && options.ca_file[0] == '\0') options.ca_file = NULL;
    if (!wish->url && config->is_local) take_way(w, config, &way, &options);
    enum weir_status st = weir_client_new(&w->client, &without_thread);
    if (st == WEIR_OK) st = weir_event_stream_open(&w->stream, w->client, &options);
    return st;
}

static int watch_network(struct watching *w, const struct client_config *config)
{
    const char *to = w->wish->url ? w->wish->url : client_config_server(config);
    struct sigaction before;
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    enum weir_status st = open_stream(w, config);
    if (st != WEIR_OK) {
        fprintf(stderr, "weir: %s: %s\n", to,
                st == WEIR_INVALID ? "no stream can be asked for like this" : weir_status_text(st));
        return EXIT_FAILED;
    }
    /* To this machine it takes no time that would be worth a word. */
    watcher_connecting(w->watcher, w->folder_fd < 0 ? to : NULL);
    /* A server that is gone is no reason to go. */
    (void)sigaction(SIGPIPE, &ignored, &before);
    int exit_status =
        watcher_run(w->watcher, &(struct watcher_source){.fd = weir_client_fd(w->client),
                                                         .read = run_client,
                                                         .wait_ms = client_wait_ms,
                                                         .cancel = cancel,
                                                         .user = w});
    (void)sigaction(SIGPIPE, &before, NULL);
    if (output_error() == EPIPE) raise(SIGPIPE); /* as it would have been without us */
    return w->is_gone ? EXIT_FAILED : exit_status;
}

/* ---- a server of this machine ---- */

static bool take_piece(void *user, struct weir_slice piece)
{
    return watcher_feed(user, piece);
}

static enum watcher_more read_control(void *user, struct watcher *watcher)
{
    struct watching *w = user;
    enum control_more more = control_stream_read(&w->control, take_piece, watcher);
    if (more == CONTROL_BROKEN) return WATCHER_BROKEN;
    if (more == CONTROL_MORE) return WATCHER_MORE;
    return w->control.answer.status == 204 ? WATCHER_WHOLE : WATCHER_ENDED;
}

static void local_path(const struct client_config *config, const struct stream_wish *wish,
                       char out[REMOTE_PATH_BYTES])
{
    char path[REMOTE_PATH_BYTES];
    char whole[REMOTE_PATH_BYTES];
    int len = 0;
    if (wish->kind == WEIR_STREAM_TURN)
        len = snprintf(path, sizeof path, "/v1/turns/%s/events", wish->id);
    if (wish->kind == WEIR_STREAM_CHAT)
        len = snprintf(path, sizeof path, "/ai/chat?conversationId=%s", wish->id);
    if (wish->since > 0 && len > 0 && len < REMOTE_PATH_BYTES)
        snprintf(path + len, sizeof path - (size_t)len, "?last_event_id=%llu",
                 (unsigned long long)wish->since);
    remote_path(whole, config, path, wish->user);
    memcpy(out, whole, sizeof whole);
}

static void complain(const struct client_config *config, struct control_answer *answer)
{
    char why[REMOTE_WHY_BYTES];
    remote_explain(config, answer, why);
    fprintf(stderr, "weir: %s\n", why);
}

static int watch_locally(struct watching *w, const struct client_config *config, int *signal_number)
{
    char path[REMOTE_PATH_BYTES];
    local_path(config, w->wish, path);
    enum weir_status st = control_stream_open(&w->control, config->folder, path);
    if (st != WEIR_OK) {
        fprintf(stderr, "weir: the server on %s: %s\n", config->folder, weir_status_text(st));
        return EXIT_FAILED;
    }
    int exit_status = watcher_run(
        w->watcher, &(struct watcher_source){
                        .fd = w->control.fd, .read = read_control, .cancel = cancel, .user = w});
    int status = w->control.answer.status;
    *signal_number = watcher_signal(w->watcher);
    control_stream_close(&w->control);
    bool is_left = *signal_number != 0 || watcher_is_left(w->watcher);
    bool is_refused = status != 200 && status != 204 && exit_status != EXIT_DONE;
    if (is_refused && !is_left) {
        complain(config, &w->control.answer);
        exit_status = EXIT_FAILED;
    } else if (exit_status == EXIT_INCOMPLETE && !is_left) {
        fprintf(stderr, "weir: %s\n", watcher_lack(w->watcher));
    }
    weir_buf_fini(&w->control.answer.body);
    return exit_status;
}

/* ---- either way ---- */

static enum watcher_dialect dialect_of(enum weir_stream_kind kind)
{
    if (kind == WEIR_STREAM_TURN) return WATCHER_TURN;
    if (kind == WEIR_STREAM_SESSION) return WATCHER_SESSION;
    return kind == WEIR_STREAM_CHAT ? WATCHER_CHAT : WATCHER_OPEN;
}

static struct event_keep *open_keep(const struct client_config *config,
                                    const struct stream_wish *wish)
{
    static const enum event_keep_kind kinds[] = {[WEIR_STREAM_TURN] = EVENT_KEEP_TURN,
                                                 [WEIR_STREAM_SESSION] = EVENT_KEEP_SESSION,
                                                 [WEIR_STREAM_CHAT] = EVENT_KEEP_CHAT};
    if (wish->is_not_kept || !wish->id) return NULL;
    return event_keep_open(kinds[wish->kind], wish->id,
                           wish->url ? wish->url : client_config_server(config));
}

int stream_watch(const struct client_config *config, const struct stream_wish *wish,
                 const struct watcher_options *options, int *signal_number)
{
    struct watching w = {.wish = wish, .folder_fd = -1, .is_behind_news = true};
    struct watcher_options how = *options;
    how.dialect = dialect_of(wish->kind);
    how.keep = open_keep(config, wish);
    *signal_number = 0;
    w.is_durable = wish->kind == WEIR_STREAM_ANY && is_durable(wish->url);
    w.watcher = watcher_new(&how);
    weir_buf_init(&w.held, HELD_BYTES);
    /* Sessions have no end: they are gone on with whatever happens to the server. */
    bool is_local = !wish->url && config->is_local && wish->kind != WEIR_STREAM_SESSION;
    int exit_status = EXIT_FAILED;
    if (w.watcher) {
        exit_status =
            is_local ? watch_locally(&w, config, signal_number) : watch_network(&w, config);
        *signal_number = watcher_signal(w.watcher);
    }
    if (w.stream && wish->last) *wish->last = weir_event_stream_last_seq(w.stream);
    weir_event_stream_close(w.stream);
    weir_client_free(w.client);
    if (w.folder_fd >= 0) close(w.folder_fd);
    weir_buf_fini(&w.held);
    watcher_free(w.watcher);
    event_keep_close(how.keep);
    return exit_status;
}
