/* SPDX-License-Identifier: Apache-2.0 */
/* An organisation's own terms and patterns. Part of the rules. */
#pragma once

#include "shield/scan_impl.h"

enum { CUSTOM_BUCKETS = 4096, CUSTOM_HEAD = 4 };

struct custom_term;
struct custom_pattern;

struct custom {
    struct custom_term *terms; /* all of them, the newest first */
    size_t n_terms;
    struct custom_term *buckets[CUSTOM_BUCKETS]; /* by their first bytes */
    unsigned head_lengths;                       /* bit n: some have a head of n bytes */
    struct custom_pattern *patterns;
    size_t n_patterns;
};

void custom_fini(struct custom *c);
WEIR_MUST_CHECK enum weir_status custom_add_term(struct custom *c, const char *label,
                                                 struct weir_slice term,
                                                 char error[SHIELD_ERROR_BYTES]);
WEIR_MUST_CHECK enum weir_status custom_add_pattern(struct custom *c, const char *label,
                                                    struct weir_slice pattern,
                                                    char error[SHIELD_ERROR_BYTES]);
/* Adds what they find in the text of the scan; a failure sticks there. */
void custom_scan(const struct custom *c, struct scan *s);
