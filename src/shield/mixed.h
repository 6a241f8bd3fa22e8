/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers over a run of letters and digits. `at` and `end` are the run's; each returns the end of
 * what it is sure of, or 0.
 */
#pragma once

#include "shield/scan_impl.h"

size_t mixed_iban(struct scan *s, size_t at, size_t end);
size_t mixed_coin(struct scan *s, size_t at, size_t end);
size_t mixed_national(struct scan *s, size_t at, size_t end);
size_t mixed_document(struct scan *s, size_t at, size_t end);

/* Whether words before a place name a driver's licence. */
bool is_license_near(struct scan *s, size_t at);
