# SPDX-License-Identifier: Apache-2.0
"""The ways in which the SDK follows a stream, for the cases of chaos.py: in Node and in Chromium, by
fetch and by an EventSource. What each of them tells is held to the law of tests/chaos/misbehaving.py.

A page of Chromium has to come from the site that it asks; so a site serves it beside what it plays.
One browser is enough: a page of ours opens the others as frames, one after the other.
"""
import atexit
import contextlib
import http.server
import json
import pathlib
import queue
import sys
import threading
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "chaos"))
import misbehaving  # noqa: E402
from misbehaving import N_EVENTS, Told  # noqa: E402
from programs import ROOT, packages, start  # noqa: E402
from others import browser, need  # noqa: E402
from support import WAIT_S, Closed, expect  # noqa: E402

NAMES = {"turn": ("agent.thought", "turn.completed"), "chat": ("token", "done"), "attach": ("token", "done")}


def event(number, kind="turn", data=None):
    """The event with this number, as the server writes it: with JSON in it, and a name that is known."""
    text = data or f"e{number}"
    if kind == "session":
        return f'id: {number}\ndata: {json.dumps({"type": "x", "data": text})}\n\n'.encode()
    name = NAMES[kind][number == N_EVENTS]
    prefix = "" if kind == "turn" else "m:"
    return f"id: {prefix}{number}\nevent: {name}\ndata: {json.dumps(text)}\n\n".encode()


def _had(conn):
    """The number behind which this client wants to go on: from the field, or from the address."""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(conn.target).query))
    text = conn.fields.get("last-event-id") or query.get("last_event_id") or query.get("lastEventId") or "0"
    return int(text.rpartition(":")[2])


misbehaving.event = event
misbehaving.Conn.had = property(_had)


class CountingSite(misbehaving.Site):
    """Counts what it plays, not connections: fetch makes some that bring nothing."""

    def __init__(self, play, tls=None):
        self.played = play
        self.n_played = 0
        self.counting = threading.Lock()
        super().__init__(self.dispatch, tls)

    def dispatch(self, conn):
        with self.counting:
            self.n_played += 1
            conn.nth = self.n_played
        return self.played(conn)


class Lines:
    """What a follower tells, wherever it runs."""

    def __init__(self, options):
        self.kind = options.get("kind", "turn")
        self.lines = []
        self.changed = threading.Condition()

    def hear(self, lines):
        with self.changed:
            self.lines += lines
            self.changed.notify_all()

    def wait(self, condition, text):
        """Until a line that it has said fits."""
        with self.changed:
            found = self.changed.wait_for(lambda: any(map(condition, self.lines)), WAIT_S)
            expect(found, f"waited in vain for {text}, got", self.lines[-5:])
        return self

    def wait_events(self, number):
        return self.wait(lambda line: line.startswith(f"event {number} "), f"event {number}")

    def end(self):
        """All that it said; it has to come to its end."""
        with self.changed:
            if not self.changed.wait_for(lambda: any(line.startswith("end ") for line in self.lines), WAIT_S):
                raise Closed(f"it hangs: {self.lines[-5:]!r}")
        stray = [line for line in self.lines if line.startswith("stray ")]
        expect(not stray, "nobody caught", stray)
        return Told(self.kind, list(self.lines))


# ---- Node ----

class Node:
    """follow.mjs, one for all that do not look at its memory."""

    _one = None

    def __init__(self):
        need("node")
        self.child = start(["node", str(HERE / "follow.mjs")])
        self.runs = {}
        atexit.register(self.stop)
        threading.Thread(target=self._read, daemon=True).start()

    @classmethod
    def shared(cls):
        if cls._one is None or cls._one.child.poll() is not None:
            cls._one = Node()
        return cls._one

    def _read(self):
        for line in self.child.stdout:
            run, _, text = line.rstrip("\n").partition(" ")
            for follower in [self.runs[int(run)]] if run != "0" else list(self.runs.values())[-1:]:
                follower.hear([text])

    def follow(self, follower, options):
        self.runs[len(self.runs) + 1] = follower
        return self.tell({"run": len(self.runs), "options": options})

    def tell(self, what):
        self.child.stdin.write(json.dumps(what) + "\n")
        self.child.stdin.flush()
        return what["run"]

    def stop(self):
        self.child.stdin.close()
        self.child.wait()


class NodeFetch(Lines):
    """By fetch in Node; `is_alone`: in a program of its own."""

    site = CountingSite

    def __init__(self, url, is_alone=False, **options):
        super().__init__(options)
        self.node = Node() if is_alone else Node.shared()
        self.run = self.node.follow(self, {"url": url, **options, **self.more()})

    def more(self):
        return {}

    def abort(self):
        self.node.tell({"run": self.run})
        return self


class NodeEventSource(NodeFetch):
    def more(self):
        folder = packages.install(ROOT / "tests" / "serve" / "npm", "test-clients")
        return {"event_source": (folder / "node_modules" / "eventsource" / "dist" / "index.js").as_uri()}


# ---- Chromium ----

PAGE = """<!doctype html><title>sdk</title><script type="module">
import * as sdk from "/sdk/index.js";
import { follow } from "/telling.mjs";
const lines = [];
let sending = null;
const send = async () => {
  while (lines.length > 0) await fetch("/report", { method: "POST", body: JSON.stringify(lines.splice(0)) });
  sending = null;
};
const say = (line) => { lines.push(line.replaceAll("\\n", "\\\\n")); sending ??= send(); };
addEventListener("unhandledrejection", (e) => say(`stray ${e.reason?.stack ?? e.reason}`));
addEventListener("error", (e) => say(`stray ${e.message}`));
const control = new AbortController();
fetch("/abort").then(() => control.abort(), () => {});
const options = await (await fetch("/options")).json();
if (options.with_event_source) options.EventSourceCtor = EventSource;
const { lastSeq, nEvents } = await follow(sdk, { ...options, url: location.origin }, control, say);
say(`end ${lastSeq} ${nEvents} 0 0`);
</script>"""
OWN_PATHS = ("/", "/favicon.ico", "/telling.mjs", "/options", "/abort", "/report")
TYPES = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript"}


class PageSite(CountingSite):
    """A site that also has the page of a follower, which does not count."""

    def __init__(self, play, tls=None):
        self.options = {}
        self.aborted = threading.Event()
        self.on_lines = lambda lines: None
        super().__init__(play, tls)

    def dispatch(self, conn):
        path = urllib.parse.urlsplit(conn.target).path
        if path not in OWN_PATHS and not path.startswith("/sdk/"):
            return super().dispatch(conn)
        self.requests.remove(conn)
        return self._page(conn, path)

    def _page(self, conn, path):
        if path == "/abort":
            self.aborted.wait(WAIT_S)
        if path == "/report":
            self.on_lines(json.loads(conn.body))
        body = {"/": PAGE, "/options": json.dumps(self.options)}.get(path, "").encode()
        if path == "/telling.mjs":
            body = (HERE / "telling.mjs").read_bytes()
        if path.startswith("/sdk/"):
            body = (ROOT / "sdk" / "js" / "src" / pathlib.Path(path).name).read_bytes()
        content_type = TYPES.get(pathlib.Path(path).suffix, "text/html")
        conn.put(misbehaving.head("200 OK", content_type, f"Content-Length: {len(body)}", "Connection: close"), body)


class Conductor:
    """A page that shows one frame after the other, in a browser that is started once."""

    PAGE = """<!doctype html><title>frames</title><script>
(async () => {
  for (;;) {
    const url = await (await fetch("/next")).text();
    document.body.replaceChildren();
    if (!url) continue;
    const frame = document.createElement("iframe");
    frame.src = url;
    document.body.append(frame);
  }
})();
</script><body></body>"""
    _one = None

    def __init__(self):
        urls = self.urls = queue.Queue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = Conductor.PAGE if self.path == "/" else ""
                if self.path == "/next":
                    with contextlib.suppress(queue.Empty):
                        body = urls.get(timeout=10)
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.browser = browser(f"http://127.0.0.1:{self.server.server_address[1]}/")
        self.browser.__enter__()
        atexit.register(self.browser.__exit__, None, None, None)

    @classmethod
    def show(cls, url):
        need("chromium")
        cls._one = cls._one or Conductor()
        cls._one.urls.put(url)


class ChromiumFetch(Lines):
    """By fetch in a frame."""

    site = PageSite
    with_event_source = False

    def __init__(self, site, is_alone=False, **options):
        super().__init__(options)
        self.shown = site
        site.options = {**options, "with_event_source": self.with_event_source}
        site.on_lines = self.hear
        Conductor.show(site.url + "/")

    def abort(self):
        self.shown.aborted.set()
        return self

    def end(self):
        try:
            return super().end()
        finally:
            self.shown.aborted.set()


class ChromiumEventSource(ChromiumFetch):
    with_event_source = True


BY_FETCH = (NodeFetch, ChromiumFetch)
BY_EVENT_SOURCE = (NodeEventSource, ChromiumEventSource)
ALL = (*BY_FETCH, *BY_EVENT_SOURCE)


@contextlib.contextmanager
def following(way, play, **options):
    """(follower, site): a follower by this way of a site that plays so."""
    with way.site(play) as site:
        yield way(site if issubclass(way, ChromiumFetch) else site.url, **options), site


def every(play, check, ways=ALL, **options):
    """Plays to followers by all these ways; check(told, site) says what each is to see."""
    for way in ways:
        with following(way, play, **options) as (follower, site):
            try:
                check(follower.end(), site)
            except misbehaving.Skip:
                raise
            except Exception as problem:
                raise type(problem)(f"{way.__name__}: {problem}") from problem
