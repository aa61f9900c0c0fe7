"""What a command costs: processor time and memory, measured by a small process in between.

On Linux a process inherits the peak memory of the one that starts it, and a worker of the tests is large.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_MEASURE = """
import json, resource, subprocess, sys
words, limits = json.load(sys.stdin)
def limit():
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, name), (value, value))
done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=limit if limits else None)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps([done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss * unit]))
"""


class Cost(NamedTuple):
    code: int
    seconds: float  # of processor time
    memory: int  # the peak, in bytes
    said: str  # on stderr


def measure(
    words: Sequence[str], environment: Mapping[str, str] | None = None, limits: Mapping[str, int] | None = None
) -> Cost:
    """Run a command to its end, under limits such as `{"RLIMIT_CPU": 60}`."""
    given = json.dumps([list(words), dict(limits or {})])
    done = subprocess.run(
        [sys.executable, "-I", "-c", _MEASURE],
        input=given,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
    )
    code, seconds, memory = json.loads(done.stdout)
    return Cost(code, seconds, memory, done.stderr)
