/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of turns, sessions and chats, kept on this machine as they arrive, so that they can be
 * looked at when the server has long expired them or is gone: $XDG_STATE_HOME/weir/events, one file
 * for each stream in the wire form of its events, for the user alone (mode 0600).
 *
 * 1. event_keep_open() with the stream; NULL is no reason to stop: then nothing is kept.
 * 2. event_keep_add() with each event. What is there already is not kept twice.
 * 3. event_keep_close().
 * event_keep_read() gives them back.
 *
 * Bounded: by bytes and number of files, by age, and by bytes of a stream, whose oldest half goes
 * when it is full. Of all streams those that were written to longest ago go first, before anything
 * is written; so the ceiling holds at any moment for up to EVENT_KEEP_WRITERS processes at a time.
 * One process at a time keeps a stream. What a crash leaves is cut behind the last whole event when
 * the file is opened next. Nothing is synced: it is a copy.
 *
 * One thread at a time. WEIR_KEEP=no in the environment, or keep_events = no in the configuration
 * file, turns it off; the environment wins.
 */
#pragma once

#include <weir/sse.h>

enum event_keep_kind { EVENT_KEEP_TURN, EVENT_KEEP_SESSION, EVENT_KEEP_CHAT };

enum {
    EVENT_KEEP_TOTAL_BYTES = 256 << 20,
    EVENT_KEEP_STREAM_BYTES = 16 << 20,
    EVENT_KEEP_FILES = 4096,
    EVENT_KEEP_AGE_S = 180 * 24 * 3600,
    EVENT_KEEP_STEP_BYTES = 256 << 10, /* written between two looks at all files */
    EVENT_KEEP_WRITERS = 16,
};

struct event_keep_limits {
    uint64_t total_bytes, stream_bytes, step_bytes;
    unsigned max_files, max_age_s;
};

extern const struct event_keep_limits event_keep_usual;

struct event_keep_place {
    const char *folder;
    const struct event_keep_limits *limits;
};

struct event_keep;

/*
 * `server` is its URL or folder: streams of the same name on two servers are two. NULL: it is
 * turned off, has no place, or its name is none for a file.
 */
struct event_keep *event_keep_open(enum event_keep_kind kind, const char *id, const char *server);
void event_keep_add(struct event_keep *k, const struct weir_sse_event *event); /* NULL: nothing */
void event_keep_close(struct event_keep *k);                                   /* NULL is allowed */

/* The same in another place, within other limits; for tests. */
struct event_keep *event_keep_open_in(const struct event_keep_place *place,
                                      enum event_keep_kind kind, const char *id,
                                      const char *server);

typedef void (*event_keep_fn)(void *user, const struct weir_sse_event *event);

/* All that is kept of a stream, of whichever server was written to last. False: nothing. */
bool event_keep_read(enum event_keep_kind kind, const char *id, event_keep_fn give, void *user);
bool event_keep_read_in(const struct event_keep_place *place, enum event_keep_kind kind,
                        const char *id, event_keep_fn give, void *user);
