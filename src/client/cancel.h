/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The question about cancelling, as a state machine with a given clock:
 *
 *   Escape while something runs asks; a second within a second cancels. Any other key, the end
 *   of what runs, or a second without a key clears the question. Ctrl-C cancels at once, and
 *   again it quits, also where nothing runs.
 *
 * 1. Zero the struct; cancel_begin() when something begins to run.
 * 2. cancel_press() for each key, cancel_tick() as time goes by.
 * 3. cancel_end() when it has ended.
 *
 * No terminal and no clock of its own. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CANCEL_WITHIN_NS UINT64_C(1000000000)

enum cancel_key { CANCEL_KEY_ESCAPE, CANCEL_KEY_INTERRUPT, CANCEL_KEY_OTHER };

enum cancel_act {
    CANCEL_NOTHING,
    CANCEL_ASK,  /* the question is to be shown */
    CANCEL_NOW,  /* what runs is to be cancelled; once for each run */
    CANCEL_QUIT, /* the program is to end */
};

struct cancel {
    bool is_running;
    bool is_asking;    /* "press Esc again to cancel" */
    bool is_cancelled; /* what runs was cancelled and has not ended yet */
    bool is_quitting;  /* one Ctrl-C has come; another quits */
    uint64_t asked_ns;
};

void cancel_begin(struct cancel *c);
void cancel_end(struct cancel *c);

/* What a key means at this moment. */
enum cancel_act cancel_press(struct cancel *c, enum cancel_key key, uint64_t now_ns);

/* Clears a question that nobody answered. */
void cancel_tick(struct cancel *c, uint64_t now_ns);
