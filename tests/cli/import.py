#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/import.py [WEIR]

`weir import` from outside: what it prints, in how much memory, what it refuses, and what
`weir series` then knows.
"""
import io
import json
import os
import pathlib
import pty
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

from support import ROOT, Counter, program, run

MEGABYTE = 1 << 20
BOUND_BYTES = 64 * MEGABYTE
HEAD = ('<?xml version="1.0" encoding="UTF-8"?>\n<HealthData locale="en_US">\n'
        ' <ExportDate value="2025-03-31 09:00:00 -0400"/>\n')
TAIL = "</HealthData>\n"


def record(day, value, kind="HKQuantityTypeIdentifierStepCount", unit="count"):
    return (f' <Record type="{kind}" sourceName="Owner’s iPhone" unit="{unit}" '
            f'startDate="2025-03-{day:02d} 08:12:00 -0500" '
            f'endDate="2025-03-{day:02d} 08:25:00 -0500" value="{value}"/>\n')


def export(*records):
    return (HEAD + "".join(records) + TAIL).encode()


class Folder:
    """A data folder and files beside it."""

    def __init__(self, weir, count):
        self.weir = weir
        self.count = count
        self.temp = tempfile.TemporaryDirectory()
        self.data = f"{self.temp.name}/data"

    def write(self, name, content):
        path = pathlib.Path(self.temp.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return str(path)

    def run(self, *arguments, **options):
        return run(self.weir, "import", *arguments, "--zone", "America/New_York", "--data",
                   self.data, **options)

    def series(self, *arguments):
        return run(self.weir, "series", *arguments, "--csv", "--data", self.data).out.decode()


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in members.items():
            z.writestr(name, content)
    return out.getvalue()


def check_summary(folder, count):
    path = folder.write("export.xml", export(record(1, 100), record(2, 200), record(2, 200),
                                             record(3, "many"), record(4, 1, "HKWhatever")))
    result = folder.run(path)
    text = result.out.decode()
    count.check(result.code == 0, "an import succeeds", result.err)
    for words in ("5 records", "3 facts: 2 new, 1 that were there already",
                  "Days: 2, from 2025-03-01 to 2025-03-02", "3  steps", "3  Owner’s iPhone",
                  "1  HKWhatever", "Refused: 1", "line 7: value \"many\" is no number"):
        count.check(words in text, f"the summary says {words!r}", text)
    count.check("2025-03-02,200,steps" in folder.series("steps"), "weir series knows the steps")
    again = json.loads(folder.run(path, "--json").out)
    count.check(again["new"] == 0 and again["duplicates"] == 3, "twice changes nothing",
                f"{again}")
    count.check(again["log"].startswith("imports/") and again["refusals"][0]["line"] == 7,
                "the summary as JSON", f"{again}")
    quiet = folder.run(path, "--quiet")
    count.check(quiet.code == 0 and not quiet.out and not quiet.err, "--quiet says nothing",
                f"{quiet.out} {quiet.err}")


def check_people(folder, count):
    path = folder.write("export.xml", export(record(1, 100)))
    count.check(folder.run(path, "--user", "anna", "--quiet").code == 0, "a person of a name")
    result = run(folder.weir, "series", "steps", "--csv", "--user", "anna", "--data", folder.data)
    count.check(b"2025-03-01,100" in result.out, "the data are that person's", result.err)
    count.check("steps" not in folder.series(), "and nobody else's")


def check_archives(folder, count):
    members = {"apple_health_export/Exportación.xml": export(record(5, 500)),
               "apple_health_export/export_cda.xml": b"<ClinicalDocument/>",
               "apple_health_export/workout-routes/route_1.gpx": b"<gpx/>",
               "apple_health_export/clinical-records/Observation-1.json": json.dumps({
                   "resourceType": "Observation", "code": {"text": "LDL"},
                   "effectiveDateTime": "2024-05-06",
                   "valueQuantity": {"value": 3.1, "unit": "mmol/L"}}).encode()}
    result = folder.run(folder.write("export.zip", zipped(members)), "--json")
    summary = json.loads(result.out or b"{}")
    count.check(summary.get("new") == 2, "an export.zip", f"{summary} {result.err}")
    count.check("workout routes (GPX)" in summary.get("ignored_kinds", {}), "routes are ignored")
    count.check("ldl" in folder.series("labs"), "clinical records are laboratory results",
                folder.series("labs"))
    for name, content in members.items():
        folder.write("unpacked/" + name, content)
    result = folder.run(f"{folder.temp.name}/unpacked", "--json")
    count.check(json.loads(result.out or b"{}").get("duplicates") == 2,
                "the same as a folder brings the same", result.err)


def bomb():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        with z.open("export.xml", "w", force_zip64=True) as member:
            for _ in range(200):
                member.write(b" " * MEGABYTE)
    return out.getvalue()


def hostile_files():
    good = zipped({"export.xml": export(record(9, 900))})
    lol = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
    wide = ",".join(f"c{i}" for i in range(10000))
    yield "bomb.zip", bomb(), "zip bomb"
    yield "cut.zip", good[:len(good) // 2], "truncated"
    yield "locked.zip", locked(good), "encrypted"
    yield "overlap.zip", overlapping(), "lie over one another"
    yield "understated.zip", understated(), "export.xml"
    yield "trick.zip", zipped({"../../x.xml": export(record(9, 900))}), "leads out"
    yield ("entities.xml", f'<!DOCTYPE HealthData [<!ENTITY l0 "lol">{lol}]>'.encode() +
           export(record(9, 900)), "declares entities")
    yield "nul.xml", export(record(9, 900)).replace(b"</Health", b"\0</Health"), "NUL"
    yield "cut.xml", export(record(9, 900))[:-20], "line 4: it ends in the middle"
    yield "long.xml", None, "longer than 1 MiB"
    yield "latin1.xml", export(record(9, 900)).replace("’".encode(), b"\x92"), "not UTF-8"
    yield "utf16.xml", export(record(9, 900)).decode().encode("utf-16"), "UTF-16"
    yield "deep.xml", export(record(9, 900), "<a>" * 1000), "nested deeper"
    yield "wide.csv", f"{wide}\n{wide}\n".encode(), "columns"
    yield "noise.bin", random.Random(1).randbytes(MEGABYTE), "binary data"
    yield "letter.txt", b"Dear Anna\n", "plain text"
    yield "empty.xml", b"", "it is empty"


def locked(archive):
    """The same archive with the flag of encryption set in both of its headers."""
    data = bytearray(archive)
    data[6] |= 1
    central = bytes(data).index(b"PK\1\2")
    data[central + 8] |= 1
    return bytes(data)


def overlapping():
    """Four members that are all the same packed bytes, as quoted by the directory."""
    data = zipped({"a.xml": random.Random(2).randbytes(100000)})
    at = data.index(b"PK\1\2")
    end = data.index(b"PK\5\6")
    entry = data[at:end]
    entries = b"".join(entry.replace(b"a.xml", name) for name in
                       (b"a.xml", b"b.xml", b"c.xml", b"d.xml"))
    tail = bytearray(data[end:])
    tail[8:10] = tail[10:12] = (4).to_bytes(2, "little")
    tail[12:16] = len(entries).to_bytes(4, "little")
    return data[:at] + entries + bytes(tail)


def understated():
    """A member whose size, the directory says, is less than what it unpacks to."""
    content = export(record(9, 900))
    data = bytearray(zipped({"export.xml": content}))
    at = bytes(data).index(b"PK\1\2")
    data[at + 24:at + 28] = (len(content) - 40).to_bytes(4, "little")
    data[22:26] = (len(content) - 40).to_bytes(4, "little")
    return bytes(data)


def write_long(folder, name):
    """An attribute of 10 MB, in parts: the memory measured shall be the child's alone."""
    path = folder.write(name, (HEAD + record(9, 900) + ' <Record type="').encode())
    with open(path, "ab") as file:
        for _ in range(10):
            file.write(b"x" * MEGABYTE)
        file.write(('"/>' + TAIL).encode())
    return path


def check_hostile(folder, count):
    folder.run(folder.write("first.xml", export(record(1, 100))), "--quiet")
    before = folder.series("steps")
    for name, content, words in hostile_files():
        path = folder.write(name, content) if content is not None else write_long(folder, name)
        result = folder.run(path)
        count.check(result.code == 1, f"{name} is refused", f"exit status {result.code}")
        count.check(words in result.err, f"{name}: the error says {words!r}", result.err)
        count.check(result.rss_bytes < BOUND_BYTES, f"{name} in bounded memory",
                    f"{result.rss_bytes}")
        count.check(folder.series("steps") == before, f"{name} changes nothing")
    odd = os.fsencode(folder.temp.name) + b"/caf\xe9\x1b[31m.txt"
    with open(odd, "wb") as file:
        file.write(b"hello\n")
    result = folder.run(os.fsdecode(odd))
    count.check("caf? [31m.txt: this is no file" in result.err, "an odd name is made printable",
                repr(result.err))
    result = folder.run(f"{folder.temp.name}/nowhere.xml")
    count.check(result.code == 1 and "no such file" in result.err, "a file that is not there",
                result.err)


def check_usage(folder, count):
    path = folder.write("export.xml", export(record(1, 100)))
    cases = [([], "import which file?"), ([path, "--kind", "fax"], "there is no kind"),
             ([path, "--dates", "ymd"], "mdy or dmy"), ([path, "--units", "troy"], "imperial"),
             ([path, "--what"], "there is no option")]
    for arguments, words in cases:
        result = folder.run(*arguments)
        count.check(result.code == 2 and words in result.err, f"import {arguments[1:]} is wrong",
                    result.err)
    kinds = folder.run("--kind", "help").out.decode()
    count.check("apple" in kinds and "fhir" in kinds, "--kind help lists the kinds", kinds)
    result = run(folder.weir, "import", path, "--zone", "Mars/Olympus", "--data", folder.data)
    count.check(result.code == 1 and "Mars/Olympus" in result.err, "a zone that is none",
                result.err)
    help_text = run(folder.weir, "import", "--help").out.decode()
    count.check("Examples:" in help_text, "--help has examples")


def check_server(folder, count):
    """While a server has the folder, an import says so and does nothing."""
    path = folder.write("export.xml", export(record(1, 100)))
    folder.run(path, "--quiet")
    server = subprocess.Popen([folder.weir, "serve", "--data", folder.data, "--listen",
                               "127.0.0.1:0"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not os.path.exists(f"{folder.data}/control.sock") and time.monotonic() < deadline:
            select.select([], [], [], 0.05)
        result = folder.run(path)
        count.check(result.code == 1 and "server runs" in result.err, "a server is told about",
                    result.err)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def check_owner(folder, count):
    """Root reads its own files and leaves none of its own in somebody's folder."""
    if os.getuid() != 0:
        count.skip("only root takes the place of a folder's owner")
        return
    os.mkdir(folder.data)
    os.chown(folder.data, 65534, 65534)
    os.chmod(folder.temp.name, 0o711)
    path = folder.write("export.xml", export(record(1, 100)))
    os.chmod(path, 0o600)
    result = folder.run(path, "--quiet")
    count.check(result.code == 0, "root imports a file that the owner cannot read", result.err)
    owners = {os.stat(f"{folder.data}/{name}").st_uid for name in os.listdir(folder.data)}
    count.check(owners == {65534}, "all files are the owner's", f"{owners}")


def check_terminal(folder, count):
    """On a terminal there is a bar, and it is cleared in the end."""
    path = folder.write("many.xml", HEAD.encode())
    with open(path, "ab") as file:
        for i in range(150000):
            file.write(record(1 + i % 28, i).encode())
        file.write(TAIL.encode())
    ours, theirs = pty.openpty()
    child = subprocess.Popen([folder.weir, "import", path, "--zone", "UTC", "--data", folder.data],
                             stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    count.check(child.wait(60) == 0, "an import on a terminal succeeds")
    if b"%" in shown:
        count.check(b" of " in shown and b"records" in shown, "the bar has numbers", f"{shown[:200]}")
        count.check(shown.endswith(b"\r\x1b[K"), "the bar is cleared", f"{shown[-80:]}")
    else:
        count.skip("the import was over before a bar was due")


def check_memory(folder, count):
    maker = pathlib.Path(folder.weir).parent / "bench" / "bench-apple-export"
    if not maker.exists():
        count.skip("there is no bench-apple-export")
        return
    path = f"{folder.temp.name}/large.xml"
    with open(path, "wb") as out:
        subprocess.run([maker, "120M"], stdout=out, check=True)
    result = folder.run(path, "--quiet")
    count.check(result.code == 0, "a large export is imported", result.err)
    if "asan" not in folder.weir:
        count.check(result.rss_bytes < BOUND_BYTES, "a large export in bounded memory",
                    f"{result.rss_bytes}")


def check_expected(folder, count):
    samples = ROOT.parent / "shared" / "samples" / "exports" / "invented" / "apple"
    if not samples.exists():
        count.skip("there are no samples here")
        return
    folder.run(str(samples / "export.xml"), "--quiet")
    truth = json.loads((samples / "expected.json").read_text())["days"]
    for key, metric in (("steps", "steps"), ("sleep_minutes", "sleep_minutes"),
                        ("deep", "deep_sleep_minutes"), ("awake", "awake_minutes")):
        rows = [line.split(",") for line in folder.series(metric).splitlines()[1:]]
        got = {row[0]: float(row[1]) for row in rows}
        want = {day: values[key] for day, values in truth.items()}
        count.check(got == want, f"{metric} is as expected", f"{got}")


def main():
    weir = program()
    count = Counter()
    for check in (check_memory, check_hostile, check_summary, check_people, check_archives,
                  check_usage, check_server, check_owner, check_terminal, check_expected):
        folder = Folder(weir, count)
        check(folder, count)
        folder.temp.cleanup()
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
