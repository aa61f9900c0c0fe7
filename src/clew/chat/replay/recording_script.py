"""Convert a recording to a script for a mock API that any client can use.

There is one rule for each prompt of the session and its agents, with the replies that followed. If a prompt occurs
twice, the first answer is used, because a mock has no memory.
"""

from __future__ import annotations

from msgspec.structs import replace

from clew.api.mock.scripts import AnyStep, MockScript, ScriptRule
from clew.chat.replay.recording import RecordedPrompt, RecordedReply, Recording
from clew.chat.tools.tool import text_of


def build_script(recording: Recording) -> MockScript:
    """Return the script; longer prompts come first, because a rule matches any text that contains its prompt."""
    rules: dict[str, ScriptRule] = {}
    for each in recording.all():
        for action in each.actions:
            if isinstance(action, RecordedPrompt) and (text := text_of(action.content).strip()) and text not in rules:
                steps: list[AnyStep] = [
                    replace(i.step, fault=None) for i in action.items if isinstance(i, RecordedReply)
                ]
                rules[text] = ScriptRule(prompt=text, steps=steps, name=f"line {action.line}")
    return MockScript(rules=sorted(rules.values(), key=lambda rule: -len(rule.prompt)))
