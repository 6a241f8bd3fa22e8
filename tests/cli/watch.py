#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/watch.py [WEIR [TEST]]

`weir watch` over the network, against servers of a few lines each that cut, stall, refuse and forget:
turns, sessions, chats, models, any URL; what is shown of the connection; keys, and who gets them;
events that are kept. On terminals the screen is compared with the texts in tests/cli/terminal, as in
terminal.py.
"""
import http.client
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from support import Counter, program, run
from terminal import PATIENCE_S, PEOPLE, Terminal, Tests, Turn, drain, own_terminal, sane

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
CANCEL_S = 1.0  # "at once": a tenth on a machine with nothing else to do, and what is waited for lasts much longer


def answer(status, body, kind="application/json", more=""):
    reason = http.client.responses.get(status, "Status")
    return (f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\n{more}"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


NOTHING = b"HTTP/1.1 204 No Content\r\n\r\n"


class Server:
    """Answers each connection with the next of its parts, and the last one from then on. A part is
    bytes, which are sent before the connection is closed, or a function of (socket, request)."""

    def __init__(self, *parts):
        self.parts = list(parts)
        self.requests = []
        self.is_over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            part = self.parts.pop(0) if len(self.parts) > 1 else self.parts[0]
            threading.Thread(target=self._serve, args=(client, part), daemon=True).start()

    def _serve(self, client, part):
        with client:
            request = b""
            while b"\r\n\r\n" not in request:
                more = client.recv(65536)
                if not more:
                    return
                request += more
            head, _, body = request.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
            while length and len(body) < int(length.group(1)):
                body += client.recv(65536)
            self.requests.append((head.decode(), body.decode()))
            try:
                if callable(part):
                    part(client, head.decode())
                else:
                    client.sendall(part)
            except OSError:
                pass

    def stall(self, data=b""):
        """A part that sends this and then nothing more."""
        def part(client, _request):
            client.sendall(data)
            self.is_over.wait()
        return part

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


# ---- streams ----


def frame(data, name=None, ident=None):
    return ((f"id: {ident}\n" if ident else "") + (f"event: {name}\n" if name else "")
            + f"data: {json.dumps(data, ensure_ascii=False)}\n\n").encode()


def chat_events():
    events = [("token", {"text": "Looking for "}), ("token", {"text": "**it**.\n\n"}),
              ("tool_call", {"id": "tc_1", "name": "find", "args": {"query": "Q3"}}),
              ("progress", {"label": "Searching", "percent": 50}),
              ("tool_result", {"id": "tc_1", "result": [{"path": "/Q3.pdf"}]}),
              ("tool_call", {"id": "tc_2", "name": "open", "args": {}}),
              ("tool_error", {"id": "tc_2", "error": "it is locked"}),
              ("dlp_preview", {"decisionId": "dlp_1", "redactedText": "[email_1]",
                               "findings": [{"label": "e", "category": "email", "source": "x"}],
                               "provider": {"displayName": "Far Away"}}),
              ("dlp_resolved", {"appliedChoice": "redact", "redactedCount": 1,
                                "categories": ["email"]}),
              ("privacy_token_map", {"tokenMap": {"[email_1]": "a@b.example"}, "source": "dlp"}),
              ("token", {"text": "I found it."}),
              ("citation", {"sourceId": "d1", "title": "Q3.pdf", "snippet": "the report"}),
              ("done", {"messageId": "msg_1", "usage": {"input": 12, "output": 5}, "model": "m-1"})]
    return [frame(data, name, f"msg_1:{i}") for i, (name, data) in enumerate(events, 1)]


CHAT_ANSWER = "Looking for **it**.\n\nI found it.\n"


def session_events():
    events = [
        {"type": "mesh.changed", "agents": [{"agentId": "a"}]},
        {"type": "message_persisted", "messageId": "m1", "role": "user"},
        {"type": "run_start", "provider": "p", "model": "m-1", "source": "user"},
        {"type": "context_meta", "data": {"memory": 2}},
        {"type": "thinking_delta", "thinking": "Let me see."},
        {"type": "tool_start", "toolCallId": "c1", "toolName": "write", "args": {"to": "/y"}},
        {"type": "tool.approval_required", "request": {
            "approvalId": "ap1", "sessionId": "s", "toolCallId": "c1", "toolName": "write",
            "args": {"to": "/y"}, "reason": "it changes a file"}},
        {"type": "approval.resolved", "approvalId": "ap1", "decision": "allow", "decidedBy": "me"},
        {"type": "tool_progress", "toolName": "write", "message": "half", "percent": 50,
         "audience": "user"},
        {"type": "tool_end", "toolCallId": "c1", "toolName": "write", "ok": True, "durationMs": 1200,
         "result": "written"},
        {"type": "text_delta", "text": "It is "}, {"type": "text_delta", "text": "*written*."},
        {"type": "usage", "inputTokens": 10, "outputTokens": 4, "estimatedCostUsd": 0.002},
        {"type": "done", "text": "It is *written*.", "turnCount": 1},
        {"type": "message_persisted", "messageId": "m2", "role": "assistant"},
        {"type": "cron.fired", "jobId": "job_1", "ranAt": "now", "outputPath": None},
        {"type": "run_start", "provider": "p", "model": "m-1", "source": "cron"},
        {"type": "text_delta", "text": "Good morning"},
        {"type": "error", "error": "the model is away", "code": "upstream"},
        {"type": "clarify.request", "requestId": "q1", "question": "which year?",
         "defaultDeadlineAt": None}]
    return [frame(data, ident=i) for i, data in enumerate(events, 1)]


def turn_bytes(answer_text="It **fell**."):
    turn = Turn()
    return turn.start() + turn.work() + turn.say(answer_text) + turn.finish(answer_text)


def had(request):
    """The number behind the last event that the client has."""
    found = re.search(r"(?i)\r\nlast-event-id: (?:[^\r\n]*:)?(\d+)", request)
    return int(found.group(1)) if found else 0


def from_last(events, n=None, keep_open=None, head=HEAD):
    """A part that goes on behind what the client has, for n events."""
    def part(client, request):
        first = had(request)
        client.sendall(head + b"retry: 1\n\n" + b"".join(events[first:first + (n or len(events))]))
        if keep_open and first + (n or len(events)) >= len(events):
            keep_open.wait()
    return part


def model_bytes(text):
    return b"".join(frame(event, event["type"]) for event in (
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
                                              "content": [], "model": "x", "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"}))


MODEL = model_bytes("Yes.")


def full_backlog():
    """A listener that no connection gets to: its queue is full."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fill = []
    for _ in range(4):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
        fill.append(one)
    return listener, fill


# ---- without a terminal ----


class Watch(Tests):
    def watch(self, *arguments, **env):
        return run(self.weir, "watch", *arguments, env=env)

    def text(self, result):
        return result.out.decode()

    def test_chat(self):
        """A reply through cuts, by its name and by its address."""
        events = chat_events()
        with Server(from_last(events, 2), b"", answer(503, '{"error":{"message":"busy"}}',
                                                      more="Retry-After: 0\r\n"),
                    from_last(events, 4), from_last(events)) as server:
            result = self.watch("chat", "conv_1", "--url", server.url, "--quiet")
            self.count.check(result.code == 0 and self.text(result) == CHAT_ANSWER,
                             "a reply through cuts", self.text(result) + result.err)
            self.count.check(result.err == "", "--quiet says nothing else", result.err)
            self.count.check(all(r[0].startswith("GET /ai/chat?conversationId=conv_1 ")
                                 for r in server.requests), "its address")
            self.count.check("Last-Event-ID: msg_1:6" in server.requests[-1][0], "its last id",
                             server.requests[-1][0])
        with Server(from_last(events, 3), from_last(events)) as server:
            result = self.watch(server.url + "/ai/chat?conversationId=conv_1", "--json")
            ids = [json.loads(line)["id"] for line in result.out.splitlines()]
            self.count.check(result.code == 0 and ids == [f"msg_1:{i}" for i in range(1, 14)],
                             "--json: each event once, in order", str(ids))
            self.count.check("weir: connecting to http" in result.err
                             and result.err.count("weir: connected") == 2
                             and re.search(r"weir: the stream ended .*; again in 0\.\d s", result.err),
                             "--json: notes on standard error", result.err)
        blocked = frame({"reason": "policy_block", "findings": [{"category": "iban"}]},
                        "dlp_blocked", "msg_1:1")
        with Server(HEAD + blocked) as server:
            result = self.watch("chat", "conv_1", "--url", server.url)
            self.count.check(result.code == 1 and "policy_block" in result.err, "what is blocked",
                             result.err)

    def test_session(self):
        events = session_events()
        gap = HEAD.replace(b"\r\n\r\n", b"\r\nX-Weir-Gap: 3-4\r\n\r\n")
        with Server(from_last(events, 5), from_last(events[:3] + events[4:], None, head=gap),
                    NOTHING) as server:
            result = self.watch("session", "s", "--url", server.url, "--since", "2", "--json")
            ids = [json.loads(line)["id"] for line in result.out.splitlines()]
            self.count.check(ids[:5] == [3, 4, 5, 6, 7] and len(ids) == len(set(ids)),
                             "a session from a number on", str(ids))
            self.count.check("event 8 is no longer kept; the stream goes on at 9" in result.err,
                             "what is missing is told", result.err)
            self.count.check("GET /sse/sessions/s?lastEventId=2 " in server.requests[0][0],
                             "its address", server.requests[0][0])
            self.count.check(result.code == 1, "its last turn failed", str(result.code))
        with Server(HEAD + b"".join(events), NOTHING) as server:
            result = self.watch(server.url + "/sse/sessions/s")
            out = self.text(result)
            self.count.check("It is *written*.\n" in out and "✓ write: 1.2 s written" in out
                             and "? approval: write" in out and "· cron.fired: job_1" in out
                             and "the model is away (upstream)" in result.err,
                             "a session in plain lines", out + result.err)

    def test_turn(self):
        whole = turn_bytes()
        with Server(HEAD + b"retry: 1\n\n" + whole[:500], from_last([], 0),
                    HEAD + whole) as server:
            result = self.watch("turn", "turn_01", "--url", server.url, "--quiet")
            self.count.check(result.code == 0 and self.text(result) == "It **fell**.\n",
                             "a turn through cuts", self.text(result) + result.err)
        with Server(HEAD + b"retry: 1\n\n" + whole[:500]) as server:
            result = self.watch("turn", "turn_01", "--url", server.url)
            self.count.check(result.code == 3 and "(stream_incomplete)" in result.err,
                             "a turn that is never whole", f"{result.code} {result.err}")
            n = len(server.requests)
            self.count.check(n == 6, "is asked for five times more", str(n))

    def test_refusals(self):
        """Errors are told with what the body says, and are not asked for again."""
        message = '{"error":{"code":"not_found","message":"There is no such turn."}}'
        for part, code, words in (
                (answer(404, message), 1, "There is no such turn."),
                (answer(401, '{"detail":"who are you?"}'), 1, "who are you?"),
                (answer(200, "<h1>Please log in</h1>", "text/html"), 1, "<h1>Please log in</h1>"),
                (answer(302, "", more="Location: /other\r\n"), 1, "elsewhere"),
                (NOTHING, 0, "")):
            with Server(part) as server:
                for arguments in (("turn", "turn_01", "--url", server.url), (server.url + "/any",)):
                    result = self.watch(*arguments)
                    self.count.check(result.code == code and words in result.err,
                                     f"{part[9:12]}", result.err)
                self.count.check(len(server.requests) == 2, "once each")
        with Server(answer(502, "\x1b[31mBad Gateway", "text/html", "Retry-After: 0\r\n"),
                    HEAD + b"data: x\n\n", NOTHING) as server:
            result = self.watch(server.url)
            self.count.check(result.code == 0 and self.text(result) == "message x\n"
                             and "\x1b" not in result.err and "HTTP 502" in result.err,
                             "a page of a proxy passes", result.err)

    def test_any(self):
        """A stream of others: by ids, or without them to the end of what is complete."""
        with Server(HEAD + MODEL) as server:
            result = self.watch(server.url, "--quiet")
            self.count.check(result.code == 0 and self.text(result) == "Yes.\n"
                             and len(server.requests) == 1, "a message without ids is enough",
                             f"{self.text(result)} {result.err}")
        with Server(HEAD + b"retry: 1\n\nid: a\ndata: 1\n\n", HEAD + b"id: b\ndata: 2\n\n",
                    NOTHING) as server:
            result = self.watch(server.url, "--last-event-id", "z")
            self.count.check(result.code == 0 and self.text(result) == "message 1\nmessage 2\n",
                             "by ids", self.text(result) + result.err)
            self.count.check(["z" in r[0] for r in server.requests][:1] == [True]
                             and "Last-Event-ID: b" in server.requests[-1][0], "from its last id")

    def test_cut_without_ids(self):
        """Nothing says where to go on: a model is not asked again, and others begin anew."""
        openai = frame({"object": "chat.completion.chunk",
                        "choices": [{"index": 0, "delta": {"content": "Hello"}}]})
        for name, part, text in (("Anthropic", MODEL[:MODEL.index(b"event: content_block_stop")], "Yes."),
                                 ("OpenAI", openai, "Hello")):
            for how in ((), ("--json",)):
                with Server(HEAD + b"retry: 1\n\n" + part) as server:
                    result = self.watch(server.url, *how)
                    self.count.check(result.code == 3 and len(server.requests) == 1
                                     and "is not asked for again" in result.err
                                     and (how or self.text(result) == text + "\n"),
                                     f"{name} {how}", f"{result.code} {result.out} {result.err}")
        token = frame({"text": "Hello"}, "token")
        with Server(HEAD + b"retry: 1\n\n" + token, HEAD + token + frame({}, "done")) as server:
            result = self.watch(server.url)
            self.count.check(result.code == 0 and self.text(result) == "Hello\nHello\n"
                             and result.err.count("the stream began again") == 1,
                             "another stream begins again", f"{result.out} {result.err}")
        with Server(HEAD + b"retry: 1\n\nid: 1\n" + token, HEAD + b"id: 2\n" + token, NOTHING) as server:
            result = self.watch(server.url)
            self.count.check("began again" not in result.err, "one with ids goes on", result.err)

    def test_durable(self):
        """Streams that say themselves where to go on; tests/serve/client_others.py has real ones."""
        def control(**data):
            return frame(data, "control")

        with Server(HEAD + b"retry: 1\n\n" + frame([1], "data") + control(streamNextOffset="5")
                    + frame([2], "data"), HEAD + frame([2], "data")
                    + control(streamNextOffset="6", streamClosed=True)) as server:
            result = self.watch(server.url + "/s?offset=-1&x=y&live=sse", "--json")
            values = [json.loads(line)["data"] for line in result.out.splitlines()]
            self.count.check(result.code == 0 and values == [[1], [2]], "once each",
                             f"{values} {result.err}")
            self.count.check("/s?offset=5&x=y&live=sse " in server.requests[1][0], "from its offset",
                             server.requests[1][0])
        with Server(HEAD + frame([1], "data") + control(nonsense=1)) as server:
            result = self.watch(server.url + "/s?offset=-1&live=sse")
            self.count.check(result.code == 1 and "where to go on" in result.err,
                             "one that does not say where to go on", f"{result.code} {result.err}")
        with Server(HEAD + frame([1]), NOTHING) as server:
            result = self.watch(server.url + "/s?live=sse-not")
            self.count.check(result.code == 0 and self.text(result) == "message [1]\n",
                             "others are not held", f"{result.code} {result.err}")

    def test_output_that_is_gone(self):
        """Whoever reads our output has enough: then we have, too."""
        with Server(lambda client, _: [client.sendall(HEAD)] + [
                client.sendall(b"data: x\n\n" * 1000) for _ in range(100000)]) as server:
            with subprocess.Popen([self.weir, "watch", server.url], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL) as process:
                process.stdout.read(10)
                process.stdout.close()
                code = process.wait(PATIENCE_S)
            self.count.check(code in (-signal.SIGPIPE, 1), "a pipe that is closed ends it", str(code))

    def test_models(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "ask.json").write_text('{"stream": true}', encoding="utf-8")
            (path / "secret").write_text("x-api-key: s3cret\n\n", encoding="utf-8")
            (path / "key").write_text("k3y\n", encoding="utf-8")
            (path / "key").chmod(0o600)
            with Server(answer(529, "{}", more="Retry-After: 0\r\n"), HEAD + MODEL) as server:
                result = self.watch(server.url + "/v1/messages", "--body", str(path / "ask.json"),
                                    "--header", "anthropic-version: 2023-06-01", "--header",
                                    f"@{path / 'secret'}", "--key-file", str(path / "key"), "--quiet")
                head, body = server.requests[-1]
                self.count.check(result.code == 0 and self.text(result) == "Yes.\n",
                                 "a model is asked again before its first byte", result.err)
                self.count.check(head.startswith("POST /v1/messages ") and body == '{"stream": true}'
                                 and "anthropic-version: 2023-06-01" in head
                                 and "x-api-key: s3cret" in head
                                 and "Authorization: Bearer k3y" in head, "with all that was said", head)
            with Server(HEAD + MODEL[:200]) as server:
                result = self.watch(server.url, "--body", '{"stream":true}')
                self.count.check(result.code == 3 and len(server.requests) == 1,
                                 "and not after it", f"{result.code} {result.err}")
            with Server(answer(200, '{"id":"m"}')) as server:
                result = self.watch(server.url, "--body", "{}")
                self.count.check(result.code == 1 and '"stream": true' in result.err, "a hint",
                                 result.err)

    def test_large(self):
        """What comes at once is written whole, up to the longest line, which has a name."""
        for text, shown in (("x" * 10_000_000, "x" * 10_000_000),
                            ("\u00e9\u0085" * 1_000_000, "\u00e9<U+0085>" * 1_000_000)):
            for how in ((), ("--quiet",)):
                result = run(self.weir, "watch", "-", *how, data=model_bytes(text))
                self.count.check(result.code == 0 and self.text(result) == shown + "\n",
                                 f"a delta of {len(text)} characters {how}", str(len(result.out)))
        chat = frame({"text": "y" * 3_000_000}, "token", "msg_1:1") + frame({}, "done", "msg_1:2")
        result = run(self.weir, "watch", "-", data=chat)
        self.count.check(result.out == b"y" * 3_000_000 + b"\n", "a chat's", str(len(result.out)))
        for how in ((), ("--quiet",), ("--json",)):
            result = run(self.weir, "watch", "-", *how, data=b"data: " + b"a" * (17 << 20) + b"\n\n")
            self.count.check(result.code == 1 and "(line_too_long)" in result.err,
                             f"a line that is too long {how}", f"{result.code} {result.err}")

    def test_without_an_end(self):
        """Exit status 3 has a reason, also where no event is known."""
        for data, words in ((b"", "there is no event"), (b": hi\n\n", "there is no event"),
                            (b"event: stock\ndata: 1\n\n", "none of its events is known"),
                            (turn_bytes()[:500], "before it was complete")):
            for how in ((), ("--quiet",), ("--json",)):
                result = run(self.weir, "watch", "-", *how, data=data)
                self.count.check(result.code == 3 and words in result.err, f"{data[:20]} {how}",
                                 f"{result.code} {result.err}")

    def test_waiting(self):
        """Who waits at a terminal is told for whom; a pipe is not."""
        late = answer(200, '{"data":[],"next_cursor":null}')
        told = threading.Event()

        def part(client, _request):
            told.wait(PATIENCE_S)
            client.sendall(late)

        with Server(part) as server, Own(self.weir, "turns", "--url", server.url) as own:
            seen = own.read_to(b"waiting for " + server.url.encode())
            told.set()
            self.count.check(b"weir: waiting for http" in seen and own.wait() == 0, "a list", str(seen))
        for _ in range(5):  # the machine may be slow to answer
            with Server(late) as server, Own(self.weir, "turns", "--url", server.url) as own:
                seen = own.read_to(b"\n")
                code = own.wait()
            if b"waiting" not in seen:
                break
        self.count.check(b"waiting" not in seen and code == 0, "not at once", str(seen))

    def test_keys_of_others(self):
        """A key goes to nobody but the server that it was configured for."""
        with Server(NOTHING) as server, Server(NOTHING) as other:
            self.watch(other.url + "/x", WEIR_URL=server.url, WEIR_KEY="k3y")
            self.watch(server.url + "/x", WEIR_URL=server.url, WEIR_KEY="k3y")
            self.watch("turn", "t", WEIR_URL=server.url, WEIR_KEY="k3y")
            self.count.check("k3y" not in other.requests[0][0], "not to any address")
            self.count.check(all("Bearer k3y" in r[0] for r in server.requests), "but to its own")

    def test_usage(self):
        for arguments in ((), ("a", "b", "c"), ("turns", "x"), ("turn", "a/b"), ("turn", "x", "--body", "{}"),
                          ("-", "--since", "1"), ("x.sse", "--header", "a: b"),
                          ("http://127.0.0.1:1/", "--since", "1"), ("turn", "x", "--since", "-1"),
                          ("turn", "x", "--since", "1x"), ("http://127.0.0.1:1/", "--header", "nonsense"),
                          ("http://127.0.0.1:1/", "--body", "{}", "--last-event-id", "x"),
                          ("http://127.0.0.1:1/", "--data", "/x")):
            result = self.watch(*arguments)
            self.count.check(result.code == 2 and "--help" in result.err, f"usage {arguments}",
                             f"{result.code} {result.err}")

    def test_kept(self):
        """Events are kept, and shown when the server is gone."""
        with tempfile.TemporaryDirectory() as home:
            env = {"XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home + "/config", "WEIR_KEEP": ""}
            events = pathlib.Path(home, "weir/events")
            with Server(HEAD + turn_bytes()) as server:
                self.watch("turn", "turn_00", "--url", server.url, "--no-keep", **env)
                self.count.check(not events.exists() or not list(events.iterdir()), "--no-keep")
                pathlib.Path(home, "config/weir").mkdir(parents=True)
                config = pathlib.Path(home, "config/weir/config")
                config.write_text("keep_events = no\n", encoding="utf-8")
                self.watch("turn", "turn_00", "--url", server.url, **env)
                self.count.check(not events.exists() or not list(events.iterdir()), "keep_events = no")
                config.unlink()
                self.watch("turn", "turn_01", "--url", server.url, **env)
                self.watch(server.url + "/v1/turns/turn_01/events", "--json", **env)
            files = list(events.iterdir())
            self.count.check(len(files) == 1 and files[0].stat().st_mode & 0o777 == 0o600,
                             "one file, for the user alone", str(files))
            trace = run(self.weir, "trace", "turn_01", "--url", server.url, env=env)
            self.count.check(trace.code == 0 and b"bootstrap=failed" in trace.out
                             and b"critic: accept" in trace.out and "kept here" in trace.err,
                             "weir trace shows them", trace.out.decode() + trace.err)
            trace = run(self.weir, "trace", "turn_01", "--url", server.url, "--json", env=env)
            whole = json.loads(trace.out)
            self.count.check([e["id"] for e in whole["events"]]
                             == list(range(1, len(whole["events"]) + 1))
                             and whole["status"] == "completed"
                             and whole["result"]["answer"] == "It **fell**.", "--json has them all")
            trace = run(self.weir, "trace", "turn_02", "--url", server.url, env=env)
            self.count.check(trace.code == 1 and not trace.out, "another turn is not there")

    def test_local(self):
        """A folder of this machine, with its server and without one; and over its address."""
        with tempfile.TemporaryDirectory() as folder:
            run(self.weir, "import", str(PEOPLE / "p01_daily.csv"), "--data", folder, "--quiet")
            asked = run(self.weir, "ask", "is my resting heart rate going down?", "--data", folder)
            turn = re.search(r"turn_[0-9A-Z]{26}", asked.err).group()
            result = self.watch("turn", turn, "--data", folder, "--quiet")
            self.count.check(result.code == 0 and result.out == asked.out, "without a server",
                             result.err)
            result = self.watch("turn", turn, "--data", folder, "--json", "--since", "3")
            self.count.check(json.loads(result.out.splitlines()[0])["id"] == 4, "from a number on")
            result = self.watch("turn", "turn_" + "0" * 26, "--data", folder)
            self.count.check(result.code == 1 and result.err, "no such turn", result.err)
            key = run(self.weir, "key", "create", "--owner", "me", "--data", folder)
            with subprocess.Popen([self.weir, "serve", "--listen", "127.0.0.1:0", "--data", folder],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
                url = re.search(rb"http://[0-9.:]+", server.stdout.readline()).group().decode()
                result = self.watch("turn", turn, "--data", folder, "--quiet")
                self.count.check(result.code == 0 and result.out == asked.out, "with a server",
                                 result.err)
                word = re.search(rb"\S{24,}", key.out)
                env = {"WEIR_URL": url, "WEIR_KEY": word.group().decode() if word else ""}
                result = self.watch("turn", turn, "--quiet", **env)
                self.count.check(result.code == 0 and result.out == asked.out, "over the network",
                                 result.err + key.out.decode())
                result = run(self.weir, "ask", "is my resting heart rate going down?", "--quiet",
                             env=env)
                self.count.check(result.code == 0 and result.out == asked.out, "weir ask, too",
                                 result.err)
                self.local_chat(folder, url, env)
                server.terminate()

    def local_chat(self, folder, url, env):
        """A reply of the real server: as it is asked for, and afterwards."""
        body = json.dumps({"agentId": "asst_default", "messages": [
            {"role": "user", "content": "what was my average resting heart rate in 2025?"}]})
        asked = self.watch(url + "/ai/chat", "--body", body, "--json", **env)
        events = [json.loads(line) for line in asked.out.splitlines()]
        self.count.check(asked.code == 0 and events and events[-1]["event"] == "done",
                         "a reply, as it is asked for", asked.err)
        said = "".join(e["data"]["text"] for e in events if e["event"] == "token")
        request = urllib.request.Request(url + "/v1/conversations", headers={
            "Authorization": "Bearer " + env["WEIR_KEY"]})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as listing:
            conversation = re.search(r"conv_[0-9A-Z]{26}", listing.read().decode()).group()
        for how, arguments, more in (("over the network", (), env), ("here", ("--data", folder), {})):
            result = self.watch("chat", conversation, "--quiet", *arguments, **more)
            self.count.check(result.code == 0 and self.text(result).strip() == said.strip(),
                             f"a reply, afterwards, {how}", f"{self.text(result)} {result.err}")

    # ---- on terminals ----

    def show(self, url, **options):
        return Terminal(self.weir, command=f"$WEIR watch {url}", **options)

    def test_screen_chat(self):
        events = chat_events()
        with Server(from_last(events, 8, keep_open=threading.Event()), from_last(events)) as server:
            terminal = self.show(f"chat conv_1 --url {server.url}")
            self.count.check(terminal.wait_end() and terminal.wait_text("status 0"), "a chat ends",
                             terminal.screen())
            self.golden(terminal, "reply_80x24")
            terminal.close()
        with Server() as server:
            server.parts = [server.stall(HEAD + b"".join(events[:4]))]
            terminal = self.show(f"chat conv_1 --url {server.url}", columns=40, rows=10)
            self.golden(terminal, "reply_tool_40x10", all_lines=False)
            terminal.close()
        with Server() as server:
            server.parts = [server.stall(HEAD + b"".join(events[:8]))]
            terminal = self.show(f"chat conv_1 --url {server.url}")
            self.golden(terminal, "reply_privacy", all_lines=False)
            terminal.close()

    def test_screen_session(self):
        events = session_events()
        with Server() as server:
            server.parts = [server.stall(HEAD + b"".join(events[:7])),
                            server.stall(HEAD + b"".join(events))]
            terminal = self.show(f"session s --url {server.url}")
            self.golden(terminal, "session_approval", all_lines=False)
            terminal.close()
            terminal = self.show(f"session s --url {server.url}")
            self.golden(terminal, "session_two_turns")
            terminal.keys("Escape", "Escape")
            self.count.check(terminal.wait_end() and terminal.wait_text("status 1") and sane(terminal),
                             "Escape twice leaves a session that waits", terminal.screen())
            terminal.close()

    def test_screen_reconnecting(self):
        turn = Turn()
        begun = turn.start() + turn.think("coach", "Looking at it.")
        later = answer(503, '{"error":{"message":"back soon"}}', more="Retry-After: 50\r\n")
        with Server(HEAD + b"retry: 1\n\n" + begun, later) as server:
            for name, size in (("reconnecting_80x24", {}),
                               ("reconnecting_40x10", {"columns": 40, "rows": 10})):
                server.parts = [HEAD + b"retry: 1\n\n" + begun, later]
                terminal = self.show(f"turn turn_01 --url {server.url}", **size)
                self.golden(terminal, name, all_lines=False)
                terminal.close()
        with Server(answer(404, '{"error":{"message":"There is no such turn."}}')) as server:
            terminal = self.show(f"turn turn_01 --url {server.url}")
            self.count.check(terminal.wait_text("status 1") and terminal.wait_end() and sane(terminal),
                             "a refusal ends it")
            self.golden(terminal, "refused")
            terminal.close()

    def test_signals(self):
        """Whatever ends it in whichever state of the connection, the terminal is sane."""
        for state in ("connecting", "reconnecting", "stalled"):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                with State(state) as server:
                    terminal = self.show(f"turn turn_01 --url {server.url}")
                    self.count.check(terminal.wait_text(server.mark), f"{state}", terminal.screen())
                    os.kill(terminal.child(), number)
                    self.count.check(terminal.wait_text(f"status {128 + number}")
                                     and terminal.wait_end() and sane(terminal),
                                     f"{state}: {number.name}", terminal.screen())
                    terminal.close()

    # ---- cancelling, and bytes: with a terminal of our own ----

    def test_cancel(self):
        """The second Escape ends it at once, whatever the network does."""
        for state in ("connecting", "no answer", "reconnecting", "stalled", "flooded"):
            best = 9.9
            for _ in range(3):
                with State(state) as server:
                    best = min(best, self.cancel_once(server))
                if best <= CANCEL_S:
                    break
            self.count.check(best <= CANCEL_S, f"cancel: {state}", f"{best * 1000:.0f} ms")

    def cancel_once(self, server):
        with Own(self.weir, "watch", "turn", "turn_01", "--url", server.url) as own:
            if server.mark.encode() not in own.read_to(server.mark.encode()):
                return 9.9
            own.write(b"\x1b")
            own.read_to(b"press Esc again")
            began = time.monotonic()
            own.write(b"\x1b")
            own.wait()
            return time.monotonic() - began

    def test_bytes(self):
        """What goes to the terminal for each delta that comes over the network."""
        turn = Turn()
        feed = [turn.start() + turn.work()]
        fed = threading.Condition()

        def part(client, _request):
            client.sendall(HEAD)
            sent = 0
            while True:
                with fed:
                    fed.wait_for(lambda: len(feed) > sent)
                    if feed[sent] is None:
                        return
                    client.sendall(feed[sent])
                sent += 1

        def send(data):
            with fed:
                feed.append(data)
                fed.notify_all()

        with Server(part) as server, Own(self.weir, "watch", "turn", "x", "--url", server.url) as own:
            own.read_to(b"accept")
            sizes = []
            for i in range(150):
                mark = f"w{i}x".encode()
                send(turn.say(f"word w{i}x and more. ", step=99))
                frames = drain(own.master, mark).split(b"\x1b[?2026h")
                sizes.append(sum(len(each) for each in frames if mark in each))
            send(turn.finish("other"))
            own.wait()
            send(None)
        self.count.check(max(sizes) < 24 * 110 and sum(sizes) / len(sizes) < 900,
                         "a delta costs the delta and the unfinished block",
                         f"mean {sum(sizes) / len(sizes):.0f}, most {max(sizes)}")


class State:
    """A server that brings a client into a state of its connection, and keeps it there. `mark` is
    what the screen says then."""

    def __init__(self, name):
        turn = Turn()
        begun = turn.start()
        self.server = Server(b"")
        self.url = self.server.url
        self.mark = "coach"
        self.backlog = None
        if name == "connecting":
            self.backlog = full_backlog()
            self.url = "http://127.0.0.1:%d" % self.backlog[0].getsockname()[1]
            self.mark = "connecting"
        if name == "no answer":
            self.server.parts = [self.server.stall()]
            self.mark = "connecting"
        if name == "reconnecting":
            self.server.parts = [answer(503, "{}", more="Retry-After: 50\r\n")]
            self.mark = "again in"
        if name == "stalled":
            self.server.parts = [self.server.stall(HEAD + begun + b"id: 4\nevent: agent.th")]
        if name == "flooded":
            self.server.parts = [lambda client, _: self.flood(client, turn, begun)]

    def flood(self, client, turn, begun):
        client.sendall(HEAD + begun)
        while not self.server.is_over.is_set():
            client.sendall(turn.think("coach", "word " * 500))

    def __enter__(self):
        self.server.__enter__()
        self.server.url = self.url
        self.server.mark = self.mark
        return self.server

    def __exit__(self, *_):
        self.server.__exit__()
        if self.backlog:
            for each in (self.backlog[0], *self.backlog[1]):
                each.close()


class Own:
    """weir on a terminal of ours, without tmux between, so that times and bytes are its own."""

    def __init__(self, *command):
        self.master, slave = pty.openpty()
        env = {**os.environ, "TERM": "xterm-256color"}
        env.pop("NO_COLOR", None)
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env,
                                        start_new_session=True,
                                        preexec_fn=lambda: own_terminal(slave))
        os.close(slave)

    def read_to(self, mark):
        got = b""
        deadline = time.monotonic() + PATIENCE_S
        while mark not in got:
            if not select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
                break
            try:
                got += os.read(self.master, 65536)
            except OSError:
                break
        return got

    def write(self, data):
        os.write(self.master, data)

    def wait(self):
        """Until it has ended; what it writes meanwhile is read."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.002)[0]:
                try:
                    os.read(self.master, 65536)
                except OSError:
                    time.sleep(0.001)
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


def main():
    weir = program()
    count = Counter()
    tests = Watch(weir, count)
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    own = [name for name in vars(Watch) if name.startswith("test_") and only in name]
    if not shutil.which("tmux"):
        count.skip("tmux is not there")
        own = [name for name in own if "screen" not in name and "signals" not in name]
    for name in own:
        getattr(tests, name)()
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
