/* SPDX-License-Identifier: Apache-2.0 */
/*
 * National numbers: examples that authorities and textbooks print are found whole, and with their
 * last digit changed they are not.
 */
#include <stdio.h>

#include "shield/shield.h"
#include "t.h"

/* Words in lower case, then the number. */
static const char *const examples[] = {
    "es_dni 12345678Z",
    "es_nie X1234567L",
    "it RSSMRA85T10A562S",
    "uk AB123456C",
    "fi 131052-308T",
    "sg S1234567D",
    "hk A123456(3)",
    "tw A123456789",
    "ie 1234567T",
    "ie 1234567FA",
    "mx HEGG560427MVZRRL04",
    "in ABCPE1234F",
    "cn 11010519491231002X",
    "cn 110101199003074514",
    "bsn 111222333",
    "ca 130-692-544",
    "il 000000018",
    "pt nif 123456789",
    "au tfn 123456782",
    "hu taj 111111110",
    "bg egn 7523169263",
    "se 811218-9876",
    "dk 070761-4285",
    "is 120174-3399",
    "cz 710319/2745",
    "at svnr 1237 010180",
    "ua tax 1759013776",
    "lv 161175-19997",
    "no 29029600013",
    "be 85.07.30-033.28",
    "pl pesel 44051401359",
    "de steuer 86095742719",
    "de steuer 65929970489",
    "hr oib 33392005961",
    "tr kimlik 10000000146",
    "br 529.982.247-25",
    "ee isikukood 37605030299",
    "lt asmens 38703181745",
    "gr amka 01013099997",
    "ar 20-05536168-2",
    "ru snils 112-233-445 95",
    "ru inn 500100732259",
    "in aadhaar 2341 2341 2346",
    "jp mynumber 123456789018",
    "ro cnp 1800101221144",
    "za 8001015009087",
    "ch 756.9217.0769.85",
    "jmbg 0101006500006",
    "fr 255081416802538",
    "cl rut 12.345.678-5",
    "cl rut 30.686.957-4",
    "kr 880320-1234567",
    "th 1-2345-45678-78-1",
    "itin 912-70-1234",
    "dni 12345678-Z",
    "rut 12.345.670-K",
    "nino AB 12 34 56 C",
};

/* The category and the text of the first finding, in `text` from `from` on. */
static bool is_found(const struct shield_rules *rules, const char *text, size_t from)
{
    struct shield_findings found;
    bool is_there = false;
    T_EQ(shield_scan(rules, weir_slice_of(text), &found), WEIR_OK);
    for (size_t i = 0; i < found.n; i++) {
        const struct shield_finding *f = &found.items[i];
        bool is_kind = f->category == SHIELD_NATIONAL_ID || f->category == SHIELD_BSN;
        is_there |= is_kind && f->start == from && f->end == strlen(text);
    }
    shield_findings_fini(&found);
    return is_there;
}

/* Where the number begins: after the words. */
static size_t number_at(const char *text)
{
    const char *words = text;
    for (const char *space = strchr(words, ' '); space; space = strchr(words, ' ')) {
        if (strcspn(words, "0123456789(") < (size_t)(space - words)) break;
        bool is_upper = words[0] >= 'A' && words[0] <= 'Z';
        if (is_upper) break;
        words = space + 1;
    }
    return (size_t)(words - text);
}

TEST(printed_examples_are_found)
{
    struct shield_rules *rules = shield_rules_new();
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "national id %s", examples[i]);
        if (!is_found(rules, text, 12 + number_at(examples[i])))
            t_fail(__FILE__, __LINE__, "not found: %s", examples[i]);
    }
    shield_rules_free(rules);
}

/* A check digit that is one off; those without one, and one whose neighbour is right, too, are
 * left. */
TEST(a_wrong_digit_is_seen)
{
    static const char *const without[] = {"uk ", "in ABCPE", "itin", "nino", "dk ", "kr "};
    struct shield_rules *rules = shield_rules_new();
    unsigned n_seen = 0, n = 0;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        bool is_left = false;
        for (size_t k = 0; k < sizeof without / sizeof without[0]; k++)
            is_left |= strncmp(examples[i], without[k], strlen(without[k])) == 0;
        if (is_left) continue;
        char text[128];
        snprintf(text, sizeof text, "%s", examples[i]);
        char *digit = text + strlen(text) - 1;
        while (*digit < '0' || *digit > '9') digit--;
        *digit = (char)(*digit == '9' ? '0' : *digit + 1);
        n++;
        n_seen += !is_found(rules, text, number_at(text));
    }
    /* With a word near it, another country's number may be right by chance. */
    T_OK(n > 40 && n_seen * 10 >= n * 9);
    shield_rules_free(rules);
}
