"""Cases of a rewind: what a session did to a project, and how its rewind must end.

`restored`: everything is as it was. `reported`: what is not as it was is named. `refused`: nothing was changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chat.chat_fixture import use

LARGE = 9 << 20
IGNORE = ".env\n*.log\nbuild/\nnode_modules/\n__pycache__/\nkeys/\n"

Do = Callable[[Path], Any]


@dataclass(frozen=True)
class Case:
    """`setup` and `later` work in the project: before the session, and between the session and the rewind."""

    command: str = ""
    ends: str = "restored"
    setup: Do | None = None
    later: Do | None = None
    tool: tuple[str, dict[str, str]] | None = None  # instead of a command; paths are relative to the project
    limits: tuple[tuple[str, int], ...] = ()  # of the inventory

    def steps(self, project: Path) -> list[Any]:
        if self.tool is None:
            return [[use("Bash", command=part, description="Do it")] for part in self.command.split("\n---\n")]
        name, given = self.tool
        path = os.path.normpath(project / given["file_path"])
        look = [[use("Read", file_path=path)]] if os.path.exists(path) else []
        return [*look, [use(name, **{**given, "file_path": path})]]


def git(folder: Path, *words: str) -> None:
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    person = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *person, *words], cwd=folder, env=kept, check=True, capture_output=True)


def fill(project: Path) -> None:
    """A project with all that is hard to restore, and a folder beside it."""
    for folder in ("src", "empty", "private", "build", "node_modules/x", "keys", "sub/d", "mod"):
        (project / folder).mkdir(parents=True)
    texts = {
        "src/app.py": "one\n",
        "src/run.sh": "#!/bin/sh\n",
        "private/key": "k\n",
        "build/out.o": "object\n",
        "node_modules/x/i.js": "js\n",
        "keys/a.pem": "pem\n",
        "sub/s.txt": "s\n",
        "sub/d/p.txt": "p\n",
        "mod/m.txt": "m\n",
        "mod/.git": "gitdir: ../.git/modules/mod\n",
        ".env": "SECRET=1\n",
        "old.log": "log\n",
        ".gitignore": IGNORE,
        "[x]": "x",
    }
    for name, text in texts.items():
        (project / name).write_text(text)
    (project / "binary.dat").write_bytes(b"\xff\xfe\x00\r\n")
    for name, mode in (("src/run.sh", 0o755), ("private/key", 0o600), ("private", 0o700), (".env", 0o600)):
        (project / name).chmod(mode)
    (project / "link").symlink_to("src/app.py")
    (project / "dirlink").symlink_to("src")
    os.mkfifo(project / "pipe")
    git(project / "sub", "init", "-q", ".")
    git(project / "sub", "add", ".")
    git(project / "sub", "commit", "-qm", "sub")
    git(project, "init", "-q", ".")
    git(project, "add", ".gitignore", "src", "binary.dat")
    git(project, "commit", "-qm", "first")
    git(project, "checkout", "-qb", "other")
    (project / ".gitignore").write_text("*.log\n")
    (project / "src/app.py").write_text("other\n")
    git(project, "commit", "-qam", "other")
    git(project, "checkout", "-q", "main")
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "o.txt").write_text("outside\n")
    os.utime(outside / "o.txt", (1_700_000_000, 1_700_000_000))


def _write(name: str, text: str = "mine\n") -> Do:
    return lambda project: (project / name).write_text(text)


def _large(name: str, size: int = LARGE) -> Do:
    def make(project: Path) -> None:
        (project / name).touch()
        os.truncate(project / name, size)

    return make


def _linked(project: Path) -> None:
    (project / "twin").hardlink_to(project / "src/app.py")


def _globally(project: Path) -> None:
    ignore = project.parent / "config/git/ignore"
    ignore.parent.mkdir(parents=True)
    ignore.write_text("mine.txt\n")
    (project / "mine.txt").write_text("mine\n")


def _unwritten(project: Path) -> None:
    (project / "src/app.py").write_text("mine\n")


def _many(project: Path) -> None:
    for number in range(20):
        (project / f"node_modules/x/{number}.js").write_text("js\n")


CASES: dict[str, Case] = {
    # files
    "file created": Case("echo x > new.txt"),
    "file created in new folders": Case("mkdir -p a/b && echo x > a/b/c"),
    "file created in an empty folder": Case("echo x > empty/x"),
    "file edited": Case("sed -i s/one/two/ src/app.py"),
    "file deleted": Case("rm src/app.py"),
    "file truncated": Case(": > src/app.py"),
    "file renamed": Case("mv src/app.py src/new.py"),
    "file renamed into a new folder": Case("mkdir -p a/b && mv src/app.py a/b/"),
    "file renamed in case only": Case("mv src/app.py src/App.py"),
    "file created, then deleted": Case("echo x > new.txt\n---\nrm new.txt"),
    "file deleted, then created again": Case("rm src/app.py\n---\necho x > src/app.py"),
    "binary overwritten": Case("printf '\\001' > binary.dat"),
    "binary deleted": Case("rm binary.dat"),
    "odd names": Case("touch 'a b' $'new\\nline' -- --option 'ü' '*' && rm '[x]'"),
    "name that is not UTF-8": Case("printf x > $'\\xff\\xfe'"),
    "command that failed": Case("rm src/app.py; echo x > new.txt; false"),
    # links
    "link deleted": Case("rm link"),
    "link changed": Case("ln -sfn binary.dat link"),
    "link created": Case("ln -s src/app.py another"),
    "link to a folder deleted": Case("rm dirlink"),
    "link to a folder replaced by a folder": Case("rm dirlink && mkdir dirlink && echo x > dirlink/x"),
    "link replaced by a file": Case("rm link && echo x > link"),
    "file replaced by a link": Case("rm src/app.py && ln -s ../binary.dat src/app.py"),
    "file edited through a link to a folder": Case("echo two > dirlink/app.py"),
    "hard link created": Case("ln src/app.py hard"),
    "file edited through a hard link": Case("echo two > twin", setup=_linked),
    # modes and folders
    "mode made executable": Case("chmod 755 binary.dat"),
    "mode 600": Case("chmod 600 src/app.py"),
    "mode 000": Case("chmod 000 src/app.py"),
    "mode and content": Case("chmod 600 src/app.py; echo two > src/app.py"),
    "mode, then content": Case("chmod 600 src/app.py\n---\necho two > src/app.py"),
    "mode of a folder": Case("chmod 700 src"),
    "file changed in a folder that is then closed": Case("echo two > src/app.py; chmod 000 src"),
    "folder deleted": Case("rm -r src"),
    "private folder deleted": Case("rm -r private"),
    "empty folder deleted": Case("rmdir empty"),
    "empty folder created": Case("mkdir new"),
    "empty folders created": Case("mkdir -p new/er/est"),
    "empty folder replaced by a file": Case("rmdir empty && echo x > empty"),
    "folder replaced by a file": Case("rm -r src && echo x > src"),
    "folder replaced by a link": Case("rm -r src && ln -s /etc src"),
    "file replaced by a folder": Case("rm binary.dat && mkdir binary.dat && echo x > binary.dat/x"),
    # ignored files
    "ignored file overwritten": Case("echo x > .env"),
    "ignored file deleted": Case("rm .env"),
    "ignored file renamed": Case("mv .env .env.bak"),
    "ignored file with another mode": Case("chmod 644 .env"),
    "ignored file created": Case("echo x > new.log", "reported"),
    "ignored file appended to twice": Case("echo x >> .env\n---\necho y >> .env"),
    "ignored log appended to": Case("echo x >> old.log", "reported"),
    "ignored file changed by the user afterwards": Case("echo x > .env", "reported", later=_write(".env")),
    "large ignored file overwritten": Case("echo x > large.log", "reported", setup=_large("large.log", 300 << 10)),
    "too many ignored files": Case("rm .env", "reported", limits=(("SMALL_COUNT", 0),)),
    "ignored folder deleted": Case("rm -r build keys"),
    "ignored file in a folder overwritten": Case("echo x > keys/a.pem"),
    "ignored folder grown": Case("echo y > build/out.o; touch build/{1..150}", "reported"),
    "node_modules deleted": Case("rm -r node_modules", "reported"),
    "node_modules changed": Case("echo x > node_modules/x/i.js", "reported"),
    "large node_modules changed": Case(
        "echo x > node_modules/x/7.js", "reported", setup=_many, limits=(("ROOT_ENTRIES", 5),)
    ),
    "cache created": Case("mkdir src/__pycache__ && echo x > src/__pycache__/a.pyc", "reported"),
    "everything deleted": Case("rm -rf * .env .gitignore", "reported"),
    # what is ignored changes
    "gitignore deleted": Case("rm .gitignore"),
    "gitignore overwritten": Case("echo '*.pyc' > .gitignore"),
    "gitignore deleted and ignored files changed": Case("rm .gitignore; echo x >> .env; rm build/out.o"),
    "gitignore deleted and a file added to an ignored folder": Case(
        "rm .gitignore; echo x > node_modules/new.js", "reported"
    ),
    "gitignore names more": Case("echo '*.py' >> .gitignore; echo two > src/app.py"),
    "global excludes removed": Case("rm ../config/git/ignore; echo x > new", setup=_globally),
    "global excludes name more": Case("mkdir -p ../config/git; echo app.py > ../config/git/ignore; rm src/app.py"),
    "info/exclude changed": Case("echo src > .git/info/exclude; rm src/app.py", "reported"),
    # repositories
    "branch switched": Case("git checkout -q other", "reported"),
    "files added to the index": Case("git add -f .env", "reported"),
    "repository deleted": Case("rm -rf .git", "reported"),
    "repository created inside": Case("git init -q new && echo x > new/file", "reported"),
    "repository created around kept files": Case("git init -q src && echo two > src/app.py", "reported"),
    "nested repository loses its .git": Case("rm -rf sub/.git", "reported"),
    "nested repository deleted": Case("rm -rf sub", "reported"),
    "nested repository changed": Case("echo x > sub/s.txt", "reported"),
    "nested repository: file created": Case("echo x > sub/new", "reported"),
    "submodule loses its .git": Case("rm mod/.git", "reported"),
    "submodule deleted": Case("rm -r mod", "reported"),
    # large and special files
    "large file deleted": Case("rm large.bin", "reported", setup=_large("large.bin")),
    "large file overwritten": Case("echo x > large.bin", "reported", setup=_large("large.bin")),
    "large file created": Case(f"head -c {LARGE} /dev/zero > large.bin", "reported"),
    "file grown large": Case(f"head -c {LARGE} /dev/zero > src/app.py"),
    "pipe deleted": Case("rm pipe", "reported"),
    "pipe created": Case("mkfifo new", "reported"),
    "file replaced by a pipe": Case("rm src/app.py && mkfifo src/app.py", "reported"),
    # outside of the project
    "outside, by a command": Case("echo x > ../outside/o.txt", "reported"),
    "outside, through a link": Case("ln -s ../outside out && echo x > out/o.txt", "reported"),
    "outside, by Write": Case(tool=("Write", {"file_path": "../outside/n.txt", "content": "x"}), ends="reported"),
    "moved in from outside": Case("mv ../outside/o.txt moved.txt", "reported"),
    "folder moved in from outside": Case("mv ../outside moved", "reported"),
    "copied in from outside with its time": Case("cp -p ../outside/o.txt copy.txt"),
    "moved out": Case("mv src/app.py ../outside/", "reported"),
    "node_modules renamed": Case("mv node_modules modules", "reported"),
    "nested repository renamed": Case("mv sub sub2", "reported"),
    "file of a nested repository moved out of it": Case("mv sub/s.txt s.txt", "reported"),
    "renamed and changed": Case("mv src/app.py src/new.py; echo two >> src/new.py"),
    "cleaned by git": Case("git clean -fdxq", "reported"),
    "stashed by git": Case("echo two > src/app.py; git stash -q", "reported"),
    # tools
    "Write: file created": Case(tool=("Write", {"file_path": "new.txt", "content": "x"})),
    "Write: file created in new folders": Case(tool=("Write", {"file_path": "a/b/c", "content": "x"})),
    "Write: file created in an empty folder": Case(tool=("Write", {"file_path": "empty/x", "content": "x"})),
    "Write: file overwritten": Case(tool=("Write", {"file_path": "src/app.py", "content": "x"})),
    "Write: ignored file overwritten": Case(tool=("Write", {"file_path": ".env", "content": "x"})),
    "Write: nested repository": Case(tool=("Write", {"file_path": "sub/s.txt", "content": "x"})),
    # others
    "edited by the user afterwards": Case("echo two > src/app.py", "refused", later=_unwritten),
    "created, then edited by the user": Case("echo x > new.txt", "refused", later=_write("new.txt")),
    "Write, then edited by the user": Case(
        tool=("Write", {"file_path": "src/app.py", "content": "x"}), ends="refused", later=_unwritten
    ),
    "user's file in a new folder": Case("mkdir new; echo x > new/x", "reported", later=_write("new/mine")),
    "restored by the user already": Case("rm src/app.py", later=_write("src/app.py", "one\n")),
    "deleted by the user already": Case("echo x > new.txt", later=lambda project: (project / "new.txt").unlink()),
    "folder of the project deleted": Case("echo x > new.txt", "refused", later=lambda project: shutil.rmtree(project)),
}
