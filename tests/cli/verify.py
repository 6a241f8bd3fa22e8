#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/verify.py [WEIR]

`weir verify` from outside: the answers of tests/data/verify/cases.jsonl, each number with the
home it has to get. "home": null is a number that was invented; "exempt" one that needs no home.
Numbers that a case does not name must be exempt. And what is wrong with a ledger or an option.
"""
import json
import pathlib
import sys
import tempfile

from support import ROOT, Counter, program, run

CASES = ROOT / "tests" / "data" / "verify" / "cases.jsonl"

WRONG = [
    ("no JSON", "not JSON, at byte 1"),
    ("{}", "a ledger is a list"),
    ("[1]", "entry 1: it has to be an object"),
    ('[{"value":1}]', "entry 1: claim is missing"),
    ('[{"claim":"a","value":1},{"claim":"b"}]', "entry 2: value is missing"),
    ('[{"claim":"a","value":"much"}]', "entry 1: value has to be a number, a date or a time"),
    ('[{"claim":"a","value":true}]', "entry 1: value has to be a number"),
    ('[{"claim":"a","value":1,"n":"3"}]', "entry 1: n has to be a number"),
    ('[{"claim":"a","value":1,"unit":7}]', "entry 1: unit has to be a text"),
]


def verify(weir, folder, ledger, text, *options):
    path = folder / "ledger.json"
    path.write_text(ledger, encoding="utf-8")
    return run(weir, "verify", "--ledger", str(path), *options, data=text.encode())


def check_case(weir, folder, case, count):
    """Counts invented numbers that were not caught, and honest ones that were flagged."""
    options = ["--question", case["question"]] if "question" in case else []
    result = verify(weir, folder, json.dumps(case["ledger"]), case["text"], "--json", *options)
    got = [json.loads(line) for line in result.out.splitlines()]
    seen = [g for g in got if g["outcome"] != "exempt"]
    want = [e for e in case["expected"] if "home" in e]
    exempt = {g["text"] for g in got if g["outcome"] == "exempt"}
    count.check([(g["text"], g["home"]) for g in seen] == [(e["text"], e["home"]) for e in want],
                f"{case['id']} {case['text']!r}\n    want {want}\n    got  {got}")
    for e in case["expected"]:
        count.check("home" in e or e["text"] in exempt, f"{case['id']} {e['text']!r} is exempt")
    lacks = any(e["home"] is None for e in want)
    count.check(result.code == (1 if lacks else 0), f"{case['id']}: exit status {result.code}")
    for g in got:
        there = case["text"].encode()[g["offset"]:].decode()
        count.check(there.startswith(g["text"]), f"{case['id']}: {g} is where it says")
    missed = sum(e["home"] is None for e in want) - sum(g["home"] is None for g in seen)
    return max(missed, 0), max(-missed, 0)


def check_strip(weir, folder, case, count):
    """What is left has a home for each number; what was honest is left as it was."""
    ledger = json.dumps(case["ledger"])
    options = ["--question", case["question"]] if "question" in case else []
    result = verify(weir, folder, ledger, case["text"], "--strip", *options)
    left = result.out.decode()
    if all(e.get("home", "") is not None for e in case["expected"]):
        count.check(result.code == 0 and left == case["text"], f"{case['id']}: {result}")
        return
    count.check(result.code == 1 and "has no home in the fact sheet" in result.err,
                f"{case['id']}: {result}")
    count.check(len(left) < len(case["text"]), f"{case['id']}: something went: {left!r}")
    again = verify(weir, folder, ledger, left, *options)
    count.check(again.code == 0, f"{case['id']}: {left!r} is clean: {again}")


def check_cases(weir, folder, count):
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    count.check(len(cases) >= 200, "there are 200 answers")
    tally = [check_case(weir, folder, case, count) for case in cases]
    for case in cases:
        check_strip(weir, folder, case, count)
    numbers = [e for case in cases for e in case["expected"]]
    print(f"{len(cases)} answers, {len(numbers)} numbers, "
          f"{sum('home' in e and e['home'] is None for e in numbers)} of them invented: "
          f"{sum(t[0] for t in tally)} missed, {sum(t[1] for t in tally)} honest ones flagged")


def check_wrong(weir, folder, count):
    for ledger, text in WRONG:
        result = verify(weir, folder, ledger, "1")
        count.check(result.code == 1 and text in result.err, f"{ledger}: {result}")
    for words in (["verify"], ["verify", "--ledger"], ["verify", "--ledger", "x", "y"],
                  ["verify", "--ledger", "x", "--json", "--strip"]):
        count.check(run(weir, *words).code == 2, f"{words} is wrong usage")
    count.check(run(weir, "verify", "--ledger", str(folder / "none")).code == 1, "no such ledger")
    too_long = verify(weir, folder, "[]", "a" * (256 * 1024 + 1))
    count.check(too_long.code == 1 and "too large" in too_long.err, "a text has a ceiling")


def check_output(weir, folder, count):
    ledger = json.dumps([{"claim": "ds-001.avg", "value": 61.8, "unit": "bpm", "n": 28}])
    result = verify(weir, folder, ledger, "É 62 bpm,\n28 nights, 1. and 70\n")
    count.check(result.out.decode() == "3\t1:3\t62\tds-001.avg\n11\t2:1\t28\tds-001.avg (n)\n"
                "22\t2:12\t1\tno home\n29\t2:19\t70\tno home\n", result.out.decode())
    window = verify(weir, folder, ledger, "since 2025-03-01, 31 days", "--window",
                    "2025-03-01..2025-03-31")
    count.check(window.code == 0, f"windows are known: {window}")


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_cases(weir, folder, count)
        check_wrong(weir, folder, count)
        check_output(weir, folder, count)
    return count.finish()


sys.exit(main())
