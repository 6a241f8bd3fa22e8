/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/llm_impl.h"

#include "desk.h"

static void check(const char *text, const char *want)
{
    struct weir_buf out;
    weir_buf_init(&out, 1 << 20);
    text_put_clean(&out, weir_slice_of(text));
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_fini(&out);
}

TEST(there_are_no_addresses_in_what_is_shown)
{
    check("See [this](https://evil.example/?q=61) now", "See [this] now");
    check("![x](http://evil.example/a.png) done", "[x] done");
    check("go to https://evil.example/?q=61.8 now", "go to  now");
    check("(http://a.b/c)", "()");
    check("WWW.evil.example/x and ftp://x", " and ");
    check("<img src=x onerror=alert(1)>hi</img>", "hi");
    check("<script\nrest", "script\nrest");
    check("[a][1]\n[1]: https://evil.example", "[a][1]\n[1]: ");
    check("java://script", "");
}

TEST(what_is_no_address_stays)
{
    check("Your pulse is <5 bpm > 3, 1/2 (see below).",
          "Your pulse is <5 bpm > 3, 1/2 (see below).");
    check("**7 h 12 min**, e.g. 61.8 bpm: fine!", "**7 h 12 min**, e.g. 61.8 bpm: fine!");
    check("[not a link] (aside)", "[not a link] (aside)");
    check("heart.org says so", "heart.org says so");
}

TEST(a_link_that_does_not_close_is_none)
{
    check("[x](https://evil.example", "[x]");
    check("a <b", "a b");
}

TEST(what_cannot_be_seen_is_not_shown)
{
    check("a\u202Eb\u200B\x01z\xFF", "abz");
}

static void check_fit(const char *text, const char *want)
{
    struct desk d;
    struct weir_buf out;
    desk_init(&d, "q");
    weir_buf_init(&out, 1 << 20);
    T_EQ(text_put_fit(&out, &d.c, weir_slice_of(text), NULL), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_fini(&out);
    desk_fini(&d);
}

TEST(no_sentence_plays_doctor)
{
    check_fit("It fell. Stop taking your statin now! It is fine.", "It fell. It is fine.");
    check_fit("You have leukaemia. Your pulse is fine.", "Your pulse is fine.");
    check_fit("You clearly have type diabetes.", "");
    check_fit("- Take magnesium in the evening.\n- Walk to lunch.", "- Walk to lunch.");
    check_fit("Double your dose of insulin.", "");
}

TEST(sentences_that_inform_stay)
{
    static const char *const fine[] = {
        "Some medicines lower the heart rate.",
        "If you have diabetes, other limits apply.",
        "This is no diagnosis; ask your doctor.",
        "Have the last coffee before lunch. Keep the room dark.",
        "It is 61.8 bpm (e.g. at night). Fine?\n\n| a | b |\n|---|---|\n| x | y |",
        "Your iron is within the limits.",
        "You have more steps on weekends.",
    };
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) check_fit(fine[i], fine[i]);
}

TEST(numbers_of_the_person_are_theirs)
{
    struct desk d;
    bool is_own;
    desk_init(&d, "I want to lose 5 kg");
    T_EQ(text_has_own_numbers(&d.c, SLICE("Losing 5 kg takes time."), &is_own), WEIR_OK);
    T_OK(is_own);
    T_EQ(text_has_own_numbers(&d.c, SLICE("Losing 6 kg takes time."), &is_own), WEIR_OK);
    T_OK(!is_own);
    T_EQ(text_has_own_numbers(&d.c, SLICE("No numbers here."), &is_own), WEIR_OK);
    T_OK(is_own);
    desk_fini(&d);
}
