# SPDX-License-Identifier: Apache-2.0
"""Many connections in one thread: readers that check every event they see, and writers
with several requests in flight. For the tests of streams and of crashes.

A Crowd waits for all of its peers by epoll. What peers find wrong they raise as Failure
out of Crowd.run().
"""
import collections
import errno
import re
import select
import socket
import time

from support import WAIT_S, Dechunker, EventParser, Failure, parse_head, request_bytes


class Crowd:
    def __init__(self):
        self._poll = select.epoll()
        self._peers = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for peer in list(self._peers.values()):
            peer.close()
        self._poll.close()

    def __len__(self):
        return len(self._peers)

    def add(self, peer):
        self._peers[peer.sock.fileno()] = peer
        self._poll.register(peer.sock.fileno(), select.EPOLLIN | select.EPOLLOUT)

    def watch(self, peer, wants_write, wants_read=True):
        events = (select.EPOLLIN if wants_read else 0) | (select.EPOLLOUT if wants_write else 0)
        self._poll.modify(peer.sock.fileno(), events)

    def drop(self, peer):
        number = peer.sock.fileno()
        if self._peers.pop(number, None):
            self._poll.unregister(number)

    def turn(self, wait_s):
        for number, events in self._poll.poll(wait_s):
            peer = self._peers.get(number)
            if peer and events & select.EPOLLOUT:
                peer.on_writable()
            peer = self._peers.get(number)
            if peer and events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                peer.on_readable()

    def run(self, until, text, wait_s=None):
        """Serves the peers until a condition holds; asked after every round."""
        deadline = time.monotonic() + (WAIT_S if wait_s is None else wait_s)
        while not until():
            if time.monotonic() > deadline:
                raise Failure(f"waited in vain until {text}")
            self.turn(0.05)

    def run_for(self, seconds, until=lambda: False):
        """Serves the peers for so long, or until a condition holds."""
        deadline = time.monotonic() + seconds
        while not until():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self.turn(min(left, 0.05))

    def drain(self, wait_s=None):
        """After the server has died: reads what it had sent, until every peer has ended."""
        self.run(lambda: not self._peers, "all connections have ended", wait_s)


class Peer:
    """A connection that waits for nothing."""

    def __init__(self, crowd, port):
        self.crowd = crowd
        self.is_open = True
        self.out = bytearray()
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        error = self.sock.connect_ex(("127.0.0.1", port))
        if error not in (0, errno.EINPROGRESS):
            self.sock.close()
            raise OSError(error, "connect")
        crowd.add(self)

    def send(self, data):
        """Now or, when the connection is not ready, later."""
        self.out += data
        self.on_writable()

    def on_writable(self):
        try:
            while self.out:
                n = self.sock.send(self.out)
                del self.out[:n]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            # Not the end yet: answers may be there to be read.
            self.out.clear()
        if self.is_open:
            self.crowd.watch(self, bool(self.out))

    def on_readable(self):
        """One read for each wake-up, so that all peers get their turn."""
        try:
            data = self.sock.recv(262144)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self.on_data(data)
        else:
            self.close()
            self.on_end()

    def close(self):
        if self.is_open:
            self.is_open = False
            self.crowd.drop(self)
            self.sock.close()

    def on_data(self, data):
        raise NotImplementedError

    def on_end(self):
        pass


class Reader(Peer):
    """Watches a stream from after `last_id`; ids must go on one by one.

    on_event(reader, id, data) is called for each. `n_seen` counts them. A refusal is a
    failure unless `may_be_refused` says that the server is going down.
    """

    may_be_refused = staticmethod(lambda: False)

    def __init__(self, crowd, port, stream, last_id=None, query="", on_event=None, key=None):
        super().__init__(crowd, port)
        self.stream = stream
        self.last_id = last_id or 0
        self.on_event = on_event
        self.n_seen = 0
        self.opening = None
        self.has_ended = False
        self._from_latest = "from=latest" in query
        self._head = b""
        self._dechunker = Dechunker()
        self._parser = EventParser()
        fields = [("Accept", "text/event-stream")]
        if last_id is not None:
            fields.append(("Last-Event-ID", str(last_id)))
        self.send(request_bytes("GET", self.target(query), fields, key=key))

    def target(self, query):
        return f"/v1/streams/{self.stream}{query}"

    def on_data(self, data):
        if self.opening is None:
            self._head += data
            if b"\r\n\r\n" not in self._head:
                return
            head, data = self._head.split(b"\r\n\r\n", 1)
            self.opening = parse_head(head)
            if self.opening.status == 503 and self.may_be_refused():
                self.close()
                return
            if self.opening.status != 200:
                raise Failure(f"reader of {self.stream} after {self.last_id}: {self.opening.status} "
                              f"{data[:300]!r}")
        for number, value in self._parser.feed(self._dechunker.feed(data)):
            if self._from_latest:
                self._from_latest = False
            elif number != self.last_id + 1:
                raise Failure(f"reader of {self.stream}: {number} came after {self.last_id}")
            self.last_id = number
            self.n_seen += 1
            if self.on_event:
                self.on_event(self, number, value)
        if self._dechunker.is_done:
            self.has_ended = True
            if self._parser.rest:
                raise Failure(f"reader of {self.stream}: ended within an event")
            self.close()


_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: ?(\d+)")


class Writer(Peer):
    """Sends requests ahead of their answers, which come in order.

    on_answer(writer, token, status, body) gets what was given to ask().
    """

    def __init__(self, crowd, port, on_answer, key=None):
        super().__init__(crowd, port)
        self.on_answer = on_answer
        self.in_flight = collections.deque()
        self.key = key
        self._in = b""

    def append(self, token, stream, body, query=""):
        self.in_flight.append(token)
        self.send(request_bytes("POST", f"/v1/streams/{stream}{query}",
                                [("Content-Type", "application/json")], body, self.key))

    def delete(self, token, stream):
        self.in_flight.append(token)
        self.send(request_bytes("DELETE", f"/v1/streams/{stream}", key=self.key))

    def on_data(self, data):
        self._in += data
        while True:
            end = self._in.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._in[:end]
            if not head.startswith(b"HTTP/1.1 "):
                raise Failure(f"writer: not an answer: {head[:200]!r}")
            match = _LENGTH.search(head)
            size = end + 4 + (int(match.group(1)) if match else 0)
            if len(self._in) < size:
                return
            body = self._in[end + 4:size]
            self._in = self._in[size:]
            if not self.in_flight:
                raise Failure(f"writer: an answer too many: {head[:200]!r}")
            self.on_answer(self, self.in_flight.popleft(), int(head[9:12]), body)
