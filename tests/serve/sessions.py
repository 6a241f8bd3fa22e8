#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/sessions.py [CASE...]

Sessions as the public client sees them: npm_session has one written from what its users are told, with
schemas that allow nothing but what is promised. It watches turns with text, thoughts, tools, questions
and failures on a model that is the stand-in of tests/upstream, and on the builtin provider.
"""
import contextlib
import socket
import threading

from model_support import MODELS
from session_support import ENDS, SessionServer, Tabs, check_session, says, thinks, uses, when, world
from support import Watch, case, equal, expect, main, wait_until

GOOD = {
    "run_start": {"provider": "p", "model": "m", "source": "global"},
    "text_delta": {"text": ""},
    "thinking_delta": {"thinking": "x"},
    "tool_start": {"toolCallId": "t", "toolName": "n", "args": {}},
    "tool_progress": {"toolName": "n", "message": "m", "audience": "user"},
    "tool_end": {"toolCallId": "t", "toolName": "n", "ok": True, "durationMs": 0},
    "usage": {"inputTokens": 1, "outputTokens": 0, "estimatedCostUsd": 0.1},
    "context_meta": {"data": {}},
    "done": {"text": "", "turnCount": 1},
    "error": {"error": "e", "code": "c"},
    "message_persisted": {"messageId": "m", "role": "user"},
    "tool.approval_required": {"request": {"approvalId": "a", "sessionId": "s", "toolCallId": "t", "toolName": "n",
                                           "args": {}, "reason": None}},
    "approval.resolved": {"approvalId": "a", "decision": "deny", "decidedBy": "x"},
    "clarify.request": {"requestId": "r", "question": "q", "defaultDeadlineAt": None},
    "clarify.resolved": {"requestId": "r", "source": "cancel"},
    "cron.fired": {"jobId": "j", "ranAt": "2026-01-01T00:00:00Z", "outputPath": None},
    "mesh.changed": {"agents": [{"agentId": "a", "capabilities": [], "activeSessions": 0}]},
    "evolve.skill_pending": {"skillId": "s", "personalityId": None, "proposedAt": "2026-01-01T00:00:00.123Z"},
    "protocol.upgrade_required": {"serverVersion": "1", "clientVersionExpected": "1"},
}


# ---- the client itself ----

@case
def the_client_takes_what_is_promised_and_nothing_else():
    with Tabs() as tabs:
        for kind, members in GOOD.items():
            event = {"type": kind, **members}
            equal(tabs.check(event), None, f"{kind}")
            expect(tabs.check({**event, "more": 1}), f"{kind} with a key that is not promised")
            for name in members:
                expect(tabs.check({key: value for key, value in event.items() if key != name}), f"{kind} without {name}")
                if name != "args":
                    expect(tabs.check({**event, name: [[]]}), f"{kind} with another {name}")
        expect(tabs.check({"type": "ping"}), "a type that nobody knows")


@contextlib.contextmanager
def mute_server(body):
    """Sends the head of a stream and a few bytes, then nothing more."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        conns = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    conn, _ = listener.accept()
                    conns.append(conn)
                    conn.recv(65536)
                    conn.sendall(head + body)

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for conn in conns:
                conn.close()


@case
def the_client_dies_of_silence_and_tells_of_every_fault():
    frames = (b': hb\n\nid: 1\ndata: {"type":"text_delta","text":"a"}\n\n'
              b'id: 2\nevent: x\ndata: {"type":"text_delta","text":"a"}\n\n'
              b'data: {"type":"text_delta","text":"a"}\n\n'
              b'id: 3\ndata: {"type":"text_delta"}\n\n')
    with mute_server(frames) as url, Tabs() as tabs:
        tab = tabs.watch("ses_1", baseUrl=url, silenceMs=200)
        tab.wait(lambda lines: "closed" in lines[-1] if lines else False, "it is closed")
        equal([number for number, _ in tab.events], [1], "events")
        equal(len(tab.wrong), 3, "what did not validate")
        expect("nothing came for 200 ms" in tab.lines[-2]["error"], "why", tab.lines[-2:])


# ---- turns ----

def kept_text(server, session, number=-1):
    return [message["content"] for message in server.messages(session) if message["role"] == "assistant"][number]


@case
def a_turn_has_its_order():
    with world(rules=[when("think", thinks("Let me see. ", "It is as it is, and that is fine."))]) as (_, server, tabs):
        session, turn = tabs.send("Please think about it.")
        expect(session.startswith("ses_") and turn.startswith("trn_"), "ids", session, turn)
        tab = tabs.watch(session)
        tab.until("done")
        [played] = check_session(tab.check())
        equal([event["role"] for event in played.of("message_persisted")], ["user", "assistant"])
        kinds = [kind for at, kind in enumerate(played.types) if at == 0 or played.types[at - 1] != kind]
        kinds.remove("usage")
        equal(kinds, ["message_persisted", "run_start", "thinking_delta", "text_delta", "message_persisted", "done"])
        [start] = played.of("run_start")
        equal((start["provider"], start["model"], start["source"]), ("first", MODELS["anthropic"], "global"))
        equal("".join(event["thinking"] for event in played.of("thinking_delta")), "Let me see. ")
        equal(played.text, "It is as it is, and that is fine.")
        equal(played.end["turnCount"], 1)
        equal([(m["role"], m["content"]) for m in server.messages(session)],
              [("user", "Please think about it."), ("assistant", played.text)])
        equal([m["id"] for m in server.messages(session)], [e["messageId"] for e in played.of("message_persisted")])
        usage = tabs.must("sessions/get", {"id": session})["session"]["usage"]
        said = played.of("usage")
        for name in ("inputTokens", "outputTokens"):
            equal(usage[name], sum(event[name] for event in said), name)
        expect(abs(usage["estimatedCostUsd"] - sum(e["estimatedCostUsd"] for e in said)) < 1e-9, "cost", usage, said)
        equal(usage["apiCallCount"], 1)


@case
def turns_of_the_builtin_provider_have_it_too():
    with SessionServer() as server, Tabs(server) as tabs:
        session, _ = tabs.send("Hello there!")
        tab = tabs.watch(session)
        tab.until("done")
        tabs.send("What can you do?", session)
        tab.until("done")
        turns = check_session(tab.check())
        equal([turn.end["turnCount"] for turn in turns], [1, 2])
        start = turns[0].of("run_start")[0]
        equal((start["provider"], start["model"]), ("builtin", "builtin"))
        equal(kept_text(server, session), turns[1].text)


@case
def a_model_that_fails_ends_the_turn_with_one_error():
    wrong = {"status": 400, "message": "no"}
    cut = {"answer": says("Half of it is")["answer"], "after": 1, "end": "error"}
    with world(rules=[when("refuse me", wrong)]) as (upstream, _, tabs):
        session, _ = tabs.send("Now refuse me.")
        tab = tabs.watch(session)
        tab.until("error")
        upstream.reset(default=cut)
        tabs.send("Now cut me.", session)
        tab.until("error")
        upstream.reset(default=says("All is well."))
        tabs.send("And now?", session)
        tab.until("done")
        turns = check_session(tab.check())
        equal([turn.end["type"] for turn in turns], ["error", "error", "done"])
        expect(all(turn.end["code"] and turn.end["error"] for turn in turns[:2]), "why", [t.end for t in turns])
        equal(turns[2].text, "All is well.")


# ---- resuming ----

def wire_of(stream, last):
    """Bytes of the events up to the one with this id."""
    out = b""
    while True:
        number, data = stream.must_next()
        out += b"id: %d\ndata: %b\n\n" % (number, data)
        if number == last:
            return out


@case
def resuming_by_header_and_by_query_brings_the_same_bytes():
    rules = [when("list", uses(("list_data", {}), text="Let me look. ")), when("think", thinks("Hm. ", "So it is: ü€𝄞."))]
    with world(rules=rules) as (_, server, tabs):
        session, _ = tabs.send("Please list what there is.")
        tab = tabs.watch(session)
        tab.until("done")
        tabs.send("Now think.", session)
        tab.until("done")
        events = tab.check()
        check_session(events)
        last = events[-1][0]
        with server.stream(session) as stream:
            whole = wire_of(stream, last)
        frames = whole.split(b"\n\n")[:-1]
        equal(len(frames), last)
        path = f"/sse/sessions/{session}"
        for cut in range(last):
            rest = b"".join(frame + b"\n\n" for frame in frames[cut:])
            for target, fields in ((f"{path}?lastEventId={cut}", []), (path, [("Last-Event-ID", str(cut))]),
                                   (f"{path}?lastEventId={last}", [("Last-Event-ID", str(cut))])):
                with Watch(server, target, fields) as stream:
                    equal(wire_of(stream, last), rest, f"behind {cut} by {target} {fields}")
        for name, since, header in (("query", 3, False), ("header", 3, True)):
            again = tabs.watch(session, name, since=since, usesHeader=header)
            again.until(lambda event: event["type"] == "done" and event["turnCount"] == 2)
            equal(again.check(since=3), events[3:], f"the client by {name}")


@case
def a_cursor_is_a_whole_number_and_may_be_beyond_the_head():
    with world() as (_, server, tabs):
        session, _ = tabs.send("Hello.")
        tab = tabs.watch(session)
        last = tab.until("done")[-1][0]
        path = f"/sse/sessions/{session}"
        for bad in ("x", "-1", "1.5", "1e3"):
            for target, fields in ((f"{path}?lastEventId={bad}", []), (path, [("Last-Event-ID", bad)])):
                with Watch(server, target, fields) as stream:
                    equal(stream.refusal().status, 400, f"{bad} by {target} {fields}")
        for beyond in (last + 1000, 10 ** 25):
            with server.stream(session, beyond) as stream:
                tabs.send("And again.", session)
                first = stream.must_next()
                equal(first[0], last + 1, f"live only behind {beyond}")
            last = tab.until("done")[-1][0]
        equal(Watch(server, "/sse/sessions/ses_01ARZ3NDEKTSV4RRFFQ69G5FAV").refusal().status, 404)
        equal(Watch(server, "/sse/sessions/none").refusal().status, 404)


def has_ended(tab):
    return any(event["type"] in ENDS for _, event in tab.events)


@case
def a_client_follows_through_kills_in_the_middle_of_a_turn():
    words = "".join(f"word{number:02} " for number in range(60)) + "end."
    more = "".join(f"more{number:02} " for number in range(60)) + "end."
    rules = [when("Your answer was interrupted", says(more, delta_ms=15), -1)]
    with world(rules=rules, default=says(words, delta_ms=15)) as (_, server, tabs):
        session, _ = tabs.send("Tell me a long story.")
        tab = tabs.watch(session)
        tab.until("text_delta")
        for _ in range(4):
            n_before = len(tab.events)
            tab.wait(lambda _, n=n_before: len(tab.events) > n + 3 or has_ended(tab), "some more")
            server.kill()
            server.start()
        if not has_ended(tab):
            tab.until(ENDS)
        tab.wait(lambda _: tab.events[-1][1]["type"] in ("mesh.changed", *ENDS), "it is quiet")
        [turn] = check_session(tab.check())
        equal(turn.end["type"], "done")
        equal(turn.text, kept_text(server, session), "what is kept")
        expect(turn.text.startswith("word00 ") and turn.text.count("word00") == 1 and turn.text.endswith(" end."),
               "nothing is said twice", turn.text)
        fresh = tabs.watch(session, "fresh")
        fresh.wait(lambda _: len(fresh.events) >= len(tab.events), "all again")
        equal(fresh.check(), tab.events, "what another reader gets")


# ---- tabs ----

@case
def of_two_tabs_one_closes_and_the_other_goes_on():
    count = "".join(f"{number} " for number in range(600))
    with world(default=says(count, delta_ms=10)) as (_, _, tabs):
        session, _ = tabs.send("Count.")
        one, two = tabs.watch(session, "one"), tabs.watch(session, "two")
        one.until("text_delta")
        two.until("text_delta")
        one.close()
        two.until("done")
        check_session(two.check())
        expect(one.events == two.events[:len(one.events)], "both saw the same")
        expect(all(event["type"] != "done" for _, event in one.events), "the first had left")
        back = tabs.watch(session, "back", since=one.events[-1][0])
        back.until("done")
        equal(one.events + back.events, two.events, "where it was left, it goes on")


@case
def two_turns_do_not_run_at_once_and_messages_keep_their_order():
    with world(rules=[when("message 0", says("first", hold_first="go"))]) as (upstream, server, tabs):
        session, _ = tabs.send("This is message 0.")
        tab = tabs.watch(session)
        tab.until("run_start")
        sent = [tabs.send(f"This is message {number}.", session)[1] for number in range(1, 33)]
        equal(len(set(sent)), 32, "turns")
        refusal = tabs.refused(429, "chat/send", {"sessionId": session, "clientId": "x", "text": "one too many"})
        expect("queue" in refusal["message"] or "wait" in refusal["message"], "why", refusal)
        state = tabs.must("sessions/get", {"id": session})["session"]
        equal((state["state"], state["queued"]), ("running", 32))
        upstream.control(release=["go"])
        for _ in range(33):
            tab.until("done")
        turns = check_session(tab.check())
        equal(len(turns), 33, "turns")
        asked = [message["content"] for message in server.messages(session) if message["role"] == "user"]
        equal(asked, [f"This is message {number}." for number in range(33)], "in order")
        # The session is told of the end of its turn when that is durable.
        wait_until(lambda: tabs.must("sessions/get", {"id": session})["session"]["state"] == "idle", "it is idle")
        equal(tabs.must("sessions/get", {"id": session})["session"]["queued"], 0)


@case
def steering_reaches_the_model_that_runs():
    rules = [when("Look around", uses(("list_data", {}), text="Looking. ", hold_first="go"))]
    with world(rules=rules, default=says("As you wish.")) as (upstream, server, tabs):
        equal(tabs.refused(404, "chat/steer", {"sessionId": "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV", "text": "x"})["code"],
              "NOT_FOUND")
        session, _ = tabs.send("Look around.")
        tab = tabs.watch(session)
        tab.until("run_start")
        equal(tabs.must("chat/steer", {"sessionId": session, "text": "Mind the red door."}), {"ok": True})
        upstream.control(release=["go"])
        tab.until("done")
        [turn] = check_session(tab.check())
        seen = upstream.seen(has_bodies=True)
        expect("Mind the red door." in seen[-1]["body"] and "Mind the red door." not in seen[0]["body"],
               "the model is told", len(seen))
        contents = [message["content"] for message in server.messages(session)]
        expect("Mind the red door." in contents, "it is kept", contents)
        equal(tabs.must("chat/steer", {"sessionId": session, "text": "Too late."}), {"ok": False})
        equal(turn.end["type"], "done")


@case
def aborting_ends_the_turn_and_the_next_begins():
    rules = [when("Wait for ever", says("never", hold_first="never"))]
    with world(rules=rules) as (_, server, tabs):
        session, _ = tabs.send("Wait for ever.")
        tab = tabs.watch(session)
        tab.until("run_start")
        tabs.send("And then this.", session)
        equal(tabs.must("chat/abort", {"sessionId": session}), {"ok": True})
        tab.until("error")
        tab.until("done")
        turns = check_session(tab.check())
        equal([turn.end["type"] for turn in turns], ["error", "done"])
        expect("abort" in turns[0].end["code"].lower() or "cancel" in turns[0].end["code"].lower(), "code", turns[0].end)
        equal(tabs.must("chat/abort", {"sessionId": session}), {"ok": True}, "again")


# ---- nodes, versions, users ----

@case
def a_restart_is_told_to_every_session():
    with world() as (_, server, tabs):
        alone, _ = tabs.send("Nobody looks.")
        server.whole(alone, "done")
        session, _ = tabs.send("Hello.")
        tab = tabs.watch(session)
        tab.until("done")
        first = [event for _, event in tab.events if event["type"] == "mesh.changed"]
        if getattr(server, "n_nodes", 1) == 1:  # several may not know of each other at first
            equal(len(first), 1, "mesh.changed of the first start")
        server.restart()
        names = {agent["agentId"] for event in first for agent in event["agents"]}

        def is_of_others(event):
            agents = event["agents"] if event["type"] == "mesh.changed" else []
            return agents and names.isdisjoint(agent["agentId"] for agent in agents)

        tab.until(is_of_others)
        tab.check()
        # One that nobody watched is told when somebody reads it.
        late = tabs.watch(alone, "late")
        late.until(is_of_others)
        late.check()


@case
def an_older_protocol_is_told_to_upgrade():
    with world() as (_, server, tabs):
        session, _ = tabs.send("Hello.")
        tabs.watch(session).until("done")
        old = tabs.watch(session, "old", query={"protocol": "0"})
        old.until("protocol.upgrade_required")
        old.close()
        equal(old.wrong, [])
        equal([event["type"] for _, event in old.events if event["type"] != "protocol.upgrade_required"], [])
        answer = server.ask("GET", f"/sse/sessions/{session}", [("X-Protocol-Version", "0"), ("Last-Event-ID", "2")])
        equal(answer.body, b'id: 2\ndata: {"type":"protocol.upgrade_required","serverVersion":"1",'
                           b'"clientVersionExpected":"1"}\n\n', "the whole answer")
        new = tabs.watch(session, "new", query={"protocol": "1"})
        new.until("done")


if __name__ == "__main__":
    main()
