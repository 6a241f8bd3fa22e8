#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/crash/models.py [--kills N] [--seed N]

Kills a server whose turns ask a model, and starts it again on the same folder; the model is the
stand-in of tests/upstream, which counts what it is asked.

Each call of a turn in turn: killed while the call is under way, and while it pauses before another
attempt. Each step in turn: killed when its agent has all answers, before its output is committed.
Then N times (12) at random instants. In all of them:
  - the turn completes and keeps to all rules (turn_rules.py);
  - the model is asked again for what was under way, and for nothing else;
  - cost_usd is the sum of the calls of the trace, and cost_warning comes once;
  - a replay differs in nothing, and asks nobody.

Then: a server with a hundred calls under way that gets SIGTERM ends well and in time, and the next
one finishes the turns; a turn is cancelled quickly in every state of a call.

The last line is "N passed, M failed".
"""
import argparse
import json
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "serve"), str(HERE.parent / "upstream")]

from jobs import failure_of  # noqa: E402
from support import PATIENCE, ROOT, WAIT_S, Server, equal, expect, program, wait_until, weir  # noqa: E402
from turn_rules import body_of, check_whole, get_trace, get_turn, post_turn, read_events  # noqa: E402
from upstream import Upstream  # noqa: E402

PEOPLE = ROOT / "tests" / "data" / "people"
KEY = "sk-for-tests-0123456789"
# One with supporting agents, so that two ask at once.
QUESTIONS = ["What was my average resting heart rate in March 2025?",
             "Plan my deep sleep recovery"]
CANCEL_S = 10 * PATIENCE
N_CALLS = 100


class Desk:
    """A stand-in, a folder with a person's data, and servers on copies of it."""

    def __init__(self, upstream, folder):
        self.upstream = upstream
        self.folder = pathlib.Path(folder)
        self.models = self.folder / "models.json"
        config = {"providers": {"standin": {"type": "anthropic", "base_url": upstream.where["http"],
                                            "key_env": "WEIR_TEST_KEY"}},
                  "roles": {role: {"provider": "standin", "model": "claude-haiku-4-5"}
                            for role in ("fast", "main", "critic")}}
        self.models.write_text(json.dumps(config))
        self.template = self.folder / "template"
        files = [str(PEOPLE / f"p01_{kind}.csv") for kind in ("daily", "activities", "labs")]
        done = weir("import", *files, "--quiet", "--user", "local", "--data", str(self.template))
        equal(done.returncode, 0, f"import ({done.stderr!r})")
        self.n_servers = 0

    def server(self, *options):
        self.n_servers += 1
        data = self.folder / f"data{self.n_servers}"
        shutil.copytree(self.template, data)
        self.upstream.reset()
        return Server("--models", str(self.models), *options, data=data, starts=False,
                      env={"WEIR_TEST_KEY": KEY, "WEIR_COST_WARN_USD": "0.001"})

    def n_asked(self):
        return len(self.upstream.seen())

    def wait_asked(self, n):
        wait_until(lambda: self.n_asked() >= n, f"{n} calls were made")


def ask(server, question):
    answer = post_turn(server, body_of(question))
    equal(answer.status, 201, "a question")
    return answer.json()["id"]


def finish(desk, server, turn_id):
    """Waits for the end; everything is held to the rules."""
    events = read_events(server, turn_id)
    turn = check_whole(server, turn_id, events, has_crashed=True, max_attempts=9)
    equal(turn["status"], "completed", f"how it ended ({turn['error']})")
    calls = [call for step in get_trace(server, turn_id)["steps"] for call in step["model_calls"]]
    cost = sum(call["cost_usd"] + call["earlier_usd"] for call in calls)
    equal(round(turn["result"]["cost_usd"], 9), round(cost, 9), "the cost of all calls")
    equal([kind for _, kind, _ in events].count("cost_warning"), 1, "cost_warning")
    n = desk.n_asked()
    replayed = server.ask("GET", f"/v1/turns/{turn_id}/replay").json()
    expect(replayed["same"], "a replay differs", [step for step in replayed["steps"] if not step["same"]])
    equal(desk.n_asked(), n, "calls of a replay")
    equal(server.stop(), 0, "exit status after SIGTERM")
    server.expect_no_complaint()
    return calls


def count_calls(desk, question):
    """For each call of an undisturbed turn how many agents ask in its step, and how many steps there are."""
    with desk.server() as server:
        server.start()
        turn_id = ask(server, question)
        read_events(server, turn_id)
        steps = get_trace(server, turn_id)["steps"]
        finish(desk, server, turn_id)
        agents = [len({call["part"] for call in step["model_calls"]}) for step in steps for _ in step["model_calls"]]
        equal(desk.n_asked(), len(agents), "calls")
        return agents, len(steps)


def expect_asked(desk, n_calls, n_agents):
    """Again what was under way: one call at least, and one of each agent at most."""
    expect(n_calls < desk.n_asked() <= n_calls + n_agents, "calls", desk.n_asked(), n_calls, n_agents)


# ---- kills ----

def rules_for(k, behaviour):
    """The k-th call behaves so, all others as they should."""
    before = [{"times": k - 1, "do": {}}] if k > 1 else []
    return [*before, {"times": 1, "do": behaviour}]


def kill_in_call(desk, question, k, agents):
    with desk.server() as server:
        desk.upstream.rules(*rules_for(k, {"hold_first": "for ever"}))
        server.start()
        turn_id = ask(server, question)
        desk.wait_asked(k)
        # Parallel agents go on while this one is held.
        wait_until(lambda: sum(seen["outcome"] == "open" for seen in desk.upstream.seen()) == 1, "it is held")
        server.kill()
        server.start()
        finish(desk, server, turn_id)
        expect_asked(desk, len(agents), agents[k - 1])


def kill_in_pause(desk, question, k, agents):
    with desk.server() as server:
        desk.upstream.rules(*rules_for(k, {"status": 529, "retry_after": "50"}))
        server.start()
        turn_id = ask(server, question)
        desk.wait_asked(k)
        wait_until(lambda: not any(seen["outcome"] == "open" for seen in desk.upstream.seen()), "it pauses")
        server.kill()
        server.start()
        finish(desk, server, turn_id)
        expect_asked(desk, len(agents), agents[k - 1])


def kill_before_output(desk, question, step, n_calls):
    with desk.server() as server:
        env = dict(server.env)
        server.env["WEIR_FAULT"] = f"output:{step}!"
        server.start()
        turn_id = ask(server, question)
        equal(server.wait(), -signal.SIGKILL, "how it ended")
        server.env = env
        server.start()
        finish(desk, server, turn_id)
        equal(desk.n_asked(), n_calls, "calls")


def kill_anywhere(desk, question, chance, agents):
    """Several times; no more is asked again than was under way."""
    n_calls = len(agents)
    with desk.server() as server:
        desk.upstream.control(default={"delta_ms": 3})
        server.start()
        turn_id = ask(server, question)
        n_lost = 0
        for _ in range(chance.randint(1, 4)):
            time.sleep(chance.uniform(0, 0.25))
            server.kill()
            before = desk.upstream.seen()
            wait_until(lambda: not any(seen["outcome"] == "open" for seen in desk.upstream.seen()), "nobody is asked")
            n_lost += max(agents)
            expect(len(before) <= n_calls + n_lost, "calls", len(before), n_calls, n_lost)
            server.start()
        finish(desk, server, turn_id)
        expect(n_calls <= desk.n_asked() <= n_calls + n_lost, "calls", desk.n_asked(), n_calls, n_lost)


# ---- ends ----

def stop_with_many_calls(desk):
    with desk.server("--user-turns", str(N_CALLS)) as server:
        desk.upstream.control(default={"hold_first": "first"})
        server.start()
        turns = [ask(server, QUESTIONS[0]) for _ in range(N_CALLS)]
        desk.wait_asked(N_CALLS)
        began = time.monotonic()
        equal(server.stop(), 0, "exit status after SIGTERM")
        expect(time.monotonic() - began < 10 * PATIENCE, "it took", time.monotonic() - began)
        desk.upstream.control(default={}, release=["first"])
        server.start()
        for turn_id in turns:
            events = read_events(server, turn_id)
            equal(events[-1][1], "turn.completed", f"the end ({events[-1][2]})")
            equal(events[-1][0], len(events), "its id")
        equal(server.stop(), 0, "exit status after SIGTERM")


def cancel_in(desk, behaviour, is_reached):
    with desk.server() as server:
        desk.upstream.control(default=behaviour)
        server.start()
        turn_id = ask(server, QUESTIONS[1])
        wait_until(lambda: is_reached(desk.upstream.seen()), "the call is where it shall be")
        began = time.monotonic()
        equal(server.ask("POST", f"/v1/turns/{turn_id}/cancel").status, 202, "cancel")
        events = read_events(server, turn_id)
        took = time.monotonic() - began
        equal(events[-1][1], "turn.failed", "the end")
        equal(get_turn(server, turn_id)["error"]["code"], "cancelled", "code")
        expect(took < CANCEL_S, f"it took {took:.3f} s")
        wait_until(lambda: not any(seen["outcome"] == "open" for seen in desk.upstream.seen()), "nobody is asked")


def cancels(desk):
    """Cases: before the head, before the first byte, in the middle, in a pause."""
    is_asked = bool
    yield "before the head", {"hold_head": "never"}, is_asked
    yield "before the first byte", {"hold_first": "never"}, is_asked
    yield "in the middle", {"delta_ms": 200, "trickle_bytes": 5, "trickle_ms": 100}, is_asked
    yield "in a pause", {"status": 529, "retry_after": "50"}, lambda seen: seen and seen[0]["outcome"] != "open"


# ---- all of it ----

class Count:
    def __init__(self):
        self.n_passed = self.n_failed = 0

    def run(self, name, function, *arguments):
        try:
            function(*arguments)
            self.n_passed += 1
        except Exception as problem:
            self.n_failed += 1
            print(f"FAILED {name}: {failure_of(problem)}", flush=True)


def run_kills(desk, count, options):
    chance = random.Random(options.seed)
    for question in QUESTIONS:
        agents, n_steps = count_calls(desk, question)
        n_calls = len(agents)
        print(f"{n_calls} calls in {n_steps} steps: {question}")
        for k in range(1, n_calls + 1):
            count.run(f"in call {k} of {question!r}", kill_in_call, desk, question, k, agents)
            count.run(f"in the pause of call {k} of {question!r}", kill_in_pause, desk, question, k, agents)
        for step in range(1, n_steps + 1):
            count.run(f"before output {step} of {question!r}", kill_before_output, desk, question, step, n_calls)
        for i in range(options.kills // len(QUESTIONS)):
            count.run(f"anywhere, seed {options.seed}, {i}", kill_anywhere, desk, question, chance, agents)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    options = parser.parse_args()
    program()
    count = Count()
    with Upstream() as upstream, tempfile.TemporaryDirectory(prefix="weir-models-") as folder:
        desk = Desk(upstream, folder)
        run_kills(desk, count, options)
        count.run("SIGTERM with many calls", stop_with_many_calls, desk)
        for name, behaviour, is_reached in cancels(desk):
            count.run(f"cancel {name}", cancel_in, desk, behaviour, is_reached)
    print(f"{count.n_passed} passed, {count.n_failed} failed")
    sys.exit(count.n_failed > 0)


if __name__ == "__main__":
    main()
