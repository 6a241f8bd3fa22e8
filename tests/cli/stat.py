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
    ("sd", {"x": [5e-324], "ddof": 1}, None),
    ("moments", {"x": [4]}, {"n": 1, "mean": 4, "sd": None, "skewness": None}),
    ("quantile_type7", {"x": [], "p": 0.5}, None),
    ("percent_change", {"from": None, "to": 1}, None),
    ("t_quantile", {"p": 1, "df": 3}, None),
    ("f_quantile", {"p": 1, "df1": 3, "df2": 2}, None),
    ("autocorr_lag1", {"x": [0.1] * 7}, None),
    ("autocorrelation", {"x": [1, 2, 4], "lag": 5}, None),
    ("effective_n_mean", {"x": [7, 7, 7]}, {"lag1": None, "n_eff": None}),
    ("kendall_tau_b", {"x": [1, 2, 2], "y": [1, 2, 3], "p_method": "exact"}, {"p": None, "n": 3}),
    ("mann_whitney", {"a": [1, 1], "b": [1], "p_method": "exact"}, {"p": None, "auc": 0.5}),
    ("paired_t", {"d": [3]}, {"mean": 3, "t": None, "p": None, "ci_lo": None}),
    ("effect_size", {"a": [1, 1], "b": [2, 2]}, {"cohen_d": None}),
    ("ols", {"x": [1, 2, 3], "y": [4, 4, 4]}, {"slope": 0, "r2": None, "p": None}),
    ("lagged_pearson", {"x": [1, 2, 3], "y": [1, 2, 3], "lag": 9}, {"r": None, "n_pairs": 0}),
    ("circular_clock_mean", {"minutes": [0, 720]}, {"mean_minute": None}),
    ("week_paired_contrast", {"x": [1] * 7, "group_b_positions": [5]}, {"n_weeks": 1, "p": None}),
    ("week_bootstrap_ci", {"x": [1, 2], "statistic": "mean"}, {"ci_low": None}),
    ("bootstrap_ci_range", {"x": [1], "statistic": "mean", "method": "bca"},
     {"ci_low": 1, "ci_high": 1}),
    ("geometric_mean", {"x": [1, 0]}, None),
    ("percent_change", {"from": 0, "to": 1}, None),
    ("autocorr_lag1", {"x": [2, 2, 2, 2]}, None),
    ("auc", {"score": [1, 2], "label": [1, 1]}, None),
    ("pearson", {"x": [1, 1, 1], "y": [1, 2, 3]}, {"r": None, "p": None, "n": 3}),
    ("pearson_effective_n", {"x": [1, 1, 1], "y": [1, 2, 3]}, {"r": None, "n_eff": None}),
    ("theil_sen", {"x": [1, 1], "y": [2, 3]}, {"slope": None, "lo": None}),
    ("mann_kendall_ar1", {"x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]},
     {"S": 45, "lag1_detrended": None, "inflation": 1}),
    ("welch_effective_n", {"a": [1, 2, 3, 4, 5], "b": [9, 8, 7, 6, 5]},
     {"diff": -4, "df": None, "p": None}),
    ("mann_kendall", {"x": [5, 5, 5, 5]}, {"S": 0, "z": None, "p": None}),
    ("welch_t", {"a": [1, 1], "b": [1, 1]}, {"diff": 0, "p": None}),
    ("wilcoxon_signed_rank", {"d": [0, 0]}, {"W_min": None, "p": None}),
    ("bootstrap_ci_range", {"x": [], "statistic": "mean"}, {"ci_low": None}),
    ("permutation_mean_diff_exact", {"a": [1], "b": []}, {"p": None}),
    ("anomalies", {"x": [1, 1, 1], "rule": "robust_z"}, {"indices": []}),
    ("bh_adjust", {"p": []}, []),
    ("bh_adjust", {"p": [0.01, None, 0.5]}, [0.02, None, 0.5]),
]

# Values that a double can hold although a sum or a square of them cannot.
EXTREME = [
    ("mean", {"x": [1e308, 1e308, 1e308]}, 1e308),
    ("median", {"x": [1e308, -1e308]}, 0),
    ("sd", {"x": [1e308, -1e308]}, 1.4142135623730951e308),
    ("sd", {"x": [1e-200, 2e-200]}, 7.0710678118654755e-201),
    ("sd", {"x": [1e15, 1e15 + 1, 1e15 + 2]}, 1),
    ("sd", {"x": [0.1] * 7}, 0),
    ("pearson", {"x": [1e-200, 2e-200, 5e-200, 1e-199], "y": [1, 2, 3, 9]},
     {"r": 0.9753377565244629, "p": 0.02466224347553713}),
    ("ols", {"x": [1e15, 1e15 + 1, 1e15 + 2, 1e15 + 4], "y": [1e-200, 2e-200, 3e-200, 4e-200]},
     {"slope": 6.5e-200 / 8.75, "r2": 6.5 ** 2 / (8.75 * 5)}),
    ("welch_t", {"a": [1e200, 2e200, 3e200], "b": [2e200, 3e200, 7e200]},
     {"diff": -2e200, "t": -1.2247448713915892}),
    ("permutation_mean_diff_exact", {"a": [1e15, 1e15 + 1], "b": [1e15 + 2, 1e15 + 3]},
     {"diff": -2, "p": 1 / 3, "n_permutations": 6}),
    ("welch_t", {"a": [1e15 + 1, 1e15 + 2, 1e15 + 4], "b": [1e15 + 4, 1e15 + 4, 1e15 + 6]},
     {"diff": -7 / 3, "t": -7 / 3 / (11 / 9) ** 0.5}),
    ("effect_size", {"a": [1e15 + 1, 1e15 + 2, 1e15 + 4], "b": [1e15 + 4, 1e15 + 4, 1e15 + 6]},
     {"cohen_d": -7 / 3 / (11 / 6) ** 0.5}),
    ("theil_sen", {"x": [0, 1, 2], "y": [-1e308, 0, 1e308]}, {"slope": 1e308, "intercept": -1e308}),
    ("t_two_sided_p", {"t": 1e200, "df": 1}, 6.3661977236758134e-201),
    ("t_two_sided_p", {"t": 2.1, "df": 1e12}, 0.035728841125882954),
    ("circular_clock_mean", {"minutes": [77, 77, 77]}, {"mean_minute": 77, "circular_sd_min": 0}),
]

WRONG = [
    "no JSON",
    '{"op":"no_such_op","inputs":{}}',
    '{"op":"mean"}',
    '{"op":"mean","inputs":{"x":[1,"2"]}}',
    '{"op":"quantile_type7","inputs":{"x":[1],"p":2}}',
    '{"op":"anomalies","inputs":{"x":[1],"rule":"luck"}}',
    '{"op":"bootstrap_ci_range","inputs":{"x":[1],"statistic":"luck"}}',
    '{"op":"bootstrap_ci_range","inputs":{"x":[1],"statistic":"mean","method":"luck"}}',
    '{"op":"bootstrap_ci_range","inputs":{"x":[1],"statistic":"mean","seed":-1}}',
    '{"op":"bootstrap_ci_range","inputs":{"x":[1],"statistic":"mean","block":1e300}}',
    '{"op":"bootstrap_ci_range","inputs":{"x":[1]}}',
    '[1]',
    '"mean"',
    '{"op":"mean","inputs":[1]}',
    '{"op":"mean","inputs":{"x":1}}',
    '{"op":"mean","inputs":{"x":[true]}}',
    '{"op":"mean","inputs":{"x":[[1]]}}',
    '{"op":"mean","inputs":{"x":[NaN]}}',
    '{"op":"mean","inputs":{"x":[1e999]}}',
    '{"op":["mean"],"inputs":{"x":[1]}}',
    '{"op":"sd","inputs":{"x":[1,2],"ddof":-1}}',
    '{"op":"trimmed_mean","inputs":{"x":[1],"proportion":0.5}}',
    '{"op":"pearson","inputs":{"x":[1,2,3],"y":[1,2]}}',
    '{"op":"mean_ci_t","inputs":{"x":[1,2],"confidence":1}}',
    '{"op":"lagged_pearson","inputs":{"x":[1,2],"y":[1,2],"lag":0.5}}',
    '{"op":"lagged_pearson","inputs":{"x":[1,2],"y":[1,2]}}',
    '{"op":"rolling_mean","inputs":{"x":[1,2]}}',
    '{"op":"rolling_mean","inputs":{"x":[1,2],"window":0}}',
    '{"op":"auc","inputs":{"score":[1,2],"label":[0,3]}}',
    '{"op":"auc","inputs":{"score":[1,2],"label":[0]}}',
    '{"op":"bh_adjust","inputs":{"p":[0.1,1.5]}}',
    '{"op":"t_two_sided_p","inputs":{"t":1,"df":0}}',
    '{"op":"f_upper_p","inputs":{"f":1,"df1":1}}',
    '{"op":"mdc95","inputs":{"sd":1,"icc":1.5}}',
    '{"op":"week_paired_contrast","inputs":{"x":[1],"group_b_positions":[7]}}',
    '{"op":"kendall_tau_b","inputs":{"x":[1,2],"y":[1,2],"p_method":"luck"}}',
]

# For every operation: rows that break what is careless.
HOSTILE_ROWS = [
    [], [1], [None], [None, None, 3], [1, 2], [2, 2], [0, 0, 0], [5] * 50, [-1, 1] * 4,
    [1e15 + i for i in range(9)], [1e-320, 2e-320, 5e-324, 0, 1e-322], [1e308, -1e308, 1e308, 0],
    [0.1] * 9, [1e308] * 9, [i % 3 for i in range(40)], [(i * 7919) % 101 / 7 for i in range(60)],
]
HOSTILE_NUMBERS = [0, 1, -1, 0.5, 1e-300, 1e300, None]
ROW_NAMES = ["x", "y", "a", "b", "d", "minutes", "ledger"]
NUMBER_NAMES = ["t", "z", "f", "df", "df1", "df2", "sd", "icc", "cv_analytical", "cv_within",
                "from", "to", "value"]


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


def no_constant(text):
    raise ValueError(f"{text} is no JSON")


def answers(weir, lines):
    result = run(weir, "stat", data="\n".join(lines).encode() + b"\n")
    return result.code, [json.loads(line, parse_constant=no_constant)
                         for line in result.out.splitlines()]


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
        count.check("undefined" in answer or not holds_null(answer["result"]),
                    f"{op} {inputs} has a reason: {answer}")
        count.check("result" in answer and is_near(answer["result"], want, {"rel": 0, "abs": 0}),
              f"{op} {inputs}: {answer}")


def holds_null(value):
    if isinstance(value, dict):
        return any(map(holds_null, value.values()))
    return value is None


def check_extreme(weir, count):
    lines = [json.dumps({"op": op, "inputs": x}) for op, x, _ in EXTREME]
    status, got = answers(weir, lines)
    count.check(status == 0, "extreme values are no error")
    for (op, inputs, want), answer in zip(EXTREME, got):
        count.check(is_near(answer["result"], want, {"rel": 1e-12, "abs": 0}),
                    f"{op} {inputs}: {answer}")


def hostile_inputs():
    for row in HOSTILE_ROWS:
        inputs = dict.fromkeys(ROW_NAMES, row)
        inputs |= {"p": 0.5, "window": 3, "lag": 1, "statistic": "mean", "group_b_positions": [5],
                   "score": row, "label": [i % 2 for i in range(len(row))], "min_iterations": 1}
        inputs |= dict.fromkeys(NUMBER_NAMES, 1)
        yield inputs
    for value in HOSTILE_NUMBERS:
        yield dict.fromkeys(ROW_NAMES, [1, 2, 3]) | dict.fromkeys(NUMBER_NAMES, value) | {"p": value}


def check_hostile(weir, count, names):
    lines = [json.dumps({"id": i, "op": name, "inputs": inputs})
             for name in names for i, inputs in enumerate(hostile_inputs())]
    _, got = answers(weir, lines)
    count.check(len(got) == len(lines), "every hostile line is answered")
    for line, answer in zip(lines, got):
        has_reason = bool(answer.get("error") or answer.get("undefined"))
        is_explained = has_reason or not holds_null(answer.get("result"))
        count.check(is_explained, f"what is null has a reason: {line}: {answer}")


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
    listed = run(weir, "stat", "--ops").out.decode().splitlines()
    names = [line for line in listed if not line.startswith(" ")]
    count.check("mean" in names and len(names) == len(set(names)), "--ops lists the operations")
    manual = (ROOT / "man" / "weir-stat.1").read_text(encoding="utf-8").replace(",", " ").split()
    unknown = [name for name in names if name not in manual]
    count.check(not unknown, f"the manual has all operations but {unknown}")
    check_extreme(weir, count)
    check_hostile(weir, count, names)
    return count.finish()


sys.exit(main())
