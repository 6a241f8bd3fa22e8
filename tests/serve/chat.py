#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/chat.py [CASE]...

Chats over HTTP, against the real server and a model's stand-in: events and their resuming at every
place, several readers, attaching, answers without a stream, conversations, who may see what, and
what becomes of a reply that nobody reads.
"""
import json
import threading

from chat_support import DIRECT, ChatServer, Reply, answers, check_whole, only, text_of, types_of, wire
from model_support import Upstream
from support import JSON_FIELDS, bearer, case, equal, expect, main, make_key, refused, to_json, wait_until

LONG = "The quick brown fox jumps over the lazy dog, and nobody minds. " * 4
NOBODY = "msg_01J00000000000000000000000"


def stand_in(**default):
    upstream = Upstream()
    upstream.__enter__()
    upstream.control(default=answers(LONG, **default))
    return upstream


UPSTREAM = {}


def shared():
    """One stand-in for all cases, as if it were new."""
    if not UPSTREAM:
        UPSTREAM["it"] = stand_in()
    UPSTREAM["it"].reset()
    UPSTREAM["it"].control(default=answers(LONG))
    return UPSTREAM["it"]


def keyed(server, *owners):
    return [make_key(server, "--owner", owner) for owner in owners]


# ---- events ----

@case
def reply_is_a_stream_of_numbered_events_that_ends_with_done():
    with ChatServer(shared()) as server:
        events, message, conversation = server.say("Hello")
        equal(text_of(events), LONG)
        done = only(events, "done")
        equal(done["model"], "claude-haiku-4-5")
        expect(done["usage"]["input"] > 0 and done["usage"]["output"] > 0, "usage", done)
        expect(conversation.startswith("conv_") and events[0].message == message, "ids", conversation, message)
        # The same conversation goes on; one of the client's own is made.
        _, other, again = server.say("And?", conversationId=conversation)
        equal((again, other != message), (conversation, True))
        equal(server.say("Hi", conversationId="conv_abc-DEF_1")[2], "conv_abc-DEF_1")
        events, _, _ = server.say("With an agent", "/ai/chat", agentId="asst_default")
        equal(text_of(events), LONG)


@case
def builtin_provider_replies_without_any_model():
    with ChatServer() as server:
        for target in (DIRECT, "/ai/chat"):
            events, _, _ = server.say("What can you do?", target)
            expect(text_of(events).strip() and events[-1].type == "done", "a reply", types_of(events))


@case
def every_place_is_resumed_with_the_same_bytes_by_post_and_get():
    upstream = shared()
    upstream.rules((1, answers(LONG, delta_ms=5)))
    with ChatServer(upstream) as server:
        events, message, _ = server.say("Hello")
        whole = wire(events)
        for at in range(len(events)):
            for method, target in (("GET", "/ai/chat"), ("POST", "/ai/chat"), ("POST", DIRECT)):
                with server.resume(f"{message}:{at}", method, target) as reply:
                    equal(reply.opening.status, 200, f"{method} {at}")
                    equal(reply.message, message)
                    equal(wire(reply.rest()), whole[len(wire(events[:at])):], f"{method} {at}")
        for method in ("GET", "POST"):
            with server.resume(events[-1].id, method) as reply:
                equal(reply.opening.status, 204, "all of it was seen")
            with server.resume(f"{message}:{len(events) + 1}", method) as reply:
                refused(reply.refusal(), 400, "invalid_field", "beyond")
            for bad in ("x", f"{message}", f"{message}:", f"{message}:-1", f"{message}:1x", ":5", "7",
                        f"{message}:99999999999999999999"):
                with server.resume(bad, method) as reply:
                    refused(reply.refusal(), 400, "invalid_field", "Last-Event-ID")
            for unknown in (f"{NOBODY}:1", "msg_abc:42", f"{message[:-1]}:1"):
                with server.resume(unknown, method) as reply:
                    refused(reply.refusal(), 404, "not_found")
        # A place that is asked for begins nothing, whatever the body is.
        body = {"messages": [{"role": "user", "content": "Another"}]}
        with Reply(server, "POST", "/ai/chat", [("Last-Event-ID", f"{message}:0")], body) as reply:
            equal(wire(reply.rest()), whole)
        with Reply(server, "GET", f"/ai/chat?last_event_id={message}:1") as reply:
            equal(reply.next().number, 2)


@case
def readers_of_a_running_reply_get_the_same():
    upstream = shared()
    upstream.rules((1, answers(LONG, hold_first="go")))
    with ChatServer(upstream) as server:
        with server.send("Hello") as first, Reply(server) as third, \
                Reply(server, target=f"/ai/chat?conversationId={first.conversation}") as second:
            equal((second.message, third.message), (first.message, first.message))
            upstream.control(release=["go"])
            whole = wire(check_whole(first.rest()))
            equal(wire(second.rest()), whole)
            equal(wire(third.rest()), whole)


@case
def cut_reader_goes_on_where_it_was_while_the_reply_runs():
    upstream = shared()
    upstream.rules((1, answers(LONG, delta_ms=20)))
    with ChatServer(upstream) as server:
        with server.send("Hello") as reply:
            seen = [reply.next() for _ in range(3)]
            reply.reset()
        while seen[-1].type != "done":
            with server.resume(seen[-1].id, "POST") as reply:
                seen += [event for event in (reply.next() for _ in range(4)) if event]
        check_whole(seen)
        equal(text_of(seen), LONG)
        with Reply(server) as reply:
            equal(wire(reply.rest()), wire(seen))


@case
def restart_in_the_middle_is_a_pause():
    upstream = shared()
    upstream.rules((1, answers(LONG, delta_ms=30)))
    with ChatServer(upstream) as server:
        with server.send("Hello") as reply:
            seen = [reply.next() for _ in range(4)]
        server.kill()
        server.start()
        with server.resume(seen[-1].id) as reply:
            seen += reply.rest()
        check_whole(seen)
        equal(seen[-1].type, "done")
        with Reply(server) as reply:
            equal(wire(reply.rest()), wire(seen))


@case
def old_http_head_and_pages_of_other_origins_are_served():
    with ChatServer(shared(), "--cors-origin", "https://app.example") as server:
        events, message, conversation = server.say("Hello")
        with Reply(server, version="1.0") as reply:
            equal(reply.opening.field("transfer-encoding"), None)
            equal(wire(reply.rest()), wire(events))
        head = server.ask("HEAD", f"/ai/chat?conversationId={conversation}")
        equal((head.status, head.body, head.field("content-type")), (200, b"", "text/event-stream"))
        origin = [("Origin", "https://app.example")]
        with Reply(server, fields=origin) as reply:
            equal(reply.opening.field("access-control-allow-origin"), "https://app.example")
            expect("Weir-Message-Id" in reply.opening.field("access-control-expose-headers"), "ids for pages")
            reply.rest()
        asked = server.ask("OPTIONS", "/ai/chat", [*origin, ("Access-Control-Request-Method", "POST")])
        equal((asked.status, asked.field("allow")), (204, "GET, HEAD, POST, OPTIONS"))
        equal(server.ask("PUT", "/ai/chat", body=b"").status, 405)


# ---- tools ----

def calls(name, args):
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": args}
    return {"answer": {"content": [{"type": "text", "text": "Let me see. "}, block], "stop": "tool"}}


@case
def tools_are_called_and_every_call_has_its_end():
    upstream = shared()
    with ChatServer(upstream) as server:
        upstream.rules((1, calls("list_data", {})), (1, calls("no_such_tool", {"x": 1})))
        events, message, conversation = server.say("What do you know?", "/ai/chat")
        kinds = [event.type for event in events if event.type != "token"]
        equal([kind for kind in kinds if kind.startswith("tool")],
              ["tool_call", "tool_result", "tool_call", "tool_error"])
        first = [event.data for event in events if event.type == "tool_call"][0]
        equal((first["name"], first["args"]), ("list_data", {}))
        equal(text_of(events), "Let me see. Let me see. " + LONG)
        with server.resume(f"{message}:0", "POST") as reply:
            equal(wire(reply.rest()), wire(events))
        upstream.rules((1, calls("list_data", {})))
        body = {"messages": [{"role": "user", "content": "Again"}], "stream": False, "conversationId": conversation}
        result = server.ask("POST", "/ai/chat", JSON_FIELDS, to_json(body)).json()
        equal([call["name"] for call in result["toolCalls"]], ["list_data"])
        # Without an agent there are none to be called.
        equal(json.loads(upstream.seen(has_bodies=True)[0]["body"]).get("tools") is None, False)
        server.say("Hello")
        expect(not json.loads(upstream.seen(has_bodies=True)[-1]["body"]).get("tools"), "tools without an agent")


# ---- without a stream ----

@case
def answer_without_a_stream_is_one_object():
    upstream = shared()
    with ChatServer(upstream) as server:
        body = {"messages": [{"role": "user", "content": "Hello"}], "stream": False}
        answer = server.ask("POST", DIRECT, JSON_FIELDS, to_json(body))
        equal(answer.status, 200, answer.body)
        result = answer.json()
        equal(set(result), {"messageId", "conversationId", "text", "toolCalls", "citations", "usage", "model"})
        equal((result["text"], result["toolCalls"], result["citations"]), (LONG, [], []))
        equal(answer.field("weir-message-id"), result["messageId"])
        with server.resume(f"{result['messageId']}:0") as reply:
            equal(text_of(check_whole(reply.rest())), LONG)
        upstream.rules((-1, {"status": 400, "message": "no"}))
        answer = server.ask("POST", DIRECT, JSON_FIELDS, to_json(body))
        refused(answer, 502, "upstream_unavailable")
        with server.resume(f"{answer.field('weir-message-id')}:0") as reply:
            equal(only(check_whole(reply.rest()), "error")["code"], "upstream_unavailable")


@case
def failure_of_the_model_ends_the_stream_with_error():
    upstream = shared()
    upstream.rules((-1, {"status": 400, "message": "no"}))
    with ChatServer(upstream) as server:
        events, _, _ = server.say("Hello")
        equal(only(events, "error")["code"], "upstream_unavailable")


# ---- requests ----

@case
def bodies_that_are_wrong_are_refused_with_their_place():
    with ChatServer() as server:
        good = [{"role": "user", "content": "Hi"}]
        many = [{"role": "user", "content": "x"}] * 1001
        for body, code, status, text in (
                (b"", "invalid_request", 400, "no body"), (b"{", "invalid_request", 400, "JSON"),
                (b"[]", "invalid_request", 400, "object"), ({}, "invalid_field", 400, "messages"),
                ({"messages": "Hi"}, "invalid_field", 400, "messages"), ({"messages": []}, "invalid_field", 400, "messages"),
                ({"messages": ["Hi"]}, "invalid_field", 400, "messages[0]"),
                ({"messages": [*good, {"role": "system", "content": "x"}]}, "invalid_field", 400, "messages[1].role"),
                ({"messages": [{"role": "user"}]}, "invalid_field", 400, "messages[0].content"),
                ({"messages": [{"role": "user", "content": 7}]}, "invalid_field", 400, "messages[0].content"),
                ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "invalid_field", 400, "messages[0].content"),
                ({"messages": [{"role": "user", "content": ""}]}, "invalid_field", 400, "messages[0].content is empty"),
                ({"messages": [{"role": "user", "content": "x" * 600_000}]}, "payload_too_large", 413, "messages[0].content"),
                ({"messages": [*good, {"role": "assistant", "content": "x"}]}, "invalid_field", 400, "messages[1].role"),
                ({"messages": many}, "invalid_field", 400, "messages"),
                ({"messages": good, "stream": "false"}, "invalid_field", 400, "stream"),
                ({"messages": good, "showRawPayload": 1}, "invalid_field", 400, "showRawPayload"),
                ({"messages": good, "includeSourceReferences": None}, "invalid_field", 400, "includeSourceReferences"),
                ({"messages": good, "piiAction": "redact"}, "invalid_field", 400, "piiAction"),
                ({"messages": good, "piiAction": True}, "invalid_field", 400, "piiAction"),
                ({"messages": good, "pii_action": "block"}, "invalid_field", 400, "pii_action"),
                ({"messages": good, "conversationID": "conv_a"}, "invalid_field", 400, "conversationID"),
                ({"messages": good, "conversationId": "a"}, "invalid_field", 400, "conversationId"),
                ({"messages": good, "conversationId": "conv_" + "x" * 65}, "invalid_field", 400, "conversationId"),
                ({"messages": good, "conversationId": None}, "invalid_field", 400, "conversationId"),
                ({"messages": good, "agentId": ""}, "invalid_field", 400, "agentId"),
                ({"messages": good, "agentId": 5}, "invalid_field", 400, "agentId"),
                ({"messages": good, "agentId": "asst_other"}, "not_found", 404, "agent")):
            data = body if isinstance(body, bytes) else to_json(body)
            refused(server.ask("POST", "/ai/chat", JSON_FIELDS, data), status, code, text)
        refused(server.ask("POST", DIRECT, JSON_FIELDS, to_json({"messages": good, "agentId": "asst_default"})), 400,
                "invalid_field", "agentId")
        refused(server.ask("POST", "/ai/chat", [("Content-Type", "text/plain")], to_json({"messages": good})), 415,
                "unsupported_media_type")
        refused(server.ask("POST", "/ai/chat", JSON_FIELDS, b"x" * (1 << 20) + b"x"), 413, "payload_too_large")
        # What other servers' clients send beside it is let pass; blocks of text are texts.
        events, _, _ = server.say([{"type": "text", "text": "Hello "}, {"type": "text", "text": "there"}],
                                  temperature=0.5, model="x", metadata={})
        equal(events[-1].type, "done")


@case
def request_that_is_sent_again_is_the_same_reply():
    with ChatServer(shared()) as server:
        key = [("Idempotency-Key", "once")]
        with server.send("Hello", fields=key) as reply:
            events = check_whole(reply.rest())
        with server.send("Hello", fields=key) as reply:
            equal(reply.opening.field("idempotent-replayed"), "true")
            equal(wire(reply.rest()), wire(events))
        with server.send("Another", fields=key) as reply:
            refused(reply.refusal(), 409, "idempotency_key_mismatch")
        equal(len(server.ask("GET", "/v1/conversations").json()["conversations"]), 1)


@case
def conversation_has_one_reply_at_a_time_and_a_user_three():
    upstream = shared()
    upstream.control(default=answers(LONG, hold_first="go"))
    with ChatServer(upstream) as server:
        replies = [server.send("Hello") for _ in range(3)]
        with server.send("More", conversationId=replies[0].conversation) as reply:
            refused(reply.refusal(), 409, "conflict")
        with server.send("More") as reply:
            refused(reply.refusal(), 429, "concurrency_limit_exceeded")
        upstream.control(release=["go"])
        for reply in replies:
            equal(check_whole(reply.rest())[-1].type, "done")
            reply.close()


# ---- conversations ----

@case
def conversations_are_listed_read_and_deleted():
    with ChatServer(shared()) as server:
        made = [server.say(f"Number {number}")[2] for number in range(5)]
        server.say("Once more", conversationId=made[0])
        seen, cursor = [], ""
        for _ in range(5):
            page = server.ask("GET", f"/v1/conversations?limit=2{cursor}").json()
            equal(set(page), {"conversations", "next"})
            for row in page["conversations"]:
                equal(set(row), {"id", "agentId", "createdAt", "updatedAt", "running", "closed", "title", "messages"})
                equal((row["title"], row["running"], row["closed"]), (f"Number {made.index(row['id'])}", False, False))
            seen += [row["id"] for row in page["conversations"]]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        equal(sorted(seen), sorted(made), "each once")
        one = server.ask("GET", f"/v1/conversations/{made[0]}").json()
        equal(set(one), {"id", "agentId", "createdAt", "updatedAt", "running", "closed", "title", "remembered", "messages"})
        equal((one["title"], one["remembered"]), ("Number 0", None))
        equal([(row["role"], row["content"]) for row in one["messages"]],
              [("user", "Number 0"), ("assistant", LONG), ("user", "Once more"), ("assistant", LONG)])
        # All messages again, and one more, are one more.
        whole = [{"role": row["role"], "content": row["content"]} for row in one["messages"]]
        body = {"messages": [*whole, {"role": "user", "content": "Last"}], "conversationId": made[0]}
        with Reply(server, "POST", DIRECT, body=body) as reply:
            check_whole(reply.rest())
        equal(len(server.ask("GET", f"/v1/conversations/{made[0]}").json()["messages"]), 6)
        for query in ("limit=0", "limit=x", "cursor=x"):
            refused(server.ask("GET", f"/v1/conversations?{query}"), 400, "invalid_field")
        equal(server.ask("DELETE", f"/v1/conversations/{made[0]}").status, 204)
        for target in (f"/v1/conversations/{made[0]}", f"/ai/chat?conversationId={made[0]}", "/v1/conversations/x"):
            refused(server.ask("GET", target), 404, "not_found")
        refused(server.ask("DELETE", f"/v1/conversations/{made[0]}"), 404, "not_found")
        expect(made[0] not in json.dumps(server.ask("GET", "/v1/conversations").json()), "it is listed")


@case
def several_new_messages_of_one_request_are_all_kept():
    said = [("user", "One"), ("assistant", "Two, ann@example.org"), ("user", "Three"), ("user", "Four, bob@example.org")]
    body = {"messages": [{"role": role, "content": content} for role, content in said]}
    with ChatServer(shared()) as server:
        with Reply(server, "POST", DIRECT, body=body) as reply:
            equal(types_of(check_whole(reply.rest()))[-1], "done")
            kept = reply.conversation
        body = {"messages": [{"role": "user", "content": text} for text in ("Five", "Six")], "conversationId": kept}
        answer = server.ask("POST", DIRECT, JSON_FIELDS, to_json({**body, "stream": False}))
        equal((answer.status, answer.json()["text"]), (200, LONG))
        equal([(row["role"], row["content"]) for row in server.ask("GET", f"/v1/conversations/{kept}").json()["messages"]],
              [*said, ("assistant", LONG), ("user", "Five"), ("user", "Six"), ("assistant", LONG)])
        equal(server.ask("DELETE", f"/v1/conversations/{kept}").status, 204)


@case
def what_is_somebody_elses_is_not_there():
    with ChatServer(shared(), is_open=False) as server:
        ann, bob = keyed(server, "ann", "bob")
        server.key = ann
        events, message, conversation = server.say("Hello")
        server.key = bob
        for method, target in (("GET", f"/v1/conversations/{conversation}"),
                               ("DELETE", f"/v1/conversations/{conversation}"),
                               ("DELETE", f"/v1/conversations/{conversation}/shield-map"),
                               ("GET", f"/ai/chat?conversationId={conversation}"), ("GET", "/ai/chat")):
            refused(server.ask(method, target), 404, "not_found")
        for method in ("GET", "POST"):
            with server.resume(f"{message}:1", method) as reply:
                refused(reply.refusal(), 404, "not_found")
        with server.send("Hello", conversationId=conversation) as reply:
            refused(reply.refusal(), 404, "not_found")
        equal(server.ask("GET", "/v1/conversations").json()["conversations"], [])
        # The very same answer as for what never was, but for the request's own id.
        unknown = server.ask("GET", "/v1/conversations/conv_01J00000000000000000000000").json()["error"]
        other = server.ask("GET", f"/v1/conversations/{conversation}").json()["error"]
        equal((unknown["code"], unknown["message"]), (other["code"], other["message"]))
        server.key = None
        for method, target, body in (("POST", "/ai/chat", b"{}"), ("POST", DIRECT, b"{}"), ("GET", "/ai/chat", None),
                                     ("POST", "/api/chat/dlp-decision", b"{}"), ("GET", "/v1/conversations", None)):
            answer = server.ask(method, target, JSON_FIELDS, body)
            refused(answer, 401, "missing_authorization")
            equal(answer.field("www-authenticate"), 'Bearer realm="weir"')
        equal(server.ask("GET", f"/ai/chat?api_key={ann}", bearer("x")).status, 401)
        with Reply(server, target=f"/ai/chat?token={ann}") as reply:
            equal(wire(reply.rest()), wire(events))


@case
def conversation_that_is_deleted_ends_its_reply_and_its_readers():
    upstream = shared()
    upstream.control(default=answers(LONG, after=3, end="stall"))
    with ChatServer(upstream) as server:
        with server.send("Hello") as reply:
            seen = [reply.next()]
            equal(server.ask("DELETE", f"/v1/conversations/{reply.conversation}").status, 204)
            seen += reply.rest()
        expect(seen[-1].type != "done", "an end", types_of(seen))
        wait_until(lambda: upstream.seen(outcome="left"), "the model's call is given up")
        with server.resume(seen[0].id) as reply:
            refused(reply.refusal(), 404, "not_found")


# ---- nobody reads ----

@case
def reply_that_nobody_reads_is_cancelled_when_the_grace_is_over():
    upstream = shared()
    upstream.control(default=answers(LONG, after=3, end="stall"))
    with ChatServer(upstream, "--chat-grace", "300ms") as server:
        with server.send("Hello") as reply:
            seen = [reply.next()]
        wait_until(lambda: upstream.seen(outcome="left"), "the model's call is given up")
        with server.resume(seen[-1].id) as reply:
            seen += reply.rest()
        equal(only(check_whole(seen), "error")["code"], "cancelled")
        # It does not stand in the way of the next one.
        upstream.control(default=answers("Well."))
        equal(text_of(server.say("Again", conversationId=reply.conversation)[0]), "Well.")


@case
def reply_is_cancelled_at_once_by_whoever_may():
    upstream = shared()
    upstream.control(default=answers(LONG, after=3, end="stall"))
    with ChatServer(upstream, is_open=False) as server:
        ann, bob = keyed(server, "ann", "bob")
        server.key = ann
        with server.send("Hello") as reply:
            seen, path = [reply.next()], f"/v1/conversations/{reply.conversation}/cancel"
            server.key = bob
            refused(server.ask("POST", path), 404, "not_found")
            server.key = ann
            equal(server.ask("POST", path).status, 204)
            seen += reply.rest()
        equal(only(check_whole(seen), "error")["code"], "cancelled")
        wait_until(lambda: upstream.seen(outcome="left"), "the model's call is given up")
        # There is none any more, which is as wished.
        equal(server.ask("POST", path).status, 204)
        refused(server.ask("POST", "/v1/conversations/conv_nobody/cancel"), 404, "not_found")


@case
def reader_that_comes_back_in_time_keeps_the_reply():
    upstream = shared()
    upstream.rules((1, answers(LONG, hold_first="go")))
    with ChatServer(upstream, "--chat-grace", "8s") as server:
        with server.send("Hello") as reply:
            conversation = reply.conversation
        with Reply(server, target=f"/ai/chat?conversationId={conversation}") as reply:
            threading.Timer(8.5, lambda: upstream.control(release=["go"])).start()
            equal(check_whole(reply.rest())[-1].type, "done")


@case
def events_past_their_time_are_gone_and_the_conversation_stays():
    with ChatServer(shared(), "--chat-keep", "100ms") as server:
        events, message, conversation = server.say("Hello")
        wait_until(lambda: server.ask("GET", f"/ai/chat?conversationId={conversation}").status == 410, "the events go")
        for method in ("GET", "POST"):
            with server.resume(f"{message}:1", method) as reply:
                refused(reply.refusal(), 410, "gone")
        equal(len(server.ask("GET", f"/v1/conversations/{conversation}").json()["messages"]), 2)


if __name__ == "__main__":
    try:
        main()
    finally:
        for it in UPSTREAM.values():
            it.__exit__()
