#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/turns.py [CASE...]

/v1/turns as clients see it: what may be asked, what is answered, every refusal, who sees whose
turns, how many may be in flight, requests that are sent again, cancelling, traces.
turn_events.py has the streams, turn_rules.py what is true of every turn.
"""
import concurrent.futures
import json
import signal
import time

from people import fields_for
from support import (JSON_FIELDS, MEBIBYTE, PATIENCE, Server, case, equal, expect, main, refused, request_bytes,
                     to_json, wait_until)
from turn_rules import (TurnWatch, body_of, check_trace, check_turn, check_whole, get_trace, get_turn,
                        message, new_turn, post_turn, read_events, read_through_restarts, whole_turn)

SLOW = ("--turn-pace", "300ms")
VERY_SLOW = ("--turn-pace", "30s")


def list_turns(server, query="", fields=()):
    answer = server.ask("GET", f"/v1/turns{query}", fields)
    equal(answer.status, 200, f"the list ({answer.body[:200]!r})")
    page = answer.json()
    equal(sorted(page), ["data", "next_cursor"], "members of a page")
    for turn in page["data"]:
        check_turn(turn)
    return page


def ids_of(page):
    return [turn["id"] for turn in page["data"]]


def cancel(server, turn_id, fields=()):
    return server.ask("POST", f"/v1/turns/{turn_id}/cancel", fields, b"")


# ---- whole turns ----

@case
def question_becomes_an_answer_that_keeps_to_all_rules():
    with Server() as server:
        for question in ("How many steps did I walk last week?", "thanks!", "Is anything interesting in my data?",
                         "What is a normal resting heart rate?", "Should I sleep more?", "", "?", "42"):
            whole_turn(server, question)


@case
def blocking_request_gets_the_finished_turn():
    with Server() as server:
        answer = post_turn(server, body_of("How did I sleep last week?", stream=False))
        equal(answer.status, 200)
        turn = answer.json()
        check_turn(turn)
        equal(turn["status"], "completed")
        equal(turn, get_turn(server, turn["id"]))
        check_whole(server, turn["id"], read_events(server, turn["id"]))


@case
def client_that_leaves_a_blocking_request_changes_nothing():
    with Server(*SLOW) as server:
        with server.connect() as conn:
            conn.request("POST", "/v1/turns", JSON_FIELDS, to_json(body_of("thanks!", stream=False)))
            turn_id = wait_until(lambda: ids_of(list_turns(server)), "there is a turn")[0]
            conn.reset()
        check_whole(server, turn_id, read_events(server, turn_id))


@case
def many_blocking_requests_wait_at_once():
    with Server("--user-turns", "40", "--turn-pace", "20ms") as server:
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(lambda _: post_turn(server, body_of("thanks!", stream=False)), range(32)))
        for answer in answers:
            equal(answer.status, 200)
            equal(answer.json()["status"], "completed")
        equal(len({answer.json()["id"] for answer in answers}), 32, "turns")


@case
def messages_survive_the_way_to_the_store_and_back():
    texts = ['"\\u0000"', '"\\ud800"', '"\\udc00 and \\ud83d\\ude00"', '"\u00e9\u4e2d\U0001F600"', '"\\u001f\\t\\"\\\\/"',
             '"</script>"', '""']
    with Server() as server:
        for text in texts:
            raw = f'{{"messages":[{{"role":"user","content":{text}}}]}}'.encode()
            answer = post_turn(server, raw)
            equal(answer.status, 201, f"{text} ({answer.body[:200]!r})")
            turn = answer.json()
            equal(turn["messages"], [message(json.loads(text))], text)
            read_events(server, turn["id"])
            equal(get_turn(server, turn["id"])["messages"], [message(json.loads(text))], text)


@case
def conversation_is_kept_as_it_was_sent_and_unknown_members_are_ignored():
    with Server() as server:
        messages = [message("How was my sleep?"), message("Good.", "assistant"), message("Why?")]
        body = {"messages": [{**m, "name": "x", "more": {"a": [1]}} for m in messages], "model": "y",
                "context": {"include_memory": False, "include_biomarkers": False, "else": 1}, "n": 2}
        answer = post_turn(server, body)
        equal(answer.status, 201)
        equal(answer.json()["messages"], messages)
        read_events(server, answer.json()["id"])
        context = get_trace(server, answer.json()["id"])["steps"][0]["input"]["context"]
        equal(context, {"include_biomarkers": False, "include_memory": False, "memory": None})


def import_days(server, n_days, steps):
    rows = "".join(f"2025-03-{day:02},{steps}\n" for day in range(1, n_days + 1))
    answer = server.ask("POST", "/v1/data/imports?name=days.csv", [("Content-Type", "text/csv")],
                        f"date,steps\n{rows}".encode())
    equal(answer.status, 202, f"an import ({answer.body[:200]!r})")
    wait_until(lambda: server.ask("GET", answer.field("location")).json()["status"] == "completed", "it is imported")


@case
def answer_knows_what_was_imported_before_the_question():
    with Server() as server:
        question = "How many steps did I walk in total in March 2025?"
        equal(whole_turn(server, question)["result"]["fact_sheet"], [])
        import_days(server, 10, 1000)
        expect("10,000 steps" in whole_turn(server, question)["result"]["answer"], "ten days")
        import_days(server, 31, 2000)
        expect("62,000 steps" in whole_turn(server, question)["result"]["answer"], "the whole month")


# ---- refusals ----

@case
def bodies_that_are_no_request_are_refused_with_the_place():
    rows = [
        (b"", "invalid_request", "no body"),
        (b"{", "invalid_request", "not JSON"),
        (b'{"messages":[{"role":"user","content":"a"}]} x', "invalid_request", "not JSON"),
        (b'{"messages":[{"role":"user","content":"\xff"}]}', "invalid_request", "not JSON"),
        (b"[]", "invalid_request", "object"),
        (b"null", "invalid_request", "object"),
        (b"{}", "invalid_field", "messages "),
        ({"messages": None}, "invalid_field", "messages "),
        ({"messages": {}}, "invalid_field", "messages "),
        ({"messages": "hello"}, "invalid_field", "messages "),
        ({"messages": []}, "invalid_field", "messages "),
        ({"messages": [1]}, "invalid_field", "messages[0] "),
        ({"messages": [message("a"), None]}, "invalid_field", "messages[1] "),
        ({"messages": [{}]}, "invalid_field", "messages[0].role "),
        ({"messages": [message("a"), message("b", "assistant"), message("c", "system")]},
         "invalid_field", "messages[2].role "),
        ({"messages": [message("a", "User")]}, "invalid_field", "messages[0].role "),
        ({"messages": [{"role": 1, "content": "a"}]}, "invalid_field", "messages[0].role "),
        ({"messages": [{"role": "user"}]}, "invalid_field", "messages[0].content "),
        ({"messages": [{"role": "user", "content": None}]}, "invalid_field", "messages[0].content "),
        ({"messages": [message("a"), {"role": "user", "content": ["a"]}]}, "invalid_field",
         "messages[1].content "),
        ({"messages": [message("a"), message("b", "assistant")]}, "invalid_request", "messages[1].role "),
        ({"messages": [message("a")], "stream": "yes"}, "invalid_field", "stream "),
        ({"messages": [message("a")], "stream": 1}, "invalid_field", "stream "),
        ({"messages": [message("a")], "context": []}, "invalid_field", "context "),
        ({"messages": [message("a")], "context": {"include_memory": 0}}, "invalid_field",
         "context.include_memory "),
        ({"messages": [message("a")], "context": {"include_biomarkers": "no"}}, "invalid_field",
         "context.include_biomarkers "),
    ]
    with Server() as server:
        for body, code, text in rows:
            refused(post_turn(server, body), 400, code, text)
        equal(list_turns(server)["data"], [], "turns after that")
        equal(server.metric("weir_turns_in_flight"), 0)


@case
def body_beyond_a_mebibyte_is_refused_and_one_below_is_not():
    with Server() as server:
        frame = len(to_json(body_of("")))
        largest = "x" * (MEBIBYTE - frame)
        answer = post_turn(server, body_of(largest))
        equal(answer.status, 201)
        turn_id = answer.json()["id"]
        read_events(server, turn_id)
        equal(get_turn(server, turn_id)["messages"], [message(largest)])
        refused(post_turn(server, body_of(largest + "x")), 413, "payload_too_large")
        # As many escapes as fit: what is kept is no longer than what came.
        many = b'{"messages":[{"role":"user","content":"' + b"\\u0000" * 170000 + b'"}]}'
        equal(post_turn(server, many).status, 201)
        page = list_turns(server)
        equal(len(page["data"]), 2)


@case
def other_media_types_are_refused():
    with Server() as server:
        body = to_json(body_of("a"))
        for kind in ("text/plain", "application/xml", "multipart/form-data"):
            refused(server.ask("POST", "/v1/turns", [("Content-Type", kind)], body), 415, "unsupported_media_type")
        for kind in ("application/json; charset=utf-8", "application/vnd.x+json"):
            equal(server.ask("POST", "/v1/turns", [("Content-Type", kind)], body).status, 201)


@case
def methods_that_a_resource_lacks_are_refused_with_allow():
    with Server() as server:
        turn = new_turn(server)
        rows = [("DELETE", f"/v1/turns/{turn['id']}", "GET, HEAD, OPTIONS"),
                ("PUT", f"/v1/turns/{turn['id']}", "GET, HEAD, OPTIONS"),
                ("DELETE", "/v1/turns", "GET, HEAD, POST, OPTIONS"),
                ("PATCH", "/v1/turns", "GET, HEAD, POST, OPTIONS"),
                ("POST", f"/v1/turns/{turn['id']}/events", "GET, HEAD, OPTIONS"),
                ("POST", f"/v1/turns/{turn['id']}/trace", "GET, HEAD, OPTIONS"),
                ("GET", f"/v1/turns/{turn['id']}/cancel", "POST, OPTIONS")]
        for method, path, allow in rows:
            answer = server.ask(method, path, [], b"" if method != "GET" else None)
            refused(answer, 405, "method_not_allowed")
            equal(answer.field("allow"), allow, f"Allow of {method} {path}")


@case
def turns_that_are_not_there_are_not_found():
    with Server() as server:
        real = new_turn(server)["id"]
        for name in ("turn_01HX2K3M4N5P6Q7R8S9T0V1W2X", "turn_", "x", real.lower(), real + "0", real[5:],
                     "turn_" + "Z" * 26, "%00", "turn_01HX2K3M4N5P6Q7R8S9T0V1W2%C3%A9"):
            for method, rest in (("GET", ""), ("GET", "/events"), ("GET", "/trace"), ("POST", "/cancel")):
                answer = server.ask(method, f"/v1/turns/{name}{rest}", [], b"" if method == "POST" else None)
                if name == "%00":
                    expect(answer.status in (400, 404), "a NUL in the path", answer.status)
                else:
                    refused(answer, 404, "turn_not_found")


@case
def keys_decide_who_may_do_what():
    with Server(is_open=False) as server:
        reader = fields_for(server, "ann", "--scopes", "read")
        writer = fields_for(server, "ann", "--scopes", "write")
        prefixed = fields_for(server, "ann", "--prefix", "chat/")
        body = body_of("thanks!")
        refused(post_turn(server, body), 401, "missing_authorization")
        refused(post_turn(server, body, [("Authorization", "Bearer weir_x")]), 401, "invalid_token")
        refused(post_turn(server, body, reader), 403, "forbidden")
        refused(post_turn(server, body, prefixed), 403, "forbidden")
        turn_id = new_turn(server, "thanks!", writer)["id"]
        refused(server.ask("GET", f"/v1/turns/{turn_id}", writer), 403, "forbidden")
        check_whole(server, turn_id, read_events(server, turn_id, "", reader), reader)
        for path in ("", f"/{turn_id}", f"/{turn_id}/trace", f"/{turn_id}/events"):
            refused(server.ask("GET", f"/v1/turns{path}"), 401, "missing_authorization")
        refused(server.ask("POST", f"/v1/turns/{turn_id}/cancel", reader, b""), 403, "forbidden")
        key = reader[0][1].split()[1]
        refused(server.ask("GET", f"/v1/turns/{turn_id}?api_key={key}"), 401, "missing_authorization")
        refused(server.ask("GET", f"/v1/turns?api_key={key}"), 401, "missing_authorization")
        limited = fields_for(server, "ann", "--rate", "1/h", "--burst", "1")
        equal(server.ask("GET", "/v1/turns", limited).status, 200)
        answer = server.ask("GET", "/v1/turns", limited)
        refused(answer, 429, "rate_limit_exceeded")
        expect(int(answer.field("retry-after")) > 0, "Retry-After")


@case
def turns_of_another_user_are_not_there():
    with Server(is_open=False) as server:
        ann, bob = fields_for(server, "ann"), fields_for(server, "bob")
        nobody = fields_for(server, "")
        turn_id = new_turn(server, "thanks!", ann)["id"]
        read_events(server, turn_id, "", ann)
        unknown = "turn_01HX2K3M4N5P6Q7R8S9T0V1W2X"
        for who in (bob, nobody):
            for method, rest in (("GET", ""), ("GET", "/events"), ("GET", "/trace"), ("POST", "/cancel")):
                fields = [*who, ("X-Request-Id", "same"), ("Accept", "text/event-stream")]
                body = b"" if method == "POST" else None
                theirs = server.ask(method, f"/v1/turns/{turn_id}{rest}", fields, body)
                none = server.ask(method, f"/v1/turns/{unknown}{rest}", fields, body)
                refused(theirs, 404, "turn_not_found")
                equal(theirs.body, none.body, "the same bytes")
                equal([f for f in theirs.fields if f[0] != "date"], [f for f in none.fields if f[0] != "date"])
            equal(list_turns(server, "", who)["data"], [])
        equal(ids_of(list_turns(server, "", ann)), [turn_id])


# ---- the list ----

@case
def list_is_newest_first_in_pages():
    with Server("--user-turns", "100") as server:
        equal(list_turns(server), {"data": [], "next_cursor": None})
        made = [new_turn(server, "thanks!")["id"] for _ in range(25)]
        # Of two nodes in the same millisecond nobody knows who was first.
        equal(made if Server.n_nodes == 1 else sorted(made), sorted(made), "ids rise")
        made.sort()
        for turn_id in made:
            read_events(server, turn_id)
        newest = list(reversed(made))
        first = list_turns(server)
        equal(ids_of(first), newest[:20])
        second = list_turns(server, f"?cursor={first['next_cursor']}")
        equal(ids_of(second), newest[20:])
        equal(second["next_cursor"], None)
        seen, cursor = [], ""
        while cursor is not None:
            page = list_turns(server, f"?limit=7{cursor and '&cursor=' + cursor}")
            seen += ids_of(page)
            cursor = page["next_cursor"]
        equal(seen, newest, "all pages")
        equal(list_turns(server, "?limit=25")["next_cursor"], None, "a page that is all there is")
        equal(ids_of(list_turns(server, "?limit=100")), newest)
        equal(ids_of(list_turns(server, "?limit=1")), newest[:1])


@case
def list_takes_a_status_and_refuses_nonsense():
    with Server(*VERY_SLOW) as server:
        running = new_turn(server)["id"]
        with TurnWatch(server, running) as watch:
            watch.until("turn.started")
        dropped = new_turn(server)["id"]
        equal(cancel(server, dropped).status, 202)
        wait_until(lambda: get_turn(server, dropped)["status"] == "failed", "it is cancelled")
        wait_until(lambda: get_turn(server, running)["status"] == "running", "it runs")
        equal(ids_of(list_turns(server, "?status=running")), [running])
        equal(ids_of(list_turns(server, "?status=failed")), [dropped])
        equal(ids_of(list_turns(server, "?status=completed")), [])
        for query in ("?limit=0", "?limit=101", "?limit=-1", "?limit=x", "?limit=", "?limit=1.5", "?status=done",
                      "?status=", "?cursor=x", "?cursor=", "?cursor=turn_x", f"?cursor={running.lower()}"):
            refused(server.ask("GET", f"/v1/turns{query}"), 400, "invalid_field")
        equal(ids_of(list_turns(server, f"?cursor={dropped}&limit=5&unknown=1")), [running])


# ---- how many ----

@case
def fourth_turn_in_flight_is_refused_until_one_ends():
    with Server(*VERY_SLOW) as server:
        made = [new_turn(server)["id"] for _ in range(3)]
        answer = post_turn(server, body_of("one more"))
        refused(answer, 429, "concurrency_limit_exceeded")
        expect(int(answer.field("retry-after")) >= 1, "Retry-After")
        refused(post_turn(server, body_of("one more", stream=False)), 429, "concurrency_limit_exceeded")
        equal(cancel(server, made[1]).status, 202)
        wait_until(lambda: get_turn(server, made[1])["status"] == "failed", "it is cancelled")
        made.append(new_turn(server)["id"])
        refused(post_turn(server, body_of("one more")), 429, "concurrency_limit_exceeded")
        # A reader that goes away frees nothing.
        with TurnWatch(server, made[0]) as watch:
            watch.until("turn.started")
        refused(post_turn(server, body_of("one more")), 429, "concurrency_limit_exceeded")


@case
def places_are_each_users_own():
    with Server(*VERY_SLOW, "--user-turns", "1", is_open=False) as server:
        ann, again, bob = fields_for(server, "ann"), fields_for(server, "ann"), fields_for(server, "bob")
        new_turn(server, "a", ann)
        refused(post_turn(server, body_of("b"), again), 429, "concurrency_limit_exceeded")
        new_turn(server, "c", bob)


@case
def requests_at_the_same_instant_do_not_pass_the_cap():
    with Server(*VERY_SLOW) as server:
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(lambda i: post_turn(server, body_of(f"question {i}")), range(24)))
        statuses = sorted(answer.status for answer in answers)
        equal(statuses, [201] * 3 + [429] * 21)
        equal(len(list_turns(server)["data"]), 3)


@case
def count_is_right_after_a_crash():
    with Server(*VERY_SLOW) as server:
        made = [new_turn(server)["id"] for _ in range(3)]
        server.kill()
        server.start()
        refused(post_turn(server, body_of("one more")), 429, "concurrency_limit_exceeded")
        equal(cancel(server, made[0]).status, 202)
        wait_until(lambda: get_turn(server, made[0])["status"] == "failed", "it is cancelled")
        new_turn(server)
        server.kill()
        server.options = []
        server.start()
        for turn_id in made[1:]:
            check_whole(server, turn_id, read_through_restarts(server, turn_id), has_crashed=True)
        wait_until(lambda: all(t["status"] in ("completed", "failed") for t in list_turns(server)["data"]), "all have ended")
        server.options = list(VERY_SLOW)
        server.restart()
        for _ in range(3):
            new_turn(server)
        refused(post_turn(server, body_of("one more")), 429, "concurrency_limit_exceeded")


@case
def lowered_cap_counts_turns_from_before():
    with Server(*VERY_SLOW, "--user-turns", "5") as server:
        made = [new_turn(server)["id"] for _ in range(5)]
        server.options = list(VERY_SLOW)
        server.restart()
        refused(post_turn(server, body_of("one more")), 429, "concurrency_limit_exceeded")
        for turn_id in made[:2]:
            equal(cancel(server, turn_id).status, 202)
            wait_until(lambda t=turn_id: get_turn(server, t)["status"] == "failed", "it is cancelled")
        refused(post_turn(server, body_of("one more")), 429, "concurrency_limit_exceeded")
        equal(cancel(server, made[2]).status, 202)
        wait_until(lambda: get_turn(server, made[2])["status"] == "failed", "it is cancelled")
        new_turn(server)


# ---- requests that are sent again ----

def key_field(key):
    return [("Idempotency-Key", key)]


@case
def same_key_and_body_get_the_first_answer_again():
    with Server(*VERY_SLOW) as server:
        first = post_turn(server, body_of("thanks!"), key_field("k1"))
        equal(first.status, 201)
        equal(first.field("idempotent-replayed"), None)
        turn_id = first.json()["id"]
        again = post_turn(server, body_of("thanks!"), key_field("k1"))
        equal(again.status, 201)
        equal(again.field("idempotent-replayed"), "true")
        equal(again.field("location"), first.field("location"))
        equal(again.json()["id"], turn_id)
        expect(again.json()["status"] in ("queued", "running"), "its current state", again.json()["status"])
        server.options = []
        server.restart()
        read_events(server, turn_id)
        again = post_turn(server, body_of("thanks!"), key_field("k1"))
        equal(again.json(), get_turn(server, turn_id), "its current state")
        equal(len(list_turns(server)["data"]), 1)
        other = post_turn(server, body_of("thanks!"), key_field("k2"))
        equal(other.field("idempotent-replayed"), None)
        expect(other.json()["id"] != turn_id, "another key, another turn")


@case
def same_key_with_another_body_is_refused():
    with Server() as server:
        turn_id = post_turn(server, body_of("thanks!"), key_field("k")).json()["id"]
        refused(post_turn(server, body_of("thank you!"), key_field("k")), 409, "idempotency_key_mismatch")
        refused(post_turn(server, body_of("thanks!", stream=False), key_field("k")), 409, "idempotency_key_mismatch")
        equal(ids_of(list_turns(server)), [turn_id])


@case
def keys_of_a_bad_form_are_refused():
    with Server() as server:
        for key in ("", "x" * 256, "a b", "\u00e9", "a\tb"):
            fields = [*JSON_FIELDS, ("Idempotency-Key", key)]
            raw = request_bytes("POST", "/v1/turns", fields, to_json(body_of("a")))
            with server.connect() as conn:
                conn.send(raw)
                refused(conn.answer("POST"), 400, "invalid_field", "Idempotency-Key")
        equal(post_turn(server, body_of("a"), key_field("x" * 255)).status, 201)
        equal(post_turn(server, body_of("a"), key_field("!~")).status, 201)


@case
def key_is_good_over_restarts_and_crashes():
    with Server() as server:
        streamed = post_turn(server, body_of("thanks!"), key_field("a")).json()["id"]
        blocking = post_turn(server, body_of("thanks!", stream=False), key_field("b"))
        equal(blocking.status, 200)
        read_events(server, streamed)
        for number in (signal.SIGTERM, signal.SIGKILL):
            server.restart(number)
            again = post_turn(server, body_of("thanks!"), key_field("a"))
            equal((again.status, again.json()["id"]), (201, streamed))
            again = post_turn(server, body_of("thanks!", stream=False), key_field("b"))
            equal(again.status, 200)
            equal(again.body, blocking.body, "the first answer")
            equal(again.field("idempotent-replayed"), "true")
            refused(post_turn(server, body_of("x"), key_field("a")), 409, "idempotency_key_mismatch")
        equal(len(list_turns(server)["data"]), 2)


@case
def two_at_the_same_instant_make_one_turn():
    with Server(*SLOW) as server:
        for attempt in range(5):
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                answers = list(pool.map(
                    lambda _, k=attempt: post_turn(server, body_of("thanks!"), key_field(f"k{k}")), range(16)))
            equal({answer.status for answer in answers}, {201})
            equal(len({answer.json()["id"] for answer in answers}), 1, "turns")
            equal(sum(answer.field("idempotent-replayed") is None for answer in answers), 1, "first answers")
            read_events(server, answers[0].json()["id"])
        equal(len(list_turns(server)["data"]), 5)


@case
def replay_needs_no_place_and_a_refusal_is_not_kept():
    with Server(*VERY_SLOW, "--user-turns", "1") as server:
        first = post_turn(server, body_of("a"), key_field("a"))
        refused(post_turn(server, body_of("b"), key_field("b")), 429, "concurrency_limit_exceeded")
        equal(post_turn(server, body_of("a"), key_field("a")).json()["id"], first.json()["id"])
        equal(cancel(server, first.json()["id"]).status, 202)
        wait_until(lambda: get_turn(server, first.json()["id"])["status"] == "failed", "it is cancelled")
        late = post_turn(server, body_of("b"), key_field("b"))
        equal(late.status, 201)
        equal(late.field("idempotent-replayed"), None)
        refused(post_turn(server, {"messages": []}, key_field("c")), 400, "invalid_field")
        equal(cancel(server, late.json()["id"]).status, 202)
        wait_until(lambda: get_turn(server, late.json()["id"])["status"] == "failed", "it is cancelled")
        equal(post_turn(server, body_of("c"), key_field("c")).status, 201)


@case
def keys_are_each_users_own():
    with Server(is_open=False) as server:
        ann, bob = fields_for(server, "ann"), fields_for(server, "bob")
        one = post_turn(server, body_of("thanks!"), [*ann, *key_field("k")])
        two = post_turn(server, body_of("thank you!"), [*bob, *key_field("k")])
        equal((one.status, two.status), (201, 201))
        expect(one.json()["id"] != two.json()["id"], "one turn each")


# ---- cancelling ----

@case
def cancelled_turn_fails_with_that_code():
    with Server(*VERY_SLOW) as server:
        turn_id = new_turn(server)["id"]
        with TurnWatch(server, turn_id) as watch:
            events = watch.until("turn.started")
            answer = cancel(server, turn_id)
            equal(answer.status, 202)
            check_turn(answer.json())
            equal(answer.json()["id"], turn_id)
            events += watch.rest()
        turn = check_whole(server, turn_id, events)
        equal(turn["status"], "failed")
        equal(turn["error"]["code"], "cancelled")
        refused(cancel(server, turn_id), 409, "already_exists")


@case
def danger_is_heard_behind_any_length_of_words():
    with Server() as server:
        for text in ("my steps were fine that day. " * 700 + "I want to die.", "and so on " * 3000 + "i want to kill myself"):
            answer = whole_turn(server, text)["result"]["answer"]
            expect("crisis line" in answer, "words of help", answer)


@case
def what_is_told_is_acknowledged_and_remembered():
    with Server() as server:
        for text, answer, entry in (
                ("my goal is 8000 steps a day", "I will remember your goal: 8000 steps a day.", "Goal: 8000 steps a day"),
                ("I want to sleep 8 hours", "I will remember that you want to sleep 8 hours.", "Wants to sleep 8 hours"),
                ("I prefer miles", "Noted: I will remember that for answers to come.", "Prefers miles")):
            turn = whole_turn(server, text)
            expect(turn["result"]["answer"].startswith(answer), "the answer", turn["result"]["answer"])
            kept = server.ask("GET", "/v1/memory").json()["data"][0]
            equal((kept["text"], kept["source_turn"]), (entry, turn["id"]), "what is remembered")


@case
def cancelling_a_turn_that_has_ended_is_refused():
    with Server() as server:
        turn = whole_turn(server, "thanks!")
        refused(cancel(server, turn["id"]), 409, "already_exists")
        equal(get_turn(server, turn["id"]), turn)


@case
def cancelling_may_be_sent_again_by_key():
    with Server(*VERY_SLOW) as server:
        turn_id = new_turn(server)["id"]
        equal(cancel(server, turn_id, key_field("c")).status, 202)
        wait_until(lambda: get_turn(server, turn_id)["status"] == "failed", "it is cancelled")
        again = cancel(server, turn_id, key_field("c"))
        equal(again.status, 202)
        equal(again.field("idempotent-replayed"), "true")
        equal(again.json()["error"]["code"], "cancelled")
        refused(cancel(server, turn_id, key_field("d")), 409, "already_exists")
        refused(post_turn(server, body_of("a"), key_field("c")), 409, "idempotency_key_mismatch")


@case
def wish_to_cancel_survives_a_crash():
    with Server(*VERY_SLOW) as server:
        turn_id = new_turn(server)["id"]
        with TurnWatch(server, turn_id) as watch:
            watch.until("turn.started")
        equal(cancel(server, turn_id).status, 202)
        server.kill()
        server.start()
        turn = check_whole(server, turn_id, read_through_restarts(server, turn_id), has_crashed=True)
        equal(turn["error"]["code"], "cancelled")


# ---- traces ----

@case
def trace_has_every_step_with_its_input_and_output():
    with Server() as server:
        turn = whole_turn(server, "How many steps did I walk last week?")
        trace = get_trace(server, turn["id"])
        check_trace(trace, turn)
        for member in ("steps", "agents", "findings", "gates", "critic", "flagged", "removed"):
            expect(isinstance(trace[member], list), f"{member} of the trace", trace.get(member))
        brief = server.ask("GET", f"/v1/turns/{turn['id']}/trace?brief=true").json()
        for step in trace["steps"]:
            for member in ("input", "output", "model_calls"):
                step.pop(member)
        equal(brief, trace, "the brief trace")
        equal(server.ask("GET", f"/v1/turns/{turn['id']}/trace?brief=so").status, 400)
        talk = whole_turn(server, "thanks!")
        names = [step["name"] for step in get_trace(server, talk["id"])["steps"]]
        equal(names, ["classify_vagueness", "route", "synthesis", "memory_extraction"], "steps of small talk")


@case
def many_may_look_at_traces_at_once():
    with Server() as server:
        turn = whole_turn(server, "How many steps did I walk last week?")
        with concurrent.futures.ThreadPoolExecutor(48) as pool:
            traces = list(pool.map(lambda _: get_trace(server, turn["id"]), range(96)))
        equal(traces, [traces[0]] * 96)


@case
def trace_of_a_turn_under_way_has_the_steps_so_far():
    with Server("--turn-pace", "2s") as server:
        turn_id = new_turn(server)["id"]
        def steps():
            return [step["name"] for step in get_trace(server, turn_id)["steps"]]
        def trace_with_route():
            trace = get_trace(server, turn_id)
            return trace if "route" in [step["name"] for step in trace["steps"]] else None
        trace = wait_until(trace_with_route, "two steps are done")
        expect(trace["status"] == "running" and trace["completed_at"] is None, "status", trace["status"])
        read_events(server, turn_id)
        expect(len(steps()) >= 4, "all steps", steps())


# ---- going down ----

@case
def turn_under_way_is_handed_over_by_sigterm():
    with Server("--turn-pace", "100ms") as server:
        made = [new_turn(server, "How many steps did I walk last week?")["id"] for _ in range(3)]
        with TurnWatch(server, made[0]) as watch:
            events = watch.until("turn.started")
            begin = time.monotonic()
            server.send_signal(signal.SIGTERM)
            events += watch.rest()
            equal(server.wait(), 0, "exit status")
            expect(time.monotonic() - begin < 10 * PATIENCE, "going down took long")
        server.start()
        for turn_id in made:
            seen = read_through_restarts(server, turn_id)
            check_whole(server, turn_id, seen)
            if turn_id == made[0]:
                equal(seen[:len(events)], events, "what was seen before")


@case
def blocking_request_is_told_when_the_server_goes_down():
    with Server(*VERY_SLOW) as server:
        with server.connect() as conn:
            conn.request("POST", "/v1/turns", JSON_FIELDS, to_json(body_of("thanks!", stream=False)))
            turn_id = wait_until(lambda: ids_of(list_turns(server)), "there is a turn")[0]
            server.send_signal(signal.SIGTERM)
            answer = conn.answer("POST")
        equal(answer.status, 503)
        equal(answer.error(), "shutting_down")
        equal(answer.field("location"), f"/v1/turns/{turn_id}")
        equal(server.wait(), 0, "exit status")
        server.options = []
        server.start()
        check_whole(server, turn_id, read_through_restarts(server, turn_id))


if __name__ == "__main__":
    main()
