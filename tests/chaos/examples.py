#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/chaos/examples.py [CASE...]

The programs of examples/client as a stranger would run them: a turn through cuts, a session through
cuts, silence and a gap, and models of both dialects that fail before and behind their first byte.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys

from misbehaving import N_EVENTS, Site, Skip, equal, events, expect, head, program
from support import WAIT_S, case, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "upstream"))
from upstream import Upstream  # noqa: E402

PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}
TEXT = "Because blue light is scattered most. Größe 𝄞."


def start(name, *words, **options):
    path = pathlib.Path(program()).parent / "examples" / name
    if not os.access(path, os.X_OK):
        raise Skip(f"examples/{name} is not built")
    env = {**os.environ, **options.pop("env", {})}
    wrapper = os.environ.get("WEIR_WRAPPER", "").split()
    return subprocess.Popen([*wrapper, path, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, encoding="utf-8", **options)


def run(name, *words, question=None, **options):
    with start(name, *words, stdin=subprocess.PIPE, **options) as child:
        out, err = child.communicate(question, WAIT_S)
    return child.returncode, out, err


# ---- a turn ----

@case
def turn_is_followed_through_cuts_and_told_where_from():
    def play(conn):
        if conn.nth == 1:
            conn.put(head(), events(1, 2) + b"id: 3\nevent")
        elif conn.nth == 2:
            conn.put(head(), events(1, 4))  # more than was asked for
            conn.reset()
        else:
            conn.rest()
    with Site(play) as site:
        status, out, err = run("follow_turn", site.url, "turn_1", env={"WEIR_KEY": "k1"})
        equal(status, 0, err)
        wanted = [f"x e{i}" for i in range(1, N_EVENTS)] + [f"turn.completed e{N_EVENTS}"]
        equal(out.splitlines(), wanted, "each event once, in order")
        expect(err.splitlines()[0].startswith("Reconnecting from 2 in "), "where it goes on", err)
        equal([conn.fields.get("last-event-id") for conn in site.requests][:2], [None, "2"])
        equal({conn.fields["authorization"] for conn in site.requests}, {"Bearer k1"})
        status, out, _ = run("follow_turn", site.url, "turn_1", "4")
        equal((status, out), (0, f"x e5\nturn.completed e{N_EVENTS}\n"))


@case
def turn_that_is_refused_is_told_with_the_servers_words():
    body = b'{"error":{"code":"turn_events_expired"}}'
    with Site(lambda conn: conn.put(head("404 Not Found", "application/json"), body)) as site:
        status, out, err = run("follow_turn", site.url, "turn_1", "7")
        equal((status, out), (3, "Last-Event-Id: 7\n"))
        expect("turn_events_expired" in err and "(404)" in err, "its words", err)


# ---- a session ----

class Sessions:
    """A stand-in for GET /sse/sessions/:id, as far as spec and public client need it."""

    def __init__(self):
        self.log = {}
        self.oldest = 1
        self.scenes = []  # how many events a connection gets, and what comes then

    def add(self, **data):
        self.log[len(self.log) + 1] = json.dumps(data)

    def say(self, text):
        for word in text.split():
            self.add(type="text_delta", text=word + " ")
        self.add(type="done", text=text, turnCount=1)

    def play(self, conn):
        path, _, query = conn.target.partition("?")
        if path != "/sse/sessions/ses_1":
            conn.put(head("404 Not Found", "application/json"), b'{"error":{"code":"not_found"}}')
            return
        asked = conn.fields.get("last-event-id") or dict([pair.split("=") for pair in query.split("&") if pair]).get("lastEventId", "0")
        if not asked.isdigit():
            conn.put(head("400 Bad Request", "application/json"), b"{}")
            return
        first = int(asked) + 1
        gap = [f"X-Weir-Gap: {first}-{self.oldest - 1}"] if first < self.oldest else []
        conn.put(head("200 OK", "text/event-stream", *gap))
        n_events, then = self.scenes.pop(0) if self.scenes else (None, "silence")
        for number in range(max(first, self.oldest), len(self.log) + 1)[:n_events]:
            conn.put(b": hb\n\n", f"id: {number}\ndata: {self.log[number]}\n\n".encode())
        if then == "silence":
            conn.stall()


def read_until(child, text):
    """Its output up to this text."""
    out = ""
    while not out.endswith(text):
        letter = child.stdout.read(1)
        expect(letter, f"{text!r} in its output, which is", out)
        out += letter
    return out


@case
def session_is_followed_through_cuts_until_it_is_left():
    sessions = Sessions()
    sessions.say("The sky is blue.")
    sessions.say("It is not.")
    sessions.scenes = [(2, "cut"), (0, "cut")]
    with Site(sessions.play) as site:
        with start("follow_session", site.url, "ses_1", env={"WEIR_KEY": "k1"}) as child:
            out = read_until(child, "--- turn complete ---\nIt is not. \n--- turn complete ---\n")
            child.send_signal(signal.SIGINT)
            err = child.stderr.read()
            equal(child.wait(WAIT_S), 0, err)
        equal(out, "The sky is blue. \n--- turn complete ---\nIt is not. \n--- turn complete ---\n")
        expect("Stream error: the stream ended before its last event (200), trying again" in err and
               f"Last seq: {len(sessions.log)}" in err, "what it says", err)
        equal([conn.target for conn in site.requests], ["/sse/sessions/ses_1"] + ["/sse/sessions/ses_1?lastEventId=2"] * 2)
        equal([conn.fields.get("last-event-id") for conn in site.requests], [None, "2", "2"])
        equal({conn.fields["authorization"] for conn in site.requests}, {"Bearer k1"})


@case
def session_tells_what_is_gone_and_what_is_no_json():
    sessions = Sessions()
    sessions.say("one two three four")
    sessions.log[4] = "{no json"
    sessions.oldest = 3
    with Site(sessions.play) as site:
        with start("follow_session", site.url, "ses_1", "1") as child:
            out = read_until(child, "complete ---\n")
            child.terminate()
            err = child.stderr.read()
            equal((child.wait(WAIT_S), out), (0, "three \n--- turn complete ---\n"), err)
        expect("Events 2 to 2 are gone.\n" in err and "event 4 is no JSON" in err, "what it says", err)
        status, out, err = run("follow_session", site.url, "ses_2")
        equal((status, out), (1, ""), "a session that is none")
        expect("refuses (404)\n" in err and "Last seq: 0" in err, "what it says", err)


# ---- models ----

def ask(upstream, dialect, question="Why?"):
    return run("ask_model", dialect, upstream.where["http"] + PATHS[dialect], "m1", question=question,
               env={"MODEL_KEY": "right"})


def content(text=TEXT):
    return {"answer": {"content": [{"type": "text", "text": text}], "stop": "end"}}


@case
def models_of_both_dialects_are_asked_and_printed():
    with Upstream() as upstream:
        upstream.reset(key="right")
        for dialect in PATHS:
            upstream.rules((1, content()))
            equal(ask(upstream, dialect, 'A "quoted"\nquestion\\ ü')[:2], (0, TEXT + "\n"), dialect)
            seen = upstream.seen(has_bodies=True)[-1]
            equal((seen["key"], seen["path"]), ("right", PATHS[dialect]))
            expect("quoted" in str(seen["body"]), "the question", seen["body"])


@case
def models_are_asked_again_only_before_their_first_byte():
    with Upstream() as upstream:
        for dialect in PATHS:
            upstream.reset(key="right")
            upstream.rules((1, {"end": "before head", "is_reset": True}), (1, {"status": 529}), (1, content()))
            status, out, err = ask(upstream, dialect)
            equal((status, out, err.count("once more")), (0, TEXT + "\n", 2), err)
            equal(len(upstream.seen()), 3, "requests")
            for end in ("cut", "reset"):
                upstream.reset(key="right")
                upstream.rules((1, {**content("word " * 50), "after": 2, "end": end}))
                status, out, err = ask(upstream, dialect)
                equal(len(upstream.seen()), 1, "requests of what is paid for")
                expect(status in (3, 1) and "once more" not in err, f"{dialect} {end}", status, out, err)
                expect(("word " * 50).startswith(out.removesuffix("\n")), "a beginning", out)


@case
def models_that_refuse_or_fail_are_told_by_their_words():
    with Upstream() as upstream:
        for dialect in PATHS:
            upstream.reset(key="right")
            upstream.rules((1, {"status": 400, "message": "no such model"}))
            status, out, err = ask(upstream, dialect)
            equal((status, out, len(upstream.seen())), (1, "", 1), err)
            expect("no such model" in err, "its words", err)
            upstream.rules((1, {**content("word " * 50), "after": 2, "end": "error"}))
            status, out, err = ask(upstream, dialect)
            equal((status, len(upstream.seen())), (1, 2), err)
            expect("verloaded" in err, "its words", err)


if __name__ == "__main__":
    main()
