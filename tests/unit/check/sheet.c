/* SPDX-License-Identifier: Apache-2.0 */
#include "check/sheet.h"

#include <stdio.h>

#include "finding.h"

/* Puts a sheet, reads what was put, puts that, and holds all three together. */
static void puts_as(struct sheet *s, const char *want)
{
    struct weir_buf out, again;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *json;
    struct arena arena;
    struct sheet copy;
    char error[LEDGER_ERROR_BYTES];
    arena_init(&arena, SHEET_ARENA_BYTES);
    weir_buf_init(&out, 1 << 20);
    weir_buf_init(&again, 1 << 20);
    sheet_put(&out, s);
    if (want) T_EQ_STR(weir_buf_slice(&out), want);
    T_EQ(weir_json_parse(doc, weir_buf_slice(&out), &json, NULL), WEIR_OK);
    sheet_init(&copy, &arena);
    T_EQ(sheet_read(&copy, json, error), WEIR_OK);
    sheet_put(&again, &copy);
    T_EQ_SLICE(weir_buf_slice(&again), weir_buf_slice(&out));
    weir_buf_fini(&out);
    weir_buf_fini(&again);
    weir_json_doc_free(doc);
    arena_fini(&arena);
}

static const struct ledger_entry *entry(struct sheet *s, const char *claim)
{
    struct ledger l = sheet_ledger(s);
    for (size_t i = 0; i < l.n; i++)
        if (weir_slice_is(l.entries[i].claim, claim)) return &l.entries[i];
    return NULL;
}

static bool has(struct sheet *s, const char *claim, double value, const char *unit)
{
    const struct ledger_entry *e = entry(s, claim);
    return e && fabs(e->value - value) < 1e-9 && weir_slice_is(e->unit, unit);
}

static struct ledger_entry plain(const char *claim, double value)
{
    return (struct ledger_entry){.claim = weir_slice_of(claim), .value = value, .n = NAN};
}

static struct arena arena;
static struct sheet sheet;
#define OPEN()  (arena_init(&arena, SHEET_ARENA_BYTES), sheet_init(&sheet, &arena))
#define CLOSE() arena_fini(&arena)

TEST(entries_have_the_shape_of_the_turns_fact_sheet)
{
    OPEN();
    puts_as(&sheet, "[]");
    struct ledger_entry e = {.claim = weir_slice_of("ds-001.avg"),
                             .value = 60.39,
                             .unit = weir_slice_of("bpm"),
                             .source = weir_slice_of("data_science"),
                             .n = 160,
                             .window = weir_slice_of("all")};
    T_EQ(sheet_add(&sheet, &e), WEIR_OK);
    e.claim = weir_slice_of("ds-002.effect");
    e.value = -0.374;
    e.unit = weir_slice_of("");
    e.is_conditional = true;
    T_EQ(sheet_add(&sheet, &e), WEIR_OK);
    puts_as(&sheet, "[{\"claim\":\"ds-001.avg\",\"value\":60.39,\"unit\":\"bpm\","
                    "\"source\":\"data_science\",\"n\":160,\"window\":\"all\"},"
                    "{\"claim\":\"ds-002.effect\",\"value\":-0.374,\"unit\":null,"
                    "\"source\":\"data_science\",\"n\":160,\"window\":\"all\","
                    "\"verdict\":\"conditional\"}]");
    CLOSE();
}

TEST(the_order_is_that_of_findings_whoever_came_first)
{
    const char *const claims[] = {"ds-010.a", "dx-001.b", "ds-002.z", "ds-010.0", "ds-2.c", "x"};
    const char *const want[] = {"ds-002.z", "ds-2.c", "ds-010.a", "ds-010.0", "dx-001.b", "x"};
    OPEN();
    for (size_t i = 0; i < 6; i++) {
        struct ledger_entry e = plain(claims[i], (double)i);
        T_EQ(sheet_add(&sheet, &e), WEIR_OK);
    }
    struct ledger l = sheet_ledger(&sheet);
    T_EQ(l.n, 6);
    for (size_t i = 0; i < l.n; i++) T_EQ_STR(l.entries[i].claim, want[i]);
    puts_as(&sheet, NULL);
    CLOSE();
}

TEST(what_was_rejected_does_not_enter_and_a_claim_enters_once)
{
    OPEN();
    struct ledger_entry e = plain("ds-001.avg", 1);
    e.is_rejected = true;
    T_EQ(sheet_add(&sheet, &e), WEIR_OK);
    T_EQ(sheet_ledger(&sheet).n, 0);
    e.is_rejected = false;
    T_EQ(sheet_add(&sheet, &e), WEIR_OK);
    T_EQ(sheet_add(&sheet, &e), WEIR_OK);
    T_EQ(sheet_ledger(&sheet).n, 1);
    e.value = 2;
    T_EQ(sheet_add(&sheet, &e), WEIR_EXISTS);
    e = plain("", 2);
    T_EQ(sheet_add(&sheet, &e), WEIR_INVALID);
    e = plain("ds-001.inf", INFINITY);
    T_EQ(sheet_add(&sheet, &e), WEIR_INVALID);
    CLOSE();
}

TEST(a_full_sheet_says_so)
{
    char claim[32];
    OPEN();
    for (int i = 0; i <= SHEET_ENTRIES; i++) {
        snprintf(claim, sizeof claim, "ds-%03d.avg", SHEET_ENTRIES - i);
        struct ledger_entry e = plain(claim, i);
        T_EQ(sheet_add(&sheet, &e), i < SHEET_ENTRIES ? WEIR_OK : WEIR_LIMIT);
    }
    CLOSE();
    arena_init(&arena, 64);
    sheet_init(&sheet, &arena);
    struct ledger_entry e = plain("ds-001.avg", 1);
    T_EQ(sheet_add(&sheet, &e), WEIR_LIMIT);
    CLOSE();
}

static struct finding about(enum finding_kind kind, const double *x, const double *y)
{
    return (struct finding){.kind = kind,
                            .metric = pulse(),
                            .metric_y = metric_find(weir_slice_of("steps")),
                            .a = {x, DAYS},
                            .b = {y, DAYS},
                            .lag = 2,
                            .index = 40,
                            .weekend = WEEKEND,
                            .is_one_device = true};
}

TEST(each_kind_of_finding_gives_its_numbers)
{
    double x[DAYS], y[DAYS];
    make_days(x, DAYS, 1, 0);
    make_days(y, DAYS, 2, 0);
    for (size_t i = 0; i < DAYS; i++) y[i] += 4;
    x[40] = 90;
    static const char *const claims[][6] = {
        [FINDING_LEVEL] = {"avg", "lo", "hi"},
        [FINDING_TREND] = {"change", "lo", "hi", "per_week"},
        [FINDING_WINDOWS] = {"diff", "lo", "hi", "before", "after", "percent"},
        [FINDING_WEEKDAYS] = {"diff", "lo", "hi", "weekend", "weekday"},
        [FINDING_PAIR] = {"r", "lo", "hi", "lag"},
        [FINDING_ANOMALY] = {"value", "typical", "diff", "z"},
    };
    for (int k = FINDING_LEVEL; k <= FINDING_ANOMALY; k++) {
        OPEN();
        struct finding f = about((enum finding_kind)k, x, y);
        struct verdict v = judge(f);
        struct sheet_origin o = {"ds-007", SHEET_DATA, "last 84 days", NULL, VERDICT_CONDITIONAL};
        T_EQ(sheet_add_finding(&sheet, &o, &f, &v), WEIR_OK);
        for (size_t i = 0; i < 6 && claims[k][i]; i++) {
            char claim[32];
            snprintf(claim, sizeof claim, "ds-007.%s", claims[k][i]);
            const struct ledger_entry *e = entry(&sheet, claim);
            T_OK(e && isfinite(e->value) && e->is_conditional && e->n > 0);
        }
        puts_as(&sheet, NULL);
        o.id = "ds-008", o.verdict = VERDICT_REJECTED;
        size_t n = sheet_ledger(&sheet).n;
        T_EQ(sheet_add_finding(&sheet, &o, &f, &v), WEIR_OK);
        T_EQ(sheet_ledger(&sheet).n, n);
        CLOSE();
    }
}

TEST(two_windows_keep_their_own_means_and_days)
{
    double x[DAYS], y[DAYS];
    for (size_t i = 0; i < DAYS; i++) x[i] = 60, y[i] = i < 10 ? NAN : 63;
    OPEN();
    struct finding f = about(FINDING_WINDOWS, x, y);
    struct verdict v = {.estimate = 3, .lo = 2, .hi = NAN};
    struct sheet_origin o = {"ds-001", SHEET_DATA, "March", "April", VERDICT_VALIDATED};
    T_EQ(sheet_add_finding(&sheet, &o, &f, &v), WEIR_OK);
    T_OK(has(&sheet, "ds-001.before", 60, "bpm"));
    T_OK(has(&sheet, "ds-001.after", 63, "bpm"));
    T_OK(has(&sheet, "ds-001.percent", 5, "%"));
    T_OK(entry(&sheet, "ds-001.hi") == NULL);
    T_EQ_STR(entry(&sheet, "ds-001.before")->window, "March");
    T_EQ_STR(entry(&sheet, "ds-001.after")->window, "April");
    T_OK(entry(&sheet, "ds-001.after")->n == DAYS - 10);
    CLOSE();
}

TEST(an_answer_gives_its_number_its_date_and_its_rows)
{
    struct plan p;
    plan_init(&p);
    p.op = PLAN_EXTREME;
    p.metric = pulse();
    p.pick = PICK_MAX;
    int32_t day = day_from_civil(2025, 3, 14);
    struct plan_row rows[] = {{day, NULL, 82, 1, 0}, {day, NULL, 81, 1, 0}, {day, NULL, NAN, 1, 0}};
    struct plan_answer a = {.kind = VALUE_NUMBER,
                            .number = 82,
                            .date = day,
                            .unit = "bpm",
                            .n = 31,
                            .from = day - 13,
                            .to = day + 17,
                            .from_b = DAY_NONE,
                            .to_b = DAY_NONE,
                            .rows = rows,
                            .n_rows = 2};
    struct sheet_origin o = {"ds-001", SHEET_DATA, NULL, NULL, VERDICT_VALIDATED};
    OPEN();
    T_EQ(sheet_add_answer(&sheet, &o, &p, &a), WEIR_OK);
    puts_as(&sheet,
            "[{\"claim\":\"ds-001.max\",\"value\":82,\"unit\":\"bpm\",\"source\":\"data_science\","
            "\"n\":31,\"window\":\"2025-03-01 .. 2025-03-31\",\"metric\":\"resting_heart_rate\"},"
            "{\"claim\":\"ds-001.date\",\"value\":\"2025-03-14\",\"unit\":null,"
            "\"source\":\"data_science\",\"n\":31,\"window\":\"2025-03-01 .. 2025-03-31\","
            "\"metric\":\"resting_heart_rate\"},"
            "{\"claim\":\"ds-001.2025-03-14\",\"value\":82,\"unit\":\"bpm\","
            "\"source\":\"data_science\",\"n\":1,\"window\":\"2025-03-14\","
            "\"metric\":\"resting_heart_rate\"},"
            "{\"claim\":\"ds-001.2025-03-14.2\",\"value\":81,\"unit\":\"bpm\","
            "\"source\":\"data_science\",\"n\":1,\"window\":\"2025-03-14\","
            "\"metric\":\"resting_heart_rate\"}]");
    CLOSE();
    OPEN();
    a.kind = VALUE_NONE;
    T_EQ(sheet_add_answer(&sheet, &o, &p, &a), WEIR_OK);
    T_EQ(sheet_ledger(&sheet).n, 0);
    CLOSE();
}

TEST(a_time_of_day_is_one_and_its_distance_is_minutes)
{
    struct plan p;
    plan_init(&p);
    p.metric = metric_find(weir_slice_of("bedtime"));
    struct plan_answer a = {.kind = VALUE_NUMBER,
                            .number = 1396,
                            .date = DAY_NONE,
                            .unit = "minutes after midnight",
                            .n = 28,
                            .from = DAY_NONE,
                            .to = DAY_NONE,
                            .from_b = DAY_NONE,
                            .to_b = DAY_NONE};
    struct sheet_origin o = {"ds-001", SHEET_DATA, "last 28 days", NULL, VERDICT_VALIDATED};
    OPEN();
    T_EQ(sheet_add_answer(&sheet, &o, &p, &a), WEIR_OK);
    T_OK(has(&sheet, "ds-001.avg", 1396, "clock"));
    CLOSE();
}

TEST(a_range_of_the_facts_table_is_two_entries_or_one)
{
    struct sheet_range r = {"dx-001", "ldl", "mg/dL", NAN, 100};
    OPEN();
    T_EQ(sheet_add_range(&sheet, &r), WEIR_OK);
    puts_as(&sheet, "[{\"claim\":\"dx-001.upper\",\"value\":100,\"unit\":\"mg/dL\","
                    "\"source\":\"domain_expert\",\"n\":null,\"window\":null,\"metric\":\"ldl\"}]");
    r.lower = 10;
    T_EQ(sheet_add_range(&sheet, &r), WEIR_OK);
    T_EQ(sheet_ledger(&sheet).n, 2);
    CLOSE();
}
