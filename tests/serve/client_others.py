#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/client_others.py [CASE...]

libweir-client (examples/client/follow_url.c) reads from servers that we did not write: those of the
npm packages better-sse and @durable-streams/server, and from one that cuts their connections.
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


@case
def better_sse_is_read_through_its_cuts():
    with node("better.mjs", str(N_EVENTS)) as port:
        done = subprocess.run([follow_url(), f"http://127.0.0.1:{port}/"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=WAIT_S * 2, check=False)
    lines = done.stdout.decode().splitlines()
    equal(lines, [f'note\t"value {i}"' for i in range(N_EVENTS)], "each event once, in order")
    equal(done.returncode, 0, done.stderr.decode())
    expect(b"again soon" in done.stderr, "it was cut", done.stderr)


def ask(method, url, body=None, **fields):
    request = urllib.request.Request(url, method=method, data=body, headers=fields)
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return answer.status


@case
def durable_streams_are_read_through_cuts():
    with node("durable.mjs") as url:
        port = int(url.rsplit(":", 1)[1])
        stream = f"{url}/v1/stream/a"
        kind = {"Content-Type": "application/json"}
        ask("PUT", stream, **kind)
        for i in range(N_EVENTS):
            ask("POST", stream, json.dumps({"value": i, "text": "x" * 50}).encode(), **kind)
        # Cut at many places, within the head and between an event and the word where to go on.
        with Cutter(port, [10, 300, 700, 1100, 400, 1500, 2000]) as cutter:
            mine = f"http://127.0.0.1:{cutter.port}/v1/stream/a?offset=-1&live=sse"
            with subprocess.Popen([follow_url(), mine], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as follower:
                seen = []
                while len(seen) < N_EVENTS + 1:
                    seen += json.loads(follower.stdout.readline().decode().split("\t", 1)[1])
                    if len(seen) == N_EVENTS:
                        ask("POST", stream, b'{"value": "live"}', **kind)
                follower.kill()
    equal([value["value"] for value in seen], [*range(N_EVENTS), "live"], "each message once")
    expect(cutter.n_cut > 0, "it was cut")


if __name__ == "__main__":
    main()
