/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second reading of JSON, slow, recursive and plainly right, which shares no
 * code with the library. It answers two questions:
 *
 * json_slow_check: is this a JSON text, and if not, how many of its bytes could
 * still have begun one?
 *
 * json_slow_show: what may a reader show for these bytes? By spec: strings grow;
 * half an escape, half a surrogate pair and half a UTF-8 character are held;
 * numbers and literals appear when whole, a key with its value; a repeated key
 * takes the place of the first. After an error: what the bytes before it show.
 */
#pragma once

#include <weir/status.h>

#include "text.h"

enum json_slow_mode {
    JSON_SLOW_OPEN,  /* more may come */
    JSON_SLOW_CUT,   /* nothing more comes, but something is missing */
    JSON_SLOW_WHOLE, /* this is all there was to come */
};

/* max_depth 0: the library's default. *offset is as for weir_json_parse. */
enum weir_status json_slow_check(struct weir_slice text, unsigned max_depth, size_t *offset);

/* Adds the value as compact JSON; false, and nothing added, when there is none to show. */
bool json_slow_show(struct text *out, struct weir_slice text, unsigned max_depth,
                    enum json_slow_mode mode);

/* Whether some object names a key twice, as far as the text goes. */
bool json_slow_has_repeats(struct weir_slice text, unsigned max_depth);
