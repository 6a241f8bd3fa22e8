/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   state       Escape              Ctrl-C            another key     end, or a second
 *   idle        -                   quitting          -               -
 *   running     ask: asking         cancel: cancelled -               idle
 *   asking      cancel: cancelled   cancel: cancelled running         idle, or running
 *   cancelled   -                   quit              -               idle
 *   quitting    -                   quit              idle            -
 */
#include <weir/ui.h>

void weir_cancel_begin(struct weir_cancel *c)
{
    *c = (struct weir_cancel){.is_running = true};
}

void weir_cancel_end(struct weir_cancel *c)
{
    *c = (struct weir_cancel){.is_running = false};
}

void weir_cancel_tick(struct weir_cancel *c, uint64_t now_ns)
{
    if (c->is_asking && now_ns - c->asked_ns > WEIR_CANCEL_WITHIN_NS) c->is_asking = false;
}

static enum weir_cancel_act cancel_now(struct weir_cancel *c)
{
    c->is_asking = false;
    c->is_cancelled = true;
    return WEIR_CANCEL_NOW;
}

static enum weir_cancel_act press_escape(struct weir_cancel *c, uint64_t now_ns)
{
    if (!c->is_running || c->is_cancelled) return WEIR_CANCEL_NOTHING;
    if (c->is_asking) return cancel_now(c);
    c->is_asking = true;
    c->asked_ns = now_ns;
    return WEIR_CANCEL_ASK;
}

static enum weir_cancel_act press_interrupt(struct weir_cancel *c)
{
    bool is_second = c->is_quitting || c->is_cancelled;
    c->is_quitting = true;
    if (is_second) return WEIR_CANCEL_QUIT;
    return c->is_running ? cancel_now(c) : WEIR_CANCEL_NOTHING;
}

enum weir_cancel_act weir_cancel_press(struct weir_cancel *c, enum weir_cancel_key key,
                                       uint64_t now_ns)
{
    weir_cancel_tick(c, now_ns);
    if (key == WEIR_CANCEL_KEY_ESCAPE) return press_escape(c, now_ns);
    if (key == WEIR_CANCEL_KEY_INTERRUPT) return press_interrupt(c);
    c->is_asking = false;
    if (!c->is_running) c->is_quitting = false;
    return WEIR_CANCEL_NOTHING;
}
