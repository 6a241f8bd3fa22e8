#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/client_others.py [CASE...]

libweir-client (examples/client/follow_url.c) and `weir watch URL` read from servers that we did not
write: those of the npm packages better-sse and @durable-streams/server, through one that cuts their
connections.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import urllib.request

from cutter import Cutter
from packages import install
from support import WAIT_S, Skip, case, equal, expect, main, program

N_EVENTS = 20


def follow_url():
    path = pathlib.Path(program()).parent / "examples" / "follow_url"
    if not os.access(path, os.X_OK):
        raise Skip("examples/follow_url is not built")
    return path


@contextlib.contextmanager
def node(name, *words):
    """A server of ours in Node; gives its first line."""
    folder = install(pathlib.Path(__file__).resolve().parent / "npm_servers", "npm-servers")
    with subprocess.Popen(["node", folder / name, *words], stdout=subprocess.PIPE) as server:
        try:
            yield server.stdout.readline().decode().strip()
        finally:
            server.kill()


def run_better(*command):
    """What a command prints that follows a server of better-sse, whose connections are cut."""
    with node("better.mjs", str(N_EVENTS)) as port:
        done = subprocess.run([*command, f"http://127.0.0.1:{port}/"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=WAIT_S * 2, check=False)
    equal(done.returncode, 0, done.stderr.decode())
    return done.stdout.decode().splitlines(), done.stderr.decode()


@case
def better_sse_is_read_through_its_cuts():
    lines, notes = run_better(follow_url())
    equal(lines, [f'note\t"value {i}"' for i in range(N_EVENTS)], "each event once, in order")
    expect("again soon" in notes, "it was cut", notes)


@case
def better_sse_is_watched_through_its_cuts():
    lines, notes = run_better(program(), "watch", "--json")
    events = [json.loads(line) for line in lines]
    equal([event["data"] for event in events], [f"value {i}" for i in range(N_EVENTS)],
          "each event once, in order")
    equal({event["event"] for event in events}, {"note"}, "with its type")
    expect("; again in 0." in notes and notes.count("weir: connected\n") > 2, "it was cut", notes)
    lines, notes = run_better(program(), "watch")
    equal(lines, [f'note "value {i}"' for i in range(N_EVENTS)], "in plain lines, too")


def ask(method, url, body=None, **fields):
    request = urllib.request.Request(url, method=method, data=body, headers=fields)
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return answer.status


@contextlib.contextmanager
def durable(limits):
    """A stream with events on a durable server, and its address through one that cuts."""
    with node("durable.mjs") as url:
        stream = f"{url}/v1/stream/a"
        kind = {"Content-Type": "application/json"}
        ask("PUT", stream, **kind)
        for i in range(N_EVENTS):
            ask("POST", stream, json.dumps({"value": i, "text": "x" * 50}).encode(), **kind)
        with Cutter(int(url.rsplit(":", 1)[1]), limits) as cutter:
            yield stream, f"http://127.0.0.1:{cutter.port}/v1/stream/a?offset=-1&live=sse"
        expect(cutter.n_cut > 0, "it was cut")


# Within the head, and between an event and the word where to go on.
CUTS = [10, 300, 700, 1100, 400, 1500, 2000]


def read_durable(command, values_of, limits):
    """Each message that the command prints, also one that comes while it follows."""
    with durable(limits) as (stream, url):
        with subprocess.Popen([*command, url], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as follower:
            seen = []
            while len(seen) < N_EVENTS + 1:
                seen += values_of(follower.stdout.readline().decode())
                if len(seen) == N_EVENTS:
                    ask("POST", stream, b'{"value": "live"}', **{"Content-Type": "application/json"})
            follower.kill()
    equal([value["value"] for value in seen], [*range(N_EVENTS), "live"], "each message once")


@case
def durable_streams_are_read_through_cuts():
    read_durable([follow_url()], lambda line: json.loads(line.split("\t", 1)[1]), CUTS)


@case
def durable_streams_are_watched_through_cuts():
    read_durable([program(), "watch", "--json"], lambda line: json.loads(line)["data"],
                 CUTS[1:5])


@case
def a_durable_stream_that_is_closed_is_complete():
    with durable(CUTS[2:4]) as (stream, url):
        ask("POST", stream, b'{"value": "last"}',
            **{"Content-Type": "application/json", "Stream-Closed": "true"})
        done = subprocess.run([program(), "watch", url, "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=WAIT_S * 2, check=False)
    equal(done.returncode, 0, done.stderr.decode())
    seen = sum((json.loads(line)["data"] for line in done.stdout.splitlines()), [])
    equal([value["value"] for value in seen], [*range(N_EVENTS), "last"], "each message once")


if __name__ == "__main__":
    main()
