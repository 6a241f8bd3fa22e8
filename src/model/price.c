/* SPDX-License-Identifier: Apache-2.0 */
/* What a call costs, and what else is known of a model by its name (models.def). */
#include "base/slice.h"
#include "model/model_impl.h"

enum { FORCIBLE = 1, THINKS = 2 };

static const struct known_model {
    const char *name;
    unsigned traits;
    struct model_price price;
    const char *date, *source;
} known_models[] = {
#define X(name, traits, input, output, cache_read, cache_write, date, source)                      \
    {name, traits, {input, output, cache_read, cache_write}, date, source},
#include "model/models.def"
#undef X
};

enum { N_KNOWN = sizeof known_models / sizeof *known_models, TOKENS_PRICED = 1000000 };

/* "-20251001", "-2025-08-07", "-latest": the same model under a longer name. */
static bool is_version(struct weir_slice rest)
{
    size_t n_digits = 0;
    if (weir_slice_is(rest, "") || weir_slice_is(rest, "-latest")) return true;
    for (size_t i = 0; i < rest.len; i++) {
        if (rest.ptr[i] >= '0' && rest.ptr[i] <= '9') n_digits++;
        else if (rest.ptr[i] != '-') return false;
    }
    return rest.ptr[0] == '-' && n_digits == 8;
}

static bool begins_with(const char *text, const char *beginning, size_t len)
{
    return strncmp(text, beginning, len) == 0;
}

static const struct known_model *find(const char *model)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        size_t len = strlen(known_models[i].name);
        if (begins_with(model, known_models[i].name, len) && is_version(weir_slice_of(model + len)))
            return &known_models[i];
    }
    return NULL;
}

struct model_traits model_traits_of(const char *model)
{
    const struct known_model *known = find(model);
    unsigned traits = known ? known->traits : FORCIBLE;
    return (struct model_traits){
        .is_forcible = (traits & FORCIBLE) != 0,
        .thinks = (traits & THINKS) != 0,
    };
}

/* A pattern of a configuration: a name, or the beginning of one and a star. */
static bool fits(const char *model, const char *pattern)
{
    size_t len = strlen(pattern);
    if (len > 0 && pattern[len - 1] == '*') return begins_with(model, pattern, len - 1);
    return strcmp(model, pattern) == 0;
}

const struct model_price *model_price_of(const struct model_provider *provider, const char *model)
{
    for (unsigned i = 0; i < provider->n_prices; i++)
        if (fits(model, provider->prices[i].pattern)) return &provider->prices[i].price;
    const struct known_model *known = find(model);
    return known ? &known->price : NULL;
}

double model_cost(const struct model_price *price, const struct model_usage *usage)
{
    if (!price) return 0;
    return ((double)usage->input_tokens * price->input +
            (double)usage->output_tokens * price->output +
            (double)usage->cache_read_tokens * price->cache_read +
            (double)usage->cache_write_tokens * price->cache_write) /
           TOKENS_PRICED;
}
