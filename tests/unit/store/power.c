/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts over the whole store: a run is recorded, write by write, of the journal and of
 * SQLite's own files; then for every boundary between two of them the disk is made as a power
 * cut there would have left it, each unsynced sector there or not at random, and opened.
 *
 * Commit number k appends its number to one of the logs, drops one at times, makes one without
 * events at others, puts a passage that has k as a word in place of an older one, and puts k into
 * one document, where its decision has to find k - 1, all in one commit. So the document tells what
 * everything else has to be.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/buf.h>

#include "base/slice.h"
#include "io/file.h"
#include "store/passage.h"
#include "store/store.h"
#include "t.h"

enum { MAX_OPS = 20000, MAX_FILES = 32, SECTOR = 512, N_LOGS = 3, N_COMMITS = 260, N_PASSAGES = 4 };

/* ---- the recorder ---- */

enum tape_kind { TAPE_WRITE, TAPE_SYNC, TAPE_TRUNCATE, TAPE_REMOVE };

struct tape_op {
    enum tape_kind kind;
    size_t file;
    uint64_t offset; /* or the new size */
    struct weir_slice bytes;
    unsigned acked, given; /* commits, when it began */
};

struct tape {
    pthread_mutex_t lock;
    struct tape_op ops[MAX_OPS];
    size_t n;
    char names[MAX_FILES][FILE_NAME_BYTES];
    size_t n_files;
    unsigned acked, given;
};

static size_t file_of(struct tape *t, const char *name)
{
    size_t i = 0;
    while (i < t->n_files && strcmp(t->names[i], name) != 0) i++;
    if (i == t->n_files) {
        T_OK(t->n_files < MAX_FILES);
        snprintf(t->names[t->n_files++], FILE_NAME_BYTES, "%s", name);
    }
    return i;
}

static void record(struct tape *t, const char *name, struct tape_op op)
{
    pthread_mutex_lock(&t->lock);
    T_OK(t->n < MAX_OPS);
    op.file = file_of(t, name);
    op.acked = t->acked;
    op.given = t->given;
    t->ops[t->n++] = op;
    pthread_mutex_unlock(&t->lock);
}

static void on_write(void *user, const char *name, uint64_t offset, struct weir_slice bytes)
{
    char *copy = malloc(bytes.len + 1);
    memcpy(copy, bytes.ptr, bytes.len);
    record(
        user, name,
        (struct tape_op){.kind = TAPE_WRITE, .offset = offset, .bytes = slice_of(copy, bytes.len)});
}

static void on_sync(void *user, const char *name)
{
    record(user, name, (struct tape_op){.kind = TAPE_SYNC});
}

static void on_truncate(void *user, const char *name, uint64_t size)
{
    record(user, name, (struct tape_op){.kind = TAPE_TRUNCATE, .offset = size});
}

static void on_remove(void *user, const char *name)
{
    record(user, name, (struct tape_op){.kind = TAPE_REMOVE});
}

/* ---- the run ---- */

/* Every commit of this number drops the log it would append to. */
static bool drops(unsigned k)
{
    return k % 23 == 0;
}

static void log_of(unsigned k, char name[16])
{
    snprintf(name, 16, "log-%u", k * 7 % N_LOGS);
}

/* A commit of this number also makes a log of its own, and every second one seals it. */
static bool makes(unsigned k, char name[16])
{
    snprintf(name, 16, "made-%u", k);
    return k % 11 == 0;
}

static bool seals(unsigned k)
{
    return k % 22 == 0;
}

/* A commit of this number also puts a passage, with this word in it. */
static bool has_passage(unsigned k, char word[16])
{
    snprintf(word, 16, "w%u", k);
    return k % 5 == 0;
}

static void put_passage(struct commit *c, unsigned k)
{
    char word[16];
    char id[16];
    if (!has_passage(k, word)) return;
    snprintf(id, sizeof id, "p%u", k / 5 % N_PASSAGES);
    struct passage p = {weir_slice_of(id), SLICE("ann"), SLICE("title"), weir_slice_of(word)};
    passage_put(c, &p, DOC_ANY_VERSION);
}

struct given {
    struct tape *tape;
    struct commit *commit;
    unsigned k;
};

static const struct doc_key counter = {{"state", 5}, {"k", 1}};

/* Whatever was settled, cut off or read again: the commit before this one is what there is. */
static enum weir_status count_on(void *user, struct commit_view *view, struct commit *c)
{
    const struct given *g = user;
    struct doc doc;
    char body[16] = "";
    enum weir_status st = commit_view_doc(view, counter, &doc);
    T_OK(st == WEIR_OK || (st == WEIR_NOT_FOUND && g->k == 1));
    if (st == WEIR_OK) memcpy(body, doc.body.ptr, doc.body.len);
    T_EQ(strtoul(body, NULL, 10), g->k - 1);
    snprintf(body, sizeof body, "%u", g->k);
    commit_put(c, counter, doc.version, SLICE("ann"), weir_slice_of(body));
    return WEIR_OK;
}

static void on_done(void *user, const struct commit_result *result)
{
    struct given *g = user;
    T_EQ(result->status, WEIR_OK);
    pthread_mutex_lock(&g->tape->lock);
    g->tape->acked++;
    pthread_mutex_unlock(&g->tape->lock);
    commit_free(g->commit);
    free(g);
}

static void give(struct store *s, struct tape *t, unsigned k)
{
    char name[16];
    char text[1200];
    struct commit *c = commit_new(0);
    log_of(k, name);
    memset(text, 'x', sizeof text);
    int used = snprintf(text, sizeof text, "data: %u ", k);
    text[used] = 'y';
    size_t len = (size_t)used + k * 131 % 1000 + 3;
    memcpy(text + len - 2, "\n\n", 2);
    if (drops(k)) commit_drop(c, weir_slice_of(name));
    else commit_append(c, weir_slice_of(name), slice_of(text, len));
    if (makes(k, name)) commit_make(c, weir_slice_of(name));
    if (seals(k)) commit_seal(c, weir_slice_of(name), -1);
    put_passage(c, k);
    pthread_mutex_lock(&t->lock);
    t->given++;
    pthread_mutex_unlock(&t->lock);
    struct given *g = malloc(sizeof *g);
    *g = (struct given){t, c, k};
    commit_decide(c, drops(k), count_on, g);
    store_commit(s, c, on_done, g);
}

static const struct store_options small = {.segment_bytes = 65536, .pending_bytes = 40000};

static void record_run(struct tape *t, const char *folder)
{
    struct file_watcher watcher = {t, on_write, on_sync, on_truncate, on_remove};
    struct store *s;
    unsigned k = 0;
    file_watch(&watcher);
    for (int life = 0; life < 2; life++) {
        T_EQ(store_open(&s, folder, &small, NULL), WEIR_OK);
        while (k < (unsigned)N_COMMITS / 2 * (unsigned)(life + 1)) {
            for (uint64_t i = t_random() % 4; i < 4; i++) give(s, t, ++k);
            /* Now and then everybody is waited for, so that batches differ. */
            if (t_random() % 3 == 0) T_EQ(store_settle(s), WEIR_OK);
        }
        store_close(s);
    }
    file_watch(NULL);
    T_EQ(t->acked, t->given);
}

/* ---- the disk after a cut ---- */

struct image {
    char *bytes;
    size_t len, cap;
    bool exists;
};

static void image_fit(struct image *m, size_t len)
{
    if (len > m->cap) {
        m->bytes = realloc(m->bytes, len * 2);
        m->cap = len * 2;
    }
    if (len > m->len) {
        memset(m->bytes + m->len, 0, len - m->len);
        m->len = len;
    }
}

static void play(struct image *m, const struct tape_op *op, bool is_sure)
{
    if (op->kind == TAPE_REMOVE && (is_sure || t_random() % 2)) {
        m->len = 0;
        m->exists = false;
    }
    if (op->kind == TAPE_TRUNCATE && (is_sure || t_random() % 2)) {
        image_fit(m, op->offset);
        m->len = op->offset;
    }
    if (op->kind != TAPE_WRITE) return;
    m->exists = true;
    for (size_t at = 0; at < op->bytes.len;) {
        uint64_t to = op->offset + at;
        size_t n = SECTOR - (size_t)(to % SECTOR);
        if (n > op->bytes.len - at) n = op->bytes.len - at;
        if (is_sure || t_random() % 2) {
            image_fit(m, to + n);
            memcpy(m->bytes + to, op->bytes.ptr + at, n);
        }
        at += n;
    }
}

static void make_disk(const struct tape *t, size_t n_ops, const char *folder)
{
    static struct image images[MAX_FILES];
    size_t last_sync[MAX_FILES] = {0};
    size_t last_op[MAX_FILES] = {0};
    size_t last_folder_sync = 0;
    for (size_t i = 0; i < MAX_FILES; i++) {
        images[i].len = 0;
        images[i].exists = false;
    }
    for (size_t i = 0; i < n_ops; i++) {
        if (t->ops[i].kind == TAPE_SYNC) last_sync[t->ops[i].file] = i;
        if (strcmp(t->names[t->ops[i].file], FILE_FOLDER_NAME) == 0) last_folder_sync = i;
        last_op[t->ops[i].file] = i;
    }
    for (size_t i = 0; i < n_ops; i++) {
        const struct tape_op *op = &t->ops[i];
        /* What is written to a new file of an old name is never found in the old file. */
        bool is_sure = op->kind == TAPE_REMOVE ? i < last_op[op->file] || i < last_folder_sync
                                               : i < last_sync[op->file];
        play(&images[op->file], op, is_sure);
    }
    for (size_t i = 0; i < t->n_files; i++) {
        char path[256];
        if (!images[i].exists) continue;
        snprintf(path, sizeof path, "%s/%s", folder, t->names[i]);
        FILE *f = fopen(path, "wb");
        T_OK(f != NULL);
        if (images[i].len > 0) T_EQ(fwrite(images[i].bytes, 1, images[i].len, f), images[i].len);
        fclose(f);
    }
}

/* ---- what must be there ---- */

static unsigned state_of(struct store *s)
{
    struct doc doc;
    char body[16] = "";
    enum weir_status st = store_doc_get(s, counter, &doc);
    if (st == WEIR_NOT_FOUND) return 0;
    T_EQ(st, WEIR_OK);
    memcpy(body, doc.body.ptr, doc.body.len);
    doc_fini(&doc);
    return (unsigned)strtoul(body, NULL, 10);
}

/* The events of a log are those of the commits up to k since it was last dropped. */
static void check_log(struct store *s, const char *name, unsigned k)
{
    unsigned first = 1;
    char each[16];
    for (unsigned i = 1; i <= k; i++) {
        log_of(i, each);
        if (drops(i) && strcmp(each, name) == 0) first = i + 1;
    }
    uint64_t id = 0;
    for (unsigned i = first; i <= k; i++) {
        struct log_read read;
        char want[48];
        log_of(i, each);
        if (strcmp(each, name) != 0) continue;
        store_read(s, weir_slice_of(name), ++id, 1, &read);
        T_EQ(read.status, WEIR_OK);
        T_EQ(read.n_chunks, 1);
        if (read.n_chunks != 1) return;
        int len = snprintf(want, sizeof want, "id: %u\ndata: %u y", (unsigned)id, i);
        T_EQ_SLICE(slice_of(read.chunks[0]->bytes, (size_t)len), slice_of(want, (size_t)len));
        chunk_unref(read.chunks[0]);
    }
    struct log_read read;
    store_read(s, weir_slice_of(name), 1, 0, &read);
    T_EQ(read.state.last, id);
}

static void check_made(struct store *s, unsigned k)
{
    for (unsigned i = 1; i <= N_COMMITS; i++) {
        char name[16];
        struct log_read read;
        if (!makes(i, name)) continue;
        store_read(s, weir_slice_of(name), 1, 1, &read);
        T_EQ(read.status, WEIR_OK);
        T_EQ(read.n_chunks, 0);
        T_EQ(read.state.exists, i <= k);
        T_EQ(read.state.is_sealed, i <= k && seals(i));
    }
}

static enum weir_status count_hit(void *user, const struct passage_hit *hit)
{
    (void)hit;
    ++*(size_t *)user;
    return WEIR_OK;
}

static void check_passages(struct store *s, unsigned k)
{
    for (unsigned i = k - k % 5; i >= 5 && i + 5 * (N_PASSAGES + 1) > k; i -= 5) {
        char word[16];
        size_t n = 0;
        T_OK(has_passage(i, word));
        snprintf(word, sizeof word, "w%u.", i);
        struct passage_query q = {.owner = SLICE("ann"), .words = weir_slice_of(word), .limit = 9};
        T_EQ(store_search(s, &q, count_hit, &n), WEIR_OK);
        T_EQ(n, i + 5 * N_PASSAGES > k ? 1 : 0);
    }
}

static void check_disk(const struct tape *t, size_t n_ops, const char *folder)
{
    struct store *s = NULL;
    struct store_error error;
    unsigned acked = n_ops < t->n ? t->ops[n_ops].acked : t->acked;
    unsigned given = n_ops < t->n ? t->ops[n_ops].given : t->given;
    T_EQ(store_open(&s, folder, &small, &error), WEIR_OK);
    if (!s) {
        printf("cut before operation %zu: %s\n", n_ops, error.text);
        return;
    }
    unsigned k = state_of(s);
    T_OK(k >= acked && k <= given);
    for (unsigned i = 0; i < N_LOGS; i++) {
        char name[16];
        snprintf(name, sizeof name, "log-%u", i);
        check_log(s, name, k);
    }
    check_made(s, k);
    check_passages(s, k);
    uint64_t n_wrong = 1;
    T_EQ(store_check(s, NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
    store_close(s);
}

TEST(power_cut_at_every_write_boundary_of_journal_and_database)
{
    static struct tape tape = {.lock = PTHREAD_MUTEX_INITIALIZER};
    char folder[128];
    char path[256];
    snprintf(folder, sizeof folder, "%s/run", t_temp_dir());
    record_run(&tape, folder);
    for (size_t n = 0; n <= tape.n; n++) {
        snprintf(folder, sizeof folder, "%s/cut", t_temp_dir());
        T_EQ(mkdir(folder, 0700), 0);
        make_disk(&tape, n, folder);
        check_disk(&tape, n, folder);
        static const char *const more[] = {"lock", "weir.db", "weir.db-wal", "weir.db-shm"};
        for (size_t i = 0; i < tape.n_files + 4; i++) {
            snprintf(path, sizeof path, "%s/%s", folder,
                     i < tape.n_files ? tape.names[i] : more[i - tape.n_files]);
            unlink(path);
        }
        for (unsigned i = 0; i < MAX_FILES; i++) {
            snprintf(path, sizeof path, "%s/journal-%04u", folder, i);
            unlink(path);
        }
        T_EQ(rmdir(folder), 0);
    }
    printf("%zu boundaries\n", tape.n + 1);
    for (size_t i = 0; i < tape.n; i++) free((void *)(uintptr_t)tape.ops[i].bytes.ptr);
}
