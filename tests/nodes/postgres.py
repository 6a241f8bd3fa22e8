# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL for tests: a server of its own in a temporary folder, or a primary with standbys of
which one has to have every commit before it is told (Quorum); and a Site, a place with a network
and disks of its own that can be cut off and filled up.

initdb runs once into build/ and is copied. As root everything runs as the user postgres. Whatever
is started here ends with the process that started it, however that ends.

Servers are reached through Unix sockets in their folder; in a site through a link of its own for
each node, too. A site needs root and Linux's namespaces; Site.why_not() says what is missing.
"""
import atexit
import contextlib
import ctypes
import ctypes.util
import fcntl
import glob
import itertools
import os
import pathlib
import pwd
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))

from support import ROOT, WAIT_S, Failure, Skip, expect, wait_until  # noqa: E402

ROLE = "weir"  # whom nodes come as: owner of its databases, and nothing more
PORT = 5432    # in the name of a socket, or in a site: nobody else is there
SETTINGS = {
    "listen_addresses": "", "max_connections": 100, "shared_buffers": "64MB", "jit": "off",
    "dynamic_shared_memory_type": "mmap", "log_min_messages": "warning", "wal_level": "replica",
    "max_wal_senders": 8, "wal_keep_size": "32MB", "max_wal_size": "64MB", "hot_standby": "on",
    "wal_retrieve_retry_interval": "100ms", "wal_receiver_timeout": "5s", "wal_sender_timeout": "5s",
}
UNSAFE = {"fsync": "off", "full_page_writes": "off"}
_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def bin_folder():
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not folders or not os.access(f"{folders[-1]}/initdb", os.X_OK):
        raise Skip("PostgreSQL is not installed (tools/deps test)")
    return folders[-1]


def _user():
    """Whose the processes are: None for one's own. PostgreSQL refuses to be root."""
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else None


def _as_user():
    user = _user()
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}


def _dies_with_us(number=signal.SIGQUIT):
    def before_exec():
        _libc.prctl(_PDEATHSIG, number)
    return before_exec


def _run(*words, is_ours=False, **options):
    """A program to its end, as the user postgres unless it is ours to do."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=WAIT_S, check=False, cwd="/",
                          **({} if is_ours else _as_user()), **options)
    expect(done.returncode == 0, f"{words[0]} failed:", done.stdout.decode(errors="replace")[-800:])
    return done.stdout.decode()


def _give(path):
    """To the user postgres, with all that is in it."""
    user = _user()
    if user:
        subprocess.run(["chown", "-R", f"{user.pw_uid}:{user.pw_gid}", str(path)], check=True)


def _memory():
    """A folder in memory, for what need not outlive a power cut; None where there is too little."""
    with contextlib.suppress(OSError):
        room = os.statvfs("/dev/shm")
        if os.access("/dev/shm", os.W_OK) and room.f_bavail * room.f_frsize > 2 << 30:
            return "/dev/shm"
    return None


def temporary_folder(prefix="weir-pg", where=None):
    """Memory is too dear to be left to those who were killed."""
    for left in glob.glob(f"{where}/{prefix}-*-*") if where else []:
        if not os.path.exists(f"/proc/{left.split('-')[-2]}"):
            shutil.rmtree(left, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=f"{prefix}-{os.getpid()}-", dir=where)
    _give(folder)
    return folder


def _template(is_safe):
    """What initdb makes, made once; small unless somebody measures it."""
    version = bin_folder().split("/")[4]
    made = ROOT / "build" / f"postgres-{version}{'-safe' if is_safe else ''}"
    made.parent.mkdir(exist_ok=True)
    with open(f"{made}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if made.exists():
            return made
        with contextlib.ExitStack() as stack:
            folder = temporary_folder("weir-initdb", _memory())
            stack.callback(shutil.rmtree, folder, True)
            _run(f"{bin_folder()}/initdb", "-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "-E", "UTF8",
                 "--locale=C", "--no-sync", *([] if is_safe else ["--wal-segsize=1"]))
            with open(f"{folder}/data/pg_hba.conf", "a", encoding="ascii") as file:
                file.write("host all all all trust\nhost replication all all trust\n")
            _run("sh", "-c", f"echo 'CREATE ROLE {ROLE} LOGIN' | {bin_folder()}/postgres --single -F -D {folder}/data "
                             "template1")
            # By way of another name, for it must be there whole or not at all.
            shutil.rmtree(f"{made}.new", ignore_errors=True)
            subprocess.run(["cp", "-a", f"{folder}/data", f"{made}.new"], check=True)
            os.rename(f"{made}.new", made)
    return made


# ---- libpq ----

def _libpq():
    name = ctypes.util.find_library("pq")
    if not name:
        raise Skip("libpq is not installed (tools/deps build)")
    lib = ctypes.CDLL(name)
    for function, result in (("PQconnectdb", ctypes.c_void_p), ("PQexec", ctypes.c_void_p),
                             ("PQgetvalue", ctypes.c_char_p), ("PQerrorMessage", ctypes.c_char_p),
                             ("PQresultErrorField", ctypes.c_char_p), ("PQping", ctypes.c_int)):
        getattr(lib, function).restype = result
    return lib


class SqlError(Failure):
    def __init__(self, text, state):
        super().__init__(text)
        self.state = state


class Sql:
    """A connection; `with`, or close()."""

    _lib = None

    def __init__(self, url):
        Sql._lib = Sql._lib or _libpq()
        self._conn = ctypes.c_void_p(self._lib.PQconnectdb(url.encode()))
        if self._lib.PQstatus(self._conn) != 0:
            text = self._lib.PQerrorMessage(self._conn).decode(errors="replace")
            self.close()
            raise SqlError(text, "08000")

    @classmethod
    def is_ready(cls, url):
        cls._lib = cls._lib or _libpq()
        return cls._lib.PQping(url.encode()) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._conn:
            self._lib.PQfinish(self._conn)
            self._conn = None

    def __call__(self, text):
        """Rows of text, None for NULL."""
        result = ctypes.c_void_p(self._lib.PQexec(self._conn, text.encode()))
        try:
            if self._lib.PQresultStatus(result) not in (0, 1, 2):  # empty, command, rows
                state = self._lib.PQresultErrorField(result, ord("C")) or b"08006"
                raise SqlError(self._lib.PQerrorMessage(self._conn).decode(errors="replace"), state.decode())
            n_columns = self._lib.PQnfields(result)
            return [tuple(None if self._lib.PQgetisnull(result, row, column) else
                          self._lib.PQgetvalue(result, row, column).decode() for column in range(n_columns))
                    for row in range(self._lib.PQntuples(result))]
        finally:
            self._lib.PQclear(result)

    def one(self, text):
        return self(text)[0][0]


# ---- places ----

class Site:
    """A network and disks of its own. Node n comes by link n, which can be cut: packets vanish then,
    as behind a switch that has lost power. Disks are small and can be filled."""

    _numbers = itertools.count()

    @staticmethod
    def why_not():
        if os.geteuid() != 0:
            return "a network of its own needs root"
        if not shutil.which("ip") or not shutil.which("nsenter"):
            return "ip and nsenter are not installed"
        probe = subprocess.run(["unshare", "-n", "-m", "-i", "true"], stderr=subprocess.DEVNULL, check=False)
        return None if probe.returncode == 0 else "namespaces are not allowed here"

    def __init__(self, n_links):
        why = Site.why_not()
        if why:
            raise Skip(why)
        self._holder = subprocess.Popen(["unshare", "-n", "-m", "-i", "--propagation", "private", "sh", "-c",
                                         "ip link set lo up && echo && exec sleep infinity"],
                                        stdout=subprocess.PIPE, preexec_fn=_dies_with_us(signal.SIGKILL))
        self._holder.stdout.readline()
        self.folder = temporary_folder("weir-site")
        self.addresses = []
        self._names = []
        try:
            with open(f"{tempfile.gettempdir()}/weir-site.lock", "w", encoding="ascii") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                for _ in range(n_links):
                    self._add_link()
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def inside(self, *words):
        """The command that runs another one in here."""
        return ["nsenter", "-t", str(self._holder.pid), "-n", "-m", "-i", "--", *words]

    def _add_link(self):
        taken = _run("ip", "-o", "addr", is_ours=True)
        chance = random.Random()
        while True:
            net = f"10.{chance.randint(192, 255)}.{chance.randint(0, 255)}.{4 * chance.randint(0, 63)}"
            host, last = net.rsplit(".", 1)
            if f"{host}.{int(last) + 1}/" not in taken:
                break
        name = f"weir{os.getpid() % 100000}x{next(Site._numbers)}"
        ours, theirs = f"{host}.{int(last) + 1}", f"{host}.{int(last) + 2}"
        _run("ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}p", is_ours=True)
        _run("ip", "link", "set", f"{name}p", "netns", self._holder.pid, is_ours=True)
        _run("ip", "addr", "add", f"{ours}/30", "dev", name, is_ours=True)
        _run("ip", "link", "set", name, "up", is_ours=True)
        _run(*self.inside("ip", "addr", "add", f"{theirs}/30", "dev", f"{name}p"), is_ours=True)
        _run(*self.inside("ip", "link", "set", f"{name}p", "up"), is_ours=True)
        self._names.append(name)
        self.addresses.append(theirs)

    def cut(self, n):
        """Nothing comes through any more, and nobody is told."""
        _run(*self.inside("ip", "link", "set", f"{self._names[n]}p", "down"), is_ours=True)

    def mend(self, n):
        _run(*self.inside("ip", "link", "set", f"{self._names[n]}p", "up"), is_ours=True)

    def add_disk(self, name, mebibytes):
        """A folder of the user postgres on a disk of that size; its path in here."""
        path = f"{self.folder}/{name}"
        os.makedirs(path, exist_ok=True)
        user = _user()
        _run(*self.inside("mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0700,uid={user.pw_uid},gid={user.pw_gid}",
                          "weir", path), is_ours=True)
        return path

    def seen(self, path):
        """The same from outside."""
        return f"/proc/{self._holder.pid}/root{path}"

    def fill(self, path):
        """Up to the last byte."""
        with open(f"{self.seen(path)}/ballast", "ab", buffering=0) as file:
            for size in (1 << 20, 4096):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def free(self, path):
        pathlib.Path(f"{self.seen(path)}/ballast").unlink(missing_ok=True)

    def end(self):
        self._holder.kill()
        self._holder.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- servers ----

class Postgres:
    """One server. start() and stop() may be called again and again; `with` ends it and removes it."""

    _running = []

    def __init__(self, name="a", site=None, is_safe=False, disk_mebibytes=512, **settings):
        self.name = name
        self.site = site
        self.port = PORT
        self.child = None
        self.is_safe = is_safe
        self.settings = {**SETTINGS, **({} if is_safe else UNSAFE), "cluster_name": name, **settings}
        self.folder = temporary_folder(where=None if is_safe else _memory())
        if site:
            self.data = f"{site.add_disk(name, disk_mebibytes)}/data"
            self.disk = os.path.dirname(self.data)
            # One place, several servers.
            self.port = PORT + len(os.listdir(site.folder)) - 1
            self.settings["listen_addresses"] = "*"
        else:
            self.data = f"{self.folder}/data"
            self.disk = None

    def __enter__(self):
        if self.child is None:
            self.start()
        return self

    def __exit__(self, *_):
        self.end()

    def _seen(self, path):
        return self.site.seen(path) if self.site else path

    def _words(self, *words):
        """A command as the user postgres, where the server is."""
        if not self.site:
            return [*words]
        user = _user()
        return self.site.inside("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--pdeathsig=QUIT", *words)

    def _run(self, *words):
        return _run(*self._words(*words), is_ours=self.site is not None)

    def make(self):
        subprocess.run(["cp", "-a", "--reflink=auto", str(_template(self.is_safe)), self._seen(self.data)], check=True)
        os.chmod(self._seen(self.data), 0o700)
        _give(self._seen(self.data))
        return self

    def make_copy_of(self, other):
        """A standby."""
        shutil.rmtree(self._seen(self.data), ignore_errors=True)
        self._run(f"{bin_folder()}/pg_basebackup", "-d", other.url("postgres", "postgres"), "-D", self.data, "-c", "fast",
                  "-X", "stream", "--no-sync", "--no-slot")
        pathlib.Path(f"{self._seen(self.data)}/standby.signal").touch()
        self.settings["primary_conninfo"] = other.conninfo(self.name)
        _give(self._seen(self.data))
        return self

    def conninfo(self, name):
        return f"host={self.folder} port={self.port} user=postgres application_name={name}"

    def _conf(self):
        lines = [f"{name} = '{str(value)}'" for name, value in self.settings.items()]
        path = pathlib.Path(f"{self._seen(self.data)}/postgresql.auto.conf")
        path.write_text("\n".join([*lines, f"unix_socket_directories = '{self.folder}'", f"port = {self.port}", ""]),
                        encoding="utf-8")
        _give(path)

    def set(self, **settings):
        """While it runs."""
        self.settings.update(settings)
        self._conf()
        self.child.send_signal(signal.SIGHUP)

    def spawn(self):
        if not os.path.exists(self._seen(self.data)):
            self.make()
        self._conf()
        with open(f"{self.folder}/log", "ab") as log:
            self.child = subprocess.Popen(self._words(f"{bin_folder()}/postgres", "-D", self.data), stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log, cwd="/", preexec_fn=_dies_with_us(),
                                          start_new_session=True, **({} if self.site else _as_user()))
        if self not in Postgres._running:
            Postgres._running.append(self)
        return self

    def start(self):
        self.spawn()
        return self.wait_ready()

    def wait_ready(self):
        def ready():
            expect(self.child.poll() is None, f"{self.name} ended:", self.log()[-800:])
            return Sql.is_ready(self.url("postgres", "postgres"))
        wait_until(ready, f"PostgreSQL {self.name} answers")
        return self

    def log(self):
        return pathlib.Path(f"{self.folder}/log").read_text(encoding="utf-8", errors="replace")

    def is_running(self):
        return self.child is not None and self.child.poll() is None

    def stop(self, number=signal.SIGINT):
        """SIGINT: fast; SIGTERM waits for clients, SIGQUIT does not even write a checkpoint."""
        if self.is_running():
            self.child.send_signal(number)
            try:
                self.child.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise Failure(f"PostgreSQL {self.name} did not stop") from None

    def processes(self):
        """It and its children."""
        if not self.is_running():
            return []
        with contextlib.suppress(OSError):
            text = pathlib.Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text(encoding="ascii")
            return [self.child.pid, *map(int, text.split())]
        return []

    def _signal_all(self, number):
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def kill(self):
        """All of it at once, as a power switch."""
        if self.is_running():
            self.child.send_signal(signal.SIGSTOP)  # no more children
            self._signal_all(signal.SIGKILL)
            self.child.wait()

    def pause(self):
        self._signal_all(signal.SIGSTOP)

    def resume(self):
        self._signal_all(signal.SIGCONT)

    def cpu_s(self):
        """Seconds that its living processes, and of the dead those it has waited for, have computed."""
        ticks = 0
        for process in self.processes():
            with contextlib.suppress(OSError):
                fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
                ticks += sum(map(int, fields[11:15] if process == self.child.pid else fields[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def url(self, database, role=ROLE, node=None):
        """Through its socket, or for a node of the site through that one's link."""
        host = self.site.addresses[node] if node is not None else self.folder.replace("/", "%2F")
        return f"postgresql://{role}@{host}:{self.port}/{database}"

    def sql(self, text, database="postgres"):
        with Sql(self.url(database, "postgres")) as sql:
            return sql(text)

    def create_database(self, name):
        self.sql(f'CREATE DATABASE "{name}" OWNER {ROLE}')

    def drop_database(self, name):
        self.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def is_standby(self):
        return self.sql("SELECT pg_is_in_recovery()")[0][0] == "t"

    def end(self):
        self.kill()
        if self in Postgres._running:
            Postgres._running.remove(self)
        shutil.rmtree(self.folder, ignore_errors=True)
        if not self.site:
            shutil.rmtree(self.data, ignore_errors=True)


class Quorum:
    """Three servers: a commit is told when the primary and one of the others have it. After the
    primary's death fail_over() makes the one that is furthest the next, and rebuild() brings the
    dead one back as a standby."""

    NAMES = ("a", "b", "c")

    def __init__(self, site=None, **options):
        self.site = site
        settings = {"synchronous_standby_names": f"ANY 1 ({','.join(self.NAMES)})", **options}
        self.servers = [Postgres(name, site, **settings) for name in self.NAMES]
        self.primary = self.servers[0]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end()

    def start(self):
        self.primary.start()
        for server in self.standbys():
            server.make_copy_of(self.primary).spawn()
        self.wait_quorum()

    def standbys(self):
        return [server for server in self.servers if server is not self.primary]

    def streaming(self):
        rows = self.primary.sql("SELECT application_name FROM pg_stat_replication WHERE state = 'streaming'")
        return sorted(name for name, in rows)

    def wait_quorum(self, n=2):
        wait_until(lambda: len(self.streaming()) >= n, f"{n} standbys stream")

    def fail_over(self):
        """The primary is dead; one of the others is next."""
        expect(not self.primary.is_running(), "the primary lives")
        left = [server for server in self.standbys() if server.is_running()]

        def places():
            """When nobody receives any more it is settled who is furthest."""
            if any(int(server.sql("SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'")[0][0])
                   for server in left):
                return None
            return [int(server.sql("SELECT COALESCE(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'")[0][0])
                    for server in left]
        ends = wait_until(places, "the standbys have lost the primary")
        furthest = left[ends.index(max(ends))]
        dead, self.primary = self.primary, furthest
        for server in left:
            if server is not furthest:
                server.set(primary_conninfo=furthest.conninfo(server.name))
        furthest.sql("SELECT pg_promote(true, 30)")
        wait_until(lambda: not furthest.is_standby(), f"{furthest.name} is promoted")
        furthest.settings.pop("primary_conninfo", None)
        return dead

    def rebuild(self, dead):
        """What it had that nobody else has is gone."""
        dead.make_copy_of(self.primary).spawn()
        self.wait_quorum()

    def kill(self):
        for server in self.servers:
            server.kill()

    def revive(self):
        """Those that are dead, as they were."""
        for server in self.servers:
            if not server.is_running():
                server.spawn()
        deadline = time.monotonic() + WAIT_S
        while not Sql.is_ready(self.primary.url("postgres", "postgres")):
            expect(time.monotonic() < deadline, "the primary is not back:", self.primary.log()[-800:])
            # Of one that could not even begin.
            if not self.primary.is_running():
                self.primary.spawn()
            time.sleep(0.02)
        self.wait_quorum()

    def url(self, database, node=None):
        hosts = ",".join(f"{self.site.addresses[node] if node is not None else server.folder.replace('/', '%2F')}"
                         f":{server.port}" for server in self.servers)
        return f"postgresql://{ROLE}@{hosts}/{database}?target_session_attrs=read-write"

    def create_database(self, name):
        self.primary.create_database(name)

    def drop_database(self, name):
        self.primary.drop_database(name)

    def state(self):
        """For whoever wonders what it waits for."""
        told = []
        for server in self.servers:
            told.append(f"--- server {server.name}{', the primary' if server is self.primary else ''}: "
                        f"{'runs' if server.is_running() else 'is dead'}\n{server.log()[-2000:]}")
        for query in ("SELECT application_name, state, sync_state, flush_lag FROM pg_stat_replication",
                      "SELECT pid, application_name, state, wait_event_type, wait_event, now() - xact_start,"
                      " left(query, 60) FROM pg_stat_activity WHERE datname IS NOT NULL"):
            try:
                told += [" | ".join(str(word) for word in row) for row in self.primary.sql(query)]
            except (Failure, OSError, subprocess.SubprocessError) as problem:
                told.append(f"{query[:30]}: {problem}")
        return "\n".join(told)

    def cpu_s(self):
        return sum(server.cpu_s() for server in self.servers)

    def end(self):
        for server in self.servers:
            server.end()


# ---- one for a whole program ----

_shared = None
_shared_lock = threading.Lock()


def shared():
    """A server for all tests of a program, without syncs; each test makes a database of its own."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Postgres("shared").start()
        return _shared


def end_all():
    for server in list(Postgres._running):
        server.end()


atexit.register(end_all)
