/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hit.h"

#include <string.h>

#include "base/slice.h"

void hits_init(struct hits *h, const struct passage_query *query, const struct db_words *words,
               const struct db_query *parsed)
{
    *h = (struct hits){.query = query, .words = words, .parsed = parsed};
    weir_buf_init(&h->sources, PASSAGE_MAX_HITS * (STORE_NAME_BYTES + 1));
}

void hits_fini(struct hits *h)
{
    weir_buf_fini(&h->sources);
}

/* What stands in front of the first '/'. */
static struct weir_slice source_of(struct weir_slice id)
{
    const char *slash = memchr(id.ptr, '/', id.len);
    return slash ? slice_of(id.ptr, (size_t)(slash - id.ptr)) : id;
}

bool hits_want(struct hits *h, struct weir_slice id)
{
    struct weir_slice source = source_of(id);
    size_t n = 0;
    if (h->query->per_source == 0) return true;
    struct weir_slice rest = weir_buf_slice(&h->sources);
    while (rest.len > 0) {
        size_t len = (unsigned char)rest.ptr[0];
        if (slice_eq(slice_of(rest.ptr + 1, len), source)) n++;
        rest = slice_from(rest, len + 1);
    }
    if (n >= h->query->per_source) return false;
    weir_buf_append_char(&h->sources, (char)source.len);
    weir_buf_append_slice(&h->sources, source);
    return true;
}

bool hits_are_enough(const struct hits *h)
{
    return h->n_shown >= h->query->limit;
}

enum weir_status hits_show(struct hits *h, struct passage_hit hit)
{
    struct db_ranges in_title, in_text;
    enum weir_status st = db_query_find(h->parsed, h->words, hit.title, &in_title);
    if (st == WEIR_OK) st = db_query_find(h->parsed, h->words, hit.text, &in_text);
    if (st == WEIR_OK) st = weir_buf_status(&h->sources);
    if (st != WEIR_OK) return st;
    hit.in_title = in_title.list;
    hit.n_in_title = in_title.n;
    hit.in_text = in_text.list;
    hit.n_in_text = in_text.n;
    h->n_shown++;
    return h->each(h->user, &hit);
}
