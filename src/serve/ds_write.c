/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PUT, POST and DELETE of the Durable Streams protocol: what the request says becomes a commit
 * that the committer decides (stream/stream.h); how that came out becomes the answer.
 *
 * Everything that is asked for is wrong or right before the commit is made, but for what depends
 * on the stream. A body is kept as events of the media type that the request names, which has to
 * be the stream's.
 */
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "codec/json_check.h"
#include "io/loop.h"
#include "serve/ds.h"
#include "stream/frame.h"

enum { MAX_MESSAGES = 10000 }; /* elements of a JSON array in one request */

/* ---- bodies ---- */

struct filling {
    struct commit *commit;
    struct weir_slice log;
    struct weir_buf frame;
    size_t n_messages;
};

static void fill_message(struct filling *f, enum stream_format format, struct weir_slice message)
{
    weir_buf_reset(&f->frame);
    frame_write(&f->frame, format, message);
    commit_append(f->commit, f->log, weir_buf_slice(&f->frame));
    f->n_messages++;
}

static void fill_element(void *user, struct weir_slice json)
{
    struct filling *f = user;
    if (f->n_messages <= MAX_MESSAGES) fill_message(f, STREAM_JSON, json);
}

/* One level of an array is taken apart. */
static WEIR_MUST_CHECK enum weir_status fill_json(struct filling *f, struct weir_slice body)
{
    struct json_found found;
    enum weir_status st = json_check(body, fill_element, f, &found);
    if (st != WEIR_OK) return WEIR_BAD_REQUEST;
    if (found.type != WEIR_JSON_ARRAY) fill_message(f, STREAM_JSON, found.value);
    return f->n_messages > MAX_MESSAGES ? WEIR_TOO_LARGE : WEIR_OK;
}

/*
 * A body as events of the commit. WEIR_BAD_REQUEST: it is not JSON; WEIR_TOO_LARGE; WEIR_NOMEM,
 * WEIR_LIMIT. *n_messages is 0 for an empty array.
 */
static WEIR_MUST_CHECK enum weir_status fill(struct commit *c, struct weir_slice log,
                                             enum stream_format format, struct weir_slice body,
                                             size_t *n_messages)
{
    enum weir_status st = WEIR_OK;
    struct filling f = {.commit = c, .log = log};
    weir_buf_init(&f.frame, STORE_FRAME_BYTES);
    if (format == STREAM_JSON) st = fill_json(&f, body);
    else fill_message(&f, format, body);
    if (st == WEIR_OK) st = weir_buf_status(&f.frame);
    weir_buf_fini(&f.frame);
    *n_messages = f.n_messages;
    return st;
}

static void refuse_body(struct exchange *ex, enum weir_status st)
{
    if (st == WEIR_BAD_REQUEST) exchange_error(ex, st, "The body is not JSON");
    else if (st == WEIR_TOO_LARGE)
        exchange_error(ex, st, "An array has at most %d elements", MAX_MESSAGES);
    else resource_store_error(ex, st);
}

static struct commit *new_commit(struct exchange *ex)
{
    struct commit *c = commit_new(exchange_body(ex).len + 512);
    if (!c) resource_store_error(ex, WEIR_NOMEM);
    return c;
}

/* A conflict that is no error of the store's is in `outcome`. */
static bool failed(struct exchange *ex, const struct commit_result *result)
{
    if (result->status == WEIR_OK || result->status == WEIR_CONFLICT) return false;
    if (result->status == WEIR_LIMIT)
        exchange_error(ex, WEIR_TOO_LARGE, "The request is larger than a commit may be");
    else resource_store_error(ex, result->status);
    return true;
}

static void answer_refused(struct exchange *ex, enum stream_outcome why)
{
    switch (why) {
    case STREAM_NOT_FOUND: exchange_error(ex, WEIR_NOT_FOUND, "There is no such stream"); break;
    case STREAM_GONE:
        exchange_error(ex, WEIR_GONE, "The stream was deleted; its name is taken by its forks");
        break;
    case STREAM_DIFFERS:
        exchange_error(ex, WEIR_CONFLICT, "The stream is there with another configuration");
        break;
    case STREAM_OTHER_TYPE:
        exchange_error(ex, WEIR_CONFLICT, "The Content-Type is not the stream's");
        break;
    case STREAM_OLD_SEQ:
        exchange_error(ex, WEIR_CONFLICT, "Stream-Seq has to be larger than the one before");
        break;
    case STREAM_NO_SOURCE: exchange_error(ex, WEIR_NOT_FOUND, "There is no such source"); break;
    case STREAM_SOURCE_GONE:
        exchange_error(ex, WEIR_CONFLICT, "The source was deleted and only has forks left");
        break;
    case STREAM_SOURCE_CHANGED:
        exchange_error(ex, WEIR_CONFLICT, "The source was made anew meanwhile: try again");
        break;
    default: exchange_error(ex, WEIR_INTERNAL, NULL); break;
    }
}

/* ---- POST ---- */

static void put_producer_fields(struct exchange *ex, const struct stream_append *a)
{
    if (!a->has_producer) return;
    ds_number_field(ex, "Producer-Epoch", a->told_epoch);
    ds_number_field(ex, "Producer-Seq", a->told_seq);
}

static void answer_append(struct exchange *ex, const struct commit_result *result)
{
    struct stream_append *a = exchange_data(ex);
    if (failed(ex, result)) return;
    if (a->is_closed) ds_closed_field(ex);
    switch (a->outcome) {
    case STREAM_DONE:
        ds_offset_field(ex, result->last > 0 ? result->last : a->last);
        put_producer_fields(ex, a);
        exchange_empty(ex, a->has_producer && a->type.len > 0 ? 200 : 204);
        break;
    case STREAM_DUPLICATE:
        ds_offset_field(ex, a->last);
        put_producer_fields(ex, a);
        exchange_empty(ex, 204);
        break;
    case STREAM_CLOSED:
        ds_offset_field(ex, a->last);
        exchange_error(ex, WEIR_SEALED, "The stream is closed");
        break;
    case STREAM_OLD_EPOCH:
        ds_number_field(ex, "Producer-Epoch", a->told_epoch);
        exchange_error(ex, WEIR_FORBIDDEN, "A producer of this name with a later epoch was here");
        break;
    case STREAM_BAD_EPOCH:
        exchange_error(ex, WEIR_BAD_FIELD, "A new epoch begins with sequence 0");
        break;
    case STREAM_SEQ_GAP:
        ds_number_field(ex, "Producer-Expected-Seq", a->told_seq);
        ds_number_field(ex, "Producer-Received-Seq", a->producer_seq);
        exchange_error(ex, WEIR_CONFLICT, "The producer's sequence has a gap");
        break;
    default: answer_refused(ex, a->outcome); break;
    }
}

/* All three fields or none; false when it was answered with an error. */
static bool take_producer(struct exchange *ex, struct stream_append *a)
{
    const struct http_head *head = exchange_head(ex);
    struct weir_slice id, epoch, seq;
    bool has_id = http_find(head, "producer-id", &id);
    bool has_epoch = http_find(head, "producer-epoch", &epoch);
    bool has_seq = http_find(head, "producer-seq", &seq);
    if (!has_id && !has_epoch && !has_seq) return true;
    if (!has_id || !has_epoch || !has_seq) {
        exchange_error(ex, WEIR_BAD_FIELD,
                       "Producer-Id, Producer-Epoch and Producer-Seq go together");
        return false;
    }
    if (id.len == 0 || id.len > PRODUCER_ID_BYTES) {
        exchange_error(ex, WEIR_BAD_FIELD, "Producer-Id is 1 to %d bytes", PRODUCER_ID_BYTES);
        return false;
    }
    if (!ds_parse_number(epoch, &a->epoch) || !ds_parse_number(seq, &a->producer_seq)) {
        exchange_error(ex, WEIR_BAD_FIELD,
                       "Producer-Epoch and Producer-Seq are whole numbers up to 2^53 - 1");
        return false;
    }
    a->has_producer = true;
    a->producer = ds_keep(ex, id);
    return true;
}

static bool take_seq(struct exchange *ex, struct stream_append *a)
{
    struct weir_slice seq;
    if (!http_find(exchange_head(ex), "stream-seq", &seq)) return true;
    if (seq.len == 0 || seq.len > STREAM_SEQ_BYTES) {
        exchange_error(ex, WEIR_BAD_FIELD, "Stream-Seq is 1 to %d bytes", STREAM_SEQ_BYTES);
        return false;
    }
    a->seq = ds_keep(ex, seq);
    return true;
}

/* The media type of the body; false when it was answered with an error. */
static bool take_type(struct exchange *ex, struct stream_append *a)
{
    struct weir_slice type;
    if (exchange_body(ex).len == 0) {
        if (a->closes) return true;
        exchange_error(ex, WEIR_BAD_REQUEST, "The body is empty");
        return false;
    }
    if (http_find(exchange_head(ex), "content-type", &type)) a->type = media_essence(type);
    if (a->type.len > 0 && a->type.len <= STREAM_TYPE_BYTES) {
        a->type = ds_keep(ex, a->type);
        return true;
    }
    exchange_error(ex, WEIR_BAD_REQUEST, "A Content-Type is needed, the stream's");
    return false;
}

/* The events that are to be appended; false when it was answered with an error. */
static bool take_body(struct exchange *ex, const struct stream_append *a, struct commit *c)
{
    struct stream_log_text log;
    size_t n_messages = 0;
    if (a->type.len == 0) return true;
    enum weir_status st = fill(c, stream_log_name(&log, a->name), media_format(a->type),
                               exchange_body(ex), &n_messages);
    if (st == WEIR_OK && n_messages > 0) return true;
    if (st == WEIR_OK) exchange_error(ex, WEIR_BAD_REQUEST, "An empty array appends nothing");
    else refuse_body(ex, st);
    return false;
}

void ds_post(struct exchange *ex)
{
    struct weir_slice name;
    if (!ds_name(ex, &name)) return;
    struct stream_append *a = exchange_alloc(ex, sizeof *a);
    if (!a) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *a = (struct stream_append){.name = ds_keep(ex, name), .now_ms = exchange_wall_ms(ex)};
    a->closes = ds_says_closed(ex);
    if (!take_producer(ex, a) || !take_seq(ex, a) || !take_type(ex, a)) return;
    struct commit *c = new_commit(ex);
    if (!c) return;
    if (!take_body(ex, a, c)) {
        commit_free(c);
        return;
    }
    stream_append_commit(c, a);
    exchange_set_data(ex, a);
    exchange_commit(ex, c, answer_append);
}

/* ---- PUT ---- */

/* A stream that is to be made. */
struct making {
    struct stream_create create;
    struct commit *commit;
    bool has_retried;
    struct weir_slice location;
    struct stream_delete expired;
    /* Forks. */
    struct exchange *ex;
    struct store *store;
    struct loop *loop;
    struct post post;
    struct offset fork_offset;
    struct weir_slice body;
    enum stream_outcome trouble;
    enum weir_status status;
    char type[STREAM_TYPE_BYTES]; /* as inherited */
    char expires[64];
};

static void give_create(struct exchange *ex, struct making *m);

static void answer_created(struct exchange *ex, const struct stream_create *create, int status,
                           uint64_t last)
{
    struct weir_slice type =
        status == 201 ? create->wanted.type : slice_of(create->type, create->type_len);
    ds_offset_field(ex, last);
    exchange_field(ex, "Content-Type", type);
    if (create->is_closed) ds_closed_field(ex);
    exchange_empty(ex, status);
}

static void expired_was_deleted(struct exchange *ex, const struct commit_result *result)
{
    struct making *m = exchange_data(ex);
    (void)result; /* whatever happened: it is tried once more, and that tells */
    give_create(ex, m);
}

/* One that has had its time is in the way: it goes first. */
static void delete_expired(struct exchange *ex, struct making *m)
{
    struct commit *c = commit_new(512);
    if (!c) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    m->has_retried = true;
    m->expired = (struct stream_delete){
        .name = m->create.name, .only_expired = true, .now_ms = m->create.now_ms};
    stream_delete_commit(c, &m->expired);
    exchange_commit(ex, c, expired_was_deleted);
}

static void answer_create(struct exchange *ex, const struct commit_result *result)
{
    struct making *m = exchange_data(ex);
    struct stream_create *create = &m->create;
    if (create->outcome == STREAM_EXPIRED && !m->has_retried && result->status == WEIR_CONFLICT) {
        delete_expired(ex, m);
        return;
    }
    commit_free(m->commit);
    m->commit = NULL;
    if (failed(ex, result)) return;
    switch (create->outcome) {
    case STREAM_DONE:
        exchange_field(ex, "Location", m->location);
        answer_created(ex, create, 201, result->last);
        break;
    case STREAM_EXISTED: answer_created(ex, create, 200, create->last); break;
    case STREAM_GONE:
        exchange_error(ex, WEIR_CONFLICT,
                       "The stream was deleted; its name is free when its forks are");
        break;
    default: answer_refused(ex, create->outcome); break;
    }
}

static void give_create(struct exchange *ex, struct making *m)
{
    exchange_set_data(ex, m);
    exchange_commit_kept(ex, m->commit, answer_create);
}

static bool take_ttl(struct exchange *ex, struct stream_record *r)
{
    struct weir_slice ttl, expires;
    uint64_t seconds;
    bool has_ttl = http_find(exchange_head(ex), "stream-ttl", &ttl);
    bool has_expires = http_find(exchange_head(ex), "stream-expires-at", &expires);
    if (has_ttl && has_expires) {
        exchange_error(ex, WEIR_BAD_FIELD, "Stream-TTL or Stream-Expires-At, not both");
        return false;
    }
    if (has_ttl) {
        if (!ds_parse_number(ttl, &seconds) || seconds > INT32_MAX) {
            exchange_error(ex, WEIR_BAD_FIELD, "Stream-TTL is a whole number of seconds");
            return false;
        }
        r->ttl_s = (int64_t)seconds;
    }
    if (!has_expires) return true;
    if (expires.len > 64 || !clock_parse(expires, &r->expires_ms)) {
        exchange_error(ex, WEIR_BAD_FIELD, "Stream-Expires-At is a time like 2030-01-02T03:04:05Z");
        return false;
    }
    r->expires = ds_keep(ex, expires);
    return true;
}

/* Where the stream is, as the client would have to say it. */
static struct weir_slice location_of(struct exchange *ex)
{
    const struct http_head *head = exchange_head(ex);
    struct weir_slice host;
    if (!http_find(head, "host", &host)) host = SLICE("localhost");
    const char *scheme = exchange_is_tls(ex) ? "https://" : "http://";
    struct weir_buf text;
    size_t len = strlen(scheme) + host.len + head->path.len;
    char *p = exchange_alloc(ex, len);
    if (!p) return head->path;
    text = (struct weir_buf){.ptr = p, .cap = len, .max = len};
    weir_buf_append_str(&text, scheme);
    weir_buf_append_slice(&text, host);
    weir_buf_append_slice(&text, head->path);
    return weir_buf_slice(&text);
}

static bool take_sub_offset(struct exchange *ex, struct stream_create *create, bool is_fork,
                            bool has_offset)
{
    struct weir_slice sub;
    if (!http_find(exchange_head(ex), "stream-fork-sub-offset", &sub)) return true;
    if (!is_fork || !ds_parse_number(sub, &create->wanted.fork_sub)) {
        exchange_error(ex, WEIR_BAD_FIELD,
                       "Stream-Fork-Sub-Offset is a whole number, and needs Stream-Forked-From");
        return false;
    }
    if (create->wanted.fork_sub == 0 || has_offset) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "Stream-Fork-Sub-Offset needs Stream-Fork-Offset");
    return false;
}

static bool take_fork(struct exchange *ex, struct making *m)
{
    struct weir_slice from, offset;
    struct stream_create *create = &m->create;
    bool is_fork = http_find(exchange_head(ex), "stream-forked-from", &from);
    bool has_offset = http_find(exchange_head(ex), "stream-fork-offset", &offset);
    m->fork_offset.kind = OFFSET_NOW;
    if (!take_sub_offset(ex, create, is_fork, has_offset)) return false;
    if (!is_fork) return true;
    create->wanted.source = ds_name_of_path(ex, from);
    if (!stream_is_name(create->wanted.source)) {
        exchange_error(ex, WEIR_BAD_FIELD, "Stream-Forked-From is a path like /v1/stream/NAME");
        return false;
    }
    create->has_fork_at = has_offset;
    if (has_offset &&
        (!offset_parse(offset, &m->fork_offset) || m->fork_offset.kind != OFFSET_AT)) {
        exchange_error(ex, WEIR_BAD_FIELD, "Stream-Fork-Offset is no offset of the source");
        return false;
    }
    return true;
}

/* The media type asked for; without one that of a fork's source, or bytes. */
static bool take_wanted_type(struct exchange *ex, struct stream_record *wanted)
{
    struct weir_slice type = {0};
    bool has_type =
        http_find(exchange_head(ex), "content-type", &type) && media_essence(type).len > 0;
    if (type.len > STREAM_TYPE_BYTES) {
        exchange_error(ex, WEIR_BAD_FIELD, "A Content-Type has at most %d bytes",
                       STREAM_TYPE_BYTES);
        return false;
    }
    if (has_type) wanted->type = ds_keep(ex, type);
    else if (wanted->source.len == 0) wanted->type = SLICE("application/octet-stream");
    return true;
}

static void start_fork(struct exchange *ex, struct making *m);

/* The events that it is to begin with, or go on with behind what it inherits. */
static WEIR_MUST_CHECK enum weir_status fill_created(struct making *m)
{
    struct stream_log_text log;
    size_t n_messages;
    if (m->body.len == 0) return WEIR_OK;
    return fill(m->commit, stream_log_name(&log, m->create.name),
                media_format(media_essence(m->create.wanted.type)), m->body, &n_messages);
}

void ds_put(struct exchange *ex)
{
    struct weir_slice name;
    if (!ds_name(ex, &name)) return;
    struct making *m = exchange_alloc(ex, sizeof *m);
    if (!m) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *m = (struct making){.ex = ex, .create = {.name = ds_keep(ex, name)}};
    struct stream_create *create = &m->create;
    create->wanted = record_of_type((struct weir_slice){0});
    create->wanted.is_closed = ds_says_closed(ex);
    create->now_ms = exchange_wall_ms(ex);
    m->location = location_of(ex);
    if (!take_ttl(ex, &create->wanted) || !take_fork(ex, m) ||
        !take_wanted_type(ex, &create->wanted))
        return;
    m->commit = new_commit(ex);
    if (!m->commit) return;
    m->body = exchange_body(ex);
    if (create->wanted.source.len > 0) {
        start_fork(ex, m);
        return;
    }
    enum weir_status st = fill_created(m);
    if (st == WEIR_OK) {
        stream_create_commit(m->commit, create);
        give_create(ex, m);
        return;
    }
    commit_free(m->commit);
    refuse_body(ex, st);
}

/* ---- forks ---- */

/*
 * By a thread of the store's: what the fork inherits becomes the first events of its commit, and
 * what the request brings the next.
 */

/* Where the copying is. */
struct copying {
    struct making *m;
    enum stream_format format;
    struct weir_slice to;
    uint64_t upto; /* whole events that are inherited */
    uint64_t n_copied;
    uint64_t sub; /* of the next event, or events */
    bool is_done;
};

static void append_part(struct copying *c, struct weir_slice message)
{
    struct weir_buf frame;
    weir_buf_init(&frame, STORE_FRAME_BYTES);
    frame_write(&frame, c->format, message);
    commit_append(c->m->commit, c->to, weir_buf_slice(&frame));
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
    commit_append(c->m->commit, c->to, slice_of(frame->lines.ptr, frame->lines.len + 1));
    return true;
}

static void copy_chunk(struct copying *c, const struct chunk *chunk)
{
    struct weir_slice events = slice_of(chunk->bytes, chunk->len);
    struct frame frame;
    while (!c->is_done && frame_next(&events, &frame)) {
        if (frame.id > c->upto && c->sub == 0) break;
        if (!copy_frame(c, &frame)) {
            c->m->status = WEIR_BAD_FIELD;
            c->is_done = true;
        }
        c->n_copied = frame.id;
    }
    if (c->n_copied >= c->upto && c->sub == 0) c->is_done = true;
}

static void copy_events(struct copying *c, struct weir_slice source)
{
    enum { COPY_BYTES = 256 << 10 };
    struct stream_log_text text;
    struct weir_slice log = stream_log_name(&text, source);
    c->is_done = c->upto == 0 && c->sub == 0;
    while (!c->is_done) {
        struct log_read read;
        store_read(c->m->store, log, c->n_copied + 1, COPY_BYTES, &read);
        if (read.status != WEIR_OK) c->m->status = read.status;
        else if (read.n_chunks == 0) c->m->status = WEIR_BAD_FIELD;
        for (unsigned i = 0; i < read.n_chunks; i++) {
            copy_chunk(c, read.chunks[i]);
            chunk_unref(read.chunks[i]);
        }
        if (c->m->status != WEIR_OK) return;
    }
}

/* What is not said is as the source has it. */
static void inherit(struct making *m, const struct stream_record *source)
{
    struct stream_record *wanted = &m->create.wanted;
    size_t len = source->type.len < sizeof m->type ? source->type.len : 0;
    size_t n_expires = source->expires.len < sizeof m->expires ? source->expires.len : 0;
    if (wanted->type.len == 0) {
        memcpy(m->type, source->type.ptr, len);
        wanted->type = slice_of(m->type, len);
    }
    if (wanted->ttl_s >= 0 || wanted->expires.len > 0) return;
    wanted->ttl_s = source->ttl_s;
    memcpy(m->expires, source->expires.ptr, n_expires);
    wanted->expires = slice_of(m->expires, n_expires);
    wanted->expires_ms = source->expires_ms;
}

static void copy_source(struct making *m, const struct stream_found *found)
{
    struct stream_log_text text;
    struct stream_create *create = &m->create;
    struct copying c = {.m = m, .sub = create->wanted.fork_sub};
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
    c.format = media_format(essence);
    c.upto = create->wanted.fork_at;
    c.to = stream_log_name(&text, create->name);
    copy_events(&c, create->wanted.source);
    if (m->status == WEIR_OK) m->status = fill_created(m);
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
    else copy_source(m, &found);
    doc_fini(&found.doc);
    loop_post(m->loop, &m->post);
}

static void source_was_read(struct post *post)
{
    struct making *m = CONTAINER_OF(post, struct making, post);
    struct exchange *ex = m->ex;
    if (m->status == WEIR_OK && m->trouble == STREAM_DONE) {
        stream_create_commit(m->commit, &m->create);
        give_create(ex, m);
        return;
    }
    commit_free(m->commit);
    m->commit = NULL;
    if (m->status == WEIR_BAD_FIELD)
        exchange_error(ex, m->status, "The fork begins beyond the end of its source");
    else if (m->status != WEIR_OK) refuse_body(ex, m->status);
    else answer_refused(ex, m->trouble);
}

static void start_fork(struct exchange *ex, struct making *m)
{
    size_t n_body = m->body.len;
    m->body = ds_keep(ex, m->body);
    if (m->body.len < n_body) {
        commit_free(m->commit);
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    m->store = server_store(exchange_server(ex));
    m->loop = worker_loop(exchange_worker(ex));
    m->post.run = source_was_read;
    if (store_later(m->store, read_source, m) == WEIR_OK) return;
    commit_free(m->commit);
    resource_store_error(ex, WEIR_NOMEM);
}

/* ---- DELETE ---- */

static void answer_delete(struct exchange *ex, const struct commit_result *result)
{
    const struct stream_delete *d = exchange_data(ex);
    if (failed(ex, result)) return;
    if (d->outcome == STREAM_DONE) exchange_empty(ex, 204);
    else answer_refused(ex, d->outcome);
}

void ds_delete(struct exchange *ex)
{
    struct weir_slice name;
    if (!ds_name(ex, &name)) return;
    struct stream_delete *d = exchange_alloc(ex, sizeof *d);
    struct commit *c = d ? new_commit(ex) : NULL;
    if (!d) resource_store_error(ex, WEIR_NOMEM);
    if (!c) return;
    *d = (struct stream_delete){.name = ds_keep(ex, name), .now_ms = exchange_wall_ms(ex)};
    stream_delete_commit(c, d);
    exchange_set_data(ex, d);
    exchange_commit(ex, c, answer_delete);
}
