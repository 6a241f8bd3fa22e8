/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzzers share. Each file of this folder but run.c is one libFuzzer
 * program; the first byte of an input says how the rest is cut into pieces.
 * With run.c in place of libFuzzer it runs the kept inputs once, as a test.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cut.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program, with both texts, unless they are the same. */
void fuzz_same(const char *what, const struct text *got, const struct text *want);

/* Ends the program unless the claim holds. */
void fuzz_true(const char *what, bool claim);

/* The input after its first byte, which sets the cutting. False for an empty input. */
bool fuzz_input(const uint8_t *data, size_t size, struct cut *cut, struct weir_slice *input);
