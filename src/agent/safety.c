/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether help comes before numbers, and the words for it. The rules are those of safety.def, of
 * words that follow one another, and of safety_together.def, of what stands in one sentence. The
 * answers have no digits, for an answer of this kind may contain no number at all: emergency
 * numbers differ from country to country, and a wrong one is worse than none.
 */
#include <pthread.h>

#include "agent/route_impl.h"
#include "agent/said_table.h"
#include "base/check.h"
#include "base/slice.h"

static const char *const idioms[] = {
#define IDIOM(pattern) pattern,
#define SAFETY(kind, pattern)
#include "agent/safety.def"
#undef IDIOM
#undef SAFETY
};

static const struct {
    const char *kind, *pattern;
} rules[] = {
#define IDIOM(pattern)
#define SAFETY(kind, pattern) {#kind, pattern},
#include "agent/safety.def"
#undef IDIOM
#undef SAFETY
};

enum { PARTS = 6 }; /* most patterns of a rule */

static const struct {
    const char *kind, *parts[PARTS];
} together[] = {
#define TOGETHER(kind, ...) {#kind, {__VA_ARGS__}},
#include "agent/safety_together.def"
#undef TOGETHER
};

/* ---- spelling ---- */

/* Words that nobody should have to spell when it counts. Of the long ones a slip is forgiven; of
 * the short ones those that are words themselves are left. */
static const char long_words[] = "suicidal|suicide|overdose|overdosed|unconscious|unresponsive|"
                                 "anorexic|anorexia|bulimia|laxative|collapsed|seizure|"
                                 "swallowed|tightness|strangle|anaphylaxis|convulsion";
static const char *const short_words[][2] = {
    {"kil", "kill"},        {"kll", "kill"},          {"strok", "stroke"},
    {"brethe", "breathe"},  {"breth", "breathe"},     {"diying", "dying"},
    {"deth", "death"},      {"dieing", "dying"},      {"cheast", "chest"},
    {"siezure", "seizure"}, {"overdone", "overdone"}, {"lightness", "lightness"},
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Whether one letter too many, too few, another, or two changed round make the one of the other. */
static bool is_slip(struct weir_slice word, struct weir_slice of)
{
    size_t most = word.len > of.len ? word.len - of.len : of.len - word.len;
    size_t head = 0, tail = 0, shorter = smaller(word.len, of.len);
    if (most > 1) return false;
    while (head < shorter && word.ptr[head] == of.ptr[head]) head++;
    while (tail < shorter - head && word.ptr[word.len - 1 - tail] == of.ptr[of.len - 1 - tail])
        tail++;
    size_t left = word.len - head - tail, right = of.len - head - tail;
    if (left <= 1 && right <= 1) return true;
    return left == 2 && right == 2 && word.ptr[head] == of.ptr[head + 1] &&
           word.ptr[head + 1] == of.ptr[head];
}

static struct weir_slice spelled(struct weir_slice word)
{
    size_t at = 0;
    for (size_t i = 0; i < sizeof short_words / sizeof *short_words; i++)
        if (weir_slice_is(word, short_words[i][0])) return weir_slice_of(short_words[i][1]);
    if (word.len < 6) return word;
    for (struct weir_slice s; (s = alias_next(long_words, &at)).len > 0;) {
        bool is_plural = word.len == s.len + 1 && word.ptr[s.len] == 's'; /* which are a drill */
        if (!is_plural && is_slip(word, s)) return s;
    }
    return word;
}

/* ---- rules ---- */

static bool holds(const struct said *s, const char *pattern)
{
    size_t from, end = 0;
    for (size_t at = 0; said_find_from(s, pattern, at, &from, &end); at = from + 1)
        if (!said_is_denied(s, from)) return true;
    return false;
}

/* ---- sentences ---- */

enum {
    N_IDIOMS = sizeof idioms / sizeof *idioms,
    N_RULES = sizeof rules / sizeof *rules,
    N_TOGETHER = sizeof together / sizeof *together,
    FIRST_RULE = N_IDIOMS,
    FIRST_PART = FIRST_RULE + N_RULES,
    N_PATTERNS = FIRST_PART + N_TOGETHER * PARTS,
    SENTENCE_WORDS = 60, /* of a longer one its pieces are looked at, which share a third */
};

static struct said_table *table;

static void make_table(void)
{
    static const char *patterns[N_PATTERNS];
    for (size_t i = 0; i < N_IDIOMS; i++) patterns[i] = idioms[i];
    for (size_t i = 0; i < N_RULES; i++) patterns[FIRST_RULE + i] = rules[i].pattern;
    for (size_t i = 0; i < N_TOGETHER * PARTS; i++)
        patterns[FIRST_PART + i] = together[i / PARTS].parts[i % PARTS];
    table = said_table_new(patterns, N_PATTERNS);
    CHECK(table);
}

struct hearing {
    struct said_look look;
    size_t best; /* the rule that was found; the first ones weigh most */
};

static bool may(const struct hearing *h, size_t pattern)
{
    return said_table_may(table, &h->look, pattern);
}

static bool may_together(const struct hearing *h, size_t row)
{
    bool is_possible = true;
    for (size_t i = 0; is_possible && i < PARTS; i++)
        is_possible = may(h, FIRST_PART + row * PARTS + i);
    return is_possible;
}

static bool hold_together(const struct said *sentence, const char *const parts[PARTS])
{
    if (!holds(sentence, parts[0])) return false;
    for (size_t i = 1; i < PARTS && parts[i]; i++) {
        bool is_not = parts[i][0] == '!';
        if (said_has(sentence, parts[i] + is_not) == is_not) return false;
    }
    return true;
}

static void hear(struct hearing *h, struct said *sentence)
{
    size_t from, end;
    said_table_look(table, sentence, &h->look);
    for (size_t i = 0; i < N_IDIOMS; i++)
        while (may(h, i) && said_find(sentence, idioms[i], &from, &end))
            said_hide(sentence, from, end);
    for (size_t i = 0; i < N_RULES && i < h->best; i++)
        if (may(h, FIRST_RULE + i) && holds(sentence, rules[i].pattern)) h->best = i;
    for (size_t i = 0; i < N_TOGETHER && N_RULES + i < h->best; i++)
        if (may_together(h, i) && hold_together(sentence, together[i].parts)) h->best = N_RULES + i;
}

const char *safety_of(struct said *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct hearing h = {.best = N_RULES + N_TOGETHER};
    size_t begin = 0;
    pthread_once(&once, make_table);
    for (size_t i = 0; i < s->n; i++) s->words[i].text = spelled(s->words[i].text);
    for (size_t i = 1; i < s->n; i++) {
        bool is_end = s->words[i].text.len == 0, is_long = i - begin >= SENTENCE_WORDS;
        if (!is_end && !is_long) continue;
        struct said sentence = {.words = s->words + begin, .n = i - begin + 1, .data = s->data};
        hear(&h, &sentence);
        begin = is_end ? i : i - SENTENCE_WORDS / 3;
    }
    for (size_t i = 0; i < s->n; i++) s->words[i].is_hidden = false;
    if (h.best < N_RULES) return rules[h.best].kind;
    return h.best < N_RULES + N_TOGETHER ? together[h.best - N_RULES].kind : NULL;
}

/* ---- a message that is longer than a question ---- */

enum {
    PIECE_BYTES = 16 << 10,
    OVERLAP_BYTES = 512,         /* a sentence at a seam is whole in one of its two pieces */
    PIECE_WORDS_BYTES = 4 << 20, /* memory of a piece as words */
};

static struct weir_slice last_message(const struct agent_case *c)
{
    const struct weir_json *last = NULL;
    for (const struct weir_json *m = weir_json_first(c->messages); m; m = weir_json_next(m))
        last = m;
    return agent_text(last, "content");
}

const char *safety_beyond(const struct agent_case *c)
{
    struct weir_slice text = last_message(c);
    const char *kind = NULL;
    struct arena arena;
    if (text.len <= c->question.len) return NULL;
    text = slice_from(text, c->question.len > OVERLAP_BYTES ? c->question.len - OVERLAP_BYTES : 0);
    arena_init(&arena, PIECE_WORDS_BYTES);
    while (text.len > 0 && !kind) {
        struct said said;
        struct weir_slice piece = slice_of(text.ptr, smaller(text.len, PIECE_BYTES));
        if (said_read(&said, piece, NULL, &arena) == WEIR_OK) kind = safety_of(&said);
        bool is_last = piece.len == text.len;
        text = slice_from(text, is_last ? piece.len : piece.len - OVERLAP_BYTES);
        arena_reset(&arena);
    }
    arena_fini(&arena);
    return kind;
}

const char *safety_answer(struct weir_slice kind)
{
    if (weir_slice_is(kind, "self_harm"))
        return "I'm really sorry that things are this hard right now. Please don't stay alone with "
               "this: call your local emergency number or a crisis line in your country now, or "
               "go to the nearest emergency department. If you can, tell somebody close to you "
               "and stay with them.\n\nIf this is about somebody else, stay with them, take what "
               "they say seriously, and call for help together.\n\nI'm a program that reads "
               "health data, and people who can listen and help are the right ones to turn to. "
               "Your data can wait.";
    if (weir_slice_is(kind, "starvation"))
        return "I won't help with eating too little or getting rid of food, because it can do "
               "lasting harm, and it can do so quickly. How you feel about food and weight "
               "deserves real support: a doctor, or an eating-disorder helpline in your country, "
               "can help without judging.\n\nIf you feel faint or confused, or your heart beats "
               "irregularly, call your local emergency number now. If you are thinking of harming "
               "yourself, a crisis line is there at any hour.";
    return "This sounds like it could be an emergency. Please call your local emergency number "
           "right now, or have somebody with you call. Don't wait for an answer from an app, and "
           "don't drive yourself.\n\nUntil help comes, stay with somebody, sit or lie down "
           "safely, unlock the door, and do what the person on the phone tells you. I can't judge "
           "from data whether this is dangerous; the people who answer that call can.";
}
