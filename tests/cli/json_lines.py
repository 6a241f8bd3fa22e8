#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/json_lines.py [WEIR]

--json of every command, each at work: whatever it prints on standard output is JSON, a value on
each line, and nothing else. A command that is not walked here fails the test.
"""
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

from support import ROOT, Counter, program, run

PEOPLE = ROOT / "tests/data/people"
ALWAYS = {"decode", "gate", "stat", "serve"}
QUESTION = "what was my average resting heart rate in the last 30 days?"
SSE = b'id: 1\nevent: turn.started\ndata: {"turn_id":"turn_1","at":"2026-01-01T00:00:00Z"}\n\n'
HIDDEN = "[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
LOOSE = {"id": "x", "same": True, "big": 12345678901234567890, "text": "a\u009b31m\u202egnp\u200b\u2066é\u00a0…",
         "data": [{"id": "x\u0085\u007f\u2028", "big": 12345678901234567890}], "next_cursor": None}
LEDGER = [{"claim": "a", "value": 62, "unit": "bpm"}]


class Walk:
    def __init__(self, weir, root, count):
        self.weir, self.count, self.seen = weir, count, set()
        self.root, self.data = root, os.path.join(root, "data")
        self.env = {"HOME": root, "WEIR_DATA": self.data, "XDG_CONFIG_HOME": "",
                    "XDG_DATA_HOME": "", "XDG_STATE_HOME": "", "WEIR_URL": "", "WEIR_KEY": "",
                    "WEIR_PROFILE": ""}

    def file(self, name, data):
        path = os.path.join(self.root, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def go(self, *words, data=b"", codes=(0,), env=None, n_lines=1):
        """Runs it with --json; the values of its lines."""
        self.seen.add(words[0])
        result = run(self.weir, *words, "--json", data=data, env={**self.env, **(env or {})})
        values = []
        for line in result.out.decode().splitlines():
            try:
                values.append(json.loads(line))
            except ValueError:
                values = None
                break
        self.count.check(result.code in codes and values is not None and len(values) >= n_lines,
                         f"weir {' '.join(words)}", f"{result.code} {result.out[:300]} {result.err}")
        return values or [{}]


def walk_data(w):
    w.go("import", *[str(PEOPLE / f"p01_{name}.csv") for name in ("daily", "labs")])
    w.go("series")
    w.go("series", "steps", "--last", "5", n_lines=5)
    w.go("plan", QUESTION)
    w.go("search")


def walk_turns(w):
    events = w.go("ask", QUESTION, n_lines=5)
    turn = events[0]["data"].get("turn_id", "")
    w.count.check(re.fullmatch("turn_[0-9A-Z]{26}", turn) is not None, "a turn was made", events[0])
    w.go("chat", data=QUESTION.encode() + b"\n", n_lines=5)
    w.go("watch", "turn", turn, n_lines=5)
    w.go("watch", w.file("a.sse", SSE), codes=(3,))
    w.go("trace", turn)
    w.go("replay", turn)
    w.go("turns", n_lines=2)
    w.go("turns", "show", turn)
    w.go("memory", n_lines=0)


def walk_sessions(w):
    session = w.go("session", "new", "--title", "Sundays")[0].get("session", {}).get("id", "")
    w.count.check(re.fullmatch("ses_[0-9A-Z]{26}", session) is not None, "a session was made", session)
    w.go("session", "list")
    for words in (("show",), ("fork",), ("rename", "x"), ("pin",), ("unpin",), ("abort",)):
        w.go("session", words[0], session, *words[1:])
    w.go("session", "steer", session, "x", codes=(1,))
    w.go("session", "send", session, "remember that I run on Sundays")
    w.go("session", "approve", "ap_nothing", codes=(1,), n_lines=0)
    w.go("session", "delete", session)


def walk_server(w):
    key = w.go("key", "create", "--scopes", "read,write,admin")[0]
    w.go("key", "list")
    w.go("link", "create", "demo")
    w.go("link", "rotate")
    w.go("store", "check")
    w.go("store", "backup", os.path.join(w.root, "copy.db"))
    w.go("whoami")
    w.go("doctor", n_lines=5)
    w.go("completion", n_lines=20)
    server = subprocess.Popen([w.weir, "serve", "--data", w.data, "--listen", "127.0.0.1:0"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    try:
        url = server.stdout.readline().decode().split()[-1]
        w.go("login", url, data=key["key"].encode() + b"\n")
        far = {"WEIR_DATA": ""}
        for words in (("whoami",), ("doctor",), ("turns",), ("key", "list"), ("ask", QUESTION)):
            w.go(*words, env=far)
        w.go("key", "revoke", key["name"], env=far)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def walk_texts(w):
    ledger = w.file("ledger.json", json.dumps(LEDGER).encode())
    w.go("verify", "--ledger", ledger, data=b"About 62 bpm.\n")
    w.go("documents", "add", w.file("a.md", b"# Insurance\n\nTwelve visits are paid.\n"))
    w.go("documents")
    w.go("documents", "search", "visits")
    w.go("shield", "scan", data=b"Write to alice@example.org\n")


def walk_clock(w):
    job = w.go("cron", "add", "@daily", "How did I sleep?")[0]["job"]
    w.go("cron")
    w.go("cron", "remove", job["id"])
    w.go("skills", n_lines=0)
    w.go("skills", "reject", "skl_x", codes=(1,))


class Loose(http.server.BaseHTTPRequestHandler):
    """Answers everything with JSON of many lines, and characters that nobody sees in it."""

    def answer(self):
        body = json.dumps(LOOSE, indent=2, ensure_ascii=False).encode()
        self.send_response(202 if self.command == "POST" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def walk_loose(w):
    """One value is one line, however the server writes it, and harmless where it is looked at."""
    with http.server.HTTPServer(("127.0.0.1", 0), Loose) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for words in (("trace", "x"), ("turns", "show", "x"), ("turns", "cancel", "x"),
                      ("memory", "show", "x"), ("documents", "show", "x"), ("turns",), ("replay", "x")):
            result = run(w.weir, *words, "--json", "--url", f"http://127.0.0.1:{server.server_port}",
                         env={**w.env, "WEIR_DATA": ""})
            text = result.out.decode()
            value = json.loads(text) if text.count("\n") == 1 else None
            w.count.check(value == (LOOSE["data"][0] if words == ("turns",) else LOOSE)
                          and "12345678901234567890" in text, f"one line: {words}", text + result.err)
            w.count.check(not re.search(HIDDEN, text), f"nothing hidden: {words}", ascii(text))
        server.shutdown()
    sse = "data: " + json.dumps(LOOSE, ensure_ascii=False) + "\n\n"
    seen = run(w.weir, "watch", "-", "--json", data=sse.encode()).out.decode()
    w.count.check(json.loads(seen)["data"] == LOOSE and not re.search(HIDDEN, seen), "weir watch", seen)


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as root:
        w = Walk(weir, root, count)
        for walk in (walk_data, walk_turns, walk_sessions, walk_server, walk_texts, walk_clock, walk_loose):
            walk(w)
        names = {value["command"] for value in w.go("completion", n_lines=20)}
    count.check(names == w.seen | ALWAYS, "every command was walked", names ^ (w.seen | ALWAYS))
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
