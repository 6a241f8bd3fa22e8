#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/completion.py [WEIR]

The completions of weir in real shells: what they offer is what the program takes. And the commands
as a whole: each has help that knows its options, and a way to speak JSON.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from support import Counter, program, run

# Whose output is JSON without being asked.
SPEAKS_JSON_ALWAYS = {"decode", "gate", "stat"}


def commands_of(weir):
    return [json.loads(line) for line in run(weir, "completion", "--json").out.splitlines()]


class Bash:
    """Completes a line by the script, in a bash without any other."""

    def __init__(self, script):
        self.script = script

    def complete(self, *words):
        line = " ".join(f"'{word}'" for word in words)
        code = (f"source '{self.script}'; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
                "_weir; printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "--norc", "--noprofile", "-u", "-c", code], check=False,
                              capture_output=True, text=True, timeout=30)
        return done.stdout.split() if not done.stderr else [done.stderr]


def check_bash(count, commands, script):
    bash = Bash(script)
    names = {command["command"] for command in commands}
    count.check(set(bash.complete("weir", "")) == names | {"help"}, "bash: all commands",
                bash.complete("weir", ""))
    count.check(bash.complete("weir", "doct") == ["doctor"], "bash: a beginning")
    count.check(bash.complete("weir", "--v") == ["--version"], "bash: --version")
    count.check(bash.complete("weir", "help", "who") == ["whoami"], "bash: help")
    for command in commands:
        offered = set(bash.complete("weir", command["command"], "-"))
        wanted = {"--" + option["name"] for option in command["options"]} | {"--help"}
        count.check(offered == wanted, f"bash: options of {command['command']}", offered ^ wanted)
        words = [word for word in bash.complete("weir", command["command"], "") if word]
        count.check(words == command["words"], f"bash: words of {command['command']}", words)
    count.check(bash.complete("weir", "ask", "--user", "-") == [], "bash: a value is no option")
    count.check(bash.complete("weir", "nothing", "-") == [], "bash: no such command")


def check_zsh(count, commands, script):
    if not shutil.which("zsh"):
        count.skip("zsh is not there")
        return
    done = subprocess.run(["zsh", "-f", "-n", script], check=False, capture_output=True, text=True)
    count.check(done.returncode == 0 and not done.stderr, "zsh: it is well-formed", done.stderr)
    # _arguments and _describe are replaced by what shows what they are given.
    code = ("compdef() { :; }; source %s; _describe() { print -rl -- $commands; }; "
            "_arguments() { print -rl -- \"$@\"; }; words=(%s); CURRENT=%d; _weir")
    for command in commands:
        name = command["command"]
        done = subprocess.run(["zsh", "-f", "-c", code % (script, f"weir {name} x", 3)],
                              check=False, capture_output=True, text=True)
        offered = set(re.findall(r"^\*?--([a-z-]+)\[", done.stdout, re.M))
        wanted = {option["name"] for option in command["options"]} | {"help"}
        count.check(offered == wanted and not done.stderr, f"zsh: options of {name}",
                    f"{offered ^ wanted} {done.stderr}")
    done = subprocess.run(["zsh", "-f", "-c", code % (script, "weir x", 2)], check=False,
                          capture_output=True, text=True)
    count.check(re.findall(r"^([a-z]+):", done.stdout, re.M) ==
                [command["command"] for command in commands], "zsh: all commands", done.stdout)


def check_fish(count, commands, script):
    if not shutil.which("fish"):
        count.skip("fish is not there")
        return
    lines = ["weir "] + [f"weir {command['command']} --" for command in commands]
    code = f"source {script}; " + "; ".join(f"complete -C '{line}'; echo ==" for line in lines)
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(["fish", "--no-config", "-c", code], check=False, text=True,
                              capture_output=True, env={**os.environ, "HOME": home}, timeout=60)
    count.check(done.returncode == 0 and not done.stderr, "fish: it is well-formed", done.stderr)
    parts = [part.split("\n") for part in done.stdout.split("==\n")]
    words = {line.split("\t")[0] for line in parts[0]}
    count.check({command["command"] for command in commands} <= words, "fish: all commands", words)
    for command, part in zip(commands, parts[1:]):
        offered = {line.split("\t")[0] for line in part if line}
        wanted = {"--" + option["name"] for option in command["options"]} | {"--help"}
        count.check({word.rstrip("=") for word in offered} == wanted,
                    f"fish: options of {command['command']}", offered ^ wanted)


def check_help(count, weir, commands):
    """Every option that is taken is in the help, and the help knows no other."""
    for command in commands:
        name = command["command"]
        text = run(weir, name, "--help").out.decode()
        taken = {option["name"] for option in command["options"]}
        lines = [line for line in text.splitlines() if re.match(" +--", line)]
        told = {word for line in lines for word in re.findall(r"(?:^|,|  ) *--([a-z][a-z-]+)", line)}
        count.check(taken == told, f"help of {name}", taken ^ told)
        about = [option["name"] for option in command["options"] if not option["about"]]
        count.check(not about, f"help of {name} says what each is for", about)
        count.check(re.search("^Examples?:", text, re.M) and "Exit status:" in text, f"help of {name} teaches")


def check_json(count, commands):
    for command in commands:
        has = any(option["name"] == "json" for option in command["options"])
        count.check(has != (command["command"] in SPEAKS_JSON_ALWAYS),
                    f"--json of {command['command']}")


def main():
    weir = program()
    count = Counter()
    commands = commands_of(weir)
    count.check(len(commands) > 20, "there are commands")
    with tempfile.TemporaryDirectory() as folder:
        for shell, check in (("bash", check_bash), ("zsh", check_zsh), ("fish", check_fish)):
            script = pathlib.Path(folder, shell)
            result = run(weir, "completion", shell)
            count.check(result.code == 0 and result.out.endswith(b"\n"), f"{shell}: a script")
            script.write_bytes(result.out)
            check(count, commands, str(script))
    for words in ((), ("tcsh",), ("bash", "zsh"), ("bash", "--json")):
        count.check(run(weir, "completion", *words).code == 2, f"usage {words}")
    check_help(count, weir, commands)
    check_json(count, commands)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
