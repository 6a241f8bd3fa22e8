#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/link.py [WEIR]

`weir link` from outside, without a server: what it prints and what it refuses. Whether the links
open anything is for tests/serve/links.py.
"""
import base64
import datetime
import hashlib
import hmac
import json
import os
import re
import sqlite3
import sys
import tempfile
import time
import urllib.parse

from support import Counter, program, run

PATH = re.compile(r"/v1/streams/([^?/]+)\?link=(1\.([1-9][0-9]{9,10})\.[A-Za-z0-9_-]{43})\n")


def create(weir, folder, *words):
    return run(weir, "link", "create", "--data", folder, *words)


def secret_of(folder):
    """The one thing that the store keeps."""
    with sqlite3.connect(os.path.join(folder, "weir.db")) as db:
        rows = list(db.execute("SELECT body FROM docs WHERE kind = CAST('secret' AS BLOB)"))
    return base64.urlsafe_b64decode(rows[0][0].decode() + "=") if rows else None


def check_create(weir, count, folder):
    before = int(time.time())
    for stream in ("demo", "chat/42", "ä b?c=d&e", "..", "x" * 200):
        result = create(weir, folder, stream)
        found = PATH.fullmatch(result.out.decode())
        count.check(result.code == 0 and found and result.err == "", f"a path for {stream[:20]}",
                    f"{result.out!r} {result.err}")
        if not found:
            return
        count.check(urllib.parse.unquote(found.group(1)) == stream and found.group(1) not in (".", ".."),
                    "its name is escaped as one segment", found.group(1))
        life = int(found.group(3)) - before
        count.check(3600 <= life <= 3600 + 120, "an hour unless it says otherwise", f"{life}")
    secret = secret_of(folder)
    count.check(secret is not None and len(secret) == 32, "the store has the secret")
    if secret is None:
        return
    link = json.loads(create(weir, folder, "chat/42", "--json", "--expires", "7d").out)
    begin = link["token"][:link["token"].rindex(".") + 1]
    mac = hmac.new(secret, f"weir link {begin}\nchat/42".encode(), hashlib.sha256).digest()
    count.check(link["token"] == begin + base64.urlsafe_b64encode(mac).decode().rstrip("="),
                "the token is what the manual says", f"{link}")
    ends = datetime.datetime.fromisoformat(link["expires"].replace("Z", "+00:00")).timestamp()
    count.check(begin == f"1.{int(ends)}." and sorted(link) == ["expires", "path", "stream", "token"] and
                7 * 86400 <= ends - before <= 7 * 86400 + 120, "--json and --expires", f"{link}")


def check_rotate(weir, count, folder):
    old = secret_of(folder)
    result = run(weir, "link", "rotate", "--data", folder)
    count.check(result.code == 0 and result.out == b"" and result.err == "", "rotate says nothing", result.err)
    count.check(secret_of(folder) not in (None, old), "there is another secret")


def check_usage(weir, count, folder):
    cases = [([], "create or rotate"), (["list"], "create or rotate"), (["create"], "one stream"),
             (["create", "a", "b"], "one stream"), (["create", ""], "a stream's name"),
             (["create", "a\nb"], "a stream's name"), (["create", "x" * 201], "a stream's name"),
             (["create", "a", "--expires", "0"], "--expires"), (["create", "a", "--expires", "367d"], "--expires"),
             (["create", "a", "--expires", "1w"], "--expires"), (["create", "a", "--expires", "-1"], "--expires"),
             (["rotate", "a"], "one word too many"), (["create", "a", "--what"], "no option --what")]
    for words, complaint in cases:
        result = run(weir, "link", *words, "--data", folder)
        count.check(result.code == 2 and complaint in result.err and result.out == b"",
                    f"link {words} is wrong usage", f"{result.code} {result.err}")
    for words in (["create", "a"], ["rotate"]):
        result = run(weir, "link", *words, "--data", folder)
        count.check(result.code == 1 and "no data folder" in result.err, f"link {words} makes no folder", result.err)
    count.check(not os.path.exists(folder), "nothing is made")
    for words in (["link", "--help"], ["help", "link"], ["link", "create", "--help"]):
        result = run(weir, *words)
        count.check(result.code == 0 and b"weir link create" in result.out, f"{words} helps")


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as folder:
        check_create(weir, count, folder)
        check_rotate(weir, count, folder)
        check_usage(weir, count, os.path.join(folder, "none"))
        with open("/dev/full", "wb") as full:
            result = run(weir, "link", "create", "a", "--data", folder, stdout=full)
        count.check(result.code == 1, "a link that could not be printed is a failure", result.err)
    return count.finish()


sys.exit(main())
