/* SPDX-License-Identifier: Apache-2.0 */
/* What critic, assessment and fact sheet read out of a finding and its verdict. */
#pragma once

#include "check/gates.h"

/* Days that have a value. */
size_t days_known(struct days d);

/* What a finding rests on: days with a value, of both windows together, or pairs of days. */
size_t finding_n(const struct finding *f);

/* A number of a gate's detail; NAN when it has none of that name. */
double gate_detail(const struct verdict *v, enum gate_name gate, const char *name);

/* A copy in the arena; NULL with the arena's status when there is no room. */
const char *text_keep(struct arena *arena, const char *text);
