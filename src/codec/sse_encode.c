/* SPDX-License-Identifier: Apache-2.0 */
/* Server-Sent Events in wire form: `id:`, `event:`, `data:` lines, LF only, a blank line last. */
#include <weir/sse.h>

#include "base/slice.h"

static bool has_line_end(struct weir_slice s)
{
    return s.len > 0 && (memchr(s.ptr, '\n', s.len) || memchr(s.ptr, '\r', s.len));
}

static void put_line(struct weir_buf *out, const char *field, struct weir_slice value)
{
    weir_buf_append_str(out, field);
    weir_buf_append_slice(out, value);
    weir_buf_append_char(out, '\n');
}

/* One data line for each line of the value: a reader joins them with LF again. */
static void put_data(struct weir_buf *out, struct weir_slice data)
{
    size_t start = 0;
    for (size_t i = 0; i < data.len; i++) {
        if (data.ptr[i] != '\n' && data.ptr[i] != '\r') continue;
        put_line(out, "data: ", slice_of(data.ptr + start, i - start));
        if (data.ptr[i] == '\r' && i + 1 < data.len && data.ptr[i + 1] == '\n') i++;
        start = i + 1;
    }
    put_line(out, "data: ", slice_of(data.len > 0 ? data.ptr + start : "", data.len - start));
}

enum weir_status weir_sse_write(struct weir_buf *out, const struct weir_sse_event *event)
{
    bool id_has_nul = event->id.len > 0 && memchr(event->id.ptr, 0, event->id.len);
    if (id_has_nul || has_line_end(event->id) || has_line_end(event->type)) return WEIR_INVALID;
    if (event->id.len > 0) put_line(out, "id: ", event->id);
    if (event->type.len > 0) put_line(out, "event: ", event->type);
    put_data(out, event->data);
    weir_buf_append_char(out, '\n');
    return weir_buf_status(out);
}

enum weir_status weir_sse_write_comment(struct weir_buf *out, struct weir_slice text)
{
    if (has_line_end(text)) return WEIR_INVALID;
    put_line(out, ":", text);
    weir_buf_append_char(out, '\n');
    return weir_buf_status(out);
}
