/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/ui.h>

#include "base/crc32c.h"
#include "base/slice.h"

void weir_ui_text_init(struct weir_ui_text *t, size_t max_bytes)
{
    *t = (struct weir_ui_text){.max_bytes = max_bytes};
    weir_buf_init(&t->bytes, 2 * max_bytes);
}

void weir_ui_text_fini(struct weir_ui_text *t)
{
    weir_buf_fini(&t->bytes);
}

void weir_ui_text_clear(struct weir_ui_text *t)
{
    weir_buf_reset(&t->bytes);
    t->begin = t->end = 0;
    t->sum = 0;
    t->n_segments = 0;
    t->is_lossy = false;
    t->round++;
}

/* What came at one moment is one segment; where there are too many, the two oldest become one. */
static void add_segment(struct weir_ui_text *t, size_t len, uint64_t now_ns)
{
    struct weir_ui_segment *last = t->n_segments > 0 ? &t->segments[t->n_segments - 1] : NULL;
    if (last && last->born_ns == now_ns) {
        last->end += len;
        return;
    }
    if (t->n_segments == WEIR_UI_SEGMENTS) {
        t->segments[1].begin = t->segments[0].begin;
        memmove(t->segments, t->segments + 1, (WEIR_UI_SEGMENTS - 1) * sizeof *t->segments);
        t->n_segments--;
    }
    t->segments[t->n_segments++] = (struct weir_ui_segment){now_ns, t->end, t->end + len};
}

static void drop_front(struct weir_ui_text *t, size_t n)
{
    memmove(t->bytes.ptr, t->bytes.ptr + n, t->bytes.len - n);
    t->bytes.len -= n;
    t->begin += n;
}

void weir_ui_text_add(struct weir_ui_text *t, struct weir_slice more, uint64_t now_ns)
{
    if (more.len == 0) return;
    add_segment(t, more.len, now_ns);
    t->end += more.len;
    t->sum = crc32c(t->sum, more);
    if (t->on_add) t->on_add(t->add_user, t, more);
    if (more.len >= t->max_bytes) {
        weir_buf_reset(&t->bytes);
        more = slice_from(more, more.len - t->max_bytes);
    } else if (t->bytes.len + more.len > 2 * t->max_bytes) {
        /* Half of it at a time, so that each byte is moved once on average. */
        drop_front(t, t->bytes.len + more.len - t->max_bytes);
    }
    weir_buf_append_slice(&t->bytes, more);
    if (weir_buf_status(&t->bytes) != WEIR_OK) {
        weir_buf_reset(&t->bytes);
        t->is_lossy = true;
    }
    t->begin = t->end - t->bytes.len;
}

struct weir_slice weir_ui_text_from(const struct weir_ui_text *t, uint64_t offset)
{
    if (offset < t->begin) offset = t->begin;
    if (offset > t->end) offset = t->end;
    return slice_from(weir_buf_slice(&t->bytes), (size_t)(offset - t->begin));
}

bool weir_ui_text_is(const struct weir_ui_text *t, struct weir_slice all)
{
    return t->end == all.len && t->sum == crc32c(0, all);
}
