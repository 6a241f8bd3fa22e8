/* SPDX-License-Identifier: Apache-2.0 */
/* The question about cancelling: each cell of its table, with a clock that is given. */
#include "client/cancel.h"

#include "t.h"

static const uint64_t ms = 1000000;

static struct cancel running(void)
{
    struct cancel c;
    cancel_begin(&c);
    return c;
}

TEST(escape_asks_and_a_second_cancels)
{
    struct cancel c = running();
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_ASK);
    T_OK(c.is_asking);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_NOW);
    T_OK(!c.is_asking && c.is_cancelled);
}

TEST(a_second_is_the_last_moment)
{
    struct cancel c = running();
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_ASK);
    cancel_tick(&c, 1005 * ms);
    T_OK(c.is_asking);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 1005 * ms), CANCEL_NOW);
}

TEST(after_a_second_it_is_asked_again)
{
    struct cancel c = running();
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_ASK);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 1005 * ms + 1), CANCEL_ASK);
    T_OK(c.is_asking);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 2005 * ms + 1), CANCEL_NOW);
}

TEST(time_clears_the_question)
{
    struct cancel c = running();
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_ASK);
    cancel_tick(&c, 1005 * ms + 1);
    T_OK(!c.is_asking && c.is_running);
}

TEST(another_key_clears_the_question)
{
    struct cancel c = running();
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_ASK);
    T_EQ(cancel_press(&c, CANCEL_KEY_OTHER, 6 * ms), CANCEL_NOTHING);
    T_OK(!c.is_asking);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 7 * ms), CANCEL_ASK);
}

TEST(the_end_clears_the_question)
{
    struct cancel c = running();
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_ASK);
    cancel_end(&c);
    T_OK(!c.is_asking && !c.is_running);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 6 * ms), CANCEL_NOTHING);
}

TEST(a_run_is_cancelled_once)
{
    struct cancel c = running();
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_ASK);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 6 * ms), CANCEL_NOW);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 7 * ms), CANCEL_NOTHING);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 8 * ms), CANCEL_NOTHING);
    cancel_end(&c);
    cancel_begin(&c);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 9 * ms), CANCEL_ASK);
}

TEST(interrupt_cancels_and_twice_quits)
{
    struct cancel c = running();
    T_EQ(cancel_press(&c, CANCEL_KEY_INTERRUPT, 5 * ms), CANCEL_NOW);
    T_EQ(cancel_press(&c, CANCEL_KEY_OTHER, 6 * ms), CANCEL_NOTHING);
    T_EQ(cancel_press(&c, CANCEL_KEY_INTERRUPT, 9000 * ms), CANCEL_QUIT);
}

TEST(interrupt_after_two_escapes_quits)
{
    struct cancel c = running();
    (void)cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms);
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_NOW);
    T_EQ(cancel_press(&c, CANCEL_KEY_INTERRUPT, 6 * ms), CANCEL_QUIT);
}

TEST(interrupt_answers_the_question)
{
    struct cancel c = running();
    T_EQ(cancel_press(&c, CANCEL_KEY_ESCAPE, 5 * ms), CANCEL_ASK);
    T_EQ(cancel_press(&c, CANCEL_KEY_INTERRUPT, 6 * ms), CANCEL_NOW);
    T_OK(!c.is_asking);
}

TEST(two_interrupts_quit_where_nothing_runs)
{
    struct cancel c = {0};
    T_EQ(cancel_press(&c, CANCEL_KEY_INTERRUPT, 5 * ms), CANCEL_NOTHING);
    T_EQ(cancel_press(&c, CANCEL_KEY_OTHER, 6 * ms), CANCEL_NOTHING);
    T_EQ(cancel_press(&c, CANCEL_KEY_INTERRUPT, 7 * ms), CANCEL_NOTHING);
    T_EQ(cancel_press(&c, CANCEL_KEY_INTERRUPT, 8 * ms), CANCEL_QUIT);
}
