/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From tokens to numbers: signs, magnitudes, words, fractions, and what is written in two units
 * ("7 h 12 min"). Ranges are two numbers of which the first may have the second's unit.
 */
#include <math.h>
#include <string.h>

#include "check/numbers_impl.h"
#include "data/catalogue.h"

enum { MINUS = 0x2212, EN_DASH = 0x2013, EM_DASH = 0x2014, PLUS_MINUS = 0xB1, TIMES = 0xD7 };

enum { CARDINAL_TOKENS = 12 }; /* of a number in words */

static const double WORD_SLACK = 0.05; /* "a third" is about a third */

const struct token *token_at(const struct tokens *ts, size_t i)
{
    static const struct token end = {.kind = TOKEN_LINE};
    return i < ts->n ? &ts->t[i] : &end;
}

struct weir_slice token_text(const struct tokens *ts, size_t i)
{
    const struct token *t = token_at(ts, i);
    if (t->kind != TOKEN_WORD || t->is_identifier) return (struct weir_slice){"", 0};
    return (struct weir_slice){ts->text.ptr + t->start, t->end - t->start};
}

bool token_is_sign(const struct tokens *ts, size_t i, uint32_t symbol)
{
    const struct token *t = token_at(ts, i);
    return t->kind == TOKEN_SIGN && t->symbol == symbol;
}

bool token_is_dash(const struct tokens *ts, size_t i)
{
    const struct token *t = token_at(ts, i);
    return t->kind == TOKEN_SIGN && (t->symbol == '-' || t->symbol == MINUS ||
                                     (t->symbol >= 0x2010 && t->symbol <= EM_DASH));
}

/* ---- the value ---- */

static bool is_article(struct weir_slice w)
{
    return word_in(w, "a|an");
}

/* A fraction glyph, or "1/2" behind a whole number; how many tokens. */
static size_t take_glyph(const struct tokens *ts, size_t i, double *value)
{
    const struct token *a = token_at(ts, i), *b = token_at(ts, i + 2);
    if (a->kind == TOKEN_SIGN && a->fraction > 0) {
        *value += a->fraction;
        return 1;
    }
    bool is_ratio = a->kind == TOKEN_NUMBER && a->is_bare && token_is_sign(ts, i + 1, '/') &&
                    b->kind == TOKEN_NUMBER && b->is_bare && a[1].is_glued && b->is_glued;
    if (!is_ratio || a->value < 1 || a->value >= b->value || b->value > 8) return 0;
    *value += a->value / b->value;
    return 3;
}

/* "and a half", "and three quarters", "-and-a-half" from i on. */
static size_t take_and_fraction(const struct tokens *ts, size_t i, double *value)
{
    size_t at = i;
    double fraction, times = 1;
    at += token_is_dash(ts, at);
    if (!word_is(token_text(ts, at), "and")) return 0;
    at++;
    at += token_is_dash(ts, at);
    if (!is_article(token_text(ts, at)) && !word_number(token_text(ts, at), &times)) return 0;
    at++;
    at += token_is_dash(ts, at);
    if (!word_fraction(token_text(ts, at), &fraction) || times > 9) return 0;
    *value += times * fraction;
    return at + 1 - i;
}

static size_t take_magnitudes(const struct tokens *ts, size_t i, double *value)
{
    size_t at = i;
    double magnitude;
    while (word_magnitude(token_text(ts, at), &magnitude)) {
        *value *= magnitude;
        at++;
    }
    return at - i;
}

/* The value of a raised digit; -1: it is none. Three of them are older than the others. */
static int raised_digit(const struct token *t)
{
    if (t->kind != TOKEN_SIGN) return -1;
    if (t->symbol == 0xB9) return 1;
    if (t->symbol == 0xB2 || t->symbol == 0xB3) return (int)t->symbol - 0xB0;
    return t->symbol >= 0x2070 && t->symbol <= 0x2079 ? (int)t->symbol - 0x2070 : -1;
}

/* "4.2 × 10^9", "4.2 x 10⁹": its exponent; how many tokens. */
static size_t take_power(const struct tokens *ts, size_t i, double *scale)
{
    const struct token *ten = token_at(ts, i + 1), *power = token_at(ts, i + 3);
    if (!token_is_sign(ts, i, TIMES) && !word_in(token_text(ts, i), "x")) return 0;
    if (ten->kind != TOKEN_NUMBER || ten->value != 10) return 0;
    int raised = raised_digit(token_at(ts, i + 2));
    if (token_is_sign(ts, i + 2, '^') && power->kind == TOKEN_NUMBER && power->value < 20) {
        *scale = pow(10, power->value);
        return 4;
    }
    if (raised < 0) return 0;
    *scale = pow(10, raised);
    return 3;
}

static size_t read_digits(const struct tokens *ts, size_t i, struct number *n)
{
    const struct token *t = token_at(ts, i);
    size_t at = i;
    n->value = 0;
    n->slack = WORD_SLACK;
    if (t->kind == TOKEN_NUMBER) {
        size_t plain = take_glyph(ts, i, &n->value);
        if (plain > 0) return plain;
        n->value = t->value;
        n->slack = 0.5 * pow(10, -(double)t->decimals);
        at++;
    }
    double whole = n->value;
    at += take_glyph(ts, at, &n->value);
    if (at == i) return 0;
    if (n->value == whole) at += take_and_fraction(ts, at, &n->value);
    if (n->value != whole) n->slack = WORD_SLACK;
    double before = n->value;
    at += take_magnitudes(ts, at, &n->value);
    if (before != 0) n->slack *= n->value / before;
    return at + take_power(ts, at, &n->scale) - i;
}

/* A number in words as it grows. */
struct cardinal {
    double total, part, last;
    bool is_begun;
};

/* Whether a word goes on with it: "twenty" takes "five", "hundred" takes both. */
static bool cardinal_take(struct cardinal *c, struct weir_slice w)
{
    double v;
    if (word_number(w, &v) && (!c->is_begun || c->last >= 100 || (c->last >= 20 && v < 10))) {
        c->part += v;
    } else if (c->is_begun && word_magnitude(w, &v)) {
        c->part *= v;
        if (v >= 1000) c->total += c->part, c->part = 0;
    } else {
        return false;
    }
    c->last = v;
    c->is_begun = true;
    return true;
}

/* "twenty-five", "two hundred and ten", "a hundred", "half a dozen"; how many tokens. */
static size_t read_cardinal(const struct tokens *ts, size_t i, double *value)
{
    struct cardinal c = {.last = INFINITY};
    size_t end = i;
    double v;
    c.is_begun = is_article(token_text(ts, i)) && word_magnitude(token_text(ts, i + 1), &v);
    if (c.is_begun) c.part = 1;
    for (size_t at = i + c.is_begun; at < i + CARDINAL_TOKENS; at++) {
        struct weir_slice w = token_text(ts, at);
        bool is_joint = token_is_dash(ts, at) || (c.last >= 100 && word_is(w, "and"));
        if (cardinal_take(&c, w)) end = at + 1;
        else if (end == i || !is_joint) break; /* a joint counts only with what follows */
    }
    *value = c.total + c.part;
    return end - i;
}

/* "a third", "two thirds", "three-quarters", "half"; how many tokens. */
static size_t read_fraction(const struct tokens *ts, size_t i, double *value)
{
    size_t at = i;
    double times = 1, fraction;
    bool has_count = word_number(token_text(ts, at), &times) || is_article(token_text(ts, at));
    if (has_count) at++;
    if (has_count) at += token_is_dash(ts, at);
    struct weir_slice w = token_text(ts, at);
    if (!word_fraction(w, &fraction) || times > 9 || times < 1) return 0;
    if (!has_count && !word_is(w, "half")) return 0;
    *value = times * fraction;
    return at + 1 - i;
}

static bool read_ratio_word(struct weir_slice w, struct number *n)
{
    static const struct {
        const char *words;
        double value;
    } table[] = {
        {"twice|double|doubled|doubles|doubling|twofold", 2},
        {"thrice|triple|tripled|triples|tripling|threefold", 3},
        {"quadruple|quadrupled|fourfold", 4},
        {"fivefold", 5},
        {"tenfold", 10},
        {"halved|halves|halving", 0.5},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!word_in(w, table[i].words)) continue;
        n->value = table[i].value;
        n->change = (n->value - 1) * 100;
        n->slack = WORD_SLACK;
        n->unit_class = UNIT_RATIO;
        return true;
    }
    return false;
}

/* "point two five" behind a whole number in words. */
static size_t take_point(const struct tokens *ts, size_t i, struct number *n)
{
    size_t at = i + 1;
    double digit, place = 0.1;
    if (!word_is(token_text(ts, i), "point")) return 0;
    for (; word_number(token_text(ts, at), &digit) && digit < 10; at++, place /= 10)
        n->value += digit * place;
    if (at == i + 1) return 0;
    n->slack = place * 5;
    return at - i;
}

static size_t read_words(const struct tokens *ts, size_t i, struct number *n)
{
    if (token_at(ts, i)->kind != TOKEN_WORD) return 0;
    if (read_ratio_word(token_text(ts, i), n)) return 1;
    n->slack = WORD_SLACK;
    size_t used = read_fraction(ts, i, &n->value);
    if (used > 0) {
        size_t dozen = is_article(token_text(ts, i + used)) ? 1 : 0;
        double v;
        if (!word_magnitude(token_text(ts, i + used + dozen), &v)) return used;
        n->value *= v;
        return used + dozen + 1;
    }
    used = read_cardinal(ts, i, &n->value);
    if (used == 0) return 0;
    n->slack = 0.5;
    double whole = n->value;
    used += take_and_fraction(ts, i + used, &n->value);
    if (n->value != whole) {
        n->slack = WORD_SLACK;
        used += take_magnitudes(ts, i + used, &n->value);
    }
    return used + take_point(ts, i + used, n);
}

/* "in the 98th percentile" is a share; "the 90th percentile was 68" names what was computed. */
static size_t read_percentile(const struct tokens *ts, size_t i, struct number *n)
{
    const struct token *t = token_at(ts, i);
    if (t->kind != TOKEN_ORDINAL || !word_in(token_text(ts, i + 1), "percentile|centile")) return 0;
    size_t the = i >= 2 && word_in(token_text(ts, i - 1), "the|about|around|roughly") ? 2 : 1;
    if (i < the ||
        !word_in(token_text(ts, i - the), "in|at|near|around|into|to|above|below|beyond"))
        return 0;
    n->value = t->value;
    n->slack = 0.5;
    n->unit_class = UNIT_PERCENT;
    return 1;
}

/* "an hour and a half" */
static size_t read_one_and_half(const struct tokens *ts, size_t i, struct number *n)
{
    size_t article = is_article(token_text(ts, i));
    if (!word_is(token_text(ts, i + article + 1), "and")) return 0;
    size_t used = unit_read(ts, i + article, n);
    bool is_unit = used > 0 && n->unit_class == UNIT_KNOWN && !token_is_dash(ts, i);
    n->value = 1;
    n->slack = WORD_SLACK;
    size_t more = is_unit ? take_and_fraction(ts, i + article + used, &n->value) : 0;
    if (more > 0) return article + used + more;
    n->unit_class = UNIT_NONE;
    return 0;
}

/* ---- the sign ---- */

/* What a sign before a number makes of it: i is the number's token, i - 1 the sign's. */
static enum number_sign sign_at(const struct tokens *ts, size_t i)
{
    const struct token *t = token_at(ts, i), *before = token_at(ts, i - 1);
    bool is_behind_sign = i > 1 && token_at(ts, i - 2)->kind == TOKEN_SIGN;
    if (before->symbol == PLUS_MINUS) return SIGN_EITHER;
    if (before->symbol == '+') return t->is_glued ? SIGN_PLUS : SIGN_NONE;
    if (!token_is_dash(ts, i - 1) || before->symbol == EM_DASH) return SIGN_NONE;
    if (is_behind_sign && token_is_sign(ts, i - 2, '/')) return SIGN_EITHER; /* +/- */
    bool is_close = t->is_glued || (before->symbol == MINUS && t->start - before->end <= 3);
    return is_close && (!before->is_glued || is_behind_sign) ? SIGN_MINUS : SIGN_NONE;
}

static void read_sign(const struct tokens *ts, struct number *n)
{
    size_t i = n->first;
    if (i == 0) return;
    if (word_in(token_text(ts, i - 1), "minus|negative")) n->sign = SIGN_MINUS;
    if (token_at(ts, i - 1)->kind == TOKEN_SIGN) {
        n->sign = sign_at(ts, i);
        bool is_part = n->sign == SIGN_MINUS || n->sign == SIGN_PLUS;
        if (is_part) n->start = token_at(ts, i - 1)->start;
    }
    if (n->sign == SIGN_MINUS) n->value = -n->value;
}

/* ---- two units ---- */

/* Small units behind large ones, and how many make one. */
static const struct {
    const char *large, *small, *name;
    double times;
} compounds[] = {
    {"h|hr|hrs|hour|hours", "m|min|mins|minute|minutes", "min", 60},
    {"m|min|mins|minute|minutes", "s|sec|secs|second|seconds", "s", 60},
    {"d|day|days", "h|hr|hrs|hour|hours", "h", 24},
    {"ft|foot|feet", "in|inch|inches", "in", 12},
    {"st|stone|stones", "lb|lbs|pound|pounds", "lb", 14},
};

/* The second part from i on: tokens it takes, 0 when there is none. */
static size_t take_small(const struct tokens *ts, size_t i, size_t row, double *value)
{
    struct number small = {.scale = 1};
    size_t at = i;
    bool has_comma = token_is_sign(ts, at, ',');
    at += has_comma || word_is(token_text(ts, at), "and");
    bool is_glued = token_at(ts, at)->is_glued;
    size_t used = token_at(ts, at)->kind == TOKEN_NUMBER ? read_digits(ts, at, &small)
                                                         : read_words(ts, at, &small);
    if (used == 0 || small.value >= compounds[row].times) return 0;
    *value = small.value;
    at += used;
    at += token_is_dash(ts, at);
    bool is_compared = has_comma && word_direction(token_text(ts, at + 1)) != 0;
    if (word_in(token_text(ts, at), compounds[row].small)) return is_compared ? 0 : at + 1 - i;
    return is_glued && at == i + used ? used : 0; /* 7h12 */
}

static size_t take_compound(const struct tokens *ts, size_t i, struct number *n)
{
    size_t used = 0;
    for (size_t row = 0; row < sizeof compounds / sizeof *compounds; row++) {
        double more;
        struct weir_slice unit = {n->unit, strlen(n->unit)};
        bool is_whole = fmod(n->value, 1) == 0; /* "6.4 hours, 24 minutes more" are two */
        if (!is_whole || !word_in(unit, compounds[row].large)) continue;
        size_t taken = take_small(ts, i + used, row, &more);
        if (taken == 0) continue;
        n->value = (n->value < 0 ? -1 : 1) * (fabs(n->value) * compounds[row].times + more);
        n->slack = 0.5;
        memcpy(n->unit, compounds[row].name, strlen(compounds[row].name) + 1);
        used += taken;
    }
    return used;
}

/* "half an hour", "a quarter of an hour": the unit behind the article. */
static size_t skip_to_unit(const struct tokens *ts, size_t i)
{
    size_t at = i + word_is(token_text(ts, i), "of");
    struct number probe = {0};
    if (!is_article(token_text(ts, at))) return 0;
    if (unit_read(ts, at + 1, &probe) == 0 || probe.unit_class != UNIT_KNOWN) return 0;
    return at + 1 - i;
}

static void read_unit(const struct tokens *ts, size_t i, struct number *n)
{
    if (n->unit_class != UNIT_NONE) return;
    if (n->slack == WORD_SLACK) i += skip_to_unit(ts, i);
    size_t used = unit_read(ts, i, n);
    if (used == 0) return;
    n->unit_end = token_at(ts, i + used - 1)->end;
    if (n->unit_class == UNIT_PERCENT && token_at(ts, i)->kind == TOKEN_SIGN)
        n->end = token_at(ts, i)->end;
    size_t more = n->unit_class == UNIT_KNOWN ? take_compound(ts, i + used, n) : 0;
    if (more == 0) return;
    if (word_is(weir_slice_of(n->unit), "s")) (void)pace_read(ts, i + used + more, n, 's');
    n->last = (uint32_t)(i + used + more - 1);
    n->end = token_at(ts, n->last)->end;
}

/* "10 500": a plain space may be one of thousands. */
static void read_joined(const struct tokens *ts, struct number *n)
{
    const struct token *a = token_at(ts, n->last), *b = token_at(ts, n->last + 1u);
    if (a->kind != TOKEN_NUMBER || b->kind != TOKEN_NUMBER || !a->is_bare || !b->is_bare) return;
    n->is_joined = a->end - a->start <= 3 && b->end - b->start == 3 && b->start - a->end == 1;
}

static size_t read_amount(const struct tokens *ts, size_t i, struct number *n)
{
    size_t used = read_digits(ts, i, n);
    if (used == 0) used = read_words(ts, i, n);
    if (used == 0) used = read_percentile(ts, i, n);
    if (used == 0) return read_one_and_half(ts, i, n);
    n->last = (uint32_t)(i + used - 1);
    n->end = token_at(ts, n->last)->end;
    read_unit(ts, i + used, n);
    read_joined(ts, n);
    return n->last + 1 - i;
}

static size_t read_number(const struct tokens *ts, size_t i, struct number *n)
{
    *n = (struct number){.first = (uint32_t)i, .scale = 1, .change = NAN};
    n->start = token_at(ts, i)->start;
    size_t used = token_at(ts, i)->is_identifier ? 0 : date_read(ts, i, n);
    if (used == 0) used = clock_read(ts, i, n);
    if (used > 0) {
        n->last = (uint32_t)(i + used - 1);
        n->end = token_at(ts, n->last)->end;
        return used;
    }
    used = read_amount(ts, i, n);
    if (used == 0) return 0;
    n->last = (uint32_t)(i + used - 1);
    n->end = token_at(ts, n->last)->end > n->end ? token_at(ts, n->last)->end : n->end;
    read_sign(ts, n);
    return used;
}

enum weir_status numbers_find(struct tokens *ts, struct numbers *out, struct weir_slice text,
                              struct arena *arena)
{
    enum weir_status st = tokens_cut(ts, text, arena);
    if (st != WEIR_OK) return st;
    size_t n = 0;
    struct number *list = arena_alloc(arena, (ts->n + 1) * sizeof *list);
    if (!list) return arena->status;
    for (size_t i = 0; i < ts->n;) {
        size_t used = read_number(ts, i, &list[n]);
        n += used > 0;
        i += used > 0 ? used : 1;
    }
    *out = (struct numbers){list, n};
    context_read(ts, out);
    return WEIR_OK;
}
