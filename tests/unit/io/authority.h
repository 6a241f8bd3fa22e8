/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of outgoing requests: an authority of one's own, and servers that it has signed for. */
#pragma once

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>

#include "t.h"

enum { AUTHORITY_PATH_BYTES = 512 };

/* OpenSSL writes to a peer that has gone, here in the server's threads. */
__attribute__((constructor)) static void ignore_broken_pipes(void)
{
    signal(SIGPIPE, SIG_IGN);
}

static inline void authority_path(char out[AUTHORITY_PATH_BYTES], const char *name)
{
    snprintf(out, AUTHORITY_PATH_BYTES, "%s/%s", t_temp_dir(), name);
}

static inline X509 *new_certificate(EVP_PKEY *key, const char *name)
{
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    return x;
}

static inline void add_extension(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    T_EQ(X509_add_ext(x, e, -1), 1);
    X509_EXTENSION_free(e);
}

static inline void write_certificate(X509 *x, const char *name)
{
    char path[AUTHORITY_PATH_BYTES];
    authority_path(path, name);
    FILE *f = fopen(path, "w");
    T_EQ(PEM_write_X509(f, x), 1);
    fclose(f);
}

/* A server for these names ("IP:127.0.0.1"), signed by an authority in authority.pem. */
static inline SSL_CTX *authority_new_server(const char *names)
{
    EVP_PKEY *authority_key = EVP_EC_gen("P-256");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *authority = new_certificate(authority_key, "An authority");
    X509 *x = new_certificate(key, "A server");
    X509_set_issuer_name(authority, X509_get_subject_name(authority));
    add_extension(authority, NID_basic_constraints, "critical,CA:TRUE");
    T_OK(X509_sign(authority, authority_key, EVP_sha256()) > 0);
    X509_set_issuer_name(x, X509_get_subject_name(authority));
    add_extension(x, NID_subject_alt_name, names);
    T_OK(X509_sign(x, authority_key, EVP_sha256()) > 0);
    write_certificate(authority, "authority.pem");
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    T_EQ(SSL_CTX_use_certificate(c, x), 1);
    T_EQ(SSL_CTX_use_PrivateKey(c, key), 1);
    X509_free(authority);
    X509_free(x);
    EVP_PKEY_free(authority_key);
    EVP_PKEY_free(key);
    return c;
}
