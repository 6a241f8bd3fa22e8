/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of a person: entries, each a document of kind "memory" with the person as
 * owner, written by the last step of a turn and by people themselves over /v1/memory.
 *
 *   {"id":"mem_…","category":"goal","text":"…","data":…,"source_turn":"turn_…",
 *    "created_at":"…","updated_at":"…"}
 *
 * Pure; any thread.
 */
#pragma once

#include <weir/buf.h>
#include <weir/json.h>

#include "store/store.h"

enum {
    MEMORY_ID_LEN = 4 + 26,       /* "mem_" and a ULID */
    MEMORY_TEXT_BYTES = 4096,     /* of an entry's text, from people */
    MEMORY_DATA_BYTES = 16 << 10, /* of its data, as it is written here */
    MEMORY_ENTRY_BYTES = 64 << 10,
    MEMORY_MAX_ENTRIES = 10000, /* of one person, beyond which nobody may add by hand */
};

/* Texts and values are borrowed. */
struct memory_entry {
    struct weir_slice id, category, text;
    const struct weir_json *data;  /* NULL: null */
    struct weir_slice source_turn; /* empty: it was written by hand */
    struct weir_slice created_at, updated_at;
};

void memory_put(struct weir_buf *out, const struct memory_entry *e);
/* False when it is no entry. */
bool memory_read(const struct weir_json *json, struct memory_entry *e);

/* "goal", "preference", "insight", "hypothesis". */
bool memory_is_category(struct weir_slice text);

extern const char memory_id_prefix[];
bool memory_is_id(struct weir_slice text);

static inline struct doc_key memory_key(struct weir_slice id)
{
    return (struct doc_key){{"memory", 6}, id};
}
