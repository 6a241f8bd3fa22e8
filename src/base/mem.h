/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only door to malloc. Every allocation of the project passes the fault
 * point "alloc", so that tests can make each one fail in turn.
 *
 * All return NULL when there is no memory. Any thread. Free with mem_free().
 */
#pragma once

#include <stddef.h>

enum { MEM_LINE_BYTES = 64 };

void *mem_alloc(size_t size) __attribute__((malloc, alloc_size(1)));
void *mem_zalloc(size_t size) __attribute__((malloc, alloc_size(1)));

/* Zeroed, and begins where a cache line does; the size has to be whole lines. */
void *mem_zalloc_lines(size_t size) __attribute__((malloc, alloc_size(1)));

/* As realloc: on failure the old block stays as it was. */
void *mem_realloc(void *block, size_t size) __attribute__((alloc_size(2)));

void mem_free(void *block);
