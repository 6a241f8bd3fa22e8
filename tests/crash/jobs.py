# SPDX-License-Identifier: Apache-2.0
"""What the programs that kill servers share: jobs that run beside each other, each in a process
of its own, and the tally of what they report."""
import json
import os
import signal
import sys
import time
import traceback


def failure_of(problem):
    """What went wrong, and where; inside an except block."""
    where = traceback.extract_tb(sys.exc_info()[2])[-1]
    return f"{type(problem).__name__}: {problem} (line {where.lineno})"


class Tally:
    """Counts kills. add() of a class of this takes what else a result has."""

    def __init__(self):
        self.n_passed = self.n_failed = 0
        self.kinds = {}
        self.begin = time.monotonic()

    def take(self, result):
        if "failure" in result:
            self.n_failed += 1
            print(f"FAILED kill by {result['kind']}, seed {result['seed']} kill {result['n'] + 1}: "
                  f"{result['failure']}\n    folder kept: {result['folder']}\n"
                  f"    the server said: {result['errors']}", flush=True)
            return
        self.n_passed += 1
        self.kinds[result["kind"]] = self.kinds.get(result["kind"], 0) + 1
        self.add(result)

    def finish(self):
        by_kind = ", ".join(f"{kind} {n}" for kind, n in sorted(self.kinds.items()))
        print(f"{self.n_passed + self.n_failed} kills ({by_kind}) in "
              f"{time.monotonic() - self.begin:.0f} s; {self.also()}")
        print(f"{self.n_passed} passed, {self.n_failed} failed", flush=True)


def fork_job(job, reading, writing):
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            job(lambda result: os.write(writing, json.dumps(result).encode() + b"\n"))
            status = 0
        finally:
            os._exit(status)
    return child


def run_jobs(jobs, tally):
    """Runs each job(report) and ends the program when all are done."""
    reading, writing = os.pipe()
    children = [fork_job(job, reading, writing) for job in jobs]
    os.close(writing)
    with os.fdopen(reading) as results:
        for text in results:
            tally.take(json.loads(text))
    for child in children:
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
            tally.n_failed += 1
            print("FAILED: a job of the harness itself ended")
    tally.finish()
    return 1 if tally.n_failed or tally.n_passed == 0 else 0
