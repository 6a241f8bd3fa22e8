#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/proxies/haproxy.py [CASE...]

weir behind HAProxy, with contrib/haproxy.cfg; behind.py has the cases.
"""
import pathlib

from behind import Proxy, add_cases, replaced
from support import main


class Haproxy(Proxy):
    NAME = "haproxy"
    FILE = "haproxy.cfg"
    PROGRAM = "haproxy"

    def configure(self, text):
        both = self.folder / "both.pem"
        both.write_bytes(pathlib.Path(self.cert).read_bytes() + pathlib.Path(self.secret).read_bytes())
        text = replaced(text, ("bind :443 ", f"bind 127.0.0.1:{self.port} "),
                        ("/etc/ssl/private/weir.example.pem", str(both)), ("maxconn 100000", "maxconn 500"),
                        ("log /dev/log local0", "log stderr local0 warning"))
        if self.patience_s:
            text = replaced(text, ("timeout server 90s", f"timeout server {self.patience_s}s"),
                            ("timeout client 90s", f"timeout client {self.patience_s}s"))
        (self.folder / "haproxy.cfg").write_text(text)

    def words(self):
        return ["haproxy", "-db", "-f", str(self.folder / "haproxy.cfg")]


add_cases(Haproxy)

if __name__ == "__main__":
    main()
