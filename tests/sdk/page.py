#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/sdk/page.py [CASE]...

The SDK in Chromium, from the server that it talks to: who one is by a cookie, streams by fetch and by the
browser's own EventSource, files with their progress.
"""
import json
import re

from programs import InPage, main_with_browser
from chat_support import ChatServer, answers
from model_support import PEOPLE, Upstream
from support import Server, case, equal, expect, make_key, weir
from turn_rules import read_events

SEEN = "const seen = events.map((e) => [e.id, e.type, e.data]);"


def wire_of(server, turn):
    return [[number, kind, json.loads(data)] for number, kind, data in read_events(server, turn)]


@case
def key_is_given_once_for_a_cookie():
    with Server(is_open=False) as server:
        key = make_key(server, "--owner", "me")
        said = InPage(server, f"""
            await say(await failure(weir.auth.whoami()));
            await say(await failure(weir.auth.logIn("wrong")));
            await say((await weir.auth.logIn({json.dumps(key)})).owner);
            await say((await weir.auth.whoami()).access);
            await say([document.cookie, localStorage.length, sessionStorage.length]);
            await say((await weir.memory.create({{ category: "goal", text: "Walk" }})).text);
            await say((await collect(weir.turns.stream((await weir.turns.create("thanks!")).id))).at(-1).type);
            const sent = await weir.sessions.send({{ text: "hello" }});
            await say(await new Promise((resolve, reject) => {{
              const sub = weir.sessions.stream(sent.sessionId, {{ onError: reject, onEvent: (event) => event.type === "done" && (sub.close(), resolve("done")) }});
            }}));
            await weir.auth.logOut();
            await say(await failure(weir.auth.whoami()));""").end()
        nobody = {"name": "AuthenticationError", "code": "missing_authorization", "status": 401}
        equal(said[0], nobody)
        equal((said[1]["code"], said[2], said[3], said[4]), ("invalid_token", "me", "cookie", ["", 0, 0]))
        equal((said[5:8], said[8]["name"]), (["Walk", "turn.completed", "done"], "AuthenticationError"))


@case
def link_is_good_once():
    with Server(is_open=False) as server:
        make_key(server, "--owner", "me")
        printed = weir("key", "link", "--owner", "me", "--data", server.data)
        match = re.search(r"#/link/([\w.~-]+)", printed.stdout.decode())
        expect(match, "a link", printed)
        first, again = InPage(server, f"""
            await say(typeof (await weir.auth.logInByLink("{match.group(1)}")).owner);
            await weir.auth.logOut();
            await say(await failure(weir.auth.logInByLink("{match.group(1)}")));""").end()
        equal((first, again["name"]), ("string", "AuthenticationError"))


@case
def turn_goes_on_when_the_server_is_killed():
    for with_event_source in (False, True):
        with Server("--turn-pace", "1m") as server:
            page = InPage(server, f"""
                const turn = await weir.turns.create("How did I sleep last week?");
                const events = [];
                for await (const event of weir.turns.stream(turn.id, {{ retryDelayMs: 20, maxRetries: 500 }})) {{
                  events.push(event);
                  if (events.length === 1) await say("begun");
                }} {SEEN} await say({{ turn: turn.id, seen }});""", with_event_source=with_event_source)
            page.wait(lambda what: what == "begun", "its first event")
            server.kill()
            server.options = []
            server.start()
            end = page.end()[-1]
            equal(end["seen"], wire_of(server, end["turn"]), "each event once")


@case
def file_is_sent_with_progress():
    table = (PEOPLE / "u01_daily.csv").read_text()
    with Server() as server:
        progress, types, refused = InPage(server, f"""
            const progress = [];
            const file = new File([{json.dumps(table)}], "u01_daily.csv");
            const made = await weir.data.import(file, {{ onProgress: (sent) => progress.push(sent) }});
            await say(progress.at(-1)); await say((await collect(weir.data.streamImport(made.id))).map(({{ type }}) => type));
            const control = new AbortController();
            const asked = failure(weir.data.import(new Blob([new Uint8Array(3e7)]), {{ name: "x.csv", signal: control.signal, onProgress: () => control.abort() }}));
            await say(await asked);""").end()
        equal(progress, {"bytes": len(table.encode()), "totalBytes": len(table.encode())})
        equal((types[0], types[-1]), ("import.started", "import.completed"))
        equal(refused["name"], "AbortError")


@case
def chat_and_the_shields_question():
    with Upstream() as upstream:
        upstream.control(default=answers("It is written."))
        with ChatServer(upstream, policy={"piiAction": "ask"}) as server:
            said = InPage(server, """
                const events = await collect(weir.chat.stream("Write to ann@example.org", { direct: true, onPreview: () => "redact" }));
                await say(events.map(({ type }) => type));
                await say(events.filter(({ type }) => type === "token").map(({ data }) => data.text).join(""));
                const [conversation] = (await weir.chat.conversations()).items;
                await say((await collect(weir.chat.attach(conversation.id))).length === events.length);""").end()
    equal((said[0][:2], said[0][-1], said[1:]), (["dlp_preview", "dlp_resolved"], "done", ["It is written.", True]))


if __name__ == "__main__":
    main_with_browser()
