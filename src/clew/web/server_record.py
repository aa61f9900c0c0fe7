"""What the server of a Claude folder keeps in clew's state folder, so that cookies and addresses survive a restart.

The key and the port stay; the sign-in address is there while the server runs. All are readable by the user only.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from clew.system.environment import state_home
from clew.system.file_lock import lock_exclusively
from clew.system.private_file import write_private
from clew.wire.layout import claude_dir

START_SECONDS = 3.0  # in which another server that has just started writes its address


class ServerRecord:
    """The key and port of the server for one Claude folder, and the lock of the one that runs."""

    def __init__(self, claude: str | None) -> None:
        root = os.path.realpath(claude_dir(claude))
        name = f"serve-{sha256(os.fsencode(root)).hexdigest()[:16]}"
        self._file, self._address_file, self._lock_file = (
            Path(state_home(), f"{name}.{kind}") for kind in ("json", "address", "lock")
        )
        self._lock: int | None = None
        self.key, self.port = self._read()

    def lock(self) -> bool:
        """Become the server of this folder. Returns False if another process is."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock_exclusively(file)
        except OSError:
            os.close(file)
            return False
        self._lock = file
        self._forget_address()
        return True

    def renew_key(self) -> None:
        """Sign all browsers out."""
        self.key = ""

    def save(self, port: int) -> None:
        """Keep the port, if it is not 0, and the key, which is made now if there is none."""
        self.key, self.port = self.key or secrets.token_urlsafe(32), port or self.port
        write_private(str(self._file), json.dumps({"key": self.key, "port": self.port}))

    def save_address(self, address: str) -> None:
        """Keep the current sign-in address of the server that runs."""
        if self._lock is not None:
            write_private(str(self._address_file), address)

    def running_address(self) -> str:
        """Return the sign-in address of the server that holds the lock; "" if it does not say one."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with suppress(FileNotFoundError):
                return self._address_file.read_text(encoding="utf-8")
            time.sleep(0.05)
        return ""

    def release(self) -> None:
        if self._lock is not None:
            self._forget_address()
            os.close(self._lock)
            self._lock = None

    def _forget_address(self) -> None:
        self._address_file.unlink(missing_ok=True)

    def _read(self) -> tuple[str, int]:
        try:
            value = json.loads(self._file.read_text(encoding="utf-8"))
            key, port = value["key"], value["port"]
        except (OSError, ValueError, KeyError, TypeError):
            return "", 0
        is_valid = isinstance(key, str) and len(key) >= 43 and key.isascii() and isinstance(port, int)
        return (key, port) if is_valid and 0 <= port < 65536 else ("", 0)
