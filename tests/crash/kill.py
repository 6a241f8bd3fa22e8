#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/crash/kill.py [--kills N] [--jobs N] [--seed N] [--kind NAME]

Kills the server with SIGKILL, again and again, while writers append and readers watch, and
starts it again on the same folder. Each time it has to be true that

- every append that was acknowledged is there, with its id and its content;
- ids are 1..N without gap or repeat;
- every event that any reader ever saw is there, byte for byte, and readers who come again
  with their last id go on from there;
- a request that was not acknowledged happened whole or not at all, and one that is gone stays
  gone; of several in flight on one connection the earlier ones happened first.

When to kill (--kind names one of these only):
  time   after a random time under load      ack    at the moment of a certain acknowledgement
  start  while it starts and recovers        stop   while it goes down after SIGTERM
  sync   at its n-th sync                    write  at its n-th write to a file

The last line is "N passed, M failed": a case is a kill and all that was checked after it. A
failure tells its seed; --seed N --kills 1 runs that folder's story again (timing differs).
"""
import argparse
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
from support import Failure, Server, program, to_json  # noqa: E402

KINDS = ["time", "ack", "start", "stop", "sync", "write"]
KILLS_PER_FOLDER = 8
# One for each folder: none of them may make a difference to what survives a kill.
OPTIONS = [[], ["--loops", "1"], ["--loops", "4"], ["--durability", "normal"]]
LOAD_S = 0.15
PATIENT_S = 1.5


class Request:
    """An append, single or batch: what was sent and what became of it."""

    __slots__ = ("stream", "conn", "values", "is_batch", "first", "fate")

    def __init__(self, stream, conn, values, is_batch):
        self.stream = stream
        self.conn = conn
        self.values = values
        self.is_batch = is_batch
        self.first = 0       # id of its first event, once that is known
        self.fate = "open"   # open, there, gone


class Story:
    """All that happened on one folder, over many servers."""

    def __init__(self, chance):
        self.chance = chance
        self.streams = [f"s{i}" for i in range(chance.choice([1, 3, 8]))]
        self.requests = []
        self.by_conn = {}
        self.seen = {stream: {} for stream in self.streams}
        self.readers = [(self.streams[i % len(self.streams)], 0) for i in range(4)]
        self.n_acks = 0
        self.n_conns = 0
        # A stream that one writer alone appends to and deletes, one request at a time.
        self.own = []
        self.own_next = None
        # Some folders get large events, so that the store settles and recycles its files.
        self.is_heavy = chance.random() < 0.3

    def pad(self):
        if self.is_heavy:
            return "h" * self.chance.choice([100, 20_000, 60_000, 200_000])
        return "ü" * self.chance.choice([0, 3, 40, 200]) + "p" * self.chance.choice([0, 1, 50, 3000])

    def make(self, conn, is_batch):
        number = len(self.requests)
        n = self.chance.randint(1, 30 if not self.is_heavy else 4) if is_batch else 1
        values = [{"q": number, "k": k, "pad": self.pad()} for k in range(n)]
        request = Request(self.chance.choice(self.streams), conn, values, is_batch)
        self.requests.append(request)
        self.by_conn.setdefault((conn, request.stream), []).append(request)
        return request

    def on_answer(self, request, status, body):
        if status != 201:
            raise Failure(f"an append was answered with {status} {body[:200]!r}")
        answer = json.loads(body)
        request.first = answer["first"] if request.is_batch else answer["id"]
        if request.is_batch and answer["last"] - request.first + 1 != len(request.values):
            raise Failure(f"batch of {len(request.values)}: {answer}")
        request.fate = "there"
        self.n_acks += 1

    def on_event(self, reader, number, data):
        before = self.seen[reader.stream].setdefault(number, data)
        if before != data:
            raise Failure(f"{reader.stream} {number} was {before[:100]!r} and is {data[:100]!r}")

    # ---- after a restart ----

    def check(self, server):
        for stream in self.streams:
            self._check_stream(stream, server.replay(stream))
        self._check_order()
        self._check_own(server.replay("own"))

    def _check_stream(self, stream, events):
        found = self._requests_in(stream, events)
        for number, data in self.seen[stream].items():
            if number > len(events) or events[number - 1][1] != data:
                is_there = events[number - 1][1][:100] if number <= len(events) else "nothing"
                raise Failure(f"{stream} {number}: a reader saw {data[:100]!r}, now there is {is_there!r}")
        for number, request in enumerate(self.requests):
            if request.stream != stream:
                continue
            if request.fate == "there" and found.get(number) != request.first:
                raise Failure(f"{stream}: request {number} was acknowledged as {request.first} "
                              f"and is {found.get(number)}; there are {len(events)} events")
            if request.fate == "gone" and number in found:
                raise Failure(f"{stream}: request {number} was gone and is there again")
            request.first = found.get(number, 0)
            request.fate = "there" if request.first else "gone"

    def _requests_in(self, stream, events):
        """The requests that a stream consists of, and the ids they begin with."""
        found = {}
        at = 0
        while at < len(events):
            first, data = events[at]
            if first != at + 1:
                raise Failure(f"{stream}: id {first} stands where {at + 1} should")
            number = json.loads(data)["q"]
            request = self.requests[number]
            if request.stream != stream or number in found:
                raise Failure(f"{stream}: request {number} was for {request.stream}, or is there twice")
            for k, value in enumerate(request.values):
                if at + k >= len(events):
                    raise Failure(f"{stream}: only {k} of {len(request.values)} events of {number}")
                id_now, data = events[at + k]
                if id_now != first + k or json.loads(data) != value:
                    raise Failure(f"{stream}: {id_now} is {data[:100]!r}, wanted {first + k} {value!r:.100}")
            found[number] = first
            at += len(request.values)
        return found

    def _check_order(self):
        for (conn, stream), requests in self.by_conn.items():
            last = 0
            is_gone = False
            for request in requests:
                if request.fate == "gone":
                    is_gone = True
                elif is_gone or request.first <= last:
                    raise Failure(f"{stream}: connection {conn}: {request.first} came behind {last}, "
                                  f"or one before it is gone")
                else:
                    last = request.first
        # What is settled needs no second look, and a connection is never used again.
        self.by_conn.clear()

    def _check_own(self, events):
        values = [json.loads(data) for _, data in events]
        ids = [number for number, _ in events]
        if ids != list(range(1, len(ids) + 1)):
            raise Failure(f"own: ids {ids[:20]}")
        if values != self.own and (self.own_next is None or values != self.own_next):
            raise Failure(f"own: {len(values)} events end in {values[-2:]}; {len(self.own)} end in "
                          f"{self.own[-2:]}, in flight {self.own_next and self.own_next[-1:]}")
        self.own = values
        self.own_next = None


class Load:
    """The writers and readers of one life of the server."""

    def __init__(self, story, server, crowd):
        self.story = story
        self.crowd = crowd
        self.n_acks = 0
        self.is_over = False
        port = server.port
        shapes = [(1, False), (1, False), (8, False), (16, False), (2, True)]
        for depth, is_batch in shapes:
            story.n_conns += 1
            writer = Writer(crowd, port, self.on_answer)
            writer.number = story.n_conns
            writer.is_batch = is_batch
            for _ in range(depth):
                self.feed(writer)
        self.own_writer = Writer(crowd, port, self.on_own_answer)
        self.feed_own()
        self.readers = [self.read(port, stream, last) for stream, last in story.readers]
        for stream in story.chance.sample(story.streams, min(2, len(story.streams))):
            self.read(port, stream)

    def read(self, port, stream, last=None):
        reader = Reader(self.crowd, port, stream, last, on_event=self.story.on_event)
        reader.may_be_refused = lambda: self.is_over
        return reader

    def feed(self, writer):
        request = self.story.make(writer.number, writer.is_batch)
        body = to_json(request.values if writer.is_batch else request.values[0])
        writer.append(request, request.stream, body, "?batch=1" if writer.is_batch else "")

    def on_answer(self, writer, request, status, body):
        if self.is_over and status == 503:
            return  # It goes down and says so.
        self.story.on_answer(request, status, body)
        self.n_acks += 1
        if not self.is_over and writer.is_open:
            self.feed(writer)

    def feed_own(self):
        story = self.story
        if len(story.own) > 5 and story.chance.random() < 0.2:
            story.own_next = []
            self.own_writer.delete(None, "own")
        else:
            story.own_next = story.own + [story.chance.randrange(10**9)]
            self.own_writer.append(None, "own", to_json(story.own_next[-1]))

    def on_own_answer(self, writer, _, status, body):
        story = self.story
        if self.is_over and status == 503:
            story.own_next = None
            return
        if status != (201 if story.own_next else 204):
            raise Failure(f"own: {status} {body[:200]!r}")
        story.own = story.own_next
        story.own_next = None
        self.n_acks += 1
        if not self.is_over and writer.is_open:
            self.feed_own()

    def end(self):
        """After the kill: what had been sent is read, then the readers' places are kept."""
        self.is_over = True
        self.crowd.drain()
        self.story.readers = [(reader.stream, reader.last_id) for reader in self.readers]


def is_dead(server):
    return server.child.poll() is not None


def live_once(story, server, kind, start_s):
    """One life of the server, up to its death. Returns what it was killed by."""
    chance = story.chance
    server.env = {}
    if kind in ("sync", "write"):
        top = 60 if kind == "sync" else 200
        server.env = {"WEIR_FAULT": f"{kind}:{1 + int(top ** chance.random())}!"}
    server.spawn()
    if kind == "start":
        select.select([server.child.stdout], [], [], chance.uniform(0, start_s * 1.2))
        server.kill()
        return
    try:
        server.wait_listening()
    except Failure:
        if server.env and server.child.returncode == -signal.SIGKILL:
            server.wait()
            return
        raise
    with Crowd() as crowd:
        load = Load(story, server, crowd)
        if kind == "time":
            crowd.run_for(chance.uniform(0, LOAD_S))
        elif kind == "ack":
            k = 1 + int(400 ** chance.random())
            crowd.run_for(PATIENT_S, lambda: load.n_acks >= k)
        elif kind == "stop":
            crowd.run_for(chance.uniform(0, LOAD_S))
            load.is_over = True
            server.child.terminate()
            crowd.run_for(chance.uniform(0, 0.03))
        else:
            crowd.run_for(PATIENT_S, lambda: is_dead(server))
        server.kill()
        load.end()


def run_folder(job, seed, kinds, n_kills, report):
    """Kills the server n times over one folder; reports each."""
    chance = random.Random(seed)
    story = Story(chance)
    folder = tempfile.mkdtemp(prefix="weir-kill-")
    server = Server(*chance.choice(OPTIONS), data=folder)
    kind = "none"
    start_s = 0.1
    try:
        for n in range(n_kills):
            kind = chance.choice(kinds)
            server.port = 0
            live_once(story, server, kind, start_s)
            server.env = {}
            begin = time.monotonic()
            server.start()
            start_s = time.monotonic() - begin
            story.check(server)
            server.expect_no_complaint()
            # Half of the folders go on after a clean end, half after one more kill.
            if chance.random() < 0.5:
                status = server.stop()
                if status != 0:
                    raise Failure(f"it ended with status {status} after SIGTERM")
            else:
                server.kill()
            report({"kind": kind, "start_s": start_s, "acks": story.n_acks})
            story.n_acks = 0
        shutil.rmtree(folder, ignore_errors=True)
    except Exception as problem:
        report({"kind": kind, "failure": failure_of(problem), "seed": seed, "n": n, "folder": folder,
                "errors": server.errors()[-1500:]})
    finally:
        server.end()


def run_job(job, options, n_kills, report):
    kinds = [options.kind] if options.kind else KINDS
    done = 0
    round_number = 0
    while done < n_kills:
        n = min(KILLS_PER_FOLDER, n_kills - done)
        run_folder(job, options.seed + 1000 * job + round_number, kinds, n, report)
        done += n
        round_number += 1


class KillTally(Tally):
    def __init__(self, wanted):
        super().__init__()
        self.wanted = wanted
        self.n_acks = 0
        self.slowest_start_s = 0.0
        self.is_shown = sys.stdout.isatty()

    def take(self, result):
        self._clear()
        super().take(result)
        if self.is_shown:
            print(f"\r{self.n_passed + self.n_failed} of {self.wanted} kills, {self.n_failed} failed, "
                  f"{self.n_acks} acknowledged appends ", end="", flush=True)

    def add(self, result):
        self.n_acks += result["acks"]
        self.slowest_start_s = max(self.slowest_start_s, result["start_s"])

    def _clear(self):
        if self.is_shown:
            print("\r" + " " * 78 + "\r", end="")

    def also(self):
        self._clear()
        return f"{self.n_acks} acknowledged appends; slowest start {self.slowest_start_s:.2f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=max(2, min(8, os.cpu_count() or 2)))
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6 * 100_000)
    parser.add_argument("--kind", choices=KINDS)
    options = parser.parse_args()
    program()
    n_jobs = max(1, min(options.jobs, options.kills // KILLS_PER_FOLDER))
    shares = [options.kills // n_jobs + (job < options.kills % n_jobs) for job in range(n_jobs)]
    jobs = [functools.partial(run_job, job, options, n) for job, n in enumerate(shares)]
    sys.exit(run_jobs(jobs, KillTally(options.kills)))


if __name__ == "__main__":
    main()
