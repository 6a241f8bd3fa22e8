/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   state       Escape              Ctrl-C            another key     end, or a second
 *   idle        -                   quitting          -               -
 *   running     ask: asking         cancel: cancelled -               idle
 *   asking      cancel: cancelled   cancel: cancelled running         idle, or running
 *   cancelled   -                   quit              -               idle
 *   quitting    -                   quit              idle            -
 */
#include "client/cancel.h"

void cancel_begin(struct cancel *c)
{
    *c = (struct cancel){.is_running = true};
}

void cancel_end(struct cancel *c)
{
    *c = (struct cancel){.is_running = false};
}

void cancel_tick(struct cancel *c, uint64_t now_ns)
{
    if (c->is_asking && now_ns - c->asked_ns > CANCEL_WITHIN_NS) c->is_asking = false;
}

static enum cancel_act cancel_now(struct cancel *c)
{
    c->is_asking = false;
    c->is_cancelled = true;
    return CANCEL_NOW;
}

static enum cancel_act press_escape(struct cancel *c, uint64_t now_ns)
{
    if (!c->is_running || c->is_cancelled) return CANCEL_NOTHING;
    if (c->is_asking) return cancel_now(c);
    c->is_asking = true;
    c->asked_ns = now_ns;
    return CANCEL_ASK;
}

static enum cancel_act press_interrupt(struct cancel *c)
{
    bool is_second = c->is_quitting || c->is_cancelled;
    c->is_quitting = true;
    if (is_second) return CANCEL_QUIT;
    return c->is_running ? cancel_now(c) : CANCEL_NOTHING;
}

enum cancel_act cancel_press(struct cancel *c, enum cancel_key key, uint64_t now_ns)
{
    cancel_tick(c, now_ns);
    if (key == CANCEL_KEY_ESCAPE) return press_escape(c, now_ns);
    if (key == CANCEL_KEY_INTERRUPT) return press_interrupt(c);
    c->is_asking = false;
    if (!c->is_running) c->is_quitting = false;
    return CANCEL_NOTHING;
}
