/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_impl.h"
#include "desk.h"

TEST(deltas_together_are_the_text_and_end_behind_blanks)
{
    struct desk d;
    desk_init(&d, "");
    struct weir_slice text = weir_slice_of("Your resting heart rate was 61.8 bpm on average, "
                                           "which is a word ääääääääääääääääääääääääääääääääää.");
    agent_think(&d.c, "data_science", "synthesis", text);
    T_OK(d.n_thoughts > 3);
    T_EQ_SLICE(weir_buf_slice(&d.thoughts), text);
    T_OK(d.is_utf8);
    desk_fini(&d);
}

TEST(an_agent_is_bracketed_by_its_events)
{
    struct desk d;
    struct weir_buf out;
    desk_init(&d, "How many steps?");
    weir_buf_init(&out, 1 << 20);
    T_EQ(agent_work(&d.c, "domain_expert", d.c.question, &out), WEIR_OK);
    T_OK(desk_saw(&d, "agent.started {\"agent\":\"domain_expert\",\"at\":\"20"));
    T_OK(desk_saw(&d, "\"question\":\"How many steps?\"}"));
    T_OK(desk_saw(&d, "agent.completed {\"agent\":\"domain_expert\",\"at\":\"20"));
    T_OK(desk_saw(&d, "\"cost_usd\":0,\"output_summary\":\""));
    T_EQ(agent_work(&d.c, "astrologer", d.c.question, &out), WEIR_NOT_FOUND);
    weir_buf_fini(&out);
    desk_fini(&d);
}
