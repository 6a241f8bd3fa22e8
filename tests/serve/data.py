#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/data.py [CASE]...

/v1/data: files that are imported while the server runs, what there is afterwards, and daily values,
against the real server.
"""
import concurrent.futures
import io
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import zipfile

from people import (CSV, STREAM, TABLE, ask_local, begun, events_of, fields_for, get_import, pages, send_file, table_of, whole)
from support import (MEBIBYTE, Server, Skip, case, equal, expect, main, needs_one, refused, request_bytes, wait_until)

def metrics_of(server, fields=()):
    answer = server.ask("GET", "/v1/data/metrics", fields)
    equal(answer.status, 200, f"metrics ({answer.body[:200]!r})")
    return {row["metric"]: row for row in answer.json()["data"]}


def series_of(server, query, fields=()):
    answer = server.ask("GET", f"/v1/data/series?{query}", fields)
    equal(answer.status, 200, f"series ({answer.body[:200]!r})")
    return [(row["day"], row["value"]) for row in answer.json()["data"]]


def get_status(folder, job_id):
    """Whether the file of an import is still there: it was not done."""
    return "there" if (pathlib.Path(folder) / "imports" / job_id).exists() else "gone"


def import_files(server):
    return [path for folder in server.folders for path in folder.glob("imports/*")]


def expect_no_files(server):
    wait_until(lambda: not import_files(server), "the files are gone")


# ---- an import ----

@case
def file_is_imported_while_the_server_runs():
    with Server() as server:
        equal(metrics_of(server), {})
        job, events = whole(server, TABLE)
        equal([event[0] for event in events], ["import.started", "import.file", "import.completed"])
        equal((job["file"], job["bytes"], job["error"]), ("days.csv", len(TABLE), None))
        summary = job["summary"]
        equal((summary["facts"], summary["new"], summary["refused"]), (10, 10, 0))
        equal((summary["first_day"], summary["last_day"]), ("2025-01-01", "2025-01-05"))
        rows = metrics_of(server)
        equal(sorted(rows), ["resting_heart_rate", "steps", "zork"])
        equal(rows["steps"], {"metric": "steps", "title": "steps", "unit": "steps", "n": 3, "first": "2025-01-01",
                              "last": "2025-01-05", "sources": ["plain"]})
        equal(series_of(server, "metric=steps"), [("2025-01-01", 1000), ("2025-01-02", 2000), ("2025-01-05", 2500)])
        again, _ = whole(server, TABLE)
        equal((again["summary"]["new"], again["summary"]["duplicates"]), (0, 10))
        equal([entry["id"] for entry in pages(server, "/v1/data/imports", 1)], [again["id"], job["id"]])
        expect_no_files(server)


@case
def events_follow_the_rules_of_streams():
    with Server() as server:
        job, events = whole(server, TABLE)
        target = f"/v1/data/imports/{job['id']}/events"
        equal(server.ask("GET", target).json(), job, "without a wish for a stream")
        last = server.ask("GET", target, [*STREAM, ("Last-Event-ID", str(len(events)))])
        equal((last.status, last.body), (204, b""))
        rest = server.ask("GET", f"{target}?last_event_id=2", STREAM).body
        expect(rest.startswith(b"id: 3\nevent: import.completed\n"), "the rest", rest)
        refused(server.ask("GET", target, [*STREAM, ("Last-Event-ID", "99")]), 400, "invalid_field")
        refused(server.ask("GET", target, [*STREAM, ("Last-Event-ID", "x")]), 400, "invalid_field")
        server.restart(signal.SIGKILL)
        equal(events_of(server, job["id"]), events)


@case
def archive_is_imported_and_names_are_the_clients():
    with Server() as server:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a/days.csv", TABLE)
            archive.writestr("readme.txt", b"nothing to read")
        for fields, query, name in (([("Content-Disposition", 'attachment; filename="my export.zip"')], "", "my export.zip"),
                                    ([("Content-Disposition", "attachment; filename=x.zip; a=b")], "", "x.zip"),
                                    ([], "?name=C:%5Cdata%5Cz%C3%BC.zip", "zü.zip"), ([], "?name=../../etc/y.zip", "y.zip"),
                                    ([], "", "import")):
            job, events = whole(server, packed.getvalue(), query, fields)
            equal((job["status"], job["file"]), ("completed", name), str(job["error"]))
            expect(server.data.encode() not in b"".join(data for _, data in events), "paths of the server", events)
            expect(server.data not in str(job), "paths of the server", job)
        expect_no_files(server)


@case
def unknown_files_are_refused_at_once_and_leave_nothing():
    with Server() as server:
        empty_zip = io.BytesIO()
        with zipfile.ZipFile(empty_zip, "w") as archive:
            archive.writestr("readme.txt", b"nothing to read")
        for body in (b"", b"\0\1\2\3", b"hello", b"{}", b"a,b\n1,2\n", empty_zip.getvalue(), b"PK\3\4 cut", b"%PDF-1.4"):
            answer = send_file(server, body, "?name=what.bin")
            refused(answer, 400, "invalid_file_type", "what.bin")
            expect(server.data not in answer.json()["error"]["message"], "paths of the server", answer.body)
        equal(pages(server, "/v1/data/imports", 10), [])
        expect_no_files(server)
        refused(send_file(server, TABLE, "?name=x.csv&kind=nonsense"), 400, "invalid_file_type", "nonsense")
        refused(send_file(server, TABLE, "?name=x.csv&zone=Nowhere"), 400, "invalid_file_type", "zone")
        for query, field in (("?name=", "name"), ("?name=..", "name"), ("?name=.hidden", "name"), 
                             ("?name=a%0Ab", "name"), ("?name=%FF", "name"), (f"?name={'x' * 201}", "name"),
                             (f"?kind={'x' * 64}", "kind"), ("?zone=", "zone"), ("?zone=../x", "zone")):
            refused(send_file(server, TABLE, query), 400, "invalid_field", field)
        expect_no_files(server)


@case
def what_a_file_does_not_say_is_said_beside_it():
    with Server() as server:
        ambiguous = b"date,steps,weight\n03/04/2025,1000,150\n05/04/2025,1200,151\n"
        job, _ = whole(server, ambiguous, "?name=a.csv&dates=dmy&units=imperial")
        equal((job["status"], job["dates"], job["units"]), ("completed", "dmy", "imperial"), str(job["error"]))
        equal([day for day, _ in series_of(server, "metric=steps")], ["2025-04-03", "2025-04-05"])
        expect(abs(series_of(server, "metric=weight")[0][1] - 68.04) < 0.01, "kilograms")
        for query, field in (("?dates=x", "dates"), ("?units=", "units"), ("?units=metrics", "units"),
                             (f"?person={'x' * 64}", "person")):
            refused(send_file(server, TABLE, query), 400, "invalid_field", field)


@case
def file_that_is_wrong_inside_fails_with_its_last_event():
    with Server() as server:
        body = b"PK" + b"\0" * 10
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("days.csv", table_of(20000))
        body = bytearray(packed.getvalue())
        body[len(body) // 2] ^= 0xFF
        job, events = whole(server, bytes(body), "?name=x.zip")
        equal((job["status"], job["summary"], job["error"]["code"]), ("failed", None, "invalid_file_type"))
        expect(job["error"]["message"] and job["completed_at"], "why", job)
        equal([event[0] for event in events], ["import.failed"])
        equal(metrics_of(server), {})
        expect_no_files(server)
        # The next one may come.
        equal(whole(server, TABLE)[0]["status"], "completed")


@case
def person_has_one_import_at_a_time():
    with Server() as server:
        large = table_of(20000)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: send_file(server, large), range(6)))
        expect({answer.status for answer in answers} <= {202, 429}, "answers", [answer.status for answer in answers])
        for answer in answers:
            if answer.status == 429:
                refused(answer, 429, "concurrency_limit_exceeded")
                expect(int(answer.field("retry-after")) > 0, "Retry-After")
            else:
                events_of(server, answer.json()["id"])
        expect_no_files(server)
        equal(whole(server, TABLE)[0]["status"], "completed")


@case
def import_goes_on_after_a_kill_and_ends_once():
    with Server() as server:
        for kill in (signal.SIGKILL, signal.SIGTERM):
            job = begun(send_file(server, table_of(11000, 0 if kill == signal.SIGKILL else 200)))
            server.restart(kill)
            events = events_of(server, job["id"])
            equal(sum(event[0] in ("import.completed", "import.failed") for event in events), 1, "ends")
            after = get_import(server, job["id"]).json()
            equal(after["status"], "completed", str(after["error"]))
            expect_no_files(server)
        equal(metrics_of(server)["steps"]["n"], 11200)


@case
def import_whose_file_was_lost_fails_and_the_next_may_come():
    needs_one("the file is in the database")
    with Server() as server:
        job = begun(send_file(server, table_of(11000)))
        server.kill()
        if get_status(server.data, job["id"]) != "there":
            raise Skip("it was too fast to be interrupted")
        shutil.rmtree(pathlib.Path(server.data) / "imports")
        server.start()
        events = events_of(server, job["id"])
        equal(events[-1][0], "import.failed")
        after = get_import(server, job["id"]).json()
        equal((after["status"], bool(after["error"]["message"])), ("failed", True))
        equal(whole(server, TABLE)[0]["status"], "completed")


# ---- bodies ----

@case
def large_file_costs_no_memory():
    with Server() as server:
        equal(whole(server, TABLE)[0]["status"], "completed")
        before = server.rss_bytes()
        n_bytes = 48 * MEBIBYTE
        with server.connect() as conn:
            conn.send(request_bytes("POST", "/v1/data/imports?name=x.bin", [*CSV, ("Content-Length", str(n_bytes))]))
            for _ in range(n_bytes // MEBIBYTE):
                conn.send(b"\0" * MEBIBYTE)
            refused(conn.answer(), 400, "invalid_file_type")
        server.expect_grown_less(before, 16 * MEBIBYTE, "a file of 48 MiB")
        expect_no_files(server)


@case
def file_may_be_larger_than_other_bodies_up_to_a_limit():
    with Server("--max-import", "2M") as server:
        body = table_of(100) + b"\n" * (2 * MEBIBYTE)
        body = body[:2 * MEBIBYTE]
        equal(whole(server, body)[0]["status"], "completed")
        chunked = [*CSV, ("Transfer-Encoding", "chunked")]
        for size, status in ((2 * MEBIBYTE, 202), (2 * MEBIBYTE + 1, 413)):
            data = body + b"\n" * (size - len(body))
            with server.connect() as conn:
                conn.request("POST", "/v1/data/imports?name=x.csv", chunked)
                try:
                    for at in range(0, size, 65536):
                        part = data[at:at + 65536]
                        conn.send(b"%x\r\n%s\r\n" % (len(part), part))
                    conn.send(b"0\r\n\r\n")
                except OSError:
                    pass
                answer = conn.answer()
            equal(answer.status, status, f"{size} bytes, chunked")
            if status == 202:
                events_of(server, answer.json()["id"])
        with server.connect() as conn:
            conn.send(request_bytes("POST", "/v1/data/imports", [*CSV, ("Content-Length", str(2 * MEBIBYTE + 1))]))
            refused(conn.answer(), 413, "payload_too_large")
            conn.expect_end()
        # Others have their own, smaller one.
        with server.connect() as conn:
            conn.send(request_bytes("POST", "/v1/memory", [*CSV, ("Content-Length", str(MEBIBYTE + 1))]))
            refused(conn.answer(), 413, "payload_too_large")
            conn.expect_end()
        expect_no_files(server)


def form_of(*parts, boundary="----x"):
    """A form of (fields, bytes)."""
    body = b"".join(b"--%s\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" %
                    (boundary.encode(), fields.encode(), data) for fields, data in parts)
    return [("Content-Type", f"multipart/form-data; boundary={boundary}")], body + b"--%s--\r\n" % boundary.encode()


def send_form(server, query, *parts, **options):
    fields, body = form_of(*parts, **options)
    return server.ask("POST", f"/v1/data/imports{query}", fields, body)


@case
def file_may_come_in_a_form():
    with Server() as server:
        for query, name in (("", "my days.csv"), ("?name=x.csv", "x.csv")):
            answer = send_form(server, query, ('name="note"', b"1"), ('name="file"; filename="my days.csv"', TABLE))
            job = begun(answer)
            equal((job["file"], job["bytes"]), (name, len(TABLE)))
            equal(events_of(server, job["id"])[-1][0], "import.completed")
        expect(shutil.which("curl"), "curl is there")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "from curl.csv"
            path.write_bytes(table_of(3000))
            done = subprocess.run(["curl", "-sS", "-F", f"file=@{path}", server.url("/v1/data/imports")],
                                  stdout=subprocess.PIPE, check=True, timeout=30)
        job = json.loads(done.stdout)
        equal((job["file"], job["bytes"]), ("from curl.csv", len(table_of(3000))))
        events_of(server, job["id"])
        file = ('name="file"; filename="a.csv"', TABLE)
        refused(send_form(server, "", file, file), 400, "invalid_request", "two files")
        refused(send_form(server, "", ('name="file"', TABLE)), 400, "invalid_request", "no file")
        refused(send_form(server, "", ('name="file"; filename="../.."', TABLE)), 400, "invalid_field", "name")
        fields, body = form_of(file)
        refused(server.ask("POST", "/v1/data/imports", fields, body[:-6]), 400, "invalid_request", "ends")
        refused(server.ask("POST", "/v1/data/imports", [("Content-Type", "multipart/form-data")], body), 415,
                "unsupported_media_type")
        expect_no_files(server)


@case
def client_that_leaves_in_the_middle_leaves_nothing():
    with Server() as server:
        for how in ("close", "reset"):
            conn = server.connect()
            conn.send(request_bytes("POST", "/v1/data/imports?name=x.csv", [*CSV, ("Content-Length", "1000000")]))
            conn.send(TABLE)
            wait_until(lambda: import_files(server), "the file is there")
            getattr(conn, how)()
            expect_no_files(server)
        # A process that dies in the middle leaves it to the next.
        conn = server.connect()
        conn.send(request_bytes("POST", "/v1/data/imports?name=x.csv", [*CSV, ("Content-Length", "1000000")]))
        conn.send(TABLE)
        wait_until(lambda: import_files(server), "the file is there")
        server.restart(signal.SIGKILL)
        expect_no_files(server)


@case
def page_of_another_site_cannot_make_a_browser_import():
    with Server() as server:
        origin = [("Origin", "http://evil.example")]
        for kind in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
            refused(server.ask("POST", "/v1/data/imports", [*origin, ("Content-Type", kind)], TABLE), 415,
                    "unsupported_media_type")
        refused(server.ask("POST", "/v1/data/imports", origin, TABLE), 415, "unsupported_media_type")


# ---- people, and requests that are sent again ----

@case
def key_makes_one_import_of_many_requests():
    with Server() as server:
        key = [("Idempotency-Key", "k1")]
        job = begun(send_file(server, TABLE, fields=key))
        events_of(server, job["id"])
        again = send_file(server, TABLE, fields=key)
        equal((begun(again)["id"], again.field("idempotent-replayed")), (job["id"], "true"))
        refused(send_file(server, TABLE + b"\n", fields=key), 409, "idempotency_key_mismatch")
        equal(len(pages(server, "/v1/data/imports", 10)), 1)
        expect_no_files(server)


@case
def nobody_sees_the_data_of_others():
    with Server(is_open=False) as server:
        ann, bob = fields_for(server, "ann"), fields_for(server, "bob")
        reader = fields_for(server, "ann", "--scope", "read")
        slash = fields_for(server, "a/b")
        job, _ = whole(server, TABLE, fields=ann)
        refused(get_import(server, job["id"], bob), 404, "not_found")
        refused(server.ask("GET", f"/v1/data/imports/{job['id']}/events", [*STREAM, *bob]), 404, "not_found")
        equal(metrics_of(server, bob), {})
        equal(series_of(server, "metric=steps", bob), [])
        equal(len(metrics_of(server, reader)), 3)
        refused(send_file(server, TABLE, fields=reader), 403, "forbidden")
        refused(send_file(server, TABLE), 401, "missing_authorization")
        refused(send_file(server, TABLE, fields=slash), 403, "forbidden", "/")
        refused(server.ask("GET", "/v1/data/metrics", slash), 403, "forbidden")
        equal(len(ask_local(server, "GET", "/v1/data/metrics?user=ann").json()["data"]), 3)
        equal(ask_local(server, "GET", "/v1/data/metrics").json()["data"], [])
        key = ann[0][1].split()[1]
        equal(server.ask("GET", f"/v1/data/imports/{job['id']}/events?api_key={key}", STREAM).status, 200)
        expect_no_files(server)


# ---- series ----

@case
def series_has_the_days_that_were_asked_for():
    with Server() as server:
        whole(server, TABLE)
        for query, days in (("", [1, 2, 3, 5]), ("&from=2025-01-02", [2, 3, 5]), ("&to=2025-01-02", [1, 2]),
                            ("&from=2025-01-03&to=2025-01-04", [3]), ("&from=2025-01-04&to=2025-01-04", []),
                            ("&from=1990-01-01&to=2090-01-01", [1, 2, 3, 5])):
            equal([day for day, _ in series_of(server, f"metric=resting_heart_rate{query}")],
                  [f"2025-01-0{day}" for day in days], query)
        answer = server.ask("GET", "/v1/data/series?metric=Resting%20Heart-Rate").json()
        equal((answer["metric"], answer["unit"]), ("resting_heart_rate", "bpm"))
        equal(answer["data"][0], {"day": "2025-01-01", "value": 60, "quality": "good", "source": "plain"})
        own = server.ask("GET", "/v1/data/series?metric=zork").json()
        equal((own["metric"], own["unit"], len(own["data"])), ("zork", None, 3))
        equal(series_of(server, "metric=hrv"), [], "a metric without values")
        for query, code, status in (("", "invalid_field", 400), ("metric=", "invalid_field", 400),
                                    ("metric=nonsense", "source_not_found", 404),
                                    (f"metric={'x' * 500}", "invalid_field", 400),
                                    ("metric=steps&from=x", "invalid_field", 400),
                                    ("metric=steps&from=2025-02-30", "invalid_field", 400),
                                    ("metric=steps&to=2025-1-1", "invalid_field", 400),
                                    ("metric=steps&from=2025-01-02&to=2025-01-01", "invalid_field", 400)):
            refused(server.ask("GET", f"/v1/data/series?{query}"), status, code)


@case
def next_import_may_follow_the_last_event_at_once():
    with Server() as server:
        for number in range(40):
            after, _ = whole(server, table_of(2, first=number))
            equal(after["status"], "completed", f"import {number} ({after['error']})")


if __name__ == "__main__":
    main()
