/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "agent/route_impl.h"
#include "desk.h"
#include "person.h"

/* A conversation, messages separated by '|', the person's and answers in turns. */
static void converse(struct desk *d, const char *text)
{
    struct weir_buf json;
    size_t at = 0, n = 0;
    weir_buf_init(&json, 1 << 20);
    weir_json_put_begin_array(&json);
    for (struct weir_slice m = alias_next(text, &at); m.len > 0; m = alias_next(text, &at)) {
        weir_json_put_begin_object(&json);
        weir_json_put_key(&json, "role");
        weir_json_put_str(&json, n++ % 2 == 0 ? "user" : "assistant");
        weir_json_put_key(&json, "content");
        weir_json_put_string(&json, m);
        weir_json_put_end_object(&json);
    }
    weir_json_put_end_array(&json);
    d->c.messages = desk_json(d, weir_buf_slice(&json));
    for (const struct weir_json *m = weir_json_first(d->c.messages); m; m = weir_json_next(m))
        d->c.question = weir_json_text(weir_json_get_str(m, "content"));
    weir_buf_fini(&json);
}

TEST(what_a_question_leaves_out_comes_from_those_before_it)
{
    static const struct {
        const char *talk, *alone;
    } rows[] = {
        {"How many steps did I take in May?|12|and in April?",
         "How many steps did i take in april?"},
        {"What was my average sleep last week?|7 h|what about REM?",
         "What was my average rem last week?"},
        {"How was my sleep last week?|Average 7.2h, REM was lower|Why might it have dropped?",
         "Why might my sleep have dropped?"},
        {"average steps last week|8,000|and last month?|9,000|and in March?",
         "Average steps in march?"},
        {"What was my average deep sleep in May?|70 min|is that normal?",
         "Is my deep sleep normal?"},
        {"average RHR in May|60|thanks, that helps!", "thanks, that helps!"},
        {"average RHR in May|60|how many runs did I do in April?",
         "how many runs did I do in April?"},
        {"hello|hi|and in April?", "and in April?"},
        {"what was my highest stress in May?|60|same for resting heart rate",
         "What was my highest resting heart rate in may?"},
        {"average sleep in May?|7 h|and on weekends?", "Average sleep in may on weekends?"},
        {"average sleep in May?|7 h|who won the world cup in 2018",
         "who won the world cup in 2018"},
    };
    struct desk d;
    struct weir_slice alone;
    desk_init(&d, "");
    person_add(d.c.data);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        converse(&d, rows[i].talk);
        T_EQ(resolve_question(&d.c, &alone), WEIR_OK);
        T_EQ_STR(alone, rows[i].alone);
        arena_reset(&d.arena);
    }
    desk_fini(&d);
}

TEST(each_agent_gets_its_own_question)
{
    static const struct {
        const char *question, *route, *agent, *text;
    } rows[] = {
        {"is LDL 124 a concern?",
         "{\"main\":\"domain_expert\",\"supporting\":[\"data_science\"],\"pattern\":\"judge\"}",
         "data_science", "What is my latest ldl result?"},
        {"is LDL 124 a concern?",
         "{\"main\":\"domain_expert\",\"supporting\":[\"data_science\"],\"pattern\":\"judge\"}",
         "domain_expert", "is LDL 124 a concern?"},
        {"plan my deep sleep recovery",
         "{\"main\":\"health_coach\",\"supporting\":[\"data_science\"],\"pattern\":\"plan\"}",
         "data_science", "How is my deep sleep?"},
        {"avg RHR?", "{\"main\":\"data_science\",\"supporting\":[],\"pattern\":\"data\"}",
         "data_science", "avg RHR?"},
        {"make me a training plan",
         "{\"main\":\"health_coach\",\"supporting\":[\"data_science\"],\"pattern\":\"coach\"}",
         "data_science", "How are my active minutes?"},
        {"I feel tired all the time, why?",
         "{\"main\":\"data_science\",\"supporting\":[],\"pattern\":\"why\"}", "data_science",
         "How is my sleep?"},
        {"am I overweight?",
         "{\"main\":\"domain_expert\",\"supporting\":[\"data_science\"],\"pattern\":\"judge\"}",
         "data_science", "What was my average weight over the last 30 days?"},
    };
    struct desk d;
    desk_init(&d, "");
    person_add(d.c.data);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        desk_ask(&d, rows[i].question);
        desk_set(&d, "route", rows[i].route);
        const struct weir_json *out = desk_run(&d, agent_rephrase);
        T_EQ_STR(weir_json_text(weir_json_get_str(out, rows[i].agent)), rows[i].text);
    }
    desk_fini(&d);
}
