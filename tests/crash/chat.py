#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/crash/chat.py [--kills N] [--seed N]

Kills a server N times (9) at random instants while people chat: with a model whose answers come word
by word, with tools, and with private values that get placeholders or are asked about. Readers come
again by POST or GET with the id of the last event they saw; a POST whose answer was lost is sent
again with the same Idempotency-Key. Three kills to a folder, then a server that may finish.

What must hold of every reply, however often its server died:
  - one request is one reply, and it ends with `done`;
  - its ids have no gap, and what its reader put together out of all connections is byte for byte
    what a new reader gets;
  - nothing that was shown is shown again or taken back: the text is the model's, and where that was
    cut goes on with what the model said when asked to go on;
  - a question is asked once, and what was decided counts;
  - no private value has reached the model or lies plain on the disk.

The last line is "N passed, M failed": a case is a folder and its three kills.
"""
import argparse
import os
import pathlib
import random
import re
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))

from chat_support import LAST, ChatServer, Reply, check_whole, text_of, types_of, wire  # noqa: E402
from jobs import failure_of  # noqa: E402
from model_support import Upstream  # noqa: E402
from support import WAIT_S, Closed, equal, expect, program  # noqa: E402

KILLS_PER_FOLDER = 3
PEOPLE = 4  # that chat at the same time, each with a key-less conversation of its own
TEXT = "".join(f"word{number:02} " for number in range(40)) + "for [email_1]."
MORE = "+and so on for [email_1]."
MAIL = "canary.{}@example.org"


def say(text, **do):
    return {"answer": {"content": [{"type": "text", "text": text}], "stop": "end"}, "delta_ms": 8, **do}


def tool_call():
    block = {"type": "tool_use", "id": "toolu_1", "name": "list_data", "input": {}}
    return {"answer": {"content": [block], "stop": "tool"}}


class Person(threading.Thread):
    """Asks once, and reads until the end, over as many connections as it takes."""

    def __init__(self, server, number, seed):
        super().__init__(daemon=True)
        self.server, self.number = server, number
        self.chance = random.Random(f"{seed}/{number}")
        self.events = []
        self.failure = None
        self.mail = MAIL.format(number)
        tool = " Use your tools." if number % 2 else ""
        self.body = {"messages": [{"role": "user", "content": f"I am {self.mail}, person {number}.{tool}"}],
                     "conversationId": f"conv_{number}", "piiAction": "ask" if number % 4 < 2 else "auto_redact"}

    def run(self):
        deadline = time.monotonic() + WAIT_S
        try:
            while not (self.events and self.events[-1].type in LAST):
                expect(time.monotonic() < deadline, "no end in time", types_of(self.events))
                try:
                    self.read_some()
                except (OSError, Closed):
                    # The server is gone, or was while it spoke; it comes again.
                    time.sleep(0.02)
        except Exception as problem:
            self.failure = failure_of(problem)

    def open(self):
        if not self.events:
            fields = [("Idempotency-Key", f"person-{self.number}")]
            return Reply(self.server, "POST", "/ai/chat", fields, self.body)
        return self.server.resume(self.events[-1].id, self.chance.choice(["GET", "POST"]))

    def read_some(self):
        self.decide()
        with self.open() as reply:
            expect(reply.opening.status == 200, "a stream", reply.opening.status)
            while True:
                event = reply.next()
                if event is None:
                    return
                self.events.append(event)
                self.decide()

    def decide(self):
        """What is asked, until it is taken: 404 when the answer to the first try was lost."""
        if self.events and self.events[-1].type == "dlp_preview":
            decision = self.events[-1].data["decisionId"]
            answer = self.server.decide(decision, "redact", rememberForConversation=True)
            expect(answer.status in (200, 404), "a decision", answer.status, answer.body)


def check_text(text, whole):
    """The model's text up to where it was cut, then pieces of what goes on, the last one whole."""
    shared = os.path.commonprefix([text, whole])
    rest = text[len(shared):]
    more = MORE.replace("[email_1]", re.search(r"canary\.\d+@example\.org", whole).group(0))
    while rest:
        piece = os.path.commonprefix([rest, more])
        expect(piece, "neither the model's text nor what goes on", text)
        rest, last = rest[len(piece):], piece
        if not rest:
            equal(last, more, "the end of the text")
    expect(shared == whole or text != shared, "a text that just ends", text)


def check_person(server, person):
    expect(person.failure is None, f"person {person.number}: {person.failure}")
    events = check_whole(person.events)
    equal(events[-1].type, "done", types_of(events))
    check_text(text_of(events), TEXT.replace("[email_1]", person.mail))
    equal(len([event for event in events if event.type == "dlp_resolved"]), 1, "decisions")
    equal(len([event for event in events if event.type == "dlp_preview"]), int(person.body["piiAction"] == "ask"))
    for method in ("GET", "POST"):
        with server.resume(f"{events[0].message}:0", method) as reply:
            equal(wire(reply.rest()), wire(events), f"person {person.number} reads again by {method}")
    kept = server.ask("GET", f"/v1/conversations/conv_{person.number}").json()["messages"]
    equal([message["role"] for message in kept], ["user", "assistant"], "messages")
    equal(kept[1]["content"], text_of(events), "what is kept")


def check_secrets(server, upstream):
    mails = [MAIL.format(number).encode() for number in range(PEOPLE)]
    for seen in upstream.seen(has_bodies=True):
        expect(all(mail.decode() not in seen["body"] for mail in mails), "the model has seen a value", seen["number"])
    for path in pathlib.Path(server.data).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            expect(all(mail not in data for mail in mails), "a value lies plain in", path)


def run_folder(upstream, seed):
    chance = random.Random(seed)
    upstream.reset()
    upstream.control(default=say(TEXT), rules=[
        {"times": -1, "contains": "Your answer was interrupted", "do": say(MORE)},
        {"times": PEOPLE // 2, "contains": "Use your tools", "do": tool_call()}])
    with ChatServer(upstream, "--user-replies", str(PEOPLE), policy={"piiAction": "off"}) as server:
        people = [Person(server, number, seed) for number in range(PEOPLE)]
        for person in people:
            person.start()
        for _ in range(KILLS_PER_FOLDER):
            time.sleep(chance.uniform(0.02, 0.35))
            server.kill()
            server.start()
        for person in people:
            person.join(WAIT_S)
        for person in people:
            check_person(server, person)
        server.stop()
        check_secrets(server, upstream)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--kills", type=int, default=9)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    options = parser.parse_args()
    program()
    n_passed = n_failed = 0
    with Upstream() as upstream:
        for seed in range(options.seed, options.seed + (options.kills + KILLS_PER_FOLDER - 1) // KILLS_PER_FOLDER):
            try:
                run_folder(upstream, seed)
                n_passed += 1
            except Exception as problem:
                n_failed += 1
                print(f"FAILED seed {seed}: {failure_of(problem)}", flush=True)
    print(f"{n_passed} passed, {n_failed} failed")
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
