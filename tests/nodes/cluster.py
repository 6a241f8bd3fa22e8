# SPDX-License-Identifier: Apache-2.0
"""Several nodes on one PostgreSQL in the place of one server: WEIR_STORE=postgres makes any program
of tests/serve use them, WEIR_NODES says how many (2), WEIR_DATABASES on how many databases (1).

Whatever a test does to its server happens to all nodes; whatever it asks goes to one of them:
changes in turn, and what only looks to another node than the last change went to. So whoever reads
is elsewhere than whoever wrote.
"""
import functools
import itertools
import os
import pathlib
import re
import shutil
import signal
import socket
import threading

import postgres
import support

One = support.Server  # whatever that name means later on
N_NODES = int(os.environ.get("WEIR_NODES", "2"))
N_DATABASES = int(os.environ.get("WEIR_DATABASES", "1"))
LOOKS = ("GET", "HEAD", "OPTIONS")
# A dead node's work is taken up in the time of a test, and one that is held up for a moment is not dead.
OPTIONS = ("--lease", "8s")
_numbers = itertools.count(1)
_databases = {}  # by the folder of the first node
_folders = set()  # of first nodes, started or not


def database_of(folder):
    """That of this folder's nodes, made when it is first asked for."""
    folder = os.path.realpath(folder)
    if folder not in _databases:
        number = next(_numbers)
        _databases[folder] = [f"weir{number}", *(f"weir{number}_{n}" for n in range(1, N_DATABASES))]
        for name in _databases[folder]:
            postgres.shared().create_database(name)
    return ",".join(postgres.shared().url(name) for name in _databases[folder])


def n_known(node):
    """Nodes that this one knows; asked by its socket, where nobody needs a key. Of one that has none, enough."""
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(f"{node.data}/control.sock")
        except OSError:
            return N_NODES
        sock.settimeout(support.WAIT_S)
        sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: sock.recv(65536), b""))
    match = re.search(rb"^weir_sessions_nodes (\d+)$", answer, re.MULTILINE)
    return int(match.group(1)) if match else N_NODES


def known_store(folder):
    """The URL, when nodes are, were or will be on this folder."""
    return database_of(folder) if os.path.realpath(folder) in _folders else None


def all_kept(database):
    """The bytes of all values in all tables."""
    with postgres.Sql(postgres.shared().url(database, "postgres")) as sql:
        columns = sql("SELECT format('%I.%I', table_schema, table_name), quote_ident(column_name), data_type "
                      "FROM information_schema.columns JOIN pg_tables ON schemaname = table_schema AND tablename = table_name "
                      "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')")
        for table, column, kind in columns:
            if kind == "bytea":
                yield from (bytes.fromhex(text) for text, in sql(f"SELECT encode({column}, 'hex') FROM {table}") if text)
            else:
                yield from (text.encode() for text, in sql(f"SELECT {column}::text FROM {table}") if text)


class Node(One):
    """One of the others."""

    def __init__(self, cluster, number):
        self.cluster = cluster
        super().__init__(data=f"{cluster.data}/node-{number}", is_open=cluster.is_open, starts=False)
        os.makedirs(self.data, exist_ok=True)
        # Files of sessions are where all nodes find them (docs/nodes.md).
        files = f"{cluster.data}/sessions"
        os.makedirs(files, mode=0o700, exist_ok=True)
        if not os.path.lexists(f"{self.data}/sessions"):
            os.symlink(files, f"{self.data}/sessions")

    def spawn(self, **options):
        self.options = [*self.cluster.options, *self.cluster.store_options()]
        self.is_open, self.env = self.cluster.is_open, self.cluster.env
        return super().spawn(**options)


class At:
    """One node of a cluster, for those who care which."""

    def __init__(self, cluster, number):
        self._cluster, self._node = cluster, cluster.nodes[number]

    def __getattr__(self, name):
        """What connects, connects there."""
        method = getattr(self._cluster, name)
        if name in ("ask", "append", "watch", "connect", "metrics"):
            return functools.partial(method, port=self._node.own_port)
        return method

    def port_for(self, _):
        return self._node.own_port


class Cluster(One):
    """The first node, and the others with it."""

    n_nodes = N_NODES

    def __init__(self, *options, **more):
        self._turn = 0
        self._writer = 0
        self._lock = threading.Lock()
        self.peers = []
        super().__init__(*options, **more)
        _folders.add(os.path.realpath(self.data))
        self.peers = [Node(self, number) for number in range(1, N_NODES)]

    def at(self, number):
        return At(self, number)

    @property
    def nodes(self):
        return [self, *self.peers]

    # ---- which one ----

    def port_for(self, method):
        with self._lock:
            if method in LOOKS:
                node = (self._writer + 1 + self._turn % max(N_NODES - 1, 1)) % N_NODES
            else:
                node = self._writer = (self._writer + 1) % N_NODES
            self._turn += 1
        return self.nodes[node].own_port

    @staticmethod
    def env_for(arguments):
        folder = arguments[arguments.index("--data") + 1] if "--data" in arguments else None
        url = known_store(folder) if folder else None
        return {"WEIR_STORE_URL": url} if url else {}

    # ---- their lives ----

    def store_options(self):
        return ["--store", database_of(self.data), *(OPTIONS if "--lease" not in self.options else ())]

    def command(self):
        own, self.options = self.options, [*self.options, *self.store_options()]
        try:
            return super().command()
        finally:
            self.options = own

    def spawn(self, **options):
        super().spawn(**options)
        self._spawn_options = options
        return self

    def wait_listening(self, wait_s=None):
        super().wait_listening(wait_s)
        for node in self.peers:
            for path in pathlib.Path(self.data).glob("*.key"):
                shutil.copy(path, f"{node.data}/{path.name}")
            node.spawn(**self._spawn_options)
        for node in self.peers:
            node.wait_listening(wait_s)
        if self.tells_of_nodes:
            support.wait_until(lambda: all(n_known(node) >= N_NODES for node in self.nodes), "all know each other")

    def kill_node(self, number):
        self.nodes[number].child.kill()
        self.nodes[number].child.wait()

    def start_node(self, number):
        One.spawn(self.nodes[number])
        One.wait_listening(self.nodes[number])

    def errors(self):
        return super().errors() + "".join(node.errors() for node in self.peers)

    def send_signal(self, number):
        for node in self.peers:
            if node.child is not None and node.child.poll() is None:
                node.send_signal(number)
        if self.child.poll() is None:
            super().send_signal(number)

    def kill(self):
        for node in self.peers:
            if node.child is not None and node.child.poll() is None:
                node.child.kill()
        return super().kill()

    def wait_killed(self):
        support.wait_until(lambda: any(node.child.poll() is not None for node in self.nodes), "one is killed")
        self.kill()

    @property
    def folders(self):
        return [pathlib.Path(node.data) for node in self.nodes]

    def stop(self, number=signal.SIGTERM):
        self.send_signal(number)
        status = self.wait()
        # For those who look into all files for what may not be there.
        kept = pathlib.Path(self.data, "database")
        names = _databases[os.path.realpath(self.data)]
        kept.write_bytes(b"\n".join(value for name in names for value in all_kept(name)))
        kept.chmod(0o600)
        return status

    def wait(self, wait_s=None):
        status = super().wait(wait_s)
        for node in self.peers:
            if node.child is not None:
                status = node.wait(wait_s) or status
        return status

    def end(self):
        for node in self.peers:
            node.end()
        super().end()
        if self._temporary:
            for name in _databases.pop(os.path.realpath(self.data), ()):
                postgres.shared().drop_database(name)

    # ---- what they say ----

    def rss_bytes(self):
        return sum(super(Cluster, node).rss_bytes() if node is self else node.rss_bytes() for node in self.nodes)

    def n_descriptors(self):
        return sum(super(Cluster, node).n_descriptors() if node is self else node.n_descriptors() for node in self.nodes)

    def healthy(self):
        for _ in self.nodes:
            super().healthy()

    def is_served(self):
        """By all of them."""
        return all([super(Cluster, self).is_served() for _ in self.nodes])

    def metrics(self, fields=(), **options):
        """Of all of them, for sums; or of one."""
        if "port" in options:
            return super().metrics(fields, **options)
        return "".join(super(Cluster, self).metrics(fields, port=node.own_port) for node in self.nodes)
