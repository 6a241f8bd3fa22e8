/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that states and health services give to people, as far as they are digits only.
 *
 * Each row has the number's check and the layouts people write it in. Where the check leaves one in
 * thousands, the bare number will do; where it leaves one in ten or hundred, its own punctuation or
 * a word before it is needed as well. national_check.c has the arithmetic.
 */
#include "shield/national.h"

#include <string.h>

#include "shield/number.h"

/* Layouts: those that suffice, then those that need a word. Between layouts stands a bar. */
struct row {
    const char *label;
    national_check_fn check;
    const char *alone;
    const char *with_word;
    unsigned context;
    uint8_t category;
    uint8_t n_digits;
};

enum { GROUPS_MAX = 7 }; /* of any layout */

#define NATIONAL SHIELD_NATIONAL_ID

static const struct row rows[] = {
    {"us_ssn", us_ssn_is_right, "3-2-4|3 2 4|3.2.4", "9|3-6|5-4|3 6|5 4", CONTEXT_SSN,
     SHIELD_US_SSN, 9},
    {"us_itin", us_itin_is_right, "3-2-4|3 2 4", "9|3-6|5-4", CONTEXT_SSN | CONTEXT_NATIONAL,
     NATIONAL, 9},
    {"bsn", nl_bsn_is_right, "", "9|3.3.3|4.2.3|3 3 3|4 2 3|3-3-3|2.3.4|2 3 4", CONTEXT_BSN,
     SHIELD_BSN, 9},
    {"bsn", nl_bsn8_is_right, "", "8|2.3.3|4 4|4.4", CONTEXT_BSN, SHIELD_BSN, 8},
    {"ca_sin", ca_sin_is_right, "3-3-3", "9|3 3 3|3.3.3", CONTEXT_NATIONAL, NATIONAL, 9},
    {"il_id", il_id_is_right, "", "9|8-1", CONTEXT_NATIONAL, NATIONAL, 9},
    {"pt_nif", pt_nif_is_right, "", "9|3 3 3", CONTEXT_NATIONAL, NATIONAL, 9},
    {"au_tfn", au_tfn_is_right, "", "9|3 3 3|3-3-3", CONTEXT_NATIONAL, NATIONAL, 9},
    {"hu_taj", hu_taj_is_right, "", "9|3 3 3|3-3-3", CONTEXT_NATIONAL, NATIONAL, 9},
    {"nhs_number", uk_nhs_is_right, "", "10|3 3 4|3-3-4", CONTEXT_NHS, SHIELD_MEDICAL, 10},
    {"npi", us_npi_is_right, "", "10", CONTEXT_NPI, SHIELD_MEDICAL, 10},
    {"bg_egn", bg_egn_is_right, "", "10", CONTEXT_NATIONAL, NATIONAL, 10},
    {"se_personnummer", se_pnr_is_right, "6-4", "10|6 4", CONTEXT_NATIONAL, NATIONAL, 10},
    {"se_personnummer", se_pnr12_is_right, "8-4", "12|8 4", CONTEXT_NATIONAL, NATIONAL, 12},
    {"dk_cpr", dk_cpr_is_right, "6-4", "", CONTEXT_NATIONAL, NATIONAL, 10},
    {"dk_cpr", dk_day_is_right, "", "10|6-4|6 4", CONTEXT_NATIONAL, NATIONAL, 10},
    {"is_kennitala", is_kt_is_right, "6-4", "10|6 4", CONTEXT_NATIONAL, NATIONAL, 10},
    {"cz_rodne_cislo", cz_rc_is_right, "6/4", "10", CONTEXT_NATIONAL, NATIONAL, 10},
    {"at_svnr", at_svnr_is_right, "", "10|4 6|4-6", CONTEXT_NATIONAL, NATIONAL, 10},
    {"ua_rnokpp", ua_tax_is_right, "", "10", CONTEXT_NATIONAL, NATIONAL, 10},
    {"lv_personas_kods", lv_pk_is_right, "6-5", "11", CONTEXT_NATIONAL, NATIONAL, 11},
    {"no_fodselsnummer", no_fnr_is_right, "11|6 5", "", 0, NATIONAL, 11},
    {"be_rijksregister", be_nn_is_right, "11|2.2.2-3.2|6-3-2|6 3 2|2.2.2.3-2|2 2 2 3 2", "", 0,
     NATIONAL, 11},
    {"pl_pesel", pl_pesel_is_right, "", "11", CONTEXT_NATIONAL, NATIONAL, 11},
    {"de_steuer_id", de_tax_is_right, "2 3 3 3", "11", CONTEXT_NATIONAL, NATIONAL, 11},
    {"hr_oib", hr_oib_is_right, "", "11", CONTEXT_NATIONAL, NATIONAL, 11},
    {"tr_kimlik", tr_id_is_right, "", "11|3 3 3 2|3 3 2 3", CONTEXT_NATIONAL, NATIONAL, 11},
    {"br_cpf", br_cpf_is_right, "3.3.3-2", "11|3 3 3 2|9-2|3-3-3-2", CONTEXT_NATIONAL, NATIONAL,
     11},
    {"ee_isikukood", baltic_is_right, "", "11", CONTEXT_NATIONAL, NATIONAL, 11},
    {"gr_amka", gr_amka_is_right, "", "11", CONTEXT_NATIONAL, NATIONAL, 11},
    {"ar_cuit", ar_cuit_is_right, "2-8-1", "11", CONTEXT_NATIONAL, NATIONAL, 11},
    {"ru_snils", ru_snils_is_right, "3-3-3 2|3-3-3-2", "11|3 3 3 2", CONTEXT_NATIONAL, NATIONAL,
     11},
    {"in_aadhaar", in_aadhaar_is_right, "4 4 4|4-4-4", "12", CONTEXT_NATIONAL, NATIONAL, 12},
    {"jp_my_number", jp_my_is_right, "", "12|4 4 4|4-4-4", CONTEXT_NATIONAL, NATIONAL, 12},
    {"ru_inn", ru_inn_is_right, "", "12", CONTEXT_NATIONAL, NATIONAL, 12},
    {"ro_cnp", ro_cnp_is_right, "", "13", CONTEXT_NATIONAL, NATIONAL, 13},
    {"za_id", za_id_is_right, "13|6 4 2 1|6 4 3|6 4 1 2", "", 0, NATIONAL, 13},
    {"kr_rrn", kr_rrn_is_right, "6-7", "", 0, NATIONAL, 13},
    {"kr_rrn", kr_day_is_right, "", "6-7|13", CONTEXT_NATIONAL, NATIONAL, 13},
    {"th_id", th_id_is_right, "1-4-5-2-1|1 4 5 2 1", "13", CONTEXT_NATIONAL, NATIONAL, 13},
    {"ch_ahv", ch_ahv_is_right, "13|3.4.4.2|3 4 4 2", "", 0, NATIONAL, 13},
    {"jmbg", jmbg_is_right, "", "13", CONTEXT_NATIONAL, NATIONAL, 13},
    {"fr_nir", fr_nir_is_right, "15|1 2 2 2 3 3 2|13 2|1 2 2 2 3 3-2", "", 0, NATIONAL, 15},
    {"cn_resident_id", cn_id_is_right, "18", "", 0, NATIONAL, 18},
    {"cl_rut", cl_rut9_is_right, "2.3.3-1", "9|8-1", CONTEXT_NATIONAL, NATIONAL, 9},
    {"cl_rut", cl_rut8_is_right, "1.3.3-1", "8|7-1", CONTEXT_NATIONAL, NATIONAL, 8},
};

static bool is_listed(const char *layouts, const char *layout)
{
    size_t len = strlen(layout);
    for (const char *at = layouts; *at; at++) {
        if (strncmp(at, layout, len) == 0 && (at[len] == '|' || at[len] == 0)) return true;
        at = strchr(at, '|');
        if (!at) return false;
    }
    return false;
}

static bool is_row(struct scan *s, const struct number *n, size_t k, const struct row *row)
{
    char layout[NUMBER_LAYOUT];
    if (!row->check(n->digits)) return false;
    number_layout(n, k, layout);
    if (is_listed(row->alone, layout)) return true;
    if (!is_listed(row->with_word, layout)) return false;
    return (context_near(s, n->start, n->groups[k - 1].end) & row->context) != 0;
}

static size_t try_rows(struct scan *s, const struct number *n, size_t k)
{
    size_t n_digits = number_digits(n, k);
    size_t end = n->groups[k - 1].end;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].n_digits != n_digits || !is_row(s, n, k, &rows[i])) continue;
        bool has_digit = rows[i].category != SHIELD_US_SSN;
        scan_found(s, n->groups[0].start, end, (enum shield_category)rows[i].category,
                   rows[i].label, has_digit ? 0.95 : 0.85);
        return end;
    }
    return 0;
}

size_t number_national(struct scan *s, const struct number *n)
{
    if (n->has_plus || n->has_paren || n->is_tail) return 0;
    for (size_t k = n->n_groups < GROUPS_MAX ? n->n_groups : GROUPS_MAX; k > 0; k--) {
        size_t n_digits = number_digits(n, k);
        if (n_digits < 8) return 0;
        if (n_digits > 18 || !number_ends(s, n, k)) continue;
        size_t end = try_rows(s, n, k);
        if (end > 0) return end;
    }
    return 0;
}
