#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/errors.py [CASE...]

Every code that the specification has for errors, each by a request that a client might send: the
status, the one shape, the fields that go with it, and that /docs/errors tells what it means.
"""
import re
import socket
import sqlite3

from model_support import Asking
from people import send_file
from support import (BODY_BYTES, JSON_FIELDS, ROOT, Server, add_case, bearer, case, equal, expect, main, make_key,
                     refused, request_bytes, to_json, wait_until)
from turn_rules import body_of, check_whole, get_turn, new_turn, post_turn, read_events, whole_turn

SSE = [("Accept", "text/event-stream")]
VERY_SLOW = ("--turn-pace", "1m", "--grace", "400ms")
STATUS = {
    "missing_authorization": 401, "invalid_token": 401, "forbidden": 403, "invalid_request": 400,
    "invalid_field": 400, "invalid_file_type": 400, "unprocessable": 422, "turn_not_found": 404,
    "lab_not_found": 404, "source_not_found": 404, "memory_not_found": 404, "not_found": 404,
    "turn_events_expired": 404, "method_not_allowed": 405, "not_acceptable": 406, "already_exists": 409,
    "idempotency_key_mismatch": 409, "payload_too_large": 413, "unsupported_media_type": 415,
    "rate_limit_exceeded": 429, "concurrency_limit_exceeded": 429, "internal_error": 500,
    "storage_unavailable": 503}
PRODUCED = set()


def produces(code, *options, **more):
    """Marks a function whose answer is the refusal, by a server with these options."""
    def mark(function):
        def run():
            with Server(*options, **more) as server:
                answer = function(server)
                check_refusal(server, answer, code)

        PRODUCED.add(code)
        add_case(f"{code}: {function.__name__}", run)
        return function
    return mark


def check_refusal(server, answer, code):
    error = refused(answer, STATUS[code], code)
    expect(re.fullmatch(r"req_[0-9A-HJKMNP-TV-Z]{26}", error["request_id"]), "request_id", error)
    equal("retry-after" in dict(answer.fields), answer.status in (429, 503), "Retry-After")
    if answer.status in (429, 503):
        expect(int(answer.field("retry-after")) >= 1, "Retry-After", answer.field("retry-after"))
    equal("allow" in dict(answer.fields), answer.status == 405, "Allow")
    path, anchor = error["docs_url"].split("#")
    page = server.ask("GET", path)
    equal(page.status, 200, path)
    expect(f'<dt id="{anchor}">{code}</dt><dd>HTTP {STATUS[code]}: '.encode() in page.body, "a section for", code)


# ---- who asks ----

@produces("missing_authorization", is_open=False)
def question_without_a_key(server):
    return post_turn(server, body_of("hello"))


@produces("invalid_token", is_open=False)
def question_with_a_key_that_nobody_made(server):
    return post_turn(server, body_of("hello"), bearer("weir_000000000000_" + 43 * "x"))


@produces("forbidden", is_open=False)
def question_with_a_key_that_may_only_read(server):
    return post_turn(server, body_of("hello"), bearer(make_key(server, "--scope", "read")))


@produces("rate_limit_exceeded", is_open=False)
def requests_beyond_the_rate_of_a_key(server):
    fields = bearer(make_key(server, "--rate", "1/m", "--burst", "2"))
    answers = [server.ask("GET", "/v1/turns", fields) for _ in range(3)]
    equal([answer.status for answer in answers[:2]], [200, 200], "within the rate")
    return answers[2]


@produces("concurrency_limit_exceeded", *VERY_SLOW)
def fourth_turn_in_flight(server):
    for _ in range(3):
        new_turn(server)
    return post_turn(server, body_of("and another one"))


# ---- what is asked ----

@produces("invalid_request")
def body_that_is_no_json(server):
    return post_turn(server, b'{"messages":')


@produces("invalid_field")
def message_of_nobody(server):
    answer = post_turn(server, {"messages": [{"role": "nobody", "content": "hello"}]})
    expect("messages[0].role" in answer.json()["error"]["message"], "the path of the field", answer.body)
    return answer


@produces("invalid_file_type")
def import_of_a_picture(server):
    return send_file(server, b"\x89PNG\r\n\x1a\n" + bytes(100), "?name=me.png")


@produces("unprocessable")
def report_without_a_result(server):
    report = b"date,test,value,unit\n2025-02-31,LDL,3.0,mmol/L\n"
    return server.ask("POST", "/v1/labs", [("Content-Type", "text/csv")], report)


@produces("unprocessable", *VERY_SLOW)
def replay_of_a_turn_that_runs(server):
    return server.ask("GET", f"/v1/turns/{new_turn(server)['id']}/replay")


@produces("payload_too_large")
def question_of_more_than_a_mebibyte(server):
    return post_turn(server, body_of("x" * BODY_BYTES))


@produces("unsupported_media_type")
def question_as_xml(server):
    return server.ask("POST", "/v1/turns", [("Content-Type", "text/xml")], b"<question/>")


@produces("not_acceptable")
def stream_as_a_picture(server):
    server.append("a", 1)
    return server.ask("GET", "/v1/streams/a", [("Accept", "image/png")])


@produces("method_not_allowed")
def turn_to_be_deleted(server):
    answer = server.ask("DELETE", f"/v1/turns/{new_turn(server)['id']}")
    equal(answer.field("allow"), "GET, HEAD, OPTIONS", "Allow")
    return answer


# ---- what is not there, and what is ----

@produces("turn_not_found")
def turn_that_never_was(server):
    return server.ask("GET", "/v1/turns/turn_01ARZ3NDEKTSV4RRFFQ69G5FAV")


@produces("turn_not_found", is_open=False)
def turn_of_somebody_else(server):
    ann, bob = [bearer(make_key(server, "--owner", name)) for name in ("ann", "bob")]
    turn = whole_turn(server, "thanks!", ann)
    return server.ask("GET", f"/v1/turns/{turn['id']}/events", [*bob, *SSE])


@produces("memory_not_found")
def memory_that_never_was(server):
    return server.ask("DELETE", "/v1/memory/mem_01ARZ3NDEKTSV4RRFFQ69G5FAV")


@produces("lab_not_found")
def result_that_never_was(server):
    return server.ask("GET", "/v1/labs/lab_00000000000000000000000000")


@produces("source_not_found")
def series_of_a_metric_that_nobody_knows(server):
    return server.ask("GET", "/v1/data/series?metric=charm")


@produces("not_found")
def address_that_leads_nowhere(server):
    return server.ask("GET", "/v1/turn")


@produces("already_exists")
def cancelling_what_has_ended(server):
    turn = whole_turn(server, "thanks!")
    return server.ask("POST", f"/v1/turns/{turn['id']}/cancel", [], b"")


@produces("idempotency_key_mismatch")
def key_of_another_question(server):
    key = [("Idempotency-Key", "one")]
    equal(post_turn(server, body_of("thanks!"), key).status, 201, "the first")
    return post_turn(server, body_of("hello"), key)


def change_store(server, statement):
    """Between two lives of a server, what time or a bad disk would do to its store."""
    equal(server.stop(), 0, "exit status")
    with sqlite3.connect(f"{server.data}/weir.db") as db:
        expect(db.execute(statement).rowcount > 0, "changed", statement)
    db.close()
    server.start()


@produces("turn_events_expired")
def events_of_a_turn_that_ended_long_ago(server):
    turn = whole_turn(server, "thanks!")
    year = turn["created_at"][:4]
    change_store(server, f"UPDATE docs SET body = CAST(replace(CAST(body AS TEXT), '_at\":\"{year}-', "
                 "'_at\":\"2001-') AS BLOB) WHERE kind = x'7475726e'")
    equal(get_turn(server, turn["id"])["result"], turn["result"], "the turn itself")
    return server.ask("GET", f"/v1/turns/{turn['id']}/events", SSE)


# ---- what goes wrong here ----

@produces("internal_error")
def turn_whose_document_was_damaged(server):
    turn = whole_turn(server, "thanks!")
    change_store(server, "UPDATE docs SET body = x'7b' WHERE kind = x'7475726e'")
    return server.ask("GET", f"/v1/turns/{turn['id']}")


@produces("storage_unavailable", env={"WEIR_FAULT": "sync:60+"})
def question_when_the_disk_fails(server):
    answers = []

    def is_refused():
        answers.append(server.ask("POST", "/v1/memory", JSON_FIELDS,
                                  to_json({"category": "goal", "text": f"goal {len(answers)}"})))
        return answers[-1].status != 201

    wait_until(is_refused, "the disk fails")
    return post_turn(server, body_of("hello"))


@case
def cancelled_is_in_the_last_event_alone():
    with Server(*VERY_SLOW) as server:
        turn_id = new_turn(server)["id"]
        equal(server.ask("POST", f"/v1/turns/{turn_id}/cancel", [], b"").status, 202, "cancel")
        events = read_events(server, turn_id)
        turn = check_whole(server, turn_id, events)
        equal((turn["status"], turn["error"]["code"]), ("failed", "cancelled"), "how it ended")
        equal(server.ask("GET", f"/v1/turns/{turn_id}").status, 200, "the turn is no error")


@case
def upstream_unavailable_fails_the_turn_of_a_model_that_is_down():
    """A refused connection; the turn itself is no error, and who waited for it is told how it ended."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        down = {"type": "openai", "base_url": f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"}
        role = {"provider": "down", "model": "any"}
        config = {"providers": {"down": down}, "roles": {"fast": role, "main": role}}
        with Asking(config) as server:
            answer = post_turn(server, body_of("How did I sleep last week?", stream=False))
            equal(answer.status, 200, f"status ({answer.body[:300]!r})")
            turn = answer.json()
            equal((turn["status"], turn["error"]["code"]), ("failed", "upstream_unavailable"), "how it ended")
            expect(turn["error"]["message"], "a message", turn)
            check_whole(server, turn["id"], read_events(server, turn["id"]))
            page = server.ask("GET", "/docs/errors").body
            expect(b'<dt id="upstream_unavailable">upstream_unavailable</dt><dd>HTTP 502: ' in page, "a section of its own")


# ---- all of them ----

@case
def every_code_of_the_specification_is_produced_here():
    equal(sorted(STATUS), sorted(PRODUCED), "codes")
    path = ROOT.parent / "shared" / "spec" / "streaming.md"
    if path.exists():
        listed = path.read_text().split("## Errors")[1].split("Codes:")[1]
        expect(set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", listed)) <= set(STATUS) | {"upstream_unavailable"},
               "codes of the specification", listed)


@case
def request_names_itself_and_errors_name_it():
    with Server() as server, server.connect() as conn:
        conn.send(request_bytes("GET", "/v1/turns/x", [("X-Request-Id", "mine-1")]))
        answer = conn.answer()
        equal(refused(answer, 404, "turn_not_found")["request_id"], "mine-1", "request_id")


if __name__ == "__main__":
    main()
