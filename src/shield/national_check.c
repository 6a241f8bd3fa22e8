/* SPDX-License-Identifier: Apache-2.0 */
/* The check digits of national numbers, each by the rule its authority published. */
#include <string.h>

#include "shield/check_digit.h"
#include "shield/national.h"

static unsigned two(const uint8_t *d)
{
    return d[0] * 10U + d[1];
}

/* YYMMDD and DDMMYY of a century that is not known. */
static bool is_ymd(const uint8_t *d)
{
    return day_exists(0, two(d + 2), two(d + 4));
}

static bool is_dmy(const uint8_t *d)
{
    return day_exists(0, two(d + 2), two(d));
}

static bool is_same(const uint8_t *d, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (d[i] != d[0]) return false;
    return true;
}

/* The usual check digit modulo 11: 11 minus the rest, 0 for 11, none for 10. */
static bool is_mod11(const uint8_t *d, const uint8_t *weights, size_t n)
{
    unsigned check = (11 - weigh(d, weights, n) % 11) % 11;
    return check == d[n];
}

/* 000, 666 and 9xx are not issued, nor are zeros in the other groups; two were printed in ads. */
bool us_ssn_is_right(const uint8_t *d)
{
    static const uint8_t printed[2][9] = {{0, 7, 8, 0, 5, 1, 1, 2, 0}, {2, 1, 9, 0, 9, 9, 9, 9, 9}};
    unsigned area = d[0] * 100U + two(d + 1);
    if (area == 0 || area == 666 || area >= 900) return false;
    if (two(d + 3) == 0 || (two(d + 5) == 0 && two(d + 7) == 0)) return false;
    return memcmp(d, printed[0], 9) != 0 && memcmp(d, printed[1], 9) != 0;
}

bool us_itin_is_right(const uint8_t *d)
{
    unsigned group = two(d + 3);
    if (d[0] != 9) return false;
    return (group >= 50 && group <= 65) || (group >= 70 && group <= 88) ||
           (group >= 90 && group <= 92) || group >= 94;
}

bool nl_bsn_is_right(const uint8_t *d)
{
    static const uint8_t weights[8] = {9, 8, 7, 6, 5, 4, 3, 2};
    return !is_same(d, 9) && weigh(d, weights, 8) % 11 == d[8];
}

bool nl_bsn8_is_right(const uint8_t *d)
{
    uint8_t nine[9] = {0};
    memcpy(nine + 1, d, 8);
    return nl_bsn_is_right(nine);
}

bool ca_sin_is_right(const uint8_t *d)
{
    return d[0] != 0 && d[0] != 8 && luhn_is_right(d, 9);
}

bool il_id_is_right(const uint8_t *d)
{
    return !is_same(d, 9) && luhn_is_right(d, 9);
}

bool pt_nif_is_right(const uint8_t *d)
{
    static const uint8_t weights[8] = {9, 8, 7, 6, 5, 4, 3, 2};
    unsigned check = 11 - weigh(d, weights, 8) % 11;
    return d[0] != 0 && d[0] != 4 && d[8] == (check > 9 ? 0 : check);
}

bool au_tfn_is_right(const uint8_t *d)
{
    static const uint8_t weights[9] = {1, 4, 3, 7, 5, 8, 6, 9, 10};
    return !is_same(d, 9) && weigh(d, weights, 9) % 11 == 0;
}

bool hu_taj_is_right(const uint8_t *d)
{
    static const uint8_t weights[8] = {3, 7, 3, 7, 3, 7, 3, 7};
    return !is_same(d, 9) && weigh(d, weights, 8) % 10 == d[8];
}

bool uk_nhs_is_right(const uint8_t *d)
{
    static const uint8_t weights[9] = {10, 9, 8, 7, 6, 5, 4, 3, 2};
    return !is_same(d, 10) && is_mod11(d, weights, 9);
}

/* Luhn over the number with 80840, the card issuer's part, in front of it. */
bool us_npi_is_right(const uint8_t *d)
{
    uint8_t all[15] = {8, 0, 8, 4, 0};
    memcpy(all + 5, d, 10);
    return (d[0] == 1 || d[0] == 2) && luhn_is_right(all, 15);
}

/* The month has 20 or 40 added for other centuries. */
bool bg_egn_is_right(const uint8_t *d)
{
    static const uint8_t weights[9] = {2, 4, 8, 5, 10, 9, 7, 3, 6};
    unsigned month = two(d + 2);
    if (month > 40) month -= 40;
    else if (month > 20) month -= 20;
    return day_exists(0, month, two(d + 4)) && weigh(d, weights, 9) % 11 % 10 == d[9];
}

/* The day has 60 added where it is a coordination number. */
bool se_pnr_is_right(const uint8_t *d)
{
    unsigned day = two(d + 4);
    return day_exists(0, two(d + 2), day > 60 ? day - 60 : day) && luhn_is_right(d, 10);
}

bool se_pnr12_is_right(const uint8_t *d)
{
    unsigned century = two(d);
    return century >= 18 && century <= 20 && se_pnr_is_right(d + 2);
}

bool dk_day_is_right(const uint8_t *d)
{
    return is_dmy(d);
}

bool dk_cpr_is_right(const uint8_t *d)
{
    static const uint8_t weights[10] = {4, 3, 2, 7, 6, 5, 4, 3, 2, 1};
    return is_dmy(d) && weigh(d, weights, 10) % 11 == 0;
}

bool is_kt_is_right(const uint8_t *d)
{
    static const uint8_t weights[8] = {3, 2, 7, 6, 5, 4, 3, 2};
    return is_dmy(d) && (d[9] == 0 || d[9] == 9) && is_mod11(d, weights, 8);
}

/* The month has 50 added for women, and 20 when a day's numbers ran out. */
bool cz_rc_is_right(const uint8_t *d)
{
    unsigned month = two(d + 2);
    if (month > 50) month -= 50;
    if (month > 20) month -= 20;
    return day_exists(0, month, two(d + 4)) && modulo_of(d, 10, 11) == 0;
}

bool at_svnr_is_right(const uint8_t *d)
{
    static const uint8_t weights[10] = {3, 7, 9, 0, 5, 8, 4, 2, 1, 6};
    return d[0] != 0 && is_dmy(d + 4) && weigh(d, weights, 10) % 11 == d[3];
}

bool ua_tax_is_right(const uint8_t *d)
{
    static const uint8_t weights[9] = {10, 5, 7, 9, 4, 6, 10, 5, 7};
    return !is_same(d, 10) && weigh(d, weights, 9) % 11 % 10 == d[9];
}

bool lv_pk_is_right(const uint8_t *d)
{
    static const uint8_t weights[10] = {10, 5, 8, 4, 2, 1, 6, 3, 7, 9};
    return is_dmy(d) && (1 + weigh(d, weights, 10)) % 11 % 10 == d[10];
}

bool no_fnr_is_right(const uint8_t *d)
{
    static const uint8_t first[9] = {3, 7, 6, 1, 8, 9, 4, 5, 2};
    static const uint8_t second[10] = {5, 4, 3, 2, 7, 6, 5, 4, 3, 2};
    unsigned day = two(d) > 40 ? two(d) - 40 : two(d);
    if (!day_exists(0, two(d + 2), day)) return false;
    return is_mod11(d, first, 9) && is_mod11(d, second, 10);
}

/* Since 2000 a 2 stands in front of the number when the rest is taken. */
bool be_nn_is_right(const uint8_t *d)
{
    unsigned check = d[9] * 10U + d[10];
    unsigned rest = modulo_of(d, 9, 97);
    uint8_t later[10] = {2};
    memcpy(later + 1, d, 9);
    if (two(d + 2) > 12 || two(d + 4) > 31 || two(d + 2) == 0) return false;
    return check == 97 - rest || check == 97 - modulo_of(later, 10, 97);
}

bool pl_pesel_is_right(const uint8_t *d)
{
    static const uint8_t weights[11] = {1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1};
    return day_exists(0, two(d + 2) % 20, two(d + 4)) && weigh(d, weights, 11) % 10 == 0;
}

/* Of the first ten digits one occurs twice or three times, and the others once at most. */
bool de_tax_is_right(const uint8_t *d)
{
    unsigned seen[10] = {0};
    unsigned n_twice = 0, n_more = 0;
    for (size_t i = 0; i < 10; i++) seen[d[i]]++;
    for (size_t i = 0; i < 10; i++) {
        n_twice += seen[i] == 2 || seen[i] == 3;
        n_more += seen[i] > 3;
    }
    return d[0] != 0 && n_twice == 1 && n_more == 0 && mod11_10_is_right(d, 11);
}

bool hr_oib_is_right(const uint8_t *d)
{
    return !is_same(d, 11) && mod11_10_is_right(d, 11);
}

bool tr_id_is_right(const uint8_t *d)
{
    unsigned odd = d[0] + (unsigned)d[2] + d[4] + d[6] + d[8];
    unsigned even = d[1] + (unsigned)d[3] + d[5] + d[7];
    return d[0] != 0 && (odd * 7 + 10 * 9 - even) % 10 == d[9] && (odd + even + d[9]) % 10 == d[10];
}

bool br_cpf_is_right(const uint8_t *d)
{
    static const uint8_t weights[10] = {11, 10, 9, 8, 7, 6, 5, 4, 3, 2};
    unsigned first = weigh(d, weights + 1, 9) * 10 % 11 % 10;
    unsigned second = weigh(d, weights, 10) * 10 % 11 % 10;
    return !is_same(d, 11) && first == d[9] && second == d[10];
}

/* Estonia and Lithuania; a second row of weights where the first leaves 10. */
bool baltic_is_right(const uint8_t *d)
{
    static const uint8_t first[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1};
    static const uint8_t second[10] = {3, 4, 5, 6, 7, 8, 9, 1, 2, 3};
    unsigned check = weigh(d, first, 10) % 11;
    if (check == 10) check = weigh(d, second, 10) % 11 % 10;
    return d[0] >= 1 && d[0] <= 8 && is_ymd(d + 1) && check == d[10];
}

bool gr_amka_is_right(const uint8_t *d)
{
    return is_dmy(d) && luhn_is_right(d, 11);
}

bool ar_cuit_is_right(const uint8_t *d)
{
    static const uint8_t weights[10] = {5, 4, 3, 2, 7, 6, 5, 4, 3, 2};
    unsigned kind = two(d);
    if (kind != 20 && kind != 23 && kind != 24 && kind != 27 && kind != 30 && kind != 33 &&
        kind != 34)
        return false;
    return is_mod11(d, weights, 10);
}

bool ru_snils_is_right(const uint8_t *d)
{
    static const uint8_t weights[9] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    unsigned check = weigh(d, weights, 9) % 101 % 100;
    return !is_same(d, 9) && check == d[9] * 10U + d[10];
}

bool ru_inn_is_right(const uint8_t *d)
{
    static const uint8_t weights[11] = {3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8};
    return weigh(d, weights + 1, 10) % 11 % 10 == d[10] && weigh(d, weights, 11) % 11 % 10 == d[11];
}

bool in_aadhaar_is_right(const uint8_t *d)
{
    return d[0] >= 2 && verhoeff_is_right(d, 12);
}

bool jp_my_is_right(const uint8_t *d)
{
    static const uint8_t weights[11] = {6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2};
    unsigned rest = weigh(d, weights, 11) % 11;
    return !is_same(d, 12) && d[11] == (rest <= 1 ? 0 : 11 - rest);
}

bool ro_cnp_is_right(const uint8_t *d)
{
    static const uint8_t weights[12] = {2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9};
    unsigned rest = weigh(d, weights, 12) % 11;
    return d[0] != 0 && is_ymd(d + 1) && d[12] == (rest == 10 ? 1 : rest);
}

bool za_id_is_right(const uint8_t *d)
{
    return is_ymd(d) && d[10] <= 1 && d[11] >= 8 && luhn_is_right(d, 13);
}

bool kr_day_is_right(const uint8_t *d)
{
    return is_ymd(d) && d[6] >= 1 && d[6] <= 8;
}

/* Numbers given since October 2020 end in any digit. */
bool kr_rrn_is_right(const uint8_t *d)
{
    static const uint8_t weights[12] = {2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5};
    return kr_day_is_right(d) && (11 - weigh(d, weights, 12) % 11) % 10 == d[12];
}

bool th_id_is_right(const uint8_t *d)
{
    static const uint8_t weights[12] = {13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2};
    return d[0] != 0 && (11 - weigh(d, weights, 12) % 11) % 10 == d[12];
}

bool ch_ahv_is_right(const uint8_t *d)
{
    return d[0] == 7 && d[1] == 5 && d[2] == 6 && ean13_is_right(d);
}

/* The states that were Yugoslavia: DDMMYYY. */
bool jmbg_is_right(const uint8_t *d)
{
    static const uint8_t weights[12] = {7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2};
    return is_dmy(d) && (d[4] == 0 || d[4] == 9) && is_mod11(d, weights, 12);
}

/* Sex, year, month (above 12: not known), department; 97 minus the rest. */
bool fr_nir_is_right(const uint8_t *d)
{
    unsigned month = two(d + 3);
    bool is_month = (month >= 1 && month <= 12) || (month >= 20 && month <= 42) || month >= 50;
    if ((d[0] < 1 || d[0] > 4) && d[0] != 7 && d[0] != 8) return false;
    return is_month && d[13] * 10U + d[14] == 97 - modulo_of(d, 13, 97);
}

unsigned cn_id_check(const uint8_t *d)
{
    static const uint8_t weights[17] = {7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2};
    return (12 - weigh(d, weights, 17) % 11) % 11;
}

bool cn_id_is_right(const uint8_t *d)
{
    unsigned year = two(d + 6) * 100 + two(d + 8);
    if (d[0] == 0 || year < 1850 || year > 2100) return false;
    return day_exists(year, two(d + 10), two(d + 12)) && cn_id_check(d) == d[17];
}

unsigned cl_rut_check(const uint8_t *d, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) sum += d[n - 1 - i] * (2U + (unsigned)(i % 6));
    return (11 - sum % 11) % 11;
}

bool cl_rut9_is_right(const uint8_t *d)
{
    return d[0] != 0 && cl_rut_check(d, 8) == d[8];
}

bool cl_rut8_is_right(const uint8_t *d)
{
    return d[0] != 0 && cl_rut_check(d, 7) == d[7];
}
