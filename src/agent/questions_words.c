/* SPDX-License-Identifier: Apache-2.0 */
/* Small looks at the words of a question, where the grammar has nothing to say. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "agent/questions.h"
#include "base/slice.h"

enum { MAX_WORDS = 60, NAME_WORDS = 4 };

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || (c & 0x80) || c == '\'' || c == '-' || c == '_';
}

/* The next word from *at on; empty at the end. */
static struct weir_slice next_word(struct weir_slice text, size_t *at)
{
    while (*at < text.len && !is_letter(text.ptr[*at])) (*at)++;
    size_t begin = *at;
    while (*at < text.len && is_letter(text.ptr[*at])) (*at)++;
    return slice_of(text.ptr + begin, *at - begin);
}

static bool is_in(struct weir_slice word, const char *list)
{
    size_t at = 0;
    for (struct weir_slice s = alias_next(list, &at); s.len > 0; s = alias_next(list, &at))
        if (s.len == word.len && strncasecmp(s.ptr, word.ptr, s.len) == 0) return true;
    return false;
}

bool words_have(struct weir_slice text, const char *words)
{
    size_t at = 0;
    for (struct weir_slice w = next_word(text, &at); w.len > 0; w = next_word(text, &at))
        if (is_in(w, words)) return true;
    return false;
}

/* ---- parts ---- */

/* How long the connector is that begins here; 0: none does. */
static size_t connector_at(struct weir_slice text, size_t at)
{
    static const char *const connectors[] = {", and ", ", but ", " and ",        " but ",
                                             " plus ", ", ",     " as well as ", "; ",
                                             "? ",     ". ",     "! ",           "\n"};
    for (size_t i = 0; i < sizeof connectors / sizeof *connectors; i++) {
        size_t len = strlen(connectors[i]);
        if (text.len - at >= len && strncasecmp(text.ptr + at, connectors[i], len) == 0) return len;
    }
    return 0;
}

static struct weir_slice trim(struct weir_slice s)
{
    while (s.len > 0 && strchr(" \t\r\n,;.?!", s.ptr[s.len - 1])) s.len--;
    while (s.len > 0 && strchr(" \t\r\n,;.?!", s.ptr[0])) s = slice_from(s, 1);
    return s;
}

size_t words_split(struct weir_slice text, struct weir_slice parts[QUESTION_PARTS])
{
    size_t n = 0, begin = 0;
    for (size_t i = 0; i <= text.len; i++) {
        size_t len = i < text.len ? connector_at(text, i) : 1;
        if (len == 0) continue;
        struct weir_slice part = trim(slice_of(text.ptr + begin, i - begin));
        if (part.len > 0 && n < QUESTION_PARTS) parts[n++] = part;
        begin = i + len;
        i = begin - 1;
    }
    return n;
}

/* ---- what is asked ---- */

bool words_ask_whether(struct weir_slice text)
{
    size_t at = 0;
    struct weir_slice first = next_word(text, &at);
    while (is_in(first, "and|so|but|also|then|well|hi|hello|hey|please"))
        first = next_word(text, &at);
    return is_in(first,
                 "is|are|was|were|did|does|do|has|have|am|isn't|aren't|wasn't|didn't|doesn't|"
                 "don't|hasn't|haven't");
}

bool words_ask_why(struct weir_slice text)
{
    return words_have(text, "why|cause|causes|caused|causing|because|affect|affects|affected|"
                            "affecting|effect|impact|impacts|influence|influences|due|makes|drives|"
                            "reason|reasons");
}

static bool has_digit(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (isdigit((unsigned char)text.ptr[i])) return true;
    return false;
}

bool words_count(struct weir_slice text)
{
    return has_digit(text) || words_have(text, "one|two|three|four|five|six|seven|eight|nine|ten|"
                                               "once|twice|half|double|dozen|hundred");
}

bool words_ask_number(struct weir_slice text)
{
    return has_digit(text) ||
           words_have(text, "many|much|often|long|when|which|percent|percentage|total|date|"
                            "january|february|march|april|may|june|july|august|september|october|"
                            "november|december");
}

/* ---- names ---- */

static bool is_small(struct weir_slice word)
{
    return is_in(word, "a|an|the|my|your|is|are|was|were|do|does|did|has|have|how|what|why|and|or|"
                       "of|in|on|at|to|for|i|me|it|that|this|with|about|been|be|so|if|am|can|any");
}

static bool has_data(struct dataset *d, const struct metric *m, enum weir_status *st)
{
    const struct series *s;
    enum weir_status found = dataset_series(d, m, &s);
    if (found != WEIR_OK && found != WEIR_NOT_FOUND) *st = found;
    return found == WEIR_OK && s->n > 0;
}

static void look_up(struct mention *out, struct weir_slice name, struct dataset *d,
                    enum weir_status *st)
{
    const struct metric *m = dataset_find_metric(d, name);
    bool is_better = m && !out->has_data && (!out->metric || has_data(d, m, st));
    if (is_better) {
        out->metric = m;
        out->has_data = has_data(d, m, st);
    }
    if (!out->analyte) out->analyte = analyte_find(name);
    if (!out->activity) out->activity = activity_find(name);
}

enum weir_status words_mention(struct mention *out, struct weir_slice text, struct dataset *d)
{
    struct weir_slice words[MAX_WORDS];
    size_t n = 0, at = 0;
    enum weir_status st = WEIR_OK;
    *out = (struct mention){0};
    for (struct weir_slice w = next_word(text, &at); w.len > 0 && n < MAX_WORDS;
         w = next_word(text, &at))
        words[n++] = w;
    for (size_t len = NAME_WORDS; len > 0 && st == WEIR_OK; len--)
        for (size_t i = 0; i + len <= n && st == WEIR_OK; i++) {
            const struct weir_slice *first = &words[i], *last = &words[i + len - 1];
            if (is_small(*first) || is_small(*last)) continue;
            size_t bytes = (size_t)(last->ptr + last->len - first->ptr);
            look_up(out, slice_of(first->ptr, bytes), d, &st);
        }
    return st;
}
