# SPDX-License-Identifier: Apache-2.0
"""What the tests of people's own things share: keys of several people, the control socket, what every
refusal looks like, imports and laboratory reports."""
import pathlib
import re
import socket

from support import WAIT_S, Conn, bearer, equal, expect, make_key, request_bytes, to_json


def fields_for(server, owner, *options):
    """The fields of a request with a new key."""
    return bearer(make_key(server, "--owner", owner, *options))


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



# ---- imports ----

IMPORT_MEMBERS = ["bytes", "completed_at", "created_at", "dates", "error", "file", "id", "kind", "person",
                  "status", "summary", "units", "zone"]
CSV = [("Content-Type", "text/csv")]
STREAM = [("Accept", "text/event-stream")]
TABLE = (b"date,steps,resting_heart_rate,zork\n2025-01-01,1000,60,3\n2025-01-02,2000,61,\n"
         b"2025-01-03,,59,4\n2025-01-05,2500,58,5\n")


def table_of(n_days, first=0):
    """A plain table that is long enough to be interrupted."""
    lines = ["date,steps,resting_heart_rate,sleep_minutes,weight"]
    for day in range(first, first + n_days):
        date = f"{1980 + day // 336}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}"
        lines.append(f"{date},{1000 + day},{50 + day % 20},{400 + day % 60},{70 + day % 10}")
    return "\n".join(lines).encode() + b"\n"


def send_file(server, body, query="?name=days.csv", fields=()):
    return server.ask("POST", f"/v1/data/imports{query}", [*CSV, *fields], body)


def begun(answer):
    equal(answer.status, 202, f"an import ({answer.body[:400]!r})")
    job = answer.json()
    equal(sorted(job), IMPORT_MEMBERS, "members")
    expect(re.fullmatch(r"imp_[0-9A-HJKMNP-TV-Z]{26}", job["id"]), "an id", job)
    equal(answer.field("location"), f"/v1/data/imports/{job['id']}", "Location")
    return job


def get_import(server, job_id, fields=()):
    return server.ask("GET", f"/v1/data/imports/{job_id}", fields)


def events_of(server, job_id, fields=()):
    """The events of an import until its end, each (id, type, data)."""
    answer = server.ask("GET", f"/v1/data/imports/{job_id}/events", [*STREAM, *fields])
    equal(answer.status, 200, f"events ({answer.body[:200]!r})")
    found = re.findall(rb"id: (\d+)\nevent: (\S+)\ndata: ([^\n]*)\n\n", answer.body)
    equal(b"".join(b"id: %s\nevent: %s\ndata: %s\n\n" % event for event in found), answer.body, "frames")
    equal([int(event[0]) for event in found], list(range(1, len(found) + 1)), "ids")
    return [(event[1].decode(), event[2]) for event in found]


def whole(server, body, query="?name=days.csv", fields=()):
    """An import until its end."""
    job = begun(send_file(server, body, query, fields))
    events = events_of(server, job["id"], fields)
    after = get_import(server, job["id"], fields).json()
    expect(after["status"] in ("completed", "failed"), "it has ended with its last event", after)
    equal(events[-1][0], f"import.{after['status']}", "last event")
    return after, events


# ---- laboratory results ----

LAB_MEMBERS = ["analyte", "comparator", "date", "flag", "id", "label", "printed", "range", "source", "title", "unit",
               "value"]
REPORT = (b"date,test,value,unit,reference range,flag\n2025-02-01,LDL,3.1,mmol/L,<3.0,H\n"
          b"2025-02-01,HbA1c,5.4,%,4.0-5.6,\n2025-03-05,Zonulin,42,ng/mL,,\n2025-03-05,CRP,<0.3,mg/L,<5,\n")



def send_report(server, body, fields=()):
    return server.ask("POST", "/v1/labs", [*CSV, *fields], body)


def added(answer):
    equal(answer.status, 201, f"a report ({answer.body[:400]!r})")
    report = answer.json()
    equal(sorted(report), ["data", "duplicates", "new", "refusals", "refused"], "members")
    equal(len(report["data"]), report["new"], "new results")
    for lab in report["data"]:
        equal(sorted(lab), LAB_MEMBERS, "members of a result")
        expect(re.fullmatch(r"lab_[0-9a-f]{32}", lab["id"]), "an id", lab)
    return report
