/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lexicon in memory: a table of phrases and one of stemmed phrases, each with its senses, and
 * a list of single words for slips of the pen. All of it lies in fixed memory that is filled once;
 * the tables are constant afterwards. The ceilings are those of our own tables, so reaching one is
 * our mistake and not an input's.
 */
#include "ask/lexicon.h"

#include <pthread.h>

#include "base/check.h"
#include "base/slice.h"

enum {
    PLACES = 1 << 14, /* of each table */
    MAX_SENSES = 1 << 14,
    TEXT_BYTES = 1 << 18,
    MAX_WORDS = 6000,
    PHRASE_BYTES = 128,
    OTHER_FROM = 6, /* letters for one to be another: "pages" are no "paces" */
    SLIP_FROM = 5,  /* letters that a word must have to be guessed */
    TWO_SLIPS_FROM = 9,
    LONGEST_WORD = 40,
};

struct place {
    struct weir_slice phrase;
    uint32_t first; /* sense, counted from 1; 0: empty */
};

struct chained {
    struct sense sense;
    uint32_t next;
};

struct grammar_row {
    enum symbol symbol;
    int arg;
    const void *ptr;
    const char *phrases;
};

#define WORDS(symbol_, arg_, phrases_)     {symbol_, arg_, NULL, phrases_},
#define WORDS_PTR(symbol_, ptr_, phrases_) {symbol_, 0, ptr_, phrases_},
static const struct grammar_row grammar[] = {
#include "ask/lexicon.def"
};

static struct {
    struct place whole[PLACES], stems[PLACES];
    struct chained senses[MAX_SENSES];
    uint32_t n_senses;
    char text[TEXT_BYTES];
    size_t n_text;
    struct weir_slice words[MAX_WORDS]; /* worth a guess */
    size_t n_words, n_names;            /* the first n_names are of the catalogue */
    struct place known[PLACES];         /* all single words; `first` only says that it is one */
} lexicon;

static pthread_once_t built = PTHREAD_ONCE_INIT;

/* ---- tables ---- */

static uint32_t hash_of(struct weir_slice s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.len; i++) h = (h ^ (unsigned char)s.ptr[i]) * 16777619u;
    return h;
}

/* The place of a phrase, or the empty one where it would stand. */
static struct place *place_of(struct place *table, struct weir_slice phrase)
{
    uint32_t at = hash_of(phrase) % PLACES;
    while (table[at].first != 0 && !slice_eq(table[at].phrase, phrase)) at = (at + 1) % PLACES;
    return &table[at];
}

static struct weir_slice keep(struct weir_slice s)
{
    CHECK(lexicon.n_text + s.len <= TEXT_BYTES);
    char *to = lexicon.text + lexicon.n_text;
    memcpy(to, s.ptr, s.len);
    lexicon.n_text += s.len;
    return (struct weir_slice){to, s.len};
}

static bool is_same_sense(struct sense a, struct sense b)
{
    return a.symbol == b.symbol && a.arg == b.arg && a.ptr == b.ptr;
}

/* At the end of the chain, so that senses come out in the order of the tables. */
static void add_sense(struct place *table, struct weir_slice phrase, struct sense sense)
{
    struct place *p = place_of(table, phrase);
    uint32_t *link = &p->first;
    if (*link == 0) p->phrase = keep(phrase);
    for (; *link != 0; link = &lexicon.senses[*link - 1].next)
        if (is_same_sense(lexicon.senses[*link - 1].sense, sense)) return;
    CHECK(lexicon.n_senses < MAX_SENSES);
    lexicon.senses[lexicon.n_senses] = (struct chained){.sense = sense};
    *link = ++lexicon.n_senses;
}

/* ---- stems ---- */

static bool ends_in(const char *s, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len > n + 2 && memcmp(s + len - n, end, n) == 0;
}

static bool is_doubled(const char *s, size_t len)
{
    return len >= 3 && s[len - 1] == s[len - 2] && !strchr("aeiouls", s[len - 1]);
}

size_t lexicon_stem(char *out, struct weir_slice word)
{
    size_t n = word.len;
    memcpy(out, word.ptr, n);
    if (n <= 3) return n;
    if (ends_in(out, n, "ies")) {
        n -= 2;
        out[n - 1] = 'y';
        return n;
    }
    if (ends_in(out, n, "ches") || ends_in(out, n, "shes") || ends_in(out, n, "sses") ||
        ends_in(out, n, "xes"))
        n -= 2;
    else if (out[n - 1] == 's' && !strchr("sui", out[n - 2])) n -= 1;
    size_t cut = ends_in(out, n, "ing") ? 3 : ends_in(out, n, "ed") ? 2 : 0;
    if (cut > 0 && n - cut >= 3) {
        n -= cut;
        if (is_doubled(out, n)) n--;
    }
    return n;
}

static struct weir_slice stem_phrase(char *out, struct weir_slice phrase)
{
    size_t n = 0;
    while (phrase.len > 0) {
        const char *blank = memchr(phrase.ptr, ' ', phrase.len);
        size_t len = blank ? (size_t)(blank - phrase.ptr) : phrase.len;
        if (n > 0) out[n++] = ' ';
        n += lexicon_stem(out + n, (struct weir_slice){phrase.ptr, len});
        phrase = slice_from(phrase, blank ? len + 1 : len);
    }
    return (struct weir_slice){out, n};
}

/* ---- filling ---- */

static bool is_phrase_char(char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return true;
    return (unsigned char)c >= 0x80 || c == '%' || c == '&';
}

/* As the words of a question come out: small letters and digits, one blank between, no "'s". */
static struct weir_slice plain_phrase(char *out, struct weir_slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len && n < PHRASE_BYTES - 1; i++) {
        char c = s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? (char)(s.ptr[i] - 'A' + 'a') : s.ptr[i];
        bool is_owner = c == '\'' && i + 1 < s.len && s.ptr[i + 1] == 's';
        if (is_owner) i++;
        else if (is_phrase_char(c)) out[n++] = c;
        else if (n > 0 && out[n - 1] != ' ') out[n++] = ' ';
    }
    while (n > 0 && out[n - 1] == ' ') n--;
    return (struct weir_slice){out, n};
}

/* Names of things, numbers of days and statistics are worth a guess; small words are not. */
static bool is_guessed(enum symbol symbol)
{
    static const enum symbol guessed[] = {S_METRIC,   S_ACTIVITY, S_ANALYTE,   S_STAT,    S_MOST,
                                          S_PERIOD,   S_MONTH,    S_DAYNAME,   S_WEEKEND, S_WEEKDAY,
                                          S_LAST,     S_PREVIOUS, S_YESTERDAY, S_METHOD,  S_UNIT,
                                          S_HOW_MANY, S_STREAK,   S_SESSION};
    for (size_t i = 0; i < sizeof guessed / sizeof *guessed; i++)
        if (symbol == guessed[i]) return true;
    return false;
}

static void add_words_of(struct weir_slice phrase)
{
    while (phrase.len > 0) {
        const char *blank = memchr(phrase.ptr, ' ', phrase.len);
        size_t len = blank ? (size_t)(blank - phrase.ptr) : phrase.len;
        struct weir_slice w = {phrase.ptr, len};
        phrase = slice_from(phrase, blank ? len + 1 : len);
        if (w.len < SLIP_FROM || w.len > LONGEST_WORD) continue;
        size_t i = 0;
        while (i < lexicon.n_words && !slice_eq(lexicon.words[i], w)) i++;
        if (i < lexicon.n_words) continue;
        CHECK(lexicon.n_words < MAX_WORDS);
        lexicon.words[lexicon.n_words++] = keep(w);
    }
}

static void add_known(struct weir_slice phrase)
{
    while (phrase.len > 0) {
        const char *blank = memchr(phrase.ptr, ' ', phrase.len);
        size_t len = blank ? (size_t)(blank - phrase.ptr) : phrase.len;
        struct place *p = place_of(lexicon.known, (struct weir_slice){phrase.ptr, len});
        if (p->first == 0) *p = (struct place){keep((struct weir_slice){phrase.ptr, len}), 1};
        phrase = slice_from(phrase, blank ? len + 1 : len);
    }
}

/* Phrases whose exact words matter: "meaning of" is not "mean of", "runs average" no average. */
static bool is_stemmed(enum symbol symbol)
{
    return symbol != S_FILLER && symbol != S_DO && symbol != S_WHICH && symbol != S_REFUSE &&
           symbol != S_ROLLING && symbol != S_STREAK && symbol != S_HOW_MANY &&
           symbol != S_DAYNAME && symbol != S_MONTH;
}

static void add_phrase(struct weir_slice text, struct sense sense)
{
    char plain[PHRASE_BYTES], stem[PHRASE_BYTES];
    struct weir_slice phrase = plain_phrase(plain, text);
    if (phrase.len == 0) return;
    add_sense(lexicon.whole, phrase, sense);
    if (is_stemmed(sense.symbol)) add_sense(lexicon.stems, stem_phrase(stem, phrase), sense);
    if (is_guessed(sense.symbol)) add_words_of(phrase);
    add_known(phrase);
}

static void add_phrases(const char *list, struct sense sense)
{
    size_t at = 0;
    for (struct weir_slice a = alias_next(list, &at); a.len > 0; a = alias_next(list, &at))
        add_phrase(a, sense);
}

/* A bracket in a title is an explanation: "heart rate variability (RMSSD)". */
static void add_title(const char *title, struct sense sense)
{
    add_phrase(weir_slice_of(title), sense);
    size_t len = strcspn(title, "(");
    if (title[len] != '\0') add_phrase((struct weir_slice){title, len}, sense);
}

/* Short aliases that are common words of other things would be read into half of all questions. */
static bool is_too_short(struct weir_slice alias)
{
    return alias.len < 2 || weir_slice_is(alias, "na") || weir_slice_is(alias, "mg");
}

static void add_analyte(const struct analyte *a)
{
    struct sense sense = {S_ANALYTE, 0, a};
    add_phrase(weir_slice_of(a->name), sense);
    add_title(a->title, sense);
    size_t at = 0;
    for (struct weir_slice s = alias_next(a->aliases, &at); s.len > 0;
         s = alias_next(a->aliases, &at))
        if (!is_too_short(s)) add_phrase(s, sense);
}

static void add_activity(const struct activity *a)
{
    /* "other" and "generic" are kinds in files and plain words in questions. */
    if (strcmp(a->name, "other") == 0) return;
    struct sense sense = {S_ACTIVITY, 0, a};
    add_phrase(weir_slice_of(a->name), sense);
    add_phrase(weir_slice_of(a->title), sense);
    add_phrases(a->aliases, sense);
}

static void build(void)
{
    for (size_t i = 0; i < metric_count(); i++) {
        const struct metric *m = metric_at(i);
        struct sense sense = {S_METRIC, 0, m};
        add_phrase(weir_slice_of(m->name), sense);
        add_title(m->title, sense);
        add_phrases(m->aliases, sense);
    }
    for (size_t i = 0; i < analyte_count(); i++) add_analyte(analyte_at(i));
    for (size_t i = 0; i < activity_count(); i++) add_activity(activity_at(i));
    lexicon.n_names = lexicon.n_words;
    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++)
        add_phrases(grammar[i].phrases,
                    (struct sense){grammar[i].symbol, grammar[i].arg, grammar[i].ptr});
}

static void ensure_built(void)
{
    CHECK(pthread_once(&built, build) == 0);
}

/* ---- finding ---- */

static bool collect(struct senses *out, struct place *table, struct weir_slice phrase)
{
    out->n = 0;
    for (uint32_t i = place_of(table, phrase)->first; i != 0; i = lexicon.senses[i - 1].next)
        if (out->n < LEXICON_SENSES) out->list[out->n++] = lexicon.senses[i - 1].sense;
    return out->n > 0;
}

bool lexicon_find(struct senses *out, struct weir_slice phrase)
{
    ensure_built();
    return collect(out, lexicon.whole, phrase);
}

bool lexicon_find_stem(struct senses *out, struct weir_slice phrase)
{
    char stem[PHRASE_BYTES];
    ensure_built();
    out->n = 0;
    if (phrase.len >= PHRASE_BYTES) return false;
    return collect(out, lexicon.stems, stem_phrase(stem, phrase));
}

/* Damerau's distance (neighbours swapped count once), or more than `most` as soon as it is. */
static size_t distance(struct weir_slice a, struct weir_slice b, size_t most)
{
    size_t rows[3][LONGEST_WORD + 1];
    for (size_t j = 0; j <= b.len; j++) rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        size_t best = now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t cost = a.ptr[i - 1] == b.ptr[j - 1] ? 0 : 1;
            size_t d = last[j - 1] + cost;
            if (last[j] + 1 < d) d = last[j] + 1;
            if (now[j - 1] + 1 < d) d = now[j - 1] + 1;
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
                older[j - 2] + 1 < d)
                d = older[j - 2] + 1;
            now[j] = d;
            if (d < best) best = d;
        }
        if (best > most) return most + 1;
    }
    return rows[a.len % 3][b.len];
}

static bool means_same(struct weir_slice a, struct weir_slice b)
{
    struct senses x, y;
    if (!collect(&x, lexicon.whole, a) || !collect(&y, lexicon.whole, b)) return false;
    return x.list[0].symbol == S_METRIC && is_same_sense(x.list[0], y.list[0]);
}

/* "slepping" is as near to "sleeping" as to nothing else; two candidates with one stem are one. */
static bool is_one_stem(struct weir_slice a, struct weir_slice b)
{
    char x[LONGEST_WORD + 1], y[LONGEST_WORD + 1];
    size_t n = lexicon_stem(x, a);
    return n == lexicon_stem(y, b) && memcmp(x, y, n) == 0;
}

bool lexicon_knows(struct weir_slice word)
{
    ensure_built();
    return place_of(lexicon.known, word)->first != 0;
}

/* "slep", "hart": of four letters only one that was left out, in words of five. */
static bool is_left_out(struct weir_slice word, struct weir_slice w)
{
    return word.len >= SLIP_FROM || (w.len == word.len + 1);
}

/* The same letters in another order. */
static bool is_anagram(struct weir_slice a, struct weir_slice b)
{
    int count[256] = {0};
    for (size_t i = 0; i < a.len; i++) count[(unsigned char)a.ptr[i]]++;
    for (size_t i = 0; i < b.len; i++)
        if (--count[(unsigned char)b.ptr[i]] < 0) return false;
    return true;
}

/* Whether a word of ours can be meant at all: about as long, and the first letter right. */
static bool is_candidate(struct weir_slice word, size_t i, size_t most)
{
    struct weir_slice w = lexicon.words[i];
    size_t gap = w.len > word.len ? w.len - word.len : word.len - w.len;
    bool is_swapped = gap > 0 || word.len >= OTHER_FROM || is_anagram(word, w);
    return gap <= most && w.ptr[0] == word.ptr[0] && is_left_out(word, w) && is_swapped;
}

struct weir_slice lexicon_nearest(struct weir_slice word)
{
    struct weir_slice found = {0};
    ensure_built();
    if (word.len + 1 < SLIP_FROM || word.len > LONGEST_WORD) return found;
    size_t most = word.len >= TWO_SLIPS_FROM ? 2 : 1;
    size_t best = most + 1;
    bool is_unique = true;
    for (size_t i = 0; i < lexicon.n_names; i++) {
        struct weir_slice w = lexicon.words[i];
        size_t d = is_candidate(word, i, most) ? distance(word, w, most) : most + 1;
        if (d > most || d > best) continue;
        if (d < best) {
            best = d;
            found = w;
            is_unique = true;
        } else {
            is_unique = is_unique && (is_one_stem(found, w) || means_same(found, w));
        }
    }
    return is_unique ? found : (struct weir_slice){0};
}
