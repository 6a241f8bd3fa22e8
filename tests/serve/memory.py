#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/memory.py [CASE]...

/v1/memory: what is remembered of people, for them to read, correct and delete, against the real
server.
"""
import concurrent.futures
import json
import re
import signal

from people import ask_local, fields_for, json_body, pages
from support import JSON_FIELDS, Server, case, equal, expect, main, refused

MEMBERS = ["category", "created_at", "data", "id", "source_turn", "text", "updated_at"]
CATEGORIES = ("goal", "preference", "insight", "hypothesis")
TEXT_BYTES = 4096
DATA_BYTES = 16 << 10
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def post(server, value, fields=()):
    return server.ask("POST", "/v1/memory", [*JSON_FIELDS, *fields], json_body(value))


def patch(server, entry_id, value, fields=()):
    return server.ask("PATCH", f"/v1/memory/{entry_id}", [*JSON_FIELDS, *fields], json_body(value))


def get(server, entry_id, fields=()):
    return server.ask("GET", f"/v1/memory/{entry_id}", fields)


def delete(server, entry_id, fields=()):
    return server.ask("DELETE", f"/v1/memory/{entry_id}", fields)


def check_entry(entry):
    equal(sorted(entry), MEMBERS, "members")
    expect(re.fullmatch(r"mem_[0-9A-HJKMNP-TV-Z]{26}", entry["id"]), "an id", entry)
    expect(entry["category"] in CATEGORIES, "a category", entry)
    for name in ("created_at", "updated_at"):
        expect(re.fullmatch(TIME, entry[name]), name, entry)
    expect(entry["created_at"] <= entry["updated_at"], "times", entry)
    return entry


def made(answer):
    equal(answer.status, 201, f"a new entry ({answer.body[:300]!r})")
    entry = check_entry(answer.json())
    equal(answer.field("location"), f"/v1/memory/{entry['id']}", "Location")
    return entry


def goal(text="sleep eight hours", **others):
    return {"category": "goal", "text": text, **others}


# ---- one entry ----

@case
def entry_is_made_read_changed_and_deleted():
    with Server() as server:
        entry = made(post(server, goal(data={"hours": 8, "days": [1, 2.50]})))
        equal((entry["category"], entry["text"], entry["source_turn"]), ("goal", "sleep eight hours", None))
        equal(entry["created_at"], entry["updated_at"])
        equal(get(server, entry["id"]).json(), entry)
        changed = patch(server, entry["id"], {"text": "sleep seven hours"})
        equal(changed.status, 200)
        after = check_entry(changed.json())
        equal({**entry, "text": "sleep seven hours", "updated_at": after["updated_at"]}, after)
        equal(get(server, entry["id"]).json(), after)
        gone = delete(server, entry["id"])
        equal((gone.status, gone.body), (204, b""))
        refused(get(server, entry["id"]), 404, "memory_not_found")
        refused(delete(server, entry["id"]), 404, "memory_not_found")
        refused(patch(server, entry["id"], {"text": "x"}), 404, "memory_not_found")


@case
def entry_outlives_a_kill():
    with Server() as server:
        entry = made(post(server, goal()))
        patched = patch(server, entry["id"], {"category": "insight"}).json()
        server.restart(signal.SIGKILL)
        equal(get(server, entry["id"]).json(), patched)


@case
def every_text_and_every_kind_of_data_comes_back_as_it_was():
    with Server() as server:
        for text in ("x", "a\0b", "\ud800", "\U0001f634 schlafen", "x" * TEXT_BYTES, " x", "\u20ac" * (TEXT_BYTES // 3)):
            entry = made(post(server, json.dumps(goal(text)).encode()))
            equal(entry["text"], text)
            equal(get(server, entry["id"]).json()["text"], text)
        for data in (None, True, 1.5, "text", [], {}, {"a": [None, {"b": "\0"}]}, "x" * (DATA_BYTES - 2)):
            entry = made(post(server, goal(data=data)))
            equal(entry["data"], data)
        # Numbers keep their digits.
        answer = post(server, b'{"category":"goal","text":"x","data":[1.10,1e400,12345678901234567890123]}')
        expect(b"[1.10,1e400,12345678901234567890123]" in answer.body, "digits", answer.body)


@case
def wrong_members_are_refused_by_name():
    with Server() as server:
        entry = made(post(server, goal()))
        for value, code, text in ((b"", "invalid_request", "JSON"), (b"{", "invalid_request", "byte 1"),
                                  (b"[]", "invalid_request", "object"), (b"null", "invalid_request", "object"),
                                  ({"category": "wish"}, "invalid_field", "category"),
                                  ({"category": "Goal"}, "invalid_field", "category"),
                                  ({"category": 1}, "invalid_field", "category"),
                                  ({"category": None}, "invalid_field", "category"),
                                  ({"text": ""}, "invalid_field", "text"),
                                  ({"text": " \n\t"}, "invalid_field", "text"),
                                  ({"text": 7}, "invalid_field", "text"),
                                  ({"text": None}, "invalid_field", "text"),
                                  ({"text": "x" * (TEXT_BYTES + 1)}, "invalid_field", "4096"),
                                  ({"data": "x" * (DATA_BYTES - 1)}, "invalid_field", "data")):
            refused(patch(server, entry["id"], value), 400, code, text)
            whole = {**goal(), **value} if isinstance(value, dict) else value
            refused(post(server, whole), 400, code, text)
        refused(post(server, {"text": "x"}), 400, "invalid_field", "category")
        refused(post(server, {"category": "goal"}), 400, "invalid_field", "text")
        refused(patch(server, entry["id"], {}), 400, "invalid_request", "text")
        refused(patch(server, entry["id"], {"id": "mem_x", "created_at": "x"}), 400, "invalid_request")
        refused(server.ask("POST", "/v1/memory", [("Content-Type", "text/plain")], b"{}"), 415,
                "unsupported_media_type")
        equal(get(server, entry["id"]).json(), entry)
        equal(pages(server, "/v1/memory", 100), [entry])
        # Others are ignored, those that are not for people to say too.
        answer = made(post(server, goal(id="mem_x", source_turn="turn_x", created_at="x", mood=1)))
        equal(answer["source_turn"], None)


@case
def unknown_ids_are_not_there_whatever_they_look_like():
    with Server() as server:
        entry = made(post(server, goal()))
        for name in ("mem_", "x", entry["id"].lower(), entry["id"][:-1], entry["id"] + "0", entry["id"][4:],
                     "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", "turn" + entry["id"][3:], "%2e%2e", "m" * 5000):
            for method in ("GET", "PATCH", "DELETE"):
                answer = server.ask(method, f"/v1/memory/{name}", JSON_FIELDS,
                                    b'{"text":"x"}' if method == "PATCH" else None)
                refused(answer, 404, "memory_not_found")
        refused(server.ask("PUT", f"/v1/memory/{entry['id']}", JSON_FIELDS, b"{}"), 405, "method_not_allowed")
        equal(server.ask("OPTIONS", "/v1/memory/x").field("allow"), "GET, HEAD, PATCH, DELETE, OPTIONS")


# ---- lists ----

@case
def list_has_the_newest_first_in_pages_and_by_category():
    with Server() as server:
        entries = [made(post(server, {"category": CATEGORIES[i % 4], "text": f"number {i}"})) for i in range(23)]
        entries.reverse()
        if Server.n_nodes > 1:  # what two nodes make within a millisecond has no order but that of the ids
            entries.sort(key=lambda entry: entry["id"], reverse=True)
        for limit in (1, 7, 23, 100):
            equal(pages(server, "/v1/memory", limit), entries, f"pages of {limit}")
        equal(server.ask("GET", "/v1/memory").json()["data"], entries[:20])
        for category in CATEGORIES:
            wanted = [entry for entry in entries if entry["category"] == category]
            for limit in (1, 2, 100):
                equal(pages(server, f"/v1/memory?category={category}", limit), wanted, category)
        for query in ("limit=0", "limit=101", "limit=x", "limit=", "cursor=x", "cursor=", "category=x", "category="):
            refused(server.ask("GET", f"/v1/memory?{query}"), 400, "invalid_field", query.split("=", 1)[0])
        # A page goes on behind an entry that was deleted meanwhile.
        cursor = server.ask("GET", "/v1/memory?limit=2").json()["next_cursor"]
        equal(delete(server, cursor).status, 204)
        equal(server.ask("GET", f"/v1/memory?limit=2&cursor={cursor}").json()["data"], entries[2:4])


@case
def list_of_nobody_is_empty():
    with Server() as server:
        equal(server.ask("GET", "/v1/memory").json(), {"data": [], "next_cursor": None})


# ---- people ----

@case
def nobody_sees_or_changes_what_is_another_ones():
    with Server(is_open=False) as server:
        ann, bob = fields_for(server, "ann"), fields_for(server, "bob")
        reader = fields_for(server, "ann", "--scope", "read")
        entry = made(post(server, goal(), ann))
        for answer in (get(server, entry["id"], bob), patch(server, entry["id"], {"text": "x"}, bob),
                       delete(server, entry["id"], bob)):
            refused(answer, 404, "memory_not_found")
        equal(pages(server, "/v1/memory", 10, bob), [])
        equal(pages(server, "/v1/memory", 10, reader), [entry])
        refused(post(server, goal(), reader), 403, "forbidden")
        refused(patch(server, entry["id"], {"text": "x"}, reader), 403, "forbidden")
        refused(delete(server, entry["id"], reader), 403, "forbidden")
        refused(server.ask("GET", "/v1/memory"), 401, "missing_authorization")
        equal(get(server, entry["id"], ann).json(), entry)


@case
def control_socket_may_name_anybody_and_nothing_else_may():
    with Server(is_open=False) as server:
        ann = fields_for(server, "ann")
        entry = made(post(server, goal(), ann))
        equal(ask_local(server, "GET", "/v1/memory?user=ann").json()["data"], [entry])
        equal(ask_local(server, "GET", f"/v1/memory/{entry['id']}?user=ann").json(), entry)
        equal(ask_local(server, "GET", "/v1/memory").json()["data"], [])
        mine = ask_local(server, "POST", "/v1/memory", JSON_FIELDS, json_body(goal("mine"))).json()
        equal(ask_local(server, "GET", "/v1/memory?user=me").json()["data"], [mine])
        refused(ask_local(server, "GET", f"/v1/memory/{mine['id']}?user=ann"), 404, "memory_not_found")
        named = ask_local(server, "POST", "/v1/memory?user=z%C3%BC", JSON_FIELDS, json_body(goal())).json()
        equal(ask_local(server, "GET", "/v1/memory?user=z%C3%BC").json()["data"], [named])
        for name in ("", "a%2Fb", "%00", "%0A", "%FF", "x" * 64, "%zz", "%"):
            refused(ask_local(server, "GET", f"/v1/memory?user={name}"), 400, "invalid_field", "user")
        equal(ask_local(server, "GET", f"/v1/memory?user={'x' * 63}").status, 200)
        equal(pages(server, "/v1/memory?user=me", 10, ann), [entry])
    with Server() as server:
        entry = made(post(server, goal()))
        equal(pages(server, "/v1/memory?user=ann", 10), [entry])
        equal(ask_local(server, "GET", "/v1/memory").json()["data"], [entry])


# ---- requests that are sent again, and races ----

@case
def key_makes_one_entry_of_many_requests():
    with Server() as server:
        key = [("Idempotency-Key", "k1")]
        entry = made(post(server, goal(), key))
        again = post(server, goal(), key)
        equal((made(again), again.field("idempotent-replayed")), (entry, "true"))
        refused(post(server, goal("other"), key), 409, "idempotency_key_mismatch")
        server.restart(signal.SIGKILL)
        equal(made(post(server, goal(), key)), entry)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: post(server, goal("same"), [("Idempotency-Key", "k2")]), range(16)))
        equal(len({made(answer)["id"] for answer in answers}), 1, "entries")
        equal(sum(answer.field("idempotent-replayed") is None for answer in answers), 1, "first answers")
        equal(len(pages(server, "/v1/memory", 100)), 2)
        for bad in ("", "a b", "x" * 256):
            refused(post(server, goal(), [("Idempotency-Key", bad)]), 400, "invalid_field", "Idempotency-Key")


@case
def key_makes_one_change_of_many_requests():
    with Server() as server:
        entry = made(post(server, goal()))
        key = [("Idempotency-Key", "k1")]
        first = patch(server, entry["id"], {"text": "one"}, key)
        patch(server, entry["id"], {"text": "two"})
        again = patch(server, entry["id"], {"text": "one"}, key)
        equal((again.status, again.json(), again.field("idempotent-replayed")), (200, first.json(), "true"))
        equal(get(server, entry["id"]).json()["text"], "two")
        refused(patch(server, entry["id"], {"text": "three"}, key), 409, "idempotency_key_mismatch")
        delete(server, entry["id"])
        equal(patch(server, entry["id"], {"text": "one"}, key).json(), first.json())
        # What was refused may be sent again by the same key.
        other = [("Idempotency-Key", "k2")]
        refused(patch(server, entry["id"], {"text": "x"}, other), 404, "memory_not_found")
        refused(post(server, {}, other), 400, "invalid_field")
        made(post(server, goal(), other))


@case
def changes_at_the_same_instant_all_happen():
    with Server() as server:
        entry = made(post(server, goal("start", data=0)))
        changes = [{"category": "insight"}, {"text": "changed"}, {"data": {"n": 1}}] * 8
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda change: patch(server, entry["id"], change), changes))
        equal({answer.status for answer in answers}, {200})
        after = check_entry(get(server, entry["id"]).json())
        equal((after["category"], after["text"], after["data"]), ("insight", "changed", {"n": 1}))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(lambda _: delete(server, entry["id"]).status, range(8)))
        equal(sorted(statuses), [204] + [404] * 7)


@case
def client_that_leaves_has_made_its_entry():
    with Server() as server:
        for i in range(20):
            conn = server.connect()
            conn.request("POST", "/v1/memory", [*JSON_FIELDS, ("Idempotency-Key", f"k{i}")], json_body(goal(f"n{i}")))
            conn.close()
        entries = [made(post(server, goal(f"n{i}"), [("Idempotency-Key", f"k{i}")])) for i in range(20)]
        equal({entry["text"] for entry in pages(server, "/v1/memory", 100)}, {entry["text"] for entry in entries})
        equal(len(pages(server, "/v1/memory", 100)), 20)


if __name__ == "__main__":
    main()
