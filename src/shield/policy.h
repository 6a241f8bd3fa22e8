/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an organisation wants done with what is private, from its configuration (docs/shield.md):
 *
 *   {"piiAction":"ask","scope":"external","attachments":"refuse","terms":[{"label","term"}…],
 *    "patterns":[{"label","pattern"}…]}
 *
 * Without a file: auto_redact, of external providers, and attachments that nobody can look into
 * (pictures, sound, PDF) are refused. A policy does not change once it is read: any thread.
 */
#pragma once

#include "shield/shield.h"

/* By rising strictness: a request may only ask for more. */
enum pii_action { PII_OFF, PII_ASK, PII_REDACT, PII_BLOCK };
enum pii_scope { PII_EXTERNAL, PII_ALL }; /* of providers */

enum {
    POLICY_BYTES = 4 << 20,  /* of its file */
    POLICY_MAX_LABELS = 128, /* different ones, of terms and patterns together */
};

struct shield_policy;

/* WEIR_BAD_FIELD, WEIR_NOT_FOUND, WEIR_IO, WEIR_NOMEM: `error` says what is wrong and where. */
WEIR_MUST_CHECK enum weir_status shield_policy_read(struct shield_policy **out, const char *path,
                                                    char error[SHIELD_ERROR_BYTES]);
/* The same of text; `name` is for messages. */
WEIR_MUST_CHECK enum weir_status shield_policy_parse(struct shield_policy **out,
                                                     struct weir_slice text, const char *name,
                                                     char error[SHIELD_ERROR_BYTES]);
/* NULL: no memory. */
struct shield_policy *shield_policy_default(void);
void shield_policy_free(struct shield_policy *p); /* NULL is allowed */

enum pii_action shield_policy_action(const struct shield_policy *p);
enum pii_scope shield_policy_scope(const struct shield_policy *p);
bool shield_policy_sends_attachments(const struct shield_policy *p); /* unseen ones */
const struct shield_rules *shield_policy_rules(const struct shield_policy *p);
/* The labels of terms and patterns, each once; NULL: there are no more. */
const char *shield_policy_label(const struct shield_policy *p, size_t i);

/* "ask", "auto_redact", "block", "off"; false: none of them. */
bool pii_action_parse(struct weir_slice text, enum pii_action *out);
const char *pii_action_name(enum pii_action action);
static inline enum pii_action pii_action_stricter(enum pii_action a, enum pii_action b)
{
    return a > b ? a : b;
}
