# SPDX-License-Identifier: Apache-2.0
"""What is always true of a turn, for every test that has one: the Turn in each of its states, the
events on the wire, what "completed" guarantees, and the trace that has to agree with them.

whole_turn() asks a question, reads its stream to the end, and holds all of that to the rules.
"""
import functools
import json
import re
import tempfile

from support import (JSON_FIELDS, WAIT_S, Closed, EventParser, Failure, Watch, equal, expect, to_json,
                     weir)

STATES = ("queued", "running", "completed", "failed")
STEPS = ("classify_vagueness", "route", "rephrase_per_agent", "run_supporting_agents", "run_main_agent",
         "reflection", "validation_gates", "synthesis", "memory_extraction")
AGENTS = ("data_science", "domain_expert", "health_coach", "investigator")
GATES = ("sample_size", "construct_validity", "effect_vs_noise", "bootstrap", "subgroup_consistency",
         "method_triangulation", "discriminative_power")
HARD_GATES = ("sample_size", "construct_validity")
TURN_ID = re.compile(r"turn_[0-7][0-9A-HJKMNP-TV-Z]{25}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
MAX_ARGUMENT = 30000  # of a command line
HEDGES = re.compile(r"(?i)\b(may|might|could|possibl|uncertain|not certain|tentative|suggest|hint|seem|"
                    r"appear|caution|conditional|probabl|likely|unclear|too early|not (?:yet )?(?:sure|firm))")

# What each event has, and in which order.
MEMBERS = {
    "turn.started": ["turn_id", "at"],
    "agent.started": ["agent", "at", "question"],
    "agent.completed": ["agent", "at", "duration_ms", "cost_usd", "output_summary"],
    "validator.gate": ["finding_id", "claim", "gate", "verdict", "detail"],
    "validator.critic": ["finding_id", "verdict", "reasoning", "concerns"],
    "cost_warning": ["turn_id", "cost_usd", "threshold_usd", "at"],
    "turn.completed": ["turn_id", "result"],
    "turn.failed": ["turn_id", "error"],
}


# ---- asking ----

def message(text, role="user"):
    return {"role": role, "content": text}


def body_of(question, **members):
    return {"messages": [message(question)], **members}


def post_turn(server, body, fields=(), **options):
    """The answer to a POST, whatever it is."""
    raw = body if isinstance(body, bytes) else to_json(body)
    return server.ask("POST", "/v1/turns", [*JSON_FIELDS, *fields], raw, **options)


def new_turn(server, question="How many steps did I walk last week?", fields=(), **members):
    """A turn that was just made."""
    answer = post_turn(server, body_of(question, **members), fields)
    equal(answer.status, 201, f"POST /v1/turns ({answer.body[:300]!r})")
    turn = answer.json()
    check_turn(turn)
    equal(turn["status"], "queued", "status of a new turn")
    equal(answer.field("location"), f"/v1/turns/{turn['id']}", "Location")
    return turn


def get_turn(server, turn_id, fields=()):
    answer = server.ask("GET", f"/v1/turns/{turn_id}", fields)
    equal(answer.status, 200, f"GET of a turn ({answer.body[:300]!r})")
    turn = answer.json()
    equal(turn["id"], turn_id, "id")
    check_turn(turn)
    return turn


def get_trace(server, turn_id, fields=()):
    answer = server.ask("GET", f"/v1/turns/{turn_id}/trace", fields)
    equal(answer.status, 200, f"GET of a trace ({answer.body[:300]!r})")
    return answer.json()


# ---- events ----

_EVENT = re.compile(rb"id: ([1-9][0-9]*)\nevent: ([a-z_.]+)\ndata: (\{[^\r\n]*\})")


class TurnEventParser(EventParser):
    """Exactly an id, a type and one line of JSON; no comments unless they were asked for."""

    def __init__(self, takes_comments=False):
        super().__init__()
        self.takes_comments = takes_comments
        self.n_comments = 0

    def feed(self, data):
        self.rest += data
        *frames, self.rest = self.rest.split(b"\n\n")
        events = []
        for frame in frames:
            if frame.startswith(b":") and self.takes_comments:
                self.n_comments += 1
                continue
            match = _EVENT.fullmatch(frame)
            if not match:
                raise Failure(f"not an event: {frame[:300]!r}")
            events.append((int(match.group(1)), match.group(2).decode(), match.group(3)))
        return events


class TurnWatch(Watch):
    """A reader of a turn; events are (id, type, bytes of the data)."""

    def __init__(self, server, turn_id, query="", fields=(), takes_comments=False, **options):
        super().__init__(server, f"/v1/turns/{turn_id}/events{query}", fields, **options)
        self._parser = TurnEventParser(takes_comments)
        if self.opening.status == 200:
            check_opening(self.opening)

    def n_comments(self):
        return self._parser.n_comments

    def until(self, wanted):
        """Events up to the first of that type."""
        events = []
        while not events or events[-1][1] != wanted:
            events.append(self.must_next())
        return events


def check_opening(opening):
    equal(opening.field("content-type"), "text/event-stream", "Content-Type")
    equal(opening.field("cache-control"), "no-cache", "Cache-Control")
    equal(opening.field("connection"), "keep-alive", "Connection")
    equal(opening.field("x-accel-buffering"), "no", "X-Accel-Buffering")
    expect(re.fullmatch(r"req_[0-9A-Z]{26}", opening.field("x-request-id") or ""), "X-Request-Id")


def read_events(server, turn_id, query="", fields=()):
    with TurnWatch(server, turn_id, query, fields) as watch:
        equal(watch.opening.status, 200, "opening the stream")
        return watch.rest()


def read_through_restarts(server, turn_id, fields=()):
    """All events, coming again by the id of the last one whenever the connection is lost."""
    events = []
    is_over = False
    while not is_over:
        try:
            last = [("Last-Event-Id", str(events[-1][0]))] if events else []
            with TurnWatch(server, turn_id, "", [*fields, *last], wait_s=WAIT_S) as watch:
                if watch.opening.status == 204:
                    return events
                if watch.opening.status == 503:
                    continue
                equal(watch.opening.status, 200, f"coming again ({watch.opening.fields})")
                event = watch.next()
                while event is not None:
                    events.append(event)
                    is_over = event[1] in ("turn.completed", "turn.failed")
                    event = watch.next()
        except (Closed, OSError):
            continue
        except Failure as problem:
            if "broke off" not in str(problem) and "not that of an event" not in str(problem):
                raise
    return events


def check_events(events, turn_id, has_crashed=False):
    """Ids without gap or repeat, one beginning, one end, which is last, and each in its form."""
    equal([number for number, _, _ in events], list(range(1, len(events) + 1)), "ids")
    types = [kind for _, kind, _ in events]
    # One that was cancelled before anybody looked at it has its end alone.
    equal(types.count("turn.started"), 1 if types != ["turn.failed"] else 0, "turn.started")
    n_ends = types.count("turn.completed") + types.count("turn.failed")
    equal(n_ends, 1, f"ends, of {types[-3:]}")
    expect(types[-1] in ("turn.completed", "turn.failed"), "the last event", types[-1])
    if len(types) > 1:
        equal(types[0], "turn.started", "the first event")
    expect(types.count("cost_warning") <= 1, "cost_warning came more than once")
    for _, kind, data in events:
        check_event(kind, json.loads(data), turn_id)
    check_lanes(events, has_crashed)
    check_gates(events, has_crashed)


def check_event(kind, data, turn_id):
    if kind == "agent.thought":
        expect(sorted(data) in (["agent", "delta"], ["agent", "channel", "delta"]), "a thought", data)
        expect(data["agent"] in (*AGENTS, "synthesis") and data["delta"], "a thought", data)
        expect(data.get("channel", "synthesis") == "synthesis", "channel", data)
        return
    expect(kind in MEMBERS, "the type of an event", kind)
    equal(list(data), MEMBERS[kind], f"members of {kind}")
    if "turn_id" in data:
        equal(data["turn_id"], turn_id, f"turn_id of {kind}")
    if "at" in data:
        expect(TIME.fullmatch(data["at"]), "at", data["at"])
    if kind.startswith("agent."):
        expect(data["agent"] in (*AGENTS, "synthesis"), "agent", data)
    if kind == "validator.gate":
        expect(data["gate"] in GATES and data["verdict"] in ("passed", "failed", "skipped"), "a gate", data)
    if kind == "validator.critic":
        expect(data["verdict"] in ("accept", "downgrade", "reject"), "the critic", data)
        for concern in data["concerns"]:
            equal(sorted(concern), ["kind", "note", "severity"], "a concern")


def check_lanes(events, has_crashed):
    """What an agent thinks lies between its beginning and its end."""
    running = set()
    for _, kind, data in events:
        data = json.loads(data)
        if kind == "agent.started":
            expect(data["agent"] not in running or has_crashed, "begun twice", data["agent"])
            running.add(data["agent"])
        elif kind == "agent.completed":
            expect(data["agent"] in running, "completed without a beginning", data["agent"])
            running.discard(data["agent"])
        elif kind == "agent.thought":
            lane = data.get("channel", data["agent"])
            expect(lane in running, "a thought outside of its lane", data)
    if events[-1][1] == "turn.completed":
        expect(not running, "agents that never completed", running)


def check_gates(events, has_crashed):
    """All seven for each finding, unless a hard one failed; then the critic, once."""
    gates, critics = {}, {}
    for _, kind, data in events:
        data = json.loads(data)
        if kind == "validator.gate":
            expect(data["finding_id"] not in critics or has_crashed, "a gate behind the critic", data)
            gates.setdefault(data["finding_id"], []).append((data["gate"], data["verdict"]))
        elif kind == "validator.critic":
            critics[data["finding_id"]] = critics.get(data["finding_id"], 0) + 1
    if has_crashed or events[-1][1] != "turn.completed":
        return
    for finding, seen in gates.items():
        names = [name for name, _ in seen]
        equal(len(set(names)), len(names), f"gates of {finding}")
        failed_hard = any(name in HARD_GATES and verdict == "failed" for name, verdict in seen)
        if not failed_hard:
            equal(sorted(names), sorted(GATES), f"gates of {finding}")
        equal(critics.get(finding), 1, f"words of the critic on {finding}")


def agents_of(events):
    """Those that ran, without synthesis."""
    names = [json.loads(data)["agent"] for _, kind, data in events if kind == "agent.started"]
    return {name for name in names if name != "synthesis"}


# ---- the Turn ----

def check_turn(turn):
    equal(list(turn), ["id", "status", "created_at", "completed_at", "messages", "result", "error"],
          "members of a Turn")
    expect(TURN_ID.fullmatch(turn["id"]), "id", turn["id"])
    expect(turn["status"] in STATES, "status", turn["status"])
    expect(TIME.fullmatch(turn["created_at"]), "created_at", turn["created_at"])
    has_ended = turn["status"] in ("completed", "failed")
    equal(turn["completed_at"] is not None, has_ended, f"completed_at while {turn['status']}")
    expect(not has_ended or turn["completed_at"] >= turn["created_at"], "completed before it was made", turn)
    equal(turn["result"] is not None, turn["status"] == "completed", f"a result while {turn['status']}")
    equal(turn["error"] is not None, turn["status"] == "failed", f"an error while {turn['status']}")
    expect(turn["messages"] and turn["messages"][-1]["role"] == "user", "messages", turn["messages"][-1:])
    if turn["status"] == "failed":
        equal(list(turn["error"]), ["code", "message", "request_id", "docs_url"], "members of the error")
        equal(turn["error"]["docs_url"], f"/docs/errors#{turn['error']['code']}", "docs_url")
    if turn["status"] == "completed":
        check_result(turn)


def check_result(turn):
    result = turn["result"]
    equal(list(result), ["answer", "numbers", "fact_sheet", "agents_used", "validator", "cost_usd",
                         "duration_ms"],
          "members of a result")
    expect(result["answer"].strip(), "an empty answer")
    expect(result["cost_usd"] >= 0 and result["duration_ms"] >= 0, "cost and duration", result)
    equal(len(set(result["agents_used"])), len(result["agents_used"]), "agents_used")
    counts = result["validator"]
    equal(list(counts), ["findings_total", "findings_validated", "findings_conditional",
                         "findings_rejected"], "members of validator")
    equal(counts["findings_total"], counts["findings_validated"] + counts["findings_conditional"] +
          counts["findings_rejected"], "the sum of the findings")
    for entry in result["fact_sheet"]:
        for member in ("claim", "value", "unit", "source", "n", "window"):
            expect(member in entry, f"{member} of an entry", entry)
        expect(entry.get("verdict", "conditional") == "conditional", "verdict of an entry", entry)
    answer = result["answer"].encode("utf-8", "surrogatepass")
    claims = {entry["claim"] for entry in result["fact_sheet"]}
    for number in result["numbers"]:
        equal(answer[number["start"]:number["end"]].decode(), number["text"], "the bytes of a number")
        expect(number["claim"] in claims, "the entry of a number", number)


def verified(turn, windows):
    """What weir verify says of each number of the answer."""
    result = turn["result"]
    question = "\n".join(m["content"] for m in turn["messages"])
    question = question.replace("\0", " ").encode("utf-8", "replace").decode()[-MAX_ARGUMENT:]
    return _verified(question, json.dumps(result["fact_sheet"]), result["answer"], tuple(windows))


@functools.lru_cache(maxsize=1000)
def _verified(question, sheet, answer, windows):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as ledger:
        ledger.write(sheet)
        ledger.flush()
        words = ["verify", "--ledger", ledger.name, "--question", question, "--json"]
        for window in windows:
            words += ["--window", window]
        seen = weir(*words, input=answer.encode("utf-8", "replace"))
    expect(seen.returncode in (0, 1) and not seen.stderr, "weir verify", seen.stderr)
    return [json.loads(line) for line in seen.stdout.splitlines()]


def check_numbers(turn, outputs):
    """Each has a home, or is the question's, or a window of a plan; what is conditional is hedged."""
    sheet = turn["result"]["fact_sheet"]
    # Those of the sheet are read from there.
    windows = {finding.get("window") for finding in findings_of(outputs)} - {entry["window"] for entry in sheet}
    numbers = verified(turn, sorted(window for window in windows if window))
    for number in numbers:
        expect(number["outcome"] in ("home", "exempt"), "a number without a home", number, turn["result"])
    conditional = {entry["claim"] for entry in sheet if entry.get("verdict") == "conditional"}
    if any(number.get("home") in conditional for number in numbers):
        expect(HEDGES.search(turn["result"]["answer"]), "conditional, and no word that hedges",
               turn["result"]["answer"])


def findings_of(outputs):
    """What all agents of a turn claim."""
    results = list(outputs.get("run_supporting_agents", {}).values())
    results += [outputs.get("run_main_agent", {})]
    results += [more["result"] for more in outputs.get("reflection", {"follow_ups": []})["follow_ups"]]
    return [finding for result in results for finding in result.get("findings", [])]


# ---- the trace ----

def check_trace(trace, turn, max_attempts=1):
    """It has the steps in their order, and says the same as the Turn."""
    equal(trace["turn_id"], turn["id"], "turn_id")
    equal(trace["status"], turn["status"], "status")
    names = [step["name"] for step in trace["steps"]]
    equal(names, [name for name in STEPS if name in names], "the order of the steps")
    outputs = {}
    for step in trace["steps"]:
        equal(step["number"], STEPS.index(step["name"]) + 1, "number")
        expect(step["started_at"] <= step["ended_at"], "a step's times", step["name"])
        expect(1 <= step["attempts"] <= max_attempts, "attempts", step["name"], step["attempts"])
        equal(step["input"]["messages"], turn["messages"], "input")
        for name, output in outputs.items():
            equal(step["input"][name], output, f"what {step['name']} got of {name}")
        outputs[step["name"]] = step["output"]
    if turn["status"] == "completed":
        check_completed_trace(trace, turn, outputs)


def check_completed_trace(trace, turn, outputs):
    result = turn["result"]
    for name in ("classify_vagueness", "route", "synthesis", "memory_extraction"):
        expect(name in outputs, "a step that always runs", name)
    equal(outputs["synthesis"]["answer"], result["answer"], "the answer")
    equal(sorted(set(agent["agent"] for agent in trace["agents"])), sorted(result["agents_used"]),
          "agents of the trace")
    checked = outputs.get("validation_gates", {"findings": [], "fact_sheet": []})
    equal(checked["fact_sheet"], result["fact_sheet"], "the fact sheet")
    rejected = {finding["id"] for finding in checked["findings"] if finding["verdict"] == "rejected"}
    conditional = {finding["id"] for finding in checked["findings"] if finding["verdict"] == "conditional"}
    for entry in result["fact_sheet"]:
        finding = entry["claim"].split(".")[0]
        expect(finding not in rejected, "a rejected finding in the sheet", entry)
        equal(entry.get("verdict") == "conditional", finding in conditional, f"verdict of {entry['claim']}")
    if outputs["classify_vagueness"]["vagueness"] == "high" and not outputs["route"]["safety"]:
        expect("run_main_agent" not in outputs and "reflection" not in outputs, "steps of a search",
               list(outputs))
    equal(trace["cost_usd"], result["cost_usd"], "cost_usd")
    check_numbers(turn, outputs)


# ---- all of it ----

def check_whole(server, turn_id, events, fields=(), has_crashed=False, max_attempts=1):
    """The Turn, its events and its trace, of one that has ended. Returns the Turn."""
    check_events(events, turn_id, has_crashed)
    answer = server.ask("GET", f"/v1/turns/{turn_id}", fields)
    turn = answer.json()
    check_turn(turn)
    _, kind, data = events[-1]
    equal(kind, f"turn.{turn['status']}", "the last event")
    member = b'"result":' if kind == "turn.completed" else b'"error":'
    said = data[data.index(member) + len(member):-1]
    expect(member + said in answer.body, "the bytes of the last event are not those of the Turn", said)
    if kind == "turn.completed":
        equal(agents_of(events), set(turn["result"]["agents_used"]), "agents_used")
    check_trace(get_trace(server, turn_id, fields), turn, max_attempts=20 if has_crashed else max_attempts)
    return turn


def whole_turn(server, question, fields=(), **members):
    """Asks, reads to the end, and holds everything to the rules."""
    turn = new_turn(server, question, fields, **members)
    return check_whole(server, turn["id"], read_events(server, turn["id"], "", fields), fields)
