# SPDX-License-Identifier: Apache-2.0
"""What the tests of turns on a model share: a stand-in for the model (tests/upstream), a server that
asks it, and what a stream may show when something went wrong in its middle."""
import base64
import json
import os
import re
import secrets
import sys
import tempfile
import urllib.parse

from support import ROOT, Server, equal, expect, weir
from turn_rules import check_whole, get_trace, new_turn, read_events

sys.path.insert(0, str(ROOT / "tests" / "upstream"))
from actor import letters  # noqa: E402
from upstream import Upstream  # noqa: E402

PEOPLE = ROOT / "tests" / "data" / "people"
FORMATS = ("anthropic", "openai")
KEY_ENV = "WEIR_TEST_KEY"
# Made for each run and never written down: whoever finds it in a file has found a leak.
KEY = "sk-test/" + secrets.token_urlsafe(32) + "+="
MODELS = {"anthropic": "claude-haiku-4-5", "openai": "gpt-4.1-mini"}
PRICES = {"input": 10.0, "output": 100.0, "cache_read": 1.0, "cache_write": 20.0}  # USD for a million
SHORT_MS = 3000 * float(os.environ.get("WEIR_PATIENCE", "1"))


def provider(upstream, kind, listener="http", **members):
    base = upstream.where[listener] + ("/v1" if kind == "openai" else "")
    prices = {model: PRICES for model in (MODELS[kind], "another-model")}
    return {"type": kind, "base_url": base, "key_env": KEY_ENV, "prices": prices, **members}


def config_of(upstream, kind, fallback=None, limits=None, roles=("fast", "main", "critic"), **members):
    """A configuration in which one provider plays every role; `fallback` is another provider."""
    limited = {"limits": {name: int(ms) for name, ms in limits.items()}} if limits else {}
    providers = {"first": provider(upstream, kind, **{**limited, **members})}
    player = {"provider": "first", "model": MODELS[kind]}
    if fallback:
        providers["second"] = fallback
        player["fallback"] = {"provider": "second", "model": "another-model"}
    return {"providers": providers, "roles": {role: player for role in roles}}


class Asking(Server):
    """A server that asks models, with a person's data in it."""

    def __init__(self, config, *options, env=None, has_data=True, **more):
        self._config = tempfile.NamedTemporaryFile("w", prefix="weir-models-", suffix=".json")
        json.dump(config, self._config)
        self._config.flush()
        super().__init__("--models", self._config.name, *options, env={KEY_ENV: KEY, **(env or {})}, **more)
        if has_data:
            files = [str(path) for path in sorted(PEOPLE.glob("u01_*.csv"))]
            done = weir("import", *files, "--data", self.data, "--quiet")
            equal(done.returncode, 0, f"weir import ({done.stderr!r})")


def forms_of(key):
    """All the ways in which a key might have been written."""
    raw = key.encode()
    padded = [base64.b64encode(raw[skip:]).rstrip(b"=")[1:-1] for skip in range(3)]
    quoted = [urllib.parse.quote(key, safe=safe).encode() for safe in ("", "/", "/+=")]
    return {raw, raw.hex().encode(), json.dumps(key)[1:-1].encode(), key.replace("/", "\\/").encode(), *padded, *quoted}


# ---- what a stream shows ----

def shown(events):
    """What a client has of each agent at the end: it drops what it had when one begins anew."""
    texts = {}
    for _, kind, data in events:
        data = json.loads(data)
        if kind == "agent.started":
            texts[data["agent"]] = ""
        elif kind == "agent.thought":
            lane = data.get("channel", data["agent"])
            texts[lane] += data["delta"]
    return texts


def n_started(events, agent):
    return sum(kind == "agent.started" and json.loads(data)["agent"] == agent for _, kind, data in events)


def check_shown(events, turn, trace):
    """Nothing twice and nothing lost: what is left of each agent is its own text and the model's words."""
    texts = shown(events)
    if turn["status"] != "completed":
        return
    if "synthesis" in texts:
        equal(texts["synthesis"], turn["result"]["answer"], "the synthesis that was streamed")
    for agent, (result, words) in last_results(trace).items():
        ours, whole = result["text"], texts[agent]
        # The model's last words may be its own.
        expect(len(whole) in (len(ours), len(words), len(ours) + len(words)), f"what {agent} streamed, its own and the model's",
               whole, ours, words)
        for sentence in (*re.findall(r"[^.]+\. ", ours), *re.findall(r"[^.]+\. ", words)):
            expect(sentence in whole, f"of what {agent} streamed is missing", sentence, whole)


def last_results(trace):
    """Of each agent what it brought last, and what its model said meanwhile."""
    results = {}
    for step in trace["steps"]:
        found = []
        if step["name"] == "run_supporting_agents":
            found = step["output"].values()
        elif step["name"] == "run_main_agent":
            found = [step["output"]]
        elif step["name"] == "reflection":
            found = [more["result"] for more in step["output"]["follow_ups"]]
        for result in found:
            calls = [call for call in step["model_calls"] if call["agent"] == result["agent"] and call["status"] == "ok"]
            blocks = [block for call in calls for block in call["content"]]
            words = "".join(block.get("text") or block.get("thinking") or "" for block in blocks)
            results[result["agent"]] = (result, words)
    return results


def asked(server, question, max_attempts=1, has_failed=False, **members):
    """A whole turn on a model, with all rules; also for one that fails, or has steps run again."""
    turn = new_turn(server, question, **members)
    events = read_events(server, turn["id"])
    turn = check_whole(server, turn["id"], events, has_crashed=max_attempts > 1, max_attempts=max_attempts)
    equal(turn["status"], "failed" if has_failed else "completed", f"status ({turn['error']})")
    check_shown(events, turn, get_trace(server, turn["id"]))
    return turn, events
