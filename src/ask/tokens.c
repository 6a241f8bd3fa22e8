/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words to tokens. At each word the longest phrase of the lexicon is taken, first as it is
 * written, then by its stems. A word that is in no phrase is tried as a slip of the pen, and the
 * correction is noted. Numbers in words become numbers.
 */
#include <strings.h>

#include "ask/ask_impl.h"
#include "base/slice.h"

enum { PHRASE_BYTES = 120 };

struct number_word {
    const char *text;
    double value;
    bool is_ordinal;
};

static const struct number_word number_words[] = {
    {"zero", 0, false},      {"one", 1, false},       {"two", 2, false},
    {"three", 3, false},     {"four", 4, false},      {"five", 5, false},
    {"six", 6, false},       {"seven", 7, false},     {"eight", 8, false},
    {"nine", 9, false},      {"ten", 10, false},      {"eleven", 11, false},
    {"twelve", 12, false},   {"thirteen", 13, false}, {"fourteen", 14, false},
    {"fifteen", 15, false},  {"sixteen", 16, false},  {"seventeen", 17, false},
    {"eighteen", 18, false}, {"nineteen", 19, false}, {"twenty", 20, false},
    {"thirty", 30, false},   {"forty", 40, false},    {"fourty", 40, false},
    {"fifty", 50, false},    {"sixty", 60, false},    {"seventy", 70, false},
    {"eighty", 80, false},   {"ninety", 90, false},   {"second", 2, true},
    {"third", 3, true},      {"fourth", 4, true},     {"fifth", 5, true},
    {"sixth", 6, true},      {"seventh", 7, true},    {"eighth", 8, true},
    {"ninth", 9, true},      {"tenth", 10, true},     {"twelfth", 12, true},
    {"fifteenth", 15, true}, {"twentieth", 20, true}, {"thirtieth", 30, true},
    {"ninetieth", 90, true},
};

struct reader {
    const struct words *words;
    struct tokens *out;
    struct parse *p;
};

static const struct number_word *number_word_of(const struct words *w, size_t i)
{
    if (i >= w->n || w->list[i].kind != WORD_TEXT) return NULL;
    for (size_t k = 0; k < sizeof number_words / sizeof *number_words; k++)
        if (weir_slice_is(w->list[i].text, number_words[k].text)) return &number_words[k];
    return NULL;
}

static bool word_is(const struct words *w, size_t i, const char *text)
{
    return i < w->n && w->list[i].kind == WORD_TEXT && weir_slice_is(w->list[i].text, text);
}

static bool is_dash(const struct words *w, size_t i)
{
    return i < w->n && w->list[i].kind == WORD_MARK && weir_slice_is(w->list[i].text, "-");
}

/* "hundred", "thousand" behind a number, with what follows: "three hundred and fifty". */
static double scale_of(const struct words *w, size_t i)
{
    if (word_is(w, i, "hundred")) return 100;
    if (word_is(w, i, "thousand") || word_is(w, i, "grand")) return 1000;
    if (word_is(w, i, "million")) return 1000000;
    if (word_is(w, i, "dozen")) return 12;
    return 0;
}

/* "seventy five", "seventy-five": the tens and the ones. */
static size_t small_number(const struct words *w, size_t i, double *value, bool *is_ordinal)
{
    const struct number_word *n = number_word_of(w, i);
    if (!n) return 0;
    *value = n->value;
    *is_ordinal = n->is_ordinal;
    size_t gap = is_dash(w, i + 1) ? 2 : 1;
    const struct number_word *ones = number_word_of(w, i + gap);
    bool is_tens = n->value >= 20 && !n->is_ordinal;
    if (!is_tens || !ones || ones->value >= 10 || ones->value < 1) return 1;
    *value += ones->value;
    *is_ordinal = ones->is_ordinal;
    return gap + 1;
}

static size_t big_number(const struct words *w, size_t i, double *value, bool *is_ordinal)
{
    double total = 0, part = 0;
    size_t n = 0;
    if (word_is(w, i, "a") && scale_of(w, i + 1) > 0) {
        part = 1;
        n = 1;
    } else {
        n = small_number(w, i, &part, is_ordinal);
        if (n == 0 && i < w->n && w->list[i].kind == WORD_NUMBER && scale_of(w, i + 1) > 0) {
            part = w->list[i].number;
            n = 1;
        }
        if (n == 0) return 0;
    }
    for (;;) {
        double scale = scale_of(w, i + n);
        if (scale > 0) {
            part = part * scale;
            n++;
            if (scale == 1000) {
                total += part;
                part = 0;
            }
            continue;
        }
        size_t skip = word_is(w, i + n, "and") ? 1 : 0;
        double more = 0;
        bool was_scaled = n > 0 && scale_of(w, i + n - 1) > 0;
        size_t m = was_scaled ? small_number(w, i + n + skip, &more, is_ordinal) : 0;
        if (m == 0) break;
        part += more;
        n += skip + m;
    }
    *value = total + part;
    return n;
}

/* "seven and a half": behind any number. */
static size_t and_a_half(const struct words *w, size_t i, double *value)
{
    if (!word_is(w, i, "and")) return 0;
    size_t n = word_is(w, i + 1, "a") ? 2 : 1;
    if (word_is(w, i + n, "half")) {
        *value += 0.5;
        return n + 1;
    }
    if (n == 2 && word_is(w, i + n, "quarter")) {
        *value += 0.25;
        return n + 1;
    }
    return 0;
}

static void add_sense_to(struct token *t, enum symbol symbol, int arg)
{
    if (t->senses.n < LEXICON_SENSES)
        t->senses.list[t->senses.n++] = (struct sense){symbol, arg, NULL};
}

static struct token *add_token(struct reader *r, size_t i, size_t n)
{
    struct token *t = &r->out->list[r->out->n++];
    const struct word *w = &r->words->list[i];
    *t = (struct token){.n_words = n,
                        .text = w->text,
                        .day = DAY_NONE,
                        .is_owner = r->words->list[i + n - 1].is_owner};
    return t;
}

/* A number in words or digits; 0 when there is none here. */
static size_t take_number(struct reader *r, size_t i)
{
    const struct words *w = r->words;
    double value = 0;
    bool is_ordinal = false;
    size_t n = 0;
    bool is_couple = word_is(w, i, "couple") || (word_is(w, i, "a") && word_is(w, i + 1, "couple"));
    if (is_couple) {
        value = 2;
        n = word_is(w, i, "a") ? 2 : 1;
        if (word_is(w, i + n, "of")) n++;
    } else {
        n = big_number(w, i, &value, &is_ordinal);
    }
    bool is_written = n > 0;
    if (n == 0 && w->list[i].kind == WORD_NUMBER) {
        value = w->list[i].number;
        is_ordinal = w->list[i].is_ordinal;
        n = 1;
    }
    if (n == 0) return 0;
    n += and_a_half(w, i + n, &value);
    struct token *t = add_token(r, i, n);
    t->number = value;
    t->is_ordinal = is_ordinal;
    t->is_written = is_written;
    add_sense_to(t, S_NUMBER, 0);
    if (is_written && value == 1) add_sense_to(t, S_FILLER, 0);
    if (word_is(w, i, "second") && n == 1) {
        add_sense_to(t, S_UNIT, 0);
        t->senses.list[t->senses.n - 1].ptr = "s";
    }
    return n;
}

/* The phrase of n words as one text; false when it is too long or has a mark inside. */
static bool join(const struct words *w, size_t i, size_t n, char out[PHRASE_BYTES],
                 struct weir_slice *phrase)
{
    size_t len = 0;
    for (size_t k = 0; k < n; k++) {
        const struct word *word = &w->list[i + k];
        bool is_sign = word->kind == WORD_MARK;
        if (is_sign && n > 1) {
            /* "7-day", "mg/dl": what joins words is no word. */
            bool joins = weir_slice_is(word->text, "-") || weir_slice_is(word->text, "/") ||
                         weir_slice_is(word->text, "+");
            if (joins && k > 0 && k + 1 < n) continue;
            if (!weir_slice_is(word->text, "%")) return false;
        }
        if (len + word->text.len + 2 > PHRASE_BYTES) return false;
        if (len > 0) out[len++] = ' ';
        memcpy(out + len, word->text.ptr, word->text.len);
        len += word->text.len;
    }
    *phrase = (struct weir_slice){out, len};
    return true;
}

/* Names of the person's own metrics: as the table calls them, '_' being a blank. */
static const struct metric *own_metric(const struct ask_data *data, struct weir_slice phrase)
{
    if (!data->dataset) return NULL;
    for (size_t i = 0; i < data->n_metrics; i++) {
        const struct metric *m = data->metrics[i];
        if (strlen(m->name) != phrase.len) continue;
        size_t k = 0;
        while (k < phrase.len &&
               (m->name[k] == phrase.ptr[k] || (m->name[k] == '_' && phrase.ptr[k] == ' ') ||
                (m->name[k] >= 'A' && m->name[k] <= 'Z' && m->name[k] + 32 == phrase.ptr[k])))
            k++;
        if (k == phrase.len) return m;
    }
    return NULL;
}

bool has_metric_data(const struct ask_data *data, const struct metric *m)
{
    for (size_t i = 0; i < data->n_metrics; i++)
        if (data->metrics[i] == m) return true;
    return false;
}

/*
 * "average heart rate" is a metric of its own for those who have it; for others it is the average
 * of a heart rate. The same goes for all names that begin with a statistic.
 */
static bool is_statistic_name(const struct ask_data *data, const struct senses *s,
                              struct weir_slice phrase)
{
    static const char *const heads[] = {"average ", "mean ", "avg ", "lowest ", "total ", "daily "};
    bool begins = false;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        begins = begins || (phrase.len > strlen(heads[i]) &&
                            memcmp(phrase.ptr, heads[i], strlen(heads[i])) == 0);
    if (!begins) return false;
    bool has_metric = false;
    for (size_t i = 0; i < s->n; i++) {
        if (s->list[i].symbol != S_METRIC) {
            if (s->list[i].symbol == S_FIELD) continue;
            return false;
        }
        has_metric = true;
        if (has_metric_data(data, s->list[i].ptr)) return false;
    }
    return has_metric;
}

/* "minimum heart rate variability" is the minimum of a longer name. */
static bool hides_longer(struct reader *r, size_t i, size_t n)
{
    static const char *const heads[] = {"minimum", "maximum", "min",    "max",  "peak",
                                        "average", "mean",    "lowest", "total"};
    char text[PHRASE_BYTES];
    struct weir_slice phrase;
    struct senses found;
    bool begins = false;
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
        begins = begins || word_is(r->words, i, heads[k]);
    if (n < 2 || !begins || i + 1 + n > r->words->n) return false;
    if (!join(r->words, i + 1, n, text, &phrase)) return false;
    return lexicon_find(&found, phrase) && found.list[0].symbol == S_METRIC;
}

static bool phrase_senses(struct reader *r, size_t i, size_t n, struct senses *out)
{
    char text[PHRASE_BYTES];
    struct weir_slice phrase;
    if (!join(r->words, i, n, text, &phrase) || hides_longer(r, i, n)) return false;
    bool is_found = lexicon_find(out, phrase);
    const struct metric *own = own_metric(r->p->data, phrase);
    if (own && !is_found) {
        *out = (struct senses){.n = 1, .list = {{S_METRIC, 0, own}}};
        return true;
    }
    if (!is_found && r->words->list[i].kind != WORD_MARK) is_found = lexicon_find_stem(out, phrase);
    return is_found && !is_statistic_name(r->p->data, out, phrase);
}

/* The longest phrase here that has at least so many words. */
static size_t take_phrase(struct reader *r, size_t i, size_t least)
{
    struct senses found;
    size_t most = r->words->n - i < LEXICON_PHRASE ? r->words->n - i : LEXICON_PHRASE;
    for (size_t n = most; n >= least; n--) {
        if (r->words->list[i].kind == WORD_MARK && n > 1) continue;
        if (!phrase_senses(r, i, n, &found)) continue;
        struct token *t = add_token(r, i, n);
        t->senses = found;
        const struct word *last = &r->words->list[i + n - 1];
        /* Contractions are written out in texts of their own, which do not follow each other. */
        bool follows =
            last->text.ptr >= t->text.ptr && (size_t)(last->text.ptr - t->text.ptr) < PHRASE_BYTES;
        if (follows) t->text.len = (size_t)(last->text.ptr - t->text.ptr) + last->text.len;
        return n;
    }
    return 0;
}

static bool is_own_word(const struct ask_data *data, struct weir_slice word)
{
    for (size_t i = 0; i < data->n_metrics; i++) {
        for (const char *at = data->metrics[i]->name; *at; at++)
            if (strncasecmp(at, word.ptr, word.len) == 0 &&
                (at == data->metrics[i]->name || at[-1] == '_' || at[-1] == ' ') &&
                (at[word.len] == '\0' || at[word.len] == '_' || at[word.len] == ' '))
                return true;
    }
    return false;
}

/* A word that is nowhere: perhaps a slip of the pen. The correction lives in the lexicon. */
static void correct(struct reader *r, struct word *w)
{
    char stem[PHRASE_BYTES];
    if (w->kind != WORD_TEXT || w->text.len >= PHRASE_BYTES || lexicon_knows(w->text)) return;
    struct senses ignored;
    struct weir_slice s = {stem, lexicon_stem(stem, w->text)};
    if (lexicon_knows(s) || lexicon_find_stem(&ignored, w->text) ||
        is_own_word(r->p->data, w->text))
        return;
    struct weir_slice nearest = lexicon_nearest(w->text);
    if (nearest.len == 0) return;
    ask_note(r->p, "\"%.*s\" read as \"%.*s\"", (int)w->text.len, w->text.ptr, (int)nearest.len,
             nearest.ptr);
    w->text = nearest;
}

static void take_other(struct reader *r, size_t i)
{
    const struct word *w = &r->words->list[i];
    struct token *t = add_token(r, i, 1);
    switch (w->kind) {
    case WORD_DATE:
        t->day = w->day;
        t->is_ambiguous = w->is_ambiguous;
        add_sense_to(t, S_DATE, 0);
        break;
    case WORD_CLOCK:
        t->number = w->number;
        add_sense_to(t, S_CLOCK, 0);
        break;
    case WORD_MARK: add_sense_to(t, S_MARK, w->text.ptr[0]); break;
    default: break;
    }
}

/* "50th percentile" and "25 oh vitamin d" begin with a number and are phrases. */
static size_t take_token(struct reader *r, size_t i)
{
    enum word_kind kind = r->words->list[i].kind;
    if (kind == WORD_DATE || kind == WORD_CLOCK) return 0;
    size_t n = take_phrase(r, i, 2);
    if (n == 0) n = take_number(r, i);
    if (n == 0) n = take_phrase(r, i, 1);
    if (n > 0 && kind == WORD_MARK)
        add_sense_to(&r->out->list[r->out->n - 1], S_MARK, r->words->list[i].text.ptr[0]);
    return n;
}

enum weir_status tokens_read(struct tokens *out, const struct words *words, struct parse *p)
{
    struct words *copy = arena_alloc(p->arena, sizeof *copy);
    if (!copy) return p->arena->status;
    *copy = *words;
    out->n = 0;
    struct reader r = {.words = copy, .out = out, .p = p};
    for (size_t i = 0; i < copy->n; i++)
        if (!number_word_of(copy, i) && scale_of(copy, i) == 0) correct(&r, &copy->list[i]);
    for (size_t i = 0; i < copy->n;) {
        size_t n = take_token(&r, i);
        if (n == 0) {
            take_other(&r, i);
            n = 1;
        }
        i += n;
    }
    return WEIR_OK;
}

/* ---- looking at tokens ---- */

const struct sense *sense_at(const struct parse *p, size_t i, enum symbol symbol)
{
    if (i >= p->t->n) return NULL;
    const struct senses *s = &p->t->list[i].senses;
    for (size_t k = 0; k < s->n; k++)
        if (s->list[k].symbol == symbol) return &s->list[k];
    return NULL;
}

bool is_at(const struct parse *p, size_t i, enum symbol symbol)
{
    return sense_at(p, i, symbol) != NULL;
}

bool is_any_at(const struct parse *p, size_t i, const enum symbol *symbols)
{
    for (; *symbols != S_NONE; symbols++)
        if (is_at(p, i, *symbols)) return true;
    return false;
}

bool has_symbol(const struct parse *p, enum symbol symbol)
{
    for (size_t i = 0; i < p->t->n; i++)
        if (is_at(p, i, symbol)) return true;
    return false;
}

bool text_in(const struct parse *p, size_t i, const char *texts)
{
    size_t at = 0;
    if (i >= p->t->n) return false;
    struct weir_slice text = p->t->list[i].text;
    for (struct weir_slice s = alias_next(texts, &at); s.len > 0; s = alias_next(texts, &at))
        if (slice_eq(s, text)) return true;
    return false;
}

bool text_is(const struct parse *p, size_t i, const char *text)
{
    return i < p->t->n && weir_slice_is(p->t->list[i].text, text);
}

bool mark_is(const struct parse *p, size_t i, char mark)
{
    const struct sense *s = sense_at(p, i, S_MARK);
    return s && s->arg == mark;
}

void tokens_use(struct parse *p, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < p->t->n; i++) p->t->list[i].is_used = true;
}
