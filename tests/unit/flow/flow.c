/* SPDX-License-Identifier: Apache-2.0 */
/* Two tiny workflows that know nothing of health: what runs bring, and in which order. */
#include "flow/flow.h"

#include "desk.h"

static void emit(struct flow_step *s, const char *type)
{
    flow_emit(s, type, SLICE("{}"));
}

static int64_t number(const struct weir_json *v, const char *key)
{
    int64_t n = -1;
    return weir_json_int64(weir_json_get_str(v, key), &n) ? n : -1;
}

static void done_with(struct flow_step *s, int64_t n)
{
    char text[64];
    snprintf(text, sizeof text, "{\"n\":%lld}", (long long)n);
    flow_done(s, weir_slice_of(text));
}

/* ---- sums: add one, double, take away three when it is even ---- */

static void begins(struct flow_step *s)
{
    emit(s, "begin");
}

static void ends(struct flow_step *s, const struct flow_end *end)
{
    char text[128];
    const struct weir_json *last = flow_output(s, "less");
    if (!last) last = flow_output(s, "twice");
    snprintf(text, sizeof text, "{\"n\":%lld,\"code\":\"%s\"}", (long long)number(last, "n"),
             end->failure ? weir_status_name(end->failure->code) : "ok");
    flow_emit(s, end->failure ? "failed" : "completed", weir_slice_of(text));
    flow_put(s, (struct doc_key){SLICE("result"), flow_id(s)}, DOC_MUST_BE_NEW,
             weir_slice_of(text));
}

static void plus_one(struct flow_step *s)
{
    emit(s, "plus.a");
    emit(s, "plus.b");
    done_with(s, number(flow_input(s), "n") + 1);
}

static void twice(struct flow_step *s)
{
    emit(s, "twice");
    done_with(s, number(flow_output(s, "plus"), "n") * 2);
}

static void less(struct flow_step *s)
{
    T_EQ_STR(flow_owner(s), "somebody");
    T_EQ(flow_attempt(s), 1);
    flow_put(s, (struct doc_key){SLICE("note"), flow_id(s)}, DOC_MUST_BE_NEW, SLICE("less"));
    done_with(s, number(flow_output(s, "twice"), "n") - 3);
}

static bool is_wanted(struct flow_step *s)
{
    return number(flow_input(s), "less") > 0;
}

static const struct step sum_steps[] = {
    {.name = "plus", .run = plus_one},
    {.name = "twice", .run = twice},
    {.name = "less", .run = less, .applies = is_wanted},
};
static const struct workflow sums = {.name = "sums",
                                     .steps = sum_steps,
                                     .n_steps = 3,
                                     .keep_ms = -1,
                                     .on_begin = begins,
                                     .on_end = ends};

/* ---- one step that says what it was given ---- */

static void say(struct flow_step *s)
{
    struct weir_buf text;
    weir_buf_init(&text, 1024);
    weir_json_put_value(&text, flow_input(s));
    T_OK(strcmp(flow_user(s), "mine") == 0);
    flow_emit(s, "said", weir_buf_slice(&text));
    flow_done(s, weir_buf_slice(&text));
    weir_buf_fini(&text);
}

static const struct step echo_steps[] = {{.name = "say", .run = say}};
static char echo_user[] = "mine";
static const struct workflow echo = {
    .name = "echo", .steps = echo_steps, .n_steps = 1, .keep_ms = -1, .user = echo_user};

static struct desk desk_of_two(void)
{
    return (struct desk){.workflows = {&sums, &echo}, .n_workflows = 2, .n_threads = 2};
}

static void expect_doc(struct desk *d, const char *kind, const char *id, const char *want)
{
    struct doc doc;
    enum weir_status st =
        store_doc_get(d->store, (struct doc_key){weir_slice_of(kind), weir_slice_of(id)}, &doc);
    T_EQ(st, want ? WEIR_OK : WEIR_NOT_FOUND);
    if (want && st == WEIR_OK) T_EQ_STR(doc.body, want);
    doc_fini(&doc);
}

TEST(a_run_goes_through_its_steps_and_ends)
{
    struct desk d = desk_of_two();
    bool is_sealed = false;
    desk_open(&d, t_temp_dir());
    desk_run(&d, &sums, "r1", "{\"n\":20,\"less\":1}");
    desk_wait(&desk_ended, 1);
    T_OK(strcmp(desk_events(&d, "r1", &is_sealed), "begin plus.a plus.b twice completed") == 0);
    T_OK(is_sealed);
    T_OK(strcmp(desk_steps(&d, "r1"), "plus:1={\"n\":21} twice:1={\"n\":42} less:1={\"n\":39}") ==
         0);
    expect_doc(&d, "result", "r1", "{\"n\":39,\"code\":\"ok\"}");
    expect_doc(&d, "note", "r1", "less");
    expect_doc(&d, "run", "r1", NULL);
    T_EQ(desk_n_docs(&d, "run"), 0);
    desk_close(&d);
}

TEST(a_step_that_does_not_apply_is_left_out)
{
    struct desk d = desk_of_two();
    desk_open(&d, t_temp_dir());
    desk_run(&d, &sums, "r1", "{\"n\":1}");
    desk_wait(&desk_ended, 1);
    T_OK(strcmp(desk_steps(&d, "r1"), "plus:1={\"n\":2} twice:1={\"n\":4}") == 0);
    expect_doc(&d, "result", "r1", "{\"n\":4,\"code\":\"ok\"}");
    desk_close(&d);
}

TEST(two_workflows_run_side_by_side)
{
    struct desk d = desk_of_two();
    char id[16];
    struct flow_stats stats;
    desk_open(&d, t_temp_dir());
    for (int i = 0; i < 200; i++) {
        snprintf(id, sizeof id, "r%d", i);
        desk_run(&d, i % 2 ? &sums : &echo, id, "{\"n\":1}");
    }
    desk_wait(&desk_ended, 200);
    for (int i = 0; i < 200; i++) {
        snprintf(id, sizeof id, "r%d", i);
        T_OK(strcmp(desk_events(&d, id, NULL),
                    i % 2 ? "begin plus.a plus.b twice completed" : "said") == 0);
    }
    flow_stop(d.flow, 10000);
    flow_stats(d.flow, &stats);
    T_EQ(stats.n_completed, 200);
    T_EQ(stats.n_begun, 200);
    T_EQ(stats.n_in_flight, 0);
    desk_close(&d);
}

TEST(a_run_is_known_once)
{
    struct desk d = desk_of_two();
    desk_open(&d, t_temp_dir());
    T_EQ(desk_add(&d, &echo, "r1", "{}"), WEIR_OK);
    T_EQ(desk_add(&d, &echo, "r1", "{}"), WEIR_EXISTS);
    for (int i = 0; i < 10; i++) T_EQ(flow_begin(d.flow, SLICE("r1")), WEIR_OK);
    desk_wait(&desk_ended, 1);
    T_EQ(desk_add(&d, &echo, "r1", "{}"), WEIR_EXISTS); /* its input is there for ever */
    T_OK(strcmp(desk_events(&d, "r1", NULL), "said") == 0);
    T_EQ(flow_begin(d.flow, SLICE("r1")), WEIR_OK); /* nothing is there to begin */
    desk_close(&d);
}

TEST(runs_that_nobody_began_begin_at_the_next_start)
{
    struct desk d = desk_of_two();
    const char *folder = t_temp_dir();
    desk_open(&d, folder);
    T_EQ(desk_add(&d, &sums, "r1", "{\"n\":3}"), WEIR_OK);
    desk_close(&d);
    desk_open(&d, folder);
    desk_wait(&desk_ended, 1);
    T_OK(strcmp(desk_steps(&d, "r1"), "plus:1={\"n\":4} twice:1={\"n\":8}") == 0);
    T_OK(strcmp(desk_events(&d, "r1", NULL), "begin plus.a plus.b twice completed") == 0);
    desk_close(&d);
}

/* ---- runs that share a log ---- */

static atomic_uint diary_ended;

static void write_diary(struct flow_step *s)
{
    flow_emit(s, NULL, SLICE("{\"type\":\"dear\"}"));
    flow_done(s, SLICE("{}"));
}

static void close_diary(struct flow_step *s, const struct flow_end *end)
{
    (void)end;
    flow_emit(s, NULL, SLICE("{\"type\":\"yours\"}"));
    desk_count(&diary_ended);
}

static const struct step diary_steps[] = {{.name = "write", .run = write_diary}};
static const struct workflow diary = {.name = "diary",
                                      .steps = diary_steps,
                                      .n_steps = 1,
                                      .keep_ms = -1,
                                      .has_open_log = true,
                                      .on_end = close_diary};

static void begin_diary(struct desk *d, const char *id)
{
    struct commit *c = commit_new(1024);
    T_EQ(flow_add_run(c,
                      &(struct flow_new_run){.workflow = &diary,
                                             .id = weir_slice_of(id),
                                             .owner = SLICE("somebody"),
                                             .log = SLICE("diary"),
                                             .input = SLICE("{}")},
                      0),
         WEIR_OK);
    T_EQ(store_commit_wait(d->store, c).status, WEIR_OK);
    T_EQ(flow_begin(d->flow, weir_slice_of(id)), WEIR_OK);
}

TEST(runs_can_share_a_log_that_goes_on)
{
    struct desk d = {.workflows = {&diary}, .n_workflows = 1, .n_threads = 1};
    struct log_read read;
    desk_open(&d, t_temp_dir());
    begin_diary(&d, "d1");
    desk_wait(&diary_ended, 1);
    begin_diary(&d, "d2");
    desk_wait(&diary_ended, 2);
    flow_stop(d.flow, 10000);
    store_read(d.store, SLICE("diary"), 1, 4096, &read);
    T_EQ(read.status, WEIR_OK);
    T_OK(!read.state.is_sealed);
    T_EQ(read.state.last, 4);
    T_OK(read.n_chunks > 0);
    T_EQ_STR(chunk_up_to(read.chunks[0], 1), "id: 1\ndata: {\"type\":\"dear\"}\n\n");
    for (unsigned i = 0; i < read.n_chunks; i++) chunk_unref(read.chunks[i]);
    desk_close(&d);
}
