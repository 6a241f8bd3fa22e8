/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/weir.h>

#include "t.h"

TEST(version_is_the_one_that_the_build_speaks_of)
{
    T_EQ_STR(weir_slice_of(weir_version()), T_PROJECT_VERSION);
    T_EQ_STR(weir_slice_of(WEIR_VERSION), T_PROJECT_VERSION);
}

TEST(slices_are_compared_with_strings)
{
    T_OK(weir_slice_is(weir_slice_of("abc"), "abc"));
    T_OK(weir_slice_is((struct weir_slice){NULL, 0}, ""));
    T_OK(!weir_slice_is(weir_slice_of("abc"), "abd"));
    T_OK(!weir_slice_is(weir_slice_of("abc"), "ab"));
    T_OK(!weir_slice_is((struct weir_slice){"a\0b", 3}, "a"));
}
