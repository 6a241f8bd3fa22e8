/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building commits. Whatever is wrong with what the caller gives is found here, before
 * the committer's thread sees it, and remembered until store_commit().
 */
#include <stdalign.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "store/commit_impl.h"

enum {
    OP_ALIGN = 8,
    DECISION_BYTES = 512, /* a document or two, as decisions go */
};

static size_t padded(size_t n)
{
    return (n + OP_ALIGN - 1) & ~(size_t)(OP_ALIGN - 1);
}

size_t commit_size(size_t expected_bytes)
{
    if (expected_bytes > STORE_COMMIT_BYTES) expected_bytes = STORE_COMMIT_BYTES;
    return sizeof(struct commit) + padded(expected_bytes + sizeof(struct op)) + OP_ALIGN;
}

struct commit *commit_new_in(void *memory, size_t size)
{
    struct commit *c = memory;
    CHECK(size >= sizeof *c && (uintptr_t)memory % alignof(struct commit) == 0);
    *c = (struct commit){.ops = c->room, .cap = size - sizeof *c, .is_borrowed = true};
    return c;
}

struct commit *commit_new(size_t expected_bytes)
{
    size_t size = commit_size(expected_bytes);
    void *memory = mem_alloc(size);
    if (!memory) return NULL;
    struct commit *c = commit_new_in(memory, size);
    c->is_borrowed = false;
    return c;
}

void commit_free(struct commit *c)
{
    if (!c) return;
    if (c->ops != c->room) mem_free(c->ops);
    if (!c->is_borrowed) mem_free(c);
}

static void fail(struct commit *c, enum weir_status st)
{
    if (c->status == WEIR_OK) c->status = st;
}

static bool is_name(struct weir_slice s)
{
    return s.len > 0 && s.len <= STORE_NAME_BYTES;
}

/* Makes room for `extra` more bytes; false when that would pass the ceiling or the memory. */
static bool reserve(struct commit *c, size_t extra)
{
    if (c->cap - c->len >= extra) return true;
    if (extra > STORE_COMMIT_BYTES - c->len) {
        fail(c, WEIR_LIMIT);
        return false;
    }
    size_t cap = c->cap * 2 > c->len + extra ? c->cap * 2 : c->len + extra;
    if (cap > STORE_COMMIT_BYTES) cap = STORE_COMMIT_BYTES;
    char *ops = mem_realloc(c->ops == c->room ? NULL : c->ops, cap);
    if (!ops) {
        fail(c, WEIR_NOMEM);
        return false;
    }
    if (c->ops == c->room) memcpy(ops, c->room, c->len);
    c->ops = ops;
    c->cap = cap;
    return true;
}

static void add(struct commit *c, const struct op *op, const struct weir_slice *parts, size_t n)
{
    if (c->status != WEIR_OK) return;
    size_t len = sizeof *op;
    for (size_t i = 0; i < n; i++) len += parts[i].len;
    if (!reserve(c, padded(len))) return;
    char *at = c->ops + c->len;
    memcpy(at, op, sizeof *op);
    at += sizeof *op;
    for (size_t i = 0; i < n; at += parts[i++].len)
        if (parts[i].len > 0) memcpy(at, parts[i].ptr, parts[i].len);
    memset(at, 0, padded(len) - len);
    c->len += padded(len);
}

static void add_log_op(struct commit *c, enum op_kind kind, struct weir_slice log, int64_t number,
                       struct weir_slice payload)
{
    if (!is_name(log)) {
        fail(c, WEIR_INVALID);
        return;
    }
    struct op op = {.kind = (unsigned char)kind,
                    .n_name = (unsigned char)log.len,
                    .n_payload = (uint32_t)payload.len,
                    .number = number};
    add(c, &op, (struct weir_slice[]){log, payload}, 2);
}

/* Lines that end in LF, the last one empty and no other, without CR and NUL. */
static bool is_frame(struct weir_slice f)
{
    if (f.len < 3 || memcmp(f.ptr + f.len - 2, "\n\n", 2) != 0 || f.ptr[0] == '\n') return false;
    if (memchr(f.ptr, '\r', f.len) || memchr(f.ptr, '\0', f.len)) return false;
    /* Line by line: there are few, and memchr() is faster than any search for two bytes. */
    const char *end = f.ptr + f.len - 2;
    const char *line = f.ptr;
    while ((line = memchr(line, '\n', (size_t)(end - line))) && line[1] != '\n') line++;
    return line == NULL;
}

void commit_append(struct commit *c, struct weir_slice log, struct weir_slice frame)
{
    if (frame.len > STORE_FRAME_BYTES) {
        fail(c, WEIR_LIMIT);
        return;
    }
    if (!is_frame(frame)) {
        fail(c, WEIR_INVALID);
        return;
    }
    add_log_op(c, OP_APPEND, log, 0, frame);
}

void commit_make(struct commit *c, struct weir_slice log)
{
    add_log_op(c, OP_MAKE, log, 0, (struct weir_slice){0});
}

void commit_decide(struct commit *c, bool may_drop, commit_decide_fn decide, void *user)
{
    c->decide = decide;
    c->decider = user;
    c->drops |= may_drop;
}

void commit_expect(struct commit *c, struct weir_slice log, uint64_t last)
{
    if (last > INT64_MAX) fail(c, WEIR_INVALID);
    add_log_op(c, OP_EXPECT, log, (int64_t)last, (struct weir_slice){0});
}

void commit_seal(struct commit *c, struct weir_slice log, int64_t keep_ms)
{
    add_log_op(c, OP_SEAL, log, keep_ms, (struct weir_slice){0});
}

void commit_drop_id(struct commit *c, struct weir_slice log, uint64_t log_id)
{
    if (c->decide && !c->drops) fail(c, WEIR_INVALID);
    c->drops = true;
    add_log_op(c, OP_DROP, log, (int64_t)log_id, (struct weir_slice){0});
}

void commit_drop(struct commit *c, struct weir_slice log)
{
    commit_drop_id(c, log, 0);
}

static void add_doc_op(struct commit *c, struct op op, struct doc_key key, struct weir_slice owner,
                       struct weir_slice body)
{
    if (body.len > STORE_DOC_BYTES) {
        fail(c, WEIR_LIMIT);
        return;
    }
    if (!is_name(key.kind) || !is_name(key.id) || owner.len > STORE_NAME_BYTES ||
        memchr(key.kind.ptr, '\0', key.kind.len)) {
        fail(c, WEIR_INVALID);
        return;
    }
    op.n_name = (unsigned char)key.kind.len;
    op.n_id = (unsigned char)key.id.len;
    op.n_owner = (unsigned char)owner.len;
    op.n_payload = (uint32_t)body.len;
    add(c, &op, (struct weir_slice[]){key.kind, key.id, owner, body}, 4);
}

void commit_put(struct commit *c, struct doc_key key, int64_t expected_version,
                struct weir_slice owner, struct weir_slice body)
{
    struct op op = {.kind = OP_PUT, .number = expected_version};
    add_doc_op(c, op, key, owner, body);
}

void commit_remove(struct commit *c, struct doc_key key, int64_t expected_version)
{
    struct op op = {.kind = OP_REMOVE, .number = expected_version};
    add_doc_op(c, op, key, (struct weir_slice){0}, (struct weir_slice){0});
}

size_t commit_weight(const struct commit *c)
{
    return c->len + (c->decide ? DECISION_BYTES : 0);
}

/* ---- walking ---- */

static struct op *op_at(struct commit *c, size_t at)
{
    return at < c->len ? (struct op *)(void *)(c->ops + at) : NULL;
}

struct op *commit_first(struct commit *c)
{
    return op_at(c, 0);
}

struct op *commit_next(struct commit *c, struct op *op)
{
    size_t at = (size_t)((char *)op - c->ops);
    size_t len = sizeof *op + op->n_name + op->n_id + op->n_owner + op->n_payload;
    return op_at(c, at + padded(len));
}

static const char *bytes_of(const struct op *op)
{
    return (const char *)(op + 1);
}

struct weir_slice op_log(const struct op *op)
{
    return slice_of(bytes_of(op), op->n_name);
}

struct weir_slice op_payload(const struct op *op)
{
    return slice_of(bytes_of(op) + op->n_name + op->n_id + op->n_owner, op->n_payload);
}

struct doc_key op_key(const struct op *op)
{
    return (struct doc_key){slice_of(bytes_of(op), op->n_name),
                            slice_of(bytes_of(op) + op->n_name, op->n_id)};
}

struct weir_slice op_owner(const struct op *op)
{
    return slice_of(bytes_of(op) + op->n_name + op->n_id, op->n_owner);
}
