#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/gate.py [WEIR]

`weir gate` from outside: the shared findings with known truth (of $WEIR_SAMPLES, or of
../shared/samples beside the project; where they are missing the test says so), a small simulation
with a fixed seed that guards the operating characteristics of docs/gates.md, what is empty,
constant or missing, and what is wrong.
"""
import json
import math
import os
import pathlib
import random
import sys

from support import ROOT, Counter, program, run

SAMPLES = pathlib.Path(os.environ.get("WEIR_SAMPLES", ROOT.parent / "shared" / "samples"))
FINDINGS = SAMPLES / "stats" / "findings.jsonl"
GATES = ["sample_size", "construct_validity", "effect_vs_noise", "bootstrap",
         "subgroup_consistency", "method_triangulation", "discriminative_power"]
KINDS = {"mean": ["x"], "median": ["x"], "trend": ["y"], "period_difference": ["a", "b"],
         "weekday_weekend": ["x"], "correlation": ["x", "y"], "lagged_correlation": ["x", "y"],
         "anomaly": ["x"]}
METRICS = {"metric": "resting_heart_rate", "metric_x": "resting_heart_rate", "metric_y": "weight_kg"}

WRONG = [
    "no JSON",
    '{"kind":"luck","inputs":{}}',
    '{"kind":"trend"}',
    '{"kind":"trend","inputs":{"metric":"steps","y":[1,"2"]}}',
    '{"kind":"trend","inputs":{"metric":"steps","y":7}}',
    '{"kind":"anomaly","inputs":{"metric":"steps","x":[1],"index":1.5}}',
    '{"kind":"anomaly","inputs":{"metric":"steps","x":[1]}}',
    '{"kind":"weekday_weekend","inputs":{"metric":"steps","x":[1],"weekend_positions":[7]}}',
    '{"kind":"trend","inputs":{"metric":"steps","y":[1],"sources":"watch"}}',
    '{"kind":"trend","inputs":{"metric":"steps","y":[1],"sources":[1]}}',
    '{"kind":"trend","inputs":{"metric":"steps","y":[1],"device_change":"today"}}',
    '{"kind":"anomaly","inputs":{"metric":"steps","x":[1],"other":7}}',
    '{"kind":"weekday_weekend","inputs":{"metric":"steps","x":[1],"weekend_positions":"5"}}',
    '{"kind":"mean","inputs":{"metric":"steps","x":[1' + ",1" * 40000 + "]}}",
]


def answers(weir, lines, *options):
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    result = run(weir, "gate", *options, data=text.encode() + b"\n")
    return result.code, [json.loads(line) for line in result.out.splitlines()]


def verdict_of(gates):
    """The rule of the gates, from their states alone."""
    failed = {gate["gate"] for gate in gates if gate["status"] == "failed"}
    if failed & set(GATES[:3]):
        return "rejected"
    return "conditional" if failed else "validated"


def is_whole(answer):
    return ([gate["gate"] for gate in answer["gates"]] == GATES
            and all(gate["why"] and gate["status"] in ("passed", "failed", "skipped")
                    for gate in answer["gates"])
            and all(gate["detail"] for gate in answer["gates"] if gate["status"] != "skipped")
            and all(value is None or math.isfinite(value)
                    for gate in answer["gates"] for value in gate["detail"].values())
            and verdict_of(answer["gates"]) == answer["verdict"]
            and answer["assessment"])


def shares(findings, got):
    nulls = [a["verdict"] for f, a in zip(findings, got) if not f["real"]]
    real = [a["verdict"] for f, a in zip(findings, got) if f["real"]]
    return nulls.count("validated") / len(nulls), 1 - real.count("rejected") / len(real)


def check_samples(weir, count):
    if not FINDINGS.exists():
        count.skip(f"there is no {FINDINGS}; $WEIR_SAMPLES can name the samples")
        return
    findings = [json.loads(line) for line in FINDINGS.read_text(encoding="utf-8").splitlines()]
    status, got = answers(weir, findings)
    count.check(status == 0 and [a["id"] for a in got] == [f["id"] for f in findings],
                "all findings are answered in their order")
    count.check(all(map(is_whole, got)), "every verdict follows from its gates")
    wrong, right = shares(findings, got)
    count.check(wrong <= 0.05, f"nulls validated: {wrong:.1%}")
    count.check(right >= 0.90, f"real effects accepted: {right:.1%}")


# ---- a simulation of our own ----

def noise(draw, n, phi):
    e, out = draw.gauss(0, 1), []
    for _ in range(n):
        out.append(e)
        e = phi * e + math.sqrt(1 - phi * phi) * draw.gauss(0, 1)
    return out


def planted(draw, kind, n, phi, is_real):
    """A finding of this kind, with or without what it claims."""
    x, y, lag = noise(draw, n, phi), noise(draw, n, phi), int(kind == "lagged_correlation")
    size = is_real * draw.choice([-1, 1])
    inputs = dict(METRICS)
    if kind == "trend":
        x = [v + 2.2 * size * i / (n - 1) for i, v in enumerate(x)]
    elif kind == "period_difference":
        x = [v + 1.6 * size * (i >= n // 2) for i, v in enumerate(x)]
    elif kind == "weekday_weekend":
        x = [v + 1.1 * size * (i % 7 >= 5) for i, v in enumerate(x)]
    elif kind == "anomaly":
        inputs["index"] = n // 2 if is_real else max(range(n), key=lambda i: abs(x[i]))
        x[n // 2] += 6.5 * size
    else:
        y = [0.65 * size * x[max(i - lag, 0)] + math.sqrt(1 - (0.65 * size) ** 2) * v
             for i, v in enumerate(y)]
        inputs |= {"lag": lag, "y": [78 + v for v in y]}
    x = [60 + 2.5 * v for v in x]
    if kind == "period_difference":
        inputs |= {"a": x[:n // 2], "b": x[n // 2:]}
    else:
        inputs["y" if kind == "trend" else "x"] = x
    return {"kind": kind, "real": is_real, "inputs": inputs}


def check_simulation(weir, count):
    draw = random.Random(20260601)
    findings = [planted(draw, kind, n, phi, is_real)
                for kind in KINDS if kind not in ("mean", "median")
                for n in (42, 63, 91) for phi in (0, 0.3, 0.5, 0.7)
                for is_real in (False, True) for _ in range(5)]
    status, got = answers(weir, findings)
    wrong, right = shares(findings, got)
    count.check(status == 0 and all(map(is_whole, got)), "the simulation is answered")
    count.check(wrong <= 0.04, f"simulated nulls validated: {wrong:.1%}")
    count.check(right >= 0.90, f"simulated effects accepted: {right:.1%}")
    count.check(answers(weir, findings[:20]) == answers(weir, findings[:20]),
                "the same seed gives the same numbers")
    count.check(answers(weir, findings[:20])[1] != answers(weir, findings[:20], "--seed", "2")[1],
                "another seed draws others")


# ---- who measured it ----

def check_devices(weir, count):
    """A change of device bars every kind, however it is said, but of one day."""
    draw = random.Random(20260602)
    for kind in KINDS:
        base = planted(draw, kind, 84, 0.3, True)
        size = {"mean": 84, "median": 84}.get(kind) or len(base["inputs"].get("a", [0] * 84))
        half = size // 2
        said = [{"device_change": half}, {"sources": ["watch"] * half + [None, "band"]}]
        if len(KINDS[kind]) > 1:
            said += [{"device_change_b": 9}, {"sources_b": ["watch"] * 9 + ["band"]}]
        if kind == "period_difference":
            said += [{"one_device": False}, {"sources": ["watch"], "sources_b": [None, "band"]}]
        same = {"sources": ["watch", None, "watch"], "sources_b": ["watch"], "one_device": True}
        lines = [base | {"inputs": base["inputs"] | more} for more in [same, *said]]
        _, got = answers(weir, lines)
        barred = [a["gates"][1]["status"] == "failed" for a in got]
        want = [False] + [kind != "anomaly"] * len(said)
        count.check(barred == want, f"{kind}: devices bar it: {barred}")


def check_other_source(weir, count):
    draw = random.Random(20260603)
    base = planted(draw, "anomaly", 84, 0.3, True)
    x, at = base["inputs"]["x"], base["inputs"]["index"]
    agrees = [v + draw.gauss(0, 0.5) for v in x]
    others = [agrees, agrees[:at] + [60] + agrees[at + 1:], []]
    lines = [base | {"inputs": base["inputs"] | {"other": other}} for other in others]
    _, got = answers(weir, [base, *lines])
    states = [a["gates"][4]["status"] for a in got]
    count.check(states == ["skipped", "passed", "failed", "skipped"], f"another source: {states}")


# ---- what is odd ----

def check_odd(weir, count):
    odd = {"empty": [], "one": [60], "missing": [None] * 60, "constant": [60.1] * 60,
           "huge": [1e308, -1e308] * 30, "single": [None] * 30 + [60] + [None] * 30}
    lines = [{"id": f"{kind} {name}", "kind": kind,
              "inputs": METRICS | {"index": 30} | {row: values for row in rows}}
             for kind, rows in KINDS.items() for name, values in odd.items()]
    status, got = answers(weir, lines)
    count.check(status == 0 and len(got) == len(lines), "odd inputs are no error")
    for line, answer in zip(lines, got):
        is_level = line["kind"] in ("mean", "median") and "constant" in line["id"]
        count.check(is_whole(answer) and (is_level or answer["verdict"] == "rejected"),
                    f"{line['id']}: {answer}")


def check_unknown_metric(weir, count):
    line = {"kind": "mean", "inputs": METRICS | {"metric": "luck", "x": [60, 61] * 30}}
    _, got = answers(weir, [line])
    count.check(got[0]["gates"][1]["status"] == "failed", "another name does not save a metric")


def check_infinite(weir, count):
    """Numbers beyond the range of a double are values that cannot be, not errors."""
    for kind, rows in KINDS.items():
        inputs = METRICS | {"index": 30} | {row: "ROW" for row in rows}
        line = json.dumps({"kind": kind, "inputs": inputs})
        status, got = answers(weir, [line.replace('"ROW"', "[" + "1e999,-1e999," * 30 + "60]")])
        count.check(status == 0 and is_whole(got[0]) and got[0]["verdict"] == "rejected",
                    f"{kind} infinite: {got}")


def check_times(weir, count):
    """Bedtimes around midnight are near each other, whatever the kind of finding."""
    draws = random.Random(5)
    near = [round(draws.gauss(-5, 20)) for _ in range(60)]
    x = [m % 1440 for m in near]
    inputs = {"metric": "bedtime", "x": x, "y": x, "a": x[:30], "b": x[30:], "index": 30}
    _, got = answers(weir, [{"id": k, "kind": k, "inputs": inputs} for k in KINDS])
    by_kind = {g["id"]: g for g in got}
    mean = (by_kind["mean"]["estimate"] + 720) % 1440 - 720
    count.check(abs(mean - sum(near) / 60) < 1e-9, f"a mean bedtime: {by_kind['mean']}")
    middle = (by_kind["median"]["estimate"] + 720) % 1440 - 720
    count.check(abs(middle - sorted(near)[29] / 2 - sorted(near)[30] / 2) < 1e-9,
                f"a median bedtime: {by_kind['median']}")
    change = sum(near[30:]) / 30 - sum(near[:30]) / 30
    count.check(abs(by_kind["period_difference"]["estimate"] - change) < 1e-9,
                f"a change of bedtimes: {by_kind['period_difference']}")
    count.check(abs(by_kind["trend"]["estimate"]) < 60, f"a trend of bedtimes: {by_kind['trend']}")
    x[30] = 300
    _, got = answers(weir, [{"id": "late", "kind": "anomaly", "inputs": inputs}])
    count.check(got[0]["verdict"] == "validated" and 280 < got[0]["estimate"] < 330,
                f"to bed at 5 in the morning: {got[0]}")


def check_median(weir, count):
    """A median is judged as one, with an interval about it."""
    x = [60.0, 61.0, 62.0, 59.0, 58.0, 90.0, 61.0] * 6
    inputs = {"metric": "resting_heart_rate", "x": x}
    _, got = answers(weir, [{"kind": k, "inputs": inputs} for k in ("mean", "median")])
    count.check(abs(got[0]["estimate"] - sum(x) / 42) < 1e-9, f"mean: {got[0]}")
    count.check(got[1]["estimate"] == 61, f"median: {got[1]}")
    lo, hi = got[1]["interval"]
    count.check(lo < 61 < hi and abs((lo + hi) / 2 - 61) < 1e-9, f"median: {got[1]}")


def check_wrong(weir, count):
    for line in WRONG:
        status, got = answers(weir, [line, {"id": "next", "kind": "mean", "inputs": {"x": []}}])
        count.check(status == 1 and "error" in got[0], f"{line}: {got}")
        count.check(got[1]["id"] == "next" and is_whole(got[1]), f"the line behind {line}")


def main():
    weir = program()
    count = Counter()
    check_samples(weir, count)
    check_simulation(weir, count)
    check_devices(weir, count)
    check_other_source(weir, count)
    check_odd(weir, count)
    check_infinite(weir, count)
    check_times(weir, count)
    check_median(weir, count)
    check_unknown_metric(weir, count)
    check_wrong(weir, count)
    return count.finish()


sys.exit(main())
