#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/streams_api.py [NAME]

The public conformance suite of Durable Streams, in the version that durable/package-lock.json
names, against a server of ours: every test of it, the subscriptions' too, or those whose names
contain NAME. It is installed once into build/test-durable.

Each test is a case. One that was skipped, or that the suite does not have any more, has failed.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import packages
from session_support import LateClock
from support import PATIENCE, ROOT, WAIT_S, Server, Skip, program

N_TESTS = 338
LONG_POLL_MS = 2000
SUITE_S = WAIT_S * 20
OPTIONS = ("--poll-timeout", f"{LONG_POLL_MS // 1000}s", "--webhook-allow", "127.0.0.1")  # of the server


def run_suite(folder, server, report, only):
    words = ["node", "node_modules/vitest/vitest.mjs", "run", "--reporter=json",
             f"--outputFile={report}"]
    if only:
        words += ["--testNamePattern", re.escape(only)]
    env = {**os.environ, "LATE_CLOCK": server.env["LATE_CLOCK"], "WEIR_URL": server.url(), "WEIR_LONG_POLL_MS": str(LONG_POLL_MS),
           "WEIR_PATIENCE": str(PATIENCE), "NO_COLOR": "1", "CI": "1"}
    return subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SUITE_S,
                          check=False)


def first_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""


def count(report, only):
    """Prints what failed, by name; how many passed and failed."""
    with open(report, encoding="utf-8") as file:
        results = [test for each in json.load(file)["testResults"] for test in each["assertionResults"]]
    n_passed = n_failed = 0
    for test in results:
        if test["status"] == "passed":
            n_passed += 1
        elif not (only and test["status"] in ("skipped", "pending")):
            n_failed += 1
            reason = first_line("\n".join(test.get("failureMessages") or [])) or test["status"]
            print(f"FAILED {test['fullName']}: {reason}")
    if not only and len(results) < N_TESTS:
        print(f"FAILED the suite has {len(results)} tests and not {N_TESTS}")
        n_failed += N_TESTS - len(results)
    return n_passed, n_failed


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    program()
    n_passed, n_failed = 0, 1
    try:
        folder = packages.install(ROOT / "tests" / "serve" / "durable", "test-durable")
        late = LateClock()
        with tempfile.NamedTemporaryFile(suffix=".json") as report, Server(*OPTIONS, env=late.env) as server:
            result = run_suite(folder, server, report.name, only)
            if os.path.getsize(report.name) == 0:
                print(result.stdout.decode(errors="replace")[-4000:])
            else:
                n_passed, n_failed = count(report.name, only)
    except (Skip, subprocess.TimeoutExpired) as why:
        print(f"FAILED {why}")
    except Exception as problem:
        print(f"FAILED {type(problem).__name__}: {problem}")
        n_failed += 1
    finally:
        Server.end_all()
    print(f"{n_passed} passed, {n_failed} failed")
    sys.exit(1 if n_failed else 0)


if __name__ == "__main__":
    main()
