#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/search.py [WEIR]

`weir search` from outside: a table with a planted effect, one without, nobody's data, what is
printed, the log, exit statuses. How often it errs is for tests/unit/check/search.c and
`make bench-search`.
"""
import datetime
import json
import os
import pathlib
import random
import sys
import tempfile

from plan import on_terminal
from support import Counter, program, run

N_DAYS = 400
FIRST = datetime.date(2024, 1, 1)


def table(is_planted):
    """Days of five metrics; planted: less sleep after days with much caffeine."""
    dice = random.Random(7)
    lines = ["date,steps,caffeine,sleep_minutes,resting_heart_rate,bedtime"]
    before = 0
    for i in range(N_DAYS):
        coffee = dice.gauss(0, 1)
        sleep = 430 + 35 * dice.gauss(0, 1) - (30 * before if is_planted else 0)
        clock = round(1435 + 25 * dice.gauss(0, 1)) % 1440
        cells = [FIRST + datetime.timedelta(i), round(9000 + 1500 * dice.gauss(0, 1)),
                 round(250 + 60 * coffee), round(sleep), round(60 + 3 * dice.gauss(0, 1), 1),
                 f"{clock // 60:02d}:{clock % 60:02d}"]
        before = coffee
        if dice.random() > 0.05:
            lines.append(",".join(map(str, cells)))
    return "\n".join(lines) + "\n"


def prepare(weir, count, folder):
    for user, is_planted in (("me", True), ("calm", False)):
        path = os.path.join(folder, user + ".csv")
        pathlib.Path(path).write_text(table(is_planted), encoding="utf-8")
        result = run(weir, "import", path, "--data", folder, "--user", user, "--quiet")
        count.check(result.code == 0, "a table is imported", result.err)


def search(weir, folder, *options):
    result = run(weir, "search", "--json", "--data", folder, *options)
    return result.code, json.loads(result.out)


def check_found(weir, count, folder):
    code, got = search(weir, folder)
    best = got["hypotheses"][0] if got["hypotheses"] else {}
    count.check(code == 0 and best.get("kind") == "pair" and best.get("metric") == "caffeine"
                and best.get("metric_y") == "sleep_minutes" and best.get("lag") == 1,
                "what was planted is found", got)
    count.check(best.get("verdict") == "validated" and best.get("size", 0) < -0.3
                and best.get("p_confirm", 1) < 0.05 and best.get("q_search", 1) < 0.05,
                "it is validated and confirmed", best)
    count.check(len(best.get("gates", {})) == 7 and "less sleep the day after" in best["words"],
                "gates and words are there", best)
    count.check(len(got["hypotheses"]) <= 5 and "log" not in got, "five at most, and no log")


def check_nothing(weir, count, folder):
    code, got = search(weir, folder, "--user", "calm")
    count.check(code == 0 and not got["hypotheses"] and "Nothing stands" in got["words"],
                "nothing is said to stand", got)
    count.check(got["tests"] > 100 and str(got["tests"]) in got["words"], "and what was tried")
    code, got = search(weir, folder, "--user", "nobody")
    count.check(code == 0 and got["tests"] == 0 and "no days" in got["words"],
                "somebody without data", got)


def check_log(weir, count, folder):
    code, got = search(weir, folder, "--log")
    log = got["log"]
    count.check(code == 0 and len(log) == got["tests"], "every test is in the log")
    tried = {kind: counts["tried"] for kind, counts in got["kinds"].items()}
    count.check(all(sum(t["kind"] == kind for t in log) == n for kind, n in tried.items()),
                "kinds are counted", tried)
    count.check(all(0 <= t["p"] <= 1 and 0 <= t["q"] <= 1 and t["n"] > 0 and t["outcome"]
                    for t in log), "all have p, q, n and an outcome")
    pairs = {(t["metric"], t["metric_y"]) for t in log if t["kind"] == "pair"}
    count.check(len(pairs) == 10 and tried["pair"] == 70, "all pairs with all lags", pairs)
    reported = [t for t in log if t["outcome"] == "reported"]
    count.check(len(reported) == len(got["hypotheses"]), "what is reported is in the log")


def check_same(weir, count, folder):
    first = run(weir, "search", "--json", "--log", "--data", folder).out
    count.check(run(weir, "search", "--json", "--log", "--data", folder).out == first,
                "the same seed gives the same bytes")
    count.check(run(weir, "search", "--data", folder).code == 0, "JSON where there is no terminal")


def check_terminal(weir, count, folder):
    code, out = on_terminal(weir, "search", "--data", folder)
    count.check(code == 0 and out.startswith("1. Days with more caffeine"), "words", out)
    count.check("▁" in out and "█" in out and "validated." in out and "tests were tried" in out,
                "pictures, and what was tried", out)
    code, out = on_terminal(weir, "search", "--data", folder, "--user", "calm")
    count.check(code == 0 and "Nothing stands" in out, "nothing, in words", out)


def check_usage(weir, count, folder):
    for wrong in (["steps"], ["--seed", "x"], ["--user", ""]):
        result = run(weir, "search", *wrong, "--data", folder)
        count.check(result.code == 2 and "Try: weir search --help" in result.err, f"usage {wrong}",
                    result.err)
    result = run(weir, "search", "--data", os.path.join(folder, "none"))
    count.check(result.code == 1 and "no data folder" in result.err, "no folder", result.err)


def main():
    weir, count = program(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        prepare(weir, count, folder)
        check_found(weir, count, folder)
        check_nothing(weir, count, folder)
        check_log(weir, count, folder)
        check_same(weir, count, folder)
        check_terminal(weir, count, folder)
        check_usage(weir, count, folder)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
