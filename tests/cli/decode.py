#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/decode.py [WEIR]

`weir decode` from outside: what it prints and exits with, hostile input in bounded
memory, wrong usage, and outputs that fail.
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile

from support import Counter, program, run

KINDS = ["sse", "json", "anthropic", "openai"]
MEGABYTE = 1 << 20
BOUND_BYTES = 64 * MEGABYTE

ANTHROPIC = (b'data: {"type":"message_start","message":{"id":"m","content":[],"stop_reason":null}}\n\n'
             b'data: {"type":"content_block_start","index":0,"content_block":'
             b'{"type":"text","text":""}}\n\n'
             b'data: {"type":"content_block_delta","index":0,"delta":'
             b'{"type":"text_delta","text":"hi"}}\n\n')
STOP = b'data: {"type":"message_stop"}\n\n'
OPENAI = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
INPUTS = {"sse": b"data: hi\n\n", "json": b'{"a":[1,"x"]}', "anthropic": ANTHROPIC + STOP,
          "openai": OPENAI + b"data: [DONE]\n\n"}


def lines_of(result):
    return [json.loads(line) for line in result.out.decode().splitlines()]


def check_output(weir, count):
    """Input, options, exit status, and the exact lines."""
    cases = [
        ("sse", b"", [], 0,
         ['{"end":{"last_event_id":"","retry":null,"pending":false,"error":null}}']),
        ("sse", b"id: 7\nretry: 5\nevent: e\ndata: a\ndata: b\n\ndata: c\n", [], 0,
         ['{"event":"e","data":"a\\nb","id":"7"}',
          '{"end":{"last_event_id":"7","retry":5,"pending":true,"error":null}}']),
        ("json", b'{"id": 12345678901234567890, "x": -0, "y": 1E+2, "z": 1e400}', [], 0,
         ['{"status":"value","value":{"id":12345678901234567890,"x":-0,"y":1E+2,"z":1e400},'
          '"offset":60}']),
        ("json", b'{"a": [1, tr', ["--partial"], 0,
         ['{"status":"value","value":{"a":[1]},"offset":12}']),
        ("json", b"12", ["--partial"], 0, ['{"status":"nothing","value":null,"offset":2}']),
        ("json", b"12", [], 0, ['{"status":"value","value":12,"offset":2}']),
        ("json", b'["ab"', ["--each", "--chunk", "2"], 0,
         ['{"status":"value","value":[""],"offset":2}',
          '{"status":"value","value":["ab"],"offset":4}',
          '{"status":"value","value":["ab"],"offset":5}']),
        ("anthropic", ANTHROPIC + STOP, [], 0, None),
        ("anthropic", ANTHROPIC, [], 3, None),
        ("anthropic", b"", [], 1, None),
        ("anthropic", b'event: error\ndata: {"type":"error","error":{"type":"t"}}\n\n', [], 1, None),
        ("openai", OPENAI + b"data: [DONE]\n\n", [], 0, None),
        ("openai", b"data: [DONE]\n\n", [], 3, None),
        ("openai", b'data: {"error":{"message":"x"}}\n\n', [], 1, None),
    ]
    for kind, data, options, code, wanted in cases:
        result = run(weir, "decode", kind, *options, data=data)
        name = f"decode {kind} {options} of {data[:60]!r}"
        count.check(result.code == code, f"{name} exits with {code}", f"{result.code}")
        if wanted is not None:
            count.check(result.out.decode().splitlines() == wanted, f"{name} prints",
                        result.out.decode())


def check_errors(weir, count):
    """Errors have a name and a place, and a message says what it is."""
    cases = [(b"[1,]", "json_syntax", 3), (b"[1,", "json_truncated", 3), (b"", "json_truncated", 0),
             (b'"\xff"', "json_utf8", 1), (b"[" * 100000, "json_too_deep", 512)]
    for data, error, offset in cases:
        for chunk in ([], ["--chunk", "1"]):
            result = run(weir, "decode", "json", *chunk, data=data)
            lines = lines_of(result)
            got = lines[-1] if lines else {}
            count.check(result.code == 1 and got.get("status") == "error" and
                        got.get("error") == error and got.get("offset") == offset,
                        f"decode json {data[:20]!r} is {error} at {offset}", f"{lines}")
    for chunk in ([], ["--chunk", "1"]):
        result = run(weir, "decode", "sse", *chunk, data=b"id:" + b"x" * 5000 + b"\n\n")
        count.check(result.code == 1 and lines_of(result)[-1]["end"]["error"] == "id_too_long",
                    "a long id is id_too_long", result.out[:300].decode())


def random_file(n_bytes, make):
    """A file of that many bytes, written in parts: the memory measured is the child's alone."""
    file = tempfile.TemporaryFile()
    while file.tell() < n_bytes:
        file.write(make(min(65536, n_bytes - file.tell())))
    file.seek(0)
    return file


def check_hostile(weir, count):
    source = random.Random(1)
    fills = {
        "random bytes": source.randbytes,
        "opening brackets": lambda n: b"[" * n,
        "opening objects": lambda n: (b'{"a":' * n)[:n],
        "one string": lambda n: b'"' + b"a" * (n - 1) if n < 2 else b"a" * n,
        "one line": lambda n: b"x" * n,
        "line ends": lambda n: b"\n" * n,
        "empty data lines": lambda n: (b"data\n" * n)[:n],
        "colons": lambda n: b":" * n,
    }
    for title, make in fills.items():
        for kind in KINDS:
            for options in ([], ["--partial"]) if kind == "json" else ([],):
                with random_file(10 * MEGABYTE, make) as file:
                    result = run(weir, "decode", kind, *options, stdin=file)
                name = f"decode {kind} {options} of 10 MB of {title}"
                count.check(result.code in (0, 1, 3) and lines_of(result), f"{name} ends cleanly",
                            f"exit status {result.code}: {result.err}")
                count.check(result.rss_bytes < BOUND_BYTES, f"{name} in bounded memory",
                            f"{result.rss_bytes >> 20} MB")
    with random_file(17 * MEGABYTE, lambda n: b"x" * n) as file:
        result = run(weir, "decode", "sse", stdin=file)
    count.check(lines_of(result)[-1]["end"]["error"] == "line_too_long", "17 MB line is too long")
    with random_file(20 * MEGABYTE, lambda n: (b"data:" + b"x" * 58 + b"\n") * (n // 64)) as file:
        result = run(weir, "decode", "sse", stdin=file)
    count.check(lines_of(result)[-1]["end"]["error"] == "event_too_long", "18 MB event is too long")


def check_flat_memory(weir, count):
    """A stream that is longer than the bound must pass within it."""
    units = {"sse": b"id: 1\nevent: tick\ndata: some text in an event\n\n",
             "anthropic": b'event: ping\ndata: {"type":"ping","note":"still there"}\n\n',
             "openai": b'data: {"id":"c","choices":[],"usage":{"total_tokens":5}}\n\n'}
    for kind, unit in units.items():
        part = unit * (65536 // len(unit))
        with random_file(100 * MEGABYTE, lambda n: part) as file, open(os.devnull, "wb") as null:
            result = run(weir, "decode", kind, stdin=file, stdout=null)
        count.check(result.code in (0, 3), f"decode {kind} of 100 MB of small events ends",
                    f"exit status {result.code}: {result.err}")
        count.check(result.rss_bytes < BOUND_BYTES // 2, f"decode {kind} of 100 MB stays flat",
                    f"{result.rss_bytes >> 20} MB")


def check_usage(weir, count):
    wrong = [[], ["decode"], ["decode", "xml"], ["decode", "sse", "extra"], ["nonsense"],
             ["decode", "json", "--chunk", "0"], ["decode", "json", "--chunk", "-1"],
             ["decode", "json", "--chunk", "x"], ["decode", "json", "--chunk", "1x"],
             ["decode", "json", "--chunk", ""], ["decode", "json", "--chunk"],
             ["decode", "json", "--chunk", "99999999999999999999"], ["decode", "json", "--wrong"],
             ["decode", "sse", "--partial"], ["decode", "openai", "--each"], ["--wrong"]]
    for arguments in wrong:
        result = run(weir, *arguments, data=b"data: x\n\n")
        count.check(result.code == 2 and not result.out and "help" in result.err.lower(),
                    f"weir {arguments} is wrong usage", f"{result.code} {result.err!r}")
    for arguments in (["--help"], ["decode", "--help"], ["help", "decode"], ["decode", "json", "-h"]):
        result = run(weir, *arguments)
        count.check(result.code == 0 and b"usage" in result.out and not result.err,
                    f"weir {arguments} helps on stdout", f"{result.code} {result.err!r}")
    for wanted, arguments in ((b"--partial=1", ["decode", "json", "--partial=1"]),
                              (b"-x", ["decode", "json", "-xy"]),
                              (b"extra", ["decode", "json", "extra"])):
        result = run(weir, *arguments)
        count.check(result.code == 2 and wanted.decode() in result.err,
                    f"weir {arguments} names what is wrong", f"{result.code} {result.err!r}")
    with open("/dev/full", "wb") as full:
        result = run(weir, "--help", stdout=full)
    count.check(result.code == 1, "help that cannot be written fails", f"{result.code}")
    result = run(weir, "help", "nonsense")
    count.check(result.code == 2, "help on what is not there is wrong usage", f"{result.code}")
    result = run(weir, "--version")
    count.check(result.code == 0 and result.out.startswith(b"weir "), "weir --version")
    result = run(weir, "decode", "sse", env={"WEIR_FAULT": "nonsense"})
    count.check(result.code == 2 and "WEIR_FAULT" in result.err, "a wrong WEIR_FAULT is refused")


def check_failing_output(weir, count):
    for kind in KINDS:
        with open("/dev/full", "wb") as full:
            result = run(weir, "decode", kind, data=INPUTS[kind], stdout=full)
        count.check(result.code == 1 and "output" in result.err,
                    f"decode {kind} to a full disk is reported", f"{result.code} {result.err!r}")
        code, err = closed_pipe(weir, kind, signal.SIG_DFL)
        count.check(code != 0 and not err, f"decode {kind} into a closed pipe ends quietly",
                    f"{code} {err!r}")
        code, err = closed_pipe(weir, kind, signal.SIG_IGN)
        count.check(code not in (0, None), f"decode {kind} ends where SIGPIPE is ignored",
                    f"{code} {err!r}")


def closed_pipe(weir, kind, on_sigpipe):
    """Much input, output into a pipe that nobody reads: the exit status, None if it reads on."""
    reader, writer = os.pipe()
    os.close(reader)
    with tempfile.TemporaryFile() as err:
        child = subprocess.Popen([weir, "decode", kind, *(["--each"] if kind == "json" else [])],
                                 stdin=subprocess.PIPE, stdout=writer, stderr=err,
                                 restore_signals=False,
                                 preexec_fn=lambda: signal.signal(signal.SIGPIPE, on_sigpipe))
        os.close(writer)
        part = INPUTS[kind] * 1000
        n_left = 32 * MEGABYTE
        try:
            while n_left > 0:
                child.stdin.write(part)
                n_left -= len(part)
            child.stdin.close()
        except BrokenPipeError:
            pass
        code = child.wait(timeout=60)
        if n_left <= 0:
            code = None
        err.seek(0)
        return code, err.read().decode()


def check_failing_input(weir, count):
    with open("/proc/self/mem", "rb") as bad:
        result = run(weir, "decode", "sse", stdin=bad)
    count.check(result.code == 1 and "read" in result.err, "input that cannot be read is reported",
                f"{result.code} {result.err!r}")


def check_failing_memory(weir, count):
    for kind in KINDS:
        for nth in range(1, 40):
            result = run(weir, "decode", kind, "--chunk", "5", data=INPUTS[kind],
                         env={"WEIR_FAULT": f"alloc:{nth}+"})
            count.check(result.code in (0, 1) and (result.code == 0 or result.err or result.out),
                        f"decode {kind} with allocation {nth} failing",
                        f"{result.code} {result.err!r}")
            if result.code == 0:
                break
        count.check(result.code == 0, f"decode {kind} needs few allocations")


def main():
    weir = program()
    count = Counter()
    check_output(weir, count)
    check_errors(weir, count)
    check_hostile(weir, count)
    check_flat_memory(weir, count)
    check_usage(weir, count)
    check_failing_output(weir, count)
    check_failing_input(weir, count)
    check_failing_memory(weir, count)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
