#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/crash/sessions.py [--kills N] [--seed N]

Kills a server N times (9) at random instants while several people use sessions of theirs: they send
messages faster than they are answered, a model answers word by word, reads data, writes notes that
have to be approved, asks questions; scheduled prompts are due each minute, and the time of day goes on
to just before a full minute with every start. A call whose answer was lost is made again with the same
Idempotency-Key. Three kills to a folder, then a server that may finish.

What must hold of every session, however often its server died:
  - its ids have no gap, every event validates, and what its reader put together out of all connections
    is what a new reader gets;
  - each message that was sent has run once, in order, and each turn has one end;
  - the text that was streamed is the text of the end and that of the message that is kept;
  - each question is asked once and resolved once, as it was decided; a note is there if that was
    allowed and its turn was done;
  - a scheduled prompt ran at most once for each minute.

The last line is "N passed, M failed": a case is a folder and its three kills.
"""
import argparse
import json
import pathlib
import random
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))

from jobs import failure_of  # noqa: E402
from model_support import Upstream  # noqa: E402
from session_support import ENDS, LateClock, SessionServer, Tabs, check_session, says, uses  # noqa: E402
from support import JSON_FIELDS, PATIENCE, WAIT_S, Closed, Failure, equal, expect, program, to_json, wait_until  # noqa: E402

KILLS_PER_FOLDER = 3
SESSIONS = 6
MESSAGES = 5  # of each
KINDS = ("plain", "read", "write", "ask")
SILENCE_S = 2 * PATIENCE  # then a reader looks whether it is to leave
STORY = "".join(f"word{number:02} " for number in range(30)) + "end."
PROMPT = "It is time for the scheduled story."


class Person(threading.Thread):
    """Sends its messages, reads, and answers what it is asked, over as many connections as it takes."""

    def __init__(self, server, number, seed):
        super().__init__(daemon=True)
        self.server, self.number = server, number
        self.chance = random.Random(f"{seed}/{number}")
        self.texts = [f"person {number} message {at} wants {self.chance.choice(KINDS)}_{number}_{at}" for at in range(MESSAGES)]
        self.allows = {}  # by approval: what was said, and acknowledged
        self.session = self.job = self.failure = None
        self.turns = []
        self.events = []
        self.is_leaving = threading.Event()

    # -- calls --

    def call(self, method, value, number):
        """Until it is answered: the status and the output."""
        fields = [*JSON_FIELDS, ("Idempotency-Key", f"{self.number}-{method}-{number}")]
        deadline = time.monotonic() + WAIT_S
        while True:
            expect(time.monotonic() < deadline, f"{method} is not answered")
            try:
                answer = self.server.ask("POST", f"/rpc/{method}", fields, to_json({"json": value}))
            except (OSError, Closed):
                time.sleep(0.02)
                continue
            if answer.status in (408, 503):
                time.sleep(0.02)
                continue
            return answer.status, answer.json()["json"]

    def must(self, method, value, number):
        status, output = self.call(method, value, number)
        equal(status, 200, f"{method} {output}")
        return output

    def send(self, at):
        named = {"sessionId": self.session} if self.session else {}
        output = self.must("chat/send", {"clientId": "crash", "text": self.texts[at], **named}, at)
        self.session = output["sessionId"]
        self.turns.append(output["turnId"])

    # -- reading --

    def read_some(self):
        with self.server.stream(self.session, len(self.events)) as stream:
            equal(stream.opening.status, 200, "a stream")
            stream.sock.settimeout(SILENCE_S)
            while not self.is_leaving.is_set():
                try:
                    event = stream.next()
                except Failure as problem:
                    if "nothing came" in str(problem):
                        continue
                    # A server that was killed; the next event says whether one is missing.
                    if isinstance(problem, Closed) or "broke off" in str(problem) or "is not that of" in str(problem):
                        return
                    raise
                if event is None:
                    return
                self.take(event)

    def take(self, event):
        number, data = event
        value = json.loads(data)
        equal(number, len(self.events) + 1, "ids")
        self.events.append((number, value))
        if value["type"] == "tool.approval_required":
            self.decide(value["request"]["approvalId"])
        elif value["type"] == "clarify.request":
            answer = {"requestId": value["requestId"], "answer": "blue", "source": "user"}
            self.must("clarify/respond", answer, value["requestId"])

    def decide(self, approval):
        allows = self.chance.random() < 0.6
        value = {"approvalId": approval, "clientId": "crash", **({"scope": "once"} if allows else {})}
        self.must("tools/approve" if allows else "tools/deny", value, approval)
        self.allows[approval] = allows

    def run(self):
        try:
            self.send(0)
            job = {"schedule": "* * * * *", "text": PROMPT, "sessionId": self.session, "timezone": "UTC"}
            self.job = self.must("cron/create", job, "job")["job"]["id"]
            sender = threading.Thread(target=self.send_rest, daemon=True)
            sender.start()
            while not self.is_leaving.is_set():
                try:
                    self.read_some()
                except (OSError, Closed):
                    time.sleep(0.02)
            sender.join(WAIT_S)
        except Exception as problem:
            self.failure = self.failure or failure_of(problem)

    def send_rest(self):
        try:
            for at in range(1, MESSAGES):
                self.is_leaving.wait(self.chance.uniform(0, 0.2))
                self.send(at)
        except Exception as problem:
            self.failure = self.failure or failure_of(problem)

    def is_quiet(self):
        """All that was sent has ended."""
        if self.failure:
            return True
        ends = sum(event["type"] in ENDS for _, event in list(self.events))
        state = self.server.must("sessions/get", {"id": self.session})["session"] if self.session else {}
        return len(self.turns) == MESSAGES and ends >= MESSAGES and (state["state"], state["queued"]) == ("idle", 0)

    def fired(self):
        return [event for _, event in list(self.events) if event["type"] == "cron.fired"]

    def has_fired(self):
        return self.failure or self.fired()


# ---- what holds at the end ----

def check_turns(server, person, turns):
    asked = [m["content"] for m in server.messages(person.session) if m["role"] == "user"]
    equal([text for text in asked if text != PROMPT], person.texts, "messages, once each and in order")
    equal(len(turns), len(asked), "turns")
    answers = [m["content"] for m in server.messages(person.session) if m["role"] == "assistant"]
    equal([turn.text for turn in turns if turn.end["type"] == "done"], answers, "what is kept")
    equal([turn.end for turn in turns if turn.end["type"] == "error"], [], "turns that failed")


def check_questions(server, person, turns):
    asked = [event["request"] for turn in turns for event in turn.of("tool.approval_required")]
    resolved = {event["approvalId"]: event["decision"] for turn in turns for event in turn.of("approval.resolved")}
    equal(resolved, {name: "allow" if allows else "deny" for name, allows in person.allows.items()}, "decisions")
    names = [path.name for path in pathlib.Path(server.data).rglob("*note*")]
    for request in asked:
        is_there = any(request["args"]["name"] in name for name in names)
        equal(is_there, person.allows[request["approvalId"]], f"the note of {request}")


def check_job(person, turns):
    fired = person.fired()
    equal({event["jobId"] for event in fired} - {person.job}, set(), "jobs")
    minutes = [event["ranAt"][:16] for event in fired]
    equal(sorted(set(minutes)), sorted(minutes), "a minute fired twice")
    equal(len(fired), len(turns) - MESSAGES, "turns of the schedule")


def check_person(server, tabs, person):
    expect(person.failure is None, f"person {person.number}: {person.failure}")
    turns = check_session(person.events)
    check_turns(server, person, turns)
    check_questions(server, person, turns)
    check_job(person, turns)
    fresh = tabs.watch(person.session, f"fresh-{person.number}")
    fresh.wait(lambda _: len(fresh.events) + len(fresh.wrong) >= len(person.events), "all again")
    equal(fresh.check()[:len(person.events)], person.events, f"person {person.number}: what a new reader gets")


# ---- a folder ----

def rules():
    """Each message has a word of its own, so that a rule meets its turn alone, once."""
    made = []
    for number in range(SESSIONS):
        for at in range(MESSAGES):
            mark = f"_{number}_{at}"
            note = {"name": f"person{number}-{at}-note", "text": f"note {number} {at}"}
            calls = {"read": ("list_data", {}), "write": ("write_note", note), "ask": ("ask_user", {"question": "Red or blue?"})}
            made += [{"times": 1, "contains": f"wants {kind}{mark}", "do": uses(call)} for kind, call in calls.items()]
    return made


def run_folder(upstream, tabs, seed):
    chance = random.Random(seed)
    clock = LateClock()
    upstream.reset()
    upstream.control(default=says(STORY, delta_ms=4), rules=[
        {"times": -1, "contains": "Your answer was interrupted", "do": says("and so on.", delta_ms=4)}, *rules()])
    clock.before_minute(1500)
    with SessionServer(upstream, env=clock.env) as server:
        tabs.server = server
        people = [Person(server, number, seed) for number in range(SESSIONS)]
        for person in people:
            person.start()
        for _ in range(KILLS_PER_FOLDER):
            time.sleep(chance.uniform(0.05, 1.5))
            server.kill()
            if chance.random() < 0.4:
                clock.set(clock.offset_ms - chance.uniform(1, 5000))  # set back while nothing ran
            else:
                clock.before_minute(chance.uniform(50, 900), minutes=chance.choice([0, 0, 1, 3]))
            server.start()
        for person in people:
            wait_until(person.is_quiet, f"person {person.number} is quiet: {person.failure}", WAIT_S * 2)
        # A job may have come after the last full minute, or the clock may have gone back before one.
        server.kill()
        clock.before_minute(200)
        server.start()
        for person in people:
            wait_until(person.has_fired, f"the schedule of person {person.number} fires: {person.failure}", WAIT_S * 2)
        for person in people:
            server.must("cron/delete", {"id": person.job})
        for person in people:
            wait_until(person.is_quiet, f"person {person.number} is quiet", WAIT_S)
            head = len(server.whole(person.session, "done", 1))  # the stream is readable
            expect(head > 0, "events")
        for person in people:
            person.is_leaving.set()
            person.join(WAIT_S)
        for person in people:
            check_person(server, tabs, person)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--kills", type=int, default=9)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    options = parser.parse_args()
    program()
    n_passed = n_failed = 0
    with Upstream() as upstream, Tabs() as tabs:
        for seed in range(options.seed, options.seed + (options.kills + KILLS_PER_FOLDER - 1) // KILLS_PER_FOLDER):
            try:
                run_folder(upstream, tabs, seed)
                n_passed += 1
            except Exception as problem:
                n_failed += 1
                print(f"FAILED seed {seed}: {failure_of(problem)}", flush=True)
    print(f"{n_passed} passed, {n_failed} failed")
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
