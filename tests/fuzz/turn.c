/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations of any text, messages separated by '|': every step of a turn gives JSON, the answer
 * is not empty, and each number in it has a home or is the person's own.
 *
 * Behind a byte of 1 stand the answers of models, separated by such bytes, given in their order
 * whatever is asked, and then from the first again. One that begins with
 *   {    is the object that was asked for           p    calls run_plan, with the rest as its plan
 *   [    is content as it stands                    f    calls lookup_fact for a subject
 *   !    has failed                                 else is text
 * A step may find nothing to make of such answers; then the turn ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/agent_impl.h"
#include "base/utf8.h"
#include "check/verify.h"
#include "fuzz/fuzz.h"

enum { N_DAYS = 60, ARENA_BYTES = 256 << 20, OUT_BYTES = 4 << 20, STEPS = 9 };

struct turn {
    struct agent_case c;
    struct arena arena;
    struct weir_json_doc *doc;
    struct weir_buf out;
    const char *names[STEPS];
    const struct weir_json *outputs[STEPS];
    size_t n;
    struct weir_slice answers; /* of models */
    size_t n_asked, at;
    struct model_answer answer;
    bool has_ended; /* early */
};

static void add(struct dataset *d, const char *name, double base)
{
    int32_t days[N_DAYS];
    double values[N_DAYS];
    for (int i = 0; i < N_DAYS; i++) {
        days[i] = 20200 + i;
        values[i] = base + i * 7 % 5;
    }
    struct series s = {
        .metric = metric_find(weir_slice_of(name)), .n = N_DAYS, .days = days, .values = values};
    fuzz_true("a series is added", dataset_add_series(d, &s) == WEIR_OK);
}

static struct dataset *person(void)
{
    struct dataset *d = dataset_new();
    const struct metric *own;
    add(d, "steps", 9000);
    add(d, "sleep_minutes", 420);
    add(d, "bedtime", 1380);
    add(d, "weight", 70);
    fuzz_true("a metric is added",
              dataset_add_metric(d, weir_slice_of("knee_pain"), &own) == WEIR_OK);
    return d;
}

static const struct weir_json *output(void *user, const char *step)
{
    struct turn *t = user;
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->names[i], step) == 0) return t->outputs[i];
    return NULL;
}

/* What is in the buffer is what the step brought. */
static const struct weir_json *keep(struct turn *t, const char *step)
{
    const struct weir_json *json = NULL;
    fuzz_true("a step brings JSON",
              weir_buf_status(&t->out) == WEIR_OK &&
                  weir_json_parse(t->doc, weir_buf_slice(&t->out), &json, NULL) == WEIR_OK);
    weir_buf_reset(&t->out);
    t->names[t->n] = step;
    t->outputs[t->n++] = json;
    return json;
}

/* ---- models ---- */

static struct weir_slice next_answer(struct turn *t)
{
    if (t->at >= t->answers.len) t->at = 0;
    const char *from = t->answers.ptr + t->at;
    const char *end = memchr(from, 1, t->answers.len - t->at);
    size_t len = end ? (size_t)(end - from) : t->answers.len - t->at;
    t->at += len + 1;
    return (struct weir_slice){from, len};
}

static void put_call(struct weir_buf *out, const char *name, struct weir_slice input)
{
    weir_buf_printf(out, "[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"%s\",\"input\":", name);
    weir_buf_append_slice(out, input);
    weir_buf_append_str(out, "}]");
}

static void put_content(struct weir_buf *out, struct weir_slice piece)
{
    char kind = piece.len > 0 ? piece.ptr[0] : ' ';
    struct weir_slice rest = {piece.ptr + 1, piece.len > 0 ? piece.len - 1 : 0};
    if (kind == '[') weir_buf_append_slice(out, piece);
    else if (kind == '{') put_call(out, "answer", piece);
    else if (kind == 'p') put_call(out, "run_plan", rest);
    else if (kind == 'f') {
        struct weir_buf input;
        weir_buf_init(&input, OUT_BYTES);
        weir_buf_append_str(&input, "{\"subject\":");
        weir_json_put_string(&input, rest);
        weir_buf_append_char(&input, '}');
        put_call(out, "lookup_fact", weir_buf_slice(&input));
        weir_buf_fini(&input);
    } else {
        weir_buf_append_str(out, "[{\"type\":\"text\",\"text\":");
        weir_json_put_string(out, piece);
        weir_buf_append_str(out, "}]");
    }
}

/* Answers live as long as the turn. */
static enum weir_status ask(void *user, const struct model_request *request, const char *agent,
                            const struct model_answer **answer)
{
    struct turn *t = user;
    struct weir_buf content;
    const struct weir_json *messages = NULL;
    struct weir_slice piece = next_answer(t);
    (void)agent;
    fuzz_true("messages are JSON",
              weir_json_parse(t->doc, request->messages, &messages, NULL) == WEIR_OK);
    weir_buf_init(&content, OUT_BYTES);
    put_content(&content, piece);
    char *kept = arena_alloc(&t->arena, content.len + 1);
    fuzz_true("memory", kept && weir_buf_status(&content) == WEIR_OK);
    memcpy(kept, content.ptr, content.len);
    bool has_failed = piece.len > 0 && piece.ptr[0] == '!';
    t->answer =
        (struct model_answer){.status = has_failed ? WEIR_UPSTREAM : WEIR_OK,
                              .stop = piece.len % 7 == 6 ? MODEL_STOP_LENGTH : MODEL_STOP_END,
                              .content = {kept, content.len}};
    weir_buf_fini(&content);
    *answer = &t->answer;
    t->n_asked++;
    fuzz_true("asking has an end", t->n_asked < 400);
    return WEIR_OK;
}

/* Whether a step may end so: on models, answers may be of no use. */
static bool is_fine(struct turn *t, enum weir_status st)
{
    bool is_useless = st == WEIR_UNPROCESSABLE || st == WEIR_UPSTREAM;
    if (t->answers.len > 0 && is_useless) t->has_ended = true;
    return st == WEIR_OK || t->has_ended;
}

/* ---- steps ---- */

static const struct weir_json *run(struct turn *t, const char *step,
                                   enum weir_status (*fn)(struct agent_case *c,
                                                          struct weir_buf *out))
{
    if (t->has_ended) return NULL;
    enum weir_status st = fn(&t->c, &t->out);
    bool is_good = is_fine(t, st);
    if (!is_good) fprintf(stderr, "%s: %s %s\n", step, weir_status_name(st), t->c.why);
    fuzz_true(step, is_good);
    return t->has_ended ? NULL : keep(t, step);
}

static void work(struct turn *t, struct weir_slice agent, struct weir_buf *out)
{
    char name[64] = "";
    memcpy(name, agent.ptr, agent.len < sizeof name ? agent.len : sizeof name - 1);
    struct weir_slice question = agent_text(output(t, "rephrase_per_agent"), name);
    if (!t->has_ended)
        fuzz_true("an agent works", is_fine(t, agent_work(&t->c, name, question, out)));
}

static void run_agents(struct turn *t, const struct weir_json *route)
{
    const struct weir_json *list = weir_json_get_str(route, "supporting");
    weir_json_put_begin_object(&t->out);
    for (const struct weir_json *s = weir_json_first(list); s; s = weir_json_next(s)) {
        weir_json_put_key_slice(&t->out, weir_json_text(s));
        work(t, weir_json_text(s), &t->out);
    }
    weir_json_put_end_object(&t->out);
    if (t->has_ended) return;
    keep(t, "run_supporting_agents");
    work(t, agent_text(route, "main"), &t->out);
    if (t->has_ended) return;
    keep(t, "run_main_agent");
    run(t, "reflection", agent_reflect);
    run(t, "validation_gates", agent_validate);
}

/* Texts whose numbers need no home. */
struct known {
    struct weir_slice list[256];
    size_t n;
};

static void know(struct known *k, struct weir_slice text)
{
    if (k->n < sizeof k->list / sizeof *k->list) k->list[k->n++] = text;
}

/* Windows that were looked at, whatever came out of them. */
static void know_windows(struct turn *t, struct known *k, const struct weir_json *result)
{
    const struct weir_json *f = weir_json_first(weir_json_get_str(result, "findings"));
    for (; f; f = weir_json_next(f)) {
        const struct weir_json *plan = weir_json_get_str(f, "plan");
        struct weir_slice last = agent_text(weir_json_get_str(plan, "window"), "last_days");
        char *text = arena_alloc(&t->arena, last.len + 32);
        fuzz_true("memory", text != NULL);
        snprintf(text, last.len + 32, "the last %.*s days", (int)last.len, last.ptr);
        know(k, agent_text(f, "window"));
        if (last.len > 0) know(k, weir_slice_of(text));
    }
}

static void know_all(struct turn *t, struct known *k)
{
    const struct weir_json *reflection = output(t, "reflection");
    const struct weir_json *r = weir_json_first(output(t, "run_supporting_agents"));
    for (const struct weir_json *m = weir_json_first(t->c.messages); m; m = weir_json_next(m))
        know(k, agent_text(m, "content"));
    for (; r; r = weir_json_next(r)) know_windows(t, k, r);
    know_windows(t, k, output(t, "run_main_agent"));
    r = weir_json_first(weir_json_get_str(reflection, "follow_ups"));
    for (; r; r = weir_json_next(r)) know_windows(t, k, weir_json_get_str(r, "result"));
}

static void check_answer(struct turn *t, struct weir_slice answer)
{
    struct ledger ledger = {0};
    struct verify_result result;
    struct known known = {.n = 0};
    char error[LEDGER_ERROR_BYTES];
    const struct weir_json *sheet = weir_json_get_str(output(t, "validation_gates"), "fact_sheet");
    if (sheet) fuzz_true("a sheet", ledger_read(&ledger, sheet, &t->arena, error) == WEIR_OK);
    know_all(t, &known);
    struct verify_input input = {
        .text = answer, .ledger = &ledger, .known = known.list, .n_known = known.n};
    fuzz_true("it is verified", verify_text(&result, &input, &t->arena) == WEIR_OK);
    fuzz_true("the answer is there", answer.len > 0);
    fuzz_true("each number has a home", result.n_lacking == 0);
}

/* '|' between messages; the last one is the person's. */
static void read_messages(struct turn *t, struct weir_slice text)
{
    size_t n = 1, i = 0;
    for (size_t k = 0; k < text.len; k++) n += text.ptr[k] == '|';
    weir_json_put_begin_array(&t->out);
    for (size_t at = 0; i < n; i++) {
        const char *bar = at < text.len ? memchr(text.ptr + at, '|', text.len - at) : NULL;
        size_t len = bar ? (size_t)(bar - text.ptr) - at : text.len - at;
        weir_json_put_begin_object(&t->out);
        weir_json_put_key(&t->out, "role");
        weir_json_put_str(&t->out, (n - i) % 2 == 1 ? "user" : "assistant");
        weir_json_put_key(&t->out, "content");
        weir_json_put_string(&t->out, (struct weir_slice){text.ptr + at, len});
        weir_json_put_end_object(&t->out);
        at += len + 1;
    }
    weir_json_put_end_array(&t->out);
    t->c.messages = keep(t, "messages");
    t->n = 0;
    for (const struct weir_json *m = weir_json_first(t->c.messages); m; m = weir_json_next(m))
        t->c.question = agent_text(m, "content");
    if (t->c.question.len > AGENT_QUESTION_BYTES) t->c.question.len = 0;
}

static void use_models(struct turn *t, struct weir_slice answers)
{
    t->answers = answers;
    t->c.ask = ask;
    for (size_t i = 0; i < MODEL_N_ROLES; i++) t->c.has_model[i] = true;
}

static void run_steps(struct turn *t)
{
    run(t, "classify_vagueness", agent_classify);
    const struct weir_json *route = run(t, "route", agent_route);
    struct weir_slice main = agent_text(route, "main");
    /* A search over all metrics takes too long for this. */
    if (weir_slice_is(main, "investigator")) return;
    run(t, "rephrase_per_agent", agent_rephrase);
    if (main.len > 0 && !t->has_ended) run_agents(t, route);
    const struct weir_json *last = run(t, "synthesis", agent_synthesize);
    if (!t->has_ended) check_answer(t, agent_text(last, "answer"));
    if (!t->has_ended) fuzz_true("memory", is_fine(t, agent_remember(&t->c, &t->out)));
}

static void turn(struct dataset *d, struct weir_slice text)
{
    const char *one = text.len > 0 ? memchr(text.ptr, 1, text.len) : NULL;
    size_t len = one ? (size_t)(one - text.ptr) : text.len;
    struct turn t = {.doc = weir_json_doc_new(0)};
    arena_init(&t.arena, ARENA_BYTES);
    weir_buf_init(&t.out, OUT_BYTES);
    t.c = (struct agent_case){.turn_id = weir_slice_of("turn_01J0000000000000000000000A"),
                              .has_biomarkers = true,
                              .data = d,
                              .clock = &clock_system,
                              .seed = 1,
                              .arena = &t.arena,
                              .output = output,
                              .user = &t};
    read_messages(&t, (struct weir_slice){text.ptr, len});
    if (one && len + 1 < text.len) use_models(&t, (struct weir_slice){one + 1, text.len - len - 1});
    run_steps(&t);
    weir_buf_fini(&t.out);
    arena_fini(&t.arena);
    weir_json_doc_free(t.doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dataset *d;
    struct weir_buf text;
    if (!d) d = person();
    weir_buf_init(&text, 1 << 20);
    utf8_append_repaired(&text, (struct weir_slice){(const char *)data, size});
    if (weir_buf_status(&text) == WEIR_OK) turn(d, weir_buf_slice(&text));
    weir_buf_fini(&text);
    return 0;
}
