#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/config.py [WEIR]

Which server a command talks to, and with which key: the command line, the environment and the
configuration file, each in its turn. One server answers all; what a key may see tells which it
was.
"""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

from support import Counter, program, run

TURN = "turn_01HX2K3M4N5P6Q7R8S9T0V1W2X"


class Mirror(http.server.BaseHTTPRequestHandler):
    """Answers a trace that says with which key it was asked for, and where."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.n_asked += 1
        key = self.headers.get("Authorization", "none")
        body, kind, status = json.dumps({"turn_id": key, "status": self.path}), "json", 200
        if "/busy/" in self.path:
            body, kind, status = "<h1>\x1b[2J Bad Gateway</h1>", "html", 502
        if "/wrong/" in self.path:
            body = '{"error":{"code":"invalid_token","message":"the key is not known"}}'
            status = 401
        body = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/" + kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Bench:
    """A home folder, and two servers."""

    def __init__(self, weir, home):
        self.weir, self.home = weir, home
        self.env = {"HOME": home, "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "WEIR_URL": "",
                    "WEIR_KEY": "", "WEIR_CA_FILE": "", "WEIR_DATA": "", "WEIR_PROFILE": ""}
        self.first, self.second = start(), start()

    def write(self, name, text, mode=0o600):
        path = os.path.join(self.home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def config(self, text, mode=0o600):
        return self.write(".config/weir/config", text, mode)

    def trace(self, *options, **env):
        return run(self.weir, "trace", TURN, "--json", *options, env={**self.env, **env})

    def key(self, *options, **env):
        """The key that the server saw; what was said instead, if it was not asked."""
        result = self.trace(*options, **env)
        if result.code != 0:
            return result.err
        return json.loads(result.out)["turn_id"].removeprefix("Bearer ")


def start():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    server.n_asked = 0
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def check_order(count, bench):
    """Flags before the environment before the file; each for itself."""
    one, two = bench.first.url, bench.second.url
    flag = bench.write("flag.key", "of-flag\n")
    bench.config(f"url = {one}\nkey = of-file\n")
    count.check(bench.key() == "of-file", "the file says all", bench.key())
    count.check(bench.key(WEIR_KEY="of-env") == "of-env", "the environment has another key")
    seen = bench.key("--key-file", flag, WEIR_KEY="of-env")
    count.check(seen == "of-flag", "the command line has yet another", seen)
    before = bench.second.n_asked
    seen = bench.key(WEIR_URL=two, WEIR_KEY="of-env")
    count.check(seen == "of-env" and bench.second.n_asked == before + 1,
                "the environment has another server", seen)
    seen = bench.key("--url", one + "/", WEIR_URL=two, WEIR_KEY="of-env")
    count.check(seen == "of-env" and bench.second.n_asked == before + 1,
                "the command line has yet another server", seen)
    other = bench.write("etc/weir/config", f"url = {two}\nkey = of-xdg\n")
    seen = bench.key(XDG_CONFIG_HOME=os.path.dirname(os.path.dirname(other)))
    count.check(seen == "of-xdg", "XDG_CONFIG_HOME moves the file", seen)
    seen = bench.key(XDG_CONFIG_HOME="etc")
    count.check(seen == "of-file", "a relative XDG_CONFIG_HOME counts for nothing", seen)


def check_keys_stay(count, bench):
    """A key of the file goes to its own server alone."""
    one, two = bench.first.url, bench.second.url
    bench.config(f"url = {one}/below\nkey = of-file\n")
    count.check(bench.key("--url", two) == "none", "no key for another server", bench.key())
    count.check(bench.key(WEIR_URL=two) == "none", "nor by the environment")
    count.check(bench.key("--url", one) == "of-file", "the same server may have it")
    result = bench.trace("--url", two + "/wrong")
    count.check(result.code == 1 and "is for another server" in result.err,
                "what to do about it is said", result.err)


def check_profiles(count, bench):
    one, two = bench.first.url, bench.second.url
    bench.write(".config/weir/two.key", "of-two\n")
    bench.config(f"url = {one}\nkey = of-one\n[two]\nurl = {two}\nkey_file = two.key\n"
                 f"[home]\nurl = {two}\nkey_file = ~/.config/weir/two.key\n[bare]\nurl = {two}\n")
    count.check(bench.key("--profile", "two") == "of-two", "a profile by --profile")
    count.check(bench.key(WEIR_PROFILE="home") == "of-two", "a profile by $WEIR_PROFILE")
    count.check(bench.key("--profile", "bare") == "none", "a profile inherits no key")
    seen = bench.key("--profile", "two", WEIR_URL=one, WEIR_KEY="of-env")
    count.check(seen == "of-two", "--profile is nearer than the environment", seen)
    seen = bench.key("--profile", "three")
    count.check("has no section [three]" in seen, "a profile that is not there", seen)


def check_no_files(count, bench):
    """What has no end, or nobody at its other end, is not waited for; a pipe with a key is read."""
    one = bench.first.url
    path = bench.config("")
    fifo = os.path.join(bench.home, "fifo")
    os.mkfifo(fifo, 0o600)
    large = bench.write("large.key", "x" * 100000)
    for given, wanted in (("/dev/zero", "no file, and no pipe"), (fifo, "no key in it"),
                          (large, "longer than such a file"), (bench.home, "a folder")):
        seen = bench.key("--key-file", given, "--url", one)
        count.check(wanted in seen, f"a key file that is {given}", seen)
    reader, writer = os.pipe()
    os.write(writer, b"of-pipe\n")
    os.close(writer)
    result = subprocess.run([bench.weir, "trace", TURN, "--json", "--key-file", f"/dev/fd/{reader}",
                             "--url", one], env={**os.environ, **bench.env}, pass_fds=[reader],
                            capture_output=True, timeout=60, check=False)
    os.close(reader)
    count.check(b"Bearer of-pipe" in result.stdout, "a pipe with a key", str(result))
    os.remove(path)
    for make in (lambda: os.mkfifo(path, 0o600), lambda: os.symlink("/dev/zero", path)):
        make()
        seen = bench.key("--url", one)
        count.check(f"{path}: it is no file" in seen, "a configuration that is no file", seen)
        os.remove(path)
    bench.config("")
    for words in (("--body", "/dev/zero"), ("--header", "@/dev/zero")):
        result = run(bench.weir, "watch", one, *words, env=bench.env)
        count.check(result.code in (1, 2) and result.err, f"{words}", result.err)


def check_words(count, bench):
    """No password is shown, and WEIR_KEEP is understood."""
    for words, env in ((("trace", TURN, "--url", "http://me:s3cret@127.0.0.1:1"), {}),
                       (("trace", TURN), {"WEIR_URL": "me:s3cret@a"}),
                       (("watch", "http://me:s3@cret@127.0.0.1:1/x"), {}),
                       (("login", "http://me:s3cret@127.0.0.1:1"), {})):
        result = run(bench.weir, *words, env={**bench.env, **env})
        count.check(result.code == 1 and "***@" in result.err and "s3" not in result.err
                    and "cret" not in result.err, f"a password: {words}", result.err)
    result = run(bench.weir, "trace", TURN, "--url", bench.first.url,
                 env={**bench.env, "WEIR_KEEP": "never"})
    count.check(result.code == 1 and '$WEIR_KEEP is yes or no, and not "never"' in result.err,
                "WEIR_KEEP that is not understood", result.err)


def check_files(count, bench):
    """Files with keys are closed to others; what is wrong has its place."""
    one = bench.first.url
    path = bench.config(f"url = {one}\nkey = of-file\n", 0o640)
    seen = bench.key()
    count.check(f"chmod 600 {path}" in seen and "mode 640" in seen, "an open file", seen)
    bench.config(f"url = {one}\n[other]\nurl = {one}\nkey = of-other\n", 0o644)
    count.check("chmod 600" in bench.key(), "an open file with a key of another profile")
    bench.config(f"url = {one}\n", 0o644)
    count.check(bench.key() == "none", "a file without a key may be open", bench.key())
    bench.config(f"\ufeffurl = {one}\nkey = of-file\n")
    count.check(bench.key() == "of-file", "a byte order mark is passed over", bench.key())
    key = bench.write("open.key", "secret\n", 0o604)
    seen = bench.key("--key-file", key)
    count.check(f"chmod 600 {key}" in seen and "secret" not in seen, "an open key file", seen)
    for text, wanted in [("rul = x\n", ":1: there is no setting \"rul\"; did you mean url?"),
                         (f"url = {one}\nkey\n", ":2: a line is"),
                         ("url = weir.example\n", ":1: \"weir.example\": it is not a URL"),
                         ("url = ftp://a\n", "only http and https"),
                         ("url = http://me:pw@a\n", "with a name or password"),
                         ("url = http://a/?x\n", "no ? or #"),
                         ("key = x\n", "a key needs the url"),
                         (f"url = {one}\nkey = a\nkey_file = b\n", "which of them"),
                         (f"url = {one}\nkey = a b\n", "not a key"),
                         (f"url = {one}\nkey_file = nowhere\n", "/.config/weir/nowhere: No such"),
                         (f"url = {one}\nca_file = nowhere\n", "nowhere: No such"),
                         ("url = x\n" * 20000, "longer than such a file")]:
        bench.config(text)
        result = bench.trace()
        count.check(result.code == 1 and wanted in result.err and result.out == b"",
                    f"{text[:40]!r}", result.err)
    for name, text in [("empty.key", ""), ("two.key", "a\nb\n"), ("long.key", "x" * 5000)]:
        result = bench.trace("--url", one, "--key-file", bench.write(name, text))
        count.check(result.code == 1, name, result.err)
    bench.config("rul = x\n")
    result = bench.trace("--data", os.path.join(bench.home, "none"))
    count.check("there is no data folder" in result.err, "--data needs no file", result.err)


def check_local(count, bench):
    """Without a word about a server it is the folder's."""
    one = bench.first.url
    os.remove(os.path.join(bench.home, ".config/weir/config"))
    seen = bench.key()
    count.check(f"no data folder {bench.home}/.local/share/weir" in seen, "nothing said", seen)
    bench.config(f"url = {one}\n")
    seen = bench.key(WEIR_DATA="/nonexistent/a")
    count.check("no data folder /nonexistent/a" in seen, "$WEIR_DATA before the file", seen)
    result = bench.trace("--url", one, "--data", "x")
    count.check(result.code == 2, "not both", result.err)
    result = bench.trace("--user", "ada")
    count.check(result.code == 2 and "the key says whose" in result.err, "no --user", result.err)


def check_errors(count, bench):
    result = bench.trace("--url", "http://127.0.0.1:1")
    count.check(result.code == 1 and "Is the server running?" in result.err and
                "weir serve" in result.err, "nobody listens", result.err)
    result = bench.trace("--url", "http://no-such-host.invalid")
    count.check(result.code == 1 and "cannot be resolved" in result.err, "no such host", result.err)
    result = bench.trace("--url", bench.first.url + "/busy")
    count.check(result.code == 1 and "HTTP 502" in result.err and "\x1b" not in result.err and
                "Bad Gateway" in result.err, "a proxy's page is shown, harmless", result.err)
    result = bench.trace("--url", bench.first.url + "/wrong", WEIR_KEY="bad-key")
    count.check(result.code == 1 and "the key is not known" in result.err and
                "$WEIR_KEY" in result.err and "bad-key" not in result.err,
                "which key was refused", result.err)


def main():
    weir = program()
    count = Counter()
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(weir, home)
        for check in (check_order, check_keys_stay, check_profiles, check_files, check_no_files,
                      check_words, check_local, check_errors):
            check(count, bench)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
