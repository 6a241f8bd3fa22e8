/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses (v4; v6 in all forms of RFC 4291 with zones and embedded v4; CIDR) and MAC addresses
 * (EUI-48 and EUI-64 with colons or hyphens, and in Cisco's three groups).
 *
 * Versions of programs, times, C++ names and slices of Python look alike: what touches the run and
 * how much is in it decides.
 */
#include <string.h>

#include "shield/number.h"

enum { V6_MAX = 64 };

/* Reads "0" to "255" without a leading zero; the end, or 0. */
static size_t octet(const struct scan *s, size_t at)
{
    size_t end = scan_run(s, at, BYTE_DIGIT, 4);
    unsigned v = 0;
    if (end == at || end - at > 3 || (end - at > 1 && s->text[at] == '0')) return 0;
    for (size_t i = at; i < end; i++) v = v * 10 + (s->text[i] - '0');
    return v <= 255 ? end : 0;
}

/* Four octets; the end, or 0. */
static size_t quad(const struct scan *s, size_t at)
{
    for (int i = 0; i < 4; i++) {
        if (i > 0 && scan_byte(s, at++) != '.') return 0;
        at = octet(s, at);
        if (at == 0) return 0;
    }
    return at;
}

/* "/24": the end with it, or the end as it was. */
static size_t with_prefix(const struct scan *s, size_t end, unsigned most)
{
    if (scan_byte(s, end) != '/') return end;
    size_t to = scan_run(s, end + 1, BYTE_DIGIT, 4);
    unsigned v = 0;
    for (size_t i = end + 1; i < to; i++) v = v * 10 + (s->text[i] - '0');
    bool is_prefix = to > end + 1 && to - end <= 4 && v <= most && !scan_is(s, to, BYTE_ALNUM);
    return is_prefix ? to : end;
}

/* "Chrome/1.2.3.4", "version 1.2.3.4", "v1.2.3.4". */
static bool is_version(struct scan *s, size_t at)
{
    unsigned char c = scan_before(s, at);
    if (c == '/' && scan_is_before(s, at - 1, BYTE_LETTER)) return true;
    if (c == '-' && scan_is_before(s, at - 1, BYTE_ALNUM)) return true;
    size_t end = at;
    while (end > 0 && (s->text[end - 1] == ' ' || s->text[end - 1] == ':')) end--;
    size_t from = end;
    while (from > 0 && end - from < 12 && scan_is_before(s, from, BYTE_LETTER)) from--;
    return (context_of(s->rules, (struct weir_slice){(const char *)s->text + from, end - from}) &
            CONTEXT_VERSION) != 0;
}

/*
 * 1.7.6.6 is far more often a version than an address: where all numbers are as small as versions
 * have them, and differ, a word has to say that it is one.
 */
static bool is_small(const struct scan *s, size_t at, size_t end)
{
    unsigned value = 0, first = 0, n = 0;
    bool differs = false;
    for (size_t i = at; i <= end; i++) {
        if (i < end && s->text[i] != '.') {
            value = value * 10 + (s->text[i] - '0');
            continue;
        }
        if (n++ == 0) first = value;
        if (value != first) differs = true;
        if (value > 31) return false;
        value = 0;
    }
    return differs && first >= 1 && first <= 5;
}

static bool is_alone_v4(struct scan *s, size_t at, size_t end)
{
    unsigned char c = scan_before(s, at);
    if (scan_is_before(s, at, BYTE_ALNUM) || c == '_' || c == '.') return false;
    c = scan_byte(s, end);
    if (scan_is(s, end, BYTE_ALNUM) || c == '_') return false;
    if (c == '.' && scan_is(s, end + 1, BYTE_ALNUM)) return false;
    return !is_version(s, at);
}

static size_t add_address(struct scan *s, size_t at, size_t end, const char *label)
{
    struct shield_finding f = {.label = label, .score = 0.8F, .category = SHIELD_IP_ADDRESS};
    scan_found_by(s, at, end, f);
    return end;
}

size_t number_ipv4(struct scan *s, size_t at)
{
    size_t end = quad(s, at);
    if (end == 0 || at < s->address_done || !is_alone_v4(s, at, end)) return 0;
    size_t stop = with_prefix(s, end, 32);
    bool is_plain = stop == end && scan_byte(s, end) != ':' && at > 0;
    if (is_plain && is_small(s, at, end) && !(context_near(s, at, end) & CONTEXT_NET)) return 0;
    return add_address(s, at, stop, "ipv4");
}

struct v6 {
    unsigned n_groups, n_hex; /* groups of hex digits, digits in all of them */
    bool has_gap, has_v4, has_digit;
};

/* One group and what follows it; the end, or 0 when the run is no address. */
static size_t v6_group(const struct scan *s, size_t at, struct v6 *v)
{
    size_t end = scan_run(s, at, BYTE_HEX, 5);
    if (end == at || end - at > 4) return 0;
    if (scan_byte(s, end) == '.' && scan_is(s, end + 1, BYTE_DIGIT)) {
        end = quad(s, at);
        v->has_v4 = true;
        v->n_groups += 2;
        return end;
    }
    for (size_t i = at; i < end; i++) v->has_digit |= (shield_bytes[s->text[i]] & BYTE_DIGIT) != 0;
    v->n_hex += (unsigned)(end - at);
    v->n_groups++;
    return end;
}

/* The longest address at a place; the end, or 0. */
static size_t v6_read(const struct scan *s, size_t at, struct v6 *v)
{
    memset(v, 0, sizeof *v);
    if (scan_byte(s, at) == ':') {
        if (scan_byte(s, at + 1) != ':') return 0;
        v->has_gap = true;
        at += 2;
        if (!scan_is(s, at, BYTE_HEX)) return at;
    }
    for (;;) {
        size_t end = v6_group(s, at, v);
        if (end == 0 || v->n_groups > 8) return 0;
        if (v->has_v4 || scan_byte(s, end) != ':') return end;
        at = end + 1;
        if (scan_byte(s, at) != ':') {
            /* "2001:db8::1: text" ends in a colon of the sentence. */
            if (!scan_is(s, at, BYTE_HEX)) return end;
            continue;
        }
        if (v->has_gap) return 0;
        v->has_gap = true;
        at++;
        if (!scan_is(s, at, BYTE_HEX)) return at;
    }
}

/* "%eth0". */
static size_t with_zone(const struct scan *s, size_t end)
{
    if (scan_byte(s, end) != '%') return end;
    size_t to = scan_run(s, end + 1, BYTE_ALNUM, 16);
    return to > end + 1 ? to : end;
}

/* Whether nothing touches it that would make it part of something else. */
static bool is_alone_v6(const struct scan *s, size_t at, size_t end, const struct v6 *v)
{
    unsigned char c = scan_before(s, at);
    if (!scan_is_apart(s, at, end) || c == ':' || scan_byte(s, end) == ':') return false;
    /* text[1::2] is a slice of Python. */
    return c != '[' || v->n_hex > 6 || !scan_is_before(s, at - 1, BYTE_ALNUM);
}

/* Short ones without digits are names. */
static bool is_v6(const struct scan *s, size_t at, size_t end, const struct v6 *v)
{
    bool has_count = v->has_gap ? v->n_groups <= 7 && v->n_groups > 0 : v->n_groups == 8;
    if (!has_count || !is_alone_v6(s, at, end, v)) return false;
    return v->has_v4 || v->n_hex >= 8 || (v->has_digit && (v->n_hex >= 4 || s->text[at] == ':'));
}

/* Groups of `size` hex digits with `sep` between; how many, and the end. */
static size_t hex_groups(const struct scan *s, size_t at, size_t size, char sep, size_t *end)
{
    size_t n = 0;
    for (;;) {
        size_t to = scan_run(s, at, BYTE_HEX, size + 1);
        if (to - at != size) return 0;
        *end = to;
        n++;
        if (scan_byte(s, to) != (unsigned char)sep || n > 8) return n;
        at = to + 1;
    }
}

/* The end of a MAC address, or 0. */
static size_t mac_at(struct scan *s, size_t at, size_t size, char sep)
{
    size_t end = at;
    size_t n = hex_groups(s, at, size, sep, &end);
    bool is_count = size == 2 ? n == 6 || n == 8 : n == 3;
    unsigned char c = scan_before(s, at);
    if (!is_count || !scan_is_apart(s, at, end) || c == (unsigned char)sep) return 0;
    struct shield_finding f = {
        .label = n == 8 ? "eui64" : "eui48", .score = 0.8F, .category = SHIELD_MAC_ADDRESS};
    scan_found_by(s, at, end, f);
    return end;
}

/* The beginning of the run of hex digits, colons and dots that holds a colon. */
static size_t run_start(const struct scan *s, size_t at, size_t floor)
{
    size_t from = at;
    while (from > floor && at - from < V6_MAX &&
           (scan_is_before(s, from, BYTE_HEX) || s->text[from - 1] == ':'))
        from--;
    return from;
}

size_t match_colon(struct scan *s, size_t at)
{
    struct v6 v;
    if (at < s->address_done) return at + 1;
    size_t from = run_start(s, at, s->address_done);
    size_t stop = at + 1;
    while (stop < s->len && stop - at < V6_MAX &&
           (scan_is(s, stop, BYTE_HEX) || s->text[stop] == ':' || s->text[stop] == '.'))
        stop++;
    s->address_done = stop;
    size_t end = at == from + 2 ? mac_at(s, from, 2, ':') : 0;
    if (end > 0) return end;
    end = v6_read(s, from, &v);
    if (end == 0 || !is_v6(s, from, end, &v)) {
        /* What is no address may still end in one of version four. */
        s->address_done = at + 1;
        return at + 1;
    }
    end = with_zone(s, end);
    end = add_address(s, from, with_prefix(s, end, 128), "ipv6");
    s->address_done = end;
    return end;
}

size_t match_hyphen_mac(struct scan *s, size_t at)
{
    size_t end = mac_at(s, at, 2, '-');
    return end > 0 ? end : mac_at(s, at, 4, '.');
}
