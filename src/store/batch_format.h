/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of a journal record: all that one sync makes durable, as the result it has
 * and not as the wish it was, so that reading it again cannot come out differently. Numbers
 * are little-endian. Entries, one behind the other:
 *
 *   1 byte    kind
 *   events    'e'  u64 log id, u8 length and bytes of its name, u64 first, u64 last,
 *                  u32 length and bytes: the events in wire form
 *   make      'm'  u64 log id, name
 *   seal      's'  u64 log id, name, i64 wall time in ms when it expires
 *   drop      'd'  u64 log id, name
 *   document  'p'  kind, id, owner (u8 length and bytes each), i64 version, u32 length and body
 *   removal   'r'  kind, id, i64 version it had
 *
 * Reading an entry again that is in the database already changes nothing.
 */
#pragma once

#include <weir/buf.h>

enum entry_kind {
    ENTRY_EVENTS = 'e',
    ENTRY_MAKE = 'm',
    ENTRY_SEAL = 's',
    ENTRY_DROP = 'd',
    ENTRY_PUT = 'p',
    ENTRY_REMOVE = 'r',
};

/* What applies to its kind is set; slices are borrowed. */
struct entry {
    enum entry_kind kind;
    uint64_t log_id;
    struct weir_slice name; /* of the log */
    uint64_t first, last;
    int64_t expires_ms;
    struct weir_slice doc_kind, doc_id, owner;
    int64_t version;
    struct weir_slice bytes; /* events, or a document's body */
};

void entry_write(struct weir_buf *out, const struct entry *e);

/* Takes the first entry off *bytes; false when they do not begin with a whole one. */
bool entry_read(struct weir_slice *bytes, struct entry *e);
