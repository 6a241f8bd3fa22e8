/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The law of facts: all that was imported is a set. Any order, any batches, any repetition, killed
 * anywhere and done again: the same documents, byte for byte.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/buf.h>

#include "base/fault.h"
#include "base/slice.h"
#include "data/series.h"
#include "t.h"

enum { N_FACTS = 600, N_SOURCES = 5 };

static const struct source sources[N_SOURCES] = {{{"Watch", 5}, SOURCE_WATCH},
                                                 {{"Phone", 5}, SOURCE_PHONE},
                                                 {{"Band", 4}, SOURCE_WATCH},
                                                 {{"Typed", 5}, SOURCE_MANUAL},
                                                 {{"Watch", 5}, SOURCE_APP}};

enum what { A_SAMPLE, A_DAY_VALUE, A_STAGE, A_SLEEP, A_WORKOUT, A_LAB };

struct any_fact {
    enum what what;
    struct moment exported; /* at 0: not known */
    struct sample sample;
    struct day_value day_value;
    struct stage stage;
    struct sleep sleep;
    struct workout workout;
    struct lab lab;
};

static uint64_t below(uint64_t n)
{
    return t_random() % n;
}

static struct moment random_moment(void)
{
    static const int32_t hours[] = {-5, -4, 9, 0, 2};
    /* Five days around New Year: months and years have edges. */
    int64_t first = (int64_t)day_from_civil(2024, 12, 29) * DAY_SECONDS;
    return (struct moment){first + (int64_t)below(5 * 144) * 600, hours[below(5)] * 3600};
}

static struct moment later(struct moment m, uint64_t most)
{
    m.at += (int64_t)below(most / 600) * 600;
    return m;
}

static double maybe(double v)
{
    return below(3) == 0 ? NAN : v;
}

static struct sleep random_sleep(struct source source)
{
    struct moment start = random_moment(), end = later(start, 9 * 3600);
    return (struct sleep){.start = start,
                          .end = end,
                          .day = day_of_moment(end.at, end.offset),
                          .asleep = maybe((double)below(500)),
                          .in_bed = maybe((double)below(500)),
                          .awake = maybe((double)below(100)),
                          .light = maybe((double)below(100)),
                          .deep = maybe((double)below(100)),
                          .rem = maybe((double)below(100)),
                          .efficiency = maybe((double)below(100)),
                          .latency = maybe((double)below(30)),
                          .source = source};
}

static struct workout random_workout(struct source source)
{
    struct moment start = random_moment();
    return (struct workout){.activity = activity_at(below(3)),
                            .label = below(2) > 0 ? SLICE("a") : SLICE("b"),
                            .start = start,
                            .day = day_of_moment(start.at, start.offset),
                            .minutes = maybe(30),
                            .km = maybe((double)below(10)),
                            .kcal = maybe((double)below(300)),
                            .avg_hr = NAN,
                            .max_hr = NAN,
                            .steps = NAN,
                            .ascent_m = maybe(3.25),
                            .source = source};
}

static struct any_fact random_fact(void)
{
    static const char *const names[] = {"steps",         "heart_rate",     "weight",
                                        "active_energy", "resting_energy", "total_energy",
                                        "water",         "bedtime",        "max_heart_rate"};
    struct source source = sources[below(N_SOURCES)];
    struct any_fact f = {.what = (enum what)(below(12) < 6 ? A_SAMPLE : below(6))};
    if (below(4) == 0) f.exported = random_moment();
    const struct metric *m = metric_find(weir_slice_of(names[below(9)]));
    struct moment start = random_moment();
    f.sample = (struct sample){m, start, below(3) > 0 ? later(start, 7200) : start,
                               (double)below(2000) / (below(2) > 0 ? 1 : 7), source};
    f.day_value = (struct day_value){.metric = below(5) > 0 ? m : NULL,
                                     .name = below(2) > 0 ? SLICE("Mood") : SLICE("pages read"),
                                     .day = day_of_moment(start.at, 0),
                                     .value = (double)below(20) * 100,
                                     .is_partial = below(3) == 0,
                                     .source = source};
    f.stage = (struct stage){(enum sleep_stage)below(6), start, later(start, 7200), source};
    f.stage.end.at += 60;
    f.sleep = random_sleep(source);
    f.workout = random_workout(source);
    f.lab = (struct lab){.analyte = below(2) > 0 ? analyte_at(below(3)) : NULL,
                         .label = SLICE("x"),
                         .day = day_of_moment(start.at, 0),
                         .value = (double)below(5),
                         .printed = SLICE("5"),
                         .source = source};
    return f;
}

static enum weir_status hand_over(struct facts *facts, const struct any_fact *f)
{
    struct fact_sink sink = facts_sink(facts);
    facts_next_file(facts);
    enum weir_status st = WEIR_OK;
    if (f->exported.at != 0) st = sink.exported(sink.user, f->exported);
    if (st != WEIR_OK) return st;
    switch (f->what) {
    case A_SAMPLE: return sink.sample(sink.user, &f->sample);
    case A_DAY_VALUE: return sink.day_value(sink.user, &f->day_value);
    case A_STAGE: return sink.stage(sink.user, &f->stage);
    case A_SLEEP: return sink.sleep(sink.user, &f->sleep);
    case A_WORKOUT: return sink.workout(sink.user, &f->workout);
    case A_LAB: return sink.lab(sink.user, &f->lab);
    }
    return WEIR_OK;
}

/* ---- stores ---- */

static const char *folder_of(const char *name)
{
    static char folder[512];
    snprintf(folder, sizeof folder, "%s/%s", t_temp_dir(), name);
    return folder;
}

static struct store *open_with(const char *name, const struct store_options *options)
{
    struct store *s = NULL;
    struct store_error error;
    T_EQ(store_open(&s, folder_of(name), options, &error), WEIR_OK);
    return s;
}

static struct store *open_store(const char *name)
{
    static const struct store_options small = {.durability = STORE_DURABLE_NORMAL,
                                               .segment_bytes = 1 << 20};
    return open_with(name, &small);
}

/* For commits of any size. */
static struct store *open_large_store(const char *name)
{
    static const struct store_options large = {.durability = STORE_DURABLE_NORMAL};
    return open_with(name, &large);
}

static enum weir_status show_doc(void *user, const struct doc *doc)
{
    struct weir_buf *out = user;
    weir_buf_append_slice(out, doc->id);
    weir_buf_append_char(out, '\n');
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < doc->body.len; i++) {
        weir_buf_append_char(out, hex[(unsigned char)doc->body.ptr[i] >> 4]);
        weir_buf_append_char(out, hex[(unsigned char)doc->body.ptr[i] & 15]);
    }
    weir_buf_append_char(out, '\n');
    return weir_buf_status(out);
}

/* Everything that a store holds of a person, as text. */
static void show(struct store *s, struct weir_buf *out)
{
    static const char *const kinds[] = {"facts",    "days", "series",  "sleeps",
                                        "workouts", "labs", "sources", "metrics"};
    weir_buf_init(out, 64 << 20);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct doc_query query = {
            .kind = weir_slice_of(kinds[i]), .owner = SLICE("ann"), .limit = 100000};
        weir_buf_printf(out, "== %s\n", kinds[i]);
        T_EQ(store_doc_list(s, &query, show_doc, out), WEIR_OK);
    }
}

static void compare(struct store *s, const struct weir_buf *want, const char *what)
{
    struct weir_buf got;
    show(s, &got);
    size_t i = 0, line = 0;
    while (i < got.len && i < want->len && got.ptr[i] == want->ptr[i]) {
        if (got.ptr[i] == '\n') line = i + 1;
        i++;
    }
    if (i < got.len || i < want->len) {
        size_t before = line;
        while (before > 1 && got.ptr[before - 2] != '\n') before--;
        t_fail(__FILE__, __LINE__, "%s: documents differ at %zu of %zu, %zu: %.*s", what, i,
               got.len, want->len, (int)(line - before), got.ptr + before);
    }
    weir_buf_fini(&got);
}

static void import_in_order(struct store *s, const struct any_fact *facts, const size_t *order,
                            size_t n, size_t batch)
{
    struct facts *f = NULL;
    T_EQ(facts_open(&f, s, SLICE("ann")), WEIR_OK);
    for (size_t i = 0; i < n; i++) {
        T_EQ(hand_over(f, &facts[order[i]]), WEIR_OK);
        if (i % batch == batch - 1) T_EQ(facts_flush(f, NULL), WEIR_OK);
        /* Now and then somebody new goes on. */
        if (i % (5 * batch) == 5 * batch - 1) {
            facts_close(f);
            T_EQ(facts_open(&f, s, SLICE("ann")), WEIR_OK);
        }
    }
    T_EQ(facts_flush(f, NULL), WEIR_OK);
    facts_close(f);
}

TEST(any_order_batching_and_repetition_gives_the_same_documents)
{
    static struct any_fact facts[N_FACTS];
    static size_t order[2 * N_FACTS];
    for (size_t i = 0; i < N_FACTS; i++) {
        facts[i] = random_fact();
        order[i] = i;
    }
    struct store *s = open_store("reference");
    import_in_order(s, facts, order, N_FACTS, N_FACTS);
    struct weir_buf want;
    show(s, &want);
    store_close(s);
    static const size_t batches[] = {1, 7, 50, 333};
    for (size_t round = 0; round < sizeof batches / sizeof *batches; round++) {
        /* All facts once, some of them again, in any order. */
        size_t n = N_FACTS;
        while (n < N_FACTS + N_FACTS / 2) order[n++] = below(N_FACTS);
        for (size_t i = n - 1; i > 0; i--) {
            size_t k = below(i + 1), swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
        char name[32];
        snprintf(name, sizeof name, "round-%zu", round);
        s = open_store(name);
        import_in_order(s, facts, order, n, batches[round]);
        compare(s, &want, name);
        store_close(s);
        for (size_t i = 0; i < N_FACTS; i++) order[i] = i;
    }
    weir_buf_fini(&want);
}

/* ---- killed ---- */

enum { KILL_FACTS = 200, KILL_BATCH = 40 };

/* Imports with a document that says how far it is, from where that says. */
static enum weir_status import_on(struct store *s, const struct any_fact *facts)
{
    struct doc_key key = {SLICE("import"), SLICE("file")};
    struct doc doc;
    size_t from = 0;
    if (store_doc_get(s, key, &doc) == WEIR_OK) {
        from = (size_t)(unsigned char)doc.body.ptr[0];
        doc_fini(&doc);
    }
    struct facts *f = NULL;
    enum weir_status st = facts_open(&f, s, SLICE("ann"));
    for (size_t i = from; i < KILL_FACTS && st == WEIR_OK; i++) {
        st = hand_over(f, &facts[i]);
        if (st != WEIR_OK || i % KILL_BATCH != KILL_BATCH - 1) continue;
        struct commit *with = commit_new(0);
        if (!with) {
            st = WEIR_NOMEM;
            break;
        }
        char done = (char)(i + 1);
        commit_put(with, key, DOC_ANY_VERSION, SLICE("ann"), slice_of(&done, 1));
        st = facts_flush(f, with);
    }
    facts_close(f);
    return st;
}

static void make_kill_facts(struct any_fact *facts)
{
    for (size_t i = 0; i < KILL_FACTS; i++) facts[i] = random_fact();
}

static void make_reference(const struct any_fact *facts, struct weir_buf *want)
{
    struct store *s = open_store("unharmed");
    T_EQ(import_on(s, facts), WEIR_OK);
    show(s, want);
    store_close(s);
}

/* True when the child came to its end. */
static bool run_killed(const struct any_fact *facts, const char *name, enum fault_point point,
                       unsigned n)
{
    const char *folder = folder_of(name);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct store *s = NULL;
        struct store_error error;
        static const struct store_options small = {.segment_bytes = 1 << 20};
        fault_arm(point, n, FAULT_CRASH);
        if (store_open(&s, folder, &small, &error) == WEIR_OK) {
            enum weir_status st = import_on(s, facts);
            (void)st;
            store_close(s);
        }
        _exit(0);
    }
    int status = 0;
    T_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status);
}

static void kill_everywhere(enum fault_point point)
{
    static struct any_fact facts[KILL_FACTS];
    make_kill_facts(facts);
    struct weir_buf want;
    make_reference(facts, &want);
    bool is_over = false;
    for (unsigned n = 1; n < 400 && !is_over; n += n < 12 ? 1 : 5) {
        char name[32];
        snprintf(name, sizeof name, "killed-%u", n);
        is_over = run_killed(facts, name, point, n);
        struct store *s = open_store(name);
        T_EQ(import_on(s, facts), WEIR_OK);
        compare(s, &want, name);
        store_close(s);
    }
    T_OK(is_over);
    weir_buf_fini(&want);
}

TEST(killed_at_any_write_and_done_again_gives_the_same_documents)
{
    kill_everywhere(FAULT_WRITE);
}

TEST(killed_at_any_sync_and_done_again_gives_the_same_documents)
{
    kill_everywhere(FAULT_SYNC);
}

/*
 * Every allocation fails once, in a process of its own, for the store's threads end it when they
 * have no memory. Afterwards all is as if nothing had been.
 */
TEST(without_memory_nothing_is_lost_and_nothing_is_half)
{
    static struct any_fact facts[KILL_FACTS];
    make_kill_facts(facts);
    struct weir_buf want;
    make_reference(facts, &want);
    unsigned n_failed = 0;
    for (unsigned n = 1; n < 3000; n += 1 + n / 5) {
        char name[32];
        snprintf(name, sizeof name, "starved-%u", n);
        struct store *s = open_store(name);
        store_close(s);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            (void)!freopen("/dev/null", "w", stderr);
            s = open_store(name);
            fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
            enum weir_status st = import_on(s, facts);
            fault_disarm_all();
            store_close(s);
            _exit(st == WEIR_OK ? 0 : 1);
        }
        int status = 0;
        T_EQ(waitpid(child, &status, 0), child);
        n_failed += WIFEXITED(status) && WEXITSTATUS(status) == 1;
        s = open_store(name);
        T_EQ(import_on(s, facts), WEIR_OK);
        compare(s, &want, name);
        store_close(s);
    }
    T_OK(n_failed > 10);
    weir_buf_fini(&want);
}

/* ---- very many samples ---- */

static void hand_over_dense(struct facts *f, unsigned from, unsigned step)
{
    struct fact_sink sink = facts_sink(f);
    int64_t first = (int64_t)day_from_civil(2025, 3, 1) * DAY_SECONDS;
    for (unsigned i = from; i < 260000; i += step) {
        struct moment at = {first + (int64_t)i * 10, 0};
        /* Numbers that take all their eight bytes. */
        double value = 50 + (i % 100) + 1.0 / (i + 3);
        struct sample s = {metric_find(SLICE("heart_rate")), at, at, value, sources[0]};
        enum weir_status st = sink.sample(sink.user, &s);
        if (st == WEIR_OK) continue;
        T_EQ(st, WEIR_BUSY);
        st = facts_flush(f, NULL);
        T_EQ(st, WEIR_OK);
        if (st != WEIR_OK) return;
        i -= step;
    }
    T_EQ(facts_flush(f, NULL), WEIR_OK);
}

TEST(a_month_of_very_many_samples_is_cut_the_same_way)
{
    struct store *s = open_large_store("whole");
    struct facts *f = NULL;
    T_EQ(facts_open(&f, s, SLICE("ann")), WEIR_OK);
    hand_over_dense(f, 0, 1);
    facts_close(f);
    struct weir_buf want;
    show(s, &want);
    T_OK(memmem(want.ptr, want.len, "ann/heart_rate/2025-03a\n", 24));
    struct dataset *d = NULL;
    const struct series *series = NULL;
    T_EQ(dataset_open(&d, s, SLICE("ann")), WEIR_OK);
    T_EQ(dataset_series(d, metric_find(SLICE("heart_rate")), &series), WEIR_OK);
    T_EQ(series ? series->n : 0, 31);
    T_OK(series && fabs(series->values[7] - 99.5) < 0.5);
    dataset_free(d);
    store_close(s);

    s = open_large_store("parts");
    T_EQ(facts_open(&f, s, SLICE("ann")), WEIR_OK);
    for (unsigned i = 0; i < 3; i++) hand_over_dense(f, i, 3);
    hand_over_dense(f, 1, 3);
    compare(s, &want, "in three parts");
    struct facts_summary sum;
    facts_summary(f, &sum);
    T_EQ(sum.n_new, 260000);
    facts_close(f);
    store_close(s);
    weir_buf_fini(&want);
}

/* ---- documents that are broken ---- */

static enum weir_status copy_doc(void *user, const struct doc *doc)
{
    struct doc *out = user;
    out->body.ptr = memcpy(malloc(doc->body.len), doc->body.ptr, doc->body.len);
    out->body.len = doc->body.len;
    out->version = doc->version;
    return WEIR_OK;
}

static void cut_documents(struct store *s, const struct any_fact *facts, const char *kind)
{
    struct doc_query query = {.kind = weir_slice_of(kind), .owner = SLICE("ann"), .limit = 1};
    struct doc doc = {0};
    T_EQ(store_doc_list(s, &query, copy_doc, &doc), WEIR_OK);
    char id[128] = "";
    struct weir_buf all;
    show(s, &all);
    char head[64];
    snprintf(head, sizeof head, "== %s\n", kind);
    const char *at = memmem(all.ptr, all.len, head, strlen(head));
    const char *line = at + strlen(head);
    memcpy(id, line, (size_t)(strchr(line, '\n') - line));
    weir_buf_fini(&all);
    for (size_t n = 0; n < doc.body.len; n += 1 + n / 4) {
        struct commit *c = commit_new(0);
        commit_put(c, (struct doc_key){query.kind, weir_slice_of(id)}, DOC_ANY_VERSION,
                   SLICE("ann"), slice_of(doc.body.ptr, n));
        T_EQ(store_commit_wait(s, c).status, WEIR_OK);
        struct facts *f = NULL;
        enum weir_status st = facts_open(&f, s, SLICE("ann"));
        for (size_t i = 0; i < KILL_FACTS && st == WEIR_OK; i++) st = hand_over(f, &facts[i]);
        if (st == WEIR_OK) st = facts_flush(f, NULL);
        facts_close(f);
        if (st != WEIR_CORRUPT && st != WEIR_OK)
            t_fail(__FILE__, __LINE__, "%s %s cut at %zu: %s", kind, id, n, weir_status_name(st));
        struct dataset *d = NULL;
        if (dataset_open(&d, s, SLICE("ann")) != WEIR_OK) continue;
        const struct series *series;
        for (size_t i = 0; i < metric_count(); i++)
            if (dataset_series(d, metric_at(i), &series) == WEIR_OK) T_OK(series->n > 0);
        dataset_free(d);
    }
    char *bytes = (char *)(uintptr_t)doc.body.ptr;
    free(bytes);
}

TEST(documents_that_are_cut_are_said_to_be_corrupt)
{
    static const char *const kinds[] = {"facts",    "days", "series",  "sleeps",
                                        "workouts", "labs", "sources", "metrics"};
    static struct any_fact facts[KILL_FACTS];
    make_kill_facts(facts);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct store *s = open_store(kinds[i]);
        T_EQ(import_on(s, facts), WEIR_OK);
        cut_documents(s, facts, kinds[i]);
        store_close(s);
    }
}
