# SPDX-License-Identifier: Apache-2.0
"""What the tests of the SDK share: programs in JavaScript that use it, in Node, and what they say."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "serve"))
import packages  # noqa: E402
from others import need, own_network  # noqa: E402
from support import ROOT, WAIT_S, Failure, Skip, equal, expect, main  # noqa: E402

SDK = ROOT / "sdk" / "js" / "src" / "index.js"

# The program may await; say() tells the test something, told() waits for the test to tell it.
FRAME = """
import * as sdk from {sdk};
import readline from "node:readline";
const {{ Weir, EventStream }} = sdk;
const lines = readline.createInterface({{ input: process.stdin }})[Symbol.asyncIterator]();
const say = (what) => console.log(JSON.stringify(what));
const told = async () => JSON.parse((await lines.next()).value);
const options = JSON.parse(process.env.SDK_OPTIONS);
{event_source}
const weir = new Weir(options);
const collect = async (events) => {{ const all = []; for await (const each of events) all.push(each); return all; }};
const failure = async (promise) => {{ try {{ await promise; }} catch (e) {{
  return {{ name: e.name, code: e.code, status: e.status, requestId: e.requestId, retryAfterMs: e.retryAfterMs,
           message: e.message, isWeirError: e instanceof sdk.WeirError }}; }} return null; }};
{code}
process.exit(0);
"""


class Js:
    """A program that runs, and what it has said."""

    def __init__(self, server, code, with_event_source=False, **options):
        need("node")
        options = {"baseUrl": server if isinstance(server, str) else server.url(), **options}
        if not isinstance(server, str) and server.key:
            options.setdefault("apiKey", server.key)
        self.said = []
        self.changed = threading.Condition()
        self.begin(code, with_event_source, options)
        threading.Thread(target=self._read, daemon=True).start()

    def begin(self, code, with_event_source, options):
        text = FRAME.format(sdk=json.dumps(SDK.as_uri()), code=code, event_source=event_source(with_event_source))
        self.child = start(["node", "--input-type=module", "-e", text], SDK_OPTIONS=json.dumps(options))

    def _read(self):
        for line in self.child.stdout:
            with self.changed:
                self.said.append(json.loads(line))
                self.changed.notify_all()
        with self.changed:
            self.said.append(None)
            self.changed.notify_all()

    def wait(self, wanted, text):
        """Until it has said something for which wanted() holds: that."""
        with self.changed:
            found = self.changed.wait_for(lambda: [what for what in self.said if what is not None and wanted(what)]
                                          or None in self.said, WAIT_S)
            if not found or found is True:
                raise Failure(f"waited in vain for {text}; it said {self.said[-5:]!r:.600} {self._errors()}")
            return found[0]

    def _errors(self):
        if self.child.poll() is None:
            self.child.kill()
        return self.child.stderr.read()[-1500:]

    def tell(self, what):
        self.child.stdin.write(json.dumps(what) + "\n")
        self.child.stdin.flush()

    def end(self):
        """All that it said; it has to come to its end."""
        try:
            self.child.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            raise Failure(f"it hangs; it said {self.said[-5:]!r:.600}") from None
        errors = self.child.stderr.read()
        equal((self.child.returncode, errors), (0, ""), "exit status and what it complains of")
        with self.changed:
            expect(self.changed.wait_for(lambda: None in self.said, WAIT_S), "its end")
        return [what for what in self.said if what is not None]


class InPage(Js):
    """The same in a page of Chromium that comes from the server. Who it is says its cookie."""

    def begin(self, code, with_event_source, options):
        need("chromium")
        folder = packages.install(ROOT / "tests" / "web", "test-web")
        url = options.pop("baseUrl")
        options.pop("apiKey", None)
        self.child = start(["node", str(HERE / "in_page.mjs")], WEIR_WEB_PACKAGES=str(folder))
        self.tell({"url": url, "code": code, "options": {**options, "usesEventSource": with_event_source}})


def main_with_browser():
    """main() where nobody disturbs a browser's network, once all that comes over ours is there."""
    with contextlib.suppress(Skip):  # each case that needs it says so
        packages.install(ROOT / "tests" / "web", "test-web")
        packages.install(ROOT / "tests" / "serve" / "npm", "test-clients")
        own_network()
    main()


def start(words, **env):
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **env})


def event_source(is_wanted):
    if not is_wanted:
        return ""
    folder = packages.install(ROOT / "tests" / "serve" / "npm", "test-clients")
    path = (folder / "node_modules" / "eventsource" / "dist" / "index.js").as_uri()
    return f"options.EventSourceCtor = (await import({json.dumps(path)})).EventSource;"


def js(server, code, **options):
    """Runs it to its end: all that it said."""
    return Js(server, code, **options).end()


def ask(server, expression, **options):
    """The value of an expression, which may await."""
    return js(server, f"say({{ value: await ({expression}) ?? null }});", **options)[0]["value"]
