# SPDX-License-Identifier: Apache-2.0
"""Programs that we did not write, for the tests that have them talk to the server: curl, and a
browser with pages that report what they see."""
import contextlib
import ctypes
import fcntl
import http.server
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading

from support import WAIT_S, Failure, Skip


def need(program):
    if shutil.which(program) is None:
        raise Skip(f"{program} is not installed; tools/deps test does that")


def own_network():
    """From here on this program and those that it starts have a network with nothing but the loopback,
    where that is allowed. When an interface of the machine comes or goes, whoever does that, Chromium
    gives up its requests, those to this machine, too (ERR_NETWORK_CHANGED)."""
    clone_newnet, siocsifflags, iff_up = 0x40000000, 0x8914, 1
    if ctypes.CDLL(None).unshare(clone_newnet) == 0:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            fcntl.ioctl(sock, siocsifflags, struct.pack("16sH14x", b"lo", iff_up))


def run(*words, **options):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_S * 3,
                          check=False, **options)


def curl(*words):
    need("curl")
    return run("curl", "-sS", *words)


class Pages:
    """Serves the page and takes what it reports."""

    def __init__(self):
        pages = self
        self.page = ""
        self.reports = []
        self.changed = threading.Condition()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = pages.page.encode() if self.path == "/" else b""
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                report = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with pages.changed:
                    pages.reports.append(report)
                    pages.changed.notify_all()
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def show(self, page):
        """The address at which the page is."""
        self.page = page
        return f"http://127.0.0.1:{self.port}/"

    def wait(self, wanted, text, wait_s=WAIT_S):
        """Until a report for which wanted() holds has come."""
        with self.changed:
            if not self.changed.wait_for(lambda: any(map(wanted, self.reports)), wait_s):
                raise Failure(f"waited in vain until {text}; reports: {self.reports[-8:]}")

    def ids(self):
        with self.changed:
            return [report["id"] for report in self.reports if "id" in report]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@contextlib.contextmanager
def browser(url):
    """Chromium on a page, in a profile and a process group of its own."""
    need("chromium")
    with tempfile.TemporaryDirectory(prefix="weir-browser-", ignore_cleanup_errors=True) as profile:
        child = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-dev-shm-usage", "--remote-debugging-port=0", f"--user-data-dir={profile}", url],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        try:
            yield child
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
