#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/models_trust.py [CASE...]

What a model may not bring about, and what nobody may find: forty texts that want to be obeyed
(tests/upstream/injections.jsonl), played by an actor who obeys them, change neither who answers, nor
which plans are run, nor what is approved, nor what leaves; and the key of a provider is in no file,
no answer, no log, no cassette and no command line.
"""
import csv
import io
import json
import os
import pathlib
import re
import stat
import tempfile
import xml.sax.saxutils

from model_support import FORMATS, KEY, PEOPLE, Asking, Upstream, asked, config_of, forms_of, letters
from support import JSON_FIELDS, ROOT, Failure, case, equal, expect, main, to_json
from people import added, events_of, fields_for, send_report
from turn_rules import check_whole, findings_of, get_trace, new_turn, read_events

INJECTIONS = [json.loads(line) for line in (ROOT / "tests/upstream/injections.jsonl").read_text().splitlines()]
QUESTION = "What was my average resting heart rate in March 2025?"
QUESTIONS = {"source": QUESTION, "lab": "Is my LDL a concern?", "note": "How can I sleep more?"}
HARMLESS = {"source": "My Watch", "lab": "0 - 130", "note": "Likes to swim"}
# What these texts want to have said or done; none of it is in an honest answer.
WANTED = re.compile(r"(?i)evil\.example|leukaemi|statin|javascript:|root_shell|exfiltrate|billing|credit_card|"
                    r"attacker|permission|dr\. house|approved|administrator|\b999\b|\b12345\b|500 dollars")


# ---- keys ----

def files_under(folder):
    for path in pathlib.Path(folder).rglob("*"):
        if stat.S_ISREG(path.lstat().st_mode):
            yield path


def expect_no_key(where, data):
    for form in forms_of(KEY):
        expect(form not in data, "the key is in", where, data[max(0, data.find(form) - 80):][:40])


@case
def key_is_nowhere():
    echo = f"Incorrect API key provided: {KEY}. Authorization: Bearer {KEY}"
    echoes = [{"status": 401, "message": echo}, {"status": 500, "body": echo}, {"status": 429, "message": echo},
              {"after": 1, "end": "error"}, {"after": 1, "end": "cut"}, {"redirect": f"http://127.0.0.1:1/?key={KEY}"},
              {"content_type": f"text/{KEY}"}]
    for kind in FORMATS:
        with Upstream() as upstream, tempfile.TemporaryDirectory(prefix="weir-cassettes-") as folder:
            upstream.reset(key=KEY)
            log = os.path.join(folder, "access.log")
            with Asking(config_of(upstream, kind), "--record", folder, "--access-log", log) as server:
                turns = [asked(server, QUESTION)[0]]
                for do in echoes:
                    upstream.reset(key=KEY)
                    upstream.control(rules=[{"purpose": "data_science", "do": do}])
                    answer = server.ask("POST", "/v1/turns", JSON_FIELDS, to_json({
                        "messages": [{"role": "user", "content": QUESTION}], "stream": False}))
                    equal(answer.status, 200, f"a turn with {do}")
                    expect_no_key(f"a Turn with {do}", answer.body)
                    turns.append(answer.json())
                equal({call["key"] for call in upstream.seen()}, {"right"}, "keys")
                for turn in turns:
                    for part in ("", "/trace", "/replay?from=classify_vagueness"):
                        expect_no_key(part, server.ask("GET", f"/v1/turns/{turn['id']}{part}").body)
                    stream = [("Accept", "text/event-stream")]
                    expect_no_key("events", server.ask("GET", f"/v1/turns/{turn['id']}/events", stream).body)
                for path in ("/metrics", "/healthz", "/readyz", "/openapi.json", "/v1/memory"):
                    expect_no_key(path, server.ask("GET", path).body)
                expect_no_key("argv", pathlib.Path(f"/proc/{server.child.pid}/cmdline").read_bytes())
                expect(KEY.encode() in pathlib.Path(f"/proc/{server.child.pid}/environ").read_bytes(), "it was given")
                server.stop()
                expect_no_key("standard error", server.errors().encode())
                n_files = 0
                for path in [*files_under(server.data), *files_under(folder)]:
                    n_files += 1
                    expect_no_key(path, path.read_bytes())
                expect(n_files > 5 and os.path.getsize(log) > 0, "files that were looked at", n_files)


@case
def key_that_others_can_read_is_not_taken():
    with Upstream() as upstream, tempfile.TemporaryDirectory(prefix="weir-key-") as folder:
        path = pathlib.Path(folder) / "key"
        path.write_text(KEY + "\n")
        config = config_of(upstream, "anthropic")
        del config["providers"]["first"]["key_env"]
        config["providers"]["first"]["key_file"] = str(path)
        upstream.reset(key=KEY)
        path.chmod(0o644)
        server = Asking(config, starts=False)
        server.spawn()
        expect(server.wait() != 0, "it started with a key that everybody can read")
        expect("key" in server.errors(), "it says why", server.errors())
        expect_no_key("standard error", server.errors().encode())
        server.end()
        path.chmod(0o600)
        with Asking(config) as server:
            asked(server, "thanks!")
        equal({call["key"] for call in upstream.seen()}, {"right"}, "keys")


# ---- injections ----

def as_source(text):
    """An export of a phone whose watch has such a name."""
    name = xml.sax.saxutils.quoteattr(re.sub(r"[\x00-\x08\x0b-\x1f]|[\ud800-\udfff]", " ", text))
    rows = "".join(f'<Record type="HKQuantityTypeIdentifierRestingHeartRate" sourceName={name} unit="count/min" '
                   f'startDate="2025-03-{day:02} 08:00:00 +0000" endDate="2025-03-{day:02} 08:01:00 +0000" '
                   f'value="{55 + day % 7}"/>\n' for day in range(1, 32))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<HealthData locale="en_GB">\n <ExportDate value="2025-03-31 09:00:00 +0000"/>\n{rows}</HealthData>\n'.encode()


def bring(server, name, data, fields):
    media_type = "application/xml" if name.endswith(".xml") else "text/csv"
    answer = server.ask("POST", f"/v1/data/imports?name={name}", [("Content-Type", media_type), *fields], data)
    equal(answer.status, 202, f"an import ({answer.body[:300]!r})")
    job = events_of(server, answer.json()["id"], fields)[-1]
    equal(job[0], "import.completed", f"the import of {name} ({job[1]!r})")


def put_text(server, place, text, fields):
    """Brings a text to where such texts come from."""
    if place == "source":
        bring(server, "export.xml", as_source(text), fields)
    elif place == "lab":
        out = io.StringIO()
        rows = csv.writer(out)
        rows.writerows([["date", "test", "value", "unit", "reference range"], ["2025-03-05", "LDL", "101.5", "mg/dL", text],
                        ["2025-03-05", text[:60] or "x", "42", "ng/mL", text]])
        expect(added(send_report(server, out.getvalue().encode(), fields))["new"] >= 1, "results")
    else:
        entry = {"category": "preference", "text": text}
        equal(server.ask("POST", "/v1/memory", [*JSON_FIELDS, *fields], to_json(entry)).status, 201, "a note")


def texts_in(value):
    """All texts of a JSON value, one behind the other."""
    if isinstance(value, str):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "".join(map(texts_in, parts))


def has_come_by(upstream, text):
    """Whether a model has seen it at all; marks and hidden characters may be gone."""
    wanted = letters(text)[:24]
    return any(wanted in letters(texts_in(json.loads(call["body"]))) for call in upstream.seen(has_bodies=True))


def outcome(server, upstream, place, text, owner):
    """What a turn does when such a text is in the data and the model obeys it."""
    fields = fields_for(server, owner)
    for path in sorted(PEOPLE.glob("u01_*.csv")):
        bring(server, path.name, path.read_bytes(), fields)
    put_text(server, place, text, fields)
    upstream.reset(key=KEY, actor={"obeys": text})
    turn = new_turn(server, QUESTIONS[place], fields)
    events = read_events(server, turn["id"], "", fields)
    turn = check_whole(server, turn["id"], events, fields)
    equal(turn["status"], "completed", f"status ({turn['error']})")
    outputs = {step["name"]: step["output"] for step in get_trace(server, turn["id"], fields)["steps"]}
    verdicts = [(finding["id"], finding["verdict"]) for finding in outputs["validation_gates"]["findings"]]
    plans = [finding.get("plan") for finding in findings_of(outputs)]
    return turn, {"route": outputs["route"], "vagueness": outputs["classify_vagueness"]["vagueness"], "plans": plans,
                  "verdicts": verdicts, "memory": outputs["memory_extraction"]["entries"]}


@case
def texts_that_want_to_be_obeyed_change_nothing():
    equal(len(INJECTIONS), 40, "injections")
    for kind, own in zip(FORMATS, (INJECTIONS[::2], INJECTIONS[1::2])):
        # A model of the house is told everything: the shield would take some of these texts apart.
        config = {"kind": kind, "external": False}
        with Upstream() as upstream, Asking(config_of(upstream, **config), is_open=False, has_data=False) as server:
            honest = {place: outcome(server, upstream, place, text, f"honest-{place}")[1]
                      for place, text in HARMLESS.items()}
            for number, injection in enumerate(own):
                place, text = injection["place"], injection["text"]
                try:
                    turn, seen = outcome(server, upstream, place, text, f"owner-{number}")
                    expect(has_come_by(upstream, text), "it was never told to a model")
                    equal(seen, honest[place], "what the turn did")
                    expect(not WANTED.search(turn["result"]["answer"]), "the answer", turn["result"]["answer"])
                    equal({call["listener"] for call in upstream.seen()}, {"http"}, "who was asked")
                except Exception as problem:
                    raise Failure(f"{kind} {place} {text!r}: {problem}") from problem


if __name__ == "__main__":
    main()
