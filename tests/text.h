/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing text for transcripts and oracles. It stands apart from src/base on
 * purpose: an oracle may not lean on what it judges, and a test that makes
 * every allocation of the library fail must still be able to write down what
 * happened. Lack of memory ends the program.
 *
 * Start from {0}, add, text_fini(). The struct owns its bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <weir/types.h>

struct text {
    char *ptr;
    size_t len;
    size_t cap;
};

void text_add(struct text *t, const void *bytes, size_t len);
void text_add_char(struct text *t, char c);
void text_printf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes between single quotes, all but plain ASCII as \xHH (LF as \n, CR as \r). */
void text_quote(struct text *t, struct weir_slice s);

/* A code point as UTF-8; surrogates get their three-byte generalised form. */
void text_add_code_point(struct text *t, unsigned long cp);

bool text_eq(const struct text *a, const struct text *b);
struct weir_slice text_slice(const struct text *t);
void text_fini(struct text *t);
