/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms of words to the elements that they are in, by a hash table with chains: a form that ends in
 * "*" is found by its beginning, so each word is looked up whole and by each of its beginnings.
 */
#include "agent/said_table.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"

enum { BUCKETS = 1 << 14, NO_FORM = -1, LONGEST_FORM = 24 };

struct form {
    struct weir_slice text; /* without its "*" */
    bool is_beginning;
    uint32_t element;
    int32_t next;
};

struct span {
    uint32_t first, end; /* elements */
};

struct said_table {
    struct form *forms;
    size_t n_forms, cap_forms;
    struct span *patterns;
    uint32_t n_elements;
    int32_t buckets[BUCKETS];
};

/* FNV-1a; the forms are ours, and a peer that fills a bucket with words finds it no longer. */
static uint32_t bucket_of(struct weir_slice text, bool is_beginning)
{
    uint32_t h = is_beginning ? 2166136261u ^ 1u : 2166136261u;
    for (size_t i = 0; i < text.len; i++) h = (h ^ (unsigned char)text.ptr[i]) * 16777619u;
    return (h ^ (h >> 15)) % BUCKETS;
}

static void add_form(struct said_table *t, struct weir_slice form)
{
    const char *joint = memchr(form.ptr, '_', form.len);
    if (joint) form.len = (size_t)(joint - form.ptr);
    bool is_beginning = form.len > 0 && form.ptr[form.len - 1] == '*';
    if (is_beginning) form.len--;
    CHECK(t->n_forms < t->cap_forms && form.len <= LONGEST_FORM);
    struct form *f = &t->forms[t->n_forms];
    uint32_t b = bucket_of(form, is_beginning);
    *f = (struct form){form, is_beginning, t->n_elements, t->buckets[b]};
    t->buckets[b] = (int32_t)t->n_forms++;
}

/* Elements that may be missing, or are no words, ask for nothing. */
static void add_element(struct said_table *t, struct weir_slice element)
{
    bool is_word = element.ptr[0] != '@' && element.ptr[0] != '.' && element.ptr[0] != '^' &&
                   element.ptr[0] != '$' && element.ptr[element.len - 1] != '?';
    if (!is_word) return;
    CHECK(t->n_elements < SAID_TABLE_ELEMENTS);
    while (element.len > 0) {
        const char *bar = memchr(element.ptr, '|', element.len);
        size_t len = bar ? (size_t)(bar - element.ptr) : element.len;
        add_form(t, slice_of(element.ptr, len));
        element = slice_from(element, bar ? len + 1 : len);
    }
    t->n_elements++;
}

static void add_pattern(struct said_table *t, const char *pattern, struct span *out)
{
    out->first = t->n_elements;
    while (pattern && pattern[0] != '!' && *(pattern += strspn(pattern, " "))) {
        size_t len = strcspn(pattern, " ");
        add_element(t, slice_of(pattern, len));
        pattern += len;
    }
    out->end = t->n_elements;
}

static size_t count_forms(const char *const *patterns, size_t n)
{
    size_t n_forms = 0;
    for (size_t i = 0; i < n; i++)
        for (const char *p = patterns[i]; p && *p; p++)
            if (p[1] == '|' || p[1] == ' ' || p[1] == '\0') n_forms++;
    return n_forms;
}

struct said_table *said_table_new(const char *const *patterns, size_t n)
{
    struct said_table *t = mem_zalloc(sizeof *t);
    if (!t) return NULL;
    t->cap_forms = count_forms(patterns, n);
    t->forms = mem_zalloc(t->cap_forms * sizeof *t->forms);
    t->patterns = mem_zalloc(n * sizeof *t->patterns);
    if (!t->forms || !t->patterns) {
        mem_free(t->forms);
        mem_free(t->patterns);
        mem_free(t);
        return NULL;
    }
    for (size_t i = 0; i < BUCKETS; i++) t->buckets[i] = NO_FORM;
    for (size_t i = 0; i < n; i++) add_pattern(t, patterns[i], &t->patterns[i]);
    return t;
}

static void look_up(const struct said_table *t, struct weir_slice text, bool is_beginning,
                    struct said_look *look)
{
    for (int32_t i = t->buckets[bucket_of(text, is_beginning)]; i != NO_FORM;) {
        const struct form *f = &t->forms[i];
        if (f->is_beginning == is_beginning && slice_eq(f->text, text))
            look->seen[f->element] = look->turn;
        i = f->next;
    }
}

void said_table_look(const struct said_table *t, const struct said *sentence,
                     struct said_look *look)
{
    look->turn++;
    for (size_t i = 0; i < sentence->n; i++) {
        struct weir_slice text = sentence->words[i].text;
        if (text.len == 0) continue;
        look_up(t, text, false, look);
        for (size_t len = text.len < LONGEST_FORM ? text.len : LONGEST_FORM; len > 0; len--)
            look_up(t, slice_of(text.ptr, len), true, look);
    }
}

bool said_table_may(const struct said_table *t, const struct said_look *look, size_t pattern)
{
    const struct span *s = &t->patterns[pattern];
    for (uint32_t i = s->first; i < s->end; i++)
        if (look->seen[i] != look->turn) return false;
    return true;
}
