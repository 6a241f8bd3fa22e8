/* SPDX-License-Identifier: Apache-2.0 */
/* What llhttp makes of a head, and that it alone would not be enough. */
#include "codec/http_llhttp_impl.h"

#include "base/slice.h"
#include "t.h"

TEST(llhttp_reads_what_we_read)
{
    struct weir_slice rest =
        SLICE(" /a?b HTTP/1.1\r\nHost: a \r\nEmpty:\r\nContent-Length: 7\r\n\r\n");
    struct http_reading reading;
    T_OK(http_llhttp_read(SLICE("POST"), rest, &reading));
    T_EQ_STR(reading.target, "/a?b");
    T_EQ(reading.n_fields, 3);
    T_EQ_STR(reading.names[0], "Host");
    T_EQ_STR(reading.values[0], "a ");
    T_EQ_STR(reading.names[1], "Empty");
    T_EQ_STR(reading.values[1], "");
    T_EQ(reading.minor, 1);
    T_OK(reading.has_length && !reading.is_chunked);
    T_EQ(reading.content_length, 7);
}

TEST(llhttp_refuses_for_itself)
{
    static const struct weir_slice bad[] = {
        SLICE(" / HTTP/1.1\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n"),
        SLICE(" / HTTP/1.1\r\nContent-Length: 7\r\nContent-Length: 8\r\n\r\n"),
        SLICE(" / HTTP/1.1\r\nContent-Length: x\r\n\r\n"),
        SLICE(" / HTTP/1.1\r\nA : b\r\n\r\n"),
        SLICE(" / HTTP/1.1\r\n\r\nmore"), /* the end is elsewhere */
        SLICE(" / HTTP/1.1\r\n"),
        SLICE(" / HTTP/2.0\r\n\r\n"),
    };
    struct http_reading reading;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (http_llhttp_read(SLICE("POST"), bad[i], &reading))
            t_fail(__FILE__, __LINE__, "%s", bad[i].ptr);
    T_OK(!http_llhttp_read(SLICE("BREW"), SLICE(" / HTTP/1.1\r\n\r\n"), &reading));
}

TEST(more_fields_than_there_is_room_for_are_refused)
{
    char head[1000] = " / HTTP/1.1\r\n";
    size_t len = strlen(head);
    struct http_reading reading;
    for (int i = 0; i <= HTTP_READING_FIELDS; i++, len += 4) memcpy(head + len, "A:\r\n", 4);
    memcpy(head + len, "\r\n", 2);
    T_OK(!http_llhttp_read(SLICE("GET"), slice_of(head, len + 2), &reading));
    memcpy(head + len - 4, "\r\n", 2);
    T_OK(http_llhttp_read(SLICE("GET"), slice_of(head, len - 2), &reading));
    T_EQ(reading.n_fields, HTTP_READING_FIELDS);
}
