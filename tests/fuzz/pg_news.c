/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the payload of a notification: reading it must stay inside, and what was read to
 * its end must come out the same when it is written again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "store/pg_news.h"

/* Too large for a stack. */
static struct pg_news again;

/* False: this cannot be told again, for all is in it, or it is a later part. */
static bool rewrite(struct pg_news_reader *r)
{
    struct pg_news_item item;
    enum pg_news_kind kind;
    pg_news_begin(&again, r->writer, r->batch);
    while ((kind = pg_news_next(r, &item)) != PG_NEWS_END) {
        if (kind == PG_NEWS_ALL || kind == PG_NEWS_BAD) return false;
        if (kind == PG_NEWS_LOG) pg_news_add_log(&again, &item.log);
        else pg_news_add_doc(&again, item.doc);
    }
    return r->part == 1 && r->is_last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Memory of its own, so that the sanitizer sees a read beyond it. */
    char *own = malloc(size > 0 ? size : 1);
    struct pg_news_reader r;
    fuzz_true("memory", own != NULL);
    if (size > 0) memcpy(own, data, size);
    struct weir_slice payload = slice_of(own, size);
    if (pg_news_open(&r, payload) && rewrite(&r)) {
        fuzz_true("one part is one part", pg_news_end(&again) == 1);
        fuzz_true("the bytes are kept", slice_eq(pg_news_payload(&again, 0), payload));
    }
    free(own);
    return 0;
}
