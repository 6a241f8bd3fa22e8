#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/store_copy.py [CASE...]

`weir store copy` and `weir store compare`: a server goes on with a copy as if nothing had happened,
over PostgreSQL and back; a copy is there as a whole or not at all; nothing in use is touched.
"""
import contextlib
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import tempfile

from support import (JSON_FIELDS, MEBIBYTE, ROOT, WAIT_S, Server, Skip, bearer, case, equal, expect, ids_of, main,
                     make_key, to_json, wait_until, weir, words_of)

PRODUCER = [("Content-Type", "application/json"), ("Producer-Id", "p"), ("Producer-Epoch", "0")]


@contextlib.contextmanager
def folders():
    with tempfile.TemporaryDirectory(prefix="weir-copy-") as top:
        yield pathlib.Path(top)


@contextlib.contextmanager
def database(files=ROOT / "build/postgres"):
    """The URL of a database for as long as this lasts: an empty one, or what these files of a server have."""
    child = subprocess.Popen([ROOT / "tests/postgres", "max_wal_senders=4", "wal_level=replica"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "T_POSTGRES_KEEP": str(files)})
    try:
        url = child.stdout.readline().strip()
        if not url:
            raise Skip("PostgreSQL is not installed")
        yield url
    finally:
        child.stdin.close()
        child.wait(WAIT_S)


def postgres(program, *words, **options):
    """A program of PostgreSQL's."""
    done = subprocess.run([f"/usr/lib/postgresql/15/bin/{program}", *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=WAIT_S, check=False, **options)
    equal(done.returncode, 0, f"{program}: {done.stderr.decode()[-500:]}")
    return done.stdout


def node(folder, url, keys_of=None):
    """A server whose store is a database; with the key files of another one's folder."""
    folder.mkdir(mode=0o700)
    for file in keys_of.glob("*.key") if keys_of else ():
        shutil.copy2(file, folder)
    return Server("--store", url, data=folder)


def store(*words):
    return weir("store", *map(str, words))


def copied(source, target):
    """What the command says of a copy that went well."""
    done = store("copy", source, target, "--json")
    equal((done.returncode, done.stderr), (0, b""), f"copy ({done.stdout!r})")
    told = json.loads(done.stdout)
    equal((told["wrong"], told["complaints"]), (0, []))
    return told


def produce(server, key, number, value):
    """Status of a message with this number."""
    fields = [*PRODUCER, ("Producer-Seq", str(number)), *bearer(key)]
    return server.ask("POST", "/v1/stream/made", fields, to_json([value])).status


def lived_in(folder):
    """A store that a server has used; a key for it."""
    with Server(data=folder, is_open=False) as server:
        key = make_key(server, "--owner", "ada")
        for stream, n in (("a", 500), ("b", 3)):
            answer = server.ask("POST", f"/v1/streams/{stream}?batch=1", [*JSON_FIELDS, *bearer(key)],
                                to_json([{"n": i, "text": "x" * (i % 50)} for i in range(n)]))
            equal(answer.status, 201)
        equal(server.ask("PUT", "/v1/stream/made", [*JSON_FIELDS, *bearer(key)]).status, 201)
        equal([produce(server, key, i, i) for i in range(3)], [200] * 3)
        answer = server.ask("POST", "/v1/documents", [*JSON_FIELDS, *bearer(key)],
                            to_json({"title": "Foxes", "text": "The quick brown fox jumps."}))
        expect(answer.status in (200, 201), "a document", answer.status, answer.body)
    return key


def goes_on(folder, key, *options):
    """A server finds all of it, and nothing happens twice."""
    with Server(*options, data=folder, is_open=False) as server:
        server.key = key
        with server.watch("a", "?live=false", [("Last-Event-ID", "498")]) as watch:
            equal(ids_of(watch.rest()), [499, 500])
        equal(server.append("b", 1), 4)
        equal((produce(server, key, 2, 2), produce(server, key, 3, 3)), (204, 200), "a message again, a new one")
        found = server.ask("GET", "/v1/documents/search?q=fox").json()
        equal(len(found["data"]), 1, "what is found")
    if not options:
        done = store("check", "--data", folder)
        equal((done.returncode, done.stderr), (0, b""), done.stdout)


@case
def server_goes_on_with_a_copy():
    with folders() as top:
        key = lived_in(top / "from")
        told = copied(top / "from", top / "new" / "to")
        expect(told["logs"] >= 3 and told["events"] >= 506 and told["documents"] > 3, "what was copied", told)
        equal(oct(os.stat(top / "new" / "to").st_mode & 0o777), "0o700")
        goes_on(top / "new" / "to", key)


@case
def server_goes_on_after_postgresql_and_back():
    with folders() as top, database() as url:
        key = lived_in(top / "from")
        first = copied(top / "from", url)
        equal(copied(url, top / "back"), first)
        same = store("compare", top / "from", top / "back")
        equal(same.returncode, 0, same.stdout)
        expect(b"the same in both" in same.stdout, "what is told", same.stdout)
        goes_on(top / "node", key, "--store", url)
        goes_on(top / "back", key)
        differs = store("compare", top / "from", top / "back", "--json")
        told = json.loads(differs.stdout)
        equal(differs.returncode, 1)
        expect(told["wrong"] == len(told["complaints"]) > 0, "differences", told)
        expect(any("log s/b: its last event is 3 in one and 4 in the other" in text for text in told["complaints"]),
               "the stream that went on", told)


@case
def database_that_a_node_uses_is_left_alone():
    with folders() as top, database() as url:
        with node(top / "node", url) as server:
            server.append("a", 1)
            for words in ((url, top / "to"), (top / "from", url)):
                lived = words[0] != url and lived_in(words[0])
                done = store("copy", *words)
                equal((done.returncode, done.stdout), (1, b""), f"{lived and 'into'} a database in use")
                expect(b"in use" in done.stderr and b"Stop what uses it" in done.stderr, "why", done.stderr)
            equal(server.append("a", 2), 2)
        for words in ((top / "node", top / "to"), (url, top / "node")):
            done = store("copy", *words)
            expect(done.returncode == 1 and b"are in postgresql:" in done.stderr, "the folder of a node", done.stderr)
        copied(url, top / "to")


@case
def dump_of_a_database_can_be_restored():
    """Taken while a node appends: it is one state, with all that was acknowledged before it began."""
    with folders() as top, database() as url:
        other = url.replace("/postgres?", "/other?")
        with node(top / "node", url) as server:
            server.append_all("a", list(range(300)))
            file = top / "weir.dump"
            postgres("pg_dump", "-Fc", "-n", "weir", "-f", file, url)
            server.append("a", "later")
        postgres("psql", "-qc", "CREATE DATABASE other", url)
        postgres("pg_restore", "-d", other, file)
        with node(top / "restored", other, top / "node") as server:
            equal(ids_of(server.replay("a")), list(range(1, 301)))
            equal(server.append("a", "goes on"), 301)


@case
def copy_of_a_database_servers_files_can_be_restored():
    """pg_basebackup while a node appends, and a server that is started with what it brought."""
    with folders() as top, database() as url:
        top.chmod(0o755)
        files = top / "base"
        with node(top / "node", url) as server:
            server.append_all("a", list(range(300)))
            postgres("pg_basebackup", "-D", files, "-X", "stream", "-c", "fast", "--no-sync", "-d", url)
            last = server.append("a", "later")
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", "postgres:postgres", files], check=True)
        with database(files) as again, node(top / "restored", again, top / "node") as server:
            ids = ids_of(server.replay("a"))
            expect(len(ids) in (300, 301), "events", len(ids))
            equal(ids, list(range(1, len(ids) + 1)))
            equal((last, server.append("a", "goes on")), (301, len(ids) + 1))


@case
def what_is_in_use_or_not_empty_is_left_alone():
    with folders() as top:
        with Server(data=top / "from") as server:
            server.append("a", 1)
            for words in ((top / "from", top / "to"), (top / "to", top / "from")):
                done = store("copy", *words)
                equal((done.returncode, done.stdout), (1, b""), f"{words}")
            expect(b"another process" in store("copy", top / "from", top / "to2").stderr, "why")
            equal(server.append("a", 2), 2)
        lived_in(top / "other")
        done = store("copy", top / "from", top / "other")
        equal(done.returncode, 1)
        expect(b"not empty" in done.stderr and b"replaces nothing" in done.stderr, "why", done.stderr)
        done = store("copy", top / "none", top / "to3")
        equal((done.returncode, (top / "to3").exists()), (1, False), done.stderr)
        equal(store("copy", top / "from", top / "from").returncode, 1)
        # The folder of a copy that was refused is empty, or as good as: it can be used.
        copied(top / "from", top / "to")


@case
def copy_is_whole_or_not_there_at_all():
    """Killed when some of it is written, and while it is compared."""
    with folders() as top:
        with Server(data=top / "from") as server:
            for i in range(24):
                server.append_all(f"s{i}", ["x" * 1000] * 900)
        for least in (0, 4 * MEBIBYTE, 12 * MEBIBYTE):
            target = top / f"to{least}"
            child = subprocess.Popen(words_of("store", "copy", top / "from", target), stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            files = [target / "weir.db-wal", target / "weir.db"]
            wait_until(lambda: child.poll() is not None or
                       any(file.exists() and file.stat().st_size >= least for file in files), "some of it is written")
            child.send_signal(signal.SIGKILL)
            child.wait(WAIT_S)
            again = store("copy", top / "from", target)
            same = store("compare", top / "from", target)
            expect(again.returncode == 0 or b"not empty" in again.stderr, "the second try", again.stderr)
            equal(same.returncode, 0, f"{again.stderr} {same.stdout}")


@case
def progress_is_shown_on_a_terminal_alone():
    with folders() as top:
        lived_in(top / "from")
        main_end, end = pty.openpty()
        done = subprocess.run(words_of("store", "copy", top / "from", top / "to"), stdout=subprocess.PIPE,
                              stderr=end, timeout=WAIT_S, check=False)
        os.close(end)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while data := os.read(main_end, 65536):
                shown += data
        os.close(main_end)
        equal(done.returncode, 0)
        expect("copying… ".encode() in shown and "comparing… ".encode() in shown, "progress", shown)
        expect(shown.endswith(b"\r\x1b[K"), "nothing of it stays", shown)
        expect(done.stdout.startswith(b"copied: "), "the end", done.stdout)


@case
def passwords_are_not_shown():
    with folders() as top:
        url = "postgres://weir:geheim@/x?host=/nowhere/at/all"
        for words in ((url, top / "to"), (top, url)):
            done = store("copy", *words)
            equal(done.returncode, 1)
            expect(b"geheim" not in done.stderr + done.stdout, "the password", done.stderr)
        several = url + ",postgres://weir:secret@/y?host=/nowhere/at/all"
        for words in ((several, top / "to"), (top, several)):
            done = store("copy", *words)
            equal(done.returncode, 1)
            expect(b"geheim" not in done.stderr and b"secret" not in done.stderr, "a password", done.stderr)


@case
def wrong_usage_is_told():
    for words, text in ((["copy"], b"from where to where"), (["copy", "a"], b"from where to where"),
                        (["copy", "a", "b", "c"], b"one word too many"), (["compare", "a"], b"which two"),
                        (["copy", "a", "b", "--data", "c"], b"--data is not for copy")):
        done = store(*words)
        equal(done.returncode, 2, f"{words}")
        expect(text in done.stderr, f"{words}", done.stderr)


if __name__ == "__main__":
    main()
