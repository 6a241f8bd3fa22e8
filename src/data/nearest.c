/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance with exchanges (optimal string alignment), three rows at a time. */
#include "data/nearest.h"

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c == '_' || c == '-' ? ' ' : c;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned nearest_distance(struct weir_slice a, struct weir_slice b, unsigned most)
{
    unsigned rows[3][NEAREST_BYTES + 1];
    size_t apart = a.len > b.len ? a.len - b.len : b.len - a.len;
    if (a.len > NEAREST_BYTES || b.len > NEAREST_BYTES || apart > most) return most + 1;
    for (size_t j = 0; j <= b.len; j++) rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            char x = lower(a.ptr[i - 1]), y = lower(b.ptr[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            bool is_exchange =
                i > 1 && j > 1 && x == lower(b.ptr[j - 2]) && y == lower(a.ptr[i - 2]);
            if (is_exchange) row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return least(rows[a.len % 3][b.len], most + 1);
}

/* One slip in a short word, up to three in a long one. */
static unsigned tolerance(size_t len)
{
    return len < 3 ? 0 : len < 6 ? 1 : len < 12 ? 2 : 3;
}

void nearest_begin(struct nearest *n, struct weir_slice wanted)
{
    *n = (struct nearest){.wanted = wanted, .distance = tolerance(wanted.len) + 1};
}

static size_t common_prefix(struct weir_slice a, struct weir_slice b)
{
    size_t n = 0;
    while (n < a.len && n < b.len && lower(a.ptr[n]) == lower(b.ptr[n])) n++;
    return n;
}

void nearest_offer(struct nearest *n, struct weir_slice name, const char *show)
{
    unsigned distance = nearest_distance(n->wanted, name, n->distance);
    size_t prefix = common_prefix(n->wanted, name);
    if (distance > n->distance) return;
    if (distance == n->distance && (!n->name || prefix <= n->prefix)) return;
    n->distance = distance;
    n->prefix = prefix;
    n->name = show;
}
