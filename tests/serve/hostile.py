#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/hostile.py [NAME...]

Requests that nobody well-meaning sends. Each row of the table is sent whole, byte by byte
and cut at random places; each time the answer has to be the same one.

What follows a row tells how the connection goes on. After CLOSES the same bytes are sent
again with a well-formed request behind them, which must not be answered: where a request ends
is not known any more, and the next one may be an attacker's. After STAYS the request behind
must be answered, and only that. After every row the server still answers others.
"""
import random
import sys

from support import (BODY_BYTES, HEAD_BYTES, MAX_FIELDS, TARGET_BYTES, Closed, Failure, Server,
                     add_case, equal, expect, main, request_bytes, wait_until)

CLOSES = "closes"
STAYS = "stays"
EITHER = "either"

HOST = b"Host: localhost\r\n"
CANARY = "pwned"
SMUGGLED = request_bytes("POST", f"/v1/streams/{CANARY}", [("Content-Type", "application/json"),
                                                         ("X-Request-Id", "smuggled")], b'"x"')
BEHIND = request_bytes("POST", "/v1/streams/behind", [("Content-Type", "application/json"),
                                                      ("X-Request-Id", "behind")], b'"x"')
HEALTHY = request_bytes("GET", "/healthz", [("X-Request-Id", "req-behind")])

rows = []


def row(name, data, statuses, after=CLOSES):
    if isinstance(statuses, int):
        statuses = {statuses}
    rows.append((name, data, frozenset(statuses), after))


def get(target=b"/healthz", fields=b"", version=b"HTTP/1.1"):
    return b"GET " + target + b" " + version + b"\r\n" + HOST + fields + b"\r\n"


def line(request_line):
    return request_line + b"\r\n" + HOST + b"\r\n"


def post(fields, body=b"", stream=b"hostile", query=b""):
    return (b"POST /v1/streams/" + stream + query + b" HTTP/1.1\r\n" + HOST
            + b"Content-Type: application/json\r\n" + fields + b"\r\n" + body)


def sized(body, fields=b"", **options):
    return post(b"Content-Length: %d\r\n" % len(body) + fields, body, **options)


def chunked(body, **options):
    return post(b"Transfer-Encoding: chunked\r\n", body, **options)


# ---- the request line ----

row("two_spaces_before_the_target", line(b"GET  /healthz HTTP/1.1"), 400)
row("two_spaces_before_the_version", line(b"GET /healthz  HTTP/1.1"), 400)
row("space_before_the_method", line(b" GET /healthz HTTP/1.1"), 400)
row("tab_instead_of_space", line(b"GET\t/healthz\tHTTP/1.1"), 400)
row("space_after_the_version", line(b"GET /healthz HTTP/1.1 "), 400)
row("words_after_the_version", line(b"GET /healthz HTTP/1.1 please"), 400)
row("no_version", b"GET /healthz\r\n\r\n", {400, 505})
row("no_version_but_fields", line(b"GET /healthz"), {400, 505})
row("no_target", line(b"GET HTTP/1.1"), {400, 505})
row("no_method", line(b"/healthz HTTP/1.1"), 400)
row("version_2", line(b"GET /healthz HTTP/2.0"), {400, 505})
row("version_3", line(b"GET /healthz HTTP/3"), {400, 505})
row("version_1_2", line(b"GET /healthz HTTP/1.2"), {400, 505})
row("version_0_9", line(b"GET /healthz HTTP/0.9"), {400, 505})
row("version_with_leading_zero", line(b"GET /healthz HTTP/01.1"), {400, 505})
row("version_with_two_digits", line(b"GET /healthz HTTP/1.10"), {400, 505})
row("version_with_a_comma", line(b"GET /healthz HTTP/1,1"), {400, 505})
row("version_cut", line(b"GET /healthz HTTP/1."), {400, 505})
row("version_in_lower_case", line(b"GET /healthz http/1.1"), {400, 505})
row("another_protocol", line(b"GET /healthz RTSP/1.0"), {400, 505})
row("icecast", line(b"GET /healthz ICE/1.0"), {400, 505})
row("preface_of_http_2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    {400, 405, 501, 505})
row("method_in_lower_case", line(b"get /healthz HTTP/1.1"), {400, 405, 501}, EITHER)
row("method_with_a_control_byte", line(b"GE\x01T /healthz HTTP/1.1"), 400)
row("method_with_nul", line(b"GET\x00 /healthz HTTP/1.1"), 400)
row("method_with_a_separator", line(b"G(E)T /healthz HTTP/1.1"), 400)
row("method_of_10000_letters", line(b"A" * 10000 + b" /healthz HTTP/1.1"), {400, 405, 414, 431, 501},
    EITHER)
row("method_nobody_knows", line(b"BREW /healthz HTTP/1.1"), {400, 405, 501}, EITHER)
row("method_trace", line(b"TRACE /healthz HTTP/1.1"), {405, 501}, EITHER)
row("connect_to_elsewhere", line(b"CONNECT example.com:443 HTTP/1.1"), {400, 405, 501}, EITHER)
row("target_with_nul", line(b"GET /heal\x00thz HTTP/1.1"), 400)
row("target_with_a_control_byte", line(b"GET /heal\x1fthz HTTP/1.1"), 400)
row("target_with_del", line(b"GET /heal\x7fthz HTTP/1.1"), 400)
row("target_with_a_high_byte", line(b"GET /heal\xffthz HTTP/1.1"), {400, 404}, EITHER)
row("target_with_raw_utf8", line("GET /v1/streams/é HTTP/1.1".encode()), {400, 404}, EITHER)
row("target_without_slash", line(b"GET healthz HTTP/1.1"), 400)
row("target_is_only_a_query", line(b"GET ?x=1 HTTP/1.1"), 400)
row("target_star_for_get", line(b"GET * HTTP/1.1"), {400, 404}, EITHER)
row("target_with_a_fragment", line(b"GET /healthz#x HTTP/1.1"), {400, 404}, EITHER)
row("target_in_absolute_form_of_another_host", line(b"GET http://other.example/healthz HTTP/1.1"), 400)
row("target_in_absolute_form_without_host", line(b"GET http:///healthz HTTP/1.1"), 400)
row("target_in_absolute_form_with_a_user", line(b"GET http://a@localhost/healthz HTTP/1.1"), 400)
row("target_of_another_scheme", line(b"GET file:///etc/passwd HTTP/1.1"), {400, 404}, EITHER)
row("target_longer_than_the_limit", get(b"/" + b"a" * (TARGET_BYTES + 1)), 414)
row("target_longer_than_a_head", get(b"/" + b"a" * (HEAD_BYTES + 100)), {414, 431})
row("target_that_never_ends", b"GET /" + b"a" * (HEAD_BYTES * 2), {414, 431})
row("query_longer_than_the_limit", get(b"/healthz?" + b"a" * TARGET_BYTES), 414)
row("target_climbs_out", get(b"/../../../../etc/passwd"), {400, 404}, STAYS)
row("target_climbs_out_encoded", get(b"/%2e%2e/%2e%2e/etc/passwd"), {400, 404}, STAYS)
row("target_with_an_encoded_slash", get(b"/v1/streams/..%2f..%2fetc%2fpasswd?live=false&from=abc"),
    {400, 404}, STAYS)
row("target_with_an_encoded_nul", get(b"/v1/streams/a%00b"), {400, 404}, STAYS)
row("target_with_a_bad_escape", get(b"/v1/streams/%zz"), {400, 404}, STAYS)
row("target_with_half_an_escape", get(b"/v1/streams/a%4"), {400, 404}, STAYS)
row("target_with_overlong_utf8", get(b"/v1/streams/%c0%ae"), {400, 404}, STAYS)
row("target_with_an_encoded_newline", get(b"/v1/streams/a%0d%0aX-Evil:%20y?live=false&from=abc"),
    {400, 404}, STAYS)
row("target_with_a_backslash", get(b"/v1\\streams\\x"), {400, 404}, EITHER)
row("stream_without_a_name", get(b"/v1/streams/"), {400, 404}, STAYS)
row("stream_name_too_long", get(b"/v1/streams/" + b"n" * 300), {400, 404, 414}, STAYS)
row("many_empty_lines_first", b"\r\n" * 5000 + get(), {400, 431})

# ---- line ends ----

row("lf_alone_everywhere", b"GET /healthz HTTP/1.1\nHost: localhost\n\n", 400)
row("lf_alone_after_the_request_line", b"GET /healthz HTTP/1.1\n" + HOST + b"\r\n", 400)
row("lf_alone_after_a_field", b"GET /healthz HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", 400)
row("lf_alone_at_the_end_of_the_head", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\n", 400)
row("cr_alone_after_the_request_line", b"GET /healthz HTTP/1.1\r" + HOST + b"\r\n", 400)
row("cr_alone_between_fields", get(fields=b"X: a\rY: b\r\n"), 400)
row("cr_alone_in_a_value", get(fields=b"X: a\rb\r\n"), 400)
row("cr_twice", b"GET /healthz HTTP/1.1\r\r\n" + HOST + b"\r\n", 400)
row("lf_first", b"\nGET /healthz HTTP/1.1\r\n" + HOST + b"\r\n", 400)
row("cr_first", b"\rGET /healthz HTTP/1.1\r\n" + HOST + b"\r\n", 400)
row("lf_alone_hides_a_length", post(b"X: y\nContent-Length: 3\r\n", b'"x"'), 400)
row("cr_alone_hides_a_coding", post(b"X: y\rTransfer-Encoding: chunked\r\n", b'"x"'), 400)

# ---- fields ----

row("field_with_nul_in_its_value", get(fields=b"X: a\x00b\r\n"), 400)
row("field_with_nul_in_its_name", get(fields=b"X\x00: a\r\n"), 400)
row("field_with_a_control_byte", get(fields=b"X: a\x01b\r\n"), 400)
row("field_with_vertical_tab", get(fields=b"X: a\x0bb\r\n"), 400)
row("field_with_del", get(fields=b"X: a\x7fb\r\n"), 400)
row("field_folded_by_a_space", get(fields=b"X: a\r\n b\r\n"), 400)
row("field_folded_by_a_tab", get(fields=b"X: a\r\n\tb\r\n"), 400)
row("folded_field_hides_a_length", post(b"X: y\r\n Content-Length: 3\r\n", b'"x"'), 400)
row("first_field_begins_with_a_space", b"GET /healthz HTTP/1.1\r\n " + HOST + b"\r\n", 400)
row("space_before_the_colon", get(fields=b"X : a\r\n"), 400)
row("tab_before_the_colon", get(fields=b"X\t: a\r\n"), 400)
row("space_before_the_colon_of_a_length", post(b"Content-Length : 3\r\n", b'"x"'), 400)
row("space_before_the_colon_of_a_coding", post(b"Transfer-Encoding : chunked\r\n",
                                               b'3\r\n"x"\r\n0\r\n\r\n'), 400)
row("field_without_a_name", get(fields=b": a\r\n"), 400)
row("field_without_a_colon", get(fields=b"nonsense\r\n"), 400)
row("field_with_a_space_in_its_name", get(fields=b"X Y: a\r\n"), 400)
row("field_with_a_separator_in_its_name", get(fields=b"X(Y): a\r\n"), 400)
row("field_with_a_high_byte_in_its_name", get(fields=b"X\xff: a\r\n"), 400)
row("no_host", b"GET /healthz HTTP/1.1\r\n\r\n", 400)
row("two_hosts", get(fields=b"Host: localhost\r\n"), 400)
row("two_hosts_that_differ", get(fields=b"Host: other\r\n"), 400)
row("host_with_a_space", b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", 400)
row("host_with_a_path", b"GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n", 400)
row("host_with_a_user", b"GET /healthz HTTP/1.1\r\nHost: evil@localhost\r\n\r\n", 400)
row("host_is_a_list", b"GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n", 400)
row("one_field_too_large", get(fields=b"X: " + b"a" * (HEAD_BYTES + 1) + b"\r\n"), 431)
row("one_field_name_too_large", get(fields=b"X" * (HEAD_BYTES + 1) + b": a\r\n"), 431)
row("fields_too_large_together", get(fields=b"".join(b"X-%d: %s\r\n" % (i, b"a" * 500)
                                                     for i in range(40))), 431)
row("too_many_fields", get(fields=b"X: y\r\n" * (MAX_FIELDS + 1)), 431)
row("very_many_fields", get(fields=b"a:b\r\n" * 3000), 431)
row("fields_that_never_end", b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 10000, 431)

# ---- lengths ----

for label, value in [
        ("negative", b"-1"), ("with_a_plus", b"+3"), ("with_letters", b"3x"), ("empty", b""),
        ("hexadecimal", b"0x3"), ("a_fraction", b"3.0"), ("with_an_exponent", b"3e0"),
        ("two_numbers", b"3 3"), ("a_list", b"3, 3"), ("a_list_that_differs", b"3, 4"),
        ("a_comma_after", b"3,"), ("quoted", b'"3"'), ("arabic_digits", "٣".encode()),
        ("words", b"three"), ("with_a_semicolon", b"3;x=y"),
        ("beyond_64_bits", b"18446744073709551619"), ("far_beyond_64_bits", b"9" * 100)]:
    wanted = {400, 413} if b"9" in value else 400
    row(f"length_{label}", post(b"Content-Length: " + value + b"\r\n", b'"x"'), wanted)
row("length_of_all_64_bits", post(b"Content-Length: 18446744073709551615\r\n", b'"x"'), {400, 413})
row("length_of_63_bits_and_one", post(b"Content-Length: 9223372036854775808\r\n", b'"x"'), {400, 413})
row("length_twice", post(b"Content-Length: 3\r\nContent-Length: 3\r\n", b'"x"'), 400)
row("length_twice_and_different", post(b"Content-Length: 3\r\nContent-Length: 0\r\n", b'"x"'), 400)
row("length_twice_in_other_case", post(b"Content-Length: 3\r\ncontent-length: 3\r\n", b'"x"'), 400)
row("length_above_the_limit", post(b"Content-Length: %d\r\n" % (BODY_BYTES + 1)), 413)
row("length_above_the_limit_with_expect",
    post(b"Content-Length: %d\r\nExpect: 100-continue\r\n" % (BODY_BYTES + 1)), 413)
row("length_above_the_limit_for_get", get(fields=b"Content-Length: %d\r\n" % (BODY_BYTES + 1)), 413)
row("body_above_the_limit", sized(b'"' + b"x" * BODY_BYTES + b'"'), 413)

# ---- codings ----

CHUNKED_X = b'3\r\n"x"\r\n0\r\n\r\n'
row("length_and_coding", post(b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", CHUNKED_X), 400)
row("coding_and_length", post(b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", CHUNKED_X), 400)
row("coding_and_length_0", post(b"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", CHUNKED_X), 400)
for label, value in [
        ("identity", b"identity"), ("gzip", b"gzip"), ("gzip_then_chunked", b"gzip, chunked"),
        ("chunked_then_gzip", b"chunked, gzip"), ("chunked_twice", b"chunked, chunked"),
        ("with_a_letter_before", b"xchunked"), ("with_a_letter_behind", b"chunkedx"),
        ("with_a_parameter", b"chunked;q=1"), ("quoted", b'"chunked"'), ("cut", b"chunke"),
        ("with_a_comma_before", b", chunked"), ("with_a_comma_behind", b"chunked,"),
        ("empty", b""), ("identity_then_chunked", b"identity, chunked"),
        ("chunked_then_identity", b"chunked, identity")]:
    row(f"coding_{label}", post(b"Transfer-Encoding: " + value + b"\r\n", CHUNKED_X), {400, 501})
row("coding_with_vertical_tab", post(b"Transfer-Encoding: \x0bchunked\r\n", CHUNKED_X), 400)
row("coding_with_nul", post(b"Transfer-Encoding: chunked\x00\r\n", CHUNKED_X), 400)
row("coding_folded", post(b"Transfer-Encoding:\r\n chunked\r\n", CHUNKED_X), 400)
row("coding_on_two_lines", post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                                CHUNKED_X), {400, 501})
row("coding_twice", post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", CHUNKED_X),
    {400, 501})
row("coding_in_http_1_0", chunked(CHUNKED_X).replace(b"HTTP/1.1", b"HTTP/1.0"), {400, 501})
row("coding_for_get_with_a_length", get(fields=b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")
    + b"0\r\n\r\n", 400)

# ---- chunks ----

for label, size in [
        ("empty", b""), ("with_letters", b"3g"), ("negative", b"-3"), ("with_a_plus", b"+3"),
        ("with_0x", b"0x3"), ("after_a_space", b" 3"), ("with_nul", b"3\x00"), ("no_digits", b"xyz"),
        ("of_65_bits", b"10000000000000003"), ("of_all_64_bits", b"ffffffffffffffff"),
        ("far_beyond_64_bits", b"f" * 60), ("with_5000_zeros", b"0" * 5000 + b"3"),
        ("with_a_bare_cr", b"3\rx"), ("a_list", b"3,3"), ("quoted", b'"3"')]:
    wanted = {400, 413} if b"ff" in size or b"10000" in size else 400
    row(f"chunk_size_{label}", chunked(size + b'\r\n"x"\r\n0\r\n\r\n'), wanted)
row("chunk_size_ended_by_lf", chunked(b'3\n"x"\r\n0\r\n\r\n'), 400)
row("chunk_ended_by_lf", chunked(b'3\r\n"x"\n0\r\n\r\n'), 400)
row("chunk_ended_by_cr", chunked(b'3\r\n"x"\r0\r\n\r\n'), 400)
row("chunk_shorter_than_it_says", chunked(b'4\r\n"x"\r\n0\r\n\r\n'), 400)
row("chunk_longer_than_it_says", chunked(b'2\r\n"x"\r\n0\r\n\r\n'), 400)
row("last_chunk_ended_by_lf", chunked(b'3\r\n"x"\r\n0\n\r\n'), 400)
row("end_of_chunks_is_lf", chunked(b'3\r\n"x"\r\n0\r\n\n'), 400)
row("chunk_extension_too_long", chunked(b'3;' + b"x" * 20000 + b'\r\n"x"\r\n0\r\n\r\n'), {400, 413, 431})
row("chunk_extension_with_lf", chunked(b'3;a\nb\r\n"x"\r\n0\r\n\r\n'), 400)
row("chunk_extension_with_nul", chunked(b'3;a\x00b\r\n"x"\r\n0\r\n\r\n'), 400)
row("chunk_extension_with_a_bare_cr", chunked(b'3;a\rb\r\n"x"\r\n0\r\n\r\n'), 400)
row("chunk_extensions_again_and_again",
    chunked(b"".join(b"1;%s\r\n1\r\n" % (b"x" * 200) for _ in range(2000)) + b"0\r\n\r\n"),
    {400, 413, 431})
row("chunks_above_the_limit", chunked((b"10000\r\n" + b"1" * 65536 + b"\r\n") * 17 + b"0\r\n\r\n"), 413)
row("one_chunk_above_the_limit", chunked(b"100001\r\n"), 413)
row("trailers_too_large", chunked(b'3\r\n"x"\r\n0\r\n' + b"X: yyyyyyyyyyyyyyyyyyyyyyyy\r\n" * 1000
                                  + b"\r\n"), {400, 413, 431})
row("trailer_that_never_ends", chunked(b'3\r\n"x"\r\n0\r\nX: ' + b"y" * (HEAD_BYTES * 2)),
    {400, 413, 431})
row("trailer_folded", chunked(b'3\r\n"x"\r\n0\r\nX: y\r\n z\r\n\r\n'), 400)
row("trailer_with_a_bare_lf", chunked(b'3\r\n"x"\r\n0\r\nX: y\nZ: z\r\n\r\n'), 400)
row("trailer_without_a_colon", chunked(b'3\r\n"x"\r\n0\r\nnonsense\r\n\r\n'), 400)

# ---- not HTTP at all ----

row("zeros", b"\x00" * 64, 400)
row("high_bytes", bytes(range(128, 256)), 400)
row("hello_of_tls", bytes.fromhex("16030100a5010000a10303") + b"\xab" * 160, 400)
row("hello_of_ssh", b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", {400, 505})
row("hello_of_smtp", b"EHLO example.com\r\n", {400, 505})
row("command_of_redis", b"*1\r\n$4\r\nPING\r\n", 400)
row("proxy_protocol", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n" + get(), 400)
row("an_answer", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 400)
row("random_bytes", random.Random(7).randbytes(4000).replace(b"\r\n", b"xx"), 400)
row("words_without_end", b"A" * (HEAD_BYTES + 100), {400, 414, 431, 501})

# ---- well-formed, but refused ----

row("expectation_nobody_can_meet", post(b"Content-Length: 3\r\nExpect: 200-ok\r\n", b'"x"'), 417, EITHER)
row("no_such_place", get(b"/nothing/here"), 404, STAYS)
row("no_such_place_with_a_body", post(b"Content-Length: 3\r\n", b'"x"', stream=b"a/b/c"), 404, STAYS)
row("method_not_allowed_with_a_body",
    b"PUT /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\n" + b'"x"', {405, 501}, STAYS)
row("body_is_empty", sized(b""), 400, STAYS)
row("no_body_at_all", post(b""), {400, 411}, STAYS)
row("body_is_white_space", sized(b" \t\r\n "), 400, STAYS)
row("body_is_not_json", sized(b"hello"), 400, STAYS)
row("body_is_cut", sized(b'{"a": [1, 2'), 400, STAYS)
row("body_is_two_values", sized(b"1 2"), 400, STAYS)
row("body_has_a_comma_too_many", sized(b"[1,]"), 400, STAYS)
row("body_is_nan", sized(b"NaN"), 400, STAYS)
row("body_has_a_leading_zero", sized(b"01"), 400, STAYS)
row("body_has_nul", sized(b'"a\x00b"'), 400, STAYS)
row("body_has_a_raw_newline_in_a_string", sized(b'"a\nb"'), 400, STAYS)
row("body_has_a_raw_cr_in_a_string", sized(b'"a\rb"'), 400, STAYS)
row("body_is_not_utf8", sized(b'"\xff\xfe"'), 400, STAYS)
row("body_has_overlong_utf8", sized(b'"\xc0\xaf"'), 400, STAYS)
row("body_has_utf8_of_a_surrogate", sized(b'"\xed\xa0\x80"'), 400, STAYS)
row("body_ends_within_a_character", sized(b'"\xe2\x82"'), 400, STAYS)
row("body_is_nested_100000_deep", sized(b"[" * 100000 + b"]" * 100000), 400, STAYS)
row("body_is_100000_brackets", sized(b"[" * 100000), 400, STAYS)
row("body_is_an_event_stream", sized(b"data: 1\n\nid: 7\ndata: 2\n\n"), 400, STAYS)
row("body_is_compressed", sized(b"\x1f\x8b\x08\x00\x00\x00\x00\x00", b"Content-Encoding: gzip\r\n"),
    {400, 415}, STAYS)
row("body_of_another_type",
    b"POST /v1/streams/hostile HTTP/1.1\r\n" + HOST + b"Content-Type: text/html\r\n"
    b"Content-Length: 3\r\n\r\n" + b'"x"', 415, STAYS)
row("batch_is_not_a_list", sized(b'{"a":1}', query=b"?batch=1"), 400, STAYS)
row("batch_is_empty", sized(b"[]", query=b"?batch=1"), 400, STAYS)
row("batch_is_cut", sized(b"[1,2", query=b"?batch=1"), 400, STAYS)
row("chunked_body_is_not_json", chunked(b"5\r\nhello\r\n0\r\n\r\n"), 400, STAYS)
for label, value in [("words", b"abc"), ("negative", b"-1"), ("fraction", b"1.5"), ("plus", b"+1"),
                     ("hexadecimal", b"0x1"), ("beyond_64_bits", b"18446744073709551616"),
                     ("all_64_bits", b"18446744073709551615"), ("far_beyond", b"9" * 200),
                     ("two_numbers", b"1 2"), ("list", b"1,2"), ("beyond_the_newest", b"4000000000")]:
    row(f"last_event_id_{label}",
        get(b"/v1/streams/hostile?live=false", b"Last-Event-ID: " + value + b"\r\n"), 400, STAYS)
row("last_event_id_bad_in_the_query", get(b"/v1/streams/hostile?live=false&last_event_id=x"), 400, STAYS)
row("last_event_id_in_the_query_with_a_bad_escape",
    get(b"/v1/streams/hostile?live=false&last_event_id=%z1"), 400, STAYS)
row("accept_of_something_else", get(b"/v1/streams/hostile?live=false", b"Accept: image/png\r\n"), 406,
    STAYS)
row("accept_forbids_streams", get(b"/v1/streams/hostile?live=false",
                                  b"Accept: text/event-stream;q=0\r\n"), 406, STAYS)

# ---- odd, but right: these are here so that strictness does not go too far ----

row("empty_line_first", b"\r\n" + get(), 200, STAYS)
row("field_names_in_any_case", get(fields=b"x-rEqUeSt-Id: abc\r\n"), 200, STAYS)
row("white_space_around_a_value", get(fields=b"X: \t a b \t \r\n"), 200, STAYS)
row("empty_value", get(fields=b"X:\r\n"), 200, STAYS)
row("high_bytes_in_a_value", get(fields=b"X: \xe9\xff\r\n"), 200, STAYS)
row("absolute_form_of_this_host", line(b"GET http://localhost/healthz HTTP/1.1"), 200, STAYS)
row("as_many_fields_as_allowed", get(fields=b"X: y\r\n" * (MAX_FIELDS - 2)), 200, STAYS)
row("a_head_almost_too_large", get(fields=b"X: " + b"a" * (HEAD_BYTES - 200) + b"\r\n"), 200, STAYS)
row("a_query_almost_too_long", get(b"/healthz?" + b"a" * (TARGET_BYTES - 200)), 200, STAYS)
row("upgrade_that_is_not_taken", get(fields=b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                                     b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n"), 200, STAYS)
row("upgrade_to_a_web_socket", get(fields=b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                   b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                   b"Sec-WebSocket-Version: 13\r\n"), 200, STAYS)
row("length_0_for_get", get(fields=b"Content-Length: 0\r\n"), 200, STAYS)
row("body_for_get_is_no_request", get(fields=b"Content-Length: %d\r\n" % len(SMUGGLED)) + SMUGGLED,
    {200, 400, 413}, EITHER)
row("chunked_body_for_get_is_no_request",
    get(fields=b"Transfer-Encoding: chunked\r\n") + b"%x\r\n%s\r\n0\r\n\r\n" % (len(SMUGGLED), SMUGGLED),
    {200, 400, 413}, EITHER)
row("length_with_leading_zeros", post(b"Content-Length: 003\r\n", b'"x"'), {201, 400}, EITHER)
row("chunks_in_capitals", chunked(b'A\r\n"12345678"\r\n0\r\n\r\n'), 201, STAYS)
row("chunk_size_with_leading_zeros", chunked(b'0003\r\n"x"\r\n00\r\n\r\n'), 201, STAYS)
row("chunk_with_a_short_extension", chunked(b'3;a=b\r\n"x"\r\n0;c\r\n\r\n'), 201, STAYS)
row("coding_in_capitals", post(b"TRANSFER-ENCODING: Chunked\r\n", CHUNKED_X), 201, STAYS)
row("trailers_change_nothing", chunked(b'3\r\n"x"\r\n0\r\nContent-Length: 100\r\n'
                                       b"Transfer-Encoding: gzip\r\nHost: evil\r\n\r\n"),
    {201, 400}, EITHER)
row("body_holds_a_request", sized(b'"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"'), 201, STAYS)
row("request_id_that_is_not_well_formed", get(fields=b"X-Request-Id: a b;c\"<script>\r\n"), 200, STAYS)
row("request_id_of_4000_letters", get(fields=b"X-Request-Id: " + b"r" * 4000 + b"\r\n"), 200, STAYS)
row("range_is_ignored", get(fields=b"Range: bytes=0-0,5-\r\n"), 200, STAYS)


# ---- sending ----

def pieces_whole(data, _):
    return [data]


def pieces_bytes(data, _):
    """Byte by byte; what is large goes faster in the middle."""
    if len(data) <= 4096:
        return [data[i:i + 1] for i in range(len(data))]
    middle = data[256:-256]
    step = max(64, len(middle) // 512)
    return ([data[i:i + 1] for i in range(256)] + [middle[i:i + step] for i in range(0, len(middle), step)]
            + [data[i:i + 1] for i in range(len(data) - 256, len(data))])


def pieces_random(data, chance):
    cuts = sorted(chance.sample(range(1, len(data)), min(len(data) - 1, chance.randint(1, 12))))
    return [data[a:b] for a, b in zip([0] + cuts, cuts + [len(data)])]


WAYS = [("whole", pieces_whole), ("byte by byte", pieces_bytes), ("cut at random", pieces_random)]


def send_pieces(conn, pieces, sends_all):
    """Sends all, or until the server says something, as a client does that listens meanwhile."""
    for piece in pieces:
        if not sends_all and conn.is_readable():
            return
        try:
            conn.send(piece)
        except (BrokenPipeError, ConnectionResetError):
            return


def one_answer(conn, name, statuses):
    try:
        answer = conn.answer()
    except Closed as problem:
        raise Failure(f"{name}: no answer: {problem}") from None
    expect(answer.status in statuses,
           f"{name}: wanted {sorted(statuses)}, got {answer.status}", answer.body[:200])
    equal(answer.interim, [], f"{name}: interim answers")
    if answer.status >= 400:
        answer.error()
    request_id = answer.field("x-request-id")
    expect(request_id and len(request_id) <= 200 and "<" not in request_id, f"{name}: X-Request-Id",
           request_id)
    expect(answer.field("x-evil") is None, f"{name}: a field was smuggled into the answer")
    return answer


def expect_silence(conn, name):
    """The connection ends, and nothing more is said."""
    rest = conn.take_all()
    expect(rest == b"", f"{name}: after the answer that refuses came", rest[:200])


def expect_alive(conn, name, is_sent=False):
    if not is_sent:
        conn.send(HEALTHY)
    answer = conn.answer()
    equal(answer.status, 200, f"{name}: the request behind it")
    equal(answer.field("x-request-id"), "req-behind", f"{name}: the request behind it")
    expect(not conn.is_readable(0), f"{name}: one answer too many", conn.unread[:200])


def try_row(server, name, data, statuses, after, pieces):
    with server.connect() as conn:
        send_pieces(conn, pieces, after != CLOSES)
        answer = one_answer(conn, name, statuses)
        if after == CLOSES or (after == EITHER and answer.closes()):
            expect(answer.closes(), f"{name}: says not that it closes", answer.fields)
            expect_silence(conn, name)
        else:
            expect(not answer.closes(), f"{name}: closes without need")
            expect_alive(conn, name)


def try_with_one_behind(server, name, data, statuses, after):
    """The row and another request behind it, in one write."""
    with server.connect() as conn:
        behind = {STAYS: HEALTHY, CLOSES: SMUGGLED, EITHER: BEHIND}[after]
        try:
            conn.send(data + behind)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = one_answer(conn, name, statuses)
        if after == STAYS:
            expect_alive(conn, name, is_sent=True)
        elif answer.closes():
            expect_silence(conn, name + " with a request behind")
        else:
            equal(after, EITHER, f"{name}: says not that it closes")
            equal(conn.answer().field("x-request-id"), "behind", f"{name}: the request behind")


_server = []


def shared_server():
    if not _server or _server[0].child.poll() is not None:
        if _server:
            raise Failure(f"the server has ended: {_server[0].errors()[-500:]}")
        server = Server().start()
        Server._running.remove(server)
        _server.append(server)
        server.append("hostile", "first")
    return _server[0]


def check_row(name, data, statuses, after):
    server = shared_server()
    chance = random.Random(name)
    for way, cut in WAYS:
        try_row(server, f"{name}, {way}", data, statuses, after, cut(data, chance))
    if not name.endswith(("never_end", "never_ends", "without_end")):
        try_with_one_behind(server, name, data, statuses, after)
    server.healthy()


# ---- connections that end early ----

PARTS = {
    "nothing": b"",
    "half_a_request_line": b"GET /hea",
    "half_a_head": b"GET /healthz HTTP/1.1\r\nHost: loc",
    "a_head_without_its_body": sized(b'"x"' * 1)[:-3],
    "half_a_body": post(b"Content-Length: 100\r\n", b'"xxxx'),
    "half_a_chunk_size": chunked(b"1"),
    "half_a_chunk": chunked(b'10\r\n"xx'),
    "chunks_without_the_last": chunked(b'3\r\n"x"\r\n'),
    "chunks_without_the_end": chunked(b'3\r\n"x"\r\n0\r\n'),
    "an_expectation": post(b"Content-Length: 3\r\nExpect: 100-continue\r\n"),
}


def closing_after(part, how):
    """Nothing incomplete is ever carried out, and nothing keeps the descriptor."""
    server = shared_server()
    before = server.replay("hostile")
    with server.connect() as conn:
        conn.send(PARTS[part])
        if how == "reset":
            conn.reset()
        elif how == "close":
            conn.close()
        else:
            conn.end_sending()
            rest = conn.take_all().replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")
            expect(rest == b"" or rest.startswith((b"HTTP/1.1 400", b"HTTP/1.1 408")), "answered", rest)
    server.healthy()
    equal(server.replay("hostile"), before, "the stream afterwards")


for part_name in PARTS:
    for manner in ("close", "reset", "half_close"):
        add_case(f"{manner}_after_{part_name}",
                 lambda part_name=part_name, manner=manner: closing_after(part_name, manner))


def half_closed_client_gets_its_answer():
    server = shared_server()
    with server.connect() as conn:
        conn.send(sized(b'"half-closed"'))
        conn.end_sending()
        equal(conn.answer().status, 201)
        conn.expect_end()


def reset_while_watching_leaves_nothing():
    server = shared_server()
    n_before = server.n_descriptors()
    watches = [server.watch("hostile") for _ in range(20)]
    for watch in watches:
        watch.must_next()
        watch.reset()
    server.append("hostile", "after the reset")
    wait_until(lambda: server.n_descriptors() <= n_before + 1, "the descriptors are closed")


def nothing_was_smuggled():
    """No request that was hidden in another one was ever carried out."""
    server = shared_server()
    with server.watch(CANARY, "?live=false") as watch:
        if watch.opening.status == 200:
            equal(watch.rest(), [], "events of the smuggled requests")
        else:
            equal(watch.opening.status, 404)


def the_server_ends_well():
    server = shared_server()
    equal(server.stop(), 0, f"exit status; it said {server.errors()[-1500:]!r}")
    server.end()
    _server.clear()


for entry in rows:
    add_case(entry[0], lambda entry=entry: check_row(*entry))
add_case("half_closed_client_gets_its_answer", half_closed_client_gets_its_answer)
add_case("reset_while_watching_leaves_nothing", reset_while_watching_leaves_nothing)
add_case("nothing_was_smuggled", nothing_was_smuggled)
add_case("the_server_ends_well", the_server_ends_well)

if __name__ == "__main__":
    try:
        main(sys.argv[1:] + (["the_server_ends_well"] if len(sys.argv) > 1 else []))
    finally:
        for left in _server:
            left.end()
