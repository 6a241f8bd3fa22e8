#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/models_turns.py [CASE...]

Whole turns on a model, thirty of them (tests/upstream/turns.jsonl), on both wire formats, held to all
rules; recorded in one run and played in another, without the model, to the same answers.
"""
import collections
import json
import os
import pathlib
import tempfile

from model_support import KEY, Asking, Upstream, asked, config_of
from support import ROOT, Failure, case, equal, expect, main
from turn_rules import check_whole, findings_of, get_trace, new_turn, read_events

PLAYS = [json.loads(line) for line in (ROOT / "tests/upstream/turns.jsonl").read_text().splitlines()]


NAMES = {"weight_kg": "weight"}  # what weir calls them


def plans_of(server, turn):
    """What each step brought, and the plans behind all findings."""
    trace = get_trace(server, turn["id"])
    outputs = {step["name"]: step["output"] for step in trace["steps"]}
    return outputs, [finding.get("plan") for finding in findings_of(outputs)]


def check_play(server, play):
    """One turn, and that it went the way the model wanted."""
    turn, _ = asked(server, play["question"])
    outputs, plans = plans_of(server, turn)
    equal(outputs["classify_vagueness"]["vagueness"], play["vagueness"], "vagueness")
    used = set(turn["result"]["agents_used"])
    if play["vagueness"] == "high":
        equal(used, {"investigator"}, "agents")
    else:
        equal(used, {name for name in (play["main"], *play["supporting"]) if name}, "agents")
    for plan in play["plans"] if "data_science" in used else []:
        expect(any(is_part(plan, run) for run in plans), "a plan was not run", plan, plans)
    if play.get("follow_up"):
        follow_ups = outputs["reflection"]["follow_ups"]
        equal([more["question"] for more in follow_ups], [play["follow_up"]["question"]], "follow-ups")
    return turn


def is_part(plan, run):
    """Whether a plan that was run has all that the model's has; weir fills in the rest."""
    if run is None:
        return False
    wanted = {name: NAMES.get(value, value) if isinstance(value, str) else value for name, value in plan.items()}
    return all(run.get(name, "mean" if name == "stat" else None) == value for name, value in wanted.items())


def said(turn):
    result = turn["result"]
    return (result["answer"], result["fact_sheet"], result["agents_used"], result["validator"], result["cost_usd"])


def check_replay(server, turn):
    """Run again from what was recorded: the same, and nobody is asked."""
    answer = server.ask("GET", f"/v1/turns/{turn['id']}/replay?from=classify_vagueness")
    equal(answer.status, 200, f"a replay ({answer.body[:300]!r})")
    different = [step for step in answer.json()["steps"] if not step["same"]]
    equal((answer.json()["same"], different), (True, []), f"the replay of {turn['messages'][-1]['content']!r}")


def thirty_turns(kind):
    with tempfile.TemporaryDirectory(prefix="weir-cassettes-") as folder, Upstream() as upstream:
        upstream.reset(key=KEY)
        config = config_of(upstream, kind)
        with Asking(config, "--record", folder) as server:
            turns = [check_play(server, play) for play in PLAYS]
            n_calls = len(upstream.seen())
            for turn in turns:
                check_replay(server, turn)
        first = [said(turn) for turn in turns]
        equal(len(upstream.seen()), n_calls, "calls when turns were run again")
        equal({call["key"] for call in upstream.seen()}, {"right"}, "keys")
        size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir())
        print(f"    {kind}: {n_calls} calls, {len(os.listdir(folder))} cassettes, {size >> 10} KiB", flush=True)
        upstream.control(default={"status": 500})
        with Asking(config, "--replay", folder) as server:
            for play, wanted in zip(PLAYS, first):
                equal(said(check_play(server, play)), wanted, f"the answer to {play['question']!r}, played")
        equal(len(upstream.seen()), n_calls, "calls while it was played")


@case
def thirty_turns_keep_all_rules_and_are_played_again_anthropic():
    thirty_turns("anthropic")


@case
def thirty_turns_keep_all_rules_and_are_played_again_openai():
    thirty_turns("openai")


def improvised_turns(kind, numbers):
    """With a model that does as it likes."""
    ends = collections.Counter()
    with Upstream() as upstream, Asking(config_of(upstream, kind)) as server:
        for number in numbers:
            upstream.reset(key=KEY, actor={"improvises": number})
            question = PLAYS[number % len(PLAYS)]["question"]
            turn = new_turn(server, question)
            events = read_events(server, turn["id"])
            try:
                turn = check_whole(server, turn["id"], events)
                expect("elsewhere.example" not in json.dumps(turn["result"]), "a link", turn["result"])
            except Failure as problem:
                raise Failure(f"{kind} {number} {question!r}: {problem}") from problem
            ends[turn["error"]["code"] if turn["error"] else "completed"] += 1
    expect(ends["completed"] > len(numbers) // 2, "turns that came to an answer", ends)
    equal(set(ends) - {"completed", "unprocessable"}, set(), f"other ends of {ends}")
    print(f"    {kind}: {dict(ends)}", flush=True)


@case
def model_that_does_as_it_likes_breaks_no_rule():
    improvised_turns("anthropic", range(0, 30))
    improvised_turns("openai", range(30, 60))


@case
def plays_are_of_every_kind():
    kinds = collections.Counter(play["kind"] for play in PLAYS)
    equal(sum(kinds.values()), 30, "turns")
    equal(set(kinds), {"lookup", "domain", "coaching", "vague", "fallback", "reflection"}, "kinds")


if __name__ == "__main__":
    main()
