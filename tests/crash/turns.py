#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/crash/turns.py [--kills N] [--jobs N] [--seed N] [--kind KIND] [--no-boundaries]

Kills a server that has turns under way, with readers attached that come again by the id of the
last event they saw, and starts it again on the same folder.

First at every boundary of the steps of a turn, by the fault points of src/flow: as the run begins,
before each step, behind each before its output is committed, when that is durable, and before the
end. Then N times (25) under load, at random instants and places: several people with up to three
turns each, four kills to a folder, then a server that may finish.

What must hold of every turn, however often its server died:
  - each question is one turn, also when the answer to its POST was lost and it was sent again
    with the same Idempotency-Key; the turn ends exactly once, and it and its trace keep to all
    rules (turn_rules.py);
  - its ids have no gap; what any reader saw of it at any time is what is in the log at the end;
  - a step whose output was durable is not run again: the trace shows it as it was, and the
    number of steps that a server ran is the number of those it added;
  - one that was cancelled and told so does not complete, and no other is cancelled;
  - the cap of three turns in flight counts what is in flight: as many more as there is room for
    are taken, the next one is refused, and in the end all places are free.

The last line is "N passed, M failed": a case is a kill and what was checked after it. A failure
tells its seed; --seed N --jobs 1 runs that folder's story again (timing differs).
"""
import argparse
import datetime
import functools
import json
import os
import pathlib
import random
import select
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))

from crowd import Crowd, Reader, Writer  # noqa: E402
from jobs import Tally, failure_of, run_jobs  # noqa: E402
from support import (JSON_FIELDS, PATIENCE, ROOT, WAIT_S, Closed, Failure, Server, equal,  # noqa: E402
                     expect, program, request_bytes, to_json, weir)
from turn_rules import (TurnEventParser, body_of, check_whole, get_trace, post_turn,  # noqa: E402
                        read_events)

PEOPLE = ROOT / "tests" / "data" / "people"
CAP = 3
FROZEN = ("--turn-pace", "1m", "--grace", "400ms")
# For the boundaries: every path through the steps.
PATHS = ["How has my resting heart rate changed over the last 90 days, and is that normal?",
         "Is anything interesting in my data?", "thanks!"]
QUESTIONS = PATHS + [
    "How many steps did I walk last week?", "Do I sleep less on weekends?", "Should I sleep more?",
    "What is a normal resting heart rate?", "Does my sleep go along with my stress?", "hm", "",
    "What was my average weight in March 2025?", "\u00bfC\u00f3mo dorm\u00ed ayer?"]
KINDS = ["time", "time", "time", "post", "step", "output", "kept", "end", "sync", "write", "start", "stop"]
# One for each folder: none of them may make a difference to what survives a kill.
OPTIONS = [[], ["--turn-pace", "3ms"], ["--turn-pace", "20ms"], ["--loops", "1"],
           ["--durability", "normal"]]
KILLS_PER_FOLDER = 4
LOAD_S = 0.4 * PATIENCE
PATIENT_S = 2 * PATIENCE


def to_ms(text):
    when = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")
    return round(when.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)


# ---- connections ----

class PairParser(TurnEventParser):
    def feed(self, data):
        return [(number, (kind, text)) for number, kind, text in super().feed(data)]


class TurnReader(Reader):
    """A reader of a turn's events, which may already have all of them."""

    def __init__(self, crowd, port, question, last_id, on_event):
        self.question = question
        super().__init__(crowd, port, question.turn_id, last_id, on_event=on_event, key=question.person.key)
        self._parser = PairParser()

    def target(self, query):
        return f"/v1/turns/{self.stream}/events{query}"

    def on_data(self, data):
        if self.opening is None and (self._head + data).startswith(b"HTTP/1.1 204"):
            expect(self.question.has_ended, f"{self.stream}: 204 after {self.last_id}, and no end was seen")
            self.has_ended = True
            self.close()
            return
        super().on_data(data)


class Asker(Writer):
    """Posts questions; on_answer(asker, question, status, body)."""

    def post(self, question):
        self.in_flight.append(question)
        fields = [*JSON_FIELDS, ("Idempotency-Key", question.name)]
        self.send(request_bytes("POST", "/v1/turns", fields, to_json(body_of(question.text)), self.key))

    def cancel(self, question):
        question.cancel = "asked"
        self.in_flight.append(Cancel(question))
        self.send(request_bytes("POST", f"/v1/turns/{question.turn_id}/cancel", (), b"", self.key))


# ---- what happened ----

class Cancel:
    def __init__(self, question):
        self.question = question


class Person:
    def __init__(self, name, key):
        self.name = name
        self.key = key
        self.fields = [("Authorization", f"Bearer {key}")]
        self.questions = []

    def open(self):
        """Questions whose end nobody has seen."""
        return [question for question in self.questions if not question.has_ended]


class Question:
    """One that was asked: its turn, once known, and all that readers saw of it."""

    def __init__(self, person, text, name):
        self.person = person
        self.text = text
        self.name = name        # its Idempotency-Key
        self.turn_id = None
        self.seen = {}          # id: (type, data)
        self.has_ended = False
        self.steps = {}         # those known to be durable, as the trace shows them
        self.cancel = "no"      # asked, accepted, late
        person.questions.append(self)

    def on_event(self, _, number, event):
        before = self.seen.setdefault(number, event)
        if before != event:
            raise Failure(f"{self.turn_id} {number} was {before!r:.200} and is {event!r:.200}")
        expect(not self.has_ended or number in self.seen, "an event behind the end", event)
        if event[0] in ("turn.completed", "turn.failed"):
            self.has_ended = True

    def last_id(self):
        return max(self.seen, default=0)


class Story:
    """All that happened on one folder, over many servers."""

    def __init__(self, chance, people):
        self.chance = chance
        self.people = people
        self.n_asked = 0
        self.n_reads = 0

    def ask(self, person, text=None):
        self.n_asked += 1
        return Question(person, self.chance.choice(QUESTIONS) if text is None else text,
                        f"q{self.n_asked}")

    def questions(self):
        return [question for person in self.people for question in person.questions]

    def totals(self):
        n_cancelled = sum(question.cancel == "accepted" for question in self.questions())
        return {"turns": len(self.questions()), "reads": self.n_reads, "cancelled": n_cancelled}

    def take_answer(self, question, status, body):
        if status != 201:
            raise Failure(f"a question of {question.person.name} was answered with {status} {body[:300]!r}; "
                          f"open: {[q.turn_id or q.name for q in question.person.open()]}")
        turn_id = json.loads(body)["id"]
        expect(question.turn_id in (None, turn_id), "a second turn for one question", question.turn_id, turn_id)
        question.turn_id = turn_id


class Load:
    """Those who ask and read during one life of the server."""

    def __init__(self, story, server, crowd, asks=True):
        self.story = story
        self.server = server
        self.crowd = crowd
        self.asks = asks
        self.is_over = False
        self.n_answers = 0
        self.askers = {}
        for person in story.people:
            self.askers[person] = Asker(crowd, server.port, self.on_answer, person.key)
            for question in person.open():
                if question.turn_id is None:
                    self.askers[person].post(question)
                else:
                    self.read_again(question)
            self.feed(person)

    def feed(self, person):
        while self.asks and not self.is_over and len(person.open()) < CAP and self.askers[person].is_open:
            self.askers[person].post(self.story.ask(person))

    def on_answer(self, asker, question, status, body):
        if self.is_over and status == 503:
            return
        if isinstance(question, Cancel):
            self.on_cancelled(question.question, status, body)
            return
        self.story.take_answer(question, status, body)
        self.n_answers += 1
        if not question.has_ended:
            self.read_again(question)
        if self.asks and not self.is_over and self.story.chance.random() < 0.1:
            asker.cancel(question)

    def on_cancelled(self, question, status, body):
        expect(status in (202, 409), "cancelling", status, body)
        question.cancel = "accepted" if status == 202 else "late"

    def read_again(self, question):
        """From where somebody was, and at times from the beginning, too."""
        if self.is_over:
            return
        last = question.last_id()
        self.read(question, last if last or self.story.chance.random() < 0.5 else None)
        if self.story.chance.random() < 0.3:
            self.read(question, self.story.chance.randint(0, last))

    def read(self, question, last):
        reader = TurnReader(self.crowd, self.server.port, question, last, self.on_event)
        reader.may_be_refused = lambda: self.is_over
        self.story.n_reads += 1

    def on_event(self, reader, number, event):
        question = reader.question
        had_ended = question.has_ended
        question.on_event(reader, number, event)
        if question.has_ended and not had_ended:
            self.feed(question.person)

    def end(self):
        self.is_over = True
        self.crowd.drain()


# ---- lives of a server ----

def is_dead(server):
    return server.child.poll() is not None


def fault_of(chance, kind):
    top = {"end": 12, "sync": 60, "write": 200}.get(kind, 90)
    return {"WEIR_FAULT": f"{kind}:{1 + int(top ** chance.random())}!"}


def die_at_start(story, server, start_s):
    select.select([server.child.stdout], [], [], story.chance.uniform(0, start_s * 1.2))
    server.kill()


def live_once(story, server, kind, start_s):
    """One life of the server under load, up to its death."""
    chance = story.chance
    server.env = fault_of(chance, kind) if kind in ("step", "output", "kept", "end", "sync", "write") else {}
    server.spawn()
    if kind == "start":
        die_at_start(story, server, start_s)
        return
    try:
        server.wait_listening()
    except Failure:
        # A fault may lie before its first line.
        if server.child.returncode != -signal.SIGKILL:
            raise
        server.wait()
        return
    with Crowd() as crowd:
        try:
            load = Load(story, server, crowd)
            if kind in ("time", "stop"):
                crowd.run_for(chance.uniform(0, LOAD_S))
            elif kind == "post":
                k = 1 + int(30 ** chance.random())
                crowd.run_for(PATIENT_S, lambda: load.n_answers >= k)
            else:
                crowd.run_for(PATIENT_S, lambda: is_dead(server))
            if kind == "stop":
                load.is_over = True
                server.child.terminate()
                crowd.run_for(chance.uniform(0, 0.05))
        except OSError:
            expect(server.env, "connections were refused")
        server.kill()
        if kind != "stop" or server.child.returncode != 0:
            equal(server.child.returncode, -signal.SIGKILL, f"how it ended ({server.errors()[-600:]})")
        load.end()


def in_flight(server, person):
    """A set: one that begins between the two looks is in both."""
    turns = set()
    for status in ("queued", "running"):
        answer = server.ask("GET", f"/v1/turns?limit=100&status={status}", person.fields)
        equal(answer.status, 200, "the list")
        turns |= {turn["id"] for turn in answer.json()["data"]}
    return turns


def post(server, question):
    fields = [*question.person.fields, ("Idempotency-Key", question.name)]
    return post_turn(server, body_of(question.text), fields)


def look_at_frozen(story, server):
    """A server whose steps wait: what is durable is seen, and the cap is tried."""
    server.env = {}
    server.options, options = [*server.options, *FROZEN], server.options
    server.start()
    for person in story.people:
        now = in_flight(server, person)
        known = {question.turn_id for question in person.open() if question.turn_id}
        lost = [question for question in person.open() if question.turn_id is None]
        expect(len(now) <= CAP, f"{person.name} has more in flight than may be", now)
        expect(len(now - known) <= len(lost), f"{person.name} has turns that nobody asked for", now, known)
        for question in lost:
            answer = post(server, question)
            story.take_answer(question, answer.status, answer.body)
        # One with a wish to cancel gives its place back at some time.
        if all(question.cancel == "no" for question in person.open()):
            try_cap(story, server, person)
        note_steps(server, person.questions)
    server.expect_no_complaint()
    equal(server.stop(), 0, "exit status after SIGTERM")
    server.options = options


def try_cap(story, server, person):
    for _ in range(CAP - len(in_flight(server, person))):
        question = story.ask(person)
        answer = post(server, question)
        story.take_answer(question, answer.status, answer.body)
    answer = post_turn(server, body_of("one more"), person.fields)
    expect(answer.status == 429 and answer.error() == "concurrency_limit_exceeded",
           f"one more with {in_flight(server, person)} in flight", answer.body)


def note_steps(server, questions):
    """What is durable of each; what was known before must be as it was."""
    for question in questions:
        if question.turn_id is None:
            continue
        steps = {step["name"]: step for step in get_trace(server, question.turn_id, question.person.fields)["steps"]}
        for name, step in question.steps.items():
            equal(steps.get(name), step, f"{question.turn_id}: {name}, which was durable")
        question.steps = {name: step for name, step in steps.items() if step["error"] is None}


def live_to_the_end(story, server):
    """A server that may finish all; then everything is held to the rules."""
    began_ms = int(time.time() * 1000)
    server.env = {}
    server.start()
    with Crowd() as crowd:
        Load(story, server, crowd, asks=False)
        crowd.run(lambda: not any(person.open() for person in story.people), "all turns have ended", 2 * WAIT_S)
    check_all(story, server, began_ms)
    server.expect_no_complaint()


def check_all(story, server, began_ms):
    n_added = 0
    note_steps(server, story.questions())
    for question in story.questions():
        fields = question.person.fields
        events = read_events(server, question.turn_id, "", fields)
        for number, event in question.seen.items():
            equal(events[number - 1] if number <= len(events) else None, (number, *event),
                  f"{question.turn_id}: what a reader saw")
        turn = check_whole(server, question.turn_id, events, fields, has_crashed=True)
        check_end(question, turn)
        n_added += sum(to_ms(step["started_at"]) >= began_ms for step in question.steps.values())
    fields = story.people[0].fields
    equal(server.metric("weir_turns_steps_total", fields), n_added, "steps that this server ran")
    equal(server.metric("weir_turns_in_flight", fields), 0, "turns in flight")
    for person in story.people:
        check_list(server, person)


def check_end(question, turn):
    """A wish to cancel that was acknowledged holds; one whose answer was lost may or may not."""
    is_cancelled = turn["status"] == "failed" and turn["error"]["code"] == "cancelled"
    expect(turn["status"] == "completed" or is_cancelled, f"{question.turn_id} has failed", turn["error"])
    if question.cancel in ("no", "late"):
        expect(not is_cancelled, f"{question.turn_id} was cancelled, which nobody had asked for")
    if question.cancel == "accepted":
        expect(is_cancelled, f"{question.turn_id} was completed, although it had been cancelled")


def check_list(server, person):
    """One turn for each question, and all places are free."""
    listed, cursor = [], ""
    while cursor is not None:
        page = server.ask("GET", f"/v1/turns?limit=100{cursor}", person.fields).json()
        listed += [turn["id"] for turn in page["data"]]
        cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
    equal(sorted(listed), sorted(question.turn_id for question in person.questions), "turns of the list")
    equal(in_flight(server, person), set(), f"in flight for {person.name}")


# ---- folders ----

def make_template(folder, n_people):
    """A store with people's data and their keys."""
    people = []
    names = ["p01", "u03", "u01"][:n_people]
    for name in names:
        files = [str(PEOPLE / f"{name}_{kind}.csv") for kind in ("daily", "activities", "labs")]
        done = weir("import", *files, "--quiet", "--user", name, "--data", folder)
        equal(done.returncode, 0, f"import ({done.stderr!r})")
        made = weir("key", "create", "--owner", name, "--data", folder)
        equal(made.returncode, 0, f"weir key create ({made.stderr!r})")
        people.append((name, made.stdout.decode().strip()))
    return people


def new_story(template, people, seed):
    folder = tempfile.mkdtemp(prefix="weir-turns-")
    shutil.copytree(template, folder, dirs_exist_ok=True)
    chance = random.Random(seed)
    return Story(chance, [Person(name, key) for name, key in people]), folder


def run_folder(template, people, seed, kinds, n_kills, report):
    """Kills the server n times over one folder."""
    story, folder = new_story(template, people, seed)
    chance = story.chance
    server = Server(*chance.choice(OPTIONS), data=folder, is_open=False)
    kind, n, start_s = "none", 0, 0.2
    try:
        for n in range(n_kills):
            kind = chance.choice(kinds)
            server.port = 0
            live_once(story, server, kind, start_s)
            if chance.random() < 0.5:
                look_at_frozen(story, server)
            if n < n_kills - 1:
                report({"kind": kind})
        live_to_the_end(story, server)
        equal(server.stop(), 0, "exit status after SIGTERM")
        report({"kind": kind, **story.totals()})
        shutil.rmtree(folder, ignore_errors=True)
    except Exception as problem:
        report({"kind": kind, "failure": failure_of(problem), "seed": seed, "n": n, "folder": folder,
                "errors": server.errors()[-1500:]})
    finally:
        server.end()


# ---- boundaries ----

def boundaries_of(n_steps):
    """Where to kill, and how many steps are durable then."""
    yield "run", 1, 0
    for k in range(1, n_steps + 1):
        yield "step", k, k - 1
        yield "output", k, k - 1
        yield "kept", k, k
    yield "end", 1, n_steps - 1


def count_steps(template, people, text):
    story, folder = new_story(template, people, 0)
    with Server(data=folder, is_open=False) as server:
        story.ask(story.people[0], text)
        with Crowd() as crowd:
            Load(story, server, crowd, asks=False)
            crowd.run(lambda: not story.people[0].open(), "it has ended")
        note_steps(server, story.questions())
    shutil.rmtree(folder, ignore_errors=True)
    return len(story.questions()[0].steps)


def kill_at(story, server, point, k):
    """A turn, with readers, whose server dies at a boundary."""
    server.env = {"WEIR_FAULT": f"{point}:{k}!"}
    server.options = ["--turn-pace", "5ms"]
    server.start()
    with Crowd() as crowd:
        try:
            load = Load(story, server, crowd, asks=False)
            crowd.run_for(WAIT_S, lambda: is_dead(server))
        except (OSError, Closed):
            pass  # It died before they could connect.
        expect(is_dead(server), f"it did not come to {point}:{k}")
        equal(server.wait(), -signal.SIGKILL, "how it ended")
        load.end()
    server.options = []


def run_boundary(template, people, text, boundary, report):
    point, k, n_durable = boundary
    name = f"{point}:{k}"
    story, folder = new_story(template, people, k)
    server = Server(data=folder, is_open=False)
    try:
        question = story.ask(story.people[0], text)
        kill_at(story, server, point, k)
        look_at_frozen(story, server)
        equal(len(question.steps), n_durable, "steps that were durable")
        live_to_the_end(story, server)
        equal(server.stop(), 0, "exit status after SIGTERM")
        report({"kind": point, **story.totals()})
        shutil.rmtree(folder, ignore_errors=True)
    except Exception as problem:
        report({"kind": f"{name} of {text!r}", "failure": failure_of(problem), "seed": k, "n": 0, "folder": folder,
                "errors": server.errors()[-1500:]})
    finally:
        server.end()


# ---- all of it ----

def run_job(work, report):
    for function, arguments in work:
        function(*arguments, report)


class TurnTally(Tally):
    def __init__(self):
        super().__init__()
        self.n_turns = self.n_reads = self.n_cancelled = 0

    def add(self, result):
        self.n_turns += result.get("turns", 0)
        self.n_reads += result.get("reads", 0)
        self.n_cancelled += result.get("cancelled", 0)

    def also(self):
        return f"{self.n_turns} turns, {self.n_cancelled} of them cancelled, {self.n_reads} readers"


def all_work(options, template, people):
    """What there is to do, in pieces that stand for themselves."""
    work = []
    if not options.no_boundaries:
        for text in PATHS:
            n_steps = count_steps(template, people[:1], text)
            work += [(run_boundary, (template, people[:1], text, boundary))
                     for boundary in boundaries_of(n_steps)]
    kinds = [options.kind] if options.kind else KINDS
    for i, n in enumerate(range(options.kills, 0, -KILLS_PER_FOLDER)):
        work.append((run_folder, (template, people, options.seed + i, kinds, min(n, KILLS_PER_FOLDER))))
    return work


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--jobs", type=int, default=max(2, min(8, os.cpu_count() or 2)))
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6 * 100_000)
    parser.add_argument("--kind", choices=sorted(set(KINDS)))
    parser.add_argument("--no-boundaries", action="store_true")
    options = parser.parse_args()
    program()
    tally = TurnTally()
    with tempfile.TemporaryDirectory(prefix="weir-turns-template-") as template:
        people = make_template(template, 3)
        work = all_work(options, template, people)
        jobs = [functools.partial(run_job, work[job::options.jobs]) for job in range(options.jobs)]
        status = run_jobs(jobs, tally)
    sys.exit(status)


if __name__ == "__main__":
    main()
