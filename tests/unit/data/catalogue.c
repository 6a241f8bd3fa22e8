/* SPDX-License-Identifier: Apache-2.0 */
#include "data/catalogue.h"

#include <ctype.h>

#include "t.h"

TEST(every_row_can_be_found_by_its_name_and_has_a_known_unit)
{
    for (size_t i = 0; i < metric_count(); i++) {
        const struct metric *m = metric_at(i);
        T_OK(metric_find(weir_slice_of(m->name)) == m);
        T_OK(unit_find(weir_slice_of(m->unit)) != NULL);
        T_OK(m->min < m->max);
        T_OK((m->relation == METRIC_PLAIN) == (m->of == NULL));
    }
    for (size_t i = 0; i < analyte_count(); i++)
        T_OK(analyte_find(weir_slice_of(analyte_at(i)->name)) == analyte_at(i));
    for (size_t i = 0; i < activity_count(); i++)
        T_OK(activity_find(weir_slice_of(activity_at(i)->name)) == activity_at(i));
}

static void check_aliases(const char *aliases)
{
    size_t at = 0;
    for (struct weir_slice a = alias_next(aliases, &at); a.len > 0; a = alias_next(aliases, &at)) {
        T_OK(a.ptr[0] != ' ' && a.ptr[a.len - 1] != ' ');
        for (size_t i = 0; i < a.len; i++) T_OK(!isupper((unsigned char)a.ptr[i]));
    }
    T_EQ(at, strlen(aliases));
}

TEST(aliases_are_lower_case_and_none_is_empty)
{
    for (size_t i = 0; i < metric_count(); i++) check_aliases(metric_at(i)->aliases);
    for (size_t i = 0; i < analyte_count(); i++) check_aliases(analyte_at(i)->aliases);
    for (size_t i = 0; i < activity_count(); i++) check_aliases(activity_at(i)->aliases);
}

TEST(what_a_metric_is_made_of_is_in_the_catalogue)
{
    for (size_t i = 0; i < metric_count(); i++) {
        if (!metric_at(i)->of) continue;
        size_t at = 0;
        struct weir_slice of = alias_next(metric_at(i)->of, &at);
        for (; of.len > 0; of = alias_next(metric_at(i)->of, &at)) {
            const struct metric *whole = metric_find(of);
            T_OK(whole && weir_slice_is(of, whole->name));
        }
    }
}

TEST(names_are_found_whatever_their_case_and_blanks)
{
    T_EQ_STR(weir_slice_of(metric_find(weir_slice_of("Resting Heart-Rate"))->name),
             "resting_heart_rate");
    T_EQ_STR(weir_slice_of(metric_find(weir_slice_of("HRV"))->name), "hrv_rmssd");
    T_EQ_STR(weir_slice_of(analyte_find(weir_slice_of("Vitamin D, 25-OH"))->name),
             "vitamin_d_25oh");
    T_EQ_STR(weir_slice_of(activity_find(weir_slice_of("Strength Training"))->name), "strength");
    T_OK(metric_find(weir_slice_of("shoe size")) == NULL);
}
