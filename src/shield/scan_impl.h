/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the matchers of a scan share: the text, its byte classes, the words around a place, and the
 * list of candidates.
 *
 * A matcher is given the place of what triggered it. It looks a bounded number of bytes around,
 * adds a candidate or not, and returns where the scan shall go on: at the given place or after it.
 */
#pragma once

#include "shield/shield.h"

enum {
    BYTE_DIGIT = 1,
    BYTE_UPPER = 2,
    BYTE_LOWER = 4,
    BYTE_HEX = 8,
    BYTE_SPACE = 16,
    BYTE_SIGN = 32, /* one that triggers a matcher: @ : = _ */
    BYTE_DOT = 64,
    BYTE_HIGH = 128,
    BYTE_LETTER = BYTE_UPPER | BYTE_LOWER,
    BYTE_ALNUM = BYTE_LETTER | BYTE_DIGIT,
};

extern const uint8_t shield_bytes[256];

/* Groups of words that say what stands near them (words.def). */
enum context {
    CONTEXT_PHONE = 1 << 0,
    CONTEXT_CARD = 1 << 1,
    CONTEXT_SSN = 1 << 2,
    CONTEXT_BSN = 1 << 3,
    CONTEXT_NATIONAL = 1 << 4,
    CONTEXT_NHS = 1 << 5,
    CONTEXT_NPI = 1 << 6,
    CONTEXT_DEA = 1 << 7,
    CONTEXT_PASSPORT = 1 << 8,
    CONTEXT_DRIVER = 1 << 9,   /* half of "driver's licence" */
    CONTEXT_LICENSE = 1 << 10, /* the other half */
    CONTEXT_PERMIT = 1 << 11,  /* both halves in one word */
    CONTEXT_BIRTH = 1 << 12,
    CONTEXT_WEB = 1 << 13,
    CONTEXT_VERSION = 1 << 14,
    CONTEXT_PASSWORD = 1 << 15,
    CONTEXT_KEY = 1 << 16,
    CONTEXT_FIRM = 1 << 17, /* orders, books, places: numbers that are nobody's */
    CONTEXT_NET = 1 << 19,
    CONTEXT_CALL = 1 << 18, /* what one does with a telephone, and with other things */
};

enum { CONTEXT_HITS = 32 }; /* a power of two */

/* A word of words.def in the text, or an empty line, over which no word is heard: no groups. */
struct context_hit {
    size_t start, end;
    unsigned groups;
};

struct scan {
    const unsigned char *text;
    size_t len;
    const struct shield_rules *rules;
    struct shield_findings *out;
    enum weir_status status; /* the first failure sticks */
    /* Places up to which a matcher that looks backward has been: nothing is looked at twice. */
    size_t mail_done, address_done, domain_done, url_done;
    size_t pem_from, pem_end; /* the first "-----END" at or after pem_from; len: none */
    /* The words that mean something, each found once: the newest of them, and how far it went. */
    struct context_hit hits[CONTEXT_HITS];
    size_t n_hits, words_done;
};

static inline unsigned char scan_byte(const struct scan *s, size_t at)
{
    return at < s->len ? s->text[at] : 0;
}

static inline bool scan_is(const struct scan *s, size_t at, unsigned classes)
{
    return at < s->len && (shield_bytes[s->text[at]] & classes) != 0;
}

/* The byte before a place; 0 at the beginning. */
static inline unsigned char scan_before(const struct scan *s, size_t at)
{
    return at > 0 ? s->text[at - 1] : 0;
}

static inline bool scan_is_before(const struct scan *s, size_t at, unsigned classes)
{
    return at > 0 && (shield_bytes[s->text[at - 1]] & classes) != 0;
}

/* Whether neither a letter, a digit nor an underscore touches [start, end). */
static inline bool scan_is_apart(const struct scan *s, size_t start, size_t end)
{
    return !scan_is_before(s, start, BYTE_ALNUM) && scan_before(s, start) != '_' &&
           !scan_is(s, end, BYTE_ALNUM) && scan_byte(s, end) != '_';
}

/* The end of the run of such bytes that begins at a place, `most` bytes away at most. */
static inline size_t scan_run(const struct scan *s, size_t at, unsigned classes, size_t most)
{
    size_t end = s->len - at < most ? s->len : at + most;
    while (at < end && (shield_bytes[s->text[at]] & classes) != 0) at++;
    return at;
}

static inline unsigned char lower_of(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

void scan_add(struct scan *s, const struct shield_finding *finding);

/* A candidate of the built-in set. */
static inline void scan_found(struct scan *s, size_t start, size_t end,
                              enum shield_category category, const char *label, double score)
{
    struct shield_finding f = {.start = start,
                               .end = end,
                               .label = label,
                               .score = (float)score,
                               .category = (uint8_t)category,
                               .source = score >= 0.95 ? SHIELD_CHECKSUM : SHIELD_FORMAT};
    scan_add(s, &f);
}

static inline void scan_found_by(struct scan *s, size_t start, size_t end,
                                 struct shield_finding kind)
{
    kind.start = start;
    kind.end = end;
    scan_add(s, &kind);
}

/* Puts candidates in order, drops those that overlap stronger ones, counts code points. */
void shield_resolve(struct shield_findings *out, struct weir_slice text);

/* ---- words.c ---- */

/* The groups of the words in the 80 bytes before a place, of the same paragraph. */
unsigned context_before(struct scan *s, size_t at);
/* Of these, the words from another place on. */
unsigned context_since(struct scan *s, size_t from, size_t at);
/* Those of context_before(), and the words of the 32 bytes after `end`. */
unsigned context_near(struct scan *s, size_t start, size_t end);
/* The groups of one word (any case). */
unsigned context_of(const struct shield_rules *rules, struct weir_slice word);

/* ---- matchers, each in the file of its name ---- */

/* At the first digit of a run that begins with one: numbers, dates, IPv4. */
size_t match_number(struct scan *s, size_t at);
/* At a run of letters and digits, both of them. */
size_t match_mixed(struct scan *s, size_t at, size_t end);
/* At an @. */
size_t match_mail(struct scan *s, size_t at);
/* At a colon: IPv6 and MAC addresses. */
size_t match_colon(struct scan *s, size_t at);
/* At "://". */
size_t match_url(struct scan *s, size_t at);
/* At a dot between letters or digits. */
size_t match_domain(struct scan *s, size_t at);
/* At the beginning of a run of letters and digits: keys by their prefix, tokens by their parts. */
size_t match_secret(struct scan *s, size_t at);
/* At an = or a : after a word: what is assigned. */
size_t match_assignment(struct scan *s, size_t at);
/* At a word after "is": "the password is ...". */
void match_spoken(struct scan *s, size_t at, size_t end);
/* At a hex digit: MAC addresses with hyphens or dots. The end, or 0. */
size_t match_hyphen_mac(struct scan *s, size_t at);
/* At five dashes. */
size_t match_pem(struct scan *s, size_t at);
