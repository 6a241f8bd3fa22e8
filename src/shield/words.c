/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words around a place. A table of all words is made once, with the rules; looking at a place costs
 * the bytes of its window and one probe for each word in it.
 */
#include "shield/words.h"

#include <string.h>

enum { WINDOW_BEFORE = 80, WINDOW_AFTER = 32, WORD_MAX = 32, WIDE_WORD = 6 };

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
static bool is_word_byte(const unsigned char *text, size_t at, size_t end)
{
    unsigned classes = shield_bytes[text[at]];
    if (classes & (BYTE_LETTER | BYTE_HIGH)) return true;
    if (!strchr(".'-", text[at]) || !text[at] || at == 0 || at + 1 >= end) return false;
    return (shield_bytes[text[at - 1]] & BYTE_LETTER) && (shield_bytes[text[at + 1]] & BYTE_LETTER);
}

/* Words without spaces: every two characters of three bytes each. */
static unsigned wide_groups(const struct words *w, const unsigned char *text, size_t len)
{
    unsigned groups = 0;
    for (size_t i = 0; i + WIDE_WORD <= len; i++)
        if (text[i] >= 0xE3 && text[i] <= 0xE9)
            groups |= words_get(w, (struct weir_slice){(const char *)text + i, WIDE_WORD});
    return groups;
}

/* A word, and the parts of one that signs hold together: "Tel.+44", "phone-number". */
static unsigned word_groups(const struct words *w, const unsigned char *text, size_t len)
{
    unsigned groups = words_get(w, (struct weir_slice){(const char *)text, len});
    if (groups || len < 3) return groups;
    if (text[0] >= 0xE3 || memchr(text, 0xE7, len) || memchr(text, 0xE6, len))
        return wide_groups(w, text, len);
    size_t from = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && text[i] != '.' && text[i] != '-' && text[i] != '\'') continue;
        if (i > from && (from > 0 || i < len))
            groups |= words_get(w, (struct weir_slice){(const char *)text + from, i - from});
        from = i + 1;
    }
    return groups;
}

static unsigned window_groups(const struct scan *s, size_t from, size_t to)
{
    unsigned groups = 0;
    for (size_t at = from; at < to;) {
        size_t start = at;
        while (at < to && is_word_byte(s->text, at, to)) at++;
        if (at > start) groups |= word_groups(&s->rules->words, s->text + start, at - start);
        else at++;
    }
    return groups;
}

unsigned context_of(const struct shield_rules *rules, struct weir_slice word)
{
    return words_get(&rules->words, word);
}

/* The window begins with a whole word, and after the last empty line. */
unsigned context_before(struct scan *s, size_t at)
{
    if (s->context_at == at) return s->context;
    size_t from = at > WINDOW_BEFORE ? at - WINDOW_BEFORE : 0;
    if (from > 0)
        while (from < at && is_word_byte(s->text, from, at)) from++;
    for (size_t i = at; i > from + 1; i--) {
        if (s->text[i - 1] != '\n' || s->text[i - 2] != '\n') continue;
        from = i;
        break;
    }
    s->context = window_groups(s, from, at);
    s->context_at = at;
    return s->context;
}

unsigned context_near(struct scan *s, size_t start, size_t end)
{
    size_t to = s->len - end > WINDOW_AFTER ? end + WINDOW_AFTER : s->len;
    size_t from = end;
    /* What follows on another line or in another sentence is about something else. */
    for (size_t i = end; i < to; i++) {
        bool is_stop = s->text[i] == '\n' || s->text[i] == ';' ||
                       (s->text[i] == '.' && scan_byte(s, i + 1) == ' ');
        if (is_stop) to = i;
    }
    while (to > from && to < s->len && is_word_byte(s->text, to - 1, to) &&
           is_word_byte(s->text, to, s->len))
        to--;
    return context_before(s, start) | (to > from ? window_groups(s, from, to) : 0);
}
