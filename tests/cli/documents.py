#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/documents.py [WEIR]

`weir documents` from outside, on a folder without a server.
"""
import json
import pathlib
import sys
import tempfile

from support import Counter, program, run

GUIDE = "# Insurance\n\nPhysiotherapy is covered for twelve visits. Ask help@insurer.example.\n"


class Tests:
    def __init__(self, weir, folder, count):
        self.weir, self.folder, self.count = weir, pathlib.Path(folder), count
        self.data = str(self.folder / "data")
        (self.folder / "guide.md").write_text(GUIDE)
        (self.folder / "notes.txt").write_text("plain words about sleep \x1b[31m")
        (self.folder / "bad.txt").write_bytes(b"bad \xff")
        (self.folder / "days.csv").write_text("date,steps\n2025-01-01,5\n")
        self.env = {"XDG_CONFIG_HOME": folder + "/none", "WEIR_URL": "", "WEIR_KEY": "", "WEIR_DATA": ""}
        run(self.weir, "import", "--data", self.data, str(self.folder / "days.csv"), env=self.env)

    def run(self, *arguments, **options):
        return run(self.weir, "documents", *arguments, "--data", self.data, env=self.env, **options)

    def lines(self, *arguments):
        return [json.loads(line) for line in self.run(*arguments, "--json").out.splitlines()]

    def file(self, name):
        return str(self.folder / name)

    def check_adding(self):
        empty = self.run()
        self.count.check(empty.code == 0 and empty.out == b"There are no documents.\n", "none yet", empty.err)
        added = self.run("add", self.file("guide.md"), self.file("notes.txt"))
        rows = added.out.decode().splitlines()
        self.count.check(added.code == 0 and len(rows) == 2 and rows[0].endswith("  Insurance")
                         and b"\x1b" not in added.out, "two are added", added.out.decode() + added.err)
        bad = self.run("add", self.file("bad.txt"), self.file("none.txt"))
        self.count.check(bad.code == 1 and "byte 4" in bad.err and "none.txt" in bad.err, "what is no text", bad.err)
        kinds = {d["title"]: d["mediaType"] for d in self.lines()}
        self.count.check(kinds.get("Insurance") == "text/markdown" and len(kinds) == 2, "kinds", str(kinds))

    def check_finding(self):
        hit = self.run("search", "physio", "visits")
        self.count.check(hit.code == 0 and b"twelve visits" in hit.out and b"(doc_" in hit.out, "words", hit.out.decode())
        (hit,) = self.lines("search", "help@insurer.example")
        found = [hit["snippet"][a:b] for a, b in hit["highlights"]]
        self.count.check(found == ["help@insurer.example"], "a private value", str(hit))
        self.count.check(self.run("search", "zebra").out == b"Nothing was found.\n", "nothing")
        shown = self.run("show", hit["sourceId"])
        self.count.check(shown.code == 0 and shown.out.decode() == GUIDE, "its text", shown.out.decode())
        self.count.check(b"\x1b" not in self.run("search", "sleep").out, "harmless on a terminal")
        other = self.run("list", "--user", "bob")
        self.count.check(other.out == b"There are no documents.\n", "another's", other.out.decode())

    def check_removing(self):
        ids = [d["id"] for d in self.lines()]
        gone = self.run("remove", *ids, ids[0])
        self.count.check(gone.code == 1 and gone.out == b"2 documents removed\n", "removed once", gone.err)
        self.count.check(self.lines() == [], "none is left")

    def check_usage(self):
        for arguments in (["add"], ["search"], ["show"], ["show", "a", "b"], ["remove"], ["remove", "a/b"], ["what"],
                          ["search", "x", "--limit", "51"], ["search", "x", "--limit", "x"],
                          ["add", "a", "b", "--title", "t"], ["list", "--user", "a/b"]):
            self.count.check(self.run(*arguments).code == 2, "wrong usage", str(arguments))
        long = self.run("search", "x" * 2000)
        self.count.check(long.code == 1 and "too long" in long.err, "too long", long.err)


def main():
    count = Counter()
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(program(), folder, count)
        tests.check_adding()
        tests.check_finding()
        tests.check_removing()
        tests.check_usage()
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
