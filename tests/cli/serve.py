#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/serve.py [WEIR]

`weir serve` as a command, and `weir key` and `weir store` while it runs: what is printed
first, what keeps it from starting and what is said about it, keys that work at once and
stop at once, a check and a backup of a store that is in use. What it answers over HTTP is
tested in tests/serve.
"""
import http.client
import json
import os
import pwd
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.parse

from support import ROOT, Counter, program, run

WAIT_S = 60


class Server:
    """A server that listens; ends with the block, in good order."""

    def __init__(self, weir, folder, *options):
        self.folder = folder
        self.was_told = False
        self.errors = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            [weir, "serve", "--data", folder, "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors)
        ready, _, _ = select.select([self.child.stdout], [], [], WAIT_S)
        self.line = self.child.stdout.readline().decode() if ready else ""
        self.address = urllib.parse.urlsplit(self.line.removeprefix("listening on ").strip())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """A second signal would end it at once, so none is sent when there was one."""
        if self.child.poll() is None and not self.was_told:
            self.tell(signal.SIGTERM)
        try:
            self.child.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()

    def tell(self, number):
        self.was_told = True
        self.child.send_signal(number)

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def ask(self, method, path, value=None, key=None, **fields):
        """The status and the body of an answer."""
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port,
                                                timeout=WAIT_S)
        head = {name.replace("_", "-"): text for name, text in fields.items()}
        if key is not None:
            head["Authorization"] = f"Bearer {key}"
        body = None if value is None else json.dumps(value)
        if body is not None:
            head["Content-Type"] = "application/json"
        connection.request(method, path, body=body, headers=head)
        answer = connection.getresponse()
        result = answer.status, answer.read()
        connection.close()
        return result


def key_of(weir, folder, *options):
    return run(weir, "key", "create", "--data", folder, *options).out.decode().strip()


def check_first_line(weir, count, top):
    with Server(weir, os.path.join(top, "made", "here"), "--open") as server:
        count.check(server.address.scheme == "http" and server.address.hostname == "127.0.0.1" and
                    server.address.port and server.line.endswith("\n"),
                    "the first line says where it listens", repr(server.line))
        count.check(server.ask("GET", "/healthz") == (200, b"ok\n"), "it answers")
        status, answer = server.ask("POST", "/v1/streams/demo", {"hello": 1})
        count.check(status == 201 and json.loads(answer) == {"id": 1}, "it appends", f"{answer}")
    count.check(server.child.returncode == 0, "it ends in good order", server.said())


def check_stays(weir, count, top):
    """What was acknowledged is there after a restart."""
    folder = os.path.join(top, "stays")
    with Server(weir, folder, "--open") as server:
        for i in range(10):
            server.ask("POST", "/v1/streams/demo", i)
    with Server(weir, folder, "--open", "--durability", "normal") as server:
        status, answer = server.ask("GET", "/v1/streams/demo?live=false")
        wanted = "".join(f"id: {i + 1}\ndata: {i}\n\n" for i in range(10)).encode()
        count.check((status, answer) == (200, wanted), "a restart loses nothing", f"{answer}")


def check_keys(weir, count, top):
    folder = os.path.join(top, "keys")
    with Server(weir, folder) as server:
        count.check("weir key create" in server.said(), "without a key it says how to make one",
                    server.said())
        status, answer = server.ask("POST", "/v1/streams/demo", 1)
        count.check(status == 401 and b"missing_authorization" in answer, "no key, no answer")
        key = key_of(weir, folder)
        count.check(server.ask("POST", "/v1/streams/demo", 1, key)[0] == 201,
                    "a key works at once")
        reader = key_of(weir, folder, "--scopes", "read")
        count.check(server.ask("POST", "/v1/streams/demo", 1, reader)[0] == 403 and
                    server.ask("GET", "/v1/streams/demo?live=false", key=reader)[0] == 200,
                    "scopes hold")
        count.check(server.ask("GET", "/v1/keys", key=key)[0] == 403, "keys are for admins")
        slow = key_of(weir, folder, "--rate", "1/h", "--burst", "2")
        statuses = [server.ask("POST", "/v1/streams/demo", 1, slow)[0] for _ in range(3)]
        count.check(statuses == [201, 201, 429], "the rate holds", f"{statuses}")
        name = key.split("_")[1]
        listed = run(weir, "key", "list", "--data", folder)
        count.check(name in listed.out.decode() and key not in listed.out.decode(),
                    "the list has its name", listed.err)
        result = run(weir, "key", "revoke", name, "--data", folder)
        count.check(result.code == 0 and server.ask("POST", "/v1/streams/demo", 1, key)[0] == 401,
                    "a revoked key is refused at once", result.err)
        result = run(weir, "key", "revoke", "0123456789ab", "--data", folder)
        count.check(result.code == 1 and "no key" in result.err, "an unknown name is said",
                    result.err)
        result = run(weir, "key", "create", "--label", "x" * 63, "--owner", "ü" * 31, "--data",
                     folder)
        count.check(result.code == 0, "the longest label and owner are taken", result.err)
    with Server(weir, folder) as server:
        count.check(server.ask("POST", "/v1/streams/demo", 1, key)[0] == 401 and
                    server.ask("GET", "/v1/streams/demo?live=false", key=reader)[0] == 200 and
                    "weir key create" not in server.said(), "so it is after a restart")


def check_admin(weir, count, top):
    """Keys and checks over the network; a backup not."""
    folder = os.path.join(top, "admin")
    with Server(weir, folder) as server:
        admin = key_of(weir, folder, "--scopes", "admin")
        status, answer = server.ask("POST", "/v1/keys", {"label": "made", "scopes": ["read"]}, admin)
        made = json.loads(answer)
        count.check(status == 201 and made["key"].startswith("weir_" + made["name"]) and
                    made["scopes"] == ["read"], "an admin makes keys", f"{answer}")
        count.check(server.ask("GET", "/v1/streams/x?live=false", key=made["key"])[0] == 200,
                    "they work")
        for wrong in ([], {"label": 1}, {"scopes": []}, {"scopes": ["all"]}, {"rate": -1},
                      {"surprise": 1}, {"label": "a\nb"}, {"label": "x" * 64}, {"burst": 0.5}):
            status, answer = server.ask("POST", "/v1/keys", wrong, admin)
            count.check(status == 400, f"no key from {wrong}", f"{status} {answer}")
        status, answer = server.ask("GET", "/v1/keys", key=admin)
        names = [row["name"] for row in json.loads(answer)["keys"]]
        count.check(status == 200 and made["name"] in names and names == sorted(names) and
                    made["key"].encode() not in answer, "an admin lists keys", f"{answer}")
        count.check(server.ask("DELETE", f"/v1/keys/{made['name']}", key=admin)[0] == 204 and
                    server.ask("GET", "/v1/streams/x?live=false", key=made["key"])[0] == 401,
                    "an admin revokes keys")
        for name in ("0123456789ab", "x", "x" * 100):
            count.check(server.ask("DELETE", f"/v1/keys/{name}", key=admin)[0] == 404,
                        f"there is no key {name}")
        status, answer = server.ask("POST", "/v1/store/check", {}, admin)
        count.check(status == 200 and json.loads(answer)["wrong"] == 0, "an admin checks the store",
                    f"{answer}")
        status, answer = server.ask("POST", "/v1/store/backup", {"path": f"{top}/stolen"}, admin)
        count.check(status == 403 and not os.path.exists(f"{top}/stolen"),
                    "nobody writes files over the network", f"{answer}")


def check_store(weir, count, top):
    folder = os.path.join(top, "store")
    with Server(weir, folder, "--open") as server:
        for i in range(100):
            server.ask("POST", "/v1/streams/demo", i)
        result = run(weir, "store", "check", "--data", folder)
        count.check(result.code == 0 and b"nothing is wrong" in result.out, "check while it runs",
                    result.err)
        result = run(weir, "store", "check", "--json", "--data", folder)
        count.check(result.code == 0 and json.loads(result.out)["wrong"] == 0, "check in JSON",
                    result.err)
        copy = os.path.join(top, "copy")
        os.mkdir(copy)
        result = run(weir, "store", "backup", os.path.join(copy, "weir.db"), "--data", folder)
        count.check(result.code == 0, "backup while it runs", result.err)
        count.check(not [file for file in os.listdir(folder) if "backup" in file],
                    "nothing of it is left in the server's folder", f"{os.listdir(folder)}")
        result = run(weir, "store", "backup", os.path.join(copy, "weir.db"), "--data", folder)
        count.check(result.code == 1 and "File exists" in result.err, "it replaces nothing",
                    result.err)
        result = run(weir, "store", "backup", os.path.join(top, "no", "such"), "--data", folder)
        count.check(result.code == 1 and not [f for f in os.listdir(folder) if "backup" in f],
                    "a place that is not there is said, and nothing left", result.err)
        server.ask("POST", "/v1/streams/demo", "after the backup")
    with Server(weir, copy, "--open") as server:
        status, answer = server.ask("GET", "/v1/streams/demo?live=false")
        count.check(status == 200 and answer.count(b"id: ") == 100, "a backup can be served",
                    f"{answer[-100:]}")


def check_user(weir, count, top):
    """Root starts it for another user, and leaves no file that this user could not open."""
    if os.geteuid() != 0:
        count.skip("only root can become another user")
        return
    user = pwd.getpwnam("nobody")
    top = os.path.join(top, "user")
    os.mkdir(top)
    folder = os.path.join(top, "data")
    copies = [os.path.join(top, name) for name in ("online.db", "offline.db")]
    with Server(weir, folder, "--user", "nobody") as server:
        count.check(server.ask("GET", "/readyz")[0] == 200, "it serves as another user",
                    server.said())
        key = key_of(weir, folder)
        count.check(server.ask("POST", "/v1/streams/demo", 1, key)[0] == 201, "its keys work")
        result = run(weir, "store", "backup", copies[0], "--data", folder)
        count.check(result.code == 0, "a backup goes where only root may write", result.err)
    key_of(weir, folder)
    result = run(weir, "store", "backup", copies[1], "--data", folder)
    count.check(result.code == 0, "so it does without a server", result.err)
    count.check([os.stat(copy).st_uid for copy in copies] == [0, 0], "backups are the caller's")
    owners = {file: os.stat(os.path.join(folder, file)).st_uid for file in os.listdir(folder)}
    count.check(set(owners.values()) == {user.pw_uid} == {os.stat(folder).st_uid},
                "all in the folder is the server's", f"{owners}")
    with Server(weir, folder, "--user", "nobody") as server:
        count.check(server.ask("GET", "/readyz")[0] == 200, "it starts again", server.said())


def check_metrics(weir, count, top):
    with Server(weir, os.path.join(top, "metrics"), "--open") as server:
        server.ask("POST", "/v1/streams/demo", 1)
        server.ask("POST", "/v1/streams/demo", 1, Content_Type="text/plain")
        server.ask("GET", "/v1/nothing")
        status, page = server.ask("GET", "/metrics")
        lines = page.decode().splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        count.check(status == 200 and values.get("weir_store_events_total") == "2",
                    "appends are counted", page.decode()[:300])
        count.check(values.get('weir_errors_total{code="not_found"}') == "1",
                    "errors are counted by code")
        count.check(values.get('weir_answers_total{route="streams.append",class="2xx"}') == "2",
                    "answers are counted by route")
        for name in ("weir_connections", "weir_subscribers", "weir_store_batch_commits_count",
                     "weir_store_commit_seconds_sum", 'weir_fan_lag_seconds_bucket{le="+Inf"}',
                     "weir_fan_replay_bytes_total", "process_resident_memory_bytes",
                     "process_open_fds", "weir_keys", "weir_store_broken",
                     'weir_connections_closed_total{reason="peer_ended"}'):
            count.check(name in values, f"there is {name}", f"{sorted(values)[:200]}")
        count.check(float(values.get("process_resident_memory_bytes", 0)) > 1 << 20,
                    "memory is measured")
        heads = [line.split()[2] for line in lines if line.startswith("# TYPE")]
        count.check(len(heads) == len(set(heads)), "no metric is there twice")
        buckets = [int(values[name]) for name in values if name.startswith(
            "weir_store_commit_seconds_bucket")]
        commits = int(values["weir_store_commit_seconds_count"])  # one more: the server's own at its start
        count.check(buckets == sorted(buckets) and buckets[-1] == commits >= 2, "buckets add up", f"{buckets}")


def check_model_refusals(weir, count, top):
    """A file of models that is wrong is said with the place, and a key that others can read."""
    models = os.path.join(top, "models.json")
    key = os.path.join(top, "key")
    for path, text, mode in ((key, "sk-test-0123456789\n", 0o644), (models, "", 0o600)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
    role = {"provider": "a", "model": "m"}
    cases = [({"providers": {}, "rolls": {}}, "rolls: there is no such member"),
             ({"providers": {"a": {"type": "openai", "key_file": key}}, "roles": {"fast": role}},
              "chmod 600"),
             ({"providers": {"a": {"type": "openai", "key_env": "WEIR_TEST_NO_KEY"}},
               "roles": {"fast": role}}, "WEIR_TEST_NO_KEY")]
    for value, complaint in cases:
        with open(models, "w", encoding="utf-8") as file:
            json.dump(value, file)
        result = run(weir, "serve", "--open", "--data", top + "/m", "--listen", "127.0.0.1:0",
                     "--models", models)
        count.check(result.code == 1 and complaint in result.err and models in result.err and
                    "sk-test" not in result.err and result.out == b"", f"models: {complaint}",
                    f"{result.code} {result.err}")
    result = run(weir, "serve", "--open", "--data", top + "/m", "--listen", "127.0.0.1:0",
                 "--models", models, "--replay", top + "/nothing")
    count.check(result.code == 1 and "--replay" in result.err, "no cassettes", result.err)


def check_refusals(weir, count, top):
    """What keeps it from starting is said, with what to do."""
    with Server(weir, os.path.join(top, "first"), "--open") as server:
        result = run(weir, "serve", "--open", "--data", os.path.join(top, "second"), "--listen",
                     f"127.0.0.1:{server.address.port}")
        count.check(result.code == 1 and "--listen" in result.err and result.out == b"",
                    "a port that is taken", f"{result.code} {result.err}")
        result = run(weir, "serve", "--open", "--data", server.folder, "--listen", "127.0.0.1:0")
        count.check(result.code == 1 and "--data" in result.err and result.out == b"",
                    "a folder that is taken", f"{result.code} {result.err}")
        count.check(server.ask("GET", "/readyz")[0] == 200, "and the first goes on")
    file = os.path.join(top, "file")
    open(file, "w").close()
    for place in (file, "/proc/weir"):
        result = run(weir, "serve", "--open", "--data", place, "--listen", "127.0.0.1:0")
        count.check(result.code == 1 and place in result.err, f"no folder at {place}", result.err)
    check_model_refusals(weir, count, top)
    result = run(weir, "serve", "--open", "--data", top + "/x", "--listen", "0.0.0.0:0")
    count.check(result.code != 0 and "--open" in result.err, "no --open for everybody",
                f"{result.code} {result.err}")


def check_usage(weir, count):
    cases = [(["word"], "one word too many"), (["--nothing"], "no option --nothing"),
             (["--durability", "some"], "full or normal"), (["--log", "loud"], "text, json or off"),
             (["--loops", "0"], "--loops"), (["--loops", "x"], "--loops"),
             (["--grace", "soon"], "--grace takes a time"), (["--max-body", "1"], "--max-body"),
             (["--max-body", "1T"], "--max-body"), (["--max-head", "-1"], "--max-head"),
             (["--tls-cert", "x"], "go together"), (["--listen"], "needs a value"),
             (["--data", ""], "--data"), (["--listen", "a:1"] * 9, "--listen"),
             (["--record", "x"], "--models"), (["--replay", "x"], "--models"),
             (["--models", "m", "--record", "x", "--replay", "y"], "exclude each other"),
             (["--max-turn-usd", "much"], "0.50"), (["--max-turn-usd", "-1"], "0.50")]
    for words, complaint in cases:
        result = run(weir, "serve", *words, env={"WEIR_DATA": "/nonexistent/weir"})
        count.check(result.code == 2 and complaint in result.err and result.out == b"",
                    f"serve {words} is wrong usage", f"{result.code} {result.err}")
    result = run(weir, "serve", "--help")
    count.check(result.code == 0 and result.out.startswith(b"usage: weir serve"), "it helps")
    longest = max(len(line) for line in result.out.decode().splitlines())
    count.check(longest <= 90, "its help fits a terminal", f"{longest} columns")


def check_documents(weir, count, top):
    """Options, metrics and reasons are all in docs/serve.md, and the options in the manual."""
    guide = (ROOT / "docs" / "serve.md").read_text()
    manual = (ROOT / "man" / "weir-serve.1").read_text()
    options = re.findall(r"--([a-z-]+)", run(weir, "serve", "--help").out.decode())
    for option in sorted(set(options) - {"json", "help"}):
        count.check(f"--{option}" in guide, f"docs/serve.md has --{option}")
        count.check(f"Fl Fl {option}" in manual, f"weir-serve(1) has --{option}")
    with Server(weir, os.path.join(top, "documents"), "--open") as server:
        page = server.ask("GET", "/metrics")[1].decode()
    for metric in re.findall(r"^# TYPE (\S+)", page, re.M):
        count.check(f"`{metric}" in guide, f"docs/serve.md has {metric}")
    for reason in re.findall(r'reason="(\w+)"', page):
        count.check(f"`{reason}`" in guide, f"docs/serve.md has the reason {reason}")


def check_signals(weir, count, top):
    for name in ("SIGTERM", "SIGINT"):
        with Server(weir, os.path.join(top, name), "--open") as server:
            with socket.create_connection((server.address.hostname, server.address.port)) as idle:
                idle.sendall(b"GET /v1/streams/demo HTTP/1.1\r\nHost: localhost\r\n\r\n")
                idle.settimeout(WAIT_S)
                head = idle.recv(4096)
                server.tell(getattr(signal, name))
                rest = b""
                while piece := idle.recv(4096):
                    rest += piece
            count.check(head.startswith(b"HTTP/1.1 200") and (head + rest).endswith(b"0\r\n\r\n"),
                        f"{name} ends streams properly", f"{head + rest}")
        count.check(server.child.returncode == 0, f"{name} ends it with 0",
                    f"{server.child.returncode} {server.said()}")


def check_drain(weir, count, top):
    """One server alone: nobody takes its work, so that ends there, and nothing is begun."""
    folder = os.path.join(top, "drain")
    question = {"messages": [{"role": "user", "content": "thanks!"}]}
    with Server(weir, folder, "--open", "--turn-pace", "1m", "--grace", "1s") as server:
        status, answer = server.ask("POST", "/v1/turns", question)
        turn = json.loads(answer)["id"]
        count.check(server.ask("POST", "/v1/drain", {})[0] == 403 and
                    server.ask("GET", "/readyz")[0] == 200, "nobody drains it over the network")
        result = run(weir, "serve", "--drain", "--data", folder, "--wait", "300ms", "--json")
        wanted = {"drained": False, "others": False, "turns": 1, "sessions": 0, "chats": 0, "imports": 0}
        count.check(result.code == 1 and json.loads(result.out) == wanted and "1 turn" in result.err,
                    "what is left when the time is over", f"{result.out} {result.err}")
        count.check(server.ask("GET", "/readyz")[0] == 503 and server.ask("GET", "/healthz")[0] == 200,
                    "it lives and is not ready")
        status, answer = server.ask("POST", "/v1/turns", question)
        count.check(status == 503 and b"shutting_down" in answer, "no new turn", f"{answer}")
        count.check(server.ask("POST", "/v1/streams/demo", 1)[0] == 201 and
                    server.ask("GET", "/v1/streams/demo?live=false")[0] == 200, "streams go on")
        server.ask("POST", f"/v1/turns/{turn}/cancel")
        result = run(weir, "serve", "--drain", "--data", folder)
        count.check(result.code == 0 and b"no work is left" in result.out and "no other server" in result.err,
                    "it waits for the end of what is under way", f"{result.out} {result.err}")
    count.check(server.child.returncode == 0, "SIGTERM ends it", server.said())
    with Server(weir, folder, "--open") as server:
        count.check(server.ask("GET", "/readyz")[0] == 200, "the next one is ready")
    result = run(weir, "serve", "--drain", "--data", folder)
    count.check(result.code == 1 and "no server runs" in result.err, "there is none to be drained", result.err)
    for words in (("--wait", "1"), ("--json",), ("--drain", "--open"), ("--drain", "--listen=127.0.0.1:0")):
        result = run(weir, "serve", "--data", folder, *words)
        count.check(result.code == 2 and "--drain" in result.err, f"wrong usage: {words}", result.err)


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)  # for check_user
        check_first_line(weir, count, top)
        check_stays(weir, count, top)
        check_keys(weir, count, top)
        check_admin(weir, count, top)
        check_store(weir, count, top)
        check_user(weir, count, top)
        check_metrics(weir, count, top)
        check_refusals(weir, count, top)
        check_usage(weir, count)
        check_documents(weir, count, top)
        check_signals(weir, count, top)
        check_drain(weir, count, top)
    return count.finish()


sys.exit(main())
