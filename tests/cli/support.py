# SPDX-License-Identifier: Apache-2.0
"""What the tests of the commands share: the program, and counting what passed.

The program is the first argument, or $WEIR, or build/weir of the project.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Whoever runs the tests has a home with events in it that are not the tests'.
os.environ["WEIR_KEEP"] = "no"


class Result:
    """What a run left behind. rss_bytes is the most memory it ever had."""

    def __init__(self, code, out, err, rss_bytes):
        self.code = code
        self.out = out
        self.err = err
        self.rss_bytes = rss_bytes


class Counter:
    """Counts checks; the last line it prints is "N passed, M failed"."""

    def __init__(self):
        self.n_passed = 0
        self.n_failed = 0
        self.n_skipped = 0

    def check(self, claim, name, details=""):
        if claim:
            self.n_passed += 1
            return
        self.n_failed += 1
        print(f"FAILED {name}" + (f": {details}" if details else ""))

    def skip(self, why):
        self.n_skipped += 1
        print(f"skipped: {why}")

    def finish(self):
        skipped = f", {self.n_skipped} skipped" if self.n_skipped else ""
        print(f"{self.n_passed} passed, {self.n_failed} failed{skipped}")
        return 1 if self.n_failed else 0


def program():
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("WEIR", ROOT / "build" / "weir")
    if not os.access(path, os.X_OK):
        print(f"{path} is not there; build it with make, or name it by $WEIR")
        print("0 passed, 1 failed")
        sys.exit(1)
    return str(pathlib.Path(path).resolve())


def run(weir, *arguments, data=b"", stdin=None, stdout=None, env=None, timeout_s=120):
    """Runs weir to its end. Input is `data`, or the open file `stdin`."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, \
            tempfile.TemporaryFile() as err:
        if stdin is None:
            given.write(data)
            given.seek(0)
        child = subprocess.Popen([weir, *arguments], stdin=given if stdin is None else stdin,
                                 stdout=out if stdout is None else stdout, stderr=err,
                                 env=None if env is None else {**os.environ, **env})
        watch = _kill_after(child, timeout_s)
        _, status, usage = os.wait4(child.pid, 0)
        watch.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Result(child.returncode, out.read(), err.read().decode(errors="replace"),
                      usage.ru_maxrss * 1024)


def _kill_after(child, timeout_s):
    import threading

    timer = threading.Timer(timeout_s, child.kill)
    timer.daemon = True
    timer.start()
    return timer
