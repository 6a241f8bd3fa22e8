#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/chat.py [WEIR [NAME]]

`weir chat` at terminals and in pipes. Screens are compared with the texts in tests/cli/terminal, as
terminal.py does (WEIR_GOLDEN=write writes them anew). A server that says what the test tells it to
stands in for a real one where it matters what comes when; it also shows that the network will do.
"""
import http.server
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

import terminal
from support import Counter, program, run
from terminal import PEOPLE, Terminal, Turn, sane
from watch import CANCEL_S, Own

TURN = "turn_01HX2K3M4N5P6Q7R8S9T0V1W2X"
QUESTION = "what was my average weight in May 2025?"
ANSWER = ("It fell by **about 4.7 bpm** from 5 February 2024 to 14 August 2025, which is `0.059 bpm` "
          "a week.\n\nDone.")
SHEET = [{"claim": "ds-001.avg", "value": 61.8, "unit": "bpm", "source": "data_science", "n": 87,
          "window": "2025-01-01 .. 2025-03-31"}]

STORED = {
    "/v1/memory": {"next_cursor": None, "data": [
        {"id": "mem_01HX2K3M4N5P6Q7R8S9T0V1W2X", "category": "goal", "text": "Wants to sleep 8 hours"}]},
    "/v1/turns": {"next_cursor": None, "data": [
        {"id": TURN, "status": "completed", "created_at": "2026-05-25T10:00:00.000Z",
         "messages": [{"role": "user", "content": "is it\x1b[31m going down, or is it not?"}],
         "result": {"duration_ms": 1234, "cost_usd": 0.0012}}]},
    f"/v1/turns/{TURN}/trace": {
        "turn_id": TURN, "status": "completed", "created_at": "2026-05-25T10:00:00.000Z",
        "completed_at": "2026-05-25T10:00:02.000Z", "steps": [
            {"name": "route", "started_at": "2026-05-25T10:00:00.000Z",
             "ended_at": "2026-05-25T10:00:01.000Z", "attempts": 2, "cost_usd": 0.0012},
            {"name": "synthesis", "started_at": "2026-05-25T10:00:01.000Z",
             "ended_at": "2026-05-25T10:00:02.000Z", "attempts": 1, "cost_usd": 0}],
        "agents": [{"agent": "data_science", "summary": "A trend."}]},
}


class Story(Turn):
    """The events of a turn, in parts."""

    def end(self, answer=ANSWER):
        return self.event("turn.completed", turn_id=TURN, result={
            "answer": answer, "fact_sheet": SHEET, "agents_used": ["data_science"],
            "cost_usd": 0.0012, "duration_ms": 1234})

    def cancelled(self):
        return self.event("turn.failed", turn_id=TURN, error={
            "code": "cancelled", "message": "it was cancelled"})

    def whole(self, answer=ANSWER):
        return self.start() + self.work() + self.say(answer) + self.end(answer)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.posts.append((self.path, body, time.monotonic()))
        if self.path.endswith("/cancel"):
            if self.server.is_mute:
                self.server.over.wait(60)
            elif self.server.last:
                self.server.tell(self.server.last, is_end=True)
            self.answer(202, {"id": TURN})
            return
        if self.server.is_hung:
            self.server.over.wait(60)
            return
        status, error = self.server.refusal or (201, None)
        self.answer(status, error or {"id": TURN, "status": "queued"})

    def do_DELETE(self):
        self.send_response(204)
        self.end_headers()

    def do_GET(self):
        if not self.path.endswith("/events"):
            found = STORED.get(self.path.partition("?")[0])
            self.answer(200 if found else 404, found or {
                "error": {"code": "turn_not_found", "message": "there is no such turn"}})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        while True:
            piece = self.server.pieces.get()
            if piece is None:
                break
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True


class Stand(http.server.ThreadingHTTPServer):
    """A server whose turns the test tells."""

    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients may leave

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.posts, self.pieces, self.refusal = [], queue.Queue(), None
        self.is_hung, self.over = False, threading.Event()
        self.is_mute = False  # cancellations are never answered
        self.last = b""  # what a cancelled turn says
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def tell(self, piece, is_end=False):
        self.pieces.put(piece)
        if is_end:
            self.pieces.put(None)

    def questions(self):
        return [json.loads(body)["messages"] for path, body, _ in self.posts if path == "/v1/turns"]

    def cancels(self):
        return [at for path, _, at in self.posts if path.endswith("/cancel")]

    def wait_cancels(self):
        deadline = time.monotonic() + terminal.PATIENCE_S
        while not self.cancels() and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.cancels()

    def close(self):
        self.over.set()
        self.shutdown()
        self.server_close()


class Tests(terminal.Tests):
    def __init__(self, weir, count):
        super().__init__(weir, count)
        self.home = tempfile.mkdtemp()

    def open(self, arguments, columns=80, rows=24, env=None, home=None, before=""):
        home = home or tempfile.mkdtemp(dir=self.home)
        env = {"XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home, "WEIR_URL": "", "WEIR_KEY": "",
               "WEIR_DATA": "", **(env or {})}
        return Terminal(self.weir, columns, rows, env, f"{before}$WEIR chat {arguments}")

    def golden(self, terminal_, name, all_lines=True):
        super().golden(terminal_, "chat_" + name, all_lines)

    def prompt(self, chat):
        """Whether it waits for a line."""
        return chat.wait(lambda: chat.screen().rstrip().endswith("›"))

    def cursor(self, chat):
        return chat.tmux("display-message", "-p", "#{cursor_x} #{cursor_y} #{cursor_flag}").split()

    def say(self, chat, line, mark):
        chat.keys("-l", line)
        chat.keys("Enter")
        self.count.check(chat.wait_text(mark) and self.prompt(chat), f"{line}: {mark}",
                         chat.screen(all_lines=True))

    # ---- a real server inside ----

    def test_real(self):
        """From the greeting to the end; later questions lean on earlier ones."""
        with tempfile.TemporaryDirectory() as folder:
            run(self.weir, "import", str(PEOPLE / "p01_daily.csv"), "--data", folder, "--quiet")
            chat = self.open(f"--data {folder}", columns=100, rows=30)
            self.count.check(chat.wait_text("Ask about your data.") and self.prompt(chat), "it greets")
            for line, mark in ((QUESTION, "turn_"), ("and in April 2025?", "in April 2025 ("),
                               ("/facts", "ds-001.avg"), ("I want to sleep 8 hours", "I will remember"),
                               ("/memory", "mem_"), ("/turns", "took"), ("/trace", "memory_extraction")):
                self.say(chat, line, mark)
            chat.keys("C-d")
            self.count.check(chat.wait_text("status 0") and chat.wait_end() and sane(chat),
                             "Ctrl-D leaves a sane terminal")
            chat.close()
            self.check_lines(folder)
            chat = self.open(f"--data {folder}")
            self.prompt(chat)
            os.kill(chat.child(), signal.SIGTERM)
            self.count.check(chat.wait_text(f"status {128 + signal.SIGTERM}") and sane(chat),
                             "a signal comes through to a chat with a server in it", chat.screen())
            chat.close()
            self.check_two(folder)
            self.check_plain_signals(folder)

    def check_two(self, folder):
        """When the chat leaves in which the server is, the other one has a server of its own."""
        first = self.open(f"--data {folder}")
        self.prompt(first)
        second = self.open(f"--data {folder}")
        self.prompt(second)
        self.say(second, "/turns", "took")
        first.keys("C-d")
        self.count.check(first.wait_end(), "the first leaves")
        self.say(second, QUESTION, "/trace shows every step")
        second.keys("C-d")
        self.count.check(second.wait_text("status 0") and sane(second), "and the second, later")
        first.close()
        second.close()

    def check_plain_signals(self, folder):
        """A chat that waits for a line, with a server inside; and one without descriptors."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with subprocess.Popen([self.weir, "chat", "--quiet", "--data", folder],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
                                  ) as child:
                child.stdin.write(b"hi\n")
                child.stdin.flush()
                self.count.check(child.stdout.readline(), "it answers")
                child.send_signal(number)
                try:
                    code = child.wait(terminal.PATIENCE_S)
                except subprocess.TimeoutExpired:
                    code = "none"
                    child.kill()
                self.count.check(code == -number, f"{number.name} ends a chat in a pipe", str(code))
        closed = subprocess.run(["bash", "-c", '"$0" turns --data "$1" <&- >&- 2>&-', self.weir, folder],
                                check=False)
        self.count.check(closed.returncode == 1, "nobody could read it", str(closed.returncode))

    def check_lines(self, folder):
        """Without a terminal: a question a line."""
        lines = f"{QUESTION}\n\n/facts\nand in April 2025?\n".encode()
        env = {"XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
        piped = run(self.weir, "chat", "--quiet", "--data", folder, data=lines, env=env)
        self.count.check(piped.code == 0 and b"in May 2025" in piped.out and b"ds-001.avg" in piped.out
                         and b"in April 2025" in piped.out and not piped.err and b"\x1b" not in piped.out,
                         "a pipe gets plain answers", piped.out.decode() + piped.err)
        loud = run(self.weir, "chat", "--data", folder, data=lines[:-1], env=env)
        self.count.check(loud.code == 0 and "> data_science:" in loud.err, "who works is told apart",
                         loud.err)
        said = run(self.weir, "chat", "--json", "--data", folder, data=lines, env=env).out.splitlines()
        kinds = [json.loads(line)["event"] for line in said]
        self.count.check(kinds.count("turn.completed") == 2 and kinds.count("chat.text") == 1,
                         "--json is one event a line", str(kinds))
        last = run(self.weir, "chat", "--data", folder, data=b"/facts\n/quit\nx", env=env)
        self.count.check(last.code == 1 and not last.out and "no answer yet" in last.err, "the status is the last one's")
        none = run(self.weir, "chat", "--data", folder, data=b"", env=env)
        self.count.check(none.code == 0 and not none.out, "nothing asked, nothing said")
        unknown = run(self.weir, "chat", "--data", folder, data=b"hi\n/what\n", env=env)
        self.count.check(unknown.code == 0 and "no /what" in unknown.err,
                         "what is no command decides nothing", str(unknown.code) + unknown.err)
        for words in (["ask", ""], ["ask", " ", "\n"], ["ask", "q", "--quiet", "--json"], ["watch", "turn"],
                      ["watch", "\x1b[31m", "x"], ["\x1b[31m"], ["ask", "--\x1b]0;x\x07"]):
            wrong = run(self.weir, *words, env=env)
            self.count.check(wrong.code == 2 and "--help" in wrong.err and "\x1b" not in wrong.err,
                             f"usage of {words}", str(wrong.code) + wrong.err)
        for words in (["watch", "\x1b]0;x\x07\x9b31m"], ["turns", "--data", "/\x1b[2J\x7f"]):
            evil = run(self.weir, *words, env=env)
            self.count.check(evil.code == 1 and evil.err and not set("\x1b\x07\x7f\x9b") & set(evil.err),
                             f"names of files are harmless: {words}", evil.err)
        for arguments in (["x"], ["--user", "a b"], ["--what"], ["--quiet", "--json"]):
            wrong = run(self.weir, "chat", *arguments, "--data", folder, env=env)
            self.count.check(wrong.code == 2 and "--help" in wrong.err, f"usage of {arguments}")

    # ---- a server that is told what to say ----

    def test_screens(self):
        """Three turns and all commands, on two sizes."""
        for name, columns, rows in (("80x24", 80, 24), ("40x10", 40, 10)):
            stand = Stand()
            chat = self.open(f"--url {stand.url}", columns, rows)
            self.prompt(chat)
            for i in (1, 2, 3):
                stand.tell(Story().whole(f"{ANSWER} {i}."), is_end=True)
                self.say(chat, f"question {i}, which is it?", f"Done. {i}.")
            for line, mark in (("/facts", "61.80"), ("/memory", "mem_01"), ("/turns", "going down"),
                               ("/trace", "A trend"), ("/memory forget mem_1", "forgotten"),
                               ("/new", "A new"),
                               ("/trase", "There is no /trase"), ("/memory x", "not how"),
                               ("/help", "this list")):
                self.say(chat, line, mark)
            self.golden(chat, name)
            self.say(chat, "/trace turn_x", "there is no")
            chat.keys("-l", "/quit")
            chat.keys("Enter")
            self.count.check(chat.wait_text("status 0") and sane(chat), "/quit leaves a sane terminal")
            chat.close()
            stand.close()

    def test_draft(self):
        """What is typed while an answer comes is kept, over a resize, too."""
        stand, story = Stand(), Story()
        chat = self.open(f"--url {stand.url}")
        self.prompt(chat)
        chat.keys("-l", "first?")
        chat.keys("Enter")
        stand.tell(story.start() + story.work() + story.say(ANSWER[:60]))
        self.count.check(chat.wait_text("It fell by"), "it is watched", chat.screen())
        chat.keys("-l", "and 漢字 then? 🙂 more")
        chat.keys("Left", "Left", "Left", "Left", "Left", "Left")
        self.golden(chat, "draft", all_lines=False)
        chat.keys("Enter")
        self.count.check(chat.wait_text("Enter sends this when the answer is there"), "Enter waits")
        chat.resize(40, 12)
        self.golden(chat, "draft_narrow", all_lines=False)
        chat.resize(80, 24)
        self.count.check(chat.wait_text("when the answer is there"), "it is wide again", chat.screen())
        stand.tell(story.say(ANSWER[60:]) + story.end(), is_end=True)
        self.count.check(chat.wait_text("/trace shows every step"), "it ends", chat.screen())
        self.golden(chat, "draft_end", all_lines=False)
        self.count.check(self.cursor(chat)[0::2] == ["17", "1"], "the cursor is where it was",
                         str(self.cursor(chat)))
        chat.keys("-l", "X")
        chat.keys("Enter")
        stand.tell(Story().whole("Second."), is_end=True)
        self.count.check(chat.wait_text("Second."), "it goes on", chat.screen())
        said = [(m["role"], m["content"]) for m in stand.questions()[-1]]
        self.count.check(said == [("user", "first?"), ("assistant", ANSWER),
                                  ("user", "and 漢字 then? X🙂 more")], "what was said goes along", str(said))
        chat.close()
        stand.close()

    def test_cancel(self):
        """Escape twice cancels the turn, not the chat, and not what is typed."""
        stand, story = Stand(), Story()
        home = tempfile.mkdtemp(dir=self.home)
        chat = self.open(f"--url {stand.url} --no-keep", home=home)
        self.prompt(chat)
        chat.keys("-l", "first?")
        chat.keys("Enter")
        stand.tell(story.start() + story.think("coach", "hm"))
        self.count.check(chat.wait_text("hm"), "it runs")
        chat.keys("-l", "my draft")
        chat.keys("Escape")
        self.count.check(chat.wait_ever("press Esc again to cancel"), "Escape asks")
        chat.keys("Left")
        self.count.check(chat.wait(lambda: "press Esc" not in chat.screen()), "an arrow clears it")
        began = time.monotonic()
        chat.keys("Escape", "Escape")
        self.count.check(chat.wait(stand.cancels), "the turn is cancelled")
        print(f"cancelled {1000 * (stand.cancels()[0] - began):.0f} ms after the keys were sent")
        self.golden(chat, "cancelled", all_lines=False)  # though the server says no more of it
        stand.tell(None)
        self.count.check(chat.wait(stand.pieces.empty), "the stream that was left ends")
        chat.keys("Enter")
        stand.tell(Story().whole("Answered."), is_end=True)
        self.count.check(chat.wait_text("Answered."), "the chat goes on")
        self.count.check([m["content"] for m in stand.questions()[-1]] == ["my draft"],
                         "what was cancelled does not go along", str(stand.questions()[-1]))
        self.cancel_by_interrupt(stand, chat)
        self.count.check(not os.listdir(home), "--no-keep leaves nothing here", str(os.listdir(home)))
        chat.close()
        stand.close()

    def cancel_by_interrupt(self, stand, chat):
        story = Story()
        self.prompt(chat)
        chat.keys("-l", "again?")
        chat.keys("Enter")
        stand.tell(story.start())
        self.count.check(chat.wait(lambda: re.search(r"data_science +is my", chat.screen())), "it runs",
                         chat.screen())
        chat.keys("C-c")
        self.count.check(chat.wait(lambda: len(stand.cancels()) == 2), "Ctrl-C cancels")
        stand.tell(None)
        self.count.check(chat.wait_text("press Ctrl-C again to leave"), "and says what the next one does",
                         chat.screen())
        chat.keys("-l", "x")
        self.count.check(chat.wait(lambda: "Ctrl-C again" not in chat.screen()), "another key clears it")
        chat.keys("C-c", "C-c")
        self.count.check(chat.wait_text("status 0") and chat.wait_end() and sane(chat),
                         "Ctrl-C twice leaves", chat.screen())

    def test_cancel_states(self):
        """The second Escape gives the prompt, or the end, at once, whatever the server does."""
        for command in ("chat", "ask"):
            for state in ("is told", "says nothing", "is mute", "is gone", "ends every stream"):
                best = 9.9
                for _ in range(3):
                    best = min(best, self.cancel_once(command, state))
                    if best <= CANCEL_S:
                        break
                self.count.check(best <= CANCEL_S, f"{command}: cancelled when the server {state}",
                                 f"{best * 1000:.0f} ms")

    def test_ask_is_cancelled_before_it_is_answered(self):
        """A server that takes the question and says nothing holds nobody."""
        for keys, status in ((b"\x1b", 1), (b"\x03", 1)):
            best = 9.9
            for _ in range(3):
                stand = Stand()
                stand.is_hung = True
                with Own(self.weir, "ask", "first?", "--url", stand.url) as own:
                    own.read_to(b"waiting for the server")
                    if keys == b"\x1b":
                        own.write(keys)
                        own.read_to(b"press Esc again")
                    began = time.monotonic()
                    own.write(keys)
                    if b"cancelled" in own.read_to(b"cancelled"):
                        best = min(best, time.monotonic() - began)
                        self.count.check(own.wait() == status, "its status", keys)
                stand.over.set()
                stand.close()
                if best <= CANCEL_S:
                    break
            self.count.check(best <= CANCEL_S, f"the question is cancelled by {keys!r}", f"{best * 1000:.0f} ms")

    def cancel_once(self, command, state):
        stand, story = Stand(), Story()
        begun = story.start()
        stand.is_mute = state == "is mute"
        if state == "is told":
            stand.last = story.cancelled()
        arguments = ["chat"] if command == "chat" else ["ask", "first?"]
        with Own(self.weir, *arguments, "--url", stand.url) as own:
            if command == "chat":
                own.read_to(b"\x1b[?2004h")
                own.write(b"first?\r")
            stand.tell(begun, is_end=state == "ends every stream")
            own.read_to(b"coach")
            if state == "ends every stream":
                own.read_to(b"again in")
            if state == "is gone":
                stand.close()
                stand.tell(None)
            own.write(b"draft")
            own.write(b"\x1b")
            own.read_to(b"press Esc again")
            began = time.monotonic()
            own.write(b"\x1b")
            # The second Escape may have come too late to be one; then nothing is said of what follows it.
            is_cancelled = b"cancelled" in own.read_to(b"cancelled")
            took_s = time.monotonic() - began if is_cancelled else 9.9
            if is_cancelled and state != "is gone":
                self.count.check(stand.wait_cancels(), f"{command}: the server is asked, which {state}")
            stand.over.set()
            if is_cancelled and command == "ask":
                self.count.check(own.wait() == 1, f"ask: the status when the server {state}")
        stand.tell(None)
        if state != "is gone":
            stand.close()
        return took_s

    def test_refused(self):
        """A question that could not be asked is there again; a server that hangs holds nobody."""
        stand = Stand()
        stand.refusal = (429, {"error": {"code": "concurrency_limit_exceeded",
                                         "message": "3 turns are in flight already"}})
        chat = self.open(f"--url {stand.url}", columns=60, rows=12)
        self.prompt(chat)
        chat.keys("-l", "too many?")
        chat.keys("Enter")
        self.count.check(chat.wait_text("3 turns are in flight") and chat.wait(
            lambda: chat.screen().rstrip().endswith("› too many?")), "it is given back", chat.screen())
        stand.is_hung = True
        chat.keys("Enter")
        self.count.check(chat.wait_text("waiting for the server"), "it says that it waits", chat.screen())
        chat.keys("-l", "draft")
        chat.keys("Escape", "Escape")
        self.count.check(chat.wait_text("cancelled") and chat.wait(
            lambda: chat.screen().rstrip().endswith("› draft")), "waiting is cancelled", chat.screen())
        chat.keys("C-u")
        chat.keys("-l", "/trace")
        chat.keys("Enter")
        self.count.check(chat.wait_text("Nothing has been asked yet"), "nothing came of it")
        chat.keys("C-d")
        self.count.check(chat.wait_text("status 0") and chat.wait_end() and sane(chat), "it can be left")
        chat.close()
        stand.close()

    def test_editor(self):
        """Keys, as a terminal sends them; small screens; the history."""
        home = tempfile.mkdtemp(dir=self.home)
        stand = Stand()
        chat = self.open(f"--url {stand.url}", columns=40, rows=10, home=home)
        self.prompt(chat)
        chat.keys("-l", "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 and 👩‍🔬 é 🇩🇪 wrap")
        chat.keys("M-b", "Left", "Left", "C-h")
        chat.keys("M-Enter")
        chat.tmux("set-buffer", "pasted\nin two lines\x1b[31m")
        chat.tmux("paste-buffer", "-p")
        chat.keys("C-e")
        chat.keys("-l", "\\")
        chat.keys("Enter")
        chat.keys("-l", "last line")
        self.golden(chat, "editor", all_lines=False)
        self.count.check(self.cursor(chat)[2] == "1", "the cursor is seen")
        chat.keys("Enter")
        stand.tell(Story().whole("Seen."), is_end=True)
        self.count.check(chat.wait_text("Seen."), "it is answered", chat.screen(all_lines=True))
        asked = stand.questions()[0][0]["content"]
        self.count.check(asked.endswith("\npasted\nin two lines[31m🇩🇪 wrap\nlast line")
                         and asked.startswith("漢字"), "as it was typed", asked)
        self.golden(chat, "editor_end")
        self.prompt(chat)
        chat.keys("-l", " a secret")
        chat.keys("Enter")
        stand.tell(Story().whole("Not kept."), is_end=True)
        chat.wait_text("Not kept.")
        chat.keys("C-d")
        self.count.check(chat.wait_end(), "it ends")
        chat.close()
        file = pathlib.Path(home, "weir/history")
        kept = file.read_text(encoding="utf-8")
        self.count.check(stat.S_IMODE(file.stat().st_mode) == 0o600 and kept.count("\n") == 1
                         and "\\npasted\\n" in kept, "the history is kept, for the user alone", kept)
        chat = self.open(f"--url {stand.url}", home=home)
        self.prompt(chat)
        chat.keys("-l", "draft")
        chat.keys("Up")
        self.count.check(chat.wait_text("last line"), "Up brings it back")
        chat.keys("Down")
        self.count.check(chat.wait(lambda: chat.screen().rstrip().endswith("› draft")), "the draft waits")
        chat.keys("C-u")
        chat.keys("-l", "/t")
        chat.keys("Tab")
        self.count.check(chat.wait_text("/trace  /turns"), "Tab shows what it may be", chat.screen())
        chat.keys("-l", "u")
        chat.keys("Tab")
        self.count.check(chat.wait_text("› /turns"), "Tab completes it", chat.screen())
        chat.keys("C-u")
        chat.keys("-l", "draft")
        chat.keys("C-l")
        self.count.check(chat.wait(lambda: chat.screen().startswith("› draft")), "Ctrl-L clears the screen",
                         chat.screen())
        chat.close()
        stand.close()

    def test_plain(self):
        for name, env in (("NO_COLOR", {"NO_COLOR": "1"}), ("TERM=dumb", {"TERM": "dumb"})):
            stand = Stand()
            chat = self.open(f"--url {stand.url} --quiet", env=env)
            chat.wait_text(">")
            stand.tell(Story().whole(), is_end=True)
            chat.keys("-l", "first?")
            chat.keys("Enter")
            self.count.check(chat.wait_text("It fell by **about 4.7 bpm**"), f"{name}: plain lines")
            chat.keys("C-d")
            log = pathlib.Path(chat.folder, "log")
            self.count.check(chat.wait_text("status 0") and b"\x1b" not in log.read_bytes(),
                             f"{name}: no escape sequence", chat.screen())
            chat.close()
            stand.close()

    def test_bytes(self):
        """A letter typed costs its row, not the screen."""
        stand, story = Stand(), Story()
        chat = self.open(f"--url {stand.url}")
        self.prompt(chat)
        chat.keys("-l", "first?")
        chat.keys("Enter")
        stand.tell(story.start() + story.work() + story.say("A paragraph. " * 30))
        chat.wait_text("A paragraph. A")
        log = pathlib.Path(chat.folder, "log")
        for i in range(40):
            chat.keys("-l", "y")
        self.count.check(chat.wait_text("y" * 40), "it is typed")
        frames = log.read_bytes().split(b"\x1b[?2026h")
        typed = [frame for frame in frames if b"yy" in frame and b"paragraph" not in frame]
        self.count.check(typed and max(map(len, typed)) < 400, "a letter costs a row or two",
                         str([len(frame) for frame in typed]))
        self.count.check(b"\x1b[2J" not in b"".join(frames), "the screen is never cleared for it")
        stand.tell(None)
        chat.close()
        stand.close()

    # ---- signals ----

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for is_running in (False, True):
                stand = Stand()
                chat = self.open(f"--url {stand.url}")
                self.prompt(chat)
                if is_running:
                    chat.keys("-l", "first?")
                    chat.keys("Enter")
                    stand.tell(Story().start())
                    self.count.check(chat.wait_text("data_science"), "it runs", chat.screen())
                os.kill(chat.child(), number)
                self.count.check(chat.wait_text(f"status {128 + number}") and chat.wait_end()
                                 and sane(chat), f"{number.name} leaves a sane terminal", chat.screen())
                stand.tell(None)
                chat.close()
                stand.close()

    def test_stop(self):
        stand = Stand()
        chat = self.open(f"--url {stand.url}")
        self.prompt(chat)
        chat.keys("-l", "draft")
        self.count.check(chat.wait_text("› draft"), "it is typed")
        child, raw = chat.child(), chat.modes()
        os.kill(child, signal.SIGTSTP)
        self.count.check(chat.wait(lambda: terminal.state_of(child) == "T") and sane(chat),
                         "stopped and sane")
        os.kill(child, signal.SIGCONT)
        self.count.check(chat.wait(lambda: chat.modes() == raw) and chat.wait_text("› draft"),
                         "it takes the terminal again, and the draft is there", chat.screen())
        chat.keys("-l", " more")
        self.count.check(chat.wait_text("› draft more"), "and can be typed on", chat.screen())
        chat.close()
        stand.close()


def main():
    count = Counter()
    tests = Tests(program(), count)
    if not shutil.which("tmux"):
        count.skip("tmux is not there")
        return count.finish()
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    names = [name for name in vars(Tests) if name.startswith("test_") and only in name]
    for name in names:
        getattr(tests, name)()
    shutil.rmtree(tests.home, ignore_errors=True)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
