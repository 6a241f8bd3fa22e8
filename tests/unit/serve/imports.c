/* SPDX-License-Identifier: Apache-2.0 */
/* An import that was acknowledged by one node, and what another does when that one is dead. */
#include "serve/imports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slice.h"
#include "serve/upload.h"
#include "t.h"

enum { WAIT_MS = 20000 };

static const char id[] = "imp_01J00000000000000000000000";
static const char csv[] = "date,steps\n2024-03-01,1000\n2024-03-02,2000\n";

struct world {
    struct store *store;
    struct imports *a, *b;
    char folder_a[1024], folder_b[1024];
    bool is_a_dead;
};

static bool is_dead(void *user, struct weir_slice node)
{
    const struct world *w = user;
    return w->is_a_dead && weir_slice_is(node, "a");
}

static struct imports *open_node(struct world *w, const char *folder, const char *node)
{
    struct imports *i = NULL;
    const struct imports_options o = {
        .folder = folder, .clock = &clock_system, .node = node, .is_dead = is_dead, .user = w};
    T_EQ(imports_new(&i, w->store, &o), WEIR_OK);
    T_EQ(imports_start(i), WEIR_OK);
    if (!i) abort();
    return i;
}

static void new_world(struct world *w)
{
    struct store_options options = {.durability = STORE_DURABLE_NORMAL, .clock = &clock_system};
    const char *folder = t_temp_dir();
    *w = (struct world){.is_a_dead = false};
    snprintf(w->folder_a, sizeof w->folder_a, "%s/a", folder);
    snprintf(w->folder_b, sizeof w->folder_b, "%s/b", folder);
    T_EQ(mkdir(w->folder_a, 0700) | mkdir(w->folder_b, 0700), 0);
    T_EQ(store_open(&w->store, folder, &options, NULL), WEIR_OK);
    w->a = open_node(w, w->folder_a, "a");
    w->b = open_node(w, w->folder_b, "b");
}

static void close_world(struct world *w)
{
    imports_stop(w->a, WAIT_MS);
    imports_stop(w->b, WAIT_MS);
    imports_free(w->a);
    imports_free(w->b);
    store_close(w->store);
}

struct putting {
    struct imports *imports;
    struct weir_slice body;
};

static enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    const struct putting *p = user;
    const struct import_new import = {id, "ada", p->body};
    return imports_put_new(p->imports, view, c, &import);
}

/* All that the first node does up to the answer. */
static void acknowledge(struct world *w)
{
    char folder[1100], why[256];
    struct spool *spool;
    struct weir_buf body;
    struct import_wish wish = {.name = "steps.csv"};
    struct import_view v = {.id = id, .status = "running", .wish = &wish, .bytes = sizeof csv - 1};
    snprintf(folder, sizeof folder, "%s/imports", w->folder_a);
    T_EQ(spool_new(&spool, folder, id), WEIR_OK);
    T_EQ(spool_add(spool, slice_of(csv, sizeof csv - 1)), WEIR_OK);
    spool_end(spool);
    T_EQ(imports_take(w->a, spool, &wish, why, sizeof why), WEIR_OK);
    T_EQ(imports_keep(w->a, spool, "ada"), WEIR_OK);
    weir_buf_init(&body, 8192);
    import_put(&body, &v);
    struct putting p = {w->a, weir_buf_slice(&body)};
    struct commit *c = commit_new(4096);
    commit_decide(c, false, decide, &p);
    T_EQ(store_commit_wait(w->store, c).status, WEIR_OK);
    spool->is_taken = true;
    spool_free(spool);
    weir_buf_fini(&body);
}

static bool is_there(struct world *w, const char *kind, const char *doc_id)
{
    struct doc doc;
    enum weir_status st =
        store_doc_get(w->store, (struct doc_key){weir_slice_of(kind), weir_slice_of(doc_id)}, &doc);
    if (st == WEIR_OK) doc_fini(&doc);
    return st == WEIR_OK;
}

static bool says(struct world *w, const char *text)
{
    struct doc doc;
    if (store_doc_get(w->store, (struct doc_key){SLICE("upload"), weir_slice_of(id)}, &doc) !=
        WEIR_OK)
        return false;
    bool has = memmem(doc.body.ptr, doc.body.len, text, strlen(text));
    doc_fini(&doc);
    return has;
}

static void wait_for_end(struct world *w)
{
    uint64_t until_ns = clock_mono_ns(&clock_system) + (uint64_t)WAIT_MS * 1000000;
    while ((is_there(w, "upload-file", id) || imports_is_busy(w->b)) &&
           clock_mono_ns(&clock_system) < until_ns)
        usleep(1000);
}

static void run_here(struct imports *i)
{
    uint64_t until_ns = clock_mono_ns(&clock_system) + (uint64_t)WAIT_MS * 1000000;
    imports_add(i, id);
    while (imports_is_busy(i) && clock_mono_ns(&clock_system) < until_ns) usleep(1000);
}

TEST(import_of_a_dead_node_is_done_by_another)
{
    struct world w;
    char path[1200];
    new_world(&w);
    acknowledge(&w);
    T_OK(is_there(&w, "import_slot", "ada"));
    T_OK(is_there(&w, "import-run", id));
    T_EQ(imports_look(w.b), WEIR_OK);
    T_OK(!imports_is_busy(w.b));
    w.is_a_dead = true;
    T_EQ(imports_look(w.b), WEIR_OK);
    wait_for_end(&w);
    T_OK(says(&w, "\"status\":\"completed\""));
    T_OK(says(&w, "\"new\":2"));
    T_OK(!is_there(&w, "import_slot", "ada"));
    T_OK(!is_there(&w, "import-run", id));
    T_OK(!is_there(&w, "upload-file", id));
    T_OK(!is_there(&w, "upload-piece", "imp_01J00000000000000000000000/00000000"));
    /* The first one was only asleep, finds that it lost it, and tidies up. */
    snprintf(path, sizeof path, "%s/imports/%s/steps.csv", w.folder_a, id);
    T_EQ(access(path, F_OK), 0);
    run_here(w.a);
    T_OK(access(path, F_OK) != 0);
    T_OK(says(&w, "\"new\":2"));
    close_world(&w);
}

TEST(import_that_is_given_away_is_done_by_another)
{
    struct world w;
    char path[1200];
    new_world(&w);
    acknowledge(&w);
    snprintf(path, sizeof path, "%s/imports/%s/steps.csv", w.folder_a, id);
    imports_give(w.a, true);
    run_here(w.a);
    T_EQ(imports_count(w.a), 0);
    T_OK(access(path, F_OK) != 0);
    T_OK(says(&w, "\"status\":\"running\""));
    /* Who gives does not take it back. */
    T_EQ(imports_look(w.a), WEIR_OK);
    T_OK(!imports_is_busy(w.a));
    T_EQ(imports_look(w.b), WEIR_OK);
    wait_for_end(&w);
    T_OK(says(&w, "\"status\":\"completed\""));
    T_OK(says(&w, "\"new\":2"));
    T_OK(!is_there(&w, "import-run", id));
    close_world(&w);
}

TEST(import_that_all_have_given_away_is_taken_back)
{
    struct world w;
    new_world(&w);
    acknowledge(&w);
    imports_give(w.a, true);
    imports_give(w.b, true);
    run_here(w.a);
    T_EQ(imports_look(w.b), WEIR_OK);
    T_OK(!imports_is_busy(w.b));
    imports_give(w.b, false);
    T_EQ(imports_look(w.b), WEIR_OK);
    wait_for_end(&w);
    T_OK(says(&w, "\"new\":2"));
    close_world(&w);
}

TEST(import_that_is_added_where_others_get_it_is_nobodys)
{
    struct world w;
    new_world(&w);
    imports_give(w.a, true);
    acknowledge(&w);
    run_here(w.a);
    T_OK(says(&w, "\"status\":\"running\""));
    T_EQ(imports_look(w.b), WEIR_OK);
    wait_for_end(&w);
    T_OK(says(&w, "\"new\":2"));
    close_world(&w);
}

TEST(node_that_lost_an_import_does_not_touch_it)
{
    struct world w;
    new_world(&w);
    acknowledge(&w);
    struct commit *c = commit_new(256);
    commit_put(c, (struct doc_key){SLICE("import-run"), weir_slice_of(id)}, DOC_ANY_VERSION,
               SLICE(""), SLICE("another"));
    T_EQ(store_commit_wait(w.store, c).status, WEIR_OK);
    run_here(w.a);
    T_OK(says(&w, "\"status\":\"running\""));
    T_OK(is_there(&w, "upload-file", id));
    close_world(&w);
}

TEST(import_whose_file_is_lost_fails_and_gives_its_place_back)
{
    struct world w;
    new_world(&w);
    acknowledge(&w);
    upload_remove(w.store, id);
    w.is_a_dead = true;
    T_EQ(imports_look(w.b), WEIR_OK);
    uint64_t until_ns = clock_mono_ns(&clock_system) + (uint64_t)WAIT_MS * 1000000;
    while (is_there(&w, "import_slot", "ada") && clock_mono_ns(&clock_system) < until_ns)
        usleep(1000);
    T_OK(says(&w, "\"status\":\"failed\""));
    close_world(&w);
}

static bool needs_one(void *user, const char *file, bool is_old)
{
    (void)is_old;
    return strcmp(user, file) == 0;
}

TEST(file_comes_back_as_it_was_and_goes_when_nobody_needs_it)
{
    enum { BYTES = 2 * UPLOAD_PIECE_BYTES + 17 };
    struct world w;
    char from[1100], to[1100];
    const char *folder = t_temp_dir();
    new_world(&w);
    snprintf(from, sizeof from, "%s/from", folder);
    snprintf(to, sizeof to, "%s/to", folder);
    char *bytes = malloc(BYTES), *back = malloc(BYTES + 1);
    if (!bytes || !back) abort();
    for (int i = 0; i < BYTES; i++) bytes[i] = (char)(i * 7 + i / 251);
    FILE *f = fopen(from, "wb");
    T_EQ(fwrite(bytes, 1, BYTES, f), BYTES);
    fclose(f);
    T_EQ(upload_put(w.store, id, SLICE("ada"), from), WEIR_OK);
    T_EQ(upload_get(w.store, id, to), WEIR_OK);
    f = fopen(to, "rb");
    T_EQ(fread(back, 1, BYTES + 1, f), BYTES);
    fclose(f);
    T_OK(memcmp(bytes, back, BYTES) == 0);
    upload_sweep(w.store, 0, needs_one, (void *)(uintptr_t)id);
    T_OK(is_there(&w, "upload-file", id));
    upload_sweep(w.store, 0, needs_one, (void *)(uintptr_t) "another");
    T_OK(!is_there(&w, "upload-file", id));
    T_OK(!is_there(&w, "upload-piece", "imp_01J00000000000000000000000/00000002"));
    T_EQ(upload_get(w.store, id, to), WEIR_NOT_FOUND);
    free(bytes);
    free(back);
    close_world(&w);
}
