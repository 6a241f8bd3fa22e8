/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "data/plan.h"
#include "data/plan_impl.h"
#include "plan_help.h"

/* Plans as plan_put() writes them: what is parsed is written back the same. */
static const char *const canonical[] = {
    "{'op':'aggregate','metric':'steps','stat':'mean'}",
    "{'op':'aggregate','metric':'sleep_minutes','stat':'quantile','quantile':0.9,'window':"
    "{'last_days':30,'skip_days':7},'unit':'h'}",
    "{'op':'aggregate','workouts':'run','field':'km','stat':'sum','window':{'from':'2025-01-01'},"
    "'per':'week','unit':'mi'}",
    "{'op':'aggregate','lab':'ldl','stat':'last','newest':3,'unit':'mmol/L'}",
    "{'op':'aggregate','lab':'Zinc','stat':'last'}",
    "{'op':'count','metric':'steps','having':{'cmp':'>=','value':10000},'share':true}",
    "{'op':'count','workouts':'any','field':'sessions','where':[{'metric':'sleep_minutes','cmp':'<'"
    ","
    "'value':450,'shift_days':-1},{'weekdays':'weekend'},{'months':['June','July']}],'per':'month'"
    "}",
    "{'op':'count','metric':'bedtime','having':{'cmp':'between','value':['23:00','00:30']}}",
    "{'op':'list','metric':'weight','limit':10,'sort':'value','descending':true}",
    "{'op':'extreme','metric':'steps','window':{'from':'2025-03-01','to':'2025-03-31'},'pick':'min'"
    ","
    "'answer':'date','rank':2,'limit':5}",
    "{'op':'compare','metric':'sleep_minutes','stat':'mean','window':{'last_days':14},'result':"
    "'percent','b':{'window':{'last_days':14,'skip_days':14}}}",
    "{'op':'compare','metric':'steps','stat':'median','where':[{'workout':'run','field':'km','cmp':"
    "'>','value':5}],'b':{'where':[]}}",
    "{'op':'compare','metric':'steps','stat':'mean','where':[{'workout':'any'}],'b':{'where':"
    "[{'workout':'any','not':true}]}}",
    "{'op':'change','lab':'ldl','result':'ratio'}",
    "{'op':'trend','metric':'weight','method':'theil_sen','per':'month'}",
    "{'op':'trend','metric':'bedtime'}",
    "{'op':'correlate','metric':'steps','with':'weight','lag_days':-1,'method':'spearman'}",
    "{'op':'group','metric':'steps','stat':'mean','pick':'max','by':'weekday'}",
    "{'op':'group','workouts':'swim','field':'minutes','stat':'sum','by':'month'}",
    "{'op':'streak','metric':'steps','having':{'cmp':'>=','value':9000},'pick':'current'}",
    "{'op':'rolling','metric':'weight','stat':'mean','pick':'max','answer':'date','days':28}",
    "{'op':'find','metric':'steps','having':{'cmp':'!=','value':3.5},'pick':'last'}",
    "{'op':'anomaly','metric':'steps','limit':3,'threshold':2.5}",
    "{'op':'distribution','metric':'steps','where':[{'weekdays':['Monday','Friday']}]}",
};

TEST(a_plan_is_written_as_it_was_read)
{
    struct person p;
    struct weir_buf out;
    struct plan plan;
    struct plan_error error;
    person_init(&p);
    weir_buf_init(&out, 1 << 16);
    for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++) {
        enum weir_status st = plan_parse(&plan, person_json(&p, canonical[i]), p.d, &error);
        if (st != WEIR_OK)
            t_fail(__FILE__, __LINE__, "%s: %s %s", canonical[i], error.path, error.text);
        weir_buf_reset(&out);
        if (st == WEIR_OK) plan_put(&out, &plan);
        T_EQ_SLICE(weir_buf_slice(&out), weir_buf_slice(&p.out));
    }
    weir_buf_fini(&out);
    person_fini(&p);
}

TEST(names_are_found_by_what_people_call_them_and_thresholds_are_converted)
{
    struct person p;
    struct plan plan;
    struct plan_error error;
    person_init(&p);
    T_EQ(plan_parse(&plan,
                    person_json(&p, "{'op':'count','metric':'Time Asleep','where':[{'workout':"
                                    "'Jogging','field':'km','cmp':'>','value':3,'unit':'miles'}],"
                                    "'having':{'cmp':'<','value':7.5,'unit':'hours'}}"),
                    p.d, &error),
         WEIR_OK);
    T_EQ_STR(weir_slice_of(plan.metric->name), "sleep_minutes");
    T_EQ_STR(weir_slice_of(plan.where.conditions[0].activity->name), "run");
    T_OK(fabs(plan.where.conditions[0].having.value - 4.828032) < 1e-9);
    T_OK(plan.having.value == 450);
    T_EQ(plan_parse(&plan,
                    person_json(&p, "{'op':'count','lab':'ldl','having':{'cmp':'>','value':3,"
                                    "'unit':'mmol/L'}}"),
                    p.d, &error),
         WEIR_OK);
    T_OK(fabs(plan.having.value - 116.01) < 1e-9);
    person_fini(&p);
}

struct wrong {
    const char *plan, *path, *text; /* text: part of the sentence */
};

static const struct wrong wrongs[] = {
    {"[]", "", "is an object"},
    {"{}", "op", "is needed: one of aggregate, count"},
    {"{'op':'average','metric':'steps'}", "op", "is one of aggregate"},
    {"{'op':7,'metric':'steps'}", "op", "is one of"},
    {"{'op':'aggregate'}", "", "needs one of metric, workouts and lab"},
    {"{'op':'aggregate','metric':'steps','lab':'ldl'}", "", "needs one of"},
    {"{'op':'aggregate','metric':'stepps'}", "metric", "did you mean \"steps\"?"},
    {"{'op':'aggregate','metric':'zzzzzz'}", "metric", "is no metric, such as"},
    {"{'op':'aggregate','metric':7}", "metric", "is the name of a metric"},
    {"{'op':'count','workouts':'runing'}", "workouts", "did you mean \"run\"?"},
    {"{'op':'count','lab':'colesterol'}", "lab", "did you mean \"total_cholesterol\"?"},
    {"{'op':'count','lab':'qqqqqqqq'}", "lab", "known or in the data"},
    {"{'op':'aggregate','metric':'steps','windows':{}}", "windows", "did you mean \"window\"?"},
    {"{'op':'aggregate','metric':'steps','colour':1}", "colour", "is not known"},
    {"{'op':'aggregate','metric':'steps','lag_days':1}", "lag_days", "no meaning for the op"},
    {"{'op':'aggregate','metric':'steps','field':'km'}", "field", "goes with workouts"},
    {"{'op':'aggregate','metric':'steps','stat':'average'}", "stat", "is one of mean, median"},
    {"{'op':'aggregate','metric':'steps','stat':'quantile'}", "quantile", "is needed"},
    {"{'op':'aggregate','metric':'steps','stat':'quantile','quantile':90}", "quantile", "0 to 1"},
    {"{'op':'aggregate','metric':'steps','quantile':0.5}", "quantile", "goes with the stat"},
    {"{'op':'aggregate','metric':'steps','window':30}", "window", "is an object"},
    {"{'op':'aggregate','metric':'steps','window':{'last_days':0}}", "window.last_days",
     "whole number from 1"},
    {"{'op':'aggregate','metric':'steps','window':{'last_days':1.5}}", "window.last_days",
     "whole number"},
    {"{'op':'aggregate','metric':'steps','window':{'last':3}}", "window.last", "is not known"},
    {"{'op':'aggregate','metric':'steps','window':{'from':'2025-02-30'}}", "window.from",
     "is a date"},
    {"{'op':'aggregate','metric':'steps','window':{'from':'2025-03-09','to':'2025-03-01'}}",
     "window", "ends before it begins"},
    {"{'op':'aggregate','metric':'steps','window':{'from':'2025-03-09','last_days':3}}", "window",
     "not both"},
    {"{'op':'aggregate','metric':'steps','window':{'skip_days':3}}", "window.skip_days",
     "goes with last_days"},
    {"{'op':'count','metric':'steps','where':{}}", "where", "is a list"},
    {"{'op':'count','metric':'steps','where':[3]}", "where[0]", "is an object"},
    {"{'op':'count','metric':'steps','where':[{}]}", "where[0]", "needs one of metric"},
    {"{'op':'count','metric':'steps','where':[{'weekdays':'weekend'},{'metric':'sleep','cmp':'less'"
     ","
     "'value':3}]}",
     "where[1].cmp", "is one of <, <="},
    {"{'op':'count','metric':'steps','where':[{'metric':'sleep','cmp':'<'}]}", "where[0].value",
     "is needed with cmp"},
    {"{'op':'count','metric':'steps','where':[{'metric':'sleep','value':3}]}", "where[0].cmp",
     "is needed with value"},
    {"{'op':'count','metric':'steps','where':[{'metric':'sleep','cmp':'<','value':'7h'}]}",
     "where[0].value", "is a number"},
    {"{'op':'count','metric':'steps','where':[{'metric':'sleep','cmp':'<','value':7,'unit':'kg'}]}",
     "where[0].unit", "become min"},
    {"{'op':'count','metric':'steps','where':[{'metric':'sleep','field':'km'}]}", "where[0].field",
     "does not go with metric"},
    {"{'op':'count','metric':'steps','where':[{'weekdays':['Caturday']}]}", "where[0].weekdays",
     "\"weekend\""},
    {"{'op':'count','metric':'steps','where':[{'weekdays':[]}]}", "where[0].weekdays",
     "in brackets"},
    {"{'op':'count','metric':'steps','where':[{'months':[13]}]}", "where[0].months", "in brackets"},
    {"{'op':'count','metric':'steps','where':[{'weekdays':'weekend','cmp':'<','value':1}]}",
     "where[0].cmp", "does not go with weekdays"},
    {"{'op':'count','metric':'steps','where':[{'months':[1],'shift':1}]}", "where[0].shift",
     "is not known"},
    {"{'op':'count','metric':'steps','having':{'value':3}}", "having.cmp", "is needed"},
    {"{'op':'count','metric':'steps','having':{'cmp':'between','value':3}}", "having.value",
     "two numbers"},
    {"{'op':'count','metric':'steps','having':{'cmp':'between','value':[3,1]}}", "having.value",
     "smaller number first"},
    {"{'op':'count','metric':'bedtime','having':{'cmp':'<','value':'24:00'}}", "having.value",
     "is a time"},
    {"{'op':'count','metric':'steps','share':'yes'}", "share", "true or false"},
    {"{'op':'compare','metric':'steps'}", "b", "is needed"},
    {"{'op':'compare','metric':'steps','b':{}}", "b", "is the same"},
    {"{'op':'compare','metric':'steps','b':{'window':{'last_days':-1}}}", "b.window.last_days",
     "whole number"},
    {"{'op':'compare','metric':'steps','b':{'where':[{'metric':'nonsense!'}]}}",
     "b.where[0].metric", "is no metric"},
    {"{'op':'compare','metric':'bedtime','window':{'last_days':3},'b':{'window':{'last_days':9}},"
     "'result':'percent'}",
     "result", "is a difference"},
    {"{'op':'correlate','metric':'steps'}", "with", "is needed"},
    {"{'op':'correlate','metric':'steps','with':'steps'}", "with", "is the metric itself"},
    {"{'op':'correlate','metric':'steps','with':'weight','method':'ols'}", "method", "is pearson"},
    {"{'op':'correlate','lab':'ldl','with':'weight'}", "lab", "too few"},
    {"{'op':'trend','metric':'steps','method':'pearson'}", "method", "is ols or"},
    {"{'op':'group','metric':'steps'}", "by", "is needed"},
    {"{'op':'group','metric':'steps','by':'weekday','pick':'last'}", "pick", "is max or min"},
    {"{'op':'rolling','metric':'steps','days':1}", "days", "from 2"},
    {"{'op':'streak','metric':'steps','pick':'max'}", "pick", "is one of longest, current"},
    {"{'op':'find','metric':'steps','pick':'max'}", "pick", "is first or last"},
    {"{'op':'aggregate','metric':'bedtime','stat':'sum'}", "stat", "time of day"},
    {"{'op':'aggregate','metric':'steps','per':'week'}", "per", "sum"},
    {"{'op':'aggregate','metric':'weight','unit':'km'}", "unit", "weight is in kg"},
    {"{'op':'aggregate','metric':'weight','unit':'furlong'}", "unit", "is no unit"},
    {"{'op':'anomaly','metric':'steps','threshold':0}", "threshold", "more than 0"},
};

TEST(what_is_wrong_has_its_path_and_what_was_expected)
{
    struct person p;
    struct plan plan;
    struct plan_error error;
    person_init(&p);
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const struct wrong *w = &wrongs[i];
        enum weir_status st = plan_parse(&plan, person_json(&p, w->plan), p.d, &error);
        if (st != WEIR_BAD_FIELD || strcmp(error.path, w->path) != 0 ||
            !strstr(error.text, w->text))
            t_fail(__FILE__, __LINE__, "%s: %d, \"%s\": %s", w->plan, (int)st, error.path,
                   error.text);
    }
    person_fini(&p);
}

TEST(a_plan_can_be_read_without_any_data)
{
    struct person p;
    struct plan plan;
    struct plan_error error;
    person_init(&p);
    T_EQ(plan_parse(&plan, person_json(&p, "{'op':'count','metric':'steps'}"), NULL, &error),
         WEIR_OK);
    T_EQ(plan_parse(&plan, person_json(&p, "{'op':'count','metric':'nope'}"), NULL, &error),
         WEIR_BAD_FIELD);
    T_EQ(plan_parse(&plan, person_json(&p, "{'op':'count','lab':'nope'}"), NULL, &error),
         WEIR_BAD_FIELD);
    person_fini(&p);
}

/* ---- the schema ---- */

static bool has_text(const struct weir_json *list, const char *text)
{
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v))
        if (weir_slice_is(weir_json_text(v), text)) return true;
    return false;
}

/* The words of an enum are those of the parser, all and no others. */
static void check_words(const struct weir_json *schema, const char *name, const char *const *words)
{
    const struct weir_json *list = weir_json_get_str(weir_json_get_str(schema, name), "enum");
    size_t n = 0;
    for (size_t i = 0; words[i]; i++) {
        if (!words[i][0]) continue;
        n++;
        if (!has_text(list, words[i]))
            t_fail(__FILE__, __LINE__, "the schema's %s has no \"%s\"", name, words[i]);
    }
    if (weir_json_count(list) != n)
        t_fail(__FILE__, __LINE__, "the schema's %s has %zu words, the parser %zu", name,
               weir_json_count(list), n);
}

static void check_names(const struct weir_json *defs, const char *name, const char *const *members)
{
    const struct weir_json *list = weir_json_get_str(weir_json_get_str(defs, name), "properties");
    size_t n = 0;
    for (; members[n]; n++)
        if (!weir_json_get_str(list, members[n]))
            t_fail(__FILE__, __LINE__, "the schema's %s has no \"%s\"", name, members[n]);
    T_EQ(weir_json_count(list), n);
}

static void check_ops(const struct weir_json *schema)
{
    const struct weir_json *rule = weir_json_first(weir_json_get_str(schema, "allOf"));
    for (unsigned op = 0; plan_op_words[op]; op++, rule = weir_json_next(rule)) {
        const struct weir_json *when = weir_json_get_str(rule, "if");
        when = weir_json_get_str(weir_json_get_str(when, "properties"), "op");
        T_EQ_STR(weir_json_text(weir_json_get_str(when, "const")), plan_op_words[op]);
        const struct weir_json *then = weir_json_get_str(rule, "then");
        then = weir_json_get_str(weir_json_get_str(then, "propertyNames"), "enum");
        size_t n = 0;
        for (const struct plan_member *m = plan_members; m->name; m++) {
            n += m->ops >> op & 1;
            if ((m->ops >> op & 1) != (has_text(then, m->name) ? 1U : 0U))
                t_fail(__FILE__, __LINE__, "%s of %s", m->name, plan_op_words[op]);
        }
        T_EQ(weir_json_count(then), n);
    }
}

TEST(the_schema_has_the_members_and_words_of_the_parser)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *schema = NULL;
    struct weir_slice text = t_read_file(T_SOURCE_ROOT "/docs/plan.schema.json");
    T_EQ(weir_json_parse(doc, text, &schema, NULL), WEIR_OK);
    const struct weir_json *properties = weir_json_get_str(schema, "properties");
    const struct weir_json *defs = weir_json_get_str(schema, "$defs");
    size_t n = 0;
    for (; plan_members[n].name; n++)
        if (!weir_json_get_str(properties, plan_members[n].name))
            t_fail(__FILE__, __LINE__, "the schema has no %s", plan_members[n].name);
    T_EQ(weir_json_count(properties), n);
    check_names(defs, "window", plan_window_members);
    check_names(defs, "having", plan_having_members);
    check_names(defs, "condition", plan_condition_members);
    check_names(defs, "b", plan_b_members);
    check_words(properties, "op", plan_op_words);
    check_words(properties, "field", plan_field_words);
    check_words(properties, "stat", plan_stat_words);
    check_words(properties, "result", plan_result_words);
    check_words(properties, "by", plan_group_words);
    check_words(properties, "method", plan_method_words);
    check_words(properties, "per", plan_per_words);
    check_words(properties, "sort", plan_order_words);
    check_words(properties, "answer", plan_answer_words);
    static const char *const picks[] = {"max", "min", "first", "last", "longest", "current", NULL};
    check_words(properties, "pick", picks);
    const struct weir_json *condition =
        weir_json_get_str(weir_json_get_str(defs, "condition"), "properties");
    check_words(condition, "cmp", plan_compare_words);
    check_words(condition, "field", plan_field_words);
    check_ops(schema);
    weir_json_doc_free(doc);
}

TEST(an_answer_is_json_with_its_plan)
{
    struct person p;
    struct plan plan;
    struct weir_buf out;
    person_init(&p);
    weir_buf_init(&out, 1 << 16);
    struct plan_answer a = person_ask(
        &p, "{'op':'extreme','metric':'weight','answer':'date','window':{'last_days':3}}", &plan);
    plan_put_answer(&out, &plan, &a);
    T_EQ_STR(
        weir_buf_slice(&out),
        "{\"plan\":{\"op\":\"extreme\",\"metric\":\"weight\",\"window\":{\"last_days\":3},"
        "\"answer\":\"date\"},\"value\":\"2025-03-29\",\"unit\":\"date\",\"date\":\"2025-03-29\","
        "\"n\":3,\"window\":{\"from\":\"2025-03-29\",\"to\":\"2025-03-31\"},\"rows\":[{\"date\":"
        "\"2025-03-29\",\"value\":78.1}]}");
    weir_buf_reset(&out);
    a = person_ask(&p, "{'op':'aggregate','metric':'blood_oxygen'}", &plan);
    plan_put_answer(&out, &plan, &a);
    T_EQ_STR(weir_buf_slice(&out),
             "{\"unanswerable\":\"no data for blood oxygen\",\"plan\":{\"op\":\"aggregate\","
             "\"metric\":\"blood_oxygen\",\"stat\":\"mean\"},\"window\":{\"from\":\"2025-03-01\","
             "\"to\":\"2025-03-31\"}}");
    weir_buf_fini(&out);
    person_fini(&p);
}

TEST(an_answer_is_a_sentence)
{
    static const struct {
        const char *plan, *sentence;
    } rows[] = {
        {"{'op':'aggregate','metric':'steps','window':{'last_days':3},'stat':'sum'}",
         "Total steps, 2025-03-29 to 2025-03-31: 90,000 steps (3 days)"},
        {"{'op':'aggregate','lab':'ldl','stat':'last'}",
         "Latest LDL cholesterol, 2025-03-01 to 2025-03-31: 116 mg/dL on 2025-03-25 (2 results)"},
        {"{'op':'aggregate','metric':'bedtime','window':{'from':'2025-03-01','to':'2025-03-01'}}",
         "Mean bedtime, 2025-03-01: 00:10 (1 day)"},
        {"{'op':'aggregate','metric':'blood_oxygen'}", "No answer: no data for blood oxygen"},
        {"{'op':'change','metric':'weight','result':'percent'}",
         "Change of weight, 2025-03-01 to 2025-03-31: -2.62% (22 days)"},
        {"{'op':'extreme','metric':'bedtime','rank':2,'window':{'last_days':3}}",
         "Latest but 1 bedtime, 2025-03-29 to 2025-03-31: 00:10 on 2025-03-31 (3 days)"},
        {"{'op':'extreme','metric':'steps','pick':'min','answer':'date'}",
         "Lowest steps, 2025-03-01 to 2025-03-31: 2025-03-01 with 1,000 (28 days)"},
        {"{'op':'find','workouts':'walk'}",
         "First day of walk sessions, 2025-03-01 to 2025-03-31: 2025-03-03 (1 session)"},
        {"{'op':'count','metric':'steps','having':{'cmp':'between','value':[9500,20000]},"
         "'where':[{'weekdays':'weekend'}],'share':true}",
         "Share of days with steps between 9,500 and 20,000, under 1 condition, 2025-03-01 to "
         "2025-03-31: 20% (of 10 days)"},
        {"{'op':'compare','metric':'steps','window':{'last_days':2},'b':{'window':{'last_days':2,"
         "'skip_days':2}},'stat':'max'}",
         "Difference in steps, 2025-03-30 to 2025-03-31 against 2025-03-28 to 2025-03-29: 2,000 "
         "steps (4 days)"},
        {"{'op':'correlate','metric':'steps','with':'weight','lag_days':1}",
         "Correlation of steps with weight 1 day later, 2025-03-01 to 2025-03-31: r = -1 (20 "
         "days)"},
        {"{'op':'rolling','metric':'weight','days':14,'pick':'last'}",
         "14-day moving mean of weight, 2025-03-18 to 2025-03-31: 78.55 kg on 2025-03-31 (14 "
         "days)"},
        {"{'op':'streak','metric':'steps','having':{'cmp':'>','value':0}}",
         "Longest streak of days with steps > 0, 2025-03-01 to 2025-03-31: 19 days from 2025-03-13 "
         "(29 days)"},
        {"{'op':'trend','metric':'weight'}",
         "Trend of weight, 2025-03-01 to 2025-03-31: -0.70 kg/week (22 days)"},
        {"{'op':'aggregate','metric':'steps','stat':'quantile','quantile':0.25,'window':"
         "{'from':'2025-03-01','to':'2025-03-05'}}",
         "25% quantile of steps, 2025-03-01 to 2025-03-05: 2,000 steps (5 days)"},
    };
    struct person p;
    struct plan plan;
    struct weir_buf out;
    person_init(&p);
    weir_buf_init(&out, 1 << 16);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan_answer a = person_ask(&p, rows[i].plan, &plan);
        weir_buf_reset(&out);
        plan_say(&out, &plan, &a);
        T_EQ_STR(weir_buf_slice(&out), rows[i].sentence);
    }
    weir_buf_fini(&out);
    person_fini(&p);
}
