/* SPDX-License-Identifier: Apache-2.0 */
/* What a session is called that nobody has named. */
#include "base/slice.h"
#include "base/utf8.h"
#include "session/session_impl.h"

static const char ellipsis[] = "\xe2\x80\xa6";

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_space(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

/* Of one line, from its first character that can be seen. */
static struct weir_slice first_line(struct weir_slice text)
{
    size_t from = 0, to;
    while (from < text.len && is_space(text.ptr[from])) from++;
    for (to = from; to < text.len && !is_line_end(text.ptr[to]);) to++;
    return slice_of(text.ptr + from, to - from);
}

struct weir_slice session_title(char out[SESSION_TITLE_BYTES], struct weir_slice text)
{
    struct weir_slice line = first_line(text);
    size_t len = 0, n_chars = 0, n, words_len = 0, room_len = 0; /* both leave room for "…" */
    bool is_apart = false, is_long = false;
    for (size_t at = 0; at < line.len; at += n) {
        bool is_whole = utf8_first(slice_from(line, at), &n) == UTF8_WHOLE;
        if (!is_whole) n = 1;
        if (!is_whole || is_space(line.ptr[at]) || utf8_has_controls(slice_of(line.ptr + at, n))) {
            is_apart = len > 0;
            continue;
        }
        if (n_chars < SESSION_TITLE_CHARS) room_len = len;
        if (is_apart && n_chars < SESSION_TITLE_CHARS) words_len = len;
        is_long = n_chars + is_apart >= SESSION_TITLE_CHARS;
        if (is_long) break;
        if (is_apart) out[len++] = ' ';
        memcpy(out + len, line.ptr + at, n);
        len += n;
        n_chars += 1U + is_apart;
        is_apart = false;
    }
    if (!is_long) return slice_of(out, len);
    len = words_len > 0 ? words_len : room_len;
    memcpy(out + len, ellipsis, sizeof ellipsis - 1);
    return slice_of(out, len + sizeof ellipsis - 1);
}
