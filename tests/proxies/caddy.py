#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/proxies/caddy.py [CASE...]

weir behind Caddy, with contrib/Caddyfile; behind.py has the cases.
"""
import signal

from behind import Proxy, add_cases, replaced
from support import main

GLOBAL = """
{
	admin off
	auto_https off
}
"""


class Caddy(Proxy):
    NAME = "caddy"
    FILE = "Caddyfile"
    PROGRAM = "caddy"
    END = signal.SIGKILL  # it would wait for its readers

    def configure(self, text):
        text = replaced(text, ("weir.example {", f"https://localhost:{self.port} {{\n\tbind 127.0.0.1\n\t"
                                                 f"tls {self.cert} {self.secret}"))
        if self.patience_s:
            text = replaced(text, ("_timeout 90s", f"_timeout {self.patience_s}s"))
        (self.folder / "Caddyfile").write_text(GLOBAL + text)

    def words(self):
        return ["caddy", "run", "--config", str(self.folder / "Caddyfile"), "--adapter", "caddyfile"]


add_cases(Caddy)

if __name__ == "__main__":
    main()
