#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/ask/oracle.py [QUESTIONS.jsonl USERS_FOLDER]

Answers the `spec` of a question from a person's plain tables, in the slowest and plainest way:
lists of days and the definitions of the statistics, and nothing of weir. Run alone it proves
itself against the answers of the sample questions.

A spec names a table and an operation:

  daily       metric, start, end, op: mean median min max sum sd range, argmin argmax, count
              (cmp, threshold), share (of the days with a value, in percent), weekend_minus_weekday,
              weekday_minus_weekend, ols_slope_per_week, theil_sen_per_week, period_difference and
              period_percent_change (days), window_difference and window_percent_change
              (start, end against start_b, end_b), circular_mean, weekday_argmax, weekday_argmin,
              month_argmax, month_argmin, longest_streak, current_streak, first_day, last_day (cmp,
              threshold), rolling_max, rolling_min (width), nth_max, nth_min (k), top, bottom
              (k; the dates), mean_on_activity_days, on_minus_off (activity), count_nonmissing,
              quantile (q), where_difference (days with the first condition less the others);
              correlations have x, y, lag, method
  activities  activity (absent: any), field, start, end, op: count sum mean max min median argmax
              argmin mean_last_k sum_last_k, last_date first_date, sum_on_days_where,
              count_on_days_where
  labs        analyte, op: latest first last_minus_first percent_change max min mean count
              latest_date argmax argmin

Any of them may have `where`: conditions on the day that must all hold, such as "sleep_minutes<420",
"activity:Run", "no activity:Run", "weekday:5,6" (Monday is 0), and for activities also
"field:distance_km>10"; a shift in days may stand before it, "-1 activity:Run" meaning that the day
before had a run. `convert` names the unit of the answer.
"""
import csv
import datetime
import json
import math
import os
import statistics
import sys

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
CONVERSIONS = {"hours": 1 / 60, "miles": 1 / 1.609344, "pounds": 1 / 0.45359237, "metres": 1000.0}
MOLAR = {"ldl": 38.67, "hdl": 38.67, "triglycerides": 88.57, "fasting_glucose": 18.016,
         "total_cholesterol": 38.67}


def day_of(text):
    return datetime.date.fromisoformat(text)


def minutes_of(text):
    hours, minutes = text.split(":")
    return int(hours) * 60.0 + int(minutes)


class Person:
    """The tables of one person; `daily` is {metric: {date: value}}."""

    def __init__(self, folder, user):
        self.user = user
        self.daily, self.dates = {}, []
        with open(os.path.join(folder, f"{user}_daily.csv"), newline="") as file:
            for row in csv.DictReader(file):
                date = day_of(row.pop("date"))
                self.dates.append(date)
                for name, cell in row.items():
                    series = self.daily.setdefault(name, {})
                    if cell != "":
                        series[date] = minutes_of(cell) if ":" in cell else float(cell)
        self.first, self.today = min(self.dates), max(self.dates)
        self.activities = []
        with open(os.path.join(folder, f"{user}_activities.csv"), newline="") as file:
            for row in csv.DictReader(file):
                session = {"date": day_of(row["date"]), "start": row["start"],
                           "activity": row["activity"]}
                for field in ("duration_min", "distance_km", "avg_hr", "calories"):
                    session[field] = float(row[field]) if row[field] != "" else None
                self.activities.append(session)
        self.activities.sort(key=lambda s: s["start"])
        self.labs = []
        with open(os.path.join(folder, f"{user}_labs.csv"), newline="") as file:
            for row in csv.DictReader(file):
                self.labs.append((day_of(row["date"]), row["analyte"], float(row["value"])))
        self.labs.sort(key=lambda row: row[0])

    def days_with(self, activity):
        return {s["date"] for s in self.activities
                if activity is None or s["activity"] == activity}


def compare(value, cmp, threshold, upper=None):
    if cmp == "between":
        return threshold <= value <= upper
    return {"<": value < threshold, "<=": value <= threshold, ">": value > threshold,
            ">=": value >= threshold, "=": value == threshold, "!=": value != threshold}[cmp]


def split_condition(text):
    for cmp in ("<=", ">=", "!=", "<", ">", "="):
        if cmp in text:
            name, threshold = text.split(cmp)
            return name.strip(), cmp, float(threshold)
    raise ValueError(text)


def holds(person, condition, date):
    """Whether one condition of a `where` holds on that day; one about an absent value does not."""
    head, _, rest = condition.partition(" ")
    if head.lstrip("+-").isdigit():
        return holds(person, rest, date + datetime.timedelta(int(head)))
    if condition.startswith("no "):
        return not holds(person, condition[3:], date)
    if condition.startswith("activity:"):
        name = condition[len("activity:"):]
        return date in person.days_with(None if name == "any" else name)
    if condition.startswith("weekday:"):
        return str(date.weekday()) in condition[len("weekday:"):].split(",")
    if condition.startswith("field:"):
        return True
    name, cmp, threshold = split_condition(condition)
    value = person.daily.get(name, {}).get(date)
    return value is not None and compare(value, cmp, threshold)


def in_window(spec, date):
    return (("start" not in spec or date >= day_of(spec["start"])) and
            ("end" not in spec or date <= day_of(spec["end"])))


def selected(person, spec, name):
    """The (date, value) of a metric in the window on the days that the conditions leave."""
    series = person.daily.get(name, {})
    return [(date, series[date]) for date in sorted(series)
            if in_window(spec, date) and all(holds(person, c, date) for c in spec.get("where", []))]


def mean(values):
    return sum(values) / len(values) if values else None


def less(a, b):
    return None if a is None or b is None else a - b


def percent(new, old):
    return None if new is None or old is None or old == 0 else 100.0 * (new - old) / old


def sd(values):
    return statistics.stdev(values) if len(values) > 1 else None


def quantile(values, q):
    if not values:
        return None
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = int(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def circular_mean(values):
    if not values:
        return None
    angles = [2 * math.pi * v / 1440 for v in values]
    angle = math.atan2(sum(map(math.sin, angles)), sum(map(math.cos, angles)))
    return (angle / (2 * math.pi) * 1440) % 1440


def pearson(xs, ys):
    if len(xs) < 3:
        return None
    mx, my = mean(xs), mean(ys)
    sxy = sum((x - mx) * (y - my) for x, y in zip(xs, ys))
    sxx, syy = sum((x - mx) ** 2 for x in xs), sum((y - my) ** 2 for y in ys)
    return sxy / math.sqrt(sxx * syy) if sxx and syy else None


def ranks(values):
    ordered = sorted(values)
    return [(2 * ordered.index(v) + ordered.count(v) + 1) / 2 for v in values]


def correlation(person, spec):
    ys = person.daily.get(spec["y"], {})
    lag = datetime.timedelta(spec.get("lag", 0))
    pairs = [(value, ys[date + lag]) for date, value in selected(person, spec, spec["x"])
             if date + lag in ys and in_window(spec, date + lag)]
    x, y = [p[0] for p in pairs], [p[1] for p in pairs]
    if spec.get("method") == "spearman":
        x, y = ranks(x), ranks(y)
    return pearson(x, y)


def slope_per_day(points, robust):
    xs, ys = [date.toordinal() for date, _ in points], [value for _, value in points]
    if len(xs) < 2:
        return None
    if robust:
        return statistics.median((ys[j] - ys[i]) / (xs[j] - xs[i])
                                 for i in range(len(xs)) for j in range(i + 1, len(xs)))
    mx, my = mean(xs), mean(ys)
    return (sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs))


def streaks(points, spec):
    """The (first day, length) of every run of consecutive calendar days that meet the threshold."""
    good = [date for date, value in points
            if compare(value, spec.get("cmp", ">="), spec["threshold"])]
    runs = []
    for date in good:
        if runs and date == runs[-1][0] + datetime.timedelta(runs[-1][1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((date, 1))
    return runs


def extreme(points, largest):
    if not points:
        return None
    value = (max if largest else min)(v for _, v in points)
    return min(date for date, v in points if v == value)


def grouped(points, key):
    groups = {}
    for date, value in points:
        groups.setdefault(key(date), []).append(value)
    return {name: mean(values) for name, values in groups.items()}


def grouped_extreme(groups, largest):
    return (max if largest else min)(groups, key=groups.get) if groups else None


def rolling(points, width, start):
    """Means over each `width` days that lie wholly after `start` and have a value on every day."""
    series, means = dict(points), []
    for date in sorted(series):
        days = [date - datetime.timedelta(i) for i in range(width)]
        if days[-1] >= start and all(day in series for day in days):
            means.append((date, mean([series[day] for day in days])))
    return means


def with_window(spec, start, end):
    return dict(spec, start=start.isoformat(), end=end.isoformat())


def period(person, spec):
    """The mean of the last `days` days and that of as many before them."""
    days = spec["days"]
    day = datetime.timedelta(1)
    last = with_window(spec, person.today - (days - 1) * day, person.today)
    previous = with_window(spec, person.today - (2 * days - 1) * day, person.today - days * day)
    return tuple(mean([v for _, v in selected(person, s, spec["metric"])])
                 for s in (last, previous))


def on_days(person, spec, condition):
    spec = dict(spec, where=spec.get("where", []) + [condition])
    return mean([v for _, v in selected(person, spec, spec["metric"])])


def daily_pair(person, spec, op):
    """Operations that compare two groups of days."""
    if op.startswith("period_"):
        new, old = period(person, spec)
        return percent(new, old) if op == "period_percent_change" else less(new, old)
    if op.startswith("window_"):
        new = mean([v for _, v in selected(person, spec, spec["metric"])])
        other = dict(spec, start=spec["start_b"], end=spec["end_b"])
        old = mean([v for _, v in selected(person, other, spec["metric"])])
        return percent(new, old) if op == "window_percent_change" else less(new, old)
    if op in ("weekend_minus_weekday", "weekday_minus_weekend"):
        a, b = (on_days(person, spec, f"weekday:{s}") for s in ("5,6", "0,1,2,3,4"))
        return less(a, b) if op == "weekend_minus_weekday" else less(b, a)
    name = spec.get("activity", "any")
    if op == "mean_on_activity_days":
        return on_days(person, spec, f"activity:{name}")
    if op == "on_minus_off":
        return less(on_days(person, spec, f"activity:{name}"),
                    on_days(person, spec, f"no activity:{name}"))
    if op == "where_difference":
        return less(on_days(person, spec, spec["a"]), on_days(person, spec, spec["b"]))
    raise ValueError(op)


def daily_find(person, spec, op, points):
    """Operations whose answer is a day, a name, or days."""
    if op in ("argmax", "argmin"):
        return extreme(points, op == "argmax")
    if op in ("weekday_argmax", "weekday_argmin"):
        return grouped_extreme(grouped(points, lambda d: WEEKDAYS[d.weekday()]), op[-3:] == "max")
    if op in ("month_argmax", "month_argmin"):
        return grouped_extreme(grouped(points, lambda d: d.isoformat()[:7]), op[-3:] == "max")
    if op in ("first_day", "last_day"):
        days = [d for d, v in points if compare(v, spec["cmp"], spec["threshold"])]
        return (days[0] if op == "first_day" else days[-1]) if days else None
    if op in ("top", "bottom"):
        ordered = sorted(points, key=lambda p: p[1], reverse=op == "top")
        return [d.isoformat() for d, _ in ordered[:spec["k"]]]
    if op == "streak_start":
        runs = streaks(points, spec)
        return max(runs, key=lambda r: r[1])[0] if runs else None
    raise ValueError(op)


def daily_number(person, spec, op, points):
    values = [v for _, v in points]
    simple = {"mean": mean, "median": lambda v: statistics.median(v) if v else None,
              "min": lambda v: min(v) if v else None, "max": lambda v: max(v) if v else None,
              "sum": sum, "sd": sd, "range": lambda v: max(v) - min(v) if v else None,
              "count_nonmissing": len, "circular_mean": circular_mean}
    if op in simple:
        return simple[op](values)
    if op == "quantile":
        return quantile(values, spec["q"])
    if op in ("count", "share"):
        n = sum(compare(v, spec["cmp"], spec["threshold"], spec.get("upper")) for v in values)
        return n if op == "count" else 100.0 * n / len(values) if values else None
    if op in ("ols_slope_per_week", "theil_sen_per_week"):
        slope = slope_per_day(points, op.startswith("theil"))
        return None if slope is None else 7 * slope
    if op == "longest_streak":
        return max((n for _, n in streaks(points, spec)), default=0)
    if op == "current_streak":
        return next((n for d, n in streaks(points, spec)
                     if d + datetime.timedelta(n - 1) == person.today), 0)
    if op in ("rolling_max", "rolling_min"):
        start = day_of(spec["start"]) if "start" in spec else person.first
        means = [v for _, v in rolling(points, spec["width"], start)]
        return (max if op == "rolling_max" else min)(means) if means else None
    if op in ("nth_max", "nth_min"):
        return sorted(values, reverse=op == "nth_max")[spec["k"] - 1]
    if op in ("mean_top", "mean_bottom"):
        return mean(sorted(values, reverse=op == "mean_top")[:spec["k"]])
    raise ValueError(op)


FINDING = ("argmax", "argmin", "weekday_argmax", "weekday_argmin", "month_argmax", "month_argmin",
           "first_day", "last_day", "top", "bottom", "streak_start")
PAIRED = ("weekend_minus_weekday", "weekday_minus_weekend", "mean_on_activity_days", "on_minus_off",
          "where_difference")


def daily(person, spec):
    if "x" in spec:
        return correlation(person, spec)
    op = spec["op"]
    if op in PAIRED or op.startswith(("period_", "window_")):
        return daily_pair(person, spec, op)
    if op == "circular_mean" and "days" in spec:
        spec = with_window(spec, person.today - datetime.timedelta(spec["days"] - 1), person.today)
    points = selected(person, spec, spec["metric"])
    if op in FINDING:
        return daily_find(person, spec, op, points)
    return daily_number(person, spec, op, points)


def sessions_of(person, spec):
    conditions = list(spec.get("where", [])) + ([spec["cond"]] if "cond" in spec else [])
    chosen = [s for s in person.activities
              if spec.get("activity") in (None, s["activity"]) and in_window(spec, s["date"]) and
              all(holds(person, c, s["date"]) for c in conditions)]
    for condition in conditions:
        if condition.startswith("field:"):
            field, cmp, threshold = split_condition(condition[len("field:"):])
            chosen = [s for s in chosen
                      if s[field] is not None and compare(s[field], cmp, threshold)]
    return chosen


def activities(person, spec):
    chosen, op = sessions_of(person, spec), spec["op"]
    field = spec.get("field", "duration_min")
    if op in ("count", "count_on_days_where"):
        return len(chosen)
    if op == "days":
        return len({s["date"] for s in chosen})
    if op in ("last_date", "first_date"):
        return chosen[-1 if op == "last_date" else 0]["date"] if chosen else None
    if op in ("mean_last_k", "sum_last_k"):
        chosen = chosen[-spec["k"]:]
        op = op[:-len("_last_k")]
    points = [(s["date"], s[field]) for s in chosen if s[field] is not None]
    values = [v for _, v in points]
    if op in ("sum", "sum_on_days_where"):
        return sum(values)
    if op in ("argmax", "argmin"):
        return extreme(points, op == "argmax")
    return {"mean": mean, "median": lambda v: statistics.median(v) if v else None,
            "max": lambda v: max(v) if v else None, "min": lambda v: min(v) if v else None,
            "sd": sd}[op](values)


def labs(person, spec):
    points = [(d, v) for d, name, v in person.labs
              if name == spec["analyte"] and in_window(spec, d)]
    op, values = spec["op"], [v for _, v in points]
    if op == "count":
        return len(values)
    if not values:
        return None
    if op == "latest_date":
        return points[-1][0]
    if op in ("argmax", "argmin"):
        return extreme(points, op == "argmax")
    return {"latest": values[-1], "first": values[0], "last_minus_first": values[-1] - values[0],
            "percent_change": percent(values[-1], values[0]), "max": max(values),
            "min": min(values), "mean": mean(values)}[op]


def convert(value, spec):
    unit = spec.get("convert")
    if unit is None or value is None:
        return value
    if unit == "mmol":
        return value / MOLAR[spec["analyte"]]
    return value * CONVERSIONS[unit]


def answer(person, spec):
    """A number, a date as text, a weekday, a month as text, a list of dates, or None."""
    tables = {"daily": daily, "activities": activities, "labs": labs}
    if spec.get("table") not in tables:
        return None
    value = convert(tables[spec["table"]](person, spec), spec)
    if isinstance(value, datetime.date):
        return value.isoformat()
    return float(value) if isinstance(value, (int, float)) else value


def is_same(got, expected):
    """The tolerance of the samples: 2 % of the expected value, or 0.05."""
    if isinstance(got, bool) or isinstance(expected, bool):
        return False
    if isinstance(got, (int, float)) and isinstance(expected, (int, float)):
        return abs(got - expected) <= max(0.02 * abs(expected), 0.05)
    return got == expected


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    samples = os.path.join(here, "..", "..", "..", "shared", "samples", "questions")
    questions = arguments[0] if arguments else os.path.join(samples, "dev.jsonl")
    folder = arguments[1] if len(arguments) > 1 else os.path.join(samples, "users")
    if not os.path.exists(questions):
        print(f"skipped: {questions} is not there\n0 passed, 0 failed, 1 skipped")
        return 0
    people, n_passed, n_failed = {}, 0, 0
    with open(questions, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["user"] not in people:
                people[row["user"]] = Person(folder, row["user"])
            got = answer(people[row["user"]], row["spec"])
            same = got == row["answer"] or (
                isinstance(got, float) and isinstance(row["answer"], float) and
                abs(got - row["answer"]) <= 1e-6 * max(1, abs(got)))
            n_passed, n_failed = n_passed + same, n_failed + (not same)
            if not same:
                print(f"FAIL {row['id']} {row['question']}: {got}, not {row['answer']}")
    print(f"{n_passed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
