/* SPDX-License-Identifier: Apache-2.0 */
/* Public facts, as rows of the facts table, each with its source. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/facts.h"
#include "agent/finding.h"
#include "agent/tool_impl.h"
#include "agent/topics.h"
#include "base/slice.h"
#include "data/nearest.h"

enum {
    SUBJECT_BYTES = 200,
    SUBJECTS = 4, /* of one question */
    AGE_MAX = 120,
    SOURCE_ID_BYTES = 96,
    SNIPPET_BYTES = 4096,
};

/* ---- rows ---- */

static void put_limit(struct weir_buf *out, const char *key, double limit)
{
    weir_json_put_key(out, key);
    weir_json_put_double(out, limit); /* null: there is none */
}

void tool_put_band(struct weir_buf *out, const struct fact_band *b)
{
    weir_json_put_begin_object(out);
    tool_put_text(out, "label", weir_slice_of(b->label));
    put_limit(out, "from", b->lo);
    put_limit(out, "below", b->hi);
    if (b->who[0]) tool_put_text(out, "who", weir_slice_of(b->who));
    tool_put_text(out, "source", weir_slice_of(b->source));
    weir_json_put_end_object(out);
}

static void say_range(struct weir_buf *out, const struct fact_band *b, const char *unit)
{
    if (!isnan(b->lo)) {
        weir_buf_append_str(out, "from ");
        amount_put(out, b->lo, unit);
    }
    if (!isnan(b->hi)) {
        weir_buf_append_str(out, isnan(b->lo) ? "below " : " to below ");
        amount_put(out, b->hi, unit);
    }
}

static void cite(struct tool_case *c, const char *id, struct weir_slice snippet)
{
    char source_id[SOURCE_ID_BYTES];
    const struct fact_source *s = fact_source_find(id);
    if (!c->cite || !s) return;
    int len = snprintf(source_id, sizeof source_id, "fact:%s", id);
    c->cite(c->user, slice_of(source_id, (size_t)len), weir_slice_of(s->citation), snippet);
}

void tool_cite_band(struct tool_case *c, const struct fact_band *b, const char *title,
                    const char *unit)
{
    struct weir_buf text;
    weir_buf_init(&text, SNIPPET_BYTES);
    weir_buf_printf(&text, "%s ", title);
    say_range(&text, b, unit);
    weir_buf_printf(&text, "%s%s: %s", b->who[0] ? ", " : "", b->who, b->label);
    if (weir_buf_status(&text) == WEIR_OK) cite(c, b->source, weir_buf_slice(&text));
    weir_buf_fini(&text);
}

/* ---- a subject ---- */

/* Sources that were cited by this call, each once. */
struct looking_up {
    struct tool_case *c;
    struct fact_person person;
    const char *cited[TOOL_CITATIONS];
    size_t n_cited;
};

static bool is_new_source(struct looking_up *l, const char *source)
{
    for (size_t i = 0; i < l->n_cited; i++)
        if (strcmp(l->cited[i], source) == 0) return false;
    if (l->n_cited == TOOL_CITATIONS) return false;
    l->cited[l->n_cited++] = source;
    return true;
}

static void put_bands(struct looking_up *l, const struct topic *t, struct weir_buf *out)
{
    const char *needs = NULL;
    size_t n = 0;
    const struct fact_band *bands = fact_bands(t->subject->name, &l->person, &n, &needs);
    weir_json_put_key(out, "bands");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < n; i++) {
        tool_put_band(out, &bands[i]);
        if (is_new_source(l, bands[i].source))
            tool_cite_band(l->c, &bands[i], topic_title(t), topic_unit(t));
    }
    weir_json_put_end_array(out);
    if (n > 0 || !needs) return;
    tool_put_text(out, "needs", weir_slice_of(needs));
}

static void put_weekly(struct looking_up *l, const struct topic *t, struct weir_buf *out)
{
    const struct fact_weekly *w = fact_weekly_find(t->subject->name);
    if (!w) return;
    weir_json_put_key(out, "weekly");
    weir_json_put_begin_object(out);
    tool_put_text(out, "text", weir_slice_of(w->text));
    put_limit(out, "from", w->lo);
    put_limit(out, "to", w->hi);
    tool_put_text(out, "source", weir_slice_of(w->source));
    weir_json_put_end_object(out);
    if (is_new_source(l, w->source)) cite(l->c, w->source, weir_slice_of(w->text));
}

static void put_topic(struct looking_up *l, const struct topic *t, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    tool_put_text(out, "subject", weir_slice_of(t->subject->name));
    tool_put_text(out, "title", weir_slice_of(topic_title(t)));
    tool_put_text(out, "unit", weir_slice_of(topic_unit(t)));
    tool_put_text(out, "about", weir_slice_of(t->subject->about));
    tool_put_text(out, "caveat", weir_slice_of(t->subject->caveat));
    put_bands(l, t, out);
    put_weekly(l, t, out);
    weir_json_put_end_object(out);
}

static void put_sources(const struct looking_up *l, struct weir_buf *out)
{
    weir_json_put_key(out, "sources");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < l->n_cited; i++) {
        const struct fact_source *s = fact_source_find(l->cited[i]);
        weir_json_put_begin_object(out);
        tool_put_text(out, "id", weir_slice_of(s->id));
        tool_put_text(out, "body", weir_slice_of(s->body));
        weir_json_put_key(out, "year");
        weir_json_put_uint(out, s->year);
        tool_put_text(out, "citation", weir_slice_of(s->citation));
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
}

/* ---- the input ---- */

static enum weir_status refuse_subject(struct tool_case *c, struct weir_slice subject)
{
    struct nearest near;
    nearest_begin(&near, subject);
    for (size_t i = 0; i < fact_subject_count(); i++) {
        const char *name = fact_subject_at(i)->name;
        nearest_offer(&near, weir_slice_of(name), name);
    }
    return tool_refuse(c, WEIR_NOT_FOUND,
                       "there are no facts about that subject; %s%s%s name a metric or laboratory "
                       "test, as resting_heart_rate, sleep_minutes, ldl",
                       near.name ? "maybe " : "", near.name ? near.name : "",
                       near.name ? " was meant;" : "");
}

static WEIR_MUST_CHECK enum weir_status take_person(struct tool_case *c,
                                                    const struct weir_json *input,
                                                    struct fact_person *out)
{
    struct weir_slice sex;
    int64_t age = 0;
    enum weir_status st = tool_take_number(c, input, (struct tool_number){"age", 0, AGE_MAX}, &age);
    if (st == WEIR_OK) st = tool_take_text(c, input, (struct tool_text){"sex", false, 16}, &sex);
    if (st != WEIR_OK) return st;
    bool is_female = weir_slice_is(sex, "female");
    if (sex.len > 0 && !is_female && !weir_slice_is(sex, "male"))
        return tool_refuse(c, WEIR_BAD_FIELD, "sex has to be female or male");
    out->age = (unsigned)age;
    if (sex.len > 0) out->sex = is_female ? 'f' : 'm';
    return WEIR_OK;
}

enum weir_status tool_look_up_fact(struct tool_case *c, const struct weir_json *input,
                                   struct weir_buf *out)
{
    static const char *const names[] = {"subject", "age", "sex", NULL};
    struct looking_up l = {.c = c};
    struct topics topics = {0};
    struct weir_slice subject;
    enum weir_status st = tool_take_members(c, input, names);
    if (st == WEIR_OK)
        st = tool_take_text(c, input, (struct tool_text){"subject", true, SUBJECT_BYTES}, &subject);
    if (st == WEIR_OK) st = take_person(c, input, &l.person);
    if (st == WEIR_OK) st = topics_read(&topics, subject, c->arena);
    if (st != WEIR_OK) return st;
    if (topics.n == 0) return refuse_subject(c, subject);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "facts");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < topics.n && i < SUBJECTS; i++) put_topic(&l, &topics.list[i], out);
    weir_json_put_end_array(out);
    put_sources(&l, out);
    weir_json_put_end_object(out);
    return WEIR_OK;
}
