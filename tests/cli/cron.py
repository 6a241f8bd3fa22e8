#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/cron.py [WEIR]

`weir cron` and `weir skills` from outside: alone, with a server on the folder, and over the network.
"""
import json
import re
import subprocess
import sys
import tempfile

from support import Counter, program, run

QUESTION = "Please write a poem about the {} of {} rivers"
WALL = r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ [A-Z][a-z]{2} \d{4} \d\d:\d\d"


class Tests:
    def __init__(self, weir, folder, count):
        self.weir, self.folder, self.count = weir, folder, count
        self.options = ["--data", folder]
        self.env = {"XDG_CONFIG_HOME": folder + "/none", "WEIR_URL": "", "WEIR_KEY": "", "WEIR_DATA": "",
                    "WEIR_KEEP": "no", "TZ": "Europe/Berlin"}

    def run(self, *arguments):
        return run(self.weir, *arguments, *self.options, env=self.env)

    def lines(self, *arguments):
        return [json.loads(line) for line in self.run(*arguments, "--json").out.splitlines()]

    def check(self, claim, text, result):
        self.count.check(claim, text, f"{result.code} {result.out.decode()} {result.err}")

    def check_cron(self, where):
        """Leaves nothing in it."""
        none = self.run("cron")
        self.check(none.code == 0 and b"no scheduled prompts" in none.out, f"{where}: none yet", none)
        added = self.run("cron", "add", "--zone", "Asia/Tokyo", "--name", "nights", "30 7 * * MON-FRI",
                         "How did", "I sleep?")
        rows = added.out.decode().splitlines()
        self.check(added.code == 0 and re.fullmatch(r"cron_[0-9A-Z]{26}", rows[0])
                   and re.fullmatch(r"in ses_[0-9A-Z]{26}, next by the clock of Asia/Tokyo:", rows[1])
                   and len(rows) == 5 and all(re.fullmatch(rf"  in \d+ (min|h|days), {WALL}", row) for row in rows[2:])
                   and all(row.endswith(" 07:30") for row in rows[2:]), f"{where}: the next three runs", added)
        session = rows[1].split()[1].rstrip(",")
        job = self.lines("cron", "add", "@daily", "/nights", "--session", session)[0]["job"]
        self.count.check(job["sessionId"] == session and job["timezone"] == "UTC" and job["name"] is None,
                         f"{where}: in the same session", str(job))
        jobs = self.lines("cron", "list")
        self.count.check([j["id"] for j in jobs] == [rows[0], job["id"]] and jobs[0]["text"] == "How did I sleep?"
                         and jobs[0]["name"] == "nights" and jobs[0]["lastRunAt"] is None,
                         f"{where}: a list", str(jobs))
        table = self.run("cron")
        self.check(table.code == 0 and rows[0].encode() in table.out and b"Asia/Tokyo" in table.out
                   and re.search(WALL, table.out.decode()), f"{where}: a table", table)
        self.check(re.search(r" 07:30 +30 7 \* \* MON-FRI +Asia/Tokyo ", table.out.decode()),
                   f"{where}: the next run by the clock of its zone", table)
        for schedule, zone, why in (("0 0 30 2 *", "UTC", "never comes"), ("@daily", "Moon/Sea", "Moon/Sea")):
            bad = self.run("cron", "add", schedule, "x", "--zone", zone)
            self.check(bad.code == 1 and why in bad.err and not bad.out, f"{where}: {why}", bad)
        lost = self.run("cron", "add", "@daily", "x", "--session", "ses_" + "0" * 26)
        self.check(lost.code == 1 and lost.err, f"{where}: a session that is not there", lost)
        removed = self.run("cron", "remove", rows[0], rows[0])
        self.check(removed.code == 1 and b"1 scheduled prompt removed" in removed.out and removed.err,
                   f"{where}: removed once", removed)
        removed = self.run("cron", "remove", rows[0])
        self.check(removed.code == 1 and not removed.out and "there is no scheduled prompt" in removed.err,
                   f"{where}: nothing was removed", removed)
        removed = self.run("cron", "remove", job["id"], "--json")
        self.check(json.loads(removed.out) == {"removed": 1}, f"{where}: as JSON", removed)

    def ask(self, session, n):
        words = ["new"] if session is None else ["send", session]
        sent = self.run("session", *words, QUESTION.format("depth", n), "--watch")
        self.check(sent.code == 0, "a question is answered", sent)
        return self.lines("session", "list")[0]["id"]

    def check_skills(self, where):
        """Leaves one that was accepted."""
        session = None
        for n in (3, 7, "twelve"):
            self.count.check(self.lines("skills") == [], f"{where}: nothing is proposed before")
            session = self.ask(session, n)
        skill = self.lines("skills")[0]
        self.count.check(skill["state"] == "pending" and skill["text"] == QUESTION.format("depth", "twelve"),
                         f"{where}: the third is proposed", str(skill))
        table = self.run("skills")
        self.check(skill["id"].encode() in table.out and b"/" + skill["name"].encode() in table.out,
                   f"{where}: a table", table)
        accepted = self.run("skills", "accept", skill["id"], "--name", "poem")
        self.check(accepted.code == 0 and b'"/poem"' in accepted.out, f"{where}: accepted", accepted)
        ran = self.run("session", "send", session, "/poem in French", "--watch")
        shown = self.run("session", "show", session)
        self.check(ran.code == 0 and (QUESTION.format("depth", "twelve") + " in French").encode() in shown.out,
                   f"{where}: it runs by its name", shown)
        gone = self.run("skills", "accept", "skl_" + "0" * 26)
        self.check(gone.code == 1 and gone.err, f"{where}: one that is not there", gone)

    def check_rejected(self, where):
        skill = self.lines("skills")[0]
        rejected = self.run("skills", "reject", skill["id"], skill["id"])
        self.check(rejected.code == 1 and b"1 skill rejected" in rejected.out, f"{where}: rejected once", rejected)
        self.count.check(self.lines("skills") == [], f"{where}: it is gone")

    def check_usage(self):
        for arguments in (["cron", "nap"], ["cron", "add"], ["cron", "add", "@daily"], ["cron", "add", "x y", "text"],
                          ["cron", "remove"], ["cron", "remove", "../x"], ["cron", "list", "x"],
                          ["cron", "list", "--zone", "UTC"], ["cron", "--user", "a b"],
                          ["cron", "add", "@daily", b"\xff"],
                          ["skills", "nap"], ["skills", "accept"], ["skills", "accept", "a", "b"],
                          ["skills", "accept", "a", "--name", "A B"], ["skills", "reject", "a", "--name", "b"],
                          ["skills", "reject"], ["skills", "list", "x"], ["skills", "--user", "a b"]):
            result = self.run(*arguments)
            self.count.check(result.code == 2 and "--help" in result.err, f"usage of {arguments}", result.err)


def check_served(tests):
    server = subprocess.Popen([tests.weir, "serve", "--data", tests.folder, "--listen", "127.0.0.1:0"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        url = server.stdout.readline().decode().split()[-1]
        tests.check_cron("with a server")
        tests.check_skills("with a server")
        tests.check_rejected("with a server")
        key = tests.run("key", "create").out.decode().strip()
        tests.options = ["--url", url]
        tests.env["WEIR_KEY"] = key
        tests.check_cron("over the network")
    finally:
        server.terminate()
        server.wait()


def main():
    count = Counter()
    with tempfile.TemporaryDirectory(prefix="weir-cron-") as folder:
        tests = Tests(program(), folder, count)
        tests.check_usage()
        tests.check_cron("alone")
        check_served(tests)
    return count.finish()


sys.exit(main())
