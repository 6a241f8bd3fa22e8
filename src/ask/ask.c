/* SPDX-License-Identifier: Apache-2.0 */
/* The door of the folder: a question in, a plan or a refusal out. */
#include "ask/ask_impl.h"

/* What is there decides between readings; what is not there makes no answer, but a plan. */
static enum weir_status look_at_data(struct ask_data *out, struct dataset *d)
{
    *out = (struct ask_data){.dataset = d, .first = DAY_NONE, .today = DAY_NONE};
    enum weir_status st = dataset_metrics(d, &out->metrics, &out->n_metrics);
    if (st != WEIR_OK) return st;
    st = dataset_workouts(d, &out->workouts, &out->n_workouts);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    st = dataset_labs(d, &out->labs, &out->n_labs);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    st = dataset_span(d, &out->first, &out->today);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    out->is_empty = st == WEIR_NOT_FOUND || out->today == DAY_NONE;
    return WEIR_OK;
}

static enum weir_status read_question(struct parse *p, struct weir_slice question)
{
    struct words *words = arena_alloc(p->arena, sizeof *words);
    p->t = arena_alloc(p->arena, sizeof *p->t);
    if (!words || !p->t) return p->arena->status;
    enum weir_status st = words_read(words, question, p->arena);
    if (st == WEIR_TOO_LARGE) {
        ask_refuse(p, "The question is too long: at most %d words are read.", ASK_WORDS);
        return WEIR_OK;
    }
    if (st != WEIR_OK) return st;
    st = tokens_read(p->t, words, p);
    if (st != WEIR_OK) return st;
    bool has_words = false;
    for (size_t i = 0; i < p->t->n; i++) has_words = has_words || !is_at(p, i, S_MARK);
    if (!has_words) {
        ask_refuse(p,
                   "There is no question here. Ask for example: What was my average sleep over the "
                   "last 30 days?");
        return WEIR_OK;
    }
    if (!parse_frame(p)) return WEIR_OK;
    p->out->is_understood = build_plan(p);
    return WEIR_OK;
}

enum weir_status ask_read(struct ask_reading *out, struct weir_slice question, struct dataset *d,
                          struct arena *arena)
{
    struct ask_data data;
    *out = (struct ask_reading){0};
    plan_init(&out->plan);
    struct parse *p = arena_alloc(arena, sizeof *p);
    if (!p) return arena->status;
    *p = (struct parse){.data = &data, .out = out, .arena = arena};
    enum weir_status st = look_at_data(&data, d);
    if (st != WEIR_OK) return st;
    if (data.is_empty) {
        out->refusal = "There are no data yet: import some first.";
        return WEIR_OK;
    }
    st = read_question(p, question);
    if (st != WEIR_OK) return st;
    out->understood = out->is_understood ? explain_plan(arena, &out->plan)
                      : p->t             ? understood_so_far(p)
                                         : NULL;
    return WEIR_OK;
}

static void put_texts(struct weir_buf *out, const struct ask_reading *reading)
{
    if (reading->understood) {
        weir_json_put_key(out, "understood");
        weir_json_put_str(out, reading->understood);
    }
    if (reading->n_notes == 0) return;
    weir_json_put_key(out, "choices");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < reading->n_notes; i++) weir_json_put_str(out, reading->notes[i]);
    weir_json_put_end_array(out);
}

void ask_put(struct weir_buf *out, const struct ask_reading *reading,
             const struct plan_answer *answer)
{
    if (!reading->is_understood) {
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "unanswerable");
        weir_json_put_str(out, reading->refusal);
        put_texts(out, reading);
        weir_json_put_end_object(out);
        return;
    }
    /* The answer is an object; what was understood is put in before its end. */
    size_t from = out->len;
    plan_put_answer(out, &reading->plan, answer);
    if (weir_buf_status(out) != WEIR_OK || out->len == from || out->ptr[out->len - 1] != '}')
        return;
    out->len--;
    put_texts(out, reading);
    weir_json_put_end_object(out);
}
