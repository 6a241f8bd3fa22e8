/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the way to a host step by step, for whoever has to find out what is wrong with it: its
 * addresses, a connection to each, and TLS over one. Nothing is sent over them but a handshake.
 *
 * 1. probe_resolve(): the addresses of a name.
 * 2. probe_connect(): tries each of them, and keeps how long that took.
 * 3. probe_tls(): a handshake with one, and what its certificate says, trusted or not.
 *
 * They wait: for a resolver as long as that takes, else no longer than the time given. Any thread.
 */
#pragma once

#include <sys/socket.h>

#include <weir/status.h>

enum { PROBE_MAX_ADDRESSES = 8, PROBE_TEXT_BYTES = 256 };

struct probe_address {
    struct sockaddr_storage address;
    socklen_t len;
    char text[64]; /* "192.0.2.1" */
    bool is_v6;
    int error; /* errno of connecting; 0: connected */
    double ms; /* that it took */
};

struct probe_host {
    struct probe_address addresses[PROBE_MAX_ADDRESSES];
    unsigned n;
};

/* WEIR_NOT_FOUND: there is no such name; *why gets a sentence that never goes away. */
WEIR_MUST_CHECK enum weir_status probe_resolve(const char *host, unsigned port,
                                               struct probe_host *out, const char **why);

/* Connects to each and closes again; true when one could be. */
bool probe_connect(struct probe_host *host, unsigned timeout_ms);

struct probe_certificate {
    bool has_tls;    /* a handshake was made, whatever its certificate is */
    bool is_trusted; /* by ca_file, or whom the system trusts, and for this name */
    bool is_expired, is_early;
    bool is_for_host;
    bool is_self_signed;
    unsigned n_chain; /* certificates that were sent */
    int64_t expires_ms;
    char subject[PROBE_TEXT_BYTES], issuer[PROBE_TEXT_BYTES];
    char version[16];  /* "TLSv1.3" */
    char protocol[16]; /* that the server chose: "h2", "http/1.1"; "": it chose none */
    const char *why;   /* what is not right, for people; "" */
    double ms;
};

/* WEIR_IO: no connection or no handshake, `out->why` says which. ca_file may be NULL. */
WEIR_MUST_CHECK enum weir_status probe_tls(const struct probe_address *address, const char *host,
                                           const char *ca_file, unsigned timeout_ms,
                                           struct probe_certificate *out);
