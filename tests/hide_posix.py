"""`make test-portable`: run the tests marked `portable` with everything hidden that Windows lacks. A pytest plugin.

`sys.platform` is "win32" for clew and the tests; the modules, functions and constants that only POSIX systems have are
gone. The standard library and some packages are imported before, because they would choose their Windows parts, which
cannot be loaded here. File names and `os.name` stay those of this system. So this finds imports and calls that fail on
Windows, not the behaviour of its files.
"""

from __future__ import annotations

import asyncio
import asyncio.subprocess
import concurrent.futures.process
import ctypes
import getpass
import logging.handlers
import multiprocessing.pool
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import types
import urllib.request
import uuid
import webbrowser
import zoneinfo
from pathlib import Path

import apsw
import hypothesis
import mcp
import psycopg
import pytest
import rich.console
import uvicorn

LOADED: tuple[object, ...] = (
    asyncio,
    concurrent.futures.process,
    ctypes,
    getpass,
    logging.handlers,
    multiprocessing.pool,
    shutil,
    socket,
    ssl,
)
LOADED += (
    subprocess,
    tempfile,
    urllib.request,
    uuid,
    webbrowser,
    zoneinfo,
    apsw,
    hypothesis,
    mcp,
    psycopg,
    rich,
    uvicorn,
)

MODULES = (
    "fcntl",
    "termios",
    "tty",
    "pty",
    "pwd",
    "grp",
    "resource",
    "syslog",
    "curses",
    "readline",
    "_posixsubprocess",
)
OS = (
    *(
        "O_NONBLOCK",
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "O_PATH",
        "O_CLOEXEC",
        "O_NOCTTY",
        "O_SYNC",
        "fork",
        "forkpty",
        "setsid",
    ),
    *("killpg", "getuid", "geteuid", "getgid", "getegid", "fchmod", "fchown", "chown", "lchown", "pread", "pwrite"),
    *(
        "posix_fadvise",
        "sched_getaffinity",
        "getpgid",
        "getpgrp",
        "tcgetpgrp",
        "getloadavg",
        "mkfifo",
        "mknod",
        "statvfs",
    ),
    *("fdatasync", "set_blocking", "ttyname", "ctermid", "uname", "sysconf", "setpriority", "wait3", "wait4"),
)
SIGNALS: tuple[str, ...] = (
    "SIGKILL",
    "SIGHUP",
    "SIGVTALRM",
    "SIGALRM",
    "SIGUSR1",
    "SIGWINCH",
    "SIGTSTP",
    "SIGCONT",
    "SIGCHLD",
    "SIGPIPE",
)
SIGNALS += ("setitimer", "ITIMER_VIRTUAL", "ITIMER_REAL", "alarm", "pthread_sigmask")


def hide() -> None:
    for name in [name for name in sys.modules if name == "clew" or name.startswith("clew.")]:
        raise RuntimeError(f"{name} was imported before anything was hidden")
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in ((os, OS), (signal, SIGNALS), (select, ("poll", "POLLERR", "POLLHUP", "POLLIN", "epoll"))):
        for name in names:
            vars(module).pop(name, None)
    sys.modules["msvcrt"] = _fake_msvcrt()
    sys.platform = "win32"


def _fake_msvcrt() -> types.ModuleType:
    """The functions that clew uses; a lock is always granted."""
    module = types.ModuleType("msvcrt")
    vars(module).update(LK_NBLCK=2, LK_UNLCK=0, locking=lambda file, mode, size: None, kbhit=lambda: False)
    return module


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Hide things after pytest has set up its capture, and before it imports the tests."""
    hide()


def portable_files() -> list[str]:
    """The test files with portable tests. The others are not collected, because they may import what is hidden."""
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    return [str(path) for path in files if "mark.portable" in path.read_text(encoding="utf-8")]


if __name__ == "__main__":
    words = ["-p", "tests.hide_posix", "-o", "timeout_method=thread", "-m", "portable", *portable_files()]
    sys.exit(subprocess.call([sys.executable, "-m", "pytest", *words, *sys.argv[1:]]))
