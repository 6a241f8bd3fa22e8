/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of models, and cassettes, from any bytes: what is taken is whole (a player has
 * a provider of the same configuration, a name and a model), what is refused is said in one line
 * that can be printed, with the place.
 */
#include <string.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "model/cassette.h"

static void check_player(const struct model_config *c, const struct model_player *p)
{
    if (!p->provider) return;
    fuzz_true("a provider of this configuration",
              p->provider >= c->providers && p->provider < c->providers + c->n_providers);
    fuzz_true("a model", p->model && p->model[0] != 0);
    fuzz_true("an address", strstr(p->provider->base_url, "://") != NULL);
    fuzz_true("a price or none", model_cost(model_price_of(p->provider, p->model),
                                            &(struct model_usage){1, 1, 1, 1}) >= 0);
}

static void check_config(struct weir_slice input)
{
    char why[MODEL_WHY_BYTES];
    struct model_config *c;
    enum weir_status st = model_config_parse(&c, input, "fuzz", why);
    if (st == WEIR_OK) {
        for (int i = 0; i < MODEL_N_ROLES; i++) {
            check_player(c, &c->players[i]);
            check_player(c, &c->fallbacks[i]);
        }
        model_config_free(c);
        return;
    }
    fuzz_true("nothing is made", !c);
    fuzz_true("the file is named", strncmp(why, "fuzz: ", 6) == 0);
    for (const char *at = why; *at; at++)
        fuzz_true("it can be printed", (unsigned char)*at >= ' ' && *at != 0x7F);
}

static void check_cassette(struct weir_slice input)
{
    struct cassette c;
    size_t end = 0;
    cassette_init(&c);
    if (cassette_read(&c, input)) {
        for (size_t i = 0; i < c.n_pieces; i++) {
            fuzz_true("pieces follow each other", c.pieces[i].end > end);
            end = c.pieces[i].end;
        }
        fuzz_true("pieces are all there is", end == c.bytes.len);
    }
    cassette_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice input = slice_of(data, size);
    check_config(input);
    check_cassette(input);
    (void)model_retry_after_ms(input, input, 0);
    return 0;
}
