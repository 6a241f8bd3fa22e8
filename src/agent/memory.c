/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/memory.h"

#include "base/ulid.h"
#include "codec/json_member.h"

const char memory_id_prefix[] = "mem_";

bool memory_is_id(struct weir_slice text)
{
    return ulid_is_name(text, memory_id_prefix);
}

bool memory_is_category(struct weir_slice text)
{
    static const char *const names[] = {"goal", "preference", "insight", "hypothesis"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (weir_slice_is(text, names[i])) return true;
    return false;
}

void memory_put(struct weir_buf *out, const struct memory_entry *e)
{
    weir_json_put_begin_object(out);
    member_string(out, "id", e->id);
    member_string(out, "category", e->category);
    member_string(out, "text", e->text);
    weir_json_put_key(out, "data");
    weir_json_put_value(out, e->data);
    weir_json_put_key(out, "source_turn");
    if (e->source_turn.len > 0) weir_json_put_string(out, e->source_turn);
    else weir_json_put_null(out);
    member_string(out, "created_at", e->created_at);
    member_string(out, "updated_at", e->updated_at);
    weir_json_put_end_object(out);
}

static struct weir_slice text_of(const struct weir_json *json, const char *key)
{
    const struct weir_json *v = weir_json_get_str(json, key);
    return weir_json_type_of(v) == WEIR_JSON_STRING ? weir_json_text(v) : (struct weir_slice){0};
}

bool memory_read(const struct weir_json *json, struct memory_entry *e)
{
    *e = (struct memory_entry){.id = text_of(json, "id"),
                               .category = text_of(json, "category"),
                               .text = text_of(json, "text"),
                               .data = weir_json_get_str(json, "data"),
                               .source_turn = text_of(json, "source_turn"),
                               .created_at = text_of(json, "created_at"),
                               .updated_at = text_of(json, "updated_at")};
    return e->id.len > 0 && e->text.len > 0;
}
