/* SPDX-License-Identifier: Apache-2.0 */
/* What LOINC codes and UCUM units are in the catalogue. Pure; any thread. */
#pragma once

#include "data/catalogue.h"

/* NULL when the code is of none. */
const struct analyte *loinc_analyte(struct weir_slice code);
const struct metric *loinc_metric(struct weir_slice code);

enum { UCUM_BYTES = 48 };

/* "mm[Hg]", "{beats}/min", "[lb_av]" as the catalogue spells them. False when it is too long. */
bool ucum_spell(struct weir_slice unit, char out[UCUM_BYTES]);
