/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs our reader of HTTP over an input as a connection would, and writes down what it found.
 * For each request:
 *
 *     request POST '/a?b=1' 1.1
 *      'Host' 'x'
 *     + host 'x' path '/a' query 'b=1' keep-alive length 3
 *     body 'abc'
 *     end
 *
 * and last "error invalid_request: reason" or "more" or "idle". Lines that begin with '+' are what
 * llhttp does not say; see http_peer.h.
 */
#pragma once

#include "codec/http.h"
#include "cut.h"
#include "text.h"

/*
 * Our reader, in a cutting. Unread bytes move to new memory with every piece, so that the
 * address sanitizer sees a slice that was kept. Returns the reader's error. With n_fed, how
 * many bytes it had been given when that was known.
 */
enum weir_status http_transcript(struct text *out, struct weir_slice input, struct cut *cut,
                                 const struct http_limits *limits, size_t *n_fed);
