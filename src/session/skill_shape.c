/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which questions are alike. One about data is alike with all that ask for the same, of whatever
 * days and with whatever numbers: its plan tells, without them. Any other is told by its words,
 * where numbers, dates and what is quoted count as the same. The name that is proposed comes from
 * there, too.
 */
#include <stdio.h>

#include "ask/words.h"
#include "base/hash.h"
#include "base/slice.h"
#include "session/skills_impl.h"

enum {
    SHAPE_ARENA_BYTES = 16 << 20,
    SHAPE_BYTES = 64 << 10,
    NAME_WORDS = 4, /* of a question, in a name */
};

/* Of the documents: it must never change. */
static const struct hash_key key = {UINT64_C(0x7765697220736b69), UINT64_C(0x6c6c206f6e6c7920)};

static void set_hash(struct skill_shape *out, struct weir_slice text)
{
    snprintf(out->hash, sizeof out->hash, "%016llx", (unsigned long long)hash_bytes(key, text));
}

/* ---- names ---- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* One more word, as far as there is room; what is no letter or digit parts words. */
static void add_word(char name[SKILL_NAME_LEN + 1], struct weir_slice word)
{
    size_t at = strlen(name);
    bool is_apart = at > 0;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i] >= 'A' && word.ptr[i] <= 'Z' ? (char)(word.ptr[i] + 32) : word.ptr[i];
        bool is_good = is_name_char(c);
        if (is_good && at + (is_apart ? 2 : 1) <= SKILL_NAME_LEN) {
            if (is_apart) name[at++] = '-';
            name[at++] = c;
            is_apart = false;
        } else if (!is_good && c != '\'') {
            is_apart = at > 0;
        }
    }
    name[at] = '\0';
}

static bool is_stop_word(struct weir_slice word)
{
    static const char *const words[] = {
        "a",     "about", "am",     "an",    "and",  "any",  "are",   "at",  "be",   "been", "can",
        "could", "did",   "do",     "does",  "for",  "from", "give",  "had", "has",  "have", "how",
        "i",     "in",    "is",     "it",    "last", "let",  "me",    "my",  "of",   "on",   "or",
        "over",  "past",  "please", "show",  "so",   "tell", "that",  "the", "this", "to",   "was",
        "were",  "what",  "when",   "which", "will", "with", "would", "you", "your",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (weir_slice_is(word, words[i])) return true;
    return false;
}

/* ---- by the plan ---- */

static void forget_having(struct plan_having *h)
{
    h->value = h->value2 = 0;
}

static void forget_where(struct plan_where *where)
{
    for (size_t i = 0; i < where->n; i++) {
        struct plan_condition *c = &where->conditions[i];
        forget_having(&c->having);
        c->shift = 0;
        if (c->kind == WHERE_MONTH) c->set = 0;
    }
}

/* When, and how much of it. */
static void forget_numbers(struct plan *p)
{
    struct plan open;
    plan_init(&open);
    p->window = open.window;
    p->window_b = open.window_b;
    forget_where(&p->where);
    forget_where(&p->where_b);
    forget_having(&p->having);
    p->newest = p->limit = p->rank = p->days = 0;
    p->quantile = p->threshold = 0;
    p->lag = 0;
}

static const char *act_of(const struct plan *p)
{
    switch (p->op) {
    case PLAN_COUNT: return "count";
    case PLAN_LIST: return "list";
    case PLAN_EXTREME: return p->pick == PICK_MIN ? "lowest" : "highest";
    case PLAN_COMPARE: return "compared";
    case PLAN_CHANGE: return "change";
    case PLAN_TREND: return "trend";
    case PLAN_CORRELATE: return "with";
    case PLAN_GROUP: return "by";
    case PLAN_STREAK: return "streak";
    case PLAN_ROLLING: return "rolling";
    case PLAN_FIND: return "find";
    case PLAN_ANOMALY: return "anomalies";
    case PLAN_DISTRIBUTION: return "spread";
    case PLAN_AGGREGATE: break;
    }
    return p->stat == STAT_SUM ? "total" : "";
}

static void name_plan(const struct plan *p, char out[SKILL_NAME_LEN + 1])
{
    static const char *const groups[] = {"weekday", "weekend", "month", "week", "year"};
    char title[PLAN_TITLE_BYTES];
    plan_subject_title(p, title, sizeof title);
    add_word(out, weir_slice_of(title));
    add_word(out, weir_slice_of(act_of(p)));
    if (p->op == PLAN_CORRELATE && p->with) add_word(out, weir_slice_of(p->with->title));
    if (p->op == PLAN_GROUP) add_word(out, weir_slice_of(groups[p->group]));
}

static bool by_plan(struct sessions *s, struct weir_slice owner, struct weir_slice text,
                    struct arena *arena, struct skill_shape *out)
{
    struct ask_reading *reading = arena_alloc(arena, sizeof *reading);
    struct shelved data;
    struct weir_buf json;
    if (!reading) return false;
    bool is_read = shelf_take(&s->shelf, owner, &data) == WEIR_OK &&
                   ask_read(reading, text, data.data, arena) == WEIR_OK && reading->is_understood;
    weir_buf_init(&json, SHAPE_BYTES);
    if (is_read) {
        name_plan(&reading->plan, out->name);
        forget_numbers(&reading->plan);
        plan_put(&json, &reading->plan);
        is_read = weir_buf_status(&json) == WEIR_OK;
    }
    shelf_give(&s->shelf, &data);
    if (is_read) set_hash(out, weir_buf_slice(&json));
    weir_buf_fini(&json);
    return is_read;
}

/* ---- by the words ---- */

static bool is_moment(struct weir_slice word)
{
    static const char *const words[] = {
        "today",    "yesterday", "tomorrow", "tonight", "monday",   "tuesday",   "wednesday",
        "thursday", "friday",    "saturday", "sunday",  "january",  "february",  "march",
        "april",    "may",       "june",     "july",    "august",   "september", "october",
        "november", "december",  "jan",      "feb",     "mar",      "apr",       "jun",
        "jul",      "aug",       "sep",      "sept",    "oct",      "nov",       "dec",
        "day",      "days",      "week",     "weeks",   "month",    "months",    "year",
        "years",    "morning",   "evening",  "noon",    "midnight",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (weir_slice_is(word, words[i])) return true;
    return false;
}

static bool is_number(struct weir_slice word)
{
    static const char *const words[] = {"zero",   "one",    "two",     "three",   "four", "five",
                                        "six",    "seven",  "eight",   "nine",    "ten",  "twelve",
                                        "twenty", "thirty", "hundred", "thousand"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (weir_slice_is(word, words[i])) return true;
    return false;
}

static const struct quote {
    const char *open, *close;
} quotes[] = {
    {"\"", "\""},
    {"`", "`"},
    {"\xE2\x80\x9C", "\xE2\x80\x9D"},
    {"\xE2\x80\x9E", "\xE2\x80\x9C"},
    {"\xC2\xAB", "\xC2\xBB"},
};

/* Where what is quoted here ends, behind its sign; 0: nothing is. */
static size_t quoted_len(struct weir_slice rest)
{
    for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++) {
        size_t n_open = strlen(quotes[i].open), n_close = strlen(quotes[i].close);
        if (rest.len < n_open || memcmp(rest.ptr, quotes[i].open, n_open) != 0) continue;
        for (size_t at = n_open; at + n_close <= rest.len; at++)
            if (memcmp(rest.ptr + at, quotes[i].close, n_close) == 0) return at + n_close;
    }
    return 0;
}

static void put_unquoted(struct weir_buf *out, struct weir_slice text)
{
    for (size_t at = 0; at < text.len;) {
        size_t n = quoted_len(slice_from(text, at));
        if (n == 0) weir_buf_append_char(out, text.ptr[at++]);
        else weir_buf_append_str(out, " quotedtext ");
        at += n;
    }
}

/* Two in a row are one: "9 March 2026". */
static void put_placeholder(struct weir_buf *out, char sign)
{
    if (out->len < 2 || out->ptr[out->len - 2] != sign) {
        weir_buf_append_char(out, sign);
        weir_buf_append_char(out, ' ');
    }
}

static bool is_placeholder(const struct word *w)
{
    return w->kind == WORD_NUMBER || w->kind == WORD_DATE || w->kind == WORD_CLOCK ||
           (w->kind == WORD_TEXT && (is_moment(w->text) || is_number(w->text)));
}

/* "in the last 30 days" is as long as "yesterday". */
static bool leads_to_placeholder(const struct words *words, size_t i)
{
    static const char *const leading[] = {"in",   "on",   "at",     "the",  "last", "past",
                                          "this", "next", "since",  "for",  "over", "during",
                                          "from", "of",   "within", "until"};
    for (; i < words->n && words->list[i].kind == WORD_TEXT; i++) {
        size_t k = 0, n = sizeof leading / sizeof *leading;
        while (k < n && !weir_slice_is(words->list[i].text, leading[k])) k++;
        if (k == n) break;
    }
    return i < words->n && is_placeholder(&words->list[i]);
}

static void put_word(struct weir_buf *out, const struct words *words, size_t i)
{
    const struct word *w = &words->list[i];
    if (is_placeholder(w)) {
        put_placeholder(out, '#');
    } else if (w->kind == WORD_TEXT && !leads_to_placeholder(words, i)) {
        weir_buf_append_slice(out, w->text);
        weir_buf_append_char(out, ' ');
    }
}

static bool is_plain_word(const struct word *w)
{
    return w->kind == WORD_TEXT && !is_placeholder(w) && !weir_slice_is(w->text, "quotedtext");
}

static size_t name_words(const struct words *words, char out[SKILL_NAME_LEN + 1])
{
    size_t n_plain = 0, n_named = 0;
    for (size_t i = 0; i < words->n; i++) {
        const struct word *w = &words->list[i];
        if (!is_plain_word(w)) continue;
        n_plain++;
        if (is_stop_word(w->text) || n_named == NAME_WORDS) continue;
        add_word(out, w->text);
        n_named++;
    }
    return n_plain;
}

static bool by_words(struct weir_slice text, struct arena *arena, struct skill_shape *out)
{
    struct words *words = arena_alloc(arena, sizeof *words);
    struct weir_buf plain, shape;
    weir_buf_init(&plain, SHAPE_BYTES);
    weir_buf_init(&shape, SHAPE_BYTES);
    put_unquoted(&plain, text);
    bool has = words && weir_buf_status(&plain) == WEIR_OK &&
               words_read(words, weir_buf_slice(&plain), arena) == WEIR_OK &&
               name_words(words, out->name) >= SKILL_LEAST_WORDS;
    for (size_t i = 0; has && i < words->n; i++) put_word(&shape, words, i);
    has = has && weir_buf_status(&shape) == WEIR_OK;
    if (has) set_hash(out, weir_buf_slice(&shape));
    weir_buf_fini(&plain);
    weir_buf_fini(&shape);
    return has;
}

bool skill_shape_of(struct sessions *s, struct weir_slice owner, struct weir_slice text,
                    struct skill_shape *out)
{
    struct arena arena;
    *out = (struct skill_shape){.name = ""};
    if (text.len == 0 || text.len > ASK_BYTES || text.ptr[0] == '/') return false;
    arena_init(&arena, SHAPE_ARENA_BYTES);
    bool has = by_plan(s, owner, text, &arena, out) || by_words(text, &arena, out);
    arena_fini(&arena);
    if (out->name[0] == '\0') snprintf(out->name, sizeof out->name, "question");
    return has;
}
