/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/facts.h"

#include <math.h>
#include <string.h>

#include "../../t.h"
#include "base/arena.h"
#include "check/verify.h"
#include "data/catalogue.h"

static const struct fact_person nobody = {0};
static const struct fact_person people[] = {
    {0},
    {.age = 10},
    {.age = 16},
    {.age = 40, .sex = 'm'},
    {.age = 41},
    {.age = 35, .sex = 'f'},
    {.age = 71, .sex = 'f'},
    {.sex = 'm'},
};

static const struct fact_band *bands_of(const char *subject, struct fact_person who, size_t *n)
{
    const char *needs = NULL;
    return fact_bands(subject, &who, n, &needs);
}

static const char *label(const char *subject, struct fact_person who, double value)
{
    size_t n = 0;
    const struct fact_band *bands = bands_of(subject, who, &n);
    const struct fact_band *band = fact_band_of(bands, n, value);
    return band ? band->label : "none";
}

static const char *needs_of(const char *subject, struct fact_person who)
{
    size_t n = 0;
    const char *needs = NULL;
    const struct fact_band *bands = fact_bands(subject, &who, &n, &needs);
    T_OK(!needs || (!bands && n == 0));
    return needs ? needs : "nothing";
}

TEST(every_subject_is_in_the_catalogue_and_every_source_is_listed)
{
    for (size_t i = 0; i < fact_subject_count(); i++) {
        const struct fact_subject *s = fact_subject_at(i);
        struct weir_slice name = weir_slice_of(s->name);
        T_OK(metric_find(name) != NULL || analyte_find(name) != NULL);
        T_OK(fact_subject_find(s->name) == s);
        const struct fact_weekly *weekly = fact_weekly_find(s->name);
        if (weekly) T_OK(fact_source_find(weekly->source) != NULL && weekly->lo < weekly->hi);
    }
    for (size_t i = 0; i < fact_source_count(); i++) {
        const struct fact_source *s = fact_source_at(i);
        T_OK(fact_source_find(s->id) == s && s->year > 1990 && s->citation[0] && s->body[0]);
    }
}

/* From the first to the last row of each group there is no value without a name. */
TEST(the_rows_of_a_group_rise_without_a_gap)
{
    for (size_t i = 0; i < fact_subject_count(); i++)
        for (size_t k = 0; k < sizeof people / sizeof *people; k++) {
            size_t n = 0;
            const struct fact_band *b = bands_of(fact_subject_at(i)->name, people[k], &n);
            if (n == 0) continue;
            T_OK(isnan(b[0].lo) && isnan(b[n - 1].hi));
            for (size_t j = 0; j < n; j++) {
                T_OK(fact_source_find(b[j].source) != NULL && b[j].label[0] != '\0');
                if (j > 0)
                    T_OK(b[j].lo == b[j - 1].hi && b[j - 1].hi < (j + 1 < n ? b[j].hi : 1e9));
            }
        }
}

TEST(a_limit_belongs_to_the_upper_row)
{
    T_OK(strcmp(label("systolic", nobody, 119.9), "normal") == 0);
    T_OK(strcmp(label("systolic", nobody, 120), "elevated") == 0);
    T_OK(strcmp(label("hba1c", nobody, 5.7), "in the range of prediabetes") == 0);
    T_OK(strcmp(label("ldl", nobody, 124), "near or above optimal") == 0);
    T_OK(strcmp(label("bmi", nobody, INFINITY), "in the range of obesity") == 0);
    T_OK(strcmp(label("weight", nobody, 70), "none") == 0);
}

TEST(age_and_sex_decide_where_they_matter_and_are_asked_for)
{
    T_OK(strcmp(needs_of("vo2max", nobody), "age and sex") == 0);
    T_OK(strcmp(needs_of("vo2max", (struct fact_person){.sex = 'm'}), "age") == 0);
    T_OK(strcmp(needs_of("vo2max", (struct fact_person){.age = 44}), "sex") == 0);
    T_OK(strcmp(needs_of("hdl", nobody), "sex") == 0);
    T_OK(strcmp(needs_of("sleep_minutes", nobody), "nothing") == 0);
    T_OK(strcmp(label("vo2max", (struct fact_person){.age = 44, .sex = 'm'}, 40),
                "above the median") == 0);
    T_OK(strcmp(label("vo2max", (struct fact_person){.age = 24, .sex = 'm'}, 40),
                "below the median") == 0);
    T_OK(strcmp(label("sleep_minutes", nobody, 500), "as recommended") == 0);
    T_OK(strcmp(label("sleep_minutes", (struct fact_person){.age = 70}, 500),
                "more than recommended") == 0);
    T_OK(strcmp(label("hdl", (struct fact_person){.sex = 'f'}, 45), "low") == 0);
    T_OK(strcmp(label("vo2max", (struct fact_person){.age = 85, .sex = 'f'}, 20), "none") == 0);
}

TEST(dangerous_values_raise_an_alarm_and_others_do_not)
{
    T_OK(fact_alarm_of("systolic", 185) && fact_alarm_of("systolic", 185)->urgency == URGENCY_NOW);
    T_OK(fact_alarm_of("blood_glucose", 50)->urgency == URGENCY_NOW);
    T_OK(fact_alarm_of("resting_heart_rate", 120)->urgency == URGENCY_SOON);
    T_OK(fact_alarm_of("systolic", 130) == NULL);
    T_OK(fact_alarm_of("systolic", NAN) == NULL);
    T_OK(fact_alarm_of("steps", 0) == NULL);
}

/* A number in one of these texts would have no entry in any fact sheet. */
TEST(no_text_of_the_table_has_a_number)
{
    struct arena arena;
    struct ledger empty = {0};
    arena_init(&arena, VERIFY_ARENA_BYTES);
    for (size_t i = 0; i < fact_subject_count(); i++) {
        const char *texts[] = {fact_subject_at(i)->about, fact_subject_at(i)->caveat};
        for (size_t k = 0; k < 2; k++) {
            struct verify_input in = {.text = weir_slice_of(texts[k]), .ledger = &empty};
            struct verify_result found;
            T_EQ(verify_text(&found, &in, &arena), WEIR_OK);
            if (found.n_lacking > 0) t_fail(__FILE__, __LINE__, "a number: %s", texts[k]);
        }
    }
    arena_fini(&arena);
}
