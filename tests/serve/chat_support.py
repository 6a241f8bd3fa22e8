# SPDX-License-Identifier: Apache-2.0
"""What the tests of chats share: a reader that takes nothing but the frames that docs/chat.md
promises, a server whose model is the stand-in of tests/upstream, and the rules of a whole reply.
"""
import json
import re
import tempfile

from model_support import KEY, KEY_ENV, config_of
from support import (JSON_FIELDS, Closed, Conn, Dechunker, Failure, Server, equal, expect, request_bytes, to_json)

_FRAME = re.compile(rb"id: (msg_[0-9A-HJKMNP-TV-Z]{26}):([1-9][0-9]*)\nevent: ([a-z_]+)\ndata: (\{[^\r\n]*\})")
LAST = ("done", "error", "dlp_blocked")
# What each event has, and nothing else.
MEMBERS = {
    "token": {"text"}, "tool_call": {"id", "name", "args"}, "tool_result": {"id", "result"},
    "tool_error": {"id", "error"}, "progress": {"label", "percent"},
    "dlp_preview": {"decisionId", "findings", "redactedText", "provider"},
    "dlp_resolved": {"appliedChoice", "redactedCount", "categories"}, "dlp_blocked": {"reason", "findings"},
    "privacy_token_map": {"tokenMap", "source"}, "citation": {"sourceId", "title", "snippet"},
    "done": {"messageId", "usage", "model"}, "error": {"code", "message"},
}
DIRECT = "/ai/chat/direct/stream"


class Event:
    """One event: its bytes as they came, and what they say."""

    def __init__(self, frame):
        match = _FRAME.fullmatch(frame)
        if not match:
            raise Failure(f"not an event of a chat: {frame[:400]!r}")
        self.frame = frame
        self.message = match.group(1).decode()
        self.number = int(match.group(2))
        self.type = match.group(3).decode()
        self.data = json.loads(match.group(4))
        equal(set(self.data), MEMBERS[self.type], f"members of {self.type}")

    @property
    def id(self):
        return f"{self.message}:{self.number}"


class Reply(Conn):
    """A reader of a reply, by POST or GET."""

    def __init__(self, server, method="GET", target="/ai/chat", fields=(), body=None, version="1.1", key=None):
        super().__init__(server, method=method)
        typed = JSON_FIELDS if body is not None else []
        data = to_json(body) if body is not None and not isinstance(body, bytes) else body
        self.send(request_bytes(method, target, [("Accept", "text/event-stream"), *typed, *fields], data,
                                key=key or self.key, version=version))
        self.opening = self.head()
        self.has_ended = False
        self._rest = b""
        self._frames = []
        self._dechunker = Dechunker() if self.opening.field("transfer-encoding") == "chunked" else None
        if self.opening.status == 200:
            equal(self.opening.field("content-type"), "text/event-stream", "Content-Type")

    @property
    def message(self):
        return self.opening.field("weir-message-id")

    @property
    def conversation(self):
        return self.opening.field("weir-conversation-id")

    def refusal(self):
        """The whole answer, when it is no stream."""
        expect(self.opening.status != 200, "the stream was opened")
        self.opening.body = self.take(int(self.opening.field("content-length") or 0))
        return self.opening

    def _feed(self):
        if not self.unread and not self._more():
            if self._dechunker and not self._dechunker.is_done:
                raise Closed("the stream broke off")
            self.has_ended = True
        data, self.unread = self.unread, b""
        if self._dechunker:
            data = self._dechunker.feed(data)
            self.has_ended = self.has_ended or self._dechunker.is_done
        self._rest += data
        *frames, self._rest = self._rest.split(b"\n\n")
        self._frames += [frame for frame in frames if not frame.startswith(b":") and frame]

    def next(self):
        """The next event; None at the end."""
        equal(self.opening.status, 200, "a stream")
        while not self._frames and not self.has_ended:
            self._feed()
        return Event(self._frames.pop(0)) if self._frames else None

    def until(self, *types):
        """Events up to the first of these types, that one included."""
        events = []
        while not events or events[-1].type not in types:
            event = self.next()
            if event is None:
                raise Closed(f"the stream ended before {types}: {[event.type for event in events]}")
            events.append(event)
        return events

    def rest(self):
        return list(iter(self.next, None))


def wire(events):
    return b"".join(event.frame + b"\n\n" for event in events)


def text_of(events):
    return "".join(event.data["text"] for event in events if event.type == "token")


def types_of(events):
    return [event.type for event in events]


def only(events, kind):
    found = [event for event in events if event.type == kind]
    equal(len(found), 1, f"events of type {kind} in {types_of(events)}")
    return found[0].data


def check_whole(events, message=None):
    """The rules of every reply that was read from its beginning."""
    equal([event.number for event in events], list(range(1, len(events) + 1)), "numbers")
    expect(events and len({event.message for event in events}) == 1, "one message", types_of(events))
    equal([event.type for event in events if event.type in LAST], [events[-1].type], "its end")
    if message:
        equal(events[0].message, message, "the message that the head names")
    if events[-1].type == "done":
        equal(events[-1].data["messageId"], events[0].message, "messageId")
        equal(set(events[-1].data["usage"]), {"input", "output"}, "usage")
    calls = [event.data["id"] for event in events if event.type == "tool_call"]
    ends = [event.data["id"] for event in events if event.type in ("tool_result", "tool_error")]
    equal(sorted(ends), sorted(calls), "every call of a tool has its end")
    return events


class ChatServer(Server):
    """A server whose chats ask the stand-in; without one, the builtin provider."""

    def __init__(self, upstream=None, *options, policy=None, kind="anthropic", **more):
        self._files = tempfile.TemporaryDirectory(prefix="weir-chat-")
        words = list(options)
        if upstream:
            words += ["--models", self.put("models.json", config_of(upstream, kind))]
        if policy:
            words += ["--shield", self.put("shield.json", policy)]
        super().__init__(*words, env={KEY_ENV: KEY}, **more)

    def put(self, name, value):
        path = f"{self._files.name}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        return path

    def send(self, content, target=DIRECT, fields=(), **members):
        """A reader of the reply to a new message."""
        body = {"messages": [{"role": "user", "content": content}], **members}
        return Reply(self, "POST", target, fields, body)

    def say(self, content, target=DIRECT, **members):
        """The whole reply: its events, the message's and the conversation's id."""
        with self.send(content, target, **members) as reply:
            equal(reply.opening.status, 200, f"{reply.opening.status} {reply.opening.fields}")
            return check_whole(reply.rest(), reply.message), reply.message, reply.conversation

    def resume(self, event_id, method="GET", target="/ai/chat", key=None):
        return Reply(self, method, target, [("Last-Event-ID", event_id)], key=key)

    def decide(self, decision, choice, **members):
        body = {"decisionId": decision, "choice": choice, **members}
        return self.ask("POST", "/api/chat/dlp-decision", JSON_FIELDS, to_json(body))


def answers(text, **do):
    """What the stand-in does: it says this."""
    return {"answer": {"content": [{"type": "text", "text": text}], "stop": "end"}, **do}
