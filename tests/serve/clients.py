#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/clients.py [CASE...]

Programs that we did not write, against the server: curl, the npm package "eventsource", a
browser's own EventSource in Chromium, and the load generators wrk and h2load.

The npm package is installed once into build/test-clients. A program that cannot be had is
skipped, and says so.
"""
import functools
import json
import re
import signal
import tempfile

import packages
from others import Pages, browser, curl, need, run
from support import (JSON_FIELDS, ROOT, WAIT_S, Lines, Server, Skip, case, equal, expect,
                     ids_of, main, make_certificate, make_key, to_json, values_of, weir)

# A browser waits for three seconds before it comes again, and may do so more than once.
RECONNECT_S = WAIT_S + 15


# ---- curl ----

@case
def curl_appends_and_watches():
    need("curl")
    with Server() as server:
        url = server.url("/v1/streams/a")
        with Lines("curl", "-sSN", url) as watching:
            for i in range(1, 4):
                done = curl("-d", json.dumps({"i": i}), "-H", "Content-Type: application/json", url)
                equal(json.loads(done.stdout), {"id": i}, done.stderr)
                equal([watching.next() for _ in range(3)], [f"id: {i}", f'data: {{"i": {i}}}', ""])
        done = curl("-N", "-H", "Last-Event-ID: 2", url + "?live=false")
        equal((done.returncode, done.stdout), (0, b'id: 3\ndata: {"i": 3}\n\n'), done.stderr)


@case
def curl_sends_bodies_in_every_way():
    with Server() as server, tempfile.NamedTemporaryFile() as file:
        value = ["x" * 500_000]
        file.write(to_json(value))
        file.flush()
        url = server.url("/v1/streams/a")
        json_type = ["-H", "Content-Type: application/json"]
        ways = [
            ["--data-binary", f"@{file.name}", *json_type],
            ["--data-binary", f"@{file.name}", *json_type, "-H", "Transfer-Encoding: chunked"],
            ["--data-binary", f"@{file.name}", *json_type, "-H", "Expect: 100-continue"],
            ["--data-binary", f"@{file.name}", *json_type, "--http1.0"],
            ["-X", "POST", "-T", file.name, *json_type],
            ["--json", f"@{file.name}"],
        ]
        for number, way in enumerate(ways, 1):
            done = curl("-w", "%{http_code} %{http_version}", *way, url)
            expect(done.stdout.decode().startswith('{"id":%d}201' % number), f"curl {way}", done)
        equal(values_of(server.replay("a")) == [value] * len(ways), True, "what was appended")


@case
def curl_keeps_the_connection_and_speaks_all_methods():
    with Server() as server:
        url = server.url()
        done = curl("-o", "/dev/null", "-w", "%{num_connects} ", f"{url}/healthz", "-o", "/dev/null",
                    f"{url}/readyz", "-o", "/dev/null", f"{url}/nothing")
        equal(done.stdout.split(), [b"1", b"0", b"0"], "connections made")
        equal(curl("-I", f"{url}/healthz").stdout.split(b" ")[1], b"200")
        equal(curl("-X", "OPTIONS", "-w", "%{http_code}", f"{url}/v1/streams/a").stdout, b"204")
        equal(curl("-f", f"{url}/nothing").returncode, 22)
        equal(curl("-d", "1", "-H", "Content-Type: application/json", f"{url}/v1/streams/a").returncode, 0)
        equal(curl("-X", "DELETE", "-w", "%{http_code}", f"{url}/v1/streams/a").stdout, b"204")
        done = curl("--compressed", f"{url}/healthz")
        equal((done.returncode, done.stdout), (0, b"ok\n"))


@case
def curl_over_tls():
    with tempfile.TemporaryDirectory() as folder:
        cert, key = make_certificate(folder)
        with Server("--tls-cert", cert, "--tls-key", key) as server:
            url = f"https://localhost:{server.port}/v1/streams/a"
            done = curl("--cacert", cert, "-w", " %{http_version}", "--json", "[1]", url)
            equal(done.stdout, b'{"id":1} 1.1', done.stderr)
            done = curl("--cacert", cert, "-N", url + "?live=false")
            equal((done.returncode, done.stdout), (0, b"id: 1\ndata: [1]\n\n"), done.stderr)


# ---- the npm package ----

@functools.cache
def folder_or_why():
    """Where the package is installed, or why it is not."""
    try:
        return packages.install(ROOT / "tests" / "serve" / "npm", "test-clients"), ""
    except Skip as why:
        return None, str(why)


def node_watch(*arguments):
    folder, why = folder_or_why()
    if folder is None:
        raise Skip(why)
    return Lines("node", "watch.mjs", *arguments, cwd=folder)


def is_id(number):
    return lambda line: line.get("id") == number


@case
def npm_eventsource_watches_and_resumes_after_a_restart():
    with Server() as server:
        server.append_all("a", ["one", "two"])
        with node_watch(server.url("/v1/streams/a")) as watching:
            lines = watching.until(is_id(2))
            equal(lines, [{"open": True}, {"id": 1, "data": "one"}, {"id": 2, "data": "two"}])
            server.append("a", {"three": [3, "é"]})
            equal(watching.until(is_id(3))[-1]["data"], {"three": [3, "é"]})
            for number, how in ((4, signal.SIGTERM), (6, signal.SIGKILL)):
                server.restart(how)
                server.append("a", number)
                server.append("a", number + 1)
                lines = watching.until(is_id(number + 1), RECONNECT_S)
                seen = [line["id"] for line in lines if "id" in line]
                equal(seen, [number, number + 1], f"after signal {how}")
        equal(ids_of(server.replay("a")), list(range(1, 8)))


@case
def npm_eventsource_takes_types_and_keys():
    with Server(is_open=False) as server:
        server.key = key = make_key(server)
        equal(server.ask("POST", "/v1/streams/a?event=note", JSON_FIELDS, b"1").status, 201)
        with node_watch(server.url("/v1/streams/a"), key) as watching:
            equal(watching.until(is_id(1))[-1], {"id": 1, "note": "1"})
        with node_watch(server.url(f"/v1/streams/a?api_key={key}")) as watching:
            equal(watching.until(is_id(1))[-1], {"id": 1, "note": "1"})
        with node_watch(server.url("/v1/streams/a")) as watching:
            equal(watching.until(lambda line: "error" in line)[-1], {"error": 401, "state": 2},
                  "without a key it does not come again")


# ---- a browser ----

PAGE = """<!doctype html><title>weir</title><script>
let queue = Promise.resolve()
const say = (what) => {
  queue = queue.then(() => fetch('/report', {method: 'POST', body: JSON.stringify(what)}))
}
const source = new EventSource(TARGET)
source.onopen = () => say({open: true})
source.onmessage = (event) => say({id: Number(event.lastEventId), data: JSON.parse(event.data)})
source.onerror = () => say({error: true, state: source.readyState})
fetch(POST_TARGET, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '"by fetch"'})
  .then((answer) => answer.json()).then((answer) => say({posted: answer.id}))
  .catch((problem) => say({failed: String(problem)}))
</script>"""


SIMPLE_PAGE = """<!doctype html><title>weir</title><script>
const bodies = ['1', new Blob(['1']), new Blob(['1'], {type: 'text/plain'}), new URLSearchParams('a=1'),
                new TextEncoder().encode('1'), new FormData()]
const send = async () => {
  for (const body of bodies) {
    await fetch(TARGET, {method: 'POST', mode: 'no-cors', body}).catch(() => 0)
    navigator.sendBeacon(TARGET, body)
  }
  await fetch('/report', {method: 'POST', body: JSON.stringify({sent: bodies.length})})
}
send()
</script>"""


def watching_page(server, query=""):
    """Watches stream a and appends to b."""
    page = PAGE.replace("POST_TARGET", json.dumps(server.url(f"/v1/streams/b{query}")))
    return page.replace("TARGET", json.dumps(server.url(f"/v1/streams/a{query}")))


def simple_page(server):
    """Appends by every request that a browser sends without asking."""
    return SIMPLE_PAGE.replace("TARGET", json.dumps(server.url("/v1/streams/a")))


@case
def browser_eventsource_watches_and_resumes_after_a_restart():
    need("chromium")
    with Pages() as pages, Server("--cors-origin", f"http://127.0.0.1:{pages.port}") as server:
        server.append_all("a", ["one", "two"])
        with browser(pages.show(watching_page(server))):
            pages.wait(is_id(2), "the page has what is there", WAIT_S * 2)
            pages.wait(lambda report: "posted" in report or "failed" in report, "the page has posted")
            expect({"posted": 1} in pages.reports, "an append by the page", pages.reports)
            server.append("a", {"three": 3})
            pages.wait(is_id(3), "a live event has come")
            for number, how in ((4, signal.SIGTERM), (6, signal.SIGKILL)):
                server.restart(how)
                server.append_all("a", [number, number + 1])
                pages.wait(is_id(number + 1), f"it came again after signal {how}", RECONNECT_S)
            equal(pages.ids(), list(range(1, 8)), "ids that the page saw")
        equal(server.replay("b"), [(1, b'"by fetch"')])


@case
def browser_of_another_origin_sees_nothing():
    need("chromium")
    with Pages() as pages, Server() as server:
        server.append("a", "secret")
        with browser(pages.show(watching_page(server))):
            pages.wait(lambda report: report.get("state") == 2, "the stream was refused", WAIT_S * 2)
            pages.wait(lambda report: "failed" in report, "the append was refused")
            equal(pages.ids(), [])
        equal(server.replay("b"), [], "nothing was appended")


@case
def browser_of_another_origin_cannot_append_without_asking():
    need("chromium")
    with Pages() as pages, Server() as server:
        with browser(pages.show(simple_page(server))):
            pages.wait(lambda report: report.get("sent") == 6, "the page has sent all", WAIT_S * 2)
        equal(server.replay("a"), [], "what a page could append")


@case
def browser_reads_by_a_link_and_comes_again_with_it():
    need("chromium")
    with Pages() as pages, \
            Server("--cors-origin", f"http://127.0.0.1:{pages.port}", is_open=False) as server:
        server.key = make_key(server)
        path = weir("link", "create", "a", "--data", server.data).stdout.decode().strip()
        server.append("a", "one")
        with browser(pages.show(watching_page(server, path[path.index("?"):]))):
            pages.wait(is_id(1), "the page has what is there", WAIT_S * 2)
            pages.wait(lambda report: report == {}, "an append was answered, but with no id")
            server.restart(signal.SIGKILL)
            server.append("a", "two")
            pages.wait(is_id(2), "it came again", RECONNECT_S)
            equal(pages.ids(), [1, 2], "ids that the page saw")
        equal(server.replay("b"), [], "nothing was appended")


# ---- load generators ----

def expect_wrk(*words):
    need("wrk")
    done = run("wrk", "-t1", "-d2s", "--timeout", "10s", *words)
    text = done.stdout.decode()
    equal(done.returncode, 0, text + done.stderr.decode())
    expect("Socket errors" not in text and "Non-2xx" not in text, "errors", text)
    n = int(re.search(r"(\d+) requests in", text).group(1))
    expect(n > 0, "requests", text)
    return n


@case
def wrk_finishes_without_errors():
    with Server() as server:
        expect_wrk("-c32", server.url("/healthz"))
        server.append_all("a", list(range(300)))
        expect_wrk("-c8", server.url("/v1/streams/a?live=false"))


@case
def wrk_appends_without_errors():
    with Server() as server, tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write('wrk.method = "POST"\nwrk.body = [[{"a":1}]]\n'
                     'wrk.headers["Content-Type"] = "application/json"\n')
        script.flush()
        n = expect_wrk("-c16", "-s", script.name, server.url("/v1/streams/a"))
        last = int(server.ask("HEAD", "/v1/streams/a").field("weir-last-id"))
        # What was in flight when wrk stopped counting may be there, too.
        expect(n <= last <= n + 16, f"{n} answers, {last} events")


def expect_h2load(n, *words):
    need("h2load")
    done = run("h2load", "--h1", "-t", "1", "-n", str(n), *words)
    text = done.stdout.decode()
    equal(done.returncode, 0, text + done.stderr.decode())
    expect(f"{n} total, {n} started, {n} done, {n} succeeded, 0 failed, 0 errored, 0 timeout" in text,
           "requests", text)
    expect(f"status codes: {n} 2xx, 0 3xx, 0 4xx, 0 5xx" in text, "status codes", text)


@case
def h2load_finishes_without_errors():
    with Server() as server, tempfile.NamedTemporaryFile() as body:
        body.write(b'{"a":[1,2,3]}')
        body.flush()
        expect_h2load(5000, "-c", "16", server.url("/healthz"))
        expect_h2load(5000, "-c", "4", "-m", "16", server.url("/healthz"))
        expect_h2load(2000, "-c", "16", "-m", "4", "-d", body.name, "-H", "content-type: application/json",
                      server.url("/v1/streams/a"))
        equal(ids_of(server.replay("a")), list(range(1, 2001)))


if __name__ == "__main__":
    main()
