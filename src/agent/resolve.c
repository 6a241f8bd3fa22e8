/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question that leans on the ones before it, made to stand alone: "and in April?" after a
 * question about steps, "why might it have dropped?", "what about REM?". The messages are gone
 * through in their order, each against the last one that stands alone. A reading counts only when
 * the grammar of questions takes it, or when it puts a name in the place of "it"; otherwise the
 * person's own words stay.
 */
#include "agent/route_impl.h"
#include "ask/ask.h"
#include "base/slice.h"

enum {
    LOOK_BACK = 8,      /* messages of the person */
    LEANING_WORDS = 14, /* a longer question stands alone */
    WINDOW_WORDS = 8,   /* longest name of a window */
    RESOLVED_BYTES = 1000,
};

struct resolver {
    struct agent_case *c;
    struct said base; /* stands alone; n is 0: none yet */
    bool has_base;
};

/* ---- texts ---- */

struct text {
    char bytes[RESOLVED_BYTES];
    size_t len;
};

static void append(struct text *t, const struct said *s, size_t from, size_t end)
{
    for (size_t i = from; i < end && i < s->n; i++) {
        struct weir_slice word = s->words[i].text;
        if (word.len == 0 || t->len + word.len + 2 > sizeof t->bytes) continue;
        if (t->len > 0) t->bytes[t->len++] = ' ';
        memcpy(t->bytes + t->len, word.ptr, word.len);
        t->len += word.len;
    }
}

static void append_str(struct text *t, const char *word)
{
    struct said_word one = {.text = weir_slice_of(word)};
    append(t, &(struct said){.words = &one, .n = 1}, 0, 1);
}

static struct weir_slice slice_of_text(const struct text *t)
{
    return slice_of(t->bytes, t->len);
}

static bool is_understood(struct resolver *r, const struct text *t, struct plan *plan)
{
    struct ask_reading *reading = arena_alloc(r->c->arena, sizeof *reading);
    if (!reading || t->len == 0) return false;
    if (ask_read(reading, slice_of_text(t), r->c->data, r->c->arena) != WEIR_OK) return false;
    if (reading->is_understood && plan) *plan = reading->plan;
    return reading->is_understood;
}

/* ---- what a question has ---- */

static bool find_thing(const struct said *s, size_t *from, size_t *end)
{
    for (*from = 0; *from < s->n; (*from)++) {
        *end = *from + s->words[*from].thing;
        if (s->words[*from].thing > 0) return true;
    }
    return false;
}

static size_t count_words(const struct said *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) n += s->words[i].text.len > 0;
    return n;
}

/* "And", "what about" and the like stand before what is meant; how many words they are. */
static size_t lead_words(const struct said *s)
{
    static const char *const leads[] = {
        "^ ok|okay|and|but|then? what|how about|of",
        "^ and|but|now|ok|okay? the? same question|thing|again? but? for|in|on|with|over",
        "^ and|but|ok|okay|now what|how is|was|were|are|did",
        "^ and|but|then|or|plus|now",
    };
    size_t from, end;
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        if (!said_find(s, leads[i], &from, &end) || from != 1) continue;
        bool keeps_last = i == 1;
        return end - from - (keeps_last ? 1 : 0);
    }
    return 0;
}

static bool find_pronoun(const struct said *s, size_t *at)
{
    size_t end;
    return said_find(s, "it|that|they|them|those|these|this $", at, &end) ||
           said_find(s, "it|they|them|its|their", at, &end) ||
           said_find(s, "is|was|are|were|did|has|does|might|could|about|why that|this|those", at,
                     &end);
}

static bool is_small_talk(const struct said *s)
{
    return said_has(s, "thanks|thank|thx|cheers|great|cool|nice|helps|helpful|perfect|bye|hello|hi|"
                       "awesome|lol|haha|sorry|welcome") &&
           !said_has(s, "why|when|how|what|which");
}

/* ---- ways to put two questions together ---- */

/* The base with another thing in the place of its own. */
static bool swap_thing(struct resolver *r, const struct said *s, struct text *out)
{
    size_t from, end, own, own_end;
    if (!find_thing(s, &from, &end) || !find_thing(&r->base, &own, &own_end)) return false;
    *out = (struct text){.len = 0};
    append(out, &r->base, 0, own);
    append(out, s, from, end);
    append(out, &r->base, own_end, r->base.n);
    return is_understood(r, out, NULL);
}

static bool is_open(const struct plan_window *w)
{
    return w->from == DAY_NONE && w->to == DAY_NONE && w->last == 0;
}

static bool is_window(struct resolver *r, const struct plan *with, size_t from, size_t end)
{
    struct plan without;
    struct text text = {.len = 0};
    append(&text, &r->base, 0, from);
    append(&text, &r->base, end, r->base.n);
    if (!is_understood(r, &text, &without) || !is_open(&without.window)) return false;
    return with->op == without.op && with->metric == without.metric;
}

static bool is_before_window(const struct said *s, size_t i)
{
    static const char list[] = "in|on|during|over|for|from|since|at|within|across|of|the|my|last|"
                               "this|past|previous|these|next";
    size_t at = 0;
    for (struct weir_slice w = alias_next(list, &at); w.len > 0; w = alias_next(list, &at))
        if (slice_eq(w, s->words[i].text)) return true;
    return false;
}

/* Where the base names its window: the least that can go without any other change. */
static bool find_window(struct resolver *r, size_t *from, size_t *end, struct plan *plan)
{
    struct text text = {.len = 0};
    append(&text, &r->base, 0, r->base.n);
    if (!is_understood(r, &text, plan) || is_open(&plan->window)) return false;
    for (size_t n = 1; n <= WINDOW_WORDS; n++)
        for (size_t i = 1; i + n < r->base.n; i++) {
            if (!is_window(r, plan, i, i + n)) continue;
            *from = i;
            *end = i + n;
            while (*from > 1 && is_before_window(&r->base, *from - 1)) (*from)--;
            return true;
        }
    return false;
}

/* "And on weekends?" is one more condition, not another window. */
static bool add_condition(struct resolver *r, const struct said *s, size_t lead, struct text *out)
{
    struct plan with, without;
    *out = (struct text){.len = 0};
    append(out, &r->base, 0, r->base.n);
    if (!is_understood(r, out, &without)) return false;
    append(out, s, 1 + lead, s->n);
    return is_understood(r, out, &with) && with.where.n > without.where.n &&
           with.metric == without.metric && with.op == without.op &&
           memcmp(&with.window, &without.window, sizeof with.window) == 0;
}

/* The base with another window, or one where there was none. */
static bool swap_window(struct resolver *r, const struct said *s, size_t lead, struct text *out)
{
    size_t from = r->base.n, end = r->base.n;
    struct plan plan;
    if (!find_window(r, &from, &end, &plan)) from = end = r->base.n;
    *out = (struct text){.len = 0};
    append(out, &r->base, 0, from);
    append(out, &r->base, end, r->base.n);
    append(out, s, 1 + lead, s->n);
    return is_understood(r, out, &plan) && !is_open(&plan.window);
}

/* Both: "and REM in April?" */
static bool swap_both(struct resolver *r, const struct said *s, struct text *out)
{
    size_t from, end, own, own_end, w = r->base.n, w_end = r->base.n;
    struct plan plan;
    if (!find_thing(s, &from, &end) || !find_thing(&r->base, &own, &own_end)) return false;
    if (end + 1 >= s->n) return false;
    if (!find_window(r, &w, &w_end, &plan)) w = w_end = r->base.n;
    *out = (struct text){.len = 0};
    for (size_t i = 0; i < r->base.n; i++) {
        if (i == own) append(out, s, from, end);
        bool is_gone = (i >= own && i < own_end) || (i >= w && i < w_end);
        if (!is_gone) append(out, &r->base, i, i + 1);
    }
    append(out, s, end, s->n);
    return is_understood(r, out, NULL);
}

/* "It" is what the base is about. */
static bool name_pronoun(struct resolver *r, const struct said *s, struct text *out)
{
    size_t at, own, own_end;
    if (!find_pronoun(s, &at) || !find_thing(&r->base, &own, &own_end)) return false;
    if (!said_has(s, "it|they|them|its|their") && !weir_slice_is(s->words[at].text, "that") &&
        !weir_slice_is(s->words[at].text, "this") && !weir_slice_is(s->words[at].text, "those") &&
        !weir_slice_is(s->words[at].text, "these"))
        at++;
    *out = (struct text){.len = 0};
    append(out, s, 0, at);
    append_str(out, "my");
    append(out, &r->base, own, own_end);
    append(out, s, at + 1, s->n);
    return true;
}

/* "Why?" alone is about the base. */
static bool name_bare(struct resolver *r, const struct said *s, struct text *out)
{
    size_t own, own_end;
    if (count_words(s) > 3 || !find_thing(&r->base, &own, &own_end)) return false;
    if (!said_has(s, "^ why|how come?")) return false;
    *out = (struct text){.len = 0};
    append(out, s, 0, s->n);
    append_str(out, "is that with my");
    append(out, &r->base, own, own_end);
    return true;
}

static bool combine(struct resolver *r, const struct said *s, struct text *out)
{
    size_t from, end, lead = lead_words(s);
    bool has_thing = find_thing(s, &from, &end);
    if (has_thing && lead == 0) return false;
    if (has_thing) return swap_both(r, s, out) || swap_thing(r, s, out);
    if (name_bare(r, s, out) || name_pronoun(r, s, out)) return true;
    return add_condition(r, s, lead, out) || swap_window(r, s, lead, out);
}

/* ---- the whole ---- */

static bool leans(const struct said *s)
{
    return count_words(s) > 0 && count_words(s) <= LEANING_WORDS && !is_small_talk(s);
}

/* As a question for people: a capital letter, a question mark. */
static enum weir_status finish(struct agent_case *c, struct text *t, struct weir_slice *out)
{
    char *bytes = arena_alloc(c->arena, t->len + 1);
    if (!bytes) return c->arena->status;
    memcpy(bytes, t->bytes, t->len);
    if (bytes[0] >= 'a' && bytes[0] <= 'z') bytes[0] = (char)(bytes[0] - 'a' + 'A');
    bytes[t->len] = '?';
    *out = slice_of(bytes, t->len + 1);
    return WEIR_OK;
}

static enum weir_status take(struct resolver *r, struct weir_slice text, struct weir_slice *out)
{
    struct said said;
    struct text combined;
    *out = text;
    enum weir_status st = said_read(&said, text, r->c->data, r->c->arena);
    if (st != WEIR_OK) return st;
    if (r->has_base && leans(&said) && combine(r, &said, &combined)) {
        st = finish(r->c, &combined, out);
        if (st == WEIR_OK) st = said_read(&said, *out, r->c->data, r->c->arena);
        if (st != WEIR_OK) return st;
    }
    if (!said_has_thing(&said)) return WEIR_OK;
    r->base = said;
    r->has_base = true;
    return WEIR_OK;
}

enum weir_status resolve_question(struct agent_case *c, struct weir_slice *out)
{
    struct resolver r = {.c = c};
    size_t n = 0, n_user = 0;
    enum weir_status st = WEIR_OK;
    *out = c->question;
    for (const struct weir_json *m = weir_json_first(c->messages); m; m = weir_json_next(m))
        n_user += weir_slice_is(agent_text(m, "role"), "user");
    for (const struct weir_json *m = weir_json_first(c->messages); m && st == WEIR_OK;
         m = weir_json_next(m)) {
        if (!weir_slice_is(agent_text(m, "role"), "user")) continue;
        bool is_near = n_user - n <= LOOK_BACK, is_last = ++n == n_user;
        struct weir_slice text = is_last ? c->question : agent_text(m, "content");
        if (is_near && text.len <= ASK_BYTES) st = take(&r, text, out);
    }
    if (c->question.len > ASK_BYTES) *out = c->question;
    return st;
}
