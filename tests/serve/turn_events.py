#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/turn_events.py [CASE...]

/v1/turns/:id/events, row by row of what may be asked for: who gets the stream and who the Turn,
where it begins, when it ends, and what happens when the server does. turn_rules.py has what is
true of every stream.
"""
import concurrent.futures
import json
import os
import random
import re
import signal
import tempfile
import threading

from support import Server, Watch, bearer, case, equal, expect, main, make_key, refused, wait_until
from turn_rules import (TurnWatch, check_turn, check_whole, get_turn, new_turn, read_events,
                        read_through_restarts, whole_turn)

QUESTION = "How many steps did I walk last week?"
SSE = [("Accept", "text/event-stream")]


def ask(server, turn_id, query="", fields=(), method="GET"):
    return server.ask(method, f"/v1/turns/{turn_id}/events{query}", fields)


def bytes_of(events):
    return b"".join(b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), data)
                    for number, kind, data in events)


# ---- who gets what ----

@case
def accept_decides_between_the_stream_and_the_turn():
    streams = ["text/event-stream", "TEXT/Event-Stream", "text/event-stream;q=0.1", "text/event-stream ; q=0.5",
               "application/json, text/event-stream", "text/html,text/event-stream;q=0.9,*/*;q=0.8",
               "text/event-stream; charset=utf-8", "text/event-stream, application/json;q=1"]
    turns = [None, "*/*", "application/json", "text/*", "text/html", "text/event-streams", "text/event-stream;q=0",
             "text/event-stream;q=0.000, */*", ""]
    with Server() as server:
        turn = whole_turn(server, QUESTION)
        wire = bytes_of(read_events(server, turn["id"]))
        for accept in streams:
            answer = ask(server, turn["id"], "", [("Accept", accept)])
            equal((answer.status, answer.field("content-type")), (200, "text/event-stream"), repr(accept))
            equal(answer.body, wire, "the bytes of the stream")
        for accept in turns:
            answer = ask(server, turn["id"], "", [("Accept", accept)] if accept is not None else [])
            equal((answer.status, answer.field("content-type")), (200, "application/json"), repr(accept))
            equal(answer.json(), turn, "the Turn")
        head = ask(server, turn["id"], "", SSE, "HEAD")
        equal((head.status, head.body), (200, b""))


@case
def turn_under_way_is_shown_as_it_is():
    with Server("--turn-pace", "30s") as server:
        turn_id = new_turn(server, QUESTION)["id"]
        answer = ask(server, turn_id)
        equal(answer.status, 200)
        check_turn(answer.json())
        expect(answer.json()["status"] in ("queued", "running"), "status", answer.json()["status"])


@case
def key_in_the_query_opens_this_and_nothing_else_and_is_in_no_log():
    with tempfile.NamedTemporaryFile() as log, Server("--access-log", log.name, is_open=False) as server:
        key = make_key(server, "--owner", "ann")
        auth = bearer(key)
        turn_id = new_turn(server, "thanks!", auth)["id"]
        events = read_events(server, turn_id, f"?api_key={key}")
        check_whole(server, turn_id, events, auth)
        equal(ask(server, turn_id, f"?api_key={key}").json()["id"], turn_id, "the Turn by the same key")
        refused(ask(server, turn_id, "?api_key=weir_nobody", SSE), 401, "invalid_token")
        refused(ask(server, turn_id, "", SSE), 401, "missing_authorization")
        refused(server.ask("GET", f"/v1/turns/{turn_id}/trace?api_key={key}"), 401, "missing_authorization")
        refused(server.ask("POST", f"/v1/turns/{turn_id}/cancel?api_key={key}", [], b""), 401,
                "missing_authorization")
        server.stop()
        text = open(log.name, "rb").read() + server.errors().encode()
        expect(b"/events" in text, "the log has the requests", text[-300:])
        secret = key[len("weir_") + 13:]
        expect(secret.encode() not in text, "the key is in a log")


# ---- where it begins ----

@case
def stream_goes_on_behind_the_last_id():
    with Server() as server:
        turn = whole_turn(server, QUESTION)
        events = read_events(server, turn["id"])
        last = len(events)
        for n in range(last):
            for name in ("Last-Event-Id", "last-event-id", "LAST-EVENT-ID"):
                equal(read_events(server, turn["id"], "", [(name, str(n))]), events[n:], f"{name}: {n}")
            equal(read_events(server, turn["id"], f"?last_event_id={n}"), events[n:], f"?last_event_id={n}")
        equal(read_events(server, turn["id"], f"?last_event_id={last - 1}", [("Last-Event-Id", "1")]), events[1:],
              "the header wins")
        equal(read_events(server, turn["id"], f"?from=latest&last_event_id=2"), events[2:], "an id wins over from")
        equal(read_events(server, turn["id"], "?last_event_id=007"), events[7:], "zeros before it")
        equal(read_events(server, turn["id"], "", [("Last-Event-Id", "")]), events, "an empty one is none")


@case
def reader_that_has_it_all_is_told_to_stop():
    with Server() as server:
        turn = whole_turn(server, QUESTION)
        last = len(read_events(server, turn["id"]))
        for query, fields in (("", [("Last-Event-Id", str(last))]), (f"?last_event_id={last}", []),
                              ("?from=latest", [])):
            answer = ask(server, turn["id"], query, [*SSE, *fields])
            equal((answer.status, answer.body), (204, b""), f"{query} {fields}")
            expect(answer.field("x-request-id"), "X-Request-Id")


@case
def ids_that_cannot_be_are_refused():
    with Server("--turn-pace", "30s") as server:
        running = new_turn(server, QUESTION)["id"]
        with TurnWatch(server, running) as watch:
            watch.until("turn.started")
        ended = new_turn(server, QUESTION)["id"]
        equal(server.ask("POST", f"/v1/turns/{ended}/cancel", [], b"").status, 202)
        wait_until(lambda: get_turn(server, ended)["status"] == "failed", "it is cancelled")
        last = len(read_events(server, ended))
        for turn_id, newest in ((running, 1), (ended, last)):
            for value in ("x", "-1", "1.0", "1e2", "0x1", "+1", "1 2", "1,2", str(newest + 1), "99", "9" * 18, "9" * 40,
                          "\u0661".encode().decode("latin-1")):
                refused(ask(server, turn_id, "", [*SSE, ("Last-Event-Id", value)]), 400, "invalid_field")
            for value in ("x", "-1", "1.0", str(newest + 1), "%31%20", "%zz"):
                refused(ask(server, turn_id, f"?last_event_id={value}", SSE), 400, "invalid_field")
            refused(ask(server, turn_id, "?from=now", SSE), 400, "invalid_field")
            refused(ask(server, turn_id, "?from=", SSE), 400, "invalid_field")


@case
def live_only_reader_sees_what_comes():
    with Server("--turn-pace", "1s") as server:
        turn_id = new_turn(server, QUESTION)["id"]
        with TurnWatch(server, turn_id) as first:
            events = first.until("turn.started")
            with TurnWatch(server, turn_id, "?from=latest") as late:
                seen = late.rest()
            events += first.rest()
        expect(seen and seen[0][0] > 1, "begins behind what there was", seen[:1])
        equal(seen, events[-len(seen):])


@case
def stream_opens_before_there_is_anything_and_ends_behind_the_last_event():
    with Server("--turn-pace", "100ms") as server:
        turn_id = new_turn(server, QUESTION)["id"]
        with TurnWatch(server, turn_id) as watch:
            equal(watch.opening.status, 200)
            events = watch.rest()
            check_whole(server, turn_id, events)
            # The answer is over, not the connection.
            watch.request("GET", f"/v1/turns/{turn_id}")
            equal(watch.answer().json()["status"], "completed")


@case
def stream_in_http_1_0_ends_with_the_connection():
    with Server() as server:
        turn_id = new_turn(server, QUESTION)["id"]
        events = read_events(server, turn_id)
        with Watch(server, f"/v1/turns/{turn_id}/events", version="1.0") as watch:
            equal(watch.opening.field("transfer-encoding"), None)
            equal(watch.take_all(), bytes_of(events))


# ---- many, slow, silent ----

@case
def any_number_of_readers_see_the_same():
    with Server("--turn-pace", "60ms") as server:
        turn_id = new_turn(server, QUESTION)["id"]
        rng = random.Random(7)

        def read(_):
            threading.Event().wait(rng.random() / 3)
            return read_events(server, turn_id)
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            seen = list(pool.map(read, range(40)))
        check_whole(server, turn_id, seen[0])
        for events in seen:
            equal(events, seen[0], "what a reader saw")


@case
def there_is_no_heartbeat_unless_asked_for():
    with Server("--turn-pace", "700ms") as server:
        turn_id = new_turn(server, "thanks!")["id"]
        read_events(server, turn_id)  # its parser takes no comment
    with Server("--turn-pace", "700ms", "--turn-heartbeat", "100ms") as server:
        turn_id = new_turn(server, "thanks!")["id"]
        with TurnWatch(server, turn_id, takes_comments=True) as watch:
            events = watch.rest()
            expect(watch.n_comments() >= 2, "comments", watch.n_comments())
        check_whole(server, turn_id, events)


@case
def reader_that_reads_nothing_holds_nobody_up():
    with Server("--user-turns", "50") as server:
        lazy = []
        for _ in range(20):
            turn_id = new_turn(server, QUESTION)["id"]
            conn = server.connect(receive_bytes=2048)
            conn.request("GET", f"/v1/turns/{turn_id}/events", SSE)
            lazy.append(conn)
            check_whole(server, turn_id, read_events(server, turn_id))
        for conn in lazy:
            conn.close()


# ---- crashes ----

@case
def killed_server_goes_on_with_its_turns_and_readers_miss_nothing():
    rng = random.Random(os.environ.get("WEIR_SEED", 20260525))
    with Server("--turn-pace", "25ms", "--user-turns", "6") as server:
        for _ in range(4):
            made = [new_turn(server, question)["id"] for question in
                    (QUESTION, "thanks!", "Is anything interesting in my data?", "Did I sleep well in March?")]
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                readers = [(turn_id, pool.submit(read_through_restarts, server, turn_id)) for turn_id in made * 2]
                for _ in range(3):
                    threading.Event().wait(rng.random() * 0.12)
                    server.kill()
                    server.start()
                seen = {}
                for turn_id, reader in readers:
                    events = reader.result()
                    equal(seen.setdefault(turn_id, events), events, "two readers of one turn")
            for turn_id, events in seen.items():
                turn = check_whole(server, turn_id, events, has_crashed=True)
                equal(turn["status"], "completed")
        wait_until(lambda: server.metric("weir_turns_in_flight") == 0, "nothing is in flight")


@case
def streams_end_in_good_order_when_the_server_goes_down():
    with Server("--turn-pace", "30s") as server:
        turn_id = new_turn(server, QUESTION)["id"]
        with TurnWatch(server, turn_id) as watch:
            watch.until("turn.started")
            server.send_signal(signal.SIGTERM)
            equal(watch.rest(), [], "more events")
            expect(watch.has_ended, "the stream has ended")
        equal(server.wait(), 0, "exit status")


@case
def events_carry_what_their_types_promise():
    with Server() as server:
        turn = whole_turn(server, QUESTION)
        events = read_events(server, turn["id"])
        started = json.loads(events[0][2])
        equal(started["turn_id"], turn["id"])
        expect(started["at"] >= turn["created_at"], "at", started)
        expect(re.fullmatch(r'\{"turn_id":"turn_\w+","result":\{.*\}\}', events[-1][2].decode()), "the last event")
        equal(json.loads(events[-1][2])["result"], turn["result"])


if __name__ == "__main__":
    main()
