#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/import/houses.py [WEIR]

The exports of one invented person in the formats of six houses (tests/data/invented), each
imported for a user of its own and held against what that person did, day by day: exactly, but
for weights, which were printed in pounds with one decimal. Then everything again, in another
order and under names that say nothing, which has to change nothing.
"""
import csv
import io
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import ROOT, Counter, program, run  # noqa: E402

SAMPLES = ROOT / "tests" / "data" / "invented"
NIGHT = {"sleep": "sleep_minutes", "deep": "deep_sleep_minutes", "rem": "rem_sleep_minutes",
         "light": "light_sleep_minutes", "awake": "awake_minutes"}
# Which of the truth each house knows.
HOUSES = {
    "fitbit_takeout": NIGHT,
    "oura": {**NIGHT, "steps_watch": "steps", "rhr": "resting_heart_rate", "hrv": "hrv_rmssd"},
    "samsung": {"sleep": "sleep_minutes", "steps_watch": "steps"},
    "whoop": {**NIGHT, "rhr": "resting_heart_rate", "hrv": "hrv_rmssd"},
}
ZONE = ("--zone", "America/New_York")


def series(weir, data, user, metric):
    result = run(weir, "series", metric, "--csv", "--user", user, "--data", data)
    if result.code != 0:
        return {}
    rows = csv.DictReader(io.StringIO(result.out.decode()))
    return {row["date"]: float(row["value"]) for row in rows}


def import_files(weir, data, user, files):
    result = run(weir, "import", *map(str, files), "--user", user, "--data", data, *ZONE, "--json")
    if result.code != 0:
        return None, result.err.strip()
    return json.loads(result.out), ""


def dump(weir, data, user):
    """All that is known of a user, as text."""
    names = run(weir, "series", "--csv", "--user", user, "--data", data).out.decode()
    out = [names]
    for name in [*(line.split(",")[0] for line in names.splitlines()[1:]), "sleeps", "workouts",
                 "labs"]:
        out.append(run(weir, "series", name, "--csv", "--user", user, "--data", data).out.decode())
    return "\n".join(out)


def check_house(counter, weir, data, house, truth):
    files = sorted((SAMPLES / house).iterdir())
    summary, error = import_files(weir, data, house, files)
    counter.check(summary is not None, f"{house} is imported", error)
    if summary is None:
        return
    counter.check(summary.get("refused", 0) == 0, f"{house} has nothing refused", str(summary))
    for member, metric in HOUSES.get(house, {}).items():
        got = series(weir, data, house, metric)
        want = {day: float(v[member]) for day, v in truth.items() if v.get(member) is not None}
        wrong = {d: (got.get(d), want.get(d)) for d in want if got.get(d) != want[d]}
        counter.check(not wrong, f"{house}: {metric} is the truth", str(dict(list(wrong.items())[:4])))
        counter.check(set(got) == set(want), f"{house}: {metric} has no other days",
                      str(sorted(set(got) ^ set(want))[:4]))


def check_particular(counter, weir, data, truth):
    weights = series(weir, data, "fitbit_takeout", "weight")
    counter.check(len(weights) == 10 and all(round(v, 1) == truth[d]["weight"]
                                             for d, v in weights.items()),
                  "pounds of Fitbit are the truth's kilograms", str(weights))
    steps = series(weir, data, "fitbit_takeout", "steps")
    counter.check(steps == {"2025-03-01": truth["2025-03-01"]["steps_watch"]},
                  "minutes of Fitbit add up", str(steps))
    strain = series(weir, data, "whoop", "strain")
    counter.check(len(strain) == 29 and "2025-03-30" not in strain,
                  "the unfinished cycle has no strain", str(sorted(strain)[-2:]))
    sleeps = run(weir, "series", "sleeps", "--csv", "--user", "whoop", "--data", data).out.decode()
    counter.check(len(sleeps.splitlines()) == 32, "thirty nights and a nap", sleeps[-300:])
    workouts = run(weir, "series", "workouts", "--csv", "--user", "garmin", "--data",
                   data).out.decode()
    counter.check(len(workouts.splitlines()) == 7, "six workouts", workouts)
    labs = run(weir, "series", "labs", "--csv", "--user", "labs", "--data", data).out.decode()
    counter.check(len(labs.splitlines()) == 11 and "141.71" in labs and "131.47" in labs,
                  "results are converted", labs)


def check_again(counter, weir, data, house, folder):
    """The same files, backwards, one by one, named after nothing but what their house needs."""
    before = dump(weir, data, house)
    files = sorted((SAMPLES / house).iterdir(), reverse=True)
    summary, error = import_files(weir, data, house, files)
    counter.check(summary is not None and summary.get("new", 0) == 0,
                  f"{house} a second time is nothing new", error or str(summary))
    counter.check(dump(weir, data, house) == before, f"{house} a second time changes nothing")
    for i, path in enumerate(files):
        is_count = path.name.startswith("steps-")  # what is counted stands in the name alone
        copy = pathlib.Path(folder) / (path.name if is_count else f"{i}")
        shutil.copy(path, copy)
        summary, error = import_files(weir, data, f"{house}-again", [copy])
        counter.check(summary is not None, f"{path.name} is known by its content", error)
    counter.check(dump(weir, data, f"{house}-again") == before,
                  f"{house} one by one gives the same data")


def dressed_csv(path, how):
    """The same table written in another way."""
    text = path.read_text(encoding="utf-8")
    lines = list(csv.reader(io.StringIO(text)))
    is_samsung = lines[0][0].startswith("com.samsung.")
    out = io.StringIO()
    if is_samsung:
        out.write(text.splitlines()[0].replace(",", ";" if how == "semicolons" else ",") + "\n")
        lines = lines[1:]
    if how == "turned":  # columns from right to left
        width = len(lines[0])
        lines = [[*reversed(line[:width])] for line in lines]
    writer = csv.writer(out, delimiter=";" if how == "semicolons" else ",", lineterminator="\r\n",
                        quoting=csv.QUOTE_ALL if how == "quoted" else csv.QUOTE_MINIMAL)
    writer.writerows(lines)
    return ("\ufeff" if how != "turned" else "") + out.getvalue()


def dressed_json(path, how):
    value = json.loads(path.read_text(encoding="utf-8"))

    def turned(v):
        if isinstance(v, dict):
            return {k: turned(m) for k, m in reversed(v.items())}
        return [turned(m) for m in v] if isinstance(v, list) else v

    return json.dumps(turned(value) if how == "turned" else value,
                      indent=3 if how == "quoted" else None,
                      separators=(",", ":") if how == "semicolons" else None)


def check_clothes(counter, weir, data, house, folder):
    """Written by another program: marks, quotes, other delimiters, another order of columns."""
    want = dump(weir, data, house)
    for how in ("quoted", "semicolons", "turned"):
        files = []
        for path in sorted((SAMPLES / house).iterdir()):
            copy = pathlib.Path(folder) / how / path.name
            copy.parent.mkdir(exist_ok=True)
            dress = dressed_json if path.suffix == ".json" else dressed_csv
            copy.write_text(dress(path, how), encoding="utf-8", newline="")
            files.append(copy)
        user = f"{house}-{how}"
        summary, error = import_files(weir, data, user, files)
        counter.check(summary is not None and dump(weir, data, user) == want,
                      f"{house}, {how}, gives the same data", error)


def main():
    weir = program()
    counter = Counter()
    truth = json.loads((SAMPLES / "truth_daily.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        data = str(pathlib.Path(folder) / "data")
        houses = sorted(p.name for p in SAMPLES.iterdir() if p.is_dir())
        for house in houses:
            check_house(counter, weir, data, house, truth)
        check_particular(counter, weir, data, truth)
        for house in houses:
            check_again(counter, weir, data, house, folder)
            check_clothes(counter, weir, data, house, folder)
    return counter.finish()


if __name__ == "__main__":
    sys.exit(main())
