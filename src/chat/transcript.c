/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reply has shown so far: its log, with the texts of its tokens joined. It is what a reply
 * goes on from after a crash, and what its message is made of in the end, so that nothing else has
 * to say what was sent: an event that is in the log is never sent again.
 */
#include "base/mem.h"
#include "base/slice.h"
#include "chat/chat_impl.h"

enum {
    TEXT_BYTES = 16 << 20, /* of all tokens */
    READ_BYTES = 256 << 10,
};

void transcript_init(struct transcript *t)
{
    *t = (struct transcript){0};
    t->end = &t->first;
    weir_buf_init(&t->text, TEXT_BYTES);
}

void transcript_fini(struct transcript *t)
{
    for (struct said *s = t->first, *next; s; s = next) {
        next = s->next;
        mem_free(s);
    }
    weir_buf_fini(&t->text);
    transcript_init(t);
}

static enum weir_status add_token(struct transcript *t, struct weir_slice json)
{
    const struct weir_json *value;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, json, &value, NULL);
    if (st == WEIR_OK)
        weir_buf_append_slice(&t->text, weir_json_text(weir_json_get_str(value, "text")));
    weir_json_doc_free(doc);
    return st == WEIR_OK ? weir_buf_status(&t->text) : st;
}

enum weir_status transcript_add(struct transcript *t, struct weir_slice type,
                                struct weir_slice json)
{
    if (weir_slice_is(type, "token")) return add_token(t, json);
    struct said *s = mem_zalloc(sizeof *s + type.len + json.len);
    if (!s) return WEIR_NOMEM;
    memcpy(s->bytes, type.ptr, type.len);
    memcpy(s->bytes + type.len, json.ptr, json.len);
    s->type = slice_of(s->bytes, type.len);
    s->json = slice_of(s->bytes + type.len, json.len);
    s->at = t->text.len;
    *t->end = s;
    t->end = &s->next;
    return WEIR_OK;
}

static enum weir_status add_events(struct transcript *t, struct weir_slice events)
{
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && events.len > 0) {
        size_t len = chunk_event_length(events);
        if (len == 0) return WEIR_CORRUPT;
        struct weir_slice event = slice_of(events.ptr, len);
        st = transcript_add(t, chunk_event_line(event, "event: "),
                            chunk_event_line(event, "data: "));
        events = slice_from(events, len);
    }
    return st;
}

static enum weir_status add_chunks(struct transcript *t, struct log_read *read, uint64_t *next)
{
    enum weir_status st = read->status;
    for (unsigned i = 0; i < read->n_chunks; i++) {
        if (st == WEIR_OK) st = add_events(t, chunk_from(read->chunks[i], *next));
        *next = read->chunks[i]->last + 1;
        chunk_unref(read->chunks[i]);
    }
    return st;
}

enum weir_status transcript_load(struct transcript *t, struct store *store,
                                 struct weir_slice message)
{
    char log[CHAT_LOG_BYTES];
    enum weir_status st = WEIR_OK;
    uint64_t next = 1;
    if (t->is_loaded) return WEIR_OK;
    for (;;) {
        struct log_read read;
        store_read(store, chat_log(log, message), next, READ_BYTES, &read);
        unsigned n = read.n_chunks;
        st = add_chunks(t, &read, &next);
        if (st != WEIR_OK || n == 0) break;
    }
    if (st != WEIR_OK) transcript_fini(t);
    t->is_loaded = st == WEIR_OK;
    return st;
}

const struct said *transcript_find(const struct transcript *t, const char *type, unsigned n)
{
    const struct said *s = t->first;
    for (; s; s = s->next)
        if (weir_slice_is(s->type, type) && n-- == 0) break;
    return s;
}

unsigned transcript_count(const struct transcript *t, const char *type)
{
    unsigned n = 0;
    for (const struct said *s = t->first; s; s = s->next) n += weir_slice_is(s->type, type);
    return n;
}

const struct said *transcript_of_tool(const struct transcript *t, const char *type, const char *id)
{
    static const char head[] = "{\"id\":\"";
    size_t n_head = sizeof head - 1, n_id = strlen(id);
    for (const struct said *s = t->first; s; s = s->next) {
        bool is_its = weir_slice_is(s->type, type) && s->json.len > n_head + n_id &&
                      memcmp(s->json.ptr, head, n_head) == 0 &&
                      memcmp(s->json.ptr + n_head, id, n_id) == 0 &&
                      s->json.ptr[n_head + n_id] == '"';
        if (is_its) return s;
    }
    return NULL;
}

bool transcript_decision(const struct transcript *t, char id[DECISION_ID_BYTES])
{
    static const char head[] = "{\"decisionId\":\"";
    const struct said *s = transcript_find(t, "dlp_preview", 0);
    size_t at = sizeof head - 1;
    if (!s || s->json.len < at + DECISION_ID_BYTES) return false;
    memcpy(id, s->json.ptr + at, DECISION_ID_BYTES - 1);
    id[DECISION_ID_BYTES - 1] = 0;
    return true;
}
