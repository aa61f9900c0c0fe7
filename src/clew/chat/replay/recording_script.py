"""Cassettes as scripts: what was recorded, for a mock that any client may ask.

A rule for each prompt, of the session and of its agents, with the replies that followed it. Where a prompt was said twice
the first answer counts: a mock remembers nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from clew.api.mock.scripts import AnyStep, MockScript, ScriptRule
from clew.chat.replay.recording import Recording, Say, Take
from clew.chat.store.live_conversation import text_of


def script(cassette: Recording) -> MockScript:
    """The script; longer prompts come first, since a rule fits wherever its prompt is a part of what is said."""
    rules: dict[str, ScriptRule] = {}
    for each in cassette.all():
        for act in each.acts:
            if isinstance(act, Say) and (text := text_of(act.content).strip()) and text not in rules:
                steps: list[AnyStep] = [replace(i.step, fault=None) for i in act.items if isinstance(i, Take)]
                rules[text] = ScriptRule(prompt=text, steps=steps, name=f"line {act.line}")
    return MockScript(rules=sorted(rules.values(), key=lambda rule: -len(rule.prompt)))
