/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/words.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "t.h"

/* The words of a text with a blank between; numbers as #n, dates as @date, clocks as ^minutes. */
static void show(const char *question, char out[1000])
{
    struct arena arena;
    struct words *words = malloc(sizeof *words);
    size_t n = 0;
    arena_init(&arena, 1 << 20);
    T_EQ(words_read(words, weir_slice_of(question), &arena), WEIR_OK);
    out[0] = '\0';
    for (size_t i = 0; i < words->n; i++) {
        const struct word *w = &words->list[i];
        char date[DAY_TEXT_BYTES];
        const char *blank = i > 0 ? " " : "";
        if (w->kind == WORD_NUMBER)
            n += (size_t)snprintf(out + n, 1000 - n, "%s#%g%s", blank, w->number,
                                  w->is_ordinal ? "th" : "");
        else if (w->kind == WORD_CLOCK)
            n += (size_t)snprintf(out + n, 1000 - n, "%s^%g", blank, w->number);
        else if (w->kind == WORD_DATE) {
            if (w->day == DAY_NONE) snprintf(date, sizeof date, "none");
            else day_format(date, w->day);
            n += (size_t)snprintf(out + n, 1000 - n, "%s@%s%s", blank, date,
                                  w->is_ambiguous ? "?" : "");
        } else
            n +=
                (size_t)snprintf(out + n, 1000 - n, "%s%.*s", blank, (int)w->text.len, w->text.ptr);
    }
    arena_fini(&arena);
    free(words);
}

TEST(words_numbers_dates_and_clocks_come_apart)
{
    static const struct {
        const char *question, *words;
    } rows[] = {
        {"What's my HRV?", "what is my hrv ?"},
        {"I didn't run", "i did not run"},
        {"didnt, whats", "did not , what is"},
        {"yesterday's sleep", "yesterday sleep"},
        {"10k 10,500 7.5 70.1 1st .5", "#10000 #10500 #7.5 #70.1 #1th #0.5"},
        {"8h 5km 30min 6h30", "#8 h #5 km #30 min #6 h #30"},
        {"7-day average", "#7 - day average"},
        {"at 11pm, 23:30, 7:05 a.m. or 11.30 pm", "at ^1380 , ^1410 , ^425 or ^1410"},
        {"2025-03-09 9.3.2025 31/12/2024", "@2025-03-09 @2025-03-09 @2024-12-31"},
        {"03/04/2025 2025-02-30", "@2025-04-03? @none"},
        {"3 May – 20 May", "#3 may - #20 may"},
        {"7½ hours ≥ 8", "#7.5 hours >= #8"},
        {"HbA1c, VO₂max and SpO2", "hba1c , vo2max and spo2"},
        {"95% of 1,2", "#95 % of #1 , #2"},
        {"sleep\xF0\x9F\x98\xB4? \xE2\x80\xAEsteps\xE2\x80\xAC \xE2\x9D\xA4\xEF\xB8\x8F 5\xC2\xB0 "
         "\xC3\xBCrig",
         "sleep ? steps #5 \xC3\xBCrig"},
        {"", ""},
    };
    char got[1000];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        show(rows[i].question, got);
        T_EQ_STR(weir_slice_of(got), rows[i].words);
    }
}

TEST(any_byte_may_stand_anywhere)
{
    char text[4] = "a a";
    char got[1000];
    for (int c = 1; c < 256; c++) {
        text[1] = (char)c;
        show(text, got);
    }
}

TEST(questions_have_a_ceiling)
{
    struct arena arena;
    struct words *words = malloc(sizeof *words);
    char *text = malloc(ASK_BYTES + 1);
    arena_init(&arena, 1 << 20);
    memset(text, 'x', ASK_BYTES + 1);
    T_EQ(words_read(words, (struct weir_slice){text, ASK_BYTES + 1}, &arena), WEIR_TOO_LARGE);
    T_EQ(words_read(words, (struct weir_slice){text, ASK_BYTES}, &arena), WEIR_OK);
    T_EQ(words->n, 1);
    for (size_t i = 0; i < ASK_BYTES; i += 2) text[i] = ' ';
    T_EQ(words_read(words, (struct weir_slice){text, ASK_BYTES}, &arena), WEIR_TOO_LARGE);
    arena_fini(&arena);
    free(text);
    free(words);
}
