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

#define WHY                                                                                        \
    "why|cause|causes|caused|causing|because|affect|affects|affected|affecting|effect|impact|"     \
    "impacts|influence|influences|due|makes|drives|reason|reasons|make|hurt|hurts|help|helps"
#define RELATION                                                                                   \
    "when|if|improve|improves|depend|depends|related|relate|relates|relation|link|linked|"         \
    "connected|connection|worsen|worsens|reduce|reduces|lower|lowers|raise|raises"
#define CHANGE                                                                                     \
    "up|down|higher|lower|rise|rose|risen|rising|fall|fell|fallen|falling|drop|dropped|dropping|"  \
    "increase|increased|decrease|decreased|change|changed|changing|better|worse|improved|"         \
    "improving|decline|declined|declining|went|gone|got|get|getting|faster|slower|longer|"         \
    "shorter|further|farther|pace|speed|later|earlier"

/* What one says around the thing that one asks about. Words that name a statistic, a place or a
 * person are none of these: who does not know them does not know the question. */
#define TALK                                                                                       \
    "ok|okay|good|bad|badly|great|fine|normal|normally|usual|usually|typical|healthy|unhealthy|"   \
    "worried|worry|worrying|concern|concerned|concerns|concerning|wrong|right|going|doing|look|"   \
    "looking|looks|tell|know|show|explain|trend|trending|trends|lately|recently|recent|days|now|"  \
    "currently|overall|general|generally|please|more|less|high|low|meaningful|real|really|should|" \
    "could|would|might|you|we|let|see|think|check|summary|summarise|summarize|overview|report|"    \
    "status|state|like|well|enough|too|very|quite|all|anything|something|everything|late|early|"   \
    "last|night|nights|yesterday|today|morning|tonight|compared|compare|than|as|not|hi|hello|"     \
    "hey|thanks|level|levels|plan|recovery|rate|whether|which|there|by|from|day|i'm|i've|it's|"    \
    "what's|how's|too|much|these|those|into|dangerous|danger|sleeping|feel|way|sure|still|ever"

bool words_ask_why(struct weir_slice text)
{
    return words_have(text, WHY);
}

bool words_ask_meaning(struct weir_slice text)
{
    return words_have(text, "what|what's|whats|explain|define|difference|meaning") &&
           !words_have(text, "my|mine|i|am|i'm|i've|about");
}

bool words_ask_relation(struct weir_slice text)
{
    return words_have(text, WHY "|" RELATION);
}

bool words_want_number(struct weir_slice text)
{
    return words_have(text,
                      "much|many|percent|percentage|difference|far|give|report|tell|minus|"
                      "coefficient|slope|value|number|compute|calculate|exactly|fit|r|pearson|"
                      "spearman|kendall|strongly|strong");
}

bool words_ask_change(struct weir_slice text)
{
    return words_have(text, CHANGE);
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

static char plain(char c)
{
    return c == '_' || c == '-' ? ' ' : (char)tolower((unsigned char)c);
}

static bool is_same(struct weir_slice a, struct weir_slice b)
{
    bool is_equal = a.len == b.len;
    for (size_t i = 0; is_equal && i < a.len; i++) is_equal = plain(a.ptr[i]) == plain(b.ptr[i]);
    return is_equal;
}

static bool is_named(const struct metric *m, struct weir_slice name)
{
    size_t at = 0;
    if (is_same(weir_slice_of(m->name), name) || is_same(weir_slice_of(m->title), name))
        return true;
    for (struct weir_slice s = alias_next(m->aliases, &at); s.len > 0;
         s = alias_next(m->aliases, &at))
        if (is_same(s, name)) return true;
    return false;
}

struct looking {
    struct mention *out;
    struct dataset *d;
    const struct metric *const *metrics; /* that have values */
    size_t n_metrics;
    const struct workout *workouts;
    size_t n_workouts;
};

static void push_metric(struct mention *out, const struct metric *m)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->metrics[i] == m) return;
    if (out->n < MENTIONS) out->metrics[out->n++] = m;
}

/* An activity that the person has done; NULL. */
static const struct activity *done_at(const struct looking *l, const struct activity *a)
{
    for (size_t i = 0; a && i < l->n_workouts; i++)
        if (l->workouts[i].activity == a) return a;
    return NULL;
}

/* Of what several metrics are called the one that has data; then tests and workouts. */
static bool look_up(struct looking *l, struct weir_slice name)
{
    for (size_t i = 0; i < l->n_metrics; i++) {
        if (!is_named(l->metrics[i], name)) continue;
        push_metric(l->out, l->metrics[i]);
        return true;
    }
    const struct analyte *analyte = analyte_find(name);
    const struct activity *activity = done_at(l, activity_find(name));
    const struct metric *absent = dataset_find_metric(l->d, name);
    if (analyte && !l->out->analyte) l->out->analyte = analyte;
    else if (activity && !l->out->activity) l->out->activity = activity;
    else if (absent && !l->out->absent) l->out->absent = absent;
    return analyte || activity || absent;
}

/* How many words from here on are a name; 0: none is. The longest one counts. */
static size_t name_at(struct looking *l, const struct weir_slice *words, size_t n)
{
    for (size_t len = n < NAME_WORDS ? n : NAME_WORDS; len > 0; len--) {
        const struct weir_slice *last = &words[len - 1];
        if (is_small(words[0]) || is_small(*last)) continue;
        size_t bytes = (size_t)(last->ptr + last->len - words[0].ptr);
        if (look_up(l, slice_of(words[0].ptr, bytes))) return len;
    }
    return 0;
}

static bool is_talk(struct weir_slice word)
{
    return has_digit(word) || is_small(word) || is_in(word, TALK) ||
           is_in(word, WHY "|" RELATION "|" CHANGE);
}

enum weir_status words_mention(struct mention *out, struct weir_slice text, struct dataset *d)
{
    struct weir_slice words[MAX_WORDS];
    struct looking l = {.out = out, .d = d};
    size_t n = 0, at = 0;
    *out = (struct mention){0};
    enum weir_status st = dataset_metrics(d, &l.metrics, &l.n_metrics);
    if (st == WEIR_OK) st = dataset_workouts(d, &l.workouts, &l.n_workouts);
    if (st != WEIR_OK) return st;
    for (struct weir_slice w = next_word(text, &at); w.len > 0 && n < MAX_WORDS;
         w = next_word(text, &at))
        words[n++] = w;
    for (size_t i = 0; i < n;) {
        size_t len = name_at(&l, words + i, n - i);
        if (len == 0 && !is_talk(words[i])) out->n_other++;
        i += len > 0 ? len : 1;
    }
    return WEIR_OK;
}
