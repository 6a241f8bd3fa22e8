/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholders come back wherever a stream is cut, and nothing waits that need not. */
#include "shield/restore.h"

#include <stdio.h>

#include "base/slice.h"
#include "cut.h"
#include "t.h"

static struct token_map *some_tokens(void)
{
    static const char *const rows[][2] = {{"email", "alice@example.org"},
                                          {"email", "bob@example.org"},
                                          {"credit_card", "4012 8888 8888 1881"},
                                          {"secret", "line \"one\"\nline \\two\\"},
                                          {"quote", "\""},
                                          {"text", "[email_9]"}};
    struct token_map *t = token_map_new();
    struct weir_slice token;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        T_EQ(token_map_give(t, rows[i][0], weir_slice_of(rows[i][1]), &token), WEIR_OK);
    for (int i = 3; i <= 12; i++) {
        char value[32];
        snprintf(value, sizeof value, "user%d@example.org", i);
        T_EQ(token_map_give(t, "email", weir_slice_of(value), &token), WEIR_OK);
    }
    return t;
}

static void check_cuttings(const struct token_map *t, enum restore_form form, const char *text,
                           const char *want)
{
    struct cut cut;
    struct weir_slice input = weir_slice_of(text);
    for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
        struct weir_slice rest = input, piece;
        struct restorer r;
        struct weir_buf out;
        weir_buf_init(&out, 1 << 20);
        restorer_init(&r, t, form);
        while (cut_take(&cut, &rest, &piece)) restorer_feed(&r, piece, &out);
        restorer_end(&r, &out);
        T_EQ_STR(weir_buf_slice(&out), want);
        weir_buf_fini(&out);
        cut_fini(&cut);
    }
}

static const char *const texts[][2] = {
    {"", ""},
    {"plain text", "plain text"},
    {"[email_1]", "alice@example.org"},
    {"Write to [email_1] and [email_2].", "Write to alice@example.org and bob@example.org."},
    {"[email_1][email_2]", "alice@example.orgbob@example.org"},
    {"[Email_1] [EMAIL_1] [email 1] [email-1] [ email_1 ] [Email  1]",
     "alice@example.org alice@example.org alice@example.org alice@example.org alice@example.org "
     "alice@example.org"},
    {"[email_12] [email_11] [email_1]", "user12@example.org user11@example.org alice@example.org"},
    {"[credit_card_1] [Credit Card 1] [credit card_1]",
     "4012 8888 8888 1881 4012 8888 8888 1881 4012 8888 8888 1881"},
    {"[email\\_1]", "alice@example.org"},
    {"**[email_1]** `[email_1]` [`email_1`]",
     "**alice@example.org** `alice@example.org` alice@example.org"},
    {"[email_1](mailto:[email_1])", "alice@example.org(mailto:alice@example.org)"},
    {"[[email_1]] [[[email_1]", "[alice@example.org] [[alice@example.org"},
    {"[email_13] [email_0] [email_00] [email_] [email] [phone_1] []",
     "[email_13] [email_0] [email_00] [email_] [email] [phone_1] []"},
    {"[email_01] [email1] [Email 0012] [email13]",
     "alice@example.org alice@example.org user12@example.org [email13]"},
    {"\\[email\\_1\\] \\\\[email_1\\]", "alice@example.org \\alice@example.org"},
    {"\\[email_1] \\[x] C:\\ \\[[email_1\\] [a\\[email_1\\]\\",
     "\\alice@example.org \\[x] C:\\ \\[alice@example.org [aalice@example.org\\"},
    {"[email_1", "[email_1"},
    {"[email_[email_1]", "[email_alice@example.org"},
    {"[text_1]", "[email_9]"},
    {"a[1] = [x for x in y]; - [ ] task; [link](there)",
     "a[1] = [x for x in y]; - [ ] task; [link](there)"},
    {"[em\xC3\xA9il_1] \xF0\x9F\x90\x9D[email_1]\xE2\x9C\x93", "[em\xC3\xA9il_1] \xF0\x9F\x90\x9D"
                                                               "alice@example.org\xE2\x9C\x93"},
    {"[email_1\n]", "[email_1\n]"},
    {"[                                                                                  email_1]",
     "[                                                                                  email_1]"},
};

/* A text on its own, as each event of a log is restored. */
static void restore_alone(const struct token_map *t, struct weir_slice text, struct weir_buf *out)
{
    struct restorer r;
    restorer_init(&r, t, RESTORE_TEXT);
    restorer_feed(&r, text, out);
    restorer_end(&r, out);
}

TEST(pieces_that_are_stored_can_be_restored_one_by_one)
{
    struct token_map *t = some_tokens();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct cut cut;
        struct weir_slice input = weir_slice_of(texts[i][0]);
        for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
            struct weir_slice rest = input, piece;
            struct restorer r;
            struct weir_buf stored, whole, shown;
            weir_buf_init(&stored, 1 << 20);
            weir_buf_init(&whole, 1 << 20);
            weir_buf_init(&shown, 1 << 20);
            restorer_init(&r, t, RESTORE_NOT);
            while (cut_take(&cut, &rest, &piece)) {
                weir_buf_reset(&stored);
                restorer_feed(&r, piece, &stored);
                weir_buf_append_slice(&whole, weir_buf_slice(&stored));
                restore_alone(t, weir_buf_slice(&stored), &shown);
            }
            weir_buf_reset(&stored);
            restorer_end(&r, &stored);
            weir_buf_append_slice(&whole, weir_buf_slice(&stored));
            restore_alone(t, weir_buf_slice(&stored), &shown);
            T_EQ_SLICE(weir_buf_slice(&whole), input);
            T_EQ_STR(weir_buf_slice(&shown), texts[i][1]);
            weir_buf_fini(&stored);
            weir_buf_fini(&whole);
            weir_buf_fini(&shown);
            cut_fini(&cut);
        }
    }
    token_map_free(t);
}

TEST(values_come_back_in_every_cutting)
{
    struct token_map *t = some_tokens();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_cuttings(t, RESTORE_TEXT, texts[i][0], texts[i][1]);
    token_map_free(t);
}

TEST(values_in_json_strings_are_escaped)
{
    struct token_map *t = some_tokens();
    check_cuttings(t, RESTORE_JSON,
                   "{\"to\":[\"[email_1]\",\"x\"],\"n\":[1,2],\"key\":\"[secret_1]\"}",
                   "{\"to\":[\"alice@example.org\",\"x\"],\"n\":[1,2],"
                   "\"key\":\"line \\\"one\\\"\\nline \\\\two\\\\\"}");
    check_cuttings(t, RESTORE_JSON, "{\"a\":\"[email\\\\_1]\"}", "{\"a\":\"alice@example.org\"}");
    /* JSON in a string of JSON, and again; quotes in a sentence are none. */
    check_cuttings(
        t, RESTORE_JSON, "{\"a\":\"{\\\"k\\\":\\\"[secret_1]\\\"}\",\"b\":\"[secret_1]\"}",
        "{\"a\":\"{\\\"k\\\":\\\"line \\\\\\\"one\\\\\\\"\\\\nline \\\\\\\\two\\\\\\\\\\\"}\","
        "\"b\":\"line \\\"one\\\"\\nline \\\\two\\\\\"}");
    check_cuttings(t, RESTORE_JSON, "{\"a\":\"say \\\"[secret_1]\\\"\"}",
                   "{\"a\":\"say \\\"line \\\"one\\\"\\nline \\\\two\\\\\\\"\"}");
    check_cuttings(t, RESTORE_JSON, "[\"[\\\"[\\\\\\\"[quote_1]\\\\\\\"]\\\"]\"]",
                   "[\"[\\\"[\\\\\\\"\\\\\\\\\\\\\\\"\\\\\\\"]\\\"]\"]");
    token_map_free(t);
}

/* What comes out after each byte: nothing may lag but an open placeholder. */
TEST(nothing_waits_when_no_placeholder_is_open)
{
    struct token_map *t = some_tokens();
    struct restorer r;
    struct weir_buf out;
    static const char text[] = "Hello, [not one] x[0] [emu] [email_x [email_99] end";
    weir_buf_init(&out, 1 << 20);
    restorer_init(&r, t, RESTORE_TEXT);
    size_t open = 0;
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        restorer_feed(&r, slice_of(text + i, 1), &out);
        T_EQ(out.len + r.n_held, i + 1);
        if (r.n_held > 0) open++;
        T_OK(r.n_held == 0 || r.held[0] == '[');
        if (text[i] == ' ' || text[i] == ']') T_EQ(r.n_held, 0);
    }
    /* "[", "[e", "[em", and so on, and no more. */
    T_EQ(open, 1 + 1 + 3 + 7 + 8);
    restorer_end(&r, &out);
    T_EQ_STR(weir_buf_slice(&out), text);
    weir_buf_fini(&out);
    token_map_free(t);
}

TEST(an_empty_map_holds_nothing)
{
    struct token_map *t = token_map_new();
    struct restorer r;
    struct weir_buf out;
    weir_buf_init(&out, 64);
    restorer_init(&r, t, RESTORE_TEXT);
    restorer_feed(&r, SLICE("[email"), &out);
    T_EQ_STR(weir_buf_slice(&out), "[email");
    weir_buf_fini(&out);
    token_map_free(t);
}
