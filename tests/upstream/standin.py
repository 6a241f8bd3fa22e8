#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/upstream/standin.py [--tls FOLDER]

A model's server that is none: it speaks both wire formats over real sockets, answers as actor.py
plays it, and misbehaves on command. README.md beside it has the commands. It prints one line of JSON
that says where it listens, and ends with its standard input.

A connection that waits costs a protocol object and no task; 10,000 of them are no trouble.
"""
import asyncio
import collections
import dataclasses
import email.utils
import gzip
import json
import os
import pathlib
import resource
import socket
import ssl
import struct
import subprocess
import sys
import time
import traceback

import actor
import improviser
import wire

HEAD_BYTES = 64 << 10
BODY_BYTES = 16 << 20
BACKLOG = 4096
STAMP = b"@" * wire.DELTA_CHARACTERS  # becomes the time of its sending
BIG_DELTA = 16 << 10  # characters in each delta of a large answer
KEY_FIELDS = ("authorization", "x-api-key", "api-key")
REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
           404: "Not Found", 413: "Content Too Large", 429: "Too Many Requests", 500: "Internal Server Error",
           503: "Service Unavailable", 529: "Overloaded"}
CODES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
         404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}


@dataclasses.dataclass
class Seen:
    """A request as it came, and what became of it."""
    number: int
    method: str
    path: str
    fields: dict
    key: str
    listener: str
    body: bytes = b""
    purpose: str = ""
    model: str = ""
    outcome: str = "open"  # answered: whole; cut: by us; left: the other side went before the end
    status: int = 0
    n_deltas: int = 0
    usage: dict = None
    at: float = 0.0
    ended_at: float = 0.0

    def to_json(self, has_body):
        members = {**vars(self)}
        del members["body"]
        return {**members, "body": self.body.decode("utf-8", "replace")} if has_body else members


def cast(script):
    """Who plays the model."""
    return improviser.Improviser(script) if "improvises" in script else actor.Actor(script)


class Left(Exception):
    """The other side is gone."""


class Standin:
    """What is shared by all connections: rules, what was seen, the actor."""

    def __init__(self):
        self.seen = []
        self.n_open = self.max_open = self.n_accepted = 0
        self.reset({})

    def reset(self, command):
        self.rules = []
        self.default = {}
        self.key = command.get("key", "")
        self.flavour = "openai"
        self.actor = cast(command.get("actor") or {})
        self.gates = collections.defaultdict(asyncio.Event)

    def control(self, command):
        """One command; {"reset": true} comes first when there is more in it."""
        if command.get("reset"):
            self.reset(command)
            self.seen = []
        self.rules += command.get("rules", [])
        for member in ("key", "default", "flavour"):
            setattr(self, member, command.get(member, getattr(self, member)))
        if "actor" in command:
            self.actor = cast(command["actor"])
        for name in command.get("release", []):
            self.gates[name].set()

    def rule_for(self, seen, request):
        """The behaviour for a call: of the first rule that fits and is not used up."""
        for rule in self.rules:
            if rule.get("times", 1) == 0 or not _fits(rule, seen, request):
                continue
            if rule.get("times", 1) > 0:
                rule["times"] = rule.get("times", 1) - 1
            return rule.get("do", {})
        return self.default

    def key_of(self, fields):
        """Whether the right key came; the fields lose it."""
        found = "none"
        for name in KEY_FIELDS:
            if name in fields:
                value = fields[name].removeprefix("Bearer ")
                found = "right" if self.key and value == self.key else "other"
                fields[name] = f"<{found} key>"
        return found


def _fits(rule, seen, request):
    return (rule.get("format", request["format"]) == request["format"] and
            rule.get("purpose", seen.purpose) == seen.purpose and
            rule.get("model", request["model"]) == request["model"] and
            rule.get("listener", seen.listener) == seen.listener and
            rule.get("contains", "").encode() in seen.body)


class Conn(asyncio.Protocol):
    """One connection: a request, its answer, and again."""

    def __init__(self, standin, listener):
        self.standin = standin
        self.listener = listener
        self.buffer = bytearray()
        self.task = None
        self.seen = None
        self.writable = None

    # -- what asyncio calls --

    def connection_made(self, transport):
        self.transport = transport
        self.standin.n_open += 1
        self.standin.n_accepted += 1
        self.standin.max_open = max(self.standin.max_open, self.standin.n_open)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, _):
        self.standin.n_open -= 1
        if self.task:
            self._end("left")
            self.task.cancel()

    def pause_writing(self):
        self.writable = asyncio.Event()

    def resume_writing(self):
        self.writable.set()
        self.writable = None

    def data_received(self, data):
        self.buffer += data
        if self.task is None:
            self._next()

    # -- requests --

    def _next(self):
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self.buffer) > HEAD_BYTES:
                self.transport.abort()
            return
        first, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
        fields = {}
        for line in lines:
            name, _, value = line.partition(":")
            fields[name.lower()] = value.strip()
        length = int(fields.get("content-length", "0"))
        if length > BODY_BYTES:
            self.transport.abort()
            return
        if len(self.buffer) < end + 4 + length:
            if fields.get("expect", "").lower() == "100-continue" and len(self.buffer) == end + 4:
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        body = bytes(self.buffer[end + 4:end + 4 + length])
        del self.buffer[:end + 4 + length]
        method, path, _ = first.split(" ")
        self.task = asyncio.get_running_loop().create_task(self._serve(method, path, fields, body))

    async def _serve(self, method, path, fields, body):
        try:
            if path.startswith("/_"):
                await self._control(path, body)
            else:
                await self._model(method, path, fields, body)
        except (Left, asyncio.CancelledError):
            return
        except Exception:
            traceback.print_exc()
            self.transport.abort()
            raise
        self.task = None
        if not self.transport.is_closing():
            self._next()

    async def _control(self, path, body):
        standin = self.standin
        if path == "/_control":
            standin.control(json.loads(body))
            answer = {}
        else:
            has_bodies = "bodies" in path
            answer = {"n_open": standin.n_open, "max_open": standin.max_open, "n_accepted": standin.n_accepted,
                      "seen": [seen.to_json(has_bodies) for seen in standin.seen]}
        await self._answer(200, wire.to_line(answer))

    async def _model(self, method, path, fields, body):
        standin = self.standin
        key = standin.key_of(fields)
        seen = Seen(len(standin.seen), method, path, fields, key, self.listener, body, at=time.monotonic())
        self.seen = seen
        standin.seen.append(seen)
        request = wire.read_request(path, body) if method == "POST" else None
        if request is None:
            kind = wire.format_of(path)
            await self._refuse(kind or "openai", 404 if kind is None else 400, {})
            return
        seen.purpose = standin.actor.purpose_of(request)
        seen.model = request["model"]
        do = standin.rule_for(seen, request)
        await Behaviour(self, seen, request, do).run()

    # -- answers --

    async def write(self, data):
        if self.transport.is_closing():
            raise Left
        self.transport.write(data)
        if self.writable:
            await self.writable.wait()

    async def _answer(self, status, body, fields=(), media_type="application/json"):
        if self.seen:
            self.seen.status = status
        await self.write(head(status, [("Content-Type", media_type), ("Content-Length", len(body)), *fields]) + body)
        self._end("answered")

    async def _refuse(self, kind, status, do):
        text = do.get("body")
        if text is None:
            message = do.get("message", REASONS.get(status, "no"))
            text = json.dumps(wire.error_body(kind, CODES.get(status, "api_error"), message))
        await self._answer(status, text.encode(), [*retry_fields(do), *do.get("fields", [])],
                           do.get("content_type", "application/json"))

    def _end(self, outcome):
        if self.seen and self.seen.outcome == "open":
            self.seen.outcome = outcome
            self.seen.ended_at = time.monotonic()

    def close(self, is_reset=False):
        self._end("cut")
        if is_reset:
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
        else:
            self.transport.close()
        raise Left

    async def stall(self):
        """Until the other side goes."""
        await asyncio.get_running_loop().create_future()


def head(status, fields):
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Unknown')}", *(f"{name}: {value}" for name, value in fields)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def retry_fields(do):
    """Retry-After in seconds, or as the date so many seconds from now."""
    if "retry_after" in do:
        return [("Retry-After", do["retry_after"])]
    if "retry_date_s" in do:
        return [("Retry-After", email.utils.formatdate(time.time() + do["retry_date_s"], usegmt=True))]
    return []


def stamp():
    """Microseconds of the machine's monotonic clock, as long as a delta."""
    return b"%011d " % (time.monotonic_ns() // 1000 % 10 ** 11)


class Behaviour:
    """One call, answered as its rule says. README.md has the members of a rule's `do`."""

    def __init__(self, conn, seen, request, do):
        self.conn = conn
        self.seen = seen
        self.request = request
        self.do = do
        self.flavour = do.get("flavour", conn.standin.flavour)
        self.gzip = None

    async def run(self):
        do, conn = self.do, self.conn
        await self._pause("head_ms")
        await self._hold("hold_head")
        if do.get("end") == "before head":
            conn.close(do.get("is_reset", False))
        if do.get("redirect"):
            await conn._answer(307, b"", [("Location", do["redirect"])])
        elif "status" in do:
            await conn._refuse(self.request["format"], do["status"], do)
        else:
            await self._answer()

    async def _pause(self, name):
        if self.do.get(name):
            await asyncio.sleep(self.do[name] / 1000)

    async def _hold(self, name):
        if name in self.do:
            await self.conn.standin.gates[self.do[name]].wait()

    async def _answer(self):
        do, request = self.do, self.request
        answer = do.get("answer") or self.conn.standin.actor.answer(request)
        if "stamps" in do:
            answer = {"content": [{"type": "text", "text": STAMP.decode() * do["stamps"]}], "stop": "end"}
        usage = wire.usage_of(answer, self.seen.body)
        self.seen.usage = usage
        said = usage if do.get("says_usage", True) else None
        if do.get("plain") or not request["stream"]:
            self.seen.n_deltas = 1
            await self.conn._answer(200, wire.to_line(wire.plain(request, answer, said)))
            return
        frames = wire.frames(request, damaged(answer, do), said, self.flavour)
        self.seen.status = 200
        fields = [("Content-Type", do.get("content_type", "text/event-stream; charset=utf-8")),
                  ("Cache-Control", "no-cache"), ("Transfer-Encoding", "chunked")]
        if do.get("gzip"):
            self.gzip = gzip.compress
            fields.append(("Content-Encoding", "gzip"))
        await self.conn.write(head(200, [*fields, *do.get("fields", [])]))
        await self._pause("first_ms")
        await self._hold("hold_first")
        await self._stream(frames)

    async def _stream(self, frames):
        """Frames up to where the rule says that it goes wrong, then that."""
        do, n_deltas, begin = self.do, 0, time.monotonic()
        # Behind the last delta there is nothing to go wrong with.
        wrong_at = min(do.get("after", len(frames)), sum(frame.is_delta for frame in frames) - 1)
        if self.gzip:
            await self._chunk(self.gzip(b"".join(frame.data for frame in frames)))
            frames = []
        for frame in frames:
            if frame.is_delta and n_deltas == do.get("hold_at"):
                await self._hold("hold_delta")
            if "after" in do and frame.is_delta and n_deltas == wrong_at:
                return await self._go_wrong(frame)
            if "stamps" in do:
                frame.data = frame.data.replace(STAMP, stamp())
            await self._frame(frame)
            if frame.is_delta:
                n_deltas += 1
                self.seen.n_deltas = n_deltas
                await self._pause("delta_ms")
                await self._keep_pace(begin, n_deltas)
        if do.get("end") == "no end":
            self.conn.close()
        await self.conn.write(b"0\r\n\r\n")
        self.conn._end("answered")
        return None

    async def _keep_pace(self, begin, n_deltas):
        """So many deltas in a second on the whole, however long one takes."""
        if "per_second" in self.do:
            await asyncio.sleep(max(0.0, begin + n_deltas / self.do["per_second"] - time.monotonic()))

    async def _go_wrong(self, frame):
        """At this delta, which is never sent whole."""
        do, conn = self.do, self.conn
        end = do.get("end", "cut")
        kind = self.request["format"]
        if end in ("cut", "reset"):
            # In the middle of the text, of a character if there is one of several bytes.
            wide = next((at for at, byte in enumerate(frame.data) if byte >= 0x80), len(frame.data) * 2 // 3)
            await self._chunk(frame.data[:wide + 1])
            conn.close(end == "reset")
        elif end == "stall":
            await conn.stall()
        elif end == "error":
            await self._frame(wire.error_frame(kind, self.flavour))
            for last in wire.end_frames(kind) if do.get("has_done") else []:
                await self._frame(last)
        elif end == "not json":
            await self._chunk(b'data: {"type":"content_block_delta","index":0,"del\n\n')
        elif end == "big":
            await self._big(do["bytes"])
        elif end == "eof":
            pass
        await conn.write(b"0\r\n\r\n")
        conn._end("answered" if end == "big" else "cut")

    async def _big(self, n_bytes):
        """One answer that does not end before so many bytes."""
        text = ("water under the bridge " * (BIG_DELTA // 23))
        answer = {"content": [{"type": "text", "text": text}], "stop": "end"}
        frames = [frame for frame in wire.frames(self.request, answer, None, self.flavour) if frame.is_delta]
        data = b"".join(frame.data for frame in frames)
        for _ in range(n_bytes // len(data) + 1):
            await self._chunk(data)

    async def _frame(self, frame):
        step = self.do.get("trickle_bytes")
        if not step:
            await self._chunk(frame.data)
            return
        for at in range(0, len(frame.data), step):
            await self._chunk(frame.data[at:at + step])
            await self._pause("trickle_ms")

    async def _chunk(self, data):
        await self.conn.write(b"%x\r\n%b\r\n" % (len(data), data))


def damaged(answer, do):
    """With a tool's input that is cut in two, or is not JSON."""
    if not do.get("tool_input"):
        return answer
    content = []
    for block in answer["content"]:
        if block["type"] == "tool_use":
            text = wire.input_text(block)
            text = text[:len(text) // 2] if do["tool_input"] == "truncated" else "{'not': json]" + text
            block = {**block, "input": text}
        content.append(block)
    return {**answer, "content": content}


# ---- certificates ----

def _openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=60)


def _issue(folder, name, subject, hosts, issuer=None):
    """A certificate, by itself or by an issuer."""
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key]
    if issuer is None:
        _openssl("req", "-x509", *curve, "-out", cert, "-days", "2", "-subj", f"/CN={subject}", "-addext",
                 hosts)
        return cert
    extensions = folder / f"{name}.ext"
    extensions.write_text(hosts.replace("=", " = ", 1) + "\n")
    _openssl("req", "-new", *curve, "-out", folder / f"{name}.csr", "-subj", f"/CN={subject}")
    _openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", issuer, "-CAkey", issuer.with_suffix(".key"),
             "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", cert)
    return cert


def make_certificates(folder):
    """A CA of our own; a certificate by it, one by it for somebody else, and one by nobody."""
    here = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    ca = _issue(folder, "ca", "stand-in CA", "subjectAltName=DNS:ca.example")
    return ca, {"good": _issue(folder, "good", "localhost", here, ca),
                "wrong_host": _issue(folder, "wrong_host", "elsewhere.example",
                                     "subjectAltName=DNS:elsewhere.example", ca),
                "unknown": _issue(folder, "unknown", "localhost", here)}


def context_of(cert):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, cert.with_suffix(".key"))
    return context


# ---- the program ----

async def serve(folder):
    standin = Standin()
    loop = asyncio.get_running_loop()

    async def listen(name, tls=None):
        server = await loop.create_server(lambda: Conn(standin, name), "127.0.0.1", 0, backlog=BACKLOG, ssl=tls)
        return server.sockets[0].getsockname()[1]

    where = {"http": f"http://127.0.0.1:{await listen('http')}",
             "other": f"http://127.0.0.1:{await listen('other')}"}
    if folder:
        ca, certificates = make_certificates(pathlib.Path(folder))
        where["ca"] = str(ca)
        for name, cert in certificates.items():
            where[name] = f"https://localhost:{await listen(name, context_of(cert))}"
    print(json.dumps(where), flush=True)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), lambda: ended.set() if not os.read(0, 4096) else None)
    await ended.wait()


def main():
    arguments = sys.argv[1:]
    if arguments and (len(arguments) != 2 or arguments[0] != "--tls"):
        print(__doc__, file=sys.stderr)
        return 2
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(serve(arguments[1] if arguments else None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
