/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/buf.h>

#include <stdio.h>

#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

TEST(appends_follow_each_other)
{
    struct weir_buf b;
    weir_buf_init(&b, 1000);
    weir_buf_append(&b, "ab\0", 3);
    weir_buf_append_char(&b, 'c');
    weir_buf_append_str(&b, "de");
    weir_buf_append_slice(&b, SLICE("fg"));
    weir_buf_append_slice(&b, (struct weir_slice){NULL, 0});
    weir_buf_append_u64(&b, 0);
    weir_buf_append_u64(&b, UINT64_MAX);
    weir_buf_printf(&b, "<%d %s>", -5, "x");
    T_EQ(weir_buf_status(&b), WEIR_OK);
    T_EQ_SLICE(weir_buf_slice(&b), SLICE("ab\0cdefg018446744073709551615<-5 x>"));
    weir_buf_fini(&b);
}

TEST(printf_takes_results_of_any_length)
{
    char text[700];
    struct weir_buf b;
    memset(text, 'x', sizeof text);
    for (int len = 0; len < (int)sizeof text; len++) {
        weir_buf_init(&b, 1000);
        weir_buf_printf(&b, "%.*s", len, text);
        T_EQ_SLICE(weir_buf_slice(&b), slice_of(text, (size_t)len));
        weir_buf_fini(&b);
    }
}

/* Below 64 bytes too, where the first capacity is larger than the ceiling. */
TEST(every_ceiling_is_met_exactly)
{
    for (size_t max = 0; max < 300; max++) {
        struct weir_buf b;
        weir_buf_init(&b, max);
        for (size_t i = 0; i < max; i++) weir_buf_append_char(&b, 'x');
        T_EQ(weir_buf_status(&b), WEIR_OK);
        T_EQ(b.len, max);
        T_OK(b.cap <= max);
        weir_buf_append_char(&b, 'y');
        T_EQ(weir_buf_status(&b), WEIR_LIMIT);
        T_EQ(b.len, max);
        weir_buf_fini(&b);
        weir_buf_append(&b, "", 0);
        weir_buf_append_char(&b, 'z');
        T_EQ(weir_buf_status(&b), max == 0 ? WEIR_LIMIT : WEIR_OK);
        weir_buf_fini(&b);
    }
}

TEST(append_that_does_not_fit_appends_nothing)
{
    struct weir_buf b;
    weir_buf_init(&b, 10);
    weir_buf_append_str(&b, "12345");
    weir_buf_append_str(&b, "123456");
    T_EQ(weir_buf_status(&b), WEIR_LIMIT);
    weir_buf_append_str(&b, "1"); /* the failure sticks */
    weir_buf_append_char(&b, '1');
    weir_buf_append_u64(&b, 1);
    weir_buf_printf(&b, "1");
    T_EQ_STR(weir_buf_slice(&b), "12345");
    weir_buf_append(&b, "", SIZE_MAX);
    T_EQ(weir_buf_status(&b), WEIR_LIMIT);
    weir_buf_fini(&b);
}

TEST(reset_forgets_content_and_failure_and_keeps_memory)
{
    struct weir_buf b;
    weir_buf_init(&b, 10);
    weir_buf_append_str(&b, "1234567890");
    weir_buf_append_char(&b, 'x');
    weir_buf_reset(&b);
    T_EQ(weir_buf_status(&b), WEIR_OK);
    fault_arm(FAULT_ALLOC, 1, FAULT_FROM);
    weir_buf_append_str(&b, "abcdefghij");
    fault_disarm_all();
    T_EQ_STR(weir_buf_slice(&b), "abcdefghij");
    weir_buf_fini(&b);
}

TEST(failed_allocation_sticks_and_keeps_what_was_there)
{
    char text[400];
    memset(text, 'x', sizeof text);
    for (uint64_t nth = 1;; nth++) {
        struct weir_buf b;
        size_t len = 0;
        weir_buf_init(&b, 4000);
        fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
        for (int i = 0; i < 5 && weir_buf_status(&b) == WEIR_OK; i++) {
            len = b.len;
            weir_buf_printf(&b, "%.*s", 400, text);
        }
        fault_disarm_all();
        enum weir_status st = weir_buf_status(&b);
        if (st == WEIR_NOMEM) T_EQ(b.len, len);
        weir_buf_append_char(&b, 'y');
        T_EQ(b.len, st == WEIR_OK ? 2001 : len);
        weir_buf_fini(&b);
        if (st == WEIR_OK) break;
        T_EQ(st, WEIR_NOMEM);
    }
}

TEST(growth_is_linear_over_all)
{
    struct weir_buf b;
    weir_buf_init(&b, 1 << 20);
    fault_arm(FAULT_ALLOC, UINT64_MAX, FAULT_ONCE);
    for (int i = 0; i < 1 << 20; i++) weir_buf_append_char(&b, 'x');
    T_OK(fault_count(FAULT_ALLOC) <= 15);
    fault_disarm_all();
    T_EQ(b.len, 1 << 20);
    weir_buf_fini(&b);
}
