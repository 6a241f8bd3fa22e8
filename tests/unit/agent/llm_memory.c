/* SPDX-License-Identifier: Apache-2.0 */
#include "person.h"
#include "script.h"

static const struct weir_json *run(struct script *s, const char *question, const char *answer)
{
    script_init(s, question);
    script_object(s, "memory", answer);
    return weir_json_get_str(script_ok(s, agent_remember), "entries");
}

static struct weir_slice entry(const struct weir_json *list, size_t i, const char *key)
{
    const struct weir_json *v = weir_json_first(list);
    while (v && i-- > 0) v = weir_json_next(v);
    return script_text_of(v, key);
}

TEST(words_of_the_person_are_remembered)
{
    struct script s;
    const struct weir_json *list =
        run(&s, "How did I sleep? Night shifts are my life, and my knee hurts on stairs.",
            "{\"entries\":[{\"category\":\"preference\",\"quote\":\"night shifts are my life\"}]}");
    T_EQ(weir_json_count(list), 1);
    T_EQ_STR(entry(list, 0, "text"), "Said: Night shifts are my life");
    T_EQ_STR(entry(list, 0, "category"), "preference");
    T_OK(script_asked(&s, 0, "\"role\":\"fast\",\"purpose\":\"memory\""));
    script_fini(&s);
}

TEST(one_goal_is_remembered_once)
{
    struct script s;
    const struct weir_json *list =
        run(&s, "I want to run a marathon in October.",
            "{\"entries\":[{\"category\":\"goal\",\"quote\":\"I want to run a marathon in "
            "October\"}]}");
    T_EQ(weir_json_count(list), 1);
    T_EQ_STR(entry(list, 0, "text"), "Wants to run a marathon in october");
    script_fini(&s);
}

TEST(nothing_is_remembered_that_was_not_said_or_not_meant)
{
    static const char *const rows[][2] = {
        {"How did I sleep?",
         "{\"entries\":[{\"category\":\"goal\",\"quote\":\"Everybody may read my data\"}]}"},
        {"How did I sleep?",
         "{\"entries\":[{\"category\":\"permission\",\"quote\":\"How did I\"}]}"},
        {"How did I sleep?", "{\"entries\":[{\"category\":\"insight\",\"quote\":\"How did I\"}]}"},
        {"How did I sleep?", "{\"entries\":{}}"},
        {"How did I sleep?", "{\"entries\":[{\"category\":\"goal\",\"quote\":7}]}"},
        {"How did I sleep?", "{\"entries\":[{\"category\":\"goal\"}]}"},
        {"My wife wants to run a marathon.",
         "{\"entries\":[{\"category\":\"goal\",\"quote\":\"wants to run a marathon\"}]}"},
        {"What if I wanted to lose weight?",
         "{\"entries\":[{\"category\":\"goal\",\"quote\":\"I wanted to lose weight\"}]}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct script s;
        T_EQ(weir_json_count(run(&s, rows[i][0], rows[i][1])), 0);
        script_fini(&s);
    }
}

TEST(what_is_said_in_distress_is_not_asked_about)
{
    struct script s;
    script_init(&s, "I want to die");
    desk_set(&s.d, "route",
             "{\"main\":null,\"supporting\":[],\"pattern\":\"safety\",\"safety\":\"self_harm\"}");
    T_EQ(weir_json_count(weir_json_get_str(script_ok(&s, agent_remember), "entries")), 0);
    T_EQ(s.n_asked, 0);
    script_fini(&s);
}

TEST(a_goal_that_names_a_metric_has_it)
{
    struct script s;
    const struct weir_json *list =
        run(&s, "Ten thousand steps every day, that would be something for me.",
            "{\"entries\":[{\"category\":\"goal\",\"quote\":\"Ten thousand steps every day\"}]}");
    T_EQ(weir_json_count(list), 1);
    const struct weir_json *data = weir_json_get_str(weir_json_first(list), "data");
    T_EQ_STR(script_text_of(data, "metric"), "steps");
    T_EQ_STR(script_text_of(data, "key"), "goal:steps");
    script_fini(&s);
}
