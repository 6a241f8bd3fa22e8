#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/protocol.py [CASE...]

How the server behaves towards clients: connections and what ends them, bodies, methods,
errors, request ids, other origins, and its limits.
"""
import re
import resource
import socket
import threading
import time

from crowd import Crowd, Writer
from support import (BODY_BYTES, HEAD_BYTES, JSON_FIELDS, MEBIBYTE, TARGET_BYTES, WAIT_S, Server,
                     appended_id, case, equal, expect, main, post_bytes, request_bytes,
                     to_json, values_of, wait_until)

STREAM_METHODS = {"GET", "HEAD", "POST", "DELETE", "OPTIONS"}
ULID = re.compile(r"req_[0-9A-HJKMNP-TV-Z]{26}")


# ---- connections ----

@case
def first_line_tells_the_address():
    with Server() as server:
        equal(server.first_line, f"listening on http://127.0.0.1:{server.port}\n")
        expect(server.port > 0, "a port")


@case
def connection_serves_many_requests():
    with Server() as server, server.connect() as conn:
        for i in range(1, 201):
            equal(appended_id(conn.ask("POST", "/v1/streams/a", JSON_FIELDS, to_json(i))), i)
            equal(conn.ask("GET", "/healthz").status, 200)


@case
def connection_closes_when_asked():
    with Server() as server:
        for value in ("close", "Close", "keep-alive, close", "x, CLOSE"):
            with server.connect() as conn:
                answer = conn.ask("GET", "/healthz", [("Connection", value)])
                equal(answer.status, 200)
                expect(answer.closes(), "Connection: close in the answer")
                conn.expect_end()


@case
def http_1_0_closes_unless_asked():
    with Server() as server:
        with server.connect() as conn:
            conn.send(b"GET /healthz HTTP/1.0\r\n\r\n")
            equal(conn.answer().status, 200)
            conn.expect_end()
        with server.connect() as conn:
            for _ in range(3):
                conn.send(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                answer = conn.answer()
                equal(answer.status, 200)
                equal((answer.field("connection") or "").lower(), "keep-alive")


@case
def http_1_0_reader_gets_a_stream_without_chunks():
    with Server() as server:
        server.append_all("a", [1, 2])
        with server.watch("a", "?live=false", version="1.0") as watch:
            equal(watch.opening.field("transfer-encoding"), None)
            equal(watch.rest(), [(1, b"1"), (2, b"2")])


@case
def pipeline_is_answered_in_order_whatever_is_ready_first():
    """Appends wait for the disk, the rest does not; their answers still come in turn."""
    with Server() as server, server.connect() as conn:
        kinds = ["post", "get", "none", "post", "head", "batch", "bad", "replay", "method"]
        requests = []
        for i in range(90):
            name = f"r{i}"
            extra = [("X-Request-Id", name)]
            kind = kinds[i % len(kinds)]
            requests.append({
                "post": lambda: post_bytes(to_json(i), request_id=name),
                "get": lambda: request_bytes("GET", "/healthz", extra),
                "none": lambda: request_bytes("GET", "/nothing", extra),
                "head": lambda: request_bytes("HEAD", "/healthz", extra),
                "batch": lambda: request_bytes("POST", "/v1/streams/a?batch=1", [*JSON_FIELDS, *extra],
                                               b"[1,2,3]"),
                "bad": lambda: post_bytes(b"{", request_id=name),
                "replay": lambda: request_bytes("GET", "/v1/streams/a?live=false", extra),
                "method": lambda: request_bytes("PATCH", "/v1/streams/a", extra),
            }[kind]())
        conn.send(b"".join(requests))
        wanted = {"post": 201, "get": 200, "none": 404, "head": 200, "batch": 201, "bad": 400,
                  "replay": 200, "method": 405}
        for i in range(90):
            kind = kinds[i % len(kinds)]
            answer = conn.answer("HEAD" if kind == "head" else "GET")
            equal(answer.field("x-request-id"), f"r{i}")
            equal(answer.status, wanted[kind], kind)
            if kind == "replay":
                expect(answer.body.count(b"\n\n") >= 5 * (i // len(kinds)), "what was appended before")


@case
def pipeline_of_thousands_is_answered():
    with Server() as server, Crowd() as crowd:
        answers = []
        writer = Writer(crowd, server.port, lambda w, token, status, body: answers.append((token, status)))
        for i in range(5000):
            writer.append(i, "a", to_json(i))
        crowd.run(lambda: len(answers) == 5000, "all are answered")
        equal(answers, [(i, 201) for i in range(5000)])
        equal(values_of(server.replay("a")), list(range(5000)))


@case
def pipeline_may_arrive_byte_by_byte():
    with Server() as server, server.connect() as conn:
        data = post_bytes(b'"x"') + request_bytes("GET", "/healthz") + post_bytes(b"[1]")
        for i in range(len(data)):
            conn.send(data[i:i + 1])
        equal([conn.answer().status for _ in range(3)], [201, 200, 201])


@case
def answers_that_nobody_reads_stop_the_reading_of_requests():
    """A client that only sends may not fill the server's memory."""
    with Server() as server, server.connect(receive_bytes=4096) as conn:
        server.healthy()
        before = server.rss_bytes()
        conn.sock.settimeout(2)
        request = request_bytes("GET", "/metrics")
        n_sent = 0
        try:
            while n_sent < 64 * MEBIBYTE:
                conn.send(request * 1000)
                n_sent += len(request) * 1000
        except socket.timeout:
            pass
        server.healthy()
        server.expect_grown_less(before, 24 * MEBIBYTE, f"{n_sent} bytes of requests sent")


# ---- bodies ----

@case
def chunked_body_may_be_cut_anywhere():
    body = b'4;x=y\r\n{"a"\r\n3\r\n:[1\r\n1\r\n,\r\n5\r\n2]}  \r\n0\r\nX: y\r\n\r\n'
    head = request_bytes("POST", "/v1/streams/a", [*JSON_FIELDS, ("Transfer-Encoding", "chunked")])
    data = head + body
    with Server() as server, server.connect() as conn:
        for cut in range(1, len(data)):
            conn.send(data[:cut])
            conn.send(data[cut:])
            equal(appended_id(conn.answer()), cut)
        equal(values_of(server.replay("a")), [{"a": [1, 2]}] * (len(data) - 1))


@case
def sized_body_may_be_cut_anywhere():
    data = post_bytes(b'{"a":[1,2]}')
    with Server() as server, server.connect() as conn:
        for cut in range(1, len(data)):
            conn.send(data[:cut])
            conn.send(data[cut:])
            equal(appended_id(conn.answer()), cut)


@case
def body_at_the_limit_is_taken_and_one_byte_more_is_not():
    with Server() as server:
        text = b'"' + b"x" * (BODY_BYTES - 2) + b'"'
        equal(appended_id(server.ask("POST", "/v1/streams/a", JSON_FIELDS, text)), 1)
        with server.connect() as conn:
            conn.send(request_bytes("POST", "/v1/streams/a", [*JSON_FIELDS, ("Transfer-Encoding", "chunked")])
                      + b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text))
            equal(appended_id(conn.answer()), 2, "in one chunk")
        answer = server.ask("POST", "/v1/streams/a", JSON_FIELDS, text + b" ")
        equal((answer.status, answer.error()), (413, "payload_too_large"))
        expect(answer.closes(), "Connection: close")


@case
def refusal_of_a_large_body_can_be_read_while_sending():
    """The client is still sending when it is refused; a reset must not eat the answer."""
    with Server() as server:
        for _ in range(5):
            with server.connect() as conn:
                conn.send(request_bytes("POST", "/v1/streams/a",
                                        [*JSON_FIELDS, ("Content-Length", 8 * MEBIBYTE)]))
                try:
                    for _ in range(8):
                        conn.send(b"x" * MEBIBYTE)
                except OSError:
                    pass
                answer = conn.answer()
                equal((answer.status, answer.error()), (413, "payload_too_large"))


@case
def expect_continue_is_answered_before_the_body():
    with Server() as server, server.connect() as conn:
        for _ in range(3):
            conn.send(post_bytes(None, fields=[("Expect", "100-continue"), ("Content-Length", "3")]))
            equal(conn.head().status, 100)
            expect(not conn.is_readable(), "more than 100 Continue")
            conn.send(b'"x"')
            equal(conn.answer().status, 201)
        conn.send(post_bytes(b'"y"', fields=[("Expect", "100-Continue")]))
        answer = conn.answer()
        equal(answer.status, 201, "with the body sent at once")
        expect(answer.interim in ([], [100]), "interim answers", answer.interim)


@case
def expect_continue_of_what_is_refused_is_not_answered_with_100():
    with Server() as server:
        cases = [
            ("POST", "/nothing", JSON_FIELDS, 3, 404),
            ("POST", "/v1/streams/a", JSON_FIELDS, BODY_BYTES + 1, 413),
        ]
        for method, target, fields, length, status in cases:
            with server.connect() as conn:
                conn.request(method, target,
                             [*fields, ("Expect", "100-continue"), ("Content-Length", length)])
                answer = conn.answer(method)
                equal(answer.status, status, target)
                if status == 413:
                    equal(answer.interim, [], f"{target} {status}")


@case
def http_1_0_gets_no_100_continue():
    with Server() as server, server.connect() as conn:
        conn.send(b"POST /v1/streams/a HTTP/1.0\r\nContent-Type: application/json\r\n"
                  b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n1")
        answer = conn.answer()
        equal((answer.status, answer.interim), (201, []))


# ---- methods and errors ----

@case
def head_is_get_without_the_body():
    with Server() as server, server.connect() as conn:
        server.append_all("a", [1, 2, 3])
        for target in ("/healthz", "/readyz", "/docs/errors"):
            get = conn.ask("GET", target)
            head = conn.ask("HEAD", target)
            equal(head.status, get.status, target)
            for name in ("content-type", "content-length"):
                equal(head.field(name), get.field(name), f"{name} of {target}")
        head = conn.ask("HEAD", "/nothing")
        equal(head.status, 404)
        expect(int(head.field("content-length")) > 0, "the length of an error")
        equal(conn.ask("HEAD", "/v1/streams/a").status, 200)
        equal(conn.ask("HEAD", "/v1/streams/none").status, 404)
        equal(conn.ask("GET", "/healthz").status, 200, "the connection afterwards")


@case
def state_of_a_stream_can_be_asked():
    with Server() as server:
        server.append_all("a", [1, 2, 3])
        head = server.ask("HEAD", "/v1/streams/a")
        equal(head.field("weir-last-id"), "3")
        answer = server.ask("GET", "/v1/streams/a", [("Accept", "application/json")])
        equal(answer.json(), {"name": "a", "last": 3, "sealed": False})
        answer = server.ask("GET", "/v1/streams/b", [("Accept", "application/json")])
        equal((answer.status, answer.error()), (404, "not_found"))


@case
def type_of_an_event_can_be_given():
    with Server() as server:
        answer = server.ask("POST", "/v1/streams/a?event=turn.started", JSON_FIELDS, b"{}")
        equal(appended_id(answer), 1)
        answer = server.ask("GET", "/v1/streams/a?live=false")
        equal(answer.body, b"id: 1\nevent: turn.started\ndata: {}\n\n")
        for bad in ("", "a%0ab", "a%20b", "x" * 65, "%C3%A9"):
            answer = server.ask("POST", f"/v1/streams/a?event={bad}", JSON_FIELDS, b"{}")
            equal((answer.status, answer.error()), (400, "invalid_field"), bad)


@case
def methods_that_are_not_known_get_405_and_allow():
    with Server() as server, server.connect() as conn:
        tables = [("/v1/streams/a", ("PUT", "PATCH"), STREAM_METHODS),
                  ("/healthz", ("POST", "PUT", "DELETE", "PATCH"), {"GET", "HEAD", "OPTIONS"})]
        for target, methods, allowed in tables:
            for method in methods:
                answer = conn.ask(method, target)
                equal((answer.status, answer.error()), (405, "method_not_allowed"), f"{method} {target}")
                equal(set(re.split(", *", answer.field("allow"))), allowed, "Allow")
        answer = conn.ask("BREW", "/v1/streams/a")
        expect(answer.status in (405, 501), "BREW", answer.status)


@case
def options_tell_what_is_allowed():
    with Server() as server, server.connect() as conn:
        answer = conn.ask("OPTIONS", "/v1/streams/a")
        equal(answer.status, 204)
        equal(set(re.split(", *", answer.field("allow"))), STREAM_METHODS)
        equal(conn.ask("OPTIONS", "*").status, 204)
        equal(conn.ask("OPTIONS", "/nothing").status, 404)
        equal(answer.field("access-control-allow-origin"), None, "without being asked for")


@case
def errors_have_one_shape_and_the_connection_goes_on():
    json_type = JSON_FIELDS
    table = [
        ("GET", "/nothing", [], None, 404, "not_found"),
        ("GET", "/v1/streams/", [], None, 404, "not_found"),
        ("GET", "/v1/streams/a/b", [], None, 404, "not_found"),
        ("PUT", "/healthz", [], b"x", 405, "method_not_allowed"),
        ("GET", "/v1/streams/a", [("Accept", "image/png")], None, 406, "not_acceptable"),
        ("POST", "/v1/streams/a", [("Content-Type", "text/plain")], b"1", 415, "unsupported_media_type"),
        ("POST", "/v1/streams/a", json_type, b"{", 400, "invalid_request"),
        ("POST", "/v1/streams/a", json_type, b"", 400, "invalid_request"),
        ("POST", "/v1/streams/a?batch=1", json_type, b"1", 400, "invalid_request"),
        ("POST", "/v1/streams/a?batch=x", json_type, b"[1]", 400, "invalid_field"),
        ("GET", "/v1/streams/a", [("Last-Event-ID", "x")], None, 400, "invalid_field"),
        ("GET", "/v1/streams/a", [("Last-Event-ID", "7")], None, 400, "invalid_field"),
        ("DELETE", "/v1/streams/a", [], None, 404, "not_found"),
    ]
    with Server() as server, server.connect() as conn:
        for method, target, fields, body, status, code in table:
            answer = conn.ask(method, target, fields, body)
            equal((answer.status, answer.error()), (status, code), f"{method} {target}")
            expect(not answer.closes(), f"{method} {target} closes")
        equal(appended_id(conn.ask("POST", "/v1/streams/a", json_type, b"1")), 1)


@case
def errors_that_close_have_the_shape_too():
    table = [
        (b"nonsense\r\n\r\n", 400, "invalid_request"),
        (request_bytes("GET", "/" + "x" * TARGET_BYTES), 414, "uri_too_long"),
        (request_bytes("GET", "/", [("X", "y" * HEAD_BYTES)]), 431, "header_too_large"),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, "http_version_not_supported"),
        (request_bytes("POST", "/v1/streams/a", [("Transfer-Encoding", "gzip")]), 501, "not_implemented"),
        (request_bytes("POST", "/v1/streams/a", [("Expect", "tea")], b"1"), 417, "expectation_failed"),
    ]
    with Server() as server:
        for data, status, code in table:
            with server.connect() as conn:
                conn.send(data)
                answer = conn.answer()
                equal((answer.status, answer.error()), (status, code), repr(data[:40]))
                expect(answer.closes(), f"{status} closes")
                conn.expect_end()


@case
def content_type_is_compared_as_media_types_are():
    with Server() as server:
        good = ["application/json", "Application/JSON; charset=utf-8", "application/problem+json"]
        # What a browser sends elsewhere without asking is taken from programs, not from pages.
        vague = [None, "", "application/x-www-form-urlencoded", "application/x-www-form-urlencoded;x=y"]
        bad = ["text/json", "application/jsonx", "multipart/form-data; boundary=x", "*/*", "text/plain"]
        for value in good + vague + bad:
            fields = [("Content-Type", value)] if value is not None else []
            answer = server.ask("POST", "/v1/streams/a", fields, b"1")
            equal(answer.status, 415 if value in bad else 201, f"Content-Type {value}")
            answer = server.ask("POST", "/v1/streams/a", [*fields, ("Origin", "https://evil.example")], b"1")
            equal(answer.status, 201 if value in good else 415, f"Content-Type {value} by a page")


@case
def a_page_whose_name_was_made_to_point_here_gets_nothing():
    names = {"localhost": 200, "LOCALHOST:1": 200, "a.localhost": 200, "127.0.0.1": 200, "127.9.9.9:80": 200,
             "[::1]": 200, "[::1]:80": 200, "evil.example": 403, "127.0.0.1.evil.example": 403,
             "localhost.evil.example": 403, "notlocalhost": 403, "[::2]": 403, "10.0.0.1": 403}
    with Server() as server:
        for name, status in names.items():
            with server.connect() as conn:
                conn.send(f"GET /v1/streams/a?live=false HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
                equal(conn.answer().status, status, name)


@case
def docs_url_leads_to_the_code():
    with Server() as server:
        error = server.ask("GET", "/nothing").json()["error"]
        path = re.sub(r"^https?://[^/]+", "", error["docs_url"]).split("#")[0]
        answer = server.ask("GET", path)
        equal(answer.status, 200)
        expect(error["code"] in answer.body.decode(), "the code on that page")


@case
def request_ids_are_taken_over_when_well_formed():
    with Server() as server, server.connect() as conn:
        for good in ("abc", "req_01J", "a-b_c.d", "x" * 64, "550e8400-e29b-41d4-a716-446655440000"):
            for target in ("/healthz", "/nothing"):
                answer = conn.ask("GET", target, [("X-Request-Id", good)])
                equal(answer.field("x-request-id"), good)
        made = set()
        for bad in ("", "a b", 'a"b', "<x>", "é", "x" * 2000, "a\tb"):
            answer = conn.ask("GET", "/nothing", [("X-Request-Id", bad)])
            answer.error()
            request_id = answer.field("x-request-id")
            expect(ULID.fullmatch(request_id), f"id made instead of {bad!r:.20}", request_id)
            made.add(request_id)
        equal(len(made), 7, "different ids")
        expect(ULID.fullmatch(conn.ask("GET", "/healthz").field("x-request-id")), "a made id")


# ---- CORS ----

@case
def other_origins_are_allowed_by_configuration():
    with Server("--cors-origin", "https://app.example,http://localhost:3000") as server, server.connect() as conn:
        preflight = [("Access-Control-Request-Method", "POST"),
                     ("Access-Control-Request-Headers", "content-type, authorization")]
        for origin, is_allowed in (("https://app.example", True), ("http://localhost:3000", True),
                                   ("https://evil.example", False), ("null", False),
                                   ("https://app.example.evil.example", False),
                                   ("http://app.example", False), ("https://app", False)):
            answer = conn.ask("OPTIONS", "/v1/streams/a", [("Origin", origin), *preflight])
            equal(answer.status, 204)
            wanted = origin if is_allowed else None
            equal(answer.field("access-control-allow-origin"), wanted, origin)
            expect("if-none-match" in answer.field("access-control-allow-headers").lower(), "allowed", answer.fields)
            exposed = " ".join(value for name, value in answer.fields if name == "access-control-expose-headers")
            equal("Stream-Next-Offset" in exposed and "Retry-After" in exposed, is_allowed, origin)
            answer = conn.ask("POST", "/v1/streams/a", [("Origin", origin), *JSON_FIELDS], b"1")
            equal(answer.status, 201)
            equal(answer.field("access-control-allow-origin"), wanted, origin)
            expect("origin" in (answer.field("vary") or "").lower(), "Vary: Origin", answer.fields)
            error = conn.ask("GET", "/nothing", [("Origin", origin)])
            equal(error.field("access-control-allow-origin"), wanted, f"an error to {origin}")
        with server.watch("a", fields=[("Origin", "https://app.example")]) as watch:
            equal(watch.opening.field("access-control-allow-origin"), "https://app.example")
    with Server("--cors-origin", "*") as server:
        answer = server.ask("GET", "/healthz", [("Origin", "https://any.example")])
        expect(answer.field("access-control-allow-origin") in ("*", "https://any.example"), "any origin",
               answer.fields)


# ---- slow and many ----

def expect_closed_in(conn, seconds, text):
    begin = time.monotonic()
    rest = conn.take_all()
    took = time.monotonic() - begin
    expect(took < seconds + 5 * max(1, WAIT_S / 30), f"{text}: closed after {took:.1f} s")
    return rest


@case
def heads_that_do_not_come_to_an_end_are_cut():
    with Server("--head-timeout", "1s") as server:
        begin = time.monotonic()
        with server.connect() as silent, server.connect() as half, server.connect() as slow:
            half.send(b"GET /healthz HTTP/1.1\r\nHost: local")
            # A byte now and then does not help: the whole head has to be there in time.
            slow.send(b"GET /healthz HTTP/1.1\r\nX: ")
            while time.monotonic() - begin < 20 and not slow.is_readable(0.1):
                try:
                    slow.send(b"y")
                except OSError:
                    break
            took = time.monotonic() - begin
            expect(0.5 < took < 15, f"the slow one was cut after {took:.1f} s")
            rest = expect_closed_in(half, 2, "half a head")
            expect(rest == b"" or rest.startswith(b"HTTP/1.1 408 "), "what it says", rest[:100])
            server.healthy()
            silent.close()


@case
def idle_connections_are_closed():
    with Server("--idle-timeout", "1s") as server, server.connect() as conn:
        equal(conn.ask("GET", "/healthz").status, 200)
        equal(expect_closed_in(conn, 2, "idle"), b"", "said before closing")


@case
def idle_time_does_not_end_event_streams():
    with Server("--idle-timeout", "1s", "--head-timeout", "1s") as server:
        with server.watch("a") as watch, server.connect() as idle:
            equal(idle.ask("GET", "/healthz").status, 200)
            expect_closed_in(idle, 2, "idle")
            server.append("a", 1)
            equal(watch.must_next(), (1, b"1"))


@case
def bodies_that_do_not_come_are_cut():
    with Server("--body-timeout", "1s") as server, server.connect() as conn:
        conn.send(post_bytes(None, fields=[("Content-Length", "1000")]) + b'"x')
        rest = expect_closed_in(conn, 2, "half a body")
        expect(rest == b"" or rest.startswith(b"HTTP/1.1 408 "), "what it says", rest[:100])
        equal(server.replay("a"), [])


@case
def answers_that_nobody_reads_are_cut():
    with Server("--write-timeout", "1s") as server, server.connect(receive_bytes=4096) as conn:
        conn.sock.settimeout(1)
        try:
            for _ in range(200):
                conn.send(request_bytes("GET", "/metrics") * 100)
        except OSError:
            pass
        wait_until(lambda: server.metric(r'weir_connections_closed_total\{reason="write_timeout"\}'),
                   "the connection was cut")


@case
def event_streams_that_nobody_reads_are_cut():
    with Server("--stall-timeout", "1s") as server:
        for _ in range(10):
            server.append("a", "x" * 900_000)
        with server.watch("a", receive_bytes=4096), server.watch("b") as waiting:
            wait_until(lambda: server.metric(r'weir_connections_closed_total\{reason="stall_timeout"\}'),
                       "the stalled one was cut")
            # Who has read everything is not stalled, however long nothing comes.
            server.append("b", 1)
            equal(waiting.must_next(), (1, b"1"))


@case
def connections_have_a_ceiling():
    with Server("--max-connections", "20") as server:
        conns = []
        try:
            for _ in range(20):
                conns.append(server.connect())
                equal(conns[-1].ask("GET", "/healthz").status, 200)
            for _ in range(10):
                with server.connect() as extra:
                    try:
                        extra.request("GET", "/healthz")
                    except OSError:
                        pass
                    rest = extra.take_all()
                    expect(rest == b"" or rest.startswith(b"HTTP/1.1 503 "), "one too many", rest[:100])
            for conn in conns:
                equal(conn.ask("GET", "/healthz").status, 200, "those that are there")
            conns.pop().close()
            wait_until(server.is_served, "there is room again")
        finally:
            for conn in conns:
                conn.close()


@case
def running_out_of_descriptors_stops_nobody():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))

    with Server() as server:
        server.stop()
        server.start(preexec_fn=few)
        equal(server.append("a", 1), 1)
        with server.watch("a") as watch, server.connect() as early:
            watch.must_next()
            equal(early.ask("GET", "/healthz").status, 200)
            held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(150)]
            # Whoever is connected is served; the others wait or are turned away.
            for i in range(2, 12):
                equal(appended_id(early.ask("POST", "/v1/streams/a", JSON_FIELDS, b"0")), i)
                equal(watch.must_next(), (i, b"0"))
            for sock in held:
                sock.close()
            wait_until(server.is_served, "there is room again")
            equal(server.append("a", 2), 12)
            equal(watch.must_next(), (12, b"2"))


@case
def thousand_idle_connections_cost_little():
    with Server() as server:
        server.healthy()
        before = server.rss_bytes()
        socks = []
        try:
            for _ in range(900):
                sock = socket.create_connection(("127.0.0.1", server.port))
                sock.sendall(request_bytes("GET", "/healthz"))
                socks.append(sock)
            for sock in socks:
                sock.settimeout(WAIT_S)
                expect(sock.recv(4096).startswith(b"HTTP/1.1 200"), "an answer")
            server.expect_grown_less(before, 900 * 4096, "900 idle connections")
        finally:
            for sock in socks:
                sock.close()


@case
def many_connections_come_and_go_without_leaving_anything():
    with Server() as server:
        equal(server.append("a", "first"), 1)
        n_before = server.n_descriptors()

        def visit():
            for i in range(60):
                with server.connect() as conn:
                    if i % 3 == 0:
                        conn.ask("POST", "/v1/streams/a", JSON_FIELDS, b"1")
                    elif i % 3 == 1:
                        conn.request("GET", "/v1/streams/a", [])
                        conn.head()
                    else:
                        conn.send(b"GET /he")

        threads = [threading.Thread(target=visit) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_until(lambda: server.n_descriptors() <= n_before, "the descriptors are closed")
        equal(server.append("a", "last"), 122)


if __name__ == "__main__":
    main()
