#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/terminal.py [WEIR]

`weir watch` and `weir ask` on terminals: tmux holds the screen, which is compared with the texts in
tests/cli/terminal (WEIR_GOLDEN=write writes them anew, to be looked at). Spinner, times and
sparklines are put aside before. Everything waits for conditions, up to a deadline that
WEIR_PATIENCE=N makes longer.
"""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from support import ROOT, Counter, program, run

GOLDEN = ROOT / "tests/cli/terminal"
PEOPLE = ROOT / "tests/data/people"
PATIENCE_S = 60 * float(os.environ.get("WEIR_PATIENCE", "1"))
GATES = ["sample_size", "construct_validity", "effect_vs_noise", "bootstrap",
         "subgroup_consistency", "method_triangulation", "discriminative_power"]


class Turn:
    """The wire form of a turn's events."""

    def __init__(self):
        self.n = 0

    def event(self, kind, **data):
        self.n += 1
        text = json.dumps(data, ensure_ascii=False)
        return f"id: {self.n}\nevent: {kind}\ndata: {text}\n\n".encode()

    def start(self):
        return (self.event("turn.started", turn_id="turn_01", at="now")
                + self.event("agent.started", agent="data_science", at="now",
                             question="is my resting heart rate going down?")
                + self.event("agent.started", agent="coach", at="now", question="what to do?"))

    def think(self, agent, text):
        return b"".join(self.event("agent.thought", agent=agent, delta=word + " ")
                        for word in text.split())

    def gates(self, finding, failed=()):
        return b"".join(self.event("validator.gate", finding_id=finding, gate=gate,
                                   claim="a fall in resting heart rate from 2024 to 2025",
                                   verdict="failed" if gate in failed else "passed", detail={})
                        for gate in GATES)

    def work(self):
        done = {"at": "now", "duration_ms": 1234}
        return (self.think("data_science", "Looking at resting heart rate from 2024-02-05 to "
                           "2025-08-14: 532 days. Trend: -0.059 bpm/week.")
                + self.event("agent.completed", agent="data_science", cost_usd=0.0012, **done,
                             output_summary="Trend of resting heart rate: -0.059 bpm/week")
                + self.event("agent.completed", agent="coach", cost_usd=0, **done,
                             output_summary="Nothing to do")
                + self.gates("ds-001", {"bootstrap"})
                + self.event("validator.critic", finding_id="ds-001", verdict="accept",
                             reasoning="532 days", concerns=[])
                + self.event("agent.started", agent="synthesis", at="now", question="q"))

    def say(self, text, step=7):
        return b"".join(self.event("agent.thought", agent="data_science", channel="synthesis",
                                   delta=text[i:i + step]) for i in range(0, len(text), step))

    def finish(self, answer):
        return self.event("turn.completed", turn_id="turn_01",
                          result={"answer": answer, "cost_usd": 0.0012})


ANSWER = """# Resting heart rate

It fell by **about 4.7 bpm** from 5 February 2024 to 14 August 2025, which is `0.059 bpm` a week. \
A longer line follows, so that something has to be wrapped.

1. first *thing*
2. second [thing](https://weir.example/x)
   - nested

> A quote
> of two lines.

| what | change |
|------|-------:|
| rate | -4.7 |
| sleep | +0.2 |

```c
int rate = 54;
```

Done."""

CUT = ANSWER.index("a week")

WIDE = """漢字とかなの行は幅が二倍なので、折り返しの位置が変わります。🙂 is wide, 👩‍🔬 is one picture, \
é has a mark, ❤️ has a selector, 🇩🇪 is a flag.

| 列 | 値 |
|---|---|
| 漢字 | 1 |
| emoji 🙂 | 2 |"""

CONTROL = ("red \x1b[31mtext\x1b[0m, a title \x1b]0;pwned\x07, clear \x1b[2J\x1b[H, "
           "backspace \b\b, C1 \x9b31m, evil \u202etxt.exe\u202c, NUL \x00, DEL \x7f, CR \r end")

MODES = "#{cursor_flag} #{wrap_flag} #{keypad_flag}"


def normal(screen):
    """Without what the time does to it."""
    screen = re.sub("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠋", screen)
    screen = re.sub(r"\b\d+\.\d s", "0.0 s", screen)
    screen = re.sub(r"again in \d+ s", "again in 0 s", screen)
    lines = [re.sub(r"[▁▂▃▄▅▆▇█]?[ ▁▂▃▄▅▆▇█]*$", "", line) for line in screen.splitlines()]
    return "\n".join(lines).rstrip("\n") + "\n"


class Terminal:
    """A tmux server of its own with one window, in which a command reads a named pipe."""

    def __init__(self, weir, columns=80, rows=24, env=None, command="$WEIR watch - <pipe"):
        self.folder = tempfile.mkdtemp()
        os.mkfifo(self.folder + "/pipe")
        self.pipe = os.open(self.folder + "/pipe", os.O_RDWR)
        script = (f"stty -g >before; echo $$ >ready\n{command}\n"
                  "echo \"status $?\"; stty -g >after.tmp; mv after.tmp after; exec cat >/dev/null")
        pathlib.Path(self.folder, "script").write_text(script, encoding="utf-8")
        self.env = {**{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TMUX")},
                    "LC_ALL": "C.UTF-8", "WEIR": weir, "TERM": "xterm-256color"}
        inner = "".join(f"{key}='{value}' " for key, value in (env or {}).items())
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "-c", self.folder, f"{inner}exec bash script", ";", "pipe-pane", f"cat >{self.folder}/log")

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-u", "-S", self.folder + "/socket", *arguments],
                              env=self.env, capture_output=True, text=True, check=False).stdout

    def feed(self, data):
        # Somebody has to have it open before we close it, or all in it is lost.
        self.wait(self.child)
        while data:
            data = data[os.write(self.pipe, data[:4096]):]

    def end_input(self):
        os.close(self.pipe)
        self.pipe = -1

    def screen(self, all_lines=False, looks=False):
        return self.tmux("capture-pane", "-p", *(["-S", "-"] if all_lines else []),
                         *(["-e"] if looks else []))

    def wait(self, condition):
        """Whether it holds before the deadline."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def wait_text(self, text):
        return self.wait(lambda: text in self.screen(all_lines=True))

    def wait_ever(self, text):
        """Whether it is or was on the screen, for what stays there a second only."""
        log = pathlib.Path(self.folder, "log")
        return self.wait(lambda: log.exists() and text.encode() in log.read_bytes())

    def wait_running(self):
        return self.wait(lambda: self.child() and re.search(r"\d s", self.screen()))

    def wait_end(self):
        return self.wait(lambda: os.path.exists(self.folder + "/after"))

    def settled(self, all_lines):
        """The screen when it has not changed for a while; only to write golden texts."""
        same, last = 0, ""
        while same < 20:
            now = normal(self.screen(all_lines))
            same, last = (same + 1 if now == last else 0), now
            time.sleep(0.03)
        return last

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def tty(self):
        return self.tmux("display-message", "-p", "#{pane_tty}").strip()

    def resize(self, columns, rows):
        """
        The child stands still until the size is also what the terminal says of itself: tmux wraps the
        lines at once and tells later, and whoever draws in between draws on other lines than it knows.
        """
        child = self.child()
        os.kill(child, signal.SIGSTOP)
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        size = f"{rows} {columns}\n"
        is_so = self.wait(lambda: subprocess.run(["stty", "size", "-F", self.tty()], capture_output=True, text=True,
                                                 check=False).stdout == size)
        os.kill(child, signal.SIGCONT)
        return is_so

    def modes(self):
        """The terminal's own, and the cursor and wrapping as tmux sees them."""
        stty = subprocess.run(["stty", "-g", "-F", self.tty()], capture_output=True, text=True,
                              check=False).stdout.strip()
        return stty, self.tmux("display-message", "-p", MODES).strip()

    def before(self):
        return pathlib.Path(self.folder, "before").read_text(encoding="utf-8").strip()

    def child(self):
        """The process id of weir."""
        ready = pathlib.Path(self.folder, "ready")
        shell = ready.read_text(encoding="utf-8").strip() if ready.exists() else ""
        if not shell:
            return 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = stat.read_text(encoding="utf-8").rpartition(")")
            except OSError:
                continue
            if name.endswith("(weir") and rest.split()[1] == shell:
                return int(stat.parent.name)
        return 0

    def close(self):
        if self.pipe >= 0:
            os.close(self.pipe)
        self.tmux("kill-server")
        shutil.rmtree(self.folder, ignore_errors=True)


class Tests:
    def __init__(self, weir, count):
        self.weir = weir
        self.count = count

    def golden(self, terminal, name, all_lines=True):
        """Whether the screen comes to be as the golden text says."""
        path = GOLDEN / (name + ".txt")
        if os.environ.get("WEIR_GOLDEN") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text(terminal.settled(all_lines), encoding="utf-8")
        want = path.read_text(encoding="utf-8")
        is_so = terminal.wait(lambda: normal(terminal.screen(all_lines)) == want)
        self.count.check(is_so, f"the screen is as {path.name}",
                         "\n" + normal(terminal.screen(all_lines)))

    def whole(self, name, answer, **options):
        turn = Turn()
        terminal = Terminal(self.weir, **options)
        terminal.feed(turn.start() + turn.work() + turn.say(answer) + turn.finish(answer))
        terminal.end_input()
        self.count.check(terminal.wait_end(), f"{name} ends")
        self.golden(terminal, name)
        looks = terminal.screen(all_lines=True, looks=True)
        terminal.close()
        return looks

    # ---- screens ----

    def test_screens(self):
        self.whole("turn_80x24", ANSWER)
        self.whole("turn_40x10", ANSWER, columns=40, rows=10)
        self.whole("turn_20x6", ANSWER, columns=20, rows=6)
        self.whole("wide_80x24", WIDE)
        self.whole("wide_40x10", WIDE, columns=40, rows=10)
        looks = self.whole("control", CONTROL)
        self.count.check("\x1b[31mtext" not in looks, "a model cannot colour the screen")
        title = Terminal(self.weir)
        title.feed(Turn().start() + Turn().say("\x1b]0;pwned\x07 \x1bkpwned\x1b\\ end"))
        self.count.check(title.wait_text("end"), "titles are shown")
        self.count.check("pwned" not in title.tmux("display-message", "-p", "#{pane_title} #W"),
                         "a model cannot set the title")
        title.close()

    def test_plain(self):
        for name, env in (("plain_no_color", {"NO_COLOR": "1"}), ("plain_dumb", {"TERM": "dumb"})):
            looks = self.whole(name, ANSWER + "\n\n" + CONTROL, env=env)
            self.count.check("\x1b" not in looks, f"{name}: no looks")
        turn = Turn()
        stream = (turn.start() + turn.work() + turn.say(ANSWER + CONTROL)
                  + turn.finish(ANSWER + CONTROL))
        piped = run(self.weir, "watch", "-", data=stream)
        path = GOLDEN / "pipe.txt"
        if os.environ.get("WEIR_GOLDEN") == "write":
            path.write_bytes(piped.out)
        self.count.check(piped.code == 0 and piped.out == path.read_bytes(), "a pipe gets plain lines",
                         piped.out.decode(errors="replace"))
        self.count.check(not set(piped.out) & (set(range(32)) - {10} | {127}),
                         "without a control character")
        lines = run(self.weir, "watch", "-", "--json", data=stream).out.splitlines()
        self.count.check([json.loads(line)["id"] for line in lines] == list(range(1, turn.n + 1)),
                         "--json is one event a line")

    def test_middle(self):
        """Lanes while agents work, gates while a finding is judged, an unfinished paragraph."""
        turn = Turn()
        terminal = Terminal(self.weir)
        terminal.feed(turn.start() + turn.think("data_science", "Looking at resting heart rate."))
        self.golden(terminal, "middle_lanes", all_lines=False)
        terminal.feed(turn.event("validator.gate", finding_id="ds-001", gate="sample_size",
                                 claim="a fall", verdict="passed", detail={})
                      + turn.event("validator.gate", finding_id="ds-001",
                                   gate="construct_validity", claim="a fall", verdict="failed",
                                   detail={}))
        self.golden(terminal, "middle_gates", all_lines=False)
        terminal.feed(turn.work() + turn.say(ANSWER[:CUT]))
        self.golden(terminal, "middle_answer", all_lines=False)
        terminal.close()

    def test_resize(self):
        turn = Turn()
        terminal = Terminal(self.weir)
        terminal.feed(turn.start() + turn.work() + turn.say(ANSWER[:CUT]))
        self.golden(terminal, "middle_answer", all_lines=False)
        terminal.resize(40, 12)
        self.golden(terminal, "resize_narrow", all_lines=False)
        terminal.resize(100, 30)
        self.golden(terminal, "resize_wide", all_lines=False)
        terminal.feed(turn.say(ANSWER[CUT:]) + turn.finish(ANSWER))
        terminal.end_input()
        self.count.check(terminal.wait_end(), "it ends after a resize")
        self.golden(terminal, "resize_end")
        terminal.close()

    def test_models(self):
        """Streams of models: text, tools, thinking."""
        def data(**event):
            return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

        def delta(index, **parts):
            return data(type="content_block_delta", index=index, delta=parts)

        stream = (data(type="message_start", message={
            "id": "m", "type": "message", "role": "assistant", "content": [], "model": "x",
            "usage": {"input_tokens": 12, "output_tokens": 1}})
            + data(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
            + delta(0, type="text_delta", text="Let me **look**.")
            + data(type="content_block_stop", index=0)
            + data(type="content_block_start", index=1, content_block={
                "type": "tool_use", "id": "call_1", "name": "read_file", "input": {}})
            + delta(1, type="input_json_delta", partial_json="{\"path\": \"/etc/"))
        terminal = Terminal(self.weir)
        terminal.feed(stream)
        self.golden(terminal, "model_tool", all_lines=False)
        terminal.feed(delta(1, type="input_json_delta", partial_json="hosts\"}")
                      + data(type="content_block_stop", index=1)
                      + data(type="message_delta", delta={"stop_reason": "tool_use"},
                             usage={"output_tokens": 34}) + data(type="message_stop"))
        terminal.end_input()
        self.count.check(terminal.wait_end(), "a message ends")
        self.golden(terminal, "model_end")
        terminal.close()
        chunks = b"".join(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"
                          for choice in ({"index": 0, "delta": {"content": "Hello "}},
                                         {"index": 0, "delta": {"content": "there."}},
                                         {"index": 0, "delta": {}, "finish_reason": "stop"}))
        result = run(self.weir, "watch", "-", data=chunks + b"data: [DONE]\n\n")
        self.count.check(result.code == 0 and result.out == b"Hello there.\n", "OpenAI's form",
                         str(result.out) + result.err)
        cut = run(self.weir, "watch", "-", data=stream)
        self.count.check(cut.code == 1 and "stream_incomplete" in cut.err, "a cut message", cut.err)

    # ---- keys ----

    def test_keys(self):
        turn = Turn()
        terminal = Terminal(self.weir)
        terminal.feed(turn.start() + turn.think("coach", "hm"))
        self.count.check(terminal.wait_text("hm"), "it runs")
        terminal.keys("Escape")
        self.count.check(terminal.wait_ever("press Esc again to cancel"), "Escape asks")
        terminal.keys("x")
        self.count.check(terminal.wait(lambda: "press Esc" not in terminal.screen()),
                         "another key clears the question")
        terminal.keys("Up", "Down", "Up", "Left")
        terminal.feed(turn.think("coach", "arrows"))
        self.count.check(terminal.wait_text("arrows") and "press Esc" not in terminal.screen(),
                         "an arrow key is no Escape")
        terminal.keys("Escape", "Escape")
        self.count.check(terminal.wait_end() and terminal.wait_text("status 3"),
                         "Escape twice stops watching", terminal.screen())
        self.count.check(terminal.modes()[0] == terminal.before(), "and leaves a sane terminal")
        terminal.close()
        terminal = Terminal(self.weir)
        terminal.feed(Turn().start())
        self.count.check(terminal.wait_text("coach"), "it runs")
        terminal.keys("C-c")
        self.count.check(terminal.wait_text("status 3"), "Ctrl-C stops watching", terminal.screen())
        terminal.close()

    # ---- signals ----

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT,
                       signal.SIGALRM, signal.SIGUSR1, signal.SIGXCPU):
            terminal = Terminal(self.weir)
            terminal.feed(Turn().start())
            self.count.check(terminal.wait_text("coach"), "it runs")
            raw = terminal.modes()
            os.kill(terminal.child(), signal.SIGPIPE)  # which says nothing here
            os.kill(terminal.child(), number)
            self.count.check(terminal.wait_end(), f"{number.name} ends it")
            self.count.check(terminal.wait_text(f"status {128 + number}"),
                             f"{number.name} is its status", terminal.screen())
            after = terminal.modes()
            self.count.check(raw[0] != terminal.before() and raw[1].startswith("0"),
                             "keys come one by one while it runs", str(raw))
            self.count.check(after[0] == terminal.before() and after[1].startswith("1 1"),
                             f"{number.name} leaves a sane terminal", str(after))
            terminal.close()

    def test_stop(self):
        for how in ("signal", "key"):
            turn = Turn()
            terminal = Terminal(self.weir, command="set -m; $WEIR watch - <pipe")
            terminal.feed(turn.start())
            self.count.check(terminal.wait_text("coach"), "it runs")
            child = terminal.child()
            if how == "signal":
                os.kill(child, signal.SIGTSTP)
            else:
                terminal.keys("C-z")
            self.count.check(terminal.wait_text(f"status {128 + signal.SIGSTOP}"), f"{how}: it stops")
            self.count.check(terminal.wait(lambda: sane(terminal)),
                             f"{how}: a stopped one leaves a sane terminal", str(terminal.modes()))
            os.kill(child, signal.SIGKILL)
            terminal.close()
        terminal = Terminal(self.weir)
        turn = Turn()
        terminal.feed(turn.start())
        self.count.check(terminal.wait_text("coach"), "it runs")
        child = terminal.child()
        raw = terminal.modes()
        os.kill(child, signal.SIGTSTP)
        # It has stopped, but what it wrote before may not have come to the terminal yet.
        self.count.check(terminal.wait(lambda: state_of(child) == "T" and sane(terminal)),
                         "stopped and sane", str(terminal.modes()))
        os.kill(child, signal.SIGCONT)
        self.count.check(terminal.wait(lambda: terminal.modes() == raw), "it takes the terminal again",
                         f"{terminal.modes()} {raw}")
        terminal.feed(turn.work() + turn.say("Done.") + turn.finish("Done."))
        terminal.end_input()
        self.count.check(terminal.wait_end() and terminal.wait(lambda: sane(terminal)),
                         "and leaves it at the end", str(terminal.modes()))
        self.golden(terminal, "stopped")
        terminal.close()

    # ---- bytes ----

    def test_bytes(self):
        """What goes to the terminal for each delta, counted at its other end."""
        turn = Turn()
        read_end, write_end = os.pipe()
        master, slave = pty.openpty()
        env = {**os.environ, "TERM": "xterm-256color"}
        env.pop("NO_COLOR", None)
        with subprocess.Popen([self.weir, "watch", "-"], stdin=read_end, stdout=slave, stderr=slave,
                              env=env, start_new_session=True,
                              preexec_fn=lambda: own_terminal(slave)) as process:
            os.close(read_end)
            os.close(slave)
            os.write(write_end, turn.start() + turn.work())
            seen = drain(master, b"accept")
            sizes = []
            for i in range(300):
                mark = f"w{i}x".encode()
                os.write(write_end, turn.say(f"word w{i}x and more. ", step=99))
                # Frames in which only the spinner turns are the clock's.
                frames = drain(master, mark).split(b"\x1b[?2026h")
                sizes.append(sum(len(frame) for frame in frames if mark in frame))
            os.write(write_end, turn.finish("other"))
            os.close(write_end)
            seen += drain(master, b"turn_01")
            process.wait(PATIENCE_S)
        os.close(master)
        self.count.check(max(sizes) < 24 * 110 and sum(sizes) / len(sizes) < 900,
                         "a delta costs the delta and the unfinished block",
                         f"mean {sum(sizes) / len(sizes):.0f}, most {max(sizes)}")
        self.count.check(b"\x1b[?2026h" in seen and b"\x1b[2J" not in seen,
                         "updates are synchronized, the screen is never cleared")

    # ---- weir ask ----

    def test_ask(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [str(PEOPLE / f"p01_{kind}.csv") for kind in ("daily", "activities", "labs")]
            run(self.weir, "import", *files, "--data", folder, "--quiet")
            question = "is my resting heart rate going down?"
            terminal = Terminal(self.weir, command=f"$WEIR ask '{question}' --data {folder}")
            self.count.check(terminal.wait_end() and terminal.wait_text("status 0"), "ask is answered",
                             terminal.screen())
            screen = terminal.screen(all_lines=True)
            self.count.check("✓✓✓✓✓✓✓" in screen and "weir trace shows" in screen
                             and "fell by about 4.7 bpm" in screen, "with gates and the answer", screen)
            self.count.check(sane(terminal), "ask leaves a sane terminal")
            terminal.close()
            self.ask_signal(folder, question)
            self.ask_cancel(folder, question)

    def ask_signal(self, folder, question):
        """A server inside of the command has its own ideas of signals."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.serve(folder) as server:
                terminal = Terminal(self.weir, command=f"$WEIR ask '{question}' --data {folder}")
                self.count.check(terminal.wait_running(), "it runs")
                os.kill(terminal.child(), number)
                self.count.check(terminal.wait_text(f"status {128 + number}") and terminal.wait_end()
                                 and sane(terminal), f"ask: {number.name}", terminal.screen())
                terminal.close()
                server.terminate()

    def serve(self, folder):
        server = subprocess.Popen([self.weir, "serve", "--listen", "127.0.0.1:0", "--data", folder,
                                   "--turn-pace", "20s", "--user-turns", "100"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        server.stdout.readline()
        return server

    def ask_cancel(self, folder, question):
        for keys in (("Escape", "Escape"), ("C-c",)):
            with self.serve(folder) as server:
                terminal = Terminal(self.weir, command=f"$WEIR ask '{question}' --data {folder}")
                self.count.check(terminal.wait_running(), "it runs")
                terminal.keys(*keys)
                self.count.check(terminal.wait_text("status 1") and terminal.wait_end()
                                 and "cancelled" in terminal.screen() and sane(terminal),
                                 f"{keys} cancels the turn", terminal.screen())
                terminal.close()
                server.terminate()
        self.ask_hung(folder, question)

    def ask_hung(self, folder, question):
        """A server that hangs cannot hold the terminal."""
        with self.serve(folder) as server:
            terminal = Terminal(self.weir, command=f"$WEIR ask '{question}' --data {folder}")
            self.count.check(terminal.wait_running(), "it runs")
            server.send_signal(signal.SIGSTOP)
            terminal.keys("C-c")
            self.count.check(terminal.wait_text("cancelled") and terminal.wait(lambda: sane(terminal)),
                             "a hung server is not waited for", terminal.screen())
            server.send_signal(signal.SIGCONT)
            self.count.check(terminal.wait_text("status 1") and terminal.wait_end(),
                             "but for a while at the end, to be asked", terminal.screen())
            terminal.close()
            server.terminate()


def state_of(child):
    try:
        stat = pathlib.Path(f"/proc/{child}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[0]


def sane(terminal):
    stty, modes = terminal.modes()
    return stty == terminal.before() and modes.startswith("1 1")


def own_terminal(slave):
    import fcntl
    import struct
    import termios

    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))


def drain(master, mark):
    """What comes until the mark has come, and the frame is over."""
    got = b""
    deadline = time.monotonic() + PATIENCE_S
    while not (mark in got and got.endswith(b"\x1b[?2026l")):
        if not select.select([master], [], [], max(0, deadline - time.monotonic()))[0]:
            break
        try:
            got += os.read(master, 65536)
        except OSError:
            break
    return got


def main():
    weir = program()
    count = Counter()
    if not shutil.which("tmux"):
        count.skip("tmux is not there")
        return count.finish()
    tests = Tests(weir, count)
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    for name in sorted(name for name in dir(tests) if name.startswith("test_")):
        if only in name:
            getattr(tests, name)()
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
