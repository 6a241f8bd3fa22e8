/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a turn has shown so far: the events of its session behind the one it began at, without those
 * that are nobody's turn (their types have a dot), with the texts of its deltas joined. It is what
 * a turn goes on from after a crash, and what its message is made of in the end, so that nothing
 * else has to say what was sent: an event that is in the log is never sent again.
 */
#include "base/mem.h"
#include "base/slice.h"
#include "session/turn_impl.h"

enum {
    TEXT_BYTES = 16 << 20, /* of all deltas */
    READ_BYTES = 256 << 10,
};

void shown_init(struct shown *s)
{
    *s = (struct shown){.is_loaded = false};
    s->end = &s->first;
    weir_buf_init(&s->text, TEXT_BYTES);
    pthread_mutex_init(&s->lock, NULL);
}

static void forget(struct shown *s)
{
    for (struct shown_event *e = s->first, *next; e; e = next) {
        next = e->next;
        mem_free(e);
    }
    s->first = NULL;
    s->end = &s->first;
    weir_buf_fini(&s->text);
}

void shown_fini(struct shown *s)
{
    forget(s);
    pthread_mutex_destroy(&s->lock);
}

void shown_add_text(struct shown *s, struct weir_slice text)
{
    pthread_mutex_lock(&s->lock);
    weir_buf_append_slice(&s->text, text);
    pthread_mutex_unlock(&s->lock);
}

static struct weir_slice copy(char **at, struct weir_slice text)
{
    struct weir_slice out = slice_of(*at, text.len);
    if (text.len > 0) memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return out;
}

static enum weir_status add_event(struct shown *s, const struct weir_json *v,
                                  struct weir_slice json)
{
    struct weir_slice type = weir_json_text(weir_json_get_str(v, "type"));
    struct weir_slice call = weir_json_text(weir_json_get_str(v, "toolCallId"));
    struct weir_slice message = weir_json_text(weir_json_get_str(v, "messageId"));
    struct shown_event *e = mem_zalloc(sizeof *e + type.len + call.len + message.len + json.len);
    if (!e) return WEIR_NOMEM;
    char *at = e->bytes;
    e->type = copy(&at, type);
    e->call_id = copy(&at, call);
    e->message_id = copy(&at, message);
    e->json = copy(&at, json);
    *s->end = e;
    s->end = &e->next;
    return WEIR_OK;
}

enum weir_status shown_add(struct shown *s, struct weir_slice json)
{
    const struct weir_json *v;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, json, &v, NULL);
    struct weir_slice type =
        st == WEIR_OK ? weir_json_text(weir_json_get_str(v, "type")) : (struct weir_slice){0};
    bool is_push = type.len > 0 && memchr(type.ptr, '.', type.len);
    if (st == WEIR_OK && weir_slice_is(type, "text_delta"))
        shown_add_text(s, weir_json_text(weir_json_get_str(v, "text")));
    else if (st == WEIR_OK && !is_push && !weir_slice_is(type, "thinking_delta"))
        st = add_event(s, v, json);
    weir_json_doc_free(doc);
    return st == WEIR_OK ? weir_buf_status(&s->text) : st;
}

static enum weir_status add_events(struct shown *s, struct weir_slice events)
{
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && events.len > 0) {
        size_t len = chunk_event_length(events);
        if (len == 0) return WEIR_CORRUPT;
        st = shown_add(s, chunk_event_line(slice_of(events.ptr, len), "data: "));
        events = slice_from(events, len);
    }
    return st;
}

static enum weir_status add_chunks(struct shown *s, struct log_read *read, uint64_t *next)
{
    enum weir_status st = read->status;
    for (unsigned i = 0; i < read->n_chunks; i++) {
        if (st == WEIR_OK) st = add_events(s, chunk_from(read->chunks[i], *next));
        *next = read->chunks[i]->last + 1;
        chunk_unref(read->chunks[i]);
    }
    return st;
}

enum weir_status shown_load(struct shown *s, struct store *store, struct weir_slice session,
                            uint64_t from)
{
    char log[SESSION_LOG_BYTES];
    enum weir_status st = WEIR_OK;
    uint64_t next = from + 1;
    if (s->is_loaded) return WEIR_OK;
    for (;;) {
        struct log_read read;
        store_read(store, session_log(log, session), next, READ_BYTES, &read);
        unsigned n = read.n_chunks;
        st = add_chunks(s, &read, &next);
        if (st != WEIR_OK || n == 0) break;
    }
    if (st != WEIR_OK) forget(s);
    for (struct shown_event *e = s->first; e; e = e->next) e->is_old = true;
    s->is_loaded = st == WEIR_OK;
    return st;
}

unsigned shown_count(const struct shown *s, const char *type)
{
    unsigned n = 0;
    for (const struct shown_event *e = s->first; e; e = e->next) n += weir_slice_is(e->type, type);
    return n;
}

const struct shown_event *shown_find(const struct shown *s, const char *type,
                                     struct weir_slice call_id)
{
    const struct shown_event *e = s->first;
    for (; e; e = e->next)
        if (weir_slice_is(e->type, type) && (call_id.len == 0 || slice_eq(e->call_id, call_id)))
            break;
    return e;
}

bool shown_has_message(const struct shown *s, const char *message_id)
{
    for (const struct shown_event *e = s->first; e; e = e->next)
        if (weir_slice_is(e->type, "message_persisted") && weir_slice_is(e->message_id, message_id))
            return true;
    return false;
}

struct weir_slice pass_shown_call(const struct turn_pass *p, const char *type,
                                  struct weir_slice call_id)
{
    const struct shown_event *e = shown_find(&p->attempt->shown, type, call_id);
    return e ? e->json : (struct weir_slice){0};
}
