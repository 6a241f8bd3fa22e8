#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/subscriptions.py [CASE...]

Subscriptions of the Durable Streams protocol against the real server: webhooks to a receiver that
behaves and to ones that do not, where webhooks may not go, pull-wake, tokens, and what a killed
server knows when it comes back. The public suite (streams_api.py) has the usual cases.
"""
import base64
import json
import os
import pathlib
import random
import re
import socket
import ssl
import stat
import subprocess
import tempfile
import threading
import time
import urllib.parse

from support import (JSON_FIELDS, WAIT_S, Closed, Failure, Server, Skip, case, equal, expect, main, make_certificate,
                     make_key, needs_one, to_json, told, wait_until, weir)

ROOT_PATH = "/v1/stream/__ds"
LOCAL = ("--webhook-allow", "127.0.0.1")
LEASE_MS = 1000
LONG_LEASE_MS = 600000
ZERO = "0" * 16 + "_" + "0" * 16


def offset(number):
    return f"{0:016d}_{number:016d}"


# ---- a receiver ----

class Delivery:
    """One request that arrived."""

    def __init__(self, target, fields, raw):
        self.target = target
        self.fields = fields
        self.raw = raw
        self.body = json.loads(raw)

    def stream(self, path):
        found = [each for each in self.body["streams"] if each["path"] == path]
        expect(len(found) == 1, f"{path} among the streams", self.body["streams"])
        return found[0]


class Receiver:
    """Listens on loopback; each request is answered by the next of `answers`, the last one for
    ever. An answer is bytes, None for never, or "close" for the connection's end."""

    OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    DONE = b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"done":true}'
    BROKEN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"

    def __init__(self, *answers, tls=None):
        self.answers = list(answers) or [self.OK]
        self.arrived = []
        self.n_connections = 0
        self.changed = threading.Condition()
        self.tls = tls
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.sock.getsockname()[1]
        self.open = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()
        for conn in self.open:
            conn.close()

    def url(self, host="127.0.0.1", scheme="http"):
        return f"{scheme}://{host}:{self.port}/hook"

    def _accept(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            with self.changed:
                self.n_connections += 1
                self.open.append(conn)
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        try:
            if self.tls:
                conn = self.tls.wrap_socket(conn, server_side=True)
            while self._serve_one(conn):
                pass
        except (OSError, ValueError):
            pass
        conn.close()

    def _serve_one(self, conn):
        data = b""
        while b"\r\n\r\n" not in data:
            more = conn.recv(65536)
            if not more:
                return False
            data += more
        head, body = data.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
        while len(body) < int(fields["content-length"]):
            body += conn.recv(65536)
        with self.changed:
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            self.arrived.append(Delivery(lines[0], fields, body))
            self.changed.notify_all()
        if answer is None:
            conn.recv(1)  # until the other side gives up
            return False
        if answer == "close":
            return False
        conn.sendall(answer)
        return b"Connection: close" not in answer

    def wait(self, n=1):
        """The n-th delivery, counted from 1."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.arrived) >= n, WAIT_S):
                raise Failure(f"only {len(self.arrived)} deliveries of {n}")
            return self.arrived[n - 1]


# ---- asking ----

def ask(server, method, path, body=None, token=None, status=None):
    fields = list(JSON_FIELDS) if body is not None else []
    if token is not None:
        fields.append(("Authorization", f"Bearer {token}"))
    answer = server.ask(method, f"{ROOT_PATH}{path}", fields, None if body is None else to_json(body))
    if status is not None:
        equal(answer.status, status, f"{method} {path}: {answer.body[:300]!r}")
    return answer


def refused(answer, status, code):
    """In the shape of this protocol, not in ours."""
    equal(answer.status, status, answer.body)
    error = answer.json()["error"]
    equal(error["code"], code, error)
    expect(error["message"], "a message", error)
    return error


def subscribe(server, name, status=201, **wish):
    return ask(server, "PUT", f"/subscriptions/{name}", wish, status=status)


def webhook(server, name, url, pattern="events/*", lease_ttl_ms=LEASE_MS, **wish):
    wish = {"type": "webhook", "pattern": pattern, "webhook": {"url": url}, "lease_ttl_ms": lease_ttl_ms,
            **wish}
    return subscribe(server, name, **wish).json()


def pull(server, name, wake_stream="wake", pattern="events/*", lease_ttl_ms=LONG_LEASE_MS):
    return subscribe(server, name, type="pull-wake", pattern=pattern, wake_stream=wake_stream,
                     lease_ttl_ms=lease_ttl_ms).json()


def urls(server, path):
    """At any of the nodes."""
    return {server.url(path) for _ in range(2 * server.n_nodes)}


def show(server, name):
    return ask(server, "GET", f"/subscriptions/{name}", status=200).json()


def acked(server, name, path):
    found = [each["acked_offset"] for each in show(server, name)["streams"] if each["path"] == path]
    return found[0] if found else None


def create(server, path, value=None):
    body = b"" if value is None else to_json(value)
    answer = server.ask("PUT", f"/v1/stream/{path}", JSON_FIELDS, body)
    expect(answer.status in (200, 201), f"making {path}", answer.status, answer.body)


def append(server, path, value):
    answer = server.ask("POST", f"/v1/stream/{path}", JSON_FIELDS, to_json(value))
    expect(answer.status in (200, 204), f"appending to {path}", answer.status, answer.body)


def events(server, path):
    answer = server.ask("GET", f"/v1/stream/{path}")
    equal(answer.status, 200, path)
    return answer.json()


def claim(server, name, worker="worker-1", status=200):
    """Of several nodes the one that is asked may not have been told yet that there is anything."""
    if Server.n_nodes > 1 and status == 200:
        answer = wait_until(lambda: pending(ask(server, "POST", f"/subscriptions/{name}/claim", {"worker": worker})),
                            "there is something to claim")
        equal(answer.status, status, f"claim of {name}: {answer.body[:300]!r}")
        return answer.json()
    return ask(server, "POST", f"/subscriptions/{name}/claim", {"worker": worker}, status=status).json()


def pending(answer):
    return None if answer.status == 409 and answer.json()["error"]["code"] == "NO_PENDING_WORK" else answer


def generations_of(server):
    return [each["generation"] for each in events(server, "wake")]


def expect_next_wake(answer):
    """A node that was not told yet of what came meanwhile cannot say so; the wake comes all the same."""
    equal((answer.status, answer.json()["ok"]), (200, True), answer.body)
    expect(answer.json()["next_wake"] or Server.n_nodes > 1, "next_wake", answer.body)


def wake_of(body, **more):
    return {"wake_id": body["wake_id"], "generation": body["generation"], **more}


def ack(server, name, claimed, acks, done=True, action="ack", token=None):
    body = wake_of(claimed, acks=[{"stream": path, "offset": at} for path, at in acks], done=done)
    token = token or claimed.get("token") or claimed["callback_token"]
    return ask(server, "POST", f"/subscriptions/{name}/{action}", body, token)


# ---- webhooks ----

def verify(key, raw, signature):
    """By openssl, which knows nothing of ours."""
    match = re.fullmatch(r"t=(\d+),kid=([^,]+),ed25519=([A-Za-z0-9_-]{86})", signature)
    expect(match, "a signature", signature)
    equal(match.group(2), key["kid"], "kid")
    expect(abs(int(match.group(1)) - time.time()) < 300, "the time of", signature)
    point = base64.urlsafe_b64decode(key["x"] + "=")
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, name) for name in ("key", "body", "signature")}
        contents = {"key": bytes.fromhex("302a300506032b6570032100") + point,
                    "body": match.group(1).encode() + b"." + raw,
                    "signature": base64.urlsafe_b64decode(match.group(3) + "==")}
        for name, path in paths.items():
            pathlib.Path(path).write_bytes(contents[name])
        done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey",
                               paths["key"], "-rawin", "-in", paths["body"], "-sigfile", paths["signature"]],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT_S, check=False)
    return done.returncode == 0


@case
def webhook_is_signed_and_done_acknowledges_what_it_told():
    with Server(*LOCAL) as server, Receiver(Receiver.DONE) as receiver:
        made = webhook(server, "s", receiver.url())
        jwks = server.ask("GET", f"{ROOT_PATH}/jwks.json")
        equal((jwks.status, jwks.field("content-type")), (200, "application/jwk-set+json"))
        key = jwks.json()["keys"][0]
        signing = made["webhook"]["signing"]
        equal((signing["alg"], signing["kid"]), ("ed25519", key["kid"]))
        expect(signing["jwks_url"] in urls(server, f"{ROOT_PATH}/jwks.json"), "jwks_url", signing)
        create(server, "events/a", [1, 2, 3])
        got = receiver.wait()
        expect(verify(key, got.raw, got.fields["webhook-signature"]), "the signature is not good")
        expect(not verify(key, got.raw + b" ", got.fields["webhook-signature"]), "any signature is good")
        equal(got.target, "POST /hook HTTP/1.1")
        equal(got.fields["content-type"], "application/json")
        equal(got.stream("events/a"), {"path": "events/a", "link_type": "glob", "acked_offset": "-1",
                                       "tail_offset": offset(3), "has_pending": True})
        wait_until(lambda: acked(server, "s", "events/a") == offset(3), "it is acknowledged")
        append(server, "events/a", 4)
        second = receiver.wait(2)
        equal(second.body["generation"], got.body["generation"] + 1)
        equal(second.stream("events/a")["acked_offset"], offset(3))


@case
def callback_extends_acknowledges_and_wakes_again():
    with Server(*LOCAL) as server, Receiver() as receiver:
        webhook(server, "s%2Fx", receiver.url(), lease_ttl_ms=LONG_LEASE_MS)
        create(server, "events/a", [1, 2])
        first = receiver.wait().body
        equal(first["subscription_id"], "s/x")
        expect(first["callback_url"] in urls(server, f"{ROOT_PATH}/subscriptions/s%2Fx/callback"), "callback_url", first)
        answer = ack(server, "s%2Fx", first, [("events/a", offset(1))], done=False, action="callback")
        equal((answer.status, answer.json()), (200, {"ok": True, "next_wake": False}))
        answer = ack(server, "s%2Fx", first, [], done=True, action="callback")
        expect_next_wake(answer)
        second = receiver.wait(2)
        equal(second.body["generation"], first["generation"] + 1)
        equal(second.stream("events/a")["acked_offset"], offset(1))
        refused(ack(server, "s%2Fx", first, [], action="callback"), 409, "FENCED")
        # The new token with the old wake, and the other way round.
        refused(ack(server, "s%2Fx", first, [], action="callback", token=second.body["callback_token"]), 409,
                "FENCED")
        refused(ack(server, "s%2Fx", second.body, [], action="callback", token=first["callback_token"]), 409,
                "FENCED")


@case
def lease_that_ends_wakes_again_and_fences_the_old_holder():
    with Server(*LOCAL) as server, Receiver() as receiver:
        webhook(server, "s", receiver.url())
        create(server, "events/a", 1)
        first = receiver.wait().body
        second = receiver.wait(2).body
        equal(second["generation"], first["generation"] + 1)
        expect(second["wake_id"] != first["wake_id"], "another wake", second)
        refused(ack(server, "s", first, [], action="callback"), 409, "FENCED")


def expect_retried(*answers):
    """The receiver misbehaves, is tried again with the same wake, and then takes it."""
    with Server(*LOCAL) as server, Receiver(*answers, Receiver.DONE) as receiver:
        webhook(server, "s", receiver.url())
        create(server, "events/a", 1)
        deliveries = [receiver.wait(n + 1) for n in range(len(answers) + 1)]
        equal(len({each.body["wake_id"] for each in deliveries}), 1, "wakes")
        equal({each.body["generation"] for each in deliveries}, {1}, "generations")
        wait_until(lambda: acked(server, "s", "events/a") == offset(1), "it is acknowledged")
        equal(show(server, "s")["status"], "active")


@case
def receiver_that_fails_is_tried_again():
    expect_retried(Receiver.BROKEN, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


@case
def receiver_that_closes_early_is_tried_again():
    expect_retried("close", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{")


@case
def receiver_that_speaks_nonsense_is_tried_again():
    expect_retried(b"what?\r\n\r\n")


@case
def failure_shows_in_the_status():
    with Server(*LOCAL) as server, Receiver(Receiver.BROKEN) as receiver:
        webhook(server, "s", receiver.url())
        equal(show(server, "s")["status"], "active")
        create(server, "events/a", 1)
        receiver.wait()
        wait_until(lambda: show(server, "s")["status"] == "failed", "it has failed")
        equal(acked(server, "s", "events/a"), "-1")


@case
def redirect_is_a_failure_and_followed_nowhere():
    with Receiver() as secret:
        location = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {secret.url()}\r\nContent-Length: 0\r\n\r\n"
        expect_retried(location.encode())
        equal(secret.n_connections, 0, "connections that followed it")


@case
def huge_answer_is_cut_and_the_wake_taken():
    huge = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 300000
    with Server(*LOCAL) as server, Receiver(huge, Receiver.DONE) as receiver:
        webhook(server, "s", receiver.url())
        create(server, "events/a", 1)
        first = receiver.wait().body
        # It was taken and never acknowledged, so the lease ends.
        equal(receiver.wait(2).body["generation"], first["generation"] + 1)


@case
def receiver_that_never_answers_holds_up_nobody():
    with Server(*LOCAL) as server, Receiver(None) as slow, Receiver(Receiver.DONE) as quick:
        webhook(server, "slow", slow.url())
        webhook(server, "quick", quick.url())
        create(server, "events/a", 1)
        slow.wait()
        for number in range(1, 6):
            quick.wait(number)
            wait_until(lambda: acked(server, "quick", "events/a") == offset(number), "it is acknowledged")
            append(server, "events/a", number)
        begin = time.monotonic()
        equal(server.stop(), 0, "exit status")
        expect(time.monotonic() - begin < 12, "it waited for the receiver")


@case
def receiver_that_calls_back_before_it_answers_is_done():
    with Server(*LOCAL) as server, Receiver(None) as receiver:
        webhook(server, "s", receiver.url())
        create(server, "events/a", 1)
        got = receiver.wait().body
        answer = ack(server, "s", got, [("events/a", offset(1))], action="callback")
        equal(answer.json(), {"ok": True, "next_wake": False})
        append(server, "events/a", 2)
        # The next one does not wait for the answer to the first.
        equal(receiver.wait(2).body["generation"], got["generation"] + 1)


@case
def deleting_a_subscription_ends_its_wakes():
    with Server(*LOCAL) as server, Receiver(Receiver.BROKEN) as receiver:
        webhook(server, "s", receiver.url())
        create(server, "events/a", 1)
        got = receiver.wait().body
        ask(server, "DELETE", "/subscriptions/s", status=204)
        ask(server, "DELETE", "/subscriptions/s", status=204)
        refused(ask(server, "GET", "/subscriptions/s"), 404, "SUBSCRIPTION_NOT_FOUND")
        refused(ack(server, "s", got, [], action="callback"), 404, "SUBSCRIPTION_NOT_FOUND")
        # One that is made again knows nothing of it, and starts at the end of what is there.
        webhook(server, "s", receiver.url())
        equal(acked(server, "s", "events/a"), offset(1))
        refused(ack(server, "s", got, [], action="callback"), 409, "FENCED")


@case
def hundreds_of_subscriptions_hear_of_one_event():
    with Server(*LOCAL) as server, Receiver(Receiver.DONE) as receiver:
        for number in range(300):
            webhook(server, f"s{number}", receiver.url())
        create(server, "events/a", 1)
        receiver.wait(300)
        names = {each.body["subscription_id"] for each in receiver.arrived}
        equal(len(names), 300, "subscriptions that were woken")


# ---- where webhooks may not go ----

FORBIDDEN = [
    "http://10.0.0.1/hook", "https://10.0.0.1/", "https://127.0.0.1/", "http://127.0.0.1:8080/",
    "https://127.1/", "https://0x7f000001/", "https://0x7f.0.0.1/", "https://2130706433/",
    "https://017700000001/", "https://0/", "https://0.0.0.0/", "https://localhost/", "https://LOCALHOST./",
    "https://a.localhost/", "https://169.254.169.254/latest/meta-data/", "https://172.16.0.1/",
    "https://192.168.1.1/", "https://100.64.0.1/", "https://224.0.0.1/", "https://255.255.255.255/",
    "https://[::]/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/",
    "https://[::127.0.0.1]/", "https://[64:ff9b::127.0.0.1]/", "https://[2002:7f00:1::]/",
    "https://[fe80::1]/", "https://[fc00::1]/", "https://[fd00::1]/", "https://[ff02::1]/",
    "http://hooks.example.com/", "http://8.8.8.8/", "ftp://8.8.8.8/", "file:///etc/passwd",
    "gopher://8.8.8.8/", "https://user:secret@8.8.8.8/", "https://8.8.8.8 /", "//8.8.8.8/", "8.8.8.8",
    "https://", "https:///path", "javascript:alert(1)", "https://8.8.8.8/" + "x" * 3000,
    "https://\u2460\u2461\u2466.0.0.1/",
]


@case
def every_forbidden_target_is_refused_at_once():
    with Server() as server:
        for url in FORBIDDEN[:-1]:
            answer = ask(server, "PUT", "/subscriptions/s",
                         {"type": "webhook", "pattern": "a/*", "webhook": {"url": url}})
            refused(answer, 400, "WEBHOOK_URL_REJECTED")
        refused(ask(server, "GET", "/subscriptions/s"), 404, "SUBSCRIPTION_NOT_FOUND")
        for url in ("https://8.8.8.8/", "https://hooks.example.com:8443/a?b", "https://[2606:4700::1111]/"):
            webhook(server, "s", url, pattern="nothing/*")
            ask(server, "DELETE", "/subscriptions/s", status=204)


@case
def listing_one_host_lets_no_other_in():
    with Server("--webhook-allow", "127.0.0.2", "--webhook-allow", "10.1.0.0/16") as server:
        for url in FORBIDDEN[:-1]:
            answer = ask(server, "PUT", "/subscriptions/s",
                         {"type": "webhook", "pattern": "a/*", "webhook": {"url": url}})
            refused(answer, 400, "WEBHOOK_URL_REJECTED")


def expect_never_reached(server, receiver, url):
    webhook(server, "s", url)
    create(server, "events/a", 1)
    wait_until(lambda: show(server, "s")["status"] == "failed", "the delivery has failed")
    equal(receiver.n_connections, 0, "connections")
    expect("may not be connected to" in server.errors(), "why", server.errors()[-400:])


@case
def name_that_leads_to_this_machine_is_found_out_when_it_is_resolved():
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError:
        raise Skip("this machine's name leads nowhere") from None
    if name == "localhost" or not address.startswith("127."):
        raise Skip(f"{name} leads to {address}")
    with Receiver() as receiver:
        with Server("--webhook-allow", "127.0.0.2") as server:
            expect_never_reached(server, receiver, receiver.url(name, "https"))


@case
def letters_that_become_a_loopback_address_are_found_out():
    with Server() as server, Receiver() as receiver:
        url = receiver.url("\u2460\u2461\u2466.0.0.1", "https")
        answer = ask(server, "PUT", "/subscriptions/s",
                     {"type": "webhook", "pattern": "events/*", "webhook": {"url": url}})
        if answer.status != 201:
            refused(answer, 400, "WEBHOOK_URL_REJECTED")
            return
        create(server, "events/a", 1)
        wait_until(lambda: show(server, "s")["status"] == "failed", "the delivery has failed")
        equal(receiver.n_connections, 0, "connections")


@case
def listed_name_is_resolved_by_a_server_that_is_confined():
    with Server("--webhook-allow", "localhost") as server, Receiver(Receiver.DONE) as receiver:
        webhook(server, "s", receiver.url("localhost"))
        create(server, "events/a", 1)
        equal(receiver.wait().body["subscription_id"], "s")
        # The name is listed, and not what it leads to.
        refused(ask(server, "PUT", "/subscriptions/t",
                    {"type": "webhook", "pattern": "a", "webhook": {"url": receiver.url()}}),
                400, "WEBHOOK_URL_REJECTED")


@case
def certificate_that_nobody_vouches_for_is_not_taken():
    with tempfile.TemporaryDirectory() as folder:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*make_certificate(folder))
        with Server(*LOCAL) as server, Receiver(tls=tls) as receiver:
            webhook(server, "s", receiver.url(scheme="https"))
            create(server, "events/a", 1)
            wait_until(lambda: show(server, "s")["status"] == "failed", "the delivery has failed")
            equal(len(receiver.arrived), 0, "requests")
            # The certificates of the system could be read, and this is none of them.
            expect("certificate" in server.errors(), "why", server.errors()[-400:])


@case
def proxy_of_the_environment_is_not_asked():
    with Receiver() as proxy, Receiver(Receiver.DONE) as receiver:
        env = {name: f"http://127.0.0.1:{proxy.port}"
               for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY")}
        with Server(*LOCAL, env=env) as server:
            webhook(server, "s", receiver.url())
            create(server, "events/a", 1)
            receiver.wait()
            equal(proxy.n_connections, 0, "connections to the proxy")


@case
def options_that_make_no_sense_end_the_start():
    for words in (["--webhook-allow", "127.1"], ["--webhook-allow", "10.0.0.0/33"],
                  ["--webhook-allow", "http://a/"], ["--public-url", "streams.example.com"],
                  ["--public-url", "https://streams.example.com/"]):
        with tempfile.TemporaryDirectory() as folder:
            done = weir("serve", "--open", "--data", folder, "--listen", "127.0.0.1:0", *words)
            equal(done.returncode, 1, words)
            expect(words[1].encode() in done.stderr, "the word that is wrong", done.stderr)


@case
def public_url_is_what_others_are_told():
    with Server(*LOCAL, "--public-url", "https://streams.example.com/x") as server, Receiver() as receiver:
        made = webhook(server, "s", receiver.url())
        equal(made["webhook"]["signing"]["jwks_url"], f"https://streams.example.com/x{ROOT_PATH}/jwks.json")
        create(server, "events/a", 1)
        equal(receiver.wait().body["callback_url"],
              f"https://streams.example.com/x{ROOT_PATH}/subscriptions/s/callback")


# ---- pull-wake ----

@case
def claim_holds_until_it_is_released():
    with Server() as server:
        create(server, "wake", [])
        pull(server, "s")
        error = refused(ask(server, "POST", "/subscriptions/s/claim", {"worker": "w"}), 409, "NO_PENDING_WORK")
        expect("current_holder" not in error, "a holder", error)
        create(server, "events/a", [1, 2])
        wait_until(lambda: len(events(server, "wake")) == 1, "the wake's event")
        event = events(server, "wake")[0]
        equal({key: event[key] for key in ("type", "subscription_id", "stream", "generation")},
              {"type": "wake", "subscription_id": "s", "stream": "events/a", "generation": 1})
        first = claim(server, "s")
        equal((first["generation"], first["lease_ttl_ms"]), (1, LONG_LEASE_MS))
        equal(first["streams"], [{"path": "events/a", "link_type": "glob", "acked_offset": "-1",
                                  "tail_offset": offset(2), "has_pending": True}])
        error = refused(ask(server, "POST", "/subscriptions/s/claim", {"worker": "w2"}), 409, "ALREADY_CLAIMED")
        equal((error["current_holder"], error["generation"]), ("worker-1", 1))
        append(server, "events/a", 3)
        equal(len(events(server, "wake")), 1, "events while it is held")
        answer = ack(server, "s", first, [("events/a", offset(2))])
        expect_next_wake(answer)
        equal(told(lambda: generations_of(server), [1, 2]), [1, 2])
        second = claim(server, "s", "worker-2")
        refused(ack(server, "s", first, []), 409, "FENCED")
        answer = ask(server, "POST", "/subscriptions/s/release", wake_of(second), second["token"])
        equal((answer.status, answer.body), (204, b""))
        equal(told(lambda: generations_of(server), [1, 2, 3]), [1, 2, 3])
        third = claim(server, "s", "worker-3")
        equal(third["streams"][0]["acked_offset"], offset(2))


@case
def claim_ends_with_its_lease():
    with Server() as server:
        create(server, "wake", [])
        pull(server, "s", lease_ttl_ms=LEASE_MS)
        create(server, "events/a", 1)
        first = claim(server, "s")
        wait_until(lambda: len(events(server, "wake")) == 2, "the next wake")
        second = claim(server, "s", "worker-2")
        equal(second["generation"], first["generation"] + 1)
        refused(ack(server, "s", first, [("events/a", offset(1))]), 409, "FENCED")
        equal(acked(server, "s", "events/a"), "-1")


@case
def wake_stream_that_takes_no_event_costs_only_the_event():
    with Server() as server:
        pull(server, "missing", wake_stream="no/such")
        server.ask("PUT", "/v1/stream/text", [("Content-Type", "text/plain")], b"")
        pull(server, "text", wake_stream="text")
        create(server, "closed", [])
        equal(server.ask("POST", "/v1/stream/closed", [("Stream-Closed", "true")], b"").status, 204)
        pull(server, "closed", wake_stream="closed")
        create(server, "events/a", 1)
        for name in ("missing", "text", "closed"):
            equal(claim(server, name)["generation"], 1, name)
        equal(server.ask("GET", "/v1/stream/no/such").status, 404)
        equal(server.ask("GET", "/v1/stream/text").body, b"")


@case
def wake_stream_inside_the_pattern_does_not_wake_for_ever():
    with Server() as server:
        create(server, "events/wake", [])
        pull(server, "s", wake_stream="events/wake")
        create(server, "events/a", 1)
        claimed = claim(server, "s")
        equal([each["path"] for each in claimed["streams"]], ["events/a"])
        answer = ack(server, "s", claimed, [("events/a", offset(1))])
        equal(answer.json(), {"ok": True, "next_wake": False})
        answer = ask(server, "POST", "/subscriptions/s/streams", {"streams": ["events/wake"]})
        refused(answer, 400, "INVALID_REQUEST")


@case
def acknowledgements_that_cannot_be_are_refused_as_a_whole():
    with Server() as server:
        create(server, "wake", [])
        pull(server, "s")
        create(server, "events/a", [1, 2, 3])
        create(server, "other/a", [1])
        claimed = claim(server, "s")
        equal(ack(server, "s", claimed, [("/events/a/", offset(2))], done=False).status, 200)
        for path, at in (("events/a", offset(1)), ("events/a", offset(4)), ("events/a", "-1"),
                         ("events/a", "now"), ("events/a", ""), ("events/a", "x"), ("events/b", offset(1)),
                         ("other/a", offset(1)), ("", offset(1)), ("events/a", "9" * 40)):
            answer = ack(server, "s", claimed, [("events/a", offset(3)), (path, at)])
            refused(answer, 409, "INVALID_OFFSET")
        equal(acked(server, "s", "events/a"), offset(2))
        for acks in ("x", {"a": 1}, 7):
            answer = ask(server, "POST", "/subscriptions/s/ack", wake_of(claimed, acks=acks), claimed["token"])
            refused(answer, 400, "INVALID_REQUEST")
        for acks in ([1], [None], [{}], [{"stream": "events/a"}], [{"stream": 5, "offset": offset(3)}]):
            answer = ask(server, "POST", "/subscriptions/s/ack", wake_of(claimed, acks=acks), claimed["token"])
            refused(answer, 409, "INVALID_OFFSET")
        equal(ack(server, "s", claimed, [("events/a", offset(3))]).json(), {"ok": True, "next_wake": False})


@case
def tokens_that_are_not_the_wakes_are_refused():
    with Server() as server:
        create(server, "wake", [])
        pull(server, "s")
        pull(server, "t")
        create(server, "events/a", 1)
        claimed, others = claim(server, "s"), claim(server, "t")
        token = claimed["token"]
        changed = [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1:] for at in range(len(token))]
        for wrong in [*changed, token[:-1], token + "A", "", "x", others["token"]]:
            for action in ("ack", "release", "callback"):
                answer = ask(server, "POST", f"/subscriptions/s/{action}", wake_of(claimed), wrong)
                refused(answer, 401, "TOKEN_INVALID")
        for action in ("ack", "release", "callback"):
            answer = ask(server, "POST", f"/subscriptions/s/{action}", wake_of(claimed))
            refused(answer, 401, "TOKEN_INVALID")
        for body in ({}, {"wake_id": claimed["wake_id"]}, {"generation": 1}, wake_of(claimed, wake_id="w_0"),
                     wake_of(claimed, generation=2), wake_of(claimed, generation="1"),
                     wake_of(claimed, wake_id=None)):
            refused(ask(server, "POST", "/subscriptions/s/ack", body, token), 409, "FENCED")
        equal(ack(server, "s", claimed, []).status, 200)


@case
def webhook_subscription_cannot_be_claimed():
    with Server(*LOCAL) as server, Receiver() as receiver:
        webhook(server, "s", receiver.url())
        for action in ("claim", "ack", "release"):
            answer = ask(server, "POST", f"/subscriptions/s/{action}", {"worker": "w"}, token="x")
            refused(answer, 400, "INVALID_REQUEST")


# ---- making ----

@case
def wishes_that_make_no_sense_are_refused():
    good = {"type": "pull-wake", "pattern": "a/*", "wake_stream": "w"}
    with Server() as server:
        for wish in ({}, {"type": "email"}, {**good, "type": None}, {**good, "pattern": None},
                     {**good, "pattern": ""}, {**good, "wake_stream": ""}, {**good, "wake_stream": 5},
                     {**good, "wake_stream": "__ds/x"}, {**good, "pattern": "__ds/*"},
                     {**good, "lease_ttl_ms": 999}, {**good, "lease_ttl_ms": 600001},
                     {**good, "lease_ttl_ms": 1500.5}, {**good, "lease_ttl_ms": "5000"},
                     {**good, "streams": "a"}, {**good, "streams": [1]}, {**good, "streams": [""]},
                     {**good, "streams": ["a\u0000b"]}, {**good, "streams": ["w"]},
                     {**good, "streams": ["x" * 201]}, {**good, "pattern": "x" * 201},
                     {**good, "description": "x" * 2000}, {**good, "streams": ["a"] * 5000},
                     {"type": "webhook", "pattern": "a"}, {"type": "webhook", "pattern": "a", "webhook": {}},
                     {"type": "webhook", "pattern": "a", "webhook": {"url": 5}}):
            refused(ask(server, "PUT", "/subscriptions/s", wish), 400, "INVALID_REQUEST")
        for body in (b"", b"[]", b"{", b"null", b"\xff"):
            answer = server.ask("PUT", f"{ROOT_PATH}/subscriptions/s", JSON_FIELDS, body)
            refused(answer, 400, "INVALID_REQUEST")
        answer = ask(server, "PUT", "/subscriptions/" + "x" * 201, good)
        refused(answer, 400, "INVALID_REQUEST")
        refused(ask(server, "GET", "/subscriptions/s"), 404, "SUBSCRIPTION_NOT_FOUND")


@case
def same_wish_is_confirmed_and_another_is_refused():
    wish = {"type": "pull-wake", "pattern": "a/*", "wake_stream": "w", "streams": ["x", "y"]}
    with Server() as server:
        subscribe(server, "s", **wish)
        subscribe(server, "s", 200, **wish)
        subscribe(server, "s", 200, **{**wish, "streams": ["/y/", "x", "y"]})
        for change in ({"pattern": "b/*"}, {"wake_stream": "v"}, {"streams": ["x"]}, {"lease_ttl_ms": 5000},
                       {"description": "d"}):
            answer = ask(server, "PUT", "/subscriptions/s", {**wish, **change})
            refused(answer, 409, "SUBSCRIPTION_ALREADY_EXISTS")
        # What was linked later is no part of the wish.
        ask(server, "POST", "/subscriptions/s/streams", {"streams": ["z"]}, status=204)
        subscribe(server, "s", 200, **wish)


@case
def streams_that_are_there_count_as_read():
    with Server() as server:
        create(server, "events/old", [1, 2])
        create(server, "wake", [])
        pull(server, "s")
        equal(acked(server, "s", "events/old"), offset(2))
        refused(ask(server, "POST", "/subscriptions/s/claim", {"worker": "w"}), 409, "NO_PENDING_WORK")
        append(server, "events/old", 3)
        claimed = claim(server, "s")
        equal(claimed["streams"][0]["acked_offset"], offset(2))


@case
def streams_of_the_other_view_are_followed_too():
    with Server() as server:
        create(server, "wake", [])
        pull(server, "s", pattern="plain*")
        pull(server, "t", pattern="*")
        server.append("plain", 1)
        equal([each["path"] for each in claim(server, "t")["streams"] if each["has_pending"]], ["plain"])
        refused(ask(server, "POST", "/subscriptions/s/claim", {"worker": "w"}), 409, "NO_PENDING_WORK")


@case
def links_are_added_and_removed():
    with Server() as server:
        create(server, "wake", [])
        subscribe(server, "s", type="pull-wake", wake_stream="wake", streams=["manual/a"])
        equal(show(server, "s")["streams"], [{"path": "manual/a", "link_type": "explicit", "acked_offset": ZERO}])
        create(server, "manual/b", [1, 2])
        ask(server, "POST", "/subscriptions/s/streams", {"streams": ["manual/b", "manual/a"]}, status=204)
        equal(acked(server, "s", "manual/b"), offset(2))
        for body in ({}, {"streams": []}, {"streams": "manual/c"}, {"streams": [""]}, {"streams": [None]}):
            refused(ask(server, "POST", "/subscriptions/s/streams", body), 400, "INVALID_REQUEST")
        create(server, "manual/a", [1])
        equal([each["path"] for each in claim(server, "s")["streams"] if each["has_pending"]], ["manual/a"])
        for path in ("manual/b", urllib.parse.quote("manual/a", safe=""), "no/such"):
            ask(server, "DELETE", f"/subscriptions/s/streams/{path}", status=204)
        equal(show(server, "s")["streams"], [])
        for method, path, body in (("POST", "/streams", {"streams": ["a"]}), ("DELETE", "/streams/a", None),
                                   ("POST", "/claim", {"worker": "w"})):
            refused(ask(server, method, f"/subscriptions/none{path}", body), 404, "SUBSCRIPTION_NOT_FOUND")


@case
def deleted_stream_is_forgotten_and_a_new_one_begins_anew():
    with Server() as server:
        create(server, "wake", [])
        pull(server, "s")
        create(server, "events/a", [1, 2, 3])
        claimed = claim(server, "s")
        ack(server, "s", claimed, [("events/a", offset(3))])
        equal(server.ask("DELETE", "/v1/stream/events/a").status, 204)
        equal(told(lambda: show(server, "s")["streams"], []), [])
        create(server, "events/a", [4])
        equal(claim(server, "s")["streams"], [{"path": "events/a", "link_type": "glob", "acked_offset": "-1",
                                               "tail_offset": offset(1), "has_pending": True}])


# ---- restarts ----

@case
def wakes_links_and_tokens_survive_a_kill():
    with Server(*LOCAL) as server, Receiver() as receiver:
        webhook(server, "s", receiver.url(), lease_ttl_ms=LONG_LEASE_MS, description="d")
        create(server, "events/a", [1, 2])
        first = receiver.wait().body
        equal(ack(server, "s", first, [("events/a", offset(1))], done=False, action="callback").status, 200)
        before = show(server, "s")
        keys = server.ask("GET", f"{ROOT_PATH}/jwks.json").body
        mode = os.stat(os.path.join(server.data, "hooks.key")).st_mode
        equal(stat.S_IMODE(mode), 0o600, "mode of the key's file")
        server.kill()
        server.start()
        equal(show(server, "s"), before)
        equal(server.ask("GET", f"{ROOT_PATH}/jwks.json").body, keys)
        # The lease runs on, so the token is good and nothing is delivered again.
        answer = ack(server, "s", first, [("events/a", offset(2))], action="callback")
        equal((answer.status, answer.json()), (200, {"ok": True, "next_wake": False}))
        append(server, "events/a", 3)
        equal(receiver.wait(2).body["generation"], first["generation"] + 1)


@case
def wake_that_was_not_taken_is_delivered_again_after_a_kill():
    with Server(*LOCAL) as server, Receiver(None, Receiver.DONE) as receiver:
        webhook(server, "s", receiver.url())
        create(server, "events/a", 1)
        first = receiver.wait().body
        server.kill()
        server.start()
        second = receiver.wait(2).body
        equal((second["wake_id"], second["generation"]), (first["wake_id"], first["generation"]))
        wait_until(lambda: acked(server, "s", "events/a") == offset(1), "it is acknowledged")


@case
def claims_survive_a_kill_and_end_with_their_lease():
    with Server() as server:
        create(server, "wake", [])
        pull(server, "s")
        pull(server, "short", lease_ttl_ms=LEASE_MS)
        create(server, "events/a", 1)
        held = claim(server, "s")
        short = claim(server, "short")
        server.kill()
        server.start()
        error = refused(ask(server, "POST", "/subscriptions/s/claim", {"worker": "w"}), 409, "ALREADY_CLAIMED")
        equal(error["current_holder"], "worker-1")
        equal(ack(server, "s", held, [("events/a", offset(1))]).json(), {"ok": True, "next_wake": False})

        def claimed_again():
            answer = ask(server, "POST", "/subscriptions/short/claim", {"worker": "w"})
            return answer.json() if answer.status == 200 else None
        again = wait_until(claimed_again, "the lease is over")
        equal(again["generation"], short["generation"] + 1)


@case
def nothing_is_lost_when_the_server_is_killed_again_and_again():
    with Server(*LOCAL) as server, Receiver(Receiver.DONE) as receiver:
        webhook(server, "s", receiver.url(), pattern="events/**")
        for number in range(1, 9):
            path = f"events/{number % 3}"
            answer = server.ask("PUT", f"/v1/stream/{path}", JSON_FIELDS, b"")
            expect(answer.status in (200, 201), "making", answer.status)
            append(server, path, number)
            server.kill()
            server.start()
        tails = {f"events/{rest}": offset(len([n for n in range(1, 9) if n % 3 == rest])) for rest in range(3)}

        def is_all_acknowledged():
            return {each["path"]: each["acked_offset"] for each in show(server, "s")["streams"]} == tails
        wait_until(is_all_acknowledged, "every event is acknowledged")


class Worker(threading.Thread):
    """Claims, acknowledges what it was told, and now and then forgets to; a server that is gone
    for a moment is asked again. What it was told must rise, and never beyond what there is."""

    def __init__(self, server, name, seed):
        super().__init__(daemon=True)
        self.server = server
        self.label = name
        self.random = random.Random(seed)
        self.is_ended = False
        self.n_acked = 0
        self.problem = None

    def run(self):
        while not self.is_ended and self.problem is None:
            try:
                self.work()
            except (OSError, Closed):
                time.sleep(0.01)
            except Exception as problem:
                self.problem = problem

    def work(self):
        answer = ask(self.server, "POST", "/subscriptions/s/claim", {"worker": self.label})
        expect(answer.status in (200, 409, 503), "a claim", answer.status, answer.body)
        if answer.status != 200:
            time.sleep(0.005)
            return
        claimed = answer.json()
        if self.random.random() < 0.1:
            return
        if self.random.random() < 0.1:
            answer = ask(self.server, "POST", "/subscriptions/s/release", wake_of(claimed), claimed["token"])
            expect(answer.status in (204, 409, 503), "a release", answer.status, answer.body)
            return
        acks = [(each["path"], each["tail_offset"]) for each in claimed["streams"] if each["has_pending"]]
        answer = ack(self.server, "s", claimed, acks)
        expect(answer.status in (200, 409, 503), "an ack", answer.status, answer.body)
        if answer.status == 409:
            refused(answer, 409, "FENCED")
        self.n_acked += answer.status == 200


@case
def workers_that_forget_and_a_server_that_is_killed_lose_nothing():
    with Server() as server:
        create(server, "wake", [])
        pull(server, "s", pattern="events/**", lease_ttl_ms=LEASE_MS)
        workers = [Worker(server, f"worker-{number}", number) for number in range(3)]
        for worker in workers:
            worker.start()
        for number in range(60):
            create(server, f"events/{number % 7}")
            append(server, f"events/{number % 7}", number)
            if number % 12 == 11:
                server.kill()
                server.start()
        tails = {f"events/{rest}": offset(len(range(rest, 60, 7))) for rest in range(7)}

        def is_all_acknowledged():
            for worker in workers:
                expect(worker.problem is None, worker.label, worker.problem)
            return {each["path"]: each["acked_offset"] for each in show(server, "s")["streams"]} == tails
        wait_until(is_all_acknowledged, "every event is acknowledged")
        for worker in workers:
            worker.is_ended = True
        for worker in workers:
            worker.join(WAIT_S)
        generations = [each["generation"] for each in events(server, "wake")]
        equal(generations, list(range(1, len(generations) + 1)), "one event for each wake")


def changes_while_the_disk_fails(nth):
    with Server(env={"WEIR_FAULT": f"sync:{nth}+"}) as server:
        made, refusals = [], []
        for number in range(8):
            answer = ask(server, "PUT", f"/subscriptions/s{number}",
                         {"type": "pull-wake", "pattern": "events/*", "wake_stream": "wake"})
            if answer.status == 201:
                made.append(number)
                continue
            refusals.append((answer.status, answer.error()))
            refused(ask(server, "GET", f"/subscriptions/s{number}"), 404, "SUBSCRIPTION_NOT_FOUND")
        equal(set(refusals), {(503, "storage_unavailable")}, "refusals")
        server.stop()
        server.env = {}
        server.start()
        for number in made:
            equal(show(server, f"s{number}")["id"], f"s{number}")
        create(server, "wake", [])
        create(server, "events/a", 1)
        for number in made:
            equal(claim(server, f"s{number}")["generation"], 1)


@case
def what_the_disk_does_not_take_is_not_answered():
    needs_one("a database has the disk")
    for nth in (2, 4, 6):
        try:
            changes_while_the_disk_fails(nth)
        except Failure as why:
            if "first line" in str(why):
                continue  # it failed before it could listen
            raise


@case
def subscriptions_show_in_the_metrics():
    with Server(*LOCAL) as server, Receiver(Receiver.BROKEN) as receiver:
        webhook(server, "s", receiver.url())
        create(server, "events/a", 1)
        receiver.wait()
        wait_until(lambda: server.metric("weir_hooks_failures_total") >= 1, "the failure is counted")
        equal(server.metric("weir_hooks_subscriptions"), server.n_nodes, "each node has it")
        equal(server.metric("weir_hooks_wakes_total"), 1)
        equal(server.metric("weir_fetch_forbidden_total"), 0)


# ---- keys ----

@case
def keys_are_asked_for_but_by_whoever_shows_a_wakes_token():
    with Server(*LOCAL, is_open=False) as server, Receiver() as receiver:
        key, other = make_key(server, "--owner", "a"), make_key(server, "--owner", "b")
        reader, prefixed = make_key(server, "--scopes", "read"), make_key(server, "--prefix", "events/")
        wish = {"type": "webhook", "pattern": "events/*", "webhook": {"url": receiver.url()},
                "lease_ttl_ms": LONG_LEASE_MS}
        equal(ask(server, "PUT", "/subscriptions/s", wish).status, 401)
        equal(ask(server, "PUT", "/subscriptions/s", wish, reader).status, 403)
        equal(ask(server, "PUT", "/subscriptions/s", wish, prefixed).status, 403)
        writer = make_key(server, "--scopes", "write")
        equal(ask(server, "PUT", "/subscriptions/s", wish, writer).status, 403)
        ask(server, "PUT", "/subscriptions/s", wish, key, status=201)
        ask(server, "GET", "/subscriptions/s", token=key, status=200)
        equal(ask(server, "GET", "/subscriptions/s").status, 401)
        refused(ask(server, "GET", "/subscriptions/s", token=other), 404, "SUBSCRIPTION_NOT_FOUND")
        refused(ask(server, "PUT", "/subscriptions/s", wish, other), 409, "SUBSCRIPTION_ALREADY_EXISTS")
        ask(server, "DELETE", "/subscriptions/s", token=other, status=204)
        ask(server, "GET", "/subscriptions/s", token=key, status=200)
        equal(server.ask("GET", f"{ROOT_PATH}/jwks.json").status, 200)
        answer = server.ask("PUT", "/v1/stream/events/a", [*JSON_FIELDS, ("Authorization", f"Bearer {key}")],
                            b"[1]")
        equal(answer.status, 201)
        got = receiver.wait().body
        refused(ack(server, "s", got, [], action="callback", token=key), 401, "TOKEN_INVALID")
        equal(ack(server, "s", got, [("events/a", offset(1))], action="callback").status, 200)


@case
def page_of_another_origin_cannot_claim_without_asking():
    with Server() as server:
        create(server, "wake", [])
        pull(server, "s")
        create(server, "events/a", 1)
        for fields in ([], [("Content-Type", "text/plain")]):
            answer = server.ask("POST", f"{ROOT_PATH}/subscriptions/s/claim",
                                [*fields, ("Origin", "https://evil.example")], to_json({"worker": "w"}))
            equal((answer.status, answer.error()), (415, "unsupported_media_type"))
        claim(server, "s")


@case
def unknown_control_paths_are_not_streams():
    with Server() as server:
        for method, path in (("GET", "/v1/stream/__ds"), ("GET", f"{ROOT_PATH}/nothing"),
                             ("PUT", f"{ROOT_PATH}/nothing"), ("POST", f"{ROOT_PATH}/subscriptions")):
            equal(server.ask(method, path, JSON_FIELDS, b"{}" if method != "GET" else None).status, 404, path)


if __name__ == "__main__":
    main()
