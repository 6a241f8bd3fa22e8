/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduled prompts: when they run, and that they run once, whatever happens to clocks and stores.
 */
#include "session/jobs_impl.h"

#include "base/fault.h"

#include "play.h"

enum { MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS };

/* As turns end: the job's event goes with it. */
static void end_hook(struct flow_step *s, const struct flow_end *end)
{
    struct weir_slice job = weir_json_text(weir_json_get_str(flow_input(s), "job"));
    if (job.len > 0) T_EQ(jobs_turn_ended(s, job, end), WEIR_OK);
    play_end_hook(s, end);
}

static void tune(struct sessions *s)
{
    play_tune(s);
    s->workflow.on_end = end_hook;
}

static int64_t ms_of(const char *text)
{
    int64_t ms = 0;
    T_OK(clock_parse(weir_slice_of(text), &ms));
    return ms;
}

static void set_clock(const char *text)
{
    fake_clock_set_wall(&desk.clock, ms_of(text));
    sessions_wake(desk.sessions);
}

static void open_at(const char *text)
{
    play_set(false);
    atomic_store(&play.n_ended, 0);
    desk_tune = tune;
    fake_clock_init(&desk.clock, ms_of(text));
    snprintf(desk.folder, sizeof desk.folder, "%s", t_temp_dir());
    desk_start();
}

static void start_again(void)
{
    play_stop();
    desk_start();
}

struct made {
    char id[JOB_ID_LEN + 1], session[SESSION_LEN + 1];
};

static struct made make(const char *rest)
{
    struct made m;
    T_EQ(CALL("cron/create", "{\"text\":\"How did I sleep?\",%s}", rest), WEIR_OK);
    said("id", m.id, sizeof m.id);
    said("sessionId", m.session, sizeof m.session);
    return m;
}

static uint64_t n_fired(void)
{
    struct sessions_stats stats;
    sessions_stats(desk.sessions, &stats);
    return stats.n_cron_fired;
}

static const char *next_run(void)
{
    static char text[CLOCK_TEXT_BYTES];
    T_EQ(CALL("cron/list", "{}"), WEIR_OK);
    said("nextRunAt", text, sizeof text);
    return text;
}

static void expect_next(const char *want)
{
    T_EQ_STR(weir_slice_of(next_run()), want);
}

/* Whatever is due now has been looked at: the timer has nothing before it. */
static bool is_quiet(void)
{
    struct jobs *j = desk.sessions->jobs;
    pthread_mutex_lock(&j->lock);
    const struct heap_node *first = heap_peek(&j->timers);
    bool is =
        (!first || (int64_t)first->due > sessions_now(desk.sessions) || first->due == CRON_NEVER) &&
        list_is_empty(&j->ready) && j->n_flying == 0;
    pthread_mutex_unlock(&j->lock);
    return is;
}

static size_t n_in_memory(void)
{
    struct jobs *j = desk.sessions->jobs;
    pthread_mutex_lock(&j->lock);
    size_t n = j->jobs.len;
    pthread_mutex_unlock(&j->lock);
    return n;
}

static void expect_fired(uint64_t n)
{
    WAIT_FOR(n_fired() >= n && is_quiet());
    T_EQ(n_fired(), n);
}

TEST(a_prompt_runs_at_its_minute_and_its_session_hears_of_it)
{
    open_at("2026-01-05T10:03:20.500Z");
    struct made m = make("\"schedule\":\"*/5 * * * *\",\"name\":\"nights\"");
    T_OK(says(call_text_out, "\"name\":\"nights\""));
    T_OK(says(call_text_out, "\"timezone\":\"UTC\""));
    T_OK(says(call_text_out, "\"lastRunAt\":null"));
    T_OK(says(call_text_out, "\"createdAt\":\"2026-01-05T10:03:20.500Z\""));
    expect_next("2026-01-05T10:05:00.000Z");
    set_clock("2026-01-05T10:04:59.999Z");
    WAIT_FOR(is_quiet());
    T_EQ(n_fired(), 0);
    set_clock("2026-01-05T10:05:00.020Z");
    expect_fired(1);
    WAIT_FOR(n_events(m.session, "cron.fired") == 1);
    const char *all = look(m.session);
    T_OK(says(all, "\"text\":\"How did I sleep?\""));
    T_OK(says(all, desk_format("{\"type\":\"cron.fired\",\"jobId\":\"%s\",\"ranAt\":"
                               "\"2026-01-05T10:05:00.020Z\",\"outputPath\":null}",
                               m.id)));
    expect_next("2026-01-05T10:10:00.000Z");
    T_OK(says(call_text_out, "\"lastRunAt\":\"2026-01-05T10:05:00.020Z\""));
    desk_stop();
}

TEST(a_session_of_a_prompt_s_own_is_called_as_it_is)
{
    open_at("2026-01-05T10:03:20.500Z");
    struct made m = make("\"schedule\":\"*/5 * * * *\",\"name\":\"nights\"");
    T_OK(says(doc_text("session", m.session), "\"title\":\"nights\""));
    struct made unnamed = make("\"schedule\":\"*/5 * * * *\"");
    T_OK(says(doc_text("session", unnamed.session), "\"title\":\"How did I sleep?\""));
    desk_stop();
}

TEST(what_is_refused_is_refused_with_a_reason)
{
    static const struct {
        const char *input;
        enum weir_status st;
        const char *why;
    } rows[] = {
        {"{\"text\":\"x\"}", WEIR_BAD_FIELD, "schedule is missing"},
        {"{\"schedule\":\"@daily\"}", WEIR_BAD_FIELD, "text is missing"},
        {"{\"schedule\":\"@daily\",\"text\":\"\"}", WEIR_BAD_FIELD, "text is empty"},
        {"{\"schedule\":\"@daily\",\"text\":\" \\n \"}", WEIR_BAD_FIELD, "text is empty"},
        {"{\"schedule\":\"@daily\",\"text\":7}", WEIR_BAD_FIELD, "text must be a string"},
        {"{\"schedule\":\"@daily\",\"text\":\"x\",\"name\":\"a\\nb\"}", WEIR_BAD_FIELD,
         "name has a control character in it"},
        {"{\"schedule\":\"@daily\",\"text\":\"x\",\"name\":\"a\\u202eb\"}", WEIR_BAD_FIELD,
         "name has a control character in it"},
        {"{\"schedule\":\"@daily\",\"text\":\"x\",\"name\":\" \"}", WEIR_BAD_FIELD,
         "name is blank"},
        {"{\"schedule\":\"@daily\",\"text\":\"x\",\"when\":1}", WEIR_BAD_FIELD, "when"},
        {"{\"schedule\":\"61 * * * *\",\"text\":\"x\"}", WEIR_BAD_FIELD, "schedule: "},
        {"{\"schedule\":\"0 0 30 2 *\",\"text\":\"x\"}", WEIR_BAD_FIELD, "never comes"},
        {"{\"schedule\":\"@daily\",\"text\":\"x\",\"timezone\":\"Moon/Base\"}", WEIR_BAD_FIELD,
         "\"Moon/Base\""},
        {"{\"schedule\":\"@daily\",\"text\":\"x\",\"timezone\":\"../../etc/passwd\"}",
         WEIR_BAD_FIELD, "not known"},
        {"{\"schedule\":\"@daily\",\"text\":\"x\",\"sessionId\":\"x\"}", WEIR_NOT_FOUND, ""},
        {"{\"schedule\":\"@daily\",\"text\":\"x\",\"sessionId\":\"ses_"
         "01HX2K3M4N5P6Q7R8S9T0V1W2X\"}",
         WEIR_NOT_FOUND, ""},
    };
    open_at("2026-01-05T10:00:00.000Z");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum weir_status st = call_as("ann", "cron/create", rows[i].input);
        if (st != rows[i].st || !says(call_why, rows[i].why))
            t_fail(__FILE__, __LINE__, "%s: %s, %s", rows[i].input, weir_status_name(st), call_why);
    }
    T_EQ(n_docs("cron"), 0);
    T_EQ(n_docs("session"), 0);
    T_EQ(CALL("cron/list", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "{\"jobs\":[]}");
    T_EQ(CALL("cron/list", "{\"x\":1}"), WEIR_BAD_FIELD);
    T_EQ(CALL("cron/delete", "{}"), WEIR_BAD_FIELD);
    T_EQ(CALL("cron/delete", "{\"id\":\"a\",\"jobId\":\"a\"}"), WEIR_BAD_FIELD);
    T_EQ(CALL("cron/delete", "{\"id\":\"a\"}"), WEIR_NOT_FOUND);
    T_EQ(n_in_memory(), 0);
    desk_stop();
}

TEST(what_was_missed_happens_once)
{
    open_at("2026-01-05T10:00:30.000Z");
    struct made m = make("\"schedule\":\"*/10 * * * *\"");
    play_stop();
    fake_clock_set_wall(&desk.clock, ms_of("2026-01-08T17:03:00.000Z"));
    desk_start();
    expect_fired(1);
    expect_next("2026-01-08T17:10:00.000Z");
    /* A clock that jumps is a gap, too. */
    set_clock("2026-02-01T00:00:01.000Z");
    expect_fired(2);
    expect_next("2026-02-01T00:10:00.000Z");
    WAIT_FOR(n_events(m.session, "cron.fired") == 2);
    desk_stop();
}

TEST(a_clock_that_is_set_back_runs_nothing_again)
{
    open_at("2026-01-05T10:00:30.000Z");
    (void)make("\"schedule\":\"0 * * * *\"");
    set_clock("2026-01-05T11:00:05.000Z");
    expect_fired(1);
    set_clock("2026-01-05T10:59:00.000Z");
    WAIT_FOR(is_quiet());
    set_clock("2026-01-05T11:00:05.000Z");
    WAIT_FOR(is_quiet());
    start_again();
    WAIT_FOR(is_quiet());
    T_EQ(n_fired(), 0); /* of this process */
    expect_next("2026-01-05T12:00:00.000Z");
    set_clock("2026-01-05T12:00:00.000Z");
    expect_fired(1);
    desk_stop();
}

TEST(a_clock_that_goes_back_between_the_timer_and_the_commit_runs_nothing)
{
    open_at("2026-01-05T10:00:30.000Z");
    struct made m = make("\"schedule\":\"0 * * * *\"");
    struct jobs *j = desk.sessions->jobs;
    /* As if the timer had seen 11:00. */
    pthread_mutex_lock(&j->lock);
    job_time(j, map_get(&j->jobs, weir_slice_of(m.id)), 1);
    jobs_arm(j);
    pthread_mutex_unlock(&j->lock);
    WAIT_FOR(is_quiet());
    T_EQ(n_fired(), 0);
    set_clock("2026-01-05T11:00:00.000Z");
    expect_fired(1);
    desk_stop();
}

TEST(clocks_that_are_changed_in_spring_and_autumn_count_once)
{
    open_at("2026-03-28T12:00:00.000Z");
    (void)make("\"schedule\":\"30 2 * * *\",\"timezone\":\"Europe/Berlin\"");
    /* 02:30 is skipped: at the end of the gap, 03:00 of summer. */
    expect_next("2026-03-29T01:00:00.000Z");
    set_clock("2026-03-29T01:00:00.000Z");
    expect_fired(1);
    expect_next("2026-03-30T00:30:00.000Z");
    set_clock("2026-10-24T12:00:00.000Z");
    expect_fired(2);
    /* 02:30 comes twice: the first counts. */
    expect_next("2026-10-25T00:30:00.000Z");
    set_clock("2026-10-25T00:30:00.000Z");
    expect_fired(3);
    expect_next("2026-10-26T01:30:00.000Z");
    set_clock("2026-10-25T01:31:00.000Z");
    WAIT_FOR(is_quiet());
    T_EQ(n_fired(), 3);
    desk_stop();
}

TEST(an_hourly_prompt_goes_by_what_the_clock_shows)
{
    open_at("2026-10-25T00:10:00.000Z");
    (void)make("\"schedule\":\"30 * * * *\",\"timezone\":\"Europe/Berlin\"");
    expect_next("2026-10-25T00:30:00.000Z");
    set_clock("2026-10-25T00:30:00.000Z");
    expect_fired(1);
    expect_next("2026-10-25T01:30:00.000Z");
    desk_stop();
}

static size_t n_zones(void)
{
    return desk.sessions->jobs->zones.len;
}

TEST(only_zones_of_prompts_are_kept)
{
    static const char berlin[] = "\"schedule\":\"@daily\",\"timezone\":\"Europe/Berlin\"";
    open_at("2026-01-05T10:00:30.000Z");
    for (unsigned i = 0; i < 100; i++)
        T_EQ(CALL("cron/create",
                  "{\"text\":\"x\",\"schedule\":\"0 0 30 2 *\",\"timezone\":\"+03:%02u\"}", i % 60),
             WEIR_BAD_FIELD);
    T_EQ(CALL("cron/create", "{\"text\":\"x\",\"schedule\":\"@daily\","
                             "\"timezone\":\"Europe//Berlin\"}"),
         WEIR_BAD_FIELD);
    T_EQ(n_zones(), 0);
    struct made first = make(berlin), second = make(berlin);
    T_EQ(n_zones(), 1);
    start_again();
    T_EQ(n_zones(), 1);
    T_EQ(CALL("cron/delete", "{\"id\":\"%s\"}", first.id), WEIR_OK);
    T_EQ(n_zones(), 1);
    T_EQ(CALL("cron/delete", "{\"id\":\"%s\"}", second.id), WEIR_OK);
    T_EQ(n_zones(), 0);
    desk_stop();
}

TEST(the_server_may_have_a_zone_of_its_own)
{
    desk.options.zone = "Asia/Kolkata";
    open_at("2026-01-05T10:00:00.000Z");
    (void)make("\"schedule\":\"0 7 * * *\"");
    T_OK(says(call_text_out, "\"timezone\":\"Asia/Kolkata\""));
    expect_next("2026-01-06T01:30:00.000Z");
    desk_stop();
    desk.options.zone = NULL;
}

TEST(a_run_that_a_stop_interrupts_goes_on_and_is_not_sent_again)
{
    open_at("2026-01-05T10:00:30.000Z");
    struct made m = make("\"schedule\":\"0 * * * *\"");
    play_set(true);
    set_clock("2026-01-05T11:00:00.000Z");
    expect_fired(1);
    WAIT_FOR(play_n_held() == 1);
    T_EQ(n_events(m.session, "cron.fired"), 0);
    play_set(false);
    start_again();
    WAIT_FOR(n_events(m.session, "cron.fired") == 1);
    T_EQ(n_events(m.session, "done"), 1);
    WAIT_FOR(is_quiet());
    T_EQ(n_fired(), 0);
    T_EQ(n_docs("session_turn"), 1);
    expect_next("2026-01-05T12:00:00.000Z");
    desk_stop();
}

TEST(a_full_queue_puts_a_prompt_off_and_loses_none)
{
    open_at("2026-01-05T10:00:30.000Z");
    play_set(true);
    struct sent s = send_text(NULL, "first");
    WAIT_FOR(play_n_held() == 1);
    for (unsigned i = 0; i < SESSION_QUEUE; i++) (void)send_text(s.session, "more");
    (void)make(desk_format("\"schedule\":\"0 * * * *\",\"sessionId\":\"%s\"", s.session));
    set_clock("2026-01-05T11:00:00.000Z");
    WAIT_FOR(is_quiet());
    T_EQ(n_fired(), 0);
    expect_next("2026-01-05T11:00:00.000Z");
    play_set(false);
    T_OK(play_let_go(NULL));
    wait_idle(s.session);
    set_clock("2026-01-05T11:00:02.000Z");
    expect_fired(1);
    expect_next("2026-01-05T12:00:00.000Z");
    WAIT_FOR(n_events(s.session, "cron.fired") == 1);
    desk_stop();
}

TEST(a_prompt_that_is_removed_does_not_run)
{
    open_at("2026-01-05T10:00:30.000Z");
    struct made a = make("\"schedule\":\"0 * * * *\"");
    struct made b = make("\"schedule\":\"0 * * * *\"");
    T_EQ(call_as("bob", "cron/delete", desk_format("{\"id\":\"%s\"}", a.id)), WEIR_NOT_FOUND);
    T_EQ(CALL("cron/delete", "{\"id\":\"%s\"}", a.id), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "{\"ok\":true}");
    T_EQ(CALL("cron/delete", "{\"jobId\":\"%s\"}", a.id), WEIR_NOT_FOUND);
    set_clock("2026-01-05T11:00:00.000Z");
    expect_fired(1);
    WAIT_FOR(n_events(b.session, "cron.fired") == 1);
    T_EQ(n_events(a.session, "cron.fired"), 0);
    T_EQ(call_as("bob", "cron/list", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "{\"jobs\":[]}");
    desk_stop();
}

TEST(nobody_schedules_in_a_session_of_somebody_else)
{
    open_at("2026-01-05T10:00:30.000Z");
    struct sent s = send_text(NULL, "mine");
    T_EQ(call_as("bob", "cron/create",
                 desk_format("{\"schedule\":\"@daily\",\"text\":\"x\",\"sessionId\":\"%s\"}",
                             s.session)),
         WEIR_NOT_FOUND);
    T_EQ(n_docs("cron"), 0);
    T_EQ(n_in_memory(), 0);
    T_EQ(desk.sessions->jobs->owners.len, 0);
    desk_stop();
}

TEST(a_prompt_whose_session_is_gone_goes_when_it_is_due)
{
    open_at("2026-01-05T10:00:30.000Z");
    struct made m = make("\"schedule\":\"0 * * * *\"");
    struct commit *c = commit_new(0);
    commit_remove(c, session_key(weir_slice_of(m.session)), DOC_ANY_VERSION);
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    set_clock("2026-01-05T11:00:00.000Z");
    WAIT_FOR(n_docs("cron") == 0);
    WAIT_FOR(n_in_memory() == 0);
    T_EQ(n_fired(), 0);
    desk_stop();
}

TEST(with_a_session_its_prompts_go)
{
    open_at("2026-01-05T10:00:30.000Z");
    struct made m = make("\"schedule\":\"0 * * * *\"");
    (void)make("\"schedule\":\"0 * * * *\"");
    for (int i = 0; i < CRON_FORGET_AT_ONCE; i++)
        (void)make(desk_format("\"schedule\":\"0 * * * *\",\"sessionId\":\"%s\"", m.session));
    T_EQ(n_docs("cron"), CRON_FORGET_AT_ONCE + 2);
    T_EQ(jobs_forget_session(desk.sessions, SLICE("bob"), weir_slice_of(m.session)), WEIR_OK);
    T_EQ(n_docs("cron"), CRON_FORGET_AT_ONCE + 2);
    T_EQ(jobs_forget_session(desk.sessions, SLICE("ann"), weir_slice_of(m.session)), WEIR_OK);
    T_EQ(n_docs("cron"), 1);
    T_EQ(n_in_memory(), 1);
    desk_stop();
}

static enum weir_status put_decide(void *user, struct commit_view *view, struct commit *c)
{
    return jobs_put(desk.sessions, user, view, c);
}

TEST(what_could_not_be_made_is_told_without_making_anything)
{
    static const struct {
        const char *schedule, *zone, *text, *why; /* how it begins; empty: nothing is wrong */
    } rows[] = {
        {"@daily", "", "x", ""},
        {"@daily", "Europe/Berlin", "x", ""},
        {"nonsense", "", "x", "schedule: "},
        {"0 0 30 2 *", "", "x", "schedule \"0 0 30 2 *\" never comes"},
        {"@daily", "Moon/Sea", "x", "timezone \"Moon/Sea\" is not known"},
        {"@daily", "", " ", "text is empty"},
    };
    open_at("2026-01-05T10:00:30.000Z");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct new_job n = {.owner = SLICE("ann"),
                            .schedule = weir_slice_of(rows[i].schedule),
                            .zone = weir_slice_of(rows[i].zone),
                            .text = weir_slice_of(rows[i].text)};
        T_EQ(jobs_make_sense(desk.sessions, &n), rows[i].why[0] ? WEIR_BAD_FIELD : WEIR_OK);
        T_EQ(strncmp(n.why, rows[i].why, strlen(rows[i].why)), 0);
        T_OK(!n.job && !n.id[0]);
    }
    T_EQ(n_in_memory(), 0);
    T_EQ(desk.sessions->jobs->owners.len + desk.sessions->jobs->zones.len, 0);
    desk_stop();
}

/* As a tool does whose turn is taken up again. */
TEST(a_prompt_with_a_given_id_is_made_once)
{
    open_at("2026-01-05T10:00:30.000Z");
    struct sent s = send_text(NULL, "hello");
    for (int i = 0; i < 3; i++) {
        struct new_job n = {.owner = SLICE("ann"),
                            .session = weir_slice_of(s.session),
                            .schedule = SLICE("@hourly"),
                            .text = SLICE("x"),
                            .id = "cron_01HX2K3M4N5P6Q7R8S9T0V1W2X"};
        struct commit *c = commit_new(0);
        T_EQ(jobs_check(desk.sessions, &n), WEIR_OK);
        commit_decide(c, false, put_decide, &n);
        enum weir_status st = store_commit_wait(desk.store, c).status;
        T_EQ(st, WEIR_OK);
        jobs_made(desk.sessions, &n, st);
        if (i == 1) start_again();
    }
    T_EQ(n_in_memory(), 1);
    T_EQ(n_docs("cron"), 1);
    set_clock("2026-01-05T11:00:00.000Z");
    expect_fired(1);
    desk_stop();
}

static void check_room(unsigned n, size_t n_text)
{
    static struct new_job all[CRON_JOBS];
    static char text[CRON_PROMPT_BYTES + 1];
    memset(text, 'x', sizeof text);
    for (unsigned i = 0; i < n; i++) {
        all[i] = (struct new_job){
            .owner = SLICE("ann"), .schedule = SLICE("@hourly"), .text = slice_of(text, n_text)};
        T_EQ(jobs_check(desk.sessions, &all[i]), WEIR_OK);
    }
    T_EQ(CALL("cron/create", "{\"schedule\":\"@daily\",\"text\":\"%.*s\"}", (int)n_text, text),
         WEIR_CONCURRENCY);
    T_OK(call_why[0]);
    T_EQ(call_as("bob", "cron/create", "{\"schedule\":\"@daily\",\"text\":\"x\"}"), WEIR_OK);
    for (unsigned i = 0; i < n; i++) jobs_made(desk.sessions, &all[i], WEIR_BUSY);
    T_EQ(CALL("cron/create", "{\"schedule\":\"@daily\",\"text\":\"x\"}"), WEIR_OK);
}

TEST(a_person_has_so_many_and_no_more)
{
    open_at("2026-01-05T10:00:30.000Z");
    check_room(CRON_JOBS, 1);
    /* One is there already. */
    check_room(CRON_PROMPTS_BYTES / CRON_PROMPT_BYTES - 1, CRON_PROMPT_BYTES);
    desk_stop();
}

static void put(const char *kind, const char *id, const char *body)
{
    struct commit *c = commit_new(0);
    commit_put(c, (struct doc_key){weir_slice_of(kind), weir_slice_of(id)}, DOC_ANY_VERSION,
               SLICE("ann"), weir_slice_of(body));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
}

TEST(a_prompt_can_name_a_skill)
{
    open_at("2026-01-05T10:00:30.000Z");
    T_EQ(CALL("cron/create", "{\"schedule\":\"0 * * * *\",\"text\":\"/nights of May\"}"), WEIR_OK);
    struct made m;
    said("sessionId", m.session, sizeof m.session);
    set_clock("2026-01-05T11:00:00.000Z");
    WAIT_FOR(n_events(m.session, "cron.fired") == 1);
    T_OK(says(look(m.session), "\"text\":\"/nights of May\""));
    put("skill", "skl_1",
        "{\"name\":\"nights\",\"text\":\"How did I sleep?\",\"state\":\"accepted\","
        "\"proposedMs\":1}");
    put("skill_name", "ann/nights", "{\"skill\":\"skl_1\"}");
    set_clock("2026-01-05T12:00:00.000Z");
    WAIT_FOR(n_events(m.session, "cron.fired") == 2);
    T_OK(says(look(m.session), "\"text\":\"How did I sleep? of May\""));
    desk_stop();
}

TEST(what_cannot_be_read_rests_and_stops_nobody)
{
    open_at("2026-01-05T10:00:30.000Z");
    struct made m = make("\"schedule\":\"0 * * * *\"");
    put("cron", "cron_01HX2K3M4N5P6Q7R8S9T0V1W2X", "{");
    put("cron", "cron_01HX2K3M4N5P6Q7R8S9T0V1W2Y", "{\"session\":7}");
    put("cron", "cron_01HX2K3M4N5P6Q7R8S9T0V1W2Z",
        "{\"session\":\"ses_01HX2K3M4N5P6Q7R8S9T0V1W2X\",\"schedule\":\"@hourly\","
        "\"timezone\":\"Moon/Sea\",\"text\":\"x\",\"nextMs\":5}");
    put("cron", "x",
        "{\"session\":\"ses_01HX2K3M4N5P6Q7R8S9T0V1W2X\",\"schedule\":\"61 * * * *\","
        "\"timezone\":\"UTC\",\"text\":\"x\",\"nextMs\":5}");
    start_again();
    set_clock("2026-01-05T11:00:00.000Z");
    expect_fired(1);
    WAIT_FOR(n_events(m.session, "cron.fired") == 1);
    T_EQ(CALL("cron/list", "{}"), WEIR_OK);
    T_EQ(count(call_text_out, "\"id\":"), 3);
    T_EQ(CALL("cron/delete", "{\"id\":\"cron_01HX2K3M4N5P6Q7R8S9T0V1W2X\"}"), WEIR_OK);
    desk_stop();
}

TEST(without_memory_nothing_is_made_and_nothing_left)
{
    enum weir_status st = WEIR_NOMEM;
    open_at("2026-01-05T10:00:30.000Z");
    for (uint64_t i = 1; st == WEIR_NOMEM && i < 100; i++) {
        struct new_job n = {.owner = SLICE("ann"),
                            .schedule = SLICE("@hourly"),
                            .zone = SLICE("Europe/Berlin"),
                            .text = SLICE("x")};
        fault_arm(FAULT_ALLOC, i, FAULT_ONCE);
        st = jobs_check(desk.sessions, &n);
        fault_disarm_all();
        T_EQ(n_in_memory(), st == WEIR_OK);
        if (st == WEIR_OK) jobs_made(desk.sessions, &n, WEIR_CANCELLED);
    }
    T_EQ(st, WEIR_OK);
    T_EQ(n_in_memory(), 0);
    T_EQ(desk.sessions->jobs->owners.len, 0);
    desk_stop();
}

/* Makes prompts and removes every other one at once, until its session is gone. */
static void *make_and_remove(void *session)
{
    struct weir_buf out;
    weir_buf_init(&out, 1 << 16);
    for (int i = 0; i < 50; i++) {
        char id[JOB_ID_LEN + 1];
        weir_buf_reset(&out);
        enum weir_status st = call_into(
            "ann", "cron/create",
            desk_format("{\"schedule\":\"* * * * *\",\"text\":\"x\",\"sessionId\":\"%s\"}",
                        (const char *)session),
            &out, NULL);
        T_OK(st == WEIR_OK || st == WEIR_NOT_FOUND);
        if (st != WEIR_OK) break;
        weir_buf_append_char(&out, '\0');
        const char *at = strstr(out.ptr, "\"id\":\"");
        T_OK(at);
        snprintf(id, sizeof id, "%s", at ? at + 6 : "");
        weir_buf_reset(&out);
        if (i % 2 == 0)
            st = call_into("ann", "cron/delete", desk_format("{\"id\":\"%s\"}", id), &out, NULL);
        T_OK(st == WEIR_OK || st == WEIR_NOT_FOUND);
    }
    weir_buf_fini(&out);
    return NULL;
}

TEST(prompts_come_and_go_while_others_are_due)
{
    enum { THREADS = 4 };
    static struct sent sessions[THREADS];
    pthread_t threads[THREADS];
    open_at("2026-01-05T10:00:30.000Z");
    for (int i = 0; i < THREADS; i++) sessions[i] = send_text(NULL, "hello");
    for (int i = 0; i < THREADS; i++)
        T_EQ(pthread_create(&threads[i], NULL, make_and_remove, sessions[i].session), 0);
    for (int i = 0; i < 200; i++) {
        fake_clock_advance(&desk.clock, UINT64_C(20) * 1000 * 1000 * 1000);
        sessions_wake(desk.sessions);
        wait_1_ms();
    }
    /* One of the sessions goes, with all that is in flight. */
    T_EQ(CALL("sessions/delete", "{\"id\":\"%s\"}", sessions[0].session), WEIR_OK);
    for (int i = 0; i < THREADS; i++) (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < 5; i++) {
        fake_clock_advance(&desk.clock, UINT64_C(60) * 1000 * 1000 * 1000);
        sessions_wake(desk.sessions);
        WAIT_FOR(is_quiet());
    }
    T_EQ(n_docs("cron"), (THREADS - 1) * 25);
    T_EQ(n_in_memory(), n_docs("cron"));
    desk_stop();
}

TEST(a_storm_fires_each_once)
{
    enum { N = 1000, SESSIONS = 200 };
    static struct made jobs[N];
    open_at("2026-01-05T10:00:30.000Z");
    for (unsigned i = 0; i < N; i++)
        jobs[i] = i < SESSIONS
                      ? make("\"schedule\":\"0 11 * * *\"")
                      : make(desk_format("\"schedule\":\"0 11 * * *\",\"sessionId\":\"%s\"",
                                         jobs[i % SESSIONS].session));
    set_clock("2026-01-05T11:00:00.000Z");
    expect_fired(N);
    WAIT_FOR(atomic_load(&play.n_ended) == N);
    for (unsigned i = 0; i < SESSIONS; i++) wait_idle(jobs[i].session);
    for (unsigned i = 0; i < N; i++) T_EQ(count(look(jobs[i].session), jobs[i].id), 1);
    T_EQ(n_docs("session_turn"), N);
    expect_next("2026-01-06T11:00:00.000Z");
    desk_stop();
}
