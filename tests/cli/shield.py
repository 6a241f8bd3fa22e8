#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/shield.py [WEIR]

`weir shield` from outside: what scan prints, that redact and restore give a text back, that the
map is its owner's alone, that restore lets text through while it waits, and wrong usage.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from support import Counter, program, run

TEXT = ("Zoë 🐝: write to alice@example.org or +44 20 7946 0958, card 4012 8888 8888 1881, "
        "IBAN DE89 3704 0044 0532 0130 00.\nServer 10.0.0.1, see https://example.com/x; "
        "password = \"Tr0ub4dor&3\"; again alice@example.org, [email_1]\n")


def check_scan(weir, count):
    result = run(weir, "shield", "scan", "--json", data=TEXT.encode())
    found = [json.loads(line) for line in result.out.splitlines()]
    count.check(result.code == 0, "scan succeeds", result.err)
    count.check([f["category"] for f in found] ==
                ["email", "phone", "credit_card", "iban", "ip_address", "url", "secret", "email"],
                "scan finds all", found)
    for f in found:
        count.check(TEXT[f["start"]:f["end"]] == f["text"], f"code points of {f}")
        count.check(TEXT.encode()[f["start_byte"]:f["end_byte"]].decode() == f["text"],
                    f"bytes of {f}")
        count.check(f["public"] == (f["category"] == "url"), f"only the address is public: {f}")
    plain = run(weir, "shield", "scan", data=TEXT.encode()).out.decode().splitlines()
    count.check(len(plain) == len(found), "a line for each")
    count.check(plain[0] == "email\temail\t20-37\t16-33\t0.95\tformat\talice@example.org",
                "a plain line", plain[0])
    empty = run(weir, "shield", "scan", data=b"")
    count.check(empty.code == 0 and empty.out == b"", "an empty text has nothing")
    term = run(weir, "shield", "scan", "--term", "project=Blue Heron", data=b"the BLUE heron")
    count.check(term.out.startswith(b"custom\tproject\t4-14\t"), "an own term", term.out)
    pattern = run(weir, "shield", "scan", "--pattern", "badge=EMP-\\d{5}", data=b"EMP-12345, EMP-1")
    count.check(pattern.out == b"custom\tbadge\t0-9\t0-9\t1.00\tterm\tEMP-12345\n", "an own pattern",
                pattern.out)
    wrong = run(weir, "shield", "scan", "--pattern", "badge=(a", data=b"")
    count.check(wrong.code == 1 and "a group without its end, at byte 2" in wrong.err,
                "a pattern that is none", wrong.err)
    slow = run(weir, "shield", "redact", "--pattern", "x=(a?){255}a{255}b", data=b"a" * 20000)
    count.check(slow.code == 1 and slow.out == b"", "one that takes too long lets nothing out")


def check_redact(weir, folder, count):
    path = folder / "map.json"
    result = run(weir, "shield", "redact", "--map", str(path), data=TEXT.encode())
    out = result.out.decode()
    count.check(result.code == 0, "redact succeeds", result.err)
    count.check(out.count("[email_1]") == 2 and "[text_1]" in out, "one value, one token", out)
    count.check("https://example.com/x" in out, "public addresses stay", out)
    for secret in ("alice", "7946", "4012", "3704", "Tr0ub4dor", "10.0.0.1"):
        count.check(secret not in out, f"{secret} is gone", out)
    count.check(path.stat().st_mode & 0o777 == 0o600, "the map is its owner's alone")
    back = run(weir, "shield", "restore", "--map", str(path), data=result.out)
    count.check(back.out.decode() == TEXT, "restore gives the text back", back.out)
    more = run(weir, "shield", "redact", "--map", str(path), data=b"bob@x.org, alice@example.org")
    count.check(more.out == b"[email_2], [email_1]", "a map is gone on with", more.out)
    value = run(weir, "shield", "redact", "--map", str(path), data=b"key = '-\"x9Zk7Lq2m'")
    arguments = b'{"key":"[secret_2]","to":["[Email 1]"]}'
    got = run(weir, "shield", "restore", "--json", "--map", str(path), data=arguments)
    count.check(value.code == 0 and json.loads(got.out)["to"] == ["alice@example.org"],
                "restore into JSON", got.out)


def check_stream(weir, folder, count):
    """What is no placeholder comes at once, while the rest has not even been sent."""
    path = str(folder / "map.json")
    with subprocess.Popen([weir, "shield", "restore", "--map", path], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        p.stdin.write(b"Hello [em")
        p.stdin.flush()
        first = os.read(p.stdout.fileno(), 100)
        p.stdin.write(b"ail_1] there")
        p.stdin.flush()
        second = os.read(p.stdout.fileno(), 100)
        p.stdin.close()
        count.check(first == b"Hello ", "text comes at once", first)
        count.check(second == b"alice@example.org there", "then the value", second)
        count.check(p.wait() == 0, "and it ends well")


def check_key(weir, folder, count):
    path = folder / "maps.key"
    made = run(weir, "shield", "key", "create", "--key", str(path))
    count.check(made.code == 0 and made.out.decode().splitlines()[0] == str(path), "a key is made", made.err)
    count.check(path.stat().st_mode & 0o777 == 0o600, "for its owner alone")
    first = path.read_text()
    count.check(first.strip() not in made.out.decode(), "the key is not told")
    count.check(run(weir, "shield", "key", "create", "--key", str(path)).code == 1, "not twice")
    turned = run(weir, "shield", "key", "rotate", "--key", str(path), "--json")
    keys = json.loads(turned.out)["keys"]
    count.check([k["seals"] for k in keys] == [True, False], "a new key in front", turned.out)
    count.check(path.read_text().endswith(first), "the old one stays")
    plain = run(weir, "shield", "key", "status", "--key", str(path)).out.decode().splitlines()
    count.check(plain[1:] == [f"{keys[0]['id']}  seals and opens", f"{keys[1]['id']}  opens"], "status", plain)
    in_folder = run(weir, "shield", "key", "create", "--data", str(folder))
    count.check(in_folder.code == 0 and (folder / "shield.key").exists(), "in a data folder", in_folder.err)
    path.chmod(0o644)
    closed = run(weir, "shield", "key", "status", "--key", str(path))
    count.check(closed.code == 1 and "chmod 600" in closed.err, "others may not read it", closed.err)
    none = run(weir, "shield", "key", "rotate", "--key", str(folder / "none"))
    count.check(none.code == 1 and str(folder / "none") in none.err, "no such file", none.err)


def check_wrong(weir, folder, count):
    for words in (["key"], ["key", "make"], ["key", "create", "x"], ["key", "status", "--map", "x"],
                  ["key", "status", "--data", "x", "--key", "y"], ["scan", "--key", "x"], [], ["find"], ["scan", "x"], ["restore"], ["scan", "--map", "x"],
                  ["redact", "--json"], ["restore", "--map", "x", "--term", "a=bc"]):
        count.check(run(weir, "shield", *words).code == 2, f"shield {words} is wrong usage")
    for term in ("x", "=y", "Bad=word", "a=b"):
        result = run(weir, "shield", "scan", "--term", term)
        count.check(result.code == 1 and term in result.err, f"the term {term}", result.err)
    bad = folder / "bad.json"
    for text in ("", "[]", '{"email_1":"x"}', '{"[email_1]":1}'):
        bad.write_text(text)
        result = run(weir, "shield", "redact", "--map", str(bad), data=b"a@x.org")
        count.check(result.code == 1 and result.out == b"", f"the map {text!r} is refused")
        count.check(bad.read_text() == text, "and stays as it was")
    none = run(weir, "shield", "restore", "--map", str(folder / "none"))
    count.check(none.code == 1, "no such map")
    there = run(weir, "shield", "redact", "--map", str(folder / "no" / "map"), data=b"a@x.org")
    count.check(there.code == 1 and there.out == b"", "no text without its map")


def main():
    weir = program()
    count = Counter()
    check_scan(weir, count)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_redact(weir, folder, count)
        check_stream(weir, folder, count)
        check_key(weir, folder, count)
        check_wrong(weir, folder, count)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
