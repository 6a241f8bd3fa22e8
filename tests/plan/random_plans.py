#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/plan/random_plans.py [WEIR]

Random plans over the tables of random people, held against a second reading of docs/plans.md: the
slowest way to each answer, by lists and loops. $T_SEED chooses other plans, $T_PLANS how many.
"""
import datetime
import json
import math
import os
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import Counter, program, run  # noqa: E402

DAY = datetime.timedelta(days=1)
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
METRICS = ["steps", "resting_heart_rate", "sleep_minutes", "weight", "bedtime"]
KINDS = ["run", "walk", "yoga"]
FIELDS = {"minutes": "duration_min", "km": "distance_km", "avg_hr": "avg_hr"}
STATS = ["mean", "median", "sum", "min", "max", "sd", "range", "cv", "quantile", "count", "first",
         "last"]


class NoAnswer(Exception):
    """There is no number, and none may be given."""


# ---- a person ----

class Person:
    def __init__(self, rnd, folder):
        self.folder = folder
        self.first = datetime.date(2024, rnd.randint(1, 12), rnd.randint(1, 28))
        self.n_days = rnd.randint(40, 200)
        self.last = self.first + (self.n_days - 1) * DAY
        self.days = {m: {} for m in METRICS}
        self.workouts = []  # (day, kind, {field: value})
        self.labs = []
        for i in range(self.n_days):
            self.make_day(rnd, self.first + i * DAY, i in (0, self.n_days - 1))
        for _ in range(rnd.randint(0, 6)):
            self.labs.append((self.first + rnd.randrange(self.n_days) * DAY,
                              round(rnd.uniform(80, 180), 1)))
        self.labs.sort()

    def make_day(self, rnd, day, is_end):
        made = {"steps": rnd.randint(500, 15000), "resting_heart_rate": round(rnd.gauss(60, 3), 1),
                "sleep_minutes": rnd.randint(300, 560), "weight": round(rnd.gauss(75, 1), 1),
                "bedtime": round(rnd.gauss(1425, 45)) % 1440}
        for metric, value in made.items():
            if rnd.random() > 0.12 or (is_end and metric == "steps"):
                self.days[metric][day] = value
        hour = 6
        while rnd.random() < 0.25 and hour < 22:
            self.workouts.append((day, rnd.choice(KINDS[:2] if rnd.random() < 0.8 else KINDS), {
                "minutes": round(rnd.uniform(15, 90), 1),
                "km": round(rnd.uniform(1, 15), 2) if rnd.random() < 0.8 else None,
                "avg_hr": rnd.randint(90, 170) if rnd.random() < 0.8 else None}, hour))
            hour += rnd.randint(2, 8)

    def write(self):
        """The tables, as files."""
        daily = ["date," + ",".join(METRICS)]
        for i in range(self.n_days):
            day = self.first + i * DAY
            cells = [self.days[m].get(day) for m in METRICS]
            if cells[-1] is not None:
                cells[-1] = f"{cells[-1] // 60:02d}:{cells[-1] % 60:02d}"
            daily.append(f"{day}," + ",".join("" if c is None else str(c) for c in cells))
        workouts = ["date,start,activity,duration_min,distance_km,avg_hr"]
        for day, kind, fields, hour in self.workouts:
            cells = ["" if fields[f] is None else str(fields[f]) for f in FIELDS]
            workouts.append(f"{day},{day} {hour:02d}:00,{kind.title()}," + ",".join(cells))
        labs = ["date,analyte,value,unit"] + [f"{day},ldl,{value},mg/dL" for day, value in self.labs]
        for name, lines in (("daily", daily), ("activities", workouts), ("labs", labs)):
            if len(lines) > 1:
                path = os.path.join(self.folder, name + ".csv")
                pathlib.Path(path).write_text("\n".join(lines) + "\n")
                yield path


# ---- the slow reading ----

def circular_mean(values):
    angles = [2 * math.pi * v / 1440 for v in values]
    x, y = (math.fsum(map(f, angles)) / len(angles) for f in (math.cos, math.sin))
    return math.atan2(y, x) / (2 * math.pi) * 1440 % 1440


def near(value, center):
    ahead = (value - center) % 1440
    return center + (ahead - 1440 if ahead > 720 else ahead)


def holds(having, value, unroll=lambda v: v):
    a = having["value"]
    if having["cmp"] == "between":
        return unroll(a[0]) <= value <= unroll(a[1])
    a = unroll(a)
    return {"<": value < a, "<=": value <= a, ">": value > a, ">=": value >= a, "=": value == a,
            "!=": value != a}[having["cmp"]]


class Reading:
    def __init__(self, person, plan):
        self.p, self.plan = person, plan
        self.is_clock = plan.get("metric") == "bedtime"
        self.center = circular_mean(person.days["bedtime"].values())

    def unrolled(self, metric, value):
        return near(value, self.center) if metric == "bedtime" else value

    def span(self):
        days = [self.p.first, self.p.last]
        if "workouts" in self.plan:
            days += [w[0] for w in self.p.workouts]
        if "lab" in self.plan:
            days += [day for day, _ in self.p.labs]
        return min(days), max(days)

    def window(self, window):
        first, last = self.span()
        if "last_days" in window:
            to = self.p.last - window.get("skip_days", 0) * DAY
            return to - (window["last_days"] - 1) * DAY, to
        return (datetime.date.fromisoformat(window["from"]) if "from" in window else first,
                datetime.date.fromisoformat(window["to"]) if "to" in window else last)

    def on_session(self, c):
        return ("workouts" in self.plan and "workout" in c and "cmp" in c and "field" in c and
                c.get("shift_days", 0) == 0 and c["workout"] in ("any", self.plan["workouts"]))

    def meets(self, c, day):
        day += c.get("shift_days", 0) * DAY
        if "weekdays" in c:
            wanted = {"weekend": WEEKDAYS[5:], "workweek": WEEKDAYS[:5]}
            days = c["weekdays"] if isinstance(c["weekdays"], list) else wanted[c["weekdays"]]
            found = WEEKDAYS[day.weekday()] in days
        elif "months" in c:
            found = day.month in c["months"]
        elif "metric" in c:
            value = self.p.days[c["metric"]].get(day)
            if value is None:
                return False
            unroll = (lambda v: near(v, self.center)) if c["metric"] == "bedtime" else (lambda v: v)
            found = "cmp" not in c or holds(c, self.unrolled(c["metric"], value), unroll)
        else:
            sessions = [w for w in self.p.workouts if w[0] == day and c["workout"] in ("any", w[1])]
            if "cmp" in c and "field" not in c:
                found = holds(c, len(sessions))
            elif "cmp" in c:
                found = any(w[2][c["field"]] is not None and holds(c, w[2][c["field"]])
                            for w in sessions)
            else:
                found = bool(sessions)
        return found != c.get("not", False)

    def values(self, window, where):
        """[(day, value)] of the subject; sessions without the field are counted apart."""
        first, last = self.span()
        start, end = self.window(window)
        if end < first or start > last or start > end:
            raise NoAnswer("outside")
        start, end = max(start, first), min(end, last)
        self.unknown, self.unknown_days = 0, set()
        if any("workout" in c for c in where) or "workouts" in self.plan:
            if not self.p.workouts:
                raise NoAnswer("no workouts")
        day_conditions = [c for c in where if not self.on_session(c)]
        fits = lambda day: start <= day <= end and all(self.meets(c, day) for c in day_conditions)
        if "lab" in self.plan:
            if not self.p.labs:
                raise NoAnswer("no results")
            out = [(day, value) for day, value in self.p.labs if fits(day)]
        elif "metric" in self.plan:
            metric = self.plan["metric"]
            out = [(day, self.unrolled(metric, v))
                   for day, v in sorted(self.p.days[metric].items()) if fits(day)]
        else:
            out = self.sessions(where, fits)
        newest = self.plan.get("newest")
        return out[-newest:] if newest else out

    def sessions(self, where, fits):
        out = []
        field = self.plan.get("field", "minutes")
        for day, kind, fields, _ in self.p.workouts:
            if self.plan["workouts"] not in ("any", kind) or not fits(day):
                continue
            own = [c for c in where if self.on_session(c)]
            if any(fields[c["field"]] is None or
                   holds(c, fields[c["field"]]) == c.get("not", False) for c in own):
                continue
            value = 1 if field == "sessions" else fields[field]
            if value is None:
                self.unknown += 1
                self.unknown_days.add(day)
            else:
                out.append((day, value))
        return out

    def stat(self, values):
        stat, n = self.plan.get("stat", "mean"), len(values)
        if n == 0 and (stat not in ("sum", "count") or self.unknown):
            raise NoAnswer("nothing")
        if stat in ("sd", "cv") and n < 2:
            raise NoAnswer("one value")
        if stat == "mean" and self.is_clock:
            return near(circular_mean(values), self.center)
        ordered = sorted(values)
        return {"mean": lambda: statistics.fmean(values),
                "median": lambda: statistics.median(values), "sum": lambda: math.fsum(values),
                "min": lambda: ordered[0], "max": lambda: ordered[-1],
                "sd": lambda: statistics.stdev(values), "range": lambda: ordered[-1] - ordered[0],
                "cv": lambda: 100 * statistics.stdev(values) / abs(statistics.fmean(values)),
                "quantile": lambda: quantile(ordered, self.plan["quantile"]),
                "count": lambda: n, "first": lambda: values[0], "last": lambda: values[-1]}[stat]()

    def wrapped(self, value):
        return value % 1440 if self.is_clock else value

    def shown(self, value):
        """A statistic as it is answered: times of day wrap around, distances do not."""
        is_time = self.plan.get("stat", "mean") not in ("sd", "range", "count", "cv")
        return self.wrapped(value) if is_time else value

    def having(self, value):
        if "having" not in self.plan:
            return True
        unroll = (lambda v: near(v, self.center)) if self.is_clock else (lambda v: v)
        return holds(self.plan["having"], value, unroll)

    def result(self, a, b):
        result = self.plan.get("result", "difference")
        if result == "difference":
            is_time = self.is_clock and self.plan.get("stat", "mean") not in ("sd", "range", "count")
            return near(a - b, 0) if is_time else a - b
        if b == 0:
            raise NoAnswer("against 0")
        return 100 * (a - b) / abs(b) if result == "percent" else a / b

    def answer(self):
        points = self.values(self.plan.get("window", {}), self.plan.get("where", []))
        return getattr(self, self.plan["op"])(points, [v for _, v in points])

    # Operations: each gives what "value" has to be.

    def aggregate(self, points, values):
        value = self.stat(values)
        if "per" not in self.plan:
            return self.shown(value)
        return value / (self.shared_days() / PER[self.plan["per"]])

    def shared_days(self):
        first, last = self.span()
        start, end = self.window(self.plan.get("window", {}))
        return (min(end, last) - max(start, first)).days + 1

    def count(self, points, values):
        n = sum(self.having(v) for v in values)
        if not values and (self.plan.get("share") or self.unknown):
            raise NoAnswer("nothing")
        if self.plan.get("share"):
            return 100 * n / len(values)
        if "per" in self.plan:
            return n / (self.shared_days() / PER[self.plan["per"]])
        return n

    def extreme(self, points, values):
        sign = 1 if self.plan.get("pick") == "min" else -1
        ordered = sorted(range(len(values)), key=lambda i: (sign * values[i], i))
        rank = self.plan.get("rank", 1)
        if len(ordered) < rank:
            raise NoAnswer("too few")
        day, value = points[ordered[rank - 1]]
        return str(day) if self.plan.get("answer") == "date" else self.wrapped(value)

    def find(self, points, values):
        found = [day for day, value in points if self.having(value)]
        if not found:
            raise NoAnswer("none")
        return str(found[-1 if self.plan.get("pick") == "last" else 0])

    def change(self, points, values):
        if len(values) < 2:
            raise NoAnswer("too few")
        return self.result(values[-1], values[0])

    def compare(self, points, values):
        unknown = self.unknown
        b = self.plan["b"]
        others = self.values(b.get("window", self.plan.get("window", {})),
                             b.get("where", self.plan.get("where", [])))
        self.unknown += unknown
        return self.result(self.stat(values), self.stat([v for _, v in others]))

    def trend(self, points, values):
        if len(points) < 3 or points[0][0] == points[-1][0]:
            raise NoAnswer("too few")
        x = [day.toordinal() for day, _ in points]
        per = PER[self.plan.get("per", "week")]
        if self.plan.get("method") == "theil_sen":
            slopes = [(values[j] - values[i]) / (x[j] - x[i]) for i in range(len(x))
                      for j in range(i + 1, len(x)) if x[i] != x[j]]
            return per * statistics.median(slopes)
        mx, my = statistics.fmean(x), statistics.fmean(values)
        top = math.fsum((a - mx) * (b - my) for a, b in zip(x, values))
        return per * top / math.fsum((a - mx) ** 2 for a in x)

    def correlate(self, points, values):
        if not points:
            raise NoAnswer("nothing")
        first, last = self.span()
        start, end = self.window(self.plan.get("window", {}))
        start, end = max(start, first), min(end, last)
        xs = {}
        for day, value in points:
            xs[day] = xs.get(day, 0) + value
        other, lag = self.plan["with"], self.plan.get("lag_days", 0) * DAY
        pairs = [(x, self.unrolled(other, self.p.days[other][day + lag]))
                 for day, x in sorted(xs.items())
                 if day + lag in self.p.days[other] and start <= day + lag <= end]
        if len(pairs) < 3:
            raise NoAnswer("too few")
        x, y = zip(*pairs)
        method = self.plan.get("method", "pearson")
        if len(set(x)) == 1 or len(set(y)) == 1:
            raise NoAnswer("constant")
        if method == "kendall":
            return kendall(x, y)
        return pearson(x, y) if method == "pearson" else pearson(ranks(x), ranks(y))

    def group(self, points, values):
        fills = "workouts" in self.plan and self.plan.get("stat") in ("sum", "count")
        if not points and (not fills or self.unknown or "pick" in self.plan):
            raise NoAnswer("nothing")
        if "pick" not in self.plan:
            return self.shown(self.stat(values))
        groups = {}
        if fills:
            first, last = self.span()
            start, end = self.window(self.plan.get("window", {}))
            day = max(start, first)
            while day <= min(end, last):
                groups.setdefault(self.group_of(day), [])
                day += DAY
            if self.plan["by"] in ("weekday", "weekend"):
                for i in range(7):
                    groups.setdefault(self.group_of(datetime.date(2024, 1, 1) + i * DAY), [])
        for day, value in points:
            groups.setdefault(self.group_of(day), []).append(value)
        best, self.unknown = None, 0
        for day in self.unknown_days:
            if not groups.get(self.group_of(day)):
                groups.pop(self.group_of(day), None)
        for key in sorted(groups):
            try:
                value = self.stat(groups[key])
            except NoAnswer:
                continue
            is_min = self.plan["pick"] == "min"
            if best is None or (value < best[0] if is_min else value > best[0]):
                best = value, key
        if best is None:
            raise NoAnswer("no group")
        return best[1][-1]

    def group_of(self, day):
        by = self.plan["by"]
        if by == "weekday":
            return day.weekday(), WEEKDAYS[day.weekday()]
        if by == "weekend":
            return (1, "weekend") if day.weekday() > 4 else (0, "weekday")
        if by == "week":
            year, week, _ = day.isocalendar()
            return year, week, f"{year:04d}-W{week:02d}"
        return (f"{day:%Y-%m}",) if by == "month" else (f"{day:%Y}",)

    def streak(self, points, values):
        if not points and "workouts" not in self.plan:
            raise NoAnswer("nothing")
        hits = {day for day, value in points if self.having(value)}
        lengths = {}
        for day in sorted(hits):
            lengths[day] = lengths.get(day - DAY, 0) + 1
        if self.plan.get("pick") == "current":
            return lengths.get(self.window(self.plan.get("window", {}))[1], 0)
        return max(lengths.values(), default=0)

    def rolling(self, points, values):
        days = self.plan["days"]
        first, last = self.span()
        start, end = self.window(self.plan.get("window", {}))
        pick, stat = self.plan.get("pick"), self.plan.get("stat", "mean")
        if pick == "last":
            start = end - (days - 1) * DAY
            points = self.values({"from": str(start), "to": str(end)}, self.plan.get("where", []))
        start, end = max(start, first), min(end, last)
        needed = (days + 1) // 2 if "metric" in self.plan and pick != "last" else 1
        if "workouts" in self.plan and stat == "sum":
            needed = 0
        day = end if pick == "last" else start + (days - 1) * DAY
        best = None
        while day <= end:
            inside = [v for d, v in points if day - (days - 1) * DAY <= d <= day]
            self.unknown = 0
            try:
                value = self.stat(inside) if len(inside) >= needed else None
            except NoAnswer:
                value = None
            is_better = best is None or pick in (None, "last")
            if value is not None and (is_better or (value < best[0] if pick == "min"
                                                    else value > best[0] + 1e-9)):
                best = value, day
            day += DAY
        if best is None:
            raise NoAnswer("no window")
        return self.shown(best[0])


PER = {"day": 1, "week": 7, "month": 30.436875, "year": 365.2425}


def quantile(ordered, p):
    h = (len(ordered) - 1) * p
    low = math.floor(h)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (h - low) * (ordered[high] - ordered[low])


def pearson(x, y):
    mx, my = statistics.fmean(x), statistics.fmean(y)
    top = math.fsum((a - mx) * (b - my) for a, b in zip(x, y))
    return top / math.sqrt(math.fsum((a - mx) ** 2 for a in x) * math.fsum((b - my) ** 2 for b in y))


def ranks(x):
    return [sum(b < a for b in x) + (sum(b == a for b in x) + 1) / 2 for a in x]


def kendall(x, y):
    sign = lambda a, b: (a > b) - (a < b)
    pairs = [(sign(x[i], x[j]), sign(y[i], y[j])) for i in range(len(x)) for j in range(i)]
    return (sum(a * b for a, b in pairs) /
            math.sqrt(sum(a != 0 for a, _ in pairs) * sum(b != 0 for _, b in pairs)))


# ---- random plans ----

class Maker:
    def __init__(self, rnd, person):
        self.rnd, self.p = rnd, person

    def maybe(self, share):
        return self.rnd.random() < share

    def threshold(self, metric):
        value = self.rnd.choice(list(self.p.days[metric].values()))
        return value + self.rnd.choice([0, 0, 5, -5]) if metric == "steps" else value

    def having(self, draw):
        cmp = self.rnd.choice(["<", "<=", ">", ">=", "=", "!=", "between"])
        if cmp == "between":
            return {"cmp": cmp, "value": sorted([draw(), draw()])}
        return {"cmp": cmp, "value": draw()}

    def window(self):
        kind = self.rnd.random()
        if kind < 0.3:
            return {}
        if kind < 0.6:
            window = {"last_days": self.rnd.randint(1, 90)}
            return window | ({"skip_days": self.rnd.randint(0, 60)} if self.maybe(0.4) else {})
        a, b = sorted(self.p.first + self.rnd.randint(-30, self.p.n_days + 10) * DAY
                      for _ in range(2))
        window = {}
        if self.maybe(0.85):
            window["from"] = str(a)
        if self.maybe(0.85):
            window["to"] = str(b)
        return window

    def condition(self):
        kind = self.rnd.random()
        if kind < 0.45:
            metric = self.rnd.choice(METRICS[:4])
            c = {"metric": metric}
            if self.maybe(0.85):
                c |= self.having(lambda: self.threshold(metric))
        elif kind < 0.75:
            c = {"workout": self.rnd.choice(KINDS + ["any"])}
            if self.maybe(0.4):
                c |= {"field": "minutes"} | self.having(lambda: self.rnd.randint(20, 80))
            elif self.maybe(0.2):
                c |= self.having(lambda: self.rnd.randint(0, 2))
        elif kind < 0.9:
            c = {"weekdays": self.rnd.choice(["weekend", "workweek", ["Monday", "Friday"]])}
        else:
            c = {"months": self.rnd.sample(range(1, 13), 6)}
        if self.maybe(0.25):
            c["shift_days"] = self.rnd.choice([-2, -1, 1])
        if self.maybe(0.25):
            c["not"] = True
        return c

    def where(self):
        return [self.condition() for _ in range(self.rnd.choice([1, 1, 1, 2, 3]))]

    def subject(self, plan):
        kind = self.rnd.random()
        if kind < 0.65:
            plan["metric"] = self.rnd.choice(METRICS)
            return lambda: self.threshold(plan["metric"])
        if kind < 0.92:
            plan["workouts"] = self.rnd.choice(KINDS + ["any", "rowing"])
            plan["field"] = self.rnd.choice(list(FIELDS))
            return lambda: self.rnd.randint(20, 80)
        plan["lab"] = "ldl"
        return lambda: self.rnd.randint(90, 170)

    def plan(self):
        op = self.rnd.choice(["aggregate", "count", "extreme", "find", "change", "compare", "trend",
                              "correlate", "group", "streak", "rolling"])
        plan = {"op": op}
        draw = self.subject(plan)
        if self.maybe(0.7):
            plan["window"] = self.window()
        if self.maybe(0.4):
            plan["where"] = self.where()
        if self.maybe(0.1) and op != "rolling":
            plan["newest"] = self.rnd.randint(1, 10)
        getattr(self, "finish_" + op, lambda p, d: None)(plan, draw)
        return plan

    def stat(self, plan):
        stats = [s for s in STATS if plan.get("metric") != "bedtime" or s not in ("sum", "cv")]
        plan["stat"] = self.rnd.choice(stats)
        if plan["stat"] == "quantile":
            plan["quantile"] = self.rnd.choice([0, 0.1, 0.25, 0.9, 1])

    def finish_aggregate(self, plan, draw):
        self.stat(plan)
        if plan["stat"] in ("sum", "count") and self.maybe(0.3):
            plan["per"] = self.rnd.choice(list(PER))

    def finish_count(self, plan, draw):
        if self.maybe(0.8):
            plan["having"] = self.having(draw)
        if self.maybe(0.2):
            plan["share"] = True
        elif self.maybe(0.2):
            plan["per"] = self.rnd.choice(list(PER))

    def finish_extreme(self, plan, draw):
        plan |= {"pick": self.rnd.choice(["max", "min"]),
                 "answer": self.rnd.choice(["value", "date"])}
        if self.maybe(0.3):
            plan["rank"] = self.rnd.randint(1, 4)

    def finish_find(self, plan, draw):
        plan["pick"] = self.rnd.choice(["first", "last"])
        if self.maybe(0.8):
            plan["having"] = self.having(draw)

    def finish_change(self, plan, draw):
        if plan.get("metric") != "bedtime":
            plan["result"] = self.rnd.choice(["difference", "percent", "ratio"])

    def finish_compare(self, plan, draw):
        self.stat(plan)
        self.finish_change(plan, draw)
        b = {}
        while not b:
            if self.maybe(0.6):
                b["window"] = {"from": str(self.p.first + DAY), "to": str(self.p.first + 30 * DAY)}
            if self.maybe(0.5):
                b["where"] = self.where()
        plan["b"] = b

    def finish_trend(self, plan, draw):
        plan |= {"method": self.rnd.choice(["ols", "theil_sen"]), "per": self.rnd.choice(list(PER))}

    def finish_correlate(self, plan, draw):
        if "lab" in plan:
            del plan["lab"]
            plan["metric"] = "steps"
        other = [m for m in METRICS if m != plan.get("metric")]
        plan |= {"with": self.rnd.choice(other), "lag_days": self.rnd.randint(-2, 2),
                 "method": self.rnd.choice(["pearson", "spearman", "kendall"])}

    def finish_group(self, plan, draw):
        self.stat(plan)
        plan["by"] = self.rnd.choice(["weekday", "weekend", "month", "week", "year"])
        if self.maybe(0.7):
            plan["pick"] = self.rnd.choice(["max", "min"])

    def finish_streak(self, plan, draw):
        plan["pick"] = self.rnd.choice(["longest", "current"])
        if self.maybe(0.8):
            plan["having"] = self.having(draw)

    def finish_rolling(self, plan, draw):
        self.stat(plan)
        plan["days"] = self.rnd.randint(2, 20)
        if self.maybe(0.8):
            plan["pick"] = self.rnd.choice(["max", "min", "last"])


# ---- both ----

def is_same(want, got, is_clock):
    if isinstance(want, str) or not isinstance(got, (int, float)):
        return want == got
    away = abs(want - got)
    if is_clock:
        away = min(away, abs(1440 - away))
    return away <= 1e-7 * max(1, abs(want))


def check(person, plan, got, count):
    try:
        want = Reading(person, plan).answer()
    except NoAnswer as why:
        count.check("unanswerable" in got and "value" not in got, "no answer",
                    f"{json.dumps(plan)}: {why}, but {json.dumps(got)[:400]}")
        return
    is_clock = got.get("unit") == "minutes after midnight"
    count.check("value" in got and is_same(want, got["value"], is_clock), "value",
                f"{json.dumps(plan)} should be {want}: {json.dumps(got)[:400]}")


def main():
    weir, count = program(), Counter()
    rnd = random.Random(int(os.environ.get("T_SEED", "5")))
    n_plans = int(os.environ.get("T_PLANS", "2000"))
    n_people = max(1, n_plans // 400)
    for _ in range(n_people):
        with tempfile.TemporaryDirectory() as folder:
            person = Person(rnd, folder)
            result = run(weir, "import", *person.write(), "--data", folder, "--quiet")
            count.check(result.code == 0, "the tables are imported", result.err)
            plans = [Maker(rnd, person).plan() for _ in range(n_plans // n_people)]
            lines = "".join(json.dumps(plan) + "\n" for plan in plans)
            result = run(weir, "plan", "--batch", "--data", folder, data=lines.encode())
            answers = [json.loads(line) for line in result.out.decode().splitlines()]
            count.check(len(answers) == len(plans), "each plan has an answer", result.err)
            for plan, got in zip(plans, answers):
                check(person, plan, got, count)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
