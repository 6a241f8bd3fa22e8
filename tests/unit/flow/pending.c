/* SPDX-License-Identifier: Apache-2.0 */
/* Steps whose parts wait for answers: parts that are called again, documents of mid-step, streams.
 */
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "desk.h"

/* What the steps of a test see; those that are killed share it with the next life. */
static struct scene {
    _Atomic(struct flow_step *) step;
    atomic_uint n_passes[2], n_waits, n_aborts, n_saved, n_joined;
    atomic_bool has_answer[2];
    atomic_bool resumes_early, kills;
    atomic_int saved; /* the status */
    _Atomic double cost_usd;
    pthread_mutex_t lock;
    char text[4096]; /* that is to be streamed */
    size_t n_text;
} * scene;

static void set_scene(void)
{
    if (!scene)
        scene =
            mmap(NULL, sizeof *scene, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    T_OK(scene != MAP_FAILED);
    memset(scene, 0, sizeof *scene);
    pthread_mutex_init(&scene->lock, NULL);
    atomic_store(&scene->saved, -1);
}

static void on_saved(void *user, enum weir_status st)
{
    (void)user;
    atomic_store(&scene->saved, (int)st);
    desk_count(&scene->n_saved);
}

static void save(struct flow_step *s, const char *id, double usd)
{
    flow_save(s, &(struct flow_save){.key = {SLICE("answer"), weir_slice_of(id)},
                                     .body = SLICE("{\"answer\":1}"),
                                     .cost_usd = usd,
                                     .type = usd > 0 ? "paid" : NULL,
                                     .json = SLICE("{}"),
                                     .done = on_saved});
}

static bool next_piece(void *user, struct weir_buf *json)
{
    (void)user;
    pthread_mutex_lock(&scene->lock);
    bool has_text = scene->n_text > 0;
    if (has_text) weir_json_put_string(json, slice_of(scene->text, scene->n_text));
    scene->n_text = 0;
    pthread_mutex_unlock(&scene->lock);
    return has_text;
}

static void stream(struct flow_step *s, const char *text)
{
    pthread_mutex_lock(&scene->lock);
    memcpy(scene->text + scene->n_text, text, strlen(text));
    scene->n_text += strlen(text);
    pthread_mutex_unlock(&scene->lock);
    flow_stir(s);
}

static void on_abort(void *user)
{
    struct flow_step *s = user;
    atomic_fetch_add(&scene->n_aborts, 1);
    flow_part_resume(s, 0);
}

/* The first waits until there is an answer; the second never. */
static void part(struct flow_step *s, size_t i)
{
    T_OK(flow_part_arena(s, i)->n_bytes == 0);
    T_OK(arena_alloc(flow_part_arena(s, i), 100000) && flow_input(s));
    atomic_fetch_add(&scene->n_passes[i], 1);
    if (i > 0 || atomic_load(&scene->has_answer[i]) || flow_is_aborted(s)) return;
    flow_part_wait(s, i);
    if (atomic_load(&scene->resumes_early)) {
        atomic_store(&scene->has_answer[i], true);
        flow_part_resume(s, i);
    }
    desk_count(&scene->n_waits);
}

static void join(struct flow_step *s)
{
    atomic_fetch_add(&scene->n_joined, 1);
    scene->cost_usd = flow_cost(s);
    T_EQ(flow_number(s), 1);
    if (flow_is_aborted(s)) flow_fail(s, &(struct flow_failure){.code = WEIR_CANCELLED});
    else flow_done(s, SLICE("true"));
}

static void ask_two(struct flow_step *s)
{
    scene->step = s;
    flow_emit(s, "asked", SLICE("{}"));
    flow_set_source(s, "piece", next_piece, NULL);
    flow_on_abort(s, on_abort, s);
    flow_parallel(s, 2, part, join);
}

static void ask_one(struct flow_step *s)
{
    scene->step = s;
    flow_set_source(s, "piece", next_piece, NULL);
    flow_on_abort(s, on_abort, s);
    flow_parallel(s, 1, part, join);
}

/* It is killed, or fails, when its answer is durable; then it finds it. */
static void pay_once(struct flow_step *s)
{
    struct doc doc;
    struct doc_key key = {SLICE("answer"), flow_id(s)};
    atomic_fetch_add(&scene->n_passes[0], 1);
    if (store_doc_get(flow_store(s), key, &doc) == WEIR_OK) {
        doc_fini(&doc);
        scene->cost_usd = flow_cost(s);
        flow_done(s, SLICE("true"));
        return;
    }
    flow_emit(s, "asked", SLICE("{}"));
    char id[FLOW_ID_BYTES + 1];
    snprintf(id, sizeof id, "%.*s", (int)flow_id(s).len, flow_id(s).ptr);
    save(s, id, 0.25);
    desk_wait(&scene->n_saved, 1);
    if (atomic_load(&scene->kills)) raise(SIGKILL);
    flow_fail(s, &(struct flow_failure){.code = WEIR_UPSTREAM});
}

static const struct step two_steps[] = {{.name = "ask", .run = ask_two}};
static const struct step one_steps[] = {{.name = "ask", .run = ask_one}};
static const struct step pay_steps[] = {{.name = "pay", .run = pay_once, .max_attempts = 2}};
static const struct workflow two = {.name = "two", .steps = two_steps, .n_steps = 1, .keep_ms = -1};
static const struct workflow one = {.name = "one", .steps = one_steps, .n_steps = 1, .keep_ms = -1};
static const struct workflow pay = {.name = "pay",
                                    .steps = pay_steps,
                                    .n_steps = 1,
                                    .keep_ms = -1,
                                    .on_begin = desk_on_begin,
                                    .on_end = desk_on_end};

static void open_desk(struct desk *d, const char *folder)
{
    *d = (struct desk){.workflows = {&one, &two, &pay}, .n_workflows = 3, .n_threads = 2};
    desk_open(d, folder);
}

/* ---- parts ---- */

TEST(a_part_that_waits_is_called_again_and_no_other)
{
    struct desk d;
    set_scene();
    open_desk(&d, t_temp_dir());
    desk_run(&d, &two, "r1", "{}");
    desk_wait(&scene->n_waits, 1);
    struct flow_stats stats;
    do flow_stats(d.flow, &stats);
    while (stats.n_waiting < 1);
    T_EQ(atomic_load(&scene->n_joined), 0);
    atomic_store(&scene->has_answer[0], true);
    flow_part_resume(scene->step, 0);
    desk_wait(&desk_ended, 1);
    T_EQ(atomic_load(&scene->n_passes[0]), 2);
    T_EQ(atomic_load(&scene->n_passes[1]), 1);
    T_EQ(atomic_load(&scene->n_joined), 1);
    flow_stats(d.flow, &stats);
    T_EQ(stats.n_waiting, 0);
    desk_close(&d);
}

TEST(a_part_may_be_resumed_before_it_has_returned)
{
    struct desk d;
    set_scene();
    open_desk(&d, t_temp_dir());
    atomic_store(&scene->resumes_early, true);
    desk_run(&d, &one, "r1", "{}");
    desk_wait(&desk_ended, 1);
    T_EQ(atomic_load(&scene->n_passes[0]), 2);
    desk_close(&d);
}

static void cancel_while_waiting(const struct workflow *w)
{
    struct desk d;
    set_scene();
    open_desk(&d, t_temp_dir());
    desk_run(&d, w, "r1", "{}");
    desk_wait(&scene->n_waits, 1);
    T_EQ(desk_cancel(&d, "r1"), WEIR_OK);
    desk_wait(&desk_ended, 1);
    T_EQ(atomic_load(&scene->n_aborts), 1);
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r1")), "");
    desk_close(&d);
}

TEST(a_part_that_waits_is_told_of_a_cancel)
{
    cancel_while_waiting(&one);
}

TEST(one_of_several_parts_that_waits_is_told_of_a_cancel)
{
    cancel_while_waiting(&two);
}

TEST(parts_that_wait_are_told_of_a_stop_and_go_on_later)
{
    struct desk d;
    set_scene();
    open_desk(&d, t_temp_dir());
    desk_run(&d, &one, "r1", "{}");
    desk_wait(&scene->n_waits, 1);
    flow_stop(d.flow, 100);
    flow_free(d.flow);
    T_EQ(atomic_load(&scene->n_aborts), 1);
    T_EQ(atomic_load(&desk_ended), 0);
    atomic_store(&scene->has_answer[0], true);
    desk_start(&d);
    desk_wait(&desk_ended, 1);
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r1")), "ask:1=true");
    desk_close(&d);
}

/* ---- what is saved ---- */

TEST(what_is_saved_in_mid_step_is_there_when_its_saver_is_told)
{
    struct desk d;
    struct doc doc;
    set_scene();
    open_desk(&d, t_temp_dir());
    desk_run(&d, &one, "r1", "{}");
    desk_wait(&scene->n_waits, 1);
    stream(scene->step, "before");
    save(scene->step, "r1", 0.5);
    desk_wait(&scene->n_saved, 1);
    T_EQ(atomic_load(&scene->saved), WEIR_OK);
    T_EQ(store_doc_get(d.store, (struct doc_key){SLICE("answer"), SLICE("r1")}, &doc), WEIR_OK);
    T_EQ_STR(doc.owner, "somebody");
    doc_fini(&doc);
    T_EQ(store_doc_get(d.store, (struct doc_key){SLICE("run"), SLICE("r1")}, &doc), WEIR_OK);
    T_OK(memmem(doc.body.ptr, doc.body.len, "\"cost_usd\":0.5,\"step_usd\":0.5", 29));
    doc_fini(&doc);
    T_EQ_STR(weir_slice_of(desk_events(&d, "r1", NULL)), "piece paid");
    atomic_store(&scene->has_answer[0], true);
    flow_part_resume(scene->step, 0);
    desk_wait(&desk_ended, 1);
    T_OK(scene->cost_usd == 0.5);
    desk_close(&d);
}

/* In a process of its own; true when it was killed. */
static bool live(const char *folder)
{
    pid_t child = fork();
    if (child == 0) {
        struct desk d;
        struct doc doc;
        struct doc_key key = {SLICE("run-input"), SLICE("r1")};
        open_desk(&d, folder);
        if (store_doc_get(d.store, key, &doc) != WEIR_OK) desk_run(&d, &pay, "r1", "{}");
        desk_wait(&desk_ended, 1);
        desk_close(&d);
        _exit(0);
    }
    int status = 0;
    T_EQ(waitpid(child, &status, 0), child);
    T_OK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

TEST(what_was_saved_is_paid_once_over_a_crash)
{
    struct desk d;
    set_scene();
    const char *folder = t_temp_dir();
    atomic_store(&scene->kills, true);
    T_OK(live(folder));
    T_OK(!live(folder));
    T_EQ(atomic_load(&scene->n_passes[0]), 2);
    T_OK(scene->cost_usd == 0.25);
    open_desk(&d, folder);
    T_EQ_STR(weir_slice_of(desk_events(&d, "r1", NULL)), "begin asked paid end");
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r1")), "pay:2=true");
    desk_close(&d);
}

TEST(what_was_saved_is_paid_once_over_a_failure)
{
    struct desk d;
    set_scene();
    open_desk(&d, t_temp_dir());
    desk_run(&d, &pay, "r1", "{}");
    desk_wait(&desk_ended, 1);
    T_OK(scene->cost_usd == 0.25);
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r1")), "pay:2=true!upstream_unavailable");
    desk_close(&d);
}

TEST(what_cannot_be_saved_is_told_and_fails_the_attempt)
{
    struct desk d;
    set_scene();
    open_desk(&d, t_temp_dir());
    desk_run(&d, &one, "r1", "{}");
    desk_wait(&scene->n_waits, 1);
    flow_save(scene->step,
              &(struct flow_save){.body = SLICE("{}"), .done = on_saved}); /* without a name */
    desk_wait(&scene->n_saved, 1);
    T_EQ(atomic_load(&scene->saved), WEIR_INVALID);
    atomic_store(&scene->has_answer[0], true);
    flow_part_resume(scene->step, 0);
    desk_wait(&desk_ended, 1);
    T_EQ_STR(weir_slice_of(desk_steps(&d, "r1")), "ask:1=!invalid_argument");
    desk_close(&d);
}

/* ---- streams ---- */

static char texts[1 << 16];

/* The texts of all pieces, one behind the other. */
static size_t read_pieces(struct desk *d, size_t *n)
{
    struct log_read read;
    size_t len = 0;
    *n = 0;
    store_read(d->store, SLICE("r1"), 1, 1 << 20, &read);
    for (unsigned i = 0; i < read.n_chunks; i++) {
        struct weir_slice bytes = slice_of(read.chunks[i]->bytes, read.chunks[i]->len);
        for (const char *at; (at = memmem(bytes.ptr, bytes.len, "data: \"", 7)); ++*n) {
            bytes = slice_from(bytes, (size_t)(at - bytes.ptr) + 7);
            size_t end = (size_t)((const char *)memchr(bytes.ptr, '"', bytes.len) - bytes.ptr);
            memcpy(texts + len, bytes.ptr, end);
            len += end;
        }
        chunk_unref(read.chunks[i]);
    }
    return len;
}

TEST(a_stream_is_whole_and_in_order_however_it_is_merged)
{
    struct desk d;
    char piece[16];
    size_t n_pieces, len = 0;
    enum { N_PIECES = 2000 };
    static char want[N_PIECES * 8];
    set_scene();
    open_desk(&d, t_temp_dir());
    desk_run(&d, &one, "r1", "{}");
    desk_wait(&scene->n_waits, 1);
    for (int i = 0; i < N_PIECES; i++) {
        snprintf(piece, sizeof piece, "%d ", i);
        memcpy(want + len, piece, strlen(piece));
        len += strlen(piece);
        /* The source of the test has little room; who streams does not wait, so it may be full. */
        pthread_mutex_lock(&scene->lock);
        bool is_full = scene->n_text + sizeof piece > sizeof scene->text;
        pthread_mutex_unlock(&scene->lock);
        if (is_full) save(scene->step, "r1", 0);
        stream(scene->step, piece);
    }
    atomic_store(&scene->has_answer[0], true);
    flow_part_resume(scene->step, 0);
    desk_wait(&desk_ended, 1);
    T_EQ_SLICE(slice_of(texts, read_pieces(&d, &n_pieces)), slice_of(want, len));
    printf("%d pieces in %zu events\n", N_PIECES, n_pieces);
    desk_close(&d);
}

/* ---- memory ---- */

enum { N_RUNS = 5000, RUN_BYTES = 4096 };

TEST(a_part_that_waits_costs_little_memory)
{
    struct desk d;
    char id[16];
    struct flow_stats stats;
    set_scene();
    open_desk(&d, t_temp_dir());
    for (int i = 0; i < N_RUNS; i++) {
        snprintf(id, sizeof id, "r%d", i);
        T_EQ(desk_add(&d, &one, id, "{}"), WEIR_OK);
    }
    T_EQ(store_settle(d.store), WEIR_OK);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < N_RUNS; i++) {
        snprintf(id, sizeof id, "r%d", i);
        T_EQ(flow_begin(d.flow, weir_slice_of(id)), WEIR_OK);
    }
    do flow_stats(d.flow, &stats);
    while (stats.n_waiting < N_RUNS || stats.n_running > 0);
    T_EQ(store_settle(d.store), WEIR_OK);
    size_t after = mallinfo2().uordblks;
    printf("%zu bytes for each part that waits\n", (after - before) / N_RUNS);
    T_OK(after < before || (after - before) / N_RUNS < RUN_BYTES);
    flow_stop(d.flow, 0);
    flow_free(d.flow);
    store_close(d.store);
}
