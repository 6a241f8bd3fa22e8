/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal itself: its modes, its size, its keys, and the signals that concern it. Whatever
 * ends the program (the end, SIGINT, SIGTERM, SIGHUP, SIGQUIT, an abort), the terminal is left as
 * it was found; when it is stopped and goes on, it is left and taken again.
 *
 * 1. tty_is_wanted(): whether to draw at all, or to write plain lines.
 * 2. tty_open(). Keys come one by one and unseen, Ctrl-C among them.
 * 3. Wait with poll() on tty_key_fd() (-1: there are no keys) and tty_signal_fd().
 * 4. tty_close(), from the same thread. tty_die() ends the program as the signal would have.
 *
 * There is one terminal, so there is one of these. No thread but the one that opened it.
 */
#pragma once

#include <weir/types.h>

/* Standard output is a terminal that can move its cursor, ours to use, and no NO_COLOR is set. */
bool tty_is_wanted(void);

/* False: the terminal cannot be had. */
bool tty_open(void);
void tty_close(void);

void tty_size(unsigned *columns, unsigned *rows);
/*
 * It is another than tty_size() said last. Looked at before each frame: the signal may be on its
 * way still, and who draws on lines that have been wrapped meanwhile draws on others than it
 * thinks.
 */
bool tty_has_new_size(void);

/* Writes all; false when the terminal is gone. */
bool tty_write(struct weir_slice bytes);

/* False in the background: nothing is to be drawn, and there are no keys. */
bool tty_is_ours(void);

int tty_key_fd(void);
int tty_signal_fd(void);

struct tty_news {
    int ending;     /* a signal that asks for the end; 0: none */
    bool is_stop;   /* SIGTSTP: tty_stop() is to be called, after the screen was left */
    bool is_resize; /* the size may have changed, and all has to be drawn again */
};

/* What has come since the last call. After SIGCONT the terminal is taken again. */
struct tty_news tty_take_news(void);

/* Leaves the terminal and stops this process, as Ctrl-Z does. */
void tty_stop(void);

/* Ends the program by this signal, its handlers put aside. */
_Noreturn void tty_die(int signal_number);
