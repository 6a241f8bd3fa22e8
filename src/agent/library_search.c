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

/* "DOC/rNNNNNN". */
static bool is_redacted(struct weir_slice id)
{
    return id.len > LIBRARY_ID_LEN + 1 && id.ptr[LIBRARY_ID_LEN + 1] == 'r';
}

static void put_shown(struct searching *s, bool is_hidden, struct weir_slice text,
                      struct weir_buf *out)
{
    weir_buf_reset(out);
    if (is_hidden) library_map_restore(&s->map, text, out);
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
    if (s->is_full) return WEIR_OK;
    if (st == WEIR_INVALID)
        return library_refuse(s->l, WEIR_BAD_FIELD, "the query has to have a word, in UTF-8");
    if (st == WEIR_LIMIT)
        return library_refuse(s->l, WEIR_BAD_FIELD, "a query has at most %d words and %d bytes",
                              PASSAGE_MAX_WORDS, PASSAGE_WORDS_BYTES);
    return st;
}

/* What was redacted is found by the words with placeholders alone, and the rest without them. */
static WEIR_MUST_CHECK enum weir_status search_both(struct searching *s, struct weir_slice words,
                                                    bool is_any)
{
    if (slice_eq(words, s->q->words)) return search_words(s, words, is_any);
    s->form = 'r';
    enum weir_status st = search_words(s, words, is_any);
    s->form = 'p';
    return st == WEIR_OK ? search_words(s, s->q->words, is_any) : st;
}

/* All words, else some of them. */
static WEIR_MUST_CHECK enum weir_status search(struct searching *s)
{
    struct weir_buf words;
    weir_buf_init(&words, 16UL * PASSAGE_WORDS_BYTES);
    enum weir_status st = library_map_redact(&s->map, s->q->words, &words, NULL);
    if (st == WEIR_OK) st = search_both(s, weir_buf_slice(&words), false);
    if (st == WEIR_OK && s->n == 0) st = search_both(s, weir_buf_slice(&words), true);
    weir_buf_fini(&words);
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
