#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/sdk/types.py [CASE]...

The types of the SDK: those of what the server says are what scripts/types.mjs makes of its
/openapi.json, those of the SDK have the members that it has, and TypeScript takes them as they are used.
"""
import difflib
import json
import pathlib
import subprocess
import tempfile

from programs import HERE, ROOT, js, packages
from others import need, run
from support import Server, case, equal, expect, main

SDK = ROOT / "sdk" / "js"
OPTIONS = {"strict": True, "noEmit": True, "target": "es2022", "module": "nodenext", "moduleResolution": "nodenext",
           "lib": ["es2022", "dom", "dom.asynciterable"], "types": [], "exactOptionalPropertyTypes": False}


@case
def types_are_those_of_the_servers_document():
    need("node")
    with Server() as server, tempfile.NamedTemporaryFile("wb", suffix=".json") as file:
        file.write(server.ask("GET", "/openapi.json").body)
        file.flush()
        made = run("node", str(SDK / "scripts" / "types.mjs"), file.name)
    equal((made.returncode, made.stderr), (0, b""))
    kept = (SDK / "types" / "api.d.ts").read_text().splitlines()
    difference = list(difflib.unified_diff(kept, made.stdout.decode().splitlines(), "types/api.d.ts", "what /openapi.json says", lineterm=""))
    expect(not difference, "make it anew: sdk/js/scripts/types.mjs URL/openapi.json > sdk/js/types/api.d.ts\n" + "\n".join(difference[:40]))


def complaints_of_typescript(*files):
    """Of these files, to which the package is what npm would have installed."""
    folder = packages.install(HERE / "npm", "test-sdk")
    with tempfile.TemporaryDirectory(prefix="weir-types-") as work:
        modules = pathlib.Path(work) / "node_modules"
        modules.mkdir()
        (modules / "weir-sdk").symlink_to(SDK)
        (pathlib.Path(work) / "package.json").write_text('{"type": "module"}')
        for name, text in files:
            (pathlib.Path(work) / name).write_text(text)
        (pathlib.Path(work) / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS, "files": [name for name, _ in files]}))
        done = subprocess.run(["node", str(folder / "node_modules" / "typescript" / "bin" / "tsc"), "-p", work], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.stdout


@case
def typescript_takes_them_as_they_are_used():
    equal(complaints_of_typescript(("use.ts", (HERE / "use.ts").read_text())), "")


@case
def members_are_those_of_the_sdk():
    resources, exports = js("http://127.0.0.1:1", """
        const names = (object) => [...Object.getOwnPropertyNames(object), ...Object.getOwnPropertyNames(Object.getPrototypeOf(object))]
          .filter((name) => name !== "constructor");
        say(Object.fromEntries(Object.keys(weir).map((name) => [name, names(weir[name])])));
        say(Object.keys(sdk));""")
    lines = ['import type { Weir } from "weir-sdk";', 'import type * as sdk from "weir-sdk";',
             "type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;"]
    for name, members in resources.items():
        union = " | ".join(json.dumps(member) for member in members)
        lines.append(f'export const {name}: Same<keyof Weir["{name}"], {union}> = true;')
    lines.append(f'export const resources: Same<keyof Weir, {" | ".join(map(json.dumps, [*resources, "baseUrl", "request"]))}> = true;')
    for name in exports:
        lines.append(f"export type Has{name} = typeof sdk.{name};")
    equal(complaints_of_typescript(("members.ts", "\n".join(lines) + "\n")), "")


@case
def package_has_what_it_needs_and_nothing_else():
    need("npm")
    with tempfile.TemporaryDirectory(prefix="weir-pack-") as work:
        done = subprocess.run(["npm", "pack", "--json", "--pack-destination", work, str(SDK)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, cwd=work)
        equal(done.returncode, 0, done.stderr)
        packed = json.loads(done.stdout)[0]
    files = {file["path"] for file in packed["files"]}
    wanted = {"package.json", "README.md", "LICENSE", "types/api.d.ts", "types/index.d.ts", *(f"src/{path.name}" for path in (SDK / "src").glob("*.js"))}
    equal(files, wanted)
    equal(json.loads((SDK / "package.json").read_text()).get("dependencies", {}), {})
    expect(packed["size"] < 40_000, "its size", packed["size"])


if __name__ == "__main__":
    main()
