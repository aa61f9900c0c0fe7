"""A network that can be cut: a TCP proxy between a client and a server on this machine."""

from __future__ import annotations

import contextlib
import select
import socket
import threading


class Proxy:
    """Passes bytes on until it is told otherwise.

    `cut` closes every connection and refuses new ones; `swallow` keeps them open and lets nothing through any more;
    `deafen` passes on what the client says and keeps back what the server answers, beginning with a given word that
    the client says; the first times may be skipped.
    """

    def __init__(self, port: int) -> None:
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.is_open = True
        self.is_swallowing = False
        self.word = b""
        self.skipped = 0
        self._has_heard = False
        self._sockets: set[socket.socket] = set()
        self._guard = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self.is_open = False
        with self._guard:
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def heal(self) -> None:
        self.is_open, self.is_swallowing, self.word, self._has_heard = True, False, b"", False

    def swallow(self) -> None:
        self.is_swallowing = True

    def deafen(self, word: bytes, skipped: int = 0) -> None:
        self.word, self.skipped, self._has_heard = word, skipped, False

    def close(self) -> None:
        self.cut()
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if not self.is_open:
                client.close()
                continue
            try:
                server = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            with self._guard:
                self._sockets |= {client, server}
            threading.Thread(target=self._pass, args=(client, server), daemon=True).start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while self.is_open:
                ready, _, _ = select.select([client, server], [], [], 0.2)
                for source in ready:
                    data = source.recv(1 << 16)
                    if not data:
                        return
                    self._forward(data, client, server, source is client)
        except OSError:
            return
        finally:
            with self._guard:
                self._sockets -= {client, server}
            client.close()
            server.close()

    def _forward(self, data: bytes, client: socket.socket, server: socket.socket, is_said: bool) -> None:
        if self.is_swallowing:
            return
        if is_said:
            server.sendall(data)
            if self.word and self.word in data:
                self._has_heard = self._has_heard or self.skipped <= 0
                self.skipped -= 1
        elif self._has_heard:  # the server has done it, and the client will never know
            client.shutdown(socket.SHUT_RDWR)
        else:
            client.sendall(data)
