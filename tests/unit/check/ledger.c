/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "desk.h"

TEST(an_entry_has_what_its_json_says)
{
    struct desk d;
    T_OK(desk_open(&d, "[{\"claim\":\"ds-001.avg\",\"value\":61.8,\"unit\":\"bpm\",\"n\":28,"
                       "\"source\":\"data_science\",\"window\":\"last 28 days\","
                       "\"verdict\":\"conditional\",\"more\":[1]}]") == WEIR_OK);
    T_EQ(d.ledger.n, 1);
    const struct ledger_entry *e = d.ledger.entries;
    T_EQ_STR(e->claim, "ds-001.avg");
    T_EQ_STR(e->unit, "bpm");
    T_EQ_STR(e->source, "data_science");
    T_EQ_STR(e->window, "last 28 days");
    T_OK(e->value == 61.8 && e->n == 28 && !e->is_rejected);
    desk_close(&d);
}

TEST(a_window_of_two_ends_is_one_text)
{
    struct desk d;
    T_OK(desk_open(&d, "{\"ledger\":[{\"claim\":\"a\",\"value\":1,\"window\":{\"from\":"
                       "\"2025-03-01\",\"to\":\"2025-03-28\"}},{\"claim\":\"b\",\"value\":null,"
                       "\"window\":[\"2025-01-01\",\"2025-01-31\"]}]}") == WEIR_OK);
    T_EQ_STR(d.ledger.entries[0].window, "2025-03-01 .. 2025-03-28");
    T_EQ_STR(d.ledger.entries[1].window, "2025-01-01 .. 2025-01-31");
    T_OK(isnan(d.ledger.entries[1].value) && isnan(d.ledger.entries[1].n));
    desk_close(&d);
}

TEST(a_value_may_be_a_date_or_a_time)
{
    struct desk d;
    T_OK(desk_open(&d, "[{\"claim\":\"a\",\"value\":\"23:16\"},"
                       "{\"claim\":\"b\",\"value\":\"2025-03-14\"}]") == WEIR_OK);
    T_OK(d.ledger.entries[0].value == 23 * 60 + 16);
    T_EQ_STR(d.ledger.entries[0].unit, "clock");
    T_OK(isnan(d.ledger.entries[1].value));
    T_EQ_STR(d.ledger.entries[1].date, "2025-03-14");
    desk_close(&d);
}

TEST(a_wrong_entry_is_named)
{
    static const struct {
        const char *json, *error;
    } rows[] = {
        {"{}", "a ledger is a list of at most 10000 entries"},
        {"3", "a ledger is a list of at most 10000 entries"},
        {"[[]]", "entry 1: it has to be an object"},
        {"[{\"claim\":\"a\",\"value\":1},{\"value\":1}]", "entry 2: claim is missing"},
        {"[{\"claim\":\"a\"}]", "entry 1: value is missing"},
        {"[{\"claim\":\"a\",\"value\":1e999}]", "entry 1: value has to be a number"},
        {"[{\"claim\":\"a\",\"value\":\"12\"}]",
         "entry 1: value has to be a number, a date or a time"},
        {"[{\"claim\":\"a\",\"value\":1,\"verdict\":2}]", "entry 1: verdict has to be a text"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct desk d;
        T_OK(desk_open(&d, rows[i].json) == WEIR_INVALID);
        T_EQ_STR(weir_slice_of(d.error), rows[i].error);
        desk_close(&d);
    }
}

TEST(a_claim_has_a_ceiling)
{
    struct desk d;
    char json[LEDGER_NAME_BYTES + 100];
    memset(json, 'c', sizeof json);
    memcpy(json, "[{\"claim\":\"", 11);
    memcpy(json + LEDGER_NAME_BYTES + 20, "\",\"value\":1}]", 14);
    T_OK(desk_open(&d, json) == WEIR_INVALID);
    T_EQ_STR(weir_slice_of(d.error), "entry 1: claim is too long");
    desk_close(&d);
}
