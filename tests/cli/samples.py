#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/samples.py [WEIR]

All shared samples of event streams, partial JSON and messages through `weir decode`,
whole and in pieces of 1, 3 and 7 bytes. The samples are those of $WEIR_SAMPLES, or of
../shared/samples beside the project; where they are missing the test says so and passes.
"""
import base64
import json
import os
import pathlib
import sys

from support import ROOT, Counter, program, run

CHUNKS = [None, 1, 3, 7]

# Inputs for which the sample does not say what is right, with what is.
EXCEPTIONS = {
    # The file records what a peer shows; NaN is not JSON, and RFC 8259 says so at the N.
    '{"a":NaN,': {"status": "error", "offset": 5},
}


class Number(str):
    """A number as its source text."""


def load(text):
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)


def same(got, want, is_exact=False):
    """Whether two values loaded by load() are equal; numbers by value unless exact."""
    if isinstance(got, Number) or isinstance(want, Number):
        if not (isinstance(got, Number) and isinstance(want, Number)):
            return False
        return str(got) == str(want) or (not is_exact and float(got) == float(want))
    if isinstance(got, dict) and isinstance(want, dict):
        return got.keys() == want.keys() and all(same(got[k], want[k], is_exact) for k in got)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(lambda a, b: same(a, b, is_exact), got, want))
    return type(got) is type(want) and got == want


def decode(weir, kind, data, chunk, *options):
    """The lines weir prints, loaded, or a text that says why there are none."""
    more = [] if chunk is None else ["--chunk", str(chunk)]
    result = run(weir, "decode", kind, *options, *more, data=data)
    if result.code not in (0, 1, 3) or (result.err and result.code == 0):
        return [], f"exit status {result.code}: {result.err.strip()}"
    try:
        return [load(line) for line in result.out.decode().splitlines()], ""
    except ValueError as error:
        return [], f"{error}: {result.out[:200]!r}"


def lines_of(path):
    return [load(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def check_sse(weir, folder, count):
    for case in lines_of(folder / "sse" / "cases.jsonl"):
        data = base64.b64decode(case["input_base64"])
        for chunk in CHUNKS:
            lines, trouble = decode(weir, "sse", data, chunk)
            end = lines[-1].get("end", {}) if lines else {}
            wanted = {"last_event_id": case["last_event_id"], "retry": case["retry"]}
            got = {key: end.get(key, "missing") for key in wanted}
            is_good = same(lines[:-1], case["events"]) and same(got, wanted)
            count.check(is_good and not trouble, f"sse {case['name']} chunk {chunk}",
                        trouble or f"{lines}")


def check_partial_json(weir, folder, count):
    for case in lines_of(folder / "partial_json" / "cases.jsonl"):
        text = case["input"]
        for chunk in CHUNKS:
            lines, trouble = decode(weir, "json", text.encode(), chunk, "--partial")
            got = lines[-1] if lines else {}
            if text in EXCEPTIONS:
                wanted = EXCEPTIONS[text]
                is_good = got.get("status") == wanted["status"] and \
                    str(got.get("offset")) == str(wanted["offset"])
            else:
                is_good = got.get("status") == case["status"] and \
                    (case["status"] != "value" or same(got.get("value"), case["expect"]))
            count.check(is_good and len(lines) == 1 and not trouble,
                        f"partial_json {text!r} chunk {chunk}", trouble or f"{lines}")


def tool_inputs(message):
    return [block["input"] for block in (message or {}).get("content", []) if "input" in block]


def is_expected_message(got, case):
    """The message, its error's type, and where the peer rounds, the exact input instead."""
    wanted = case["final_message"] if case["outcome"] == "message" else case.get("snapshot")
    message = got.get("message")
    if got.get("outcome") != case["outcome"]:
        return False
    if "exact_input" in case:
        exact = case["exact_input"]
        exact = load(exact) if type(exact) is str else exact
        inputs = tool_inputs(message)
        if not same(inputs if isinstance(exact, list) else inputs[0], exact, is_exact=True):
            return False
        for block, right in zip((b for b in wanted["content"] if "input" in b), inputs):
            block["input"] = right
    error_type = (got.get("error") or {}).get("type")
    wanted_type = (case.get("error") or {}).get("type")
    return same(message, wanted) and error_type == wanted_type


def check_messages(weir, folder, count):
    for path in sorted((folder / "messages").glob("*.expected.json")):
        name = path.name.removesuffix(".expected.json")
        data = (folder / "messages" / f"{name}.sse").read_bytes()
        for chunk in CHUNKS:
            case = load(path.read_text(encoding="utf-8"))
            lines, trouble = decode(weir, "anthropic", data, chunk)
            is_good = len(lines) == 1 and is_expected_message(lines[0], case)
            count.check(is_good and not trouble, f"messages {name} chunk {chunk}",
                        trouble or f"{lines}")


def main():
    weir = program()
    count = Counter()
    folder = pathlib.Path(os.environ.get("WEIR_SAMPLES", ROOT.parent / "shared" / "samples"))
    if not folder.is_dir():
        count.skip(f"there are no samples at {folder}; $WEIR_SAMPLES can name them")
        return count.finish()
    check_sse(weir, folder, count)
    check_partial_json(weir, folder, count)
    check_messages(weir, folder, count)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
