/* SPDX-License-Identifier: Apache-2.0 */
/* Random texts, most of them nearly JSON, through our strict reader and through jansson. */
#include "base/slice.h"
#include "oracle/json_peer.h"
#include "t.h"
#include "text.h"

static void expect_agreement(struct weir_slice text)
{
    const char *complaint = json_peer_disagreement(text);
    if (!complaint) return;
    t_fail(__FILE__, __LINE__, "disagreement about %s", complaint);
    T_EQ_STR(text, "(the input)");
}

TEST(both_agree_on_chosen_texts)
{
    static const char *const rows[] = {"",
                                       " ",
                                       "null",
                                       "tru",
                                       "01",
                                       "-0",
                                       "-0.0",
                                       "1e5",
                                       "1E-400",
                                       "1e400",
                                       "123456789012",
                                       "[1,]",
                                       "{}x",
                                       "\"\\u0000\"",
                                       "\"\t\"",
                                       "\"\\ud800\"",
                                       "{\"\\u0000\":1}",
                                       "\"\xff\"",
                                       "\"\xed\xa0\x80\"",
                                       "[\"a\",{\"b\":[1.5e3]}]",
                                       "{\"a\":1,\"a\":2}",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "\xef\xbb\xbf[]"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_agreement(weir_slice_of(rows[i]));
}

static void add_value(struct text *out, unsigned depth)
{
    unsigned kind = (unsigned)(t_random() % (depth < 5 ? 8 : 6));
    if (kind == 0) text_printf(out, "null");
    if (kind == 1) text_printf(out, t_random() % 2 ? "true" : "false");
    if (kind == 2) text_printf(out, "%lld", (long long)(t_random() >> (t_random() % 64)));
    if (kind == 3) text_printf(out, "%.17g", (double)(int64_t)t_random() / 3e9);
    if (kind == 4)
        text_printf(out, "\"%c\\u%04x\\n\"", (int)('a' + t_random() % 26),
                    (unsigned)(t_random() % 0xd800));
    if (kind == 5) text_printf(out, "\"\xc3\xa9 \xf0\x9f\x9a\x80\"");
    if (kind < 6) return;
    text_add_char(out, kind == 6 ? '[' : '{');
    size_t n = t_random() % 5;
    for (size_t i = 0; i < n; i++) {
        if (i > 0) text_add_char(out, ',');
        if (kind == 7) text_printf(out, " \"k%u\" :", (unsigned)(t_random() % 6));
        add_value(out, depth + 1);
    }
    text_add_char(out, kind == 6 ? ']' : '}');
}

TEST(both_agree_on_random_values_and_on_damaged_ones)
{
    for (int round = 0; round < 20000; round++) {
        struct text input = {0};
        add_value(&input, 0);
        expect_agreement(text_slice(&input));
        for (int damage = 0; damage < 3 && input.len > 0; damage++) {
            static const char bytes[] = "\"\\{}[],:0e.- \x01\x80\xc3";
            input.ptr[t_random() % input.len] = bytes[t_random() % (sizeof bytes - 1)];
            expect_agreement(text_slice(&input));
        }
        text_fini(&input);
    }
}
