/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents on a model: what they share.
 *
 *   llm_prompt.c     prompts and data blocks (llm_prompt.h)
 *   llm_talk.c       a conversation with a model: requests, answers, tools
 *   llm_json.c       asking for an object, and asking again for one that can be read
 *   llm_context.c    what a request tells of the person: days, tests, memory, what was said
 *   llm_text.c       a model's words, made fit to be shown
 *   llm_route.c      vagueness, who answers, one question for each
 *   llm_science.c    the data scientist and its tools
 *   llm_expert.c     the expert's words about rows of the facts table
 *   llm_coach.c      next steps
 *   llm_reflect.c    follow-ups
 *   llm_critic.c     a second opinion on findings
 *   llm_synthesis.c  the answer, and the conversational one
 *   llm_memory.c     what is worth remembering of what the person said
 *
 * A model proposes and never decides: names are looked up in closed lists, plans are checked and
 * run by weir, numbers are verified, and the rules of the builtin provider hold as well. Each
 * function is deterministic between passes (agent.h): requests depend on the case alone.
 */
#pragma once

#include "agent/agent_impl.h"
#include "agent/llm_prompt.h"
#include "agent/route_impl.h"
#include "check/critic.h"

enum {
    LLM_REPAIRS = 3,               /* times that an answer is asked for again, the error quoted */
    LLM_WHY_BYTES = 240,           /* of such an error */
    LLM_QUOTE_BYTES = 2 << 10,     /* of a wrong answer, when it is quoted */
    LLM_MESSAGES_BYTES = 1 << 20,  /* of a conversation */
    LLM_CONTENT_BYTES = 128 << 10, /* of one answer; a longer one is not read */
};

/* ---- llm_talk.c ---- */

/* A conversation. talk_begin(), then asking and saying in turns, then talk_end(). */
struct talk {
    struct agent_case *c;
    struct model_request request; /* tools, schema and max_tokens are set by the caller */
    struct weir_buf system, messages;
    struct weir_json_doc *doc;
    const struct weir_json *content; /* blocks of the last answer; NULL: it could not be read */
    enum model_stop stop;
};

void talk_begin(struct talk *t, struct agent_case *c, enum model_role role, const char *prompt,
                const struct prompt_value *values, size_t n);
void talk_end(struct talk *t);

/*
 * Asks; `agent` is whose thoughts the answer is, NULL: nobody's. WEIR_PENDING; how the call failed,
 * with c->why; WEIR_LIMIT: the conversation is too long.
 */
WEIR_MUST_CHECK enum weir_status talk_ask(struct talk *t, const char *agent);

/* The texts of the last answer, one after the other. */
void talk_put_text(const struct talk *t, struct weir_buf *out);

/* What was answered becomes part of the conversation: blocks of known kinds, in their order. */
void talk_keep_answer(struct talk *t);

/* A message. `role` is "user" or "assistant"; `text` is ours, or made of blocks. */
void talk_say(struct talk *t, const char *role, struct weir_slice text);

/*
 * What tools there are: `run` writes the result of a call, or what is wrong with it and *is_error.
 * Each call is answered, those beyond `most` of one answer by a refusal.
 */
struct talk_tools {
    size_t most;
    enum weir_status (*run)(void *user, const struct weir_json *call, struct weir_buf *out,
                            bool *is_error);
    void *user;
};

/* Answers all calls of the last answer; *is_wrong: there was not one that was right. */
WEIR_MUST_CHECK enum weir_status talk_run_calls(struct talk *t, const struct talk_tools *tools,
                                                bool *is_wrong);

/* The next call of a tool in the last answer, after `last` or from the first; NULL: none. */
const struct weir_json *talk_next_call(const struct talk *t, const struct weir_json *last);

/* ---- llm_json.c ---- */

struct llm_question {
    enum model_role role;
    const char *prompt;
    const struct prompt_value *values;
    size_t n_values;
    const char *schema;
    unsigned max_tokens;
    /* Reads the object; false: `why` says what is wrong with it, and it is asked for again. */
    bool (*read)(void *user, const struct weir_json *json, char why[LLM_WHY_BYTES]);
    void *user;
};

/* WEIR_UNPROCESSABLE: there was no readable answer in 1 + LLM_REPAIRS; else as talk_ask(). */
WEIR_MUST_CHECK enum weir_status llm_json(struct agent_case *c, const struct llm_question *q);

/* The text of the last answer as an object, with or without a fence around it; NULL: it is none. */
const struct weir_json *llm_text_object(struct talk *t);

/* Members of an object; false with `why`: "vagueness: one of low, medium, high". */
bool json_read_text(const struct weir_json *object, const char *key, size_t most,
                    struct weir_slice *out, char why[LLM_WHY_BYTES]);
/* `names` ends with NULL; *out is the place of the one. */
bool json_read_name(const struct weir_json *object, const char *key, const char *const *names,
                    size_t *out, char why[LLM_WHY_BYTES]);
bool json_read_list(const struct weir_json *object, const char *key, size_t most,
                    const struct weir_json **out, char why[LLM_WHY_BYTES]);

/* ---- llm_context.c ---- */

enum { CONTEXT_BYTES = 16 << 10 };

/* What there is to ask plans of: a line for each metric, kind of workout and laboratory test. */
WEIR_MUST_CHECK enum weir_status context_put_data(struct weir_buf *out, struct agent_case *c,
                                                  bool has_sources);
/* Names of metrics alone, in one line. */
WEIR_MUST_CHECK enum weir_status context_put_names(struct weir_buf *out, struct agent_case *c);
/* Entries of memory, a line each; `words` empty: all, else those that share a word with it. */
void context_put_memory(struct weir_buf *out, struct agent_case *c, struct weir_slice words);
/* What was said before the question, a line for each message. */
void context_put_talk(struct weir_buf *out, struct agent_case *c);

/* ---- llm_text.c ---- */

/* Words of a model for people: no links, pictures, HTML or characters that cannot be seen. */
void text_put_clean(struct weir_buf *out, struct weir_slice text);
/* The same into the arena, at most so many bytes, cut behind a word; NULL ptr: no memory. */
struct weir_slice text_keep_clean(struct arena *arena, struct weir_slice text, size_t most);
/*
 * A model's words without the sentences that play doctor (said_plays_doctor()); those go to `gone`,
 * a line each, NULL: nobody wants to know.
 */
WEIR_MUST_CHECK enum weir_status text_put_fit(struct weir_buf *out, struct agent_case *c,
                                              struct weir_slice text, struct weir_buf *gone);
/* What the person has said, whose numbers need no home: the newest messages; how many. */
enum { TEXT_KNOWN = 16 };
size_t text_own(struct agent_case *c, struct weir_slice known[TEXT_KNOWN]);
/* Whether each number of a text is the person's own. */
WEIR_MUST_CHECK enum weir_status text_has_own_numbers(struct agent_case *c, struct weir_slice text,
                                                      bool *out);

/* ---- the agents ---- */

WEIR_MUST_CHECK enum weir_status llm_classify(struct agent_case *c, struct weir_buf *out);
/* Nobody: out->main is NULL. */
WEIR_MUST_CHECK enum weir_status llm_route(struct agent_case *c, struct route *out);
WEIR_MUST_CHECK enum weir_status llm_rephrase(struct agent_case *c, struct weir_buf *out);

/* The table of facts, as the expert hands it out. */
struct fact_subject;
struct llm_lookup {
    struct weir_slice rows, said; /* about what the question names; what was said of it */
    const struct weir_buf *facts; /* entries of all rows that were handed out, as JSON */
    /* Rows of a subject in words; their limits become facts. */
    enum weir_status (*look_up)(void *user, const struct fact_subject *s, struct weir_buf *out);
    void *user;
};
enum { LLM_WORDS_BYTES = 4 << 10 };
/* A few sentences whose numbers are facts or the person's; may be nothing. */
WEIR_MUST_CHECK enum weir_status llm_expert(struct agent_case *c, const struct llm_lookup *l,
                                            struct weir_slice question, struct weir_buf *out);

/* A row of the table of advice. */
struct llm_row {
    const char *step, *source;
};
enum { LLM_STEPS = 4 };
struct llm_advice {
    struct weir_slice opening, steps[LLM_STEPS];
    const char *sources[LLM_STEPS]; /* "": plain advice of the model's own */
    size_t n;                       /* 0: the answer could not be read */
};
WEIR_MUST_CHECK enum weir_status llm_coach(struct agent_case *c, struct weir_slice question,
                                           const struct llm_row *rows, size_t n,
                                           struct llm_advice *out);

/* What is to be asked of the data once more; none when the answer could not be read. */
enum { LLM_FOLLOW_UPS = 2, LLM_FOLLOW_UP_BYTES = 240 };
WEIR_MUST_CHECK enum weir_status llm_reflect(struct agent_case *c, const struct weir_json *result,
                                             struct weir_slice out[LLM_FOLLOW_UPS], size_t *n);

/* A finding as the critic sees it; the critique is that of the rules, and is made stricter. */
struct llm_review {
    struct weir_slice id, claim;
    const struct metric *metric, *metric_y; /* NULL: none, or not in the catalogue */
    const struct verdict *verdict;
    size_t n_tests;
    bool is_causal;
    struct critique *critique;
};
/* Texts of the critiques are the case's arena's. */
WEIR_MUST_CHECK enum weir_status llm_critic(struct agent_case *c, struct llm_review *list,
                                            size_t n);

struct remembering;
/* Adds what of the question is worth remembering; nothing when the answer could not be read. */
WEIR_MUST_CHECK enum weir_status llm_memory(struct remembering *r);

struct synthesis;
struct ledger;
struct outcome;
/* The answer, verified; blank when nothing is left of it. */
WEIR_MUST_CHECK enum weir_status llm_synthesis(struct synthesis *s, const struct ledger *ledger,
                                               struct outcome *o);
/* The conversational answer, in which all numbers are the person's. */
WEIR_MUST_CHECK enum weir_status llm_fallback(struct synthesis *s, struct outcome *o);

struct science;
/* WEIR_UNPROCESSABLE: no plan that could be run in 1 + LLM_REPAIRS answers. */
WEIR_MUST_CHECK enum weir_status llm_science(struct science *s);
