#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/series.py [WEIR]

`weir series` from outside: CSV, JSON and pictures of a person's data, and errors that help.
"""
import csv
import io
import json
import os
import pathlib
import sys
import tempfile

from plan import on_terminal
from support import Counter, program, run

DAILY = "date,steps,resting_heart_rate,bedtime,cups of tea\n" + "".join(
    f"2025-03-{day:02d},{1000 * day},{50 + day % 3},{'23:50' if day % 2 else '00:10'},{day % 4}\n"
    for day in range(1, 31) if day != 7)
WORKOUTS = ("date,start,activity,duration_min,distance_km,avg_hr,calories\n"
            "2025-03-02,2025-03-02 07:00,Run,30.5,5.1,140,300\n"
            "2025-03-04,2025-03-04 18:00,\"Yoga, easy\",45,,,150\n")
LABS = "date,analyte,value,unit\n2025-03-03,ldl,131.2,mg/dL\n2025-03-09,Zinc,80,ug/dL\n"


def rows_of(result):
    return list(csv.DictReader(io.StringIO(result.out.decode())))


def prepare(weir, folder, count):
    for name, text in (("daily", DAILY), ("workouts", WORKOUTS), ("labs", LABS)):
        table = os.path.join(folder, name + ".csv")
        pathlib.Path(table).write_text(text)
        result = run(weir, "import", table, "--data", folder, "--zone", "Europe/Berlin", "--quiet")
        count.check(result.code == 0, f"{name} are imported", result.err)


def check_metrics(weir, count, folder):
    rows = rows_of(run(weir, "series", "--data", folder))
    names = [row["metric"] for row in rows]
    count.check(names[:3] == ["steps", "resting_heart_rate", "bedtime"] and len(rows) == 4,
                "the list has the metrics in order", f"{names}")
    count.check(rows[0] == {"metric": "steps", "unit": "steps", "days": "29", "first": "2025-03-01",
                            "last": "2025-03-30"}, "with their days", f"{rows[0]}")
    lines = run(weir, "series", "--json", "--data", folder).out.decode().splitlines()
    count.check(json.loads(lines[1])["metric"] == "resting_heart_rate", "as JSON too", lines[1])


def check_values(weir, count, folder):
    rows = rows_of(run(weir, "series", "Step Count", "--data", folder))
    count.check(len(rows) == 29 and list(rows[0]) == ["date", "value", "unit", "source", "quality"],
                "a metric by what people call it", f"{rows[:1]}")
    count.check(rows[0]["date"] == "2025-03-01" and rows[0]["value"] == "1000" and
                rows[0]["quality"] == "good" and rows[0]["unit"] == "steps", "its first day",
                f"{rows[0]}")
    rows = rows_of(run(weir, "series", "steps", "--from", "2025-03-06", "--to", "2025-03-08",
                       "--data", folder))
    count.check([row["date"] for row in rows] == ["2025-03-06", "2025-03-08"],
                "a missing day is missing", f"{rows}")
    rows = rows_of(run(weir, "series", "bedtime", "--last", "2", "--data", folder))
    count.check([row["value"] for row in rows] == ["1430", "10"], "times in minutes", f"{rows}")
    rows = rows_of(run(weir, "series", "cups of tea", "--last", "1", "--data", folder))
    count.check(len(rows) == 1 and rows[0]["value"] == "2", "a metric of one's own", f"{rows}")
    line = run(weir, "series", "steps", "--last", "1", "--json", "--data", folder).out
    got = json.loads(line)
    count.check(got["date"] == "2025-03-30" and got["value"] == 30000, "a line of JSON", f"{got}")


def check_tables(weir, count, folder):
    rows = rows_of(run(weir, "series", "workouts", "--data", folder))
    count.check(len(rows) == 2 and rows[0]["activity"] == "run" and rows[0]["minutes"] == "30.5" and
                rows[0]["km"] == "5.1" and rows[0]["start"].startswith("2025-03-02T07:00:00+01:00"),
                "workouts with their numbers", f"{rows}")
    count.check(len(rows) == 2 and rows[1]["km"] == "" and rows[1]["label"] == "Yoga, easy",
                "what is not known is empty, commas are quoted", f"{rows}")
    rows = rows_of(run(weir, "series", "labs", "--data", folder))
    count.check([row["analyte"] for row in rows] == ["ldl", ""] and rows[1]["label"] == "Zinc" and
                rows[0]["value"] == "131.2" and rows[0]["unit"] == "mg/dL", "results", f"{rows}")
    rows = rows_of(run(weir, "series", "labs", "--from", "2025-03-04", "--data", folder))
    count.check(len(rows) == 1, "only some days", f"{rows}")
    result = run(weir, "series", "sleeps", "--data", folder)
    count.check(result.code == 0 and result.out.decode().startswith("date,start,end,nap,asleep"),
                "sleeps have a head", f"{result.out}")


def check_errors(weir, count, folder):
    result = run(weir, "series", "stpes", "--data", folder)
    count.check(result.code == 1 and 'did you mean "steps"?' in result.err, "the nearest name",
                result.err)
    result = run(weir, "series", "qqqqqqqqqqq", "--data", folder)
    count.check(result.code == 1 and '"weir series" lists' in result.err, "no name is near",
                result.err)
    result = run(weir, "series", "blood oxygen", "--data", folder)
    count.check(result.code == 1 and "no data for blood oxygen" in result.err, "no data", result.err)
    for wrong in (["steps", "weight"], ["steps", "--from", "March"], ["--last", "0"],
                  ["--last", "3", "--to", "2025-03-01"], ["--csv", "--json"]):
        result = run(weir, "series", *wrong, "--data", folder)
        count.check(result.code == 2 and "Try: weir series --help" in result.err, f"usage {wrong}",
                    result.err)


def check_terminal(weir, count, folder):
    code, out = on_terminal(weir, "series", "steps", "--data", folder)
    lines = out.splitlines()
    count.check(code == 0 and len(lines) == 3 and lines[1][0] == "▁" and lines[1][-1] == "█" and
                lines[1][6] == " " and len(lines[1]) == 30, "a line of bars", out)
    count.check("lowest 1000" in out and "highest 30000" in out, "with numbers", out)
    code, out = on_terminal(weir, "series", "bedtime", "--data", folder)
    count.check(code == 0 and "lowest 23:50" in out and "highest 00:10" in out,
                "times of day around midnight", out)
    code, out = on_terminal(weir, "series", "--data", folder)
    count.check(code == 0 and out.startswith("steps ") and "29 days" in out, "the list", out)
    code, out = on_terminal(weir, "series", "--data", folder, "--user", "nobody")
    count.check(code == 1 and "weir import" in out, "nobody's data", out)


def main():
    weir, count = program(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        prepare(weir, folder, count)
        check_metrics(weir, count, folder)
        check_values(weir, count, folder)
        check_tables(weir, count, folder)
        check_errors(weir, count, folder)
        check_terminal(weir, count, folder)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
