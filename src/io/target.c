/* SPDX-License-Identifier: Apache-2.0 */
/* See target.h. Every address is taken as one of IPv6, so that each rule is written once. */
#include "io/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <strings.h>

#include "base/slice.h"

enum { V4_BITS_BEFORE = 96, V4_AT = 12, V4_BITS = 32, ALL_BITS = 128, BYTE_BITS = 8 };

struct address {
    unsigned char bytes[TARGET_ADDRESS_BYTES];
};

struct prefix {
    const char *text;
    unsigned n_bits;
};

/* The only part of IPv6 that is given out for the public. */
static const struct prefix public_v6 = {"2000::", 3};

/* IPv4 stands in here when a translator does its work: what it leads to counts. */
static const struct prefix nat64 = {"64:ff9b::", 96};

/* IANA's special-purpose registries, as far as they lie in what would be public. */
static const struct prefix special[] = {
    {"::ffff:0.0.0.0", 96 + 8},       /* this network, and the unspecified address */
    {"::ffff:10.0.0.0", 96 + 8},      /* private */
    {"::ffff:100.64.0.0", 96 + 10},   /* shared by a carrier's customers */
    {"::ffff:127.0.0.0", 96 + 8},     /* loopback */
    {"::ffff:169.254.0.0", 96 + 16},  /* link-local, and the metadata of clouds */
    {"::ffff:172.16.0.0", 96 + 12},   /* private */
    {"::ffff:192.0.0.0", 96 + 24},    /* protocol assignments */
    {"::ffff:192.0.2.0", 96 + 24},    /* documentation */
    {"::ffff:192.88.99.0", 96 + 24},  /* 6to4 relays */
    {"::ffff:192.168.0.0", 96 + 16},  /* private */
    {"::ffff:198.18.0.0", 96 + 15},   /* benchmarks */
    {"::ffff:198.51.100.0", 96 + 24}, /* documentation */
    {"::ffff:203.0.113.0", 96 + 24},  /* documentation */
    {"::ffff:224.0.0.0", 96 + 4},     /* multicast */
    {"::ffff:240.0.0.0", 96 + 4},     /* reserved, and the broadcast address */
    {"2001::", 23},                   /* protocol assignments; Teredo, which has IPv4 inside */
    {"2001:db8::", 32},               /* documentation */
    {"2002::", 16},                   /* 6to4, which has IPv4 inside */
    {"3fff::", 20},                   /* documentation */
};

static bool starts_with(const unsigned char *address, const unsigned char *prefix, unsigned n_bits)
{
    size_t n_whole = n_bits / BYTE_BITS;
    unsigned n_rest = n_bits % BYTE_BITS;
    if (memcmp(address, prefix, n_whole) != 0) return false;
    if (n_rest == 0) return true;
    unsigned char mask = (unsigned char)(0xFF << (BYTE_BITS - n_rest));
    return ((address[n_whole] ^ prefix[n_whole]) & mask) == 0;
}

static bool is_in(const struct address *a, const struct prefix *p)
{
    struct address begin;
    return inet_pton(AF_INET6, p->text, begin.bytes) == 1 &&
           starts_with(a->bytes, begin.bytes, p->n_bits);
}

static void set_v4(struct address *a, const void *v4)
{
    memset(a->bytes, 0, V4_AT);
    a->bytes[V4_AT - 2] = a->bytes[V4_AT - 1] = 0xFF;
    memcpy(a->bytes + V4_AT, v4, TARGET_ADDRESS_BYTES - V4_AT);
}

static bool is_v4(const struct address *a)
{
    static const struct prefix mapped = {"::ffff:0:0", V4_BITS_BEFORE};
    return is_in(a, &mapped);
}

static bool is_public(const struct address *a)
{
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (is_in(a, &special[i])) return false;
    return is_v4(a) || is_in(a, &public_v6);
}

static bool has_rule(const struct target_rules *r, const struct address *a)
{
    for (unsigned i = 0; i < r->n; i++) {
        const struct target_rule *rule = &r->rules[i];
        if (!rule->name[0] && starts_with(a->bytes, rule->prefix, rule->n_bits)) return true;
    }
    return false;
}

static bool allows(const struct target_rules *r, const struct address *a)
{
    struct address inside;
    if (has_rule(r, a)) return true;
    if (!is_in(a, &nat64)) return is_public(a);
    set_v4(&inside, a->bytes + V4_AT);
    return has_rule(r, &inside) || is_public(&inside);
}

bool target_allows(const struct target_rules *r, const struct sockaddr *address)
{
    struct address a;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        set_v4(&a, &v4.sin_addr);
    } else if (address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof v6);
        memcpy(a.bytes, &v6.sin6_addr, sizeof a.bytes);
    } else {
        return false;
    }
    return allows(r, &a);
}

/* ---- text ---- */

/* Copies the host without brackets, or the dot that ends a name, in lower case. */
static bool copy_host(const char *host, char out[TARGET_NAME_BYTES])
{
    size_t len = strlen(host);
    if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    } else if (len > 1 && host[len - 1] == '.') {
        len--;
    }
    if (len == 0 || len >= TARGET_NAME_BYTES) return false;
    for (size_t i = 0; i < len; i++) {
        char c = host[i];
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
    }
    out[len] = 0;
    return true;
}

/* *n_bits is how many it has itself: 32 or 128. */
static bool parse_address(const char *text, struct address *a, unsigned *n_bits)
{
    struct in_addr v4;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        set_v4(a, &v4);
        *n_bits = V4_BITS;
        return true;
    }
    *n_bits = ALL_BITS;
    return inet_pton(AF_INET6, text, a->bytes) == 1;
}

static bool is_name(const char *text)
{
    bool has_letter = false;
    for (const char *c = text; *c; c++) {
        bool is_letter = *c >= 'a' && *c <= 'z';
        has_letter |= is_letter;
        bool is_other = (*c >= '0' && *c <= '9') || *c == '-' || *c == '_';
        bool is_dot = *c == '.' && c > text && c[-1] != '.';
        if (!is_letter && !is_other && !is_dot) return false;
    }
    return has_letter; /* what has none is a misspelt address */
}

static bool parse_bits(const char *text, unsigned most, unsigned *n)
{
    *n = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        *n = *n * 10 + (unsigned)(*text - '0');
        if (*n > most) return false;
    }
    return true;
}

static bool parse_prefix(struct target_rule *rule, char *text)
{
    struct address a;
    unsigned own, n;
    char *slash = strchr(text, '/');
    if (slash) *slash = 0;
    if (!parse_address(text, &a, &own)) return false;
    n = own;
    if (slash && !parse_bits(slash + 1, own, &n)) return false;
    memcpy(rule->prefix, a.bytes, sizeof a.bytes);
    rule->n_bits = n + ALL_BITS - own;
    return true;
}

bool target_rules_add(struct target_rules *r, const char *text)
{
    char host[TARGET_NAME_BYTES];
    if (r->n == TARGET_MAX_RULES || !copy_host(text, host)) return false;
    struct target_rule rule = {.n_bits = 0};
    if (is_name(host)) memcpy(rule.name, host, strlen(host) + 1);
    else if (!parse_prefix(&rule, host)) return false;
    r->rules[r->n++] = rule;
    return true;
}

bool target_is_listed(const struct target_rules *r, const char *host)
{
    char text[TARGET_NAME_BYTES];
    struct address a;
    unsigned own;
    if (!copy_host(host, text)) return false;
    if (parse_address(text, &a, &own)) return has_rule(r, &a);
    for (unsigned i = 0; i < r->n; i++)
        if (strcmp(r->rules[i].name, text) == 0) return true;
    return false;
}

enum target_verdict target_judge_host(const struct target_rules *r, const char *host)
{
    char text[TARGET_NAME_BYTES];
    struct address a;
    unsigned own;
    if (!copy_host(host, text)) return TARGET_FORBIDDEN;
    if (!parse_address(text, &a, &own)) return TARGET_IS_NAME;
    return allows(r, &a) ? TARGET_ALLOWED : TARGET_FORBIDDEN;
}
