/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a turn leaves in memory: goals and preferences that the person told, and what was found out.
 * Only sentences about the person that are meant as said count (remember.def). Each entry has a key
 * in its data: an entry of memory with the same key is brought again under its id when its text has
 * changed, and not at all when it has not.
 */
#include "agent/remember_impl.h"

#include <math.h>

#include "agent/llm_impl.h"
#include "base/slice.h"

enum { MOST_ENTRIES = 8, MOST_INSIGHTS = 4, MOST_HYPOTHESES = 4 };

/* ---- memory that is there ---- */

static bool is_same_text(struct weir_slice a, struct weir_slice b)
{
    return a.len == b.len && a.len > 0 && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

/* The entry with this key; NULL. *is_known: there is nothing new in it. */
static const struct weir_json *find(struct agent_case *c, const struct entry_of_memory *e,
                                    bool *is_known)
{
    const struct weir_json *same = NULL;
    *is_known = false;
    for (const struct weir_json *m = weir_json_first(c->memory); m; m = weir_json_next(m)) {
        struct weir_slice key = agent_text(weir_json_get_str(m, "data"), "key");
        bool is_text = is_same_text(agent_text(m, "text"), weir_slice_of(e->text));
        if (weir_slice_is(key, e->key)) same = m;
        if (is_text && weir_slice_is(agent_text(m, "category"), e->category)) *is_known = true;
    }
    return same;
}

/* ---- out ---- */

static void put_pair(struct weir_buf *out, const char *key, const char *text)
{
    if (!text[0]) return;
    weir_json_put_key(out, key);
    weir_json_put_str(out, text);
}

static void put_data(struct weir_buf *out, const struct entry_of_memory *e)
{
    weir_json_put_key(out, "data");
    weir_json_put_begin_object(out);
    put_pair(out, "key", e->key);
    put_pair(out, "metric", e->metric);
    if (!isnan(e->value)) {
        weir_json_put_key(out, "value");
        weir_json_put_double(out, e->value);
    }
    if (e->dimension[0]) {
        weir_json_put_key(out, "units");
        weir_json_put_begin_object(out);
        put_pair(out, e->dimension, e->unit);
        weir_json_put_end_object(out);
    }
    put_pair(out, "style", e->style);
    put_pair(out, "diet", e->diet);
    put_pair(out, "finding", e->finding);
    put_pair(out, "verdict", e->verdict);
    weir_json_put_end_object(out);
}

void memory_add(struct remembering *r, const struct entry_of_memory *e)
{
    bool is_known;
    if (r->n == MOST_ENTRIES || !e->text[0]) return;
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->keys[i], e->key) == 0 || strcmp(r->texts[i], e->text) == 0) return;
    const struct weir_json *same = find(r->c, e, &is_known);
    if (is_known) return;
    snprintf(r->texts[r->n], sizeof r->texts[0], "%s", e->text);
    snprintf(r->keys[r->n++], sizeof r->keys[0], "%s", e->key);
    weir_json_put_begin_object(r->out);
    if (same) {
        weir_json_put_key(r->out, "id");
        weir_json_put_string(r->out, agent_text(same, "id"));
        weir_json_put_key(r->out, "created_at");
        weir_json_put_value(r->out, weir_json_get_str(same, "created_at"));
    }
    put_pair(r->out, "category", e->category);
    put_pair(r->out, "text", e->text);
    put_data(r->out, e);
    weir_json_put_key(r->out, "source_turn");
    weir_json_put_string(r->out, r->c->turn_id);
    weir_json_put_end_object(r->out);
}

/* ---- findings ---- */

/* What claims something beyond its own days. */
static bool is_claim(const struct told *t)
{
    return told_is(t->kind, "trend") || told_is(t->kind, "windows") || told_is(t->kind, "pair") ||
           told_is(t->kind, "weekdays") || told_is(t->kind, "anomaly");
}

/* The sentence of an answer, without its marks; of what was not shown, the claim that was tested.
 */
static void write_finding(struct synthesis *s, const struct told *t, char *out, size_t cap)
{
    struct voice *v = &s->voice;
    weir_buf_reset(&v->out);
    v->level = VOICE_LEAN;
    v->is_dated = true;
    v->prefs.is_short = true;
    size_t n = 0;
    say_claim(v, t, NULL);
    for (size_t i = 0; i < v->out.len && n + 1 < cap; i++)
        if (v->out.ptr[i] != '*') out[n++] = v->out.ptr[i];
    while (n > 0 && ((unsigned char)out[n - 1] & 0xC0) == 0x80 && v->out.len >= cap) n--;
    out[n] = '\0';
}

static void add_finding(struct remembering *r, struct synthesis *s, const struct told *t)
{
    struct entry_of_memory e = {.value = NAN, .dimension = "", .unit = "", .style = ""};
    bool is_sure = told_is(t->verdict, "validated");
    struct weir_slice x = agent_text(t->finding, "metric"), y = agent_text(t->finding, "metric_y");
    int64_t lag = 0;
    if (!weir_json_int64(weir_json_get_str(t->finding, "lag"), &lag)) lag = 0;
    e.category = is_sure ? "insight" : "hypothesis";
    snprintf(e.key, sizeof e.key, "%.*s:%.*s:%.*s:%d", (int)t->kind.len, t->kind.ptr, (int)x.len,
             x.ptr, (int)y.len, y.ptr ? y.ptr : "", (int)lag);
    snprintf(e.metric, sizeof e.metric, "%.*s", (int)x.len, x.ptr);
    snprintf(e.finding, sizeof e.finding, "%.*s", (int)t->id.len, t->id.ptr);
    snprintf(e.verdict, sizeof e.verdict, "%.*s", (int)t->verdict.len, t->verdict.ptr);
    write_finding(s, t, e.text, sizeof e.text);
    memory_add(r, &e);
}

static void add_findings(struct remembering *r, struct synthesis *s, bool is_sure, size_t most)
{
    size_t before = r->n;
    for (size_t i = 0; i < s->n_findings && r->n - before < most; i++) {
        const struct told *t = s->findings[i];
        if (is_claim(t) && told_is(t->verdict, "validated") == is_sure) add_finding(r, s, t);
    }
}

/* What was looked at without being asked for is no hypothesis of anybody's. */
static bool was_tested(struct agent_case *c)
{
    struct weir_slice vagueness = agent_text(agent_output(c, "classify_vagueness"), "vagueness");
    struct weir_slice main = agent_text(agent_output(c, "run_main_agent"), "agent");
    struct weir_slice pattern = agent_text(agent_output(c, "route"), "pattern");
    bool is_data = pattern.len == 0 || weir_slice_is(pattern, "data") ||
                   weir_slice_is(pattern, "meaningful") || weir_slice_is(pattern, "model");
    return is_data && weir_slice_is(main, "data_science") &&
           (vagueness.len == 0 || weir_slice_is(vagueness, "low"));
}

static enum weir_status recall_findings(struct remembering *r)
{
    struct synthesis *s = arena_alloc(r->c->arena, sizeof *s);
    if (!s) return r->c->arena->status;
    enum weir_status st = synthesis_init(s, r->c);
    if (st == WEIR_OK) add_findings(r, s, true, MOST_INSIGHTS);
    if (st == WEIR_OK && was_tested(r->c)) add_findings(r, s, false, MOST_HYPOTHESES);
    weir_buf_fini(&s->voice.out);
    return st;
}

enum weir_status agent_remember(struct agent_case *c, struct weir_buf *out)
{
    struct remembering r = {.c = c, .out = out};
    const struct weir_json *route = agent_output(c, "route");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "entries");
    weir_json_put_begin_array(out);
    /* What somebody says in distress is not kept. */
    enum weir_status st = WEIR_OK;
    bool has_words = agent_text(route, "safety").len == 0;
    if (has_words) st = recall_words(&r);
    if (st == WEIR_OK && has_words && c->has_model[MODEL_FAST]) st = llm_memory(&r);
    if (st == WEIR_OK) st = recall_findings(&r);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
