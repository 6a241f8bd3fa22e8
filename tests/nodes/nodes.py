#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/nodes/nodes.py [CASE...]

What is true of several nodes on one PostgreSQL and is no question for one server: readers at another
node than writers, work that others take up, limits that hold over all of them, and a database that
comes and goes. faults.py does worse to them, under load; the programs of tests/serve run on two nodes
as well (cluster.py).
"""
import concurrent.futures
import json
import pathlib
import re
import shutil
import signal
import time

import postgres
import support
from cluster import Cluster, Node, database_of
from crowd import Crowd, Reader, Writer
from people import fields_for
from support import (JSON_FIELDS, PATIENCE, WAIT_S, Failure, Watch, case, equal, expect, ids_of, main, refused,
                     to_json, wait_until)
from turn_rules import (TurnWatch, body_of, check_whole, get_turn, new_turn, post_turn, read_events,
                        read_through_restarts)

# end_all() after each case is for them, too.
support.Server = Cluster
from model_support import Asking, Upstream, config_of  # noqa: E402

SLOW = ("--turn-pace", "300ms")
VERY_SLOW = ("--turn-pace", "30s")
QUESTION = "How many steps did I walk last week?"


def database():
    return postgres.shared()


# ---- streams ----

@case
def what_is_appended_at_one_node_is_read_at_the_other():
    with Cluster() as server:
        with server.at(0).watch("a") as left, server.at(1).watch("a") as right:
            for number in range(1, 41):
                equal(server.at(number % 2).append("a", number), number)
                for watch in (left, right):
                    equal(watch.must_next(), (number, str(number).encode()))
        for node in (0, 1):
            equal(ids_of(server.at(node).watch("a", "?live=false").rest()), list(range(1, 41)))


@case
def writers_at_all_nodes_share_a_stream_without_gap_or_repeat():
    with Cluster() as server, Crowd() as crowd:
        ports = [node.own_port for node in server.nodes]
        seen = [[], [], [], []]
        readers = [Reader(crowd, ports[n % 2], "a", on_event=lambda r, i, d, n=n: seen[n].append((i, d)))
                   for n in range(len(seen))]
        acks = {}

        def on_answer(writer, token, status, body):
            equal(status, 201, body)
            acks[json.loads(body)["id"]] = token
        writers = [Writer(crowd, ports[n % 2], on_answer) for n in range(6)]
        for round_number in range(50):
            for n, writer in enumerate(writers):
                writer.append((n, round_number), "a", to_json([n, round_number]))
        crowd.run(lambda: len(acks) == 300 and all(len(events) == 300 for events in seen), "all have all")
        for events in seen:
            equal(events, seen[0], "what another reader saw")
        equal({number: json.loads(data) for number, data in seen[0]}, {number: list(token) for number, token in acks.items()})
        for n in range(len(writers)):
            rounds = [token[1] for _, token in sorted(acks.items()) if token[0] == n]
            equal(rounds, list(range(50)), "the order of one connection")
        equal(len({reader.last_id for reader in readers}), 1)


@case
def reader_whose_node_has_lost_its_listener_gets_everything():
    with Cluster() as server, server.at(1).watch("a") as watch:
        for number in range(1, 31):
            server.at(0).append("a", number)
            if number % 10 == 5:
                gone = database().sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                                      "WHERE application_name = 'weir listener'")
                expect("0" not in str(gone).split(), "there is no listener:", gone)
            equal(watch.must_next(), (number, str(number).encode()))


@case
def stream_that_is_deleted_at_one_node_is_gone_at_the_other():
    with Cluster() as server:
        server.at(0).append("a", 1)
        equal(len(server.at(1).watch("a", "?live=false").rest()), 1)
        equal(server.at(1).ask("DELETE", "/v1/streams/a").status, 204)
        equal(server.at(0).watch("a", "?live=false").rest(), [])
        equal(server.at(0).append("a", 2), 1, "it begins anew")


@case
def stream_may_begin_anew_at_any_node_while_somebody_waits():
    with Cluster("--loops", "1") as server:
        watches = [server.at(node).watch("a") for node in (0, 1)]
        for number in range(8):
            equal(server.at(number % 2).append("a", number), 1)
            for watch in watches:
                equal(watch.must_next(), (1, str(number).encode()), f"life {number}")
            equal(server.at(1 - number % 2).ask("DELETE", "/v1/streams/a").status, 204)
            for node, watch in enumerate(watches):
                watch.take_all()
                watches[node] = server.at(node).watch("a")
                watch.close()
        for watch in watches:
            watch.close()


# ---- work ----

@case
def turn_is_read_and_cancelled_at_another_node_than_it_runs_at():
    with Cluster(*SLOW) as server:
        for first in (0, 1):
            turn_id = new_turn(server.at(first), QUESTION)["id"]
            check_whole(server, turn_id, read_events(server.at(1 - first), turn_id))
    with Cluster(*VERY_SLOW) as server:
        for first in (0, 1):
            turn_id = new_turn(server.at(first), QUESTION)["id"]
            with TurnWatch(server.at(first), turn_id) as watch:
                watch.until("turn.started")
                equal(server.at(1 - first).ask("POST", f"/v1/turns/{turn_id}/cancel", (), b"").status, 202)
                watch.rest()
            equal(get_turn(server, turn_id)["status"], "failed")


def call(server, method, value=None):
    answer = server.ask("POST", f"/rpc/{method}", JSON_FIELDS, to_json({"json": value or {}}))
    equal(answer.status, 200, f"{method} ({answer.body[:300]!r})")
    return answer.json()["json"]


@case
def tool_that_is_allowed_at_one_node_runs_at_the_other():
    with Cluster() as server:
        for first in (0, 1):
            here, other = server.at(first), server.at(1 - first)
            sent = call(here, "chat/send", {"clientId": "tab", "text": f"Remember that I like tea no. {first}"})
            wait_until(lambda: call(other, "tools/listPending"), "it asks")
            asked = call(other, "tools/listPending")[0]
            call(other, "tools/approve", {"approvalId": asked["approvalId"], "clientId": "tab", "scope": "once"})
            wait_until(lambda: call(other, "sessions/list")["sessions"][0]["state"] == "idle", "it is done")
            equal(call(other, "sessions/list")["sessions"][0]["id"], sent["sessionId"])
            late = to_json({"json": {"approvalId": asked["approvalId"], "clientId": "tab"}})
            equal(here.ask("POST", "/rpc/tools/deny", JSON_FIELDS, late).status, 409)


def agents_until(watch, n):
    """The names in each mesh.changed, up to one of n nodes."""
    meshes = []
    while not meshes or len(meshes[-1]) != n:
        event = json.loads(watch.must_next(WAIT_S)[1])
        if event["type"] == "mesh.changed":
            meshes.append(sorted(agent["agentId"] for agent in event["agents"]))
    return meshes


def new_session(server):
    return call(server, "chat/send", {"clientId": "tab", "text": "Hello."})["sessionId"]


def watch_session(server, node, session):
    return Watch(server, f"/sse/sessions/{session}?lastEventId=0", port=server.nodes[node].own_port)


def knows_all(server, node):
    """Whether a node that has begun a moment ago tells a session of all others."""
    with watch_session(server, node, new_session(server.at(node))) as watch:
        event = json.loads(watch.must_next()[1])
        equal(event["type"], "mesh.changed", "the first event")
        return len(event["agents"]) == len(server.nodes)


@case
def nodes_that_come_and_go_are_told_once_to_a_session_that_is_read():
    with Cluster() as server:
        for node in (0, 1):
            wait_until(lambda node=node: knows_all(server, node), "they know each other")
        third = Node(server, 2)
        for path in pathlib.Path(server.data).glob("*.key"):
            shutil.copy(path, third.data)
        session = new_session(server)
        with watch_session(server, 0, session) as left, watch_session(server, 1, session) as right:
            seen = [agents_until(watch, 2) for watch in (left, right)]
            try:
                for number in (signal.SIGTERM, signal.SIGKILL):
                    third.spawn()
                    third.wait_listening()
                    seen = [seen[n] + agents_until(watch, 3) for n, watch in enumerate((left, right))]
                    third.child.send_signal(number)
                    seen = [seen[n] + agents_until(watch, 2) for n, watch in enumerate((left, right))]
                    third.child.wait()
            finally:
                third.end()
        equal(seen[0], seen[1], "what readers at two nodes saw")
        equal([len(mesh) for mesh in seen[0]], [2, 3, 2, 3, 2], "how many nodes there were")


@case
def subscription_is_woken_once_whichever_node_has_what():
    with Cluster() as server:
        for name in ("wakes", "work"):
            equal(server.ask("PUT", f"/v1/stream/{name}", JSON_FIELDS, b"").status, 201)
        wish = to_json({"type": "pull-wake", "streams": ["work"], "wake_stream": "wakes"})
        equal(server.at(1).ask("PUT", "/v1/stream/__ds/subscriptions/s", JSON_FIELDS, wish).status, 201)
        for number in range(1, 7):
            here, other = server.at(number % 2), server.at(1 - number % 2)
            equal(here.ask("POST", "/v1/stream/work", JSON_FIELDS, b"[1]").status // 100, 2)
            wait_until(lambda: len(other.ask("GET", "/v1/stream/wakes?offset=-1").json()) >= number, "it is woken")
            path = "/v1/stream/__ds/subscriptions/s"
            wake = other.ask("POST", f"{path}/claim", JSON_FIELDS, to_json({"worker": "w"})).json()
            done = {"wake_id": wake["wake_id"], "generation": wake["generation"], "done": True,
                    "acks": [{"stream": "work", "offset": f"{0:016d}_{number:016d}"}]}
            fields = [*JSON_FIELDS, ("Authorization", f"Bearer {wake['token']}")]
            equal(here.ask("POST", f"{path}/ack", fields, to_json(done)).status, 200)
            equal(len(here.ask("GET", "/v1/stream/wakes?offset=-1").json()), number, "wakes")


@case
def turns_of_a_killed_node_are_finished_by_another():
    with Cluster("--turn-pace", "200ms") as server:
        made = [new_turn(server.at(n % 2), QUESTION)["id"] for n in range(3)]
        with TurnWatch(server.at(1), made[0]) as watch:
            watch.until("turn.started")
        server.kill_node(0)
        begin = time.monotonic()
        for turn_id in made:
            events = read_events(server.at(1), turn_id)
            check_whole(server.at(1), turn_id, events, has_crashed=True)
        expect(time.monotonic() - begin < 60 * PATIENCE, "it took long")
        # It comes back to nothing to do, and says the same.
        server.start_node(0)
        for turn_id in made:
            equal(read_events(server.at(0), turn_id), read_events(server.at(1), turn_id))


@case
def turns_of_a_node_that_is_stopped_are_handed_over():
    with Cluster("--turn-pace", "200ms", "--lease", "120s") as server:
        made = [new_turn(server.at(n % 2), QUESTION)["id"] for n in range(3)]
        with TurnWatch(server.at(1), made[0]) as watch:
            watch.until("turn.started")
        server.nodes[0].child.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        for turn_id in made:
            check_whole(server.at(1), turn_id, read_events(server.at(1), turn_id), has_crashed=True)
        expect(time.monotonic() - begin < 60, "nobody waits for the lease of a node that has said that it goes")
        server.nodes[0].child.wait()
        server.start_node(0)


# ---- draining ----

def drain(node, *options):
    """Exit status, and what --json says. Nodes hear of each other within a moment of their start."""
    done = support.weir("serve", "--drain", "--json", "--data", node.data, *options)
    expect(done.stdout, "what it says", done.stderr)
    return done.returncode, json.loads(done.stdout)


NOTHING = {"turns": 0, "sessions": 0, "chats": 0, "imports": 0}


@case
def turn_that_waits_for_a_model_moves_away_from_a_node_that_is_drained():
    with Upstream() as upstream, Asking(config_of(upstream, "anthropic"), "--lease", "120s") as server:
        here, other = server.at(0), server.at(1)
        upstream.rules({"purpose": "data_science", "times": 1, "do": {"after": 1, "end": "stall"}})
        turn_id = new_turn(here, "What was my average resting heart rate in March 2025?")["id"]
        with TurnWatch(here, turn_id) as watch, here.watch("a") as reader:
            events = watch.until("turn.started")
            wait_until(lambda: any(call["n_deltas"] >= 1 for call in upstream.seen(purpose="data_science")), "the model is slow")
            begin = time.monotonic()
            equal(drain(server), (0, {"drained": True, "others": True, **NOTHING}))
            refused(here.ask("GET", "/readyz"), 503, "shutting_down")
            equal(other.ask("GET", "/readyz").status, 200, "the other node")
            events += watch.rest()
            check_whole(here, turn_id, events, has_crashed=True)
            equal(events, read_events(other, turn_id), "at the other node")
            equal(get_turn(other, turn_id)["status"], "completed")
            expect(time.monotonic() - begin < 60, "nobody waits for a lease")
            # Readers stay, and appends are taken.
            equal(here.append("a", 1), 1)
            equal(reader.must_next(), (1, b"1"))
        equal(drain(server, "--wait", "0"), (0, {"drained": True, "others": True, **NOTHING}))
        server.nodes[0].child.send_signal(signal.SIGTERM)
        equal(server.nodes[0].child.wait(), 0, "exit status of the node")
        equal(other.ask("GET", "/readyz").status, 200)
        server.start_node(0)
        equal(server.at(0).ask("GET", "/readyz").status, 200, "one that was started again")


def begun_at(node):
    return {kind: float(re.search(rf"^weir_{kind}_begun_total (\S+)$", node.metrics(), re.M)[1])
            for kind in ("turns", "sessions", "chats")}


@case
def what_is_begun_at_a_drained_node_is_run_by_another():
    with Cluster("--lease", "120s") as server:
        here, other = server.at(0), server.at(1)
        wait_until(lambda: drain(server)[1]["others"], "the other is known")
        before = [begun_at(node) for node in (here, other)]
        for path, body in (("/v1/turns", {"stream": False, **body_of("thanks!")}),
                           ("/ai/chat", {"stream": False, "messages": [{"role": "user", "content": "hello"}]})):
            answer = here.ask("POST", path, JSON_FIELDS, to_json(body))
            equal(answer.status, 200, answer.body)
        call(here, "chat/send", {"clientId": "tab", "text": "hello"})
        wait_until(lambda: call(here, "sessions/list")["sessions"][0]["state"] == "idle", "it is done")
        equal(begun_at(here), before[0], "what it has begun itself")
        equal(begun_at(other), {kind: n + 1 for kind, n in before[1].items()}, "at the other node")


@case
def session_that_waits_for_somebody_moves_away_and_goes_on():
    with Cluster("--lease", "120s") as server:
        here, other = server.at(0), server.at(1)
        call(here, "chat/send", {"clientId": "tab", "text": "Remember that I like tea"})
        wait_until(lambda: call(here, "tools/listPending"), "it asks")
        status, said = drain(server)
        equal((status, said["sessions"]), (0, 0), said)
        server.nodes[0].child.send_signal(signal.SIGTERM)
        equal(server.nodes[0].child.wait(), 0)
        asked = call(other, "tools/listPending")[0]
        call(other, "tools/approve", {"approvalId": asked["approvalId"], "clientId": "tab", "scope": "once"})
        wait_until(lambda: call(other, "sessions/list")["sessions"][0]["state"] == "idle", "it is done")
        server.start_node(0)


@case
def import_at_a_drained_node_is_done_by_another():
    with Cluster("--lease", "120s") as server:
        csv = [("Content-Type", "text/csv")]
        # Long enough to be under way when it is given away.
        n_rows = 40000
        rows = "".join(f"2023-01-{1 + n % 28:02} {n // 28 % 24:02}:{n // 672 % 60:02}:00,{50 + n % 60}\n" for n in range(n_rows))

        def ended(made):
            seen = server.at(1).ask("GET", made.field("location")).json()
            return seen if seen["status"] != "running" else None

        def post():
            made = server.at(0).ask("POST", "/v1/data/imports?name=heart.csv", csv, f"timestamp,heart_rate\n{rows}".encode())
            equal(made.status, 202, made.body)
            return made
        made = post()
        wait_until(lambda: drain(server)[1]["others"], "the other is known")
        for one in (made, None):
            one = one or post()
            seen = wait_until(lambda one=one: ended(one), "the import has ended")
            equal((seen["status"], seen["summary"]["new"] + seen["summary"]["duplicates"]), ("completed", n_rows), seen)
        left = [path.name for path in pathlib.Path(server.data, "imports").glob("*")]
        wait_until(lambda: not any(pathlib.Path(server.data, "imports").glob("*")), f"files that are left: {left}")


@case
def node_that_is_drained_with_nobody_else_begins_nothing():
    with Cluster(*VERY_SLOW) as server:
        here = server.at(0)
        wait_until(lambda: drain(server)[1]["others"], "the other is known")
        server.kill_node(1)
        wait_until(lambda: not drain(server)[1]["others"], "the other is known to be dead")
        answer = post_turn(here, body_of("thanks!"))
        refused(answer, 503, "shutting_down")
        expect(int(answer.field("retry-after")) > 0, "Retry-After")
        for path, body in (("/ai/chat", {"messages": [{"role": "user", "content": "hi"}]}),
                           ("/v1/data/imports?name=steps.csv", {})):
            refused(here.ask("POST", path, JSON_FIELDS, to_json(body)), 503, "shutting_down")
        sent = here.ask("POST", "/rpc/chat/send", JSON_FIELDS, to_json({"json": {"clientId": "tab", "text": "hi"}}))
        equal((sent.status, sent.field("retry-after")), (503, answer.field("retry-after")))
        equal(call(here, "sessions/list")["sessions"], [], "what only looks goes on")
        equal(here.append("a", 1), 1, "events are taken")
        server.start_node(1)
        wait_until(lambda: post_turn(here, body_of("thanks!")).status == 201, "somebody takes it")


@case
def node_that_was_paused_past_its_lease_adds_nothing():
    with Cluster("--turn-pace", "200ms") as server:
        made = [new_turn(server.at(n % 2), QUESTION)["id"] for n in range(3)]
        with TurnWatch(server.at(1), made[0]) as watch:
            watch.until("turn.started")
        server.child.send_signal(signal.SIGSTOP)
        try:
            ends = {turn_id: read_events(server.at(1), turn_id) for turn_id in made}
        finally:
            server.child.send_signal(signal.SIGCONT)
        for turn_id, events in ends.items():
            check_whole(server.at(0), turn_id, events, has_crashed=True)
            equal(read_events(server.at(0), turn_id), events, "at the node that was paused")
        whole = new_turn(server.at(0), QUESTION)["id"]
        check_whole(server, whole, read_events(server.at(1), whole), has_crashed=True)


# ---- limits ----

@case
def three_turns_of_a_user_are_three_over_all_nodes():
    with Cluster(*VERY_SLOW) as server:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: post_turn(server.at(n % 2), body_of("thanks!")), range(8)))
        equal(sorted(answer.status for answer in answers), [201] * 3 + [429] * 5)
        for node in (0, 1):
            refused(post_turn(server.at(node), body_of("one more")), 429, "concurrency_limit_exceeded")
        made = [answer.json()["id"] for answer in answers if answer.status == 201]
        equal(server.at(1).ask("POST", f"/v1/turns/{made[0]}/cancel", (), b"").status, 202)
        wait_until(lambda: get_turn(server.at(0), made[0])["status"] == "failed", "it is cancelled")
        equal(post_turn(server.at(0), body_of("thanks!")).status, 201, "a place that is free again")


@case
def request_that_comes_to_two_nodes_at_once_is_done_once():
    with Cluster("--user-turns", "100", "--turn-pace", "50ms") as server:
        for number in range(10):
            fields = [("Idempotency-Key", f"key-{number}")]
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                answers = list(pool.map(lambda n, fields=fields: post_turn(server.at(n % 2), body_of("thanks!"), fields), range(4)))
            equal({answer.status for answer in answers}, {201}, [answer.body[:200] for answer in answers])
            equal(len({answer.json()["id"] for answer in answers}), 1, "turns of one request")
        page = server.ask("GET", "/v1/turns?limit=100").json()
        equal(len(page["data"]), 10, "turns")


@case
def rate_of_a_key_is_one_over_all_nodes():
    with Cluster(is_open=False) as server:
        fields = fields_for(server, "ann", "--rate", "1/h", "--burst", "4")
        seen = [server.at(n % 2).ask("GET", "/v1/turns", fields).status for n in range(12)]
        # Between two rounds a node may let its part of what was left pass: half of it, and one.
        expect(4 <= seen.count(200) <= 4 + 4 // 2 + 1, "requests that were let through", seen)
        equal(seen[-2:], [429, 429])


@case
def key_that_one_node_makes_or_takes_back_is_so_at_all():
    with Cluster(is_open=False) as server:
        fields = fields_for(server, "ann")
        for node in (1, 0):
            equal(server.at(node).ask("GET", "/v1/turns", fields).status, 200)


# ---- the database ----

@case
def database_that_is_away_is_503_and_loses_nothing():
    with Cluster() as server, server.at(1).watch("a") as watch:
        equal(server.at(0).append("a", 1), 1)
        watch.must_next()
        database().kill()
        try:
            for node in (0, 1):
                answer = server.at(node).ask("POST", "/v1/streams/a", JSON_FIELDS, b'"lost"')
                refused(answer, 503, "storage_unavailable")
                expect(int(answer.field("retry-after")) > 0, "Retry-After")
                wait_until(lambda node=node: server.at(node).ask("GET", "/readyz").status == 503, "/readyz says so")
                equal(server.at(node).ask("GET", "/healthz").status, 200, "it lives")
        finally:
            database().start()

        def appended():
            answer = server.at(0).ask("POST", "/v1/streams/a", JSON_FIELDS, b"2")
            return answer.json()["id"] if answer.status == 201 else None
        equal(wait_until(appended, "appends are taken again"), 2, "and nothing that was refused is there")
        equal(watch.must_next(), (2, b"2"), "a reader that stayed")
        for node in (0, 1):
            wait_until(lambda node=node: server.at(node).ask("GET", "/readyz").status == 200, "it is ready")


def metric_of(node, name):
    return float(re.search(rf"^weir_pg_{name} (\S+)$", node.metrics(), re.M)[1])


@case
def metrics_of_a_node_tell_how_it_gets_on_with_the_database():
    with Cluster() as server, server.at(1).watch("a") as watch:
        for number in range(1, 4):
            server.at(0).append("a", number)
            watch.must_next()
        for node in (server.at(0), server.at(1)):
            values = {name: metric_of(node, name) for name in ("away", "listening", "busy_total", "lost_total")}
            equal(values, {"away": 0, "listening": 1, "busy_total": 0, "lost_total": 0})
            expect(metric_of(node, "connects_total") == metric_of(node, "listens_total") == 1, "connections")
            expect(metric_of(node, "reading") <= metric_of(node, "reading_max") > 1, "connections that read")
        expect(metric_of(server.at(1), "notifications_total") >= 3, "notifications")
        expect(metric_of(server.at(1), "fetches_total") >= 1, "fetches of what the other wrote")
        n_lost = metric_of(server.at(1), "news_lost_total")
        gone = database().sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                              "WHERE application_name IN ('weir', 'weir listener')")
        expect(int(gone[0][0]) >= 4, "connections of two nodes", gone)
        for node in (server.at(0), server.at(1)):
            wait_until(lambda node=node: metric_of(node, "connects_total") > 1 and metric_of(node, "listens_total") > 1,
                       "it has connected again")
            wait_until(lambda node=node: metric_of(node, "listening") == 1 and metric_of(node, "away") == 0, "all is well")
            expect(metric_of(node, "lost_total") >= 1, "a connection that was lost")
        wait_until(lambda: metric_of(server.at(1), "news_lost_total") > n_lost, "it was deaf for a moment")
        server.at(0).append("a", 4)
        equal(watch.must_next(), (4, b"4"))


@case
def nodes_that_change_the_same_thing_are_counted():
    with Cluster("--user-turns", "100", "--turn-pace", "50ms") as server:
        def conflicts():
            return sum(metric_of(server.at(node), "conflicts_total") for node in (0, 1))

        def in_each_others_way():
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda n: server.at(n % 2).append("a", n), range(40)))
            return conflicts() > 0
        wait_until(in_each_others_way, "a batch is decided again")


@case
def database_that_is_away_shows_in_the_metrics():
    with Cluster() as server:
        database().kill()
        try:
            for node in (server.at(0), server.at(1)):
                wait_until(lambda node=node: metric_of(node, "away") == 1 and metric_of(node, "listening") == 0, "it is away")
        finally:
            database().start()
        for node in (server.at(0), server.at(1)):
            wait_until(lambda node=node: metric_of(node, "away") == 0 and metric_of(node, "listening") == 1, "it is back")


@case
def turn_waits_for_a_database_that_is_away():
    with Cluster("--turn-pace", "100ms") as server:
        made = [new_turn(server.at(node), QUESTION)["id"] for node in (0, 1)]
        with TurnWatch(server.at(0), made[0]) as watch:
            watch.until("turn.started")
        database().kill()
        database().start()
        for turn_id in made:
            check_whole(server, turn_id, read_through_restarts(server, turn_id), has_crashed=True)


@case
def database_of_a_newer_version_is_taken_one_step_ahead_and_no_further():
    with Cluster() as server:
        server.append("a", 1)
        server.stop()
        name = database_of(server.data).rsplit("/", 1)[1]
        database().sql("UPDATE weir.meta SET version = version + 1", name)
        server.start()
        equal(server.append("a", 2), 2)
        server.stop()
        database().sql("UPDATE weir.meta SET version = version + 1", name)
        try:
            server.start()
            raise AssertionError("it started")
        except Failure as problem:
            expect("version" in str(problem) or "newer" in str(problem), "what it says", problem)
        database().sql("UPDATE weir.meta SET version = version - 2", name)
        server.start()


@case
def nodes_with_different_key_files_are_refused():
    with Cluster() as server:
        other = Node(server, 9)
        for path in pathlib.Path(server.data).glob("*.key"):
            shutil.copy(path, other.data)
        path = pathlib.Path(other.data, "shield.key")
        words = path.read_bytes()
        path.write_bytes((b"B" if words.startswith(b"A") else b"A") + words[1:])
        other.spawn()
        try:
            expect(other.wait() != 0, "it started with another key", other.errors())
            expect("shield.key" in other.errors(), "what it says", other.errors())
        finally:
            other.end()


if __name__ == "__main__":
    main()
