#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/session_asks.py [CASE...]

What sessions ask their people, and what they do by themselves, as the public client sees it: approvals
and clarifications with their deadlines, over restarts and aborts; scheduled prompts; skills; other
users. At the end every type of event was sent by a feature, and each was valid.
"""
import pathlib

from session_support import TYPES, LateClock, check_session, says, thinks, uses, when, world
from support import PATIENCE, case, equal, expect, main, make_key, wait_until

NOTE = {"name": "canary.txt", "text": "a canary sings"}


def notes_in(server):
    """Files of that name, wherever they are."""
    return [path for path in pathlib.Path(server.data).rglob("*") if "canary" in path.name]


def write_rules():
    """A model that wants to write the note, once."""
    return [when("write_note_now", uses(("write_note", NOTE)))]


def ask_rules(**members):
    """A model that asks the user once, and says then what it heard."""
    return [when("ask_me_now", uses(("ask_user", {"question": "Red or blue?", **members})))]


def approval_of(tab):
    """The question that the tab gets."""
    [*_, (_, event)] = tab.until("tool.approval_required")
    return event["request"]


def resolution_of(tab):
    [*_, (_, event)] = tab.until("approval.resolved")
    return event["decision"], event["decidedBy"]


@case
def a_turn_that_is_aborted_at_once_has_a_whole_story():
    """Whether it had begun or not: a message, the start, an end."""
    with world(default=says("Fine.")) as (_, _, tabs):
        session = None
        for _ in range(20):
            session, _ = tabs.send("Never mind.", session)
            tabs.must("chat/abort", {"sessionId": session})
        tab = tabs.watch(session)
        tabs.send("The last one.", session)
        wait_until(lambda: tabs.must("sessions/get", {"id": session})["session"]["state"] == "idle", "the end of all")
        tab.wait(lambda _: sum(event["type"] in ("done", "error") for _, event in tab.events) == 21, "all ends")
        equal(len(check_session(tab.check())), 21, "turns")


# ---- approvals ----

@case
def a_tool_that_writes_waits_for_approval():
    with world(rules=write_rules(), default=says("It is written.")) as (_, server, tabs):
        session, _ = tabs.send("Please write_note_now.")
        tab, other = tabs.watch(session), tabs.watch(session, "other")
        request = approval_of(tab)
        equal((request["sessionId"], request["toolName"], request["args"]), (session, "write_note", NOTE))
        equal(notes_in(server), [], "before it is allowed")
        approve = {"approvalId": request["approvalId"], "clientId": "tab-1", "scope": "once"}
        equal(tabs.must("tools/approve", approve), {"ok": True})
        equal(resolution_of(tab)[0], "allow")
        tab.until("done")
        other.until("done")
        equal(len(notes_in(server)), 1, "files")
        equal(notes_in(server)[0].read_text(), NOTE["text"])
        [turn] = check_session(tab.check())
        [end] = turn.of("tool_end")
        equal(end["ok"], True, end)
        equal(other.check(), tab.events, "both tabs")
        tabs.refused(409, "tools/approve", approve)
        tabs.refused(409, "tools/deny", {"approvalId": request["approvalId"], "clientId": "tab-2"})


@case
def what_is_denied_is_not_done_and_the_model_is_told():
    with world(rules=write_rules(), default=says("Then not.")) as (upstream, server, tabs):
        session, _ = tabs.send("Please write_note_now.")
        tab = tabs.watch(session)
        request = approval_of(tab)
        deny = {"approvalId": request["approvalId"], "clientId": "tab-1", "reason": "Not on my disk."}
        equal(tabs.must("tools/deny", deny), {"ok": True})
        equal(resolution_of(tab)[0], "deny")
        tab.until("done")
        [turn] = check_session(tab.check())
        equal([end["ok"] for end in turn.of("tool_end")], [False])
        equal(notes_in(server), [], "files")
        expect("Not on my disk." in upstream.seen(has_bodies=True)[-1]["body"], "the model knows why")
        tabs.refused(409, "tools/approve", {"approvalId": request["approvalId"], "clientId": "a", "scope": "once"})


@case
def aborting_denies_what_is_pending_for_good():
    with world(rules=write_rules()) as (_, server, tabs):
        session, _ = tabs.send("Please write_note_now.")
        tab = tabs.watch(session)
        request = approval_of(tab)
        equal(tabs.must("chat/abort", {"sessionId": session}), {"ok": True})
        equal(resolution_of(tab)[0], "deny")
        tab.until("error")
        approve = {"approvalId": request["approvalId"], "clientId": "tab-1", "scope": "any-args"}
        tabs.refused(409, "tools/approve", approve)
        tabs.send("Go on.", session)
        tab.until("done")
        check_session(tab.check())
        server.restart()
        tabs.refused(409, "tools/approve", approve)
        tab.until("mesh.changed")
        tabs.send("And on.", session)
        tab.until("done")
        check_session(tab.check())
        equal(notes_in(server), [], "files")


@case
def scopes_are_remembered_in_their_session_only():
    other = {**NOTE, "text": "another bird"}
    for scope, asks_same, asks_other in (("once", True, True), ("exact-args", False, True), ("any-args", False, False)):
        with world(default=says("Done.")) as (upstream, server, tabs):

            def ask(text, session, args, asks, scope=scope, upstream=upstream, tabs=tabs):
                upstream.control(rules=[when(text, uses(("write_note", args)))])
                session, _ = tabs.send(f"Please {text}.", session)
                tab = tabs.watch(session, f"{session}-{text}", since=ask.last)
                events = tab.until(("tool.approval_required", "done"))
                equal(events[-1][1]["type"], "tool.approval_required" if asks else "done", f"{scope}: {text}")
                if asks:
                    request = events[-1][1]["request"]
                    tabs.must("tools/approve", {"approvalId": request["approvalId"], "clientId": "a", "scope": scope})
                    events = tab.until("done")
                ask.last = events[-1][0]
                return session

            ask.last = 0
            session = ask("first_time", None, NOTE, True)
            ask("same_again", session, NOTE, asks_same)
            ask("other_args", session, other, asks_other)
            server.restart()
            ask("after_restart", session, NOTE, asks_same)
            ask.last = 0
            ask("elsewhere", None, NOTE, True)


@case
def an_approval_outlives_a_restart_and_has_a_deadline():
    with world("--approval-timeout", "600s", rules=write_rules(), default=says("Well.")) as (upstream, server, tabs):
        session, _ = tabs.send("Please write_note_now.")
        tab = tabs.watch(session)
        request = approval_of(tab)
        [pending] = tabs.must("tools/listPending", {"sessionId": session})
        deadline = pending.pop("deadlineAt")
        equal(pending, request)
        server.kill()
        server.start()
        equal(tabs.must("tools/listPending"), [{**request, "deadlineAt": deadline}])
        tabs.must("tools/approve", {"approvalId": request["approvalId"], "clientId": "a", "scope": "once"})
        tab.until("done")
        expect(len(notes_in(server)) == 1, "the tool ran")
        upstream.control(rules=write_rules())
        server.stop()
        server.options[server.options.index("600s")] = "2s"
        server.start()
        tabs.send("Please write_note_now once more.", session)
        request = approval_of(tab)
        server.kill()
        server.start()
        equal(resolution_of(tab)[0], "deny", "nobody answered")
        tab.until("done")
        tabs.refused(409, "tools/approve", {"approvalId": request["approvalId"], "clientId": "a", "scope": "once"})
        check_session(tab.check())


@case
def approvals_outlive_more_crashes_than_a_turn_may_be_in():
    """Whoever waits for people is not given up, and waits for nobody else who does."""
    n_sessions, n_kills = 3, 12
    rules = [when("write_note_now", uses(("write_note", NOTE)), times=n_sessions)]
    with world(rules=rules, default=says("Fine.")) as (_, server, tabs):
        asked = []
        for number in range(n_sessions):
            session, _ = tabs.send("Please write_note_now.")
            asked.append((session, approval_of(tabs.watch(session, f"asked{number}"))["approvalId"]))
        for number in range(n_kills):
            server.kill()
            server.start()
            session, _ = tabs.send("How are you?")
            tabs.watch(session, f"between{number}").until("done")
        for number, (session, approval) in enumerate(reversed(asked)):
            tabs.must("tools/approve", {"approvalId": approval, "clientId": "tab", "scope": "once"})
            tab = tabs.watch(session, f"late{number}")
            tab.until("done")
            [turn] = check_session(tab.check())
            equal([end["ok"] for end in turn.of("tool_end")], [True])


# ---- clarifications ----

@case
def a_question_is_answered_once():
    with world(rules=ask_rules(options=["red", "blue"]), default=says("Fine.")) as (upstream, server, tabs):
        session, _ = tabs.send("Please ask_me_now.")
        tab = tabs.watch(session)
        [*_, (_, event)] = tab.until("clarify.request")
        equal((event["question"], event["options"]), ("Red or blue?", ["red", "blue"]))
        [pending] = tabs.must("clarify/listPending", {"sessionId": session})
        equal((pending["requestId"], pending["sessionId"]), (event["requestId"], session))
        equal(tabs.must("clarify/listPending"), [pending])
        server.kill()
        server.start()
        answer = {"requestId": event["requestId"], "answer": "blue, as the sea", "source": "user"}
        equal(tabs.must("clarify/respond", answer), {"ok": True})
        tabs.refused(409, "clarify/respond", answer)
        [*_, (_, resolved)] = tab.until("clarify.resolved")
        equal(resolved["source"], "user")
        tab.until("done")
        check_session(tab.check())
        expect("blue, as the sea" in upstream.seen(has_bodies=True)[-1]["body"], "the model knows")
        equal(tabs.must("clarify/listPending"), [])


@case
def a_question_that_nobody_answers_has_its_default_or_none():
    timeout = f"{int(1000 * PATIENCE)}ms"
    for members, source in (({"options": ["red", "blue"], "default": "red"}, "timeout-default"), ({}, "timeout-no-default")):
        with world("--clarify-timeout", timeout, rules=ask_rules(**members), default=says("Fine.")) as (_, _, tabs):
            session, _ = tabs.send("Please ask_me_now.")
            tab = tabs.watch(session)
            [*_, (_, event)] = tab.until("clarify.request")
            equal(event.get("default"), members.get("default"))
            [*_, (_, resolved)] = tab.until("clarify.resolved")
            equal((resolved["requestId"], resolved["source"]), (event["requestId"], source))
            tab.until("done")
            check_session(tab.check())
            tabs.refused(409, "clarify/respond", {"requestId": event["requestId"], "answer": "x", "source": "user"})


@case
def a_question_is_cancelled_by_its_user_or_with_its_turn():
    with world(rules=ask_rules(), default=says("Fine.")) as (upstream, _, tabs):
        session, _ = tabs.send("Please ask_me_now.")
        tab = tabs.watch(session)
        [*_, (_, event)] = tab.until("clarify.request")
        tabs.must("clarify/respond", {"requestId": event["requestId"], "answer": "", "source": "cancel"})
        [*_, (_, resolved)] = tab.until("clarify.resolved")
        equal(resolved["source"], "cancel")
        tab.until("done")
        upstream.control(rules=ask_rules())
        tabs.send("Please ask_me_now again.", session)
        [*_, (_, event)] = tab.until("clarify.request")
        tabs.must("chat/abort", {"sessionId": session})
        [*_, (_, resolved)] = tab.until("clarify.resolved")
        equal((resolved["requestId"], resolved["source"]), (event["requestId"], "cancel"))
        tab.until("error")
        tabs.refused(409, "clarify/respond", {"requestId": event["requestId"], "answer": "x", "source": "user"})
        check_session(tab.check())


# ---- schedules and skills ----

@case
def a_scheduled_prompt_fires_once_and_missed_runs_once():
    clock = LateClock()
    clock.before_minute(50000)
    with world(default=says("Good morning."), env=clock.env) as (_, server, tabs):
        session, _ = tabs.send("Hello.")
        tab = tabs.watch(session)
        tab.until("done")
        job = tabs.must("cron/create", {"schedule": "* * * * *", "text": "Say good morning.", "sessionId": session})["job"]
        equal(tabs.must("cron/list")["jobs"], [job])
        # Five minutes pass without a server; then it is there when a minute begins.
        for left_ms, minutes in ((50000, 5), (1500, 0), (50000, 3)):
            server.stop()
            clock.before_minute(left_ms, minutes)
            server.start()
            [*_, (_, event)] = tab.until("cron.fired")
            equal(event["jobId"], job["id"])
            wait_until(lambda: tabs.must("sessions/get", {"id": session})["session"]["state"] == "idle", "it is idle")
        expect(tabs.must("cron/list")["jobs"][0]["lastRunAt"], "it ran")
        tabs.must("cron/delete", {"id": job["id"]})
        equal(tabs.must("cron/list")["jobs"], [])
        ran = [event["ranAt"] for _, event in tab.events if event["type"] == "cron.fired"]
        equal((len(ran), len(set(ran))), (3, 3), "each once")
        asked = [m["content"] for m in server.messages(session) if m["role"] == "user"]
        equal(asked.count("Say good morning."), 3, "turns of the job")
        check_session(tab.check())


@case
def the_third_question_of_a_shape_proposes_a_skill():
    with world(default=says("Here it is.")) as (upstream, _, tabs):
        tab = session = None
        for month in ("March", "April", "May"):
            session, _ = tabs.send(f"How many steps did I walk in {month} 2025?", session)
            tab = tab or tabs.watch(session)
            tab.until("done")
        [event] = [event for _, event in tab.events if event["type"] == "evolve.skill_pending"]
        listed = tabs.must("skills/list")
        equal((listed["pendingCount"], [skill["id"] for skill in listed["skills"]]), (1, [event["skillId"]]))
        skill = tabs.must("skills/accept", {"id": event["skillId"], "name": "steps"})["skill"]
        equal((skill["name"], skill["state"]), ("steps", "accepted"))
        tabs.send("/steps", session)
        tab.until("done")
        asked = upstream.seen(has_bodies=True)[-1]["body"].rsplit('"role"', 1)[-1]
        expect(skill["text"] in asked, "the model is asked what the skill says", skill, asked)
        tabs.must("skills/reject", {"id": event["skillId"]})
        equal(tabs.must("skills/list"), {"skills": [], "pendingCount": 0})
        check_session(tab.check())


# ---- everything ----

@case
def every_type_of_event_is_sent_by_a_feature():
    clock = LateClock()
    clock.before_minute(30000)
    with world(default=says("Well then."), env=clock.env) as (upstream, server, tabs):
        session, tab = None, None

        def say(text, do, end="done", approves=False):
            nonlocal session, tab
            upstream.reset(default=says("Well then."), rules=[when(text, do)] if do else [])
            session, _ = tabs.send(text, session)
            tab = tab or tabs.watch(session)
            if approves:
                request = approval_of(tab)
                tabs.must("tools/approve", {"approvalId": request["approvalId"], "clientId": "a", "scope": "any-args"})
            tab.until(end)

        say("I want to sleep more.", uses(("remember", {"text": "I want to sleep more.", "category": "goal"})), approves=True)
        say("Please think it over.", thinks("Hm.", "So be it."))
        say("Put it down.", uses(("write_note", NOTE)), approves=True)
        say("What is there?", uses(("search_documents", {"query": "sleep"}), ("list_notes", {})))
        say("Do not answer.", {"status": 400}, end="error")
        upstream.reset(default=says("Thanks."), rules=[when("Ask me.", uses(("ask_user", {"question": "Why?"})))])
        tabs.send("Ask me.", session)
        [*_, (_, event)] = tab.until("clarify.request")
        tabs.must("clarify/respond", {"requestId": event["requestId"], "answer": "So.", "source": "user"})
        tab.until("done")
        for month in ("March", "April", "May"):
            say(f"How many steps did I walk in {month} 2025?", None)
        tabs.must("cron/create", {"schedule": "* * * * *", "text": "Good morning.", "sessionId": session})
        server.stop()
        clock.before_minute(30000, minutes=2)
        server.start()
        tab.until("cron.fired")
        old = tabs.watch(session, "old", query={"protocol": "0"})
        old.until("protocol.upgrade_required")
        wait_until(lambda: tabs.must("sessions/get", {"id": session})["session"]["state"] == "idle", "it is idle")
        check_session(tab.check())
        seen = {event["type"] for _, event in [*tab.events, *old.events]}
        equal(TYPES - seen, set(), "types that did not come")


# ---- others ----

@case
def what_is_somebody_elses_is_not_there():
    with world(rules=[*write_rules(), *ask_rules()], is_open=False, starts=False) as (_, server, tabs):
        mine, theirs = make_key(server, "--owner", "me"), make_key(server, "--owner", "them")
        server.start()
        session, _ = tabs.send("Please write_note_now.", key=mine)
        tab = tabs.watch(session, key=mine)
        request = approval_of(tab)
        second, _ = tabs.send("Please ask_me_now.", key=mine)
        question = tabs.watch(second, "second", key=mine).until("clarify.request")[-1][1]
        job = tabs.must("cron/create", {"schedule": "0 0 1 1 *", "text": "x", "sessionId": session}, key=mine)["job"]
        nobody = "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV"

        def same(method, foreign, unknown):
            """Refused alike, word for word."""
            first = tabs.refused(404, method, foreign, key=theirs)
            equal(first, tabs.refused(404, method, unknown, key=theirs), method)

        for method in ("sessions/get", "sessions/fork", "sessions/pin", "sessions/unpin", "sessions/delete"):
            same(method, {"id": session}, {"id": nobody})
        same("sessions/update", {"id": session, "title": "x"}, {"id": nobody, "title": "x"})
        for method in ("chat/abort", "chat/steer", "chat/send"):
            more = {"text": "x"} if method != "chat/abort" else {}
            more = {**more, "clientId": "x"} if method == "chat/send" else more
            same(method, {"sessionId": session, **more}, {"sessionId": nobody, **more})
        flipped = request["approvalId"][:-1] + ("0" if request["approvalId"][-1] != "0" else "1")
        for method, more in (("tools/approve", {"scope": "once"}), ("tools/deny", {})):
            same(method, {"approvalId": request["approvalId"], "clientId": "x", **more},
                 {"approvalId": flipped, "clientId": "x", **more})
        same("clarify/respond", {"requestId": question["requestId"], "answer": "x", "source": "user"},
             {"requestId": question["requestId"][:-1] + "9", "answer": "x", "source": "user"})
        same("cron/delete", {"id": job["id"]}, {"id": "cron_01ARZ3NDEKTSV4RRFFQ69G5FAV"})
        for method in ("tools/listPending", "clarify/listPending"):
            same(method, {"sessionId": session}, {"sessionId": nobody})
        for listed, empty in (("sessions/list", {"sessions": [], "nextCursor": None}), ("cron/list", {"jobs": []}),
                              ("clarify/listPending", []), ("skills/list", {"skills": [], "pendingCount": 0})):
            equal(tabs.must(listed, key=theirs), empty, listed)
        stranger = tabs.watch(session, "stranger", key=theirs)
        stranger.wait(lambda lines: any(line.get("status") == 404 for line in lines), "404")
        tabs.refused(401, "sessions/list", key="weir_000000000000_" + "A" * 43)
        tabs.must("tools/deny", {"approvalId": request["approvalId"], "clientId": "x"}, key=mine)
        tab.until("done")
        tab.check()


if __name__ == "__main__":
    main()
