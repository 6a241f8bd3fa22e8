/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An import from the beginning to the end: what was named is listed, each file gets a reader,
 * everything is read once without consequences and once for its facts, which go to the store in
 * batches. How far it is goes into the same commits.
 */
#include "import/import.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "data/series.h"
#include "import/archive.h"
#include "import/import_impl.h"
#include "io/crypto.h"

enum {
    PIECE_BYTES = 256 << 10,
    TELL_EVERY_MS = 100, /* the caller */
    LOG_EVERY_MS = 1000, /* the import's log */
    COMMIT_HINT = 4096,
    DATA_BYTES = 60 << 10, /* of an event */
    NS_PER_MS = 1000000,
    USER_BYTES = 96,
};

/* What is known of a file after the first reading. */
struct verdict {
    const struct reader_kind *kind; /* NULL: not read */
};

struct run {
    struct store *store;
    const struct import_options *o;
    struct import_error *error;
    struct archive *archive;
    struct verdict *verdicts;
    struct zone *zone;
    struct facts *facts;
    struct fact_sink inner; /* the facts' own */
    struct tally tally;
    struct job job;
    struct running *place;
    char *piece; /* PIECE_BYTES */

    const struct reader_kind *kind; /* of the file that is being read */
    struct reader *reader;
    struct import_progress progress;
    uint64_t began_ns, told_ns, logged_ns;
    uint64_t n_records;    /* of the files before */
    uint64_t bytes_before; /* of the files before */
    bool is_damaged;       /* what was named cannot be read, or not unpacked */
};

/* Texts have parts of files in them, which may be any bytes and must not speak to a terminal. */
static void make_printable(char *text)
{
    for (;;) {
        size_t len = utf8_valid_prefix(weir_slice_of(text));
        if (text[len] == 0) break;
        text[len] = '?';
    }
    for (; *text != 0; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F) *text = ' ';
}

/* A path as it may be shown. */
static const char *shown(const struct run *r, const char *path)
{
    const char *hidden = r->o->hidden;
    size_t len = hidden ? strlen(hidden) : 0;
    return len > 0 && strncmp(path, hidden, len) == 0 ? path + len : path;
}

static void hide_paths(const struct run *r, char *text)
{
    const char *hidden = r->o->hidden;
    size_t len = hidden ? strlen(hidden) : 0;
    for (char *at = text; len > 0 && (at = strstr(at, hidden));)
        memmove(at, at + len, strlen(at + len) + 1);
}

__attribute__((format(printf, 3, 4))) static enum weir_status fail(struct run *r,
                                                                   enum weir_status st,
                                                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->error->text, sizeof r->error->text, format, args);
    va_end(args);
    hide_paths(r, r->error->text);
    make_printable(r->error->text);
    return st;
}

/* ---- one import of a person at a time ---- */

struct running {
    struct store *store;
    struct weir_slice user;
    bool is_ending;
    struct running *next;
};

static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t running_fewer = PTHREAD_COND_INITIALIZER;
static struct running *running;

static const struct running *running_find(const struct running *mine)
{
    const struct running *r = running;
    while (r && (r->store != mine->store || !slice_eq(r->user, mine->user))) r = r->next;
    return r;
}

/* Who has seen the last event of an import may come before that has quite ended, and waits. */
static bool running_add(struct running *mine)
{
    const struct running *other;
    CHECK(pthread_mutex_lock(&running_lock) == 0);
    while ((other = running_find(mine)) && other->is_ending)
        CHECK(pthread_cond_wait(&running_fewer, &running_lock) == 0);
    if (!other) {
        mine->next = running;
        running = mine;
    }
    CHECK(pthread_mutex_unlock(&running_lock) == 0);
    return !other;
}

/* The last event is about to be seen. */
static void running_end(struct running *mine)
{
    CHECK(pthread_mutex_lock(&running_lock) == 0);
    mine->is_ending = true;
    CHECK(pthread_mutex_unlock(&running_lock) == 0);
}

static void running_remove(const struct running *mine)
{
    CHECK(pthread_mutex_lock(&running_lock) == 0);
    struct running **at = &running;
    while (*at && *at != mine) at = &(*at)->next;
    if (*at) *at = mine->next;
    CHECK(pthread_cond_broadcast(&running_fewer) == 0);
    CHECK(pthread_mutex_unlock(&running_lock) == 0);
}

/* ---- progress ---- */

static void put_progress(struct run *r, struct weir_buf *out)
{
    const struct import_progress *p = &r->progress;
    weir_json_put_begin_object(out);
    job_put_text(out, "file", p->file);
    job_put_text(out, "kind", p->kind);
    member_uint(out, "bytes", p->bytes);
    member_uint(out, "total_bytes", p->total_bytes);
    member_uint(out, "records", p->records);
    member_uint(out, "refused", p->refused);
    member_uint(out, "elapsed_ms", p->elapsed_ms);
    weir_json_put_end_object(out);
}

typedef void (*put_fn)(struct run *r, struct weir_buf *out);

/* Adds an event to a commit; `put` writes its data. */
static enum weir_status add_event(struct run *r, struct commit *c, const char *type, put_fn put)
{
    struct weir_buf data;
    weir_buf_init(&data, DATA_BYTES);
    put(r, &data);
    enum weir_status st = weir_buf_status(&data);
    if (st == WEIR_OK) st = job_event(&r->job, c, type, weir_buf_slice(&data));
    weir_buf_fini(&data);
    return st;
}

enum closing { GO_ON, BEGIN, DONE };

/* Commits an event, and with it that the import begins or is done. */
static enum weir_status commit_event(struct run *r, const char *type, put_fn put,
                                     enum closing closing)
{
    struct commit *c = commit_new(COMMIT_HINT);
    if (!c) return WEIR_NOMEM;
    enum weir_status st = add_event(r, c, type, put);
    if (st == WEIR_OK && closing != GO_ON)
        st = job_put(&r->job, c, closing == DONE ? "done" : "running");
    if (st != WEIR_OK) {
        commit_free(c);
        return st;
    }
    if (closing == DONE && r->o->ending) r->o->ending(r->o->ending_user, c, r->tally.summary);
    if (closing == DONE) job_seal(&r->job, c);
    if (r->o->fence) commit_decide(c, false, r->o->fence, r->o->fence_user);
    return store_commit_wait(r->store, c).status;
}

static void refresh_progress(struct run *r)
{
    struct import_progress *p = &r->progress;
    p->records = r->n_records + (r->reader ? r->kind->records(r->reader) : 0);
    p->refused = r->tally.summary->n_refused;
    p->elapsed_ms = (clock_mono_ns(r->o->clock) - r->began_ns) / NS_PER_MS;
}

static bool is_due(struct run *r, uint64_t *last_ns, uint64_t every_ms)
{
    uint64_t now = clock_mono_ns(r->o->clock);
    if (now - *last_ns < every_ms * NS_PER_MS) return false;
    *last_ns = now;
    return true;
}

/* Tells the caller, and once a second the log. */
static enum weir_status tell(struct run *r)
{
    if (r->o->is_stopped && atomic_load(r->o->is_stopped)) return WEIR_SHUTDOWN;
    if (r->o->progress && is_due(r, &r->told_ns, TELL_EVERY_MS)) {
        refresh_progress(r);
        r->o->progress(r->o->progress_user, &r->progress);
    }
    if (r->progress.is_checking || !is_due(r, &r->logged_ns, LOG_EVERY_MS)) return WEIR_OK;
    refresh_progress(r);
    return commit_event(r, "import.progress", put_progress, GO_ON);
}

/* ---- handing facts over ---- */

/* What the store says, for people. */
static enum weir_status store_failed(struct run *r, enum weir_status st)
{
    if (st == WEIR_OK || r->error->text[0] != 0) return st;
    if (st == WEIR_NO_SPACE)
        return fail(
            r, st,
            "the disk is full. What was imported until now is kept: make room, then run the "
            "same import again, and it goes on from there");
    if (st == WEIR_CONFLICT)
        return fail(r, st,
                    "somebody else changed this person's data at the same time: run the same "
                    "import again, and it goes on from here");
    if (st == WEIR_LIMIT)
        return fail(r, st,
                    "there is more of one kind in one day or year than the store can hold. What "
                    "was imported until now is kept; the rest of these files cannot be");
    return fail(r, st,
                "the data cannot be stored: %s. Run the same import again, and it goes on "
                "from here",
                weir_status_text(st));
}

/* Commits the batch, and with it how far the reading is. */
static enum weir_status flush(struct run *r)
{
    struct commit *c = commit_new(COMMIT_HINT);
    if (!c) return WEIR_NOMEM;
    if (r->reader && r->kind->mark && r->kind->resume) {
        uint64_t mark = r->kind->mark(r->reader);
        r->job.note[0] = 0;
        if (r->kind->note && mark > 0) r->kind->note(r->reader, r->job.note);
        r->job.mark = mark;
    } else {
        r->job.mark = 0;
    }
    enum weir_status st = job_put(&r->job, c, "running");
    if (r->o->fence) commit_decide(c, false, r->o->fence, r->o->fence_user);
    if (st == WEIR_OK) return store_failed(r, facts_flush(r->facts, c));
    commit_free(c);
    return st;
}

static enum weir_status make_room(struct run *r)
{
    return facts_is_full(r->facts) ? flush(r) : WEIR_OK;
}

static enum weir_status on_sample(void *user, const struct sample *s)
{
    struct run *r = user;
    enum weir_status st = make_room(r);
    if (st != WEIR_OK) return st;
    tally_metric(&r->tally, s->metric, SLICE(""));
    tally_source(&r->tally, &s->source);
    tally_day(&r->tally, day_of_moment(s->start.at, s->start.offset));
    return r->inner.sample(r->inner.user, s);
}

static enum weir_status on_day_value(void *user, const struct day_value *v)
{
    struct run *r = user;
    enum weir_status st = make_room(r);
    if (st != WEIR_OK) return st;
    tally_metric(&r->tally, v->metric, v->name);
    tally_source(&r->tally, &v->source);
    tally_day(&r->tally, v->day);
    return r->inner.day_value(r->inner.user, v);
}

static enum weir_status on_stage(void *user, const struct stage *s)
{
    struct run *r = user;
    enum weir_status st = make_room(r);
    if (st != WEIR_OK) return st;
    tally_named(&r->tally, "sleep stages");
    tally_source(&r->tally, &s->source);
    tally_day(&r->tally, day_of_moment(s->end.at, s->end.offset));
    return r->inner.stage(r->inner.user, s);
}

static enum weir_status on_sleep(void *user, const struct sleep *s)
{
    struct run *r = user;
    enum weir_status st = make_room(r);
    if (st != WEIR_OK) return st;
    tally_named(&r->tally, "sleeps");
    tally_source(&r->tally, &s->source);
    tally_day(&r->tally, s->day);
    return r->inner.sleep(r->inner.user, s);
}

static enum weir_status on_workout(void *user, const struct workout *w)
{
    struct run *r = user;
    enum weir_status st = make_room(r);
    if (st != WEIR_OK) return st;
    tally_named(&r->tally, "workouts");
    tally_source(&r->tally, &w->source);
    tally_day(&r->tally, w->day);
    return r->inner.workout(r->inner.user, w);
}

static enum weir_status on_lab(void *user, const struct lab *l)
{
    struct run *r = user;
    enum weir_status st = make_room(r);
    if (st != WEIR_OK) return st;
    tally_named(&r->tally, "laboratory results");
    tally_source(&r->tally, &l->source);
    tally_day(&r->tally, l->day);
    return r->inner.lab(r->inner.user, l);
}

static void on_refuse(void *user, uint64_t line, const char *reason)
{
    struct run *r = user;
    tally_refused(&r->tally, r->progress.file, line, reason);
}

/* What the store cannot keep: the reader is still at the record that it came from. */
static void on_not_kept(void *user, const char *reason)
{
    struct run *r = user;
    on_refuse(r, r->reader && r->kind->line ? r->kind->line(r->reader) : 0, reason);
}

static void on_ignore(void *user, struct weir_slice what)
{
    struct run *r = user;
    tally_ignored(&r->tally, what);
}

static enum weir_status on_exported(void *user, struct moment at)
{
    struct run *r = user;
    return r->inner.exported ? r->inner.exported(r->inner.user, at) : WEIR_OK;
}

static struct fact_sink counting_sink(struct run *r)
{
    return (struct fact_sink){r,          on_sample, on_day_value, on_stage,  on_sleep,
                              on_workout, on_lab,    on_refuse,    on_ignore, on_exported};
}

/* ---- handing nothing over ---- */

static enum weir_status drop_sample(void *user, const struct sample *s)
{
    (void)user, (void)s;
    return WEIR_OK;
}

static enum weir_status drop_day_value(void *user, const struct day_value *v)
{
    (void)user, (void)v;
    return WEIR_OK;
}

static enum weir_status drop_stage(void *user, const struct stage *s)
{
    (void)user, (void)s;
    return WEIR_OK;
}

static enum weir_status drop_sleep(void *user, const struct sleep *s)
{
    (void)user, (void)s;
    return WEIR_OK;
}

static enum weir_status drop_workout(void *user, const struct workout *w)
{
    (void)user, (void)w;
    return WEIR_OK;
}

static enum weir_status drop_lab(void *user, const struct lab *l)
{
    (void)user, (void)l;
    return WEIR_OK;
}

static void drop_refusal(void *user, uint64_t line, const char *reason)
{
    (void)user, (void)line, (void)reason;
}

static void drop_ignored(void *user, struct weir_slice what)
{
    (void)user, (void)what;
}

static const struct fact_sink nowhere = {NULL,         drop_sample,  drop_day_value, drop_stage,
                                         drop_sleep,   drop_workout, drop_lab,       drop_refusal,
                                         drop_ignored, NULL};

/* ---- reading a file ---- */

static struct reader_context context_of(struct run *r, size_t i, struct fact_sink sink)
{
    return (struct reader_context){
        .sink = sink,
        .file_name = archive_item(r->archive, i)->base,
        .zone = r->zone,
        .note = weir_slice_of(r->job.note),
        .dates = r->o->dates,
        .units = r->o->units,
        .person = r->o->person,
    };
}

/* Why a reading ended: the archive's reason, the store's, or the reader's. */
static enum weir_status reading_failed(struct run *r, enum weir_status st)
{
    if (st == WEIR_OK || r->error->text[0] != 0) return st;
    const char *why = r->reader ? r->kind->error(r->reader) : "";
    return fail(r, st, "%s: %s", r->progress.file, why[0] != 0 ? why : weir_status_text(st));
}

static enum weir_status archive_failed(struct run *r, enum weir_status st)
{
    r->is_damaged = true;
    return fail(r, st, "%s", archive_error(r->archive));
}

static enum weir_status read_piece(struct run *r, size_t *n)
{
    enum weir_status st = archive_read(r->archive, r->piece, PIECE_BYTES, n);
    if (st != WEIR_OK) return archive_failed(r, st);
    r->progress.bytes += *n;
    return WEIR_OK;
}

/* Everything from where the archive stands to the end of the file, after the first n bytes. */
static enum weir_status feed_all(struct run *r, size_t n)
{
    enum weir_status st = WEIR_OK;
    while (n > 0) {
        st = r->kind->feed(r->reader, slice_of(r->piece, n));
        if (st != WEIR_OK) return reading_failed(r, st);
        st = tell(r);
        if (st != WEIR_OK) return store_failed(r, st);
        st = read_piece(r, &n);
        if (st != WEIR_OK) return st;
    }
    return reading_failed(r, r->kind->end(r->reader));
}

static void close_reader(struct run *r)
{
    if (!r->reader) return;
    r->n_records += r->kind->records(r->reader);
    r->kind->close(r->reader);
    r->reader = NULL;
}

/* What every export has and nobody needs, by its place or name; NULL. */
static const char *useless(const struct archive_item *item)
{
    static const struct {
        const char *part, *what;
    } parts[] = {
        {"workout-routes/", "workout routes (GPX)"},
        {"electrocardiograms/", "electrocardiograms"},
        {"__MACOSX/", "notes of the Finder"},
        {"export_cda.xml", "export_cda.xml (the same data once more)"},
    };
    if (item->is_named) return NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memmem(item->path.ptr, item->path.len, parts[i].part, strlen(parts[i].part)))
            return parts[i].what;
    return NULL;
}

/* Whether this reading is about the file at all: what share of the work its bytes are. */
static uint64_t bytes_of(const struct run *r, size_t i)
{
    const struct archive_item *item = archive_item(r->archive, i);
    bool is_read = r->progress.is_checking ? !useless(item) : r->verdicts[i].kind != NULL;
    return is_read ? item->bytes : 0;
}

static void begin_reading(struct run *r, bool is_checking)
{
    r->progress.is_checking = is_checking;
    r->progress.bytes = r->progress.total_bytes = r->bytes_before = r->n_records = 0;
    for (size_t i = 0; i < archive_count(r->archive); i++)
        r->progress.total_bytes += bytes_of(r, i);
}

static void enter(struct run *r, size_t i)
{
    r->progress.file = shown(r, archive_item(r->archive, i)->name);
    r->progress.file_index = (unsigned)i;
    r->progress.kind = NULL;
    r->progress.bytes = r->bytes_before;
}

static void leave(struct run *r, size_t i)
{
    close_reader(r);
    archive_stop(r->archive);
    r->bytes_before += bytes_of(r, i);
    r->progress.bytes = r->bytes_before;
}

/* ---- the first reading ---- */

static const struct reader_kind *find_kind(struct run *r, const struct archive_item *item,
                                           struct weir_slice head)
{
    if (!r->o->kind) return reader_detect(item->base, head);
    const struct reader_kind *kind = reader_kind_find(r->o->kind);
    return item->is_named || kind->recognise(item->base, head) > 0 ? kind : NULL;
}

static enum weir_status unknown(struct run *r, struct weir_slice head)
{
    struct weir_buf text;
    weir_buf_init(&text, DATA_BYTES);
    weir_buf_printf(&text, "%s: this is no file that weir can read: ", r->progress.file);
    describe_head(&text, head);
    weir_buf_append_str(&text, ". Known kinds: ");
    describe_kinds(&text);
    weir_buf_append_str(
        &text, " (the option kind says which it is; plain tables need a column with dates)");
    (void)fail(r, WEIR_INVALID, "%.*s", (int)text.len, text.ptr);
    weir_buf_fini(&text);
    return WEIR_INVALID;
}

/* Reads a file to its end, to no consequence but the verdict. The first n bytes were read. */
static enum weir_status try_out(struct run *r, size_t i, size_t n)
{
    struct reader_context context = context_of(r, i, nowhere);
    context.note = SLICE("");
    r->kind = r->verdicts[i].kind;
    r->progress.kind = r->kind->name;
    enum weir_status st = r->kind->open(&r->reader, &context);
    if (st != WEIR_OK) return fail(r, st, "%s: %s", r->progress.file, weir_status_text(st));
    return feed_all(r, n);
}

/*
 * Whether what is wrong with this file ends the import: it was asked for, it is the main thing of
 * an archive, or the archive itself is damaged and nobody knows what else is.
 */
static bool is_essential(const struct run *r, size_t i, enum weir_status st)
{
    const struct verdict *v = &r->verdicts[i];
    int http = weir_status_http(st);
    if (r->is_damaged || (http != 400 && http != 413)) return true;
    return archive_item(r->archive, i)->is_named || (v->kind && v->kind->mark);
}

/* The first bytes, which say what it is; a small file may be all of it. */
static enum weir_status recognise(struct run *r, size_t i, size_t *n)
{
    const struct archive_item *item = archive_item(r->archive, i);
    const char *why = useless(item);
    if (why) {
        tally_ignored(&r->tally, weir_slice_of(why));
        return WEIR_OK;
    }
    enum weir_status st = archive_start(r->archive, i, 0);
    if (st != WEIR_OK) return archive_failed(r, st);
    st = read_piece(r, n);
    if (st != WEIR_OK) return st;
    struct weir_slice head = slice_of(r->piece, *n < READER_HEAD_BYTES ? *n : READER_HEAD_BYTES);
    r->verdicts[i].kind = find_kind(r, item, head);
    if (r->verdicts[i].kind) return WEIR_OK;
    if (item->is_named) return unknown(r, head);
    tally_ignored(&r->tally, item->path);
    return WEIR_OK;
}

static enum weir_status check_file(struct run *r, size_t i)
{
    size_t n = 0;
    enum weir_status st = recognise(r, i, &n);
    return st == WEIR_OK && r->verdicts[i].kind ? try_out(r, i, n) : st;
}

static enum weir_status nothing_known(struct run *r)
{
    struct weir_buf text;
    const struct import_summary *s = r->tally.summary;
    weir_buf_init(&text, DATA_BYTES);
    weir_buf_printf(&text, "%s: there is nothing in it that weir can read. It has ",
                    shown(r, r->o->paths[0]));
    for (size_t i = 0; i < s->n_ignored_kinds && i < 4; i++)
        weir_buf_printf(&text, "%s%s", i > 0 ? ", " : "", s->ignored[i].name);
    weir_buf_printf(&text, "%s. Known kinds: ", s->n_ignored_kinds > 4 ? ", …" : "");
    describe_kinds(&text);
    (void)fail(r, WEIR_INVALID, "%.*s", (int)text.len, text.ptr);
    weir_buf_fini(&text);
    return WEIR_INVALID;
}

/* A file of many that is wrong as a whole; its name is not said twice. */
static void refuse_file(struct run *r)
{
    const char *why = r->error->text;
    size_t len = strlen(r->progress.file);
    if (strncmp(why, r->progress.file, len) == 0 && strncmp(why + len, ": ", 2) == 0)
        why += len + 2;
    tally_refused(&r->tally, r->progress.file, 0, why);
    r->error->text[0] = 0;
}

static enum weir_status check_all(struct run *r)
{
    size_t n_known = 0;
    begin_reading(r, true);
    for (size_t i = 0; i < archive_count(r->archive); i++) {
        enter(r, i);
        enum weir_status st = check_file(r, i);
        if (st != WEIR_OK && !is_essential(r, i, st)) {
            refuse_file(r);
            r->verdicts[i].kind = NULL;
            st = WEIR_OK;
        }
        leave(r, i);
        if (st != WEIR_OK) return st;
        if (r->verdicts[i].kind) n_known++;
    }
    r->progress.n_files = (unsigned)n_known;
    return n_known > 0 ? WEIR_OK : nothing_known(r);
}

/* ---- the second reading ---- */

static void put_file(struct run *r, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    job_put_text(out, "file", r->progress.file);
    job_put_text(out, "kind", r->progress.kind);
    member_uint(out, "bytes", archive_item(r->archive, r->job.item)->bytes);
    weir_json_put_end_object(out);
}

/* Events of many small files go with the next commit that there is. */
static enum weir_status log_file(struct run *r)
{
    enum { LARGE_BYTES = 1 << 20 };
    if (archive_item(r->archive, r->job.item)->bytes < LARGE_BYTES && r->progress.n_files > 1)
        return WEIR_OK;
    return store_failed(r, commit_event(r, "import.file", put_file, GO_ON));
}

static enum weir_status import_file(struct run *r, size_t i, uint64_t mark)
{
    struct reader_context context = context_of(r, i, counting_sink(r));
    size_t n = 0;
    facts_next_file(r->facts);
    r->kind = r->verdicts[i].kind;
    r->progress.kind = r->kind->name;
    enum weir_status st = mark > 0 && r->kind->resume ? r->kind->resume(&r->reader, &context, mark)
                                                      : r->kind->open(&r->reader, &context);
    if (st != WEIR_OK) return fail(r, st, "%s: %s", r->progress.file, weir_status_text(st));
    st = log_file(r);
    if (st != WEIR_OK) return st;
    st = archive_start(r->archive, i, mark);
    if (st != WEIR_OK) return archive_failed(r, st);
    r->progress.bytes += mark;
    st = read_piece(r, &n);
    if (st != WEIR_OK) return st;
    return feed_all(r, n);
}

static enum weir_status import_all(struct run *r)
{
    for (size_t i = 0; i < archive_count(r->archive); i++) {
        bool is_first = i == r->job.item;
        enter(r, i);
        if (r->verdicts[i].kind && i >= r->job.item) {
            uint64_t mark = is_first ? r->job.mark : 0;
            if (!is_first) r->job.note[0] = 0;
            r->job.item = i;
            enum weir_status st = import_file(r, i, mark);
            if (st != WEIR_OK) return st;
        }
        leave(r, i);
    }
    r->job.item = archive_count(r->archive);
    return WEIR_OK;
}

/* ---- beginning and end ---- */

static void put_started(struct run *r, struct weir_buf *out)
{
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, clock_wall_ms(r->o->clock));
    weir_json_put_begin_object(out);
    job_put_text(out, "file", shown(r, r->o->paths[0]));
    member_uint(out, "files", r->progress.n_files);
    member_uint(out, "bytes", r->progress.total_bytes);
    weir_json_put_key(out, "resumed");
    weir_json_put_bool(out, r->job.is_resumed);
    job_put_text(out, "at", at);
    weir_json_put_end_object(out);
}

static void put_failed(struct run *r, struct weir_buf *out)
{
    weir_json_put_begin_object(out);
    job_put_text(out, "error", r->error->text);
    weir_json_put_end_object(out);
}

static void put_completed(struct run *r, struct weir_buf *out)
{
    import_write_summary(out, r->tally.summary);
}

static void summarise(struct run *r)
{
    struct import_summary *s = r->tally.summary;
    struct facts_summary f = {0};
    if (r->facts) facts_summary(r->facts, &f);
    s->bytes = r->progress.bytes;
    s->records = r->n_records;
    s->n_facts = f.n_facts;
    s->n_new = f.n_new;
    s->n_duplicates = f.n_duplicates;
    s->was_resumed = r->job.is_resumed;
    snprintf(s->log, sizeof s->log, "%s", r->job.log);
    tally_finish(&r->tally);
}

/* All was read: the last facts, then the end of the log and of the import, at once. */
static enum weir_status complete(struct run *r)
{
    enum weir_status st = flush(r);
    summarise(r);
    if (st != WEIR_OK) return st;
    running_end(r->place);
    return store_failed(r, commit_event(r, "import.completed", put_completed, DONE));
}

/* The log says why, if it still can; the import may go on another time. */
static void give_up(struct run *r)
{
    summarise(r);
    running_end(r->place);
    (void)commit_event(r, "import.failed", put_failed, GO_ON);
}

/* The same files, read in the same way: what was said of them counts too. */
static enum weir_status identify(struct run *r, unsigned char hash[ARCHIVE_HASH_BYTES])
{
    const struct import_options *o = r->o;
    struct weir_buf all;
    enum weir_status st = archive_hash(r->archive, hash);
    if (st != WEIR_OK) return archive_failed(r, st);
    weir_buf_init(&all, DATA_BYTES);
    weir_buf_append(&all, hash, ARCHIVE_HASH_BYTES);
    weir_buf_printf(&all, "%s\n%s\n%d\n%d\n%.*s", o->kind ? o->kind : "", o->zone ? o->zone : "",
                    (int)o->dates, (int)o->units, (int)o->person.len,
                    o->person.len > 0 ? o->person.ptr : "");
    st = weir_buf_status(&all);
    if (st == WEIR_OK) sha256(weir_buf_slice(&all), hash);
    weir_buf_fini(&all);
    return st;
}

static enum weir_status begin_job(struct run *r)
{
    unsigned char hash[ARCHIVE_HASH_BYTES];
    enum weir_status st = identify(r, hash);
    if (st != WEIR_OK) return st;
    st = job_begin(&r->job, hash);
    if (st != WEIR_OK) return store_failed(r, st);
    st = facts_open(&r->facts, r->store, r->o->user);
    if (st != WEIR_OK) return store_failed(r, st);
    r->inner = facts_sink(r->facts);
    facts_on_refuse(r->facts, on_not_kept, r);
    return store_failed(r, commit_event(r, "import.started", put_started, BEGIN));
}

static enum weir_status check_options(struct run *r)
{
    const struct import_options *o = r->o;
    if (o->user.len == 0 || o->user.len > USER_BYTES)
        return fail(r, WEIR_INVALID, "the user's name is empty or longer than 96 bytes");
    if (memchr(o->user.ptr, '/', o->user.len) || memchr(o->user.ptr, 0, o->user.len))
        return fail(r, WEIR_INVALID, "the user's name has a \"/\" in it");
    if (o->n_paths == 0) return fail(r, WEIR_INVALID, "there is nothing to import");
    if (o->kind && !reader_kind_find(o->kind)) {
        struct weir_buf kinds;
        weir_buf_init(&kinds, DATA_BYTES);
        describe_kinds(&kinds);
        (void)fail(r, WEIR_INVALID, "there is no kind \"%s\". Known kinds: %.*s", o->kind,
                   (int)kinds.len, kinds.ptr ? kinds.ptr : "");
        weir_buf_fini(&kinds);
        return WEIR_INVALID;
    }
    if (zone_load(&r->zone, o->zone) != WEIR_OK)
        return fail(r, WEIR_INVALID,
                    "there is no time zone \"%s\". They are called as America/New_York, "
                    "Europe/Berlin, UTC or +02:00",
                    o->zone ? o->zone : "of this machine");
    return WEIR_OK;
}

static enum weir_status open_files(struct run *r)
{
    char why[ARCHIVE_ERROR_BYTES];
    enum weir_status st = archive_open(&r->archive, r->o->paths, r->o->n_paths, why);
    if (st != WEIR_OK) return fail(r, st, "%s", why[0] != 0 ? why : weir_status_text(st));
    r->verdicts = mem_zalloc(archive_count(r->archive) * sizeof *r->verdicts);
    return r->verdicts ? WEIR_OK : WEIR_NOMEM;
}

static enum weir_status run_all(struct run *r)
{
    enum weir_status st = open_files(r);
    if (st != WEIR_OK) return st;
    st = check_all(r);
    if (st != WEIR_OK) {
        summarise(r);
        return st;
    }
    begin_reading(r, false);
    st = begin_job(r);
    if (st == WEIR_OK) st = import_all(r);
    if (st == WEIR_OK) st = complete(r);
    if (st != WEIR_OK && st != WEIR_SHUTDOWN) give_up(r);
    return st;
}

/* In zeroed memory; run_fini() in any case. */
static enum weir_status run_init(struct run *r, const struct import_options *o,
                                 struct import_summary *summary, struct import_error *error)
{
    error->text[0] = 0;
    r->o = o;
    r->error = error;
    r->began_ns = r->told_ns = r->logged_ns = clock_mono_ns(o->clock);
    r->piece = mem_alloc(PIECE_BYTES);
    enum weir_status st = tally_init(&r->tally, summary);
    if (st == WEIR_OK && !r->piece) st = WEIR_NOMEM;
    return st == WEIR_OK ? check_options(r) : st;
}

static void run_fini(struct run *r, enum weir_status st)
{
    if (st != WEIR_OK && r->error->text[0] == 0) (void)fail(r, st, "%s", weir_status_text(st));
    close_reader(r);
    archive_close(r->archive);
    facts_close(r->facts);
    zone_free(r->zone);
    tally_fini(&r->tally);
    mem_free(r->verdicts);
    mem_free(r->piece);
    mem_free(r);
}

enum weir_status import_run(struct store *store, const struct import_options *o,
                            struct import_summary *summary, struct import_error *error)
{
    struct running mine = {.store = store, .user = o->user};
    struct run *r = mem_zalloc(sizeof *r);
    if (!r) return WEIR_NOMEM;
    enum weir_status st = run_init(r, o, summary, error);
    r->store = store;
    r->place = &mine;
    r->job = (struct job){.store = store, .clock = o->clock, .user = o->user, .wish = o->log};
    if (st == WEIR_OK) r->job.first_file = shown(r, o->paths[0]);
    if (st == WEIR_OK && !running_add(&mine)) {
        st = fail(r, WEIR_BUSY,
                  "this person's data are being imported just now: wait until that "
                  "is done");
    } else if (st == WEIR_OK) {
        st = run_all(r);
        running_remove(&mine);
    }
    run_fini(r, st);
    return st;
}

/* Until something is known. */
static enum weir_status look_at_all(struct run *r)
{
    size_t n = 0;
    enum weir_status st = open_files(r);
    for (size_t i = 0; st == WEIR_OK && i < archive_count(r->archive); i++) {
        enter(r, i);
        st = recognise(r, i, &n);
        if (st != WEIR_OK && !is_essential(r, i, st)) st = WEIR_OK;
        leave(r, i);
        if (st == WEIR_OK && r->verdicts[i].kind) return WEIR_OK;
    }
    return st == WEIR_OK ? nothing_known(r) : st;
}

enum weir_status import_look(const struct import_options *o, struct import_error *error)
{
    struct run *r = mem_zalloc(sizeof *r);
    struct import_summary *summary = mem_zalloc(sizeof *summary);
    enum weir_status st = WEIR_NOMEM;
    error->text[0] = 0;
    if (r && summary) {
        st = run_init(r, o, summary, error);
        r->progress.is_checking = true;
        if (st == WEIR_OK) st = look_at_all(r);
        run_fini(r, st);
    } else {
        mem_free(r);
    }
    mem_free(summary);
    return st;
}
