/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks: by a thread of the store's, what a fork inherits becomes the first events of its commit,
 * and what the request brings the next. When that is more than a commit holds, the fork is made
 * first, as one that nobody sees, and filled by several commits before the last one shows it.
 * Between two of those it goes to the end of the queue for the store's threads: all reads need
 * them, too.
 */
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "serve/ds_make.h"
#include "stream/frame.h"

enum {
    COPY_READ_BYTES = 256 << 10, /* of a source, at a time */
    COPY_COMMIT_BYTES = 2 << 20, /* of a fork, in one commit */
    COPY_OVERHEAD = 64,          /* what an event costs in a commit beside its bytes */
};

/* Where the copying is. */
struct copying {
    struct making *m;
    enum stream_format format;
    struct stream_log_text to_text;
    struct weir_slice to;
    uint64_t upto; /* whole events that are inherited */
    uint64_t n_copied;
    uint64_t sub;   /* of the next event, or events */
    size_t n_bytes; /* in the commit */
    bool has_had_turn;
    bool is_done;
};

static void stop_copying(struct copying *c, enum weir_status st, enum stream_outcome why)
{
    c->m->status = st;
    c->m->trouble = why;
    c->is_done = true;
}

static enum weir_status delete_now(struct making *m, bool only_copying)
{
    struct commit *d = commit_new(RECORD_BYTES);
    struct stream_delete what = {.name = m->create.name,
                                 .only_copying = only_copying,
                                 .only_expired = !only_copying,
                                 .now_ms = m->create.now_ms};
    if (!d) return WEIR_NOMEM;
    stream_delete_commit(d, &what);
    return store_commit_wait(m->store, d).status;
}

/* Makes the fork, so that its name is taken while its events are copied. */
static void begin_long(struct copying *c)
{
    struct making *m = c->m;
    for (int i = 0; i < 2; i++) {
        struct commit *made = commit_new(RECORD_BYTES);
        if (!made) {
            stop_copying(c, WEIR_NOMEM, STREAM_DONE);
            return;
        }
        m->create.wanted.is_copying = true;
        stream_create_commit(made, &m->create);
        struct commit_result result = store_commit_wait(m->store, made);
        m->is_long = result.status == WEIR_OK;
        if (m->is_long) return;
        if (result.status != WEIR_CONFLICT) stop_copying(c, result.status, STREAM_DONE);
        else stop_copying(c, WEIR_OK, m->create.outcome);
        if (m->trouble != STREAM_EXPIRED || delete_now(m, false) != WEIR_OK) return;
        stop_copying(c, WEIR_OK, STREAM_DONE);
        c->is_done = false;
    }
}

/* What was copied so far becomes durable. */
static void commit_copied(struct copying *c)
{
    struct making *m = c->m;
    if (!m->is_long) begin_long(c);
    if (!m->is_long) return;
    m->create.now_ms = store_wall_ms(m->store);
    stream_copy_commit(m->commit, &m->create);
    struct commit_result result = store_commit_wait(m->store, m->commit);
    m->commit = commit_new(COPY_COMMIT_BYTES);
    c->n_bytes = 0;
    c->has_had_turn = true;
    if (!m->commit) stop_copying(c, WEIR_NOMEM, STREAM_DONE);
    else if (result.status == WEIR_CONFLICT) stop_copying(c, WEIR_OK, STREAM_SOURCE_CHANGED);
    else if (result.status != WEIR_OK) stop_copying(c, result.status, STREAM_DONE);
}

static void append_frame(struct copying *c, struct weir_slice frame)
{
    commit_append(c->m->commit, c->to, frame);
    c->n_bytes += frame.len + c->to.len + COPY_OVERHEAD;
}

static void append_part(struct copying *c, struct weir_slice message)
{
    struct weir_buf frame;
    weir_buf_init(&frame, STORE_FRAME_BYTES);
    frame_write(&frame, c->format, message);
    append_frame(c, weir_buf_slice(&frame));
    weir_buf_fini(&frame);
}

/* The first `sub` bytes of a message. False when it has not so many. */
static bool copy_bytes(struct copying *c, const struct frame *frame)
{
    struct weir_buf message;
    weir_buf_init(&message, STORE_FRAME_BYTES);
    frame_read(&message, c->format, frame);
    bool is_good = message.len >= c->sub;
    if (is_good) append_part(c, slice_of(message.ptr, c->sub));
    weir_buf_fini(&message);
    c->sub = 0;
    return is_good;
}

static bool copy_frame(struct copying *c, const struct frame *frame)
{
    bool is_whole = frame->id <= c->upto || c->format == STREAM_JSON;
    if (!is_whole) return copy_bytes(c, frame);
    if (frame->id > c->upto) c->sub--; /* each message of JSON has an id of its own */
    /* The lines, and the empty one that ends them. */
    append_frame(c, slice_of(frame->lines.ptr, frame->lines.len + 1));
    return true;
}

static void copy_chunk(struct copying *c, const struct chunk *chunk)
{
    struct weir_slice events = slice_of(chunk->bytes, chunk->len);
    struct frame frame;
    while (!c->is_done && frame_next(&events, &frame)) {
        if (frame.id > c->upto && c->sub == 0) break;
        if (!copy_frame(c, &frame)) stop_copying(c, WEIR_BAD_FIELD, STREAM_DONE);
        c->n_copied = frame.id;
        if (!c->is_done && c->n_bytes >= COPY_COMMIT_BYTES) commit_copied(c);
    }
    if (c->n_copied >= c->upto && c->sub == 0) c->is_done = true;
}

/* Up to the end, or until there was something to commit. */
static void copy_events(struct copying *c)
{
    struct stream_log_text text;
    const struct stream_create *create = &c->m->create;
    struct weir_slice log = stream_log_name(&text, create->wanted.source);
    c->has_had_turn = false;
    while (!c->is_done && !c->has_had_turn) {
        struct log_read read;
        store_read(c->m->store, log, c->n_copied + 1, COPY_READ_BYTES, &read);
        if (read.status != WEIR_OK) stop_copying(c, read.status, STREAM_DONE);
        else if (read.state.log_id != create->source_log)
            stop_copying(c, WEIR_OK, STREAM_SOURCE_CHANGED);
        else if (read.n_chunks == 0) stop_copying(c, WEIR_BAD_FIELD, STREAM_DONE);
        for (unsigned i = 0; i < read.n_chunks; i++) {
            copy_chunk(c, read.chunks[i]);
            chunk_unref(read.chunks[i]);
        }
    }
}

/* What is not said is as the source has it. */
static void inherit(struct making *m, const struct stream_record *source)
{
    struct stream_record *wanted = &m->create.wanted;
    size_t len = source->type.len <= sizeof m->type ? source->type.len : 0;
    size_t n_expires = source->expires.len <= sizeof m->expires ? source->expires.len : 0;
    if (wanted->type.len == 0) {
        if (len > 0) memcpy(m->type, source->type.ptr, len);
        wanted->type = slice_of(m->type, len);
    }
    if (wanted->ttl_s >= 0 || wanted->expires.len > 0) return;
    wanted->ttl_s = source->ttl_s;
    if (n_expires > 0) memcpy(m->expires, source->expires.ptr, n_expires);
    wanted->expires = slice_of(m->expires, n_expires);
    wanted->expires_ms = source->expires_ms;
}

static void begin_copy(struct making *m, const struct stream_found *found)
{
    struct stream_create *create = &m->create;
    struct copying *c = m->copying;
    inherit(m, &found->record);
    struct weir_slice essence = media_essence(found->record.type);
    if (!media_is_same(media_essence(create->wanted.type), essence)) {
        m->trouble = STREAM_OTHER_TYPE;
        return;
    }
    create->source_log = found->log.log_id;
    create->wanted.fork_at = create->has_fork_at ? m->fork_offset.id : found->log.last;
    if (create->wanted.fork_at > found->log.last) {
        m->status = WEIR_BAD_FIELD;
        return;
    }
    c->format = media_format(essence);
    c->upto = create->wanted.fork_at;
    c->sub = create->wanted.fork_sub;
    c->to = stream_log_name(&c->to_text, create->name);
    c->is_done = c->upto == 0 && c->sub == 0;
}

static bool has_failed(const struct making *m)
{
    return m->status != WEIR_OK || m->trouble != STREAM_DONE;
}

static void end_copy(struct making *m)
{
    if (!has_failed(m)) {
        m->create.last = m->copying->n_copied;
        m->status = ds_fill_created(m);
    }
    /* When even that fails, the sweep finds it. */
    if (has_failed(m) && m->is_long && delete_now(m, true) != WEIR_OK) m->is_long = false;
    loop_post(m->loop, &m->post);
}

static void copy_some(void *making)
{
    struct making *m = making;
    copy_events(m->copying);
    if (!m->copying->is_done) {
        if (store_later(m->store, copy_some, m) == WEIR_OK) return;
        stop_copying(m->copying, WEIR_NOMEM, STREAM_DONE);
    }
    end_copy(m);
}

static void read_source(void *making)
{
    struct making *m = making;
    struct stream_found found;
    stream_find(m->store, m->create.wanted.source, m->create.now_ms, &found);
    m->trouble = STREAM_DONE;
    if (found.status == WEIR_NOT_FOUND) m->trouble = STREAM_NO_SOURCE;
    else if (found.status != WEIR_OK) m->status = found.status;
    else if (found.record.is_gone) m->trouble = STREAM_SOURCE_GONE;
    else begin_copy(m, &found);
    doc_fini(&found.doc);
    if (has_failed(m)) end_copy(m);
    else copy_some(m);
}

static void give_fork(struct exchange *ex, struct making *m)
{
    if (m->status == WEIR_OK && m->trouble == STREAM_DONE) {
        if (m->is_long) stream_copied_commit(m->commit, &m->create);
        else stream_create_commit(m->commit, &m->create);
        ds_give_create(ex, m);
        return;
    }
    if (m->status == WEIR_OK) {
        m->create.outcome = m->trouble;
        m->has_retried = true;
        ds_answer_create(ex, &(struct commit_result){.status = WEIR_CONFLICT});
        return;
    }
    commit_free(m->commit);
    m->commit = NULL;
    if (m->status == WEIR_BAD_FIELD)
        exchange_error(ex, m->status, "The fork begins beyond the end of its source");
    else ds_refuse_body(ex, m->status, m->body);
}

static void source_was_read(struct post *post)
{
    struct making *m = CONTAINER_OF(post, struct making, post);
    char *body = m->body_memory; /* with the answer, `m` may be gone */
    give_fork(m->ex, m);
    mem_free(body);
}

/* The request's own is gone when the handler returns; an exchange has no room for large ones. */
static bool keep_body(struct making *m)
{
    if (m->body.len == 0) return true;
    m->body_memory = mem_alloc(m->body.len);
    if (!m->body_memory) return false;
    memcpy(m->body_memory, m->body.ptr, m->body.len);
    m->body.ptr = m->body_memory;
    return true;
}

void ds_start_fork(struct exchange *ex, struct making *m)
{
    m->copying = exchange_alloc(ex, sizeof *m->copying);
    if (!m->copying || !keep_body(m)) {
        commit_free(m->commit);
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *m->copying = (struct copying){.m = m};
    m->store = server_store(exchange_server(ex));
    m->loop = worker_loop(exchange_worker(ex));
    m->post.run = source_was_read;
    exchange_set_data(ex, m);
    if (store_later(m->store, read_source, m) == WEIR_OK) return;
    mem_free(m->body_memory);
    commit_free(m->commit);
    resource_store_error(ex, WEIR_NOMEM);
}
