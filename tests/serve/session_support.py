# SPDX-License-Identifier: Apache-2.0
"""What the tests of sessions share: a server whose model is the stand-in of tests/upstream, tabs of
the client in npm_session (which validates every event and every output of a call), a reader that
keeps the bytes, and the rules of a session's stream.
"""
import contextlib
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import threading
import time

import packages
from chat_support import ChatServer
from model_support import Upstream
from support import JSON_FIELDS, ROOT, WAIT_S, Failure, Skip, Watch, equal, expect, program, to_json

SOURCE = ROOT / "tests" / "serve" / "npm_session"
ENDS = ("done", "error")
RECONNECT_MS = 60  # instead of three seconds
# All that may come, and nothing else.
TYPES = {
    "run_start", "text_delta", "thinking_delta", "tool_start", "tool_progress", "tool_end", "usage", "context_meta",
    "done", "error", "message_persisted", "tool.approval_required", "approval.resolved", "clarify.request",
    "clarify.resolved", "cron.fired", "mesh.changed", "evolve.skill_pending", "protocol.upgrade_required",
}
# These belong to the turn that runs; the others come at any time.
OF_A_TURN = {"text_delta", "thinking_delta", "tool_start", "tool_progress", "tool_end", "usage", "context_meta", *ENDS}


class SessionServer(ChatServer):
    """A server whose turns ask the stand-in; without one, the builtin provider."""

    tells_of_nodes = True

    def __init__(self, upstream=None, *options, env=None, **more):
        super().__init__(upstream, *options, **more)
        self.env.update(env or {})

    def call(self, method, input_value=None, key=None):
        """A call without the client: the whole answer."""
        fields = [*JSON_FIELDS, *([("Authorization", f"Bearer {key}")] if key else [])]
        return self.ask("POST", f"/rpc/{method}", fields, to_json({"json": {} if input_value is None else input_value}))

    def must(self, method, input_value=None, key=None):
        """A call that is fine: its output."""
        answer = self.call(method, input_value, key)
        equal(answer.status, 200, f"{method} ({answer.body[:300]!r})")
        return answer.json()["json"]

    def send(self, text, session=None, key=None, client="tab"):
        """The session and the turn of a new message."""
        named = {"sessionId": session} if session else {}
        output = self.must("chat/send", {"clientId": client, "text": text, **named}, key)
        return output["sessionId"], output["turnId"]

    def stream(self, session, since=0, fields=(), query="", **options):
        """A reader of the bytes."""
        return Watch(self, f"/sse/sessions/{session}?lastEventId={since}{query}", fields, **options)

    def messages(self, session, key=None):
        return self.must("sessions/get", {"id": session}, key)["messages"]

    def whole(self, session, until, n=1, key=None):
        """All events so far, up to the nth of these types."""
        fields = [("Authorization", f"Bearer {key}")] if key else []
        with self.stream(session, fields=fields) as stream:
            return read_until(stream, until, n)


class LateClock:
    """Another time of day for a server: SessionServer(env=clock.env). Milliseconds, from now on."""

    def __init__(self):
        library = pathlib.Path(program()).parent / "tests" / "liblate-clock.so"
        if not library.exists():
            raise Skip(f"{library} is not built")
        if b"__asan_init" in pathlib.Path(program()).read_bytes():
            raise Skip("nothing can be loaded before a sanitizer")
        self._file = tempfile.NamedTemporaryFile(prefix="weir-clock-")
        self.set(0)
        self.env = {"LATE_CLOCK": self._file.name, "LD_PRELOAD": str(library)}

    def set(self, offset_ms):
        self.offset_ms = int(offset_ms)
        os.pwrite(self._file.fileno(), struct.pack("=q", self.offset_ms), 0)

    def now_ms(self):
        return time.time() * 1000 + self.offset_ms

    def before_minute(self, left_ms, minutes=1):
        """Goes on to so long before a full minute, not the next but `minutes` further; never back."""
        now = self.now_ms()
        minute = ((now + left_ms) // 60000 + 1 + minutes) * 60000
        self.set(self.offset_ms + minute - left_ms - now)
        return int(minute)


def read_until(stream, until, n=1):
    """(id, event) up to the nth for which it holds; `until` is a type or several."""
    wanted = (until,) if isinstance(until, str) else until
    events = []
    while n > 0:
        number, data = stream.must_next()
        events.append((number, json.loads(data)))
        n -= events[-1][1]["type"] in wanted
    return events


# ---- the client ----

class Tab:
    """One subscription of the client: what came, line by line."""

    def __init__(self, tabs, name):
        self._tabs, self.name = tabs, name
        self.lines = []
        self._at = 0  # events before were handed out

    @property
    def events(self):
        return [(line["seq"], line["event"]) for line in list(self.lines) if "event" in line]

    @property
    def wrong(self):
        """What did not validate."""
        return [line for line in list(self.lines) if "data" in line]

    def wait(self, condition, text, wait_s=None):
        """Until condition(lines) holds; what it returned."""
        return self._tabs.wait(lambda: condition(self.lines), f"tab {self.name}: {text}", wait_s)

    def until(self, wanted, wait_s=None):
        """Events up to the first that is wanted: a type, several, or a function of an event."""
        if not callable(wanted):
            types = (wanted,) if isinstance(wanted, str) else wanted
            return self.until(lambda event: event["type"] in types, wait_s)

        def found():
            for index, (_, event) in enumerate(self.events[self._at:], self._at):
                if wanted(event):
                    return index + 1
            return None

        try:
            end = self._tabs.wait(found, f"tab {self.name}: an event", wait_s)
        except Failure as problem:
            raise Failure(f"{problem}; it has {[line for line in self.lines if 'comment' not in line][-6:]!r:.1500}") from None
        part = self.events[self._at:end]
        self._at = end
        return part

    def close(self):
        self._tabs.tell(do="close", tab=self.name)
        self.wait(lambda lines: any("closed" in line for line in lines), "it is closed")

    def check(self, since=0):
        """Everything validates, and no id is missing."""
        equal(self.wrong, [], f"tab {self.name}: what does not validate")
        ids = [number for number, _ in self.events]
        equal(ids, list(range(since + 1, since + 1 + len(ids))), f"tab {self.name}: ids")
        return self.events


class Tabs:
    """The client as a process; `with`."""

    def __init__(self, server=None, key=None):
        self.server, self.key = server, key
        self._changed = threading.Condition()
        self._tabs = {}
        self._answers = {}
        self._n_asked = 0
        self._has_ended = False
        folder = packages.install(SOURCE, "session-client")
        self.child = subprocess.Popen(["node", str(folder / "tabs.mjs")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.communicate()

    def _read(self):
        for text in self.child.stdout:
            line = json.loads(text)
            with self._changed:
                if "number" in line:
                    self._answers[line["number"]] = line
                else:
                    self._tabs[line["tab"]].lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def wait(self, condition, text, wait_s=None):
        deadline = time.monotonic() + (WAIT_S if wait_s is None else wait_s)
        with self._changed:
            while True:
                result = condition()
                if result:
                    return result
                expect(not self._has_ended, "the client has ended", self.child.poll())
                left = deadline - time.monotonic()
                expect(left > 0, f"waited in vain for {text}")
                self._changed.wait(left)

    def tell(self, **command):
        self.child.stdin.write(to_json(command) + b"\n")
        self.child.stdin.flush()

    def _where(self, key):
        key = key or self.key
        return {"baseUrl": self.server.url(), **({"apiKey": key} if key else {})}

    def watch(self, session, name="tab", since=0, key=None, **options):
        tab = self._tabs[name] = Tab(self, name)
        where = {} if self.server is None else self._where(key)
        self.tell(do="watch", tab=name, sessionId=session, sinceSeq=since,
                  **{"reconnectMs": RECONNECT_MS, **where, **options})
        return tab

    def opened(self, session, name="tab", **options):
        """The same, when it is open."""
        tab = self.watch(session, name, **options)
        tab.wait(lambda lines: any("open" in line for line in lines), "it opens")
        return tab

    def _ask(self, **command):
        self._n_asked += 1
        number = self._n_asked
        self.tell(number=number, **command)
        self.wait(lambda: number in self._answers, f"an answer to {command!r:.200}")
        return self._answers.pop(number)

    def call(self, method, input_value=None, key=None, headers=None):
        """What rpc() of the client brings; a form that is not promised is a failure."""
        line = self._ask(do="call", method=method, input={} if input_value is None else input_value,
                         headers=headers or {}, **self._where(key))
        expect("result" in line, f"{method}:", line)
        return line["result"]

    def must(self, method, input_value=None, key=None):
        result = self.call(method, input_value, key)
        equal(result["status"], 200, f"{method} ({result})")
        return result["output"]

    def refused(self, status, method, input_value=None, key=None):
        result = self.call(method, input_value, key)
        equal(result["status"], status, f"{method} ({result})")
        return result

    def send(self, text, session=None, key=None, client="tab"):
        named = {"sessionId": session} if session else {}
        output = self.must("chat/send", {"clientId": client, "text": text, **named}, key)
        return output["sessionId"], output["turnId"]

    def check(self, event):
        """Why an event does not validate; None when it does."""
        return self._ask(do="check", event=event)["error"]


# ---- the rules ----

class Turn:
    """The events of one turn, pushes in between included."""

    def __init__(self):
        self.events = []

    def of(self, *types):
        return [event for _, event in self.events if event["type"] in types]

    @property
    def types(self):
        return [event["type"] for _, event in self.events]

    @property
    def text(self):
        return "".join(event["text"] for event in self.of("text_delta"))

    @property
    def end(self):
        ends = self.of(*ENDS)
        return ends[0] if ends else None


def turns_of(events):
    """The turns of a session's events, from the first on. A turn begins with the user's message and
    ends with done or error; what comes between two turns belongs to nobody."""
    turns, turn = [], None
    for number, event in events:
        kind = event["type"]
        expect(kind in TYPES, "a type that nobody knows", event)
        if turn is None and kind == "message_persisted":
            equal(event["role"], "user", f"who begins a turn ({number})")
            turn = Turn()
            turns.append(turn)
        if turn is None:
            expect(kind not in OF_A_TURN and kind != "run_start", f"{number} outside of a turn", event)
            continue
        turn.events.append((number, event))
        if kind in ENDS:
            turn = None
    return turns


def check_turn(turn):
    """Whatever became of it."""
    kinds = turn.types
    equal(kinds.count("run_start"), 1, f"run_start in {kinds}")
    begin = [kind for kind in kinds if kind in OF_A_TURN or kind in ("run_start", "message_persisted")]
    equal(begin[:2], ["message_persisted", "run_start"], "the beginning of a turn")
    expect(turn.end is not None, "a turn without an end", kinds)
    starts = [event["toolCallId"] for event in turn.of("tool_start")]
    ends = [event["toolCallId"] for event in turn.of("tool_end")]
    equal(len(set(starts)), len(starts), "calls of tools have ids of their own")
    if turn.end["type"] == "done":
        equal(sorted(ends), sorted(starts), "every call of a tool has its end")
        equal(turn.text, turn.end["text"], "the text that was streamed")
        roles = [event["role"] for event in turn.of("message_persisted")]
        equal((roles[0], roles[-1], roles.count("assistant")), ("user", "assistant", 1), "messages")
        equal(begin[-2:], ["message_persisted", "done"], f"the end of {kinds}")
    asked = [event["request"]["approvalId"] for event in turn.of("tool.approval_required")]
    resolved = [event["approvalId"] for event in turn.of("approval.resolved")]
    equal(sorted(resolved), sorted(asked), "every question for approval is resolved once, before the end")
    asked = [event["requestId"] for event in turn.of("clarify.request")]
    resolved = [event["requestId"] for event in turn.of("clarify.resolved")]
    equal(sorted(resolved), sorted(asked), "every clarification is resolved once, before the end")
    return turn


def check_session(events):
    """All rules of a stream that was read from its beginning, when nothing runs: its turns."""
    equal([number for number, _ in events], list(range(1, len(events) + 1)), "ids")
    turns = turns_of(events)
    for turn in turns:
        check_turn(turn)
    counts = [turn.end["turnCount"] for turn in turns if turn.end["type"] == "done"]
    expect(counts == sorted(set(counts)), "turnCount grows", counts)
    return turns


# ---- what the stand-in does ----

def says(text, **do):
    return {"answer": {"content": [{"type": "text", "text": text}], "stop": "end"}, **do}


def thinks(thought, text, **do):
    content = [{"type": "thinking", "thinking": thought}, {"type": "text", "text": text}]
    return {"answer": {"content": content, "stop": "end"}, **do}


def uses(*calls, text="", **do):
    """Calls of tools: (name, input) each."""
    said = [{"type": "text", "text": text}] if text else []
    content = [{"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": value}
               for number, (name, value) in enumerate(calls)]
    return {"answer": {"content": [*said, *content], "stop": "tool"}, **do}


def when(contains, do, times=1):
    return {"contains": contains, "times": times, "do": do}


@contextlib.contextmanager
def world(*options, rules=(), default=None, **more):
    """A stand-in, a server and the client."""
    with Upstream() as upstream:
        upstream.control(default=default or says("All is well."), rules=list(rules))
        with SessionServer(upstream, *options, **more) as server, Tabs(server) as tabs:
            yield upstream, server, tabs
