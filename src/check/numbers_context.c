/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands around a number. Some need no home by what they are: marks of lists, ordinals,
 * labels ("type 2"), levels of confidence, "three things". Others go together: ranges, "3 out of
 * 4". And words say which way a number points: "fell by 3".
 */
#include <math.h>
#include <string.h>

#include "check/numbers_impl.h"

enum {
    REACH_BEHIND = 5, /* words: "3 bpm a night lower" */
    REACH_ASIDE = 8,  /* tokens in brackets between: "2.3 kg (5 lb) lighter" */
    MOST_HEADINGS = 20,
    MOST_LABEL = 30,   /* "zone 2", "iOS 18"; beyond that it is a value */
    REACH_BEFORE = 64, /* words of a sentence before the number */
    REACH_ROW = 256,   /* words of a row of a table */
    OLDEST_SOURCE = 1950,
    NEWEST_SOURCE = 2035,
    KEYCAP = 0x20E3,
    LESS_OR_EQUAL = 0x2264,
    MORE_OR_EQUAL = 0x2265,
};

struct context {
    const struct tokens *ts;
    struct numbers *all;
    double last_mark;    /* of a list */
    double last_bracket; /* of (1) … (2) */
};

static struct weir_slice word(const struct context *c, size_t i)
{
    return token_text(c->ts, i);
}

/* The word i tokens before the number's first; empty when there is none. */
static struct weir_slice word_before(const struct context *c, const struct number *n, size_t i)
{
    return n->first >= i ? token_text(c->ts, n->first - i) : (struct weir_slice){"", 0};
}

static bool sign_before(const struct context *c, const struct number *n, size_t i, uint32_t symbol)
{
    return n->first >= i && token_is_sign(c->ts, n->first - i, symbol);
}

static const struct token *first_token(const struct context *c, const struct number *n)
{
    return token_at(c->ts, n->first);
}

static bool is_bare(const struct context *c, const struct number *n)
{
    return n->kind == NUMBER_AMOUNT && n->sign == SIGN_NONE && first_token(c, n)->is_bare &&
           n->first == n->last;
}

/* ---- by what they are ---- */

/* Whether only marks of quotes, headings and lists stand before it on its line. */
static bool begins_line(const struct context *c, const struct number *n)
{
    for (size_t i = n->first; i > 0; i--) {
        const struct token *t = token_at(c->ts, i - 1);
        if (t->kind == TOKEN_LINE) break;
        if (t->kind != TOKEN_SIGN || !memchr("#>-+|(", (int)(t->symbol & 0x7F), 6)) return false;
    }
    return true;
}

/* "1." at the start of a line: a list begins with 1 and goes on by one. */
static bool is_list_mark(struct context *c, const struct number *n)
{
    bool has_mark = token_is_sign(c->ts, n->last + 1u, '.') ||
                    token_is_sign(c->ts, n->last + 1u, ')') ||
                    token_is_sign(c->ts, n->last + 1u, ':');
    if (!is_bare(c, n) || !has_mark || !begins_line(c, n)) return false;
    bool is_heading = sign_before(c, n, 1, '#') && n->value <= MOST_HEADINGS;
    bool goes_on =
        n->value == 1 || n->value == c->last_mark + 1 || n->value == c->last_mark || is_heading;
    if (goes_on) c->last_mark = n->value;
    return goes_on;
}

/* "| 1 | ..." in the first cell of a table's row. */
static bool is_row_number(struct context *c, const struct number *n)
{
    bool is_cell = is_bare(c, n) && sign_before(c, n, 1, '|') && begins_line(c, n) &&
                   token_is_sign(c->ts, n->last + 1u, '|');
    if (!is_cell || (n->value != 1 && n->value != c->last_mark + 1)) return false;
    c->last_mark = n->value;
    return true;
}

/* "(1) sleep, (2) walk" and "[1]". */
static bool is_bracketed(struct context *c, const struct number *n)
{
    if (!is_bare(c, n) || n->value > 99) return false;
    if (sign_before(c, n, 1, '[') && token_is_sign(c->ts, n->last + 1u, ']')) return true;
    if (sign_before(c, n, 1, '^') && sign_before(c, n, 2, '[')) return true;
    if (!token_is_sign(c->ts, n->last + 1u, ')') || word(c, n->last + 2u).len == 0) return false;
    if (n->value != c->last_bracket + 1 || n->value > 20) return false;
    bool is_open = sign_before(c, n, 1, '(') || word_before(c, n, 1).len == 0;
    if (is_open) c->last_bracket = n->value;
    return is_open;
}

/* Those who publish limits and advice; other capitals may name a metric. */
static bool is_body(struct weir_slice w)
{
    return word_in(w, "WHO|AHA|ACC|ESC|ESH|NHS|CDC|NIH|NHLBI|ADA|EASD|NSF|AASM|ACSM|EFSA|NICE|"
                      "USPSTF|HHS|KDIGO|IOM|FDA|NCEP|ATS|ERS|guidelines|al");
}

/* "PMID 123", "PMID: 123". */
static bool is_catalogued(const struct context *c, const struct number *n)
{
    return word_in(word_before(c, n, sign_before(c, n, 1, ':') ? 2 : 1), "pmid|pmcid|isbn");
}

/* "(AHA 2017)", "WHO (2020)", "Smith et al., 2019", "the 2021 ESC guideline". */
static bool is_citation(const struct context *c, const struct number *n)
{
    if (n->value < OLDEST_SOURCE || n->value > NEWEST_SOURCE) return false;
    size_t gap = sign_before(c, n, 1, '(') || sign_before(c, n, 1, ',') ? 2 : 1;
    gap += sign_before(c, n, gap, '.');
    bool has_end = token_is_sign(c->ts, n->last + 1u, ')') || gap == 1;
    if (has_end && is_body(word_before(c, n, gap))) return true;
    for (size_t i = n->last + 1u; i <= n->last + 3u && word(c, i).len > 0; i++)
        if (word_in(word(c, i), "guideline|guidelines|consensus|review|recommendation|"
                                "recommendations|statement|meta"))
            return true;
    return false;
}

static bool is_source(const struct context *c, const struct number *n)
{
    return is_bare(c, n) && n->unit_class == UNIT_NONE &&
           (is_catalogued(c, n) || is_citation(c, n));
}

static bool is_confidence(const struct context *c, const struct number *n)
{
    if (n->unit_class != UNIT_PERCENT || (n->value != 95 && n->value != 99 && n->value != 90))
        return false;
    for (size_t i = n->last + 1u; i < n->last + 4u; i++)
        if (word_in(word(c, i), "ci|cis|confidence|credible|interval|intervals|certain"))
            return true;
    return false;
}

/* "82 out of 100", "7/10": the scale of a score. */
static bool is_scale(const struct context *c, const struct number *n)
{
    if (!is_bare(c, n) || (n->value != 100 && n->value != 10 && n->value != 5)) return false;
    if (n->unit_class != UNIT_NONE) return false;
    bool is_of = word_is(word_before(c, n, 1), "of") && word_is(word_before(c, n, 2), "out");
    return is_of || (sign_before(c, n, 1, '/') && n->first >= 2 &&
                     token_at(c->ts, n->first - 2u)->kind == TOKEN_NUMBER);
}

static bool is_labelled(const struct context *c, const struct number *n)
{
    struct weir_slice before = word_before(c, n, 1);
    if (sign_before(c, n, 1, '-')) before = word_before(c, n, 2);
    if (sign_before(c, n, 1, '.') && word_in(word_before(c, n, 2), "no|nr|fig")) return true;
    if (word_in(before, "day|week|month|night") && is_bare(c, n) && before.len > 0)
        return before.ptr[0] < 'a' || n->unit_class == UNIT_NONE;
    bool is_whole = is_bare(c, n) || n->slack == 0.5;
    bool is_release = word_in(before, "version|ios|watchos|android|firmware|software|release|"
                                      "section|chapter|figure|table");
    return (is_whole || is_release) && n->value <= MOST_LABEL && n->sign == SIGN_NONE &&
           word_is_label(before) && n->unit_class == UNIT_NONE;
}

/* "10k run", "a 5K": races. 24/7. 1️⃣. */
static bool is_idiom(const struct context *c, const struct number *n)
{
    const struct token *t = first_token(c, n);
    struct weir_slice behind = word(c, n->last + 1u);
    char end = c->ts->text.ptr[t->end - 1u];
    if (token_is_sign(c->ts, n->last + 1u, KEYCAP)) return true;
    if (token_is_sign(c->ts, n->last + 1u, '(') && word_is(word(c, n->last + 2u), "oh"))
        return true;
    if ((end == 'k' || end == 'K') && word_in(behind, "run|runs|race|races|pace")) return true;
    if (n->value == 24 && token_is_sign(c->ts, n->last + 1u, '/'))
        return token_at(c->ts, n->last + 2u)->value == 7;
    return n->value == 7 && sign_before(c, n, 1, '/') && n->first >= 2 &&
           token_at(c->ts, n->first - 2u)->value == 24;
}

/* ---- words that look like numbers ---- */

static bool is_in_words(const struct context *c, const struct number *n)
{
    return n->kind == NUMBER_AMOUNT && first_token(c, n)->kind == TOKEN_WORD;
}

/* "one of them", "the first one", "at one point"; but "one hour" and "only one" count. */
static bool is_pronoun(const struct context *c, const struct number *n)
{
    if (!is_in_words(c, n) || n->value != 1 || n->first != n->last) return false;
    if (n->unit_class == UNIT_PERCENT || n->is_share || n->is_range) return false;
    if (word_in(word_before(c, n, 1), "only|just|exactly")) return false;
    return n->unit_class != UNIT_KNOWN || word_in(word(c, n->last + 1u), "day|step|set");
}

/* "a week or two", "one or two nights". */
static bool is_or_two(const struct context *c, const struct number *n)
{
    if (!is_in_words(c, n) || n->first != n->last) return false;
    if (n->value == 1)
        return word_is(word(c, n->last + 1u), "or") && word_is(word(c, n->last + 2u), "two");
    bool is_one_or =
        word_is(word_before(c, n, 2), "one") || word_in(word_before(c, n, 3), "a|an|one");
    return n->value == 2 && word_is(word_before(c, n, 1), "or") && is_one_or;
}

/* "two things", "three small steps", "these two". */
static bool is_rhetoric(const struct context *c, const struct number *n)
{
    bool is_small = (is_in_words(c, n) || is_bare(c, n)) && n->value >= 1 && n->value <= 12 &&
                    n->slack == 0.5 && n->sign == SIGN_NONE;
    if (!is_small || n->is_share) return false;
    struct weir_slice behind = word(c, n->last + 1u);
    if (word_is_rhetoric(behind)) return true;
    if (n->unit_class == UNIT_NONE && word_is_rhetoric(word(c, n->last + 2u)) && behind.len > 3 &&
        word_direction(behind) == 0)
        return true;
    return is_in_words(c, n) && word_in(word_before(c, n, 1), "the|these|those|all|other|of") &&
           n->unit_class == UNIT_NONE;
}

/* "a third night", "the first half", "half marathon". */
static bool is_no_fraction(const struct context *c, const struct number *n)
{
    double ignored;
    struct weir_slice w = word(c, n->last), behind = word(c, n->last + 1u);
    if (!is_in_words(c, n) || n->unit_class == UNIT_RATIO || !word_fraction(w, &ignored))
        return false;
    if (token_is_dash(c->ts, n->last + 1u)) behind = word(c, n->last + 2u);
    if (word_in(w, "half|halves"))
        return word_in(word_before(c, n, 1),
                       "first|second|other|latter|last|either|each|the|this") ||
               word_in(behind, "marathon|life|lives|way|time");
    if (w.ptr[w.len - 1] == 's' || n->first == n->last || n->unit_class == UNIT_KNOWN) return false;
    if (behind.len == 0 || word_in(behind, "of|the|as|your|as|to|in|on|at|and|or|compared|"
                                           "than|from|over|after|during|when|since|for"))
        return false;
    return word_direction(behind) == 0;
}

/* "double-check", "double down". */
static bool is_no_ratio(const struct context *c, const struct number *n)
{
    struct weir_slice behind = word(c, n->last + 1u);
    if (token_is_dash(c->ts, n->last + 1u)) behind = word(c, n->last + 2u);
    return is_in_words(c, n) && n->unit_class == UNIT_RATIO &&
           word_in(behind, "check|checked|checking|down|edged|blind");
}

static const char *reason(struct context *c, const struct number *n)
{
    if (n->kind != NUMBER_AMOUNT) return NULL;
    if (is_list_mark(c, n) || is_row_number(c, n)) return "list mark";
    if (is_bracketed(c, n) || is_source(c, n)) return "reference mark";
    if (is_confidence(c, n)) return "level of confidence";
    if (is_scale(c, n)) return "scale";
    if (is_idiom(c, n) || is_labelled(c, n)) return "label";
    if (is_no_fraction(c, n) || is_no_ratio(c, n)) return "ordinal";
    if (is_pronoun(c, n) || is_or_two(c, n) || is_rhetoric(c, n)) return "figure of speech";
    return NULL;
}

/* ---- those that go together ---- */

static bool is_to(const struct context *c, const struct number *a, const struct number *b)
{
    size_t gap = b->first - a->last;
    if (gap < 2) return false;
    /* Between them: a dash, or a word, maybe behind a unit. */
    for (size_t i = a->last + 1u; i < b->first; i++)
        if (token_at(c->ts, i)->kind == TOKEN_LINE) return false;
    size_t at = b->first - 1u;
    if (token_is_dash(c->ts, at) || b->sign == SIGN_MINUS) return gap <= 3;
    if (word_is(word(c, at), "and")) return word_is(word_before(c, a, 1), "between") && gap <= 4;
    return word_in(word(c, at), "to|or") && gap <= 4;
}

/* "3 out of 4", "3 of the 4", "3 in 4", "3/4". */
static bool is_share(const struct context *c, const struct number *a, const struct number *b)
{
    size_t gap = b->first - a->last;
    struct weir_slice first = word(c, a->last + 1u);
    /* "one of 84" is that one. */
    bool is_pronoun = word_is(word(c, a->last), "one") && a->first == a->last;
    if (is_pronoun && word_is(first, "of")) return false;
    if (gap == 2) return token_is_sign(c->ts, a->last + 1u, '/') || word_in(first, "in|of");
    if (gap == 3 && word_is(first, "of")) return word_in(word(c, a->last + 2u), "the|your|those");
    return gap >= 3 && gap <= 4 && word_is(word(c, b->first - 1u), "of") &&
           word_is(word(c, b->first - 2u), "out");
}

static void pair(const struct context *c, struct number *a, const struct number *b)
{
    if (a->kind != NUMBER_AMOUNT || b->kind != NUMBER_AMOUNT) return;
    bool is_slash = b->first - a->last == 2 && token_is_sign(c->ts, a->last + 1u, '/');
    a->is_range = is_to(c, a, b);
    a->is_share = is_share(c, a, b);
    if (!a->is_range && !is_slash) return;
    if (a->unit_class != UNIT_NONE || b->unit_class == UNIT_NONE) return;
    a->unit_class = b->unit_class;
    a->long_days = b->long_days;
    a->is_points = b->is_points || word_in(word(c, a->last + 1u), "point|points");
    memcpy(a->unit, b->unit, sizeof a->unit);
}

/* ---- which way ---- */

static bool ends_sentence(const struct context *c, size_t i)
{
    const struct token *t = token_at(c->ts, i);
    if (t->kind == TOKEN_LINE) return token_at(c->ts, i + 1)->kind == TOKEN_LINE;
    bool is_end =
        t->kind == TOKEN_SIGN && (t->symbol == '.' || t->symbol == ';' || t->symbol == '!' ||
                                  t->symbol == '?' || t->symbol == '|');
    /* Not the points of "i.e." and "p.m.". */
    bool is_short = t->symbol == '.' && i > 0 && word(c, i - 1).len == 1;
    return is_end && !is_short && !token_at(c->ts, i + 1)->is_glued;
}

/* "(5 lb)" at i, how many tokens behind its bracket; 0: none, or it does not close soon. */
static size_t skip_aside(const struct context *c, size_t i)
{
    if (!token_is_sign(c->ts, i, '(')) return 0;
    for (size_t k = 1; k <= REACH_ASIDE; k++) {
        if (token_is_sign(c->ts, i + k, ')')) return k;
        if (token_at(c->ts, i + k)->kind == TOKEN_LINE) return 0;
    }
    return 0;
}

/* "↓ 3", "3 ▲": -1 down, +1 up, 0 no arrow. */
static int arrow_at(const struct context *c, size_t i)
{
    static const uint32_t down[] = {0x2193, 0x2198, 0x21D3, 0x25BC, 0x2B07, 0x1F53B, 0x1F53D};
    static const uint32_t up[] = {0x2191, 0x2197, 0x21D1, 0x25B2, 0x2B06, 0x1F53A, 0x1F53C};
    for (size_t k = 0; k < sizeof up / sizeof *up; k++) {
        if (token_is_sign(c->ts, i, down[k])) return -1;
        if (token_is_sign(c->ts, i, up[k])) return 1;
    }
    return 0;
}

/* The direction that stands behind it, in the same breath: "3 bpm lower". */
static int direction_behind(const struct context *c, const struct number *n)
{
    size_t reach = n->last + REACH_BEHIND;
    for (size_t i = n->last + 1u; i <= reach; i++) {
        const struct token *t = token_at(c->ts, i);
        size_t aside = skip_aside(c, i);
        i += aside;
        reach += aside;
        if (aside > 0) continue;
        if (t->kind == TOKEN_NUMBER || t->kind == TOKEN_LINE) break;
        int direction = arrow_at(c, i);
        if (direction != 0) return direction;
        if (t->kind == TOKEN_SIGN && !strchr("%/-)", (int)(t->symbol & 0x7F))) break;
        direction = word_direction(word(c, i));
        /* "0.31 over 58 days" points nowhere. */
        bool is_place =
            word_in(word(c, i), "over|under") && token_at(c->ts, i + 1)->kind == TOKEN_NUMBER;
        if (direction != 0 && !is_place) return direction;
        if (is_place || word_in(word(c, i), "and|but|while|when|to|from")) break;
    }
    return 0;
}

static int direction_before(const struct context *c, const struct number *n)
{
    size_t least = n->first > REACH_BEFORE ? n->first - REACH_BEFORE : 0;
    for (size_t i = n->first; i > least && !ends_sentence(c, i - 1); i--) {
        int direction = word_direction(word(c, i - 1)) + arrow_at(c, i - 1);
        /* "over the last 30 days" points nowhere. */
        bool is_place = word_in(word(c, i - 1), "over|under|up|off|short|down") &&
                        word_in(word(c, i), "the|this|these|that|your|last|past|to|a");
        if (direction != 0 && !is_place) return direction;
    }
    return 0;
}

/* Whether it stands in a table: the unit may be in another cell. */
static bool is_cell(const struct context *c, const struct number *n)
{
    size_t least = n->first > REACH_ROW ? n->first - REACH_ROW : 0;
    for (size_t i = n->first; i > least && token_at(c->ts, i - 1)->kind != TOKEN_LINE; i--)
        if (token_is_sign(c->ts, i - 1, '|')) return true;
    return false;
}

/* "p < 0.05", "p-value below 0.05"; "p > 0.05", "p above 0.05". */
static void read_p_bound(const struct context *c, struct number *n)
{
    bool is_less = sign_before(c, n, 1, '<') || sign_before(c, n, 1, LESS_OR_EQUAL) ||
                   word_in(word_before(c, n, 1), "below|under");
    bool is_more = sign_before(c, n, 1, '>') || sign_before(c, n, 1, MORE_OR_EQUAL) ||
                   word_in(word_before(c, n, 1), "above|over");
    if (word_is(word_before(c, n, 1), "than")) {
        is_less = word_in(word_before(c, n, 2), "less|smaller|lower");
        is_more = word_in(word_before(c, n, 2), "more|greater|larger|higher");
    }
    if ((!is_less && !is_more) || n->value <= 0 || n->value >= 1) return;
    for (size_t i = 2; i <= 6; i++) {
        if (!word_in(word_before(c, n, i), "p|q")) continue;
        n->is_p_bound = is_less;
        n->is_p_floor = is_more;
    }
}

/* "the low 60s", "mid-50s": the numbers from `decade_from` to before `decade_to` of the ten. */
static bool read_decade(const struct context *c, struct number *n)
{
    static const struct {
        const char *words;
        double from, to;
    } parts[] = {
        {"low|lower|early", 0, 5},
        {"mid|middle", 3, 8},
        {"high|upper|late", 6, 10},
        {"the|your", 0, 10},
    };
    if (fmod(n->value, 10) != 0 || !token_at(c->ts, n->first)->is_bare) return false;
    struct weir_slice s = word(c, n->first + 1u);
    struct weir_slice before = word_before(c, n, 1);
    if (sign_before(c, n, 1, '-')) before = word_before(c, n, 2);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && word_is(s, "s"); i++) {
        if (!word_in(before, parts[i].words)) continue;
        n->decade_from = parts[i].from;
        n->decade_to = parts[i].to;
        return true;
    }
    return false;
}

/* "dropped by about 3", "a loss of 3": at most a few small words between. */
static bool is_fall(const struct context *c, const struct number *n)
{
    if (n->first > 0 && arrow_at(c, n->first - 1u) < 0) return true;
    for (size_t i = 1; i <= 4; i++) {
        struct weir_slice w = word_before(c, n, i);
        if (word_is_fall(w)) return true;
        if (!word_in(w, "by|of|about|roughly|around|some|nearly|almost|a|an|approximately|only"))
            return false;
    }
    return false;
}

/* "a week", "per month", "/day", "each night", "weekly" behind a number and its unit. */
static double rate_of(const struct context *c, const struct number *n)
{
    size_t i = n->last + 1u;
    while (i < c->ts->n && token_at(c->ts, i)->end <= n->unit_end) i++;
    i += word_is(word(c, i), "times");
    bool is_adverb = word_in(word(c, i), "daily|nightly|weekly|monthly|yearly|annually");
    bool is_joint = word_in(word(c, i), "a|per|each|every") || token_is_sign(c->ts, i, '/');
    if (!is_adverb && !is_joint) return 0;
    return word_rate(word(c, is_adverb ? i : i + 1));
}

void context_read(const struct tokens *ts, struct numbers *all)
{
    struct context c = {.ts = ts, .all = all};
    for (size_t i = 0; i + 1 < all->n; i++) pair(&c, &all->list[i], &all->list[i + 1]);
    for (size_t i = 0; i < all->n; i++) {
        struct number *n = &all->list[i];
        n->exempt = reason(&c, n);
        if (n->kind != NUMBER_AMOUNT) continue;
        read_p_bound(&c, n);
        n->is_cell = is_cell(&c, n);
        n->rate_days = rate_of(&c, n);
        n->is_decade = read_decade(&c, n);
        if (n->is_decade) n->unit_class = UNIT_NONE; /* its s is no second */
        int direction = direction_behind(&c, n);
        if (direction == 0) direction = direction_before(&c, n);
        n->direction = direction;
        n->is_fall = n->sign == SIGN_NONE && is_fall(&c, n);
        n->is_carried = direction < 0 && n->sign == SIGN_NONE;
    }
}
