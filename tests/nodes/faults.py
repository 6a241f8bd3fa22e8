#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/nodes/faults.py [--times N] [--fault NAME] [--nodes N] [--databases N] [--seed N] [--embedded]

Several nodes on a primary with two quorum-synchronous standbys, under load, while one thing after
the other goes wrong. People append to streams that they share, ask for turns, use sessions and chat,
each request at any node; readers come again at any node by the id of the last event they saw.

Each fault N times (2), with the load going on before, during and after it:
  kill     kill -9 of a node, which comes back, at times only after its lease is over
  pause    SIGSTOP of a node until its lease is over, then SIGCONT
  cut      a node's packets to and from the database vanish until its lease is over
  primary  all processes of the primary are killed, and the furthest standby is promoted
  disk     the primary's disk is filled up, and free again
  all      all nodes and all databases are killed at once

What must hold, however often that happened:
  - nothing that was acknowledged is lost: each append has its id and its content, each question its
    turn, each message its place in the session, each chat its reply;
  - what was refused (503) has not happened, and what was not answered has happened at most once;
  - ids are 1..N without gap or repeat;
  - each turn, each turn of a session and each reply has one end, and keeps to its rules;
  - whatever any reader saw at any time is there in the end, byte for byte, and all nodes say the same.

The last line is "N passed, M failed": a case is a fault, and what was looked at after its N times
counts for all of them. With --databases N the store is on so many databases of those servers, of
which the first decides. --embedded tries the harness itself on one node with the embedded store.
"""
import argparse
import contextlib
import json
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))

from chat_support import DIRECT, LAST, Reply  # noqa: E402
from chat_support import check_whole as check_reply  # noqa: E402
from postgres import Quorum, Site  # noqa: E402
from session_support import ENDS, check_session  # noqa: E402
from support import (JSON_FIELDS, PATIENCE, Conn, Failure, Server, Skip, Watch, equal, expect, program,  # noqa: E402
                     to_json, wait_until)
from turn_rules import TurnWatch, body_of, check_whole  # noqa: E402

FAULTS = ("kill", "pause", "cut", "primary", "disk", "all")
EMBEDDED_FAULTS = ("kill", "pause", "all")
LEASE_S = 2.0
PAST_LEASE_S = LEASE_S * 1.5
ANSWER_S = 8 * PATIENCE   # then somebody asks elsewhere
SILENCE_S = 2 * PATIENCE  # then a reader looks elsewhere
RECOVERY_S = 60 * PATIENCE
STREAMS = 4
QUESTIONS = ["thanks!", "Is anything interesting in my data?", "How many steps did I walk last week?", "hm"]
RETRIED = (408, 429, 502, 503, 504)


# ---- nodes and what they are on ----

class Node(Server):
    def __init__(self, number, *options, data):
        super().__init__(*options, data=data, starts=False)
        self.number = number


class World:
    """The nodes and the databases, for one fault."""

    def __init__(self, n_nodes, quorum, names):
        self.quorum = quorum
        self.folder = tempfile.mkdtemp(prefix="weir-faults-")
        self.nodes = []
        for name in names if quorum else ():
            quorum.create_database(name)
        for number in range(n_nodes):
            data = pathlib.Path(self.folder, f"node-{number}")
            data.mkdir()
            store = []
            if quorum:
                urls = ",".join(quorum.url(name, number) for name in names)
                store = ["--store", urls, "--lease", f"{LEASE_S:.0f}s"]
            self.nodes.append(Node(number, "--turn-pace", "40ms", "--user-turns", "20", "--user-replies", "20",
                                   *store, data=data))

    def __enter__(self):
        try:
            self.nodes[0].start()
            for node in self.nodes[1:]:
                for path in pathlib.Path(self.nodes[0].data).glob("*.key"):
                    shutil.copy(path, node.data)
                node.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        for node in self.nodes:
            node.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def errors(self):
        told = [f"--- node {node.number}\n{node.errors()[-6000:]}" for node in self.nodes]
        return "".join([*told, self.quorum.state() if self.quorum else ""])


# ---- what goes wrong ----

def pause_s(seconds):
    """That long, as far as processes are concerned: what is tried here is made of time."""
    time.sleep(seconds * PATIENCE)


def fault_kill(world, chance):
    node = chance.choice(world.nodes)
    node.kill()
    pause_s(chance.choice([0, 0.5, PAST_LEASE_S]))
    node.start()


def fault_pause(world, chance):
    node = chance.choice(world.nodes)
    node.send_signal(signal.SIGSTOP)
    pause_s(PAST_LEASE_S + chance.uniform(0, 1))
    node.send_signal(signal.SIGCONT)


def fault_cut(world, chance):
    node = chance.choice(world.nodes)
    world.quorum.site.cut(node.number)
    pause_s(PAST_LEASE_S + chance.uniform(0, 3))
    world.quorum.site.mend(node.number)


def fault_primary(world, chance):
    quorum = world.quorum
    quorum.primary.kill()
    pause_s(chance.choice([0, 1]))
    dead = quorum.fail_over()
    quorum.rebuild(dead)


def fault_disk(world, chance):
    primary = world.quorum.primary
    world.quorum.site.fill(primary.disk)
    pause_s(1 + chance.uniform(0, 1))
    world.quorum.site.free(primary.disk)
    # Nothing can be recovered on a full disk: it may have ended for good.
    world.quorum.revive()


def fault_all(world, chance):
    for node in world.nodes:
        node.child.kill()
    if world.quorum:
        world.quorum.kill()
    for node in world.nodes:
        node.kill()
    if world.quorum:
        world.quorum.revive()
    for node in world.nodes:
        node.spawn()
    for node in world.nodes:
        node.wait_listening()


DO = {"kill": fault_kill, "pause": fault_pause, "cut": fault_cut, "primary": fault_primary, "disk": fault_disk,
      "all": fault_all}


# ---- people ----

class Person(threading.Thread):
    """Does one thing after the other until the story is over, then ends what was begun."""

    def __init__(self, story, number):
        super().__init__(daemon=True)
        self.story = story
        self.number = number
        self.chance = random.Random(f"{story.seed}/{type(self).__name__}/{number}")
        self.failure = None
        self.n_done = 0

    @property
    def name_here(self):
        return f"{type(self).__name__} {self.number}"

    def node(self):
        return self.chance.choice(self.story.world.nodes)

    def run(self):
        try:
            while not self.story.is_over.is_set():
                self.do_one()
                self.n_done += 1
        except Exception as problem:
            place = traceback.extract_tb(sys.exc_info()[2])
            ours = [frame for frame in place if frame.filename == __file__] or place
            self.failure = f"{self.name_here}: {type(problem).__name__}: {problem} (line {ours[-1].lineno})"

    def do_one(self):
        raise NotImplementedError

    def rest(self):
        """A moment in which somebody else may be asked."""
        self.story.hurry.wait(0.05)

    def in_time(self):
        """Whether there is still hope for what was begun."""
        if self.story.gave_up.is_set():
            raise Failure("it is not answered any more")

    def ask_once(self, method, target, fields=(), body=None):
        """An answer, or None when nobody knows what became of the request."""
        try:
            with Conn(self.node(), wait_s=ANSWER_S) as conn:
                conn.request(method, target, fields, body)
                return conn.answer(method)
        except OSError:
            return None
        except Failure as problem:
            if not is_lost(problem):
                raise
            return None

    def ask(self, method, target, key, body):
        """Until it is answered, by anyone."""
        fields = [*JSON_FIELDS, ("Idempotency-Key", key)] if key else JSON_FIELDS
        while True:
            answer = self.ask_once(method, target, fields, body)
            if answer is not None and answer.status not in RETRIED:
                return answer
            self.in_time()
            self.rest()


def is_lost(problem):
    """Whether a connection was lost, which happens here, instead of a rule."""
    text = str(problem)
    return any(part in text for part in ("connection ended", "nothing came", "broke off", "stream ended",
                                         "not that of an event", "bytes early"))


class Request:
    __slots__ = ("stream", "value", "id", "fate")

    def __init__(self, stream, value):
        self.stream, self.value = stream, value
        self.id = 0
        self.fate = "open"  # there, gone


class Appender(Person):
    """Appends to streams that others append to as well."""

    def __init__(self, story, number):
        super().__init__(story, number)
        self.requests = []

    def do_one(self):
        stream = f"s{self.chance.randrange(STREAMS)}"
        is_batch = self.chance.random() < 0.3
        values = [{"who": self.number, "at": len(self.requests) + k, "pad": "p" * self.chance.choice([0, 10, 2000])}
                  for k in range(self.chance.randint(2, 5) if is_batch else 1)]
        made = [Request(stream, value) for value in values]
        self.requests += made
        target = f"/v1/streams/{stream}{'?batch=1' if is_batch else ''}"
        answer = self.ask_once("POST", target, JSON_FIELDS, to_json(values if is_batch else values[0]))
        if answer is None or answer.status in (408, 504):
            self.rest()
            return
        if answer.status in (429, 503):
            for request in made:
                request.fate = "gone"
            self.rest()
            return
        equal(answer.status, 201, f"an append ({answer.body[:200]!r})")
        first = answer.json()["first" if is_batch else "id"]
        for k, request in enumerate(made):
            request.id, request.fate = first + k, "there"


class Reader(Person):
    """Reads one stream for ever, at any node."""

    def __init__(self, story, number):
        super().__init__(story, number)
        self.stream = f"s{number % STREAMS}"
        self.seen = []

    def do_one(self):
        try:
            since = len(self.seen)
            with Watch(self.node(), f"/v1/streams/{self.stream}", [("Last-Event-ID", str(since))] if since else [],
                       wait_s=SILENCE_S) as watch:
                if watch.opening.status in RETRIED:
                    self.rest()
                    return
                equal(watch.opening.status, 200, "a stream")
                # Now and then one goes elsewhere without need.
                for _ in range(self.chance.randint(1, 400)):
                    event = watch.next()
                    if event is None or self.story.is_over.is_set():
                        return
                    equal(event[0], len(self.seen) + 1, f"{self.stream}: the next id")
                    self.seen.append(event[1])
        except OSError:
            self.rest()
        except Failure as problem:
            if not is_lost(problem):
                raise


class Asker(Person):
    """Asks questions and reads what becomes of each."""

    def __init__(self, story, number):
        super().__init__(story, number)
        self.turns = []  # (id, events)

    def do_one(self):
        body = to_json(body_of(self.chance.choice(QUESTIONS)))
        answer = self.ask("POST", "/v1/turns", f"turn-{self.number}-{len(self.turns)}", body)
        equal(answer.status, 201, f"a question ({answer.body[:300]!r})")
        events = []
        self.turns.append((answer.json()["id"], events))
        while not events or events[-1][1] not in ("turn.completed", "turn.failed"):
            self.read_some(self.turns[-1][0], events)

    def read_some(self, turn_id, events):
        self.in_time()
        fields = [("Last-Event-ID", str(len(events)))] if events else []
        try:
            with TurnWatch(self.node(), turn_id, "", fields, wait_s=SILENCE_S) as watch:
                if watch.opening.status in RETRIED:
                    self.rest()
                    return
                equal(watch.opening.status, 200, f"the events of {turn_id} after {len(events)}")
                for event in iter(watch.next, None):
                    equal(event[0], len(events) + 1, f"{turn_id}: the next id")
                    events.append(event)
        except OSError:
            self.rest()
        except Failure as problem:
            if not is_lost(problem):
                raise


class Talker(Person):
    """Sends messages to a session of its own and reads it."""

    def __init__(self, story, number):
        super().__init__(story, number)
        self.session = None
        self.texts = []
        self.events = []

    def do_one(self):
        for _ in range(self.chance.choice([1, 1, 2])):
            text = f"message {len(self.texts)} of {self.number}: {self.chance.choice(QUESTIONS)}"
            named = {"sessionId": self.session} if self.session else {}
            body = {"json": {"clientId": "faults", "text": text, **named}}
            answer = self.ask("POST", "/rpc/chat/send", f"say-{self.number}-{len(self.texts)}", to_json(body))
            equal(answer.status, 200, f"chat/send ({answer.body[:300]!r})")
            self.session = answer.json()["json"]["sessionId"]
            self.texts.append(text)
        while sum(event["type"] in ENDS for _, event in self.events) < len(self.texts):
            self.read_some()

    def read_some(self):
        self.in_time()
        try:
            with Watch(self.node(), f"/sse/sessions/{self.session}?lastEventId={len(self.events)}",
                       wait_s=SILENCE_S) as watch:
                if watch.opening.status in RETRIED:
                    self.rest()
                    return
                equal(watch.opening.status, 200, "the stream of a session")
                n_ends = sum(event["type"] in ENDS for _, event in self.events)
                while n_ends < len(self.texts):
                    event = watch.next()
                    if event is None:
                        return
                    equal(event[0], len(self.events) + 1, f"{self.session}: the next id")
                    self.events.append((event[0], json.loads(event[1])))
                    n_ends += self.events[-1][1]["type"] in ENDS
        except OSError:
            self.rest()
        except Failure as problem:
            if not is_lost(problem):
                raise


class Chatter(Person):
    """Has one reply after the other; one whose POST was lost is sent again."""

    def __init__(self, story, number):
        super().__init__(story, number)
        self.replies = []

    def do_one(self):
        events = []
        self.replies.append(events)
        while not events or events[-1].type not in LAST:
            self.read_some(f"chat-{self.number}-{len(self.replies)}", events)

    def read_some(self, key, events):
        self.in_time()
        again = [("Last-Event-ID", events[-1].id)] if events else [("Idempotency-Key", key)]
        body = {"messages": [{"role": "user", "content": f"{key}: hello"}]}
        try:
            reply = (Reply(self.node(), "GET", "/ai/chat", again) if events
                     else Reply(self.node(), "POST", DIRECT, again, body))
            with reply:
                reply.sock.settimeout(SILENCE_S)
                if reply.opening.status in RETRIED:
                    self.rest()
                    return
                equal(reply.opening.status, 200, f"a reply of {self.number} after {[e.id for e in events[-1:]]}")
                for event in iter(reply.next, None):
                    equal(event.number, len(events) + 1, "the next number of a reply")
                    events.append(event)
        except OSError:
            self.rest()
        except Failure as problem:
            if not is_lost(problem):
                raise


# ---- a story ----

class Story:
    def __init__(self, world, seed):
        self.world = world
        self.seed = seed
        self.chance = random.Random(seed)
        self.is_over = threading.Event()
        self.hurry = threading.Event()
        self.gave_up = threading.Event()
        self.people = [kind(self, number) for kind, n in ((Appender, 3), (Reader, 4), (Asker, 2), (Talker, 2), (Chatter, 1))
                       for number in range(n)]

    def of(self, kind):
        return [person for person in self.people if isinstance(person, kind)]

    def expect_well(self):
        for person in self.people:
            expect(person.failure is None, person.failure or "")

    def wait_progress(self, text):
        """Everybody gets something done, whatever happened before."""
        begin = {person: self.progress_of(person) for person in self.people}

        def all_went_on():
            self.expect_well()
            return all(self.progress_of(person) > begin[person] for person in self.people)
        try:
            wait_until(all_went_on, f"everybody goes on after {text}", RECOVERY_S)
        except Failure as problem:
            stuck = [person.name_here for person in self.people if self.progress_of(person) <= begin[person]]
            raise Failure(f"{problem}; stuck: {stuck}") from None

    @staticmethod
    def progress_of(person):
        if isinstance(person, Reader):
            return len(person.seen)
        if isinstance(person, Appender):
            return sum(request.fate == "there" for request in person.requests)
        return person.n_done

    def finish(self):
        """Lets everybody end what was begun."""
        self.is_over.set()
        deadline = time.monotonic() + RECOVERY_S
        for person in self.people:
            person.join(max(0.0, deadline - time.monotonic()))
        stuck = [person.name_here for person in self.people if person.is_alive()]
        self.gave_up.set()
        for person in self.people:
            person.join(ANSWER_S + SILENCE_S)
        self.expect_well()
        equal(stuck, [], "who never finished")


def run_fault(name, world, story, times):
    for person in story.people:
        person.start()
    try:
        story.wait_progress("the beginning")
        for n in range(times):
            DO[name](world, story.chance)
            story.wait_progress(f"{name} {n + 1}")
        story.finish()
    finally:
        story.is_over.set()
        story.gave_up.set()
    check_all(world, story)


# ---- what holds at the end ----

def check_all(world, story):
    for node in world.nodes:
        node.expect_no_complaint()
    for number in range(STREAMS):
        check_stream(world, story, f"s{number}")
    for asker in story.of(Asker):
        for turn_id, events in asker.turns:
            for node in world.nodes:
                check_whole(node, turn_id, events, has_crashed=True)
    for talker in story.of(Talker):
        check_talk(world, talker)
    for chatter in story.of(Chatter):
        check_chats(world, chatter)
    for node in world.nodes:
        for state in ("queued", "running"):
            page = node.ask("GET", f"/v1/turns?limit=100&status={state}").json()
            equal([turn["id"] for turn in page["data"]], [], f"turns that are {state}")
        equal(node.stop(), 0, f"exit status of node {node.number}")


def check_stream(world, story, stream):
    there = [node.replay(stream) for node in world.nodes]
    for number, events in enumerate(there):
        expect(events == there[0], f"{stream}: node {number} has {len(events)} events, node 0 {len(there[0])}")
    events = there[0]
    equal([number for number, _ in events], list(range(1, len(events) + 1)), f"{stream}: ids")
    found = {}
    for number, data in events:
        value = json.loads(data)
        mark = (value["who"], value["at"])
        expect(mark not in found, f"{stream}: an append is there twice", mark, found.get(mark), number)
        found[mark] = (number, value)
    for appender in story.of(Appender):
        for at, request in enumerate(appender.requests):
            if request.stream != stream:
                continue
            number, value = found.get((appender.number, at), (0, None))
            if request.fate == "there":
                equal((number, value), (request.id, request.value), f"{stream}: an append that was acknowledged")
            elif request.fate == "gone":
                equal(number, 0, f"{stream}: an append that was refused is there")
            else:
                expect(value in (None, request.value), f"{stream}: an append", value)
    for reader in story.of(Reader):
        if reader.stream == stream:
            for at, data in enumerate(reader.seen):
                expect(at < len(events), f"{stream}: a reader saw {at + 1}, there are {len(events)}")
                equal(events[at][1], data, f"{stream}: what a reader saw as {at + 1}")


def check_talk(world, talker):
    try:
        turns = check_session(talker.events)
    except Failure as problem:
        raise Failure(f"{problem}; {[event for _, event in talker.events][-60:]}") from None
    for node in world.nodes:
        body = to_json({"json": {"id": talker.session}})
        messages = node.ask("POST", "/rpc/sessions/get", JSON_FIELDS, body).json()["json"]["messages"]
        equal([m["content"] for m in messages if m["role"] == "user"], talker.texts, "messages, once and in order")
        answers = [m["content"] for m in messages if m["role"] == "assistant"]
        equal([turn.text for turn in turns if turn.end["type"] == "done"], answers, "what is kept")
        with Watch(node, f"/sse/sessions/{talker.session}?lastEventId=0") as watch:
            again = [(number, json.loads(data)) for number, data in watch.events(len(talker.events))]
        equal(again, talker.events, f"what node {node.number} has of the session")
    equal(len(turns), len(talker.texts), "turns of the session")


def check_chats(world, chatter):
    for events in chatter.replies:
        check_reply(events)
        for node in world.nodes:
            with Reply(node, "GET", "/ai/chat", [("Last-Event-ID", events[0].id)]) as reply:
                equal([event.frame for event in reply.rest()], [event.frame for event in events[1:]], "a reply, again")
    equal(len({events[0].message for events in chatter.replies}), len(chatter.replies), "replies")


# ---- all of them ----

@contextlib.contextmanager
def databases(options):
    if options.embedded:
        yield None
        return
    with Site(options.nodes) as site, Quorum(site) as quorum:
        yield quorum


def run_one(name, quorum, options, seed):
    begin = time.monotonic()
    names = [f"faults_{name}_{n}" for n in range(options.databases)]
    with World(1 if options.embedded else options.nodes, quorum, names) as world:
        story = Story(world, seed)
        try:
            run_fault(name, world, story, options.times)
        except Exception as problem:
            place = traceback.extract_tb(sys.exc_info()[2])
            print(f"FAILED {name}, seed {seed}: {type(problem).__name__}: {problem} "
                  f"({' '.join(str(frame.lineno) for frame in place if frame.filename == __file__)})\n{world.errors()}",
                  flush=True)
            return False
        done = ", ".join(f"{kind.__name__.lower()}s {sum(story.progress_of(person) for person in story.of(kind))}"
                         for kind in (Appender, Reader, Asker, Talker, Chatter))
        print(f"{time.monotonic() - begin:7.2f} s  {name} {options.times} times: ok ({done})", flush=True)
    for database in names if quorum else ():
        quorum.drop_database(database)  # the disks are small
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--fault", choices=FAULTS, action="append")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--databases", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    parser.add_argument("--embedded", action="store_true")
    options = parser.parse_args()
    program()
    names = options.fault or (EMBEDDED_FAULTS if options.embedded else FAULTS)
    why = None if options.embedded else Site.why_not()
    if why:
        print(f"skipped: {why}\n0 passed, 0 failed, {len(names)} skipped")
        return
    n_passed = n_failed = 0
    with databases(options) as quorum:
        for name in names:
            is_good = run_one(name, quorum, options, options.seed)
            n_passed += options.times if is_good else 0
            n_failed += not is_good
            Server.end_all()
    print(f"{n_passed} passed, {n_failed} failed")
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    try:
        main()
    except Skip as why_not:
        print(f"skipped: {why_not}\n0 passed, 0 failed, 1 skipped")
