/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tokens that a wake's holder shows: who made them is told by a MAC, so nothing has to be
 * remembered of them. One is for one subscription and one generation, up to a moment. Pure; any
 * thread.
 */
#pragma once

#include <weir/buf.h>

enum {
    TOKEN_KEY_BYTES = 32,
    TOKEN_TEXT_BYTES = 64,  /* exactly */
    TOKEN_LIFE_S = 60 * 60, /* beyond it the lease, which is shorter, has to be had anew */
};

struct token {
    uint64_t generation;
    int64_t expires_s; /* wall time, in seconds */
};

void token_write(struct weir_buf *out, const unsigned char key[TOKEN_KEY_BYTES],
                 struct weir_slice subscription, const struct token *token);

enum token_verdict { TOKEN_GOOD, TOKEN_INVALID, TOKEN_EXPIRED };
enum token_verdict token_read(struct weir_slice text, const unsigned char key[TOKEN_KEY_BYTES],
                              struct weir_slice subscription, int64_t now_s, struct token *out);
