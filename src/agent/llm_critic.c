/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second opinion on findings. All of a turn are shown to the critic at once, with what the gates
 * and the rules have found; the stricter of the two critics counts, so that a model can take away
 * and never add. An answer that cannot be read leaves the rules' verdict as it is.
 */
#include <math.h>
#include <stdio.h>

#include "agent/facts.h"
#include "agent/llm_impl.h"
#include "agent/questions.h"
#include "base/slice.h"

enum {
    MOST_REVIEWED = 16, /* findings; the rules have looked at the others, too */
    MOST_CONCERNS = 4,  /* of one finding, of the model */
    NOTE_BYTES = 300,
    REVIEW_TOKENS = 3000,
    CLAIMS_BYTES = 64 << 10,
};

static const char *const verdicts[] = {"accept", "downgrade", "reject", NULL};

/* What the model says of one finding. */
struct opinion {
    bool is_there;
    enum critic_name name;
    struct weir_slice reasoning;
    struct concern concerns[MOST_CONCERNS];
    size_t n;
};

struct panel {
    struct agent_case *c;
    struct llm_review *list[MOST_REVIEWED];
    struct opinion opinions[MOST_REVIEWED];
    size_t n;
};

/* ---- what it is shown ---- */

/* Numbers of gates that draw days by chance differ from turn to turn; a request should not. */
static bool is_drawn(enum gate_name name)
{
    return name != GATE_SAMPLE_SIZE && name != GATE_EFFECT_VS_NOISE;
}

static void put_gate(struct weir_buf *out, enum gate_name name, const struct gate *g)
{
    weir_buf_printf(out, "  %s %s: %s", gate_name(name), gate_status_name(g->status), g->why);
    for (size_t i = 0; i < g->n && !is_drawn(name); i++)
        if (!isnan(g->detail[i].value))
            weir_buf_printf(out, ", %s %.4g", g->detail[i].name, g->detail[i].value);
    weir_buf_append_char(out, '\n');
}

static void put_rules(struct weir_buf *out, const struct critique *q)
{
    weir_buf_printf(out, "  rules: %s. %s\n", critic_name(q->name), q->reasoning);
    for (size_t i = 0; i < q->n; i++)
        weir_buf_printf(out, "  rules, %s, %s: %s\n", concern_kind_name(q->concerns[i].kind),
                        severity_name(q->concerns[i].severity), q->concerns[i].note);
}

static void put_claim(struct weir_buf *out, const struct llm_review *r)
{
    const struct verdict *v = r->verdict;
    weir_buf_append_slice(out, r->id);
    weir_buf_append_str(out, ": ");
    weir_buf_append_slice(out, r->claim);
    weir_buf_printf(out, "\n  gates: %s; estimate %.4g\n", verdict_name(v->name), v->estimate);
    for (size_t i = 0; i < N_GATES; i++)
        if (v->gates[i].status != GATE_SKIPPED) put_gate(out, (enum gate_name)i, &v->gates[i]);
    if (r->n_tests > 1) weir_buf_printf(out, "  found among %zu tests\n", r->n_tests);
    if (r->is_causal) weir_buf_append_str(out, "  the question is whether one causes the other\n");
    put_rules(out, r->critique);
}

static void put_known(struct weir_buf *out, const struct metric *m)
{
    const struct fact_subject *f = m ? fact_subject_find(m->name) : NULL;
    if (!f || memmem(out->ptr ? out->ptr : "", out->len, f->about, strlen(f->about))) return;
    weir_buf_printf(out, "%s: %s. %s.\n", m->title, f->about, f->caveat);
}

/* ---- what it says ---- */

static bool read_concern(struct panel *p, const struct weir_json *json, struct concern *out,
                         char why[LLM_WHY_BYTES])
{
    const char *kinds[N_CONCERN_KINDS + 1] = {NULL};
    static const char *const severities[] = {"low", "medium", "high", NULL};
    struct weir_slice note;
    size_t kind, severity;
    for (size_t i = 0; i < N_CONCERN_KINDS; i++) kinds[i] = concern_kind_name((enum concern_kind)i);
    if (!json_read_name(json, "kind", kinds, &kind, why)) return false;
    if (!json_read_name(json, "severity", severities, &severity, why)) return false;
    if (!json_read_text(json, "note", NOTE_BYTES, &note, why)) return false;
    if (words_count(note)) {
        snprintf(why, LLM_WHY_BYTES, "a note may hold no number");
        return false;
    }
    note = text_keep_clean(p->c->arena, note, NOTE_BYTES);
    *out = (struct concern){(enum concern_kind)kind, (enum severity)severity, note.ptr};
    return note.len > 0;
}

static struct opinion *opinion_of(struct panel *p, struct weir_slice id, char why[LLM_WHY_BYTES])
{
    for (size_t i = 0; i < p->n; i++)
        if (slice_eq(p->list[i]->id, id) && !p->opinions[i].is_there) return &p->opinions[i];
    snprintf(why, LLM_WHY_BYTES, "\"id\" has to be one of the claims, each once");
    return NULL;
}

static bool read_review(struct panel *p, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    struct opinion *o = opinion_of(p, agent_text(json, "id"), why);
    const struct weir_json *list;
    struct weir_slice reasoning;
    size_t name;
    if (!o || !json_read_name(json, "verdict", verdicts, &name, why)) return false;
    if (!json_read_text(json, "reasoning", NOTE_BYTES, &reasoning, why)) return false;
    if (!json_read_list(json, "concerns", MOST_CONCERNS, &list, why)) return false;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v))
        if (!read_concern(p, v, &o->concerns[o->n++], why)) return false;
    if (name != CRITIC_ACCEPT && o->n == 0) {
        snprintf(why, LLM_WHY_BYTES, "a %s needs a concern", verdicts[name]);
        return false;
    }
    o->is_there = true;
    o->name = (enum critic_name)name;
    o->reasoning = text_keep_clean(p->c->arena, reasoning, NOTE_BYTES);
    return true;
}

static bool read_reviews(void *user, const struct weir_json *json, char why[LLM_WHY_BYTES])
{
    struct panel *p = user;
    const struct weir_json *list;
    memset(p->opinions, 0, sizeof p->opinions);
    if (!json_read_list(json, "reviews", MOST_REVIEWED, &list, why)) return false;
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v))
        if (!read_review(p, v, why)) return false;
    return true;
}

/* ---- both together ---- */

/* The gravest first; of equal ones the new one before or behind the others. */
static void add_concern(struct critique *q, struct concern c, bool is_before)
{
    if (q->n == CRITIC_CONCERNS) return;
    size_t i = q->n++;
    for (; i > 0; i--) {
        enum severity other = q->concerns[i - 1].severity;
        if (other > c.severity || (other == c.severity && !is_before)) break;
        q->concerns[i] = q->concerns[i - 1];
    }
    q->concerns[i] = c;
}

static void join(struct critique *q, const struct opinion *o)
{
    bool is_stricter = o->name > q->name;
    for (size_t i = 0; i < o->n; i++) add_concern(q, o->concerns[i], is_stricter);
    if (!is_stricter) return;
    q->name = o->name;
    if (o->reasoning.len > 0) q->reasoning = o->reasoning.ptr;
}

static enum weir_status ask(struct panel *p, bool *is_read)
{
    struct weir_buf claims, known;
    weir_buf_init(&claims, CLAIMS_BYTES);
    weir_buf_init(&known, CLAIMS_BYTES);
    for (size_t i = 0; i < p->n; i++) {
        put_claim(&claims, p->list[i]);
        put_known(&known, p->list[i]->metric);
        put_known(&known, p->list[i]->metric_y);
    }
    struct prompt_value values[] = {{"question", p->c->question},
                                    {"claims", weir_buf_slice(&claims)},
                                    {"known", weir_buf_slice(&known)}};
    struct llm_question q = {
        .role = MODEL_CRITIC,
        .prompt = "critic",
        .values = values,
        .n_values = 3,
        .schema =
            "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"reviews\"],"
            "\"properties\":{\"reviews\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
            "\"additionalProperties\":false,\"required\":[\"id\",\"verdict\",\"reasoning\","
            "\"concerns\"],\"properties\":{\"id\":{\"type\":\"string\"},\"verdict\":{\"type\":"
            "\"string\",\"enum\":["
            "\"accept\",\"downgrade\",\"reject\"]},\"reasoning\":{\"type\":\"string\"},"
            "\"concerns\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
            "\"additionalProperties\":false,\"required\":[\"kind\",\"severity\",\"note\"],"
            "\"properties\":{\"kind\":{\"type\":\"string\",\"enum\":[\"confounder\",\"reverse_"
            "causation\","
            "\"selection_bias\",\"literature_contradiction\",\"tautology\",\"small_n\",\"noise\","
            "\"multiple_testing\",\"measurement\"]},\"severity\":{\"type\":\"string\",\"enum\":["
            "\"low\",\"medium\","
            "\"high\"]},\"note\":{\"type\":\"string\"}}}}}}}}}",
        .max_tokens = REVIEW_TOKENS,
        .read = read_reviews,
        .user = p};
    enum weir_status st = weir_buf_status(&claims);
    if (st == WEIR_OK) st = llm_json(p->c, &q);
    *is_read = st == WEIR_OK;
    weir_buf_fini(&known);
    weir_buf_fini(&claims);
    return st == WEIR_UNPROCESSABLE ? WEIR_OK : st;
}

enum weir_status llm_critic(struct agent_case *c, struct llm_review *list, size_t n)
{
    struct panel *p = arena_alloc(c->arena, sizeof *p);
    bool is_read;
    if (!p) return c->arena->status;
    *p = (struct panel){.c = c};
    for (size_t i = 0; i < n && p->n < MOST_REVIEWED; i++) p->list[p->n++] = &list[i];
    if (p->n == 0) return WEIR_OK;
    enum weir_status st = ask(p, &is_read);
    for (size_t i = 0; st == WEIR_OK && is_read && i < p->n; i++)
        if (p->opinions[i].is_there) join(p->list[i]->critique, &p->opinions[i]);
    return st;
}
