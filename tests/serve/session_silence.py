#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/session_silence.py [--minutes N]

Ten real minutes in which nothing happens in a session. The public client dies of five minutes of
silence; comment lines keep it alive, over one connection, and nothing else comes. Then a turn comes
over that connection. The last line is "N passed, M failed".
"""
import argparse
import sys

from session_support import SessionServer, Tabs, check_session
from support import equal, expect, program

HEARTBEAT_S = 15
SLACK_S = 60


def run(minutes):
    with SessionServer() as server, Tabs(server) as tabs:
        session, _ = tabs.send("Hello.")
        tab = tabs.watch(session, reconnectMs=3000)
        tab.until("done")
        n_events = len(tab.events)
        n_wanted = minutes * 60 // HEARTBEAT_S

        def is_over(lines):
            expect(not any("closed" in line or "error" in line for line in lines), "it died", lines[-3:])
            return sum("comment" in line for line in lines) >= n_wanted

        tab.wait(is_over, f"{n_wanted} comment lines", minutes * 60 + SLACK_S)
        equal(len(tab.events), n_events, "events in silence")
        equal({line["comment"] for line in tab.lines if "comment" in line}, {"hb"}, "comments")
        tabs.send("Are you there?", session)
        tab.until("done")
        equal(len(check_session(tab.check())), 2, "turns")
        equal(sum("open" in line for line in tab.lines), 1, "connections")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--minutes", type=int, default=10)
    options = parser.parse_args()
    program()
    run(options.minutes)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    sys.exit(main())
