/* SPDX-License-Identifier: Apache-2.0 */
/* The unit behind a number: the longest run of tokens that the catalogue knows as one. */
#include <string.h>

#include "check/numbers_impl.h"
#include "data/catalogue.h"

enum { UNIT_TOKENS = 9 };

/* Spellings of units that are common words, or say too little to be held against an entry. */
static bool is_vague(struct weir_slice s)
{
    return word_in(s, "in|ore|std|mm|k|point|points|pts|score|c|f|foot|/min|count|percentage") ||
           (s.len == 1 && strchr("cCfFkK", s.ptr[0]));
}

static bool is_percent(const struct tokens *ts, size_t i, size_t *n, bool *is_points)
{
    static const uint32_t signs[] = {'%', 0xFF05, 0x66A};
    *n = 1;
    *is_points = word_is(token_text(ts, i), "pp");
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        if (token_is_sign(ts, i, signs[k])) return true;
    if (word_is(token_text(ts, i), "per") && word_is(token_text(ts, i + 1), "cent")) *n = 2;
    else if (!word_in(token_text(ts, i), "percent|pct|percentage|pp")) return false;
    size_t dash = token_is_dash(ts, i + *n);
    *is_points = *is_points || word_in(token_text(ts, i + *n + dash), "point|points");
    return true;
}

bool pace_read(const struct tokens *ts, size_t i, struct number *n, char of)
{
    struct weir_slice length = token_text(ts, i + 1);
    if (!token_is_sign(ts, i, '/') && !word_in(token_text(ts, i), "per|a|each")) return false;
    bool is_km = word_in(length, "km|kilometer|kilometre|k");
    if (!is_km && !word_in(length, "mi|mile")) return false;
    const char *unit = of == 's' ? (is_km ? "s/km" : "s/mi") : (is_km ? "min/km" : "min/mi");
    n->unit_class = UNIT_KNOWN;
    memcpy(n->unit, unit, strlen(unit) + 1);
    return true;
}

static bool keep(struct number *n, struct weir_slice s)
{
    if (s.len >= UNIT_BYTES || is_vague(s) || !unit_find(s)) return false;
    memcpy(n->unit, s.ptr, s.len);
    n->unit[s.len] = '\0';
    n->unit_class = UNIT_KNOWN;
    return true;
}

/* One text of some tokens, with one space wherever the text has any. */
static struct weir_slice join(const struct tokens *ts, size_t i, size_t n, char out[UNIT_BYTES])
{
    size_t len = 0;
    for (size_t k = i; k < i + n; k++) {
        const struct token *t = token_at(ts, k);
        size_t size = t->end - t->start;
        bool has_space = k > i && !t->is_glued;
        if (t->kind == TOKEN_LINE || len + has_space + size >= UNIT_BYTES)
            return (struct weir_slice){out, 0};
        if (has_space) out[len++] = ' ';
        memcpy(out + len, ts->text.ptr + t->start, size);
        len += size;
    }
    return (struct weir_slice){out, len};
}

static bool read_known(const struct tokens *ts, size_t i, size_t *n_tokens, struct number *n)
{
    char out[UNIT_BYTES];
    if (token_at(ts, i)->kind == TOKEN_NUMBER) return false;
    for (*n_tokens = UNIT_TOKENS; *n_tokens > 0; (*n_tokens)--)
        if (keep(n, join(ts, i, *n_tokens, out))) return true;
    return false;
}

size_t unit_read(const struct tokens *ts, size_t i, struct number *n)
{
    size_t skip = token_is_dash(ts, i) && token_at(ts, i)->is_glued &&
                  token_at(ts, i + 1)->kind == TOKEN_WORD && token_at(ts, i + 1)->is_glued;
    size_t used;
    if (is_percent(ts, i + skip, &used, &n->is_points)) {
        n->unit_class = UNIT_PERCENT;
        return skip + used;
    }
    if (token_is_sign(ts, i, 0xD7)) {
        n->unit_class = UNIT_RATIO;
        return 1;
    }
    if (read_known(ts, i + skip, &used, n)) return skip + used;
    n->unit_class = word_unit(token_text(ts, i + skip), &n->long_days);
    return n->unit_class == UNIT_NONE ? 0 : skip + 1;
}
