/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of bytes, against the text of the standards; and that a slow head costs no more. */
#include "base/slice.h"
#include "codec/http_impl.h"
#include "t.h"

static bool is_in(int c, const char *set)
{
    return c != 0 && c < 128 && strchr(set, c);
}

TEST(kinds_of_bytes_are_those_of_the_standards)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (int c = 0; c < 256; c++) {
        bool is_letter = is_in(c, letters);
        bool is_visible = c > 0x20 && c < 0x7f;
        bool is_text = is_visible || c == ' ' || c >= 0x80;
        T_EQ(http_is((char)c, HTTP_IS_TOKEN), is_letter || is_in(c, "!#$%&'*+-.^_`|~"));
        T_EQ(http_is((char)c, HTTP_IS_TARGET), is_visible && c != '#');
        T_EQ(http_is((char)c, HTTP_IS_VALUE), is_text || c == '\t');
        T_EQ(http_is((char)c, HTTP_IS_EXTENSION), is_text);
        T_EQ(http_is((char)c, HTTP_IS_HOST), is_letter || is_in(c, "-._~"));
    }
}

/* Every byte at every distance from the ends of the sixteen that are looked at together. */
TEST(fast_searches_stop_where_the_table_says)
{
    struct http_limits limits = {.head_bytes = 1000, .body_bytes = 0};
    for (int c = 0; c < 256; c++) {
        for (size_t at = 0; at < 40; at++) {
            struct {
                const char *before;
                unsigned kind;
            } parts[] = {{"GET /", HTTP_IS_TARGET}, {"GET / HTTP/1.0\r\nA:", HTTP_IS_VALUE}};
            for (size_t i = 0; i < 2; i++) {
                char bytes[100];
                size_t start = strlen(parts[i].before), used;
                struct http_reader r;
                struct http_head head;
                memset(bytes, 'x', sizeof bytes);
                memcpy(bytes, parts[i].before, start);
                bytes[start + at] = (char)c;
                if (c == ' ' || c == '\r') continue;
                http_reader_init(&r, &limits);
                T_EQ(http_read_head(&r, slice_of(bytes, sizeof bytes), &head, &used),
                     http_is((char)c, parts[i].kind) ? HTTP_MORE : HTTP_ERROR);
            }
        }
    }
}

/* What was judged is not looked at again: the bytes may be gone by then. */
TEST(bytes_that_were_judged_are_not_read_again_before_the_end)
{
    static const char input[] = "GET /abc HTTP/1.1\r\nHost: a\r\nField: 0123456789";
    struct http_limits limits = {.head_bytes = 1000, .body_bytes = 0};
    char bytes[sizeof input] = {0};
    struct http_reader r;
    struct http_head head;
    size_t used;
    http_reader_init(&r, &limits);
    for (size_t i = 0; i < sizeof input - 1; i++) {
        /* The request line is split when it ends, and so needs its bytes till then. */
        if (i > 18) memset(bytes, 0, i);
        bytes[i] = input[i];
        T_EQ(http_read_head(&r, slice_of(bytes, i + 1), &head, &used), HTTP_MORE);
    }
}
