#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/page.py [CASE]...

The page as HTTP: which files there are and which are not, their two forms, what the policy says, what
all of them weigh; and the links that log a browser in, once. What the page does is in tests/web; that
links expire, with a clock of the tests' own, in tests/unit/serve/login_link.c.
"""
import gzip
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from support import (
    JSON_FIELDS, ROOT, WAIT_S, Server, Skip, bearer, case, equal, expect, main, make_key, refused, request_bytes, to_json, weir, words_of,
)

MAX_PAGE_BYTES = 150_000
MISSES = 20
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
          "trusted-types 'none'")
RULES = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png"}
GZIP = [("Accept-Encoding", "gzip, deflate, br")]
OWN = [("Origin", "http://localhost")]
EVIL = [("Origin", "http://evil.example")]


def embedder():
    """tools/embed-page as a module: it knows what is served."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("embed_page", str(ROOT / "tools/embed-page"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("embed_page", loader))
    loader.exec_module(module)
    return module


def page_files():
    """Path on the server and what is there, of all that the page is made of."""
    module = embedder()
    return [("/" + name, content) for name, content in module.contents(module.find_files(ROOT)[0])]


def expect_rules(answer, path):
    for name, value in RULES.items():
        equal(answer.field(name), value, f"{path}: {name}")


# ---- files ----

@case
def every_file_is_served_as_it_is_and_packed():
    files = page_files()
    expect(len(files) > 3, "files of the page", files)
    with Server(is_open=False) as server:
        for path, content in files:
            media_type = TYPES[path[path.rindex("."):]]
            plain = server.ask("GET", path)
            equal((plain.status, plain.body), (200, content), path)
            equal((plain.field("content-type"), plain.field("content-encoding")), (media_type, None), path)
            expect_rules(plain, path)
            packed = server.ask("GET", path, GZIP)
            expect_rules(packed, path)
            equal(packed.field("content-type"), media_type, path)
            if packed.field("content-encoding") is None:
                expect(len(gzip.compress(content, 9)) >= len(content), "it would be smaller packed", path)
                equal(packed.body, content, path)
                continue
            equal((packed.field("content-encoding"), gzip.decompress(packed.body)), ("gzip", content), path)
            expect(len(packed.body) < len(content), "smaller", path)
            expect(plain.field("etag") != packed.field("etag"), "each form has a tag of its own", path)
            equal((plain.field("vary"), packed.field("vary")), ("Accept-Encoding", "Accept-Encoding"), path)
        root = server.ask("GET", "/")
        equal(root.body, (ROOT / "web/index.html").read_bytes(), "/")
        equal(root.field("content-type"), TYPES[".html"])
        expect_rules(root, "/")
        equal(server.ask("GET", "/?theme=dark").body, root.body, "with a query")


@case
def scripts_without_their_comments_are_the_same_scripts():
    slim = embedder().slim_script
    for text, wanted in (
            ("a // b\nc", "a\nc"), ("  a;\n\n  b;", "a;b;"), ("/* a\n * b */\nc", "c"), ("a /* b */ + c", "a+c"), ("a/* b */b", "a b"),
            ("'// a' + \"/* b */\"", "'// a'+\"/* b */\""), ("'\\'// a'", "'\\'// a'"), ("`// a\n   /* b */`", "`// a\n   /* b */`"),
            ("`${a /* b */} // c` // d", "`${a} // c`"), ("`${`}`}// a`// b", "`${`}`}// a`"), ("`${{ a: '}' }.a}// a`;  // b", "`${{a:'}'}.a}// a`;"),
            ("x = /[/*]'\"`/g; // a", "x=/[/*]'\"`/g;"), ("x = /\\//; // a", "x=/\\//;"), ("return /'/.test(a); // '", "return/'/.test(a);"),
            ("a / b; // /", "a/b;"), ("(a) / b / c // '", "(a)/b/c"), ("a[0] / 2 // `", "a[0]/2"), ("f(/a`/, /b\"/) // c", "f(/a`/,/b\"/)"),
            ("`\\`// a`", "`\\`// a`"), ("`$// a`", "`$// a`"), ("x = a\n/* b */\n  .c\n  ?.d", "x=a.c?.d"), ("a  \t\n", "a"), ("", ""),
            ("a + +b - -c + ++d", "a+ +b- -c+ ++d"), ("1 .x", "1 .x"), ("a / /b/.c", "a/ /b/.c"), ("return a", "return a"), ("a ? .5 : b", "a?.5:b"),
            ("static #a = $ in b", "static #a=$ in b"), ("let ü = 1", "let ü=1"), ("async function* f() {}", "async function*f(){}"),
            # Where a line ends a statement it stays.
            ("a\nb", "a\nb"), ("return\na", "return\na"), ("a = {\n  b: 1,\n}\nc()", "a={b:1}\nc()"), ("a\n++b", "a\n++b"), ("a\n(b)", "a\n(b)"),
            ("a /* b\n c */ d", "a\nd"), ("if (a)\n  b\nelse c", "if(a)\nb\nelse c"), ("class A {\n  a = 1\n  #b\n  [c] = 1\n}", "class A{a=1\n#a\n[c]=1}"),
            ("f(\n  a,\n  b =>\n    c,\n)", "f(a,b=>\nc)"), ("a &&\nb\n|| c", "a&&b||c"), ("`a`\n`b`", "`a`\n`b`"), ("a = () => {}\n(b)", "a=()=>{}\n(b)"),
            ("a = {\n  b() {\n  },\n}\n++c", "a={b(){}}\n++c"),
            # Behind a block it ends nothing.
            ("if (a) { b }\nc", "if(a){b}c"), ("try { a }\nfinally { b }\nc", "try{a}finally{b}c"), ("class A { b() { c }\n  d() {} }", "class A{b(){c}d(){}}"),
            # A comma or a semicolon goes where it says nothing.
            ("[a, , ]", "[a,,]"), ("[, a]", "[,a]"), ("(a, ) => b", "(a)=>b"), ("f(a, ')', )", "f(a,')')"), ("{ a; }", "{a}"), ("{ a(); }", "{a()}"),
            ("{ while (a); }", "{while(a);}"), ("{ for await (a of b) ; }", "{for await(a of b);}"), ("{ if (a) b; else ; }", "{if(a)b;else;}"),
            ("{ ; }", "{;}"), ("for (;;) a", "for(;;)a"), ("{ a = (b); }", "{a=(b)}"),
            # Private names are short, in templates, too; what looks like one stays.
            ("this.#long + `#long ${this.#long} ${'#long'}` + (#other in a)", "this.#a+`#long ${this.#a} ${'#long'}`+(#b in a)")):
        equal(slim(text), wanted, text)
        equal(slim(wanted), wanted, "again")
    for text in ("`a", "`${a`", "`${'}'`"):
        try:
            slim(text)
            raise AssertionError(f"{text} has no end")
        except ValueError as problem:
            expect(str(problem).startswith("1: "), "the line", problem)
    style = embedder().slim_style
    for text, wanted in (
            ('/* a\n b */\nc { \n  d: "/* e */"; /* f */\n}\n', 'c{d:"/* e */"}'), ("a:hover ,\nb :is(c) > d { e: 1px }", "a:hover,b :is(c) > d{e:1px}"),
            ("@media (min-width: 4em) and (a) {\n}", "@media (min-width:4em) and (a){}"), ("a { b: calc(1px + 2px) '  ;  ' }", "a{b:calc(1px + 2px) '  ;  '}"),
            ("a { b: url(data:x) }", "a{b:url(data:x)}"), ("a\n  b {\n  c: 1px\n    2px;\n}", "a b{c:1px 2px}")):
        equal(style(text), wanted, text)
    if not shutil.which("node"):
        raise Skip("whether they can be read: node is not there")
    texts = {path: content.decode() for path, content in page_files() if path.endswith(".js")}
    read = """const vm = require("node:vm");
        for (const [path, text] of Object.entries(JSON.parse(require("node:fs").readFileSync(0, "utf8"))))
            new vm.SourceTextModule(text, { identifier: path });"""
    done = subprocess.run(["node", "--experimental-vm-modules", "-e", read], input=to_json(texts), capture_output=True,
                          timeout=WAIT_S, check=False)
    equal(done.returncode, 0, done.stderr.decode())


@case
def the_page_weighs_what_it_may():
    with Server() as server:
        weights = {path: len(server.ask("GET", path, GZIP).body) for path, _ in page_files()}
    total = sum(weights.values())
    heaviest = sorted(weights.items(), key=lambda item: -item[1])[:10]
    print(f"           {total} of {MAX_PAGE_BYTES} bytes in {len(weights)} files", flush=True)
    expect(total <= MAX_PAGE_BYTES, f"{total} bytes compressed; the heaviest:", heaviest)


@case
def what_has_not_changed_is_not_sent_again():
    with Server() as server:
        for path in ("/", "/web/index.html", "/sdk/index.js"):
            for form in ([], GZIP):
                first = server.ask("GET", path, form)
                tag = first.field("etag")
                expect(re.fullmatch(r'"[0-9a-f]{24}(-gzip)?"', tag or ""), "a strong tag", tag)
                for wanted in (tag, f"W/{tag}", f'"other", {tag}', "*"):
                    again = server.ask("GET", path, [*form, ("If-None-Match", wanted)])
                    equal((again.status, again.body, again.field("etag")), (304, b"", tag), f"{path} {wanted}")
                    expect_rules(again, path)
                    equal((again.field("content-length"), again.field("content-encoding")), (None, None), path)
                other = server.ask("GET", path, [*form, ("If-None-Match", '"0123456789abcdef01234567"')])
                equal((other.status, other.body), (200, first.body), "another tag")
        plain, packed = (server.ask("GET", "/sdk/index.js", form).field("etag") for form in ([], GZIP))
        equal(server.ask("GET", "/sdk/index.js", [("If-None-Match", packed)]).status, 200, "the tag of the other form")
        equal(server.ask("GET", "/sdk/index.js", [*GZIP, ("If-None-Match", plain)]).status, 200, "and the other way")
        before = plain
        server.restart()
        equal(server.ask("GET", "/sdk/index.js").field("etag"), before, "the tag after a restart")


@case
def gzip_is_for_those_who_take_it():
    with Server() as server:
        for accept, is_packed in (
                ("gzip", True), ("GZIP", True), ("br, gzip;q=0.5", True), ("*", True), ("*;q=0.1", True), ("identity, gzip", True),
                ("gzip;q=1.0", True), ("identity;q=0, *;q=1", True), ("gzip;q=0", False), ("gzip;q=0.000, *", False),
                ("identity", False), ("br", False), ("", False), ("gzipped", False), ("*;q=0", False), ("deflate, br", False)):
            answer = server.ask("GET", "/sdk/index.js", [("Accept-Encoding", accept)])
            equal((answer.status, answer.field("content-encoding") == "gzip"), (200, is_packed), accept)


@case
def head_is_the_same_without_the_body():
    with Server() as server:
        for path in ("/", "/web/index.html", "/sdk/index.js"):
            for form in ([], GZIP):
                got, head = server.ask("GET", path, form), server.ask("HEAD", path, form)
                equal((head.status, head.body), (200, b""), path)
                expect_rules(head, path)
                for name in ("content-type", "content-length", "content-encoding", "etag", "vary"):
                    equal(head.field(name), got.field(name), f"{path}: {name}")
                equal(server.ask("HEAD", path, [*form, ("If-None-Match", got.field("etag"))]).status, 304, path)


@case
def no_path_leads_anywhere_else():
    secret = pathlib.Path(tempfile.mkdtemp()) / "secret.js"
    secret.write_text("secret")
    try:
        with Server(is_open=False) as server:
            up = "/".join([".."] * 12)
            for path in (
                    "/web", "/web/", "/sdk", "/sdk/", "/web/none.js", "/sdk/none.js", "/web/app", "/web//app.js", "/web/./app.js",
                    "/web/lib", "/web/lib/", "/web/index.html/", "/web/../web/app.js", "/web/..%2fapp.js", "/web/%2e%2e/app.js",
                    f"/web/{up}/etc/passwd", f"/web/{up}{secret}", f"/web/{secret}", f"/sdk/{up}/etc/passwd",
                    "/web/..%2f..%2f..%2fetc%2fpasswd", "/web/%2fetc%2fpasswd", "/web/..\\..\\etc\\passwd", "/web/app.js%00.css",
                    "/web/APP.JS", "/WEB/app.js", "/web/sdk/index.js", "/sdk/web/app.js", "/index.html", "/sdk/../package.json",
                    "/web/" + "a" * 4000):
                answer = server.ask("GET", path)
                expect(answer.status in (400, 404), path, answer.status)
                expect(answer.error() in ("not_found", "invalid_request"), path)
                expect(b"secret" not in answer.body and b"root:" not in answer.body, path, answer.body)
            refused(server.ask("GET", "/web/%zz"), 400, "invalid_request")
            equal(server.ask("GET", "/web/index%2Ehtml").status, 200, "an escape that need not be")
            for method in ("POST", "PUT", "DELETE", "PATCH"):
                for path in ("/", "/web/index.html", "/sdk/index.js"):
                    answer = server.ask(method, path, JSON_FIELDS, b"{}")
                    refused(answer, 405, "method_not_allowed")
                    equal(answer.field("allow"), "GET, HEAD, OPTIONS", path)
    finally:
        secret.unlink()
        secret.parent.rmdir()


@case
def the_page_needs_no_key_and_no_cookie():
    with Server(is_open=False) as server:
        for fields in ([], bearer("weir_no"), [("Cookie", "weir_session=no")], EVIL):
            answer = server.ask("GET", "/", fields)
            equal((answer.status, answer.field("set-cookie"), answer.field("access-control-allow-origin")), (200, None, None), fields)
        equal(server.ask("GET", "/auth/session").status, 401, "but whoever asks for more does")
    with Server("--cors-origin", "https://a.example", is_open=False) as server:
        answer = server.ask("GET", "/sdk/index.js", [("Origin", "https://a.example"), *GZIP])
        equal(answer.field("access-control-allow-origin"), "https://a.example", "the SDK for pages that may")
        equal(sorted(value for name, value in answer.fields if name == "vary"), ["Accept-Encoding", "Origin"], "Vary")


@case
def what_a_stream_says_cannot_run_beside_the_page():
    with Server(is_open=False) as server:
        writer = make_key(server, "--prefix", "a/")
        for media_type in ("text/html", "image/svg+xml", "text/javascript", "application/xhtml+xml", "text/plain"):
            path = f"/v1/stream/a/{media_type.replace('/', '.')}"
            made = server.ask("PUT", path, [("Content-Type", media_type), *bearer(writer)], b"<script>alert(1)</script>")
            equal(made.status, 201, made.body)
            for method, target in (("GET", path), ("HEAD", path), ("GET", f"{path}?offset=-1"), ("GET", f"{path}?offset=now")):
                answer = server.ask(method, target, bearer(writer))
                equal((answer.status, answer.field("content-type")), (200, media_type), target)
                equal(answer.field("content-security-policy"), "default-src 'none'; sandbox", target)
                equal(answer.field("x-content-type-options"), "nosniff", target)


# ---- links ----

def make_link(server, *options):
    made = weir("key", "link", "--data", server.data, *options)
    equal((made.returncode, made.stderr), (0, b""), "weir key link")
    url = made.stdout.decode().removesuffix("\n")
    expect(re.fullmatch(rf"http://127\.0\.0\.1:{server.port}/#/link/[A-Za-z0-9_-]{{43}}", url), "a link", url)
    return url.rsplit("/", 1)[1]


def follow(server, token, fields=()):
    return server.ask("POST", "/auth/session", [*JSON_FIELDS, *fields], to_json({"link": token}))


def cookie_of(answer):
    equal(answer.status, 200, f"logging in ({answer.body!r})")
    match = re.fullmatch(r"weir_session=([A-Za-z0-9._-]+); HttpOnly; SameSite=Strict; Path=/; Max-Age=(\d+)",
                         answer.field("set-cookie") or "")
    expect(match and 604_000 < int(match.group(2)) <= 604_800, "Set-Cookie", answer.field("set-cookie"))
    equal(answer.field("cache-control"), "no-store")
    return [("Cookie", f"weir_session={match.group(1)}")]


def list_keys(server):
    return [line.split() for line in weir("key", "list", "--data", server.data).stdout.decode().splitlines()[1:]]


@case
def a_link_logs_in_once_and_its_cookie_ends_with_its_key():
    with Server("--access-log", "-", is_open=False) as server:
        equal(list_keys(server), [], "keys before the first link")
        token = make_link(server)
        answer = follow(server, token, OWN)
        cookie = cookie_of(answer)
        equal((answer.json()["owner"], answer.json()["scopes"]), ("me", ["read", "write"]))
        equal(server.ask("GET", "/auth/session", cookie).json(), answer.json(), "who is logged in")
        for fields in (OWN, [], cookie):
            again = follow(server, token, fields)
            refused(again, 401, "invalid_token", "used already")
            equal(again.field("set-cookie"), None)
            expect(again.field("www-authenticate").startswith("Bearer"), "WWW-Authenticate")
        refused(server.ask("POST", "/v1/keys", [*JSON_FIELDS, *cookie, *OWN], b"{}"), 403, "forbidden")
        keys = list_keys(server)
        equal([(key[1], key[-2], key[-1]) for key in keys], [("read,write", "me", "page")], "the page's key")
        other = cookie_of(follow(server, make_link(server), OWN))
        equal(list_keys(server), keys, "a second link needs no second key")
        equal(server.ask("DELETE", "/auth/session", [*cookie, *OWN]).status, 204, "logging out")
        equal(server.ask("GET", "/auth/session", cookie).status, 401, "after that")
        equal(server.ask("GET", "/auth/session", other).status, 200, "of the other browser")
        unused = make_link(server)
        equal(weir("key", "revoke", keys[0][0], "--data", server.data).returncode, 0)
        equal(server.ask("GET", "/auth/session", other).status, 401, "when the key is revoked")
        refused(follow(server, unused, OWN), 401, "invalid_token", "key")
        fresh = cookie_of(follow(server, make_link(server), OWN))
        equal(server.ask("GET", "/auth/session", fresh).status, 200, "with a new key")
        server.stop()
        expect(token not in server.errors() and unused not in server.errors(), "tokens in the log")
        for file in pathlib.Path(server.data).rglob("*"):
            if file.is_file():
                expect(token.encode() not in file.read_bytes(), "a token on the disk", file)


@case
def a_link_is_for_whom_it_was_made():
    with Server(is_open=False) as server:
        reads = make_key(server, "--owner", "ann", "--scopes", "read", "--expires", "1d")
        answer = follow(server, make_link(server, reads.split("_")[1]), OWN)
        equal((answer.status, answer.json()["owner"], answer.json()["scopes"]), (200, "ann", ["read"]))
        equal(int(re.search(r"Max-Age=(\d+)", answer.field("set-cookie")).group(1)) <= 86400, True, "no longer than the key")
        answer = follow(server, make_link(server, "--owner", "bob"), OWN)
        equal((answer.json()["owner"], answer.json()["scopes"]), ("bob", ["read", "write"]))
        made = weir("key", "link", "--data", server.data, "--json")
        shape = json.loads(made.stdout)
        equal(sorted(shape), ["expires", "key", "owner", "path", "url"])
        equal((shape["url"], shape["owner"]), (server.url(shape["path"]), "me"))
        equal(follow(server, shape["path"].rsplit("/", 1)[1]).status, 200, "without a page")
        for words, status in ((["000000000000"], 1), (["no"], 2), (["000000000000", "more"], 2), (["000000000000", "--owner", "x"], 2),
                              (["--owner", "a/b"], 1)):
            made = weir("key", "link", *words, "--data", server.data)
            equal((made.returncode, made.stdout), (status, b""), words)
        data = server.data
        server.stop()
        made = weir("key", "link", "--data", data)
        equal((made.returncode, made.stdout), (1, b""))
        expect(b"no server runs" in made.stderr, "why", made.stderr)


@case
def links_over_the_network_are_for_admins():
    with Server("--public-url", "https://weir.example", is_open=False) as server:
        admin, writer = make_key(server, "--scopes", "admin"), make_key(server)
        refused(server.ask("POST", "/auth/links", JSON_FIELDS, b"{}"), 401, "missing_authorization")
        refused(server.ask("POST", "/auth/links", [*JSON_FIELDS, *bearer(writer)], b"{}"), 403, "forbidden")
        answer = server.ask("POST", "/auth/links", [*JSON_FIELDS, *bearer(admin)], b"{}")
        equal((answer.status, answer.field("cache-control")), (201, "no-store"))
        equal(answer.json()["url"], "https://weir.example" + answer.json()["path"])
        for body, status in ((b"", 400), (b"[]", 400), (b'{"key":7}', 400), (b'{"owner":""}', 400), (b'{"owner":"a\\u0000b"}', 400),
                             (b'{"key":"x","owner":"y"}', 400), (b'{"more":"x"}', 400), (b'{"key":"x"}', 404),
                             (b'{"key":"0000000000000"}', 400), (b'{"owner":"%s"}' % (b"x" * 64), 400)):
            answer = server.ask("POST", "/auth/links", [*JSON_FIELDS, *bearer(admin)], body)
            equal(answer.status, status, (body, answer.body))
        refused(server.ask("POST", "/auth/links", [("Content-Type", "text/plain"), *bearer(admin)], b"{}"), 415,
                "unsupported_media_type")
        env = {**os.environ, "WEIR_KEY": admin}
        made = weir("key", "link", "--url", server.url(), env=env)
        equal((made.returncode, made.stderr), (0, b""))
        expect(made.stdout.decode().startswith(server.url("/#/link/")), "by the address that was named", made.stdout)


@case
def what_is_no_link_is_refused_and_a_flood_keeps_nobody_out():
    with Server(is_open=False) as server:
        key = make_key(server)
        token = make_link(server)
        turned = token[:-1] + ("A" if token[-1] != "A" else "B")
        for body, fields, status in (
                (to_json({"link": token}), EVIL, 403), (to_json({"link": token}), [("Origin", "null")], 403),
                (to_json({"link": 7}), [], 400), (to_json({"link": token, "apiKey": key}), [], 400), (to_json({"link": [token]}), [], 400),
                (to_json({"link": None}), [], 400), (to_json({"link": turned}), [], 401), (to_json({"link": token[1:]}), [], 401),
                (to_json({"link": token + "A"}), [], 401), (to_json({"link": ""}), [], 401), (to_json({"link": token.swapcase()}), [], 401),
                (to_json({"apiKey": token}), [], 401), (to_json({"link": key}), [], 401), (to_json({"link": "ü\u0000" * 5000}), [], 401)):
            answer = server.ask("POST", "/auth/session", [*JSON_FIELDS, *fields], body)
            equal((answer.status, answer.field("set-cookie")), (status, None), (body[:80], answer.body))
        equal(server.ask("POST", "/auth/session", [("Content-Type", "text/plain")], to_json({"link": token})).status, 415)
        with server.connect() as conn:
            conn.send(5 * MISSES * request_bytes("POST", "/auth/session", JSON_FIELDS, to_json({"link": turned})))
            answers = [conn.answer() for _ in range(5 * MISSES)]
        told = [int(answer.field("retry-after")) for answer in answers if answer.status == 429]
        n_refused = sum(answer.status == 401 for answer in answers)
        # The minute that they are counted in may be over in their midst.
        equal((len(told) + n_refused, n_refused <= 2 * MISSES), (5 * MISSES, True), "a flood of tokens is told to wait")
        expect(all(0 < wait_s <= 61 for wait_s in told), "Retry-After", told)
        equal(server.ask("POST", "/auth/session", bearer(key), b"").status, 200, "keys are not in the way of links")
        cookie_of(follow(server, token, OWN))


@case
def of_many_who_come_at_once_one_gets_in():
    with Server(is_open=False) as server:
        token = make_link(server)
        barrier = threading.Barrier(8)
        statuses = []

        def come():
            barrier.wait()
            statuses.append(follow(server, token, OWN).status)

        threads = [threading.Thread(target=come) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        equal(sorted(statuses), [200] + [401] * 7)


@case
def a_restart_ends_links_and_not_cookies():
    with Server(is_open=False) as server:
        cookie, unused = cookie_of(follow(server, make_link(server), OWN)), make_link(server)
        server.restart()
        refused(follow(server, unused, OWN), 401, "invalid_token", "no such link")
        equal(server.ask("GET", "/auth/session", cookie).status, 200, "the cookie")


@case
def without_keys_nobody_has_to_log_in():
    with Server() as server:
        equal(server.ask("GET", "/auth/session").json()["owner"], "me", "who am I")
        answer = follow(server, "whatever", OWN)
        equal((answer.status, answer.field("set-cookie")), (200, None))
        made = weir("key", "link", "--data", server.data)
        equal((made.returncode, made.stdout), (1, b""))
        expect(b"nobody has to log in" in made.stderr, "why", made.stderr)
        with server.connect() as conn:
            conn.send(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            refused(conn.answer(), 403, "forbidden", "localhost")


@case
def a_page_learns_who_looks_at_it_without_an_error():
    with Server(is_open=False) as server:
        key, slow = make_key(server, "--owner", "ann"), make_key(server, "--rate", "1/m", "--burst", "1")
        some = make_key(server, "--prefix", "a/")
        cookie = cookie_of(follow(server, make_link(server), OWN))
        for fields in ([], bearer("weir_no"), [("Authorization", "Basic YTpi")], [("Cookie", "a=b")], [*cookie, *bearer("weir_no")]):
            answer = server.ask("GET", "/auth/me", fields)
            equal((answer.status, answer.json(), answer.field("cache-control")), (200, None, "no-store"), fields)
            equal((answer.field("set-cookie"), answer.field("www-authenticate")), (None, None), fields)
        answer = server.ask("GET", "/auth/me", [("Cookie", "weir_session=no")])
        equal((answer.status, answer.json()), (200, None), "a cookie that is not good")
        expect("Max-Age=0" in answer.field("set-cookie"), "it is taken away", answer.field("set-cookie"))
        for fields, owner, access in ((bearer(key), "ann", "key"), (cookie, "me", "cookie"), (bearer(some), "me", "key")):
            me = server.ask("GET", "/auth/me", fields).json()
            who = server.ask("GET", "/v1/whoami", fields).json()
            equal((me["owner"], me["access"]), (owner, access))
            equal({**me, "now": 0}, {**who, "now": 0}, "what whoami says")
        equal(server.ask("GET", "/auth/me", bearer(slow)).status, 200)
        refused(server.ask("GET", "/auth/me", bearer(slow)), 429, "rate_limit_exceeded")
    with Server() as server:
        equal(server.ask("GET", "/auth/me").json()["access"], "open")


# ---- what weir serve says ----

def serve_at_terminal(data, until, *options):
    """What it prints on a terminal until something has come; it is ended then."""
    ours, theirs = pty.openpty()
    command = words_of("serve", "--data", data, "--listen", "127.0.0.1:0", *options)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    text = b""
    deadline = time.monotonic() + WAIT_S
    try:
        while not re.search(until, text):
            left = deadline - time.monotonic()
            expect(left > 0 and select.select([ours], [], [], left)[0], "in time", text)
            text += os.read(ours, 4096)
        return text.decode().replace("\r\n", "\n"), child
    except BaseException:
        child.kill()
        raise


def end(child):
    child.terminate()
    equal(child.wait(WAIT_S), 0, "exit status")


class At:
    """A server that somebody else started."""

    def __init__(self, url):
        self.port = self.own_port = int(url.rsplit(":", 1)[1])
        self.key = None

    ask, connect, port_for = Server.ask, Server.connect, Server.port_for


@case
def at_a_terminal_it_says_where_the_page_is():
    with tempfile.TemporaryDirectory() as data:
        for _ in range(2):
            text, child = serve_at_terminal(data, rb"makes another\)")
            try:
                match = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\nthe page is at \1/#/link/([\w-]{43})\n"
                                     r'\(the link works once, for 10 minutes; "weir key link" makes another\)\s*', text)
                expect(match, "what it says", text)
                cookie_of(follow(At(match.group(1)), match.group(2), OWN))
            finally:
                end(child)
        listed = weir("key", "list", "--data", data).stdout.decode().splitlines()[1:]
        equal(len(listed), 1, "one key for all starts")
    with tempfile.TemporaryDirectory() as data:
        text, child = serve_at_terminal(data, rb"page is at [^\r\n]*[\r\n]", "--open")
        end(child)
        expect(re.fullmatch(r"listening on (\S+)\nthe page is at \1/\n", text), "with --open", text)


@case
def elsewhere_it_says_no_link_and_makes_no_key():
    with Server(is_open=False) as server:
        equal(list_keys(server), [], "keys")
        server.stop()
        expect("link" not in server.errors(), "its messages", server.errors())


if __name__ == "__main__":
    main()
