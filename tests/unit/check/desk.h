/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger as JSON and a text: what becomes of the text's numbers. */
#pragma once

#include <weir/json.h>

#include "check/verify.h"
#include "t.h"

struct desk {
    struct arena arena;
    struct weir_json_doc *doc;
    struct ledger ledger;
    struct verify_result result;
    char error[LEDGER_ERROR_BYTES];
};

static inline enum weir_status desk_open(struct desk *d, const char *ledger)
{
    const struct weir_json *json;
    arena_init(&d->arena, VERIFY_ARENA_BYTES);
    d->doc = weir_json_doc_new(0);
    T_OK(weir_json_parse(d->doc, weir_slice_of(ledger), &json, NULL) == WEIR_OK);
    return ledger_read(&d->ledger, json, &d->arena, d->error);
}

static inline void desk_verify(struct desk *d, struct weir_slice text, const char *known)
{
    struct weir_slice question = weir_slice_of(known ? known : "");
    struct verify_input input = {text, &d->ledger, &question, known ? 1 : 0};
    T_OK(verify_text(&d->result, &input, &d->arena) == WEIR_OK);
}

static inline void desk_close(struct desk *d)
{
    weir_json_doc_free(d->doc);
    arena_fini(&d->arena);
}
