# SPDX-License-Identifier: Apache-2.0
"""A proxy for tests: it cuts connections."""
import socket
import threading


class Cutter:
    """Passes connections on to a server, and cuts each after so many bytes of what that says."""

    def __init__(self, port, limits):
        self.target = ("127.0.0.1", port)
        self.limits = list(limits)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.n_cut = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            limit = self.limits.pop(0) if self.limits else None
            threading.Thread(target=self._pass, args=(client, limit), daemon=True).start()

    def _pass(self, client, limit):
        with client, socket.create_connection(self.target) as server:
            threading.Thread(target=self._up, args=(client, server), daemon=True).start()
            try:
                while limit is None or limit > 0:
                    data = server.recv(65536 if limit is None else min(limit, 65536))
                    if not data:
                        return
                    client.sendall(data)
                    if limit is not None:
                        limit -= len(data)
                self.n_cut += 1
                client.shutdown(socket.SHUT_RDWR)
                server.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _up(self, client, server):
        try:
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
