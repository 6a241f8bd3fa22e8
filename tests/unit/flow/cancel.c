/* SPDX-License-Identifier: Apache-2.0 */
/* A run has one end, however a wish to cancel meets the natural one. */
#include "desk.h"

enum { N_STEPS = 3, N_POINTS = 2 * N_STEPS + 2, N_RACES = 200 };

/* Where somebody cancels: on_begin, before and after flow_done() of each step, on_end. */
static int wanted;
static struct flow *engine;
static struct desk_answer answer;

static void point(struct flow_step *s, int here)
{
    if (here != wanted) return;
    wanted = -1; /* once */
    flow_cancel(engine, flow_id(s), desk_on_done, &answer);
}

static void on_begin(struct flow_step *s)
{
    flow_emit(s, "begin", SLICE("{}"));
    point(s, 0);
}

static void on_end(struct flow_step *s, const struct flow_end *end)
{
    char text[64];
    snprintf(text, sizeof text, "\"%s\"",
             end->failure ? weir_status_name(end->failure->code) : "ok");
    flow_emit(s, end->failure ? "failed" : "completed", weir_slice_of(text));
    flow_put(s, (struct doc_key){SLICE("result"), flow_id(s)}, DOC_MUST_BE_NEW,
             weir_slice_of(text));
    point(s, N_POINTS - 1);
}

static void work(struct flow_step *s, int number)
{
    point(s, 2 * number - 1);
    flow_emit(s, "work", SLICE("{}"));
    flow_done(s, SLICE("1"));
    point(s, 2 * number);
}

static void one(struct flow_step *s)
{
    work(s, 1);
}

static void two(struct flow_step *s)
{
    work(s, 2);
}

static void three(struct flow_step *s)
{
    work(s, 3);
}

static const struct step steps[N_STEPS] = {
    {.name = "one", .run = one}, {.name = "two", .run = two}, {.name = "three", .run = three}};
static const struct workflow w = {.name = "w",
                                  .steps = steps,
                                  .n_steps = N_STEPS,
                                  .keep_ms = -1,
                                  .on_begin = on_begin,
                                  .on_end = on_end};

static void expect_result(struct desk *d, const char *id, enum weir_status cancelled)
{
    struct doc doc;
    bool is_sealed = false;
    const char *events = desk_events(d, id, &is_sealed);
    const char *end = strrchr(events, ' ');
    end = end ? end + 1 : events; /* one that was cancelled before it began has nothing else */
    T_OK(is_sealed);
    T_OK(cancelled == WEIR_OK || cancelled == WEIR_NOT_FOUND);
    T_EQ_STR(weir_slice_of(end), cancelled == WEIR_OK ? "failed" : "completed");
    T_EQ(strstr(events, "completed") != NULL, cancelled != WEIR_OK);
    T_EQ(store_doc_get(d->store, (struct doc_key){SLICE("result"), weir_slice_of(id)}, &doc),
         WEIR_OK);
    T_EQ_STR(doc.body, cancelled == WEIR_OK ? "\"cancelled\"" : "\"ok\"");
    doc_fini(&doc);
}

TEST(a_run_can_be_cancelled_at_every_point)
{
    struct desk d = {.workflows = {&w}, .n_workflows = 1, .n_threads = 2};
    desk_open(&d, t_temp_dir());
    engine = d.flow;
    for (int i = 0; i < N_POINTS; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%d", i);
        answer = (struct desk_answer){0};
        wanted = i;
        desk_run(&d, &w, id, "{}");
        desk_wait(&desk_ended, (unsigned)i + 1);
        desk_wait(&answer.n, 1);
        T_EQ(answer.status, WEIR_OK); /* it came before the end could be decided */
        expect_result(&d, id, answer.status);
    }
    T_EQ(desk_n_docs(&d, "run"), 0);
    T_EQ(desk_n_docs(&d, "run-cancel"), 0);
    desk_close(&d);
}

TEST(cancelling_in_a_race_with_the_end_has_one_winner)
{
    struct desk d = {.workflows = {&w}, .n_workflows = 1, .n_threads = 2};
    static struct desk_answer answers[N_RACES];
    char id[16];
    memset(answers, 0, sizeof answers);
    wanted = -1;
    desk_open(&d, t_temp_dir());
    for (int i = 0; i < N_RACES; i++) {
        snprintf(id, sizeof id, "r%d", i);
        desk_run(&d, &w, id, "{}");
        /* Another one of the last few, at whatever point it is. */
        int other = i - (int)((unsigned)i * 7 % 4);
        if (other < 0 || atomic_load(&answers[other].n) > 0 || i % 4 == 3) continue;
        snprintf(id, sizeof id, "r%d", other);
        answers[other].status = WEIR_N_STATUS;
        flow_cancel(d.flow, weir_slice_of(id), desk_on_done, &answers[other]);
        desk_wait(&answers[other].n, 1);
    }
    desk_wait(&desk_ended, N_RACES);
    for (int i = 0; i < N_RACES; i++) {
        snprintf(id, sizeof id, "r%d", i);
        bool was_asked = atomic_load(&answers[i].n) > 0;
        expect_result(&d, id, was_asked ? answers[i].status : WEIR_NOT_FOUND);
    }
    T_EQ(desk_n_docs(&d, "run"), 0);
    T_EQ(desk_n_docs(&d, "run-cancel"), 0);
    desk_close(&d);
}
