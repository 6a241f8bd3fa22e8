#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/key.py [WEIR]

`weir key` from outside, without a server: what it prints, what it keeps, what it refuses.
"""
import datetime
import json
import os
import re
import stat
import sys
import tempfile
import time

from support import Counter, program, run

KEY = re.compile(r"weir_([0-9a-z]{12})_[A-Za-z0-9_-]{43}\n")


def create(weir, folder, *options):
    return run(weir, "key", "create", "--data", folder, *options)


def listed(weir, folder):
    result = run(weir, "key", "list", "--json", "--data", folder)
    return {row["name"]: row for row in map(json.loads, result.out.decode().splitlines())}


def check_life(weir, count, folder):
    """A key is made in a folder that was not there, listed, revoked, and never shown again."""
    result = create(weir, folder, "--label", "für mich", "--scopes", "read", "--rate", "600/m",
                    "--owner", "ada")
    found = KEY.fullmatch(result.out.decode())
    count.check(result.code == 0 and found and result.err == "", "create prints the key alone",
                f"{result.out!r} {result.err}")
    if not found:
        return
    name = found.group(1)
    count.check(stat.S_IMODE(os.stat(folder).st_mode) == 0o700, "the folder is the user's alone")
    row = listed(weir, folder)[name]
    count.check(row["label"] == "für mich" and row["scopes"] == ["read"] and row["rate"] == 10 and
                row["burst"] == 10 and row["owner"] == "ada" and row["revoked"] is None,
                "the list has what was said", f"{row}")
    table = run(weir, "key", "list", "--data", folder).out.decode()
    count.check(name in table and "valid" in table and "10/s" in table, "the table has it", table)
    kept = b"".join(open(os.path.join(folder, file), "rb").read() for file in os.listdir(folder))
    secret = result.out.strip()[18:]
    count.check(secret not in kept, "the key itself is in no file")
    result = run(weir, "key", "revoke", name, "--data", folder)
    count.check(result.code == 0 and result.out == b"", "revoke says nothing", result.err)
    count.check(listed(weir, folder)[name]["revoked"] is not None, "it is revoked")
    result = run(weir, "key", "revoke", name, "--data", folder)
    count.check(result.code == 0, "revoking again is no error", result.err)


def check_limits(weir, count, folder):
    """A key for some streams and some time, in the list and in the table."""
    result = create(weir, folder, "--prefix", "chat/", "--expires", "30d", "--scope", "read")
    found = KEY.fullmatch(result.out.decode())
    count.check(result.code == 0 and found, "a key with a prefix and an end", result.err)
    if not found:
        return
    row = listed(weir, folder)[found.group(1)]
    life = parse_time(row["expires"]) - parse_time(row["created"])
    count.check(row["prefix"] == "chat/" and row["scopes"] == ["read"] and life == 30 * 86400,
                "the list has prefix and end", f"{row}")
    table = run(weir, "key", "list", "--data", folder).out.decode()
    count.check("chat/" in table and row["expires"][:10] in table, "the table has them", table)
    for text, wanted in (("90", 90), ("90s", 90), ("2m", 120), ("1h", 3600)):
        name = KEY.fullmatch(create(weir, folder, "--expires", text).out.decode()).group(1)
        row = listed(weir, folder)[name]
        count.check(parse_time(row["expires"]) - parse_time(row["created"]) == wanted,
                    f"--expires {text}", f"{row}")
    name = KEY.fullmatch(create(weir, folder, "--expires", "1s").out.decode()).group(1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        table = run(weir, "key", "list", "--data", folder).out.decode()
        line = next(line for line in table.splitlines() if line.startswith(name))
        if "expired" in line:
            break
    count.check("expired" in line, "the table tells what has expired", line)


def parse_time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def check_default(weir, count, folder):
    home = os.path.join(folder, "home")
    os.mkdir(home)
    cases = [({"WEIR_DATA": f"{home}/a", "HOME": home}, f"{home}/a"),
             ({"WEIR_DATA": "", "XDG_DATA_HOME": f"{home}/b", "HOME": home}, f"{home}/b/weir"),
             ({"WEIR_DATA": "", "XDG_DATA_HOME": "", "HOME": home}, f"{home}/.local/share/weir")]
    for env, place in cases:
        result = run(weir, "key", "create", env=env)
        count.check(result.code == 0 and os.path.isdir(place), f"without --data: {place}",
                    result.err)
    result = run(weir, "key", "create", env={"WEIR_DATA": "", "XDG_DATA_HOME": "", "HOME": ""})
    count.check(result.code == 2 and "--data" in result.err, "without any, it asks for --data",
                result.err)


def check_usage(weir, count, folder):
    cases = [([], "create, list, revoke or link"), (["make"], "create, list, revoke or link"),
             (["create", "word"], "one word too many"), (["create", "--scopes", "all"], "--scopes"),
             (["create", "--scopes", ""], "--scopes"), (["create", "--rate", "fast"], "--rate"),
             (["create", "--rate", "-1"], "--rate"), (["create", "--rate"], "needs a value"),
             (["create", "--burst", "0"], "--burst"), (["create", "--label", "x" * 64], "--label"),
             (["create", "--label", "a\nb"], "label"),
             (["create", "--expires", "0"], "--expires"), (["create", "--expires", "soon"], "--expires"),
             (["create", "--expires", "20000d"], "--expires"), (["create", "--prefix", "x" * 128], "--prefix"),
             (["create", "--prefix", "a\nb"], "prefix"),
             (["create", "--prefix", "a", "--scopes", "admin"], "cannot have the scope admin"), (["revoke"], "one name"),
             (["revoke", "x"], "12 letters"), (["revoke", "a", "b"], "one name"),
             (["list", "--nothing"], "no option --nothing"), (["list", "-x"], "no option -x")]
    for words, complaint in cases:
        result = run(weir, "key", *words, "--data", folder)
        if words[-1:] == ["--rate"]:
            result = run(weir, "key", *words)
        count.check(result.code == 2 and complaint in result.err and result.out == b"",
                    f"key {words} is wrong usage", f"{result.code} {result.err}")
    count.check(not os.path.exists(folder), "wrong usage makes nothing")
    for words in (["list"], ["revoke", "0123456789ab"]):
        result = run(weir, "key", *words, "--data", folder)
        count.check(result.code == 1 and "no data folder" in result.err,
                    f"key {words} makes no folder", result.err)
    for words in (["key", "--help"], ["help", "key"], ["key", "create", "--help"]):
        result = run(weir, *words)
        count.check(result.code == 0 and b"weir key create" in result.out, f"{words} helps")


def check_world(weir, count, folder):
    """What the world can do: a file in the way, a folder that nobody may write to."""
    path = os.path.join(folder, "file")
    open(path, "w").close()
    result = create(weir, path)
    count.check(result.code == 1 and "weir: " in result.err and result.out == b"",
                "a file in the place of the folder is said", result.err)
    result = create(weir, "/proc/weir")
    count.check(result.code == 1 and "/proc/weir" in result.err, "a folder that cannot be is said",
                result.err)
    good = os.path.join(folder, "good")
    name = KEY.fullmatch(create(weir, good).out.decode()).group(1)
    result = run(weir, "key", "revoke", "0123456789ab", "--data", good)
    count.check(result.code == 1 and "no key" in result.err, "an unknown name is said", result.err)
    result = run(weir, "key", "revoke", f"weir_{name}_secret", "--data", good)
    count.check(result.code == 0 and listed(weir, good)[name]["revoked"],
                "a whole key will do for its name", result.err)
    with open("/dev/full", "wb") as full:
        result = run(weir, "key", "create", "--data", good, stdout=full)
    count.check(result.code == 1, "a key that could not be printed is a failure", result.err)


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as folder:
        check_life(weir, count, os.path.join(folder, "a", "b"))
        check_limits(weir, count, os.path.join(folder, "limits"))
        check_default(weir, count, folder)
        check_usage(weir, count, os.path.join(folder, "none"))
        check_world(weir, count, folder)
    return count.finish()


sys.exit(main())
