/* SPDX-License-Identifier: Apache-2.0 */
/* Goals and preferences in what the person said; the patterns are those of remember.def. */
#include <math.h>

#include "agent/remember_impl.h"
#include "agent/route_impl.h"
#include "agent/said.h"
#include "base/slice.h"

enum { GOAL_WORDS = 14 };

enum kind { NOT, WANTS, STATES, UNIT, STYLE, DIET };

static const struct rule {
    enum kind kind;
    const char *value, *pattern;
} rules[] = {
#define REMEMBER(kind, value, pattern) {kind, value, pattern},
#include "agent/remember.def"
#undef REMEMBER
};

enum { N_RULES = sizeof rules / sizeof *rules };

/* ---- goals ---- */

/* Where another clause begins. */
static bool is_stop(struct weir_slice word)
{
    static const char stops[] = "where|how|what|which|when|why|can|could|should|is|are|does|but|"
                                "because|help|show|tell|since|while|though|any|who|please|am|was|"
                                "would|will|did|have|has|compare|give|whats|hows";
    size_t at = 0;
    for (struct weir_slice s = alias_next(stops, &at); s.len > 0; s = alias_next(stops, &at))
        if (slice_eq(s, word)) return true;
    return word.len == 0;
}

static size_t goal_end(const struct said *s, size_t from)
{
    size_t end = from;
    while (end < s->n && end - from < GOAL_WORDS && (end == from || !is_stop(s->words[end].text)))
        end++;
    return end;
}

static void set_metric(struct entry_of_memory *e, const struct said *s, size_t from, size_t end)
{
    char phrase[128];
    for (size_t i = from; i < end; i++) {
        if (isnan(e->value) && !isnan(s->words[i].number)) e->value = s->words[i].number;
        if (s->words[i].thing == 0 || e->metric[0]) continue;
        size_t len = said_join(s, i, i + s->words[i].thing, phrase, sizeof phrase);
        const struct metric *m = metric_find(slice_of(phrase, len));
        if (m) snprintf(e->metric, sizeof e->metric, "%s", m->name);
    }
}

static void add_goal(struct remembering *r, const struct said *s, size_t from, bool is_wish)
{
    struct entry_of_memory e = {
        .category = "goal", .value = NAN, .dimension = "", .unit = "", .style = ""};
    char words[MEMORY_TEXT_BYTES - 16];
    size_t end = goal_end(s, from);
    if (end == from || said_join(s, from, end, words, sizeof words) == 0) return;
    set_metric(&e, s, from, end);
    snprintf(e.text, sizeof e.text, "%s%s", is_wish ? "Wants to " : "Goal: ", words);
    if (e.metric[0]) snprintf(e.key, sizeof e.key, "goal:%s", e.metric);
    else snprintf(e.key, sizeof e.key, "goal:%.100s", words);
    memory_add(r, &e);
}

/* ---- preferences ---- */

static const char *unit_title(const char *unit)
{
    static const char *const titles[][2] = {{"mi", "miles"},        {"km", "kilometres"},
                                            {"lb", "pounds"},       {"kg", "kilograms"},
                                            {"degF", "Fahrenheit"}, {"degC", "Celsius"}};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(titles[i][0], unit) == 0) return titles[i][1];
    return unit;
}

static void add_unit(struct remembering *r, const char *value)
{
    struct entry_of_memory e = {.category = "preference", .value = NAN, .style = ""};
    const char *blank = strchr(value, ' ');
    char dimension[16];
    snprintf(dimension, sizeof dimension, "%.*s", (int)(blank - value), value);
    e.dimension = dimension;
    e.unit = blank + 1;
    snprintf(e.key, sizeof e.key, "units:%s", dimension);
    snprintf(e.text, sizeof e.text, "Prefers %s", unit_title(e.unit));
    memory_add(r, &e);
}

static void add_style(struct remembering *r, const char *style)
{
    struct entry_of_memory e = {
        .category = "preference", .value = NAN, .dimension = "", .unit = "", .style = style};
    snprintf(e.key, sizeof e.key, "style");
    snprintf(e.text, sizeof e.text, "Prefers %s answers", style);
    memory_add(r, &e);
}

static void add_diet(struct remembering *r, struct weir_slice diet)
{
    struct entry_of_memory e = {
        .category = "preference", .value = NAN, .dimension = "", .unit = "", .style = ""};
    snprintf(e.diet, sizeof e.diet, "%.*s", (int)diet.len, diet.ptr);
    snprintf(e.key, sizeof e.key, "diet");
    snprintf(e.text, sizeof e.text, "Diet: %s", e.diet);
    memory_add(r, &e);
}

/* ---- sentences ---- */

static void apply(struct remembering *r, const struct said *s, const struct rule *rule)
{
    size_t from, end;
    if (!said_find(s, rule->pattern, &from, &end)) return;
    if (rule->kind == WANTS) add_goal(r, s, end - 1, true);
    else if (rule->kind == STATES) add_goal(r, s, end, false);
    else if (rule->kind == UNIT) add_unit(r, rule->value);
    else if (rule->kind == STYLE) add_style(r, rule->value);
    else if (rule->kind == DIET) add_diet(r, s->words[end - 1].text);
}

static bool is_excluded(const struct said *s)
{
    for (size_t i = 0; i < N_RULES; i++)
        if (rules[i].kind == NOT && said_has(s, rules[i].pattern)) return true;
    return false;
}

bool remember_hears(const struct said *s)
{
    if (is_excluded(s)) return false;
    for (size_t i = 0; i < N_RULES; i++)
        if (rules[i].kind != NOT && said_has(s, rules[i].pattern)) return true;
    return false;
}

/* The first goal of a sentence is its goal. */
static void read_sentence(struct remembering *r, const struct said *s)
{
    size_t before = r->n;
    if (is_excluded(s)) return;
    for (size_t i = 0; i < N_RULES; i++) {
        bool is_goal = rules[i].kind == WANTS || rules[i].kind == STATES;
        if (rules[i].kind != NOT && !(is_goal && r->n > before)) apply(r, s, &rules[i]);
    }
}

enum weir_status recall_words(struct remembering *r)
{
    struct said all;
    enum weir_status st = said_read(&all, r->c->question, r->c->data, r->c->arena);
    if (st != WEIR_OK) return st;
    size_t begin = 0;
    for (size_t i = 1; i < all.n; i++) {
        if (all.words[i].text.len > 0) continue;
        struct said sentence = {.words = all.words + begin, .n = i - begin + 1, .data = all.data};
        read_sentence(r, &sentence);
        begin = i;
    }
    return WEIR_OK;
}

/* ---- what somebody else picked ---- */

/* "Wants to run a marathon" and "I want to run a marathon" are one goal. */
static bool is_remembered(const struct remembering *r, const char *words)
{
    for (size_t i = 0; i < r->n; i++) {
        const char *text = strchr(r->texts[i], ' ');
        if (strncmp(r->texts[i], "Wants to ", 9) == 0) text = r->texts[i] + 8;
        if (text && strstr(words, text + 1)) return true;
    }
    return false;
}

enum weir_status recall_quote(struct remembering *r, const char *category, struct weir_slice quote,
                              struct weir_slice sentence)
{
    struct said whole, said;
    char words[MEMORY_TEXT_BYTES];
    struct entry_of_memory e = {
        .category = category, .value = NAN, .dimension = "", .unit = "", .style = ""};
    bool is_goal = strcmp(category, "goal") == 0;
    enum weir_status st = said_read(&whole, sentence, r->c->data, r->c->arena);
    if (st == WEIR_OK) st = said_read(&said, quote, r->c->data, r->c->arena);
    if (st != WEIR_OK || is_excluded(&whole)) return st;
    size_t from = 0, end = said.n;
    while (from < end && said.words[from].text.len == 0) from++;
    while (end > from && said.words[end - 1].text.len == 0) end--;
    if (said_join(&said, from, end, words, sizeof words) == 0 || is_remembered(r, words)) return st;
    if (is_goal) set_metric(&e, &said, from, end);
    snprintf(e.text, sizeof e.text, "%s: %.*s", is_goal ? "Goal" : "Said", (int)quote.len,
             quote.ptr);
    if (e.metric[0]) snprintf(e.key, sizeof e.key, "goal:%s", e.metric);
    else snprintf(e.key, sizeof e.key, "%s:%.100s", category, words);
    memory_add(r, &e);
    return WEIR_OK;
}
