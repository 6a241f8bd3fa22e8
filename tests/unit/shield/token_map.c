/* SPDX-License-Identifier: Apache-2.0 */
/* One value, one token; redacting and restoring gives back any text. */
#include "shield/token_map.h"

#include "base/fault.h"
#include "base/slice.h"
#include "shield/restore.h"
#include "t.h"

static void redact(struct token_map *t, const struct shield_rules *rules, const char *text,
                   struct weir_buf *out)
{
    struct shield_findings found;
    weir_buf_init(out, 1 << 20);
    T_EQ(shield_scan(rules, weir_slice_of(text), &found), WEIR_OK);
    T_EQ(shield_redact(t, weir_slice_of(text), &found, out, NULL), WEIR_OK);
    shield_findings_fini(&found);
}

static void check_redacted(struct token_map *t, const struct shield_rules *rules, const char *text,
                           const char *want)
{
    struct weir_buf out, back;
    struct restorer r;
    redact(t, rules, text, &out);
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_init(&back, 1 << 20);
    restorer_init(&r, t, RESTORE_TEXT);
    restorer_feed(&r, weir_buf_slice(&out), &back);
    restorer_end(&r, &back);
    T_EQ_STR(weir_buf_slice(&back), text);
    weir_buf_fini(&back);
    weir_buf_fini(&out);
}

TEST(a_value_keeps_its_token_and_others_get_their_own)
{
    struct token_map *t = token_map_new();
    struct shield_rules *rules = shield_rules_new();
    check_redacted(t, rules, "a@x.org, b@x.org, a@x.org", "[email_1], [email_2], [email_1]");
    check_redacted(t, rules, "b@x.org or A@x.org", "[email_2] or [email_3]");
    check_redacted(t, rules, "see https://example.com and 4012888888881881",
                   "see https://example.com and [credit_card_1]");
    T_EQ(token_map_count(t), 4);
    shield_rules_free(rules);
    token_map_free(t);
}

TEST(text_that_looks_like_a_token_comes_back_as_it_was)
{
    struct token_map *t = token_map_new();
    struct shield_rules *rules = shield_rules_new();
    check_redacted(t, rules, "[email_1] is a@x.org, not [Email 1]",
                   "[text_1] is [email_1], not [text_2]");
    check_redacted(t, rules, "[foo_1] [phone_x] [[email_7]]", "[foo_1] [phone_x] [[text_3]]");
    shield_rules_free(rules);
    token_map_free(t);
}

/* What is stored holds tokens already, and goes out again with the next message. */
TEST(tokens_of_earlier_texts_stay)
{
    struct token_map *t = token_map_new();
    struct shield_rules *rules = shield_rules_new();
    struct weir_buf out;
    check_redacted(t, rules, "a@x.org", "[email_1]");
    redact(t, rules, "[email_1] and b@x.org and [email_2]", &out);
    T_EQ_STR(weir_buf_slice(&out), "[email_1] and [email_2] and [text_1]");
    weir_buf_fini(&out);
    shield_rules_free(rules);
    token_map_free(t);
}

TEST(own_terms_have_their_label)
{
    struct token_map *t = token_map_new();
    struct shield_rules *rules = shield_rules_new();
    char error[SHIELD_ERROR_BYTES];
    T_EQ(shield_rules_add_term(rules, "project", SLICE("Blue Heron"), error), WEIR_OK);
    T_EQ(shield_rules_add_term(rules, "Bad", SLICE("x y"), error), WEIR_INVALID);
    T_EQ(shield_rules_add_term(rules, "project", SLICE("x"), error), WEIR_INVALID);
    check_redacted(t, rules, "BLUE HERON, blue heron's and Blueheron",
                   "[project_1], [project_2]'s and Blueheron");
    shield_rules_free(rules);
    token_map_free(t);
}

TEST(a_map_is_written_and_read)
{
    struct token_map *t = token_map_new(), *again = token_map_new();
    struct shield_rules *rules = shield_rules_new();
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *json;
    struct weir_buf out, text, more;
    redact(t, rules, "a@x.org 4012888888881881 b@x.org \"q\"@x.org", &text);
    weir_buf_init(&out, 1 << 20);
    token_map_write(t, &out);
    T_EQ_STR(weir_buf_slice(&out),
             "{\"[email_1]\":\"a@x.org\",\"[credit_card_1]\":\"4012888888881881\","
             "\"[email_2]\":\"b@x.org\",\"[email_3]\":\"\\\"q\\\"@x.org\"}");
    T_EQ(weir_json_parse(doc, weir_buf_slice(&out), &json, NULL), WEIR_OK);
    T_EQ(token_map_read(again, json), WEIR_OK);
    redact(again, rules, "b@x.org c@x.org", &more);
    T_EQ_STR(weir_buf_slice(&more), "[email_2] [email_4]");
    weir_buf_fini(&more);
    weir_buf_fini(&text);
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
    shield_rules_free(rules);
    token_map_free(again);
    token_map_free(t);
}

TEST(what_is_no_map_is_refused)
{
    static const char *const wrong[] = {"[]",
                                        "{\"email_1\":\"a\"}",
                                        "{\"[email_1]\":1}",
                                        "{\"[]\":\"a\"}",
                                        "{\"[email]\":\"a\"}",
                                        "{\"[Email_1]\":\"a\"}",
                                        "{\"[email_01]\":\"a\"}",
                                        "{\"[email_99999999]\":\"a\"}",
                                        "{\"[email_1]\":\"a\",\"[email_2]\":\"a\"}"};
    struct weir_json_doc *doc = weir_json_doc_new(0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct token_map *t = token_map_new();
        const struct weir_json *json;
        T_EQ(weir_json_parse(doc, weir_slice_of(wrong[i]), &json, NULL), WEIR_OK);
        T_EQ(token_map_read(t, json), WEIR_INVALID);
        token_map_free(t);
        weir_json_doc_reset(doc);
    }
    weir_json_doc_free(doc);
}

TEST(lack_of_memory_is_told_and_nothing_leaks)
{
    static const char text[] = "a@x.org [email_1] 4012888888881881 10.0.0.1 b@x.org";
    struct shield_rules *rules = shield_rules_new();
    for (uint64_t n = 1; n < 60; n++) {
        struct shield_findings found;
        struct weir_buf out;
        weir_buf_init(&out, 1 << 20);
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        struct token_map *t = token_map_new();
        enum weir_status st = shield_scan(rules, weir_slice_of(text), &found);
        if (t && st == WEIR_OK) st = shield_redact(t, weir_slice_of(text), &found, &out, NULL);
        fault_disarm_all();
        T_OK(!t || st == WEIR_OK || st == WEIR_NOMEM);
        if (t && st == WEIR_OK)
            T_EQ_STR(weir_buf_slice(&out),
                     "[email_1] [text_1] [credit_card_1] [ip_address_1] [email_2]");
        if (st != WEIR_NOMEM || found.items) shield_findings_fini(&found);
        token_map_free(t);
        weir_buf_fini(&out);
    }
    shield_rules_free(rules);
}
