/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests, good and hostile, whole and cut at every position. Bodies have a table of their
 * own in http_body.c.
 */
#include "base/slice.h"
#include "oracle/http.h"
#include "t.h"

static const struct http_limits limits = {.head_bytes = 16 << 10, .body_bytes = 1 << 20};

struct good {
    const char *claim;
    struct weir_slice input;
    const char *want;
};

static const struct good good[] = {
    {"the least request", SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
     "request GET '/' 1.1\n 'Host' 'a'\n+ host 'a' path '/' query '' keep-alive\nbody ''\nend\n"
     "idle\n"},
    {"1.0 needs no Host and closes", SLICE("GET /x?y=z HTTP/1.0\r\n\r\n"),
     "request GET '/x?y=z' 1.0\n+ host '' path '/x' query 'y=z'\nbody ''\nend\nidle\n"},
    {"1.0 stays when it asks", SLICE("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"),
     "request GET '/' 1.0\n 'Connection' 'Keep-Alive'\n"
     "+ host '' path '/' query '' keep-alive\nbody ''\nend\nidle\n"},
    {"close in a list, in any case",
     SLICE("GET / HTTP/1.1\r\nHost: a\r\nConnection: TE , CLOSE\r\n\r\n"),
     "request GET '/' 1.1\n 'Host' 'a'\n 'Connection' 'TE , CLOSE'\n"
     "+ host 'a' path '/' query ''\nbody ''\nend\nidle\n"},
    {"close counts in the second Connection",
     SLICE("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n"),
     "request GET '/' 1.1\n 'Host' 'a'\n 'Connection' 'keep-alive'\n 'Connection' 'close'\n"
     "+ host 'a' path '/' query ''\nbody ''\nend\nidle\n"},
    {"white space around a value is not of it",
     SLICE("GET / HTTP/1.1\r\nHost: \t a:80\t \r\nA:\r\nB: \t \r\nC:d\r\n\r\n"),
     "request GET '/' 1.1\n 'Host' 'a:80'\n 'A' ''\n 'B' ''\n 'C' 'd'\n"
     "+ host 'a:80' path '/' query '' keep-alive\nbody ''\nend\nidle\n"},
    {"bytes beyond ASCII and HTAB in values",
     SLICE("GET / HTTP/1.1\r\nHost:a\r\nA: \xff\t\x80\r\n\r\n"),
     "request GET '/' 1.1\n 'Host' 'a'\n 'A' '\\xff\\x09\\x80'\n"
     "+ host 'a' path '/' query '' keep-alive\nbody ''\nend\nidle\n"},
    {"up to three empty lines before a request", SLICE("\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n"),
     "request GET '/' 1.0\n+ host '' path '/' query ''\nbody ''\nend\nidle\n"},
    {"an unknown method is the router's to refuse",
     SLICE("BREW /pot HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"),
     "request BREW '/pot' 1.1\n 'Host' 'a'\n 'Content-Length' '2'\n"
     "+ host 'a' path '/pot' query '' other keep-alive length 2\nbody 'hi'\nend\nidle\n"},
    {"methods are case-sensitive", SLICE("get / HTTP/1.1\r\nHost: a\r\n\r\n"),
     "request get '/' 1.1\n 'Host' 'a'\n+ host 'a' path '/' query '' other keep-alive\n"
     "body ''\nend\nidle\n"},
    {"absolute target", SLICE("GET HTTP://A.b:8/x?y HTTP/1.1\r\nHost: a.B:8\r\n\r\n"),
     "request GET 'HTTP://A.b:8/x?y' 1.1\n 'Host' 'a.B:8'\n"
     "+ host 'a.B:8' path '/x' query 'y' keep-alive\nbody ''\nend\nidle\n"},
    {"absolute target without a path", SLICE("GET https://[::1]?q HTTP/1.0\r\n\r\n"),
     "request GET 'https://[::1]?q' 1.0\n+ host '[::1]' path '/' query 'q'\nbody ''\nend\nidle\n"},
    {"OPTIONS for the server", SLICE("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
     "request OPTIONS '*' 1.1\n 'Host' 'a'\n+ host 'a' path '*' query '' keep-alive\n"
     "body ''\nend\nidle\n"},
    {"an empty Host is allowed", SLICE("GET / HTTP/1.1\r\nHost:\r\n\r\n"),
     "request GET '/' 1.1\n 'Host' ''\n+ host '' path '/' query '' keep-alive\n"
     "body ''\nend\nidle\n"},
    {"a second mark is of the query", SLICE("GET //a//b?c?d HTTP/1.0\r\n\r\n"),
     "request GET '//a//b?c?d' 1.0\n+ host '' path '//a//b' query 'c?d'\nbody ''\nend\nidle\n"},
    {"a body of no bytes", SLICE("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
     "request POST '/' 1.1\n 'Host' 'a'\n 'Content-Length' '0'\n"
     "+ host 'a' path '/' query '' keep-alive\nbody ''\nend\nidle\n"},
    {"leading zeros are digits",
     SLICE("PUT / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH:0000000000000000000000003\r\n\r\nabc"),
     "request PUT '/' 1.1\n 'Host' 'a'\n 'content-LENGTH' '0000000000000000000000003'\n"
     "+ host 'a' path '/' query '' keep-alive length 3\nbody 'abc'\nend\nidle\n"},
    {"bodies of GET and DELETE are read",
     SLICE(
         "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
         "DELETE /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\ny\r\n0\r\n\r\n"),
     "request GET '/a' 1.1\n 'Host' 'a'\n 'Content-Length' '1'\n"
     "+ host 'a' path '/a' query '' keep-alive length 1\nbody 'x'\nend\n"
     "request DELETE '/b' 1.1\n 'Host' 'a'\n 'Transfer-Encoding' 'Chunked'\n"
     "+ host 'a' path '/b' query '' keep-alive chunked\nbody 'y'\nend\nidle\n"},
    {"Expect is told when there is a body",
     SLICE("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx"
           "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"
           "PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"),
     "request PUT '/' 1.1\n 'Host' 'a'\n 'Expect' '100-Continue'\n 'Content-Length' '1'\n"
     "+ host 'a' path '/' query '' keep-alive continue length 1\nbody 'x'\nend\n"
     "request PUT '/' 1.1\n 'Host' 'a'\n 'Expect' '100-continue'\n"
     "+ host 'a' path '/' query '' keep-alive\nbody ''\nend\n"
     "request PUT '/' 1.0\n 'Expect' '100-continue'\n 'Content-Length' '1'\n"
     "+ host '' path '/' query '' length 1\nbody 'x'\nend\nidle\n"},
    {"an offer of HTTP/2 is not taken",
     SLICE("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
           "HTTP2-Settings: AAMAAABkAAQ\r\n\r\nGET /2 HTTP/1.0\r\n\r\n"),
     "request GET '/' 1.1\n 'Host' 'a'\n 'Connection' 'Upgrade, HTTP2-Settings'\n"
     " 'Upgrade' 'h2c'\n 'HTTP2-Settings' 'AAMAAABkAAQ'\n"
     "+ host 'a' path '/' query '' keep-alive\nbody ''\nend\n"
     "request GET '/2' 1.0\n+ host '' path '/2' query ''\nbody ''\nend\nidle\n"},
    {"half a head is not an error", SLICE("GET / HTTP/1.1\r\nHost: a\r\n"), "more\n"},
    {"nothing is not an error", SLICE(""), "idle\n"},
};

TEST(good_requests_read_the_same_in_every_cutting)
{
    struct cut cut;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const struct good *row = &good[i];
        for (size_t n = 0; cut_nth(&cut, n, row->input.len); n++) {
            struct text got = {0};
            http_transcript(&got, row->input, &cut, &limits, NULL);
            if (!weir_slice_is(text_slice(&got), row->want))
                t_fail(__FILE__, __LINE__, "%s, cutting %zu:\n%.*s", row->claim, n, (int)got.len,
                       got.ptr);
            text_fini(&got);
        }
    }
}
