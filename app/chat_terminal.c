/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop over keys, signals and what the server was asked, while no turn is watched; while one
 * is, watcher.c has the loop, and we are its guest. Nothing here waits for the server: that is done
 * in another thread, which can be left alone.
 */
#include "chat_terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "background.h"
#include "base/clock.h"
#include "base/slice.h"
#include "chat_session.h"
#include "command.h"
#include "history_file.h"
#include "line_editor.h"
#include "line_rows.h"
#include "term_style.h"
#include "term_text.h"
#include "term_tty.h"

enum {
    SPIN_MS = 100,
    SHOWN_AFTER_MS = 150, /* what takes less is not worth a line */
    KEY_BYTES = 4096,
    NOTE_BYTES = 96,
    ROW_BYTES = 64 << 10,
    HISTORY_BYTES = 1 << 20,
};

static const char greeting[] =
    "Ask about your data. /help shows more; Esc twice cancels, Ctrl-D leaves.\n"
    "In a /session it may act, too, and asks you first.";
static const char quit_hint[] = "press Ctrl-C again to leave";
static const char busy_hint[] = "Enter sends this when the answer is there";
static const char full_hint[] = "a question has 64 KiB at most";

struct terminal {
    struct chat *chat;
    struct line_editor *editor;
    struct keys keys;
    struct screen screen; /* while no turn is watched */
    struct weir_buf row;
    struct weir_buf line;  /* what was submitted */
    char note[NOTE_BYTES]; /* below the line, until the next key */
    uint64_t now_ns;

    struct background *work;    /* what the server is asked; NULL: nothing */
    struct chat_errand *errand; /* that, in another thread's hands until it is done */
    uint64_t work_ns;           /* since when */
    struct weir_cancel cancel;  /* of that, and of us */
    bool is_busy;               /* Enter has to wait */
    bool is_submitted;
    bool is_again; /* another session is to be begun */
    bool is_over;
    int exit_status;
    int signal_number;
};

/* ---- keys ---- */

static void set_note(struct terminal *t, const char *note)
{
    snprintf(t->note, sizeof t->note, "%s", note);
}

static void clear_screen(struct terminal *t)
{
    if (t->is_busy) return; /* then it is not ours to clear */
    (void)tty_write(screen_leave(&t->screen));
    (void)tty_write(SLICE("\033[H\033[2J"));
}

/* At once, so that what was typed ahead is of the next line. */
static void submit(struct terminal *t)
{
    weir_buf_reset(&t->line);
    bool is_kept = line_editor_take(t->editor, &t->line) && !t->chat->is_not_kept;
    if (is_kept && !history_file_add(weir_buf_slice(&t->line)))
        snprintf(t->note, sizeof t->note, "the history cannot be kept: %s", strerror(errno));
    t->is_busy = t->is_submitted = true;
}

static void complete(struct terminal *t)
{
    struct weir_buf line;
    struct weir_buf note;
    weir_buf_init(&line, NOTE_BYTES);
    weir_buf_init(&note, NOTE_BYTES);
    chat_command_complete(line_editor_text(t->editor), &line, &note);
    if (line.len > 0) line_editor_set(t->editor, weir_buf_slice(&line));
    snprintf(t->note, sizeof t->note, "%.*s", (int)note.len, note.len > 0 ? note.ptr : "");
    weir_buf_fini(&note);
    weir_buf_fini(&line);
}

static void edit(struct terminal *t, const struct key *key)
{
    set_note(t, "");
    switch (line_editor_key(t->editor, key)) {
    case LINE_SUBMIT:
        if (t->is_busy) set_note(t, busy_hint);
        else submit(t);
        break;
    case LINE_QUIT: t->is_over = !t->is_busy; break;
    case LINE_REDRAW: clear_screen(t); break;
    case LINE_COMPLETE: complete(t); break;
    case LINE_NOTHING: break;
    }
    if (line_editor_is_full(t->editor)) set_note(t, full_hint);
}

/* While a turn is watched: those that cancel are the watcher's. A Ctrl-C that came late means us.
 */
static void on_guest_key(void *user, const struct key *key)
{
    struct terminal *t = user;
    bool is_interrupt = key->kind == KEY_CONTROL && key->code == 'C';
    t->cancel.is_quitting = is_interrupt;
    if (!is_interrupt && key->kind != KEY_ESCAPE) edit(t, key);
}

static void end_work(struct terminal *t)
{
    background_end(t->work);
    t->work = NULL;
    t->errand = NULL;
}

/* Nobody waits for it any more; a turn that has come of it, or will, is cancelled. */
static void leave_work(struct terminal *t)
{
    if (!t->work) return;
    atomic_store(&t->errand->is_unwanted, true);
    if (background_is_done(t->work)) chat_cancel_late(t->chat, t->errand);
    end_work(t);
}

static void act(struct terminal *t, enum weir_cancel_act what)
{
    if (what == WEIR_CANCEL_QUIT) t->is_over = true;
    if (what == WEIR_CANCEL_NOW) leave_work(t);
}

static void on_key(void *user, const struct key *key)
{
    struct terminal *t = user;
    bool is_interrupt = key->kind == KEY_CONTROL && key->code == 'C';
    enum weir_cancel_key meaning = WEIR_CANCEL_KEY_OTHER;
    if (is_interrupt) meaning = WEIR_CANCEL_KEY_INTERRUPT;
    if (key->kind == KEY_ESCAPE) meaning = WEIR_CANCEL_KEY_ESCAPE;
    if (key->kind == KEY_CONTROL && key->code == 'Z') raise(SIGTSTP);
    if (key->kind == KEY_CONTROL && key->code == '\\') raise(SIGQUIT);
    bool was_working = t->work != NULL;
    act(t, weir_cancel_press(&t->cancel, meaning, t->now_ns));
    if (meaning == WEIR_CANCEL_KEY_OTHER) edit(t, key);
    else set_note(t, is_interrupt && !was_working ? quit_hint : "");
}

static void read_keys(struct terminal *t)
{
    char bytes[KEY_BYTES];
    ssize_t n = read(tty_key_fd(), bytes, sizeof bytes);
    if (n > 0) keys_feed(&t->keys, slice_of(bytes, (size_t)n), t->now_ns, on_key, t);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR)) t->signal_number = SIGHUP;
}

/* ---- what is shown ---- */

static void fit_screen(struct terminal *t)
{
    unsigned columns;
    unsigned rows;
    tty_size(&columns, &rows);
    screen_resize(&t->screen, columns, rows);
}

/* Lines of ours or of others that were made harmless, wrapped to the screen. */
static void commit_text(struct terminal *t, struct weir_slice text, unsigned look)
{
    while (text.len > 0) {
        size_t len;
        size_t next;
        term_wrap(text, t->screen.columns, &len, &next);
        weir_buf_reset(&t->row);
        term_put(&t->row, slice_of(text.ptr, len), look);
        screen_commit(&t->screen, weir_buf_slice(&t->row));
        text = slice_from(text, next);
    }
}

static void commit_blank(struct terminal *t)
{
    screen_commit(&t->screen, SLICE(""));
}

static void add_row(struct terminal *t, struct screen *screen, const char *text, unsigned look)
{
    struct weir_buf cut;
    weir_buf_init(&cut, ROW_BYTES);
    weir_buf_reset(&t->row);
    (void)term_put_cut(&cut, weir_slice_of(text), screen->columns);
    term_put(&t->row, weir_buf_slice(&cut), look);
    screen_live_row(screen, weir_buf_slice(&t->row));
    weir_buf_fini(&cut);
}

/* The line that is typed on, and what there is to say about it; also below a turn. */
static void add_foot(void *user, struct screen *screen)
{
    struct terminal *t = user;
    size_t below = t->note[0] != '\0' ? 1 : 0;
    size_t most = screen->rows / 2 > below + 1 ? screen->rows / 2 - below : 1;
    line_rows_live(t->editor, screen, most, below);
    if (below > 0) add_row(t, screen, t->note, TERM_DIM);
}

static void add_work(struct terminal *t)
{
    char text[NOTE_BYTES];
    uint64_t ms = (t->now_ns - t->work_ns) / 1000000;
    struct weir_slice dots = term_spinner(t->now_ns);
    if (!t->work || (ms < SHOWN_AFTER_MS && !t->cancel.is_asking)) return;
    snprintf(text, sizeof text, "%.*s %.1f s  %s", (int)dots.len, dots.ptr, (double)ms / 1000,
             t->cancel.is_asking ? "press Esc again to cancel" : "waiting for the server");
    add_row(t, &t->screen, text, 0);
}

static void draw(struct terminal *t)
{
    if (!tty_is_ours()) return;
    if (tty_has_new_size()) fit_screen(t);
    screen_live_begin(&t->screen);
    add_work(t);
    add_foot(t, &t->screen);
    if (!tty_write(screen_frame(&t->screen))) t->signal_number = SIGHUP;
}

/* ---- the loop ---- */

static void take_signals(struct terminal *t)
{
    struct tty_news news = tty_take_news();
    if (news.ending != 0) t->signal_number = news.ending;
    if (news.is_stop) {
        (void)tty_write(screen_leave(&t->screen));
        tty_stop();
        news = tty_take_news();
    }
    if (news.is_resize) fit_screen(t);
}

static int wait_ms(const struct terminal *t)
{
    uint64_t due = keys_due_ns(&t->keys);
    int most = t->work ? SPIN_MS : -1;
    if (due == KEYS_NEVER) return most;
    return due > t->now_ns ? (int)((due - t->now_ns) / 1000000) + 1 : 0;
}

static void tick(struct terminal *t)
{
    t->now_ns = clock_mono_ns(&clock_system);
    weir_cancel_tick(&t->cancel, t->now_ns);
}

static bool is_on(const struct terminal *t)
{
    return !t->is_over && t->signal_number == 0;
}

static void step(struct terminal *t)
{
    struct pollfd fds[] = {{.fd = tty_key_fd(), .events = POLLIN},
                           {.fd = tty_signal_fd(), .events = POLLIN},
                           {.fd = t->work ? background_fd(t->work) : -1, .events = POLLIN}};
    tick(t);
    draw(t);
    (void)poll(fds, 3, wait_ms(t));
    tick(t);
    if (fds[1].revents) take_signals(t);
    if (fds[0].revents) read_keys(t);
    keys_time(&t->keys, t->now_ns, on_key, t);
}

/* ---- lines ---- */

/* In another thread. Whether it came to its end; else somebody had enough, and it is gone. */
static bool run_errand(struct terminal *t, struct chat_errand *e)
{
    t->work = background_start(chat_errand_run, chat_errand_free, e);
    if (!t->work) {
        chat_errand_free(e);
        commit_text(t, SLICE("weir: there is no thread to be had"), TERM_BAD);
        return false;
    }
    t->errand = e;
    t->work_ns = clock_mono_ns(&clock_system);
    weir_cancel_begin(&t->cancel);
    while (t->work && !background_is_done(t->work)) {
        if (is_on(t)) step(t);
        else leave_work(t);
    }
    /* One Ctrl-C was for the work; the next one is for us. */
    bool is_quitting = t->cancel.is_quitting;
    weir_cancel_end(&t->cancel);
    t->cancel.is_quitting = is_quitting;
    return t->work != NULL;
}

/* The turn is shown by the watcher, which has the screen meanwhile. */
static void watch_turn(struct terminal *t, const struct chat_errand *e)
{
    struct watcher_guest guest = {
        .keys = &t->keys, .on_key = on_guest_key, .foot = add_foot, .user = t};
    screen_live_begin(&t->screen);
    (void)tty_write(screen_frame(&t->screen));
    (void)chat_watch(t->chat, e, &guest, &t->signal_number);
    t->is_over |= guest.is_left;
    fit_screen(t);
}

static void ask_for_session(struct terminal *t, const char *id)
{
    weir_buf_reset(&t->line);
    weir_buf_printf(&t->line, "/session %s", id);
    t->is_busy = t->is_submitted = true;
}

/* From here on it is the session's line; who leaves that leaves. */
static void talk_in_session(struct terminal *t, const struct chat_errand *e)
{
    struct chat_desk desk = {.editor = t->editor, .keys = &t->keys};
    char text[ROW_BYTES / 256];
    snprintf(text, sizeof text,
             "Session %s. It asks before it changes anything. /help shows more; Esc twice aborts a "
             "turn, Ctrl-D leaves.",
             e->session);
    t->chat->is_session = true;
    commit_text(t, weir_slice_of(text), TERM_DIM);
    commit_blank(t);
    screen_live_begin(&t->screen);
    (void)tty_write(screen_frame(&t->screen));
    chat_session_terminal(t->chat, e, &desk, &t->signal_number);
    fit_screen(t);
    if (desk.wants_new) t->is_again = true;
    else t->is_over = true;
    if (!desk.is_left) t->exit_status = EXIT_FAILED;
}

/* What was asked for and did not work can be asked again. */
static void give_back(struct terminal *t)
{
    if (line_editor_text(t->editor).len == 0) line_editor_set(t->editor, weir_buf_slice(&t->line));
}

static void end_errand(struct terminal *t, struct chat_errand *e)
{
    bool is_question = e->command.act == CHAT_QUESTION;
    if (is_question && chat_say_left_out(e, &e->text))
        commit_text(t, weir_buf_slice(&e->text), TERM_DIM);
    else commit_text(t, weir_buf_slice(&e->text), e->is_good ? 0 : TERM_BAD);
    if (e->command.act == CHAT_NEW) dialogue_fini(&t->chat->dialogue);
    if (e->command.act == CHAT_QUIT) t->is_over = true;
    if (e->command.act == CHAT_SESSION && e->is_good) talk_in_session(t, e);
    if (is_question && e->is_good) watch_turn(t, e);
    if (is_question && !e->is_good) give_back(t);
}

/* Where there is no session to be had there is nothing to type for. */
static void fail(struct terminal *t)
{
    t->is_over = true;
    t->exit_status = EXIT_FAILED;
    screen_live_begin(&t->screen);
    (void)tty_write(screen_frame(&t->screen));
}

static void take_line(struct terminal *t)
{
    struct chat_command command = chat_command_read(weir_buf_slice(&t->line));
    bool is_typed = !t->chat->is_session;
    t->is_submitted = false;
    if (is_typed) line_rows_commit(weir_buf_slice(&t->line), &t->screen);
    struct chat_errand *e =
        chat_errand_new(t->chat, &command, weir_buf_slice(&t->line), t->screen.columns);
    if (!e) commit_text(t, SLICE("weir: there is no memory"), TERM_BAD);
    if (e && run_errand(t, e)) {
        end_errand(t, e);
        end_work(t);
    } else if (is_on(t)) {
        commit_text(t, SLICE("cancelled"), TERM_DIM);
        if (is_typed) give_back(t);
    }
    commit_blank(t);
    t->is_busy = false;
    if (t->is_again) ask_for_session(t, "");
    else if (!is_typed && !t->is_over) fail(t);
    t->is_again = false;
    set_note(t, t->cancel.is_quitting ? quit_hint : "");
}

/* ---- life ---- */

static void load_history(struct terminal *t)
{
    struct weir_buf lines;
    weir_buf_init(&lines, HISTORY_BYTES);
    history_file_read(&lines);
    if (weir_buf_status(&lines) == WEIR_OK) line_editor_remember(t->editor, weir_buf_slice(&lines));
    weir_buf_fini(&lines);
}

static int run(struct terminal *t)
{
    if (!tty_open()) return EXIT_FAILED;
    fit_screen(t);
    load_history(t);
    if (t->chat->is_session) {
        ask_for_session(t, t->chat->session);
    } else {
        commit_text(t, weir_slice_of(greeting), TERM_DIM);
        commit_blank(t);
    }
    while (is_on(t)) {
        if (t->is_submitted) take_line(t);
        else step(t);
    }
    (void)tty_write(screen_leave(&t->screen));
    tty_close();
    return t->exit_status;
}

int chat_terminal(struct chat *c, int *signal_number)
{
    struct terminal t = {.chat = c};
    int exit_status = EXIT_FAILED;
    screen_init(&t.screen, 80, 24);
    weir_buf_init(&t.row, ROW_BYTES);
    weir_buf_init(&t.line, LINE_TEXT_BYTES);
    t.editor = line_editor_new();
    if (t.editor) exit_status = run(&t);
    line_editor_free(t.editor);
    weir_buf_fini(&t.line);
    weir_buf_fini(&t.row);
    screen_fini(&t.screen);
    *signal_number = t.signal_number;
    return exit_status;
}
