/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How vague a question is. High: it leaves open what it is about, and a row of vague.def says so;
 * the investigator looks for itself. Medium: it names a thing, but neither what to do with it nor
 * when. Low: all others, also those that are no questions.
 */
#include "agent/llm_impl.h"
#include "agent/route_impl.h"
#include "ask/lexicon.h"

static const struct {
    const char *row, *pattern;
} vague[] = {
#define VAGUE(row, pattern) {#row, pattern},
#include "agent/vague.def"
#undef VAGUE
};

bool said_has_thing(const struct said *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->words[i].thing > 0) return true;
    return false;
}

bool said_has_lab(const struct said *s)
{
    char phrase[128];
    for (size_t i = 0; i < s->n; i++) {
        if (s->words[i].thing == 0) continue;
        size_t len = said_join(s, i, i + s->words[i].thing, phrase, sizeof phrase);
        if (analyte_find((struct weir_slice){phrase, len})) return true;
    }
    return false;
}

/* Words that say what is to be done with a thing, or when; some of their kind are too small. */
static bool is_telling(enum symbol symbol)
{
    static const enum symbol small[] = {S_WHAT,    S_IS,     S_PER,  S_SESSION,
                                        S_READING, S_RESULT, S_LATER};
    static const enum symbol others[] = {S_NORMAL, S_REFUSE, S_EVER, S_CURRENT, S_GOAL, S_DATE};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (symbol == small[i]) return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (symbol == others[i]) return true;
    bool is_operation = symbol >= S_HOW_MANY && symbol <= S_DISTRIBUTION;
    return is_operation || (symbol >= S_PERIOD && symbol <= S_NEW_YEAR);
}

static bool has_telling_sense(struct weir_slice phrase)
{
    struct senses senses;
    if (!lexicon_find(&senses, phrase)) return false;
    for (size_t i = 0; i < senses.n; i++)
        if (is_telling(senses.list[i].symbol)) return true;
    return false;
}

/* "Give me", "show me" ask for something, but not for what of it. */
static bool is_polite(struct weir_slice word)
{
    return weir_slice_is(word, "give") || weir_slice_is(word, "show") ||
           weir_slice_is(word, "tell");
}

static bool is_telling_at(const struct said *s, size_t at)
{
    char phrase[128];
    if (is_polite(s->words[at].text)) return false;
    for (size_t n = 1; n <= 4 && at + n <= s->n; n++) {
        if (s->words[at + n - 1].text.len == 0) return false;
        size_t len = said_join(s, at, at + n, phrase, sizeof phrase);
        if (has_telling_sense((struct weir_slice){phrase, len})) return true;
    }
    return false;
}

static bool is_bare_thing(const struct said *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->words[i].thing > 0) {
            i += s->words[i].thing - 1U;
            continue;
        }
        if (s->words[i].number == s->words[i].number) return false;
        if (is_telling_at(s, i)) return false;
    }
    return true;
}

enum vagueness vagueness_of(const struct said *s, const char **why)
{
    if (!said_has_thing(s) && !said_has(s, "my heart|kidney|kidneys|liver|lungs|thyroid")) {
        for (size_t i = 0; i < sizeof vague / sizeof *vague; i++) {
            if (!said_has(s, vague[i].pattern)) continue;
            *why = vague[i].row;
            return VAGUE_HIGH;
        }
        *why = "names nothing that is measured";
        return VAGUE_LOW;
    }
    *why = "says what is asked of which thing";
    if (!is_bare_thing(s)) return VAGUE_LOW;
    struct route route = route_of(s, NULL, (struct weir_slice){0});
    if (strcmp(route.pattern, "data") != 0) return VAGUE_LOW;
    *why = "names a thing, but neither an operation nor a window";
    return VAGUE_MEDIUM;
}

enum weir_status agent_classify(struct agent_case *c, struct weir_buf *out)
{
    static const char *const names[] = {"low", "medium", "high"};
    struct said said;
    struct weir_slice question;
    const char *why = "";
    enum weir_status st = resolve_question(c, &question);
    if (st == WEIR_OK) st = said_read(&said, question, c->data, c->arena);
    if (st != WEIR_OK) return st;
    bool needs_help = safety_of(&said) != NULL || safety_beyond(c) != NULL;
    if (!needs_help && c->has_model[MODEL_FAST]) return llm_classify(c, out);
    enum vagueness v = needs_help ? VAGUE_LOW : vagueness_of(&said, &why);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "vagueness");
    weir_json_put_str(out, names[v]);
    weir_json_put_key(out, "why");
    weir_json_put_str(out, why);
    weir_json_put_end_object(out);
    return weir_buf_status(out);
}
