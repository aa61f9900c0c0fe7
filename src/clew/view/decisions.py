"""Describe what a person or a rule decided about a tool call: an answer, an approval, a refusal, a denial."""

from __future__ import annotations

import re

from clew.conversation.replies import Call
from clew.wire.json_codec import as_text

_REJECTED = "User rejected tool use"  # the record of every call that a user refused
_REASON = re.compile(r"the user said:\s*(.+)", re.IGNORECASE | re.DOTALL)
_BY_RULE = re.compile(r"Permission to use .* has been denied|Claude requested permissions ", re.DOTALL)
_BY_HOOK = re.compile(r"\w+:\S* hook error:")


def decision_text(call: Call) -> str:
    """Return who decided what, then a colon and the words if there are any; "" for a call without a decision."""
    if call.is_open:
        return ""
    if call.failed:
        return _denial(call.name, call.detail == _REJECTED, call.output)
    if call.name == "ExitPlanMode":
        return "The user approved the plan"
    if call.name == "AskUserQuestion":
        detail = call.detail
        answers = detail.get("answers") if isinstance(detail, dict) else None
        pairs = answers.items() if isinstance(answers, dict) else ()
        text = "\n".join(f"{question} → {as_text(answer)}" for question, answer in pairs)
        return f"The user answered: {text or call.output}"
    return ""


def _denial(tool: str, is_rejected: bool, output: str) -> str:
    if is_rejected or output.startswith("The user doesn't want to "):
        reason = _REASON.search(output)
        what = "The user rejected the plan" if tool == "ExitPlanMode" else "The user refused this call"
        return f"{what}: {reason[1].strip()}" if reason else what
    if _BY_RULE.match(output):
        return "Permission denied by the rules"
    return f"Blocked by a hook: {output.strip()}" if _BY_HOOK.match(output) else ""
