#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/links.py [CASE]...

Who may touch which stream: keys for streams of a prefix, keys that expire, and signed links to
one stream, against the real server.
"""
import json
import re
import urllib.parse

from support import (JSON_FIELDS, Failure, Server, case, equal, expect, ids_of, main, wait_until, weir)


def run(server, *words):
    done = weir(*words, "--data", server.data)
    equal((done.returncode, done.stderr), (0, b""), " ".join(words))
    return done.stdout.decode()


def make_key(server, *options):
    return run(server, "key", "create", *options).strip()


def bearer(key):
    return [("Authorization", f"Bearer {key}")]


def refused(answer, status, code):
    equal((answer.status, answer.error()), (status, code), answer.body)


def quote(name):
    return urllib.parse.quote(name, safe="")


# ---- keys for some streams ----

@case
def key_with_a_prefix_touches_streams_that_begin_with_it_and_nothing_else():
    with Server(is_open=False) as server:
        key = make_key(server, "--prefix", "chat/")
        everything = make_key(server)
        for name, is_allowed in (("chat/", True), ("chat/a", True), ("chat/a/b", True), ("chat", False),
                                 ("chatter", False), ("Chat/a", False), ("a", False), ("x/chat/", False),
                                 ("..", False), ("chat/../a", True)):
            target = f"/v1/streams/{quote(name)}"
            equal(server.ask("POST", target, [*JSON_FIELDS, *bearer(everything)], b"1").status, 201, name)
            for method, body, good in (("POST", b"1", 201), ("GET", None, 200), ("HEAD", None, 200),
                                       ("DELETE", None, 204)):
                asked = f"{target}?live=false" if method == "GET" else target
                answer = server.ask(method, asked, [*JSON_FIELDS, *bearer(key)], body)
                equal(answer.status, good if is_allowed else 403, f"{method} {name}")
                if not is_allowed and method != "HEAD":
                    refused(answer, 403, "forbidden")
                    expect("insufficient_scope" in answer.field("www-authenticate"), "why", answer.fields)
        # The name counts, not how it is written.
        equal(server.ask("POST", "/v1/streams/%63hat%2Fa", [*JSON_FIELDS, *bearer(key)], b"1").status, 201)
        refused(server.ask("POST", "/v1/streams/%2563hat%2Fa", [*JSON_FIELDS, *bearer(key)], b"1"), 403,
                "forbidden")
        refused(server.ask("POST", "/v1/streams/chat%2", [*JSON_FIELDS, *bearer(key)], b"1"), 403, "forbidden")
        refused(server.ask("POST", f"/v1/streams/chat%2F{'x' * 300}", [*JSON_FIELDS, *bearer(key)], b"1"),
                403, "forbidden")
        # What is about no stream, or about all, is not for it.
        for method, target in (("GET", "/metrics"), ("GET", "/v1/keys"), ("POST", "/v1/keys"),
                               ("POST", "/v1/store/check")):
            refused(server.ask(method, target, bearer(key), b"{}" if method == "POST" else None), 403, "forbidden")
        equal(server.ask("GET", "/healthz", bearer(key)).status, 200)


@case
def prefix_is_kept_over_a_restart_and_shown_by_the_list():
    with Server(is_open=False) as server:
        key = make_key(server, "--prefix", "chat/", "--scopes", "read")
        rows = [json.loads(line) for line in run(server, "key", "list", "--json").splitlines()]
        equal([(row["prefix"], row["scopes"], row["expires"]) for row in rows], [("chat/", ["read"], None)])
        server.restart()
        equal(server.ask("GET", "/v1/streams/chat%2Fa?live=false", bearer(key)).status, 200)
        equal(server.ask("GET", "/v1/streams/b?live=false", bearer(key)).status, 403)


def open_briefly(server, make, target):
    """A reader that came in by what will expire soon: made again, with more time, if it was late."""
    for seconds in (1, 4, 16, 64):
        fields, query = make(f"{seconds}s")
        watch = server.watch(target, query, fields)
        if watch.opening.status == 200:
            return watch, fields, query
        watch.close()
    raise Failure("what expires after a minute lets nobody in")


@case
def key_that_expires_lets_nobody_in_and_cuts_nobody_off():
    with Server(is_open=False) as server:
        always = make_key(server)
        watch, fields, _ = open_briefly(
            server, lambda life: (bearer(make_key(server, "--expires", life)), ""), "a")
        with watch:
            target = "/v1/streams/a?live=false"
            wait_until(lambda: server.ask("GET", target, fields).status == 401, "the key has expired")
            answer = server.ask("GET", target, fields)
            refused(answer, 401, "invalid_token")
            expect(b"expired" in answer.body, "it says so", answer.body)
            equal(server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *fields], b"1").status, 401)
            equal(server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *bearer(always)], b"1").status, 201)
            equal(ids_of(watch.events(1)), [1], "whoever was in stays")
        server.restart()
        equal(server.ask("GET", target, fields).status, 401)


if __name__ == "__main__":
    main()
