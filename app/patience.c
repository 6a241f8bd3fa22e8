/* SPDX-License-Identifier: Apache-2.0 */
#include "patience.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <weir/ui.h>

#include "base/clock.h"
#include "base/slice.h"
#include "term_keys.h"
#include "term_style.h"
#include "term_tty.h"

enum {
    MOMENT_MS = 150, /* a server that is there answers before this */
    SPIN_MS = 80,
    KEY_BYTES = 256,
    LINE_BYTES = 256,
};

struct waiting {
    struct background *work;
    const char *what;
    struct keys keys;
    struct weir_cancel cancel;
    uint64_t now_ns;
    bool is_cancelled;
    int signal_number;
};

static bool is_over(const struct waiting *w)
{
    return w->is_cancelled || w->signal_number != 0;
}

static void on_key(void *user, const struct key *key)
{
    struct waiting *w = user;
    enum weir_cancel_key meaning = WEIR_CANCEL_KEY_OTHER;
    if (key->kind == KEY_ESCAPE) meaning = WEIR_CANCEL_KEY_ESCAPE;
    if (key->kind == KEY_CONTROL && key->code == 'C') meaning = WEIR_CANCEL_KEY_INTERRUPT;
    enum weir_cancel_act act = weir_cancel_press(&w->cancel, meaning, w->now_ns);
    if (act == WEIR_CANCEL_NOW || act == WEIR_CANCEL_QUIT) w->is_cancelled = true;
}

static void read_keys(struct waiting *w)
{
    char bytes[KEY_BYTES];
    ssize_t n = read(tty_key_fd(), bytes, sizeof bytes);
    if (n > 0) keys_feed(&w->keys, slice_of(bytes, (size_t)n), w->now_ns, on_key, w);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR)) w->signal_number = SIGHUP;
}

static void take_signals(struct waiting *w)
{
    struct tty_news news = tty_take_news();
    if (news.is_stop) tty_stop();
    if (news.ending != 0) w->signal_number = news.ending;
}

static void draw(const struct waiting *w)
{
    struct weir_buf line;
    if (!tty_is_ours()) return;
    weir_buf_init(&line, LINE_BYTES);
    weir_buf_append_str(&line, "\r\x1b[K");
    weir_buf_append_slice(&line, term_spinner(w->now_ns));
    weir_buf_append_str(&line, " ");
    weir_buf_append_str(&line, w->cancel.is_asking ? "press Esc again to cancel" : w->what);
    bool is_written = weir_buf_status(&line) != WEIR_OK || tty_write(weir_buf_slice(&line));
    (void)is_written; /* a terminal that is gone says so by a signal */
    weir_buf_fini(&line);
}

static void step(struct waiting *w)
{
    struct pollfd fds[] = {{.fd = background_fd(w->work), .events = POLLIN},
                           {.fd = tty_signal_fd(), .events = POLLIN},
                           {.fd = tty_key_fd(), .events = POLLIN}};
    uint64_t due = keys_due_ns(&w->keys);
    int ms = SPIN_MS;
    if (due != KEYS_NEVER) ms = due > w->now_ns ? (int)((due - w->now_ns) / 1000000) + 1 : 0;
    draw(w);
    (void)poll(fds, 3, ms < SPIN_MS ? ms : SPIN_MS);
    w->now_ns = clock_mono_ns(&clock_system);
    weir_cancel_tick(&w->cancel, w->now_ns);
    if (fds[1].revents) take_signals(w);
    if (fds[2].revents) read_keys(w);
    keys_time(&w->keys, w->now_ns, on_key, w);
}

/* True: it is done already. */
static bool is_quick(struct background *b, int ms)
{
    struct pollfd fd = {.fd = background_fd(b), .events = POLLIN};
    return poll(&fd, 1, ms) > 0 && background_is_done(b);
}

static void wait_plainly(struct background *b)
{
    while (!background_is_done(b)) (void)is_quick(b, -1);
}

enum patience patience_wait(struct background *b, const char *what, int *signal_number)
{
    struct waiting w = {.work = b, .what = what, .now_ns = clock_mono_ns(&clock_system)};
    if (is_quick(b, MOMENT_MS)) return PATIENCE_DONE;
    if (!tty_is_wanted() || !tty_open()) {
        wait_plainly(b);
        return PATIENCE_DONE;
    }
    weir_cancel_begin(&w.cancel);
    while (!background_is_done(b) && !is_over(&w)) step(&w);
    bool is_cleared = tty_write(SLICE("\r\x1b[K"));
    (void)is_cleared;
    tty_close();
    *signal_number = w.signal_number;
    if (background_is_done(b)) return PATIENCE_DONE;
    return w.signal_number != 0 ? PATIENCE_SIGNAL : PATIENCE_CANCELLED;
}
