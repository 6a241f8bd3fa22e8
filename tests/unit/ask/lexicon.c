/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/lexicon.h"

#include "base/slice.h"
#include "t.h"

static bool means(const char *phrase, enum symbol symbol, const void *ptr)
{
    struct senses s;
    if (!lexicon_find(&s, weir_slice_of(phrase))) return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.list[i].symbol == symbol && (!ptr || s.list[i].ptr == ptr)) return true;
    return false;
}

TEST(every_name_of_the_catalogue_is_in_it)
{
    for (size_t i = 0; i < metric_count(); i++) {
        const struct metric *m = metric_at(i);
        char title[100];
        size_t n = strlen(m->name);
        for (size_t k = 0; k <= n; k++) title[k] = m->name[k] == '_' ? ' ' : m->name[k];
        if (!means(title, S_METRIC, m)) t_fail(__FILE__, __LINE__, "%s", title);
    }
    T_OK(means("night sleep", S_METRIC, metric_find(weir_slice_of("sleep_minutes"))));
    T_OK(means("jogging", S_ACTIVITY, activity_find(weir_slice_of("run"))));
    T_OK(means("bad cholesterol", S_ANALYTE, analyte_find(weir_slice_of("ldl"))));
    T_OK(!means("shoe size", S_METRIC, NULL));
}

TEST(inflected_words_are_found_by_their_stems)
{
    struct senses s;
    T_OK(lexicon_find_stem(&s, weir_slice_of("medians")));
    T_OK(lexicon_find_stem(&s, weir_slice_of("hiked")));
    T_OK(!lexicon_find_stem(&s, weir_slice_of("meanings of")));
}

TEST(one_slip_of_the_pen_is_forgiven_and_another_word_is_not)
{
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"slep", "sleep"},      {"hart", "heart"},     {"wieght", "weight"},
        {"minuts", "minutes"},  {"restng", "resting"}, {"triglycerydes", "triglycerides"},
        {"avarage", "average"}, {"yesterdya", ""},     {"pages", ""},
        {"meals", ""},          {"cadence", ""},       {"cat", ""},
        {"zzzzzzzz", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        T_EQ_STR(lexicon_nearest(weir_slice_of(rows[i].word)), rows[i].nearest);
}
