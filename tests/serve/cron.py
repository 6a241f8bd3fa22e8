#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/cron.py [CASE...]

Scheduled prompts of a server that is stopped, killed and given other times of day: each runs once for
each time it is due, whatever else happens. And shortcuts, which are proposed once.
"""
import contextlib
import datetime
import random
import time

from session_support import LateClock, SessionServer, read_until
from support import Closed, case, equal, expect, main, wait_until

HOUR_MS = 3600 * 1000
DAY_MS = 24 * HOUR_MS
N_JOBS, N_SESSIONS = 1000, 100


class Noon(LateClock):
    """It is noon when this is made, so that no night comes while a case runs but those that it makes."""

    def __init__(self):
        super().__init__()
        self._noon_ms = (DAY_MS // 2 - time.time() * 1000) % DAY_MS
        self.set_behind_noon(0)

    def set_behind_noon(self, ms):
        self.set(self._noon_ms + ms)


def nightly(server, **members):
    return server.must("cron/create", {"schedule": "0 3 * * *", "text": "Say good morning.", **members})["job"]


def events_of(server, session):
    """All events of a session that is idle."""
    wait_until(lambda: server.must("sessions/get", {"id": session})["session"]["state"] == "idle", "it is idle")
    # A message of our own is the last thing that happens.
    _, turn = server.send("That is all.", session)
    seen = []
    with server.stream(session) as stream:
        while True:
            events = read_until(stream, ("done", "error"))
            seen += [event for _, event in events]
            if any(event.get("traceId") == turn for event in seen):
                return seen


def fired_in(server, session):
    return [event["jobId"] for event in events_of(server, session) if event["type"] == "cron.fired"]


@case
def what_was_missed_happens_once_at_the_next_start():
    clock = Noon()
    with SessionServer(env=clock.env) as server:
        job = nightly(server)
        for days in (1, 5):
            server.kill()
            clock.set(clock.offset_ms + days * DAY_MS)
            server.start()
            server.whole(job["sessionId"], "cron.fired", n=1 if days == 1 else 2)
        equal(fired_in(server, job["sessionId"]), [job["id"]] * 2, "fired")
        [job] = server.must("cron/list")["jobs"]
        due = datetime.datetime.fromisoformat(job["nextRunAt"]).timestamp() * 1000 - clock.now_ms()
        expect(0 < due <= DAY_MS, "the next one is tonight", job, due)
        # A server that starts again has nothing to make up for.
        server.restart()
        equal(fired_in(server, job["sessionId"]), [job["id"]] * 2, "fired")


@case
def a_clock_that_is_set_back_runs_nothing_again():
    clock = Noon()
    with SessionServer(env=clock.env) as server:
        job = nightly(server)
        server.kill()
        clock.set_behind_noon(DAY_MS)
        server.start()
        server.whole(job["sessionId"], "cron.fired")
        # To before the time that it ran at, the day before and in that night, and to behind it.
        for offset_ms in (0, DAY_MS - 10 * HOUR_MS, DAY_MS - HOUR_MS, DAY_MS):
            server.kill()
            clock.set_behind_noon(offset_ms)
            server.start()
            equal(fired_in(server, job["sessionId"]), [job["id"]], "fired")


@case
def a_clock_that_jumps_is_noticed():
    clock = Noon()
    with SessionServer(env=clock.env) as server:
        job = nightly(server)
        clock.set_behind_noon(3 * DAY_MS)
        server.whole(job["sessionId"], "cron.fired")
        equal(fired_in(server, job["sessionId"]), [job["id"]], "fired")


@case
def a_storm_fires_each_once_whatever_is_killed():
    clock = Noon()
    dice = random.Random(7)
    with SessionServer(env=clock.env) as server:
        sessions = [nightly(server)["sessionId"] for _ in range(N_SESSIONS)]
        for number in range(N_JOBS - N_SESSIONS):
            nightly(server, sessionId=sessions[number % N_SESSIONS])
        jobs = server.must("cron/list")["jobs"]
        equal(len(jobs), N_JOBS, "jobs")
        server.kill()
        clock.set_behind_noon(DAY_MS)
        for _ in range(4):
            server.start()
            n_left = sum(job["lastRunAt"] is None for job in server.must("cron/list")["jobs"])
            n = min(dice.randrange(1, N_JOBS // 5), n_left)
            wait_until(lambda wanted=n: (server.metric("weir_sessions_cron_fired_total") or 0) >= wanted, f"{n} are fired")
            server.kill()
        server.start()
        wait_until(lambda: all(job["lastRunAt"] for job in server.must("cron/list")["jobs"]), "all are fired")
        for session in sessions:
            wanted = sorted(job["id"] for job in jobs if job["sessionId"] == session)
            equal(sorted(fired_in(server, session)), wanted, "each once")


@case
def a_prompt_that_is_aborted_has_run():
    clock = Noon()
    with SessionServer(env=clock.env) as server:
        job = nightly(server, text="Use the tool that asks me whether it may: remember that I like tea.")
        server.kill()
        clock.set_behind_noon(DAY_MS)
        server.start()
        session = job["sessionId"]
        with server.stream(session) as stream:
            read_until(stream, ("tool.approval_required", "cron.fired"))
            server.must("chat/abort", {"sessionId": session})
        equal(fired_in(server, session), [job["id"]], "fired")


@case
def with_a_session_its_prompts_go():
    with SessionServer() as server:
        gone, other = nightly(server), nightly(server)
        more = [nightly(server, sessionId=gone["sessionId"]) for _ in range(3)]
        server.must("sessions/delete", {"id": gone["sessionId"]})
        wait_until(lambda: [job["id"] for job in server.must("cron/list")["jobs"]] == [other["id"]], "the others are gone")
        for job in (gone, *more):
            equal(server.call("cron/delete", {"id": job["id"]}).status, 404)


@case
def a_shortcut_is_proposed_once_wherever_its_turn_is_killed():
    for point in ("step", "output", "end", "kept"):
        with SessionServer() as server:
            session, _ = server.send("Tell me a story about 3 rivers.")
            server.whole(session, "done")
            server.send("Tell me a story about 4 rivers.", session)
            server.whole(session, "done", n=2)
            server.kill()
            server.env["WEIR_FAULT"] = f"{point}:1!"
            server.start()
            with contextlib.suppress(Closed, OSError):  # its turn may be killed before it is answered
                server.send("Tell me a story about twelve rivers.", session)
            server.wait_killed()
            del server.env["WEIR_FAULT"]
            server.start()
            server.whole(session, "done", n=3)
            proposed = [event for event in events_of(server, session) if event["type"] == "evolve.skill_pending"]
            skills = server.must("skills/list")["skills"]
            equal([event["skillId"] for event in proposed], [skill["id"] for skill in skills], f"killed at {point}")
            equal([skill["text"] for skill in skills], ["Tell me a story about twelve rivers."], f"killed at {point}")


@case
def what_a_shortcut_asks_brings_no_other():
    with SessionServer() as server:
        session = None
        for number in (3, 4, 5):
            session, _ = server.send(f"Tell me a story about {number} rivers.", session)
        server.whole(session, "done", 3)
        [skill] = server.must("skills/list")["skills"]
        server.must("skills/accept", {"id": skill["id"], "name": "story"})
        for number in (6, 7, 8):
            server.send(f"/story with {number} otters in the evening rain", session)
        server.whole(session, "done", 6)
        asked = [message["content"] for message in server.messages(session) if message["role"] == "user"]
        equal(asked[-1], "Tell me a story about 5 rivers. with 8 otters in the evening rain", "it was asked as it says")
        equal([one["id"] for one in server.must("skills/list")["skills"]], [skill["id"]])
        # The same words, said by somebody, count as they are.
        for number in (6, 7, 8):
            server.send(f"Tell me a story about 5 rivers. with {number} otters in the evening rain", session)
        server.whole(session, "done", 9)
        equal(len(server.must("skills/list")["skills"]), 2)


if __name__ == "__main__":
    main()
