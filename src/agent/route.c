/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who answers. Safety comes first, then questions that leave open what they are about, then the
 * rows of route.def from the top. A question that the grammar of plans reads is one for the data
 * when no row before the data's has claimed it. What no row knows is the fallback's.
 */
#include <math.h>

#include "agent/llm_impl.h"
#include "agent/route_impl.h"
#include "agent/topics.h"
#include "ask/ask.h"

enum { ANY, PERSONAL, GENERAL, NOTHING };
enum { NOBODY = 0, SCIENCE = 1, EXPERT = 2, COACH = 4, INVESTIGATOR = 8 };

static const struct row {
    const char *name;
    int test;
    unsigned main, supporting;
    const char *pattern;
} rows[] = {
#define ROUTE(name, test, main, supporting, pattern) {#name, test, main, supporting, pattern},
#include "agent/route.def"
#undef ROUTE
};

bool said_names_medicine(const struct said *s)
{
    return said_has(s, DRUGS);
}

bool said_plays_doctor(const struct said *s)
{
    static const char illness[] =
        "you|your .. have|has|having|got|suffer*|are|is .. cancer|leuk*|tumor*|tumour*|diabet*|"
        "hypertensive|hypertension|apnea|apnoea|anemi*|anaemi*|depressed|depression|arrhythmia|"
        "fibrillation|infection|disease|syndrome|disorder";
    if (said_has(s, TAKES " .. " DRUGS NUTRIENTS) || said_has(s, CHANGES_DOSE " .. " DRUGS))
        return true;
    return said_has(s, illness) && !said_has(s, "if|whether|unless|when|no|not|never|rule*");
}

static const char *agent_name(unsigned agent)
{
    return agent == SCIENCE        ? "data_science"
           : agent == EXPERT       ? "domain_expert"
           : agent == COACH        ? "health_coach"
           : agent == INVESTIGATOR ? "investigator"
                                   : NULL;
}

/* Names days: only a person's own data have those. */
static bool is_dated(const struct said *s)
{
    return said_has(s, "yesterday|today|tonight") ||
           said_has(s, "last|past|previous|this week|weekend|month|year|quarter|night") ||
           said_has(s, "last|past|previous @number days|nights|weeks|months|years") ||
           said_has(s, "on|since|last monday*|tuesday*|wednesday*|thursday*|friday*|saturday*|"
                       "sunday*|weekend*|weekday*") ||
           said_has(s, "since|in january|february|march|april|may|june|july|august|september|"
                       "october|november|december");
}

#define KIN                                                                                        \
    "friend*|wife|husband|partner|spouse|mother|father|mom|mum|dad|parents|son|daughter|brother|"  \
    "sister|boyfriend|girlfriend|grandm*|grandf*|grandp*|uncle|aunt|cousin|nephew|niece|boss|"     \
    "colleague*|coworker*|neighbo*|child|children|kid|kids|baby|roommate*|buddy|patient*"

/* Speaks of somebody else alone: "my friend's heart rate is 48". */
static bool is_of_another(const struct said *s)
{
    bool is_named =
        said_has(s, "my|our|a|the " KIN) || said_has(s, "he|she|his|her|their .. @thing");
    return is_named && !said_has(s, "i|mine|myself|im|ive") && !said_has(s, "my|our @thing");
}

/* Speaks of the person: "my", a thing on some days, or together with its number ("LDL 124"). "Tell
 * me" does not, nor does the number of somebody's years. */
static bool is_personal(const struct said *s)
{
    if (is_of_another(s)) return false;
    if (said_has(s, "i|my|mine|myself|our|we|us|im|ive")) return true;
    if (said_has(s, "for|about|of|like|affect*|help|helps|make|makes|with|am|is|on|to me"))
        return true;
    bool is_of_others = said_has(s, "year|years old") ||
                        said_has(s, "adult*|people|woman|women|man|men|person|child*|teen*");
    if (!is_of_others && said_has_thing(s) && is_dated(s)) return true;
    bool is_number = said_has(s, "@thing .. @number") || said_has(s, "@number .. @thing");
    return is_number && !is_of_others && !said_has(s, "in @number sentence*|word*|line*|point*");
}

static struct route route_to(const struct row *row, const struct said *s)
{
    struct route r = {.main = agent_name(row->main), .pattern = row->name};
    unsigned supporting = row->supporting;
    bool is_lab = row->main == COACH && said_has_lab(s);
    if (is_lab) supporting |= EXPERT;
    if (supporting & SCIENCE) r.supporting[r.n_supporting++] = agent_name(SCIENCE);
    if (supporting & EXPERT) r.supporting[r.n_supporting++] = agent_name(EXPERT);
    return r;
}

/* A general question is for us when it names a thing or is about health at all. */
static bool is_of_health(const struct said *s)
{
    if (said_has_thing(s)) return true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, "health") == 0 && said_has(s, rows[i].pattern)) return true;
    return false;
}

/* Days that are asked about as a whole are: "compare March with May", "how was my March?" */
static bool is_readable(struct agent_case *c, const struct said *s, struct weir_slice question)
{
    struct ask_reading *reading = arena_alloc(c->arena, sizeof *reading);
    if (!reading || question.len > ASK_BYTES) return false;
    if (ask_read(reading, question, c->data, c->arena) != WEIR_OK) return false;
    bool is_asked =
        reading->plan.op == PLAN_COMPARE || said_has(s, "^ how is|was|were|did|about|has");
    return reading->is_understood || (reading->lacks_thing && is_asked);
}

static const struct row *data_row(void)
{
    size_t i = 0;
    while (strcmp(rows[i].name, "data") != 0) i++;
    return &rows[i];
}

/* What names nobody to answer may be something to remember: "I prefer miles". */
static struct route or_noted(struct route r, const struct said *s)
{
    bool is_open = strcmp(r.pattern, "unknown") == 0 || strcmp(r.pattern, "agreement") == 0;
    if (!r.main && is_open && remember_hears(s)) r.pattern = "noted";
    return r;
}

struct route route_of(const struct said *s, struct agent_case *c, struct weir_slice question)
{
    bool is_mine = is_personal(s), is_general = !is_mine && is_of_health(s), was_read = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        bool is_past = strcmp(row->name, "off_topic") == 0;
        if (is_past && c && !was_read && is_readable(c, s, question))
            return route_to(data_row(), s);
        was_read = was_read || is_past;
        if (row->test == PERSONAL && !is_mine) continue;
        if (row->test == NOTHING && said_has_thing(s)) continue;
        if (row->test == GENERAL && !is_general) continue;
        if (said_has(s, row->pattern)) return or_noted(route_to(row, s), s);
    }
    return or_noted((struct route){.pattern = "unknown"}, s);
}

/* A value that is told and cannot wait, whatever is asked about it. */
static bool tells_danger(struct agent_case *c, struct weir_slice question)
{
    struct topics topics;
    if (topics_read(&topics, question, c->arena) != WEIR_OK) return false;
    for (size_t i = 0; i < topics.n; i++)
        if (fact_alarm_of(topics.list[i].subject->name, topics.list[i].value)) return true;
    return false;
}

/* What is decided here whoever else is there to ask. False: it is open. */
static bool decide_first(struct agent_case *c, struct said *s, struct weir_slice question,
                         struct route *out)
{
    const char *safety = safety_of(s);
    if (!safety) safety = safety_beyond(c);
    *out = (struct route){.pattern = "safety", .safety = safety};
    if (safety) return true;
    *out = (struct route){.main = agent_name(EXPERT),
                          .supporting = {agent_name(SCIENCE)},
                          .n_supporting = is_of_another(s) ? 0 : 1,
                          .pattern = "danger"};
    return tells_danger(c, question);
}

static struct route decide(struct agent_case *c, struct said *s, struct weir_slice question)
{
    const char *why;
    if (vagueness_of(s, &why) == VAGUE_HIGH)
        return (struct route){.main = agent_name(INVESTIGATOR), .pattern = "vague"};
    return route_of(s, c, question);
}

/* Medicines are for a doctor to say; a model is not asked about them, nor about what is vague. */
static enum weir_status decide_on_model(struct agent_case *c, struct said *s,
                                        struct weir_slice question, struct route *out)
{
    const struct weir_json *step = agent_output(c, "classify_vagueness");
    *out = (struct route){.main = agent_name(INVESTIGATOR), .pattern = "vague"};
    if (weir_slice_is(agent_text(step, "vagueness"), "high")) return WEIR_OK;
    struct route builtin = route_of(s, c, question);
    *out = builtin;
    if (strcmp(builtin.pattern, "medicine") == 0) return WEIR_OK;
    enum weir_status st = llm_route(c, out);
    /* Small talk has its words for the kind that it is. */
    if (!out->main && !builtin.main) out->pattern = builtin.pattern;
    return st;
}

static void put(struct weir_buf *out, const struct route *r)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "main");
    weir_json_put_str(out, r->main);
    weir_json_put_key(out, "supporting");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < r->n_supporting; i++) weir_json_put_str(out, r->supporting[i]);
    weir_json_put_end_array(out);
    weir_json_put_key(out, "pattern");
    weir_json_put_str(out, r->pattern);
    weir_json_put_key(out, "safety");
    weir_json_put_str(out, r->safety);
    weir_json_put_end_object(out);
}

enum weir_status agent_route(struct agent_case *c, struct weir_buf *out)
{
    struct said said;
    struct weir_slice question;
    enum weir_status st = resolve_question(c, &question);
    if (st == WEIR_OK) st = said_read(&said, question, c->data, c->arena);
    if (st != WEIR_OK) return st;
    struct route route;
    if (!decide_first(c, &said, question, &route)) {
        if (c->has_model[MODEL_FAST]) st = decide_on_model(c, &said, question, &route);
        else route = decide(c, &said, question);
    }
    if (st != WEIR_OK) return st;
    put(out, &route);
    return weir_buf_status(out);
}
