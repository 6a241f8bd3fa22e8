/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that is full, or fails: runs wait, and none is lost or ends twice. */
#include "base/fault.h"
#include "desk.h"

enum { N_RUNS = 8 };

static void on_end(struct flow_step *s, const struct flow_end *end)
{
    T_OK(!end->failure);
    flow_emit(s, "end", SLICE("{}"));
}

static char text[8192];

static void work(struct flow_step *s)
{
    for (int i = 0; i < 3; i++) flow_emit(s, "work", weir_slice_of(text));
    flow_done(s, SLICE("1"));
}

static const struct step steps[] = {
    {.name = "a", .run = work}, {.name = "b", .run = work}, {.name = "c", .run = work}};
static const struct workflow w = {
    .name = "w", .steps = steps, .n_steps = 3, .keep_ms = -1, .on_end = on_end};

static struct fake_clock fake;

static void let_time_pass(struct desk *d)
{
    fake_clock_advance(&fake, UINT64_C(10) * 1000000);
    flow_wake(d->flow);
    sched_yield();
}

/* Until all have ended, or the fault was met and had time to do harm. */
static bool wait_for_trouble(struct desk *d, unsigned n_ended, enum fault_point point, unsigned nth)
{
    while (atomic_load(&desk_ended) < n_ended && fault_count(point) < nth) let_time_pass(d);
    bool was_hit = fault_count(point) >= nth;
    for (int i = 0; was_hit && i < 200 && store_is_writable(d->store) == WEIR_OK; i++)
        let_time_pass(d);
    return was_hit;
}

/* False when that will not be, for the store takes nothing any more. */
static bool let_time_pass_until(struct desk *d, unsigned n_ended)
{
    enum weir_status st = WEIR_OK;
    while (atomic_load(&desk_ended) < n_ended && st != WEIR_STORAGE) {
        let_time_pass(d);
        st = store_is_writable(d->store);
    }
    return st != WEIR_STORAGE;
}

static void expect_ends(struct desk *d, unsigned n_runs)
{
    for (unsigned i = 0; i < n_runs; i++) {
        char id[16];
        bool is_sealed = false;
        snprintf(id, sizeof id, "r%u", i);
        const char *events = desk_events(d, id, &is_sealed);
        const char *end = strstr(events, "end");
        T_OK(is_sealed && end && end[3] == '\0');
        T_EQ_STR(weir_slice_of(desk_steps(d, id)), "a:1=1 b:1=1 c:1=1");
    }
    T_EQ(desk_n_docs(d, "run"), 0);
}

/* From the nth hit on everything fails, until somebody made room. False when it was never hit. */
static bool fail_from(enum fault_point point, unsigned nth, unsigned *n_full)
{
    char folder[256];
    struct desk d = {.workflows = {&w},
                     .n_workflows = 1,
                     .n_threads = 2,
                     .clock = &fake.clock,
                     .segment_bytes = 1 << 16};
    unsigned n_runs = 0;
    fake_clock_init(&fake, 1700000000000);
    memset(text, '1', sizeof text - 1);
    snprintf(folder, sizeof folder, "%s/%d-%u", t_temp_dir(), (int)point, nth);
    desk_open(&d, folder);
    fault_arm(point, nth, FAULT_FROM);
    enum weir_status st = WEIR_OK;
    for (unsigned i = 0; i < N_RUNS && st == WEIR_OK; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%u", i);
        st = desk_add(&d, &w, id, "{}");
        if (st != WEIR_OK) break;
        n_runs++;
        T_OK(flow_begin(d.flow, weir_slice_of(id)) <= WEIR_N_STATUS);
    }
    bool was_hit = wait_for_trouble(&d, n_runs, point, nth);
    *n_full += store_is_writable(d.store) == WEIR_NO_SPACE;
    fault_disarm_all();
    st = store_settle(d.store); /* it would come by itself, within a second */
    bool has_ended = let_time_pass_until(&d, n_runs);
    if (has_ended) expect_ends(&d, n_runs);
    desk_close(&d);
    if (has_ended) return was_hit;
    /* Whatever was acknowledged goes on in the next life. What ended in the last one did so. */
    desk_open_store(&d, folder);
    size_t n_left = desk_n_docs(&d, "run");
    desk_start(&d);
    T_OK(let_time_pass_until(&d, (unsigned)n_left));
    desk_close(&d);
    desk_open_store(&d, folder);
    T_EQ(desk_n_docs(&d, "run"), 0);
    store_close(d.store);
    return true;
}

TEST(runs_wait_while_the_disk_is_full)
{
    unsigned n_full = 0, n = 1;
    while (n < 2000 && fail_from(FAULT_WRITE, n, &n_full)) n += n_full < 2 ? 1 : 1 + n / 4;
    T_OK(n > 5 && n < 2000);
}

TEST(runs_wait_for_the_next_start_when_the_store_has_failed)
{
    unsigned n_full = 0, n = 1;
    while (n < 2000 && fail_from(FAULT_SYNC, n, &n_full)) n += 1 + n / 4;
    T_OK(n > 5 && n < 2000);
    T_EQ(n_full, 0);
}
