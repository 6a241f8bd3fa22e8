/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searching documents. The query gets the placeholders of the map, so that a value is found where
 * it stands for itself; texts from a time without redaction are found by the words as they are.
 */
#include <string.h>

#include "agent/library_impl.h"
#include "base/slice.h"

struct searching {
    struct library *l;
    const struct library_query *q;
    library_fn each;
    void *user;
    struct library_map map;
    struct snippet snippet;
    struct weir_buf title, heading;
    char form;    /* of the passages that are wanted: 'r', 'p'; 0: all */
    bool is_full; /* there were enough */
    size_t n;
};

enum { TELLING_MAX = 24 }; /* words of a long question; signs in them may make some more */

/* ---- words that say little ---- */

/* Of a question in English: they are in every text, and tell none from another. */
static const char *const little[] = {
    "a",     "about", "all",  "am",     "an",    "and",   "any",    "are",   "as",
    "at",    "be",    "been", "by",     "can",   "could", "did",    "do",    "does",
    "find",  "for",   "from", "get",    "had",   "has",   "have",   "how",   "i",
    "if",    "in",    "is",   "it",     "its",   "me",    "my",     "not",   "of",
    "on",    "or",    "our",  "please", "say",   "says",  "should", "show",  "so",
    "tell",  "than",  "that", "the",    "their", "them",  "then",   "there", "these",
    "they",  "this",  "to",   "was",    "we",    "were",  "what",   "when",  "where",
    "which", "who",   "why",  "will",   "with",  "would", "you",    "your",
};

static bool is_sign(char c)
{
    return strchr(".,;:!?()'", c) != NULL;
}

static bool says_little(struct weir_slice word)
{
    while (word.len > 0 && is_sign(word.ptr[word.len - 1])) word.len--;
    while (word.len > 0 && is_sign(word.ptr[0])) word = slice_from(word, 1);
    for (size_t i = 0; i < sizeof little / sizeof *little; i++)
        if (strlen(little[i]) == word.len && strncasecmp(little[i], word.ptr, word.len) == 0)
            return true;
    return word.len == 0;
}

/* The first of the others, and phrases as they are. */
static void put_telling(struct weir_buf *out, struct weir_slice words)
{
    bool is_phrase = false;
    size_t n = 0;
    for (size_t at = 0; at < words.len && n < TELLING_MAX;) {
        size_t end = at;
        while (end < words.len && !memchr(" \t\r\n", words.ptr[end], 4)) end++;
        struct weir_slice word = slice_of(words.ptr + at, end - at);
        bool was_phrase = is_phrase;
        for (size_t i = 0; i < word.len; i++) is_phrase ^= word.ptr[i] == '"';
        if (was_phrase || is_phrase || !says_little(word)) {
            weir_buf_append_slice(out, word);
            weir_buf_append_char(out, ' ');
            n++;
        }
        at = end + 1;
    }
}

/* ---- results ---- */

/* "DOC/rNNNNNN". */
static bool is_redacted(struct weir_slice id)
{
    return id.len > LIBRARY_ID_LEN + 1 && id.ptr[LIBRARY_ID_LEN + 1] == 'r';
}

static void put_shown(struct searching *s, bool is_hidden, struct weir_slice text,
                      struct weir_buf *out)
{
    weir_buf_reset(out);
    if (is_hidden) library_map_restore_line(&s->map, text, out);
    else weir_buf_append_slice(out, text);
}

static void show_title(struct searching *s, struct weir_slice line, bool is_hidden)
{
    const char *end = line.len > 0 ? memchr(line.ptr, LIBRARY_TITLE_END, line.len) : NULL;
    size_t len = end ? (size_t)(end - line.ptr) : line.len;
    put_shown(s, is_hidden, slice_of(line.ptr, len), &s->title);
    put_shown(s, is_hidden, slice_from(line, end ? len + 1 : line.len), &s->heading);
}

static enum weir_status take_hit(void *user, const struct passage_hit *hit)
{
    struct searching *s = user;
    bool is_hidden = is_redacted(hit->id);
    struct snippet_wish wish = {.text = hit->text,
                                .ranges = hit->in_text,
                                .n_ranges = hit->n_in_text,
                                .n_points = s->q->snippet_points,
                                .tokens = is_hidden ? guard_tokens(s->map.guard) : NULL};
    if (hit->id.len < LIBRARY_ID_LEN) return WEIR_CORRUPT;
    if (s->form != 0 && is_hidden != (s->form == 'r')) return WEIR_OK;
    s->is_full = s->n == s->q->limit;
    if (s->is_full) return WEIR_LIMIT;
    enum weir_status st = snippet_make(&s->snippet, &wish);
    if (st != WEIR_OK) return st;
    show_title(s, hit->title, is_hidden);
    st = weir_buf_status(&s->title);
    if (st == WEIR_OK) st = weir_buf_status(&s->heading);
    if (st != WEIR_OK) return st;
    struct library_hit shown = {.id = slice_of(hit->id.ptr, LIBRARY_ID_LEN),
                                .title = weir_buf_slice(&s->title),
                                .heading = weir_buf_slice(&s->heading),
                                .snippet = weir_buf_slice(&s->snippet.text),
                                .points = s->snippet.points,
                                .n_points = s->snippet.n};
    s->n++;
    return s->each(s->user, &shown);
}

static WEIR_MUST_CHECK enum weir_status search_words(struct searching *s, struct weir_slice words,
                                                     bool is_any)
{
    struct passage_query q = {.owner = s->l->owner,
                              .words = words,
                              .is_any = is_any,
                              .limit = s->q->limit,
                              .per_source = s->q->per_document};
    enum weir_status st = store_search(s->l->store, &q, take_hit, s);
    return s->is_full ? WEIR_OK : st;
}

/* ---- searching ---- */

/* What was redacted is found by the words with placeholders alone, and the rest without them. */
static WEIR_MUST_CHECK enum weir_status search_both(struct searching *s, struct weir_slice plain,
                                                    bool is_any)
{
    struct weir_buf words;
    weir_buf_init(&words, 16UL * PASSAGE_WORDS_BYTES);
    enum weir_status st = library_map_redact(&s->map, plain, &words, NULL);
    bool is_same = st == WEIR_OK && slice_eq(weir_buf_slice(&words), plain);
    s->form = is_same ? 0 : 'r';
    if (st == WEIR_OK) st = search_words(s, weir_buf_slice(&words), is_any);
    s->form = 'p';
    if (st == WEIR_OK && !is_same) st = search_words(s, plain, is_any);
    weir_buf_fini(&words);
    return st;
}

/* Those that tell something, all of them; else some. */
static WEIR_MUST_CHECK enum weir_status search_telling(struct searching *s)
{
    struct weir_buf telling;
    weir_buf_init(&telling, 2UL * PASSAGE_WORDS_BYTES);
    put_telling(&telling, s->q->words);
    struct weir_slice words = weir_buf_slice(&telling);
    enum weir_status st = weir_buf_status(&telling);
    if (st == WEIR_OK) st = search_both(s, words, false);
    if (st == WEIR_OK && s->n == 0) st = search_both(s, words, true);
    weir_buf_fini(&telling);
    return st;
}

/* All words, else as above, which a question that is too long begins with. */
static WEIR_MUST_CHECK enum weir_status search(struct searching *s)
{
    enum weir_status first = search_both(s, s->q->words, false);
    bool goes_on = (first == WEIR_OK && s->n == 0) || first == WEIR_LIMIT;
    enum weir_status st = goes_on ? search_telling(s) : first;
    if (goes_on && st == WEIR_INVALID) st = first; /* no word was left: nothing is found by that */
    if (st == WEIR_INVALID)
        return library_refuse(s->l, WEIR_BAD_FIELD, "the query has to have a word, in UTF-8");
    if (st == WEIR_LIMIT)
        return library_refuse(s->l, WEIR_BAD_FIELD, "a query has at most %d words and %d bytes",
                              PASSAGE_MAX_WORDS, PASSAGE_WORDS_BYTES);
    return st;
}

enum weir_status library_search(struct library *l, const struct library_query *q, library_fn each,
                                void *user)
{
    struct searching s = {.l = l, .q = q, .each = each, .user = user};
    l->why[0] = 0;
    if (q->words.len > PASSAGE_WORDS_BYTES)
        return library_refuse(l, WEIR_BAD_FIELD, "a query has at most %d bytes",
                              PASSAGE_WORDS_BYTES);
    snippet_init(&s.snippet);
    weir_buf_init(&s.title, LIBRARY_ANSWER_BYTES);
    weir_buf_init(&s.heading, LIBRARY_ANSWER_BYTES);
    enum weir_status st = library_map_open(&s.map, l);
    if (st == WEIR_OK) st = search(&s);
    library_map_close(&s.map);
    weir_buf_fini(&s.heading);
    weir_buf_fini(&s.title);
    snippet_fini(&s.snippet);
    return st;
}
