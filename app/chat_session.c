/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal side: the watcher has the loop and the screen, and we are its guest. What the server
 * is asked goes by threads of its own, a few at a time; nothing here waits for it.
 *
 * A message that is sent while nothing runs stands on the screen at once. One that waits for its
 * turn stands above the line until the event comes that says that it has begun. Which one that is
 * says its id, in which there is the turn's; and the event may come before the answer of the call
 * that names the turn.
 */
#include "chat_session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "background.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "command.h"
#include "history_file.h"
#include "line_rows.h"
#include "session_errand.h"
#include "stream_watch.h"
#include "term_style.h"
#include "term_text.h"

enum {
    CALLS = 4,     /* under way at a time */
    MESSAGES = 40, /* of ours, that have not begun; a server takes less */
    UNKNOWN = 8,   /* messages that have begun, and whose they are is not known yet */
    NOTE_BYTES = 160,
    PROMPT_BYTES = 32 << 10,
    ROW_BYTES = 64 << 10,
    LEAVE_MS = 3000, /* for what has to be told to the server at the end */
};

static const char quit_hint[] = "press Ctrl-C again to leave; the session goes on";
static const char busy_hint[] = "the server has not answered yet; Enter sends this when it has";
static const char full_hint[] = "a message has 64 KiB at most";

struct call {
    struct session_errand *errand; /* in another thread's hands until it is done */
    struct background *work;       /* NULL: this place is free */
};

/* A message of ours that was sent. */
struct message {
    char turn[CHAT_ID_BYTES];
    struct weir_buf text;
    bool is_shown;
};

struct desk {
    struct chat *chat;
    struct chat_desk *where;
    struct watcher_guest guest;
    struct call calls[CALLS];
    struct message messages[MESSAGES];
    size_t n_messages;
    char unknown[UNKNOWN][CHAT_ID_BYTES * 2];
    size_t n_unknown;
    unsigned n_steered; /* messages to come that were shown when they were said */
    bool has_said;      /* anything */
    struct weir_json_doc *doc;
    const struct weir_json *before; /* messages from before we came */
    char note[NOTE_BYTES];          /* below the line, until the next key */
    struct weir_buf prompt;
    struct weir_buf row;
};

static void set_note(struct desk *d, const char *note)
{
    snprintf(d->note, sizeof d->note, "%s", note);
}

static const struct weir_ui *state_of(const struct desk *d)
{
    return watcher_state(d->guest.watcher);
}

/* ---- messages ---- */

static void add_message(struct desk *d, const struct session_errand *e)
{
    if (d->n_messages == MESSAGES) return;
    struct message *m = &d->messages[d->n_messages++];
    *m = (struct message){.is_shown = e->is_shown};
    memcpy(m->turn, e->turn, sizeof m->turn);
    weir_buf_init(&m->text, LINE_TEXT_BYTES);
    weir_buf_append_slice(&m->text, weir_buf_slice(&e->text));
}

/* It has begun: from now on it is a part of what was said. */
static void begin_message(struct desk *d, size_t i)
{
    struct message *m = &d->messages[i];
    if (!m->is_shown) watcher_said(d->guest.watcher, weir_buf_slice(&m->text));
    weir_buf_fini(&m->text);
    d->n_messages--;
    memmove(m, m + 1, (d->n_messages - i) * sizeof *m);
}

static bool begin_ours(struct desk *d, struct weir_slice id)
{
    for (size_t i = 0; i < d->n_messages; i++) {
        if (!stream_watch_is_of_turn(id, d->messages[i].turn)) continue;
        begin_message(d, i);
        return true;
    }
    return false;
}

static bool begin_earlier(struct desk *d, struct weir_slice id)
{
    for (const struct weir_json *m = weir_json_first(d->before); m; m = weir_json_next(m)) {
        struct weir_slice theirs = weir_json_text(weir_json_get_str(m, "id"));
        if (!slice_eq(theirs, id)) continue;
        watcher_said(d->guest.watcher, weir_json_text(weir_json_get_str(m, "content")));
        return true;
    }
    return false;
}

static bool is_under_way(const struct desk *d, enum session_act act)
{
    for (size_t i = 0; i < CALLS; i++)
        if (d->calls[i].work && d->calls[i].errand->act == act) return true;
    return false;
}

static bool start(struct desk *d, struct session_errand *e);

/* Those that nobody here has sent: the server is asked what they say. */
static void begin_others(struct desk *d)
{
    if (d->n_unknown == 0 || is_under_way(d, SESSION_SEND) || is_under_way(d, SESSION_NOTHING))
        return;
    if (!start(d, session_errand_new_look(d->chat))) d->n_unknown = 0;
}

/* By now a part of the answer may stand there, so they are told for what they are. */
static void show_other(struct desk *d, struct weir_slice text)
{
    struct weir_buf line;
    weir_buf_init(&line, ROW_BYTES);
    weir_buf_append_str(&line, "· from elsewhere: ");
    term_clean_label(&line, text);
    watcher_note(d->guest.watcher, slice_of(line.ptr, line.len), false);
    weir_buf_fini(&line);
}

static void show_others(struct desk *d, struct weir_slice json)
{
    const struct weir_json *all = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (doc && weir_json_parse(doc, json, &all, NULL) != WEIR_OK) all = NULL;
    for (size_t i = 0; i < d->n_unknown; i++) {
        const struct weir_json *m = weir_json_first(all);
        while (m && !weir_slice_is(weir_json_text(weir_json_get_str(m, "id")), d->unknown[i]))
            m = weir_json_next(m);
        show_other(d, m ? weir_json_text(weir_json_get_str(m, "content")) : SLICE("a message"));
    }
    d->n_unknown = 0;
    weir_json_doc_free(doc);
}

static void take_begun(struct desk *d, struct weir_slice id)
{
    if (begin_earlier(d, id) || begin_ours(d, id)) return;
    if (d->n_steered > 0) {
        d->n_steered--;
        return;
    }
    if (d->n_unknown == UNKNOWN)
        memmove(d->unknown, d->unknown + 1, sizeof d->unknown[0] * --d->n_unknown);
    weir_ui_label_set(d->unknown[d->n_unknown++], sizeof d->unknown[0], id);
    begin_others(d);
}

static void on_event(void *user, struct weir_slice type, const struct weir_json *data)
{
    struct desk *d = user;
    (void)type;
    struct weir_slice what = weir_json_text(weir_json_get_str(data, "type"));
    if (!weir_slice_is(what, "message_persisted")) return;
    if (weir_slice_is(weir_json_text(weir_json_get_str(data, "role")), "user"))
        take_begun(d, weir_json_text(weir_json_get_str(data, "messageId")));
}

/* ---- calls ---- */

static struct call *free_call(struct desk *d)
{
    for (size_t i = 0; i < CALLS; i++)
        if (!d->calls[i].work) return &d->calls[i];
    return NULL;
}

static bool start(struct desk *d, struct session_errand *e)
{
    struct call *call = free_call(d);
    struct background *work =
        e && call ? background_start(session_errand_run, session_errand_free, e) : NULL;
    if (!work) {
        session_errand_free(e);
        set_note(d, "there is no thread or memory to be had");
        return false;
    }
    *call = (struct call){.errand = e, .work = work};
    return true;
}

/* What could not be sent can be sent again. */
static void give_back(struct desk *d, const struct session_errand *e)
{
    struct line_editor *editor = d->where->editor;
    bool is_text = e->act == SESSION_SEND || e->act == SESSION_STEER || e->act == SESSION_ANSWER;
    if (is_text && line_editor_text(editor).len == 0)
        line_editor_set(editor, weir_buf_slice(&e->text));
}

static void complain(struct desk *d, const struct session_errand *e, const char *why)
{
    char text[REMOTE_WHY_BYTES + 8];
    snprintf(text, sizeof text, "✗ %s", why);
    watcher_note(d->guest.watcher, weir_slice_of(text), true);
    give_back(d, e);
}

static void end_sending(struct desk *d, const struct session_errand *e)
{
    add_message(d, e);
    for (size_t i = 0; i < d->n_unknown; i++) {
        if (!begin_ours(d, weir_slice_of(d->unknown[i]))) continue;
        d->n_unknown--;
        memmove(d->unknown[i], d->unknown[i + 1], (d->n_unknown - i) * sizeof d->unknown[0]);
        return;
    }
}

static void end_steering(struct desk *d, const struct session_errand *e)
{
    if (!e->is_taken) {
        complain(d, e, "nothing runs that could be told; Enter sends it as a message");
        return;
    }
    d->n_steered++;
    watcher_said(d->guest.watcher, weir_buf_slice(&e->text));
}

static void end_call(struct desk *d, struct call *call)
{
    const struct session_errand *e = call->errand;
    if (e->act == SESSION_NOTHING) show_others(d, weir_buf_slice(&e->messages));
    else if (!e->is_good) complain(d, e, e->why);
    else if (e->act == SESSION_SEND) end_sending(d, e);
    else if (e->act == SESSION_STEER) end_steering(d, e);
    background_end(call->work);
    *call = (struct call){.work = NULL};
    begin_others(d);
}

static void on_round(void *user)
{
    struct desk *d = user;
    for (size_t i = 0; i < CALLS; i++)
        if (d->calls[i].work && background_is_done(d->calls[i].work)) end_call(d, &d->calls[i]);
}

/* Escape twice, or Ctrl-C. The turn's end comes as an event. */
static bool cancel_turn(void *user)
{
    struct desk *d = user;
    const struct session_line line = {.act = SESSION_ABORT};
    (void)start(d, session_errand_new(d->chat, &line, ""));
    return true;
}

/* ---- lines ---- */

static void show_help(struct desk *d)
{
    struct weir_buf text;
    weir_buf_init(&text, ROW_BYTES);
    session_line_help(&text);
    watcher_note(d->guest.watcher, weir_buf_slice(&text), false);
    weir_buf_fini(&text);
}

static bool is_idle(const struct desk *d)
{
    return state_of(d)->phase != WEIR_UI_RUNNING && d->n_messages == 0 &&
           !is_under_way(d, SESSION_SEND);
}

static bool send_line(struct desk *d, const struct session_line *line, const char *ask)
{
    struct session_errand *e = session_errand_new(d->chat, line, ask);
    bool is_message = line->act == SESSION_SEND;
    if (e && is_message) e->is_shown = is_idle(d);
    bool is_shown = e && e->is_shown;
    if (!start(d, e)) return false;
    d->has_said |= is_message;
    if (is_shown) watcher_said(d->guest.watcher, line->text);
    return true;
}

/* True: it is done with, and the line may go. */
static bool take_line(struct desk *d, struct weir_slice text)
{
    const struct weir_ui_ask *ask = session_line_ask(state_of(d));
    struct session_line line = session_line_read(text, ask);
    switch (line.act) {
    case SESSION_NOTHING: return false;
    case SESSION_WRONG: set_note(d, line.why); return false;
    case SESSION_HELP: show_help(d); return true;
    case SESSION_NEW: d->where->wants_new = true; /* fall through */
    case SESSION_QUIT: d->guest.is_over = true; return true;
    default: break;
    }
    if (!free_call(d)) {
        set_note(d, busy_hint);
        return false;
    }
    return send_line(d, &line, ask ? ask->id : "");
}

static void submit(struct desk *d)
{
    struct weir_buf taken;
    struct line_editor *editor = d->where->editor;
    if (!take_line(d, line_editor_text(editor))) return;
    weir_buf_init(&taken, LINE_TEXT_BYTES);
    bool is_kept = line_editor_take(editor, &taken) && !d->chat->is_not_kept;
    if (is_kept && !history_file_add(weir_buf_slice(&taken)))
        snprintf(d->note, sizeof d->note, "the history cannot be kept: %s", strerror(errno));
    weir_buf_fini(&taken);
}

static void edit(struct desk *d, const struct key *key)
{
    struct line_editor *editor = d->where->editor;
    bool is_enter = key->kind == KEY_ENTER && !key->has_alt && line_editor_text(editor).len == 0;
    set_note(d, "");
    /* Enter alone may take a default. */
    if (is_enter) {
        submit(d);
        return;
    }
    switch (line_editor_key(editor, key)) {
    case LINE_SUBMIT: submit(d); break;
    case LINE_QUIT: d->guest.is_over = true; break;
    case LINE_REDRAW:
    case LINE_COMPLETE:
    case LINE_NOTHING: break;
    }
    if (line_editor_is_full(editor)) set_note(d, full_hint);
}

/* Those that cancel are the watcher's; we only hear of them. */
static void on_key(void *user, const struct key *key)
{
    struct desk *d = user;
    bool is_interrupt = key->kind == KEY_CONTROL && key->code == 'C';
    bool is_running = state_of(d)->phase == WEIR_UI_RUNNING;
    if (is_interrupt) set_note(d, is_running ? "" : quit_hint);
    else if (key->kind != KEY_ESCAPE) edit(d, key);
}

/* ---- the foot ---- */

/* Lines of ours, wrapped, as long as there is room; gives back how many rows are left. */
static size_t add_lines(struct desk *d, struct screen *screen, struct weir_slice text, size_t most,
                        unsigned look)
{
    while (text.len > 0 && most > 0) {
        size_t len;
        size_t next;
        term_wrap(text, screen->columns > 1 ? screen->columns : 1, &len, &next);
        weir_buf_reset(&d->row);
        term_put(&d->row, slice_of(text.ptr, len), look);
        screen_live_row(screen, weir_buf_slice(&d->row));
        text = slice_from(text, next);
        most--;
    }
    return most;
}

static size_t count_rows(const struct screen *screen, struct weir_slice text)
{
    size_t n = 0;
    for (; text.len > 0; n++) {
        size_t len;
        size_t next;
        term_wrap(text, screen->columns > 1 ? screen->columns : 1, &len, &next);
        text = slice_from(text, next);
    }
    return n;
}

/* What it is about gives way before what can be answered. */
static void add_prompt(struct desk *d, struct screen *screen, size_t most)
{
    const struct weir_ui_ask *ask = session_line_ask(state_of(d));
    size_t n_about = 0;
    if (!ask) return;
    weir_buf_reset(&d->prompt);
    session_line_prompt(&d->prompt, ask, clock_wall_ms(&clock_system), &n_about);
    struct weir_slice question = slice_from(weir_buf_slice(&d->prompt), n_about);
    size_t n_question = count_rows(screen, question);
    struct weir_slice about = slice_of(d->prompt.ptr, n_about);
    size_t room = most > n_question + 1 ? most - n_question : 1;
    bool is_cut = count_rows(screen, about) > room;
    (void)add_lines(d, screen, about, is_cut ? room - 1 : room, 0);
    if (is_cut) (void)add_lines(d, screen, SLICE("    … and more: make the window larger"), 1, 0);
    (void)add_lines(d, screen, question, n_question, TERM_BOLD);
}

static void add_waiting(struct desk *d, struct screen *screen)
{
    struct weir_buf line;
    weir_buf_init(&line, ROW_BYTES);
    size_t n = 0;
    for (size_t i = 0; i < d->n_messages; i++) {
        if (d->messages[i].is_shown || n++ > 0) continue;
        weir_buf_append_str(&line, "waits: ");
        term_clean_label(&line, weir_buf_slice(&d->messages[i].text));
    }
    weir_buf_reset(&d->row);
    if (n > 1) weir_buf_printf(&d->row, "(%zu) ", n);
    weir_buf_append_slice(&d->row, weir_buf_slice(&line));
    weir_buf_reset(&line);
    (void)term_put_cut(&line, weir_buf_slice(&d->row), screen->columns);
    if (n > 0) (void)add_lines(d, screen, weir_buf_slice(&line), 1, TERM_DIM);
    weir_buf_fini(&line);
}

static void add_foot(void *user, struct screen *screen)
{
    struct desk *d = user;
    size_t below = d->note[0] != '\0' ? 1 : 0;
    size_t half = screen->rows / 2 > below + 2 ? screen->rows / 2 - below : 2;
    add_waiting(d, screen);
    add_prompt(d, screen, half);
    line_rows_live(d->where->editor, screen, half, below);
    if (below > 0) (void)add_lines(d, screen, weir_slice_of(d->note), 1, TERM_DIM);
}

/* ---- life ---- */

/* What was told to the server is to arrive there. */
static void wait_for_calls(struct desk *d)
{
    for (size_t i = 0; i < CALLS; i++) {
        struct call *call = &d->calls[i];
        struct pollfd fd = {.events = POLLIN};
        if (!call->work) continue;
        fd.fd = background_fd(call->work);
        (void)poll(&fd, 1, LEAVE_MS);
        background_end(call->work);
    }
}

/* A session in which nothing was said is nobody's loss. */
static void forget_empty(struct desk *d, bool is_new)
{
    if (is_new && !d->has_said) (void)start(d, session_errand_new_deletion(d->chat));
}

static void read_before(struct desk *d, const struct chat_errand *errand)
{
    const struct weir_json *whole = NULL;
    d->doc = weir_json_doc_new(0);
    enum weir_status st =
        d->doc ? weir_json_parse(d->doc, weir_buf_slice(&errand->body), &whole, NULL) : WEIR_NOMEM;
    if (st == WEIR_OK) d->before = weir_json_get_str(whole, "messages");
}

void chat_session_terminal(struct chat *c, const struct chat_errand *errand,
                           struct chat_desk *where, int *signal_number)
{
    struct desk *d = mem_zalloc(sizeof *d);
    if (!d) return;
    *d = (struct desk){.chat = c, .where = where};
    d->guest = (struct watcher_guest){.keys = where->keys,
                                      .on_key = on_key,
                                      .foot = add_foot,
                                      .user = d,
                                      .stays = true,
                                      .on_round = on_round};
    weir_buf_init(&d->prompt, PROMPT_BYTES);
    weir_buf_init(&d->row, ROW_BYTES);
    read_before(d, errand);
    memcpy(c->session, errand->session, sizeof c->session);
    where->wants_new = false;
    const struct watcher_options options = {.is_quiet = c->is_quiet,
                                            .notes = stderr,
                                            .guest = &d->guest,
                                            .on_event = on_event,
                                            .event_user = d};
    const struct stream_wish wish = {.kind = WEIR_STREAM_SESSION,
                                     .id = c->session,
                                     .user = c->user,
                                     .is_not_kept = c->is_not_kept,
                                     .cancel = cancel_turn,
                                     .cancel_user = d};
    (void)stream_watch(c->config, &wish, &options, signal_number);
    where->is_left = d->guest.is_left;
    forget_empty(d, errand->is_new);
    wait_for_calls(d);
    while (d->n_messages > 0) weir_buf_fini(&d->messages[--d->n_messages].text);
    weir_json_doc_free(d->doc);
    weir_buf_fini(&d->row);
    weir_buf_fini(&d->prompt);
    mem_free(d);
}
