/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies, good and hostile, whole and cut at every position. */
#include "base/slice.h"
#include "oracle/http.h"
#include "t.h"

/* The heads fit into the smaller limit, and so must trailers. */
static const struct http_limits limits = {.head_bytes = 80, .body_bytes = 20};

#define CHUNKED "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
#define SIZED   "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: "
#define NEXT    "GET /next HTTP/1.0\r\n\r\n"
#define BAD     WEIR_BAD_REQUEST

struct row {
    const char *claim;
    struct weir_slice input;
    const char *want; /* the body; NULL: an error */
    enum weir_status error;
};

static const struct row rows[] = {
    {"so many bytes", SLICE(SIZED "5\r\n\r\nhello" NEXT), "hello", WEIR_OK},
    {"any bytes", SLICE(SIZED "5\r\n\r\n\r\n\xff\x01\n" NEXT), "\\r\\n\\xff\\x01\\n", WEIR_OK},
    {"all that the limit allows", SLICE(SIZED "20\r\n\r\n01234567890123456789" NEXT),
     "01234567890123456789", WEIR_OK},
    {"one chunk", SLICE(CHUNKED "5\r\nhello\r\n0\r\n\r\n" NEXT), "hello", WEIR_OK},
    {"several chunks", SLICE(CHUNKED "1\r\nh\r\n2\r\nel\r\n2\r\nlo\r\n0\r\n\r\n" NEXT), "hello",
     WEIR_OK},
    {"no chunk but the last", SLICE(CHUNKED "0\r\n\r\n" NEXT), "", WEIR_OK},
    {"sizes in both cases", SLICE(CHUNKED "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n" NEXT),
     "01234567890123456789", WEIR_OK},
    {"zeros before a size", SLICE(CHUNKED "0000000000000005\r\nhello\r\n000\r\n\r\n" NEXT), "hello",
     WEIR_OK},
    {"extensions are dropped", SLICE(CHUNKED "5;a=b;c=\"d;e\"\r\nhello\r\n0;\r\n\r\n" NEXT),
     "hello", WEIR_OK},
    {"trailers are dropped", SLICE(CHUNKED "5\r\nhello\r\n0\r\nA: b\r\nContent-MD5:\r\n\r\n" NEXT),
     "hello", WEIR_OK},
    {"data that look like framing", SLICE(CHUNKED "7\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n" NEXT),
     "0\\r\\n\\r\\n\\r\\n", WEIR_OK},

    {"no size", SLICE(CHUNKED "\r\n"), NULL, BAD},
    {"size 0x5", SLICE(CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"size +5", SLICE(CHUNKED "+5\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"size -5", SLICE(CHUNKED "-5\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"size -0", SLICE(CHUNKED "-0\r\n\r\n"), NULL, BAD},
    {"space before a size", SLICE(CHUNKED " 5\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"space after a size", SLICE(CHUNKED "5 \r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"tab after a size", SLICE(CHUNKED "5\t\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"space before an extension", SLICE(CHUNKED "5 ;a\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"size 5g", SLICE(CHUNKED "5g\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"size 5_0", SLICE(CHUNKED "5_0\r\n"), NULL, BAD},
    {"size 5,", SLICE(CHUNKED "5,\r\n"), NULL, BAD},
    {"size with a NUL", SLICE(CHUNKED "5\0\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"size of 2^64 + 5", SLICE(CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"size of seventeen digits", SLICE(CHUNKED "00000000000000005\r\nhello\r\n0\r\n\r\n"), NULL,
     BAD},
    {"size of 2^64 - 1", SLICE(CHUNKED "ffffffffffffffff\r\nhello\r\n0\r\n\r\n"), NULL,
     WEIR_TOO_LARGE},
    {"size of 2^63", SLICE(CHUNKED "8000000000000000\r\nhello"), NULL, WEIR_TOO_LARGE},
    {"sizes that add up to 2^64 and a bit",
     SLICE(CHUNKED "5\r\nhello\r\nfffffffffffffffe\r\nhello\r\n0\r\n\r\n"), NULL, WEIR_TOO_LARGE},
    {"bare LF after a size", SLICE(CHUNKED "5\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"bare CR after a size", SLICE(CHUNKED "5\rhello\r\n0\r\n\r\n"), NULL, BAD},
    {"bare LF after the last size", SLICE(CHUNKED "0\n\r\n"), NULL, BAD},
    {"bare LF after an extension", SLICE(CHUNKED "5;a\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"bare CR in an extension", SLICE(CHUNKED "5;a\rb\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"control byte in an extension", SLICE(CHUNKED "5;a\x01\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"tab in an extension", SLICE(CHUNKED "5;\ta\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"NUL in an extension", SLICE(CHUNKED "5;a\0\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"data longer than the size", SLICE(CHUNKED "4\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"data shorter than the size", SLICE(CHUNKED "6\r\nhello\r\n0\r\n\r\n"), NULL, BAD},
    {"no CRLF after the data", SLICE(CHUNKED "5\r\nhello0\r\n\r\n"), NULL, BAD},
    {"bare LF after the data", SLICE(CHUNKED "5\r\nhello\n0\r\n\r\n"), NULL, BAD},
    {"bare CR after the data", SLICE(CHUNKED "5\r\nhello\r0\r\n\r\n"), NULL, BAD},
    {"LF CR after the data", SLICE(CHUNKED "5\r\nhello\n\r0\r\n\r\n"), NULL, BAD},
    {"an empty line too many", SLICE(CHUNKED "5\r\nhello\r\n\r\n0\r\n\r\n"), NULL, BAD},
    {"a request in place of the trailer", SLICE(CHUNKED "0\r\n" NEXT), NULL, BAD},
    {"folded trailer", SLICE(CHUNKED "0\r\nA: b\r\n c\r\n\r\n"), NULL, BAD},
    {"space before the first trailer", SLICE(CHUNKED "0\r\n A: b\r\n\r\n"), NULL, BAD},
    {"trailer with a space before its colon", SLICE(CHUNKED "0\r\nA : b\r\n\r\n"), NULL, BAD},
    {"trailer without a colon", SLICE(CHUNKED "0\r\nA\r\n\r\n"), NULL, BAD},
    {"trailer without a name", SLICE(CHUNKED "0\r\n: b\r\n\r\n"), NULL, BAD},
    {"bare LF after a trailer", SLICE(CHUNKED "0\r\nA: b\n\r\n"), NULL, BAD},
    {"bare LF ends the trailer", SLICE(CHUNKED "0\r\nA: b\r\n\n"), NULL, BAD},
    {"bare CR ends the trailer", SLICE(CHUNKED "0\r\n\rG"), NULL, BAD},
    {"NUL in a trailer", SLICE(CHUNKED "0\r\nA: \0\r\n\r\n"), NULL, BAD},
    {"trailer of the limit",
     SLICE(CHUNKED
           "0\r\nA: 4567890123456789012345678901234567890123456789012345678901234567890123456"
           "\r\n\r\n" NEXT),
     "", WEIR_OK},
    {"trailer beyond the limit",
     SLICE(CHUNKED
           "0\r\nA: 45678901234567890123456789012345678901234567890123456789012345678901234567"
           "\r\n\r\n" NEXT),
     NULL, WEIR_HEAD_TOO_LARGE},
    {"one chunk beyond the limit", SLICE(CHUNKED "15\r\n"), NULL, WEIR_TOO_LARGE},
    {"many chunks beyond the limit",
     SLICE(CHUNKED "a\r\n0123456789\r\na\r\n0123456789\r\n1\r\n0\r\n0\r\n\r\n"), NULL,
     WEIR_TOO_LARGE},
};

static bool is_as_said(const struct row *row, struct weir_slice got)
{
    struct text want = {0};
    if (row->want)
        text_printf(&want,
                    "body '%s'\nend\nrequest GET '/next' 1.0\n+ host '' path '/next' query ''\n"
                    "body ''\nend\nidle\n",
                    row->want);
    else text_printf(&want, "error %s", weir_status_name(row->error));
    bool is_there = memmem(got.ptr, got.len, want.ptr, want.len) != NULL;
    text_fini(&want);
    return is_there;
}

TEST(bodies_read_the_same_in_every_cutting)
{
    struct cut cut;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct text want = {0};
        for (size_t n = 0; cut_nth(&cut, n, row->input.len); n++) {
            struct text got = {0};
            enum weir_status st = http_transcript(&got, row->input, &cut, &limits, NULL);
            if (n == 0) text_add(&want, got.ptr, got.len);
            if (st != row->error || !text_eq(&got, &want) || !is_as_said(row, text_slice(&got)))
                t_fail(__FILE__, __LINE__, "%s, cutting %zu:\n%.*s", row->claim, n, (int)got.len,
                       got.ptr);
            text_fini(&got);
        }
        text_fini(&want);
    }
}

TEST(extensions_are_limited_over_the_whole_body)
{
    for (size_t extra = 0; extra < 2; extra++) {
        struct text input = {0}, got = {0};
        struct cut cut;
        text_printf(&input, CHUNKED);
        for (size_t i = 0; i < 16; i++) text_printf(&input, "1;0123456789abcdef\r\nx\r\n");
        text_printf(&input, extra ? "0;x\r\n\r\n" : "0;\r\n\r\n");
        for (size_t n = 0; cut_nth(&cut, n, input.len); n++)
            T_EQ(http_transcript(&got, text_slice(&input), &cut, &limits, NULL),
                 extra ? BAD : WEIR_OK);
        text_fini(&input);
        text_fini(&got);
    }
}

TEST(trailers_are_counted_like_fields)
{
    struct http_limits large = {.head_bytes = 4096, .body_bytes = 20};
    for (size_t extra = 0; extra < 2; extra++) {
        struct text input = {0}, got = {0};
        struct cut cut;
        text_printf(&input, CHUNKED "0\r\n");
        for (size_t i = 0; i < HTTP_MAX_FIELDS + extra; i++) text_printf(&input, "A:\r\n");
        text_printf(&input, "\r\n");
        for (size_t n = 0; cut_nth(&cut, n, input.len); n++)
            T_EQ(http_transcript(&got, text_slice(&input), &cut, &large, NULL),
                 extra ? WEIR_HEAD_TOO_LARGE : WEIR_OK);
        text_fini(&input);
        text_fini(&got);
    }
}

/* Each of the three is more than half of its limit. */
TEST(limits_hold_for_each_body_and_not_for_all_together)
{
    struct text input = {0}, got = {0};
    struct cut cut;
    for (int i = 0; i < 3; i++) {
        text_printf(&input, CHUNKED "f;");
        for (int k = 0; k < 150; k++) text_add_char(&input, 'x');
        text_printf(&input,
                    "\r\n0123456789abcde\r\n0\r\nA: 0123456789012345678901234567890123456789"
                    "\r\n\r\n");
    }
    for (size_t n = 0; cut_nth(&cut, n, input.len); n++)
        T_EQ(http_transcript(&got, text_slice(&input), &cut, &limits, NULL), WEIR_OK);
    text_fini(&input);
    text_fini(&got);
}

/* A caller that gets a head without a body may go on with the next head at once. */
TEST(body_of_a_head_without_one_may_be_left_out)
{
    struct weir_slice bytes = SLICE(NEXT NEXT), data;
    struct http_reader r;
    struct http_head head;
    size_t used;
    http_reader_init(&r, &limits);
    T_EQ(http_read_head(&r, bytes, &head, &used), HTTP_DONE);
    T_EQ(used, bytes.len / 2);
    bytes = slice_from(bytes, used);
    T_EQ(http_read_head(&r, bytes, &head, &used), HTTP_DONE);
    T_EQ(used, bytes.len);
    T_EQ(http_read_body(&r, SLICE("x"), &used, &data), HTTP_DONE);
    T_EQ(used, 0);
    T_EQ(http_read_body(&r, SLICE(""), &used, &data), HTTP_DONE);
    T_EQ(http_read_head(&r, SLICE(""), &head, &used), HTTP_MORE);
}
