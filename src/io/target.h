/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where requests of our own may go. Whoever may name a URL to us could otherwise make us ask what
 * only this machine or its network can reach: metadata services, databases, printers.
 *
 * Without a rule that is every public address, and nothing else: no loopback, link-local, private,
 * shared, multicast, reserved or unspecified one, in whatever form IPv6 has for it. A rule lets
 * more in: a prefix ("10.1.0.0/16", "127.0.0.1", "fd00::/8") the addresses below it, a name
 * ("hooks.internal") whatever that name leads to.
 *
 * Addresses are what counts, when they are connected to: a name may lead elsewhere then than when
 * it was looked at. Pure; any thread.
 */
#pragma once

#include <sys/socket.h>

#include <weir/types.h>

enum {
    TARGET_MAX_RULES = 64,
    TARGET_NAME_BYTES = 254, /* longest name of a host, with its NUL */
    TARGET_ADDRESS_BYTES = 16,
};

struct target_rule {
    char name[TARGET_NAME_BYTES]; /* in lower case; empty: a prefix */
    unsigned char prefix[TARGET_ADDRESS_BYTES];
    unsigned n_bits; /* of 128: an IPv4 address is the last 32 of ::ffff:0:0/96 */
};

struct target_rules {
    struct target_rule rules[TARGET_MAX_RULES];
    unsigned n;
};

/* False when it is neither a name nor a prefix, or there are too many. */
bool target_rules_add(struct target_rules *r, const char *text);

/* Whether a rule names it, or, when it is an address, lets it in. Brackets may be around one. */
bool target_is_listed(const struct target_rules *r, const char *host);

/* Whether the text is an address, and then whether one may go there. */
enum target_verdict { TARGET_IS_NAME, TARGET_ALLOWED, TARGET_FORBIDDEN };
enum target_verdict target_judge_host(const struct target_rules *r, const char *host);

/* Whether one may connect there by address alone. */
bool target_allows(const struct target_rules *r, const struct sockaddr *address);
