#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/whoami.py [WEIR]

`weir whoami` and `weir login` against a real server: who the server takes one for, where that was
configured, and what a login leaves behind.
"""
import json
import os
import pty
import re
import select
import signal
import stat
import subprocess
import sys
import tempfile

from support import Counter, program, run


class Bench:
    """A server with keys, and a home folder that knows nothing of it."""

    def __init__(self, weir, root):
        self.weir, self.data = weir, os.path.join(root, "data")
        self.home = os.path.join(root, "home")
        os.mkdir(self.home)
        self.env = {"HOME": self.home, "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "WEIR_URL": "",
                    "WEIR_KEY": "", "WEIR_CA_FILE": "", "WEIR_DATA": "", "WEIR_PROFILE": ""}
        self.server = subprocess.Popen(
            [weir, "serve", "--data", self.data, "--listen", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.url = self.server.stdout.readline().decode().split()[-1]

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait()

    def make_key(self, *options):
        return run(self.weir, "key", "create", "--data", self.data, *options).out.decode().strip()

    def run(self, *words, data=b"", **env):
        return run(self.weir, *words, data=data, env={**self.env, **env})

    def whoami(self, *options, **env):
        result = self.run("whoami", "--json", *options, **env)
        return json.loads(result.out) if result.code == 0 else result.err

    @property
    def config(self):
        return os.path.join(self.home, ".config/weir/config")


def check_whoami(count, bench):
    key = bench.make_key("--label", "laptop", "--owner", "ada", "--expires", "30d")
    seen = bench.whoami("--url", bench.url, WEIR_KEY=key)
    name = key.split("_")[1]
    count.check(isinstance(seen, dict) and seen["key"]["name"] == name and
                seen["owner"] == "ada" and seen["scopes"] == ["read", "write"] and
                seen["access"] == "key" and seen["server_from"] == "--url" and
                seen["key_from"] == "$WEIR_KEY" and seen["running"] and not seen["local"],
                "a key is known", seen)
    count.check(key.split("_", 2)[2] not in json.dumps(seen), "its secret is not shown")
    text = bench.run("whoami", WEIR_URL=bench.url, WEIR_KEY=key).out.decode()
    count.check(re.fullmatch(rf'server   {bench.url}, weir \S+  \(\$WEIR_URL\)\n'
                             rf'key      {name}, "laptop"  \(\$WEIR_KEY\)\n'
                             r'owner    ada\nmay      read, write\n'
                             r'expires  \S+Z, in (29|30) days\n', text) is not None,
                "for people", text)
    narrow = bench.make_key("--prefix", "chat/", "--scopes", "write")
    text = bench.run("whoami", WEIR_URL=bench.url, WEIR_KEY=narrow).out.decode()
    count.check("may      write; streams that begin with chat/" in text and
                "expires  never" in text, "a key with a prefix and one scope", text)
    result = bench.run("whoami", WEIR_URL=bench.url, WEIR_KEY=key[:-1] + "_")
    count.check(result.code == 1 and "$WEIR_KEY" in result.err and result.out == b"",
                "a wrong key", result.err)
    result = bench.run("whoami", WEIR_URL=bench.url)
    count.check(result.code == 1 and "no key was sent" in result.err, "no key", result.err)


def check_local(count, bench):
    seen = bench.whoami("--data", bench.data)
    count.check(isinstance(seen, dict) and seen["access"] == "local" and seen["key"] is None and
                seen["local"] and seen["server"] == bench.data and seen["owner"] == "me",
                "over the control socket", seen)
    seen = bench.whoami()
    count.check(isinstance(seen, dict) and seen["running"] is False and
                seen["server"] == bench.home + "/.local/share/weir", "no server runs", seen)
    text = bench.run("whoami").out.decode()
    count.check("none runs now" in text, "for people", text)


def check_print_key(count, bench):
    result = bench.run("whoami", "--print-key", WEIR_URL="http://127.0.0.1:1", WEIR_KEY="abc")
    count.check(result.code == 0 and result.out == b"abc\n" and result.err == "",
                "the key alone, and nobody is asked", result.err)
    for env in ({}, {"WEIR_URL": bench.url}):
        result = bench.run("whoami", "--print-key", **env)
        count.check(result.code == 1 and result.out == b"" and "key" in result.err,
                    f"no key to print {env}", result.err)


def check_login(count, bench):
    key = bench.make_key()
    result = bench.run("login", bench.url, data=b"weir_wrong\n")
    count.check(result.code == 1 and not os.path.exists(bench.config), "a wrong key", result.err)
    for bad in (b"", b"\n", b"a b\n", b"\x03"):
        result = bench.run("login", bench.url, data=bad)
        count.check(result.code == 1 and "not a key" in result.err, f"{bad!r}", result.err)
    result = bench.run("login", bench.url + "/", "--json", data=key.encode() + b"\n")
    count.check(result.code == 0 and json.loads(result.out) ==
                {"file": bench.config, "url": bench.url}, "written", result.err)
    count.check(stat.S_IMODE(os.stat(bench.config).st_mode) == 0o600, "closed to others")
    count.check(os.listdir(os.path.dirname(bench.config)) == ["config"], "nothing else is left")
    seen = bench.whoami()
    count.check(isinstance(seen, dict) and seen["server"] == bench.url and
                seen["key_from"] == bench.config + ":3", "whoami uses it", seen)
    count.check(bench.run("whoami", "--print-key").out.decode().strip() == key, "and has the key")
    result = bench.run("login", bench.url, data=key.encode() + b"\n")
    count.check(result.code == 1 and "not changed" in result.err, "once is enough", result.err)
    os.remove(bench.config)


def check_keys(count, bench):
    """Keys and links of a server that is elsewhere."""
    admin, other = bench.make_key("--scopes", "admin"), bench.make_key()
    env = {"WEIR_URL": bench.url, "WEIR_KEY": admin}
    made = bench.run("key", "create", "--json", "--label", "far", **env)
    key = json.loads(made.out) if made.code == 0 else {}
    count.check(key.get("label") == "far" and key["key"].startswith("weir_" + key["name"]),
                "a key is made from afar", made.err)
    listed = bench.run("key", "list", "--json", **env).out.decode().splitlines()
    count.check(key["name"] in [json.loads(line)["name"] for line in listed], "and listed")
    text = bench.run("key", "create", **env).out.decode().strip()
    count.check(isinstance(bench.whoami(WEIR_URL=bench.url, WEIR_KEY=text), dict),
                "one as text is good")
    gone = bench.run("key", "revoke", key["name"], "--json", **env)
    count.check(gone.code == 0 and json.loads(gone.out) == {"name": key["name"], "revoked": True},
                "and revoked", gone.err)
    count.check(bench.run("key", "revoke", key["name"], **env).out == b"", "without a word")
    count.check(bench.run("key", "revoke", "0" * 12, **env).code == 1, "none of that name")
    link = bench.run("link", "create", "a b", "--json", **env)
    count.check(link.code == 0 and json.loads(link.out)["stream"] == "a b", "a link", link.err)
    count.check(bench.run("link", "rotate", "--json", **env).out == b'{"rotated":true}\n', "rotated")
    for words in (("key", "list"), ("key", "create"), ("link", "rotate")):
        result = bench.run(*words, WEIR_URL=bench.url, WEIR_KEY=other)
        count.check(result.code == 1 and "weir whoami" in result.err and result.out == b"",
                    f"{words} needs the scope", result.err)
    here = bench.run("key", "create", "--json", "--data", bench.data)
    count.check(json.loads(here.out)["key"].startswith("weir_"), "over the control socket", here.err)


def check_terminal(count, bench):
    """What is typed is not shown, and the terminal is as it was."""
    key = bench.make_key()
    for typed, code in ((key.encode() + b"\n", 0), (b"\x03", 1)):
        child, fd = pty.fork()
        if child == 0:
            os.execve(bench.weir, [bench.weir, "login", bench.url], {**os.environ, **bench.env})
        shown = read_until(fd, b"not shown): ")
        os.write(fd, typed)
        shown += read_until(fd, None)
        if os.path.exists(bench.config):
            os.remove(bench.config)
        os.kill(child, 0 if b"\n" in shown else signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(fd)
        count.check(os.waitstatus_to_exitcode(status) == code and key.encode() not in shown,
                    f"typed {typed[:1]!r}", shown)


def read_until(fd, mark):
    shown = b""
    while mark is None or mark not in shown:
        if not select.select([fd], [], [], 30)[0]:
            break
        try:
            piece = os.read(fd, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    return shown


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as root:
        bench = Bench(weir, root)
        try:
            for check in (check_whoami, check_local, check_print_key, check_login, check_keys,
                          check_terminal):
                check(count, bench)
        finally:
            bench.stop()
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
