/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payment cards: 12 to 19 digits that a network issues (ISO/IEC 7812 ranges), with the Luhn digit.
 * A number outside of all ranges is a card only where words say so.
 */
#include "shield/check_digit.h"
#include "shield/number.h"

struct network {
    uint32_t from, to; /* the first six digits */
    uint32_t lengths;  /* bit n: n digits */
    const char *label;
};

#define L(n)       (UINT32_C(1) << (n))
#define L_16_TO_19 (L(16) | L(17) | L(18) | L(19))
#define L_12_TO_19 (L(12) | L(13) | L(14) | L(15) | L_16_TO_19)

/* Narrow ranges before the wide ones that hold them. */
static const struct network networks[] = {
    {400000, 499999, L(13) | L(16) | L(19), "visa"},
    {510000, 559999, L(16), "mastercard"},
    {222100, 272099, L(16), "mastercard"},
    {340000, 349999, L(15), "american_express"},
    {370000, 379999, L(15), "american_express"},
    {300000, 305999, L(14) | L_16_TO_19, "diners_club"},
    {309500, 309599, L(14) | L_16_TO_19, "diners_club"},
    {360000, 369999, L(14) | L_16_TO_19, "diners_club"},
    {380000, 399999, L(14) | L_16_TO_19, "diners_club"},
    {352800, 358999, L_16_TO_19, "jcb"},
    {213100, 213199, L(15), "jcb"},
    {180000, 180099, L(15), "jcb"},
    {601100, 601199, L_16_TO_19, "discover"},
    {622126, 622925, L_16_TO_19, "discover"},
    {644000, 659999, L_16_TO_19, "discover"},
    {620000, 629999, L_16_TO_19, "unionpay"},
    {810000, 817199, L_16_TO_19, "unionpay"},
    {220000, 220499, L_16_TO_19, "mir"},
    {220500, 220599, L(16), "borica"},
    {501900, 501999, L(16), "dankort"},
    {457100, 457199, L(16), "dankort"},
    {506099, 506198, L(16) | L(18) | L(19), "verve"},
    {507865, 507964, L(16) | L(18) | L(19), "verve"},
    {501800, 501899, L_12_TO_19, "maestro"},
    {502000, 502099, L_12_TO_19, "maestro"},
    {503800, 503899, L_12_TO_19, "maestro"},
    {589300, 589399, L_12_TO_19, "maestro"},
    {630400, 630499, L_12_TO_19, "maestro"},
    {639000, 639099, L_12_TO_19, "maestro"},
    {675900, 675999, L_12_TO_19, "maestro"},
    {676100, 676399, L_12_TO_19, "maestro"},
    {60400, 60499, L_12_TO_19, "maestro"},
    {670000, 679999, L_16_TO_19, "maestro"},
    {500000, 509999, L(16), "maestro"},
    {560000, 589999, L(16), "maestro"},
    {636000, 639999, L(16), "instapayment"},
    {606282, 606282, L(16) | L(19), "hipercard"},
    {600000, 609999, L(16), "rupay"},
    {820000, 829999, L(16), "rupay"},
    {979200, 979299, L(16), "troy"},
    {860000, 860099, L(16), "uzcard"},
    {986000, 986099, L(16), "humo"},
    {869900, 869999, L(15), "voyager"},
    {100000, 199999, L(15), "uatp"},
};

static const char *network_of(const uint8_t *digits, size_t n)
{
    uint32_t head = 0;
    for (size_t i = 0; i < 6; i++) head = head * 10 + digits[i];
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        if (head >= networks[i].from && head <= networks[i].to && (networks[i].lengths & L(n)))
            return networks[i].label;
    return NULL;
}

static bool is_one_digit(const uint8_t *digits, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (digits[i] != digits[0]) return false;
    return true;
}

const char *card_network(const uint8_t *digits, size_t n)
{
    return luhn_is_right(digits, n) && !is_one_digit(digits, n) ? network_of(digits, n) : NULL;
}

/* One group, or groups of three to eight with the same separator between them. */
static bool is_grouped(const struct number *n, size_t k)
{
    if (k == 1) return true;
    if (n->groups[0].n < 4 || n->groups[0].n > 8) return false;
    for (size_t i = 1; i < k; i++) {
        char sep = n->groups[i].sep;
        if (sep != n->groups[1].sep || (sep != ' ' && sep != '-' && sep != '.')) return false;
        if (n->groups[i].n > 8 || (i + 1 < k && n->groups[i].n < 3)) return false;
    }
    return true;
}

/*
 * Barcodes and milliseconds have thirteen digits, ids of social networks eighteen or nineteen: a
 * bare number that could be such needs a word.
 */
static bool is_doubtful(const struct number *n, size_t k, size_t n_digits)
{
    return k == 1 && n_digits == 13 && ean13_is_right(n->digits);
}

static bool is_card(struct scan *s, const struct number *n, size_t k, const char **label)
{
    size_t n_digits = number_digits(n, k);
    size_t end = n->groups[k - 1].end;
    if (!luhn_is_right(n->digits, n_digits) || is_one_digit(n->digits, n_digits)) return false;
    *label = network_of(n->digits, n_digits);
    if (*label && !is_doubtful(n, k, n_digits)) return true;
    if (!(context_near(s, n->groups[0].start, end) & CONTEXT_CARD)) return false;
    if (!*label) *label = "card";
    return true;
}

/* A month of expiry may follow after a slash. */
static bool is_ended(const struct scan *s, const struct number *n, size_t k)
{
    return number_ends(s, n, k) || (k < n->n_groups && n->groups[k].sep == '/');
}

size_t number_card(struct scan *s, const struct number *n)
{
    const char *label;
    if (n->has_plus) return 0;
    for (size_t k = n->n_groups; k > 0; k--) {
        size_t n_digits = number_digits(n, k);
        if (n_digits < 12) return 0;
        if (n_digits > 19 || !is_grouped(n, k) || !is_ended(s, n, k)) continue;
        if (!is_card(s, n, k, &label)) continue;
        scan_found(s, n->groups[0].start, n->groups[k - 1].end, SHIELD_CREDIT_CARD, label, 1.0);
        return n->groups[k - 1].end;
    }
    return 0;
}
