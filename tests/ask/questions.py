#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/ask/questions.py [--write] [WEIR]

Runs the examples of docs/questions.md over the tables of an invented person (tests/data/people,
p01): each question must become the plan that stands below it and get an answer, or be refused with
the words that stand there. There must be at least LEAST examples. --write puts the plans and
refusals of this program into the page.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "docs", "questions.md")
PEOPLE = os.path.join(HERE, "..", "data", "people")
LEAST = 60
SECONDS = 300
EXAMPLE = re.compile(r"^- \*(?P<question>[^*]+)\*(?P<meaning>[^\n]*(?:\n  [^`\n][^\n]*)*)\n  `(?P<result>[^\n]+)`$",
                     re.M)


def ask(weir, questions):
    with tempfile.TemporaryDirectory(prefix="weir-questions-") as folder:
        files = [os.path.join(PEOPLE, f"p01_{kind}.csv") for kind in ("daily", "activities", "labs")]
        subprocess.run([weir, "import", *files, "--user", "p01", "--data", folder], check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
        result = subprocess.run([weir, "plan", "--batch", "--user", "p01", "--data", folder],
                                input="".join(q + "\n" for q in questions).encode(), check=True,
                                stdout=subprocess.PIPE, timeout=SECONDS)
    return [json.loads(line) for line in result.stdout.decode().splitlines()]


def shown(answer):
    """What the page shows of an answer: its plan, or why there is none."""
    if "unanswerable" in answer:
        return "refused: " + answer["unanswerable"]
    return json.dumps(answer["plan"], separators=(",", ":"), ensure_ascii=False)


def main(arguments):
    rest = [a for a in arguments if a != "--write"]
    weir = rest[0] if rest else os.environ.get("WEIR", "build/weir")
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    examples = list(EXAMPLE.finditer(page))
    answers = ask(weir, [e.group("question") for e in examples])
    if "--write" in arguments:
        for example, answer in reversed(list(zip(examples, answers))):
            page = page[:example.start("result")] + shown(answer) + page[example.end("result"):]
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
        return 0
    n_failed = 0
    for example, answer in zip(examples, answers):
        if shown(answer) == example.group("result"):
            continue
        n_failed += 1
        print(f"{example.group('question')}\n    page {example.group('result')}\n    now  "
              f"{shown(answer)}")
    if len(examples) < LEAST or len(answers) != len(examples):
        n_failed += 1
        print(f"{len(examples)} examples and {len(answers)} answers; at least {LEAST} are wanted")
    print(f"{len(examples) - n_failed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
