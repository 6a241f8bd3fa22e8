/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of a reader fails in turn: it says so, and leaves nothing behind. */
#include <stdlib.h>

#include "base/fault.h"
#include "import/kinds.h"
#include "t.h"

static enum weir_status on_fact(void *user, const void *fact)
{
    (void)fact;
    ++*(size_t *)user;
    return WEIR_OK;
}

static enum weir_status on_sample(void *user, const struct sample *f)
{
    return on_fact(user, f);
}

static enum weir_status on_day(void *user, const struct day_value *f)
{
    return on_fact(user, f);
}

static enum weir_status on_stage(void *user, const struct stage *f)
{
    return on_fact(user, f);
}

static enum weir_status on_sleep(void *user, const struct sleep *f)
{
    return on_fact(user, f);
}

static enum weir_status on_workout(void *user, const struct workout *f)
{
    return on_fact(user, f);
}

static enum weir_status on_lab(void *user, const struct lab *f)
{
    return on_fact(user, f);
}

static void on_refuse(void *user, uint64_t line, const char *reason)
{
    (void)line;
    on_fact(user, reason);
}

static void on_ignore(void *user, struct weir_slice what)
{
    on_fact(user, what.ptr);
}

static enum weir_status read_all(const struct reader_kind *kind, const struct zone *zone,
                                 const char *input, size_t *n_facts)
{
    struct reader_context c = {
        .sink = {.user = n_facts,
                 .sample = on_sample,
                 .day_value = on_day,
                 .stage = on_stage,
                 .sleep = on_sleep,
                 .workout = on_workout,
                 .lab = on_lab,
                 .refuse = on_refuse,
                 .ignore = on_ignore},
        .file_name = weir_slice_of("steps-2025-03-01.json"),
        .zone = zone,
    };
    struct reader *r = NULL;
    enum weir_status st = kind->open(&r, &c);
    if (st != WEIR_OK) return st;
    st = kind->feed(r, weir_slice_of(input));
    if (st == WEIR_OK) st = kind->end(r);
    if (st != WEIR_OK) T_OK(kind->error(r)[0] != 0);
    kind->close(r);
    return st;
}

static const struct {
    const struct reader_kind *kind;
    const char *input;
} cases[] = {
    {&reader_plain, "date,steps,weight (lb),mood\n3/25/2025,\"6,904\",171,3\n3/26/2025,1,170,4\n"},
    {&reader_plain, "date,metric,value,unit\n2025-03-01,weight,171,lb\n"},
    {&reader_labs, "date,test,value,unit\n2025-03-05,LDL,3.4,mmol/L\n"},
    {&reader_garmin, "Activity Type,Date,Favorite,Title,Distance,Time\n"
                     "Running,2025-03-03 18:00:00,false,E,7.10,00:42:00\n"},
    {&reader_fitabase, "Id,Time,Value\n1,4/12/2016 7:21:00 AM,97\n"},
    {&reader_fitbit, "[{\"dateTime\":\"03/01/25 05:00:00\",\"value\":\"49\"},{\"dateTime\":"
                     "\"03/01/25 05:00:00\",\"value\":{\"bpm\":70,\"confidence\":1}}]"},
    {&reader_oura_api, "{\"data\":[{\"day\":\"2025-03-01\",\"score\":91,\"contributors\":"
                       "{\"deep_sleep\":9}}],\"next_token\":null}"},
};

TEST(a_reader_without_memory_says_so_and_leaves_nothing)
{
    struct zone *zone = NULL;
    T_EQ(zone_load(&zone, "America/New_York"), WEIR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n_whole = 0;
        T_EQ(read_all(cases[i].kind, zone, cases[i].input, &n_whole), WEIR_OK);
        T_OK(n_whole > 0);
        bool is_done = false;
        for (uint64_t nth = 1; !is_done; nth++) {
            size_t n_facts = 0;
            fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
            enum weir_status st = read_all(cases[i].kind, zone, cases[i].input, &n_facts);
            is_done = fault_count(FAULT_ALLOC) < nth;
            fault_disarm_all();
            T_EQ(st, is_done ? WEIR_OK : WEIR_NOMEM);
            if (is_done) T_EQ(n_facts, n_whole);
        }
        fault_arm(FAULT_ALLOC, 1, FAULT_FROM);
        T_OK(cases[i].kind->recognise(weir_slice_of("x"), weir_slice_of(cases[i].input)) <= 100);
        fault_disarm_all();
    }
    zone_free(zone);
}
