#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/sdk/readme.py [CASE]...

The examples of sdk/js/README.md as they stand there, one behind the other in one program, with the
package installed as npm would.
"""
import os
import pathlib
import re
import subprocess
import tempfile

from programs import ROOT
from chat_support import ChatServer, answers
from model_support import PEOPLE, Upstream
from others import need
from support import WAIT_S, Server, case, equal, expect, main, make_key, weir

SDK = ROOT / "sdk" / "js"
EXAMPLES = ("ask", "watch", "resume", "list", "session", "import", "errors")
CLIENT = re.compile(r"(?m)^const weir = .*$")


def example(name):
    text = (SDK / "README.md").read_text(encoding="utf-8")
    match = re.search(rf"<!-- example: {name} -->\n```js\n(.*?)```\n", text, re.S)
    expect(match, f"there is no example {name}")
    return match.group(1)


def run_all(server, names):
    """What each example prints."""
    imports, programs = [], []
    if names[0] != "ask":
        imports += ['import { Weir } from "weir-sdk";', CLIENT.search(example("ask")).group(0)]
    for name in names:
        code = example(name)
        imports += re.findall(r"(?m)^import .*$", code)
        programs.append(f'console.log("\\n== {name}");\n' + re.sub(r"(?m)^import .*$", "", code))
    with tempfile.TemporaryDirectory(prefix="weir-readme-") as work:
        modules = pathlib.Path(work) / "node_modules"
        modules.mkdir()
        (modules / "weir-sdk").symlink_to(SDK)
        (pathlib.Path(work) / "all.mjs").write_text("\n".join([*imports, *programs]))
        done = subprocess.run(["node", "all.mjs"], cwd=work, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "WEIR_URL": server.url(), "WEIR_KEY": server.key}, timeout=WAIT_S * 2, check=False)
    equal((done.returncode, done.stderr), (0, ""))
    return dict(re.findall(r"== (\w+)\n(.*?)(?=\n== |\Z)", done.stdout, re.S))


@case
def examples_do_what_they_say():
    need("node")
    with Server(is_open=False, starts=False) as server:
        equal(weir("import", str(PEOPLE / "u01_daily.csv"), "--user", "me", "--data", server.data, "--quiet").returncode, 0)
        server.start()
        server.key = make_key(server, "--owner", "me")
        said = run_all(server, EXAMPLES)
        equal(sorted(said), sorted(EXAMPLES))
        expect(re.search(r"ds-\d+\.\w+ [\d.]+ bpm", said["ask"]), "facts", said["ask"])
        expect(said["watch"].strip(), "thoughts and an answer", said["watch"])
        equal(said["resume"].strip(), "4")
        equal(len(re.findall("turn_", said["list"])), 2, "turns")
        expect("43 of 43" in said["import"] and "import.completed" in said["import"], "an import", said["import"])
        equal(said["errors"].strip(), "turn_not_found")


@case
def example_of_a_chat_shows_what_is_private_and_goes_on():
    need("node")
    with Upstream() as upstream:
        upstream.control(default=answers("It is written."))
        with ChatServer(upstream, is_open=False, policy={"piiAction": "ask"}) as server:
            server.key = make_key(server, "--owner", "me")
            said = run_all(server, ["chat"])["chat"]
    expect("[email_1]" in said and said.endswith("It is written."), "a preview and the reply", said)


if __name__ == "__main__":
    main()
