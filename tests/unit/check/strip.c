/* SPDX-License-Identifier: Apache-2.0 */
#include "check/strip.h"

#include <stdlib.h>

#include "desk.h"

/* 62 and 7 are known; 47 and 99 are not. */
#define LEDGER                                                                                     \
    "[{\"claim\":\"a\",\"value\":62,\"unit\":\"bpm\"},{\"claim\":\"b\",\"value\":7,\"unit\":"      \
    "\"h\"},"                                                                                      \
    "{\"claim\":\"c\",\"value\":5,\"verdict\":\"conditional\"}]"

static void leaves(const char *text, const char *want)
{
    struct desk d;
    struct stripped s;
    T_OK(desk_open(&d, LEDGER) == WEIR_OK);
    struct verify_input input = {weir_slice_of(text), &d.ledger, NULL, 0};
    T_OK(verify_strip(&s, &input, &d.arena) == WEIR_OK);
    T_EQ_STR(s.text, want);
    desk_verify(&d, s.text, NULL);
    T_EQ(d.result.n_lacking, 0);
    desk_close(&d);
}

TEST(an_honest_answer_stays_byte_by_byte)
{
    static const char text[] =
        "# Title  \n\n\n- 62 bpm\n\n   * 7 h\n```\nx\n```\n| a |\n|---|\n\n  ";
    leaves(text, text);
    leaves("", "");
}

TEST(a_sentence_goes_and_its_neighbours_stay)
{
    leaves("It was 62 bpm. It was 47 bpm. You slept 7 h.", "It was 62 bpm. You slept 7 h.");
    leaves("It was 47 bpm. You slept 7 h.", "You slept 7 h.");
    leaves("You slept 7 h. It was 47 bpm.", "You slept 7 h.");
    leaves("It was 47 bpm.", "");
    leaves("It was 47 bpm!  Really? Yes, 62.\n", "Really? Yes, 62.\n");
}

TEST(a_sentence_may_go_over_lines)
{
    leaves("You slept 7 h.\nIt was\n47 bpm, then\nmore. Good.\nMore is good.",
           "You slept 7 h.\nGood.\nMore is good.");
    leaves("A.\nIt was 47\nbpm.\n\nB.\n", "A.\n\nB.\n");
    leaves("Rate: 47 bpm  \nSleep: 7 h  \n", "Sleep: 7 h\n");
}

TEST(points_that_end_nothing_end_no_sentence)
{
    leaves("Some, e.g. 47 bpm, vs. others. You slept 7 h.", "You slept 7 h.");
    leaves("It rose 4.7 bpm at 11 p.m. and fell. You slept 7 h.", "You slept 7 h.");
    leaves("**Heart: 47 bpm. It rose.** You slept 7 h.", "You slept 7 h.");
    leaves("(It was 47. It was 62.) You slept 7 h.", "You slept 7 h.");
    leaves("You slept `7 h. 47 x`. Good.", "Good.");
}

TEST(items_go_with_their_marks_and_lists_are_counted_anew)
{
    leaves("- 62 bpm\n- 47 bpm\n- 7 h\n", "- 62 bpm\n- 7 h\n");
    leaves("1. 62 bpm\n2. 47 bpm\n3. 7 h\n4. sleep\n", "1. 62 bpm\n2. 7 h\n3. sleep\n");
    leaves("1. It was 47 bpm\n2. You slept 7 h. Then 99.\n", "1. You slept 7 h.\n");
    leaves("1) 47\n\n2) good\n", "1) good\n");
    leaves("- 47 bpm\n  - 62 bpm\n  - 7 h\n- x\n", "- 62 bpm\n- 7 h\n- x\n");
}

TEST(rows_go_and_tables_without_rows_as_well)
{
    leaves("| a | b |\n|---|---|\n| x | 62 |\n| y | 47 |\n| z | 7 |\n\nEnd.",
           "| a | b |\n|---|---|\n| x | 62 |\n| z | 7 |\n\nEnd.");
    leaves("So:\n\n| a | b |\n|---|---|\n| y | 47 |\n\nEnd.", "End.");
    leaves("| a | 47 |\n|---|---|\n| y | 62 |\n\nEnd.", "End.");
    leaves("a | b\n---|---\nx | 62\ny | 47\n", "a | b\n---|---\nx | 62\n");
}

TEST(what_introduced_only_what_is_gone_goes)
{
    leaves("## Heart\n\nIt was 47 bpm.\n\n## Sleep\n\nYou slept 7 h.\n",
           "## Sleep\n\nYou slept 7 h.\n");
    leaves("# All\n## Heart\nIt was 47 bpm.\n### More\n99 x\n# Sleep\nYou slept 7 h.\n",
           "# Sleep\nYou slept 7 h.\n");
    leaves("## Heart of 47 bpm\n\nIt was 62 bpm.\n", "It was 62 bpm.\n");
    leaves("Hello. What I saw:\n\n- 47 bpm\n- 99 bpm\n\nBye.", "Hello.\n\nBye.");
    leaves("What I saw:\n- 47 bpm\n- 62 bpm\n", "What I saw:\n- 62 bpm\n");
}

TEST(code_goes_by_the_line)
{
    leaves("```\nhr 62\nhr 47\n```\nEnd.", "```\nhr 62\n```\nEnd.");
    leaves("A.\n\n```\nhr 47\n```\nEnd.", "A.\n\nEnd.");
    leaves("```\nhr 47", "");
}

TEST(quotes_keep_their_marks)
{
    leaves("> It was 62 bpm. It was 47\n> bpm. Good.\n> Better.\n",
           "> It was 62 bpm. Good.\n> Better.\n");
    leaves("> It was 47 bpm.\n\nEnd.", "End.");
}

TEST(what_went_is_told)
{
    struct desk d;
    struct stripped s;
    T_OK(desk_open(&d, LEDGER) == WEIR_OK);
    struct verify_input input = {weir_slice_of("It was 47 bpm. Good.\n- 99"), &d.ledger, NULL, 0};
    T_OK(verify_strip(&s, &input, &d.arena) == WEIR_OK);
    T_EQ(s.n_removed, 2);
    T_EQ_STR(s.removed[0], "It was 47 bpm.");
    T_EQ_STR(s.removed[1], "99");
    desk_close(&d);
}

TEST(an_offence_is_quoted_with_its_unit)
{
    static const char text[] = "A 62.\nIt was 47 bpm, 99\tminutes, −3 %, on March 3.";
    static const char *const want[] = {
        "\"47 bpm\" has no home in the fact sheet (line 2)",
        "\"99 minutes\" has no home in the fact sheet (line 2)",
        "\"−3 %\" has no home in the fact sheet (line 2)",
        "\"March 3\" has no home in the fact sheet (line 2)",
    };
    struct desk d;
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    T_OK(desk_open(&d, LEDGER) == WEIR_OK);
    desk_verify(&d, weir_slice_of(text), NULL);
    size_t n = 0;
    for (size_t i = 0; i < d.result.n; i++) {
        if (d.result.numbers[i].outcome != VERIFY_LACK) continue;
        weir_buf_reset(&out);
        verify_offence(&out, weir_slice_of(text), &d.result.numbers[i]);
        T_EQ_STR(weir_buf_slice(&out), want[n]);
        n++;
    }
    T_EQ(n, 4);
    weir_buf_fini(&out);
    desk_close(&d);
}

static void unhedged_are(const char *text, size_t want)
{
    struct desk d;
    struct unhedged u;
    T_OK(desk_open(&d, LEDGER) == WEIR_OK);
    desk_verify(&d, weir_slice_of(text), NULL);
    T_OK(verify_unhedged(&u, weir_slice_of(text), &d.result, &d.arena) == WEIR_OK);
    T_EQ(u.n, want);
    desk_close(&d);
}

TEST(what_is_conditional_has_to_be_hedged)
{
    unhedged_are("It rose by 5. You slept 7 h.", 1);
    unhedged_are("It may have risen by 5. You slept 7 h.", 0);
    unhedged_are("It rose by 5. That is uncertain.", 0);
    unhedged_are("It rose by 5.\n\nThat is uncertain.", 1);
    unhedged_are("- rose 5 and 5\n- fell 5, perhaps\n", 1);
    unhedged_are("| a | 5 |\n|---|---|\n\nAll of it is tentative.", 0);
    unhedged_are("You slept 7 h.", 0);
}

static const char zoo[] =
    "# Heart 47\nIt was **47 bpm. Or 62.** Then\n> 47 and e.g. 62. \"So?\"\n\n1. 47 (a\n2. 62\n   "
    "- "
    "7 h\n   - 99\n3) 7 h\n\nSo:\n- 99\n* x `47. 62\n| a | b |\n|---|:-:|\n| 47 | 62 |\n| 7 | 7 "
    "|\n```47\n62\n47\n```\n## End\n99\r\n\u2022 62. \u201c47.\u201d x\n===\n~~~\n99";

TEST(a_text_cut_anywhere_is_stripped_clean)
{
    struct desk d;
    for (size_t from = 0; from < sizeof zoo; from += 7)
        for (size_t len = 0; from + len < sizeof zoo; len++) {
            char *exact = malloc(len + 1); /* so that a sanitizer sees what is read beyond */
            struct stripped s;
            memcpy(exact + 1, zoo + from, len);
            T_OK(desk_open(&d, LEDGER) == WEIR_OK);
            struct verify_input input = {{exact + 1, len}, &d.ledger, NULL, 0};
            T_OK(verify_strip(&s, &input, &d.arena) == WEIR_OK);
            T_OK(s.text.len <= len);
            desk_verify(&d, s.text, NULL);
            T_EQ(d.result.n_lacking, 0);
            desk_close(&d);
            free(exact);
        }
}

TEST(large_texts_are_stripped_in_time_that_grows_with_them)
{
    static const char *const pieces[] = {"47 ",      "47. ",  "47.\n", "- 47\n",
                                         "| 47 |\n", "(",     "**",    "# 47\n",
                                         "1. x\n",   "```\n", ">",     "a:\n- 47\n"};
    char *text = malloc(VERIFY_TEXT_BYTES);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t len = strlen(pieces[i]), n = 0;
        struct desk d;
        struct stripped s;
        for (; n + len <= 64 << 10; n += len) memcpy(text + n, pieces[i], len);
        T_OK(desk_open(&d, LEDGER) == WEIR_OK);
        struct verify_input input = {{text, n}, &d.ledger, NULL, 0};
        T_OK(verify_strip(&s, &input, &d.arena) == WEIR_OK);
        desk_close(&d);
    }
    free(text);
}
