/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-http
 *
 * CPU time to read one request as a publisher sends it, head and body, and a head as a browser
 * sends it; and what of that is the second reading by llhttp. Prints one line each. Not one of
 * the bars: it says what share of a request the reader is.
 */
#include <stdio.h>

#include "base/slice.h"
#include "bench.h"
#include "codec/http.h"
#include "codec/http_llhttp_impl.h"

enum { N_REQUESTS = 100000, ROUNDS = 7 };

static const struct weir_slice post =
    SLICE("POST /v1/streams/events-17 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
          "Content-Type: application/json\r\nAuthorization: Bearer weir_0123456789ab_0123456789\r\n"
          "Content-Length: 16\r\n\r\n{\"value\": 12345}");

static const struct weir_slice browser = SLICE(
    "GET /v1/streams/events-17 HTTP/1.1\r\nHost: example.org\r\nConnection: keep-alive\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/120.0.0.0 Safari/537.36\r\nAccept: text/event-stream\r\nCache-Control: no-cache\r\n"
    "Origin: http://example.com\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n"
    "Sec-Fetch-Dest: empty\r\nReferer: http://example.com/\r\n"
    "Accept-Encoding: gzip, deflate, br\r\nAccept-Language: en-US,en;q=0.9\r\n\r\n");

static void read_one(struct http_reader *r, struct weir_slice bytes, struct bench_case *c)
{
    struct http_head head;
    struct weir_slice data;
    size_t used;
    bench_need(http_read_head(r, bytes, &head, &used) == HTTP_DONE, "no head");
    bytes = slice_from(bytes, used);
    while (http_read_body(r, bytes, &used, &data) == HTTP_DATA) {
        bytes = slice_from(bytes, used);
        c->check += (uint32_t)data.len;
    }
    bench_need(bytes.len == 0, "bytes are left");
    c->check += head.n_fields;
    c->count++;
}

static void run_reader(struct bench_case *c)
{
    struct http_limits limits = {.head_bytes = 16 << 10, .body_bytes = 1 << 20};
    struct http_reader r;
    c->count = c->check = 0;
    http_reader_init(&r, &limits);
    for (int i = 0; i < N_REQUESTS; i++) read_one(&r, c->text, c);
}

static void run_llhttp(struct bench_case *c)
{
    const char *space = memchr(c->text.ptr, ' ', c->text.len);
    const char *end = memmem(c->text.ptr, c->text.len, "\r\n\r\n", 4);
    struct weir_slice method = slice_of(c->text.ptr, (size_t)(space - c->text.ptr));
    struct weir_slice rest = slice_of(space, (size_t)(end + 4 - space));
    struct http_reading reading;
    c->count = c->check = 0;
    for (int i = 0; i < N_REQUESTS; i++) {
        bench_need(http_llhttp_read(method, rest, &reading), "llhttp refused");
        c->check += reading.n_fields;
        c->count++;
    }
}

int main(void)
{
    struct bench_case cases[] = {
        {.name = "http/post", .run = run_reader, .text = post},
        {.name = "http/post-llhttp-alone", .run = run_llhttp, .text = post},
        {.name = "http/browser", .run = run_reader, .text = browser},
        {.name = "http/browser-llhttp-alone", .run = run_llhttp, .text = browser},
    };
    bench_run(cases, sizeof cases / sizeof *cases, ROUNDS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        printf("%-28s %4zu bytes %6.0f ns\n", cases[i].name, cases[i].text.len,
               cases[i].best_s / N_REQUESTS * 1e9);
    return 0;
}
