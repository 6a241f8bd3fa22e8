#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/openapi.py [CASE]...

/openapi.json and /llms.txt: the document is OpenAPI 3.1, every row of the routes is in it, and real
answers of every kind are what it says, by validators that others wrote.
"""
import pathlib
import re
import subprocess

import packages
from people import REPORT, STREAM, TABLE, added, fields_for, send_file, send_report, table_of, whole
from support import JSON_FIELDS, ROOT, WAIT_S, Server, case, equal, expect, main, to_json

HERE = pathlib.Path(__file__).resolve().parent


class Recorder:
    """A server whose answers are written down."""

    def __init__(self, server):
        self.server = server
        self.answers = []

    def ask(self, method, path, fields=(), body=None):
        answer = self.server.ask(method, path, fields, body)
        is_json = body is not None and dict(fields).get("Content-Type") == "application/json"
        self.answers.append({"method": method, "path": path, "status": answer.status,
                             "sent": body.decode() if is_json else None,
                             "type": answer.field("content-type"), "body": answer.body.decode()})
        return answer

    def __getattr__(self, name):
        return getattr(self.server, name)


def document_of(server):
    answer = server.ask("GET", "/openapi.json")
    equal((answer.status, answer.field("content-type")), (200, "application/json"))
    return answer.json()


def complaints(document, answers):
    """What the validators say; empty when all is well."""
    folder = packages.install(HERE / "openapi", "npm-openapi")
    result = subprocess.run(["node", "check.mjs"], cwd=folder, timeout=WAIT_S, check=False,
                            input=to_json({"document": document, "answers": answers}),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = result.stdout.decode().strip()
    equal(result.returncode, 1 if said else 0, f"exit status ({said[:300]})")
    return said


def validate(document, answers):
    said = complaints(document, answers)
    expect(not said, said[:5000])


# ---- what is asked ----

def use_turns(r):
    question = {"messages": [{"role": "user", "content": "What was my average resting heart rate, is it normal?"}]}
    made = r.ask("POST", "/v1/turns", [*JSON_FIELDS, ("Idempotency-Key", "t1")], to_json(question)).json()
    r.ask("POST", "/v1/turns", [*JSON_FIELDS, ("Idempotency-Key", "t1")], to_json(question))
    r.ask("POST", "/v1/turns", [*JSON_FIELDS, ("Idempotency-Key", "t1")], b'{"messages":[]}')
    path = f"/v1/turns/{made['id']}"
    r.ask("GET", f"{path}/events", STREAM)
    for text in ("thanks!", "Is there anything unusual in my data?", "Do my steps go with my sleep?",
                 "How did my weight change?"):
        r.ask("POST", "/v1/turns", JSON_FIELDS,
              to_json({"messages": [{"role": "user", "content": text}], "stream": False}))
    for turn in r.ask("GET", "/v1/turns?limit=3").json()["data"]:
        r.ask("GET", f"/v1/turns/{turn['id']}")
        r.ask("GET", f"/v1/turns/{turn['id']}/events", STREAM)
        r.ask("GET", f"/v1/turns/{turn['id']}/trace")
    r.ask("GET", f"{path}/events")
    r.ask("GET", f"{path}/events", [*STREAM, ("Last-Event-ID", "x")])
    r.ask("GET", f"{path}/events?from=latest", STREAM)
    r.ask("GET", f"{path}/replay")
    r.ask("GET", f"{path}/replay?from=synthesis")
    r.ask("GET", f"{path}/replay?from=nothing")
    r.ask("POST", f"{path}/cancel", [], b"")
    r.ask("POST", "/v1/turns", JSON_FIELDS, b'{"messages":[{"role":"x"}]}')
    r.ask("POST", "/v1/turns", [("Content-Type", "text/plain")], b"x")
    r.ask("GET", "/v1/turns/x")
    r.ask("GET", "/v1/turns/x/events")
    r.ask("GET", "/v1/turns/x/trace")
    r.ask("GET", "/v1/turns?limit=x")


def use_chats(r):
    hello = {"messages": [{"role": "user", "content": "Hello"}]}
    r.ask("POST", "/ai/chat", JSON_FIELDS, to_json(hello))
    made = r.ask("POST", "/ai/chat/direct/stream", JSON_FIELDS, to_json({**hello, "stream": False})).json()
    path = f"/v1/conversations/{made['conversationId']}"
    r.ask("POST", "/ai/chat", JSON_FIELDS, to_json({**hello, "conversationId": "x"}))
    r.ask("POST", "/ai/chat", [*JSON_FIELDS, ("Last-Event-ID", f"{made['messageId']}:0")], b"")
    r.ask("GET", "/ai/chat")
    r.ask("GET", "/ai/chat", [("Last-Event-ID", "x")])
    r.ask("GET", "/ai/chat?conversationId=conv_nobody")
    r.ask("POST", "/api/chat/dlp-decision", JSON_FIELDS, b'{"decisionId":"dlp_x","choice":"redact"}')
    r.ask("POST", "/api/chat/dlp-decision", JSON_FIELDS, b'{"decisionId":"dlp_x","choice":"x"}')
    r.ask("GET", "/api/chat/dlp-decision/dlp_x")
    r.ask("GET", "/v1/conversations?limit=1")
    r.ask("GET", path)
    r.ask("POST", f"{path}/cancel")
    r.ask("DELETE", f"{path}/shield-map")
    r.ask("DELETE", path)
    r.ask("POST", f"{path}/cancel")
    r.ask("GET", path)
    r.ask("DELETE", path)
    r.ask("DELETE", f"{path}/shield-map")


def use_memory(r):
    entry = r.ask("POST", "/v1/memory", JSON_FIELDS, b'{"category":"goal","text":"x","data":[1]}').json()
    path = f"/v1/memory/{entry['id']}"
    r.ask("GET", path)
    r.ask("PATCH", path, JSON_FIELDS, b'{"data":null}')
    r.ask("PATCH", path, JSON_FIELDS, b"{}")
    r.ask("GET", "/v1/memory?category=goal&limit=1")
    r.ask("GET", "/v1/memory?category=x")
    r.ask("DELETE", path)
    r.ask("DELETE", path)
    r.ask("GET", path)
    r.ask("POST", "/v1/memory", JSON_FIELDS, b"{}")


def use_documents(r):
    r.ask("POST", "/v1/documents?title=T", [("Content-Type", "text/markdown")], b"# Head\n\nwords of a text")
    made = r.ask("POST", "/v1/documents", JSON_FIELDS, b'{"text":"more words","title":"T"}').json()
    path = f"/v1/documents/{made['id']}"
    r.ask("GET", path)
    r.ask("GET", "/v1/documents?limit=1")
    r.ask("GET", "/v1/documents/search?q=words")
    r.ask("GET", "/v1/documents/search?q=%3F")
    r.ask("PUT", path, JSON_FIELDS, b'{"text":"x","mediaType":"text/plain"}')
    r.ask("POST", "/v1/documents", [("Content-Type", "text/html")], b"x")
    r.ask("POST", "/v1/documents", [("Content-Type", "text/plain")], b"")
    r.ask("DELETE", path)
    r.ask("GET", path)


def use_data(r):
    whole(r, TABLE)
    whole(r, table_of(400))
    send_file(r, b"\0")
    job = r.ask("GET", "/v1/data/imports?limit=1").json()["data"][0]
    r.ask("GET", f"/v1/data/imports/{job['id']}/events")
    r.ask("GET", f"/v1/data/imports/{job['id']}/events", [*STREAM, ("Last-Event-ID", "3")])
    r.ask("GET", "/v1/data/imports/x")
    r.ask("GET", "/v1/data/metrics")
    for metric in ("steps", "zork", "nonsense", ""):
        r.ask("GET", f"/v1/data/series?metric={metric}&from=2025-01-01")
    made = added(send_report(r, REPORT + b"2025-02-31,LDL,1,mg/dL,,\n"))
    r.ask("GET", f"/v1/labs/{made['data'][0]['id']}")
    r.ask("GET", "/v1/labs?limit=2")
    r.ask("GET", "/v1/labs/x")
    send_report(r, b"\0")


def use_streams(r):
    r.ask("POST", "/v1/streams/a", JSON_FIELDS, b"1")
    r.ask("POST", "/v1/streams/a?batch=1", JSON_FIELDS, b"[1,2]")
    r.ask("POST", "/v1/streams/a", JSON_FIELDS, b"{")
    r.ask("GET", "/v1/streams/a?live=false")
    r.ask("GET", "/v1/streams/a", [("Accept", "application/json")])
    r.ask("DELETE", "/v1/streams/a")
    r.ask("PUT", "/v1/stream/b", [("Content-Type", "text/plain")], b"x")
    r.ask("POST", "/v1/stream/b", [("Content-Type", "text/plain")], b"y")
    r.ask("GET", "/v1/stream/b?offset=-1")
    r.ask("DELETE", "/v1/stream/b")
    r.ask("GET", "/v1/stream/b?offset=-1")


def use_hooks(r):
    path = "/v1/stream/__ds/subscriptions"
    r.server.ask("PUT", "/v1/stream/events/a", JSON_FIELDS, b"[1,2]")
    r.ask("PUT", f"{path}/h", JSON_FIELDS, to_json({
        "type": "webhook", "streams": ["events/b"], "webhook": {"url": "http://127.0.0.1:9/"}, "description": "x"}))
    r.ask("PUT", f"{path}/p", JSON_FIELDS, to_json({
        "type": "pull-wake", "pattern": "events/*", "wake_stream": "wake", "lease_ttl_ms": 60000}))
    r.ask("PUT", f"{path}/p", JSON_FIELDS, b'{"type":"x"}')
    r.ask("POST", f"{path}/p/streams", JSON_FIELDS, b'{"streams":["events/c"]}')
    r.ask("POST", f"{path}/p/streams", JSON_FIELDS, b'{"streams":1}')
    r.ask("DELETE", f"{path}/p/streams/events%2Fc")
    r.server.ask("POST", "/v1/stream/events/a", JSON_FIELDS, b"3")
    r.ask("GET", f"{path}/p")
    r.ask("GET", f"{path}/nobody")
    claim = r.ask("POST", f"{path}/p/claim", JSON_FIELDS, b'{"worker":"w"}').json()
    r.ask("POST", f"{path}/p/claim", JSON_FIELDS, b'{"worker":"v"}')
    fields = [*JSON_FIELDS, ("Authorization", f"Bearer {claim['token']}")]
    wake = {"wake_id": claim["wake_id"], "generation": claim["generation"]}
    acks = [{"stream": stream["path"], "offset": stream["tail_offset"]} for stream in claim["streams"]]
    r.ask("POST", f"{path}/p/ack", JSON_FIELDS, to_json(wake))
    r.ask("POST", f"{path}/p/ack", fields, to_json({**wake, "acks": acks}))
    r.ask("POST", f"{path}/p/release", fields, to_json(wake))
    r.ask("POST", f"{path}/p/ack", fields, to_json({**wake, "done": True}))
    r.ask("POST", f"{path}/h/callback", fields, to_json(wake))
    r.ask("GET", "/v1/stream/__ds/jwks.json")
    r.ask("DELETE", f"{path}/p")


def use_operation(r):
    r.ask("POST", "/v1/links", JSON_FIELDS, b'{"stream":"a","expires_in":60}')
    r.ask("POST", "/v1/links", JSON_FIELDS, b'{"stream":1}')
    r.ask("DELETE", "/v1/links")
    r.ask("POST", "/v1/store/backup", JSON_FIELDS, b'{"path":"/nowhere"}')
    key = r.ask("POST", "/v1/keys", JSON_FIELDS, b'{"label":"x","owner":"ann","scopes":["read"]}').json()
    r.ask("GET", "/v1/keys")
    r.ask("GET", "/v1/whoami")
    r.ask("DELETE", f"/v1/keys/{key['name']}")
    r.ask("DELETE", "/v1/keys/nobody")
    r.ask("POST", "/v1/store/check", [], b"")
    r.ask("POST", "/v1/drain", [], b"")
    for path in ("/healthz", "/readyz", "/metrics", "/docs/errors", "/openapi.json", "/llms.txt"):
        r.ask("GET", path)


# ---- cases ----

@case
def document_is_openapi_and_real_answers_are_what_it_says():
    with Server("--webhook-allow", "127.0.0.1") as server:
        recorder = Recorder(server)
        for use in (use_data, use_turns, use_chats, use_memory, use_documents, use_streams, use_hooks,
                    use_operation):
            use(recorder)
        expect(len(recorder.answers) > 80, "answers", len(recorder.answers))
        validate(document_of(server), recorder.answers)


@case
def validators_find_what_is_wrong():
    with Server() as server:
        document = document_of(server)
        good = {"method": "GET", "path": "/v1/memory", "status": 200, "type": "application/json",
                "body": '{"data":[],"next_cursor":null}'}
        equal(complaints(document, [good]), "")
        for change, text in (({"path": "/v1/nothing"}, "operation"), ({"method": "PUT"}, "operation"),
                             ({"status": 299}, "status"), ({"type": "text/html"}, "media type"),
                             ({"body": '{"data":[]}'}, "next_cursor"), ({"body": '{"data":[{}],"next_cursor":null}'}, "id"),
                             ({"body": '{"data":[],"next_cursor":null,"x":1}'}, "additional"),
                             ({"path": "/v1/turns/x/events", "type": "text/event-stream",
                               "body": 'id: 1\nevent: turn.started\ndata: {"at":1}\n\n'}, "turn_id")):
            expect(text in complaints(document, [{**good, **change}]), f"nobody minds {change}")
        for broken in ({"openapi": "3.1.0"}, {**document, "paths": {"/x": {"get": {}}, "y": 1}}):
            said = complaints({**broken, "components": document["components"]}, [])
            expect("document" in said, "nobody minds", said)


@case
def refusals_of_keys_are_in_the_document():
    with Server(is_open=False) as server:
        reader = fields_for(server, "ann", "--scope", "read")
        recorder = Recorder(server)
        document = document_of(server)
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if method == "head" or operation.get("security") == []:
                    continue
                target = re.sub(r"\{[^}]*\}", "x", path.replace("{space}/{method}", "chat/send"))
                body = None if method in ("get", "delete") else b"{}"
                recorder.ask(method.upper(), target, JSON_FIELDS, body)
                # Any key may log out.
                if method != "get" and operation["operationId"] != "auth.logout":
                    recorder.ask(method.upper(), target, [*JSON_FIELDS, *reader], body)
        statuses = [answer["status"] for answer in recorder.answers]
        equal(set(statuses), {401, 403}, "refusals")
        validate(document, recorder.answers)


@case
def every_row_of_the_routes_is_in_the_document():
    rows = re.findall(r"\{HTTP_([A-Z]+),\s*([^,]*?),\s*\w+,\s*SCOPE_(\w+),[^\"]*\"([a-z_.]+)\"\}",
                      (ROOT / "src/serve/routes.c").read_text())
    expect(len(rows) > 40, "rows", len(rows))
    with Server(is_open=False) as server:
        document = document_of(server)
        seen = {operation["operationId"]: (method.upper(), operation)
                for methods in document["paths"].values() for method, operation in methods.items()}
        equal(sorted(seen), sorted(row[3] for row in rows), "operations")
        for method, _, scope, name in rows:
            equal(seen[name][0], method, name)
            equal(seen[name][1].get("security") == [], scope == "NONE", f"{name}: whether a key is needed")
        codes = document["components"]["schemas"]["ErrorCode"]["enum"]
        page = server.ask("GET", "/docs/errors").body.decode()
        equal(codes, re.findall(r'<dt id="(\w+)">', page), "codes")


@case
def machines_that_read_find_everything():
    with Server(is_open=False) as server:
        answer = server.ask("GET", "/llms.txt")
        equal((answer.status, answer.field("content-type")), (200, "text/plain; charset=utf-8"))
        text = answer.body.decode()
        expect(text.startswith("# weir\n\n> "), "its head", text[:80])
        for link in re.findall(r"\]\((/[^)]*)\)", text):
            equal(server.ask("GET", link).status, 200, link)
        rows = set(re.findall(r"^- `([A-Z]+) (/\S*)`: \S", text, re.M))
        wanted = {(method.upper(), path) for path, methods in document_of(server)["paths"].items()
                  for method in methods}
        equal(rows, wanted)


if __name__ == "__main__":
    main()
