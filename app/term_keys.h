/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from a terminal to keys. Pure: the caller reads, and says what time it is.
 *
 * Escape is a key and begins the names of others, so a lone one is decided by time: it is a press
 * when KEYS_WAIT_NS have passed without more. However the bytes are cut, the keys are the same
 * as long as no such time passes in between. ESC ESC is two presses; an arrow key is none.
 *
 * 1. Zero the struct.
 * 2. keys_feed() with what was read; keys_due_ns() says when to call keys_time() at the latest.
 *
 * One thread at a time. Nothing is allocated.
 */
#pragma once

#include <weir/types.h>

#define KEYS_WAIT_NS UINT64_C(25000000)
#define KEYS_NEVER   UINT64_MAX

enum { KEYS_SEQUENCE_BYTES = 32 };

enum key_kind {
    KEY_CHAR,    /* code is the character */
    KEY_PASTED,  /* likewise, but nobody pressed it */
    KEY_CONTROL, /* code is the letter: 'C' for Ctrl-C */
    KEY_ESCAPE,
    KEY_ENTER,
    KEY_TAB,
    KEY_BACKSPACE,
    KEY_UP,
    KEY_DOWN,
    KEY_RIGHT,
    KEY_LEFT,
    KEY_HOME,
    KEY_END,
    KEY_INSERT,
    KEY_DELETE,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_UNKNOWN, /* a key that we have no name for */
};

struct key {
    enum key_kind kind;
    uint32_t code;
    bool has_alt;
    bool has_control; /* of keys with a name */
};

typedef void (*key_fn)(void *user, const struct key *key);

struct keys {
    unsigned char held[KEYS_SEQUENCE_BYTES]; /* the beginning of a key */
    size_t n_held;
    bool is_pasting;
    bool is_skipping; /* a sequence that was too long, up to its last byte */
    uint64_t held_ns; /* when the last of them came */
};

void keys_feed(struct keys *k, struct weir_slice bytes, uint64_t now_ns, key_fn on_key, void *user);

/* When something held has to be decided; KEYS_NEVER: it may wait. */
uint64_t keys_due_ns(const struct keys *k);

/* Decides what is held, if it is time. */
void keys_time(struct keys *k, uint64_t now_ns, key_fn on_key, void *user);
