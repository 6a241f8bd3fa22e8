/* SPDX-License-Identifier: Apache-2.0 */
/* The question about cancelling: each cell of its table, with a clock that is given. */
#include <weir/ui.h>

#include "t.h"

static const uint64_t ms = 1000000;

static struct weir_cancel running(void)
{
    struct weir_cancel c;
    weir_cancel_begin(&c);
    return c;
}

TEST(escape_asks_and_a_second_cancels)
{
    struct weir_cancel c = running();
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_ASK);
    T_OK(c.is_asking);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_NOW);
    T_OK(!c.is_asking && c.is_cancelled);
}

TEST(a_second_is_the_last_moment)
{
    struct weir_cancel c = running();
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_ASK);
    weir_cancel_tick(&c, 1005 * ms);
    T_OK(c.is_asking);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 1005 * ms), WEIR_CANCEL_NOW);
}

TEST(after_a_second_it_is_asked_again)
{
    struct weir_cancel c = running();
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_ASK);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 1005 * ms + 1), WEIR_CANCEL_ASK);
    T_OK(c.is_asking);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 2005 * ms + 1), WEIR_CANCEL_NOW);
}

TEST(time_clears_the_question)
{
    struct weir_cancel c = running();
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_ASK);
    weir_cancel_tick(&c, 1005 * ms + 1);
    T_OK(!c.is_asking && c.is_running);
}

TEST(another_key_clears_the_question)
{
    struct weir_cancel c = running();
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_ASK);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_OTHER, 6 * ms), WEIR_CANCEL_NOTHING);
    T_OK(!c.is_asking);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 7 * ms), WEIR_CANCEL_ASK);
}

TEST(the_end_clears_the_question)
{
    struct weir_cancel c = running();
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_ASK);
    weir_cancel_end(&c);
    T_OK(!c.is_asking && !c.is_running);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 6 * ms), WEIR_CANCEL_NOTHING);
}

TEST(a_run_is_cancelled_once)
{
    struct weir_cancel c = running();
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_ASK);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 6 * ms), WEIR_CANCEL_NOW);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 7 * ms), WEIR_CANCEL_NOTHING);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 8 * ms), WEIR_CANCEL_NOTHING);
    weir_cancel_end(&c);
    weir_cancel_begin(&c);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 9 * ms), WEIR_CANCEL_ASK);
}

TEST(interrupt_cancels_and_twice_quits)
{
    struct weir_cancel c = running();
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_INTERRUPT, 5 * ms), WEIR_CANCEL_NOW);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_OTHER, 6 * ms), WEIR_CANCEL_NOTHING);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_INTERRUPT, 9000 * ms), WEIR_CANCEL_QUIT);
}

TEST(interrupt_after_two_escapes_quits)
{
    struct weir_cancel c = running();
    (void)weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_NOW);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_INTERRUPT, 6 * ms), WEIR_CANCEL_QUIT);
}

TEST(interrupt_answers_the_question)
{
    struct weir_cancel c = running();
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_ESCAPE, 5 * ms), WEIR_CANCEL_ASK);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_INTERRUPT, 6 * ms), WEIR_CANCEL_NOW);
    T_OK(!c.is_asking);
}

TEST(two_interrupts_quit_where_nothing_runs)
{
    struct weir_cancel c = {0};
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_INTERRUPT, 5 * ms), WEIR_CANCEL_NOTHING);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_OTHER, 6 * ms), WEIR_CANCEL_NOTHING);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_INTERRUPT, 7 * ms), WEIR_CANCEL_NOTHING);
    T_EQ(weir_cancel_press(&c, WEIR_CANCEL_KEY_INTERRUPT, 8 * ms), WEIR_CANCEL_QUIT);
}
