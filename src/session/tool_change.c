/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools that change what the store has. The change and its result ("session_tool" TRN/NNN) are one
 * commit, decided when its turn comes: a pass that finds the result there does nothing more, so
 * that it happens once, whatever crashes.
 */
#include "agent/memory.h"
#include "base/slice.h"
#include "session/command.h"
#include "session/tools_impl.h"

enum { ENTRY_VALUES_BYTES = 8 << 20, DOC_BYTES = 64 << 10 };

struct same;

struct change {
    struct tool_call *call;
    char key[TOOL_DOC_BYTES];
    struct weir_buf doc, body;
    /* Puts the change into the commit. */
    enum weir_status (*put)(struct change *ch, struct commit_view *view, struct commit *c);
    char id[MEMORY_ID_LEN + 1];
    const struct same *same; /* what is forgotten */
    struct new_job job;
};

/* ---- once ---- */

static enum weir_status find_result(struct tool_call *c)
{
    char key[TOOL_DOC_BYTES];
    struct session_doc doc;
    enum weir_status st = session_doc_get(c->sessions->store, tool_doc_key(key, c), &doc);
    if (st == WEIR_OK)
        weir_buf_append_slice(&c->result, weir_json_text(weir_json_get_str(doc.json, "result")));
    session_doc_fini(&doc);
    return st;
}

static enum weir_status decide(void *user, struct commit_view *view, struct commit *commit)
{
    struct change *ch = user;
    struct doc found;
    struct doc_key key = tool_doc_key(ch->key, ch->call);
    enum weir_status st = commit_view_doc(view, key, &found);
    if (st != WEIR_NOT_FOUND) return st == WEIR_OK ? WEIR_EXISTS : st;
    st = flow_is_wanted(view, pass_turn(ch->call->pass));
    if (st == WEIR_OK) st = ch->put(ch, view, commit);
    if (st == WEIR_OK)
        commit_put(commit, key, DOC_MUST_BE_NEW, pass_owner(ch->call->pass),
                   weir_buf_slice(&ch->doc));
    return st;
}

/* What the model is told is in c->result. */
static enum weir_status commit_change(struct change *ch)
{
    struct tool_call *c = ch->call;
    struct commit *commit = commit_new(0);
    if (!commit) return WEIR_NOMEM;
    weir_json_put_begin_object(&ch->doc);
    weir_json_put_key(&ch->doc, "result");
    weir_json_put_string(&ch->doc, weir_buf_slice(&c->result));
    weir_json_put_end_object(&ch->doc);
    enum weir_status st = weir_buf_status(&ch->doc);
    if (st == WEIR_OK) st = weir_buf_status(&ch->body);
    if (st != WEIR_OK) {
        commit_free(commit);
        return st;
    }
    commit_decide(commit, false, decide, ch);
    st = store_commit_wait(c->sessions->store, commit).status;
    if (st != WEIR_EXISTS) return st;
    weir_buf_reset(&c->result);
    return find_result(c);
}

static void begin(struct change *ch, struct tool_call *c)
{
    *ch = (struct change){.call = c};
    weir_buf_init(&ch->doc, DOC_BYTES);
    weir_buf_init(&ch->body, MEMORY_ENTRY_BYTES);
}

static void end(struct change *ch)
{
    weir_buf_fini(&ch->doc);
    weir_buf_fini(&ch->body);
}

static struct weir_slice given(const struct tool_call *c, const char *member)
{
    return weir_json_text(weir_json_get_str(c->input, member));
}

static void put_result(struct tool_call *c, const char *key, struct weir_slice text)
{
    weir_json_put_key(&c->result, key);
    weir_json_put_string(&c->result, text);
}

/* ---- memory ---- */

static enum weir_status count_one(void *user, const struct doc *doc)
{
    size_t *n = user;
    (void)doc;
    (*n)++;
    return WEIR_OK;
}

static struct doc_query memories_of(const struct tool_call *c)
{
    return (struct doc_query){.kind = memory_key((struct weir_slice){0}).kind,
                              .owner = pass_owner(c->pass),
                              .limit = MEMORY_MAX_ENTRIES,
                              .is_falling = true};
}

/* An entry with the text that is looked for. */
struct same {
    struct same *next;
    int64_t version;
    char id[MEMORY_ID_LEN + 1];
};

struct search {
    struct tool_call *call;
    struct weir_slice text;
    struct weir_json_doc *doc;
    struct same *found;
};

/* Whoever writes with a stop may ask without one, and the other way round. */
static bool is_same(struct weir_slice a, struct weir_slice b)
{
    return slice_eq(command_without_stop(a), command_without_stop(b));
}

static enum weir_status keep_same(struct search *s, const struct doc *doc)
{
    struct arena *arena = pass_arena(s->call->pass);
    struct same *m = arena_alloc(arena, sizeof *m);
    if (!m) return arena->status;
    *m = (struct same){.next = s->found, .version = doc->version};
    memcpy(m->id, doc->id.ptr, doc->id.len);
    s->found = m;
    return WEIR_OK;
}

static enum weir_status look_at(void *user, const struct doc *doc)
{
    struct search *s = user;
    struct memory_entry e;
    const struct weir_json *json = NULL;
    weir_json_doc_reset(s->doc);
    enum weir_status st = weir_json_parse(s->doc, doc->body, &json, NULL);
    if (st != WEIR_OK || !memory_read(json, &e)) return st == WEIR_NOMEM ? st : WEIR_OK;
    if (!is_same(e.text, s->text) || doc->id.len > MEMORY_ID_LEN) return WEIR_OK;
    return keep_same(s, doc);
}

/* All of them: people see a text, not how often it was written. *found NULL: there are none. */
static enum weir_status find_same(struct tool_call *c, struct same **found)
{
    struct doc_query query = memories_of(c);
    struct search s = {.call = c, .text = given(c, "text")};
    *found = NULL;
    s.doc = weir_json_doc_new(ENTRY_VALUES_BYTES);
    if (!s.doc) return WEIR_NOMEM;
    enum weir_status st = store_doc_list(c->sessions->store, &query, look_at, &s);
    weir_json_doc_free(s.doc);
    *found = s.found;
    return st;
}

static enum weir_status put_memory(struct change *ch, struct commit_view *view, struct commit *c)
{
    (void)view;
    commit_put(c, memory_key(weir_slice_of(ch->id)), DOC_MUST_BE_NEW, pass_owner(ch->call->pass),
               weir_buf_slice(&ch->body));
    return WEIR_OK;
}

enum weir_status tool_check_remember(struct tool_call *c)
{
    struct weir_slice text, category;
    enum weir_status st = tool_text(c, "text", true, MEMORY_TEXT_BYTES, &text);
    if (st == WEIR_OK) st = tool_text(c, "category", false, 32, &category);
    if (st == WEIR_OK && category.len > 0 && !memory_is_category(category))
        st = tool_fail(c, WEIR_BAD_FIELD,
                       "category has to be goal, preference, insight or hypothesis");
    return st;
}

static void put_remembered(struct tool_call *c, const char *id)
{
    weir_json_put_begin_object(&c->result);
    put_result(c, "remembered", given(c, "text"));
    put_result(c, "id", weir_slice_of(id));
    weir_json_put_end_object(&c->result);
}

static enum weir_status make_memory(struct change *ch)
{
    struct tool_call *c = ch->call;
    char now[CLOCK_TEXT_BYTES];
    struct weir_slice category = given(c, "category");
    clock_format(now, sessions_now(c->sessions));
    enum weir_status st = sessions_next_id(c->sessions, memory_id_prefix, ch->id);
    if (st != WEIR_OK) return st;
    memory_put(&ch->body,
               &(struct memory_entry){.id = weir_slice_of(ch->id),
                                      .category = category.len > 0 ? category : SLICE("insight"),
                                      .text = given(c, "text"),
                                      .created_at = weir_slice_of(now),
                                      .updated_at = weir_slice_of(now)});
    put_remembered(c, ch->id);
    ch->put = put_memory;
    return WEIR_OK;
}

/* It is remembered already: the result alone is written. */
static enum weir_status put_nothing(struct change *ch, struct commit_view *view, struct commit *c)
{
    (void)ch;
    (void)view;
    (void)c;
    return WEIR_OK;
}

static enum weir_status has_room(struct tool_call *c)
{
    size_t n = 0;
    struct doc_query query = memories_of(c);
    enum weir_status st = store_doc_list(c->sessions->store, &query, count_one, &n);
    if (st == WEIR_OK && n >= MEMORY_MAX_ENTRIES)
        return tool_fail(c, WEIR_LIMIT, "%d entries are remembered already; forget some first",
                         MEMORY_MAX_ENTRIES);
    return st;
}

/* What is remembered already needs no room. */
enum weir_status tool_can_remember(struct tool_call *c)
{
    struct same *same;
    enum weir_status st = find_same(c, &same);
    return st == WEIR_OK && !same ? has_room(c) : st;
}

enum weir_status tool_remember(struct tool_call *c)
{
    struct change ch;
    struct same *same;
    enum weir_status st = find_result(c);
    if (st != WEIR_NOT_FOUND) return st;
    st = find_same(c, &same);
    if (st == WEIR_OK && !same) st = has_room(c);
    if (st != WEIR_OK) return st;
    begin(&ch, c);
    if (same) {
        ch.put = put_nothing;
        put_remembered(c, same->id);
    } else {
        st = make_memory(&ch);
    }
    if (st == WEIR_OK) st = commit_change(&ch);
    end(&ch);
    return st;
}

/* Those that somebody has changed meanwhile say something else, and stay. */
static enum weir_status remove_memories(struct change *ch, struct commit_view *view,
                                        struct commit *c)
{
    struct doc doc;
    for (const struct same *m = ch->same; m; m = m->next) {
        struct doc_key key = memory_key(weir_slice_of(m->id));
        enum weir_status st = commit_view_doc(view, key, &doc);
        if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
        if (st == WEIR_OK && doc.version == m->version) commit_remove(c, key, doc.version);
    }
    return WEIR_OK;
}

enum weir_status tool_check_forget(struct tool_call *c)
{
    struct weir_slice text;
    return tool_text(c, "text", true, MEMORY_TEXT_BYTES, &text);
}

static enum weir_status find_to_forget(struct tool_call *c, struct same **found)
{
    enum weir_status st = find_same(c, found);
    if (st == WEIR_OK && !*found)
        return tool_fail(c, WEIR_NOT_FOUND, "nothing with that text is remembered");
    return st;
}

enum weir_status tool_can_forget(struct tool_call *c)
{
    struct same *same;
    return find_to_forget(c, &same);
}

enum weir_status tool_forget(struct tool_call *c)
{
    struct change ch;
    struct same *same;
    enum weir_status st = find_result(c);
    if (st != WEIR_NOT_FOUND) return st;
    st = find_to_forget(c, &same);
    if (st != WEIR_OK) return st;
    begin(&ch, c);
    ch.put = remove_memories;
    ch.same = same;
    weir_json_put_begin_object(&c->result);
    put_result(c, "forgotten", given(c, "text"));
    weir_json_put_end_object(&c->result);
    st = commit_change(&ch);
    end(&ch);
    return st;
}

/* ---- schedules ---- */

static enum weir_status put_job(struct change *ch, struct commit_view *view, struct commit *c)
{
    return jobs_put(ch->call->sessions, &ch->job, view, c);
}

static struct new_job job_of_call(const struct tool_call *c)
{
    return (struct new_job){.owner = pass_owner(c->pass),
                            .session = pass_session(c->pass),
                            .schedule = given(c, "schedule"),
                            .zone = given(c, "timezone"),
                            .text = given(c, "text")};
}

enum weir_status tool_check_schedule(struct tool_call *c)
{
    struct weir_slice text;
    enum weir_status st = tool_text(c, "schedule", true, 256, &text);
    if (st == WEIR_OK) st = tool_text(c, "timezone", false, 64, &text);
    if (st == WEIR_OK) st = tool_text(c, "text", true, SESSION_TEXT_BYTES, &text);
    if (st != WEIR_OK) return st;
    /* Nobody is asked about what could not be made anyway. */
    struct new_job job = job_of_call(c);
    st = jobs_make_sense(c->sessions, &job);
    return st == WEIR_BAD_FIELD ? tool_fail(c, st, "%s", job.why) : st;
}

static void put_schedule(struct tool_call *c, const struct new_job *job)
{
    char next[CLOCK_TEXT_BYTES];
    clock_format(next, job->next_ms);
    weir_json_put_begin_object(&c->result);
    put_result(c, "jobId", weir_slice_of(job->id));
    put_result(c, "schedule", job->schedule);
    put_result(c, "timezone", weir_slice_of(job->zone_name));
    put_result(c, "nextRunAt", weir_slice_of(next));
    weir_json_put_end_object(&c->result);
}

enum weir_status tool_schedule(struct tool_call *c)
{
    struct change ch;
    enum weir_status st = find_result(c);
    if (st != WEIR_NOT_FOUND) return st;
    begin(&ch, c);
    ch.put = put_job;
    ch.job = job_of_call(c);
    st = jobs_check(c->sessions, &ch.job);
    if (st == WEIR_OK) {
        put_schedule(c, &ch.job);
        st = commit_change(&ch);
        jobs_made(c->sessions, &ch.job, st);
    } else if (st == WEIR_BAD_FIELD || st == WEIR_CONCURRENCY) {
        st = tool_fail(c, WEIR_UNPROCESSABLE, "%s", ch.job.why);
    }
    end(&ch);
    return st;
}
