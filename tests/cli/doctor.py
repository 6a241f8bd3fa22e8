#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/doctor.py [WEIR]

`weir doctor` against a real server, directly and through proxies that misbehave each in a way of
its own. What it has to find is which check fails, and what it says to do. Every way is looked at
at the same time: most of them is waiting.
"""
import datetime
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from support import Counter, program, run

NEVER = 60
TRIES = 3  # it judges by when things come, and where the machine is held up they do not come one by one


class Proxy:
    """Passes bytes on, both ways; what it does to them is up to its kind."""

    def __init__(self, upstream, tls=None):
        self.upstream, self.tls = upstream, tls
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://localhost:{self.port}"

    def accept(self):
        while True:
            try:
                peer = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        try:
            if self.tls:
                peer = self.tls.wrap_socket(peer, server_side=True)
            with peer, socket.create_connection(("127.0.0.1", self.upstream)) as server:
                threading.Thread(target=self.pass_requests, args=(peer, server), daemon=True).start()
                self.pass_answers(server, peer)
        except OSError:
            pass

    def pass_requests(self, peer, server):
        try:
            while True:
                data = peer.recv(65536)
                if not data:
                    server.shutdown(socket.SHUT_WR)
                    return
                server.sendall(self.request(data))
        except OSError:
            pass

    def pass_answers(self, server, peer):
        while True:
            data = server.recv(65536)
            if not data:
                return
            peer.sendall(self.answer(data))

    def request(self, data):
        return data

    def answer(self, data):
        return data


class Holding(Proxy):
    """nginx as it comes: a stream is kept until it is over."""

    def pass_answers(self, server, peer):
        while True:
            data = server.recv(65536)
            if not data:
                return
            if b"text/event-stream" not in data:
                peer.sendall(data)
                continue
            head = data.split(b"\r\n\r\n")[0]
            peer.sendall(head + b"\r\nServer: nginx/1.22.1\r\n\r\n")
            while server.recv(65536):
                pass


class Lumping(Proxy):
    """Everything of a second and a half at once."""

    def pass_answers(self, server, peer):
        waiting, since = b"", None
        while True:
            if since is not None and time.monotonic() > since + 1.5:
                peer.sendall(waiting)
                waiting, since = b"", time.monotonic()
            if not select.select([server], [], [], 0.05)[0]:
                continue
            data = server.recv(65536)
            if not data:
                return
            if since is None and b"text/event-stream" not in data:
                peer.sendall(data)
                continue
            since = since or time.monotonic()
            waiting += data


class Stripping(Proxy):
    def __init__(self, upstream, name):
        self.name = name
        super().__init__(upstream)

    def request(self, data):
        return re.sub(rb"(?im)^" + self.name + rb":[^\r]*\r\n", b"", data)


class Compressing(Proxy):
    def __init__(self, upstream, what):
        self.what = what
        super().__init__(upstream)

    def answer(self, data):
        field = b"\r\nServer: Caddy\r\nContent-Encoding: gzip\r\n\r\n"
        return data.replace(b"\r\n\r\n", field, 1) if self.what in data else data


class Late(Proxy):
    """Whose clock, and that of the server behind it, is an hour slow."""

    def answer(self, data):
        hour = datetime.timedelta(hours=1)

        def shift(form):
            return lambda m: m[1] + (datetime.datetime.strptime(m[2].decode(), form) - hour).strftime(form).encode()

        data = re.sub(rb'("now":")(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)', shift("%Y-%m-%dT%H:%M:%S"), data)
        return re.sub(rb"(Date: )(\w+, \d\d \w+ \d{4} \d\d:\d\d:\d\d)", shift("%a, %d %b %Y %H:%M:%S"), data)


class Renaming(Proxy):
    def answer(self, data):
        return data.replace(b"text/event-stream", b"text/plain")


class Alone(Proxy):
    """A proxy with nothing behind it."""

    def serve(self, peer):
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 502 Bad Gateway\r\nServer: nginx\r\nContent-Length: 4\r\n"
                         b"Connection: close\r\n\r\n<h1>")


class Leading(Proxy):
    """To https, where nobody is."""

    def serve(self, peer):
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 301 Moved Permanently\r\nLocation: https://weir.example/\r\n"
                         b"Content-Length: 0\r\nConnection: close\r\n\r\n")


class Old(Proxy):
    def answer(self, data):
        return re.sub(rb'"version":"\d+\.\d+\.\d+"', b'"version":"0.0.1"', data)


class Silent(Proxy):
    """Takes connections and says nothing that is HTTP."""

    def serve(self, peer):
        with peer:
            peer.sendall(b"220 mail.example ESMTP\r\n")
            peer.recv(65536)


class Bench:
    def __init__(self, weir, root):
        self.weir, self.root = weir, root
        self.data = os.path.join(root, "data")
        self.env = {"HOME": root, "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "WEIR_URL": "",
                    "WEIR_KEY": "", "WEIR_CA_FILE": "", "WEIR_DATA": "", "WEIR_PROFILE": "", "http_proxy": "", "https_proxy": "",
                    "all_proxy": "", "HTTP_PROXY": "", "HTTPS_PROXY": "", "ALL_PROXY": ""}
        self.server = subprocess.Popen(
            [weir, "serve", "--data", self.data, "--listen", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.url = self.server.stdout.readline().decode().split()[-1]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.key = self.make_key()

    def make_key(self, *options):
        return run(self.weir, "key", "create", "--data", self.data, *options).out.decode().strip()

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait()

    def doctor(self, *options, key=None, **env):
        """The checks by name, and the exit status."""
        env = {**self.env, "WEIR_KEY": self.key if key is None else key, **env}
        result = run(self.weir, "doctor", "--json", *options, env=env, timeout_s=NEVER)
        return [json.loads(line) for line in result.out.splitlines()], result.code

    def doctor_that(self, fits, *options, **more):
        """The same of the first run that fits, or of the last."""
        for _ in range(TRIES):
            checks, code = self.doctor(*options, **more)
            if fits(checks, code):
                break
        return checks, code


def certificates(root):
    """A CA, and what it has signed: good, old, for somebody else, about to expire; and one alone."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=root, check=True, capture_output=True)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30",
            "-subj", "/CN=Test CA")
    openssl("req", *curve, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=weir")
    for name, days, subject in (("good", 90, "localhost"), ("old", -1, "localhost"),
                                ("other", 90, "weir.example"), ("soon", 3, "localhost")):
        with open(os.path.join(root, "ext"), "w", encoding="ascii") as file:
            file.write(f"subjectAltName=DNS:{subject}\n")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-days", str(days), "-extfile", "ext", "-out", f"{name}.pem")
    openssl("req", "-x509", "-key", "server.key", "-out", "alone.pem", "-days", "30",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")


def context(root, name):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(os.path.join(root, f"{name}.pem"), os.path.join(root, "server.key"))
    return made


def cases(bench):
    """What is asked, and what has to be found: {check: (verdict, pattern)}."""
    port, root = bench.port, bench.root
    ca = ("--ca-file", os.path.join(root, "ca.pem"))

    def tls(name):
        return Proxy(port, context(root, name))
    yield "directly", bench.url, (), {
        "http": ("ok", "200"), "version": ("ok", "as this command"), "store": ("ok", "takes"),
        "key": ("ok", "read, write"), "clock": ("ok", r"[01]\.\d s"), "buffering": ("ok", "one by one"),
        "last-event-id": ("ok", "gets through")}, 0
    yield "an honest proxy", Proxy(port).url, (), {"buffering": ("ok", "one by one")}, 0
    yield "held back", Holding(port).url, (), {
        "buffering": ("fail", "nothing of a stream"), "advice": "proxy_buffering off"}, 1
    yield "in lumps", Lumping(port).url, (), {
        "buffering": ("fail", "lump"), "advice": "flush_interval -1"}, 1
    yield "without Last-Event-ID", Stripping(port, b"last-event-id").url, (), {
        "buffering": ("ok", ""), "last-event-id": ("fail", "lost"), "advice": "Last-Event-ID"}, 1
    yield "without a key on the way", Stripping(port, b"authorization").url, (), {
        "key": ("fail", "no key"), "store": ("ok", "")}, 1
    yield "compressed", Compressing(port, b"ok\n").url, (), {
        "compression": ("fail", "gzip"), "advice": "Caddy"}, 1
    yield "streams compressed", Compressing(port, b"text/event-stream").url, (), {
        "http": ("ok", ""), "compression": ("fail", "gzip"), "advice": "no encode"}, 1
    yield "an hour late", Late(port).url, (), {
        "clock": ("warn", "behind"), "buffering": ("ok", "one by one")}, 0
    yield "another type", Renaming(port).url, (), {"buffering": ("fail", "text/plain")}, 1
    yield "nothing behind it", Alone(port).url, (), {
        "http": ("fail", "502 from nginx"), "advice": "weir serve"}, 1
    yield "led elsewhere", Leading(port).url, (), {
        "http": ("fail", "301: it leads to https://weir.example/"), "advice": "name that URL"}, 1
    yield "another version", Old(port).url, (), {"version": ("warn", "0.0.1")}, 0
    yield "no HTTP at all", Silent(port).url, (), {"http": ("fail", "no answer")}, 1
    yield "nobody there", "http://127.0.0.1:1", (), {
        "tcp (IPv4)": ("fail", "refused"), "advice": "weir serve"}, 1
    yield "no such name", "http://no-such-host.invalid", (), {
        "name": ("fail", "cannot be resolved")}, 1
    yield "TLS", tls("good").url, ca, {
        "tls": ("ok", "TLSv1.3.* in (89|90) days"), "buffering": ("ok", ""),
        "http/2": ("ok", "not offered")}, 0
    yield "TLS, old", tls("old").url, ca, {"tls": ("fail", "expired"), "advice": "renew"}, 1
    yield "TLS, another's", tls("other").url, ca, {
        "tls": ("fail", "another name"), "advice": "name that the certificate has"}, 1
    yield "TLS, soon", tls("soon").url, ca, {"tls": ("warn", "in [23] days")}, 0
    yield "TLS, alone", tls("alone").url, (), {
        "tls": ("fail", "signed by itself"), "advice": "--ca-file"}, 1
    yield "TLS, unknown", tls("good").url, (), {"tls": ("fail", "issuer"), "advice": "chain"}, 1
    yield "TLS, alone and named", tls("alone").url, \
        ("--ca-file", os.path.join(root, "alone.pem")), {"tls": ("ok", "")}, 0
    yield "no TLS there", bench.url.replace("http:", "https:"), (), {
        "tls": ("fail", "handshake"), "advice": "http and not https"}, 1


def claims(one, checks, exit_status):
    """Whether each of what has to be found was found: (claim, name, details)."""
    name, _, _, wanted, code = one
    found = {check["check"]: check for check in checks}
    yield exit_status == code, f"{name}: exit status", f"{exit_status} {checks}"
    advice = " ".join(check["advice"] or "" for check in checks)
    for check, want in wanted.items():
        if check == "advice":
            yield want in advice, f"{name}: what to do", advice
            continue
        seen = found.get(check, {"verdict": None, "text": ""})
        yield (seen["verdict"] == want[0] and re.search(want[1], seen["text"]),
               f"{name}: {check}", f"{checks}")


def check_case(count, bench, one):
    _, url, options, _, _ = one

    def fits(checks, exit_status):
        return all(claim for claim, _, _ in claims(one, checks, exit_status))
    for claim in claims(one, *bench.doctor_that(fits, "--url", url, *options)):
        count.check(*claim)


def check_keys(count, bench):
    keys = {"write": bench.make_key("--scopes", "write"),
            "prefix": bench.make_key("--prefix", "ä b/"),
            "short": bench.make_key("--expires", "2d")}

    def doctor(key):
        return bench.doctor_that(lambda _, code: code == 0, "--url", bench.url, key=key)
    checks, code = doctor(keys["write"])
    count.check(code == 0 and checks[-1]["verdict"] == "skip", "a key that may not watch", checks)
    checks, code = doctor(keys["prefix"])
    count.check(code == 0 and checks[-1]["check"] == "last-event-id", "with a prefix", checks)
    checks, code = doctor(keys["short"])
    count.check(code == 0 and any(c["check"] == "key" and c["verdict"] == "warn" for c in checks),
                "one that expires soon", checks)
    checks, code = bench.doctor("--url", bench.url, key="weir_wrong")
    count.check(code == 1 and any(c["check"] == "key" and "$WEIR_KEY" in c["text"] for c in checks),
                "one that is not known", checks)
    count.check(all(key not in json.dumps(checks) for key in keys.values()), "no key is shown")


def check_proxies(count, bench):
    """Variables that name one are told, whichever it is, and not used."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY"):
        for url, verdict in ((bench.url, "ok"), ("http://no-such-host.invalid", "warn")):
            checks, _ = bench.doctor("--url", url, **{name: "http://127.0.0.1:1"})
            found = [c for c in checks if c["check"] == "proxy"]
            count.check(len(found) == 1 and found[0]["verdict"] == verdict
                        and f"${name} is set" in found[0]["text"]
                        and bool(found[0]["advice"]) == (verdict == "warn"), f"{name} {url}", checks)


def check_local(count, bench):
    checks, code = bench.doctor("--data", bench.data)
    names = [check["check"] for check in checks]
    count.check(code == 0 and names == ["configuration", "folder", "disk", "sync", "server",
                                        "descriptors"], "a folder", checks)
    count.check(not [name for name in os.listdir(bench.data) if "doctor" in name],
                "nothing is left in it")
    other = os.path.join(bench.root, "open")
    os.mkdir(other)
    os.chmod(other, 0o755)
    checks, code = bench.doctor("--data", other)
    count.check(code == 0 and any(c["advice"] == f"chmod 700 {other}" for c in checks),
                "an open one", checks)
    checks, code = bench.doctor("--data", other + "/none")
    count.check(code == 1 and checks[1]["verdict"] == "fail", "none", checks)
    os.makedirs(os.path.join(bench.root, ".config/weir"))
    with open(os.path.join(bench.root, ".config/weir/config"), "w", encoding="utf-8") as file:
        file.write(f"url = {bench.url}\nkey = x\n")
    os.chmod(file.name, 0o644)
    checks, code = bench.doctor()
    count.check(code == 1 and "chmod 600" in checks[0]["text"], "an open configuration", checks)
    os.remove(file.name)
    text = run(bench.weir, "doctor", "--data", bench.data, env=bench.env).out.decode()
    count.check(text.startswith("ok    configuration  ") and text.endswith("\nAll is well.\n"),
                "for people", text)
    count.check(run(bench.weir, "doctor", "word", env=bench.env).code == 2, "usage")


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as root:
        certificates(root)
        bench = Bench(weir, root)
        try:
            with ThreadPoolExecutor(16) as pool:
                for done in [pool.submit(check_case, count, bench, one) for one in cases(bench)]:
                    done.result()
            check_keys(count, bench)
            check_proxies(count, bench)
            check_local(count, bench)
        finally:
            bench.stop()
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
