#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/durable.py [CASE...]

Durable Streams (/v1/stream/NAME) from outside, beyond what the public suite asks for: the npm
client through a server that is killed again and again; bytes that text cannot carry; odd names
and offsets; many who write at once; retries after a kill between the disk and the answer.
"""
import functools
import itertools
import json
import os
import random
import signal
import threading
import urllib.request

import packages
from support import (BODY_BYTES, MEBIBYTE, ROOT, WAIT_S, Closed, Failure, Lines, Server, Skip, case,
                     equal, expect, main, request_bytes, wait_until)

TEXT = "text/plain"
BYTES = "application/octet-stream"
JSON = "application/json"
N_KILLS = 6


def offset_of(number):
    return f"{0:016}_{number:016}"


def path_of(name):
    return f"/v1/stream/{name}"


def create(server, name, media_type=TEXT, fields=(), body=None):
    return server.ask("PUT", path_of(name), [("Content-Type", media_type), *fields], body)


def made(server, name, media_type=TEXT, fields=(), body=None):
    answer = create(server, name, media_type, fields, body)
    equal(answer.status, 201, f"making {name} ({answer.body[:200]!r})")
    return answer


def append(server, name, body, media_type=TEXT, fields=()):
    return server.ask("POST", path_of(name), [("Content-Type", media_type), *fields], body)


def appended(server, name, body, media_type=TEXT, fields=()):
    answer = append(server, name, body, media_type, fields)
    expect(answer.status in (200, 204), f"an append to {name}", answer.status, answer.body)
    return answer.field("stream-next-offset")


def producer(name, epoch, seq):
    return [("Producer-Id", name), ("Producer-Epoch", epoch), ("Producer-Seq", seq)]


def read(server, name, query=""):
    """One catch-up read."""
    return server.ask("GET", path_of(name) + query)


def read_all(server, name):
    """Everything, piece by piece from the offsets that are told; bytes, or values of JSON."""
    offset, whole, values = "-1", b"", []
    while True:
        answer = read(server, name, f"?offset={offset}")
        equal(answer.status, 200, f"reading {name} from {offset} ({answer.body[:200]!r})")
        if answer.field("content-type").startswith(JSON):
            values += answer.json()
        whole += answer.body
        offset = answer.field("stream-next-offset")
        if answer.field("stream-up-to-date") == "true":
            return values if answer.field("content-type").startswith(JSON) else whole


# ---- the npm client ----

@functools.cache
def folder_or_why():
    try:
        return packages.install(ROOT / "tests" / "serve" / "durable", "test-durable"), ""
    except Skip as why:
        return None, str(why)


class Client(Lines):
    """client.mjs; its lines are kept as they come, by a thread of its own."""

    def __init__(self, *words):
        folder, why = folder_or_why()
        if folder is None:
            raise Skip(why)
        super().__init__("node", "client.mjs", *words, cwd=folder)
        self.lines = []
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self):
        for line in self.child.stdout:
            self.lines.append(json.loads(line))

    def has(self, key):
        return any(key in line for line in list(self.lines))

    def sent(self):
        return max([line["sent"] for line in list(self.lines) if "sent" in line], default=0)

    def items(self):
        return [item for line in list(self.lines) for item in line.get("items", [])]

    def offset(self):
        return [line["offset"] for line in list(self.lines) if "items" in line][-1]

    def wait_for(self, key):
        def is_over():
            expect(not self.has("error"), "the client said", [x for x in self.lines if "error" in x])
            if self.child.poll() is not None and not self.has(key):
                raise Failure(f"the client ended: {self.child.stderr.read()[-600:]!r}")
            return self.has(key)
        wait_until(is_over, f"the client says {key}", WAIT_S * 3)


def check_items(items, counts, text):
    """Of each producer all, once, in order; the producers may mingle."""
    for name, count in counts.items():
        equal([item["i"] for item in items if item["p"] == name], list(range(count)),
              f"{text}, of {name}")
    equal(len(items), sum(counts.values()), text)


@case
def npm_client_appends_tails_and_resumes_through_kills():
    counts = {"one": 300, "two": 200}
    with Server() as server:
        made(server, "a", JSON)
        url = server.url(path_of("a"))
        with Client("tail", url, "sse", "-1") as by_sse, \
             Client("tail", url, "long-poll", "-1") as by_poll, \
             Client("produce", url, "one", "300") as one, \
             Client("produce", url, "two", "200") as two:
            for kill in range(1, N_KILLS + 1):
                goal = kill * 500 // (N_KILLS + 2)
                wait_until(lambda: one.sent() + two.sent() >= goal, f"{goal} were sent", WAIT_S * 2)
                server.kill()
                server.start()
            one.wait_for("done")
            two.wait_for("done")
            wait_until(lambda: len(by_sse.items()) >= 100, "a hundred events were seen")
            middle = by_sse.lines[len(by_sse.lines) // 2]
            with Client("tail", url, "sse", by_sse.offset()) as late:
                answer = server.ask("POST", path_of("a"), [("Stream-Closed", "true")], b"")
                equal(answer.status, 204, "closing")
                for client, name in ((by_sse, "sse"), (by_poll, "long-poll")):
                    client.wait_for("closed")
                    check_items(client.items(), counts, name)
                late.wait_for("closed")
        values = read_all(server, "a")
        check_items(values, counts, "in the store")
        equal(by_sse.items(), values, "what was watched is what is there")
        equal(by_poll.items(), values, "and by long poll")
        if "items" in middle:
            rest = read(server, "a", f"?offset={middle['offset']}").json()
            equal(rest, values[len(values) - len(rest):], "from an offset in the middle")


@case
def npm_client_appends_text():
    with Server() as server:
        made(server, "a")
        with Client("append", server.url(path_of("a")), "one", "zwei\n", "\u4e09") as client:
            client.wait_for("done")
        equal(read_all(server, "a"), "onezwei\n\u4e09".encode())


# ---- bytes ----

ODD_TEXTS = [b"\xff\xfe", b"a\r\nb", b"\r", b"a\0b", b"\0", b"\xc3", b"\xed\xa0\x80", b"\n", b"\n\n",
             b"ends\n", b" leads", b"data: x\n\nid: 9\n", b"event: base64\ndata: AAAA", b":", b"\xef\xbb\xbfbom",
             "\u2028\u2029\x85".encode(), bytes(range(256))]


@case
def text_comes_back_byte_for_byte():
    with Server() as server:
        made(server, "text")
        made(server, "bytes", BYTES)
        for text in ODD_TEXTS:
            appended(server, "text", text)
            appended(server, "bytes", text, BYTES)
        for _ in range(2):
            equal(read_all(server, "text"), b"".join(ODD_TEXTS), "text")
            equal(read_all(server, "bytes"), b"".join(ODD_TEXTS), "bytes")
            server.restart(signal.SIGKILL)
        for number, text in enumerate(ODD_TEXTS):
            answer = read(server, "text", f"?offset={offset_of(number)}")
            expect(answer.body.startswith(text), "from each offset", number, answer.body[:40])


@case
def random_bytes_come_back():
    dice = random.Random(7)
    with Server() as server:
        made(server, "a", BYTES)
        parts = [dice.randbytes(dice.choice([1, 2, 3, 100, 5000, 60000])) for _ in range(40)]
        for part in parts:
            appended(server, "a", part, BYTES)
        equal(read_all(server, "a"), b"".join(parts))
        server.restart(signal.SIGKILL)
        equal(read_all(server, "a"), b"".join(parts))


@case
def json_values_are_told_apart_and_line_ends_do_no_harm():
    with Server() as server:
        made(server, "a", JSON)
        appended(server, "a", b'{\r\n "a" :\n [1,\n2]\n}', JSON)
        appended(server, "a", b'[1, [2, 3], "x\\n", null]', JSON)
        equal(read_all(server, "a"), [{"a": [1, 2]}, 1, [2, 3], "x\n", None])
        for bad in (b"", b"{", b"[]", b"nul", b'"\xff"', b"1 2", b"[1,]"):
            answer = append(server, "a", bad, JSON)
            equal(answer.status, 400, f"{bad!r}")
            answer.error()
        equal(len(read_all(server, "a")), 5)


@case
def a_body_that_is_too_large_is_refused_and_the_next_request_is_heard():
    with Server() as server:
        made(server, "a", BYTES)
        for size in (BODY_BYTES + 1, 10 * MEBIBYTE):
            with server.connect() as conn:
                head = request_bytes("POST", path_of("a"),
                                     [("Content-Type", BYTES), ("Content-Length", size)])
                conn.send(head)
                try:
                    conn.send(b"x" * size)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # it was told already, and need not listen
                answer = conn.answer("POST")
                equal(answer.status, 413, f"{size} bytes")
                answer.error()
                if answer.closes():
                    conn.take_all()
                else:
                    equal(conn.ask("HEAD", path_of("a")).status, 200, "the next on this connection")
        appended(server, "a", b"y", BYTES)
        equal(read_all(server, "a"), b"y")


@case
def the_largest_body_is_taken():
    with Server() as server:
        body = os.urandom(BODY_BYTES)
        made(server, "a", BYTES)
        appended(server, "a", body, BYTES)
        equal(read_all(server, "a") == body, True, "bytes")
        made(server, "t", TEXT)
        appended(server, "t", b"\r" * BODY_BYTES)
        equal(read_all(server, "t") == b"\r" * BODY_BYTES, True, "text that is kept as bytes")
        made(server, "l", TEXT)
        appended(server, "l", b"\n" * BODY_BYTES)
        equal(read_all(server, "l") == b"\n" * BODY_BYTES, True, "text of nothing but lines")


@case
def readers_that_stall_hold_no_stream_in_memory():
    """A stream of 48 MB and 200 who ask for all of it and read nothing for a while."""
    with Server() as server:
        made(server, "a", BYTES)
        block = os.urandom(BODY_BYTES // 2)
        with server.connect() as conn:
            for number in range(96):
                body = number.to_bytes(8, "big") + block
                answer = conn.ask("POST", path_of("a"), [("Content-Type", BYTES)], body)
                equal(answer.status, 204)

        def read_whole():
            with urllib.request.urlopen(server.url(path_of("a")), timeout=WAIT_S) as answer:
                return answer.read()
        wanted = b"".join(number.to_bytes(8, "big") + block for number in range(96))
        expect(read_whole() == wanted, "all of it")
        before = server.rss_bytes()
        conns = [server.connect(receive_bytes=16384) for _ in range(200)]
        try:
            for conn in conns:
                conn.request("GET", path_of("a"))
            for conn in conns:
                equal(conn.head().status, 200)
            server.expect_grown_less(before, 96 * MEBIBYTE, "200 readers of 48 MB")
            expect(read_whole() == wanted, "all of it, beside them")
        finally:
            for conn in conns:
                conn.close()


# ---- names ----

@case
def names_are_what_their_escapes_say():
    same = [("a/b/c", "a/b/c"), ("a%2Fb", "a/b"), ("%C3%A4", "\u00e4"), ("a%20b", "a b"), ("a%2525", "a%25"),
            ("plus+", "plus+"), ("x/../y", "x/../y"), ("semi;colon", "semi;colon"), ("%61", "a")]
    with Server() as server:
        for number, (escaped, _) in enumerate(same):
            made(server, escaped)
            appended(server, escaped, b"%d" % number)
        for number, (escaped, _) in enumerate(same):
            equal(read_all(server, escaped), b"%d" % number, escaped)
        equal(read_all(server, "a/b"), b"1", "%2F is a slash")
        equal(read_all(server, "a"), b"8", "%61 is a")
        for bad in ("", "%", "%zz", "%00", "a%0Ab", "%FF", "%7F", "n" * 201, "%C2%85"):
            answer = create(server, bad)
            expect(answer.status in (400, 404, 405), bad, answer.status)
        equal(create(server, "n" * 200).status, 201, "the longest")


@case
def a_name_made_again_is_another_stream():
    with Server() as server:
        for life in range(4):
            made(server, "a", TEXT if life % 2 else BYTES)
            media_type = TEXT if life % 2 else BYTES
            for seq in range(3):
                appended(server, "a", b"%d" % life, media_type, producer("me", 0, seq))
            equal(read_all(server, "a"), b"%d" % life * 3)
            if life == 1:
                server.restart(signal.SIGKILL)
            equal(server.ask("DELETE", path_of("a")).status, 204)
            equal(read(server, "a").status, 404)
            equal(append(server, "a", b"x", media_type).status, 404)
            if life == 2:
                server.restart(signal.SIGKILL)


# ---- offsets ----

@case
def offsets_lie_within_the_stream():
    with Server("--poll-timeout", "1s") as server:
        made(server, "a")
        equal(appended(server, "a", b"one"), offset_of(1))
        equal(appended(server, "a", b"two"), offset_of(2))
        answer = read(server, "a", f"?offset={offset_of(1)}")
        equal((answer.body, answer.field("stream-next-offset")), (b"two", offset_of(2)))
        answer = read(server, "a", f"?offset={offset_of(2)}")
        equal((answer.status, answer.body), (200, b""), "at the end")
        equal(answer.field("stream-up-to-date"), "true")
        answer = read(server, "a", "?offset=now")
        equal((answer.body, answer.field("stream-next-offset")), (b"", offset_of(2)))
        for bad in (offset_of(3), offset_of(9999999999999999), f"{1:016}_{1:016}", "x", "", "1", "-2",
                    "0_0", f"{0:016}_{1:016}x", "%00", f"{offset_of(1)}&offset={offset_of(2)}"):
            answer = read(server, "a", f"?offset={bad}")
            equal(answer.status, 400, f"offset {bad!r}")
            answer.error()
        answer = read(server, "a", f"?offset={offset_of(2)}&live=long-poll")
        equal(answer.status, 204, "a long poll at the end")
        equal(answer.field("stream-next-offset"), offset_of(2))


# ---- producers ----

@case
def a_retry_after_a_kill_is_counted_once():
    """Whether the kill came before or after the commit: the same request again settles it."""
    with Server() as server:
        made(server, "a", TEXT)
        n_lost = 0
        for seq in range(40):
            body = b"<%d>" % seq
            request = request_bytes("POST", path_of("a"), [("Content-Type", TEXT), *producer("me", 0, seq)],
                                    body)
            conn = server.connect()
            conn.send(request)
            if seq % 4 == 3:
                server.kill()  # the answer may be under way, or not even the event on the disk
                try:
                    conn.answer("POST")
                except (Closed, OSError):
                    n_lost += 1
                server.start()
            else:
                equal(conn.answer("POST").status, 200)
            conn.close()
            answer = append(server, "a", body, TEXT, producer("me", 0, seq))
            expect(answer.status in (200, 204), "again", answer.status, answer.body)
            equal(answer.field("producer-seq"), str(seq))
            equal(append(server, "a", body, TEXT, producer("me", 0, seq)).status, 204, "and again")
        equal(read_all(server, "a"), b"".join(b"<%d>" % seq for seq in range(40)))
        expect(n_lost > 0, "no answer was lost, so nothing was tried")


@case
def one_producer_in_two_places_is_fenced():
    with Server() as server:
        made(server, "a")
        appended(server, "a", b"old0", TEXT, producer("me", 1, 0))
        appended(server, "a", b"new0", TEXT, producer("me", 2, 0))
        answer = append(server, "a", b"old1", TEXT, producer("me", 1, 1))
        equal((answer.status, answer.field("producer-epoch")), (403, "2"))
        answer = append(server, "a", b"new2", TEXT, producer("me", 2, 2))
        equal((answer.status, answer.field("producer-expected-seq")), (409, "1"))
        equal(read_all(server, "a"), b"old0new0")


def at_once(*functions):
    """Runs them at once; the first failure is ours."""
    problems = []

    def run(function):
        try:
            function()
        except Exception as problem:
            problems.append(problem)
    threads = [threading.Thread(target=run, args=(each,)) for each in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S * 2)
        expect(not thread.is_alive(), "somebody is still waiting")
    if problems:
        raise problems[0]


@case
def producers_that_race_lose_nothing():
    with Server() as server:
        made(server, "a", JSON)

        def produce(name, says_twice):
            with server.connect() as conn:
                for seq in range(200):
                    fields = [("Content-Type", JSON), *producer(name, 0, seq)]
                    for _ in range(1 + says_twice):
                        answer = conn.ask("POST", path_of("a"), fields, b'{"p":"%s","i":%d}' %
                                          (name.encode(), seq))
                        expect(answer.status in (200, 204), name, answer.status, answer.body)
        at_once(lambda: produce("one", False), lambda: produce("two", True),
                lambda: produce("three", False))
        check_items(read_all(server, "a"), {"one": 200, "two": 200, "three": 200}, "all")


@case
def the_same_producer_twice_at_once_is_one():
    with Server() as server:
        made(server, "a", JSON)
        n_new = []

        def produce():
            with server.connect() as conn:
                for seq in range(150):
                    fields = [("Content-Type", JSON), *producer("me", 0, seq)]
                    answer = conn.ask("POST", path_of("a"), fields, b"%d" % seq)
                    expect(answer.status in (200, 204), seq, answer.status, answer.body)
                    if answer.status == 200:
                        n_new.append(seq)
        at_once(produce, produce, produce)
        equal(read_all(server, "a"), list(range(150)))
        equal(sorted(n_new), list(range(150)), "each was new to one of them")


@case
def nothing_comes_behind_a_close():
    with Server() as server:
        for number in range(10):
            name = f"a{number}"
            made(server, name)
            n_taken = []

            def write(stream=name, taken=n_taken):
                with server.connect() as conn:
                    while True:
                        answer = conn.ask("POST", path_of(stream), [("Content-Type", TEXT)], b"x")
                        if answer.status == 409:
                            equal(answer.field("stream-closed"), "true")
                            return
                        equal(answer.status, 204)
                        taken.append(1)

            def close(stream=name, taken=n_taken):
                wait_until(lambda: len(taken) >= 10, "some were appended")
                answer = server.ask("POST", path_of(stream), [("Content-Type", TEXT),
                                                              ("Stream-Closed", "true")], b"end")
                equal(answer.status, 204)
            at_once(write, write, close)
            equal(read_all(server, name), b"x" * len(n_taken) + b"end", "the close has the last word")


@case
def streams_are_made_once():
    with Server() as server:
        statuses = []

        def make():
            with server.connect() as conn:
                for number in range(50):
                    answer = conn.ask("PUT", path_of(f"a{number}"), [("Content-Type", TEXT)], b"first")
                    statuses.append(answer.status)
        at_once(make, make, make)
        equal((statuses.count(201), statuses.count(200)), (50, 100))
        for number in range(50):
            equal(read_all(server, f"a{number}"), b"first")


# ---- readers that are in the way of something ----

def filled(server, name, n_megabytes=12):
    made(server, name, JSON)
    for number in range(n_megabytes):
        appended(server, name, b'"%s"' % (b"%02d" % number * 500000), JSON)


def slow_read(server, name):
    """A connection that has the head of all there is, and some of the body at most."""
    conn = server.connect(receive_bytes=4096)
    conn.request("GET", path_of(name))
    answer = conn.head()
    equal((answer.status, answer.field("stream-up-to-date")), (200, "true"))
    return conn


@case
def a_body_is_whole_though_the_server_goes_down():
    with Server() as server:
        filled(server, "a")
        with slow_read(server, "a") as conn:
            server.send_signal(signal.SIGTERM)
            wait_until(lambda: not server.is_served(), "it goes down")
            body = b"".join(iter(conn.chunk, b""))
            equal(len(json.loads(body)), 12)
        equal(server.wait(), 0)


@case
def a_body_is_whole_though_its_reader_has_no_more_to_say():
    with Server() as server:
        filled(server, "a")
        with slow_read(server, "a") as conn:
            conn.end_sending()
            body = b"".join(iter(conn.chunk, b""))
            equal(len(json.loads(body)), 12)
            conn.expect_end()
        with server.connect(receive_bytes=4096) as conn:
            conn.send(request_bytes("GET", path_of("a"), version="1.0"))
            equal(conn.head().status, 200)
            conn.end_sending()
            equal(len(json.loads(conn.take_all())), 12)


@case
def a_body_whose_stream_is_deleted_does_not_look_whole():
    with Server() as server:
        filled(server, "a")
        with slow_read(server, "a") as conn:
            equal(server.ask("DELETE", path_of("a")).status, 204)
            try:
                list(iter(conn.chunk, b""))
            except Closed:
                return
            raise Failure("the body ended as if it were whole")


@case
def readers_that_leave_before_their_answer_do_no_harm():
    with Server("--access-log", os.devnull) as server:
        n_looks = itertools.count()

        def n_others():
            """Requests that were not for this number."""
            return server.metric("weir_requests_total") - next(n_looks)
        filled(server, "a")
        # What is asked has to wait for the store's threads, which copy.
        forks = [server.connect() for _ in range(4)]
        for number, conn in enumerate(forks):
            conn.request("PUT", path_of(f"f{number}"), [("Stream-Forked-From", path_of("a"))])
        for target in ("%6e" * 200, "a", "a?offset=now", "a?offset=now&live=sse"):
            for method in ("GET", "HEAD"):
                before = n_others()
                conn = server.connect()
                conn.request(method, path_of(target))
                wait_until(lambda n=before: n_others() > n, "the server has read it")
                conn.reset()
        for conn in forks:
            equal(conn.answer("PUT").status, 201)
        equal(read(server, "f3").body == read(server, "a").body, True, "the last one")


def longer_and_longer(is_so):
    """Whoever was too slow to meet a fork under way tries it with a longer one."""
    for megabytes in (30, 120, 480):
        with Server() as server:
            filled(server, "a", megabytes)
            if is_so(server):
                return
    raise Failure("a fork of half a gigabyte was faster")


@case
def readers_do_not_wait_for_long_forks():
    def reads_first(server):
        forks = [server.connect() for _ in range(4)]
        for number, conn in enumerate(forks):
            conn.request("PUT", path_of(f"f{number}"), [("Stream-Forked-From", path_of("a"))])
        wait_until(lambda: server.metric("weir_requests_in_flight") > 4 or any(conn.is_readable() for conn in forks),
                   "all forks are under way")
        equal(read(server, "a", "?offset=now").status, 200)
        is_first = not any(conn.is_readable() for conn in forks)
        for conn in forks:
            equal(conn.answer("PUT").status, 201)
        return is_first
    longer_and_longer(reads_first)


@case
def a_long_fork_that_is_there_tells_its_end():
    with Server() as server:
        filled(server, "a", 8)
        fields = [("Stream-Forked-From", path_of("a"))]
        for status in (201, 200):
            answer = server.ask("PUT", path_of("f"), fields, b"[1]")
            equal((answer.status, answer.field("stream-next-offset")), (status, offset_of(9)))


@case
def a_long_fork_whose_source_is_deleted_leaves_nothing():
    def deletes_first(server):
        before = server.metric("weir_store_events_total")
        with server.connect() as conn:
            conn.request("PUT", path_of("f"), [("Stream-Forked-From", path_of("a"))])
            wait_until(lambda: server.metric("weir_store_events_total") > before, "it copies")
            equal(server.ask("DELETE", path_of("a")).status, 204)
            answer = conn.answer("PUT")
        if answer.status == 201:
            return False
        equal(answer.status, 409)
        equal(create(server, "a").status, 201, "the name of the source is free")
        equal(create(server, "f").status, 201, "and that of the fork")
        return True
    longer_and_longer(deletes_first)


@case
def a_reader_of_the_old_protocol_is_told_once_that_it_is_closed():
    with Server() as server:
        made(server, "a", TEXT, [("Stream-Closed", "true")], b"all")
        with server.connect() as conn:
            conn.send(request_bytes("GET", path_of("a") + "?offset=-1&live=sse", version="1.0"))
            equal(conn.head().status, 200)
            text = conn.take_all()
            equal((text.count(b"data:all"), text.count(b"streamClosed")), (1, 1))


@case
def a_long_poll_beyond_the_end_is_refused_at_once():
    with Server("--poll-timeout", "100s") as server:
        made(server, "a", TEXT)
        answer = read(server, "a", f"?live=long-poll&offset={offset_of(7)}")
        equal(answer.status, 400)


@case
def the_largest_body_there_may_be_is_taken_and_read():
    with Server("--max-body", "4193280") as server:
        made(server, "a", TEXT, (), b"\r" * 3100000)
        with server.connect() as conn:
            conn.request("GET", path_of("a") + "?offset=-1&live=sse")
            equal(conn.head().status, 200)
            equal(conn.chunk().count(b"data:\n"), 3100001)
        answer = create(server, "b", TEXT, [("Stream-Forked-From", path_of("a"))], b"x" * 4193280)
        equal((answer.status, answer.field("stream-next-offset")), (201, offset_of(2)))


@case
def an_expired_stream_that_comes_back_is_a_conflict():
    with Server() as server:
        def make():
            with server.connect() as conn:
                for _ in range(150):
                    fields = [("Content-Type", TEXT), ("Stream-Expires-At", "2020-01-01T00:00:00Z")]
                    expect(conn.ask("PUT", path_of("a"), fields).status in (201, 409))
        at_once(make, make, make, make)


@case
def a_fork_inherits_the_longest_type():
    with Server() as server:
        media_type = "text/plain; x=" + "y" * 186
        made(server, "a", media_type, (), b"all")
        answer = server.ask("PUT", path_of("b"), [("Stream-Forked-From", path_of("a"))])
        equal((answer.status, answer.field("content-type")), (201, media_type))


# ---- two views ----

@case
def both_views_show_the_same_events():
    with Server() as server:
        made(server, "a", JSON)
        appended(server, "a", b'[{"n":1},{"n":2}]', JSON)
        server.append("a", {"n": 3})
        equal(read_all(server, "a"), [{"n": 1}, {"n": 2}, {"n": 3}])
        equal([json.loads(data) for _, data in server.replay("a")], [{"n": 1}, {"n": 2}, {"n": 3}])
        server.append("b", [1, 2])
        equal(read_all(server, "b"), [[1, 2]], "a log of our own view is a stream of JSON")
        equal(append(server, "b", b"7", JSON).status, 204)
        equal([json.loads(data) for _, data in server.replay("b")], [[1, 2], 7])
        equal(server.ask("DELETE", path_of("b")).status, 204)
        equal(server.replay("b"), [], "it is gone from both")


if __name__ == "__main__":
    main()
