/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What in a text is private: addresses, numbers that belong to a person, secrets.
 *
 * 1. shield_rules_new(); add an organisation's own terms and patterns, if it has any.
 * 2. shield_scan() as often as wanted, from any thread: rules do not change by it.
 * 3. shield_findings_fini() frees what a scan found, shield_rules_free() the rules.
 *
 * A scan is one pass over the bytes and does no input or output. Its time grows with the length of
 * the text and with nothing else. What it reports never overlaps: of two findings that do, the one
 * with a check digit (or a grammar that leaves no doubt) stays, then the longer, then the more
 * specific. docs/shield.md has the rules of each category.
 */
#pragma once

#include <weir/buf.h>

/* X(symbol, name): from the most to the least specific, which decides ties. */
#define SHIELD_CATEGORIES(X)                                                                       \
    X(CUSTOM, "custom")                                                                            \
    X(SECRET, "secret")                                                                            \
    X(IBAN, "iban")                                                                                \
    X(CREDIT_CARD, "credit_card")                                                                  \
    X(CRYPTO, "crypto")                                                                            \
    X(EMAIL, "email")                                                                              \
    X(US_SSN, "us_ssn")                                                                            \
    X(BSN, "bsn")                                                                                  \
    X(MEDICAL, "medical")                                                                          \
    X(NATIONAL_ID, "national_id")                                                                  \
    X(PASSPORT, "passport")                                                                        \
    X(DRIVER_LICENSE, "driver_license")                                                            \
    X(DATE_OF_BIRTH, "date_of_birth")                                                              \
    X(MAC_ADDRESS, "mac_address")                                                                  \
    X(IP_ADDRESS, "ip_address")                                                                    \
    X(PHONE, "phone")                                                                              \
    X(URL, "url")

enum shield_category {
#define X(symbol, name) SHIELD_##symbol,
    SHIELD_CATEGORIES(X)
#undef X
        SHIELD_N_CATEGORIES,
};

/* How a finding was made sure of. */
enum shield_source {
    SHIELD_FORMAT,   /* its form */
    SHIELD_CONTEXT,  /* its form, and words around it that name it */
    SHIELD_CHECKSUM, /* its form and its check digits */
    SHIELD_ENTROPY,  /* what it is assigned to, and how little it looks like words */
    SHIELD_TERM,     /* an organisation's own term or pattern */
};

enum {
    SHIELD_TEXT_BYTES = 1 << 30, /* of one scan */
    SHIELD_MAX_FINDINGS = 4 << 20,
    SHIELD_LABEL_BYTES = 32, /* of a term's label, and of a category's name */
    SHIELD_TERM_BYTES = 256, /* of one term */
    SHIELD_MAX_PATTERNS = 100,
    SHIELD_MAX_TERMS = 10000, /* of one set of rules */
    SHIELD_ERROR_BYTES = 160,
};

struct shield_finding {
    size_t start, end;             /* bytes, end exclusive */
    size_t point_start, point_end; /* the same in code points */
    const char *label;             /* what it is more closely: "visa", "github_token"; static or the
                                      rules' */
    float score;                   /* 0 to 1: how sure */
    uint8_t category;              /* enum shield_category */
    uint8_t source;                /* enum shield_source */
    bool is_public;                /* a web address without credentials: reported, never redacted */
};

struct shield_findings {
    struct shield_finding *items; /* by their place, without overlaps */
    size_t n, cap;
};

struct shield_rules;

/* NULL: no memory. */
struct shield_rules *shield_rules_new(void);
void shield_rules_free(struct shield_rules *rules);

/*
 * A word or phrase to be found in any case (ASCII), where no letter or digit touches it. The label
 * is [a-z][a-z0-9_]*. WEIR_INVALID says in `error` what is wrong, WEIR_LIMIT: too many.
 */
WEIR_MUST_CHECK enum weir_status shield_rules_add_term(struct shield_rules *rules,
                                                       const char *label, struct weir_slice term,
                                                       char error[SHIELD_ERROR_BYTES]);

/*
 * A regular expression; regex.h says which there are, and that none can take long. One that would
 * makes the scan fail with WEIR_LIMIT, so that the caller can close.
 */
WEIR_MUST_CHECK enum weir_status shield_rules_add_pattern(struct shield_rules *rules,
                                                          const char *label,
                                                          struct weir_slice pattern,
                                                          char error[SHIELD_ERROR_BYTES]);

/*
 * Finds what is private in `text`, which need not be whole UTF-8. `out` need not be initialised.
 * On failure (WEIR_NOMEM, WEIR_LIMIT) nothing may be taken as clean.
 */
WEIR_MUST_CHECK enum weir_status shield_scan(const struct shield_rules *rules,
                                             struct weir_slice text, struct shield_findings *out);
void shield_findings_fini(struct shield_findings *findings);

/* SHIELD_N_CATEGORIES, which is none of them, is "attachment": see guard_check(). */
const char *shield_category_name(enum shield_category category);
const char *shield_source_name(enum shield_source source);
