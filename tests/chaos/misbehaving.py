# SPDX-License-Identifier: Apache-2.0
"""What the cases of chaos share: a site that does what a function says with each connection, the
program that follows it (follow.c), and the law that all of them have to keep."""
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from support import WAIT_S, Closed, Skip, equal, expect, make_certificate, program  # noqa: E402

N_EVENTS = 6
KIBIBYTE = 1024
MEBIBYTE = KIBIBYTE * KIBIBYTE
PAGE = b"<html><h1>502 Bad Gateway</h1></html>"
SSE = "text/event-stream"
LAST = {"turn": "turn.completed", "chat": "done"}


def event(number, kind="turn", data=None):
    """The event with this number, as servers of this kind write it."""
    is_last = number == N_EVENTS
    name = LAST.get(kind, "x") if is_last else "x"
    prefix = "m:" if kind == "chat" else ""
    return f"id: {prefix}{number}\nevent: {name}\ndata: {data or f'e{number}'}\n\n".encode()


def events(first=1, last=N_EVENTS, kind="turn"):
    return b"".join(event(i, kind) for i in range(first, last + 1))


def head(status="200 OK", content_type=SSE, *fields):
    lines = [f"HTTP/1.1 {status}"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    return "\r\n".join([*lines, *fields, "", ""]).encode()


class Left(Exception):
    """The other side has gone."""


class Conn:
    """A connection, with its request read."""

    def __init__(self, site, sock, nth):
        self.site = site
        self.sock = sock
        self.nth = nth
        self.target = ""
        self.fields = {}

    def read_request(self):
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._read()
        text, _, body = data.partition(b"\r\n\r\n")
        lines = text.decode().split("\r\n")
        self.method, self.target, _ = lines[0].split(" ")
        self.fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        while len(body) < int(self.fields.get("content-length", 0)):
            body += self._read()
        self.body = body

    def _read(self):
        data = self.sock.recv(65536)
        if not data:
            raise Left
        return data

    @property
    def had(self):
        """The number behind which this client wants to go on."""
        return int(self.fields.get("last-event-id", "0").rpartition(":")[2])

    def put(self, *pieces):
        for piece in pieces:
            self.sock.sendall(piece)

    def trickle(self, data):
        for i in range(len(data)):
            self.sock.sendall(data[i:i + 1])

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def stall(self):
        """Until the other side has had enough."""
        self.site.stalled.set()
        while self.sock.recv(65536):
            pass

    def rest(self, kind="turn"):
        """All that this client has not had; 204 when that is nothing."""
        if self.had >= N_EVENTS:
            self.put(head("204 No Content", None))
        else:
            self.put(head(), events(self.had + 1, kind=kind))


class Site:
    """Listens, and lets `play(conn)` do what it likes with each connection that brings a request."""

    def __init__(self, play, tls=None):
        self.play = play
        self.tls = tls
        self.requests = []
        self.n_accepted = 0
        self.times = []
        self.wrong = []
        self.stalled = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        if kind is None:
            equal(self.wrong, [], "what went wrong in the site itself")

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def _run(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.n_accepted += 1
            self.times.append(time.monotonic())
            threading.Thread(target=self._serve, args=(sock, self.n_accepted), daemon=True).start()

    def _serve(self, sock, nth):
        try:
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True)
            conn = Conn(self, sock, nth)
            conn.read_request()
            self.requests.append(conn)
            self.play(conn)
        except (OSError, Left):
            pass  # whoever follows may go at any time
        except Exception as problem:  # pylint: disable=broad-except
            self.wrong.append(repr(problem))
        finally:
            sock.close()  # of TLS without a word, too


# ---- those who follow ----

class Follower:
    """The program, and the lines it prints."""

    def __init__(self, url, env=None, **options):
        self.kind = options.get("kind", "turn")
        self.lines = []
        self.changed = threading.Condition()
        self.child = subprocess.Popen(self.command(url, options), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      encoding="utf-8", errors="replace", env={**os.environ, **(env or {})})
        threading.Thread(target=self._read, daemon=True).start()

    def command(self, url, options):
        path = pathlib.Path(program()).parent / "tests" / "chaos-follow"
        if not os.access(path, os.X_OK):
            raise Skip("tests/chaos-follow is not built")
        usual = {"initial_ms": 1, "max_ms": 2, **options}
        words = [f"{name}={value}" for name, value in usual.items()]
        return [*os.environ.get("WEIR_WRAPPER", "").split(), path, f"url={url}", *words]

    def _read(self):
        for line in self.child.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.lines.append(None)
            self.changed.notify_all()

    def wait(self, condition, text):
        """Until a line that it has printed fits."""
        with self.changed:
            found = self.changed.wait_for(lambda: any(condition(line) for line in self.lines if line is not None)
                                          or None in self.lines, WAIT_S)
            expect(found, f"waited in vain for {text}, got", self.lines[-5:])
        return self

    def wait_events(self, number):
        return self.wait(lambda line: line.startswith(f"event {number} "), f"event {number}")

    def abort(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return self

    def end(self):
        """All that it did; it has to come to its end."""
        try:
            self.child.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            raise Closed(f"it hangs: {self.lines[-5:]!r}") from None
        with self.changed:
            self.changed.wait_for(lambda: None in self.lines, WAIT_S)
        said = self.child.stderr.read()
        equal(self.child.returncode, 0, f"its exit status ({said[-2000:]})")
        return Told(self.kind, [line for line in self.lines if line is not None])


class Told:
    """What a follower was told. The law is looked at at once: each event once and in order, one
    end, and a name for every failure."""

    def __init__(self, kind, lines):
        self.kind = kind
        self.lines = lines
        self.events = [line.split(" ", 3)[1:] for line in lines if line.startswith("event ")]
        self.errors = [line.split(" ", 5)[1:] for line in lines if line.startswith("error ")]
        self.gaps = [line.split(" ")[1:] for line in lines if line.startswith("gap ")]
        self.bodies = [line[5:] for line in lines if line.startswith("body ")]
        self.n_opened = lines.count("open")
        closed = [line.split(" ")[1] for line in lines if line.startswith("closed ")]
        self.aborted_us = [int(line.split(" ")[1]) for line in lines if line.startswith("aborted ")]
        self.closed = closed[0] if closed else None
        end = [line for line in lines if line.startswith("end ")]
        expect(end, "it ends", lines[-3:])
        self.last_seq, self.n_events, self.cpu_ms, self.peak_kb = map(int, end[0].split(" ")[1:])
        self._keep_the_law(closed)

    def _keep_the_law(self, closed):
        equal(len(closed) + len(self.aborted_us), 1, f"ends in {self.lines[-6:]}")
        finals = [error for error in self.errors if error[2] == "final"]
        equal([error[0] for error in finals], [self.closed] * (self.closed not in ("ok", None)), "names of the end")
        expect(all(error[0] != "ok" and error[4] for error in self.errors), "every failure has a name", self.errors)
        if self.kind in ("turn", "chat") and self.events:
            numbers = [int(seq) for seq, _, _ in self.events]
            equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "each once and in order")
            equal(numbers[-1], self.last_seq, "last_seq")

    @property
    def data(self):
        return [data for _, _, data in self.events]

    def whole(self, first=1):
        equal(self.closed, "ok", f"the end of {self.lines[-8:]}")
        equal(self.data, [f"e{i}" for i in range(first, N_EVENTS + 1)], "all events")
        return self

    def failed(self, name, text="", http=None):
        equal(self.closed, name, f"the end of {self.lines[-6:]}")
        last = self.errors[-1]
        expect(text in last[4], f"{text!r} in", last)
        if http is not None:
            equal(int(last[1]), http, "status of HTTP")
        return self


def follow(site, **options):
    return Follower(site if isinstance(site, str) else site.url, **options).end()


def both(play, check, **options):
    """Plays to a follower with a thread and to one with a loop."""
    for loop in (0, 1):
        with Site(play) as site:
            check(follow(site, loop=loop, **options), site)


def script(*plays, kind="turn"):
    """A play for each connection; those behind the last get what they ask for."""
    def play(conn):
        if conn.nth <= len(plays):
            plays[conn.nth - 1](conn)
        else:
            conn.rest(kind)
    return play


def said(*pieces):
    return lambda conn: conn.put(*pieces)


def trickled(*pieces):
    """Byte by byte, each piece a chunk."""
    def play(conn):
        conn.trickle(head("200 OK", SSE, "Transfer-Encoding: chunked"))
        for piece in pieces:
            conn.trickle(b"%x\r\n%s\r\n" % (len(piece), piece))
        conn.trickle(b"0\r\n\r\n")
    return play


def put_comments(conn):
    """25 MB of nothing but life."""
    line = b": hb\n" * (64 * KIBIBYTE // 5)
    for _ in range(400):
        conn.put(line)


# ---- what is to be seen ----

def whole(told, _site):
    told.whole()


def undisturbed(told, site):
    whole(told, site)
    equal(told.errors, [])


def failing(name, text="", http_status=None, n_asked=None):
    def check(told, site):
        told.failed(name, text, http_status)
        if n_asked is not None:
            equal(len(site.requests), n_asked, "requests")
    return check


def tls_context(folder):
    cert, key = make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert
