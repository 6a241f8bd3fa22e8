/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said, in which order. The main agent's part comes first and answers; supporting ones
 * follow; caveats close. A finding whose number was already part of another's sentence is not said
 * again.
 */
#include "agent/remember_impl.h"
#include "agent/route_impl.h"
#include "agent/synthesize_impl.h"
#include "base/slice.h"
#include "data/day.h"

enum {
    MOST_FINDINGS = 6, /* of an answer about data */
    MOST_BESIDE = 2,   /* of the data beside an expert or a coach */
    MOST_SAYS = 4,     /* sentences of the expert */
    MOST_CAVEATS = 2,
    MOST_URGENT = 2,
    MOST_STEPS = 4,
    MOST_BRIEFING = 5,
};

/* ---- reading ---- */

const struct weir_json *result_of(struct agent_case *c, const char *agent)
{
    const struct weir_json *main = agent_output(c, "run_main_agent");
    if (weir_slice_is(agent_text(main, "agent"), agent)) return main;
    return weir_json_get_str(agent_output(c, "run_supporting_agents"), agent);
}

static const struct weir_json *checked_of(const struct weir_json *checked, struct weir_slice id)
{
    for (const struct weir_json *f = weir_json_first(checked); f; f = weir_json_next(f))
        if (slice_eq(agent_text(f, "id"), id)) return f;
    return NULL;
}

static void read_span(const struct weir_json *span, int32_t *from, int32_t *to)
{
    *from = day_parse(agent_text(span, "from"));
    *to = day_parse(agent_text(span, "to"));
}

/* "2025-01-01 .. 2025-03-31" of a finding without a plan. */
static void read_window(struct weir_slice window, int32_t *from, int32_t *to)
{
    enum { LEN = DAY_TEXT_BYTES - 1 };
    *from = *to = DAY_NONE;
    if (window.len < 2 * LEN) return;
    *from = day_parse(slice_of(window.ptr, LEN));
    *to = day_parse(slice_of(window.ptr + window.len - LEN, LEN));
}

static enum weir_status add_finding(struct synthesis *s, const struct weir_json *finding)
{
    const struct weir_json *steps = agent_output(s->c, "validation_gates");
    struct plan_error error;
    struct weir_slice id = agent_text(finding, "id");
    const struct weir_json *checked = checked_of(weir_json_get_str(steps, "findings"), id);
    if (!checked || s->n_findings == SYNTHESIS_FINDINGS) return WEIR_OK;
    struct told *t = arena_alloc(s->c->arena, sizeof *t);
    if (!t) return s->c->arena->status;
    *t = (struct told){.finding = finding,
                       .answer = weir_json_get_str(finding, "answer"),
                       .id = id,
                       .kind = agent_text(finding, "kind"),
                       .verdict = agent_text(checked, "verdict"),
                       .assessment = agent_text(checked, "assessment"),
                       .doubt = agent_text(checked, "doubt"),
                       .beside = agent_text(finding, "beside")};
    const struct weir_json *plan = weir_json_get_str(finding, "plan");
    plan_init(&t->plan);
    t->has_plan = plan && plan_parse(&t->plan, plan, s->c->data, &error) == WEIR_OK;
    read_span(weir_json_get_str(t->answer, "window"), &t->from, &t->to);
    read_span(weir_json_get_str(t->answer, "window_b"), &t->from_b, &t->to_b);
    if (t->from == DAY_NONE) read_window(agent_text(finding, "window"), &t->from, &t->to);
    s->findings[s->n_findings++] = t;
    return WEIR_OK;
}

static enum weir_status add_result(struct synthesis *s, const struct weir_json *result)
{
    const struct weir_json *list = weir_json_get_str(result, "findings");
    enum weir_status st = WEIR_OK;
    for (const struct weir_json *f = weir_json_first(list); f && st == WEIR_OK;
         f = weir_json_next(f))
        st = add_finding(s, f);
    return st;
}

static enum weir_status add_all(struct synthesis *s)
{
    enum weir_status st = add_result(s, agent_output(s->c, "run_main_agent"));
    const struct weir_json *others = agent_output(s->c, "run_supporting_agents");
    for (const struct weir_json *r = weir_json_first(others); r && st == WEIR_OK;
         r = weir_json_next(r))
        st = add_result(s, r);
    const struct weir_json *more =
        weir_json_get_str(agent_output(s->c, "reflection"), "follow_ups");
    for (const struct weir_json *f = weir_json_first(more); f && st == WEIR_OK;
         f = weir_json_next(f)) {
        size_t before = s->n_findings;
        st = add_result(s, weir_json_get_str(f, "result"));
        for (size_t i = before; i < s->n_findings; i++) s->findings[i]->is_follow_up = true;
    }
    return st;
}

enum weir_status synthesis_init(struct synthesis *s, struct agent_case *c)
{
    const struct weir_json *route = agent_output(c, "route");
    *s = (struct synthesis){.c = c,
                            .main = agent_text(route, "main"),
                            .pattern = agent_text(route, "pattern"),
                            .safety = agent_text(route, "safety")};
    s->voice = (struct voice){.question = c->question, .data = c->data, .arena = c->arena};
    weir_buf_init(&s->voice.out, AGENT_TEXT_BYTES);
    prefs_read(&s->voice.prefs, c->memory);
    const struct weir_json *checked = agent_output(c, "validation_gates");
    s->voice.sheet = weir_json_get_str(checked, "fact_sheet");
    return add_all(s);
}

/* ---- paragraphs ---- */

static void next_paragraph(struct voice *v)
{
    if (v->out.len > 0) weir_buf_append_str(&v->out, "\n\n");
}

static struct told *find(struct synthesis *s, struct weir_slice id, size_t *at)
{
    for (*at = 0; *at < s->n_findings; (*at)++)
        if (slice_eq(s->findings[*at]->id, id)) return s->findings[*at];
    return NULL;
}

/* The claim that goes with a value; NULL. */
static struct told *claim_beside(struct synthesis *s, const struct told *value, size_t *at)
{
    for (*at = 0; *at < s->n_findings; (*at)++)
        if (s->findings[*at]->beside.len > 0 && slice_eq(s->findings[*at]->beside, value->id))
            return s->findings[*at];
    return NULL;
}

/* Whether the value holds the number that was asked for, and not only what it is made of. */
static bool has_effect(const struct voice *v, const struct told *value)
{
    return number_among(v, value, "diff|pct|ratio|slope|r").is_here ||
           !told_is(value->verdict, "validated");
}

static bool is_rejected(const struct told *t)
{
    return told_is(t->verdict, "rejected");
}

/* Whether a mean of the same days was said, so that a comparison need not say it again. */
static bool was_level_said(const struct synthesis *s, const struct told *t)
{
    if (!t->has_plan || t->plan.op != PLAN_COMPARE || t->plan.where.n + t->plan.where_b.n > 0)
        return false;
    for (size_t i = 0; i < s->n_findings; i++) {
        const struct told *o = s->findings[i];
        bool is_mean = o->has_plan && o->plan.op == PLAN_AGGREGATE && o->plan.stat == t->plan.stat;
        if (s->was_said[i] && is_mean && o->plan.metric == t->plan.metric && o->from == t->from &&
            o->to == t->to && !is_rejected(o))
            return true;
    }
    return false;
}

/* Two agents may have asked the data the same. */
static bool is_said_by_another(const struct synthesis *s, size_t i)
{
    const struct told *t = s->findings[i];
    for (size_t k = 0; k < s->n_findings; k++) {
        const struct told *other = s->findings[k];
        if (k == i || !s->was_said[k] || !slice_eq(other->kind, t->kind)) continue;
        if (t->has_plan && weir_json_equal(weir_json_get_str(other->finding, "plan"),
                                           weir_json_get_str(t->finding, "plan")))
            return true;
    }
    return false;
}

/* Two findings that belong together become one paragraph. False: nothing was said. */
static bool say_finding(struct synthesis *s, size_t i)
{
    struct voice *v = &s->voice;
    size_t at;
    struct told *t = s->findings[i], *claim = claim_beside(s, t, &at);
    if (s->was_said[i]) return false;
    s->was_said[i] = true;
    if (is_said_by_another(s, i)) return false;
    size_t before = v->out.len;
    next_paragraph(v);
    size_t start = v->out.len;
    bool is_level = claim && told_is(claim->kind, "level");
    bool needs_value = !claim || is_rejected(claim) || is_level || has_effect(v, t);
    if (needs_value && was_level_said(s, t)) say_against(v, t);
    else if (needs_value) say_claim(v, t, NULL);
    bool was_value = v->out.len > start;
    if (claim && !s->was_said[at]) {
        s->was_said[at] = true;
        if (was_value) weir_buf_append_char(&v->out, ' ');
        say_claim(v, claim, was_value ? t : NULL);
    }
    if (v->out.len > start) return true;
    v->out.len = before;
    return false;
}

/* A second look that has shown nothing more adds nothing. */
static bool is_to_say(struct synthesis *s, size_t i)
{
    const struct told *t = s->findings[i];
    size_t at;
    if (t->is_follow_up && is_rejected(t)) return false;
    return t->beside.len == 0 || !find(s, t->beside, &at);
}

static size_t say_of_kind(struct synthesis *s, const char *kind, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_findings && n < most; i++)
        if ((!kind || told_is(s->findings[i]->kind, kind)) && is_to_say(s, i) && say_finding(s, i))
            n++;
    return n;
}

/* Who asks whether a change means anything is told of changes first. */
static size_t say_findings(struct synthesis *s, size_t most)
{
    bool is_of_change = weir_slice_is(s->pattern, "meaningful") || weir_slice_is(s->pattern, "why");
    size_t n = is_of_change ? say_of_kind(s, "trend", most) : 0;
    return n + say_of_kind(s, NULL, most - n);
}

/* A list of sentences, one after the other. */
static size_t say_list(struct voice *v, const struct weir_json *list, size_t most)
{
    size_t n = 0;
    for (const struct weir_json *t = weir_json_first(list); t && n < most; t = weir_json_next(t)) {
        struct weir_slice text = weir_json_text(t);
        if (text.len == 0) continue;
        if (n++ == 0) next_paragraph(v);
        else weir_buf_append_char(&v->out, ' ');
        weir_buf_append_slice(&v->out, text);
        char last = text.ptr[text.len - 1];
        if (last != '.' && last != '!' && last != '?') weir_buf_append_char(&v->out, '.');
    }
    return n;
}

/* A sentence of the data scientist that begins so; empty: none. */
static struct weir_slice sentence_with(struct weir_slice text, const char *head)
{
    size_t len = strlen(head);
    const char *at = text.len > 0 ? memmem(text.ptr, text.len, head, len) : NULL;
    if (!at) return (struct weir_slice){0};
    struct weir_slice rest = slice_from(text, (size_t)(at - text.ptr));
    const char *end = memmem(rest.ptr, rest.len, ". ", 2);
    if (end) rest.len = (size_t)(end - rest.ptr);
    while (rest.len > 0 && strchr(" .", rest.ptr[rest.len - 1])) rest.len--;
    return rest;
}

static void end_sentence(struct voice *v)
{
    if (v->out.len > 0 && !strchr(".?!", v->out.ptr[v->out.len - 1])) say(v, ".");
}

/* What the agent that looks at data could not answer, in its own words. */
static void say_unanswered(struct synthesis *s)
{
    static const char refused[] = "No answer: ";
    struct voice *v = &s->voice;
    struct weir_slice text = agent_text(result_of(s->c, "data_science"), "text");
    struct weir_slice no = sentence_with(text, refused), none = sentence_with(text, "No data for ");
    if (no.len > sizeof refused) {
        struct weir_slice why = slice_from(no, sizeof refused - 1);
        bool is_sentence = why.ptr[0] >= 'A' && why.ptr[0] <= 'Z';
        next_paragraph(v);
        say(v,
            is_sentence ? "I can't answer that from your data. %.*s"
                        : "I can't answer that from your data: %.*s",
            (int)why.len, why.ptr);
        end_sentence(v);
    } else if (none.len > 0) {
        next_paragraph(v);
        say(v, "There are no data for %.*s", (int)none.len - 12, none.ptr + 12);
        end_sentence(v);
    }
    if (sentence_with(text, "A part of the question").len == 0) return;
    next_paragraph(v);
    say(v, "A part of your question I did not understand.");
}

static void say_caveats(struct synthesis *s)
{
    const struct weir_json *expert = result_of(s->c, "domain_expert");
    if (s->voice.level == VOICE_BARE) return;
    size_t most = s->voice.prefs.is_short ? 1 : MOST_CAVEATS;
    say_list(&s->voice, weir_json_get_str(expert, "caveats"), most);
}

/*
 * A sentence of the expert. One about the person's own value comes behind what is said of that
 * value, and not at all when the value did not pass.
 */
static bool say_judged(struct synthesis *s, const struct weir_json *say)
{
    size_t at;
    struct voice *v = &s->voice;
    struct told *own = find(s, agent_text(say, "finding"), &at);
    if (own && is_rejected(own)) return false;
    if (own && say_finding(s, at)) weir_buf_append_char(&v->out, ' ');
    else next_paragraph(v);
    weir_buf_append_slice(&v->out, agent_text(say, "text"));
    return true;
}

static void say_expert(struct synthesis *s, size_t most)
{
    const struct weir_json *says = weir_json_get_str(result_of(s->c, "domain_expert"), "says");
    size_t n = 0;
    for (const struct weir_json *t = weir_json_first(says); t && n < most; t = weir_json_next(t))
        if (say_judged(s, t)) n++;
}

/* ---- by the main agent ---- */

static void compose_science(struct synthesis *s)
{
    say_findings(s, s->voice.prefs.is_short ? 2 : MOST_FINDINGS);
    say_unanswered(s);
    say_expert(s, MOST_BESIDE);
    say_caveats(s);
}

static void compose_expert(struct synthesis *s)
{
    say_expert(s, MOST_SAYS);
    say_findings(s, MOST_BESIDE);
    say_caveats(s);
    if (s->voice.level < VOICE_BARE) return;
    /* What the expert said may be gone in a moment; this is true of whatever was asked. */
    next_paragraph(&s->voice);
    say(&s->voice, "I leave out what I cannot vouch for. Public limits are for orientation and no "
                   "diagnosis: with worries, ask your doctor.");
}

/* A goal that was told is acknowledged, with the person's own words. */
static bool say_goal(struct synthesis *s)
{
    static const char *const heads[][2] = {{"Goal: ", "I will remember your goal: "},
                                           {"Wants to ", "I will remember that you want to "}};
    struct remembering *r = arena_alloc(s->c->arena, sizeof *r);
    struct weir_buf entries;
    size_t before = s->voice.out.len;
    if (!r) return false;
    weir_buf_init(&entries, AGENT_TEXT_BYTES);
    *r = (struct remembering){.c = s->c, .out = &entries};
    bool is_heard = recall_words(r) == WEIR_OK;
    for (size_t i = 0; is_heard && i < r->n; i++)
        for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
            size_t len = strlen(heads[k][0]);
            if (strncmp(r->texts[i], heads[k][0], len) != 0) continue;
            next_paragraph(&s->voice);
            say(&s->voice, "%s%s.", heads[k][1], r->texts[i] + len);
        }
    weir_buf_fini(&entries);
    return s->voice.out.len > before;
}

static void compose_coach(struct synthesis *s)
{
    const struct weir_json *coach = result_of(s->c, "health_coach");
    const struct weir_json *steps = weir_json_get_str(coach, "steps");
    size_t n = 0;
    if (!say_goal(s)) say_list(&s->voice, weir_json_get_str(coach, "says"), 1);
    say_findings(s, MOST_BESIDE);
    for (const struct weir_json *t = weir_json_first(steps); t && n < MOST_STEPS;
         t = weir_json_next(t)) {
        if (n++ == 0) {
            next_paragraph(&s->voice);
            weir_buf_append_str(&s->voice.out, "What you could try:\n");
        }
        weir_buf_append_str(&s->voice.out, "\n- ");
        weir_buf_append_slice(&s->voice.out, weir_json_text(t));
    }
    say_expert(s, MOST_BESIDE);
    say_list(&s->voice, weir_json_get_str(coach, "caveats"), 1);
    say_caveats(s);
}

static size_t brief(struct synthesis *s, const char *verdict, const char *head)
{
    struct voice *v = &s->voice;
    size_t n = 0;
    for (size_t i = 0; i < s->n_findings && n < MOST_BRIEFING; i++) {
        if (s->was_said[i] || !told_is(s->findings[i]->verdict, verdict)) continue;
        size_t before = v->out.len;
        if (n == 0) {
            next_paragraph(v);
            weir_buf_append_str(&v->out, head);
        }
        weir_buf_append_str(&v->out, "\n- ");
        size_t start = v->out.len;
        s->was_said[i] = true;
        say_claim(v, s->findings[i], NULL);
        if (v->out.len == start) v->out.len = before;
        else n++;
    }
    return n;
}

static void compose_briefing(struct synthesis *s)
{
    size_t n = brief(s, "validated", "What stands out in your data:\n");
    size_t more = brief(s, "conditional",
                        n > 0 ? "Less certain, and worth watching:\n"
                              : "Nothing stands out beyond doubt. What may be worth watching:\n");
    if (n + more > 0) return;
    weir_buf_append_str(&s->voice.out,
                        "Nothing in your data stands out clearly enough to report. I looked for "
                        "trends, unusual days, weekday patterns and relations between metrics, "
                        "and kept only what would hold up.");
}

void compose(struct synthesis *s)
{
    struct voice *v = &s->voice;
    memset(s->was_said, 0, sizeof s->was_said);
    say_list(v, weir_json_get_str(result_of(s->c, "domain_expert"), "urgent"), MOST_URGENT);
    if (s->safety.len > 0) weir_buf_append_str(&v->out, safety_answer(s->safety));
    else if (s->main.len == 0) weir_buf_append_str(&v->out, fallback_answer(s->pattern));
    else if (weir_slice_is(s->main, "investigator")) compose_briefing(s);
    else if (weir_slice_is(s->main, "domain_expert")) compose_expert(s);
    else if (weir_slice_is(s->main, "health_coach")) compose_coach(s);
    else compose_science(s);
    if (v->out.len > 0) return;
    weir_buf_append_str(&v->out, "I could not find an answer to that in your data. Try naming what "
                                 "was measured and when, as in \"how did I sleep last week?\".");
}
