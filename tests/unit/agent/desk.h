/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case for the tests of this folder: a question with its history, outputs of steps by hand as
 * JSON, memory, an empty dataset or one of the test's, and all events in one text, a line each:
 * "agent.thought {…}".
 */
#pragma once

#include "agent/agent.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "t.h"

enum { DESK_STEPS = 9, DESK_BYTES = 8 << 20 };

struct desk {
    struct agent_case c;
    struct arena arena;
    struct fake_clock clock;
    struct weir_json_doc *doc;
    struct {
        const char *step;
        const struct weir_json *json;
    } outputs[DESK_STEPS];
    size_t n_outputs;
    struct weir_buf events, thoughts, out;
    size_t n_thoughts;
    bool is_utf8;
};

static inline const struct weir_json *desk_output(void *user, const char *step)
{
    struct desk *d = user;
    for (size_t i = 0; i < d->n_outputs; i++)
        if (strcmp(d->outputs[i].step, step) == 0) return d->outputs[i].json;
    return NULL;
}

static inline const struct weir_json *desk_json(struct desk *d, struct weir_slice text)
{
    const struct weir_json *json = NULL;
    T_EQ(weir_json_parse(d->doc, text, &json, NULL), WEIR_OK);
    return json;
}

static inline void desk_emit(void *user, const char *type, struct weir_slice json)
{
    struct desk *d = user;
    weir_buf_printf(&d->events, "%s ", type);
    weir_buf_append_slice(&d->events, json);
    weir_buf_append_char(&d->events, '\n');
    struct weir_slice delta = weir_json_text(weir_json_get_str(desk_json(d, json), "delta"));
    if (strcmp(type, "agent.thought") != 0) return;
    d->n_thoughts++;
    if (utf8_valid_prefix(delta) != delta.len) d->is_utf8 = false;
    weir_buf_append_slice(&d->thoughts, delta);
}

/* The question alone; desk_say() puts messages before it. */
static inline void desk_ask(struct desk *d, const char *question)
{
    struct weir_buf text;
    weir_buf_init(&text, 1 << 20);
    weir_json_put_begin_array(&text);
    weir_json_put_begin_object(&text);
    weir_json_put_key(&text, "role");
    weir_json_put_str(&text, "user");
    weir_json_put_key(&text, "content");
    weir_json_put_str(&text, question);
    weir_json_put_end_object(&text);
    weir_json_put_end_array(&text);
    d->c.messages = desk_json(d, weir_buf_slice(&text));
    d->c.question = weir_json_text(weir_json_get_str(weir_json_first(d->c.messages), "content"));
    weir_buf_fini(&text);
}

static inline void desk_init(struct desk *d, const char *question)
{
    *d = (struct desk){.is_utf8 = true};
    d->doc = weir_json_doc_new(0);
    arena_init(&d->arena, DESK_BYTES);
    fake_clock_init(&d->clock, 1750000000000);
    weir_buf_init(&d->events, DESK_BYTES);
    weir_buf_init(&d->thoughts, DESK_BYTES);
    weir_buf_init(&d->out, DESK_BYTES);
    d->c = (struct agent_case){.turn_id = SLICE("turn_01J0000000000000000000000A"),
                               .has_biomarkers = true,
                               .data = dataset_new(),
                               .clock = &d->clock.clock,
                               .seed = 7,
                               .arena = &d->arena,
                               .output = desk_output,
                               .emit = desk_emit,
                               .user = d};
    desk_ask(d, question);
}

static inline void desk_fini(struct desk *d)
{
    dataset_free(d->c.data);
    weir_buf_fini(&d->events);
    weir_buf_fini(&d->thoughts);
    weir_buf_fini(&d->out);
    arena_fini(&d->arena);
    weir_json_doc_free(d->doc);
}

/* What a step before this one brought. */
static inline void desk_set(struct desk *d, const char *step, const char *json)
{
    size_t i = 0;
    while (i < d->n_outputs && strcmp(d->outputs[i].step, step) != 0) i++;
    if (i == d->n_outputs) d->n_outputs++;
    d->outputs[i].step = step;
    d->outputs[i].json = desk_json(d, weir_slice_of(json));
}

static inline bool desk_holds(struct weir_slice text, const char *part)
{
    return text.len > 0 && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static inline bool desk_saw(struct desk *d, const char *part)
{
    return desk_holds(weir_buf_slice(&d->events), part);
}

/* Runs a step and reads what it brought; NULL when it failed. */
static inline const struct weir_json *desk_run(struct desk *d,
                                               enum weir_status (*step)(struct agent_case *c,
                                                                        struct weir_buf *out))
{
    weir_buf_reset(&d->out);
    enum weir_status st = step(&d->c, &d->out);
    T_EQ(st, WEIR_OK);
    return st == WEIR_OK ? desk_json(d, weir_buf_slice(&d->out)) : NULL;
}
