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

/* Requests as they leave real programs; what counts is that each is taken as one request. */
static const struct weir_slice real[] = {
    SLICE("POST /v1/streams/a HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\n"
          "Accept: */*\r\nAuthorization: Bearer weir_0123456789ab_x\r\n"
          "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}"),
    SLICE("POST /v1/streams/a HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/7.88.1\r\n"
          "Accept: */*\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n"
          "Expect: 100-continue\r\n\r\n7\r\n{\"a\":1}\r\n0\r\n\r\n"),
    SLICE("GET /v1/streams/a?api_key=k HTTP/1.1\r\nHost: example.org\r\nConnection: keep-alive\r\n"
          "sec-ch-ua: \"Chromium\";v=\"120\", \"Not?A_Brand\";v=\"8\"\r\nsec-ch-ua-mobile: ?0\r\n"
          "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
          "Chrome/120.0.0.0 Safari/537.36\r\nAccept: text/event-stream\r\n"
          "Cache-Control: no-cache\r\nOrigin: http://example.com\r\nSec-Fetch-Site: cross-site\r\n"
          "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\nReferer: http://example.com/\r\n"
          "Accept-Encoding: gzip, deflate, br\r\nAccept-Language: en-US,en;q=0.9\r\n"
          "Last-Event-ID: 12\r\n\r\n"),
    SLICE("OPTIONS /v1/streams/a HTTP/1.1\r\nHost: [::1]:8080\r\n"
          "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0\r\n"
          "Accept: */*\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\n"
          "Access-Control-Request-Method: POST\r\n"
          "Access-Control-Request-Headers: authorization,content-type\r\n"
          "Origin: null\r\nDNT: 1\r\nConnection: keep-alive\r\n\r\n"),
    SLICE("GET /v1/streams/a HTTP/1.1\r\naccept: text/event-stream\r\nhost: localhost:3000\r\n"
          "connection: keep-alive\r\naccept-language: *\r\nsec-fetch-mode: cors\r\n"
          "user-agent: node\r\npragma: no-cache\r\ncache-control: no-cache\r\n"
          "accept-encoding: gzip, deflate\r\n\r\n"),
    SLICE("POST /pub?id=17 HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
          "Content-Length: 5\r\n\r\nhello"),
    SLICE("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n\r\n"),
    SLICE("GET / HTTP/1.0\r\nHost: 127.0.0.1:8080\r\nUser-Agent: ApacheBench/2.3\r\n"
          "Accept: */*\r\n\r\n"),
    SLICE("HEAD /healthz HTTP/1.1\r\nHost: w_e-i~r.example\r\nUser-Agent: Go-http-client/1.1\r\n"
          "Accept-Encoding: gzip\r\n\r\n"),
    SLICE("POST /v1/streams/%E2%82%AC HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\n"
          "Content-Type: application/json\r\nContent-Length: 2\r\nUser-Agent: Python-urllib/3.11"
          "\r\nConnection: close\r\n\r\n{}"),
    SLICE("GET /a|b?x={y}&z=[1]^~`\\\"<> HTTP/1.1\r\nHost: a\r\n\r\n"),
};

TEST(requests_of_real_programs_are_taken)
{
    struct text all = {0}, want = {0}, got = {0};
    struct cut cut;
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        cut_nth(&cut, 0, real[i].len);
        size_t before = want.len;
        T_EQ(http_transcript(&want, real[i], &cut, &limits, NULL), WEIR_OK);
        T_OK(want.len > before + 5 && memcmp(want.ptr + want.len - 5, "idle\n", 5) == 0);
        want.len -= 5;
        text_add(&all, real[i].ptr, real[i].len);
    }
    text_printf(&want, "idle\n");
    /* All after one another on one connection, too. */
    for (size_t n = 0; cut_nth(&cut, n, all.len); n++) {
        got.len = 0;
        T_EQ(http_transcript(&got, text_slice(&all), &cut, &limits, NULL), WEIR_OK);
        T_OK(text_eq(&got, &want));
    }
    text_fini(&all);
    text_fini(&want);
    text_fini(&got);
}

struct hostile {
    const char *claim;
    struct weir_slice input;
    enum weir_status want;
    size_t known_after; /* bytes that show it; 0: not before the end of the head */
};

#define LINE "POST / HTTP/1.1\r\n"
#define HEAD LINE "Host: a\r\n"
#define BAD  WEIR_BAD_REQUEST

static const struct hostile hostile[] = {
    /* The request line. */
    {"no method", SLICE(" / HTTP/1.1\r\n"), BAD, 1},
    {"TLS on a plain port", SLICE("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"), BAD, 1},
    {"NUL", SLICE("\0"), BAD, 1},
    {"bare LF before the request", SLICE("\nGET / HTTP/1.1\r\n"), BAD, 1},
    {"bare CR before the request", SLICE("\rGET / HTTP/1.1\r\n"), BAD, 2},
    {"too many empty lines", SLICE("\r\n\r\n\r\n\r\nGET"), BAD, 7},
    {"method with a colon", SLICE("GET: / HTTP/1.1\r\n"), BAD, 4},
    {"method beyond ASCII", SLICE("G\xc3\x89T / HTTP/1.1\r\n"), BAD, 2},
    {"method too long", SLICE("ABCDEFGHIJABCDEFGHIJABCDEFGHIJABC / HTTP/1.1\r\n"),
     WEIR_NOT_IMPLEMENTED, 33},
    {"a line without spaces", SLICE("GET\r\n"), BAD, 4},
    {"tab after the method", SLICE("GET\t/ HTTP/1.1\r\n"), BAD, 4},
    {"two spaces after the method", SLICE("GET  / HTTP/1.1\r\n"), BAD, 5},
    {"no target", SLICE("GET HTTP/1.1\r\n"), WEIR_HTTP_VERSION, 13},
    {"empty target", SLICE("GET \r\n"), BAD, 5},
    {"two spaces after the target", SLICE("GET /  HTTP/1.1\r\n"), BAD, 7},
    {"tab after the target", SLICE("GET /\tHTTP/1.1\r\n"), BAD, 6},
    {"space in the target", SLICE("GET /a b HTTP/1.1\r\n"), BAD, 8},
    {"control byte in the target", SLICE("GET /\x01 HTTP/1.1\r\n"), BAD, 6},
    {"DEL in the target", SLICE("GET /abcdefghijklmnopqrstuvwxyz\x7f HTTP/1.1\r\n"), BAD, 32},
    {"NUL in the target", SLICE("GET /\0 HTTP/1.1\r\n"), BAD, 6},
    {"byte beyond ASCII in the target", SLICE("GET /abcdefghijklmnopq\xe9 HTTP/1.1\r\n"), BAD, 23},
    {"fragment in the target", SLICE("GET /abcdefghijklmnopqrs#a HTTP/1.1\r\n"), BAD, 25},
    {"CR in the target", SLICE("GET /\rX HTTP/1.1\r\n"), WEIR_HTTP_VERSION, 6},
    {"target without a slash", SLICE("GET a HTTP/1.1\r\n"), BAD, 15},
    {"target with a mark first", SLICE("GET ?a HTTP/1.1\r\n"), BAD, 16},
    {"star for GET", SLICE("GET * HTTP/1.1\r\n"), BAD, 15},
    {"star and more", SLICE("OPTIONS */ HTTP/1.1\r\n"), BAD, 20},
    {"CONNECT", SLICE("CONNECT a:443 HTTP/1.1\r\n"), WEIR_NOT_IMPLEMENTED, 8},
    {"target of another scheme", SLICE("GET ftp://a/ HTTP/1.1\r\n"), BAD, 22},
    {"absolute target without host", SLICE("GET http:///a HTTP/1.1\r\n"), BAD, 23},
    {"absolute target with a name for login", SLICE("GET http://u@a/ HTTP/1.1\r\n"), BAD, 25},
    {"absolute target with half brackets", SLICE("GET http://[::1/ HTTP/1.1\r\n"), BAD, 26},
    {"absolute target with a long port", SLICE("GET http://a:123456/ HTTP/1.1\r\n"), BAD, 30},
    {"scheme alone", SLICE("GET http:// HTTP/1.1\r\n"), BAD, 21},
    {"HTTP/0.9 without a version", SLICE("GET /\r\n"), WEIR_HTTP_VERSION, 6},
    {"HTTP/0.9", SLICE("GET / HTTP/0.9\r\n"), WEIR_HTTP_VERSION, 15},
    {"HTTP/1.2", SLICE("GET / HTTP/1.2\r\n"), WEIR_HTTP_VERSION, 15},
    {"HTTP/2.0", SLICE("GET / HTTP/2.0\r\n"), WEIR_HTTP_VERSION, 15},
    {"the preface of HTTP/2", SLICE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), WEIR_HTTP_VERSION, 15},
    {"HTTP/1.10", SLICE("GET / HTTP/1.10\r\n"), BAD, 15},
    {"HTTP/11.1", SLICE("GET / HTTP/11.1\r\n"), BAD, 13},
    {"HTTP/1.x", SLICE("GET / HTTP/1.x\r\n"), BAD, 14},
    {"HTTP/1", SLICE("GET / HTTP/1\r\n"), BAD, 13},
    {"HTTP/01.1", SLICE("GET / HTTP/01.1\r\n"), BAD, 13},
    {"http/1.1", SLICE("GET / http/1.1\r\n"), BAD, 7},
    {"version of another protocol", SLICE("GET / RTSP/1.0\r\n"), BAD, 7},
    {"space after the version", SLICE("GET / HTTP/1.1 \r\n"), BAD, 15},
    {"bare LF after the version", SLICE("GET / HTTP/1.1\nHost: a\r\n"), BAD, 15},
    {"bare CR after the version", SLICE("GET / HTTP/1.1\rHost: a\r\n"), BAD, 16},
    {"an answer", SLICE("HTTP/1.1 200 OK\r\n\r\n"), BAD, 5},

    /* Bytes of fields. */
    {"folded field", SLICE(HEAD "A: b\r\n c\r\n\r\n"), BAD, 33},
    {"field folded with a tab", SLICE(HEAD "A: b\r\n\tc\r\n\r\n"), BAD, 33},
    {"space before the first field", SLICE(LINE " Host: a\r\n\r\n"), BAD, 18},
    {"space before a colon", SLICE(LINE "Host : a\r\n\r\n"), BAD, 22},
    {"tab before a colon", SLICE(LINE "Host\t: a\r\n\r\n"), BAD, 22},
    {"Content-Length with a space before the colon", SLICE(HEAD "Content-Length : 5\r\n\r\nhello"),
     BAD, 41},
    {"field without a name", SLICE(HEAD ": a\r\n\r\n"), BAD, 27},
    {"field without a colon", SLICE(HEAD "abc\r\n\r\n"), BAD, 30},
    {"NUL in a name", SLICE(HEAD "a\0b: c\r\n\r\n"), BAD, 28},
    {"byte beyond ASCII in a name", SLICE(HEAD "a\xc3\xa9: c\r\n\r\n"), BAD, 28},
    {"bracket in a name", SLICE(HEAD "a(b: c\r\n\r\n"), BAD, 28},
    {"NUL in a value", SLICE(HEAD "A: b\0c\r\n\r\n"), BAD, 31},
    {"control byte in a long value",
     SLICE(HEAD "A: 0123456789012345678\x0b 0123456789012345\r\n\r\n"), BAD, 49},
    {"DEL in a value", SLICE(HEAD "A: b\x7f\r\n\r\n"), BAD, 31},
    {"bare LF after a value", SLICE(HEAD "A: b\nC: d\r\n\r\n"), BAD, 31},
    {"bare CR in a value", SLICE(HEAD "A: b\rC: d\r\n\r\n"), BAD, 32},
    {"CR CR LF", SLICE(HEAD "A: b\r\r\n\r\n"), BAD, 32},
    {"bare LF ends the head", SLICE(HEAD "\nGET / HTTP/1.1\r\n"), BAD, 27},
    {"bare CR ends the head", SLICE(HEAD "\rGET / HTTP/1.1\r\n"), BAD, 28},
    {"LF LF ends the head", SLICE(HEAD "A: b\n\n"), BAD, 31},

    /* Host. */
    {"no Host", SLICE("GET / HTTP/1.1\r\n\r\n"), BAD, 0},
    {"two Hosts", SLICE(HEAD "Host: b\r\n\r\n"), BAD, 0},
    {"two Hosts that are the same", SLICE(HEAD "host: a\r\n\r\n"), BAD, 0},
    {"two Hosts in HTTP/1.0", SLICE("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), BAD, 0},
    {"Host with a list", SLICE(LINE "Host: a, b\r\n\r\n"), BAD, 0},
    {"Host with a path", SLICE(LINE "Host: a/b\r\n\r\n"), BAD, 0},
    {"Host with a login", SLICE(LINE "Host: u@a\r\n\r\n"), BAD, 0},
    {"Host with a port that is none", SLICE(LINE "Host: a:x\r\n\r\n"), BAD, 0},
    {"Host with two ports", SLICE(LINE "Host: a:1:2\r\n\r\n"), BAD, 0},
    {"Host that is a port alone", SLICE(LINE "Host: :80\r\n\r\n"), BAD, 0},
    {"Host with empty brackets", SLICE(LINE "Host: []\r\n\r\n"), BAD, 0},
    {"Host with text after brackets", SLICE(LINE "Host: [::1]a\r\n\r\n"), BAD, 0},
    {"Host is not the target's", SLICE("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n"), BAD, 0},
    {"Host lacks the target's port", SLICE("GET http://a:8/ HTTP/1.1\r\nHost: a\r\n\r\n"), BAD, 0},
    {"absolute target with an empty Host", SLICE("GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n"), BAD,
     0},
    {"absolute target and no Host", SLICE("GET http://a/ HTTP/1.1\r\n\r\n"), BAD, 0},

    /* How long the body is. */
    {"CL.TE", SLICE(HEAD "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG"), BAD,
     0},
    {"TE.CL", SLICE(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\nG"), BAD, 0},
    {"TE and a length of 0",
     SLICE(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n"), BAD, 0},
    {"two lengths", SLICE(HEAD "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), BAD, 0},
    {"two lengths that are the same",
     SLICE(HEAD "Content-Length: 5\r\ncontent-length: 5\r\n\r\nhello"), BAD, 0},
    {"a list of lengths", SLICE(HEAD "Content-Length: 5, 5\r\n\r\nhello"), BAD, 0},
    {"length +5", SLICE(HEAD "Content-Length: +5\r\n\r\nhello"), BAD, 0},
    {"length -1", SLICE(HEAD "Content-Length: -1\r\n\r\nhello"), BAD, 0},
    {"length 0x10", SLICE(HEAD "Content-Length: 0x10\r\n\r\nhello"), BAD, 0},
    {"length 5.0", SLICE(HEAD "Content-Length: 5.0\r\n\r\nhello"), BAD, 0},
    {"length 1e1", SLICE(HEAD "Content-Length: 1e1\r\n\r\nhello"), BAD, 0},
    {"length 1_0", SLICE(HEAD "Content-Length: 1_0\r\n\r\nhello"), BAD, 0},
    {"length with a space after it", SLICE(HEAD "Content-Length: 5 \r\n\r\nhello"), BAD, 0},
    {"length with a tab before it", SLICE(HEAD "Content-Length:\t5\r\n\r\nhello"), BAD, 0},
    {"length with two spaces before it", SLICE(HEAD "Content-Length:  5\r\n\r\nhello"), BAD, 0},
    {"length with a space inside", SLICE(HEAD "Content-Length: 5 0\r\n\r\nhello"), BAD, 0},
    {"length in other digits", SLICE(HEAD "Content-Length: \xd9\xa5\r\n\r\nhello"), BAD, 0},
    {"empty length", SLICE(HEAD "Content-Length:\r\n\r\n"), BAD, 0},
    {"length of a space", SLICE(HEAD "Content-Length: \r\n\r\n"), BAD, 0},
    {"length of 2^64", SLICE(HEAD "Content-Length: 18446744073709551616\r\n\r\n"), BAD, 0},
    {"length of 2^64 + 5", SLICE(HEAD "Content-Length: 18446744073709551621\r\n\r\nhello"), BAD, 0},
    {"length of many nines", SLICE(HEAD "Content-Length: 99999999999999999999999\r\n\r\n"), BAD, 0},
    {"length of 2^64 - 1", SLICE(HEAD "Content-Length: 18446744073709551615\r\n\r\n"),
     WEIR_TOO_LARGE, 0},
    {"one more than the limit", SLICE(HEAD "Content-Length: 1048577\r\n\r\n"), WEIR_TOO_LARGE, 0},
    {"too large though a 100 is waited for",
     SLICE(HEAD "Content-Length: 1048577\r\nExpect: 100-continue\r\n\r\n"), WEIR_TOO_LARGE, 0},
    {"chunked twice", SLICE(HEAD "Transfer-Encoding: chunked, chunked\r\n\r\n"), BAD, 0},
    {"chunked in two fields",
     SLICE(HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), BAD, 0},
    {"chunked and identity in two fields",
     SLICE(HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"), BAD, 0},
    {"chunked, then another", SLICE(HEAD "Transfer-Encoding: chunked, gzip\r\n\r\n"), BAD, 0},
    {"xchunked", SLICE(HEAD "Transfer-Encoding: xchunked\r\n\r\n"), BAD, 0},
    {"chunkedx", SLICE(HEAD "Transfer-Encoding: chunkedx\r\n\r\n"), BAD, 0},
    {"chunked with a parameter", SLICE(HEAD "Transfer-Encoding: chunked;q=1\r\n\r\n"), BAD, 0},
    {"chunked with a comma", SLICE(HEAD "Transfer-Encoding: chunked,\r\n\r\n"), BAD, 0},
    {"comma and chunked", SLICE(HEAD "Transfer-Encoding: , chunked\r\n\r\n"), BAD, 0},
    {"chunked in quotes", SLICE(HEAD "Transfer-Encoding: \"chunked\"\r\n\r\n"), BAD, 0},
    {"chunked after a tab", SLICE(HEAD "Transfer-Encoding:\tchunked\r\n\r\n"), BAD, 0},
    {"chunked after two spaces", SLICE(HEAD "Transfer-Encoding:  chunked\r\n\r\n"), BAD, 0},
    {"chunked before a space", SLICE(HEAD "Transfer-Encoding: chunked \r\n\r\n"), BAD, 0},
    {"chunked after a VT",
     SLICE(HEAD "Transfer-Encoding: \x0b"
                "chunked\r\n\r\n"),
     BAD, 46},
    {"chunked on a folded line", SLICE(HEAD "Transfer-Encoding:\r\n chunked\r\n\r\n"), BAD, 47},
    {"a space before Transfer-Encoding", SLICE(HEAD " Transfer-Encoding: chunked\r\n\r\n"), BAD,
     27},
    {"Transfer-Encoding before a colon with a space",
     SLICE(HEAD "Transfer-Encoding : chunked\r\n\r\n"), BAD, 44},
    {"empty Transfer-Encoding", SLICE(HEAD "Transfer-Encoding:\r\n\r\n"), BAD, 0},
    {"chunked in HTTP/1.0", SLICE("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), BAD, 0},
    {"gzip", SLICE(HEAD "Transfer-Encoding: gzip\r\n\r\n"), WEIR_NOT_IMPLEMENTED, 0},
    {"gzip in chunks", SLICE(HEAD "Transfer-Encoding: GZIP, Chunked\r\n\r\n"), WEIR_NOT_IMPLEMENTED,
     0},
    {"identity", SLICE(HEAD "Transfer-Encoding: identity\r\n\r\n"), WEIR_NOT_IMPLEMENTED, 0},
    {"gzip beside a length", SLICE(HEAD "Transfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\n"),
     BAD, 0},
    {"a coding nobody knows", SLICE(HEAD "Transfer-Encoding: cow\r\n\r\n"), BAD, 0},

    /* Expectations. */
    {"another expectation", SLICE(HEAD "Expect: 200-ok\r\n\r\n"), WEIR_BAD_EXPECT, 0},
    {"an empty expectation", SLICE(HEAD "Expect:\r\n\r\n"), WEIR_BAD_EXPECT, 0},
    {"two expectations", SLICE(HEAD "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n"), BAD,
     0},

    /* What comes after a request is judged like it. */
    {"garbage after a good request", SLICE(HEAD "\r\n\x80"), BAD, 29},
    {"a body that no length told", SLICE(HEAD "\r\n{}"), BAD, 29},
};

/* Byte by byte, the error must be there with the byte that shows it, and not before. */
static void check_early(const struct hostile *row)
{
    const char *end = memmem(row->input.ptr, row->input.len, "\r\n\r\n", 4);
    size_t want = row->known_after;
    struct cut cut = {.first = 1, .step = 1};
    struct text got = {0};
    size_t n_fed;
    if (want == 0 && end) want = (size_t)(end - row->input.ptr) + 4;
    T_EQ(http_transcript(&got, row->input, &cut, &limits, &n_fed), row->want);
    if (n_fed != want)
        t_fail(__FILE__, __LINE__, "%s: known after %zu bytes, not %zu", row->claim, n_fed, want);
    text_fini(&got);
}

TEST(hostile_heads_get_their_status_in_every_cutting)
{
    struct cut cut;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        const struct hostile *row = &hostile[i];
        struct text want = {0};
        for (size_t n = 0; cut_nth(&cut, n, row->input.len); n++) {
            struct text got = {0};
            enum weir_status st =
                http_transcript(n == 0 ? &want : &got, row->input, &cut, &limits, NULL);
            if (st != row->want || (n > 0 && !text_eq(&got, &want)))
                t_fail(__FILE__, __LINE__, "%s, cutting %zu: %s %.*s", row->claim, n,
                       weir_status_name(st), (int)got.len, got.ptr);
            text_fini(&got);
        }
        text_fini(&want);
        check_early(row);
    }
    T_OK(sizeof hostile / sizeof *hostile >= 80);
}

/* Some hundred cuttings of an input that is too long for all of them. */
static void expect_large(const char *claim, const struct text *input, enum weir_status want,
                         size_t known_after)
{
    struct cut cut;
    for (size_t n = 0; cut_nth(&cut, n, input->len); n += 1 + input->len / 150) {
        struct text got = {0};
        if (http_transcript(&got, text_slice(input), &cut, &limits, NULL) != want)
            t_fail(__FILE__, __LINE__, "%s, cutting %zu: %.*s", claim, n, (int)got.len, got.ptr);
        text_fini(&got);
    }
    struct text got = {0};
    size_t n_fed;
    cut = (struct cut){.first = 1, .step = 1};
    T_EQ(http_transcript(&got, text_slice(input), &cut, &limits, &n_fed), want);
    T_EQ(n_fed, known_after);
    text_fini(&got);
}

static void add_run(struct text *t, char c, size_t n)
{
    for (size_t i = 0; i < n; i++) text_add_char(t, c);
}

TEST(target_may_be_just_as_long_as_its_limit)
{
    for (size_t extra = 0; extra < 2; extra++) {
        struct text input = {0};
        text_printf(&input, "GET /");
        add_run(&input, 'a', HTTP_TARGET_BYTES - 1 + extra);
        text_printf(&input, " HTTP/1.0\r\n\r\n");
        size_t known = extra ? 4 + HTTP_TARGET_BYTES + 1 : input.len;
        expect_large("target", &input, extra ? WEIR_URI_TOO_LONG : WEIR_OK, known);
        text_fini(&input);
    }
}

TEST(head_may_be_just_as_long_as_its_limit)
{
    for (size_t extra = 0; extra < 2; extra++) {
        struct text input = {0};
        text_printf(&input, "GET / HTTP/1.0\r\nA: ");
        add_run(&input, 'a', limits.head_bytes - input.len - 4 + extra);
        text_printf(&input, "\r\n\r\n");
        T_EQ(input.len, limits.head_bytes + extra);
        expect_large("head", &input, extra ? WEIR_HEAD_TOO_LARGE : WEIR_OK, limits.head_bytes);
        text_fini(&input);
    }
}

TEST(head_has_at_most_so_many_fields)
{
    for (size_t extra = 0; extra < 2; extra++) {
        struct text input = {0};
        text_printf(&input, "GET / HTTP/1.0\r\n");
        for (size_t i = 0; i < HTTP_MAX_FIELDS + extra; i++) text_printf(&input, "A:\r\n");
        text_printf(&input, "\r\n");
        expect_large("fields", &input, extra ? WEIR_HEAD_TOO_LARGE : WEIR_OK,
                     input.len - extra * 5);
        text_fini(&input);
    }
}

TEST(limits_of_the_caller_hold)
{
    struct http_limits small = {.head_bytes = 30, .body_bytes = 3};
    struct cut cut;
    struct text got = {0};
    static const struct {
        struct weir_slice input;
        enum weir_status want;
    } rows[] = {
        {SLICE("GET /234567890 HTTP/1.0\r\n\r\n"), WEIR_OK},
        {SLICE("GET /23456789012345 HTTP/1.0\r\n\r\n"), WEIR_HEAD_TOO_LARGE},
        {SLICE("\r\nGET /234567890 HTTP/1.0\r\n\r\n"), WEIR_OK},
        {SLICE("\r\n\r\nGET /234567890 HTTP/1.0\r\n\r\n"), WEIR_HEAD_TOO_LARGE},
        {SLICE("GET /\x01 HTTP/1.0\r\nA: 0123456789012345678901234567890"), WEIR_BAD_REQUEST},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t n = 0; cut_nth(&cut, n, rows[i].input.len); n++)
            T_EQ(http_transcript(&got, rows[i].input, &cut, &small, NULL), rows[i].want);
    text_fini(&got);
}
