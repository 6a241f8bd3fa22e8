#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/ask.py [WEIR]

`weir ask` and `weir trace` from outside, with a server on the folder and without one. What an answer
may say is for tests/serve.
"""
import json
import re
import subprocess
import sys
import tempfile

from support import ROOT, Counter, program, run

PEOPLE = ROOT / "tests/data/people"
QUESTION = "what was my average resting heart rate in the last 30 days?"


def turn_id(result):
    found = re.search(r"turn_[0-9A-Z]{26}", result.err)
    return found.group() if found else ""


def check_ask(weir, folder, count, where):
    result = run(weir, "ask", QUESTION, "--data", folder)
    count.check(result.code == 0 and result.out.strip(), f"{where}: it is answered", result.err)
    count.check("> data_science: " in result.err, f"{where}: the agents are shown", result.err)
    quiet = run(weir, "ask", "--quiet", *QUESTION.split(), "--data", folder)
    count.check(quiet.code == 0 and quiet.out.strip() and not quiet.err,
                f"{where}: the answer alone", quiet.err)
    events = [json.loads(line) for line in
              run(weir, "ask", "--json", QUESTION, "--data", folder).out.splitlines()]
    count.check([e["id"] for e in events] == list(range(1, len(events) + 1)),
                f"{where}: ids have no gap")
    count.check(events and events[0]["event"] == "turn.started"
                and events[-1]["event"] == "turn.completed", f"{where}: from the start to the end")
    return turn_id(result)


def check_trace(weir, folder, count, turn, where):
    result = run(weir, "trace", turn, "--data", folder)
    count.check(result.code == 0 and b"classify_vagueness" in result.out
                and b"memory_extraction" in result.out, f"{where}: each step has a line", result.err)
    trace = json.loads(run(weir, "trace", turn, "--json", "--data", folder).out)
    count.check(trace["turn_id"] == turn and trace["steps"][0]["input"]["messages"][0]["content"]
                == QUESTION, f"{where}: the whole input is there")
    count.check(run(weir, "trace", "turn_" + "0" * 26, "--data", folder).code == 1,
                f"{where}: a turn that is not there is an error")


def check_replay(weir, folder, count, turn, where):
    result = run(weir, "replay", turn, "--data", folder)
    count.check(result.code == 0 and b"differs" not in result.out
                and b"the same" in result.out, f"{where}: nothing differs", result.out.decode())
    part = run(weir, "replay", turn, "--from", "synthesis", "--json", "--data", folder)
    steps = [step["name"] for step in json.loads(part.out)["steps"]]
    count.check(part.code == 0 and steps == ["synthesis", "memory_extraction"],
                f"{where}: from a step on", str(steps))
    count.check(run(weir, "replay", turn, "--from", "lunch", "--data", folder).code == 1,
                f"{where}: a step that is not there is an error")


def check_changed_data(weir, folder, count, turn):
    """What differs is shown when the data have changed since."""
    table = folder + "/more.csv"
    with open(table, "w", encoding="utf-8") as file:
        file.write("date,resting_heart_rate\n" + "".join(
            f"2026-01-{day:02d},{80 + day % 3}\n" for day in range(1, 32)))
    imported = run(weir, "import", table, "--data", folder, "--quiet")
    count.check(imported.code == 0, "other data are imported", imported.err)
    result = run(weir, "replay", turn, "--data", folder)
    count.check(result.code == 1 and b"differs" in result.out, "changed data differ",
                result.out.decode())


def check_usage(weir, folder, count):
    for arguments in (["ask"], ["ask", "x", "--user", "a b"], ["trace"], ["trace", "a", "b"],
                      ["trace", "../x"]):
        result = run(weir, *arguments, "--data", folder)
        count.check(result.code == 2 and "--help" in result.err, f"usage of {arguments}")
    result = run(weir, "ask", "x", "--data", folder + "/nothing")
    count.check(result.code == 1 and "nothing" in result.err, "a folder that is not there")


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as folder:
        files = [str(PEOPLE / f"p01_{kind}.csv") for kind in ("daily", "activities", "labs")]
        imported = run(weir, "import", *files, "--data", folder, "--quiet")
        count.check(imported.code == 0, "a person is imported", imported.err)
        turn = check_ask(weir, folder, count, "alone")
        check_trace(weir, folder, count, turn, "alone")
        check_replay(weir, folder, count, turn, "alone")
        check_usage(weir, folder, count)
        with subprocess.Popen([weir, "serve", "--listen", "127.0.0.1:0", "--data", folder],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
            server.stdout.readline()
            check_trace(weir, folder, count, turn, "with a server")
            check_replay(weir, folder, count, turn, "with a server")
            check_ask(weir, folder, count, "with a server")
            server.terminate()
        check_changed_data(weir, folder, count, turn)
    return count.finish()


sys.exit(main())
