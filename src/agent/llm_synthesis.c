/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer in a model's words. The model is given the fact sheet, the verdicts and what others
 * have said, and nothing else; each number it writes is looked up in the sheet, and each uncertain
 * one has to be hedged. An offence is named and the text asked for again; after the last attempt
 * sentences are taken out, and doubt is put in. Nobody sees a text before that.
 */
#include <ctype.h>
#include <stdio.h>

#include "agent/finding.h"
#include "agent/llm_impl.h"
#include "agent/synthesize_impl.h"
#include "base/slice.h"

enum {
    MOST_FACTS = 160, /* entries of the sheet that are told */
    MOST_NOTES = 12,  /* sentences of each kind */
    NOTE_BYTES = 600, /* of a sentence of somebody else */
    ANSWER_TOKENS = 1500,
    TALK_TOKENS = 300,
    OFFENCES_BYTES = 8 << 10,
    PART_BYTES = 64 << 10, /* of each part of what is told */
    UNIT_BYTES = 48,
    KNOWN = TEXT_KNOWN + SYNTHESIS_FINDINGS,
};

/* What is told, part by part. */
struct telling {
    struct synthesis *s;
    struct weir_buf facts, findings, notes, wishes;
};

/* ---- what is told ---- */

/* As people say it: 23:16 and not so many minutes after midnight. */
static void put_value(struct weir_buf *out, const struct weir_json *e)
{
    double x;
    char name[UNIT_BYTES] = "";
    struct weir_slice unit = agent_text(e, "unit");
    if (unit.len < sizeof name) memcpy(name, unit.ptr ? unit.ptr : "", unit.len);
    if (weir_json_double(weir_json_get_str(e, "value"), &x)) amount_put(out, x, name);
    else weir_buf_append_slice(out, agent_text(e, "value"));
}

static void put_fact(struct weir_buf *out, const struct weir_json *e)
{
    const struct weir_json *n = weir_json_get_str(e, "n");
    weir_buf_append_slice(out, agent_text(e, "claim"));
    weir_buf_append_str(out, " = ");
    put_value(out, e);
    weir_buf_append_str(out, " (");
    if (weir_json_type_of(n) == WEIR_JSON_NUMBER) {
        weir_buf_append_str(out, "n ");
        weir_buf_append_slice(out, weir_json_text(n));
        weir_buf_append_str(out, ", ");
    }
    weir_buf_append_slice(out, agent_text(e, "window"));
    weir_buf_append_char(out, ')');
    if (agent_text(e, "verdict").len > 0) weir_buf_append_str(out, " conditional");
    weir_buf_append_char(out, '\n');
}

static void put_facts(struct telling *t)
{
    size_t n = 0;
    const struct weir_json *e = weir_json_first(t->s->voice.sheet);
    for (; e && n < MOST_FACTS; e = weir_json_next(e), n++) put_fact(&t->facts, e);
    if (n == 0) weir_buf_append_str(&t->facts, "(none)");
}

/* Of what was rejected not even the claim is told, for it would be half said. */
static void put_findings(struct telling *t)
{
    struct weir_buf *out = &t->findings;
    for (size_t i = 0; i < t->s->n_findings; i++) {
        const struct told *f = t->s->findings[i];
        bool is_rejected = told_is(f->verdict, "rejected");
        weir_buf_append_slice(out, f->id);
        weir_buf_append_char(out, ' ');
        weir_buf_append_slice(out, f->verdict);
        weir_buf_append_str(out, ": ");
        if (!is_rejected) {
            weir_buf_append_slice(out, agent_text(f->finding, "claim"));
            weir_buf_append_str(out, "; ");
        }
        weir_buf_append_slice(out, f->assessment);
        weir_buf_append_char(out, '\n');
    }
    if (t->s->n_findings == 0) weir_buf_append_str(out, "(none)");
}

static void put_note(struct weir_buf *out, const char *who, struct weir_slice text)
{
    if (text.len == 0) return;
    weir_buf_printf(out, "%s: ", who);
    weir_buf_append_slice(out, slice_of(text.ptr, text.len < NOTE_BYTES ? text.len : NOTE_BYTES));
    weir_buf_append_char(out, '\n');
}

static void put_notes_of(struct weir_buf *out, const char *who, const struct weir_json *list)
{
    size_t n = 0;
    for (const struct weir_json *v = weir_json_first(list); v && n < MOST_NOTES;
         v = weir_json_next(v), n++)
        put_note(out, who, weir_json_text(v));
}

static bool is_rejected(const struct synthesis *s, struct weir_slice id)
{
    for (size_t i = 0; i < s->n_findings; i++)
        if (id.len > 0 && slice_eq(s->findings[i]->id, id))
            return told_is(s->findings[i]->verdict, "rejected");
    return false;
}

/* How a search was done: what it says of its findings comes behind, and is not tested there. */
static struct weir_slice search_of(struct weir_slice text)
{
    static const char end[] = "newer days is left. ";
    const char *at = text.len > 0 ? memmem(text.ptr, text.len, end, strlen(end)) : NULL;
    return at ? slice_of(text.ptr, (size_t)(at - text.ptr) + strlen(end)) : text;
}

static void put_notes(struct telling *t)
{
    struct weir_buf *out = &t->notes;
    struct agent_case *c = t->s->c;
    const struct weir_json *expert = result_of(c, "domain_expert");
    const struct weir_json *coach = result_of(c, "health_coach");
    const struct weir_json *says = weir_json_get_str(expert, "says");
    for (const struct weir_json *v = weir_json_first(says); v; v = weir_json_next(v))
        if (!is_rejected(t->s, agent_text(v, "finding")))
            put_note(out, "expert", agent_text(v, "text"));
    put_notes_of(out, "expert, caveat", weir_json_get_str(expert, "caveats"));
    put_notes_of(out, "coach", weir_json_get_str(coach, "says"));
    put_notes_of(out, "coach, step", weir_json_get_str(coach, "steps"));
    put_note(out, "search", search_of(agent_text(result_of(c, "investigator"), "text")));
    struct weir_slice science = agent_text(result_of(c, "data_science"), "text");
    const char *no = science.len > 0 ? memmem(science.ptr, science.len, "No ", 3) : NULL;
    if (no) put_note(out, "data", slice_from(science, (size_t)(no - science.ptr)));
    if (out->len == 0) weir_buf_append_str(out, "(none)");
}

static void put_wishes(struct telling *t)
{
    const struct prefs *p = &t->s->voice.prefs;
    struct weir_buf *out = &t->wishes;
    if (p->is_short) weir_buf_append_str(out, "short answers\n");
    if (p->is_detailed) weir_buf_append_str(out, "detailed answers\n");
    if (p->length) weir_buf_printf(out, "distances in %s\n", p->length);
    if (p->mass) weir_buf_printf(out, "weights in %s\n", p->mass);
    if (p->temperature) weir_buf_printf(out, "temperatures in %s\n", p->temperature);
    if (out->len == 0) weir_buf_append_str(out, "(nothing special)");
}

enum { N_PARTS = 4 };

static void parts_of(struct telling *t, struct weir_buf *parts[N_PARTS])
{
    struct weir_buf *all[N_PARTS] = {&t->facts, &t->findings, &t->notes, &t->wishes};
    memcpy(parts, all, sizeof all);
}

static void telling_begin(struct telling *t, struct synthesis *s)
{
    struct weir_buf *parts[N_PARTS];
    *t = (struct telling){.s = s};
    parts_of(t, parts);
    for (size_t i = 0; i < N_PARTS; i++) weir_buf_init(parts[i], PART_BYTES);
    put_facts(t);
    put_findings(t);
    put_notes(t);
    put_wishes(t);
}

static void telling_end(struct telling *t)
{
    struct weir_buf *parts[N_PARTS];
    parts_of(t, parts);
    for (size_t i = 0; i < N_PARTS; i++) weir_buf_fini(parts[i]);
}

/* ---- what came back ---- */

struct writing {
    struct synthesis *s;
    struct outcome *o;
    struct talk talk;
    struct weir_slice known[KNOWN];
    struct verify_input input;
    struct verify_result verified;
    struct unhedged unhedged;
    bool is_cut;           /* there was more of it */
    struct weir_buf unfit; /* sentences that no program should say, left out */
};

/* Help that cannot wait, and what is said with all that a coach proposes, are in our own words. */
static void put_ours(struct weir_buf *out, const struct weir_json *list)
{
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        if (out->len > 0) weir_buf_append_str(out, "\n\n");
        weir_buf_append_slice(out, weir_json_text(v));
    }
}

/* Whole sentences of a text that was cut off. */
static void drop_half_sentence(struct weir_buf *out, size_t from)
{
    size_t len = out->len;
    while (len > from && !strchr(".!?\n", out->ptr[len - 1])) len--;
    out->len = len;
}

static enum weir_status write_text(struct writing *w)
{
    struct agent_case *c = w->s->c;
    struct weir_buf *out = &w->s->voice.out, raw;
    enum weir_status st = WEIR_OK;
    weir_buf_init(&raw, LLM_CONTENT_BYTES);
    weir_buf_reset(out);
    talk_put_text(&w->talk, &raw);
    w->is_cut = w->talk.stop == MODEL_STOP_LENGTH;
    bool has_words = weir_buf_status(&raw) == WEIR_OK && !answer_is_blank(weir_buf_slice(&raw));
    if (has_words) {
        put_ours(out, weir_json_get_str(result_of(c, "domain_expert"), "urgent"));
        if (out->len > 0) weir_buf_append_str(out, "\n\n");
        size_t from = out->len;
        weir_buf_reset(&w->unfit);
        st = text_put_fit(out, c, weir_buf_slice(&raw), &w->unfit);
        if (w->is_cut) drop_half_sentence(out, from);
    }
    weir_buf_fini(&raw);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

static enum weir_status verify(struct writing *w)
{
    struct arena *arena = w->s->c->arena;
    struct weir_slice text = weir_buf_slice(&w->s->voice.out);
    while (text.len > 0 && isspace((unsigned char)text.ptr[text.len - 1])) text.len--;
    w->input.text = text;
    enum weir_status st = verify_text(&w->verified, &w->input, arena);
    return st == WEIR_OK ? verify_unhedged(&w->unhedged, text, &w->verified, arena) : st;
}

/* ---- offences ---- */

static void name_offence(struct writing *w, struct weir_buf *out, struct weir_slice text,
                         const char *offence)
{
    outcome_flag(w->o, text, weir_slice_of(offence));
    weir_buf_printf(out, "%s: ", offence);
    weir_buf_append_slice(out, text);
    weir_buf_append_char(out, '\n');
}

/* One a line; nothing: there are none. */
static void name_offences(struct writing *w, struct weir_buf *out)
{
    struct weir_slice text = w->input.text;
    if (answer_is_blank(text)) name_offence(w, out, SLICE(""), "there is no text");
    else if (w->is_cut) name_offence(w, out, SLICE(""), "the text was cut off: it is too long");
    if (w->unfit.len > 0)
        name_offence(w, out, weir_buf_slice(&w->unfit), "a diagnosis, or advice on medicines");
    for (size_t i = 0; i < w->verified.n; i++) {
        const struct verified *n = &w->verified.numbers[i];
        if (n->outcome != VERIFY_LACK) continue;
        outcome_flag_number(w->o, text, n);
        verify_offence(out, text, n);
        weir_buf_append_char(out, '\n');
    }
    for (size_t i = 0; i < w->unhedged.n; i++)
        name_offence(w, out, w->unhedged.sentences[i], "stated as certain, but it is conditional");
}

static void ask_again(struct writing *w, struct weir_slice offences)
{
    struct weir_buf text;
    weir_buf_init(&text, 2 * OFFENCES_BYTES + BLOCK_BYTES);
    weir_buf_append_str(&text, "That text cannot be shown. What is wrong with it:\n");
    block_put(&text, "offences", offences);
    weir_buf_append_str(&text,
                        "\nWrite the whole answer again without these mistakes. A number that "
                        "is not in the facts is left out, not replaced by another.");
    talk_keep_answer(&w->talk);
    talk_say(&w->talk, "user", weir_buf_slice(&text));
    weir_buf_fini(&text);
}

/* ---- when asking again was in vain ---- */

static enum weir_status copy(struct writing *w, struct weir_slice *text)
{
    char *bytes = arena_alloc(w->s->c->arena, text->len + 1);
    if (!bytes) return w->s->c->arena->status;
    if (text->len > 0) memcpy(bytes, text->ptr, text->len);
    text->ptr = bytes;
    return WEIR_OK;
}

/* The text is this from now on. */
static enum weir_status keep(struct writing *w, struct weir_slice text)
{
    struct weir_buf *out = &w->s->voice.out;
    enum weir_status st = copy(w, &text);
    if (st != WEIR_OK) return st;
    weir_buf_reset(out);
    weir_buf_append_slice(out, text);
    return weir_buf_status(out);
}

static bool is_in_table(struct weir_slice text, size_t at)
{
    while (at > 0 && text.ptr[at - 1] != '\n') at--;
    return at < text.len && (text.ptr[at] == '|' || text.ptr[at] == '#');
}

/* Behind each sentence that is too sure of itself it is said that it is not. */
static enum weir_status put_doubts(struct writing *w)
{
    struct weir_slice text = w->input.text;
    struct weir_buf out;
    size_t at = 0;
    weir_buf_init(&out, AGENT_TEXT_BYTES);
    for (size_t i = 0; i < w->unhedged.n; i++) {
        struct weir_slice sentence = w->unhedged.sentences[i];
        size_t end = (size_t)(sentence.ptr - text.ptr) + sentence.len;
        if (end < at || is_in_table(text, (size_t)(sentence.ptr - text.ptr))) continue;
        weir_buf_append(&out, text.ptr + at, end - at);
        weir_buf_append_str(&out, " (This is uncertain.)");
        at = end;
    }
    weir_buf_append_slice(&out, slice_from(text, at));
    enum weir_status st = weir_buf_status(&out);
    if (st == WEIR_OK) st = keep(w, weir_buf_slice(&out));
    weir_buf_fini(&out);
    return st == WEIR_OK ? verify(w) : st;
}

static enum weir_status amend(struct writing *w)
{
    enum weir_status st = WEIR_OK;
    if (w->verified.n_lacking > 0) {
        /* Sentences that are taken out are parts of the text as it was. */
        st = copy(w, &w->input.text);
        if (st == WEIR_OK) st = verify_strip(&w->o->stripped, &w->input, w->s->c->arena);
        if (st == WEIR_OK) st = keep(w, w->o->stripped.text);
        if (st == WEIR_OK) st = verify(w);
    }
    if (st == WEIR_OK && w->unhedged.n > 0) st = put_doubts(w);
    if (st != WEIR_OK || w->unhedged.n == 0) return st;
    weir_buf_append_str(&w->s->voice.out, "\n\nSome of this is uncertain.");
    return verify(w);
}

/* ---- the whole ---- */

/* Asks, verifies; *is_good false: what is wrong was named, and it can be asked for again. */
static enum weir_status attempt(struct writing *w, bool *is_good)
{
    struct weir_buf offences;
    enum weir_status st = talk_ask(&w->talk, NULL);
    if (st == WEIR_OK) st = write_text(w);
    if (st == WEIR_OK) st = verify(w);
    if (st != WEIR_OK) return st;
    weir_buf_init(&offences, OFFENCES_BYTES);
    name_offences(w, &offences);
    *is_good = offences.len == 0;
    if (!*is_good) ask_again(w, weir_buf_slice(&offences));
    weir_buf_fini(&offences);
    return WEIR_OK;
}

static enum weir_status write_and_amend(struct writing *w)
{
    enum weir_status st = WEIR_OK;
    bool is_good = false;
    struct outcome *o = w->o;
    for (o->attempts = 1; st == WEIR_OK; o->attempts++) {
        st = attempt(w, &is_good);
        if (is_good || o->attempts == SYNTHESIS_ATTEMPTS) break;
    }
    if (st == WEIR_OK && !is_good) st = amend(w);
    if (st == WEIR_OK && !answer_is_blank(w->input.text)) {
        w->s->voice.out.len = w->input.text.len;
        put_ours(&w->s->voice.out,
                 weir_json_get_str(result_of(w->s->c, "health_coach"), "caveats"));
        st = verify(w);
    }
    if (st == WEIR_OK) st = weir_buf_status(&w->s->voice.out);
    if (st != WEIR_OK) return st;
    o->answer = w->input.text;
    o->verified = w->verified;
    return WEIR_OK;
}

/*
 * Windows that were looked at may be named, whatever came out of them, and so may their length in
 * days. A length alone is no known number: it could be said of anything.
 */
static void know_windows(struct writing *w)
{
    const struct synthesis *s = w->s;
    for (size_t i = 0; i < s->n_findings; i++) {
        struct weir_slice window = agent_text(s->findings[i]->finding, "window");
        if (window.len > 0) w->known[w->input.n_known++] = window;
    }
}

enum weir_status llm_synthesis(struct synthesis *s, const struct ledger *ledger, struct outcome *o)
{
    struct telling t;
    struct writing w = {.s = s, .o = o, .input = {.ledger = ledger}};
    weir_buf_init(&w.unfit, AGENT_TEXT_BYTES);
    bool is_briefing = weir_slice_is(s->main, "investigator");
    w.input.known = w.known;
    w.input.n_known = text_own(s->c, w.known);
    telling_begin(&t, s);
    struct prompt_value values[] = {{"question", s->c->question},
                                    {"facts", weir_buf_slice(&t.facts)},
                                    {"findings", weir_buf_slice(&t.findings)},
                                    {"notes", weir_buf_slice(&t.notes)},
                                    {"wishes", weir_buf_slice(&t.wishes)}};
    talk_begin(&w.talk, s->c, MODEL_MAIN, is_briefing ? "briefing" : "synthesis", values, 5);
    w.talk.request.max_tokens = ANSWER_TOKENS;
    know_windows(&w);
    enum weir_status st = write_and_amend(&w);
    weir_buf_fini(&w.unfit);
    talk_end(&w.talk);
    telling_end(&t);
    return st;
}

/* ---- the conversational answer ---- */

static enum weir_status say_fallback(struct writing *w)
{
    enum weir_status st = write_text(w);
    struct outcome *o = w->o;
    if (st == WEIR_OK) st = verify(w);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < w->verified.n; i++)
        if (w->verified.numbers[i].outcome == VERIFY_LACK)
            outcome_flag_number(o, w->input.text, &w->verified.numbers[i]);
    st = w->verified.n_lacking > 0 ? amend(w) : WEIR_OK;
    o->answer = w->input.text;
    if (answer_is_blank(o->answer)) o->answer = weir_slice_of(fallback_answer(w->s->pattern));
    return st;
}

enum weir_status llm_fallback(struct synthesis *s, struct outcome *o)
{
    struct weir_buf metrics, conversation;
    struct ledger none = {0};
    struct writing w = {.s = s, .o = o, .input = {.ledger = &none}};
    weir_buf_init(&w.unfit, AGENT_TEXT_BYTES);
    w.input.known = w.known;
    w.input.n_known = text_own(s->c, w.known);
    weir_buf_init(&metrics, CONTEXT_BYTES);
    weir_buf_init(&conversation, CONTEXT_BYTES);
    context_put_talk(&conversation, s->c);
    enum weir_status st = context_put_names(&metrics, s->c);
    struct prompt_value values[] = {{"metrics", weir_buf_slice(&metrics)},
                                    {"conversation", weir_buf_slice(&conversation)},
                                    {"question", s->c->question}};
    talk_begin(&w.talk, s->c, MODEL_FAST, "fallback", values, 3);
    w.talk.request.max_tokens = TALK_TOKENS;
    o->attempts = 1;
    if (st == WEIR_OK) st = talk_ask(&w.talk, NULL);
    if (st == WEIR_OK) st = say_fallback(&w);
    weir_buf_fini(&w.unfit);
    talk_end(&w.talk);
    weir_buf_fini(&conversation);
    weir_buf_fini(&metrics);
    return st;
}
