/* SPDX-License-Identifier: Apache-2.0 */
#include "person.h"
#include "script.h"

static enum weir_status work(struct agent_case *c, struct weir_buf *out)
{
    return agent_work(c, "health_coach", c->question, out);
}

static const struct weir_json *run(struct script *s, const char *question, const char *answer)
{
    script_init(s, question);
    script_object(s, "health_coach", answer);
    return script_ok(s, work);
}

static struct weir_slice step_at(const struct weir_json *out, const char *key, size_t i)
{
    const struct weir_json *v = weir_json_first(weir_json_get_str(out, key));
    while (v && i-- > 0) v = weir_json_next(v);
    return weir_json_text(v);
}

TEST(steps_are_the_model_s_with_the_source_of_the_row_they_rest_on)
{
    struct script s;
    const struct weir_json *out =
        run(&s, "How can I sleep better?",
            "{\"opening\":\"Good idea.\",\"steps\":[{\"text\":\"Get up at the same time "
            "every day.\",\"based_on\":1},{\"text\":\"Read in the evening.\",\"based_on\":0}]}");
    T_EQ_STR(step_at(out, "steps", 0), "Get up at the same time every day.");
    T_OK(step_at(out, "sources", 0).len > 0);
    T_EQ(step_at(out, "sources", 1).len, 0);
    T_EQ_STR(step_at(out, "says", 0), "Good idea.");
    T_OK(desk_holds(step_at(out, "caveats", 0), "no diagnosis"));
    T_OK(script_asked(&s, 0, "1. "));
    T_EQ(s.n_asked, 1);
    script_fini(&s);
}

TEST(numbers_medicines_and_other_forms_leave_the_rows_of_the_table)
{
    static const char *const wrong[] = {
        "{}",
        "{\"opening\":\"x\",\"steps\":[]}",
        "{\"opening\":\"x\",\"steps\":[{\"text\":\"Walk 20 minutes.\",\"based_on\":1}]}",
        "{\"opening\":\"x\",\"steps\":[{\"text\":\"Walk for twenty minutes.\",\"based_on\":1}]}",
        "{\"opening\":\"Your 7.5 hours\",\"steps\":[{\"text\":\"Walk.\",\"based_on\":1}]}",
        "{\"opening\":\"x\",\"steps\":[{\"text\":\"Take melatonin.\",\"based_on\":1}]}",
        "{\"opening\":\"x\",\"steps\":[{\"text\":\"Walk.\",\"based_on\":99}]}",
        "{\"opening\":\"x\",\"steps\":[{\"text\":\"Walk.\",\"based_on\":-1}]}",
        "{\"opening\":\"x\",\"steps\":[{\"text\":\"Walk.\"}]}",
        "{\"opening\":\"x\",\"steps\":[{\"text\":[],\"based_on\":0}]}",
        "{\"opening\":7,\"steps\":[{\"text\":\"Walk.\",\"based_on\":0}]}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct script s;
        const struct weir_json *out = run(&s, "How can I sleep better?", wrong[i]);
        T_EQ(s.n_asked, 4);
        T_EQ(weir_json_count(weir_json_get_str(out, "steps")), 4);
        T_OK(desk_holds(step_at(out, "says", 0), "small changes are enough"));
        script_fini(&s);
    }
}

TEST(the_person_s_own_number_may_be_said)
{
    struct script s;
    const struct weir_json *out =
        run(&s, "How can I walk 9000 steps a day?",
            "{\"opening\":\"Toward your 9,000 steps.\",\"steps\":[{\"text\":\"Walk to "
            "lunch.\",\"based_on\":0}]}");
    T_EQ_STR(step_at(out, "says", 0), "Toward your 9,000 steps.");
    script_fini(&s);
}
