# SPDX-License-Identifier: Apache-2.0
"""weir behind a proxy: what holds of each of them. nginx.py, caddy.py and haproxy.py say how theirs
is started with its file of contrib/, of which only addresses, certificates and, where a case says
so, timeouts are changed.

Where nodes have stores of their own they are, to a proxy, as alike as those that share one; in the last
case they do, on PostgreSQL.
"""
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))

from support import (JSON_FIELDS, MEBIBYTE, PATIENCE, ROOT, WAIT_S, Conn, Failure, Lines, Server, Skip, Watch,
                     add_case, appended_id, equal, expect, ids_of, make_certificate, request_bytes, to_json, wait_until)

N_STARTS = 5  # somebody else may take a port that was free a moment ago
# Of silence for a proxy, in one case, in seconds: heartbeats come four times a second then.
PATIENCE_S = 6


def replaced(text, *pairs):
    """Each is there, or the file has changed and the test says nothing of it any more."""
    for old, new in pairs:
        expect(old in text, "the configuration has", old)
        text = text.replace(old, new)
    return text


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Proxy:
    """A proxy in front of nodes, by `with`. Subclasses have NAME, FILE, PROGRAM, configure() and words()."""

    NAME = FILE = PROGRAM = ""
    END = signal.SIGTERM
    key = None

    def __init__(self, nodes, patience_s=None):
        # The files have three nodes: of fewer some are there twice.
        self.nodes = [nodes[i % len(nodes)] for i in range(3)]
        self.patience_s = patience_s
        self.child = None
        self.port = 0

    def __enter__(self):
        expect(shutil.which(self.PROGRAM, path="/usr/sbin:/usr/bin:/usr/local/bin"), "there is no", self.PROGRAM)
        self._temporary = tempfile.TemporaryDirectory(prefix=f"weir-{self.NAME}-")
        self.folder = pathlib.Path(self._temporary.name)
        self.folder.chmod(0o755)  # its workers may be another user
        self.cert, self.secret = make_certificate(self.folder)
        self.tls = ssl.create_default_context(cafile=self.cert)
        self._errors = open(self.folder / "errors", "wb+")
        try:
            for _ in range(N_STARTS):
                self._start()
                if self._is_up():
                    return self
            raise Failure(f"{self.NAME} does not start: {self.said()}")
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self._stop()
        self._errors.close()
        self._temporary.cleanup()

    def _start(self):
        self.port = free_port()
        text = (ROOT / "contrib" / self.FILE).read_text()
        for i, node in enumerate(self.nodes):
            text = replaced(text, (f"127.0.0.1:{8081 + i}", f"127.0.0.1:{node.port}"))
        self.configure(text)
        # It goes with us, however we end.
        guard = ["setpriv", "--pdeathsig", self.END.name.removeprefix("SIG")]
        self.child = subprocess.Popen([*guard, *self.words()], stdin=subprocess.DEVNULL, stdout=self._errors,
                                      stderr=self._errors, cwd=self.folder, env=self.environment())

    def _stop(self):
        if self.child and self.child.poll() is None:
            self.child.send_signal(self.END)
            self.child.wait(WAIT_S)

    def environment(self):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.folder)}

    def said(self):
        self._errors.flush()
        return (self.folder / "errors").read_text(errors="replace")[-1500:]

    def _is_up(self):
        def has_decided():
            with contextlib.suppress(OSError, Failure):
                return self.ask("GET", "/readyz").status == 200 or None
            return "gone" if self.child.poll() is not None else None
        return wait_until(has_decided, f"{self.NAME} answers") is True

    def port_for(self, _method):
        return self.port

    def connect(self):
        return Conn(self, tls=self.tls)

    def ask(self, method, target, fields=(), body=None):
        with self.connect() as conn:
            return conn.ask(method, target, fields, body)

    def append(self, stream, value):
        return appended_id(self.ask("POST", f"/v1/streams/{stream}", JSON_FIELDS, to_json(value)))

    def watch(self, stream, query="", fields=()):
        return Watch(self, f"/v1/streams/{stream}{query}", fields, tls=self.tls)


def wait_ended(watch):
    """In good order, or with the connection: a proxy may make the one of the other."""
    try:
        equal(watch.next(), None)
    except Failure as why:
        expect(watch.saw_end, f"the stream has not ended: {why}")


# ---- what holds ----

def events_come_one_by_one(kind):
    """Each is waited for before the next is appended: one that is held back is never seen."""
    with Server() as node, kind([node]) as proxy:
        with proxy.watch("a") as watch:
            for i in range(1, 6):
                equal(node.append("a", i), i)
                equal(watch.must_next(), (i, str(i).encode()))
        equal(proxy.append("a", 6), 6)
        with Lines("curl", "-sN", "--http2", "--cacert", proxy.cert, "-D", "-",
                   f"https://localhost:{proxy.port}/v1/streams/a?last_event_id=5") as lines:
            equal(lines.next().split(), ["HTTP/2", "200"])
            for i in range(6, 9):
                if i > 6:
                    node.append("a", i)
                while (line := lines.next()) != f"id: {i}":
                    expect(not line.startswith("id:"), "an event out of order", line)
                equal(lines.next(), f"data: {i}")


def reader_resumes_where_it_was(kind):
    with Server() as node, kind([node]) as proxy:
        node.append_all("a", list(range(1, 101)))
        with proxy.watch("a", fields=[("Last-Event-ID", "40")]) as watch:
            equal(ids_of(watch.events(60)), list(range(41, 101)))
        with proxy.watch("a", "?last_event_id=98") as watch:
            equal(ids_of(watch.events(2)), [99, 100])
        answer = proxy.ask("GET", "/v1/streams/a", [("Accept", "application/json")])
        equal(answer.json()["last"], 100)


def silence_is_survived_with_heartbeats_alone(kind):
    """The proxy's patience is a moment here; one without heartbeats shows that it has none left."""
    with Server() as node, kind([node], patience_s=PATIENCE_S) as proxy:
        node.append("a", 1)
        with proxy.watch("a") as silent, proxy.watch("a", "?probe=true") as beating:
            equal((silent.must_next(), beating.must_next()), ((1, b"1"), (1, b"1")))
            wait_ended(silent)
            node.append("a", 2)
            equal(beating.must_next(), (2, b"2"))
        with proxy.watch("a", fields=[("Last-Event-ID", "1")]) as again:
            equal(again.must_next(), (2, b"2"))


def upload_goes_through_as_it_comes(kind):
    half = b"\0" * (8 * MEBIBYTE)
    with Server() as node, kind([node]) as proxy:
        with proxy.connect() as conn:
            conn.send(request_bytes("POST", "/v1/data/imports?name=x.bin",
                                    [("Content-Type", "text/csv"), ("Content-Length", str(2 * len(half)))]))
            conn.send(half)
            wait_until(lambda: node.metric("weir_received_bytes_total") >= len(half) - 2 * MEBIBYTE,
                       "the first half is at the node")
            conn.send(half)
            answer = conn.answer()
            equal((answer.status, answer.error()), (400, "invalid_file_type"))
        answer = proxy.ask("POST", "/v1/streams/a", JSON_FIELDS, b'"%s"' % (b"x" * (2 * MEBIBYTE)))
        equal(answer.status, 413, "how large a body may be is the node's business")


def who_leaves_is_gone_at_the_node(kind):
    with Server() as node, kind([node]) as proxy:
        node.append("a", 1)
        with proxy.watch("a") as watch:
            equal(watch.must_next(), (1, b"1"))
            equal(node.metric("weir_subscribers"), 1)
        # Long before a heartbeat would find out.
        wait_until(lambda: node.metric("weir_subscribers") == 0, "the node knows", 8 * PATIENCE)


def events_are_not_compressed_and_json_is(kind):
    wish = [("Accept-Encoding", "gzip, deflate, br")]
    with Server() as node, kind([node]) as proxy:
        node.append("a", 1)
        with proxy.watch("a", fields=wish) as watch:
            equal(watch.opening.field("content-encoding"), None)
            equal(watch.must_next(), (1, b"1"))
            node.append("a", 2)
            equal(watch.must_next(), (2, b"2"))
        answer = proxy.ask("GET", "/openapi.json", wish)
        equal(answer.field("content-encoding"), "gzip")
        equal(json.loads(gzip.decompress(answer.body)), node.ask("GET", "/openapi.json").json())


def headers_of_strangers_are_not_believed(kind):
    with tempfile.TemporaryDirectory(prefix="weir-proxies-") as folder:
        log = pathlib.Path(folder) / "access"
        with Server("--access-log", str(log), "--log", "off") as node, kind([node]) as proxy:
            lie = [("X-Forwarded-For", "203.0.113.9"), ("X-Real-IP", "203.0.113.9"),
                   ("Forwarded", "for=203.0.113.9;host=evil.example"), ("X-Forwarded-Host", "evil.example"),
                   ("X-Request-Id", "mine-1")]
            answer = proxy.ask("GET", "/v1/whoami", lie)
            equal((answer.status, answer.field("x-request-id")), (200, "mine-1"))
            line = wait_until(lambda: re.search(".*mine-1.*", log.read_text()), "the line is written").group(0)
            expect("203.0.113.9" not in line and "127.0.0.1" in line, "the line of the log", line)
            # What Host says is passed on: without keys another name than localhost is refused.
            with proxy.connect() as conn:
                conn.send(b"GET /v1/whoami HTTP/1.1\r\nHost: evil.example\r\n\r\n")
                expect(b'"access"' not in conn.answer().body, "another host")


def _append_to(nodes, value):
    return {node.append("a", value) for node in nodes}


def _serving(nodes):
    """The node that has a reader."""
    return wait_until(lambda: next((n for n in nodes if n.metric("weir_subscribers") > 0), None), "a node serves")


def _post_status(proxy):
    status = proxy.ask("POST", "/v1/streams/b", JSON_FIELDS, b"1").status
    expect(status in (201, 502), "an append without a node", status)
    return status


def readers_go_on_at_another_node(kind):
    """One is killed, the next goes down in order, and both come back."""
    with contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(Server()) for _ in range(3)]
        proxy = stack.enter_context(kind(nodes))
        equal(_append_to(nodes, 1), {1})
        living, last = list(nodes), 1
        for end in (Server.kill, Server.stop):
            with proxy.watch("a", fields=[("Last-Event-ID", str(last - 1))]) as watch:
                equal(watch.must_next()[0], last)
                node = _serving(living)
                living.remove(node)
                end(node)
                wait_ended(watch)
            equal(_append_to(living, last + 1), {last + 1})
            # At once: it is not the reader who finds out that a node is away.
            for _ in range(6):
                with proxy.watch("a", fields=[("Last-Event-ID", str(last))]) as watch:
                    equal(watch.must_next()[0], last + 1)
                # A POST on a connection that was just broken may have happened: the client is told.
                wait_until(lambda: _post_status(proxy) == 201, "appends are taken")
            last += 1
        for node in nodes:
            if node not in living:
                node.start()
        for node in nodes:
            _wait_asked(proxy, node)


def _wait_asked(proxy, node):
    """Until the proxy sends requests to this node, too. To ask for the count is one itself."""
    seen = node.metric("weir_requests_total")

    def is_asked():
        nonlocal seen
        for _ in range(3):
            equal(proxy.ask("GET", "/v1/whoami").status, 200)
        before, seen = seen, node.metric("weir_requests_total")
        return seen > before + 1
    wait_until(is_asked, "a node that is back is asked again")


@contextlib.contextmanager
def _database():
    child = subprocess.Popen([ROOT / "tests/postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "T_POSTGRES_KEEP": str(ROOT / "build/postgres")})
    try:
        url = child.stdout.readline().strip()
        if not url:
            raise Skip("PostgreSQL is not installed")
        yield url
    finally:
        child.stdin.close()
        child.wait(WAIT_S)


def nodes_of_one_store_are_one_server(kind):
    """Appended and read through the proxy, while nodes are stopped and started one after the other."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(_database())
        nodes = [stack.enter_context(Server("--store", url))]
        nodes.append(Server("--store", url, starts=False))
        for file in pathlib.Path(nodes[0].data).glob("*.key"):
            shutil.copy2(file, nodes[1].data)
        stack.enter_context(nodes[1]).start()
        proxy = stack.enter_context(kind(nodes))
        last = 0
        for node in (None, *nodes):
            if node:
                node.stop()
            for _ in range(4):
                # Whether one that was not answered happened, the stream says.
                wait_until(lambda: proxy.ask("POST", "/v1/streams/a", JSON_FIELDS, to_json(last)).status == 201,
                           "an append is taken")
                with proxy.watch("a", fields=[("Last-Event-ID", str(last))]) as watch:
                    last += 1
                    equal(watch.must_next()[0], last)
                    while proxy.ask("GET", "/v1/streams/a", [("Accept", "application/json")]).json()["last"] > last:
                        last += 1
                        equal(watch.must_next()[0], last)
            if node:
                node.start()
                _wait_asked(proxy, node)


CLAIMS = [events_come_one_by_one, reader_resumes_where_it_was, silence_is_survived_with_heartbeats_alone,
          upload_goes_through_as_it_comes, who_leaves_is_gone_at_the_node, events_are_not_compressed_and_json_is,
          headers_of_strangers_are_not_believed, readers_go_on_at_another_node, nodes_of_one_store_are_one_server]


def add_cases(kind):
    for claim in CLAIMS:
        add_case(f"{kind.NAME}_{claim.__name__}", lambda claim=claim: claim(kind))
