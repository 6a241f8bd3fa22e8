/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools that run in other processes. A work is known by its turn and the number of its call, and
 * outlives the passes: the first one begins it, and whatever comes of it wakes the turn, whose next
 * pass finds it here.
 *
 *   mark ──▶ run ──▶ is done ──▶ told, and forgotten
 *
 * What may not be done twice is marked in the store before it begins ("session_tool" TRN/NNN). A
 * mark without a work is one of an earlier process: nobody knows what became of it, and that is
 * what the model is told. A turn that ends in the middle of it is told here what is known of its
 * call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "session/question_impl.h"
#include "session/tools_impl.h"

enum { LINE_VALUES_BYTES = 64 << 10, PATH_BYTES = 1024, WAKE_NS = 250 * 1000 * 1000 };

enum work_state { WORK_MARKING, WORK_READY, WORK_RUNNING, WORK_DONE };

/* In the engine's list, under its lock, but for what only passes touch. */
struct work {
    struct list_node node;
    struct sessions *sessions;
    char turn[SESSION_TURN_LEN + 1];
    unsigned number;
    unsigned n_users; /* the list, the store, the runner */
    enum work_state state;
    bool is_program; /* somebody's own, which may go on for long */
    uint64_t ticket;
    enum weir_status status; /* of the mark, then of the work */
    struct weir_buf output;
    bool has_line;
    char line[RUNNER_LINE_BYTES];
    size_t line_len;
    uint64_t woken_ns;
    uint64_t told_ns; /* of passes */
};

/* ---- the list ---- */

static struct work *find(struct sessions *s, struct weir_slice turn, unsigned number)
{
    for (struct list_node *n = list_first(&s->works); n; n = list_next(&s->works, n)) {
        struct work *w = CONTAINER_OF(n, struct work, node);
        if (w->number == number && weir_slice_is(turn, w->turn)) return w;
    }
    return NULL;
}

/* Under the lock. */
static void leave(struct work *w)
{
    if (--w->n_users > 0) return;
    weir_buf_fini(&w->output);
    mem_free(w);
}

static void drop(struct sessions *s, struct work *w)
{
    pthread_mutex_lock(&s->lock);
    list_remove(&w->node);
    leave(w);
    pthread_mutex_unlock(&s->lock);
}

static struct work *work_new(struct tool_call *c)
{
    struct sessions *s = c->sessions;
    struct weir_slice turn = pass_turn(c->pass);
    struct work *w = mem_zalloc(sizeof *w);
    if (!w || turn.len >= sizeof w->turn) {
        mem_free(w);
        return NULL;
    }
    w->sessions = s;
    memcpy(w->turn, turn.ptr, turn.len);
    w->number = c->wish->number;
    w->is_program = c->tool.program != NULL;
    w->n_users = 1;
    w->state = WORK_READY;
    weir_buf_init(&w->output, RUNNER_OUTPUT_BYTES);
    pthread_mutex_lock(&s->lock);
    list_push_back(&s->works, &w->node);
    pthread_mutex_unlock(&s->lock);
    return w;
}

/* What it said, as it may be shown. */
static void put_text(struct weir_buf *out, const struct work *w)
{
    struct weir_slice text = weir_buf_slice(&w->output);
    while (text.len > 0 && text.ptr[text.len - 1] == '\n') text.len--;
    utf8_append_repaired(out, text);
}

bool tools_abort(struct sessions *s, struct weir_slice turn)
{
    bool runs = false;
    pthread_mutex_lock(&s->lock);
    for (struct list_node *n = list_first(&s->works); n; n = list_next(&s->works, n)) {
        struct work *w = CONTAINER_OF(n, struct work, node);
        if (w->state != WORK_RUNNING || !weir_slice_is(turn, w->turn)) continue;
        /* Ours take milliseconds: rather know what they did than wonder. */
        if (w->is_program) runner_kill(s->options.runner, w->ticket);
        runs = true;
    }
    pthread_mutex_unlock(&s->lock);
    return runs;
}

/* turn empty: all. */
static void forget(struct sessions *s, struct weir_slice turn)
{
    pthread_mutex_lock(&s->lock);
    for (struct list_node *n = list_first(&s->works), *next; n; n = next) {
        struct work *w = CONTAINER_OF(n, struct work, node);
        next = list_next(&s->works, n);
        if (turn.len > 0 && !weir_slice_is(turn, w->turn)) continue;
        if (w->state == WORK_RUNNING) runner_kill(s->options.runner, w->ticket);
        list_remove(n);
        leave(w);
    }
    pthread_mutex_unlock(&s->lock);
}

void tools_turn_ended(struct sessions *s, struct weir_slice turn)
{
    forget(s, turn);
}

void tools_forget(struct sessions *s)
{
    forget(s, (struct weir_slice){0});
}

/* ---- the mark ---- */

static void on_marked(void *user, enum weir_status st)
{
    struct work *w = user;
    struct sessions *s = w->sessions;
    char turn[SESSION_TURN_LEN + 1];
    pthread_mutex_lock(&s->lock);
    memcpy(turn, w->turn, sizeof turn);
    w->status = st;
    w->state = WORK_READY;
    leave(w);
    pthread_mutex_unlock(&s->lock);
    turn_wake(s, weir_slice_of(turn));
}

static void mark(struct tool_call *c, struct work *w)
{
    char key[TOOL_DOC_BYTES];
    w->state = WORK_MARKING;
    w->n_users++;
    flow_save(pass_step(c->pass), &(struct flow_save){.key = tool_doc_key(key, c),
                                                      .body = SLICE("{\"state\":\"begun\"}"),
                                                      .done = on_marked,
                                                      .user = w});
}

static enum weir_status is_marked(struct tool_call *c)
{
    char key[TOOL_DOC_BYTES];
    struct session_doc doc;
    enum weir_status st = session_doc_get(c->sessions->store, tool_doc_key(key, c), &doc);
    session_doc_fini(&doc);
    return st;
}

/* ---- the runner ---- */

static void on_line(void *user, struct weir_slice line)
{
    struct work *w = user;
    struct sessions *s = w->sessions;
    uint64_t now_ns = clock_mono_ns(&clock_system);
    char turn[SESSION_TURN_LEN + 1];
    pthread_mutex_lock(&s->lock);
    memcpy(turn, w->turn, sizeof turn);
    w->line_len = line.len < sizeof w->line ? line.len : 0;
    memcpy(w->line, line.ptr, w->line_len);
    w->has_line = w->line_len > 0;
    /* The newest of many counts; it waits for the next, or for the end. */
    bool is_due = now_ns - w->woken_ns >= WAKE_NS;
    if (is_due) w->woken_ns = now_ns;
    pthread_mutex_unlock(&s->lock);
    if (is_due) turn_wake(s, weir_slice_of(turn));
}

static void on_done(void *user, enum weir_status st, struct weir_slice output)
{
    struct work *w = user;
    struct sessions *s = w->sessions;
    char turn[SESSION_TURN_LEN + 1];
    pthread_mutex_lock(&s->lock);
    memcpy(turn, w->turn, sizeof turn);
    w->status = st;
    weir_buf_append_slice(&w->output, output);
    w->state = WORK_DONE;
    if (st == WEIR_CANCELLED) s->stats.n_tools_killed++;
    leave(w);
    pthread_mutex_unlock(&s->lock);
    turn_wake(s, weir_slice_of(turn));
}

/* Programs get what the model has said; functions of ours the id of the call, too. */
static void put_input(const struct tool_call *c, struct weir_buf *out)
{
    if (c->tool.program) {
        weir_buf_append_slice(out, weir_buf_slice(&c->args));
        return;
    }
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "call");
    weir_json_put_string(out, c->wish->call_id);
    weir_json_put_key(out, "input");
    weir_buf_append_slice(out, weir_buf_slice(&c->args));
    weir_json_put_end_object(out);
}

static enum weir_status run_job(struct work *w, const struct runner_job *job)
{
    struct sessions *s = w->sessions;
    pthread_mutex_lock(&s->lock);
    w->n_users++;
    w->state = WORK_RUNNING;
    enum weir_status st = runner_run(s->options.runner, job, &w->ticket);
    if (st != WEIR_OK) {
        w->n_users--;
        w->state = WORK_READY;
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}

/* The path of the session's own folder, with `behind` behind it. */
static bool put_folder(const struct tool_call *c, const char *behind, char out[PATH_BYTES])
{
    struct weir_slice session = pass_session(c->pass);
    int len = snprintf(out, PATH_BYTES, "%s/%.*s%s", c->sessions->options.folder, (int)session.len,
                       session.ptr, behind);
    return len >= 0 && len < PATH_BYTES;
}

static enum weir_status run(struct tool_call *c, struct work *w)
{
    struct weir_buf input;
    const struct program *p = c->tool.program;
    char folder[PATH_BYTES];
    if (!put_folder(c, "", folder)) return WEIR_INTERNAL;
    weir_buf_init(&input, RUNNER_INPUT_BYTES);
    put_input(c, &input);
    const struct runner_job job = {.folder = folder,
                                   .function = p ? NULL : c->tool.name,
                                   .argv = p ? p->argv : NULL,
                                   .input = weir_buf_slice(&input),
                                   .wall_ms = p ? p->wall_ms : 0,
                                   .memory_bytes = p ? p->memory_bytes : 0,
                                   .progress = on_line,
                                   .done = on_done,
                                   .user = w};
    enum weir_status st = weir_buf_status(&input);
    if (st == WEIR_OK) st = run_job(w, &job);
    weir_buf_fini(&input);
    return st;
}

/* ---- passes ---- */

static void tell_line(struct tool_call *c, struct work *w)
{
    char line[RUNNER_LINE_BYTES];
    double percent = -1;
    const struct weir_json *json;
    pthread_mutex_lock(&c->sessions->lock);
    size_t len = w->has_line ? w->line_len : 0;
    memcpy(line, w->line, len);
    w->has_line = false;
    pthread_mutex_unlock(&c->sessions->lock);
    struct weir_json_doc *doc = len > 0 ? weir_json_doc_new(LINE_VALUES_BYTES) : NULL;
    if (doc && weir_json_parse(doc, slice_of(line, len), &json, NULL) == WEIR_OK) {
        if (!weir_json_double(weir_json_get_str(json, "percent"), &percent)) percent = -1;
        unsigned whole = percent >= 0 && percent <= 100 ? (unsigned)percent : 101;
        c->told_ns = w->told_ns;
        tool_tell_progress(c, weir_json_text(weir_json_get_str(json, "progress")), whole);
        w->told_ns = c->told_ns;
    }
    weir_json_doc_free(doc);
}

static enum weir_status take_end(struct tool_call *c, struct work *w)
{
    struct weir_buf words;
    enum weir_status st = w->status;
    if (st == WEIR_OK) put_text(&c->result, w);
    else {
        weir_buf_init(&words, 4096);
        utf8_append_repaired(&words, weir_buf_slice(&w->output));
        (void)tool_fail(c, st, "%.*s", (int)words.len, words.ptr ? words.ptr : "");
        weir_buf_fini(&words);
    }
    drop(c->sessions, w);
    return st == WEIR_IO ? WEIR_UNPROCESSABLE : st;
}

static enum weir_status begin(struct tool_call *c)
{
    if (flow_is_aborted(pass_step(c->pass))) return WEIR_CANCELLED;
    enum weir_status st = c->tool.is_repeatable ? WEIR_NOT_FOUND : is_marked(c);
    if (st == WEIR_OK)
        return tool_fail(c, WEIR_UNPROCESSABLE,
                         "the server stopped meanwhile: it is unknown whether it happened");
    if (st != WEIR_NOT_FOUND) return st;
    struct work *w = work_new(c);
    if (!w) return WEIR_NOMEM;
    if (c->tool.is_repeatable) return tool_work(c);
    mark(c, w);
    return pass_wait_work(c->pass);
}

/* It is to begin now. */
static enum weir_status go(struct tool_call *c, struct work *w)
{
    enum weir_status st = w->status;
    bool is_aborted = flow_is_aborted(pass_step(c->pass));
    /* One with a mark stays: to the end of the turn, a mark alone is that of a work that ran. */
    if (st == WEIR_OK && is_aborted && !c->tool.is_repeatable) return WEIR_CANCELLED;
    if (st == WEIR_OK) st = is_aborted ? WEIR_CANCELLED : run(c, w);
    if (st == WEIR_OK) return pass_wait_work(c->pass);
    drop(c->sessions, w);
    if (st == WEIR_BUSY)
        return tool_fail(c, WEIR_LIMIT, "too many tools run at the moment; try again later");
    return st == WEIR_IO ? tool_fail(c, WEIR_UNPROCESSABLE, "tools cannot be run any more") : st;
}

enum weir_status tool_work(struct tool_call *c)
{
    struct sessions *s = c->sessions;
    pthread_mutex_lock(&s->lock);
    struct work *w = find(s, pass_turn(c->pass), c->wish->number);
    enum work_state state = w ? w->state : WORK_READY;
    pthread_mutex_unlock(&s->lock);
    if (!w) return begin(c);
    if (state == WORK_READY) return go(c, w);
    if (state == WORK_RUNNING || state == WORK_DONE) tell_line(c, w);
    if (c->status != WEIR_OK) return c->status;
    if (state == WORK_DONE) return take_end(c, w);
    if (flow_is_aborted(pass_step(c->pass))) (void)tools_abort(s, pass_turn(c->pass));
    return pass_wait_work(c->pass);
}

/* ---- notes ---- */

enum weir_status tool_can_delete_note(struct tool_call *c)
{
    char folder[PATH_BYTES], name[NOTE_NAME_BYTES + 1];
    struct stat info;
    struct weir_slice given = weir_json_text(weir_json_get_str(c->input, "name"));
    if (!put_folder(c, "/notes", folder)) return WEIR_INTERNAL;
    snprintf(name, sizeof name, "%.*s", (int)given.len, given.ptr);
    /* Programs write there, too: no link of theirs is followed. */
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* What else is wrong, the one that works says. */
    bool is_there = fd < 0 && errno != ENOENT;
    if (fd >= 0)
        is_there = fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
    if (fd >= 0) close(fd);
    return is_there ? WEIR_OK : tool_fail(c, WEIR_NOT_FOUND, "there is no note of that name");
}

/* ---- the end of the turn ---- */

static enum tool_fate fate_of(const struct work *w)
{
    bool has_begun = w->state == WORK_RUNNING || w->state == WORK_DONE;
    if (!has_begun) return TOOL_NOT_DONE;
    if (w->state == WORK_RUNNING || w->status == WEIR_CANCELLED) return TOOL_UNKNOWN;
    return w->status == WEIR_OK ? TOOL_DONE : TOOL_FAILED;
}

/* By the works of this process; false: there is none. */
static bool find_work(struct sessions *s, const struct tool_open *call, enum tool_fate *fate,
                      struct weir_buf *result)
{
    pthread_mutex_lock(&s->lock);
    const struct work *w = find(s, call->turn, call->number);
    if (w) *fate = fate_of(w);
    if (w && (*fate == TOOL_DONE || *fate == TOOL_FAILED)) put_text(result, w);
    pthread_mutex_unlock(&s->lock);
    return w != NULL;
}

/* By what its tool has left in the store. WEIR_NOT_FOUND: nothing. */
static enum weir_status find_mark(struct sessions *s, const struct tool_open *call,
                                  enum tool_fate *fate, struct weir_buf *result)
{
    char key[TOOL_DOC_BYTES];
    struct session_doc doc;
    enum weir_status st =
        session_doc_get(s->store, tool_doc_key_of(key, call->turn, call->number), &doc);
    const struct weir_json *v = st == WEIR_OK ? weir_json_get_str(doc.json, "result") : NULL;
    if (v) weir_buf_append_slice(result, weir_json_text(v));
    *fate = v ? TOOL_DONE : TOOL_UNKNOWN;
    session_doc_fini(&doc);
    return st;
}

/* Of one that leaves no mark: an earlier process may have run it as soon as it was allowed. */
static enum weir_status find_leave(struct sessions *s, const struct tool_open *call,
                                   enum tool_fate *fate)
{
    char id[QUESTION_ID_BYTES];
    struct session_doc doc;
    *fate = TOOL_NOT_DONE;
    if (!call->is_old || !tool_is_unmarked(call->name)) return WEIR_OK;
    struct weir_slice question = question_id(id, QUESTION_APPROVAL, call->turn, call->number);
    enum weir_status st =
        session_doc_get(s->store, question_closed_key(QUESTION_APPROVAL, question), &doc);
    struct weir_slice decision =
        st == WEIR_OK ? weir_json_text(weir_json_get_str(doc.json, "decision")) : SLICE("");
    if (st == WEIR_CORRUPT || weir_slice_is(decision, "allow")) *fate = TOOL_UNKNOWN;
    session_doc_fini(&doc);
    return st == WEIR_NOT_FOUND || st == WEIR_CORRUPT ? WEIR_OK : st;
}

enum weir_status tool_find_fate(struct sessions *s, const struct tool_open *call,
                                enum tool_fate *fate, struct weir_buf *result)
{
    if (find_work(s, call, fate, result)) return weir_buf_status(result);
    enum weir_status st = find_mark(s, call, fate, result);
    if (st == WEIR_NOT_FOUND) return find_leave(s, call, fate);
    /* A turn has to end, also one with a document that is damaged. */
    if (st == WEIR_CORRUPT) return WEIR_OK;
    return st == WEIR_OK ? weir_buf_status(result) : st;
}
