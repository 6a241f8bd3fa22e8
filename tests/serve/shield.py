#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/shield.py [CASE...]

The shield around turns, from outside: what a provider is sent has placeholders, what the user gets
has the values, what is recorded of calls has none; a policy that blocks; and the audit, as JSON and
CSV, in pages, for its owner and for those who administer.
"""
import csv
import io
import json
import pathlib
import tempfile

from model_support import FORMATS, Asking, Upstream, config_of
from support import Server, bearer, case, equal, expect, main, make_key, refused, wait_until, weir
from turn_rules import get_trace, get_turn, new_turn, read_events

CANARY = "canary.alice@example.org"
CARD = "4012 8888 8888 1881"
QUESTION = (f"I am {CANARY} and pay with {CARD}. What was my average resting heart rate in March 2025? "
            f"Mail it to {CANARY}.")


def bodies(upstream):
    return "\n".join(seen["body"] for seen in upstream.seen(has_bodies=True))


def audit(server, query="", fields=()):
    answer = server.ask("GET", f"/v1/shield/audit{query}", fields)
    equal(answer.status, 200, f"the audit ({answer.body[:300]!r})")
    return answer


def policy_file(**members):
    file = tempfile.NamedTemporaryFile("w", prefix="weir-shield-", suffix=".json")
    json.dump(members, file)
    file.flush()
    return file


def expect_nowhere(data, *texts):
    """In no form that a search would find."""
    for text in texts:
        expect(text not in data, f"{text!r} in", data[max(0, data.find(text) - 60):][:160])


@case
def provider_gets_placeholders_and_the_user_the_values():
    for kind in FORMATS:
        with Upstream() as upstream, Asking(config_of(upstream, kind)) as server:
            turn = new_turn(server, QUESTION)
            read_events(server, turn["id"])
            turn = get_turn(server, turn["id"])
            equal(turn["status"], "completed", f"status ({turn['error']})")
            sent = bodies(upstream)
            expect_nowhere(sent, CANARY, CARD, "canary", "4012")
            expect("[email_1]" in sent and "[credit_card_1]" in sent, "placeholders were sent")
            trace = json.dumps(get_trace(server, turn["id"])["steps"])
            calls = json.dumps([step["model_calls"] for step in get_trace(server, turn["id"])["steps"]])
            expect_nowhere(calls, CANARY, CARD)
            expect("[email_1]" in calls, "the trace has placeholders", trace[:200])
            replay = server.ask("GET", f"/v1/turns/{turn['id']}/replay").json()
            equal(replay["same"], True, f"run again ({json.dumps(replay)[:600]})")
            entries = audit(server).json()["data"]
            equal({e["action"] for e in entries}, {"redact"}, "actions")
            equal({e["conversation"] for e in entries}, {turn["id"]}, "of this turn")
            expect(entries[0]["categories"], "categories", entries)
            expect_nowhere(json.dumps(entries), CANARY, CARD)
            expect(server.metric(r'weir_shield_decisions_total\{action="redact"\}') >= 1, "counted")
            equal(server.metric(r"weir_shield_residues_total"), 0, "residues")


@case
def own_machines_get_all_unless_the_policy_covers_them():
    with Upstream() as upstream, Asking(config_of(upstream, "anthropic", external=False)) as server:
        turn = new_turn(server, QUESTION)
        read_events(server, turn["id"])
        expect(CANARY in bodies(upstream), "it was sent as it is")
        equal(audit(server).json(), {"data": [], "next_cursor": None}, "nothing was decided")
    with policy_file(scope="all") as policy, Upstream() as upstream, \
            Asking(config_of(upstream, "anthropic", external=False), "--shield", policy.name) as server:
        turn = new_turn(server, QUESTION)
        read_events(server, turn["id"])
        expect_nowhere(bodies(upstream), CANARY, CARD)


@case
def blocking_policy_ends_the_turn_and_asks_nobody():
    with policy_file(piiAction="block", terms=[{"label": "project", "term": "Blue Heron"}]) as policy, \
            Upstream() as upstream, Asking(config_of(upstream, "openai"), "--shield", policy.name) as server:
        for question in (QUESTION, "How did I sleep while I worked on blue heron?"):
            turn = new_turn(server, question)
            read_events(server, turn["id"])
            turn = get_turn(server, turn["id"])
            equal(turn["status"], "failed", "status")
            expect(turn["error"]["code"].startswith("unprocessable"), "code", turn["error"])
            expect("policy" in turn["error"]["message"], "message", turn["error"])
        equal(upstream.seen(), [], "nobody was asked")
        equal([e["action"] for e in audit(server).json()["data"]], ["policy_block"] * 2, "audit")


@case
def policy_that_is_off_sends_all():
    with policy_file(piiAction="off") as policy, Upstream() as upstream, \
            Asking(config_of(upstream, "anthropic"), "--shield", policy.name) as server:
        turn = new_turn(server, QUESTION)
        read_events(server, turn["id"])
        expect(CANARY in bodies(upstream), "it was sent as it is")


@case
def audit_has_pages_and_owners():
    with policy_file(piiAction="block") as policy, Upstream() as upstream, \
            Asking(config_of(upstream, "openai"), "--shield", policy.name, is_open=False) as server:
        keys = {who: bearer(make_key(server, "--owner", who)) for who in ("alice", "=bob")}
        admin = bearer(make_key(server, "--scopes", "read,write,admin"))
        for who, n in (("alice", 3), ("=bob", 2)):
            for _ in range(n):
                turn = new_turn(server, QUESTION, fields=keys[who])
                read_events(server, turn["id"], fields=keys[who])
        equal(server.ask("GET", "/v1/shield/audit").status, 401, "without a key")
        mine = audit(server, fields=keys["alice"]).json()["data"]
        equal([e["user"] for e in mine], ["alice"] * 3, "what is alice's")
        every = audit(server, fields=admin).json()["data"]
        equal(len(every), 5, "what there is")
        equal([e["id"] for e in every], sorted((e["id"] for e in every), reverse=True), "the newest first")
        seen, cursor = [], ""
        while cursor is not None:
            page = audit(server, f"?limit=2{cursor and f'&cursor={cursor}'}", admin).json()
            expect(len(page["data"]) <= 2, "a page", page)
            seen += page["data"]
            cursor = page["next_cursor"]
        equal(seen, every, "pages together")
        alices, cursor = [], ""
        while cursor is not None:
            page = audit(server, f"?limit=1{cursor and f'&cursor={cursor}'}", keys["alice"]).json()
            alices += page["data"]
            cursor = page["next_cursor"]
        equal(alices, mine, "pages of one person")
        check_csv(server, admin, every)
        for query in ("?limit=0", "?limit=x", "?cursor=x", "?cursor=0", "?format=xml"):
            refused(server.ask("GET", f"/v1/shield/audit{query}", admin), 400, "invalid_field")


def check_csv(server, admin, every):
    by_query = audit(server, "?format=csv", admin)
    by_accept = audit(server, "", [*admin, ("Accept", "text/csv")])
    equal(by_query.body, by_accept.body, "both ways")
    expect(by_query.field("content-type").startswith("text/csv"), "its type", by_query.field("content-type"))
    rows = list(csv.DictReader(io.StringIO(by_query.body.decode(), newline="")))
    equal([int(row["id"]) for row in rows], [e["id"] for e in every], "rows")
    equal({row["user"] for row in rows}, {"alice", "'=bob"}, "formulas are texts")
    equal(rows[0]["action"], "policy_block", "action")
    expect("email" in rows[0]["categories"], "categories", rows[0])
    page = audit(server, "?format=csv&limit=2", admin)
    expect('rel="next"' in page.field("link"), "the next page", page.field("link"))
    more = page.field("link").split(";")[0].strip("<>")
    equal(len(list(csv.reader(io.StringIO(server.ask("GET", more, admin).body.decode())))), 3, "the next rows")


@case
def audit_is_no_stream_and_survives_a_restart():
    with policy_file(piiAction="block") as policy, Upstream() as upstream, \
            Asking(config_of(upstream, "openai"), "--shield", policy.name) as server:
        turn = new_turn(server, QUESTION)
        read_events(server, turn["id"])
        before = audit(server).body
        expect(len(json.loads(before)["data"]) == 1, "an entry", before)
        equal(server.ask("HEAD", "/v1/streams/shield%2Faudit").status, 404, "it is nobody's stream")
        server.restart()
        equal(audit(server).body, before, "the same afterwards")


@case
def key_of_maps_is_made_and_its_file_is_looked_at():
    with Server() as server:
        path = pathlib.Path(server.data) / "shield.key"
        equal(path.stat().st_mode & 0o777, 0o600, "closed to others")
        key = path.read_bytes()
        server.restart()
        equal(path.read_bytes(), key, "it stays")


@case
def maps_are_sealed_anew_after_a_rotation():
    with Upstream() as upstream, Asking(config_of(upstream, "anthropic")) as server:
        turn = new_turn(server, QUESTION)
        read_events(server, turn["id"])
        path = pathlib.Path(server.data) / "shield.key"
        equal(weir("shield", "key", "rotate", "--data", server.data).returncode, 0, "rotating")
        server.restart()
        wait_until(lambda: "sealed with the newest key" in server.errors(), "old maps are sealed anew")
        server.stop()
        path.write_text(path.read_text().splitlines()[0] + "\n")
        server.start()
        replay = server.ask("GET", f"/v1/turns/{turn['id']}/replay").json()
        equal(replay["same"], True, f"opened by the new key alone ({json.dumps(replay)[:600]})")


if __name__ == "__main__":
    main()
