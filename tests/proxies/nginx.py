#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/proxies/nginx.py [CASE...]

weir behind nginx, with contrib/nginx.conf; behind.py has the cases.
"""
from behind import Proxy, add_cases, replaced
from support import main

# What Debian's nginx.conf has around the files of conf.d, for a folder of our own.
MAIN = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log stderr warn;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/weir.conf;
}}
"""


class Nginx(Proxy):
    NAME = "nginx"
    FILE = "nginx.conf"
    PROGRAM = "nginx"

    def configure(self, text):
        text = replaced(text, ("listen 443 ", f"listen 127.0.0.1:{self.port} "),
                        ("server_name weir.example", "server_name localhost"),
                        ("/etc/ssl/weir.example.pem", str(self.cert)),
                        ("/etc/ssl/private/weir.example.key", str(self.secret)))
        if self.patience_s:
            text = replaced(text, ("timeout 90s", f"timeout {self.patience_s}s"))
        (self.folder / "weir.conf").write_text(text)
        (self.folder / "nginx.conf").write_text(MAIN.format(folder=self.folder))

    def words(self):
        return ["nginx", "-p", str(self.folder), "-e", "stderr", "-c", str(self.folder / "nginx.conf")]


add_cases(Nginx)

if __name__ == "__main__":
    main()
