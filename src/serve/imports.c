/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports that are under way: a list of ids that wait, and a few threads. Whatever a thread needs
 * to know of an import is in its document and its folder, so that one that was interrupted goes on
 * as any other begins.
 */
#include "serve/imports.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/ulid.h"
#include "import/import.h"
#include "serve/upload.h"

enum {
    BODY_BYTES = 256 << 10, /* of the document: names and a summary */
    SUMMARY_BYTES = 192 << 10,
    OWNER_BYTES = 64,
    COMMIT_BYTES = 4096,
    THREAD_STACK_BYTES = 1 << 20,
    PATH_BYTES = SPOOL_PATH_BYTES + IMPORT_NAME_BYTES,
    CONFLICTS = 8,     /* with others who change the same person's data; then it is given up */
    SWEEP_LOOKS = 60,  /* looks between two for files that became nothing */
    MAX_LOOKED = 1024, /* imports that are looked at in a look */
};
static const char id_prefix[] = "imp_";
static const int64_t log_keep_ms = (int64_t)IMPORT_LOG_KEEP_DAYS * 24 * 3600 * 1000;

struct waiting {
    struct list_node node;
    char id[IMPORT_ID_LEN + 1];
};

struct imports {
    struct store *store;
    struct imports_options o;
    char folder[SPOOL_PATH_BYTES]; /* for all */
    atomic_bool is_stopped;
    atomic_bool is_giving;  /* to other nodes */
    atomic_bool has_to_end; /* what is under way, at its next piece: for either of them */
    pthread_mutex_t lock;
    pthread_cond_t is_idle;
    struct list waiting;
    struct list running;
    unsigned n_threads;
    unsigned n_looks; /* the looker's own */
};

/* ---- what there is of one ---- */

bool import_is_id(struct weir_slice text)
{
    return ulid_is_name(text, id_prefix);
}

struct weir_slice import_log(char out[64], const char *id)
{
    snprintf(out, 64, "imports/%s", id);
    return weir_slice_of(out);
}

static struct doc_key upload_key(const char *id)
{
    return (struct doc_key){SLICE("upload"), weir_slice_of(id)};
}

static struct doc_key slot_of(struct weir_slice owner)
{
    return (struct doc_key){SLICE("import_slot"), owner};
}

static struct doc_key run_key(const char *id)
{
    return (struct doc_key){SLICE("import-run"), weir_slice_of(id)};
}

static void put_time(struct weir_buf *out, const char *key, int64_t ms)
{
    char text[CLOCK_TEXT_BYTES];
    clock_format(text, ms);
    weir_json_put_key(out, key);
    weir_json_put_str(out, ms == 0 ? NULL : text);
}

static void put_word(struct weir_buf *out, const char *key, const char *word)
{
    weir_json_put_key(out, key);
    weir_json_put_str(out, word[0] ? word : NULL);
}

static void put_error(struct weir_buf *out, enum weir_status st, const char *why)
{
    weir_json_put_begin_object(out);
    put_word(out, "code", weir_status_name(st));
    put_word(out, "message", why);
    weir_json_put_end_object(out);
}

void import_put(struct weir_buf *out, const struct import_view *v)
{
    weir_json_put_begin_object(out);
    put_word(out, "id", v->id);
    put_word(out, "status", v->status);
    put_word(out, "file", v->wish->name);
    put_word(out, "kind", v->wish->kind);
    put_word(out, "zone", v->wish->zone);
    put_word(out, "dates", v->wish->dates);
    put_word(out, "units", v->wish->units);
    put_word(out, "person", v->wish->person);
    weir_json_put_key(out, "bytes");
    weir_json_put_uint(out, v->bytes);
    put_time(out, "created_at", v->created_ms);
    put_time(out, "completed_at", v->completed_ms);
    weir_json_put_key(out, "summary");
    if (v->summary.len > 0) weir_buf_append_slice(out, v->summary);
    else weir_json_put_null(out);
    weir_json_put_key(out, "error");
    if (v->error == WEIR_OK) weir_json_put_null(out);
    else put_error(out, v->error, v->why);
    weir_json_put_end_object(out);
}

enum weir_status imports_put_new(struct imports *i, struct commit_view *view, struct commit *c,
                                 const struct import_new *import)
{
    struct doc doc;
    char log[64];
    struct weir_slice name = weir_slice_of(import->owner);
    enum weir_status st = commit_view_doc(view, slot_of(name), &doc);
    if (st == WEIR_OK) return WEIR_CONCURRENCY;
    if (st != WEIR_NOT_FOUND) return st;
    commit_put(c, slot_of(name), DOC_MUST_BE_NEW, name, weir_slice_of(import->id));
    commit_put(c, upload_key(import->id), DOC_MUST_BE_NEW, name, import->body);
    const char *whose = atomic_load(&i->is_giving) ? "" : i->o.node;
    if (i->o.node) commit_put(c, run_key(import->id), DOC_MUST_BE_NEW, name, weir_slice_of(whose));
    commit_make(c, import_log(log, import->id));
    return WEIR_OK;
}

/* ---- files ---- */

enum weir_status imports_spool(struct imports *i, struct spool **out)
{
    char id[IMPORT_ID_LEN + 1];
    enum weir_status st = turns_next_id(i->o.turns, id_prefix, id);
    return st == WEIR_OK ? spool_new(out, i->folder, id) : st;
}

/* The folder of one, with what is in it. */
static void remove_files(const struct imports *i, const char *id)
{
    char folder[SPOOL_PATH_BYTES + 32];
    char path[PATH_BYTES + 64];
    snprintf(folder, sizeof folder, "%s/%s", i->folder, id);
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        int len = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (len > 0 && (size_t)len < sizeof path && e->d_name[0] != '.') (void)unlink(path);
    }
    if (dir) closedir(dir);
    (void)rmdir(folder);
}

static enum date_order dates_of(const char *word)
{
    if (strcmp(word, "mdy") == 0) return DATES_MONTH_FIRST;
    return strcmp(word, "dmy") == 0 ? DATES_DAY_FIRST : DATES_UNKNOWN;
}

static enum unit_system units_of(const char *word)
{
    if (strcmp(word, "metric") == 0) return UNITS_METRIC;
    return strcmp(word, "imperial") == 0 ? UNITS_IMPERIAL : UNITS_UNKNOWN;
}

static struct import_options options_of(const struct imports *i, const struct import_wish *wish,
                                        const char *owner)
{
    return (struct import_options){
        .user = weir_slice_of(owner),
        .kind = wish->kind[0] ? wish->kind : NULL,
        .zone = wish->zone[0] ? wish->zone : NULL,
        .dates = dates_of(wish->dates),
        .units = units_of(wish->units),
        .person = weir_slice_of(wish->person),
        .clock = i->o.clock,
        .is_stopped = &i->is_stopped,
    };
}

/* WEIR_INVALID of a file is what clients know as a file that cannot be read. */
static enum weir_status told(enum weir_status st)
{
    int http = weir_status_http(st);
    return st != WEIR_OK && http >= 400 && http < 500 ? WEIR_BAD_FILE : st;
}

enum weir_status imports_take(struct imports *i, struct spool *spool,
                              const struct import_wish *wish, char *why, size_t why_size)
{
    char path[PATH_BYTES];
    char hidden[SPOOL_PATH_BYTES + 1];
    const char *paths[] = {path};
    struct import_error error;
    struct import_options o = options_of(i, wish, "somebody");
    why[0] = 0;
    snprintf(path, sizeof path, "%s/%s", spool->folder, wish->name);
    snprintf(hidden, sizeof hidden, "%s/", spool->folder);
    if (strlen(path) >= sizeof spool->path) return WEIR_INVALID;
    if (file_sync(&spool->file) != WEIR_OK || rename(spool->path, path) != 0) return WEIR_STORAGE;
    memcpy(spool->path, path, strlen(path) + 1);
    o.paths = paths;
    o.n_paths = 1;
    o.hidden = hidden;
    enum weir_status st = import_look(&o, &error);
    if (st != WEIR_OK) snprintf(why, why_size, "%s", error.text);
    return told(st);
}

enum weir_status imports_keep(struct imports *i, const struct spool *spool, const char *owner)
{
    struct doc doc;
    struct weir_slice name = weir_slice_of(owner);
    if (!i->o.node) return WEIR_OK;
    enum weir_status st = store_doc_get(i->store, slot_of(name), &doc);
    if (st == WEIR_OK) doc_fini(&doc);
    if (st != WEIR_NOT_FOUND) return st == WEIR_OK ? WEIR_CONCURRENCY : st;
    return upload_put(i->store, spool->id, name, spool->path);
}

void imports_forget(struct imports *i, const struct spool *spool)
{
    if (i->o.node) upload_remove(i->store, spool->id);
}

/* ---- one import ---- */

/* What a thread works on. */
struct work {
    struct imports *imports;
    char id[IMPORT_ID_LEN + 1];
    char owner[OWNER_BYTES];
    int64_t version; /* of the document */
    int64_t fence;   /* of several nodes: the version of the document that says whose it is */
    bool is_fenced;  /* it is another node's by now; after a commit */
    struct import_wish wish;
    uint64_t bytes;
    int64_t created_ms;
    bool is_told; /* its end is in the document */
    struct import_summary summary;
    struct import_error error;
};

static void take_text(const struct weir_json *json, const char *key, char *out, size_t size)
{
    struct weir_slice text = weir_json_text(weir_json_get_str(json, key));
    size_t len = text.len < size ? text.len : size - 1;
    if (len > 0) memcpy(out, text.ptr, len);
    out[len] = 0;
}

/* WEIR_NOT_FOUND: it is not under way. */
static enum weir_status read_work(struct work *w, const struct doc *doc)
{
    const struct weir_json *json = NULL;
    int64_t bytes = 0;
    struct weir_json_doc *values = weir_json_doc_new(16 * BODY_BYTES);
    if (!values) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(values, doc->body, &json, NULL);
    bool is_running = st == WEIR_OK &&
                      weir_slice_is(weir_json_text(weir_json_get_str(json, "status")), "running");
    if (is_running && doc->owner.len < sizeof w->owner) {
        memcpy(w->owner, doc->owner.ptr, doc->owner.len);
        w->version = doc->version;
        take_text(json, "file", w->wish.name, sizeof w->wish.name);
        take_text(json, "kind", w->wish.kind, sizeof w->wish.kind);
        take_text(json, "zone", w->wish.zone, sizeof w->wish.zone);
        take_text(json, "dates", w->wish.dates, sizeof w->wish.dates);
        take_text(json, "units", w->wish.units, sizeof w->wish.units);
        take_text(json, "person", w->wish.person, sizeof w->wish.person);
        (void)weir_json_int64(weir_json_get_str(json, "bytes"), &bytes);
        (void)clock_parse(weir_json_text(weir_json_get_str(json, "created_at")), &w->created_ms);
        w->bytes = (uint64_t)bytes;
    } else {
        st = WEIR_NOT_FOUND;
    }
    weir_json_doc_free(values);
    return st;
}

static enum weir_status find_work(struct work *w)
{
    struct doc doc;
    enum weir_status st = store_doc_get(w->imports->store, upload_key(w->id), &doc);
    if (st != WEIR_OK) return st;
    st = read_work(w, &doc);
    doc_fini(&doc);
    return st;
}

/* The last event, when the import came to nothing before it began. */
static void put_failed_event(struct commit *c, struct weir_slice log, const char *why)
{
    struct weir_buf frame;
    weir_buf_init(&frame, BODY_BYTES);
    weir_buf_append_str(&frame, "event: import.failed\ndata: ");
    weir_json_put_begin_object(&frame);
    weir_json_put_key(&frame, "error");
    weir_json_put_str(&frame, why);
    weir_json_put_end_object(&frame);
    weir_buf_append_str(&frame, "\n\n");
    if (weir_buf_status(&frame) == WEIR_OK) commit_append(c, log, weir_buf_slice(&frame));
    weir_buf_fini(&frame);
}

static void put_end(const struct work *w, enum weir_status st, struct weir_buf *body)
{
    struct weir_buf summary;
    weir_buf_init(&summary, SUMMARY_BYTES);
    import_write_summary(&summary, &w->summary);
    struct import_view v = {.id = w->id,
                            .status = st == WEIR_OK ? "completed" : "failed",
                            .wish = &w->wish,
                            .bytes = w->bytes,
                            .created_ms = w->created_ms,
                            .completed_ms = clock_wall_ms(w->imports->o.clock),
                            .error = st,
                            .why = w->error.text};
    if (st == WEIR_OK && weir_buf_status(&summary) == WEIR_OK) v.summary = weir_buf_slice(&summary);
    import_put(body, &v);
    weir_buf_fini(&summary);
}

/* What came of it, and that the person may have another: of one commit with the last event. */
static void add_end(struct work *w, struct commit *c, enum weir_status st)
{
    struct weir_buf body;
    struct weir_slice owner = weir_slice_of(w->owner);
    weir_buf_init(&body, BODY_BYTES);
    put_end(w, st, &body);
    w->is_told = weir_buf_status(&body) == WEIR_OK;
    if (w->is_told) {
        commit_put(c, upload_key(w->id), w->version, owner, weir_buf_slice(&body));
        commit_remove(c, slot_of(owner), DOC_ANY_VERSION);
        if (w->imports->o.node) commit_remove(c, run_key(w->id), w->fence);
    }
    weir_buf_fini(&body);
}

/* Whether it is still ours; by the committer's thread, while ours waits. */
static enum weir_status decide_fence(void *user, struct commit_view *view, struct commit *c)
{
    struct work *w = user;
    struct doc doc;
    (void)c;
    enum weir_status st = commit_view_doc(view, run_key(w->id), &doc);
    w->is_fenced = st == WEIR_NOT_FOUND || (st == WEIR_OK && doc.version != w->fence);
    return w->is_fenced ? WEIR_CONFLICT : st;
}

static void on_ending(void *user, struct commit *c, const struct import_summary *summary)
{
    (void)summary; /* the work has it */
    add_end(user, c, WEIR_OK);
}

static enum weir_status run_import(struct work *w)
{
    char log[64];
    char path[PATH_BYTES + 64];
    char hidden[SPOOL_PATH_BYTES + 40];
    const char *paths[] = {path};
    struct import_options o = options_of(w->imports, &w->wish, w->owner);
    (void)import_log(log, w->id);
    snprintf(hidden, sizeof hidden, "%s/%s/", w->imports->folder, w->id);
    snprintf(path, sizeof path, "%s%s", hidden, w->wish.name);
    o.paths = paths;
    o.n_paths = 1;
    o.log = log;
    o.hidden = hidden;
    o.is_stopped = &w->imports->has_to_end;
    o.ending = on_ending;
    o.ending_user = w;
    if (w->imports->o.node) o.fence = decide_fence;
    o.fence_user = w;
    return import_run(w->imports->store, &o, &w->summary, &w->error);
}

/* It came to nothing. Whether that could be written: if not, it is tried again at the next start.
 */
static bool end_failed(struct work *w, enum weir_status st)
{
    char log[64];
    struct weir_slice name = import_log(log, w->id);
    struct commit *c = commit_new(COMMIT_BYTES);
    if (!c) return false;
    add_end(w, c, told(st));
    if (w->summary.log[0] == 0) put_failed_event(c, name, w->error.text);
    commit_seal(c, name, log_keep_ms);
    if (w->imports->o.node) commit_decide(c, false, decide_fence, w);
    return store_commit_wait(w->imports->store, c).status == WEIR_OK;
}

/* Whether what went wrong may go right another time, with nothing changed by anybody. */
static bool goes_on_later(enum weir_status st)
{
    return st == WEIR_SHUTDOWN || st == WEIR_STORAGE || st == WEIR_NOMEM;
}

/* WEIR_NOT_FOUND: it is another node's, or nobody's any more. */
static enum weir_status find_fence(struct work *w)
{
    struct doc doc;
    if (!w->imports->o.node) return WEIR_OK;
    enum weir_status st = store_doc_get(w->imports->store, run_key(w->id), &doc);
    if (st != WEIR_OK) return st;
    w->fence = doc.version;
    st = weir_slice_is(doc.body, w->imports->o.node) ? WEIR_OK : WEIR_NOT_FOUND;
    doc_fini(&doc);
    return st;
}

/* The file, from the store if this node has none. One that is lost is what the import fails of. */
static enum weir_status find_file(struct work *w)
{
    char folder[SPOOL_PATH_BYTES + 40];
    char path[PATH_BYTES + 64];
    const struct imports *i = w->imports;
    if (!i->o.node) return WEIR_OK;
    snprintf(folder, sizeof folder, "%s/%s", i->folder, w->id);
    snprintf(path, sizeof path, "%s/%s", folder, w->wish.name);
    if (file_exists(path)) return WEIR_OK;
    if (mkdir(i->folder, 0700) != 0 && errno != EEXIST) return WEIR_IO;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) return WEIR_IO;
    enum weir_status st = upload_get(i->store, w->id, path);
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

/*
 * Of several nodes others may change the same person's data at the same time; what was read is
 * joined with that, and the import goes on where it was.
 */
static enum weir_status run_often(struct work *w)
{
    enum weir_status st = find_file(w);
    if (st != WEIR_OK) return st == WEIR_NO_SPACE ? st : WEIR_STORAGE;
    for (int n = 0; n < CONFLICTS; n++) {
        w->summary = (struct import_summary){.bytes = 0};
        w->error = (struct import_error){{0}};
        st = run_import(w);
        if (st != WEIR_CONFLICT || !w->imports->o.node || w->is_fenced) break;
    }
    return st;
}

/* It is nobody's from now on. What could not be written is tried again with the next look. */
static bool give(const struct work *w)
{
    struct commit *c = commit_new(COMMIT_BYTES);
    if (!c) return false;
    commit_put(c, run_key(w->id), w->fence, weir_slice_of(w->owner), SLICE(""));
    return store_commit_wait(w->imports->store, c).status == WEIR_OK;
}

static void do_import(struct imports *i, const char *id)
{
    struct work *w = mem_zalloc(sizeof *w);
    if (!w) return;
    w->imports = i;
    memcpy(w->id, id, sizeof w->id);
    enum weir_status st = find_work(w);
    bool is_ended = st == WEIR_NOT_FOUND; /* or never begun */
    if (st == WEIR_OK) st = find_fence(w);
    bool is_done = st == WEIR_NOT_FOUND, is_given = false;
    if (st == WEIR_OK) {
        st = atomic_load(&i->is_giving) ? WEIR_SHUTDOWN : run_often(w);
        is_done = st == WEIR_OK || (!goes_on_later(st) && !w->is_fenced && end_failed(w, st));
        is_done &= w->is_told;
        is_ended = is_done;
        is_given = st == WEIR_SHUTDOWN && atomic_load(&i->is_giving) && give(w);
    }
    if (is_done || is_given || w->is_fenced) remove_files(i, id);
    if (is_ended && i->o.node) upload_remove(i->store, id);
    mem_free(w);
}

/* ---- threads ---- */

static struct waiting *next_waiting(struct imports *i)
{
    struct list_node *n = atomic_load(&i->is_stopped) ? NULL : list_first(&i->waiting);
    if (!n) return NULL;
    list_remove(n);
    list_push_back(&i->running, n);
    return CONTAINER_OF(n, struct waiting, node);
}

static void *run_thread(void *user)
{
    struct imports *i = user;
    struct waiting *next;
    CHECK(pthread_mutex_lock(&i->lock) == 0);
    while ((next = next_waiting(i))) {
        CHECK(pthread_mutex_unlock(&i->lock) == 0);
        do_import(i, next->id);
        CHECK(pthread_mutex_lock(&i->lock) == 0);
        list_remove(&next->node);
        mem_free(next);
    }
    i->n_threads--;
    CHECK(pthread_cond_broadcast(&i->is_idle) == 0);
    CHECK(pthread_mutex_unlock(&i->lock) == 0);
    return NULL;
}

/* One more, if there may be; under the lock. What waits stays waiting when there is none. */
static void start_thread(struct imports *i)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (i->n_threads == IMPORTS_THREADS || pthread_attr_init(&attributes) != 0) return;
    bool is_started = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                      pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES) == 0 &&
                      pthread_create(&thread, &attributes, run_thread, i) == 0;
    if (is_started) i->n_threads++;
    pthread_attr_destroy(&attributes);
}

static bool has_id(const struct list *list, struct weir_slice id)
{
    for (struct list_node *n = list_first(list); n; n = list_next(list, n))
        if (weir_slice_is(id, CONTAINER_OF(n, struct waiting, node)->id)) return true;
    return false;
}

/* Under the lock, or before there are threads. One that waits already does not wait twice. */
static void push(struct imports *i, struct weir_slice id)
{
    if (has_id(&i->waiting, id) || has_id(&i->running, id)) return;
    struct waiting *w = mem_zalloc(sizeof *w);
    if (!w) return; /* it is taken up at the next start */
    memcpy(w->id, id.ptr, IMPORT_ID_LEN);
    list_push_back(&i->waiting, &w->node);
}

void imports_add(struct imports *i, const char *id)
{
    CHECK(pthread_mutex_lock(&i->lock) == 0);
    push(i, weir_slice_of(id));
    start_thread(i);
    CHECK(pthread_mutex_unlock(&i->lock) == 0);
}

/* ---- of several nodes ---- */

struct looking {
    char (*ids)[IMPORT_ID_LEN + 1];
    size_t n;
};

static enum weir_status note_slot(void *user, const struct doc *doc)
{
    struct looking *l = user;
    if (l->n < MAX_LOOKED && import_is_id(doc->body))
        memcpy(l->ids[l->n++], doc->body.ptr, IMPORT_ID_LEN);
    return WEIR_OK;
}

struct claiming {
    const char *id, *node;
    int64_t version; /* of what says whose it is */
};

/* One that has ended meanwhile is nobody's. */
static enum weir_status decide_claim(void *user, struct commit_view *view, struct commit *c)
{
    const struct claiming *x = user;
    struct log_state log;
    char name[64];
    enum weir_status st = commit_view_log(view, import_log(name, x->id), &log);
    if (st != WEIR_OK) return st;
    if (!log.exists || log.is_sealed) return WEIR_NOT_FOUND;
    commit_put(c, run_key(x->id), x->version, SLICE(""), weir_slice_of(x->node));
    return WEIR_OK;
}

/* Takes the place of a node that is dead, or gave it away; of several that do, one does. */
static bool claim(struct imports *i, const char *id, const struct doc *doc)
{
    if (atomic_load(&i->is_giving)) return false;
    struct claiming x = {id, i->o.node, doc ? doc->version : DOC_MUST_BE_NEW};
    struct commit *c = commit_new(COMMIT_BYTES);
    if (!c) return false;
    commit_decide(c, false, decide_claim, &x);
    return store_commit_wait(i->store, c).status == WEIR_OK;
}

/* One that is ours and not under way had to wait for the store. */
static bool is_for_us(struct imports *i, const char *id)
{
    struct doc doc;
    enum weir_status st = store_doc_get(i->store, run_key(id), &doc);
    if (st == WEIR_NOT_FOUND) return claim(i, id, NULL);
    if (st != WEIR_OK) return false;
    bool is_ours = weir_slice_is(doc.body, i->o.node) ||
                   ((doc.body.len == 0 || i->o.is_dead(i->o.user, doc.body)) && claim(i, id, &doc));
    doc_fini(&doc);
    return is_ours;
}

static bool has_room(struct imports *i, struct weir_slice id)
{
    CHECK(pthread_mutex_lock(&i->lock) == 0);
    bool has =
        i->n_threads < IMPORTS_THREADS && !has_id(&i->waiting, id) && !has_id(&i->running, id);
    CHECK(pthread_mutex_unlock(&i->lock) == 0);
    return has && !atomic_load(&i->is_stopped);
}

/* Whether a file that was sent is of an import under way, or may become one. */
static bool is_needed(void *user, const char *id, bool is_old)
{
    struct imports *i = user;
    struct doc doc;
    struct work *w = mem_zalloc(sizeof *w);
    if (!w) return true;
    enum weir_status st = store_doc_get(i->store, upload_key(id), &doc);
    bool is_missing = st == WEIR_NOT_FOUND;
    if (st == WEIR_OK) {
        st = read_work(w, &doc);
        doc_fini(&doc);
    }
    mem_free(w);
    return is_missing ? !is_old : st != WEIR_NOT_FOUND;
}

enum weir_status imports_look(struct imports *i)
{
    struct looking l = {mem_zalloc(MAX_LOOKED * sizeof *l.ids), 0};
    const struct doc_query query = {.kind = SLICE("import_slot"), .limit = MAX_LOOKED};
    if (!l.ids) return WEIR_NOMEM;
    enum weir_status st = store_doc_list(i->store, &query, note_slot, &l);
    for (size_t n = 0; n < l.n && st == WEIR_OK; n++)
        if (has_room(i, weir_slice_of(l.ids[n])) && is_for_us(i, l.ids[n]))
            imports_add(i, l.ids[n]);
    mem_free(l.ids);
    if (st == WEIR_OK && i->n_looks++ % SWEEP_LOOKS == SWEEP_LOOKS - 1)
        upload_sweep(i->store, clock_wall_ms(i->o.clock), is_needed, i);
    return st;
}

/* ---- life ---- */

enum weir_status imports_new(struct imports **out, struct store *store,
                             const struct imports_options *options)
{
    struct imports *i = mem_zalloc(sizeof *i);
    if (!i) return WEIR_NOMEM;
    *i = (struct imports){.store = store, .o = *options};
    list_init(&i->waiting);
    list_init(&i->running);
    pthread_mutex_init(&i->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&i->is_idle, &attributes);
    pthread_condattr_destroy(&attributes);
    int len = snprintf(i->folder, sizeof i->folder, "%s/imports", options->folder);
    if (len < 0 || (size_t)len > sizeof i->folder - IMPORT_NAME_BYTES - 64) {
        imports_free(i);
        return WEIR_INVALID;
    }
    *out = i;
    return WEIR_OK;
}

static enum weir_status push_slot(void *user, const struct doc *doc)
{
    if (import_is_id(doc->body)) push(user, doc->body);
    return WEIR_OK;
}

/* What is no import any more, or never became one, is found by a thread, and removed. */
static enum weir_status push_folders(struct imports *i)
{
    DIR *dir = opendir(i->folder);
    if (!dir) return errno == ENOENT ? WEIR_OK : WEIR_IO;
    for (const struct dirent *e; (e = readdir(dir));)
        if (import_is_id(weir_slice_of(e->d_name))) push(i, weir_slice_of(e->d_name));
    closedir(dir);
    return WEIR_OK;
}

/* What an earlier process of this folder had is in the store, and whoever takes it gets it there.
 */
static void remove_folders(struct imports *i)
{
    DIR *dir = opendir(i->folder);
    if (!dir) return;
    for (const struct dirent *e; (e = readdir(dir));)
        if (import_is_id(weir_slice_of(e->d_name))) remove_files(i, e->d_name);
    closedir(dir);
}

/* Whoever has a place has an import, also when its file is lost: then it fails, and the place is
 * free. */
enum weir_status imports_start(struct imports *i)
{
    const struct doc_query query = {.kind = SLICE("import_slot"), .limit = SIZE_MAX};
    if (i->o.node) {
        remove_folders(i);
        return WEIR_OK;
    }
    enum weir_status st = store_doc_list(i->store, &query, push_slot, i);
    if (st == WEIR_OK) st = push_folders(i);
    if (st != WEIR_OK) return st;
    CHECK(pthread_mutex_lock(&i->lock) == 0);
    for (int n = 0; n < IMPORTS_THREADS && !list_is_empty(&i->waiting); n++) start_thread(i);
    CHECK(pthread_mutex_unlock(&i->lock) == 0);
    return WEIR_OK;
}

bool imports_is_busy(struct imports *i)
{
    CHECK(pthread_mutex_lock(&i->lock) == 0);
    bool is_busy = i->n_threads > 0;
    CHECK(pthread_mutex_unlock(&i->lock) == 0);
    return is_busy;
}

unsigned imports_count(struct imports *i)
{
    unsigned n = 0;
    CHECK(pthread_mutex_lock(&i->lock) == 0);
    for (struct list_node *at = list_first(&i->waiting); at; at = list_next(&i->waiting, at)) n++;
    for (struct list_node *at = list_first(&i->running); at; at = list_next(&i->running, at)) n++;
    CHECK(pthread_mutex_unlock(&i->lock) == 0);
    return n;
}

void imports_give(struct imports *i, bool has_others)
{
    if (!i->o.node) return;
    atomic_store(&i->is_giving, has_others);
    atomic_store(&i->has_to_end, has_others);
    if (atomic_load(&i->is_stopped)) atomic_store(&i->has_to_end, true);
}

void imports_stop(struct imports *i, unsigned grace_ms)
{
    struct timespec until = clock_deadline(grace_ms);
    int result = 0;
    atomic_store(&i->is_stopped, true);
    atomic_store(&i->has_to_end, true);
    CHECK(pthread_mutex_lock(&i->lock) == 0);
    while (i->n_threads > 0 && result == 0)
        result = pthread_cond_timedwait(&i->is_idle, &i->lock, &until);
    CHECK(pthread_mutex_unlock(&i->lock) == 0);
}

void imports_free(struct imports *i)
{
    if (!i) return;
    for (struct list_node *n; (n = list_first(&i->waiting));) {
        list_remove(n);
        mem_free(CONTAINER_OF(n, struct waiting, node));
    }
    pthread_cond_destroy(&i->is_idle);
    pthread_mutex_destroy(&i->lock);
    mem_free(i);
}
