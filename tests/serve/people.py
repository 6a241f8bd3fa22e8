# SPDX-License-Identifier: Apache-2.0
"""What the tests of people's own things share: keys of several people, the control socket, and
what every refusal looks like."""
import pathlib
import socket

from support import WAIT_S, Conn, Server, equal, expect, request_bytes, to_json, weir


def refused(answer, status, code, text=None):
    equal(answer.status, status, f"status ({answer.body[:300]!r})")
    equal(answer.error(), code, "code")
    if text:
        expect(text in answer.json()["error"]["message"], f"{text!r} in the message", answer.json())


def make_key(server, owner, *options):
    """The fields of a request with a new key."""
    made = weir("key", "create", "--owner", owner, "--data", server.data, *options)
    equal(made.returncode, 0, f"weir key create ({made.stderr!r})")
    return [("Authorization", f"Bearer {made.stdout.decode().strip()}")]


class LocalConn(Conn):
    """A connection to the control socket, which needs no key and may name anybody."""

    def __init__(self, server):
        self.wait_s = WAIT_S
        self.unread = b""
        self.saw_end = False
        self.key = None
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(WAIT_S)
        self.sock.connect(str(pathlib.Path(server.data) / "control.sock"))


def ask_local(server, method, target, fields=(), body=None):
    with LocalConn(server) as conn:
        conn.send(request_bytes(method, target, fields, body))
        return conn.answer(method)


def pages(server, target, limit, fields=()):
    """All entries of a list by its pages, each checked."""
    entries, cursor = [], None
    joint = "&" if "?" in target else "?"
    while True:
        asked = f"{target}{joint}limit={limit}" + (f"&cursor={cursor}" if cursor else "")
        answer = server.ask("GET", asked, fields)
        equal(answer.status, 200, f"a page ({answer.body[:200]!r})")
        page = answer.json()
        equal(sorted(page), ["data", "next_cursor"], "members of a page")
        expect(len(page["data"]) <= limit, "a page of", len(page["data"]))
        entries += page["data"]
        cursor = page["next_cursor"]
        if cursor is None:
            return entries


def json_body(value):
    return value if isinstance(value, bytes) else to_json(value)


__all__ = ["LocalConn", "Server", "ask_local", "json_body", "make_key", "pages", "refused"]
