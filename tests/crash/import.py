#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/crash/import.py [--kills N] [--seed N] [--size SIZE]

Kills an import with SIGKILL, again and again, runs it again until it comes to its end, and holds
the database against that of an import that was left alone: every document byte for byte (but for
those of the imports themselves), and what `weir series` prints of every metric.

An import is killed up to three times before it may finish: after a random time, at its n-th
write or at its n-th sync. Every other one is of a zip archive. The last line is "N passed, M
failed": a case is an import with all its kills.
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

from support import ROOT, Counter  # noqa: E402


def weir_program():
    return os.environ.get("WEIR", str(ROOT / "build" / "weir"))


def generate(path, size):
    maker = pathlib.Path(weir_program()).parent / "bench" / "bench-apple-export"
    with open(path, "wb") as out:
        subprocess.run([maker, size], stdout=out, check=True)


def documents(folder):
    """What the store has of the person; it is all in the database when weir has ended well."""
    with sqlite3.connect(f"file:{folder}/weir.db?mode=ro", uri=True) as db:
        rows = db.execute("SELECT kind, id, body FROM docs ORDER BY kind, id").fetchall()
    return {(bytes(kind).decode(), bytes(name).decode()): bytes(body)
            for kind, name, body in rows if bytes(kind) != b"import"}


def printed(folder):
    """Every series as CSV."""
    listing = subprocess.run([weir_program(), "series", "--csv", "--data", folder],
                             capture_output=True, check=True, text=True).stdout
    names = [line.split(",")[0] for line in listing.splitlines()[1:]] + ["sleeps", "workouts"]
    return {name: subprocess.run([weir_program(), "series", name, "--csv", "--data", folder],
                                 capture_output=True, check=True).stdout for name in names}


def import_file(path, folder, fault=None, kill_after_s=None):
    """True when it came to its end; False when it was killed."""
    env = {**os.environ, **({"WEIR_FAULT": fault} if fault else {})}
    child = subprocess.Popen([weir_program(), "import", path, "--zone", "UTC", "--quiet", "--data",
                              folder], env=env, stderr=subprocess.PIPE)
    if kill_after_s is not None:
        try:
            child.wait(kill_after_s)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
    error = child.communicate()[1]
    if child.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"exit status {child.returncode}: {error.decode()}")
    return child.returncode == 0


def kill_it(chance, path, folder, usual_s):
    kind = chance.choice(["time", "write", "sync"])
    if kind == "time":
        return import_file(path, folder, kill_after_s=chance.uniform(0.01, usual_s)), kind
    # The first 270 writes make the store; a store that is there needs fewer.
    writes = (1, 450) if chance.random() < 0.3 else (270, 420)
    n = chance.randint(*writes) if kind == "write" else chance.randint(1, 22)
    return import_file(path, folder, fault=f"{kind}:{n}!"), f"{kind}:{n}"


def differences(got, want):
    return [key for key in sorted(set(got) | set(want)) if got.get(key) != want.get(key)][:5]


def run_case(count, number, seed, path, temp, want, usual_s):
    chance = random.Random(seed * 1000003 + number)
    folder = f"{temp}/killed"
    shutil.rmtree(folder, ignore_errors=True)
    kills = []
    for _ in range(chance.randint(1, 3)):
        is_done, what = kill_it(chance, path, folder, usual_s)
        kills.append(what)
        if is_done:
            break
    name = f"import {number} of seed {seed}, killed at {', '.join(kills)}"
    if not import_file(path, folder):
        count.check(False, name, "it did not finish")
        return
    wrong = differences(documents(folder), want[0]) or differences(printed(folder), want[1])
    count.check(not wrong, name, f"differs in {wrong}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", default="250M")
    options = parser.parse_args()
    count = Counter()
    with tempfile.TemporaryDirectory() as temp:
        path = f"{temp}/export.xml"
        generate(path, options.size)
        archive = f"{temp}/export.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
            z.write(path, "apple_health_export/Exportar.xml")
        began = time.monotonic()
        import_file(path, f"{temp}/once")
        usual_s = time.monotonic() - began
        want = (documents(f"{temp}/once"), printed(f"{temp}/once"))
        count.check(len(want[0]) > 50, "an import that is left alone brings documents")
        for number in range(options.kills):
            run_case(count, number, options.seed, archive if number % 2 else path, temp, want,
                     usual_s)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
