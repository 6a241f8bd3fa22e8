/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS by OpenSSL: contexts with a certificate, reloaded on request, and sessions that
 * struct sock uses. TLS 1.2 and later, ALPN http/1.1.
 *
 * 1. tls_context_new() with the two PEM files.
 * 2. tls_context_reload() reads them again; sessions there are go on with the old ones,
 *    and when a file is bad the old ones stay.
 * 3. tls_context_free() after the last session.
 *
 * Contexts: any thread. Sessions: one thread at a time.
 */
#pragma once

#include <weir/status.h>

struct tls_context;
struct tls;

struct tls_error {
    char text[256];
};

WEIR_MUST_CHECK enum weir_status tls_context_new(struct tls_context **out, const char *cert_file,
                                                 const char *key_file, struct tls_error *error);
WEIR_MUST_CHECK enum weir_status tls_context_reload(struct tls_context *c, struct tls_error *error);
void tls_context_free(struct tls_context *c);
