/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a stream of a server from its first event to its end: by the control socket of a folder
 * of this machine, or over the network, where it is asked for again when the connection is lost and
 * each event is shown once.
 *
 * Streams of the Durable Streams protocol (…?offset=-1&live=sse) go on behind the offset that their
 * "control" events name; what comes before such an event is shown when it has come.
 */
#pragma once

#include <weir/client.h>

#include "client_config.h"
#include "watcher.h"

enum { STREAM_WATCH_FIELDS = 8, STREAM_BEHIND_BYTES = 256 };

/* Why the turn of a session that is watched has not begun: another one has not ended. */
struct stream_behind {
    enum { BEHIND_TURN, BEHIND_APPROVAL, BEHIND_QUESTION } kind; /* what that one waits for */
    /* Its id, and the tool or the question; for people, cleaned. */
    char id[STREAM_BEHIND_BYTES], what[STREAM_BEHIND_BYTES];
};

struct stream_wish {
    enum weir_stream_kind kind;
    const char *id;            /* turn, session, chat */
    const char *user;          /* whose, on this machine; NULL: me */
    const char *url;           /* any, model: over the network, whatever the configuration says */
    const char *key, *ca_file; /* for that url; NULL: none */
    uint64_t since;            /* turn, session: events up to this one are had */
    const char *turn; /* session: this turn of it alone, to its end; NULL: all that happens */
    /* That turn has to wait; again whenever what is before it asks people. May be NULL. */
    void (*on_behind)(void *user, struct watcher *w, const struct stream_behind *b);
    void *behind_user;
    uint64_t *last;            /* session: set to the number of the last event; may be NULL */
    const char *last_event_id; /* any, chat: the same; NULL: none */
    struct weir_slice body;    /* model */
    struct weir_stream_field fields[STREAM_WATCH_FIELDS];
    size_t n_fields;
    bool is_not_kept; /* else events of turns, sessions and chats are: see event_keep.h */

    /* Asks for the end of what is watched; false: watching just stops. May be NULL. */
    bool (*cancel)(void *user);
    void *cancel_user;
};

/* Whether a message of a session, by its id, is of this turn: both have the same ULID in them. */
bool stream_watch_is_of_turn(struct weir_slice message_id, const char *turn);

/*
 * The exit status, as of watcher_run(). *signal_number: what ended it, for tty_die() once all else
 * is in order; 0: none. `config` may be NULL for a wish with a URL.
 */
int stream_watch(const struct client_config *config, const struct stream_wish *wish,
                 const struct watcher_options *options, int *signal_number);
