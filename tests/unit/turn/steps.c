/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole turns on agents of the tests' own: which steps run, what they are given, what a turn says
 * in the end, and what becomes of failures and memory.
 */
#include "agent/agent.h"
#include "agent/memory.h"
#include "desk.h"

/* ---- agents ---- */

/* What the agents of a test do, and what they saw. */
static struct {
    const char *vagueness, *route, *answer, *numbers, *entries;
    enum weir_status fails; /* of the main agent */
    unsigned n_fails;       /* so often */
    pthread_mutex_t lock;
    char calls[1024];
    char memory[4096];
    bool has_memory, has_biomarkers;
    uint64_t seed;
    bool saw_main_as_step_4;
} script = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(const char *what)
{
    pthread_mutex_lock(&script.lock);
    size_t len = strlen(script.calls);
    snprintf(script.calls + len, sizeof script.calls - len, "%s ", what);
    pthread_mutex_unlock(&script.lock);
}

enum weir_status agent_classify(struct agent_case *c, struct weir_buf *out)
{
    struct weir_buf memory;
    note("classify");
    weir_buf_init(&memory, sizeof script.memory - 1);
    weir_json_put_value(&memory, c->memory);
    snprintf(script.memory, sizeof script.memory, "%.*s", (int)memory.len, memory.ptr);
    weir_buf_fini(&memory);
    script.has_memory = c->memory != NULL;
    script.has_biomarkers = c->has_biomarkers;
    script.seed = c->seed;
    weir_buf_printf(out, "{\"vagueness\":\"%s\",\"why\":\"\"}", script.vagueness);
    return WEIR_OK;
}

enum weir_status agent_route(struct agent_case *c, struct weir_buf *out)
{
    note("route");
    T_OK(c->output(c->user, "classify_vagueness") != NULL);
    T_OK(c->output(c->user, "synthesis") == NULL);
    weir_buf_append_str(out, script.route);
    return WEIR_OK;
}

enum weir_status agent_rephrase(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    note("rephrase");
    weir_buf_append_str(out, "{\"data_science\":\"the data?\",\"domain_expert\":\"the facts?\"}");
    return WEIR_OK;
}

static const char a_finding[] =
    "{\"id\":\"ds-001\",\"kind\":\"pair\",\"claim\":\"c\",\"metric\":\"x\",\"metric_y\":\"y\","
    "\"lag\":1,\"window\":\"w\",\"days\":[1,2,3]}";

enum weir_status agent_work(struct agent_case *c, const char *agent, struct weir_slice question,
                            struct weir_buf *out)
{
    bool is_main = strcmp(agent, "data_science") == 0;
    note(agent);
    c->emit(c->user, "agent.started", SLICE("{}"));
    if (is_main && script.n_fails > 0) {
        script.n_fails--;
        snprintf(c->why, sizeof c->why, "the model is out");
        return script.fails;
    }
    weir_buf_printf(out,
                    "{\"agent\":\"%s\",\"question\":\"%.*s\",\"summary\":\"\",\"findings\":[%s]}",
                    agent, (int)question.len, question.ptr, is_main ? a_finding : "");
    return WEIR_OK;
}

enum weir_status agent_reflect(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    note("reflect");
    weir_buf_append_str(out, "{\"follow_ups\":[{\"agent\":\"health_coach\",\"question\":\"\","
                             "\"result\":{\"agent\":\"health_coach\"}}]}");
    return WEIR_OK;
}

enum weir_status agent_validate(struct agent_case *c, struct weir_buf *out)
{
    const struct weir_json *main = c->output(c->user, "run_main_agent");
    note("validate");
    script.saw_main_as_step_4 =
        weir_slice_is(weir_json_text(weir_json_get_str(main, "agent")), "investigator") &&
        !c->output(c->user, "run_supporting_agents");
    weir_buf_append_str(out, "{\"findings\":[{\"id\":\"ds-001\",\"verdict\":\"validated\","
                             "\"assessment\":\"a\",\"gates\":[{\"gate\":\"bootstrap\","
                             "\"verdict\":\"passed\"}],\"critic\":{\"verdict\":\"accept\"}}],"
                             "\"fact_sheet\":[{\"claim\":\"ds-001.avg\",\"value\":7}],"
                             "\"validator\":{\"findings_total\":1,\"findings_validated\":1}}");
    return WEIR_OK;
}

enum weir_status agent_synthesize(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    note("synthesize");
    weir_buf_append_str(out, "{\"answer\":");
    weir_json_put_str(out, script.answer);
    weir_buf_append_str(out, ",\"numbers\":");
    weir_buf_append_str(out, script.numbers);
    weir_buf_append_str(out, ",\"flagged\":[\"9\"],\"removed\":[]}");
    return WEIR_OK;
}

enum weir_status agent_remember(struct agent_case *c, struct weir_buf *out)
{
    (void)c;
    note("remember");
    weir_buf_printf(out, "{\"entries\":[%s]}", script.entries);
    return WEIR_OK;
}

static void open_desk(void)
{
    desk_open(t_temp_dir(), &(struct turns_options){0});
    script.vagueness = "low";
    script.route = "{\"main\":\"data_science\",\"supporting\":[\"domain_expert\"],\"safety\":null}";
    script.answer = "It is 7.";
    script.numbers = "[{\"start\":6,\"end\":7}]";
    script.entries = "";
    script.n_fails = 0;
    script.calls[0] = 0;
}

/* ---- ways ---- */

TEST(agents_go_through_all_nine_steps)
{
    open_desk();
    run_turn(false);
    T_EQ_STR(
        weir_slice_of(script.calls),
        "classify route rephrase domain_expert data_science reflect validate synthesize remember ");
    T_OK(says(turn_text, "\"status\":\"completed\""));
    T_OK(says(turn_text,
              "\"result\":{\"answer\":\"It is 7.\",\"numbers\":[{\"start\":6,\"end\":7}],"
              "\"fact_sheet\":[{\"claim\":\"ds-001.avg\","
              "\"value\":7}],\"agents_used\":[\"data_science\",\"domain_expert\","
              "\"health_coach\"],\"validator\":{\"findings_total\":1,"
              "\"findings_validated\":1,\"findings_conditional\":0,"
              "\"findings_rejected\":0},\"cost_usd\":0,\"duration_ms\":0},\"error\":null}"));
    T_OK(says(event_text, "id: 1\nevent: turn.started\ndata: {\"turn_id\":\"turn_"));
    T_OK(says(event_text, "event: turn.completed\ndata: {\"turn_id\":\"turn_"));
    /* The same bytes in both. */
    const char *result = strstr(turn_text, "\"result\":");
    const char *error = strstr(turn_text, ",\"error\":null}");
    char bytes[TEXT_BYTES];
    snprintf(bytes, sizeof bytes, "%.*s}\n\n", (int)(error - result), result);
    T_OK(says(event_text, bytes));
    T_OK(script.has_memory && !script.has_biomarkers);
    close_desk();
}

TEST(vague_question_is_searched_in_step_four)
{
    open_desk();
    script.vagueness = "high";
    script.route = "{\"main\":\"investigator\",\"supporting\":[],\"safety\":null}";
    run_turn(false);
    T_EQ_STR(weir_slice_of(script.calls),
             "classify route rephrase investigator validate synthesize remember ");
    T_OK(script.saw_main_as_step_4);
    T_OK(says(turn_text, "\"agents_used\":[\"investigator\"]"));
    close_desk();
}

TEST(without_an_agent_there_is_only_talk)
{
    static const char *const routes[] = {
        "{\"main\":null,\"supporting\":[\"data_science\"],\"safety\":null}",
        "{\"main\":\"astrologer\",\"supporting\":[],\"safety\":null}",
        "{\"main\":\"data_science\",\"supporting\":[\"domain_expert\"],\"safety\":\"self_harm\"}",
        "{}",
    };
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        open_desk();
        script.route = routes[i];
        script.numbers = "null";
        run_turn(false);
        T_EQ_STR(weir_slice_of(script.calls), "classify route synthesize remember ");
        T_OK(says(turn_text, "\"numbers\":[],"
                             "\"fact_sheet\":[],\"agents_used\":[],"
                             "\"validator\":{\"findings_total\":0,"));
        close_desk();
    }
}

TEST(safety_comes_before_vagueness_and_an_unknown_vagueness_is_low)
{
    open_desk();
    script.vagueness = "high";
    script.route = "{\"main\":null,\"safety\":\"emergency\"}";
    run_turn(false);
    T_EQ_STR(weir_slice_of(script.calls), "classify route synthesize remember ");
    script.vagueness = "purple";
    script.route = "{\"main\":\"data_science\"}";
    script.calls[0] = 0;
    run_turn(false);
    T_OK(says(script.calls, "data_science"));
    close_desk();
}

TEST(unknown_and_repeated_supporting_agents_are_left_out)
{
    open_desk();
    script.route = "{\"main\":\"data_science\",\"supporting\":[\"data_science\",\"domain_expert\","
                   "\"nobody\",1,\"domain_expert\",\"health_coach\"]}";
    run_turn(false);
    T_EQ(count(script.calls, "data_science"), 1);
    T_EQ(count(script.calls, "domain_expert"), 1);
    T_EQ(count(script.calls, "health_coach"), 1);
    T_OK(!says(script.calls, "nobody"));
    close_desk();
}

/* ---- failures ---- */

TEST(failed_attempts_are_tried_again)
{
    open_desk();
    script.fails = WEIR_UPSTREAM;
    script.n_fails = 2;
    run_turn(true);
    T_EQ(count(script.calls, "data_science"), 3);
    T_EQ(count(script.calls, "rephrase"), 1);
    T_OK(says(turn_text, "\"status\":\"completed\""));
    close_desk();
}

TEST(turn_fails_when_the_retries_are_used_up)
{
    open_desk();
    script.fails = WEIR_UPSTREAM;
    script.n_fails = 100;
    run_turn(true);
    T_EQ(count(script.calls, "data_science"), 3);
    T_OK(says(turn_text, "\"status\":\"failed\""));
    T_OK(says(turn_text,
              "\"result\":null,\"error\":{\"code\":\"upstream_unavailable\",\"message\":\"the "
              "model is out\",\"request_id\":\"req_1\",\"docs_url\":"
              "\"/docs/errors#upstream_unavailable\"}}"));
    T_OK(says(event_text, "event: turn.failed\ndata: {\"turn_id\":\"turn_"));
    T_OK(!says(turn_text, "\"completed_at\":null"));
    close_desk();
}

TEST(codes_of_failures_are_those_that_clients_know)
{
    static const struct {
        enum weir_status status;
        const char *code;
    } rows[] = {{WEIR_UNPROCESSABLE, "\"code\":\"unprocessable\""},
                {WEIR_LIMIT, "\"code\":\"internal_error\""},
                {WEIR_INVALID, "\"code\":\"internal_error\""},
                {WEIR_CORRUPT, "\"code\":\"internal_error\""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_desk();
        script.fails = rows[i].status;
        script.n_fails = 100;
        run_turn(false);
        T_EQ(count(script.calls, "data_science"), 1); /* trying again cannot help */
        T_OK(says(turn_text, rows[i].code));
        close_desk();
    }
}

TEST(turn_without_an_answer_has_failed)
{
    open_desk();
    script.answer = "";
    run_turn(false);
    T_OK(says(turn_text, "\"status\":\"failed\""));
    T_OK(says(turn_text, "\"code\":\"internal_error\""));
    close_desk();
}

/* ---- places ---- */

TEST(places_are_given_back_by_every_end)
{
    char id[TURN_ID_LEN + 1];
    open_desk();
    for (int i = 0; i < 5; i++) {
        script.fails = WEIR_UNPROCESSABLE;
        script.n_fails = i % 2 ? 1 : 0;
        run_turn(false);
    }
    for (int i = 0; i < 3; i++) T_EQ(make(id, how_much), WEIR_OK); /* and never begun */
    T_EQ(make(id, how_much), WEIR_CONCURRENCY);
    close_desk();
}

/* ---- memory ---- */

TEST(what_a_turn_leaves_is_given_to_the_next_one)
{
    open_desk();
    script.entries =
        "{\"category\":\"goal\",\"text\":\"sleep more\",\"data\":{\"h\":8}},"
        "{\"category\":\"goal\",\"text\":\"\"},{\"category\":\"insight\",\"text\":\"b\"}";
    run_turn(false);
    script.entries = "";
    run_turn(false);
    T_EQ(count(script.memory, "\"id\":\"mem_"), 2);
    T_OK(says(script.memory, "\"category\":\"goal\",\"text\":\"sleep more\",\"data\":{\"h\":8},"
                             "\"source_turn\":\"turn_"));
    T_OK(says(script.memory, "\"category\":\"insight\",\"text\":\"b\",\"data\":null,"));
    close_desk();
}

TEST(entry_that_is_brought_again_takes_its_place)
{
    char id[MEMORY_ID_LEN + 1], entry[256];
    open_desk();
    script.entries = "{\"category\":\"goal\",\"text\":\"sleep more\"}";
    run_turn(false);
    script.entries = "";
    run_turn(false);
    snprintf(id, sizeof id, "%s", strstr(script.memory, "mem_"));
    fake_clock_advance(&desk.clock, 5000ull * 1000000);
    snprintf(entry, sizeof entry,
             "{\"id\":\"%s\",\"category\":\"goal\",\"text\":\"sleep less\"},{\"id\":"
             "\"mem_01HX2K3M4N5P6Q7R8S9T0V1W2X\",\"category\":\"goal\",\"text\":\"mine?\"}",
             id);
    script.entries = entry;
    run_turn(false);
    script.entries = "";
    run_turn(false);
    T_EQ(count(script.memory, "\"id\":\"mem_"), 2);
    T_EQ(count(script.memory, id), 1);
    T_OK(says(script.memory, "\"text\":\"sleep less\""));
    T_OK(!says(script.memory, "sleep more"));
    T_OK(!says(script.memory,
               "mem_01HX2K3M4N5P6Q7R8S9T0V1W2X")); /* the turn was given no such one */
    T_OK(says(script.memory, "\"created_at\":\"2023-11-14T22:13:20.000Z\",\"updated_at\":"
                             "\"2023-11-14T22:13:25.000Z\""));
    close_desk();
}

static char puts_seen[2][256];
static size_t n_puts;

static void see_put(void *user, struct weir_slice id, bool is_change, struct weir_slice body)
{
    (void)user;
    (void)body;
    T_OK(!is_change);
    if (n_puts < 2) snprintf(puts_seen[n_puts], sizeof puts_seen[0], "%.*s", (int)id.len, id.ptr);
    n_puts++;
}

TEST(ids_of_memory_follow_from_the_turn)
{
    struct memory_origin origin = {SLICE("turn_01HX2K3M4N5P6Q7R8S9T0V1W2X"), 1700000000000, NULL};
    struct weir_buf out;
    char first[256];
    for (int i = 0; i < 2; i++) {
        n_puts = 0;
        weir_buf_init(&out, 1 << 16);
        T_EQ(memory_complete(&out, SLICE("{\"entries\":[{\"text\":\"a\"},{\"text\":\"b\"}]}"),
                             &origin, see_put, NULL),
             WEIR_OK);
        weir_buf_fini(&out);
        T_EQ(n_puts, 2);
        T_OK(strcmp(puts_seen[0], puts_seen[1]) != 0);
        T_OK(strncmp(puts_seen[0], "mem_01HX2K3M4N", 14) == 0); /* the time is the turn's */
        if (i == 0) memcpy(first, puts_seen[0], sizeof first);
        T_EQ_STR(weir_slice_of(puts_seen[0]), first);
    }
}

/* ---- the trace ---- */

TEST(trace_tells_attempts_inputs_and_gates)
{
    char id[TURN_ID_LEN + 1];
    struct weir_buf out;
    open_desk();
    script.fails = WEIR_UPSTREAM;
    script.n_fails = 1;
    T_EQ(make(id, how_much), WEIR_OK);
    turns_begin(desk.turns, weir_slice_of(id));
    wait_ended(1, true);
    weir_buf_init(&out, 1 << 20);
    T_EQ(turn_trace(desk.store, weir_slice_of(id), false, &out), WEIR_OK);
    weir_buf_append_char(&out, 0);
    T_OK(says(out.ptr, "\"name\":\"run_main_agent\",\"number\":5,"));
    T_OK(says(out.ptr, "\"attempts\":2,\"cost_usd\":0,\"input\":{\"messages\":[{\"role\":\"user\","
                       "\"content\":\"How much?\"}],\"context\":{\"include_biomarkers\":false,"
                       "\"include_memory\":true,\"memory\":[]},\"classify_vagueness\":{"));
    T_OK(says(out.ptr, "\"gates\":[{\"finding_id\":\"ds-001\",\"gate\":\"bootstrap\","
                       "\"verdict\":\"passed\"}],\"critic\":[{\"finding_id\":\"ds-001\","
                       "\"verdict\":\"accept\"}],\"flagged\":[\"9\"],\"removed\":[]}"));
    T_OK(says(out.ptr,
              "\"agents\":[{\"agent\":\"domain_expert\",\"step\":\"run_supporting_agents\","
              "\"question\":\"the facts?\""));
    T_OK(says(out.ptr,
              "\"findings\":[{\"id\":\"ds-001\",\"kind\":\"pair\",\"claim\":\"c\",\"metric\":\"x\","
              "\"metric_y\":\"y\",\"lag\":1,\"window\":\"w\",\"verdict\":\"validated\","
              "\"assessment\":\"a\"}],\"gates\":"));
    weir_buf_fini(&out);
    weir_buf_init(&out, 1 << 20);
    T_EQ(turn_trace(desk.store, weir_slice_of(id), true, &out), WEIR_OK);
    weir_buf_append_char(&out, 0);
    T_OK(says(out.ptr, "\"attempts\":2,\"cost_usd\":0,\"error\":{"));
    T_OK(says(out.ptr, "\"metric_y\":\"y\""));
    T_OK(!says(out.ptr, "\"input\":"));
    T_OK(!says(out.ptr, "\"output\":"));
    T_OK(!says(out.ptr, "\"model_calls\":"));
    weir_buf_fini(&out);
    weir_buf_init(&out, 1 << 20);
    T_EQ(turn_trace(desk.store, SLICE("turn_01HX2K3M4N5P6Q7R8S9T0V1W2X"), true, &out),
         WEIR_NOT_FOUND);
    weir_buf_fini(&out);
    close_desk();
}
