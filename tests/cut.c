/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts inputs into pieces; see cut.h. */
#include "cut.h"

#include <stdlib.h>
#include <string.h>

enum { N_RANDOM_WAYS = 6, MAX_RANDOM_LEN = 9 };

bool cut_nth(struct cut *c, size_t n, size_t len)
{
    size_t n_plain = len < 2 ? 1 : len + 1;
    *c = (struct cut){.first = SIZE_MAX, .step = SIZE_MAX};
    if (n == 0) return true;
    if (n < n_plain - 1) c->first = n;
    else if (n < n_plain) c->first = c->step = 1;
    else c->seed = (n - n_plain + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return n < n_plain + N_RANDOM_WAYS;
}

void cut_from_byte(struct cut *c, uint8_t byte)
{
    size_t len = byte == 0 ? SIZE_MAX : byte;
    *c = (struct cut){.first = len, .step = len};
    if (byte >= 128) c->seed = byte * UINT64_C(0x9e3779b97f4a7c15);
}

static size_t draw(struct cut *c)
{
    c->seed ^= c->seed << 13;
    c->seed ^= c->seed >> 7;
    c->seed ^= c->seed << 17;
    return (size_t)(c->seed >> 32) % (MAX_RANDOM_LEN + 1);
}

bool cut_take(struct cut *c, struct weir_slice *rest, struct weir_slice *piece)
{
    size_t len = c->seed ? draw(c) : c->first;
    free(c->piece);
    c->piece = NULL;
    if (rest->len == 0) return false;
    if (len > rest->len) len = rest->len;
    c->first = c->step;
    c->piece = malloc(len);
    if (len > 0 && !c->piece) abort();
    if (len > 0) memcpy(c->piece, rest->ptr, len);
    *piece = (struct weir_slice){c->piece, len};
    *rest = (struct weir_slice){rest->ptr + len, rest->len - len};
    return true;
}

void cut_fini(struct cut *c)
{
    free(c->piece);
    c->piece = NULL;
}
