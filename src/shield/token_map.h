/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The placeholders of a conversation: which stands for which value.
 *
 * The same value of the same kind always has the same token, two values never share one, and a
 * token keeps its value for as long as the map lives. A token is "[name_n]", name being a
 * category's or an own term's label, n from 1.
 *
 * 1. token_map_new(), or token_map_read() from what token_map_write() made.
 * 2. shield_redact() puts tokens into a text; struct restorer (restore.h) takes them out.
 * 3. token_map_free().
 *
 * The map holds the values as they are: whoever stores it, encrypts it. One thread at a time.
 */
#pragma once

#include <weir/json.h>

#include "shield/shield.h"

enum {
    TOKENS_MAX = 100000,                          /* in one conversation */
    TOKENS_VALUE_BYTES = 64 << 20,                /* of all values together */
    TOKEN_MAX_BYTES = SHIELD_LABEL_BYTES + 2 + 7, /* of one token with its brackets */
};

struct token_map;

/* NULL: no memory. */
struct token_map *token_map_new(void);
void token_map_free(struct token_map *t); /* NULL is allowed; values are overwritten */
/* Tokens of this name may come: text that looks like one is told from them. WEIR_LIMIT. */
WEIR_MUST_CHECK enum weir_status token_map_expect(struct token_map *t, const char *name);
size_t token_map_count(const struct token_map *t);

/*
 * The token of a value, made when there is none; borrowed from the map. WEIR_LIMIT when there are
 * too many, WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status token_map_give(struct token_map *t, const char *name,
                                                struct weir_slice value, struct weir_slice *token);

/*
 * The value of what stands between the brackets of a token, with the drift that models show:
 * "Email_1", "email 1", "EMAIL-1", "email\_1", "email1", "email_01". False: no value has that
 * token.
 */
bool token_map_value(const struct token_map *t, struct weir_slice inside, struct weir_slice *value);

/* Whether it is that of bytes that only look like a token, as shield_redact() gives them. */
bool token_map_is_literal(const struct token_map *t, struct weir_slice inside);

/* Whether these bytes can begin the inside of a token of this map. */
bool token_map_may_begin(const struct token_map *t, struct weir_slice inside);

/*
 * How much of a text with tokens stays when at most `most` bytes may: it ends between characters,
 * and rather in front of a token than inside.
 */
size_t token_cut(struct weir_slice text, size_t most);

/* {"[email_1]": "alice@example.org", ...}. */
void token_map_write(const struct token_map *t, struct weir_buf *out);
/* Adds what token_map_write() wrote to an empty map. WEIR_INVALID: not such an object. */
WEIR_MUST_CHECK enum weir_status token_map_read(struct token_map *t, const struct weir_json *json);

/*
 * Writes the text with a token in place of each finding that is not public. Bytes that look like a
 * token of this map's kinds and are none get one as well, so that restoring gives the text back.
 * `n` (may be NULL) is the number of replaced findings.
 */
WEIR_MUST_CHECK enum weir_status shield_redact(struct token_map *t, struct weir_slice text,
                                               const struct shield_findings *findings,
                                               struct weir_buf *out, size_t *n);

/*
 * The same for one of several texts of a request, the first of which found `n_before` tokens in the
 * map: those stand for values, all others that a text may seem to have do not. A token inside of
 * a finding is stored as its value.
 */
WEIR_MUST_CHECK enum weir_status shield_redact_since(struct token_map *t, struct weir_slice text,
                                                     const struct shield_findings *findings,
                                                     size_t n_before, struct weir_buf *out);
