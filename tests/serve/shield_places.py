#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/shield_places.py [CASE...]

Three hundred requests with a value of its own in each, at every place of a request and coded in every
way that docs/shield.md says is found: none of them reaches the provider, a log, the audit, the metrics,
an error or a file of the store, and those that can be answered have their value back.
"""
import base64
import html
import itertools
import json
import pathlib
import re
import unicodedata
import urllib.parse

from model_support import FORMATS, KEY, Asking, Upstream, provider
from support import JSON_FIELDS, case, equal, expect, main, make_key, to_json

N_REQUESTS = 300
PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}
UNSEEN = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")


def wide(text):
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


# How a value may be written so that a reader still reads it.
CODINGS = {
    "plain": lambda v: v,
    "json": lambda v: v.replace("@", "\\u0040"),
    "percent": lambda v: urllib.parse.quote(v, safe=""),
    "twice": lambda v: urllib.parse.quote(urllib.parse.quote(v, safe=""), safe=""),
    "entities": lambda v: v.replace("@", "&#64;").replace(".", "&period;"),
    "unseen": lambda v: "\u200b".join(v),
    "wide": wide,
    "markdown": lambda v: v.replace("@", "\\@").replace(".", "\\."),
}

# Where it may stand, in each dialect: what is added to a request.
PLACES = {
    "anthropic": {
        "message": lambda v: {"messages": [{"role": "user", "content": f"I am {v}, and you?"}]},
        "history": lambda v: {"messages": [{"role": "user", "content": "Hi"},
                                           {"role": "assistant", "content": [{"type": "text", "text": f"Is it {v} ?"}]},
                                           {"role": "user", "content": "Yes"}]},
        "system": lambda v: {"system": [{"type": "text", "text": f"You help {v} today"}]},
        "tool arguments": lambda v: {"messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"deep": [{"to": v}]}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "sent"}]}]},
        "tool names": lambda v: {"messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {v: True}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "sent"}]}]},
        "tool result": lambda v: {"messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1",
                                          "content": [{"type": "text", "text": f"sent to {v} today"}]}]}]},
        "json in a result": lambda v: {"messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1",
                                          "content": json.dumps({"rows": [{"mail": v}]})}]}]},
        "tool description": lambda v: {"tools": [{"name": "f", "description": f"asks {v} first",
                                                  "input_schema": {"type": "object"}}]},
        "schema": lambda v: {"tools": [{"name": "f", "input_schema": {"type": "object", "properties": {
            "a": {"type": "string", "default": v}}}}]},
        "metadata": lambda v: {"metadata": {"user_id": v}},
        "stop": lambda v: {"stop_sequences": [v]},
        "document": lambda v: {"messages": [{"role": "user", "content": [
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": f"of {v} only"},
             "title": f"About {v} only"}, {"type": "text", "text": "Sum it up"}]}]},
        "base64": lambda v: {"messages": [{"role": "user", "content": [
            {"type": "document", "source": {"type": "base64", "media_type": "text/plain",
                                            "data": base64.b64encode(f"of {v} only".encode()).decode()}},
            {"type": "text", "text": "Sum it up"}]}]},
        "cut": lambda v: {"messages": [{"role": "user", "content": [
            {"type": "text", "text": f"I am {v[:len(v) // 2]}"}, {"type": "text", "text": f"{v[len(v) // 2:]} now"}]}]},
        "unknown member": lambda v: {"x_new_thing": {"of": v}},
        "id": lambda v: {"messages": [{"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": v, "content": "x"}]}]},
        "role": lambda v: {"messages": [{"role": v, "content": "Hi"}]},
    },
    "openai": {
        "message": lambda v: {"messages": [{"role": "user", "content": [{"type": "text", "text": f"I am {v} now"}]}]},
        "name": lambda v: {"messages": [{"role": "user", "name": v, "content": "Hi"}]},
        "system": lambda v: {"messages": [{"role": "system", "content": f"for {v} only"}, {"role": "user", "content": "Hi"}]},
        "tool arguments": lambda v: {"messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {
                "name": "f", "arguments": json.dumps({"to": v})}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "sent"}]},
        "tool result": lambda v: {"messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {
                "name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": f"sent to {v} today"}]},
        "user": lambda v: {"user": v},
        "stop": lambda v: {"stop": v},
        "prediction": lambda v: {"prediction": {"type": "content", "content": f"of {v} only"}},
        "response format": lambda v: {"response_format": {"type": "json_schema", "json_schema": {
            "name": "n", "schema": {"type": "object", "description": f"of {v} only"}}}},
        "file": lambda v: {"messages": [{"role": "user", "content": [{"type": "file", "file": {
            "filename": "a.txt", "file_data": "data:text/plain;base64," + base64.b64encode(f"of {v} only".encode()).decode()}}]}]},
        "metadata": lambda v: {"metadata": {"who": v}},
    },
}


def request(kind, added):
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **added}
    return {"max_tokens": 100, **body} if kind == "anthropic" else body


def forms_of_text(text):
    """What readers would make of it: all layers off, one after the other."""
    forms = [text]
    for _ in range(4):
        text = html.unescape(urllib.parse.unquote(re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text)))
        text = unicodedata.normalize("NFKC", UNSEEN.sub("", text.replace("\\\\", "\\").replace("\\@", "@").replace("\\.", ".")))
        forms.append(text)
    for run in re.findall(r"[A-Za-z0-9+/]{24,}={0,2}", forms[0]):
        try:
            forms.append(base64.b64decode(run + "=" * (-len(run) % 4)).decode("utf-8", "replace"))
        except ValueError:
            pass
    return forms


def expect_no_mark(where, text):
    for form in forms_of_text(text):
        at = form.find("zq")
        expect(not re.search(r"zq\d+canary", form), f"a value is in {where}", form[max(0, at - 80):at + 80])


def cases():
    """(dialect, place, coding), each pair of place and coding before any comes again."""
    every = [(kind, place, coding) for kind in FORMATS for place in PLACES[kind] for coding in CODINGS]
    # A coded value that is cut in the middle of its code, or has its code where only names can be, is another thing.
    every = [c for c in every if c[1] not in ("cut", "id", "role", "file", "base64") or c[2] == "plain"]
    return list(itertools.islice(itertools.cycle(every), N_REQUESTS))


@case
def no_value_leaves_or_is_kept():
    with Upstream() as upstream:
        upstream.reset(key=KEY, rules=[{"times": -1, "do": {"answer": {
            "content": [{"type": "text", "text": "To [email_1]."}], "stop": "end"}}}])
        config = {"providers": {kind: provider(upstream, kind) for kind in FORMATS}, "roles": {}}
        with Asking(config, is_open=False, has_data=False) as server:
            server.key = make_key(server, "--scopes", "read,write,admin")
            n_sent = check_requests(server)
            seen = upstream.seen(has_bodies=True)
            equal(len(seen), n_sent, "requests that were passed on")
            for one in seen:
                expect_no_mark("what the provider got", one["body"])
            expect_no_mark("the audit", server.ask("GET", "/v1/shield/audit?limit=100").body.decode())
            expect_no_mark("the metrics", server.ask("GET", "/metrics").body.decode())
            expect_no_mark("the log", server.errors())
            server.stop()
            for path in pathlib.Path(server.data).rglob("*"):
                data = path.read_bytes() if path.is_file() else b""
                expect(b"canary" not in data, "a value is in", path.name, data[max(0, data.find(b"canary") - 60):][:120])


def check_requests(server):
    n_sent = 0
    for n, (kind, place, coding) in enumerate(cases()):
        value = f"zq{n}canary@example.org"
        body = request(kind, PLACES[kind][place](CODINGS[coding](value)))
        answer = server.ask("POST", PATHS[kind], JSON_FIELDS, to_json(body))
        about = f"{kind} {place} {coding}: {answer.body[:300]!r}"
        if place in ("id", "role"):
            expect(400 <= answer.status < 500, "refused", about)
            expect_no_mark("an error", answer.body.decode())
            continue
        equal(answer.status, 200, about)
        n_sent += 1
        if place not in ("cut", "file", "base64") and coding == "plain":
            expect(value.encode() in answer.body, "the value is back", about)
    return n_sent


if __name__ == "__main__":
    main()
