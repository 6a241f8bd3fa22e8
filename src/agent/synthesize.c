/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer: written from the checked findings, what the expert says and what the coach proposes,
 * then verified against the fact sheet, then streamed. A number without a home sends the text back
 * to be written with fewer clauses, twice; after that its sentence is taken out. What is streamed
 * is what was verified, and nothing else.
 */
#include "agent/synthesize_impl.h"

#include <ctype.h>
#include <stdio.h>

#include "agent/llm_impl.h"
#include "agent/route_impl.h"
#include "base/slice.h"
#include "codec/json_member.h"

enum { KNOWN_MESSAGES = 8, SUMMARY_BYTES = 160 };

/* What the person has said is theirs, numbers included. */
static void know_messages(struct voice *v, const struct weir_json *messages)
{
    size_t n = 0, all = weir_json_count(messages);
    for (const struct weir_json *m = weir_json_first(messages); m; m = weir_json_next(m), n++)
        if (all - n <= KNOWN_MESSAGES && weir_slice_is(agent_text(m, "role"), "user") &&
            agent_text(m, "content").len <= VERIFY_TEXT_BYTES)
            voice_known(v, agent_text(m, "content"));
}

void outcome_flag(struct outcome *o, struct weir_slice text, struct weir_slice offence)
{
    struct weir_buf *out = &o->flagged;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "attempt");
    weir_json_put_uint(out, o->attempts);
    weir_json_put_key(out, "text");
    weir_json_put_string(out, text);
    weir_json_put_key(out, "offence");
    weir_json_put_string(out, offence);
    weir_json_put_end_object(out);
}

void outcome_flag_number(struct outcome *o, struct weir_slice text, const struct verified *n)
{
    struct weir_buf line;
    weir_buf_init(&line, 1 << 10);
    verify_offence(&line, text, n);
    outcome_flag(o, slice_of(text.ptr + n->offset, n->len), weir_buf_slice(&line));
    weir_buf_fini(&line);
}

static struct verify_input input_of(const struct voice *v, const struct ledger *ledger)
{
    struct weir_slice text = weir_buf_slice(&v->out);
    while (text.len > 0 && text.ptr[text.len - 1] == '\n') text.len--;
    return (struct verify_input){
        .text = text, .ledger = ledger, .known = v->known, .n_known = v->n_known};
}

/* Without the sentences whose numbers have no home. */
static enum weir_status strip(struct synthesis *s, const struct ledger *ledger, struct outcome *o)
{
    struct verify_input input = input_of(&s->voice, ledger);
    enum weir_status st = verify_strip(&o->stripped, &input, s->c->arena);
    if (st != WEIR_OK) return st;
    input.text = o->answer = o->stripped.text;
    return verify_text(&o->verified, &input, s->c->arena);
}

/* Writes, verifies, and writes again with less. */
static enum weir_status write_checked(struct synthesis *s, const struct ledger *ledger,
                                      struct outcome *o)
{
    struct verify_result *result = &o->verified;
    enum weir_status st = WEIR_OK;
    for (o->attempts = 1; st == WEIR_OK; o->attempts++) {
        s->voice.level = (enum voice_level)(o->attempts - 1);
        weir_buf_reset(&s->voice.out);
        s->voice.n_known = 0;
        know_messages(&s->voice, s->c->messages);
        compose(s);
        st = weir_buf_status(&s->voice.out);
        if (st != WEIR_OK) return st;
        struct verify_input input = input_of(&s->voice, ledger);
        st = verify_text(result, &input, s->c->arena);
        if (st != WEIR_OK) return st;
        o->answer = input.text;
        for (size_t i = 0; i < result->n; i++)
            if (result->numbers[i].outcome == VERIFY_LACK)
                outcome_flag_number(o, input.text, &result->numbers[i]);
        if (result->n_lacking == 0 || o->attempts == SYNTHESIS_ATTEMPTS) break;
    }
    return st != WEIR_OK || result->n_lacking == 0 ? st : strip(s, ledger, o);
}

bool answer_is_blank(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if (isalnum((unsigned char)text.ptr[i]) || (unsigned char)text.ptr[i] >= 0x80) return false;
    return true;
}

/* Which entry of the sheet each number of the answer is, its unit included; in bytes. */
static void put_numbers(struct weir_buf *out, const struct outcome *o)
{
    weir_json_put_key(out, "numbers");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < o->verified.n; i++) {
        const struct verified *n = &o->verified.numbers[i];
        if (n->outcome != VERIFY_HOME) continue;
        size_t len = n->quoted_len > n->len ? n->quoted_len : n->len;
        weir_json_put_begin_object(out);
        member_uint(out, "start", n->offset);
        member_uint(out, "end", n->offset + len);
        member_string(out, "text", slice_of(o->answer.ptr + n->offset, len));
        member_string(out, "claim", n->home->claim);
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
}

static void put_output(struct weir_buf *out, const struct outcome *o)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "answer");
    weir_json_put_string(out, o->answer);
    put_numbers(out, o);
    weir_json_put_key(out, "attempts");
    weir_json_put_uint(out, o->attempts);
    weir_json_put_key(out, "flagged");
    weir_buf_append_slice(out, weir_buf_slice(&o->flagged));
    weir_json_put_key(out, "removed");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < o->stripped.n_removed; i++)
        weir_json_put_string(out, o->stripped.removed[i]);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

/* The first sentence or so, for a log. */
static struct weir_slice summary_of(struct weir_slice answer)
{
    const char *end = answer.len > 0 ? memchr(answer.ptr, '\n', answer.len) : NULL;
    size_t len = end ? (size_t)(end - answer.ptr) : answer.len;
    if (len <= SUMMARY_BYTES) return slice_of(answer.ptr, len);
    len = SUMMARY_BYTES;
    while (len > 0 && answer.ptr[len - 1] != ' ') len--;
    return slice_of(answer.ptr, len > 0 ? len - 1 : 0);
}

static void stream(struct agent_case *c, const struct synthesis *s, struct agent_span span,
                   struct weir_slice answer)
{
    char name[32];
    struct weir_slice main =
        s->main.len > 0 && s->main.len < sizeof name ? s->main : SLICE("synthesis");
    memcpy(name, main.ptr, main.len);
    name[main.len] = '\0';
    agent_think(c, name, "synthesis", answer);
    agent_end(c, span, summary_of(answer));
}

/* Words of help are never a model's. */
static bool is_on_model(const struct synthesis *s)
{
    enum model_role role = s->main.len > 0 ? MODEL_MAIN : MODEL_FAST;
    return s->safety.len == 0 && s->c->has_model[role];
}

static enum weir_status write_by_model(struct synthesis *s, const struct ledger *ledger,
                                       struct outcome *o)
{
    return s->main.len > 0 ? llm_synthesis(s, ledger, o) : llm_fallback(s, o);
}

static enum weir_status work(struct synthesis *s, struct outcome *o, struct weir_buf *out)
{
    struct ledger ledger = {0};
    char error[LEDGER_ERROR_BYTES];
    enum weir_status st = WEIR_OK;
    struct agent_span span = {0};
    bool is_asked = is_on_model(s);
    if (s->voice.sheet) st = ledger_read(&ledger, s->voice.sheet, s->c->arena, error);
    weir_json_put_begin_array(&o->flagged);
    if (is_asked) span = agent_begin(s->c, "synthesis", s->c->question);
    if (st == WEIR_OK) st = is_asked ? write_by_model(s, &ledger, o) : write_checked(s, &ledger, o);
    weir_json_put_end_array(&o->flagged);
    if (st != WEIR_OK) return st;
    if (answer_is_blank(o->answer)) {
        snprintf(s->c->why, sizeof s->c->why,
                 "nothing was left of the answer after its numbers were verified");
        return WEIR_UNPROCESSABLE;
    }
    if (!is_asked) span = agent_begin(s->c, "synthesis", s->c->question);
    stream(s->c, s, span, o->answer);
    put_output(out, o);
    st = weir_buf_status(&o->flagged);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

enum weir_status agent_synthesize(struct agent_case *c, struct weir_buf *out)
{
    struct synthesis *s = arena_alloc(c->arena, sizeof *s);
    struct outcome o = {0};
    if (!s) return c->arena->status;
    enum weir_status st = synthesis_init(s, c);
    weir_buf_init(&o.flagged, AGENT_TEXT_BYTES);
    if (st == WEIR_OK) st = work(s, &o, out);
    weir_buf_fini(&o.flagged);
    weir_buf_fini(&s->voice.out);
    return st;
}
