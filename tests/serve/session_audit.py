#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/session_audit.py [CASE...]

What was decided about tools, as its owner and whoever administers can read it: by people, by their
scopes, by deadlines and by aborts; without arguments, reasons and answers, over restarts, as JSON
and as CSV.
"""
import csv
import io

from session_support import SessionServer
from support import bearer, case, equal, expect, main, make_key, refused

NOTE = "canary in a note"
REASON = "canary in a reason"


def audit(server, key=None, query=""):
    answer = server.ask("GET", f"/v1/sessions/audit{query}", bearer(key) if key else [])
    equal(answer.status, 200, f"the audit ({answer.body[:300]!r})")
    return answer


def entries(server, key=None, query=""):
    return audit(server, key, query).json()["data"]


def ask_for_note(server, name, session=None, key=None, n=1):
    """The session, and the nth question for approval in it."""
    session, _ = server.send(f"note {name}: {NOTE}", session, key)
    events = server.whole(session, "tool.approval_required", n, key)
    return session, events[-1][1]["request"]


def approve(server, request, scope, key=None):
    server.must("tools/approve", {"approvalId": request["approvalId"], "clientId": "tab", "scope": scope}, key)


@case
def everybody_sees_what_is_theirs():
    with SessionServer(is_open=False) as server:
        alice, bob = (make_key(server, "--owner", who) for who in ("alice", "=bob"))
        admin = make_key(server, "--scopes", "read,write,admin")
        equal(server.ask("GET", "/v1/sessions/audit").status, 401, "without a key")
        equal(audit(server, alice).json(), {"data": [], "next_cursor": None}, "nothing was decided")
        session, request = ask_for_note(server, "first", key=alice)
        approve(server, request, "any-args", alice)
        server.whole(session, "done", key=alice)
        server.send(f"note second: {NOTE}", session, alice)
        server.whole(session, "done", 2, alice)
        theirs, denied = ask_for_note(server, "third", key=bob)
        server.must("tools/deny", {"approvalId": denied["approvalId"], "clientId": "=1+1", "reason": REASON}, bob)
        server.whole(theirs, "approval.resolved", key=bob)
        check_entries(entries(server, alice), session, request)
        mine = entries(server, bob)
        equal([(e["user"], e["decision"], e["decidedBy"], e["textBytes"]) for e in mine],
              [("=bob", "deny", "=1+1", len(REASON))], "what is bob's")
        every = entries(server, admin)
        equal(every, mine + entries(server, alice), "all of it, the newest first")
        check_pages(server, admin, every)
        check_table(server, admin, every)
        for query in ("?limit=0", "?limit=x", "?cursor=x", "?cursor=0", "?format=xml"):
            refused(server.ask("GET", f"/v1/sessions/audit{query}", bearer(admin)), 400, "invalid_field")
        expect(b"canary" not in audit(server, admin).body, "no value is in it", audit(server, admin).body)


def check_entries(found, session, request):
    by_scope, by_alice = found
    equal({e["session"] for e in found}, {session})
    equal({e["tool"] for e in found}, {request["toolName"]})
    expect(by_scope["argsHash"] != by_alice["argsHash"], "other arguments", found)
    equal((by_alice["question"], by_alice["decision"], by_alice["decidedBy"], by_alice["decider"], by_alice["scope"]),
          (request["approvalId"], "allow", "tab", "user", "any-args"))
    equal((by_scope["decision"], by_scope["decidedBy"], by_scope["decider"], by_scope["scope"]),
          ("allow", "scope:any-args", "scope", "any-args"))


def check_pages(server, key, every):
    seen, cursor = [], ""
    while cursor is not None:
        page = audit(server, key, f"?limit=1{cursor and f'&cursor={cursor}'}").json()
        seen += page["data"]
        cursor = page["next_cursor"]
    equal(seen, every, "pages together")


def check_table(server, key, every):
    table = audit(server, key, "?format=csv")
    rows = list(csv.DictReader(io.StringIO(table.body.decode(), newline="")))
    equal(list(rows[0]), list(every[0]), "its columns are the members")
    equal([int(row["id"]) for row in rows], [e["id"] for e in every], "rows")
    equal({row["user"] for row in rows}, {"alice", "'=bob"}, "formulas are texts")
    equal(rows[0]["decidedBy"], "'=1+1", "names of tabs, too")
    page = audit(server, key, "?format=csv&limit=1")
    expect("</v1/sessions/audit?" in page.field("link"), "the next page", page.field("link"))


@case
def deadlines_and_aborts_are_decisions_and_stay():
    with SessionServer(None, "--approval-timeout", "300ms") as server:
        session, late = ask_for_note(server, "late")
        server.whole(session, "approval.resolved")
        equal([(e["question"], e["decision"], e["decidedBy"], e["decider"]) for e in entries(server)],
              [(late["approvalId"], "deny", "timeout", "deadline")])
        expect(entries(server)[0]["waitedMs"] >= 300, "how long it was waited for", entries(server))
        server.options = []
        server.restart()
        session, unwanted = ask_for_note(server, "unwanted")
        server.must("chat/abort", {"sessionId": session})
        found = entries(server)
        equal((found[0]["question"], found[0]["decision"], found[0]["decidedBy"], found[0]["decider"]),
              (unwanted["approvalId"], "deny", "abort", "abort"))
        equal(server.call("tools/approve", {"approvalId": unwanted["approvalId"], "clientId": "tab",
                                            "scope": "any-args"}).status, 409, "too late")
        server.must("sessions/delete", {"id": session})
        server.restart()
        equal(entries(server), found, "also of what was deleted")
        equal(server.ask("HEAD", "/v1/streams/sessions%2Faudit").status, 404, "it is nobody's stream")


if __name__ == "__main__":
    main()
