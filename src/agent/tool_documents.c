/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own documents: passages that have the words, each cited. */
#include "agent/library.h"
#include "agent/tool_impl.h"
#include "base/slice.h"

enum {
    PASSAGES_DEFAULT = 5,
    PASSAGES_MAX = 10,
    OF_ONE_DOCUMENT = 3,
    POINTS = 700,       /* of a passage, for the model */
    CITED_POINTS = 280, /* of it, as it is cited */
    ONE_BYTES = 8 << 20,
};

struct looking {
    struct tool_case *c;
    struct weir_buf list, one;
    bool has_more;
};

static void put_passage(struct weir_buf *out, const struct library_hit *hit)
{
    weir_json_put_begin_object(out);
    tool_put_text(out, "sourceId", hit->id);
    tool_put_text(out, "title", hit->title);
    if (hit->heading.len > 0) tool_put_text(out, "heading", hit->heading);
    tool_put_text(out, "snippet", hit->snippet);
    weir_json_put_end_object(out);
}

/* The beginning, which has the first of what was found. */
static void cite(struct looking *k, const struct library_hit *hit)
{
    size_t n = 0;
    size_t i = 0;
    if (!k->c->cite) return;
    for (; i < hit->snippet.len; i++) {
        bool is_start = ((unsigned char)hit->snippet.ptr[i] & 0xC0) != 0x80;
        if (is_start && n++ == CITED_POINTS) break;
    }
    weir_buf_reset(&k->one);
    weir_buf_append(&k->one, hit->snippet.ptr, i);
    if (i < hit->snippet.len) weir_buf_append_str(&k->one, "…");
    if (weir_buf_status(&k->one) == WEIR_OK)
        k->c->cite(k->c->user, hit->id, hit->title, weir_buf_slice(&k->one));
}

static enum weir_status take_hit(void *user, const struct library_hit *hit)
{
    struct looking *k = user;
    if (tool_is_aborted(k->c)) return WEIR_CANCELLED;
    weir_buf_reset(&k->one);
    put_passage(&k->one, hit);
    enum weir_status st = weir_buf_status(&k->one);
    if (st != WEIR_OK) return st;
    if (tool_add(&k->list, weir_buf_slice(&k->one))) cite(k, hit);
    else k->has_more = true;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status look(struct looking *k, struct weir_slice words,
                                             size_t limit)
{
    struct tool_case *c = k->c;
    struct library l = {.store = c->store,
                        .vault = c->vault,
                        .policy = c->policy,
                        .clock = c->clock,
                        .owner = c->owner};
    struct library_query query = {
        .words = words, .limit = limit, .per_document = OF_ONE_DOCUMENT, .snippet_points = POINTS};
    enum weir_status st = library_search(&l, &query, take_hit, k);
    if (l.why[0]) return tool_refuse(c, st, "query: %s", l.why);
    return st;
}

enum weir_status tool_search_documents(struct tool_case *c, const struct weir_json *input,
                                       struct weir_buf *out)
{
    static const char *const names[] = {"query", "limit", NULL};
    struct looking k = {.c = c};
    struct weir_slice words;
    int64_t limit = PASSAGES_DEFAULT;
    enum weir_status st = tool_take_members(c, input, names);
    if (st == WEIR_OK)
        st = tool_take_text(c, input, (struct tool_text){"query", true, PASSAGE_WORDS_BYTES},
                            &words);
    if (st == WEIR_OK)
        st = tool_take_number(c, input, (struct tool_number){"limit", 1, PASSAGES_MAX}, &limit);
    if (st != WEIR_OK) return st;
    tool_progress(c, "Searching your documents", 0);
    weir_buf_init(&k.list, TOOL_RESULT_BYTES);
    weir_buf_init(&k.one, ONE_BYTES);
    st = look(&k, words, (size_t)limit);
    if (st == WEIR_OK) st = weir_buf_status(&k.list);
    weir_buf_append_str(out, "{\"passages\":[");
    weir_buf_append_slice(out, weir_buf_slice(&k.list));
    weir_buf_append_str(out, k.has_more ? "],\"hasMore\":true}" : "],\"hasMore\":false}");
    weir_buf_fini(&k.one);
    weir_buf_fini(&k.list);
    tool_progress(c, "Searching your documents", 100);
    return st;
}
