#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/ask/make_person.py [FOLDER]

Writes the tables of the invented person p01: eighteen months of days with gaps, workouts and
laboratory results, the same at every run. The people u01 to u06 beside it are those of the sample
questions.
"""
import csv
import datetime
import os
import random
import sys

FIRST, LAST = datetime.date(2024, 2, 5), datetime.date(2025, 8, 14)
HOLIDAY = (datetime.date(2024, 7, 8), datetime.date(2024, 7, 19))  # the watch stayed at home
COLUMNS = ["date", "steps", "resting_heart_rate", "hrv_rmssd", "sleep_minutes",
           "deep_sleep_minutes", "rem_sleep_minutes", "awake_minutes", "bedtime", "active_minutes",
           "weight_kg", "stress_score", "blood_oxygen", "respiratory_rate", "floors", "body_fat"]
# Name, chance, minutes, km a minute, pulse, and the hour, so that no two overlap.
SPORTS = [("Run", 0.16, 45, 0.165, 148, 6), ("Swim", 0.09, 38, 0.042, 131, 12),
          ("Bike", 0.10, 75, 0.40, 128, 14), ("Yoga", 0.08, 50, 0, 96, 21),
          ("Tennis", 0.06, 80, 0, 139, 17)]
LABS = {"ldl": (128, 12, "mg/dL"), "hdl": (54, 4, "mg/dL"), "triglycerides": (104, 18, "mg/dL"),
        "hba1c": (5.4, 0.15, "%"), "fasting_glucose": (93, 5, "mg/dL"),
        "vitamin_d_25oh": (27, 5, "ng/mL"), "ferritin": (88, 20, "ng/mL"),
        "total_cholesterol": (201, 14, "mg/dL")}


def days():
    date = FIRST
    while date <= LAST:
        yield date
        date += datetime.timedelta(1)


def sessions_of(random_, date):
    for name, chance, minutes, km_per_minute, heart, hour in SPORTS:
        if random_.random() < chance * (1.6 if date.weekday() >= 5 else 0.8):
            duration = round(max(12, random_.gauss(minutes, minutes / 4)), 1)
            distance = round(duration * km_per_minute * random_.uniform(0.9, 1.1), 2)
            start = f"{date} {hour:02d}:{random_.choice(['05', '10', '20', '30'])}"
            pulse = round(random_.gauss(heart, 6)) if random_.random() < 0.9 else ""
            yield [date, start, name, duration, distance, pulse,
                   round(duration * random_.uniform(6, 11))]


def day_row(random_, date, load, state):
    """One day; `state` drifts slowly, so that days resemble their neighbours."""
    age = (date - FIRST).days
    state["form"] = 0.85 * state["form"] + random_.gauss(0, 1)
    is_weekend = date.weekday() >= 5
    sleep = round(random_.gauss(428 + 34 * is_weekend + 5 * state["form"], 38))
    bed = (23 * 60 + 5 + 35 * (date.weekday() in (5, 6)) + random_.gauss(0, 28)) % 1440
    row = {
        "date": date,
        "steps": round(max(400, random_.gauss(8300 - 900 * is_weekend, 2300) + 45 * load)),
        "resting_heart_rate": round(
            random_.gauss(58.5 - 0.006 * age - 0.8 * state["form"], 1.6), 1),
        "hrv_rmssd": round(max(12, random_.gauss(46 + 0.01 * age + 3 * state["form"], 5)), 1),
        "sleep_minutes": sleep,
        "deep_sleep_minutes": round(max(10, sleep * random_.gauss(0.17, 0.03))),
        "rem_sleep_minutes": round(max(10, sleep * random_.gauss(0.22, 0.04))),
        "awake_minutes": round(max(2, random_.gauss(33, 11))),
        "bedtime": f"{int(bed) // 60:02d}:{int(bed) % 60:02d}",
        "active_minutes": round(max(0, random_.gauss(24, 9) + 0.8 * load)),
        "weight_kg": round(78.4 - 0.007 * age + random_.gauss(0, 0.4), 1),
        "stress_score": round(min(99, max(1, random_.gauss(41 - 2 * state["form"], 9)))),
        "blood_oxygen": round(min(100, random_.gauss(96.6, 0.8)), 1),
        "respiratory_rate": round(random_.gauss(14.6, 0.6), 1),
        "floors": round(max(0, random_.gauss(11, 5))),
        "body_fat": round(21.5 - 0.004 * age + random_.gauss(0, 0.5), 1),
    }
    asleep = ["sleep_minutes", "deep_sleep_minutes", "rem_sleep_minutes", "awake_minutes",
              "bedtime", "hrv_rmssd", "blood_oxygen", "respiratory_rate"]
    missing = set(asleep if random_.random() < 0.05 else [])
    missing |= {name for name in COLUMNS[1:] if name not in asleep and random_.random() < 0.02}
    missing |= {"weight_kg", "body_fat"} if random_.random() < 0.3 else set()
    return [("" if name in missing else row[name]) for name in COLUMNS]


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    folder = arguments[0] if arguments else os.path.join(here, "..", "data", "people")
    random_, state = random.Random(20250814), {"form": 0.0}
    rows, sessions = [], []
    for date in days():
        today = list(sessions_of(random_, date))
        if HOLIDAY[0] <= date <= HOLIDAY[1]:
            continue
        if random_.random() < 0.015 and date != LAST:
            continue
        sessions += today
        rows.append(day_row(random_, date, sum(s[3] for s in today), state))
    write(os.path.join(folder, "p01_daily.csv"), COLUMNS, rows)
    write(os.path.join(folder, "p01_activities.csv"),
          ["date", "start", "activity", "duration_min", "distance_km", "avg_hr", "calories"],
          sessions)
    labs = []
    for name, (level, spread, unit) in LABS.items():
        for year, month, day in ((2024, 3, 12), (2024, 9, 17), (2025, 2, 11), (2025, 7, 22)):
            date = datetime.date(year, month, day + random_.randrange(5))
            labs.append([date, name, round(random_.gauss(level, spread), 1), unit])
    write(os.path.join(folder, "p01_labs.csv"), ["date", "analyte", "value", "unit"], labs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
