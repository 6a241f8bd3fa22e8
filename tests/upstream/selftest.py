#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/upstream/selftest.py [CASE...]

The stand-in itself: that it does what its README says, and how much it can hold.
"""
import concurrent.futures
import http.client
import json
import pathlib
import resource
import selectors
import socket
import sys
import urllib.parse

import wire
from upstream import Upstream

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from support import WAIT_S, case, equal, expect, main, wait_until  # noqa: E402

TOOL = {"type": "tool_use", "id": "t1", "name": "run_plan", "input": {"metric": "steps", "days": [1, 2]}}
PATHS = (wire.MESSAGES, wire.COMPLETIONS)


def body_of(**members):
    return json.dumps({"model": "m", "max_tokens": 9, "stream": True, "stream_options": {"include_usage": True},
                       "messages": [{"role": "user", "content": "Grüße"}], **members}).encode()


def ask(upstream, path, **members):
    """(status, body or None when it was cut)."""
    conn = http.client.HTTPConnection(urllib.parse.urlsplit(upstream.where["http"]).netloc, timeout=WAIT_S)
    try:
        conn.request("POST", path, body_of(**members), {"Authorization": "Bearer right"})
        answer = conn.getresponse()
        return answer.status, answer.read()
    except (http.client.IncompleteRead, ConnectionError, http.client.RemoteDisconnected):
        return None, None
    finally:
        conn.close()


def data_of(body):
    return [json.loads(line[6:]) for line in body.decode().split("\n")
            if line.startswith("data: ") and line != "data: [DONE]"]


def tool_text(path, events):
    if path == wire.MESSAGES:
        return "".join(event["delta"].get("partial_json", "") for event in events
                       if event["type"] == "content_block_delta")
    return "".join(call["function"]["arguments"] for event in events for choice in event["choices"]
                   for call in choice["delta"].get("tool_calls", []))


@case
def answer_comes_whole_in_both_formats_and_every_flavour():
    answer = {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ein Wörtchen"}, TOOL],
              "stop": "tool"}
    with Upstream() as upstream:
        for path in PATHS:
            for flavour in wire.FLAVOURS:
                upstream.rules((1, {"answer": answer, "flavour": flavour}))
                status, body = ask(upstream, path)
                equal(status, 200)
                equal(json.loads(tool_text(path, data_of(body))), TOOL["input"], f"{path} {flavour}")


@case
def misbehaviours_are_what_they_are_called():
    with Upstream() as upstream:
        upstream.reset(key="right")
        for path in PATHS:
            upstream.rules((1, {"status": 429, "retry_after": 7}), (1, {"after": 1, "end": "cut"}),
                           (1, {"after": 1, "end": "reset"}), (1, {"end": "before head", "is_reset": True}),
                           (1, {"after": 1, "end": "error", "has_done": True}), (1, {"plain": True}),
                           (1, {"after": 1, "end": "big", "bytes": 1 << 20}),
                           (1, {"answer": {"content": [TOOL], "stop": "tool"}, "tool_input": "truncated"}))
            seen = [ask(upstream, path) for _ in range(8)]
            equal([status for status, _ in seen], [429, None, None, None, 200, 200, 200, 200])
            expect(b"verloaded" in seen[4][1] and len(seen[6][1]) > 1 << 20, "error event, large answer")
            expect(json.loads(seen[5][1]), "plain JSON")
            expect(0 < len(tool_text(path, data_of(seen[7][1]))) < len(json.dumps(TOOL["input"])), "half of it")
        equal([seen["key"] for seen in upstream.seen()], ["right"] * 16)
        expect("right" not in json.dumps([seen["fields"] for seen in upstream.seen()]).replace("<right key>", ""),
               "keys are masked")


@case
def answer_is_held_in_its_middle_until_it_is_released():
    answer = {"content": [{"type": "text", "text": "ein Wörtchen und noch eines und ein drittes"}], "stop": "end"}
    with Upstream() as upstream, concurrent.futures.ThreadPoolExecutor() as pool:
        for number, path in enumerate(PATHS):
            upstream.rules((1, {"answer": answer, "hold_at": 2, "hold_delta": f"go {number}"}))
            asked = pool.submit(ask, upstream, path)
            wait_until(lambda: [seen["n_deltas"] for seen in upstream.seen(outcome="open")] == [2], "two deltas came")
            upstream.control(release=[f"go {number}"])
            status, body = asked.result(WAIT_S)
            equal((status, body.count(b"drittes")), (200, 1), path)


def connect(upstream):
    sock = socket.socket()
    sock.connect(("127.0.0.1", int(upstream.where["http"].rsplit(":", 1)[1])))
    return sock


@case
def ten_thousand_wait_while_five_hundred_are_streamed_to():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    n_idle = min(10000, hard - 1000)
    head = f"POST {wire.MESSAGES} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body_of())}\r\n\r\n".encode()
    with Upstream() as upstream:
        idle = [connect(upstream) for _ in range(n_idle)]
        upstream.control(default={"stamps": 20, "delta_ms": 20})
        streams = [connect(upstream) for _ in range(500)]
        for sock in streams:
            sock.sendall(head + body_of())
        selector = selectors.DefaultSelector()
        for sock in streams:
            selector.register(sock, selectors.EVENT_READ, bytearray())
        n_ended = 0
        while n_ended < len(streams):
            ready = selector.select(WAIT_S)
            expect(ready, "nothing comes any more", n_ended)
            for key, _ in ready:
                key.data.extend(key.fileobj.recv(65536))
                if key.data.endswith(b"0\r\n\r\n"):
                    n_ended += 1
                    equal(key.data.count(b"text_delta"), 20, "deltas")
                    selector.unregister(key.fileobj)
        wait_until(lambda: upstream.state()["max_open"] > n_idle, "all are connected")
        for sock in (*idle, *streams):
            sock.close()


if __name__ == "__main__":
    main()
