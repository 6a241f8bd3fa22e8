/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts: failures, pauses on a clock that is moved by hand, time limits, cancelling, hooks. */
#include "desk.h"

/* What the step "try" does on each attempt, and what happened. */
static struct plan {
    unsigned n_failures; /* of the first attempts */
    struct flow_failure failure;
    bool waits;      /* until somebody resumes or it is aborted */
    bool puts;       /* a document that is new once */
    unsigned n_late; /* ends that come second to somebody */
    atomic_uint n_tried, n_ended, n_aborts, n_waiting;
    struct flow_step *_Atomic waiting;
} plan;

static void on_end(struct flow_step *s, const struct flow_end *end)
{
    char text[FLOW_MESSAGE_BYTES + 128];
    snprintf(text, sizeof text, "{\"code\":\"%s\",\"cost\":%g}",
             end->failure ? weir_status_name(end->failure->code) : "ok", end->cost_usd);
    static const int64_t wrong[] = {7, DOC_MUST_BE_NEW};
    unsigned n = atomic_fetch_add(&plan.n_ended, 1);
    if (n < plan.n_late)
        flow_put(s, (struct doc_key){SLICE("count"), SLICE("all")}, wrong[n % 2], SLICE("x"));
    flow_emit(s, end->failure ? "failed" : "completed", weir_slice_of(text));
    flow_put(s, (struct doc_key){SLICE("result"), flow_id(s)}, DOC_MUST_BE_NEW,
             weir_slice_of(text));
}

static void finish_wait(struct flow_step *s)
{
    if (flow_is_aborted(s))
        flow_fail(s, &(struct flow_failure){.code = WEIR_CANCELLED, .is_final = true});
    else flow_done(s, SLICE("1"));
}

/* Whoever aborts resumes, as an outgoing request that was given up would. */
static void abort_wait(void *user)
{
    atomic_fetch_add(&plan.n_aborts, 1);
    flow_resume(user, finish_wait);
}

static void try(struct flow_step *s)
{
    unsigned n = atomic_fetch_add(&plan.n_tried, 1) + 1;
    T_EQ(flow_attempt(s), n);
    desk_pay(s, 0.25);
    flow_emit(s, "tried", SLICE("{}"));
    if (plan.puts)
        flow_put(s, (struct doc_key){SLICE("note"), flow_id(s)}, n == 1 ? 7 : DOC_MUST_BE_NEW,
                 SLICE("x"));
    if (n <= plan.n_failures) {
        flow_fail(s, &plan.failure);
    } else if (plan.waits) {
        atomic_store(&plan.waiting, s);
        flow_wait(s, abort_wait, s);
        desk_count(&plan.n_waiting);
    } else {
        flow_done(s, SLICE("1"));
    }
    desk_tell();
}

static void after(struct flow_step *s)
{
    flow_done(s, SLICE("2"));
}

static const struct step steps[] = {
    {.name = "try", .run = try, .max_attempts = 3, .backoff_ms = 1000, .limit_ms = 60000},
    {.name = "after", .run = after},
};
static const struct workflow trial = {
    .name = "trial", .steps = steps, .n_steps = 2, .keep_ms = -1, .on_end = on_end};
static const struct workflow short_trial = {
    .name = "short", .steps = steps, .n_steps = 1, .keep_ms = -1, .on_end = on_end};

static struct fake_clock fake;

static struct desk open_desk(void)
{
    struct desk d = {.workflows = {&trial, &short_trial},
                     .n_workflows = 2,
                     .n_threads = 2,
                     .clock = &fake.clock};
    memset(&plan, 0, sizeof plan);
    fake_clock_init(&fake, 1700000000000);
    desk_open(&d, t_temp_dir());
    return d;
}

static void expect_end(struct desk *d, const char *events, const char *result)
{
    struct doc doc;
    bool is_sealed = false;
    const char *got = desk_events(d, "r1", &is_sealed);
    T_EQ_STR(weir_slice_of(got), events);
    T_OK(is_sealed);
    T_EQ(store_doc_get(d->store, (struct doc_key){SLICE("result"), SLICE("r1")}, &doc), WEIR_OK);
    T_EQ_STR(doc.body, result);
    doc_fini(&doc);
    T_EQ(desk_n_docs(d, "run"), 0);
    T_EQ(desk_n_docs(d, "run-cancel"), 0);
}

/* Waits until the run pauses, and lets the time pass. */
static void pass_until(struct desk *d, unsigned n_tried, uint64_t ms)
{
    struct flow_stats stats;
    desk_wait(&plan.n_tried, n_tried);
    do flow_stats(d->flow, &stats);
    while (stats.n_retries < n_tried);
    while (atomic_load(&plan.n_tried) == n_tried && atomic_load(&desk_ended) == 0) {
        fake_clock_advance(&fake, ms * 1000000);
        flow_wake(d->flow);
        sched_yield();
    }
}

TEST(a_step_that_fails_is_tried_again_after_a_pause)
{
    struct desk d = open_desk();
    plan.n_failures = 2;
    plan.failure = (struct flow_failure){.code = WEIR_UPSTREAM, .message = "not there"};
    desk_run(&d, &trial, "r1", "{}");
    pass_until(&d, 1, 500);
    pass_until(&d, 2, 500);
    desk_wait(&desk_ended, 1);
    expect_end(&d, "tried tried tried completed", "{\"code\":\"ok\",\"cost\":0.75}");
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r1")), "try:3=1!upstream_unavailable after:1=2");
    desk_close(&d);
}

TEST(a_step_that_fails_too_often_ends_the_run)
{
    struct desk d = open_desk();
    plan.n_failures = 9;
    plan.failure = (struct flow_failure){.code = WEIR_UPSTREAM};
    desk_run(&d, &trial, "r1", "{}");
    pass_until(&d, 1, 500);
    pass_until(&d, 2, 500);
    desk_wait(&desk_ended, 1);
    expect_end(&d, "tried tried tried failed", "{\"code\":\"upstream_unavailable\",\"cost\":0.75}");
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r1")), "try:3=!upstream_unavailable");
    desk_close(&d);
}

TEST(a_failure_that_is_final_ends_the_run_at_once)
{
    struct desk d = open_desk();
    plan.n_failures = 9;
    plan.failure = (struct flow_failure){.code = WEIR_UNPROCESSABLE, .is_final = true};
    desk_run(&d, &trial, "r1", "{}");
    desk_wait(&desk_ended, 1);
    expect_end(&d, "tried failed", "{\"code\":\"unprocessable\",\"cost\":0.25}");
    desk_close(&d);
}

TEST(no_attempt_comes_before_the_moment_that_the_failure_names)
{
    struct desk d = open_desk();
    struct flow_stats stats;
    plan.n_failures = 1;
    plan.failure = (struct flow_failure){.code = WEIR_UPSTREAM, .retry_after_ms = 30000};
    desk_run(&d, &trial, "r1", "{}");
    uint64_t began = clock_mono_ns(&fake.clock);
    pass_until(&d, 1, 100);
    desk_wait(&desk_ended, 1);
    T_OK(clock_mono_ns(&fake.clock) - began >= UINT64_C(30000) * 1000000);
    flow_stats(d.flow, &stats);
    T_EQ(stats.n_retries, 1);
    desk_close(&d);
}

TEST(an_attempt_beyond_its_limit_is_aborted_and_tried_again)
{
    struct desk d = open_desk();
    plan.waits = true;
    desk_run(&d, &trial, "r1", "{}");
    for (unsigned n = 1; n <= 3; n++) {
        desk_wait(&plan.n_waiting, n);
        while (atomic_load(&plan.n_waiting) == n && atomic_load(&desk_ended) == 0) {
            fake_clock_advance(&fake, UINT64_C(1000) * 1000000);
            flow_wake(d.flow);
            sched_yield();
        }
    }
    desk_wait(&desk_ended, 1);
    T_EQ(plan.n_aborts, 3);
    expect_end(&d, "tried tried tried failed", "{\"code\":\"request_timeout\",\"cost\":0.75}");
    desk_close(&d);
}

TEST(a_wait_is_ended_from_another_thread)
{
    struct desk d = open_desk();
    struct flow_stats stats;
    plan.waits = true;
    desk_run(&d, &trial, "r1", "{}");
    desk_wait(&plan.n_waiting, 1);
    flow_stats(d.flow, &stats);
    T_EQ(stats.n_waiting, 1);
    flow_resume(atomic_load(&plan.waiting), finish_wait);
    desk_wait(&desk_ended, 1);
    T_EQ(plan.n_aborts, 0);
    expect_end(&d, "tried completed", "{\"code\":\"ok\",\"cost\":0.25}");
    flow_stats(d.flow, &stats);
    T_EQ(stats.n_waiting, 0);
    desk_close(&d);
}

TEST(cancelling_ends_a_run_that_waits)
{
    struct desk d = open_desk();
    plan.waits = true;
    desk_run(&d, &trial, "r1", "{}");
    desk_wait(&plan.n_waiting, 1);
    T_EQ(desk_cancel(&d, "r1"), WEIR_OK);
    desk_wait(&desk_ended, 1);
    T_EQ(plan.n_aborts, 1);
    expect_end(&d, "tried failed", "{\"code\":\"cancelled\",\"cost\":0.25}");
    T_EQ(desk_cancel(&d, "r1"), WEIR_NOT_FOUND);
    T_EQ(desk_cancel(&d, "nobody"), WEIR_NOT_FOUND);
    T_EQ(desk_cancel(&d, ""), WEIR_NOT_FOUND);
    desk_close(&d);
}

TEST(cancelling_ends_a_run_that_pauses)
{
    struct desk d = open_desk();
    plan.n_failures = 1;
    plan.failure = (struct flow_failure){.code = WEIR_UPSTREAM};
    desk_run(&d, &trial, "r1", "{}");
    desk_wait(&plan.n_tried, 1);
    T_EQ(desk_cancel(&d, "r1"), WEIR_OK);
    desk_wait(&desk_ended, 1);
    expect_end(&d, "tried failed", "{\"code\":\"cancelled\",\"cost\":0.25}");
    desk_close(&d);
}

TEST(a_run_that_was_cancelled_before_it_began_ends_at_the_next_start)
{
    struct desk d = open_desk();
    T_EQ(desk_add(&d, &trial, "r1", "{}"), WEIR_OK);
    T_EQ(desk_cancel(&d, "r1"), WEIR_OK);
    flow_stop(d.flow, 1000);
    flow_free(d.flow);
    desk_start(&d);
    desk_wait(&desk_ended, 1);
    T_EQ(plan.n_tried, 0);
    expect_end(&d, "failed", "{\"code\":\"cancelled\",\"cost\":0}");
    desk_close(&d);
}

TEST(what_a_step_puts_is_refused_with_it_and_the_step_tried_again)
{
    struct desk d = open_desk();
    struct doc doc;
    plan.puts = true;
    desk_run(&d, &trial, "r1", "{}");
    pass_until(&d, 1, 500);
    desk_wait(&desk_ended, 1);
    expect_end(&d, "tried tried completed", "{\"code\":\"ok\",\"cost\":0.5}");
    T_EQ(store_doc_get(d.store, (struct doc_key){SLICE("note"), SLICE("r1")}, &doc), WEIR_OK);
    T_EQ_STR(doc.owner, "somebody");
    T_EQ(doc_n_puts(doc.version), 1);
    doc_fini(&doc);
    desk_close(&d);
}

TEST(an_end_that_is_refused_with_the_last_step_leaves_nothing_behind)
{
    struct desk d = open_desk();
    plan.puts = true;
    desk_run(&d, &short_trial, "r1", "{}");
    pass_until(&d, 1, 500);
    desk_wait(&desk_ended, 1);
    T_EQ(plan.n_ended, 2);
    expect_end(&d, "tried tried completed", "{\"code\":\"ok\",\"cost\":0.5}");
    desk_close(&d);
}

TEST(an_end_that_came_second_is_made_again_without_its_step)
{
    struct desk d = open_desk();
    plan.n_late = 2;
    struct commit *c = commit_new(0);
    commit_put(c, (struct doc_key){SLICE("count"), SLICE("all")}, DOC_MUST_BE_NEW,
               SLICE("somebody"), SLICE("x"));
    T_EQ(store_commit_wait(d.store, c).status, WEIR_OK);
    desk_run(&d, &short_trial, "r1", "{}");
    desk_wait(&desk_ended, 1);
    T_EQ(plan.n_tried, 1);
    T_EQ(plan.n_ended, 3);
    expect_end(&d, "tried completed", "{\"code\":\"ok\",\"cost\":0.25}");
    desk_close(&d);
}

TEST(a_run_that_is_stopped_goes_on_and_the_stop_is_no_crash)
{
    struct desk d = open_desk();
    plan.waits = true;
    desk_run(&d, &trial, "r1", "{}");
    desk_wait(&plan.n_waiting, 1);
    for (unsigned i = 0; i < 2 * FLOW_CRASHES; i++) {
        flow_stop(d.flow, 0);
        flow_free(d.flow);
        atomic_store(&plan.n_tried, 0); /* it is the first attempt, again and again */
        atomic_store(&plan.n_waiting, 0);
        desk_start(&d);
        desk_wait(&plan.n_waiting, 1);
    }
    flow_resume(atomic_load(&plan.waiting), finish_wait);
    desk_wait(&desk_ended, 1);
    T_EQ(desk_n_docs(&d, "run-node"), 2); /* ours, and the one that had the run */
    desk_close(&d);
}

TEST(somebody_else_who_has_the_run_keeps_us_out)
{
    struct desk d = open_desk();
    struct flow_stats stats;
    struct doc doc;
    plan.waits = true;
    desk_run(&d, &trial, "r1", "{}");
    desk_wait(&plan.n_waiting, 1);
    while (strcmp(desk_events(&d, "r1", NULL), "tried") != 0) sched_yield(); /* all is durable */
    /* Another node takes it, as recovery would. */
    struct doc_key key = {SLICE("run"), SLICE("r1")};
    T_EQ(store_doc_get(d.store, key, &doc), WEIR_OK);
    struct commit *c = commit_new(512);
    commit_put(c, key, doc.version, doc.owner, doc.body);
    T_EQ(store_commit_wait(d.store, c).status, WEIR_OK);
    doc_fini(&doc);
    flow_resume(atomic_load(&plan.waiting), finish_wait);
    do flow_stats(d.flow, &stats);
    while (stats.n_in_flight > 0);
    T_EQ(stats.n_fenced, 1);
    T_EQ(desk_n_docs(&d, "run"), 1);
    T_EQ_STR(weir_slice_of(desk_events(&d, "r1", NULL)), "tried");
    desk_close(&d);
}
