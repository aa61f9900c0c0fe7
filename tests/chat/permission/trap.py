"""A folder full of traps, and bash in it: what did a command write, start, read or print that it should not have?

Three detectors: the trees of files before and after; words that only secrets and files outside the project hold, in what
a command prints; and strace, where there is one, for everything that is opened, started or called.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from clew.chat.config.settings import Settings, SettingsSource
from clew.chat.permission.decide import Permissions
from clew.chat.permission.decision import Decision
from clew.chat.tools.command_environment import command_environment
from clew.system.environment import child_environment
from clew.wire.json_codec import Json

BASH = shutil.which("bash") or "bash"
STRACE = shutil.which("strace") if sys.platform == "linux" else None
CANARY = "canary-"  # begins every word that must not be printed
HOOKS = (
    "post-index-change",
    "pre-commit",
    "post-checkout",
    "reference-transaction",
    "fsmonitor-watchman",
    "pre-auto-gc",
)
EVIL_CONFIG = """
[core]
	fsmonitor = {trip}
	hooksPath = evil-hooks
	pager = {trip}
	editor = {trip}
	sshCommand = {trip}
	gitProxy = {trip}
	askPass = {trip}
	alternateRefsCommand = {trip}
[diff]
	external = {trip}
[diff "evil"]
	command = {trip}
	textconv = {trip}
[filter "evil"]
	clean = {trip}
	smudge = {trip}
	process = {trip}
	required = false
[gpg]
	program = {trip}
[credential]
	helper = {trip}
[log]
	showSignature = true
[alias]
	status = !{trip}
	st = !{trip}
[interactive]
	diffFilter = {trip}
[sequence]
	editor = {trip}
[uploadpack]
	packObjectsHook = {trip}
[pager]
	log = {trip}
	status = {trip}
"""
# Names of files that would be options, if a pattern put them where options can stand.
HOSTILE_NAMES = (
    "--pre=sh", "-es,.*,touch pwned,e", "-i", "-oz.txt", "--compress-program=sh", "-S1", "-C", "-mmagic", "-n", "-r",
    "--output=pwned", "-f", "--files0-from=link", "a b", "a;touch pwned", "$(touch pwned)", "`touch pwned`", "a*",
    "[ab]", "?",
)  # fmt: skip


class Trap:
    """A project with everything that ever went wrong in it. `config` is added to the settings of its repository."""

    def __init__(self, root: Path, *, is_trusted: bool = False, config: str = "", rules: Json | None = None) -> None:
        self.root = root
        self.project = root / "project"
        self.outside = root / "outside"
        self.home = root / "home"
        self.is_trusted = is_trusted
        for folder in (self.project, self.outside / "deep", self.home, root / "marks"):
            folder.mkdir(parents=True)
        self.trip = self._program(self.outside / "trip")
        self._fill_outside()
        self._fill_project()
        self._fill_repository(config)
        settings = Settings(
            (SettingsSource("user", self.home / ".claude", {"permissions": rules or {}}),), trusted=is_trusted
        )
        self.permissions = Permissions(settings, self.project, self.home)
        self.hostile = self._hostile_environment()
        if is_trusted:  # there git obeys the person's own variables, and PATH is taken as it is
            self.hostile = {n: v for n, v in self.hostile.items() if not n.startswith("GIT_") and n != "PATH"}
        with pytest.MonkeyPatch.context() as patch:
            for name in {*os.environ, *self.hostile} - {"PATH"}:
                patch.delenv(name, raising=False)
            for name, value in self.hostile.items():
                patch.setenv(name, value)
            self.variables = command_environment(child_environment(), is_trusted=is_trusted)
        self.before = self.files()

    def decide(self, command: str) -> Decision:
        return self.permissions.decide("Bash", {"command": command}, self.project, "default")

    def _program(self, path: Path) -> Path:
        """A program that leaves a trace: a file in the folder outside."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!{BASH}\n: > "{self.outside}/tripped-$$"\n')
        path.chmod(0o755)
        return path

    def _fill_outside(self) -> None:
        for name in ("secret", "target", "deep/file", "passwd"):
            (self.outside / name).write_text(f"{CANARY}outside x a\n")
        (self.home / "secret.txt").write_text(f"{CANARY}home\n")
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = A\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n"
        )

    def _fill_project(self) -> None:
        texts = {
            "x": "x a text\n", "zz.txt": "touch pwned\n", "a.txt": "a\nb\nx 1\n", "b.txt": "b\nx 2\n", "d1": "new\n",
            "d2": "precious\n", "3": "three\n",
            "src/a.py": "import x\n", "src/b.py": "x = 1\n", "src/deep/c.txt": "x\n", ".env": "A=b\n",
            ".gitignore": "keys/\n",
            "magic": "0 string x pwned\n", "@list": f"@{self.outside}/secret\n", ".rgrc": f"--pre={self.trip}\n",
            ".gitattributes": "*.txt filter=evil diff=evil\n*.py diff=evil\n", "sub/x": "x\n",
        }  # fmt: skip
        secrets = (".npmrc", ".netrc", ".ssh/id_ed25519", "keys/id_rsa", "keys/server.pem", "src/.git-credentials")
        texts |= dict.fromkeys(secrets, f"x a {CANARY}secret\n")
        texts |= dict.fromkeys(HOSTILE_NAMES, "x a\n")
        for name, text in texts.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        links = {
            "link": "secret", "linkdir": "", "٣": "target", "+5": "secret", "-v": "secret", "--number": "secret",
            "5": "secret",
            "src/link.py": "secret", "both/passwd": "passwd", "~": "", "l1": "secret", "*": "secret", "-": "secret",
        }  # fmt: skip
        for name, target in links.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).symlink_to(self.outside / target if target else self.outside)
        for name in (
            "0/ls",
            "7/cat",
            "ls",
            "cat",
            "git",
            "grep",
            "rg",
            "head",
            "bin/ls",
            "evil-hooks/post-index-change",
        ):
            self._program(self.project / name)

    def _fill_repository(self, config: str) -> None:
        def git(*words: str) -> None:
            clean = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
            subprocess.run(["git", *words], cwd=self.project, env=clean, check=True, capture_output=True)

        for top, folders, names in os.walk(self.project):
            for name in (*folders, *names):  # older than the index, so that git need not read them to know them
                os.utime(os.path.join(top, name), (1_600_000_000, 1_600_000_000), follow_symlinks=False)
        git("init", "-q")
        git("add", "x", "a.txt", "src/a.py", ".gitattributes", ".npmrc")
        git("commit", "-qm", "one")
        git("tag", "v1")
        (self.project / "a.txt").write_text("a\nb\nx 3\n")
        git("commit", "-qam", "two")
        (self.project / "src/a.py").write_text("import y\n")
        for name in HOOKS:
            self._program(self.project / ".git/hooks" / name)
        if config:
            with open(self.project / ".git/config", "a") as file:
                file.write(config.replace("{trip}", str(self.trip)))

    def _hostile_environment(self) -> dict[str, str]:
        trip = str(self.trip)
        return {
            "PATH": f".:0::{os.environ['PATH']}", "HOME": str(self.home), "LANG": os.environ.get("LANG", "C.UTF-8"),
            "ANTHROPIC_API_KEY": f"{CANARY}key", "GITHUB_TOKEN": f"{CANARY}token", "X": f"{CANARY}x",
            "GREP_OPTIONS": f"-f {self.outside}/secret", "RIPGREP_CONFIG_PATH": str(self.project / ".rgrc"),
            "LESSOPEN": f"|{trip} %s", "PAGER": trip, "GIT_PAGER": trip, "GIT_EXTERNAL_DIFF": trip,
            "GIT_EDITOR": trip,
            "GIT_TRACE": str(self.outside / "trace"), "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": trip, "BASH_ENV": trip, "ENV": trip,
            "BASHOPTS": "nullglob:dotglob:globstar:extglob",
            "SHELLOPTS": "xtrace", "PS4": f"$({trip})", "GLOBIGNORE": "x", "CDPATH": str(self.outside),
            "POSIXLY_CORRECT": "1",
            "MAGIC": str(self.project / "magic"), "BASH_FUNC_cat%%": f"() {{ {trip}; }}",
            "BASH_FUNC_ls%%": f"() {{ {trip}; }}",
            "GIT_DIR": str(self.outside), "GIT_SSH_COMMAND": trip, "GIT_ASKPASS": trip,
        }  # fmt: skip

    def files(self) -> dict[str, tuple[int, ...]]:
        """Every file and folder, with what changes when it is touched."""
        found: dict[str, tuple[int, ...]] = {}
        for start in (self.project, self.outside, self.home):
            for top, folders, names in os.walk(start):
                for path in (top, *(os.path.join(top, name) for name in (*folders, *names))):
                    stat = os.lstat(path)
                    found[path] = (stat.st_mode, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_nlink)
        return found

    # -- running

    def run(self, commands: Sequence[str]) -> list[str]:
        """Run commands, and tell what they did that they should not; nothing if all is well."""
        for index in range(len(commands)):
            (self.root / "marks" / str(index)).touch()
        driver = [
            f": < {self.root}/marks/{index}; {BASH} -c {_quoted(command)}" for index, command in enumerate(commands)
        ]
        (self.root / "driver").write_text("\n".join(driver) + "\n")
        words = [BASH, "--norc", "--noprofile", str(self.root / "driver")]
        log = self.root / "trace"
        if STRACE:
            words = [
                STRACE,
                "-f",
                "--seccomp-bpf",
                "-qq",
                "-y",
                "-s",
                "4096",
                "-o",
                str(log),
                "-e",
                f"trace={_CALLS}",
                *words,
            ]
        done = subprocess.run(
            words, cwd=self.project, env=self.variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
        )
        wrong = [f"printed {found}" for found in set(re.findall(rb"canary-\w+", done.stdout + done.stderr))]
        after = self.files()
        changed = {path for path in {*after, *self.before} if after.get(path) != self.before.get(path)}
        wrong += [f"changed {path}" for path in sorted(changed)]
        if STRACE:
            wrong += sorted(set(self._traced(log)))
        return wrong

    def first_wrong(self, commands: Sequence[str]) -> tuple[str, list[str]] | None:
        """The first of some commands that does what it should not, and what that is."""
        if not commands or not self.run(commands):
            return None
        for command in commands:
            wrong = self.run([command])
            if wrong:
                return command, wrong
        return "\n".join(commands), ["only when run one after another"]

    def _traced(self, log: Path) -> Iterator[str]:
        for call in _calls(log.read_text(errors="surrogateescape")):
            name, _, rest = call.partition("(")
            if name.startswith("execve"):
                program = re.match(r'"((?:[^"\\]|\\.)*)"', rest)
                if program and not _may_start(program[1]):
                    yield f"started {program[1]}"
            elif name == "connect":
                if "AF_UNIX" not in rest:
                    yield f"connected {rest[:80]}"
            elif name in ("open", "openat"):
                yield from self._opened(rest)
            elif not call.startswith(f'unlink("{_TEMPORARY}/tac'):  # which keeps what comes through a pipe
                yield f"called {call[:120]}"

    def _opened(self, rest: str) -> Iterator[str]:
        found = re.search(r"= \d+<(.*)>$", rest)
        if not found:
            return
        path = found[1]
        if path.startswith((str(self.root / "marks"), str(self.root / "driver"))):
            return
        flags = re.search(r"O_[A-Z_|]*", rest)
        is_written = flags is not None and re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND", flags[0])
        if is_written and not path.startswith(
            ("/dev/null", "/dev/tty", "pipe:", *(f"{_TEMPORARY}/{name}" for name in ("sort", "cutmp", "tac")))
        ):
            yield f"wrote {path}"
        elif (path.startswith(str(self.root)) and not self._may_read(path, flags[0] if flags else "")) or (
            not path.startswith(str(self.root)) and not path.startswith(_SYSTEM)
        ):
            yield f"read {path}"

    def _may_read(self, path: str, flags: str) -> bool:
        name = path.rsplit("/", 1)[-1]
        if path.startswith(str(self.home)):
            return name in (".gitconfig", "ignore", "attributes", "config")
        if not path.startswith(f"{self.project}/") and path != str(self.project):
            return False
        is_secret = name in (".npmrc", ".netrc", "id_rsa", "server.pem", "id_ed25519", ".git-credentials")
        return not is_secret or "O_PATH" in flags


_TEMPORARY = tempfile.gettempdir()
_CALLS = (
    "execve,open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,"
    "chmod,fchmodat,chown,lchown,fchownat,truncate,utimensat,mknod,mknodat,connect,setxattr"
)
_SYSTEM = (
    "/usr/", "/lib", "/bin/", "/proc", "/sys/", "/dev/", "/run/utmp", "/etc/ld.so", "/etc/locale", "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf", "/etc/magic", "/etc/localtime", "/etc/gitconfig", "/etc/terminfo", "pipe:", "/opt/",
    "/var/lib/locale",
    "/etc/gcc", "/etc/python", "/etc/ssl/openssl.cnf", "/etc/timezone",
    f"{_TEMPORARY}/tac", f"{_TEMPORARY}/sort",
)  # fmt: skip
_STARTED = re.compile(r"/(?:usr/)?(?:local/)?(?:s?bin|lib/git-core|libexec/git-core)/([A-Za-z0-9_.+\[-]+)")
_NEVER = frozenset(
    ["touch", "sh", "env", "gpg", "ssh", "less", "more", "perl", "python3", "tee", "cp", "mv", "rm", "xargs"]
)


def _may_start(program: str) -> bool:
    found = _STARTED.fullmatch(program)
    return found is not None and found[1] not in _NEVER


def _calls(text: str) -> Iterator[str]:
    """The calls of a log that came to something, with those put together that another process interrupted."""
    begun: dict[str, str] = {}
    for line in text.splitlines():
        process, _, call = line.partition(" ")
        call = call.lstrip()
        if call.endswith("<unfinished ...>"):
            begun[process] = call.removesuffix("<unfinished ...>")
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>", call)
        if resumed:
            call = begun.pop(process, "") + call[resumed.end() :]
        is_failure = re.search(r"= -1 E[A-Z]+ .*$", call) and not call.startswith("connect")
        if is_failure or call.startswith(("+++", "---")) or not call:
            continue
        yield call


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
