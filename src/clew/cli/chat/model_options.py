"""Options of a chat about its model: which, where, how much of it, and in which form it answers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import parse_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clew.api.reasoning import Reasoning

LONG_WINDOW_BETA = "context-1m-2025-08-07"
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def add_model_options(command: ArgumentParser) -> None:
    """Which model, and how much of it."""
    group = command.add_argument_group("model")
    group.add_argument(
        "--model", metavar="NAME", default="", help="which model: its name, or opus, sonnet, haiku, opusplan"
    )
    group.add_argument("--fallback-model", metavar="NAME", default="", help="which to ask when that one is overloaded")
    group.add_argument("--base-url", metavar="URL", default="", help="the server to ask (default $ANTHROPIC_BASE_URL)")
    group.add_argument("--max-turns", metavar="N", type=parse_count, help="stop after N replies")
    group.add_argument("--max-budget-usd", metavar="DOLLARS", type=float, help="stop when the cost reaches this amount")
    group.add_argument("--effort", metavar="LEVEL", default="", help=f"how hard the model tries: {', '.join(_EFFORTS)}")
    group.add_argument(
        "--thinking",
        choices=("adaptive", "enabled", "disabled"),
        default="adaptive",
        help="disabled: no thinking, for models that can do without",
    )
    group.add_argument(
        "--max-thinking-tokens",
        metavar="N",
        type=parse_count,
        help="think up to N tokens (0: not at all), for models that do not adapt it themselves",
    )
    group.add_argument(
        "--thinking-display", choices=("omitted", "summarized"), default="", help="get thinking as a summary, or not"
    )
    group.add_argument("--task-budget", metavar="N", type=parse_count, default=0, help="tell the model to use N tokens")
    group.add_argument(
        "--betas", metavar="NAME", nargs="+", default=[], help=f"{LONG_WINDOW_BETA}: the long window of older models"
    )
    group.add_argument(
        "--json-schema", metavar="SCHEMA", default="", help="the JSON Schema of the answer, which is then JSON"
    )
    group.add_argument("--agent", metavar="NAME", default="", help="be this agent: its system prompt, tools and model")
    group.add_argument("--system-prompt", metavar="TEXT", help="replace the system prompt of clew")
    group.add_argument("--append-system-prompt", metavar="TEXT", default="", help="append text to the system prompt")


def read_model(options: Namespace, report: Callable[[str], None]) -> str:
    """Return the model that the options or the environment name, with the long window if a beta asks for it."""
    from clew.models import LONG_SUFFIX
    from clew.system import environment

    betas = [name for text in options.betas for name in text.split(",") if name]
    if others := [name for name in betas if name != LONG_WINDOW_BETA]:
        report(f"clew: --betas takes only {LONG_WINDOW_BETA}; without effect: {', '.join(others)}")
    model = str(options.model or environment.chosen_model())
    is_long = LONG_WINDOW_BETA in betas and model and not model.endswith(LONG_SUFFIX)
    return model + LONG_SUFFIX if is_long else model


def read_reasoning(options: Namespace, report: Callable[[str], None]) -> Reasoning:
    """Return what the options say about thinking and effort. Thinking is returned where it is shown."""
    from clew.api.reasoning import EFFORTS, Reasoning

    effort = options.effort.lower()
    if effort and effort not in EFFORTS:
        report(f"clew: unknown effort {options.effort!r}; the default is used. Choose: {', '.join(EFFORTS)}.")
    is_shown = not options.print or options.output_format == "stream-json"
    return Reasoning(
        is_off=options.thinking == "disabled" or options.max_thinking_tokens == 0,
        budget=options.max_thinking_tokens or None,
        effort=effort if effort in EFFORTS else "",
        display=options.thinking_display or ("summarized" if is_shown else "omitted"),
        task_budget=options.task_budget,
    )


def read_output_schema(options: Namespace) -> dict[str, Any] | None:
    """Return the schema of the answer, from JSON text. Raises ClewError."""
    if not options.json_schema:
        return None
    from clew.chat.tools.builtin.structured_output import parse_schema

    return parse_schema(options.json_schema)
