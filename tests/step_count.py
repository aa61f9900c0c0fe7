"""Count the steps that Python takes in our code: a measure of time that does not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

Work = Callable[[], object]
STEEPEST = 1.5  # with four times the input: at most six times the steps; quadratic work takes up to sixteen times


def count_steps(work: Work) -> int:
    """Return how many bytecode instructions `work` runs in modules of clew. What happens inside C code counts as one."""
    steps = 0

    def step(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        steps += event == "opcode"
        return step

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_globals.get("__name__", "").startswith("clew."):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


def assert_linear(prepare: Callable[[int], Work], size: int) -> None:
    """Fail if work on four times the input takes much more than four times the steps."""
    prepare(size)()  # loads modules and fills caches
    few, many = count_steps(prepare(size)), count_steps(prepare(4 * size))
    assert few > size, "nothing was counted"
    assert many <= 4 * STEEPEST * few, f"{few} steps for {size}, {many} for {4 * size}"
