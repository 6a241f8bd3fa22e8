#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/plan/examples.py [WEIR]

Every plan in docs/plans.md is run over Anna's tables and has the answer that stands below it. With
--write in place of a program, the answers in the page are written anew (WEIR names the program).
"""
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import ROOT, Counter, program, run  # noqa: E402

PAGE = ROOT / "docs" / "plans.md"
ANNA = pathlib.Path(__file__).resolve().parent / "anna"
EXAMPLE = re.compile(r"```json\n(.*?)\n```\n(?:```answer\n(.*?)\n```|ANSWER ([a-z_ ]+))\n", re.S)


def is_same(want, got):
    """Numbers to nine digits, all else as it is."""
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(is_same(want[k], got[k]) for k in want)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(is_same, want, got))
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        return abs(want - got) <= 1e-9 * max(1, abs(want))
    return want == got


def answers(weir, plans, folder):
    tables = sorted(map(str, ANNA.glob("*.csv")))
    result = run(weir, "import", *tables, "--user", "anna", "--data", folder, "--quiet")
    if result.code != 0:
        sys.exit(f"the tables cannot be imported: {result.err}")
    lines = "".join(plan.replace("\n", " ") + "\n" for plan in plans)
    result = run(weir, "plan", "--batch", "--user", "anna", "--data", folder, data=lines.encode())
    return [json.loads(line) for line in result.out.decode().splitlines()]


def write(weir, folder):
    text = PAGE.read_text()
    got = iter(answers(weir, [found[0] for found in EXAMPLE.findall(text)], folder))

    def fill(found):
        answer = next(got)
        members = found[3].split() if found[3] else json.loads(found[2])
        shown = {member: answer.get(member) for member in members}
        return f"```json\n{found[1]}\n```\n```answer\n{json.dumps(shown)}\n```\n"

    PAGE.write_text(EXAMPLE.sub(fill, text))


def main():
    if sys.argv[1:] == ["--write"]:
        with tempfile.TemporaryDirectory() as folder:
            write(os.environ.get("WEIR", str(ROOT / "build" / "weir")), folder)
        return 0
    weir, count = program(), Counter()
    examples = EXAMPLE.findall(PAGE.read_text())
    count.check(len(examples) >= 30, "the page has examples", f"{len(examples)}")
    with tempfile.TemporaryDirectory() as folder:
        got = answers(weir, [plan for plan, _, _ in examples], folder)
    count.check(len(got) == len(examples), "each has an answer", f"{len(got)}")
    for (plan, want, _), answer in zip(examples, got):
        for member, value in json.loads(want).items():
            count.check(is_same(value, answer.get(member)), f"{plan}: {member}",
                        f"{json.dumps(answer)}, the page says {value}")
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
