/* SPDX-License-Identifier: Apache-2.0 */
#include "store/ahead_impl.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"

enum { MAX_PENDING_CHUNKS = 1 << 24 };

/* ---- logs and documents ---- */

struct log *log_new(struct weir_slice name, uint64_t id)
{
    CHECK(name.len > 0 && name.len <= STORE_NAME_BYTES);
    struct log *log = mem_zalloc(sizeof *log + name.len);
    if (!log) return NULL;
    log->id = id;
    log->expires_ms = log->next_expires_ms = INT64_MAX;
    log->n_name = (unsigned char)name.len;
    memcpy(log->name, name.ptr, name.len);
    ring_init(&log->pending, MAX_PENDING_CHUNKS);
    return log;
}

void log_free(struct log *log)
{
    if (!log) return;
    for (struct chunk *c; (c = ring_pop(&log->pending));) chunk_unref(c);
    ring_fini(&log->pending);
    chunk_unref(log->chunk);
    mem_free(log);
}

struct weir_slice log_name(const struct log *log)
{
    return slice_of(log->name, log->n_name);
}

struct weir_slice overlay_key(char out[OVERLAY_KEY_BYTES], struct doc_key key)
{
    memcpy(out, key.kind.ptr, key.kind.len);
    out[key.kind.len] = '\0';
    memcpy(out + key.kind.len + 1, key.id.ptr, key.id.len);
    return slice_of(out, key.kind.len + 1 + key.id.len);
}

struct pending_doc *pending_doc_new(struct doc_key key, struct weir_slice owner,
                                    struct weir_slice body)
{
    char name[OVERLAY_KEY_BYTES];
    struct weir_slice prefix = overlay_key(name, key);
    struct pending_doc *d = mem_zalloc(sizeof *d + prefix.len + owner.len + body.len);
    if (!d) return NULL;
    d->refs = 1;
    d->n_kind = (unsigned char)key.kind.len;
    d->n_id = (unsigned char)key.id.len;
    d->n_owner = (unsigned char)owner.len;
    d->n_body = (uint32_t)body.len;
    memcpy(d->bytes, prefix.ptr, prefix.len);
    if (owner.len > 0) memcpy(d->bytes + prefix.len, owner.ptr, owner.len);
    if (body.len > 0) memcpy(d->bytes + prefix.len + owner.len, body.ptr, body.len);
    return d;
}

struct weir_slice pending_doc_key(const struct pending_doc *d)
{
    return slice_of(d->bytes, (size_t)d->n_kind + 1 + d->n_id);
}

size_t pending_doc_bytes(const struct pending_doc *d)
{
    return (size_t)d->n_kind + 1 + d->n_id + d->n_owner + d->n_body;
}

struct doc pending_doc_view(const struct pending_doc *d)
{
    const char *id = d->bytes + d->n_kind + 1;
    return (struct doc){.kind = slice_of(d->bytes, d->n_kind),
                        .id = slice_of(id, d->n_id),
                        .owner = slice_of(id + d->n_id, d->n_owner),
                        .body = slice_of(id + d->n_id + d->n_owner, d->n_body),
                        .version = d->version};
}

void pending_doc_unref(struct pending_doc *d)
{
    if (d && --d->refs == 0) mem_free(d);
}

void ahead_init(struct ahead *a, const struct ahead_ways *ways, size_t max_docs)
{
    *a = (struct ahead){.ways = ways};
    list_init(&a->logs);
    map_init(&a->docs, max_docs);
}

void ahead_fini(struct ahead *a)
{
    map_fini(&a->docs);
}

/* ---- deciding ---- */

static size_t n_digits(uint64_t n)
{
    size_t digits = 1;
    while (n >= 10) {
        n /= 10;
        digits++;
    }
    return digits;
}

/* "id: N\n" and the frame. */
static size_t event_bytes(uint64_t id, size_t frame_bytes)
{
    return 4 + n_digits(id) + 1 + frame_bytes;
}

void ahead_join(struct ahead *a, struct log *log)
{
    if (list_is_linked(&log->batch)) return;
    log->next_last = log->last;
    log->next_sealed = log->is_sealed;
    log->next_expires_ms = log->expires_ms;
    log->next_dropped = !log->is_visible;
    log->batch_bytes = 0;
    list_push_back(&a->logs, &log->batch);
}

static WEIR_MUST_CHECK enum weir_status find_log(struct ahead *a, const struct op *op,
                                                 enum log_wanted wanted, struct log **out)
{
    return a->ways->find_log(a, op_log(op), wanted, out);
}

enum weir_status ahead_log(struct ahead *a, struct weir_slice name, struct log_state *out)
{
    struct log *log;
    enum weir_status st = a->ways->find_log(a, name, LOG_LIVE, &log);
    if (st == WEIR_OK)
        *out = (struct log_state){.exists = true,
                                  .is_sealed = log->next_sealed,
                                  .log_id = log->id,
                                  .last = log->next_last};
    return st;
}

static WEIR_MUST_CHECK enum weir_status decide_append(struct ahead *a, struct commit *c,
                                                      struct op *op)
{
    struct log *log;
    const struct op *before = op->before;
    bool is_same = before && before->kind == OP_APPEND && slice_eq(op_log(before), op_log(op));
    if (is_same) {
        log = before->log;
    } else {
        enum weir_status st = find_log(a, op, LOG_MAYBE, &log);
        if (st != WEIR_OK) return st;
    }
    if (log->next_sealed) return WEIR_SEALED;
    if (log->is_visible && log->next_dropped) return WEIR_INVALID; /* by this very commit */
    op->log = log;
    op->number = log->next_dropped;
    log->next_last++;
    log->next_dropped = false;
    log->batch_bytes += event_bytes(log->next_last, op->n_payload);
    if (!is_same) c->result.first = log->next_last;
    c->result.last = log->next_last;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status decide_make(struct ahead *a, struct op *op)
{
    struct log *log;
    enum weir_status st = find_log(a, op, LOG_MAYBE, &log);
    if (st != WEIR_OK) return st;
    if (log->is_visible && log->next_dropped) return WEIR_INVALID; /* by this very commit */
    if (log->expires_ms <= a->ways->now_ms(a))
        return WEIR_SEALED; /* the sweep has yet to come by */
    op->log = log;
    op->number = log->next_dropped;
    log->next_dropped = false;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status decide_expect(struct ahead *a, struct op *op)
{
    struct log *log;
    enum weir_status st = find_log(a, op, LOG_LIVE, &log);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    uint64_t last = st == WEIR_OK ? log->next_last : 0;
    return last == (uint64_t)op->number ? WEIR_OK : WEIR_CONFLICT;
}

static WEIR_MUST_CHECK enum weir_status decide_seal(struct ahead *a, struct op *op)
{
    struct log *log;
    enum weir_status st = find_log(a, op, LOG_LIVE, &log);
    if (st != WEIR_OK) return st;
    if (log->next_sealed) return WEIR_SEALED;
    op->log = log;
    log->next_sealed = true;
    int64_t now = a->ways->now_ms(a);
    bool is_forever = op->number < 0 || op->number > INT64_MAX - now;
    log->next_expires_ms = is_forever ? INT64_MAX : now + op->number;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status decide_drop(struct ahead *a, struct op *op)
{
    struct log *log;
    /* The sweep drops what expired, by its id. */
    enum weir_status st = find_log(a, op, op->number != 0 ? LOG_EXPIRED : LOG_LIVE, &log);
    bool is_other = st == WEIR_OK && op->number != 0 && log->id != (uint64_t)op->number;
    op->log = NULL;
    if (is_other || (st == WEIR_NOT_FOUND && op->number != 0)) return WEIR_OK;
    if (st != WEIR_OK) return st;
    if (log->next_last != log->last || log->next_sealed != log->is_sealed) return WEIR_INVALID;
    op->log = log;
    log->next_dropped = true;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status find_version(struct ahead *a, struct doc_key key,
                                                     int64_t expected, int64_t *version)
{
    char name[OVERLAY_KEY_BYTES];
    const struct pending_doc *d = map_get(&a->docs, overlay_key(name, key));
    if (!d) return a->ways->doc_version(a, key, expected, version);
    *version = d->is_removed ? 0 : d->version;
    return WEIR_OK;
}

/* All documents that a commit makes begin with the same version, so that its maker knows it. */
static WEIR_MUST_CHECK enum weir_status next_version(struct ahead *a, struct commit *c,
                                                     int64_t *version)
{
    uint64_t life = 0;
    enum weir_status st = WEIR_OK;
    if (*version > 0) {
        ++*version;
        return WEIR_OK;
    }
    if (c->result.made == 0) {
        st = a->ways->next_id(a, &life);
        c->result.made = ((int64_t)life << DOC_LIFE_BITS) + 1;
    }
    *version = c->result.made;
    return st;
}

static WEIR_MUST_CHECK enum weir_status decide_doc(struct ahead *a, struct commit *c, struct op *op)
{
    int64_t version;
    struct doc_key key = op_key(op);
    enum weir_status st = find_version(a, key, op->number, &version);
    if (st != WEIR_OK) return st;
    if (op->number != DOC_ANY_VERSION && op->number != version)
        return op->number == DOC_MUST_BE_NEW ? WEIR_EXISTS : WEIR_CONFLICT;
    bool is_removed = op->kind == OP_REMOVE;
    if (is_removed && version == 0) return WEIR_NOT_FOUND;
    if (!is_removed) st = next_version(a, c, &version);
    if (st != WEIR_OK) return st;
    struct pending_doc *d = pending_doc_new(key, op_owner(op), op_payload(op));
    if (!d) return WEIR_NOMEM;
    d->is_removed = is_removed;
    d->version = version;
    op->old = map_get(&a->docs, pending_doc_key(d));
    st = map_put(&a->docs, pending_doc_key(d), d);
    if (st != WEIR_OK) {
        mem_free(d);
        return st;
    }
    c->result.version = is_removed ? 0 : d->version;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status decide_op(struct ahead *a, struct commit *c, struct op *op)
{
    switch ((enum op_kind)op->kind) {
    case OP_APPEND: return decide_append(a, c, op);
    case OP_MAKE: return decide_make(a, op);
    case OP_EXPECT: return decide_expect(a, op);
    case OP_SEAL: return decide_seal(a, op);
    case OP_DROP: return decide_drop(a, op);
    case OP_PUT:
    case OP_REMOVE: return decide_doc(a, c, op);
    }
    return WEIR_INTERNAL;
}

static void undo_doc(struct ahead *a, struct op *op)
{
    char name[OVERLAY_KEY_BYTES];
    struct weir_slice key = overlay_key(name, op_key(op));
    mem_free(map_take(&a->docs, key));
    if (!op->old) return;
    enum weir_status st = map_put(&a->docs, key, op->old);
    CHECK(st == WEIR_OK); /* the place of the one just taken */
}

static void undo_op(struct ahead *a, struct op *op)
{
    struct log *log = op->log;
    switch ((enum op_kind)op->kind) {
    case OP_APPEND:
        log->batch_bytes -= event_bytes(log->next_last, op->n_payload);
        log->next_last--;
        log->next_dropped = op->number != 0;
        break;
    case OP_MAKE: log->next_dropped = op->number != 0; break;
    case OP_SEAL:
        log->next_sealed = false;
        log->next_expires_ms = log->expires_ms;
        break;
    case OP_DROP:
        if (log) log->next_dropped = false;
        break;
    case OP_PUT:
    case OP_REMOVE: undo_doc(a, op); break;
    case OP_EXPECT: break;
    }
}

/* What the commit's documents replaced within the batch is not needed to go back any more. */
static void forget_old(struct commit *c)
{
    for (struct op *op = commit_first(c); op; op = commit_next(c, op)) {
        if (op->kind == OP_PUT || op->kind == OP_REMOVE) mem_free(op->old);
    }
}

void ahead_decide(struct ahead *a, struct commit *c)
{
    struct op *before = NULL;
    c->result = (struct commit_result){0};
    enum weir_status st = c->status == WEIR_OK ? a->ways->call_decide(a, c) : c->status;
    for (struct op *op = commit_first(c); op && st == WEIR_OK; op = commit_next(c, op)) {
        op->before = before;
        st = decide_op(a, c, op);
        if (st == WEIR_OK) before = op;
    }
    if (st == WEIR_OK) {
        forget_old(c);
        return;
    }
    /* What was decided before the one that cannot be is taken back, the last one first. */
    for (; before; before = before->before) undo_op(a, before);
    c->result = (struct commit_result){.status = st};
}

/* ---- filling ---- */

static char *put_id(char *at, uint64_t id)
{
    static const char field[] = {'i', 'd', ':', ' '};
    size_t n = n_digits(id);
    memcpy(at, field, sizeof field);
    at += sizeof field;
    for (size_t i = n; i > 0; i--, id /= 10) at[i - 1] = (char)('0' + id % 10);
    at[n] = '\n';
    return at + n + 1;
}

static WEIR_MUST_CHECK enum weir_status make_chunks(struct ahead *a)
{
    a->n_events = a->n_bytes = 0;
    a->n_logs = 0;
    for (struct list_node *n = list_first(&a->logs); n; n = list_next(&a->logs, n)) {
        struct log *log = CONTAINER_OF(n, struct log, batch);
        a->n_logs++;
        if (log->next_last == log->last) continue;
        log->chunk = chunk_new(log->last + 1, log->next_last, log->batch_bytes);
        log->chunk_at = 0;
        if (!log->chunk) return WEIR_NOMEM;
        a->n_events += log->next_last - log->last;
        a->n_bytes += log->batch_bytes;
        log->next_last = log->last; /* counted up again while the chunks are filled */
    }
    return WEIR_OK;
}

static void fill(struct op *op)
{
    struct log *log = op->log;
    struct weir_slice frame = op_payload(op);
    char *at = put_id(log->chunk->bytes + log->chunk_at, ++log->next_last);
    memcpy(at, frame.ptr, frame.len);
    log->chunk_at = (size_t)(at + frame.len - log->chunk->bytes);
}

enum weir_status ahead_fill(struct ahead *a, struct commit *commits)
{
    enum weir_status st = make_chunks(a);
    if (st != WEIR_OK) return st;
    for (struct commit *c = commits; c; c = c->next) {
        if (c->result.status != WEIR_OK) continue;
        for (struct op *op = commit_first(c); op; op = commit_next(c, op))
            if (op->kind == OP_APPEND) fill(op);
    }
    return WEIR_OK;
}

void ahead_roll_back(struct ahead *a)
{
    for (struct list_node *n; (n = list_pop_front(&a->logs));) {
        struct log *log = CONTAINER_OF(n, struct log, batch);
        chunk_unref(log->chunk);
        log->chunk = NULL;
    }
    struct map_walk w = map_walk_begin(&a->docs);
    while (map_walk_next(&a->docs, &w)) mem_free(map_take(&a->docs, w.key));
}
