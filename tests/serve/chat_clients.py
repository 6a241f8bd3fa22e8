#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/chat_clients.py [CASE]...

Chats as docs/chat.md tells people to read them: its examples as they stand there, by curl, Python and
a page's EventSource in Chromium, with a JSON Web Token. A program that cannot be had is skipped.
"""
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

from chat_support import ChatServer, answers, text_of
from model_support import Upstream
from others import Pages, browser, need
from support import ROOT, WAIT_S, case, equal, expect, main
from tokens import Issuer

# A browser waits for three seconds before it comes again, here twice.
RECONNECT_S = WAIT_S + 15
TEXT = "Your week was calm. You slept well, and walked a lot."


def example(name):
    """A block of the page, as it stands there."""
    page = (ROOT / "docs" / "chat.md").read_text(encoding="utf-8")
    match = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```\n", page, re.S)
    expect(match, f"docs/chat.md has no example {name}")
    return match.group(1)


FOLDER = tempfile.TemporaryDirectory(prefix="weir-jwt-")


@functools.cache
def issuer():
    """One for all cases: its keys take their time."""
    return Issuer(FOLDER.name)


class World:
    """A model, and a server that trusts an issuer."""

    def __init__(self, *options, **more):
        self.upstream = Upstream()
        self.options, self.more = options, more

    def __enter__(self):
        self.upstream.__enter__()
        self.upstream.control(default=answers(TEXT))
        config = issuer().config(iss="https://id.example", aud="weir")
        self.server = ChatServer(self.upstream, "--jwt", config, *self.options, is_open=False, **self.more)
        self.server.__enter__()
        self.token = issuer().token("RS256", iss="https://id.example", aud="weir")
        self.server.key = self.token
        return self

    def __exit__(self, *what):
        self.server.__exit__(*what)
        self.upstream.__exit__(*what)

    def env(self, **more):
        return {**os.environ, "WEIR": self.server.url(), "TOKEN": self.token, **more}

    def shell(self, name, **more):
        need("curl")
        done = subprocess.run(["bash", "-ec", example(name)], env=self.env(**more), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=WAIT_S, check=False)
        equal(done.returncode, 0, f"{name} ({done.stderr.decode()[-500:]})")
        return done.stdout.decode()


def said(wire):
    return "".join(json.loads(data)["text"] for data in re.findall(r"event: token\ndata: (.*)\n", wire))


@case
def curl_of_the_page_streams_and_resumes():
    with World() as world:
        wire = world.shell("curl")
        equal(said(wire), TEXT)
        ids = re.findall(r"^id: (.*)$", wire, re.M)
        rest = wire[wire.index("\n\n") + 2:]
        equal(world.shell("resume", LAST=ids[0]), rest + rest, "by GET and by POST")
        equal(world.shell("resume", LAST=ids[-1]), "", "all was seen")


@case
def python_of_the_page_prints_the_reply():
    with World() as world:
        done = subprocess.run([sys.executable, "-c", example("python")], env=world.env(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=WAIT_S, check=False)
        equal((done.returncode, done.stderr), (0, b""))
        printed = done.stdout.decode()
        expect(printed.startswith(TEXT + "\n[done] {'messageId': 'msg_"), "what it prints", printed)


@case
def event_source_of_the_page_attaches_to_the_newest_reply():
    with Pages() as pages:
        origin = f"http://127.0.0.1:{pages.port}"
        with World("--cors-origin", origin) as world:
            world.server.say("Hello")
            code = example("javascript").replace("'/ai/chat", f"'{world.server.url('/ai/chat')}")
            page = f"""<!doctype html><title>chat</title><p id="out"></p><script>
const jwt = {json.dumps(world.token)};
const say = (what) => fetch('/report', {{method: 'POST', body: JSON.stringify(what)}});
const appendToOutput = (text) => document.getElementById('out').textContent += text;
const showCitationCard = (cit) => say({{cit}});
{code}
eventSource.addEventListener('done', () => say({{text: document.getElementById('out').textContent}}));
</script>"""
            with browser(pages.show(page)):
                pages.wait(lambda report: report.get("text") == TEXT, "the reply is on the page")


@case
def event_source_comes_again_by_itself_and_stops_at_the_end():
    words = "".join(f"word{number:02} " for number in range(60))
    with Pages() as pages, World("--cors-origin", f"http://127.0.0.1:{pages.port}") as world:
        world.upstream.control(default=answers(words, delta_ms=50), rules=[
            {"times": -1, "contains": "Your answer was interrupted", "do": answers("The end.")}])
        with world.server.send("Hello") as reply:
            page = f"""<!doctype html><title>chat</title><script>
const say = (what) => fetch('/report', {{method: 'POST', body: JSON.stringify(what)}});
const es = new EventSource({json.dumps(world.server.url(f"/ai/chat?conversationId={reply.conversation}&token={world.token}"))});
let text = "";
es.addEventListener("token", (e) => {{ text += JSON.parse(e.data).text; say({{begun: true}}); }});
es.addEventListener("done", (e) => say({{text, id: e.lastEventId}}));
es.onerror = () => say({{state: es.readyState}});
</script>"""
            with browser(pages.show(page)):
                pages.wait(lambda report: report.get("begun"), "the reply begins")
                world.server.kill()
                world.server.start()
                pages.wait(lambda report: report.get("state") == 2, "the browser stops", RECONNECT_S)
        seen = [report for report in pages.reports if "text" in report]
        equal(len(seen), 1, "ends")
        with world.server.resume(f"{reply.message}:0") as whole:
            events = whole.rest()
        equal((seen[0]["text"], seen[0]["id"]), (text_of(events), events[-1].id), "each event once")


@case
def decision_of_the_page_is_taken():
    with World(policy={"piiAction": "ask"}) as world:
        with world.server.send("Write to ann@example.org") as reply:
            events = reply.until("dlp_preview", "done", "error")
            equal(events[-1].type, "dlp_preview")
            equal(world.shell("decision", DECISION=events[-1].data["decisionId"]), '{"ok":true}')
            equal(text_of(reply.rest()), TEXT)


if __name__ == "__main__":
    main()
