/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of TLS, as sock.c uses them; what they return is what the functions of sock.h do. */
#pragma once

#include "io/sock.h"

/* For the server's side of a connected descriptor, which it does not close. NULL: no memory. */
struct tls *tls_new(struct tls_context *c, int fd);
void tls_free(struct tls *t);

enum sock_result tls_read(struct sock *s, char *bytes, size_t len, size_t *n_read);
enum sock_result tls_write(struct sock *s, const struct iovec *iov, unsigned n_iov,
                           size_t *n_written);
bool tls_has_pending(const struct tls *t);

/* Says that nothing more will come, if that goes at once. */
void tls_end(struct tls *t);
