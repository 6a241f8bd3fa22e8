#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/ask/make_people.py

Writes people.jsonl from wordings.txt, people_held.jsonl from wordings_held.txt and
people_late.jsonl from wordings_late.txt: each wording, which a person wrote by hand, with a few
metrics, windows, thresholds and people, and with the answer that oracle.py gives. The same at
every run.

The sections "forms" and "names" add ways to say a window or a metric. In the others a line is
`tokens :: text`, or only the text. Tokens narrow what may be filled in (metrics, activities,
fields, users) or say what the text means (a comparison, max or min); `?` marks a wording on which
reasonable people would disagree, which is asked but does not count. A question whose answer would
depend on a choice (a tie, too few values) is not written.
"""
import calendar
import datetime
import json
import os
import random
import re
import sys

import oracle

HERE = os.path.dirname(os.path.abspath(__file__))
PEOPLE = os.path.join(HERE, "..", "data", "people")
USERS = ["u01", "u02", "u03", "u04", "u05", "u06", "p01", "p01"]
DAY = datetime.timedelta(1)
WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight",
         9: "nine", 10: "ten", 12: "twelve", 14: "fourteen", 15: "fifteen", 20: "twenty",
         21: "twenty-one", 28: "twenty-eight", 30: "thirty", 40: "forty", 45: "forty-five",
         50: "fifty", 60: "sixty", 90: "ninety"}

# What people call the things; those after the bar are slips of spelling.
NAMES = {
    "steps": "steps|step count|daily steps|number of steps|daily step count||stpes|step cuont",
    "resting_heart_rate": "resting heart rate|RHR|resting HR|resting pulse|heart rate at rest|"
                          "resting heartrate||resting hart rate|restng heart rate",
    "hrv_rmssd": "HRV|heart rate variability|heart-rate variability|RMSSD|hrv||"
                 "heart rate varability|heart rate variabilty",
    "sleep_minutes": "sleep|sleep duration|time asleep|total sleep|sleep time|amount of sleep|"
                     "sleep length||sleep duraton",
    "deep_sleep_minutes": "deep sleep|deep sleep time|slow-wave sleep|deep sleep minutes|"
                          "deep sleep duration||deep slep",
    "rem_sleep_minutes": "REM sleep|REM|rem sleep|REM time|time in REM|REM sleep minutes||REM slep",
    "awake_minutes": "awake minutes|time awake at night|minutes awake|time awake during the night|"
                     "WASO|awake time||awake minuts",
    "active_minutes": "active minutes|active time|exercise minutes|minutes of activity|"
                      "activity minutes|active mins||active minuts",
    "weight_kg": "weight|body weight|bodyweight|body mass||wieght|body wieght",
    "stress_score": "stress|stress score|stress level|daily stress||stres score",
    "blood_oxygen": "blood oxygen|SpO2|oxygen saturation||blood oxigen",
    "respiratory_rate": "respiratory rate|breathing rate||respitory rate",
    "floors": "floors climbed|flights climbed",
    "body_fat": "body fat|body fat percentage",
}
COUNTED = {"steps": "steps",
           "active_minutes": "active minutes|exercise minutes|minutes of activity",
           "floors": "floors|flights of stairs"}
LABS = {"ldl": "LDL|LDL cholesterol|ldl|LDL-C|bad cholesterol",
        "hdl": "HDL|HDL cholesterol|hdl|good cholesterol",
        "hba1c": "HbA1c|A1c|hba1c|hemoglobin A1c|haemoglobin A1c",
        "fasting_glucose": "fasting glucose|fasting blood sugar|fasting blood glucose",
        "triglycerides": "triglycerides|triglyceride|trigs",
        "vitamin_d_25oh": "vitamin D|vit D|25-OH vitamin D",
        "ferritin": "ferritin|serum ferritin", "total_cholesterol": "total cholesterol"}
# a, plural, gerund, "did I …", "days when I …", "go …", one, participle
ACTIVITIES = {
    "Run": "run|runs|running|run|ran|running|run|run",
    "Walk": "walk|walks|walking|walk|walked|walking|walk|walked",
    "Bike": "bike|bike rides|cycling|cycle|cycled|cycling|bike ride|cycled",
    "Bike2": "cycling|rides|biking|bike|biked|biking|ride|biked",
    "Swim": "swim|swims|swimming|swim|swam|swimming|swim|swum",
    "Hike": "hike|hikes|hiking|hike|hiked|hiking|hike|hiked",
    "Yoga": "yoga|yoga sessions|yoga|do yoga|did yoga|to yoga|yoga session|done yoga",
    "Strength": "strength|strength sessions|strength training|do strength training|"
                "did strength training|strength training|strength session|done strength training",
    "Weights": "weights|weights sessions|weight training|lift weights|lifted weights|lifting|"
               "weights session|lifted weights",
    "Elliptical": "elliptical|elliptical sessions|elliptical training|use the elliptical|"
                  "used the elliptical|on the elliptical|elliptical session|used the elliptical",
    "Tennis": "tennis|tennis sessions|tennis|play tennis|played tennis|to tennis|tennis session|"
              "played tennis",
    "any": "workout|workouts|workouts|work out|worked out|training|workout|worked out",
}
FIELDS = ("duration_min", "distance_km", "calories", "avg_hr")
COMPARISONS = (">", "<", ">=", "<=", "between")
STEP = {"steps": 500, "resting_heart_rate": 1, "hrv_rmssd": 5, "sleep_minutes": 30,
        "deep_sleep_minutes": 5, "rem_sleep_minutes": 5, "awake_minutes": 5, "active_minutes": 5,
        "weight_kg": 0.5, "stress_score": 5, "blood_oxygen": 1, "respiratory_rate": 0.5,
        "floors": 1, "body_fat": 0.5}
UNIT = {"resting_heart_rate": "bpm", "hrv_rmssd": "ms", "weight_kg": "kg", "blood_oxygen": "%",
        "body_fat": "%"}


def plain(number):
    return str(int(number)) if number == int(number) else str(number)


def ordinal(n):
    return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


# ---- windows: (start, end, "over the last 30 days", "last 30 days"); None where it does not fit

def last_days(random_, person):
    fitting = [n for n in (5, 7, 10, 12, 14, 21, 28, 30, 40, 45, 60, 90, 120, 180)
               if n <= (person.today - person.first).days]
    n = random_.choice(fitting)
    word = WORDS.get(n, str(n))
    adverb, noun = random_.choice([
        (f"over the last {n} days", f"last {n} days"), (f"in the past {n} days", f"past {n} days"),
        (f"during the most recent {n} days", f"most recent {n} days"),
        (f"for the last {n} days", f"the last {n} days"),
        (f"over the past {word} days", f"last {word} days"),
        (f"in the last {n} days", f"last {n}d"),
        (f"within the last {n} days", f"the past {n} days"),
        (f"throughout the last {word} days", f"the {n} most recent days")])
    return person.today - (n - 1) * DAY, person.today, adverb, noun


def last_weeks(random_, person):
    n = random_.choice([k for k in (1, 2, 3, 4, 5, 6, 8, 10, 12)
                        if 7 * k <= (person.today - person.first).days])
    word, plural = WORDS[n], "s" if n > 1 else ""
    if n == 1:
        forms = [("in the past week", "the past week"), ("over the past week", "past week")]
    else:
        forms = [(f"over the last {n} weeks", f"last {n} weeks"),
                 (f"in the past {word} weeks", f"past {word} weeks"),
                 (f"during the last {word} week{plural}", f"the last {n} weeks")]
    if n == 2:
        forms.append(("over the past fortnight", "the last fortnight"))
    return (person.today - (7 * n - 1) * DAY, person.today) + random_.choice(forms)


def months_of(person):
    date, months = person.first.replace(day=1), []
    while date <= person.today:
        end = date.replace(day=calendar.monthrange(date.year, date.month)[1])
        months.append((date, end))
        date = end + DAY
    return months


def month(random_, person):
    start, end = random_.choice(months_of(person))
    name, short, year = start.strftime("%B"), start.strftime("%b"), start.year
    forms = [(f"in {name} {year}", f"{name} {year}"), (f"during {name} {year}", f"{name} {year}"),
             (f"for {short} {year}", f"{short} {year}"),
             (f"in the month of {name} {year}", f"{name} of {year}"),
             (f"in {name.lower()} {year}", f"{name.lower()} {year}"),
             (f"throughout {name} {year}", f"{name}, {year}"),
             (f"back in {name} {year}", f"{short.lower()} {year}")]
    return (start, min(end, person.today)) + random_.choice(forms)


def bare_month(random_, person):
    months = [m for m in months_of(person)
              if sum(o[0].month == m[0].month for o in months_of(person)) == 1 and
              m[1] < person.today and m[0] >= person.first]
    if not months:
        return None
    start, end = random_.choice(months)
    name = start.strftime("%B")
    return (start, end) + random_.choice([
        (f"in {name}", name), (f"during {name}", name), (f"back in {name}", name),
        (f"throughout {name}", f"the month of {name}")])


def this_month(random_, person):
    return (person.today.replace(day=1), person.today) + random_.choice([
        ("so far this month", "this month so far"), ("this month", "this month"),
        ("since the start of this month", "month to date"),
        ("since the beginning of the month", "this month")])


def this_year(random_, person):
    return (person.today.replace(month=1, day=1), person.today) + random_.choice([
        ("so far this year", "this year so far"), ("this year", "this year"),
        ("since New Year", "year to date"), ("since the start of the year", "this year"),
        ("since 1 January", "this year to date"), ("since January 1st", "this year")])


def between(random_, person):
    length = (person.today - person.first).days
    span = random_.choice([n for n in (6, 9, 13, 20, 27, 34, 48, 76) if n < length - 2])
    start = person.first + random_.randrange(length - span) * DAY
    end = start + span * DAY
    a, b, year = start.strftime("%B"), end.strftime("%B"), end.year
    sa, sb = start.strftime("%b"), end.strftime("%b")
    forms = [(f"between {start} and {end}", f"{start} to {end}"),
             (f"from {start} to {end}", f"{start} - {end}"),
             (f"between {start} and {end} inclusive", f"{start} through {end}"),
             (f"from {start.day} {a} {start.year} until {end.day} {b} {year}",
              f"{start.day} {a} {start.year} until {end.day} {b} {year}"),
             (f"between {a} {start.day}, {start.year} and {b} {end.day}, {year}",
              f"{sa} {start.day}, {start.year} to {sb} {end.day}, {year}")]
    if start.year == year:
        forms += [(f"between {start.day} {sa} and {end.day} {sb} {year}",
                   f"{start.day} {sa} to {end.day} {sb} {year}"),
                  (f"from {a} {start.day} to {b} {end.day}, {year}",
                   f"{a} {start.day} - {b} {end.day}, {year}"),
                  (f"between {a} {ordinal(start.day)} and {b} {ordinal(end.day)} {year}",
                   f"{a} {start.day} through {b} {end.day} {year}"),
                  (f"from {sa} {start.day} through {sb} {end.day}, {year}",
                   f"{start.day} {sa} - {end.day} {sb} {year}")]
        if end.year == person.today.year or person.today.year not in (d.year for d in person.dates):
            if start - 365 * DAY < person.first:
                forms += [(f"between {start.day} {a} and {end.day} {b}",
                           f"{start.day} {a} to {end.day} {b}"),
                          (f"from {a} {ordinal(start.day)} to {b} {ordinal(end.day)}",
                           f"{a} {start.day} to {b} {end.day}")]
    if start.month == end.month:
        forms += [(f"from the {ordinal(start.day)} to the {ordinal(end.day)} of {a} {year}",
                   f"{start.day}-{end.day} {a} {year}"),
                  (f"between {start.day} and {end.day} {a} {year}",
                   f"{start.day} to {end.day} {a} {year}")]
    return (start, end) + random_.choice(forms)


def since(random_, person):
    length = (person.today - person.first).days
    start = person.first + random_.randrange(length // 4, length - 8) * DAY
    name = start.strftime("%B")
    forms = [(f"since {start}", None), (f"since {start.day} {name} {start.year}", None),
             (f"from {start} on", None), (f"since {name} {start.day}, {start.year}", None),
             (f"since the {ordinal(start.day)} of {name} {start.year}", None)]
    if (person.today - start).days < 330:
        forms += [(f"since {name} {ordinal(start.day)}", None), (f"since {start.day} {name}", None)]
    if random_.random() < 0.3:
        first = start.replace(day=1)
        if (person.today - first).days < 330:
            return first, person.today, f"since the start of {name}", None
    return (start, person.today) + random_.choice(forms)


def before(random_, person):
    length = (person.today - person.first).days
    end = person.first + random_.randrange(length // 3, length - 5) * DAY
    name = end.strftime("%B")
    adverb, last = random_.choice([
        (f"before {end}", end - DAY), (f"before {end.day} {name} {end.year}", end - DAY),
        (f"up to and including {end.day} {name} {end.year}", end),
        (f"before {name} {ordinal(end.day)}, {end.year}", end - DAY)])
    return person.first, last, adverb, None


def week(random_, person):
    mondays = [d for d in person.dates if d.weekday() == 0 and d + 6 * DAY <= person.today]
    start = random_.choice(mondays)
    text = f"{start.day} {start.strftime('%B')} {start.year}"
    return (start, start + 6 * DAY) + random_.choice([
        (f"in the week of {text}", f"week of {text}"),
        (f"in the week starting {start}", f"week starting {start}"),
        (f"during the week beginning Monday {text}", f"week beginning {text}"),
        (f"in the week of {start.strftime('%B')} {ordinal(start.day)}, {start.year}",
         f"the week of {start.strftime('%B')} {start.day}, {start.year}")])


def quarter(random_, person):
    choices = []
    for start, _ in months_of(person):
        if start.month % 3 == 1:
            end_month = start.month + 2
            end = start.replace(month=end_month,
                                day=calendar.monthrange(start.year, end_month)[1])
            if start >= person.first and end <= person.today:
                choices.append((start, end))
    if not choices:
        return None
    start, end = random_.choice(choices)
    n = start.month // 3 + 1
    name = ["first", "second", "third", "fourth"][n - 1]
    return (start, end) + random_.choice([
        (f"in Q{n} {start.year}", f"Q{n} {start.year}"),
        (f"in the {name} quarter of {start.year}", f"{name} quarter of {start.year}")])


def year(random_, person):
    years = sorted({d.year for d in person.dates})
    if len(years) < 2:
        return None
    value = random_.choice(years)
    return (datetime.date(value, 1, 1), min(datetime.date(value, 12, 31), person.today)) + \
        random_.choice([(f"in {value}", f"{value}"), (f"during {value}", f"the year {value}")])


def month_part(random_, person):
    start, end = random_.choice(months_of(person))
    if start < person.first or end > person.today:
        return None
    text = f"{start.strftime('%B')} {start.year}"
    if random_.random() < 0.5:
        return (start, start + 9 * DAY, f"in the first 10 days of {text}",
                f"first 10 days of {text}")
    return end - 6 * DAY, end, f"in the last 7 days of {text}", f"last 7 days of {text}"


def everything(random_, person):
    return (person.first, person.today) + random_.choice([
        ("overall", "overall"), ("across all my data", "all my data"),
        ("in total over everything I have", "all time"), ("over my whole history", "all data"),
        ("since I started tracking", "everything I have"), ("across everything I've recorded",
                                                           "entire history")])


def ever(random_, person):
    return (person.first, person.today) + random_.choice([
        ("ever", "ever"), ("of all time", "all time"), ("overall", "overall")])


WINDOWS = [last_days, last_days, last_days, last_weeks, month, month, bare_month, this_month,
           this_year, between, between, between, since, before, week, quarter, year, month_part,
           everything, everything]


class Extra:
    """Names of metrics and forms of windows that stand in the file of wordings itself."""

    def __init__(self, path):
        self.forms, self.names, lines = {}, {}, None
        with open(path, encoding="utf-8") as file:
            for line in file:
                line = line.rstrip("\n")
                found = re.fullmatch(r"# (forms|names) (\w+)", line)
                if found:
                    table = self.forms if found.group(1) == "forms" else self.names
                    lines = table.setdefault(found.group(2), [])
                elif line.startswith("#"):
                    lines = None
                elif line and lines is not None:
                    lines.append(line)

    def name(self, random_, metric):
        chosen = self.names.get(metric)
        return random_.choice(chosen) if chosen and random_.random() < 0.25 else None

    def window(self, random_, kind, found):
        """The same window in one of the forms of the file, half the time."""
        if kind not in self.forms or random_.random() < 0.5:
            return found
        start, end = found[0], found[1]
        n = (end - start).days + 1
        values = {"n": n, "word": WORDS.get(n, n), "s": start, "e": end, "yy": start.year % 100,
                  "mm": f"{start.month:02d}"}
        for letter, date in (("s", start), ("e", end)):
            values.update({letter + "d": date.day, letter + "m": date.strftime("%B"),
                           letter + "b": date.strftime("%b"), letter + "y": date.year,
                           letter + "o": ordinal(date.day)})
        adverb, noun = random_.choice(self.forms[kind]).split(" | ")
        return start, end, adverb.format(**values), noun.format(**values)


def window_of(random_, person, extra, needs_noun, kinds=None):
    while True:
        kind = random_.choice(kinds or WINDOWS)
        found = kind(random_, person)
        if found and (found[3] or not needs_noun):
            return extra.window(random_, kind.__name__, found)


def single_day(random_, person, metric):
    today = person.today
    asleep = metric in ("sleep_minutes", "deep_sleep_minutes", "rem_sleep_minutes")
    date = person.first + random_.randrange((today - person.first).days) * DAY
    name = date.strftime("%B")
    forms = [(today - DAY, "yesterday"), (today - 2 * DAY, "the day before yesterday"),
             (today, "today"), (today - 3 * DAY, "3 days ago"), (today - 4 * DAY, "four days ago"),
             (date, f"on {date.day} {name} {date.year}"), (date, f"on {date}"),
             (date, f"on {name} {date.day}, {date.year}"),
             (date, f"on the {ordinal(date.day)} of {name} {date.year}"),
             (date, f"on {date.strftime('%A')} {date.day} {name} {date.year}"),
             (date, f"on {date.strftime('%b')} {ordinal(date.day)} {date.year}")]
    if asleep:
        forms = [f for f in forms if f[1] != "today"] + [(today, "last night")] * 2
    if date.day > 12:
        forms.append((date, f"on {date.day:02d}/{date.month:02d}/{date.year}"))
        forms.append((date, f"on {date.month:02d}/{date.day:02d}/{date.year}"))
    if (today - date).days < 330:
        forms.append((date, f"on {date.day} {name}"))
        forms.append((date, f"on {name} {ordinal(date.day)}"))
    return random_.choice(forms)


# ---- thresholds

def hours_text(random_, minutes):
    hours = minutes / 60
    forms = [f"{plain(hours)} hours", f"{plain(hours)} h", f"{plain(hours)} hrs",
             f"{plain(minutes)} minutes"]
    if hours == int(hours) and int(hours) in WORDS:
        forms += [f"{WORDS[int(hours)]} hours", f"{plain(hours)}h"]
    elif hours % 1 == 0.5 and int(hours) in WORDS:
        forms += [f"{WORDS[int(hours)]} and a half hours", f"{int(hours)} and a half hours",
                  f"{int(hours)}h30", f"{int(hours)} hours 30 minutes"]
    return random_.choice(forms)


def threshold_text(random_, metric, value, bare):
    if metric == "steps":
        forms = [plain(value), f"{int(value):,}", plain(value)]
        if value % 1000 == 0:
            forms += [f"{int(value) // 1000}k", f"{int(value) // 1000}K"]
            if value // 1000 in WORDS:
                forms.append(f"{WORDS[value // 1000]} thousand")
        elif value % 500 == 0:
            forms.append(f"{value / 1000:.1f}k")
        return random_.choice(forms)
    if metric == "sleep_minutes":
        return hours_text(random_, value)
    if metric in ("deep_sleep_minutes", "rem_sleep_minutes", "awake_minutes", "active_minutes"):
        forms = [f"{plain(value)} minutes", f"{plain(value)} min", f"{plain(value)} mins"]
        if value == 30:
            forms.append("half an hour")
        if value == 60:
            forms += ["an hour", "1 hour"]
        if value == 90:
            forms += ["1.5 hours", "an hour and a half"]
        if bare:
            forms.append(plain(value))
        if value in WORDS:
            forms.append(f"{WORDS[value]} minutes")
        return random_.choice(forms)
    forms = [plain(value), plain(value)]
    if metric in UNIT:
        forms += [f"{plain(value)} {UNIT[metric]}", f"{plain(value)}{UNIT[metric]}"]
    if metric == "weight_kg":
        forms.append(f"{plain(value)} kilos")
    if metric == "resting_heart_rate" and value in WORDS:
        forms.append(WORDS[value])
    return random_.choice(forms)


def threshold(random_, person, metric, start=None, end=None):
    series = person.daily[metric]
    values = [v for d, v in series.items()
              if (start is None or d >= start) and (end is None or d <= end)]
    if not values:
        return None
    step = STEP[metric]
    value = round(oracle.quantile(values, random_.uniform(0.25, 0.75)) / step) * step
    return value if value > 0 else step


# ---- filling in

class Skip(Exception):
    """This draw has no answer beyond doubt; draw again."""


class Fill:
    """One wording with one person: picks what stands in the braces, and collects the spec."""

    def __init__(self, random_, person, extra, tokens, text):
        self.random, self.person, self.tokens, self.text = random_, person, tokens, text
        self.extra = extra
        self.values, self.spec = {}, {}

    def has(self, token):
        return token in self.tokens

    def pick(self, names, default=None):
        found = [t for t in self.tokens if t in names]
        return found[0] if found else default

    def wants(self, name):
        return "{" + name + "}" in self.text

    def name_of(self, table, key):
        good, _, bad = table[key].partition("||")
        names = (bad if bad and self.random.random() < 0.06 else good).split("|")
        # The first names are what most people say.
        return names[0] if self.random.random() < 0.3 else self.random.choice(names)

    def metric(self, table=None, slot="m", key="metric", exclude=()):
        table = table or NAMES
        named = [t for t in self.tokens if t in NAMES]
        extras = ("blood_oxygen", "respiratory_rate", "floors", "body_fat")
        choices = named or [m for m in table if m in self.person.daily and m not in exclude and
                            (m not in extras or self.random.random() < 0.4)]
        metric = self.random.choice(choices)
        if not self.person.daily.get(metric):
            raise Skip
        extra = self.extra.name(self.random, metric) if table is NAMES else None
        self.values[slot] = extra or self.name_of(table, metric)
        self.spec[key] = metric
        return metric

    def window(self, kinds=None):
        if not (self.wants("w") or self.wants("W") or self.wants("wn")):
            return
        start, end, adverb, noun = window_of(self.random, self.person, self.extra,
                                              self.wants("wn"), kinds)
        self.values.update(w=adverb, wn=noun, W=adverb[0].upper() + adverb[1:])
        self.spec.update(start=start.isoformat(), end=end.isoformat())

    def whole(self):
        self.spec.update(start=self.person.first.isoformat(), end=self.person.today.isoformat())

    def activity(self):
        named = [t for t in self.tokens if t in ACTIVITIES]
        done = sorted({s["activity"] for s in self.person.activities})
        if named == ["any"]:
            name = "any"
        else:
            name = self.random.choice([a for a in done if not named or a in named] or [None])
        if name is None:
            raise Skip
        key = "Bike2" if name == "Bike" and self.random.random() < 0.3 else name
        self.values.update(zip(("a", "as", "aing", "do", "past", "going", "aone", "pp"),
                               ACTIVITIES[key].split("|")))
        if key in ("Yoga", "Tennis", "Elliptical") and self.wants("going"):
            raise Skip
        if name != "any":
            self.spec["activity"] = name
        return name

    def comparison(self, metric, window=True):
        start = oracle.day_of(self.spec["start"]) if window and "start" in self.spec else None
        end = oracle.day_of(self.spec["end"]) if window and "end" in self.spec else None
        value = threshold(self.random, self.person, metric, start, end)
        if value is None:
            raise Skip
        self.spec.update(cmp=self.pick(COMPARISONS, ">="), threshold=value)
        bare = not re.search(r"\{t\}( of| or|\+| active| deep| REM|$)", self.text)
        self.values["t"] = threshold_text(self.random, metric, value, bare and metric not in
                                          ("deep_sleep_minutes", "active_minutes"))
        if self.spec["cmp"] == "between":
            upper = value + 3 * STEP[metric]
            if any(v in (value, upper) for v in self.person.daily[metric].values()):
                raise Skip
            self.spec["upper"] = upper
            self.values["t"], self.values["t2"] = plain(value), threshold_text(
                self.random, metric, upper, False)
            if metric == "sleep_minutes":
                self.values["t"], self.values["t2"] = (f"{plain(value / 60)} hours",
                                                       f"{plain(upper / 60)} hours")

    def done(self):
        self.spec.setdefault("table", "daily")
        text = self.text
        for name, value in self.values.items():
            if value is not None:
                text = text.replace("{" + name + "}", str(value))
        if "{" in text:
            raise ValueError(f"nothing fills {text}")
        text = re.sub(r"\ba (?=[aeioAEIO]|HRV|RHR|RMSSD)", "an ", text)
        return text[0].upper() + text[1:] if self.text[0] == "{" and self.text[1] == "W" else text


def needs(fill, n):
    """The window must have n values of the metric."""
    if len(oracle.selected(fill.person, fill.spec, fill.spec["metric"])) < n:
        raise Skip


def unique_extreme(fill, largest):
    points = oracle.selected(fill.person, fill.spec, fill.spec["metric"])
    values = sorted((v for _, v in points), reverse=largest)
    if len(values) < 4 or values[0] == values[1]:
        raise Skip


def statistic(op, n=2, kinds=None):
    def make(fill):
        fill.metric()
        fill.window(kinds)
        fill.spec["op"] = op
        needs(fill, n)
    return make


def daily_sum(fill):
    fill.metric(COUNTED, "mcount" if fill.wants("mcount") else "m")
    fill.window()
    fill.spec["op"] = "sum"
    needs(fill, 3)


def day_value(fill):
    metric = fill.metric()
    date, text = single_day(fill.random, fill.person, metric)
    fill.values["wday"] = text
    fill.spec.update(start=date.isoformat(), end=date.isoformat(), op="mean")
    if date not in fill.person.daily[metric] and fill.random.random() < 0.5:
        raise Skip


def count_days(op):
    def make(fill):
        metric = fill.metric()
        if metric == "floors":
            raise Skip
        fill.window()
        fill.comparison(metric)
        fill.spec["op"] = op
        needs(fill, 5)
    return make


def which_day(fill):
    fill.metric()
    fill.window()
    largest = fill.has("max")
    fill.spec["op"] = "argmax" if largest else "argmin"
    unique_extreme(fill, largest)


def weekend(fill):
    fill.metric()
    fill.window([last_days, month, between, this_year, everything, everything, quarter])
    fill.spec["op"] = "weekday_minus_weekend" if fill.has("reverse") else "weekend_minus_weekday"
    if (oracle.day_of(fill.spec["end"]) - oracle.day_of(fill.spec["start"])).days < 13:
        raise Skip


def period(op):
    def make(fill):
        fill.metric()
        length = (fill.person.today - fill.person.first).days
        days = fill.pick([str(n) for n in range(100)])
        days = int(days) if days else fill.random.choice([7, 10, 14, 20, 21, 28, 30, 45, 60])
        if 2 * days > length:
            raise Skip
        fill.values["n"] = days
        fill.spec.update(op=op, days=days)
    return make


def window_difference(fill):
    fill.metric()
    months = [m for m in months_of(fill.person) if m[0] >= fill.person.first]
    if len(months) < 3:
        raise Skip
    i = fill.random.randrange(len(months) - 2)
    a, b = months[i], months[fill.random.randrange(i + 1, len(months) - 1)]
    with_year = a[0].year != b[0].year or fill.random.random() < 0.6 or \
        fill.person.user == "p01"
    for slot, m in (("ma", a), ("mb", b)):
        fill.values[slot] = m[0].strftime("%B %Y" if with_year else "%B")
    fill.spec.update(start=b[0].isoformat(), end=b[1].isoformat(), start_b=a[0].isoformat(),
                     end_b=a[1].isoformat(),
                     op="window_percent_change" if fill.has("percent") else "window_difference")


LONG = [last_days, between, this_year, everything, everything, quarter, month]


def trend(op):
    def make(fill):
        fill.metric()
        fill.window(LONG)
        fill.spec["op"] = op
        needs(fill, 10)
    return make


PARTS = ("deep_sleep_minutes", "rem_sleep_minutes", "sleep_minutes")


def correlate(method, lag):
    def make(fill):
        x = fill.metric(key="x")
        y = fill.metric(slot="m2", key="y", exclude=(x,) + (PARTS if x in PARTS else ()))
        if {x, y} == {"steps", "active_minutes"} or x == y:
            raise Skip
        fill.window(LONG)
        shift = next((int(t[3:]) for t in fill.tokens if t.startswith("lag")), lag)
        fill.spec.update(lag=shift, method=method)
        if (oracle.day_of(fill.spec["end"]) - oracle.day_of(fill.spec["start"])).days < 20:
            raise Skip
        value = oracle.correlation(fill.person, fill.spec)
        # With a lag, whether the day after the window's last one belongs to it is a choice.
        if shift:
            wide = dict(fill.spec, end="2099-01-01")
            other = oracle.correlation(fill.person, wide)
            if other is None or abs(other - value) > 0.02:
                raise Skip
    return make


def workouts(op):
    def make(fill):
        name = fill.activity()
        fill.window()
        field = fill.pick(FIELDS)
        if field:
            fill.spec["field"] = field
        if field == "distance_km" and name not in ("Run", "Walk", "Bike", "Hike", "Swim", "any"):
            if op != "sum" or fill.random.random() < 0.5:
                raise Skip
        if name == "any" and field == "distance_km" and op != "sum":
            raise Skip
        fill.spec.update(table="activities", op=op)
        n = len(oracle.sessions_of(fill.person, fill.spec))
        if n == 0 and (op not in ("sum", "count") or fill.random.random() < 0.7):
            raise Skip
        if n == 0 and op == "sum":
            raise Skip
    return make


def last_sessions(fill):
    fill.activity()
    k = 1 if fill.has("k1") else fill.random.choice([2, 3, 3, 4, 5, 5, 6, 10])
    if len(oracle.sessions_of(fill.person, fill.spec)) < k + 1:
        raise Skip
    fill.values["k"] = WORDS[k] if k in WORDS and fill.random.random() < 0.3 else k
    fill.spec.update(table="activities", op="sum_last_k" if fill.has("sum") else "mean_last_k", k=k)
    if fill.pick(FIELDS) != "duration_min":
        fill.spec["field"] = fill.pick(FIELDS)
    chosen = oracle.sessions_of(fill.person, fill.spec)[-k:]
    if any(s[fill.pick(FIELDS)] is None for s in chosen):
        raise Skip


def on_activity(op):
    def make(fill):
        fill.metric()
        name = fill.activity()
        if name == "Walk" and fill.spec["metric"] == "steps" and fill.random.random() < 0.5:
            raise Skip
        fill.spec["op"] = op
        days = fill.person.days_with(None if name == "any" else name)
        if len([d for d in days if d in fill.person.daily[fill.spec["metric"]]]) < 3:
            raise Skip
    return make


def on_days_where(fill):
    fill.activity()
    random_, person = fill.random, fill.person
    cmp = fill.pick(COMPARISONS, "<")
    metric, slot = "sleep_minutes", "t"
    if fill.has("stress"):
        metric, slot, cmp = "stress_score", "ts", ">"
    if fill.has("steps"):
        metric, slot, cmp = "steps", "tst", ">"
    value = threshold(random_, person, metric)
    fill.values[slot] = threshold_text(random_, metric, value, True)
    fill.spec.update(table="activities", cond=f"{metric}{cmp}{plain(value)}",
                     op="count_on_days_where" if fill.has("count") else "sum_on_days_where")
    field = fill.pick(FIELDS)
    if field:
        fill.spec["field"] = field
    if not oracle.sessions_of(person, fill.spec):
        raise Skip


def streak(op):
    def make(fill):
        metric = fill.metric()
        fill.window(LONG)
        fill.comparison(metric, window=False)
        fill.spec["op"] = op
        if op == "current_streak":
            # A missing day ends a streak for some and not for others: only clear ones are asked.
            points = oracle.selected(fill.person, fill.spec, metric)
            if not points or points[-1][0] != fill.person.today:
                raise Skip
    return make


def rolling_now(fill):
    fill.metric()
    days = next((int(t[7:]) for t in fill.tokens if t.startswith("current")), 7)
    fill.spec.update(op="mean", start=(fill.person.today - (days - 1) * DAY).isoformat(),
                     end=fill.person.today.isoformat())
    needs(fill, 4)


def coverage(fill):
    fill.metric()
    fill.window()
    fill.spec["op"] = "count_nonmissing"
    if "start" in fill.spec:
        needs(fill, 1)


def bedtime(fill):
    fill.spec.update(metric="bedtime", op="circular_mean")
    if fill.wants("n"):
        length = (fill.person.today - fill.person.first).days
        days = fill.random.choice([n for n in (7, 14, 21, 30, 30, 60, 90) if n <= length])
        fill.values["n"] = days
        fill.spec["days"] = days
    fill.window()
    needs(fill, 1)


def lab(op):
    def make(fill):
        names = sorted({name for _, name, _ in fill.person.labs})
        name = fill.random.choice(names)
        chosen = op or next(t for t in fill.tokens)
        if fill.has("percent"):
            chosen = "percent_change"
        fill.values["lab"] = fill.name_of(LABS, name)
        fill.spec.update(table="labs", analyte=name, op=chosen)
        if chosen == "mmol":
            if name not in oracle.MOLAR:
                raise Skip
            fill.spec.update(op="latest", convert="mmol")
        values = [v for _, n, v in fill.person.labs if n == name]
        if chosen in ("argmax", "argmin") and len(set(values)) < len(values):
            raise Skip
    return make


def converted(fill):
    head = next(t for t in fill.tokens if "/" in t)
    name, unit = head.split("/")
    op = fill.pick(("mean", "max", "min", "sum"))
    fill.spec.update(op=op, convert=unit)
    if name in FIELDS:
        fill.activity()
        fill.spec.update(table="activities", field=name)
        fill.window()
        if not oracle.sessions_of(fill.person, fill.spec):
            raise Skip
        return
    fill.tokens = fill.tokens + [name]
    fill.metric()
    fill.window()
    needs(fill, 3)


def by_group(group):
    def make(fill):
        fill.metric()
        fill.window(LONG)
        fill.spec["op"] = f"{group}_arg{'max' if fill.has('max') else 'min'}"
        points = oracle.selected(fill.person, fill.spec, fill.spec["metric"])
        key = (lambda d: d.weekday()) if group == "weekday" else (lambda d: d.isoformat()[:7])
        means = sorted(oracle.grouped(points, key).values(), reverse=fill.has("max"))
        if len(points) < 28 or len(means) < 2 or \
                abs(means[0] - means[1]) < 0.003 * abs(means[0]):
            raise Skip
    return make


def weekday_filter(fill):
    metric = fill.metric()
    fill.window(LONG)
    fill.spec["op"] = fill.pick(("mean", "max", "sum", "count"))
    if fill.has("weekend"):
        days = "5,6"
    elif fill.has("workday"):
        days = "0,1,2,3,4"
    else:
        day = fill.random.randrange(7)
        days = str(day)
        fill.values.update(day=oracle.WEEKDAYS[day], days=oracle.WEEKDAYS[day] + "s")
    fill.spec["where"] = [f"weekday:{days}"]
    if fill.wants("t"):
        fill.tokens = fill.tokens + [">"]
        fill.comparison(metric)
    needs(fill, 3)


def where_mean(fill):
    random_, person = fill.random, fill.person
    clauses = {"tst": ("steps", ">"), "tsl": ("sleep_minutes", "<"),
               "tac": ("active_minutes", ">="),
               "ts": ("stress_score", "<" if "below" in fill.text else ">")}
    slot = next(s for s in clauses if fill.wants(s))
    metric, cmp = clauses[slot]
    fill.metric(exclude=(metric,))
    if fill.spec["metric"] in PARTS and metric in PARTS:
        raise Skip
    value = threshold(random_, person, metric)
    fill.values[slot] = plain(value) if slot == "tac" else threshold_text(random_, metric, value,
                                                                         True)
    fill.window(LONG)
    condition = f"{metric}{cmp}{plain(value)}"
    if fill.has("difference"):
        fill.spec.update(op="where_difference", a=condition, b=f"{metric}<={plain(value)}")
    else:
        fill.spec.update(op="mean", where=[condition])
        needs(fill, 3)


def first_last(fill):
    which = fill.pick(("first", "last"))
    if fill.has("activity"):
        fill.activity()
        fill.spec.update(table="activities", op=f"{which}_date")
        return
    metric = fill.metric()
    if metric == "floors":
        raise Skip
    fill.comparison(metric)
    fill.spec["op"] = f"{which}_day"
    if oracle.answer(fill.person, dict(fill.spec, table="daily")) is None:
        raise Skip


def rank(fill):
    fill.metric()
    fill.window(LONG)
    op = fill.pick(("top", "bottom", "nth_max", "nth_min"))
    k = fill.random.choice([3, 5]) if op in ("top", "bottom") else 2
    fill.values["k"] = WORDS[k] if fill.random.random() < 0.4 else k
    fill.spec.update(op=op, k=k)
    points = oracle.selected(fill.person, fill.spec, fill.spec["metric"])
    values = sorted((v for _, v in points), reverse=op in ("top", "nth_max"))[:k + 1]
    if len(points) < 2 * k + 2 or len(set(values)) < k + 1:
        raise Skip


def rolling_extreme(fill):
    fill.metric()
    fill.window([everything, this_year, quarter])
    largest = fill.has("max")
    fill.spec.update(op="rolling_max" if largest else "rolling_min", width=7)
    points = oracle.selected(fill.person, fill.spec, fill.spec["metric"])
    series = dict(points)
    loose = []
    for date in series:
        days = [date - i * DAY for i in range(7)]
        values = [series[d] for d in days if d in series]
        if len(values) >= 3:
            loose.append(oracle.mean(values))
    strict = oracle.answer(fill.person, dict(fill.spec, table="daily"))
    # Whether a window with a missing day counts is a choice: only where it does not matter.
    if strict is None or abs((max if largest else min)(loose) - strict) > 0.01 * abs(strict):
        raise Skip


def quantile_range(fill):
    fill.metric()
    fill.window()
    if fill.has("range"):
        fill.spec["op"] = "range"
    else:
        percent = int(next(t for t in fill.tokens if t[0] == "q")[1:])
        fill.spec.update(op="quantile", q=percent / 100)
    needs(fill, 10)


def workouts_filter(fill):
    name = fill.activity()
    fill.window(LONG)
    field = fill.pick(FIELDS)
    op = fill.pick(("count", "argmax", "min", "sum"))
    fill.spec.update(table="activities", op=op)
    if field:
        fill.spec["field"] = field
    if fill.has("weekend"):
        fill.spec["where"] = ["weekday:5,6"]
    chosen = oracle.sessions_of(fill.person, fill.spec)
    if len(chosen) < 3:
        raise Skip
    if fill.has(">"):
        values = [s[field] for s in chosen]
        step = {"distance_km": 1, "duration_min": 5, "calories": 50}[field]
        value = round(oracle.quantile(values, 0.6) / step) * step
        slot = {"distance_km": "tkm", "duration_min": "tmin", "calories": "tcal"}[field]
        fill.values[slot] = value
        fill.spec["where"] = [f"field:{field}>{value}"]
        del fill.spec["field"]
    if op == "argmax":
        values = sorted(s[field] for s in chosen)
        if values[-1] == values[-2]:
            raise Skip
    if name == "any":
        raise Skip


EXTREMES = WINDOWS + [ever, ever, ever]
KINDS = {
    "daily_mean": (2, statistic("mean")), "daily_median": (2, statistic("median", 3)),
    "daily_min": (2, statistic("min", 2, EXTREMES)),
    "daily_max": (2, statistic("max", 2, EXTREMES)),
    "daily_sd": (2, statistic("sd", 4)), "daily_sum": (2, daily_sum), "day_value": (2, day_value),
    "count_days_threshold": (2, count_days("count")), "which_day_extreme": (2, which_day),
    "weekend_minus_weekday": (2, weekend),
    "period_percent_change": (2, period("period_percent_change")),
    "period_difference": (2, period("period_difference")),
    "window_difference": (2, window_difference),
    "trend_slope_ols": (2, trend("ols_slope_per_week")),
    "trend_slope_theil_sen": (2, trend("theil_sen_per_week")),
    "correlation_pearson": (2, correlate("pearson", 0)),
    "correlation_spearman": (2, correlate("spearman", 0)),
    "correlation_lag1": (2, correlate("pearson", 1)),
    "activity_count": (2, workouts("count")), "activity_sum": (2, workouts("sum")),
    "activity_mean": (2, workouts("mean")), "activity_max": (2, workouts("max")),
    "activity_last_k": (2, last_sessions),
    "daily_on_activity_days": (2, on_activity("mean_on_activity_days")),
    "activity_day_contrast": (2, on_activity("on_minus_off")),
    "activity_on_days_where": (2, on_days_where), "longest_streak": (2, streak("longest_streak")),
    "rolling_7d": (2, rolling_now), "coverage": (2, coverage), "bedtime_mean": (2, bedtime),
    "lab_latest": (2, lab("latest")), "lab_change": (2, lab("last_minus_first")),
    "lab_more": (2, lab(None)), "unit_conversion": (2, converted),
    "best_weekday": (2, by_group("weekday")), "best_month": (2, by_group("month")),
    "weekday_filter": (2, weekday_filter), "where_mean": (2, where_mean),
    "share": (2, count_days("share")), "first_last_time": (2, first_last), "rank": (2, rank),
    "rolling_extreme": (2, rolling_extreme), "quantile_range": (2, quantile_range),
    "current_streak": (2, streak("current_streak")), "workouts_filter": (2, workouts_filter),
}


def spoken(text):
    """As a telephone writes down what is said: no capitals, no punctuation but within numbers."""
    text = re.sub(r"(?<!\d)[,.:;?!()]|[,.:;?!()](?!\d)", "", text.lower())
    return re.sub(r"\s+", " ", text).strip()


def wordings(path):
    kind, group = None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("## "):
                group = line[3:]
            elif line.startswith("# "):
                kind, group = line[2:], None
            elif line and not kind.startswith(("forms ", "names ")):
                head, bar, text = line.partition(" :: ")
                tokens = re.split(r"[ ,]", head) if bar else []
                yield kind, group, tokens, text if bar else line


def draw(random_, people, extra, kind, tokens, text):
    for _ in range(400):
        user = random_.choice(USERS)
        fill = Fill(random_, people[user], extra, [t for t in tokens if t != "?"], text)
        try:
            KINDS[kind][1](fill)
            question = fill.done()
            answer = oracle.answer(people[user], fill.spec)
            if answer is None and kind != "day_value":
                continue
        except (Skip, IndexError, ZeroDivisionError):
            continue
        return user, question, answer, fill.spec
    return None


def refusals(random_, tokens, text):
    """The people whom something unanswerable is asked of."""
    if not tokens or tokens == ["?"]:
        return [random_.choice(USERS)]
    if "u*" in tokens:
        return random_.sample(USERS[:6], 2)
    return [t for t in tokens if t != "?"]


def long_texts():
    yield ""
    yield " "
    yield "What was my average sleep " + "very " * 500 + "recently?"
    yield "average steps " * 200
    yield "a" * 1900


def build(source, target, seed, with_long):
    random_ = random.Random(seed)
    people = {user: oracle.Person(PEOPLE, user) for user in set(USERS)}
    extra, rows, seen = Extra(source), [], set()

    def add(user, question, kind, answer, spec, debatable):
        if (user, question) in seen:
            return
        seen.add((user, question))
        row = {"id": f"pq-{seed}-{len(rows) + 1:04d}", "user": user, "question": question,
               "kind": kind, "answer": round(answer, 6) if isinstance(answer, float) else answer,
               "spec": spec}
        if debatable:
            row["debatable"] = True
        rows.append(row)

    for kind, group, tokens, text in wordings(source):
        if kind == "unanswerable":
            for user in refusals(random_, tokens, text):
                add(user, text, kind, None, {"op": group}, "?" in tokens)
            continue
        for _ in range(KINDS[kind][0]):
            found = draw(random_, people, extra, kind, tokens, text)
            if found is None:
                print(f"no draw for {kind}: {text}", file=sys.stderr)
                continue
            user, question, answer, spec = found
            if random_.random() < 0.1 and "(" not in text:
                question = spoken(question)
            add(user, question, kind, answer, spec, "?" in tokens)
    for text in long_texts() if with_long else ():
        add("u01", text, "unanswerable", None, {"op": "empty or very long"}, False)
    with open(target, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return len(rows), sum(r["kind"] == "unanswerable" for r in rows)


def main():
    for name, seed, with_long in (("", 1, True), ("_held", 2, False), ("_late", 3, False)):
        source = os.path.join(HERE, f"wordings{name}.txt")
        if os.path.exists(source):
            n, refused = build(source, os.path.join(HERE, f"people{name}.jsonl"), seed, with_long)
            print(f"people{name}.jsonl: {n} questions, {refused} of them unanswerable")
    return 0


if __name__ == "__main__":
    sys.exit(main())
