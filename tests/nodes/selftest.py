#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/nodes/selftest.py [CASE...]

That the databases of postgres.py do what the tests of several nodes take for granted: a commit that
was told survives the primary, a cut is a silence, a full disk is one.
"""
import pathlib
import subprocess
import sys

from postgres import Postgres, Quorum, Site, Sql, SqlError
from support import case, equal, expect, main, wait_until

def is_refused(url):
    try:
        Sql(url).close()
    except SqlError:
        return True
    return False


@case
def server_keeps_what_was_committed_when_it_is_killed():
    with Postgres() as server:
        server.create_database("d")
        with Sql(server.url("d")) as sql:
            sql("CREATE TABLE t (a int)")
            sql("INSERT INTO t VALUES (7)")
        server.kill()
        expect(is_refused(server.url("d")), "it is dead")
        server.start()
        equal(server.sql("SELECT a FROM t", "d"), [("7",)])
        expect(server.cpu_s() >= 0, "processor time")


@case
def servers_end_with_the_program_that_started_them():
    script = ("import os, signal, sys; sys.path.insert(0, sys.argv[1]); import postgres; server = postgres.Postgres().start(); "
              "print(server.folder, server.child.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)")
    done = subprocess.run([sys.executable, "-c", script, str(pathlib.Path(__file__).resolve().parent)], stdout=subprocess.PIPE, check=False)
    folder, pid = done.stdout.decode().split()
    def is_gone():
        return subprocess.run(["kill", "-0", pid], stderr=subprocess.DEVNULL, check=False).returncode != 0
    wait_until(is_gone, "it has ended")
    subprocess.run(["rm", "-rf", folder], check=True)


@case
def quorum_outlives_its_primary_and_gets_it_back():
    with Quorum() as quorum:
        quorum.create_database("d")
        with Sql(quorum.url("d")) as sql:
            sql("CREATE TABLE t (a int)")
        for number in range(2):
            with Sql(quorum.url("d")) as sql:
                sql(f"INSERT INTO t VALUES ({number})")
            quorum.primary.kill()
            dead = quorum.fail_over()
            with Sql(quorum.url("d")) as sql:
                equal(sql.one("SELECT count(*) FROM t"), str(number + 1), "rows after the primary's death")
            quorum.rebuild(dead)


@case
def link_that_is_cut_is_silent_for_its_node_alone():
    with Site(2) as site, Postgres(site=site) as server:
        server.create_database("d")
        urls = [f"{server.url('d', node=node)}?connect_timeout=2" for node in range(2)]
        with Sql(urls[0]) as sql:
            site.cut(0)
            expect(is_refused(urls[0]), "connected through a link that is cut")
            expect(not is_refused(urls[1]), "the other link was cut, too")
            site.mend(0)
            equal(sql.one("SELECT 1"), "1", "a connection that was silent")


@case
def full_disk_fails_commits_and_free_again_takes_them():
    with Site(1) as site, Postgres(site=site) as server:
        server.create_database("d")
        with Sql(server.url("d")) as sql:
            sql("CREATE TABLE t AS SELECT 1 AS a")
            site.fill(server.disk)
            try:
                while True:
                    sql("INSERT INTO t SELECT generate_series(1, 10000)")
            except SqlError as problem:
                expect(problem.state.startswith(("53", "08", "57")), "why", problem.state, problem)
        site.free(server.disk)

        def again():
            """It may have ended for good: nothing can be recovered on a full disk."""
            if not server.is_running():
                server.spawn()
            try:
                return int(server.sql("SELECT count(*) FROM t", "d")[0][0])
            except SqlError:
                return None
        expect(wait_until(again, "it is back") % 10000 == 1, "statements are whole")


@case
def paused_server_is_silent_and_goes_on():
    with Postgres() as server:
        with Sql(server.url("postgres")) as sql:
            server.pause()
            expect(not Sql.is_ready(f"{server.url('postgres')}?connect_timeout=2"), "it answers")
            server.resume()
            equal(sql.one("SELECT 1"), "1")


if __name__ == "__main__":
    main()
