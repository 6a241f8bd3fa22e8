#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/turn_clients.py [CASE...]

Turns as their users are told to read them: by curl, by a page's EventSource in Chromium, by a
loop over lines (examples/turn_lines.c), and by libweir-client (examples/client/follow_turn.c), with
keys. A program that cannot be had is skipped.
"""
import json
import os
import pathlib
import subprocess

from others import Pages, browser, curl, need
from support import WAIT_S, Server, Skip, case, equal, expect, main, make_key, program, weir

QUESTION = "What is my average HRV this month?"

# As a user would write it; only where and which key are ours.
PAGE = """<!doctype html><title>weir</title><p id="data_science"></p><script>
const say = (what) => fetch('/report', {method: 'POST', body: JSON.stringify(what)});
const url = `ADDRESS/v1/turns/${TURN}/events`;
const es = new EventSource(`${url}?api_key=${KEY}`);
es.addEventListener("turn.started", (e) => say({started: JSON.parse(e.data), id: Number(e.lastEventId)}));
es.addEventListener("agent.thought", (e) => {
  const { agent, delta } = JSON.parse(e.data);
  document.getElementById(agent).textContent += delta;
});
es.addEventListener("turn.completed", (e) => {
  const { result } = JSON.parse(e.data);
  say({answer: result.answer, thoughts: document.getElementById("data_science").textContent,
       id: Number(e.lastEventId)});
  if (CLOSES) es.close();
});
es.onerror = () => say({error: true, state: es.readyState});
</script>"""


def keyed_server(*words):
    """A server with a key, and a person's data."""
    server = Server(*words, is_open=False)
    people = pathlib.Path(__file__).resolve().parents[1] / "data" / "people"
    return server, [str(people / "u01_daily.csv")]


def prepare(server, files):
    server.key = make_key(server, "--owner", "me")
    server.stop()
    imported = weir("import", *files, "--data", server.data, "--quiet")
    equal(imported.returncode, 0, imported.stderr)
    server.start()


def authorized(server):
    return ["-H", f"Authorization: Bearer {server.key}"]


def new_turn(server, **members):
    body = {"messages": [{"role": "user", "content": QUESTION}], **members}
    done = curl("-X", "POST", server.url("/v1/turns"), *authorized(server), "-H",
                "Content-Type: application/json", "-d", json.dumps(body))
    return json.loads(done.stdout)


def stream(server, turn, *words):
    return curl("-N", *authorized(server), "-H", "Accept: text/event-stream", *words,
                server.url(f"/v1/turns/{turn['id']}/events")).stdout


def ids_in(wire):
    return [int(line[4:]) for line in wire.decode().split("\n") if line.startswith("id: ")]


@case
def curl_asks_and_waits():
    server, files = keyed_server()
    with server:
        prepare(server, files)
        turn = new_turn(server, stream=False)
        equal(turn["status"], "completed")
        expect(turn["result"]["answer"], "an answer", turn)


@case
def curl_watches_and_resumes():
    server, files = keyed_server()
    with server:
        prepare(server, files)
        turn = new_turn(server)
        wire = stream(server, turn)
        ids = ids_in(wire)
        equal(ids, list(range(1, len(ids) + 1)), "ids")
        expect(b"\nevent: turn.completed\n" in wire, "the end", wire[-300:])
        rest = stream(server, turn, "-H", "Last-Event-Id: 3")
        equal(ids_in(rest), ids[3:], "ids behind the third")
        expect(wire.endswith(rest), "the same bytes again")
        snapshot = curl(*authorized(server), "-H", "Accept: application/json",
                        server.url(f"/v1/turns/{turn['id']}/events"))
        equal(json.loads(snapshot.stdout)["status"], "completed", "the Turn instead")


@case
def a_loop_over_lines_reads_a_turn():
    path = pathlib.Path(program()).parent / "examples" / "turn_lines"
    if not os.access(path, os.X_OK):
        raise Skip("examples/turn_lines is not built")
    server, files = keyed_server()
    with server:
        prepare(server, files)
        wire = stream(server, new_turn(server))
        done = subprocess.run([path], input=wire, stdout=subprocess.PIPE, timeout=WAIT_S, check=False)
        lines = done.stdout.decode().splitlines()
        equal(done.returncode, 0, "exit status")
        equal(len(lines), len(ids_in(wire)), "events")
        expect(json.loads(lines[-1].split(" ", 1)[1])["result"]["answer"], "the answer", lines[-1])
        half = wire[:wire.index(b"id: 4\n")]
        done = subprocess.run([path], input=half, stdout=subprocess.PIPE, timeout=WAIT_S, check=False)
        equal((done.returncode, done.stdout.decode().splitlines()[-1]), (3, "Last-Event-Id: 3"))


def lines_of(wire):
    """As examples/client/follow_turn.c prints them."""
    events = [event.split("\n") for event in wire.decode().split("\n\n")[:-1]]
    return [f"{event[1][7:]} {event[2][6:]}" for event in events]


@case
def libweir_client_follows_a_turn_through_kills():
    path = pathlib.Path(program()).parent / "examples" / "follow_turn"
    if not os.access(path, os.X_OK):
        raise Skip("examples/follow_turn is not built")
    server, files = keyed_server("--turn-pace", "300ms")
    with server:
        prepare(server, files)
        turn = new_turn(server)
        env = {**os.environ, "WEIR_KEY": server.key}
        lines, last, complaints, code = [], [], b"", 3
        while code == 3:  # its few pauses may be shorter than a start takes; then it says where it was
            with subprocess.Popen([path, server.url(), turn["id"], *last], env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as follower:
                wire = follower.stdout.readline()
                for _ in range(2 if not lines else 0):
                    server.kill()
                    server.start()
                    # Something new, so that it is cut in another place.
                    wire += follower.stdout.readline()
                wire += follower.stdout.read()
                complaints += follower.stderr.read()
                code = follower.wait(WAIT_S)
            lines += wire.decode().splitlines()
            if code == 3:
                last = [lines.pop().removeprefix("Last-Event-Id: ")]
        equal(code, 0, complaints.decode())
        equal(lines, lines_of(stream(server, turn)), "each event once")
        expect(b"Reconnecting from " in complaints, "it was cut", complaints)
        done = subprocess.run([path, server.url(), "turn_01HZZZZZZZZZZZZZZZZZZZZZZZ"], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_S,
                              check=False)
        equal(done.returncode, 3, "a turn that is none")
        expect(b"turn_not_found" in done.stderr, "the server's words", done.stderr)


def page_of(server, turn, closes):
    page = PAGE.replace("ADDRESS", server.url()).replace("TURN", json.dumps(turn["id"]))
    return page.replace("KEY", json.dumps(server.key)).replace("CLOSES", "true" if closes else "false")


@case
def a_page_watches_a_turn_by_eventsource():
    need("chromium")
    with Pages() as pages:
        server, files = keyed_server("--cors-origin", f"http://127.0.0.1:{pages.port}")
        with server:
            prepare(server, files)
            turn = new_turn(server)
            with browser(pages.show(page_of(server, turn, True))):
                # Each comes by a connection of its own, in any order.
                for name in ("started", "answer"):
                    pages.wait(lambda report, name=name: name in report, f"the page has the {name}", WAIT_S * 2)
            started, done = ([report for report in pages.reports if name in report][0]
                             for name in ("started", "answer"))
            expect(done["thoughts"] and done["answer"], "thoughts and answer", done)
            equal(started["started"]["turn_id"], turn["id"])


@case
def a_page_that_does_not_close_is_told_to_stop_coming():
    need("chromium")
    with Pages() as pages:
        server, files = keyed_server("--cors-origin", f"http://127.0.0.1:{pages.port}")
        with server:
            prepare(server, files)
            turn = new_turn(server)
            with browser(pages.show(page_of(server, turn, False))):
                closed = 2  # EventSource.CLOSED: the 204 has ended it
                pages.wait(lambda report: report.get("state") == closed, "it has stopped", WAIT_S * 2)
            equal(len([report for report in pages.reports if "answer" in report]), 1, "answers")


if __name__ == "__main__":
    main()
