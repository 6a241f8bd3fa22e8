/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/slice.h"
#include "model/model_impl.h"
#include "t.h"

static const char secret[] = "sk-test-0123456789abcdef";

static const char whole[] =
    "{\"providers\":{"
    "\"claude\":{\"type\":\"anthropic\",\"key_env\":\"WEIR_TEST_KEY\","
    "\"headers\":{\"anthropic-beta\":\"a,b\"},"
    "\"limits\":{\"connect_ms\":1,\"first_byte_ms\":2,\"idle_ms\":3,\"whole_ms\":4,"
    "\"max_running\":5},"
    "\"prices\":{\"claude-x*\":{\"input\":1,\"output\":2.5,\"cache_read\":0.1}}},"
    "\"local\":{\"type\":\"openai\",\"base_url\":\"http://127.0.0.1:8080/v1/\",\"json\":\"tool\"}},"
    "\"roles\":{"
    "\"fast\":{\"provider\":\"local\",\"model\":\"qwen\",\"effort\":\"low\"},"
    "\"main\":{\"provider\":\"claude\",\"model\":\"claude-x-1\",\"max_tokens\":100,"
    "\"thinking\":2048,\"fallback\":{\"provider\":\"local\",\"model\":\"qwen\"}},"
    "\"critic\":{\"provider\":\"claude\",\"model\":\"claude-opus-5-5\",\"thinking\":\"adaptive\"}},"
    "\"max_turn_usd\":0.5}";

static struct model_config *parsed(const char *text)
{
    char why[MODEL_WHY_BYTES] = "";
    struct model_config *c = NULL;
    enum weir_status st = model_config_parse(&c, weir_slice_of(text), "models.json", why);
    if (st != WEIR_OK) t_fail(__FILE__, __LINE__, "%s", why);
    return c;
}

TEST(a_whole_configuration_is_read)
{
    setenv("WEIR_TEST_KEY", secret, 1);
    struct model_config *c = parsed(whole);
    if (!c) return;
    T_EQ(c->n_providers, 2);
    const struct model_provider *p = &c->providers[0];
    T_EQ(strcmp(p->base_url, "https://api.anthropic.com"), 0);
    T_EQ(strcmp(p->key, secret), 0);
    T_EQ(p->limits.connect_ms, 1);
    T_EQ(p->limits.max_running, 5);
    T_EQ(strcmp(p->headers[0].name, "anthropic-beta"), 0);
    T_EQ(strcmp(p->headers[0].value, "a,b"), 0);
    T_EQ(strcmp(c->providers[1].base_url, "http://127.0.0.1:8080/v1"), 0);
    T_EQ(c->providers[1].json, MODEL_JSON_TOOL);
    T_EQ(c->providers[1].limits.connect_ms, 10000);
    const struct model_player *main_player = &c->players[MODEL_MAIN];
    T_OK(main_player->provider == p);
    T_EQ(main_player->thinking_tokens, 2048);
    T_EQ(main_player->max_tokens, 100);
    T_OK(main_player->is_forcible);
    T_OK(c->fallbacks[MODEL_MAIN].provider == &c->providers[1]);
    T_OK(!c->fallbacks[MODEL_FAST].provider);
    T_OK(c->players[MODEL_CRITIC].is_adaptive && !c->players[MODEL_CRITIC].is_forcible);
    T_OK(model_config_max_turn_usd(c) == 0.5);
    const struct model_price *price = model_price_of(p, "claude-x-1");
    T_OK(price && price->output == 2.5 && price->cache_read == 0.1 && price->cache_write == 1);
    model_config_free(c);
}

/* What is wrong with each, and what the message says of it. */
static const struct {
    const char *text;
    enum weir_status st;
    const char *says;
} wrongs[] = {
    {"", WEIR_BAD_FIELD, "line 1, column 1"},
    {"{\"providers\":{},\n \"roles\":}", WEIR_BAD_FIELD, "line 2, column 10"},
    {"[]", WEIR_BAD_FIELD, "object"},
    {"{}", WEIR_BAD_FIELD, "\"providers\" is missing"},
    {"{\"providers\":{}}", WEIR_BAD_FIELD, "\"roles\" is missing"},
    {"{\"providers\":{},\"roles\":{}}", WEIR_BAD_FIELD, "roles: no role has a model"},
    {"{\"provider\":{}}", WEIR_BAD_FIELD, "provider: there is no such member; there are providers"},
    {"{\"providers\":{\"a\":{}}}", WEIR_BAD_FIELD, "providers.a: \"type\" is missing"},
    {"{\"providers\":{\"a\":{\"type\":\"gemini\"}}}", WEIR_BAD_FIELD,
     "providers.a.type: it has to be one of: anthropic, openai"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"api_key\":\"x\"}}}", WEIR_BAD_FIELD,
     "providers.a.api_key: there is no such member"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"base_url\":\"ftp://x\"}}}", WEIR_BAD_FIELD,
     "providers.a.base_url: it has to begin with https://"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"base_url\":\"https://\"}}}", WEIR_BAD_FIELD,
     "providers.a.base_url: it has to begin"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"base_url\":\"https://u:p@h/\"}}}",
     WEIR_BAD_FIELD, "without a password"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"base_url\":\"http://example.com/v1\","
     "\"key_env\":\"WEIR_TEST_KEY\"}}}",
     WEIR_BAD_FIELD, "a key is not sent without https"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"base_url\":\"http://127.0.0.1.example.com/\","
     "\"key_env\":\"WEIR_TEST_KEY\"}}}",
     WEIR_BAD_FIELD, "a key is not sent without https"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"key_env\":\"WEIR_TEST_NONE\"}}}", WEIR_NOT_FOUND,
     "providers.a.key_env: the environment has no WEIR_TEST_NONE"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"key_env\":\"WEIR_TEST_ODD\"}}}", WEIR_BAD_FIELD,
     "one line of visible ASCII"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"key_env\":\"A\",\"key_file\":\"B\"}}}",
     WEIR_BAD_FIELD, "exclude each other"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"key_file\":\"/nowhere/key\"}}}", WEIR_NOT_FOUND,
     "providers.a.key_file: /nowhere/key"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"external\":\"false\"}}}", WEIR_BAD_FIELD,
     "providers.a.external: it has to be true or false"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"ca_file\":\"/nowhere/ca\"}}}", WEIR_NOT_FOUND,
     "providers.a.ca_file: /nowhere/ca"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"limits\":{\"connect_ms\":0}}}}", WEIR_BAD_FIELD,
     "providers.a.limits.connect_ms: it has to be a whole number from 1"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"limits\":{\"connect_ms\":\"5s\"}}}}",
     WEIR_BAD_FIELD, "a whole number"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"limits\":{\"connect\":5}}}}", WEIR_BAD_FIELD,
     "limits.connect: there is no such member; there are connect_ms"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"headers\":{\"X-Api-Key\":\"v\"}}}}",
     WEIR_BAD_FIELD, "use key_env or key_file"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"headers\":{\"Authorization\":\"v\"}}}}",
     WEIR_BAD_FIELD, "use key_env or key_file"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"headers\":{\"Host\":\"v\"}}}}", WEIR_BAD_FIELD,
     "set by weir itself"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"headers\":{\"a b\":\"v\"}}}}", WEIR_BAD_FIELD,
     "no name of a header field"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"headers\":{\"a\":\"v\\r\\nb: c\"}}}}",
     WEIR_BAD_FIELD, "control characters"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"prices\":{\"m\":{\"input\":1}}}}}",
     WEIR_BAD_FIELD, "providers.a.prices.m: \"output\" is missing"},
    {"{\"providers\":{\"a\":{\"type\":\"openai\",\"prices\":{\"m\":{\"input\":-1,\"output\":1}}}}}",
     WEIR_BAD_FIELD, "prices.m.input: it has to be a number from 0"},
    {"{\"providers\":{\"a\":{\"type\":\"anthropic\",\"json\":\"tool\"}}}", WEIR_BAD_FIELD,
     "for providers of type openai"},
    {"{\"providers\":{\"\":{\"type\":\"openai\"}}}", WEIR_BAD_FIELD, "name has 1 to"},
    {"{\"providers\":{},\"roles\":{\"slow\":{}}}", WEIR_BAD_FIELD,
     "roles.slow: there is no such member; there are fast, main, critic"},
    {"{\"providers\":{},\"roles\":{\"fast\":{\"model\":\"m\"}}}", WEIR_BAD_FIELD,
     "roles.fast: \"provider\" is missing"},
    {"{\"providers\":{},\"roles\":{\"fast\":{\"provider\":\"b\",\"model\":\"m\"}}}", WEIR_BAD_FIELD,
     "roles.fast.provider: there is no provider \"b\""},
    {"{\"roles\":{\"fast\":{\"provider\":\"a\",\"model\":\"m\",\"thinking\":10}},"
     "\"providers\":{\"a\":{\"type\":\"anthropic\"}}}",
     WEIR_BAD_FIELD, "roles.fast.thinking: it has to be \"adaptive\" or a number"},
    {"{\"roles\":{\"fast\":{\"provider\":\"a\",\"model\":\"m\",\"thinking\":2000}},"
     "\"providers\":{\"a\":{\"type\":\"openai\"}}}",
     WEIR_BAD_FIELD, "\"thinking\" is for providers of type anthropic"},
    {"{\"roles\":{\"fast\":{\"provider\":\"a\",\"model\":\"m\",\"fallback\":{\"provider\":\"a\","
     "\"model\":\"n\",\"fallback\":{}}}},\"providers\":{\"a\":{\"type\":\"openai\"}}}",
     WEIR_BAD_FIELD, "roles.fast.fallback.fallback: there is no such member"},
    {"{\"providers\":{},\"roles\":{},\"max_turn_usd\":\"1\"}", WEIR_BAD_FIELD, "max_turn_usd"},
    {"{\"providers\":{},\"roles\":{},\"a\\nb\\u001b[2J\":1}", WEIR_BAD_FIELD, "a?b?[2J"},
};

TEST(whatever_is_wrong_is_said_with_its_place)
{
    setenv("WEIR_TEST_KEY", secret, 1);
    setenv("WEIR_TEST_ODD", "two\nlines", 1);
    unsetenv("WEIR_TEST_NONE");
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        char why[MODEL_WHY_BYTES] = "";
        struct model_config *c = NULL;
        enum weir_status st =
            model_config_parse(&c, weir_slice_of(wrongs[i].text), "models.json", why);
        T_EQ(st, wrongs[i].st);
        T_OK(!c);
        if (!strstr(why, wrongs[i].says))
            t_fail(__FILE__, __LINE__, "%s\ngives: %s", wrongs[i].text, why);
        T_OK(strncmp(why, "models.json: ", 13) == 0);
        T_OK(!strstr(why, secret));
        model_config_free(c);
    }
}

TEST(a_configuration_cut_anywhere_is_refused)
{
    setenv("WEIR_TEST_KEY", secret, 1);
    for (size_t len = 0; len + 1 < sizeof whole; len++) {
        char why[MODEL_WHY_BYTES];
        struct model_config *c;
        T_EQ(model_config_parse(&c, slice_of(whole, len), "m", why), WEIR_BAD_FIELD);
    }
}

TEST(a_lack_of_memory_is_said_at_every_place)
{
    enum weir_status st = WEIR_NOMEM;
    setenv("WEIR_TEST_KEY", secret, 1);
    for (uint64_t n = 1; st != WEIR_OK && n < 1000; n++) {
        char why[MODEL_WHY_BYTES];
        struct model_config *c;
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        st = model_config_parse(&c, weir_slice_of(whole), "m", why);
        fault_disarm_all();
        T_OK(st == WEIR_OK || st == WEIR_NOMEM);
        model_config_free(c);
    }
    T_EQ(st, WEIR_OK);
}

/* ---- files ---- */

static const char *write_file(const char *name, const char *text, mode_t mode)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", t_temp_dir(), name);
    FILE *f = fopen(path, "w");
    if (f) {
        fputs(text, f);
        fclose(f);
    }
    T_OK(f && chmod(path, mode) == 0);
    return path;
}

static enum weir_status key_of(const char *path, char **key, char *why)
{
    *key = NULL;
    why[0] = 0;
    return model_key_from_file(path, key, why);
}

TEST(a_key_file_of_its_owner_is_read_without_its_line_end)
{
    char why[MODEL_WHY_BYTES], *key;
    T_EQ(key_of(write_file("key", "sk-abc\r\n", 0600), &key, why), WEIR_OK);
    T_OK(key && strcmp(key, "sk-abc") == 0);
    model_key_free(key);
    T_EQ(key_of(write_file("ro", "sk-abc", 0400), &key, why), WEIR_OK);
    model_key_free(key);
}

TEST(a_key_file_that_others_can_use_is_refused)
{
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610, 0601, 0666, 0644};
    char why[MODEL_WHY_BYTES], *key;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        T_EQ(key_of(write_file("key", "sk-abc\n", modes[i]), &key, why), WEIR_FORBIDDEN);
        T_OK(strstr(why, "chmod 600"));
        T_OK(!key);
    }
}

TEST(a_key_file_that_is_none_is_refused)
{
    char why[MODEL_WHY_BYTES], *key, link[512];
    const char *real = write_file("key", "sk-abc\n", 0600);
    snprintf(link, sizeof link, "%s/link", t_temp_dir());
    T_EQ(symlink(real, link), 0);
    T_EQ(key_of(link, &key, why), WEIR_FORBIDDEN);
    T_OK(strstr(why, "link"));
    T_EQ(key_of(t_temp_dir(), &key, why), WEIR_FORBIDDEN);
    snprintf(link, sizeof link, "%s/pipe", t_temp_dir());
    T_EQ(mkfifo(link, 0600), 0);
    T_EQ(key_of(link, &key, why), WEIR_FORBIDDEN);
    T_EQ(key_of("/nowhere/key", &key, why), WEIR_NOT_FOUND);
}

TEST(a_key_is_one_line_of_visible_ascii)
{
    static const char *const texts[] = {"", "\n", "a b\n", "a\nb\n", "a\tb", "k\xc3\xa9y", "a\x7f"};
    char why[MODEL_WHY_BYTES], *key;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        T_EQ(key_of(write_file("key", texts[i], 0600), &key, why), WEIR_BAD_FIELD);
        T_OK(!key && !strstr(why, "a b"));
    }
    char longest[MODEL_KEY_BYTES + 1];
    memset(longest, 'k', MODEL_KEY_BYTES);
    longest[MODEL_KEY_BYTES] = 0;
    T_EQ(key_of(write_file("key", longest, 0600), &key, why), WEIR_BAD_FIELD);
}

TEST(a_configuration_is_read_from_its_file)
{
    char why[MODEL_WHY_BYTES] = "";
    struct model_config *c;
    setenv("WEIR_TEST_KEY", secret, 1);
    T_EQ(model_config_read(&c, write_file("models.json", whole, 0644), why), WEIR_OK);
    model_config_free(c);
    T_EQ(model_config_read(&c, "/nowhere/models.json", why), WEIR_NOT_FOUND);
    T_OK(strstr(why, "/nowhere/models.json"));
    T_OK(model_config_read(&c, t_temp_dir(), why) != WEIR_OK);
}

TEST(a_key_is_blotted_out_wherever_it_stands)
{
    char bytes[] = "sk-12 and sk-12sk-12, but not sk-1";
    model_key_blot("sk-12", bytes, sizeof bytes - 1);
    T_EQ(strcmp(bytes, "***** and **********, but not sk-1"), 0);
    model_key_blot(NULL, bytes, sizeof bytes - 1);
    model_key_blot("sk-1", NULL, 0);
}

TEST(the_examples_of_the_documentation_are_configurations)
{
    struct weir_slice page = t_read_file(T_SOURCE_ROOT "/docs/models.md");
    const char *at = page.ptr, *end;
    unsigned n = 0;
    setenv("ANTHROPIC_API_KEY", secret, 1);
    setenv("OPENAI_API_KEY", secret, 1);
    while (at && (at = memmem(at, (size_t)(page.ptr + page.len - at), "```json\n", 8))) {
        char why[MODEL_WHY_BYTES] = "";
        struct model_config *c;
        at += 8;
        end = memmem(at, (size_t)(page.ptr + page.len - at), "```", 3);
        T_EQ(model_config_parse(&c, slice_of(at, (size_t)(end - at)), "models.md", why), WEIR_OK);
        if (why[0] != 0) t_fail(__FILE__, __LINE__, "%s", why);
        model_config_free(c);
        at = end;
        n++;
    }
    T_EQ(n, 5);
}
