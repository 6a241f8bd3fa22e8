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

enum model_type { MODEL_ANTHROPIC, MODEL_OPENAI };

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
