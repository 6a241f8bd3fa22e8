#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/watching.py [CASE...]

The dashboard and the alerts of contrib/ speak of metrics that a server really has, with labels that
those have, and docs/serve.md knows them all.
"""
import json
import re

from support import ROOT, Server, case, equal, expect, main

# PromQL's own words, as far as they are used.
WORDS = set("sum count max min rate increase histogram_quantile by label_values".split())
# Of Prometheus, not of the server.
LABELS = {"instance", "job", "le"}
OURS = re.compile(r"\b(?:weir|process)_[a-z0-9_]+")


def metrics_of(server):
    """Names with their kinds. Those of providers are there when there are some."""
    answer = server.ask("GET", "/metrics")
    equal(answer.status, 200)
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", answer.body.decode(), re.M))
    source = (ROOT / "src/serve/metrics.c").read_text()
    for name in re.findall(r'"(weir_[a-z0-9_]+)"', source):
        kinds.setdefault(name, "counter" if name.endswith("_total") else "gauge")
    return kinds


def samples_of(kinds):
    """Every name that a sample may have."""
    names = set()
    for name, kind in kinds.items():
        names |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return names


def expect_expression(text, kinds, where):
    """One of PromQL that speaks of nothing unknown; rates are of what only grows."""
    for pair in ("()", "{}", "[]"):
        equal(text.count(pair[0]), text.count(pair[1]), f"{where}: {pair} in {text}")
    names = OURS.findall(text)
    expect(names or "up{" in text, f"{where}: no metric in", text)
    unknown = set(names) - samples_of(kinds)
    expect(not unknown, f"{where}: no such metric", sorted(unknown))
    for name in re.findall(r"(?:rate|increase)\((\w+)", text):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        expect(kinds.get(name, kinds.get(base)) in ("counter", "histogram"), f"{where}: a rate of", name)
    for name in re.findall(r"histogram_quantile\(.*?(\w+_bucket)", text):
        equal(kinds.get(name.removesuffix("_bucket")), "histogram", f"{where}: {name}")
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\{[^}]*\}|by \([^)]*\)', " ", text)
    for word in re.findall(r"\b[a-z_]\w*\b", bare):
        expect(word in WORDS or word == "up" or OURS.fullmatch(word), f"{where}: what is", word, text)


# ---- the dashboard ----

def dashboard():
    return json.loads((ROOT / "contrib/grafana/weir.json").read_text())


@case
def dashboard_has_the_form_of_one():
    board = dashboard()
    equal((board["title"], board["uid"]), ("weir", "weir"))
    expect(isinstance(board["schemaVersion"], int) and board["schemaVersion"] >= 36, "schemaVersion")
    variables = [entry["name"] for entry in board["templating"]["list"]]
    equal(variables, ["datasource", "instance"])
    ids = [panel["id"] for panel in board["panels"]]
    equal(len(set(ids)), len(ids), "ids of panels")
    taken = set()
    for panel in board["panels"]:
        expect(panel["title"] and panel["type"] in ("row", "timeseries", "stat"), "a panel", panel["id"])
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        expect(at["x"] + at["w"] <= 24 and not cells & taken, "no room for", panel["title"])
        taken |= cells
        targets = panel.get("targets", [])
        equal(panel["type"] == "row", not targets, f"targets of {panel['title']}")
        equal(len({target["refId"] for target in targets}), len(targets), "refIds")
        for target in targets:
            equal(target["datasource"]["uid"], "${datasource}")
            expect(target["legendFormat"], "a legend", panel["title"])


@case
def dashboard_shows_what_there_is():
    with Server() as server:
        kinds = metrics_of(server)
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"].replace("$__rate_interval", "5m")
            expect('instance=~"$instance"' in text, "nodes can be chosen:", panel["title"])
            expect_expression(text, kinds, panel["title"])
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                expect(re.search(rf"by \([^)]*\b{label}\b", text) or "by (" not in text,
                       f"{panel['title']}: the label {label} is summed away")


# ---- the alerts ----

def alerts():
    """(name, expression) of each rule; the file is as plain as that."""
    text = (ROOT / "contrib/prometheus/weir.yml").read_text()
    rules = re.split(r"^      - alert: ", text, flags=re.M)[1:]
    found = []
    for rule in rules:
        name, rest = rule.split("\n", 1)
        fields = dict(re.findall(r"^        (\w+): (.*)$", rest, re.M))
        expect({"expr", "labels", "annotations"} <= set(fields), f"members of {name}", fields)
        expect(re.fullmatch(r"\{severity: (page|ticket)\}", fields["labels"]), f"severity of {name}")
        expect(re.fullmatch(r'\{summary: "[^"]+"\}', fields["annotations"]), f"summary of {name}")
        expect(re.fullmatch(r"\d+m", fields.get("for", "1m")), f"for of {name}")
        found.append((name, fields["expr"]))
    equal(len(found), text.count("alert:"), "rules that were understood")
    return found


@case
def alerts_speak_of_what_there_is():
    with Server() as server:
        kinds = metrics_of(server)
    found = alerts()
    equal(len({name for name, _ in found}), len(found), "names of alerts")
    for name, text in found:
        expect_expression(text, kinds, name)


@case
def codes_and_labels_of_alerts_are_real():
    with Server() as server:
        page = server.ask("GET", "/docs/errors").body.decode()
        for _, text in alerts():
            for code in re.findall(r'code="(\w+)"', text):
                expect(f'"{code}"' in page, "an error's code", code)
            for label in re.findall(r'[{,](\w+)=', text):
                expect(label in LABELS | {"code", "class"}, "a label", label)


@case
def every_metric_is_in_the_manual():
    manual = (ROOT / "docs/serve.md").read_text()
    with Server() as server:
        kinds = metrics_of(server)
    missing = [name for name in kinds if not re.search(rf"`{name}[`{{]", manual)]
    equal(missing, [], "metrics that docs/serve.md does not have")


if __name__ == "__main__":
    main()
