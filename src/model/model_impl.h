/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder know of each other: the configuration, and the two dialects. */
#pragma once

#include <weir/message.h>

#include "model/model.h"

enum {
    MODEL_MAX_PROVIDERS = 16,
    MODEL_MAX_HEADERS = 6,           /* of a provider, beside our own */
    MODEL_MAX_PRICES = 64,           /* of a provider */
    MODEL_URL_BYTES = 1024,          /* of a provider's address, with a NUL */
    MODEL_KEY_BYTES = 4096,          /* of a key */
    MODEL_THINKING_TOKENS = 8192,    /* room for thoughts, where a model thinks as it likes */
    MODEL_MIN_THINKING_TOKENS = 1024 /* the least budget that is taken */
};

/* ---- configuration ---- */

/* How a server is told that an object is wanted. */
enum model_json {
    MODEL_JSON_SCHEMA, /* response_format with the schema */
    MODEL_JSON_OBJECT, /* response_format json_object; the schema is in the system text */
    MODEL_JSON_TOOL,   /* a tool whose input is the object */
    MODEL_JSON_NONE,   /* in the system text only */
};

/* USD for a million tokens. */
struct model_price {
    double input, output, cache_read, cache_write;
};

struct model_price_row {
    const char *pattern; /* the beginning of a model's name */
    struct model_price price;
};

struct model_limits {
    unsigned connect_ms, first_byte_ms, idle_ms, whole_ms, max_running;
};

struct model_header {
    const char *name, *value;
};

struct model_provider {
    const char *name;
    enum model_type type;
    const char *base_url; /* without a slash at its end */
    char *key;            /* NULL: none */
    enum model_json json;
    struct model_limits limits;
    struct model_header headers[MODEL_MAX_HEADERS];
    unsigned n_headers;
    const char *ca_file; /* NULL: whom the system trusts */
    bool is_external;    /* others read what it is sent */
    struct model_price_row prices[MODEL_MAX_PRICES];
    unsigned n_prices;
};

/* Who plays a role. */
struct model_player {
    const struct model_provider *provider; /* NULL: nobody */
    const char *model;
    unsigned max_tokens;      /* ceiling on what a request asks for; 0: none */
    unsigned thinking_tokens; /* budget for thoughts; 0: none is named */
    bool is_adaptive;         /* it thinks as much as it likes */
    const char *effort;       /* NULL: the model's own */
    bool is_forcible;         /* it can be told to use a tool */
    bool thinks;              /* its thoughts are counted with its answer */
};

struct model_config {
    struct arena texts;
    struct model_provider providers[MODEL_MAX_PROVIDERS];
    unsigned n_providers;
    struct model_player players[MODEL_N_ROLES], fallbacks[MODEL_N_ROLES];
    double max_turn_usd;
};

/* ---- what is known of models (models.def) ---- */

struct model_traits {
    bool is_forcible;
    bool thinks;
};
struct model_traits model_traits_of(const char *model);

/* NULL: the price is not known. The provider's own prices come first. */
const struct model_price *model_price_of(const struct model_provider *provider, const char *model);
double model_cost(const struct model_price *price, const struct model_usage *usage);

/* ---- keys ---- */

/*
 * A key from the environment or from a file; *why (MODEL_WHY_BYTES) without the place. Free with
 * model_key_free(), which overwrites it.
 */
WEIR_MUST_CHECK enum weir_status model_key_from_env(const char *name, char **key, char *why);
WEIR_MUST_CHECK enum weir_status model_key_from_file(const char *path, char **key, char *why);
void model_key_free(char *key); /* NULL is allowed */

/* Takes a key out of bytes that a server has sent, by stars in its place: the length stays. */
void model_key_blot(const char *key, char *bytes, size_t len); /* key: NULL is allowed */

/* ---- what a provider is sent ---- */

/* A request that is being translated; its JSON as values. */
struct model_body {
    const struct model_request *request;
    const struct model_player *player;
    bool keeps_thinking; /* thoughts that were signed are the model's own, and go back to it */
    struct weir_json_doc *doc;
    const struct weir_json *messages, *tools, *schema; /* the last two may be NULL */
};

/*
 * The body of a request as the player's provider takes it. WEIR_BAD_FIELD: messages, tools or
 * schema are not of the one form; WEIR_LIMIT, WEIR_NOMEM.
 */
WEIR_MUST_CHECK enum weir_status model_body_put(struct weir_buf *out,
                                                const struct model_request *request,
                                                const struct model_player *player,
                                                bool keeps_thinking);
void anthropic_body_put(struct weir_buf *out, const struct model_body *body);
void openai_body_put(struct weir_buf *out, const struct model_body *body);

/* Room for the answer and for thoughts. */
unsigned model_body_tokens(const struct model_body *body);

/* Whether the model may be told by the request's own means to use a tool. */
bool model_body_is_forced(const struct model_body *body);

/* A sentence that says so, where it may not, or where only words can; nothing is put otherwise. */
void model_body_put_advice(struct weir_buf *out, const struct model_body *body);

/* The texts of a message's content: a string, or the blocks of type text. */
void model_body_put_texts(struct weir_buf *out, const struct weir_json *content);

/* Where requests go: the provider's address and this. */
const char *model_path_of(const struct model_provider *provider);

/* ---- what comes back ---- */

struct model_reply_options;

/* What an answer's message comes to, while it is put. */
struct model_content {
    struct weir_buf *out;
    unsigned n_tools; /* whole ones */
    bool has_broken;  /* a tool's input was not whole */
    bool has_answer;  /* the tool "answer" is among them */
    enum model_stop stop;
    struct model_usage usage;
    struct weir_buf texts; /* all text, for an object that was not given as a tool */
    /* Who hears of texts as they are put: they did not come as deltas. NULL: nobody. */
    const struct model_reply_options *tell;
};

/*
 * Puts the blocks of a message that a server has sent; m is NULL when it was sent whole. False: it
 * is no message.
 */
bool anthropic_content_put(struct model_content *c, const struct weir_json *message,
                           const struct weir_message *m);
bool openai_content_put(struct model_content *c, const struct weir_json *message,
                        const struct weir_message *m);

/* One block each. */
void model_content_text(struct model_content *c, struct weir_slice text);
void model_content_thinking(struct model_content *c, struct weir_slice text,
                            struct weir_slice signature);
void model_content_tool(struct model_content *c, struct weir_slice id, struct weir_slice name,
                        const struct weir_json *input);
void model_count(uint64_t *out, const struct weir_json *n); /* if it is a count */

/* ---- failures ---- */

/* What to do about a failure, as long as nothing of an answer has been seen. */
struct model_failure {
    enum weir_status status; /* WEIR_OK: there is none */
    bool may_help;           /* asking the same again later */
    bool is_outage;          /* the server, or the way to it, is in trouble: for the breaker */
    uint64_t retry_after_ms; /* as the server says; 0: it does not */
    char why[MODEL_WHY_BYTES];
};

/* Names the provider and takes its key and other secrets out of what a server said. */
void model_failure_say(struct model_failure *f, const struct model_provider *provider,
                       const char *what, struct weir_slice said);

/* What a server said if it is a word, as "overloaded_error" or "text/html"; else it is empty. */
struct weir_slice model_failure_word(struct weir_slice said);
/* Of an error that a server tells, {"message","type","code"}: its code, or else its type. */
struct weir_slice model_error_code(const struct weir_json *error);

/* An answer that is not 200: by its status, with the code of its body. */
void model_failure_of_http(struct model_failure *f, const struct model_provider *provider,
                           int http_status, struct weir_slice body);

/* Whether an error of this type, as servers call them, may be over later. */
bool model_error_may_help(struct weir_slice type);

/* Of the fields Retry-After-Ms and Retry-After; both may be empty. 0: neither says anything. */
uint64_t model_retry_after_ms(struct weir_slice ms, struct weir_slice seconds_or_date,
                              int64_t wall_ms);

/* ---- the answer to one attempt ---- */

struct model_reply;

struct model_reply_options {
    const struct model_provider *provider; /* for its name and key */
    enum model_type type;                  /* who speaks */
    bool wants_object;
    void (*on_delta)(void *user, enum model_delta kind, struct weir_slice delta); /* or NULL */
    void *user;
};

/* Of the body of a 200 with this Content-Type. NULL: no memory. */
struct model_reply *model_reply_new(const struct model_reply_options *options,
                                    struct weir_slice content_type);
void model_reply_free(struct model_reply *r); /* NULL is allowed */

/* False: enough is known. */
bool model_reply_feed(struct model_reply *r, struct weir_slice bytes);

/* Whether the message is whole, although its input may go on. */
bool model_reply_is_whole(const struct model_reply *r);

/* Whether anything of an answer has come: from then on it is not asked for again. */
bool model_reply_has_output(const struct model_reply *r);

/*
 * The input has ended, for the reason `cut` when it is not NULL. Puts the content as an array, sets
 * stop and usage, and says whether it failed.
 */
void model_reply_end(struct model_reply *r, const char *cut, struct model_content *content,
                     struct model_failure *failure);
