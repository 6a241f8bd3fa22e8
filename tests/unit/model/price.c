/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "model/model_impl.h"
#include "t.h"

static const struct model_provider plain = {.name = "p"};

TEST(a_known_model_has_a_price_under_its_versions_too)
{
    static const char *const names[] = {"claude-haiku-4-5", "claude-haiku-4-5-20251001",
                                        "claude-haiku-4-5-latest", "claude-haiku-4-5-2025-10-01"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct model_price *price = model_price_of(&plain, names[i]);
        T_OK(price && price->input == 1 && price->output == 5);
    }
}

TEST(a_model_that_is_not_known_has_no_price)
{
    static const char *const names[] = {"",
                                        "qwen3:8b",
                                        "claude-haiku-4-5-turbo",
                                        "claude-opus-5-9",
                                        "gpt-5.4-nano",
                                        "claude-haiku-4-5-2025",
                                        "gpt-5-pro"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        T_OK(!model_price_of(&plain, names[i]));
    T_OK(model_cost(NULL, &(struct model_usage){1, 2, 3, 4}) == 0);
}

TEST(a_price_of_the_configuration_comes_first)
{
    struct model_provider own = plain;
    own.prices[0] = (struct model_price_row){"claude-haiku-4-5", {7, 7, 7, 7}};
    own.prices[1] = (struct model_price_row){"qwen*", {1, 2, 3, 4}};
    own.n_prices = 2;
    T_OK(model_price_of(&own, "claude-haiku-4-5")->input == 7);
    T_OK(model_price_of(&own, "claude-haiku-4-5-20251001")->input == 1);
    T_OK(model_price_of(&own, "qwen3:8b")->cache_write == 4);
    T_OK(!model_price_of(&own, "qwe"));
}

TEST(a_cost_is_the_sum_over_the_kinds_of_tokens)
{
    const struct model_price price = {3, 15, 0.3, 3.75};
    const struct model_usage usage = {1000, 200, 10000, 2000};
    T_OK(fabs(model_cost(&price, &usage) - 0.0165) < 1e-12);
}

TEST(models_that_refuse_to_be_forced_are_known)
{
    T_OK(!model_traits_of("claude-opus-5-5").is_forcible);
    T_OK(model_traits_of("claude-opus-5-5").thinks);
    T_OK(model_traits_of("claude-haiku-4-5-20251001").is_forcible);
    T_OK(!model_traits_of("claude-haiku-4-5").thinks);
    T_OK(model_traits_of("whatever").is_forcible);
}
