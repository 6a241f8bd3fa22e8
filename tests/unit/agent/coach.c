/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_impl.h"
#include "check/verify.h"
#include "data/catalogue.h"
#include "desk.h"

static const char *const rows[] = {
#define ADVICE(topics, without, step, source) step,
#include "agent/coach.def"
#undef ADVICE
};

static const char *const topics[] = {
#define ADVICE(topics, without, step, source) topics,
#include "agent/coach.def"
#undef ADVICE
};

TEST(no_step_holds_a_number)
{
    struct arena arena;
    struct ledger none = {0};
    arena_init(&arena, VERIFY_ARENA_BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verify_result result;
        struct verify_input input = {.text = weir_slice_of(rows[i]), .ledger = &none};
        T_EQ(verify_text(&result, &input, &arena), WEIR_OK);
        if (result.n_lacking > 0) t_fail(__FILE__, __LINE__, "a number in: %s", rows[i]);
        arena_reset(&arena);
    }
    arena_fini(&arena);
}

static bool is_group(struct weir_slice name)
{
    for (size_t i = 0; i < metric_count(); i++)
        if (weir_slice_is(name, metric_at(i)->group)) return true;
    return weir_slice_is(name, "training") || weir_slice_is(name, "general");
}

TEST(topics_are_metrics_tests_or_groups_of_the_catalogue)
{
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        size_t at = 0;
        for (struct weir_slice t = alias_next(topics[i], &at); t.len > 0;
             t = alias_next(topics[i], &at))
            if (!metric_find(t) && !analyte_find(t) && !is_group(t))
                t_fail(__FILE__, __LINE__, "%.*s is nothing", (int)t.len, t.ptr);
    }
}

static const struct weir_json *coach(struct desk *d, const char *question)
{
    weir_buf_reset(&d->out);
    T_EQ(agent_work(&d->c, "health_coach", weir_slice_of(question), &d->out), WEIR_OK);
    return desk_json(d, weir_buf_slice(&d->out));
}

TEST(steps_are_about_what_was_asked)
{
    struct desk d;
    desk_init(&d, "");
    const struct weir_json *r = coach(&d, "how can I get more deep sleep?");
    T_EQ(weir_json_count(weir_json_get_str(r, "steps")), 4);
    T_OK(desk_holds(weir_json_text(weir_json_get_str(r, "summary")), "your deep sleep"));
    r = coach(&d, "how do I lower my LDL?");
    T_OK(desk_holds(weir_buf_slice(&d.out), "your LDL cholesterol"));
    T_OK(weir_json_count(weir_json_get_str(r, "steps")) >= 3);
    coach(&d, "should I work out today?");
    T_OK(desk_holds(weir_buf_slice(&d.out), "your training"));
    desk_fini(&d);
}

TEST(goals_give_a_topic_and_preferences_take_steps_away)
{
    struct desk d;
    desk_init(&d, "");
    d.c.memory = desk_json(
        &d, weir_slice_of("[{\"category\":\"goal\",\"text\":\"g\",\"data\":{\"metric\":\"steps\"}},"
                          "{\"category\":\"preference\",\"text\":\"v\",\"data\":{\"diet\":"
                          "\"vegetarian\"}}]"));
    coach(&d, "what should I do next?");
    T_OK(desk_holds(weir_buf_slice(&d.out), "your steps, with your goal in mind"));
    for (d.c.seed = 0; d.c.seed < 60; d.c.seed++) {
        coach(&d, "how do I lower my LDL?");
        T_OK(!desk_holds(weir_buf_slice(&d.out), "fish"));
    }
    desk_fini(&d);
}
