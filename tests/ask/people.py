#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/ask/people.py [--all] [--write FILE] [WEIR]

Asks `weir plan` what many different people would ask, and holds the answers against those that
oracle.py worked out from the same tables. Each person's tables are imported into a folder of its
own. A number is right within 2 % or 0.05; dates, weekdays and months must be the same; what cannot
be answered must be refused. Questions marked as debatable are asked and reported, not counted.

The cases are bars, not questions: for each file of questions, how many of the answerable ones are
right (at least RIGHT percent), how many of the unanswerable ones got an answer (at most WRONG), and
whether any question made weir fail. --all prints every question that failed; --write puts them into
a file.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import oracle  # noqa: E402

PEOPLE = os.path.join(HERE, "..", "data", "people")
RIGHT = 95.0
WRONG = 0
SETS = {"people": True, "people_held": True, "people_late": True}
SECONDS = 300


def import_people(weir, users, folder):
    """The tables of all of them, each in its own data folder; False with the message shown."""
    for user in users:
        files = [os.path.join(PEOPLE, f"{user}_{kind}.csv")
                 for kind in ("daily", "activities", "labs")]
        result = subprocess.run([weir, "import", *files, "--quiet", "--user", user, "--data",
                                 os.path.join(folder, user)],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                                check=False)
        if result.returncode != 0:
            print(f"import of {user} failed: {result.stdout.decode(errors='replace')}")
            return False
    return True


def ask(weir, user, folder, questions):
    """The answers to a person's questions, in order; a question with no answer line is None."""
    text = "".join(row["question"] + "\n" for row in questions)
    result = subprocess.run([weir, "plan", "--batch", "--user", user, "--data",
                             os.path.join(folder, user)],
                            input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            timeout=SECONDS, check=False)
    lines = result.stdout.decode(errors="replace").splitlines()
    if len(lines) != len(questions):
        print(f"{user}: {len(lines)} answers to {len(questions)} questions, exit "
              f"{result.returncode}: {result.stderr.decode(errors='replace')[-500:]}")
    answers = []
    for i in range(len(questions)):
        try:
            answers.append(json.loads(lines[i]))
        except (IndexError, ValueError):
            answers.append(None)
    return answers


def month_of(text):
    """"2025-03" of "2025-03", "March 2025" or "2025-03-01"."""
    names = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
             "October", "November", "December"]
    found = re.fullmatch(r"(\w+) (\d{4})", text)
    if found and found.group(1) in names:
        return f"{found.group(2)}-{names.index(found.group(1)) + 1:02d}"
    return text[:7]


def is_right(row, got):
    expected = row["answer"]
    if "unanswerable" in got or got.get("value") is None:
        return expected is None
    if expected is None:
        return False
    value = got["value"]
    if isinstance(expected, list):
        rows = [r.get("date") for r in got.get("rows", [])]
        return rows[:len(expected)] == expected and len(rows) == len(expected)
    if isinstance(expected, str) and re.fullmatch(r"\d{4}-\d\d", expected):
        return isinstance(value, str) and month_of(value) == expected
    return oracle.is_same(value, expected)


def shown(row, got):
    if got is None:
        return "no answer"
    if "unanswerable" in got:
        return "refused: " + str(got["unanswerable"])
    plan = json.dumps(got.get("plan"), separators=(",", ":"))
    return f"{got.get('value')} {got.get('unit', '')} by {plan}"


def run(weir, folder, rows):
    """Adds the answer and the verdict to every row."""
    by_user = collections.defaultdict(list)
    for row in rows:
        by_user[row["user"]].append(row)
    for user, questions in by_user.items():
        for row, got in zip(questions, ask(weir, user, folder, questions)):
            row["got"] = got
            row["right"] = got is not None and is_right(row, got)
            row["confident"] = got is not None and "unanswerable" not in got and \
                got.get("value") is not None


def report(name, rows, is_all):
    counted = [r for r in rows if not r.get("debatable")]
    kinds = collections.defaultdict(list)
    for row in counted:
        kinds[row["kind"]].append(row)
    print(f"{name}: right, wrong, refused though answerable (or answered though not)")
    for kind, group in sorted(kinds.items(), key=lambda k: oracle.mean([r["right"] for r in k[1]])):
        right = sum(r["right"] for r in group)
        wrong = sum(not r["right"] and r["confident"] for r in group)
        print(f"  {kind:24} {right:4}/{len(group):<4} {100 * right / len(group):6.1f} %  "
              f"{wrong:3} wrong, {len(group) - right - wrong:3} refused")
    failed = [r for r in counted if not r["right"]]
    wrong = [r for r in failed if r["confident"] and r["answer"] is not None]
    invented = [r for r in failed if r["confident"] and r["answer"] is None]
    if is_all:
        for title, group in (("refused", [r for r in failed if not r["confident"]]),
                             ("wrong", wrong), ("answered though unanswerable", invented)):
            print(f"{name}: {title}, {len(group)}")
            for row in group:
                print(line_of(row))
    open_to_debate = [r for r in rows if r.get("debatable")]
    print(f"{name}: debatable, not counted: {sum(r['right'] for r in open_to_debate)} of "
          f"{len(open_to_debate)} as the oracle reads them")
    answerable = [r for r in counted if r["answer"] is not None]
    right = sum(r["right"] for r in answerable)
    share = 100 * right / len(answerable)
    print(f"{name}: {right} of {len(answerable)} answerable right ({share:.1f} %), {len(wrong)} "
          f"confident and wrong; {len(invented)} of {len(counted) - len(answerable)} unanswerable "
          f"answered")
    return share, len(invented), sum(r["got"] is None for r in rows)


def line_of(row):
    return (f"[{row['kind']}] {row['user']} {row['question'][:300]!r}\n"
            f"    expected {row['answer']}, got {shown(row, row['got'])}")


def write_failures(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for title, want in (("ANSWERED THOUGH UNANSWERABLE", lambda r: r["answer"] is None),
                            ("CONFIDENT AND WRONG", lambda r: r["confident"]),
                            ("REFUSED THOUGH ANSWERABLE", lambda r: True)):
            chosen = [r for r in rows if not r["right"] and not r.get("debatable") and want(r) and
                      not r.get("written")]
            file.write(f"==== {title}: {len(chosen)}\n")
            for row in chosen:
                row["written"] = True
                file.write(line_of(row) + "\n")


def main(arguments):
    is_all = "--all" in arguments
    path = None
    if "--write" in arguments:
        path = arguments[arguments.index("--write") + 1]
    rest = [a for a in arguments if a not in ("--all", "--write", path)]
    weir = rest[0] if rest else os.environ.get("WEIR", "build/weir")
    sets = {}
    for name in SETS:
        source = os.path.join(HERE, f"{name}.jsonl")
        if os.path.exists(source):
            with open(source, encoding="utf-8") as file:
                sets[name] = [json.loads(line) for line in file]
    n_passed = n_failed = 0
    with tempfile.TemporaryDirectory(prefix="weir-people-") as folder:
        users = sorted({row["user"] for rows in sets.values() for row in rows})
        if not import_people(weir, users, folder):
            print("0 passed, 1 failed")
            return 1
        for name, rows in sets.items():
            run(weir, folder, rows)
            share, invented, silent = report(name, rows, is_all)
            for is_good, claim in ((share >= RIGHT, f"{RIGHT} % right"),
                                   (invented <= WRONG, f"at most {WRONG} answered unasked"),
                                   (silent == 0, "an answer to every question")):
                if not is_good:
                    print(f"{'FAIL' if SETS[name] else 'not yet'} {name}: {claim}")
                if SETS[name]:
                    n_passed, n_failed = n_passed + is_good, n_failed + (not is_good)
    if path:
        write_failures(path, [row for rows in sets.values() for row in rows])
    print(f"{n_passed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
