#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/manual.py [WEIR]

The manual against the program: every command has a page of its own with the options that it takes
and no others, weir(1) names it, and it is installed. (That the pages are well-formed is for lint.)
"""
import json
import re
import sys

from support import ROOT, Counter, program, run

MAN = ROOT / "man"


def page_of(name):
    page = MAN / f"weir-{name}.1"
    return page if page.exists() else None


def check_manual(count, commands):
    """Every command has a page, with its options and no others; weir(1) has them all."""
    whole = (MAN / "weir.1").read_text(encoding="utf-8")
    installed = (MAN / "meson.build").read_text(encoding="utf-8")
    for command in commands:
        name = command["command"]
        page = page_of(name)
        count.check(page is not None, f"manual: weir-{name}(1) is there")
        count.check(re.search(rf"weir-{name}\b|weir {name}\b|\.Cm {name}\b", whole) is not None,
                    f"manual: weir(1) names {name}")
        if page is None:
            continue
        count.check(f"'weir-{name}.1'" in installed, f"manual: weir-{name}(1) is installed")
        text = page.read_text(encoding="utf-8")
        items = re.findall(r"^\.It Fl Fl .*", text, re.M)
        listed = {word for item in items for word in re.findall(r"Fl Fl ([a-z][a-z-]+)", item)}
        taken = {option["name"] for option in command["options"]}
        count.check(listed == taken, f"manual: options of weir-{name}(1)", listed ^ taken)
        for word in command["words"]:
            count.check(re.search(rf"\b{word}\b", text) is not None,
                        f"manual: weir-{name}(1) has the word {word}")


def main():
    weir = program()
    count = Counter()
    check_manual(count, [json.loads(line) for line in
                         run(weir, "completion", "--json").out.splitlines()])
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
