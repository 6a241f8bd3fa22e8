/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a turn says in the end, from the outputs of its steps. Pure.
 */
#include "base/slice.h"
#include "turn/turn_impl.h"

static const struct weir_json *get(const struct outputs *o, const char *step)
{
    return o->get(o->user, step);
}

static struct weir_slice text_of(const struct weir_json *object, const char *key)
{
    return weir_json_text(weir_json_get_str(object, key));
}

/* ---- the result ---- */

/* Names that were seen; they belong to the outputs. */
struct used {
    struct weir_slice names[MAX_SUPPORTING * 2];
    size_t n;
};

static void use(struct used *u, struct weir_slice name)
{
    bool is_new = name.len > 0 && u->n < sizeof u->names / sizeof *u->names;
    for (size_t i = 0; i < u->n; i++) is_new &= !slice_eq(u->names[i], name);
    if (is_new) u->names[u->n++] = name;
}

/* Those that ran, the main one first. */
static void put_agents(struct weir_buf *out, const struct outputs *o)
{
    struct used used = {.n = 0};
    const struct weir_json *v;
    use(&used, text_of(get(o, "run_main_agent"), "agent"));
    for (v = weir_json_first(get(o, "run_supporting_agents")); v; v = weir_json_next(v))
        use(&used, weir_json_key(v));
    const struct weir_json *more = weir_json_get_str(get(o, "reflection"), "follow_ups");
    for (v = weir_json_first(more); v; v = weir_json_next(v)) use(&used, text_of(v, "agent"));
    weir_json_put_key(out, "agents_used");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < used.n; i++) weir_json_put_string(out, used.names[i]);
    weir_json_put_end_array(out);
}

/* A list that a step brought; an empty one where it brought none. */
static void put_list(struct weir_buf *out, const struct weir_json *output, const char *key)
{
    weir_json_put_key(out, key);
    const struct weir_json *list = weir_json_get_str(output, key);
    if (weir_json_type_of(list) == WEIR_JSON_ARRAY) {
        weir_json_put_value(out, list);
        return;
    }
    weir_json_put_begin_array(out);
    weir_json_put_end_array(out);
}

static void put_validator(struct weir_buf *out, const struct weir_json *validation)
{
    static const char *const keys[] = {"findings_total", "findings_validated",
                                       "findings_conditional", "findings_rejected"};
    const struct weir_json *counts = weir_json_get_str(validation, "validator");
    weir_json_put_key(out, "validator");
    weir_json_put_begin_object(out);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t n = 0;
        if (!weir_json_int64(weir_json_get_str(counts, keys[i]), &n)) n = 0;
        weir_json_put_key(out, keys[i]);
        weir_json_put_int(out, n);
    }
    weir_json_put_end_object(out);
}

void result_put(struct weir_buf *out, const struct outputs *o, double cost_usd, int64_t duration_ms)
{
    const struct weir_json *validation = get(o, "validation_gates");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "answer");
    weir_json_put_string(out, text_of(get(o, "synthesis"), "answer"));
    put_list(out, get(o, "synthesis"), "numbers");
    put_list(out, validation, "fact_sheet");
    put_agents(out, o);
    put_validator(out, validation);
    weir_json_put_key(out, "cost_usd");
    weir_json_put_double(out, cost_usd);
    weir_json_put_key(out, "duration_ms");
    weir_json_put_int(out, duration_ms > 0 ? duration_ms : 0);
    weir_json_put_end_object(out);
}
