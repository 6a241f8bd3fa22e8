#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/plan/samples.py [WEIR]

The plans behind the shared sample questions, over the tables of the six invented people: every
specification becomes a plan in JSON, and every value must be as expected.
"""
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import ROOT, Counter, program, run  # noqa: E402

SAMPLES = pathlib.Path(os.environ.get("WEIR_SAMPLES", ROOT.parent / "shared" / "samples"))
FIELDS = {"duration_min": "minutes", "distance_km": "km", "calories": "kcal", "avg_hr": "avg_hr"}
UNITS = {"hours": "h", "miles": "mi"}


def window_of(spec):
    return {"from": spec["start"], "to": spec["end"]} if "start" in spec else None


def plan_of_days(spec):
    op = spec.get("op")
    plan = {"metric": spec.get("metric", spec.get("x")), "window": window_of(spec)}
    days = spec.get("days")
    if op in ("mean", "median", "sum", "min", "max", "sd"):
        plan |= {"op": "aggregate", "stat": op, "unit": UNITS.get(spec.get("convert"))}
    elif op == "count":
        plan |= {"op": "count", "having": {"cmp": spec["cmp"], "value": spec["threshold"]}}
    elif op == "count_nonmissing":
        plan |= {"op": "count"}
    elif op in ("argmin", "argmax"):
        plan |= {"op": "extreme", "pick": op[3:], "answer": "date"}
    elif op == "weekend_minus_weekday":
        plan |= {"op": "compare", "where": [{"weekdays": "weekend"}],
                 "b": {"where": [{"weekdays": "workweek"}]}}
    elif op in ("period_difference", "period_percent_change"):
        plan |= {"op": "compare", "window": {"last_days": days},
                 "b": {"window": {"last_days": days, "skip_days": days}},
                 "result": "percent" if "percent" in op else "difference"}
    elif op in ("ols_slope_per_week", "theil_sen_per_week"):
        plan |= {"op": "trend", "method": op[:-len("_per_week")].replace("_slope", ""), "per": "week"}
    elif op is None:
        plan |= {"op": "correlate", "with": spec["y"], "lag_days": spec["lag"],
                 "method": spec["method"]}
    elif op == "mean_on_activity_days":
        plan |= {"op": "aggregate", "where": [{"workout": spec["activity"]}]}
    elif op == "on_minus_off":
        plan |= {"op": "compare", "where": [{"workout": spec["activity"]}],
                 "b": {"where": [{"workout": spec["activity"], "not": True}]}}
    elif op == "longest_streak":
        plan |= {"op": "streak", "having": {"cmp": ">=", "value": spec["threshold"]}}
    elif op == "circular_mean":
        plan |= {"op": "aggregate", "window": {"last_days": days}}
    elif op == "weekday_argmax":
        plan |= {"op": "group", "by": "weekday", "pick": "max"}
    else:
        return None
    return plan


def plan_of_workouts(spec):
    plan = {"workouts": spec["activity"], "window": window_of(spec), "op": "aggregate"}
    op = spec["op"]
    if op == "count":
        return plan | {"op": "count"}
    if op == "mean_last_k":
        return plan | {"stat": "mean", "newest": spec["k"]}
    if op == "sum_on_days_where":
        metric, cmp, value = re.fullmatch(r"(\w+)([<>]=?)([\d.]+)", spec["cond"]).groups()
        return plan | {"stat": "sum",
                       "where": [{"metric": metric, "cmp": cmp, "value": float(value)}]}
    return plan | {"stat": op, "field": FIELDS[spec["field"]],
                   "unit": UNITS.get(spec.get("convert"))}


def plan_of_labs(spec):
    if spec["op"] == "latest":
        return {"op": "aggregate", "lab": spec["analyte"], "stat": "last"}
    return {"op": "change", "lab": spec["analyte"]}


def plan_of(question):
    spec = question["spec"]
    if spec["op" if "op" in spec else "table"] == "metric_absent":
        return {"op": "aggregate", "metric": "blood_oxygen", "window": {"last_days": 30}}
    if spec.get("op") == "window_outside_data":
        return {"op": "aggregate", "metric": "steps",
                "window": {"from": "2027-02-01", "to": "2027-02-28"}}
    of = {"daily": plan_of_days, "activities": plan_of_workouts, "labs": plan_of_labs}
    plan = of[spec["table"]](spec)
    return plan and {key: value for key, value in plan.items() if value is not None}


def is_right(answer, got):
    value = got.get("value")
    if answer is None:
        return "unanswerable" in got and value is None
    if isinstance(answer, str) or not isinstance(value, (int, float)):
        return value == answer
    return abs(value - answer) <= max(2e-6 * abs(answer), 2e-6)


def main():
    weir, count = program(), Counter()
    path = SAMPLES / "questions" / "dev.jsonl"
    if not path.exists():
        count.skip(f"{path} is not there")
        return count.finish()
    questions = [json.loads(line) for line in path.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        for user in sorted({q["user"] for q in questions}):
            tables = sorted(str(p) for p in (SAMPLES / "questions" / "users").glob(f"{user}_*.csv"))
            result = run(weir, "import", *tables, "--user", user, "--data", folder, "--quiet")
            count.check(result.code == 0, f"the tables of {user} are imported", result.err)
            mine = [q for q in questions if q["user"] == user]
            plans = [plan_of(q) for q in mine]
            lines = "".join(json.dumps(plan) + "\n" for plan in plans)
            result = run(weir, "plan", "--batch", "--user", user, "--data", folder,
                         data=lines.encode())
            answers = [json.loads(line) for line in result.out.decode().splitlines()]
            count.check(result.code == 0 and len(answers) == len(plans),
                        f"each plan of {user} has an answer", result.err)
            for question, plan, got in zip(mine, plans, answers):
                count.check(is_right(question["answer"], got), question["id"],
                            f"{json.dumps(plan)} should be {question['answer']}: {json.dumps(got)}")
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
