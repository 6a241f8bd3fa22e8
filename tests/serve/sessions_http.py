#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/sessions_http.py [CASE]...

Sessions as HTTP: every failure of a call in the form of calls, nobody finds out what others have,
cookies and whose page shows them, where a stream begins, its gap, its end, and bodies of people who
mean no good. What is said in sessions is in sessions.py.
"""
import json
import re
import ssl
import tempfile
import threading

from session_support import SessionServer, read_until
from support import (
    JSON_FIELDS, Server, Watch, bearer, case, equal, expect, ids_of, main, make_certificate, make_key, needs_one,
    refused, request_bytes, to_json, told, wait_until, weir,
)

NOBODY = "ses_01J00000000000000000000000"
CODES = {
    400: "BAD_REQUEST", 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND", 405: "METHOD_NOT_SUPPORTED", 408: "TIMEOUT",
    409: "CONFLICT", 413: "PAYLOAD_TOO_LARGE", 415: "UNSUPPORTED_MEDIA_TYPE", 422: "UNPROCESSABLE_CONTENT",
    429: "TOO_MANY_REQUESTS", 503: "SERVICE_UNAVAILABLE",
    # Clients have no name for these.
    414: "BAD_REQUEST", 417: "BAD_REQUEST", 431: "BAD_REQUEST",
}
HELLO = {"clientId": "tab", "text": "Hello"}
OWN = [("Origin", "http://localhost")]
EVIL = [("Origin", "http://evil.example")]


def envelope(answer, status, text="", field=None):
    """The error of a call, whole and in its one form."""
    equal(answer.status, status, f"status ({answer.body[:300]!r})")
    equal(answer.field("content-type"), "application/json", "Content-Type")
    expect(answer.field("x-request-id"), "X-Request-Id")
    shape = answer.json()
    equal(list(shape), ["json"], "members")
    error = shape["json"]
    equal(sorted(error), ["code", "data", "defined", "message", "status"], "members of the error")
    equal((error["defined"], error["code"], error["status"]), (False, CODES[status], status), "the error")
    expect(error["message"] and text in error["message"], f"{text!r} in the message", error)
    equal(error["data"], {"field": field} if field else None, "data")
    return error


def post(server, path, body=None, fields=(), **options):
    return server.ask("POST", path, [*JSON_FIELDS, *fields], b"" if body is None else body, **options)


def call_bytes(value):
    return to_json({"json": value})


# ---- failures of calls ----

@case
def what_no_method_has_seen_fails_in_the_form_of_calls_too():
    with SessionServer(None, "--cors-origin", "https://a.example", is_open=False) as server:
        key = make_key(server)
        reads = make_key(server, "--scopes", "read")
        writes = make_key(server, "--scopes", "write")
        some = make_key(server, "--prefix", "a/")
        slow = make_key(server, "--rate", "1/m", "--burst", "1")
        hello = call_bytes(HELLO)
        answer = post(server, "/rpc/chat/send", hello)
        envelope(answer, 401)
        expect(answer.field("www-authenticate").startswith("Bearer"), "WWW-Authenticate")
        envelope(post(server, "/rpc/chat/send", hello, bearer("weir_000000000000_" + "A" * 43)), 401)
        envelope(post(server, "/rpc/chat/send", hello, [("Authorization", "Basic YTpi")]), 401)
        envelope(post(server, "/rpc/chat/send", hello, bearer(reads)), 403)
        envelope(post(server, "/rpc/sessions/list", b"", bearer(writes)), 403)
        envelope(post(server, "/rpc/chat/send", hello, bearer(some)), 403, "for some streams only")
        equal(post(server, "/rpc/sessions/list", b"", bearer(reads)).status, 200, "reading")
        equal(post(server, "/rpc/chat/send", hello, bearer(writes)).status, 200, "writing")
        for path in ("/rpc/chat/nothing", "/rpc/nothing/send", "/rpc/chat", "/rpc/", "/rpc/chat/send/more", "/rpc/Chat/send",
                     "/rpc/%2e%2e/send"):
            envelope(post(server, path, hello, bearer(key)), 404)
        for path in ("/rpc/chat/send%00", "/rpc/chat/send%zz"):
            envelope(post(server, path, hello, bearer(key)), 400)
        for method in ("GET", "PUT", "DELETE", "PATCH"):
            answer = server.ask(method, "/rpc/chat/send", bearer(key))
            envelope(answer, 405)
            equal(answer.field("allow"), "POST, OPTIONS", "Allow")
        answer = server.ask("OPTIONS", "/rpc/chat/send", [("Origin", "https://a.example"), ("Access-Control-Request-Method", "POST")])
        equal((answer.status, answer.field("access-control-allow-origin")), (204, "https://a.example"), "OPTIONS")
        answer = post(server, "/rpc/chat/send", b"{", [*bearer(key), ("Origin", "https://a.example")])
        envelope(answer, 400)
        equal(answer.field("access-control-allow-origin"), "https://a.example", "other origins may read why")
        equal(post(server, "/rpc/sessions/list", b"", bearer(slow)).status, 200, "the first")
        told(lambda: post(server, "/rpc/sessions/list", b"", bearer(slow)).status, 429)
        answer = post(server, "/rpc/sessions/list", b"", bearer(slow))
        envelope(answer, 429)
        expect(int(answer.field("retry-after")) > 0, "Retry-After")


@case
def bodies_that_are_no_input_are_refused():
    with SessionServer(None, "--max-body", "64K", "--body-timeout", "300ms") as server:
        for body in (b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"{}{}", b'{"json":{}', b'{"json":{"a":"\xff"}}', b"\0",
                     b"[" * 5000, b'{"json":' * 2000, b"text"):
            envelope(post(server, "/rpc/chat/send", body), 400)
        for body in ({"json": 1}, {"json": None}, {"json": []}, {"json": "x"}, {"jsn": {}}, {"clientId": "c", "text": "x"},
                     {"meta": [], "more": 1}):
            envelope(post(server, "/rpc/chat/send", to_json(body)), 400, "json")
        # For methods that need none: nothing, or what clients write for that.
        for body in (b"", b"{}", b'{"json":{}}', b'{"meta":[]}', b'{"json":{},"meta":[["a"]]}'):
            equal(post(server, "/rpc/sessions/list", body).status, 200, repr(body))
            envelope(post(server, "/rpc/chat/send", body), 400, "clientId is missing", "clientId")
        answer = server.ask("POST", "/rpc/chat/send", [("Content-Type", "text/plain")], call_bytes(HELLO))
        envelope(answer, 415)
        page = [("Content-Type", "application/x-www-form-urlencoded"), *EVIL]
        envelope(server.ask("POST", "/rpc/chat/send", page, call_bytes(HELLO)), 415)
        envelope(post(server, "/rpc/chat/send", b"x" * (64 << 10) + b"x"), 413)
        chunked = [*JSON_FIELDS, ("Transfer-Encoding", "chunked")]
        with server.connect() as conn:
            conn.send(request_bytes("POST", "/rpc/chat/send", chunked) + b"20000\r\n" + b"x" * 0x20000)
            envelope(conn.answer("POST"), 413)
        with server.connect() as conn:
            conn.send(request_bytes("POST", "/rpc/chat/send", [*JSON_FIELDS, ("Content-Length", "10")]) + b"{")
            envelope(conn.answer("POST"), 408)
        server.healthy()


@case
def heads_that_cannot_be_read_fail_in_the_form_of_calls_too():
    with SessionServer(None, "--head-timeout", "300ms") as server:
        begin = "POST /rpc/sessions/list HTTP/1.1\r\n"
        host = "Host: localhost\r\n"
        for text, status in (
                (begin + host + "Expect: foo\r\n\r\n", 417), (begin + host + "Content-Length: x\r\n\r\n", 400), (begin + "\r\n", 400),
                ("\r\n" + begin + host + "a b: c\r\n\r\n", 400), (begin + host + "X: " + "x" * 70_000 + "\r\n\r\n", 431),
                ("POST /rpc/" + "x" * 20_000 + " HTTP/1.1\r\n" + host + "\r\n", 414), (begin + host, 408)):
            with server.connect() as conn:
                conn.send(text.encode())
                envelope(conn.answer("POST"), status)
        for text in ("GET /rpcs HTTP/1.1\r\n\r\n", "/rpc/ POST HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n\r\n\r\n\r\n", "x" * 40 + " /rpc/a HTTP/1.1\r\n\r\n"):
            with server.connect() as conn:
                conn.send(text.encode())
                expect("error" in conn.answer("GET").json(), "the form of everything else", text)
        server.healthy()


@case
def the_member_at_fault_is_named():
    with SessionServer() as server:
        session, _ = server.send("Hello")
        envelope(server.call("cron/create", {"schedule": "x", "text": "t"}), 400, "schedule", "schedule")
        envelope(server.call("chat/send", {**HELLO, "text": "x" * (256 << 10) + "x"}), 413, "text", "text")
        envelope(server.call("chat/steer", {"sessionId": session, "text": "x" * (8 << 10) + "x"}), 413, "text", "text")
        envelope(server.call("cron/create", {"schedule": "@daily", "text": "x" * (32 << 10) + "x"}), 400, "text", "text")
        envelope(server.call("cron/create", {"schedule": "@daily", "text": "x", "name": "x" * 201}), 400, "name", "name")
        envelope(server.call("tools/deny", {"approvalId": "ap_no", "clientId": "c", "reason": "x" * 2049}), 400, "reason", "reason")
        envelope(server.call("chat/send", {**HELLO, "dryRun": True}), 422, "dryRun", "dryRun")
        envelope(server.call("chat/send", {**HELLO, "attachments": [1]}), 422, "attachments", "attachments")
        envelope(server.call("sessions/list", {"x" + "\u00e4" * 40: 1}), 400, "x\u00e4", "x" + "\u00e4" * 31)
        # As curl sends it, from no page.
        form = [("Content-Type", "application/x-www-form-urlencoded")]
        equal(server.ask("POST", "/rpc/sessions/list", form, call_bytes({})).status, 200, "the type that curl has")


@case
def a_disk_that_fails_is_told_in_the_form_of_calls():
    needs_one("whose disk fails")
    with SessionServer(env={"WEIR_FAULT": "sync:60+"}) as server:
        answers = []

        def is_refused():
            answers.append(server.call("sessions/create"))
            return answers[-1].status != 200

        wait_until(is_refused, "the disk fails")
        envelope(answers[-1], 503)
        expect(int(answers[-1].field("retry-after")) > 0, "Retry-After")


@case
def inputs_of_ten_thousand_lines_and_worse_do_no_harm():
    with SessionServer() as server:
        lines = "\n".join("x" * 8 for _ in range(10_000))
        session, _ = server.send(lines)
        expect(session.startswith("ses_"), "a message of 10,000 lines is one", session)
        member = {f"m{number}": number for number in range(10_000)}
        equal(server.call("chat/send", {**HELLO, **member}).status, 200, "members that chat/send ignores")
        error = envelope(server.call("sessions/get", {"id": session, **member}), 400, "m0", "m0")
        expect(len(error["message"]) < 300, "a short sentence", error)
        name = 'a"\\\n\u2028' + "\u00e4" * 2000
        body = server.call("sessions/get", {"id": session, name: 1})
        equal(body.status, 400, "a member whose name is a book")
        expect(json.loads(body.body)["json"]["data"]["field"].startswith('a"\\\n'), "and is quoted as it is", body.body)
        for text in ("", "\0", "x" * (300 << 10)):
            expect(server.call("chat/send", {"clientId": "c", "text": text}).status in (400, 413), "a text", text[:3])
        for value in (1, None, True, [], {}, 1e308, ["x"]):
            envelope(server.call("chat/send", {"clientId": "c", "text": value}), 400, "text", "text")
            envelope(server.call("chat/send", {"clientId": value, "text": "x"}), 400, "clientId", "clientId")
            envelope(server.call("sessions/get", {"id": value}), 400, "id", "id")
        for session in ("ses_", "x" * 30, "ses_" + "x" * 26, "../../etc/passwd", "ses_01J0000000000000000000000\0", "trn_" + "0" * 26):
            answer = server.call("sessions/get", {"id": session})
            expect(answer.status in (400, 404), "an id that cannot be", session, answer.status)
            envelope(answer, answer.status, field="id" if answer.status == 400 else None)
        server.healthy()


@case
def messages_are_shown_however_long_their_escapes_are():
    with SessionServer() as server:
        session, _ = server.send("Hello")
        text = "\x01" * 170_000
        for _ in range(19):
            server.send(text, session)
        wait_until(lambda: server.must("sessions/list", {})["sessions"][0]["state"] == "idle", "all have run")
        got = server.must("sessions/get", {"id": session})
        mine = [message["content"] for message in got["messages"] if message["role"] == "user"]
        expect(10 < len(mine) < 20 and set(mine) == {text}, "the newest", len(mine))
        expect(got["leftOut"] >= 20 - len(mine), "it is said that there are more", got["leftOut"], len(mine))
        other, _ = server.send("Hello")
        expect("leftOut" not in server.must("sessions/get", {"id": other}), "nothing is left out")


@case
def a_search_is_cut_into_pages_by_what_it_reads():
    with SessionServer() as server:
        first, _ = server.send("Begin\n" + "x" * 200_000 + " the Needle")
        server.whole(first, "done")
        for _ in range(11):
            session, _ = server.send("Begin\n" + "x" * 200_000)
            server.whole(session, "done")
        pages, found, cursor = 0, [], {}
        while True:
            page = server.must("sessions/list", {"q": "THE needle", **cursor})
            pages += 1
            found += [session["id"] for session in page["sessions"]]
            if page["nextCursor"] is None:
                break
            cursor = {"cursor": page["nextCursor"]}
        equal(found, [first], "what was found, once")
        expect(2 <= pages <= 6, "pages", pages)
        shown = weir("session", "list", "--search", "the needle", "--json", "--url", server.url())
        expect(shown.returncode == 0 and first.encode() in shown.stdout, "the command turns pages, too", shown)
        equal(len(server.must("sessions/list", {"q": "begin"})["sessions"]), 12, "titles cost nothing")


# ---- others' things ----

def same_but_for_its_id(one, two):
    """Byte by byte; ids of requests have one length."""
    strip = lambda answer: re.sub(rb"req_[0-9A-Z]{26}", b"", answer.body)
    equal((one.status, strip(one)), (two.status, strip(two)), "what is somebody else's and what is not there")
    names = lambda answer: [name for name, _ in answer.fields]
    equal(names(one), names(two), "fields")


@case
def what_is_somebody_elses_is_as_if_it_were_not():
    with SessionServer(is_open=False) as server:
        ann, bob = (make_key(server, "--owner", owner) for owner in ("ann", "bob"))
        session, _ = server.send("Mine", key=ann)
        gone, _ = server.send("Gone", key=ann)
        server.must("sessions/delete", {"id": gone}, ann)
        equal(server.must("sessions/list", {}, bob)["sessions"], [], "bob's sessions")
        methods = [("sessions/get", "id", {}), ("sessions/fork", "id", {}), ("sessions/update", "id", {"title": "x"}),
                   ("sessions/pin", "id", {}), ("sessions/unpin", "id", {}), ("sessions/delete", "id", {}),
                   ("chat/send", "sessionId", HELLO), ("chat/abort", "sessionId", {}), ("chat/steer", "sessionId", {"text": "x"}),
                   ("cron/create", "sessionId", {"schedule": "0 0 * * *", "text": "x"}),
                   ("tools/listPending", "sessionId", {}), ("clarify/listPending", "sessionId", {})]
        for method, member, more in methods:
            wanted = server.call(method, {member: NOBODY, **more}, bob)
            envelope(wanted, 404)
            same_but_for_its_id(server.call(method, {member: session, **more}, bob), wanted)
            same_but_for_its_id(server.call(method, {member: gone, **more}, bob), wanted)
            same_but_for_its_id(server.call(method, {member: gone, **more}, ann), wanted)
        with server.stream(NOBODY, fields=bearer(bob)) as stream:
            wanted = stream.refusal()
            refused(wanted, 404, "not_found")
        for which, key in ((session, bob), (gone, bob), (gone, ann), ("ses_no", ann), ("%2e%2e", ann)):
            with server.stream(which, fields=bearer(key)) as stream:
                same_but_for_its_id(stream.refusal(), wanted)
        same_but_for_its_id(server.ask("GET", f"/sse/sessions/{session}?protocol=0", bearer(bob)), wanted)
        equal(server.call("sessions/get", {"id": session}, ann).status, 200, "it is there for its owner")


@case
def shortcuts_of_somebody_else_are_not_there():
    with SessionServer(is_open=False) as server:
        ann, bob = (make_key(server, "--owner", owner) for owner in ("ann", "bob"))
        session = None
        for number in (3, 4, 5):
            session, _ = server.send(f"Tell me a story about {number} rivers.", session, key=ann)
        wait_until(lambda: server.must("skills/list", {}, ann)["skills"], "a shortcut is proposed")
        [skill] = server.must("skills/list", {}, ann)["skills"]
        for method in ("skills/accept", "skills/reject"):
            wanted = server.call(method, {"id": "skl_01J00000000000000000000000"}, bob)
            envelope(wanted, 404)
            same_but_for_its_id(server.call(method, {"id": skill["id"]}, bob), wanted)
        equal(server.must("skills/list", {}, ann)["skills"], [skill], "nothing has happened to it")
        for name in ("steer", "queue", "abort", "cancel", "new", "help", "quit"):
            envelope(server.call("skills/accept", {"id": skill["id"], "name": name}, ann), 400, f"/{name} is a command", "name")
        equal(server.must("skills/accept", {"id": skill["id"], "name": "news"}, ann)["skill"]["name"], "news")


# ---- cookies ----

def cookie_of(answer):
    field = answer.field("set-cookie")
    match = re.fullmatch(r"(__Host-)?weir_session=([A-Za-z0-9._-]*); HttpOnly; SameSite=Strict; Path=/; Max-Age=(\d+)(; Secure)?",
                         field or "")
    expect(match and bool(match.group(1)) == bool(match.group(4)), "Set-Cookie", field)
    return match.group(2), int(match.group(3)), bool(match.group(4))


def log_in(server, key, **options):
    answer = server.ask("POST", "/auth/session", bearer(key), b"", **options)
    equal(answer.status, 200, f"logging in ({answer.body!r})")
    return [("Cookie", f"weir_session={cookie_of(answer)[0]}")]


def log_in_briefly(server):
    """By a key that will expire soon: made again, with more time, if it was late."""
    for seconds in (1, 4, 16, 64):
        key = make_key(server, "--expires", f"{seconds}s")
        answer = server.ask("POST", "/auth/session", bearer(key), b"")
        if answer.status == 200:
            return [("Cookie", f"weir_session={cookie_of(answer)[0]}")]
    raise Failure("a key that lasts a minute lets nobody in")


def whose(server, fields):
    answer = server.ask("GET", "/auth/session", fields)
    return answer.json()["owner"] if answer.status == 200 else answer.status


@case
def a_key_becomes_a_cookie():
    with SessionServer(is_open=False) as server:
        key = make_key(server, "--owner", "ann", "--scopes", "read")
        answer = post(server, "/auth/session", to_json({"apiKey": key}))
        equal(answer.status, 200, repr(answer.body))
        value, lasts_s, is_secure = cookie_of(answer)
        equal((answer.field("cache-control"), is_secure), ("no-store", False))
        body = answer.json()
        equal((body["owner"], body["scopes"]), ("ann", ["read"]))
        expect(604_000 < lasts_s <= 604_800 and body["expiresAt"].endswith("Z"), "seven days", lasts_s, body)
        expect(key not in value and key[18:] not in answer.body.decode(), "the key stays where it was")
        cookie = [("Cookie", f"a=b; weir_session={value}; c=d")]
        equal(server.ask("GET", "/auth/session", cookie).json(), body, "who is logged in")
        equal(server.ask("GET", "/v1/whoami", cookie).json()["access"], "cookie", "whoami")
        expect(key not in server.errors(), "the key in the log")
        # What is wrong with it.
        nobodys = key[:5] + "".join(reversed(key[5:17])) + key[17:]
        for fields, body, status in (
                ([], b"", 401), ([], to_json({"apiKey": nobodys}), 401), (bearer("weir_no"), b"", 401), ([], to_json({"apiKey": "weir_no"}), 401),
                ([], to_json({"apiKey": ""}), 401), ([], to_json({"apiKey": 7}), 400), ([], to_json({"apiKey": key, "x": 1}), 400),
                ([], b"{}", 400), ([], b"{", 400), ([], b"[]", 400), (cookie, b"", 401), (EVIL, to_json({"apiKey": key}), 403),
                ([*EVIL, *bearer(key)], b"", 403), ([("Origin", "null"), *bearer(key)], b"", 403)):
            answer = post(server, "/auth/session", body, fields)
            equal((answer.status, answer.field("set-cookie")), (status, None), repr((fields, body)))
        equal(post(server, "/auth/session", to_json({"apiKey": key}), OWN).status, 200, "a page of our own")
        refused(server.ask("POST", "/auth/session", [("Content-Type", "text/plain")], to_json({"apiKey": key})), 415,
                "unsupported_media_type")
    with SessionServer() as server:
        answer = server.ask("POST", "/auth/session", [], b"")
        equal((answer.status, answer.field("set-cookie")), (200, None), "without keys there is nothing to log in to")
        equal(answer.json(), {"owner": "me", "scopes": ["read", "write", "admin"], "expiresAt": None})


@case
def whose_page_asks_does_not_depend_on_how_the_bytes_come():
    with SessionServer(is_open=False) as server:
        key = make_key(server, "--owner", "ann")
        body = to_json({"apiKey": key})
        for origin, status in (("http://localhost", 200), ("http://evil.example", 403), (f"http://{key[:9]}", 403)):
            text = request_bytes("POST", "/auth/session", [*JSON_FIELDS, ("Origin", origin)], body)
            # Not before the first piece was read: it is asked for the rest.
            text = text.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n", 1)
            head = text.index(b"\r\n\r\n") + 4
            with server.connect() as conn:
                conn.send(text[:head])
                interim = b""
                while not interim.endswith(b"\r\n\r\n"):
                    byte = conn.sock.recv(1)
                    expect(byte, "the server has closed", interim)
                    interim += byte
                expect(interim.startswith(b"HTTP/1.1 100 "), "go on", interim)
                conn.send(text[head:])
                equal(conn.answer("POST").status, status, f"{origin}, the body later")


@case
def with_a_cookie_only_our_own_page_changes_something():
    with SessionServer(None, "--public-url", "https://streams.example", is_open=False) as server:
        key = make_key(server, "--owner", "ann")
        answer = server.ask("POST", "/auth/session", bearer(key), b"")
        value, _, is_secure = cookie_of(answer)
        expect(is_secure, "Secure, for it is public by https")
        cookie = [("Cookie", f"__Host-weir_session={value}")]
        equal((whose(server, cookie), whose(server, [("Cookie", f"weir_session={value}")])), ("ann", 401), "by the name that is safe")
        session, _ = server.send("Hello", key=key)
        good = ("http://localhost", "http://localhost:80", "HTTP://LOCALHOST", "https://streams.example", "https://streams.example:443")
        bad = ("http://evil.example", "https://localhost", "http://localhost:8081", "http://sub.localhost", "http://localhost.evil",
               "null", "", "localhost", "http://streams.example", "https://streams.example.evil", "https://a.streams.example")
        changes = [("POST", "/rpc/sessions/list", b"{}"), ("POST", "/v1/streams/a", b"1"), ("DELETE", "/v1/streams/none", None),
                   ("PATCH", "/v1/memory/none", b"{}"), ("PUT", "/v1/stream/b", b""), ("DELETE", "/v1/memory/none", None)]
        for method, path, body in changes:
            for origin in good:
                answer = server.ask(method, path, [*cookie, *JSON_FIELDS, ("Origin", origin)], body)
                expect(answer.status not in (401, 403), "our own page", method, path, origin, answer.status)
            others = [*([("Origin", origin)] for origin in bad), [], [("Referer", "http://localhost/")],
                      [("Sec-Fetch-Site", "same-origin")], [("Sec-Fetch-Site", "none")]]
            for fields in others:
                answer = server.ask(method, path, [*cookie, *JSON_FIELDS, *fields], body)
                expect(answer.status == 403 and b"CSRF" in answer.body, "another page", method, path, fields, answer.status)
                # With the key itself nobody asks: a browser does not add that.
                answer = server.ask(method, path, [*bearer(key), *cookie, *JSON_FIELDS, *fields], body)
                expect(answer.status not in (401, 403), "with a key", method, path, fields, answer.status)
        # Behind a proxy that ends TLS the host is the public one, and plain HTTP is not ours.
        for host in ("streams.example", "streams.example:443", "Streams.Example"):
            for origin, status in (("https://streams.example", 200), ("http://streams.example", 403), ("http://streams.example:443", 403)):
                with server.connect() as conn:
                    fields = [*cookie, *JSON_FIELDS, ("Origin", origin)]
                    text = request_bytes("POST", "/rpc/sessions/list", fields, b"{}")
                    conn.send(text.replace(b"Host: localhost", f"Host: {host}".encode()))
                    equal(conn.answer("POST").status, status, f"{host} {origin}")
        for path in ("/auth/session", "/v1/whoami", "/v1/memory", f"/sse/sessions/{session}?protocol=0", "/metrics"):
            for fields in ([], EVIL):
                equal(server.ask("GET", path, [*cookie, *fields]).status, 200, path)
        answer = server.ask("GET", "/v1/memory", [*cookie, *EVIL])
        equal(answer.field("access-control-allow-credentials"), None, "no other page reads with it")


@case
def a_cookie_ends_by_logging_out_with_its_key_or_by_any_byte():
    with SessionServer(is_open=False) as server:
        admin = make_key(server, "--owner", "root", "--scopes", "admin")
        key = make_key(server, "--owner", "ann")
        one, two = log_in(server, key), log_in(server, key)
        equal((whose(server, one), whose(server, two), whose(server, [])), ("ann", "ann", 401))
        # A wrong one is not as good as none, also where a key is in the address; a key goes before.
        value = one[0][1].removeprefix("weir_session=")
        for index in range(0, len(value), 7):
            other = value[:index] + ("a" if value[index] != "a" else "b") + value[index + 1:]
            answer = server.ask("GET", "/auth/session", [("Cookie", f"weir_session={other}")])
            refused(answer, 401, "invalid_token")
            equal(cookie_of(answer)[:2], ("", 0), "the browser forgets it")
        for other in ("", "1", value[:-1], value + "A", "weir_session", key):
            equal(whose(server, [("Cookie", f"weir_session={other}")]), 401, other)
        equal(whose(server, [("Cookie", "weir_session=x"), *bearer(key)]), "ann", "a key goes before")
        equal(whose(server, [*one, ("Authorization", "Basic YTpi")]), 401, "and a bad one, too")
        equal(whose(server, [*one, *bearer("weir_no")]), 401)
        # Over a restart, and a crash.
        server.restart()
        equal((whose(server, one), whose(server, two)), ("ann", "ann"))
        equal(server.ask("DELETE", "/auth/session", one).status, 403, "logging out is a change, too")
        answer = server.ask("DELETE", "/auth/session", [*one, *OWN])
        equal((answer.status, cookie_of(answer)[:2]), (204, ("", 0)), "logging out")
        equal(told(lambda: (whose(server, one), whose(server, two)), (401, "ann")), (401, "ann"))
        server.kill()
        server.start()
        equal((whose(server, one), whose(server, two)), (401, "ann"))
        # By a key one logs out what is shown beside it.
        equal(server.ask("DELETE", "/auth/session", [*two, *bearer(key)]).status, 204)
        equal(told(lambda: whose(server, two), 401), 401)
        equal(server.ask("DELETE", "/auth/session", bearer(key)).status, 204, "nothing to log out")
        # With its key, at once, also what is over the wire already.
        three = log_in(server, key)
        name = key.split("_")[1]
        equal(server.ask("DELETE", f"/v1/keys/{name}", bearer(admin)).status, 204)
        equal(told(lambda: (whose(server, three), whose(server, bearer(key))), (401, 401)), (401, 401))
        four = log_in_briefly(server)
        wait_until(lambda: whose(server, four) == 401, "the cookie of a key that lasts a second has ended")


@case
def of_several_cookies_the_first_good_one_counts():
    with SessionServer(is_open=False) as server:
        ann, bob = (log_in(server, make_key(server, "--owner", owner))[0][1] for owner in ("ann", "bob"))
        bad = "weir_session=bad"
        broken = ann[:-1] + ("a" if ann[-1] != "a" else "b")
        for fields, owner in (
                ([f"{bad}; {ann}"], "ann"), ([f"{ann}; {bad}"], "ann"), ([f"{broken}; x=y; {bob}; {ann}"], "bob"), (["a=b", ann], "ann"),
                ([bad, "a=b", f"weir_session=; {ann}"], "ann"), ([bad, broken], 401), (["; ".join([bad] * 200), ann], "ann")):
            equal(whose(server, [("Cookie", field) for field in fields]), owner, repr(fields))
        # Logging out takes back the one that counted.
        both = [("Cookie", f"{bad}; {ann}"), ("Cookie", bob)]
        equal(server.ask("DELETE", "/auth/session", [*both, *OWN]).status, 204)
        equal(told(lambda: whose(server, [("Cookie", ann)]), 401), 401)
        equal((whose(server, [("Cookie", bob)]), whose(server, both)), ("bob", "bob"))
        # A bad cookie is as good as none where nobody has to show anything.
        equal(server.ask("GET", "/healthz", [("Cookie", bad)]).status, 200)
    with SessionServer() as server:
        equal(whose(server, [("Cookie", bad)]), "me")


@case
def a_cookie_is_worth_what_its_key_is():
    with SessionServer(is_open=False) as server:
        reads = log_in(server, make_key(server, "--scopes", "read"))
        some = log_in(server, make_key(server, "--prefix", "a/"))
        slow = make_key(server, "--rate", "1/m", "--burst", "3")
        envelope(post(server, "/rpc/chat/send", call_bytes(HELLO), [*reads, *OWN]), 403)
        equal(post(server, "/rpc/sessions/list", b"", [*reads, *OWN]).status, 200)
        equal(post(server, "/v1/streams/a%2Fb", b"1", [*some, *OWN]).status, 201, "its streams")
        equal(post(server, "/v1/streams/b", b"1", [*some, *OWN]).status, 403, "others")
        equal(server.ask("GET", "/v1/keys", reads).status, 403, "no admin")
        cookie = log_in(server, slow)
        seen = [server.ask("GET", "/auth/session", cookie).status for _ in range(4)]
        equal(seen[:2], [200, 200], "the rate is the key's")
        if Server.n_nodes == 1:  # of several, each lets its part pass before it asks the others
            equal(seen[2:], [429, 429], "the rate is the key's")
        told(lambda: server.ask("GET", "/auth/session", cookie).status, 429)
        equal(server.ask("GET", "/auth/session", bearer(slow)).status, 429, "of both together")


@case
def a_cookie_over_tls_is_secure_and_its_origin_https():
    with tempfile.TemporaryDirectory() as folder:
        cert, secret = make_certificate(folder)
        tls = ssl.create_default_context(cafile=cert)
        with SessionServer(None, "--tls-cert", cert, "--tls-key", secret, is_open=False) as server:
            key = make_key(server)
            answer = server.ask("POST", "/auth/session", bearer(key), b"", tls=tls)
            value, _, is_secure = cookie_of(answer)
            expect(is_secure, "Secure")
            cookie = [("Cookie", f"__Host-weir_session={value}"), *JSON_FIELDS]
            for origin, status in (("https://localhost", 200), ("https://localhost:443", 200), ("http://localhost", 403)):
                fields = [*cookie, ("Origin", origin)]
                equal(server.ask("POST", "/rpc/sessions/list", fields, b"{}", tls=tls).status, status, origin)


# ---- the stream ----

def session_with_turns(server, n=1, key=None):
    """A session whose last turn has ended, and all its events."""
    session, _ = server.send("Hello", key=key)
    for _ in range(n - 1):
        server.send("And again", session, key)
    return session, server.whole(session, ("done", "error"), n, key)


def open_stream(server, session, header=None, query=None, fields=()):
    target = f"/sse/sessions/{session}" + ("" if query is None else f"?lastEventId={query}")
    header_fields = [] if header is None else [("Last-Event-ID", header)]
    return Watch(server, target, [*header_fields, *fields])


@case
def a_stream_goes_on_where_it_was_by_header_and_by_query():
    with SessionServer() as server:
        session, events = session_with_turns(server)
        last = events[-1][0]
        equal([number for number, _ in events], list(range(1, last + 1)), "ids")
        places = [(None, 1), ("", 1), ("0", 1), ("00", 1), *((str(at), at + 1) for at in range(1, last))]
        for value, first in places:
            for header, query in ((value, None), (None, value), (value, "3"), (value, "x"), ("", value)):
                if header is None and query is None:
                    query = ""
                if value in (None, "") and query in ("3", "x"):
                    continue
                with open_stream(server, session, header, query) as stream:
                    equal(stream.opening.status, 200, f"{header!r} {query!r}")
                    equal(stream.opening.field("x-weir-gap"), None, "nothing is missing")
                    seen = read_until(stream, ("done", "error"))
                    equal(seen, events[first - 1:], f"{header!r} {query!r}")
        for value in ("x", "-1", "1.5", "1e3", "+1", "0x1", " 1 2", "9" * 40 + "x", "1;2", "\u0661"):
            for header, query in ((value, None), (None, "".join(f"%{byte:02X}" for byte in value.encode()))):
                with open_stream(server, session, header and header.encode().decode("latin-1"), query) as stream:
                    refused(stream.refusal(), 400, "invalid_field", "Last-Event-ID")
        with open_stream(server, session) as stream:
            opening = stream.opening
            equal((opening.field("content-type"), opening.field("cache-control"), opening.field("x-accel-buffering")),
                  ("text/event-stream", "no-cache", "no"), "the head")


@case
def the_bytes_are_id_data_and_an_empty_line():
    with SessionServer() as server:
        session, events = session_with_turns(server)
        with server.connect() as conn:
            conn.send(request_bytes("GET", f"/sse/sessions/{session}", version="1.0"))
            conn.head()
            wire = conn.take_until(b'"type":"done"') + conn.unread
        frames = wire.split(b"\n\n")[:len(events) - 1]
        for (number, event), frame in zip(events, frames):
            match = re.fullmatch(rb"id: ([0-9]+)\ndata: (\{[^\r\n]*\})", frame)
            expect(match, "a frame", frame)
            equal((int(match.group(1)), json.loads(match.group(2))), (number, event))
        expect(b"retry" not in wire.split(b"\n\n")[0] and b"event:" not in frames[0] and b"\r" not in wire, "nothing else")


@case
def beyond_the_newest_event_a_stream_is_live():
    with SessionServer() as server:
        session, events = session_with_turns(server)
        last = events[-1][0]
        streams = [open_stream(server, session, query=str(value)) for value in (
            last, last + 1, last + 1000, 2 ** 62, 2 ** 63 - 2, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1, 2 ** 64, 10 ** 60, f"{last:060}")]
        server.send("More", session)
        for stream in streams:
            seen = read_until(stream, ("done", "error"))
            equal(seen[0][0], last + 1, "what comes from now on")
            stream.close()


@case
def an_older_protocol_is_told_to_upgrade_and_no_more():
    with SessionServer() as server:
        session, events = session_with_turns(server)
        wanted = b'id: %d\ndata: {"type":"protocol.upgrade_required","serverVersion":"1","clientVersionExpected":"1"}\n\n'
        for fields, query, at in (([], "?protocol=0", 0), ([("X-Protocol-Version", "0")], "", 0), ([], "?protocol=00", 0),
                                  ([("X-Protocol-Version", "0")], "?protocol=1", 0), ([], "?protocol=0&lastEventId=3", 3),
                                  ([("Last-Event-ID", "2")], "?protocol=0&lastEventId=3", 2)):
            answer = server.ask("GET", f"/sse/sessions/{session}{query}", fields)
            equal((answer.status, answer.field("content-type"), answer.body), (200, "text/event-stream", wanted % at), query)
        for query in ("?protocol=x", "?protocol=-1", "?protocol=1.0"):
            refused(server.ask("GET", f"/sse/sessions/{session}{query}"), 400, "invalid_field", "X-Protocol-Version")
        for query in ("", "&protocol=", "&protocol=1", "&protocol=2", "&protocol=99999", "&protocol=" + "9" * 30):
            with server.stream(session, query=query) as stream:
                equal(stream.must_next()[0], 1, query)
        refused(server.ask("GET", f"/sse/sessions/{NOBODY}?protocol=0"), 404, "not_found")


@case
def one_reader_that_leaves_takes_nobody_along():
    with SessionServer() as server:
        session, events = session_with_turns(server)
        last = events[-1][0]
        stays = open_stream(server, session, query=str(last))
        others = [open_stream(server, session, query=str(last)) for _ in range(8)]
        server.send("Hello", session)
        for index, other in enumerate(others):
            other.must_next()
            (other.reset if index % 2 else other.close)()
        seen = read_until(stays, ("done", "error"))
        equal(ids_of(seen), list(range(last + 1, last + 1 + len(seen))), "ids")
        equal(seen[-1][1]["type"], "done", "the turn went on")
        stays.close()


@case
def a_silent_stream_has_comment_lines():
    with SessionServer(None, "--session-heartbeat", "200ms") as server:
        session, events = session_with_turns(server)
        with server.connect() as conn:
            conn.send(request_bytes("GET", f"/sse/sessions/{session}?lastEventId={events[-1][0]}"))
            conn.head()
            for _ in range(5):
                chunk = conn.chunk()
                if server.n_nodes > 1 and b'"mesh.changed"' in chunk:
                    chunk = conn.chunk()  # only now the node has seen that there is another
                equal(chunk, b": hb\n\n", "a comment line")


@case
def a_deleted_session_ends_its_streams():
    with SessionServer() as server:
        session, events = session_with_turns(server)
        with open_stream(server, session) as stream:
            stream.events(len(events))
            server.must("sessions/delete", {"id": session})
            while stream.next() is not None:
                pass
        with open_stream(server, session) as stream:
            refused(stream.refusal(), 404, "not_found")
        envelope(server.call("chat/send", {**HELLO, "sessionId": session}), 404)


@case
def a_key_may_be_in_the_address_for_browsers():
    with SessionServer(is_open=False) as server:
        key = make_key(server)
        session, events = session_with_turns(server, key=key)
        for query in (f"&api_key={key}", f"&token={key}"):
            with server.stream(session, query=query) as stream:
                equal(stream.must_next()[0], 1)
        with server.stream(session, fields=log_in(server, key)) as stream:
            equal(stream.must_next()[0], 1, "by its cookie")
        for fields, query, code in (([], "", "missing_authorization"), ([], "&api_key=weir_no", "invalid_token"),
                                    ([("Cookie", "weir_session=no")], "", "invalid_token")):
            with server.stream(session, fields=fields, query=query) as stream:
                refused(stream.refusal(), 401, code)
        for options in (("--scopes", "write"), ("--prefix", "ses_")):
            with server.stream(session, fields=bearer(make_key(server, *options))) as stream:
                refused(stream.refusal(), 403, "forbidden")
        answer = post(server, f"/rpc/sessions/list?api_key={key}", b"")
        envelope(answer, 401)


@case
def a_reader_that_is_slow_gets_everything():
    with SessionServer() as server:
        session, _ = server.send("Hello")
        with server.stream(session, receive_bytes=4096) as slow:
            for _ in range(12):
                server.send("x" * 40_000, session)
            wanted = server.whole(session, ("done", "error"), 13)
            equal(read_until(slow, ("done", "error"), 13), wanted, "what it reads in the end")


@case
def old_events_are_missing_and_it_is_said():
    with SessionServer(None, "--session-keep-events", "10", "--session-keep", "1s", "--cors-origin", "https://a.example") as server:
        session, _ = session_with_turns(server)

        def gap():
            answer = server.call("chat/send", {"clientId": "tab", "text": "More", "sessionId": session})
            expect(answer.status in (200, 429), "it waits, or too many do", answer.status)
            with open_stream(server, session) as stream:
                value = stream.opening.field("x-weir-gap")
                first = stream.must_next()[0]
                return value and (value, first)

        value, first = wait_until(gap, "old events have gone")
        equal(value, f"1-{first - 1}", "the gap from the beginning")
        wait_until(lambda: not server.must("sessions/get", {"id": session})["session"]["queued"], "all have run")
        with open_stream(server, session, fields=[("Origin", "https://a.example")]) as stream:
            first = stream.must_next()[0]
            expect("X-Weir-Gap" in stream.opening.field("access-control-expose-headers"), "pages may read it")
        for at in (1, 2, first - 2, first - 1, first):
            for header, query in ((str(at), None), (None, str(at))):
                with open_stream(server, session, header, query) as stream:
                    oldest = stream.must_next()[0]
                    wanted = f"{at + 1}-{oldest - 1}" if at + 1 < oldest else None
                    equal(stream.opening.field("x-weir-gap"), wanted, f"from {at}")
                    expect(oldest >= first, "what has gone does not come back", oldest, first)
        server.restart()
        with open_stream(server, session, query="1") as stream:
            oldest = stream.must_next()[0]
            equal(stream.opening.field("x-weir-gap"), f"2-{oldest - 1}", "after a restart")


# ---- sent again ----

@case
def a_message_that_is_sent_again_is_one():
    with SessionServer(is_open=False) as server:
        ann, bob = make_key(server, "--owner", "ann"), make_key(server, "--owner", "bob")
        again = [*bearer(ann), ("Idempotency-Key", "k1")]
        first = post(server, "/rpc/chat/send", call_bytes(HELLO), again)
        equal((first.status, first.field("idempotent-replayed")), (200, None))
        second = post(server, "/rpc/chat/send", call_bytes(HELLO), again)
        equal((second.status, second.field("idempotent-replayed"), second.json()), (200, "true", first.json()))
        envelope(post(server, "/rpc/chat/send", call_bytes({**HELLO, "text": "Other"}), again), 409)
        other = post(server, "/rpc/chat/send", call_bytes(HELLO), [*bearer(bob), ("Idempotency-Key", "k1")])
        expect(other.json() != first.json(), "bob's is another")
        server.restart()
        equal(post(server, "/rpc/chat/send", call_bytes(HELLO), again).json(), first.json(), "after a restart")
        equal(len(server.must("sessions/list", {}, ann)["sessions"]), 1, "sessions of ann")
        for value in ("", "x" * 256, "a b", "\u00e4"):
            envelope(post(server, "/rpc/chat/send", call_bytes(HELLO), [*bearer(ann), ("Idempotency-Key", value)]), 400)
        # At the same instant it is one, too.
        answers = []
        both = [*bearer(ann), ("Idempotency-Key", "k3")]
        threads = [threading.Thread(target=lambda: answers.append(post(server, "/rpc/chat/send", call_bytes(HELLO), both)))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal({answer.body for answer in answers}, {answers[0].body}, "eight at once")
        equal(len(server.must("sessions/list", {}, ann)["sessions"]), 2, "sessions of ann")
        # What was refused may be sent again, rightly.
        wrong = post(server, "/rpc/chat/send", call_bytes({**HELLO, "sessionId": NOBODY}), [*bearer(ann), ("Idempotency-Key", "k2")])
        envelope(wrong, 404)
        equal(post(server, "/rpc/chat/send", call_bytes(HELLO), [*bearer(ann), ("Idempotency-Key", "k2")]).status, 200)


@case
def aborting_nothing_again_aborts_nothing():
    with SessionServer() as server:
        session = server.must("chat/send", HELLO)["sessionId"]
        wait_until(lambda: server.must("sessions/list", {})["sessions"][0]["state"] == "idle", "it has run")
        again = [("Idempotency-Key", "k1")]
        first = post(server, "/rpc/chat/abort", call_bytes({"sessionId": session}), again)
        equal((first.status, first.field("idempotent-replayed")), (200, None))
        second = post(server, "/rpc/chat/abort", call_bytes({"sessionId": session}), again)
        equal((second.status, second.field("idempotent-replayed"), second.json()), (200, "true", first.json()))


# ---- what there is ----

@case
def every_method_is_in_the_documents():
    with SessionServer() as server:
        document = server.ask("GET", "/openapi.json").json()
        methods = {row["path"]: row["scope"] for row in document["paths"]["/rpc/{space}/{method}"]["post"]["x-methods"]}
        wanted = {"chat": ("send", "abort", "steer"), "tools": ("approve", "deny", "catalog", "listPending"), "clarify": ("respond", "listPending"),
                  "sessions": ("list", "get", "create", "fork", "update", "pin", "unpin", "delete"), "cron": ("create", "list", "delete"),
                  "skills": ("list", "accept", "reject")}
        names = [f"/rpc/{space}/{name}" for space, all_names in wanted.items() for name in all_names]
        equal(sorted(methods), sorted(names), "methods")
        text = (server.ask("GET", "/llms.txt").body).decode()
        expect("/rpc/{space}/{method}" in text and "/sse/sessions/{id}" in text and "/auth/session" in text, "llms.txt")
        expect(server.metric("weir_sessions_sent_total") == 0, "metrics of sessions")
        server.send("Hello")
        equal(server.metric("weir_sessions_sent_total"), 1)


if __name__ == "__main__":
    main()
