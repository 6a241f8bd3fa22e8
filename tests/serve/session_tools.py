#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/session_tools.py [CASE...]

Tools of sessions: notes, memory, schedules, and programs of somebody's own, the bad ones above all:
they hang, fork, hide, flood, ignore TERM, eat memory, and look for files and networks that are none of
their business. Nothing of them survives, whatever becomes of the turn or of the server.
"""
import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import tempfile
import time

from model_support import Upstream
from session_support import SessionServer, check_session, read_until, says, uses, when
from support import WAIT_S, case, equal, expect, main, needs_one, program, wait_until

ANY = {"type": "object"}


def tool(name, *command, **more):
    return {"name": name, "description": f"Does {name}.", "input_schema": ANY, "command": list(command), **more}


def shell(name, script, **more):
    return tool(name, "/bin/sh", "-c", script, **{"approval": False, **more})


def python(name, script, **more):
    return tool(name, "/usr/bin/python3", "-c", script, **{"approval": False, **more})


@contextlib.contextmanager
def tools_file(tools):
    with tempfile.NamedTemporaryFile("w", prefix="weir-tools-", suffix=".json") as file:
        json.dump(tools, file)
        file.flush()
        yield file.name


@contextlib.contextmanager
def workshop(*tools, rules=(), options=(), **more):
    """A stand-in and a server with these programs as tools."""
    with Upstream() as upstream, tools_file(tools) as path:
        upstream.control(default=says("That is all."), rules=list(rules))
        with SessionServer(upstream, "--tools", path, *options, **more) as server:
            yield upstream, server


def call_of(upstream, server, name, value=None, session=None):
    """The end of one call of a tool that needs no approval; and all events of its turn."""
    word = f"please {name}"
    upstream.control(default=says("That is all."), rules=[when(word, uses((name, value or {})))])
    session, _ = server.send(word, session)
    with server.stream(session) as stream:
        events = read_until(stream, "tool_end")
        events += read_until(stream, ("done", "error"))
    return next(event for _, event in events if event["type"] == "tool_end"), session, events


def marked(mark):
    """Processes that have the mark among their words."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def new_mark():
    return f"77{os.getpid()}.{time.monotonic_ns()}"


def folder_of(server, session):
    return pathlib.Path(server.data) / "sessions" / session


# ---- what behaves ----

@case
def a_program_gets_its_input_and_tells_its_progress():
    script = ("import json, sys\n"
              "given = json.load(sys.stdin)\n"
              "print(json.dumps({'progress': 'Half of it', 'percent': 50}), flush=True)\n"
              "open('kept.txt', 'w').write(given['text'])\n"
              "print('You said ' + given['text'])\n")
    with workshop(python("repeat", script)) as (upstream, server):
        end, session, events = call_of(upstream, server, "repeat", {"text": "Grüße"})
        equal((end["ok"], end["result"]), (True, "You said Grüße"))
        start = next(event for _, event in events if event["type"] == "tool_start")
        equal(start["args"], {"text": "Grüße"})
        progress = [event for _, event in events if event["type"] == "tool_progress"]
        equal(progress, [{"type": "tool_progress", "toolName": "repeat", "message": "Half of it", "percent": 50,
                          "audience": "user"}])
        equal((folder_of(server, session) / "kept.txt").read_text(), "Grüße")
        equal(folder_of(server, session).stat().st_mode & 0o7777, 0o700)
        names = [entry["name"] for group in server.must("tools/catalog")["groups"] for entry in group["tools"]]
        expect({"repeat", "write_note", "remember", "query_data", "ask_user"} <= set(names), "the catalogue", names)
        equal(len(set(names)), len(names), "each once")
        server.must("sessions/delete", {"id": session})
        wait_until(lambda: not folder_of(server, session).exists(), "the folder goes with its session")


@case
def what_fails_is_told_to_the_model():
    rows = [
        (shell("fails", "echo no such town >&2; exit 3"), "no such town"),
        (shell("silent", "exit 4"), "it ended with exit status 4"),
        (shell("hangs", "sleep 1000", timeout=0.3), "it took too long"),
        (shell("stubborn", "trap '' TERM; while :; do sleep 1; done", timeout=0.3), "it took too long"),
        (shell("floods", "yes"), "it said more than may be said"),
        (shell("big", "exec head -c 100000000 /dev/zero >file"), "a file would be larger than may be"),
        (python("eats", "a = []\nwhile True: a.append(bytes(10**7))", memory=64), "MemoryError"),
        (python("calls", "import socket; socket.create_connection(('127.0.0.1', 80))"), "not permitted"),
        (shell("reads", "cat ../../store.lock || ls ../.. || cat /etc/shadow"), "ermission denied"),
        (shell("writes", "echo x >../escaped || echo x >/tmp/escaped"), "cannot create"),
    ]
    with workshop(*(row[0] for row in rows)) as (upstream, server):
        session = None
        for row, text in rows:
            _, session, _ = call_of(upstream, server, row["name"], session=session)
            number = rows.index((row, text)) + 1
            events = server.whole(session, "done", number)
            end = [event for _, event in events if event["type"] == "tool_end"][-1]
            equal(end["ok"], False, f"{row['name']}: {end}")
            expect(text in end["result"], f"{row['name']}: {text!r}", end)
            asked = upstream.seen(has_bodies=True)[-1]["body"]
            expect(text in asked, f"{row['name']}: the model is told", asked[-600:])
        check_session(server.whole(session, "done", len(rows)))


@case
def bytes_that_are_no_text_and_too_much_of_it():
    with workshop(shell("binary", "printf 'a\\377\\376b'"), shell("much", "head -c 200000 /dev/zero | tr '\\0' x"),
                  shell("noise", "head -c 200000 /dev/zero | tr '\\0' '\\377'"), shell("control", "head -c 200000 /dev/zero | tr '\\0' '\\1'"),
                  shell("chatty", "i=0; while [ $i -lt 5000 ]; do echo '{\"progress\":\"x\"}'; i=$((i+1)); done")
                  ) as (upstream, server):
        end, _, _ = call_of(upstream, server, "binary")
        equal((end["ok"], end["result"]), (True, "a��b"))
        end, _, _ = call_of(upstream, server, "much")
        equal(end["ok"], True)
        expect(len(end["result"]) < 70000 and end["result"].endswith("(cut; 200000 bytes in all)"), "it is cut", end["result"][-80:])
        for name, sign, all_bytes in (("noise", "\ufffd", 600000), ("control", "\1", 200000)):
            end, _, _ = call_of(upstream, server, name)
            expect(end["ok"] and end["result"].startswith(sign * 1000), "what cannot be shown is replaced", str(end)[:200])
            expect(end["result"].endswith(f"(cut; {all_bytes} bytes in all)"), "and cut", end["result"][-80:])
        end, _, events = call_of(upstream, server, "chatty")
        equal((end["ok"], end["result"]), (True, ""))
        n_told = sum(event["type"] == "tool_progress" for _, event in events)
        expect(1 <= n_told <= 60, "progress comes a few times in a second", n_told)


@case
def the_servers_files_and_sockets_stay_out_of_reach():
    changes = ("import os\n"
               "for path in ('../..', '..', '../../weir.db', '../../shield.key'):\n"
               "    for do in (lambda: os.chmod(path, 0), lambda: os.chown(path, -1, -1), lambda: os.utime(path, (1, 1))):\n"
               "        try: do()\n"
               "        except OSError: continue\n"
               "        print('reached', path)\n")
    with tempfile.TemporaryDirectory(prefix="weir-tools-") as folder, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as outside:
        path = f"{folder}/socket"
        outside.bind(path)
        sends = f"import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', {path!r})"
        with workshop(python("changes", changes), python("sends", sends),
                      shell("locks", "chmod 0 .; true")) as (upstream, server):
            end, session, _ = call_of(upstream, server, "changes")
            equal((end["ok"], end["result"]), (True, ""))
            data = pathlib.Path(server.data)
            equal([part.stat().st_mode & 0o077 for part in (data, data / "sessions")], [0, 0])
            end, _, _ = call_of(upstream, server, "sends")
            equal((end["ok"], "not permitted" in end["result"]), (False, True), f"{end}")
            for name in ("locks", "changes"):
                events = call_of(upstream, server, name, session=session)[2]
                equal([event["ok"] for _, event in events if event["type"] == "tool_end"][-1], True, name)
        outside.setblocking(False)
        expect(not select.select([outside], [], [], 0)[0], "nothing has come")


# ---- nothing survives ----

@case
def who_forks_and_hides_dies_with_the_tool():
    mark = new_mark()
    script = (f"i=0; while [ $i -lt 30 ]; do setsid sh -c 'trap \"\" TERM; sleep {mark} & sleep {mark}' & "
              f"(sleep {mark} &); i=$((i+1)); done; sleep {mark}")
    with workshop(shell("hydra", script, timeout=1), shell("leaves", f"setsid sleep {mark} & echo left")) as (upstream, server):
        end, _, _ = call_of(upstream, server, "hydra")
        equal((end["ok"], end["result"]), (False, "it took too long"))
        equal(marked(mark), [])
        end, _, _ = call_of(upstream, server, "leaves")
        equal((end["ok"], end["result"]), (True, "left"))
        equal(marked(mark), [])


@case
def abort_kills_what_runs():
    mark = new_mark()
    with workshop(shell("stubborn", f"trap '' TERM; setsid sleep {mark} & while :; do sleep {mark}; done")) as (upstream, server):
        upstream.control(default=says("That is all."), rules=[when("please", uses(("stubborn", {})))])
        session, _ = server.send("please")
        wait_until(lambda: marked(mark), "it runs")
        server.must("chat/abort", {"sessionId": session})
        with server.stream(session) as stream:
            events = read_until(stream, ("done", "error"))
        equal(events[-1][1]["type"], "error")
        equal(marked(mark), [], "what is left when the turn has ended")
        equal(sum(event["type"] == "tool_end" and event["ok"] for _, event in events), 0)
        session, _ = server.send("Hello again.", session)
        server.whole(session, "done")


@case
def what_is_aborted_tells_how_long_it_has_worked():
    script = "sleep 0.1; echo '{\"progress\":\"well\"}'; exec sleep 1000"
    with workshop(shell("slow", script)) as (upstream, server):
        upstream.control(default=says("That is all."), rules=[when("please", uses(("slow", {})))])
        session, _ = server.send("please")
        with server.stream(session) as stream:
            events = read_until(stream, "tool_progress")
            server.must("chat/abort", {"sessionId": session})
            events += read_until(stream, "error")
        end = next(event for _, event in events if event["type"] == "tool_end")
        equal((end["ok"], end["result"]), (False, "cancelled: it is unknown whether it happened"))
        expect(100 <= end["durationMs"] < WAIT_S * 1000, "how long", end)


def children_of(pid, name):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == name]


def guard_of(server):
    guards = children_of(server.child.pid, "weir-guard")
    equal(len(guards), 1, "guards")
    return guards[0]


def runner_of(server):
    """The runner, as soon as there is one."""
    guard = guard_of(server)
    wait_until(lambda: children_of(guard, "weir-runner"), "a runner")
    return children_of(guard, "weir-runner")[0]


@case
def a_server_that_is_killed_leaves_nobody_and_the_model_is_told():
    needs_one("whose runner and whose tool it is")
    mark = new_mark()
    script = f"echo once >>log; setsid sleep {mark} & sleep {mark}"
    with workshop(shell("slow", script)) as (upstream, server):
        upstream.control(default=says("That is all."), rules=[when("please", uses(("slow", {})))])
        session, _ = server.send("please")
        log = folder_of(server, session) / "log"
        wait_until(lambda: log.exists() and log.read_text() and marked(mark), "it runs")
        server.kill()
        wait_until(lambda: not marked(mark), "nothing of it is left")
        server.start()
        events = server.whole(session, ("done", "error"))
        ends = [event for _, event in events if event["type"] == "tool_end"]
        equal([end["ok"] for end in ends], [False])
        expect("unknown whether it happened" in ends[0]["result"], "what is told", ends)
        equal(log.read_text(), "once\n", "it ran once")
        check_session(events)


@case
def a_runner_that_is_killed_ends_its_tools_and_comes_back():
    needs_one("whose runner it is")
    mark = new_mark()
    tools = [shell("slow", f"setsid sleep {mark} & sleep {mark}"), shell("quick", "echo well")]
    with workshop(*tools) as (upstream, server):
        upstream.control(default=says("That is all."),
                         rules=[when("please", uses(("slow", {}))), when("please", uses(("quick", {})))])
        session, _ = server.send("please")
        wait_until(lambda: marked(mark), "it runs")
        killed = runner_of(server)
        os.kill(killed, signal.SIGKILL)
        events = server.whole(session, "done")
        equal([(e["ok"], e["result"]) for _, e in events if e["type"] == "tool_end"],
              [(False, "the process that watched it is gone"), (True, "well")])
        equal(marked(mark), [], "nothing of it is left")
        equal(server.metric("weir_sessions_runner_restarts_total"), 1)
        expect("is started anew" in server.errors() and "signal=9" in server.errors(), "the log", server.errors())
        expect(runner_of(server) != killed, "another one")
        expect(not pathlib.Path(f"/proc/{killed}").exists(), "it is buried")
        check_session(events)


@case
def a_runner_without_a_guard_is_the_last_one():
    mark = new_mark()
    tools = [shell("slow", f"setsid sleep {mark} & sleep {mark}"), shell("quick", "echo well")]
    with workshop(*tools) as (upstream, server):
        guard, runner = guard_of(server), runner_of(server)
        os.kill(guard, signal.SIGKILL)
        wait_until(lambda: not pathlib.Path(f"/proc/{guard}").exists(), "it is buried")
        equal(call_of(upstream, server, "quick")[0]["result"], "well")
        upstream.control(default=says("That is all."), rules=[when("please", uses(("slow", {})), times=2)])
        session, _ = server.send("please")
        wait_until(lambda: marked(mark), "it runs")
        os.kill(runner, signal.SIGKILL)
        events = server.whole(session, "done")
        equal([(e["ok"], e["result"]) for _, e in events if e["type"] == "tool_end"],
              [(False, "the runner is gone"), (False, "tools cannot be run any more")])
        wait_until(lambda: not marked(mark), "nothing of it is left")
        expect("none can be run until the server is started again" in server.errors(), "the log", server.errors())
        check_session(events)


@case
def a_server_that_stops_leaves_nobody():
    mark = new_mark()
    with workshop(shell("slow", f"trap '' TERM; setsid sleep {mark} & sleep {mark}")) as (upstream, server):
        upstream.control(default=says("That is all."), rules=[when("please", uses(("slow", {})))])
        server.send("please")
        wait_until(lambda: marked(mark), "it runs")
        server.stop()
        equal(marked(mark), [])


# ---- approval ----

def approved(server, session, decide):
    """Decides about the next question; the events of the turn."""
    with server.stream(session) as stream:
        events = read_until(stream, "tool.approval_required")
        decide(events[-1][1]["request"])
        events += read_until(stream, ("done", "error"))
    return events


@case
def what_changes_something_is_asked_for_first():
    with workshop(tool("touch", "/usr/bin/touch", "made")) as (upstream, server):
        upstream.control(default=says("That is all."),
                         rules=[when(word, uses(("touch", {"a": 1}))) for word in ("xylo", "ypsilon", "zither")])
        session, _ = server.send("xylo")

        def deny(request):
            equal((request["toolName"], request["args"]), ("touch", {"a": 1}))
            expect(not (folder_of(server, session) / "made").exists(), "it has not run")
            server.must("tools/deny", {"approvalId": request["approvalId"], "clientId": "tab", "reason": "not now"})

        events = approved(server, session, deny)
        end = next(event for _, event in events if event["type"] == "tool_end")
        equal(end["ok"], False)
        expect("not now" in end["result"], "the reason", end)
        expect(not (folder_of(server, session) / "made").exists(), "it has not run")
        session, _ = server.send("ypsilon")
        events = approved(server, session, lambda request: server.must(
            "tools/approve", {"approvalId": request["approvalId"], "clientId": "tab", "scope": "exact-args"}))
        equal([event["ok"] for _, event in events if event["type"] == "tool_end"], [True])
        expect((folder_of(server, session) / "made").exists(), "it has run")
        server.send("zither", session)
        events = server.whole(session, "done", 2)
        equal(sum(event["type"] == "tool.approval_required" for _, event in events), 1, "it is remembered")
        check_session(events)


@case
def a_turn_that_is_aborted_while_it_asks_runs_nothing():
    with workshop(tool("touch", "/usr/bin/touch", "made")) as (upstream, server):
        upstream.control(default=says("That is all."), rules=[when("please", uses(("touch", {})))])
        session, _ = server.send("please")
        with server.stream(session) as stream:
            request = read_until(stream, "tool.approval_required")[-1][1]["request"]
            server.must("chat/abort", {"sessionId": session})
            events = read_until(stream, ("done", "error"))
        equal([event["decision"] for _, event in events if event["type"] == "approval.resolved"], ["deny"])
        late = server.call("tools/approve", {"approvalId": request["approvalId"], "clientId": "tab", "scope": "once"})
        equal(late.status, 409)
        expect(not (folder_of(server, session) / "made").exists(), "it never ran")


# ---- notes, memory, schedules ----

def allow(server):
    return lambda request: server.must("tools/approve", {"approvalId": request["approvalId"], "clientId": "tab", "scope": "once"})


@case
def notes_are_files_of_the_session():
    with workshop() as (upstream, server):
        upstream.control(default=says("That is all."),
                         rules=[when("write", uses(("write_note", {"name": "to do", "text": "milk"})))])
        session, _ = server.send("write")
        approved(server, session, allow(server))
        equal((folder_of(server, session) / "notes" / "to do").read_text(), "milk")
        upstream.control(default=says("That is all."),
                         rules=[when("append", uses(("append_note", {"name": "to do", "text": "bread"})))])
        server.send("append", session)
        with server.stream(session) as stream:
            request = read_until(stream, "tool.approval_required", 2)[-1][1]["request"]
            allow(server)(request)
            read_until(stream, "done", 1)
        equal((folder_of(server, session) / "notes" / "to do").read_text(), "milk\nbread")
        upstream.control(default=says("That is all."), rules=[when("read", uses(
            ("list_notes", {}), ("read_note", {"name": "to do"}), ("read_note", {"name": "other"}),
            ("read_note", {"name": "../../x"}), ("write_note", {"name": ".hidden", "text": "x"}),
            ("write_note", {"name": "a\u009b2J", "text": "x"}), ("write_note", {"name": "a\u202etxt", "text": "x"}),
            ("write_note", {"name": "a", "text": "x" * 70000}), ("list_notes", {"x": 1}), ("nothing", {})))])
        server.send("read", session)
        events = server.whole(session, "done", 3)
        ends = [event for _, event in events if event["type"] == "tool_end"][2:]
        equal(json.loads(ends[0]["result"]), {"notes": [{"name": "to do", "bytes": 10}]})
        equal(json.loads(ends[1]["result"]), {"name": "to do", "text": "milk\nbread"})
        equal([end["ok"] for end in ends], [True, True] + 8 * [False])
        expect("no note" in ends[2]["result"], "a note that is not there", ends[2])
        expect(all("name" in end["result"] for end in ends[3:7]), "names", ends[3:7])
        equal(ends[9]["result"], "there is no such tool")
        check_session(events)
        equal(sum(event["type"] == "tool.approval_required" for _, event in events), 2, "nonsense is not asked for")


@case
def a_note_that_is_not_there_is_deleted_without_asking_anybody():
    with SessionServer() as server:
        session, _ = server.send("Delete note plan")
        events = server.whole(session, "done", 1)
        folder = folder_of(server, session) / "notes"
        folder.mkdir(parents=True)
        (folder / "link").symlink_to("/etc/passwd")
        for count, name in enumerate(("plan", "link"), 2):
            server.send(f"Delete note {name}", session)
            events = server.whole(session, "done", count)
        ends = [event for _, event in events if event["type"] == "tool_end"]
        equal([(end["ok"], end["result"]) for end in ends], 3 * [(False, "there is no note of that name")])
        expect(all(event["type"] != "tool.approval_required" for _, event in events), "nobody is asked", events)
        (folder / "plan").write_text("run")
        server.send("Delete note plan", session)
        with server.stream(session) as stream:
            allow(server)(read_until(stream, "tool.approval_required")[-1][1]["request"])
            read_until(stream, "done")
        expect(not (folder / "plan").exists() and (folder / "link").is_symlink(), "it is deleted", list(folder.iterdir()))


@case
def the_builtin_provider_uses_tools_too():
    with SessionServer() as server:
        session, _ = server.send("Remember that I sleep best in cool rooms.")
        events = approved(server, session, allow(server))
        end = next(event for _, event in events if event["type"] == "tool_end")
        equal(end["ok"], True, f"{end}")
        memories = server.ask("GET", "/v1/memory").json()
        expect("cool rooms" in json.dumps(memories), "it is remembered", memories)
        session, _ = server.send("Write a note called plan: run on Sunday", session)
        with server.stream(session) as stream:
            request = read_until(stream, "tool.approval_required", 2)[-1][1]["request"]
            allow(server)(request)
            read_until(stream, "done")
        equal((folder_of(server, session) / "notes" / "plan").read_text(), "run on Sunday")


def own_sockets(server):
    """How many sockets of this machine alone the server has; each work of the runner's is one."""
    local = {line.split()[6] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]}
    found = 0
    for fd in pathlib.Path(f"/proc/{server.child.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += os.readlink(fd).removeprefix("socket:[").removesuffix("]") in local
    return found


@contextlib.contextmanager
def held_runner(server):
    """What it is given meanwhile has begun and does not go on. Brings a wait for there being one more."""
    runner, before = runner_of(server), own_sockets(server)
    os.kill(runner, signal.SIGSTOP)
    try:
        yield lambda: wait_until(lambda: own_sockets(server) > before, "the runner has something to do")
    finally:
        os.kill(runner, signal.SIGCONT)


def end_of_aborted(server, stream):
    """What is told of the one call of a turn that is aborted; the message says the same."""
    events = read_until(stream, ("done", "error"))
    equal((events[-1][1]["type"], events[-1][1].get("code")), ("error", "aborted"))
    return [event for _, event in events if event["type"] == "tool_end"][-1]


def check_told(server, session, end, wanted):
    equal((end["ok"], end["result"]), wanted)
    told_tools = server.messages(session)[-1]["tools"]
    equal([tool["ok"] for tool in told_tools], [wanted[0]], "what the message says")


@case
def what_an_abort_met_is_told_as_it_is():
    needs_one("whose runner is held")
    write = ("write_note", {"name": "n", "text": "body"})
    with workshop(shell("waits", "echo begun >begun; exec sleep 1000")) as (upstream, server):
        upstream.control(default=says("That is all."), rules=[
            when("xylo", uses(write)), when("ypsilon", uses(write)), when("zither", uses(("read_note", {"name": "n"}))),
            when("oboe", uses(("waits", {})))])
        # It was asked about and never allowed.
        session, _ = server.send("xylo")
        note = folder_of(server, session) / "notes" / "n"
        with server.stream(session) as stream:
            read_until(stream, "tool.approval_required")
            server.must("chat/abort", {"sessionId": session})
            check_told(server, session, end_of_aborted(server, stream), (False, "cancelled"))
        expect(not note.exists(), "nothing is there")
        # It runs: what takes milliseconds comes to its end.
        session, _ = server.send("ypsilon")
        note = folder_of(server, session) / "notes" / "n"
        with server.stream(session) as stream:
            request = read_until(stream, "tool.approval_required")[-1][1]["request"]
            with held_runner(server) as wait_begun:
                allow(server)(request)
                wait_begun()
                server.must("chat/abort", {"sessionId": session})
            check_told(server, session, end_of_aborted(server, stream), (True, '{"name":"n","bytes":4}'))
        equal(note.read_text(), "body")
        # However long its result is.
        note.write_text('"' * 60000)
        with held_runner(server) as wait_begun:
            server.send("zither", session)
            wait_begun()
            server.must("chat/abort", {"sessionId": session})
        events = server.whole(session, "error", 2)
        end = [event for _, event in events if event["type"] == "tool_end"][-1]
        equal((end["ok"], len(end["result"].encode()) < (64 << 10) + 64), (True, True))
        expect(end["result"].endswith("bytes in all)"), "it is cut", end["result"][-80:])
        check_session(events)
        # It is ended in the middle: nobody knows how far it had come.
        session, _ = server.send("oboe")
        wait_until(lambda: (folder_of(server, session) / "begun").exists(), "it runs")
        with server.stream(session) as stream:
            server.must("chat/abort", {"sessionId": session})
            check_told(server, session, end_of_aborted(server, stream), (False, "cancelled: it is unknown whether it happened"))


@case
def what_is_told_as_cancelled_has_never_begun():
    with workshop(tool("waits", "/bin/sh", "-c", "echo begun >begun; exec sleep 1000")) as (upstream, server):
        for _ in range(8):
            upstream.control(default=says("That is all."), rules=[when("please", uses(("waits", {})))])
            session, _ = server.send("please")
            with server.stream(session) as stream:
                allow(server)(read_until(stream, "tool.approval_required")[-1][1]["request"])
                server.must("chat/abort", {"sessionId": session})
                end = end_of_aborted(server, stream)
            expect(end["result"] in ("cancelled", "cancelled: it is unknown whether it happened"), "what is told", end)
            has_begun = (folder_of(server, session) / "begun").exists()
            expect(not has_begun or end["result"] != "cancelled", "it has begun", end)


@case
def what_was_remembered_when_an_abort_came_is_what_is_told():
    with SessionServer() as server:
        for number in range(8):
            session, _ = server.send(f"Remember that I like tea number {number}.")
            with server.stream(session) as stream:
                request = read_until(stream, "tool.approval_required")[-1][1]["request"]
                allow(server)(request)
                server.must("chat/abort", {"sessionId": session})
                events = read_until(stream, ("done", "error"))
            end = next(event for _, event in events if event["type"] == "tool_end")
            is_there = f"tea number {number}" in json.dumps(server.ask("GET", "/v1/memory").json())
            equal((end["ok"], is_there or end["result"] == "cancelled"), (is_there, True), f"{end}")


@case
def memory_and_schedules_change_once():
    rules = [when("please", uses(("remember", {"text": "likes tea", "category": "preference"}),
                                 ("schedule_prompt", {"schedule": "0 7 * * 1-5", "text": "Good morning"}),
                                 ("forget_memory", {"text": "likes tea"}), ("forget_memory", {"text": "never said"}),
                                 ("schedule_prompt", {"schedule": "nonsense", "text": "x"}),
                                 ("schedule_prompt", {"schedule": "0 0 30 2 *", "text": "x"}),
                                 ("schedule_prompt", {"schedule": "@daily", "text": "x", "timezone": "Moon/Sea"}),
                                 ("remember", {"text": "x", "category": "secret"})))]
    with workshop() as (upstream, server):
        upstream.control(default=says("That is all."), rules=rules)
        session, _ = server.send("please")
        with server.stream(session) as stream:
            events = []
            while not events or events[-1][1]["type"] != "done":
                events += read_until(stream, ("tool.approval_required", "done"))
                if events[-1][1]["type"] != "done":
                    allow(server)(events[-1][1]["request"])
        ends = [event for _, event in events if event["type"] == "tool_end"]
        equal([end["ok"] for end in ends], [True, True, True, False, False, False, False, False], f"{ends}")
        for end, text in zip(ends[4:7], ("schedule: ", "never comes", '"Moon/Sea" is not known')):
            expect(text in end["result"], "why not", end)
        equal(sum(event["type"] == "tool.approval_required" for _, event in events), 3, "what cannot be is not asked for")
        jobs = server.must("cron/list")["jobs"]
        equal([(job["sessionId"], job["schedule"], job["text"]) for job in jobs], [(session, "0 7 * * 1-5", "Good morning")])
        expect("likes tea" not in json.dumps(server.ask("GET", "/v1/memory").json()), "it is forgotten")
        check_session(events)


# ---- the file ----

@case
def a_file_that_is_wrong_names_the_place():
    good = shell("one", "true")
    rows = [
        ("{", "byte 1"), (json.dumps({}), "a list"), (json.dumps([1]), "tool 1: it is no object"),
        (json.dumps([{**good, "nane": "x"}]), 'tool 1: there is no "nane"'),
        (json.dumps([good, {**good, "command": None}]), "tool 2: name: tool 1 has the same"),
        (json.dumps([{**good, "name": "query_data"}]), "tool 1: name: there is a tool of that name already"),
        (json.dumps([{**good, "name": "write_note"}]), "tool 1: name: there is a tool of that name already"),
        (json.dumps([{**good, "name": "Ä"}]), "tool 1: name: it has to be"),
        (json.dumps([{key: value for key, value in good.items() if key != "command"}]), "tool 1: command: it is missing"),
        (json.dumps([{**good, "command": ["sh"]}]), "tool 1: command: sh is not an absolute path"),
        (json.dumps([{**good, "command": ["/no/such"]}]), "tool 1: command: /no/such cannot be run"),
        (json.dumps([{**good, "command": ["/usr"]}]), "tool 1: command: /usr cannot be run: it is no file"),
        (json.dumps([{**good, "command": ["/bin/sh", *["x" * 20000] * 4]}]), "tool 1: command: it has more than"),
        (json.dumps([{**good, "name": "_x"}]), "tool 1: name: it has to be a small letter"),
        (json.dumps([{**good, "command": []}]), "tool 1: command: it has to be a list"),
        (json.dumps([{**good, "command": ["/bin/sh", 1]}]), "tool 1: command: word 2 is no text"),
        (json.dumps([{**good, "approval": "no"}]), "tool 1: approval"),
        (json.dumps([{**good, "timeout": 0}]), "tool 1: timeout"), (json.dumps([{**good, "timeout": 601}]), "tool 1: timeout"),
        (json.dumps([{**good, "memory": 1}]), "tool 1: memory"), (json.dumps([{**good, "input_schema": {}}]), "tool 1: input_schema"),
        (json.dumps([{**good, "description": ""}]), "tool 1: description"),
        (json.dumps([{**good, "name": f"t{number}"} for number in range(65)]), "at most 64"),
        (json.dumps([good])[:-2] + ', "name": "one"}]', "tool 1: one of its members is there twice"),
        (json.dumps([{**good, "description": 'a\\", "b": [{'}, {**good, "name": "two", "timeout": 5}])[:-2] + ', "\\u0074imeout": 50}]',
         "tool 2: one of its members is there twice"),
        (json.dumps([{**good, "input_schema": 0}]).replace('"input_schema": 0', '"input_schema":{"type":"object","type":"object"}'),
         "tool 1: one of its members is there twice"),
    ]
    with tempfile.TemporaryDirectory(prefix="weir-tools-") as folder:
        path = pathlib.Path(folder) / "tools.json"
        for text, want in rows:
            path.write_text(text)
            done = subprocess.run([program(), "serve", "--open", "--listen", "127.0.0.1:0", "--data", f"{folder}/data",
                                   "--tools", str(path)], capture_output=True, text=True, timeout=WAIT_S)
            equal(done.returncode, 1, f"{text[:200]}: {done}")
            expect(f"{path}: " in done.stderr and want in done.stderr, f"{want!r}", done.stderr)
        os.mkfifo(f"{folder}/pipe")
        done = subprocess.run([program(), "serve", "--tools", f"{folder}/pipe"], capture_output=True, text=True, timeout=WAIT_S)
        expect(done.returncode == 1 and "it is no file" in done.stderr, "a pipe", done)
        done = subprocess.run([program(), "serve", "--tools", f"{folder}/none"], capture_output=True, text=True, timeout=WAIT_S)
        expect(done.returncode == 1 and "No such file" in done.stderr, "a file that is not there", done)


if __name__ == "__main__":
    main()
