/* SPDX-License-Identifier: Apache-2.0 */
/* Values as tables, forms, names of files and word processors write them, and what is none. */
#include "shield/shield.h"
#include "shield/token_map.h"
#include "t.h"

/* With a placeholder in place of each finding. */
static void expect(const struct shield_rules *rules, const char *text, const char *want)
{
    struct shield_findings found;
    struct weir_buf out;
    struct token_map *map = token_map_new();
    weir_buf_init(&out, 1 << 20);
    T_EQ(shield_scan(rules, weir_slice_of(text), &found), WEIR_OK);
    T_EQ(shield_redact(map, weir_slice_of(text), &found, &out, NULL), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    shield_findings_fini(&found);
    weir_buf_fini(&out);
    token_map_free(map);
}

struct loose_case {
    const char *text, *want;
};

static void expect_all(const struct loose_case *cases, size_t n)
{
    struct shield_rules *rules = shield_rules_new();
    for (size_t i = 0; i < n; i++)
        expect(rules, cases[i].text, cases[i].want ? cases[i].want : cases[i].text);
    shield_rules_free(rules);
}

TEST(cards_are_found_whatever_stands_between_their_groups)
{
    static const struct loose_case cases[] = {
        {"4012  8888  8888  1881", "[credit_card_1]"},
        {"4012 8888 8888  1881", "[credit_card_1]"},
        {"Visa\t4012\t8888\t8888\t1881", "Visa\t[credit_card_1]"},
        {"my card is 4012 8888\n8888 1881 thanks", "my card is [credit_card_1] thanks"},
        {"4012\r\n8888\r\n8888\r\n1881", "[credit_card_1]"},
        {"card=4012+8888+8888+1881&x=1", "card=[credit_card_1]&x=1"},
        {"4 0 1 2 8 8 8 8 8 8 8 8 1 8 8 1", "[credit_card_1]"},
        {"4012_8888_8888_1881", "[credit_card_1]"},
        {"3782  822463  10005", "[credit_card_1]"},
        {"4012  8888  8888  1881\n12/27 123", "[credit_card_1]\n12/27 123"},
    };
    expect_all(cases, sizeof cases / sizeof cases[0]);
}

TEST(numbers_are_found_whatever_touches_them)
{
    static const struct loose_case cases[] = {
        {"_4012888888881881_", "_[credit_card_1]_"},
        {"card_4012888888881881.pdf", "card_[credit_card_1].pdf"},
        {"CardNo4012888888881881", "CardNo[credit_card_1]"},
        {"4012888888881881px", "[credit_card_1]px"},
        {"4012888888881881.0 and more", "[credit_card_1].0 and more"},
        {"_DE89370400440532013000_", "_[iban_1]_"},
        {"DE89_3704_0044_0532_0130_00", "[iban_1]"},
        {"IBAN DE89  3704 0044 0532 0130 00", "IBAN [iban_1]"},
        {"DE89 3704 0044\n0532 0130 00", "[iban_1]"},
        {"ibanDE89370400440532013000", "iban[iban_1]"},
        {"_536-90-4399_", "_[us_ssn_1]_"},
        {"SSN536904399", "SSN[us_ssn_1]"},
        {"SSN536-90-4399", "SSN[us_ssn_1]"},
    };
    expect_all(cases, sizeof cases / sizeof cases[0]);
}

TEST(addresses_telephones_and_passwords_in_their_common_forms)
{
    static const struct loose_case cases[] = {
        {"see alice@example.org.pdf", "see [email_1].pdf"},
        {"al.ice@example.orgal.ice@example.orgbob@x.de", "[email_1][email_1][email_2]"},
        {"alice@example.org.txt sent", "[email_1].txt sent"},
        {"Tel. +49 (0)30 / 901820-77", "Tel. [phone_1]"},
        {"+49 (0)30 / 901820", "[phone_1]"},
        {"Tel. 030 / 901820", "Tel. [phone_1]"},
        {"pw: S3cr3t!xx9", "pw: [secret_1]"},
        {"curl -u bob:S3cr3t!xx9 https://h", "curl -u bob:[secret_1] https://h"},
        {"curl --user 'bob:S3cr3t!xx9'", "curl --user 'bob:[secret_1]'"},
        {"Authorization: Bearer 7f3a9c81d2e4b5f60718293a4b5c6d7e",
         "Authorization: Bearer [secret_1]"},
        {"Bearer 7f3a9c81d2e4b5f60718293a4b5c6d7e", "Bearer [secret_1]"},
    };
    expect_all(cases, sizeof cases / sizeof cases[0]);
}

TEST(what_only_looks_alike_is_left)
{
    static const struct loose_case cases[] = {
        {"0.4012888888881881", NULL},
        {"4012888888881881.25", NULL},
        {"2019\t2020\t2021\t2022\t2023", NULL},
        {"7 4012\t8888\t8888\t1881", NULL},
        {"4012\t8888\t8888\t1881\t4012", NULL},
        {"4012\n\n8888\n\n8888\n\n1881", NULL},
        {"a0b14012888888881881c2", NULL},
        {"icon@2x.min.png", NULL},
        {"the bearer certificate was issued", NULL},
        {"docker run -u bob:S3cr3tGroup9 x", NULL},
        {"1 / 2 / 3", NULL},
    };
    expect_all(cases, sizeof cases / sizeof cases[0]);
}

TEST(own_terms_are_found_with_any_blanks_in_them)
{
    char error[SHIELD_ERROR_BYTES];
    struct shield_rules *rules = shield_rules_new();
    T_EQ(shield_rules_add_term(rules, "project", weir_slice_of("Blue  Heron"), error), WEIR_OK);
    T_EQ(shield_rules_add_term(rules, "client", weir_slice_of("J Doe"), error), WEIR_OK);
    T_EQ(shield_rules_add_term(rules, "client", weir_slice_of("J Doe and Sons"), error), WEIR_OK);
    static const char *const texts[] = {"x blue heron.", "x Blue\u00A0Heron.", "x BLUE   heron.",
                                        "x Blue\nHeron.", "x Blue\r\n\tHeron."};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect(rules, texts[i], "x [project_1].");
    expect(rules, "J\nDoe  and\u202FSons, J\u00A0Doe", "[client_1], [client_2]");
    expect(rules, "blueheron blue herons", "blueheron blue herons");
    shield_rules_free(rules);
}
