#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/ask/dev.py [--all] [WEIR]

The 202 questions of the shared samples (questions/dev.jsonl) over six invented people: their
tables are imported, every question is asked with `weir plan --batch`, and at least RIGHT percent
of the answers must be right: numbers within 2 % or 0.05, dates and weekdays the same, and what
cannot be answered refused. Skipped where the samples are absent.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(HERE, "..", "..", "..", "shared", "samples", "questions")
RIGHT = 99.0
SECONDS = 300


def import_user(weir, user, folder):
    files = [os.path.join(SAMPLES, "users", f"{user}_{kind}.csv")
             for kind in ("daily", "activities", "labs")]
    subprocess.run([weir, "import", *files, "--user", user, "--data", folder], check=True,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)


def ask(weir, user, folder, rows):
    text = "".join(row["question"] + "\n" for row in rows)
    result = subprocess.run([weir, "plan", "--batch", "--user", user, "--data", folder],
                            input=text.encode(), stdout=subprocess.PIPE, timeout=SECONDS,
                            check=True)
    lines = result.stdout.decode().splitlines()
    assert len(lines) == len(rows), f"{len(lines)} answers to {len(rows)} questions"
    return [json.loads(line) for line in lines]


def is_right(expected, got):
    value = None if "unanswerable" in got else got.get("value")
    if expected is None or value is None:
        return expected is None and value is None
    if isinstance(expected, str) or isinstance(value, str):
        return expected == value
    return abs(value - expected) <= max(0.05, 0.02 * abs(expected))


def main(arguments):
    rest = [a for a in arguments if a != "--all"]
    weir = rest[0] if rest else os.environ.get("WEIR", "build/weir")
    source = os.path.join(SAMPLES, "dev.jsonl")
    if not os.path.exists(source):
        print("skipped: the samples are not on this machine")
        print("0 passed, 0 failed")
        return 0
    by_user = collections.defaultdict(list)
    with open(source, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            by_user[row["user"]].append(row)
    n = n_right = n_invented = 0
    for user, rows in sorted(by_user.items()):
        with tempfile.TemporaryDirectory(prefix="weir-dev-") as folder:
            import_user(weir, user, folder)
            for row, got in zip(rows, ask(weir, user, folder, rows)):
                good = is_right(row["answer"], got)
                n += 1
                n_right += good
                n_invented += row["answer"] is None and not good
                if not good:
                    print(f"[{row['kind']}] {user} {row['question']!r}\n"
                          f"    expected {row['answer']}, got {json.dumps(got)[:300]}")
    share = 100 * n_right / n
    print(f"{n_right} of {n} right ({share:.1f} %), {n_invented} answered though unanswerable")
    passed = (share >= RIGHT) + (n_invented == 0)
    print(f"{passed} passed, {2 - passed} failed")
    return 0 if passed == 2 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
