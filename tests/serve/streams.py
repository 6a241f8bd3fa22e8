#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/streams.py [CASE...]

What appending and watching mean: ids, replay and live in one answer without gap or repeat,
resuming, deleting, batches, exact JSON, readers that stall, restarts.
"""
import json
import random
import resource
import signal
import socket
import threading
import urllib.parse

from crowd import Crowd, Reader, Writer
from support import (JSON_FIELDS, KIBIBYTE, MEBIBYTE, Failure, Server, Skip, appended_id,
                     batch_ids, case, equal, expect, ids_of, main, request_bytes, to_json,
                     needs_one, values_of, wait_until)

STALLED_BYTES = 64 * KIBIBYTE


# ---- ids and frames ----

@case
def appends_get_ids_from_1_on():
    with Server() as server:
        with server.connect() as conn:
            for number in range(1, 51):
                answer = conn.ask("POST", "/v1/streams/a", JSON_FIELDS, to_json({"n": number}))
                equal(appended_id(answer), number)
        equal(server.append("b", 1), 1, "another stream")
        equal(server.append_all("a", [1, 2, 3]), (51, 53))
        equal(server.append("a", 1), 54)
        equal(ids_of(server.replay("a")), list(range(1, 55)))


@case
def frames_are_an_id_line_a_data_line_and_an_empty_line():
    with Server() as server:
        server.append("a", "x")
        server.append_all("a", [{"b": [1, None]}, True])
        with server.connect() as conn:
            conn.request("GET", "/v1/streams/a?live=false", [("Accept", "text/event-stream")])
            answer = conn.answer()
        equal(answer.body, b'id: 1\ndata: "x"\n\nid: 2\ndata: {"b":[1,null]}\n\nid: 3\ndata: true\n\n')


@case
def stream_has_the_fields_that_proxies_and_browsers_need():
    with Server() as server, server.watch("a") as watch:
        opening = watch.opening
        equal(opening.field("content-type").split(";")[0], "text/event-stream")
        equal(opening.field("cache-control"), "no-cache")
        equal(opening.field("x-accel-buffering"), "no")
        expect((opening.field("x-request-id") or "").startswith("req_"), "X-Request-Id")
        equal(opening.field("content-length"), None)


@case
def watching_needs_no_accept_field():
    with Server() as server:
        server.append("a", 1)
        for fields in ([], [("Accept", "*/*")], [("Accept", "text/*;q=0.5, image/png")],
                       [("Accept", "TEXT/EVENT-STREAM; q=0.1, */*;q=0")]):
            answer = server.ask("GET", "/v1/streams/a?live=false", fields)
            equal(answer.status, 200, f"with {fields}")
            equal(answer.body, b"id: 1\ndata: 1\n\n")


@case
def stream_that_is_not_there_opens_and_waits():
    with Server() as server, server.watch("later") as watch:
        equal(watch.opening.status, 200)
        expect(not watch.is_readable(), "nothing was to come yet")
        equal(server.append("later", "now"), 1)
        equal(watch.must_next(), (1, b'"now"'))


@case
def replay_of_a_stream_that_is_not_there_is_empty():
    with Server() as server:
        equal(server.replay("nothing"), [])


@case
def replay_ends_the_answer_and_keeps_the_connection():
    with Server() as server:
        server.append_all("a", list(range(100)))
        with server.watch("a", "?live=false") as watch:
            equal(ids_of(watch.rest()), list(range(1, 101)))
            expect(not watch.opening.closes(), "Connection: close")
            watch.request("GET", "/healthz")
            equal(watch.answer().status, 200)


@case
def replays_in_a_pipeline_are_answered_in_order():
    with Server() as server:
        server.append_all("a", list(range(300)))
        server.append_all("b", list("xyz"))
        one = request_bytes("GET", "/v1/streams/a?live=false")
        two = request_bytes("GET", "/v1/streams/b?live=false")
        with server.connect() as conn:
            conn.send((one + two) * 10)
            for _ in range(10):
                equal(conn.answer().body.count(b"\n\n"), 300)
                equal(conn.answer().body.count(b"\n\n"), 3)


@case
def nothing_behind_a_live_stream_is_answered_before_it_ends():
    with Server() as server:
        server.append("a", 1)
        with server.watch("a") as watch:
            watch.must_next()
            watch.request("GET", "/healthz")
            equal(server.append("a", 2), 2)
            equal(watch.must_next(), (2, b"2"))
            equal(server.ask("DELETE", "/v1/streams/a").status, 204)
            equal(watch.next(), None)
            if not watch.opening.closes() and not watch.saw_end:
                try:
                    equal(watch.answer().status, 200, "the request behind")
                except Failure:
                    expect(watch.saw_end, "neither answered nor closed")


# ---- where to begin ----

@case
def every_id_can_be_resumed_from():
    with Server() as server:
        n = 60
        server.append_all("a", list(range(1, n // 2 + 1)))
        for i in range(n // 2 + 1, n + 1):
            server.append("a", i)
        for last in range(n + 1):
            wanted = list(range(last + 1, n + 1))
            equal(ids_of(server.replay("a", fields=[("Last-Event-ID", last)])), wanted, f"after {last}")
            equal(ids_of(server.replay("a", f"&last_event_id={last}")), wanted, f"after {last} by query")
            with server.watch("a", fields=[("last-event-id", last)]) as watch:
                equal(ids_of(watch.events(len(wanted))), wanted, f"live after {last}")


@case
def last_event_id_in_the_header_wins():
    with Server() as server:
        server.append_all("a", [1, 2, 3, 4])
        got = server.replay("a", "&last_event_id=1", [("Last-Event-ID", "3")])
        equal(ids_of(got), [4])


@case
def reader_with_everything_waits_for_more():
    with Server() as server:
        server.append_all("a", [1, 2])
        with server.watch("a", fields=[("Last-Event-ID", "2")]) as watch:
            equal(watch.opening.status, 200)
            server.append("a", 3)
            equal(watch.must_next(), (3, b"3"))


@case
def ids_beyond_the_newest_are_refused():
    with Server() as server:
        server.append_all("a", [1, 2])
        for stream, last in (("a", 3), ("a", 10**9), ("nothing", 1)):
            for query, fields in ((f"?last_event_id={last}", []), ("", [("Last-Event-ID", str(last))])):
                with server.watch(stream, query, fields) as watch:
                    answer = watch.refusal()
                equal(answer.status, 400, f"{stream} after {last}")
                equal(answer.error(), "invalid_field")


@case
def from_latest_shows_only_what_comes():
    with Server() as server:
        server.append_all("a", [1, 2, 3])
        with server.watch("a", "?from=latest") as watch, server.watch("new", "?from=latest") as new:
            server.append("a", 4)
            server.append("new", 1)
            equal(watch.must_next(), (4, b"4"))
            equal(new.must_next(), (1, b"1"))


@case
def limit_ends_the_answer_after_so_many_events():
    with Server() as server:
        server.append_all("a", list(range(10)))
        for query, last, want in (("?limit=3", None, [1, 2, 3]), ("?limit=3", 5, [6, 7, 8]),
                                  ("?limit=10&live=false", None, list(range(1, 11))),
                                  ("?limit=3&live=false", 8, [9, 10]),
                                  ("?limit=99&live=false", None, list(range(1, 11)))):
            fields = [("Last-Event-ID", str(last))] if last else []
            with server.watch("a", query, fields) as watch:
                equal(ids_of(watch.rest()), want, f"{query} after {last}")
        # One that has to wait for the rest, and gets no more than that.
        with server.watch("a", "?limit=2", [("Last-Event-ID", "9")]) as watch:
            equal(watch.must_next(), (10, b"9"))
            server.ask("POST", "/v1/streams/a?batch=1", JSON_FIELDS, to_json([1, 2, 3]))
            equal(watch.must_next(), (11, b"1"))
            equal(watch.rest(), [])
        for bad in ("0", "-1", "x", ""):
            equal(server.ask("GET", f"/v1/streams/a?limit={bad}").status, 400, bad)


@case
def unknown_values_of_known_parameters_are_refused():
    with Server() as server:
        server.append("a", 1)
        for query in ("?from=yesterday", "?live=maybe", "?last_event_id=x", "?last_event_id=-0"):
            with server.watch("a", query) as watch:
                answer = watch.refusal()
            equal(answer.status, 400, query)
            equal(answer.error(), "invalid_field", query)
        answer = server.ask("POST", "/v1/streams/a?batch=perhaps", JSON_FIELDS, b"[1]")
        equal(answer.status, 400)
        equal(ids_of(server.replay("a")), [1])


# ---- deleting ----

@case
def delete_ends_watchers_and_the_name_begins_again():
    with Server() as server:
        server.append_all("a", [1, 2, 3])
        watches = [server.watch("a") for _ in range(5)]
        for watch in watches:
            equal(ids_of(watch.events(3)), [1, 2, 3])
        equal(server.ask("DELETE", "/v1/streams/a").status, 204)
        for watch in watches:
            equal(watch.next(), None, "after the last event")
            watch.close()
        equal(server.replay("a"), [])
        equal(server.append("a", "again"), 1)
        equal(server.replay("a"), [(1, b'"again"')])
        server.restart()
        equal(server.replay("a"), [(1, b'"again"')], "after a restart")


@case
def delete_of_nothing_is_not_found():
    with Server() as server:
        answer = server.ask("DELETE", "/v1/streams/nothing")
        equal(answer.status, 404)
        equal(answer.error(), "not_found")
        server.append("a", 1)
        equal(server.ask("DELETE", "/v1/streams/a").status, 204)
        equal(server.ask("DELETE", "/v1/streams/a").status, 404)


@case
def delete_while_others_append_leaves_whole_streams():
    """Whatever is there in the end has the ids 1..N, and the last append of all is in it."""
    with Server() as server:
        answers = []
        with Crowd() as crowd:
            writers = [Writer(crowd, server.port, lambda w, token, status, body:
                              answers.append((token, status, body))) for _ in range(4)]
            for i in range(400):
                for j, writer in enumerate(writers):
                    if j == 0 and i % 40 == 7:
                        writer.delete(("delete", i), "a")
                    else:
                        writer.append(("append", i), "a", to_json([j, i]))
            crowd.run(lambda: len(answers) == 1600, "all are answered")
        expect(all(status in ((201,) if kind == "append" else (204, 404))
                   for (kind, _), status, _ in answers), "answers",
               [answer for answer in answers if answer[1] not in (201, 204)][:3])
        events = server.replay("a")
        equal(ids_of(events), list(range(1, len(events) + 1)))
        for j in range(4):
            mine = [value[1] for value in values_of(events) if value[0] == j]
            equal(mine, sorted(mine), f"order of writer {j}")


def rest_or_break(watch):
    """The events up to the end, or up to where the answer was cut: the event under way is gone."""
    events = []
    try:
        while (event := watch.next()) is not None:
            events.append(event)
    except Failure as problem:
        expect("broke off" in str(problem), str(problem))
    return events


@case
def stalled_reader_of_a_deleted_stream_never_sees_the_next_one():
    """The name lives again with more events than before; the old cursor may not go on in it."""
    with Server() as server:
        for i in range(1, 21):
            server.append("a", ["old", i, "x" * 500_000])
        with server.watch("a", receive_bytes=4096) as watch:
            equal(json.loads(watch.must_next()[1])[:2], ["old", 1])
            equal(server.ask("DELETE", "/v1/streams/a").status, 204)
            server.append_all("a", [["new", i] for i in range(1, 101)])
            seen = values_of(rest_or_break(watch))
            equal([value[0] for value in seen], ["old"] * len(seen), "what came after the delete")
            equal([value[1] for value in seen], list(range(2, 2 + len(seen))))
        with server.watch("a", fields=[("Last-Event-ID", "20")]) as watch:
            equal(json.loads(watch.must_next()[1]), ["new", 21], "one that comes again")


@case
def delete_ends_replays_under_way():
    with Server() as server:
        for i in range(1, 31):
            server.append("a", [i, "x" * 500_000])
        server.restart()
        watches = [server.watch("a", query, receive_bytes=4096) for query in ("", "?live=false") * 4]
        equal(server.ask("DELETE", "/v1/streams/a").status, 204)
        for watch in watches:
            ids = ids_of(rest_or_break(watch))
            equal(ids, list(range(1, len(ids) + 1)))
            watch.close()


@case
def replay_of_a_busy_stream_ends_at_what_was_the_newest():
    """It does not run after the writers."""
    n_most, n_in_flight = 20_000, 64
    with Server() as server, Crowd() as crowd:
        n_acked = n_sent = 0

        def feed(writer):
            nonlocal n_sent
            if n_sent < n_most:
                n_sent += 1
                writer.append(0, "a", to_json("x" * 100))

        def on_answer(writer, token, status, body):
            nonlocal n_acked
            equal(status, 201)
            n_acked += 1
            feed(writer)

        writers = [Writer(crowd, server.port, on_answer) for _ in range(4)]
        for i in range(n_in_flight):
            feed(writers[i % 4])
        for least in (500, 2000, 4000, 6000):
            crowd.run(lambda: n_acked >= least, "there is load")
            least = n_acked
            reader = Reader(crowd, server.port, "a", query="?live=false")
            crowd.run(lambda: reader.opening, "the replay begins")
            # What is in flight may be there already, and so may what was sent in its place.
            most = n_acked + 2 * n_in_flight
            crowd.run(lambda: reader.has_ended, "the replay has ended")
            expect(least <= reader.last_id <= most, "its last event", reader.last_id, least, most)


# ---- batches ----

@case
def batch_is_all_or_nothing():
    with Server() as server:
        equal(server.append_all("a", ["x"] * 1000), (1, 1000))
        for body in (b"[1,2,", b"[1,2,}", b'[1,"\xff"]', b"{}", b"1", b"[]", b"[1,2]x", b""):
            answer = server.ask("POST", "/v1/streams/a?batch=1", JSON_FIELDS, body)
            equal(answer.status, 400, f"batch {body!r}")
            answer.error()
        equal(len(server.replay("a")), 1000)
        equal(server.append_all("a", [[], {}, "", 0, None, False, [[1]]]), (1001, 1007))
        equal(values_of(server.replay("a", fields=[("Last-Event-ID", 1000)])),
              [[], {}, "", 0, None, False, [[1]]])


@case
def batch_has_a_ceiling():
    with Server() as server:
        equal(server.append_all("a", [0] * 10_000), (1, 10_000))
        answer = server.ask("POST", "/v1/streams/a?batch=1", JSON_FIELDS, to_json([0] * 10_001))
        equal((answer.status, answer.error()), (413, "payload_too_large"))
        equal(len(server.replay("a")), 10_000)


@case
def list_without_batch_is_one_event():
    with Server() as server:
        equal(server.append("a", [1, 2, 3]), 1)
        equal(server.replay("a"), [(1, b"[1,2,3]")])


@case
def batches_of_many_writers_do_not_mix():
    with Server() as server:
        acks = []
        with Crowd() as crowd:
            seen = []
            reader = Reader(crowd, server.port, "a", on_event=lambda r, i, d: seen.append((i, d)))
            writers = [Writer(crowd, server.port, lambda w, token, status, body:
                              acks.append((token, status, body))) for _ in range(6)]
            for i in range(30):
                for j, writer in enumerate(writers):
                    size = 1 + (i * 7 + j) % 40
                    writer.append((j, i, size), "a", to_json([[j, i, k] for k in range(size)]), "?batch=1")
            n_all = sum(1 + (i * 7 + j) % 40 for i in range(30) for j in range(6))
            crowd.run(lambda: len(acks) == 180 and reader.n_seen == n_all, "all is there")
        values = values_of(seen)
        for (j, i, size), status, body in acks:
            equal(status, 201)
            ids = json.loads(body)
            equal(ids["last"] - ids["first"] + 1, size)
            equal(values[ids["first"] - 1:ids["last"]], [[j, i, k] for k in range(size)])


# ---- bytes ----

TEXTS = [
    b'null', b'true', b'-0', b'0.1e-7', b'1E400', b'12345678901234567890123', b'""', b'[]', b'{}',
    b'"\\u0000"', b'"\\n\\r\\t"', '"é€𝄞"'.encode(), '"\u2028\u2029\u0085\ufeff"'.encode(),
    b'"\\ud834\\udd1e"', b'"data: x\\n\\nid: 9\\n"', b'"</script>"', b'{"a":1,"b":{"c":[1,2,{}]}}',
    b'"\x7f"', b'"' + b"\\\\" * 100 + b'"', b'{"\\u0061":1}',
]


@case
def json_is_kept_as_it_was_given():
    with Server() as server:
        for number, text in enumerate(TEXTS, 1):
            answer = server.ask("POST", "/v1/streams/a", JSON_FIELDS, text)
            equal(appended_id(answer), number, repr(text))
        first, last = server.ask("POST", "/v1/streams/a?batch=1", JSON_FIELDS,
                                 b"[" + b",".join(TEXTS) + b"]").json().values()
        equal((first, last), (len(TEXTS) + 1, 2 * len(TEXTS)))
        for text, (number, data) in zip(TEXTS * 2, server.replay("a")):
            equal(repr(json.loads(data, parse_float=str, parse_int=str)),
                  repr(json.loads(text, parse_float=str, parse_int=str)), f"event {number}")


@case
def json_over_many_lines_becomes_one():
    with Server() as server:
        texts = [b'{\n  "a": 1,\r\n\t"b": [\n]\n}\n', b"\n\n1\r\n", b"\r\r[\r1\r,\r2\r]\r", b' "x"   ']
        for text in texts:
            appended_id(server.ask("POST", "/v1/streams/a", JSON_FIELDS, text))
        equal(batch_ids(server.ask("POST", "/v1/streams/a?batch=1", JSON_FIELDS,
                                   b"[\n1,\r\n{\n\"a\"\n:\n2\n}\n]")), (5, 6))
        equal(values_of(server.replay("a")), [{"a": 1, "b": []}, 1, [1, 2], "x", 1, {"a": 2}])


@case
def large_events_come_through():
    with Server() as server:
        sizes = [MEBIBYTE - 2, 700_000, 1, 65536, 65535, 16384, 32768, 300_000]
        values = [chr(97 + i) * size for i, size in enumerate(sizes)]
        with server.watch("a") as watch:
            for number, value in enumerate(values, 1):
                equal(server.append("a", value), number)
            equal(values_of(watch.events(len(values))) == values, True, "live")
        equal(values_of(server.replay("a")) == values, True, "replayed")
        server.restart()
        equal(values_of(server.replay("a")) == values, True, "after a restart")
        equal(values_of(server.replay("a", fields=[("Last-Event-ID", 5)])) == values[5:], True, "a part")


@case
def names_are_told_apart_byte_by_byte():
    names = ["a", "A", "a b", "a/b", "a%2Fb", "ä", "a\u0308", "..", ".", "a?b", "a#b", "日本語", "x" * 200,
             "'; DROP TABLE logs; --", "%00x", "a+b", "~", "a&b=c"]
    with Server() as server:
        kept = []
        for i, name in enumerate(names):
            quoted = urllib.parse.quote(name, safe="")
            answer = server.ask("POST", f"/v1/streams/{quoted}", JSON_FIELDS, to_json(i))
            if answer.status == 201:
                equal(appended_id(answer), 1, name)
                kept.append((i, name, quoted))
            else:
                equal(answer.status, 400, name)
                answer.error()
                expect(not name.isalnum(), f"{name} was refused")
        server.restart()
        for i, name, quoted in kept:
            equal(values_of(server.replay(quoted)), [i], name)
        answer = server.ask("POST", f"/v1/streams/{'x' * 201}", JSON_FIELDS, b"1")
        expect(answer.status in (400, 404, 414), "a name of 201 bytes", answer.status)
        answer.error()


# ---- readers and writers at once ----

@case
def replay_turns_live_without_gap_or_repeat():
    """Readers that join at random moments, at random ids, while four writers append."""
    chance = random.Random(3)
    n_events, n_readers = 6000, 150
    with Server() as server, Crowd() as crowd:
        acked = []
        seen = {}

        def on_event(_, number, data):
            if seen.setdefault(number, data) != data:
                raise Failure(f"event {number} was {seen[number]!r} and is {data!r}")

        sent = 0

        def on_answer(writer, token, status, body):
            nonlocal sent
            equal(status, 201)
            acked.append(json.loads(body)["id"])
            if sent < n_events:
                sent += 1
                writer.append(sent, "a", to_json({"n": sent, "pad": "p" * (sent % 700)}))

        writers = [Writer(crowd, server.port, on_answer) for _ in range(4)]
        for writer in writers:
            for _ in range(8):
                sent += 1
                writer.append(sent, "a", to_json({"n": sent}))
        readers = []
        while len(readers) < n_readers:
            crowd.turn(0.05)
            due = len(acked) * n_readers // (n_events * 3 // 4) + 1
            while len(readers) < min(due, n_readers):
                last = chance.choice([None, 0, len(acked) // 2, max(acked or [0]),
                                      chance.randint(0, max(acked or [0]))])
                readers.append(Reader(crowd, server.port, "a", last, on_event=on_event))
        crowd.run(lambda: len(acked) == n_events and all(r.last_id == n_events for r in readers),
                  "every reader has everything")
        equal(sorted(acked), list(range(1, n_events + 1)))
        equal(len(seen), n_events)
        expect(not any(reader.has_ended for reader in readers), "an answer ended")


@case
def readers_that_come_and_go_resume_without_gap_or_repeat():
    chance = random.Random(5)
    n_events = 4000
    with Server() as server, Crowd() as crowd:
        n_acked = 0
        sent = 0

        def on_answer(writer, token, status, body):
            nonlocal n_acked, sent
            equal(status, 201)
            n_acked += 1
            if sent < n_events:
                sent += 1
                writer.append(sent, "a", to_json(sent))

        writers = [Writer(crowd, server.port, on_answer) for _ in range(3)]
        for writer in writers:
            for _ in range(8):
                sent += 1
                writer.append(sent, "a", to_json(sent))
        readers = [Reader(crowd, server.port, "a") for _ in range(20)]
        n_resumed = 0
        while n_acked < n_events or any(reader.last_id < n_events for reader in readers):
            crowd.turn(0.05)
            i = chance.randrange(len(readers))
            if readers[i].opening and n_resumed < 1500:
                n_resumed += 1
                readers[i].close()
                readers[i] = Reader(crowd, server.port, "a", readers[i].last_id)
        expect(n_resumed > 50, "resumed often enough", n_resumed)


@case
def thousand_readers_of_one_stream():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        raise Skip("descriptors are limited to fewer than 4,096")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    with Server() as server, Crowd() as crowd:
        readers = [Reader(crowd, server.port, "a") for _ in range(1000)]
        crowd.run(lambda: all(reader.opening for reader in readers), "all are opened")
        acks = []
        writer = Writer(crowd, server.port, lambda w, token, status, body: acks.append(status))
        for i in range(200):
            writer.append(i, "a", to_json({"i": i, "pad": "x" * 150}))
        crowd.run(lambda: len(acks) == 200 and all(reader.last_id == 200 for reader in readers),
                  "all readers have all events")
        equal(set(acks), {201})
        equal(server.metric("weir_subscribers"), 1000.0, "the gauge")
        for reader in readers:
            reader.close()
        wait_until(lambda: server.metric("weir_subscribers") == 0, "the readers are forgotten")


@case
def thousand_streams_with_a_reader_each():
    with Server() as server, Crowd() as crowd:
        readers = [Reader(crowd, server.port, f"s{i}") for i in range(1000)]
        acks = []
        writers = [Writer(crowd, server.port, lambda w, token, status, body: acks.append(status))
                   for _ in range(8)]
        for turn in range(5):
            for i in range(1000):
                writers[i % 8].append(i, f"s{i}", to_json([i, turn]))
        crowd.run(lambda: len(acks) == 5000 and all(reader.last_id == 5 for reader in readers),
                  "all readers have all events")
        equal(set(acks), {201})


def stalled_watch(server, stream):
    watch = server.watch(stream, receive_bytes=4096)
    watch.must_next()
    return watch


@case
def stalled_readers_cost_next_to_nothing_and_lose_nothing():
    """40 MB go by readers that do not read; then one reads all of it."""
    n_stalled, n_events = 16, 80
    pad = "x" * 500_000
    with Server() as server:
        server.append("a", "first")
        with server.watch("a") as lively:
            lively.must_next()
            before = server.rss_bytes()
            stalled = [stalled_watch(server, "a") for _ in range(n_stalled)]
            for i in range(n_events):
                server.append("a", [i, pad])
                equal(json.loads(lively.must_next()[1])[0], i, "the reader that reads")
            # The tail in memory and what waits to be settled are bounded, whoever stalls.
            server.expect_grown_less(before, 48 * MEBIBYTE + n_stalled * STALLED_BYTES, "stalled readers")
        values = [json.loads(data)[0] for _, data in stalled[0].events(n_events)]
        equal(values, list(range(n_events)), "what the stalled reader gets at last")
        for watch in stalled:
            watch.close()


@case
def stalled_replay_is_bounded():
    """Readers that ask for a long log and do not read."""
    with Server() as server:
        for _ in range(40):
            server.append("a", "y" * 1_000_000)
        equal(len(server.replay("a")), 40)
        before = server.rss_bytes()
        stalled = [server.watch("a", receive_bytes=4096) for _ in range(100)]
        server.append("b", 1)
        wait_until(lambda: server.ask("GET", "/healthz").status == 200, "it answers")
        server.expect_grown_less(before, 16 * MEBIBYTE + 100 * STALLED_BYTES, "100 stalled replays")
        last = stalled[7]
        equal(ids_of(last.events(40)), list(range(1, 41)))
        for watch in stalled:
            watch.close()


@case
def slow_reader_gets_everything():
    """A reader that takes a few bytes at a time falls behind the tail and catches up."""
    with Server() as server, server.watch("a", receive_bytes=4096) as slow:
        stop = threading.Event()

        def write():
            with server.connect() as conn:
                for i in range(300):
                    if stop.is_set():
                        return
                    conn.request("POST", "/v1/streams/a", JSON_FIELDS, to_json([i, "z" * 5000]))
                    conn.answer()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            values = []
            while len(values) < 300:
                slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                values.append(json.loads(slow.must_next()[1])[0])
        finally:
            stop.set()
            writer.join()
        equal(values, list(range(300)))


# ---- restarts ----

@case
def ids_go_on_after_a_restart():
    with Server() as server:
        wanted = []
        for turn, number in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)):
            for i in range(20):
                wanted.append([turn, i])
                equal(server.append("a", [turn, i]), len(wanted))
            equal(values_of(server.replay("a")), wanted)
            server.restart(number)
            equal(values_of(server.replay("a")), wanted, f"after signal {number}")


@case
def readers_resume_after_a_restart():
    with Server() as server:
        for number in (signal.SIGTERM, signal.SIGKILL):
            stream = f"s{number}"
            server.append_all(stream, [1, 2, 3])
            with server.watch(stream) as watch:
                last = watch.events(3)[-1][0]
                server.restart(number)
                watch.saw_end or watch.take_all()
            equal(server.append(stream, 4), 4)
            with server.watch(stream, fields=[("Last-Event-ID", last)]) as watch:
                equal(watch.must_next(), (4, b"4"))


@case
def second_server_on_the_same_folder_is_refused():
    needs_one("that is what they do")
    with Server() as server:
        server.append("a", 1)
        second = Server(data=server.data)
        second.spawn()
        status = second.wait()
        expect(status != 0, "the second server ended with status 0")
        expect("another process" in second.errors() or "locked" in second.errors(), "what it says",
               second.errors())
        equal(server.append("a", 2), 2)


@case
def normal_durability_survives_a_kill():
    with Server("--durability", "normal") as server:
        for i in range(1, 101):
            equal(server.append("a", i), i)
        server.restart(signal.SIGKILL)
        equal(values_of(server.replay("a")), list(range(1, 101)))


if __name__ == "__main__":
    main()
