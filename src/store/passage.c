/* SPDX-License-Identifier: Apache-2.0 */
/* Passages, as commits see them: documents with a title, a line feed, a text. */
#include "store/passage.h"

#include <weir/buf.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "store/commit_impl.h"

size_t passage_good_prefix(struct weir_slice text)
{
    size_t n = utf8_valid_prefix(text);
    const char *nul = n > 0 ? memchr(text.ptr, '\0', n) : NULL;
    return nul ? (size_t)(nul - text.ptr) : n;
}

static bool is_good(const struct passage *p)
{
    return passage_good_prefix(p->title) == p->title.len &&
           passage_good_prefix(p->text) == p->text.len &&
           (p->title.len == 0 || !memchr(p->title.ptr, '\n', p->title.len)) && p->owner.len > 0;
}

void passage_put(struct commit *c, const struct passage *p, int64_t expected_version)
{
    struct weir_buf body;
    enum weir_status st = is_good(p) ? WEIR_OK : WEIR_INVALID;
    if (p->title.len > PASSAGE_TITLE_BYTES) st = WEIR_LIMIT;
    weir_buf_init(&body, STORE_DOC_BYTES);
    if (st == WEIR_OK) {
        weir_buf_append_slice(&body, p->title);
        weir_buf_append_char(&body, '\n');
        weir_buf_append_slice(&body, p->text);
        st = weir_buf_status(&body);
    }
    if (st == WEIR_OK)
        commit_put(c, passage_key(p->id), expected_version, p->owner, weir_buf_slice(&body));
    else if (c->status == WEIR_OK) c->status = st;
    weir_buf_fini(&body);
}
