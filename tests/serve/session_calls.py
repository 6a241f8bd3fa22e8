#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/session_calls.py [CASE...]

The calls of sessions by the public client: what they bring, and how each is refused: members that are
missing, unknown or of another type, what is not there, bodies that are none. The client of npm_session
checks the form of every answer.
"""
from session_support import SessionServer, Tabs, says, world
from support import JSON_FIELDS, case, equal, expect, main, to_json

NOBODY = "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV"
TEXT = {"empty": "", "number": 7, "null": None, "list": ["x"], "with NUL": "a\0b"}
# Of each method: members it must have, others it may have, and what it says to all that when nothing is there.
METHODS = {
    "chat/send": ({"clientId": "c", "text": "Hello."}, {"sessionId": NOBODY}, 200),
    "chat/abort": ({"sessionId": NOBODY}, {}, 404),
    "chat/steer": ({"sessionId": NOBODY, "text": "x"}, {}, 404),
    "tools/approve": ({"approvalId": "ap_1", "clientId": "c", "scope": "once"}, {}, 404),
    "tools/deny": ({"approvalId": "ap_1", "clientId": "c"}, {"reason": "x"}, 404),
    "tools/catalog": ({}, {}, 200),
    "tools/listPending": ({}, {"sessionId": NOBODY}, 200),
    "clarify/respond": ({"requestId": "clr_1", "answer": "x", "source": "user"}, {}, 404),
    "clarify/listPending": ({}, {"sessionId": NOBODY}, 200),
    "sessions/list": ({}, {"q": "x"}, 200),
    "sessions/get": ({"id": NOBODY}, {}, 404),
    "sessions/create": ({}, {"title": "x"}, 200),
    "sessions/fork": ({"id": NOBODY}, {}, 404),
    "sessions/update": ({"id": NOBODY, "title": "x"}, {}, 404),
    "sessions/pin": ({"id": NOBODY}, {}, 404),
    "sessions/unpin": ({"id": NOBODY}, {}, 404),
    "sessions/delete": ({"id": NOBODY}, {}, 404),
    "cron/create": ({"schedule": "0 7 * * 1-5", "text": "x"}, {"sessionId": NOBODY, "timezone": "Europe/Berlin", "name": "n"}, 200),
    "cron/list": ({}, {}, 200),
    "cron/delete": ({"id": "cron_01ARZ3NDEKTSV4RRFFQ69G5FAV"}, {}, 404),
    "skills/list": ({}, {}, 200),
    "skills/accept": ({"id": "skl_01ARZ3NDEKTSV4RRFFQ69G5FAV"}, {"name": "n"}, 404),
    "skills/reject": ({"id": "skl_01ARZ3NDEKTSV4RRFFQ69G5FAV"}, {}, 404),
}
MAY_BE_EMPTY = {("clarify/respond", "answer"), ("tools/deny", "reason"), ("sessions/update", "title"),
                ("chat/send", "sessionId"), ("sessions/list", "q")}
MAY_BE_NULL = {("sessions/update", "title")}


def wrong_inputs(method):
    """(what is wrong, the member at fault, the input)."""
    needed, optional, _ = METHODS[method]
    for name in needed:
        yield "missing", name, {key: value for key, value in needed.items() if key != name}
    for name in [*needed, *optional]:
        for kind, value in TEXT.items():
            is_fine = (kind == "empty" and (method, name) in MAY_BE_EMPTY) or (kind == "null" and (method, name) in MAY_BE_NULL)
            if not is_fine and not (kind == "null" and name in optional):
                yield kind, name, {**needed, name: value}
    if method != "chat/send":
        yield "unknown", "surprise", {**needed, "surprise": 1}


@case
def every_method_says_which_member_is_wrong():
    with SessionServer() as server, Tabs(server) as tabs:
        wrong = []
        for method in METHODS:
            for kind, name, value in wrong_inputs(method):
                result = tabs.call(method, value)
                field = (result.get("data") or {}).get("field")
                is_named = field == name or (field is None and name in result.get("message", ""))
                is_nowhere = name.lower().endswith("id") and kind in ("empty", "with NUL") and result["status"] == 404
                if not is_nowhere and (result["status"] != 400 or not is_named):
                    wrong.append((method, kind, name, result))
        expect(not wrong, f"{len(wrong)} inputs", wrong[:12])


@case
def every_method_says_when_there_is_nothing():
    with SessionServer() as server, Tabs(server) as tabs:
        for method, (needed, _, status) in METHODS.items():
            equal(tabs.call(method, needed)["status"], status, method)


@case
def null_is_as_good_as_nothing_where_a_member_may_be_missing():
    with SessionServer() as server, Tabs(server) as tabs:
        for method, (needed, optional, status) in METHODS.items():
            for name in optional:
                equal(tabs.call(method, {**needed, name: None})["status"], status, f"{method} without {name}")
        tabs.must("sessions/list", {"q": None, "limit": None, "cursor": None})


@case
def values_have_their_ranges():
    far = "x" * (300 << 10)
    with SessionServer() as server, Tabs(server) as tabs:
        session, _ = tabs.send("Hello.")
        for method, value in (
                ("tools/approve", {"approvalId": "ap_1", "clientId": "c", "scope": "for ever"}),
                ("clarify/respond", {"requestId": "clr_1", "answer": "x", "source": "timeout-default"}),
                ("sessions/list", {"limit": 0}), ("sessions/list", {"limit": 201}), ("sessions/list", {"limit": 1.5}),
                ("sessions/list", {"limit": "5"}), ("sessions/list", {"cursor": "nonsense"}),
                ("sessions/update", {"id": session, "title": "x" * 201}),
                ("cron/create", {"schedule": "61 * * * *", "text": "x"}), ("cron/create", {"schedule": "* * * *", "text": "x"}),
                ("cron/create", {"schedule": "* * * * *", "text": "x", "timezone": "Nowhere/Town"}),
                ("cron/create", {"schedule": "* * 31 2 *", "text": "x"})):
            tabs.refused(400, method, value)
        equal(tabs.call("chat/send", {"clientId": "c", "text": far})["status"] in (400, 413), True, "a text that is too long")
        equal(tabs.call("chat/send", {"clientId": "c" * 500, "text": "x"})["status"], 400, "a client with a long name")
        for more in ({"dryRun": True}, {"attachments": [{"name": "a"}]}):
            tabs.refused(422, "chat/send", {"clientId": "c", "text": "x", **more})
        for more in ({"dryRun": False}, {"attachments": []}, {"personalityId": "p", "userId": "u", "whatever": [1]}):
            tabs.must("chat/send", {"clientId": "c", "text": "x", "sessionId": session, **more})


@case
def what_is_no_call_is_refused_in_the_form_of_calls():
    with SessionServer(None, "--max-body", "64K") as server:
        def refused(status, *request, code):
            answer = server.ask(*request)
            equal(answer.status, status, f"{request[:2]} {answer.body[:200]}")
            error = answer.json()["json"]
            equal((error["defined"], error["code"], error["status"]), (False, code, status))
            expect(error["message"], "a message")

        good = to_json({"json": {}})
        refused(404, "POST", "/rpc/chat/nothing", JSON_FIELDS, good, code="NOT_FOUND")
        refused(404, "POST", "/rpc/none/send", JSON_FIELDS, good, code="NOT_FOUND")
        refused(405, "GET", "/rpc/sessions/list", code="METHOD_NOT_SUPPORTED")
        refused(415, "POST", "/rpc/sessions/list", [("Content-Type", "text/plain")], good, code="UNSUPPORTED_MEDIA_TYPE")
        refused(413, "POST", "/rpc/chat/send", JSON_FIELDS, to_json({"json": {"text": "x" * 70000}}), code="PAYLOAD_TOO_LARGE")
        for body in (b"{", b"[]", b"null", b'{"json":[]}', b'{"json":"x"}', b'{"input":{}}', b'{"json":{}}x', b"\xff"):
            refused(400, "POST", "/rpc/sessions/list", JSON_FIELDS, body, code="BAD_REQUEST")


@case
def sessions_are_listed_named_pinned_forked_and_deleted():
    with world(default=says("Yes.")) as (_, server, tabs):
        made = []
        for number in range(5):
            session, _ = tabs.send(f"Question {number}.")
            tabs.watch(session, session).until("done")
            made.append(session)
        first = tabs.must("sessions/list", {"limit": 2})
        seen = [one["id"] for one in first["sessions"]]
        cursor = first["nextCursor"]
        while cursor:
            page = tabs.must("sessions/list", {"limit": 2, "cursor": cursor})
            seen += [one["id"] for one in page["sessions"]]
            cursor = page["nextCursor"]
        equal(sorted(seen), sorted(made), "all of them, once")
        equal({one["title"] for one in first["sessions"]}, {f"Question {n}." for n in (len(made) - 1, len(made) - 2)})
        renamed = tabs.must("sessions/update", {"id": made[1], "title": "A walk in May"})["session"]
        equal(renamed["title"], "A walk in May")
        equal([one["id"] for one in tabs.must("sessions/list", {"q": "walk in"})["sessions"]], [made[1]])
        equal(tabs.must("sessions/update", {"sessionId": made[1], "title": None})["session"]["title"], None)
        tabs.must("sessions/pin", {"id": made[0]})
        equal(tabs.must("sessions/get", {"id": made[0]})["session"]["pinned"], True)
        equal([one["id"] for one in tabs.must("sessions/list")["sessions"] if one["pinned"]], [made[0]])
        tabs.must("sessions/unpin", {"id": made[0]})
        fork = tabs.must("sessions/fork", {"id": made[2]})["session"]
        equal(fork["parentSessionId"], made[2])
        equal([m["content"] for m in server.messages(fork["id"])], ["Question 2.", "Yes."])
        tabs.send("And now for something else.", fork["id"])
        tabs.watch(fork["id"], "fork").until("done")
        equal(len(server.messages(made[2])), 2, "the first one stays as it was")
        tabs.must("sessions/delete", {"id": made[3]})
        for method in ("sessions/get", "sessions/delete", "sessions/fork", "sessions/pin"):
            tabs.refused(404, method, {"id": made[3]})
        gone = tabs.watch(made[3], "gone")
        gone.wait(lambda lines: any(line.get("status") == 404 for line in lines), "404")
        expect(made[3] not in [one["id"] for one in tabs.must("sessions/list")["sessions"]], "it is not listed")


if __name__ == "__main__":
    main()
