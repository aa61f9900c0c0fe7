"""Convert a recording to a script for a mock API that any client can use.

There is one rule for each prompt of the session and its agents, with the replies that followed. If a prompt occurs
twice, the first answer is used, because a mock has no memory.
"""

from __future__ import annotations

from msgspec.structs import replace

from clew.api.mock.scripts import AnyStep, MockScript, ScriptRule
from clew.chat.replay.recording import Recording, Say, Take
from clew.chat.tools.tool import text_of


def build_script(cassette: Recording) -> MockScript:
    """Return the script; longer prompts come first, because a rule matches any text that contains its prompt."""
    rules: dict[str, ScriptRule] = {}
    for each in cassette.all():
        for act in each.acts:
            if isinstance(act, Say) and (text := text_of(act.content).strip()) and text not in rules:
                steps: list[AnyStep] = [replace(i.step, fault=None) for i in act.items if isinstance(i, Take)]
                rules[text] = ScriptRule(prompt=text, steps=steps, name=f"line {act.line}")
    return MockScript(rules=sorted(rules.values(), key=lambda rule: -len(rule.prompt)))
