/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: what a turn is given of it, and what it leaves; memory.h has the form of an entry.
 *
 * The ids of what a turn leaves follow from the turn's own id, so that a last step that is run
 * again after a crash leaves the same and not twice as much.
 */
#include "agent/memory.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "turn/turn_impl.h"

enum {
    MEMORY_ENTRIES = 100,     /* the newest so many are given to a turn */
    MEMORY_BYTES = 256 << 10, /* and no more than this */
    TIME_BYTES = 6,           /* of a ULID */
    OUTPUT_BYTES = FLOW_OUTPUT_BYTES,
};

/* ---- what a turn is given ---- */

static enum weir_status collect(void *user, const struct doc *doc)
{
    struct weir_buf *out = user;
    if (out->len + doc->body.len + 2 > MEMORY_BYTES) return WEIR_OK; /* a smaller one may fit */
    if (out->len > 1) weir_buf_append_char(out, ',');
    weir_buf_append_slice(out, doc->body);
    return weir_buf_status(out);
}

/* The person's newest entries as an array; null when they cannot be read. */
static void put_memory(struct weir_buf *out, struct store *store, struct weir_slice owner)
{
    struct doc_query query = {
        .kind = SLICE("memory"), .owner = owner, .limit = MEMORY_ENTRIES, .is_falling = true};
    struct weir_buf list;
    weir_buf_init(&list, CONTEXT_BYTES);
    weir_buf_append_char(&list, '[');
    enum weir_status st = store_doc_list(store, &query, collect, &list);
    weir_buf_append_char(&list, ']');
    if (st == WEIR_OK) weir_buf_append_slice(out, weir_buf_slice(&list));
    else weir_json_put_null(out);
    weir_buf_fini(&list);
}

static bool put_wish(struct weir_buf *out, const struct weir_json *input, const char *key)
{
    const struct weir_json *wish = weir_json_get_str(input, key);
    weir_json_put_key(out, key);
    weir_json_put_value(out, wish);
    return weir_json_type_of(wish) == WEIR_JSON_TRUE;
}

void context_put(struct weir_buf *out, struct store *store, struct weir_slice owner,
                 const struct weir_json *input)
{
    weir_json_put_begin_object(out);
    put_wish(out, input, "include_biomarkers");
    bool has_memory = put_wish(out, input, "include_memory");
    weir_json_put_key(out, "memory");
    if (has_memory) put_memory(out, store, owner);
    else weir_json_put_null(out);
    weir_json_put_end_object(out);
}

/* ---- what it leaves ---- */

static void make_id(char out[MEMORY_ID_LEN + 1], struct weir_slice turn_id, unsigned number)
{
    unsigned char hash[SHA256_BYTES];
    char text[TURN_ID_LEN + 4] = {0};
    struct ulid id = {{0}};
    size_t len = turn_id.len < TURN_ID_LEN ? turn_id.len : TURN_ID_LEN;
    memcpy(text, turn_id.ptr, len);
    text[len] = (char)(number & 0xff);
    text[len + 1] = (char)(number >> 8 & 0xff);
    sha256(slice_of(text, len + 2), hash);
    /* The time is the turn's; what is left of the id is as good as random. */
    if (len == TURN_ID_LEN && ulid_parse(slice_of(text + 5, ULID_TEXT_LEN), &id) != WEIR_OK)
        id = (struct ulid){{0}};
    memcpy(id.bytes + TIME_BYTES, hash, sizeof id.bytes - TIME_BYTES);
    memcpy(out, memory_id_prefix, 4);
    ulid_format(out + 4, id);
}

/* The entry of this id that the turn was given; NULL. */
static const struct weir_json *find_given(const struct memory_origin *origin, struct weir_slice id)
{
    const struct weir_json *v = memory_is_id(id) ? weir_json_first(origin->given) : NULL;
    while (v && !slice_eq(weir_json_text(weir_json_get_str(v, "id")), id)) v = weir_json_next(v);
    return v;
}

/* WEIR_NOT_FOUND: there is nothing to remember. */
static enum weir_status put_entry(struct weir_buf *out, struct weir_slice id,
                                  const struct weir_json *entry, const struct memory_origin *origin)
{
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, origin->now_ms);
    struct memory_entry e = {
        .id = id,
        .category = weir_json_text(weir_json_get_str(entry, "category")),
        .text = weir_json_text(weir_json_get_str(entry, "text")),
        .data = weir_json_get_str(entry, "data"),
        .source_turn = origin->turn_id,
        .created_at = weir_slice_of(at),
        .updated_at = weir_slice_of(at),
    };
    struct weir_slice since =
        weir_json_text(weir_json_get_str(find_given(origin, id), "created_at"));
    if (since.len > 0) e.created_at = since;
    if (e.text.len == 0) return WEIR_NOT_FOUND;
    weir_buf_reset(out);
    memory_put(out, &e);
    return weir_buf_status(out);
}

enum weir_status memory_complete(struct weir_buf *out, struct weir_slice brought,
                                 const struct memory_origin *origin, memory_put_fn put, void *user)
{
    const struct weir_json *json = NULL;
    struct weir_buf one;
    unsigned n = 0, n_put = 0;
    struct weir_json_doc *doc = weir_json_doc_new(OUTPUT_BYTES * 16);
    if (!doc) return WEIR_NOMEM;
    weir_buf_init(&one, MEMORY_ENTRY_BYTES);
    enum weir_status st = weir_json_parse(doc, brought, &json, NULL);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "entries");
    weir_json_put_begin_array(out);
    const struct weir_json *v = weir_json_first(weir_json_get_str(json, "entries"));
    for (; v && st == WEIR_OK; v = weir_json_next(v)) {
        char made[MEMORY_ID_LEN + 1];
        struct weir_slice id = weir_json_text(weir_json_get_str(v, "id"));
        bool is_change = find_given(origin, id) != NULL;
        make_id(made, origin->turn_id, n++);
        if (!is_change) id = weir_slice_of(made);
        enum weir_status written = put_entry(&one, id, v, origin);
        if (written == WEIR_NOMEM) st = written;
        if (written != WEIR_OK) continue; /* too large to be remembered, or empty */
        put(user, id, is_change, weir_buf_slice(&one));
        if (n_put++ > 0) weir_buf_append_char(out, ',');
        weir_buf_append_slice(out, weir_buf_slice(&one));
    }
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
    weir_buf_fini(&one);
    weir_json_doc_free(doc);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
