/* SPDX-License-Identifier: Apache-2.0 */
/* Answers, byte by byte. */
#include <weir/status.h>

#include "base/slice.h"
#include "codec/http.h"
#include "t.h"

TEST(answer_is_written_as_said)
{
    struct weir_buf out;
    weir_buf_init(&out, 1000);
    http_write_status(&out, 201);
    http_write_field(&out, "Content-Type", SLICE("application/json"));
    http_write_field(&out, "X-Empty", SLICE(""));
    http_write_u64_field(&out, "Content-Length", UINT64_MAX);
    http_end_head(&out);
    T_EQ(weir_buf_status(&out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out),
             "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nX-Empty: \r\n"
             "Content-Length: 18446744073709551615\r\n\r\n");
    weir_buf_fini(&out);
}

TEST(every_status_of_ours_has_a_reason)
{
    for (int st = 0; st < WEIR_N_STATUS; st++)
        T_OK(strcmp(http_reason(weir_status_http((enum weir_status)st)), "Unknown") != 0);
    T_OK(strcmp(http_reason(404), "Not Found") == 0);
    T_OK(strcmp(http_reason(299), "Unknown") == 0);
}

TEST(chunk_heads_are_hexadecimal)
{
    static const struct {
        size_t len;
        const char *want;
    } rows[] = {{0, "0\r\n"},       {1, "1\r\n"},         {15, "f\r\n"},
                {16, "10\r\n"},     {0x1a2b, "1a2b\r\n"}, {SIZE_MAX, "ffffffffffffffff\r\n"},
                {4096, "1000\r\n"}, {0xfff, "fff\r\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char head[HTTP_CHUNK_HEAD_BYTES];
        size_t len = http_chunk_head(head, rows[i].len);
        T_EQ_STR(slice_of(head, len), rows[i].want);
    }
}
