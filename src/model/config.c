/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: JSON to providers and roles. Strict, for a member that is misspelled would
 * otherwise be a setting that is not: every member is in a table of what its object may have, and
 * whatever is wrong is said with its place. No text of the configuration is a secret; keys are
 * elsewhere, and are named here.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mask.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "io/fetch.h"
#include "io/file.h"
#include "model/model_impl.h"

enum {
    CONFIG_BYTES = 256 << 10, /* longest configuration */
    VALUE_BYTES = 4 << 20,    /* of its values in memory */
    TEXTS_BYTES = 1 << 20,    /* of what is kept of it */
    PATH_BYTES = 160,         /* of a member's place in messages */
    MAX_MS = 3600 * 1000,
    MAX_RUNNING = FETCH_MAX_RUNNING, /* as many as can be asked for */
    MAX_TOKENS = 1 << 20,
};

static const struct model_limits default_limits = {
    .connect_ms = 10 * 1000,
    .first_byte_ms = 120 * 1000,
    .idle_ms = 60 * 1000,
    .whole_ms = 600 * 1000,
    .max_running = 512,
};

struct reader {
    struct model_config *config;
    const char *name;
    char *why;
    char path[PATH_BYTES];
    enum weir_status st;
};

struct row;
/* Reads a value into what the row says; false with r->st and *why. */
typedef bool (*take_fn)(struct reader *r, const struct row *row, const struct weir_json *v);

struct row {
    const char *key;
    take_fn take;
    void *into;
    double min, max;          /* of numbers */
    const char *const *words; /* of a closed list; ends with NULL */
    bool is_needed;
};

/* ---- what is wrong, and where ---- */

/* Keys may be anything; a message goes to a terminal, and may have been cut in a character. */
static void make_printable(char *text)
{
    text[utf8_valid_prefix(weir_slice_of(text))] = 0;
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7F) *text = '?';
}

__attribute__((format(printf, 2, 3))) static bool bad(struct reader *r, const char *format, ...)
{
    va_list args;
    int len = snprintf(r->why, MODEL_WHY_BYTES, "%s: %s%s", r->name, r->path,
                       r->path[0] != 0 ? ": " : "");
    va_start(args, format);
    if (len > 0 && len < MODEL_WHY_BYTES)
        vsnprintf(r->why + len, (size_t)(MODEL_WHY_BYTES - len), format, args);
    va_end(args);
    make_printable(r->why);
    r->st = WEIR_BAD_FIELD;
    return false;
}

static bool fail(struct reader *r, enum weir_status st)
{
    bad(r, "%s", weir_status_text(st));
    r->st = st;
    return false;
}

/* Where the path ended before, for path_back(). */
static size_t path_into(struct reader *r, struct weir_slice key)
{
    size_t len = strlen(r->path);
    snprintf(r->path + len, sizeof r->path - len, "%s%.*s", len > 0 ? "." : "",
             (int)(key.len < PATH_BYTES ? key.len : PATH_BYTES), key.ptr ? key.ptr : "");
    return len;
}

static void path_back(struct reader *r, size_t len)
{
    r->path[len] = 0;
}

/* ---- values ---- */

static const char *keep(struct reader *r, struct weir_slice text)
{
    char *copy = arena_alloc(&r->config->texts, text.len + 1);
    if (!copy) {
        fail(r, r->config->texts.status);
        return NULL;
    }
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    return copy;
}

static bool is_plain(struct weir_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7F) return false;
    return text.len > 0;
}

static bool take_text(struct reader *r, const struct row *row, const struct weir_json *v)
{
    struct weir_slice text = weir_json_text(v);
    if (weir_json_type_of(v) != WEIR_JSON_STRING || !is_plain(text) || text.len >= MODEL_URL_BYTES)
        return bad(r,
                   "it has to be a text in quotes, not empty, shorter than %d bytes, without "
                   "control characters",
                   MODEL_URL_BYTES);
    const char **into = row->into;
    *into = keep(r, text);
    return *into != NULL;
}

static bool take_name(struct reader *r, const struct row *row, const struct weir_json *v)
{
    if (weir_json_text(v).len >= MODEL_NAME_BYTES)
        return bad(r, "a name has less than %d bytes", MODEL_NAME_BYTES);
    return take_text(r, row, v);
}

static bool take_count(struct reader *r, const struct row *row, const struct weir_json *v)
{
    int64_t n = 0;
    if (!weir_json_int64(v, &n) || (double)n < row->min || (double)n > row->max)
        return bad(r, "it has to be a whole number from %.0f to %.0f", row->min, row->max);
    *(unsigned *)row->into = (unsigned)n;
    return true;
}

static bool take_number(struct reader *r, const struct row *row, const struct weir_json *v)
{
    double x = 0;
    if (!weir_json_double(v, &x) || x < row->min || x > row->max)
        return bad(r, "it has to be a number from %.0f to %.0f", row->min, row->max);
    *(double *)row->into = x;
    return true;
}

static void list_words(char *out, size_t size, const char *const *words)
{
    size_t len = 0;
    for (out[0] = 0; *words && len < size; words++)
        len += (size_t)snprintf(out + len, size - len, "%s%s", len > 0 ? ", " : "", *words);
}

static int word_of(const struct weir_json *v, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (weir_slice_is(weir_json_text(v), words[i])) return i;
    return -1;
}

static bool bad_word(struct reader *r, const char *const *words)
{
    char list[MODEL_WHY_BYTES / 2];
    list_words(list, sizeof list, words);
    return bad(r, "it has to be one of: %s", list);
}

/* The number of the word. */
static bool take_word(struct reader *r, const struct row *row, const struct weir_json *v)
{
    int i = word_of(v, row->words);
    if (i < 0) return bad_word(r, row->words);
    *(int *)row->into = i;
    return true;
}

/* The word itself. */
static bool take_one_of(struct reader *r, const struct row *row, const struct weir_json *v)
{
    int i = word_of(v, row->words);
    if (i < 0) return bad_word(r, row->words);
    *(const char **)row->into = row->words[i];
    return true;
}

/* ---- objects ---- */

static const struct row *row_of(const struct row *rows, struct weir_slice key)
{
    for (; rows->key; rows++)
        if (weir_slice_is(key, rows->key)) return rows;
    return NULL;
}

static bool bad_member(struct reader *r, const struct row *rows)
{
    char list[MODEL_WHY_BYTES];
    size_t len = 0;
    for (list[0] = 0; rows->key && len < sizeof list; rows++)
        len +=
            (size_t)snprintf(list + len, sizeof list - len, "%s%s", len > 0 ? ", " : "", rows->key);
    return bad(r, "there is no such member; there are %s", list);
}

static bool has_needed(struct reader *r, const struct row *rows, const struct weir_json *v)
{
    for (; rows->key; rows++)
        if (rows->is_needed && !weir_json_get_str(v, rows->key))
            return bad(r, "\"%s\" is missing", rows->key);
    return true;
}

static bool is_object(struct reader *r, const struct weir_json *v)
{
    if (weir_json_type_of(v) == WEIR_JSON_OBJECT) return true;
    return bad(r, "it has to be an object, in braces");
}

static bool read_object(struct reader *r, const struct row *rows, const struct weir_json *v)
{
    if (!is_object(r, v)) return false;
    for (const struct weir_json *x = weir_json_first(v); x; x = weir_json_next(x)) {
        size_t len = path_into(r, weir_json_key(x));
        const struct row *row = row_of(rows, weir_json_key(x));
        if (!row) return bad_member(r, rows);
        if (!row->take(r, row, x)) return false;
        path_back(r, len);
    }
    return has_needed(r, rows, v);
}

/* ---- providers ---- */

/* What a provider says that is not a field of it. */
struct provider_words {
    struct model_provider *provider;
    const char *key_env, *key_file;
};

static bool take_limits(struct reader *r, const struct row *row, const struct weir_json *v)
{
    struct model_limits *l = row->into;
    const struct row rows[] = {
        {"connect_ms", take_count, &l->connect_ms, 1, MAX_MS, NULL, false},
        {"first_byte_ms", take_count, &l->first_byte_ms, 1, MAX_MS, NULL, false},
        {"idle_ms", take_count, &l->idle_ms, 1, MAX_MS, NULL, false},
        {"whole_ms", take_count, &l->whole_ms, 1, MAX_MS, NULL, false},
        {"max_running", take_count, &l->max_running, 1, MAX_RUNNING, NULL, false},
        {.key = NULL},
    };
    return read_object(r, rows, v);
}

/* A token of RFC 9110. */
static bool is_field_name(struct weir_slice name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!isalnum((unsigned char)name.ptr[i]) && !strchr("!#$%&'*+-.^_`|~", name.ptr[i]))
            return false;
    return name.len > 0 && name.len < MODEL_NAME_BYTES;
}

/* Those that the engine or HTTP itself sets. */
static bool is_our_field(struct weir_slice name)
{
    static const char *const ours[] = {
        "accept",
        "accept-encoding",
        "anthropic-version",
        "connection",
        "content-type",
        "content-length",
        "expect",
        "host",
        "te",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (name.len == strlen(ours[i]) && slice_ends_with_nocase(name, ours[i])) return true;
    return false;
}

static bool take_header(struct reader *r, struct model_provider *p, const struct weir_json *x)
{
    struct weir_slice name = weir_json_key(x);
    if (!is_field_name(name)) return bad(r, "this is no name of a header field");
    if (mask_is_secret_name(name))
        return bad(r, "a key does not stand in the configuration: use key_env or key_file");
    if (is_our_field(name)) return bad(r, "this field is set by weir itself");
    if (p->n_headers == MODEL_MAX_HEADERS)
        return bad(r, "there may be %d header fields at most", MODEL_MAX_HEADERS);
    struct model_header *header = &p->headers[p->n_headers++];
    const struct row row = {.key = "", .take = take_text, .into = &header->value};
    header->name = keep(r, name);
    return header->name && take_text(r, &row, x);
}

/* Each member of an object whose keys are names. */
static bool take_each(struct reader *r, struct model_provider *p, const struct weir_json *v,
                      bool (*take)(struct reader *, struct model_provider *,
                                   const struct weir_json *))
{
    if (!is_object(r, v)) return false;
    for (const struct weir_json *x = weir_json_first(v); x; x = weir_json_next(x)) {
        size_t len = path_into(r, weir_json_key(x));
        if (!take(r, p, x)) return false;
        path_back(r, len);
    }
    return true;
}

static bool take_headers(struct reader *r, const struct row *row, const struct weir_json *v)
{
    return take_each(r, row->into, v, take_header);
}

static bool take_price(struct reader *r, struct model_provider *p, const struct weir_json *x)
{
    enum { MAX_USD = 1000000 };
    if (p->n_prices == MODEL_MAX_PRICES)
        return bad(r, "there may be %d prices at most", MODEL_MAX_PRICES);
    struct model_price_row *price = &p->prices[p->n_prices++];
    *price = (struct model_price_row){.price = {.cache_read = -1, .cache_write = -1}};
    const struct row rows[] = {
        {"input", take_number, &price->price.input, 0, MAX_USD, NULL, true},
        {"output", take_number, &price->price.output, 0, MAX_USD, NULL, true},
        {"cache_read", take_number, &price->price.cache_read, 0, MAX_USD, NULL, false},
        {"cache_write", take_number, &price->price.cache_write, 0, MAX_USD, NULL, false},
        {.key = NULL},
    };
    price->pattern = keep(r, weir_json_key(x));
    if (!price->pattern || !read_object(r, rows, x)) return false;
    if (price->price.cache_read < 0) price->price.cache_read = price->price.input;
    if (price->price.cache_write < 0) price->price.cache_write = price->price.input;
    return true;
}

static bool take_prices(struct reader *r, const struct row *row, const struct weir_json *v)
{
    return take_each(r, row->into, v, take_price);
}

/* Of the host in a URL: whether nobody but this machine hears what is sent there. */
static bool is_this_machine(const char *url)
{
    static const char *const hosts[] = {"http://localhost", "http://127.0.0.1", "http://[::1]"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        size_t len = strlen(hosts[i]);
        if (strncmp(url, hosts[i], len) == 0 && strchr(":/", url[len])) return true;
    }
    return false;
}

static bool check_url(struct reader *r, struct model_provider *p, bool has_key)
{
    static const char *const usual[] = {"https://api.anthropic.com", "https://api.openai.com/v1"};
    size_t at = path_into(r, SLICE("base_url"));
    if (!p->base_url) p->base_url = usual[p->type];
    const char *host = strstr(p->base_url, "://");
    if ((strncmp(p->base_url, "https://", 8) != 0 && strncmp(p->base_url, "http://", 7) != 0) ||
        host[3] == 0 || host[3] == '/')
        return bad(r, "it has to begin with https:// or http:// and a host");
    if (strpbrk(p->base_url, "@?# \"\\"))
        return bad(r, "it has to be without a password, a query, a fragment and blanks");
    if (has_key && p->base_url[4] == ':' && !is_this_machine(p->base_url))
        return bad(r, "a key is not sent without https, but to this machine: take https://, or "
                      "leave the key out");
    /* The slash at its end is ours to put. */
    struct weir_slice url = weir_slice_of(p->base_url);
    while (url.len > 0 && url.ptr[url.len - 1] == '/') url.len--;
    p->base_url = keep(r, url);
    if (p->base_url) path_back(r, at);
    return p->base_url != NULL;
}

static bool read_key(struct reader *r, const struct provider_words *w)
{
    char why[MODEL_WHY_BYTES];
    enum weir_status st = WEIR_OK;
    if (w->key_env && w->key_file) return bad(r, "key_env and key_file exclude each other");
    size_t at = path_into(r, w->key_env ? SLICE("key_env") : SLICE("key_file"));
    if (w->key_env) st = model_key_from_env(w->key_env, &w->provider->key, why);
    else if (w->key_file) st = model_key_from_file(w->key_file, &w->provider->key, why);
    if (st != WEIR_OK) {
        bad(r, "%s", why);
        r->st = st;
        return false;
    }
    path_back(r, at);
    return true;
}

static bool check_ca_file(struct reader *r, const struct model_provider *p)
{
    struct stat info;
    if (!p->ca_file || (stat(p->ca_file, &info) == 0 && S_ISREG(info.st_mode))) return true;
    path_into(r, SLICE("ca_file"));
    bad(r, "%s is no file that can be found", p->ca_file);
    r->st = WEIR_NOT_FOUND;
    return false;
}

static bool take_flag(struct reader *r, const struct row *row, const struct weir_json *v)
{
    bool *into = row->into;
    enum weir_json_type type = weir_json_type_of(v);
    if (type != WEIR_JSON_TRUE && type != WEIR_JSON_FALSE)
        return bad(r, "it has to be true or false");
    *into = type == WEIR_JSON_TRUE;
    return true;
}

static bool read_provider(struct reader *r, struct model_provider *p, const struct weir_json *v)
{
    static const char *const types[] = {"anthropic", "openai", NULL};
    static const char *const forms[] = {"schema", "object", "tool", "none", NULL};
    struct provider_words w = {.provider = p};
    int type = 0, json = -1;
    const struct row rows[] = {
        {"type", take_word, &type, 0, 0, types, true},
        {"base_url", take_text, &p->base_url, 0, 0, NULL, false},
        {"key_env", take_text, &w.key_env, 0, 0, NULL, false},
        {"key_file", take_text, &w.key_file, 0, 0, NULL, false},
        {"json", take_word, &json, 0, 0, forms, false},
        {"limits", take_limits, &p->limits, 0, 0, NULL, false},
        {"headers", take_headers, p, 0, 0, NULL, false},
        {"ca_file", take_text, &p->ca_file, 0, 0, NULL, false},
        {"prices", take_prices, p, 0, 0, NULL, false},
        {"external", take_flag, &p->is_external, 0, 0, NULL, false},
        {.key = NULL},
    };
    p->limits = default_limits;
    p->is_external = true;
    if (!read_object(r, rows, v)) return false;
    p->type = (enum model_type)type;
    if (json >= 0 && p->type == MODEL_ANTHROPIC)
        return bad(r, "\"json\" is for providers of type openai");
    p->json = json >= 0 ? (enum model_json)json : MODEL_JSON_SCHEMA;
    return check_url(r, p, w.key_env || w.key_file) && check_ca_file(r, p) && read_key(r, &w);
}

static bool take_providers(struct reader *r, const struct row *row, const struct weir_json *v)
{
    struct model_config *c = row->into;
    if (!is_object(r, v)) return false;
    for (const struct weir_json *x = weir_json_first(v); x; x = weir_json_next(x)) {
        size_t len = path_into(r, weir_json_key(x));
        if (!is_plain(weir_json_key(x)) || weir_json_key(x).len >= MODEL_NAME_BYTES)
            return bad(r, "a provider's name has 1 to %d bytes", MODEL_NAME_BYTES - 1);
        if (c->n_providers == MODEL_MAX_PROVIDERS)
            return bad(r, "there may be %d providers at most", MODEL_MAX_PROVIDERS);
        struct model_provider *p = &c->providers[c->n_providers++];
        p->name = keep(r, weir_json_key(x));
        if (!p->name || !read_provider(r, p, x)) return false;
        path_back(r, len);
    }
    return true;
}

/* ---- roles ---- */

static bool take_thinking(struct reader *r, const struct row *row, const struct weir_json *v)
{
    struct model_player *player = row->into;
    if (weir_slice_is(weir_json_text(v), "adaptive") && weir_json_type_of(v) == WEIR_JSON_STRING) {
        player->is_adaptive = true;
        return true;
    }
    int64_t n = 0;
    if (!weir_json_int64(v, &n) || n < MODEL_MIN_THINKING_TOKENS || n > MAX_TOKENS)
        return bad(r, "it has to be \"adaptive\" or a number of tokens from %d to %d",
                   MODEL_MIN_THINKING_TOKENS, MAX_TOKENS);
    player->thinking_tokens = (unsigned)n;
    return true;
}

static bool find_provider(struct reader *r, struct model_player *player, const char *name)
{
    const struct model_config *c = r->config;
    for (unsigned i = 0; i < c->n_providers; i++)
        if (strcmp(c->providers[i].name, name) == 0) {
            player->provider = &c->providers[i];
            return true;
        }
    path_into(r, SLICE("provider"));
    return bad(r, "there is no provider \"%s\" under \"providers\"", name);
}

static bool take_fallback(struct reader *r, const struct row *row, const struct weir_json *v);

static bool read_player(struct reader *r, struct model_player *player,
                        struct model_player *fallback, const struct weir_json *v)
{
    static const char *const efforts[] = {"none", "minimal", "low", "medium",
                                          "high", "xhigh",   "max", NULL};
    const char *provider = NULL;
    int is_forced = -1;
    static const char *const choices[] = {"auto", "forced", NULL};
    const struct row rows[] = {
        {"provider", take_name, &provider, 0, 0, NULL, true},
        {"model", take_name, &player->model, 0, 0, NULL, true},
        {"max_tokens", take_count, &player->max_tokens, 1, MAX_TOKENS, NULL, false},
        {"thinking", take_thinking, player, 0, 0, NULL, false},
        {"effort", take_one_of, &player->effort, 0, 0, efforts, false},
        {"tool_choice", take_word, &is_forced, 0, 0, choices, false},
        /* A fallback has none. */
        {fallback ? "fallback" : NULL, take_fallback, fallback, 0, 0, NULL, false},
        {.key = NULL},
    };
    if (!read_object(r, rows, v) || !find_provider(r, player, provider)) return false;
    if (player->provider->type != MODEL_ANTHROPIC &&
        (player->thinking_tokens > 0 || player->is_adaptive))
        return bad(r, "\"thinking\" is for providers of type anthropic; others have \"effort\"");
    struct model_traits traits = model_traits_of(player->model);
    player->is_forcible = is_forced >= 0 ? is_forced == 1 : traits.is_forcible;
    player->thinks = traits.thinks;
    return true;
}

static bool take_fallback(struct reader *r, const struct row *row, const struct weir_json *v)
{
    return read_player(r, row->into, NULL, v);
}

static bool take_role(struct reader *r, const struct row *row, const struct weir_json *v)
{
    struct model_player *player = row->into;
    return read_player(r, player, &r->config->fallbacks[player - r->config->players], v);
}

static bool read_roles(struct reader *r, const struct weir_json *v)
{
    struct row rows[MODEL_N_ROLES + 1] = {{.key = NULL}};
    for (int i = 0; i < MODEL_N_ROLES; i++)
        rows[i] = (struct row){.key = model_role_name((enum model_role)i),
                               .take = take_role,
                               .into = &r->config->players[i]};
    size_t len = path_into(r, SLICE("roles"));
    if (!read_object(r, rows, v)) return false;
    /* A gateway needs nobody to play a role. */
    if (weir_json_count(v) == 0 && r->config->n_providers == 0)
        return bad(r, "no role has a model: name one for fast, main or critic");
    path_back(r, len);
    return true;
}

/* ---- all of it ---- */

/* Roles are read when all providers are known, wherever they stand. */
static bool take_later(struct reader *r, const struct row *row, const struct weir_json *v)
{
    (void)r;
    *(const struct weir_json **)row->into = v;
    return true;
}

static bool read_all(struct reader *r, const struct weir_json *v)
{
    enum { MAX_TURN_USD = 1000000 };
    const struct weir_json *roles = NULL;
    const struct row rows[] = {
        {"providers", take_providers, r->config, 0, 0, NULL, true},
        {"roles", take_later, &roles, 0, 0, NULL, true},
        {"max_turn_usd", take_number, &r->config->max_turn_usd, 0, MAX_TURN_USD, NULL, false},
        {.key = NULL},
    };
    return read_object(r, rows, v) && read_roles(r, roles);
}

/* The line and column of a byte, for people. */
static void bad_json(struct reader *r, struct weir_slice text, enum weir_status st, size_t offset)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < offset && i < text.len; i++) {
        column = text.ptr[i] == '\n' ? 1 : column + 1;
        line += text.ptr[i] == '\n';
    }
    bad(r, "line %zu, column %zu: %s", line, column, weir_status_text(st));
}

static void parse(struct reader *r, struct weir_slice text)
{
    const struct weir_json *value = NULL;
    size_t offset = 0;
    struct weir_json_doc *doc = weir_json_doc_new(VALUE_BYTES);
    enum weir_status st = doc ? weir_json_parse(doc, text, &value, &offset) : WEIR_NOMEM;
    if (st == WEIR_NOMEM) fail(r, st);
    else if (st != WEIR_OK) bad_json(r, text, st, offset);
    else if (read_all(r, value)) r->st = WEIR_OK;
    weir_json_doc_free(doc);
}

enum weir_status model_config_parse(struct model_config **out, struct weir_slice text,
                                    const char *name, char why[MODEL_WHY_BYTES])
{
    struct model_config *c = mem_zalloc(sizeof *c);
    struct reader r = {.config = c, .name = name, .why = why, .st = WEIR_BAD_FIELD};
    *out = NULL;
    why[0] = 0;
    if (!c) {
        fail(&r, WEIR_NOMEM);
        return WEIR_NOMEM;
    }
    arena_init(&c->texts, TEXTS_BYTES);
    parse(&r, text);
    if (r.st == WEIR_OK) *out = c;
    else model_config_free(c);
    return r.st;
}

static enum weir_status read_file(struct file *f, const char *path, struct weir_buf *text,
                                  char why[MODEL_WHY_BYTES])
{
    uint64_t size = 0;
    size_t n = 0;
    enum weir_status st = file_size(f, &size);
    if (st == WEIR_OK && size > CONFIG_BYTES) {
        snprintf(why, MODEL_WHY_BYTES, "%s: a configuration has %d bytes at most", path,
                 CONFIG_BYTES);
        return WEIR_BAD_FIELD;
    }
    char *bytes = st == WEIR_OK ? mem_alloc((size_t)size + 1) : NULL;
    if (st == WEIR_OK && !bytes) st = WEIR_NOMEM;
    if (st == WEIR_OK) st = file_read_at(f, bytes, (size_t)size, 0, &n);
    if (st == WEIR_OK) weir_buf_append(text, bytes, n);
    mem_free(bytes);
    if (st == WEIR_OK) st = weir_buf_status(text);
    if (st != WEIR_OK) snprintf(why, MODEL_WHY_BYTES, "%s: %s", path, weir_status_text(st));
    return st;
}

enum weir_status model_config_read(struct model_config **out, const char *path,
                                   char why[MODEL_WHY_BYTES])
{
    struct file f;
    struct weir_buf text;
    *out = NULL;
    enum weir_status st = file_open(&f, path, FILE_READ_ONLY);
    if (st != WEIR_OK) {
        snprintf(why, MODEL_WHY_BYTES, "%s: %s", path, strerror(errno));
        return errno == ENOENT ? WEIR_NOT_FOUND : st;
    }
    weir_buf_init(&text, CONFIG_BYTES);
    st = read_file(&f, path, &text, why);
    file_close(&f);
    if (st == WEIR_OK) st = model_config_parse(out, weir_buf_slice(&text), path, why);
    weir_buf_fini(&text);
    return st;
}

void model_config_free(struct model_config *c)
{
    if (!c) return;
    for (unsigned i = 0; i < c->n_providers; i++) model_key_free(c->providers[i].key);
    arena_fini(&c->texts);
    mem_free(c);
}

bool model_config_ca_file(const struct model_config *c, unsigned i, const char **path)
{
    if (i >= c->n_providers) return false;
    *path = c->providers[i].ca_file;
    return true;
}

double model_config_max_turn_usd(const struct model_config *c)
{
    return c->max_turn_usd;
}
