/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop over the stream, the keys, the signals and the time. A frame is drawn when nothing more
 * is there to be read, or when it is time for one, so that a stream in a hurry costs frames by time
 * and not by events.
 */
#include "watcher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <weir/sse.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "command.h"
#include "output.h"
#include "plain_view.h"
#include "term_tty.h"

enum {
    SPIN_MS = 100,
    FRAME_MS = 30,
    FRAME_AFTER_BYTES = 256 << 10, /* of the stream */
    KEY_BYTES = 256,
    GAP_BYTES = 160,
    COUNT_BYTES = 32,
    CANCEL_MS = 40, /* how long the last event of what is cancelled is waited for */
};

struct watcher {
    struct watcher_options options;
    const struct watcher_source *source;
    struct weir_sse *sse;
    struct weir_json_doc *doc; /* of the event at hand */
    struct weir_ui state;
    enum watcher_dialect dialect;
    struct weir_message *message;
    struct weir_ui_message ui_message;
    enum weir_dialect model_dialect;

    bool has_tty;
    struct view *view;
    struct keys own_keys;
    struct keys *keys; /* these, or the guest's */
    struct plain_view plain;
    struct weir_buf line;

    bool is_left;     /* quit, or cancelled where that ends the reading */
    bool is_given_up; /* cancelled, and its last event did not come at once */
    bool is_broken;
    bool is_whole;
    bool is_cut;  /* the connection was lost for good in the middle */
    bool is_told; /* that a connection is made, so that it is told when there is one */
    int signal_number;
    uint64_t cancelled_ns; /* when its end was asked for; 0: it was not */
    uint64_t frame_ns;     /* when the last one was drawn */
    size_t n_since_frame;  /* bytes of the stream since then */
};

static uint64_t now_ns(void)
{
    return clock_mono_ns(&clock_system);
}

static bool stays(const struct watcher *w)
{
    return w->options.guest && w->options.guest->stays;
}

/* ---- lines of JSON ---- */

static bool is_number(struct weir_slice id)
{
    for (size_t i = 0; i < id.len; i++)
        if (id.ptr[i] < '0' || id.ptr[i] > '9') return false;
    return id.len > 0 && id.len < 16 && (id.len == 1 || id.ptr[0] != '0');
}

static void print_json(struct watcher *w, const struct weir_sse_event *event)
{
    const struct weir_json *data = NULL;
    weir_json_doc_reset(w->doc);
    enum weir_status st = weir_json_parse(w->doc, event->data, &data, NULL);
    weir_buf_append_str(&w->line, "{\"id\":");
    if (is_number(event->id)) weir_buf_append_slice(&w->line, event->id);
    else weir_json_put_string(&w->line, event->id);
    weir_buf_append_str(&w->line, ",\"event\":");
    weir_json_put_string(&w->line, event->type);
    weir_buf_append_str(&w->line, ",\"data\":");
    if (st != WEIR_OK) weir_json_put_string(&w->line, event->data);
    else if (memchr(event->data.ptr, '\n', event->data.len)) weir_json_put_value(&w->line, data);
    else weir_buf_append_slice(&w->line, event->data);
    weir_buf_append_str(&w->line, "}");
    output_line(&w->line);
    (void)output_flush();
}

/* ---- plain lines ---- */

/* The answer of a turn is shown when it is complete, and by others as it comes. */
static void print_answer(void *user, const struct weir_ui_text *answer, struct weir_slice more)
{
    struct watcher *w = user;
    bool is_streamed = w->dialect != WATCHER_OPEN && w->dialect != WATCHER_TURN;
    if (is_streamed && !w->view && !w->options.is_json) plain_view_answer(&w->plain, answer, more);
}

/* ---- which stream it is ---- */

static bool is_model_event(const struct weir_sse_event *event, const struct weir_json *data,
                           enum weir_dialect *dialect)
{
    struct weir_slice type = weir_json_text(weir_json_get_str(data, "type"));
    *dialect = WEIR_ANTHROPIC;
    if (weir_slice_is(type, "message_start") || weir_slice_is(type, "content_block_start"))
        return true;
    bool is_error = weir_slice_is(event->type, "error") && weir_slice_is(type, "error");
    if (is_error) return true;
    *dialect = WEIR_OPENAI;
    return weir_slice_is(event->type, "message") && weir_json_get_str(data, "choices") != NULL;
}

static bool open_message(struct watcher *w)
{
    weir_message_free(w->message);
    w->ui_message = (struct weir_ui_message){.state = &w->state};
    w->message =
        weir_message_new(w->model_dialect, weir_ui_message_handlers(), &w->ui_message, NULL);
    w->ui_message.message = w->message;
    return w->message != NULL;
}

/* What comes cannot be read on, and why is told. */
static void break_off(struct watcher *w, enum weir_status st)
{
    w->is_broken = true;
    watcher_disconnected(w, weir_status_name(st), weir_status_text(st), false);
}

/* One message may follow another on the same stream. */
static void take_model_event(struct watcher *w, const struct weir_sse_event *event,
                             const struct weir_json *data)
{
    struct weir_slice type = weir_json_text(weir_json_get_str(data, "type"));
    bool is_over = w->message && weir_message_outcome(w->message) != WEIR_OUTCOME_OPEN;
    bool is_next = is_over && (weir_slice_is(type, "message_start") ||
                               (w->model_dialect == WEIR_OPENAI && data != NULL &&
                                weir_json_first(weir_json_get_str(data, "choices")) != NULL));
    if ((!w->message || is_next) && !open_message(w)) return;
    enum weir_status st = weir_message_event(w->message, event);
    if (st != WEIR_OK) break_off(w, st);
}

/* ---- events ---- */

static void show_line(struct watcher *w, const struct weir_sse_event *event)
{
    if (w->options.is_quiet || w->options.is_json) return;
    if (w->view) view_line(w->view, event->type, event->data);
    else plain_view_line(&w->plain, event->type, event->data);
}

/* Another turn on the same stream: the view begins anew, below. */
static void begin_again(struct watcher *w)
{
    if (w->view) (void)tty_write(view_end(w->view));
    weir_ui_next(&w->state);
    if (w->view) view_restart(w->view);
    plain_view_restart(&w->plain);
}

/* It has ended, and the stream may go on: all of it is shown, and more can be waited for or left.
 */
static void end_one(struct watcher *w)
{
    if (w->view) (void)tty_write(view_end(w->view));
    else if (!w->options.is_json) plain_view_end(&w->plain, &w->state);
    if (!stays(w)) weir_cancel_begin(&w->state.cancel);
}

static void take_turn_event(struct watcher *w, const struct weir_sse_event *event,
                            const struct weir_json *data)
{
    if (weir_slice_is(event->type, "turn.started") && w->state.phase >= WEIR_UI_COMPLETED)
        begin_again(w);
    if (!weir_ui_turn_event(&w->state, event->type, data)) {
        show_line(w, event);
        return;
    }
    w->dialect = WATCHER_TURN;
    if (w->view) view_event(w->view, event->type, data);
    else if (!w->options.is_json) plain_view_event(&w->plain, event->type, data);
}

/* A session's event, or one of a chat: what both have is an answer that is streamed. */
static void take_streamed(struct watcher *w, const struct weir_sse_event *event,
                          const struct weir_json *data)
{
    bool is_session = w->dialect == WATCHER_SESSION;
    struct weir_slice type = event->type;
    if (is_session) type = weir_json_text(weir_json_get_str(data, "type"));
    bool was_over = w->state.phase >= WEIR_UI_COMPLETED;
    if (is_session ? weir_ui_session_begins(&w->state, data) : was_over) {
        begin_again(w);
        was_over = false;
    }
    bool is_known = is_session ? weir_ui_session_event(&w->state, data)
                               : weir_ui_chat_event(&w->state, event->type, data);
    if (!is_known) {
        show_line(w, event);
        return;
    }
    if (w->view) view_event(w->view, type, data);
    else if (!w->options.is_json) plain_view_aside(&w->plain, &w->state, type, data);
    if (!was_over && w->state.phase >= WEIR_UI_COMPLETED) end_one(w);
}

static enum watcher_dialect dialect_of(struct watcher *w, const struct weir_sse_event *event,
                                       const struct weir_json *data)
{
    bool is_unnamed = weir_slice_is(event->type, "message");
    if (is_model_event(event, data, &w->model_dialect)) return WATCHER_MODEL;
    if (is_unnamed && weir_ui_session_knows(data)) return WATCHER_SESSION;
    return weir_ui_chat_knows(event->type, data) ? WATCHER_CHAT : WATCHER_OPEN;
}

void watcher_event(struct watcher *w, const struct weir_sse_event *event)
{
    const struct weir_json *data = NULL;
    weir_ui_tick(&w->state, w->view ? w->state.now_ns : now_ns());
    w->n_since_frame += event->data.len;
    event_keep_add(w->options.keep, event);
    if (w->options.is_json) print_json(w, event);
    weir_json_doc_reset(w->doc);
    if (weir_json_parse(w->doc, event->data, &data, NULL) != WEIR_OK) data = NULL;
    if (w->dialect == WATCHER_OPEN) w->dialect = dialect_of(w, event, data);
    switch (w->dialect) {
    case WATCHER_MODEL: take_model_event(w, event, data); break;
    case WATCHER_SESSION:
    case WATCHER_CHAT: take_streamed(w, event, data); break;
    case WATCHER_OPEN:
    case WATCHER_TURN: take_turn_event(w, event, data); break;
    }
    if (w->options.on_event) w->options.on_event(w->options.event_user, event->type, data);
}

static void on_event(void *user, const struct weir_sse_event *event)
{
    watcher_event(user, event);
}

bool watcher_is_complete(const struct watcher *w)
{
    return w->state.phase >= WEIR_UI_COMPLETED;
}

/* ---- the connection ---- */

static bool is_noted(const struct watcher *w)
{
    return !w->has_tty && !w->options.is_quiet;
}

void watcher_connecting(struct watcher *w, const char *to)
{
    weir_ui_connection(&w->state, WEIR_UI_CONNECTING);
    w->is_told = to != NULL;
    if (is_noted(w) && to) fprintf(stderr, "weir: connecting to %s\n", to);
}

void watcher_connected(struct watcher *w)
{
    weir_ui_connection(&w->state, WEIR_UI_CONNECTED);
    if (is_noted(w) && w->is_told) fputs("weir: connected\n", stderr);
}

void watcher_reconnecting(struct watcher *w, const char *why, uint64_t in_ms)
{
    weir_ui_reconnecting(&w->state, why, in_ms);
    w->is_told = true;
    if (is_noted(w)) fprintf(stderr, "weir: %s; again in %.1f s\n", why, (double)in_ms / 1000);
}

void watcher_disconnected(struct watcher *w, const char *code, const char *why, bool is_cut)
{
    bool has_ended = watcher_is_complete(w);
    weir_ui_disconnected(&w->state, code, why);
    w->is_cut = is_cut && !has_ended;
    if (w->options.is_json || (has_ended && is_noted(w)))
        fprintf(stderr, "weir: %s (%s)\n", why, code);
}

bool watcher_is_model(const struct watcher *w)
{
    return w->dialect == WATCHER_MODEL;
}

void watcher_tell(struct watcher *w, const char *text)
{
    if (w->view) view_line(w->view, SLICE("weir:"), weir_slice_of(text));
    else fprintf(stderr, "weir: %s\n", text);
}

void watcher_restarted(struct watcher *w)
{
    if (!w->view && !w->options.is_json) plain_view_end(&w->plain, &w->state);
    begin_again(w);
    watcher_tell(w, "the stream began again: what follows may have been shown before");
}

/* With a comma between thousands: 4,201. */
static void format_count(char out[COUNT_BYTES], uint64_t n)
{
    char digits[COUNT_BYTES];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    size_t at = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

void watcher_gap(struct watcher *w, uint64_t first_seq, uint64_t last_seq)
{
    char text[GAP_BYTES];
    char first[COUNT_BYTES];
    char last[COUNT_BYTES];
    char next[COUNT_BYTES];
    format_count(first, first_seq);
    format_count(last, last_seq);
    format_count(next, last_seq + 1);
    if (first_seq == last_seq)
        snprintf(text, sizeof text, "event %s is no longer kept; the stream goes on at %s", first,
                 next);
    else
        snprintf(text, sizeof text, "events %s to %s are no longer kept; the stream %s at %s",
                 first, last, w->state.n_events == 0 ? "starts" : "goes on", next);
    watcher_tell(w, text);
}

bool watcher_feed(struct watcher *w, struct weir_slice bytes)
{
    enum weir_status st = weir_sse_feed(w->sse, bytes.ptr, bytes.len);
    if (st != WEIR_OK) break_off(w, st);
    return st == WEIR_OK;
}

/* ---- keys and signals ---- */

static void act(struct watcher *w, enum weir_cancel_act what)
{
    const struct watcher_source *s = w->source;
    if (what == WEIR_CANCEL_QUIT) w->is_left = true;
    if (what != WEIR_CANCEL_NOW) return;
    if (!stays(w)) w->cancelled_ns = w->state.now_ns;
    if (!(s->cancel && s->cancel(s->user))) w->is_left = true;
}

static void on_key(void *user, const struct key *key)
{
    struct watcher *w = user;
    const struct watcher_guest *guest = w->options.guest;
    enum weir_cancel_key meaning = WEIR_CANCEL_KEY_OTHER;
    if (key->kind == KEY_ESCAPE) meaning = WEIR_CANCEL_KEY_ESCAPE;
    if (key->kind == KEY_CONTROL && key->code == 'C') meaning = WEIR_CANCEL_KEY_INTERRUPT;
    if (key->kind == KEY_CONTROL && key->code == 'Z') raise(SIGTSTP);
    if (key->kind == KEY_CONTROL && key->code == '\\') raise(SIGQUIT);
    act(w, weir_cancel_press(&w->state.cancel, meaning, w->state.now_ns));
    if (guest) guest->on_key(guest->user, key);
}

static void read_keys(struct watcher *w)
{
    char bytes[KEY_BYTES];
    ssize_t n = read(tty_key_fd(), bytes, sizeof bytes);
    if (n > 0) keys_feed(w->keys, slice_of(bytes, (size_t)n), w->state.now_ns, on_key, w);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR)) w->signal_number = SIGHUP;
}

static void fit_view(struct watcher *w)
{
    unsigned columns;
    unsigned rows;
    tty_size(&columns, &rows);
    view_resize(w->view, columns, rows);
}

static void take_signals(struct watcher *w)
{
    struct tty_news news = tty_take_news();
    if (news.ending != 0) w->signal_number = news.ending;
    if (news.is_stop) {
        (void)tty_write(view_leave(w->view));
        tty_stop();
        news = tty_take_news();
    }
    if (!news.is_resize) return;
    fit_view(w);
    w->frame_ns = 0;
}

/* ---- the loop ---- */

/* Whoever cancels has had enough, whatever the server is doing or not doing. */
static void give_up(struct watcher *w)
{
    uint64_t waited_ns = w->state.now_ns - w->cancelled_ns;
    if (w->cancelled_ns == 0 || waited_ns < (uint64_t)CANCEL_MS * 1000000) return;
    w->is_given_up = true;
    weir_ui_disconnected(&w->state, "cancelled", "the server was asked to end it");
}

static void draw(struct watcher *w, bool is_idle)
{
    uint64_t now = w->state.now_ns;
    bool is_time = now - w->frame_ns >= (uint64_t)FRAME_MS * 1000000;
    if (!is_idle && !is_time && w->n_since_frame < FRAME_AFTER_BYTES) return;
    if (!tty_is_ours()) return;
    w->frame_ns = now;
    w->n_since_frame = 0;
    if (tty_has_new_size()) fit_view(w);
    if (!tty_write(view_frame(w->view))) w->signal_number = SIGHUP;
}

/* When the source is due by time; -1: never. */
static int source_wait_ms(const struct watcher *w)
{
    return w->source->wait_ms ? w->source->wait_ms(w->source->user) : -1;
}

/* Until the spinner turns, something held has to be decided, or the source is due. */
static int wait_ms(const struct watcher *w)
{
    uint64_t now = w->state.now_ns;
    uint64_t due = keys_due_ns(w->keys);
    uint64_t ms = SPIN_MS - now / 1000000 % SPIN_MS;
    uint64_t until = due > now ? (due - now) / 1000000 + 1 : 0;
    if (due != KEYS_NEVER && until < ms) ms = until;
    if (w->cancelled_ns != 0 && ms > CANCEL_MS / 4) ms = CANCEL_MS / 4;
    int source_ms = source_wait_ms(w);
    return source_ms >= 0 && (uint64_t)source_ms < ms ? source_ms : (int)ms;
}

static void take_more(struct watcher *w, enum watcher_more more)
{
    if (more == WATCHER_BROKEN) w->is_broken = true;
    if (more == WATCHER_WHOLE) w->is_whole = true;
}

static void tell_guest(struct watcher *w)
{
    struct watcher_guest *guest = w->options.guest;
    if (guest && guest->on_round) guest->on_round(guest->user);
    if (guest && guest->is_over) w->is_left = true;
}

static bool step(struct watcher *w)
{
    struct pollfd fds[] = {{.fd = w->source->fd, .events = POLLIN},
                           {.fd = tty_signal_fd(), .events = POLLIN},
                           {.fd = tty_key_fd(), .events = POLLIN}};
    enum watcher_more more = WATCHER_MORE;
    bool is_idle = poll(fds, 3, 0) == 0;
    weir_ui_tick(&w->state, now_ns());
    draw(w, is_idle);
    if (is_idle) (void)poll(fds, 3, wait_ms(w));
    weir_ui_tick(&w->state, now_ns());
    if (fds[1].revents) take_signals(w);
    if (fds[2].revents) read_keys(w);
    keys_time(w->keys, w->state.now_ns, on_key, w);
    bool is_due = fds[0].revents || source_wait_ms(w) == 0;
    if (is_due && !w->is_left) more = w->source->read(w->source->user, w);
    take_more(w, more);
    tell_guest(w);
    bool is_on = more == WATCHER_MORE && !w->is_left && !w->is_broken && w->signal_number == 0;
    if (is_on) give_up(w);
    return is_on && !w->is_given_up;
}

/* A model's message whose stream has ended before it did. */
static void end_message(struct watcher *w)
{
    if (w->message && !watcher_is_complete(w)) (void)weir_message_end(w->message);
}

static void run_on_terminal(struct watcher *w)
{
    while (step(w)) {
    }
    weir_ui_tick(&w->state, now_ns());
    if (w->signal_number == 0 && !w->is_left) end_message(w);
    (void)tty_write(view_end(w->view));
    if (w->options.guest) w->options.guest->is_left = w->is_left;
    else tty_close();
}

static void run_plainly(struct watcher *w)
{
    enum watcher_more more = WATCHER_MORE;
    struct pollfd fd = {.fd = w->source->fd, .events = POLLIN};
    while (more == WATCHER_MORE && !w->is_broken) {
        if (w->source->wait_ms) (void)poll(&fd, 1, source_wait_ms(w));
        more = w->source->read(w->source->user, w);
        if (!output_flush()) w->is_broken = true; /* nobody reads on */
    }
    take_more(w, more);
    end_message(w);
    if (!w->options.is_json) plain_view_end(&w->plain, &w->state);
}

static void open_view(struct watcher *w)
{
    unsigned columns;
    unsigned rows;
    const struct watcher_guest *guest = w->options.guest;
    struct view_options options = {.is_quiet = w->options.is_quiet, .hint = w->options.hint};
    if (guest) options.foot = guest->foot;
    if (guest) options.foot_user = guest->user;
    options.has_prompt = stays(w);
    if (!guest && !tty_open()) return;
    tty_size(&columns, &rows);
    w->view = view_new(&w->state, options, columns, rows);
    if (!w->view && !guest) tty_close();
}

int watcher_run(struct watcher *w, const struct watcher_source *source)
{
    w->source = source;
    if (w->state.connection == WEIR_UI_DISCONNECTED)
        weir_ui_connection(&w->state, WEIR_UI_CONNECTED);
    /* Before the first event it can be cancelled, too. */
    if (!stays(w)) weir_cancel_begin(&w->state.cancel);
    if (w->options.guest) w->options.guest->watcher = w;
    if (w->has_tty) open_view(w);
    if (w->view) run_on_terminal(w);
    else run_plainly(w);
    if (w->options.guest) w->options.guest->watcher = NULL;
    bool is_done =
        w->state.phase == WEIR_UI_COMPLETED || (w->is_whole && w->state.phase == WEIR_UI_WAITING);
    if (is_done || w->is_cut) return is_done ? EXIT_DONE : EXIT_INCOMPLETE;
    return w->state.phase == WEIR_UI_FAILED || w->is_broken ? EXIT_FAILED : EXIT_INCOMPLETE;
}

const struct weir_ui *watcher_state(const struct watcher *w)
{
    return &w->state;
}

void watcher_said(struct watcher *w, struct weir_slice text)
{
    if (w->view) view_said(w->view, text);
}

void watcher_note(struct watcher *w, struct weir_slice text, bool is_bad)
{
    if (w->view) view_note(w->view, text, is_bad);
}

const char *watcher_lack(const struct watcher *w)
{
    if (w->state.phase != WEIR_UI_WAITING) return "the stream ended before it was complete";
    if (w->state.n_events == 0) return "there is no event in the stream";
    return "the stream ended, and none of its events is known to say whether that is all";
}

bool watcher_is_left(const struct watcher *w)
{
    return w->is_left || w->is_given_up;
}

int watcher_signal(const struct watcher *w)
{
    return w->signal_number;
}

/* ---- life ---- */

struct watcher *watcher_new(const struct watcher_options *options)
{
    static const struct weir_sse_handlers handlers = {.on_event = on_event};
    struct watcher *w = mem_zalloc(sizeof *w);
    if (!w) return NULL;
    w->options = *options;
    w->dialect = options->dialect;
    w->has_tty = options->guest || (!options->is_json && tty_is_wanted());
    w->keys = options->guest ? options->guest->keys : &w->own_keys;
    weir_ui_init(&w->state);
    weir_ui_tick(&w->state, now_ns());
    w->state.answer.on_add = print_answer;
    w->state.answer.add_user = w;
    plain_view_init(&w->plain, options->notes, options->is_quiet);
    weir_buf_init(&w->line, OUTPUT_LINE_MAX_BYTES);
    w->doc = weir_json_doc_new(0);
    w->sse = weir_sse_new(&handlers, w, NULL);
    if (w->doc && w->sse) return w;
    watcher_free(w);
    return NULL;
}

void watcher_free(struct watcher *w)
{
    if (!w) return;
    view_free(w->view);
    weir_message_free(w->message);
    weir_sse_free(w->sse);
    weir_json_doc_free(w->doc);
    weir_buf_fini(&w->line);
    plain_view_fini(&w->plain);
    weir_ui_fini(&w->state);
    mem_free(w);
}
