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
#include "serve/ds_make.h"
#include "stream/frame.h"

enum {
    MAX_MESSAGES = 10000, /* elements of a JSON array in one request */
};

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

void ds_refuse_body(struct exchange *ex, enum weir_status st, struct weir_slice body)
{
    struct json_found found;
    if (st == WEIR_BAD_REQUEST && json_check(body, NULL, NULL, &found) != WEIR_OK)
        exchange_error(ex, st, "The body is not JSON: expected %s at byte %zu", found.expected,
                       found.offset);
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
    case STREAM_EXPIRED:
        exchange_error(ex, WEIR_CONFLICT, "One that has expired is in the way: try again");
        break;
    case STREAM_OLD_SEQ:
        exchange_error(ex, WEIR_CONFLICT, "Stream-Seq has to be larger than the one before");
        break;
    case STREAM_NO_SOURCE: exchange_error(ex, WEIR_NOT_FOUND, "There is no such source"); break;
    case STREAM_SOURCE_GONE:
        exchange_error(ex, WEIR_CONFLICT, "The source was deleted and only has forks left");
        break;
    case STREAM_SOURCE_CHANGED:
        exchange_error(ex, WEIR_CONFLICT, "The source was deleted or made anew meanwhile");
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
    a->producer = id;
    return ds_keep(ex, &a->producer);
}

static bool take_seq(struct exchange *ex, struct stream_append *a)
{
    struct weir_slice seq;
    if (!http_find(exchange_head(ex), "stream-seq", &seq)) return true;
    if (seq.len == 0 || seq.len > STREAM_SEQ_BYTES) {
        exchange_error(ex, WEIR_BAD_FIELD, "Stream-Seq is 1 to %d bytes", STREAM_SEQ_BYTES);
        return false;
    }
    a->seq = seq;
    return ds_keep(ex, &a->seq);
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
    if (a->type.len > 0 && a->type.len <= STREAM_TYPE_BYTES) return ds_keep(ex, &a->type);
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
    else ds_refuse_body(ex, st, exchange_body(ex));
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
    *a = (struct stream_append){.name = name, .now_ms = exchange_wall_ms(ex)};
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
    ds_give_create(ex, m);
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

void ds_answer_create(struct exchange *ex, const struct commit_result *result)
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
        answer_created(ex, create, 201, result->last > 0 ? result->last : create->last);
        break;
    case STREAM_EXISTED: answer_created(ex, create, 200, create->last_there); break;
    case STREAM_GONE:
        exchange_error(ex, WEIR_CONFLICT,
                       "The stream was deleted; its name is free when its forks are");
        break;
    default: answer_refused(ex, create->outcome); break;
    }
}

void ds_give_create(struct exchange *ex, struct making *m)
{
    exchange_set_data(ex, m);
    exchange_commit_kept(ex, m->commit, ds_answer_create);
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
    r->expires = expires;
    return ds_keep(ex, &r->expires);
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
    if (has_type) wanted->type = type;
    else if (wanted->source.len == 0) wanted->type = SLICE("application/octet-stream");
    return !has_type || ds_keep(ex, &wanted->type);
}

enum weir_status ds_fill_created(struct making *m)
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
    *m = (struct making){.ex = ex, .create = {.name = name}};
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
        ds_start_fork(ex, m);
        return;
    }
    enum weir_status st = ds_fill_created(m);
    if (st == WEIR_OK) {
        stream_create_commit(m->commit, create);
        ds_give_create(ex, m);
        return;
    }
    commit_free(m->commit);
    ds_refuse_body(ex, st, m->body);
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
    *d = (struct stream_delete){.name = name, .now_ms = exchange_wall_ms(ex)};
    stream_delete_commit(c, d);
    exchange_set_data(ex, d);
    exchange_commit(ex, c, answer_delete);
}
