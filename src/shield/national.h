/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether digits are a national number: its check digits, and where a day of birth is part of it,
 * that there is such a day. Each function knows how many digits it is given.
 */
#pragma once

#include <weir/types.h>

typedef bool (*national_check_fn)(const uint8_t *digits);

bool us_ssn_is_right(const uint8_t *d);
bool us_itin_is_right(const uint8_t *d);
bool nl_bsn_is_right(const uint8_t *d);
bool nl_bsn8_is_right(const uint8_t *d);
bool ca_sin_is_right(const uint8_t *d);
bool il_id_is_right(const uint8_t *d);
bool pt_nif_is_right(const uint8_t *d);
bool au_tfn_is_right(const uint8_t *d);
bool hu_taj_is_right(const uint8_t *d);
bool uk_nhs_is_right(const uint8_t *d);
bool us_npi_is_right(const uint8_t *d);
bool bg_egn_is_right(const uint8_t *d);
bool se_pnr_is_right(const uint8_t *d);
bool se_pnr12_is_right(const uint8_t *d);
bool dk_cpr_is_right(const uint8_t *d);
bool dk_day_is_right(const uint8_t *d);
bool is_kt_is_right(const uint8_t *d);
bool cz_rc_is_right(const uint8_t *d);
bool at_svnr_is_right(const uint8_t *d);
bool ua_tax_is_right(const uint8_t *d);
bool lv_pk_is_right(const uint8_t *d);
bool no_fnr_is_right(const uint8_t *d);
bool be_nn_is_right(const uint8_t *d);
bool pl_pesel_is_right(const uint8_t *d);
bool de_tax_is_right(const uint8_t *d);
bool hr_oib_is_right(const uint8_t *d);
bool tr_id_is_right(const uint8_t *d);
bool br_cpf_is_right(const uint8_t *d);
bool baltic_is_right(const uint8_t *d);
bool gr_amka_is_right(const uint8_t *d);
bool ar_cuit_is_right(const uint8_t *d);
bool ru_snils_is_right(const uint8_t *d);
bool ru_inn_is_right(const uint8_t *d);
bool in_aadhaar_is_right(const uint8_t *d);
bool jp_my_is_right(const uint8_t *d);
bool ro_cnp_is_right(const uint8_t *d);
bool za_id_is_right(const uint8_t *d);
bool kr_rrn_is_right(const uint8_t *d);
bool kr_day_is_right(const uint8_t *d);
bool th_id_is_right(const uint8_t *d);
bool ch_ahv_is_right(const uint8_t *d);
bool jmbg_is_right(const uint8_t *d);
bool fr_nir_is_right(const uint8_t *d);
bool cn_id_is_right(const uint8_t *d);
/* The check digit of a Chinese resident number, 10 for X, of its first 17 digits. */
unsigned cn_id_check(const uint8_t *d);
bool cl_rut8_is_right(const uint8_t *d);
bool cl_rut9_is_right(const uint8_t *d);
/* The check digit of a Chilean number of n digits, 10 for K. */
unsigned cl_rut_check(const uint8_t *d, size_t n);
