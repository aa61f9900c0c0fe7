"""Let the main conversation be of a type of agent: its system prompt, its tools and its model."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from clew.chat.agents.agent_kind import AgentKind
from clew.chat.session_spec import SessionSpec
from clew.errors import NotFound


def use_agent(spec: SessionSpec, kinds: Mapping[str, AgentKind]) -> SessionSpec:
    """Return the spec with what its agent brings. Raises NotFound if there is no such agent."""
    if not spec.agent:
        return spec
    if spec.agent not in kinds:
        raise NotFound(spec.agent, kind="agent")
    kind = kinds[spec.agent]
    return replace(
        spec,
        system=spec.system if spec.system and spec.system.strip() else kind.system_prompt,
        model=spec.model or kind.model,
        may_use=kind.may_use,
    )
