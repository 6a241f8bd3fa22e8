#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/chat_shield.py [CASE]...

What is private in chats, as clients and the provider see it: placeholders and their values, the
question to the user and every way in which it is answered, or is not.
"""
import pathlib
import threading
import time

from chat_support import DIRECT, ChatServer, Reply, answers, check_whole, only, text_of, types_of, wire
from model_support import Upstream
from support import JSON_FIELDS, case, equal, expect, main, make_key, refused, to_json, wait_until

MAIL = "canary.7f3a@example.org"
OTHER = "second.91c0@example.net"
QUESTION = f"Write to {MAIL} about the contract."
ASK = {"piiAction": "ask"}
NOBODY = "dlp_01J00000000000000000000000"
UPSTREAM = {}


def shared(text="I will write to [email_1] at once."):
    """One stand-in for all cases, as if it were new."""
    if not UPSTREAM:
        UPSTREAM["it"] = Upstream()
        UPSTREAM["it"].__enter__()
    UPSTREAM["it"].reset()
    UPSTREAM["it"].control(default=answers(text))
    return UPSTREAM["it"]


def bodies(upstream):
    return [seen["body"] for seen in upstream.seen(has_bodies=True)]


def expect_unseen(upstream, value=MAIL):
    expect(all(value not in body for body in bodies(upstream)), "the provider has seen", value)


def asking(server, content=QUESTION, **members):
    """A reply that waits: its reader, and the events so far."""
    reply = server.send(content, **members)
    equal(reply.opening.status, 200, reply.opening.fields)
    events = reply.until("dlp_preview", "done", "error", "dlp_blocked")
    equal(events[-1].type, "dlp_preview", types_of(events))
    return reply, events


def finish(reply, events):
    with reply:
        return check_whole(events + reply.rest(), reply.message)


def files_of(server):
    return [path for path in pathlib.Path(server.data).rglob("*") if path.is_file()]


# ---- placeholders ----

@case
def what_looks_like_a_placeholder_in_a_document_stays_what_it_is():
    text = "giraffe: they write [email_1] and [text_1] for an address"
    call = {"type": "tool_use", "id": "toolu_1", "name": "search_documents", "input": {"query": "giraffe"}}
    upstream = shared()
    with ChatServer(upstream) as server:
        made = server.ask("POST", "/v1/documents", [("Content-Type", "text/plain")], f"{OTHER}\n{text}".encode()).json()
        equal(server.ask("GET", f"/v1/documents/{made['id']}").json()["text"], f"{OTHER}\n{text}")
        upstream.rules((1, {"answer": {"content": [call], "stop": "tool"}}),
                       (1, answers("It says [text_1], [text_2]; you are [email_1].")))
        events, _, _ = server.say(f"I am {MAIL}. Giraffe?", "/ai/chat", includeSourceReferences=True)
        for found in (only(events, "citation"), only(events, "tool_result")["result"]["passages"][0]):
            equal((found["title"], found["snippet"]), (OTHER, f"{OTHER} {text}"))
        equal(text_of(events), f"It says [email_1], [text_1]; you are {MAIL}.")
        expect("they write [text_1] and [text_2] for" in bodies(upstream)[1], "what the model saw", bodies(upstream)[1])


@case
def provider_sees_placeholders_and_the_user_values():
    upstream = shared("I write to [email_1], [Email_1] and [email 1], not to [email_9] or [x].")
    upstream.control(default=answers("I write to [email_1], [Email_1] and [email 1], not to [email_9] or [x].",
                                     trickle_bytes=3))
    with ChatServer(upstream) as server:
        events, message, conversation = server.say(QUESTION)
        equal(text_of(events), f"I write to {MAIL}, {MAIL} and {MAIL}, not to [email_9] or [x].")
        resolved = only(events, "dlp_resolved")
        equal(resolved, {"appliedChoice": "redact", "redactedCount": 1, "categories": ["email"]})
        expect("[email_1] about the contract" in bodies(upstream)[0], "the placeholder", bodies(upstream)[0][-300:])
        # The same value keeps its placeholder, another one gets another.
        events, _, _ = server.say(f"And {OTHER}, then {MAIL}?", conversationId=conversation)
        expect("And [email_2], then [email_1]?" in bodies(upstream)[1], "placeholders", bodies(upstream)[1][-300:])
        expect_unseen(upstream)
        expect_unseen(upstream, OTHER)
        shown = server.ask("GET", f"/v1/conversations/{conversation}").body.decode()
        expect(QUESTION in shown and OTHER in shown, "the user's own words", shown)
        with server.resume(f"{message}:0") as reply:
            again = reply.rest()
        for at in range(len(again)):
            with server.resume(f"{message}:{at}", "POST") as reply:
                equal(wire(reply.rest()), wire(again[at:]), f"from {at}")
        server.stop()
        for path in files_of(server):
            expect(MAIL.encode() not in path.read_bytes(), "a value lies plain in", path)
        server.start()
        with server.resume(f"{message}:0") as reply:
            equal(wire(reply.rest()), wire(again), "after a restart")


@case
def documents_are_cited_and_what_is_private_in_them_stays_here():
    upstream = shared()
    search = {"type": "tool_use", "id": "toolu_1", "name": "search_documents", "input": {"query": "insurance contract"}}
    rules = {"times": 1, "do": {"answer": {"content": [search], "stop": "tool"}}}
    with ChatServer(upstream, "--access-log", "-", "--log", "json") as server:
        text = f"# Letters\n\nThe insurance contract is with {OTHER}, number 17."
        made = server.ask("POST", "/v1/documents?title=Letters", [("Content-Type", "text/markdown")], text.encode())
        equal(made.status, 201, made.body)
        for wants in (True, False):
            upstream.control(default=answers("Ask [email_1]."), rules=[rules])
            events, message, _ = server.say("Who has my insurance contract?", "/ai/chat",
                                            includeSourceReferences=wants)
            kinds = types_of(events)
            equal((kinds.count("tool_call"), kinds.count("tool_result")), (1, 1), kinds)
            equal("citation" in kinds, wants, kinds)
            if wants:
                cited = only(events, "citation")
                equal((cited["sourceId"], cited["title"]), (made.json()["id"], "Letters"))
                expect(OTHER in cited["snippet"], "the user's own words", cited)
            equal(text_of(events), f"Ask {OTHER}.")
            with server.resume(f"{message}:0", "POST") as reply:
                equal(wire(reply.rest()), wire(events))
        expect_unseen(upstream, OTHER)
        server.stop()
        expect(OTHER not in server.errors(), "the value is in a log")
        for path in files_of(server):
            expect(OTHER.encode() not in path.read_bytes(), "a value lies plain in", path)


@case
def token_map_is_shown_only_when_asked_for():
    with ChatServer(shared()) as server:
        events, message, _ = server.say(QUESTION, showRawPayload=True)
        equal(only(events, "privacy_token_map"), {"tokenMap": {"[email_1]": MAIL}, "source": "dlp"})
        with server.resume(f"{message}:0") as reply:
            equal(wire(reply.rest()), wire(events))
        expect("privacy_token_map" not in types_of(server.say(QUESTION)[0]), "a map that nobody asked for")


@case
def values_that_are_forgotten_are_placeholders_for_everybody():
    with ChatServer(shared()) as server:
        events, message, conversation = server.say(QUESTION)
        expect(MAIL in text_of(events), "the value", text_of(events))
        equal(server.ask("DELETE", f"/v1/conversations/{conversation}/shield-map").status, 204)
        with server.resume(f"{message}:0") as reply:
            equal(text_of(reply.rest()), "I will write to [email_1] at once.")
        shown = server.ask("GET", f"/v1/conversations/{conversation}").body.decode()
        expect(MAIL not in shown and "[email_1]" in shown, "the conversation", shown)
        server.restart()
        with server.resume(f"{message}:0") as reply:
            equal(text_of(reply.rest()), "I will write to [email_1] at once.", "after a restart")


@case
def request_may_only_be_stricter_than_the_policy():
    upstream = shared()
    rows = (("auto_redact", "off", "dlp_resolved"), ("auto_redact", "block", "dlp_blocked"),
            ("auto_redact", "ask", "dlp_resolved"), ("block", "off", "dlp_blocked"), ("block", "ask", "dlp_blocked"),
            ("ask", "off", "dlp_preview"), ("ask", "auto_redact", "dlp_resolved"), ("off", "off", "token"),
            ("off", "auto_redact", "dlp_resolved"), ("off", "block", "dlp_blocked"))
    for policy in ("auto_redact", "block", "ask", "off"):
        with ChatServer(upstream, policy={"piiAction": policy}) as server:
            for _, wish, first in (row for row in rows if row[0] == policy):
                with server.send(QUESTION, piiAction=wish) as reply:
                    equal(reply.next().type, first, f"{wish} under {policy}")
            if policy == "block":
                expect_unseen(upstream)
                equal(bodies(upstream)[2:], [], "calls under block")
        if policy == "block":
            upstream = shared()


@case
def block_by_policy_ends_the_reply_and_nothing_leaves():
    upstream = shared()
    with ChatServer(upstream, policy={"piiAction": "block"}) as server:
        events, _, conversation = server.say(QUESTION)
        blocked = only(events, "dlp_blocked")
        equal((blocked["reason"], [finding["category"] for finding in blocked["findings"]]), ("policy_block", ["email"]))
        equal(bodies(upstream), [])
        expect(MAIL.encode() not in wire(events), "the value is in the events")
        body = {"messages": [{"role": "user", "content": QUESTION}], "stream": False}
        answer = server.ask("POST", DIRECT, JSON_FIELDS, to_json(body))
        refused(answer, 403, "forbidden", "policy_block")
        upstream.control(default=answers("Fine."))
        equal(text_of(server.say("Hello", conversationId=conversation)[0]), "Fine.", "without private values")


# ---- the question ----

@case
def question_waits_and_redact_goes_on_with_placeholders():
    upstream = shared()
    with ChatServer(upstream, policy=ASK) as server:
        reply, events = asking(server)
        preview = events[-1].data
        expect(preview["decisionId"].startswith("dlp_"), "its id", preview)
        equal(preview["findings"], [{"label": "email", "category": "email", "source": preview["findings"][0]["source"]}])
        equal(preview["redactedText"], QUESTION.replace(MAIL, "[email_1]"))
        expect(preview["provider"]["displayName"], "who would see it", preview)
        equal(bodies(upstream), [], "calls before the decision")
        answer = server.decide(preview["decisionId"], "redact")
        equal((answer.status, answer.body), (200, b'{"ok":true}'))
        events = finish(reply, events)
        equal(only(events, "dlp_resolved"), {"appliedChoice": "redact", "redactedCount": 1, "categories": ["email"]})
        equal(text_of(events), f"I will write to {MAIL} at once.")
        expect_unseen(upstream)
        for at in range(len(events)):
            for method in ("GET", "POST"):
                with server.resume(f"{events[0].message}:{at}", method) as again:
                    equal(wire(again.rest()), wire(events[at:]), f"{method} {at}")


@case
def allow_sends_what_was_written_and_block_sends_nothing():
    upstream = shared("Good.")
    with ChatServer(upstream, policy=ASK) as server:
        reply, events = asking(server)
        equal(server.decide(events[-1].data["decisionId"], "allow").status, 200)
        events = finish(reply, events)
        equal(only(events, "dlp_resolved")["appliedChoice"], "allow")
        equal(only(events, "dlp_resolved")["redactedCount"], 0)
        expect(QUESTION in bodies(upstream)[0], "as it is", bodies(upstream)[0][-300:])
        reply, events = asking(server, f"Now {OTHER}")
        equal(server.decide(events[-1].data["decisionId"], "block").status, 200)
        events = finish(reply, events)
        equal(only(events, "dlp_blocked")["reason"], "user_blocked")
        equal(len(bodies(upstream)), 1, "calls")


@case
def decisions_that_are_not_well_formed_are_refused_and_change_nothing():
    with ChatServer(shared(), policy=ASK) as server:
        reply, events = asking(server)
        good = {"decisionId": events[-1].data["decisionId"], "choice": "redact"}
        for body in (b"", b"{", b"[]", b"null", {}, {"decisionId": good["decisionId"]}, {"choice": "redact"},
                     {**good, "decisionId": 7}, {**good, "decisionId": None}, {**good, "choice": "Redact"},
                     {**good, "choice": True}, {**good, "choice": ["redact"]}, {**good, "rememberForConversation": "false"},
                     {**good, "rememberForConversation": 0}, {**good, "rememberForConversation": None},
                     {**good, "remember": True}, {**good, "rememberForConversation": True, "x": 1}):
            data = body if isinstance(body, bytes) else to_json(body)
            answer = server.ask("POST", "/api/chat/dlp-decision", JSON_FIELDS, data)
            equal(answer.status, 400, body)
            answer.error()
        equal(server.ask("POST", "/api/chat/dlp-decision", [("Content-Type", "text/plain")], to_json(good)).status, 415)
        equal(server.decide(good["decisionId"], "redact", rememberForConversation=False).status, 200)
        finish(reply, events)


@case
def what_cannot_be_decided_is_not_found_alike():
    with ChatServer(shared(), "--chat-decision", "400ms", policy=ASK, is_open=False) as server:
        ann, bob = [make_key(server, "--owner", owner) for owner in ("ann", "bob")]
        body = to_json({"decisionId": NOBODY, "choice": "redact"})
        refused(server.ask("POST", "/api/chat/dlp-decision", JSON_FIELDS, body), 401, "missing_authorization")
        server.key = ann
        reply, events = asking(server)
        expired = events[-1].data["decisionId"]
        equal(only(finish(reply, events), "dlp_blocked")["reason"], "timeout")
        server.stop()
        server.options[server.options.index("400ms")] = "600s"
        server.start()
        reply, events = asking(server)
        used = events[-1].data["decisionId"]
        server.key = bob
        foreign = server.decide(used, "redact")
        server.key = ann
        equal(server.decide(used, "redact").status, 200)
        finish(reply, events)
        answers_seen = {"foreign": foreign}
        for name, decision in (("unknown", NOBODY), ("expired", expired), ("used", used), ("no id", "x"),
                               ("empty", ""), ("long", "dlp_" + "x" * 1000)):
            answers_seen[name] = server.decide(decision, "block")
        for name, answer in answers_seen.items():
            error = refused(answer, 404, "not_found")
            equal(error["message"], "there is no such decision to be taken", name)
            equal([field for field, _ in answer.fields], [field for field, _ in foreign.fields], name)


@case
def an_open_question_says_until_when():
    with ChatServer(shared(), "--chat-decision", "600s", policy=ASK, is_open=False) as server:
        ann, bob = [make_key(server, "--owner", owner) for owner in ("ann", "bob")]
        server.key = ann
        reply, events = asking(server)
        decision = events[-1].data["decisionId"]
        asked = server.ask("GET", f"/api/chat/dlp-decision/{decision}").json()
        deadline = asked.pop("deadlineAt")
        equal(asked, {"decisionId": decision, "conversationId": reply.conversation, "messageId": reply.message})
        expect(deadline.endswith("Z"), "a time", deadline)
        # A title is the user's own words, also where placeholders are stored.
        [row] = server.ask("GET", "/v1/conversations").json()["conversations"]
        equal((row["title"], row["running"]), (QUESTION, True))
        server.kill()
        server.start()
        equal(server.ask("GET", f"/api/chat/dlp-decision/{decision}").json()["deadlineAt"], deadline)
        server.key = bob
        foreign = server.ask("GET", f"/api/chat/dlp-decision/{decision}")
        server.key = ann
        equal(server.decide(decision, "redact", rememberForConversation=True).status, 200)
        for name in (decision, NOBODY, "x", "dlp_" + "x" * 100):
            answer = server.ask("GET", f"/api/chat/dlp-decision/{name}")
            equal(refused(answer, 404, "not_found")["message"], refused(foreign, 404, "not_found")["message"], name)
        with Reply(server, target=f"/ai/chat?conversationId={reply.conversation}") as again:
            again.rest()
        equal(server.ask("GET", f"/v1/conversations/{reply.conversation}").json()["remembered"], "redact")


@case
def of_two_answers_at_once_one_wins():
    with ChatServer(shared(), policy=ASK) as server:
        for _ in range(5):
            reply, events = asking(server)
            statuses = []
            threads = [threading.Thread(target=lambda choice=choice: statuses.append(
                server.decide(events[-1].data["decisionId"], choice).status)) for choice in ("redact", "block") * 3]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            equal(sorted(statuses), [200] + [404] * 5)
            kinds = types_of(finish(reply, events))
            equal(len([kind for kind in kinds if kind in ("dlp_resolved", "dlp_blocked")]), 1, kinds)


@case
def question_without_an_answer_blocks_when_its_time_is_over():
    upstream = shared()
    with ChatServer(upstream, "--chat-decision", "300ms", policy=ASK) as server:
        reply, events = asking(server)
        blocked = only(finish(reply, events), "dlp_blocked")
        equal((blocked["reason"], bodies(upstream)), ("timeout", []))


@case
def question_survives_a_restart_and_so_does_its_deadline():
    upstream = shared()
    with ChatServer(upstream, policy=ASK) as server:
        reply, events = asking(server)
        server.kill()
        server.start()
        with server.resume(events[-1].id) as again:
            equal(server.decide(events[-1].data["decisionId"], "redact").status, 200)
            events += again.rest()
        equal(text_of(check_whole(events)), f"I will write to {MAIL} at once.")
    with ChatServer(upstream, "--chat-decision", "1s", policy=ASK) as server:
        asked_at = time.time()
        reply, events = asking(server)
        server.kill()
        wait_until(lambda: time.time() > asked_at + 1.1, "its time has passed while nobody was there")
        server.start()
        with server.resume(events[-1].id) as again:
            events += again.rest()
        equal(only(check_whole(events), "dlp_blocked")["reason"], "timeout")
        refused(server.decide([event for event in events if event.type == "dlp_preview"][0].data["decisionId"], "redact"),
                404, "not_found")


# ---- remembering ----

@case
def choice_is_remembered_for_the_conversation_and_no_other():
    for choice in ("redact", "allow"):
        upstream = shared()
        with ChatServer(upstream, policy=ASK) as server:
            reply, events = asking(server)
            equal(server.decide(events[-1].data["decisionId"], choice, rememberForConversation=True).status, 200)
            finish(reply, events)
            server.restart()
            events, _, _ = server.say(f"And {OTHER}?", conversationId=reply.conversation)
            equal(only(events, "dlp_resolved")["appliedChoice"], choice, "without a question")
            equal(OTHER in bodies(upstream)[1], choice == "allow", f"the provider's view of {choice}")
            asked, events = asking(server)
            asked.close()
            expect(asked.conversation != reply.conversation, "another conversation")


@case
def choice_that_is_not_remembered_is_asked_for_again():
    with ChatServer(shared(), policy=ASK) as server:
        reply, events = asking(server)
        equal(server.decide(events[-1].data["decisionId"], "allow").status, 200)
        finish(reply, events)
        again, events = asking(server, f"And {OTHER}?", conversationId=reply.conversation)
        again.close()
        expect(events, "another question")


@case
def policy_that_blocks_later_wins_over_what_is_remembered():
    for choice in ("redact", "allow"):
        upstream = shared()
        with ChatServer(upstream, policy=ASK) as server:
            reply, events = asking(server)
            equal(server.decide(events[-1].data["decisionId"], choice, rememberForConversation=True).status, 200)
            finish(reply, events)
            n_calls = len(bodies(upstream))
            server.stop()
            server.put("shield.json", {"piiAction": "block"})
            server.start()
            events, _, _ = server.say(f"And {OTHER}?", conversationId=reply.conversation)
            equal(only(events, "dlp_blocked")["reason"], "policy_block")
            equal(len(bodies(upstream)), n_calls, "calls")


@case
def stricter_action_wins_over_what_was_allowed():
    upstream = shared("Fine.")
    with ChatServer(upstream, policy=ASK) as server:
        reply, events = asking(server)
        equal(server.decide(events[-1].data["decisionId"], "allow", rememberForConversation=True).status, 200)
        finish(reply, events)
        expect(MAIL in bodies(upstream)[-1], "allowed", bodies(upstream)[-1])
        server.say("Once more", conversationId=reply.conversation, piiAction="auto_redact")
        expect(MAIL not in bodies(upstream)[-1], "the request's wish", bodies(upstream)[-1])
        server.say("Once more", conversationId=reply.conversation)
        expect(MAIL in bodies(upstream)[-1], "still allowed where the user may be asked", bodies(upstream)[-1])
        server.stop()
        server.put("shield.json", {"piiAction": "auto_redact"})
        server.start()
        events, _, _ = server.say(f"Again to {MAIL}", conversationId=reply.conversation)
        equal(only(events, "dlp_resolved")["appliedChoice"], "redact")
        expect(MAIL not in bodies(upstream)[-1], "the policy", bodies(upstream)[-1])


@case
def nothing_is_decided_about_a_conversation_that_is_deleted():
    with ChatServer(shared(), policy=ASK) as server:
        for _ in range(3):
            reply, events = asking(server)
            equal(server.ask("DELETE", f"/v1/conversations/{reply.conversation}").status, 204)
            refused(server.decide(events[-1].data["decisionId"], "allow"), 404, "not_found")
            reply.close()
        equal(server.ask("GET", "/v1/shield/audit").json()["data"], [])


if __name__ == "__main__":
    try:
        main()
    finally:
        for it in UPSTREAM.values():
            it.__exit__()
