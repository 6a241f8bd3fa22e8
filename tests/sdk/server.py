#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/sdk/server.py [CASE]...

The SDK against the real server, in Node: every resource, and every promise that a network and a server
that dies can break.
"""
import json
import random

from programs import Js, ask, js
from chat_support import ChatServer, answers, text_of
from cutter import Cutter
from model_support import PEOPLE, Upstream
from session_support import SessionServer
from support import Server, case, equal, expect, main, make_key, wait_until
from turn_rules import new_turn, read_events

QUESTION = "How did I sleep last week?"
IMPORT = f"""await weir.data.import(new Blob([{json.dumps((PEOPLE / "u01_daily.csv").read_text())}]), {{ name: "u01_daily.csv" }})"""


def wire_of(server, turn):
    """What the log of a turn says, to compare with what was seen."""
    return [[number, kind, json.loads(data)] for number, kind, data in read_events(server, turn)]


SEEN = "const seen = events.map((e) => [e.id, e.type, e.data]);"


# ---- turns ----

@case
def turn_is_created_watched_read_listed_and_traced():
    with Server() as server:
        seen, turn, listed, trace = js(server, f"""
            const turn = await weir.turns.create({json.dumps(QUESTION)});
            const events = await collect(weir.turns.stream(turn.id)); {SEEN}
            say(seen); say(await weir.turns.retrieve(turn.id));
            for (const text of ["thanks!", "hello"]) await weir.turns.create({{ messages: [{{ role: "user", content: text }}], stream: false }});
            say((await collect(weir.turns.list({{ limit: 2 }}).iter())).map((each) => each.id));
            say(await weir.turns.trace(turn.id));""")
        equal(seen, wire_of(server, turn["id"]))
        equal((turn["status"], seen[-1][1], seen[-1][2]["result"]), ("completed", "turn.completed", turn["result"]))
        equal((len(listed), listed[2]), (3, turn["id"]))
        equal((trace["turn_id"], trace["status"]), (turn["id"], "completed"))


@case
def members_of_events_are_had_directly():
    with Server() as server:
        said = js(server, """
            const turn = await weir.turns.create("How many steps did I walk last week?");
            let text = "";
            for await (const event of weir.turns.stream(turn.id)) {
              if (event.type === "agent.thought" && event.channel === "synthesis") text += event.delta;
              if (event.type === "turn.completed") say([text, event.result.answer]);
            }""")
        equal(said[0][0], said[0][1])


@case
def blocking_turn_and_ask_give_the_result():
    with Server() as server:
        turn, result, seen = js(server, """
            say(await weir.turns.create({ messages: [{ role: "user", content: "How did I sleep?" }], stream: false }));
            const types = [];
            say(await weir.turns.ask("How did I sleep?", { onEvent: (event) => types.push(event.type) }));
            say(types);""")
        equal(turn["status"], "completed")
        expect(result["answer"], "an answer", result)
        equal((seen[0], seen[-1]), ("turn.started", "turn.completed"))


@case
def turn_that_is_cancelled_fails_by_name():
    with Server("--turn-pace", "1m") as server:
        error, again = js(server, """
            const asked = weir.turns.ask("How did I sleep?", { onEvent: async ({ type, data }) => {
              if (type === "turn.started") await weir.turns.cancel(data.turn_id);
            } });
            say(await failure(asked));
            const [turn] = (await weir.turns.list()).items;
            say(await failure(weir.turns.cancel(turn.id)));""")
        equal((error["name"], error["code"]), ("TurnFailedError", "cancelled"))
        equal((again["name"], again["status"]), ("ConflictError", 409))


@case
def stream_goes_on_behind_what_was_had_and_ends_where_nothing_is_left():
    with Server() as server:
        turn = new_turn(server, QUESTION)
        wire = wire_of(server, turn["id"])
        rest, nothing, wrong = js(server, f"""
            let events = await collect(weir.turns.stream("{turn["id"]}", {{ lastEventId: 3 }})); {SEEN} say(seen);
            say(await collect(weir.turns.stream("{turn["id"]}", {{ lastEventId: {len(wire)} }})));
            say(await failure(collect(weir.turns.stream("{turn["id"]}", {{ lastEventId: {len(wire) + 1} }}))));""")
        equal((rest, nothing), (wire[3:], []))
        equal((wrong["name"], wrong["code"]), ("InvalidRequestError", "invalid_field"))


@case
def turn_comes_whole_through_a_proxy_that_cuts():
    for with_event_source in (False, True):
        with Server("--turn-pace", "30ms") as server:
            limits = [random.randrange(1, 300), *(random.randrange(1, 2500) for _ in range(40))]
            turn = new_turn(server, QUESTION)
            with Cutter(server.port, limits) as cutter:
                seen = js(f"http://127.0.0.1:{cutter.port}", f"""
                    const events = await collect(weir.turns.stream("{turn["id"]}", {{ retryDelayMs: 2, maxRetries: 60 }})); {SEEN} say(seen);""",
                          with_event_source=with_event_source)
            equal(seen[0], wire_of(server, turn["id"]), f"each event once, cut at {limits}")
            expect(cutter.n_cut > 0, "it was cut")


@case
def turn_goes_on_when_the_server_is_killed_in_its_middle():
    for with_event_source in (False, True):
        # It is in its middle for as long as it takes until somebody kills it.
        with Server("--turn-pace", "1m") as server:
            program = Js(server, f"""
                const turn = await weir.turns.create({json.dumps(QUESTION)});
                const events = [];
                for await (const event of weir.turns.stream(turn.id, {{ retryDelayMs: 20, maxRetries: 500,
                    onReconnect: (lastId, error, {{ attempt }}) => say({{ lastId, code: error.code, attempt }}) }})) {{
                  events.push(event);
                  if (events.length === 1) say("begun");
                }} {SEEN} say({{ turn: turn.id, seen }});""", with_event_source=with_event_source)
            program.wait(lambda what: what == "begun", "its first event")
            server.kill()
            lost = program.wait(lambda what: "lastId" in what, "a reconnection")
            expect(int(lost["lastId"]) >= 1 and lost["attempt"] == 1, "where it goes on", lost)
            server.options = []
            server.start()
            end = program.end()[-1]
            equal(end["seen"], wire_of(server, end["turn"]), "each event once")


# ---- chats ----

WORDS = "".join(f"word{number:02} " for number in range(60))


class Talking:
    """A server that chats with the stand-in."""

    def __init__(self, *options, **more):
        self.upstream = Upstream()
        self.options, self.more = options, more

    def __enter__(self):
        self.upstream.__enter__()
        self.upstream.control(default=answers("Hello there."))
        self.server = ChatServer(self.upstream, *self.options, **self.more)
        self.server.__enter__()
        return self

    def __exit__(self, *what):
        self.server.__exit__(*what)
        self.upstream.__exit__(*what)


@case
def chat_streams_sends_and_keeps_conversations():
    with Talking() as world:
        events, opened, sent, listed, one, gone = js(world.server, """
            let opened;
            const events = await collect(weir.chat.stream("Hi", { onOpen: (what) => (opened = what) }));
            say(events); say(opened);
            say(await weir.chat.send({ messages: [{ role: "user", content: "And now?" }], conversationId: opened.conversationId }, { direct: true }));
            say((await collect(weir.chat.conversations({ limit: 1 }).iter())).map((each) => each.id));
            say(await weir.chat.conversation(opened.conversationId));
            await weir.chat.forgetPlaceholders(opened.conversationId);
            await weir.chat.deleteConversation(opened.conversationId);
            say(await failure(weir.chat.conversation(opened.conversationId)));""")
        equal("".join(event["data"]["text"] for event in events if event["type"] == "token"), "Hello there.")
        equal((events[-1]["type"], events[-1]["data"]["messageId"]), ("done", opened["messageId"]))
        equal(events[0]["id"], f"{opened['messageId']}:1")
        equal((sent["text"], sent["conversationId"]), ("Hello there.", opened["conversationId"]))
        equal((listed, len(one["messages"])), ([opened["conversationId"]], 4))
        equal((gone["name"], gone["code"]), ("NotFoundError", "not_found"))


@case
def chat_is_gone_on_with_when_the_server_is_killed_in_its_middle():
    for with_event_source in (False, True):
        with Talking() as world:
            world.upstream.control(default=answers(WORDS, delta_ms=1000), rules=[
                {"times": -1, "contains": "Your answer was interrupted", "do": answers("The end.")}])
            program = Js(world.server, """
                const events = [];
                for await (const event of weir.chat.stream("Hi", { retryDelayMs: 20, maxRetries: 500 })) {
                  events.push(event);
                  if (events.length === 3) say("begun");
                }
                say(events);""", with_event_source=with_event_source)
            program.wait(lambda what: what == "begun", "the reply begins")
            world.server.kill()
            world.server.start()
            seen = program.end()[-1]
            with world.server.resume(f"{seen[0]['id'].partition(':')[0]}:0") as whole:
                wire = whole.rest()
        equal([(event["id"], event["type"], event["data"]) for event in seen],
              [(event.id, event.type, event.data) for event in wire], "each event once")
        expect(text_of(wire).endswith("The end."), "it was interrupted", text_of(wire))


@case
def chat_through_a_proxy_that_cuts_is_one_reply():
    for with_event_source in (False, True):
        with Talking() as world:
            world.upstream.control(default=answers(WORDS))
            limits = [1, 30, 200, *(random.randrange(1, 3000) for _ in range(40))]
            with Cutter(world.server.port, limits) as cutter:
                seen = js(f"http://127.0.0.1:{cutter.port}", """
                    const events = await collect(weir.chat.stream("Hi", { retryDelayMs: 2, maxRetries: 60 })); say(events);""",
                          with_event_source=with_event_source)[0]
            message = seen[0]["id"].partition(":")[0]
            equal([event["id"] for event in seen], [f"{message}:{number + 1}" for number in range(len(seen))])
            equal("".join(event["data"]["text"] for event in seen if event["type"] == "token"), WORDS, f"cut at {limits}")
            equal(len([each for each in world.upstream.seen() if each["purpose"]]) <= 1, True, "what was paid for")


@case
def newest_reply_is_attached_to():
    for with_event_source in (False, True):
        with Talking() as world:
            _, message, conversation = world.server.say("Hi")
            attached, rest, nothing = js(world.server, f"""
                const attached = await collect(weir.chat.attach("{conversation}")); say(attached);
                say(await collect(weir.chat.attach("{conversation}", {{ lastEventId: attached[0].id }})));
                say(await collect(weir.chat.attach("{conversation}", {{ lastEventId: attached.at(-1).id }})));""",
                                         with_event_source=with_event_source)
            equal(attached[0]["id"], f"{message}:1")
            equal((attached[-1]["type"], rest, nothing), ("done", attached[1:], []))


@case
def shields_question_is_answered():
    ask_first = {"piiAction": "ask"}
    wanted = {"redact": ("dlp_resolved", "done"), "allow": ("dlp_resolved", "done"), "block": ("dlp_blocked", "dlp_blocked")}
    with Talking(policy=ask_first) as world:
        for choice, (resolved, end) in wanted.items():
            events, by_hand = js(world.server, f"""
                const events = await collect(weir.chat.stream("Write to ann@example.org", {{ direct: true, onPreview: () => "{choice}" }}));
                say(events);
                const again = [];
                for await (const event of weir.chat.stream("Write to ann@example.org", {{ direct: true }})) {{
                  again.push(event);
                  if (event.type === "dlp_preview") say2 = await weir.chat.decide(event.data.decisionId, "{choice}");
                }}
                say([say2, again.map((event) => event.type)]);""".replace("const again", "let say2; const again"))
            types = [event["type"] for event in events]
            equal((types[0], types[1], types[-1]), ("dlp_preview", resolved, end), choice)
            equal(by_hand, [{"ok": True}, types])


@case
def shields_question_that_nobody_answers_is_blocked():
    with Talking("--chat-decision", "200ms", policy={"piiAction": "ask"}) as world:
        events, was_aborted, late = js(world.server, """
            let question;
            const events = await collect(weir.chat.stream("Write to ann@example.org", { direct: true, onPreview: (preview, { signal }) => {
              question = preview;
              return new Promise((resolve) => signal.addEventListener("abort", () => { say2 = true; resolve("allow"); }));
            } }));
            say(events.map((event) => [event.type, event.data.reason]));
            say(say2); say(await failure(weir.chat.decide(question.decisionId, "allow")));""".replace("let question", "let say2 = false; let question"))
        equal((events[-1], was_aborted), (["dlp_blocked", "timeout"], True))
        equal((late["name"], late["status"]), ("NotFoundError", 404))


@case
def answer_to_the_shield_that_fails_ends_the_stream_at_once():
    with Talking(policy={"piiAction": "ask"}) as world:
        thrown, refused = js(world.server, """
            const talk = (onPreview) => collect(weir.chat.stream("Write to ann@example.org", { direct: true, onPreview }));
            say(await failure(talk(() => { throw new RangeError("mine"); })));
            say(await failure(talk(() => "shred")));""")
        equal((thrown["name"], thrown["message"]), ("RangeError", "mine"))
        equal((refused["name"], refused["status"]), ("InvalidRequestError", 400))


# ---- sessions ----

@case
def session_is_talked_to_and_streams():
    with SessionServer() as server:
        sent, got, events, states = js(server, """
            const sent = await weir.sessions.send({ text: "hello" });
            const events = []; const states = [];
            await new Promise((resolve, reject) => {
              const sub = weir.sessions.stream(sent.sessionId, { onError: reject, onState: (state) => states.push(state),
                onEvent: (event, seq) => { events.push([seq, event.type]); if (event.type === "done") { sub.close(); resolve(); } } });
            });
            say(sent); say(await weir.sessions.get(sent.sessionId)); say(events); say(states);""")
        equal(got["session"]["id"], sent["sessionId"])
        equal([seq for seq, _ in events], list(range(1, len(events) + 1)))
        equal((events[-1][1], states), ("done", ["connecting", "connected", "closed"]))


@case
def sessions_are_managed():
    with SessionServer() as server:
        said = js(server, """
            const { session } = await weir.sessions.create({ title: "One" });
            say((await weir.sessions.update(session.id, { title: "Two" })).session.title);
            await weir.sessions.pin(session.id); say((await weir.sessions.get(session.id)).session.pinned);
            await weir.sessions.pin(session.id, false); say((await weir.sessions.get(session.id)).session.pinned);
            const fork = (await weir.sessions.fork(session.id)).session; say(fork.parentSessionId === session.id);
            say((await collect(weir.sessions.list({ limit: 1 }).iter())).length);
            say((await weir.sessions.list({ q: "Two" })).items.length);
            await weir.sessions.delete(fork.id); say((await failure(weir.sessions.get(fork.id))).code);
            say((await weir.sessions.tools()).groups.length > 0);
            const { job } = await weir.sessions.schedule({ schedule: "0 7 * * *", text: "Good morning" });
            say((await weir.sessions.jobs()).jobs.map((each) => each.id === job.id));
            say((await weir.sessions.unschedule(job.id)).ok);
            say((await weir.sessions.skills()).pendingCount);
            say((await weir.sessions.steer(session.id, "quickly")).ok); say((await weir.sessions.abort(session.id)).ok);
            say((await weir.sessions.pendingQuestions()).length); say((await weir.sessions.pendingApprovals()).length);""")
        equal(said, ["Two", True, False, True, 2, 2, "NOT_FOUND", True, [True], True, 0, False, True, 0, 0])


@case
def approvals_and_questions_are_answered():
    with SessionServer() as server:
        said = js(server, """
            const sent = await weir.sessions.send({ text: "remember that I like tea" });
            const done = [];
            await new Promise((resolve, reject) => {
              const sub = weir.sessions.stream(sent.sessionId, { onError: reject, async onEvent(event) {
                if (event.type === "tool.approval_required") {
                  say((await weir.sessions.pendingApprovals({ sessionId: sent.sessionId })).length);
                  await weir.sessions.approve(event.request.approvalId);
                  say((await failure(weir.sessions.deny(event.request.approvalId, "late"))).name);
                }
                if (event.type === "approval.resolved") say([event.decision, event.decidedBy === weir.sessions.clientId]);
                if (event.type === "done") { sub.close(); resolve(); }
              } });
            });
            say((await weir.memory.list()).items.map((entry) => entry.text));
            say((await weir.sessions.audit()).items.length);""")
        equal(said[:3], [1, "ConflictError", ["allow", True]])
        expect(len(said[3]) == 1 and "tea" in said[3][0], "it is remembered", said[3])
        equal(said[4], 1, "entries of the audit")


@case
def sessions_stream_goes_on_when_the_server_is_killed():
    for with_event_source in (False, True):
        with SessionServer() as server:
            program = Js(server, """
                const sent = await weir.sessions.send({ text: "hello" });
                const seen = [];
                const sub = EventStream({ ...options, sessionId: sent.sessionId, retryMs: 20,
                  onError: () => {}, onState: (state) => say({ state }),
                  onEvent: (event, seq) => { seen.push(seq); if (event.type === "done") say({ done: seq, session: sent.sessionId, last: sub.lastSeq }); } });
                await told();
                await weir.sessions.send({ sessionId: sent.sessionId, text: "and again" });
                await told();
                sub.close(); say({ seen, lastSeq: sub.lastSeq, closed: sub.closed });""", with_event_source=with_event_source)
            first = program.wait(lambda what: "done" in what, "the first turn")
            equal(first["last"], first["done"] - 1, "the last one that was dealt with")
            server.kill()
            program.wait(lambda what: what.get("state") == "reconnecting", "it is lost")
            server.start()
            program.tell("again")
            program.wait(lambda what: what.get("done", 0) > first["done"], "the second turn")
            program.tell("end")
            end = program.end()[-1]
            equal(end["seen"], list(range(1, end["lastSeq"] + 1)), "each event once")
            equal(end["closed"], True)


@case
def sessions_stream_of_nobody_ends_with_a_name():
    for with_event_source in (False, True):
        with SessionServer() as server:
            said = js(server, """
                await new Promise((resolve) => {
                  const sub = weir.sessions.stream("ses_01J00000000000000000000000", { onEvent: () => {},
                    onError: async (error) => say([error.name, error.status]),
                    onState: (state) => { if (state === "closed") resolve(say(sub.closed)); } });
                });""", with_event_source=with_event_source)
            equal(said, [["NotFoundError", 404], True])


@case
def what_is_kept_no_more_is_told():
    with SessionServer(None, "--session-keep-events", "10", "--session-keep", "1s") as server:
        session, _ = server.send("hello")

        def is_gone():
            server.send("More", session)
            with server.stream(session) as stream:
                return stream.must_next()[0] > 1

        wait_until(is_gone, "old events have gone")
        for with_event_source in (False, True):
            gap, seq = js(server, f"""
                await new Promise((resolve, reject) => {{
                  const sub = weir.sessions.stream("{session}", {{ onError: reject, onGap: (gap) => say(gap),
                    onEvent: (event, seq) => {{ say(seq); sub.close(); resolve(); }} }});
                }});""", with_event_source=with_event_source)
            equal(gap, {"first": 1, "last": seq - 1})


# ---- people's own things ----

@case
def file_is_imported_with_progress_and_read():
    with Server() as server:
        said = js(server, f"""
            const progress = [];
            const made = {IMPORT.replace('name: "u01_daily.csv"', 'name: "u01_daily.csv", onProgress: (p) => progress.push(p)')};
            say(progress); say(made);
            say((await collect(weir.data.streamImport(made.id))).map((event) => event.type));
            say(await weir.data.retrieveImport(made.id)); say((await weir.data.imports()).items.length);
            const metrics = await weir.data.metrics(); say(metrics.length > 3);
            const {{ metric, first, last }} = metrics[0];
            say((await weir.data.series(metric, {{ from: last, to: last }})).data.length);
            const result = await weir.turns.ask("What was my average resting heart rate?"); say(result.fact_sheet.length > 0);""")
        total = (PEOPLE / "u01_daily.csv").stat().st_size
        equal(said[0][-1], {"bytes": total, "totalBytes": total})
        equal((said[2][0], said[2][-1]), ("import.started", "import.completed"))
        equal((said[3]["status"], said[3]["file"], said[4:]), ("completed", "u01_daily.csv", [1, True, 1, True]))


@case
def memory_labs_documents_and_keys():
    with Server(is_open=False) as server:
        server.key = make_key(server, "--owner", "me", "--scopes", "read,write,admin")
        said = js(server, """
            const entry = await weir.memory.create({ category: "goal", text: "Walk more" });
            say((await weir.memory.update(entry.id, { text: "Walk a lot more" })).text);
            say((await weir.memory.list({ category: "goal" })).items.length); say((await weir.memory.list({ category: "insight" })).items.length);
            await weir.memory.delete(entry.id); say((await failure(weir.memory.retrieve(entry.id))).code);
            const report = await weir.labs.create("date,marker,value,unit,range\\n2026-01-05,LDL,124,mg/dL,<130\\n"); say(report.new);
            const [lab] = (await weir.labs.list()).items; say((await weir.labs.retrieve(lab.id)).value);
            const made = await weir.documents.create({ title: "Diary", text: "I slept at the lake." });
            say((await weir.documents.search("lake")).map((hit) => hit.title));
            await weir.documents.replace(made.id, { title: "Diary", text: "I slept in the woods." });
            say((await weir.documents.retrieve(made.id)).text); say((await weir.documents.list()).items.length);
            await weir.documents.delete(made.id); say((await weir.documents.list()).items.length);
            const { name, key } = await weir.keys.create({ label: "mine", owner: "me" });
            say((await new Weir({ ...options, apiKey: key }).auth.whoami()).owner);
            await weir.keys.revoke(name); say((await failure(new Weir({ ...options, apiKey: key }).auth.whoami())).name);
            say((await weir.keys.list()).length > 0); say((await weir.shield.audit()).items);
            say(await weir.request("GET", "/v1/whoami").then((me) => me.access));""")
        equal(said, ["Walk a lot more", 1, 0, "memory_not_found", 1, 124, ["Diary"], "I slept in the woods.", 1, 0, "me",
                     "AuthenticationError", True, [], "key"])


# ---- errors ----

@case
def errors_have_names_codes_and_the_id_of_their_request():
    with Server(is_open=False) as server:
        server.key = make_key(server, "--owner", "me", "--scopes", "read")
        said = js(server, """
            const missing = "turn_01J00000000000000000000000";
            const anonymous = new Weir({ baseUrl: options.baseUrl });
            for (const act of [() => weir.turns.retrieve(missing), () => anonymous.turns.list(), () => weir.turns.create("x"),
                () => weir.turns.list({ limit: 0 }), () => weir.sessions.get("x"), () => collect(weir.turns.stream(missing)),
                () => weir.request("GET", "/nowhere"), () => anonymous.auth.logIn("wrong")]) say(await failure(act()));""")
        equal([(error["name"], error["code"], error["status"]) for error in said],
              [("NotFoundError", "turn_not_found", 404), ("AuthenticationError", "missing_authorization", 401),
               ("PermissionError", "forbidden", 403), ("InvalidRequestError", "invalid_field", 400),
               ("NotFoundError", "NOT_FOUND", 404), ("NotFoundError", "turn_not_found", 404), ("NotFoundError", "not_found", 404),
               ("AuthenticationError", "invalid_token", 401)])
        expect(all(error["requestId"].startswith("req_") and error["isWeirError"] for error in said), "ids", said)


@case
def too_many_turns_are_told_with_when_to_come_again():
    with Server("--user-turns", "1", "--turn-pace", "1m") as server:
        error = js(server, """
            await weir.turns.create("How did I sleep?", { maxRetries: 0 });
            say(await failure(weir.turns.create("And now?", { maxRetries: 0 })));""")[0]
        equal((error["name"], error["code"], error["status"]), ("RateLimitError", "concurrency_limit_exceeded", 429))
        expect(error["retryAfterMs"] > 0, "when to come again", error)


@case
def same_key_is_the_same_turn():
    with Server() as server:
        one, two, other = js(server, """
            say((await weir.turns.create("Hello", { idempotencyKey: "k" })).id); say((await weir.turns.create("Hello", { idempotencyKey: "k" })).id);
            say(await failure(weir.turns.create("Bye", { idempotencyKey: "k" })));""")
        equal(one, two)
        equal((other["name"], other["code"]), ("ConflictError", "idempotency_key_mismatch"))


@case
def request_whose_answer_is_lost_is_done_once():
    """The proxy lets the request through and cuts the answer."""
    with Server() as server, Cutter(server.port, [1, 20, 150]) as cutter:
        turn = ask(f"http://127.0.0.1:{cutter.port}", "weir.turns.create('Hello', { maxRetries: 5 })")
        page = server.ask("GET", "/v1/turns").json()
        equal([each["id"] for each in page["data"]], [turn["id"]], "turns")


if __name__ == "__main__":
    main()
