#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/crash/faults.py [CASE...]

Disks that fail under the server: a sync or a write that fails, no room left, a folder that
cannot be written. Appends are refused with the right code, reads go on, /readyz tells, and
after a restart everything acknowledged is there.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))

from support import (JSON_FIELDS, MEBIBYTE, Failure, Server, Skip, case, equal, expect,  # noqa: E402
                     ids_of, main, to_json, values_of, wait_until)

REFUSALS = {"storage_unavailable", "no_space"}


def append_until_refused(server, stream, pad="", limit=5000):
    """Appends one by one; returns how many were acknowledged, and the first refusal."""
    n = 0
    with server.connect() as conn:
        while n < limit:
            answer = conn.ask("POST", f"/v1/streams/{stream}", JSON_FIELDS, to_json([n + 1, pad]))
            if answer.status != 201:
                return n, answer
            n += 1
            equal(answer.json()["id"], n)
    raise Failure(f"{limit} appends, and none was refused")


def numbers(events):
    return [value[0] for value in values_of(events)]


def expect_reads_go_on(server, stream, n_acked):
    """What was acknowledged can be read; what was refused is not seen."""
    equal(numbers(server.replay(stream)), list(range(1, n_acked + 1)), "what readers see meanwhile")


def start_or_tell(server):
    """Starts a server that may fail at once; False when it did, with its reason told."""
    server.spawn()
    try:
        server.wait_listening()
        return True
    except Failure:
        status = server.wait()
        expect(status > 0, f"it ended with {status}: {server.errors()[-500:]}")
        expect(server.errors().strip(), "it ended without a word")
        return False


def failing(point, nth):
    """From the nth on, every sync or write fails; then the server is started again."""
    with Server(env={"WEIR_FAULT": f"{point}:{nth}+"}, starts=False) as server:
        if not start_or_tell(server):
            server.env = {}
            server.start()
            equal(server.append("a", 1), 1, "after a start without faults")
            return
        n_acked, refusal = append_until_refused(server, "a")
        equal(refusal.status, 503)
        equal(refusal.error(), "storage_unavailable")
        with server.watch("a") as watch:
            equal(numbers(watch.events(n_acked)), list(range(1, n_acked + 1)), "a reader that comes now")
            for _ in range(3):
                answer = server.ask("POST", "/v1/streams/a", JSON_FIELDS, b"0")
                equal((answer.status, answer.error()), (503, "storage_unavailable"), "again")
            batch = server.ask("POST", "/v1/streams/b?batch=1", JSON_FIELDS, b"[1,2]")
            equal(batch.status, 503)
            drop = server.ask("DELETE", "/v1/streams/a")
            expect(drop.status == 503 or (drop.status == 404 and n_acked == 0), "a delete", drop.status)
            expect(not watch.is_readable(), "something was shown that was refused")
        expect_reads_go_on(server, "a", n_acked)
        ready = server.ask("GET", "/readyz")
        equal(ready.status, 503, "/readyz")
        server.healthy()
        server.stop()
        server.env = {}
        server.start()
        expect_recovered(server, "a", n_acked)
        equal(server.ask("GET", "/readyz").status, 200, "/readyz after a restart")


def expect_recovered(server, stream, n_acked):
    """All that was acknowledged, and of what was refused a whole prefix at most."""
    seen = numbers_or_zero(server.replay(stream))
    equal(seen[:n_acked], list(range(1, n_acked + 1)), "what was acknowledged")
    # Of a commit whose sync failed nobody knows; it may be there now.
    expect(len(seen) <= n_acked + 5, "what was refused came back", seen[n_acked:])
    equal(server.append(stream, [len(seen) + 1, ""]), len(seen) + 1, "the next id")


def numbers_or_zero(events):
    equal(ids_of(events), list(range(1, len(events) + 1)))
    return [value[0] if isinstance(value, list) else value for value in values_of(events)]


def add_failing(point, nth):
    def run():
        failing(point, nth)

    run.__name__ = f"{point}_fails_from_the_{nth}_on"
    case(run)


for number in (1, 2, 3, 5, 8, 13, 21, 34, 55):
    add_failing("sync", number)
for number in (1, 4, 9, 16, 25, 100, 280, 281, 290, 350, 500):
    add_failing("write", number)


@case
def one_failed_sync_is_not_forgotten():
    """A sync that fails once and would succeed again: nothing is taken until a restart."""
    with Server(env={"WEIR_FAULT": "sync:30"}, starts=False) as server:
        if not start_or_tell(server):
            raise Skip("the 30th sync is part of starting")
        n_acked, refusal = append_until_refused(server, "a")
        equal(refusal.error(), "storage_unavailable")
        for _ in range(20):
            answer = server.ask("POST", "/v1/streams/a", JSON_FIELDS, b"0")
            equal((answer.status, answer.error()), (503, "storage_unavailable"), "afterwards")
        expect_reads_go_on(server, "a", n_acked)
        server.stop()
        server.env = {}
        server.start()
        expect_recovered(server, "a", n_acked)


@case
def requests_in_flight_at_a_failed_sync_are_all_refused():
    with Server(env={"WEIR_FAULT": "sync:25+"}, starts=False) as server:
        if not start_or_tell(server):
            raise Skip("the 25th sync is part of starting")
        acked = []
        with server.connect() as conn:
            for i in range(200):
                conn.request("POST", "/v1/streams/a", JSON_FIELDS, to_json([i + 1, ""]))
            statuses = [conn.answer().status for _ in range(200)]
        acked = [status for status in statuses if status == 201]
        equal(statuses, [201] * len(acked) + [503] * (200 - len(acked)), "in order")
        expect_reads_go_on(server, "a", len(acked))
        server.stop()
        server.env = {}
        server.start()
        seen = numbers(server.replay("a"))
        equal(seen, list(range(1, len(seen) + 1)))
        expect(len(seen) >= len(acked), "acknowledged", len(acked), "there", len(seen))


# ---- no room ----

class SmallDisk:
    """A file system of a few MiB in memory, mounted; needs root."""

    def __init__(self, n_mebibytes):
        self.size = n_mebibytes
        self.path = tempfile.mkdtemp(prefix="weir-small-")

    def __enter__(self):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}m,mode=0777", "tmpfs",
                               self.path], stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            os.rmdir(self.path)
            raise Skip(f"cannot mount a small file system: {done.stderr.decode().strip()}")
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=False)
        os.rmdir(self.path)

    def fill(self, leave_bytes=0):
        """Takes the room that is left."""
        filler = os.path.join(self.path, "filler")
        with open(filler, "ab", buffering=0) as file:
            while True:
                stat = os.statvfs(self.path)
                free = stat.f_bavail * stat.f_frsize - leave_bytes
                if free <= 0:
                    return
                try:
                    file.write(b"f" * min(free, MEBIBYTE))
                except OSError:
                    return

    def free(self):
        os.unlink(os.path.join(self.path, "filler"))


@case
def full_disk_refuses_appends_and_room_heals_it():
    with SmallDisk(192) as disk, Server(data=os.path.join(disk.path, "data")) as server:
        for i in range(1, 21):
            equal(server.append("a", [i, ""]), i)
        disk.fill()
        n_acked, refusal = append_until_refused(server, "b", pad="x" * 200_000)
        equal(refusal.status, 503)
        expect(refusal.error() in REFUSALS, "code", refusal.body)
        expect_reads_go_on(server, "b", n_acked)
        equal(numbers(server.replay("a")), list(range(1, 21)))
        server.healthy()
        disk.free()
        if refusal.error() == "no_space":
            wait_until(lambda: server.ask("POST", "/v1/streams/c", JSON_FIELDS, b"[1]").status == 201,
                       "appends are taken again")
        server.stop()
        server.start()
        expect_recovered(server, "b", n_acked)
        equal(numbers(server.replay("a")), list(range(1, 21)))


@case
def start_on_a_full_disk_says_so():
    with SmallDisk(4) as disk:
        disk.fill()
        with Server(data=os.path.join(disk.path, "data"), starts=False) as server:
            if start_or_tell(server):
                answer = server.ask("POST", "/v1/streams/a", JSON_FIELDS, b"1")
                expect(answer.status == 503 and answer.error() in REFUSALS, "an append", answer.body)
            else:
                expect("space" in server.errors() or "full" in server.errors(), "what it says",
                       server.errors())


@case
def full_disk_at_a_restart_loses_nothing():
    with SmallDisk(192) as disk, Server(data=os.path.join(disk.path, "data")) as server:
        for i in range(1, 11):
            equal(server.append("a", [i, "x" * 100_000]), i)
        server.kill()
        disk.fill()
        if start_or_tell(server):
            equal(numbers(server.replay("a")), list(range(1, 11)), "with a full disk")
            server.stop()
        disk.free()
        server.start()
        equal(numbers(server.replay("a")), list(range(1, 11)), "with room again")


# ---- folders ----

def expect_refusal(server, *words):
    server.spawn()
    status = server.wait()
    text = server.errors()
    expect(status > 0, f"it ended with {status}", text)
    expect(any(word in text.lower() for word in words), "what it says", text)


@case
def read_only_file_system_is_told():
    with SmallDisk(192) as disk:
        with Server(data=os.path.join(disk.path, "data")) as server:
            server.append("a", 1)
            server.stop()
            done = subprocess.run(["mount", "-o", "remount,ro", disk.path], stderr=subprocess.PIPE,
                                  check=False)
            if done.returncode != 0:
                raise Skip(f"cannot remount: {done.stderr.decode().strip()}")
            expect_refusal(server, "read-only")
            subprocess.run(["mount", "-o", "remount,rw", disk.path], check=True)
            server.start()
            equal(server.append("a", 2), 2)


@case
def folder_that_may_not_be_written_is_told():
    if os.getuid() == 0:
        raise Skip("root may write everywhere")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        expect_refusal(Server(data=folder), "permission")


@case
def folder_that_is_a_file_is_told():
    with tempfile.NamedTemporaryFile() as file:
        expect_refusal(Server(data=file.name), "not a directory", "folder")


@case
def folder_that_cannot_be_made_is_told():
    expect_refusal(Server(data="/proc/weir-cannot-be-here"), "cannot", "no such file", "folder")


@case
def files_that_are_not_ours_are_told():
    """A folder whose files are damaged is refused, not overwritten."""
    with Server() as server:
        for i in range(50):
            server.append("a", [i, ""])
        server.stop()
        files = [path for path in pathlib.Path(server.data).rglob("*")
                 if path.is_file() and path.stat().st_size > 0]
        databases = [path for path in files if path.read_bytes()[:15] == b"SQLite format 3"]
        expect(databases, "a database among", [path.name for path in files])
        content = databases[0].read_bytes()
        databases[0].write_bytes(b"garbage!" * (len(content) // 8))
        server.spawn()
        status = server.wait()
        expect(status > 0, f"it ended with {status}", server.errors())
        expect(server.errors().strip(), "it said nothing")
        databases[0].write_bytes(content)
        server.start()
        equal(len(server.replay("a")), 50)


if __name__ == "__main__":
    main()
