/* SPDX-License-Identifier: Apache-2.0 */
#include "store/batch_format.h"

#include <endian.h>

#include "base/check.h"
#include "base/slice.h"

/* ---- writing ---- */

static void put_u32(struct weir_buf *out, size_t n)
{
    CHECK(n <= UINT32_MAX);
    uint32_t le = htole32((uint32_t)n);
    weir_buf_append(out, &le, sizeof le);
}

static void put_u64(struct weir_buf *out, uint64_t n)
{
    uint64_t le = htole64(n);
    weir_buf_append(out, &le, sizeof le);
}

static void put_name(struct weir_buf *out, struct weir_slice s)
{
    CHECK(s.len <= UINT8_MAX);
    weir_buf_append_char(out, (char)s.len);
    weir_buf_append_slice(out, s);
}

static void put_bytes(struct weir_buf *out, struct weir_slice s)
{
    put_u32(out, s.len);
    weir_buf_append_slice(out, s);
}

static void write_log_entry(struct weir_buf *out, const struct entry *e)
{
    put_u64(out, e->log_id);
    put_name(out, e->name);
    if (e->kind == ENTRY_SEAL) put_u64(out, (uint64_t)e->expires_ms);
    if (e->kind != ENTRY_EVENTS) return;
    put_u64(out, e->first);
    put_u64(out, e->last);
    put_bytes(out, e->bytes);
}

static void write_doc_entry(struct weir_buf *out, const struct entry *e)
{
    put_name(out, e->doc_kind);
    put_name(out, e->doc_id);
    if (e->kind == ENTRY_PUT) put_name(out, e->owner);
    put_u64(out, (uint64_t)e->version);
    if (e->kind == ENTRY_PUT) put_bytes(out, e->bytes);
}

void entry_write(struct weir_buf *out, const struct entry *e)
{
    weir_buf_append_char(out, (char)e->kind);
    if (e->kind == ENTRY_PUT || e->kind == ENTRY_REMOVE) write_doc_entry(out, e);
    else write_log_entry(out, e);
}

/* ---- reading ---- */

/* Bytes that are taken from the front; `is_bad` sticks. */
struct cursor {
    struct weir_slice rest;
    bool is_bad;
};

static struct weir_slice take(struct cursor *c, size_t n)
{
    if (c->is_bad || n > c->rest.len) {
        c->is_bad = true;
        return (struct weir_slice){0};
    }
    struct weir_slice s = {c->rest.ptr, n};
    c->rest = slice_from(c->rest, n);
    return s;
}

static uint64_t take_u64(struct cursor *c)
{
    uint64_t le = 0;
    struct weir_slice s = take(c, sizeof le);
    if (s.len == sizeof le) memcpy(&le, s.ptr, sizeof le);
    return le64toh(le);
}

static struct weir_slice take_name(struct cursor *c)
{
    struct weir_slice len = take(c, 1);
    return take(c, len.len == 1 ? (unsigned char)len.ptr[0] : 0);
}

static struct weir_slice take_bytes(struct cursor *c)
{
    uint32_t le = 0;
    struct weir_slice s = take(c, sizeof le);
    if (s.len == sizeof le) memcpy(&le, s.ptr, sizeof le);
    return take(c, le32toh(le));
}

static void read_log_entry(struct cursor *c, struct entry *e)
{
    e->log_id = take_u64(c);
    e->name = take_name(c);
    if (e->kind == ENTRY_SEAL) e->expires_ms = (int64_t)take_u64(c);
    if (e->kind == ENTRY_EVENTS) {
        e->first = take_u64(c);
        e->last = take_u64(c);
        e->bytes = take_bytes(c);
        if (e->first == 0 || e->last < e->first || e->bytes.len == 0) c->is_bad = true;
    }
    if (e->log_id == 0 || e->name.len == 0) c->is_bad = true;
}

static void read_doc_entry(struct cursor *c, struct entry *e)
{
    e->doc_kind = take_name(c);
    e->doc_id = take_name(c);
    if (e->kind == ENTRY_PUT) e->owner = take_name(c);
    e->version = (int64_t)take_u64(c);
    if (e->kind == ENTRY_PUT) e->bytes = take_bytes(c);
    if (e->doc_kind.len == 0 || e->doc_id.len == 0 || e->version < 1) c->is_bad = true;
}

bool entry_read(struct weir_slice *bytes, struct entry *e)
{
    struct cursor c = {.rest = *bytes};
    struct weir_slice kind = take(&c, 1);
    if (c.is_bad) return false;
    *e = (struct entry){.kind = (enum entry_kind)kind.ptr[0]};
    switch (e->kind) {
    case ENTRY_EVENTS:
    case ENTRY_MAKE:
    case ENTRY_SEAL:
    case ENTRY_DROP: read_log_entry(&c, e); break;
    case ENTRY_PUT:
    case ENTRY_REMOVE: read_doc_entry(&c, e); break;
    default: return false;
    }
    if (c.is_bad) return false;
    *bytes = c.rest;
    return true;
}
