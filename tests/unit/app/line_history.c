/* SPDX-License-Identifier: Apache-2.0 */
#include "line_history.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "t.h"

static bool add(struct line_history *h, const char *text)
{
    return line_history_add(h, weir_slice_of(text));
}

TEST(repetitions_blanks_and_nothing_are_not_kept)
{
    struct line_history h = {.n = 0};
    T_OK(add(&h, "one"));
    T_OK(!add(&h, "one"));
    T_OK(!add(&h, ""));
    T_OK(!add(&h, " secret"));
    T_OK(add(&h, "two"));
    T_OK(add(&h, "one"));
    T_EQ(h.n, 3);
    T_EQ(h.n_bytes, 9);
    line_history_fini(&h);
}

TEST(the_newest_are_kept_within_both_bounds)
{
    struct line_history h = {.n = 0};
    char text[32];
    for (int i = 0; i < LINE_HISTORY_ENTRIES + 10; i++) {
        snprintf(text, sizeof text, "question %d", i);
        T_OK(add(&h, text));
    }
    T_EQ(h.n, LINE_HISTORY_ENTRIES);
    T_EQ_STR(h.entries[0], "question 10");
    char *large = mem_alloc(LINE_HISTORY_BYTES + 1);
    memset(large, 'x', LINE_HISTORY_BYTES + 1);
    T_OK(!line_history_add(&h, slice_of(large, LINE_HISTORY_BYTES + 1)));
    T_OK(line_history_add(&h, slice_of(large, LINE_HISTORY_BYTES - 12)));
    T_EQ(h.n, 2);
    T_EQ_STR(h.entries[0], "question 509");
    mem_free(large);
    line_history_fini(&h);
}

TEST(a_file_brings_back_what_was_written)
{
    static const char *const texts[] = {"plain", "two\nlines", "C:\\new\\\\", "漢字 \t x", "\\"};
    struct line_history h = {.n = 0};
    struct weir_buf file;
    weir_buf_init(&file, 4096);
    for (size_t i = 0; i < 5; i++) line_history_write(&file, weir_slice_of(texts[i]));
    line_history_read(&h, weir_buf_slice(&file));
    T_EQ(h.n, 5);
    for (size_t i = 0; i < 5; i++) T_EQ_STR(h.entries[i], texts[i]);
    line_history_fini(&h);
    weir_buf_fini(&file);
}

TEST(a_damaged_file_costs_only_its_bad_lines)
{
    struct line_history h = {.n = 0};
    line_history_read(&h, SLICE("good\n\xff\xfe\n\n\nlast\\"));
    T_EQ(h.n, 2);
    T_EQ_STR(h.entries[0], "good");
    T_EQ_STR(h.entries[1], "last\\");
    line_history_fini(&h);
}
