/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search: all ways through the program at once (Thompson's construction, with the beginning of
 * each way kept).
 *
 * Ways are in the order of their beginnings. Two at the same step are one, and the earlier stays;
 * so there are never more than steps, and the first match found of the earliest way is the one
 * wanted, once no way that began with it can make it longer.
 */
#include "base/mem.h"
#include "shield/regex_impl.h"

struct way {
    uint16_t step;
    size_t start;
};

struct ways {
    struct way *items;
    size_t n;
};

struct search {
    const struct regex *re;
    const unsigned char *text;
    size_t len;
    struct ways now, next;
    uint64_t *seen; /* of each step: the round in which it was reached last */
    uint64_t round;
    uint16_t *stack;
    uint64_t work_left;
    bool has_best;
    size_t best_start, best_end;
};

static bool is_word(const struct search *s, size_t at)
{
    if (at >= s->len) return false;
    unsigned char c = s->text[at];
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c >= 0x80;
}

static bool holds(const struct search *s, enum regex_place place, size_t at)
{
    bool is_edge = (at > 0 && is_word(s, at - 1)) != is_word(s, at);
    switch (place) {
    case REGEX_LINE_START: return at == 0 || s->text[at - 1] == '\n';
    case REGEX_LINE_END: return at == s->len || s->text[at] == '\n';
    case REGEX_WORD_EDGE: return is_edge;
    default: return !is_edge;
    }
}

/* Adds a way at a place, and all steps it reaches without a byte; the preferred ones first. */
static void add_way(struct search *s, struct ways *to, struct way way, size_t at)
{
    size_t depth = 0;
    s->stack[depth++] = way.step;
    while (depth > 0) {
        uint16_t pc = s->stack[--depth];
        if (s->seen[pc] == s->round) continue;
        s->seen[pc] = s->round;
        const struct regex_step *step = &s->re->steps[pc];
        if (s->work_left > 0) s->work_left--;
        switch ((enum regex_op)step->op) {
        case REGEX_SPLIT:
            s->stack[depth++] = (uint16_t)(pc + step->b);
            s->stack[depth++] = (uint16_t)(pc + step->a);
            break;
        case REGEX_JUMP: s->stack[depth++] = (uint16_t)(pc + step->a); break;
        case REGEX_ASSERT:
            if (holds(s, (enum regex_place)step->a, at)) s->stack[depth++] = (uint16_t)(pc + 1);
            break;
        default: to->items[to->n++] = (struct way){pc, way.start};
        }
    }
}

/* Notes matches among the ways that are here, and drops those that began after one. */
static void note_matches(struct search *s, size_t at)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->now.n; i++) {
        struct way w = s->now.items[i];
        if (s->has_best && w.start > s->best_start) break;
        if (s->re->steps[w.step].op != REGEX_MATCH) {
            s->now.items[kept++] = w;
        } else if (at > w.start) {
            s->has_best = true;
            s->best_start = w.start;
            s->best_end = at;
        }
    }
    s->now.n = kept;
}

static void step_over(struct search *s, size_t at)
{
    s->next.n = 0;
    s->round++;
    for (size_t i = 0; i < s->now.n; i++) {
        struct way w = s->now.items[i];
        const struct regex_step *step = &s->re->steps[w.step];
        if (!regex_set_has(&s->re->sets[step->a], s->text[at])) continue;
        if (at - w.start >= REGEX_SPAN_BYTES) continue;
        add_way(s, &s->next, (struct way){(uint16_t)(w.step + 1), w.start}, at + 1);
    }
    struct ways swap = s->now;
    s->now = s->next;
    s->next = swap;
}

/* The next match at or after a place: true with best_start and best_end. */
static bool find(struct search *s, size_t at)
{
    s->has_best = false;
    s->now.n = 0;
    s->round++;
    for (; at <= s->len && s->work_left > 0; at++) {
        if (s->now.n == 0) {
            if (s->has_best) return true;
            while (at < s->len && !regex_set_has(&s->re->first, s->text[at])) at++;
            if (at == s->len) return false;
        }
        if (!s->has_best) add_way(s, &s->now, (struct way){0, at}, at);
        note_matches(s, at);
        if (at < s->len) step_over(s, at);
    }
    return s->has_best;
}

static enum weir_status each(struct search *s, regex_match_fn on_match, void *user)
{
    size_t at = 0;
    while (at < s->len && find(s, at)) {
        if (s->work_left == 0) return WEIR_LIMIT;
        on_match(user, s->best_start, s->best_end);
        at = s->best_end;
    }
    return s->work_left == 0 ? WEIR_LIMIT : WEIR_OK;
}

enum weir_status regex_each(const struct regex *re, struct weir_slice text, regex_match_fn on_match,
                            void *user)
{
    /* A step is added once at a place, and pushed at most twice. */
    struct search s = {.re = re,
                       .text = (const unsigned char *)text.ptr,
                       .len = text.len,
                       .work_left = ((uint64_t)text.len + REGEX_SPAN_BYTES) * REGEX_WORK_PER_BYTE};
    s.now.items = mem_alloc(re->n * sizeof *s.now.items);
    s.next.items = mem_alloc(re->n * sizeof *s.next.items);
    s.seen = mem_zalloc(re->n * sizeof *s.seen);
    s.stack = mem_alloc((2 * re->n + 2) * sizeof *s.stack);
    enum weir_status st = WEIR_NOMEM;
    if (s.now.items && s.next.items && s.seen && s.stack) st = each(&s, on_match, user);
    mem_free(s.stack);
    mem_free(s.seen);
    mem_free(s.next.items);
    mem_free(s.now.items);
    return st;
}
