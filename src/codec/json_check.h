/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether bytes are one JSON text, without making a value of it: no memory, one look at each
 * byte. The verdict and the offset are exactly those of weir_json_parse(), and so is the ceiling
 * on nesting; the fuzzer of JSON holds them against each other. Any thread.
 */
#pragma once

#include <weir/json.h>

struct json_found {
    struct weir_slice value;  /* the text without white space around it; when it is JSON */
    enum weir_json_type type; /* of the value */
    bool has_line_ends;       /* CR or LF stands between tokens, the only place they may */
    size_t offset;            /* as weir_json_parse() has it */
    const char *expected;     /* what could have stood there, when it is not JSON; never NULL */
};

/* Called for each element of the outermost array, in order, before the rest was looked at. */
typedef void (*json_element_fn)(void *user, struct weir_slice element);

/* `each` may be NULL. WEIR_JSON_SYNTAX, WEIR_JSON_UTF8, WEIR_JSON_DEPTH, WEIR_JSON_TRUNCATED. */
WEIR_MUST_CHECK enum weir_status json_check(struct weir_slice text, json_element_fn each,
                                            void *user, struct json_found *out);
