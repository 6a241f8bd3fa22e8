#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/nodes/limits.py [CASE...]

Who may do what, and what was acknowledged, over several nodes on one PostgreSQL: keys, rates, cookies,
links that log in, uploads whose node dies, key files, and a password that nobody sees. docs/nodes.md
says what is promised.
"""
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import time

import postgres
import support
from cluster import Cluster, Node, database_of
from session_support import LateClock
from support import JSON_FIELDS, WAIT_S, case, equal, expect, main, to_json, wait_until, weir, words_of

support.Server = Cluster


def make_key(server, *options):
    made = weir("key", "create", "--data", server.data, *options)
    equal((made.returncode, made.stderr), (0, b""), "a key")
    return made.stdout.decode().strip()


def bearer(key):
    return [("Authorization", f"Bearer {key}")]


def status(server, node, key):
    return server.at(node).ask("GET", "/v1/whoami", bearer(key)).status


# ---- who may do what ----

@case
def key_is_good_everywhere_at_once_and_refused_everywhere_soon():
    with Cluster(is_open=False) as server:
        admin = make_key(server, "--scope", "read,write,admin")
        for turn in range(10):
            at, other = turn % 2, 1 - turn % 2
            made = server.at(at).ask("POST", "/v1/keys", [*JSON_FIELDS, *bearer(admin)], b'{"scopes":["read"]}')
            equal(made.status, 201)
            key = made.json()
            equal(status(server, other, key["key"]), 200, "a key of a moment ago")
            equal(server.at(other).ask("DELETE", f"/v1/keys/{key['name']}", bearer(admin)).status, 204)
            equal(status(server, other, key["key"]), 401)
            wait_until(lambda: status(server, at, key["key"]) == 401, "the other node knows")
        equal(status(server, 0, "weir_0000000000aa_" + 43 * "x"), 401, "a key that nobody made")


@case
def rate_holds_in_the_long_run_whoever_is_asked():
    with Cluster(is_open=False) as server:
        key = make_key(server, "--rate", "20/s", "--burst", "20")

        def press(node, until):
            n = 0
            with server.at(node).connect() as conn:
                while time.monotonic() < until:
                    conn.request("GET", "/v1/whoami", bearer(key))
                    n += conn.answer("GET").status == 200
            return n
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            begin = time.monotonic()
            presses = [pool.submit(press, n % 2, begin + 3) for n in range(4)]
            n_passed = sum(one.result() for one in presses)
            took_s = time.monotonic() - begin
        expect(n_passed <= 20 * took_s + 20 + 20 // 2 + 2, "more than one node would let pass", n_passed, took_s)
        expect(n_passed >= 20, "the burst at least", n_passed)


@case
def link_logs_in_once_on_whichever_node():
    with Cluster(is_open=False) as server:
        made = weir("key", "link", "--data", server.data, "--json")
        equal(made.returncode, 0, made.stderr)
        token = json.loads(made.stdout)["path"].rpartition("/")[2]

        def follow(n):
            return server.at(n % 2).ask("POST", "/auth/session", JSON_FIELDS, to_json({"link": token}))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(follow, range(8)))
        equal(sorted(answer.status for answer in answers), [200] + 7 * [401])
        cookie = next(a for a in answers if a.status == 200).field("set-cookie").partition(";")[0]
        fields = [("Cookie", cookie)]
        for node in (0, 1):
            equal(server.at(node).ask("GET", "/auth/session", fields).status, 200, "its cookie")
        out = server.at(0).ask("DELETE", "/auth/session", [*fields, ("Origin", "http://localhost")])
        equal(out.status, 204)
        wait_until(lambda: server.at(1).ask("GET", "/auth/session", fields).status == 401, "the other node knows")


# ---- what was acknowledged ----

@case
def upload_whose_node_dies_is_imported_by_another():
    with Cluster() as server:
        rows = "".join(f"2023-{1 + day // 28 % 12:02}-{1 + day % 28:02},{1000 + day}\n" for day in range(336))
        made = server.at(1).ask("POST", "/v1/data/imports?name=steps.csv", [("Content-Type", "text/csv")],
                                f"date,steps\n{rows}".encode())
        equal(made.status, 202, made.body)
        server.kill_node(1)

        def ended():
            seen = server.at(0).ask("GET", made.field("location")).json()
            return seen if seen["status"] != "running" else None
        seen = wait_until(ended, "the import has ended")
        equal(seen["status"], "completed", seen)
        # Whatever the first node had written before it died is not counted again.
        if not seen["summary"]["resumed"]:
            equal(seen["summary"]["new"] + seen["summary"]["duplicates"], 336, seen)
        days = server.at(0).ask("GET", "/v1/data/series?metric=steps&from=2023-01-01&to=2023-12-31").json()
        equal(sum(day["value"] for day in days["data"]), sum(1000 + day for day in range(336)), "all of the file")
        again = server.at(0).ask("POST", "/v1/data/imports?name=steps.csv", [("Content-Type", "text/csv")], b"date,steps\n2024-01-01,5\n")
        equal(again.status, 202, "the place is free")
        with postgres.Sql(postgres.shared().url(database_of(server.data).rpartition("/")[2])) as sql:
            wait_until(lambda: sql.one("SELECT count(*) FROM weir.docs WHERE kind LIKE 'upload-%'::bytea") == "0",
                       "nothing is left of the files")
        server.start_node(1)


# ---- starting ----

@case
def node_without_the_files_of_the_others_says_what_to_copy():
    with Cluster() as server:
        other = Node(server, 9)
        other.spawn()
        try:
            expect(other.wait() != 0, "it started")
            expect("copy shield.key" in other.errors(), "what it says", other.errors())
            expect(not pathlib.Path(other.data, "shield.key").exists(), "it made one of its own")
        finally:
            other.end()


@case
def folder_of_a_node_begins_no_store_of_its_own():
    with Cluster() as server:
        server.stop()
        for words in (("serve", "--data", server.data, "--open", "--listen", "127.0.0.1:0"),
                      ("key", "create", "--data", server.data)):
            done = subprocess.run(words_of(*words), capture_output=True, timeout=WAIT_S, check=False)
            equal(done.returncode, 1, done.stderr)
            expect(b"postgresql://" in done.stderr, "where the data are", done.stderr)
        expect(not pathlib.Path(server.data, "weir.db").exists(), "a store in the folder")


@case
def url_that_is_a_mistake_changes_nothing():
    with Cluster() as server:
        own = pathlib.Path(server.data, "own")
        own.mkdir()
        words = words_of("serve", "--data", own, "--open", "--listen", "127.0.0.1:0")

        def refused(*more):
            done = subprocess.run([*map(str, words), *more], capture_output=True, timeout=WAIT_S, check=False)
            expect(done.returncode in (1, 2) and not (own / "store.url").exists(), f"{more}", done.stderr)
            return done.stderr
        expect(b"URL" in refused("--store", ""), "a variable that was not set")
        expect(b"onnect" in refused("--store", "postgres://weir@127.0.0.1:1/nothing"), "a database that is not there")
        said = refused("--store", "postgres://weir:geheim/17@127.0.0.1:1/nothing")
        expect(b"%2F" in said and b"geheim" not in said, "a password that should have been escaped", said)


@case
def who_may_write_and_owns_nothing_does_not_start():
    with Cluster() as server:
        database = database_of(server.data).rpartition("/")[2]
        with postgres.Sql(postgres.shared().url(database, "postgres")) as sql:
            sql("CREATE ROLE guest LOGIN")
            sql("GRANT USAGE ON SCHEMA weir TO guest")
            sql("GRANT ALL ON ALL TABLES IN SCHEMA weir TO guest")
            sql("GRANT ALL ON ALL SEQUENCES IN SCHEMA weir TO guest")
        url = postgres.shared().url(database, "guest")
        done = subprocess.run(words_of("serve", "--data", f"{server.data}/guest", "--open", "--listen", "127.0.0.1:0", "--store", url),
                              capture_output=True, timeout=WAIT_S, check=False)
        expect(done.returncode == 1 and b"has to own" in done.stderr, "what it says", done.stderr)


@case
def database_that_refuses_is_told_of_until_it_takes_again():
    with Cluster() as server:
        database = database_of(server.data).rpartition("/")[2]
        one = server.at(0)
        equal(one.ask("POST", "/v1/streams/a", JSON_FIELDS, b"1").status, 201)

        def is_refused():
            answer = one.ask("POST", "/v1/streams/a", JSON_FIELDS, b"2")
            expect(answer.status in (201, 503), "an append", answer.body)
            return answer if answer.status == 503 else None
        with postgres.Sql(postgres.shared().url(database, "postgres")) as sql:
            sql("ALTER TABLE weir.chunks RENAME TO away")
            try:
                answer = wait_until(is_refused, "it is refused")
                expect(b"refuses" in answer.body and answer.field("retry-after"), "why", answer.body)
                equal(one.ask("GET", "/readyz").status, 503, "whoever sends requests there")
                wait_until(lambda: "weir.chunks" in server.errors(), "the database's own words are in the log")
            finally:
                sql("ALTER TABLE weir.away RENAME TO chunks")
        wait_until(lambda: not is_refused(), "it takes again")
        wait_until(lambda: one.ask("GET", "/readyz").status == 200, "it is ready again")


@case
def node_whose_clock_is_days_ahead_takes_nothing_away():
    clock = LateClock()
    clock.set(3 * 24 * 3600 * 1000)
    with Cluster() as server:
        one, other = server.at(0), server.at(1)
        server.kill_node(1)
        server.nodes[1].env = clock.env
        server.start_node(1)
        equal(one.ask("PUT", "/v1/stream/short", [("Content-Type", "text/plain"), ("Stream-TTL", "3600")], b"kept").status, 201)
        entry = [*JSON_FIELDS, ("Idempotency-Key", "once")], b'{"category":"goal","text":"walk"}'
        made = one.ask("POST", "/v1/memory", *entry)
        equal(made.status, 201)
        again = other.ask("POST", "/v1/memory", *entry)
        equal((again.json(), again.field("idempotent-replayed")), (made.json(), "true"))
        equal(other.ask("GET", "/v1/stream/short?offset=-1").body, b"kept")


@case
def password_is_seen_by_nobody():
    with Cluster() as server:
        url = database_of(server.data).replace("://weir@", "://weir:geheim17@")
        words = words_of("serve", "--data", f"{server.data}/third", "--open", "--listen", "127.0.0.1:0")
        os.makedirs(f"{server.data}/third")
        for path in pathlib.Path(server.data).glob("*.key"):
            pathlib.Path(f"{server.data}/third", path.name).write_bytes(path.read_bytes())
            os.chmod(f"{server.data}/third/{path.name}", 0o600)
        child = subprocess.Popen([*words, "--store", url], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            expect(child.stdout.readline().startswith(b"listening on"), "it starts")
            shown = pathlib.Path(f"/proc/{child.pid}/cmdline").read_bytes()
            expect(b"geheim17" not in shown and b"--store" in shown, "the list of processes", shown)
        finally:
            child.send_signal(signal.SIGTERM)
            errors = child.communicate(timeout=WAIT_S)[1]
        expect(b"geheim17" not in errors, "its messages", errors)
        marked = pathlib.Path(f"{server.data}/third/store.url").read_text()
        expect("geheim17" not in marked, "its folder", marked)
        secret = pathlib.Path(server.data, "url")
        secret.write_text("postgres://weir:geheim17@127.0.0.1:1/nothing\n")
        secret.chmod(0o600)
        done = subprocess.run([*words, "--store-file", str(secret)], capture_output=True, timeout=WAIT_S, check=False)
        expect(done.returncode == 1 and b"geheim17" not in done.stderr, "an error", done.stderr)


if __name__ == "__main__":
    main()
