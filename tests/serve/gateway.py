#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/gateway.py [CASE...]

The gateway, /v1/messages and /v1/chat/completions: the official npm SDKs of Anthropic and OpenAI,
changed in nothing but their base URL, with the shield between them and the provider (a stand-in,
tests/upstream); a lost connection; a killed server; errors as their SDKs know them.
"""
import json
import pathlib
import re
import subprocess
import tempfile

from model_support import FORMATS, KEY, Asking, Upstream, forms_of, provider
from packages import install
from support import JSON_FIELDS, WAIT_S, case, equal, expect, main, make_key, to_json

MAIL, CARD, PHONE = "ada.canary@example.org", "4012 8888 8888 1881", "+49 30 901820"
PROMPT = f"Write to {MAIL} that card {CARD} is blocked; call {PHONE}."
PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}


def config(upstream, kinds=FORMATS, **members):
    return {"providers": {kind: provider(upstream, kind, **members) for kind in kinds}, "roles": {}}


class Gateway(Asking):
    """A server with both providers, one key, and no data."""

    def __init__(self, upstream, *options, **members):
        upstream.reset(key=KEY)
        super().__init__(config(upstream, **members), *options, is_open=False, has_data=False)

    def __enter__(self):
        super().__enter__()
        self.key = make_key(self)
        return self

    def sdk(self, kind, way, text=PROMPT):
        """What an SDK says."""
        folder = install(pathlib.Path(__file__).resolve().parent / "npm_gateway", "npm-gateway")
        done = subprocess.run(["node", folder / "ask.mjs", kind, self.url(), self.key, way, text], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_S * 4)
        expect(done.stdout, f"{kind} {way} says something", done.stderr.decode())
        return json.loads(done.stdout)

    def post(self, kind, body):
        data = body if isinstance(body, bytes) else to_json(body)
        return self.ask("POST", PATHS[kind], JSON_FIELDS, data)

    def ask_with(self, key, method, path, fields=(), body=None):
        """With another key, or with none."""
        with self.connect() as conn:
            conn.key = key
            return conn.ask(method, path, fields, body)

    def stored(self):
        """All bytes on the disk, when all of them are there."""
        self.stop()
        return b"".join(path.read_bytes() for path in pathlib.Path(self.data).rglob("*") if path.is_file())


def says(text, **more):
    return {"times": -1, "do": {"answer": {"content": [{"type": "text", "text": text}], "stop": "end"}, **more}}


def request(kind, text=PROMPT, **members):
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **members}
    return {"max_tokens": 100, **body} if kind == "anthropic" else body


def bodies(upstream):
    return [json.dumps(seen["body"]) if not isinstance(seen["body"], str) else seen["body"]
            for seen in upstream.seen(has_bodies=True)]


def expect_clean(where, data):
    for value in (MAIL, CARD, PHONE, CARD.replace(" ", "")):
        expect(value not in data, f"{value} is in {where}", data[:400])


def events_of(answer):
    """[id, type, data] of a whole event stream."""
    found = []
    for block in answer.body.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
        if "data" in lines:
            found.append((int(lines["id"]), lines.get("event", ""), lines["data"]))
    return found


# ---- SDKs ----

@case
def sdks_get_their_answers_with_the_values_and_the_provider_does_not():
    reply = "Done: I told [email_1] about [credit_card_1], [Phone 1]."
    shown = f"Done: I told {MAIL} about {CARD}, {PHONE}."
    with Upstream() as upstream, Gateway(upstream) as server:
        for kind in FORMATS:
            for way in ("plain", "stream"):
                upstream.reset(key=KEY)
                upstream.rules(says(reply))
                said = server.sdk(kind, way)
                equal(said.get("text"), shown, f"{kind} {way}: {said}")
                if way == "stream":
                    equal(said["shown"], shown, "what was shown as it came")
                [body] = bodies(upstream)
                expect_clean("the provider's request", body)
                expect("[email_1]" in body and "[credit_card_1]" in body and "[phone_1]" in body, "placeholders", body)
                equal([seen["key"] for seen in upstream.seen()], ["right"], "the provider's own key")
        data = server.stored()
        for value in (MAIL, CARD, PHONE):
            expect(value.encode() not in data, f"{value} is on the disk")
        for form in forms_of(server.key):
            expect(form not in data, "the key of the client is on the disk")


@case
def tools_get_the_values_in_their_arguments():
    with Upstream() as upstream, Gateway(upstream) as server:
        for kind in FORMATS:
            upstream.reset(key=KEY)
            call = {"type": "tool_use", "id": "call_1", "name": "send", "input": {"to": "[email_1]"}}
            upstream.rules({"times": 1, "do": {"answer": {"content": [call], "stop": "tool"}}},
                           says("It went to [email_1]."))
            said = server.sdk(kind, "tools")
            equal(said, {"input": {"to": MAIL}, "text": f"It went to {MAIL}."}, kind)
            equal(len(bodies(upstream)), 2, "requests")
            for body in bodies(upstream):
                expect_clean("a request with a result of a tool", body)
                expect("[email_1]" in body, "the same placeholder", body)


@case
def a_lost_connection_is_gone_on_with():
    reply = "".join(f"word{i} [email_1] " for i in range(40)).strip()
    with Upstream() as upstream, Gateway(upstream) as server:
        for kind in FORMATS:
            upstream.reset(key=KEY)
            upstream.rules(says(reply, delta_ms=5))
            said = server.sdk(kind, "cut")
            equal(said.get("status"), 200, f"{kind}: {said}")
            expect(re.fullmatch("gw_[0-9A-Z]{26}", said["stream"]), "X-Weir-Stream", said["stream"])
            equal(said["text"], reply.replace("[email_1]", MAIL), "all of it, once")
            equal(said["ids"], list(range(said["ids"][0], said["ids"][0] + said["n"])), "ids without a gap")
            equal(len(upstream.seen()), 1, "it was asked once")
            # And again, from everywhere: the same bytes.
            path = f"/v1/streams/{said['stream']}"
            whole = server.ask("GET", path)
            equal(whole.status, 200, whole)
            for last, _, _ in events_of(whole)[:-1:7]:
                rest = server.ask("GET", path, [("Last-Event-ID", str(last))])
                expect(whole.body.endswith(rest.body) and rest.body, "the rest", last, rest.body[:200])
            equal(server.ask_with(make_key(server, "--owner", "eve"), "GET", path).status, 404, "somebody else")
            equal(server.ask("GET", "/v1/streams/gw_" + "0" * 26).status, 404, "no such stream")


@case
def a_killed_server_ends_the_stream_with_an_error():
    with Upstream() as upstream, Gateway(upstream) as server:
        for kind in FORMATS:
            upstream.reset(key=KEY)
            upstream.rules(says("one two [email_1] three four", after=3, end="stall"))
            with server.connect() as conn:
                conn.request("POST", PATHS[kind], JSON_FIELDS, to_json(request(kind, stream=True)))
                head = conn.head()
                equal(head.status, 200, "it begins")
                stream = head.field("x-weir-stream")
                conn.take_until(b"one")
            server.kill()
            server.start()
            whole = server.ask("GET", f"/v1/streams/{stream}")
            events = events_of(whole)
            equal([number for number, _, _ in events], list(range(events[0][0], events[0][0] + len(events))), "ids")
            expect("error" in json.loads(events[-1][2]), "the last event is an error", events[-1])
            expect("restarted" in events[-1][2], "which says why", events[-1])


# ---- failures ----

@case
def errors_are_those_of_the_provider():
    with Upstream() as upstream, Gateway(upstream) as server:
        for kind in FORMATS:
            for status, name in ((400, "BadRequestError"), (429, "RateLimitError"), (500, "InternalServerError")):
                upstream.reset(key=KEY)
                upstream.rules({"times": -1, "do": {"status": status, "message": "No, [email_1]", "retry_after": "7"}})
                said = server.sdk(kind, "stream")
                equal((said.get("error"), said.get("status")), (name, status), f"{kind}: {said}")
                expect(MAIL in said["message"], "the provider's words, with the value", said)
                answer = server.post(kind, request(kind))
                equal((answer.status, answer.field("retry-after")), (status, "7"), "as it was said")


@case
def streams_that_break_end_with_an_error():
    with Upstream() as upstream, Gateway(upstream) as server:
        for kind in FORMATS:
            for end in ("cut", "reset", "eof", "error", "not json"):
                upstream.reset(key=KEY)
                upstream.rules(says("one two three four [email_", after=4, end=end))
                answer = server.post(kind, request(kind, stream=True))
                equal(answer.status, 200, (kind, end))
                events = events_of(answer)
                expect("one" in answer.body.decode(), "what had come", kind, end)
                expect("error" in json.loads(events[-1][2]), "then an error, and nothing behind it", kind, end, events[-1])


@case
def what_cannot_be_forwarded_is_said_in_the_same_form():
    with Upstream() as upstream:
        with Gateway(upstream, kinds=("anthropic",)) as server:
            answer = server.post("openai", request("openai"))
            equal(answer.status, 404, answer.body)
            expect("no provider of type openai" in json.loads(answer.body)["error"]["message"], "why", answer.body)
            equal(server.post("anthropic", b"{").status, 400, "half a body")
            equal(json.loads(server.post("anthropic", b"[]").body)["error"]["type"], "invalid_request_error", "an array")
            path, body = PATHS["anthropic"], to_json(request("anthropic"))
            equal(server.ask_with(None, "POST", path, JSON_FIELDS, body).status, 401, "no key")
            upstream.rules(says("Hello"))
            equal(server.ask_with(None, "POST", path, [("X-Api-Key", server.key), *JSON_FIELDS], body).status, 200, "x-api-key")
        with Gateway(upstream) as server:
            upstream.rules({"times": -1, "do": {"end": "before head"}})
            answer = server.post("openai", request("openai"))
            equal(answer.status, 502, answer.body)
            expect_clean("the error", answer.body.decode())


@case
def answers_in_no_form_of_the_api_are_refused():
    with Upstream() as upstream, Gateway(upstream) as server:
        for kind in FORMATS:
            for do, status in (({"status": 200, "body": "<html>Log in</html>", "content_type": "text/html"}, 502),
                               ({"status": 200, "body": "", "content_type": "application/json"}, 502),
                               ({"status": 503, "body": "<html>Bad gateway</html>", "content_type": "text/html"}, 503),
                               ({"redirect": "http://127.0.0.1:1/"}, 502)):
                upstream.reset(key=KEY)
                upstream.rules({"times": -1, "do": do})
                for streams in (False, True):
                    answer = server.post(kind, request(kind, stream=streams))
                    equal(answer.status, status, (kind, do, answer.body))
                    expect("not in the form" in json.loads(answer.body)["error"]["message"], "why", answer.body)
                    expect(b"<html>" not in answer.body, "somebody else's page", answer.body)


@case
def what_stays_in_the_house_is_not_changed():
    with Upstream() as upstream, Gateway(upstream, external=False) as server:
        for kind in FORMATS:
            upstream.rules(says("Hello [email_1]"))
            answer = server.post(kind, request(kind, stream=True))
            expect("Hello [email_1]" in "".join(json.loads(data).get("delta", {}).get("text") or
                                                (json.loads(data).get("choices") or [{}])[0].get("delta", {}).get("content") or ""
                                                for _, _, data in events_of(answer) if data != "[DONE]"), "as it came", answer.body)
        for body in bodies(upstream):
            expect(MAIL in body and CARD in body, "as it was asked", body)


@case
def a_policy_can_block():
    with Upstream() as upstream:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"piiAction": "block"}, file)
            file.flush()
            with Gateway(upstream, "--shield", file.name) as server:
                for kind in FORMATS:
                    answer = server.post(kind, request(kind, stream=True))
                    equal(answer.status, 403, answer.body)
                    expect("email" in answer.body.decode(), "what it was about", answer.body)
                    expect_clean("the refusal", answer.body.decode())
                    upstream.rules(says("Hello"))
                    equal(server.post(kind, request(kind, "Nothing private here.")).status, 200, "what is clean passes")
                equal(len(upstream.seen()), 2, "nothing else has left")


if __name__ == "__main__":
    main()
