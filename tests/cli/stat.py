#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/stat.py [WEIR]

`weir stat` from outside: the shared reference values (of $WEIR_SAMPLES, or of ../shared/samples
beside the project; where they are missing the test says so), what is not defined, and what is
wrong.
"""
import json
import os
import pathlib
import sys

from support import ROOT, Counter, program, run

SAMPLES = pathlib.Path(os.environ.get("WEIR_SAMPLES", ROOT.parent / "shared" / "samples"))
REFERENCE = SAMPLES / "stats" / "reference.jsonl"

UNDEFINED = [
    ("mean", {"x": []}, None),
    ("median", {"x": [None]}, None),
    ("sd", {"x": [3]}, None),
    ("sd", {"x": [1e308, -1e308, 1e308]}, None),
    ("geometric_mean", {"x": [1, 0]}, None),
    ("percent_change", {"from": 0, "to": 1}, None),
    ("autocorr_lag1", {"x": [2, 2, 2, 2]}, None),
    ("auc", {"score": [1, 2], "label": [1, 1]}, None),
    ("pearson", {"x": [1, 1, 1], "y": [1, 2, 3]}, {"r": None, "p": None, "n": 3}),
    ("theil_sen", {"x": [1, 1], "y": [2, 3]}, {"slope": None, "lo": None}),
    ("mann_kendall", {"x": [5, 5, 5, 5]}, {"S": 0, "z": None, "p": None}),
    ("welch_t", {"a": [1, 1], "b": [1, 1]}, {"diff": 0, "p": None}),
    ("wilcoxon_signed_rank", {"d": [0, 0]}, {"W_min": None, "p": None}),
    ("bootstrap_ci_range", {"x": [], "statistic": "mean"}, {"ci_low": None}),
    ("permutation_mean_diff_exact", {"a": [1], "b": []}, {"p": None}),
    ("anomalies", {"x": [1, 1, 1], "rule": "robust_z"}, {"indices": []}),
    ("bh_adjust", {"p": []}, []),
]

WRONG = [
    "no JSON",
    '{"op":"no_such_op","inputs":{}}',
    '{"op":"mean"}',
    '{"op":"mean","inputs":{"x":[1,"2"]}}',
    '{"op":"quantile_type7","inputs":{"x":[1],"p":2}}',
    '{"op":"anomalies","inputs":{"x":[1],"rule":"luck"}}',
    '{"op":"bootstrap_ci_range","inputs":{"x":[1],"statistic":"luck"}}',
]


def is_near(got, want, tolerance):
    if isinstance(want, dict):
        return all(is_inside(got, name, member, tolerance) for name, member in want.items())
    if isinstance(want, list):
        return len(got) == len(want) and all(map(lambda g, w: is_near(g, w, tolerance), got, want))
    if want is None or isinstance(want, bool) or not isinstance(got, (int, float)):
        return got is want
    return abs(got - want) <= max(tolerance["rel"] * abs(want), tolerance["abs"])


def is_inside(got, name, want, tolerance):
    """Members called ..._in give a range for what a draw may give."""
    if name.endswith("_in"):
        return want[0] <= got[name[:-3]] <= want[1]
    return is_near(got.get(name, "missing"), want, tolerance)


def answers(weir, lines):
    result = run(weir, "stat", data="\n".join(lines).encode() + b"\n")
    return result.code, [json.loads(line) for line in result.out.splitlines()]


def check_reference(weir, count):
    if not REFERENCE.exists():
        count.skip(f"there is no {REFERENCE}; $WEIR_SAMPLES can name the samples")
        return
    lines = REFERENCE.read_text(encoding="utf-8").splitlines()
    status, got = answers(weir, lines)
    count.check(status == 0 and len(got) == len(lines), "all reference lines are answered")
    for line, answer in zip(lines, got):
        want = json.loads(line)
        count.check(answer["id"] == want["id"] and
              is_near(answer.get("result"), want["expected"], want["tolerance"]),
              f"{want['id']} {want['op']}: {answer}")


def check_undefined(weir, count):
    lines = [json.dumps({"id": i, "op": op, "inputs": x}) for i, (op, x, _) in enumerate(UNDEFINED)]
    status, got = answers(weir, lines)
    count.check(status == 0, "what is not defined is no error")
    for (op, inputs, want), answer in zip(UNDEFINED, got):
        count.check("result" in answer and is_near(answer["result"], want, {"rel": 0, "abs": 0}),
              f"{op} {inputs}: {answer}")


def check_wrong(weir, count):
    for line in WRONG:
        status, got = answers(weir, [line, '{"id":"next","op":"mean","inputs":{"x":[1]}}'])
        count.check(status == 1 and "error" in got[0], f"{line}: {got}")
        count.check(got[1] == {"id": "next", "result": 1}, f"the line behind {line} is answered")


def check_draws(weir, count):
    line = json.dumps({"op": "bootstrap_ci_range",
                       "inputs": {"x": list(range(40)), "statistic": "median"}})
    count.check(answers(weir, [line]) == answers(weir, [line]), "draws are the same every time")


def main():
    weir = program()
    count = Counter()
    check_reference(weir, count)
    check_undefined(weir, count)
    check_wrong(weir, count)
    check_draws(weir, count)
    names = run(weir, "stat", "--ops").out.decode().split()
    count.check("mean" in names and len(names) == len(set(names)), "--ops lists the operations")
    return count.finish()


sys.exit(main())
