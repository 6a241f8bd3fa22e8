#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/session.py [WEIR [NAME]]

`weir session`, and `weir chat --session` at terminals and in pipes. A server that says what the test
tells it to stands in for a real one where it matters what comes when; the rest is a real one.
"""
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import terminal
from support import Counter, program, run
from terminal import PATIENCE_S, Terminal, sane
from watch import Server as Script

SESSION = "ses_01HX2K3M4N5P6Q7R8S9T0V1W2X"
OTHER = "ses_01HX2K3M4N5P6Q7R8S9T0V1W2Y"


def turn_id(n):
    return f"trn_01HX2K3M4N5P6Q7R8S9T0V{n:04d}"


def message_id(n, part=0):
    return f"msg_{turn_id(n)[4:]}_{part}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        data = json.dumps({"json": value}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))["json"]
        method = self.path.removeprefix("/rpc/")
        status, value = self.server.call(method, given)
        self.answer(status, value)

    def do_GET(self):
        server = self.server
        if server.is_deleted:
            self.send_error(404)
            return
        place = re.search(r"lastEventId=(\d+)", self.path)
        at = int(place[1]) if place else 0
        server.opened.append(at)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        first = server.first
        if at + 1 < first:
            self.send_header("X-Weir-Gap", f"{at + 1}-{first - 1}")
            at = first - 1
        self.send_header("Connection", "close")
        self.end_headers()
        round_ = server.round
        while not server.is_over and server.round == round_:
            with server.news:
                events = server.events[at + 1 - first:]
                if not events:
                    server.news.wait(0.1)
            for event in events:
                at += 1
                self.wfile.write(f"id: {at}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True


class Stand(http.server.ThreadingHTTPServer):
    """A server with one session, whose events the test tells."""

    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients may leave

    def __init__(self, first=1):
        super().__init__(("127.0.0.1", 0), Handler)
        self.news, self.events, self.first = threading.Condition(), [], first
        self.calls, self.refusals, self.opened = [], {}, []
        self.n_turns, self.round, self.is_over = 0, 0, False
        self.messages, self.queued, self.is_deleted = [], 0, False
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def call(self, method, given):
        self.calls.append((method, given))
        if method in self.refusals:
            status, code, message = self.refusals[method]
            return status, {"defined": False, "code": code, "status": status, "message": message,
                            "data": None}
        if method == "chat/send":
            self.n_turns += 1
            return 200, {"sessionId": given.get("sessionId", SESSION), "turnId": turn_id(self.n_turns)}
        if method in ("sessions/create", "sessions/get"):
            return 200, {"session": {"id": SESSION, "title": None, "queued": self.queued},
                         "messages": self.messages}
        return 200, {"ok": True}

    def tell(self, *events):
        with self.news:
            self.events += events
            self.news.notify_all()

    def said(self, method):
        return [given for name, given in self.calls if name == method]

    def begin(self, n):
        self.tell({"type": "message_persisted", "messageId": message_id(n), "role": "user"},
                  {"type": "run_start", "provider": "p", "model": "m-1", "source": "global"})

    def end(self, n, text):
        self.tell({"type": "message_persisted", "messageId": message_id(n, 99), "role": "assistant"},
                  {"type": "done", "text": text, "turnCount": n})

    def turn(self, n, text):
        self.begin(n)
        self.tell({"type": "text_delta", "text": text})
        self.end(n, text)

    def ask(self, ident="ap_1", tool="write_note", **args):
        self.tell({"type": "tool_start", "toolCallId": "tc_1", "toolName": tool, "args": args},
                  {"type": "tool.approval_required", "request": {
                      "approvalId": ident, "sessionId": SESSION, "toolCallId": "tc_1",
                      "toolName": tool, "args": args, "reason": "it writes a file"}})

    def cut(self):
        """All connections break."""
        self.round += 1

    def close(self):
        self.is_over = True
        self.shutdown()
        self.server_close()


class Server:
    """A real one on a folder, that can be killed and started again at its address."""

    def __init__(self, weir, folder, *options):
        self.weir, self.folder, self.options = weir, folder, options
        self.listen = "127.0.0.1:0"
        self.child = None
        self.held = None
        self.start()

    def start(self):
        self.child = subprocess.Popen(
            [self.weir, "serve", "--data", self.folder, "--listen", self.listen, "--open",
             *self.options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        line = ""
        while "listening on" not in line:
            line = self.child.stdout.readline()
            if not line:
                raise RuntimeError("the server does not start")
        self.url = line.split()[-1]
        self.listen = self.url.removeprefix("http://")
        self.held = self.held or self.hold()

    def hold(self):
        """Nobody else gets the port while the server is down: it is bound, to be shared as the server does."""
        host, port = self.listen.split(":")
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host, int(port)))
        return held

    def kill(self):
        self.child.kill()
        self.child.wait()

    def close(self):
        self.child.terminate()
        self.child.wait()
        self.child.stdout.close()
        self.held.close()


class Watch:
    """weir session watch --json in the background, with the events that it has printed."""

    def __init__(self, weir, env, session, *options):
        self.child = subprocess.Popen(
            [weir, "session", "watch", session, "--json", *options], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
        self.events, self.notes = [], []
        for stream, take in ((self.child.stdout, lambda line: self.events.append(json.loads(line))),
                             (self.child.stderr, self.notes.append)):
            threading.Thread(target=lambda s=stream, t=take: [t(line) for line in s],
                             daemon=True).start()

    def of(self, kind):
        return [event["data"] for event in list(self.events) if event["data"]["type"] == kind]

    def wait(self, kind, n=1):
        """The nth event of its type; None when it does not come."""
        return self.of(kind)[n - 1] if self.wait_for(lambda: len(self.of(kind)) >= n) else None

    def wait_for(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def close(self):
        self.child.terminate()
        self.child.wait()


class Tests(terminal.Tests):
    def __init__(self, weir, count):
        super().__init__(weir, count)
        self.home = tempfile.mkdtemp()

    def env(self):
        home = tempfile.mkdtemp(dir=self.home)
        return {"HOME": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home, "WEIR_URL": "",
                "WEIR_KEY": "", "WEIR_DATA": "", "WEIR_PROFILE": ""}

    def open(self, arguments, columns=80, rows=24, command="chat"):
        return Terminal(self.weir, columns, rows, self.env(), f"$WEIR {command} {arguments}")

    def go(self, *words, data=b"", env=None):
        return run(self.weir, *words, data=data, env={**self.env(), **(env or {})}, timeout_s=60)

    def session(self, stand, *words, data=b""):
        return self.go("session", *words, "--url", stand.url, data=data)

    def type(self, chat, line):
        chat.keys("-l", line)
        chat.keys("Enter")

    def waits(self, chat, claim, name):
        self.count.check(chat.wait(claim), name, "\n" + chat.screen(all_lines=True))

    def sees(self, chat, text, name):
        self.waits(chat, lambda: text in chat.screen(all_lines=True), name)

    # ---- calls, one by one ----

    def test_calls(self):
        """What each act asks of the server, and what it says of the answer."""
        stand = Stand()
        rows = (
            (("send", SESSION, "how", "did I sleep?"), "chat/send", turn_id(1),
             {"sessionId": SESSION, "text": "how did I sleep?"}),
            (("steer", SESSION, "be brief"), "chat/steer", "the turn was told",
             {"sessionId": SESSION, "text": "be brief"}),
            (("abort", SESSION), "chat/abort", "aborted", {"sessionId": SESSION}),
            (("approve", "ap_1"), "tools/approve", "ap_1 is allowed",
             {"approvalId": "ap_1", "scope": "once"}),
            (("approve", "ap_1", "--scope", "any-args"), "tools/approve", "allowed",
             {"approvalId": "ap_1", "scope": "any-args"}),
            (("deny", "ap_1", "--reason", "not that"), "tools/deny", "ap_1 is denied",
             {"approvalId": "ap_1", "reason": "not that"}),
            (("answer", "clr_1", "in", "2025"), "clarify/respond", "answered",
             {"requestId": "clr_1", "answer": "in 2025", "source": "user"}),
            (("answer", "clr_1", "--cancel"), "clarify/respond", "cancelled",
             {"requestId": "clr_1", "source": "cancel"}),
            (("fork", SESSION), "sessions/fork", "", {"id": SESSION}),
            (("rename", SESSION, "my", "Sundays"), "sessions/update", "renamed",
             {"id": SESSION, "title": "my Sundays"}),
            (("pin", SESSION), "sessions/pin", "pinned", {"id": SESSION}),
            (("unpin", SESSION), "sessions/unpin", "no longer", {"id": SESSION}),
            (("delete", SESSION, OTHER), "sessions/delete", f"{OTHER} is deleted", {"id": OTHER}),
            (("new", "--title", "T"), "sessions/create", SESSION, {"title": "T"}),
            (("new", "hello"), "chat/send", SESSION, {"text": "hello"}),
        )
        for words, method, said, given in rows:
            result = self.session(stand, *words)
            got = stand.said(method)[-1] if stand.said(method) else {}
            self.count.check(result.code == 0 and said in result.out.decode(), f"{words}",
                             f"{result.code} {result.out} {result.err}")
            self.count.check({k: got.get(k) for k in given} == given, f"{words} asks {method}", got)
        self.count.check("sessionId" not in stand.said("chat/send")[-1], "a new one has no id yet")
        result = self.session(stand, "send", SESSION, "-", data=b"two\nlines\n\n")
        self.count.check(stand.said("chat/send")[-1]["text"] == "two\nlines", "a text from a pipe")
        stand.close()

    def test_refusals(self):
        stand = Stand()
        stand.refusals = {"tools/approve": (409, "CONFLICT", "it was answered already"),
                          "chat/send": (404, "NOT_FOUND", "there is no such session\x1b[31m")}
        result = self.session(stand, "approve", "ap_1")
        self.count.check(result.code == 1 and "it was answered already" in result.err,
                         "a second answer is refused in words", result.err)
        result = self.session(stand, "send", SESSION, "x")
        self.count.check(result.code == 1 and f"there is no session {SESSION}" in result.err
                         and "\x1b" not in result.err, "an unknown session", result.err)
        for words, said in ((("delete", SESSION, OTHER), f"there is no session {OTHER}"),
                            (("deny", "ap_1"), "there is no approval ap_1"),
                            (("answer", "clr_1", "x"), "there is no question clr_1")):
            stand.refusals = {method: (404, "NOT_FOUND", "there is no such thing")
                              for method in ("sessions/delete", "tools/deny", "clarify/respond")}
            result = self.session(stand, *words)
            self.count.check(result.code == 1 and said in result.err, f"{words} names it", result.err)
        result = self.session(stand, "send", SESSION, "-", data=b"\xff\xfe")
        self.count.check(result.code == 1 and "UTF-8" in result.err, "no UTF-8", result.err)
        stand.close()
        with Script(b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n"
                    b"Content-Length: 55\r\nConnection: close\r\n\r\n"
                    b'{"error":{"code":"not_found","message":"no such page"}}') as older:
            result = self.go("session", "list", "--url", older.url)
            self.count.check(result.code == 1 and "the server has no sessions" in result.err,
                             "a server without sessions", result.err)
        for words in (("send",), ("send", SESSION), ("watch",), ("watch", "a/b"), ("list", "x"),
                      ("approve", "a", "b"), ("approve", "a", "--scope", "x"), ("nothing",),
                      ("answer", "q", "x", "--cancel"), ("watch", SESSION, "--reason", "x"),
                      ("new", "--watch"), ("delete",), ("watch", SESSION, "--from", "0"),
                      ("watch", SESSION, "--json", "--quiet")):
            result = self.go("session", *words)
            self.count.check(result.code == 2 and "Try: weir session --help" in result.err,
                             f"wrong usage: {words}", result.err)

    # ---- streams ----

    def test_send_and_watch(self):
        """The turn of the message alone, to its end; what waits is said, with the way to answer."""
        stand = Stand()
        stand.turn(7, "an older answer")
        stand.begin(1)
        stand.ask(path="x.md")
        stand.tell({"type": "approval.resolved", "approvalId": "ap_1", "decision": "allow",
                    "decidedBy": "another-tab"}, {"type": "text_delta", "text": "It is done."})
        stand.end(1, "It is done.")
        result = self.session(stand, "send", SESSION, "write it", "--watch")
        self.count.check(result.code == 0 and result.out == b"It is done.\n", "the answer alone",
                         str(result.out))
        for text in ("weir session approve ap_1, or weir session deny ap_1",
                     "allowed by another-tab"):
            self.count.check(text in result.err, f"it says: {text}", result.err)
        stand.turn(2, "Again.")
        result = self.session(stand, "new", "again", "--watch", "--json")
        stand.close()
        lines = [json.loads(line) for line in result.out.splitlines()]
        self.count.check(lines[0] == {"sessionId": SESSION, "turnId": turn_id(2)}
                         and [line["data"]["type"] for line in lines[1:]] == [
                             "message_persisted", "run_start", "text_delta", "message_persisted",
                             "done"], "as JSON: what was sent, and its events", str(lines))

    def test_behind(self):
        """A turn that waits for another says so, and what that one waits for."""
        for kind, said in (("", "it waits for a turn before it (2 messages wait)"),
                           ("approval", "(2 messages wait), which may not run write_note yet: "
                            "weir session approve ap_1, or weir session deny ap_1"),
                           ("question", "which asks \"Which year?␛[31m\": weir session answer clr_1 TEXT"),
                           ("again", "which may not run other_tool yet: weir session approve ap_2")):
            stand = Stand()
            stand.queued = 2
            stand.turn(7, "an older answer")
            stand.begin(8)
            if kind in ("approval", "again"):
                stand.ask(path="x.md")
            if kind == "again":
                stand.tell({"type": "approval.resolved", "approvalId": "ap_1", "decision": "allow",
                            "decidedBy": "another-tab"})
                stand.ask("ap_2", "other_tool")
            if kind == "question":
                stand.tell({"type": "clarify.request", "requestId": "clr_1",
                            "question": "Which\nyear?\x1b[31m", "defaultDeadlineAt": "2030-01-01T00:00:00Z"})
            child = subprocess.Popen(
                [self.weir, "session", "send", SESSION, "and now?", "--watch", "--url", stand.url],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **self.env()})
            err = ""
            while "it waits" not in err:
                line = child.stderr.readline()
                err += line
                if not line:
                    break
            self.count.check(said in err, f"it says what it waits for: {kind}", err)
            stand.end(8, "At last.")
            stand.turn(1, "Now.")
            out, rest = child.communicate(timeout=PATIENCE_S)
            self.count.check(child.returncode == 0 and out == "Now.\n", "and goes on", out + rest)
            stand.close()

    def test_failed(self):
        stand = Stand()
        stand.begin(1)
        stand.tell({"type": "error", "error": "the model is away", "code": "upstream"})
        result = self.session(stand, "send", SESSION, "x", "--watch")
        self.count.check(result.code == 1 and "the model is away" in result.err, "a turn that fails",
                         f"{result.code} {result.err}")
        stand.close()

    def test_gap(self):
        """What is no longer kept is said in words."""
        stand = Stand(first=4201)
        stand.turn(1, "late")
        child = subprocess.Popen([self.weir, "session", "watch", SESSION, "--url", stand.url],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, **self.env()})
        out = ""
        while "late" not in out:
            out += child.stdout.readline()
        child.terminate()
        err = child.communicate(timeout=PATIENCE_S)[1]
        self.count.check("events 1 to 4,200 are no longer kept; the stream starts at 4,201" in err,
                         "the events that are gone are named", err)
        stand.close()

    def watch_until(self, text, *words, env=None):
        """A watch whose output has come to this text."""
        child = subprocess.Popen([self.weir, "session", "watch", *words], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True,
                                 env={**os.environ, **self.env(), **(env or {})})
        out = ""
        while text not in out:
            line = child.stdout.readline()
            out += line
            if not line:
                break
        return child

    def test_deleted(self):
        """A session that goes while it is watched, and one that was never there."""
        stand = Stand()
        stand.turn(1, "Hello.")
        child = self.watch_until("Hello.", SESSION, "--url", stand.url)
        stand.is_deleted = True
        stand.cut()
        err = child.communicate(timeout=PATIENCE_S)[1]
        self.count.check(child.returncode == 1 and f"the session {SESSION} was deleted" in err,
                         "a session that was deleted", f"{child.returncode} {err}")
        result = self.session(stand, "watch", SESSION)
        self.count.check(result.code == 1 and f"there is no session {SESSION}" in result.err,
                         "one that is not there", f"{result.code} {result.err}")
        stand.close()

    def test_signals(self):
        """Whoever ends it ends the server of its own, too, and hears nothing of that."""
        folder = tempfile.mkdtemp(dir=self.home)
        session = self.go("session", "new", "Hello!", "--data", folder).out.decode().strip()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = self.watch_until("Hello!", session, "--data", folder)
            os.killpg(child.pid, number)
            err = child.communicate(timeout=PATIENCE_S)[1]
            self.count.check(child.returncode == -number and err == "", f"{number.name} is quiet",
                             f"{child.returncode} {err}")

    # ---- at a terminal ----

    def test_chat(self):
        stand = Stand()
        chat = self.open(f"--session --url {stand.url}")
        self.sees(chat, f"Session {SESSION}.", "it says which session it is")
        self.type(chat, "how did I sleep?")
        self.waits(chat, lambda: stand.said("chat/send"), "a line is sent")
        stand.turn(1, "You slept **well**.")
        self.sees(chat, "You slept well.", "the answer comes")
        self.type(chat, "and in May?")
        self.waits(chat, lambda: len(stand.said("chat/send")) == 2, "another")
        stand.begin(2)
        stand.tell({"type": "thinking_delta", "thinking": "Let me see."})
        self.sees(chat, "Let me see.", "thoughts are shown while there are")
        self.type(chat, "and in June?")
        self.sees(chat, "waits: and in June?", "what is typed meanwhile waits")
        self.type(chat, "/steer be brief")
        self.waits(chat, lambda: stand.said("chat/steer") == [{"sessionId": SESSION,
                                                               "text": "be brief"}], "steering")
        stand.tell({"type": "text_delta", "text": "Less."})
        stand.end(2, "Less.")
        stand.turn(3, "More.")
        self.sees(chat, "More.", "and has its turn then")
        order = chat.screen(all_lines=True)
        places = [order.find(text) for text in ("how did I sleep?", "You slept well.", "and in May?",
                                                "Less.", "and in June?", "More.")]
        self.count.check(-1 not in places and places == sorted(places), "all of it in order", order)
        chat.keys("C-d")
        self.count.check(chat.wait_text("status 0") and chat.wait_end() and sane(chat),
                         "Ctrl-D leaves a sane terminal", chat.screen())
        self.count.check(not stand.said("sessions/delete"), "a session that was used stays")
        chat.close()
        stand.close()

    def test_approval(self):
        """A prompt, which takes its letters and nothing else, and goes when it is decided."""
        stand = Stand()
        chat = self.open(f"--session {SESSION} --url {stand.url}")
        stand.begin(1)
        stand.ask(path="notes/x.md", text="buy \x1b[31mmilk")
        self.sees(chat, "write_note wants to run: it writes a file", "what wants to run")
        self.sees(chat, "path: notes/x.md", "with its arguments")
        self.sees(chat, "[o]nce, these [e]xact arguments, [a]ny arguments, [d]eny", "what there is")
        self.type(chat, "a walk would be nice")
        self.sees(chat, "o, e, a or d", "other words allow nothing")
        self.count.check(not stand.said("tools/approve") and not stand.said("chat/send"), "nothing")
        chat.keys("C-u")
        self.type(chat, "e")
        self.waits(chat, lambda: stand.said("tools/approve"), "a letter does")
        given = stand.said("tools/approve")[0]
        self.count.check(given["approvalId"] == "ap_1" and given["scope"] == "exact-args"
                         and given["clientId"].startswith("weir-chat-"), "with its scope", given)
        stand.tell({"type": "approval.resolved", "approvalId": "ap_1", "decision": "allow",
                    "decidedBy": given["clientId"]},
                   {"type": "tool_end", "toolCallId": "tc_1", "toolName": "write_note", "ok": True,
                    "durationMs": 3, "result": "written"})
        self.waits(chat, lambda: "wants to run" not in chat.screen(), "the prompt goes")
        stand.ask("ap_2", path="y")
        self.sees(chat, "path: y", "another")
        stand.tell({"type": "approval.resolved", "approvalId": "ap_2", "decision": "deny",
                    "decidedBy": "another-tab"})
        self.sees(chat, "denied by another-tab", "decided elsewhere: it is said by whom")
        self.waits(chat, lambda: "wants to run" not in chat.screen(), "and the prompt goes, too")
        stand.ask("ap_3", path="z")
        self.sees(chat, "path: z", "a third")
        stand.refusals["tools/deny"] = (409, "CONFLICT", "it was answered already")
        self.type(chat, "d not that one")
        self.sees(chat, "it was answered already", "what is refused is said")
        self.count.check(stand.said("tools/deny")[0].get("reason") == "not that one", "with a reason")
        chat.close()
        stand.close()

    def test_small(self):
        """What can be answered stays in sight, however much there is of the rest."""
        stand = Stand()
        chat = self.open(f"--session {SESSION} --url {stand.url}", columns=40, rows=10)
        stand.begin(1)
        stand.tell({"type": "text_delta", "text": "word " * 100})
        stand.ask(**{f"argument_{i}": "x" * 30 for i in range(40)})
        self.waits(chat, lambda: "write_note wants to run" in chat.screen()
                   and "… and more" in chat.screen() and "[d]eny" in chat.screen(), "a small screen")
        self.type(chat, "d")
        self.waits(chat, lambda: stand.said("tools/deny"), "is answered")
        stand.tell({"type": "approval.resolved", "approvalId": "ap_1", "decision": "deny",
                    "decidedBy": "me"})
        stand.ask("ap_2", text="y" * 5000)
        self.waits(chat, lambda: "there is more of it" in chat.screen() and "[d]eny" in chat.screen(),
                   "arguments that are too long are said to be")
        chat.resize(100, 30)
        self.waits(chat, lambda: "[o]nce, these [e]xact arguments, [a]ny" in chat.screen(), "and larger")
        chat.close()
        stand.close()

    def test_question(self):
        stand = Stand()
        chat = self.open(f"--session {SESSION} --url {stand.url}", columns=100)
        stand.begin(1)
        soon = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 295))
        question = {"type": "clarify.request", "requestId": "clr_1", "question": "Which year?",
                    "options": ["2024", "2025"], "default": "2025", "defaultDeadlineAt": soon}
        stand.tell(question)
        self.sees(chat, "2  2025  (default)", "options are numbered")
        self.waits(chat, lambda: re.search(r"\(4:\d\d left, then the default\)", chat.screen()),
                   "time runs")
        self.type(chat, "1")
        self.waits(chat, lambda: stand.said("clarify/respond") == [
            {"requestId": "clr_1", "answer": "2024", "source": "user"}], "a number answers")
        stand.tell({"type": "clarify.resolved", "requestId": "clr_1", "source": "user"},
                   {**question, "requestId": "clr_2"})
        self.sees(chat, "Which year?: answered", "it is settled")
        self.waits(chat, lambda: "a number, or your own words" in chat.screen(), "another")
        chat.keys("Enter")
        self.waits(chat, lambda: stand.said("clarify/respond")[-1] == {
            "requestId": "clr_2", "answer": "2025", "source": "user"}, "Enter takes the default")
        stand.tell({"type": "clarify.resolved", "requestId": "clr_2", "source": "timeout-default"})
        self.sees(chat, "nobody answered, so the default counts", "by the clock")
        stand.tell({**question, "requestId": "clr_3"})
        self.waits(chat, lambda: "a number, or your own words" in chat.screen(), "a third")
        self.type(chat, "/cancel")
        self.waits(chat, lambda: stand.said("clarify/respond")[-1]["source"] == "cancel", "cancelled")
        chat.close()
        stand.close()

    def test_abort(self):
        """Ctrl-C aborts the turn, and the session is there all the same; twice leaves."""
        stand = Stand()
        chat = self.open(f"--session {SESSION} --url {stand.url}")
        stand.begin(1)
        stand.tell({"type": "text_delta", "text": "It goes on and on"})
        self.sees(chat, "It goes on and on", "a turn runs")
        chat.keys("C-c")
        self.waits(chat, lambda: stand.said("chat/abort") == [{"sessionId": SESSION}], "it is aborted")
        stand.tell({"type": "error", "error": "it was aborted", "code": "aborted"})
        self.sees(chat, "it was aborted", "which comes as its end")
        self.type(chat, "go on")
        self.waits(chat, lambda: stand.said("chat/send"), "and the next one can be sent")
        stand.turn(2, "Here I am.")
        self.sees(chat, "Here I am.", "and is answered")
        chat.keys("C-c")
        self.sees(chat, "press Ctrl-C again to leave", "where nothing runs it asks")
        chat.keys("C-c")
        self.count.check(chat.wait_text("status ") and chat.wait_end() and sane(chat), "and leaves",
                         chat.screen())
        chat.close()
        stand.close()

    def test_connection(self):
        """Cut in the middle: each word once."""
        stand = Stand()
        chat = self.open(f"--session {SESSION} --url {stand.url}")
        stand.begin(1)
        stand.tell({"type": "text_delta", "text": "One, "})
        self.sees(chat, "One,", "it begins")
        stand.cut()
        stand.tell({"type": "text_delta", "text": "two, "}, {"type": "text_delta", "text": "three."})
        stand.end(1, "One, two, three.")
        self.sees(chat, "One, two, three.", "it goes on")
        self.count.check(chat.screen(all_lines=True).count("One,") == 1 and stand.opened[-1] > 0,
                         "behind what was had", str(stand.opened))
        chat.close()
        stand.close()

    def test_empty(self):
        """A session in which nobody said anything goes; one that is named shows what was said."""
        stand = Stand()
        chat = self.open(f"--session --url {stand.url}")
        self.sees(chat, f"Session {SESSION}.", "it begins")
        chat.keys("C-d")
        self.count.check(chat.wait_end() and stand.said("sessions/delete") == [{"id": SESSION}],
                         "an empty session is deleted")
        chat.close()
        stand.messages = [{"id": message_id(1), "sessionId": SESSION, "role": "user",
                           "content": "what I asked", "timestamp": "2026-05-25T10:00:00.000Z"}]
        stand.turn(1, "What it said.")
        stand.turn(2, "To somebody else.")
        chat = self.open(f"--session {SESSION} --url {stand.url}")
        self.sees(chat, "To somebody else.", "what was said is shown")
        self.sees(chat, "from elsewhere: a message", "also what others have said")
        screen = chat.screen(all_lines=True)
        self.count.check(0 < screen.find("what I asked") < screen.find("What it said."),
                         "with the questions", screen)
        chat.keys("C-d")
        chat.wait_end()
        self.count.check(len(stand.said("sessions/delete")) == 1, "and stays")
        chat.close()
        stand.refusals["sessions/get"] = (404, "NOT_FOUND", "there is no such session")
        chat = self.open(f"--session {OTHER} --url {stand.url}")
        self.count.check(chat.wait_text("status 1") and f"there is no session {OTHER}" in chat.screen()
                         and chat.wait_end() and sane(chat), "an unknown one is said to be",
                         chat.screen())
        chat.close()
        stand.close()

    def test_pipe(self):
        """Nobody is there to be asked: what waits is left open, and said."""
        stand = Stand()
        for n, text in ((1, "One."), (2, "Two.")):
            stand.begin(n)
            if n == 2:
                stand.ask(path="x")
                stand.tell({"type": "approval.resolved", "approvalId": "ap_1", "decision": "deny",
                            "decidedBy": "timeout"})
            stand.tell({"type": "text_delta", "text": text})
            stand.end(n, text)
        result = self.go("chat", "--session", "--url", stand.url, data=b"first\n\nsecond\n/help\n")
        self.count.check(result.code == 0 and result.out.startswith(b"One.\nTwo.\nAnything else"),
                         "answers in order", f"{result.code} {result.out} {result.err}")
        self.count.check(f"weir: session {SESSION}" in result.err, "its name", result.err)
        self.count.check("weir session approve ap_1" in result.err and not stand.said("tools/approve")
                         and not stand.said("tools/deny"), "nothing is allowed", result.err)
        self.count.check([g.get("sessionId") for g in stand.said("chat/send")] == [None, SESSION],
                         "one session", str(stand.calls))
        self.count.check(stand.opened[-1] > 0, "which is not read from its beginning again")
        stand.begin(3)
        stand.tell({"type": "text_delta", "text": "Three."})
        stand.end(3, "Three.")
        result = self.go("chat", "--quiet", "--url", stand.url, data=f"/session {SESSION}\nx\n".encode())
        self.count.check(stand.said("chat/send")[-1].get("sessionId") == SESSION, "/session in a pipe",
                         result.err)
        stand.close()

    # ---- a real server ----

    def real(self, *options, has_data=False):
        folder = tempfile.mkdtemp(dir=self.home)
        if has_data:
            self.go("import", str(terminal.PEOPLE / "p01_daily.csv"), "--data", folder, "--quiet")
        server = Server(self.weir, folder, *options)
        env = {**self.env(), "WEIR_DATA": folder}
        return server, env

    def begin(self, env, *words):
        return self.go("session", "new", *words, env=env).out.decode().strip()

    def test_real_approval(self):
        """From one shell it is asked, from another allowed; a second answer comes too late."""
        server, env = self.real()
        session = self.begin(env, "remember that I run on Sundays")
        watch = Watch(self.weir, env, session)
        asked = watch.wait("tool.approval_required")
        ident = asked["request"]["approvalId"] if asked else "ap_none"
        result = self.go("session", "approve", ident, env=env)
        self.count.check(result.code == 0, "allowed", result.err)
        self.count.check(watch.wait("done") is not None and watch.of("tool_end")[0]["ok"],
                         "and done", str(watch.events))
        result = self.go("session", "deny", ident, env=env)
        self.count.check(result.code == 1 and result.err.startswith("weir: "), "too late", result.err)
        self.count.check("Sundays" in self.go("memory", env=env).out.decode(), "it is remembered")
        shown = self.go("session", "show", session, env=env).out.decode()
        self.count.check("you, just now:\nremember that I run on Sundays" in shown, "shown", shown)
        watch.close()
        server.close()

    def test_real_deny(self):
        server, env = self.real()
        session = self.begin(env, "write a note called list: milk")
        watch = Watch(self.weir, env, session)
        asked = watch.wait("tool.approval_required")
        ident = asked["request"]["approvalId"] if asked else "ap_none"
        result = self.go("session", "deny", ident, "--reason", "not now", env=env)
        self.count.check(result.code == 0 and watch.wait("done"), "denied", result.err)
        self.count.check(watch.of("approval.resolved")[0]["decision"] == "deny"
                         and not watch.of("tool_end")[0]["ok"], "the tool did not run")
        self.go("session", "send", session, "write a note called list: bread", env=env)
        asked = watch.wait("tool.approval_required", 2)
        result = self.go("session", "abort", session, env=env)
        self.count.check(result.code == 0 and watch.wait("error"), "aborted", str(watch.events[-3:]))
        result = self.go("session", "approve", asked["request"]["approvalId"], env=env)
        self.count.check(result.code == 1, "nothing to allow any more", result.err)
        table = self.go("session", "audit", env=env).out.decode().splitlines()
        self.count.check(len(table) == 3 and re.search(r"deny +write_note +abort +ses_", table[1])
                         and re.search(r"deny +write_note +weir-session-\d+ +ses_", table[2]),
                         "what was decided", str(table))
        lines = self.go("session", "audit", "--json", "--limit", "1", env=env).out.splitlines()
        entry = json.loads(lines[0]) if lines else {}
        self.count.check(len(lines) == 1 and entry["decider"] == "abort" and entry["session"] == session,
                         "the newest, as JSON", str(lines))
        watch.close()
        server.close()

    def test_real_question(self):
        server, env = self.real(has_data=True)
        session = self.begin(env, "what was my average heart rate in May 2025?")
        watch = Watch(self.weir, env, session)
        asked = watch.wait("clarify.request")
        self.count.check(asked is not None, "it asks", str(watch.events))
        if asked:
            answer = asked.get("options", ["x"])[0]
            result = self.go("session", "answer", asked["requestId"], answer, env=env)
            self.count.check(result.code == 0 and watch.wait("done"), "answered", result.err)
            self.count.check(watch.of("clarify.resolved")[0]["source"] == "user", "by the user")
        watch.close()
        server.close()

    def check_kill(self, env, server, name):
        session = self.begin(env, "hello")
        watch = Watch(self.weir, env, session)
        self.count.check(watch.wait("done") is not None, f"{name}: a turn", str(watch.events))
        for n in (2, 3):
            server.kill()
            self.count.check(watch.wait_for(lambda n=n: len(
                [note for note in watch.notes if "again in" in note]) >= n - 1),
                f"{name}: the loss is told", str(watch.notes))
            server.start()
            self.go("session", "send", session, "hello", env=env)
            self.count.check(watch.wait("done", n) is not None, f"{name}: it goes on", str(watch.notes))
        ids = [event["id"] for event in watch.events]
        self.count.check(ids == list(range(1, len(ids) + 1)), f"{name}: each event once", str(ids))
        self.count.check(watch.child.poll() is None, f"{name}: and it still watches")
        watch.close()

    def test_real_kill(self):
        """kill -9 of the server, twice, while a session is watched."""
        server, env = self.real()
        self.check_kill(env, server, "by the socket")
        self.check_kill({**env, "WEIR_DATA": "", "WEIR_URL": server.url}, server, "over the network")
        server.close()

    def test_real_gap(self):
        """Events that the server has let go are named."""
        server, env = self.real("--session-keep-events", "5", "--session-keep", "1s")
        session = self.begin(env, "hello")
        watch = Watch(self.weir, env, session)
        first, n, end = 0, 0, time.monotonic() + 60
        while first <= 1 and time.monotonic() < end:
            n += 1
            watch.wait("done", n)
            again = Watch(self.weir, env, session)
            again.wait_for(lambda: again.events)
            first = again.events[0]["id"] if again.events else 0
            again.close()
            if first > 1:
                again.wait_for(lambda: "no longer kept" in "".join(again.notes))
                self.count.check(f"events 1 to {first - 1} are no longer kept; the stream starts at "
                                 f"{first}" in "".join(again.notes), "the gap is told", str(again.notes))
            else:
                self.go("session", "send", session, "hello", env=env)
        self.count.check(first > 1, "old events go", str(first))
        watch.close()
        server.close()

    def test_real_chat(self):
        """At a terminal, without a server that runs: this program has one."""
        folder = tempfile.mkdtemp(dir=self.home)
        self.go("import", str(terminal.PEOPLE / "p01_daily.csv"), "--data", folder, "--quiet")
        chat = self.open(f"--data {folder}", columns=100, rows=30)
        self.sees(chat, "In a /session it may act", "it says so")
        self.type(chat, "/session")
        self.sees(chat, "Session ses_", "/session begins one")
        self.type(chat, "remember that I run on Sundays")
        self.sees(chat, "remember wants to run", "a prompt")
        self.sees(chat, "text: I run on Sundays", "with what it is about")
        self.type(chat, "o")
        self.waits(chat, lambda: "wants to run" not in chat.screen()
                   and "allowed by weir-" in chat.screen(), "is answered")
        self.waits(chat, lambda: re.search(r"\d s.*builtin", chat.screen()), "and the turn ends")
        self.type(chat, "what was my average heart rate in May 2025?")
        self.waits(chat, lambda: "a number, or your own words" in chat.screen(), "a question")
        self.type(chat, "1")
        self.waits(chat, lambda: "a number, or your own words" not in chat.screen(), "answered")
        chat.keys("C-d")
        self.count.check(chat.wait_text("status 0") and chat.wait_end() and sane(chat), "it leaves",
                         chat.screen())
        chat.close()

    def test_real_chat_kill(self):
        """The server is killed; the next message finds another one, of this program."""
        server, env = self.real()
        chat = self.open(f"--session --data {env['WEIR_DATA']}", columns=100, rows=30)
        self.sees(chat, "Session ses_", "it begins")
        self.type(chat, "hello")
        self.waits(chat, lambda: chat.screen().count("builtin") == 1, "a turn")
        server.kill()
        self.sees(chat, "reconnecting", "the loss is told")
        self.type(chat, "hello again")
        self.waits(chat, lambda: chat.screen().count("builtin") == 2, "and it goes on")
        self.count.check(chat.screen().count("› hello again") == 1, "what was said is said once",
                         chat.screen())
        chat.keys("C-d")
        self.count.check(chat.wait_text("status 0") and chat.wait_end() and sane(chat), "it leaves",
                         chat.screen())
        chat.close()

    def test_real_prompt_kill(self):
        """A prompt outlives the server: what is allowed after another start is done, once."""
        server, env = self.real()
        chat = self.open(f"--session --data {env['WEIR_DATA']}", columns=100, rows=30)
        self.sees(chat, "Session ses_", "it begins")
        self.type(chat, "remember that I run on Sundays")
        self.sees(chat, "remember wants to run", "a prompt")
        server.kill()
        self.sees(chat, "reconnecting", "the loss is told")
        self.count.check("remember wants to run" in chat.screen(), "the prompt stays")
        server.start()
        self.waits(chat, lambda: "reconnecting" not in chat.screen(), "there is a server again")
        self.type(chat, "o")
        self.waits(chat, lambda: re.search(r"\d s.*builtin", chat.screen())
                   and "wants to run" not in chat.screen(), "it is done")
        self.count.check(chat.screen().count("✓ remember") == 1, "once", chat.screen())
        self.count.check(self.go("memory", env=env).out.decode().count("Sundays") == 1, "remembered")
        chat.close()
        server.close()

    def test_real_two(self):
        """Two at a time in one session: both see all of it; one leaves, and the other goes on."""
        server, env = self.real()
        session = self.begin(env, "--title", "Two")
        chats = [self.open(f"--session {session} --data {env['WEIR_DATA']}", columns=100)
                 for _ in range(2)]
        for chat in chats:
            self.sees(chat, "Session ses_", "it begins")
        self.type(chats[0], "hello")
        for chat in chats:
            self.waits(chat, lambda chat=chat: "builtin" in chat.screen(), "both see the turn")
        self.sees(chats[1], "from elsewhere: hello", "which one has not sent")
        chats[0].keys("C-d")
        chats[0].wait_end()
        self.type(chats[1], "hello again")
        self.waits(chats[1], lambda: chats[1].screen().count("builtin") == 2, "one goes on alone")
        for chat in chats:
            chat.close()
        server.close()

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)


def main():
    weir = program()
    count = Counter()
    if not shutil.which("tmux"):
        count.skip("tmux is not there")
        return count.finish()
    tests = Tests(weir, count)
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for name in [name for name in dir(tests) if name.startswith("test_") and name in vars(Tests)]:
        if wanted in name:
            getattr(tests, name)()
    tests.close()
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
