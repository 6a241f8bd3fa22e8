/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking models. One engine, any number of calls at once, no thread each.
 *
 * 1. model_config_read() from a file (docs/models.md), models_new() on it.
 * 2. model_call() starts a call: `on_delta` as the answer comes, `done` once. Both are called in
 *    threads of the engine, one at a time for a call, hand over what they are given and return at
 *    once. With a schema only thoughts are told as they come: an object is no text.
 * 3. model_abort() ends a call within 100 ms; `done` is called with WEIR_CANCELLED unless it was
 *    over before.
 * 4. models_free() aborts what is left; every `done` has been called when it returns.
 *
 * Requests and answers have one form, whoever is asked; it is that of the Anthropic Messages API,
 * as far as it is used here (docs/models.md, "One form"). A provider translates.
 *
 * Failures. Until the first byte of an answer a call is made again by the engine, at most
 * MODEL_ATTEMPTS times, with growing pauses and jitter or as Retry-After says, then by the fallback
 * that is configured. Afterwards it is not: what has come is paid for and may have been shown. It
 * ends with WEIR_UPSTREAM, its content so far, and is_final false: whoever asked may ask again from
 * the beginning.
 *
 * Keys are read once, stand in memory only, and are in no text that this folder hands out.
 *
 * model_call(), model_abort(), models_stats(): any thread, callbacks included.
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/trace.h"

struct guard;        /* shield/guard.h */
struct models;       /* the engine */
struct model_config; /* which providers there are, and who plays which role */

enum {
    MODEL_ATTEMPTS = 3,              /* at a call, before the first byte of an answer */
    MODEL_WHY_BYTES = 256,           /* of a failure's sentence */
    MODEL_NAME_BYTES = 96,           /* of a provider's or model's name, with a NUL */
    MODEL_MAX_TOKENS = 4096,         /* of an answer, where a request does not say */
    MODEL_REQUEST_BYTES = 2 << 20,   /* of a request's texts together */
    MODEL_ANSWER_BYTES = 1 << 20,    /* of an answer's content; beyond it the call is ended */
    MODEL_MAX_RETRY_AFTER_MS = 60000 /* longest pause that a server may ask for */
};

/* In which form a provider speaks: the Messages API, or Chat Completions. */
enum model_type { MODEL_ANTHROPIC, MODEL_OPENAI };

/* What a call is for; the configuration names a provider and a model for each. */
enum model_role { MODEL_FAST, MODEL_MAIN, MODEL_CRITIC, MODEL_N_ROLES };
const char *model_role_name(enum model_role role); /* "fast", "main", "critic" */

/* ---- a request ---- */

/* Borrowed until model_call() returns. */
struct model_request {
    enum model_role role;
    const char *purpose;        /* "route", "data_science": for traces and cassettes */
    struct weir_slice system;   /* text */
    struct weir_slice messages; /* JSON: [{"role":"user","content":[BLOCK…]}…] */
    struct weir_slice tools;    /* JSON: [{"name","description","input_schema"}…]; empty: none */
    struct weir_slice schema;   /* JSON Schema of an object that is wanted; empty: text */
    const char *must_use;       /* the name of a tool; NULL: as the model likes */
    unsigned max_tokens;        /* of the answer; 0: MODEL_MAX_TOKENS */
    /*
     * The last look at what leaves: the body that a provider is to be sent is checked by it, if the
     * guard's policy covers the provider. It is in use until `done` and may not change; NULL: the
     * shield is off. It is no part of what is stored, hashed and compared.
     */
    const struct guard *guard;
};

/*
 * A request in one line of JSON, members always in the same order: what is stored, hashed and
 * compared. Neither a provider nor a key is in it.
 */
void model_request_put(struct weir_buf *out, const struct model_request *request);

/* A block of text, and a message of a request that is nothing but one. */
void model_text_put(struct weir_buf *out, struct weir_slice text);
void model_message_put(struct weir_buf *out, const char *role, struct weir_slice text);

/* ---- an answer ---- */

enum model_stop {
    MODEL_STOP_END,     /* it was finished */
    MODEL_STOP_TOOL,    /* it wants tools to be run */
    MODEL_STOP_LENGTH,  /* max_tokens, or the model's own limit */
    MODEL_STOP_REFUSED, /* the model, or a filter, did not want to */
    MODEL_STOP_CUT,     /* there is no end: it failed */
};

struct model_usage {
    uint64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens;
};

/*
 * Borrowed until `done` returns. `content` is JSON: [{"type":"text","text"}, {"type":"thinking",
 * "thinking","signature"?}, {"type":"tool_use","id","name","input"}…]. Only tool calls whose input
 * is whole are in it. Where a schema was given, the object is the input of a tool_use whose name is
 * model_answer_tool, whatever the provider calls it.
 */
struct model_answer {
    enum weir_status status; /* WEIR_OK, WEIR_UPSTREAM, WEIR_CANCELLED, WEIR_NOMEM, WEIR_LIMIT,
                                WEIR_FORBIDDEN: something private was left in it */
    bool is_final;           /* of a failure: asking again cannot help, or was done enough */
    uint64_t retry_after_ms; /* of a failure: not before; 0: nobody said */
    const char *why;         /* of a failure, for people; no key and no text of the request */
    enum model_stop stop;
    struct weir_slice content;
    struct model_usage usage;     /* of all attempts */
    double cost_usd;              /* of all attempts; 0 when the price is not known */
    const char *provider, *model; /* who answered, or was asked last */
    unsigned attempts;            /* requests that were sent */
};
extern const char model_answer_tool[]; /* "answer" */

/* As the document of a call has it, and back; its texts live in `content`. False: it is none. */
void model_answer_put(struct weir_buf *out, const struct model_answer *answer);
bool model_answer_read(const struct weir_json *json, struct weir_buf *content,
                       struct model_answer *out);

/* ---- calls ---- */

enum model_delta { MODEL_TEXT, MODEL_THINKING };

struct model_call {
    struct model_request request;
    /* NULL: nobody watches. Whole characters, in order; together they are the texts of the answer,
     * each once, since no call is made again after the first. */
    void (*on_delta)(void *user, enum model_delta kind, struct weir_slice delta);
    void (*done)(void *user, const struct model_answer *answer);
    void *user;
};

/* 0 or NULL in any field means its default. */
struct models_options {
    const struct clock *clock;
    const struct trace *trace;
    unsigned max_calls; /* 16,384 at a time, waiting ones included; then WEIR_BUSY */
    const char *record; /* folder that cassettes are written to; NULL: none are */
    const char *replay; /* folder of cassettes that are played instead of asking anybody */
};

/* The configuration is borrowed until models_free(). WEIR_NOMEM, WEIR_IO: no thread, no folder. */
WEIR_MUST_CHECK enum weir_status models_new(struct models **out, const struct model_config *config,
                                            const struct models_options *options);
void models_free(struct models *m); /* NULL is allowed */

/* Whether a model plays this role; otherwise agents are on their own (the builtin provider). */
bool models_has(const struct models *m, enum model_role role);

/* Who plays it, by the names of the configuration, which live as long as that; models_has(). */
void models_player(const struct models *m, enum model_role role, const char **provider,
                   const char **model);

/* Whether others read what is asked in this role: one of those who may be asked is external. */
bool models_is_external(const struct models *m, enum model_role role);

/*
 * Everything is copied. WEIR_BUSY, WEIR_NOMEM, WEIR_LIMIT (the request is too large),
 * WEIR_SHUTDOWN: `done` is not called.
 */
WEIR_MUST_CHECK enum weir_status model_call(struct models *m, const struct model_call *call,
                                            uint64_t *ticket);
void model_abort(struct models *m, uint64_t ticket);

struct models_stats {
    uint64_t n_calls, n_failed, n_retries, n_fallbacks, n_opened; /* opened: circuit breakers */
    uint64_t n_residues; /* requests that were not sent, for something private was left in them */
    uint64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens;
    double cost_usd;
    unsigned n_running;
};
void models_stats(struct models *m, struct models_stats *out);

/* Of a provider; its name lives as long as the configuration. */
struct model_provider_stats {
    const char *name;
    uint64_t n_attempts, n_failed, n_opened; /* failed: it was in trouble */
    unsigned n_running;
    bool is_open; /* its circuit breaker: nobody asks it, or one call to probe it */
};
/* The ith, from 0, as the configuration has them. False: there are no more. */
bool models_provider_stats(struct models *m, unsigned i, struct model_provider_stats *out);

/* ---- configuration ---- */

/*
 * From JSON (docs/models.md). Keys come from the environment or from files that nobody but their
 * owner can read. On failure *why says what is wrong and where: WEIR_BAD_FIELD, WEIR_NOT_FOUND,
 * WEIR_FORBIDDEN (a key file that others can read), WEIR_IO, WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status model_config_read(struct model_config **out, const char *path,
                                                   char why[MODEL_WHY_BYTES]);
/* The same of text; `name` is for messages. */
WEIR_MUST_CHECK enum weir_status model_config_parse(struct model_config **out,
                                                    struct weir_slice text, const char *name,
                                                    char why[MODEL_WHY_BYTES]);
void model_config_free(struct model_config *c); /* NULL is allowed; keys are overwritten */

/* Whom the ith provider's certificates are checked by; NULL: the system. False: no such provider.
 */
bool model_config_ca_file(const struct model_config *c, unsigned i, const char **path);

/* What a turn may cost at most, as the file says; 0: it does not. */
double model_config_max_turn_usd(const struct model_config *c);
