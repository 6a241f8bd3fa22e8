/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text, and what they say about the peer. See sock.h. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/slice.h"
#include "io/sock.h"

enum { HOST_BYTES = 256, MAX_PORT = 65535, V4_IN_V6_AT = 12, NET64_BYTES = 8 };

static const struct sockaddr_in *as_v4(const struct addr *a)
{
    return (const struct sockaddr_in *)(const void *)&a->sa;
}

static const struct sockaddr_in6 *as_v6(const struct addr *a)
{
    return (const struct sockaddr_in6 *)(const void *)&a->sa;
}

/* ---- from text ---- */

static bool parse_port(const char *text, uint16_t *port)
{
    unsigned value = 0;
    if (*text == 0) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        value = value * 10 + (unsigned)(*text - '0');
        if (value > MAX_PORT) return false;
    }
    *port = (uint16_t)value;
    return true;
}

/* Copies the host out of "host:port" and finds the port. A host with ":" needs its brackets. */
static bool split(const char *text, char host[HOST_BYTES], bool *is_v6, uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    if (!colon || !parse_port(colon + 1, port)) return false;
    size_t len = (size_t)(colon - text);
    *is_v6 = len >= 2 && text[0] == '[' && colon[-1] == ']';
    if (*is_v6) {
        text++;
        len -= 2;
    }
    if (len >= HOST_BYTES || (!*is_v6 && memchr(text, ':', len))) return false;
    memcpy(host, text, len);
    host[len] = 0;
    return true;
}

static void set_v4(struct addr *a, struct in_addr host, uint16_t port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = host};
    memcpy(&a->sa, &in, sizeof in);
    a->len = sizeof in;
}

static void set_v6(struct addr *a, struct in6_addr host, uint16_t port)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = host};
    memcpy(&a->sa, &in, sizeof in);
    a->len = sizeof in;
}

/* A socket of IPv6 takes IPv4 too; there are machines without. */
static void set_any(struct addr *a, uint16_t port)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        set_v4(a, (struct in_addr){.s_addr = htonl(INADDR_ANY)}, port);
        return;
    }
    close(fd);
    set_v6(a, in6addr_any, port);
}

static enum weir_status resolve(struct addr *a, const char *host, uint16_t port)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return WEIR_INVALID;
    memcpy(&a->sa, found->ai_addr, found->ai_addrlen);
    a->len = found->ai_addrlen;
    freeaddrinfo(found);
    if (a->sa.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)&a->sa)->sin6_port = htons(port);
    else ((struct sockaddr_in *)(void *)&a->sa)->sin_port = htons(port);
    return WEIR_OK;
}

enum weir_status addr_parse(struct addr *a, const char *text)
{
    char host[HOST_BYTES];
    struct in_addr v4 = {.s_addr = htonl(INADDR_LOOPBACK)};
    struct in6_addr v6;
    uint16_t port = 0;
    bool is_v6 = false;
    memset(a, 0, sizeof *a);
    if (!split(text, host, &is_v6, &port)) return WEIR_INVALID;
    if (is_v6) {
        if (inet_pton(AF_INET6, host, &v6) == 1) set_v6(a, v6, port);
        else if (strchr(host, '%')) return resolve(a, host, port); /* has a scope */
        else return WEIR_INVALID;
    } else if (host[0] == 0 || strcmp(host, "*") == 0) {
        set_any(a, port);
    } else if (strcmp(host, "localhost") == 0 || inet_pton(AF_INET, host, &v4) == 1) {
        set_v4(a, v4, port);
    } else {
        return resolve(a, host, port);
    }
    return WEIR_OK;
}

/* ---- to text, and questions ---- */

/* The IPv4 address, also of one inside IPv6, in network order. */
static bool is_v4(const struct addr *a, struct in_addr *v4)
{
    if (a->sa.ss_family == AF_INET) {
        *v4 = as_v4(a)->sin_addr;
        return true;
    }
    if (a->sa.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&as_v6(a)->sin6_addr)) return false;
    memcpy(v4, as_v6(a)->sin6_addr.s6_addr + V4_IN_V6_AT, sizeof *v4);
    return true;
}

void addr_format(const struct addr *a, char out[ADDR_TEXT_BYTES])
{
    char host[INET6_ADDRSTRLEN] = "";
    struct in_addr v4;
    if (is_v4(a, &v4)) {
        /* The port stands at the same place in both. */
        inet_ntop(AF_INET, &v4, host, sizeof host);
        snprintf(out, ADDR_TEXT_BYTES, "%s:%u", host, ntohs(as_v4(a)->sin_port));
    } else if (a->sa.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &as_v6(a)->sin6_addr, host, sizeof host);
        snprintf(out, ADDR_TEXT_BYTES, "[%s]:%u", host, ntohs(as_v6(a)->sin6_port));
    } else {
        snprintf(out, ADDR_TEXT_BYTES, "local");
    }
}

bool addr_is_loopback(const struct addr *a)
{
    struct in_addr v4;
    if (is_v4(a, &v4)) return ntohl(v4.s_addr) >> 24 == 127;
    if (a->sa.ss_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&as_v6(a)->sin6_addr);
    return a->sa.ss_family == AF_UNIX;
}

static struct hash_key host_key;

static void make_host_key(void)
{
    host_key = hash_key_random();
}

uint64_t addr_hash_host(const struct addr *a)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct in_addr v4;
    pthread_once(&once, make_host_key);
    if (is_v4(a, &v4)) return hash_bytes(host_key, slice_of(&v4, sizeof v4));
    if (a->sa.ss_family == AF_INET6)
        return hash_bytes(host_key, slice_of(&as_v6(a)->sin6_addr, NET64_BYTES));
    return hash_bytes(host_key, SLICE("local"));
}
