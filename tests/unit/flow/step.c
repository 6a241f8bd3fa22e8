/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel parts, many events in a row, and what is refused from a step. */
#include "desk.h"

static atomic_uint n_parts;

static void on_end(struct flow_step *s, const struct flow_end *end)
{
    char text[128];
    snprintf(text, sizeof text, "\"%s\"",
             end->failure ? weir_status_name(end->failure->code) : "ok");
    flow_emit(s, "end", weir_slice_of(text));
}

static struct desk open_desk(const struct workflow *w)
{
    struct desk d = {.workflows = {w}, .n_workflows = 1, .n_threads = 3};
    atomic_store(&n_parts, 0);
    desk_open(&d, t_temp_dir());
    return d;
}

/* ---- parts ---- */

struct sums {
    int64_t *kept[FLOW_PARTS];
    unsigned n_rounds;
};

static void first(struct flow_step *s)
{
    flow_done(s, SLICE("[1,2,3]"));
}

static void part(struct flow_step *s, size_t i)
{
    int64_t n = 0;
    struct arena *arena = flow_part_arena(s, i);
    const struct weir_json *v = weir_json_first(flow_output(s, "first"));
    for (; v; v = weir_json_next(v)) {
        int64_t one = 0;
        T_OK(weir_json_int64(v, &one));
        n += one;
    }
    int64_t *kept = arena_alloc(arena, sizeof *kept);
    *kept = n * (int64_t)(i + 1);
    ((struct sums *)flow_data(s))->kept[i] = kept;
    desk_pay(s, 0.5);
    flow_emit(s, "part", SLICE("{}"));
    flow_emit(s, "part", SLICE("{}"));
    atomic_fetch_add(&n_parts, 1);
}

static void join(struct flow_step *s)
{
    char text[64];
    int64_t sum = 0;
    struct sums *sums = flow_data(s);
    for (size_t i = 0; i < FLOW_PARTS; i++) sum += *sums->kept[i];
    if (sums->n_rounds++ == 0) {
        flow_parallel(s, FLOW_PARTS, part, join);
        return;
    }
    snprintf(text, sizeof text, "%lld", (long long)sum);
    flow_done(s, weir_slice_of(text));
}

static void many(struct flow_step *s)
{
    struct sums *sums = arena_alloc(flow_arena(s), sizeof *sums);
    sums->n_rounds = 0;
    flow_set_data(s, sums);
    flow_parallel(s, FLOW_PARTS, part, join);
}

static void nothing_to_join(struct flow_step *s)
{
    flow_done(s, SLICE("null"));
}

static void none(struct flow_step *s)
{
    flow_parallel(s, 0, part, nothing_to_join);
}

static const struct step part_steps[] = {
    {.name = "first", .run = first}, {.name = "many", .run = many}, {.name = "none", .run = none}};
static const struct workflow parts = {
    .name = "parts", .steps = part_steps, .n_steps = 3, .keep_ms = -1, .on_end = on_end};

TEST(parts_run_side_by_side_and_are_joined)
{
    struct desk d = open_desk(&parts);
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%d", i);
        desk_run(&d, &parts, id, "{}");
    }
    desk_wait(&desk_ended, 20);
    T_EQ(n_parts, 20 * 2 * FLOW_PARTS);
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r7")), "first:1=[1,2,3] many:1=816 none:1=null");
    const char *events = desk_events(&d, "r7", NULL);
    T_EQ(strlen(events), 2 * 2 * FLOW_PARTS * 5 + 3);
    desk_close(&d);
}

/* ---- events ---- */

enum { N_EVENTS = 5000 };

static void talk(struct flow_step *s)
{
    char text[64];
    for (int i = 0; i < N_EVENTS; i++) {
        snprintf(text, sizeof text, "{\"i\":%d}", i);
        flow_emit(s, "word", weir_slice_of(text));
    }
    flow_done(s, SLICE("true"));
}

static const struct step talk_steps[] = {{.name = "talk", .run = talk}};
static const struct workflow talker = {
    .name = "talk", .steps = talk_steps, .n_steps = 1, .keep_ms = -1, .on_end = on_end};

TEST(events_of_a_moment_go_in_one_commit_and_in_their_order)
{
    struct desk d = open_desk(&talker);
    struct store_stats stats;
    struct log_read read;
    uint64_t id = 1;
    desk_run(&d, &talker, "r1", "{}");
    desk_wait(&desk_ended, 1);
    while (id <= N_EVENTS) {
        store_read(d.store, SLICE("r1"), id, 1 << 20, &read);
        for (unsigned i = 0; i < read.n_chunks; i++) {
            struct weir_slice bytes = slice_of(read.chunks[i]->bytes, read.chunks[i]->len);
            for (; bytes.len > 0 && id <= N_EVENTS; id++) {
                char want[96];
                int n = snprintf(want, sizeof want, "id: %d\nevent: word\ndata: {\"i\":%d}\n\n",
                                 (int)id, (int)id - 1);
                T_EQ_SLICE(slice_of(bytes.ptr, (size_t)n), slice_of(want, (size_t)n));
                bytes = slice_from(bytes, chunk_event_length(bytes));
            }
            chunk_unref(read.chunks[i]);
        }
    }
    store_stats(d.store, &stats);
    T_EQ(stats.n_events, N_EVENTS + 1);
    T_OK(stats.n_commits < N_EVENTS / 10);
    desk_close(&d);
}

/* More than fits: the emitter waits for the disk, and nothing is lost. */
static void shout(struct flow_step *s)
{
    static char text[(1 << 18) + 3];
    memset(text, 'x', sizeof text - 1);
    text[0] = text[sizeof text - 2] = '"';
    for (int i = 0; i < 40; i++) flow_emit(s, "loud", weir_slice_of(text));
    flow_done(s, SLICE("true"));
}

static const struct step shout_steps[] = {{.name = "shout", .run = shout}};
static const struct workflow shouter = {
    .name = "shout", .steps = shout_steps, .n_steps = 1, .keep_ms = -1, .on_end = on_end};

TEST(ten_megabytes_of_events_wait_for_the_disk)
{
    struct desk d = open_desk(&shouter);
    desk_run(&d, &shouter, "r1", "{}");
    desk_wait(&desk_ended, 1);
    T_EQ(strlen(desk_events(&d, "r1", NULL)), 40 * 5 + 3);
    desk_close(&d);
}

/* ---- what is refused ---- */

static const char *bad_output, *bad_event;

static void bad(struct flow_step *s)
{
    if (bad_event) flow_emit(s, "bad", weir_slice_of(bad_event));
    flow_done(s, weir_slice_of(bad_output));
}

static const struct step bad_steps[] = {{.name = "bad", .run = bad}};
static const struct workflow bad_one = {
    .name = "bad", .steps = bad_steps, .n_steps = 1, .keep_ms = -1, .on_end = on_end};

static void expect_refused(const char *output, const char *event, const char *steps)
{
    static unsigned n;
    char id[16];
    struct desk d = open_desk(&bad_one);
    bad_output = output;
    bad_event = event;
    snprintf(id, sizeof id, "r%u", n++);
    desk_run(&d, &bad_one, id, "{}");
    desk_wait(&desk_ended, 1);
    T_EQ_STR(weir_slice_of(desk_steps(&d, id)), steps);
    T_EQ_STR(weir_slice_of(desk_events(&d, id, NULL)), "end");
    desk_close(&d);
}

TEST(an_output_that_is_not_json_is_our_mistake)
{
    expect_refused("{", NULL, "bad:1=!internal_error");
    expect_refused("", NULL, "bad:1=!internal_error");
}

TEST(an_event_of_two_lines_is_refused_and_nothing_of_it_is_seen)
{
    expect_refused("{}", "{\n}", "bad:1=!invalid_argument");
    expect_refused("{}", "", "bad:1=!invalid_argument");
}

/* Outputs of several lines are JSON as well, and are kept to the byte. */
static void lines(struct flow_step *s)
{
    flow_done(s, SLICE("{\n  \"a\": [1e2,\n 2.50]\n}\n"));
}

static void look(struct flow_step *s)
{
    const struct weir_json *v = weir_json_get_str(flow_output(s, "lines"), "a");
    T_EQ(weir_json_count(v), 2);
    T_EQ_STR(weir_json_text(weir_json_next(weir_json_first(v))), "2.50");
    flow_done(s, SLICE("0"));
}

static const struct step line_steps[] = {{.name = "lines", .run = lines},
                                         {.name = "look", .run = look}};
static const struct workflow liner = {
    .name = "lines", .steps = line_steps, .n_steps = 2, .keep_ms = -1, .on_end = on_end};

TEST(an_output_is_kept_to_the_byte)
{
    struct desk d = open_desk(&liner);
    desk_run(&d, &liner, "r1", "{}");
    desk_wait(&desk_ended, 1);
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r1")),
             "lines:1={\n  \"a\": [1e2,\n 2.50]\n}\n look:1=0");
    desk_close(&d);
}

/* ---- other logs ---- */

static void noted(struct flow_step *s)
{
    flow_append(s, SLICE("other"), "noted", SLICE("{}"));
    if (flow_attempt(s) == 1) flow_fail(s, &(struct flow_failure){.code = WEIR_IO});
    else flow_done(s, SLICE("0"));
}

static void note_the_end(struct flow_step *s, const struct flow_end *end)
{
    flow_append(s, SLICE("other"), "ended", SLICE("{}"));
    on_end(s, end);
}

static const struct step noting_steps[] = {{.name = "noted", .run = noted, .max_attempts = 2}};
static const struct workflow noting = {
    .name = "noting", .steps = noting_steps, .n_steps = 1, .keep_ms = -1, .on_end = note_the_end};

TEST(what_goes_to_another_log_goes_with_the_output)
{
    struct desk d = open_desk(&noting);
    desk_run(&d, &noting, "r1", "{}");
    desk_wait(&desk_ended, 1);
    T_EQ_STR(weir_slice_of(desk_events(&d, "other", NULL)), "noted ended");
    T_EQ_STR(weir_slice_of(desk_events(&d, "r1", NULL)), "end");
    desk_close(&d);
}
