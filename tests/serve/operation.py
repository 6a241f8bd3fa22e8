#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/serve/operation.py [CASE...]

What whoever runs the server relies on: keys and rates, TLS, refusals to start, the service
manager, health, metrics, the access log, and how it goes down.
"""
import contextlib
import json
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import tempfile
import time

from crowd import Crowd, Reader, Writer
from support import (JSON_FIELDS, WAIT_S, Conn, Failure, Server, Skip, Watch, appended_id, bearer, case, equal,
                     expect, ids_of, main, make_certificate, make_key, post_bytes, request_bytes,
                     to_json, values_of, wait_until, weir, words_of)

# ---- keys ----

@case
def keys_open_the_door_and_nothing_else_does():
    with Server(is_open=False) as server:
        key = make_key(server)
        other = key[:-1] + ("A" if key[-1] != "A" else "B")
        table = [
            ([], 401, "missing_authorization"),
            ([("Authorization", "")], 401, None),
            ([("Authorization", "Bearer")], 401, None),
            ([("Authorization", "Bearer ")], 401, None),
            ([("Authorization", f"Basic {key}")], 401, None),
            ([("Authorization", key)], 401, None),
            (bearer("weir_x"), 401, "invalid_token"),
            (bearer(other), 401, "invalid_token"),
            (bearer(key + "A"), 401, "invalid_token"),
            (bearer(key[:-1]), 401, "invalid_token"),
            (bearer(key.upper()), 401, "invalid_token"),
            (bearer("x" * 5000), 401, "invalid_token"),
        ]
        for fields, status, code in table:
            answer = server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *fields], b"1")
            equal(answer.status, status, f"{fields!r:.60}")
            seen = answer.error()
            expect(code is None or seen == code, f"{fields!r:.60}", seen)
            expect("www-authenticate" in dict(answer.fields), "WWW-Authenticate", answer.fields)
        for scheme in ("Bearer", "bearer", "BEARER"):
            answer = server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, ("Authorization", f"{scheme} {key}")],
                                b"1")
            equal(answer.status, 201, scheme)
        for target in ("/healthz", "/readyz", "/docs/errors"):
            equal(server.ask("GET", target).status, 200, target)
        equal(server.ask("GET", "/nothing").status, 404)


@case
def key_in_the_query_is_for_watching_alone():
    with Server(is_open=False) as server:
        key = make_key(server)
        answer = server.ask("POST", f"/v1/streams/a?api_key={key}", JSON_FIELDS, b"1")
        equal(answer.status, 401, "an append")
        answer = server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *bearer(key)], b"1")
        equal(answer.status, 201)
        with server.watch("a", f"?live=false&api_key={key}") as watch:
            equal(watch.rest(), [(1, b"1")])
        with server.watch("a", "?live=false&api_key=weir_x") as watch:
            equal(watch.refusal().error(), "invalid_token")
        with server.watch("a", "?live=false") as watch:
            equal(watch.refusal().error(), "missing_authorization")
        equal(server.ask("DELETE", f"/v1/streams/a?api_key={key}").status, 401)


@case
def scopes_are_kept():
    with Server(is_open=False) as server:
        reader = make_key(server, "--scopes", "read")
        writer = make_key(server, "--scopes", "write")
        admin = make_key(server, "--scopes", "admin")
        table = [
            ("POST", "/v1/streams/a", b"1", {"write": 201}),
            ("GET", "/v1/streams/a?live=false", None, {"read": 200}),
            ("HEAD", "/v1/streams/a", None, {"read": 200}),
            ("GET", "/v1/keys", None, {"admin": 200}),
            ("GET", "/v1/whoami", None, {"read": 200, "write": 200, "admin": 200}),
            ("POST", "/v1/keys", b"{}", {"admin": 201}),
            ("DELETE", "/v1/streams/a", None, {"write": 204}),
        ]
        for method, target, body, allowed in table:
            for scope, key in (("read", reader), ("admin", admin), ("write", writer)):
                answer = server.ask(method, target, [*JSON_FIELDS, *bearer(key)], body)
                equal(answer.status, allowed.get(scope, 403), f"{scope}: {method} {target}")
                if answer.status == 403 and method != "HEAD":
                    equal(answer.error(), "forbidden")


@case
def who_asks_is_told_who_that_is():
    with Server(is_open=False) as server:
        key = make_key(server, "--prefix", "chat/", "--owner", "ada", "--label", "x")
        answer = server.ask("GET", "/v1/whoami", bearer(key))
        seen = answer.json()
        equal(answer.field("cache-control"), "no-store")
        equal((seen["access"], seen["owner"], seen["scopes"]), ("key", "ada", ["read", "write"]))
        equal((seen["key"]["name"], seen["key"]["prefix"]), (key.split("_")[1], "chat/"))
        expect(key.split("_", 2)[2] not in answer.body.decode(), "its secret")
        equal(server.ask("GET", "/v1/whoami").error(), "missing_authorization")
        equal(server.ask("GET", "/v1/whoami?link=1.2.x").error(), "forbidden")
        equal(server.ask("GET", f"/v1/whoami?api_key={key}").status, 401)
    with Server() as server:
        seen = server.ask("GET", "/v1/whoami").json()
        equal((seen["access"], seen["owner"], seen["key"]), ("open", "me", None))


@case
def probes_get_comments_again_and_again():
    with Server() as server, server.watch("nothing-here", "?probe=true") as watch:
        body = b""
        while body.count(b": hb\n\n") < 4:
            expect(watch._more(), "the stream goes on")
            body, watch.unread = body + watch.unread, b""
        expect(body.replace(b"6\r\n: hb\n\n\r\n", b"") == b"", "comments and nothing else", body)
        equal(server.ask("GET", "/v1/streams/a?probe=maybe").error(), "invalid_field")


@case
def keys_can_be_made_and_revoked_while_it_runs():
    with Server(is_open=False) as server:
        early = make_key(server)
        late = make_key(server, "--label", "late one")
        ask = lambda key: server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *bearer(key)], b"1").status
        equal((ask(early), ask(late)), (201, 201))
        with server.watch("a", f"?api_key={late}") as watch:
            watch.events(2)
            done = weir("key", "revoke", late.split("_")[1], "--data", server.data)
            equal(done.returncode, 0, done.stderr.decode())
            equal((ask(early), ask(late)), (201, 401), "at once")
        server.restart()
        equal((ask(early), ask(late)), (201, 401), "after a restart")
        server.stop()
        offline = make_key(server)
        server.start()
        equal((ask(early), ask(late), ask(offline)), (201, 401, 201), "one made meanwhile")
        done = weir("key", "list", "--data", server.data)
        equal(done.returncode, 0, done.stderr.decode())
        text = done.stdout.decode()
        for key in (early, late, offline):
            expect(key.split("_")[1] in text, "a name in the list")
            expect(key.split("_", 2)[2] not in text, "a secret in the list")
        expect("late one" in text and "revoked" in text, "the list", text)


@case
def secrets_are_nowhere_in_the_folder_or_the_logs():
    with Server("--access-log", "-", is_open=False) as server:
        key = make_key(server)
        server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *bearer(key)], b"1")
        with server.watch("a", f"?live=false&api_key={key}") as watch:
            watch.rest()
        server.ask("GET", f"/nothing?api_key={key}")
        server.ask("GET", f"/v1/streams/a?api_key={key}x")
        server.stop()
        secret = key.split("_", 2)[2].encode()
        expect("streams.append" in server.errors(), "an access log", server.errors()[:300])
        expect(secret.decode() not in server.errors(), "the secret is in the log")
        for folder, _, files in os.walk(server.data):
            for name in files:
                if name.endswith(".sock"):
                    continue
                with open(os.path.join(folder, name), "rb") as file:
                    expect(secret not in file.read(), f"the secret is in {name}")


@case
def rate_of_a_key_is_limited_and_recovers():
    with Server(is_open=False) as server:
        key = make_key(server, "--rate", "2/s", "--burst", "5")
        free = make_key(server)
        ask = lambda k: server.ask("POST", "/v1/streams/a", [*JSON_FIELDS, *bearer(k)], b"1")
        with server.connect() as conn:
            for _ in range(12):
                conn.request("POST", "/v1/streams/a", [*JSON_FIELDS, *bearer(key)], b"1")
            answers = [conn.answer("POST") for _ in range(12)]
        statuses = [answer.status for answer in answers]
        expect(statuses[:5] == [201] * 5, "the burst", statuses)
        refused = [answer for answer in answers if answer.status == 429]
        expect(refused, "none was refused", statuses)
        for answer in refused:
            equal(answer.error(), "rate_limit_exceeded")
            expect(re.fullmatch(r"[1-9]\d*", answer.field("retry-after") or ""), "Retry-After", answer.fields)
            expect(int(answer.field("retry-after")) <= 3, "Retry-After", answer.fields)
        equal(ask(free).status, 201, "another key")
        wait_until(lambda: ask(key).status == 201, "the key may again")


@case
def keys_resource_works_over_http():
    with Server(is_open=False) as server:
        admin = make_key(server, "--scopes", "admin,read,write")
        made = server.ask("POST", "/v1/keys", [*JSON_FIELDS, *bearer(admin)],
                          to_json({"label": "x\"y", "scopes": ["read"]}))
        equal(made.status, 201, made.body)
        key = made.json()["key"]
        with server.watch("a", f"?live=false&api_key={key}") as watch:
            equal(watch.opening.status, 200)
        names = [one["name"] for one in server.ask("GET", "/v1/keys", bearer(admin)).json()["keys"]]
        expect(key.split("_")[1] in names, "the list", names)
        equal(server.ask("DELETE", f"/v1/keys/{key.split('_')[1]}", bearer(admin)).status, 204)
        with server.watch("a", f"?live=false&api_key={key}") as watch:
            equal(watch.refusal().status, 401)
        for body in (b"[]", b'{"scopes":["root"]}', b'{"rate":-1}', b'{"label":"' + b"x" * 500 + b'"}', b"{"):
            answer = server.ask("POST", "/v1/keys", [*JSON_FIELDS, *bearer(admin)], body)
            equal(answer.status, 400, repr(body[:40]))
            answer.error()


@case
def control_socket_is_for_its_user_alone():
    with Server(is_open=False) as server:
        path = os.path.join(server.data, "control.sock")
        equal(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, "rights of others")
        make_key(server)


@case
def backup_under_load_is_a_whole_prefix():
    with tempfile.TemporaryDirectory() as folder, Server() as server, Crowd() as crowd:
        acked = 0

        def on_answer(writer, token, status, body):
            nonlocal acked
            equal(status, 201)
            acked += 1
            writer.append(0, "a", b"1")

        for _ in range(4):
            writer = Writer(crowd, server.port, on_answer)
            for _ in range(8):
                writer.append(0, "a", b"1")
        crowd.run(lambda: acked > 300, "there is load")
        least = acked
        os.mkdir(os.path.join(folder, "data"))
        copy = os.path.join(folder, "data", "weir.db")
        child = subprocess.Popen(words_of("store", "backup", copy, "--data", server.data),
                                 stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        crowd.run(lambda: child.poll() is not None, "the backup is done")
        equal(child.returncode, 0, child.communicate()[1].decode())
        crowd.run(lambda: acked > least + 300, "the load went on")
        with Server(data=os.path.join(folder, "data")) as second:
            events = second.replay("a")
            equal(ids_of(events), list(range(1, len(events) + 1)))
            expect(least <= len(events) <= acked + 32, "events in the copy", len(events), least, acked)
        done = weir("store", "check", "--data", server.data)
        equal(done.returncode, 0, done.stdout.decode() + done.stderr.decode())


# ---- TLS ----

def tls_client(cert, **options):
    context = ssl.create_default_context(cafile=cert)
    for name, value in options.items():
        setattr(context, name, value)
    return context


def certificate_of(conn):
    return conn.sock.getpeercert(binary_form=True)


@case
def tls_serves_requests_and_streams():
    with tempfile.TemporaryDirectory() as folder:
        cert, key = make_certificate(folder)
        with Server("--tls-cert", cert, "--tls-key", key) as server:
            equal(server.scheme, "https")
            client = tls_client(cert)
            client.set_alpn_protocols(["h2", "http/1.1"])
            large = to_json("x" * 900_000)
            with Conn(server, tls=client) as conn:
                equal(conn.sock.selected_alpn_protocol(), "http/1.1")
                equal(appended_id(conn.ask("POST", "/v1/streams/a", JSON_FIELDS, b"1")), 1)
                equal(appended_id(conn.ask("POST", "/v1/streams/a", JSON_FIELDS, large)), 2)
                conn.send(request_bytes("GET", "/healthz") * 20)
                equal([conn.answer().status for _ in range(20)], [200] * 20)
                with Watch(server, "/v1/streams/a", tls=tls_client(cert)) as watch:
                    equal(watch.must_next(), (1, b"1"))
                    equal(watch.must_next(), (2, large))
                    conn.ask("POST", "/v1/streams/a", JSON_FIELDS, b"3")
                    equal(watch.must_next(), (3, b"3"))
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                with Conn(server, tls=tls_client(cert, minimum_version=version,
                                                 maximum_version=version)) as conn:
                    equal(conn.ask("GET", "/healthz").status, 200)


@case
def tls_port_survives_what_is_not_tls():
    with tempfile.TemporaryDirectory() as folder:
        cert, key = make_certificate(folder)
        with Server("--tls-cert", cert, "--tls-key", key) as server:
            hello = bytes.fromhex("160301")
            for data in (request_bytes("GET", "/healthz"), b"\x00" * 100, hello, hello + b"\xff" * 300, b""):
                with Conn(server) as conn:
                    conn.send(data)
                    with contextlib.suppress(OSError):
                        conn.end_sending()
                    rest = conn.take_all()
                    expect(not rest.startswith(b"HTTP/1.1 200"), "answered in the clear", rest)
            with Conn(server, tls=tls_client(cert)) as conn:
                equal(conn.ask("GET", "/healthz").status, 200)


@case
def handshakes_that_do_not_come_to_an_end_are_cut():
    with tempfile.TemporaryDirectory() as folder:
        cert, key = make_certificate(folder)
        with Server("--tls-cert", cert, "--tls-key", key, "--head-timeout", "1s",
                    "--idle-timeout", "1s") as server:
            with Conn(server) as silent, Conn(server) as half:
                half.send(bytes.fromhex("16030100a5010000a10303"))
                begin = time.monotonic()
                silent.take_all()
                half.take_all()
                took = time.monotonic() - begin
                expect(took < 10 * max(1, WAIT_S / 30), f"cut after {took:.1f} s")
            with Conn(server, tls=tls_client(cert)) as conn:
                equal(conn.ask("GET", "/healthz").status, 200)


@case
def hangup_reloads_the_certificate():
    with tempfile.TemporaryDirectory() as folder:
        cert, key = make_certificate(folder)
        with Server("--tls-cert", cert, "--tls-key", key) as server, \
                Conn(server, tls=tls_client(cert)) as old:
            first = certificate_of(old)
            equal(old.ask("GET", "/healthz").status, 200)
            make_certificate(folder)

            anyone = tls_client(None, check_hostname=False, verify_mode=ssl.CERT_NONE)

            def served():
                with Conn(server, tls=anyone) as conn:
                    return certificate_of(conn)

            equal(served(), first, "before the signal")
            server.send_signal(signal.SIGHUP)
            wait_until(lambda: served() != first, "the new certificate is served")
            second = served()
            with Conn(server, tls=tls_client(cert)) as conn:
                equal(conn.ask("GET", "/healthz").status, 200)
            equal(old.ask("GET", "/healthz").status, 200, "the connection from before")
            with open(cert, "w", encoding="ascii") as file:
                file.write("-----BEGIN NONSENSE-----\n")
            server.send_signal(signal.SIGHUP)
            wait_until(lambda: server.errors().strip(), "it says that the file is bad")
            equal(served(), second, "the last good certificate stays")


@case
def tls_with_bad_files_is_told():
    with tempfile.TemporaryDirectory() as folder:
        cert, key = make_certificate(folder)
        os.mkdir(os.path.join(folder, "other"))
        _, other_key = make_certificate(os.path.join(folder, "other"))
        for options in ((cert, other_key), (cert, folder + "/nothing"), (key, cert)):
            expect_refusal(["--open", "--listen", "127.0.0.1:0", "--tls-cert", options[0], "--tls-key",
                            options[1]])


# ---- starting ----

def expect_refusal(options, status=None, words=()):
    with tempfile.TemporaryDirectory() as data:
        done = weir("serve", "--data", data, *options)
        expect(done.returncode > 0, f"{options} ended with {done.returncode}")
        expect(status is None or done.returncode == status, f"{options}: status {done.returncode}",
               done.stderr)
        expect(done.stderr.strip(), f"{options} said nothing")
        equal(done.stdout, b"", f"{options}: output")
        for word in words:
            expect(word in done.stderr.decode(), f"{word} in what it says", done.stderr)


@case
def wrong_usage_is_told():
    expect_refusal(["--nonsense"], 2)
    expect_refusal(["--listen", "nonsense"])
    expect_refusal(["--listen", "127.0.0.1:99999"])
    expect_refusal(["--listen", "127.0.0.1:0", "--open", "word"], 2)


@case
def open_on_a_public_address_is_refused():
    expect_refusal(["--open", "--listen", "0.0.0.0:0"], words=["--open"])
    expect_refusal(["--open", "--listen", "[::]:0"], words=["--open"])


@case
def root_on_a_public_address_is_refused():
    if os.getuid() != 0:
        raise Skip("this is not root")
    expect_refusal(["--listen", "0.0.0.0:0"], words=["--user"])


@case
def port_in_use_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        expect_refusal(["--open", "--listen", f"127.0.0.1:{taken.getsockname()[1]}"])


@case
def ipv6_is_served():
    if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
        raise Skip("there is no IPv6 here")
    with tempfile.TemporaryDirectory() as data:
        child = subprocess.Popen(words_of("serve", "--data", data, "--open", "--listen", "[::1]:0"),
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            line = child.stdout.readline().decode()
            match = re.fullmatch(r"listening on http://\[::1\]:(\d+)\n", line)
            expect(match, "first line", line)
            with socket.create_connection(("::1", int(match.group(1))), WAIT_S) as sock:
                sock.sendall(request_bytes("GET", "/healthz"))
                expect(sock.recv(100).startswith(b"HTTP/1.1 200"), "an answer")
        finally:
            child.terminate()
            equal(child.wait(WAIT_S), 0)


@case
def socket_of_the_service_manager_is_used_and_it_is_notified():
    with tempfile.TemporaryDirectory() as folder, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify, \
            socket.create_server(("127.0.0.1", 0)) as listener:
        path = os.path.join(folder, "notify")
        notify.bind(path)
        notify.settimeout(WAIT_S)
        script = 'exec 3<&"$0"; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
        number = listener.fileno()
        child = subprocess.Popen(["bash", "-c", script, str(number),
                                  *words_of("serve", "--data", os.path.join(folder, "data"), "--open")],
                                 pass_fds=[number], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**os.environ, "NOTIFY_SOCKET": path})
        try:
            line = child.stdout.readline().decode()
            port = listener.getsockname()[1]
            equal(line, f"listening on http://127.0.0.1:{port}\n", child.poll())
            expect("READY=1" in notify.recv(4096).decode(), "READY=1")
            with socket.create_connection(("127.0.0.1", port), WAIT_S) as sock:
                sock.sendall(request_bytes("GET", "/healthz"))
                expect(sock.recv(100).startswith(b"HTTP/1.1 200"), "an answer")
            child.terminate()
            expect("STOPPING=1" in notify.recv(4096).decode(), "STOPPING=1")
            equal(child.wait(WAIT_S), 0)
        finally:
            child.kill()
            child.communicate()


@case
def health_and_readiness_are_told():
    with Server() as server:
        equal(server.ask("GET", "/healthz").status, 200)
        equal(server.ask("GET", "/readyz").status, 200)


METRIC = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^{}]*\})? (NaN|[+-]?Inf|[0-9.eE+-]+)")


@case
def metrics_are_what_prometheus_reads():
    with Server() as server:
        server.append_all("a", [1, 2, 3])
        server.replay("a")
        server.ask("GET", "/nothing")
        with server.watch("a"):
            answer = server.ask("GET", "/metrics")
        expect(answer.field("content-type").startswith("text/plain"), "Content-Type")
        kinds, names = {}, set()
        for text in answer.body.decode().splitlines():
            if text.startswith("# TYPE "):
                _, _, name, kind = text.split(" ")
                expect(name not in kinds, f"{name} twice")
                kinds[name] = kind
            elif text and not text.startswith("#"):
                match = METRIC.fullmatch(text)
                expect(match, "a sample", text)
                names.add(match.group(1))
        for name in names:
            base = re.sub("_(bucket|sum|count)$", "", name)
            expect(name in kinds or kinds.get(base) == "histogram", f"{name} has no type")
        text = answer.body.decode()
        for word in ("connections", "subscribers", "append", "batch", "lag", "replay", "error"):
            expect(word in text, f"no metric of {word}")
        wait_until(lambda: server.metric("weir_subscribers") == 0, "the reader is forgotten")


@case
def access_log_is_one_line_of_json_for_each_request():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "access.log")
        with Server("--access-log", path) as server:
            server.append("a", 1)
            server.replay("a")
            server.ask("GET", '/no"thing%0a{}', [("X-Request-Id", "my-id")])
            with server.connect() as conn:
                conn.send(b"garbage\r\n\r\n")
                conn.take_all()
            os.rename(path, path + ".1")
            server.send_signal(signal.SIGHUP)
            wait_until(lambda: os.path.exists(path), "the log is opened again")
            server.healthy()
            server.stop()
            lines = []
            for name in (path + ".1", path):
                with open(name, encoding="utf-8") as file:
                    lines += [json.loads(text) for text in file]
        routes = [line.get("route") for line in lines]
        expect("streams.append" in routes and "streams.watch" in routes, "routes", routes)
        expect(any(line["request_id"] == "my-id" and line["status"] == 404 for line in lines), "the 404",
               lines)


# ---- stopping ----

@case
def going_down_ends_streams_after_an_event_and_answers_what_is_in_flight():
    """Under load: every stream ends as a whole, every append that was taken is answered."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with Server() as server, Crowd() as crowd:
            acked = {}
            is_down = False

            def on_answer(writer, token, status, body):
                if status == 201:
                    acked[json.loads(body)["id"]] = token
                elif status != 503:
                    raise Failure(f"{status} {body!r}")
                if not is_down and writer.is_open:
                    on_answer.n += 1
                    writer.append(on_answer.n, "a", to_json(on_answer.n))

            on_answer.n = 0
            readers = [Reader(crowd, server.port, "a") for _ in range(50)]
            writers = [Writer(crowd, server.port, on_answer) for _ in range(4)]
            for writer in writers:
                for _ in range(8):
                    on_answer.n += 1
                    writer.append(on_answer.n, "a", to_json(on_answer.n))
            crowd.run(lambda: len(acked) > 500, "there is load")
            server.send_signal(number)
            is_down = True
            crowd.drain()
            equal(server.wait(), 0, "exit status")
            expect(all(reader.has_ended for reader in readers), "a stream broke off")
            server.start()
            events = server.replay("a")
            equal(ids_of(events), list(range(1, len(events) + 1)))
            values = values_of(events)
            for event_id, token in acked.items():
                equal(values[event_id - 1], token, f"event {event_id}")
            expect(all(reader.last_id <= len(events) for reader in readers), "readers saw more")


@case
def going_down_takes_no_new_connections():
    with Server() as server, server.connect() as hanging:
        hanging.send(post_bytes(None, fields=[("Content-Length", "10")]) + b'"')
        server.healthy()
        server.send_signal(signal.SIGTERM)

        def is_refused():
            try:
                with server.connect() as conn:
                    conn.request("GET", "/healthz")
                    return conn.take_all() == b""
            except OSError:
                return True

        wait_until(is_refused, "new connections are refused")
        try:
            hanging.send(b'x"      "'[:9])
            rest = hanging.take_all()
            expect(rest == b"" or rest.startswith((b"HTTP/1.1 201", b"HTTP/1.1 400", b"HTTP/1.1 503")),
                   "what was in flight", rest)
        except OSError:
            pass
        equal(server.wait(), 0, "exit status")


@case
def idle_connections_do_not_hold_it_up():
    with Server() as server, server.connect() as idle, server.connect() as silent:
        equal(idle.ask("GET", "/healthz").status, 200)
        begin = time.monotonic()
        equal(server.stop(), 0)
        expect(time.monotonic() - begin < 8 * max(1, WAIT_S / 30), "it took its time")
        idle.expect_end()
        silent.expect_end()


@case
def grace_time_ends_what_does_not_end():
    with Server("--grace", "1s") as server, server.connect() as hanging:
        hanging.send(post_bytes(None, fields=[("Content-Length", "10")]) + b'"')
        server.append("a", "x" * 900_000)
        with server.watch("a", receive_bytes=4096) as stalled:
            begin = time.monotonic()
            server.send_signal(signal.SIGTERM)
            status = server.wait()
            took = time.monotonic() - begin
            expect(took < 1 + 6 * max(1, WAIT_S / 30), f"it took {took:.1f} s")
            equal(status, 0, "exit status")
            stalled.saw_end or stalled.take_all()


@case
def second_signal_ends_it_at_once():
    with Server() as server, server.connect() as hanging:
        equal(server.append("a", 1), 1)
        hanging.send(post_bytes(None, fields=[("Content-Length", "10")]) + b'"')
        server.healthy()
        server.send_signal(signal.SIGTERM)
        wait_until(lambda: not server.is_served(), "it goes down")
        if server.child.poll() is None:
            begin = time.monotonic()
            server.send_signal(signal.SIGTERM)
            server.wait()
            took = time.monotonic() - begin
            expect(took < 3 * max(1, WAIT_S / 30), f"it took {took:.1f} s")
        server.start()
        equal(server.replay("a"), [(1, b"1")])


if __name__ == "__main__":
    main()
