#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/nodes/databases.py [CASE...]

`weir store databases`, while a node runs: a store gets a second database, uses it, and gives it back; what is
told of one that is away; what is refused; a password that nobody sees. docs/operate.md says how it is done.
"""
import itertools
import json
import os
import tempfile

import postgres
from support import JSON_FIELDS, Server, case, equal, expect, ids_of, main, to_json, wait_until, weir

_numbers = itertools.count(1)


def make_databases(n, server=None):
    """URLs of new ones."""
    server = server or postgres.shared()
    names = [f"several{next(_numbers)}" for _ in range(n)]
    for name in names:
        server.create_database(name)
    return [server.url(name) for name in names]


def databases(*words, env=None):
    return weir("store", "databases", *words, env=env)


def listed(urls, status=0):
    """What it says of each, by the order of the list."""
    done = databases(",".join(urls), "--json")
    equal(done.returncode, status, f"{done.stdout!r} {done.stderr!r}")
    return json.loads(done.stdout)["databases"]


def changed(urls, *words):
    done = databases(",".join(urls), *words)
    equal((done.returncode, done.stderr), (0, b""), f"{words} {done.stdout!r}")
    return done.stdout.decode()


def refused(urls, *words):
    done = databases(",".join(urls), *words)
    equal((done.returncode, done.stdout), (1, b""), f"{words}")
    return done.stderr.decode()


def node(urls, data=None):
    return Server("--store", ",".join(urls), data=data)


def fill(server, names):
    for name in names:
        equal(server.ask("POST", f"/v1/streams/{name}", JSON_FIELDS, to_json(name)).status, 201)


@case
def database_comes_and_goes_while_a_node_runs():
    urls = make_databases(2)
    with tempfile.TemporaryDirectory(prefix="weir-several-") as folder:
        with node(urls[:1], folder) as server:
            fill(server, [f"a{i}" for i in range(20)])
            one, other = listed(urls, 1)
            equal((one["number"], one["open"], one["reached"], other["number"]), (0, True, True, None))
            expect("not in the store" in other["trouble"], "what to do", other)
        with node(urls, folder) as server:
            _, other = listed(urls)
            equal((other["number"], other["open"], other["logs"], other["trouble"]), (1, False, 0, None))
            fill(server, [f"b{i}" for i in range(20)])
            equal(listed(urls)[1]["logs"], 0, "logs of one that is closed")
            expect("within 5 seconds" in changed(urls, "--open", "1"), "when nodes know")
            made = []

            def is_used():
                made.append(f"c{len(made)}")
                fill(server, made[-1:])
                return listed(urls)[1]["logs"] > 2
            wait_until(is_used, "new logs are there")
            expect(listed(urls)[1]["bytes"] > 0, "bytes")
            expect("--close 1" in refused(urls, "--remove", "1"), "what has to happen first")
            equal(json.loads(changed(urls, "--close", "1", "--json")), {"number": 1, "open": False})
            n = listed(urls)[1]["logs"]
            expect(f"events of {n} logs" in refused(urls, "--remove", "1"), "how many are there")
            fill(server, [f"d{i}" for i in range(20)])
            equal(listed(urls)[1]["logs"], n, "logs of one that was closed")
            for name in made:
                equal(server.ask("DELETE", f"/v1/streams/{name}").status, 204)
            expect("start all nodes" in changed(urls, "--remove", "1"), "what comes next")
            fill(server, ["e"])
        with node(urls[:1], folder) as server:
            for name in ("a7", "b7", "d7", "e"):
                equal(server.append(name, "again"), 2)
        with node(urls[1:]) as server:  # it can be used for something else
            equal((server.append("own", 1), ids_of(server.replay("a7"))), (1, []))


@case
def what_a_dead_node_left_elsewhere_stops_nothing():
    """Streams of the gateway whose node has died, the first of them where nobody can write now."""
    def open_stream(number, name, cluster):
        with postgres.Sql(urls[0]) as sql:
            sql(f"INSERT INTO weir.logs (id, name, last, cluster) VALUES ({number}, 'gateway/ann/{name}', 0,"
                f" {cluster})")
            sql(f"INSERT INTO weir.docs (kind, id, owner, version, body) VALUES ('gateway_open', 'ann/{name}',"
                " '', 1, 'openai 01AAAAAAAAAAAAAAAAAAAAAAAA')")

    def left():
        with postgres.Sql(urls[0]) as sql:
            return [bytes.fromhex(row[0]) for row in
                    sql("SELECT encode(id, 'hex') FROM weir.docs WHERE kind = 'gateway_open' ORDER BY id")]
    with postgres.Postgres("away") as away:
        urls = [*make_databases(1), *make_databases(1, away)]
        with node(urls) as server:
            fill(server, ["s"])
            away.kill()
            open_stream(900001, "gw_1", 1)
            open_stream(900002, "gw_2", 0)
            wait_until(lambda: left() == [b"ann/gw_1"], "the one that can be ended is")
            away.start()
            wait_until(lambda: not left(), "the other one is")


@case
def one_that_is_away_stops_only_its_own_logs():
    with postgres.Postgres("away") as away:
        urls = [*make_databases(1), *make_databases(1, away)]
        with node(urls) as server:
            names = [f"s{i}" for i in range(24)]
            fill(server, names)
            there = listed(urls)[1]["logs"]
            expect(0 < there < len(names), "logs on both", there)
            away.kill()
            one, other = listed(urls, 1)
            equal((one["reached"], other["reached"], other["number"], other["logs"], other["bytes"]),
                  (True, False, 1, there, None))
            done = databases(",".join(urls))
            equal(done.returncode, 1)
            rows = [line.split() for line in done.stdout.decode().splitlines()]
            equal((rows[1][:2], rows[2][:5]), (["0", "open"], ["1", "open", str(there), "?", "no"]))
            expect(urls[1] in done.stderr.decode(), "which, and why", done.stderr)
            answers = [server.ask("POST", f"/v1/streams/{name}", JSON_FIELDS, b"1").status for name in names]
            equal((answers.count(503), answers.count(201)), (there, len(names) - there))
            fill(server, [f"new{i}" for i in range(8)])
            equal(listed(urls, 1)[1]["logs"], there, "no new log is there")
            # It is lost for good: what it had is deleted, and it is taken away.
            for name, status in zip(names, answers):
                if status == 503:
                    equal(server.ask("DELETE", f"/v1/streams/{name}").status, 204)
            changed(urls, "--close", "1")
            done = databases(",".join(urls), "--remove", "1", "--json")
            equal((done.returncode, json.loads(done.stdout)), (0, {"number": 1, "freed": False}))
            expect(b"drop its schema weir" in done.stderr, "what is left to do", done.stderr)
            server.options = ["--store", urls[0]]
            equal(server.restart(), 0)
            equal(server.append("new3", 1), 2)


@case
def store_is_found_by_the_environment_and_by_the_folder():
    urls = make_databases(2)
    with tempfile.TemporaryDirectory(prefix="weir-several-") as folder, node(urls, folder):
        by_words = databases(",".join(urls))
        equal(by_words.returncode, 0)
        equal(databases("--data", folder).stdout, by_words.stdout)
        equal(databases(env={**os.environ, "WEIR_STORE_URL": ",".join(urls)}).stdout, by_words.stdout)
    with Server() as server:
        done = databases("--data", server.data)
        equal(done.returncode, 1)
        expect(b"only a store on PostgreSQL" in done.stderr, "a folder", done.stderr)


@case
def passwords_are_not_shown():
    urls = make_databases(2)
    with node(urls):
        secret = [url.replace(f"{postgres.ROLE}@", f"{postgres.ROLE}:geheim@") for url in urls]
        done = databases(",".join(secret))
        equal(done.returncode, 0, done.stderr)
        expect(b"geheim" not in done.stdout and b"***" in done.stdout, "the list", done.stdout)
        away = [secret[0], "postgres://weir:geheimer@/x?host=/nowhere/at/all", secret[1]]
        for words in (["--json"], [], ["--open", "9"]):
            done = databases(",".join(away), *words)
            equal(done.returncode, 1)
            expect(b"geheim" not in done.stdout + done.stderr, f"{words}", done.stdout, done.stderr)


@case
def wrong_usage_is_told():
    for words, status, text in (
            (["--open", "1", "--close", "1"], 2, b"one at a time"), (["postgres://a", "b"], 2, b"one word too many"),
            (["postgres://a", "--data", "b"], 2, b"not both"), (["--open", "256"], 2, b"--open"),
            (["/a/folder"], 1, b"postgres://USER@HOST/NAME")):
        done = databases(*words)
        equal(done.returncode, status, f"{words} {done.stderr!r}")
        expect(text in done.stderr, f"{words}", done.stderr)
    done = weir("store", "check", "--open", "1")
    expect(done.returncode == 2 and b"are for databases" in done.stderr, "of another", done.stderr)
    urls = make_databases(1)
    for words, text in (([], "no store in the first"), (["--open", "1"], "no store in the first")):
        expect(text in refused(urls, *words), "an empty database")
    with node(urls):
        expect("no database 1" in refused(urls, "--open", "1"), "one that is not there")
        expect("cannot be removed" in refused(urls, "--remove", "0"), "the first")


if __name__ == "__main__":
    main()
