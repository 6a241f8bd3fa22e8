/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The domain expert: what public bodies say about a value, in words, with the source of each limit.
 *
 * The value is the one that the question gives, else the newest laboratory result, else the mean of
 * the last days; without any, the limits alone are told. It orders a value and never diagnoses;
 * a dangerous one gets a sentence about help before all others.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/finding.h"
#include "agent/llm_impl.h"
#include "agent/topics.h"
#include "base/slice.h"
#include "codec/json_member.h"

enum {
    OWN_DAYS = 30,        /* days whose mean stands for how it is now */
    CLAIM_NAME = 96,      /* bytes of the name of an entry */
    JSON_BYTES = 1 << 20, /* of each part of a RESULT */
    MOST_JUDGED = 4,      /* subjects of one question: more would be a lecture */
};

struct expert {
    struct agent_case *c;
    struct fact_person person;
    struct weir_buf text; /* the sentence in the making */
    struct weir_buf told; /* all of them, as streamed */
    struct weir_buf findings, facts, judgements, says, caveats, urgent;
    struct weir_buf words; /* of a model, streamed as they came */
    struct claim_wish wish;
    bool is_about_person; /* and not about people in general */
    bool has_several;     /* subjects: a caveat has to say whose it is */
    size_t n_judged;
    const char *last_caveat;
    bool has_urgent[2];      /* by urgency: it was said */
    const struct claim *own; /* the last value of the person that was judged; NULL */
    unsigned n_looked_up;    /* subjects whose rows were handed to a model */
};

enum { N_PARTS = 9 };

static void parts_of(struct expert *e, struct weir_buf *parts[N_PARTS])
{
    struct weir_buf *all[N_PARTS] = {&e->text, &e->told,    &e->findings, &e->facts, &e->judgements,
                                     &e->says, &e->caveats, &e->urgent,   &e->words};
    memcpy(parts, all, sizeof all);
}

/* A subject with its value, if there is one, and the row that it falls into. */
struct judgement {
    const struct topic *topic;
    double value;            /* in the unit of the catalogue; NAN: none */
    const struct claim *own; /* where it comes from; NULL: told, or none */
    struct weir_slice printed_range;
    const struct fact_band *bands, *band;
    size_t n_bands;
    const char *needs;
    const struct fact_alarm *alarm;
};

/* ---- amounts ---- */

/* In the unit that the question uses, sleep in hours. */
static const char *spoken_unit(const struct topic *t)
{
    const char *unit = t->unit;
    return strcmp(unit, "min") == 0 && strncmp(t->subject->name, "sleep_minutes", 13) == 0 ? "h"
                                                                                           : unit;
}

/* A limit of the catalogue's unit in that of the question. */
static double spoken(const struct topic *t, double value)
{
    double one, out;
    const char *unit = spoken_unit(t);
    if (t->metric) return unit_convert(t->metric->unit, unit, value, &out) ? out : NAN;
    if (strcmp(unit, t->analyte->unit) == 0) return value;
    if (strcmp(unit, "mmol/mol") == 0) return (value - 2.152) / 0.09148; /* IFCC from NGSP */
    return analyte_convert(t->analyte, weir_slice_of(unit), 1, &one) ? value / one : NAN;
}

/* Limits that were converted have the digits that people use. */
static double rounded(const struct topic *t, double value)
{
    if (strcmp(spoken_unit(t), topic_unit(t)) == 0) return value;
    double scale = value >= 20 ? 1 : 10;
    return round(value * scale) / scale;
}

static void put_amount(struct weir_buf *out, const struct topic *t, double value)
{
    amount_put(out, value, spoken_unit(t));
}

/* ---- entries ---- */

static void put_fact(struct expert *e, const struct topic *t, const char *what, double value,
                     const char *source)
{
    char claim[CLAIM_NAME];
    struct weir_buf *out = &e->facts;
    (void)snprintf(claim, sizeof claim, "fact.%s.%s", t->subject->name, what);
    weir_json_put_begin_object(out);
    member_str(out, "claim", claim);
    weir_json_put_key(out, "value");
    weir_json_put_double(out, value);
    member_str(out, "unit", spoken_unit(t));
    member_str(out, "source", "domain_expert");
    weir_json_put_key(out, "n");
    weir_json_put_null(out);
    member_str(out, "window", source);
    member_str(out, "metric", t->subject->name);
    weir_json_put_end_object(out);
}

/* ---- the value ---- */

static void plan_for(struct plan *plan, const struct topic *t)
{
    plan_init(plan);
    plan->op = PLAN_AGGREGATE;
    if (t->analyte) {
        plan->subject = PLAN_OF_LAB;
        plan->analyte = t->analyte;
        plan->stat = STAT_LAST;
        return;
    }
    plan->metric = t->metric;
    plan->stat = STAT_MEAN;
    plan->window.last = OWN_DAYS;
}

static void find_printed_range(struct expert *e, struct judgement *j)
{
    const struct lab *labs;
    size_t n;
    if (!j->topic->analyte || dataset_labs(e->c->data, &labs, &n) != WEIR_OK) return;
    for (size_t i = n; i-- > 0;)
        if (labs[i].analyte == j->topic->analyte) {
            j->printed_range = labs[i].range;
            return;
        }
}

/* What the person's own data say; the claim goes through the gates like all others. */
static enum weir_status find_own(struct expert *e, struct judgement *j)
{
    struct plan *plan = arena_alloc(e->c->arena, sizeof *plan);
    struct plan_answer *answer = arena_alloc(e->c->arena, sizeof *answer);
    struct claims claims;
    if (!plan || !answer) return e->c->arena->status;
    if (!e->is_about_person || (j->topic->analyte && !e->c->has_biomarkers)) return WEIR_OK;
    plan_for(plan, j->topic);
    enum weir_status st = plan_run(plan, e->c->data, e->c->arena, answer);
    if (st != WEIR_OK) return st;
    if (answer->kind != VALUE_NUMBER) return WEIR_OK;
    st = claims_make(&claims, plan, answer, e->c, &e->wish);
    if (st != WEIR_OK) return st;
    if (claims.n == 0) return WEIR_OK;
    for (size_t i = 0; i < claims.n; i++) claim_put(&e->findings, claims.list[i], "domain_expert");
    j->own = claims.list[0];
    j->value = answer->number;
    find_printed_range(e, j);
    return WEIR_OK;
}

/* ---- the words ---- */

static void say(struct expert *e, const char *text)
{
    weir_buf_append_str(&e->text, text);
}

/* Ends the sentence: it is streamed, and kept for the answer in `list`. */
static void end_sentence(struct expert *e, struct weir_buf *list, const struct claim *own)
{
    struct weir_slice text = weir_buf_slice(&e->text);
    if (list == &e->says) {
        weir_json_put_begin_object(list);
        weir_json_put_key(list, "text");
        weir_json_put_string(list, text);
        member_str(list, "finding", own ? own->id : NULL);
        weir_json_put_end_object(list);
    } else weir_json_put_string(list, text);
    weir_buf_append_char(&e->text, ' ');
    weir_buf_append_slice(&e->told, weir_buf_slice(&e->text));
    agent_think(e->c, "domain_expert", NULL, weir_buf_slice(&e->text));
    weir_buf_reset(&e->text);
}

static void say_alarm(struct expert *e, const struct judgement *j)
{
    if (!j->alarm || e->has_urgent[j->alarm->urgency]) return;
    e->has_urgent[j->alarm->urgency] = true;
    if (j->alarm->urgency == URGENCY_NOW)
        say(e, "**This value can be dangerous.** With pain in the chest, shortness of breath, "
               "confusion, fainting or weakness, call your local emergency number now. Without any "
               "of these, measure again and speak to a doctor today.");
    else say(e, "**Please show this value to a doctor in the next days**.");
    end_sentence(e, &e->urgent, NULL);
}

/* "A value of 42 bpm for resting heart rate", but "A value of 6,000 steps". */
static void say_told(struct expert *e, const struct topic *t, double value)
{
    say(e, "A value of ");
    put_amount(&e->text, t, value);
    if (strcmp(spoken_unit(t), topic_title(t)) != 0)
        weir_buf_printf(&e->text, " for %s", topic_title(t));
}

/* Judging the person's own value instead would look like an answer to what was asked. */
static void say_refused(struct expert *e, const struct topic *t)
{
    say_told(e, t, t->refused);
    say(e, " is hardly possible: please check the number and its unit. If it is what was measured "
           "and you feel unwell, get help now.");
    end_sentence(e, &e->says, NULL);
}

/* Of an own value the gates decide whether its number may be said, so it is not said here. */
static void say_value(struct expert *e, const struct judgement *j)
{
    if (j->own) {
        say(e, "Measured against public limits, your ");
        say(e, j->topic->analyte ? "newest " : "average ");
        say(e, topic_title(j->topic));
    } else say_told(e, j->topic, j->topic->told);
}

/* A limit in the unit that is spoken, with its entry. */
static double limit(struct expert *e, const struct topic *t, const char *what, double value,
                    const char *source)
{
    double out = rounded(t, spoken(t, value));
    put_fact(e, t, what, out, source);
    return out;
}

/* "130 to below 140 mmHg". */
static void say_range(struct expert *e, const struct topic *t, const struct fact_band *band)
{
    bool has_lo = !isnan(band->lo), has_hi = !isnan(band->hi);
    if (has_lo) {
        double lo = limit(e, t, "lower", band->lo, band->source);
        amount_put(&e->text, lo, has_hi ? "" : spoken_unit(t));
        say(e, has_hi ? " to " : " and more");
    }
    if (!has_hi) return;
    say(e, "below ");
    put_amount(&e->text, t, limit(e, t, "upper", band->hi, band->source));
}

static void say_judged(struct expert *e, const struct judgement *j)
{
    say_value(e, j);
    say(e, " is ");
    say(e, j->band->label);
    say(e, " (");
    say_range(e, j->topic, j->band);
    if (j->band->who[0]) weir_buf_printf(&e->text, ", for %s", j->band->who);
    weir_buf_printf(&e->text, "; %s)", j->band->source);
    if (j->topic->is_assumed) {
        say(e, ", if it is in ");
        say(e, j->topic->unit);
    }
    say(e, ".");
    end_sentence(e, &e->says, j->own);
}

/* The first row that is neither too low nor too high: what one would want to know. */
static void say_limits(struct expert *e, const struct judgement *j)
{
    for (size_t i = 0; i < j->n_bands; i++) {
        if (j->bands[i].tone != TONE_GOOD) continue;
        weir_buf_printf(&e->text, "For %s, ", topic_title(j->topic));
        say_range(e, j->topic, &j->bands[i]);
        weir_buf_printf(&e->text, " is %s", j->bands[i].label);
        if (j->bands[i].who[0]) weir_buf_printf(&e->text, " for %s", j->bands[i].who);
        weir_buf_printf(&e->text, " (%s).", j->bands[i].source);
        end_sentence(e, &e->says, NULL);
        return;
    }
}

static void say_weekly(struct expert *e, const struct topic *t, const struct fact_weekly *w)
{
    weir_buf_printf(&e->text, "%.10g to ", limit(e, t, "weekly_lower", w->lo, w->source));
    weir_buf_printf(&e->text, "%.10g %s (%s).", limit(e, t, "weekly_upper", w->hi, w->source),
                    w->text, w->source);
    end_sentence(e, &e->says, NULL);
}

static void say_caveat(struct expert *e, const struct judgement *j)
{
    const char *caveat = j->topic->subject->caveat;
    if (e->last_caveat && strcmp(e->last_caveat, caveat) == 0) return;
    say(e, e->last_caveat ? "About " : e->has_several ? "Keep in mind about " : "Keep in mind");
    if (e->has_several) say(e, topic_title(j->topic));
    weir_buf_printf(&e->text, ": %s.", caveat);
    e->last_caveat = caveat;
    end_sentence(e, &e->caveats, NULL);
    if (j->printed_range.len == 0) return;
    say(e, "Your laboratory printed a range of its own, which counts first.");
    end_sentence(e, &e->caveats, NULL);
}

static void say_subject(struct expert *e, const struct judgement *j)
{
    const struct fact_subject *s = j->topic->subject;
    const struct fact_weekly *weekly = fact_weekly_find(s->name);
    say_alarm(e, j);
    if (j->band) say_judged(e, j);
    else {
        say(e, s->about);
        say(e, ".");
        end_sentence(e, &e->says, NULL);
        say_limits(e, j);
    }
    if (j->needs) {
        weir_buf_printf(&e->text, "The limits of %s depend on %s, which I do not know.",
                        topic_title(j->topic), j->needs);
        end_sentence(e, &e->says, NULL);
    }
    if (weekly) say_weekly(e, j->topic, weekly);
    say_caveat(e, j);
}

/* ---- the result ---- */

static void put_judgement(struct weir_buf *out, const struct judgement *j)
{
    static const char *const tones[] = {"good", "watch", "low", "high"};
    weir_json_put_begin_object(out);
    member_str(out, "subject", j->topic->subject->name);
    member_str(out, "finding", j->own ? j->own->id : NULL);
    member_str(out, "label", j->band ? j->band->label : NULL);
    member_str(out, "tone", j->band ? tones[j->band->tone] : NULL);
    member_str(out, "source", j->band ? j->band->source : NULL);
    member_str(out, "needs", j->needs);
    member_str(out, "help", !j->alarm ? NULL : j->alarm->urgency == URGENCY_NOW ? "now" : "soon");
    weir_json_put_end_object(out);
}

/* Of a subject without a value the limits alone are told, if they are needed. */
static enum weir_status judge(struct expert *e, const struct topic *t, bool is_needed)
{
    struct judgement j = {.topic = t, .value = t->value};
    if (isnan(t->value) && !isnan(t->refused)) {
        say_refused(e, t);
        e->n_judged++;
        return WEIR_OK;
    }
    enum weir_status st = isnan(j.value) ? find_own(e, &j) : WEIR_OK;
    if (st != WEIR_OK || (isnan(j.value) && !is_needed)) return st;
    e->n_judged++;
    j.bands = fact_bands(t->subject->name, &e->person, &j.n_bands, &j.needs);
    if (!isnan(j.value)) {
        j.band = fact_band_of(j.bands, j.n_bands, j.value);
        j.alarm = fact_alarm_of(t->subject->name, j.value);
    }
    say_subject(e, &j);
    put_judgement(&e->judgements, &j);
    if (j.own) e->own = j.own;
    return WEIR_OK;
}

/* ---- rows for a model ---- */

static struct topic topic_of(const struct fact_subject *s)
{
    struct topic t = {.subject = s, .told = NAN, .value = NAN, .refused = NAN};
    t.metric = metric_find(weir_slice_of(s->name));
    t.analyte = t.metric ? NULL : analyte_find(weir_slice_of(s->name));
    t.unit = topic_unit(&t);
    return t;
}

/* "lower" of the third row is the fact "fact.ldl.2_3.lower": each has a name of its own. */
static double row_limit(struct expert *e, const struct topic *t, size_t row, const char *side,
                        double value, const char *source)
{
    char what[48];
    (void)snprintf(what, sizeof what, "%u_%zu.%s", e->n_looked_up, row, side);
    return limit(e, t, what, value, source);
}

static void put_row(struct expert *e, const struct topic *t, const struct fact_band *b, size_t row,
                    struct weir_buf *out)
{
    weir_buf_printf(out, "- %s, %s: ", b->who[0] ? b->who : "adults", b->label);
    if (!isnan(b->lo)) {
        weir_buf_append_str(out, "from ");
        put_amount(out, t, row_limit(e, t, row, "lower", b->lo, b->source));
        weir_buf_append_char(out, ' ');
    }
    if (!isnan(b->hi)) {
        weir_buf_append_str(out, "to below ");
        put_amount(out, t, row_limit(e, t, row, "upper", b->hi, b->source));
    }
    weir_buf_printf(out, " (%s)\n", b->source);
}

static enum weir_status look_up(void *user, const struct fact_subject *s, struct weir_buf *out)
{
    struct expert *e = user;
    struct topic t = topic_of(s);
    const struct fact_weekly *weekly = fact_weekly_find(s->name);
    const char *needs;
    size_t n;
    const struct fact_band *bands = fact_bands(s->name, &e->person, &n, &needs);
    e->n_looked_up++;
    weir_buf_printf(out, "%s: %s. Caveat: %s.\n", topic_title(&t), s->about, s->caveat);
    if (needs) weir_buf_printf(out, "- the limits depend on %s, not known here\n", needs);
    for (size_t i = 0; i < n; i++) put_row(e, &t, &bands[i], i + 1, out);
    if (weekly) {
        weir_buf_printf(out, "- %.10g to ",
                        row_limit(e, &t, 0, "lower", weekly->lo, weekly->source));
        weir_buf_printf(out, "%.10g %s (%s)\n",
                        row_limit(e, &t, 0, "upper", weekly->hi, weekly->source), weekly->text,
                        weekly->source);
    }
    return weir_buf_status(out);
}

/* What a model says to it comes behind our own sentences, and with the person's value or not. */
static enum weir_status explain(struct expert *e, struct weir_slice question)
{
    struct topics topics;
    struct weir_buf rows;
    weir_buf_init(&rows, CONTEXT_BYTES);
    enum weir_status st = topics_read(&topics, question, e->c->arena);
    for (size_t i = 0; st == WEIR_OK && i < topics.n && i < MOST_JUDGED; i++)
        st = look_up(e, topics.list[i].subject, &rows);
    if (rows.len == 0) weir_buf_append_str(&rows, "(none)");
    struct llm_lookup l = {.rows = weir_buf_slice(&rows),
                           .said = weir_buf_slice(&e->told),
                           .facts = &e->facts,
                           .look_up = look_up,
                           .user = e};
    if (st == WEIR_OK) st = llm_expert(e->c, &l, question, &e->words);
    if (st == WEIR_OK && e->words.len > 0) {
        weir_json_put_begin_object(&e->says);
        weir_json_put_key(&e->says, "text");
        weir_json_put_string(&e->says, weir_buf_slice(&e->words));
        member_str(&e->says, "finding", e->own ? e->own->id : NULL);
        weir_json_put_end_object(&e->says);
    }
    weir_buf_fini(&rows);
    return st;
}

/* What the person has said of themselves, now or earlier. */
static enum weir_status read_person(struct expert *e)
{
    struct agent_case *c = e->c;
    const struct weir_json *m;
    enum weir_status st = WEIR_OK;
    for (m = c->memory ? weir_json_first(c->memory) : NULL; m && st == WEIR_OK;
         m = weir_json_next(m))
        st = topics_read_person(&e->person, agent_text(m, "text"), c->arena);
    for (m = c->messages ? weir_json_first(c->messages) : NULL; m && st == WEIR_OK;
         m = weir_json_next(m))
        if (weir_slice_is(agent_text(m, "role"), "user"))
            st = topics_read_person(&e->person, agent_text(m, "content"), c->arena);
    return st;
}

static bool is_beside(struct agent_case *c)
{
    const struct weir_json *route = agent_output(c, "route");
    return route && !weir_slice_is(agent_text(route, "main"), "domain_expert");
}

/* Whoever routed the question had somebody look at the data, too; without a route it may be so. */
static bool is_about_person(struct agent_case *c)
{
    const struct weir_json *route = agent_output(c, "route");
    const struct weir_json *name = weir_json_first(weir_json_get_str(route, "supporting"));
    if (!route || is_beside(c)) return true;
    for (; name; name = weir_json_next(name))
        if (weir_slice_is(weir_json_text(name), "data_science")) return true;
    return false;
}

static enum weir_status judge_all(struct expert *e, struct weir_slice question)
{
    struct topics topics;
    enum weir_status st = read_person(e);
    e->is_about_person = is_about_person(e->c);
    if (st == WEIR_OK) st = topics_read(&topics, question, e->c->arena);
    if (st == WEIR_OK && topics.n == 0) st = topics_read(&topics, e->c->question, e->c->arena);
    e->has_several = st == WEIR_OK && topics.n > 1;
    /* "How is my heart?" is about several things; those that were measured answer it. */
    for (size_t i = 0; st == WEIR_OK && i < topics.n && i < MOST_JUDGED; i++)
        st = judge(e, &topics.list[i], !e->is_about_person);
    for (size_t i = 0; st == WEIR_OK && e->n_judged == 0 && i < topics.n && i < MOST_JUDGED; i++)
        st = judge(e, &topics.list[i], true);
    return st;
}

/* Beside another agent, having nothing to say is not worth saying. */
static void say_nothing(struct expert *e)
{
    if (e->told.len > 0 || e->words.len > 0 || is_beside(e->c)) return;
    say(e, "The table of public facts has nothing about this.");
    end_sentence(e, &e->says, NULL);
}

static void put_summary(struct weir_buf *out, const struct expert *e)
{
    struct weir_slice text = weir_buf_slice(e->told.len > 0 ? &e->told : &e->words);
    if (text.len > AGENT_SUMMARY_BYTES) text.len = AGENT_SUMMARY_BYTES;
    while (text.len > 0 && ((unsigned char)text.ptr[text.len - 1] & 0x80) != 0) text.len--;
    weir_json_put_key(out, "summary");
    weir_json_put_string(out, text);
}

static void put_list(struct weir_buf *out, const char *key, const struct weir_buf *list)
{
    weir_json_put_key(out, key);
    weir_json_put_begin_array(out);
    weir_buf_append_slice(out, weir_buf_slice(list));
    weir_json_put_end_array(out);
}

static enum weir_status put_result(struct weir_buf *out, struct expert *e,
                                   struct weir_slice question)
{
    weir_json_put_begin_object(out);
    member_str(out, "agent", "domain_expert");
    weir_json_put_key(out, "question");
    weir_json_put_string(out, question);
    put_summary(out, e);
    weir_json_put_key(out, "text");
    weir_json_put_string(out, weir_buf_slice(&e->told));
    put_list(out, "findings", &e->findings);
    put_list(out, "facts", &e->facts);
    put_list(out, "judgements", &e->judgements);
    put_list(out, "says", &e->says);
    put_list(out, "caveats", &e->caveats);
    put_list(out, "urgent", &e->urgent);
    weir_json_put_end_object(out);
    return weir_buf_status(out);
}

enum weir_status domain_expert_work(struct agent_case *c, struct weir_slice question,
                                    struct weir_buf *out)
{
    struct expert e = {.c = c, .wish = {.next_id = 1, .id_head = "de", .wants_number = true}};
    struct weir_buf *parts[N_PARTS];
    parts_of(&e, parts);
    for (size_t i = 0; i < N_PARTS; i++) weir_buf_init(parts[i], JSON_BYTES);
    enum weir_status st = judge_all(&e, question);
    if (st == WEIR_OK && c->has_model[MODEL_MAIN]) st = explain(&e, question);
    if (st == WEIR_OK) say_nothing(&e);
    for (size_t i = 0; st == WEIR_OK && i < N_PARTS; i++) st = weir_buf_status(parts[i]);
    if (st == WEIR_OK) st = put_result(out, &e, question);
    for (size_t i = 0; i < N_PARTS; i++) weir_buf_fini(parts[i]);
    return st;
}
