#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/plan.py [WEIR]

`weir plan` from outside: where plans come from, what is printed, exit statuses, a folder that a
server has open. What plans mean is for tests/plan.
"""
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile

from support import Counter, program, run

DAILY = "date,steps,bedtime\n" + "".join(
    f"2025-03-{day:02d},{1000 * day},{'23:50' if day % 2 else '00:10'}\n" for day in range(1, 11))
MEAN = '{"op":"aggregate","metric":"steps","window":{"last_days":3}}'


def prepare(weir, folder, count):
    table = os.path.join(folder, "daily.csv")
    pathlib.Path(table).write_text(DAILY)
    result = run(weir, "import", table, "--data", folder, "--quiet")
    count.check(result.code == 0, "a table is imported", result.err)


def on_terminal(weir, *arguments):
    """What it prints when standard output is a terminal."""
    leader, follower = pty.openpty()
    child = subprocess.Popen([weir, *arguments], stdout=follower, stderr=follower,
                             stdin=subprocess.DEVNULL)
    os.close(follower)
    out = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(leader)
    return child.wait(), out.decode().replace("\r\n", "\n")


def check_sources(weir, count, folder):
    want = {"plan": {"op": "aggregate", "metric": "steps", "stat": "mean",
                     "window": {"last_days": 3}},
            "value": 9000, "unit": "steps", "n": 3,
            "window": {"from": "2025-03-08", "to": "2025-03-10"}}
    file = os.path.join(folder, "plan.json")
    pathlib.Path(file).write_text(MEAN + "\n")
    ways = {"the command line": (MEAN, b""), "standard input": ("-", MEAN.encode()),
            "a file": ("@" + file, b"")}
    for name, (text, given) in ways.items():
        result = run(weir, "plan", "--run", text, "--data", folder, data=given)
        count.check(result.code == 0 and json.loads(result.out) == want, f"a plan from {name}",
                    f"{result.out} {result.err}")
    result = run(weir, "plan", "--run", "@/nowhere", "--data", folder)
    count.check(result.code == 1 and "/nowhere" in result.err, "a file that is not there",
                result.err)


def check_batch(weir, count, folder):
    lines = [MEAN, '{"op":"aggregate"}', "not a question that anybody understands, is it", "{",
             '{"op":"count","metric":"blood oxygen"}', MEAN + "\r"]
    result = run(weir, "plan", "--batch", "--data", folder, data="\n".join(lines).encode())
    got = [json.loads(line) for line in result.out.decode().splitlines()]
    count.check(result.code == 0 and len(got) == 6, "a line for each line", f"{result.out}")
    if len(got) != 6:
        return
    count.check(got[0]["value"] == 9000 and got[5]["value"] == 9000, "plans have values")
    count.check("needs one of" in got[1]["error"]["message"], "a wrong plan has an error")
    count.check("unanswerable" in got[2] and "value" not in got[2], "a question is refused")
    count.check("no JSON" in got[3]["error"]["message"], "no JSON has an error", f"{got[3]}")
    count.check(got[4]["unanswerable"] == "no data for blood oxygen", "no data have a reason")
    long = b'{"op":"' + b"x" * (2 << 20) + b'"}\n' + MEAN.encode()
    result = run(weir, "plan", "--batch", "--data", folder, data=long)
    got = [json.loads(line) for line in result.out.decode().splitlines()]
    count.check(len(got) == 2 and "longer" in got[0]["error"]["message"] and
                got[1]["value"] == 9000, "a line that is too long is refused alone", f"{got}"[:200])


def check_errors(weir, count, folder):
    plan = '{"op":"count","metric":"steps","where":[{"weekdays":"weekend"},{"metric":"steps",' \
           '"cmp":"less","value":1}]}'
    result = run(weir, "plan", "--run", plan, "--data", folder)
    count.check(result.code == 1 and "where[1].cmp is one of" in result.err and
                json.loads(result.out)["error"]["path"] == "where[1].cmp",
                "a wrong plan is refused with its place", f"{result.out} {result.err}")
    result = run(weir, "plan", "--run", '{"op":"aggregate","metric":"blood oxygen"}', "--data",
                 folder)
    count.check(result.code == 0 and "unanswerable" in json.loads(result.out),
                "no answer is an answer", result.err)
    result = run(weir, "plan", "--run", MEAN, "--data", folder, "--user", "nobody")
    count.check(result.code == 0 and json.loads(result.out)["unanswerable"] ==
                "there are no data yet", "somebody without data", f"{result.out}")
    for wrong in ([], ["a", "b"], ["a", "--run", "{}"], ["--batch", "a"],
                  ["--run", "{}", "--user", ""]):
        result = run(weir, "plan", *wrong, "--data", folder)
        count.check(result.code == 2 and "Try: weir plan --help" in result.err, f"usage {wrong}",
                    result.err)
    result = run(weir, "plan", "--run", MEAN, "--data", os.path.join(folder, "none"))
    count.check(result.code == 1 and "no data folder" in result.err, "no folder", result.err)


def check_terminal(weir, count, folder):
    code, out = on_terminal(weir, "plan", "--run", MEAN, "--data", folder)
    count.check(code == 0 and out == "Mean steps, 2025-03-08 to 2025-03-10: 9,000 steps (3 days)\n",
                "a sentence on a terminal", out)
    code, out = on_terminal(weir, "plan", "--run", MEAN, "--json", "--data", folder)
    count.check(code == 0 and json.loads(out)["value"] == 9000, "JSON on a terminal", out)
    code, out = on_terminal(weir, "plan", "--run", '{"op":"list","metric":"steps"}', "--data",
                            folder)
    count.check(code == 0 and "▁" in out and "█" in out and "2025-03-10" in out,
                "rows are drawn", out)
    code, out = on_terminal(weir, "plan", "--run", '{"op":"aggregate","metric":"bedtime"}', "--data",
                            folder)
    count.check(code == 0 and ": 00:00 (10 days)" in out, "a time of day", out)
    code, out = on_terminal(weir, "plan", "--run", '{"op":"steps"}', "--data", folder)
    count.check(code == 1 and "op is one of aggregate" in out and "{" not in out,
                "an error is a sentence", out)


def check_locked(weir, count, folder):
    server = subprocess.Popen([weir, "serve", "--data", folder, "--listen", "127.0.0.1:0", "--open"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = server.stdout.readline()
        for command in (["plan", "--run", MEAN], ["series"]):
            result = run(weir, *command, "--data", folder)
            count.check(result.code == 1 and "a server runs on" in result.err,
                        f"{command[0]} names the server", f"{line} {result.err}")
    finally:
        server.terminate()
        server.wait()


def main():
    weir, count = program(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        prepare(weir, folder, count)
        check_sources(weir, count, folder)
        check_batch(weir, count, folder)
        check_errors(weir, count, folder)
        check_terminal(weir, count, folder)
        check_locked(weir, count, folder)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
