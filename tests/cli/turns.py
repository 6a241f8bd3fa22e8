#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/turns.py [WEIR]

`weir turns` and `weir memory` from outside: alone, with a server on the folder, and over the network.
"""
import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request

from support import ROOT, Counter, program, run

PEOPLE = ROOT / "tests/data/people"
QUESTIONS = ["what was my average weight in May 2025?", "I want to sleep 8 hours",
             "what was my average resting heart rate in March 2025?"]


class Tests:
    def __init__(self, weir, folder, count):
        self.weir, self.folder, self.count = weir, folder, count
        self.options = ["--data", folder]
        self.env = {"XDG_CONFIG_HOME": folder + "/none", "WEIR_URL": "", "WEIR_KEY": "", "WEIR_DATA": ""}

    def run(self, *arguments):
        return run(self.weir, *arguments, *self.options, env=self.env)

    def lines(self, *arguments):
        return [json.loads(line) for line in self.run(*arguments, "--json").out.splitlines()]

    def check_turns(self, where):
        turns = self.lines("turns")
        asked = [turn["messages"][-1]["content"] for turn in turns]
        self.count.check(asked == QUESTIONS[::-1], f"{where}: the newest first", str(asked))
        table = self.run("turns", "--limit", "2")
        rows = table.out.decode().splitlines()
        self.count.check(table.code == 0 and len(rows) == 3 and rows[0].startswith("turn ")
                         and rows[2].startswith(turns[1]["id"]) and rows[2].endswith(QUESTIONS[1])
                         and "completed" in rows[2], f"{where}: a row each", table.out.decode())
        self.count.check(self.lines("turns", "--status", "failed") == [], f"{where}: by status")
        shown = self.run("turns", "show", turns[0]["id"])
        sheet = [entry["claim"] for entry in turns[0]["result"]["fact_sheet"]]
        self.count.check(shown.code == 0 and all(claim.encode() in shown.out for claim in sheet)
                         and turns[0]["result"]["answer"].encode() in shown.out,
                         f"{where}: one with its answer and facts", shown.out.decode())
        self.count.check(self.lines("turns", "show", turns[0]["id"])[0]["id"] == turns[0]["id"],
                         f"{where}: one as JSON")
        gone = self.run("turns", "show", "turn_" + "0" * 26)
        self.count.check(gone.code == 1 and gone.err, f"{where}: one that is not there", gone.err)
        late = self.run("turns", "cancel", turns[0]["id"])
        self.count.check(late.code == 1 and "ended" in late.err, f"{where}: too late to cancel", late.err)

    def check_memory(self, where):
        """Leaves nothing in it."""
        entries = self.lines("memory")
        self.count.check([e["text"] for e in entries if e["category"] == "goal"]
                         == ["Wants to sleep 8 hours"], f"{where}: it is remembered", str(entries))
        goal = entries[[e["category"] for e in entries].index("goal")]["id"]
        table = self.run("memory", "list", "--category", "goal")
        self.count.check(table.code == 0 and goal.encode() in table.out and b"Wants to" in table.out,
                         f"{where}: as a table", table.out.decode())
        shown = self.run("memory", "show", goal)
        self.count.check(shown.code == 0 and goal.encode() in shown.out, f"{where}: one entry", shown.err)
        forgot = self.run("memory", "forget", goal, goal)
        self.count.check(forgot.code == 1 and b"1 entry forgotten" in forgot.out and forgot.err,
                         f"{where}: forgotten once", forgot.err)
        self.count.check(self.run("memory", "clear").code == 2, f"{where}: clear wants to be sure")
        clear = self.run("memory", "clear", "--yes", "--json")
        self.count.check(clear.code == 0 and json.loads(clear.out) == {"forgotten": len(entries) - 1},
                         f"{where}: all is forgotten", clear.out.decode())
        self.count.check(self.run("memory").out == b"Nothing is remembered.\n", f"{where}: nothing left")

    def check_usage(self):
        for arguments in (["turns", "nap"], ["turns", "show"], ["turns", "show", "a/b"],
                          ["turns", "--limit", "0"], ["turns", "--status", "tired"],
                          ["turns", "--user", "a b"], ["memory", "show"], ["memory", "forget"],
                          ["memory", "forget", "../x"], ["memory", "list", "x"],
                          ["memory", "--category", "x"], ["memory", "clear", "x", "--yes"]):
            result = self.run(*arguments)
            self.count.check(result.code == 2 and "--help" in result.err, f"usage of {arguments}")


def post_memory(url, key, category, text):
    body = json.dumps({"category": category, "text": text}).encode()
    request = urllib.request.Request(url + "/v1/memory", body, {
        "Authorization": "Bearer " + key, "Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=60).read()


def check_network(tests, url):
    tests.check_turns("with a server")
    key = tests.run("key", "create").out.decode().strip()
    tests.options = ["--url", url]
    tests.env["WEIR_KEY"] = key
    tests.check_turns("over the network")
    for i in range(110):
        post_memory(url, key, "insight", f"insight {i}")
    texts = [entry["text"] for entry in tests.lines("memory", "--category", "insight")]
    tests.count.check(texts == [f"insight {i}" for i in reversed(range(110))], "all pages are read",
                      str(len(texts)))
    post_memory(url, key, "goal", "Wants to sleep 8 hours")
    tests.check_memory("over the network")
    tests.env["WEIR_KEY"] = key + "x"
    wrong = tests.run("turns")
    tests.count.check(wrong.code == 1 and "WEIR_KEY" in wrong.err, "a wrong key", wrong.err)


class Lists(http.server.BaseHTTPRequestHandler):
    """A server of lists whose pages are those of `page`, by the number of their cursor."""

    def do_GET(self):
        found = re.search(r"cursor=c(\d+)", self.path)
        body = json.dumps(self.server.page(int(found.group(1)) if found else 0)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def check_circles(weir, count):
    """Lists that have no end are given up, and long ones with empty pages are not."""
    def page(n, members, following):
        return {"data": [{"id": f"x{n}"}] * members,
                "next_cursor": None if following is None else f"c{following}"}

    with http.server.HTTPServer(("127.0.0.1", 0), Lists) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, pages, code in (
                ("the same page, empty", lambda n: page(n, 0, 7), 1),
                ("the same page", lambda n: page(n, 1, 7), 1),
                ("a circle", lambda n: page(n, 1, 5 + (n - 4) % 7), 1),
                ("empty pages for ever", lambda n: page(n, 0, n + 1), 1),
                ("a few empty pages", lambda n: page(n, n == 20, n + 1 if n < 20 else None), 0)):
            server.page = pages
            for command in ("turns", "memory", "documents"):
                result = run(weir, command, "--json", "--url",
                             f"http://127.0.0.1:{server.server_port}")
                said = "no end" in result.err if code else len(result.out.splitlines()) == 1
                count.check(result.code == code and said, f"{name}: {command}",
                            f"{result.code} {result.out[:200]} {result.err}")
        server.shutdown()


def main():
    weir = program()
    count = Counter()
    check_circles(weir, count)
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(weir, folder, count)
        imported = run(weir, "import", str(PEOPLE / "p01_daily.csv"), "--data", folder, "--quiet")
        count.check(imported.code == 0, "a person is imported", imported.err)
        for question in QUESTIONS:
            tests.run("ask", question, "--quiet")
        tests.check_usage()
        tests.check_turns("alone")
        tests.check_memory("alone")
        with subprocess.Popen([weir, "serve", "--listen", "127.0.0.1:0", "--data", folder],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
            try:
                said = server.stdout.readline().decode()
                check_network(tests, "http://" + said.split("http://")[1].split()[0].rstrip("/"))
            finally:
                server.terminate()
    return count.finish()


sys.exit(main())
