#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/models.py [CASE...]

Turns on a model that misbehaves, each time with its outcome: asked again and how often, failed and
with which code, or kept what had come and the step asked again; and no text twice in any stream.
The model is tests/upstream, which counts what it is asked.
"""
import collections
import concurrent.futures
import json

from model_support import (FORMATS, KEY, PRICES, SHORT_MS, Asking, Upstream, asked, config_of, n_started, provider,
                           shown)
from support import case, equal, expect, main, wait_until
from turn_rules import check_whole, get_trace, new_turn, read_events, read_through_restarts

QUESTION = "What was my average resting heart rate in March 2025?"
USUAL = 2  # calls of the data scientist for it: the plan, and the last word
ANSWER = "57.9 bpm"


def each_format(check, formats=FORMATS, has_tls=False, **config):
    """Runs a check on both wire formats at once, each with a server and a stand-in of its own."""
    def run(kind):
        with Upstream(has_tls) as upstream:
            upstream.reset(key=KEY)
            with Asking(config_of(upstream, kind, **config)) as server:
                try:
                    check(server, upstream)
                except Exception as problem:
                    raise type(problem)(f"{kind}: {problem}") from problem
    with concurrent.futures.ThreadPoolExecutor(len(formats)) as pool:
        list(pool.map(run, formats))


def science(upstream, **wanted):
    return upstream.seen(purpose="data_science", **wanted)


def misbehaves(upstream, do, times=1, **which):
    upstream.control(rules=[{"purpose": "data_science", "times": times, "do": do, **which}])


def expect_retried(*behaviours, **config):
    """The call is made again by the engine: nobody notices, the step ran once."""
    _expect_again(behaviours, 1, config)


def expect_step_again(*behaviours, **config):
    """What had come is dropped by clients, and the step asks from its beginning."""
    _expect_again(behaviours, 2, config)


def _expect_again(behaviours, n_attempts, config):
    def check(server, upstream):
        for do in behaviours:
            upstream.reset(key=KEY)
            misbehaves(upstream, do)
            turn, events = asked(server, QUESTION, max_attempts=n_attempts)
            equal(len(science(upstream)), USUAL + 1, f"calls with {do}")
            equal(n_started(events, "data_science"), n_attempts, f"beginnings with {do}")
            expect(ANSWER in turn["result"]["answer"], f"the answer with {do}", turn["result"]["answer"])
    each_format(check, **config)


def expect_failed(n_calls, *behaviours, **config):
    """However often it is asked, and then the turn has failed."""
    def check(server, upstream):
        for do in behaviours:
            upstream.reset(key=KEY)
            misbehaves(upstream, do, -1)
            turn, _ = asked(server, QUESTION, has_failed=True)
            equal(turn["error"]["code"], "upstream_unavailable", f"code with {do}")
            equal(len(science(upstream)), n_calls, f"calls with {do}")
            expect(KEY not in json.dumps(turn), "the key is in the Turn")
    each_format(check, **config)


# ---- before the first byte ----

@case
def too_many_requests_are_sent_again_when_the_server_said():
    def check(server, upstream):
        misbehaves(upstream, {"status": 429, "retry_after": "1"})
        misbehaves(upstream, {"status": 429, "retry_date_s": 2})
        asked(server, QUESTION)
        calls = science(upstream)
        equal([call["status"] for call in calls], [429, 429] + [200] * USUAL, "calls")
        expect(calls[1]["at"] - calls[0]["at"] >= 1, "after a second", calls[1]["at"] - calls[0]["at"])
        # A date has whole seconds.
        expect(calls[2]["at"] - calls[1]["at"] >= 0.9, "at the date", calls[2]["at"] - calls[1]["at"])
    each_format(check)


@case
def server_in_trouble_is_asked_again():
    expect_retried({"status": 529}, {"status": 500}, {"status": 503, "body": "<html>no</html>"},
                   {"end": "before head"}, {"end": "before head", "is_reset": True})


@case
def head_that_does_not_come_is_waited_for_so_long_and_no_longer():
    expect_retried({"hold_head": "never"}, {"hold_first": "never"},
                   limits={"first_byte_ms": SHORT_MS, "idle_ms": SHORT_MS})


@case
def three_times_is_enough():
    expect_failed(3, {"status": 500})
    expect_failed(3, {"hold_head": "never"}, limits={"first_byte_ms": SHORT_MS})


@case
def refusals_for_good_are_not_asked_again():
    def check(server, upstream):
        for status in (400, 401, 403, 404, 413):
            upstream.reset(key=KEY)
            misbehaves(upstream, {"status": status, "message": f"no, not with {KEY}"}, -1)
            turn, _ = asked(server, QUESTION, has_failed=True)
            equal(turn["error"]["code"], "upstream_unavailable", f"code of {status}")
            equal(len(science(upstream)), 1, f"calls with {status}")
            expect(str(status) in turn["error"]["message"], "what the server said", turn["error"])
            expect(KEY not in json.dumps(turn), "the key is in the Turn")
    each_format(check)


@case
def certificate_that_is_not_right_ends_it_before_a_request():
    with Upstream(has_tls=True) as upstream:
        for listener, members in (("unknown", {}), ("good", {}), ("wrong_host", {"ca_file": upstream.where["ca"]})):
            with Asking(config_of(upstream, "anthropic", listener=listener, **members)) as server:
                turn, _ = asked(server, QUESTION, has_failed=True)
                equal(turn["error"]["code"], "upstream_unavailable", listener)
        equal(upstream.seen(), [], "requests")
        upstream.reset(key=KEY)
        with Asking(config_of(upstream, "openai", listener="good", ca_file=upstream.where["ca"])) as server:
            asked(server, QUESTION)
        equal({seen["key"] for seen in upstream.seen()}, {"right"}, "keys")


@case
def redirect_is_not_followed_and_carries_no_key():
    def check(server, upstream):
        for path in ("/v1/messages", "/v1/chat/completions"):
            upstream.reset(key=KEY)
            misbehaves(upstream, {"redirect": upstream.where["other"] + path}, -1)
            turn, _ = asked(server, QUESTION, has_failed=True)
            equal(turn["error"]["code"], "upstream_unavailable")
            equal(len(science(upstream)), 1, "calls")
            equal(upstream.seen(listener="other"), [], "requests elsewhere")
    each_format(check)


@case
def what_is_no_answer_is_not_taken_for_one():
    expect_failed(1, {"content_type": "text/html"}, {"gzip": True})


# ---- behind the first byte ----

@case
def answer_that_breaks_off_is_asked_for_by_its_step():
    expect_step_again({"after": 1, "end": "cut"}, {"after": 1, "end": "reset"}, {"after": 1, "end": "eof"},
                      {"after": 1, "end": "not json"})


@case
def answer_that_is_cut_again_and_again_fails_the_turn():
    def check(server, upstream):
        misbehaves(upstream, {"after": 1, "end": "cut"}, -1)
        turn, events = asked(server, QUESTION, has_failed=True, max_attempts=3)
        equal((turn["error"]["code"], len(science(upstream))), ("upstream_unavailable", 3), "code and calls")
        equal(n_started(events, "data_science"), 3, "beginnings")
    each_format(check)


@case
def agents_beside_one_whose_answer_is_cut_are_not_asked_again():
    def check(server, upstream):
        question = "Plan my deep sleep recovery"
        asked(server, question)
        usual = len(upstream.seen(purpose="domain_expert"))
        upstream.reset(key=KEY)
        upstream.rules({"purpose": "data_science", "contains": "call_0_0", "do": {"after": 1, "end": "cut"}})
        asked(server, question, max_attempts=2)
        equal([call["outcome"] for call in science(upstream)], ["answered", "cut", "answered"], "data_science")
        equal(len(upstream.seen(purpose="domain_expert")), usual, "calls of the expert")
    each_format(check)


@case
def answer_that_stalls_is_asked_for_by_its_step():
    expect_step_again({"after": 1, "end": "stall"}, limits={"idle_ms": SHORT_MS})


@case
def error_in_an_answer_is_asked_for_by_its_step():
    expect_step_again({"after": 1, "end": "error"}, {"after": 1, "end": "error", "has_done": True})
    expect_step_again(*({"after": 1, "end": "error", "flavour": flavour} for flavour in ("llamacpp", "vllm", "ollama")),
                      formats=("openai",))


@case
def tool_call_that_cannot_be_read_is_never_run():
    expect_step_again({"tool_input": "truncated"}, {"tool_input": "invalid"})


@case
def answer_that_does_not_end_is_ended_by_us():
    def check(server, upstream):
        before = server.rss_bytes()
        misbehaves(upstream, {"after": 1, "end": "big", "bytes": 100 << 20}, -1)
        turn, _ = asked(server, QUESTION, has_failed=True, max_attempts=3)
        equal(turn["error"]["code"], "upstream_unavailable", "code")
        equal({call["outcome"] for call in science(upstream)}, {"left"}, "what became of the call")
        server.expect_grown_less(before, 64 << 20, "100 MB of an answer")
    each_format(check)


# ---- odd, and right ----

@case
def strange_ways_to_send_a_good_answer_are_no_trouble():
    def check(server, upstream):
        for do in ({"trickle_bytes": 1}, {"plain": True}, {"end": "no end"}, {"says_usage": False},
                   {"first_ms": 50, "delta_ms": 5}, {"content_type": "text/event-stream"},
                   *({"flavour": name} for name in ("llamacpp", "vllm", "ollama"))):
            upstream.reset(key=KEY)
            misbehaves(upstream, do, -1)
            turn, _ = asked(server, QUESTION)
            equal(len(science(upstream)), USUAL, f"calls with {do}")
            expect(ANSWER in turn["result"]["answer"], f"the answer with {do}", turn["result"]["answer"])
    each_format(check)


@case
def every_way_to_ask_for_an_object_is_understood():
    for json_by in ("schema", "object", "tool", "none"):
        with Upstream() as upstream, Asking(config_of(upstream, "openai", json=json_by)) as server:
            turn, _ = asked(server, "Is my LDL a concern?")
            equal(set(turn["result"]["agents_used"]), {"domain_expert", "data_science"}, json_by)


@case
def answers_that_cannot_be_read_are_repaired():
    def check(server, upstream):
        upstream.reset(key=KEY, actor={"garbles": ["vagueness", "route", "data_science"]})
        turn, _ = asked(server, QUESTION)
        counts = collections.Counter(call["purpose"] for call in upstream.seen())
        equal((counts["vagueness"], counts["route"], counts["data_science"]), (2, 2, USUAL + 1), "calls")
        expect(ANSWER in turn["result"]["answer"], "the answer", turn["result"]["answer"])
    each_format(check)


@case
def answers_that_can_never_be_read_are_soft_where_they_may_be():
    def check(server, upstream):
        def calls_of(purpose):
            return len(upstream.seen(purpose=purpose))
        upstream.reset(key=KEY, actor={"garbles": ["vagueness", "rephrase", "critic", "memory"], "insists": True})
        turn, _ = asked(server, "Is my LDL a concern?")
        equal((calls_of("vagueness"), calls_of("rephrase"), calls_of("memory")), (4, 4, 4), "calls")
        equal(set(turn["result"]["agents_used"]), {"domain_expert", "data_science"}, "agents")
        upstream.reset(key=KEY, actor={"garbles": ["route"], "insists": True})
        turn, _ = asked(server, QUESTION)
        equal((calls_of("route"), calls_of("fallback"), turn["result"]["agents_used"]), (4, 1, []), "the fallback")
        upstream.reset(key=KEY, actor={"garbles": ["data_science"], "insists": True})
        turn, _ = asked(server, QUESTION, has_failed=True)
        equal((turn["error"]["code"], calls_of("data_science")), ("unprocessable", 4), "plans that are none")
    each_format(check)


@case
def thoughts_are_shown_and_handed_back_as_they_came():
    def check(server, upstream):
        upstream.reset(key=KEY, actor={"thinks": True})
        turn, events = asked(server, QUESTION)
        expect(shown(events)["data_science"].startswith("Hm, what do they mean? "), "thoughts", shown(events))
        expect("Hm, what" not in turn["result"]["answer"], "a thought in the answer", turn["result"])
        second = json.loads(upstream.seen(has_bodies=True, purpose="data_science")[1]["body"])
        if "system" in second:  # Anthropic's, who wants them back with their signature
            thought = second["messages"][1]["content"][0]
            equal((thought["type"], thought["thinking"], thought["signature"]),
                  ("thinking", "Hm, what do they mean? ", "c2lnbmF0dXJl"), "the thought")
    each_format(check)


@case
def number_that_a_model_invents_is_in_no_answer():
    def check(server, upstream):
        for script in ({"invents": ["synthesis", "data_science", "fallback"]},
                       {"invents": ["synthesis", "fallback"], "insists": True}):
            for question in (QUESTION, "thanks!"):
                upstream.reset(key=KEY, actor=script)
                turn, events = asked(server, question)
                expect("98765" not in json.dumps(turn["result"]), "an invented number", turn["result"])
                expect("98765" not in shown(events).get("synthesis", ""), "an invented number was shown")
    each_format(check)


# ---- servers that are down ----

def expect_left_alone(upstream):
    """Behind the fifth call nobody asks for 15 s; a test that takes longer may see a probe."""
    calls = upstream.seen()
    expect(len(calls) >= 5, "five calls", len(calls))
    for call in calls[5:]:
        expect(call["at"] - calls[4]["at"] > 14.5, "a pause", call["at"] - calls[4]["at"])


@case
def server_that_is_down_is_left_alone_for_a_while():
    def check(server, upstream):
        upstream.control(default={"status": 500})
        first, _ = asked(server, QUESTION, has_failed=True)
        equal(first["error"]["code"], "upstream_unavailable")
        equal(len(upstream.seen()), 3, "calls of the first turn")
        # The fifth failure in a row opens the breaker; whoever comes then asks nobody, and waits.
        waiting = [new_turn(server, QUESTION)["id"]]
        wait_until(lambda: server.metric(r"weir_model_breaker_open\{") == 1, "the breaker is open")
        waiting.append(new_turn(server, QUESTION)["id"])
        wait_until(lambda: server.metric("weir_model_calls_failed_total") >= 3, "everybody was refused")
        expect_left_alone(upstream)
        for turn_id in waiting:
            equal(server.ask("POST", f"/v1/turns/{turn_id}/cancel", (), b"").status, 202, "cancel")
            read_events(server, turn_id)
        expect_left_alone(upstream)
    each_format(check)


@case
def another_provider_takes_over():
    for kind in FORMATS:
        with Upstream() as upstream:
            upstream.reset(key=KEY)
            other = "openai" if kind == "anthropic" else "anthropic"
            config = config_of(upstream, kind, fallback=provider(upstream, other, "other"))
            upstream.control(rules=[{"listener": "http", "times": -1, "do": {"status": 529}}])
            with Asking(config) as server:
                turn, _ = asked(server, QUESTION)
                expect(ANSWER in turn["result"]["answer"], "the answer", turn["result"]["answer"])
            equal({call["model"] for call in upstream.seen(listener="other")}, {"another-model"})
            equal({call["status"] for call in upstream.seen(listener="http")}, {529})


# ---- ends ----

def until_held(upstream, n=1):
    """Until the data scientist's call hangs in the stand-in."""
    return wait_until(lambda: len(science(upstream)) >= n and science(upstream)[n - 1]["n_deltas"] >= 1, "it hangs")


@case
def cancelled_turn_ends_its_call():
    def check(server, upstream):
        misbehaves(upstream, {"after": 1, "end": "stall"})
        turn = new_turn(server, QUESTION)
        until_held(upstream)
        equal(server.ask("POST", f"/v1/turns/{turn['id']}/cancel", (), b"").status, 202, "cancel")
        turn = check_whole(server, turn["id"], read_events(server, turn["id"]))
        equal(turn["error"]["code"], "cancelled")
        wait_until(lambda: science(upstream)[0]["outcome"] == "left", "the stand-in has seen it")
        equal(len(science(upstream)), 1, "calls")
    each_format(check)


@case
def cancelled_turn_does_not_wait_for_its_next_attempt():
    def check(server, upstream):
        misbehaves(upstream, {"status": 429, "retry_after": "59"}, -1)
        turn = new_turn(server, QUESTION)
        wait_until(lambda: science(upstream), "it was asked")
        wait_until(lambda: server.metric("weir_model_retries_total") == 1, "it waits")
        equal(server.ask("POST", f"/v1/turns/{turn['id']}/cancel", (), b"").status, 202, "cancel")
        turn = check_whole(server, turn["id"], read_events(server, turn["id"]))
        equal((turn["error"]["code"], len(science(upstream))), ("cancelled", 1), "code and calls")
    each_format(check)


@case
def no_more_calls_than_a_provider_may_have_are_under_way():
    def check(server, upstream):
        upstream.control(default={"delta_ms": 2})
        turns = [new_turn(server, question)["id"] for question in (QUESTION, "Is my LDL a concern?", "thanks!")]
        for turn_id in turns:
            equal(check_whole(server, turn_id, read_events(server, turn_id))["status"], "completed")
        calls = sorted((call["at"], call["ended_at"]) for call in upstream.seen())
        expect(len(calls) > 12, "calls", len(calls))
        for (_, end), (begin, _) in zip(calls, calls[1:]):
            expect(end <= begin, "two calls at once", end, begin)
        expect(upstream.n_connections() <= 2, "connections for all of them", upstream.n_connections())
    each_format(check, limits={"max_running": 1})


@case
def server_that_ends_takes_its_calls_with_it_and_goes_on_later():
    def check(server, upstream):
        misbehaves(upstream, {"after": 1, "end": "stall"})
        turn = new_turn(server, QUESTION)
        until_held(upstream)
        equal(server.stop(), 0, "exit status")
        wait_until(lambda: science(upstream)[0]["outcome"] == "left", "the stand-in has seen it")
        server.start()
        events = read_through_restarts(server, turn["id"])
        turn = check_whole(server, turn["id"], events, has_crashed=True)
        equal(turn["status"], "completed", "status")
    each_format(check)


@case
def nothing_that_was_answered_is_paid_again_after_a_kill():
    def check(server, upstream):
        upstream.rules({"purpose": "data_science", "contains": "tool_", "do": {"after": 1, "end": "stall"}})
        turn = new_turn(server, QUESTION)
        until_held(upstream, 2)
        server.kill()
        server.start()
        events = read_through_restarts(server, turn["id"])
        turn = check_whole(server, turn["id"], events, has_crashed=True)
        equal(turn["status"], "completed", "status")
        counts = collections.Counter(call["purpose"] for call in upstream.seen())
        equal((counts["vagueness"], counts["route"], counts["data_science"]), (1, 1, USUAL + 1), "calls")
        equal([call["outcome"] for call in science(upstream)], ["answered", "left", "answered"], "calls")
    each_format(check)


# ---- what it costs ----

def price_of(upstream):
    """What the stand-in would charge: every call that was begun, as far as it was told."""
    total = 0.0
    for call in upstream.seen(status=200):
        usage = call["usage"]
        # Of a message that was cut, Anthropic's beginning is known, and nothing of the others'.
        is_whole = call["outcome"] == "answered"
        if call["path"].endswith("/chat/completions") and not is_whole:
            continue
        total += usage["input_tokens"] * PRICES["input"] + usage["cache_read_input_tokens"] * PRICES["cache_read"]
        total += usage["cache_creation_input_tokens"] * PRICES["cache_write"]
        total += (usage["output_tokens"] if is_whole else 1) * PRICES["output"]
    return total / 1e6


def warnings_of(events):
    return [json.loads(data) for _, kind, data in events if kind == "cost_warning"]


@case
def cost_is_the_sum_of_all_calls_failed_ones_included():
    def check(server, upstream):
        usage = {"input_tokens": 1000, "cache_read_input_tokens": 300, "output_tokens": 77}
        answer = {"content": [{"type": "text", "text": "Hello there."}], "stop": "end", "usage": usage}
        upstream.rules({"purpose": "data_science", "do": {"after": 1, "end": "cut"}},
                       {"purpose": "route", "do": {"status": 500}}, {"purpose": "fallback", "do": {"answer": answer}})
        for question, attempts in ((QUESTION, 2), ("thanks!", 1)):
            before = price_of(upstream)
            turn, events = asked(server, question, max_attempts=attempts)
            wanted = price_of(upstream) - before
            expect(abs(turn["result"]["cost_usd"] - wanted) < 1e-9, "cost", turn["result"]["cost_usd"], wanted)
            trace = get_trace(server, turn["id"])
            equal(round(sum(step["cost_usd"] for step in trace["steps"]), 9), round(wanted, 9), "cost of the steps")
            equal(warnings_of(events), [], "warnings")
    each_format(check)


@case
def warning_comes_once_and_ends_nothing():
    with Upstream() as upstream, Asking(config_of(upstream, "anthropic"), env={"WEIR_COST_WARN_USD": "0.001"}) as server:
        turn, events = asked(server, QUESTION)
        warnings = warnings_of(events)
        equal(len(warnings), 1, "warnings")
        equal(warnings[0]["threshold_usd"], 0.001)
        expect(0.001 < warnings[0]["cost_usd"] <= turn["result"]["cost_usd"], "its cost", warnings)


@case
def turn_that_has_cost_enough_asks_no_more():
    word = ("--max-turn-usd", "0.001")
    for options, members in ((word, {}), ((), {"max_turn_usd": 0.001}), (word, {"max_turn_usd": 9})):
        with Upstream() as upstream, Asking({**config_of(upstream, "openai"), **members}, *options) as server:
            turn, _ = asked(server, QUESTION, has_failed=True)
            equal(turn["error"]["code"], "cost_limit_exceeded", f"code with {options} {members}")
            n_calls = len(upstream.seen())
            expect(n_calls >= 1 and price_of(upstream) >= 0.001, "what was spent", price_of(upstream))
            costs = [call["usage"] for call in upstream.seen()]
            last = (costs[-1]["input_tokens"] * PRICES["input"] + costs[-1]["output_tokens"] * PRICES["output"]) / 1e6
            expect(price_of(upstream) - last < 0.001, "it stopped at the first call that passed the limit", n_calls)


if __name__ == "__main__":
    main()
