# SPDX-License-Identifier: Apache-2.0
"""What the tests of the server share: a server in a folder of its own, a client that
speaks raw bytes, a strict reader of answers and of event streams, and counting.

Nothing here trusts the server: an answer that is not exactly HTTP, or an event that is
not exactly "id: N", "data: JSON" and an empty line, fails the test that reads it.

There is no sleeping to let things happen. Every wait is for a condition, with a deadline
that $WEIR_PATIENCE multiplies (for sanitizers and busy machines).
"""
import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Whoever runs the tests has a home with events in it that are not the tests'.
os.environ["WEIR_KEEP"] = "no"
PATIENCE = float(os.environ.get("WEIR_PATIENCE", "1"))
WAIT_S = 120 * PATIENCE  # nobody waits so long unless something is wrong
KIBIBYTE = 1 << 10
MEBIBYTE = 1 << 20

HEAD_BYTES = 16 * KIBIBYTE
TARGET_BYTES = 8 * KIBIBYTE
BODY_BYTES = MEBIBYTE
MAX_FIELDS = 64


class Failure(Exception):
    """A claim of a test that does not hold."""


class Skip(Exception):
    """Why a case cannot be run here."""


class Closed(Failure):
    """The server ended the connection where it should not have."""


def expect(claim, text="", *details):
    if not claim:
        raise Failure(" ".join([text] + [repr(detail)[:600] for detail in details]))


def equal(seen, wanted, text=""):
    if seen != wanted:
        raise Failure(f"{text}: wanted {wanted!r:.400}, got {seen!r:.400}".lstrip(": "))


def wait_until(condition, text, wait_s=None):
    """Polls; for what nobody can be told of, as another process's memory."""
    deadline = time.monotonic() + (WAIT_S if wait_s is None else wait_s)
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Failure(f"waited in vain until {text}")
        time.sleep(0.01)


def told(look, wanted):
    """What `look` gives: at once where there is one server; of several, as soon as all were told."""
    if Server.n_nodes > 1:
        wait_until(lambda: all(look() == wanted for _ in range(2 * Server.n_nodes)), f"all nodes say {wanted}")
    return look()


def needs_one(why):
    """For what is true of one process and its folder alone."""
    if Server.n_nodes > 1:
        raise Skip(f"several nodes: {why}")


# ---- cases ----

_cases = []


def case(function):
    """Marks a function as a test; its name is the claim it proves."""
    _cases.append((function.__name__, function))
    return function


def add_case(name, function):
    _cases.append((name, function))


def main(arguments=None):
    """Runs the cases, or those whose names contain one of the arguments."""
    wanted = sys.argv[1:] if arguments is None else arguments
    program()
    n_passed = n_failed = n_skipped = 0
    for name, function in _cases:
        if wanted and not any(part in name for part in wanted):
            continue
        begin = time.monotonic()
        try:
            function()
            n_passed += 1
            verdict = "ok"
        except Skip as why:
            n_skipped += 1
            verdict = f"skipped: {why}"
        except Exception as problem:
            n_failed += 1
            verdict = f"FAILED {name}: {_place()}{type(problem).__name__}: {problem}"
        print(f"{time.monotonic() - begin:7.2f} s  {name}: {verdict}", flush=True)
        Server.end_all()
    skipped = f", {n_skipped} skipped" if n_skipped else ""
    print(f"{n_passed} passed, {n_failed} failed{skipped}", flush=True)
    sys.exit(1 if n_failed or n_passed + n_skipped == 0 else 0)


def _place():
    """Where in the test's own file it went wrong."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    outside = [frame for frame in frames if not frame.filename.endswith("support.py")]
    frame = (outside or frames)[-1]
    return f"{os.path.basename(frame.filename)}:{frame.lineno}: "


# ---- the server ----

def program():
    path = os.environ.get("WEIR", ROOT / "build" / "weir")
    if not os.access(path, os.X_OK):
        print(f"{path} is not there; build it with make, or name it by $WEIR")
        print("0 passed, 1 failed")
        sys.exit(1)
    return str(pathlib.Path(path).resolve())


def words_of(*arguments):
    """The program with its arguments, behind $WEIR_WRAPPER if there is one."""
    return [*os.environ.get("WEIR_WRAPPER", "").split(), program(), *arguments]


def weir(*arguments, env=None, **options):
    """Runs another command of weir to its end."""
    env = {**(os.environ if env is None else env), **Server.env_for(arguments)}
    return subprocess.run(words_of(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=WAIT_S, check=False, env=env, **options)


class Server:
    """weir serve on a folder, started by `with` unless told otherwise. With `data` it goes on
    with what is there.

    start() and stop() may be called again and again; the port stays what it was first, so
    that clients that reconnect find it.
    """

    _running = []
    n_nodes = 1
    tells_of_nodes = False  # whoever reads is told when nodes come, which is not to be in the middle of a test

    def __init__(self, *options, data=None, is_open=True, env=None, port=0,
                 starts=True):
        self._temporary = None if data else tempfile.TemporaryDirectory(prefix="weir-serve-")
        self.data = str(data or self._temporary.name)
        self.options = list(options)
        self.is_open = is_open
        self.env = env or {}
        self.own_port = port
        self.child = None
        self.scheme = "http"
        self.first_line = ""
        self.key = None
        self._held = None
        self._starts = starts
        self._err = tempfile.NamedTemporaryFile(prefix="weir-serve-err-")

    def __enter__(self):
        return self.start() if self._starts and self.child is None else self

    def __exit__(self, kind, value, trace):
        try:
            # One that was ended by the test itself has been looked at there.
            if self.child is not None and self.child.poll() is None:
                status = self.stop()
                if kind is None:
                    equal(status, 0, f"exit status of the server, which said {self.errors()[-600:]!r}")
            if kind is None:
                self.expect_no_complaint()
        finally:
            self.end()

    def command(self):
        host = "127.0.0.1"
        words = words_of("serve", "--data", self.data, "--listen", f"{host}:{self.own_port}")
        return words + (["--open"] if self.is_open else []) + self.options

    def spawn(self, **options):
        """Starts it without waiting for its first line."""
        expect(self.child is None or self.child.poll() is not None, "it runs already")
        env = {**os.environ, **self.env}
        self.child = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=self._err, env=env, **options)
        Server._running.append(self)
        return self

    def start(self, wait_s=None, **options):
        self.spawn(**options)
        self.wait_listening(wait_s)
        return self

    def wait_listening(self, wait_s=None):
        line = self._read_line(time.monotonic() + (WAIT_S if wait_s is None else wait_s))
        self.first_line = line
        match = re.fullmatch(r"listening on (https?)://(127\.0\.0\.1|\[::1\]):(\d+)\n", line)
        if not match:
            self.child.kill()
            self.child.wait()
            raise Failure(f"first line {line!r}, errors {self.errors()[-1000:]!r}")
        self.scheme = match.group(1)
        self.own_port = int(match.group(3))
        self._hold_port(match.group(2).strip("[]"))
        out = self.child.stdout
        threading.Thread(target=_drain, args=(out,), daemon=True).start()

    def _hold_port(self, host):
        """Nobody else who asks for any free port gets this one while the server is down: it is bound, to be
        shared with those who share it as the server does, and nobody listens.
        """
        if self._held and self._held.getsockname()[1] == self.own_port:
            return
        self._let_port_go()
        self._held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        try:
            self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._held.bind((host, self.own_port))
        except OSError:  # a socket that the server was given is not shared
            self._let_port_go()

    def _let_port_go(self):
        if self._held:
            self._held.close()
        self._held = None

    def _read_line(self, deadline):
        line = b""
        fd = self.child.stdout.fileno()
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            expect(left > 0, "no first line in time, but", line, self.errors()[-600:])
            if select.select([fd], [], [], left)[0]:
                byte = os.read(fd, 1)
                if not byte:
                    break
                line += byte
        return line.decode(errors="replace")

    def errors(self):
        with open(self._err.name, "rb") as file:
            return file.read().decode(errors="replace")

    def expect_no_complaint(self):
        """That no check of ours and no sanitizer said anything, whatever became of it."""
        match = re.search(r"(?s)(this must hold|[A-Z][a-z]+Sanitizer|runtime error:).{0,3000}", self.errors())
        expect(not match, "the server said", match and match.group(0))

    def send_signal(self, number):
        self.child.send_signal(number)

    def kill(self):
        """At once, as a power switch for the process."""
        if self.child.poll() is None:
            self.child.kill()
        return self.wait()

    def stop(self, number=signal.SIGTERM):
        if self.child.poll() is None:
            self.send_signal(number)
        return self.wait()

    def wait(self, wait_s=None):
        try:
            return self.child.wait(WAIT_S if wait_s is None else wait_s)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise Failure("the server did not end in time") from None
        finally:
            if self in Server._running:
                Server._running.remove(self)

    def wait_killed(self):
        """Until WEIR_FAULT has killed it. Of several nodes one is, and then all are."""
        self.wait()

    @property
    def folders(self):
        """The data folders of all nodes."""
        return [pathlib.Path(self.data)]

    def restart(self, number=signal.SIGTERM):
        status = self.stop(number)
        self.start()
        return status

    def end(self):
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        if self in Server._running:
            Server._running.remove(self)
        self._let_port_go()
        self._err.close()
        if self._temporary:
            self._temporary.cleanup()

    @classmethod
    def end_all(cls):
        for server in list(cls._running):
            server.end()

    def rss_bytes(self):
        """Resident memory of its own, without files."""
        text = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s*(\d+) kB", text).group(1)) * KIBIBYTE

    def expect_grown_less(self, before, allowed, text):
        """Nothing is said of sanitizers, whose memory is their own."""
        grown = self.rss_bytes() - before
        program_bytes = pathlib.Path(f"/proc/{self.child.pid}/exe").read_bytes()
        if b"__asan_init" not in program_bytes and b"__tsan_init" not in program_bytes:
            expect(grown <= allowed, f"{text}: grown by", grown)

    def n_descriptors(self):
        return len(os.listdir(f"/proc/{self.child.pid}/fd"))

    @staticmethod
    def env_for(arguments):
        """What another command needs to find what the server has."""
        return {}

    def port_for(self, method):
        """Where a request of that method goes."""
        return self.own_port

    @property
    def port(self):
        return self.port_for(None)

    @port.setter
    def port(self, port):
        self.own_port = port

    def url(self, path=""):
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    # What most tests need, each on a connection of its own.

    def connect(self, **options):
        return Conn(self, **options)

    def ask(self, method, target, fields=(), body=None, **options):
        with self.connect(method=method, **options) as conn:
            conn.request(method, target, fields, body)
            return conn.answer(method)

    def append(self, stream, value, **options):
        """Appends one event and returns its id."""
        answer = self.ask("POST", f"/v1/streams/{stream}", JSON_FIELDS, to_json(value), **options)
        return appended_id(answer)

    def append_all(self, stream, values):
        """Appends a batch and returns its first and last id."""
        answer = self.ask("POST", f"/v1/streams/{stream}?batch=1", JSON_FIELDS, to_json(values))
        return batch_ids(answer)

    def replay(self, stream, query="", fields=()):
        """All events of a stream now, as (id, data bytes)."""
        with self.watch(stream, f"?live=false{query}", fields) as watch:
            return watch.rest()

    def watch(self, stream, query="", fields=(), **options):
        return Watch(self, f"/v1/streams/{stream}{query}", fields, **options)

    def healthy(self):
        answer = self.ask("GET", "/healthz")
        equal(answer.status, 200, "/healthz")

    def is_served(self):
        """Whether a new connection gets an answer now."""
        try:
            return self.ask("GET", "/healthz").status == 200
        except (Failure, OSError):
            return False

    def metrics(self, fields=(), **options):
        answer = self.ask("GET", "/metrics", fields, **options)
        equal(answer.status, 200, "/metrics")
        return answer.body.decode()

    def metric(self, pattern, fields=()):
        """The sum of the samples whose name and labels match."""
        total = None
        for line in self.metrics(fields).splitlines():
            match = re.fullmatch(rf"({pattern})\S* (\S+)", line)
            if match:
                total = (total or 0) + float(line.rsplit(" ", 1)[1])
        return total


def _drain(pipe):
    try:
        while pipe.read(65536):
            pass
    except (OSError, ValueError):
        pass


JSON_FIELDS = [("Content-Type", "application/json")]


# ---- keys and refusals ----

def make_key(server, *options):
    made = weir("key", "create", "--data", server.data, *options)
    equal((made.returncode, made.stderr), (0, b""), "weir key create")
    key = made.stdout.decode().removesuffix("\n")
    expect(re.fullmatch(r"weir_[0-9a-z]{12}_[A-Za-z0-9_-]{43}", key), "a key", key)
    return key


def bearer(key):
    return [("Authorization", f"Bearer {key}")]


def refused(answer, status, code, text=""):
    """The error, which has this code, and this text in its message."""
    equal(answer.status, status, f"status ({answer.body[:300]!r})")
    equal(answer.error(), code, "code")
    error = answer.json()["error"]
    expect(error["message"] and text in error["message"], f"{text!r} in the message", error)
    return error


def to_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def appended_id(answer):
    equal(answer.status, 201, f"an append ({answer.body[:200]!r})")
    body = answer.json()
    equal(sorted(body), ["id"], "members of the answer")
    expect(isinstance(body["id"], int) and body["id"] > 0, "id", body)
    return body["id"]


def batch_ids(answer):
    equal(answer.status, 201, f"a batch ({answer.body[:200]!r})")
    body = answer.json()
    equal(sorted(body), ["first", "last"], "members of the answer")
    return body["first"], body["last"]


# ---- answers ----

_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) ([ -~]*)")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t -~\x80-\xff]*)")


class Answer:
    """One answer: status, fields (a list, names in lower case), body."""

    def __init__(self, status, reason, fields):
        self.status = status
        self.reason = reason
        self.fields = fields
        self.body = b""
        self.interim = []

    def field(self, name):
        """The value of a field that must not come twice; None when it is not there."""
        values = [value for key, value in self.fields if key == name]
        expect(len(values) <= 1, f"{name} came {len(values)} times")
        return values[0] if values else None

    def closes(self):
        return (self.field("connection") or "").lower() == "close"

    def json(self):
        return json.loads(self.body)

    def error(self):
        """The code of an error in the one shape, which is checked."""
        expect((self.field("content-type") or "").startswith("application/json"),
               f"{self.status}: Content-Type", self.field("content-type"), self.body)
        shape = self.json()
        equal(sorted(shape), ["error"], "members")
        error = shape["error"]
        equal(sorted(error), ["code", "docs_url", "message", "request_id"], "members of the error")
        equal(error["request_id"], self.field("x-request-id"), "request_id")
        expect(error["docs_url"].endswith(f"/docs/errors#{error['code']}"), "docs_url", error)
        expect(error["message"], "a message")
        return error["code"]


def parse_head(head):
    """An Answer without body from the bytes before the empty line."""
    lines = head.split(b"\r\n")
    expect(b"\n" not in head.replace(b"\r\n", b"") and b"\r" not in head.replace(b"\r\n", b""),
           "a bare CR or LF in the head", head)
    match = _STATUS_LINE.fullmatch(lines[0])
    expect(match, "a status line", lines[0])
    fields = []
    for line in lines[1:]:
        field = _FIELD.fullmatch(line)
        expect(field, "a header field", line)
        fields.append((field.group(1).decode().lower(), field.group(2).decode("latin-1").rstrip()))
    return Answer(int(match.group(1)), match.group(2).decode(), fields)


class Conn:
    """A connection; whatever is read beyond an answer is kept for the next one. Of several nodes the
    method of its first request says which one it goes to."""

    def __init__(self, server, tls=None, wait_s=None, receive_bytes=None, family=socket.AF_INET, method=None,
                 port=None):
        self.wait_s = WAIT_S if wait_s is None else wait_s
        self.unread = b""
        self.saw_end = False
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        if receive_bytes:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.sock.settimeout(self.wait_s)
        self.sock.connect(("127.0.0.1", port or server.port_for(method)))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.sock = tls.wrap_socket(self.sock, server_hostname="localhost")
        self.key = server.key

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def reset(self):
        """Closes so that the server sees a reset."""
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def end_sending(self):
        self.sock.shutdown(socket.SHUT_WR)

    def request(self, method, target, fields=(), body=None):
        self.send(request_bytes(method, target, fields, body, self.key))

    def _more(self):
        """Reads once; False at the end. A reset is an end, too."""
        if self.saw_end:
            return False
        try:
            data = self.sock.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            data = b""
        except ssl.SSLEOFError:
            data = b""
        except socket.timeout:
            raise Failure(f"nothing came for {self.wait_s:.0f} s after {self.unread[-200:]!r}") from None
        if not data:
            self.saw_end = True
            return False
        self.unread += data
        return True

    def is_readable(self, wait_s=0.0):
        if self.unread or self.saw_end:
            return True
        if isinstance(self.sock, ssl.SSLSocket) and self.sock.pending():
            return True
        return bool(select.select([self.sock], [], [], wait_s)[0])

    def take_until(self, mark):
        while mark not in self.unread:
            if not self._more():
                raise Closed(f"the connection ended after {self.unread[-300:]!r}")
        part, self.unread = self.unread.split(mark, 1)
        return part

    def take(self, n):
        while len(self.unread) < n:
            if not self._more():
                raise Closed(f"the connection ended {n - len(self.unread)} bytes early")
        part, self.unread = self.unread[:n], self.unread[n:]
        return part

    def head(self):
        return parse_head(self.take_until(b"\r\n\r\n"))

    def answer(self, method="GET"):
        """A whole answer, after any 1xx before it."""
        interim = []
        while True:
            answer = self.head()
            if answer.status >= 200:
                break
            interim.append(answer.status)
        answer.interim = interim
        length = answer.field("content-length")
        coding = answer.field("transfer-encoding")
        expect(length is None or coding is None, "both a length and a coding")
        if method == "HEAD" or answer.status in (204, 304):
            expect(answer.status != 204 or (length is None and coding is None), "204 with a length")
        elif coding is not None:
            equal(coding, "chunked", "Transfer-Encoding")
            answer.body = b"".join(iter(self.chunk, b""))
        elif length is not None:
            answer.body = self.take(int(length))
        else:
            expect(answer.closes(), "neither a length nor a coding, and not the end of the connection",
                   answer.fields)
            answer.body = self.take_all()
        return answer

    def chunk(self):
        size = self.take_until(b"\r\n")
        expect(re.fullmatch(rb"[0-9a-fA-F]{1,16}", size), "a chunk's size", size)
        data = self.take(int(size, 16))
        equal(self.take(2), b"\r\n", "end of a chunk")
        return data

    def take_all(self):
        while self._more():
            pass
        part, self.unread = self.unread, b""
        return part

    def expect_end(self):
        """The server closes, and has not said anything more."""
        rest = self.take_all()
        equal(rest, b"", "after the last answer")

    def ask(self, method, target, fields=(), body=None):
        self.request(method, target, fields, body)
        return self.answer(method)


def request_bytes(method, target, fields=(), body=None, key=None, version="1.1"):
    lines = [f"{method} {target} HTTP/{version}", "Host: localhost"]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    lines += [f"{name}: {value}" for name, value in fields]
    if body is not None and not any(name.lower() in ("content-length", "transfer-encoding")
                                    for name, _ in fields):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


def post_bytes(body, stream="a", fields=(), request_id=None):
    """The bytes of an append; without a body the caller says what its length is."""
    extra = [("X-Request-Id", request_id)] if request_id else []
    return request_bytes("POST", f"/v1/streams/{stream}", [*JSON_FIELDS, *extra, *fields], body)


# ---- event streams ----

_EVENT = re.compile(rb"id: ([1-9][0-9]*)\ndata: ([^\r\n]*)")


class EventParser:
    """Events from the bytes of a body that come in pieces; comments are passed over."""

    def __init__(self):
        self.rest = b""

    def feed(self, data):
        self.rest += data
        if b"\n\n" not in self.rest:
            return []
        *frames, self.rest = self.rest.split(b"\n\n")
        events = []
        for frame in frames:
            while frame.startswith(b":"):
                _, _, frame = frame.partition(b"\n")
            if not frame:
                continue
            match = _EVENT.fullmatch(frame)
            if not match:
                raise Failure(f"not an event: {frame[:300]!r}")
            events.append((int(match.group(1)), match.group(2)))
        return events


class Dechunker:
    """The data of a chunked body that comes in pieces."""

    def __init__(self):
        self.rest = b""
        self.is_done = False

    def feed(self, data):
        self.rest += data
        out = []
        at = 0
        while not self.is_done:
            end = self.rest.find(b"\r\n", at)
            if end < 0:
                break
            size_text = self.rest[at:end]
            if not re.fullmatch(rb"[0-9a-fA-F]{1,16}", size_text):
                raise Failure(f"a chunk's size: {size_text[:80]!r}")
            size = int(size_text, 16)
            if len(self.rest) < end + 2 + size + 2:
                break
            if self.rest[end + 2 + size:end + 4 + size] != b"\r\n":
                raise Failure("a chunk's end")
            out.append(self.rest[end + 2:end + 2 + size])
            at = end + 4 + size
            self.is_done = size == 0
        self.rest = self.rest[at:]
        return b"".join(out)


class Watch(Conn):
    """A reader of one stream, one event after the other."""

    def __init__(self, server, target, fields=(), version="1.1", **options):
        super().__init__(server, method="GET", **options)
        self.send(request_bytes("GET", target, [("Accept", "text/event-stream"), *fields],
                                key=self.key, version=version))
        self._events = []
        self._parser = EventParser()
        self._dechunker = None
        self.has_ended = False
        self.opening = self.head()
        if self.opening.status == 200:
            media_type = self.opening.field("content-type")
            equal(media_type.split(";")[0], "text/event-stream", "Content-Type")
            if self.opening.field("transfer-encoding") == "chunked":
                self._dechunker = Dechunker()

    def refusal(self):
        """The whole answer, when it is not a stream."""
        expect(self.opening.status != 200, "the stream was opened")
        self.opening.body = self.take(int(self.opening.field("content-length") or 0))
        return self.opening

    def _feed(self):
        """Reads once, up to the end of the answer."""
        if not self.unread and not self._more():
            expect(self._dechunker is None or self._dechunker.is_done,
                   "the stream broke off instead of ending")
            self.has_ended = True
        data, self.unread = self.unread, b""
        if self._dechunker:
            data = self._dechunker.feed(data)
            if self._dechunker.is_done:
                self.has_ended = True
                self.unread = self._dechunker.rest
        self._events += self._parser.feed(data)
        if self.has_ended:
            equal(self._parser.rest, b"", "the end of the stream is not that of an event")

    def next(self, wait_s=None):
        """The next event as (id, data); None when the stream has ended. With wait_s, comments that keep
        the stream alive do not make the wait any longer.
        """
        deadline = None if wait_s is None else time.monotonic() + wait_s
        while not self._events and not self.has_ended:
            expect(deadline is None or time.monotonic() < deadline, "no event in time")
            self._feed()
        return self._events.pop(0) if self._events else None

    def events(self, n):
        return [self.must_next() for _ in range(n)]

    def must_next(self, wait_s=None):
        event = self.next(wait_s)
        if event is None:
            raise Closed("the stream ended")
        return event

    def rest(self):
        """All events up to the end of the stream."""
        events = []
        while True:
            event = self.next()
            if event is None:
                return events
            events.append(event)


def ids_of(events):
    return [number for number, _ in events]


def values_of(events):
    return [json.loads(data) for _, data in events]


# ---- other programs ----

class Lines:
    """A program whose output is read line by line, with a deadline."""

    def __init__(self, *words, **options):
        self.child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, **options)
        self._rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.communicate()

    def next(self, wait_s=WAIT_S):
        deadline = time.monotonic() + wait_s
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            expect(left > 0, "no line in time")
            if select.select([self.child.stdout], [], [], left)[0]:
                data = os.read(self.child.stdout.fileno(), 65536)
                expect(data, "the program ended", self._rest)
                self._rest += data
        text, self._rest = self._rest.split(b"\n", 1)
        return text.decode()

    def until(self, wanted, wait_s=WAIT_S):
        """Lines of JSON up to the first one for which wanted() holds."""
        seen = []
        while True:
            seen.append(json.loads(self.next(wait_s)))
            if wanted(seen[-1]):
                return seen


def make_certificate(folder, name="localhost"):
    """A certificate for localhost, signed by itself; two PEM files."""
    cert = os.path.join(folder, "cert.pem")
    key = os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=WAIT_S)
    return cert, key


# The same tests for several nodes on PostgreSQL.
if os.environ.get("WEIR_STORE") == "postgres":
    sys.path.insert(0, str(ROOT / "tests" / "nodes"))
    import cluster
    Server = cluster.Cluster
