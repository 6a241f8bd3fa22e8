/* SPDX-License-Identifier: Apache-2.0 */
/* A sink that writes facts down in every detail, for readers whose results are compared. */
#pragma once

#include "data/fact.h"
#include "text.h"

/* Refusals and what is ignored are written too. The text is the caller's. */
struct fact_sink facts_written(struct text *out);
