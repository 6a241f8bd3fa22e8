#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/store.py [WEIR]

`weir store` from outside, without a server: check finds what is wrong, a backup can be
restored and replaces nothing.
"""
import json
import os
import sqlite3
import sys
import tempfile

from support import Counter, program, run


def keys_of(weir, folder):
    return run(weir, "key", "list", "--json", "--data", folder).out


def check_good(weir, count, folder):
    result = run(weir, "store", "check", "--data", folder)
    count.check(result.code == 0 and b"nothing is wrong" in result.out and result.err == "",
                "a good store is good", f"{result.out!r} {result.err}")
    result = run(weir, "store", "check", "--json", "--data", folder)
    count.check(result.code == 0 and json.loads(result.out) == {"wrong": 0, "complaints": []},
                "so it says in JSON", f"{result.out!r}")


def check_backup(weir, count, folder, file):
    result = run(weir, "store", "backup", file, "--data", folder)
    count.check(result.code == 0 and os.path.getsize(file) > 0, "a backup is made", result.err)
    result = run(weir, "store", "backup", file + "2", "--json", "--data", folder)
    count.check(json.loads(result.out) == {"file": file + "2",
                                           "bytes": os.path.getsize(file + "2")},
                "one that is told of in JSON", result.err)
    before = open(file, "rb").read()
    result = run(weir, "store", "backup", file, "--data", folder)
    count.check(result.code == 1 and "File exists" in result.err, "it replaces nothing", result.err)
    count.check(open(file, "rb").read() == before, "the file there stays as it was")
    restored = folder + "-restored"
    os.mkdir(restored)
    os.rename(file, os.path.join(restored, "weir.db"))
    count.check(keys_of(weir, restored) == keys_of(weir, folder) != b"", "it can be restored")
    result = run(weir, "store", "backup", "/nowhere/at/all", "--data", folder)
    count.check(result.code == 1 and "/nowhere/at/all" in result.err,
                "a place that is not there is said", result.err)


def check_damage(weir, count, folder):
    """A row that says something else than its bytes."""
    database = sqlite3.connect(os.path.join(folder, "weir.db"))
    tables = {row[0]: row[1] for row in
              database.execute("select name, sql from sqlite_master where type = 'table'")}
    count.check("docs" in tables, "documents are in a table", f"{list(tables)}")
    if "docs" in tables:
        database.execute("update docs set version = 0")
        database.commit()
    database.close()
    result = run(weir, "store", "check", "--data", folder)
    count.check(result.code == 1 and b"wrong" in result.out, "damage is found",
                f"{result.out!r} {result.err}")
    result = run(weir, "store", "check", "--json", "--data", folder)
    count.check(result.code == 1 and json.loads(result.out)["wrong"] > 0, "so it says in JSON",
                f"{result.out!r}")


def check_usage(weir, count, folder):
    cases = [([], "check, backup, copy"), (["look"], "check, backup, copy"), (["backup"], "which file"),
             (["check", "x"], "one word too many"), (["backup", "a", "b"], "one word too many")]
    for words, complaint in cases:
        result = run(weir, "store", *words, "--data", folder)
        count.check(result.code == 2 and complaint in result.err, f"store {words} is wrong usage",
                    f"{result.code} {result.err}")
    for words in (["check"], ["backup", "file"]):
        result = run(weir, "store", *words, "--data", folder)
        count.check(result.code == 1 and "no data folder" in result.err,
                    f"store {words} makes no folder", result.err)
    count.check(run(weir, "store", "--help").out.startswith(b"usage: weir store"), "it helps")


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, "data")
        for label in ("one", "two"):
            run(weir, "key", "create", "--label", label, "--data", folder)
        check_good(weir, count, folder)
        check_backup(weir, count, folder, os.path.join(top, "backup"))
        check_damage(weir, count, folder)
        check_usage(weir, count, os.path.join(top, "none"))
    return count.finish()


sys.exit(main())
