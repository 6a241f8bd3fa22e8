/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words and patterns. A text is cut into sentences, those into pieces that words_read() takes, and
 * its words are put in one row with an empty word at each end of a sentence. Patterns are few
 * hundred and short, questions are short, too: each is tried at each word.
 */
#include <math.h>

#include "agent/said.h"
#include "ask/lexicon.h"
#include "base/slice.h"

enum { PIECE_BYTES = ASK_WORDS }; /* no piece has more words than bytes */

/* ---- words ---- */

static bool is_listed(struct weir_slice word, const char *list)
{
    size_t at = 0;
    for (struct weir_slice w = alias_next(list, &at); w.len > 0; w = alias_next(list, &at))
        if (slice_eq(w, word)) return true;
    return false;
}

static bool is_colour(struct weir_slice word)
{
    return is_listed(word, "just|really|please|pls|plz|actually|literally|honestly|basically|"
                           "kinda|totally|truly|simply|quite|very|so|even|still|also|seriously|"
                           "currently|definitely|currently|absolutely|um|uh|hmm|well|oh");
}

static void push(struct said *s, struct weir_slice text, double number)
{
    bool is_end = text.len == 0;
    if (is_end && s->n > 0 && s->words[s->n - 1].text.len == 0) return;
    s->words[s->n++] = (struct said_word){.text = text, .number = number};
}

/* "One" is too often somebody. */
static double number_in_words(struct weir_slice word)
{
    static const struct {
        const char *word;
        double number;
    } names[] = {{"zero", 0},     {"two", 2},       {"three", 3},      {"four", 4},
                 {"five", 5},     {"six", 6},       {"seven", 7},      {"eight", 8},
                 {"nine", 9},     {"ten", 10},      {"twelve", 12},    {"fourteen", 14},
                 {"fifteen", 15}, {"twenty", 20},   {"thirty", 30},    {"forty", 40},
                 {"fifty", 50},   {"hundred", 100}, {"thousand", 1000}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (weir_slice_is(word, names[i].word)) return names[i].number;
    return NAN;
}

static enum weir_status read_piece(struct said *s, struct weir_slice piece, struct words *words,
                                   struct arena *arena)
{
    enum weir_status st = words_read(words, piece, arena);
    if (st == WEIR_TOO_LARGE) return WEIR_OK; /* it is made of nothing but marks */
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < words->n; i++) {
        struct word *w = &words->list[i];
        bool is_mark = w->kind == WORD_MARK;
        if (is_mark && (w->text.ptr[0] == '?' || w->text.ptr[0] == ';')) push(s, SLICE(""), NAN);
        if (is_mark || is_colour(w->text)) continue;
        push(s, w->text, w->kind == WORD_NUMBER ? w->number : number_in_words(w->text));
    }
    return WEIR_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* How much of the text is one piece: up to the end of a sentence, or a blank, or what there is. */
static size_t piece_length(struct weir_slice text, bool *is_end)
{
    size_t blank = 0;
    *is_end = false;
    for (size_t i = 0; i < text.len && i < PIECE_BYTES / 2; i++) {
        char c = text.ptr[i];
        bool is_last = i + 1 == text.len || is_blank(text.ptr[i + 1]);
        if (is_blank(c)) blank = i + 1;
        *is_end = c == '\n' || (is_last && (c == '.' || c == '!' || c == '?'));
        if (*is_end) return i + 1;
    }
    if (text.len <= PIECE_BYTES / 2) return text.len;
    return blank > 0 ? blank : PIECE_BYTES / 2;
}

static enum weir_status read_text(struct said *s, struct weir_slice text, struct arena *arena)
{
    struct words *words = arena_alloc(arena, sizeof *words);
    if (!words) return arena->status;
    while (text.len > 0) {
        bool is_end;
        size_t n = piece_length(text, &is_end);
        enum weir_status st = read_piece(s, slice_of(text.ptr, n), words, arena);
        if (st != WEIR_OK) return st;
        if (is_end) push(s, SLICE(""), NAN);
        text = slice_from(text, n);
    }
    return WEIR_OK;
}

size_t said_join(const struct said *s, size_t from, size_t end, char *out, size_t cap)
{
    size_t len = 0;
    for (size_t i = from; i < end && i < s->n; i++) {
        struct weir_slice word = s->words[i].text;
        if (len + word.len + 2 > cap) break;
        if (len > 0) out[len++] = ' ';
        if (word.len > 0) memcpy(out + len, word.ptr, word.len);
        len += word.len;
    }
    if (cap > 0) out[len] = 0;
    return len;
}

static bool is_thing(struct weir_slice phrase, struct dataset *data)
{
    struct senses senses;
    bool is_known = lexicon_find(&senses, phrase) || lexicon_find_stem(&senses, phrase);
    for (size_t i = 0; is_known && i < senses.n; i++) {
        enum symbol symbol = senses.list[i].symbol;
        if (symbol == S_METRIC || symbol == S_ACTIVITY || symbol == S_ANALYTE ||
            symbol == S_WORKOUT)
            return true;
    }
    return !is_known && data && dataset_find_metric(data, phrase);
}

static uint8_t thing_words(const struct said *s, size_t at)
{
    char phrase[128];
    for (size_t n = SAID_THING_WORDS; n > 0; n--) {
        if (at + n > s->n) continue;
        bool is_whole = true;
        for (size_t i = at; i < at + n; i++) is_whole = is_whole && s->words[i].text.len > 0;
        if (!is_whole) continue;
        size_t len = said_join(s, at, at + n, phrase, sizeof phrase);
        if (is_thing(slice_of(phrase, len), s->data)) return (uint8_t)n;
    }
    struct weir_slice word = s->words[at].text;
    if (word.len == 0 || lexicon_knows(word)) return 0;
    struct weir_slice nearest = lexicon_nearest(word);
    return nearest.len > 0 && is_thing(nearest, NULL) ? 1 : 0;
}

/* "Run an analysis" is no run, and a "next step" was not walked. */
static void forget_others(struct said *s)
{
    static const char *const others[] = {
        "run|ran|running a|an|the|some|another|my? analysis|check|scan|report|query|script|test",
        "run|walk me|us through|over|by",
        "flight|flights to|from|ticket*|number",
        "next|first|small|baby|simple|concrete|practical step|steps",
        "step|steps by|to|toward|towards|should|can|could",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t from, end = 0;
        for (size_t at = 0; said_find_from(s, others[i], at, &from, &end); at = end)
            for (size_t k = from; k < end; k++) s->words[k].thing = 0;
    }
}

/* Whether the person has metrics that are not of the catalogue; most have none. */
static bool has_own_metrics(struct dataset *data)
{
    const struct metric *const *list;
    size_t n;
    if (!data || dataset_metrics(data, &list, &n) != WEIR_OK) return false;
    for (size_t i = 0; i < n; i++) {
        bool is_of_catalogue = false;
        for (size_t k = 0; k < metric_count() && !is_of_catalogue; k++)
            is_of_catalogue = list[i] == metric_at(k);
        if (!is_of_catalogue) return true;
    }
    return false;
}

enum weir_status said_read(struct said *out, struct weir_slice text, struct dataset *data,
                           struct arena *arena)
{
    struct weir_slice head = text, tail = {0};
    if (text.len > SAID_BYTES) {
        head.len = SAID_BYTES / 2;
        tail = slice_from(text, text.len - SAID_BYTES / 2);
    }
    /* A byte may be a word and end a sentence; a contraction of three is two words. */
    size_t cap = 2 * (head.len + tail.len) + 4;
    *out = (struct said){.words = arena_alloc(arena, cap * sizeof *out->words),
                         .data = has_own_metrics(data) ? data : NULL};
    if (!out->words) return arena->status;
    push(out, SLICE(""), NAN);
    enum weir_status st = read_text(out, head, arena);
    if (st == WEIR_OK) st = read_text(out, tail, arena);
    if (st != WEIR_OK) return st;
    push(out, SLICE(""), NAN);
    for (size_t i = 0; i < out->n; i++) out->words[i].thing = thing_words(out, i);
    forget_others(out);
    return WEIR_OK;
}

void said_hide(struct said *s, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) s->words[i].is_hidden = true;
}

/* ---- patterns ---- */

static struct weir_slice next_element(const char **pattern)
{
    const char *p = *pattern;
    while (*p == ' ') p++;
    struct weir_slice element = {p, strcspn(p, " ")};
    *pattern = p + element.len;
    return element;
}

static bool word_fits(struct weir_slice word, struct weir_slice form)
{
    if (form.len > 0 && form.ptr[form.len - 1] == '*')
        return word.len >= form.len - 1 && memcmp(word.ptr, form.ptr, form.len - 1) == 0;
    return slice_eq(word, form);
}

/* How many words one alternative takes at i: "heart_stops" is two; 0: it does not hold. */
static size_t alternative_takes(const struct said *s, size_t i, struct weir_slice form)
{
    for (size_t n = 0;; n++) {
        const char *joint = memchr(form.ptr, '_', form.len);
        size_t len = joint ? (size_t)(joint - form.ptr) : form.len;
        if (i + n >= s->n || s->words[i + n].is_hidden || s->words[i + n].text.len == 0) return 0;
        if (!word_fits(s->words[i + n].text, slice_of(form.ptr, len))) return 0;
        if (!joint) return n + 1;
        form = slice_from(form, len + 1);
    }
}

static size_t any_takes(const struct said *s, size_t i, struct weir_slice element)
{
    while (element.len > 0) {
        const char *bar = memchr(element.ptr, '|', element.len);
        size_t len = bar ? (size_t)(bar - element.ptr) : element.len;
        size_t n = alternative_takes(s, i, slice_of(element.ptr, len));
        if (n > 0) return n;
        element = slice_from(element, bar ? len + 1 : len);
    }
    return 0;
}

static double limit_of(struct weir_slice digits)
{
    double limit = 0;
    for (size_t i = 0; i < digits.len; i++) limit = limit * 10 + (digits.ptr[i] - '0');
    return limit;
}

/* How many words an element takes at i; 0: it does not hold there. */
static size_t element_takes(const struct said *s, size_t i, struct weir_slice element)
{
    if (i >= s->n || s->words[i].is_hidden || s->words[i].text.len == 0) return 0;
    const struct said_word *w = &s->words[i];
    if (element.ptr[0] != '@') return any_takes(s, i, element);
    if (weir_slice_is(element, "@thing")) return w->thing;
    if (isnan(w->number)) return 0;
    if (weir_slice_is(element, "@number")) return 1;
    double limit = limit_of(slice_from(element, 3));
    bool is_so = element.ptr[2] == '<' ? w->number < limit : w->number > limit;
    return is_so ? 1 : 0;
}

static bool is_sentence_end(const struct said *s, size_t i)
{
    return i >= s->n || s->words[i].text.len == 0;
}

static bool match(const struct said *s, const char *pattern, size_t i, size_t *end);

static bool match_gap(const struct said *s, const char *pattern, size_t i, size_t *end)
{
    for (size_t n = 0; n <= SAID_GAP; n++) {
        if (match(s, pattern, i + n, end)) return true;
        if (is_sentence_end(s, i + n) || s->words[i + n].is_hidden) return false;
    }
    return false;
}

static bool match_words(const struct said *s, struct weir_slice element, const char *pattern,
                        size_t i, size_t *end)
{
    bool is_optional = element.ptr[element.len - 1] == '?';
    if (is_optional) element.len--;
    size_t n = element_takes(s, i, element);
    if (n > 0 && match(s, pattern, i + n, end)) return true;
    return is_optional && match(s, pattern, i, end);
}

/* Goes down the pattern, never the text: as deep as the pattern has elements. */
static bool match(const struct said *s, const char *pattern, size_t i, size_t *end)
{
    struct weir_slice element = next_element(&pattern);
    *end = i;
    if (element.len == 0) return true;
    if (weir_slice_is(element, "..")) return match_gap(s, pattern, i, end);
    if (weir_slice_is(element, "$")) return is_sentence_end(s, i) && match(s, pattern, i, end);
    if (weir_slice_is(element, "^"))
        return i > 0 && is_sentence_end(s, i - 1) && match(s, pattern, i, end);
    return match_words(s, element, pattern, i, end);
}

bool said_find_from(const struct said *s, const char *pattern, size_t at, size_t *from, size_t *end)
{
    for (size_t i = at; i < s->n; i++) {
        if (is_sentence_end(s, i) || !match(s, pattern, i, end)) continue;
        *from = i;
        return true;
    }
    return false;
}

bool said_find(const struct said *s, const char *pattern, size_t *from, size_t *end)
{
    return said_find_from(s, pattern, 0, from, end);
}

bool said_is_denied(const struct said *s, size_t at)
{
    static const char light[] =
        "am|is|are|was|were|be|been|have|has|had|having|a|an|any|the|my|going|to|gonna|trying|"
        "thinking|about|of|feel|feeling|felt|it|planning|want|wanting|wants|do|did|does|history|"
        "signs|symptoms|experiencing|experienced|or|anything|like|got|get|ever";
    for (size_t i = at; i-- > 0 && !is_sentence_end(s, i);) {
        if (is_listed(s->words[i].text, "no|not|never|without|nor|neither")) return true;
        if (!is_listed(s->words[i].text, light)) return false;
    }
    return false;
}
