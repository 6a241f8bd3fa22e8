/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words around a place. A table of all words is made once, with the rules; looking at a place costs
 * the bytes of its window and one probe for each word in it.
 */
#include "shield/words.h"

#include <string.h>

enum {
    WINDOW_BEFORE = 80,
    WINDOW_AFTER = 32,
    WORD_MAX = 32,
    WIDE_WORD = 6,
    RUN_MAX = 192,
    TOKEN_BYTES = 48
};

struct word_list {
    const char *words;
    unsigned group;
};

static const struct word_list lists[] = {
#define X(words, group) {words, CONTEXT_##group},
#include "shield/words.def"
#undef X
};

static uint32_t hash_of(const char *word, size_t len)
{
    uint32_t h = 2166136261U;
    for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)word[i]) * 16777619U;
    return h ^ h >> 15;
}

/* The place of a word, or the free one where it would be. */
static size_t place_of(const struct words *w, const char *word, size_t len)
{
    size_t at = hash_of(word, len) % WORDS_PLACES;
    while (w->places[at].len > 0 &&
           (w->places[at].len != len || memcmp(w->places[at].word, word, len) != 0))
        at = (at + 1) % WORDS_PLACES;
    return at;
}

void words_init(struct words *w)
{
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const char *at = lists[i].words; *at;) {
            size_t len = strcspn(at, "|");
            struct word_place *p = &w->places[place_of(w, at, len)];
            *p = (struct word_place){at, (uint8_t)len, p->groups | lists[i].group};
            at += len + (at[len] == '|');
        }
    }
}

unsigned words_get(const struct words *w, struct weir_slice word)
{
    char lower[WORD_MAX];
    if (word.len == 0 || word.len > WORD_MAX) return 0;
    for (size_t i = 0; i < word.len; i++) lower[i] = (char)lower_of((unsigned char)word.ptr[i]);
    return w->places[place_of(w, lower, word.len)].groups;
}

/* Signs may stand inside of words: "d.o.b", "driver's", "pass-nr". */
static bool is_word_byte(const struct scan *s, size_t at)
{
    unsigned char c = s->text[at];
    if (shield_bytes[c] & (BYTE_LETTER | BYTE_HIGH)) return true;
    if (c != '.' && c != '\'' && c != '-') return false;
    return scan_is_before(s, at, BYTE_LETTER) && scan_is(s, at + 1, BYTE_LETTER);
}

static void add_hit(struct scan *s, size_t start, size_t end, unsigned groups)
{
    s->hits[s->n_hits++ % CONTEXT_HITS] = (struct context_hit){start, end, groups};
}

static void add_word(struct scan *s, size_t start, size_t end)
{
    struct weir_slice word = {(const char *)s->text + start, end - start};
    unsigned groups = words_get(&s->rules->words, word);
    if (groups) add_hit(s, start, end, groups);
}

/* Words without spaces: every two characters of three bytes each. */
static void add_wide(struct scan *s, size_t start, size_t end)
{
    for (size_t i = start; i + WIDE_WORD <= end; i++)
        if (s->text[i] >= 0xE3 && s->text[i] <= 0xE9) add_word(s, i, i + WIDE_WORD);
}

/* A word, and the parts of one that signs hold together: "phone-number". */
static void add_run(struct scan *s, size_t start, size_t end, unsigned classes)
{
    size_t n_before = s->n_hits;
    add_word(s, start, end);
    if (s->n_hits > n_before) return;
    if (classes & BYTE_HIGH) add_wide(s, start, end);
    if (!(classes & BYTE_DOT)) return;
    size_t from = start;
    for (size_t i = start; i <= end; i++) {
        if (i < end && (shield_bytes[s->text[i]] & (BYTE_LETTER | BYTE_HIGH))) continue;
        add_word(s, from, i);
        from = i + 1;
    }
}

/* The end of a placeholder of ours at a bracket, whose words say nothing of what stands near; 0. */
static size_t token_end(const struct scan *s, size_t at)
{
    size_t name = scan_run(s, at + 1, BYTE_LOWER | BYTE_DIGIT | BYTE_SIGN, TOKEN_BYTES);
    bool has_number = name > at + 3 && scan_is_before(s, name, BYTE_DIGIT);
    return has_number && scan_byte(s, name) == ']' ? name + 1 : 0;
}

/* Finds the words up to a place; a word across it is taken whole. */
static void read_words(struct scan *s, size_t to)
{
    size_t at = s->words_done;
    while (at < to) {
        size_t start = at;
        unsigned classes = 0;
        while (at < s->len && at - start < RUN_MAX && is_word_byte(s, at)) {
            unsigned c = shield_bytes[s->text[at++]];
            classes |= c & (BYTE_LETTER | BYTE_HIGH) ? c : BYTE_DOT;
        }
        if (at > start) {
            add_run(s, start, at, classes);
            continue;
        }
        if (s->text[at] == '\n' && scan_byte(s, at + 1) == '\n') add_hit(s, at, at + 1, 0);
        size_t token = s->text[at] == '[' ? token_end(s, at) : 0;
        at = token > 0 ? token : at + 1;
    }
    s->words_done = at;
}

/* Begins anew, with a whole word, where nothing before can matter any more. */
static void skip_to(struct scan *s, size_t from)
{
    if (from <= s->words_done) return;
    size_t at = from;
    while (at < s->len && at - from < RUN_MAX && is_word_byte(s, at)) at++;
    s->words_done = at;
}

/* The groups of the words within [from, to) since the last empty line before `to`. */
static unsigned groups_in(const struct scan *s, size_t from, size_t to)
{
    unsigned groups = 0;
    size_t oldest = s->n_hits > CONTEXT_HITS ? s->n_hits - CONTEXT_HITS : 0;
    for (size_t i = s->n_hits; i > oldest; i--) {
        const struct context_hit *hit = &s->hits[(i - 1) % CONTEXT_HITS];
        if (hit->end > to) continue;
        if (hit->start < from || hit->groups == 0) break;
        groups |= hit->groups;
    }
    return groups;
}

unsigned context_of(const struct shield_rules *rules, struct weir_slice word)
{
    return words_get(&rules->words, word);
}

unsigned context_before(struct scan *s, size_t at)
{
    size_t from = at > WINDOW_BEFORE ? at - WINDOW_BEFORE : 0;
    skip_to(s, from);
    read_words(s, at);
    return groups_in(s, from, at);
}

unsigned context_since(struct scan *s, size_t from, size_t at)
{
    context_before(s, at);
    return groups_in(s, from, at);
}

unsigned context_near(struct scan *s, size_t start, size_t end)
{
    unsigned before = context_before(s, start);
    size_t to = s->len - end > WINDOW_AFTER ? end + WINDOW_AFTER : s->len;
    /* What follows on another line or in another sentence is about something else. */
    for (size_t i = end; i < to; i++) {
        bool is_stop = s->text[i] == '\n' || s->text[i] == ';' ||
                       (s->text[i] == '.' && scan_byte(s, i + 1) == ' ');
        if (is_stop) to = i;
    }
    skip_to(s, end);
    read_words(s, to);
    return before | groups_in(s, end, to);
}
