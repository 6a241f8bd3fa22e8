/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions about streams. What a function here reads it reads through the committer's view, and
 * whatever it changes is added to the commit that asks; see stream.h.
 *
 * A fork has a copy of what it inherits, so it reads as any other stream does and its source's
 * events may go. The source only counts its forks: its name is not free while it has some.
 */
#include "stream/stream.h"

#include <stdio.h>

#include "base/check.h"
#include "base/slice.h"
#include "base/utf8.h"

const char stream_kind[] = "stream";
const char producer_kind[] = "producer";

static const char log_prefix[] = "s/";

bool stream_is_name(struct weir_slice name)
{
    if (name.len == 0 || name.len > STREAM_NAME_BYTES || utf8_valid_prefix(name) != name.len)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        if (c < 0x20 || c == 0x7F) return false;
        if (c == 0xC2 && (unsigned char)name.ptr[i + 1] < 0xA0) return false; /* C1 */
    }
    return true;
}

struct weir_slice stream_log_name(struct stream_log_text *log, struct weir_slice name)
{
    CHECK(name.len <= STREAM_NAME_BYTES);
    memcpy(log->bytes, log_prefix, sizeof log_prefix - 1);
    memcpy(log->bytes + sizeof log_prefix - 1, name.ptr, name.len);
    log->len = sizeof log_prefix - 1 + name.len;
    return slice_of(log->bytes, log->len);
}

struct weir_slice stream_name_of_log(struct weir_slice log)
{
    CHECK(log.len > sizeof log_prefix - 1);
    return slice_from(log, sizeof log_prefix - 1);
}

static struct doc_key key_of(struct weir_slice name)
{
    return (struct doc_key){slice_of(stream_kind, strlen(stream_kind)), name};
}

/* ---- what is there ---- */

struct seen {
    struct stream_record record;
    struct doc doc; /* of version 0: none, only a log */
    struct log_state log;
};

/* A log that nobody made a document for. */
static struct stream_record implied(const struct log_state *log)
{
    struct stream_record r = record_of_type(SLICE("application/json"));
    r.is_closed = log->is_sealed;
    return r;
}

/* WEIR_NOT_FOUND; expired and deleted ones are there. */
static WEIR_MUST_CHECK enum weir_status look(struct commit_view *view, struct weir_slice name,
                                             struct seen *out)
{
    struct stream_log_text log;
    *out = (struct seen){0};
    enum weir_status st = commit_view_log(view, stream_log_name(&log, name), &out->log);
    if (st != WEIR_OK) return st;
    st = commit_view_doc(view, key_of(name), &out->doc);
    if (st == WEIR_NOT_FOUND && out->log.exists) {
        out->record = implied(&out->log);
        return WEIR_OK;
    }
    if (st != WEIR_OK) return st;
    return stream_record_read(out->doc.body, &out->record) ? WEIR_OK : WEIR_CORRUPT;
}

static void put_record(struct commit *c, struct weir_slice name, const struct stream_record *r,
                       int64_t version)
{
    char bytes[RECORD_BYTES];
    struct weir_buf body = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    stream_record_write(&body, r);
    CHECK(weir_buf_status(&body) == WEIR_OK);
    commit_put(c, key_of(name), version, (struct weir_slice){0}, weir_buf_slice(&body));
}

/* Whether clients may see it. */
static bool is_usable(const struct stream_record *r, int64_t now_ms)
{
    return !r->is_copying && !record_is_expired(r, now_ms);
}

/* Nothing happens, for this reason. */
static enum weir_status refuse(enum stream_outcome *outcome, enum stream_outcome why)
{
    *outcome = why;
    return WEIR_CONFLICT;
}

/* ---- producers ---- */

struct producer_id {
    char bytes[24 + PRODUCER_ID_BYTES];
};

/* A stream that is made again under its name knows nothing of the old one's producers. */
static struct doc_key producer_key(struct producer_id *id, uint64_t log_id, struct weir_slice name)
{
    int len = snprintf(id->bytes, sizeof id->bytes, "%llu/", (unsigned long long)log_id);
    CHECK(name.len <= PRODUCER_ID_BYTES);
    memcpy(id->bytes + len, name.ptr, name.len);
    return (struct doc_key){slice_of(producer_kind, strlen(producer_kind)),
                            slice_of(id->bytes, (size_t)len + name.len)};
}

bool producer_is_of(struct weir_slice id, uint64_t log_id)
{
    struct producer_id want;
    struct weir_slice prefix = producer_key(&want, log_id, slice_of("", 0)).id;
    return id.len > prefix.len && memcmp(id.ptr, prefix.ptr, prefix.len) == 0;
}

static enum stream_outcome judge_producer(struct stream_append *a, const struct producer_record *p,
                                          bool is_new)
{
    a->told_epoch = is_new ? a->epoch : p->epoch;
    if (!is_new && a->epoch < p->epoch) return STREAM_OLD_EPOCH;
    if (is_new || a->epoch > p->epoch) {
        a->told_seq = 0;
        if (a->producer_seq == 0) return STREAM_DONE;
        return is_new ? STREAM_SEQ_GAP : STREAM_BAD_EPOCH;
    }
    a->told_seq = p->seq;
    if (a->producer_seq <= p->seq) return STREAM_DUPLICATE;
    if (a->producer_seq == p->seq + 1) return STREAM_DONE;
    a->told_seq = p->seq + 1;
    return STREAM_SEQ_GAP;
}

static void put_producer(struct commit *c, const struct stream_append *a, struct doc_key key,
                         int64_t version)
{
    char bytes[STREAM_NAME_BYTES + 64];
    struct weir_buf body = {.ptr = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    producer_write(&body, &(struct producer_record){a->epoch, a->producer_seq, a->name});
    CHECK(weir_buf_status(&body) == WEIR_OK);
    commit_put(c, key, version, (struct weir_slice){0}, weir_buf_slice(&body));
}

/* WEIR_OK to go on: what the producer sends is what is due. */
static WEIR_MUST_CHECK enum weir_status check_producer(struct stream_append *a,
                                                       struct commit_view *view, struct commit *c,
                                                       const struct seen *seen)
{
    struct producer_id id;
    struct producer_record p = {0};
    struct doc doc;
    struct doc_key key = producer_key(&id, seen->log.log_id, a->producer);
    enum weir_status st = commit_view_doc(view, key, &doc);
    bool is_new = st == WEIR_NOT_FOUND;
    if (!is_new && st != WEIR_OK) return st;
    if (!is_new && !producer_read(doc.body, &p)) return WEIR_CORRUPT;
    enum stream_outcome outcome = judge_producer(a, &p, is_new);
    if (outcome != STREAM_DONE) return refuse(&a->outcome, outcome);
    a->told_seq = a->producer_seq;
    a->told_epoch = a->epoch;
    put_producer(c, a, key, doc.version);
    return WEIR_OK;
}

/* ---- appending ---- */

static bool is_closer(const struct stream_append *a, const struct stream_record *r)
{
    return a->has_producer && r->has_closer && slice_eq(a->producer, r->closer) &&
           a->epoch == r->closer_epoch && a->producer_seq == r->closer_seq;
}

static enum weir_status refuse_closed(struct stream_append *a, const struct stream_record *r)
{
    a->is_closed = true;
    a->told_epoch = a->epoch;
    a->told_seq = a->producer_seq;
    if (is_closer(a, r)) return refuse(&a->outcome, STREAM_DUPLICATE);
    /* To close what is closed is nothing, unless a producer counts it. */
    bool is_close_only = a->closes && a->type.len == 0 && !a->has_producer;
    return refuse(&a->outcome, is_close_only ? STREAM_DUPLICATE : STREAM_CLOSED);
}

static int compare(struct weir_slice a, struct weir_slice b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* What the append changes in the stream's own document, if anything. */
static void update_record(const struct stream_append *a, struct commit *c, struct seen *seen)
{
    struct stream_record *r = &seen->record;
    bool is_changed = a->closes || a->seq.len > 0 || record_wants_touch(r, a->now_ms);
    if (!is_changed) return;
    if (a->closes) {
        r->is_closed = true;
        r->has_closer = a->has_producer;
        r->closer = a->producer;
        r->closer_epoch = a->epoch;
        r->closer_seq = a->producer_seq;
    }
    if (a->seq.len > 0) r->seq = a->seq;
    r->touched_ms = a->now_ms;
    put_record(c, a->name, r, seen->doc.version);
}

static enum weir_status decide_append(void *user, struct commit_view *view, struct commit *c)
{
    struct stream_append *a = user;
    struct stream_log_text log;
    struct seen seen;
    a->outcome = STREAM_DONE;
    a->is_closed = false;
    a->last = a->told_epoch = a->told_seq = 0;
    enum weir_status st = look(view, a->name, &seen);
    if (st == WEIR_NOT_FOUND || (st == WEIR_OK && !is_usable(&seen.record, a->now_ms)))
        return refuse(&a->outcome, STREAM_NOT_FOUND);
    if (st != WEIR_OK) return st;
    a->last = seen.log.last;
    if (seen.record.is_gone) return refuse(&a->outcome, STREAM_GONE);
    if (seen.record.is_closed) return refuse_closed(a, &seen.record);
    if (a->type.len > 0 && !media_is_same(a->type, media_essence(seen.record.type)))
        return refuse(&a->outcome, STREAM_OTHER_TYPE);
    if (a->has_producer) {
        st = check_producer(a, view, c, &seen);
        if (st != WEIR_OK) return st;
    }
    if (a->seq.len > 0 && seen.record.seq.len > 0 && compare(a->seq, seen.record.seq) <= 0)
        return refuse(&a->outcome, STREAM_OLD_SEQ);
    update_record(a, c, &seen);
    if (a->closes) commit_seal(c, stream_log_name(&log, a->name), -1);
    a->is_closed = a->closes;
    return WEIR_OK;
}

void stream_append_commit(struct commit *c, struct stream_append *a)
{
    commit_decide(c, false, decide_append, a);
}

enum weir_status stream_decide_json(void *name_slice, struct commit_view *view, struct commit *c)
{
    const struct weir_slice *name = name_slice;
    struct stream_record r;
    struct doc doc;
    (void)c;
    enum weir_status st = commit_view_doc(view, key_of(*name), &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st != WEIR_OK) return st;
    if (!stream_record_read(doc.body, &r)) return WEIR_CORRUPT;
    if (r.is_gone) return WEIR_GONE;
    if (r.is_copying) return WEIR_BUSY;
    return media_format(media_essence(r.type)) == STREAM_JSON ? WEIR_OK : WEIR_BAD_TYPE;
}

/* ---- making ---- */

static bool is_as_wanted(const struct stream_create *create, const struct stream_record *there)
{
    const struct stream_record *w = &create->wanted;
    return media_is_same(media_essence(w->type), media_essence(there->type)) &&
           w->ttl_s == there->ttl_s && slice_eq(w->expires, there->expires) &&
           w->is_closed == there->is_closed && slice_eq(w->source, there->source) &&
           (!create->has_fork_at || w->fork_at == there->fork_at) && w->fork_sub == there->fork_sub;
}

static enum weir_status refuse_existing(struct stream_create *create, const struct seen *seen)
{
    const struct stream_record *r = &seen->record;
    if (r->is_gone) return refuse(&create->outcome, STREAM_GONE);
    if (record_is_expired(r, create->now_ms)) return refuse(&create->outcome, STREAM_EXPIRED);
    if (r->is_copying || !is_as_wanted(create, r)) return refuse(&create->outcome, STREAM_DIFFERS);
    create->last_there = seen->log.last;
    create->is_closed = r->is_closed;
    create->type_len = r->type.len < STREAM_TYPE_BYTES ? r->type.len : STREAM_TYPE_BYTES;
    memcpy(create->type, r->type.ptr, create->type_len);
    return refuse(&create->outcome, STREAM_EXISTED);
}

/* Counts the new one at its source, which has to be what it was when it was read. */
static WEIR_MUST_CHECK enum weir_status join_source(struct stream_create *create,
                                                    struct commit_view *view, struct commit *c)
{
    struct seen source;
    enum weir_status st = look(view, create->wanted.source, &source);
    if (st == WEIR_NOT_FOUND || (st == WEIR_OK && !is_usable(&source.record, create->now_ms)))
        return refuse(&create->outcome, STREAM_NO_SOURCE);
    if (st != WEIR_OK) return st;
    if (source.record.is_gone) return refuse(&create->outcome, STREAM_SOURCE_GONE);
    if (source.log.log_id != create->source_log)
        return refuse(&create->outcome, STREAM_SOURCE_CHANGED);
    source.record.n_forks++;
    if (source.doc.version == 0) source.record.created_ms = create->now_ms;
    put_record(c, create->wanted.source, &source.record, source.doc.version);
    return WEIR_OK;
}

static enum weir_status decide_create(void *user, struct commit_view *view, struct commit *c)
{
    struct stream_create *create = user;
    struct stream_log_text log;
    struct seen seen;
    create->outcome = STREAM_DONE;
    create->is_closed = false;
    enum weir_status st = look(view, create->name, &seen);
    if (st == WEIR_OK) return refuse_existing(create, &seen);
    if (st != WEIR_NOT_FOUND) return st;
    if (create->wanted.source.len > 0) {
        st = join_source(create, view, c);
        if (st != WEIR_OK) return st;
    }
    struct weir_slice name = stream_log_name(&log, create->name);
    commit_make(c, name);
    if (create->wanted.is_closed && !create->wanted.is_copying) commit_seal(c, name, -1);
    create->wanted.created_ms = create->wanted.touched_ms = create->now_ms;
    put_record(c, create->name, &create->wanted, DOC_MUST_BE_NEW);
    create->is_closed = create->wanted.is_closed;
    return WEIR_OK;
}

void stream_create_commit(struct commit *c, struct stream_create *create)
{
    commit_decide(c, false, decide_create, create);
}

/* It is there as we left it. */
static WEIR_MUST_CHECK enum weir_status look_at_copy(struct stream_create *create,
                                                     struct commit_view *view, struct seen *seen)
{
    create->outcome = STREAM_DONE;
    enum weir_status st = look(view, create->name, seen);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    bool is_ours = st == WEIR_OK && seen->record.is_copying &&
                   slice_eq(seen->record.source, create->wanted.source);
    return is_ours ? WEIR_OK : refuse(&create->outcome, STREAM_NOT_FOUND);
}

static enum weir_status decide_copy(void *user, struct commit_view *view, struct commit *c)
{
    struct stream_create *create = user;
    struct seen seen;
    enum weir_status st = look_at_copy(create, view, &seen);
    if (st != WEIR_OK) return st;
    seen.record.touched_ms = create->now_ms;
    put_record(c, create->name, &seen.record, seen.doc.version);
    return WEIR_OK;
}

void stream_copy_commit(struct commit *c, struct stream_create *create)
{
    commit_decide(c, false, decide_copy, create);
}

static enum weir_status decide_copied(void *user, struct commit_view *view, struct commit *c)
{
    struct stream_create *create = user;
    struct stream_log_text log;
    struct seen seen;
    enum weir_status st = look_at_copy(create, view, &seen);
    if (st != WEIR_OK) return st;
    seen.record.touched_ms = create->now_ms;
    seen.record.is_copying = false;
    put_record(c, create->name, &seen.record, seen.doc.version);
    if (seen.record.is_closed) commit_seal(c, stream_log_name(&log, create->name), -1);
    create->is_closed = seen.record.is_closed;
    return WEIR_OK;
}

void stream_copied_commit(struct commit *c, struct stream_create *create)
{
    commit_decide(c, false, decide_copied, create);
}

/* ---- deleting ---- */

/* One fork less for the source; the last one takes a deleted source with it, and so on up. */
static WEIR_MUST_CHECK enum weir_status leave_source(struct commit_view *view, struct commit *c,
                                                     struct weir_slice source)
{
    while (source.len > 0) {
        struct seen seen;
        enum weir_status st = look(view, source, &seen);
        if (st == WEIR_NOT_FOUND) return WEIR_OK;
        if (st != WEIR_OK) return st;
        if (seen.record.n_forks > 0) seen.record.n_forks--;
        if (!seen.record.is_gone || seen.record.n_forks > 0) {
            put_record(c, source, &seen.record, seen.doc.version);
            return WEIR_OK;
        }
        commit_remove(c, key_of(source), seen.doc.version);
        source = seen.record.source;
    }
    return WEIR_OK;
}

static enum weir_status decide_delete(void *user, struct commit_view *view, struct commit *c)
{
    struct stream_delete *d = user;
    struct stream_log_text log;
    struct seen seen;
    d->outcome = STREAM_DONE;
    enum weir_status st = look(view, d->name, &seen);
    if (st == WEIR_NOT_FOUND) return refuse(&d->outcome, STREAM_NOT_FOUND);
    if (st != WEIR_OK) return st;
    bool is_expired = record_is_expired(&seen.record, d->now_ms);
    if (seen.record.is_gone) return refuse(&d->outcome, STREAM_GONE);
    bool is_meant = d->only_copying ? seen.record.is_copying : is_expired == d->only_expired;
    if (!is_meant || (seen.record.is_copying && !d->only_copying && !is_expired))
        return refuse(&d->outcome, STREAM_NOT_FOUND);
    if (seen.log.exists) commit_drop(c, stream_log_name(&log, d->name));
    if (seen.record.n_forks > 0) {
        seen.record.is_gone = true;
        put_record(c, d->name, &seen.record, seen.doc.version);
        return WEIR_OK;
    }
    if (seen.doc.version > 0) commit_remove(c, key_of(d->name), seen.doc.version);
    return leave_source(view, c, seen.record.source);
}

void stream_delete_commit(struct commit *c, struct stream_delete *d)
{
    commit_decide(c, true, decide_delete, d);
}

/* ---- using ---- */

static enum weir_status decide_touch(void *user, struct commit_view *view, struct commit *c)
{
    const struct stream_touch *t = user;
    struct seen seen;
    enum weir_status st = look(view, t->name, &seen);
    if (st != WEIR_OK) return st;
    struct stream_record *r = &seen.record;
    if (r->is_gone || record_is_expired(r, t->now_ms) || !record_wants_touch(r, t->now_ms))
        return WEIR_CONFLICT;
    r->touched_ms = t->now_ms;
    put_record(c, t->name, r, seen.doc.version);
    return WEIR_OK;
}

void stream_touch_commit(struct commit *c, struct stream_touch *t)
{
    commit_decide(c, false, decide_touch, t);
}

/* ---- reading ---- */

enum { FIND_TRIES = 16 };

static WEIR_MUST_CHECK enum weir_status find_log(struct store *store, struct weir_slice name,
                                                 struct log_state *out)
{
    struct stream_log_text log;
    struct log_read read;
    store_read(store, stream_log_name(&log, name), 1, 0, &read);
    *out = read.state;
    return read.status;
}

/*
 * The document, of its record at once, and the log. They are two reads: between them the stream
 * may have been made or deleted, which the log's id before and after tells. False: it was.
 */
static bool find_both(struct store *store, struct weir_slice name, struct stream_found *out)
{
    struct log_state before;
    *out = (struct stream_found){0};
    enum weir_status st = find_log(store, name, &before);
    if (st == WEIR_OK) out->status = store_doc_get(store, key_of(name), &out->doc);
    if (st == WEIR_OK) st = find_log(store, name, &out->log);
    if (st != WEIR_OK) out->status = st;
    if (out->status == WEIR_NOT_FOUND) return before.log_id == out->log.log_id;
    if (out->status != WEIR_OK) return true;
    if (!stream_record_read(out->doc.body, &out->record)) out->status = WEIR_CORRUPT;
    return before.log_id == out->log.log_id && (out->log.exists || out->record.is_gone);
}

void stream_find(struct store *store, struct weir_slice name, int64_t now_ms,
                 struct stream_found *out)
{
    for (int i = 1; !find_both(store, name, out) && i < FIND_TRIES; i++) doc_fini(&out->doc);
    if (out->status == WEIR_OK && out->record.is_copying) {
        out->status = WEIR_NOT_FOUND;
    } else if (out->status == WEIR_OK && record_is_expired(&out->record, now_ms)) {
        out->record.is_gone = true;
        out->status = out->record.n_forks > 0 ? WEIR_OK : WEIR_NOT_FOUND;
    } else if (out->status == WEIR_NOT_FOUND && out->log.exists) {
        out->record = implied(&out->log);
        out->status = WEIR_OK;
    }
}
