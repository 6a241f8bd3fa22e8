#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/leaks.py [CASE...]

Three hundred prompts, each with a value that occurs nowhere else, on every path there is: messages,
history, arguments and results of tools, documents, attachments, the gateway in both forms, requests
that are refused, providers that fail, questions that are answered in every way. None of the values
reaches the provider, a log, the metrics, the audit or the disk; and the user gets them back.
"""
import base64
import json
import pathlib
import random
import tempfile
import urllib.parse

from chat_support import DIRECT, ChatServer, answers, text_of
from model_support import Upstream, config_of, provider
from support import JSON_FIELDS, case, equal, expect, main, to_json

SEED = 20261116


# ---- values that are private, each once ----

def luhn(digits):
    total = sum(sum(divmod(2 * int(d), 10)) if i % 2 == 0 else int(d) for i, d in enumerate(reversed(digits)))
    return digits + str(-total % 10)


def iban(account):
    return f"DE{98 - int(account + '131400') % 97:02d}{account}"


class Canaries:
    def __init__(self):
        self.random = random.Random(SEED)
        self.made = []

    def _digits(self, n):
        return "".join(self.random.choice("0123456789") for _ in range(n))

    def _letters(self, n, alphabet="abcdefghijkmnpqrstuvwxyz"):
        return "".join(self.random.choice(alphabet) for _ in range(n))

    def one(self):
        """The name of its placeholder, and the value."""
        kinds = {
            "email": lambda: f"{self._letters(9)}.{self._digits(4)}@{self._letters(8)}.org",
            "credit_card": lambda: luhn("4" + self._digits(14)),
            "iban": lambda: iban("37040044" + self._digits(10)),
            "phone": lambda: "+49 30 " + self.random.choice("23456789") + self._digits(6),
            "us_ssn": lambda: f"{self.random.randint(101, 599)}-{self.random.randint(11, 98)}-{self.random.randint(1001, 9998)}",
            "ip_address": lambda: ".".join(str(self.random.randint(11, 223)) for _ in range(4)),
            "secret": lambda: "ghp_" + self._letters(36, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
        }
        name = self.random.choice(sorted(kinds))
        value = kinds[name]()
        self.made.append(value)
        return name, value


def forms_of(value):
    """All the ways in which a value might have been written."""
    raw = value.encode()
    plain = value.replace(" ", "").replace("-", "").encode()
    padded = [base64.b64encode(b"x" * skip + raw)[4 * (skip > 0):].rstrip(b"=")[:-2] for skip in range(3)]
    return {raw, plain, raw.hex().encode(), urllib.parse.quote(value, safe="").encode(), *padded} - {b""}


def expect_nowhere(canaries, places):
    """No value in any of the bytes; in one pass over each."""
    for value in canaries.made:
        for form in forms_of(value):
            for where, data in places.items():
                at = data.find(form)
                expect(at < 0, f"{value} is in {where}", data[max(0, at - 120):at + 60])


# ---- a server that is watched ----

class Watched(ChatServer):
    def __init__(self, upstream, *options, **more):
        self.folder = tempfile.TemporaryDirectory(prefix="weir-leaks-")
        self.access_log = pathlib.Path(self.folder.name) / "access.log"
        super().__init__(upstream, "--access-log", str(self.access_log), "--log", "json", *options, **more)

    def places(self, upstream):
        """Where values may not be, once all is written."""
        found = {"the metrics": self.ask("GET", "/metrics").body}
        for name, fields in (("JSON", []), ("CSV", [("Accept", "text/csv")])):
            found[f"the audit as {name}"] = self.ask("GET", "/v1/shield/audit?limit=100", fields).body
        self.stop()
        found["the server's messages"] = self.errors().encode() if isinstance(self.errors(), str) else self.errors()
        found["the access log"] = self.access_log.read_bytes()
        for path in sorted(pathlib.Path(self.data).rglob("*")):
            if path.is_file():
                found[f"the file {path.name}"] = path.read_bytes()
        for seen in upstream.seen(has_bodies=True):
            found[f"request {seen['number']} to the provider"] = json.dumps(seen["body"]).encode()
        return found


def prompt(value):
    return f"Please note {value} for me."


# ---- paths ----

@case
def chats_leak_nothing():
    canaries = Canaries()
    with Upstream() as upstream, Watched(upstream) as server:
        for n in range(80):
            name, value = canaries.one()
            upstream.rules((1, answers(f"Noted [{name}_1].", trickle_bytes=7)))
            events, _, conversation = server.say(prompt(value))
            equal(text_of(events), f"Noted {value}.", "the user has it back")
            if n % 4 == 0:  # history, and a value that comes later
                name, other = canaries.one()
                upstream.rules((1, answers("Yes.")))
                history = [{"role": "user", "content": prompt(value)}, {"role": "assistant", "content": f"Noted {value}."},
                           {"role": "user", "content": [{"type": "text", "text": f"And {other[:4]}"}, {"type": "text", "text": other[4:]}]}]
                body = {"messages": history, "conversationId": conversation, "stream": False}
                equal(server.ask("POST", DIRECT, JSON_FIELDS, to_json(body)).status, 200, "a history")
        for n in range(20):  # providers that fail, repeating what they were told
            name, value = canaries.one()
            do = [{"status": 400, "message": f"Bad [{name}_1]"}, {"status": 401, "message": "No"},
                  {**answers(f"I note [{name}_1] and more and more and more"), "after": 3, "end": "cut"},
                  {**answers(f"I note [{name}_1] and more and more and more"), "after": 3, "end": "error"}][n % 4]
            upstream.rules((-1, do))
            server.say(prompt(value))
            upstream.control(reset=True)
        for n in range(20):  # what is refused at the door
            _, value = canaries.one()
            broken = [to_json({"messages": value}), to_json({"messages": [{"role": "user", "content": 7, value: 1}]}),
                      b'{"messages":[{"role":"user","content":"' + value.encode(), to_json({"messages": [], "conversationId": value}),
                      to_json({"messages": [{"role": value, "content": "x"}]})][n % 5]
            expect(server.ask("POST", DIRECT, JSON_FIELDS, broken).status in (400, 404), "refused", broken)
        expect_nowhere(canaries, server.places(upstream))


@case
def tools_and_documents_leak_nothing():
    canaries = Canaries()
    with Upstream() as upstream, Watched(upstream) as server:
        for n in range(40):
            topic = "".join("abcdefghij"[int(d)] for d in f"{n:03d}") + "topic"
            name, value = canaries.one()
            text = f"# About {topic}\n\nThe contact for {topic} is {value}, as agreed."
            equal(server.ask("POST", "/v1/documents", [("Content-Type", "text/markdown")], text.encode()).status, 201)
            found = server.ask("GET", f"/v1/documents/search?q={topic}").json()["data"]
            expect(found and value in found[0]["snippet"], "the user finds it", found)
            call = {"type": "tool_use", "id": "toolu_1", "name": "search_documents", "input": {"query": topic}}
            upstream.rules((1, {"answer": {"content": [call], "stop": "tool"}}), (1, answers(f"It is [{name}_1].")))
            events, _, _ = server.say(f"Who is the contact for {topic}?", "/ai/chat", includeSourceReferences=True)
            equal(text_of(events), f"It is {value}.", "the result of a tool came back")
            expect(any(value in event.frame.decode() for event in events if event.type == "citation"), "its source")
            name, value = canaries.one()  # and in the arguments
            call = {"type": "tool_use", "id": "toolu_2", "name": "search_documents", "input": {"query": f"[{name}_1]"}}
            upstream.rules((1, {"answer": {"content": [call], "stop": "tool"}}), (1, answers("Nothing.")))
            events, _, _ = server.say(f"Search for {value}", "/ai/chat")
            asked = [event.data["args"] for event in events if event.type == "tool_call"]
            equal(asked, [{"query": value}], "what the tool was asked, as the user sees it")
        expect_nowhere(canaries, server.places(upstream))


@case
def error_that_repeats_what_was_allowed_is_not_written_down():
    value = "canary.allowed@example.org"
    with Upstream() as upstream, Watched(upstream, policy={"piiAction": "ask"}) as server:
        upstream.control(default={"status": 400, "message": f"cannot read {value}"})
        with server.send(prompt(value)) as reply:
            asked = reply.until("dlp_preview")[-1].data
            equal(server.decide(asked["decisionId"], "allow").status, 200)
            error = reply.rest()[-1]
        equal((error.type, value in json.dumps(error.data)), ("error", False), error.data)
        expect(value not in server.errors(), "the log has it", server.errors()[-400:])


@case
def questions_leak_nothing_however_they_are_answered():
    canaries = Canaries()
    with Upstream() as upstream, Watched(upstream, "--chat-decision", "600s", policy={"piiAction": "ask"}) as server:
        upstream.control(default=answers("Fine."))
        for n in range(30):
            if n == 27:  # the others are left to their deadline
                server.options[server.options.index("600s")] = "500ms"
                server.restart()
            _, value = canaries.one()
            with server.send(prompt(value)) as reply:
                asked = reply.until("dlp_preview")[-1].data
                expect(value not in json.dumps(asked), "what is shown", asked)
                if n < 27:
                    equal(server.decide(asked["decisionId"], ["redact", "block"][n % 2]).status, 200)
                reply.rest()
        expect_nowhere(canaries, server.places(upstream))


def anthropic_request(canaries, n):
    _, value = canaries.one()
    text = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": prompt(value)}]}
    use = {"type": "tool_use", "id": "t1", "name": "send", "input": {"to": {value: [value, {"deep": f"x {value}"}]}}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": json.dumps({"mail": value})}]}
    document = {"type": "document", "title": value, "source": {"type": "text", "media_type": "text/plain", "data": prompt(value)}}
    coded = {"type": "document", "source": {"type": "base64", "media_type": "text/plain",
                                             "data": base64.b64encode(prompt(value).encode()).decode()}}
    return [text, {**text, "system": prompt(value)}, {**text, "system": [{"type": "text", "text": prompt(value)}]},
            {**text, "messages": [*text["messages"], {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]},
            {**text, "messages": [{"role": "user", "content": [document]}]}, {**text, "metadata": {"user_id": value}},
            {**text, "messages": [{"role": "user", "content": [coded]}]},
            {**text, "tools": [{"name": "t", "description": prompt(value), "input_schema": {"type": "object"}}]}][n % 8]


def openai_request(canaries, n):
    _, value = canaries.one()
    text = {"model": "m", "messages": [{"role": "user", "content": prompt(value)}]}
    call = {"id": "c1", "type": "function", "function": {"name": "send", "arguments": json.dumps({"to": value, "deep": json.dumps([value])})}}
    return [text, {**text, "messages": [{"role": "system", "content": prompt(value)}, {"role": "user", "content": "Hi"}]},
            {**text, "messages": [{"role": "user", "content": [{"type": "text", "text": prompt(value)}]}]},
            {**text, "messages": [*text["messages"], {"role": "assistant", "tool_calls": [call]},
                                  {"role": "tool", "tool_call_id": "c1", "content": f'{{"to":"{value}"}}'}]},
            {**text, "user": value}, {**text, "stop": [value]},
            {**text, "tools": [{"type": "function", "function": {"name": "f", "description": prompt(value), "parameters": {}}}]}][n % 7]


@case
def gateway_leaks_nothing():
    canaries = Canaries()
    with Upstream() as upstream, Watched(upstream) as server:
        server.stop()
        config = config_of(upstream, "anthropic")
        config["providers"]["second"] = provider(upstream, "openai")
        server.put("models.json", config)
        server.start()
        upstream.control(default=answers("Certainly, all of it."))
        for n in range(40):
            for path, make in (("/v1/messages", anthropic_request), ("/v1/chat/completions", openai_request)):
                body = {**make(canaries, n), "stream": n % 2 == 0}
                answer = server.ask("POST", path, JSON_FIELDS, to_json(body))
                equal(answer.status, 200, f"{path} {n} ({answer.body[:200]!r})")
        expect_nowhere(canaries, server.places(upstream))


if __name__ == "__main__":
    main()
