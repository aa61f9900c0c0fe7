"""The options and methods of the Agent SDK for TypeScript, each tried with the published Claude Code and with clew.

`python -m tests.oracle.typescript_table` tries all of them (or those that are named) and prints a table in Markdown. The
options are in `tests/oracle/typescript/`; the mock answers as the prompts themselves say.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clew.api.mock.scripts import Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import running
from tests.chat.test_mcp_client import SERVER
from tests.oracle.claude import LATEST, command
from tests.oracle.npm import installed, need
from tests.oracle.stream_talk import environment

PACKAGE, VERSION = "@anthropic-ai/claude-agent-sdk", "0.3.325"
AGENT = str(Path(sys.executable).with_name("clew-agent"))
SCRIPTS = Path(__file__).with_name("typescript")
LIMIT = 1800  # seconds for all of them
FURTHER = """
@server.resource("ui://calc/page", mime_type="text/html")
def page() -> str:
    return "<p>calc</p>"

"""
RULES = [
    ScriptRule(
        prompt="overloaded",
        model="sonnet",
        steps=[ScriptStep(fault=Fault(status=529, kind="overloaded_error", message="Overloaded"))],
    ),
    ScriptRule(prompt="overloaded", steps=["From the other."]),
    ScriptRule(prompt="inner work", steps=["Inner done."]),
]


def modules() -> Path:
    """Return the folder of the SDK with what it needs, but for the program that it brings along."""

    def entry(folder: Path) -> Path | None:
        path = folder / "node_modules" / PACKAGE / "sdk.mjs"
        return path if path.exists() else None

    need("node")
    return installed(PACKAGE, VERSION, "agent-sdk", entry, "--omit=optional") / "node_modules"


def copy_scripts(folder: Path) -> Path:
    """Put the scripts beside the modules that they import."""
    (folder / "node_modules").symlink_to(modules())
    return Path(shutil.copytree(SCRIPTS, folder / "scripts"))


def try_options(program: str, names: Sequence[str], folder: Path) -> dict[str, str]:
    """Return what comes of options and methods with a program."""
    work = folder / "work"
    work.mkdir(parents=True)
    scripts = copy_scripts(folder)
    head, _, tail = SERVER.partition("if len(sys.argv)")
    (folder / "server.py").write_text(f"{head}{FURTHER}if len(sys.argv){tail}")
    calc = {"CALC_PYTHON": sys.executable, "CALC_SERVER": str(folder / "server.py")}
    with running(MockScript(rules=RULES)) as api:
        done = subprocess.run(
            [need("node"), str(scripts / "table.mjs"), program, str(work), *names],
            env={**environment(folder / "home", api.url), **calc},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


def compare(names: Sequence[str] = ()) -> dict[str, tuple[str, str]]:
    """Return what comes of options with the real program and with clew; of all, unless some are named."""
    with tempfile.TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary).resolve()
        with ThreadPoolExecutor() as pool:
            theirs = pool.submit(try_options, command(LATEST)[0], names, folder / "real")
            ours = try_options(AGENT, names, folder / "clew")
            real = theirs.result()
    return {name: (real[name], ours[name]) for name in real}


# What comes of an option differs, and why.
KNOWN = {
    "maxBudgetUsd": "clew counts the result of the call that was still run",
    "setModel()": "without a name clew goes back to the model at the start, and Claude Code to its default model",
}


def main(names: Sequence[str]) -> int:
    rows = compare(names)
    print("| option or method | Claude Code | clew |\n|---|---|---|")
    for name, (real, ours) in rows.items():
        print(f"| `{name}` | {real} | {'the same' if ours == real else ours} |")
    print(f"\n{sum(real == ours for real, ours in rows.values())} of {len(rows)} are alike.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
