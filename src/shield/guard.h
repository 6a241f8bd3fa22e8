/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation's private values: its map of placeholders and what the user has allowed to leave,
 * with the means to look at whole requests.
 *
 * 1. guard_new(), then guard_unseal() from what guard_seal() made (the document "shield_map" of the
 *    conversation; empty: a new one).
 * 2. guard_find() tells what of a request is private and neither allowed nor a placeholder already.
 *    guard_redact() writes the request with placeholders; the map grows by it.
 * 3. guard_check() is the last look, at the very bytes that are to leave: what is still private in
 *    them, and not allowed, blocks.
 * 4. guard_restore() puts the values back into JSON or text; restore.h does it piece by piece.
 * 5. guard_seal() before anything that has a new placeholder in it is made durable, guard_free().
 *
 * Texts of a request are all its strings, members' names inside of tool arguments included, but for
 * what only says how it is built (types, roles, ids, names of tools and models, base64 of
 * pictures). Texts of one message that stand next to each other are looked at as one, too: a value
 * may be cut by the end of a block. A string that is JSON as a whole is looked at as what it holds;
 * escapes, entities, characters that are not seen and digits of other alphabets hide nothing
 * (docs/shield.md has what does).
 *
 * Redacted and restored, a request is what it was, with two exceptions: JSON inside of a string has
 * its shortest form then, and a private number is a text.
 *
 * WEIR_FORBIDDEN from any of them: there is an attachment that nobody can look into, or something
 * private where no placeholder can stand, as in an id. Nothing of it may leave.
 *
 * A failure of the detector (WEIR_LIMIT, WEIR_NOMEM) closes: nothing may leave.
 * One thread at a time; guard_check() and the restoring ones any number, while nobody changes it.
 */
#pragma once

#include "shield/policy.h"
#include "shield/token_map.h"
#include "shield/vault.h"

struct guard;

enum guard_form {
    GUARD_MESSAGES, /* [{"role","content"}…], content text or blocks: our one form, Anthropic's */
    GUARD_ANTHROPIC, /* the body of POST /v1/messages */
    GUARD_OPENAI,    /* the body of POST /v1/chat/completions */
    GUARD_VALUE,     /* any JSON: every string and name in it */
};

/* The policy is borrowed. NULL: no memory. */
struct guard *guard_new(const struct shield_policy *policy);
/* One that is the same now, and goes its own way. NULL: no memory. */
struct guard *guard_copy(const struct guard *g);
void guard_free(struct guard *g); /* NULL is allowed; values are overwritten */

const struct shield_policy *guard_policy(const struct guard *g);
/* Whether requests to such a provider are its policy's business. */
bool guard_covers(const struct guard *g, bool is_external);

enum { GUARD_WHERE_BYTES = 192 };

/* What was found, counted by what it is; no value is in it. */
struct guard_report {
    size_t n;                           /* values that would be, or were, replaced */
    size_t counts[SHIELD_N_CATEGORIES]; /* of each category */
    struct weir_buf findings; /* JSON: [{"label","category","source"}…], each place once */
    /* After WEIR_FORBIDDEN: what was refused, "attachment", a category's name, or "placeholder" for
       text that only looks like one; NULL: nothing was. And where it stands, as
       "messages[0].content[1].source.data"; empty: at the top. */
    const char *refused_what;
    char refused_at[GUARD_WHERE_BYTES];
};
void guard_report_init(struct guard_report *r);
void guard_report_fini(struct guard_report *r);
/* ["email","phone"], in the categories' order. */
void guard_report_put_categories(const struct guard_report *r, struct weir_buf *out);
/* {"email":2,"phone":1}; NULL is allowed and has none. */
void guard_report_put_counts(const struct guard_report *r, struct weir_buf *out);

WEIR_MUST_CHECK enum weir_status guard_find(const struct guard *g, enum guard_form form,
                                            const struct weir_json *request,
                                            struct guard_report *report);
/* `report` may be NULL. */
WEIR_MUST_CHECK enum weir_status guard_redact(struct guard *g, enum guard_form form,
                                              const struct weir_json *request, struct weir_buf *out,
                                              struct guard_report *report);
WEIR_MUST_CHECK enum weir_status guard_redact_text(struct guard *g, struct weir_slice text,
                                                   struct weir_buf *out,
                                                   struct guard_report *report);
/*
 * The same for what comes from elsewhere and has no placeholder yet: bytes that look like one are
 * text, even if the map has that placeholder.
 */
WEIR_MUST_CHECK enum weir_status guard_redact_fresh(struct guard *g, enum guard_form form,
                                                    const struct weir_json *request,
                                                    struct weir_buf *out,
                                                    struct guard_report *report);
WEIR_MUST_CHECK enum weir_status guard_redact_fresh_text(struct guard *g, struct weir_slice text,
                                                         struct weir_buf *out,
                                                         struct guard_report *report);

/* Allows the values that guard_find() would report now: they stay as they are from here on. */
WEIR_MUST_CHECK enum weir_status guard_allow(struct guard *g, enum guard_form form,
                                             const struct weir_json *request);

/*
 * What was allowed does not count for this guard and its copies: for where more is wanted than that
 * the user is asked. It is kept all the same, and sealed.
 */
void guard_be_strict(struct guard *g);

/*
 * The body of a request as it leaves, JSON. WEIR_FORBIDDEN: something private is left in it;
 * *category is the first such thing's, SHIELD_N_CATEGORIES for an attachment.
 */
WEIR_MUST_CHECK enum weir_status guard_check(const struct guard *g, struct weir_slice body,
                                             enum shield_category *category);

/* All strings of a JSON text get their values back, escaped as they must be. */
WEIR_MUST_CHECK enum weir_status guard_restore(const struct guard *g, struct weir_slice json,
                                               struct weir_buf *out);
/*
 * The same, to be redacted again: what stands for bytes that only look like a placeholder stays, or
 * they would be taken for it then.
 */
WEIR_MUST_CHECK enum weir_status guard_reveal(const struct guard *g, struct weir_slice json,
                                              struct weir_buf *out);
const struct token_map *guard_tokens(const struct guard *g); /* for restore.h */

/* Sealed with the vault's newest key and bound to `bound`, the conversation's id. */
WEIR_MUST_CHECK enum weir_status guard_seal(const struct guard *g, const struct vault *vault,
                                            struct weir_slice bound, struct weir_buf *out);
WEIR_MUST_CHECK enum weir_status guard_unseal(struct guard *g, const struct vault *vault,
                                              struct weir_slice bound, struct weir_slice sealed);
/* How often it has changed since it was made or unsealed: whether there is something to seal. */
uint64_t guard_version(const struct guard *g);
