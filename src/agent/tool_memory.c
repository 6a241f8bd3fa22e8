/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of the user. Only reading: a model in a chat may have been talked into
 * something by a text that it has read, and what it would write here would speak to all later ones.
 */
#include "agent/memory.h"
#include "agent/tool_impl.h"
#include "base/slice.h"

enum {
    ENTRIES_LOOKED_AT = 1000,
    ENTRIES_MAX = 50,
    ENTRY_VALUES_BYTES = 8 << 20,
};

struct reading {
    struct tool_case *c;
    struct weir_slice category; /* empty: all */
    struct weir_json_doc *doc;
    struct weir_buf list, one;
    size_t n;
    bool is_full;
};

static void put_entry(struct weir_buf *out, const struct memory_entry *e)
{
    weir_json_put_begin_object(out);
    tool_put_text(out, "category", e->category);
    tool_put_text(out, "text", e->text);
    tool_put_text(out, "since", e->created_at);
    weir_json_put_end_object(out);
}

static enum weir_status take_entry(void *user, const struct doc *doc)
{
    struct reading *r = user;
    struct memory_entry e;
    const struct weir_json *json = NULL;
    if (tool_is_aborted(r->c)) return WEIR_CANCELLED;
    weir_json_doc_reset(r->doc);
    enum weir_status st = weir_json_parse(r->doc, doc->body, &json, NULL);
    if (st != WEIR_OK || !memory_read(json, &e)) return st == WEIR_NOMEM ? st : WEIR_OK;
    if (r->category.len > 0 && !slice_eq(e.category, r->category)) return WEIR_OK;
    weir_buf_reset(&r->one);
    put_entry(&r->one, &e);
    r->is_full = r->n == ENTRIES_MAX || !tool_add(&r->list, weir_buf_slice(&r->one));
    r->n++;
    return r->is_full ? WEIR_LIMIT : weir_buf_status(&r->one);
}

static WEIR_MUST_CHECK enum weir_status read_entries(struct reading *r)
{
    struct doc_query query = {.kind = memory_key((struct weir_slice){0}).kind,
                              .owner = r->c->owner,
                              .limit = ENTRIES_LOOKED_AT,
                              .is_falling = true};
    r->doc = weir_json_doc_new(ENTRY_VALUES_BYTES);
    if (!r->doc) return WEIR_NOMEM;
    enum weir_status st = store_doc_list(r->c->store, &query, take_entry, r);
    weir_json_doc_free(r->doc);
    return r->is_full ? WEIR_OK : st;
}

enum weir_status tool_read_memory(struct tool_case *c, const struct weir_json *input,
                                  struct weir_buf *out)
{
    static const char *const names[] = {"category", NULL};
    struct reading r = {.c = c};
    enum weir_status st = tool_take_members(c, input, names);
    if (st == WEIR_OK)
        st = tool_take_text(c, input, (struct tool_text){"category", false, 32}, &r.category);
    if (st != WEIR_OK) return st;
    if (r.category.len > 0 && !memory_is_category(r.category))
        return tool_refuse(c, WEIR_BAD_FIELD,
                           "category has to be goal, preference, insight or hypothesis");
    weir_buf_init(&r.list, TOOL_RESULT_BYTES);
    weir_buf_init(&r.one, 2UL * MEMORY_ENTRY_BYTES);
    st = read_entries(&r);
    if (st == WEIR_OK) st = weir_buf_status(&r.list);
    weir_buf_append_str(out, "{\"memories\":[");
    weir_buf_append_slice(out, weir_buf_slice(&r.list));
    weir_buf_append_str(out, r.is_full ? "],\"hasMore\":true}" : "],\"hasMore\":false}");
    weir_buf_fini(&r.one);
    weir_buf_fini(&r.list);
    return st;
}
