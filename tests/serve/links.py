#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/links.py [CASE]...

Who may touch which stream: keys for streams of a prefix, keys that expire, and signed links to
one stream, against the real server.
"""
import json
import pathlib
import re
import urllib.parse

from support import (JSON_FIELDS, Failure, Server, bearer, case, equal, expect, ids_of, main, make_key, refused,
                     wait_until, weir)


def run(server, *words):
    done = weir(*words, "--data", server.data)
    equal((done.returncode, done.stderr), (0, b""), " ".join(words))
    return done.stdout.decode()


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
def key_with_a_prefix_follows_it_in_the_protocol_too():
    with Server(is_open=False) as server:
        key = make_key(server, "--prefix", "chat/")
        everything = make_key(server)
        binary = [("Content-Type", "text/plain")]
        for name in ("chat/a", "secret/a", "chat", "chats"):
            equal(server.ask("PUT", f"/v1/stream/{name}", [*binary, *bearer(everything)], b"x").status, 201, name)
        for method, body, query, good in (("POST", b"1", "", 204), ("GET", None, "?offset=-1", 200),
                                          ("HEAD", None, "", 200), ("PUT", b"", "", 200), ("DELETE", None, "", 204)):
            for name in ("secret/a", "chat", "chats", "Chat/a", "chat%2", "%63hats", ".", "__ds/a"):
                answer = server.ask(method, f"/v1/stream/{name}{query}", [*binary, *bearer(key)], body)
                equal(answer.status, 403, f"{method} {name}")
            for name in ("chat/a", "%63hat%2Fa"):
                answer = server.ask(method, f"/v1/stream/{name}{query}", [*binary, *bearer(key)], body)
                equal(answer.status, good if name == "chat/a" or method != "DELETE" else 404, f"{method} {name}")


@case
def fork_of_a_stream_that_is_not_the_keys_is_refused():
    """Whoever may write somewhere could else copy there what it may not read."""
    with Server(is_open=False) as server:
        key = make_key(server, "--prefix", "chat/")
        everything = make_key(server)
        text = [("Content-Type", "text/plain")]
        for name in ("chat/a", "secret"):
            equal(server.ask("PUT", f"/v1/stream/{name}", [*text, *bearer(everything)], b"x").status, 201)
        for source in ("/v1/stream/secret", "/v1/stream/%73ecret", server.url("/v1/stream/secret"), "secret",
                       "/v1/stream/", "/v1/stream/none", "http://chat/v1/stream/secret", "x://chat/"):
            answer = server.ask("PUT", "/v1/stream/chat/b", [*text, ("Stream-Forked-From", source), *bearer(key)], b"")
            refused(answer, 403, "forbidden")
        fork = [*text, ("Stream-Forked-From", "/v1/stream/chat/a"), *bearer(key)]
        equal(server.ask("PUT", "/v1/stream/chat/b", fork, b"").status, 201)
        equal(server.ask("GET", "/v1/stream/chat/b?offset=-1", bearer(key)).body, b"x")


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


# ---- links ----

VIEWS = ("/v1/streams/", "/v1/stream/")


def make_link(server, stream, *options):
    """The token of a new link."""
    link = json.loads(run(server, "link", "create", stream, "--json", *options))
    equal(link["stream"], stream, "of the link")
    equal(link["path"], f"/v1/streams/{quote(stream)}?link={link['token']}", "path")
    expect(re.fullmatch(r"1\.[1-9][0-9]{9,10}\.[A-Za-z0-9_-]{43}", link["token"]), "a token", link["token"])
    return link["token"]


def with_events(server, stream, n=1):
    key = make_key(server)
    for i in range(n):
        answer = server.ask("POST", f"/v1/streams/{quote(stream)}", [*JSON_FIELDS, *bearer(key)], b"%d" % i)
        equal(answer.status, 201, stream)
    return key


@case
def link_lets_a_reader_in_without_a_key():
    with Server(is_open=False, starts=False) as server:
        offline = make_link(server, "chat/ä b")
        server.start()
        key = with_events(server, "chat/ä b")
        name = quote("chat/ä b")
        path = run(server, "link", "create", "chat/ä b").strip()
        equal(server.ask("GET", f"{path}&live=false").status, 200, "the path that is printed")
        for token in (offline, path.partition("link=")[2]):
            for view in VIEWS:
                for method in ("GET", "HEAD"):
                    answer = server.ask(method, f"{view}{name}?live=false&link={token}" if view == VIEWS[0]
                                        else f"{view}{name}?offset=-1&link={token}")
                    equal(answer.status, 200, f"{method} {view}")
                    kept = answer.field("cache-control") or ""
                    expect("public" not in kept, "a shared cache would outlive the link", kept)
            answer = server.ask("GET", f"{VIEWS[0]}{name}?link={token}", [("Accept", "application/json")])
            expect(answer.json()["last"] > 0, "the state", answer.body)
            with server.watch(name, f"?from=latest&link={token}") as watch:
                equal(watch.opening.status, 200)
                server.ask("POST", f"/v1/streams/{name}", [*JSON_FIELDS, *bearer(key)], b"2")
                expect(watch.events(1), "live")
            server.restart()


@case
def link_to_a_stream_is_for_reading_this_stream():
    with Server(is_open=False) as server:
        key = with_events(server, "a")
        token = make_link(server, "a")
        with_events(server, "b")
        for view in VIEWS:
            for other in ("b", "A", "a%2F", "%2Fa", "aa", "a%20", "nothing", "a%2"):
                answer = server.ask("GET", f"{view}{other}?link={token}")
                refused(answer, 401, "invalid_token")
                expect("invalid_token" in answer.field("www-authenticate"), "why", answer.fields)
            equal(server.ask("HEAD", f"{view}b?link={token}").status, 401)
            for method, body in (("POST", b"1"), ("DELETE", None), ("PUT", b"")):
                if method == "PUT" and view == VIEWS[0]:
                    continue
                refused(server.ask(method, f"{view}a?link={token}", JSON_FIELDS, body), 403, "forbidden")
        for method, target in (("GET", "/metrics"), ("GET", "/v1/keys"), ("POST", "/v1/keys"), ("POST", "/v1/links"),
                               ("DELETE", "/v1/links"), ("POST", "/v1/store/check")):
            refused(server.ask(method, f"{target}?link={token}", JSON_FIELDS, b"{}" if method == "POST" else None),
                    403, "forbidden")
        equal(server.ask("GET", f"/healthz?link={token}").status, 200)
        # However the name is written.
        equal(server.ask("GET", f"/v1/streams/%61?live=false&link={token}").status, 200)
        # A field says who asks now; it counts, good or bad.
        refused(server.ask("GET", f"/v1/streams/a?live=false&link={token}", bearer("weir_x")), 401, "invalid_token")
        equal(server.ask("GET", "/v1/streams/a?live=false&link=x", bearer(key)).status, 200)
        refused(server.ask("GET", f"/v1/streams/a?live=false&link=x&api_key={key}"), 401, "invalid_token")
        equal(len(server.replay("a", fields=bearer(key))), 1, "nothing was appended")


@case
def tampered_link_is_refused_whichever_byte_it_is():
    with Server(is_open=False) as server, server.connect() as conn:
        with_events(server, "a")
        token = make_link(server, "a")
        equal(conn.ask("GET", f"/v1/streams/a?live=false&link={token}").status, 200)
        bad = ["", ".", "1", token + "A", token + "=", token + "%00", token[:-1], token[1:], token.upper(),
               token.replace("1.", "2.", 1), token.replace("1.", "1.0", 1), token.replace("1.", "1.+", 1)]
        for i, letter in enumerate(token):
            for other in ("A", "0", "9", "_", ".", "%41"):
                if other != letter and not (other == "%41" and letter == "A"):
                    bad.append(token[:i] + other + token[i + 1:])
            bad.append(token[:i])
            bad.append(token[:i] + token[i + 1:])
        for wrong in bad:
            for view in VIEWS:
                refused(conn.ask("GET", f"{view}a?live=false&link={wrong}"), 401, "invalid_token")
        equal(conn.ask("GET", f"/v1/streams/a?live=false&link={token}").status, 200, "the right one still")


@case
def link_that_expires_lets_nobody_in_and_cuts_nobody_off():
    with Server(is_open=False) as server:
        key = make_key(server)
        watch, _, query = open_briefly(
            server, lambda life: ([], f"?link={make_link(server, 'a', '--expires', life)}"), "a")
        with watch:
            target = f"/v1/streams/a{query}&live=false"
            wait_until(lambda: server.ask("GET", target).status == 401, "the link has expired")
            answer = server.ask("GET", target)
            refused(answer, 401, "invalid_token")
            expect(b"has expired" in answer.body, "it says so", answer.body)
            refused(server.ask("GET", f"/v1/stream/a{query}&offset=-1"), 401, "invalid_token")
            equal(server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *bearer(key)], b"1").status, 201)
            equal(ids_of(watch.events(1)), [1], "whoever was in stays")


@case
def rotating_ends_all_links_at_once_and_for_ever():
    with Server(is_open=False) as server, Server(is_open=False) as other:
        key = with_events(server, "a")
        old = make_link(server, "a")
        with server.watch("a", f"?from=latest&link={old}") as watch:
            equal(watch.opening.status, 200)
            equal(run(server, "link", "rotate"), "")
            refused(server.ask("GET", f"/v1/streams/a?live=false&link={old}"), 401, "invalid_token")
            new = make_link(server, "a")
            expect(new.split(".")[2] != old.split(".")[2], "another secret")
            equal(server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *bearer(key)], b"1").status, 201)
            equal(ids_of(watch.events(1)), [2], "whoever was in stays")
        server.kill()
        server.start()
        equal(server.ask("GET", f"/v1/streams/a?live=false&link={old}").status, 401)
        equal(server.ask("GET", f"/v1/streams/a?live=false&link={new}").status, 200)
        server.stop()
        equal(run(server, "link", "rotate"), "", "without a server")
        server.start()
        equal(server.ask("GET", f"/v1/streams/a?live=false&link={new}").status, 401)
        # Another server has another secret.
        make_link(other, "a")
        equal(other.ask("GET", f"/v1/streams/a?live=false&link={make_link(server, 'a')}").status, 401)


@case
def links_are_made_over_http_by_admins_alone():
    with Server(is_open=False) as server:
        admin = make_key(server, "--scopes", "admin")
        other = make_key(server, "--scopes", "read,write")
        with_events(server, "a")
        ask = lambda body, key: server.ask("POST", "/v1/links", [*JSON_FIELDS, *bearer(key)], body)
        answer = ask(b'{"stream":"a","expires_in":60}', admin)
        equal((answer.status, answer.field("cache-control")), (201, "no-store"))
        equal(sorted(answer.json()), ["expires", "path", "stream", "token"])
        equal(server.ask("GET", f"{answer.json()['path']}&live=false").status, 200)
        equal(ask(b'{"stream":"a"}', admin).status, 201, "an hour unless it says otherwise")
        refused(ask(b'{"stream":"a"}', other), 403, "forbidden")
        refused(server.ask("DELETE", "/v1/links", bearer(other)), 403, "forbidden")
        for body, code in ((b"", "invalid_request"), (b"[]", "invalid_request"), (b"{}", "invalid_field"),
                           (b'{"stream":""}', "invalid_field"), (b'{"stream":1}', "invalid_field"),
                           (b'{"stream":"a\\n"}', "invalid_field"), (b'{"stream":"%s"}' % (b"x" * 201), "invalid_field"),
                           (b'{"stream":"a","expires_in":0}', "invalid_field"),
                           (b'{"stream":"a","expires_in":31622401}', "invalid_field"),
                           (b'{"stream":"a","expires_in":"1h"}', "invalid_field"),
                           (b'{"stream":"a","else":1}', "invalid_field")):
            refused(ask(body, admin), 400, code)
        equal(server.ask("DELETE", "/v1/links", bearer(admin)).status, 204)
        equal(server.ask("GET", f"{answer.json()['path']}&live=false").status, 401)


@case
def link_is_in_no_log_and_nothing_is_kept_for_it():
    with Server("--access-log", "-", "--log", "json", is_open=False) as server:
        with_events(server, "a")
        token = make_link(server, "a")
        for query in (f"link={token}", f"live=false&link={token}", f"link={token}x"):
            for view in VIEWS:
                for method in ("GET", "HEAD", "POST", "DELETE"):
                    fields = [("Accept", "application/json")] if view == VIEWS[0] else []
                    server.ask(method, f"{view}a?{query}", fields, b"1" if method == "POST" else None)
        server.stop()
        lines = [json.loads(line) for line in server.errors().splitlines() if '"route"' in line]
        expect(any(line["key"] == "link" and line["status"] == 200 for line in lines), "a link is called so", lines)
        mac = token.split(".")[2]
        expect(mac not in server.errors(), "the token is in a log")
        kept = [path for path in pathlib.Path(server.data).rglob("*") if path.is_file()]
        expect(all(mac.encode() not in path.read_bytes() for path in kept), "the token is in a file")
        expect(all(path.stat().st_mode & 0o077 == 0 for path in kept), "a file that others may read",
               [(path.name, oct(path.stat().st_mode)) for path in kept])


if __name__ == "__main__":
    main()
