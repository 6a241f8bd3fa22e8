/* SPDX-License-Identifier: Apache-2.0 */
#include "data/nearest.h"

#include "t.h"

static unsigned distance(const char *a, const char *b)
{
    return nearest_distance(weir_slice_of(a), weir_slice_of(b), 5);
}

TEST(letters_left_out_added_changed_or_exchanged_count_one)
{
    T_EQ(distance("steps", "steps"), 0);
    T_EQ(distance("steps", "STEPS"), 0);
    T_EQ(distance("resting heart", "resting_heart"), 0);
    T_EQ(distance("stps", "steps"), 1);
    T_EQ(distance("stepss", "steps"), 1);
    T_EQ(distance("staps", "steps"), 1);
    T_EQ(distance("setps", "steps"), 1);
    T_EQ(distance("", "abc"), 3);
    T_EQ(distance("weight", "steps"), 6);
}

TEST(the_nearest_is_kept_and_what_is_far_is_not_near)
{
    struct nearest n;
    nearest_begin(&n, weir_slice_of("weigth"));
    nearest_offer(&n, weir_slice_of("steps"), "steps");
    nearest_offer(&n, weir_slice_of("height"), "height");
    nearest_offer(&n, weir_slice_of("weight"), "weight");
    T_EQ_STR(weir_slice_of(n.name), "weight");
    nearest_begin(&n, weir_slice_of("zzzzzz"));
    nearest_offer(&n, weir_slice_of("steps"), "steps");
    T_OK(!n.name);
    nearest_begin(&n, weir_slice_of("ab"));
    nearest_offer(&n, weir_slice_of("ac"), "ac");
    T_OK(!n.name);
}

TEST(of_two_that_are_as_near_the_same_beginning_wins)
{
    struct nearest n;
    nearest_begin(&n, weir_slice_of("slep"));
    nearest_offer(&n, weir_slice_of("step"), "steps");
    nearest_offer(&n, weir_slice_of("sleep"), "sleep_minutes");
    nearest_offer(&n, weir_slice_of("seep"), "seep");
    T_EQ_STR(weir_slice_of(n.name), "sleep_minutes");
}

TEST(a_name_of_any_length_is_no_trouble)
{
    char text[300];
    memset(text, 'a', sizeof text);
    struct nearest n;
    nearest_begin(&n, (struct weir_slice){text, sizeof text});
    nearest_offer(&n, weir_slice_of("steps"), "steps");
    T_OK(!n.name);
    for (size_t len = 0; len < sizeof text; len++)
        T_OK(nearest_distance((struct weir_slice){text, len}, weir_slice_of("aaa"), 2) <= 3);
}
