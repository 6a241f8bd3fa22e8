/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a stream of events on whatever standard output is: a live view on a terminal (term_view.h),
 * plain lines elsewhere (plain_view.h), or lines of JSON. The stream may be that of a turn, of a
 * session, of a chat's reply, or of a model in Anthropic's or OpenAI's form; the first event that
 * is known decides. Any other events are a line each.
 *
 * On a terminal, Escape asks whether to cancel and a second within a second does, Ctrl-C cancels
 * and twice quits, Ctrl-Z stops; signals that end the program leave a sane terminal.
 *
 * 1. watcher_new().
 * 2. watcher_run() with a source until it ends; it gives the exit status.
 * 3. watcher_signal(): the signal that ended it, for tty_die() once all else is in order.
 * 4. watcher_free().
 *
 * The thread that runs it has the terminal to itself.
 */
#pragma once

#include <stdio.h>

#include <weir/sse.h>

#include "event_keep.h"
#include "term_keys.h"
#include "term_view.h"

struct watcher;

/*
 * Somebody who has the terminal, and types while the stream is watched. Keys that cancel and stop
 * (Escape, Ctrl-C, Ctrl-Z, Ctrl-\) do so, and the guest only hears of them.
 */
struct watcher_guest {
    struct keys *keys; /* so that what is held of a key is there afterwards */
    key_fn on_key;
    view_foot_fn foot; /* rows below all others */
    void *user;
    bool is_left; /* set when somebody quits */
    /*
     * In a session, which has no end: that a turn is cancelled ends nothing, and what waits for a
     * person stands in the foot.
     */
    bool stays;
    bool is_over;                 /* set by the guest: it has had enough */
    void (*on_round)(void *user); /* ten times a second at least; may be NULL */
    struct watcher *watcher;      /* while the stream is watched: for the calls below */
};

enum watcher_dialect {
    WATCHER_OPEN, /* whatever comes first */
    WATCHER_TURN,
    WATCHER_SESSION,
    WATCHER_CHAT,
    WATCHER_MODEL,
};

struct watcher_options {
    bool is_json, is_quiet;
    enum watcher_dialect dialect;
    struct event_keep *keep;     /* of the stream; NULL: its events are not kept */
    FILE *notes;                 /* where plain lines about the work go */
    const char *hint;            /* said with a turn's id at its end; may be NULL */
    struct watcher_guest *guest; /* NULL: the watcher opens and closes the terminal itself */
    /* Each event, when it was shown; may be NULL. */
    void (*on_event)(void *user, struct weir_slice type, const struct weir_json *data);
    void *event_user;
};

enum watcher_more {
    WATCHER_MORE,
    WATCHER_ENDED,
    WATCHER_WHOLE, /* ended, and it is known that nothing is missing */
    WATCHER_BROKEN,
};

struct watcher_source {
    int fd; /* readable when there is something to read */
    /* Reads once, and gives it to watcher_feed() or watcher_event(). */
    enum watcher_more (*read)(void *user, struct watcher *w);
    /* When read() is due though nothing can be read, in milliseconds; -1: never. May be NULL, if
     * read() waits when there is nothing. */
    int (*wait_ms)(void *user);
    /*
     * Asks for the end of what is watched, without waiting; its last event is read when it comes at
     * once, and else it counts as failed. False: reading just stops. May be NULL.
     */
    bool (*cancel)(void *user);
    void *user;
};

/* NULL when there is no memory. */
struct watcher *watcher_new(const struct watcher_options *options);
void watcher_free(struct watcher *w);

/* Bytes of the stream. False: no more is wanted. */
bool watcher_feed(struct watcher *w, struct weir_slice bytes);

/* One event of it, from a source that has a decoder of its own. */
void watcher_event(struct watcher *w, const struct weir_sse_event *event);

/* Whether what came last, a turn, a reply or a message, has come to its end. */
bool watcher_is_complete(const struct watcher *w);

/* ---- the connection, as it changes ---- */

void watcher_connecting(struct watcher *w, const char *to); /* NULL: not worth a word */
void watcher_connected(struct watcher *w);
void watcher_reconnecting(struct watcher *w, const char *why, uint64_t in_ms);

/* For good. is_cut: something had come of it, which is now incomplete. */
void watcher_disconnected(struct watcher *w, const char *code, const char *why, bool is_cut);

/* Whether it is a model's message, of either form. */
bool watcher_is_model(const struct watcher *w);

/* It is read from its beginning again: what is there of it ends here, and a line says so. */
void watcher_restarted(struct watcher *w);

/* A line about the stream that belongs between its events; nothing in it needs to be cleaned. */
void watcher_tell(struct watcher *w, const char *text);

/* Something to know about the stream: these events are no longer kept. */
void watcher_gap(struct watcher *w, uint64_t first_seq, uint64_t last_seq);

/*
 * EXIT_DONE: what was watched is complete. EXIT_FAILED: it failed, or its stream is broken.
 * EXIT_INCOMPLETE: the stream ended, or was left, before it did.
 */
int watcher_run(struct watcher *w, const struct watcher_source *source);

/* ---- for guests ---- */

const struct weir_ui *watcher_state(const struct watcher *w);

/* What was typed, and what is to be known about it: above all that moves. Made harmless. */
void watcher_said(struct watcher *w, struct weir_slice text);
void watcher_note(struct watcher *w, struct weir_slice text, bool is_bad);

/* What is missing when that is EXIT_INCOMPLETE, for people. */
const char *watcher_lack(const struct watcher *w);

/* Whether somebody at the keys had enough. */
bool watcher_is_left(const struct watcher *w);

/* 0: none. */
int watcher_signal(const struct watcher *w);
