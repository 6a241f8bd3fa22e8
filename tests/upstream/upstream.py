# SPDX-License-Identifier: Apache-2.0
"""The stand-in for tests: Upstream starts it, commands it, and asks it what it has seen."""
import http.client
import json
import pathlib
import select
import subprocess
import tempfile
import urllib.parse

PROGRAM = pathlib.Path(__file__).resolve().parent / "standin.py"
START_S = 30


class Upstream:
    """A stand-in of its own, from `with` to its end. `where` has its addresses."""

    def __init__(self, has_tls=False):
        self._folder = tempfile.TemporaryDirectory(prefix="weir-upstream-") if has_tls else None
        self.child = None
        self.where = {}
        self._n_asked = 0

    def __enter__(self):
        words = [str(PROGRAM)] + (["--tls", self._folder.name] if self._folder else [])
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if not select.select([self.child.stdout], [], [], START_S)[0]:
            raise TimeoutError("the stand-in did not start")
        self.where = json.loads(self.child.stdout.readline())
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait(START_S)
        if self._folder:
            self._folder.cleanup()

    def _ask(self, method, path, body=None):
        self._n_asked += 1
        conn = http.client.HTTPConnection(urllib.parse.urlsplit(self.where["http"]).netloc, timeout=START_S)
        try:
            conn.request(method, path, body)
            return json.loads(conn.getresponse().read())
        finally:
            conn.close()

    def control(self, **command):
        self._ask("POST", "/_control", json.dumps(command))

    def reset(self, **command):
        self.control(reset=True, **command)

    def rules(self, *rules):
        """More rules; each is (times, behaviour) or a whole rule."""
        made = [rule if isinstance(rule, dict) else {"times": rule[0], "do": rule[1]} for rule in rules]
        self.control(rules=made)

    def state(self):
        return self._ask("GET", "/_seen")

    def n_connections(self):
        """That others have made, so far."""
        n_accepted = self.state()["n_accepted"]
        return n_accepted - self._n_asked

    def seen(self, has_bodies=False, **wanted):
        """Requests so far, those whose members are as wanted."""
        every = self._ask("GET", "/_seen?bodies" if has_bodies else "/_seen")["seen"]
        return [seen for seen in every if all(seen[name] == value for name, value in wanted.items())]
