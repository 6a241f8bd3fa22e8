/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent is given of a turn: the same when the turn is run and when it is run again. */
#include "agent/agent.h"
#include "io/crypto.h"
#include "turn/turn_impl.h"

static uint64_t seed_of(struct weir_slice turn_id)
{
    unsigned char hash[SHA256_BYTES];
    uint64_t seed;
    sha256(turn_id, hash);
    memcpy(&seed, hash, sizeof seed);
    return seed;
}

/* The last message, and no more of it than agents look at. */
static struct weir_slice question_of(const struct weir_json *messages)
{
    const struct weir_json *last = NULL;
    for (const struct weir_json *m = weir_json_first(messages); m; m = weir_json_next(m)) last = m;
    struct weir_slice text = weir_json_text(weir_json_get_str(last, "content"));
    if (text.len <= AGENT_QUESTION_BYTES) return text;
    text.len = AGENT_QUESTION_BYTES;
    while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xC0) == 0x80) text.len--;
    return text;
}

void case_init(struct agent_case *c, struct weir_slice turn_id, const struct weir_json *messages)
{
    *c = (struct agent_case){.turn_id = turn_id,
                             .messages = messages,
                             .question = question_of(messages),
                             .seed = seed_of(turn_id)};
}

static bool is_true(const struct weir_json *object, const char *key)
{
    return weir_json_type_of(weir_json_get_str(object, key)) == WEIR_JSON_TRUE;
}

void case_set_context(struct agent_case *c, const struct weir_json *context)
{
    c->has_biomarkers = is_true(context, "include_biomarkers");
    if (is_true(context, "include_memory")) c->memory = weir_json_get_str(context, "memory");
}

struct weir_slice case_question(const struct outputs *o, const struct agent_case *c,
                                const char *agent)
{
    const struct weir_json *questions = o->get(o->user, "rephrase_per_agent");
    struct weir_slice text = weir_json_text(weir_json_get_str(questions, agent));
    return text.len > 0 ? text : c->question;
}
